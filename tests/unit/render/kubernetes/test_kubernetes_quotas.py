"""What a tenant's namespace may use at a time: GPUs, the rails of the servers that they fill, and no port of a node."""

from dataclasses import replace

import pytest

from cluster_model.render.kubernetes.quotas import count_rails, list_quotas
from tests.planned import open_example


@pytest.fixture(scope="module")
def plan():
    return open_example("driving").plan


def find(plan, name, **values):
    return replace(next(tenant for tenant in plan.tenants if tenant.name == name), **values)


def read(plan, tenant):
    return {quota["metadata"]["name"]: quota["spec"] for quota in list_quotas(plan, tenant)}


def change_servers(plan, names, **values):
    """Return a plan in which some servers are other ones."""
    return replace(plan, servers=tuple(replace(s, **values) if s.name in names else s for s in plan.servers))


def split_group(plan, first, gpus):
    """Return a plan in which the training servers from one on are a group of their own, with so many GPUs each."""
    small = {node.name for node in plan.kubernetes.nodes if node.group == "train" and node.name >= first}
    nodes = tuple(replace(node, group="small") if node.name in small else node for node in plan.kubernetes.nodes)
    rails = tuple(replace(rail, groups=(*rail.groups, "small")) for rail in plan.kubernetes.rails)
    kubernetes = replace(plan.kubernetes, nodes=nodes, rails=rails)
    return replace(change_servers(plan, small, group="small", gpus=gpus), kubernetes=kubernetes)


def own(plan, **servers):
    """Return a plan in which each tenant owns the servers that are named, and none without."""
    return replace(plan, tenants=tuple(replace(t, servers=tuple(servers.get(t.name, ()))) for t in plan.tenants))


def name_servers(first, last):
    return [f"train-{number:03}" for number in range(first, last + 1)]


def test_every_rail_that_is_announced_has_a_quota(plan):
    hard = read(plan, find(plan, "perception"))["gpus"]["hard"]
    assert hard == {"requests.nvidia.com/gpu": "64", **{f"requests.gpuyard.io/rail{number}": "8" for number in range(8)}}


def test_without_a_quota_of_gpus_rails_have_none(plan):
    assert set(read(plan, find(plan, "services"))) == {"node-ports", "system-priorities"}


@pytest.mark.parametrize(("gpus", "servers"), [(0, 0), (1, 1), (8, 1), (9, 2), (64, 8)])
def test_a_server_that_is_filled_in_part_counts_whole(plan, gpus, servers):
    assert set(count_rails(plan, find(plan, "perception", gpus=gpus)).values()) == {servers}


def test_a_tenant_whose_servers_have_no_rails_gets_none(plan):
    assert set(count_rails(plan, find(plan, "inference")).values()) == {0}


def test_the_smallest_server_that_a_tenant_may_use_counts(plan):
    mixed = split_group(plan, "train-009", 4)
    assert set(count_rails(mixed, find(mixed, "perception")).values()) == {8}, "the small ones are planning's own"
    assert set(count_rails(mixed, find(mixed, "planning")).values()) == {16}
    # The small ones are nobody's.
    shared = own(mixed, perception=name_servers(1, 8))
    assert set(count_rails(shared, find(shared, "perception")).values()) == {16}


def test_a_rail_that_a_model_is_not_on_does_not_count_it(plan):
    mixed = own(split_group(plan, "train-009", 4))
    first, *others = mixed.kubernetes.rails
    rails = (replace(first, groups=("train",)), *others)
    mixed = replace(mixed, kubernetes=replace(mixed.kubernetes, rails=rails))
    counts = count_rails(mixed, find(mixed, "perception"))
    assert counts.pop(first.resource) == 8
    assert set(counts.values()) == {16}


def test_every_port_that_a_server_has_on_a_rail_counts(plan):
    server = next(server for server in plan.servers if server.name == "train-001")
    port = next(port for port in server.ports if port.network == "compute" and port.rail == 3)
    doubled = change_servers(plan, {"train-001"}, ports=(*server.ports, replace(port, name="second")))
    counts = count_rails(doubled, find(doubled, "perception"))
    assert counts["gpuyard.io/rail3"] == 16
    assert counts["gpuyard.io/rail2"] == 8


def test_a_side_of_a_rail_is_a_resource_of_its_own(plan):
    first = plan.kubernetes.rails[0]
    second = replace(first, name="rail0-side2", resource="gpuyard.io/rail0_side2", prefix="10.80.0.0/15")
    server = next(server for server in plan.servers if server.name == "train-001")
    port = next(port for port in server.ports if port.route == first.prefix)
    sided = change_servers(plan, {"train-001"}, ports=(*server.ports, replace(port, name="second", route=second.prefix)))
    sided = replace(sided, kubernetes=replace(plan.kubernetes, rails=(first, second)))
    assert count_rails(sided, find(sided, "perception")) == {first.resource: 8, second.resource: 8}


def test_without_rails_gpus_alone_have_a_quota(plan):
    plain = replace(plan, kubernetes=replace(plan.kubernetes, rdma="none", rails=()))
    assert read(plain, find(plain, "perception"))["gpus"]["hard"] == {"requests.nvidia.com/gpu": "64"}


def test_no_tenant_opens_ports_of_nodes_or_has_priorities_of_the_cluster(plan):
    for tenant in plan.tenants:
        quotas = read(plan, tenant)
        assert quotas["node-ports"]["hard"] == {"services.loadbalancers": "0", "services.nodeports": "0"}
        assert quotas["system-priorities"]["hard"] == {"pods": "0"}
        (scope,) = quotas["system-priorities"]["scopeSelector"]["matchExpressions"]
        assert (scope["scopeName"], scope["operator"]) == ("PriorityClass", "In")
        assert scope["values"] == ["system-cluster-critical", "system-node-critical"]
