"""`gpuyard verify`: gear as it is against the plan. Nothing is written to gear."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cluster_model.cli.common import (
    ERRORS,
    EXISTING,
    UNREACHED,
    USAGE,
    cluster_argument,
    finding_options,
    limit_option,
    open_plan,
    split_words,
)
from cluster_model.cli.findings import Format, count_findings, format_json, print_findings
from cluster_model.cli.verify_ceph import command as ceph
from cluster_model.cli.verify_hosts import command as hosts
from cluster_model.pipeline import Opened, UnknownNameError, choose_scope, verify

if TYPE_CHECKING:
    from cluster_model.plan.model import Plan
    from cluster_model.verify.gear import Verified
    from cluster_model.verify.observed import Observed
    from cluster_model.verify.read.collect import Scope
    from cluster_model.verify.read.device import Wish

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Reach:
    """How devices are reached, as typed."""

    user: str
    host_user: str
    trust_new_keys: bool
    key: Path | None
    ssh_config: Path | None
    timeout: float
    parallel: int
    hosts: bool
    stand_in: bool
    observed: Path | None
    save: Path | None


@dataclass(frozen=True, slots=True)
class Desk:
    """What both verbs begin with."""

    opened: Opened
    scope: Scope
    observed: Observed


def reading_options(command: Command) -> Command:
    """Add what both verbs take: which part, how to log in, and observations in files."""
    options = [
        click.option("--network", "networks", multiple=True, metavar="NAME", help="Look at this network alone; may be repeated."),
        limit_option,
        click.option("--rack", "racks", multiple=True, hidden=True, callback=split_words, help="The older name of --limit."),
        click.option("--hosts/--no-hosts", default=True, help="Whether to log in to servers too.", show_default=True),
        click.option("--user", envvar="GPUYARD_USER", default="", help="User on switches [env GPUYARD_USER]; default: yours."),
        click.option("--host-user", envvar="GPUYARD_HOST_USER", default="", help="User on hosts [env GPUYARD_HOST_USER]."),
        click.option(
            "--key", type=EXISTING, envvar="GPUYARD_SSH_KEY", help="Private key [env GPUYARD_SSH_KEY]; default: agent and ~/.ssh."
        ),
        click.option("--ssh-config", type=EXISTING, help="OpenSSH configuration to use, for jump hosts and ports."),
        click.option("--trust-new-keys", is_flag=True, help="Add SSH host keys that are not known to known_hosts."),
        click.option(
            "--timeout", type=click.FloatRange(1, 600), default=60, show_default=True, help="Seconds to wait for an answer."
        ),
        click.option("--parallel", type=click.IntRange(1, 256), default=32, show_default=True, help="Sessions open at once."),
        click.option(
            "--stand-in", is_flag=True, envvar="GPUYARD_STAND_IN", help="Read every switch as Linux with FRR, as in the twin."
        ),
        click.option("--observed", type=EXISTING, help="Compare this file, written by --save, instead of asking devices."),
        click.option("--save", type=click.Path(path_type=Path), help="Write what devices told into this file."),
        click.option(
            "--print", "sheet", type=click.Path(path_type=Path), help="Write the jobs as a page to print (HTML), by rack."
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.group()
def command() -> None:
    """Compare gear as it is with the plan. Only reads; nothing is written to gear.

    Switches are read by netmiko, hosts by ssh; passwords for switches come from GPUYARD_PASSWORD. Exit codes: 0 as planned,
    1 differences, 3 a device was not reached (the others are compared).
    """


@command.command()
@cluster_argument
@reading_options
@finding_options
def cabling(
    cluster: Path,
    networks: tuple[str, ...],
    limits: tuple[str, ...],
    racks: tuple[str, ...],
    sheet: Path | None,
    form: Format,
    strict: bool,
    **reach: Any,
) -> None:
    """Compare cables as they lie with the plan, and say which plug to move where.

    Who is at the other end is told by LLDP, else by the MAC address in the forwarding table.
    """
    from cluster_model.render.drawings.style import format_count

    desk = open_desk(cluster, networks, (*limits, *racks), form, Reach(**reach), fabric=False)
    found = verify(desk.opened, desk.observed, "cabling", desk.scope, strict=strict)
    counts = {state: found.counts[state] for state in STATES if found.counts.get(state)}
    words = ", ".join(f"{number:,} {STATES[state]}" for state, number in counts.items())
    finish(desk, found, f"{format_count(sum(counts.values()), 'cable')}: {words or 'none'}", {"cables": counts}, sheet, form)


STATES = {
    "right": "right",
    "exchanged": "exchanged",
    "wrong": "in a wrong place",
    "dark": "dark",
    "off": "of devices that are off",
    "torn": "contradictory",
    "absent": "without a port",
    "unproven": "unproven",
    "unread": "not read",
}


_SINGULARS = {
    "AS numbers": "AS number",
    "sessions": "session",
    "node sessions": "node session",
    "MTUs": "MTU",
    "prefixes": "prefix",
    "PFC ports": "PFC port",
}
"""How what was compared of a fabric is called where it is one."""


@command.command()
@cluster_argument
@reading_options
@finding_options
def fabric(
    cluster: Path,
    networks: tuple[str, ...],
    limits: tuple[str, ...],
    racks: tuple[str, ...],
    sheet: Path | None,
    form: Format,
    strict: bool,
    **reach: Any,
) -> None:
    """Compare BGP sessions, AS numbers, MTU, ECMP width and PFC with the plan."""
    from cluster_model.render.drawings.style import format_count

    desk = open_desk(cluster, networks, (*limits, *racks), form, Reach(**reach), fabric=True)
    found = verify(desk.opened, desk.observed, "fabric", desk.scope, strict=strict)
    words = ", ".join(format_count(number, _SINGULARS[what]) for what, number in found.counts.items())
    finish(desk, found, f"compared: {words or 'nothing'}", {"compared": found.counts}, sheet, form)


def open_desk(
    cluster: Path, networks: tuple[str, ...], limits: tuple[str, ...], form: Format, reach: Reach, *, fabric: bool
) -> Desk:
    """Return the plan, what to look at and what devices told; usage errors where a network or device is not there."""
    opened = open_plan(cluster, form, strict=False)
    try:
        scope = choose_scope(opened, networks, limits, "fabric" if fabric else "cabling")
    except UnknownNameError as error:
        raise click.BadParameter(str(error), param_hint=f"--{error.kind}") from None
    observed = _read_file(reach.observed) if reach.observed else _read_gear(opened.plan, scope, reach, fabric=fabric)
    if reach.save:
        from cluster_model.verify.observed import dump_observed

        reach.save.write_bytes(dump_observed(observed))
    return Desk(opened, scope, observed)


def _read_file(path: Path) -> Observed:
    from cluster_model.verify.observed import load_observed

    try:
        return load_observed(path.read_bytes())
    except ValueError as error:
        click.echo(f"error: {path}: {error}", err=True)
        raise click.exceptions.Exit(USAGE) from None


def _read_gear(plan: Plan, scope: Scope, reach: Reach, *, fabric: bool) -> Observed:
    try:
        import netmiko  # noqa: F401
    except ImportError:
        raise click.UsageError("reading switches needs netmiko: pip install 'gpuyard[fleet]'") from None
    from cluster_model.transport.session import Login, read_password
    from cluster_model.verify.read.collect import observe

    names, wishes = _choose_devices(plan, scope, fabric=fabric)
    if not reach.hosts:
        names -= {server.name for server in plan.servers}
    login = Login(
        reach.user or _own_name(),
        reach.key,
        read_password(),
        reach.ssh_config,
        answer_s=reach.timeout,
        trust_new=reach.trust_new_keys,
    )
    logins = {False: login, True: replace(login, user=reach.host_user, password="")}
    done = 0

    def tell(_: object) -> None:
        nonlocal done
        done += 1
        if sys.stderr.isatty():
            click.echo(f"\r{done:,} of {len(names):,} devices read ", nl=done == len(names), err=True)

    return observe(plan, names, logins, wishes=wishes, stand_in=reach.stand_in, parallel=reach.parallel, progress=tell)


def _choose_devices(plan: Plan, scope: Scope, *, fabric: bool) -> tuple[set[str], dict[str, Wish]]:
    """Return the devices to read and what to ask beyond ports."""
    from cluster_model.verify.fabric import sample_prefixes
    from cluster_model.verify.read.device import Wish

    if not fabric:
        reachable = {server.name for server in plan.servers} | {switch.name for switch in plan.switches}
        return {name for cable in scope.cables(plan) for name in (cable.a, cable.b)} & reachable, {}
    switches = scope.switches(plan)
    prefixes = sample_prefixes(plan, switches)
    names = {switch.name for switch in switches}
    hosts = {server for server, _ in scope.host_ports(plan)}
    return names | hosts, {name: Wish(fabric=True, prefixes=tuple(prefixes.get(name, {}))) for name in names}


def _own_name() -> str:
    from getpass import getuser

    return getuser()


def finish(desk: Desk, found: Verified, summary: str, counts: dict[str, Any], sheet: Path | None, form: Format) -> None:
    """Print the jobs, write the sheet, and exit with what they come to."""
    from cluster_model.render.drawings.style import format_count
    from cluster_model.verify.cabling.sheet import format_jobs, format_sheet

    findings, unreached, name = found.findings, found.unreached, desk.opened.plan.name
    read = f"{format_count(len(desk.observed.devices) - len(unreached), 'device')} read, {len(unreached):,} not reached"
    if form == "json":
        _print_json(desk, found, counts)
    elif form == "github":
        print_findings(findings, form)
    else:
        click.echo(f"{name}: {read}; {summary}")
        for line in _tell_stand_ins(desk):
            click.echo(line)
        for line in format_jobs(found.jobs):
            click.echo(line)
        click.echo(f"\n{count_findings(findings)}{' gpuyard explain ID tells more.' if findings else ''}")
    if sheet:
        sheet.write_text(format_sheet(f"{name}: what to do", f"{read}; {summary}", found.jobs), "utf-8")
    if unreached:
        raise click.exceptions.Exit(UNREACHED)
    if any(finding.severity == "error" for finding in findings):
        raise click.exceptions.Exit(ERRORS)


def _tell_stand_ins(desk: Desk) -> Iterator[str]:
    """Yield a line for each system that others stand in for."""
    counts = Counter(
        (switch.nos, device.stand_in)
        for switch in desk.opened.plan.switches
        if (device := desk.observed.devices.get(switch.name)) is not None and device.stand_in
    )
    for (planned, system), number in sorted(counts.items()):
        switches = "switch" if number == 1 else "switches"
        yield f"stand-in: {number:,} {switches} planned with {planned}, read as Linux with {system.upper()}"


def _print_json(desk: Desk, found: Verified, counts: dict[str, Any]) -> None:
    import json

    document = json.loads(format_json(found.findings))
    for row, job in zip(document["findings"], found.jobs, strict=True):
        row |= {
            "kind": job.kind,
            "rack": job.rack,
            "u": job.u,
            "device": job.device,
            "port": job.port,
            "cables": list(job.labels),
        }
    stand_ins = {device.name: device.stand_in for device in desk.observed.devices.values() if device.stand_in}
    devices = {
        "read": len(desk.observed.devices) - len(found.unreached),
        "not_reached": dict(sorted(found.unreached.items())),
        **({"stand_ins": stand_ins} if stand_ins else {}),
    }
    click.echo(
        json.dumps({"cluster": desk.opened.plan.name, "devices": devices, **counts, **document}, indent=2, ensure_ascii=False)
    )


command.add_command(ceph)
command.add_command(hosts)
