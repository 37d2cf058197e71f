"""The CRUSH map of a plan, as text for crushtool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cluster_model.paths import TEMPLATES
from cluster_model.plan.model import Plan
from cluster_model.plan.model.ceph import CephCluster
from cluster_model.render.templating import open_templates

TYPES = ("osd", "host", "chassis", "rack", "row", "pdu", "pod", "room", "datacenter", "zone", "region", "root")
"""Source: Ceph, CrushWrapper::set_type_name as called for a new cluster's map."""
TB_PER_TIB = 1.024**4


class Bucket(NamedTuple):
    """A bucket of CRUSH: what is in it, each with its weight in TiB, as Ceph weighs OSDs."""

    id: int
    type: str
    name: str
    items: tuple[tuple[str, float], ...]


def render_crush(plan: Plan) -> Iterator[tuple[str, bytes]]:
    """Yield ceph/crush.txt."""
    yield "ceph/crush.txt", write_crush(plan.name, plan.ceph).encode()


def write_crush(name: str, ceph: CephCluster) -> str:
    """Return the map as text: OSDs in the order of the hosts, and a rule for each pool, in the order of the pools."""
    template = open_templates(TEMPLATES).get_template("ceph/crush.txt.j2")
    classes = [host.device_class for host in ceph.hosts for _ in range(host.osds)]
    return template.render(name=name, ceph=ceph, classes=classes, types=TYPES, buckets=list(list_buckets(ceph)))


def list_buckets(ceph: CephCluster) -> Iterator[Bucket]:
    """Yield hosts, then racks, rows and the root: each after what is in it.

    Ids follow from the place of a host among the hosts, and of a rack or row by its first host, so that growth of the last group
    changes none. A running cluster has ids of its own.
    """
    number = 0
    racks: dict[str, list[tuple[str, float]]] = {}
    rows: dict[str, list[str]] = {}
    for index, host in enumerate(ceph.hosts):
        weight = host.osd_tb / TB_PER_TIB
        yield Bucket(-2 - 3 * index, "host", host.name, tuple((f"osd.{number + n}", weight) for n in range(host.osds)))
        number += host.osds
        racks.setdefault(host.rack, []).append((host.name, weight * host.osds))
        if host.rack not in rows.setdefault(host.row, []):
            rows[host.row].append(host.rack)
    weights = {rack: sum(weight for _, weight in items) for rack, items in racks.items()}
    for index, (rack, items) in enumerate(racks.items()):
        yield Bucket(-3 - 3 * index, "rack", rack, tuple(items))
    for index, (row, names) in enumerate(rows.items()):
        yield Bucket(-4 - 3 * index, "row", row, tuple((name, weights[name]) for name in names))
    inside = {row: sum(weights[name] for name in names) for row, names in rows.items()}
    yield Bucket(-1, "root", "default", tuple(inside.items()))
