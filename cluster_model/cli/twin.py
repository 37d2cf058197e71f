"""`gpuyard twin`: boot the rendered fabric on this machine, and try it."""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import click

from cluster_model.cli.common import ERRORS, cluster_argument, open_cluster, refuse
from cluster_model.cli.findings import wants_colour
from cluster_model.near import suggest
from cluster_model.pipeline import Opened, RefusedError, render

if TYPE_CHECKING:
    from cluster_model.twin.ethernet.scope import Sampling, Scope
    from cluster_model.twin.options import Options
    from cluster_model.twin.report import Report, Row
    from cluster_model.twin.tree import Tree

MACHINE = 3
"""Exit code where this machine lacks what a twin needs."""
Command = TypeVar("Command", bound=Callable[..., Any])


@click.group()
def command() -> None:
    """Boot the rendered fabric from real routing daemons on this machine, and try it.

    Every switch runs FRR and LLDP in a network namespace, from its rendered files; hosts have the plan's addresses and routes.
    InfiniBand is simulated by ibsim, and run by OpenSM from its rendered files. Needs root, and Debian's packages frr and lldpd;
    for InfiniBand opensm, ibsim-utils, libumad2sim0 and infiniband-diags.
    """


def tree_options(verb: Command) -> Command:
    """Add the options that say what is booted; those that say how much of it reach the verb as `sampling`."""

    @wraps(verb)
    def wrapped(leafs: int, hosts: int, spines: int, full: bool, **others: Any) -> Any:
        from cluster_model.twin.ethernet.scope import Sampling
        from cluster_model.twin.machine import count_room

        return verb(sampling=Sampling(leafs=leafs, hosts=hosts, spines=spines, room=count_room(), full=full), **others)

    for option in (
        click.option(
            "--hosts", type=click.IntRange(1), default=4, show_default=True, help="Hosts that each unit has at least in a sample."
        ),
        click.option("--leafs", type=click.IntRange(0), default=2, show_default=True, help="Leafs of other units in a sample."),
        click.option(
            "--spines",
            type=click.IntRange(0),
            default=0,
            help="Spines and cores of each plane and pod in a sample; by default as many as this machine has room for.",
        ),
        click.option("--full", is_flag=True, help="Boot large networks whole, not a sample."),
        click.option("--network", "networks", multiple=True, metavar="NAME", help="Boot only this network (may be repeated)."),
        click.option(
            "-o", "--tree", "folder", type=click.Path(path_type=Path), help="Boot this rendered tree as it lies, not a fresh one."
        ),
    ):
        wrapped = option(wrapped)
    return cast("Command", wrapped)


slowness_option = click.option(
    "--slowness", type=click.FloatRange(1, 100), default=1, show_default=True, envvar="GPUYARD_SLOWNESS", show_envvar=True,
    metavar="TIMES", help="Wait so many times longer for what must come: for a machine that is slow, or has other work.",
)  # fmt: skip


@command.command()
@cluster_argument
@tree_options
@slowness_option
@click.option("--faults/--no-faults", default=True, show_default=True, help="Let parts fail, one after the other.")
@click.option("--mistakes/--no-mistakes", default=True, show_default=True, help="Plant mistakes that must be caught.")
@click.option("--report", "reports", type=click.Path(path_type=Path), metavar="DIR", help="Write twin.json and twin.md there.")
def test(
    cluster: Path,
    folder: Path | None,
    networks: tuple[str, ...],
    sampling: Sampling,
    slowness: float,
    faults: bool,
    mistakes: bool,
    reports: Path | None,
) -> None:
    """Boot a cluster's fabric, try it, break it, mend it, and end it.

    Renders the cluster into a temporary tree, or takes the one that --tree names; CLUSTER may be a rendered tree itself.
    Exits with 1 where a trial failed, with 3 where this machine lacks what it needs.
    """
    from cluster_model.twin.options import Options
    from cluster_model.twin.run import Listener, Run

    options = Options(sampling, networks, faults, mistakes, slowness=slowness)
    with open_tree_of(cluster, folder) as tree:
        _check(tree, options)
        printer = Printer()
        run = Run(tree, options, Listener(printer.print_row, printer.show_progress))
        with _ending_on_signals():
            try:
                report = run.execute()
            finally:
                printer.clear()
    click.echo(report.summarize())
    if reports is not None:
        _write_reports(report, reports)
    if not any(row.kind == "trial" for row in report.rows):
        click.echo("error: nothing of this cluster can be booted on this machine", err=True)
        raise click.exceptions.Exit(MACHINE)
    if report.failed:
        raise click.exceptions.Exit(ERRORS)


class Printer:
    """Prints rows as they come, and below them, on a terminal, what is being done."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._colour = wants_colour(sys.stdout)

    def print_row(self, row: Row) -> None:
        """Print a row of the table."""
        from cluster_model.twin.report import format_row

        self.clear()
        colours = {"failed": "red", "passed": "green", "left out": "yellow"}
        first, *rest = format_row(row)
        word = first[:9]
        click.echo(click.style(word, fg=colours[row.result]) + first[9:] if self._colour else first)
        for line in rest:
            click.echo(line)
        sys.stdout.flush()

    def show_progress(self, text: str) -> None:
        """Show what is being done."""
        if self._is_terminal:
            self.clear()
            click.echo(f"… {text}"[:100], nl=False, err=True)

    def clear(self) -> None:
        """Take the line of progress away."""
        if self._is_terminal:
            click.echo("\r\033[K", nl=False, err=True)


def _write_reports(report: Report, folder: Path) -> None:
    from cluster_model.twin.report import format_json, format_markdown

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "twin.json").write_text(format_json(report), "utf-8")
    (folder / "twin.md").write_text(format_markdown(report), "utf-8")
    click.echo(f"Report: {folder / 'twin.md'}")


def _check(tree: Tree, options: Options) -> None:
    """Stop where a network is not there, or where this machine cannot boot a twin."""
    from cluster_model.twin.machine import list_obstacles

    known = [network.name for network in tree.plan.networks]
    for name in options.networks:
        if name not in known:
            raise click.BadParameter(f"there is no network {name}; there are {', '.join(known)}", param_hint="--network")
    wanted = [network for network in tree.plan.networks if not options.networks or network.name in options.networks]
    kinds = {network.technology == "infiniband" for network in wanted}
    obstacles = list_obstacles(ethernet=False in kinds, infiniband=True in kinds)
    for text in obstacles:
        click.echo(f"error: {text}", err=True)
    if obstacles:
        raise click.exceptions.Exit(MACHINE)


@contextmanager
def open_tree_of(cluster: Path, folder: Path | None) -> Iterator[Tree]:
    """Yield the rendered tree to boot: the one named, or a fresh one that goes away afterwards.

    What cannot be used of a tree, then or later, ends the command with 2; a machine that cannot be started with 3.
    """
    from cluster_model.twin.node import NodeError
    from cluster_model.twin.plan_file import TreeError
    from cluster_model.twin.tree import open_tree

    try:
        if folder is None and (cluster / "plan.json").is_file():
            yield open_tree(cluster)
            return
        opened = open_cluster(cluster)
        with tempfile.TemporaryDirectory(prefix="gpuyard-twin-") as scratch:
            target = folder
            if target is None:
                target = Path(scratch)
                _render(opened, target)
            tree = open_tree(target, opened.catalogue)
            if tree.plan.digest != opened.plan.digest:
                click.echo(f"note: {target} was rendered from another version of {cluster}; it is booted as it lies", err=True)
            yield tree
    except TreeError as error:
        raise click.UsageError(str(error)) from None
    except NodeError as error:
        raise click.ClickException(str(error)) from None


def _render(opened: Opened, target: Path) -> None:
    try:
        files = render(opened, {"plan", "switches", "fabric-manager"})
    except RefusedError as refused:
        refuse(refused.findings, "text")
    for path, content in files.items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_bytes(content)


@contextmanager
def _ending_on_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end a run as Ctrl-C does."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@command.command()
@cluster_argument
@tree_options
@slowness_option
def up(cluster: Path, folder: Path | None, networks: tuple[str, ...], sampling: Sampling, slowness: float) -> None:
    """Boot a cluster's fabric and leave it up, to explore with `twin exec`, until `twin down`."""
    from cluster_model.render.drawings.style import format_count
    from cluster_model.twin.keeper import find_state, start_keeper
    from cluster_model.twin.options import Options
    from cluster_model.twin.run import Listener, Run

    if find_state(cluster) is not None:
        raise click.UsageError(f"the twin of {cluster} is up already; gpuyard twin down {cluster} ends it")
    options = Options(sampling, networks, elsewhere=False, slowness=slowness)
    with open_tree_of(cluster, folder) as tree:
        _check(tree, options)
        printer = Printer()
        run = Run(tree, options, Listener(printer.print_row, printer.show_progress))
        scope = run.choose(management=True)
        for network in scope.subnets:
            click.echo(f"left out: {network}: InfiniBand is tried by gpuyard twin test, and not kept up", err=True)
        if not scope.networks:
            click.echo("error: nothing of this cluster can be booted on this machine", err=True)
            raise click.exceptions.Exit(MACHINE)
        why = start_keeper(tree.plan.name, cluster, lambda say: run.boot_settled(scope, say), printer.show_progress)
        printer.clear()
    if why:
        raise click.ClickException(why)
    click.echo(f"{format_count(len(scope.switches), 'switch')} and {format_count(len(scope.servers), 'host')} are up.")
    first = next(iter(scope.switches))
    click.echo(f"Look around: gpuyard twin exec {cluster} {first} vtysh -c 'show bgp summary'")
    for line in _tell_operator(cluster, scope, len(tree.plan.networks)):
        click.echo(line)
    click.echo(f"End it: gpuyard twin down {cluster}")


def _tell_operator(cluster: Path, scope: Scope, networks: int) -> Iterator[str]:
    """Yield how to verify the twin over SSH, or what that needs."""
    from cluster_model.twin.management import OPERATOR, list_missing

    if missing := list_missing():
        yield f"No SSH into it: {', '.join(missing)} missing; apt install openssh-server openssh-client"
    elif scope.sampled:
        yield "gpuyard verify compares whole networks: start it with --full for that"
    else:
        only = "".join(f" --network {name}" for name in scope.networks) if len(scope.networks) < networks else ""
        yield f"Verify it: gpuyard twin exec {cluster} {OPERATOR} gpuyard verify cabling {cluster}{only}"


@command.command("exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@cluster_argument
@click.argument("machine")
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def execute(cluster: Path, machine: str, words: tuple[str, ...]) -> None:
    """Run a command on a switch or host of a twin that is up; without one, a shell.

    The machine `operator` reaches all others by SSH, with a key of its own, in the current folder.
    """
    import os

    from cluster_model.twin.keeper import State
    from cluster_model.twin.management import HIDDEN, OPERATOR, read_environment

    state: State = _find_up(cluster)
    if machine not in state.machines:
        raise click.UsageError(f"there is no machine {machine}; {suggest(machine, state.machines)}".removesuffix("; "))
    prefix = ["nsenter", "-t", str(state.machines[machine]), "-n", "-m", "-u", "-p"]
    if machine == OPERATOR:
        path = f"{Path(sys.argv[0]).resolve().parent}:{os.environ.get('PATH', os.defpath)}"
        kept = {name: value for name, value in os.environ.items() if name not in HIDDEN}
        in_place = ["sh", "-c", 'cd "$0" && exec "$@"', str(Path.cwd())]
        os.execvpe("nsenter", [*prefix, *in_place, *(words or ("sh",))], {**kept, "PATH": path, **read_environment()})
    os.execvp("nsenter", [*prefix, *(words or ("sh",))])


@command.command()
@cluster_argument
def down(cluster: Path) -> None:
    """End a twin that is up."""
    from cluster_model.twin.keeper import stop_keeper

    state = _find_up(cluster)
    if not stop_keeper(state):
        raise click.ClickException(f"process {state.pid} does not end")
    click.echo(f"The twin of {state.cluster} is down.")


def _find_up(cluster: Path) -> Any:
    from cluster_model.twin.keeper import find_state, list_states

    state = find_state(cluster)
    if state is None:
        names = ", ".join(state.cluster for state in list_states())
        raise click.UsageError(
            f"no twin of {cluster} is up{f'; up are: {names}' if names else f'; start one: gpuyard twin up {cluster}'}"
        )
    return state


@command.command()
@cluster_argument
@click.argument("target", type=click.Path(path_type=Path))
@tree_options
def export(cluster: Path, target: Path, folder: Path | None, networks: tuple[str, ...], sampling: Sampling) -> None:
    """Write a containerlab topology and what its containers read into the folder TARGET, for those who have images."""
    from cluster_model.render.drawings.style import format_count
    from cluster_model.twin.containerlab import export_containerlab
    from cluster_model.twin.ethernet.scope import choose_scope
    from cluster_model.twin.machine import NEEDS

    with open_tree_of(cluster, folder) as tree:
        scope = choose_scope(tree, NEEDS, sampling, networks)
        for path, text in export_containerlab(tree, scope):
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            (target / path).write_text(text, "utf-8")
        for network, why in scope.left_out.items():
            click.echo(f"left out: {network}: {why}", err=True)
        for network in scope.subnets:
            click.echo(f"left out: {network}: InfiniBand, which containerlab has not", err=True)
    click.echo(
        f"{format_count(len(scope.switches), 'switch')}, {format_count(len(scope.servers), 'host')}, "
        f"{format_count(len(scope.links), 'link')}."
    )
    click.echo(f"Start: containerlab deploy -t {target / tree.plan.name}.clab.yml")
