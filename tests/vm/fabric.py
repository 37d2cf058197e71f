"""What runs inside the machine: builds the rendered fabric in namespaces, plays the job's steps and reports.

Started by init.sh as the first process, with /job/job.json; the standard library and this system's programs are all it has.
Under emulation a new process is what costs, so links and hosts are made in batches.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import socket
import subprocess
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

JOB = Path("/job")
DAEMONS = Path("/usr/lib/frr")
NEW_NET, NEW_MOUNT, NEW_UTS = 0x40000000, 0x00020000, 0x04000000
BIND, PRIVATE = 4096, 1 << 18 | 1 << 14
PATIENCE_S = 240
OUTSIDE_PORT = 8080
CGROUPS = "/sys/fs/cgroup"
LEASE = """#!/bin/sh
[ "$1" = bound ] || exit 0
ip address add "$ip/$mask" dev "$interface"
ip route replace default via "$router" dev "$interface"
echo "$ip/$mask $router $serverid"
"""
libc = ctypes.CDLL(None, use_errno=True)


def call_libc(name: str, *arguments: Any) -> None:
    if getattr(libc, name)(*arguments) < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}{arguments}: {os.strerror(code)}")


def mount(source: str, target: str, kind: str = "none", flags: int = 0) -> None:
    call_libc("mount", source.encode(), target.encode(), kind.encode(), flags, None)


class Node:
    """A machine of the fabric: its own network, mount and UTS namespace, held by a process that does nothing."""

    private = ("/run", "/etc/frr", "/etc/network", "/etc/gpuyard", "/etc/iproute2/rt_tables.d", "/var/tmp")

    def __init__(self, name: str) -> None:
        self.name = name
        ready, done = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            try:
                self._enter(name)
                os.write(done, b"+")
                while True:
                    time.sleep(3600)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        os.close(done)
        assert os.read(ready, 1) == b"+", f"no namespaces for {name}"
        os.close(ready)
        self.spaces = [os.open(f"/proc/{self.pid}/ns/{space}", os.O_RDONLY) for space in ("net", "uts", "mnt")]

    def _enter(self, name: str) -> None:
        call_libc("unshare", NEW_NET | NEW_MOUNT | NEW_UTS)
        mount("none", "/", flags=PRIVATE)
        socket.sethostname(name)
        mount("sysfs", "/sys", "sysfs")
        mount("none", CGROUPS, "cgroup2")
        Path(CGROUPS, name).mkdir()  # `ip vrf exec` makes a group per VRF in the machine's own
        for folder in self.private:
            own = Path("/nodes") / name / folder[1:]
            own.parent.mkdir(parents=True, exist_ok=True)
            if folder == "/etc/network":
                shutil.copytree(folder, own)
            else:
                own.mkdir(parents=True, exist_ok=True)
            Path(folder).mkdir(parents=True, exist_ok=True)
            mount(str(own), folder, flags=BIND)
        Path("/run/frr").mkdir()
        shutil.chown("/run/frr", "frr", "frr")
        Path("/run/network").mkdir()

    def join(self) -> None:
        """Move the calling process into the node."""
        for space in self.spaces:
            call_libc("setns", space, 0)
        Path(CGROUPS, self.name, "cgroup.procs").write_text("0", "utf-8")

    def run(self, *command: str, text: str = "", check: bool = True) -> str:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, preexec_fn=self.join, timeout=PATIENCE_S, check=False
        )
        if done.returncode or done.stderr:
            say(f"{self.name}: {' '.join(command)[:120]}: rc {done.returncode}: {done.stderr.strip()[-2000:]}")
        if check and done.returncode:
            raise RuntimeError(f"{self.name}: {command}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    def start(self, command: str, name: str) -> None:
        """Start a program that stays in the foreground; what it says goes to its /run/NAME.log."""
        self.run("sh", "-c", f"{command} >/run/{name}.log 2>&1 </dev/null &")

    def inside(self, work: Callable[[], str]) -> str:
        """Return what a function says that runs in the node, in a process of its own."""
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            try:
                self.join()
                os.write(writing, work().encode())
            except BaseException as error:
                os.write(writing, f"error: {error}".encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            said = pipe.read()
        os.waitpid(pid, 0)
        return said

    def write(self, path: str, text: str) -> None:
        """Write a file below one of the node's private folders."""
        file = Path("/nodes") / self.name / path[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def start_frr(self, conf: str, daemons: list[str]) -> None:
        self.write("/etc/frr/frr.conf", conf)
        self.write("/etc/frr/vtysh.conf", "service integrated-vtysh-config\n")
        script = "chown -R frr:frr /etc/frr\n"
        for daemon in daemons:
            script += f"{DAEMONS}/{daemon} -d -A 127.0.0.1 -u frr -g frr >/run/frr/{daemon}.log 2>&1 </dev/null || exit 1\n"
        self.run("sh", "-c", script + "vtysh -b 1>&2")


def say(text: str) -> None:
    print(f"[{up_s():7.1f}] {text}", flush=True)


def up_s() -> float:
    return float(Path("/proc/uptime").read_text("utf-8").split()[0])


class Fabric:
    """The job's fabric while it runs."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job = job
        self.times: dict[str, float] = {}
        names = [*job["switches"], *job["hosts"], *job["peers"]]
        self.nodes = {name: Node(name) for name in names}
        self.pool = ThreadPoolExecutor(3)
        self.mark("namespaces")

    def mark(self, what: str) -> None:
        self.times[what] = up_s()
        say(what)

    def each(self, names: Any, work: Callable[[str], None]) -> None:
        list(self.pool.map(work, names))

    def build(self) -> None:
        batch = [
            f"link add {port} netns {self.nodes[name].pid} type veth peer name {far_port} netns {self.nodes[far].pid}"
            for name, port, far, far_port in self.job["links"]
        ]
        subprocess.run(["ip", "-b", "-"], input="\n".join(batch) + "\n", text=True, check=True)
        self.mark("links")
        self.each(self.job["hosts"], self.build_host)
        self.each(self.job["switches"], self.build_switch)
        self.mark("interfaces")
        self.each(self.job["peers"], self.build_peer)
        self.each(self.job["switches"], self.start_switch)
        self.mark("daemons")

    def build_host(self, name: str) -> None:
        bond = self.job["hosts"][name]
        batch = [
            "link set lo up",
            f"link add {bond['name']} type bond mode 802.3ad lacp_rate fast miimon 100 xmit_hash_policy layer3+4",
        ]
        for port in bond["ports"]:
            batch.append(f"link set {port} master {bond['name']}")
        batch.append(f"link set {bond['name']} mtu {bond['mtu_bytes']} up")
        for vlan in bond["vlans"]:
            if vlan["tagged"]:
                batch.append(f"link add {vlan['name']} link {bond['name']} type vlan id {vlan['vlan']}")
            batch.append(f"link set {vlan['name']} up")
            if vlan["address"]:
                batch.append(f"addr add {vlan['address']} dev {vlan['name']}")
            if vlan["default"]:
                batch.append(f"route add default via {vlan['gateway']}")
        node = self.nodes[name]
        # Without IPv6 a host says nothing by itself: what a silent host is.
        node.run(
            "sysctl",
            "-qw",
            "net.ipv6.conf.all.disable_ipv6=1",
            "net.ipv6.conf.default.disable_ipv6=1",
            "net.ipv4.conf.all.rp_filter=0",
        )
        node.run("ip", "-b", "-", text="\n".join(batch) + "\n")

    def build_switch(self, name: str) -> None:
        node, files = self.nodes[name], self.job["switches"][name]
        node.run("ip", "link", "add", "eth0", "type", "dummy")
        if "sysctl.conf" in files:
            node.write("/var/tmp/sysctl.conf", files["sysctl.conf"])
            node.run("sysctl", "-e", "-q", "-p", "/var/tmp/sysctl.conf")  # sizes of neighbour tables exist once a machine
        node.write("/etc/network/interfaces", files["interfaces"])
        if "vrf.json" in files:
            node.write("/etc/network/ifupdown2/policy.d/vrf.json", files["vrf.json"])
        begin = up_s()
        node.run("/usr/sbin/ifup", "-a")
        say(f"{name}: ifup took {up_s() - begin:.1f} s")
        if "nftables.conf" in files:
            node.run("nft", "-f", "-", text=files["nftables.conf"])

    def start_switch(self, name: str) -> None:
        files = self.job["switches"][name]
        wanted = [daemon for daemon in ("zebra", "staticd", "bgpd", "bfdd") if f"{daemon}=no" not in files["daemons"]]
        self.nodes[name].start_frr(files["frr.conf"], wanted)
        for file in files:
            if file.startswith("dnsmasq-"):
                self.start_relay(name, file.removeprefix("dnsmasq-").removesuffix(".conf"))

    def start_relay(self, name: str, vrf: str) -> None:
        """Start a DHCP relay as its unit does."""
        node, files = self.nodes[name], self.job["switches"][name]
        node.write(f"/etc/gpuyard/dnsmasq-{vrf}.conf", files[f"dnsmasq-{vrf}.conf"])
        unit = files["dhcp-relay@.service"]
        command = next(line for line in unit.splitlines() if line.startswith("ExecStart=")).partition("=")[2].replace("%i", vrf)
        node.start(command, f"relay-{vrf}")

    def build_peer(self, name: str) -> None:
        peer, node = self.job["peers"][name], self.nodes[name]
        batch = ["link set lo up", *(f"addr add {address} dev lo" for address in peer["loopbacks"])]
        for port, address in peer["ports"].items():
            batch += [f"addr add {address} dev {port}", f"link set {port} up"]
        node.run("sysctl", "-qw", "net.ipv4.ip_forward=1")
        node.run("ip", "-b", "-", text="\n".join(batch) + "\n")
        node.start_frr(peer["frr.conf"], ["zebra", "staticd", "bgpd"])
        if not os.fork():
            node.join()
            serve()

    def play(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for step in self.job["steps"]:
            begin = up_s()
            try:
                found[step["name"]] = getattr(self, "do_" + step["do"])(step)
            except Exception as error:
                found[step["name"]] = {"error": f"{type(error).__name__}: {error}"}
            (JOB / "found.json").write_text(json.dumps(found, indent=1), "utf-8")
            say(f"{step['name']} ({up_s() - begin:.1f} s): {json.dumps(found[step['name']])[:300]}")
        return found

    def do_ping(self, step: dict[str, Any]) -> dict[str, Any]:
        """Ping once; with `within_s` until the first answer, and then once more."""
        deadline = up_s() + step.get("within_s", 0)
        source = ["-I", step["source"]] if "source" in step else []
        while True:
            said = self.nodes[step["node"]].run(
                "ping", "-n", "-c", str(step.get("count", 3)), "-i", "0.3", "-W", "2", *source, step["to"], check=False
            )
            numbers = re.search(r"(\d+) packets transmitted, (\d+) received", said)
            result = {"sent": 0, "received": 0, "duplicates": said.count("DUP!")}
            if numbers:
                result |= {"sent": int(numbers[1]), "received": int(numbers[2])}
            if result["received"] or up_s() > deadline:
                return result

    def do_ask(self, step: dict[str, Any]) -> str:
        """Return the address that an outside server sees a connection come from."""

        def work() -> str:
            with socket.create_connection((step["to"], OUTSIDE_PORT), 20, (step.get("source", ""), 0)) as link:
                return link.recv(100).decode()

        return self.nodes[step["node"]].inside(work)

    def do_vtysh(self, step: dict[str, Any]) -> Any:
        said = self.nodes[step["node"]].run("vtysh", "-c", step["command"])
        return json.loads(said) if step["command"].endswith("json") else said

    def do_until(self, step: dict[str, Any]) -> str:
        """Run a shell command until it succeeds."""
        deadline = up_s() + step.get("within_s", PATIENCE_S)
        while up_s() < deadline:
            done = subprocess.run(
                ["sh", "-c", step["command"]],
                preexec_fn=self.nodes[step["node"]].join,
                capture_output=True,
                text=True,
                check=False,
            )
            if not done.returncode:
                return done.stdout.strip()
            time.sleep(1)
        return "never"

    def do_lease(self, step: dict[str, Any]) -> str:
        """Get an address by DHCP and use it; return address, gateway and server, nothing without an answer."""
        script = Path("/nodes", step["node"], "var/tmp/lease")
        script.write_text(LEASE, "utf-8")
        script.chmod(0o755)
        client = ("/extra/bin/busybox", "udhcpc", "-i", step["port"], "-f", "-q", "-n", "-t", "5", "-T", "3")
        return self.nodes[step["node"]].run(*client, "-s", "/var/tmp/lease", check=False).strip()

    def do_start(self, step: dict[str, Any]) -> str:
        self.nodes[step["node"]].start(step["command"], step["name"])
        return "started"

    def do_shell(self, step: dict[str, Any]) -> str:
        return self.nodes[step["node"]].run("sh", "-c", step["command"], check=False)


def serve() -> None:
    """Answer every connection with the address that it comes from, for ever."""
    with socket.create_server(("0.0.0.0", OUTSIDE_PORT)) as server:
        while True:
            link, address = server.accept()
            with link:
                link.sendall(address[0].encode())


def prepare() -> None:
    """Mount what a system has beside its root, and put ifupdown2 where its package does."""
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    for folder in ("/run", "/tmp"):
        mount("none", folder, "tmpfs")
    for folder in ("/etc/frr", "/etc/network", "/nodes", "/etc/gpuyard", "/etc/iproute2/rt_tables.d"):
        Path(folder).mkdir(parents=True, exist_ok=True)
    Path("/run/network").mkdir()
    shutil.copytree("/extra/usr/share/ifupdown2", "/usr/share/ifupdown2", dirs_exist_ok=True)
    Path("/usr/share/ifupdown2/ifupdown2").chmod(0o755)
    shutil.copytree("/extra/etc/network", "/etc/network", dirs_exist_ok=True)
    Path("/etc/network/ifupdown2/policy.d").mkdir(parents=True, exist_ok=True)
    for name in ("ifup", "ifdown", "ifquery", "ifreload"):
        Path("/usr/sbin", name).unlink(missing_ok=True)
        Path("/usr/sbin", name).symlink_to("/usr/share/ifupdown2/ifupdown2")
    subprocess.run(
        ["modprobe", "-a", "vrf", "veth", "bridge", "vxlan", "8021q", "dummy", "bonding", "nf_tables", "nft_ct", "nft_chain_nat"],
        check=True,
    )
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def main() -> None:
    report: dict[str, Any] = {"boot_s": up_s()}
    fabric = None
    try:
        prepare()
        fabric = Fabric(json.loads((JOB / "job.json").read_text("utf-8")))
        fabric.build()
        report["found"] = fabric.play()
    except Exception:
        report["failed"] = traceback.format_exc()
        say(report["failed"])
    report["times"] = fabric.times if fabric else {}
    report["end_s"] = up_s()
    (JOB / "report.json").write_text(json.dumps(report), "utf-8")


if __name__ == "__main__":
    try:
        main()
    finally:
        os.sync()
        Path("/proc/sysrq-trigger").write_text("o", "utf-8")
        time.sleep(10)
