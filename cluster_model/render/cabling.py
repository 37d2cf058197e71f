"""Cabling: the list an installer works from, the labels to print, and the bill of materials."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from cluster_model.plan.cabling.outside import list_outside
from cluster_model.plan.growth import compare_bills
from cluster_model.plan.model import Cable, Plan

CABLE_COLUMNS = (
    "label", "network", "kind", "a_rack", "a_u", "a_device", "a_port", "a_optic",
    "b_rack", "b_u", "b_device", "b_port", "b_optic", "speed_gbps", "medium", "length_m", "assembly",
)  # fmt: skip
LABEL_COLUMNS = ("label", "end", "line_1", "line_2", "line_3")
BOM_COLUMNS = ("kind", "item", "length_m", "count")
BOM_PLANNED_COLUMNS = ("kind", "item", "length_m", "built", "planned", "to_buy", "freed")
XLSX_MAX_CABLES = 20_000  # a workbook costs 0.1 ms a cable; longer lists are read by programs, from the CSV
NUMERIC = {"speed_gbps", "length_m", "count", "a_u", "b_u", "built", "planned", "to_buy", "freed"}
Row = Sequence[str | int | float]


def render_cabling(plan: Plan, grown: Plan | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield cables.csv, labels.csv and bom.csv, and cables.xlsx where xlsxwriter is installed and the list is not too long.

    Args:
        plan: the plan.
        grown: the plan once everything planned is built: bom-planned.csv says what has to be bought for it. None: no such file.
    """
    places = locate_devices(plan)
    every = [*plan.cables, *list_outside(plan)]
    cables = [_describe_cable(cable, places) for cable in every]
    labels = [row for cable in every for row in _describe_labels(cable, places)]
    bom = [(line.kind, line.item, _format_length(line.length_m), line.count) for line in plan.bom]
    tables: list[tuple[str, Sequence[str], list[Row]]] = [
        ("cables", CABLE_COLUMNS, [*cables]),
        ("labels", LABEL_COLUMNS, [*labels]),
        ("bom", BOM_COLUMNS, [*bom]),
    ]
    if grown is not None:
        changes: list[Row] = [
            (line.kind, line.item, _format_length(line.length_m), line.built, line.planned, line.to_buy, line.freed)
            for line in compare_bills(plan, grown)
        ]
        tables.append(("bom-planned", BOM_PLANNED_COLUMNS, changes))
    for name, columns, rows in tables:
        yield f"cabling/{name}.csv", _format_csv(columns, rows)
    if len(plan.cables) <= XLSX_MAX_CABLES:
        workbook = _format_xlsx(plan.name, [table for table in tables if table[0] != "labels"])
        if workbook:
            yield "cabling/cables.xlsx", workbook


def lacks_workbook(plan: Plan) -> bool:
    """Return whether cables.xlsx would be written, if xlsxwriter were installed."""
    if len(plan.cables) > XLSX_MAX_CABLES:
        return False
    try:
        import xlsxwriter  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        return True
    return False


def locate_devices(plan: Plan) -> dict[str, tuple[str, int]]:
    """Return rack and lowest unit of every device; a PDU hangs beside the units, at 0."""
    servers = {server.name: (server.rack, server.u) for server in plan.servers}
    switches = {switch.name: (switch.rack, switch.u) for switch in plan.switches}
    return servers | switches | {pdu.name: (pdu.rack, 0) for pdu in plan.pdus}


def _describe_cable(cable: Cable, places: dict[str, tuple[str, int]]) -> Row:
    a_rack, a_u = places.get(cable.a, ("", 0))
    b_rack, b_u = places.get(cable.b, ("", 0))
    return (
        cable.label, cable.network, cable.kind, a_rack, a_u, cable.a, cable.a_port, cable.a_optic,
        b_rack, b_u, cable.b, cable.b_port, cable.b_optic, cable.speed_gbps, cable.medium, _format_length(cable.length_m),
        cable.assembly,
    )  # fmt: skip


def _describe_labels(cable: Cable, places: dict[str, tuple[str, int]]) -> Iterator[Row]:
    """Yield the two labels of a cable. Each says where this end belongs first, then where the other one goes."""
    a = _format_end(cable.a, cable.a_port, places)
    b = _format_end(cable.b, cable.b_port, places)
    what = f"{cable.network} {cable.speed_gbps}G {cable.medium} {_format_length(cable.length_m)}m"
    yield (cable.label, "a", a, f"to {b}", what)
    yield (cable.label, "b", b, f"to {a}", what)


def _format_end(device: str, port: str, places: dict[str, tuple[str, int]]) -> str:
    rack, u = places.get(device, ("", 0))
    return f"{rack} U{u} {device} {port}" if u else f"{rack} {device} {port}"


def _format_length(length_m: float) -> str:
    return f"{length_m:g}"


def _format_csv(columns: Sequence[str], rows: Iterable[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue().encode()


def _format_xlsx(name: str, tables: Iterable[tuple[str, Sequence[str], list[Row]]]) -> bytes:
    """Return a workbook with one sheet per table; empty without the `xlsx` extra."""
    try:
        import xlsxwriter
    except ImportError:
        return b""
    stream = io.BytesIO()
    workbook = xlsxwriter.Workbook(stream, {"in_memory": True})
    # A fixed date: the same plan gives the same bytes.
    workbook.set_properties({"title": f"{name}: cabling", "created": datetime(2000, 1, 1)})
    head = workbook.add_format({"bold": True, "bg_color": "#E8EDF3", "bottom": 1})
    for title, columns, rows in tables:
        sheet = workbook.add_worksheet(title)
        sheet.freeze_panes(1, 1)
        for index, column in enumerate(columns):
            cells = [row[index] for row in rows]
            sheet.set_column(index, index, min(max(len(column), *(len(str(cell)) for cell in cells), 0) + 2, 60))
            if column in NUMERIC:
                for number, cell in enumerate(cells, start=1):
                    sheet.write_number(number, index, float(cell))
            else:
                for number, cell in enumerate(cells, start=1):
                    sheet.write_string(number, index, str(cell))
        sheet.write_row(0, 0, columns, head)
        sheet.autofilter(0, 0, max(len(rows), 1), len(columns) - 1)
    workbook.close()
    return stream.getvalue()
