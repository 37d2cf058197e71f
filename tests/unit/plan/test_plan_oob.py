"""The out-of-band network: racks and pairs, VLANs, and ports that stay."""

from ipaddress import ip_interface, ip_network

import pytest
from intents import findings_of, plan_of, small

CONTROL = {"id": 3, "model": "generic/1u", "count": 2, "racks": "network"}


def oob_leafs(plan):
    return [switch for switch in plan.switches if switch.network == "oob" and switch.role == "leaf"]


@pytest.mark.parametrize(
    ("racks_per_leaf", "names"),
    [
        (1, ["oob-leaf-a01", "oob-leaf-a02", "oob-leaf-n01", "oob-leaf-n02", "oob-leaf-n03", "oob-leaf-n04"]),
        (2, ["oob-leaf-a01", "oob-leaf-n01", "oob-leaf-n03"]),
        (3, ["oob-leaf-a01", "oob-leaf-n01", "oob-leaf-n04"]),
        (4, ["oob-leaf-a01", "oob-leaf-n01"]),
        (8, ["oob-leaf-a01", "oob-leaf-n01"]),
    ],
)
def test_a_leaf_per_few_neighbours_that_hold_something(racks_per_leaf, names):
    plan = plan_of(small(networks__oob__racks_per_leaf=racks_per_leaf))
    assert [leaf.name for leaf in oob_leafs(plan)] == names
    assert plan.network("oob").planned_units == -(-8 // racks_per_leaf) + -(-4 // racks_per_leaf)  # rows of eight and four
    near = {cable.b: cable.length_m for cable in plan.cables if cable.network == "oob" and cable.kind == "host_leaf"}
    assert set(near) == set(names)


def test_more_racks_than_a_leaf_has_ports_for_are_refused():
    crowded = small(
        networks__oob__racks_per_leaf=8, racks__groups__gpu__pdu="generic/pdu-34kw", servers__gpu__count=32, servers__gpu__unit=8
    )
    findings = findings_of(crowded)
    assert [(finding.id, finding.where) for finding in findings] == [("NET001", "networks.oob.leaf")]
    assert "lower racks_per_leaf" in findings[0].fix


def test_cables_of_shared_leafs_reach_as_far_as_the_racks_stand_apart():
    plan = plan_of(small(networks__oob__racks_per_leaf=8, servers__gpu__count=16))
    lengths = {}
    for cable in plan.cables:
        if cable.b == "oob-leaf-a01" and cable.kind == "host_leaf":
            lengths.setdefault(plan.server(cable.a).rack if cable.a.startswith("gpu") else "", []).append(cable.length_m)
    assert max(lengths["A01"]) < max(lengths["A04"])


def test_a_leaf_stands_at_the_top_of_its_first_rack():
    assert all((leaf.rack.lower(), leaf.u) == (leaf.name[-3:], 48) for leaf in oob_leafs(plan_of(small())))


def test_a_pair_is_of_neighbours_even_where_one_is_blocked():
    blocked = {"A01": {"reason": "a pillar", "blocked": True}}
    plan = plan_of(small(networks__oob__racks_per_leaf=2, racks__exceptions=blocked))
    assert [leaf.name for leaf in oob_leafs(plan)][:2] == ["oob-leaf-a02", "oob-leaf-a03"]
    assert {server.bmc.peer for server in plan.servers if server.rack == "A02"} == {"oob-leaf-a02"}


def test_bmcs_and_pdus_switches_and_hosts_have_a_vlan_each():
    plan = plan_of(small(servers__control=CONTROL, racks__groups__gpu__pdu="generic/pdu-34kw"))
    leaf = plan.switch("oob-leaf-a01")
    assert [(vlan.id, vlan.name) for vlan in leaf.vlans] == [(11, "bmc"), (12, "switch"), (13, "host")]
    by_peer = {(port.peer, port.peer_port): port.vlan for port in leaf.ports}
    assert by_peer["gpu-001", "bmc"] == by_peer["pdu-a01-1", "net"] == 11
    assert by_peer["gpu-001", "eno3"] == 13
    assert {port.vlan for port in plan.switch("oob-leaf-n01").ports if port.peer.startswith("compute-")} == {12}
    assert leaf.originates == tuple(vlan.prefix for vlan in leaf.vlans)


def test_vlan_ids_are_those_of_the_intent():
    plan = plan_of(small(networks__oob__vlans={"bmc": 101, "switch": 102, "host": 103}))
    assert [vlan.id for vlan in plan.switch("oob-leaf-a01").vlans] == [101, 102, 103]


def test_addresses_lie_in_the_subnet_of_their_leaf_and_segment():
    plan = plan_of(small(servers__control=CONTROL))
    for server in plan.servers:
        vlan = plan.switch(server.bmc.peer).vlans[0]
        assert ip_interface(server.bmc.address).network == ip_network(vlan.prefix)
        assert server.bmc.gateway == vlan.address.partition("/")[0]


def test_dhcp_is_relayed_to_the_control_servers_or_to_those_given():
    plan = plan_of(small(servers__control=CONTROL))
    own = tuple(p.address.partition("/")[0] for s in plan.servers if s.role == "control" for p in s.ports if p.network == "oob")
    assert plan.switch("oob-leaf-a01").vlans[0].dhcp_servers == own and len(own) == 2
    given = plan_of(small(networks__oob__dhcp_servers=["10.9.9.9"]))
    assert given.switch("oob-leaf-a01").vlans[0].dhcp_servers == ("10.9.9.9",)


def test_dhcp_relays_are_the_same_in_whatever_order_the_file_has_the_control_groups():
    groups = {"control": CONTROL, "spare": {**CONTROL, "id": 4, "role": "control"}}
    document = small(servers={**small()["servers"], **groups})
    turned = small(servers=dict(reversed(document["servers"].items())))
    relays = [plan_of(found).switch("oob-leaf-a01").vlans[0].dhcp_servers for found in (document, turned)]
    assert len(relays[0]) == 4 and relays[0] == relays[1]


def test_ports_and_addresses_stay_while_the_rack_fills():
    part = plan_of(small(servers__gpu__count=2, servers__gpu__planned=8, racks__groups__gpu__pdu="generic/pdu-34kw"))
    whole = plan_of(small(servers__gpu__count=8, racks__groups__gpu__pdu="generic/pdu-34kw"))
    ports = {(port.peer, port.peer_port): port for port in whole.switch("oob-leaf-a01").ports}
    for port in part.switch("oob-leaf-a01").ports:
        assert ports[port.peer, port.peer_port] == port
    assert [pdu for pdu in whole.pdus if pdu.rack == "A01"] == list(part.pdus)
    assert [pdu.name for pdu in part.pdus] == ["pdu-a01-1", "pdu-a01-2"]


@pytest.mark.parametrize("racks_per_leaf", [1, 2])
def test_a_rack_with_nothing_but_out_of_band_switches_has_its_pdus(racks_per_leaf):
    alone = {"racks__rows__N__racks": 16, "servers__gpu__count": 4, "networks__oob__racks_per_leaf": racks_per_leaf}
    plan = plan_of(small(**alone, racks__groups__network__pdu="generic/pdu-17kw"))
    roles = {}
    for switch in plan.switches:
        roles.setdefault(switch.rack, set()).add((switch.network, switch.role))
    assert {("oob", "spine"), ("oob", "leaf")} in roles.values()
    loaded = [power.rack for power in plan.power if power.rack.startswith("N")]
    assert [(pdu.rack, pdu.feed) for pdu in plan.pdus] == [(rack, feed) for rack in loaded for feed in (1, 2)]
    assert all(pdu.management is not None for pdu in plan.pdus)


def test_every_leaf_has_its_uplinks_over_both_spines():
    plan = plan_of(small())
    for leaf in oob_leafs(plan):
        ups = [port for port in leaf.ports if port.use == "fabric"]
        assert {port.peer for port in ups} == {"oob-spine-01", "oob-spine-02"} and {port.speed_gbps for port in ups} == {100}
        assert {port.peer_asn for port in ups} == {plan.switch("oob-spine-01").asn}


def test_a_provisioning_port_runs_at_what_the_leaf_can():
    plan = plan_of(small())
    ports = [port for server in plan.servers for port in server.ports if port.network == "oob"]
    assert {(port.name, port.speed_gbps, port.mtu_bytes, port.route) for port in ports} == {("eno3", 1, 1500, "0.0.0.0/0")}
