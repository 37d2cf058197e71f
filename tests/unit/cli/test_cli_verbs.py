"""The verbs that read an intent or print what gpuyard knows."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import click
import pytest

from cluster_model.cli.common import open_cluster
from cluster_model.cli.main import run
from cluster_model.cli.manuals import read_manuals
from tests.each import check_each

ROOT = Path(__file__).parents[3]
BROKEN = "tests/wrong.yml"


@pytest.fixture(autouse=True)
def at_root(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.fixture
def cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert run(["new", "lab", "--gpus", "64", "-o", str(tmp_path)]) == 0
    capsys.readouterr()
    return tmp_path / "lab"


def test_validate_text_goes_to_stderr(capsys):
    assert run(["validate", BROKEN]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith(" errors.\n")


@pytest.mark.parametrize("form", ["json", "github"])
def test_validate_machine_forms_go_to_stdout(form, capsys):
    assert run(["validate", BROKEN, "--format", form]) == 1
    captured = capsys.readouterr()
    assert "INT003" in captured.out
    assert captured.err == ""


def test_validate_no_such_cluster(capsys):
    assert run(["validate", "no/such/cluster"]) == 2
    assert "YML005" in capsys.readouterr().err


def test_a_broken_file_of_a_vendor_is_named_and_not_its_absence(tmp_path, monkeypatch, capsys):
    for nos in ("sonic", "frr"):
        text = (ROOT / "templates" / "switch" / nos / "platform.yml").read_text("utf-8")
        (tmp_path / "switch" / nos).mkdir(parents=True)
        (tmp_path / "switch" / nos / "platform.yml").write_text(text + ("colour: blue\n" if nos == "sonic" else ""), "utf-8")
    monkeypatch.setattr("cluster_model.catalogue.load.TEMPLATES", tmp_path)
    assert run(["validate", "inventory/lab"]) == 1
    err = capsys.readouterr().err
    assert "CAT005: unknown field colour" in err
    assert "NOS001" not in err


def test_validate_good_cluster(cluster, capsys):
    assert run(["validate", str(cluster)]) == 0
    assert " error " not in capsys.readouterr().err


def test_strict_counts_warnings(cluster, capsys):
    assert run(["validate", str(cluster), "--format", "json"]) == 0
    warnings = json.loads(capsys.readouterr().out)["warnings"]
    assert run(["validate", str(cluster), "--format", "json", "--strict"]) == int(warnings > 0)
    assert json.loads(capsys.readouterr().out)["warnings"] == 0


def test_open_cluster(cluster, capsys):
    opened = open_cluster(cluster, "json")
    assert opened.plan.name == opened.cluster.name == "lab"
    assert opened.loaded.digest
    assert all(finding.severity != "error" and finding.file for finding in opened.findings)
    assert capsys.readouterr().out == ""


def test_open_cluster_exits_on_errors(capsys):
    with pytest.raises(click.exceptions.Exit) as stop:
        open_cluster(Path(BROKEN))
    assert stop.value.exit_code == 1
    assert "INT003" in capsys.readouterr().err


def test_explain_lists_a_family(capsys):
    assert run(["explain", "net"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 10
    assert all(line.startswith("NET") for line in lines)


def test_explain_lists_all(capsys):
    assert run(["explain"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == sorted(read_manuals())


def test_explain_each(capsys):
    manuals = read_manuals()

    def check(id_):
        assert run(["explain", id_.lower()]) == 0
        out = capsys.readouterr().out
        assert out.startswith(f"{id_}: {manuals[id_][0]}\n")
        assert "How to fix:" in out
        assert max(map(len, out.splitlines())) <= 100

    check_each(check, manuals)


def test_schema(capsys):
    assert run(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Cluster"


def test_catalogue_table(capsys):
    assert run(["catalogue", "switch"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("switch ")
    assert "nvidia/sn5600" in out
    assert "nvidia/dgx-h100" not in out


def test_catalogue_explains_its_star_where_one_stands(capsys):
    assert run(["catalogue", "server"]) == 0
    lines = capsys.readouterr().out.splitlines()
    starred = [line.split()[0] for line in lines if re.match(r"\S+ \*", line)]
    assert starred
    assert lines[-1].startswith("* holds numbers that were not read in the maker's own text")
    assert run(["catalogue", starred[0]]) == 0
    assert "`confirmed: false`" in capsys.readouterr().out
    assert run(["catalogue", "nvidia/sn"]) == 0
    out = capsys.readouterr().out
    assert ("* holds" in out) == (" * " in out)


def test_catalogue_one_with_sources(capsys):
    assert run(["catalogue", "nvidia/dgx-h100"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("server nvidia/dgx-h100: 8U, 10.2 kW, 8 nvidia/h100-sxm")
    assert "source:" in out


def test_catalogue_json(capsys):
    assert run(["catalogue", "gpu", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert all(row["kind"] == "gpu" and row["source"] for row in rows)


def test_catalogue_unknown(capsys):
    assert run(["catalogue", "nvidia/sn5601"]) == 2
    assert "did you mean nvidia/sn5600" in capsys.readouterr().err


def test_catalogue_of_a_cluster(tmp_path, capsys):
    folder = tmp_path / "catalogue" / "gpus" / "acme"
    folder.mkdir(parents=True)
    text = (ROOT / "cluster_model/catalogue/data/gpus/nvidia/h100-sxm.yaml").read_text("utf-8")
    (folder / "a1.yaml").write_text(text, "utf-8")
    assert run(["catalogue", "acme/a1", "--cluster", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("gpu acme/a1: 80 GB")


ONE_RACK = """\
name: one
site: {domain: one.example.net}
racks:
  rows: {A: {id: 1, racks: 1}}
  groups: {all: {id: 1, rows: [A], power_kw: 40, feed_kw: 40}}
servers:
  gpu: {id: 1, model: nvidia/dgx-h100, count: 2, racks: all}
  control: {id: 2, model: generic/1u, count: 1, racks: all}
networks:
  compute: {technology: roce, leaf: nvidia/sn5600, tiers: 1, rails_per_leaf: 8, pool: 10.64.0.0/16, racks: all}
  oob: {leaf: nvidia/sn2201, tiers: 1, pool: 10.120.0.0/16, racks: all}
"""


def test_plan_of_one_rack(tmp_path, capsys):
    (tmp_path / "cluster.yml").write_text(ONE_RACK)
    assert run(["plan", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("one: 16 GPUs, 3 servers, 2 switches, 23 cables, 1 rack\n")
    assert "in 1 rack of 1 row." in out
    assert "0:1" not in out and "oversubscription" not in out


def test_a_workbook_that_an_extra_would_bring_is_told(tmp_path, capsys, monkeypatch):
    words = ["render", "inventory/lab", "-o", str(tmp_path / "tree"), "--only"]
    assert run([*words, "cabling"]) == 0
    assert "xlsx" not in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)  # as after a bare pip install gpuyard
    assert run([*words, "cabling"]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "xlsx" in line]
    assert told == ["note: cabling/cables.xlsx is left out: it needs xlsxwriter, pip install 'gpuyard[xlsx]'"]
    assert not (tmp_path / "tree/cabling/cables.xlsx").exists()
    assert run([*words, "dns"]) == 0
    assert "xlsx" not in capsys.readouterr().err


def test_only_what_was_written_is_to_be_opened(tmp_path, capsys):
    words = ["render", "inventory/lab", "-o", str(tmp_path / "tree")]
    assert run([*words, "--only", "kubernetes"]) == 0
    assert "Open" not in capsys.readouterr().out
    for _ in ("written", "unchanged"):
        assert run(words) == 0
        assert capsys.readouterr().out.endswith(f"Open {tmp_path / 'tree/index.html'}\n")
    assert run([*words, "--only", "kubernetes"]) == 0
    assert "Open" not in capsys.readouterr().out
