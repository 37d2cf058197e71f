"""`gpuyard bmc`: machines through their BMCs, by Redfish or IPMI."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from ipaddress import IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cluster_model.cli.common import ERRORS, choose_limited, cluster_argument, limit_option, open_cluster
from cluster_model.cli.console import print_table, shorten_names, show_progress
from cluster_model.cli.findings import Format, format_json, print_findings
from cluster_model.pipeline import Opened

if TYPE_CHECKING:
    from cluster_model.deploy.power import Outcome
    from cluster_model.transport.bmc.planned import Door
    from cluster_model.verify.hosts.machines import Visit

FAILED = 3
"""Exit code where a device failed; main.py has them all."""
Command = TypeVar("Command", bound=Callable[..., Any])


@click.group()
def command() -> None:
    """Ask machines' BMCs for power and facts, switch them, and tell them what to boot.

    The intent's `bmc` has protocol and user; the password is a secret (gpuyard explain SEC004). What changes a machine needs
    --apply, else it is only told. Exit codes: 0 done, 1 differences, 3 a BMC failed (the others were served).
    """


def common_options(wrapped: Command) -> Command:
    """Add what all verbs take: which machines, and how BMCs are asked."""
    form = click.Choice(["text", "json"])
    options = (
        limit_option,
        click.option("--parallel", type=click.IntRange(1, 512), default=64, show_default=True, help="BMCs asked at once."),
        click.option(
            "--timeout",
            type=click.FloatRange(0.5, 300),
            default=20,
            show_default=True,
            help="Seconds for an answer; by IPMI 2 or more.",
        ),
        click.option("--retries", type=click.IntRange(0, 10), default=2, show_default=True, help="Tries after a silent one."),
        click.option("--secrets", type=click.Path(dir_okay=False, path_type=Path), help="File of secrets; default: secrets.yml."),
        click.option("--format", "form", type=form, default="text", show_default=True, help="Form of the output."),
    )
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped


@command.command()
@cluster_argument
@limit_option
@click.option(
    "--scan", "scans", multiple=True, metavar="PREFIX", help="Look at every address of a prefix too, such as a DHCP pool."
)
@click.option("--parallel", type=click.IntRange(1, 1024), default=256, show_default=True, help="Addresses asked at once.")
@click.option("--timeout", type=click.FloatRange(0.2, 60), default=3, show_default=True, help="Seconds for an answer.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Form of the output."
)
def discover(cluster: Path, limits: tuple[str, ...], scans: tuple[str, ...], parallel: int, timeout: float, form: Format) -> None:
    """Say which BMCs answer at their planned addresses, and in what language. Nothing is logged in to."""
    from cluster_model.transport.bmc.probe import list_addresses, probe
    from cluster_model.transport.fleet import visit

    opened = open_cluster(cluster, form)
    every = {s.bmc.address.partition("/")[0]: s.name for s in opened.plan.servers if s.bmc}
    meant = {server.name for server in choose_limited(opened.plan, limits)}
    planned = {address: name for address, name in every.items() if name in meant}
    if not planned and not scans:
        raise click.UsageError("none of these servers has a BMC in the plan")
    extra = [address for prefix in scans for address in list_addresses(_read_prefix(prefix)) if address not in every]
    places = [(name, address) for address, name in planned.items()] + [("", address) for address in dict.fromkeys(extra)]
    with show_progress(len(places), "asked", form) as tell:
        found = {}
        for answer in visit(places, lambda place: probe(*place, timeout), parallel):
            found[answer.address] = answer
            tell()
    answers = [found[address] for _, address in places if found[address].name or found[address].answers]
    silent = [answer for answer in answers if not answer.answers]
    if form == "json":
        click.echo(json.dumps({"cluster": opened.plan.name, "bmcs": [asdict(answer) for answer in answers]}, indent=2))
    else:
        print_table(
            ("server", "address", "redfish", "ipmi", "vendor"),
            [(a.name or "(not planned)", a.address, a.redfish or "-", "yes" if a.ipmi else "-", a.vendor) for a in answers],
        )
        click.echo(f"{len(planned) - len(silent):,} of {len(planned):,} planned BMCs answer.")
    if silent:
        click.echo(
            "fix: see that the others have power and their cable, and that DHCP knows their bmc_mac (facts.servers)", err=True
        )
        raise click.exceptions.Exit(FAILED)


@command.command()
@cluster_argument
@common_options
@click.option("--write", is_flag=True, help="Write what was missing into the list of servers (facts.servers).")
@click.option("--replace", is_flag=True, help="With --write: replace what the list has otherwise, too.")
def inventory(cluster: Path, write: bool, replace: bool, form: Format, **asking: Any) -> None:
    """Read serial numbers, MACs, firmware and health, and compare them with the plan."""
    from cluster_model.verify.hosts.machines import compare_machines

    opened, doors = _open(cluster, form, **asking)
    visits = _visit(doors, asking["parallel"], form, facts=True)
    findings = [opened.loaded.source.locate(finding) for finding in compare_machines(opened.plan, visits)]
    if form == "json":
        report = json.loads(format_json(findings))
        click.echo(json.dumps({"cluster": opened.plan.name, "machines": _list_machines(visits), **report}, indent=2))
    else:
        print_table(
            ("server", "bmc", "by", "power", "serial", "model", "firmware", "ports", "health"),
            [
                (v.name, v.address, m.language, m.power, m.serial or "-", f"{m.manufacturer} {m.model}".strip() or "-",
                 m.firmware or "-", str(len(m.macs)), m.health or "-")
                for v in visits.values() if (m := v.machine)
            ],
        )  # fmt: skip
        print_findings(findings, "text")
    _fill(opened, visits, write=write, replace=replace, form=form)
    if any(visit.error for visit in visits.values()):
        raise click.exceptions.Exit(FAILED)
    if any(finding.severity == "error" for finding in findings):
        raise click.exceptions.Exit(ERRORS)


@command.command()
@cluster_argument
@click.argument("action", type=click.Choice(["status", "on", "off", "soft", "cycle", "reset"]))
@common_options
@click.option("--per-rack", type=click.IntRange(1), default=4, show_default=True, help="Machines of one rack switched at once.")
@click.option("--pause", type=click.FloatRange(0), default=2, show_default=True, help="Seconds between these.")
@click.option("--all", "everything", is_flag=True, help="Every machine, where --limit names none.")
@click.option("--apply", is_flag=True, help="Do it; without it, only say what would be done.")
@click.option(
    "--despite-serial",
    "despite",
    multiple=True,
    metavar="NODE",
    help="With off: this one, whatever machine it is; repeatable.",
)
def power(
    cluster: Path,
    action: Any,
    per_rack: int,
    pause: float,
    everything: bool,
    apply: bool,
    despite: tuple[str, ...],
    form: Format,
    **asking: Any,
) -> None:
    """Say whether machines are on, or switch them, a few of each rack at once.

    `soft` asks the operating system to shut down, `off` takes power away, `cycle` takes it away and gives it back, `reset`
    restarts at once. A machine with another serial number than the list of servers gives is left alone; in an emergency
    --despite-serial takes its power away all the same.
    """
    from cluster_model.deploy.power import switch_machines

    if despite and action != "off":
        raise click.UsageError(f"--despite-serial goes with off alone, not with {action}")
    alone = bool(despite) and not everything and not asking["limits"]
    if alone:
        asking["limits"] = despite
    opened, doors = _open(cluster, form, by_name=alone, **asking)
    unknown = sorted(set(despite) - {door.target.name for door in doors})
    if unknown:
        raise click.BadParameter(f"not among the machines that are meant: {', '.join(unknown)}", param_hint="--despite-serial")
    if action == "status" or not apply:
        visits = _visit(doors, asking["parallel"], form, facts=False)
        _tell_power(opened, visits, action, form, despite)
        return
    _require_words(asking["limits"], everything)
    with show_progress(len(doors), "switched", form) as tell:
        outcomes = switch_machines(
            doors,
            action,
            parallel=asking["parallel"],
            per_rack=per_rack,
            pause_s=pause,
            despite=despite,
            progress=lambda _: tell(),
        )
    _finish(opened, outcomes, action, form)


@command.command()
@cluster_argument
@click.argument("device", type=click.Choice(["pxe", "http", "disk", "none"]))
@common_options
@click.option("--persistent", is_flag=True, help="At every start, not at the next one alone.")
@click.option("--all", "everything", is_flag=True, help="Every machine, where --limit names none.")
@click.option("--apply", is_flag=True, help="Do it; without it, only say what would be done.")
def boot(cluster: Path, device: Any, persistent: bool, everything: bool, apply: bool, form: Format, **asking: Any) -> None:
    """Tell machines what to boot at their next start. Nothing is switched."""
    from cluster_model.deploy.power import set_boot
    from cluster_model.render.drawings.style import format_count

    opened, doors = _open(cluster, form, **asking)
    when = "every start" if persistent else "the next start"
    if not apply:
        names = shorten_names([door.target.name for door in doors])
        click.echo(f"would tell {format_count(len(doors), 'machine')} to boot {device} at {when}: {names}; --apply does it")
        return
    _require_words(asking["limits"], everything)
    with show_progress(len(doors), "told", form) as tell:
        outcomes = set_boot(doors, device, parallel=asking["parallel"], persistent=persistent, progress=lambda _: tell())
    _finish(opened, outcomes, f"boot {device}", form)


def _open(cluster: Path, form: Format, **asking: Any) -> tuple[Opened, list[Door]]:
    opened = open_cluster(cluster, form)
    return opened, open_doors(opened, form, **asking)


def open_doors(
    opened: Opened,
    form: Format,
    *,
    limits: Sequence[str],
    timeout: float,
    retries: int,
    secrets: Path | None,
    by_name: bool = False,
    **_: Any,
) -> list[Door]:
    """Return the ways into the BMCs that are meant; exits where a word means nothing or a secret is missing."""
    from cluster_model.transport.bmc.planned import list_doors
    from cluster_model.transport.secrets import open_secrets

    servers = choose_limited(opened.plan, limits, by_name=by_name, hint="--despite-serial" if by_name else "--limit")
    found, findings = open_secrets(opened.loaded.folder, secrets)
    doors: list[Door] = []
    if not findings:
        doors, findings = list_doors(opened.plan, servers, opened.cluster.bmc, found, answer_s=timeout, retries=retries)
    if findings:
        print_findings([f if f.file else opened.loaded.source.locate(f) for f in findings], form)
        raise click.exceptions.Exit(ERRORS)
    if not doors:
        raise click.UsageError("none of these servers has a BMC in the plan")
    if find_spec("sushy") is None and any("redfish" in door.languages for door in doors):
        raise click.UsageError("Redfish needs sushy: pip install 'gpuyard[fleet]'")
    return doors


def _visit(doors: Sequence[Door], parallel: int, form: Format, *, facts: bool) -> dict[str, Visit]:
    from cluster_model.verify.hosts.machines import visit_bmcs

    with show_progress(len(doors), "read", form) as tell:
        return visit_bmcs(doors, parallel, lambda _: tell(), facts=facts)


def _tell_power(opened: Opened, visits: dict[str, Visit], action: str, form: Format, despite: Sequence[str] = ()) -> None:
    from cluster_model.verify.hosts.machines import compare_machines

    if form == "json":
        click.echo(json.dumps({"cluster": opened.plan.name, "machines": _list_machines(visits)}, indent=2))
    else:
        rows = [(v.name, v.address, v.machine.power if v.machine else f"? {v.error}") for v in visits.values()]
        print_table(("server", "bmc", "power"), rows)
        states = [v.machine.power for v in visits.values() if v.machine]
        unread = len(visits) - len(states)
        words = [f"{states.count(state):,} {state}" for state in ("on", "off", "unknown") if state in states]
        click.echo(f"{', '.join([*words, *([f'{unread:,} not read'] if unread else [])])}.")
        if action != "status":
            idle = states.count("off") if action in {"off", "soft"} else states.count("on") if action == "on" else 0
            click.echo(f"power {action} would change {len(states) - idle:,} of them; --apply does it")
        if despite:
            click.echo(f"whatever machine is there: {', '.join(sorted(set(despite)))}")
    if any(visit.error for visit in visits.values()):
        if form != "json":
            unread_findings = [f for f in compare_machines(opened.plan, visits) if f.id == "BMC001"]
            print_findings([opened.loaded.source.locate(finding) for finding in unread_findings], "text")
        raise click.exceptions.Exit(FAILED)


def _list_machines(visits: dict[str, Visit]) -> list[dict[str, Any]]:
    return [
        {
            "name": v.name,
            "address": v.address,
            "seconds": v.seconds,
            "error": str(v.error) if v.error else "",
            "cause": v.error.cause if v.error else "",
            **({**asdict(v.machine), "macs": dict(v.machine.macs)} if v.machine else {}),
        }
        for v in visits.values()
    ]


def _fill(opened: Opened, visits: dict[str, Visit], *, write: bool, replace: bool, form: Format) -> None:
    """Say which cells of the list of servers the machines can fill, and write them when told to."""
    from cluster_model.intent.source.facts_csv import MOST_BYTES
    from cluster_model.paths import replace_file
    from cluster_model.reading import read_file
    from cluster_model.render.drawings.style import format_count
    from cluster_model.verify.hosts.delivered import fill_facts, list_facts

    name = opened.cluster.facts.servers
    path = opened.loaded.folder / (name or "servers.csv")
    try:
        text = read_file(path, MOST_BYTES, opened.loaded.folder).decode("utf-8-sig") if os.path.lexists(path) else ""
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise click.UsageError(f"{path} cannot be read: {reason}; move it away, or put a file in its place") from None
    filled, fills = fill_facts(text, list_facts(opened.plan, visits), replace=replace)
    if fills and write:
        replace_file(path, filled.encode())
    if form == "json" or not fills:
        return
    for fill in fills[:20]:
        click.echo(f"{path}: {fill.name} {fill.column}: {fill.old or '(empty)'} -> {fill.new}")
    if len(fills) > 20:
        click.echo(f"  and {len(fills) - 20:,} more")
    cells = format_count(len(fills), "cell")
    click.echo(f"{cells} written to {path}" if write else f"{cells} could be filled; --write does it")
    if write and name is None:
        click.echo("add to the intent:  facts: {servers: servers.csv}")


def _finish(opened: Opened, outcomes: Sequence[Outcome], what: str, form: Format) -> None:
    failed = [outcome for outcome in outcomes if outcome.error]
    if form == "json":
        rows = [
            {**asdict(o), "error": str(o.error) if o.error else "", "cause": o.error.cause if o.error else ""} for o in outcomes
        ]
        click.echo(json.dumps({"cluster": opened.plan.name, "what": what, "machines": rows}, indent=2))
    else:
        print_table(
            ("server", "bmc", "was", "is", ""),
            [(o.name, o.address, o.before, o.after, str(o.error or (o.despite and f"despite: {o.despite}"))) for o in outcomes],
        )
        foreign = [o.name for o in failed if o.error and o.error.cause == "machine"]
        if foreign and what == "off":
            click.echo(f"in an emergency: --despite-serial {foreign[0]} takes its power away, whatever machine it is", err=True)
        click.echo(f"{what}: {len(outcomes) - len(failed):,} done, {len(failed):,} failed.")
    if failed:
        raise click.exceptions.Exit(FAILED)


def _require_words(limits: Sequence[str], everything: bool) -> None:
    if not limits and not everything:
        raise click.UsageError("name the machines with --limit, or say --all")


def _read_prefix(text: str) -> IPv4Network:
    try:
        prefix = IPv4Network(text, strict=False)
    except ValueError:
        raise click.BadParameter(f"{text} is no IPv4 prefix such as 10.76.0.0/26", param_hint="--scan") from None
    if prefix.prefixlen < 16:
        raise click.BadParameter(f"{prefix} has {prefix.num_addresses:,} addresses; scan a /16 at most", param_hint="--scan")
    return prefix
