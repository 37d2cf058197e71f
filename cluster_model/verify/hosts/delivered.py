"""The list of what was delivered, completed with what machines tell of themselves."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cluster_model.names import natural_key
from cluster_model.plan.model import Plan, Server
from cluster_model.transport.bmc.controller import Machine
from cluster_model.verify.hosts.machines import Visit, known_serial

FIRST = ("name", "serial", "bmc_mac")


@dataclass(frozen=True, slots=True)
class Fill:
    """A cell to write: `old` is empty where nothing stood there."""

    name: str
    column: str
    old: str
    new: str


def list_facts(plan: Plan, visits: Mapping[str, Visit]) -> dict[str, dict[str, str]]:
    """Return serial number, BMC's MAC and ports' MACs by server, as far as the machines told and ports could be named.

    A machine that is another server's in the list is left out: what is wrong there is the place, not the list.
    """
    owners = {server.serial: server.name for server in plan.servers if server.serial}
    found = {}
    for server in plan.servers:
        visit = visits.get(server.name)
        if visit is None or visit.machine is None:
            continue
        serial = known_serial(visit.machine)
        if owners.get(serial, server.name) == server.name:
            cells = {"serial": serial, "bmc_mac": visit.machine.bmc_mac, **dict(_name_ports(server, visit.machine))}
            found[server.name] = {column: value for column, value in cells.items() if value}
    return found


def _name_ports(server: Server, machine: Machine) -> Iterator[tuple[str, str]]:
    """Yield columns and MACs of ports that can be told apart: called as the plan calls them, or the last ones on both sides.

    BMCs name ports after their slots, each vendor in its own way. A host that runs tells the rest: its installer reports them.
    """
    named = {name.lower(): mac for name, mac in machine.macs}
    ports = [port for port in server.ports if not port.guid]
    open_ports = []
    for port in ports:
        if port.name.lower() in named:
            yield f"mac.{port.name}", named.pop(port.name.lower())
        elif not port.mac:
            open_ports.append(port)
    taken = {port.mac for port in ports if port.mac}
    left = [mac for mac in named.values() if mac not in taken]
    if len(open_ports) == len(left) == 1:
        yield f"mac.{open_ports[0].name}", left[0]


def fill_facts(text: str, facts: Mapping[str, Mapping[str, str]], *, replace: bool = False) -> tuple[str, list[Fill]]:
    """Return the CSV with empty cells filled, and what was filled. Order, comments and divider stay; new lines come last.

    Args:
        text: the CSV as it is; empty where there is none yet.
        facts: values by server and column.
        replace: whether a cell that says something else is replaced too.
    """
    lines = text.splitlines()
    rows = [number for number, line in enumerate(lines) if line.strip() and not line.startswith("#")]
    header_line = lines[rows[0]] if rows else ",".join(FIRST)
    divider = max(",;\t", key=header_line.count)
    header = [cell.strip() for cell in next(csv.reader([header_line], delimiter=divider))]
    wanted = {column for cells in facts.values() for column in cells} - set(header)
    columns = [*header, *(name for name in FIRST if name in wanted), *sorted(wanted - set(FIRST), key=natural_key)]
    fills: list[Fill] = []
    seen = set[str]()
    out = list(lines) if rows else [*lines, header_line]
    for number in rows[1:]:
        cells = [cell.strip() for cell in next(csv.reader([lines[number]], delimiter=divider))]
        row = dict(zip(columns, cells + [""] * (len(columns) - len(cells)), strict=False))
        name = row.get("name", "")
        seen.add(name)
        changed = _fill_row(name, row, facts.get(name, {}), fills, replace=replace)
        if changed or len(columns) > len(header):
            out[number] = _format_row([row[column] for column in columns], divider)
    if len(columns) > len(header) and rows:
        out[rows[0]] = _format_row(columns, divider)
    elif not rows:
        out[-1] = _format_row(columns, divider)
    for name in sorted(set(facts) - seen, key=natural_key):
        row = dict.fromkeys(columns, "") | {"name": name}
        if _fill_row(name, row, facts[name], fills, replace=replace):
            out.append(_format_row([row[column] for column in columns], divider))
    return ("\n".join(out) + "\n") if fills else text, fills


def _fill_row(name: str, row: dict[str, str], cells: Mapping[str, str], fills: list[Fill], *, replace: bool) -> bool:
    before = len(fills)
    for column, value in cells.items():
        old = row[column]
        if old.lower() != value.lower() and (not old or replace):
            fills.append(Fill(name, column, old, value))
            row[column] = value
    return len(fills) > before


def _format_row(cells: list[str], divider: str) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=divider, lineterminator="").writerow(cells)
    return out.getvalue()
