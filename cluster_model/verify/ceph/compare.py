"""Ceph as it answers, against the plan: a pure function of (Plan, what was asked)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic, Severity
from cluster_model.plan.model import Plan
from cluster_model.render.ceph.objects import list_options
from cluster_model.render.ceph.users import list_users
from cluster_model.verify.ceph.answers import Answers
from cluster_model.verify.ceph.ask import Asked, find_fsid, list_reasons, read_answers
from cluster_model.verify.ceph.daemons import compare_clocks, compare_monitors
from cluster_model.verify.ceph.data import compare_fill, compare_pools, measure_fill
from cluster_model.verify.ceph.files import compare_files, compare_gateways
from cluster_model.verify.ceph.osds import compare_hosts, count_up
from cluster_model.verify.ceph.words import PLAYBOOK, tell

TOLD = {
    "VER042": "MON_DOWN",
    "VER043": "MGR_DOWN",
    "VER044": "MON_CLOCK_SKEW",
    "VER045": "OSD_([A-Z]+_)?DOWN",
    "VER050": "(OSD|POOL)_(NEAR|BACKFILL)FULL",
    "VER052": "DAEMON_OLD_VERSION",
    "VER055": "MDS_ALL_DOWN|MDS_UP_LESS_THAN_MAX|MDS_INSUFFICIENT_STANDBY|FS_DEGRADED|FS_WITH_FAILED_MDS",
}
"""Checks of Ceph's health of which a finding tells more. Source: Ceph, doc/rados/operations/health-checks.rst."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What came of it: findings, and what was counted, of the planned cluster alone; `version` is the newest of any daemon."""

    findings: tuple[Diagnostic, ...]
    is_ours: bool = False
    version: str = ""
    monitors: int = 0  # in the quorum, of those that are planned
    osds: int = 0  # up, of the planned hosts
    fills: Mapping[str, float | None] = field(default_factory=dict)  # of each class of drives; None where nobody counts


def compare_ceph(plan: Plan, asked: Asked) -> Verified:
    """Return where a Ceph is not as planned.

    Errors:
        VER040 where nobody answered, VER041 where another cluster did, else VER042 to VER056.

    Raises:
        ValueError: what was answered is of another form.
    """
    if not asked.host:
        why = "; ".join(list_reasons(asked.reasons)) or "no monitor is planned"
        fix = "look whether a host with a monitor runs and answers a login, and whether `ceph status` answers there"
        return Verified((tell("VER040", "ceph", "no host with a monitor answered for the cluster", "one that does", why, fix),))
    fsid = find_fsid(asked)
    if fsid and fsid != plan.ceph.fsid:
        fix = "ask the planned cluster's hosts, or set ceph.fsid to that id if the plan is meant for it"
        return Verified((tell("VER041", "ceph.fsid", "another cluster answers", plan.ceph.fsid, fsid, fix),))
    answers, ceph = read_answers(asked), plan.ceph
    versions = list_versions(answers)
    found = [
        *compare_monitors(ceph, answers),
        *compare_clocks(answers),
        *compare_hosts(ceph, answers),
        *compare_pools(ceph, answers),
        *compare_files(ceph, answers),
        *compare_gateways(ceph, answers),
        *_compare_options(plan, answers),
        *_compare_users(plan, answers),
        *compare_fill(ceph, answers),
        *_compare_versions(ceph.deploy, versions),
    ]
    found += _compare_health(answers, {finding.id for finding in found}, asked.host)
    planned = {monitor.name for monitor in ceph.monitors}
    newest = max(versions, default="", key=lambda text: [int(part) for part in text.split(".") if part.isdigit()])
    in_quorum = len(planned & set(answers.quorum.quorum_names))
    fills = {tier.device_class: measure_fill(tier, answers) for tier in ceph.tiers}
    return Verified(tuple(found), True, newest, in_quorum, count_up(ceph, answers), fills)


def list_versions(answers: Answers) -> dict[str, list[str]]:
    """Return the kinds of daemons by the version that they have, such as 16.2.15."""
    found: dict[str, list[str]] = defaultdict(list)
    for kind, counts in sorted(answers.versions.items()):
        for text in counts if kind != "overall" else ():
            words = text.split()
            if text != "unknown":  # of a daemon that has just begun
                found[words[2] if len(words) > 2 else text].append(kind)
    return dict(found)


def _compare_options(plan: Plan, answers: Answers) -> Iterator[Diagnostic]:
    live = {(option.section, option.name): option.value for option in answers.options if not option.mask}
    wanted = {(planned["who"], planned["name"]) for planned in list_options(plan.ceph)}
    for planned in list_options(plan.ceph):
        who, name, value = planned["who"], planned["name"], planned["value"]
        if live.get((who, name)) != value:
            has = live.get((who, name), "Ceph's default")
            yield tell("VER048", "ceph", f"option {name} of {who} is not as planned", value, has, PLAYBOOK, "warning")
        over = {each.who: each.value for each in answers.options if each.name == name and is_narrower(each.who, who)}
        over = {whom: has for whom, has in sorted(over.items()) if has != value and (whom, name) not in wanted}
        if over:
            text = f"option {name} is set for {list_names(over)}, which wins over what is planned"
            actual = list_names(sorted(set(over.values())))
            fix = f"ceph config rm {next(iter(over))} {name}" + (", and the others" if len(over) > 1 else "")
            yield tell("VER048", "ceph", text, value, actual, fix, "warning")


def is_narrower(section: str, who: str) -> bool:
    """Return whether an option of a section wins over that for `who`.

    >>> is_narrower("osd/host:storage-001", "osd"), is_narrower("mds.home", "mds.work"), is_narrower("osd", "global")
    (True, False, True)
    """
    return section.startswith((f"{who}.", f"{who}/")) or (who == "global" and section.partition("/")[0] != who)


def _compare_users(plan: Plan, answers: Answers) -> Iterator[Diagnostic]:
    pools = {files.name: files.pools for files in plan.ceph.filesystems}
    for user in list_users(plan):
        name, caps = user["name"], answers.users.get(user["name"])
        wanted = _complete(user["caps"], {files: pools[files] for files in user.get("folders", ())}, name, caps or {})
        if caps != wanted:
            text = f"user {name} {'is not there' if caps is None else 'has other rights'}"
            yield tell("VER049", "ceph", text, _word_caps(wanted), _word_caps(caps or {}) or "none", PLAYBOOK)


def _complete(
    caps: Mapping[str, str], folders: Mapping[str, Sequence[str]], user: str, live: Mapping[str, str]
) -> dict[str, str]:
    """Return rights with those to a user's folders, by paths and in namespaces that Ceph made: as they are where they may be.

    Args:
        caps: what the plan says of the user.
        folders: file systems in which it has one, each with its pools.
        user: its name.
        live: the rights that it has.

    Source: Ceph, volumes/fs/operations/versions/subvolume_base.py, and its pull request 62668 for the longer namespace.
    """
    name = re.escape(user.partition(".")[2])
    ways, rights = [], [caps["osd"]] if caps["osd"] else []
    for files, pools in folders.items():
        way = rf"allow rw fsname={re.escape(files)} path=/volumes/{name}/{name}/[0-9a-f-]+"
        right = rf"allow rw pool=({'|'.join(map(re.escape, pools))}) namespace=fsvolumens_(_{name}_)?{name}"
        ways.append(_find(way, live.get("mds", "")) or f"allow rw fsname={files} path=…")
        rights.append(_find(right, live.get("osd", "")) or f"allow rw pool={pools[0]} namespace=…")
    return {**caps, "osd": ", ".join(rights), **({"mds": ", ".join(ways)} if ways else {})}


def _find(pattern: str, rights: str) -> str:
    """Return the one of some rights that is of a form; empty where none is."""
    return next((right for right in rights.split(", ") if re.fullmatch(pattern, right)), "")


def _word_caps(caps: Mapping[str, str]) -> str:
    return ", ".join(f"{key} {caps[key]}" for key in sorted(caps))


def _compare_versions(deploy: str, versions: dict[str, list[str]]) -> Iterator[Diagnostic]:
    if len(versions) > 1:
        said = "; ".join(f"{version}: {', '.join(kinds)}" for version, kinds in sorted(versions.items()))
        fix = (
            "see ceph orch upgrade status" if deploy == "cephadm" else "finish the upgrade; gpuyard explain VER052 has the order"
        )
        yield tell("VER052", "ceph", "daemons of several versions", "one", said, fix, "warning")


def _compare_health(answers: Answers, told: set[str], host: str) -> Iterator[Diagnostic]:
    """Yield what Ceph says of itself and no finding does: never less than that where it says HEALTH_ERR."""
    known = [TOLD[id_] for id_ in told & TOLD.keys()]
    for name, check in sorted(answers.status.health.checks.items()):
        is_error = check.severity == "HEALTH_ERR"
        if check.muted or (not is_error and any(re.fullmatch(pattern, name) for pattern in known)):
            continue
        fix = f"see ceph health detail on {host}"
        level: Severity = "error" if is_error else "warning"
        yield tell("VER053", "ceph", f"Ceph says {name}", "HEALTH_OK", check.summary.message, fix, level)
