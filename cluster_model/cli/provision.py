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

from cluster_model.cli.common import USAGE, Opened, cluster_argument, open_cluster
from cluster_model.cli.console import print_table, shorten_names
from cluster_model.cli.findings import Format
from cluster_model.cli.tree import find_state, read_boot_index

if TYPE_CHECKING:
    from cluster_model.deploy.journal import Journal, Node
    from cluster_model.deploy.provision import Host

FAILED = 3
"""Exit code where a node failed; main.py has them all."""


@click.command()
@cluster_argument
@click.option("--limit", "limits", multiple=True, metavar="WORD", help="Name, pattern, group, rack or unit-N; repeatable.")
@click.option("--apply", is_flag=True, help="Do it; without it, only say what would be done.")
@click.option("--reinstall", multiple=True, metavar="NODE", help="Install this node again, though it may hold data; repeatable.")
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

    A second run does only what is missing. A node that was installed is left alone but for --reinstall, which names it. The
    journal in the state folder holds what happened; gpuyard boot-server writes it too, so both have the same folder.
    Exit codes: 0 all reachable, 3 a node failed (the others went on).
    """
    from cluster_model.deploy.journal import Journal

    opened = open_cluster(cluster, form)
    journal = Journal(find_state(opened, options["state"]))
    if history:
        _print_history(journal, history, [server.name for server in opened.plan.servers], form)
        return
    index = read_boot_index(opened, options["tree"])
    if not index["hosts"]:
        intent = opened.loaded.source.file
        raise click.UsageError(f"{opened.plan.name} installs no server: say in {intent}, under provisioning, what is installed")
    if options["status"]:
        _print_nodes(journal.nodes(_choose(opened, limits, index)), form)
        return
    hosts, left_out = _list_hosts(opened, limits, index, options)
    nodes = journal.nodes([host.name for host in hosts])
    unknown = set(options["reinstall"]) - nodes.keys()
    if unknown:
        raise click.BadParameter(f"not among what is to be installed: {', '.join(sorted(unknown))}", param_hint="--reinstall")
    if not options["apply"]:
        _print_intent(hosts, nodes, left_out, form, options)
        return
    nodes = _install(hosts, journal, form, options)
    _print_nodes(nodes, form)
    if form == "text":
        click.echo(f"What happened, and when: {journal.path}; of one node: gpuyard provision {cluster} --history NODE")
    if any(node.state == "failed" for node in nodes.values()):
        raise click.exceptions.Exit(FAILED)


def _install(hosts: Sequence[Host], journal: Journal, form: Format, options: Mapping[str, Any]) -> dict[str, Node]:
    from cluster_model.deploy.provision import Deadlines, Inrush, Installation, SshProber

    probe = SshProber(options["user"], options["key"], journal.path.parent / "known_hosts")
    with _live(journal.nodes([host.name for host in hosts]), form) as progress:
        return Installation(
            hosts,
            journal,
            probe,
            options["batch"],
            Inrush(options["per_rack"], options["pause"]),
            Deadlines(bmc_s=options["bmc_timeout"], boot_s=options["boot_timeout"], report_s=options["step_timeout"]),
            options["attempts"],
            options["wait"],
            frozenset(options["reinstall"]),
            progress,
        ).run()


def _choose(opened: Opened, limits: Sequence[str], index: Mapping[str, Any]) -> list[str]:
    """Return the names of what the boot server installs, of those that are meant."""
    from cluster_model.transport.bmcs import choose_servers

    servers, unknown = choose_servers(opened.plan, limits)
    if unknown:
        raise click.BadParameter(f"no server is meant by {', '.join(unknown)}", param_hint="--limit")
    return [server.name for server in servers if server.name in index["hosts"] and server.name != index["server"]["name"]]


def _list_hosts(
    opened: Opened, limits: Sequence[str], index: Mapping[str, Any], options: dict[str, Any]
) -> tuple[list[Host], list[str]]:
    """Return what is to be installed, and the servers that the boot server cannot install; exits where words mean nothing."""
    from cluster_model.cli.bmc import open_doors
    from cluster_model.deploy.provision import Host

    wanted: dict[str, dict[str, Any]] = index["hosts"]
    doors = open_doors(opened, "text", limits=limits, timeout=options["timeout"], retries=2, secrets=options["secrets"])
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
    hosts: Sequence[Host], nodes: Mapping[str, Node], left_out: Sequence[str], form: Format, options: Mapping[str, Any]
) -> None:
    """Say what would be done."""
    again = set(options["reinstall"])
    fresh = [host for host in hosts if host.name in again or not nodes[host.name].installed]
    nameless = [host.name for host in fresh if not host.mac]
    if form == "json":
        would = {
            "install": [host.name for host in fresh],
            "overwrite": sorted(again),
            "without_mac": nameless,
            "left_out": left_out,
        }
        click.echo(json.dumps({"would": would}, indent=2))
        return
    names = shorten_names([host.name for host in fresh])
    click.echo(f"would install {len(fresh):,} of {len(hosts):,} nodes, {options['batch']} at a time: {names}")
    if again:
        click.echo(f"would overwrite what is on {', '.join(sorted(again))}")
    if nameless:
        click.echo(f"without a MAC address, so they would fail: {', '.join(nameless[:8])}{' …' if len(nameless) > 8 else ''}")
    if left_out:
        click.echo(f"not installed over the network: {', '.join(left_out[:8])}{' …' if len(left_out) > 8 else ''}")
    click.echo("--apply does it")


def _print_nodes(nodes: Mapping[str, Node], form: Format) -> None:
    from cluster_model.deploy.provision import count_states

    counts = count_states(nodes)
    if form == "json":
        rows = [asdict(node) | {"token": bool(node.token)} for node in nodes.values()]
        click.echo(json.dumps({"nodes": rows, "states": counts}, indent=2, ensure_ascii=False))
        return
    print_table(("node", "state", "since", "step", ""), [(n.name, n.state, n.since, n.step, n.reason) for n in nodes.values()])
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
        from cluster_model.checks.wording import suggest

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

    from cluster_model.deploy.provision import count_states

    current = dict(nodes)

    def draw() -> Table:
        table = Table(title=", ".join(f"{count:,} {state}" for state, count in count_states(list(current.values())).items()))
        for head in ("node", "state", "step", "since", "reason"):
            table.add_column(head)
        busy = [node for node in current.values() if node.state not in {"planned", "reachable"}]
        for node in busy[:40]:
            table.add_row(node.name, node.state, node.step, node.since, node.reason)
        return table

    with Live(draw(), console=Console(stderr=True), refresh_per_second=2) as live:

        def tell(node: Node) -> None:
            current[node.name] = node
            live.update(draw())

        yield tell
