"""Pools, and how full Ceph is, against the plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic, Severity
from cluster_model.plan.model.ceph import BACKFILLFULL, FULL, NEARFULL, CephCluster, PlacedPool, Tier, cut_fill
from cluster_model.verify.ceph.answers import Answers, Pool, Used
from cluster_model.verify.ceph.osds import list_planned
from cluster_model.verify.ceph.words import PLAYBOOK, are, tell

KINDS = {1: "replicas", 3: "erasure code"}
"""Source: Ceph, pg_pool_t::TYPE_REPLICATED and TYPE_ERASURE."""
MANAGERS = (".mgr", "device_health_metrics")
"""Pools that managers make for themselves."""
GATEWAYS = "rgw"
"""Application whose pools gateways make for themselves."""
LEAST_FILL = 0.05
"""Fill below which nothing is said of how even OSDs are: a few objects make the difference there. Our own choice."""
SLACK = 1.05
"""How much less even than computed OSDs may be before it is told. Our own choice."""


def compare_pools(ceph: CephCluster, answers: Answers) -> Iterator[Diagnostic]:
    """Yield pools that are missing, other than planned, or not planned."""
    live = {pool.pool_name: pool for pool in answers.pools}
    places = {files.metadata.name: f"ceph.filesystems.{files.name}" for files in ceph.filesystems}
    places |= {pool.name: "ceph.object" for pool in (ceph.store.own if ceph.store else ())}
    for planned in ceph.all_pools:
        where, found = places.get(planned.name, f"ceph.pools.{planned.name}"), live.pop(planned.name, None)
        if found is None:
            fix = f"see first whether it was renamed; else {PLAYBOOK}, which makes an empty one"
            yield tell("VER047", where, f"pool {planned.name} is not there", "a pool", "none", fix)
            continue
        wanted, has = _describe_planned(planned, ceph), _describe_found(found, planned, answers)
        if off := [key for key, value in has.items() if value != wanted[key]]:
            level: Severity = "warning" if set(off) <= {"pg_num", "pg_autoscale_mode", "application"} else "error"
            expected, actual = (", ".join(f"{key} {each[key]}" for key in off) for each in (wanted, has))
            yield tell("VER047", where, f"pool {planned.name} is not as planned", expected, actual, PLAYBOOK, level)
    own = {name for name, pool in live.items() if name in MANAGERS or GATEWAYS in pool.application_metadata}
    if beside := sorted(live.keys() - own):
        text = f"pools that the plan does not have: {list_names(beside)}"
        yield tell(
            "VER047", "ceph.pools", text, "those of the plan", "", "plan them: the waterline does not count them", "warning"
        )


def _describe_planned(pool: PlacedPool, ceph: CephCluster) -> dict[str, Any]:
    how = "chooseleaf_indep" if pool.k else "chooseleaf_firstn"
    return {
        "kind": KINDS[3 if pool.k else 1],
        "size": pool.size,
        "min_size": pool.min_size,
        "rule": f"take default~{pool.device_class}, {how} 0 {ceph.failure_domain}, emit",
        "pg_num": pool.pgs,
        "pg_autoscale_mode": "off",
        "application": pool.application,
    }


def _describe_found(pool: Pool, planned: PlacedPool, answers: Answers) -> dict[str, Any]:
    rule = next((rule for rule in answers.rules if rule.rule_id == pool.crush_rule), None)
    steps = [step for step in rule.steps if not step.op.startswith("set_")] if rule else []
    words = (
        f"{step.op} {step.item_name}".strip() if not step.op.startswith("choose") else f"{step.op} {step.num} {step.type}"
        for step in steps
    )
    names = pool.application_metadata
    return {
        "kind": KINDS.get(pool.type, str(pool.type)),
        "size": pool.size,
        "min_size": pool.min_size,
        "rule": ", ".join(words) or "none",
        "pg_num": pool.pg_num_target or pool.pg_num,
        "pg_autoscale_mode": pool.pg_autoscale_mode,
        "application": planned.application if planned.application in names else ", ".join(sorted(names)) or "none",
    }


def _list_used(tier: Tier, answers: Answers) -> list[Used]:
    """Return OSDs of planned hosts and of the planned class that take data."""
    names = {osd.name for osd in list_planned(tier, answers) if osd.takes_data and osd.device_class == tier.device_class}
    return [osd for osd in answers.use.nodes if osd.name in names and osd.kb] if answers.use else []


def measure_fill(tier: Tier, answers: Answers) -> float | None:
    """Return the part of these OSDs' raw bytes that is used; None where nobody counts."""
    used = _list_used(tier, answers)
    return sum(osd.kb_used for osd in used) / sum(osd.kb for osd in used) if used else None


def compare_fill(ceph: CephCluster, answers: Answers) -> Iterator[Diagnostic]:
    """Yield which fills are passed, and whether OSDs are as even as the waterline counts on, on each class of drives."""
    for tier in ceph.tiers:
        where = f" on {tier.device_class}" if len(ceph.tiers) > 1 else ""
        yield from _compare_tier(tier, where, answers)


def _compare_tier(tier: Tier, where: str, answers: Answers) -> Iterator[Diagnostic]:
    used, fill = _list_used(tier, answers), measure_fill(tier, answers)
    if fill is None:
        text = f"how full it is{where} was not told, or no planned OSD takes data"
        fix = "see ceph mgr stat: managers count; then ceph osd df"
        yield tell("VER050", "ceph.fill_target", text, "an answer of ceph osd df", "none", fix, "warning")
        return
    full = sorted((osd for osd in used if osd.fill >= NEARFULL), key=lambda osd: -osd.fill)
    most = max(osd.fill for osd in used)
    if full:
        state = "full: Ceph takes no writes" if most >= FULL else "backfillfull" if most >= BACKFILLFULL else "nearfull"
        text = f"{are([osd.name for osd in full], 'nearfull or fuller')}{where}; the fullest is {state}"
        fix = "add hosts or delete data; never lift the ratios for longer than that takes"
        yield tell("VER050", "ceph.fill_target", text, f"< {NEARFULL:g}", f"{most:.3f}", fix)
    if tier.waterline and fill > tier.waterline:
        expected, fix = f"<= {cut_fill(tier.waterline):g}", "add hosts or delete data: a lost host can no longer be rebuilt"
        yield tell("VER050", "ceph.fill_target", f"filled above the waterline{where}", expected, f"{fill:.3f}", fix)
    else:
        marks = {"fill_target": tier.fill_target, "expand_at": tier.expand_at}
        passed = next(((name, mark) for name, mark in marks.items() if mark and fill > mark), None)
        if passed:
            name, mark = passed
            fix = "order hosts, or delete data"
            yield tell("VER050", f"ceph.{name}", f"filled above {name}{where}", f"<= {mark:g}", f"{fill:.3f}", fix, "warning")
    if fill > LEAST_FILL and tier.fullest and most > fill * tier.fullest * SLACK and not answers.status.is_moving:
        expected, actual = f"the fullest has {tier.fullest:.2f} times the mean at most", f"{most / fill:.2f} times"
        fix = "see ceph balancer status (mode upmap), and ceph osd df"
        text = f"OSDs are less even{where} than the waterline counts on"
        yield tell("VER051", "ceph.imbalance", text, expected, actual, fix, "warning")
