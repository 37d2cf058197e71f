"""The lossless profile, resolved once: every switch and host is rendered from this."""

from __future__ import annotations

from cluster_model.plan.context import Context
from cluster_model.plan.model import Lossless


def plan_lossless(ctx: Context) -> Lossless:
    """Return the profile with the thresholds of every platform the cluster uses, by port speed."""
    intent = ctx.cluster.lossless
    classes = [0] * 64
    classes[intent.cnp_dscp] = intent.cnp_priority
    classes[intent.data_dscp] = intent.priority
    networks = ctx.cluster.networks
    compute = networks.compute if networks.compute and networks.compute.technology != "infiniband" else None
    used = {network.system for network in (compute, networks.storage, networks.oob) if network is not None}
    ecn: dict[str, tuple[tuple[int, int, int, int], ...]] = {}
    for nos in sorted(used):
        platform = ctx.catalogue.platforms.get(nos)
        if platform is None:
            continue
        own = {speed: (e.min_kb, e.max_kb, e.probability_percent) for speed, e in intent.ecn.items()}
        merged = {**platform.ecn_kb, **own}
        ecn[nos] = tuple((speed, *merged[speed]) for speed in sorted(merged))
    return Lossless(
        data_dscp=intent.data_dscp,
        cnp_dscp=intent.cnp_dscp,
        priority=intent.priority,
        cnp_priority=intent.cnp_priority,
        pfc_priorities=tuple(intent.pfc_priorities) if intent.pfc_priorities is not None else (intent.priority,),
        trust=intent.trust,
        dscp_to_tc=tuple(classes),
        ecn=ecn,
        watchdog=intent.watchdog.enabled,
        watchdog_detect_ms=intent.watchdog.detect_ms,
        watchdog_restore_ms=intent.watchdog.restore_ms,
        watchdog_action=intent.watchdog.action,
        mtu_bytes=intent.mtu_bytes,
        host_mtu_bytes=intent.host_mtu_bytes,
    )
