"""The gate itself: scripts/run-tests over a few planted tests, with our own conftest.py and tiers."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.locks import HOLDERS, PLACES, Holder
from tests.molecule.test_scenarios import find_failure
from tests.slowness import stretch

ROOT = Path(__file__).resolve().parents[2]
ALONE = "os.mkdir('alone'); time.sleep(1); os.rmdir('alone')"
"""Fails where another that does the same runs beside it."""
ONCE = """
import subprocess
from contextlib import suppress
from pathlib import Path

def test_before():
    pass

def test_it(request):
    told = Path('told')
    if not told.exists():
        left = subprocess.Popen(['sleep', '1000'])
        told.write_text(str(left.pid))
        assert False, 'an unlucky moment'
    assert request.config.getoption('numprocesses') == 0, 'alone, in the process itself'
    with suppress(FileNotFoundError):
        assert not Path('/proc', told.read_text(), 'cmdline').read_text(), 'what the first run left still runs'
"""


@pytest.fixture
def gate(tmp_path):
    """Return a function: files of tests to (exit code, last lines) of the stages asked for."""
    for name in (
        "scripts/run-tests",
        "scripts/build-kubernetes",
        "scripts/link-collection",
        "tests/conftest.py",
        "tests/events.py",
        "tests/tiers.py",
        "tests/forked.py",
        "tests/locks.py",
        "tests/slowness.py",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    text = (ROOT / "pyproject.toml").read_text()
    (tmp_path / "pyproject.toml").write_text(text[text.index("[tool.pytest.ini_options]") :])
    (tmp_path / ".venv").symlink_to(sys.prefix)
    lint = tmp_path / "scripts/lint"
    lint.write_text("#!/bin/sh\necho a double of lint\nexit ${LINT_DOUBLE:-0}\n")
    lint.chmod(0o755)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "GPUYARD_", "VENV"))}
    environment["GPUYARD_TEST_LOCKS"] = str(tmp_path / "locks")

    def plant(files):
        for name, content in files.items():
            (tmp_path / "tests" / name).parent.mkdir(exist_ok=True)
            (tmp_path / "tests" / name).write_text(content)

    def run(files, *stages, **more):
        plant(files)
        done = subprocess.run(
            [tmp_path / "scripts/run-tests", *stages],
            cwd=tmp_path,
            env=environment | more,
            capture_output=True,
            text=True,
            check=False,
        )
        summary = (tmp_path / ".work/tests/summary").read_text()
        assert done.stdout.endswith(summary), done.stdout + done.stderr
        assert int((tmp_path / ".work/tests/code").read_text()) == done.returncode
        return done.returncode, summary.splitlines()

    run.plant, run.environment = plant, environment
    return run


def _one(body, *, asks=""):
    return f"import os, socket, subprocess, time\n\ndef test_it({asks}):\n    {body}\n"


def _failures(lines):
    """Return the failures of a stage and a unit, by both."""
    told = [line.removeprefix("FAILED ").split(": ", 2) for line in lines if line.startswith("FAILED ")]
    return {(stage, test.partition("::")[0].removeprefix("tests/")): error for stage, test, error in told}


def test_all_pass(gate):
    """Each unit runs in its stage: by its folder, or since it asks for what makes it one of the machine tier."""
    files = {f"{folder}/test_{letter}.py": _one("pass") for folder, letter in (("unit", "a"), ("system", "b"), ("molecule", "c"))}
    files |= {"unit/test_d.py": _one("subprocess.run(['ip', '-V'], check=True)", asks="machine_tier")}
    machines = ("test_boot_ipxe.py", "test_tenants_vm.py")  # of a name that takes the lock of machines
    code, lines = gate(files | {f"system/{name}": _one(ALONE) for name in machines})
    assert (code, lines[-1]) == (0, "green")
    stages = next(line for line in lines if line.startswith("Stages: "))
    assert [part.split()[0] for part in stages.removeprefix("Stages: ").split(", ")] == ["lint", "quick", "machine"]
    assert {line.split()[-1] for line in lines if " s  tests/" in line} == {
        *("tests/unit/test_a.py", "tests/system/test_b.py", "tests/molecule/test_c.py::test_it", "tests/unit/test_d.py"),
        *(f"tests/system/{name}" for name in machines),
    }


def test_a_tier_that_did_not_run_is_named(gate, tmp_path):
    code, lines = gate({"unit/test_a.py": _one("pass")}, "quick", GPUYARD_KUBERNETES=str(tmp_path / "none"))
    assert (code, lines[-1], lines[0]) == (0, "green", "Tiers that did not run here:")
    assert any(line.startswith("  kubernetes: no control plane took what is rendered") for line in lines)


def test_a_lock_is_held_by_as_many_as_it_has_places_for(tmp_path):
    for name, places in PLACES.items():
        holders = [Holder(tmp_path / "locks") for _ in range(places)]
        for holder in holders:
            holder.take(name)
        assert Holder(tmp_path / "locks")._try(name) is None
        holders[0].take("")
        late = Holder(tmp_path / "locks")
        late.take(name)
        assert Holder(tmp_path / "locks")._try(name) is None


def test_who_boots_a_small_machine_takes_its_lock():
    assert [place for place in HOLDERS if not list(ROOT.glob(place))] == []
    for path in (ROOT / "tests/system").glob("test_*.py"):
        lines = path.read_text("utf-8").splitlines()
        if any("twin.vm" in line or "qemu-system" in line for line in lines):
            assert HOLDERS.get(str(path.relative_to(ROOT))) == "vm", path


def test_a_slowness_that_is_no_number_is_told_before_anything_runs(gate, tmp_path):
    for said in ("abc", "0.5", "nan", "-3"):
        command = [sys.executable, ROOT / "scripts/run-tests", "quick"]
        environment = {**gate.environment, "GPUYARD_SLOWNESS": said}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        told = f"GPUYARD_SLOWNESS is {said!r}; expected a number from 1 to 100; fix: export GPUYARD_SLOWNESS=3\n"
        assert (done.returncode, done.stdout, done.stderr) == (2, "", told)


SCENARIO_LOG = """
TASK [Build from a tarball that somebody changed] ****
[ERROR]: Task failed: Module failed: The checksum did not match
fatal: [gpu-001]: FAILED! =>
TASK [It was refused and nothing was built] ****
ok: [gpu-001]
TASK [Let the driver come] ****
[ERROR]: Task failed: Module failed: non-zero return code
fatal: [gpu-002]: FAILED! =>
    rc: 1
PLAY RECAP ****
ERROR    Ansible return code was 2
"""


def test_a_scenario_says_what_ended_it_and_not_what_it_meant_to_fail():
    assert find_failure(SCENARIO_LOG) == "TASK [Let the driver come]: [ERROR]: Task failed: Module failed: non-zero return code"
    assert find_failure("molecule: command not found") == "no task: no error told"


def test_a_red_machine_unit_that_passes_alone_is_told_as_a_flake(gate, tmp_path):
    """It runs in a new process, as a whole, after what it left was ended; the run is green and says so in its last lines."""
    code, lines = gate({"system/test_b.py": ONCE, "system/test_c.py": _one("pass")}, "machine")
    assert code == 0
    assert lines[-2] == "FLAKE tests/system/test_b.py: test_it: AssertionError: an unlucky moment"
    assert lines[-1] == "green; 1 flake, see above"
    (kept,) = map(json.loads, (tmp_path / ".work/flakes.jsonl").read_text().splitlines())
    assert kept["stage"] == "machine" and kept["flake"] in lines[-2]


def test_more_than_two_red_machine_units_are_red_and_none_runs_again(gate, tmp_path):
    units = {f"system/test_{letter}.py": ONCE.replace("'told'", f"'told-{letter}'") for letter in "bcd"}
    code, lines = gate(units, "machine")
    assert (code, lines[-1]) == (13, "red: machine")
    assert _failures(lines) == {("machine", unit): "AssertionError: an unlucky moment" for unit in units}
    assert (tmp_path / ".work/flakes.jsonl").read_text() == ""


def test_what_is_red_is_named_within_its_stage(gate, tmp_path):
    """A quick test is red at once, also one that would pass a second time; a machine unit where it is red twice."""
    text = (tmp_path / "tests/conftest.py").read_text()
    assert text.count('"quick": 120') == 1
    (tmp_path / "tests/conftest.py").write_text(text.replace('"quick": 120', '"quick": 5'))
    starts = ("podman ps", "ip link", "dnsmasq -C x", "/usr/sbin/sshd -T")
    quick = {
        "unit/test_once.py": ONCE,
        "unit/test_import.py": "import nothing_of_that_name\n",
        "unit/test_hangs.py": _one("with subprocess.Popen(['sleep', '1000']): time.sleep(3000)"),
        "unit/test_net.py": _one("socket.create_connection(('192.0.2.1', 9), timeout=1)"),
        **{f"unit/test_start_{number}.py": _one(f"subprocess.run({words.split()})") for number, words in enumerate(starts)},
    }
    code, lines = gate(
        quick | {"system/test_b.py": _one("assert 1 == 2, 'planted'"), "system/test_c.py": _one("pass")}, LINT_DOUBLE="3"
    )
    assert (code, lines[-1]) == (11, "red: lint, quick, machine")
    failures = _failures(lines)
    lint = [key for key in failures if key[0] == "lint"]
    assert len(lint) == 1
    failures.pop(lint[0])
    expected = {
        ("quick", "unit/test_once.py"): "AssertionError: an unlucky moment",
        ("quick", "unit/test_import.py"): "ModuleNotFoundError: No module named 'nothing_of_that_name'",
        ("quick", "unit/test_hangs.py"): "Failed: Timeout (>5.0s)",
        ("quick", "unit/test_net.py"): "is a quick test and connects to 192.0.2.1",
        ("machine", "unit/test_import.py"): "ModuleNotFoundError",  # there is no telling which tier it is of
        ("machine", "system/test_b.py"): "AssertionError: planted",
    }
    for number, words in enumerate(starts):
        expected["quick", f"unit/test_start_{number}.py"] = f"is a quick test and starts {Path(words.split()[0]).name}: move it"
    assert failures.keys() == expected.keys()
    assert {key: error for key, error in failures.items() if expected[key] not in error} == {}


def test_a_process_that_dies_ends_its_stage_in_red(gate):
    """A crash is no flake, whatever the unit says when it runs again: tests after it have not run."""
    code, lines = gate({"system/test_b.py": _one("os._exit(7)"), "system/test_c.py": _one("time.sleep(3)")}, "machine")
    assert (code, lines[-1]) == (13, "red: machine")
    assert "crashed while running" in _failures(lines)["machine", "system/test_b.py"]


def test_tests_that_did_not_come_to_their_end_are_red(gate):
    """A worker whose report cannot be sent is dropped by xdist 3.8, and pytest ends well; a line cut off names no test."""
    files = {"system/test_s.py": _one("raise AssertionError('file \\udcff is wrong')"), "system/test_b.py": _one("pass")}
    code, lines = gate(files, "machine")
    assert (code, lines[-1]) == (13, "red: machine")
    assert "; without an end: tests/system/test_s.py::test_it" in _failures(lines)["machine", "pytest"]
    cut = _one("open(os.environ['GPUYARD_TEST_EVENTS'], 'a').write('{\\n')")
    code, lines = gate({"system/test_s.py": cut}, "machine")
    assert (code, lines[-1]) == (13, "red: machine")


def test_what_leaves_tests_out_is_red(gate, tmp_path):
    """Options of who runs it are not the gate's, and no test is no proof."""
    planted = {"unit/test_a.py": _one("assert os.environ.get('GPUYARD_RECORD') == '1', 'compared'")}
    code, lines = gate(planted, "quick", PYTEST_ADDOPTS="-k nothing", GPUYARD_RECORD="1")
    assert (code, _failures(lines)["quick", "unit/test_a.py"]) == (12, "AssertionError: compared")
    code, lines = gate({}, "machine")
    assert (code, lines[-1]) == (13, "red: machine")


def test_one_run_at_a_time_in_a_checkout(gate, tmp_path):
    again = "subprocess.run(['scripts/run-tests', 'quick'], capture_output=True, text=True)"
    wanted = "another run is under way in this checkout; fix: wait for its end, or use a clone\\n"
    code, lines = gate(
        {"system/test_b.py": _one(f"done = {again}; assert (done.returncode, done.stderr) == (2, '{wanted}')")}, "machine"
    )
    assert (code, lines[-1]) == (0, "green")


def test_a_podman_that_does_not_answer_ends_nothing(gate, tmp_path):
    text = (ROOT / "scripts/run-tests").read_text()
    assert text.count("PODMAN_S = 120") == 1
    gate.plant({"system/test_b.py": _one("pass")})
    (tmp_path / "scripts/run-tests").write_text(text.replace("PODMAN_S = 120", "PODMAN_S = 1"))
    double = tmp_path / "bin/podman"
    double.parent.mkdir()
    double.write_text("#!/bin/sh\nexec sleep 1000\n")
    double.chmod(0o755)
    code, lines = gate({}, "machine", PATH=f"{double.parent}:{os.environ['PATH']}")
    assert (code, lines[-1]) == (0, "green")


@pytest.mark.usefixtures("machine_tier")  # a clock: the tests have to begin before the stage is cut off
def test_a_stage_that_hangs_ends_and_names_what_ran(gate, tmp_path):
    limit_s = max(20, stretch(10))
    text = (tmp_path / "scripts/run-tests").read_text()
    cut, count = re.subn(r'(?m)^(LIMITS_S = .*"machine": )[0-9]+', rf"\g<1>{limit_s:g}", text)
    assert count == 1
    (tmp_path / "scripts/run-tests").write_text(cut)
    code, lines = gate({"system/test_b.py": _one("time.sleep(3000)")}, "machine")
    assert code == 13
    assert lines[-2] == f"FAILED machine: pytest: not done in {limit_s:g} s; running then: tests/system/test_b.py::test_it"


def test_a_run_that_is_told_to_end_leaves_nothing_behind(gate, tmp_path):
    """Also in the background of a shell, which has SIGINT ignored."""
    left = "left = subprocess.Popen(['sleep', '1000'], start_new_session=True)"
    tells = "open('up.part', 'w').write(str(left.pid)); os.rename('up.part', 'up'); time.sleep(3000)"
    gate.plant({"system/test_b.py": _one(f"{left}; {tells}")})
    command = ["sh", "-c", "trap '' INT; exec scripts/run-tests machine"]
    with subprocess.Popen(command, cwd=tmp_path, env=gate.environment, stdout=subprocess.PIPE, text=True) as running:
        while not (tmp_path / "up").exists():
            assert running.poll() is None
            time.sleep(0.05)
        running.terminate()
        said, _ = running.communicate(timeout=600)
    assert running.returncode == 130
    assert f"swept: process {(tmp_path / 'up').read_text()} (sleep)" in said
