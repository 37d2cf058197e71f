"""The program of role gpu_power against the double of nvidia-smi: limits, the schedule, lost feeds, missing GPUs, drift."""

import json
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import get_args

import pytest
import yaml

from cluster_model.intent.model.policy import GpuPower
from tests.programs import load_program

ROOT = Path(__file__).parents[3]
DOUBLES = ROOT / "tests/roles/repository/packages"
PROGRAM = ROOT / "roles/gpu_power/files/gpuyard_gpu_power.py"
POLICY = {"count": 4, "cap_w": 0, "cap_feed_lost_w": 474, "on_feed_loss": "cap", "timezone": "UTC", "schedule": []}
EVENING = {"name": "evening", "from": "17:00", "to": "22:00", "days": [], "watts": 500}
NIGHT = {"name": "night", "from": "22:00", "to": "06:00", "days": ["fri"], "watts": 300}


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Load the program as a module with files of its own."""
    module = load_program(PROGRAM)
    monkeypatch.setattr(module, "POLICY", tmp_path / "gpu-power.json")
    monkeypatch.setattr(module, "STATE", tmp_path / "state/gpu-power-feed-lost")
    monkeypatch.delenv("JOURNAL_STREAM", raising=False)
    return module


@pytest.fixture
def program(module, tmp_path, monkeypatch):
    """Give the program four H100s whose driver is loaded and stays loaded."""
    share, binaries = tmp_path / "share", tmp_path / "bin"
    share.mkdir()
    binaries.mkdir()
    (share / "nvidia-driver-cuda.version").write_text("580.95.05\n")
    smi = binaries / "nvidia-smi"
    smi.write_text(f'#!/bin/sh\nexec {sys.executable} -S {DOUBLES}/nvidia-driver-cuda/nvidia-smi "$@"\n')
    smi.chmod(0o755)
    for name, value in (("KEPT", tmp_path / "kept"), ("VOLATILE", tmp_path / "volatile"), ("SHARE", share)):
        monkeypatch.setenv(f"GPUYARD_DOUBLE_{name}", str(value))
    monkeypatch.setenv("PYTHONPATH", str(DOUBLES / "gpuyard-double-gpu"))
    monkeypatch.setenv("PATH", f"{binaries}:{os.environ['PATH']}")
    double("gpus", "h100-sxm", "4")
    (tmp_path / "volatile").mkdir(exist_ok=True)
    loaded = {"version": "580.95.05", "flavour": "open"}
    (tmp_path / "volatile/gpu.json").write_text(json.dumps({"loaded": loaded, "nodes": True}))
    assert subprocess.run(["nvidia-smi", "-pm", "1"], check=False, capture_output=True).returncode == 0
    return module


def double(*arguments):
    subprocess.run([sys.executable, "-S", DOUBLES / "gpuyard-double-gpu/gpuyard-double-gpu", *arguments], check=True)


def limits(*which):
    command = ["nvidia-smi", *which, "--query-gpu=power.limit", "--format=csv,noheader,nounits"]
    asked = subprocess.run(command, check=False, capture_output=True, text=True)
    return [float(line) if line[0].isdigit() else None for line in asked.stdout.splitlines()]


def run(program, *arguments, **policy):
    program.POLICY.write_text(json.dumps(POLICY | policy))
    return program.main([*arguments])


def at(text):
    return datetime.fromisoformat(text)


def test_a_cap_is_set_and_a_second_run_sets_nothing(program, capsys):
    assert run(program, "apply", cap_w=500) == 0
    assert limits() == [500.0] * 4
    assert capsys.readouterr().out.splitlines()[0] == "set GPU 0 from 700 to 500 W: cap at all times"
    assert run(program, "apply", cap_w=500) == 0
    assert capsys.readouterr().out == ""


def test_no_cap_is_the_default_of_the_gpu(program):
    run(program, "apply", cap_w=500)
    assert run(program, "apply") == 0
    assert limits() == [700.0] * 4


def test_a_dry_run_says_what_it_would_set_and_sets_nothing(program, capsys):
    assert run(program, "apply", "--dry-run", cap_w=500) == 0
    assert capsys.readouterr().out.count("would set GPU") == 4
    assert limits() == [700.0] * 4
    assert not program.STATE.parent.exists()


@pytest.mark.parametrize(
    "policy",
    [{"cap_w": 100}, {"cap_w": 500, "cap_feed_lost_w": 150}, {"cap_w": 500, "schedule": [EVENING | {"watts": 900}]}],
)
def test_a_value_out_of_range_is_refused_before_anything_changes(program, capsys, policy):
    assert run(program, "apply", **policy) == 2
    said = capsys.readouterr().err
    assert said.count("GPU 0 takes 200 to 700 W") == 1
    assert said.splitlines()[-1] == "nothing was changed; set a value in that range"
    assert limits() == [700.0] * 4


def test_a_lost_feed_caps_until_it_is_back(program):
    assert run(program, "feed", "lost") == 0
    assert limits() == [474.0] * 4
    assert run(program, "apply") == 0, "as after a boot: what was lost is still lost"
    assert limits() == [474.0] * 4
    assert run(program, "feed", "back") == 0
    assert run(program, "feed", "back") == 0
    assert limits() == [700.0] * 4


def test_the_folder_of_what_was_told_is_for_all_whatever_the_umask(program, tmp_path):
    text = PROGRAM.read_text()
    for name in ("POLICY", "STATE"):
        text = text.replace(f'{name} = Path("', f'{name} = Path("{tmp_path}')
    (tmp_path / "etc/gpuyard").mkdir(parents=True)
    (tmp_path / "etc/gpuyard/gpu-power.json").write_text(json.dumps(POLICY))
    told = subprocess.run([sys.executable, "-", "feed", "lost"], input=text, text=True, umask=0o077, check=False)
    assert told.returncode == 0
    assert (tmp_path / "var/lib/gpuyard/gpu-power-feed-lost").exists()
    assert (tmp_path / "var/lib/gpuyard").stat().st_mode & 0o777 == 0o755


def test_what_a_lost_feed_does_is_policy(program):
    assert run(program, "feed", "lost", on_feed_loss="shed") == 0
    assert limits() == [700.0] * 4
    run(program, "feed", "back")
    assert run(program, "apply", on_feed_loss="always-cap") == 0
    assert limits() == [474.0] * 4
    assert run(program, "feed", "lost", cap_w=400) == 0
    assert limits() == [400.0] * 4, "the lowest wins"


@pytest.mark.parametrize("how", ["Unknown Error", "GPU is lost. Reboot the system to recover this GPU"])
def test_a_missing_gpu_does_not_stop_the_others(program, capsys, how):
    double("fall", "3", "--how", how)
    assert run(program, "apply", cap_w=500) == 3
    assert limits() == [500.0, 500.0, 500.0, None]
    assert capsys.readouterr().err.startswith("GPU 3 is not at its limit: ")
    assert run(program, "check", cap_w=500) == 3


def test_a_gpu_that_is_gone_after_a_boot_is_missing(program, capsys):
    double("gpus", "h100-sxm", "3")
    assert run(program, "apply", cap_w=500) == 3
    assert limits() == [500.0] * 3
    assert "GPU 3 is not at its limit" in capsys.readouterr().err


def test_one_lost_gpu_can_silence_a_query_for_all(program, tmp_path):
    """The real nvidia-smi may name the lost GPU and nobody else; each is then asked alone."""
    smi = tmp_path / "bin/nvidia-smi"
    smi.write_text(
        smi.read_text().replace(
            "exec", 'case "$1" in --query-gpu=*) echo "Unable to determine the device handle for GPU3"; exit 255;; esac\nexec', 1
        )
    )
    double("fall", "3")
    assert run(program, "apply", cap_w=500) == 3
    assert [limits("-i", str(number)) for number in (0, 2)] == [[500.0], [500.0]]


def test_a_limit_that_did_not_take_is_said(program, capsys):
    """Without persistence mode the driver forgets at once, though nvidia-smi ends with 0."""
    subprocess.run(["nvidia-smi", "-i", "2", "-pm", "0"], check=True, capture_output=True)
    assert run(program, "apply", cap_w=500) == 3
    said = capsys.readouterr().err
    assert "GPU 2 is not at its limit" in said and "persistence mode is disabled" in said
    assert limits().count(500.0) == 3


def test_no_driver_is_said_and_nothing_is_done(program, capsys, tmp_path):
    (tmp_path / "bin/nvidia-smi").unlink()
    assert run(program, "apply", cap_w=500) == 2
    assert capsys.readouterr().err == "nvidia-smi: not found; install the driver first (role nvidia_driver)\n"


def test_drift_is_reported_and_not_touched(program, capsys, tmp_path):
    run(program, "apply", cap_w=500)
    assert run(program, "check", cap_w=500) == 0
    subprocess.run(["nvidia-smi", "-i", "1", "-pl", "650"], check=True, capture_output=True)
    capsys.readouterr()
    metrics = tmp_path / "textfile/gpu.prom"
    assert run(program, "check", "--textfile", str(metrics), cap_w=500) == 1
    assert capsys.readouterr().err == "GPU 1 is at 650 W, expected 500 W; run: gpuyard-gpu-power apply\n"
    assert limits()[1] == 650.0
    lines = metrics.read_text().splitlines()
    assert 'gpuyard_gpu_power_limit_watts{gpu="1"} 650' in lines
    assert 'gpuyard_gpu_power_expected_watts{gpu="1"} 500' in lines
    assert {"gpuyard_gpu_power_answering_gpus 4", "gpuyard_gpu_power_expected_gpus 4", "gpuyard_gpu_power_feed_lost 0"} <= set(
        lines
    )
    assert all(line.startswith("# TYPE ") or len(line.split()) == 2 for line in lines)
    assert [entry.name for entry in metrics.parent.iterdir()] == ["gpu.prom"]


def test_under_systemd_an_error_has_its_priority(program, capsys, monkeypatch):
    monkeypatch.setenv("JOURNAL_STREAM", "8:1")
    double("fall", "1")
    run(program, "check")
    assert capsys.readouterr().err.startswith("<3>GPU 1 does not answer: ")


@pytest.mark.parametrize(
    ("now", "watts"),
    [
        ("2026-11-20T16:59:59+00:00", 0),
        ("2026-11-20T17:00:00+00:00", 500),
        ("2026-11-20T21:59:59+00:00", 500),
        ("2026-11-20T22:00:00+00:00", 300),  # Friday night begins
        ("2026-11-21T05:59:59+00:00", 300),  # and lasts into Saturday
        ("2026-11-21T06:00:00+00:00", 0),
        ("2026-11-21T23:00:00+00:00", 0),  # no Saturday night
        ("2026-11-20T05:00:00+00:00", 0),  # Friday's small hours are Thursday night
        ("2026-11-20T18:30:00+01:00", 500),  # 17:30 UTC
    ],
)
def test_windows_of_the_schedule(module, now, watts):
    policy = POLICY | {"schedule": [EVENING, NIGHT]}
    assert module.find_limit(policy, at(now), False)[0] == watts


def test_a_window_lies_in_the_sites_time_zone(module):
    policy = POLICY | {"schedule": [EVENING], "timezone": "Asia/Shanghai"}
    assert module.find_limit(policy, at("2026-11-20T09:00:00+00:00"), False) == (500, "schedule evening")
    assert module.find_limit(policy, at("2026-11-20T17:00:00+00:00"), False)[0] == 0


def test_the_lowest_of_cap_schedule_and_feed_holds(module):
    policy = POLICY | {"cap_w": 600, "schedule": [EVENING]}
    evening = at("2026-11-20T18:00:00+00:00")
    assert module.find_limit(policy, evening, False) == (500, "schedule evening")
    assert module.find_limit(policy, evening, True) == (474, "a power feed is lost")
    assert module.find_limit(policy | {"cap_w": 400}, evening, True) == (400, "cap at all times")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"timezone": "Mars/Olympus"}, "timezone: Mars/Olympus"),
        ({"schedule": [EVENING | {"from": "25:00"}]}, "schedule evening: from 25:00; expected HH:MM"),
        ({"schedule": [EVENING | {"days": ["friday"]}]}, "schedule evening: day friday"),
        ({"schedule": [{}]}, "not a policy"),
    ],
)
def test_a_policy_that_cannot_be_is_refused(module, capsys, change, said):
    assert run(module, "apply", **change) == 2
    assert said in capsys.readouterr().err


def test_a_policy_that_is_not_there_or_not_json(module, capsys):
    assert module.main(["apply"]) == 2
    assert "not there; run the role gpu_power" in capsys.readouterr().err
    module.POLICY.write_text("{")
    assert module.main(["show"]) == 2
    assert "not a policy" in capsys.readouterr().err


def test_show_says_what_holds_and_why(module, capsys):
    assert run(module, "--now", "2026-11-20T18:00:00+00:00", "show", schedule=[EVENING]) == 0
    assert capsys.readouterr().out == "500 W per GPU: schedule evening\n"
    assert run(module, "show") == 0
    assert capsys.readouterr().out == "default W per GPU: no cap\n"


def test_policies_for_a_lost_feed_are_those_of_the_intent():
    specs = yaml.safe_load((ROOT / "roles/gpu_power/meta/argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
    assert tuple(specs["gpu_power_on_feed_loss"]["choices"]) == get_args(GpuPower.model_fields["on_feed_loss"].annotation)
