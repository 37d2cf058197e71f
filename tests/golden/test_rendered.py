"""What is rendered, byte for byte: all switch files of a small cluster per dialect, and the digest of every file of the examples.

`make record` writes them anew; the diff of switches/ then shows which configuration lines change.
"""

import hashlib
from pathlib import Path

import pytest

from cluster_model import pipeline
from cluster_model.paths import TEMPLATES
from tests import recorded

HERE = Path(__file__).parent
DIGESTS = HERE / "rendered"
SWITCHES = HERE / "switches"
DIALECTS = sorted(path.parent.name for path in SWITCHES.glob("*/cluster.yml"))
EXAMPLES = sorted(path.parent.name for path in (HERE.parents[1] / "inventory").glob("*/cluster.yml"))
CARRY_THE_DIGEST = ("plan.json", "manifest.json", "inventory/inventory.json", "cabling/cables.xlsx", "index.html")
"""Files that change with every byte of the intent or with the version; other tests read them."""


def render(folder, only=None):
    inspection = pipeline.inspect(folder)
    assert inspection.opened, inspection.findings
    return inspection.plan, pipeline.render(inspection.opened, only)


@pytest.mark.parametrize("name", EXAMPLES)
def test_digests(name):
    _, tree = render(Path("inventory") / name)
    text = "".join(
        f"{hashlib.sha256(data).hexdigest()[:16]}  {path}\n"
        for path, data in sorted(tree.items())
        if path not in CARRY_THE_DIGEST
    )
    recorded.check(DIGESTS / f"{name}.sha256", text)


@pytest.mark.parametrize("nos", DIALECTS)
def test_switch_files(nos):
    plan, tree = render(SWITCHES / nos, {"switches"})
    assert nos in {switch.nos for switch in plan.switches}
    folder = SWITCHES / nos
    found = {
        folder / path.removeprefix("switches/"): data.decode() for path, data in tree.items() if path.startswith("switches/")
    }
    recorded.check_all(found, kept=[path for path in folder.glob("*/**/*") if path.is_file()])


def test_every_dialect_has_its_cluster():
    assert {path.parent.name for path in TEMPLATES.glob("switch/*/main.j2")} == set(DIALECTS)
