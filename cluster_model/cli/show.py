"""`gpuyard show`: all about one device, rack, port, cable, address, tenant, subnet, VNI, VLAN or border peer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cluster_model.cli.common import USAGE, cluster_argument, finding_options, open_plan
from cluster_model.cli.findings import Format
from cluster_model.near import find_near
from cluster_model.texts import show_text

if TYPE_CHECKING:
    from cluster_model.intent.model.cluster import Cluster
    from cluster_model.plan.model import CageMode, Pdu, Plan, Server, Switch
    from cluster_model.plan.model.overlay import Overlay

Facts = dict[str, Any]


@click.command()
@cluster_argument
@click.argument("words", metavar="NAME", nargs=-1, required=True)
@finding_options
def command(cluster: Path, words: tuple[str, ...], form: Format, strict: bool) -> None:
    """Show a device, a rack, a port, a cable, an address, a tenant, a subnet, a VNI, a VLAN or a border peer.

    NAME is a device (`gpu-007`), a rack (`A01`), a port or cable label (`compute-leaf-u01-01:Ethernet0`), an IP address, a
    subnet (`10.48.1.0/24`), a tenant, a VRF, a border peer, or a number: `vni 10017`, `vlan 17`, or alone. What several tenants
    have is shown for each. What stands or is plugged in elsewhere than planned says so, with the reason that the intent gives.
    """
    name = " ".join(words)
    opened = open_plan(cluster, form, strict)
    plan = opened.plan
    found = [{**facts, **describe_exceptions(opened.cluster, plan, facts)} for facts in find(plan, name)]
    if not found:
        near = suggest(plan, name)
        hint = f"did you mean {', '.join(near)}?" if near else "give a device, a rack, DEVICE:PORT, an IP address or a tenant"
        click.echo(f"error: nothing in {plan.name} is called {show_text(name)}; {hint}", err=True)
        raise click.exceptions.Exit(USAGE)
    if form == "json":
        import orjson

        click.echo(orjson.dumps(found if len(found) > 1 else found[0], option=orjson.OPT_INDENT_2))
        return
    for number, facts in enumerate(found):
        if number:
            click.echo()
        for line in _format(facts):
            click.echo(line)


def find(plan: Plan, name: str) -> list[Facts]:
    """Return what a name stands for, as facts in the order of print; several where tenants have the same address or number."""
    from cluster_model.cli.show_tenants import find_tenancy

    for device in _list_devices(plan):
        if device.name == name:
            return [{"kind": type(device).__name__.lower(), **_facts_of(device)}]
    for rack in plan.racks:
        if rack.name == name.upper():
            return [_describe_rack(plan, rack.name)]
    if ":" in name:
        return _find_port(plan, name)
    return find_tenancy(plan, name) or _find_address(plan, name.partition("/")[0])


def describe_exceptions(cluster: Cluster, plan: Plan, facts: Facts) -> Facts:
    """Return by which exceptions of the intent a device, port or cable is where it is, and why; nothing where there are none."""
    rows = []
    if facts["kind"] == "server":
        for index, item in enumerate(cluster.servers[facts["group"]].place):
            if item.number == facts["number"]:
                what = f"{facts['name']} was put into {item.rack} at U{item.u}"
                rows.append({"what": what, "reason": item.reason, "key": f"servers.{facts['group']}.place.{index}"})
    labels = {cable["label"] for cable in facts["cables"]} if facts["kind"] == "port" else set()
    if facts["kind"] in {"server", "switch", "pdu"}:
        labels = {cable.label for cable in plan.cables if facts["name"] in {cable.a, cable.b}}
    for index, moved in enumerate(cluster.cables.exceptions):
        if moved.cable in labels:
            what = f"{moved.cable} was moved to {moved.to}"
            rows.append({"what": what, "reason": moved.reason, "key": f"cables.exceptions.{index}"})
    return {"exceptions": rows} if rows else {}


def suggest(plan: Plan, name: str) -> list[str]:
    """Return up to three known names that look like `name`."""
    device, colon, port = name.partition(":")
    known = {item.name: [p.name for p in getattr(item, "ports", ())] for item in _list_devices(plan)}
    if colon and device in known:
        return [f"{device}:{near}" for near in find_near(port, known[device], 3, 0.4)]
    names = [*known, *(rack.name for rack in plan.racks), *(tenant.name for tenant in plan.tenants)]
    names += [*(tenant.vrf for tenant in plan.tenants), *(peer.name for peer in plan.border_peers)]
    return [f"{near}{colon}{port}" for near in find_near(device, names, 3, 0.7)]


def _list_devices(plan: Plan) -> Iterator[Server | Switch | Pdu]:
    yield from plan.servers
    yield from plan.switches
    yield from plan.pdus


def _facts_of(value: Any) -> Facts:
    return {part.name: getattr(value, part.name) for part in fields(value)}


def _describe_rack(plan: Plan, name: str) -> Facts:
    rack = next(rack for rack in plan.racks if rack.name == name)
    power = next((entry for entry in plan.power if entry.rack == name), None)
    held = [(s.u, s.height_u, s.name, s.model) for s in plan.servers if s.rack == name]
    held += [(s.u, s.height_u, s.name, s.model) for s in plan.switches if s.rack == name]
    devices = [dict(zip(("u", "height_u", "name", "model"), row, strict=True)) for row in sorted(held, reverse=True)]
    pdus = [pdu.name for pdu in plan.pdus if pdu.rack == name]
    return {"kind": "rack", **_facts_of(rack), "power": _facts_of(power) if power else {}, "pdus": pdus, "devices": devices}


def _find_port(plan: Plan, name: str) -> list[Facts]:
    """Return a port with its cable; a cable's label is the port of its near end."""
    from cluster_model.plan.model import Pdu

    device, _, port = name.partition(":")
    facts: Facts = {}
    for item in _list_devices(plan):
        if item.name == device and not isinstance(item, Pdu):
            facts = next((_facts_of(found) for found in item.ports if found.name == port), {})
    cables = [cable for cable in plan.cables if (device, port) in {(cable.a, cable.a_port), (cable.b, cable.b_port)}]
    if not facts and not cables:
        return []
    described = [{"label": cable.label, **_facts_of(cable)} for cable in cables]
    return [{"kind": "port", "device": device, **(facts or {"name": port}), "cables": described}]


def _find_address(plan: Plan, text: str) -> list[Facts]:
    from ipaddress import IPv4Address, IPv4Network

    from cluster_model.cli.show_tenants import find_tenant_address

    try:
        address = IPv4Address(text)
    except ValueError:
        return []
    found = find_tenant_address(plan, address)
    inside: list[Facts] = [
        {"kind": "address", "address": held, "device": device, "use": use, **more}
        for device, use, held, more in _list_addresses(plan)
        if held.partition("/")[0] == text
    ]
    for network in plan.networks:
        slices = [part for part in network.slices if address in IPv4Network(part.prefix)]
        place = {"network": network.name, "slices": [f"{part.name} {part.prefix}" for part in slices]}
        if slices or (network.pool and address in IPv4Network(network.pool)):
            if not inside:
                return [{"kind": "address", "address": text, "use": "nobody has it", **place}, *found]
            inside = [{**facts, **place} for facts in inside]
    return [*inside, *found]


def _list_addresses(plan: Plan) -> Iterator[tuple[str, str, str, Facts]]:
    """Yield device, use, address and further facts of every address in the plan."""
    for server in plan.servers:
        for port in server.ports:
            yield (
                server.name,
                f"port {port.name}",
                port.address,
                {"gateway": port.gateway, "peer": f"{port.peer}:{port.peer_port}"},
            )
        for service in server.services:
            yield server.name, f"service {service.purpose}", service.address, {"gateways": service.gateways}
        if server.bmc:
            yield server.name, "BMC", server.bmc.address, {"gateway": server.bmc.gateway}
    for switch in plan.switches:
        yield switch.name, "loopback", switch.loopback, {"asn": switch.asn}
        for uplink in switch.ports:
            yield switch.name, f"port {uplink.name}", uplink.address, {"peer": f"{uplink.peer}:{uplink.peer_port}"}
        for way in switch.upstreams:
            yield switch.name, f"port {way.port}", way.address, {"peer": f"the site's router {way.gateway}"}
        if switch.overlay:
            yield from _list_overlay_addresses(switch.name, switch.overlay, switch.loopback)
        for vlan in switch.vlans:
            yield switch.name, f"gateway of VLAN {vlan.id} {vlan.name}", vlan.address, {"prefix": vlan.prefix}
        if switch.management:
            yield switch.name, "management", switch.management.address, {"gateway": switch.management.gateway}
    for pdu in plan.pdus:
        if pdu.management:
            yield pdu.name, "management", pdu.management.address, {"gateway": pdu.management.gateway}


def _list_overlay_addresses(name: str, overlay: Overlay, loopback: str) -> Iterator[tuple[str, str, str, Facts]]:
    if overlay.vtep and overlay.vtep != loopback.partition("/")[0]:
        shared = "VTEP, shared with the other leaf" if overlay.shared_vtep else "VTEP"
        yield name, shared, overlay.vtep, {}
    for way in overlay.externals:
        yield name, f"port {way.port}", way.address, {"vrf": way.vrf, "peer": f"{way.peer} {way.peer_address} (AS {way.asn})"}
        yield way.peer, "border peer", way.peer_address, {"vrf": way.vrf, "peer": f"{name}:{way.port}", "asn": way.asn}
    if overlay.mlag:
        yield name, f"MLAG VLAN {overlay.mlag.vlan}", overlay.mlag.address, {"peer": overlay.mlag.peer_address}


def _format(facts: Facts) -> Iterator[str]:
    """Yield one line per plain fact, then a table per list of objects; what is empty is left out."""
    if facts.get("modes"):
        facts = {**facts, "modes": _fold_modes(facts["modes"])}
    if facts.get("overlay") or facts.get("bonds"):
        from cluster_model.cli.show_tenants import flatten

        facts = flatten(facts)
    plain = {key: value for key, value in facts.items() if not _is_table(value) and not _is_empty(value)}
    width = max(len(key) for key in plain)
    for key, value in plain.items():
        if is_dataclass(value) or isinstance(value, dict):
            parts = value if isinstance(value, dict) else _facts_of(value)
            value = ", ".join(f"{part} {_word(item)}" for part, item in parts.items() if not _is_empty(item))
        yield f"{key.ljust(width)}  {_word(value)}"
    for key, value in facts.items():
        if _is_table(value):
            yield f"\n{key}"
            yield from _format_rows([item if isinstance(item, dict) else _facts_of(item) for item in value])


def _fold_modes(modes: Sequence[CageMode]) -> str:
    """Return how cages run, runs of the same mode together: `1-8 2x400, 9-64 1x800`."""
    runs: list[tuple[str, int, int]] = []
    for mode in modes:
        words = f"{mode.count}x{mode.speed_gbps}"
        if runs and runs[-1][0] == words and runs[-1][2] == mode.cage - 1:
            runs[-1] = (words, runs[-1][1], mode.cage)
        else:
            runs.append((words, mode.cage, mode.cage))
    return ", ".join(f"{first}-{last} {words}" if last > first else f"{first} {words}" for words, first, last in runs)


_UNSHOWN = {"where"}
"""What a table leaves out; JSON has it."""
_FROM_ONE = {"vlan", "bond", "untagged", "peer_asn", "vni"}
"""Columns where 0 is "none"."""


def _format_rows(rows: list[Mapping[str, Any]]) -> Iterator[str]:
    shown = [{key: "" if key in _FROM_ONE and value == 0 else value for key, value in row.items()} for row in rows]
    columns = [column for column in shown[0] if column not in _UNSHOWN and any(not _is_empty(row[column]) for row in shown)]
    cells = [columns, *([_word(row[column]) if not _is_empty(row[column]) else "" for column in columns] for row in shown)]
    widths = [max(len(row[index]) for row in cells) for index in range(len(columns))]
    for row in cells:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _is_table(value: Any) -> bool:
    return isinstance(value, tuple | list) and bool(value) and (is_dataclass(value[0]) or isinstance(value[0], dict))


def _is_empty(value: Any) -> bool:
    """Return whether a value means "none" in the plan: 0 does not, since ports and GPUs count from it."""
    return value is None or value == -1 or (isinstance(value, str | tuple | list | dict) and not value)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return ", ".join(_word(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
