"""`gpuyard new`: a commented cluster.yml to start from."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import click

SCHEMA = Path("docs", "schema", "cluster.schema.json")


class _Count(click.IntRange):
    """A whole number within bounds, called so where another word is given."""

    name = "whole number"


class _Hall(click.ParamType[tuple[int, int]]):
    """Rows of racks and the racks of each, as 4x10."""

    name = "ROWSxRACKS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        found = re.fullmatch(r"([0-9]{1,4})[x*]([0-9]{1,4})", value.replace(" ", "").lower())
        if found is None:
            self.fail(
                f"{value!r} does not say how many rows and how many racks each has; give 4x10 for four rows of ten", param, ctx
            )
        from cluster_model.checks.wording import count_things
        from cluster_model.intent.base import MOST_IDS, MOST_RACKS

        rows, racks = int(found[1]), int(found[2])
        if not 2 <= rows <= MOST_IDS or not 1 <= racks <= MOST_RACKS:
            near = f"{min(max(rows, 2), MOST_IDS)}x{min(max(racks, 1), MOST_RACKS)}"
            self.fail(
                f"{count_things(rows, 'row')} of {count_things(racks, 'rack')}; rows are 2 to {MOST_IDS}, since switches have "
                f"one of their own, of 1 to {MOST_RACKS} racks: the nearest is {near}",
                param,
                ctx,
            )
        return rows, racks


@click.command()
@click.argument("name")
@click.option("--server", default="nvidia/dgx-h100", show_default=True, metavar="MODEL", help="GPU server.")
@click.option("--gpus", type=_Count(1, 400_000), default=32, show_default=True, help="GPUs to build.")
@click.option(
    "--planned",
    type=_Count(1, 400_000),
    help="GPUs in the end, those of --gpus among them.  [default: as many as nearly the same switches take]",
)
@click.option(
    "--technology", type=click.Choice(["roce", "infiniband"]), default="roce", show_default=True, help="Compute network."
)
@click.option("--leaf", metavar="MODEL", help="Compute leaf.  [default: by technology and NIC]")
@click.option("--spine", metavar="MODEL", help="Compute spine.  [default: as the leaf]")
@click.option("--oob-leaf", default="nvidia/sn2201", show_default=True, metavar="MODEL", help="Out-of-band leaf.")
@click.option("--nos", default="sonic", show_default=True, help="Network operating system of the Ethernet switches.")
@click.option(
    "--control", type=_Count(1, 1000), default=3, show_default=True, help="Control servers: they boot and run the others."
)
@click.option("--storage", type=_Count(0, 10_000), default=0, show_default=True, help="Storage servers.")
@click.option(
    "--tenants", type=_Count(0, 250), default=0, show_default=True, help="Tenants, with equal parts of the GPU servers."
)
@click.option("--unit", type=_Count(1, 4096), help="Servers per scalable unit.  [default: by the ports of the leaf]")
@click.option(
    "--fabric-managers",
    type=_Count(0, 2),
    help="Fabric managers of InfiniBand.  [default: 2; none where --unit leaves no leaf port]",
)
@click.option("--per-rack", type=_Count(1, 60), default=4, show_default=True, help="GPU servers per rack.")
@click.option(
    "--rows", type=_Hall(), help="Rows of racks in the hall and racks in each, as 4x10.  [default: as many as are needed]"
)
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("inventory"), show_default=True, help="Folder of clusters."
)
def command(name: str, output: Path, force: bool, **wanted: Any) -> None:
    """Write a cluster.yml to start from, every key explained.

    The file is inventory/NAME/cluster.yml; one that is there is kept unless --force is given. Outside a checkout the JSON
    Schema is written beside it, for editors.

    It validates: where the size asked for has no valid design, the nearest that has one is written, and what was chosen instead,
    and why, is printed in a line each. It leaves room to grow, where that costs few switches or none: --planned says how much.

    Models come from the catalogue; `gpuyard catalogue` lists them. Those of your own are found where the cluster will look for
    them: in inventory/NAME/catalogue/, which may be there before cluster.yml is.
    """
    from cluster_model.catalogue.load import load_catalogue
    from cluster_model.cli.common import ERRORS
    from cluster_model.cli.findings import print_findings
    from cluster_model.cli.start import begin_choices
    from cluster_model.cli.start_fit import fit_start
    from cluster_model.diagnostic import has_errors

    _check_name(name)
    target = output / name / "cluster.yml"
    own = target.parent / "catalogue"
    catalogue, findings = load_catalogue(own)
    if has_errors(findings):
        print_findings(findings, "text")
        raise click.exceptions.Exit(ERRORS)
    first = begin_choices(wanted, catalogue)
    if target.exists() and not force:  # behind what no other name would mend
        raise click.UsageError(f"{target} is there already; --force overwrites it")
    text, notes = fit_start(name, wanted, first, catalogue, own)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(_lead_to_schema(target) + text, "utf-8")
    for note in notes:
        click.echo(note)
    click.echo(f"Wrote {target}. Next: gpuyard validate {target.parent}")


def _check_name(name: str) -> None:
    """Refuse what cannot name a cluster, before it names a folder."""
    from cluster_model.intent.base import NAME, NAME_LENGTH
    from cluster_model.intent.source.fitting import fit_name
    from cluster_model.texts import show_text

    if len(name) <= NAME_LENGTH and re.fullmatch(NAME.removesuffix("$"), name):
        return
    raise click.UsageError(
        f'NAME: name cannot be "{show_text(name)}"; it has lower-case letters and digits, joined by single hyphens, begins '
        f"with a letter, and is at most {NAME_LENGTH} characters long: {fit_name(name) or 'my-pod'} would do"
    )


def _lead_to_schema(target: Path) -> str:
    """Return the line that names the schema to editors: the checkout's where the target lies in one, or else a file beside it."""
    folder = target.parent.absolute()
    schema = next((parent / SCHEMA for parent in folder.parents if (parent / SCHEMA).is_file()), None)
    if schema is None:
        from cluster_model.cli.schema import write_schema

        schema = folder / SCHEMA.name
        schema.write_text(write_schema(), "utf-8")
    return f"# yaml-language-server: $schema={Path(os.path.relpath(schema, folder)).as_posix()}\n"
