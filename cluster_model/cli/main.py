"""The command: `gpuyard`, its verbs imported one by one as they are asked for.

Exit codes: 0 no errors; 1 errors, differences or failed trials; 2 wrong usage, a missing cluster included; 3 a device, the disk
or gpuyard itself failed; 130 interrupted; 141 whoever read the output went away.
"""

from __future__ import annotations

import os
import sys

from cluster_model import __version__
from cluster_model.cli.interrupt import INTERRUPTED, ignore_from_now, leave_at_once


def main() -> None:
    """Run the command and exit; nothing that a user wrote ends in a traceback, and neither does Ctrl-C."""
    leave_at_once()
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # between the end of a verb and the next line
        os.write(2, b"Interrupted.\n")
        code = INTERRUPTED
    ignore_from_now()
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run the command with these arguments and return its exit code."""
    import click

    from cluster_model.cli.group import cli

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
        return INTERRUPTED
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
    import click

    kind = f"{type(error).__name__}: {error}".splitlines()[0]
    click.echo(
        f"error: gpuyard {__version__} has a defect ({kind}); please report it with the output under GPUYARD_DEBUG=1", err=True
    )
    if os.environ.get("GPUYARD_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    return 3
