# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about what vendors delivered: part of the FCT family. FCT001 to FCT007 are found while the files are read."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.source.facts_csv import BLANK, Kind
from cluster_model.names import format_server, parse_name
from cluster_model.near import suggest
from cluster_model.plan.model import Management, Plan


class UnknownDevice(Rule):
    """Deliver facts for planned devices and ports only.

    What it checks:
        Every row of the fact files names a device of the plan, and every `mac.PORT` and `guid.PORT` a port of its model.

    Why it matters:
        A MAC under the wrong name is a server that never boots, or boots as another one.

    How to fix:
        Correct the name; the nearest known one is offered. Rows of servers that are planned and not built yet can stay out.

    Source:
        Names follow from the plan: `gpuyard plan CLUSTER --json`.
    """

    id, title = "FCT100", "facts for a device or port that is not planned"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        facts, plan = design.facts, design.plan
        tables: tuple[tuple[Kind, dict[str, int], set[str]], ...] = (
            ("servers", {name: row.line for name, row in facts.servers.items()}, set(design.servers)),
            ("switches", {name: row.line for name, row in facts.switches.items()}, set(design.switches)),
            ("pdus", {name: row.line for name, row in facts.pdus.items()}, {pdu.name for pdu in plan.pdus}),
        )
        for kind, rows, known in tables:
            strange = [name for name in rows if name not in known]
            for place, name in enumerate(strange[:20]):
                summary, expected, fix = f"{name} is not in the plan", f"a name of the planned {kind}", ""
                if kind == "servers" and (later := _explain_later(design, name)):
                    summary, expected, fix = later
                elif place < 3:  # dear with many names
                    fix = suggest(name, known)
                yield self._at(
                    design,
                    kind,
                    rows[name],
                    summary + (f", nor are {len(strange) - 20} others of this file" if place == 19 and len(strange) > 20 else ""),
                    expected,
                    name,
                    fix or "correct the name or delete the line",
                )
        yield from self._ports(design)

    def _ports(self, design: Design) -> Iterator[Diagnostic]:
        reported: set[tuple[str, str]] = set()
        for name, row in design.facts.servers.items():
            server = design.servers.get(name)
            if server is None:
                continue
            strange = (row.macs.keys() | row.guids.keys()) - {port.name for port in server.ports}
            if not strange:
                continue
            block = design.catalogue.server(server.model)
            ports = [port.name for port in block.network.ports] if block else []
            also = {port.infiniband_name for port in block.network.ports} if block else set()
            for port in sorted(strange - {*ports, *also}):
                if (server.model, port) not in reported:
                    reported.add((server.model, port))
                    yield self._at(
                        design,
                        "servers",
                        row.line,
                        f"{server.model} has no port {port}",
                        f"one of {list_names(ports, 16)}",
                        f"{port}, first at {name}",
                        suggest(port, ports) or "correct the column or delete it",
                    )

    def _at(self, design: Design, kind: Kind, line: int, summary: str, expected: str, actual: str, fix: str) -> Diagnostic:
        finding = self.finding(f"facts.{kind}", summary, expected, actual, fix)
        file = design.facts.files.get(kind, "")
        return finding.located(file, line, 1) if file else finding


def _explain_later(design: Design, name: str) -> tuple[str, str, str] | None:
    """Return what is said of a server that its group does not build, or not yet: summary, expected and fix; None for others."""
    parts = parse_name(name) if len(name) < 50 else None  # Python reads no number of thousands of digits
    group = design.cluster.servers.get(parts.group) if parts else None
    if parts is None or group is None or parts.number <= group.count:
        return None
    expected = (
        f"{format_server(parts.group, 1)} to {format_server(parts.group, group.count)}, which count of {parts.group} builds"
    )
    if parts.number <= group.final_count:
        return (
            f"{name} is planned, and not built yet",
            expected,
            f"delete the line, or raise count of {parts.group} to {parts.number}",
        )
    raised = "count" if group.planned is None else "count and planned"
    return f"{name} is not in the plan", expected, f"delete the line, or raise {raised} of {parts.group}"


_ONE: dict[Kind, str] = {"servers": "server", "switches": "switch", "pdus": "pdu"}


class SerialBlank(Rule):
    """Take serial numbers that the maker wrote.

    What it checks:
        Serial numbers of servers, switches and PDUs are not what a maker's firmware says where nobody filled them in: To be
        filled by O.E.M., Default string, a single character over and over.

    Why it matters:
        Such a device cannot be told from others of its batch: it is found by no asset list, and `gpuyard verify` takes one for
        the other.

    How to fix:
        Read the number from the label.

    Source:
        Defaults of AMI's and Insyde's firmware for SMBIOS type 1, Serial Number (DMTF DSP0134, section 7.2).
    """

    id, severity, title = "FCT102", "warning", "serial number that a maker left blank"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        tables: dict[Kind, dict[str, str]] = {
            "servers": {name: row.serial for name, row in design.facts.servers.items()},
            "switches": {name: row.serial for name, row in design.facts.switches.items()},
            "pdus": {name: row.serial for name, row in design.facts.pdus.items()},
        }
        for kind, serials in tables.items():
            blank = [name for name, serial in serials.items() if serial and BLANK.fullmatch(serial)]
            if blank:
                yield self.finding(
                    f"facts.{kind}",
                    f"{count_things(len(blank), _ONE[kind], kind)} "
                    f"{'has' if len(blank) == 1 else 'have'} a serial number that a maker left blank",
                    "the number on the label",
                    f"{serials[blank[0]]} ({list_names(blank)})",
                    f"read the labels, and correct the CSV of facts.{kind}",
                )


class FactsMissing(Rule):
    """Know for which devices lines are left out.

    What it checks:
        Servers, switches and PDUs of the plan without MAC addresses or serial numbers, InfiniBand switches without GUIDs.

    Why it matters:
        Reservations in DHCP and serial numbers in labels and the asset list cannot be rendered for them; everything else can. The
        subnet manager's list of roots waits for the GUIDs.

    How to fix:
        Fill the CSV files named under `facts` when the vendor delivers; docs/facts-csv.md has the columns.

    Source:
        `facts` of the intent.
    """

    id, severity, title = "FCT101", "info", "devices without facts"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        missing = {kind: counts for kind, counts in _missing(design.plan).items() if any(counts.values())}
        totals = {"servers": len(design.plan.servers), "switches": len(design.plan.switches), "pdus": len(design.plan.pdus)}
        if missing and not design.facts.files:
            yield self.finding(
                "facts",
                "no facts yet: lines that need a serial number or a MAC are left out",
                "a CSV for " + ", ".join(missing),
                ", ".join(f"{totals[kind]} {kind}" for kind in missing),
                "name the CSV files under facts when the vendor delivers",
            )
            return
        for kind, counts in missing.items():
            lacks = ", ".join(f"{count} lack {what}" for what, count in counts.items() if count)
            yield self.finding(
                f"facts.{kind}",
                f"of {totals[kind]} {kind} {lacks}, so lines that need them are left out",
                "a line per device with all of them",
                fix=f"fill the CSV of facts.{kind} when the vendor delivers",
            )


def _missing(plan: Plan) -> dict[Kind, dict[str, int]]:
    """Return how many devices of each kind lack what, under the names of the CSV's columns."""
    infiniband = {network.name for network in plan.networks if network.technology == "infiniband"}
    return {
        "servers": {
            "serial": sum(not server.serial for server in plan.servers),
            "bmc_mac": sum(_no_mac(server.bmc) for server in plan.servers),
            "mac or guid of a port": sum(any(not p.mac and not p.guid for p in server.ports) for server in plan.servers),
        },
        "switches": {
            "serial": sum(not switch.serial for switch in plan.switches),
            "mgmt_mac": sum(_no_mac(switch.management) for switch in plan.switches),
            "guid": sum(not switch.guid for switch in plan.switches if switch.network in infiniband),
        },
        "pdus": {"serial": sum(not pdu.serial for pdu in plan.pdus), "mac": sum(_no_mac(pdu.management) for pdu in plan.pdus)},
    }


def _no_mac(management: Management | None) -> bool:
    return management is not None and not management.mac
