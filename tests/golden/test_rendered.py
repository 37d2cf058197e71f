"""What the examples render to, byte for byte: some of the lab's files in full, and the digest of every file of each example.

GPUYARD_UPDATE_GOLDEN=1 writes the goldens anew; the diff of the lab's files then shows what a network engineer will see change.
"""

import hashlib
import os
from pathlib import Path

import pytest

from cluster_model.cli.common import inspect_cluster
from cluster_model.render.tree import render_tree

HERE = Path(__file__).parent / "rendered"
EXAMPLES = ("driving", "lab", "superpod-h100", "superpod-roce")
DEVICES = (
    "compute-leaf-u01-01",
    "compute-spine-01",
    "storage-leaf-u01-01",
    "storage-spine-01",
    "oob-leaf-a01",
    "oob-spine-01",
)
CARRY_THE_DIGEST = ("plan.json", "manifest.json", "inventory/inventory.json", "cabling/cables.xlsx", "index.html")
"""Files that change with every byte of the intent or with the version; other tests read them."""


@pytest.fixture(scope="module")
def trees():
    found = {}
    for name in EXAMPLES:
        opened = inspect_cluster(Path("inventory") / name)
        found[name] = render_tree(opened.plan, opened.catalogue, None)
    return found


def compare(golden, text):
    if os.environ.get("GPUYARD_UPDATE_GOLDEN") == "1":
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text)
    assert golden.read_text() == text


@pytest.mark.parametrize("name", EXAMPLES)
def test_digests(name, trees):
    lines = [
        f"{hashlib.sha256(data).hexdigest()[:16]}  {path}\n"
        for path, data in sorted(trees[name].items())
        if path not in CARRY_THE_DIGEST
    ]
    compare(HERE / f"{name}.sha256", "".join(lines))


@pytest.mark.parametrize("device", DEVICES)
def test_files_of_the_lab(device, trees):
    files = {path: data for path, data in trees["lab"].items() if path.startswith(f"switches/{device}/")}
    assert files
    for path, data in files.items():
        if path != "switches/compute-spine-01/config_db.json":  # 110 kB more of the same tables
            compare(HERE / "lab" / Path(path).relative_to("switches"), data.decode())


def test_no_golden_is_left_over(trees):
    known = {HERE / "lab" / Path(path).relative_to("switches") for path in trees["lab"] if path.startswith("switches/")}
    known |= {HERE / f"{name}.sha256" for name in EXAMPLES}
    assert {path for path in HERE.rglob("*") if path.is_file()} <= known
