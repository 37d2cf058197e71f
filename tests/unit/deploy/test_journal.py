"""The journal: a node's state follows from its lines, whoever wrote them, and whatever became of the last one."""

import json
import os
import shutil
import stat
import subprocess
import threading

import pytest

from cluster_model.deploy.journal import HeldError, Journal
from cluster_model.deploy.provision import SshProber
from cluster_model.deploy.survey import Host


def test_a_node_is_what_its_events_made_of_it(tmp_path):
    journal = Journal(tmp_path)
    journal.write("a", "begun", state="planned", reinstall=False)
    journal.write("a", "token", sha256="5e", made=10.0)
    journal.write("a", "booted", state="booted")
    node = journal.node("a")
    assert (node.state, node.attempt, node.offered, node.token, node.token_at) == ("booted", 1, True, "5e", 10.0)
    journal.write("a", "report", state="installing", step="disks", facts={"serial": "S"})
    assert (journal.node("a").touched, journal.node("a").step) == (True, "disks")
    journal.write("a", "report", state="installed", step="done", facts={"host_key": "k"})
    node = journal.node("a")
    assert (node.state, node.offered, node.token, node.installed, node.touched) == ("installed", False, "", True, False)
    assert node.facts == {"serial": "S", "host_key": "k"}


def test_a_failure_keeps_its_reason_until_the_node_is_begun_again(tmp_path):
    journal = Journal(tmp_path)
    journal.write("a", "begun", state="planned")
    journal.write("a", "failed", state="failed", reason="no disk")
    node = journal.node("a")
    assert (node.state, node.reason, node.offered) == ("failed", "no disk", False)
    journal.write("a", "begun", state="planned", reinstall=True)
    node = journal.node("a")
    assert (node.state, node.reason, node.attempt, node.offered, node.reinstall) == ("planned", "", 2, True, True)
    assert node.begun == node.since != ""


def test_a_node_that_only_reported_its_start_has_not_been_touched(tmp_path):
    journal = Journal(tmp_path)
    journal.write("a", "begun", state="planned")
    journal.write("a", "report", state="installing", step="start")
    assert not journal.node("a").touched


def test_a_node_that_failed_on_its_disks_stays_touched(tmp_path):
    journal = Journal(tmp_path)
    journal.write("a", "report", state="installing", step="image")
    journal.write("a", "report", state="failed", step="image", reason="checksum")
    assert journal.node("a").touched and not journal.node("a").installed


def test_a_line_that_is_still_being_written_waits_and_one_that_was_cut_is_left_out(tmp_path):
    writer, reader = Journal(tmp_path), Journal(tmp_path)
    writer.write("a", "begun", state="planned")
    with writer.path.open("ab") as file:
        file.write(b'{"at": "x", "node": "a", "event": "boo')
    assert reader.node("a").state == "planned"
    with writer.path.open("ab") as file:
        file.write(b'ted", "state": "booted"}\n')
    assert reader.node("a").state == "booted"
    with writer.path.open("ab") as file:
        file.write(b'{"node": "a", "state": "fai\n[1]\n\xff\xfe\n')
    writer.write("a", "report", state="installed", step="done")
    assert reader.node("a").state == "installed"
    assert [event["event"] for event in reader.events("a")] == ["begun", "booted", "report"]


def test_a_line_that_an_editor_damaged_is_left_out(tmp_path):
    journal = Journal(tmp_path)
    journal.write("a", "begun", state="planned")
    damaged = [
        {"event": "token", "made": "x"}, {"event": "report", "step": ["disks"]}, {"event": "report", "facts": [1]}, {"event": 5},
        {"state": ["failed"]}, {"node": {"a": 1}}, {"event": "begun", "at": 7},
    ]  # fmt: skip
    with journal.path.open("a") as file:
        file.writelines(json.dumps({"node": "a", **event}) + "\n" for event in damaged)
        file.write('{"node": "a", "facts": ' + "[" * 100_000 + "\n" + '{"node": "a"}\n')
    journal.write("a", "booted", state="booted")
    node = Journal(tmp_path).node("a")
    assert (node.state, node.attempt, node.token, node.step, node.facts) == ("booted", 1, "", "", {})
    assert [event["event"] for event in journal.events("a")] == ["begun", "", "booted"]


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_a_journal_that_would_never_end_is_refused(tmp_path, make):
    journal = Journal(tmp_path)
    make(journal.path)
    for use in (lambda: journal.node("a"), lambda: list(journal.events()), lambda: journal.write("a", "begun")):
        with pytest.raises(OSError, match=r"it is a (FIFO|device), not a file"):
            use()


def test_a_journal_that_is_put_in_the_place_of_another_is_read_anew(tmp_path):
    journal, backup = Journal(tmp_path / "here"), Journal(tmp_path / "backup")
    journal.write("a", "begun", state="planned")
    journal.write("b", "begun", state="planned")
    assert journal.node("b").offered
    backup.write("a", "report", state="installed", step="done")
    backup.path.replace(journal.path)
    assert journal.node("a").installed and not journal.node("b").offered
    shutil.copyfile("/dev/null", journal.path)
    assert not journal.node("a").installed


def test_every_event_that_counts_is_on_the_disk_before_anybody_goes_on(tmp_path, monkeypatch):
    journal, synced = Journal(tmp_path), []
    monkeypatch.setattr(os, "fdatasync", lambda handle: synced.append(os.fstat(handle).st_size))
    journal.own("lab")
    journal.write("a", "begun", state="planned")
    assert len(synced) == 2 and synced[-1] == journal.path.stat().st_size
    journal.note("a", "served", what="ipxe.efi")
    assert len(synced) == 2


def test_what_was_decided_while_the_offer_was_taken_back_counts_for_nothing(tmp_path):
    journal = Journal(tmp_path)
    journal.write("a", "begun", state="planned")
    journal.write("a", "failed", state="failed", reason="silent")
    journal.write("a", "token", sha256="5e", made=10.0)
    journal.write("a", "booted", state="booted")
    node = journal.node("a")
    assert (node.state, node.token, node.reason) == ("failed", "", "silent")


def test_the_host_key_of_what_was_installed_before_is_forgotten(tmp_path):
    journal = Journal(tmp_path)
    journal.write("a", "report", state="installed", step="done", facts={"serial": "S", "host_key": "old"})
    before = journal.node("a")
    journal.write("a", "begun", state="planned", reinstall=True)
    assert journal.node("a").facts == {"serial": "S"}
    assert before.facts == {"serial": "S", "host_key": "old"}


def test_one_program_installs_by_it_at_a_time(tmp_path):
    with Journal(tmp_path / "new").hold():
        with pytest.raises(HeldError), Journal(tmp_path / "new").hold():
            pass
        Journal(tmp_path / "new").write("a", "report")  # the boot server goes on
    with Journal(tmp_path / "new").hold():
        pass


def test_a_journal_begins_where_a_crash_left_half_a_line(tmp_path):
    journal = Journal(tmp_path)
    journal.write("a", "begun", state="planned")
    with journal.path.open("ab") as file:
        file.write(b'{"node": "a", "event": "half')
    journal.write("a", "booted", state="booted")
    assert Journal(tmp_path).node("a").state == "booted"


def test_what_an_installer_reports_reaches_neither_terminal_nor_known_hosts_as_it_came(tmp_path):
    journal = Journal(tmp_path)
    journal.write(
        "a", "report", state="failed", reason="bad\x1b[31m\ndisk", facts={"host_key": "ssh-ed25519 AA\n* ssh-ed25519 BB"}
    )
    node = journal.node("a")
    assert (node.reason, node.facts["host_key"]) == ("bad disk", "ssh-ed25519 AA * ssh-ed25519 BB")
    with journal.path.open("a") as file:  # as another version wrote it
        file.write(json.dumps({"node": "b", "event": "failed", "state": "failed", "reason": "\x1b[2Jx\u202e"}) + "\n")
    assert journal.node("b").reason == "x?"
    host = Host("a", "127.0.0.1", "a.x", "02:00:00:00:00:01", False, None)
    probe = SshProber("root", None, tmp_path / "known_hosts", 1)
    assert probe(host, "ssh-ed25519 AA\n* ssh-ed25519 BB") == "what it reported as its host key is none"
    assert not (tmp_path / "known_hosts").exists()


def test_two_writers_lose_nothing(tmp_path):
    journals = [Journal(tmp_path), Journal(tmp_path)]

    def write(journal, name):
        for number in range(200):
            journal.write(name, "report", state="installing", step=str(number), message="x" * 3000)

    threads = [threading.Thread(target=write, args=(journal, f"n{i}")) for i, journal in enumerate(journals)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = journals[0].path.read_text().splitlines()
    assert len(lines) == 400 and all(json.loads(line) for line in lines)
    assert {node.step for node in Journal(tmp_path).nodes(["n0", "n1"]).values()} == {"199"}


def test_strangers_are_kept_by_their_mac(tmp_path):
    journal = Journal(tmp_path)
    journal.write("", "stranger", mac="02:00:00:00:00:01", serial="S", address="10.0.0.9")
    assert journal.strangers()["02:00:00:00:00:01"]["serial"] == "S"
    assert journal.nodes(["a"])["a"].state == "planned"


def test_it_is_its_owners_alone(tmp_path):
    journal = Journal(tmp_path / "new")
    journal.write("a", "begun")
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(journal.path.parent.stat().st_mode) == 0o700


def test_a_bmc_that_is_slower_than_its_machine_takes_nothing_back(tmp_path):
    journal = Journal(tmp_path)
    journal.write("a", "power", state="discovered")
    journal.write("a", "report", state="failed", reason="no disk")
    journal.write("a", "power", state="powered")
    assert (journal.node("a").state, journal.node("a").reason) == ("failed", "no disk")


@pytest.fixture
def small_disk(tmp_path, machine_tier):
    """Mount a file system of 8 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(folder)], check=False).returncode:
        pytest.skip("mounting takes root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill_disk(folder, leave):
    disk = os.statvfs(folder)
    with (folder / "other").open("ab") as file:
        file.write(b"x" * (disk.f_bavail * disk.f_frsize - leave))


def test_what_may_be_lost_leaves_the_last_space_to_the_rest(small_disk):
    journal = Journal(small_disk)
    assert journal.note("a", "served", what="local")
    fill_disk(small_disk, 64 * 1024)
    assert not journal.note("a", "served", what="local")
    journal.write("a", "begun", state="planned")
    assert [event["event"] for event in journal.events()] == ["served", "begun"]


def test_a_full_disk_keeps_no_half_line_and_the_journal_goes_on_when_there_is_space(small_disk):
    journal = Journal(small_disk)
    journal.write("a", "begun", state="planned", why="x" * 4000)
    fill_disk(small_disk, 0)
    with pytest.raises(OSError, match="No space left"):
        for _ in range(10):  # the last page of the file still has some
            journal.write("a", "report", state="installing", message="y" * 900)
    kept = journal.path.read_bytes()
    assert kept.endswith(b"\n") and all(json.loads(line) for line in kept.splitlines())
    assert not journal.note("a", "served")
    (small_disk / "other").unlink()
    journal.write("a", "report", state="installed", step="done")
    assert Journal(small_disk).node("a").state == "installed"


def test_text_that_is_no_unicode_is_kept_as_far_as_it_is(tmp_path):
    journal = Journal(tmp_path)
    journal.write("a", "report", state="failed", reason="bad \ud800 disk")
    assert journal.node("a").reason == "bad ? disk"


def test_where_no_folder_can_be_made_only_what_may_be_lost_is_lost(tmp_path):
    (tmp_path / "file").write_text("")
    journal = Journal(tmp_path / "file" / "state")
    assert not journal.note("a", "served")
    with pytest.raises(OSError, match="Not a directory"):
        journal.write("a", "begun")


def test_a_copy_on_another_machine_is_read_and_not_written_until_it_is_taken_over(tmp_path):
    """Tokens come along: who is in the middle of an installation goes on with the one that it has."""
    first = Journal(tmp_path / "first", "one")
    first.own("lab")
    first.write("a", "begun", state="planned")
    first.write("a", "token", sha256="5e", made=10.0)
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    second = Journal(tmp_path / "second", "two")
    assert second.node("a").token == "5e" and second.owner.machine == "one"
    before = second.path.read_bytes()
    with pytest.raises(PermissionError, match=r"it belongs to .* since 20"):
        second.write("a", "booted", state="booted")
    assert second.path.read_bytes() == before
    second.own("lab")
    second.write("a", "report", state="installed", step="done")
    assert (second.owner.cluster, second.owner.machine) == ("lab", "two")
    assert second.node("a").state == "installed" and second.known() == ["a"]
    # What the first one still has is its own; what it gets back from the second is not.
    first.write("a", "booted", state="booted")
    shutil.copy(second.path, first.path)
    with pytest.raises(PermissionError):
        Journal(tmp_path / "first", "one").write("a", "booted", state="booted")


def test_a_writer_whose_journal_was_taken_over_under_its_feet_stops(tmp_path):
    """On storage that both machines see."""
    one, two = Journal(tmp_path, "one"), Journal(tmp_path, "two")
    one.own("lab")
    two.own("lab")
    with pytest.raises(PermissionError):
        one.write("a", "begun", state="planned")


def test_a_backup_that_was_copied_in_the_middle_of_a_line_can_be_gone_on_with(tmp_path):
    one = Journal(tmp_path / "one", "one")
    one.own("lab")
    one.write("a", "begun", state="planned")
    one.write("a", "booted", state="booted")
    (tmp_path / "two").mkdir()
    (tmp_path / "two/journal.jsonl").write_bytes(one.path.read_bytes()[:-9])
    two = Journal(tmp_path / "two", "two")
    two.own("lab")
    two.write("a", "report", state="installing", step="disks")
    assert two.node("a").state == "installing" and two.owner.machine == "two"


def test_only_the_last_strangers_are_kept_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("cluster_model.deploy.journal.STRANGERS", 2)
    journal = Journal(tmp_path)
    for mac in ("a", "b", "a", "c"):
        journal.write("", "stranger", mac=mac)
    assert list(journal.strangers()) == ["a", "c"]
