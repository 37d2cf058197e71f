"""What NVIDIA's tools printed on a machine with an H200, read by our own: survey, power, probe, `verify hosts` and roles."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from recorded_smi import COMMANDS, RECORDED, ROOT, Playback, said

from cluster_model.catalogue.load import load_catalogue
from cluster_model.pipeline import inspect
from cluster_model.transport.sweep import Reply
from cluster_model.verify.hosts.compare import Told, compare_hosts, read_reply
from tests.programs import load_program
from tests.slowness import stretch

POLICY = {"count": 1, "cap_w": 500, "cap_feed_lost_w": 400, "on_feed_loss": "cap", "timezone": "UTC", "schedule": []}
UUID = "GPU-00112233-4455-6677-8899-aabbccddeeff"
SERIAL = "1650000000001"
PROGRAMS = {
    "fields-survey": "roles/nvidia_driver/files/survey.py",
    "fields-power": "roles/gpu_power/files/gpuyard_gpu_power.py",
    "fields-probe": "templates/hosts/probe.py",
}
"""What each program asks nvidia-smi for, by the name under which that was recorded."""


def load(path):
    """Return a program as a module."""
    return load_program(ROOT / path)


@pytest.fixture
def make_playback(tmp_path, monkeypatch):
    """Return a function that puts a playback first on the path; none may be asked what was not recorded."""
    made = []

    def make(**options):
        made.append(Playback(tmp_path / f"smi{len(made)}", **options))
        monkeypatch.setenv("PATH", f"{made[-1].folder}:{os.environ['PATH']}")
        return made[-1]

    yield make
    assert [playback.refused for playback in made if playback.refused] == []


@pytest.fixture
def power(tmp_path, monkeypatch):
    """Load the program of role gpu_power with files of its own."""
    module = load(PROGRAMS["fields-power"])
    monkeypatch.setattr(module, "POLICY", tmp_path / "gpu-power.json")
    monkeypatch.setattr(module, "STATE", tmp_path / "state/gpu-power-feed-lost")
    monkeypatch.delenv("JOURNAL_STREAM", raising=False)
    return module


def cap(power, *arguments, **policy):
    power.POLICY.write_text(json.dumps(POLICY | policy))
    return power.main([*arguments])


# --- The record and its playback


def test_every_output_has_its_command():
    names = {name for key, row in COMMANDS.items() for name in (key, row.get("busy")) if name}
    assert {path.stem for path in RECORDED.glob("*.out")} == names
    assert {path.stem for path in RECORDED.glob("*.err")} <= names


def test_the_playback_answers_nothing_but_what_was_recorded(tmp_path):
    playback = Playback(tmp_path / "smi")

    def ask(*words):
        done = subprocess.run([playback.folder / "nvidia-smi", *words], capture_output=True, text=True, check=False)
        return done.stdout, done.stderr, done.returncode

    assert ask("-L") == said("list")
    assert ask("--query-gpu=index,nonsense", "--format=csv,noheader") == said("no-such-field")
    assert playback.refused == ""
    out, err, code = ask("-pl", "500")
    assert (out, code) == ("", 1)
    assert "nobody recorded `nvidia-smi -pl 500`" in err
    assert playback.refused == "-pl 500\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_asks_for_what_the_driver_knows_and_what_was_recorded(name):
    fields = load(PROGRAMS[name]).FIELDS
    known = {word.strip('"') for line in said("field-names").out.splitlines() for word in line.split(" or ")}
    assert set(fields.split(",")) <= known
    assert COMMANDS[name]["command"] == f"nvidia-smi --query-gpu={fields} --format=csv,noheader,nounits"


# --- survey.py


@pytest.mark.parametrize(("busy", "processes"), [(False, []), (True, [{"pid": 561, "name": "python3"}])])
def test_the_survey_reads_the_gpu_its_processes_and_its_fabric(make_playback, busy, processes):
    make_playback(busy=busy)
    smi, found, fabric = load(PROGRAMS["fields-survey"]).read_smi("580.159.04")
    gpu = {
        "index": "0",
        "name": "NVIDIA H200",
        "uuid": UUID,
        "serial": SERIAL,
        "pci_bus_id": "00000000:00:06.0",
        "driver_version": "580.159.04",
        "persistence_mode": "Enabled",
        "ecc_mode_current": "Enabled",
        "pcie_link_gen_current": "5",
        "pcie_link_width_current": "16",
    }
    assert smi == {"rc": 0, "lines": [gpu], "text": ""}
    assert found == processes
    assert fabric == [{"bus": "00000000:00:06.0", "state": "N/A", "status": "N/A"}]


def test_the_survey_reads_the_version_of_the_loaded_module(monkeypatch):
    survey = load(PROGRAMS["fields-survey"])
    files = {"/proc/driver/nvidia/version": said("module").out}
    monkeypatch.setattr(survey, "read", lambda path: files.get(str(path), ""))
    assert survey.read_loaded() == "580.159.04"


# --- gpuyard-gpu-power


def test_power_limits_are_read(power, make_playback):
    make_playback()
    assert power.query() == ([power.Gpu(0, True, 700.0, 700.0, 200.0, 700.0)], "")
    assert power.find_gpus(1)[1] == {}


def test_a_limit_that_differs_is_told_and_would_be_set(power, make_playback, capsys, tmp_path):
    make_playback()
    assert cap(power, "check", "--textfile", str(tmp_path / "gpu.prom")) == 1
    assert capsys.readouterr().err == "GPU 0 is at 700 W, expected 500 W; run: gpuyard-gpu-power apply\n"
    lines = (tmp_path / "gpu.prom").read_text().splitlines()
    assert {'gpuyard_gpu_power_limit_watts{gpu="0"} 700', "gpuyard_gpu_power_answering_gpus 1"} <= set(lines)
    assert cap(power, "apply", "--dry-run") == 0
    assert capsys.readouterr().out == "would set GPU 0 from 700 to 500 W: cap at all times\n"
    assert cap(power, "check", cap_w=0) == 0


def test_a_limit_out_of_range_is_refused_by_what_the_gpu_takes(power, make_playback, capsys):
    make_playback()
    assert cap(power, "apply", "--dry-run", cap_w=150, cap_feed_lost_w=0) == 2
    assert "GPU 0 takes 200 to 700 W" in capsys.readouterr().err


def test_a_gpu_that_is_not_there_is_told_with_what_nvidia_smi_says(power, make_playback, capsys):
    """Exit code 6 and one line on standard output, recorded with -i 7 and a single field."""
    playback = make_playback()
    playback.also(f"-i 1 --query-gpu={power.FIELDS} --format=csv,noheader,nounits", "no-such-index")
    assert cap(power, "check", cap_w=700, count=2) == 3
    assert capsys.readouterr().err == "GPU 1 does not answer: No devices were found\n"


# --- probe.py and verify hosts


@pytest.fixture
def probed(make_playback, tmp_path, monkeypatch):
    """Return the document of the script, run as it is on a host, beside the playback and the module's own file."""
    make_playback()
    root = tmp_path / "root"
    for path, text in {
        "proc/driver/nvidia/version": said("module").out,
        "sys/bus/pci/devices/0000:00:06.0/numa_node": "-1\n",
    }.items():
        (root / path).parent.mkdir(parents=True)
        (root / path).write_text(text)
    for name in ("ip", "chronyc", "timedatectl", "systemctl", "sudo", "ethtool"):
        (tmp_path / "smi0" / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / "smi0" / name).chmod(0o755)
    monkeypatch.setenv("GPUYARD_PROBE_ROOT", str(root))
    script = (ROOT / PROGRAMS["fields-probe"]).read_text()
    done = subprocess.run([sys.executable, "-"], input=script, capture_output=True, text=True, check=False, timeout=stretch(120))
    assert (done.returncode, done.stderr) == (0, "")
    told = read_reply(Reply("gpu-001", done.stdout, "", 0.5, 7.0))
    assert told.reached
    return told.facts


def test_the_probe_reads_the_gpu(probed):
    assert probed["nvidia_module"] == "580.159.04"
    assert probed["gpus"] == [
        {
            "index": "0",
            "name": "NVIDIA H200",
            "serial": SERIAL,
            "pci.bus_id": "00000000:00:06.0",
            "driver_version": "580.159.04",
            "persistence_mode": "Enabled",
            "power.limit": "700.00",
            "power.default_limit": "700.00",
            "pcie.link.gen.current": "5",
            "pcie.link.gen.max": "5",
            "pcie.link.width.current": "16",
            "pcie.link.width.max": "16",
            "pci": "0000:00:06.0",
            "numa": -1,
        }
    ]


@pytest.mark.parametrize(
    ("planned", "found"),
    [
        ({}, []),
        ({"gpu_cap_w": 600}, [("HST015", "600 W", "700 W")]),
        ({"gpus": 8}, [("HST013", "8", "1")]),
        ({"gpu_model": "nvidia/h100-sxm"}, [("HST013", "nvidia/h100-sxm", "NVIDIA H200")]),
        ({"gpu_model": "nvidia/h200-sxm", "gpus": 0}, [("HST013", "0", "1")]),
    ],
)
def test_what_verify_hosts_makes_of_the_gpu(probed, planned, found):
    catalogue = load_catalogue()[0]
    plan = inspect(ROOT / "inventory/lab").plan
    server = replace(plan.servers[0], **({"gpu_model": "nvidia/h200-sxm", "gpus": 1, "gpu_cap_w": 0} | planned))
    plan = replace(plan, servers=(server, *plan.servers[1:]))
    told = {server.name: Told(server.name, probed, "", 0.5, 7.0)}
    findings = compare_hosts(plan, catalogue, told)[server.name]
    of_gpus = [f for f in findings if f.id in ("HST013", "HST014", "HST015") or f.summary.startswith("GPU ")]
    assert [(f.id, f.expected, f.actual) for f in of_gpus] == found


def test_the_catalogue_has_the_h200_as_it_is():
    gpu = load_catalogue()[0].gpus["nvidia/h200-sxm"]
    _, _, limit, default, low, high = said("fields-power").out.split(", ")
    assert (gpu.power_min_w, gpu.power_max_w) == (float(low), float(high))
    assert float(limit) == float(default) == gpu.power_max_w
    mib = int(said("fields-units").out.splitlines()[1].split(", ")[1].removesuffix(" MiB"))
    assert gpu.memory_gb - 1 < mib / 1024 < gpu.memory_gb


# --- Tasks of roles


def run_tasks(folder, role, file, hosts, **variables):
    """Run a role's file of tasks for hosts with variables of their own; return what Ansible says of each."""
    play = {
        "hosts": "all",
        "connection": "local",
        "gather_facts": False,
        "vars": {"ansible_python_interpreter": sys.executable} | variables,
        "environment": {"PATH": "{{ path }}"},
        "tasks": [{"ansible.builtin.include_tasks": str(ROOT / "roles" / role / "tasks" / file)}],
    }
    (folder / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}))
    (folder / "play.yml").write_text(json.dumps([play]))
    environment = {**os.environ, "ANSIBLE_CONFIG": str(folder / "none.cfg"), "ANSIBLE_HOME": str(folder / "home")}
    program = Path(sys.executable).parent / "ansible-playbook"
    command = [program, "-i", folder / "hosts.json", folder / "play.yml"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=stretch(300))
    last = done.stdout.rpartition("\nTASK [Compare ")[2].partition("\nPLAY RECAP")[0]
    return dict(re.findall(r"(?s)(?:ok|fatal): \[(\S+)\].*?\"msg\": (\".*?\")\n", last))


def join(text):
    """Let the GPU have joined a fabric, which the machine did not have."""
    for label, state in {"State": "Completed", "Status": "Success"}.items():
        text = text.replace(f"        {label:47}: N/A\n", f"        {label:47}: {state}\n")
    return text


def test_fabric_manager_reads_the_state_of_the_fabric(tmp_path):
    """`Route Recovery in progress`, of the fabric's health, is no fabric in progress: nobody waits for it."""
    changes = {"recorded": str, "joined": join, "silent": lambda text: text.replace("    Fabric\n", "    Elsewhere\n")}
    hosts = {}
    for name, change in changes.items():
        playback = Playback(tmp_path / name)
        playback.change(change)
        (playback.folder / "systemctl").write_text("#!/bin/sh\necho active\n")
        (playback.folder / "systemctl").chmod(0o755)
        hosts[name] = {"path": f"{playback.folder}:/usr/bin:/bin"}
    told = run_tasks(tmp_path, "fabric_manager", "fabric.yml", hosts, __fabric_manager_silent=False)
    assert told["joined"] == '"1 GPUs: fabric Completed"'
    assert told["recorded"].startswith('"fabric: 00000000:00:06.0 N/A N/A; expected Completed and Success on every GPU; fix: ')
    assert told["silent"].startswith('"fabric: nvidia-smi shows none; expected Completed and Success on every GPU; fix: ')


def test_nvidia_driver_compares_what_the_survey_read(tmp_path, make_playback):
    make_playback()
    smi, processes, fabric = load(PROGRAMS["fields-survey"]).read_smi("580.159.04")
    survey = yaml.safe_load((ROOT / "tests/roles/driver_choices.yml").read_text())["common"]
    survey |= {"loaded": "580.159.04", "modules": {survey["kernel"]: "580.159.04"}, "nvswitches": 0}
    survey |= {"smi": smi, "processes": processes, "fabric": fabric}
    buses = {"all-there": ["0000:00:06.0"], "one-silent": ["0000:00:06.0", "0000:00:07.0"]}
    hosts = {
        name: {
            "path": "/usr/bin:/bin",
            "nvidia_driver_survey": survey | {"gpus": [{"bus": bus, "device": "2335"} for bus in found]},
            "gpuyard_gpu": {"count": len(found), "vendor": "nvidia", "generation": "hopper"},
        }
        for name, found in buses.items()
    }
    files = [ROOT / "roles/nvidia_driver" / kind / "main.yml" for kind in ("defaults", "vars")]
    variables = {name: value for file in files for name, value in yaml.safe_load(file.read_text()).items()}
    told = run_tasks(tmp_path, "nvidia_driver", "compare.yml", hosts, **variables, versions_driver="580.159.04")
    assert told["all-there"] == '"1 GPUs with driver 580.159.04"'
    assert told["one-silent"].startswith('"GPUs: 1 answer; expected 2; silent: 0000:00:07.0; fix: ')
