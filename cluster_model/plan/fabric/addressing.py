"""How a pool is cut: fixed slices by capacity, in the order role, plane, rail, unit, leaf, host.

Nothing here depends on how many of anything are built, so growth moves no address. Every host link is a /31 (RFC 3021),
the switch has the even address. A host reaches a whole lane (a rail) by one route; a leaf announces one aggregate per lane.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network

from cluster_model.plan.model import Slice
from cluster_model.plan.refusal import Refused


def pow2(number: int) -> int:
    """Return the smallest power of two that is at least `number`."""
    return 1 << max(0, number - 1).bit_length()


def text(address: int) -> str:
    """Return an address as dotted text (faster than IPv4Address, which checks what we know)."""
    return f"{address >> 24}.{address >> 16 & 255}.{address >> 8 & 255}.{address & 255}"


def prefix(address: int, size: int) -> str:
    """Return the prefix of `size` addresses (a power of two) at `address`."""
    return f"{text(address)}/{33 - size.bit_length()}"


class PoolTooSmall(Refused):
    """A slice of `role` does not hold what is planned (ADR001); `needed` is the prefix length the pool would need."""

    def __init__(self, pool: IPv4Network, role: str, needed: int) -> None:
        expected = f"a prefix of length {needed} or shorter"
        if needed < 0:
            expected = f"room for {2 ** (32 - needed):,} addresses: {expected}"
        summary, fix = f"the pool is too small for the planned {role}", advise_wider(pool, needed)
        super().__init__("ADR001", summary, expected=expected, actual=str(pool), fix=fix)
        self.role, self.needed = role, needed


def advise_wider(pool: IPv4Network, needed: int) -> str:
    """Return what to do about a pool that is too small: a prefix to give, where a private one is as large (RFC 1918)."""
    if needed < 8:
        return "plan fewer and larger units, or leave links between switches unnumbered: no private prefix is that large"
    wider = pool.supernet(new_prefix=needed)
    example = f", e.g. {wider}" if wider.is_private else ""
    return f"give it a /{needed}{example}, clear of the other pools"


@dataclass(frozen=True, slots=True)
class Cut:
    """A pool of a routed fabric, cut. Sizes are counts of addresses, all powers of two.

    The first half is host links. The second half is, a quarter each: service addresses, uplinks of leafs, uplinks of spines,
    loopbacks.
    """

    base: int
    size: int
    planes: int
    lanes: int
    leafs: int  # leafs per unit and lane
    seats: int  # host links per leaf and lane

    @property
    def leaf_size(self) -> int:
        """Addresses of one leaf in one lane."""
        return 2 * self.seats

    @property
    def unit_size(self) -> int:
        """Addresses of one unit in one lane."""
        return self.leaf_size * self.leafs

    @property
    def lane_size(self) -> int:
        """Addresses of one lane."""
        return self.size // 2 // self.planes // self.lanes

    def lane(self, plane: int, lane: int) -> int:
        """Return the first address of a lane; what one host route covers."""
        return self.base + (plane * self.lanes + lane) * self.lane_size

    def leaf(self, plane: int, lane: int, unit: int, leaf: int) -> int:
        """Return the first address of a leaf's aggregate."""
        return self.lane(plane, lane) + unit * self.unit_size + leaf * self.leaf_size

    def service(self, part: int, unit: int, seat: int) -> int:
        """Return the service address of the host in a seat of a unit; `part` 0 is the public one, 1 Ceph's cluster network."""
        return self.service_base(part) + unit * self.seats + seat

    @property
    def service_size(self) -> int:
        """Addresses of one part of the services' slice."""
        return self.size // 16

    def service_base(self, part: int) -> int:
        """Return the first service address of a part."""
        return self.base + self.size // 2 + part * self.service_size

    def link(self, upper: bool, switch: int, slots: int, index: int) -> int:
        """Return the first address of a numbered link: uplink `index` of the n-th leaf, or with `upper` of the n-th spine.

        A negative number counts from the slice's end, as for loopbacks.
        """
        first = self.size * ((6 if upper else 5) + (switch < 0)) // 8
        return self.base + first + 2 * (switch * slots + index)

    def loopback(self, tier: int, number: int) -> int:
        """Return the loopback of the n-th leaf (tier 0), spine (1) or core (2); a negative number counts from the slice's end."""
        return self.base + self.size * 7 // 8 + (tier + (number < 0)) * self.size // 32 + number

    def slices(self, lanes: int, railed: bool, services: tuple[str, ...], numbered: bool) -> tuple[Slice, ...]:
        """Return the named parts, for people and for the rules."""
        found = [Slice("hosts", prefix(self.base, self.size // 2))]
        for plane in range(self.planes):
            for lane in range(lanes if railed else 0):
                label = f"plane {plane + 1} rail {lane}" if self.planes > 1 else f"rail {lane}"
                found.append(Slice(label, prefix(self.lane(plane, lane), self.lane_size)))
        found += [Slice(name, prefix(self.service_base(part), self.service_size)) for part, name in enumerate(services)]
        if numbered:
            found.append(Slice("links", prefix(self.link(False, 0, 0, 0), self.size // 8)))
            found.append(Slice("upper links", prefix(self.link(True, 0, 0, 0), self.size // 8)))
        found.append(Slice("loopbacks", prefix(self.loopback(0, 0), self.size // 8)))
        return tuple(found)


def cut_pool(
    pool: IPv4Network,
    *,
    planes: int,
    lanes: int,
    units: int,
    leafs: int,
    seats: int,
    switches: tuple[int, int, int],
    slots: tuple[int, int],
) -> Cut:
    """Cut the pool of a routed fabric.

    Args:
        pool: the pool.
        planes: planes.
        lanes: address lanes per plane.
        units: planned units.
        leafs: leafs per unit that share a lane.
        seats: host links that a leaf can have in one lane, by its radix.
        switches: highest position of a leaf, spine, core plus one, over all planes.
        slots: uplinks that a leaf and a spine can have; 0 where links are unnumbered.

    Raises:
        PoolTooSmall: the plan does not fit (ADR001).
    """
    base, size = int(pool.network_address), pool.num_addresses
    cut = Cut(base, size, pow2(planes), pow2(lanes), pow2(leafs), pow2(seats))
    hosts = cut.planes * cut.lanes * pow2(units) * cut.unit_size * 2
    _require(pool, "host links", hosts)
    _require(pool, "service addresses", pow2(units) * cut.seats * 16)
    _require(pool, "links between switches", pow2(2 * switches[0] * slots[0]) * 8 if slots[0] else 0)
    _require(pool, "links between spines and cores", pow2(2 * switches[1] * slots[1]) * 8 if slots[1] else 0)
    _require(pool, "loopbacks", pow2(max(switches)) * 32)
    return cut


def _require(pool: IPv4Network, role: str, need: int) -> None:
    if need > pool.num_addresses:
        raise PoolTooSmall(pool, role, 33 - pow2(need).bit_length())


def host_address(address: int) -> tuple[str, str, str]:
    """Return (switch address/31, host address/31, switch address) of the /31 at `address`.

    >>> host_address(10 << 24 | 64 << 16)
    ('10.64.0.0/31', '10.64.0.1/31', '10.64.0.0')
    """
    gateway = text(address)
    return f"{gateway}/31", f"{text(address + 1)}/31", gateway
