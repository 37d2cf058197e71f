"""What a switch template sees. docs/add-a-switch-vendor.md is the list; a test holds the two together."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address, ip_interface
from typing import Any

from cluster_model.plan.model import Switch, SwitchPort
from cluster_model.plan.model.overlay import VXLAN_OVERHEAD_BYTES, Overlay
from cluster_model.plan.model.switches import Use
from cluster_model.render.switch.scene import Scene
from cluster_model.render.switch.sonic import format_config_db

PREFIX_LIMIT = 16000
"""Routes that a neighbour may send before its session is shut: above all that 1,600 leafs, 8,000 service addresses and 5,000
nodes' pods announce, and below what the smallest route tables hold. One number for all, so that growth changes no switch."""
NODE_PREFIX_LIMIT = 8
"""Parts of the pods' range that are taken from a node of Kubernetes: Cilium gives it one and Calico one block (K8S012), and a
node that comes back with another part may have two for a while."""


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
class Pods:
    """Pods whose packets a network carries as they are: nodes have parts of `pool` with `length`, and speak as `asn`.

    Control servers tell of `address` beside: the API server's, without length; empty where leafs are told of none.
    """

    pool: str
    length: int
    asn: int
    address: str

    @property
    def is_one_nodes(self) -> bool:
        """Return whether the pool is a single part, which filters cannot take for longer than itself."""
        return self.pool.endswith(f"/{self.length}")


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


def describe_switch(scene: Scene, switch: Switch) -> dict[str, Any]:
    """Return the template context of one switch."""
    network = scene.network_of(switch)
    kubernetes = scene.plan.kubernetes
    carries_pods = kubernetes.node_asn and kubernetes.network == network.name
    told = kubernetes.pod_pool, kubernetes.node_prefix, kubernetes.node_asn, kubernetes.endpoint.announced
    nodes = tuple(_list_sessions(switch, "host"))
    return {
        "plan": scene.plan,
        "site": scene.plan.site,
        "switch": switch,
        "network": network,
        "lossless": scene.plan.lossless if network.lossless else None,
        "platform": scene.catalogue.platforms.get(switch.nos),
        "device": scene.catalogue.switch(switch.model),
        "loopback": switch.loopback.partition("/")[0],
        "sessions": tuple(_list_sessions(switch, "fabric")),
        "node_sessions": nodes,
        "control_sessions": tuple(session for session in nodes if session.peer in scene.announcers),
        "pods": Pods(*told) if carries_pods else None,
        "maximum_paths": 64 if sum(_is_fabric(port) for port in switch.ports) <= 64 else 128,
        "prefix_limit": PREFIX_LIMIT,
        "node_prefix_limit": NODE_PREFIX_LIMIT,
        "services": scene.services,
        "overlay": switch.overlay,
        "tunnel_mtu_bytes": switch.mtu_bytes - VXLAN_OVERHEAD_BYTES,
        "segment_peers": scene.list_segment_peers(switch),
        "relays": tuple(
            Relay(vlan.id, vlan.address.partition("/")[0], server) for vlan in switch.vlans for server in vlan.dhcp_servers
        ),
        "relay_returns": _list_relay_returns(switch.overlay) if switch.overlay else (),
        "sonic_config_db": lambda: format_config_db(scene, switch),
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


def _list_sessions(switch: Switch, use: Use) -> list[Session]:
    """Return the sessions of a switch: with other switches (`fabric`), or with nodes of Kubernetes (`host`)."""
    return [
        Session(port.name, port.peer, port.peer_port, port.peer_asn, port.peer_address)
        for port in switch.ports
        if port.peer_asn and port.use == use
    ]
