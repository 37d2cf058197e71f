"""From a plan and its rendered files to the machine's job: who is linked with whom, who hosts are, what external peers say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cluster_model.plan.model import Plan, Switch

SECRET = re.compile(r"\{\{gpuyard-secret:([a-z0-9-]+)\}\}")
SWITCH_FILES = ("interfaces", "frr.conf", "daemons", "sysctl.conf", "vrf.json", "nftables.conf", "dhcp-relay@.service")


@dataclass(frozen=True, slots=True)
class Outside:
    """An external router: what it announces (more than it may), and addresses of its own."""

    announces: tuple[str, ...]
    addresses: tuple[str, ...] = ()


def fill_secrets(text: str) -> str:
    """Put a fixed dummy where a secret is named."""
    return SECRET.sub(r"dummy-\1", text)


def make_job(plan: Plan, files: dict[str, str], outside: dict[str, Outside], steps: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the job of a plan's business network."""
    switches = [switch for switch in plan.switches if switch.network == "business"]
    peers = {name: _make_peer(plan, switches, name, what) for name, what in outside.items()}
    return {
        "switches": {switch.name: _pick_files(switch, files) for switch in switches},
        "links": _list_links(switches),
        "hosts": {server.name: asdict(server.bonds[0]) for server in plan.servers if server.bonds},
        "peers": peers,
        "steps": list(steps),
    }


def _pick_files(switch: Switch, files: dict[str, str]) -> dict[str, str]:
    assert switch.overlay is not None
    relays = [f"dnsmasq-{vrf.name}.conf" for vrf in switch.overlay.vrfs]
    paths = {name: f"switches/{switch.name}/{name}" for name in (*SWITCH_FILES, *relays)}
    return {name: fill_secrets(files[path]) for name, path in paths.items() if path in files}


def _list_links(switches: Sequence[Switch]) -> list[tuple[str, str, str, str]]:
    links = {}
    for switch in switches:
        for port in switch.ports:
            ends = ((switch.name, port.name), (port.peer, port.peer_port))
            links[frozenset(ends)] = (*ends[0], *ends[1])
        assert switch.overlay is not None
        for external in switch.overlay.externals:
            ends = ((switch.name, external.port), (external.peer, _name_port(switch)))
            links[frozenset(ends)] = (*ends[0], *ends[1])
    return list(links.values())


def _name_port(border: Switch) -> str:
    return f"to-border-{border.index}"


def _make_peer(plan: Plan, switches: Sequence[Switch], name: str, what: Outside) -> dict[str, Any]:
    peer = next(peer for peer in plan.border_peers if peer.name == name)
    ends = [(switch, end) for switch in switches if switch.overlay for end in switch.overlay.externals if end.peer == name]
    lines = [
        "frr defaults traditional",
        *(f"ip route {prefix} Null0" for prefix in what.announces),
        f"router bgp {peer.asn}",
        f" bgp router-id {ends[0][1].peer_address}",
        " no bgp ebgp-requires-policy",
        " no bgp default ipv4-unicast",
    ]
    for switch, end in ends:
        lines += [f" neighbor {end.address.partition('/')[0]} remote-as {switch.asn}"]
        if end.secret:
            lines += [f" neighbor {end.address.partition('/')[0]} password dummy-{end.secret}"]
    lines += [" address-family ipv4 unicast", *(f"  network {prefix}" for prefix in what.announces)]
    lines += [f"  neighbor {end.address.partition('/')[0]} activate" for _, end in ends]
    return {
        "ports": {_name_port(switch): f"{end.peer_address}/31" for switch, end in ends},
        "loopbacks": list(what.addresses),
        "frr.conf": "\n".join([*lines, " exit-address-family", "exit", ""]),
    }
