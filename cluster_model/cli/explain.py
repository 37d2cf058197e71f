"""`gpuyard explain`: the manual of a finding."""

from __future__ import annotations

from difflib import get_close_matches

import click


@click.command()
@click.argument("id_", metavar="[ID]", required=False)
def command(id_: str | None) -> None:
    """Print the manual of a finding, or list all ids.

    ID is what stands in a finding behind its severity, such as NET003.
    """
    import cluster_model.checks  # noqa: F401  (importing it registers the design rules)
    from cluster_model.cli.manuals import read_manuals

    manuals = read_manuals()
    if id_ is None:
        for known, (title, _) in manuals.items():
            click.echo(f"{known}  {title}")
        return
    wanted = id_.upper()
    if wanted not in manuals:
        near = get_close_matches(wanted, manuals, 3, 0.7)
        way_out = f"did you mean {', '.join(near)}?" if near else "gpuyard explain lists them"
        raise click.UsageError(f"there is no finding {id_}; {way_out}")
    title, text = manuals[wanted]
    click.echo(f"{wanted}: {title}\n")
    click.echo("\n\n".join(_wrap(part) for part in text.split("\n\n")))


def _wrap(paragraph: str) -> str:
    """Return a paragraph in lines of at most 100 characters; a line that is short already stays as it is."""
    rows = []
    for line in paragraph.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        rows.append(line if len(line) <= 100 else click.wrap_text(line.strip(), 100, indent, indent))
    return "\n".join(rows)
