"""The running twin: boots switches from their files and hosts from the plan, and breaks and mends what it booted."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from cluster_model.plan.model import Server, ServerPort, Switch
from cluster_model.twin.dataplane import Interface
from cluster_model.twin.ethernet.lines import (
    add_interface,
    find_present,
    list_bridge_lines,
    list_host_lines,
    list_removal_lines,
    list_service_lines,
    list_site_lines,
    list_switch_lines,
    list_vlan_lines,
    set_up_port,
)
from cluster_model.twin.ethernet.mlag import MlagDouble
from cluster_model.twin.ethernet.outside import Peer, list_peer_lines, list_peers, write_peer_conf
from cluster_model.twin.ethernet.routes import LOCAL, name_route
from cluster_model.twin.ethernet.scope import SITE, Link, Scope
from cluster_model.twin.ethernet.speakers import OPTIONS, list_speaker_lines, list_speakers, write_speaker_conf
from cluster_model.twin.ethernet.vty import ask_daemon
from cluster_model.twin.machine import DAEMONS
from cluster_model.twin.node import PATIENCE_S, Node, NodeError
from cluster_model.twin.tree import SwitchFiles, Tree, name_device

WORKERS = 4
_FORWARDING = {
    "ipv4/ip_forward": "1",
    "ipv6/conf/all/forwarding": "1",
    "ipv4/fib_multipath_hash_policy": "1",
    "ipv4/conf/all/ignore_routes_with_linkdown": "1",
    "ipv4/conf/all/rp_filter": "0",
    "ipv4/conf/default/rp_filter": "0",
}
_HOST = {key: value for key, value in _FORWARDING.items() if "forward" not in key}
NO_NEXTHOP_OBJECTS = "no zebra nexthop kernel enable\n"
"""What our FRR dialect renders for Debian's FRR 8.4, which loses equal paths when a port comes back (FRR pull request 13413).
Other systems bring an FRR of their own, in which that is mended; here they run with ours, so the twin adds the line."""
LLDP = "configure lldp tx-interval {:.0f}\n"
"""The twin's own: neighbours are known within seconds instead of half a minute."""


_OPTIONS = {"zebra": "-s 90000000"}


def _start_script(daemons: Sequence[str], options: Mapping[str, str] = _OPTIONS) -> str:
    """Return the script that starts a machine's daemons and LLDP."""
    lines = ["rm -f /run/frr/* /run/lldpd.*", "chown -R frr:frr /etc/frr", "PATH=$PATH:/usr/sbin:/sbin"]
    for daemon in daemons:
        said = f"/run/frr/{daemon}.log 2>&1 </dev/null"
        lines.append(f"{DAEMONS}/{daemon} -d -A 127.0.0.1 -u frr -g frr {options.get(daemon, '')} >{said} || exit 3")
    return "\n".join([*lines, "lldpd >/run/lldpd.log 2>&1 </dev/null"])


_TIMER = re.compile(r"^.*(?:-interval \d+| timers (?:bgp )?\d+ \d+)$", re.MULTILINE)
"""Lines of frr.conf that say how often BFD or BGP speaks, and how long it waits."""


def _stretch(line: str, times: float) -> str:
    head, _, numbers = re.split(r"( )(?=\d+(?: \d+)?$)", line, maxsplit=1)
    return f"{head} {' '.join(str(round(int(number) * times)) for number in numbers.split())}"


_LOAD = "vtysh -b >/run/frr/vtysh.log 2>&1 || { cat /run/frr/vtysh.log; exit 5; }"


class Fabric:
    """A twin while it runs.

    Args:
        tree: what is booted.
        scope: which part of it.
        say: takes a line about what is being done.
        timers: how many times longer BFD and BGP wait than rendered.
    """

    def __init__(self, tree: Tree, scope: Scope, say: Callable[[str], None], timers: float = 1.0) -> None:
        self.tree = tree
        self.scope = scope
        self.say = say
        self.nodes: dict[str, Node] = {}
        self.timers = timers
        self._lldp = LLDP.format(2 * timers)
        self.dead: set[str] = set()
        self.cut: set[Link] = set()
        self._mlag = MlagDouble(self)
        self.is_closed = False
        self.times: dict[str, float] = {}
        self._ports: dict[str, dict[str, ServerPort]] = {
            server.name: {port.name: port for port in server.ports} for server in scope.servers.values()
        }
        self._links: dict[tuple[str, str], Link] = {end: link for link in scope.links for end in link.ends}
        self._speakers = {speaker.server: speaker for speaker in list_speakers(scope, scope.links)}

    # boot ------------------------------------------------------------------------------------------------------------

    def boot(self) -> None:
        """Make the machines, plug the cables, start everything; NodeError where something does not start."""
        begin = time.monotonic()
        names = [*self.scope.switches, *self.scope.servers]
        names += [SITE] if any(link.b == SITE for link in self.scope.links) else []
        peers = list(list_peers(self.tree.plan, self.scope.switches.values()))
        names += [peer.machine for peer in peers]
        self.say(f"{len(self.scope.switches)} switches, {len(self.scope.servers)} hosts: namespaces")
        for name in names:
            self.nodes[name] = Node(name)
        self.say(f"{len(self.scope.links)} cables")
        self._plug(self.scope.links)
        with ThreadPoolExecutor(WORKERS) as pool:
            self.say("addresses")
            jobs = [pool.submit(self._prepare_host, server) for server in self.scope.servers.values()]
            jobs += [pool.submit(self._prepare_switch, switch) for switch in self.scope.switches.values()]
            if SITE in self.nodes:
                jobs.append(pool.submit(self._prepare_site))
            jobs += [pool.submit(self._start_peer, peer) for peer in peers]
            for job in jobs:
                job.result()
            self.times["machines"] = time.monotonic() - begin
            for done, _ in enumerate(pool.map(self._start, self.scope.switches), 1):
                self.say(f"daemons: {done} of {len(self.scope.switches)} switches")
            list(pool.map(self._start_host, self.scope.servers))
        self._mlag.sync()
        self.times["boot"] = time.monotonic() - begin

    def close(self) -> None:
        """End everything; whoever still waits for it gets a NodeError."""
        self.is_closed = True
        for node in self.nodes.values():
            node.kill()
        for node in self.nodes.values():
            node.close()

    def _plug(self, links: Iterable[Link]) -> None:
        batch = [
            f"link add {name_device(link.a_port)} netns {self.nodes[link.a].pid} type veth "
            f"peer name {name_device(link.b_port)} netns {self.nodes[link.b].pid}"
            for link in links
        ]
        done = subprocess.run(["ip", "-b", "-"], input="\n".join(batch) + "\n", capture_output=True, text=True, check=False)
        if done.returncode:
            raise NodeError(f"cables: {done.stderr.strip()[-500:]}")

    def _plugged(self, name: str) -> set[str]:
        """Return the devices of a switch's ports that have a cable here."""
        return {name_device(port) for owner, port in self._links if owner == name}

    def files(self, name: str) -> SwitchFiles:
        """Return a switch's files."""
        return self.tree.switch_files(self.scope.switches[name])

    def adapt(self, name: str, frr_conf: str | None = None) -> str:
        """Return a switch's frr.conf as it is booted: the rendered one, with the line that the FRR of this machine needs.

        Under emulation timers are longer: a processor that others use as well misses three packets in 1.5 s now and then.
        """
        text = frr_conf if frr_conf is not None else self.files(name).files["frr.conf"]
        if self.timers > 1:
            text = _TIMER.sub(lambda found: _stretch(found[0], self.timers), text)
        return text if NO_NEXTHOP_OBJECTS in text else text.replace("!\n", f"{NO_NEXTHOP_OBJECTS}!\n", 1)

    def _prepare_switch(self, switch: Switch) -> None:
        node, files = self.nodes[switch.name], self.files(switch.name)
        node.set_kernel(_FORWARDING)
        if "sysctl.conf" in files.files:
            node.write("/var/tmp/sysctl.conf", files.files["sysctl.conf"])
            node.run("sysctl", "-e", "-q", "-p", "/var/tmp/sysctl.conf", check=False)
        self._make_interfaces(switch.name)
        if "nftables.conf" in files.files:
            node.run("nft", "-f", "-", text=files.files["nftables.conf"])
        node.write("/etc/frr/vtysh.conf", "service integrated-vtysh-config\n")
        lldp = files.files.get("lldpd.conf", "configure lldp portidsubtype ifname\n")
        node.write("/etc/lldpd.d/1-rendered.conf", "".join(f"{line}\n" for line in lldp.splitlines() if "pattern" not in line))
        node.write("/etc/lldpd.d/2-twin.conf", self._lldp)
        node.write("/etc/frr/frr.conf", self.adapt(switch.name))

    def _make_interfaces(self, name: str) -> None:
        """Make a switch's interfaces, as its files say."""
        node, plane = self.nodes[name], self.files(name).plane
        present = find_present(plane, self._plugged(name))
        node.configure(list_switch_lines(plane, self._plugged(name)))
        if lines := list_bridge_lines(plane, present):
            node.configure(lines, "bridge")
        node.set_kernel(
            {f"ipv4/conf/{item.name}/arp_accept": "1" for item in plane.interfaces.values() if "arp-accept" in item.flags}
        )

    def _start_peer(self, peer: Peer) -> None:
        node = self.nodes[peer.machine]
        node.set_kernel(_FORWARDING)
        node.configure(list_peer_lines(peer))
        node.write("/etc/frr/vtysh.conf", "service integrated-vtysh-config\n")
        node.write("/etc/frr/frr.conf", write_peer_conf(peer))
        self._start_frr(node, ("zebra", "staticd", "bgpd"))

    def _start(self, name: str) -> None:
        self._start_frr(self.nodes[name], self.files(name).daemons)

    @staticmethod
    def _start_frr(node: Node, daemons: Sequence[str], options: Mapping[str, str] = _OPTIONS) -> None:
        """Start a machine's daemons and LLDP, and let them read frr.conf once they listen."""
        node.run("sh", "-c", _start_script(daemons, options))
        sockets = [node.root / f"run/frr/{daemon}.vty" for daemon in daemons]
        deadline = time.monotonic() + PATIENCE_S
        while missing := [socket.name for socket in sockets if not socket.exists()]:
            if time.monotonic() > deadline:
                raise NodeError(f"{node.name}: {', '.join(missing)} did not come")
            time.sleep(0.05)
        node.run("sh", "-c", _LOAD)

    def _prepare_host(self, server: Server) -> None:
        node = self.nodes[server.name]
        node.set_kernel(_HOST)
        plugged = {port for owner, port in self._links if owner == server.name}
        node.configure(list_host_lines(server, plugged))
        node.write("/etc/lldpd.d/2-twin.conf", self._lldp)
        if speaker := self._speakers.get(server.name):
            node.configure(list_speaker_lines(speaker))
            node.write("/etc/frr/vtysh.conf", "service integrated-vtysh-config\n")
            node.write("/etc/frr/frr.conf", write_speaker_conf(speaker))

    def _start_host(self, name: str) -> None:
        node = self.nodes[name]
        if name in self._speakers:
            self._start_frr(node, tuple(OPTIONS), OPTIONS)
        else:
            node.run("sh", "-c", "PATH=$PATH:/usr/sbin:/sbin; lldpd >/run/lldpd.log 2>&1 </dev/null")

    def _prepare_site(self) -> None:
        self.nodes[SITE].set_kernel(_FORWARDING)
        self.nodes[SITE].configure(list_site_lines(self.tree.plan, self.scope))

    # break and mend --------------------------------------------------------------------------------------------------

    def set_link(self, link: Link, up: bool) -> None:
        """Cut or join a cable, at its end away from the hosts, so that a host's own routes stay."""
        self.nodes[link.b].configure([f"link set {name_device(link.b_port)} {'up' if up else 'down'}"])
        (self.cut.discard if up else self.cut.add)(link)
        self._mlag.sync()

    def kill_switch(self, name: str) -> None:
        """Let a switch lose its power: no process says goodbye, all its ports are dark."""
        node = self.nodes[name]
        node.configure([f"link set {name_device(port)} down" for owner, port in self._links if owner == name])
        node.kill_all()
        if lines := list_removal_lines(self.files(name).plane, self._plugged(name)):
            node.configure(lines)
        self.dead.add(name)
        self._mlag.sync()

    def start_switch(self, name: str, frr_conf: str | None = None) -> None:
        """Start a dead switch again, as from its disk.

        Args:
            name: its name.
            frr_conf: what its frr.conf says from now on; None for the rendered one.
        """
        node = self.nodes[name]
        for table in ("bgp", "static"):
            node.run("ip", "route", "flush", "proto", table, check=False)
        node.run("ip", "nexthop", "flush", check=False)
        node.write("/etc/frr/frr.conf", self.adapt(name, frr_conf))
        if list_removal_lines(self.files(name).plane, self._plugged(name)):
            self._make_interfaces(name)
        node.configure([f"link set {name_device(port)} up" for owner, port in self._links if owner == name])
        self.dead.discard(name)
        self._mlag.sync()
        self._start(name)

    def exchange(self, name: str, old: Interface, new: Interface) -> None:
        """Put another device in the place of one that a switch has made."""
        node, plane = self.nodes[name], self.files(name).plane
        node.configure([f"link del {old.name}", *add_interface(plane, new, find_present(plane, self._plugged(name)))])
        node.configure(list_vlan_lines(new), "bridge")

    def replug(self, old: Sequence[Link], new: Sequence[Link]) -> None:
        """Pull cables and plug others into the same ports; every port keeps what its device says of it."""
        for link in old:
            self.nodes[link.a].configure([f"link del {name_device(link.a_port)}"])
        self._plug(new)
        for link in new:
            for device, port in link.ends:
                if device in self.scope.switches:
                    self.set_up_end(device, port)
                else:
                    self.nodes[device].configure(set_up_port(self._ports[device][port], is_new=False))
            if link.a in self.scope.servers:
                server = self.scope.servers[link.a]
                plugged = {port for owner, port in self._links if owner == server.name}
                self.nodes[link.a].configure(list_service_lines(server, plugged, is_new=False))

    def set_up_end(self, name: str, port: str) -> None:
        """Give a switch's port, just plugged, what its files say of it."""
        plane = self.files(name).plane
        device = name_device(port)
        if device in plane.interfaces:
            lines = add_interface(plane, plane.interfaces[device], [device])
            for owner in plane.interfaces.values():
                if device in owner.members and owner.kind == "bond":
                    lines += [f"link set {device} down", f"link set {device} master {owner.name}", f"link set {device} up"]
                elif device in owner.members and not owner.is_vlan_aware:
                    lines.append(f"link set {device} master {owner.name}")
            self.nodes[name].configure(lines)
            if vlans := list_vlan_lines(plane.interfaces[device]):
                self.nodes[name].configure(vlans, "bridge")

    # read ------------------------------------------------------------------------------------------------------------

    def show(self, name: str, daemon: str, what: str) -> Any:
        """Return what a daemon shows as JSON; {} where it does not answer."""
        said = ask_daemon(self.nodes[name].root / f"run/frr/{daemon}.vty", f"show {what} json")
        try:
            return json.loads(said)
        except json.JSONDecodeError:
            return {}

    def read_routes(self, name: str) -> dict[str, frozenset[str]]:
        """Return what a switch forwards by: prefix to the devices of its next hops; own networks and black holes left out.

        Routes of VRFs are called as name_route does, and have addresses of next hops; those of single hosts are left out.
        """
        if self.is_closed:
            raise NodeError("the twin was ended")
        vrfs = self._vrfs(name)
        tables = ["show", "table", "all"] if vrfs else []
        command = ["nsenter", "-t", str(self.nodes[name].pid), "-n", "ip", "-N", "-j", "-4", "route", *tables]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        routes = {}
        for route in json.loads(said or "[]"):
            if route.get("protocol") in {"186", "196", "bgp", "static"} and route.get("type") not in {"blackhole", "unreachable"}:
                table = str(route.get("table", "254"))
                if table != "254" and table not in vrfs:
                    continue
                vrf = vrfs.get(table, "")
                hops = route.get("nexthops") or ([route] if "dev" in route else [])
                hops = [hop for hop in hops if not {"dead", "linkdown"} & set(hop.get("flags", ()))]
                prefix = "0.0.0.0/0" if route["dst"] == "default" else route["dst"]
                prefix = prefix if "/" in prefix else f"{prefix}/32"
                if vrf and hops and not prefix.endswith("/32"):
                    routes[name_route(prefix, vrf)] = frozenset(hop.get("gateway", LOCAL) for hop in hops)
                elif hops and not vrf:
                    routes[prefix] = frozenset(hop["dev"] for hop in hops)
        return routes

    def _vrfs(self, name: str) -> dict[str, str]:
        """Return the VRFs of a switch, as the plan calls them, by the number of their table."""
        overlay = self.scope.switches[name].overlay
        if overlay is None:
            return {}
        devices = {vrf.name: self.find_vrf(name, vrf.name) for vrf in overlay.vrfs}
        return {str(device.table): vrf for vrf, device in devices.items() if device is not None}

    def find_vrf(self, name: str, vrf: str) -> Interface | None:
        """Return the device of a VRF, which some systems call by a prefix and its name."""
        interfaces = self.files(name).plane.interfaces
        return next((interfaces[device] for device in (vrf, f"Vrf{vrf}") if device in interfaces), None)

    def read_neighbours(self, name: str) -> dict[str, tuple[str, set[str]]]:
        """Return a device's LLDP neighbours: port to (system name, names that the far port goes by, its MAC included)."""
        said = self.nodes[name].run("lldpcli", "-f", "json0", "show", "neighbors", check=False)
        try:
            body = json.loads(said)
        except json.JSONDecodeError:
            return {}
        neighbours: dict[str, tuple[str, set[str]]] = {}
        for part in body.get("lldp", []):
            for interface in part.get("interface", []):
                far = next((chassis["name"][0]["value"] for chassis in interface.get("chassis", []) if chassis.get("name")), "")
                names = {
                    item["value"] for port in interface.get("port", []) for key in ("id", "descr") for item in port.get(key, [])
                }
                neighbours[interface["name"]] = (far, names)
        return neighbours
