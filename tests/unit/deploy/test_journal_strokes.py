"""Reports of many machines at once: each has its place and is on the disk before it is answered, and the disk is told seldom."""

from __future__ import annotations

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from cluster_model.deploy.boot_files import BootFiles, BootTree
from cluster_model.deploy.boot_server import BootDesk, Refusal
from cluster_model.deploy.journal import Journal
from tests.slowness import wait_for

REPORTERS = 24


class Disk:
    """Stands for fdatasync: remembers how much of the journal it was told to keep, and waits at its first call where told to."""

    def __init__(self, monkeypatch):
        self.kept, self.calls, self.hold = 0, 0, None
        monkeypatch.setattr(os, "fdatasync", self)

    def __call__(self, handle):
        self.calls += 1
        size = os.fstat(handle).st_size  # what comes later need not be kept
        if self.hold and self.calls == 1:
            self.hold()
        self.kept = max(self.kept, size)


@pytest.fixture
def desk(tmp_path):
    hosts = {f"n{number}": {"mac": "", "address": f"192.0.2.{number}", "serial": ""} for number in range(REPORTERS)}
    files = BootFiles(tmp_path, tmp_path, tmp_path, ())
    tree = BootTree(tmp_path, {"files": {}, "references": {}}, {"hosts": hosts})
    files.look = lambda: tree
    files._last = tree
    desk = BootDesk(files, Journal(tmp_path / "state"), lambda: 1000.0)
    for name in hosts:
        desk.journal.write(name, "begun", state="planned")
        desk.journal.write(name, "token", made=1000.0, sha256="2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae")
    return desk


def report(desk, number, **said):
    desk.report(f"n{number}", "foo", json.dumps(said).encode(), f"192.0.2.{number}")


def test_many_reports_go_to_the_disk_together(desk, monkeypatch):
    before, disk = desk.journal.path.read_bytes().count(b"\n"), Disk(monkeypatch)
    disk.hold = lambda: wait_for(
        lambda: desk.journal.path.read_bytes().count(b"\n") == before + REPORTERS, 10, "the others wait for the disk"
    )
    late = []

    def tell(number):
        report(desk, number, state="installing", step=f"step-{number}")
        end = desk.journal.path.read_bytes().index(b'step-%d"' % number)
        if disk.kept < end:
            late.append(number)

    with ThreadPoolExecutor(REPORTERS) as pool:
        list(pool.map(tell, range(REPORTERS)))
    assert late == []
    assert disk.calls == 2  # the first report's own, and one that took all the others
    nodes = desk.journal.nodes(f"n{number}" for number in range(REPORTERS))
    assert [(node.state, node.step) for node in nodes.values()] == [
        ("installing", f"step-{number}") for number in range(REPORTERS)
    ]


def test_of_two_last_words_at_once_one_is_taken(desk, monkeypatch):
    """The token is worthless with the first of them, although the disk has not kept it yet."""
    disk, second = Disk(monkeypatch), []

    def tell_meanwhile():
        with pytest.raises(Refusal, match="the token is not good"):
            report(desk, 1, state="failed", step="done", message="too late")
        second.append("refused")

    disk.hold = tell_meanwhile
    report(desk, 1, state="installed", step="done")
    assert second == ["refused"] and desk.journal.node("n1").state == "installed"
    assert [event["event"] for event in desk.journal.events("n1")][-2:] == ["report", "refused"]


def test_a_report_that_the_other_program_forestalls_is_refused(desk, monkeypatch):
    """`provision` gives a node up between the first look at its token and the report's place in the journal."""
    other, take = Journal(desk.journal.path.parent), desk._reports.take

    def give_up(name):
        other.write(name, "failed", state="failed", reason="given up")
        return take(name)

    monkeypatch.setattr(desk._reports, "take", give_up)
    with pytest.raises(Refusal, match="the token is not good"):
        report(desk, 1, state="installed", step="done")
    node = desk.journal.node("n1")
    assert (node.state, node.reason, node.installed) == ("failed", "given up", False)


def test_a_disk_that_fails_is_told_to_everybody_who_waits_for_it(desk, monkeypatch):
    began, errors = threading.Barrier(REPORTERS), []

    def fail(handle):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", fail)

    def tell(number):
        began.wait()
        try:
            report(desk, number, state="installing", step="disks")
        except OSError as error:
            errors.append(error.errno)

    with ThreadPoolExecutor(REPORTERS) as pool:
        list(pool.map(tell, range(REPORTERS)))
    assert errors == [5] * REPORTERS


def test_what_is_appended_to_a_journal_that_took_the_place_of_another_goes_to_the_disk_itself(tmp_path, monkeypatch):
    journal, backup = Journal(tmp_path / "here"), Journal(tmp_path / "backup")
    backup.write("a", "begun")
    journal.write("a", "begun")
    backup.path.replace(journal.path)
    disk = Disk(monkeypatch)
    journal.write("a", "booted")
    assert (disk.calls, disk.kept) == (1, journal.path.stat().st_size)
