"""Switch configurations: one folder in templates/switch/ per network OS, rendered for every switch of the plan.

A vendor is its folder alone: `main.j2` says which files a switch gets. docs/add-a-switch-vendor.md lists what it can use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from cluster_model.catalogue.load import Catalogue
from cluster_model.paths import TEMPLATES
from cluster_model.plan.model import Plan
from cluster_model.render.switch.context import describe_switch
from cluster_model.render.switch.environment import SwitchTemplateError, load_main, render_files
from cluster_model.render.switch.scene import Scene

__all__ = ["SwitchTemplateError", "count_config_lines", "has_templates", "render_switches"]

FOLDER = TEMPLATES / "switch"


def has_templates(nos: str, folder: Path = FOLDER) -> bool:
    """Return whether switches of a network OS are rendered: whether its folder has a main.j2."""
    return (folder / nos / "main.j2").is_file()


def render_switches(plan: Plan, catalogue: Catalogue, folder: Path = FOLDER) -> Iterator[tuple[str, str]]:
    """Yield (relative path, text) of every file of every switch, in the plan's order.

    Args:
        plan: the plan; switches whose network OS has no main.j2 are left out.
        catalogue: hardware facts (SONiC's names of a switch, the platform's features).
        folder: where the vendors' folders lie.

    Returns:
        Paths like `switches/compute-leaf-u01-01/frr.conf`, in the order in which main.j2 names them.

    Raises:
        SwitchTemplateError: a template is broken; its `finding` is RND001 with the template's file and line.
    """
    scene = Scene(plan, catalogue)
    for switch in plan.switches:
        main = load_main(folder, switch.nos)
        if main is not None:
            for name, text in render_files(main, folder, describe_switch(scene, switch)):
                yield f"switches/{switch.name}/{name}", text


def count_config_lines(before: tuple[Plan, Catalogue], after: tuple[Plan, Catalogue]) -> dict[str, tuple[int, int]]:
    """Return lines (added, removed) by path below `switches/`, for files of switches that stand in both plans and differ.

    Lines are counted as a bag: a line that only moves is no change.

    Raises:
        SwitchTemplateError: a template is broken.
    """
    old, new = (dict(render_switches(plan, catalogue)) for plan, catalogue in (before, after))
    counts: dict[str, tuple[int, int]] = {}
    for path, text in new.items():
        if path in old and old[path] != text:
            was, now = Counter(old[path].splitlines()), Counter(text.splitlines())
            counts[path.removeprefix("switches/")] = ((now - was).total(), (was - now).total())
    return counts
