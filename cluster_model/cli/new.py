"""`gpuyard new`: a commented cluster.yml to start from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

SCHEMA = Path("docs", "schema", "cluster.schema.json")


@click.command()
@click.argument("name")
@click.option("--server", default="nvidia/dgx-h100", show_default=True, metavar="MODEL", help="GPU server.")
@click.option("--gpus", type=click.IntRange(1, 400_000), default=32, show_default=True, help="GPUs to build.")
@click.option(
    "--technology", type=click.Choice(["roce", "infiniband"]), default="roce", show_default=True, help="Compute network."
)
@click.option("--leaf", metavar="MODEL", help="Compute leaf.  [default: by technology and NIC]")
@click.option("--spine", metavar="MODEL", help="Compute spine.  [default: as the leaf]")
@click.option("--oob-leaf", default="nvidia/sn2201", show_default=True, metavar="MODEL", help="Out-of-band leaf.")
@click.option("--nos", default="sonic", show_default=True, help="Network operating system of the Ethernet switches.")
@click.option("--storage", type=click.IntRange(0, 10_000), default=0, show_default=True, help="Storage servers.")
@click.option(
    "--tenants", type=click.IntRange(0, 250), default=0, show_default=True, help="Tenants, with equal parts of the GPU servers."
)
@click.option("--unit", type=click.IntRange(1, 4096), help="Servers per scalable unit.")
@click.option(
    "--fabric-managers",
    type=click.IntRange(0, 2),
    help="Fabric managers of InfiniBand.  [default: 2; none where --unit leaves no leaf port]",
)
@click.option("--per-rack", type=click.IntRange(1, 60), default=4, show_default=True, help="GPU servers per rack.")
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("inventory"), show_default=True, help="Folder of clusters."
)
def command(name: str, output: Path, force: bool, **wanted: Any) -> None:
    """Write a cluster.yml to start from, every key explained.

    The file is inventory/NAME/cluster.yml; one that is there is kept unless --force is given.

    It validates: where the size asked for has no valid design, the nearest that has one is written, and what was chosen instead,
    and why, is printed in a line each.

    Models come from the catalogue; `gpuyard catalogue` lists them. Those of your own are found where the cluster will look for
    them: in inventory/NAME/catalogue/, which may be there before cluster.yml is.
    """
    from cluster_model.catalogue.load import load_catalogue
    from cluster_model.cli.common import ERRORS
    from cluster_model.cli.findings import print_findings
    from cluster_model.cli.start_fit import fit_start
    from cluster_model.diagnostic import has_errors

    target = output / name / "cluster.yml"
    if target.exists() and not force:
        raise click.UsageError(f"{target} is there already; --force overwrites it")
    own = target.parent / "catalogue"
    catalogue, findings = load_catalogue(own)
    if has_errors(findings):
        print_findings(findings, "text")
        raise click.exceptions.Exit(ERRORS)
    text, notes = fit_start(name, wanted, catalogue, own)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(_find_modeline(target) + text, "utf-8")
    for note in notes:
        click.echo(note)
    click.echo(f"Wrote {target}. Next: gpuyard validate {target.parent}")


def _find_modeline(target: Path) -> str:
    """Return the line that names the schema to editors, where the target lies in a checkout that has it; else nothing."""
    folder = target.parent.absolute()
    for parent in folder.parents:
        if (parent / SCHEMA).is_file():
            return f"# yaml-language-server: $schema={Path(os.path.relpath(parent / SCHEMA, folder)).as_posix()}\n"
    return ""
