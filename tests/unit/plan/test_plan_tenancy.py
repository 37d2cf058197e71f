"""Tenants as planned: numbers by id, where VRFs meet, bonds and the border. What is expected is worked out by hand."""

import pytest
from intents import catalogue, change, plan_of, small

from cluster_model.intent.model.cluster import Cluster
from cluster_model.plan.build import build_plan
from cluster_model.plan.model.overlay import (
    Bond,
    External,
    Filter,
    Import,
    Meeting,
    Mlag,
    Nat,
    NatRule,
    OverlayVlan,
    Partition,
    ServerBond,
    ServerVlan,
    Subnet,
    TenantStorage,
)

CORE, RED, BLUE = Filter("10.48.0.0/24"), Filter("10.48.1.0/24"), Filter("10.48.2.0/24")
INSIDE, DEFAULT = Filter("192.168.0.0/20"), Filter("0.0.0.0/0")

# Units of four: control-001 to -004 hang on pair 1, gpu-001 to -004 (red) on pair 2, gpu-005 to -008 (blue) on pair 3.
TENANTS = {
    "red": {
        "id": 1,
        "servers": ["gpu-001..gpu-004"],
        "gpus": 32,
        "subnets": {"train": {"id": 1, "cidr": "192.168.0.0/20", "visible": False}, "front": {"id": 2, "cidr": "10.48.1.0/24"}},
        "uses": ["hub"],
        "peers": ["blue"],
        "egress": ["internet"],
        "nat": {"internet": "203.0.113.0/29"},
    },
    "blue": {
        "id": 2,
        "vrf": "azure",
        "servers": ["gpu-005..gpu-008"],
        "subnets": {"train": {"id": 1, "cidr": "192.168.0.0/20", "visible": False}, "front": {"id": 2, "cidr": "10.48.2.0/24"}},
        "uses": ["hub"],
        "peers": ["red"],
        "egress": ["depot", "internet"],
    },
    "hub": {"id": 10, "shared": True, "servers": ["control"], "subnets": {"core": {"id": 1, "cidr": "10.48.0.0/24"}}},
}
BORDER = {
    "leaf": "generic/linux-32x100g",
    "nos": "frr",
    "peers": {
        "internet": {
            "id": 1,
            "asn": 64496,
            "links": [{"border": 1, "prefix": "198.51.100.0/31"}, {"border": 2, "prefix": "198.51.100.2/31"}],
            "accept": [{"prefix": "0.0.0.0/0"}],
            "announce": [{"prefix": "203.0.113.0/24", "up_to": 32}, {"prefix": "10.48.2.0/23", "up_to": 24}],
            "max_routes": 10,
            "password": True,
        },
        "depot": {"id": 2, "asn": 64511, "links": [{"border": 2, "prefix": "198.51.100.6/31"}]},
    },
}
BUSINESS = {"leaf": "nvidia/sn3700c", "nos": "sonic", "pool": "10.112.0.0/16", "unit": 4, "homing": "esi", "border": BORDER}
SHARED = small(
    servers__gpu__unit=8,
    servers__control={"id": 2, "model": "generic/1u", "count": 4, "racks": "network"},
    networks__business=BUSINESS,
    tenants=TENANTS,
)


def vary(**values):
    return plan_of(change(SHARED, **values))


def plan_refused(document):
    """Return the plan of an intent that its own checks refuse: planning must stand it."""
    plan, findings = build_plan(Cluster.model_validate(document), catalogue(), None, "digest")
    assert plan is not None, findings
    return plan


@pytest.fixture(scope="module")
def plan():
    return plan_of(SHARED)


def tenant(plan, name):
    return next(tenant for tenant in plan.tenants if tenant.name == name)


def overlay(plan, switch):
    found = plan.switch(switch).overlay
    assert found is not None
    return found


def vrf(plan, switch, name):
    (found,) = [vrf for vrf in overlay(plan, switch).vrfs if vrf.name == name]
    return found


def names_of_vrfs(plan, switch):
    return [vrf.name for vrf in overlay(plan, switch).vrfs]


# --- numbers --------------------------------------------------------------------------------------------------------------


def test_a_tenants_numbers_follow_from_its_id(plan):
    blue = tenant(plan, "blue")
    assert (blue.id, blue.vrf, blue.vlan, blue.vni, blue.route_target, blue.table) == (
        2,
        "azure",
        32,
        50002,
        "64512:50002",
        10002,
    )
    assert (blue.gpus, tenant(plan, "red").gpus) == (-1, 32)
    assert (blue.compute_vni, blue.compute_route_target, blue.pkey, blue.storage) == (0, "", 0, None)
    assert [found.name for found in plan.tenants] == ["red", "blue", "hub"]


def test_a_subnets_numbers_follow_from_both_ids(plan):
    assert tenant(plan, "blue").subnets[1] == Subnet(
        name="front",
        id=2,
        tenant="blue",
        prefix="10.48.2.0/24",
        gateway="10.48.2.1/24",
        vlan=34,
        vni=10034,
        route_target="64512:10034",
        visible=True,
        untagged=False,
        addressing="static",
        pool="",
        dhcp_servers=(),
        where="tenants.blue.subnets.front",
    )


def test_what_the_intent_says_wins_over_what_follows_from_ids():
    blue = change(TENANTS["blue"], vlan=3000, vni=777, subnets__front__vlan=3001, subnets__train__vni=888)
    blue = change(blue, subnets__front__gateway="10.48.2.254")
    found = tenant(vary(tenants__blue=blue, networks__business__rt_administrator=65000), "blue")
    assert (found.vlan, found.vni, found.route_target) == (3000, 777, "65000:777")
    assert [(subnet.vlan, subnet.vni, subnet.route_target) for subnet in found.subnets] == [
        (33, 888, "65000:888"),
        (3001, 13001, "65000:13001"),
    ]
    assert found.subnets[1].gateway == "10.48.2.254/24"


def test_a_tenants_servers_are_those_built_by_group_id_and_number():
    doc = change(SHARED, servers__gpu__planned=12, tenants__red__servers=["gpu-007..gpu-010", "control", "gpu-007"])
    assert tenant(plan_of(doc), "red").servers == (
        "gpu-007",
        "gpu-008",
        "control-001",
        "control-002",
        "control-003",
        "control-004",
    )


def test_lists_of_names_are_in_the_order_of_ids(plan):
    assert tenant(plan, "blue").egress == ("internet", "depot")
    assert tenant(plan, "red").nat == (Nat("internet", "203.0.113.0/29"),)
    assert [peer.tenants for peer in plan.border_peers] == [("red", "blue"), ("blue",)]


# --- meetings -------------------------------------------------------------------------------------------------------------


def test_meetings_have_a_provider_and_what_crosses(plan):
    assert plan.meetings == (
        Meeting("shared", "hub", "red", (CORE,), (RED,)),
        Meeting("shared", "hub", "azure", (CORE,), (BLUE,)),
        Meeting("peering", "red", "azure", (RED,), (BLUE,)),
        Meeting("egress", "internet", "red", (DEFAULT,), ()),  # its addresses stay inside: NAT
        Meeting("egress", "internet", "azure", (DEFAULT,), (BLUE,)),
        Meeting("egress", "depot", "azure", (), ()),  # no filter, no route
    )


@pytest.mark.parametrize(
    "values",
    [
        {"tenants__blue__peers": []},  # only red names the other
        {"tenants__red__peers": ["nobody", "red"], "tenants__blue__peers": []},
    ],
)
def test_a_peering_that_one_side_names_is_none(values):
    assert [meeting for meeting in plan_refused(change(SHARED, **values)).meetings if meeting.kind == "peering"] == []


def test_only_shared_tenants_provide():
    plan = plan_refused(change(SHARED, tenants__hub__shared=False, tenants__red__uses=["hub", "nobody", "red"]))
    assert [meeting for meeting in plan.meetings if meeting.kind == "shared"] == []


@pytest.mark.parametrize(
    ("announce", "told"),
    [
        ([], ()),
        ([{"prefix": "10.48.2.0/24"}], (BLUE,)),
        ([{"prefix": "10.48.0.0/16"}], ()),
        ([{"prefix": "10.48.0.0/16", "up_to": 23}], ()),
        ([{"prefix": "10.48.0.0/16", "up_to": 24}], (BLUE,)),
        ([{"prefix": "10.48.2.0/25", "up_to": 32}], ()),
        ([{"prefix": "0.0.0.0/0", "up_to": 32}], (BLUE,)),  # the inside subnet is not visible
    ],
)
def test_what_the_border_learns_of_a_tenant_passes_the_announce_filter(announce, told):
    plan = vary(networks__business__border__peers__internet__announce=announce)
    (found,) = [meeting for meeting in plan.meetings if meeting.provider == "internet" and meeting.consumer == "azure"]
    assert found.returned == told


# --- where VRFs meet ------------------------------------------------------------------------------------------------------


def test_a_leaf_has_the_tenants_of_its_servers_and_whom_they_provide_for(plan):
    assert names_of_vrfs(plan, "business-leaf-u01-01") == ["red", "azure", "hub"]  # hub's home: its consumers come here
    assert names_of_vrfs(plan, "business-leaf-u02-02") == ["red", "azure"]  # red provides for blue: the lower id
    assert names_of_vrfs(plan, "business-leaf-u03-01") == ["azure"]
    assert names_of_vrfs(plan, "business-border-01") == ["red", "azure", "internet"]
    assert names_of_vrfs(plan, "business-border-02") == ["red", "azure", "internet", "depot"]


def test_both_ways_cross_on_the_providers_leafs(plan):
    leaf = "business-leaf-u01-01"
    assert vrf(plan, leaf, "red").imports == (Import("hub", (CORE,)),)
    assert vrf(plan, leaf, "azure").imports == (Import("hub", (CORE,)),)
    assert vrf(plan, leaf, "hub").imports == (Import("red", (RED,)), Import("azure", (BLUE,)))
    assert vrf(plan, "business-leaf-u02-01", "red").imports == (Import("azure", (BLUE,)),)
    assert vrf(plan, "business-leaf-u02-01", "azure").imports == (Import("red", (RED,)),)
    assert vrf(plan, "business-leaf-u03-01", "azure").imports == ()


def test_what_was_imported_for_the_way_back_is_not_announced(plan):
    leaf = "business-leaf-u01-01"
    assert vrf(plan, leaf, "hub").announced == (CORE,)
    assert vrf(plan, leaf, "red").announced == (CORE,)
    assert vrf(plan, "business-leaf-u02-01", "red").announced == (INSIDE, RED)
    assert vrf(plan, "business-leaf-u02-01", "azure").announced == (RED,)
    assert vrf(plan, "business-leaf-u03-01", "azure").announced == (INSIDE, BLUE)


def test_a_provider_with_two_subnets_announces_each_where_it_is():
    doc = change(SHARED, tenants__hub__servers=["control", "gpu-008"])
    doc["tenants"]["hub"]["subnets"]["core"]["servers"] = ["control"]
    doc["tenants"]["hub"]["subnets"]["far"] = {"id": 2, "cidr": "10.48.9.0/24", "servers": ["gpu-008"]}
    plan = plan_of(doc)
    far = Filter("10.48.9.0/24")
    assert vrf(plan, "business-leaf-u01-01", "red").imports == (Import("hub", (CORE, far)),)
    assert vrf(plan, "business-leaf-u01-01", "red").announced == (CORE,)
    assert vrf(plan, "business-leaf-u03-01", "red").announced == (far,)
    assert vrf(plan, "business-leaf-u03-01", "azure").announced == (INSIDE, BLUE, far)


def test_two_shared_tenants_that_use_each_other_meet_on_the_leafs_of_both():
    doc = change(SHARED, tenants__red__shared=True, tenants__red__peers=[], tenants__blue__peers=[], tenants__hub__uses=["red"])
    plan = plan_of(doc)
    assert vrf(plan, "business-leaf-u02-01", "hub").announced == (RED,)
    assert vrf(plan, "business-leaf-u02-01", "red").imports == (Import("hub", (CORE,)),)
    assert vrf(plan, "business-leaf-u01-01", "red").announced == (CORE,)


def test_a_vrf_on_a_leaf_has_its_own_route_distinguisher(plan):
    low, high = (vrf(plan, f"business-leaf-u03-0{index}", "azure") for index in (1, 2))
    loopbacks = [plan.switch(f"business-leaf-u03-0{index}").loopback.removesuffix("/32") for index in (1, 2)]
    assert [low.rd, high.rd] == [f"{loopback}:50002" for loopback in loopbacks]
    assert (low.kind, low.id, low.table, low.vlan, low.vni, low.route_target) == ("tenant", 2, 10002, 32, 50002, "64512:50002")


# --- leafs ----------------------------------------------------------------------------------------------------------------


def test_a_leaf_has_the_subnets_of_its_servers(plan):
    leaf = plan.switch("business-leaf-u03-02")
    loopback = leaf.loopback.removesuffix("/32")
    assert leaf.overlay.vlans == (
        OverlayVlan(33, 10033, "blue-train", f"{loopback}:33", "64512:10033", "azure", "192.168.0.1/20", ()),
        OverlayVlan(34, 10034, "blue-front", f"{loopback}:34", "64512:10034", "azure", "10.48.2.1/24", ()),
    )
    assert (leaf.overlay.vtep, leaf.overlay.shared_vtep, leaf.overlay.homing) == (loopback, False, "esi")
    assert leaf.overlay.anycast_mac == "00:00:5e:00:01:01"


def test_a_bond_is_the_same_segment_on_both_leafs(plan):
    low, high = (overlay(plan, f"business-leaf-u03-0{index}").bonds for index in (1, 2))
    ports = {port.peer: port.name for port in plan.switch("business-leaf-u03-01").ports if port.use == "host"}
    esi = "03:02:67:79:00:00:03:00:00:02"
    assert low[1] == Bond(2, "gpu-006", (ports["gpu-006"],), 100, 2, "02:67:79:00:00:03", esi, (33, 34), 0)
    assert [(bond.number, bond.server, bond.esi) for bond in low] == [(bond.number, bond.server, bond.esi) for bond in high]
    assert len({bond.esi for bond in low}) == 4


def test_spines_only_pass_routes_on(plan):
    for name in ("business-spine-01", "business-spine-02"):
        found = overlay(plan, name)
        assert (found.vtep, found.homing, found.vlans, found.vrfs, found.bonds) == ("", "esi", (), (), ())
    assert {switch.overlay for switch in plan.switches if switch.network != "business"} == {None}


def test_mlag_pairs_share_a_tunnel_address_and_a_peer_link():
    plan = vary(networks__business__homing="mlag")
    low, high = (overlay(plan, f"business-leaf-u02-0{index}") for index in (1, 2))
    links = tuple(port.name for port in plan.switch("business-leaf-u02-01").ports if port.use == "peer_link")
    mac = "02:67:79:00:00:02"
    assert len(links) == 2
    assert (low.vtep, low.shared_vtep) == (high.vtep, high.shared_vtep) == ("10.112.128.1", True)  # second unit, services' slice
    assert low.mlag == Mlag(2, mac, links, 1000, 4094, "10.112.144.2/31", "10.112.144.3")
    assert high.mlag == Mlag(2, mac, links, 1000, 4094, "10.112.144.3/31", "10.112.144.2")
    assert {bond.esi for bond in low.bonds} == {""}
    assert vrf(plan, "business-leaf-u02-01", "red").rd == f"{plan.switch('business-leaf-u02-01').loopback[:-3]}:50001"
    assert [overlay(plan, f"business-border-0{index}").mlag for index in (1, 2)] == [None, None]


@pytest.mark.parametrize(("homing", "second"), [("esi", []), ("mlag", ["hub-core"])])
def test_what_a_single_port_reaches_is_on_both_leafs_of_an_mlag_pair(homing, second):
    (first, _) = [port.name for port in plan_of(SHARED).server("control-001").ports if port.network == "business"]
    plan = vary(networks__business__homing=homing, servers__control__nics={"business": [first]})
    assert [vlan.name for vlan in overlay(plan, "business-leaf-u01-01").vlans] == ["hub-core"]
    assert [vlan.name for vlan in overlay(plan, "business-leaf-u01-02").vlans] == second
    assert overlay(plan, "business-leaf-u01-02").bonds == ()


def test_one_leaf_per_unit_makes_no_segments():
    doc = change(SHARED, networks__business__leafs_per_unit=1, networks__business__homing="auto")
    doc["networks"]["business"]["border"]["peers"]["internet"]["links"].pop()
    del doc["networks"]["business"]["border"]["peers"]["depot"]
    doc["tenants"]["blue"]["egress"] = ["internet"]
    plan = plan_of(doc)
    found = overlay(plan, "business-leaf-u03-01")
    assert (found.homing, found.mlag, {bond.esi for bond in found.bonds}) == ("single", None, {""})
    assert [rule.outside for rule in overlay(plan, "business-border-01").nat] == ["203.0.113.0/29"]  # whole


# --- border ---------------------------------------------------------------------------------------------------------------


def test_a_border_leaf_has_the_peers_that_are_plugged_into_it(plan):
    found = overlay(plan, "business-border-02")
    assert found.externals[0] == External(
        peer="internet",
        vrf="internet",
        port="swp1",
        cage=1,
        speed_gbps=100,
        mtu_bytes=1500,
        address="198.51.100.3/31",
        peer_address="198.51.100.2",
        asn=64496,
        accept=(DEFAULT,),
        announce=(Filter("10.48.2.0/23", 24), Filter("203.0.113.0/24", 32)),
        max_routes=10,
        secret="bgp-internet",
    )
    assert (found.externals[1].accept, found.externals[1].announce, found.externals[1].secret) == ((), (), "")
    internet = vrf(plan, "business-border-02", "internet")
    assert (internet.kind, internet.table, internet.vni, internet.rd, internet.ports) == ("external", 20001, 0, "", ("swp1",))
    assert internet.imports == (Import("azure", (BLUE,)),)
    assert internet.announced == ()


def test_tenants_take_a_peers_routes_on_the_border_and_announce_them_to_all(plan):
    for border in ("business-border-01", "business-border-02"):
        for name in ("red", "azure"):
            assert vrf(plan, border, name).imports == (Import("internet", (DEFAULT,)),)
            assert vrf(plan, border, name).announced == (DEFAULT,)


def test_outside_addresses_are_halved_over_the_border_leafs(plan):
    rule = NatRule("red", "red", 16, "internet", "internet", "203.0.113.0/30", 257, 10001)
    assert overlay(plan, "business-border-01").nat == (rule,)
    assert overlay(plan, "business-border-02").nat[0].outside == "203.0.113.4/30"
    assert vrf(plan, "business-border-01", "internet").originates == ("203.0.113.0/30",)
    assert vrf(plan, "business-border-02", "internet").originates == ("203.0.113.4/30",)


def test_a_single_outside_address_stays_on_the_first_border_leaf():
    plan = vary(tenants__red__nat={"internet": "203.0.113.9/32"})
    assert [[rule.outside for rule in overlay(plan, f"business-border-0{index}").nat] for index in (1, 2)] == [
        ["203.0.113.9/32"],
        [],
    ]


# --- servers --------------------------------------------------------------------------------------------------------------


def test_a_server_has_a_bond_with_an_interface_per_subnet(plan):
    server = plan.server("gpu-006")
    ports = tuple(port.name for port in server.ports if port.network == "business")
    assert len(ports) == 2
    assert server.bonds == (
        ServerBond(
            "bond0",
            ports,
            1500,
            200,
            (
                ServerVlan("bond0.33", "blue", "train", 33, True, "192.168.0.21/20", "192.168.0.1", False, False),
                ServerVlan("bond0.34", "blue", "front", 34, True, "10.48.2.21/24", "10.48.2.1", False, True),
            ),
        ),
    )


def test_a_server_that_no_subnet_reaches_has_its_bond_all_the_same():
    plan = vary(tenants__blue__servers=["gpu-005..gpu-007"])
    assert [(bond.name, bond.vlans) for bond in plan.server("gpu-008").bonds] == [("bond0", ())]
    (bond,) = [bond for bond in overlay(plan, "business-leaf-u03-01").bonds if bond.server == "gpu-008"]
    assert (bond.vlans, bond.untagged) == ((), 0)


def test_dhcp_first_places_and_untagged_subnets():
    front = {"id": 2, "cidr": "10.48.2.0/24", "addressing": "dhcp", "untagged": True}
    front |= {"pool": {"first": "10.48.2.64", "last": "10.48.2.250"}, "dhcp_servers": ["10.48.0.17", "10.48.0.16"]}
    doc = change(SHARED, tenants__blue__subnets__front=front, tenants__blue__subnets__train__first={"gpu": 100})
    plan = plan_of(doc)
    train, out = plan.server("gpu-005").bonds[0].vlans
    assert train.address == "192.168.0.104/20"
    assert (out.name, out.tagged, out.address, out.dhcp, out.gateway) == ("bond0", False, "", True, "10.48.2.1")
    assert overlay(plan, "business-leaf-u03-01").bonds[0].vlans == (33,)
    assert overlay(plan, "business-leaf-u03-01").bonds[0].untagged == 34
    assert tenant(plan, "blue").subnets[1].pool == "10.48.2.64-10.48.2.250"
    assert overlay(plan, "business-leaf-u03-01").vlans[1].dhcp_servers == ("10.48.0.16", "10.48.0.17")


def test_a_subnet_may_reach_servers_of_other_tenants():
    plan = vary(tenants__hub__subnets__core__servers=["control", "gpu-001"])
    assert [(vlan.subnet, vlan.default) for vlan in plan.server("gpu-001").bonds[0].vlans] == [
        ("train", False),
        ("front", True),
        ("core", False),
    ]
    assert [vlan.name for vlan in overlay(plan, "business-leaf-u02-01").vlans] == ["red-train", "red-front", "hub-core"]
    assert names_of_vrfs(plan, "business-leaf-u02-01") == ["red", "azure", "hub"]
    assert tenant(plan, "hub").servers == ("control-001", "control-002", "control-003", "control-004")


def test_without_a_visible_subnet_the_first_leads_out():
    plan = vary(tenants__blue__subnets__front__visible=False)
    assert [vlan.default for vlan in plan.server("gpu-005").bonds[0].vlans] == [True, False]


# --- storage and compute --------------------------------------------------------------------------------------------------


def test_a_tenants_share_of_ceph_is_open_to_its_own_servers_alone():
    doc = change(
        SHARED,
        networks__storage={"technology": "tcp", "leaf": "nvidia/sn4700", "nos": "sonic", "pool": "10.96.0.0/12"},
        servers__store={"id": 3, "role": "storage", "model": "generic/2u-24nvme", "count": 3, "racks": "network"},
        ceph={"hosts": "store", "pools": {"data": {"replicas": 3}, "aux": {"replicas": 3}}},
        tenants__blue__ceph={"pools": ["data", "aux"]},
    )
    plan = plan_of(doc)
    clients = tuple(s.address for number in (5, 6, 7, 8) for s in plan.server(f"gpu-{number:03d}").services)
    assert len(set(clients)) == 4
    assert tenant(plan, "blue").storage == TenantStorage(("aux", "data"), "blue", "client.blue", clients)


def test_compute_isolation_by_vrf_takes_the_ports_of_owned_servers():
    doc = change(SHARED, networks__compute__isolation="vrf", tenants__blue__servers=["gpu-005..gpu-006"])
    plan = plan_of(doc)
    leaf = plan.switch("compute-leaf-u01-03")
    owners = {port.peer: port.vrf for port in leaf.ports if port.use == "host"}
    assert owners == {
        **{f"gpu-00{number}": "red" for number in (1, 2, 3, 4)},
        **{f"gpu-00{number}": "azure" for number in (5, 6)},
        **{f"gpu-00{number}": "" for number in (7, 8)},
    }
    red, blue = leaf.overlay.vrfs
    loopback = leaf.loopback.removesuffix("/32")
    assert (leaf.overlay.vtep, leaf.overlay.homing, leaf.overlay.vlans) == (loopback, "single", ())
    assert (blue.name, blue.kind, blue.id, blue.vlan, blue.vni, blue.rd) == (
        "azure",
        "compute",
        2,
        32,
        60002,
        f"{loopback}:60002",
    )
    assert blue.route_target == tenant(plan, "blue").compute_route_target == "64512:60002"
    assert blue.announced == red.announced == tuple(Filter(aggregate, 32) for aggregate in leaf.originates)
    assert blue.ports == tuple(port.name for port in leaf.ports if port.peer in {"gpu-005", "gpu-006"})
    assert overlay(plan, "compute-spine-01").vrfs == ()


def test_compute_without_isolation_has_no_overlay(plan):
    compute = [switch for switch in plan.switches if switch.network == "compute"]
    assert {switch.overlay for switch in compute} == {None}
    assert {port.vrf for switch in compute for port in switch.ports} == {""}
    assert plan.partitions == ()


def test_partitions_have_the_compute_ports_of_owned_servers():
    compute = {"technology": "infiniband", "leaf": "nvidia/qm9700", "isolation": "pkeys"}
    plan = vary(networks__compute=compute, tenants__blue__servers=["gpu-008"])
    assert [(found.tenant, found.pkey, len(found.ports)) for found in plan.partitions] == [
        ("red", 0x8001, 32),
        ("blue", 0x8002, 8),
    ]
    ports = tuple(f"gpu-008:{port.name}" for port in plan.server("gpu-008").ports if port.network == "compute")
    assert plan.partitions[1] == Partition("blue", 0x8002, ports, ("",) * 8)
    assert tenant(plan, "hub").pkey == 0x800A


def test_tenants_without_a_business_network_are_planned_too():
    doc = change(SHARED, networks__business=None, networks__compute__isolation="vrf")
    plan = plan_refused(doc)
    assert tenant(plan, "red").compute_vni == 60001
    assert plan.border_peers == ()
    assert {server.bonds for server in plan.servers} == {()}


def test_collisions_are_for_the_rules_to_tell_and_stop_no_plan():
    red = change(TENANTS["red"], subnets__front__cidr="192.168.0.0/20", subnets__front__vlan=17, subnets__front__untagged=True)
    red = change(red, subnets__train__untagged=True)
    blue = change(TENANTS["blue"], vrf="red", vlan=16, vni=50001, servers=["gpu-003..gpu-008", "nobody", "gpu-900"])
    plan = plan_refused(change(SHARED, tenants__red=red, tenants__blue=blue))
    assert names_of_vrfs(plan, "business-leaf-u02-01") == ["red", "red"]
    assert [bond.untagged for bond in overlay(plan, "business-leaf-u02-01").bonds] == [17] * 4
