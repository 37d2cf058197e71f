"""`gpuyard explain`: the manual of a finding."""

from __future__ import annotations

import click

from cluster_model.near import suggest


@click.command()
@click.argument("id_", metavar="[ID]", required=False)
def command(id_: str | None) -> None:
    """Print the manual of a finding, or list ids.

    ID is what stands in a finding behind its severity, such as NET003. Its first letters list a family: NET.
    """
    import cluster_model.checks  # noqa: F401  (importing it registers the design rules)
    from cluster_model.cli.manuals import read_manuals

    manuals = read_manuals()
    wanted = (id_ or "").upper()
    family = [known for known in manuals if known.startswith(wanted)]
    if wanted not in manuals and family:
        for known in family:
            click.echo(f"{known}  {manuals[known][0]}")
        return
    if wanted not in manuals:
        way_out = suggest(wanted, manuals, "gpuyard explain lists them", 3, 0.7)
        raise click.UsageError(f"there is no finding {id_}; {way_out}")
    title, text = manuals[wanted]
    click.echo(f"{wanted}: {title}\n")
    click.echo("\n\n".join(_wrap(part) for part in text.split("\n\n")))


def _wrap(paragraph: str) -> str:
    """Return a paragraph in lines of at most 100 characters; tables, lists and headings keep their lines."""
    rows: list[tuple[str, str]] = []
    for line in paragraph.splitlines():
        text = line.strip()
        indent = line[: len(line) - len(line.lstrip())]
        is_own = not rows or rows[-1][0] != indent or "   " in text or text.startswith(("*", "-")) or rows[-1][1].endswith(":")
        if is_own:
            rows.append((indent, text))
        else:
            rows[-1] = (indent, f"{rows[-1][1]} {text}")
    return "\n".join(click.wrap_text(text, 100, indent, indent) for indent, text in rows)
