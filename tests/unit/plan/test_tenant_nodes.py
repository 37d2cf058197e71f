"""Which nodes the pods of a tenant may run on, and that neither a new server nor a new tenant changes what stood."""

import shutil

import pytest

from cluster_model.plan.services.tenant_nodes import DOMAIN, label_tenant
from cluster_model.render.kubernetes.kueue import list_flavors, share_flavors
from cluster_model.render.kubernetes.tenants import list_objects
from tests.planned import INVENTORY, open_example, open_folder

TENANTS = {"perception", "planning", "inference", "services", "intake"}
MORE = ("count: 16, planned: 32", "count: 20, planned: 32")
MIXED = ("workers: [train, infer]", "workers: [train, infer, control]")
ANOTHER = (
    "\nceph:\n",
    "  mapping:\n    id: 12\n    gpus: 16\n    servers: [train-017..train-018]\n    subnets:\n"
    "      front: {id: 1, cidr: 10.48.17.0/24}\n\nceph:\n",
)


@pytest.fixture(scope="module")
def driving():
    return open_example("driving").plan


@pytest.fixture(scope="module")
def open_changed(tmp_path_factory):
    """Return what opens driving with parts of its text changed, as (old, new)."""

    def open_it(*changes):
        folder = tmp_path_factory.mktemp("changed") / "driving"
        shutil.copytree(INVENTORY / "driving", folder)
        text = (folder / "cluster.yml").read_text("utf-8")
        for old, new in changes:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        (folder / "cluster.yml").write_text(text, "utf-8")
        return open_folder(folder).plan

    return open_it


@pytest.fixture(scope="module")
def grown(open_changed):
    return open_changed(MORE)


def labels_of(plan):
    return {node.name: dict(node.labels) for node in plan.kubernetes.nodes}


def list_tenants(plan, node):
    """Return the tenants whose pods may run on a node, by its labels."""
    return {key.removeprefix(f"{DOMAIN}/") for key, value in labels_of(plan)[node].items() if key.startswith(DOMAIN) and value}


@pytest.mark.parametrize(
    ("node", "tenants"),
    [
        ("train-001", {"perception"}),
        ("train-016", {"planning"}),
        ("train-017", TENANTS),  # nobody's
        ("infer-001", {"inference"}),
        ("control-001", set()),
    ],
)
def test_pods_run_on_their_tenants_own_workers_and_on_nobodys(grown, node, tenants):
    assert list_tenants(grown, node) == tenants


def test_a_control_server_that_is_a_worker_runs_pods_of_its_tenant(open_changed):
    assert list_tenants(open_changed(MIXED), "control-001") == {"services"}


def test_without_tenants_no_node_has_such_a_label():
    plan = open_example("superpod-roce").plan
    assert not any(key.startswith(DOMAIN) for labels in labels_of(plan).values() for key in labels)


def read_namespaces(plan):
    """Return the namespace of each tenant, and its quotas."""
    kinds = ("Namespace", "ResourceQuota")
    return {tenant.name: [f for f in list_objects(plan, tenant, ()) if f["kind"] in kinds] for tenant in plan.tenants}


def test_a_namespace_selects_what_its_nodes_are_labeled_with(grown):
    for tenant, (namespace, *_) in read_namespaces(grown).items():
        key, _, value = namespace["metadata"]["annotations"]["scheduler.alpha.kubernetes.io/node-selector"].partition("=")
        assert key == label_tenant(tenant)
        assert {labels[key] for labels in labels_of(grown).values() if key in labels} == {value}


def test_a_server_more_changes_nothing_of_what_stood(driving, grown):
    before, after = labels_of(driving), labels_of(grown)
    assert {name: after[name] for name in before} == before
    assert len(after) == len(before) + 4


def test_a_tenant_more_adds_its_labels_and_leaves_other_tenants_alone(grown, open_changed):
    larger = open_changed(MORE, ANOTHER)
    mapping, owner = label_tenant("mapping"), "gpuyard.io/tenant"
    before, after = labels_of(grown), labels_of(larger)
    for name in ("train-017", "train-018"):  # were nobody's and are its own
        assert list_tenants(larger, name) == {"mapping"}
        assert after.pop(name)[owner] == "mapping"
        del before[name]
    changed = {name for name in before if after[name] != before[name]}
    assert changed == {"train-019", "train-020"}
    assert all(after[name] == before[name] | {mapping: "true"} for name in changed)
    assert read_namespaces(larger).items() > read_namespaces(grown).items()


def test_kueue_gives_a_tenant_gpus_of_nodes_that_its_pods_may_run_on(grown):
    nodes = labels_of(grown)
    flavors = {flavor.name: flavor for flavor in list_flavors(grown)}
    for tenant in grown.tenants:
        shares = share_flavors(list(flavors.values()), tenant)
        if tenant.gpus < 0:
            assert shares, "which is all that it may run on"
        found = {node for name in shares for node, labels in nodes.items() if set(flavors[name].labels) <= labels.items()}
        allowed = {node for node, labels in nodes.items() if label_tenant(tenant.name) in labels}
        assert found <= allowed
        assert found == allowed or tenant.gpus >= 0
