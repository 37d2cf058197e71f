"""The lossless profile, resolved once: every switch and host is rendered from this."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

from cluster_model.intent.model.policy import Lossless as Profile
from cluster_model.plan.context import Context
from cluster_model.plan.model import Lossless, Network, Switch


def plan_lossless(ctx: Context, networks: Iterable[Network], switches: Iterable[Switch]) -> Lossless:
    """Return the profile, with ECN thresholds for every port speed that a lossless network uses."""
    intent = ctx.cluster.lossless
    classes = [0] * 64
    classes[intent.cnp_dscp] = intent.cnp_priority
    classes[intent.data_dscp] = intent.priority
    lossless = {network.name for network in networks if network.lossless}
    speeds = {port.speed_gbps for switch in switches if switch.network in lossless for port in switch.ports}
    return Lossless(
        data_dscp=intent.data_dscp,
        cnp_dscp=intent.cnp_dscp,
        priority=intent.priority,
        cnp_priority=intent.cnp_priority,
        pfc_priorities=tuple(intent.pfc_priorities) if intent.pfc_priorities is not None else (intent.priority,),
        trust=intent.trust,
        dscp_to_tc=tuple(classes),
        ecn=tuple((speed, *mark(intent, speed)) for speed in sorted(speeds)),
        watchdog=intent.watchdog.enabled,
        watchdog_detect_ms=intent.watchdog.detect_ms,
        watchdog_restore_ms=intent.watchdog.restore_ms,
        watchdog_action=intent.watchdog.action,
        mtu_bytes=intent.mtu_bytes,
        host_mtu_bytes=intent.host_mtu_bytes,
    )


def mark(profile: Profile, speed_gbps: int) -> tuple[int, int, int]:
    """Return (min kB, max kB, probability %) of ECN at a port speed: the same on every platform and tier.

    Thresholds grow with the speed, so that a queue is as long in time on a slow port as on a fast one. 12 and 120 us are 150 and
    1500 kB at 100 Gb/s, with 100 %.

    Source:
        NVIDIA Cumulus Linux, RDMA over Converged Ethernet (150,000 and 1,500,000 bytes, 100 %, at every speed); in proportion to
        the speed: Huawei, Configuring Static ECN (EDOC1100155250: the upper threshold is two to three bandwidth-delay products),
        and alibaba-edu/High-Precision-Congestion-Control, simulation/mix (KMIN_MAP and KMAX_MAP: 100 and 400 kB at 25 Gb/s, 400
        and 1600 kB at 100 Gb/s).
    """
    own, marking = profile.ecn.get(speed_gbps), profile.marking
    if own is not None:
        return own.min_kb, own.max_kb, own.probability_percent
    return _fill(marking.min_us, speed_gbps), _fill(marking.max_us, speed_gbps), marking.probability_percent


def _fill(delay_us: float, speed_gbps: int) -> int:
    """Return what a port drains in that time, in kB, rounded up: Gb/s times us are kilobits."""
    return ceil(round(delay_us * speed_gbps / 8, 3))  # 12.6 x 100 / 8 is 157.50000000000003
