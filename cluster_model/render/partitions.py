"""fabric-manager/partitions.conf: the partitions of an InfiniBand network, as the subnet manager reads them (`opensm -P`).

UFM takes the same file as its own partitions.conf. Source of the syntax: opensm(8), PARTITION CONFIGURATION, 3.3.23.
"""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.plan.model import Plan
from cluster_model.plan.overlay import Partition

_PER_LINE = 4
_HEAD = """\
# {name}: partitions of the InfiniBand network. A port speaks to whom it shares a partition with, unless both are limited members.
# Everybody is a limited member of the default partition: that reaches the subnet manager, and nobody else.
# `indx0` puts a tenant's key where programs that name none find it, at index 0 of the port's table.
Default=0x7fff, ipoib : ALL=limited, ALL_SWITCHES=full, SELF=full{managers} ;
"""


def render_partitions(plan: Plan) -> Iterator[tuple[str, bytes]]:
    """Yield partitions.conf; nothing where the compute network has no partitions."""
    if plan.partitions:
        text = _HEAD.format(name=plan.name, managers="".join(_list_managers(plan)))
        yield "fabric-manager/partitions.conf", (text + "".join(map(_format_partition, plan.partitions))).encode()


def _list_managers(plan: Plan) -> Iterator[str]:
    """Yield the ports of fabric managers: SELF is the one that is master, and another may take over."""
    for server in plan.servers:
        if server.role == "fabric-manager":
            yield from (f",\n    {port.guid}=full" for port in server.ports if port.network == "compute" and port.guid)


def _format_partition(partition: Partition) -> str:
    """Return the rule of a partition. Full membership: its ports speak to each other."""
    guids = [guid for guid in partition.guids if guid]
    unknown = [port for port, guid in zip(partition.ports, partition.guids, strict=True) if not guid]
    lines = ["", f"# {partition.tenant}: {len(partition.ports)} ports"]
    if unknown:
        lines.append(f"# GUIDs not known yet, so these {len(unknown)} are outside until facts.servers has them:")
        lines += [f"#   {' '.join(part)}" for part in _cut(unknown)]
    head = f"tenant_{partition.tenant}=0x{partition.pkey & 0x7FFF:04x}, indx0, ipoib, defmember=full :"
    rows = [", ".join(f"{guid}=full" for guid in part) for part in _cut(guids)]
    lines.append(f"{head} ;" if not rows else head + "\n    " + ",\n    ".join(rows) + " ;")
    return "\n".join(lines) + "\n"


def _cut(items: list[str]) -> Iterator[list[str]]:
    return (items[start : start + _PER_LINE] for start in range(0, len(items), _PER_LINE))
