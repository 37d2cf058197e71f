"""What a switch template sees. docs/add-a-switch-vendor.md is the list; a test holds the two together."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_address, ip_interface
from typing import Any

from cluster_model.catalogue.load import Catalogue
from cluster_model.plan.model import Network, Plan, Switch, SwitchPort
from cluster_model.plan.model.overlay import VXLAN_OVERHEAD_BYTES, Overlay
from cluster_model.render.switch.sonic import format_config_db
from cluster_model.render.switch.sonic_types import Row

PREFIX_LIMIT = 16000
"""Routes that a neighbour may send before its session is shut: above all that 1,600 leafs and 8,000 service addresses announce,
and below what the smallest route tables hold. One number for all, so that growth changes no switch."""


@dataclass(frozen=True, slots=True)
class Session:
    """A BGP session: `asn` is the neighbour's; `address` its address, empty where the link is unnumbered."""

    port: str
    peer: str
    peer_port: str
    asn: int
    address: str

    @property
    def unnumbered(self) -> bool:
        """Return whether the session runs over link-local addresses."""
        return not self.address


@dataclass(frozen=True, slots=True)
class Relay:
    """DHCP relayed from a VLAN: `address` is the VLAN's gateway, without length."""

    vlan: int
    address: str
    server: str


@dataclass(frozen=True, slots=True)
class RelayReturn:
    """DHCP servers in `vrf` answer to a relay in VRF `to` of this switch; `gateway` is the relay's address, without length."""

    vrf: str
    to: str
    gateway: str


class Scene:
    """The plan with what its switches share."""

    def __init__(self, plan: Plan, catalogue: Catalogue) -> None:
        self.plan = plan
        self.catalogue = catalogue
        self.shared: dict[Any, Any] = {}
        self._networks = {network.name: network for network in plan.networks}
        self._rows: dict[str, Row] = {}

    @cached_property
    def services(self) -> tuple[str, ...]:
        """Addresses of the site's services, each once, in their order."""
        site = self.plan.site
        return tuple(dict.fromkeys((*site.dns, *site.ntp, *site.syslog, *site.snmp_managers)))

    @cached_property
    def cable_lengths(self) -> dict[tuple[str, str], int]:
        """Length in whole metres, rounded up, of the cable at (device, port)."""
        lengths: dict[tuple[str, str], int] = {}
        for cable in self.plan.cables:
            length_m = max(1, math.ceil(cable.length_m))
            lengths[cable.a, cable.a_port] = lengths[cable.b, cable.b_port] = length_m
        return lengths

    @cached_property
    def cable_fecs(self) -> dict[str, dict[str, str]]:
        """Error correction that each cable needs, by device and port; cables without a planned one have no entry."""
        fecs: dict[str, dict[str, str]] = {}
        for cable in self.plan.cables:
            if cable.fec:
                fecs.setdefault(cable.a, {})[cable.a_port] = cable.fec
                fecs.setdefault(cable.b, {})[cable.b_port] = cable.fec
        return fecs

    @cached_property
    def _tunnels(self) -> dict[tuple[str, int, str], tuple[str, ...]]:
        """Tunnel addresses of the other leafs in (network, unit), beside each leaf's own."""
        units: dict[tuple[str, int], list[str]] = {}
        for switch in self.plan.switches:
            if switch.role == "leaf" and switch.overlay is not None:
                units.setdefault((switch.network, switch.unit), []).append(switch.overlay.vtep)
        return {(*unit, own): tuple(vtep for vtep in vteps if vtep != own) for unit, vteps in units.items() for own in vteps}

    def shared_row(self, name: str, make: Callable[[Scene, str], Row]) -> Row:
        """Return the row that describes a switch to its neighbours, made once."""
        if name not in self._rows:
            self._rows[name] = make(self, name)
        return self._rows[name]

    def network_of(self, switch: Switch) -> Network:
        """Return the network that a switch belongs to."""
        return self._networks[switch.network]

    def list_segment_peers(self, switch: Switch) -> tuple[str, ...]:
        """Return the tunnel addresses of the other leafs that share Ethernet segments with a switch."""
        if switch.overlay is None or not any(bond.esi for bond in switch.overlay.bonds):
            return ()
        return self._tunnels[switch.network, switch.unit, switch.overlay.vtep]

    def describe(self, switch: Switch) -> dict[str, Any]:
        """Return the template context of one switch."""
        network = self.network_of(switch)
        sessions = tuple(_list_sessions(switch))
        return {
            "plan": self.plan,
            "site": self.plan.site,
            "switch": switch,
            "network": network,
            "lossless": self.plan.lossless if network.lossless else None,
            "platform": self.catalogue.platforms.get(switch.nos),
            "device": self.catalogue.switch(switch.model),
            "loopback": switch.loopback.partition("/")[0],
            "sessions": sessions,
            "maximum_paths": 64 if sum(_is_fabric(port) for port in switch.ports) <= 64 else 128,
            "prefix_limit": PREFIX_LIMIT,
            "services": self.services,
            "overlay": switch.overlay,
            "tunnel_mtu_bytes": switch.mtu_bytes - VXLAN_OVERHEAD_BYTES,
            "segment_peers": self.list_segment_peers(switch),
            "relays": tuple(
                Relay(vlan.id, vlan.address.partition("/")[0], server) for vlan in switch.vlans for server in vlan.dhcp_servers
            ),
            "relay_returns": _list_relay_returns(switch.overlay) if switch.overlay else (),
            "sonic_config_db": lambda: format_config_db(self, switch),
        }


def _is_fabric(port: SwitchPort) -> bool:
    return port.use == "fabric"


def _list_relay_returns(overlay: Overlay) -> tuple[RelayReturn, ...]:
    """Return the gateways that DHCP servers here answer to from another VRF."""
    taken = {(vrf.name, taken.vrf, line.prefix) for vrf in overlay.vrfs for taken in vrf.imports for line in taken.prefixes}
    homes = [(ip_interface(vlan.address).network, vlan.vrf) for vlan in overlay.vlans if vlan.address]
    found: dict[RelayReturn, None] = {}
    for vlan in overlay.vlans:
        for server in vlan.dhcp_servers:
            for subnet, vrf in homes:
                prefix = str(ip_interface(vlan.address).network)
                if ip_address(server) in subnet and (vrf, vlan.vrf, prefix) in taken:
                    found[RelayReturn(vrf, vlan.vrf, vlan.address.partition("/")[0])] = None
    return tuple(found)


def _list_sessions(switch: Switch) -> list[Session]:
    return [
        Session(port.name, port.peer, port.peer_port, port.peer_asn, port.peer_address) for port in switch.ports if port.peer_asn
    ]
