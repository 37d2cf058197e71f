"""The boot server on a file system that is really full: machines boot, and nothing is given that was not written down."""

import json
import os
import subprocess

import pytest

from tests.unit.deploy.boot_yard import SCRIPT, Yard

OTHER = "/v1/boot/02-00-00-00-00-02.ipxe"


@pytest.fixture
def full(tmp_path):
    """Return a yard whose journal lies on a file system of 8 MiB, and functions that fill and empty it."""
    disk = tmp_path / "state"
    disk.mkdir()
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(disk)], check=False).returncode:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_BOOT") else pytest.skip)("mounting takes root")
    yard = Yard(tmp_path, disk)

    def fill(leave=0):
        free = os.statvfs(disk)
        with (disk / "other").open("ab") as file:
            file.write(b"x" * (free.f_bavail * free.f_frsize - leave))

    def fill_wholly():
        fill()
        with pytest.raises(OSError, match="No space left"):
            for _ in range(1000):  # the last page of the journal still has some room
                yard.journal.write("", "filler", text="x" * 100)

    yield yard, fill, fill_wholly, (disk / "other").unlink
    yard.close()
    subprocess.run(["umount", str(disk)], check=True)


def test_what_changes_nothing_is_answered(full):
    yard, _, fill_wholly, _ = full
    fill_wholly()
    for path, answer in (
        ("/boot.ipxe", "#!ipxe boot\n"),
        (SCRIPT, "#!ipxe local\n"),
        (OTHER, "#!ipxe local\n"),
        ("/v1/boot/02-00-00-00-00-77.ipxe", "#!ipxe unknown\n"),
        ("/loader/ipxe.efi", "efi"),
        ("/deploy/vmlinuz", "kernel"),
        ("/images/os/rootfs.tar.zst", "0123456789"),
        ("/v1/ztp/startup.cfg", "hostname sw\n"),
    ):
        assert yard.ask(path)[:2] == (200, answer)
    assert yard.ask("/images/os/rootfs.tar.zst", headers={"Range": "bytes=4-"})[:2] == (206, "456789")


def test_a_token_and_a_report_wait_for_space(full):
    yard, _, fill_wholly, empty = full
    yard.begin()
    fill_wholly()
    status, text, answer = yard.ask(SCRIPT)
    assert status == 503 and "No space left" in text and answer.getheader("Retry-After")
    assert not yard.journal.node("one").token
    empty()
    token = yard.ask(SCRIPT)[1].rpartition("token=")[2].strip()
    fill_wholly()
    # Who has a token is told what it was made for: that it was made is written down.
    assert json.loads(yard.ask(f"/v1/host/one.json?token={token}")[1])["password"] == "$6$hash"
    assert yard.report(token, state="installed", step="done")[0] == 503
    assert yard.journal.node("one").state == "booted"
    empty()
    assert yard.report(token, state="installed", step="done")[0] == 204
    assert yard.journal.node("one").state == "installed"


def test_strangers_leave_the_last_space_to_installations(full):
    yard, fill, _, _ = full
    yard.begin()
    fill(leave=2 << 20)
    before = yard.journal.path.stat().st_size
    for number in range(20):
        assert yard.ask(f"/v1/boot/02-00-00-00-10-{number:02}.ipxe")[1] == "#!ipxe unknown\n"
    assert yard.journal.path.stat().st_size == before
    token = yard.ask(SCRIPT)[1].rpartition("token=")[2].strip()
    assert yard.report(token, state="installed", step="done")[0] == 204
