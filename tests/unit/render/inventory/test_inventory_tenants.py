"""inventory.json of `driving`: what a server has of its tenants, and what roles need to know of all of them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cluster_model.render.inventory.document import render_inventory
from cluster_model.render.inventory.gpu import list_socket_interfaces
from tests.planned import open_example
from tests.unit.render.inventory.reading import get_vars

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def case():
    opened = open_example("driving")
    plan, catalogue = opened.plan, opened.catalogue
    return plan, json.loads(render_inventory(plan, catalogue, {"cluster.yml": "0" * 64}))


def test_a_server_has_its_bond_and_an_address_in_each_subnet(case):
    _, body = case
    (bond,) = get_vars(body, "train-001")["gpuyard_bonds"]
    assert (bond["name"], bond["mtu_bytes"]) == ("bond0", 1500)
    assert [(v["name"], v["tenant"], v["address"], v["gateway"], v["default"]) for v in bond["vlans"]] == [
        ("bond0.17", "perception", "192.168.0.16/20", "192.168.0.1", False),
        ("bond0.18", "perception", "10.48.1.16/24", "10.48.1.1", True),
    ]
    (bond,) = get_vars(body, "infer-001")["gpuyard_bonds"]
    assert [(v["name"], v["address"], v["dhcp"]) for v in bond["vlans"]] == [
        ("bond0.49", "192.168.0.16/20", False),
        ("bond0.50", "", True),
    ]


def test_interfaces_say_which_bond_they_are_part_of(case):
    plan, body = case
    for server in plan.servers:
        for port in get_vars(body, server.name)["gpuyard_interfaces"]:
            assert port["bond"] == ("bond0" if port["network"] == "business" else "")
        assert {name for bond in server.bonds for name in bond.ports} == {
            port.name for port in server.ports if port.network == "business"
        }


def test_nccl_meets_on_the_interface_with_the_default_gateway(case):
    plan, body = case
    assert get_vars(body, "train-001")["gpuyard_nccl"]["socket_ifname"] == ["bond0.18"]
    assert get_vars(body, "train-009")["gpuyard_nccl"]["socket_ifname"] == ["bond0.34"]
    # In no subnet a bond has no address, so the next network takes its place.
    idle = replace(plan.server("train-001"), bonds=(replace(plan.server("train-001").bonds[0], vlans=()),))
    oob = [port.name for port in idle.ports if port.network == "oob"]
    assert list_socket_interfaces(idle) == oob


def test_groups_of_tenants_hold_their_own_servers(case):
    plan, body = case
    assert body["tenants"]["children"] == [f"tenant_{tenant.name}" for tenant in plan.tenants]
    assert body["tenant_perception"]["hosts"] == [f"train-{number:03d}" for number in range(1, 9)]
    assert body["tenant_services"]["hosts"] == ["control-001", "control-002", "control-003"]
    assert get_vars(body, "control-001")["gpuyard_tenant_names"] == ["services"]
    assert get_vars(body, "storage-001")["gpuyard_tenant_names"] == []


def test_a_tenant_holds_what_dhcp_ceph_and_kubernetes_need(case):
    _, body = case
    tenants = body["all"]["vars"]["gpuyard_tenants"]
    assert [(name, tenant["id"], tenant["vrf"], tenant["gpu_quota"]) for name, tenant in tenants.items()] == [
        ("perception", 1, "perception", 64),
        ("planning", 2, "planning", 64),
        ("inference", 3, "infer", 48),
        ("services", 10, "services", -1),
        ("intake", 11, "intake", -1),
    ]
    front = next(subnet for subnet in tenants["inference"]["subnets"] if subnet["name"] == "front")
    assert front["pool"] == {"first": "10.48.3.64", "last": "10.48.3.250"}
    assert (front["dhcp_servers"], front["gateway"], front["vlan"]) == (["10.48.0.16", "10.48.0.17"], "10.48.3.1", 50)
    assert tenants["perception"]["nat"] == {"internet": "203.0.113.0/29"}
    assert (tenants["perception"]["uses"], tenants["perception"]["peers"]) == (["services"], ["planning"])
    storage = tenants["intake"]["storage"]
    assert storage["pools"] == []  # buckets alone
    assert tenants["perception"]["storage"]["pools"] == ["datasets"] and tenants["perception"]["storage"]["user"]
    assert len(storage["clients"]) == 4, "the four gateways"
    assert tenants["services"]["storage"] == {}


def test_border_peers_and_what_may_pass(case):
    _, body = case
    peers = body["all"]["vars"]["gpuyard_border_peers"]
    assert peers["vehicles"]["accept"] == [{"prefix": "10.200.0.0/14", "up_to": 24}]
    assert peers["vehicles"]["announce"] == [{"prefix": "10.48.16.0/24", "up_to": 0}]
    assert (peers["internet"]["asn"], peers["internet"]["max_routes"]) == (64496, 10)


def test_networks_say_how_servers_hang_and_what_keeps_tenants_apart(case):
    plan, body = case
    networks = body["all"]["vars"]["gpuyard_networks"]
    assert networks["compute"]["isolation"] == "none"
    assert networks["business"]["homing"] == plan.network("business").homing != ""
