"""Who reaches a switch's SSH and SNMP: what comes by the management side, and neither hosts nor tenants at their gateways."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from cluster_model.plan.model import Switch
from tests.unit.render.switch import factory

_TRIAL = """
import socket, sys
port = int(sys.argv[1])
heard = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)  # takes IPv4 as well
heard.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
heard.bind(("::", port))
heard.settimeout(20)
print("ready", flush=True)
found = []
while not found or found[-1] != "end":
    found.append(heard.recv(100).decode())
print(" ".join(found))
"""
_KNOCK = """
import socket, sys
port = int(sys.argv[1])
for name, address in (part.split("=") for part in sys.argv[2:]):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    socket.socket(family, socket.SOCK_DGRAM).sendto(name.encode(), (address, port))
"""


def _inside(pid: int, *command: str) -> str:
    done = subprocess.run(["nsenter", "-t", str(pid), "-n", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


def _reached(switch: Switch, rules: str, port: int) -> list[str]:
    """Return which of a switch's addresses answer to a host on one of its ports; packets on a cable keep their order."""
    own = switch.management.address if switch.management else switch.loopback
    own = own.partition("/")[0]
    command = ["unshare", "-n", "sh", "-c", "echo ready; exec cat"]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as one,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other,
    ):
        try:
            for process in (one, other):
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n"
            link = ["ip", "link", "add", "swp1", "netns", str(one.pid), "type", "veth", "peer", "name", "eth0"]
            subprocess.run([*link, "netns", str(other.pid)], check=True)
            for pid, device, addresses in (
                (one.pid, "swp1", ("192.0.2.0/31", f"{own}/32", "fd00::1/64")),
                (other.pid, "eth0", ("192.0.2.1/31", "fd00::2/64")),
            ):
                _inside(pid, "ip", "link", "set", "lo", "up")
                for address in addresses:
                    nodad = ["nodad"] if ":" in address else []
                    _inside(pid, "ip", "addr", "add", address, "dev", device, *nodad)
                _inside(pid, "ip", "link", "set", device, "up")
            _inside(other.pid, "ip", "route", "add", f"{own}/32", "via", "192.0.2.0")
            subprocess.run(["nsenter", "-t", str(one.pid), "-n", "nft", "-f", "-"], input=rules, text=True, check=True)
            listen = ["nsenter", "-t", str(one.pid), "-n", sys.executable, "-c", _TRIAL, str(port)]
            with subprocess.Popen(listen, stdout=subprocess.PIPE, text=True) as listener:
                assert listener.stdout is not None
                assert listener.stdout.readline() == "ready\n"
                knocks = ["gateway=192.0.2.0", "gateway6=fd00::1", f"own={own}", f"end={own}"]
                _inside(other.pid, sys.executable, "-c", _KNOCK, str(port), *knocks)
                return listener.stdout.read().split()[:-1]
        finally:
            for process in (one, other):
                assert process.stdin is not None
                process.stdin.close()


@pytest.mark.usefixtures("machine_tier")
@pytest.mark.parametrize("port", [22, 161])
@pytest.mark.parametrize("name", ["storage-leaf-u01-01", "oob-leaf-a01"])
def test_debian_lets_nobody_in_at_a_gateway(name: str, port: int) -> None:
    if os.geteuid() != 0 or shutil.which("nft") is None:
        pytest.skip("needs root and nftables")
    switch = next(switch for switch in factory.plan("lab").switches if switch.name == name)
    rules = factory.file("lab", name, "nftables.conf")
    assert _reached(switch, rules, port) == ["own"]
    assert _reached(switch, rules, 179) == ["gateway", "gateway6", "own"], "nothing else is in the way"
