"""The boot server, asked over real HTTP on loopback."""

import json

import pytest

from cluster_model.deploy import boot_server
from cluster_model.deploy.boot_files import BootFiles
from cluster_model.deploy.boot_http import REPORT_BYTES
from cluster_model.deploy.boot_server import TOKEN_S
from cluster_model.deploy.journal import Journal
from tests.unit.deploy.boot_yard import SCRIPT, Yard


@pytest.fixture
def yard(tmp_path):
    yard = Yard(tmp_path)
    yield yard
    yard.close()


def test_a_host_is_offered_its_disk_until_it_is_begun(yard):
    assert yard.ask("/v1/boot/02-00-00-00-00-01.ipxe?serial=S1")[1] == "#!ipxe local\n"
    token = yard.token()
    assert len(token) == 64 and int(token, 16)
    assert yard.journal.node("one").state == "booted"


def test_the_token_opens_the_hosts_files_with_references_filled(yard):
    token = yard.token()
    status, text, _ = yard.ask(f"/v1/host/one.json?token={token}")
    assert status == 200
    told = json.loads(text)
    assert (told["password"], told["sum"], told["reinstall"], told["resumed"]) == ("$6$hash", "ab" * 32, False, False)
    assert yard.ask(f"/v1/autoinstall/one/{token}/user-data")[:2] == (200, 'p: "$6$hash"\n')
    assert yard.ask(f"/v1/autoinstall/one/{token}/other")[0] == 404


def test_a_host_that_was_cut_off_on_its_disks_is_told_that_it_resumes(yard):
    token = yard.token()
    yard.report(token, state="installing", step="image")
    token = yard.token()
    assert json.loads(yard.ask(f"/v1/host/one.json?token={token}")[1])["resumed"] is True


@pytest.mark.parametrize(
    "path", ["/v1/host/one.json", "/v1/host/one.json?token=", "/v1/host/one.json?token=00", "/v1/host/x.json?token=0"]
)
def test_a_wrong_token_opens_nothing(yard, path):
    yard.token()
    status, text, _ = yard.ask(path)
    assert status == 403 and "$6$" not in text
    assert list(yard.journal.events())[-1]["event"] == "refused"


def test_a_token_is_good_for_its_host_alone(yard):
    token = yard.token()
    assert yard.ask(f"/v1/host/two.json?token={token}")[0] == 403
    assert yard.ask(f"/v1/autoinstall/two/{token}/user-data")[0] == 403


def test_a_token_grows_stale(yard):
    token = yard.token()
    yard.clock.now += TOKEN_S + 1
    assert yard.ask(f"/v1/host/one.json?token={token}")[0] == 403


def test_a_new_token_voids_the_old_one(yard):
    old = yard.token()
    assert yard.token() != old
    assert yard.ask(f"/v1/host/one.json?token={old}")[0] == 403


@pytest.mark.parametrize("state", ["installed", "failed"])
def test_a_token_is_worthless_once_it_is_over(yard, state):
    token = yard.token()
    assert yard.report(token, state=state, step="done", message="m")[0] == 204
    assert yard.ask(f"/v1/host/one.json?token={token}")[0] == 403
    assert yard.report(token, state="installing", step="image")[0] == 403
    assert yard.ask("/v1/boot/02-00-00-00-00-01.ipxe?serial=S1")[1] == "#!ipxe local\n"
    assert yard.journal.node("one").state == state


def test_a_host_that_is_given_up_while_it_asks_gets_its_disk_and_no_token(yard, monkeypatch):
    yard.begin()
    fill = yard.desk.files.fill

    def give_up(tree, path, token=None):
        Journal(yard.journal.path.parent).write("one", "failed", state="failed", reason="another program gave it up")
        return fill(tree, path, token)

    monkeypatch.setattr(BootFiles, "fill", lambda self, *words: give_up(*words))
    assert yard.ask(SCRIPT)[:2] == (200, "#!ipxe local\n")
    assert (yard.journal.node("one").state, yard.journal.node("one").token) == ("failed", "")


def test_a_host_that_asks_from_another_address_gets_no_token(yard):
    yard.begin("two")
    assert yard.ask("/v1/boot/02-00-00-00-00-02.ipxe")[1] == "#!ipxe unknown\n"
    refused = list(yard.journal.events("two"))[-1]
    assert (refused["event"], refused["reason"]) == ("refused", "it asks from 127.0.0.1, not from 10.0.0.2")
    assert not yard.journal.node("two").token


def test_a_machine_with_another_serial_number_gets_no_token(yard):
    yard.begin()
    assert yard.ask("/v1/boot/02-00-00-00-00-01.ipxe?serial=S9")[1] == "#!ipxe unknown\n"
    assert list(yard.journal.events("one"))[-1]["reason"] == "its serial number is S9, not S1"


def test_an_unknown_machine_is_written_down(yard):
    assert yard.ask("/v1/boot/02-00-00-00-00-77.ipxe?serial=X%1b%07")[:2] == (200, "#!ipxe unknown\n")
    assert yard.journal.strangers()["02:00:00:00:00:77"]["serial"] == "X??"


@pytest.mark.parametrize(
    ("header", "status", "body", "span"),
    [
        ("bytes=4-", 206, "456789", "bytes 4-9/10"),
        ("bytes=2-3", 206, "23", "bytes 2-3/10"),
        ("bytes=8-99", 206, "89", "bytes 8-9/10"),
        ("bytes=0-", 200, "0123456789", None),
        ("bytes=10-", 200, "0123456789", None),
        ("bytes=5-2", 200, "0123456789", None),
        ("bytes=-3", 200, "0123456789", None),
        ("lines=1-2", 200, "0123456789", None),
    ],
)
def test_a_download_goes_on_in_the_middle(yard, header, status, body, span):
    answered, text, answer = yard.ask("/images/os/rootfs.tar.zst", headers={"Range": header})
    assert (answered, text, answer.getheader("Content-Range")) == (status, body, span)
    told = [event for event in yard.journal.events("one") if event.get("offset")]
    assert len(told) == (1 if status == 206 else 0)


def test_a_loader_that_is_fetched_by_http_is_written_down(yard):
    assert yard.ask("/loader/ipxe.efi", "HEAD")[:2] == (200, "")  # firmware asks for its size first
    assert list(yard.journal.events("one")) == []
    assert yard.ask("/loader/ipxe.efi")[:2] == (200, "efi")
    (told,) = yard.journal.events("one")
    assert (told["event"], told["what"], told["offset"], told["bytes"]) == ("served", "ipxe.efi", 0, 3)


def test_what_is_missing_is_named_and_no_file_goes_out(yard):
    token = yard.token()
    del yard.environment["GPUYARD_SECRET_OPS_PASSWORD"]
    status, text, _ = yard.ask(f"/v1/host/one.json?token={token}")
    assert status == 503 and "ops-password" in text and "name" not in text
    yard.environment["GPUYARD_SECRET_OPS_PASSWORD"] = "x"
    (yard.folder / "images/os/image.json").unlink()
    status, text, _ = yard.ask(f"/v1/host/one.json?token={token}")
    assert status == 503 and "image os is not built" in text


@pytest.mark.parametrize(
    "path",
    [
        "/images/os/../../secret.txt", "/images/%2e%2e/secret.txt", "/images/..%2fsecret.txt/x", "/deploy/..%2f..%2fsecret.txt",
        "/loader/../secret.txt", "/loader/other.efi", "/images/os", "/images", "/", "/secret.txt", "//secret.txt", "/deploy/%00",
        "/images/os/rootfs.tar.zst/x", "/v1/ztp/..%2f..%2fother%2fstartup.cfg", "/v1/nothing",
        f"/images/os/{'a' * 300}", f"/v1/ztp/{'a' * 300}", "/loader/ipxe.efi%0a",
    ],
)  # fmt: skip
def test_no_path_leads_out(yard, path):
    status, text, _ = yard.ask(path)
    assert status == 404 and "secret" not in text and "hostname" not in text


def test_a_switch_gets_its_own_files(yard):
    assert yard.ask("/v1/ztp/startup.cfg")[:2] == (200, "hostname sw\n")
    assert yard.ask("/v1/ztp/sonic.sh")[:2] == (200, "#!/bin/sh\n")


@pytest.mark.parametrize(
    "body", ["", "{", "[]", '{"state": "reachable"}', '{"state": 1}', '{"state": ["installed"]}', "[" * 9999, "\udcff"]
)
def test_a_wrong_report_changes_nothing(yard, body):
    token = yard.token()
    answer = yard.ask(f"/v1/report/one?token={token}", "POST", body.encode("utf-8", "surrogateescape"))
    assert answer[0] == 400
    assert yard.journal.node("one").state == "booted"


def test_a_report_that_is_too_long_is_refused_and_one_in_chunks_is_taken(yard):
    token = yard.token()
    path = f"/v1/report/one?token={token}"
    assert yard.ask(path, "POST", "x" * (REPORT_BYTES + 1))[0] == 413
    assert yard.ask(path, "POST", iter([b'{"state": ', b'"installing"}']))[0] == 204
    assert yard.ask("/v1/nothing", "POST", "{}")[0] == 404


def test_a_report_brings_no_control_characters_into_the_journal(yard):
    token = yard.token()
    assert yard.report(token, state="failed", step="disks", message="bad\x1b[2Jdisk\x07\n")[0] == 204
    assert yard.journal.node("one").reason == "baddisk?"


def test_what_cannot_be_written_down_is_not_done(yard, monkeypatch):
    yard.begin()

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(yard.journal, "write", fail)
    status, text, _ = yard.ask("/v1/boot/02-00-00-00-00-01.ipxe?serial=S1")
    assert (status, text) == (503, "the journal cannot be written, or a file not be read: No space left on device\n")


def test_the_journal_holds_no_token(yard):
    token = yard.token()
    yard.ask(f"/v1/host/one.json?token={token}")
    yard.report(token, state="installing", step="disks")
    assert token not in yard.journal.path.read_text()


def test_tokens_last_as_the_page_says():
    assert boot_server.TOKEN_S == 7200
