"""The example clusters as rendered trees."""

import sys
from pathlib import Path

import pytest

from cluster_model.twin.ethernet.scope import Sampling, choose_scope
from cluster_model.twin.machine import NEEDS
from cluster_model.twin.tree import open_tree
from tests.planned import open_folder

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(Path(__file__).parents[1] / "render/switch"))


def _render(cluster, wanted=frozenset({"plan", "switches"})):
    from cluster_model.render.tree import render_tree

    opened = open_folder(cluster)
    plan, catalogue = opened.plan, opened.catalogue
    return render_tree(plan, catalogue, set(wanted))


@pytest.fixture(scope="session")
def render():
    """Return a function: a cluster's folder and families of artefacts to their files."""
    return _render


@pytest.fixture(scope="session")
def trees(tmp_path_factory):
    """Return a function: name of a plan of render_switch/factory.py to its rendered tree."""
    import factory

    from cluster_model.render.plan_json import render_plan_json

    made = {}

    def get(name):
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            if name == "two-planes":
                files = _render(ROOT / "tests/system/two-planes")
            else:
                texts = {path: text.encode() for path, text in factory.files(name).items()}
                files = {"plan.json": render_plan_json(factory.plan(name)), **texts}
            for path, content in files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(content)
            made[name] = open_tree(folder, factory.catalogue())
        return made[name]

    return get


@pytest.fixture(scope="session")
def scopes(trees):
    """Return a function: name of a plan to what is booted of it on a kernel without VRFs."""
    return lambda name, **sampling: choose_scope(trees(name), NEEDS, Sampling(**sampling))
