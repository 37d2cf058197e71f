"""The journal: a node's state follows from its lines, whoever wrote them, and whatever became of the last one."""

import json
import stat
import threading

from cluster_model.deploy.journal import Journal


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


def test_a_journal_begins_where_a_crash_left_half_a_line(tmp_path):
    journal = Journal(tmp_path)
    journal.write("a", "begun", state="planned")
    with journal.path.open("ab") as file:
        file.write(b'{"node": "a", "event": "half')
    journal.write("a", "booted", state="booted")
    assert Journal(tmp_path).node("a").state == "booted"


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
