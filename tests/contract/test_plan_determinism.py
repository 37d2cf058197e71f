"""A plan depends on its intent alone: not on hash seeds, not on what was planned before, and it cannot be changed."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.planned import open_example, open_folder

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted(path.parent.name for path in (ROOT / "inventory").glob("*/cluster.yml"))
SCRIPT = """
import hashlib, sys
from pathlib import Path
from cluster_model.pipeline import inspect
for name in sys.argv[1:]:
    found = inspect(Path("inventory") / name, rules=False)
    print(name, hashlib.sha256(repr((found.plan, found.findings)).encode()).hexdigest())
"""


def plan_elsewhere(seed, names):
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *names], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return sorted(done.stdout.splitlines())


def test_a_plan_does_not_depend_on_the_hash_seed_or_on_what_was_planned_before():
    assert plan_elsewhere(1, EXAMPLES) == plan_elsewhere(2, EXAMPLES[::-1])


def freeze(value):
    """Return whether a value and all in it can be hashed or is a mapping of such."""
    if isinstance(value, dict):
        return all(freeze(item) for item in value.values())
    if isinstance(value, tuple):
        return all(freeze(item) for item in value)
    if dataclasses.is_dataclass(value):
        frozen = type(value).__dataclass_params__.frozen
        return frozen and all(freeze(getattr(value, part.name)) for part in dataclasses.fields(value))
    return isinstance(value, str | int | float | bool | None)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_plan_is_frozen_all_the_way_down(name):
    plan = open_example(name).plan
    assert freeze(plan)
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.name = "other"


def test_planning_leaves_the_collector_as_it_was():
    import gc

    for turn_on in (gc.enable, gc.disable):
        turn_on()
        before = gc.isenabled()
        open_folder(ROOT / "inventory/lab")
        assert gc.isenabled() == before
    gc.enable()
