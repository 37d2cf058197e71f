"""What the modules of a package offer, found by their presence: adding one is adding a file."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages
from typing import Any


def collect(package: str, name: str) -> tuple[Any, ...]:
    """Return what each module below a package has under a name, in the order of the modules; those without it are left out.

    Args:
        package: dotted name of a package, whose modules are imported.
        name: a name at the top of a module.
    """
    modules = sorted(found.name for found in walk_packages(import_module(package).__path__, f"{package}."))
    return tuple(getattr(module, name) for module in map(import_module, modules) if hasattr(module, name))
