"""Intents of InfiniBand clusters, small and of many forms."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from cluster_model.catalogue.load import load_catalogue
from cluster_model.render.tree import render_tree
from tests.planned import open_folder

UFM = "  ufm: {id: 2, model: nvidia/ufm-3.1, role: fabric-manager, manages: compute, count: 2, racks: network}\n"
INTENT = f"""\
name: ib
site: {{domain: ib.example.net}}
racks:
  rows: {{A: {{id: 1, racks: 64}}, N: {{id: 2, racks: 60}}}}
  groups:
    gpu: {{id: 1, rows: [A], height_u: 52, power_kw: 60, feed_kw: 60}}
    network: {{id: 2, rows: [N], height_u: 48, power_kw: 60, feed_kw: 60}}
servers:
  gpu: {{id: 1, model: MODEL, count: COUNT, unit: UNIT, racks: gpu, per_rack: 2}}
{UFM}networks:
  compute: {{technology: infiniband, leaf: LEAF, racks: network MORE}}
  oob: {{leaf: nvidia/sn2201, spine: nvidia/sn3700c, nos: sonic, pool: 10.124.0.0/16, racks: network, racks_per_leaf: 2}}
"""
FORMS = {
    "two tiers": {},
    "one switch": {"MORE": ", design: leaf-spine"},
    "split ports": {"MORE": ", speed_gbps: 200, fabric_speed_gbps: 400"},
    "two planes": {"MODEL": "nvidia/dgx-b300", "MORE": ", planes: 2"},
    "three tiers": {"MODEL": "nvidia/dgx-a100", "LEAF": "nvidia/qm8790", "COUNT": "120", "UNIT": "20", UFM: ""},
    "multi-chip": {"MODEL": "nvidia/dgx-b300", "LEAF": "nvidia/q3400-ra", UFM: ""},
}
DEFAULTS = {"MODEL": "nvidia/dgx-h100", "LEAF": "nvidia/qm9700", "COUNT": "5", "UNIT": "31", "MORE": ""}


@cache
def make_plan(form, switches="", servers=""):
    """Return the plan of a form; `switches` and `servers` are the text of fact files."""
    text = INTENT
    for word, value in (DEFAULTS | FORMS[form]).items():
        text = text.replace(word, value)
    with TemporaryDirectory() as name:
        folder = Path(name)
        facts = {kind: rows for kind, rows in (("switches", switches), ("servers", servers)) if rows}
        for kind, rows in facts.items():
            (folder / f"{kind}.csv").write_text(rows, "utf-8")
        if facts:
            text += f"facts: {{{', '.join(f'{kind}: {kind}.csv' for kind in facts)}}}\n"
        (folder / "cluster.yml").write_text(text, "utf-8")
        return open_folder(folder).plan


@cache
def render_files(form, switches=""):
    """Return the text of the files under fabric-manager/, by name."""
    tree = render_tree(make_plan(form, switches), load_catalogue()[0], {"fabric-manager"})
    return {path.partition("/")[2]: text.decode() for path, text in tree.items() if path.startswith("fabric-manager/")}


def list_switches(form, role):
    """Return the names of a form's compute switches of one role."""
    return [s.name for s in make_plan(form).switches if s.network == "compute" and s.role == role]
