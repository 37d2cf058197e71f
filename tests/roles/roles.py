"""What tests of roles share: reading a role's files."""

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
ROLES = sorted(folder.name for folder in (ROOT / "roles").iterdir() if (folder / "meta/main.yml").is_file())


class Loader(yaml.SafeLoader):
    """YAML as Ansible writes it: an unknown tag is its plain value."""


Loader.add_multi_constructor("!", lambda loader, _suffix, node: loader.construct_scalar(node))


def read(path: Path) -> Any:
    """Return what a YAML file holds; an empty mapping where there is no file."""
    return yaml.load(path.read_text(), Loader) or {} if path.is_file() else {}


def read_specs(role: str) -> dict[str, Any]:
    return read(ROOT / "roles" / role / "meta/argument_specs.yml").get("argument_specs", {})


def read_defaults(role: str) -> dict[str, Any]:
    return read(ROOT / "roles" / role / "defaults/main.yml")


def list_task_files(role: str) -> list[Path]:
    folder = ROOT / "roles" / role
    return sorted([*(folder / "tasks").rglob("*.yml"), *(folder / "handlers").rglob("*.yml")])


def walk_tasks(tasks: Any) -> list[dict[str, Any]]:
    """Return all tasks of a file, those in blocks included."""
    found = []
    for task in tasks or []:
        inner = [walk_tasks(task[part]) for part in ("block", "rescue", "always") if part in task]
        found += [*([task] if "block" not in task else []), *(one for part in inner for one in part)]
    return found
