"""Cables against the plan: what is done to a floor of devices is found, named, and nothing else is."""

import random
import time
from collections import Counter
from dataclasses import replace

import pytest
from gear import Floor
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_model.verify.cabling.compare import compare_cabling
from cluster_model.verify.manual import MANUALS
from cluster_model.verify.observed import Neighbour, ObservedPort

STORAGE = ("gpu-001", "enp170s0f0np0")


def by_label(plan, *labels):
    table = {cable.label: cable for cable in plan.cables}
    return [table[label] for label in labels]


def findings(floor, **more):
    return compare_cabling(floor.plan, floor.observe(), **more).findings


def only(floor):
    found = findings(floor)
    assert len(found) == 1, found
    assert found[0].id in MANUALS
    assert found[0].where.startswith(("servers.", "networks."))
    assert found[0].fix
    return found[0]


def test_a_perfect_floor_has_no_findings(floor, lab):
    report = compare_cabling(lab, floor.observe())
    assert report.findings == []
    assert report.counts == {"right": len(lab.cables)}


def test_a_swapped_pair_is_one_finding_with_the_two_cables(floor, lab):
    floor.permute(by_label(lab, "gpu-001:enp24s0np0", "gpu-002:enp24s0np0"), [1, 0])
    found = only(floor)
    assert found.id == "VER001"
    assert found.summary == "gpu-001:enp24s0np0 and gpu-002:enp24s0np0 are exchanged"
    leaf = lab.switch("compute-leaf-u01-01")
    assert found.fix == (
        f"exchange the plugs in {leaf.rack} U{leaf.u} {leaf.name} Ethernet0 and Ethernet16 "
        "(labels gpu-002:enp24s0np0 and gpu-001:enp24s0np0)"
    )


def test_a_swap_across_rails_says_which_rails(floor, lab):
    floor.permute(by_label(lab, "gpu-001:enp24s0np0", "gpu-001:enp154s0np0"), [1, 0])
    found = only(floor)
    assert found.id == "VER001"
    assert "rail 0 on a leaf of rails 4 to 7" in found.actual
    # one walk to the server, not two to the leafs
    assert found.fix.startswith("exchange the plugs in A01 U1 gpu-001 enp")


def test_hosts_cabled_to_each_other_are_a_swap_too(floor, lab):
    one, other = by_label(lab, "gpu-001:enp24s0np0", "gpu-002:enp24s0np0")
    floor.connect((one.a, one.a_port), (other.a, other.a_port))
    floor.connect((one.b, one.b_port), (other.b, other.b_port))
    found = only(floor)
    assert found.id == "VER001"
    assert "gpu-002:enp24s0np0 leads to gpu-001:enp24s0np0" in found.actual


def test_a_ring_of_three_lists_every_move(floor, lab):
    cables = by_label(lab, "gpu-001:enp24s0np0", "gpu-002:enp24s0np0", "gpu-003:enp24s0np0")
    floor.permute(cables, [1, 2, 0])
    found = only(floor)
    assert found.id == "VER002"
    assert all(cable.label in found.summary and f"(label {cable.label})" in found.fix for cable in cables)


def test_wrong_rail_names_both_rails(floor, lab):
    floor.cut(("gpu-001", "enp24s0np0"))
    floor.connect(("gpu-001", "enp24s0np0"), ("compute-leaf-u01-02", "Ethernet256"))
    found = only(floor)
    assert (found.id, found.summary) == (
        "VER003",
        "gpu-001:enp24s0np0 is on compute-leaf-u01-02: rail 0 on a leaf of rails 4 to 7",
    )
    assert found.expected == "compute-leaf-u01-01:Ethernet0"
    assert found.fix.startswith("move the plug in N") and found.fix.endswith("(label gpu-001:enp24s0np0)")


def test_wrong_port_of_the_right_device(floor):
    floor.cut(("gpu-001", "enp24s0np0"))
    floor.connect(("gpu-001", "enp24s0np0"), ("compute-leaf-u01-01", "Ethernet256"))
    found = only(floor)
    assert (found.id, found.summary) == ("VER004", "gpu-001:enp24s0np0 is in Ethernet256 of compute-leaf-u01-01")


def test_wrong_device(floor):
    floor.cut(STORAGE)
    floor.connect(STORAGE, ("compute-spine-01", "Ethernet508"))
    assert only(floor).id == "VER005"


def test_a_cable_in_the_place_of_one_that_was_pulled(floor, lab):
    """gpu-001's cable is in the hand, and gpu-002's was plugged into its place: two findings, one about each cable."""
    first, second = by_label(lab, "gpu-001:enp24s0np0", "gpu-002:enp24s0np0")
    floor.cut((first.a, first.a_port))
    floor.cut((second.a, second.a_port))
    floor.connect((second.a, second.a_port), (first.b, first.b_port))
    found = {finding.id: finding for finding in findings(floor)}
    assert set(found) == {"VER004", "VER006"}
    assert found["VER004"].actual.endswith(f"{first.b}:{first.b_port}, the place of {first.label}")
    assert f"{first.b}:{first.b_port} leads to {second.label}" in found["VER006"].actual


def test_dark_and_shut_down(floor):
    floor.cut(("gpu-001", "enp24s0np0"))
    found = only(floor)
    assert (found.id, found.actual) == ("VER006", "no carrier at gpu-001:enp24s0np0 and compute-leaf-u01-01:Ethernet0")
    floor.change(("compute-leaf-u01-01", "Ethernet0"), enabled=False)
    assert only(floor).fix.startswith("enable ")


def test_a_device_without_power_is_one_finding(floor, lab):
    floor.off.add("gpu-003")
    report = compare_cabling(lab, floor.observe())
    (found,) = report.findings
    assert (found.id, found.summary) == ("VER007", "gpu-003 is dark on all 11 cables that could be looked at")
    assert report.counts["off"] == 12
    assert found.actual == "no answer, no link; its BMC has no link either"
    bmc = lab.server("gpu-003").bmc
    floor.change((bmc.peer, bmc.peer_port), carrier=True, learned=(bmc.mac,))
    report = compare_cabling(lab, floor.observe())
    assert [finding.actual for finding in report.findings] == ["no answer, no link; its BMC has link, so power reaches it"]
    assert report.counts["off"] == 11


def test_a_device_that_does_not_answer_and_has_link_is_compared_from_the_far_ends(floor, lab):
    floor.permute(by_label(lab, "gpu-001:enp24s0np0", "gpu-002:enp24s0np0"), [1, 0])
    observed = floor.observe()
    del observed.devices["gpu-001"], observed.devices["gpu-002"]
    (found,) = compare_cabling(lab, observed).findings
    assert found.id == "VER001"


def test_an_unknown_neighbour(floor):
    floor.change(("compute-leaf-u01-01", "Ethernet0"), neighbours=(Neighbour("printer", "1"),))
    floor.change(("gpu-001", "enp24s0np0"), neighbours=())
    found = only(floor)
    assert (found.id, found.summary) == ("VER008", "compute-leaf-u01-01:Ethernet0 leads to printer, which is not in the plan")


def test_a_link_that_nobody_planned(floor):
    floor.connect(("compute-leaf-u01-01", "Ethernet256"), ("compute-leaf-u01-02", "Ethernet256"))
    found = only(floor)
    assert (found.id, found.severity) == ("VER009", "warning")


def test_slow_and_fec(floor):
    floor.change(("gpu-001", "enp24s0np0"), speed_gbps=200.0)
    assert only(floor).id == "VER010"
    floor.change(("gpu-001", "enp24s0np0"), fec="off")
    found = only(floor)
    assert (found.id, found.severity, found.expected) == ("VER011", "error", "rs (rs-544, for 400g-sr4)")
    assert found.actual == "off at gpu-001:enp24s0np0, rs at compute-leaf-u01-01:Ethernet0"
    floor.changes.clear()
    floor.change(STORAGE, fec="baser")
    assert only(floor).expected == "rs (rs-528, for 100g-sr4)"


def test_more_fec_than_planned_is_a_warning_and_nothing_planned_is_compared_end_to_end(lab, floor):
    (cable,) = by_label(lab, ":".join(STORAGE))
    ends = ((cable.a, cable.a_port), (cable.b, cable.b_port))
    for end in ends:
        floor.change(end, fec="rs")
    long = replace(cable, medium="100g-lr4", fec="none")
    assert [(found.id, found.severity) for found in compare_cabling(lab, floor.observe(), [long]).findings] == [
        ("VER011", "warning")
    ]
    unknown = replace(cable, fec="")
    assert compare_cabling(lab, floor.observe(), [unknown]).findings == []
    floor.change(ends[0], fec="off")
    (found,) = compare_cabling(lab, floor.observe(), [unknown]).findings
    assert (found.severity, found.expected) == ("warning", "the same at both ends")


def test_ends_that_contradict_each_other(floor):
    floor.change(("gpu-001", "enp24s0np0"), neighbours=(Neighbour("compute-leaf-u01-01", "Ethernet16"),))
    found = findings(floor)
    assert {finding.id for finding in found} == {"VER012"}
    assert "gpu-001:enp24s0np0 hears compute-leaf-u01-01:Ethernet16" in found[0].actual


def test_a_silent_link_is_told_and_no_error(floor):
    for end in (("gpu-001", "enp24s0np0"), ("compute-leaf-u01-01", "Ethernet0")):
        floor.change(end, neighbours=())
    found = only(floor)
    assert (found.id, found.severity) == ("VER013", "info")


def test_a_missing_port(floor, lab):
    floor.cut(("gpu-001", "enp24s0np0"))
    dark = floor.observe()
    del dark.devices["gpu-001"].ports["enp24s0np0"]
    (found,) = compare_cabling(lab, dark).findings
    assert (found.id, found.summary) == ("VER014", "gpu-001 has no port enp24s0np0")


def test_matching_goes_by_name_then_description_then_mac(floor, lab):
    end, far = ("compute-leaf-u01-01", "Ethernet0"), ("gpu-001", "enp24s0np0")
    mac = next(port.mac for port in lab.server("gpu-001").ports if port.name == "enp24s0np0")
    floor.change(far, neighbours=())
    for heard in (
        Neighbour("gpu-001.lab.example.net", "enp24s0np0"),
        Neighbour("GPU-001", "", "enp24s0np0", mac),
        Neighbour("gpu-001", "", "compute-leaf-u01-01:Ethernet0", "02:ff:ff:ff:ff:ff"),  # our own description of the port
        Neighbour("gpu-001", "", "", mac),
        Neighbour("localhost", "", "eth5", mac),  # a host that has no name yet
        Neighbour("", "enp24s0np0", "", "", mac),  # by its chassis
    ):
        floor.change(end, neighbours=(heard,))
        report = compare_cabling(lab, floor.observe())
        assert report.counts == {"right": len(lab.cables)}, heard
    floor.change(end, neighbours=(Neighbour("gpu-001", "", "", "02:ff:ff:ff:ff:ff"),))
    assert only(floor).id == "VER004"


def test_sonic_calls_its_ports_by_alias(floor, lab):
    """SONiC sends the alias as port id; where the switch itself was not read, its description has to do."""
    host, port = ("gpu-001", "enp24s0np0"), ("compute-leaf-u01-01", "Ethernet0")
    heard = Neighbour("compute-leaf-u01-01", "etp1a", "gpu-001:enp24s0np0")
    floor.change(host, neighbours=(heard,))
    floor.change(port, neighbours=(), alias="etp1a")
    assert findings(floor) == []
    observed = floor.observe()
    del observed.devices["compute-leaf-u01-01"]
    assert compare_cabling(lab, observed).states["gpu-001:enp24s0np0"] == "right"
    floor.change(host, neighbours=(Neighbour("compute-leaf-u01-01", "etp1b", "gpu-001:enp64s0np0"),))
    assert only(floor).actual.startswith("gpu-001:enp24s0np0 hears compute-leaf-u01-01:Ethernet4, which hears gpu-001:enp64s0np0")


@pytest.mark.parametrize("own_name", ["eth0", "Management1"])
def test_a_management_port_goes_by_the_name_of_its_system(floor, lab, own_name):
    cable = next(cable for cable in lab.cables if cable.a_port == "mgmt")
    heard = Neighbour(cable.a, own_name)
    floor.change((cable.b, cable.b_port), neighbours=(heard,))
    report = compare_cabling(lab, floor.observe(), [cable])
    assert (report.states, report.findings) == ({cable.label: "right"}, [])


def test_of_several_neighbours_the_newest_known_one_counts(floor, lab):
    """A neighbour that was unplugged is remembered for two minutes; a card's firmware may speak beside its host."""
    end, far = ("compute-leaf-u01-01", "Ethernet0"), ("gpu-001", "enp24s0np0")
    floor.change(far, neighbours=())
    card, now, before = Neighbour("", "", "", "02:aa:aa:aa:aa:aa"), Neighbour(*far), Neighbour("gpu-002", "enp24s0np0")
    floor.change(end, neighbours=(card, now, before))
    assert findings(floor) == []
    floor.change(end, neighbours=(card, before, now))
    assert {finding.id for finding in findings(floor)} != set()


def test_forwarding_table_where_lldp_is_silent(floor, lab):
    macs = {port.name: port.mac for port in lab.server("gpu-001").ports}
    end = ("compute-leaf-u01-01", "Ethernet0")
    floor.change(("gpu-001", "enp24s0np0"), neighbours=())
    floor.change(end, neighbours=(), learned=(macs["enp24s0np0"], "02:ff:00:00:00:01"))
    assert findings(floor) == []
    floor.change(end, neighbours=(), learned=(macs["enp64s0np0"],))
    assert {finding.id for finding in findings(floor)} != set()
    floor.change(end, neighbours=(), learned=tuple(macs.values()))  # several known addresses tell nothing
    assert only(floor).id == "VER013"


def test_a_bmc_is_known_by_its_mac(floor, lab):
    server = lab.server("gpu-001")
    end = (server.bmc.peer, server.bmc.peer_port)
    floor.change(end, neighbours=(), learned=(server.bmc.mac,))
    assert findings(floor) == []


def test_scope(floor, lab):
    floor.cut(("gpu-001", "enp24s0np0"))
    storage = [cable for cable in lab.cables if cable.network == "storage"]
    report = compare_cabling(lab, floor.observe(), storage)
    assert report.findings == []
    assert len(report.states) == len(storage)


def is_walkable(finding):
    return finding.expected and finding.actual and finding.fix


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_was_moved_and_cut_is_found_and_nothing_else(lab, data):
    """Permute the far ends of some cables and cut others: the labels in the jobs are those cables, each once as a culprit."""
    indices = data.draw(st.lists(st.integers(0, len(lab.cables) - 1), unique=True, min_size=1, max_size=12))
    chosen = [lab.cables[index] for index in indices]
    order = data.draw(st.permutations(range(len(chosen))))
    cut = data.draw(st.sets(st.sampled_from(range(len(chosen)))))
    floor = Floor(lab)
    floor.permute(chosen, order)
    for index in cut:
        floor.cut((chosen[index].a, chosen[index].a_port))
    report = compare_cabling(lab, floor.observe())
    assert all(is_walkable(finding) for finding in report.findings)

    named = Counter(label for job in report.jobs if job.finding.id != "VER013" for label in job.labels)
    touched = {chosen[i].label for i in range(len(chosen)) if order[i] != i or i in cut}
    silent = {cable.label for cable in chosen if report.states[cable.label] in {"unproven", "unread"}}
    assert set(named) | silent == touched | silent
    assert max(named.values(), default=1) == 1

    rings = find_rings(order)
    whole = [{chosen[i].label for i in ring} for ring in rings if len(ring) > 1 and not ring & cut]
    closed = [set(job.labels) for job in report.jobs if job.finding.id in {"VER001", "VER002"}]
    assert sorted(map(sorted, closed)) == sorted(map(sorted, whole))
    assert all((job.finding.id == "VER001") == (len(job.labels) == 2) for job in report.jobs if set(job.labels) in closed)


def find_rings(order):
    rings, seen = [], set()
    for start in range(len(order)):
        ring = set()
        while start not in seen:
            seen.add(start)
            ring.add(start)
            start = order[start]
        if ring:
            rings.append(ring)
    return rings


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_following_every_fix_puts_the_floor_right(lab, data):
    """The moves of closed chains, done one by one, give back the plan."""
    from cluster_model.verify.cabling.links import find_chains, find_links
    from cluster_model.verify.cabling.places import Places
    from cluster_model.verify.cabling.resolve import make_directory
    from cluster_model.verify.cabling.wiring import plan_moves

    cables = [cable for cable in lab.cables if cable.kind in {"leaf_spine", "host_leaf"} and cable.network != "oob"]
    ends = [end for cable in cables for end in ((cable.a, cable.a_port), (cable.b, cable.b_port))]
    some = data.draw(st.lists(st.sampled_from(range(len(cables))), unique=True, min_size=2, max_size=8))
    loose = [ends[2 * i + side] for i in some for side in (0, 1)]
    mixed = data.draw(st.permutations(loose))
    floor = Floor(lab)
    for end in loose:
        floor.cut(end)
    for one, other in zip(mixed[::2], mixed[1::2], strict=True):
        floor.connect(one, other)
    observed = floor.observe()
    book, places = make_directory(lab, observed), Places(lab)
    for chain in find_chains(book, find_links(book, observed), lab.cables):
        assert chain.closed
        moves = plan_moves(places, book, chain)
        held = [(old, new, floor.link[old]) for old, new, _ in moves]
        for old, _, _ in held:
            floor.cut(old)
        for _, new, kept in held:
            floor.connect(kept, new)
    assert compare_cabling(lab, floor.observe()).findings == []


def compare_many(lab, hosts):
    """Return the report on hosts with eight cables each, of which a hundredth are exchanged, and the CPU time that it took."""
    cables, servers, switches = [], [], []
    leaf, host = lab.switch("compute-leaf-u01-01"), lab.server("gpu-001")
    for number in range(hosts // 8 + 1):
        switches.append(replace(leaf, name=f"compute-leaf-u{number:04d}-01", ports=(), upstreams=()))
    model = next(cable for cable in lab.cables if cable.a == "gpu-001")
    for number in range(hosts):
        servers.append(replace(host, name=f"gpu-{number:05d}", ports=(), bmc=None))
        for rail in range(8):
            index = number * 8 + rail
            at = {"a": f"gpu-{number:05d}", "a_port": f"eth{rail}"}
            at |= {"b": f"compute-leaf-u{index // 64:04d}-01", "b_port": f"Ethernet{index % 64}"}
            cables.append(replace(model, **at))
    plan = replace(lab, cables=tuple(cables), servers=tuple(servers), switches=tuple(switches), pdus=())
    floor = Floor(plan)
    count = hosts * 8 // 100
    floor.permute(random.Random(4).sample(cables, count), [*range(1, count), 0])
    observed = floor.observe()
    start = time.process_time()
    report = compare_cabling(plan, observed)
    return report, time.process_time() - start


def test_a_hundred_thousand_cables_take_ten_times_what_ten_thousand_take(lab):
    _, small_s = compare_many(lab, 1250)
    report, large_s = compare_many(lab, 12500)
    assert [job.finding.id for job in report.jobs] == ["VER002"]
    assert report.counts == {"right": 99_000, "exchanged": 1000}
    assert large_s < 40 * small_s, f"{small_s:.2f} s and {large_s:.2f} s: it would be 100 times where each is held against each"


def test_ports_keep_their_record_form():
    assert ObservedPort("swp1").carrier is None
