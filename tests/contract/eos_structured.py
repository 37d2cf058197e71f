"""A plan as AVD's structured config of a switch: what pyavd's schema judges, and its own templates render."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from cluster_model.plan.model import CageMode, Lossless, Network, Plan, Switch, SwitchPort
from cluster_model.plan.model.kubernetes import Kubernetes
from cluster_model.plan.model.overlay import Filter, Overlay, SwitchVrf

Config = dict[str, Any]
DEFAULT_MTU = 1500


def build_structured(plan: Plan, switch: Switch) -> Config:
    network = next(network for network in plan.networks if network.name == switch.network)
    lossless = plan.lossless if network.lossless else None
    unnumbered = any(port.peer_asn and not port.address for port in switch.ports)
    carries_pods = plan.kubernetes.node_asn and plan.kubernetes.network == network.name
    pods = plan.kubernetes if carries_pods else None
    config: Config = {
        "hostname": switch.name,
        "clock": {"timezone": plan.site.timezone},
        "service_routing_protocols_model": "multi-agent",
        "vlan_internal_order": {"allocation": "descending", "range": {"beginning": 3072, "ending": 4093}},
        "aaa_authorization": {"exec": {"default": "local"}},
        "vlans": list(_vlans(switch)),
        "vrfs": list(_vrfs(switch)),
        "ethernet_interfaces": list(_ports(switch, network, lossless)),
        "loopback_interfaces": _loopbacks(switch),
        "vlan_interfaces": list(_gateways(switch, network)),
        "static_routes": list(_static_routes(switch)),
        "as_path": {"access_lists": list(_as_paths(switch, pods))},
        "router_bfd": {"interval": 500, "min_rx": 500, "multiplier": 3},
        "router_bgp": _bgp(switch, unnumbered, pods),
        ("ip_routing_ipv6_interfaces" if unnumbered else "ip_routing"): True,
        **_services(plan, switch),
        **_policies(switch, network, pods),
    }
    if unnumbered:
        config["ipv6_unicast_routing"] = True
    if lossless:
        config |= _qos(switch, lossless)
    if network.load_balancing == "dynamic":
        config["ip_hardware"] = {"fib": {"load_balance_distribution": {"dynamic": {"enabled": True}}}}
    if switch.management:
        config["management_ssh"] = {"enable": False, "vrfs": [{"name": "MGMT", "enable": True}]}
        config["management_interfaces"] = [
            {
                "name": "Management1",
                "description": f"{switch.management.peer}:{switch.management.peer_port}",
                "vrf": "MGMT",
                "ip_address": switch.management.address,
            }
        ]
    if switch.overlay:
        config |= _overlay(switch.overlay, plan, switch, lossless)
    return config


def _services(plan: Plan, switch: Switch) -> Config:
    site, vrf = plan.site, "MGMT" if switch.management else "default"
    in_band = not switch.management
    hosts = [{"name": address} for address in site.syslog]
    config: Config = {
        "dns_domain": site.domain,
        "ip_name_server": {"vrfs": [{"name": vrf, "servers": [{"ip_address": address} for address in site.dns]}]},
        "ntp": {"servers": [{"name": address, "iburst": True} for address in site.ntp]},
        "logging": {"vrfs": [{"name": vrf, "hosts": hosts}]},
    }
    if in_band:
        config["ip_domain_lookup"] = {"source_interfaces": [{"name": "Loopback0"}]}
        config["ntp"]["local_interface"] = {"name": "Loopback0"}
        config["logging"]["source_interface"] = "Loopback0"
    else:
        config["ntp"]["vrf"] = vrf
    if site.snmp_managers:
        config["snmp_server"] = {
            "location": f"{switch.rack} U{switch.u}",
            "communities": [
                {"name": "{{gpuyard-secret:snmp-community}}", "access": "ro", "access_list_ipv4": {"name": "SNMP-MANAGERS"}}
            ],
            **(
                {"local_interfaces": [{"name": "Loopback0"}]}
                if in_band
                else {"vrfs": [{"name": "default", "enable": False}, {"name": "MGMT", "enable": True}]}
            ),
        }
        config["standard_access_lists"] = [
            {
                "name": "SNMP-MANAGERS",
                "entries": [
                    {"sequence": 10 * number, "action": "permit", "source": address}
                    for number, address in enumerate(site.snmp_managers, 1)
                ],
            }
        ]
    return config


# --- layer 2 -----------------------------------------------------------------------------------------------------------


def _vlans(switch: Switch) -> Iterator[Config]:
    yield from ({"id": vlan.id, "name": vlan.name} for vlan in switch.vlans)
    if switch.overlay:
        yield from ({"id": vlan.vlan, "name": vlan.name} for vlan in switch.overlay.vlans)
        if switch.overlay.mlag:
            yield {"id": switch.overlay.mlag.vlan, "name": "MLAG", "trunk_groups": ["MLAG"]}


def _vrfs(switch: Switch) -> Iterator[Config]:
    if switch.management:
        yield {"name": "MGMT", "ip_routing": False}
    for vrf in switch.overlay.vrfs if switch.overlay else ():
        yield {"name": vrf.name, "ip_routing": True}


def _ports(switch: Switch, network: Network, lossless: Lossless | None) -> Iterator[Config]:
    """Yield every port of the panel: Arista calls it by its cage and its first lane there, a single lane by the cage alone."""
    cabled = {(port.cage, port.sub): port for port in switch.ports}
    externals = {external.port: external for external in switch.overlay.externals} if switch.overlay else {}
    upstreams = {way.port: way for way in switch.upstreams}
    for mode in switch.modes:
        width = max(1, mode.lanes // mode.count)
        for sub in range(mode.count):
            name = f"Ethernet{mode.cage}/{1 + sub * width}" if mode.lanes > 1 else f"Ethernet{mode.cage}"
            row: Config = {"name": name}
            if mode.form_factor != "rj45":
                row["speed"] = _speed(mode, width)
            port = cabled.get((mode.cage, sub))
            if port:
                row |= _cabled(port, switch, lossless)
            elif name in upstreams:
                way = upstreams[name]
                row |= {"description": f"site:{way.gateway}", **_routed(switch.mtu_bytes, way.address)}
            elif name in externals:
                external = externals[name]
                row |= {"description": f"external:{external.peer}", "vrf": external.vrf}
                row |= _routed(external.mtu_bytes, external.address)
            else:
                row["shutdown"] = True
            yield row


def _speed(mode: CageMode, width: int) -> str:
    return f"{mode.speed_gbps}g-{width}" if mode.speed_gbps >= 40 else f"{mode.speed_gbps}g"


def _routed(mtu_bytes: int, address: str) -> Config:
    row: Config = {"switchport": {"enabled": False}, **_mtu(mtu_bytes)}
    return row | ({"ip_address": address} if address else {"ipv6_enable": True})


def _mtu(mtu_bytes: int) -> Config:
    return {"mtu": mtu_bytes} if mtu_bytes != DEFAULT_MTU else {}


def _cabled(port: SwitchPort, switch: Switch, lossless: Lossless | None) -> Config:
    row: Config = {"description": f"{port.peer}:{port.peer_port}"}
    if port.vlan:
        return row | {"switchport": {"access_vlan": port.vlan}, **_edge()}
    if port.bond or port.use == "peer_link":
        assert switch.overlay
        bond = next((bond.number for bond in switch.overlay.bonds if port.name in bond.ports), 1000)
        return row | {"channel_group": {"id": bond, "mode": "active"}, "lacp_timer": {"mode": "fast"}}
    row |= _routed(switch.mtu_bytes, port.address)
    if port.vrf:
        row["vrf"] = port.vrf
    if lossless:
        row |= {"qos": {"trust": "dscp"}, "service_profile": f"ROCE-{port.speed_gbps}G"}
        row["uc_tx_queues"] = [{"id": tc, "random_detect": {"ecn": {"count": True}}} for tc in lossless.pfc_priorities]
    if port.use == "fabric" and _tracked(switch):
        row["link_tracking"] = {"direction": "upstream", "groups": ["UPLINKS"]}
    return row


def _edge() -> Config:
    return {"spanning_tree_portfast": "edge", "spanning_tree_bpduguard": "enabled"}


def _tracked(switch: Switch) -> bool:
    return bool(switch.overlay and switch.overlay.bonds and switch.overlay.homing in {"esi", "mlag"})


def _overlay(overlay: Overlay, plan: Plan, switch: Switch, lossless: Lossless | None) -> Config:
    config: Config = {"port_channel_interfaces": list(_port_channels(overlay))}
    if overlay.vlans:
        config["ip_virtual_router_mac_address"] = overlay.anycast_mac
    if any(vlan.dhcp_servers for vlan in overlay.vlans):
        config["dhcp_relay"] = {"tunnel_requests_disabled": True, "mlag_peerlink_requests_disabled": bool(overlay.mlag)}
    if _tracked(switch):
        config["link_tracking_groups"] = [{"name": "UPLINKS", "recovery_delay": 60}]
    vnis = [{"name": vrf.name, "vni": vrf.vni} for vrf in overlay.vrfs if vrf.kind != "external"]
    if overlay.vlans or vnis:
        vxlan: Config = {
            "source_interface": "Loopback1" if overlay.mlag else "Loopback0",
            "udp_port": 4789,
            "vlans": [{"id": vlan.vlan, "vni": vlan.vni} for vlan in overlay.vlans],
            "vrfs": vnis,
        }
        if overlay.mlag:
            vxlan["virtual_router_encapsulation_mac_address"] = "mlag-system-id"
        if lossless:
            keys = ("dscp_propagation_encapsulation", "ecn_propagation", "map_dscp_to_traffic_class_decapsulation")
            vxlan["qos"] = dict.fromkeys(keys, True)
        config["vxlan_interface"] = {"vxlan1": {"vxlan": vxlan}}
    if overlay.mlag:
        config["spanning_tree"] = {"no_spanning_tree_vlan": str(overlay.mlag.vlan)}
        other = plan.switch(next(port.peer for port in switch.ports if port.use == "peer_link"))
        assert other.management is not None
        config["mlag_configuration"] = {
            "domain_id": str(overlay.mlag.domain),
            "local_interface": f"Vlan{overlay.mlag.vlan}",
            "peer_address": overlay.mlag.peer_address,
            "peer_address_heartbeat": {"peer_ip": other.management.address.partition("/")[0], "vrf": "MGMT"},
            "dual_primary_detection_delay": 5,
            "peer_link": f"Port-Channel{overlay.mlag.bond}",
            "reload_delay_mlag": "300",
            "reload_delay_non_mlag": "330",
        }
    leaks = [
        {
            "name": vrf.name,
            "leak_routes": [{"source_vrf": met.vrf, "subscribe_policy": f"{vrf.name}-FROM-{met.vrf}"} for met in vrf.imports],
        }
        for vrf in overlay.vrfs
        if vrf.imports
    ]
    if leaks:
        config["router_general"] = {"vrfs": leaks}
    return config


def _port_channels(overlay: Overlay) -> Iterator[Config]:
    for bond in overlay.bonds:
        row: Config = {"name": f"Port-Channel{bond.number}", "description": f"{bond.server}:bond0", **_edge()}
        everything = sorted({*bond.vlans, *([bond.untagged] if bond.untagged else [])})
        if everything == [bond.untagged]:
            row["switchport"] = {"access_vlan": bond.untagged}
        else:
            trunk: Config = {"allowed_vlan": ",".join(map(str, everything)) or "none"}
            if bond.untagged:
                trunk["native_vlan"] = bond.untagged
            row["switchport"] = {"mode": "trunk", "trunk": trunk}
        if overlay.homing == "esi":
            digits = f"03{bond.system_mac.replace(':', '')}{bond.es_id:06x}"
            row["evpn_ethernet_segment"] = {
                "identifier": ":".join(digits[at : at + 4] for at in range(0, 20, 4)),
                "route_target": bond.system_mac,
            }
            row["lacp_id"] = ".".join(digits[at : at + 4] for at in range(2, 14, 4))
        if overlay.homing == "mlag":
            row["mlag"] = bond.number
        if overlay.homing != "single":
            row["link_tracking"] = {"direction": "downstream", "groups": ["UPLINKS"]}
        yield row
    if overlay.mlag:
        yield {
            "name": f"Port-Channel{overlay.mlag.bond}",
            "description": "peer link",
            "switchport": {"mode": "trunk", "trunk": {"groups": ["MLAG"]}},
        }


# --- layer 3 -----------------------------------------------------------------------------------------------------------


def _loopbacks(switch: Switch) -> list[Config]:
    rows: list[Config] = [{"name": "Loopback0", "ip_address": switch.loopback}]
    if switch.overlay and switch.overlay.mlag:
        vtep = f"{switch.overlay.vtep}/32"
        rows.append({"name": "Loopback1", "description": "tunnel address of the pair", "ip_address": vtep})
    for vrf in switch.overlay.vrfs if switch.overlay else ():
        if vrf.kind == "tenant":
            own = {"description": vrf.name, "vrf": vrf.name, "ip_address": switch.loopback}
            rows.append({"name": f"Loopback{100 + vrf.id}", **own})
    return rows


def _gateways(switch: Switch, network: Network) -> Iterator[Config]:
    for vlan in switch.vlans:
        helpers = [{"ip_helper": server} for server in vlan.dhcp_servers]
        row = {"name": f"Vlan{vlan.id}", "description": vlan.name, "ip_address": vlan.address, "ip_helpers": helpers}
        yield row | _mtu(switch.mtu_bytes)
    overlay = switch.overlay
    for subnet in overlay.vlans if overlay else ():
        yield {
            "name": f"Vlan{subnet.vlan}",
            "description": subnet.name,
            "vrf": subnet.vrf,
            "ip_address_virtual": subnet.address,
            "ip_helpers": [{"ip_helper": server} for server in subnet.dhcp_servers],
            **_mtu(network.host_mtu_bytes),
        }
    if overlay and overlay.mlag:
        row = {"name": f"Vlan{overlay.mlag.vlan}", "description": "MLAG", "ip_address": overlay.mlag.address}
        yield row | {"no_autostate": True, **_mtu(switch.mtu_bytes)}


def _static_routes(switch: Switch) -> Iterator[Config]:
    if switch.management:
        yield {"vrf": "MGMT", "prefix": "0.0.0.0/0", "next_hop": switch.management.gateway}
    yield from ({"prefix": "0.0.0.0/0", "next_hop": way.gateway} for way in switch.upstreams)
    for route in switch.service_routes:
        yield {"prefix": route.prefix, "interface": route.port, "next_hop": route.next_hop}
    shared = switch.overlay.vtep if switch.overlay and switch.overlay.mlag else ""
    yield from ({"prefix": prefix, "interface": "Null0"} for prefix in switch.originates if prefix != f"{shared}/32")


def _as_paths(switch: Switch, pods: Kubernetes | None) -> Iterator[Config]:
    if not switch.is_edge:
        return
    yield {"name": "OWN", "entries": [{"type": "permit", "match": "^$", "origin": "any"}]}
    if pods:
        yield {"name": "NODES", "entries": [{"type": "permit", "match": f"^{pods.node_asn}$", "origin": "any"}]}
    if switch.overlay:
        outside = sorted({external.asn for external in switch.overlay.externals})
        paths = ["^$", *(f"^{asn}_" for asn in outside)]
        yield {"name": "EVPN-OWN", "entries": [{"type": "permit", "match": path, "origin": "any"} for path in paths]}


def _policies(switch: Switch, network: Network, pods: Kubernetes | None) -> Config:
    lists: dict[str, list[str]] = {"POOL": [f"{network.pool} le 32"]}
    maps: list[tuple[str, int, tuple[str, ...]]] = [("FABRIC-IN", 10, ("POOL",))]
    own = "as-path OWN"
    if network.has_upstream:
        lists["DEFAULT"] = ["0.0.0.0/0"]
        maps.append(("FABRIC-IN", 20, ("DEFAULT",)))
    if switch.is_edge:
        lists["OWN"] = [switch.loopback, *switch.originates]
        maps.append(("FABRIC-OUT", 10, (own, "OWN")))
        if switch.service_routes:
            lists["SERVICES"] = [f"{network.pool} ge 32"]
            maps += [("FABRIC-OUT", 20, (own, "SERVICES")), ("SERVICES", 10, ("SERVICES",))]
    else:
        maps.append(("FABRIC-OUT", 10, ("POOL",)))
        if network.has_upstream:
            maps.append(("FABRIC-OUT", 30, ("DEFAULT",)))
    denied: list[str] = []
    if pods:
        lists["PODS"] = [f"{pods.pod_pool} eq {pods.node_prefix}"]
        from_node = ("as-path NODES", "PODS")
        maps += [("FABRIC-IN", 30, ("PODS",)), ("FABRIC-OUT", 40, from_node if switch.is_edge else ("PODS",))]
        if _list_nodes(switch):
            maps.append(("NODES-IN", 10, from_node))
            denied.append("NODES-OUT")
        if _list_control(switch, pods):
            lists["API-SERVER"] = [f"{pods.endpoint.announced}/32"]
            told = ("as-path NODES", "API-SERVER")
            maps += [("FABRIC-OUT", 50, told), ("CONTROL-IN", 10, from_node), ("CONTROL-IN", 20, told)]
    overlay = switch.overlay
    if overlay and switch.is_edge:
        maps.append(("EVPN-OUT", 10, ("as-path EVPN-OWN",)))
    for vrf in overlay.vrfs if overlay else ():
        named: dict[str, Iterable[Filter]] = {f"{vrf.name}-FROM-{met.vrf}": met.prefixes for met in vrf.imports}
        if vrf.announced:
            named[f"{vrf.name}-ANNOUNCED"] = vrf.announced
        for name, lines in named.items():
            lists[name] = _lines(lines)
            maps.append((name, 10, (name,)))
    for external in overlay.externals if overlay else ():
        for side, allowed in (("IN", external.accept), ("OUT", external.announce)):
            name = f"{external.vrf}-{side}"
            if allowed:
                lists[name] = _lines(allowed)
                if (name, 10, (name,)) not in maps:
                    maps.append((name, 10, (name,)))
            elif name not in denied:
                denied.append(name)
    return {
        "prefix_lists": [
            {
                "name": name,
                "sequence_numbers": [
                    {"sequence": 10 * number, "action": f"permit {line}"} for number, line in enumerate(lines, 1)
                ],
            }
            for name, lines in lists.items()
        ],
        "route_maps": [
            *_group(maps),
            *({"name": name, "sequence_numbers": [{"sequence": 10, "type": "deny"}]} for name in denied),
        ],
    }


def _lines(filters: Iterable[Filter]) -> list[str]:
    return [f"{line.prefix} le {line.up_to}" if line.up_to else line.prefix for line in filters]


def _group(maps: Iterable[tuple[str, int, tuple[str, ...]]]) -> list[Config]:
    found: dict[str, list[Config]] = {}
    for name, sequence, conditions in maps:
        match = [text if text.startswith("as-path") else f"ip address prefix-list {text}" for text in conditions]
        row: Config = {"sequence": sequence, "type": "permit", "match": match}
        if name in {"NODES-IN", "CONTROL-IN"}:
            row["set"] = ["community none", "ip next-hop peer-address"]
        found.setdefault(name, []).append(row)
    return [{"name": name, "sequence_numbers": rows} for name, rows in found.items()]


def _list_nodes(switch: Switch) -> list[SwitchPort]:
    return [port for port in switch.ports if port.use == "host" and port.peer_asn]


def _list_control(switch: Switch, pods: Kubernetes) -> list[SwitchPort]:
    return [port for port in _list_nodes(switch) if port.peer in pods.announcers]


def _bgp(switch: Switch, unnumbered: bool, pods: Kubernetes | None) -> Config:
    overlay = switch.overlay
    paths = 64 if sum(port.use == "fabric" for port in switch.ports) <= 64 else 128
    group: Config = {"name": "FABRIC", "bfd": True, "maximum_routes": 0 if overlay else 16000}
    ipv4: Config = {"name": "FABRIC", "activate": True, "route_map_in": "FABRIC-IN", "route_map_out": "FABRIC-OUT"}
    if unnumbered:
        ipv4["next_hop"] = {"address_family_ipv6": {"enabled": True, "originate": True}}
    if overlay:
        group["send_community"] = "standard extended"
        ipv4["maximum_accepted_routes"] = {"limit": 16000}
    networks = [switch.loopback, *switch.originates, *(["0.0.0.0/0"] if switch.upstreams else [])]
    family: Config = {"peer_groups": [ipv4], "networks": [{"prefix": prefix} for prefix in networks]}
    if switch.service_routes:
        family["redistribute"] = {"static": {"enabled": True, "route_map": "SERVICES"}}
    router_id = switch.loopback.partition("/")[0]
    config: Config = {
        "as": str(switch.asn),
        "router_id": router_id,
        "bgp": {"default": {"ipv4_unicast": False}},
        "updates": {"wait_install": True},
        "timers": {"keepalive_time": 3, "hold_time": 9},
        "graceful_restart": {"enabled": True},
        "maximum_paths": {"paths": paths, "ecmp": paths},
        "peer_groups": [group],
        "address_family_ipv4": family,
        "neighbor_interfaces": [
            {"name": port.name.replace("Ethernet", "Et"), "peer_group": "FABRIC", "remote_as": str(port.peer_asn)}
            for port in switch.ports
            if port.peer_asn and port.use == "fabric" and not port.peer_address
        ],
        "neighbors": [
            {
                "ip_address": port.peer_address,
                "peer_group": "FABRIC",
                "remote_as": str(port.peer_asn),
                "description": f"{port.peer}:{port.peer_port}",
            }
            for port in switch.ports
            if port.peer_asn and port.use == "fabric" and port.peer_address
        ],
    }
    if pods and (nodes := _list_nodes(switch)):
        row = {"name": "NODES", "remote_as": str(pods.node_asn), "passive": True, "maximum_routes": 0}
        config["peer_groups"].append(row)
        config["neighbors"] += [
            {"ip_address": port.peer_address, "peer_group": "NODES", "description": f"{port.peer}:{port.peer_port}"}
            for port in nodes
        ]
        family["peer_groups"].append(
            {
                "name": "NODES",
                "activate": True,
                "route_map_in": "NODES-IN",
                "route_map_out": "NODES-OUT",
                "maximum_accepted_routes": {"limit": 8},
            }
        )
        if control := _list_control(switch, pods):
            family["neighbors"] = [{"ip_address": port.peer_address, "route_map_in": "CONTROL-IN"} for port in control]
    if overlay:
        evpn: Config = {"name": "FABRIC", "activate": True}
        config["address_family_evpn"] = {"peer_groups": [evpn]}
        if switch.is_edge:
            evpn["route_map_out"] = "EVPN-OUT"
        else:
            config["address_family_evpn"]["next_hop_unchanged"] = True
        config["vlans"] = [
            {
                "id": vlan.vlan,
                "rd": vlan.rd,
                "route_targets": {"both": [vlan.route_target]},
                "redistribute_routes": ["learned"],
            }
            for vlan in overlay.vlans
        ]
        config["vrfs"] = [_bgp_vrf(vrf, overlay, router_id, paths) for vrf in overlay.vrfs]
    return config


def _bgp_vrf(vrf: SwitchVrf, overlay: Overlay, router_id: str, paths: int) -> Config:
    row: Config = {"name": vrf.name, "router_id": router_id, "maximum_paths": {"paths": paths, "ecmp": paths}}
    family: Config = {}
    if vrf.vni:
        target = [{"address_family": "evpn", "route_targets": [vrf.route_target]}]
        row |= {"rd": vrf.rd, "route_targets": {"import": target, "export": target}}
    here = [external for external in overlay.externals if external.vrf == vrf.name]
    if here:
        row["neighbors"] = [
            {
                "ip_address": external.peer_address,
                "remote_as": str(external.asn),
                "description": external.peer,
                "timers": "10 30",
                "remove_private_as": {"enabled": True, "all": True},
                "maximum_routes": external.max_routes,
                **({"password": f"{{{{gpuyard-secret:{external.secret}}}}}", "password_type": "7"} if external.secret else {}),
            }
            for external in here
        ]
        family["neighbors"] = [
            {
                "ip_address": external.peer_address,
                "activate": True,
                "route_map_in": f"{vrf.name}-IN",
                "route_map_out": f"{vrf.name}-OUT",
            }
            for external in here
        ]
    leaked = f"{vrf.name}-ANNOUNCED" if vrf.announced else f"{vrf.name}-OUT" if here else ""
    redistribute: Config = {}
    if vrf.imports and leaked:
        redistribute["bgp"] = {"enabled": True, "route_map": leaked}
    if vrf.announced:
        redistribute["connected"] = {"enabled": True, "route_map": leaked, "include_leaked": bool(vrf.imports)}
    if redistribute:
        family["redistribute"] = redistribute
    if family:
        row["address_family_ipv4"] = family
    return row


# --- quality of service ------------------------------------------------------------------------------------------------


def _qos(switch: Switch, lossless: Lossless) -> Config:
    speeds = {port.speed_gbps for port in switch.ports}
    share = 50 // len(lossless.pfc_priorities)
    others = [tc for tc in range(lossless.cnp_priority) if tc not in lossless.pfc_priorities]
    profiles = []
    for speed, low, high, percent in lossless.ecn:
        if speed not in speeds:
            continue
        queues: list[Config] = [{"id": lossless.cnp_priority, "priority": "priority strict"}]
        for tc in others:
            queues.append({"id": tc, "priority": "no priority", "bandwidth_percent": 50 // len(others)})
        for tc in lossless.pfc_priorities:
            ecn = {"units": "kbytes", "min": low, "max": high, "max_probability": percent, "weight": 0}
            row = {"id": tc, "priority": "no priority", "bandwidth_percent": share, "random_detect": {"ecn": {"threshold": ecn}}}
            if lossless.watchdog:
                row["bandwidth_guaranteed_percent"] = 1
            queues.append(row)
        profiles.append(
            {
                "name": f"ROCE-{speed}G",
                "trust": "dscp",
                "priority_flow_control": {
                    "enabled": True,
                    "priorities": [{"priority": tc, "no_drop": True} for tc in lossless.pfc_priorities],
                },
                "uc_tx_queues": queues,
            }
        )
    points = {tc: [str(dscp) for dscp in range(64) if lossless.dscp_to_tc[dscp] == tc] for tc in range(8)}
    config: Config = {
        "qos_profiles": profiles,
        "qos": {
            "map": {
                "dscp": [f"{' '.join(found)} to traffic-class {tc}" for tc, found in points.items() if found],
                "traffic_class": [f"{tc} to tx-queue {tc}" for tc in range(7)],
            }
        },
    }
    if lossless.watchdog:
        shorter = min(lossless.watchdog_detect_ms, lossless.watchdog_restore_ms)
        config["priority_flow_control"] = {
            "watchdog": {
                "action": {"drop": "drop", "forward": "notify-only"}[lossless.watchdog_action],
                "timeout": f"{lossless.watchdog_detect_ms / 1000:g}",
                "recovery_time": f"{lossless.watchdog_restore_ms / 1000:g}",
                "polling_interval": f"{shorter / 2000:g}",
            }
        }
    return config
