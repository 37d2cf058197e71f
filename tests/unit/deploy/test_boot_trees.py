"""The boot server while the tree that it hands out is replaced: a request gets one tree whole, the old one or the new one."""

from __future__ import annotations

import json
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from cluster_model.deploy.boot_fill import NotReadyError
from cluster_model.deploy.boot_gate import Gate
from cluster_model.render.manifest import build_manifest
from cluster_model.render.write import write_tree
from tests.unit.deploy.boot_yard import HOST, PLANNED, SCRIPT, Yard

NEWCOMER = "/v1/boot/02-00-00-00-00-77.ipxe?serial=S7"


@pytest.fixture
def yard(tmp_path):
    yard = Yard(tmp_path)
    yield yard
    yard.close()


def test_a_server_that_a_new_tree_brings_is_known_at_its_next_question(yard):
    assert yard.ask(NEWCOMER)[1] == "#!ipxe unknown\n"
    yard.index["hosts"]["new"] = {**HOST, "mac": "02:00:00:00:00:77", "serial": "S7"}
    yard.render()
    assert yard.ask(NEWCOMER)[1] == "#!ipxe local\n"


def test_a_reference_that_a_new_tree_brings_is_filled(yard):
    token = yard.token()
    assert yard.ask(f"/v1/host/one.json?token={token}")[0] == 200
    yard.write("tree/boot/hosts/one.json", json.dumps({"name": "one", "second": "{{gpuyard-secret:second}}"}))
    yard.references["boot/hosts/one.json"] = ["secret:second"]
    yard.environment["GPUYARD_SECRET_SECOND"] = "2nd"
    yard.render()
    status, text, _ = yard.ask(f"/v1/host/one.json?token={token}")
    assert (status, json.loads(text)["second"]) == (200, "2nd")


def test_a_secret_that_is_missing_is_told_with_what_helps(yard):
    token = yard.token()
    del yard.environment["GPUYARD_SECRET_OPS_PASSWORD"]
    status, text, answer = yard.ask(f"/v1/host/one.json?token={token}")
    assert (status, answer.getheader("Retry-After")) == (503, "10")
    assert text.endswith("write it there, and restart the boot server, which reads secrets as it starts\n")


@pytest.mark.parametrize("change", ["other bytes", "gone"])
def test_a_file_that_its_manifest_does_not_list_waits_for_the_new_manifest(yard, change):
    assert yard.ask("/boot.ipxe")[1] == "#!ipxe boot\n"
    (yard.folder / "tree/boot/ipxe/boot.ipxe").unlink()
    if change == "other bytes":
        yard.write("tree/boot/ipxe/boot.ipxe", "#!ipxe new\n")
    status, text, answer = yard.ask("/boot.ipxe")
    assert (status, answer.getheader("Retry-After")) == (503, "10") and "boot/ipxe/boot.ipxe is not what" in text
    yard.write("tree/boot/ipxe/boot.ipxe", "#!ipxe new\n")
    yard.render()
    assert yard.ask("/boot.ipxe")[:2] == (200, "#!ipxe new\n")


@pytest.mark.parametrize("path", ["/boot.ipxe", "/v1/boot/02-00-00-00-00-01.ipxe", SCRIPT])
def test_a_file_that_was_changed_by_hand_is_told_to_people_once_for_a_tree(yard, caplog, path):
    if path == SCRIPT:
        yard.begin()
    for name in ("boot", "local", "hosts/one"):
        yard.write(f"tree/boot/ipxe/{name}.ipxe", "#!ipxe by hand\n")
    answers = [yard.ask(path)[:2] for _ in range(3)]
    assert [status for status, _ in answers] == [503] * 3
    reason = answers[0][1].strip()
    assert "changed by hand" in reason

    def told():
        lines = [record.getMessage() for record in caplog.records]
        assert all(line.endswith(f" cannot be answered to {PLANNED}: {reason}") for line in lines)
        return len(lines), [event["reason"] for event in yard.journal.events("one") if event["event"] == "refused"]

    assert told() == (1, [reason])
    yard.write("tree/manifest.json", (yard.folder / "tree/manifest.json").read_text())
    assert yard.ask(path)[0] == 503
    assert told() == (2, [reason] * 2)


@pytest.mark.parametrize("what", ["a FIFO", "a folder", "a loop"])
@pytest.mark.parametrize("path", ["manifest.json", "boot/boot.json", "boot/ipxe/boot.ipxe"])
def test_what_cannot_be_read_is_told_as_that_and_holds_up_nobody(yard, path, what):
    assert yard.ask("/boot.ipxe")[0] == 200
    place, manifest = yard.folder / "tree" / path, (yard.folder / "tree/manifest.json").read_text()
    place.unlink()
    {"a FIFO": os.mkfifo, "a folder": os.mkdir, "a loop": lambda place: place.symlink_to(place)}[what](place)
    if path != "manifest.json":
        yard.write("tree/manifest.json", manifest)
    status, text, answer = yard.ask("/boot.ipxe")
    assert (status, answer.getheader("Retry-After")) == (503, "10")
    assert f"{path} cannot be read: " in text
    assert ("Too many levels" if what == "a loop" else f"it is {what}, not a file") in text


def test_an_index_without_its_manifest_is_not_taken(yard):
    assert yard.ask("/boot.ipxe")[0] == 200
    yard.index["hosts"]["one"] = {**HOST, "serial": "S9"}
    yard.write("tree/boot/boot.json", json.dumps(yard.index))
    yard.begin()
    assert yard.ask("/v1/boot/02-00-00-00-00-01.ipxe?serial=S9")[1] == "#!ipxe unknown\n"
    yard.render()
    assert "token=" in yard.ask("/v1/boot/02-00-00-00-00-01.ipxe?serial=S9")[1]


def test_a_tree_that_is_replaced_in_the_middle_of_a_request_is_looked_at_again(yard, monkeypatch):
    files = yard.desk.files
    look, looked = files.look, []

    def replace_after():
        found = look()
        if not looked:
            yard.write("tree/boot/ipxe/boot.ipxe", "#!ipxe new\n")
            yard.render()
        looked.append(found)
        return found

    monkeypatch.setattr(files, "look", replace_after)
    assert yard.ask("/boot.ipxe")[:2] == (200, "#!ipxe new\n")
    assert len(looked) == 2


def make_tree(letter):
    """Return a tree whose switch has a serial number and a file of its own."""
    index = {"format": "gpuyard-boot-1", "server": {"name": "c", "address": PLANNED}, "hosts": {}}
    index["switches"] = {"sw": {"address": "127.0.0.1", "serial": f"S{letter}", "nos": "eos"}}
    files = {"boot/boot.json": json.dumps(index).encode(), "switches/sw/startup.cfg": f"hostname {letter}\n".encode()}
    return {**files, "manifest.json": build_manifest("c", "1", letter, files, {})}


def test_no_answer_is_of_two_trees_while_render_replaces_them(yard):
    shutil.rmtree(yard.folder / "tree")
    write_tree(yard.folder / "tree", make_tree("a"), "a")
    over = threading.Event()

    def replace():
        for letter in "ba" * 15:
            write_tree(yard.folder / "tree", make_tree(letter), letter)
        over.set()

    def ask(letter):
        found = set()
        while not over.is_set():
            status, text, answer = yard.ask("/v1/ztp/startup.cfg", headers={"X-Arista-Serial": f"S{letter}"})
            found.add((status, text if status == 200 else answer.getheader("Retry-After")))
        return found

    with ThreadPoolExecutor(5) as pool:
        asked = {letter: [pool.submit(ask, letter) for _ in range(2)] for letter in "ab"}
        pool.submit(replace).result()
    for letter, answers in asked.items():
        whole = {(200, f"hostname {letter}\n"), (403, None), (503, "10")}
        assert set().union(*(answer.result() for answer in answers)) <= whole


def test_the_tree_of_another_cluster_is_refused_by_name(yard):
    yard.ask("/boot.ipxe")
    yard.cluster = "other"
    yard.render()
    status, text, _ = yard.ask("/boot.ipxe")
    assert status == 503 and "is that of other now, and was that of c" in text
    yard.cluster = "c"
    yard.render()
    assert yard.ask("/boot.ipxe")[0] == 200


def test_without_a_tree_images_are_handed_out_all_the_same(yard):
    assert yard.ask("/boot.ipxe")[0] == 200
    shutil.move(yard.folder / "tree", yard.folder / "aside")
    assert yard.ask("/boot.ipxe")[0] == 503
    assert yard.ask("/images/os/rootfs.tar.zst")[:2] == (200, "0123456789")
    with pytest.raises(NotReadyError, match="render the cluster first"):
        yard.desk.files.look()
    assert yard.desk.is_planned(PLANNED)


def test_a_machine_that_is_planned_by_the_time_it_leaves_gives_a_strangers_place_back():
    planned = set()
    gate = Gate(lambda address: address in planned, limit=4)
    assert gate.enter("192.0.2.1") and not gate.enter("192.0.2.2")
    planned.add("192.0.2.1")
    gate.leave("192.0.2.1")
    assert gate.enter("192.0.2.2")
