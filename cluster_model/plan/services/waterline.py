"""How far Ceph can be filled: where its data lies, what a lost host leaves to the others, and how long they take.

Copies, or chunks, go into different failure domains: none holds more of a pool than one copy of all that it stores. Where that
binds no domain, Ceph's balancer (mode upmap) brings every drive to what its capacity is of the whole. Where it binds one, all
others have more than their capacity says, and the balancer, which goes by capacity, moves little among them: they are counted as
CRUSH drew them. tests/contract/test_ceph_crush.py holds this against Ceph's own programs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, sqrt
from statistics import NormalDist

from cluster_model.plan.model.ceph import NEARFULL, CephLoss, OsdHost, PlacedPool, Tier, find_fill

DEVIATION = 5
"""Placement groups off its share at which the balancer leaves an OSD alone, pool by pool. Source: upmap_max_deviation of Ceph's
module balancer."""
NETWORK = 0.5
"""Part of the hosts' storage ports that rebuilding may take. Our own choice."""
MIN_IN = 0.75
"""Part of all OSDs below which Ceph marks none out by itself. Source: Ceph's option mon_osd_min_in_ratio."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What the intent says of fill and speed."""

    imbalance: float  # the fullest OSD over the mean, where the balancer can even
    osd_mb_per_s: float  # what an OSD gives to rebuilding, reads and writes
    is_measured: bool  # whether it is what an OSD was seen to take in: reads are in it then
    fill: float  # what hours are computed for; 0: the most that heals


@dataclass(frozen=True, slots=True)
class Domains:
    """Failure domains: their capacity, TB, and OSDs by name."""

    weights: dict[str, float]
    osds: dict[str, int]

    @property
    def raw_tb(self) -> float:
        """Return the capacity of all."""
        return sum(self.weights.values())


def spread(weights: Mapping[str, float], size: int) -> dict[str, float]:
    """Return the part of a pool that each failure domain holds.

    Args:
        weights: capacity of each domain, above 0, in any unit.
        size: copies or chunks; none of two in one domain.

    Returns:
        Parts that sum to 1; with fewer domains than copies, to what finds a place.
    """
    most = 1 / size
    if len(weights) <= size:
        return dict.fromkeys(weights, most)
    parts: dict[str, float] = {}
    free = dict(weights)
    while True:
        scale = (1 - len(parts) * most) / sum(free.values())
        over = [domain for domain, weight in free.items() if weight * scale > most * (1 + 1e-9)]
        for domain in over:
            parts[domain] = most
            del free[domain]
        if not over or not free:
            break
    if not parts:
        return {domain: weight * scale for domain, weight in free.items()}
    return parts | {domain: chance * most for domain, chance in _draw(free, size - len(parts)).items()}


def _draw(weights: Mapping[str, float], count: int) -> dict[str, float]:
    """Return how likely each domain is among so many that are drawn by weight, none of them twice.

    CRUSH's straw2 draws as if each came at a random time, the heavier the sooner, and the first were taken. Each is taken here
    to have come by the time at which as many as wanted have come in the mean: a few per cent too much for the light ones.
    """
    if count >= len(weights):
        return dict.fromkeys(weights, 1.0)
    low, high = 0.0, 1.0
    while sum(1 - exp(-weight * high) for weight in weights.values()) < count:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(1 - exp(-weight * middle) for weight in weights.values()) < count else (low, middle)
    return {domain: 1 - exp(-weight * high) for domain, weight in weights.items()}


@dataclass(frozen=True, slots=True)
class _Held:
    """What one pool has on each domain: its part of all raw bytes, placement groups on each OSD, and the variance of those."""

    parts: dict[str, float]
    groups: dict[str, float]
    variance: dict[str, float]


def find_fullest(hosts: Sequence[OsdHost], pools: Sequence[PlacedPool], imbalance: float) -> tuple[float, float]:
    """Return the fill of the fullest domain and of the fullest OSD for each part of fill; 1 and `imbalance` where all is even.

    0 and 0 without pools.
    """
    domains = _weigh(hosts)
    return _measure([_hold(domains, pool, share) for pool, share in share_raw(pools)], domains, domains.raw_tb, imbalance)


def list_losses(
    hosts: Sequence[OsdHost], pools: Sequence[PlacedPool], terms: Terms, others: Sequence[OsdHost] = ()
) -> tuple[CephLoss, ...]:
    """Return the worst host to lose, the worst rack, and the worst row where rows are the failure domain; none without pools.

    Args:
        hosts: those that the pools lie on.
        pools: what they hold.
        terms: what the intent says of fill and speed.
        others: hosts with drives of other classes, which Ceph counts where it decides whether to begin by itself.
    """
    if not pools:
        return ()
    everyone = (*hosts, *others)
    kinds = ["host", "rack", *(["row"] if any(host.domain == host.row for host in hosts) else [])]
    found = []
    for kind in kinds:
        losses = [_lose(kind, name, lost, hosts, pools, terms, everyone) for name, lost in _list_parts(kind, hosts, everyone)]
        found += (
            [max(losses, key=lambda loss: (len(loss.gone), loss.fullest, loss.raw_tb, loss.begins != "itself"))] if losses else []
        )
    return tuple(found)


def _hold(domains: Domains, pool: PlacedPool, share: float) -> _Held:
    """Return what a pool has on each domain with all hosts there, once the balancer has evened what it can."""
    parts = spread(domains.weights, pool.size)
    groups = {domain: pool.pgs * pool.size * part / domains.osds[domain] for domain, part in parts.items()}
    # Where domains differ, CRUSH draws the small ones too often, and osdmaptool was seen to leave OSDs at nine above.
    most = DEVIATION if max(domains.weights.values()) < min(domains.weights.values()) * 1.01 else 2 * DEVIATION
    evened = (most / find_reach(sum(domains.osds.values()))) ** 2
    bound = is_bound(parts, domains, pool.size)
    variance = {}
    for domain, n in groups.items():
        chance = _chance(n, domains.osds[domain])
        variance[domain] = chance if bound else min(n, evened)
    return _Held({domain: share * part for domain, part in parts.items()}, groups, variance)


def _rebuild(held: _Held, before: Domains, after: Domains, pool: PlacedPool, share: float) -> _Held:
    """Return what a pool has once it is rebuilt on the domains that are left, and before the balancer evens it.

    That rests while objects are degraded. So domains have what CRUSH draws, what comes to an OSD comes by lot, and where the
    balancer had moved placement groups to or from a lost OSD, what it had evened is back.
    """
    parts = {domain: chance / pool.size for domain, chance in _draw(after.weights, pool.size).items()}
    groups = {domain: pool.pgs * pool.size * part / after.osds[domain] for domain, part in parts.items()}
    lost = 1 - sum(after.osds.values()) / sum(before.osds.values())
    variance = {}
    for domain, n in groups.items():
        if len(before.weights) <= pool.size:  # moves stay inside a domain
            lost = 1 - after.osds[domain] / before.osds[domain]
        come = max(0.0, n - held.groups[domain]) + lost * held.groups[domain]
        has_all = after.osds[domain] == 1 and parts[domain] >= (1 - 1e-6) / pool.size  # one OSD with a copy of everything
        variance[domain] = 0.0 if has_all else min(n, held.variance[domain] + _chance(come, after.osds[domain]))
    return _Held({domain: share * part for domain, part in parts.items()}, groups, variance)


def _chance(groups: float, osds: int) -> float:
    """Return the variance of placement groups on an OSD among so many that share them by lot: none where there is one."""
    return groups * (1 - 1 / osds)


def is_bound(parts: Mapping[str, float], domains: Domains, size: int) -> bool:
    """Return whether the rule that copies keep apart binds some domain, so that the balancer leaves OSDs as they were drawn.

    As many domains as copies, all of one size, are bound and even: there it does its work.
    """
    ratios = [part / domains.weights[domain] for domain, part in parts.items()]
    bound = any(part >= (1 - 1e-6) / size for part in parts.values())
    return bound and not (len(parts) <= size and max(ratios) < min(ratios) * 1.01)


def find_reach(osds: int) -> float:
    """Return how many standard deviations the fullest of so many OSDs is above the mean: 19 times of 20 it is no more."""
    return NormalDist().inv_cdf(0.95 ** (1 / osds))


def _measure(held: Sequence[_Held], domains: Domains, raw_tb: float, imbalance: float) -> tuple[float, float]:
    """Return the fill of the fullest domain, and of the fullest OSD, for each part of the raw capacity that is filled."""
    reach = find_reach(sum(domains.osds.values()))
    fullest_domain = fullest = 0.0
    for domain, weight in domains.weights.items():
        whole = sum(each.parts[domain] for each in held)
        if not whole:
            continue
        # what pools have on an OSD by chance adds up as variances do, each in its part of what is there
        uneven = sum(
            (each.parts[domain] / each.groups[domain]) ** 2 * each.variance[domain] for each in held if each.parts[domain]
        )
        fill = whole / weight * raw_tb
        fullest_domain = max(fullest_domain, fill)
        fullest = max(fullest, fill * max(imbalance, 1 + reach * sqrt(uneven) / whole))
    return fullest_domain, fullest


def measure_move(old: Tier, new: Tier) -> float:
    """Return the part of the data that has to move at least from one tier to the grown one: what hosts hold more than before."""
    before, after = _share_hosts(old), _share_hosts(new)
    return sum(max(0.0, part - before.get(name, 0.0)) for name, part in after.items())


def fill_domains(tier: Tier) -> dict[str, float]:
    """Return the fill of each failure domain for each part of fill, with all hosts there; 0 without pools."""
    weights = _weigh(tier.hosts).weights
    return {domain: part * tier.raw_tb / weights[domain] for domain, part in _share_domains(weights, tier.pools).items()}


def _share_hosts(tier: Tier) -> dict[str, float]:
    weights = _weigh(tier.hosts).weights
    held = _share_domains(weights, tier.pools)
    return {host.name: held[host.domain] * host.raw_tb / weights[host.domain] for host in tier.hosts}


def _share_domains(weights: Mapping[str, float], pools: Sequence[PlacedPool]) -> dict[str, float]:
    """Return the part of all raw bytes that each failure domain holds."""
    held = dict.fromkeys(weights, 0.0)
    for pool, share in share_raw(pools):
        for domain, part in spread(weights, pool.size).items():
            held[domain] += share * part
    return held


def _weigh(hosts: Iterable[OsdHost]) -> Domains:
    weights: dict[str, float] = defaultdict(float)
    osds: dict[str, int] = defaultdict(int)
    for host in hosts:
        weights[host.domain] += host.raw_tb
        osds[host.domain] += host.osds
    return Domains(dict(weights), dict(osds))


def share_raw(pools: Sequence[PlacedPool]) -> list[tuple[PlacedPool, float]]:
    """Return each pool with its part of all raw bytes."""
    total = sum(pool.share * pool.overhead for pool in pools)
    return [(pool, pool.share * pool.overhead / total) for pool in pools] if total else []


def _list_parts(kind: str, hosts: Sequence[OsdHost], everyone: Sequence[OsdHost]) -> Iterator[tuple[str, tuple[OsdHost, ...]]]:
    """Yield hosts, racks or rows with their hosts, never all hosts there are; of those that come to the same, the first."""
    parts: dict[str, list[OsdHost]] = defaultdict(list)
    for host in hosts:
        parts[_find_part(kind, host)].append(host)
    weights = _weigh(hosts).weights
    racks = Counter(host.rack for host in everyone)
    seen = set()
    for name, members in parts.items():
        like = (tuple(sorted((weights[m.domain], m.raw_tb, m.storage_gbps) for m in members)), racks[members[0].rack] > 1)
        if like not in seen and len(members) < len(hosts):
            seen.add(like)
            yield name, tuple(members)


def _find_part(kind: str, host: OsdHost) -> str:
    return {"host": host.name, "rack": host.rack, "row": host.row}[kind]


def _lose(
    kind: str,
    name: str,
    lost: Sequence[OsdHost],
    hosts: Sequence[OsdHost],
    pools: Sequence[PlacedPool],
    terms: Terms,
    everyone: Sequence[OsdHost],
) -> CephLoss:
    """Return what the loss of some hosts comes to."""
    names = {host.name for host in lost}
    left = [host for host in hosts if host.name not in names]
    before, after = _weigh(hosts), _weigh(left)
    copies = len({host.domain for host in lost})  # so many of one object may be there
    gone = tuple(pool.name for pool in pools if copies > pool.losable)
    stopped = tuple(pool.name for pool in pools if copies <= pool.losable and pool.size - copies < pool.min_size)
    rebuilt, held, shares, reads = [], [], 0.0, 0.0
    gained = dict.fromkeys(after.weights, 0.0)
    for pool, share in share_raw(pools):
        stood = _hold(before, pool, share)
        if len(after.weights) < min(pool.size, len(before.weights)):  # no other domain to go to: the rest stays where it is
            held.append(stood)
            continue
        held.append(_rebuild(stood, before, after, pool, share))
        rebuilt += [pool.name] if pool.name not in gone else []
        shares += share
        reads += share * max(1, pool.k)  # a chunk is made from k others, a copy from one
        for domain, weight in after.weights.items():
            gained[domain] += max(0.0, held[-1].parts[domain] - stood.parts[domain] * weight / before.weights[domain])
    fullest_domain, fullest = _measure(held, after, before.raw_tb, terms.imbalance)
    fill = terms.fill or find_fill(NEARFULL, fullest)
    hours, limit = _time(left, gained, fill * before.raw_tb, reads / shares, terms) if rebuilt else (0.0, "")
    away = [host for host in everyone if _find_part(kind, host) == name]
    begins = _find_beginning(away, [host for host in everyone if host not in away]) if rebuilt else ""
    lost_tb = sum(host.raw_tb for host in lost)
    return CephLoss(kind, name, lost_tb, gone, stopped, tuple(rebuilt), begins, fullest_domain, fullest, hours, limit)


def _find_beginning(lost: Sequence[OsdHost], left: Sequence[OsdHost]) -> str:
    """Return whether Ceph marks what is lost out by itself, in part, or waits for a word.

    It marks OSDs out one by one while three quarters of all are in, and none where their whole rack is down.
    """
    racks = {host.rack for host in left}
    if any(host.rack not in racks for host in lost):
        return "word"
    stay, go = sum(host.osds for host in left), sum(host.osds for host in lost)
    return "itself" if stay >= MIN_IN * (stay + go) else "part"


def _time(hosts: Sequence[OsdHost], gained: Mapping[str, float], data_tb: float, reads: float, terms: Terms) -> tuple[float, str]:
    """Return the hours that it takes at the least, and whether drives or the network take them.

    What a domain gains is written there; what it is made from is read from all. Ceph's own estimate of a drive pays for both.
    """
    drives: dict[str, float] = defaultdict(float)
    network: dict[str, float] = defaultdict(float)
    for host in hosts:
        drives[host.domain] += host.osds * terms.osd_mb_per_s
        network[host.domain] += host.storage_gbps * 125 * NETWORK
    whole = sum(gained.values())
    read = whole * reads / sum(drives.values()) if not terms.is_measured else 0.0
    paces = {
        "drives": max(part / drives[domain] for domain, part in gained.items()) + read,
        "network": max(
            (part * max(1.0, reads) / network[domain] for domain, part in gained.items() if network[domain]), default=0.0
        ),
    }
    limit = max(paces, key=lambda each: paces[each])
    return paces[limit] * data_tb * 1e6 / 3600, limit
