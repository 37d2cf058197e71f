"""The last part of the library: gear as it was read, against the plan. Import it by `cluster_model.pipeline`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from cluster_model.diagnostic import Diagnostic, promote_warnings
from cluster_model.opened import Opened, UnknownNameError

if TYPE_CHECKING:
    from cluster_model.verify.ceph.ask import Asked
    from cluster_model.verify.ceph.compare import Verified as VerifiedCeph
    from cluster_model.verify.gear import Verified
    from cluster_model.verify.hosts.compare import Told
    from cluster_model.verify.observed import Observed
    from cluster_model.verify.read.collect import Scope


def choose_scope(
    opened: Opened, networks: Sequence[str] = (), limits: Sequence[str] = (), what: Literal["cabling", "fabric"] = "cabling"
) -> Scope:
    """Return a part of a cluster to look at.

    Args:
        opened: the cluster.
        networks: names of networks; none for all.
        limits: devices by the words that `--limit` takes: names, racks, groups, patterns and so on; none for all.
        what: what is to be compared: cables, which all devices have, or sessions of switches and MTUs of servers.

    Raises:
        UnknownNameError: there is no such network, or a word means no device.
    """
    from cluster_model.plan.selection import KINDS, SelectionError, choose_devices
    from cluster_model.verify.read.collect import Scope

    known = [network.name for network in opened.plan.networks]
    for name in networks:
        if name not in known:
            raise UnknownNameError("network", f"there is no {name}; the plan has {', '.join(known)}")
    try:
        devices = choose_devices(opened.plan, limits, KINDS if what == "cabling" else ("server", "switch")) if limits else None
    except SelectionError as error:
        raise UnknownNameError("limit", str(error)) from None
    return Scope(tuple(networks), devices)


def verify(
    opened: Opened,
    observed: Observed,
    what: Literal["cabling", "fabric"] = "cabling",
    scope: Scope | None = None,
    *,
    strict: bool = False,
) -> Verified:
    """Compare what switches and hosts reported with the plan. Nothing is asked of them here.

    Args:
        opened: the cluster.
        observed: what devices told: `verify.read.collect.observe` asks them, `verify.observed.load_observed` reads a file that
            `gpuyard verify --save` wrote.
        what: `cabling`: who is at the other end of each cable; `fabric`: BGP sessions, AS numbers, MTU, ECMP width and PFC.
        scope: the part to look at, from `choose_scope`; None for all.
        strict: whether warnings become errors.

    Returns:
        Jobs in the order of a walk, each with its finding, located; counts of what was compared; who was not reached.

    Errors:
        VER001 to VER014 of cabling, VER030 to VER038 of fabric, VER020 to VER022 of devices that were not reached, are others
        than planned, or did not tell everything.
    """
    from cluster_model.verify.gear import compare_gear

    found = compare_gear(opened.plan, observed, what, scope)
    locate = opened.loaded.source.locate
    jobs = [replace(job, finding=locate(job.finding)) for job in found.jobs]
    if strict:
        jobs = [replace(job, finding=promote_warnings([job.finding])[0]) for job in jobs]
    return replace(found, jobs=tuple(jobs))


def verify_ceph(opened: Opened, asked: Asked) -> VerifiedCeph:
    """Compare what a running Ceph answered with the plan: monitors, OSDs, CRUSH, pools, options, users, fill, clocks.

    Args:
        opened: the cluster, with Ceph.
        asked: what a host with a monitor answered: `verify.ceph.ask.ask_ceph` asks one, `verify.ceph.ask.load_asked` reads a
            file that `gpuyard verify ceph --save` wrote.

    Returns:
        Findings, located, and what was counted.

    Errors:
        VER040 to VER053.

    Raises:
        ValueError: what was answered is of another form.
    """
    from cluster_model.verify.ceph.compare import compare_ceph

    found = compare_ceph(opened.plan, asked)
    return replace(found, findings=tuple(map(opened.loaded.source.locate, found.findings)))


def verify_hosts(opened: Opened, told: Mapping[str, Told]) -> dict[str, list[Diagnostic]]:
    """Compare what hosts told of themselves with the plan: model, serial number, GPUs, ports, driver, limits, routes, time.

    Args:
        opened: the cluster.
        told: by server; `verify.hosts.compare.load_told` reads a file that `gpuyard verify hosts --save` wrote. Servers that are
            not in the plan must not be among them.

    Returns:
        Findings by server in the order given, located; empty where a host is as planned.

    Errors:
        HST001 to HST019.
    """
    from cluster_model.verify.hosts.compare import compare_hosts

    locate = opened.loaded.source.locate
    found = compare_hosts(opened.plan, opened.catalogue, told)
    return {name: [locate(finding) for finding in findings] for name, findings in found.items()}
