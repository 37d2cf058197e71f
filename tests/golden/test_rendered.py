"""What is rendered, byte for byte: all switch files of a small cluster per dialect, and the digest of every file of the examples.

`make goldens` writes the goldens anew; the diff of switches/ then shows which configuration lines change.
"""

import hashlib
import os
from difflib import unified_diff
from pathlib import Path

import pytest

from cluster_model.paths import TEMPLATES
from cluster_model.pipeline import inspect
from cluster_model.render.tree import render_tree

HERE = Path(__file__).parent
DIGESTS = HERE / "rendered"
SWITCHES = HERE / "switches"
DIALECTS = sorted(path.parent.name for path in SWITCHES.glob("*/cluster.yml"))
EXAMPLES = sorted(path.stem for path in DIGESTS.iterdir())
UPDATE = os.environ.get("GPUYARD_UPDATE_GOLDEN") == "1"
CARRY_THE_DIGEST = ("plan.json", "manifest.json", "inventory/inventory.json", "cabling/cables.xlsx", "index.html")
"""Files that change with every byte of the intent or with the version; other tests read them."""


def render(folder, only=None):
    opened = inspect(folder)
    assert opened.plan, opened.findings
    return opened.plan, render_tree(opened.plan, opened.catalogue, only)


def compare(found, golden):
    """Return the differences of two trees of texts as `diff -u` prints them, a file that only one of them has in full."""
    lines = []
    for path in sorted({*found, *golden}):
        old, new = (tree.get(path, "").splitlines(keepends=True) for tree in (golden, found))
        lines += unified_diff(old, new, f"golden/{path}", f"rendered/{path}")
        if (path in found) != (path in golden):
            lines.append(f"{path} is {'rendered and no golden' if path in found else 'a golden and not rendered'}\n")
    return "".join(lines)


@pytest.mark.parametrize("name", EXAMPLES)
def test_digests(name):
    _, tree = render(Path("inventory") / name)
    text = "".join(
        f"{hashlib.sha256(data).hexdigest()[:16]}  {path}\n"
        for path, data in sorted(tree.items())
        if path not in CARRY_THE_DIGEST
    )
    golden = DIGESTS / f"{name}.sha256"
    if UPDATE:
        golden.write_text(text)
    assert not (told := compare({name: text}, {name: golden.read_text()})), told


@pytest.mark.parametrize("nos", DIALECTS)
def test_switch_files(nos):
    plan, tree = render(SWITCHES / nos, {"switches"})
    assert nos in {switch.nos for switch in plan.switches}
    found = {path.removeprefix("switches/"): data.decode() for path, data in tree.items() if path.startswith("switches/")}
    folder = SWITCHES / nos
    kept = {str(path.relative_to(folder)): path for path in folder.glob("*/**/*") if path.is_file()}
    if UPDATE:
        for path in kept.keys() - found.keys():
            kept.pop(path).unlink()
        for path, text in found.items():
            kept[path] = folder / path
            kept[path].parent.mkdir(parents=True, exist_ok=True)
            kept[path].write_text(text)
    assert not (told := compare(found, {path: file.read_text() for path, file in kept.items()})), told


def test_every_dialect_has_its_cluster():
    assert {path.parent.name for path in TEMPLATES.glob("switch/*/main.j2")} == set(DIALECTS)
