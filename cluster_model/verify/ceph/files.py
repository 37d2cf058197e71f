"""File systems and the metadata servers that serve them, and gateways to objects, against the plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic, Severity
from cluster_model.plan.model.ceph import CephCluster, CephFiles
from cluster_model.verify.ceph.answers import Answers, FilesMap
from cluster_model.verify.ceph.words import PLAYBOOK, are, tell


def compare_files(ceph: CephCluster, answers: Answers) -> Iterator[Diagnostic]:
    """Yield file systems that are missing, other than planned, not served or not planned; nothing where nobody told of them."""
    if answers.files is None:
        return
    live = {each.mdsmap.fs_name: each.mdsmap for each in answers.files.filesystems}
    names = {pool.pool_id: pool.pool_name for pool in answers.pools}
    for planned in ceph.filesystems:
        where, found = f"ceph.filesystems.{planned.name}", live.pop(planned.name, None)
        if found is None:
            yield tell("VER054", where, f"file system {planned.name} is not there", "a file system", "none", PLAYBOOK)
            continue
        # Others than the first stand in the order in which they came.
        first, *others = [names.get(number, "?") for number in found.data_pools] or [""]
        has = {
            "metadata in": names.get(found.metadata_pool, "?"),
            "files in": first,
            "beside it": ", ".join(sorted(others)) or "no pool",
            "max_mds": found.max_mds,
        }
        wanted = {
            "metadata in": planned.metadata.name,
            "files in": planned.pools[0],
            "beside it": ", ".join(sorted(planned.pools[1:])) or "no pool",
            "max_mds": planned.active,
        }
        if off := [key for key, value in has.items() if value != wanted[key]]:
            expected, actual = (", ".join(f"{key} {each[key]}" for key in off) for each in (wanted, has))
            lacks = bool(set(planned.pools) - {first, *others})
            level: Severity = "error" if lacks or set(off) & {"metadata in", "files in"} else "warning"
            yield tell("VER054", where, f"file system {planned.name} is not as planned", expected, actual, PLAYBOOK, level)
        yield from _compare_servers(ceph, planned, found, answers)
    if live:
        text = f"file systems that the plan does not have: {list_names(sorted(live))}"
        yield tell("VER054", "ceph.filesystems", text, "those of the plan", "", "plan them, or see who uses them", "warning")


def _compare_servers(ceph: CephCluster, planned: CephFiles, found: FilesMap, answers: Answers) -> Iterator[Diagnostic]:
    where = f"ceph.filesystems.{planned.name}"
    fix = PLAYBOOK if ceph.deploy == "packages" else "see ceph orch ps --daemon-type mds"
    active = sum(server.state == "up:active" for server in found.info.values())
    if active < min(planned.active, found.max_mds):
        states = list_names(f"{server.name} {server.state}" for server in found.info.values()) or "no metadata server"
        text = f"file system {planned.name} is served by {active or 'no'} metadata server{'' if active == 1 else 's'}"
        yield tell("VER055", where, text, str(planned.active), states, fix)
    there = [server.name for server in (*found.info.values(), *(answers.files.standbys if answers.files else ()))]
    if gone := list_gone(planned.daemons, there):
        text = f"{are(gone, 'not there')}, one of the metadata servers of {planned.name}"
        yield tell(
            "VER055", where, text, f"{len(planned.daemons)} of them", f"{len(planned.daemons) - len(gone)}", fix, "warning"
        )


def list_gone(planned: Iterable[str], there: Iterable[str]) -> list[str]:
    """Return the daemons that are not there by their names."""
    names = list(there)
    return [name for name in planned if not any(is_daemon(each, name) for each in names)]


def is_daemon(told: str, planned: str) -> bool:
    """Return whether a daemon that tells its name is a planned one; cephadm puts six letters behind the name."""
    return told == planned or told.startswith(f"{planned}.")


def compare_gateways(ceph: CephCluster, answers: Answers) -> Iterator[Diagnostic]:
    """Yield gateways to objects that are missing; nothing where nobody told of them.

    One that dies is known for a minute more. Source: Ceph's option mgr_service_beacon_grace.
    """
    store, services = ceph.store, answers.services
    if store is None or services is None:
        return
    fix = PLAYBOOK if ceph.deploy == "packages" else "see ceph orch ps --daemon-type rgw"
    there = list(services.services["rgw"].daemons.values()) if "rgw" in services.services else []
    if gone := list_gone(store.daemons, (each.name for each in there)):
        left = len(store.daemons) - len(gone)
        text = f"{are(gone, 'not there')}, one of the gateways to objects"
        level: Severity = "warning" if left else "error"
        yield tell("VER056", "ceph.object", text, f"{len(store.daemons)} of them", str(left), fix, level)
    for daemon in store.daemons:
        zones = {each.where for each in there if is_daemon(each.name, daemon)} - {""}
        if zones and f"{store.realm}/{store.zone}" not in zones:
            text = f"{daemon} is a gateway to another zone"
            yield tell("VER056", "ceph.object", text, f"{store.realm}/{store.zone}", list_names(sorted(zones)), fix)
