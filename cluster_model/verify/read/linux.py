"""Answers of Linux: lldpd, iproute2, ethtool, sysfs, and FRR's vtysh. Also those of SONiC and Cumulus Linux, which have them too.

Sources: lldpcli(8), output format json0; ip-link(8), bridge(8) and ip-neighbour(8), option -j; ethtool(8), --show-fec.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from cluster_model.transport.gear_text import clean_data
from cluster_model.verify.observed import Neighbour, ObservedPort, ObservedSession, normalize_mac

VIRTUAL = {
    "bond",
    "bridge",
    "vlan",
    "vxlan",
    "vrf",
    "dummy",
    "macvlan",
    "macvtap",
    "ipvlan",
    "tun",
    "gre",
    "team",
    "ifb",
    "nlmon",
}
"""Kinds of interface that no cable is plugged into."""
_MBPS = 1000
_FEC_NAMES = {"rs": "rs", "llrs": "rs", "baser": "baser", "fc": "baser", "off": "off", "none": "off"}


class AnswerError(ValueError):
    """An answer that is not what the command prints; the text says what was expected."""


def parse_json(text: str) -> Any:
    """Return the JSON in an answer, warnings around it left out."""
    starts = [at for at in (text.find("{"), text.find("[")) if at >= 0]
    if not starts:
        raise AnswerError(f"no JSON in it: {text.strip().splitlines()[0][:80] if text.strip() else 'nothing printed'}")
    try:
        return clean_data(json.JSONDecoder().raw_decode(text[min(starts) :])[0])
    except ValueError:
        raise AnswerError("JSON that is cut short or broken") from None


def parse_links(text: str) -> dict[str, ObservedPort]:
    """Return the ports in `ip -d -j link show`: whatever a cable may be plugged into, and virtual Ethernet pairs."""
    ports = {}
    for link in parse_json(text):
        kind = (link.get("linkinfo") or {}).get("info_kind", "")
        if kind in VIRTUAL or link.get("link_type") != "ether":
            continue
        flags = link.get("flags") or []
        ports[link["ifname"]] = ObservedPort(
            link["ifname"],
            carrier="LOWER_UP" in flags and "NO-CARRIER" not in flags,
            enabled="UP" in flags,
            mtu_bytes=int(link.get("mtu", 0)),
            # A port in a bond shows the bond's address; its own is the permanent one.
            mac=normalize_mac(link.get("permaddr") or link.get("address") or ""),
            alias=(link.get("altnames") or [""])[0],
        )
    return ports


def list_virtual_pairs(text: str) -> set[str]:
    """Return the names of veth interfaces: their speed is a fixed number and means nothing."""
    return {link["ifname"] for link in parse_json(text) if (link.get("linkinfo") or {}).get("info_kind") == "veth"}


def parse_lldp(text: str) -> dict[str, tuple[Neighbour, ...]]:
    """Return the neighbours in `lldpcli -f json0 show neighbors`, by port, the one heard since last first.

    A neighbour that was unplugged stands there until it is forgotten, two minutes by default.
    """
    heard: dict[str, list[tuple[int, Neighbour]]] = {}
    for part in parse_json(text).get("lldp") or []:
        for entry in part.get("interface") or []:
            chassis = (entry.get("chassis") or [{}])[0]
            port = (entry.get("port") or [{}])[0]
            id_ = (port.get("id") or [{}])[0]
            neighbour = make_neighbour(
                _value(chassis, "name"), id_.get("type", ""), id_.get("value", ""), _value(port, "descr"), _mac(chassis)
            )
            heard.setdefault(entry["name"], []).append((_read_age(entry.get("age", "")), neighbour))
    by_age = {name: sorted(neighbours, key=lambda item: item[0]) for name, neighbours in heard.items()}
    return {name: tuple(neighbour for _, neighbour in neighbours) for name, neighbours in by_age.items()}


def _read_age(text: str) -> int:
    """Return seconds from `1 day, 02:03:04`."""
    found = re.match(r"(\d+) days?, (\d+):(\d+):(\d+)", text)
    days, hours, minutes, seconds = map(int, found.groups()) if found else (0, 0, 0, 0)
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def make_neighbour(system: str, kind: str, port: str, description: str, chassis: str) -> Neighbour:
    """Return a neighbour from LLDP's fields; `kind` is the subtype of the port id: a MAC address, an alias, else a name."""
    mac = normalize_mac(port) if kind in {"mac", "macAddress"} else ""
    if kind in {"ifalias", "interfaceAlias"}:
        return Neighbour(system, "", port or description, "", chassis)
    return Neighbour(system, "" if mac else port, description, mac, chassis)


def _value(part: Mapping[str, Any], key: str) -> str:
    return str((part.get(key) or [{}])[0].get("value", ""))


def _mac(chassis: Mapping[str, Any]) -> str:
    id_ = (chassis.get("id") or [{}])[0]
    return normalize_mac(id_.get("value", "")) if id_.get("type") == "mac" else ""


def parse_speeds(text: str) -> dict[str, float]:
    """Return Gb/s by port from lines `/sys/class/net/PORT/speed:MBPS`; ports without link say -1 or nothing."""
    found = re.findall(r"^/sys/class/net/([^/]+)/speed:(\d+)\s*$", text, re.MULTILINE)
    return {name: int(mbps) / _MBPS for name, mbps in found if 0 < int(mbps) < 1 << 31}


def parse_fec(text: str) -> dict[str, str]:
    """Return the active FEC by port from `ethtool --show-fec` of several ports; those that cannot tell are left out."""
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        head, _, value = line.partition(":")
        if head.startswith("FEC parameters for"):
            name = head.removeprefix("FEC parameters for").strip()
        elif head.strip().startswith("Active FEC encoding") and name and value.split():
            fec = normalize_fec(value.split()[0])
            if fec:
                found[name] = fec
    return found


def normalize_fec(text: str) -> str:
    """Return `rs`, `baser` or `off`; empty where a system says something else, such as `N/A` or `auto`."""
    return _FEC_NAMES.get(text.strip().lower(), "")


def parse_forwarding(fdb: str, neighbours: str) -> dict[str, tuple[str, ...]]:
    """Return the MAC addresses behind each port, from `bridge -j fdb show` (learned ones only) and `ip -j neigh show`."""
    behind: dict[str, dict[str, None]] = {}
    for entry in parse_json(fdb):
        is_own = entry.get("state") in {"permanent", "static"} or "self" in (entry.get("flags") or [])
        if entry.get("ifname") and not is_own:
            behind.setdefault(entry["ifname"], {})[normalize_mac(entry.get("mac", ""))] = None
    for entry in parse_json(neighbours):
        if entry.get("lladdr") and entry.get("dev"):
            behind.setdefault(entry["dev"], {})[normalize_mac(entry["lladdr"])] = None
    return {name: tuple(mac for mac in macs if mac) for name, macs in behind.items()}


def parse_bgp(text: str) -> tuple[int, tuple[ObservedSession, ...]]:
    """Return a router's own ASN and its sessions, from `show bgp vrf all summary json` of FRR's vtysh.

    A neighbour stands once for each address family; it is one session, whose state is that of IPv4, else of the first family.
    """
    asn = 0
    sessions: dict[tuple[str, str], ObservedSession] = {}
    for vrf, families in parse_json(text).items():
        if not isinstance(families, Mapping):
            continue
        tables = families if "peers" not in families else {"ipv4Unicast": families}
        for family, table in sorted(tables.items(), key=lambda item: item[0] != "ipv4Unicast"):
            if not isinstance(table, Mapping) or "peers" not in table:
                continue
            if vrf == "default":
                asn = asn or int(table.get("as", 0))
            for peer, row in table["peers"].items():
                state = str(row.get("state", "unknown"))
                known = sessions.get((vrf, peer)) or ObservedSession(peer, state, int(row.get("remoteAs", 0)), vrf)
                if family == "l2VpnEvpn":
                    known = replace(known, evpn=state == "Established")
                sessions[vrf, peer] = known
    return asn, tuple(sessions.values())


def parse_route_width(text: str) -> int:
    """Return over how many ways a route is forwarded, from `show ip route PREFIX json`; 0 where there is none."""
    for routes in parse_json(text).values():
        for route in routes:
            if route.get("selected") or route.get("installed"):
                hops = [hop for hop in route.get("nexthops", []) if hop.get("fib") or hop.get("active")]
                return len(hops)
    return 0


def merge(ports: Mapping[str, ObservedPort], **facts: Mapping[str, Any]) -> dict[str, ObservedPort]:
    """Return ports with further facts, each a table by port name; facts of ports that are not there are left out."""
    return {
        name: replace(port, **{fact: table[name] for fact, table in facts.items() if name in table})
        for name, port in ports.items()
    }


def read_table(text: str) -> list[dict[str, str]]:
    """Return the rows of a table as SONiC prints it: a head, a line of dashes that gives the columns, rows until an empty line.

    A head or cell may hold spaces; columns are told by the dashes alone. Several tables may follow each other: `#` is the number.
    """
    rows: list[dict[str, str]] = []
    lines = text.splitlines()
    spans: list[tuple[int, int]] = []
    names: list[str] = []
    number = 0
    for before, line in zip(["", *lines], lines, strict=False):
        if re.fullmatch(r"\s*-{2,}(\s+-{2,})*\s*", line):
            starts = [match.start() for match in re.finditer(r"-+", line)]
            spans = list(zip(starts, [*(start for start in starts[1:]), 1 << 16], strict=True))
            names = [before[start:end].strip() for start, end in spans]
            number += 1
        elif not line.strip():
            spans = []
        elif spans:
            rows.append({"#": str(number), **dict(zip(names, _cut(line, spans), strict=True))})
    return rows


def _cut(line: str, spans: Iterable[tuple[int, int]]) -> list[str]:
    """Return the cells of a row; a cell that is right-aligned under its dashes stays inside them."""
    return [line[start:end].strip() for start, end in spans]
