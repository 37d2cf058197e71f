"""The command: `gpuyard`, its verbs imported one by one as they are asked for.

Exit codes: 0 no errors; 1 errors, differences or failed trials; 2 wrong usage, a missing cluster included; 3 a device, the disk
or gpuyard itself failed; 130 interrupted; 141 whoever read the output went away.
"""

from __future__ import annotations

import os
import sys
from difflib import get_close_matches
from importlib import import_module

import click

from cluster_model import __version__

VERBS = (
    "new",
    "validate",
    "plan",
    "render",
    "diff",
    "show",
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
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or fail naming the one that was probably meant."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            near = get_close_matches(args[0], VERBS, 1)
            ctx.fail(f"there is no verb {args[0]}{f'; did you mean {near[0]}?' if near else '; gpuyard --help lists them'}")
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="gpuyard", message="%(prog)s %(version)s")
def cli() -> None:
    """Describe a GPU cluster once; get its checked design, cabling, switch configs and inventory."""


def main() -> None:
    """Run the command and exit; nothing that a user wrote ends in a traceback."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command with these arguments and return its exit code."""
    try:
        code = cli.main(arguments, prog_name="gpuyard", standalone_mode=False)
        sys.stdout.flush()
    except SystemExit as stop:
        # click puts a wrapper of this name over stdout when it meets a closed pipe
        return _close_pipe() if type(sys.stdout).__name__.endswith("PacifyFlushWrapper") else int(stop.code or 0)
    except BrokenPipeError:
        return _close_pipe()
    except click.Abort:
        click.echo("Interrupted.", err=True)
        return 130
    except click.UsageError as error:
        error.show()
        return 2
    except click.ClickException as error:
        error.show()
        return 3
    except OSError as error:
        click.echo(f"error: {error.filename or 'system'}: {error.strerror or error}", err=True)
        return 3
    except Exception as error:
        return _report_defect(error)
    return code if isinstance(code, int) else 0


def _close_pipe() -> int:
    """Let nothing more be written to whoever went away, and return the code that a shell gives such a program."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 141


def _report_defect(error: Exception) -> int:
    """Say that the fault is ours, in one line; with GPUYARD_DEBUG=1 the traceback follows."""
    kind = f"{type(error).__name__}: {error}".splitlines()[0]
    click.echo(
        f"error: gpuyard {__version__} has a defect ({kind}); please report it with the output under GPUYARD_DEBUG=1", err=True
    )
    if os.environ.get("GPUYARD_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    return 3
