"""What the vendor delivers: serial numbers, MACs and GUIDs, from CSV files beside the intent."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.model.policy import Facts
from cluster_model.intent.source.hardware_addresses import explain_mac, parse_guid, parse_mac
from cluster_model.near import suggest
from cluster_model.reading import TooLargeError, read_file
from cluster_model.references import TEMPLATE
from cluster_model.texts import UNPRINTABLE

Kind = Literal["servers", "switches", "pdus"]

COLUMNS: dict[Kind, tuple[str, ...]] = {
    "servers": ("name", "serial", "bmc_mac", "system_disks"),
    "switches": ("name", "serial", "mgmt_mac", "guid"),
    "pdus": ("name", "serial", "mac"),
}
"""Columns by kind of device; servers also have one `mac.PORT` or `guid.PORT` per port. Only `name` is needed."""
_DISK = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}")
_SERIAL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 _.:/+-]{0,62}[A-Za-z0-9.])?")
BLANK = re.compile(
    r"(to be filled by o\.?e\.?m\.?|default string|system serial number|not specified|not applicable|none|unknown|n/?a|tbd"
    r"|(.)\2*|0?123456789?0?)",
    re.IGNORECASE,
)
"""What a maker's firmware says for a serial number where nobody filled it in."""
_UNPRINTABLE = re.compile(f"[{UNPRINTABLE}]")
MOST_BYTES = 32_000_000
MOST_LINES = 200_000
"""Far beyond the largest cluster: 100,000 GPUs are 13,000 servers, with 300 bytes of facts each."""
_COPY = "copy it from the label or the delivery list again, or leave the field empty"


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """One server as delivered; empty where the file is silent. `line` is its line in the CSV."""

    serial: str = ""
    bmc_mac: str = ""
    macs: dict[str, str] = field(default_factory=dict)
    guids: dict[str, str] = field(default_factory=dict)
    line: int = 0
    system_disks: tuple[str, ...] = ()
    """Serial numbers or WWNs of the disks that hold the system."""


@dataclass(frozen=True, slots=True)
class SwitchFacts:
    """One switch as delivered; empty where the file is silent. `line` is its line in the CSV."""

    serial: str = ""
    mgmt_mac: str = ""
    guid: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class PduFacts:
    """One PDU as delivered; empty where the file is silent. `line` is its line in the CSV."""

    serial: str = ""
    mac: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class FactTables:
    """Facts by device name, and the file of each kind as the user would name it; empty where none is given."""

    servers: dict[str, ServerFacts] = field(default_factory=dict)
    switches: dict[str, SwitchFacts] = field(default_factory=dict)
    pdus: dict[str, PduFacts] = field(default_factory=dict)
    files: dict[Kind, str] = field(default_factory=dict)
    lines: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Text of each file by line, for findings."""


@dataclass(frozen=True, slots=True)
class _Cell:
    text: str
    line: int
    column: int


@dataclass(slots=True)
class _Reader:
    """Read one file into rows of cells, and gather what is wrong with it."""

    kind: Kind
    file: str
    findings: list[Diagnostic]
    owners: dict[str, str]
    """MAC, GUID or serial number to the place it was first seen at, over all files."""
    is_table: bool = False
    """Whether the header line names a column that we know; nothing is shown of a file that is something else."""

    def report(self, id_: str, cell: _Cell, summary: str, expected: str = "", *, fix: str = "") -> None:
        finding = Diagnostic(id_, "error", f"facts.{self.kind}", summary, expected, fix=fix)
        self.findings.append(finding.located(self.file, cell.line, cell.column))

    def read_rows(self, text: str) -> Iterator[tuple[str, dict[str, str], int]]:
        """Yield name, columns with a value, and line of each good row."""
        rows = _split_rows(text)
        header = next(rows, None)
        known = ",".join(COLUMNS[self.kind])
        if header is None:
            fix = "write these columns into the first line"
            self.report("FCT007", _Cell("", 0, 0), "the file has no header line", known, fix=fix)
            return
        self.is_table = any(cell.text.lower() in COLUMNS[self.kind] for cell in header)
        if not self.is_table:
            fix = "name a file of facts, or write these columns into its first line"
            self.report("FCT007", header[0], "the first line names no column of a fact file", known, fix=fix)
            return
        columns = self._read_header(header) if self._check_texts(header) else None
        if columns is None:
            return
        seen: dict[str, int] = {}
        for row in rows:
            if not self._check_texts(row):
                continue
            if len(row) != len(columns):
                cell = row[len(columns)] if len(row) > len(columns) else row[0]
                count = "1 field" if len(row) == 1 else f"{len(row)} fields"
                fix = "add what is missing" if len(row) < len(columns) else "put a field that holds the divider in double quotes"
                self.report("FCT006", cell, f"the line has {count}", f"{len(columns)}, as the header line has", fix=fix)
                continue
            cells = {column: cell for column, cell in zip(columns, row, strict=True) if column}
            name = cells["name"]
            if not name.text:
                self.report("FCT007", row[0], "the line names no device", "a name", fix="fill the name column or delete the line")
            elif name.text in seen:
                self.report(
                    "FCT003",
                    name,
                    f"duplicate line for {name.text}",
                    f"one line; line {seen[name.text]} is the first",
                    fix="keep one",
                )
            else:
                seen[name.text] = name.line
                values = {column: self._read_value(column, cell, name.text) for column, cell in cells.items() if cell.text}
                yield name.text, {column: value for column, value in values.items() if value is not None}, name.line

    def _check_texts(self, row: list[_Cell]) -> bool:
        """Return whether a line holds nothing but plain printable text."""
        bad = [cell for cell in row if _UNPRINTABLE.search(cell.text) or TEMPLATE.search(cell.text)]
        for cell in bad:
            letter = _UNPRINTABLE.search(cell.text)
            begun = TEMPLATE.search(cell.text)
            if letter:
                summary, fix = f"the character U+{ord(letter.group()):04X} stands in a field", "delete it"
            else:
                start = begun.group() if begun else ""
                summary, fix = f"{start} begins a reference or a template, which a fact never holds", f"write it without {start}"
            self.report("FCT008", cell, summary, "printable text", fix=fix)
        return not bad

    def _read_header(self, row: list[_Cell]) -> list[str] | None:
        known = COLUMNS[self.kind]
        columns: list[str] = []
        seen: set[str] = set()
        for cell in row:
            name = cell.text.lower() if cell.text.lower() in known else cell.text
            prefix, dot, port = cell.text.partition(".")
            is_port = self.kind == "servers" and dot and port and prefix.lower() in {"mac", "guid"}
            if is_port:
                name = f"{prefix.lower()}.{port}"
            if name in seen:
                self.report("FCT003", cell, f"duplicate column {name}", "each column once", fix="keep one")
                name = ""
            elif not is_port and name not in known:
                choices = ", ".join(known) + (", mac.PORT, guid.PORT" if self.kind == "servers" else "")
                fix = suggest(cell.text, known, "rename or delete the column")
                self.report("FCT002", cell, f'unknown column "{cell.text}"', f"one of {choices}", fix=fix)
                name = ""
            columns.append(name)
            seen.add(name)
        if "name" not in seen:
            self.report("FCT007", row[0], "the column name is missing", "one column called name", fix="add it")
            return None
        return columns

    def _read_value(self, column: str, cell: _Cell, name: str) -> str | None:
        """Return the value in its one form; None when it is bad or another device has it."""
        if column == "name":
            return cell.text
        if column == "system_disks":
            return " ".join(disk for disk in cell.text.split() if self._check_disk(cell, disk, name))
        value: str | None = cell.text
        prefix = column.partition(".")[0]
        if column == "serial" and not _SERIAL.fullmatch(cell.text):
            value = None
            expected = (
                "letters, digits, spaces and _ . : / + -, at most 64; a letter or digit first, and a letter, digit or dot last"
            )
            self.report("FCT004", cell, f'"{cell.text}" is not a serial number', expected, fix=_COPY)
        if prefix == "guid":
            value = parse_guid(cell.text)
            if value is None:
                expected = "16 hexadecimal digits, such as 0xa088c20300123456"
                self.report("FCT004", cell, f'"{cell.text}" is not a GUID', expected, fix=_COPY)
        elif prefix == "mac" or prefix.endswith("_mac"):
            value = parse_mac(cell.text)
            if value is None:
                expected = "12 hexadecimal digits, such as a0:88:c2:00:12:34"
                known = explain_mac(cell.text)
                summary = f'"{cell.text}" is {f"{known}, which no port has" if known else "not the MAC address of a port"}'
                self.report("FCT004", cell, summary, "the address of one port" if known else expected, fix=_COPY)
        if value is None:
            return None
        key = f"serial {self.kind} {value}" if column == "serial" else value
        if key in self.owners:
            word = "serial number" if column == "serial" else "GUID" if prefix == "guid" else "MAC address"
            expected = f"one device; {self.owners[key]} has it"
            is_blank = column == "serial" and BLANK.fullmatch(value)
            fix = (
                "read both labels, or leave both fields empty: a maker left it blank"
                if is_blank
                else "correct the line that is wrong"
            )
            self.report("FCT005", cell, f"the {word} {value} is used twice", expected, fix=fix)
            return None
        self.owners[key] = f"{name} ({self.file}:{cell.line}, {column})"
        return value

    def _check_disk(self, cell: _Cell, disk: str, name: str) -> bool:
        """Return whether a serial number or WWN of a disk has the right form and is of this server alone."""
        if not _DISK.fullmatch(disk):
            expected = "serial numbers or WWNs of disks, divided by spaces"
            self.report("FCT004", cell, f'"{disk}" is not a disk\'s serial number', expected, fix=_COPY)
            return False
        key = f"disk {disk}"
        if key in self.owners:
            expected = f"one server; {self.owners[key]} has it"
            self.report("FCT005", cell, f"the disk {disk} is named twice", expected, fix="correct the line that is wrong")
            return False
        self.owners[key] = f"{name} ({self.file}:{cell.line}, system_disks)"
        return True


def read_facts(wanted: Facts, folder: Path, shown: str) -> tuple[FactTables, list[Diagnostic]]:
    """Read the fact files that an intent names.

    Args:
        wanted: the intent's `facts`.
        folder: folder that the file names are relative to.
        shown: the same folder as the user gave it, for findings; empty for the working directory.

    Returns:
        The tables, rows by device name in the file's order, and the findings with their place in the CSV.

    Errors:
        FCT001 to FCT007.
    """
    tables, findings, owners = FactTables(), [], {}  # type: ignore[var-annotated]
    for kind in COLUMNS:
        name: str | None = getattr(wanted, kind)
        if name is None:
            continue
        try:
            text = read_file(folder / name, MOST_BYTES, folder).decode("utf-8-sig")
            if text.count("\n") > MOST_LINES:
                raise TooLargeError(f"it has more than {MOST_LINES} lines")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            summary = f"cannot read {name}: {reason}"
            fix = f"correct the name or the file, or delete {kind} until the vendor's list is there"
            expected = "a CSV file in UTF-8 beside the intent"
            findings.append(Diagnostic("FCT001", "error", f"facts.{kind}", summary, expected, fix=fix))
            continue
        file = f"{shown}/{name}" if shown and not Path(name).is_absolute() else name
        tables.files[kind] = file
        reader = _Reader(kind, file, findings, owners)
        rows = list(reader.read_rows(text))
        tables.lines[file] = tuple(text.splitlines()) if reader.is_table else ()
        for device, row, line in rows:
            if kind == "servers":
                tables.servers[device] = ServerFacts(
                    row.get("serial", ""),
                    row.get("bmc_mac", ""),
                    _ports(row, "mac."),
                    _ports(row, "guid."),
                    line,
                    tuple(row.get("system_disks", "").split()),
                )
            elif kind == "switches":
                tables.switches[device] = SwitchFacts(row.get("serial", ""), row.get("mgmt_mac", ""), row.get("guid", ""), line)
            else:
                tables.pdus[device] = PduFacts(row.get("serial", ""), row.get("mac", ""), line)
    return tables, findings


def _ports(row: dict[str, str], prefix: str) -> dict[str, str]:
    return {column.removeprefix(prefix): value for column, value in row.items() if column.startswith(prefix)}


def _split_line(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line; a line that no CSV reader takes, such as one absurdly long, is one field."""
    try:
        return next(csv.reader(io.StringIO(line), delimiter=delimiter))
    except csv.Error:
        return [line[:40]]


def _split_rows(text: str) -> Iterator[list[_Cell]]:
    """Yield each line that is neither empty nor a comment as cells; the header says whether `,`, `;` or a tab divides."""
    lines = text.splitlines()
    delimiter = ""
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        if not delimiter:
            delimiter = max(",;\t", key=line.count)
        cells, start = [], 1
        for field_text in _split_line(line, delimiter):
            column = line.find(field_text.strip(), start - 1) + 1 or start
            cells.append(_Cell(field_text.strip(), number, column))
            start = column + len(field_text.strip()) if field_text.strip() else start + 1
        if any(cell.text for cell in cells):
            yield cells
