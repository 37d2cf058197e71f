"""The gpuyard block of a NetBox device type that has none, derived from its interfaces and power ports.

NetBox numbers ports by name only, so cages are read out of the names: `swp7` is cage 7, `sw21p2` is port 2 of cage 21, `P0.1`
is a port of cage 1 (counting starts at 1), `Ethernet1/7` is cage 7 where the first number never changes. A port that the
numbering skips is reported and taken as present. Everything derived is `confirmed: false`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import groupby, pairwise
from typing import Any

import yaml

from cluster_model.catalogue.document import Document
from cluster_model.diagnostic import Diagnostic
from cluster_model.paths import CATALOGUE

_NUMBER = re.compile(r"\d+")
_PSU = re.compile(r"(psu|ps|pwr|power)", re.IGNORECASE)
_MOST_PER_CAGE = 8


@dataclass(frozen=True, slots=True)
class _Port:
    index: int  # in the file's list
    name: str
    type: str
    cage: int
    sub: int


@dataclass(frozen=True, slots=True)
class _Cage:
    number: int
    type: str
    ports: int


def derive_block(document: Document) -> tuple[dict[str, Any] | None, list[Diagnostic]]:
    """Return the gpuyard block of a NetBox file, None where it cannot be told, and the file's faults: CAT001 to CAT005."""
    found: list[Diagnostic] = []
    data = document.data
    absent = [name for name in ("manufacturer", "model", "slug") if not isinstance(data.get(name), str)]
    if absent:
        summary = f"{document.name} is not a device type"
        fix = "add them, as NetBox's device-type library has them"
        found.append(
            document.finding(
                "CAT001", (), summary, expected="manufacturer, model and slug", actual=f"no {', '.join(absent)}", fix=fix
            )
        )
        return None, found
    source = f"derived from the NetBox device type {document.path.name}"
    if data.get("power-outlets"):
        return _derive_pdu(document, source, found), found
    families = _read_families(document, found)
    cages = _number_cages(document, families, found)
    if len(cages) < 4:
        found.append(
            document.finding(
                "CAT001",
                (),
                f"{data['model']} cannot be taken for a switch or a PDU",
                expected="4 or more switch ports, or power-outlets, or a gpuyard block",
                actual=f"{len(cages)} ports",
                fix="add a gpuyard block; docs/add-a-server.md shows one",
            )
        )
        return None, found
    types = interface_types()["types"]
    bandwidth_gbps = sum(cage.ports * _speed_gbps(cage.type) for cage in cages)
    block = {
        "kind": "switch",
        "technology": sorted({types[cage.type].get("technology", "ethernet") for cage in cages}),
        "power": _derive_power(document, source, bandwidth_gbps, found),
        "asic": {"name": "unknown", "bandwidth_gbps": bandwidth_gbps, "source": source, "confirmed": False},
        "cages": _group_cages(cages, source),
    }
    return block, found


@cache
def interface_types() -> dict[str, Any]:
    """Return the table of NetBox's interface types."""
    table: dict[str, Any] = yaml.safe_load((CATALOGUE / "interface-types.yaml").read_text("utf-8"))
    return table


def _speed_gbps(type_: str) -> int:
    count, speed_gbps = interface_types()["types"][type_]["modes"][0].split("x")
    return int(count) * int(speed_gbps)


def _rows(document: Document, key: str) -> list[tuple[int, dict[str, Any]]]:
    rows = document.data.get(key)
    return [(i, row) for i, row in enumerate(rows) if isinstance(row, dict)] if isinstance(rows, list) else []


def _read_families(document: Document, found: list[Diagnostic]) -> list[list[_Port]]:
    """Return the ports that carry traffic, those whose names differ in numbers only together."""
    table = interface_types()
    service = re.compile(table["pattern_service"], re.IGNORECASE)
    families: dict[str, list[tuple[int, str, str]]] = {}
    names: set[str] = set()
    unknown: dict[str, list[int]] = {}
    for index, row in _rows(document, "interfaces"):
        name, type_ = str(row.get("name", "")), str(row.get("type", ""))
        if name in names:
            loc = ("interfaces", index, "name")
            found.append(
                document.finding(
                    "CAT003", loc, f"duplicate port name {name}", expected="each once", actual=name, fix="remove or rename one"
                )
            )
        elif row.get("mgmt_only") or type_ in table["ignored"] or service.fullmatch(name):
            pass
        elif type_ not in table["types"]:
            unknown.setdefault(type_, []).append(index)
        else:
            families.setdefault(_NUMBER.sub("#", name), []).append((index, name, type_))
        names.add(name)
    for type_, indexes in unknown.items():
        found.append(
            document.finding(
                "CAT005",
                ("interfaces", indexes[0], "type"),
                f"unknown interface type {type_}, so {len(indexes)} ports are left out",
                expected="a type from the catalogue's interface-types.yaml",
                actual=type_ or "nothing",
                fix="add a gpuyard block that lists the cages",
                severity="warning",
            )
        )
    return [_read_numbers(rows) for rows in families.values()]


def _read_numbers(rows: list[tuple[int, str, str]]) -> list[_Port]:
    """Find which number in the names counts cages, and which the ports in a cage: numbers that never change count nothing."""
    numbers = [[int(n) for n in _NUMBER.findall(name)] for _, name, _ in rows]
    columns = list(zip(*numbers, strict=True))
    varying = [i for i, column in enumerate(columns) if len(set(column)) > 1] or list(range(len(columns)))[-1:]
    subs = set(columns[varying[1]]) if len(varying) > 1 else {0}
    if not varying or len(varying) > 2 or len(subs) > _MOST_PER_CAGE:  # slots of a chassis: number the ports through
        return [_Port(index, name, type_, place, 0) for place, (index, name, type_) in enumerate(rows)]
    ports = []
    for (index, name, type_), values in zip(rows, numbers, strict=True):
        ports.append(_Port(index, name, type_, values[varying[0]], values[varying[1]] if len(varying) > 1 else 0))
    return ports


def _number_cages(document: Document, families: list[list[_Port]], found: list[Diagnostic]) -> list[_Cage]:
    cages: dict[int, _Cage] = {}
    for ports in families:
        listed = sorted({port.cage for port in ports})
        step = min((b - a for a, b in pairwise(listed)), default=1)
        subs = sorted({port.sub for port in ports})
        by_key = {(port.cage, port.sub): port for port in ports}
        all_cages = range(listed[0], listed[-1] + 1, step)
        first = listed[0] if step == 1 and listed[0] > 0 else 1
        if any(number in cages for number in range(first, first + len(all_cages))):
            first = max(cages) + 1
        missing: list[str] = []
        previous = by_key[min(by_key)]
        for place, cage in enumerate(all_cages):
            for sub in subs:
                port = by_key.get((cage, sub))
                if port is None:
                    missing.append(_rename(previous, cage, sub))
                else:
                    previous = port
            own = next((p for sub in subs if (p := by_key.get((cage, sub)))), previous)
            cages[first + place] = _Cage(first + place, own.type, len(subs))
        if missing:
            found.append(
                document.finding(
                    "CAT002",
                    ("interfaces",),
                    f"the numbering skips {', '.join(missing[:8])}{' …' if len(missing) > 8 else ''}",
                    expected=f"{len(all_cages) * len(subs)} ports",
                    actual=f"{len(ports)} ports",
                    fix="add the missing ports; until then they are taken as present",
                    severity="warning",
                )
            )
    return [cages[number] for number in sorted(cages)]


def _rename(port: _Port, cage: int, sub: int) -> str:
    """Return the name that a neighbour of `port` would have."""
    numbers = _NUMBER.findall(port.name)
    for place in (i for i, n in enumerate(numbers) if int(n) == port.cage):
        numbers[place] = str(cage)
        rest = [i for i in range(place + 1, len(numbers)) if int(numbers[i]) == port.sub]
        if rest:
            numbers[rest[-1]] = str(sub)
        break
    values = iter(numbers)
    return _NUMBER.sub(lambda _: next(values), port.name)


def _group_cages(cages: list[_Cage], source: str) -> list[dict[str, Any]]:
    types = interface_types()["types"]
    groups: list[dict[str, Any]] = []
    for _, members in groupby(enumerate(cages), key=lambda item: (item[1].type, item[1].ports, item[1].number - item[0])):
        run = [cage for _, cage in members]
        kind = types[run[0].type]
        native = f"{run[0].ports}x{_speed_gbps(run[0].type)}"
        groups.append(
            {
                "first": run[0].number,
                "count": len(run),
                "form_factor": kind["form_factor"],
                "lanes": kind["lanes"],
                "modes": kind["modes"] if run[0].ports == 1 else [native],
                "source": source,
                "confirmed": False,
            }
        )
    return groups


def _derive_power(document: Document, source: str, bandwidth_gbps: int, found: list[Diagnostic]) -> dict[str, Any]:
    """One or two supplies each carry the whole; of more, one is spare."""
    ports = _rows(document, "power-ports")
    supplies = len(ports) or sum(1 for _, bay in _rows(document, "module-bays") if _PSU.match(str(bay.get("name", "")))) or 2
    power = {"psu_count": supplies, "confirmed": False}
    draws = [row["maximum_draw"] for _, row in ports if isinstance(row.get("maximum_draw"), int | float)]
    if draws:
        maximum_w = max(draws) if len(draws) <= 2 else sum(draws) - max(draws)
        return {**power, "maximum_w": maximum_w, "source": f"{source}: maximum_draw of its power ports"}
    per_gbps = interface_types()["power_w_per_gbps"]
    maximum_w = max(100.0, round(bandwidth_gbps * per_gbps))
    found.append(
        document.finding(
            "CAT004",
            ("power-ports",) if ports else (),
            f"no power port names its draw; {maximum_w:g} W is assumed",
            expected="maximum_draw on the power ports",
            actual="nothing",
            fix="add maximum_draw from the datasheet",
            severity="warning",
        )
    )
    return {**power, "maximum_w": maximum_w, "source": f"{source}; assumed {per_gbps} W per Gb/s of its ports"}


def _derive_pdu(document: Document, source: str, found: list[Diagnostic]) -> dict[str, Any] | None:
    draws = [row["maximum_draw"] for _, row in _rows(document, "power-ports") if isinstance(row.get("maximum_draw"), int | float)]
    if draws:
        zero_u = float(document.data.get("u_height", 0) or 0) == 0
        return {"kind": "pdu", "capacity_w": sum(draws), "zero_u": zero_u, "source": source, "confirmed": False}
    found.append(
        document.finding(
            "CAT004",
            ("power-ports",) if _rows(document, "power-ports") else (),
            "the PDU's inlet names no draw, so its capacity is unknown",
            expected="maximum_draw on the power port, W",
            actual="nothing",
            fix="add maximum_draw, or a gpuyard block with capacity_w",
        )
    )
    return None
