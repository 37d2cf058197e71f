"""`gpuyard schema`: the JSON Schema of an intent, for editors."""

from __future__ import annotations

import json
from functools import cache

import click


@click.command()
@click.option("--markdown", is_flag=True, help="Print the manual of every key instead: docs/intent.md.")
def command(markdown: bool) -> None:
    """Print the JSON Schema of cluster.yml, for editors.

    docs/schema/cluster.schema.json is this output. The first line of an intent names it to editors that speak YAML:
    `# yaml-language-server: $schema=PATH`.
    """
    if markdown:
        from cluster_model.intent.reference import write_reference

        click.echo(write_reference(), nl=False)
        return
    click.echo(write_schema(), nl=False)


@cache
def write_schema() -> str:
    """Return the JSON Schema as text: docs/schema/cluster.schema.json."""
    from cluster_model.intent.model.json_schema import build_schema

    return json.dumps(build_schema(), indent=2, ensure_ascii=False) + "\n"
