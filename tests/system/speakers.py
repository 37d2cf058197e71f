"""Speakers of network plug-ins, configured by the objects that their agents read: GoBGP as Cilium has it, BIRD as Calico has it.

Both are Debian's programs. Cilium has GoBGP as a library, and Calico a BIRD 1.6 with small changes: what their agents tell them
is told in files here, after Cilium's pkg/bgp/gobgp (server.go, conversions.go) and Calico's confd/etc/calico/confd/templates.
Each starts as its agent starts it, always in the restarting state (RFC 4724): Cilium's LocalRestarting, calico/node's `bird -R`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cluster_model.twin.node import Node
from tests.slowness import wait_for

Objects = Sequence[dict[str, Any]]
RESTART_S = 120
"""The restart time of Cilium and of BIRD where nothing says another one."""
PATIENCE_S = 60


WATCH = """cd /run; had=
while :; do
  have=$(ip -o -4 address show dev {interface} | awk '$4 !~ /^127/ {{split($4, a, "/"); print a[1] "/32"}}' | sort -u)
  for verb in add del; do
    [ $verb = add ] && new=$have old=$had || new=$had old=$have
    for prefix in $new; do
      case " $(echo $old) " in *" $prefix "*) continue ;; esac
      for each in {sockets}; do gobgp --target=unix://$each global rib $verb $prefix$([ $verb = del ] || echo " origin igp"); done
    done
  done
  had=$have
  sleep 0.2
done
"""
"""Tells GoBGP of an interface's addresses as Cilium does: each as a /32, but loopback addresses. Source: cilium/cilium,
pkg/bgp/manager/reconciler/interface.go."""


class Gobgp:
    """GoBGP on a node: one for each BGP instance, as in Cilium's agent; parts of the pods' range are told by its interface."""

    def __init__(self, node: Node, objects: Objects, router_id: str, parts: Sequence[str]) -> None:
        self.node, self.parts = node, parts
        named = {(found["kind"], found["metadata"]["name"]): found["spec"] for found in objects}
        selector = {"matchLabels": {"kubernetes.io/hostname": node.name}}
        (own,) = (spec for (kind, _), spec in named.items() if "bgpInstances" in spec and spec["nodeSelector"] == selector)
        self.names = [f"gobgp{number}" for number, _ in enumerate(own["bgpInstances"])]
        self.interfaces = _list_interfaces(named, own)
        for name, instance in zip(self.names, own["bgpInstances"], strict=True):
            port = instance.get("localPort", -1)  # -1: it listens nowhere
            text = f'[global.config]\nas = {instance["localASN"]}\nrouter-id = "{router_id}"\nport = {port}\n'
            for peer in instance["peers"]:
                text += _write_neighbor(peer, named["CiliumBGPPeerConfig", peer["peerConfigRef"]["name"]])
            node.write(f"/run/{name}.toml", text)

    def start(self) -> None:
        """Start it, and tell it of the node's own parts before its sessions are there."""
        for name in self.names:
            options = f"-f /run/{name}.toml -r --api-hosts=unix:///run/{name}.sock --pprof-disable"
            start_program(self.node, name, f"gobgpd {options}")
        for name in self.names:
            wait_for(lambda name=name: "Router-ID" in self.ask(name, "global", check=False), PATIENCE_S, "gobgpd")
        self.announce(*self.parts)
        for interface in self.interfaces:
            sockets = " ".join(f"/run/{name}.sock" for name in self.names)
            self.node.write(f"/run/watch-{interface}.sh", WATCH.format(interface=interface, sockets=sockets))
            start_program(self.node, f"watch-{interface}", f"sh /run/watch-{interface}.sh")

    def announce(self, *parts: str) -> None:
        """Tell it of parts of the pods' range, each with the attributes that it shall have beside.

        All have ORIGIN IGP, as Cilium says. Source: cilium/cilium, pkg/bgp/types, NewPathForPrefix.
        """
        for name in self.names:
            add = f"gobgp --target=unix:///run/{name}.sock global rib add"
            self.node.run("sh", "-c", "".join(f"{add} {part} origin igp || exit 1\n" for part in parts))

    def withdraw(self, *parts: str) -> None:
        """Take back what was announced beside its own parts."""
        for name in self.names:
            lines = "".join(f"gobgp --target=unix:///run/{name}.sock global rib del {part} || exit 1\n" for part in parts)
            self.node.run("sh", "-c", lines)

    def list_heard(self) -> str:
        """Return the routes that it has from others."""
        said = [self.ask(name, "neighbor", peer, "adj-in") for name in self.names for peer in self._list_peers(name)]
        return "".join(line for line in said if "Network not in table" not in line)

    def ask(self, name: str, *words: str, check: bool = True) -> str:
        """Return what the client of an instance says."""
        return self.node.run("gobgp", f"--target=unix:///run/{name}.sock", *words, check=check)

    def _list_peers(self, name: str) -> list[str]:
        return [line.split()[0] for line in self.ask(name, "neighbor").splitlines()[1:]]


def _list_interfaces(named: dict[tuple[str, str], dict[str, Any]], own: dict[str, Any]) -> list[str]:
    """Return the interfaces whose addresses a node tells of: those of the advertisements that its peers' settings select."""
    refs = {peer["peerConfigRef"]["name"] for instance in own["bgpInstances"] for peer in instance["peers"]}
    found = []
    for ref in sorted(refs):
        (family,) = named["CiliumBGPPeerConfig", ref]["families"]
        selector = family["advertisements"]
        wanted = {key: [value] for key, value in selector.get("matchLabels", {}).items()}
        wanted |= {each["key"]: each["values"] for each in selector.get("matchExpressions", ())}
        for (kind, name), spec in named.items():
            # An advertisement's one label is called as it is: tests/unit/render/kubernetes reads the labels themselves.
            if kind == "CiliumBGPAdvertisement" and all(name in values for values in wanted.values()):
                found += [each["interface"]["name"] for each in spec["advertisements"] if "interface" in each]
    return found


def _write_neighbor(peer: dict[str, Any], settings: dict[str, Any]) -> str:
    timers, restart = settings["timers"], settings["gracefulRestart"]
    enabled = str(restart["enabled"]).lower()
    return f"""
[[neighbors]]
[neighbors.config]
neighbor-address = "{peer["peerAddress"]}"
peer-as = {peer["peerASN"]}
[neighbors.timers.config]
connect-retry = {timers["connectRetryTimeSeconds"]}
hold-time = {timers["holdTimeSeconds"]}
keepalive-interval = {timers["keepAliveTimeSeconds"]}
[neighbors.graceful-restart.config]
enabled = {enabled}
restart-time = {restart.get("restartTimeSeconds", RESTART_S)}
notification-enabled = true
[[neighbors.afi-safis]]
[neighbors.afi-safis.config]
afi-safi-name = "ipv4-unicast"
[neighbors.afi-safis.mp-graceful-restart.config]
enabled = {enabled}
"""


class Bird:
    """BIRD on a node; what it announces stands in its configuration, and among the routes of the node's kernel."""

    def __init__(
        self, node: Node, objects: Objects, router_id: str, pool: str, parts: Sequence[str], restart_s: int = RESTART_S
    ) -> None:
        self.node, self.objects, self.router_id, self.pool = node, objects, router_id, pool
        self.parts, self.restart_s = parts, restart_s
        self.peers = [found["spec"] for found in objects if found["kind"] == "BGPPeer" and found["spec"]["node"] == node.name]
        self.filters = {found["metadata"]["name"]: found["spec"] for found in objects if found["kind"] == "BGPFilter"}

    def start(self) -> None:
        """Start it."""
        self._write(self.parts)
        start_program(self.node, "bird", "bird -R -d -s /run/bird.ctl -c /run/bird.conf")

    def announce(self, *parts: str) -> None:
        """Give the node more parts of the pods' range."""
        self._write([*self.parts, *parts])
        assert "Reconfigured" in self.ask("configure")

    def withdraw(self, *_parts: str) -> None:
        """Take back what was announced beside its own parts."""
        self.announce()

    def list_heard(self) -> str:
        """Return the routes that it has from others."""
        said = [self.ask("show", "route", "protocol", _name_session(peer)) for peer in self.peers]
        return "".join(text.partition("ready.\n")[2] for text in said)

    def list_told(self) -> set[str]:
        """Return the prefixes that it tells its first leaf."""
        lines = self.ask("show", "route", "export", _name_session(self.peers[0])).splitlines()
        return {line.split()[0] for line in lines if line[:1].isdigit()}

    def ask(self, *words: str) -> str:
        """Return what its client says."""
        return self.node.run("birdc", "-s", "/run/bird.ctl", *words)

    def _write(self, parts: Iterable[str]) -> None:
        asn = next(found["spec"]["asNumber"] for found in self.objects if found["kind"] == "BGPConfiguration")
        routes = "".join(f"  route {part} blackhole;\n" for part in parts)
        own = "".join(f"  if (net = {part}) then accept;\n  if (net ~ {part}) then reject;\n" for part in parts)
        sessions = "".join(map(self._write_session, self.peers))
        base = f"{own}  if (net ~ {self.pool}) then accept;\n  reject;\n"
        filters = "".join(_write_filter(name, spec, base) for name, spec in self.filters.items())
        self.node.write(
            "/run/bird.conf",
            f"""router id {self.router_id};
protocol static {{
{routes}}}
filter calico_export_to_bgp_peers {{
{base}}}
{filters}protocol kernel {{
  learn; persist; scan time 2; import all; export all; graceful restart; merge paths on;
}}
protocol device {{ scan time 2; }}
protocol direct {{ interface -"cali*", -"kube-ipvs*", "*"; }}
protocol bfd {{ }}
template bgp bgp_template {{
  local as {asn}; multihop; gateway recursive; import all; export filter calico_export_to_bgp_peers; add paths on;
  graceful restart; graceful restart time {self.restart_s}; connect delay time 1; connect retry time 3; error wait time 5,60;
}}
{sessions}""",
        )

    def _write_session(self, peer: dict[str, Any]) -> str:
        lines = [f"neighbor {peer['peerIP']} as {peer['asNumber']};"]
        if peer.get("sourceAddress", "UseNodeIP") == "UseNodeIP":
            lines.append(f"source address {self.router_id};")
        if "maxRestartTime" in peer:  # which BIRD refuses, "bfd" and all, where there is no source address
            lines.append(f"graceful restart time {self.restart_s}; bfd graceful;")
        lines += [f"export filter {_name_filter(name)};" for name in peer.get("filters", ())]
        return f"protocol bgp {_name_session(peer)} from bgp_template {{ {' '.join(lines)} }}\n"


def _write_filter(name: str, spec: dict[str, Any], base: str) -> str:
    """Return a BGPFilter before what Calico itself lets through: the first rule that matches decides."""
    operators = {"Equal": "=", "NotEqual": "!=", "In": "~", "NotIn": "!~"}
    rules = "".join(
        f"  if (net {operators[rule['matchOperator']]} {rule['cidr']}) then {rule['action'].lower()};\n"
        for rule in spec["exportV4"]
    )
    return f"filter {_name_filter(name)} {{\n{rules}{base}}}\n"


def _name_filter(name: str) -> str:
    return f"calico_export_with_{name}"


def _name_session(peer: dict[str, Any]) -> str:
    return f"Node_{peer['peerIP'].replace('.', '_')}"


def start_program(node: Node, name: str, command: str) -> None:
    """Start a program on a node; its process is found again by its name."""
    node.run("sh", "-c", f"rm -f /run/{name}.sock; {command} >>/run/{name}.log 2>&1 </dev/null & echo $! >/run/{name}.pid")


def signal_all(node: Node, signal: str) -> None:
    """Send a signal to all speakers of a node."""
    node.run("sh", "-c", f"cat /run/*.pid | xargs kill -{signal}")
