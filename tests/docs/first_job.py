"""The cluster of docs/first-job.md, made as the page has its reader make it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from cluster_model.pipeline import Opened
from tests.docs.blocks import split_commands
from tests.planned import INVENTORY, open_folder

ROOT = INVENTORY.parent
PAGE = ROOT / "docs/first-job.md"
CONSOLE = re.compile(r"```console\n(.*?)```\n", re.DOTALL)


def list_commands() -> list[str]:
    """Return the commands of the page in its order, each in one line."""
    blocks = CONSOLE.findall(PAGE.read_text("utf-8"))
    return [command.replace("\\\n", "") for block in blocks for command, _ in split_commands(block)]


def open_cluster(folder: Path) -> Opened:
    """Return the cluster and its plan, with its inventory below a folder."""
    shutil.copytree(INVENTORY / "superpod-roce", folder / "inventory/superpod-roce")
    changes = [command for command in list_commands() if command.startswith(("cp ", "sed -i -e", "echo "))]
    subprocess.run(["sh", "-ec", "\n".join(changes)], cwd=folder, check=True)
    return open_folder(folder / "inventory/first")
