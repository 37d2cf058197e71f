"""The library: stages as functions that return data, and neither print nor end the process."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cluster_model import pipeline
from cluster_model.pipeline import RefusedError, UnknownNameError
from cluster_model.verify.hosts.compare import Told
from cluster_model.verify.observed import Observed, ObservedDevice

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "inventory/lab"


@pytest.fixture(scope="module")
def lab():
    return pipeline.plan(LAB)


@pytest.fixture
def copy(tmp_path):
    """Return what copies the lab with a text of its intent exchanged."""

    def exchange(old="", new=""):
        shutil.copytree(LAB, tmp_path / "lab")
        intent = tmp_path / "lab/cluster.yml"
        text = intent.read_text("utf-8")
        assert old in text
        intent.write_text(text.replace(old, new, 1) if old else text, "utf-8")
        return tmp_path / "lab"

    return exchange


def test_a_stage_starts_only_where_those_before_it_found_no_errors(copy, tmp_path, capsys):
    nowhere = pipeline.inspect(tmp_path)
    assert [finding.id for finding in nowhere.findings] == ["YML005"]
    assert (nowhere.catalogue, nowhere.plan, nowhere.opened) == (None, None, None)
    folder = copy("name: lab", "name: lab\nnmae: lab")
    typed_wrong = pipeline.inspect(folder)
    assert {finding.id for finding in typed_wrong.findings} == {"INT001"} and typed_wrong.plan is None
    assert typed_wrong.findings[0].line == 1 + (folder / "cluster.yml").read_text("utf-8").split("\n").index("name: lab") + 1
    with pytest.raises(RefusedError, match="INT001") as refused:
        typed_wrong.accept()
    assert refused.value.findings == typed_wrong.findings == pipeline.validate(folder)
    assert capsys.readouterr() == ("", "")


def test_warnings_refuse_only_where_that_is_asked(lab):
    inspection = pipeline.inspect(LAB)
    warned = pipeline.Inspection(inspection.loaded, [lab.loaded.source.locate(WARNING)], inspection.catalogue, inspection.plan)
    assert warned.accept().findings == warned.findings
    with pytest.raises(RefusedError, match=WARNING.id):
        warned.accept(strict=True)


WARNING = pipeline.Diagnostic("NET000", "warning", "networks", "a double of a warning")


def test_design_rules_can_be_left_out(monkeypatch):
    import cluster_model.checks

    def find(*_):
        return [WARNING]

    monkeypatch.setattr(cluster_model.checks, "check_plan", find)
    assert WARNING.id in {finding.id for finding in pipeline.inspect(LAB).findings}
    assert WARNING.id not in {finding.id for finding in pipeline.inspect(LAB, rules=False).findings}


def test_what_is_rendered_is_written_once(lab, tmp_path):
    files = pipeline.render(lab, {"dns", "plan"})
    target = tmp_path / "build"
    planned = pipeline.write(lab, files, target, {"dns", "plan"}, dry_run=True)
    assert set(planned.written) == set(files) and not target.exists()
    assert pipeline.write(lab, files, target, {"dns", "plan"}).written == planned.written
    again = pipeline.write(lab, files, target, {"dns", "plan"})
    assert (again.written, set(again.unchanged)) == ((), set(files))
    with pytest.raises(UnknownNameError, match="there is no family dsn; did you mean dns") as unknown:
        pipeline.render(lab, {"dsn"})
    assert unknown.value.kind == "family"


def test_changes_between_two_clusters(lab, copy):
    assert not pipeline.compare(lab, pipeline.plan(copy()))


def test_config_lines_are_counted_as_a_bag(lab, copy):
    found = pipeline.compare(lab, pipeline.plan(copy("ntp: [10.255.0.123", "ntp: [10.255.0.223")))
    assert found and found.comparison.settings and not found.comparison.cables
    assert found.config_lines["compute-leaf-u01-01/config_db.json"] == (1, 1)


def test_gear_is_compared_without_asking_it(lab):
    names = [switch.name for switch in lab.plan.switches]
    silent = Observed({name: ObservedDevice(name, reached=False, reason="no power") for name in names})
    found = pipeline.verify(lab, silent)
    assert set(found.unreached) == set(names)
    assert found.counts.get("right", 0) == 0 and sum(found.counts.values()) == len(pipeline.choose_scope(lab).cables(lab.plan))
    assert {finding.file for finding in found.findings} == {str(LAB / "cluster.yml")}
    part = pipeline.verify(lab, silent, "cabling", pipeline.choose_scope(lab, ["compute"]))
    assert 0 < sum(part.counts.values()) < sum(found.counts.values())
    assert "VER020" in {finding.id for finding in pipeline.verify(lab, silent, "fabric").findings}
    with pytest.raises(UnknownNameError, match="there is no compte; the plan has "):
        pipeline.choose_scope(lab, ["compte"])
    with pytest.raises(UnknownNameError, match="no device is meant by z99; "):
        pipeline.choose_scope(lab, limits=["z99"])
    with pytest.raises(UnknownNameError, match="it means 1 PDU"):
        pipeline.choose_scope(lab, limits=[lab.plan.pdus[0].name], what="fabric")


def test_hosts_are_compared_without_asking_them(lab):
    name = lab.plan.servers[0].name
    (finding,) = pipeline.verify_hosts(lab, {name: Told(name, reason="no answer")})[name]
    assert (finding.id, finding.file) == ("HST001", str(LAB / "cluster.yml")) and finding.line


def test_to_import_the_library_loads_no_stage():
    stages = ["intent", "catalogue", "plan", "checks", "render", "transport", "verify", "deploy", "twin", "cli"]
    script = f"import sys, cluster_model.pipeline; print([m for m in {stages} if 'cluster_model.' + m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"
