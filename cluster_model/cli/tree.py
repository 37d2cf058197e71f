"""Where a cluster's rendered tree and its state lie, for verbs that work with both."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click

from cluster_model.pipeline import Opened


def find_tree(opened: Opened, folder: Path | None) -> Path:
    """Return the rendered tree of a cluster; a usage error where it is missing or was rendered from another intent."""
    tree = folder if folder is not None else Path("build") / opened.plan.name
    again = _say_again(opened, folder)
    try:
        digest = json.loads((tree / "manifest.json").read_bytes())["digest"]
    except (OSError, ValueError, KeyError, TypeError):
        raise click.UsageError(f"{tree} holds no rendered cluster: {again}") from None
    if digest != opened.plan.digest:
        raise click.UsageError(f"{tree} was rendered from another state of the intent: {again}")
    if not (tree / "boot/boot.json").is_file():
        raise click.UsageError(f"{tree} has no boot/boot.json: {again}")
    return tree


def read_boot_index(opened: Opened, folder: Path | None) -> dict[str, Any]:
    """Return boot/boot.json of the rendered tree; a usage error as find_tree has, and where it cannot be read."""
    file = find_tree(opened, folder) / "boot/boot.json"
    try:
        return dict(json.loads(file.read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        raise click.UsageError(f"{file} cannot be read ({error}): {_say_again(opened, folder)}") from None


def _say_again(opened: Opened, folder: Path | None) -> str:
    return f"gpuyard render {opened.loaded.folder}{f' -o {folder}' if folder is not None else ''}"


def find_state(opened: Opened, folder: Path | None) -> Path:
    """Return the folder of a cluster's journal: /var/lib/gpuyard/NAME for root, else below XDG_STATE_HOME."""
    if folder is not None:
        return folder
    own = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "gpuyard"
    return (Path("/var/lib/gpuyard") if os.geteuid() == 0 else own) / opened.plan.name
