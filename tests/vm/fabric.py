"""What the tenants' test does inside the small machine: boots the rendered fabric as the twin does, and plays steps on it.

The hosts say nothing by themselves here (no IPv6), leases come over the rendered DHCP relays, and ifupdown2 itself makes the
interfaces of some switches from scratch, to be compared with those that the twin made.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import time
from pathlib import Path
from typing import Any

from cluster_model.twin.ethernet import fabric as twin
from cluster_model.twin.ethernet.routes import ALIVE
from cluster_model.twin.ethernet.scope import Sampling, choose_scope
from cluster_model.twin.ethernet.trials import NetworkTrials
from cluster_model.twin.mistakes import plan_wrong_vni, play_mistake
from cluster_model.twin.node import Node
from cluster_model.twin.tenancy.tenants import expect
from cluster_model.twin.tree import open_tree
from cluster_model.twin.vm.machine import SHARE
from tests.slowness import wait_for

EMULATION = 4.0
"""BFD and BGP wait that many times longer than rendered, as in the twin's own small machine."""
PATIENCE_S = 600
"""For what must come and is nobody's to measure: only a failure takes that long. Steps bring `within_s` for the rest."""
OUTSIDE_PORT = 8080
PACKAGES = SHARE / "packages"
ETC = PACKAGES / "etc/network"
PRIVATE = ("/etc/network", "/etc/iproute2/rt_tables.d")
DEAF = "table inet deaf { chain in { type filter hook input priority -10; tcp dport 179 reject with tcp reset; }; }\n"
LEASE = """#!/bin/sh
[ "$1" = bound ] || exit 0
ip address add "$ip/$mask" dev "$interface"
ip route replace default via "$router" dev "$interface"
echo "$ip/$mask $router $serverid"
"""


def play(tell: Any) -> None:
    """Boot the tree of the share, and tell what each step of its job.json finds."""
    job = json.loads((SHARE / "job.json").read_text("utf-8"))
    install_ifupdown2()
    twin._HOST["ipv6/conf/all/disable_ipv6"] = twin._HOST["ipv6/conf/default/disable_ipv6"] = "1"
    tree = open_tree(SHARE / "tree")
    scope = choose_scope(tree, frozenset(), Sampling(full=True), ["business"])
    fabric = twin.Fabric(tree, scope, lambda text: tell("progress", text), EMULATION)
    fabric.boot()
    trials = NetworkTrials(fabric, expect(scope, "business", tree.plan), EMULATION * job["slowness"])
    steps = Steps(fabric, job)
    tell("found", ["converged", trials.wait_for_routes(ALIVE)])
    for step in job["steps"]:
        begin = time.monotonic()
        try:
            found = getattr(steps, "do_" + step["do"])(step)
        except Exception as error:
            found = {"error": f"{type(error).__name__}: {error}"}
        tell("progress", f"{step['name']} took {time.monotonic() - begin:.1f} s")
        tell("found", [step["name"], found])
    fabric.close()


def install_ifupdown2() -> None:
    """Put ifupdown2 where its package does: machines have a /run of their own, and do not see the share."""
    for folder in PRIVATE:
        Path(folder).mkdir(parents=True, exist_ok=True)
    program = Path("/usr/share/ifupdown2/ifupdown2")
    shutil.copytree(PACKAGES / "usr/share/ifupdown2", program.parent, dirs_exist_ok=True)
    program.chmod(0o755)
    ifup = Path("/usr/sbin/ifup")  # it goes by the name that it is called by
    ifup.unlink(missing_ok=True)
    ifup.symlink_to(program)


class Steps:
    """Steps of a job, on a running fabric."""

    def __init__(self, fabric: twin.Fabric, job: dict[str, Any]) -> None:
        self.fabric = fabric
        self.job = job
        self.nodes = fabric.nodes

    def run(self, node: str, *command: str) -> str:
        return self.nodes[node].run(*command, check=False)

    def do_ping(self, step: dict[str, Any]) -> dict[str, Any]:
        """Ping once; with `within_s` until all of a round is answered: of the first, some may be lost while a way is found."""
        deadline = time.monotonic() + step.get("within_s", 0)
        source = ["-I", step["source"]] if "source" in step else []
        while True:
            count = str(step.get("count", 3))
            said = self.run(step["node"], "ping", "-n", "-c", count, "-i", "0.3", "-W", "2", *source, step["to"])
            numbers = re.search(r"(\d+) packets transmitted, (\d+) received", said)
            result = {"sent": 0, "received": 0, "duplicates": said.count("DUP!")}
            if numbers:
                result |= {"sent": int(numbers[1]), "received": int(numbers[2])}
            if 0 < result["sent"] == result["received"] or time.monotonic() > deadline:
                return result

    def do_vtysh(self, step: dict[str, Any]) -> Any:
        said = self.run(step["node"], "vtysh", "-c", step["command"])
        return json.loads(said) if step["command"].endswith("json") else said

    def do_session(self, step: dict[str, Any]) -> dict[str, Any]:
        """Begin a border leaf's session anew; return its state once it is up, or after `within_s`, and on whose listener it is.

        `key`: whether the border leaf's listener has a password of that peer.
        `deaf` is the machine that refuses connections meanwhile, so that only it connects. `password` is the peer's from now on,
        "" for none.
        """
        vrf, peer, outside = step["vrf"], step["peer"], step["outside"]
        if "password" in step:
            line = f"neighbor {step['local']} password {step['password']}"
            line = line if step["password"] else f"no neighbor {step['local']} password"
            self.nodes[outside].run("vtysh", "-c", "configure terminal", "-c", f"router bgp {step['asn']}", "-c", line)
        self.nodes[step["deaf"]].run("nft", "-f", "-", text=DEAF)
        ask = {**step, "command": f"show bgp vrf {vrf} neighbors {peer} json"}
        before = self.do_vtysh(ask)[peer]["connectionsEstablished"]
        for node, which in ((outside, "clear bgp *"), (step["node"], f"clear bgp vrf {vrf} *")) * 2:
            self.nodes[node].run("vtysh", "-c", which)
        deadline = time.monotonic() + step["within_s"]
        while True:
            row = self.do_vtysh(ask)[peer]
            found = {"state": row["bgpState"], "listener": {row["portLocal"]: "border", row["portForeign"]: "peer"}.get(179)}
            is_new = row["connectionsEstablished"] > before  # the one from before may not have ended yet
            if (is_new and found["state"] == "Established") or time.monotonic() > deadline:
                break
            time.sleep(1)
        self.run(step["deaf"], "nft", "delete", "table", "inet", "deaf")
        listeners = self.run(step["node"], "ss", "-tlni", "sport = :179")
        return {**found, "key": f"md5keys:{peer}" in listeners}

    def do_reboot(self, step: dict[str, Any]) -> None:
        """Boot a switch again, with the order that its units give: without one FRR is the first, as beside a long `ifup -a`."""
        name, fabric = step["node"], self.fabric
        unit = fabric.files(name).files.get("frr-service.conf", "")
        waits = "After=networking.service" in unit.splitlines()
        fabric.kill_switch(name)
        if not waits:
            fabric._start(name)
        fabric._make_interfaces(name)
        self.nodes[name].configure([f"link set {port} up" for owner, port in fabric._links if owner == name])
        if waits:
            fabric._start(name)
        fabric.dead.discard(name)

    def do_serve(self, step: dict[str, Any]) -> str:
        """Let a machine answer every connection with the address that it comes from, for ever."""
        with self.nodes[step["node"]].inside():
            server = socket.create_server(("0.0.0.0", OUTSIDE_PORT))
        if not os.fork():
            while True:
                link, address = server.accept()
                with link:
                    link.sendall(address[0].encode())
        server.close()
        return "serves"

    def do_ask(self, step: dict[str, Any]) -> str:
        """Return the address that an outside server sees a connection come from; try until one is answered, for `within_s`."""
        deadline = time.monotonic() + step["within_s"]
        while True:
            with self.nodes[step["node"]].inside():
                link = socket.socket()
            with link:
                try:
                    link.settimeout(60)
                    link.bind((step.get("source", ""), 0))
                    link.connect((step["to"], OUTSIDE_PORT))
                    return link.recv(100).decode()
                except OSError:  # its way out is not there yet
                    if time.monotonic() > deadline:
                        raise
            time.sleep(1)

    def do_lease(self, step: dict[str, Any]) -> str:
        """Get an address by DHCP and use it; return address, gateway and server, nothing without an answer in `within_s`."""
        node = self.nodes[step["node"]]
        node.write("/var/tmp/lease", LEASE, 0o755)
        shutil.copy("/run/kernel/bin/busybox", node.root / "var/tmp/busybox")
        tries = str(round(step["within_s"] / 5))
        client = ("/var/tmp/busybox", "udhcpc", "-i", step["port"], "-f", "-q", "-n", "-t", tries, "-T", "5")
        return node.run(*client, "-s", "/var/tmp/lease", check=False).strip()

    def do_relay(self, step: dict[str, Any]) -> str:
        """Start a switch's DHCP relay as its unit does."""
        name, vrf = step["node"], step["vrf"]
        files = self.fabric.files(name).files
        node = self.nodes[name]
        node.write("/run/gpuyard-relay.conf", files[f"dnsmasq-{vrf}.conf"])
        line = next(line for line in files["dhcp-relay@.service"].splitlines() if line.startswith("ExecStart="))
        command = line.partition("=")[2].replace("%i", vrf).replace(f"/etc/gpuyard/dnsmasq-{vrf}.conf", "/run/gpuyard-relay.conf")
        # `ip vrf exec` makes a group per VRF below its own: each machine needs one of its own.
        group = f"/sys/fs/cgroup/{name}"
        node.run("sh", "-c", f"mount -t cgroup2 none /sys/fs/cgroup && mkdir -p {group}")
        command = f"echo $$ >{group}/cgroup.procs; exec {command}"
        return self.do_start({"node": name, "command": command, "name": f"relay-{vrf}", "udp": 67})

    def do_start(self, step: dict[str, Any]) -> str:
        """Start a program that stays in the foreground, and wait until its machine listens on port `udp`.

        What it says goes to /run/NAME.log of its machine.
        """
        node, port, log = self.nodes[step["node"]], step["udp"], f"/run/{step['name']}.log"
        node.run("sh", "-c", f"({step['command']}) >{log} 2>&1 </dev/null &")
        wait_for(
            lambda: node.run("ss", "-lunH", f"sport = :{port}", check=False).strip(),
            PATIENCE_S,
            lambda: f"nobody listens: {node.run('cat', log, check=False)}",
            every_s=1,
        )
        return "started"

    def do_shell(self, step: dict[str, Any]) -> str:
        return self.run(step["node"], "sh", "-c", step["command"])

    def do_wrong_vni(self, step: dict[str, Any]) -> dict[str, Any]:
        """Plant a wrong VNI, and return whether and how the twin's trial names it."""
        expected = expect(self.fabric.scope, "business", self.fabric.tree.plan)
        trials = NetworkTrials(self.fabric, expected, EMULATION * self.job["slowness"])
        mistake = plan_wrong_vni(trials)
        assert mistake is not None
        caught, wrong = play_mistake(trials, mistake, mend=True)
        return {"name": mistake.name, "caught": caught, "wrong": wrong}

    def do_ifupdown2(self, step: dict[str, Any]) -> dict[str, Any]:
        """Let ifupdown2 make a switch's interfaces in a machine of its own; return what it and the twin made of the same file."""
        name = step["node"]
        files = self.fabric.files(name).files
        node = Node(f"{name}-2", PRIVATE)
        try:
            shutil.copytree(ETC, node.root / "etc/network", dirs_exist_ok=True)
            (node.root / "run/network").mkdir()
            node.write("/etc/network/interfaces", files["interfaces"])
            if "vrf.json" in files:
                node.write("/etc/network/ifupdown2/policy.d/vrf.json", files["vrf.json"])
            ports = [port for owner, port in self.fabric._links if owner == name]
            node.configure(["link add eth0 type dummy", *(f"link add {port} type dummy" for port in ports)])
            said = node.run("sh", "-c", "/usr/sbin/ifup -a 2>&1", check=False)
            return {"said": said, "ifupdown2": read_devices(node), "twin": read_devices(self.nodes[name])}
        finally:
            node.close()


def read_devices(node: Node) -> dict[str, Any]:
    """Return what a machine's devices are, apart from what differs by chance or by their ports."""
    vlans = {row["ifname"]: row["vlans"] for row in json.loads(node.run("bridge", "-j", "vlan"))}
    found = {}
    for row in json.loads(node.run("ip", "-d", "-j", "address")):
        info = row.get("linkinfo", {})
        data, port = info.get("info_data", {}), info.get("info_slave_data", {})
        is_port = info.get("info_kind") in {"veth", "dummy"}
        found[row["ifname"]] = {
            "kind": "port" if is_port else info.get("info_kind", ""),
            "mtu": row["mtu"],
            "master": row.get("master", ""),
            "addresses": sorted(f"{item['local']}/{item['prefixlen']}" for item in row["addr_info"] if item["family"] == "inet"),
            "of": {key: data.get(key) for key in KEYS if key in data},
            "as port": {key: port.get(key) for key in PORT_KEYS if key in port},
            "vlans": sorted((item["vlan"], tuple(sorted(item.get("flags", ())))) for item in vlans.get(row["ifname"], ())),
        }
    return found


KEYS = ("table", "id", "local", "port", "learning", "vlan_filtering", "mode", "ad_lacp_rate", "miimon", "xmit_hash_policy")
PORT_KEYS = ("learning", "flood", "neigh_suppress")
