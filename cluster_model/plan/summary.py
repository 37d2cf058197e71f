"""A network in numbers: what is built, what it carries, how much of it crosses the middle."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence, Set

from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.model.networks import ComputeNetwork
from cluster_model.plan.fabric.shape import FabricShape
from cluster_model.plan.model import Cable, Network, Server, Switch


def summarise_network(
    cluster: Cluster, shape: FabricShape, switches: Sequence[Switch], cables: Sequence[Cable], servers: Sequence[Server]
) -> Network:
    """Return the record of a network as planned and built."""
    intent, clos = shape.intent, shape.clos
    own = [switch for switch in switches if switch.network == shape.name]
    kinds: Counter[str] = Counter()
    bandwidth: Counter[str] = Counter()
    for cable in cables:
        if cable.network == shape.name:
            kinds[cable.kind] += 1
            bandwidth[cable.kind] += cable.speed_gbps
    tiers = Counter(switch.role for switch in own)
    up_gbps = clos.uplinks * shape.fabric_speed_gbps
    mtu_bytes, host_mtu_bytes = shape.mtus(cluster.lossless)
    services = shape.kind.services[: 2 if getattr(intent, "ceph_cluster", "shared") == "separate" else 1]
    if shape.wanted.peer_links:
        services = ("vteps",)
    slices = shape.cut.slices(shape.lanes, shape.wanted.railed, services, intent.underlay == "numbered") if shape.cut else ()
    if shape.kind.bridged:  # its hosts have no addresses of the pool
        slices = tuple(part for part in slices if part.name != "hosts")
    isolation = intent.isolation if isinstance(intent, ComputeNetwork) else ""
    technology = str(getattr(intent, "technology", "ethernet"))
    return Network(
        name=shape.name,
        technology=technology,
        design=getattr(intent, "design", "leaf-spine"),
        underlay=intent.underlay if shape.cut else "",
        planes=shape.planes,
        tiers=clos.tiers,
        nos=shape.models.leaf.nos,
        leaf_model=shape.models.leaf.ref,
        spine_model=shape.models.spine.ref if clos.tiers > 1 else "",
        core_model=shape.models.core.ref if clos.tiers > 2 else "",
        leafs=tiers["leaf"],
        spines=tiers["spine"],
        cores=tiers["core"],
        host_leaf_cables=kinds["host_leaf"],
        fabric_manager_cables=kinds["fabric_manager"],
        leaf_spine_cables=kinds["leaf_spine"],
        spine_core_cables=kinds["spine_core"],
        units=len({switch.unit for switch in own if switch.role == "leaf"}),
        planned_units=len(shape.units.seats),
        leafs_per_unit=shape.wanted.leafs_per_unit,
        pods=clos.pods if clos.tiers > 1 else 0,
        spines_per_pod=clos.spines,
        core_groups=clos.core_groups,
        cores_per_group=clos.cores,
        uplinks=clos.uplinks,
        spine_uplinks=clos.spine_uplinks,
        hosts_per_leaf=shape.units.hosts_per_leaf,
        host_speed_gbps=shape.host_speed_gbps,
        fabric_speed_gbps=shape.fabric_speed_gbps,
        mtu_bytes=mtu_bytes,
        host_mtu_bytes=host_mtu_bytes,
        lossless=technology == "roce",
        oversubscription=round(shape.units.host_gbps / up_gbps, 3) if up_gbps else 0.0,
        oversubscription_allowed=intent.oversubscription,
        host_bandwidth_gbps=bandwidth["host_leaf"],
        leaf_spine_bandwidth_gbps=bandwidth["leaf_spine"],
        spine_core_bandwidth_gbps=bandwidth["spine_core"],
        bisection_gbps=bisect(shape, own, {server.name for server in servers if server.role == "fabric-manager"}),
        pool=str(intent.pool) if shape.cut else "",
        slices=slices,
        where=shape.where,
        has_upstream=any(switch.upstreams for switch in own),
        borders=tiers["border"],
        border_model=shape.models.border.ref if shape.models.border else "",
        peer_link_cables=kinds["peer_link"],
        homing=shape.wanted.homing,
        homing_reason=shape.wanted.homing_reason,
        isolation=isolation,
        evpn=shape.kind.bridged or isolation == "vrf",
        load_balancing=getattr(intent, "load_balancing", "ecmp"),
    )


def bisect(shape: FabricShape, switches: Sequence[Switch], managers: Set[str]) -> int:
    """Return the bisection bandwidth, Gb/s one way: what the hosts of one half of the leafs can send to those of the other.

    A leaf passes min(host, uplink) bandwidth; a pod of a three-tier fabric passes min(its leafs, its spines' uplinks). Every
    leaf has the same links to every spine and every spine to every core of its group, so traffic divides evenly and no other
    cut is narrower: tests prove it by max-flow. Halves are of pods, where there are two. Where leafs are not joined, or one is
    alone, they are of the ports of each leaf. Fabric `managers` are no hosts.
    """
    total = 0
    for plane in range(1, shape.planes + 1):
        leafs = [s for s in switches if s.role == "leaf" and s.plane == plane]
        hosts = [[p.speed_gbps for p in s.ports if p.use == "host" and p.peer not in managers] for s in leafs]
        if shape.clos.tiers == 1 or len(leafs) == 1:
            total += sum(_narrower_half(speeds) for speeds in hosts)
            continue
        up_gbps = [sum(p.speed_gbps for p in s.ports if p.use == "fabric") for s in leafs]
        passed = [min(sum(speeds), up) for speeds, up in zip(hosts, up_gbps, strict=True)]
        pods: dict[int, int] = defaultdict(int)
        for leaf, gbps in zip(leafs, passed, strict=True):
            pods[leaf.pod] += gbps
        if len(pods) > 1:
            spine_gbps = shape.clos.spines * shape.clos.spine_uplinks * shape.fabric_speed_gbps
            passed = [min(pods[pod], spine_gbps) for pod in sorted(pods)]
        total += _narrower_half(passed)
    return total


def _narrower_half(gbps: Sequence[int]) -> int:
    half = len(gbps) // 2
    return min(sum(gbps[:half]), sum(gbps[half:]))
