"""What a run does when its small machine does not come to an end, and how packages come; doubles play QEMU, the job, apt."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import pytest

from cluster_model.twin.options import Options
from cluster_model.twin.report import HERE, SMALL_MACHINE, Row
from cluster_model.twin.run import Listener, Run
from cluster_model.twin.vm import job, kernel, machine
from cluster_model.twin.vm.kernel import UnavailableError


@pytest.fixture
def run(trees):
    """Return a run that tries its business network elsewhere."""
    run = Run(trees("driving"), Options(networks=("business",)), Listener(lambda row: None, lambda text: None))
    run.elsewhere, run.needs_elsewhere = ["business"], frozenset({"bonds"})
    return run


def break_off(error):
    """Return a double of the machine that tells one row and then ends so."""

    def run_in_machine(_, share, take):
        options = json.loads((share / "job.json").read_text())
        assert (options["networks"], options["elsewhere"]) == (["business"], False)
        assert (share / "tree/switches/business-leaf-u01-01/config_db.json").is_file()
        row = Row("trial", "business", "sessions", "passed", "all", place=SMALL_MACHINE)
        take("row", {**asdict(row), "details": []})
        raise error

    return run_in_machine


def test_a_machine_that_breaks_off_is_a_failed_row_and_what_was_tried_stays(run, monkeypatch):
    monkeypatch.setattr(job, "run_in_machine", break_off(machine.MachineError("it did not end in time\nlast words")))
    job.try_elsewhere(run)
    assert run.report.rows == [
        Row("trial", "business", "sessions", "passed", "all", (), place=SMALL_MACHINE),
        Row("trial", "business", "whole network", "failed", "it did not end in time", ("last words",)),
    ]


def test_without_a_machine_the_network_is_left_out(run, monkeypatch):
    monkeypatch.setattr(job, "run_in_machine", break_off(UnavailableError("run apt-get update")))
    job.try_elsewhere(run)
    row = run.report.rows[-1]
    assert (row.result, row.found, row.place) == ("left out", "there is no small machine: run apt-get update", HERE)


def play_qemu(monkeypatch, tmp_path, script):
    monkeypatch.setattr(machine, "fetch_kernel", lambda: tmp_path)
    monkeypatch.setattr(machine, "_write_command", lambda kernel, share: ["sh", "-c", script])
    taken = []
    machine.run_in_machine("a:b", tmp_path, lambda kind, value: taken.append((kind, value)), limit_s=2)
    return taken


def test_what_the_machine_tells_is_taken_and_noise_is_not(monkeypatch, tmp_path):
    script = """printf 'SeaBIOS\\n["row", 1]\\n["do'; sleep 0.1; printf 'ne", ""]\\n'"""
    assert play_qemu(monkeypatch, tmp_path, script) == [("row", 1)]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo cannot allocate memory >&2; exit 1", ("3072 MiB", "cannot allocate memory")),
        ("sleep 60", ("did not end in time", "--no-faults")),
        ("""echo '["failed", "leaf: no vtysh"]'; sleep 60""", ("leaf: no vtysh",)),
    ],
)
def test_a_machine_that_ends_otherwise_says_why_and_what_its_console_said(monkeypatch, tmp_path, script, words):
    (tmp_path / "console.log").write_text("the kernel's last words")
    with pytest.raises(machine.MachineError) as raised:
        play_qemu(monkeypatch, tmp_path, script)
    assert all(word in str(raised.value) for word in (*words, "the kernel's last words"))


@pytest.fixture
def archive(monkeypatch, tmp_path):
    """Play apt and dpkg-deb in a cache of its own, and return what was asked of the archive."""
    asked = []

    def play(program, *arguments, cwd=None):
        if program == "apt-cache":
            return "  Installed: (none)\n  Candidate: 1:2.0-3\n"
        if program == "apt-get":
            asked.append(arguments[-1])
            (cwd / "it.deb").write_text("")
            time.sleep(0.1)  # a download, during which the others come
        elif program == "dpkg-deb":
            Path(arguments[-1]).mkdir()
            (Path(arguments[-1]) / "program").write_text("whole")
        return ""

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(kernel, "run_program", play)
    return asked


def test_packages_are_fetched_once_however_many_ask(archive, tmp_path):
    """Also what a killed process left in the cache is in nobody's way; once it is there, the archive is not asked."""
    (tmp_path / "gpuyard/new/root").mkdir(parents=True)
    with ThreadPoolExecutor(4) as pool:
        folders = {*pool.map(kernel.fetch_packages, [("tool",)] * 4), kernel.fetch_packages(("tool",))}
    (folder,) = folders
    assert (folder.name, (folder / "root/program").read_text(), archive) == ("tool_1%2.0-3", "whole", ["tool=1:2.0-3"])


def test_a_fetch_that_fails_leaves_nothing_that_looks_whole(archive, monkeypatch):
    def refuse(program, *arguments, cwd=None):
        if program == "dpkg-deb":
            raise UnavailableError("no space left")
        return play(program, *arguments, cwd=cwd)

    play = kernel.run_program
    with monkeypatch.context() as broken:
        broken.setattr(kernel, "run_program", refuse)
        with pytest.raises(UnavailableError):
            kernel.fetch_packages(("tool",))
    assert (kernel.fetch_packages(("tool",)) / "root/program").is_file()
    assert len(archive) == 2
