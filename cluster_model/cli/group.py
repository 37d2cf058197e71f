"""The group of verbs, imported one by one as they are asked for."""

from __future__ import annotations

from importlib import import_module

import click

from cluster_model import __version__
from cluster_model.cli.interrupt import unwind
from cluster_model.near import suggest

VERBS = (
    "new",
    "validate",
    "plan",
    "render",
    "diff",
    "show",
    "storage",
    "verify",
    "bmc",
    "provision",
    "boot-server",
    "image",
    "catalogue",
    "twin",
    "explain",
    "schema",
)
"""Verbs in the order of help; each is `command` in the module of its name, which imports nothing heavy before it runs."""
ONLY_READ = {"validate", "plan", "diff", "show", "storage", "catalogue", "explain", "schema"}
"""Verbs that begin nothing which Ctrl-C would have to undo."""


class LazyGroup(click.Group):
    """A group whose verbs are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of help."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a verb; None for one that is not known."""
        if cmd_name not in VERBS:
            return None
        module = f"{__package__}.{cmd_name.replace('-', '_')}"
        try:
            command: click.Command = import_module(module).command
        except ModuleNotFoundError as error:
            if error.name == module:
                return None
            raise
        if cmd_name not in ONLY_READ:
            unwind()
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or fail naming the one that was probably meant."""
        if args and args[0] not in VERBS and not args[0].startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"there is no verb {args[0]}; {suggest(args[0], VERBS, 'gpuyard --help lists them')}")
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="gpuyard", message="%(prog)s %(version)s")
def cli() -> None:
    """Describe a GPU cluster once; get its checked design, cabling, switch configs and inventory."""
