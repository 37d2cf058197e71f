"""Rails in pods: the pool of a rail, the hosts' addresses and the leafs' configs tell the same of every link."""

from __future__ import annotations

import json
from ipaddress import IPv4Address, IPv4Network, ip_interface
from typing import Any

import pytest
import yaml

from cluster_model.render.inventory.document import render_inventory
from cluster_model.render.kubernetes.network.network_operator import render_policy
from cluster_model.render.kubernetes.network.rails import render_network
from tests.dialects import plans
from tests.dialects.agreement import list_hosts
from tests.unit.render.switch import factory

RENDERERS = (render_network, render_policy)
CASES = ("mixed/lab", "mixed/driving", "sonic/driving", "frr/driving", "eos/driving", "cumulus/driving")
"""Where the example's compute network has rails; `sonic`, `frr`, and others but `mixed` part tenants by VRFs."""


def read(case: str) -> dict[str, Any]:
    files = {path: list(yaml.safe_load_all(data)) for render in RENDERERS for path, data in render(plans.plan(case))}
    (policy,) = files["kubernetes/network/nic-cluster-policy.yaml"]
    objects = files["kubernetes/network/rails.yaml"]
    return {
        "pools": {found["metadata"]["name"]: found["spec"] for found in objects if found["kind"] == "CIDRPool"},
        "attachments": {o["metadata"]["name"]: o for o in objects if o["kind"] == "NetworkAttachmentDefinition"},
        "resources": json.loads(policy["spec"]["sriovDevicePlugin"]["config"])["resourceList"],
    }


def allocate(pool: dict[str, Any], node: str) -> tuple[str, str]:
    """Return the address and the gateway that nv-ipam gives the first pod of a node.

    As its pkg/ipam-node/allocator does: the addresses of the node's prefix in order (both ends, where it is a /31), the gateway
    left out.
    """
    (mine,) = [each for each in pool["staticAllocations"] if each["nodeName"] == node]
    prefix = IPv4Network(mine["prefix"])  # host bits would be refused
    assert prefix.prefixlen == pool["perNodeNetworkPrefix"] == 31
    assert prefix.subnet_of(IPv4Network(pool["cidr"]))
    assert mine["gateway"] == str(prefix[pool["gatewayIndex"]])
    free = [address for address in prefix if address != IPv4Address(mine["gateway"])]
    return f"{free[0]}/{prefix.prefixlen}", mine["gateway"]


@pytest.mark.parametrize("case", CASES)
def test_a_pod_gets_the_address_of_its_hosts_port(case: str) -> None:
    found, records = read(case), plans.records(case)
    inventory = json.loads(render_inventory(plans.plan(case), factory.catalogue(), {}))
    workers = {node.name for node in plans.plan(case).kubernetes.nodes if node.is_worker}
    seen: dict[str, set[str]] = {name: set() for name in found["pools"]}
    for host, told in list_hosts(inventory):
        for port in told["gpuyard_interfaces"]:
            if host not in workers or port["network"] != "compute":
                continue
            name = f"rail{port['rail']}"
            pool = found["pools"][name]
            address, gateway = allocate(pool, host)
            assert (address, gateway) == (port["address"], port["gateway"])
            leaf = records[port["peer"]]["port", port["peer_port"], "address"]
            assert ip_interface(leaf) == ip_interface(f"{gateway}/31")
            assert pool["routes"][0]["dst"] == pool["cidr"] == port["route"]
            (resource,) = [each for each in found["resources"] if port["pci"] in each["selectors"][0]["pciAddresses"]]
            wanted = found["attachments"][name]["metadata"]["annotations"]["k8s.v1.cni.cncf.io/resourceName"]
            assert f"{resource['resourcePrefix']}/{resource['resourceName']}" == wanted
            seen[name].add(host)
    for name, pool in found["pools"].items():
        assert seen[name] == {each["nodeName"] for each in pool["staticAllocations"]} != set()


@pytest.mark.parametrize("case", CASES)
def test_an_attachment_names_its_pool(case: str) -> None:
    found = read(case)
    assert set(found["attachments"]) == set(found["pools"])
    for name, attachment in found["attachments"].items():
        config = json.loads(attachment["spec"]["config"])
        assert (config["type"], config["name"]) == ("host-device", name)
        assert config["ipam"] == {"type": "nv-ipam", "poolName": name, "poolType": "cidrpool"}


def test_nodes_of_a_pool_are_those_that_have_a_part_of_it() -> None:
    """nv-ipam gives a node that matches, and has no part, the next free link: one of a server that is still to come."""
    for case in CASES:
        nodes = plans.plan(case).kubernetes.nodes
        for pool in read(case)["pools"].values():
            ((term,),) = [each["matchExpressions"] for each in pool["nodeSelector"]["nodeSelectorTerms"]]
            matching = {node.name for node in nodes if dict(node.labels).get(term["key"]) in term["values"]}
            assert matching == {each["nodeName"] for each in pool["staticAllocations"]}


def test_pools_are_the_same_where_the_fabric_keeps_tenants_apart() -> None:
    shared, parted = plans.plan("mixed/driving"), plans.plan("frr/driving")
    assert [next(n.isolation for n in plan.networks if n.name == "compute") for plan in (shared, parted)] == ["none", "vrf"]
    assert dict(render_network(shared)) == dict(render_network(parted))


def test_the_same_bytes_twice() -> None:
    plan = plans.plan("mixed/driving")
    assert dict(render_network(plan)) == dict(render_network(plan))
