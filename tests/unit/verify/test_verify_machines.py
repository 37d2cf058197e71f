"""Machines as BMCs tell of them: in their places, exchanged, strange, sick; and the list of what was delivered, completed."""

from dataclasses import replace

import pytest

from cluster_model.intent.model.policy import Facts
from cluster_model.intent.source.facts_csv import read_facts
from cluster_model.transport.bmc.controller import BmcError, Machine
from cluster_model.verify.hosts.delivered import Fill, fill_facts, list_facts
from cluster_model.verify.hosts.machines import Visit, compare_machines, known_serial
from cluster_model.verify.manual_machines import MANUALS


@pytest.fixture
def visits(lab):
    """Return what BMCs tell where everything is as planned."""
    found = {}
    for server in lab.servers:
        macs = tuple((f"NIC.{number}", port.mac) for number, port in enumerate(server.ports) if port.mac)
        machine = Machine("redfish", "off", server.serial, "Maker", "Model", bmc_mac=server.bmc.mac, macs=macs, health="OK")
        found[server.name] = Visit(server.name, server.bmc.address.partition("/")[0], machine, None, 0.1)
    return found


def tell(visits, name, **more):
    return {**visits, name: replace(visits[name], machine=replace(visits[name].machine, **more))}


def only(found, id_):
    assert [finding.id for finding in found] == [id_], found
    assert id_ in MANUALS
    assert found[0].fix
    assert found[0].where.startswith("servers.")
    return found[0]


def test_machines_in_their_places_have_no_findings(lab, visits):
    assert compare_machines(lab, visits) == []


def test_two_exchanged_machines_are_one_finding(lab, visits):
    one, other = visits["gpu-001"].machine, visits["gpu-005"].machine
    moved = {
        **visits,
        "gpu-001": replace(visits["gpu-001"], machine=other),
        "gpu-005": replace(visits["gpu-005"], machine=one),
    }
    finding = only(compare_machines(lab, moved), "BMC002")
    assert "gpu-001 and gpu-005" in finding.summary
    assert "A01 U1" in finding.expected
    assert "A02 U1" in finding.expected


def test_a_machine_that_stands_twice_is_in_the_wrong_place_once(lab, visits):
    moved = {**visits, "gpu-002": replace(visits["gpu-002"], machine=visits["gpu-001"].machine)}
    finding = only(compare_machines(lab, moved), "BMC003")
    assert finding.summary == "the machine that answers for gpu-002 is gpu-001"


def test_a_machine_that_nobody_ordered_is_told_apart_from_a_board_without_a_number(lab, visits):
    assert only(compare_machines(lab, tell(visits, "gpu-003", serial="XYZ")), "BMC004").actual == "serial number XYZ"
    assert compare_machines(lab, tell(visits, "gpu-003", serial="To be filled by O.E.M.")) == []


def test_a_replaced_board_and_a_replaced_card(lab, visits):
    finding = only(compare_machines(lab, tell(visits, "gpu-004", bmc_mac="02:00:5e:ff:00:01")), "BMC005")
    assert finding.actual == "02:00:5e:ff:00:01"
    macs = visits["gpu-004"].machine.macs
    other = ((macs[0][0], "02:00:5e:ff:00:02"), *macs[1:])
    assert macs[0][1] == only(compare_machines(lab, tell(visits, "gpu-004", macs=other)), "BMC005").expected


def test_ports_are_not_judged_by_a_bmc_that_knows_none_of_them(lab, visits):
    assert compare_machines(lab, tell(visits, "gpu-004", macs=(("usb0", "02:00:5e:ff:00:03"),))) == []


@pytest.mark.parametrize(("health", "severity"), [("Warning", "warning"), ("Critical", "error")])
def test_a_sick_machine(lab, visits, health, severity):
    assert only(compare_machines(lab, tell(visits, "storage-001", health=health)), "BMC006").severity == severity


def test_every_cause_has_its_own_way_out(lab, visits):
    fixes = set()
    for cause in ("silent", "busy", "refused", "login", "certificate", "language", "refusal"):
        lost = {**visits, "gpu-001": replace(visits["gpu-001"], machine=None, error=BmcError(cause, "why"))}
        finding = only(compare_machines(lab, lost), "BMC001")
        assert "gpu-001" in finding.summary
        assert "why" in finding.summary
        fixes.add(finding.fix)
    assert len(fixes) == 7


def test_known_serials():
    assert known_serial(Machine("ipmi", serial="Default String")) == ""
    assert known_serial(Machine("ipmi", serial="S1")) == "S1"


def test_a_bare_list_is_filled_and_reads_back(lab, visits, tmp_path):
    text, fills = fill_facts("# delivered in May\nname;serial\ngpu-001;\n", list_facts(lab, visits))
    assert text.startswith("# delivered in May\nname;serial;bmc_mac")
    assert Fill("gpu-001", "serial", "", "LAB00001") in fills
    (tmp_path / "servers.csv").write_text(text)
    tables, findings = read_facts(Facts(servers="servers.csv"), tmp_path, "")
    assert findings == []
    assert {name: facts.serial for name, facts in tables.servers.items()} == {s.name: s.serial for s in lab.servers}
    assert tables.servers["gpu-001"].bmc_mac == "02:00:5e:00:00:01"
    again, nothing = fill_facts(text, list_facts(lab, visits))
    assert (again, nothing) == (text, [])


def test_what_the_list_says_otherwise_is_replaced_only_when_told(lab, visits):
    text = "name,serial\ngpu-001,OLD\n"
    facts = {"gpu-001": {"serial": "NEW"}}
    assert fill_facts(text, facts) == (text, [])
    replaced, fills = fill_facts(text, facts, replace=True)
    assert replaced == "name,serial\ngpu-001,NEW\n"
    assert fills == [Fill("gpu-001", "serial", "OLD", "NEW")]


def test_a_list_begins_from_nothing(lab, visits):
    text, fills = fill_facts("", {"gpu-001": {"serial": "S1", "mac.eno3": "02:00:5e:00:00:02"}})
    assert text == "name,serial,bmc_mac,mac.eno3\ngpu-001,S1,,02:00:5e:00:00:02\n"
    assert len(fills) == 2


def test_a_misplaced_machine_does_not_spoil_the_list(lab, visits):
    moved = {**visits, "gpu-002": replace(visits["gpu-002"], machine=visits["gpu-001"].machine)}
    assert "gpu-002" not in list_facts(lab, moved)


def test_ports_called_as_planned_are_named_and_others_only_when_one_is_left(lab, visits):
    server = next(server for server in lab.servers if server.name == "control-001")
    ports = [port for port in server.ports if not port.guid]
    bare = replace(server, ports=tuple(replace(port, mac="") for port in ports))
    plan = replace(lab, servers=(bare,))
    named = tell(visits, "control-001", macs=((ports[0].name.upper(), "02:00:5e:00:aa:01"), ("Slot 3", "02:00:5e:00:aa:02")))
    cells = list_facts(plan, named)["control-001"]
    assert cells[f"mac.{ports[0].name}"] == "02:00:5e:00:aa:01"
    assert ("02:00:5e:00:aa:02" in cells.values()) == (len(ports) == 2)
