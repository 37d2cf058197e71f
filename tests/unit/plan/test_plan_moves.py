"""Cables that were built differently: what moves with a cable, what stays, and where it cannot go."""

from collections import Counter

import pytest
from intents import STORAGE, catalogue, findings_of, plan_of, read, small

from cluster_model.checks import check_plan
from cluster_model.plan.compare.plans import compare_plans

LEAF = "compute-leaf-u01-01"
BMC_LEAF = "oob-leaf-a01"
BUSINESS = {"leaf": "nvidia/sn4700", "nos": "cumulus", "pool": "10.112.0.0/16"}
SPINES = {"networks__compute__switches": {"spine": 2}}


def small_with(*moves, **values):
    """Return the small intent with cables moved, each as (label, new far end)."""
    exceptions = [{"cable": cable, "to": to, "reason": "cage 5 is dead"} for cable, to in moves]
    return small(networks__storage=STORAGE, **values, cables={"exceptions": exceptions})


def plans(*moves, **values):
    """Return the plan as it is without exceptions, and with them."""
    return plan_of(small_with(**values)), plan_of(small_with(*moves, **values))


def moved(before, after):
    changes = compare_plans(before, after)
    assert not changes.devices
    assert {change.action for change in changes.cables} <= {"move"}
    return {change.near: change.new for change in changes.cables}


def ports(plan, name):
    return {port.name: port for port in plan.switch(name).ports}


def check_ends(plan):
    """Require that ends name each other, no port is used twice, and all ports of a cage have one transceiver or none."""
    far = {(switch.name, port.name): (port.peer, port.peer_port) for switch in plan.switches for port in switch.ports}
    assert len(far) == sum(len(switch.ports) for switch in plan.switches)
    for cable in plan.cables:
        assert far[cable.b, cable.b_port] == (cable.a, cable.a_port)
    cages = {(switch.name, port.name): port.cage for switch in plan.switches for port in switch.ports}
    optics = {}
    for cable in plan.cables:
        for end, optic in (((cable.a, cable.a_port), cable.a_optic), ((cable.b, cable.b_port), cable.b_optic)):
            if end in cages:
                assert optics.setdefault((end[0], cages[end]), optic) == optic


def check_rules(document):
    plan, cluster = plan_of(document), read(document)
    return [
        finding for finding in check_plan(plan, cluster, catalogue()) if finding.id in {"PLN001", "NET013", "NET040", "CAB004"}
    ]


def test_a_host_link_goes_to_a_free_cage_of_its_leaf_and_keeps_its_addresses():
    before, after = plans(("gpu-001:enp24s0np0", f"{LEAF}:Ethernet20"))
    assert moved(before, after) == {"gpu-001:enp24s0np0": f"{LEAF}:Ethernet20"}
    check_ends(after)
    old, new = ports(before, LEAF)["Ethernet0"], ports(after, LEAF)["Ethernet20"]
    assert "Ethernet0" not in ports(after, LEAF)
    assert (new.cage, new.sub, new.peer, new.address, new.rail) == (3, 1, "gpu-001", old.address, old.rail)
    assert (after.switch(LEAF).modes[2].count, after.switch(LEAF).modes[2].speed_gbps) == (2, 400)  # native: 1x800
    assert after.switch(LEAF).originates == before.switch(LEAF).originates
    was, now = before.server("gpu-001").ports, after.server("gpu-001").ports
    assert [(port.name, port.address, port.gateway, port.route) for port in now] == [
        (port.name, port.address, port.gateway, port.route) for port in was
    ]
    assert (now[0].peer, now[0].peer_port) == (LEAF, "Ethernet20")
    assert [port for port in now if port != now[0]] == [port for port in was if port != was[0]]
    assert Counter(line.kind for line in after.bom) == Counter(line.kind for line in before.bom)


def test_a_swap_on_a_leaf_is_two_exceptions_and_changes_that_leaf_alone():
    swap = (("gpu-001:enp24s0np0", f"{LEAF}:Ethernet4"), ("gpu-002:enp24s0np0", f"{LEAF}:Ethernet0"))
    before, after = plans(*swap)
    assert moved(before, after) == dict(swap)
    check_ends(after)
    first, second = ports(before, LEAF)["Ethernet0"], ports(before, LEAF)["Ethernet4"]
    assert ports(after, LEAF)["Ethernet4"].address == first.address
    assert ports(after, LEAF)["Ethernet0"].address == second.address
    assert [s.name for s, t in zip(before.switches, after.switches, strict=True) if s != t] == [LEAF]
    assert check_rules(small_with(*swap)) == []


def test_the_order_of_exceptions_says_nothing():
    swap = (("gpu-001:enp24s0np0", f"{LEAF}:Ethernet4"), ("gpu-002:enp24s0np0", f"{LEAF}:Ethernet0"))
    assert plan_of(small_with(*swap)) == plan_of(small_with(*swap[::-1]))


def test_a_swap_of_rails_keeps_addresses_and_is_warned_of():
    other = "compute-leaf-u01-02"
    swap = (("gpu-001:enp24s0np0", f"{other}:Ethernet0"), ("gpu-001:enp64s0np0", f"{LEAF}:Ethernet0"))
    before, after = plans(*swap)
    assert moved(before, after) == dict(swap)
    check_ends(after)
    first, second = before.server("gpu-001").ports[:2]
    assert [port.address for port in after.server("gpu-001").ports[:2]] == [first.address, second.address]
    assert ports(after, other)["Ethernet0"].peer_address == first.address[:-3]
    # The prefix of the link is announced by the leaf where it is; the aggregate alone would lead to the other.
    assert after.switch(other).originates == (*before.switch(other).originates, f"{first.gateway}/31")
    assert after.switch(LEAF).originates == (*before.switch(LEAF).originates, f"{second.gateway}/31")
    found = check_rules(small_with(*swap))
    assert [(finding.id, finding.severity, finding.where) for finding in found] == [
        ("NET040", "warning", "cables.exceptions.0.to"),
        ("NET040", "warning", "cables.exceptions.1.to"),
    ]
    assert found[0].summary == "gpu-001:enp24s0np0 leaves rail 0 of unit 1"
    assert found[0].actual == f"{other}, of rail 1 of unit 1 (cage 5 is dead)"


def test_a_cable_to_another_unit_is_warned_of():
    found = check_rules(small_with(("gpu-001:enp24s0np0", "compute-leaf-u02-01:Ethernet16")))
    assert [finding.actual for finding in found] == ["compute-leaf-u02-01, of rail 0 of unit 2 (cage 5 is dead)"]


def test_service_routes_follow_a_storage_cable():
    storage = {"id": 2, "model": "generic/2u-24nvme", "count": 2, "racks": "network"}
    base = plan_of(small_with(servers__storage=storage))
    cable = next(c for c in base.cables if c.a == "storage-001" and c.network == "storage")
    other = next(s.name for s in base.switches if (s.network, s.role) == ("storage", "leaf") and s.name != cable.b)
    for far in (cable.b, other):
        after = plan_of(small_with((cable.label, f"{far}:Ethernet128"), servers__storage=storage))
        check_ends(after)
        routes = {s.name: [r.port for r in s.service_routes if r.server == "storage-001"] for s in after.switches}
        assert "Ethernet128" in routes[far]
        assert cable.b_port not in routes[cable.b]


def test_a_bmc_goes_to_a_free_port_and_keeps_its_address():
    before, after = plans(("gpu-001:bmc", f"{BMC_LEAF}:Ethernet40"))
    assert moved(before, after) == {"gpu-001:bmc": f"{BMC_LEAF}:Ethernet40"}
    check_ends(after)
    was, now = before.server("gpu-001").bmc, after.server("gpu-001").bmc
    assert (now.address, now.gateway, now.peer_port) == (was.address, was.gateway, "Ethernet40")
    assert ports(after, BMC_LEAF)["Ethernet40"].vlan == ports(before, BMC_LEAF)["Ethernet0"].vlan


def test_a_bmc_and_the_boot_port_of_a_server_are_exchanged():
    before, after = plans(("gpu-001:bmc", f"{BMC_LEAF}:Ethernet1"), ("gpu-001:eno3", f"{BMC_LEAF}:Ethernet0"))
    check_ends(after)
    assert after.server("gpu-001").bmc.peer_port == "Ethernet1"
    boot = next(port for port in after.server("gpu-001").ports if port.name == "eno3")
    assert boot.peer_port == "Ethernet0"
    vlans = {name: port.vlan for name, port in ports(before, BMC_LEAF).items()}
    assert ports(after, BMC_LEAF)["Ethernet1"].vlan == vlans["Ethernet0"] != vlans["Ethernet1"]


@pytest.mark.parametrize(("device", "kind"), [("pdu-a01-1", "pdus"), (LEAF, "switches")])
def test_a_pdu_and_a_switch_are_managed_by_another_port(device, kind):
    values = {"racks__groups__gpu__pdu": "generic/pdu-34kw"}
    base = plan_of(small_with(**values))
    cable = next(c for c in base.cables if c.a == device and c.network == "oob")
    after = plan_of(small_with((cable.label, f"{cable.b}:Ethernet30"), **values))
    check_ends(after)
    before, now = (next(d for d in getattr(plan, kind) if d.name == device).management for plan in (base, after))
    assert (now.address, now.peer, now.peer_port) == (before.address, before.peer, "Ethernet30")


def test_spine_cables_are_swapped_with_their_sessions():
    before = plan_of(small_with(**SPINES))
    ups = [c for c in before.cables if c.a == LEAF and c.kind == "leaf_spine"]
    one, other = next((a, b) for a in ups for b in ups if a.b < b.b)
    swap = ((one.label, f"{other.b}:{other.b_port}"), (other.label, f"{one.b}:{one.b_port}"))
    after = plan_of(small_with(*swap, **SPINES))
    changes = compare_plans(before, after).cables
    assert {change.near: change.new for change in changes if change.action == "move"} == dict(swap)
    check_ends(after)
    port = ports(after, LEAF)[one.a_port]
    assert (port.peer, port.peer_port, port.peer_asn) == (other.b, other.b_port, after.switch(other.b).asn)
    assert port.address == ports(before, LEAF)[one.a_port].address
    # Half of a cage goes elsewhere now, and no cable with attached plugs does that: these two cages have transceivers.
    replaced = {change.near for change in changes if change.action == "replace"}
    assert replaced == {c.label for c in ups} - dict(swap).keys()
    assert all(c.a_optic and c.b_optic for c in after.cables if c.label in {u.label for u in ups})
    assert check_rules(small_with(*swap, **SPINES)) == []


def test_two_whole_cages_swapped_keep_their_attached_cables():
    before = plan_of(small_with(**SPINES))
    ups = {c.a_port: c for c in before.cables if c.a == LEAF and c.kind == "leaf_spine"}
    cages = {name: port.cage for name, port in ports(before, LEAF).items() if name in ups}
    low, high = sorted(set(cages.values()))
    pairs = list(
        zip([n for n, cage in cages.items() if cage == low], [n for n, cage in cages.items() if cage == high], strict=True)
    )
    swap = [(ups[a].label, f"{ups[b].b}:{ups[b].b_port}") for a, b in (*pairs, *(pair[::-1] for pair in pairs))]
    after = plan_of(small_with(*swap, **SPINES))
    assert moved(before, after) == dict(swap)
    check_ends(after)
    assert {c.medium for c in after.cables if c.a == LEAF and c.kind == "leaf_spine"} == {c.medium for c in ups.values()}


def test_a_bond_stays_a_bond_on_another_port():
    base = plan_of(small_with(networks__business=BUSINESS))
    cable = next(c for c in base.cables if c.network == "business" and c.kind == "host_leaf")
    free = "swp20s0"
    after = plan_of(small_with((cable.label, f"{cable.b}:{free}"), networks__business=BUSINESS))
    check_ends(after)
    assert ports(after, cable.b)[free].bond == ports(base, cable.b)[cable.b_port].bond > 0


def test_a_port_kept_for_a_planned_server_is_exchanged_with_it():
    values = {"servers__gpu__count": 3, "servers__gpu__planned": 8}
    kept = f"{LEAF}:Ethernet12"  # of gpu-004
    refused = findings_of(small_with(("gpu-001:enp24s0np0", kept), **values))
    assert [(f.id, f.summary) for f in refused] == [("CAB008", f"{kept} is planned for gpu-004:enp24s0np0")]
    swap = (("gpu-001:enp24s0np0", kept), ("gpu-004:enp24s0np0", f"{LEAF}:Ethernet0"))
    few = plan_of(small_with(*swap, **values))
    check_ends(few)
    assert "Ethernet0" not in ports(few, LEAF)
    grown = compare_plans(few, plan_of(small_with(*swap, **{**values, "servers__gpu__count": 8})))
    assert {change.action for change in grown.cables} == {"add"}
    assert not grown.moved_addresses


def test_the_site_has_its_planned_port():
    upstream = [{"switch": "oob-spine-01", "prefix": "10.255.255.0/31"}]
    base = plan_of(small_with(networks__oob__upstreams=upstream))
    (way,) = base.switch("oob-spine-01").upstreams
    cable = next(c for c in base.cables if c.b == "oob-spine-01")
    found = findings_of(small_with((cable.label, f"{cable.b}:{way.port}"), networks__oob__upstreams=upstream))
    assert [f.summary for f in found] == [f"oob-spine-01:{way.port} is planned for the site's router"]


HOST = "gpu-001:enp24s0np0"
PLANES = {"servers__gpu__model": "nvidia/dgx-b300", "servers__gpu__per_rack": 2, "networks__compute__planes": 2}
REFUSED = {
    "unknown device": ((("gpux-001:enp24s0np0", f"{LEAF}:Ethernet16"),), {}, "CAB007", "no cable begins at a device gpux-001"),
    "unknown port": ((("gpu-001:enp1", f"{LEAF}:Ethernet16"),), {}, "CAB007", "no cable is planned at gpu-001:enp1"),
    "wrong way round": (((f"{LEAF}:Ethernet4", HOST),), {}, "CAB007", f"{LEAF}:Ethernet4 is the far end of a cable"),
    "unknown switch": (((HOST, "compute-leaf-u09-01:Ethernet0"),), {}, "CAB007", "compute-leaf-u09-01 is no compute leaf"),
    "other network": (((HOST, f"{BMC_LEAF}:Ethernet30"),), {}, "CAB007", f"{BMC_LEAF} is no compute leaf"),
    "no such port": (((HOST, f"{LEAF}:Ethernet1"),), {}, "CAB007", f"{LEAF} has no port Ethernet1"),
    "other plug": ((("gpu-001:bmc", f"{BMC_LEAF}:Ethernet48"),), {}, "CAB008", "and the cable as rj45 at 1 Gb/s"),
    "taken": (((HOST, f"{LEAF}:Ethernet4"),), {}, "CAB008", f"{LEAF}:Ethernet4 is planned for gpu-002:enp24s0np0"),
    "an uplink's": (((HOST, f"{LEAF}:Ethernet496"),), {}, "CAB008", f"{LEAF}:Ethernet496 is planned for the uplink to"),
    "other oob leaf": ((("gpu-001:bmc", "oob-leaf-a02:Ethernet40"),), {}, "CAB008", "an address in a subnet of oob-leaf-a01"),
    "other plane": (
        (("gpu-001:rail0s0", "compute-leaf-p2-u01-01:Ethernet64"),),
        PLANES,
        "CAB008",
        "plane 2, which no link joins with plane 1",
    ),
    "rails that nothing joins": (
        ((HOST, "compute-leaf-u01-02:Ethernet64"),),
        {"servers__gpu__unit": 8, "networks__compute__tiers": 1},
        "CAB008",
        "no spine joins compute-leaf-u01-02",
    ),
    "not built": (
        ((HOST, "compute-leaf-u02-01:Ethernet64"),),
        {"servers__gpu__count": 4, "servers__gpu__planned": 8},
        "CAB008",
        "compute-leaf-u02-01 is planned, and not built yet",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_followed_is_refused_with_a_way_out(case):
    moves, values, rule, words = REFUSED[case]
    (finding,) = findings_of(small_with(*moves, **values))
    assert (finding.id, finding.severity) == (rule, "error")
    assert words in finding.summary
    assert finding.where.startswith("cables.exceptions.0.")
    assert finding.expected and finding.actual and finding.fix


def test_the_free_port_that_is_offered_is_one():
    (finding,) = findings_of(small_with((HOST, f"{LEAF}:Ethernet4")))
    offered = finding.fix.rpartition("e.g. ")[2]
    assert plan_of(small_with((HOST, f"{LEAF}:{offered}"))).switch(LEAF)


def test_an_uplink_is_not_freed_by_its_own_exception():
    up = f"{LEAF}:Ethernet496"
    before = plan_of(small_with(**SPINES))
    far = next(c for c in before.cables if c.label == up)
    free = f"{far.b}:Ethernet400"
    found = findings_of(small_with((HOST, up), (up, free), **SPINES))
    assert [finding.where for finding in found] == ["cables.exceptions.0.to"]


def test_an_exception_that_says_what_is_planned_is_a_warning():
    document = small_with((HOST, f"{LEAF}:Ethernet0"))
    (finding,) = findings_of(document)
    assert (finding.id, finding.severity, finding.fix) == ("CAB009", "warning", "take the exception away")
    assert plan_of(document) == plan_of(small_with())
