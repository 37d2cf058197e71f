"""Whether records agree: with the plan, with each other over every cable, and with what hosts are told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from ipaddress import ip_interface
from typing import Any

from cluster_model.plan.model import Plan, Switch
from tests.dialects.record import Record, bare, expect

Field = tuple[str, str]
MANAGEMENT = "mgmt"
"""What the plan calls a switch's management port; every dialect has a name of its own for it."""
OwnWay = Mapping[tuple[str, str, str], tuple[Callable[[Switch], Any], str]]


def compare_plan(
    plan: Plan, switch: Switch, found: Record, lacks: Mapping[tuple[str, str, str], str], own: OwnWay
) -> Iterator[str]:
    """Yield what a switch is told otherwise than the plan says; what its dialect lacks is not asked for."""
    wanted = expect(plan, switch)
    for key in sorted(wanted.keys() | found.keys()):
        kind, _, what = key
        if key not in found and (switch.nos, kind, what) in lacks:
            continue
        asked = wanted.get(key, "nothing")
        if key in wanted and (switch.nos, kind, what) in own:
            asked = own[switch.nos, kind, what][0](switch)
        if asked != found.get(key, "nothing"):
            where = " ".join(word for word in key if word)
            yield f"{switch.name}: {where}: the plan has {_short(asked)}, its files {_short(found.get(key, 'nothing'))}"


def _short(value: Any) -> str:
    text = str(sorted(map(str, value))) if isinstance(value, frozenset) else str(value)
    return text if len(text) < 300 else f"{text[:300]}…"


def _port(record: Record, name: str) -> dict[str, Any]:
    return {what: value for (kind, port, what), value in record.items() if (kind, port) == ("port", name)}


def compare_ends(records: Mapping[str, Record]) -> Iterator[str]:
    """Yield what two switches at the ends of a cable are told differently; cables are those that the descriptions name."""
    for here, record in records.items():
        for (kind, name, what), described in list(record.items()):
            if (kind, what) != ("port", "description") or described.partition(":")[0] not in records:
                continue
            there, _, far = described.partition(":")
            mine, other = _port(record, name), _port(records[there], far)
            cable = f"{here}:{name} to {described}"
            if ("management", "", "address") in records[there] and far == MANAGEMENT:
                yield from _compare_management(record, mine, records[there], cable)
                continue
            if other.get("description") != f"{here}:{name}":
                yield f"{cable}: the other end says {other.get('description')}"
                continue
            for each in ("speed_gbps", "mtu_bytes"):
                if each in mine and each in other and mine[each] != other[each]:
                    yield f"{cable}: {each} {mine[each]} and {other[each]}"
            yield from _compare_sessions(records, (here, name, mine), (there, far, other), cable)


def _compare_management(leaf: Record, port: dict[str, Any], managed: Record, cable: str) -> Iterator[str]:
    gateway = leaf.get(("svi", str(port["vlan"]), "address"), "")
    if not gateway or managed["management", "", "gateway"] != bare(gateway):
        yield f"{cable}: gateway {managed['management', '', 'gateway']}, and the leaf has {gateway or 'none'}"
    elif ip_interface(managed["management", "", "address"]).network != ip_interface(gateway).network:
        yield f"{cable}: address {managed['management', '', 'address']}, and the leaf has {gateway}"


def _compare_sessions(records: Mapping[str, Record], near: tuple, far: tuple, cable: str) -> Iterator[str]:
    (here, name, mine), (there, other_name, other) = near, far
    addresses = (mine["address"], other["address"])
    if any(addresses):
        if not all(addresses) or addresses[0] == addresses[1]:
            yield f"{cable}: addresses {addresses}"
            return
        if ip_interface(addresses[0]).network != ip_interface(addresses[1]).network:
            yield f"{cable}: addresses {addresses} of two networks"
    if mine["bond"]:
        if ("mlag", "", "address") in records[here]:
            ends = [(records[one]["mlag", "", "address"], records[one]["mlag", "", "peer_address"]) for one in (here, there)]
            if (bare(ends[0][0]), ends[0][1]) != (ends[1][1], bare(ends[1][0])):
                yield f"{cable}: the pair speaks to {ends}"
        return
    key = bare(other["address"]) or name
    for what in ("asn", "unnumbered_asn"):
        told = records[here].get(("session", key, what))
        if told is not None and told != records[there].get(("switch", "", "asn")):
            yield f"{cable}: a session with {told}, and {there} is {records[there].get(('switch', '', 'asn'))}"
    back = bare(mine["address"]) or other_name
    pair = [records[here].get(("session", key, "families")), records[there].get(("session", back, "families"))]
    if None in pair or pair[0] != pair[1]:
        yield f"{cable}: sessions speak {pair}"
    if records[here].get(("switch", "", "asn")) == records[there].get(("switch", "", "asn")):
        yield f"{cable}: both ends have one AS number"


# --- Hosts


def list_hosts(inventory: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every host with interfaces, its variables merged as Ansible merges them: all, group, host."""
    for host, own in inventory["_meta"]["hostvars"].items():
        groups = [body for name, body in inventory.items() if name.startswith("group_") and host in body.get("hosts", ())]
        merged = {**inventory["all"]["vars"]}
        for body in groups:
            merged |= body.get("vars", {})
        merged |= own
        if "gpuyard_interfaces" in merged:
            yield host, merged


def compare_hosts(inventory: Mapping[str, Any], records: Mapping[str, Record]) -> Iterator[str]:
    """Yield what hosts are told otherwise than the switches that they hang on."""
    for host, told in list_hosts(inventory):
        for interface in told["gpuyard_interfaces"]:
            if interface["peer"] in records:
                port = _port(records[interface["peer"]], interface["peer_port"])
                at = f"{host}:{interface['name']} on {interface['peer']}:{interface['peer_port']}"
                for what in _compare_port(interface, port, records[interface["peer"]], told):
                    yield f"{at}: {what}"
                if port.get("description") != f"{host}:{interface['name']}":
                    yield f"{at}: the switch says {port.get('description')}"
        for bond in told["gpuyard_bonds"]:
            yield from _compare_bond(host, bond, told["gpuyard_interfaces"], records)


def _compare_port(interface: dict[str, Any], port: dict[str, Any], leaf: Record, told: dict[str, Any]) -> Iterator[str]:
    network, lossless = told["gpuyard_networks"][interface["network"]], told["gpuyard_lossless"]
    speed = port.get("speed_gbps", port.get("copper_speed_gbps", interface["speed_gbps"]))
    if speed != interface["speed_gbps"]:
        yield f"{interface['speed_gbps']} Gb/s, and the switch has {speed}"
    if port.get("mtu_bytes", network["mtu_bytes"]) != network["mtu_bytes"] or interface["mtu_bytes"] > network["mtu_bytes"]:
        yield f"MTU {interface['mtu_bytes']} in a network of {network['mtu_bytes']}, and the switch has {port.get('mtu_bytes')}"
    vlan = port.get("vlan", 0)
    gateway = leaf.get(("svi", str(vlan), "address"), "") if vlan else port.get("address", "")
    if interface["address"]:
        here = ip_interface(interface["address"])
        if not gateway or ip_interface(gateway).network != here.network or ip_interface(gateway).ip == here.ip:
            yield f"address {here}, and the switch has {gateway or 'none'}"
        if interface["gateway"] and interface["gateway"] != bare(gateway):
            yield f"gateway {interface['gateway']}, and the switch has {gateway}"
    if interface["lossless"] and "pfc_priorities" in port:
        yield from _compare_lossless(port, leaf, lossless, told.get("gpuyard_nccl", {}), interface)


def _compare_lossless(
    port: dict[str, Any], leaf: Record, lossless: dict[str, Any], nccl: dict[str, Any], interface: dict[str, Any]
) -> Iterator[str]:
    priorities = leaf["qos", "", "dscp_to_priority"]
    paused = set(lossless["pfc_priorities"])
    if set(port["pfc_priorities"]) != paused:
        yield f"PFC on {sorted(paused)}, and the switch has it on {_short(port['pfc_priorities'])}"
    if port["trust"] != lossless["trust"]:
        yield f"the host trusts {lossless['trust']}, the switch {port['trust']}"
    marks = {"data_tos": lossless["data_tos"] >> 2, "data_dscp": lossless["data_dscp"]}
    if interface["network"] == "compute" and nccl:
        marks["NCCL_IB_TC"] = nccl["traffic_class"] >> 2
    for name, dscp in marks.items():
        if priorities[dscp] != lossless["priority"] or (priorities[dscp] in port["pfc_priorities"]) != bool(paused):
            yield f"{name} is DSCP {dscp}, which the switch puts into priority {priorities[dscp]}"
    if priorities[lossless["cnp_dscp"]] != lossless["cnp_priority"]:
        yield f"CNPs have DSCP {lossless['cnp_dscp']}, which the switch puts into priority {priorities[lossless['cnp_dscp']]}"
    adaptive = leaf.get(("switch", "", "load_balancing"), "ecmp") == "adaptive"
    if interface["network"] == "compute" and nccl and (nccl["adaptive_routing"] == 1) != adaptive:
        yield f"NCCL has adaptive routing {nccl['adaptive_routing']}, and the switch {'has it' if adaptive else 'has none'}"
    if lossless["cnp_dscp"] not in leaf["qos", "", "strict_dscps"]:
        yield "CNPs do not go first"


def _compare_bond(
    host: str, bond: dict[str, Any], interfaces: list[dict[str, Any]], records: Mapping[str, Record]
) -> Iterator[str]:
    segments = set()
    for leaf in dict.fromkeys(port["peer"] for port in interfaces if port["name"] in bond["ports"]):
        record = records[leaf]
        plugged = {port["peer_port"] for port in interfaces if port["name"] in bond["ports"] and port["peer"] == leaf}
        (number,) = {record["port", port, "bond"] for port in plugged}
        at = f"{host}:{bond['name']} on {leaf}, bond {number}"
        there = {what: value for (kind, name, what), value in record.items() if (kind, name) == ("bond", str(number))}
        segments.add((number, there["esi"], there["mlag"]))
        if (there["ports"], there["server"]) != (plugged, host):
            yield f"{at}: {sorted(plugged)}, and the switch has {sorted(there['ports'])} for {there['server']}"
        tagged = {vlan["vlan"] for vlan in bond["vlans"] if vlan["tagged"]}
        untagged = {vlan["vlan"] for vlan in bond["vlans"] if not vlan["tagged"]} or {0}
        if (there["tagged"], {there["untagged"]}) != (tagged, untagged):
            yield f"{at}: VLANs {tagged} and untagged {untagged}, and the switch has {there['tagged']} and {there['untagged']}"
        for vlan in bond["vlans"]:
            gateway = record.get(("svi", str(vlan["vlan"]), "address"), "")
            if not gateway or bare(gateway) != vlan["gateway"]:
                yield f"{at}: gateway {vlan['gateway']} of {vlan['subnet']}, and the switch has {gateway or 'none'}"
            elif vlan["address"] and ip_interface(vlan["address"]).network != ip_interface(gateway).network:
                yield f"{at}: address {vlan['address']} of {vlan['subnet']}, and the switch has {gateway}"
            if vlan["dhcp"] != bool(record.get(("svi", str(vlan["vlan"]), "dhcp_servers"))):
                yield f"{at}: DHCP in {vlan['subnet']} is {vlan['dhcp']}, and the switch relays otherwise"
            if record.get(("svi", str(vlan["vlan"]), "mtu_bytes")) != bond["mtu_bytes"]:
                yield f"{at}: MTU {bond['mtu_bytes']}, and the gateway has {record.get(('svi', str(vlan['vlan']), 'mtu_bytes'))}"
    if len(segments) != 1:
        yield f"{host}:{bond['name']}: its leafs do not share one segment: {sorted(segments, key=str)}"
