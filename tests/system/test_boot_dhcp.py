"""The rendered kea-dhcp4.conf, run by Kea itself, asked through every relay that the switches have.

Kea runs in a network namespace of its own, behind a relay agent double in another; both end with the test.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster_model.catalogue.load import load_catalogue
from cluster_model.render.tree import render_tree
from tests.planned import open_example
from tests.slowness import stretch, wait_for

HERE = Path(__file__).parent
PATIENCE_S = 240
BIOS, UEFI, UEFI_OLD, UEFI_HTTP = "0000", "0007", "0009", "0010"


def _require():
    reason = "" if shutil.which("kea-dhcp4", path="/usr/sbin:/usr/bin") else "kea-dhcp4 is not installed"
    reason = reason or ("" if os.geteuid() == 0 else "namespaces need root")
    if reason:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_BOOT") else pytest.skip)(reason)


@pytest.fixture(scope="module")
def lab():
    plan = open_example("lab").plan
    return plan, render_tree(plan, load_catalogue()[0], {"boot"})


@contextmanager
def namespace():
    """Yield the id of a process that holds a network namespace open; it ends when our end of its input closes."""
    holder = subprocess.Popen(["unshare", "-n", "sh", "-c", "ip link set lo up && echo ready && exec cat"], stdin=-1, stdout=-1)
    try:
        assert holder.stdout.readline() == b"ready\n"
        yield holder.pid
    finally:
        holder.stdin.close()
        holder.wait(stretch(PATIENCE_S))


def inside(pid, *command, **options):
    whole = ["nsenter", "-t", str(pid), "-n", *command]
    done = subprocess.run(whole, capture_output=True, text=True, timeout=stretch(600), check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Served:
    """Kea with a configuration, and the relays in front of it."""

    def __init__(self, relays, server, log):
        self.relays, self.server, self.log = relays, server, log

    def ask(self, *questions):
        script = [sys.executable, str(HERE / "dhcp_relay.py"), self.server]
        return json.loads(inside(self.relays, *script, input=json.dumps(questions)))


@contextmanager
def serve(lab, name, folder, *, plugged=True):
    """Yield Kea and its relays; with `plugged` false the cable to Kea's port is down until the test raises it."""
    _require()
    plan, tree = lab
    server = plan.provisioning.boot_server.address
    own = next(
        s for s in plan.provisioning.segments if s.name == "host" and s.gateway.rpartition(".")[0] == server.rpartition(".")[0]
    )
    file = folder / "kea.conf"
    text = tree[f"boot/kea/{name}"].decode()
    assert "/var/lib/kea/kea-leases4.csv" in text
    file.write_text(text.replace("/var/lib/kea/kea-leases4.csv", str(folder / "leases.csv")))
    with namespace() as outer, namespace() as inner:
        inside(outer, "ip", "link", "add", "relay", "type", "veth", "peer", "name", "eth0", "netns", str(inner))
        if plugged:
            inside(outer, "ip", "link", "set", "relay", "up")
        inside(inner, "ip", "link", "set", "eth0", "up")
        length = own.prefix.rpartition("/")[2]
        inside(inner, "ip", "address", "add", f"{server}/{length}", "dev", "eth0")
        for segment in plan.provisioning.segments:
            place = (f"{segment.gateway}/{length}", "dev", "relay") if segment is own else (f"{segment.gateway}/32", "dev", "lo")
            inside(outer, "ip", "address", "add", *place)
        inside(inner, "ip", "route", "add", "default", "via", own.gateway)
        if plugged:  # the kernel tells of a carrier a moment later, and Kea would look for it again after ten seconds
            wait_for(lambda: "state UP" in inside(inner, "ip", "link", "show", "eth0"), PATIENCE_S, "eth0 has no carrier")
        env = {**os.environ, "KEA_LOCKFILE_DIR": str(folder), "KEA_PIDFILE_DIR": str(folder)}
        with (folder / "kea.log").open("w") as log:
            kea = subprocess.Popen(
                ["nsenter", "-t", str(inner), "-n", "kea-dhcp4", "-c", str(file)], stdout=log, stderr=subprocess.STDOUT, env=env
            )
        try:
            log = folder / "kea.log"
            wait_for(lambda: "DHCP4_STARTED" in log.read_text() or kea.poll() is not None, PATIENCE_S, log.read_text)
            assert kea.poll() is None, log.read_text()
            yield Served(outer, server, log)
        finally:
            kea.send_signal(signal.SIGTERM)
            kea.wait(stretch(PATIENCE_S))


@pytest.fixture(scope="module")
def served(lab, tmp_path_factory):
    with serve(lab, "kea-dhcp4.conf", tmp_path_factory.mktemp("kea")) as found:
        yield found


def firmware(arch, more=None):
    kind = "HTTPClient" if arch == UEFI_HTTP else "PXEClient"
    text = f"{kind}:Arch:{int(arch, 16):05d}:UNDI:003001"
    return {"93": arch, "60": text.encode().hex(), **(more or {})}


def host(plan, name):
    return next(host for host in plan.provisioning.hosts if host.name == name)


def question(plan, name, options=None):
    found = host(plan, name)
    return {"mac": found.mac, "relay": found.gateway, "options": options or {}}


def text_of(answer, code):
    return bytes.fromhex(answer["options"].get(str(code), "")).decode()


def dotted(answer, code):
    return ".".join(str(byte) for byte in bytes.fromhex(answer["options"][str(code)]))


def test_every_known_device_gets_its_planned_address(lab, served):
    plan, _ = lab
    wanted = {host.mac: (host.gateway, host.address, host.name) for host in plan.provisioning.hosts}
    for device in (*plan.servers, *plan.switches, *plan.pdus):
        management = device.bmc if hasattr(device, "bmc") else device.management
        if management and management.mac:
            name = f"{device.name}-bmc" if hasattr(device, "bmc") else device.name
            wanted[management.mac] = (management.gateway, management.address, name)
    assert len(wanted) == 2 * len(plan.servers) + len(plan.pdus) + sum(
        bool(s.management and s.management.mac) for s in plan.switches
    )
    answers = served.ask(*({"mac": mac, "relay": gateway} for mac, (gateway, _, _) in wanted.items()))
    for (gateway, address, name), answer in zip(wanted.values(), answers, strict=True):
        assert answer is not None, name
        assert answer["address"] == address.partition("/")[0], name
        assert dotted(answer, 3) == gateway
        assert text_of(answer, 12).partition(".")[0] == name
        assert text_of(answer, 15) == plan.site.domain
        assert dotted(answer, 6) == ".".join(plan.site.dns) and dotted(answer, 42) == ".".join(plan.site.ntp)


@pytest.mark.parametrize(("arch", "file"), [(BIOS, "undionly.kpxe"), (UEFI, "ipxe.efi"), (UEFI_OLD, "ipxe.efi")])
def test_firmware_is_given_its_loader_by_tftp(lab, served, arch, file):
    (answer,) = served.ask(question(lab[0], "gpu-001", firmware(arch)))
    assert (answer["server"], answer["file"]) == (served.server, file)
    assert "60" not in answer["options"]


def test_http_boot_is_answered_as_http(lab, served):
    (answer,) = served.ask(question(lab[0], "gpu-001", firmware(UEFI_HTTP)))
    assert text_of(answer, 60) == "HTTPClient"  # without it, firmware takes no offer
    assert text_of(answer, 67) == f"http://{served.server}/loader/ipxe.efi"


@pytest.mark.parametrize("arch", [BIOS, UEFI, UEFI_HTTP])
def test_ipxe_is_not_given_itself(lab, served, arch):
    (answer,) = served.ask(question(lab[0], "gpu-001", firmware(arch, {"77": b"iPXE".hex()})))
    assert answer["file"] == f"http://{served.server}/boot.ipxe"
    assert "ipxe.efi" not in text_of(answer, 67)


def test_an_address_goes_with_the_mac_and_not_with_the_program(lab, served):
    answers = served.ask(*(question(lab[0], "gpu-002", {"61": client}) for client in ("ff01020304", "01aabbccddeeff", "00ff")))
    assert {answer["address"] for answer in answers} == {host(lab[0], "gpu-002").address.partition("/")[0]}


def test_systems_without_a_boot_rom_are_given_no_loader(lab, served):
    plan, _ = lab
    bmc = plan.server("gpu-001").bmc
    (answer,) = served.ask({"mac": bmc.mac, "relay": bmc.gateway})
    assert answer["file"] == "" and "67" not in answer["options"]


def test_a_switch_is_told_where_its_configuration_is(lab, served):
    plan, _ = lab
    switch = next(s for s in plan.switches if s.nos == "sonic")
    (answer,) = served.ask({"mac": switch.management.mac, "relay": switch.management.gateway})
    assert text_of(answer, 239) == f"http://{served.server}/v1/ztp/sonic.sh"


def test_a_stranger_gets_an_address_that_nobody_has(lab, served):
    plan, _ = lab
    segments = {s.gateway: s for s in plan.provisioning.segments}
    gateway = host(plan, "gpu-001").gateway
    bmcs = plan.server("gpu-001").bmc.gateway
    wrong_slot = {"mac": host(plan, "storage-001").mac, "relay": gateway, "options": firmware(UEFI)}
    unknown = {"mac": "02:00:5e:ff:00:01", "relay": gateway, "options": firmware(UEFI)}
    answers = served.ask(unknown, wrong_slot, {"mac": "02:00:5e:ff:00:02", "relay": bmcs})
    taken = {host.address.partition("/")[0] for host in plan.provisioning.hosts}
    for answer, relay in zip(answers, (gateway, gateway, bmcs), strict=True):
        low, high = segments[relay].first, segments[relay].last
        assert (
            tuple(map(int, low.split("."))) <= tuple(map(int, answer["address"].split("."))) <= tuple(map(int, high.split(".")))
        )
        assert answer["address"] not in taken
        assert int(answer["options"]["51"], 16) == 600
    assert answers[0]["file"] == answers[1]["file"] == "ipxe.efi"  # it goes on to say who it is


def test_nobody_else_is_answered(lab, served, tmp_path):
    plan, _ = lab
    management = next(s for s in plan.switches if s.management and s.management.mac).management
    (answer,) = served.ask({"mac": "02:00:5e:ff:00:03", "relay": management.gateway, "until": question(plan, "gpu-001")})
    assert answer is None
    with serve(lab, "kea-dhcp4-standby.conf", tmp_path) as standby:
        known, unknown = standby.ask(
            question(plan, "gpu-001", firmware(UEFI)),
            {"mac": "02:00:5e:ff:00:04", "relay": host(plan, "gpu-001").gateway, "until": question(plan, "storage-001")},
        )
    assert known["address"] == host(plan, "gpu-001").address.partition("/")[0]
    assert (known["server"], known["file"]) == (served.server, "ipxe.efi")
    assert unknown is None


def test_a_port_that_had_no_link_at_the_start_is_served_once_it_has_one(lab, tmp_path):
    plan, tree = lab
    config = json.loads(tree["boot/kea/kea-dhcp4.conf"])["Dhcp4"]["interfaces-config"]
    assert config["service-sockets-max-retries"] * config["service-sockets-retry-wait-time"] >= 24 * 3600 * 1000
    text = tree["boot/kea/kea-dhcp4.conf"].replace(b'retry-wait-time": 10000', b'retry-wait-time": 200')
    with serve((plan, {"boot/kea/kea-dhcp4.conf": text}), "kea-dhcp4.conf", tmp_path, plugged=False) as served:
        assert "eth0 is not running" in served.log.read_text()
        inside(served.relays, "ip", "link", "set", "relay", "up")
        asked = {**question(plan, "gpu-001"), "wait_s": 2}
        answer = wait_for(lambda: served.ask(asked)[0], PATIENCE_S, served.log.read_text)
    assert answer["address"] == host(plan, "gpu-001").address.partition("/")[0]
