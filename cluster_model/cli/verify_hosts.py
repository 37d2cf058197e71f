"""`gpuyard verify hosts`: the fleet as it tells of itself, against the plan."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cluster_model.cli.common import (
    ERRORS,
    EXISTING,
    UNREACHED,
    choose_limited,
    cluster_argument,
    host_login_options,
    limit_option,
    open_cluster,
)
from cluster_model.cli.console import print_table, show_progress
from cluster_model.cli.findings import Format, format_json, list_details
from cluster_model.pipeline import Opened, verify_hosts
from cluster_model.transport.session import Login

if TYPE_CHECKING:
    from cluster_model.diagnostic import Diagnostic
    from cluster_model.plan.model import Server
    from cluster_model.verify.hosts.compare import Told


@click.command("hosts")
@cluster_argument
@limit_option
@host_login_options
@click.option("--parallel", type=click.IntRange(1, 2000), default=200, show_default=True, help="Hosts asked at once.")
@click.option("--observed", type=EXISTING, help="Compare this file, written by --save, instead of asking hosts.")
@click.option("--save", type=click.Path(path_type=Path), help="Write what hosts told into this file, as JSON.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Form of the output."
)
def command(
    cluster: Path,
    limits: tuple[str, ...],
    user: str,
    key: Path | None,
    ssh_config: Path | None,
    trust_new_keys: bool,
    parallel: int,
    timeout: float,
    observed: Path | None,
    save: Path | None,
    form: Format,
) -> None:
    """Compare hosts with the plan: model, serial, GPUs, ports, speed, PCIe, driver, limits, routes, time. Only reads.

    One login to each, by pyinfra, hundreds at once; each host gets a verdict.
    """
    from cluster_model.verify.hosts.compare import dump_told

    opened = open_cluster(cluster, form)
    servers = choose_limited(opened.plan, limits)
    told = (
        _load(observed, opened, servers)
        if observed
        else _sweep(
            opened,
            servers,
            Login(user, key, ssh_config=ssh_config, answer_s=timeout, trust_new=trust_new_keys),
            parallel,
            form,
        )
    )
    if save:
        from cluster_model.paths import replace_file

        replace_file(save, dump_told(told).encode())
    _report(opened, told, verify_hosts(opened, told), form)


def _load(path: Path, opened: Opened, servers: Sequence[Server]) -> dict[str, Told]:
    from cluster_model.verify.hosts.compare import load_told

    try:
        told = load_told(path.read_text("utf-8"))
    except (ValueError, OSError) as error:
        raise click.BadParameter(f"{path}: {error}", param_hint="--observed") from None
    strange = told.keys() - {server.name for server in opened.plan.servers}
    if strange:
        raise click.BadParameter(f"{path}: not in this plan: {', '.join(sorted(strange)[:5])}", param_hint="--observed")
    return {server.name: told[server.name] for server in servers if server.name in told}


def _sweep(opened: Opened, servers: Sequence[Server], login: Login, parallel: int, form: Format) -> dict[str, Told]:
    try:
        import pyinfra  # noqa: F401
    except ImportError:
        raise click.UsageError("reading hosts needs pyinfra: pip install 'gpuyard[fleet]'") from None
    from cluster_model.paths import TEMPLATES
    from cluster_model.transport.session import Target
    from cluster_model.transport.sweep import sweep
    from cluster_model.verify.hosts.compare import read_reply
    from cluster_model.verify.read.collect import find_address

    targets = [Target(server.name, find_address(opened.plan, server)) for server in servers]
    script = (TEMPLATES / "hosts/probe.py").read_text("utf-8")
    with show_progress(len(targets), "read", form) as tell:
        replies = sweep(targets, script, login, parallel, lambda _: tell())
    return {name: read_reply(reply) for name, reply in replies.items()}


def _report(opened: Opened, told: dict[str, Told], findings: dict[str, list[Diagnostic]], form: Format) -> None:
    from cluster_model.verify.hosts.compare import judge

    verdicts = {name: judge(found) for name, found in findings.items()}
    counts = Counter(verdicts.values())
    flat = [finding for found in findings.values() for finding in found]
    if form == "json":
        rows = [
            {"name": name, "verdict": verdicts[name], "reason": host.reason, "seconds": host.seconds,
             "findings": json.loads(format_json(findings[name]))["findings"]}
            for name, host in told.items()
        ]  # fmt: skip
        click.echo(json.dumps({"cluster": opened.plan.name, "verdicts": counts, "hosts": rows}, indent=2, ensure_ascii=False))
    else:
        print_table(
            ("host", "verdict", "gpus", "driver", "what"),
            [
                (
                    name,
                    verdict,
                    str(len(told[name].facts.get("gpus", []))) if told[name].reached else "",
                    next((str(gpu["driver_version"]) for gpu in told[name].facts.get("gpus", [])), "-"),
                    ", ".join(dict.fromkeys(finding.id for finding in findings[name])),
                )
                for name, verdict in verdicts.items()
            ],
        )
        _print_by_host(findings)
        click.echo(", ".join(f"{count:,} {verdict}" for verdict, count in counts.items()) + ".")
        if flat:
            click.echo("gpuyard explain ID tells more.")
    if counts["not reached"]:
        raise click.exceptions.Exit(UNREACHED)
    if any(finding.severity == "error" for finding in flat):
        raise click.exceptions.Exit(ERRORS)


def _print_by_host(findings: dict[str, list[Diagnostic]]) -> None:
    """Print what is to be done, host by host, in the form of `verify cabling`."""
    for name, found in findings.items():
        if found:
            click.echo(f"\n{name}")
        for finding in found:
            click.echo(f"  {finding.id} {finding.severity}: {finding.summary.removeprefix(f'{name}: ').removeprefix(f'{name} ')}")
            for line in list_details(finding):
                click.echo(f"    {line}")
    if any(findings.values()):
        click.echo()
