"""Monitors, managers and their clocks, against the plan."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic, Severity
from cluster_model.plan.model.ceph import CephCluster
from cluster_model.verify.ceph.answers import Answers
from cluster_model.verify.ceph.ask import DRIFT
from cluster_model.verify.ceph.words import PLAYBOOK, tell

DRIFT_S = 0.05
"""How far clocks of monitors may be apart, unless an option says otherwise. Source: Ceph's option mon_clock_drift_allowed."""
ONE_BY_ONE = "one at a time, and only while all others are in the quorum"


def compare_monitors(ceph: CephCluster, answers: Answers) -> Iterator[Diagnostic]:
    """Yield which monitors and managers are missing, elsewhere, silent, or not planned."""
    quorum = answers.quorum
    live = {monitor.name: monitor for monitor in quorum.monmap.mons}
    at_home = [one for one in ceph.monitors if one.name in live and live[one.name].hosts == {one.address}]
    if ceph.monitors and not at_home:
        text = "no monitor of the plan is in the cluster by its name and address"
        expected = ", ".join(f"{one.name} at {one.address}" for one in ceph.monitors)
        actual = ", ".join(f"{name} at {'/'.join(sorted(one.hosts))}" for name, one in sorted(live.items()))
        fix = "bring the plan to what is there; a monitor is called as its host is"
        yield tell("VER042", "ceph.monitors", text, expected, actual, fix)
    for monitor in ceph.monitors if at_home else ():
        found = live.pop(monitor.name, None)
        if found is None:
            fix = PLAYBOOK if ceph.deploy == "packages" else f"ceph orch daemon add mon {monitor.name}:{monitor.address}"
            yield tell("VER042", "ceph.monitors", f"{monitor.name} has no monitor", monitor.address, "none", fix)
        elif found.hosts != {monitor.address}:
            fix = f"a monitor never moves: take it out, {ONE_BY_ONE}, and have it made anew"
            text = f"monitor {monitor.name} has another address"
            yield tell("VER042", "ceph.monitors", text, monitor.address, ", ".join(sorted(found.hosts)), fix)
        elif monitor.name not in quorum.quorum_names:
            has = f"{len(quorum.quorum_names)} of {len(quorum.monmap.mons)} are"
            fix = "see its log there, its clock and disk, and whether it is reached"
            yield tell("VER042", "ceph.monitors", f"monitor {monitor.name} is not in the quorum", "all in it", has, fix)
    if live and at_home:
        text = f"monitors that the plan does not have: {list_names(sorted(live))}"
        fix = f"plan them, or take them out, {ONE_BY_ONE}"
        yield tell("VER042", "ceph.monitors", text, "those of the plan", "", fix, "warning")
    count = bool(answers.managers.active_name) + answers.managers.num_standby
    if count < len(ceph.managers):
        text = "fewer managers than planned" if count else "there is no manager"
        names = " ".join(each.name for each in ceph.managers)
        fix = (
            PLAYBOOK
            if ceph.deploy == "packages"
            else f"ceph orch ps --daemon-type mgr; ceph orch apply mgr --placement '{names}'"
        )
        level: Severity = "warning" if count else "error"
        yield tell("VER043", "ceph.monitors", text, str(len(ceph.managers)), str(count), fix, level)


def compare_clocks(answers: Answers) -> Iterator[Diagnostic]:
    """Yield whose clocks are apart."""
    said = {option.section: option.value for option in answers.options if option.name == DRIFT and not option.mask}
    try:
        allowed = float(said.get("mon", said.get("global", DRIFT_S)))
    except ValueError:
        allowed = DRIFT_S
    off = {name: abs(clock.skew) for name, clock in answers.clocks.time_skew_status.items()}
    if late := {name: skew for name, skew in off.items() if skew > allowed}:
        actual = ", ".join(f"{name} by {skew:.3f} s" for name, skew in sorted(late.items()))
        fix = "run playbooks/base.yml there, and see whether the hosts reach the site's time servers"
        yield tell("VER044", "site.ntp", "clocks of monitors are apart", f"{allowed:g} s at most ({DRIFT})", actual, fix)
