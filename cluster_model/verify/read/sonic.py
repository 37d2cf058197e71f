"""Answers of SONiC's own commands, which are tables. Source: sonic-net/sonic-utilities, doc/Command-Reference.md."""

from __future__ import annotations

import re
from dataclasses import replace

from cluster_model.verify.observed import ObservedPfc, ObservedPort, normalize_mac
from cluster_model.verify.read.linux import AnswerError, normalize_fec, read_table

_PRIORITIES = 8
_SPEED = re.compile(r"(\d+(?:\.\d+)?)([GM])")


def parse_status(text: str, ports: dict[str, ObservedPort]) -> dict[str, ObservedPort]:
    """Return ports with what `show interfaces status` adds: speed, FEC, alias, whether it is up and enabled."""
    rows = {row["Interface"]: row for row in read_table(text) if row.get("Interface")}
    if not rows:
        raise AnswerError("no table of interfaces in it")
    told = {}
    for name, row in rows.items():
        port = ports.get(name, ObservedPort(name))
        found = _SPEED.match(row.get("Speed", ""))
        is_up = row.get("Oper", "").lower() == "up"
        speed_gbps = float(found[1]) / (1000 if found[2] == "M" else 1) if found and is_up else 0
        told[name] = replace(
            port,
            carrier=is_up if row.get("Oper", "").lower() in {"up", "down"} else port.carrier,
            enabled=row.get("Admin", "").lower() != "down",
            speed_gbps=speed_gbps,
            mtu_bytes=int(row["MTU"]) if row.get("MTU", "").isdigit() else port.mtu_bytes,
            fec=normalize_fec(row.get("FEC", "")) if is_up else "",
            alias=row.get("Alias", ""),
        )
    return ports | told


def parse_macs(text: str) -> dict[str, tuple[str, ...]]:
    """Return the MAC addresses learned behind each port, from `show mac`."""
    behind: dict[str, list[str]] = {}
    for row in read_table(text):
        if row.get("Port") and row.get("Type", "").lower() == "dynamic" and (mac := normalize_mac(row.get("MacAddress", ""))):
            behind.setdefault(row["Port"], []).append(mac)
    return {port: tuple(macs) for port, macs in behind.items()}


def parse_pfc(priority: str, counters: str, watchdog: str, storms: str) -> dict[str, ObservedPfc]:
    """Return priority flow control by port.

    Args:
        priority: `show pfc priority`.
        counters: `show pfc counters`: a table of received frames, then one of sent ones.
        watchdog: `show pfcwd config`, whose rows are the ports that are watched.
        storms: `show pfcwd stats`, whose column `STORM DETECTED/RESTORED` counts per queue (`Ethernet0:3`).
    """
    found: dict[str, ObservedPfc] = {}
    for row in read_table(priority):
        if name := row.get("Interface", ""):
            numbers = re.findall(r"\d+", row.get("Lossless priorities", ""))
            found[name] = ObservedPfc(name, priorities=tuple(sorted(map(int, numbers))))
    for row in read_table(counters):
        way, name = next(((key, value) for key, value in row.items() if key.startswith("Port")), ("", ""))
        known = found.get(name)
        if known is not None:
            counts = tuple(int(row.get(f"PFC{number}", "0").replace(",", "") or 0) for number in range(_PRIORITIES))
            found[name] = replace(known, received=counts) if way.endswith("Rx") else replace(known, sent=counts)
    watched = {row.get("PORT", "") for row in read_table(watchdog)}
    counted: dict[str, int] = {}
    for row in read_table(storms):
        name = row.get("QUEUE", "").partition(":")[0]
        number = re.match(r"\d+", row.get("STORM DETECTED/RESTORED", ""))
        counted[name] = counted.get(name, 0) + (int(number[0]) if number else 0)
    return {name: replace(pfc, watchdog=name in watched, storms=counted.get(name, 0)) for name, pfc in found.items()}
