"""YAML blocks of a page, which a reader keeps as files: each begins with a comment that is its file's name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

BLOCK = re.compile(r"```yaml\n# (?P<name>[a-z0-9-]+\.yaml)\n(?P<text>.*?)```\n", re.DOTALL)


def read_manifests(page: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the objects of each file by its name."""
    return {block["name"]: list(yaml.safe_load_all(block["text"])) for block in BLOCK.finditer(page.read_text("utf-8"))}
