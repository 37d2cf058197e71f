"""What a tenant gets of Kubernetes: quota, queue, rights, and whom its pods may speak to."""

from dataclasses import replace
from ipaddress import ip_address, ip_network

import pytest
import yaml

from cluster_model.render.kubernetes.tenants import list_objects, render_tenants
from cluster_model.render.kubernetes.topology import list_queues, render_topology
from cluster_model.render.services.kubernetes import SERVICE, render_kubernetes
from tests.planned import open_example


@pytest.fixture(scope="module")
def plan():
    return open_example("driving").plan


def read(plan, name):
    """Return a tenant's objects by kind."""
    tenant = next(tenant for tenant in plan.tenants if tenant.name == name)
    return {found["kind"]: found for found in list_objects(plan, tenant, ())}


def list_blocks(peers):
    return [peer["ipBlock"] for peer in peers if "ipBlock" in peer]


def reaches(policy, address):
    """Return whether pods under a policy may send to an address."""
    target = ip_address(address)
    blocks = [block for rule in policy["spec"]["egress"] for block in list_blocks(rule["to"])]
    return any(
        target in ip_network(block["cidr"]) and not any(target in ip_network(but) for but in block.get("except", ()))
        for block in blocks
    )


def list_namespaces(policy):
    (rule,) = policy["spec"]["ingress"]
    return [
        peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"] for peer in rule["from"] if "ipBlock" not in peer
    ]


def test_quota_and_queue_are_the_tenants_gpus(plan):
    queues = {queue["metadata"]["name"]: queue["spec"] for queue in list_queues(plan)}
    for tenant in plan.tenants:
        quotas = [found for found in list_objects(plan, tenant, ()) if found["kind"] == "ResourceQuota"]
        counted = [quota["spec"]["hard"] for quota in quotas if quota["metadata"]["name"] == "gpus"]
        if tenant.gpus < 0:
            assert counted == []
            assert "capability" not in queues[tenant.name]
        else:
            assert [hard["requests.nvidia.com/gpu"] for hard in counted] == [str(tenant.gpus)]
            assert queues[tenant.name]["capability"] == {"nvidia.com/gpu": str(tenant.gpus)}


def test_pods_meet_whom_the_tenants_servers_meet(plan):
    assert list_namespaces(read(plan, "perception")["NetworkPolicy"]) == ["perception", "planning", "services"]
    assert list_namespaces(read(plan, "inference")["NetworkPolicy"]) == ["inference", "services"]
    # A shared tenant is met by all that use it.
    assert list_namespaces(read(plan, "services")["NetworkPolicy"]) == [
        "services",
        "perception",
        "planning",
        "inference",
        "intake",
    ]


@pytest.mark.parametrize(
    ("tenant", "address", "may"),
    [
        ("perception", "192.168.0.16", True),  # its own training subnet
        ("perception", "10.48.2.16", True),  # what its peer shows
        ("perception", "10.48.3.64", False),  # another tenant's
        ("perception", "93.184.216.34", True),  # beyond the border
        ("perception", "10.244.3.7", False),  # a pod, by its address
        ("perception", "10.124.64.6", False),  # out-of-band
        ("perception", "10.130.0.15", False),  # storage
        ("intake", "10.201.0.9", True),  # vehicles
        ("intake", "93.184.216.34", False),
        ("services", "93.184.216.34", False),  # no egress
    ],
)
def test_pods_reach_what_the_border_accepts_and_nothing_else_of_the_cluster(plan, tenant, address, may):
    assert reaches(read(plan, tenant)["NetworkPolicy"], address) is may


def test_both_ways_are_closed_for_all_pods(plan):
    for tenant in plan.tenants:
        spec = read(plan, tenant.name)["NetworkPolicy"]["spec"]
        assert (spec["podSelector"], spec["policyTypes"]) == ({}, ["Ingress", "Egress"])


def test_users_may_not_change_what_keeps_tenants_apart(plan):
    found = read(plan, "planning")
    kept = {"networkpolicies", "resourcequotas", "limitranges", "serviceaccounts"}
    for rule in found["Role"]["rules"]:
        assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])
        if kept & set(rule["resources"]):
            assert set(rule["verbs"]) == {"get", "list", "watch"}
        assert not {"roles", "rolebindings", "namespaces", "nodes"} & set(rule["resources"])
    assert found["RoleBinding"]["subjects"] == [
        {"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "gpuyard:planning"}
    ]


def test_no_priority_takes_the_place_of_what_runs(plan):
    classes = list(yaml.safe_load_all(dict(render_tenants(plan))["kubernetes/priorities.yaml"]))
    assert {found["preemptionPolicy"] for found in classes} == {"Never"}
    assert not any(found.get("globalDefault") for found in classes)


def test_without_volcano_there_are_neither_queues_nor_rights_to_them(plan):
    plain = replace(plan, kubernetes=replace(plan.kubernetes, queueing="none"))
    assert [path for path, _ in render_topology(plain)] == ["kubernetes/nodes.yaml"]
    groups = {group for rule in read(plain, "planning")["Role"]["rules"] for group in rule["apiGroups"]}
    assert not [group for group in groups if "volcano" in group]


def test_without_kubernetes_nothing_is_rendered_or_said():
    opened = open_example("superpod-h100")
    assert list(render_kubernetes(opened.plan, opened.catalogue)) == []
    assert SERVICE.summarize(opened.plan) == {}
    assert list(SERVICE.describe(opened.plan)) == []


def test_a_node_of_one_tenant_is_labeled_with_it(plan):
    nodes = {node.name: dict(node.labels) for node in plan.kubernetes.nodes}
    assert nodes["train-001"]["gpuyard.io/tenant"] == "perception"
    assert nodes["train-009"]["gpuyard.io/tenant"] == "planning"
    # Without compute NICs a server is in no unit of that network.
    assert "gpuyard.io/compute-unit" not in nodes["infer-001"]
    assert nodes["infer-001"]["gpuyard.io/storage-unit"] == "storage-u02"
