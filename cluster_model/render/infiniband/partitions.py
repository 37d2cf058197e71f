"""fabric-manager/partitions.conf: the partitions of an InfiniBand network, as the subnet manager reads them (`opensm -P`).

UFM writes a file of its own in this form and takes ours as an extension: docs/fabric-manager.md. Source of the syntax: opensm(8),
PARTITION CONFIGURATION, 3.3.23.
"""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.plan.model import Plan
from cluster_model.render.drawings.style import format_count

Member = tuple[str, str]
"""A port as `server:port`, and its GUID; empty where it is not delivered yet."""

_PER_LINE = 4
NOBODY = 0x7FFE  # ids of tenants end far below
_IPOIB = "ipoib, mtu=5"
"""IP over InfiniBand with packets of 4096 bytes: the 4092 that hosts are given, and 4 of header. The default is 4: 2048."""
_HEAD = """\
# {name}: partitions of the InfiniBand network. A port speaks to whom it shares a partition with, unless both are limited members.
# `mtu=5` is 4096 bytes, for IP over InfiniBand; without it hosts get 2044 instead of 4092.
"""
_DEFAULT_ALONE = f"""\
# No tenant has a partition: everybody shares the default one.
Default=0x7fff, {_IPOIB} : ALL=full ;
"""
_DEFAULT = f"""\
# Everybody is a limited member of the default partition: that reaches the subnet manager, and nobody else.
# `indx0` puts a port's own key where programs that name none find it, at index 0 of its table.
Default=0x7fff, {_IPOIB} : ALL=limited, ALL_SWITCHES=full, SELF=full{{managers}} ;
"""


def render_partitions(plan: Plan) -> Iterator[tuple[str, bytes]]:
    """Yield partitions.conf; nothing where no network is InfiniBand."""
    if not any(network.technology == "infiniband" for network in plan.networks):
        return
    text = _HEAD.format(name=plan.name)
    if plan.partitions:
        text += _DEFAULT.format(managers="".join(_list_managers(plan)))
        rules = [
            _format_rule(f"tenant_{found.tenant}", found.pkey, list(zip(found.ports, found.guids, strict=True)))
            for found in plan.partitions
        ]
        rest = _list_unowned(plan)
        rules += [_format_rule("nobody", NOBODY, rest)] if rest else []
        text += "".join(rules)
    else:
        text += _DEFAULT_ALONE
    yield "fabric-manager/partitions.conf", text.encode()


def _list_managers(plan: Plan) -> Iterator[str]:
    """Yield the ports of fabric managers: SELF is the one that is master, and another may take over."""
    for server in plan.servers:
        if server.role == "fabric-manager":
            yield from (f",\n    {port.guid}=full" for port in server.ports if port.network == "compute" and port.guid)


def _list_unowned(plan: Plan) -> list[Member]:
    """Return the ports of servers that no tenant owns: they speak to each other, as in the default VRF of an Ethernet fabric."""
    owned = {port for partition in plan.partitions for port in partition.ports}
    ports = [
        (f"{server.name}:{port.name}", port.guid)
        for server in plan.servers
        if server.role != "fabric-manager"
        for port in server.ports
        if port.network == "compute"
    ]
    return [member for member in ports if member[0] not in owned]


def _format_rule(name: str, pkey: int, members: list[Member]) -> str:
    """Return the rule of a partition. Full membership: its ports speak to each other."""
    guids = [guid for _, guid in members if guid]
    unknown = [port for port, guid in members if not guid]
    lines = ["", f"# {name}: {format_count(len(members), 'port')}"]
    if unknown:
        lines.append(f"# {len(unknown)} without a GUID yet, outside until facts.servers has it:")
        lines += [f"#   {' '.join(part)}" for part in _cut(unknown)]
    head = f"{name}=0x{pkey & 0x7FFF:04x}, indx0, {_IPOIB} :"
    rows = [", ".join(f"{guid}=full" for guid in part) for part in _cut(guids)]
    lines.append(f"{head} ;" if not rows else head + "\n    " + ",\n    ".join(rows) + " ;")
    return "\n".join(lines) + "\n"


def _cut(items: list[str]) -> Iterator[list[str]]:
    return (items[start : start + _PER_LINE] for start in range(0, len(items), _PER_LINE))
