"""The whole tree of every example: its files, its manifest, and that it is always the same."""

import csv
import hashlib
import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from cluster_model.diagnostic import Diagnostic
from cluster_model.render.manifest import MANIFEST, family_of, read_manifest
from cluster_model.render.plan_json import summarize
from cluster_model.render.tree import FAMILIES, list_unrendered, render_tree
from tests.planned import open_folder

ROOT = Path(__file__).parents[3]
EXAMPLES = ["lab", "superpod-roce", "superpod-h100", "driving"]


def make_plan(name):
    opened = open_folder(ROOT / "inventory" / name)
    plan, catalogue = opened.plan, opened.catalogue
    return plan, catalogue


def list_ways_out(switch):
    """Return a switch's ports to what is not ours: the site's router, or an external peer, with its name."""
    externals = switch.overlay.externals if switch.overlay else ()
    return [*((way, "site") for way in switch.upstreams), *((way, way.peer) for way in externals)]


@pytest.fixture(scope="module", params=EXAMPLES)
def case(request):
    plan, catalogue = make_plan(request.param)
    return request.param, plan, catalogue, render_tree(plan, catalogue)


def test_the_same_intent_gives_the_same_bytes(case):
    name, _, _, files = case
    again = render_tree(*make_plan(name))
    assert list(again) == list(files)
    for path, content in files.items():
        assert again[path] == content, path


def test_the_manifest_lists_every_file(case):
    _, plan, _, files = case
    manifest = read_manifest(files[MANIFEST])
    assert manifest["digest"] == plan.digest
    assert manifest["older"] == {}
    assert manifest["files"] == {p: hashlib.sha256(c).hexdigest() for p, c in files.items() if p != MANIFEST}


def test_only_renders_what_is_asked_for(case):
    _, plan, catalogue, files = case
    for family in FAMILIES:
        part = render_tree(plan, catalogue, {family})
        expected = {path: content for path, content in files.items() if family_of(path) == family}
        assert {path: content for path, content in part.items() if path != MANIFEST} == expected


def test_paths_stay_inside(case):
    _, _, _, files = case
    for path in files:
        assert not path.startswith(("/", "."))
        assert ".." not in path.split("/")
        assert path.isascii()


def test_plan_json_is_the_plan(case):
    _, plan, _, files = case
    body = json.loads(files["plan.json"])
    assert body["summary"] == json.loads(json.dumps(summarize(plan)))
    assert [cable["a"] for cable in body["cables"]] == [cable.a for cable in plan.cables]
    assert body["servers"][0]["ports"][0]["peer"] == plan.servers[0].ports[0].peer
    assert not [key for key in body if key.startswith("_")]
    assert files["plan.json"].count(b"\n") > len(plan.cables) + len(plan.servers)


def test_the_summary_counts_what_is_there(case):
    _, plan, _, _ = case
    summary = summarize(plan, [Diagnostic("X1", "warning", "", "a"), Diagnostic("X2", "info", "", "b")])
    assert summary["findings"] == {"error": 0, "warning": 1}
    assert summary["gpus"] == sum(server.gpus for server in plan.servers)
    assert sum(summary["servers"].values()) == len(plan.servers)
    for name, network in summary["networks"].items():
        assert sum(network["switches"].values()) == sum(switch.network == name for switch in plan.switches)
        assert sum(network["cables"].values()) == sum(cable.network == name for cable in plan.cables)


def test_every_cable_has_a_row_and_two_labels(case):
    _, plan, _, files = case
    cables = list(csv.DictReader(io.StringIO(files["cabling/cables.csv"].decode())))
    labels = list(csv.DictReader(io.StringIO(files["cabling/labels.csv"].decode())))
    ways_out = [(f"{switch.name}:{way.port}", far) for switch in plan.switches for way, far in list_ways_out(switch)]
    assert [row["label"] for row in cables] == [*(cable.label for cable in plan.cables), *(label for label, _ in ways_out)]
    assert [row["b_device"] for row in cables if row["kind"] == "upstream"] == [far for _, far in ways_out]
    assert len({row["label"] for row in cables}) == len(cables)
    assert len(labels) == 2 * len(cables)
    assert all(row["a_rack"] and (row["b_rack"] or row["kind"] == "upstream") for row in cables)
    bom = list(csv.DictReader(io.StringIO(files["cabling/bom.csv"].decode())))
    assert sum(int(row["count"]) for row in bom if row["kind"] == "server") == len(plan.servers)


def test_the_workbook_opens_and_holds_the_cables(case):
    pytest.importorskip("xlsxwriter")
    _, plan, _, files = case
    import zipfile

    with zipfile.ZipFile(io.BytesIO(files["cabling/cables.xlsx"])) as book:
        sheet = ET.fromstring(book.read("xl/worksheets/sheet1.xml"))
    assert len(sheet.findall(".//{*}row")) == len(plan.cables) + sum(len(list_ways_out(s)) for s in plan.switches) + 1


def test_the_page_is_one_file(case):
    _, plan, _, files = case
    page = files["index.html"].decode()
    assert page.count("<svg") == 2 + bool(plan.tenants) + bool(plan.ceph.hosts)
    for word in ("src=", "<script", "<link", "@import", "url("):
        assert word not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert plan.servers[0].name in page


def test_the_page_escapes_findings():
    plan, catalogue = make_plan("lab")
    finding = Diagnostic("X1", "warning", "racks", "a <b>bold</b> & 'quoted' thing")
    page = render_tree(plan, catalogue, {"page"}, findings=[finding])["index.html"].decode()
    assert "<b>bold</b>" not in page
    assert "a &lt;b&gt;bold&lt;/b&gt; &amp;" in page


def test_only_rendered_dialects_have_files(case):
    _, plan, _, files = case
    left_out = list_unrendered(plan)
    with_files = {path.split("/")[1] for path in files if path.startswith("switches/")}
    assert with_files == {switch.name for switch in plan.switches if switch.nos not in {*left_out, "infiniband"}}
    assert "infiniband" not in left_out  # a subnet manager's files lie under fabric-manager/
