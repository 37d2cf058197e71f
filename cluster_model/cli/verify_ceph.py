"""`gpuyard verify ceph`: a Ceph that runs, against the plan."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cluster_model.cli.common import ERRORS, EXISTING, UNREACHED, cluster_argument, host_login_options, open_cluster
from cluster_model.cli.findings import Format, count_findings, format_json, list_details
from cluster_model.pipeline import Opened, verify_ceph
from cluster_model.transport.session import Login

if TYPE_CHECKING:
    from cluster_model.verify.ceph.ask import Asked
    from cluster_model.verify.ceph.compare import Verified


@click.command("ceph")
@cluster_argument
@host_login_options
@click.option("--observed", type=EXISTING, help="Compare this file, written by --save, instead of asking a host.")
@click.option("--save", type=click.Path(path_type=Path), help="Write what was answered into this file, as JSON.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Form of the output."
)
def command(
    cluster: Path,
    user: str,
    key: Path | None,
    ssh_config: Path | None,
    trust_new_keys: bool,
    timeout: float,
    observed: Path | None,
    save: Path | None,
    form: Format,
) -> None:
    """Compare a running Ceph with the plan: monitors, OSDs, CRUSH, pools, options, users, fill, clocks. Only reads.

    One host with a monitor is asked, as root or by sudo without a password; no key and no password leaves it.
    """
    from cluster_model.verify.ceph.ask import dump_asked

    opened = open_cluster(cluster, form)
    if not opened.plan.ceph.hosts:
        raise click.UsageError(f"{opened.plan.name} has no Ceph: add ceph: with its hosts and pools")
    login = Login(user, key, ssh_config=ssh_config, answer_s=timeout, trust_new=trust_new_keys)
    asked = _load(observed) if observed else _ask(opened, login)
    try:
        found = verify_ceph(opened, asked)
    except ValueError as error:
        if observed:
            raise click.BadParameter(f"{observed}: {error}", param_hint="--observed") from None
        raise click.ClickException(f"{asked.host} answers in a form that is not known: {error}") from None
    if save:
        from cluster_model.paths import replace_file

        replace_file(save, dump_asked(asked).encode())
    _report(opened, asked, found, form)


def _load(path: Path) -> Asked:
    from cluster_model.verify.ceph.ask import load_asked

    try:
        return load_asked(path.read_text("utf-8"))
    except (ValueError, OSError) as error:
        raise click.BadParameter(f"{path}: {error}", param_hint="--observed") from None


def _ask(opened: Opened, login: Login) -> Asked:
    from cluster_model.transport.host import open_host
    from cluster_model.verify.ceph.ask import ask_ceph

    return ask_ceph(opened.plan, login, open_host)


def _report(opened: Opened, asked: Asked, found: Verified, form: Format) -> None:
    ceph, findings = opened.plan.ceph, found.findings
    if form == "json":
        counts = {
            "host": asked.host or None,
            "not_reached": dict(asked.reasons),
            "version": found.version or None,
            "monitors": {"planned": len(ceph.monitors), "in_quorum": found.monitors if found.is_ours else None},
            "osds": {"planned": ceph.osds, "up": found.osds if found.is_ours else None},
            "fill": _round(next(iter(found.fills.values()))) if len(found.fills) == 1 else None,
            "fills": {name: _round(fill) for name, fill in found.fills.items()},
        }
        document = {"cluster": opened.plan.name, **counts, **json.loads(format_json(findings))}
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        for line in _describe(opened, asked, found):
            click.echo(line)
        for finding in findings:
            click.echo(f"\n{finding.id} {finding.severity}: {finding.summary}")
            for line in list_details(finding):
                click.echo(f"  {line}")
        click.echo(f"\n{count_findings(findings)}{' gpuyard explain ID tells more.' if findings else ''}")
    if not asked.host:
        raise click.exceptions.Exit(UNREACHED)
    if any(finding.severity == "error" for finding in findings):
        raise click.exceptions.Exit(ERRORS)


def _round(fill: float | None) -> float | None:
    return None if fill is None else round(fill, 4)


def _describe(opened: Opened, asked: Asked, found: Verified) -> Iterator[str]:
    """Yield who answered for what, and who did not."""
    from cluster_model.plan.model.ceph import cut_fill

    ceph, name = opened.plan.ceph, opened.plan.name
    if asked.host and not found.is_ours:
        yield f"{name}: {asked.host} answered for another cluster"
    elif asked.host:
        told = [(tier, found.fills[tier.device_class]) for tier in ceph.tiers]
        fill = "".join(
            f"; {f'{tier.device_class} ' if len(told) > 1 else ''}filled to {has:.3f}, waterline {cut_fill(tier.waterline):g}"
            for tier, has in told
            if has is not None
        )
        yield (
            f"{name}: {asked.host} answered; Ceph {found.version}; {found.monitors} of {len(ceph.monitors)} monitors in the "
            f"quorum; {found.osds:,} of {ceph.osds:,} OSDs up{fill}"
        )
    yield from (f"{host} did not answer: {reason}" for host, reason in asked.reasons.items() if asked.host)
