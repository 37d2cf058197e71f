"""Which tier a test belongs to, told by where it lies and what it uses, and what a quick test may not do.

`quick` starts no daemon, container, VM or BMC emulator, needs no network and goes by no clock: a red one is red. `machine` does,
and may meet an unlucky moment. `slow` is a mark: what exceeds its share of `make test`.
"""

from __future__ import annotations

import sys
from ipaddress import ip_address
from pathlib import PurePath
from typing import Any

FOLDERS = ("tests/ceph/", "tests/ibsim/", "tests/kubernetes/", "tests/molecule/", "tests/system/")
"""Every test in these is of the machine tier."""

HELPERS = {
    "namespaces",  # routers, as tests in its own folder import it
    "tests.baremetal.bmc_double",
    "tests.ibsim.simulator",
    "tests.kubernetes.control_plane",
    "tests.unit.deploy.boot_yard",
    "tests.unit.render.switch.namespaces",
}
"""Modules that start something: a file of tests that imports from one is of the machine tier."""

FIXTURE = "machine_tier"
"""A test that asks for this fixture, or one of whose fixtures does, starts something by itself or needs the network."""

REFUSED = {
    *("apt", "apt-get", "pip", "pip3", "uv"),
    *("ip", "nsenter", "unshare", "mount", "podman", "qemu-system-x86_64"),
    *("ceph-mds", "ceph-mgr", "ceph-mon", "ceph-osd", "radosgw"),
    *("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"),
    *("bgpd", "bird", "dnsmasq", "gobgpd", "ibsim", "ibsim-run", "in.tftpd", "ipmitool", "opensm", "sshd", "zebra"),
}
"""Programs that no quick test starts; some only when they are not merely asked to check a file (CHECKS)."""

CHECKS = {"dnsmasq": "--test"}


def is_machine(item: Any) -> bool:
    """Return whether a collected test is of the machine tier."""
    if item.nodeid.startswith(FOLDERS) or FIXTURE in item.fixturenames:
        return True
    used = (getattr(value, "__module__", None) or getattr(value, "__name__", "") for value in vars(item.module).values())
    return not HELPERS.isdisjoint(name for name in used if isinstance(name, str))


def name_unit(nodeid: str) -> str:
    """Return what a test is run together with: its file, whose tests share what they boot; a scenario is by itself."""
    return nodeid if nodeid.startswith("tests/molecule/") else nodeid.partition("::")[0]


class QuickGuard:
    """Refuses, while a quick test runs, what belongs to the machine tier. One for a process: an audit hook stays for ever."""

    def __init__(self) -> None:
        self.test = ""
        sys.addaudithook(self._see)

    def _see(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.test:
            return
        if event == "subprocess.Popen":
            words = [str(arguments[0]), *map(str, arguments[1] if isinstance(arguments[1], list | tuple) else ())]
            program = PurePath(words[0]).name
            if program in REFUSED and CHECKS.get(program) not in words:
                self._refuse(f"starts {program}")
        elif event == "socket.connect" and isinstance(arguments[1], tuple) and not _is_near(str(arguments[1][0])):
            self._refuse(f"connects to {arguments[1][0]}")

    def _refuse(self, what: str) -> None:
        raise PermissionError(f"{self.test} is a quick test and {what}: move it to tests/system, or have it ask for `{FIXTURE}`")


def _is_near(host: str) -> bool:
    try:
        return ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host in {"localhost", ""}
