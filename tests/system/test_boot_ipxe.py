"""The rendered scripts, run by iPXE itself: it asks with MAC, serial number and UUID, and fetches what installs this host.

QEMU runs Debian's ipxe.lkrn in a network namespace; its user-mode network leads the boot server's address to a double there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cluster_model.catalogue.load import load_catalogue
from cluster_model.render.tree import render_tree
from tests.planned import open_example
from tests.slowness import stretch, wait_for

HERE = Path(__file__).parent
LOADER = Path("/usr/lib/ipxe/ipxe.lkrn")
PATIENCE_S = 900
SERIAL, UUID = "LAB/00 7", "01234567-89ab-4cde-8f01-23456789abcd"
TOKEN = "f" * 64


@pytest.fixture(scope="module")
def requests(tmp_path_factory):
    """Return the requests of one run: the first script, then this host's, until the initial file system was asked for."""
    missing = [name for name in ("qemu-system-x86_64", "unshare") if shutil.which(name) is None]
    missing += [] if LOADER.is_file() else ["ipxe"]
    missing += [] if os.geteuid() == 0 else ["root"]
    if missing:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_BOOT") else pytest.skip)(f"missing: {', '.join(missing)}")
    plan = open_example("lab").plan
    tree = render_tree(plan, load_catalogue()[0], {"boot"})
    boot = plan.provisioning.boot_server.address
    segment = next(
        s for s in plan.provisioning.segments if s.name == "host" and s.gateway.rpartition(".")[0] == boot.rpartition(".")[0]
    )
    host = next(host for host in plan.provisioning.hosts if host.name == "gpu-001")
    folder = tmp_path_factory.mktemp("ipxe")
    (folder / "boot.ipxe").write_bytes(tree["boot/ipxe/boot.ipxe"])
    script = tree["boot/ipxe/hosts/gpu-001.ipxe"].decode().replace("{{gpuyard-secret:boot-token-gpu-001}}", TOKEN)
    (folder / f"v1_boot_{host.mac.replace(':', '-')}.ipxe").write_text(script)
    shutil.copy(LOADER, folder / "deploy_vmlinuz")  # a bzImage, which `kernel` takes
    first = folder / "first"
    first.write_text(f"#!ipxe\ndhcp\nchain http://{boot}/boot.ipxe\n")
    machine = ["qemu-system-x86_64", "-nographic", "-nodefaults", "-m", "256", "-kernel", str(LOADER), "-initrd", str(first)]
    machine += ["-netdev", f"user,id=n,net={segment.prefix},host={boot},dns={segment.first}"]
    machine += ["-device", f"virtio-net-pci,netdev=n,mac={host.mac}", "-smbios", f"type=1,serial={SERIAL},uuid={UUID}"]
    # What is asked goes to a file of its own: on the console it would stand in the middle of what iPXE says.
    inner = 'ip link set lo up; "$1" "$2" "$3" >"$3/asked" & until [ -e "$3/ready" ]; do sleep 0.1; done; shift 3; exec "$@"'
    server = [sys.executable, str(HERE / "boot_http.py"), str(folder)]
    command = ["unshare", "-n", "-p", "-f", "--kill-child", "sh", "-c", inner, "sh", *server, *machine]
    asked, console = folder / "asked", tmp_path_factory.mktemp("console") / "log"
    asked.touch()
    with console.open("wb") as log:
        run = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_for(
            lambda: "initrd.img\n" in asked.read_text() or run.poll() is not None,
            PATIENCE_S,
            lambda: f"{asked.read_text()}\n{console.read_text(errors='replace')[-3000:]}",
        )
    finally:
        run.kill()
        run.wait(stretch(PATIENCE_S))
    return host, asked.read_text().splitlines()


def test_ipxe_says_who_it_is(requests):
    host, seen = requests
    assert "/boot.ipxe" in seen, seen
    asked = [line for line in seen if line.startswith("/v1/boot/")]
    mac = host.mac.replace(":", "-")
    assert len(asked) == 1 and re.fullmatch(rf"/v1/boot/{mac}\.ipxe\?serial=LAB(/|%2F)00%207&uuid={UUID}", asked[0]), seen


def test_ipxe_fetches_what_installs_this_host(requests):
    _, seen = requests
    paths = [line for line in seen if line.startswith("/")]
    assert paths[-2:] == ["/deploy/vmlinuz", "/deploy/initrd.img"], seen
