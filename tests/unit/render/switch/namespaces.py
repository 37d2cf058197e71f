"""Routers from rendered files: real FRR daemons, each in its own network, mount, UTS and PID namespace.

Everything in a namespace ends with its first process, and that ends when our end of its input closes: nothing is left behind,
even by a test run that is killed. Needs root and Debian's frr and frr-pythontools.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from cluster_model.plan.model import Switch
from tests import slowness

DAEMONS = Path("/usr/lib/frr")
RELOAD = DAEMONS / "frr-reload.py"
PATIENCE_S = 120
DAEMON_NAMES = ("zebra", "bgpd", "bfdd", "staticd")
_START = (
    "mount -t tmpfs none /run && mkdir /run/frr && chown frr:frr /run/frr && mount -t tmpfs none /etc/frr && "
    "echo 'service integrated-vtysh-config' > /etc/frr/vtysh.conf && hostname {name} && "
    "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 && echo ready && exec cat"
)


def require_frr(*, daemons: bool) -> None:
    """Skip with the reason where FRR (or the right to start its daemons) is missing; fail where GPUYARD_REQUIRE_FRR is set."""
    reason = ""
    if shutil.which("vtysh") is None:
        reason = "vtysh is missing: install frr"
    elif daemons and not RELOAD.exists():
        reason = "frr-reload.py is missing: install frr-pythontools"
    elif daemons and os.geteuid() != 0:
        reason = "routers in namespaces need root"
    if reason:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_FRR") else pytest.skip)(reason)


class Router:
    """A running router."""

    def __init__(self, switch: Switch, pid: int) -> None:
        self.switch = switch
        self.pid = pid

    def run(self, *command: str, text: str | None = None) -> str:
        prefix = ["nsenter", "-t", str(self.pid), "-n", "-m", "-u", "-p"]
        done = subprocess.run(
            [*prefix, *command], input=text, capture_output=True, text=True, timeout=slowness.stretch(PATIENCE_S), check=False
        )
        assert done.returncode == 0, f"{self.switch.name}: {command}: {done.stdout}{done.stderr}"
        return done.stdout

    def show(self, what: str) -> Any:
        return json.loads(self.run("vtysh", "-c", f"show {what} json"))

    def routes(self) -> set[str]:
        """Return the prefixes that the router has a valid best BGP path to."""
        table = self.show("bgp ipv4 unicast").get("routes", {})
        return {prefix for prefix, paths in table.items() if any(path.get("bestpath") for path in paths)}

    def advertised(self, port: str) -> set[str]:
        return set(self.show(f"bgp ipv4 unicast neighbors {port} advertised-routes").get("advertisedRoutes", {}))

    def established(self) -> int:
        peers = self.show("bgp ipv4 unicast summary").get("peers", {})
        return sum(peer["state"] == "Established" for peer in peers.values())

    def start(self, conf: str, linked: set[str]) -> None:
        """Give the switch its ports and addresses, and start FRR with its frr.conf. Ports that are not linked get a dead end."""
        batch = ["link set lo up", f"addr add {self.switch.loopback.partition('/')[0]}/32 dev lo"]
        for port in self.switch.ports:
            if port.name not in linked:
                batch += [f"link add {port.name} type veth peer name x{port.name}", f"link set x{port.name} up"]
            batch.append(f"link set {port.name} up")
            if port.address:
                batch.append(f"addr add {port.address} dev {port.name}")
        for way in self.switch.upstreams:
            batch += [
                f"link add {way.port} type veth peer name x{way.port}",
                f"link set x{way.port} up",
                f"link set {way.port} up",
                f"addr add {way.address} dev {way.port}",
            ]
        for vlan in self.switch.vlans:
            batch += [
                f"link add vlan{vlan.id} type bridge",
                f"addr add {vlan.address} dev vlan{vlan.id}",
                f"link set vlan{vlan.id} up",
            ]
        self.run("ip", "-b", "-", text="\n".join(batch) + "\n")
        self.run("sh", "-c", "cat > /etc/frr/frr.conf && chown -R frr:frr /etc/frr", text=conf)
        for daemon in DAEMON_NAMES:
            self.run("sh", "-c", f"{DAEMONS / daemon} -d -A 127.0.0.1 -u frr -g frr >/run/frr/{daemon}.log 2>&1 </dev/null")
        wait_for(lambda: set(DAEMON_NAMES) <= set(self.run("vtysh", "-c", "show daemons").split()), "the daemons")
        self.run("vtysh", "-b")

    def differences(self) -> str:
        """Return what frr-reload.py would change; empty where the running configuration already is the file's."""
        return self.run("python3", str(RELOAD), "--test", "/etc/frr/frr.conf")


def wait_for(reached: Callable[[], bool], what: str) -> None:
    """Wait until something is reached, `what` by name."""
    slowness.wait_for(reached, PATIENCE_S, what, every_s=0.2)


@contextmanager
def hold(switch: Switch) -> Iterator[Router]:
    """Yield a router whose namespaces exist and nothing more."""
    command = [
        "unshare",
        "-n",
        "-m",
        "-u",
        "-p",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "sh",
        "-c",
        _START.format(name=switch.name),
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            said = process.stdout.readline().strip()
            if said != "ready":
                stop = pytest.fail if os.environ.get("GPUYARD_REQUIRE_FRR") else pytest.skip
                stop(f"namespaces cannot be had here: {said}")
            child = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("utf-8").split()[0]
            yield Router(switch, int(child))
        finally:
            process.stdin.close()


@contextmanager
def boot(*parts: tuple[Switch, str]) -> Iterator[dict[str, Router]]:
    """Yield running routers by name, linked as the plan says where both ends are among `parts` (switch, frr.conf)."""
    with ExitStack() as stack:
        routers = {switch.name: stack.enter_context(hold(switch)) for switch, _ in parts}
        linked: dict[str, set[str]] = {name: set() for name in routers}
        for name, router in routers.items():
            for port in router.switch.ports:
                if port.peer in routers and port.name not in linked[name]:
                    far = routers[port.peer]
                    link = ["name", port.name, "netns", str(router.pid), "type", "veth", "peer", "name", port.peer_port]
                    subprocess.run(["ip", "link", "add", *link, "netns", str(far.pid)], check=True)
                    linked[name].add(port.name)
                    linked[port.peer].add(port.peer_port)
        for switch, conf in parts:
            routers[switch.name].start(conf, linked[switch.name])
        yield routers
