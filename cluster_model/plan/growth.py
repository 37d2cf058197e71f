"""From what is built to what is planned: the grown cluster, and what has to be bought for it.

Everything planned is placed, numbered and wired on paper, and what is built is cut out of that. So the plan of the grown cluster
is the plan of the same intent with every group at its final count, and holds all that stands today where it stands.
"""

from __future__ import annotations

from dataclasses import dataclass

from cluster_model.catalogue.load import Catalogue
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.source.facts_csv import FactTables
from cluster_model.plan.build import build_plan
from cluster_model.plan.model import BomLine, Plan


@dataclass(frozen=True, slots=True)
class BomChange:
    """A line of the bill of materials that grows or shrinks; counts are those of the whole bill, now and in the end."""

    kind: str
    item: str
    length_m: float
    built: int
    planned: int

    @property
    def to_buy(self) -> int:
        """Return how many are missing."""
        return max(0, self.planned - self.built)

    @property
    def freed(self) -> int:
        """Return how many are left over: another one takes their place, such as a longer cable."""
        return max(0, self.built - self.planned)


def grow(cluster: Cluster) -> Cluster | None:
    """Return the intent with all that is planned built; None where nothing is planned beyond what is built."""
    grown = {
        name: group.model_copy(update={"count": group.final_count})
        for name, group in cluster.servers.items()
        if group.final_count > group.count
    }
    return cluster.model_copy(update={"servers": {**cluster.servers, **grown}}) if grown else None


def add_servers(cluster: Cluster, name: str, more: int) -> Cluster:
    """Return the intent with more servers of a group built; beyond what is planned they are a later phase: nothing moves."""
    group = cluster.servers[name]
    count, beyond = group.count + more, group.count + more - group.final_count
    planned = [*group.phases, beyond] if beyond > 0 else group.planned
    raised = group.model_copy(update={"count": count, "planned": planned})
    return cluster.model_copy(update={"servers": {**cluster.servers, name: raised}})


def plan_grown(cluster: Cluster, catalogue: Catalogue, facts: FactTables | None = None, digest: str = "") -> Plan | None:
    """Return the plan of the grown cluster, for those who show it beside the plan of what is built.

    Args:
        cluster: the intent.
        catalogue: hardware facts.
        facts: serial numbers, MACs and GUIDs by name.
        digest: digest of the intent's files, kept in the plan.

    Returns:
        None where nothing is planned beyond what is built. Its findings are those that planning the cluster gave: all that is
        planned is placed, numbered and wired there too.
    """
    grown = grow(cluster)
    return build_plan(grown, catalogue, facts, digest)[0] if grown is not None else None


def compare_bills(built: Plan, grown: Plan) -> tuple[BomChange, ...]:
    """Return the lines that differ between the bill of what is built and that of the grown cluster.

    Returns:
        Lines in the order of the grown cluster's bill; those that it has no longer stand last.
    """
    now = {_key(line): line.count for line in built.bom}
    then = {_key(line): line.count for line in grown.bom}
    changes = (BomChange(*key, now.get(key, 0), then.get(key, 0)) for key in [*then, *(key for key in now if key not in then)])
    return tuple(change for change in changes if change.built != change.planned)


def _key(line: BomLine) -> tuple[str, str, float]:
    return line.kind, line.item, line.length_m
