"""Answers of Arista EOS, all JSON (`| json`).

Sources: test data of napalm-automation/napalm (LLDP detail, interfaces) and aristanetworks/anta (BGP summary, routes); the
watchdog's counters are from third-party code alone, and so is FEC (`interfacePhyStatuses`, `phyStatuses`, `fec`,
`encoding`), whose code was held against a recorded answer. PFC's priorities are read from the running configuration, in the
syntax that pyavd's templates write (qos_profiles, priority_flow_control); the frames are not, since no text with the form of
their JSON by priority was found.
"""

from __future__ import annotations

import re
from typing import Any

from cluster_model.verify.observed import Neighbour, ObservedPfc, ObservedPort, ObservedSession, normalize_mac
from cluster_model.verify.read.linux import AnswerError, make_neighbour, parse_json

_PHYSICAL = re.compile(r"^(Ethernet|Management)\d")
_FEC_NAMES = {"reedSolomon": "rs", "fireCode": "baser", "disabled": "off"}
_BPS = 1_000_000_000


def expand_port(name: str) -> str:
    """Return a port's full name: `Et1/1` is `Ethernet1/1`."""
    return re.sub(r"^(Et|Ma)(?=\d)", lambda match: {"Et": "Ethernet", "Ma": "Management"}[match[1]], name)


def parse_interfaces(text: str) -> dict[str, ObservedPort]:
    """Return the ports in `show interfaces | json`."""
    table = _get(parse_json(text), "interfaces")
    ports = {}
    for name, row in table.items():
        if not _PHYSICAL.match(name):
            continue
        is_up = row.get("lineProtocolStatus") == "up" or row.get("interfaceStatus") == "connected"
        ports[name] = ObservedPort(
            name,
            carrier=is_up,
            enabled=row.get("interfaceStatus") != "disabled",
            speed_gbps=row.get("bandwidth", 0) / _BPS if is_up else 0,
            mtu_bytes=int(row.get("mtu", 0)),
            mac=normalize_mac(row.get("physicalAddress", "")),
        )
    return ports


def parse_fec(text: str) -> dict[str, str]:
    """Return the FEC that runs on each port, from `show interfaces phy detail | json`; a port that does not tell is left out."""
    found = {}
    for name, row in _get(parse_json(text), "interfacePhyStatuses").items():
        told = [str(status["fec"].get("encoding", "")) for status in row.get("phyStatuses") or [] if status.get("fec")]
        if told and (fec := _FEC_NAMES.get(told[0], "")):
            found[name] = fec
    return found


def parse_lldp(text: str) -> dict[str, tuple[Neighbour, ...]]:
    """Return the neighbours in `show lldp neighbors detail | json`, by port."""
    found = {}
    for name, entry in _get(parse_json(text), "lldpNeighbors").items():
        neighbours = []
        for row in sorted(entry.get("lldpNeighborInfo", []), key=lambda row: -row.get("lastChangeTime", 0)):
            port = row.get("neighborInterfaceInfo", {})
            id_ = port.get("interfaceId_v2") or str(port.get("interfaceId", "")).strip('"')
            chassis = normalize_mac(row.get("chassisId", "")) if row.get("chassisIdType") == "macAddress" else ""
            kind = port.get("interfaceIdType", "")
            neighbours.append(make_neighbour(row.get("systemName", ""), kind, id_, port.get("interfaceDescription", ""), chassis))
        if neighbours:
            found[name] = tuple(neighbours)
    return found


def parse_forwarding(macs: str, arp: str) -> dict[str, tuple[str, ...]]:
    """Return the MAC addresses behind each port, from `show mac address-table | json` and `show ip arp vrf all | json`."""
    behind: dict[str, dict[str, None]] = {}
    for row in (parse_json(macs).get("unicastTable") or {}).get("tableEntries") or []:
        if row.get("entryType") == "dynamic":
            behind.setdefault(row.get("interface", ""), {})[normalize_mac(row.get("macAddress", ""))] = None
    document = parse_json(arp)
    tables = list((document.get("vrfs") or {}).values()) or [document]
    for table in tables:
        for row in table.get("ipV4Neighbors") or []:
            # An address in a VLAN is told as `Vlan10, Ethernet3`.
            port = str(row.get("interface", "")).rpartition(", ")[2]
            behind.setdefault(port, {})[normalize_mac(row.get("hwAddress", ""))] = None
    return {port: tuple(mac for mac in found if mac) for port, found in behind.items() if port}


def parse_bgp(text: str) -> tuple[int, tuple[ObservedSession, ...]]:
    """Return a router's own ASN and its sessions, from `show bgp summary vrf all | json`."""
    asn, sessions = 0, []
    for vrf, table in _get(parse_json(text), "vrfs").items():
        if vrf == "default":
            asn = parse_asn(table.get("asn", 0))
        for peer, row in (table.get("peers") or {}).items():
            address, percent, port = peer.partition("%")
            name = expand_port(port) if percent else address
            evpn = row.get("l2VpnEvpn")
            is_active = None if evpn is None else evpn.get("afiSafiState") == "negotiated"
            state = row.get("peerState", "unknown")
            sessions.append(ObservedSession(name, state, parse_asn(row.get("peerAsn", 0)), vrf, is_active))
    return asn, tuple(sessions)


def parse_asn(text: str | int) -> int:
    """Return an AS number, plain or as two numbers with a dot."""
    high, dot, low = str(text).partition(".")
    if not high.isdigit():
        return 0
    return (int(high) << 16 | int(low)) if dot and low.isdigit() else int(high)


def parse_route_width(text: str) -> int:
    """Return over how many ways a route is forwarded, from `show ip route PREFIX | json`; 0 where there is none."""
    for vrf in _get(parse_json(text), "vrfs").values():
        for route in (vrf.get("routes") or {}).values():
            return len(route.get("vias") or [])
    return 0


def parse_watchdog(text: str) -> dict[str, ObservedPfc]:
    """Return the storms that the watchdog saw, by port, from `show priority-flow-control counters watchdog | json`."""
    found = {}
    for name, row in (parse_json(text).get("interfaces") or {}).items():
        storms = sum(int(queue.get("stuckCount", 0)) for queue in (row.get("txQueues") or {}).values())
        found[name] = ObservedPfc(name, storms=storms)
    return found


def parse_pfc(profiles: str, interfaces: str, watchdog: str) -> dict[str, ObservedPfc]:
    """Return the lossless priorities that each Ethernet port is configured for, its profile's where it has one.

    Args:
        profiles: `show running-config section qos profile`.
        interfaces: `show running-config section interface Ethernet`.
        watchdog: `show running-config section priority-flow-control`.
    """
    ports = _read_blocks(interfaces, "interface ")
    if not ports:
        raise AnswerError("a configuration without interfaces")
    by_profile = _read_blocks(profiles, "qos profile ")
    is_watched = bool(re.search(r"^priority-flow-control pause watchdog default timeout ", watchdog, re.MULTILINE))
    found = {}
    for name, lines in ports.items():
        if _PHYSICAL.match(name):
            used = [line.split()[1] for line in lines if line.startswith("service-profile ")]
            whole = [*lines, *(line for profile in used for line in by_profile.get(profile, ()))]
            numbers = [line.split()[2] for line in whole if re.fullmatch(r"priority-flow-control priority \d no-drop", line)]
            is_on = "priority-flow-control on" in whole
            found[name] = ObservedPfc(name, tuple(sorted(map(int, numbers))) if is_on else (), watchdog=is_watched and is_on)
    return found


def _read_blocks(text: str, key: str) -> dict[str, list[str]]:
    """Return the lines below each `key NAME` of a configuration, stripped, by name."""
    blocks: dict[str, list[str]] = {}
    here: list[str] | None = None
    for line in text.splitlines():
        if line and not line[0].isspace():
            here = blocks.setdefault(line.removeprefix(key).strip(), []) if line.startswith(key) else None
        elif here is not None and line.strip():
            here.append(line.strip())
    return blocks


def _get(document: Any, key: str) -> dict[str, Any]:
    found = document.get(key) if isinstance(document, dict) else None
    if not isinstance(found, dict):
        raise AnswerError(f"JSON without {key}")
    return found
