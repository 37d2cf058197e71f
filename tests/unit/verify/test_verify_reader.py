"""Answers of every system become one record."""

import pytest
from answers import EOS, EOS_PHY, LINUX, SONIC

from cluster_model.transport.double import DoubleSession
from cluster_model.verify.observed import (
    FORMAT,
    Neighbour,
    ObservedPfc,
    ObservedSession,
    collect,
    dump_observed,
    load_observed,
    normalize_mac,
)
from cluster_model.verify.read import eos as parse_eos
from cluster_model.verify.read.device import Wish, read_device
from tests.unit.render.switch import eos

EVERYTHING = Wish(fabric=True, prefixes=("10.72.224.1/32",))


def read(system, answers, wish=EVERYTHING):
    return read_device("leaf", system, DoubleSession(answers), wish)


def test_linux():
    device = read("linux", LINUX)
    assert device.gaps == ()
    assert (device.hostname, device.asn, device.widths) == ("leaf", 4200000001, {"10.72.224.1/32": 2})
    assert set(device.ports) == {"swp1", "swp2", "swp3", "swp4", "mgmt"}  # no bond, no loopback
    one = device.ports["swp1"]
    assert (one.carrier, one.enabled, one.speed_gbps, one.mtu_bytes, one.fec) == (True, True, 400, 9216, "rs")
    assert one.neighbours == (Neighbour("gpu-001.lab.example.net", "", "enp24s0np0", "02:00:5e:00:00:08", "02:00:5e:00:00:99"),)
    assert one.learned == ("02:00:5e:00:00:10",)
    two = device.ports["swp2"]
    assert (two.carrier, two.enabled, two.speed_gbps, two.fec) == (False, True, 0, "")
    assert two.neighbours[0] == Neighbour("leaf", "swp7", "leaf:swp7")
    three = device.ports["swp3"]
    assert (three.enabled, three.mac, three.alias) == (False, "02:00:00:00:00:03", "enp3s0")
    assert device.ports["swp4"].speed_gbps == 0  # a virtual pair tells 10 Gb/s, whatever it is
    assert device.ports["swp4"].learned == ("02:00:5e:00:00:11",)
    assert device.ports["mgmt"].speed_gbps == 0
    assert set(device.sessions) == {
        ObservedSession("swp31", "Established", 4200000100, "default", True),
        ObservedSession("swp32", "Idle", 0),
        ObservedSession("10.9.0.1", "Active", 64500, "vision"),
    }


def test_the_newest_neighbour_stands_first():
    port = '"port": [{"id": [{"type": "ifname", "value": "p"}]}]'
    entry = '{"name": "swp1", "age": "%s", "chassis": [{"name": [{"value": "%s"}]}], ' + port + "}"
    rows = [("1 day, 00:00:00", "oldest"), ("0 day, 00:01:05", "old"), ("0 day, 00:00:09", "new")]
    text = '{"lldp": [{"interface": [' + ", ".join(entry % row for row in rows) + "]}]}"
    device = read("linux", {**LINUX, "lldpcli -f json0": text})
    assert [neighbour.system for neighbour in device.ports["swp1"].neighbours] == ["new", "old", "oldest"]


def test_hosts_are_not_asked_for_routes():
    session = DoubleSession({**LINUX, "hostname": "gpu-001"})
    device = read_device("gpu-001", "host", session, EVERYTHING)
    assert "eth0" in device.ports
    assert device.sessions is None
    assert not any("vtysh" in command for command in session.asked)


def test_nothing_that_is_asked_changes_a_device():
    for system, answers in (("linux", LINUX), ("sonic", SONIC), ("eos", EOS)):
        session = DoubleSession(answers)
        read_device("leaf", system, session, EVERYTHING)
        for command in session.asked:
            words = command.split()
            assert not {"set", "config", "configure", "add", "del", "apply", "write", "clear"} & set(words) - {"config"}, command
            assert ">" not in command.replace("2>/dev/null", ""), command


def test_sonic():
    device = read("sonic", SONIC)
    assert device.gaps == ()
    up, down, small = (device.ports[name] for name in ("Ethernet0", "Ethernet4", "Ethernet8"))
    assert (up.carrier, up.speed_gbps, up.mtu_bytes, up.fec, up.alias) == (True, 400, 9100, "rs", "etp1a")
    assert (down.carrier, down.speed_gbps, down.enabled, down.fec) == (False, 0, True, "")
    assert (small.speed_gbps, small.enabled, small.fec) == (1, False, "")
    assert up.learned == ("11:22:33:44:55:66",)
    assert down.learned == ()  # static entries are nobody's
    assert device.pfc["Ethernet0"] == ObservedPfc(
        "Ethernet0", (3,), (1200, 0, 0, 203, 0, 0, 0, 0), (0, 0, 0, 7213, 0, 0, 0, 0), True, 2
    )
    assert (device.pfc["Ethernet4"].priorities, device.pfc["Ethernet4"].watchdog) == ((3, 4), False)
    assert device.pfc["Ethernet8"].priorities == ()


def test_eos():
    device = read("eos", EOS)
    assert device.gaps == ()
    assert set(device.ports) == {"Ethernet1/1", "Ethernet2/1", "Ethernet3/1", "mgmt"}
    one = device.ports["Ethernet1/1"]
    assert (one.carrier, one.speed_gbps, one.mtu_bytes, one.mac) == (True, 400, 9214, "00:1c:73:00:00:01")
    assert parse_eos.parse_fec(EOS_PHY) == {"Ethernet1/1": "rs", "Ethernet2/1": "baser"}
    assert [device.ports[name].fec for name in ("Ethernet1/1", "Ethernet2/1", "Ethernet3/1")] == [
        "rs",
        "",
        "",
    ]  # the rest is down
    assert one.neighbours == (Neighbour("78m3", "", "eth3", "00:0f:53:2e:ce:d1", "2c:60:0c:ad:30:de"),)
    assert one.learned == ("02:00:5e:00:00:10", "02:00:5e:00:00:11")
    assert [device.ports[name].enabled for name in ("Ethernet2/1", "Ethernet3/1")] == [True, False]
    assert device.ports["Ethernet3/1"].neighbours[0].port == "Ethernet5/1"
    assert (device.asn, device.widths) == (4200000001, {"10.72.224.1/32": 2})
    assert set(device.sessions) == {
        ObservedSession("10.1.0.1", "Established", 4200001636, "default", True),
        ObservedSession("Ethernet2/1", "Idle", 65100, "default", False),
        ObservedSession("10.1.0.5", "Established", 65100, "default", None),
    }
    assert device.pfc == {
        "Ethernet1/1": ObservedPfc("Ethernet1/1", (3,), watchdog=True, storms=4),
        "Ethernet2/1": ObservedPfc("Ethernet2/1", (), watchdog=False),  # a profile that does not switch PFC on
        "Ethernet3/1": ObservedPfc("Ethernet3/1", (3, 4), watchdog=True),
        "Ethernet4/1": ObservedPfc("Ethernet4/1", (), watchdog=False),
    }


def test_a_session_that_may_not_see_the_configuration_still_tells_storms():
    refused = {key: text for key, text in EOS.items() if "running-config" not in key}
    device = read("eos", refused)
    assert device.gaps == ("PFC (running-config): command not found",)
    assert device.pfc == {"Ethernet1/1": ObservedPfc("Ethernet1/1", storms=4)}
    device = read("eos", {**EOS, "show running-config section interface Ethernet": "% Invalid input (privileged mode required)"})
    assert device.gaps == ("PFC (running-config): not understood (a configuration without interfaces)",)


@pytest.mark.parametrize("cluster", ["lab", "tall"])
def test_pfc_is_read_from_what_is_rendered(cluster):
    """The reader and the template speak one syntax: every lossless switch has the plan's priorities by its own file."""
    plan, files = eos.plan(cluster), eos.files(cluster)
    lossless = {network.name for network in plan.networks if network.lossless}
    judged = [switch for switch in plan.switches if switch.network in lossless and switch.nos == "eos"]
    assert judged
    for switch in judged:
        text = files[f"switches/{switch.name}/startup.cfg"]
        pfc = parse_eos.parse_pfc(text, text, text)
        for port in switch.ports:
            assert pfc[port.name].priorities == plan.lossless.pfc_priorities
            assert pfc[port.name].watchdog is plan.lossless.watchdog


@pytest.mark.parametrize("system", ["linux", "sonic", "eos"])
@pytest.mark.parametrize(
    "noise", ["", "bash: lldpcli: command not found", '{"cut": [', "[]", "{}", "null", "%&/\x00", '{"lldp": 3}']
)
def test_rubbish_is_a_gap_and_no_crash(system, noise):
    class Rubbish(dict):
        def __iter__(self):
            return iter([""])

        def __getitem__(self, key):
            return noise

    device = read(system, Rubbish())
    assert device.reached
    assert isinstance(device.gaps, tuple)


def test_what_fails_is_named_with_its_last_line():
    device = read("linux", {key: value for key, value in LINUX.items() if "lldpcli" not in key})
    assert device.gaps == ("LLDP neighbours (lldpcli): command not found",)


def test_warnings_around_json_do_not_matter():
    device = read("linux", {**LINUX, "lldpcli -f json0": f"a warning of sudo\n{LINUX['lldpcli -f json0']}\ntrailing"})
    assert device.gaps == ()
    assert device.ports["swp1"].neighbours


@pytest.mark.parametrize(
    ("text", "mac"),
    [
        ("0200.5E00.0001", "02:00:5e:00:00:01"),
        ("02-00-5e-00-00-01", "02:00:5e:00:00:01"),
        ("02:00:5e:00:00:01", "02:00:5e:00:00:01"),
        ("02:00:5e", ""),
        ("", ""),
    ],
)
def test_mac_addresses_have_one_form(text, mac):
    assert normalize_mac(text) == mac


def test_an_observation_survives_a_file():
    observed = collect(read(system, answers) for system, answers in (("linux", LINUX), ("sonic", SONIC), ("eos", EOS)))
    assert load_observed(dump_observed(observed)) == observed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "not JSON"),
        (b"[1]", f"format is not {FORMAT}"),
        (b'{"format":"gpuyard-plan-1"}', f"format is not {FORMAT}"),
        (b'{"format":"gpuyard-observed-1","devices":[{"name":4}]}', "0.name: "),
        (b'{"format":"gpuyard-observed-1"}', "valid list"),
    ],
)
def test_other_files_are_refused_in_a_line(text, words):
    with pytest.raises(ValueError, match=words) as caught:
        load_observed(text)
    assert "\n" not in str(caught.value)
