"""CSV as spreadsheets write it, brought to one form."""

from __future__ import annotations

import pytest

from cluster_model.intent.model.policy import Facts
from cluster_model.intent.source.facts_csv import PduFacts, ServerFacts, SwitchFacts, read_facts
from cluster_model.intent.source.hardware_addresses import parse_guid, parse_mac


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a0:88:c2:00:12:34", "a0:88:c2:00:12:34"),
        ("A0-88-C2-00-12-34", "a0:88:c2:00:12:34"),
        ("a088.c200.1234", "a0:88:c2:00:12:34"),
        ("A088C2001234", "a0:88:c2:00:12:34"),
        (" a0:88:c2:00:12:34 ", "a0:88:c2:00:12:34"),
        ("a0:88-c2:00:12:34", None),
        ("a0:88:c2:00:12", None),
        ("00:00:00:00:00:00", None),
        ("ff:ff:ff:ff:ff:ff", None),
        ("01:00:5e:00:00:01", None),
        ("1,0E+12", None),
        ("", None),
    ],
)
def test_mac(text, value):
    assert parse_mac(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0xA088C20300123456", "0xa088c20300123456"),
        ("a088c20300123456", "0xa088c20300123456"),
        ("a088:c203:0012:3456", "0xa088c20300123456"),
        ("a0:88:c2:03:00:12:34:56", "0xa088c20300123456"),
        ("0x0000000000000000", None),
        ("0xa088", None),
    ],
)
def test_guid(text, value):
    assert parse_guid(text) == value


def test_tables(tmp_path):
    (tmp_path / "s.csv").write_bytes(
        "\ufeffName;Serial;BMC_MAC;mac.enp1s0;guid.ibp2s0\r\n"
        "# as delivered in May\r\n"
        'gpu-001;"S 1";A0-88-C2-00-00-01;a088.c2ff.0001;a088:c203:0012:3456\r\n'
        ";;;;\r\n"
        "gpu-002;;;;\r\n".encode()
    )
    (tmp_path / "w.csv").write_text("name,mgmt_mac,guid\ncompute-leaf-u01-01,a0:88:c2:00:00:02,0xa088c20300123457\n")
    (tmp_path / "p.csv").write_text("name\tserial\tmac\npdu-a01-1\tP1\ta0:88:c2:00:00:03\n")
    tables, findings = read_facts(Facts(servers="s.csv", switches="w.csv", pdus="p.csv"), tmp_path, "lab")
    assert findings == []
    assert tables.servers == {
        "gpu-001": ServerFacts("S 1", "a0:88:c2:00:00:01", {"enp1s0": "a0:88:c2:ff:00:01"}, {"ibp2s0": "0xa088c20300123456"}, 3),
        "gpu-002": ServerFacts(line=5),
    }
    assert tables.switches == {"compute-leaf-u01-01": SwitchFacts("", "a0:88:c2:00:00:02", "0xa088c20300123457", 2)}
    assert tables.pdus == {"pdu-a01-1": PduFacts("P1", "a0:88:c2:00:00:03", 2)}
    assert tables.files == {"servers": "lab/s.csv", "switches": "lab/w.csv", "pdus": "lab/p.csv"}


def test_no_facts(tmp_path):
    tables, findings = read_facts(Facts(), tmp_path, "")
    assert (tables.servers, tables.files, findings) == ({}, {}, [])


def test_line_that_no_reader_takes_is_a_finding(tmp_path):
    (tmp_path / "s.csv").write_text(f"name,serial\ngpu-001,{'x' * 200_000}\ngpu-002,S2\n")
    tables, findings = read_facts(Facts(servers="s.csv"), tmp_path, "")
    assert [(finding.id, finding.line) for finding in findings] == [("FCT006", 2)]
    assert tables.servers == {"gpu-002": ServerFacts("S2", line=3)}


def read_fault(folder, text):
    (folder / "s.csv").write_text(text)
    (finding,) = read_facts(Facts(servers="s.csv"), folder, "")[1]
    return finding


@pytest.mark.parametrize(
    ("mac", "words"),
    [
        ("00:00:00:00:00:00", "is zero, which no port has"),
        ("FFFF.FFFF.FFFF", "is the broadcast address, which no port has"),
        ("01:00:5e:00:00:0d", "is a multicast address, which no port has"),
        ("a0:88:c2:00:12", "is not the MAC address of a port"),
    ],
)
def test_a_mac_that_no_port_has_is_told_what_it_is(tmp_path, mac, words):
    finding = read_fault(tmp_path, f"name,bmc_mac\ngpu-001,{mac}\n")
    assert finding.summary == f'"{mac}" {words}'
    assert ("12 hexadecimal digits" in finding.expected) == ("not the MAC" in words)


def test_a_serial_number_may_end_in_a_dot(tmp_path):
    (tmp_path / "s.csv").write_text("name,serial\ngpu-001,To Be Filled By O.E.M.\n")
    tables, findings = read_facts(Facts(servers="s.csv"), tmp_path, "")
    assert findings == [] and tables.servers["gpu-001"].serial == "To Be Filled By O.E.M."


@pytest.mark.parametrize("serial", ["-S1", "S1/", "=S1", ".", "S" * 65])
def test_what_is_expected_of_a_serial_number_is_what_it_lacks(tmp_path, serial):
    finding = read_fault(tmp_path, f"name,serial\ngpu-001,{serial}\n")
    assert finding.expected.endswith("at most 64; a letter or digit first, and a letter, digit or dot last")


@pytest.mark.parametrize(("serial", "fix"), [("S1", "correct the line"), ("To Be Filled By O.E.M.", "read both labels")])
def test_a_serial_number_left_blank_twice_is_read_from_the_labels(tmp_path, serial, fix):
    finding = read_fault(tmp_path, f"name,serial\ngpu-001,{serial}\ngpu-002,{serial}\n")
    assert finding.id == "FCT005" and finding.fix.startswith(fix)
