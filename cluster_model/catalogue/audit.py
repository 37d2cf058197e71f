"""What no type can say about a device: sums, numbering, sources and references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cluster_model.catalogue.cages import parse_mode, switch_cages
from cluster_model.catalogue.document import Document, Loc
from cluster_model.catalogue.faults import missing_source
from cluster_model.catalogue.types import DeviceType, PduBlock, Power, Server, Switch
from cluster_model.diagnostic import Diagnostic

SERVICE_PORTS_GBPS = 50
"""Ports of this much together, such as two SFP28 beside the main cages, may be left out of a file."""


def audit_device(document: Document, device: DeviceType, has: Callable[[str, str], bool]) -> Iterator[Diagnostic]:
    """Yield what is wrong with a device that has the right form: CAT002 to CAT004 and CAT006 to CAT009.

    Args:
        document: its file.
        device: what the file says.
        has: tells whether the catalogue has a `gpus` or `nics` entry of a name.
    """
    yield from audit_sources(document, document.data.get("gpuyard"), ("gpuyard",))
    block = device.gpuyard
    if isinstance(block, PduBlock):
        return
    yield from _audit_power(document, block.power)
    if isinstance(block, Switch):
        yield from _audit_switch(document, device, block)
    else:
        yield from _audit_server(document, block, has)


def audit_sources(document: Document, data: Any, loc: Loc) -> Iterator[Diagnostic]:
    """Yield CAT006 for each mapping that holds a number and has no source, itself or above it."""
    if isinstance(data, dict):
        if "source" in data:
            return
        if any(_is_number(v) or (isinstance(v, list) and any(_is_number(x) for x in v)) for v in data.values()):
            yield missing_source(document, loc)
            return
        for key, value in data.items():
            yield from audit_sources(document, value, (*loc, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from audit_sources(document, value, (*loc, index))


def missing_numbers(numbers: Sequence[int]) -> list[int]:
    """Return what a numbering leaves out between its first and last number."""
    present = set(numbers)
    return [n for n in range(min(present), max(present) + 1) if n not in present] if present else []


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _audit_power(document: Document, power: Power) -> Iterator[Diagnostic]:
    loc: Loc = ("gpuyard", "power")
    if power.psu_w is not None and power.psu_w * power.psu_count < power.maximum_w:
        yield document.finding(
            "CAT004",
            (*loc, "psu_w"),
            f"{power.psu_count} supplies of {power.psu_w:g} W cannot feed {power.maximum_w:g} W",
            expected=f"{power.maximum_w:g} W or more from all supplies together",
            actual=f"{power.psu_count * power.psu_w:g} W",
            fix="correct psu_count, psu_w or maximum_w",
        )
    if power.psu_minimum is not None and power.psu_minimum > power.psu_count:
        yield document.finding(
            "CAT004",
            (*loc, "psu_minimum"),
            f"{power.psu_minimum} supplies are needed and there are {power.psu_count}",
            expected=f"{power.psu_count} or fewer",
            actual=str(power.psu_minimum),
            fix="correct psu_minimum or psu_count",
        )


def _audit_switch(document: Document, device: DeviceType, switch: Switch) -> Iterator[Diagnostic]:
    cages = switch_cages(device)
    numbers = [cage.number for cage in cages]
    loc: Loc = ("gpuyard", "cages")
    gaps = missing_numbers(numbers)
    if gaps:
        yield document.finding(
            "CAT002",
            loc,
            f"cage numbers {_list(gaps)} are missing",
            expected=f"every number from {min(numbers)} to {max(numbers)}",
            actual=f"{len(set(numbers))} cages",
            fix="correct first and count of the groups",
            severity="warning",
        )
    yield from _twice(document, loc, numbers, "cage number")
    for index, group in enumerate(switch.cages):
        for place, text in enumerate(group.modes):
            count = parse_mode(text).count
            if group.lanes % count:
                yield document.finding(
                    "CAT007",
                    (*loc, index, "modes", place),
                    f"{group.lanes} lanes cannot be shared by {count} ports",
                    expected=f"a count that divides {group.lanes}",
                    actual=text,
                    fix="correct the mode or lanes",
                )
        firsts = group.hardware_first_lanes
        if firsts and len(firsts) != group.count:
            yield document.finding(
                "CAT007",
                (*loc, index, "hardware_first_lanes"),
                "every cage needs its own first lane",
                expected=f"{group.count} numbers, one for each cage",
                actual=f"{len(firsts)} numbers",
                fix="copy the first number of each row from the lanes column of port_config.ini",
            )
    total = sum(cage.bandwidth_gbps for cage in cages if not cage.for_managers)
    if abs(total - switch.asic.bandwidth_gbps) > SERVICE_PORTS_GBPS:
        yield document.finding(
            "CAT009",
            ("gpuyard", "asic", "bandwidth_gbps"),
            "the cages do not add up to the chip",
            expected=f"{total} Gb/s, the sum of all cages, give or take {SERVICE_PORTS_GBPS}",
            actual=f"{switch.asic.bandwidth_gbps} Gb/s",
            fix="correct bandwidth_gbps, or count and modes of the cages",
        )


def _audit_server(document: Document, server: Server, has: Callable[[str, str], bool]) -> Iterator[Diagnostic]:
    loc: Loc = ("gpuyard", "network")
    cages = {cage.number: cage for cage in server.network.cages}
    numbers = [cage.number for cage in server.network.cages]
    gaps = missing_numbers(numbers)
    if gaps:
        yield document.finding(
            "CAT002",
            (*loc, "cages"),
            f"cage numbers {_list(gaps)} are missing",
            expected=f"every number from {min(numbers)} to {max(numbers)}",
            actual=f"{len(set(numbers))} cages",
            fix="number the cages one after the other",
            severity="warning",
        )
    yield from _twice(document, (*loc, "cages"), numbers, "cage number")
    yield from _twice(document, (*loc, "ports"), [port.name for port in server.network.ports], "port name")
    yield from _twice(document, (*loc, "ports"), [port.rdma for port in server.network.ports if port.rdma], "RDMA device")
    if server.gpus is not None and not has("gpus", server.gpus.model):
        yield _unknown(document, ("gpuyard", "gpus", "model"), "gpus", server.gpus.model)
    in_cage: Counter[int] = Counter()
    for index, port in enumerate(server.network.ports):
        here: Loc = (*loc, "ports", index)
        if not has("nics", port.nic):
            yield _unknown(document, (*here, "nic"), "nics", port.nic)
        if port.cage not in cages:
            yield document.finding(
                "CAT007",
                (*here, "cage"),
                f"port {port.name} lies in cage {port.cage}, which is not there",
                expected=f"one of {_list(sorted(cages))}",
                actual=str(port.cage),
                fix="correct cage, or add it to cages",
            )
            continue
        in_cage[port.cage] += max([parse_mode(text).count for text in port.split], default=1)
        for text in port.split:
            mode = parse_mode(text)
            if mode.count * mode.speed_gbps > port.speed_gbps:
                yield document.finding(
                    "CAT007",
                    (*here, "split"),
                    f"{text} is more than the port has",
                    expected=f"{port.speed_gbps} Gb/s or less in all",
                    actual=f"{mode.count * mode.speed_gbps} Gb/s",
                    fix="correct split or speed_gbps",
                )
        if in_cage[port.cage] > cages[port.cage].lanes:
            yield document.finding(
                "CAT007",
                (*here, "cage"),
                f"cage {port.cage} has more ports than lanes",
                expected=f"at most {cages[port.cage].lanes} ports",
                actual=f"{in_cage[port.cage]}",
                fix="move the port to another cage, or correct lanes",
            )


def _twice(document: Document, loc: Loc, names: Sequence[int | str], what: str) -> Iterator[Diagnostic]:
    for name, count in Counter(names).items():
        if count > 1:
            at = (*loc, [i for i, n in enumerate(names) if n == name][1])
            yield document.finding(
                "CAT003",
                at,
                f"{what} {name} is used {count} times",
                expected="each once",
                actual=f"{count} times",
                fix="give each its own",
            )


def _unknown(document: Document, loc: Loc, kind: str, name: str) -> Diagnostic:
    return document.finding(
        "CAT008",
        loc,
        f"{name} is not in the catalogue",
        expected=f"a name from {kind}/",
        actual=name,
        fix=f"add {kind}/{name}.yaml to your catalogue folder, or correct the name",
    )


def _list(numbers: Sequence[int]) -> str:
    shown = ", ".join(str(number) for number in numbers[:8])
    return shown + (" …" if len(numbers) > 8 else "")
