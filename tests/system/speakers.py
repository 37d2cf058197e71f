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


class Gobgp:
    """GoBGP on a node: one for each BGP instance, as in Cilium's agent; parts of the pods' range are told by its interface."""

    def __init__(self, node: Node, objects: Objects, router_id: str, parts: Sequence[str]) -> None:
        self.node, self.parts = node, parts
        named = {(found["kind"], found["metadata"]["name"]): found["spec"] for found in objects}
        selector = {"matchLabels": {"kubernetes.io/hostname": node.name}}
        (own,) = (spec for (kind, _), spec in named.items() if "bgpInstances" in spec and spec["nodeSelector"] == selector)
        self.names = [f"gobgp{number}" for number, _ in enumerate(own["bgpInstances"])]
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

    def announce(self, *parts: str) -> None:
        """Tell it of parts of the pods' range, each with the attributes that it shall have beside."""
        for name in self.names:
            lines = "".join(f"gobgp --target=unix:///run/{name}.sock global rib add {part} || exit 1\n" for part in parts)
            self.node.run("sh", "-c", lines)

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
        self.node.write(
            "/run/bird.conf",
            f"""router id {self.router_id};
protocol static {{
{routes}}}
filter calico_export_to_bgp_peers {{
{own}  if (net ~ {self.pool}) then accept;
  reject;
}}
protocol kernel {{
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
        return f"protocol bgp {_name_session(peer)} from bgp_template {{ {' '.join(lines)} }}\n"


def _name_session(peer: dict[str, Any]) -> str:
    return f"Node_{peer['peerIP'].replace('.', '_')}"


def start_program(node: Node, name: str, command: str) -> None:
    """Start a program on a node; its process is found again by its name."""
    node.run("sh", "-c", f"rm -f /run/{name}.sock; {command} >>/run/{name}.log 2>&1 </dev/null & echo $! >/run/{name}.pid")


def signal_all(node: Node, signal: str) -> None:
    """Send a signal to all speakers of a node."""
    node.run("sh", "-c", f"cat /run/*.pid | xargs kill -{signal}")
