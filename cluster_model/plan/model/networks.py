"""Networks as a whole, and how they carry RDMA without loss."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Slice:
    """A named part of a network's pool."""

    name: str
    prefix: str


@dataclass(frozen=True, slots=True)
class Network:
    """A network as planned. Counts are of what is built; `planned_*` of what it may grow to."""

    name: str
    technology: str  # roce | tcp | infiniband | ethernet (oob)
    design: str
    underlay: str
    planes: int
    tiers: int
    nos: str
    leaf_model: str
    spine_model: str
    core_model: str
    leafs: int
    spines: int
    cores: int
    host_leaf_cables: int
    fabric_manager_cables: int
    leaf_spine_cables: int
    spine_core_cables: int
    units: int
    planned_units: int
    leafs_per_unit: int  # in one plane
    pods: int
    spines_per_pod: int  # in one plane
    core_groups: int  # in one plane
    cores_per_group: int
    uplinks: int  # per leaf
    spine_uplinks: int  # per spine
    hosts_per_leaf: int  # host ports kept on a full leaf
    host_speed_gbps: int
    fabric_speed_gbps: int
    mtu_bytes: int
    host_mtu_bytes: int
    lossless: bool
    oversubscription: float  # computed, of a full leaf
    oversubscription_allowed: float
    host_bandwidth_gbps: int
    leaf_spine_bandwidth_gbps: int
    spine_core_bandwidth_gbps: int
    bisection_gbps: int
    pool: str
    slices: tuple[Slice, ...]
    where: str
    has_upstream: bool = False  # a default route is announced in it
    borders: int = 0
    border_model: str = ""
    peer_link_cables: int = 0
    homing: str = ""  # esi | mlag | single; empty where hosts have no bonds
    homing_reason: str = ""  # which platform and release decided it, in words
    isolation: str = ""  # none | vrf | pkeys; compute only
    evpn: bool = False  # its switches speak EVPN
    load_balancing: str = "ecmp"  # ecmp | dynamic | adaptive

    @property
    def cables(self) -> dict[str, int]:
        """Return cable counts by kind, under the names of `plan --json`."""
        return {
            "host_leaf": self.host_leaf_cables,
            "fabric_manager": self.fabric_manager_cables,
            **({"peer_link": self.peer_link_cables} if self.peer_link_cables else {}),
            "leaf_spine": self.leaf_spine_cables,
            "spine_core": self.spine_core_cables,
        }


@dataclass(frozen=True, slots=True)
class Lossless:
    """The lossless profile, resolved. `ecn` is (speed_gbps, min_kb, max_kb, probability_percent) of each speed in use."""

    data_dscp: int
    cnp_dscp: int
    priority: int
    cnp_priority: int
    pfc_priorities: tuple[int, ...]
    trust: str
    dscp_to_tc: tuple[int, ...]  # 64 entries
    ecn: tuple[tuple[int, int, int, int], ...]
    watchdog: bool
    watchdog_detect_ms: int
    watchdog_restore_ms: int
    watchdog_action: str
    mtu_bytes: int
    host_mtu_bytes: int

    @property
    def data_tos(self) -> int:
        """Return the IP ToS byte of RoCE data: DSCP shifted left by two, ECN-capable (ECT(0)); 26 gives 106."""
        return self.data_dscp << 2 | 2
