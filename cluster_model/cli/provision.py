"""`gpuyard provision`: machines from powered off to a login."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cluster_model.cli.common import ERRORS, USAGE, choose_limited, cluster_argument, limit_option, open_cluster
from cluster_model.cli.console import print_table, shorten_names, show_progress
from cluster_model.cli.findings import Format
from cluster_model.cli.tree import find_state, read_boot_index
from cluster_model.pipeline import Opened

if TYPE_CHECKING:
    from cluster_model.deploy.journal import Journal, Node
    from cluster_model.deploy.survey import Consent, Finding, Host

FAILED = 3
"""Exit code where a node failed; main.py has them all."""


@click.command()
@cluster_argument
@limit_option
@click.option("--all", "everything", is_flag=True, help="Every node, where no other word names any.")
@click.option("--apply", is_flag=True, help="Do it; without it, only say what would be done.")
@click.option("--reinstall", multiple=True, metavar="NODE", help="Install this node again, though it may hold data; repeatable.")
@click.option("--begin-again", multiple=True, metavar="NODE", help="Reset and begin it anew, its disks protected; repeatable.")
@click.option("--reset-running", is_flag=True, help="Reset nodes that are on and not in the journal, unless they answer SSH.")
@click.option("--new-journal", is_flag=True, help="Begin the journal of this cluster; its first --apply needs it.")
@click.option("--take-over", is_flag=True, help="Go on with the journal of another boot server, which is off for good.")
@click.option("--batch", type=click.IntRange(1, 512), default=16, show_default=True, help="Nodes that install at once.")
@click.option("--per-rack", type=click.IntRange(1), default=4, show_default=True, help="Nodes of a rack that switch on at once.")
@click.option("--pause", type=click.FloatRange(0), default=2, show_default=True, help="Seconds between these.")
@click.option("--attempts", type=click.IntRange(1, 9), default=2, show_default=True, help="How often a silent node is begun.")
@click.option("--bmc-timeout", type=click.FloatRange(1), default=180, show_default=True, help="Seconds until its BMC answers.")
@click.option("--boot-timeout", type=click.FloatRange(1), default=900, show_default=True, help="Seconds until it asks to boot.")
@click.option("--step-timeout", type=click.FloatRange(1), default=1800, show_default=True, help="Seconds from report to report.")
@click.option("--wait/--no-wait", default=True, show_default=True, help="Stay until nodes answer a login.")
@click.option("--user", default="", help="User to log in as; default: the first of provisioning.admins.")
@click.option(
    "--key", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Private key; default: agent and ~/.ssh."
)
@click.option("--timeout", type=click.FloatRange(0.5, 300), default=20, show_default=True, help="Seconds for a BMC's answer.")
@click.option("--secrets", type=click.Path(dir_okay=False, path_type=Path), help="File of secrets; default: secrets.yml.")
@click.option("--tree", type=click.Path(path_type=Path), help="The rendered tree; default: build/NAME.")
@click.option(
    "--state", type=click.Path(path_type=Path), help="Folder of the journal [env GPUYARD_STATE].", envvar="GPUYARD_STATE"
)
@click.option("--status", is_flag=True, help="Only say how far each node is.")
@click.option("--history", metavar="NODE", help="Only say what happened to a node, and when.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Form of the output."
)
def command(cluster: Path, limits: tuple[str, ...], history: str | None, form: Format, **options: Any) -> None:
    """Install nodes through their BMCs and the boot server, and wait until they answer a login.

    A second run does only what is missing. A node that is on is reset only where the journal says that it was begun in the last
    24 hours, else with --reset-running. One that was begun before that, or that was begun and answers SSH, wants --begin-again,
    which names it and leaves its disks their protection; one that was installed, or answers SSH otherwise, --reinstall, which
    does not. The journal in the state folder holds what happened; gpuyard boot-server writes it too: both have the same folder.
    Exit codes: 0 all reachable, 1 nodes were refused, 3 a node failed (the others went on).
    """
    from cluster_model.deploy.journal import HeldError, Journal

    opened = open_cluster(cluster, form)
    journal = Journal(find_state(opened, options["state"]))
    if history:
        _print_history(journal, history, [server.name for server in opened.plan.servers], form)
        return
    _require_own_cluster(journal, opened)
    if options["take_over"]:
        _take_over(journal, opened)
        return
    index = read_boot_index(opened, options["tree"])
    if not index["hosts"]:
        intent = opened.loaded.source.file
        raise click.UsageError(f"{opened.plan.name} installs no server: say in {intent}, under provisioning, what is installed")
    if options["status"]:
        _print_nodes(journal.nodes(_choose(opened, limits, index)), {}, form)
        return
    named = (*options["reinstall"], *options["begin_again"])
    by_name = bool(named) and not limits and not options["everything"]
    if by_name:
        limits = named
    unknown = set(named) - set(_choose(opened, limits, index, by_name=by_name))
    if unknown:
        hint = "--reinstall or --begin-again"
        raise click.BadParameter(f"not among what is to be installed: {', '.join(sorted(unknown))}", param_hint=hint)
    if both := sorted(set(options["reinstall"]) & set(options["begin_again"])):
        raise click.UsageError(
            f"--begin-again leaves the disks of {', '.join(both)} their protection, --reinstall does not: say one"
        )
    if options["apply"]:
        if not limits and not options["everything"]:
            raise click.UsageError("name the nodes with --limit, or say --all")
        _prepare_journal(journal, opened, begin=options["new_journal"])
    elif options["new_journal"]:
        raise click.UsageError("--new-journal goes with --apply")
    hosts, left_out = _list_hosts(opened, limits, index, options, by_name=by_name)
    if not options["apply"]:
        _print_intent(hosts, journal, left_out, form, options)
        return
    try:
        with journal.hold():
            if options["new_journal"]:
                journal.own(opened.plan.name)
            nodes, refused = _install(hosts, journal, form, options)
    except HeldError:
        others = f"another gpuyard provision installs by {journal.path}, and two would give a machine its orders twice"
        raise click.UsageError(f"{others}: wait until it has ended, or interrupt it; the next run goes on") from None
    _print_nodes(nodes, refused, form)
    if form == "text":
        click.echo(f"What happened, and when: {journal.path}; of one node: gpuyard provision {cluster} --history NODE")
    if any(node.state == "failed" and name not in refused for name, node in nodes.items()):
        raise click.exceptions.Exit(FAILED)
    if refused:
        raise click.exceptions.Exit(ERRORS)


def _require_own_cluster(journal: Journal, opened: Opened) -> None:
    """Refuse the journal of another cluster: its nodes may have the same names."""
    owner = journal.owner
    if owner.cluster not in {"", opened.plan.name}:
        raise click.UsageError(f"{journal.path} is the journal of {owner.cluster}, not of {opened.plan.name}: correct --state")


def _prepare_journal(journal: Journal, opened: Opened, *, begin: bool) -> None:
    """See that the journal is there and this machine's; a usage error says which word is missing."""
    from cluster_model.render.drawings.style import format_count

    owner, known = journal.owner, journal.known()
    if begin:
        if owner.machine or known:
            raise click.UsageError(
                f"{journal.path} has begun already, with {format_count(len(known), 'node')}: leave --new-journal out"
            )
        return
    if not owner.machine and not set(known) & {server.name for server in opened.plan.servers}:
        raise click.UsageError(
            f"no journal of {opened.plan.name} in {journal.path.parent}: correct --state, bring the journal back from the lost "
            "boot server and --take-over, or begin with --new-journal where nothing was installed yet"
        )
    if owner.machine not in {"", journal.machine}:
        raise click.UsageError(
            f"{journal.path} belongs to {owner.host} since {owner.since}: run it there, or --take-over once that is off for good"
        )
    if not owner.machine:  # of a version that did not write it down
        journal.own(opened.plan.name)


def _take_over(journal: Journal, opened: Opened) -> None:
    from cluster_model.deploy.survey import is_under_way

    owner, known = journal.owner, journal.known()
    if not owner.machine:
        raise click.UsageError(f"no journal of {opened.plan.name} in {journal.path.parent}: copy that of the other boot server")
    if owner.machine == journal.machine:
        raise click.UsageError(f"{journal.path} is this machine's already, since {owner.since}")
    journal.own(opened.plan.name)
    nodes = "node" if len(known) == 1 else "nodes"
    under_way = sum(is_under_way(node) for node in journal.nodes(known).values())
    click.echo(f"{journal.path} is this machine's now: {len(known):,} {nodes}, {under_way:,} of them being installed")
    click.echo(f"{owner.host} must not serve again; with its old journal it would, so remove that before it is switched on")


def _make_consent(options: Mapping[str, Any]) -> Consent:
    from cluster_model.deploy.survey import Consent

    return Consent(frozenset(options["reinstall"]), frozenset(options["begin_again"]), options["reset_running"])


def _install(
    hosts: Sequence[Host], journal: Journal, form: Format, options: Mapping[str, Any]
) -> tuple[dict[str, Node], dict[str, str]]:
    """Install hosts; return how far each came, and those that were refused with the reason."""
    from cluster_model.deploy.provision import Deadlines, Inrush, Installation, SshProber

    probe = SshProber(options["user"], options["key"], journal.path.parent / "known_hosts")
    with _live(journal.nodes([host.name for host in hosts]), form) as progress:
        work = Installation(
            hosts,
            journal,
            probe,
            options["batch"],
            Inrush(options["per_rack"], options["pause"]),
            Deadlines(bmc_s=options["bmc_timeout"], boot_s=options["boot_timeout"], report_s=options["step_timeout"]),
            options["attempts"],
            options["wait"],
            _make_consent(options),
            progress,
        )
        return work.run(), work.refused


def _choose(opened: Opened, limits: Sequence[str], index: Mapping[str, Any], *, by_name: bool = False) -> list[str]:
    """Return the names of what the boot server installs, of those that are meant."""
    hint = "--reinstall or --begin-again" if by_name else "--limit"
    servers = choose_limited(opened.plan, limits, by_name=by_name, hint=hint)
    return [server.name for server in servers if server.name in index["hosts"] and server.name != index["server"]["name"]]


def _list_hosts(
    opened: Opened, limits: Sequence[str], index: Mapping[str, Any], options: dict[str, Any], *, by_name: bool
) -> tuple[list[Host], list[str]]:
    """Return what is to be installed, and the servers that the boot server cannot install; exits where words mean nothing."""
    from cluster_model.cli.bmc import open_doors
    from cluster_model.deploy.survey import Host

    wanted: dict[str, dict[str, Any]] = index["hosts"]
    retries = 2 if options["apply"] else 0
    doors = open_doors(
        opened,
        "text",
        limits=limits,
        timeout=options["timeout"],
        retries=retries,
        secrets=options["secrets"],
        by_name=by_name,
    )
    own = index["server"]["name"]
    domain = opened.plan.site.domain
    hosts = [
        Host(door.target.name, host["address"], f"{door.target.name}.{domain}", host["mac"], host["loader"] == "http", door)
        for door in doors
        if (host := wanted.get(door.target.name)) and door.target.name != own
    ]
    names = {host.name for host in hosts}
    accounts = opened.plan.provisioning.accounts
    options["user"] = options["user"] or (accounts[0].name if accounts else "root")
    return hosts, [door.target.name for door in doors if door.target.name not in names]


def _print_intent(
    hosts: Sequence[Host], journal: Journal, left_out: Sequence[str], form: Format, options: Mapping[str, Any]
) -> None:
    """Say what each machine is at and what would be done to it; exits as --apply would."""
    from cluster_model.deploy.survey import Survey

    with show_progress(len(hosts), "asked", form) as tell:
        found = Survey(hosts, journal, _make_consent(options), progress=tell).run()
    acts = {act: [finding for finding in found if finding.act == act] for act in ("install", *_WORDS)}
    if form == "json":
        would = {act: [finding.name for finding in acts[act]] for act in acts}
        would |= {"overwrite": sorted(options["reinstall"]), "left_out": list(left_out)}
        click.echo(json.dumps({"would": would, "nodes": [asdict(finding) for finding in found]}, indent=2, ensure_ascii=False))
    else:
        rows = [(f.name, f.power or "?", _name_order(f, options), f.reason) for f in found]
        print_table(("node", "power", "would", ""), rows)
        names = shorten_names([finding.name for finding in acts["install"]])
        words = [f"{len(acts[act]):,} {word}" for act, word in _WORDS.items() if acts[act]]
        click.echo(f"would install {len(acts['install']):,} of {len(hosts):,} nodes, {options['batch']} at a time: {names}")
        if words:
            click.echo(f"of the others {', '.join(words)}")
        if options["reinstall"]:
            click.echo(f"would overwrite what is on {', '.join(sorted(options['reinstall']))}")
        if left_out:
            click.echo(f"not installed over the network: {', '.join(left_out[:8])}{' …' if len(left_out) > 8 else ''}")
        if not journal.owner.machine and not journal.known():
            click.echo(f"no journal in {journal.path.parent}: the first --apply wants --new-journal")
        click.echo("--apply does it")
    if acts["fail"] or acts["unread"]:
        raise click.exceptions.Exit(FAILED)
    if acts["refuse"]:
        raise click.exceptions.Exit(ERRORS)


_WORDS = {
    "wait": "are being installed",
    "nothing": "are installed",
    "refuse": "would be refused",
    "fail": "would fail",
    "unread": "have a BMC that was not read",
}


def _name_order(finding: Finding, options: Mapping[str, Any]) -> str:
    if finding.act != "install":
        return {"unread": "ask again"}.get(finding.act, finding.act)
    again = "overwrite" if finding.name in options["reinstall"] else "install"
    return f"switch on, {again}" if finding.power == "off" else f"reset, {again}"


def _print_nodes(nodes: Mapping[str, Node], refused: Mapping[str, str], form: Format) -> None:
    from cluster_model.deploy.provision import count_states

    states = count_states([node for name, node in nodes.items() if name not in refused])
    counts: dict[str, int] = {str(state): count for state, count in states.items()}
    counts |= {"refused": len(refused)} if refused else {}
    if form == "json":
        rows = [asdict(node) | {"token": bool(node.token), "refused": refused.get(node.name, "")} for node in nodes.values()]
        click.echo(json.dumps({"nodes": rows, "states": counts}, indent=2, ensure_ascii=False))
        return
    cells = [
        (n.name, "refused", "", "", refused[n.name]) if n.name in refused else (n.name, n.state, n.since, n.step, n.reason)
        for n in nodes.values()
    ]
    print_table(("node", "state", "since", "step", ""), cells)
    click.echo(", ".join(f"{count:,} {state}" for state, count in counts.items()) + ".")


def _print_history(journal: Journal, name: str, planned: Sequence[str], form: Format) -> None:
    found = False
    for event in journal.events(name):
        found = True
        more = {key: value for key, value in event.items() if key not in {"at", "node", "event", "state", "sha256", "made"}}
        if form == "json":
            click.echo(json.dumps(event, ensure_ascii=False))
        else:
            words = " ".join(f"{key}={value}" for key, value in more.items() if value not in ("", None, {}))
            click.echo(f"{event['at']}  {event.get('state', '') or '-':<10}  {event['event']:<9}  {words}".rstrip())
    if not found:
        from cluster_model.near import suggest

        why = "" if name in planned else f", and no server has that name; {suggest(name, planned)}".removesuffix("; ")
        click.echo(f"the journal {journal.path} has nothing about {name}{why}", err=True)
        raise click.exceptions.Exit(USAGE)


@contextmanager
def _live(nodes: Mapping[str, Node], form: Format) -> Iterator[Callable[[Node], None]]:
    """Show a live table of what is under way on a terminal, and a line for each change of state elsewhere."""
    if form != "text":
        yield lambda node: None
        return
    if not sys.stderr.isatty():
        said: dict[str, str] = {}

        def tell(node: Node) -> None:
            line = " ".join(filter(None, (node.name, node.state, node.step, node.reason)))
            if said.get(node.name) != line:
                said[node.name] = line
                click.echo(line, err=True)

        yield tell
        return
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

    from cluster_model.deploy.provision import count_states

    current = dict(nodes)

    def draw() -> Table:
        table = Table(title=", ".join(f"{count:,} {state}" for state, count in count_states(list(current.values())).items()))
        for head in ("node", "state", "step", "since", "reason"):
            table.add_column(head)
        busy = [node for node in current.values() if node.state not in {"planned", "reachable"}]
        for node in busy[:40]:
            # As they are: a reason may hold brackets, which rich would take for markup.
            table.add_row(*map(Text, (node.name, node.state, node.step, node.since, node.reason)))
        return table

    with Live(draw(), console=Console(stderr=True), refresh_per_second=2) as live:

        def tell(node: Node) -> None:
            current[node.name] = node
            live.update(draw())

        yield tell
