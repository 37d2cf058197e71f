"""One truth: every dialect, read back by parsing, tells what the plan says; both ends of a cable the same, and hosts too.

The readers are in tests/dialects/. A record has no dialect in it, so one table says what each dialect does not say, and why.
InfiniBand has no switch files; tests/contract/test_partitions_opensm.py holds what its subnet manager is given.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import yaml

from cluster_model.paths import TEMPLATES
from cluster_model.render.inventory.document import render_inventory
from cluster_model.render.switch import has_templates
from tests.dialects import known, plans
from tests.dialects.agreement import MANAGEMENT, compare_ends, compare_hosts, compare_plan
from tests.dialects.record import Record, expect
from tests.unit.render.switch import factory

LINUX_SPEED = "the kernel's driver takes the speed that the transceiver has"
LINUX_QUEUES = "Linux without a switching chip has no lossless queues; NOS002 refuses RoCE on it"
EXTERNAL = "`remote-as external` lets any other AS number in; that it is another one is read"
TABLE = "the system numbers the tables of its VRFs itself"
POLLS = "counted in polls; test_cumulus_files.py holds it to half a poll"
HASHES = "spreads load by a hash and in no other way; ROC014 refuses what else is asked for"
LACKS = {
    ("sonic", "switch", "load_balancing"): HASHES,
    ("frr", "switch", "load_balancing"): HASHES,
    ("frr", "port", "speed_gbps"): LINUX_SPEED,
    ("frr", "port", "copper_speed_gbps"): LINUX_SPEED,
    **{("frr", "port", what): LINUX_QUEUES for what in ("ecn", "pfc_priorities", "trust", "watchdog")},
    **{
        ("frr", "qos", what): LINUX_QUEUES
        for what in (
            "dscp_to_priority",
            "shared_queues",
            "strict_dscps",
            "watchdog_action",
            "watchdog_detect_ms",
            "watchdog_restore_ms",
        )
    },
    ("frr", "session", "unnumbered_asn"): EXTERNAL,
    ("sonic", "session", "unnumbered_asn"): EXTERNAL,
    ("sonic", "vrf", "table"): TABLE,
    ("sonic", "mlag", "system_mac"): "the MLAG daemon gives both leafs the LACP system of one of them",
    (
        "sonic",
        "mlag",
        "backup_address",
    ): "iccpd's one session runs over the peer link; there is no second way",
    ("eos", "port", "access_mtu_bytes"): "switched ports carry the largest frame; an MTU is set on routed ones alone",
    ("eos", "bond", "mtu_bytes"): "switched port-channels carry the largest frame",
    ("eos", "port", "copper_speed_gbps"): "RJ45 ports negotiate",
    ("eos", "session", "unnumbered_description"): "`neighbor interface` takes a peer group and an AS number alone",
    ("eos", "vrf", "table"): TABLE,
    ("eos", "vrf", "vlan"): "EOS takes the VLAN of an L3 VNI from its internal range",
    ("eos", "vrf", "transit_mtu_bytes"): "the VLAN of an L3 VNI is inside EOS, and its MTU with it",
    ("eos", "mlag", "system_mac"): "made of the pair's own MACs",
    ("cumulus", "port", "copper_speed_gbps"): "RJ45 ports negotiate",
    ("cumulus", "session", "unnumbered_asn"): EXTERNAL,
    ("cumulus", "bond", "lacp_system"): "NVUE gives the bond the MAC of its Ethernet segment",
    ("cumulus", "vrf", "table"): TABLE,
    ("cumulus", "vrf", "transit_mtu_bytes"): "NVUE makes the interface of an L3 VNI itself",
    ("cumulus", "qos", "watchdog_detect_ms"): POLLS,
    ("cumulus", "qos", "watchdog_restore_ms"): POLLS,
    ("cumulus", "qos", "watchdog_action"): "a storm's queue is dropped, always",
}
"""(dialect, kind, field): what a dialect does not say, with the reason."""
OWN_WAY = {
    ("sonic", "bond", "mtu_bytes"): (
        lambda switch: switch.mtu_bytes,
        "SONiC wants one MTU on a port channel and its members; the gateway's keeps frames below the tunnel's",
    ),
}
"""(dialect, kind, field): what a dialect says in a way of its own: the value, and the reason."""

case_by_case = pytest.mark.parametrize("case", plans.CASES)


def _compare(case: str, records: dict[str, Record]) -> list[str]:
    plan = plans.plan(case)
    return [line for name, record in records.items() for line in compare_plan(plan, plan.switch(name), record, LACKS, OWN_WAY)]


@cache
def _inventory(case: str) -> dict[str, Any]:
    return json.loads(render_inventory(plans.plan(case), factory.catalogue(), {}))


def test_every_dialect_is_read_back() -> None:
    rendered = {folder.name for folder in (TEMPLATES / "switch").iterdir() if has_templates(folder.name)}
    assert rendered == set(plans.READERS)
    for name in ("lab", "driving"):
        whole = {nos for nos in plans.READERS if list(plans.dialects(f"{nos}/{name}")) == [nos]}
        assert whole == rendered, f"{name} in one dialect throughout"
    homings = {(s.nos, s.overlay.homing) for case in plans.CASES for s in plans.plan(case).switches if s.overlay}
    assert homings >= {(nos, homing) for nos in ("sonic", "eos", "cumulus") for homing in ("esi", "mlag")} | {("frr", "esi")}


@case_by_case
def test_switches_are_told_what_the_plan_says(case: str) -> None:
    records = plans.records(case)
    assert set(records) == {switch.name for switch in plans.plan(case).switches}
    differences = _compare(case, records)
    assert differences == [], "\n".join(differences[:20])


@pytest.mark.parametrize("nos", plans.READERS)
def test_a_pool_that_is_one_nodes_is_let_through_as_it_is(nos: str) -> None:
    plan = plans.plan(f"{nos}/lab")
    plan = replace(plan, kubernetes=replace(plan.kubernetes, pod_pool="10.244.0.0/24"))
    texts: dict[str, dict[str, str]] = {}
    for path, text in factory.settled(plan).items():
        _, switch, file = path.split("/")
        texts.setdefault(switch, {})[file] = text
    for switch in plan.switches:
        if switch.network == plan.kubernetes.network:
            record = plans.READERS[nos](texts[switch.name])
            assert list(compare_plan(plan, switch, record, LACKS, OWN_WAY)) == []
            assert ("", "10.244.0.0/24", 24, 24) in record["policy", "fabric in", "routes"]
            for text in texts[switch.name].values():
                assert not re.search(r"10\.244\.0\.0/24(:\n)? +(eq|ge|le|\w+-prefix-len)\b", text)


def test_every_dialect_marks_alike() -> None:
    """ECN by port speed: read from the files alone, without the plan between them."""
    seen: dict[int, dict[str, set[Any]]] = {}
    for case in ("sonic/lab", "eos/lab", "cumulus/lab"):
        for name, record in plans.records(case).items():
            switch = plans.plan(case).switch(name)
            network = plans.plan(case).network(switch.network)
            for port in switch.ports if network is not None and network.lossless else ():
                marks = seen.setdefault(record["port", port.name, "speed_gbps"], {})
                marks.setdefault(switch.nos, set()).add(record["port", port.name, "ecn"])
    assert {400} <= set(seen)
    for speed_gbps, by_nos in seen.items():
        assert set(by_nos) == {"sonic", "eos", "cumulus"}, speed_gbps
        assert len(set().union(*by_nos.values())) == 1, (speed_gbps, by_nos)
    assert seen[400]["sonic"] == {(600, 6000, 100)}


@case_by_case
def test_both_ends_of_every_cable_are_told_the_same(case: str) -> None:
    records = plans.records(case)
    between = [cable for cable in plans.plan(case).cables if {cable.a, cable.b} <= set(records)]
    described = {(here, key[1]) for here, record in records.items() for key in record if key[::2] == ("port", "description")}
    assert between
    assert {end for cable in between for end in ((cable.a, cable.a_port), (cable.b, cable.b_port))} <= described | {
        (switch.name, MANAGEMENT) for switch in plans.plan(case).switches
    }
    differences = list(compare_ends(records))
    assert differences == [], "\n".join(differences[:20])


@case_by_case
def test_hosts_are_told_what_their_switches_are(case: str) -> None:
    differences = list(compare_hosts(_inventory(case), plans.records(case)))
    assert differences == [], "\n".join(differences[:20])


def test_what_a_dialect_lacks_it_still_lacks() -> None:
    asked: set[tuple[str, str, str]] = set()
    said: set[tuple[str, str, str]] = set()
    apart: set[tuple[str, str, str]] = set()
    for case in plans.CASES:
        plan = plans.plan(case)
        for name, record in plans.records(case).items():
            switch = plan.switch(name)
            wanted = expect(plan, switch)
            asked |= {(switch.nos, kind, what) for kind, _, what in wanted}
            said |= {(switch.nos, kind, what) for kind, _, what in record}
            apart |= {(switch.nos, *key[::2]) for key, value in wanted.items() if record.get(key, value) != value}
    assert set(LACKS) <= asked - said, f"said after all, or asked for no more: {set(LACKS) - (asked - said)}"
    assert set(OWN_WAY) == apart & set(OWN_WAY), "as the plan has it after all"
    assert all(len(reason) > 12 for reason in [*LACKS.values(), *(each[1] for each in OWN_WAY.values())])


# --- Planted mistakes

MISTAKES: dict[str, dict[str, Any]] = yaml.safe_load((factory.ROOT / "tests/dialects/mistakes.yml").read_text("utf-8"))


def _plant(mistake: dict[str, Any]) -> tuple[str, str, dict[str, Record]]:
    """Return the case, the switch, and all records: that of the switch from a file with a mistake in it."""
    case, switch, file = mistake["in"]
    plan, texts = plans.plan(case), dict(plans.files(case)[switch])
    texts[file], count = re.subn(mistake["find"], mistake["put"], texts[file], count=1)
    assert count == 1, f"{mistake['find']} is not in {file} of {switch}"
    return case, switch, {**plans.records(case), switch: plans.READERS[plan.switch(switch).nos](texts)}


@pytest.mark.parametrize("name", MISTAKES["plan"])
def test_a_planted_mistake_is_seen(name: str) -> None:
    mistake = MISTAKES["plan"][name]
    if mistake["seen"] == "refused":
        with pytest.raises(AssertionError, match="by no line"):
            _plant(mistake)
        return
    case, switch, records = _plant(mistake)
    differences = _compare(case, records)
    assert differences
    assert all(line.startswith(f"{switch}: ") for line in differences)
    assert any(mistake["seen"] in line for line in differences), differences


def test_two_as_numbers_swapped_are_seen_at_both_ends() -> None:
    """Each file is right in itself, and both are wrong: two leafs have each other's number."""
    plan = plans.plan("eos/lab")
    names = ("compute-leaf-u01-01", "compute-leaf-u01-02")
    first, second = (plan.switch(name) for name in names)
    records = dict(plans.records("eos/lab"))
    for switch, other in ((first, second), (second, first)):
        text = plans.files("eos/lab")[switch.name]["startup.cfg"].replace(f"router bgp {switch.asn}", f"router bgp {other.asn}")
        records[switch.name] = plans.READERS["eos"]({"startup.cfg": text})
    assert len(_compare("eos/lab", records)) == 2
    cables = [line for line in compare_ends(records) if "a session with" in line]
    assert {name for line in cables for name in names if f"and {name} is" in line} == set(names)


@pytest.mark.parametrize("name", MISTAKES["ends"])
def test_ends_that_differ_are_seen(name: str) -> None:
    _, _, records = _plant(MISTAKES["ends"][name])
    differences = list(compare_ends(records))
    assert any(MISTAKES["ends"][name]["seen"] in line for line in differences), differences


@pytest.mark.parametrize("name", MISTAKES["hosts"])
def test_hosts_that_differ_are_seen(name: str) -> None:
    case, _, records = _plant(MISTAKES["hosts"][name])
    differences = list(compare_hosts(_inventory(case), records))
    assert any(MISTAKES["hosts"][name]["seen"] in line for line in differences), differences


# --- Nothing goes unread

UNKNOWN = {
    "frr line": ("frr/lab", "frr.conf", r"(?m)^bfd$", "bfd\n profile other"),
    "frr line in a VRF": ("sonic/driving", "frr.conf", r"(?m)^(router bgp \d+ vrf \S+)$", r"\1\n bgp always-compare-med"),
    "eos line": ("eos/lab", "startup.cfg", r"(?m)^(interface Ethernet\S+)$", r"\1\n   storm-control broadcast level 1"),
    "option of ifupdown2": ("frr/lab", "interfaces", r"(?m)^(iface swp\S*)$", r"\1\n    link-speed 40000"),
    "field of SONiC": ("sonic/lab", "config_db.json", r'"admin_status": "up",', '"admin_status": "up", "tpid": "0x9100",'),
    "path of NVUE": ("cumulus/lab", "startup.yaml", r"(?m)^( +)link:$", r"\1link:\n\1  auto-negotiate: off"),
}
"""Lines that no reader knows: case, file, and the edit that plants one in the first switch with a place for it."""


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_line_that_nobody_reads_is_refused(name: str) -> None:
    case, file, find, put = UNKNOWN[name]
    texts = next(dict(each) for each in plans.files(case).values() if re.search(find, each[file]))
    nos = next(switch.nos for switch in plans.plan(case).switches if plans.files(case)[switch.name][file] == texts[file])
    texts[file] = re.sub(find, put, texts[file], count=1)
    with pytest.raises(AssertionError, match="nobody reads"):
        plans.READERS[nos](texts)


def test_what_is_known_is_still_rendered() -> None:
    for case in plans.CASES:
        plans.records(case)
    for dialect in ("frr", "eos"):
        assert set(known.load_known()[dialect]) <= known.USED[dialect], set(known.load_known()[dialect]) - known.USED[dialect]
