# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about what decides by majority: Ceph monitors and the Kubernetes control plane. Parts of the CEP and K8S families."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model import Server
from cluster_model.plan.services.ceph import list_monitor_hosts


def _crowded_rack(members: Sequence[Server]) -> tuple[str, int] | None:
    """Return the rack whose loss leaves no majority, with its members; None where there is none."""
    rack, count = Counter(member.rack for member in members).most_common(1)[0]
    return (rack, count) if len(members) - count <= len(members) // 2 else None


def _monitors(design: Design) -> tuple[str, list[Server]]:
    """Return the intent path and the servers of which the first have monitors."""
    ceph = design.cluster.ceph
    where = "ceph.monitors" if ceph and ceph.monitors else "ceph.monitor_count"
    return where, list_monitor_hosts(design.cluster, design.plan.servers)


class MonitorsEven(Rule):
    """Run an odd number of monitors, three or more.

    What it checks:
        `monitor_count` is odd and at least 3.

    Why it matters:
        A majority of four is three: the fourth monitor adds a part that can fail and no failure that is survived. With one
        monitor its host is the cluster's single point of failure.

    How to fix:
        Set `monitor_count` to 3, or 5 from about ten racks on.

    Source:
        Ceph documentation, monitors: an odd number, at least three in production.
    """

    id, severity, title = "CEP009", "warning", "monitor count even or below three"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ceph = design.cluster.ceph
        if ceph and (ceph.monitor_count % 2 == 0 or ceph.monitor_count < 3):
            count = ceph.monitor_count
            why = (
                f"{count} monitors survive no more failures than {count - 1}"
                if count > 1
                else "the loss of the one monitor stops Ceph"
            )
            yield self.finding(
                "ceph.monitor_count",
                why,
                "3, 5 or 7",
                str(ceph.monitor_count),
                "set monitor_count to 3 or 5",
            )


class MonitorsWithoutHosts(Rule):
    """Give every monitor a host of its own.

    What it checks:
        `monitor_count` against the servers of the group that holds the monitors.

    Why it matters:
        Two monitors on one host fail together, and Ceph's tools refuse to place them so.

    How to fix:
        Lower `monitor_count`, or name a larger group under `ceph.monitors`.

    Source:
        Ceph documentation, cephadm monitor placement: one monitor per host.
    """

    id, title = "CEP010", "more monitors than hosts for them"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ceph = design.cluster.ceph
        where, hosts = _monitors(design)
        if ceph and ceph.monitor_count > len(hosts):
            yield self.finding(
                where,
                f"{count_things(ceph.monitor_count, 'monitor')} for {count_things(len(hosts), 'host')}",
                f"monitor_count <= {len(hosts)}",
                str(ceph.monitor_count),
                "lower monitor_count, or name a larger group under ceph.monitors",
            )


class MonitorsCrowded(Rule):
    """Spread the monitors so that no rack holds a majority.

    What it checks:
        Racks of the first `monitor_count` servers of the monitors' group.

    Why it matters:
        When the rack goes, so does the quorum: every client of Ceph blocks, though all data is there.

    How to fix:
        Deal the group over more racks, or name another group under `ceph.monitors`.

    Source:
        Paxos needs a majority (Ceph documentation, monitor quorum).
    """

    id, severity, title = "CEP011", "warning", "majority of the monitors in one rack"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ceph = design.cluster.ceph
        where, hosts = _monitors(design)
        members = hosts[: ceph.monitor_count] if ceph else []
        if len(members) > 2 and (crowded := _crowded_rack(members)):
            yield self.finding(
                where,
                f"{crowded[1]} of {len(members)} monitors stand in {crowded[0]}: its loss stops Ceph",
                f"at most {(len(members) - 1) // 2} per rack",
                list_names(f"{member.name} in {member.rack}" for member in members),
                "deal the group over more racks, or name another group under ceph.monitors",
            )


class ControlPlaneCount(Rule):
    """Run an odd number of control plane nodes, three or more.

    What it checks:
        Servers of the group `kubernetes.control`.

    Why it matters:
        etcd needs a majority. Two nodes survive no failure at all, and one is a single point of failure: nothing is scheduled
        or restarted while it is away.

    How to fix:
        Set the group's `count` to 3 or 5.

    Source:
        etcd documentation, FAQ: cluster size and failure tolerance; kubeadm, high availability.
    """

    id, severity, title = "K8S001", "warning", "control plane even or below three"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        count = len(design.group(kubernetes.control)) if kubernetes else 0
        if kubernetes and count and (count % 2 == 0 or count < 3):
            survived = count_things((count - 1) // 2, "failure") if count > 2 else "no failure"
            yield self.finding(
                "kubernetes.control",
                f"a control plane of {count_things(count, 'node')} survives {survived}",
                "3 or 5 nodes",
                str(count),
                f"set servers.{kubernetes.control}.count to {max(3, count + 1)}",
            )


class ControlPlaneCrowded(Rule):
    """Spread the control plane so that no rack holds a majority.

    What it checks:
        Racks of the servers of `kubernetes.control`, three or more of them.

    Why it matters:
        When the rack goes, etcd has no quorum: no pod is started, moved or removed until it is back.

    How to fix:
        Deal the group over more racks: leave `per_rack` out, or lower it.

    Source:
        etcd documentation, FAQ: failure tolerance.
    """

    id, severity, title = "K8S002", "warning", "majority of the control plane in one rack"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        members = design.group(kubernetes.control) if kubernetes else []
        crowded = _crowded_rack(members) if len(members) > 2 else None
        if kubernetes and crowded:
            yield self.finding(
                f"servers.{kubernetes.control}.racks",
                f"{crowded[1]} of {len(members)} control plane nodes stand in {crowded[0]}: its loss stops Kubernetes",
                f"at most {(len(members) - 1) // 2} per rack",
                list_names(f"{member.name} in {member.rack}" for member in members),
                "deal the group over more racks: leave per_rack out or lower it",
            )
