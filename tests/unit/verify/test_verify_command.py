"""`gpuyard verify`: exit codes, forms, files, and what is read of whom; the gear is a double."""

import json
import re
from pathlib import Path

import pytest
from answers import LINUX

from cluster_model.cli.main import run
from cluster_model.cli.verify import _choose_devices
from cluster_model.pipeline import inspect
from cluster_model.plan.selection import choose_devices
from cluster_model.render.inventory.document import render_inventory
from cluster_model.transport.double import DoubleOpener
from cluster_model.transport.session import Login
from cluster_model.verify.manual import MANUALS as GEAR
from cluster_model.verify.manual_ceph import MANUALS as CEPH
from cluster_model.verify.observed import (
    Neighbour,
    ObservedDevice,
    ObservedPort,
    ObservedSession,
    dump_observed,
    load_observed,
)
from cluster_model.verify.read.collect import Scope, list_targets, observe
from cluster_model.verify.read.device import rename_stand_in

LAB = "inventory/lab"


@pytest.fixture
def kept(tmp_path):
    def keep(floor):
        path = tmp_path / "observed.json"
        path.write_bytes(dump_observed(floor.observe()))
        return str(path)

    return keep


def test_as_planned_is_zero(floor, kept, capsys):
    assert run(["verify", "cabling", LAB, "--observed", kept(floor)]) == 0
    assert capsys.readouterr().out == "lab: 31 devices read, 0 not reached; 242 cables: 242 right\n\nNo findings.\n"


def test_differences_are_one_and_stand_by_rack(floor, kept, capsys, tmp_path):
    floor.cut(("gpu-005", "enp24s0np0"))
    floor.cut(("gpu-001", "enp24s0np0"))
    sheet = tmp_path / "sheet.html"
    assert run(["verify", "cabling", LAB, "--observed", kept(floor), "--print", str(sheet)]) == 1
    out = capsys.readouterr().out
    assert out.index("\nA01\n  U1   VER006 error: gpu-001") < out.index("\nA02\n  U1   VER006 error: gpu-005")
    assert "240 right, 2 dark" in out
    page = sheet.read_text()
    assert page.count("<tr><td class=box>") == 2
    assert page.index("<h2>Rack A01") < page.index("<h2>Rack A02")
    assert "src=" not in page and "href=" not in page


def test_a_page_escapes_what_devices_say(floor, kept, tmp_path):
    floor.change(("compute-leaf-u01-01", "Ethernet0"), neighbours=(Neighbour("<script>alert(1)</script>", "1"),))
    floor.change(("gpu-001", "enp24s0np0"), neighbours=())
    sheet = tmp_path / "sheet.html"
    run(["verify", "cabling", LAB, "--observed", kept(floor), "--print", str(sheet)])
    assert "<script>" not in sheet.read_text() and "&lt;script&gt;" in sheet.read_text()


def test_a_device_not_reached_is_three_and_the_rest_is_compared(floor, kept, capsys):
    floor.off.add("gpu-003")
    floor.cut(("gpu-005", "enp24s0np0"))
    assert run(["verify", "cabling", LAB, "--observed", kept(floor), "--format", "json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["devices"] == {"read": 30, "not_reached": {"gpu-003": "timed out"}}
    assert {finding["id"] for finding in told["findings"]} == {"VER006", "VER007"}
    assert told["cables"] == {"right": 229, "dark": 1, "off": 12}
    row = next(finding for finding in told["findings"] if finding["id"] == "VER006")
    assert (row["rack"], row["u"], row["device"], row["port"]) == ("A02", 1, "gpu-005", "enp24s0np0")
    assert (row["cables"], row["file"], row["line"]) == (["gpu-005:enp24s0np0"], "inventory/lab/cluster.yml", 20)


def test_strict_and_github(floor, kept, capsys):
    floor.connect(("compute-leaf-u01-01", "Ethernet256"), ("compute-leaf-u01-02", "Ethernet256"))
    path = kept(floor)
    assert run(["verify", "cabling", LAB, "--observed", path]) == 0
    assert run(["verify", "cabling", LAB, "--observed", path, "--strict"]) == 1
    capsys.readouterr()
    run(["verify", "cabling", LAB, "--observed", path, "--format", "github"])
    assert capsys.readouterr().out.startswith("::warning file=inventory/lab/cluster.yml,line=")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--network", "nvlink"], "there is no nvlink; the plan has compute, storage, oob"),
        (["--limit", "Z99"], "no device is meant by Z99; name a device, a rack"),
        (["--limit", "gpu-004..gpu-001"], "it runs backwards: write gpu-001..gpu-004"),
        (["--rack", "A1"], "no device is meant by A1; did you mean A01?"),
        (["--limit", " ,"], "it is empty"),
        (["--observed", "README.md"], "not JSON"),
        (["--observed", "nowhere.json"], "does not exist"),
        (["--parallel", "0"], "--parallel"),
    ],
)
def test_wrong_usage(options, words, capsys):
    assert run(["verify", "cabling", LAB, *options]) == 2
    assert words in capsys.readouterr().err


def test_no_password_on_the_command_line(capsys):
    assert run(["verify", "cabling", LAB, "--password", "x"]) == 2
    run(["verify", "cabling", "--help"])
    assert "password" not in capsys.readouterr().out.lower()


def test_every_finding_has_a_manual_that_explain_finds(capsys):
    source = "".join(path.read_text() for path in Path("cluster_model/verify").rglob("*.py") if path.parent.name != "verify")
    source += "".join(path.read_text() for path in Path("cluster_model/verify").glob("*.py") if "manual" not in path.name)
    manuals = GEAR | CEPH
    for id_ in manuals:
        assert f'"{id_}"' in source, f"nothing finds {id_}"
        assert run(["explain", id_]) == 0
    assert set(re.findall(r"VER\d{3}", source)) <= set(manuals)


def test_fabric_from_a_file(floor, kept, capsys):
    assert run(["verify", "fabric", LAB, "--observed", kept(floor), "--network", "storage", "--format", "json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert {finding["id"] for finding in told["findings"]} == {"VER032"}  # the floor's ports all have MTU 9216


def test_fabric_of_servers(floor, kept, lab, capsys):
    """A server's ports are looked at where it is meant, its switch, or the rack of either."""
    path = kept(floor)  # its ports all have MTU 9216, and hosts are planned with others

    def seen(*words):
        run(["verify", "fabric", LAB, "--observed", path, "--limit", ",".join(words), "--format", "json"])
        told = json.loads(capsys.readouterr().out)
        return {(row["device"], row["port"]) for row in told["findings"] if row["id"] == "VER032"}, told["compared"]

    own = {(server.name, port.name) for server in lab.servers if server.name == "storage-002" for port in server.ports}
    found, compared = seen("storage-002")
    assert found and found <= own
    assert compared == {"MTUs": len(own)}
    switches = {switch.name for switch in lab.switches if switch.rack == "A02"}
    hosts = {
        (server.name, port.name)
        for server in lab.servers
        for port in server.ports
        if server.rack == "A02" or port.peer in switches
    }
    names = {server.name for server in lab.servers}
    found, _ = seen("A02")
    assert {end for end in found if end[0] in names} == {end for end in seen(*names)[0] if end in hosts}
    storage = {switch.name for switch in lab.switches if switch.network == "storage"}
    assert {name for name, _ in seen(*storage)[0] if name in names} > {"storage-002"}
    run(["verify", "fabric", LAB, "--observed", path, "--limit", "storage-002", "--network", "oob"])
    assert "lab: 31 devices read, 0 not reached; compared: 1 MTU\n" in capsys.readouterr().out


def test_fabric_of_a_server_reads_the_server_alone(lab):
    assert _choose_devices(lab, Scope((), frozenset({"storage-002"})), fabric=True) == ({"storage-002"}, {})
    names, _ = _choose_devices(lab, Scope((), frozenset({"storage-leaf-u01-01"})), fabric=True)
    assert {"storage-leaf-u01-01", "storage-002"} <= names


def test_scope(lab):
    assert {cable.network for cable in Scope(("storage",)).cables(lab)} == {"storage"}
    racks = {device.name: device.rack for device in (*lab.servers, *lab.switches, *lab.pdus)}
    for cable in Scope((), choose_devices(lab, ["A01"])).cables(lab):
        assert "A01" in {racks[cable.a], racks[cable.b]}
    assert Scope().cables(lab) == lab.cables
    assert {switch.network for switch in Scope(("oob",)).switches(lab)} == {"oob"}


def test_targets_are_where_ansible_goes(lab):
    opened = inspect(Path(LAB))
    rendered = json.loads(render_inventory(opened.plan, opened.catalogue, {}))
    addresses = dict(
        re.findall(r'"ansible_host":"([^"]+)".*?"gpuyard_name":"([^"]+)"', json.dumps(rendered, separators=(",", ":")))
    )
    names = [server.name for server in lab.servers] + [switch.name for switch in lab.switches] + [pdu.name for pdu in lab.pdus]
    targets, readers = list_targets(lab, names)
    assert len(targets) == len(lab.servers) + len(lab.switches)
    table = {target.name: target for target in targets}
    assert {target.address: target.name for target in targets}.items() <= addresses.items()
    assert table["gpu-001"].address == "10.76.64.5" and table["gpu-001"].driver == ""
    assert table["compute-leaf-u01-01"].driver == "linux"
    assert readers["gpu-001"] == "host" and readers["compute-leaf-u01-01"] == "sonic"


def test_devices_are_read_and_the_unreachable_are_told(lab):
    opener = DoubleOpener({"storage-leaf-u01-01": {**LINUX, "hostname": "storage-leaf-u01-01\n"}})
    logins = {False: Login(), True: Login()}
    seen = []
    names = ["storage-leaf-u01-01", "storage-spine-01", "gpu-001"]
    observed = observe(lab, names, logins, open_switch=opener, open_host=opener, progress=seen.append)
    assert len(seen) == 3
    assert observed.reached("storage-leaf-u01-01")
    assert observed.devices["gpu-001"].reason == "10.76.64.5: timed out"
    assert load_observed(dump_observed(observed)) == observed


def test_stand_ins_are_read_as_linux_and_told(lab, tmp_path, capsys):
    answers = {**LINUX, "hostname": "compute-leaf-u01-01\n"}
    opener = DoubleOpener({"compute-leaf-u01-01": answers, "storage-leaf-u01-01": {**LINUX, "hostname": "storage-leaf-u01-01\n"}})
    names = ["compute-leaf-u01-01", "storage-leaf-u01-01"]
    observed = observe(lab, names, {False: Login(), True: Login()}, open_switch=opener, stand_in=True)
    assert {device.name: (device.stand_in, device.gaps) for device in observed.devices.values()} == {
        "compute-leaf-u01-01": ("frr", ()),
        "storage-leaf-u01-01": ("", ()),
    }
    assert load_observed(dump_observed(observed)) == observed
    path = tmp_path / "observed.json"
    path.write_bytes(dump_observed(observed))
    run(["verify", "cabling", LAB, "--observed", str(path)])
    assert "\nstand-in: 1 switch planned with sonic, read as Linux with FRR\n" in capsys.readouterr().out
    run(["verify", "cabling", LAB, "--observed", str(path), "--format", "json"])
    assert json.loads(capsys.readouterr().out)["devices"]["stand_ins"] == {"compute-leaf-u01-01": "frr"}


def test_ports_of_a_stand_in_are_called_as_planned():
    port = ObservedPort("Ethernet1_1", neighbours=(Neighbour("leaf", "Ethernet2_1"),))
    session = ObservedSession("Ethernet1_1", "Established")
    device = rename_stand_in(ObservedDevice("spine", ports={port.name: port}, sessions=(session,)), "frr")
    assert (device.ports["Ethernet1/1"].name, device.ports["Ethernet1/1"].alias) == ("Ethernet1/1", "Ethernet1_1")
    assert device.sessions[0].peer == "Ethernet1/1"


def test_another_device_at_the_address_is_left_out(lab):
    answers = {**LINUX, "hostname": "storage-leaf-u01-02.lab.example.net\n"}
    opener = DoubleOpener({"storage-leaf-u01-01": answers})
    observed = observe(lab, ["storage-leaf-u01-01"], {False: Login(), True: Login()}, open_switch=opener)
    told = observed.devices["storage-leaf-u01-01"]
    assert (told.reached, told.hostname, told.ports) == (False, "storage-leaf-u01-02", {})


def test_a_host_without_its_name_yet_is_kept(lab):
    opener = DoubleOpener({"gpu-001": {**LINUX, "hostname": "localhost\n"}})
    assert observe(lab, ["gpu-001"], {False: Login(), True: Login()}, open_host=opener).reached("gpu-001")
