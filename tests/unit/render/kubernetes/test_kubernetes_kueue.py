"""What Kueue is told: which GPUs are alike, how near their nodes are, and what a tenant may use of them."""

from dataclasses import replace

import pytest
import yaml

from cluster_model.pipeline import inspect
from cluster_model.render.kubernetes.kueue import NO_LIMIT, list_flavors, render_kueue, share_flavors
from cluster_model.render.kubernetes.tenants import list_objects
from cluster_model.render.kubernetes.topology import GPU, render_topology
from cluster_model.render.services.kubernetes import SERVICE
from tests.planned import INVENTORY, open_example


def ask(plan):
    return replace(plan, kubernetes=replace(plan.kubernetes, queueing="kueue"))


@pytest.fixture(scope="module")
def plan():
    return ask(open_example("driving").plan)


def read(plan):
    """Return what Kueue is told, by kind and name."""
    objects = [found for _, data in render_kueue(plan) for found in yaml.safe_load_all(data)]
    return {(found["kind"], found["metadata"]["name"]): found for found in objects}


def own(plan, **servers):
    """Return a plan in which tenants own other servers and may use other numbers of GPUs, as `name=(servers, gpus)`."""
    changed = {name: {"servers": tuple(names), "gpus": gpus} for name, (names, gpus) in servers.items()}
    owners = {server: name for name, (names, _) in servers.items() for server in names}
    nodes = []
    for node in plan.kubernetes.nodes:
        labels = {**dict(node.labels), "gpuyard.io/tenant": owners.get(node.name, "")}
        nodes.append(replace(node, labels=tuple(sorted(labels.items()))))
    tenants = tuple(replace(tenant, **changed.get(tenant.name, {"servers": (), "gpus": -1})) for tenant in plan.tenants)
    return replace(plan, tenants=tenants, kubernetes=replace(plan.kubernetes, nodes=tuple(nodes)))


def shares(plan, name):
    return share_flavors(list_flavors(plan), next(tenant for tenant in plan.tenants if tenant.name == name))


def test_a_tenants_queue_holds_its_quota_of_its_own_servers(plan):
    assert shares(plan, "perception") == {"nvidia-h100-sxm.perception": "64"}
    assert shares(plan, "inference") == {"nvidia-l40s.inference": "48"}


def test_a_tenant_has_no_queue_where_all_gpus_are_others(plan):
    assert shares(plan, "intake") == {}
    assert ("ClusterQueue", "intake") not in read(plan)
    tenant = next(tenant for tenant in plan.tenants if tenant.name == "intake")
    assert "LocalQueue" not in {found["kind"] for found in list_objects(plan, tenant, list_flavors(plan))}


def test_servers_of_nobody_are_everybodys_and_a_tenants_own_are_its_alone(plan):
    mixed = own(plan, perception=(["train-001", "train-002"], 16), planning=([], 40))
    flavors = {flavor.name: flavor for flavor in list_flavors(mixed)}
    assert {name: flavor.gpus for name, flavor in flavors.items()} == {
        "nvidia-h100-sxm": 14 * 8,
        "nvidia-h100-sxm.perception": 16,
        "nvidia-l40s": 48,
    }
    # An empty label is one that servers of others do not have.
    assert dict(flavors["nvidia-h100-sxm"].labels) == {"gpuyard.io/gpu": "nvidia_h100-sxm", "gpuyard.io/tenant": ""}
    assert shares(mixed, "perception") == {"nvidia-h100-sxm.perception": "16"}
    assert shares(mixed, "planning") == {"nvidia-h100-sxm": "40", "nvidia-l40s": "40"}
    assert shares(mixed, "services") == {"nvidia-h100-sxm": NO_LIMIT[GPU], "nvidia-l40s": NO_LIMIT[GPU]}


@pytest.mark.parametrize(
    ("gpus", "wanted"),
    [
        (0, {"nvidia-h100-sxm.perception": "0"}),
        (8, {"nvidia-h100-sxm.perception": "8"}),
        (20, {"nvidia-h100-sxm.perception": "16", "nvidia-h100-sxm": "4", "nvidia-l40s": "4"}),
        (-1, dict.fromkeys(("nvidia-h100-sxm.perception", "nvidia-h100-sxm", "nvidia-l40s"), NO_LIMIT[GPU])),
    ],
)
def test_a_tenant_uses_its_own_servers_first(plan, gpus, wanted):
    found = shares(own(plan, perception=(["train-001", "train-002"], gpus)), "perception")
    assert list(found.items()) == list(wanted.items())


def test_a_tenant_with_no_gpus_may_queue_for_none(plan):
    assert set(shares(own(plan, planning=([], 0)), "planning").values()) == {"0"}


def test_the_unit_is_a_level_only_where_all_nodes_of_a_flavor_hang_in_one(plan):
    objects = read(plan)
    topologies = {name: found["spec"]["levels"] for (kind, name), found in objects.items() if kind == "Topology"}
    assert topologies == {
        "compute": [{"nodeLabel": "gpuyard.io/compute-unit"}, {"nodeLabel": "kubernetes.io/hostname"}],
        "hosts": [{"nodeLabel": "kubernetes.io/hostname"}],
    }
    # Inference servers have no compute NICs.
    assert objects["ResourceFlavor", "nvidia-l40s.inference"]["spec"]["topologyName"] == "hosts"
    assert objects["ResourceFlavor", "nvidia-h100-sxm.planning"]["spec"]["topologyName"] == "compute"


def test_pods_of_units_come_before_units(plan):
    nodes = tuple(
        replace(node, labels=(("gpuyard.io/compute-pod", "compute-g01"), *node.labels))
        if "gpuyard.io/compute-unit" in dict(node.labels)
        else node
        for node in plan.kubernetes.nodes
    )
    levels = read(replace(plan, kubernetes=replace(plan.kubernetes, nodes=nodes)))["Topology", "compute"]["spec"]["levels"]
    assert [level["nodeLabel"].partition("/")[2] for level in levels] == ["compute-pod", "compute-unit", "hostname"]


def test_queues_cover_what_every_container_asks_for_and_lend_nothing(plan):
    tenant = next(tenant for tenant in plan.tenants if tenant.name == "planning")
    objects = {found["kind"]: found for found in list_objects(plan, tenant, list_flavors(plan))}
    asked = set(objects["LimitRange"]["spec"]["limits"][0]["defaultRequest"]) | {GPU}
    for (kind, name), found in read(plan).items():
        if kind == "ClusterQueue":
            (group,) = found["spec"]["resourceGroups"]
            assert set(group["coveredResources"]) == asked
            for flavor in group["flavors"]:
                assert [quota["name"] for quota in flavor["resources"]] == group["coveredResources"]
            assert found["spec"]["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": name}}
            assert not {"cohortName", "preemption"} & set(found["spec"])
    assert objects["LocalQueue"]["metadata"] == {"name": "planning", "namespace": "planning"}
    assert objects["LocalQueue"]["spec"] == {"clusterQueue": "planning"}


def test_without_tenants_one_queue_takes_jobs_of_all():
    plan = ask(open_example("superpod-roce").plan)
    objects = read(plan)
    assert objects["ClusterQueue", "gpus"]["spec"]["namespaceSelector"] == {}
    assert objects["LocalQueue", "gpus"]["metadata"]["namespace"] == "default"
    (flavor,) = list_flavors(plan)
    assert (flavor.name, flavor.labels) == ("nvidia-h100-sxm", (("gpuyard.io/gpu", "nvidia_h100-sxm"),))


def test_users_read_queues_and_may_not_change_them(plan):
    tenant = next(tenant for tenant in plan.tenants if tenant.name == "planning")
    role = next(found for found in list_objects(plan, tenant, list_flavors(plan)) if found["kind"] == "Role")
    rules = [rule for rule in role["rules"] if any("kueue" in group for group in rule["apiGroups"])]
    assert {resource for rule in rules for resource in rule["resources"]} >= {"localqueues", "workloads"}
    assert all(rule["verbs"] == ["get", "list", "watch"] for rule in rules)
    assert not [group for rule in role["rules"] for group in rule["apiGroups"] if "volcano" in group]


def test_kueue_and_volcano_are_told_nothing_of_each_others(plan):
    assert [path for path, _ in render_topology(plan)] == ["kubernetes/nodes.yaml"]
    assert read(replace(plan, kubernetes=replace(plan.kubernetes, queueing="volcano"))) == {}
    assert "Kueue's queues" in "".join(SERVICE.describe(plan))


def test_servers_more_change_no_object_of_tenants_that_stood(tmp_path):
    text = (INVENTORY / "driving/cluster.yml").read_text()
    text = text.replace("kubernetes: {", "kubernetes: {queueing: kueue, ")
    text = text[: text.index("facts: {")]
    told = []
    for name, count in ("now", "16"), ("next", "24"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "cluster.yml").write_text(text.replace("count: 16, planned", f"count: {count}, planned"))
        opened = inspect(folder, rules=False).opened
        assert opened is not None
        told.append(read(opened.plan))
    now, later = told
    assert {key: later[key] for key in now} == now
    # The new servers are nobody's own yet: they come as a flavor more, for the tenants that have no servers with GPUs.
    new = {("ResourceFlavor", "nvidia-h100-sxm"), ("ClusterQueue", "services"), ("ClusterQueue", "intake")}
    assert set(later) - set(now) == new
    labels = later["ResourceFlavor", "nvidia-h100-sxm"]["spec"]["nodeLabels"]
    assert labels == {"gpuyard.io/gpu": "nvidia_h100-sxm", "gpuyard.io/tenant": ""}
