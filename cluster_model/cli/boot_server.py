"""`gpuyard boot-server`: answers machines that boot over the network."""

from __future__ import annotations

import signal
from ipaddress import ip_address
from pathlib import Path
from types import FrameType

import click

from cluster_model.cli.common import ERRORS, cluster_argument, open_cluster
from cluster_model.cli.findings import print_findings
from cluster_model.cli.tree import find_state, find_tree

_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@cluster_argument
@click.option("--listen", metavar="ADDRESS[:PORT]", help="Where to listen; default: the boot server's planned address, port 80.")
@click.option("--tree", type=_FOLDER, help="The rendered tree; default: build/NAME.")
@click.option("--state", type=_FOLDER, envvar="GPUYARD_STATE", help="Folder of the journal [env GPUYARD_STATE].")
@click.option("--images", type=_FOLDER, default=Path("/srv/gpuyard/images"), show_default=True, help="A folder for each image.")
@click.option("--deploy", type=_FOLDER, default=Path("/srv/gpuyard/deploy"), show_default=True, help="vmlinuz and initrd.img.")
@click.option("--loaders", type=_FOLDER, multiple=True, help="Folder with iPXE; default: where Debian's package ipxe puts it.")
@click.option("--per-address", type=click.IntRange(1), help="Connections of one address at once, as of a proxy; default: 32.")
@click.option("--secrets", type=click.Path(dir_okay=False, path_type=Path), help="File of secrets; default: secrets.yml.")
def command(
    cluster: Path,
    listen: str | None,
    tree: Path | None,
    state: Path | None,
    images: Path,
    deploy: Path,
    loaders: tuple[Path, ...],
    per_address: int | None,
    secrets: Path | None,
) -> None:
    """Tell machines what to boot, hand out what they install, and take their reports, until it is stopped.

    Only nodes that `gpuyard provision` has begun are offered an installation; the journal in the state folder says which. It runs
    where DHCP sends machines to: on the boot server of the plan.
    """
    from cluster_model.deploy.boot_files import BootFiles
    from cluster_model.deploy.boot_fill import NotReadyError
    from cluster_model.deploy.boot_gate import CONNECTIONS, PER_ADDRESS, Gate, fit_connections
    from cluster_model.deploy.boot_http import BootServer, limit_stacks
    from cluster_model.deploy.boot_server import BootDesk
    from cluster_model.deploy.journal import Journal
    from cluster_model.transport.secrets import open_secrets

    opened = open_cluster(cluster)
    found, findings = open_secrets(opened.loaded.folder, secrets)
    if findings:
        print_findings(findings, "text")
        raise click.exceptions.Exit(ERRORS)
    places = loaders or (Path("/usr/lib/ipxe"),)
    files = BootFiles(find_tree(opened, tree), images, deploy, places, found)
    try:
        address, port = _read_address(listen or str(files.look().index["server"]["address"]))
    except NotReadyError as error:
        raise click.UsageError(str(error)) from None
    journal = Journal(find_state(opened, state))
    owner = journal.owner
    if owner.cluster not in {"", opened.plan.name} or owner.machine not in {"", journal.machine}:
        whose = f"{journal.path} is the journal of {owner.cluster}, and belongs to {owner.host} since {owner.since}"
        raise click.UsageError(f"{whose}: correct --state, or take it over with gpuyard provision --take-over")
    desk, connections = BootDesk(files, journal), fit_connections()
    limit_stacks()
    try:
        server = BootServer(address, port, desk, Gate(desk.is_planned, connections, per_address or PER_ADDRESS))
    except OSError as error:
        way = "it runs on the machine that has this address and no other web server; --listen names another address"
        raise click.ClickException(f"cannot listen on {address}:{port}: {error.strerror}; {way}") from None

    def stop(*_: int | FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    click.echo(f"listening on {address}:{port}; journal {journal.path}", err=True)
    if connections < CONNECTIONS:
        click.echo(f"note: the limit of open files allows {connections} connections at once, not {CONNECTIONS}", err=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()


def _read_address(text: str) -> tuple[str, int]:
    address, _, port = text.partition(":")
    try:
        ip_address(address)
        number = int(port or 80)
        if not 0 <= number < 65536:
            raise ValueError
    except ValueError:
        raise click.BadParameter(f"{text} is no address such as 10.76.1.130 or 10.76.1.130:8080", param_hint="--listen") from None
    return address, number
