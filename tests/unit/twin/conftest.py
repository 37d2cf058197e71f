"""The example clusters as rendered trees."""

import sys
from pathlib import Path

import pytest

from cluster_model.twin.machine import NEEDS
from cluster_model.twin.scope import Sampling, choose_scope
from cluster_model.twin.tree import open_tree

sys.path.insert(0, str(Path(__file__).parents[1] / "render_switch"))


@pytest.fixture(scope="session")
def trees(tmp_path_factory):
    """Return a function: name of a plan of render_switch/factory.py to its rendered tree."""
    import factory

    from cluster_model.render.plan_json import render_plan_json

    made = {}

    def get(name):
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            (folder / "plan.json").write_bytes(render_plan_json(factory.plan(name)))
            for path, text in factory.files(name).items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text)
            made[name] = open_tree(folder, factory.catalogue())
        return made[name]

    return get


@pytest.fixture(scope="session")
def scopes(trees):
    """Return a function: name of a plan to what is booted of it on a kernel without VRFs."""
    return lambda name, **sampling: choose_scope(trees(name), NEEDS, Sampling(**sampling))
