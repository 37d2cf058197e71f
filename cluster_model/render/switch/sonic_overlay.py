"""Tenants in config_db.json: VRFs, VXLANs, bonds with their Ethernet segments or MLAG, and ports inside VRFs.

EVPN itself is routing and stands in frr.conf. SONiC has no NAT per VRF, and a design rule refuses it, so there is none here.
"""

from __future__ import annotations

from cluster_model.catalogue.platform_types import Platform
from cluster_model.plan.model import Network, Switch
from cluster_model.plan.model.overlay import VXLAN_OVERHEAD_BYTES, Bond, Overlay
from cluster_model.render.switch.sonic_types import Config, Row

TUNNEL = "vtep"
"""The tunnel's name; the kernel's devices are called NAME-VLAN, so it has to be short."""
NVO = "nvo"
SEGMENT_TYPE = "TYPE_3_MAC_BASED"
STARTUP_DELAY_S = 180
HOLD_TIME_S = 1080
"""FRR's own defaults. ConfigDB's default for the start is 300 s, and what SONiC hands to FRR must be what frr.conf leaves out."""


def tabulate_overlay(switch: Switch, network: Network, platform: Platform) -> Config:
    """Return what tenants add to a switch: nothing for spines, which only pass EVPN routes on.

    Raises:
        ValueError: an Ethernet segment's number is not its bond's, which SONiC derives it from.
    """
    overlay = switch.overlay
    if overlay is None or not (overlay.vrfs or overlay.bonds):
        return {}
    config: Config = {
        **_tunnel(overlay, platform),
        "VRF": {platform.vrf(vrf.name): {"vni": str(vrf.vni)} if vrf.vni else {} for vrf in overlay.vrfs},
        "VLAN": {},
        "VLAN_INTERFACE": {},
    }
    _add_gateways(config, overlay, network, platform)
    _add_transit(config, overlay, switch.mtu_bytes - VXLAN_OVERHEAD_BYTES, platform)
    if overlay.bonds:
        config |= _bonds(overlay, switch.mtu_bytes, platform)
    if overlay.homing == "esi" and overlay.bonds:
        config |= _segments(overlay, platform)
    if overlay.mlag is not None:
        _add_mlag(config, overlay, switch.mtu_bytes, platform)
    return {name: rows for name, rows in config.items() if rows}


def list_port_vrfs(overlay: Overlay | None, platform: Platform) -> dict[str, str]:
    """Return the VRF of every routed port that lies in one, by port name."""
    if overlay is None:
        return {}
    found = {port: platform.vrf(vrf.name) for vrf in overlay.vrfs for port in vrf.ports}
    return found | {external.port: platform.vrf(external.vrf) for external in overlay.externals}


def relays_dhcp(overlay: Overlay | None) -> bool:
    """Return whether DHCP is relayed from a tenant's subnet."""
    return overlay is not None and any(vlan.dhcp_servers for vlan in overlay.vlans)


def _tunnel(overlay: Overlay, platform: Platform) -> Config:
    # One tunnel per switch: L3 VNIs are mapped like L2 VNIs, by the VLAN of their VRF.
    pairs = [(vlan.vlan, vlan.vni) for vlan in overlay.vlans] + [(vrf.vlan, vrf.vni) for vrf in overlay.vrfs if vrf.vni]
    config: Config = {}
    if pairs:
        config["VXLAN_TUNNEL"] = {TUNNEL: {"src_ip": overlay.vtep}}
        config["VXLAN_EVPN_NVO"] = {NVO: {"source_vtep": TUNNEL}}
        config["VXLAN_TUNNEL_MAP"] = {
            f"{TUNNEL}|map_{vni}_{platform.vlan(vlan)}": {"vlan": platform.vlan(vlan), "vni": str(vni)} for vlan, vni in pairs
        }
    if overlay.shared_vtep:
        # Loopback0 stays the switch's own: two switches with one router id would drop each other's routes.
        config["LOOPBACK_INTERFACE"] = {"Loopback1": {}, f"Loopback1|{overlay.vtep}/32": {}}
    return config


def _add_gateways(config: Config, overlay: Overlay, network: Network, platform: Platform) -> None:
    """Add VLANs of subnets with their anycast gateways, and the relays of DHCP.

    A relay has no `server_vrf`: the servers' prefix is a route in the tenant's own VRF. It uses the gateway's address, which
    other leafs have too; whichever of them gets the answer finds the VLAN in the relay's circuit id, and floods it there. The
    older relay, which VLAN rows configure, cannot speak inside a VRF.
    """
    for vlan in overlay.vlans:
        name = platform.vlan(vlan.vlan)
        config["VLAN"][name] = _vlan(vlan.vlan, vlan.name, network.host_mtu_bytes)
        row = {"vrf_name": platform.vrf(vlan.vrf)}
        if vlan.address:
            row["static_anycast_gateway"] = "true"
            config["VLAN_INTERFACE"][f"{name}|{vlan.address}"] = {}
            config["SAG"] = {"GLOBAL": {"gateway_mac": overlay.anycast_mac}}
        config["VLAN_INTERFACE"][name] = row
        if vlan.dhcp_servers:
            config.setdefault("DHCPV4_RELAY", {})[name] = {"dhcpv4_servers": list(vlan.dhcp_servers)}


def _add_transit(config: Config, overlay: Overlay, mtu_bytes: int, platform: Platform) -> None:
    """Add the VLANs of L3 VNIs: in their VRF, without an address, and on no port.

    Their MAC is the router MAC that type 5 routes tell. With a shared tunnel address it has to be the pair's, or a leaf would not
    route what was meant for the other one and came to it.
    """
    for vrf in overlay.vrfs:
        if not vrf.vni:
            continue
        name = platform.vlan(vrf.vlan)
        config["VLAN"][name] = _vlan(vrf.vlan, f"{vrf.name} L3 VNI {vrf.vni}", mtu_bytes)
        row = {"vrf_name": platform.vrf(vrf.name)}
        if overlay.mlag is not None and overlay.shared_vtep:
            row["mac_addr"] = overlay.mlag.system_mac
        config["VLAN_INTERFACE"][name] = row


def _vlan(number: int, description: str, mtu_bytes: int) -> Row:
    return {"vlanid": str(number), "description": description, "mtu": str(mtu_bytes)}


def _bonds(overlay: Overlay, mtu_bytes: int, platform: Platform) -> Config:
    config: Config = {"PORTCHANNEL": {}, "PORTCHANNEL_MEMBER": {}, "VLAN_MEMBER": {}}
    for bond in overlay.bonds:
        name = platform.bond(bond.number)
        row = _portchannel(bond.server, mtu_bytes, "access" if bond.untagged and not bond.vlans else "trunk")
        # With MLAG the MLAG daemon gives both leafs the LACP system of one of them.
        config["PORTCHANNEL"][name] = {**row, "system_mac": bond.system_mac} if bond.esi else row
        config["PORTCHANNEL_MEMBER"] |= {f"{name}|{port}": {} for port in bond.ports}
        for vlan in bond.vlans:
            config["VLAN_MEMBER"][f"{platform.vlan(vlan)}|{name}"] = {"tagging_mode": "tagged"}
        if bond.untagged:
            config["VLAN_MEMBER"][f"{platform.vlan(bond.untagged)}|{name}"] = {"tagging_mode": "untagged"}
    return config


def _portchannel(description: str, mtu_bytes: int, mode: str) -> dict[str, str]:
    return {
        "admin_status": "up",
        "description": description,
        "fast_rate": "true",
        # From the bond's number, so that both leafs tell a server the same key, and each server another.
        "lacp_key": "auto",
        "min_links": "1",
        "mode": mode,
        "mtu": str(mtu_bytes),
    }


def _segments(overlay: Overlay, platform: Platform) -> Config:
    """Return Ethernet segments of type 3, so `AUTO`: SONiC and FRR both make 03:MAC:NUMBER of the bond's system MAC and number.

    Type 0 would need an ESI that begins with 00, which frr.conf's `es-sys-mac` cannot say. orchagent needs the rows for split
    horizon and the designated forwarder, frr.conf has the same two values for the routes.
    """
    rows: dict[str, Row] = {}
    for bond in overlay.bonds:
        if bond.esi:
            _check(bond)
            rows[platform.bond(bond.number)] = {"esi": "AUTO", "type": SEGMENT_TYPE}
    if not rows:
        return {}
    times = {"startup_delay": STARTUP_DELAY_S, "mac_holdtime": HOLD_TIME_S, "neigh_holdtime": HOLD_TIME_S}
    return {
        "EVPN_ETHERNET_SEGMENT": dict(rows),
        "EVPN_MH_GLOBAL": {"default": {field: str(seconds) for field, seconds in times.items()}},
    }


def _check(bond: Bond) -> None:
    if bond.es_id != bond.number:
        raise ValueError(f"bond {bond.number} has Ethernet segment {bond.es_id}, and SONiC takes the number of the bond")


def _add_mlag(config: Config, overlay: Overlay, mtu_bytes: int, platform: Platform) -> None:
    """Add the pair: the peer link with all VLANs of servers, and a VLAN of its own for the two to speak over.

    `MCLAG_UNIQUE_IP` keeps the MLAG daemon's hands off a VLAN interface: elsewhere it puts the other leaf's MAC over the anycast
    one, and expects one address on both. VLANs of L3 VNIs have no server port, so it leaves them alone.
    """
    mlag = overlay.mlag
    assert mlag is not None
    link, own = platform.bond(mlag.bond), platform.vlan(mlag.vlan)
    config.setdefault("PORTCHANNEL", {})[link] = _portchannel("peer link", mtu_bytes, "trunk")
    config.setdefault("PORTCHANNEL_MEMBER", {}).update({f"{link}|{port}": {} for port in mlag.ports})
    config["VLAN"][own] = {"vlanid": str(mlag.vlan), "description": "MLAG"}
    config["VLAN_INTERFACE"] |= {own: {}, f"{own}|{mlag.address}": {}}
    names = [platform.vlan(vlan.vlan) for vlan in overlay.vlans] + [own]
    config.setdefault("VLAN_MEMBER", {}).update({f"{name}|{link}": {"tagging_mode": "tagged"} for name in names})
    domain = str(mlag.domain)
    config["MCLAG_DOMAIN"] = {
        domain: {"source_ip": mlag.address.partition("/")[0], "peer_ip": mlag.peer_address, "peer_link": link}
    }
    config["MCLAG_INTERFACE"] = {f"{domain}|{platform.bond(bond.number)}": {"if_type": "PortChannel"} for bond in overlay.bonds}
    config["MCLAG_UNIQUE_IP"] = {name: {"unique_ip": "enable"} for name in names}
