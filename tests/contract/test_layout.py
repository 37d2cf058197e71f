"""The house rules that a machine can hold: module sizes, stages, data outside Python."""

import statistics
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "cluster_model").rglob("*.py"))
STAGES = ["intent", "catalogue", "plan", "checks", "render", "transport", "verify", "deploy", "twin", "cli"]


def lines(path):
    return len(path.read_text().splitlines())


def test_no_module_is_over_400_lines():
    """Two modules want out of one that is."""
    assert MODULES
    long = [f"{path.relative_to(ROOT)} has {lines(path)}" for path in MODULES if lines(path) > 400]
    assert not long, "\n".join(long)


def test_a_room_can_be_overlooked():
    """Two rooms want out of one that cannot; cli is flat, with a file per verb."""
    rooms = Counter(path.parent.relative_to(ROOT) for path in MODULES if path.name != "__init__.py")
    assert rooms
    full = [f"{room} has {count} modules" for room, count in rooms.items() if count > 18 and room.name != "cli"]
    assert not full, "\n".join(full)


def test_the_median_module_is_short():
    sizes = [lines(path) for path in MODULES if path.name != "__init__.py"]
    assert statistics.median(sizes) <= 150


def test_every_stage_has_its_room():
    rooms = {path.name for path in (ROOT / "cluster_model").iterdir() if path.is_dir() and not path.name.startswith("__")}
    assert rooms == set(STAGES)


def test_the_lock_covers_every_dependency():
    import re
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = list(project["dependencies"]) + [name for extra in project["optional-dependencies"].values() for name in extra]
    normal = {re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~ ]", name)[0]).lower() for name in wanted}
    locked = {
        re.sub(r"[-_.]+", "-", line.split("==")[0]).lower()
        for line in (ROOT / "requirements.lock").read_text().splitlines()
        if "==" in line
    }
    assert normal - locked == set()
