"""OSDs by host, and hosts in CRUSH, against the plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic, Severity
from cluster_model.plan.model.ceph import CephCluster, OsdHost, Tier
from cluster_model.render.ceph.spec import locate_host
from cluster_model.verify.ceph.answers import Answers, Node
from cluster_model.verify.ceph.words import PLAYBOOK, are, tell


@dataclass(frozen=True, slots=True)
class Crush:
    """The map as it is: hosts by name, all nodes by number, and above each node the one that it is in."""

    hosts: dict[str, Node]
    nodes: dict[int, Node]
    parents: dict[int, Node]

    def list_osds(self, host: str) -> list[Node]:
        """Return a host's OSDs."""
        node = self.hosts.get(host)
        return [self.nodes[child] for child in node.children if child in self.nodes] if node else []

    def locate(self, node: Node) -> dict[str, str]:
        """Return the buckets that a node is in, from the root down."""
        place: list[tuple[str, str]] = []
        for _ in self.nodes:  # a file may have a ring
            above = self.parents.get(node.id)
            if above is None:
                break
            place.insert(0, (above.type, above.name))
            node = above
        return dict(place)


def read_crush(answers: Answers) -> Crush:
    """Return the map."""
    nodes = {node.id: node for node in [*answers.tree.nodes, *answers.tree.stray]}
    hosts = {node.name: node for node in nodes.values() if node.type == "host"}
    return Crush(hosts, nodes, {child: node for node in nodes.values() for child in node.children})


def list_planned(store: CephCluster | Tier, answers: Answers) -> list[Node]:
    """Return the OSDs of planned hosts, all of them or those of a class of drives."""
    crush = read_crush(answers)
    return [osd for host in store.hosts for osd in crush.list_osds(host.name)]


def count_up(ceph: CephCluster, answers: Answers) -> int:
    """Return how many OSDs of planned hosts are up."""
    return sum(osd.status == "up" for osd in list_planned(ceph, answers))


def compare_hosts(ceph: CephCluster, answers: Answers) -> Iterator[Diagnostic]:
    """Yield hosts whose OSDs or whose place in CRUSH are not as planned."""
    crush = read_crush(answers)
    for host in ceph.hosts:
        yield from _compare_osds(ceph, host, crush.list_osds(host.name))
        node, place = crush.hosts.get(host.name), locate_host(host)
        here = crush.locate(node) if node else {}
        if node and any(here.get(kind) != at for kind, at in place.items()):
            is_at, wanted = (" ".join(f"{kind}={at}" for kind, at in each.items()) for each in (here, place))
            fix = f"{PLAYBOOK}; with data in the cluster it moves on -e ceph_cluster_move=true alone"
            yield tell("VER046", "ceph.failure_domain", f"{host.name} is elsewhere in CRUSH", wanted, is_at or "nowhere", fix)
    planned = {host.name for host in ceph.hosts}
    if beside := sorted(name for name, node in crush.hosts.items() if node.children and name not in planned):
        text = f"hosts with OSDs that the plan does not have: {list_names(beside)}"
        fix = "plan them, or take their OSDs out; the waterline does not know of them"
        yield tell("VER045", "ceph.hosts", text, f"those of {len(planned)} planned hosts", "", fix, "warning")


def _compare_osds(ceph: CephCluster, host: OsdHost, osds: list[Node]) -> Iterator[Diagnostic]:
    name = host.name
    if len(osds) != host.osds:
        text = f"{name} has {len(osds) or 'no'} OSD{'' if len(osds) == 1 else 's'}"
        fix = PLAYBOOK if ceph.deploy == "packages" else "ceph orch device ls shows which drives are free"
        fix = fix if len(osds) < host.osds else "plan them, or take them out"
        level: Severity = "error" if len(osds) < host.osds else "warning"
        yield tell("VER045", "ceph.hosts", text, str(host.osds), str(len(osds)), fix, level)
    if gone := [osd.name for osd in osds if osd.status == "destroyed"]:
        text = f"{name}: {are(gone, 'destroyed')}, and the number waits for a new drive"
        yield tell("VER045", "ceph.hosts", text, "up", "destroyed", "exchange the drive", "warning")
    if down := [osd.name for osd in osds if osd.status not in {"up", "destroyed"}]:
        fix = f"see journalctl -u 'ceph*osd*' on {name}, and dmesg for the drive"
        yield tell("VER045", "ceph.hosts", f"{name}: {are(down, 'down')}", f"{len(osds)} up", f"{len(osds) - len(down)}", fix)
    if out := [osd.name for osd in osds if osd.status == "up" and not osd.takes_data]:
        text = f"{name}: {are(out, 'out, or without weight in CRUSH')}: no data comes there"
        fix = "see whether somebody drains them before they are brought back"
        yield tell("VER045", "ceph.hosts", text, "in", "out", fix, "warning")
    if wrong := [osd.name for osd in osds if osd.device_class != host.device_class]:
        has = ", ".join(sorted({osd.device_class or "none" for osd in osds}))
        fix = "plan the model whose drives it has; a class is set by ceph osd crush set-device-class"
        text = f"{name}: {are(wrong, 'of another class')}, so no planned pool lies there"
        yield tell("VER045", "ceph.hosts", text, host.device_class, has, fix)
