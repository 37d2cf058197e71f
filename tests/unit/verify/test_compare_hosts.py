"""Hosts as they tell of themselves: as planned, each fault alone, replies that are rubbish; and the script that asks them."""

import ast
import copy
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from told import describe

from cluster_model.catalogue.load import load_catalogue
from cluster_model.cli.main import run
from cluster_model.pipeline import inspect
from cluster_model.transport.sweep import Reply
from cluster_model.verify.hosts.compare import Told, compare_hosts, dump_told, judge, load_told, read_reply
from cluster_model.verify.manual_hosts import MANUALS
from tests import recorded
from tests.slowness import stretch

ROOT = Path(__file__).resolve().parents[3]
DOUBLES = ROOT / "tests/roles/repository/packages"


@pytest.fixture(scope="session")
def catalogue():
    return load_catalogue()[0]


@pytest.fixture(scope="session")
def driving():
    return inspect(ROOT / "inventory/driving").plan


@pytest.fixture(scope="session")
def superpod():
    return inspect(ROOT / "inventory/superpod-h100").plan


def tell(plan, **changed):
    """Return what all hosts of a plan told, as the comparison takes it; `changed` by name with dashes as lines below."""
    documents = {server.name: describe(plan, server) for server in plan.servers}
    for name, change in changed.items():
        change(documents[name.replace("_", "-")])
    return {name: Told(name, facts, "", 1.0, 1001.0) for name, facts in documents.items()}


def only(plan, catalogue, **changed):
    """Return the one finding of the one host that was changed."""
    found = {name: findings for name, findings in compare_hosts(plan, catalogue, tell(plan, **changed)).items() if findings}
    (name,) = changed
    assert list(found) == [name.replace("_", "-")]
    (finding,) = found[name.replace("_", "-")]
    assert finding.fix
    assert finding.where.startswith("servers.")
    assert finding.summary.startswith(name.replace("_", "-"))
    return finding


def put(path, value):
    """Return a change: a value at a path such as ports.0.mac."""

    def change(facts):
        *way, last = [int(key) if key.isdigit() else key for key in path.split("/")]
        for key in way:
            facts = facts[key]
        facts[last] = value

    return change


def drop(path, place=0):
    return lambda facts: facts[path].pop(place)


def swap(facts):
    one, other = facts["ports"][0], facts["ports"][1]
    one["name"], other["name"] = other["name"], one["name"]


@pytest.mark.parametrize("name", ["lab", "driving", "superpod"])
def test_hosts_as_planned_have_no_findings(request, catalogue, name):
    plan = request.getfixturevalue(name)
    found = compare_hosts(plan, catalogue, tell(plan))
    assert list(found) == [server.name for server in plan.servers]
    assert [finding for findings in found.values() for finding in findings] == []
    assert {judge(findings) for findings in found.values()} == {"as planned"}


def test_the_hosts_of_the_pages(catalogue):
    """docs/examples/hosts.json: a host as planned, one with a slow port, without a rule and a GPU, one that did not answer."""
    plan = inspect(ROOT / "inventory/lab").plan

    def be_worn(facts):
        put("ports/0/speed_mbps", 200_000)(facts)
        drop("rules", 4)(facts)
        drop("gpus", 5)(facts)

    told = tell(plan, gpu_002=be_worn)
    told["gpu-003"] = Told("gpu-003", {}, "Could not connect (timed out)", 10.0, 0.0)
    kept = {name: told[name] for name in ("gpu-001", "gpu-002", "gpu-003")}
    recorded.check(ROOT / "docs/examples/hosts.json", dump_told(kept))


FAULTS = {
    "HST002": put("hostname", "gpu-007.lab.example"),
    "HST003": put("serial", "LAB99999"),
    "HST004": put("model", "PowerEdge XE9680"),
    "HST005": put("ports/0/mac", "02:00:5e:ff:00:01"),
    "HST006": put("ports/0/speed_mbps", 100 * 1000),
    "HST007": put("ports/0/mtu_bytes", 1500),
    "HST008": put("ports/0/pci", "0000:2a:00.0"),
    "HST009": put("ports/0/rdma", ["rocep24s0"]),
    "HST010": put("ports/0/pcie", "16.0 GT/s PCIe x16"),
    "HST011": put("addresses/8/address", "192.0.2.1/31"),
    "HST012": drop("rules", 1),
    "HST013": drop("gpus", 3),
    "HST014": put("nvidia_module", "570.86.15"),
    "HST016": put("limits/DefaultLimitMEMLOCK", "8388608"),
    "HST017": put("clock/synced", False),
    "HST018": put("ports/0/bond", "bond7"),
    "HST019": put("ports/9/firmware", "28.39.1002"),
    "HST020": lambda facts: facts["routes"].remove(next(r for r in facts["routes"] if r["dst"] == "10.244.0.0/16")),
}


@pytest.mark.parametrize("id_", FAULTS)
def test_a_fault_is_found_alone(lab, catalogue, id_):
    assert only(lab, catalogue, gpu_002=FAULTS[id_]).id == id_
    assert id_ in MANUALS


def test_every_finding_has_a_fault_here_and_a_manual():
    assert {*FAULTS, "HST001", "HST015"} == set(MANUALS)


@pytest.mark.parametrize(
    ("change", "id_", "actual", "fix"),
    [
        (put("ports/0/up", False), "HST006", "no link", "the cable to compute-leaf-u01-01 Ethernet"),
        (put("ports/0/numa", 1), "HST008", "1", "BIOS"),
        (put("gpus/0/numa", 1), "HST008", "1", "order of GPUs"),
        (put("rules/1/table", "200"), "HST012", "from 10.64.0.3 by table 200", "network.yml"),
        (put("routes/0/gateway", "10.64.0.9"), "HST012", "table 100 does not lead over 10.64.0.2", "network.yml"),
        (put("gpus", []), "HST013", "0", "driver.yml"),
        (put("gpus/4/name", "NVIDIA A100-SXM4-80GB"), "HST013", "NVIDIA A100-SXM4-80GB", "correct servers"),
        (put("gpus/4/pcie.link.width.current", "8"), "HST010", "x8", "reseat"),
        (put("clock/offset_s", -30.0), "HST017", "-30 s", "time servers"),
        (put("clock/now", 940.0), "HST017", "60.0 s", "time servers"),
        (put("clock/now", 1061.0), "HST017", "60.0 s", "time servers"),
        (drop("addresses", -1), "HST011", "none", "network.yml"),
        (drop("ports", 3), "HST005", "no such port", "seated"),
    ],
)
def test_what_a_finding_says(lab, catalogue, change, id_, actual, fix):
    finding = only(lab, catalogue, gpu_002=change)
    assert (finding.id, finding.actual) == (id_, actual)
    assert fix in finding.fix


def test_a_driver_of_another_branch(lab, catalogue):
    def older(facts):
        facts["nvidia_module"] = "570.86.15"
        for gpu in facts["gpus"]:
            gpu["driver_version"] = "570.86.15"

    finding = only(lab, catalogue, gpu_002=older)
    assert (finding.id, finding.expected, finding.actual) == ("HST014", "580", "570.86.15")


def test_ports_that_changed_names_are_told_from_cards_that_were_replaced(lab, catalogue):
    found = compare_hosts(lab, catalogue, tell(lab, gpu_001=swap))["gpu-001"]
    macs = [finding for finding in found if finding.id == "HST005"]
    assert [finding.fix for finding in macs] == [
        "the port with that MAC is enp64s0np0: run playbooks/network.yml",
        "the port with that MAC is enp24s0np0: run playbooks/network.yml",
    ]
    assert "was replaced" in only(lab, catalogue, gpu_001=FAULTS["HST005"]).fix


@pytest.mark.parametrize(
    "change",
    [
        put("serial", ""),
        put("serial", "To be filled by O.E.M."),
        put("model", ""),
        put("ports/0/mtu_bytes", -1),
        put("ports/0/speed_mbps", -1),
        put("ports/0/numa", -1),
        put("ports/0/pci", ""),
        put("ports/0/rdma", []),
        put("ports/0/pcie", " x"),
        put("ports/9/firmware", ""),
        put("gpus/0/numa", -1),
        put("nvidia_module", ""),
        put("limits", {}),
        put("clock/offset_s", None),
        put("hostname", "gpu-002.lab.example"),
        put("rules/1", {"priority": 100, "src": "10.64.0.0", "srclen": 18, "table": "100"}),
        put("rules/3", {"priority": 100, "src": "10.64.128.3", "oif": "enp79s0np0", "table": "102"}),
        lambda facts: facts["rules"].append({"priority": 50, "src": "10.64.0.3", "table": "7777", "oif": "lo"}),
        lambda facts: facts["ports"].append({**facts["ports"][0], "name": "usb0", "mac": "02:00:5e:ff:00:07", "up": False}),
        lambda facts: facts["addresses"].append({"port": "docker0", "address": "172.17.0.1/16"}),
        put("gpus/0/power.limit", "[N/A]"),
    ],
)
def test_what_a_host_cannot_tell_or_has_besides_is_no_finding(lab, catalogue, change):
    assert compare_hosts(lab, catalogue, tell(lab, gpu_002=change))["gpu-002"] == []


def test_a_cap_on_power(driving, catalogue):
    finding = only(driving, catalogue, infer_001=put("gpus/5/power.limit", "350.00"))
    assert (finding.id, finding.expected, finding.actual) == ("HST015", "298 W", "350 W")


def test_bonds_and_their_networks(driving, catalogue):
    place = next(n for n, port in enumerate(driving.servers[0].ports) if port.network == "business")
    finding = only(driving, catalogue, train_001=put(f"ports/{place}/bond", ""))
    assert (finding.id, finding.expected, finding.actual) == ("HST018", "in bond0", "in no bond")

    def lose(name):
        return lambda facts: facts["addresses"].remove(next(a for a in facts["addresses"] if a["port"] == name))

    finding = only(driving, catalogue, train_001=lose("bond0.17"))
    assert (finding.id, finding.expected, finding.actual) == ("HST011", "192.168.0.16/20", "none")
    finding = only(driving, catalogue, infer_001=lose("bond0.50"))
    assert (finding.id, finding.expected) == ("HST011", "one by DHCP")


def test_infiniband_ports_have_guids_and_an_mtu_of_their_own(superpod, catalogue):
    plan = replace(superpod, servers=superpod.servers[:2])
    port = replace(plan.servers[0].ports[0], guid="0xb83fd20300aabb01")
    named = replace(plan.servers[0], ports=(port, *plan.servers[0].ports[1:]))
    plan = replace(plan, servers=(named, plan.servers[1]))
    hardware = "00:00:10:49:fe:80:00:00:00:00:00:00:b8:3f:d2:03:00:aa:bb:01"
    told = tell(plan, gpu_001=put("ports/0/mac", hardware))
    assert compare_hosts(plan, catalogue, told)["gpu-001"] == []
    finding = only(plan, catalogue, gpu_001=put("ports/0/mac", hardware[:-2] + "02"))
    assert (finding.id, finding.expected) == ("HST005", "0xb83fd20300aabb01")


def test_gpus_of_other_makers_are_not_counted(lab, catalogue):
    amd = replace(lab, servers=tuple(replace(server, gpu_model="amd/mi300x") for server in lab.servers[:1]))
    told = tell(amd, gpu_001=put("gpus", []))
    assert compare_hosts(amd, catalogue, told)["gpu-001"] == []


def test_firmware_is_compared_with_most_of_the_same_model_only(lab, catalogue):
    told = tell(lab)
    for name in ("storage-001", "storage-002", "storage-003", "control-001", "control-002", "control-003"):
        for port in told[name].facts["ports"]:
            port["firmware"] = "20.43.1014"  # other cards
    found = compare_hosts(lab, catalogue, told)
    assert {f.id for findings in found.values() for f in findings} <= {"HST019"}
    assert not any(f.actual == "20.43.1014" and "connectx-6" in f.summary for findings in found.values() for f in findings)


def test_a_host_that_was_not_read_has_one_finding_and_a_verdict(lab, catalogue):
    told = {**tell(lab), "gpu-003": Told("gpu-003", reason="no answer in time", seconds=70)}
    findings = compare_hosts(lab, catalogue, told)["gpu-003"]
    assert [f.id for f in findings] == ["HST001"]
    assert "no answer in time" in findings[0].summary
    assert judge(findings) == "not reached"
    warning = compare_hosts(lab, catalogue, tell(lab, gpu_002=FAULTS["HST017"]))["gpu-002"]
    assert judge(warning) == "differs"


def test_replies(lab):
    document = describe(lab, lab.servers[0])
    text = json.dumps(document)
    good = Reply("gpu-001", f"Welcome to {{site}}!\n{text}\n", "", 0.5, 7.0)
    assert read_reply(good) == Told("gpu-001", document, "", 0.5, 7.0)
    assert read_reply(replace(good, reason="refused", text="")).reason == "refused"


@pytest.mark.parametrize(
    "change",
    [
        lambda facts: facts.pop("format"),
        put("format", "gpuyard-host-facts-9"),
        lambda facts: facts.pop("hostname"),
        put("hostname", None),
        put("ports", {}),
        put("ports/0", "eth0"),
        lambda facts: facts["ports"][0].pop("mac"),
        lambda facts: facts["gpus"][0].pop("power.limit"),
        put("clock", []),
        put("limits", None),
        put("rules/0", 5),
    ],
)
def test_documents_of_another_form_are_no_facts(lab, change):
    document = copy.deepcopy(describe(lab, lab.servers[0]))
    change(document)
    assert read_reply(Reply("gpu-001", json.dumps(document), "", 0.5)).reason == "what it printed are no facts"


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", "null", "\x00\xff", "{" * 100_000, "This account is not available.\n"])
def test_rubbish_is_no_facts(text):
    assert read_reply(Reply("gpu-001", text, "", 0.5)).reason == "what it printed are no facts"


def test_what_was_told_is_saved_and_read_back(lab):
    told = {**tell(lab), "gpu-003": Told("gpu-003", reason="no answer in time", seconds=70)}
    assert load_told(dump_told(told)) == told


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it is no JSON"),
        ("[" * 100_000, "it is no JSON"),
        ("[]", "a member for each host"),
        ('{"gpu-001": {"facts": {}}}', "gpu-001: expected facts, reason, seconds, at"),
        ('{"gpu-001": {"facts": {}, "reason": "", "seconds": 1, "at": 2}}', "gpu-001: these are no facts of the form gpuyard-"),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path, capsys, text, words):
    (tmp_path / "told.json").write_text(text)
    assert run(["verify", "hosts", str(ROOT / "inventory/lab"), "--observed", str(tmp_path / "told.json")]) == 2
    assert words in capsys.readouterr().err


def test_the_command_gives_each_host_a_verdict(lab, tmp_path, capsys):
    told = {**tell(lab, gpu_002=FAULTS["HST006"]), "gpu-003": Told("gpu-003", reason="no answer in time", seconds=70)}
    file = tmp_path / "told.json"
    file.write_text(dump_told(told))
    arguments = ["verify", "hosts", str(ROOT / "inventory/lab"), "--observed", str(file)]
    assert run([*arguments, "--format", "json"]) == 3
    said = json.loads(capsys.readouterr().out)
    assert said["verdicts"] == {"as planned": 12, "differs": 1, "not reached": 1}
    row = next(row for row in said["hosts"] if row["name"] == "gpu-002")
    assert (row["verdict"], [finding["id"] for finding in row["findings"]]) == ("differs", ["HST006"])
    assert row["findings"][0]["file"].endswith("cluster.yml")
    assert row["findings"][0]["line"] > 0
    assert run([*arguments, "--limit", "gpu-001", "--limit", "gpu-002"]) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[:3] == [
        "host     verdict     gpus  driver     what",
        "gpu-001  as planned  8     580.95.05",
        "gpu-002  differs     8     580.95.05  HST006",
    ]
    assert out.endswith("\n\n1 as planned, 1 differs.\ngpuyard explain ID tells more.\n")
    assert "\ngpu-002\n  HST006 error: enp24s0np0 is slow\n    planned 400 Gb/s\n    found   100 Gb/s\n    do      look at" in out
    assert run([*arguments, "--limit", "gpu-001"]) == 0
    assert run([*arguments, "--limit", "gpu-999"]) == 2
    assert "no server is meant by gpu-999" in capsys.readouterr().err
    file.write_text(dump_told({"gpu-999": told["gpu-001"]}))
    assert run(arguments) == 2
    assert "not in this plan: gpu-999" in capsys.readouterr().err


class Box:
    """A folder that stands for a host's root, and programs that stand for its own. A double."""

    def __init__(self, folder):
        self.root, self.bin = folder / "root", folder / "bin"
        self.root.mkdir()
        self.bin.mkdir()
        self.environment = {"GPUYARD_PROBE_ROOT": str(self.root), "PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(folder)}

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def program(self, name, text):
        file = self.bin / name
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)

    def port(self, name, pci, **files):
        device = self.root / "sys/devices" / pci
        for path, text in {"numa_node": "1", "max_link_speed": "32.0 GT/s PCIe", "max_link_width": "16"}.items():
            self.write(f"sys/devices/{pci}/{path}", text)
        self.write(f"sys/devices/{pci}/current_link_speed", "16.0 GT/s PCIe")
        self.write(f"sys/devices/{pci}/current_link_width", "8")
        (device / "infiniband/mlx5_4").mkdir(parents=True)
        (self.root / "sys/bus/pci/drivers/mlx5_core").mkdir(parents=True)
        (device / "driver").symlink_to(self.root / "sys/bus/pci/drivers/mlx5_core")
        for path, text in files.items():
            self.write(f"sys/class/net/{name}/{path.replace('__', '/')}", text)
        (self.root / f"sys/class/net/{name}/device").symlink_to(device)

    def ask(self):
        script = (ROOT / "templates/hosts/probe.py").read_text()
        done = subprocess.run(
            [sys.executable, "-"],
            input=script,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=stretch(120),
        )
        assert (done.returncode, done.stderr) == (0, "")
        (line,) = done.stdout.splitlines()
        return json.loads(line)


@pytest.fixture
def box(tmp_path):
    return Box(tmp_path)


def test_the_script_is_for_old_pythons_too():
    ast.parse((ROOT / "templates/hosts/probe.py").read_text(), feature_version=(3, 6))


def test_the_script_on_a_host_with_nothing(box):
    for name in ("ip", "chronyc", "timedatectl", "systemctl", "sudo", "ethtool", "nvidia-smi"):
        box.program(name, "exit 1")
    before = time.time()
    facts = box.ask()
    assert (facts["ports"], facts["gpus"], facts["routes"], facts["serial"], facts["limits"]) == ([], [], [], "", {})
    assert facts["clock"]["synced"] is False
    assert before <= facts["clock"]["now"] <= time.time()
    assert read_reply(Reply("x", json.dumps(facts), "", 0.1)).reached


def test_the_script_survives_programs_that_print_rubbish(box):
    for name in ("ip", "chronyc", "timedatectl", "systemctl", "sudo", "ethtool", "nvidia-smi"):
        box.program(name, "echo 'a,b,c,d,nan,,,,,,,,,Normal'; printf '\\377\\n'")
    assert read_reply(Reply("x", json.dumps(box.ask()), "", 0.1)).reached


def test_the_script_reads_ports(box):
    box.port(
        "enp24s0np0",
        "0000:18:00.0",
        address="02:00:5E:00:00:99",
        bonding_slave__perm_hwaddr="02:00:5E:00:00:08",
        operstate="up",
        speed="400000",
        mtu="9000",
    )
    (box.root / "sys/class/net/bond0").mkdir()
    (box.root / "sys/class/net/enp24s0np0/master").symlink_to(box.root / "sys/class/net/bond0")
    (box.root / "sys/class/net/veth12").mkdir()
    box.write("sys/class/net/bonding_masters", "bond0")
    box.program("ethtool", 'test "$2" = enp24s0np0 && echo "firmware-version: 28.43.2026 (MT_0000000838)"')
    bond, port = box.ask()["ports"]
    assert (bond["name"], bond["up"], bond["speed_mbps"], bond["firmware"]) == ("bond0", False, -1, "")
    assert port == {
        "name": "enp24s0np0",
        "mac": "02:00:5e:00:00:08",
        "bond": "bond0",
        "up": True,
        "speed_mbps": 400_000,
        "mtu_bytes": 9000,
        "pci": "0000:18:00.0",
        "numa": 1,
        "pcie": "16.0 GT/s PCIe x8",
        "pcie_max": "32.0 GT/s PCIe x16",
        "driver": "mlx5_core",
        "firmware": "28.43.2026",
        "rdma": ["mlx5_4"],
    }


@pytest.mark.parametrize(("state", "up"), [("4: ACTIVE", True), ("1: DOWN", False)])
def test_an_infiniband_port_has_its_link_without_ip(box, state, up):
    box.port("ibp24s0", "0000:18:00.0", operstate="down", type="32", mtu="2044")
    box.write("sys/devices/0000:18:00.0/infiniband/mlx5_4/ports/1/state", state)
    (port,) = box.ask()["ports"]
    assert port["up"] is up


def test_the_script_reads_the_system(box):
    box.write("etc/os-release", 'NAME="Debian"\nID=debian\nVERSION_ID="12"\n')
    box.write("sys/class/dmi/id/product_serial", "LAB00001\n")
    box.write("sys/class/dmi/id/product_name", "DGXH100\n")
    box.write(
        "proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\nGCC x\n"
    )
    box.program("systemctl", "printf 'DefaultLimitMEMLOCK=infinity\\nDefaultLimitNOFILE=524288\\n'")
    box.program("timedatectl", "echo no")
    box.program("chronyc", "echo 0A4C4001,10.76.64.1,3,1700000000.1,-0.000012345,0.1,0.1,1.2,0.0,0.1,0.001,0.002,64.1,Normal")
    facts = box.ask()
    assert facts["os"] == {"ID": "debian", "VERSION_ID": "12"}
    assert (facts["serial"], facts["model"], facts["nvidia_module"]) == ("LAB00001", "DGXH100", "580.95.05")
    assert facts["limits"] == {"DefaultLimitMEMLOCK": "infinity", "DefaultLimitNOFILE": "524288"}
    assert (facts["clock"]["synced"], facts["clock"]["offset_s"]) == (True, -0.000012345)


def test_the_script_reads_gpus_from_the_double_of_nvidia_smi(box, tmp_path):
    kept, share = tmp_path / "kept", tmp_path / "share"
    for folder in (kept, share, tmp_path / "run"):
        folder.mkdir()
    (share / "nvidia-driver-cuda.version").write_text("580.95.05\n")
    loaded = {"version": "580.95.05", "flavour": "open"}
    (tmp_path / "run/gpu.json").write_text(json.dumps({"loaded": loaded, "nodes": True}))
    module = DOUBLES / "gpuyard-double-gpu"
    places = {"GPUYARD_DOUBLE_KEPT": kept, "GPUYARD_DOUBLE_VOLATILE": tmp_path / "run", "GPUYARD_DOUBLE_SHARE": share}
    box.environment |= {name: str(path) for name, path in places.items()} | {"PYTHONPATH": str(module)}
    box.program("nvidia-smi", f'exec {sys.executable} {DOUBLES / "nvidia-driver-cuda/nvidia-smi"} "$@"')
    box.write("sys/bus/pci/devices/0000:2a:00.0/numa_node", "1")
    gpus = box.ask()["gpus"]
    assert [gpu["index"] for gpu in gpus] == [str(n) for n in range(8)]
    assert (gpus[1]["pci"], gpus[1]["numa"], gpus[0]["numa"]) == ("0000:2a:00.0", 1, -1)
    assert (gpus[0]["driver_version"], gpus[0]["power.limit"]) == ("580.95.05", "700.00")
    # One GPU falls off the bus: nvidia-smi fails, and tells of the others all the same.
    state = subprocess.run(
        [sys.executable, "-c", "import json, gpuyard_double_gpu as d; print(json.dumps(d.make_gpus('h100-sxm', 8)))"],
        env={"PYTHONPATH": str(module)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    fallen = json.loads(state)
    fallen["gpus"][3]["fallen"] = "GPU is lost. Reboot the system to recover this GPU"
    (kept / "gpus.json").write_text(json.dumps(fallen))
    assert [gpu["index"] for gpu in box.ask()["gpus"]] == ["0", "1", "2", "4", "5", "6", "7"]


@pytest.mark.usefixtures("machine_tier")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make a network namespace")
def test_the_script_reads_rules_and_tables_as_iproute2_tells_them(box, lab, catalogue):
    """Rails of a planned server in a namespace of the kernel, read by the kernel's own tools."""
    server = lab.servers[0]
    rails, name = [port for port in server.ports if port.table][:2], f"hst{os.getpid()}"

    def ip(*words):
        subprocess.run(["ip", "-n", name, *words], check=True, timeout=stretch(60))

    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        for port in rails:
            ip("link", "add", "name", port.name, "type", "veth", "peer", "name", f"p{port.rail}")
            ip("link", "set", f"p{port.rail}", "up")
            ip("link", "set", port.name, "up")
            ip("address", "add", port.address, "dev", port.name)
            ip("route", "add", port.route, "via", port.gateway, "dev", port.name, "table", str(port.table))
        ip("rule", "add", "from", f"{rails[0].address.partition('/')[0]}/32", "table", str(rails[0].table))
        box.program("nsip", f'exec /usr/bin/env -i /sbin/ip -n {name} "$@"')
        (box.bin / "nsip").rename(box.bin / "ip")
        told = box.ask()
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)
    document = describe(lab, server) | {key: told[key] for key in ("addresses", "routes", "rules")}
    found = compare_hosts(lab, catalogue, {server.name: Told(server.name, document, "", 1.0, 1001.0)})[server.name]
    missing = {port.address for port in server.ports if port.address} - {port.address for port in rails}
    missing |= {service.address for service in server.services}
    assert {f.expected for f in found if f.id == "HST011"} == missing
    assert [(f.id, f.actual) for f in found if f.id != "HST011"] == [("HST012", "no rule")]
    assert rails[1].name in next(f.summary for f in found if f.id == "HST012")
