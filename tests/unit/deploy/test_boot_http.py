"""The boot server against rude requests, slow machines, and more of them than it can bear: each gets an answer, others go on."""

import http.client
import json
import random
import re
import socket
import threading

import pytest

from cluster_model.deploy import boot_http
from cluster_model.deploy.boot_gate import Gate, Quota, fit_connections
from cluster_model.deploy.boot_http import HEAD_BYTES, REPORT_BYTES, read_range
from tests.unit.deploy.boot_yard import PATIENCE_S, SCRIPT, Yard, read_all, wait_until

HOST = b"Host: b\r\n"


@pytest.fixture
def yard(tmp_path, caplog):
    yard = Yard(tmp_path)
    yield yard
    yard.close()
    assert not caplog.records, caplog.text


def status_of(answer):
    found = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
    assert found, answer[:200]
    return int(found[1])


RUDE = {
    "no http": (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
    "garbage": (b"\x00\xff" * 40 + b"\r\n\r\n", 400),
    "no version": (b"GET /boot.ipxe\r\n\r\n", 400),
    "HTTP/2.0": (b"GET /boot.ipxe HTTP/2.0\r\nHost: b\r\n\r\n", 505),
    "HTTP/1.0": (b"GET /boot.ipxe HTTP/1.0\r\n\r\n", 200),
    "no host": (b"GET /boot.ipxe HTTP/1.1\r\n\r\n", 400),
    "two hosts": (b"GET /boot.ipxe HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    "absolute form": (b"GET http://b/boot.ipxe HTTP/1.1\r\nHost: b\r\n\r\n", 200),
    "absolute form without a path": (b"GET http://b HTTP/1.1\r\nHost: b\r\n\r\n", 404),
    "broken absolute form": (b"GET http://[::1/boot.ipxe HTTP/1.1\r\nHost: b\r\n\r\n", 200),
    "another scheme": (b"GET ftp://b/boot.ipxe HTTP/1.1\r\nHost: b\r\n\r\n", 400),
    "asterisk": (b"OPTIONS * HTTP/1.1\r\nHost: b\r\n\r\n", 400),
    "authority": (b"CONNECT b:80 HTTP/1.1\r\nHost: b\r\n\r\n", 400),
    "another method": (b"DELETE /boot.ipxe HTTP/1.1\r\nHost: b\r\n\r\n", 405),
    "upgrade": (b"GET /boot.ipxe HTTP/1.1\r\nHost: b\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n", 200),
    "raw bytes in the path": (b"GET /\xed\xa0\x80 HTTP/1.1\r\nHost: b\r\n\r\n", 400),
    "a surrogate in percent": (b"GET /v1/host/%ed%a0%80.json?token=%ed%a0%80 HTTP/1.1\r\nHost: b\r\n\r\n", 403),
    "NUL": (b"GET /images/os/%00 HTTP/1.1\r\nHost: b\r\n\r\n", 404),
    "NUL in a switch's file": (b"GET /v1/ztp/a%00 HTTP/1.1\r\nHost: b\r\n\r\n", 404),
    "a line end in a switch's file": (b"GET /v1/ztp/startup.cfg%0a HTTP/1.1\r\nHost: b\r\n\r\n", 404),
    "an encoded slash": (b"GET /images/os%2f..%2f..%2fsecret.txt HTTP/1.1\r\nHost: b\r\n\r\n", 404),
    "bare LF": (b"GET /boot.ipxe HTTP/1.1\nHost: b\n\n", 200),
    "a folded header": (b"GET /boot.ipxe HTTP/1.1\r\nHost: b\r\nX: a\r\n b\r\n\r\n", 200),
    "a space before the colon": (b"GET /boot.ipxe HTTP/1.1\r\nHost : b\r\n\r\n", 400),
    "a control character in a header": (b"GET /boot.ipxe HTTP/1.1\r\nHost: b\r\nX: \x00\r\n\r\n", 400),
    "a long header": (b"GET /boot.ipxe HTTP/1.1\r\nHost: b\r\nX: " + b"x" * 2 * HEAD_BYTES + b"\r\n\r\n", 431),
    "many headers": (b"GET /boot.ipxe HTTP/1.1\r\nHost: b\r\n" + b"X: x\r\n" * HEAD_BYTES + b"\r\n", 431),
    "a long path": (b"GET /" + b"x" * 2 * HEAD_BYTES + b" HTTP/1.1\r\nHost: b\r\n\r\n", 431),
    "many fields": (b"GET /boot.ipxe?" + b"&".join(b"a%d=1" % n for n in range(99)) + b" HTTP/1.1\r\nHost: b\r\n\r\n", 400),
    "two tokens": (b"GET /v1/host/one.json?token=a&token=b HTTP/1.1\r\nHost: b\r\n\r\n", 400),
    "no MAC": (b"GET /v1/boot/%ff%fe.ipxe?serial=%00 HTTP/1.1\r\nHost: b\r\n\r\n", 200),
    "superscript length": (b"POST /v1/report/one HTTP/1.1\r\nHost: b\r\nContent-Length: \xc2\xb2\r\n\r\n", 400),
    "negative length": (b"POST /v1/report/one HTTP/1.1\r\nHost: b\r\nContent-Length: -1\r\n\r\n", 400),
    "plus length": (b"POST /v1/report/one HTTP/1.1\r\nHost: b\r\nContent-Length: +2\r\n\r\n{}", 400),
    "length of 5000 digits": (b"POST /v1/report/one HTTP/1.1\r\nHost: b\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n", 400),
    "two lengths": (b"POST /v1/report/one HTTP/1.1\r\nHost: b\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x", 400),
    "length too long": (b"POST /v1/report/one HTTP/1.1\r\nHost: b\r\nContent-Length: %d\r\n\r\n" % (REPORT_BYTES + 1), 413),
    "a body cut off": (b"POST /v1/report/one HTTP/1.1\r\nHost: b\r\nContent-Length: 9\r\n\r\n{", 400),
    "a report to nowhere": (b"POST /v1/nothing HTTP/1.1\r\nHost: b\r\nContent-Length: 2\r\n\r\n{}", 404),
    "bad chunk": (b"POST /v1/report/one HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", 400),
    "endless chunks": (
        b"POST /v1/report/one HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n" + b"4000\r\n" + b"x" * 0x4000
        + (b"\r\n4000\r\n" + b"x" * 0x4000) * 5, 413,
    ),
    "unknown encoding": (b"POST /v1/report/one HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
    "length and chunks": (
        b"POST /v1/report/one HTTP/1.1\r\nHost: b\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 403,
    ),
    "range of 5000 digits": (b"GET /deploy/vmlinuz HTTP/1.1\r\nHost: b\r\nRange: bytes=" + b"9" * 5000 + b"-\r\n\r\n", 200),
    "superscript range": (b"GET /deploy/vmlinuz HTTP/1.1\r\nHost: b\r\nRange: bytes=\xb2-\r\n\r\n", 200),
    "two ranges": (b"GET /deploy/vmlinuz HTTP/1.1\r\nHost: b\r\nRange: bytes=1-\r\nRange: bytes=2-\r\n\r\n", 200),
}  # fmt: skip


@pytest.mark.parametrize("label", RUDE)
def test_every_request_gets_an_answer(yard, label):
    request, status = RUDE[label]
    assert status_of(yard.say(request)) == status
    assert yard.ask("/boot.ipxe")[0] == 200


def test_any_bytes_get_an_answer_or_a_closed_line_and_no_traceback(yard):
    """Change rude and good requests at random places: the answer is of the protocol, or there was no request to answer."""
    chance = random.Random(7)
    seeds = [request for request, _ in RUDE.values() if len(request) < 400]
    for _ in range(400):
        request = bytearray(chance.choice(seeds))
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(request))
            request[place : place + chance.randint(0, 2)] = chance.randbytes(chance.randint(0, 3))
        answer = yard.say(bytes(request))
        assert not answer or 200 <= status_of(answer) < 600, request
        assert status_of(answer or b"HTTP/1.1 400 ") != 500, request


def test_a_request_in_the_body_of_another_is_not_answered(yard):
    """A body belongs to its request, also where GET has none: what a relay passes on cannot be read as a second request."""
    inner = b"GET /deploy/vmlinuz HTTP/1.1\r\nHost: b\r\n\r\n"
    for first in (b"GET /boot.ipxe", b"HEAD /boot.ipxe", b"POST /v1/nothing"):
        answer = yard.say(first + b" HTTP/1.1\r\nHost: b\r\nContent-Length: %d\r\n\r\n" % len(inner) + inner)
        assert b"kernel" not in answer and answer.count(b"HTTP/1.1 ") == 1
    two = b"GET /boot.ipxe HTTP/1.1\r\nHost: b\r\n\r\n" + inner
    assert yard.say(two).count(b"HTTP/1.1 200") == 2


def test_a_client_that_waits_for_leave_gets_it(yard):
    with yard.connect() as line:
        line.sendall(b"POST /v1/report/one HTTP/1.1\r\nHost: b\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert line.recv(100).startswith(b"HTTP/1.1 100 ")
        line.sendall(b"{}")
        assert status_of(line.recv(1000)) == 403


def test_a_line_is_used_again(yard):
    line = http.client.HTTPConnection("127.0.0.1", yard.port, timeout=PATIENCE_S)
    for path, status in (("/boot.ipxe", 200), ("/nothing", 404), ("/deploy/vmlinuz", 200), ("/v1/host/one.json", 403)):
        line.request("GET", path)
        answer = line.getresponse()
        assert (answer.status, bool(answer.read())) == (status, True)
    line.close()


@pytest.mark.parametrize("path", [SCRIPT, "/v1/host/one.json", "/v1/autoinstall/one/t/user-data", "/v1/ztp/startup.cfg"])
def test_head_changes_nothing(yard, path):
    token = yard.token()
    before = yard.journal.path.read_bytes()
    assert yard.ask(path, "HEAD")[:2] == (405, "")
    assert yard.journal.path.read_bytes() == before
    assert yard.ask(f"/v1/host/one.json?token={token}")[0] == 200


def test_head_tells_the_size_of_a_file(yard):
    status, _, answer = yard.ask("/deploy/vmlinuz", "HEAD")
    assert (status, answer.getheader("Content-Length")) == (200, "6")


def test_a_fault_of_ours_is_an_answer_and_a_line_in_the_log(tmp_path, monkeypatch, caplog):
    yard = Yard(tmp_path)
    monkeypatch.setattr(yard.desk, "boot", lambda *_: 1 // 0)
    token = "f" * 64
    assert yard.ask(f"{SCRIPT}&token={token}")[:2] == (500, "the boot server failed; its log says more\n")
    yard.close()
    (line,) = (record.getMessage() for record in caplog.records)
    assert re.fullmatch(r"v1/boot failed: ZeroDivisionError at test_boot_http.py:\d+", line)


def drip(line, data, stop):
    """Send a byte in a while until the other side has enough."""
    for byte in data:
        try:
            line.send(bytes([byte]))
        except OSError:
            return
        if stop.wait(0.02):
            return


@pytest.mark.parametrize(
    "data",
    [
        b"GET /boot.ipxe HTTP/1.1\r\nX: " + b"x" * 10_000,
        b"POST /v1/report/one HTTP/1.1\r\nHost: b\r\nContent-Length: 60000\r\n\r\n" + b"x" * 60_000,
    ],
)
def test_a_machine_that_drips_is_sent_away(yard, monkeypatch, data):
    """It is never silent, so a limit on silence would keep it for 200 seconds and more."""
    in_body = data.startswith(b"POST")
    monkeypatch.setattr(boot_http, "BODY_S" if in_body else "HEAD_S", 1.0)
    begin = data.index(b"x")
    with yard.connect() as line:
        stop = threading.Event()
        line.sendall(data[:begin])
        thread = threading.Thread(target=drip, args=(line, data[begin:], stop))
        thread.start()
        answer = read_all(line)
        stop.set()
        thread.join()
    # On a busy machine its time may be over before its first byte is there: then there is nothing to answer.
    assert (not answer and not in_body) or status_of(answer) == 408
    wait_until(lambda: yard.server.gate.held == 0)


def test_a_silent_machine_is_sent_away(yard, monkeypatch):
    monkeypatch.setattr(boot_http, "HEAD_S", 0.5)
    with yard.connect() as line:
        assert read_all(line) == b""


def big_file(yard, size):
    yard.write("images/os/big", "")
    with (yard.folder / "images/os/big").open("r+b") as file:
        file.truncate(size)


def test_a_download_that_crawls_is_cut_off(yard, monkeypatch):
    monkeypatch.setattr(boot_http, "PIECE_S", 1.0)
    big_file(yard, 1 << 30)
    with yard.connect() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.sendall(b"GET /images/os/big HTTP/1.1\r\nHost: b\r\n\r\n")
        stop = threading.Event()

        def crawl():
            while not stop.wait(0.05) and line.recv(16):
                pass

        thread = threading.Thread(target=crawl)
        thread.start()
        wait_until(lambda: yard.server.gate.held == 0)
        stop.set()
        thread.join()


def test_a_slow_but_honest_download_comes_through(yard, monkeypatch):
    """The deadline is for a piece. By this clock a second passes with every look, so all pieces take far longer."""
    looks = iter(range(1 << 20))
    monkeypatch.setattr(boot_http, "monotonic", lambda: float(next(looks)))
    size = 100 * boot_http.PIECE_BYTES
    big_file(yard, size)
    status, text, _ = yard.ask("/images/os/big")
    assert (status, len(text)) == (200, size)
    assert next(looks) > 3 * boot_http.PIECE_S


def test_one_address_holds_no_more_than_its_connections(tmp_path):
    yard = Yard(tmp_path)
    yard.server.gate.per_address = 3
    held = [yard.connect() for _ in range(3)]
    wait_until(lambda: yard.server.gate.held == 3)
    assert status_of(yard.say(b"")) == 503
    assert yard.ask("/boot.ipxe", source="127.0.0.2")[0] == 200
    held.pop().close()
    wait_until(lambda: yard.server.gate.held == 2)
    assert yard.ask("/boot.ipxe")[0] == 200
    for line in held:
        line.close()
    yard.close()


def test_strangers_leave_room_for_planned_machines(tmp_path):
    yard = Yard(tmp_path)
    yard.server.gate.limit = 8
    held = [yard.connect(source=f"127.0.1.{number}") for number in range(1, 3)]
    wait_until(lambda: yard.server.gate.held == 2)
    assert status_of(yard.say(b"", source="127.0.1.9")) == 503
    assert yard.ask("/boot.ipxe")[0] == 200
    for line in held:
        line.close()
    yard.close()


def test_nobody_else_is_let_in_at_the_limit():
    gate = Gate(lambda address: True, limit=2, per_address=9)
    assert [gate.enter("a"), gate.enter("b"), gate.enter("c")] == [True, True, False]
    gate.leave("a")
    assert gate.enter("c") and not gate.enter("a")


def test_a_quota_fills_again_and_forgets_rather_than_grows():
    now = [0.0]
    quota = Quota(2, 10.0, lambda: now[0])
    assert [quota.take("a") for _ in range(3)] == [True, True, False]
    assert quota.take("b")
    now[0] = 10.0
    assert [quota.take("a"), quota.take("a")] == [True, False]
    for number in range(60_000):
        quota.take(str(number))
    assert len(quota._left) < 60_000


def test_connections_fit_below_the_limit_of_open_files(monkeypatch):
    import resource

    limits = [1024, 1500]
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(limits))
    monkeypatch.setattr(resource, "setrlimit", lambda _, wanted: limits.__setitem__(0, wanted[0]))
    assert fit_connections() == (1500 - 128) // 3 and limits == [1500, 1500]
    limits[:] = [1024, resource.RLIM_INFINITY]
    assert fit_connections() == 4096 and limits[0] == 16_384


def test_a_range_is_read_in_ascii_digits_alone():
    assert read_range("bytes=4-", 10) == (4, 10)
    assert read_range("bytes=\u0664-", 10) == (0, 10)


def test_strangers_cannot_fill_the_journal(yard):
    for number in range(300):
        assert yard.ask(f"/v1/boot/{number:060}.ipxe?serial={'x' * 4000}", source="127.0.2.2")[0] == 200
        assert yard.ask("/v1/boot/02-00-00-00-00-01.ipxe", source="127.0.2.3")[0] == 200
        assert yard.ask(f"/v1/host/one.json?token={'y' * 4000}", source="127.0.2.4")[0] == 403
    assert yard.journal.path.stat().st_size < 200_000
    assert len(yard.journal.strangers()) <= 200


def test_a_machine_with_a_token_cannot_fill_it_either(yard):
    token = yard.token()
    facts = {"disks": [{"model": "m" * 60} for _ in range(600)], "deep": [[[[[["x"]]]]]], "\ud800": "\udfff", "n": 1, "y": True}
    codes = [yard.report(token, state="installing", step="s" * 900, message="m" * 900, facts=facts)[0] for _ in range(90)]
    assert codes[0] == 204 and codes[-1] == 429 and set(codes) == {204, 429}
    kept = yard.journal.node("one").facts
    assert len(kept["disks"]) == 256 and kept["?"] == "?" and kept["n"] == 1 and kept["y"] is True
    assert yard.journal.path.stat().st_size < 4 << 20


def test_a_machine_that_asks_again_and_again_is_told_so(yard):
    yard.begin()
    codes = [yard.ask(SCRIPT)[0] for _ in range(25)]
    assert codes[:20] == [200] * 20 and codes[-1] == 429


def test_a_machine_that_tells_no_serial_number_is_not_the_planned_one(yard):
    yard.begin()
    for told in ("", "?serial=", "?serial=To%20be%20filled%20by%20O.E.M.", "?serial=S2"):
        assert yard.ask(SCRIPT.partition("?")[0] + told)[1] == "#!ipxe unknown\n"
    refused = [event for event in yard.journal.events("one") if event["event"] == "refused"]
    assert refused[0]["reason"] == "it tells no serial number, and the plan has S1"
    assert refused[-1]["reason"] == "its serial number is S2, not S1"
    assert not yard.journal.node("one").token


@pytest.mark.parametrize(
    ("source", "header", "serial", "file"),
    [
        ("127.0.0.5", "CUMULUS-SERIAL", "LEAF5", "startup.yaml"),
        ("127.0.0.6", "SERIAL-NUMBER", "SPINE6", "config_db.json"),
        ("127.0.0.6", "SERIAL-NUMBER", "SPINE6", "chpasswd"),
        ("127.0.0.7", "X-Arista-Serial", "CORE7", "startup.cfg"),
    ],
)
def test_a_switch_tells_its_serial_number_where_the_plan_knows_it(yard, source, header, serial, file):
    assert yard.ask(f"/v1/ztp/{file}", headers={header: serial}, source=source)[0] == 200
    for wrong in ({}, {header: "X"}, {header: "N/A"}, {"X-Other": serial}):
        status, text, _ = yard.ask(f"/v1/ztp/{file}", headers=wrong, source=source)
        assert status == 403 and serial in text and "hash" not in text
    assert yard.ask("/v1/ztp/sonic.sh", source=source)[0] == 200  # it tells the serial number itself, and holds nothing


def test_a_switch_file_is_filled(yard):
    found = yard.ask("/v1/ztp/startup.yaml", headers={"CUMULUS-SERIAL": "LEAF5"}, source="127.0.0.5")
    assert found[1] == 'password: "$6$hash"\n'
    assert yard.ask("/v1/ztp/chpasswd", headers={"SERIAL-NUMBER": "SPINE6"}, source="127.0.0.6")[1] == "admin:$6$hash\n"


def test_a_secret_that_cannot_stand_in_a_file_is_named_to_people_too(yard, caplog):
    yard.environment["GPUYARD_SECRET_OPS_PASSWORD"] = 'quo"te'
    token = yard.token()
    assert json.loads(yard.ask(f"/v1/host/one.json?token={token}")[1])["password"] == 'quo"te'
    yard.environment["GPUYARD_SECRET_OPS_PASSWORD"] = "two\nlines"
    status, text, _ = yard.ask(f"/v1/host/one.json?token={token}")
    assert status == 503 and "the secret ops-password cannot stand in boot/hosts/one.json" in text and "two" not in text
    told = list(yard.journal.events("one"))[-1]
    assert (told["what"], told["reason"]) == ("one.json", text.strip())
    assert text.strip() in caplog.text
    caplog.clear()
