"""The business network: bonds to leaf pairs, how pairs share them, and the border behind all units."""

from collections import Counter

import pytest
from intents import catalogue, findings_of, plan_example, plan_of, read, small, vary_example

from cluster_model.plan.fabric.business import has_feature, resolve_homing

BUSINESS = {"leaf": "nvidia/sn3700c", "nos": "sonic", "pool": "10.112.0.0/16", "unit": 4}
FRR = {"leaf": "generic/linux-32x100g", "nos": "frr", "pool": "10.112.0.0/16", "unit": 4}
PEER = {
    "id": 3,
    "asn": 64496,
    "accept": [{"prefix": "0.0.0.0/0"}],
    "announce": [],
    "links": [
        {"border": 1, "prefix": "198.51.100.0/31"},
        {"border": 2, "prefix": "198.51.100.4/30", "cage": 9, "speed_gbps": 25},
    ],
}
BORDER = {"peers": {"internet": PEER}}


def business(**values):
    """Return the small intent with a business network, changed by path."""
    return small(networks__business={**BUSINESS, **values})


def switches(plan, role="leaf"):
    return [switch for switch in plan.switches if switch.network == "business" and switch.role == role]


def test_driving_has_pairs_spines_and_a_border():
    plan = plan_example("driving")
    network = plan.network("business")
    assert (network.leafs, network.spines, network.borders) == (6, 2, 2)
    assert (network.units, network.leafs_per_unit, network.tiers) == (3, 2, 2)
    assert network.cables == {"host_leaf": 58, "fabric_manager": 0, "peer_link": 6, "leaf_spine": 48, "spine_core": 0}
    assert (network.mtu_bytes, network.host_mtu_bytes) == (9100, 1500)
    assert (network.border_model, network.design, network.technology) == ("generic/linux-32x100g", "evpn", "ethernet")
    assert network.evpn and not plan.network("compute").evpn and plan.network("compute").isolation == "none"


def test_hosts_of_25_and_100_gbps_share_a_leaf():
    leaf = plan_example("driving").switch("business-leaf-u01-01")
    modes = {mode.cage: (mode.count, mode.speed_gbps) for mode in leaf.modes}
    hosts = [port for port in leaf.ports if port.use == "host"]
    assert {port.speed_gbps for port in hosts} == {25, 100}
    assert all(modes[port.cage][1] == port.speed_gbps for port in hosts)
    assert Counter(port.cage for port in hosts if port.speed_gbps == 25) == {1: 4, 2: 3}


def test_a_server_ends_on_both_leafs_of_its_unit_under_one_bond_number():
    plan = plan_of(business())
    for server in plan.servers:
        ports = [port for port in server.ports if port.network == "business"]
        assert [plan.switch(port.peer).index for port in ports] == [1, 2]
        assert not any(port.address or port.gateway or port.table for port in ports)
        seats = {(plan.switch(p.peer).unit, q.bond) for p in ports for q in plan.switch(p.peer).ports if q.name == p.peer_port}
        assert seats == {((server.number - 1) // 4 + 1, (server.number - 1) % 4 + 1)}


def test_an_mlag_pair_has_two_peer_links_and_one_tunnel_address():
    plan = plan_of(business())
    first, second = (plan.switch(f"business-leaf-u02-0{index}") for index in (1, 2))
    links = [port for port in first.ports if port.use == "peer_link"]
    assert [(port.peer, port.peer_port, port.peer_asn) for port in links] == [(second.name, port.name, 0) for port in links]
    uplinks = [port.cage for port in first.ports if port.use == "fabric"]
    assert [port.cage for port in links] == [min(uplinks) - 2, min(uplinks) - 1]
    assert first.originates == second.originates == ("10.112.128.1/32",)
    assert first.originates != plan.switch("business-leaf-u01-01").originates


def test_a_peer_link_stays_where_hosts_are_added():
    def seats(count):
        plan = plan_of(small(networks__business=BUSINESS, servers__gpu__count=count, servers__gpu__planned=8))
        return {(port.name, port.use, port.peer) for port in plan.switch("business-leaf-u01-01").ports if port.use != "host"}

    assert seats(1) == seats(3) == seats(8)


def test_the_largest_unit_leaves_room_for_the_peer_link():
    document = small(servers__gpu__count=64, servers__gpu__unit=32, networks__business={**BUSINESS, "unit": None})
    document["racks"]["rows"]["A"]["racks"] = 30
    sizes = {homing: plan_of({**document, "networks": with_homing(document, homing)}) for homing in ("mlag", "esi")}
    hosts = {homing: plan.network("business").hosts_per_leaf for homing, plan in sizes.items()}
    assert hosts == {"mlag": 16, "esi": 24}  # of 32 cages: 22 and 24 hosts with their uplinks; units are multiples of eight
    assert all(len(leaf.ports) <= 32 for plan in sizes.values() for leaf in switches(plan))


def with_homing(document, homing):
    return {**document["networks"], "business": {**document["networks"]["business"], "homing": homing}}


@pytest.mark.parametrize(
    ("network", "homing", "reason"),
    [
        (BUSINESS, "mlag", "SONiC 202605 has no EVPN multihoming (it came with 202611), so leaf pairs are MLAG"),
        ({**BUSINESS, "release": "202505"}, "mlag", "SONiC 202505 has no EVPN multihoming (it came with 202611)"),
        ({**BUSINESS, "release": "202611"}, "esi", "SONiC 202611 has EVPN multihoming, so leaf pairs share Ethernet segments"),
        ({**BUSINESS, "homing": "esi"}, "esi", "homing is set to esi"),
        (FRR, "esi", "FRR on Linux 8.4.4 has EVPN multihoming"),
        ({**FRR, "release": "10.2"}, "esi", "FRR on Linux 10.2 has"),
        ({**FRR, "release": "7.5"}, "mlag", "FRR on Linux 7.5 has no EVPN multihoming (it came with 8.0)"),
        ({**FRR, "homing": "mlag"}, "mlag", "homing is set to mlag"),
        ({**BUSINESS, "leafs_per_unit": 1}, "single", "leafs_per_unit is 1"),
    ],
)
def test_homing_follows_from_platform_and_release_and_says_so(network, homing, reason):
    intent = read(small(networks__business=network)).networks.business
    found = resolve_homing(intent, catalogue().platforms[network["nos"]])
    assert found[0] == homing and found[1].startswith(reason)


def test_a_feature_without_a_first_release_is_what_the_platform_says():
    sonic = catalogue().platforms["sonic"]
    assert has_feature(sonic, "mlag") and has_feature(sonic, "mlag", "202305") and not has_feature(sonic, "adaptive_routing")


@pytest.mark.parametrize(("values", "links", "leafs"), [({}, 2, 4), ({"release": "202611"}, 0, 4), ({"leafs_per_unit": 1}, 0, 2)])
def test_only_mlag_pairs_have_peer_links(values, links, leafs):
    plan = plan_of(business(**values))
    assert len(switches(plan)) == leafs
    assert {sum(port.use == "peer_link" for port in leaf.ports) for leaf in switches(plan)} == {links}
    assert all(bool(leaf.originates) == bool(links) for leaf in switches(plan))
    names = {part.name for part in plan.network("business").slices}
    assert names == ({"vteps", "loopbacks"} if links else {"loopbacks"})


def test_the_pool_needs_no_room_for_hosts():
    assert plan_of(business(pool="10.112.0.0/22")).network("business").pool == "10.112.0.0/22"
    (finding,) = findings_of(business(pool="10.112.0.0/28"))
    assert finding.id == "ADR001" and finding.where == "networks.business.pool"


def border_of(plan):
    return [(s.name, s.asn, s.loopback, s.rack, s.u, s.unit) for s in switches(plan, "border")]


def test_the_border_stays_where_units_are_added():
    found = [
        plan_of(small(networks__business={**BUSINESS, "border": BORDER}, servers__gpu__count=count, servers__gpu__planned=16))
        for count in (1, 9, 16)
    ]
    assert border_of(found[0]) == border_of(found[1]) == border_of(found[2])
    ports = [[switch.ports for switch in switches(plan, "border")] for plan in found]
    assert ports[0] == ports[1] == ports[2]
    identity = [row[:3] for row in border_of(plan_of(business(border=BORDER)))]  # half the units planned: another design
    assert identity == [row[:3] for row in border_of(found[0])]


def test_a_border_moves_nothing_of_the_leafs():
    bare, full = plan_of(business()), plan_of(business(border=BORDER))
    assert {cable for cable in bare.cables if cable.network == "business"} <= set(full.cables)
    for switch in bare.switches:
        if switch.network == "business":
            after = full.switch(switch.name)
            assert (switch.asn, switch.loopback, switch.rack, switch.u) == (after.asn, after.loopback, after.rack, after.u)
            assert set(switch.ports) <= set(after.ports)


@pytest.mark.parametrize("underlay", ["unnumbered", "numbered"])
def test_border_leafs_have_addresses_and_asns_of_their_own(underlay):
    plan = plan_of(business(border=BORDER, underlay=underlay))
    own = [switch for switch in plan.switches if switch.network == "business"]
    assert len({switch.loopback for switch in own}) == len(own)
    edge = [switch.asn for switch in own if switch.is_edge]
    assert len(set(edge)) == len(edge) == 6
    addresses = [port.address for switch in own for port in switch.ports if port.address]
    assert len(set(addresses)) == len(addresses) and bool(addresses) == (underlay == "numbered")


def test_spines_end_with_the_border():
    for spine in switches(plan := plan_of(business(border=BORDER)), "spine"):
        roles = [plan.switch(port.peer).role for port in spine.ports]
        assert roles == sorted(roles, key=["leaf", "border"].index) and roles.count("border") == plan.network("business").uplinks


def externals(plan):
    return [external for border in switches(plan, "border") for external in border.overlay.externals]


def test_peers_take_the_cage_of_their_id_or_the_one_named():
    plan = plan_of(business(border=BORDER))
    first, second = externals(plan)
    assert (first.port, first.cage, first.speed_gbps) == ("Ethernet8", 3, 100)
    assert (first.address, first.peer_address) == ("198.51.100.1/31", "198.51.100.0")
    assert (second.port, second.cage, second.speed_gbps) == ("Ethernet32", 9, 25)
    assert (second.address, second.peer_address) == ("198.51.100.6/30", "198.51.100.5")
    modes = {mode.cage: (mode.count, mode.speed_gbps) for mode in plan.switch("business-border-02").modes}
    assert modes[9] == (4, 25) and modes[3] == (1, 100)


def link(**values):
    return {"border": 1, "prefix": "198.51.100.0/31", **values}


@pytest.mark.parametrize(
    ("links", "where", "summary"),
    [
        (
            [link(), link(prefix="198.51.100.2/31", cage=5)],
            "internet.links.1.border",
            "internet already has a link to border leaf 1",
        ),
        ([link(cage=33)], "internet.links.0.cage", "business-border-01 has no cage 33"),
        ([link(cage=32)], "internet.links.0.cage", "cage 32 of business-border-01 is taken by an uplink"),
        ([link(speed_gbps=40)], "internet.links.0.speed_gbps", "cage 3 of business-border-01 does not run at 40 Gb/s"),
        ([link(prefix="198.51.100.0/29")], "internet.links.0.prefix", "a link to an external peer has two ends"),
    ],
)
def test_a_link_that_cannot_be_is_found(links, where, summary):
    (finding,) = findings_of(business(border={"peers": {"internet": {**PEER, "links": links}}}))
    assert (finding.id, finding.where, finding.summary) == ("NET021", f"networks.business.border.peers.{where}", summary)


def test_two_peers_do_not_share_a_cage():
    other = {**PEER, "id": 4, "links": [link(cage=3, prefix="198.51.100.8/31")]}
    (finding,) = findings_of(business(border={"peers": {"internet": PEER, "line": other}}))
    assert (finding.id, finding.summary) == ("NET021", "cage 3 of business-border-01 is taken by internet")
    assert finding.fix == "set cage to 1"


def test_a_border_leaf_that_does_not_exist_is_found():
    (finding,) = findings_of(business(leafs_per_unit=1, border=BORDER))
    assert (finding.id, finding.where) == ("NET021", "networks.business.border.peers.internet.links.1.border")


def test_a_border_without_a_speed_of_the_spines_is_found():
    document = business(border={**BORDER, "leaf": "nvidia/sn4700"}, fabric_speed_gbps=25)
    assert ("NET004", "networks.business.fabric_speed_gbps") in {(f.id, f.where) for f in findings_of(document)}


def test_unknown_models_of_all_networks_are_found_at_once():
    document = business(leaf="nvidia/sn3700x", border={**BORDER, "leaf": "generic/linux"})
    document["networks"]["oob"]["leaf"] = "nvidia/sn2200"
    assert {f.where for f in findings_of(document) if f.id == "HWR001"} == {
        "networks.oob.leaf",
        "networks.business.leaf",
        "networks.business.border.leaf",
    }


def test_the_border_stands_where_it_is_told():
    document = vary_example("driving", networks__business__border__racks="service")
    assert {switch.rack[0] for switch in switches(plan_of(document), "border")} == {"B"}
    assert {switch.rack[0] for switch in switches(plan_of(document))} == {"N"}


def test_business_switches_have_management_power_and_a_line_in_the_bill():
    plan = plan_example("driving")
    own = [switch for switch in plan.switches if switch.network == "business"]
    assert len(own) == 10 and all(switch.management and switch.management.address for switch in own)
    fed = Counter(pdu.rack for pdu in plan.pdus)
    assert all(fed[switch.rack] == 2 for switch in own)
    for rack in {switch.rack for switch in own}:
        load_w = sum(d.power_w + d.optics_w for d in [*plan.switches, *plan.servers] if d.rack == rack)
        assert next(power.load_w for power in plan.power if power.rack == rack) == pytest.approx(load_w, abs=0.2)
    counts = Counter(switch.model for switch in plan.switches)
    assert {line.item: line.count for line in plan.bom if line.kind == "switch"} == counts
