# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory of a gpuyard cluster, straight from its intent's path. Standard library and Ansible only."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from importlib import metadata
from pathlib import Path
from typing import Any, NoReturn

from ansible import constants
from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin
from ansible.utils.display import Display

DOCUMENTATION = r"""
name: gpuyard
short_description: Inventory of a GPU cluster described with gpuyard
description:
  - Takes the path of a cluster's intent, C(inventory/NAME/cluster.yml), and serves the inventory that C(gpuyard render) made
    of it.
  - The rendered inventory is C(build/NAME/inventory/inventory.json), looked for in the working directory and in each folder above
    the intent, or in the folder named by E(GPUYARD_BUILD).
  - An inventory that is missing, or older than the intent, its CSV files, its catalogue or gpuyard itself, is an error.
author: gpuyard maintainers
options:
  build:
    description:
      - Folder that holds the rendered trees, one per cluster, or one rendered tree itself.
      - It cannot be set in the file, which is the intent and holds nothing of Ansible's.
    type: path
    env:
      - name: GPUYARD_BUILD
    ini:
      - section: inventory_gpuyard
        key: build
"""

EXAMPLES = r"""
# ansible.cfg
# [inventory]
# enable_plugins = gpuyard, host_list
#
# gpuyard render inventory/lab
# ansible-inventory -i inventory/lab/cluster.yml --graph
"""

FORMAT = "gpuyard-inventory-1"
INTENTS = ("cluster.yml", "cluster.yaml")
INPUT_BYTES = 64_000_000
"""A larger input counts as missing, as in a render."""
CATALOGUE_FOLDERS = ("device-types", "gpus", "nics")


class InventoryModule(BaseInventoryPlugin):
    """Serve the rendered inventory of an intent."""

    NAME = "gpuyard"

    def verify_file(self, path: str) -> bool:
        """Take every intent, by its name: what is wrong with it is said while parsing."""
        return bool(super().verify_file(path)) and Path(path).name in INTENTS

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Read the rendered inventory of the intent at `path`, and fill in groups, hosts and variables."""
        super().parse(inventory, loader, path, cache)
        self.set_options()
        intent = Path(path).absolute()
        rendered = find_rendered(intent, self.get_option("build"))
        render = f"run: gpuyard render {format_path(intent.parent)}"
        if rendered is None:
            refuse(f"nothing is rendered from {format_path(intent)} yet; {render}")
        try:
            body = json.loads(read_file(rendered))
            about = body["_meta"]["gpuyard"]
            if about["format"] != FORMAT:
                raise ValueError(f"format {about['format']}")
            is_stale = compute_digest(intent, about) != about["digest"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            refuse(f"{format_path(rendered)} cannot be read as an inventory of gpuyard ({error}); {render}")
        if is_stale:
            changed = ", ".join(list_changes(intent, about)) or "the intent"
            refuse(f"{format_path(rendered)} is stale: {changed} changed since it was rendered; {render}")
        fill(inventory, body)


def refuse(message: str) -> NoReturn:
    """Stop with an error.

    Ansible offers a file that one plugin refused to the next one, and its YAML plugin reads any mapping as groups and hosts:
    where that is enabled, an intent would end as a few hosts that do not exist. So the program ends here, with Ansible's code for
    what cannot be parsed.
    """
    if {"yaml", "ansible.builtin.yaml", "ansible.legacy.yaml"} & set(constants.INVENTORY_ENABLED):
        Display().error(message)
        raise SystemExit(4)
    raise AnsibleParserError(message)


def find_rendered(intent: Path, build: str | None = None) -> Path | None:
    """Return the path of the inventory rendered from an intent, or None where there is none."""
    name = read_name(intent)
    if build:
        folders = [Path(build) / name, Path(build)]
    else:
        folders = [folder / "build" / name for folder in dict.fromkeys([Path.cwd(), *intent.parents])]
    for folder in folders:
        file = folder / "inventory" / "inventory.json"
        if file.is_file():
            return file
    return None


def read_name(intent: Path) -> str:
    """Return the cluster's name: the one-line `name:` at the top level, or the name of the folder."""
    try:
        text = read_file(intent, INPUT_BYTES)
    except (OSError, ValueError) as error:
        refuse(f"{format_path(intent)} cannot be read: {error}")
    found = re.search(rb"""^name:[ \t]*["']?([a-z][a-z0-9-]*)""", text, re.MULTILINE)
    return found[1].decode() if found else intent.parent.name


def compute_digest(intent: Path, about: dict[str, Any]) -> str:
    """Return the digest of everything that a render depends on, as gpuyard computes it.

    SHA-256 over one line per input, its name, a tab, and the SHA-256 of its bytes or `-` where it is missing: the version, the
    intent, then all other files sorted by name.
    """
    total = hashlib.sha256(f"gpuyard {find_version(about['version'])}\t\n".encode())
    total.update(f"cluster.yml\t{hash_file(intent, intent.parent)}\n".encode())
    for name in sorted({*about["inputs"], *list_catalogue(intent)} - {"cluster.yml"}):
        total.update(f"{name}\t{hash_file(intent.parent / name, intent.parent)}\n".encode())
    return total.hexdigest()


def list_changes(intent: Path, about: dict[str, Any]) -> list[str]:
    """Return what differs from the render, in words."""
    names = {*about["inputs"], *list_catalogue(intent)} - {"cluster.yml"}
    files = {"cluster.yml": intent, **{name: intent.parent / name for name in names}}
    changed = [name for name, file in sorted(files.items()) if hash_file(file, intent.parent) != about["inputs"].get(name)]
    version = find_version(about["version"])
    return changed + ([f"gpuyard itself ({about['version']} to {version})"] if version != about["version"] else [])


def list_catalogue(intent: Path) -> list[str]:
    """Return the files that the cluster's own catalogue is read from, as names relative to the intent's folder."""
    root = intent.parent / "catalogue"
    found = [*root.glob("media.yaml"), *(file for folder in CATALOGUE_FOLDERS for file in root.glob(f"{folder}/*/*.y*ml"))]
    names = [file.relative_to(root).as_posix() for file in found if file.suffix in {".yaml", ".yml"} and file.is_file()]
    return [f"catalogue/{name}" for name in names if not re.search(r"(^|/)\.", name)]


def hash_file(file: Path, folder: Path) -> str:
    """Return the SHA-256 of a file; `-` where it is missing, no regular file, larger than INPUT_BYTES, or not in the folder."""
    try:
        if not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(folder)):
            return "-"
        return hashlib.sha256(read_file(file, INPUT_BYTES)).hexdigest()
    except (OSError, ValueError):
        return "-"


def read_file(file: Path, most: int | None = None) -> bytes:
    """Return the bytes of a regular file; OSError where it is none, as a FIFO is, ValueError where it has too many."""
    if not stat.S_ISREG(file.stat().st_mode):  # before it is opened: a FIFO would wait
        raise OSError(f"{file.name} is no regular file")
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
        raw = stream.read(-1 if most is None else most + 1)
    if most is not None and len(raw) > most:
        raise ValueError(f"{file.name} has more than {most} bytes")
    return raw


def find_version(default: str) -> str:
    """Return the version of gpuyard: of the checkout that this file lies in, else of the installed package, else `default`."""
    source = Path(__file__).resolve().parents[2] / "cluster_model" / "__init__.py"
    if source.is_file():
        found = re.search(r'^__version__ = "([^"]+)"', source.read_text("utf-8"), re.MULTILINE)
        if found:
            return found[1]
    try:
        return metadata.version("gpuyard")
    except metadata.PackageNotFoundError:
        return default


def format_path(path: Path) -> Path:
    """Return a path as a person would type it: relative to the working directory where it lies below."""
    try:
        return path.relative_to(Path.cwd())
    except ValueError:
        return path


def fill(inventory: Any, body: dict[str, Any]) -> None:
    """Put groups, hosts and variables in place.

    Groups are tied to each other while they are empty, and a host's variables are put in at one stroke: `set_variable` looks up
    the host and checks the name once per variable. The values are data, never templates.
    """
    hostvars = body["_meta"]["hostvars"]
    groups = {name: group for name, group in body.items() if name != "_meta"}
    for name, group in groups.items():
        inventory.add_group(name)
        inventory.groups[name].vars.update(group.get("vars", {}))
    for name, group in groups.items():
        for child in group.get("children", ()):
            inventory.add_child(name, child)
    hosts = {}
    for name, variables in hostvars.items():
        host = hosts[name] = inventory.hosts[inventory.add_host(name)]
        host.vars.update(variables)
    for name, group in groups.items():
        target = inventory.groups[name]
        for host in group.get("hosts", ()):
            target.add_host(hosts[host])
