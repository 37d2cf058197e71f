"""`gpuyard storage`: what Ceph can hold, in words and as JSON, and what it refuses."""

import json
import shutil
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from cluster_model.cli.group import cli

ROOT = Path(__file__).resolve().parents[3]
POD = "inventory/superpod-roce"
VOLUMES = (", volumes: [datasets, archive]", "")
"""What names pools beside `ceph` itself, and what it is exchanged for."""


def run(*words):
    return CliRunner().invoke(cli, ["storage", *words])


@pytest.fixture
def changed(exchanged):
    """Return a copy of the pod with texts of its intent exchanged."""
    return partial(exchanged, "superpod-roce")


def test_words_and_numbers_agree():
    text, data = run(POD), json.loads(run(POD, "--format", "json").stdout)
    assert text.exit_code == 0
    assert f"The waterline is a fill of {data['waterline']:g}.\n" in text.stdout
    assert f"{data['raw_tb']:,.1f} TB raw" in text.stdout
    assert data["usable_tb"] == pytest.approx(sum(pool["usable_tb"] for pool in data["pools"].values()), abs=0.2)
    assert [loss["kind"] for loss in data["losses"]] == ["host", "rack"]
    assert json.loads(CliRunner().invoke(cli, ["plan", POD, "--json"]).stdout)["ceph"]["waterline"] == data["waterline"]


def test_it_says_when_what_is_stored_gets_too_much(changed):
    pod = changed(("failure_domain: rack\n", "failure_domain: rack\n  fill_target: 0.6\n  expand_at: 0.45\n"))
    said = run(pod, "--stored", "900", "--growth", "30").stdout
    assert "900.0 TB stored are a fill of 0.458, above expand_at (0.45).\n" in said
    assert "With 30.0 TB more a month the months are: fill_target (0.6) in 9.3, the waterline" in said
    data = json.loads(run(pod, "--stored", "900", "--growth", "30", "--format", "json").stdout)["stored"]
    assert (data["fill"], data["months_to"]["expand_at"], data["months_to"]["fill_target"]) == (0.4578, 0, 9.3)
    over = run(pod, "--stored", "5000").stdout
    assert "above expand_at (0.45) and fill_target (0.6) and the waterline" in over


def test_more_hosts_are_shown_beside_those_there_are():
    said = run(POD, "--stored", "600", "--add", "4").stdout
    assert "\nWith 4 more:\n\n16 hosts in 8 racks" in said
    data = json.loads(run(POD, "--add", "4", "--format", "json").stdout)
    assert data["with_more"]["hosts"] == data["hosts"] + 4
    assert f"At least {data['with_more']['moved']:.1%} of the data moves: " in said


def test_hosts_that_find_no_place_are_told():
    said = run(POD, "--add", "5000")
    assert said.exit_code == 1
    assert "PLC" in said.stderr


def test_without_pools_nothing_is_invented(changed):
    pod = changed(("  pools:\n    datasets: {replicas: 3}\n    archive: {erasure: 4+2}\n", ""), VOLUMES)
    said = run(pod, "--stored", "10", "--add", "1")
    assert said.exit_code == 0
    assert "There are no pools: what can be stored is not known." in said.stdout
    assert json.loads(run(pod, "--format", "json").stdout)["losses"] == []


def test_what_makes_no_sense_is_refused(changed, tmp_path):
    said = run(POD, "--growth", "3")
    assert (said.exit_code, "give --stored too" in said.stderr) == (2, True)
    assert "nothing is added in a month" in run(POD, "--growth", "0", "--stored", "1").stderr
    assert "-5 is no amount of data; write it as 600TB" in run(POD, "--stored", "-5").stderr
    assert "lots is no amount" in run(POD, "--stored", "lots").stderr
    assert run(POD, "--add", "0").exit_code == 2
    text = (ROOT / POD / "cluster.yml").read_text("utf-8")
    bare = tmp_path / "bare"
    shutil.copytree(ROOT / POD, bare)
    rest = text[text.index("\nkubernetes:") :].replace(*VOLUMES)
    (bare / "cluster.yml").write_text(text[: text.index("\nceph:")] + rest, "utf-8")
    said = run(str(bare))
    assert (said.exit_code, "has no Ceph: add ceph:" in said.stderr) == (2, True)
    said = run(changed(("hosts: storage", "hosts: control")))
    assert (said.exit_code, "error CEP008: " in said.stderr, said.stdout) == (1, True, "")


def test_what_has_no_place_is_not_computed(changed):
    said = run(changed(("datasets: {replicas: 3}", "datasets: {replicas: 9}")))
    assert (said.exit_code, "error CEP001: " in said.stderr, said.stdout) == (1, True, "")
    data = json.loads(run(changed(("datasets: {replicas: 3}", "datasets: {replicas: 9}")), "--format", "json").stdout)
    assert data["findings"][0]["id"] == "CEP001"


def test_what_the_rules_find_of_ceph_is_told_beside_the_numbers(changed):
    said = run(changed(("failure_domain: rack\n", "failure_domain: rack\n  fill_target: 0.9\n")))
    assert said.exit_code == 0
    assert "error CEP006: at a fill of 0.9 " in said.stderr
    assert "The waterline is a fill of " in said.stdout


def test_a_single_host_is_told(tmp_path):
    text = (ROOT / "tests/errors/bases/storage.yml").read_text("utf-8").replace("count: 4", "count: 1")
    (tmp_path / "cluster.yml").write_text(text.replace("replicas: 3", "replicas: 1"), "utf-8")
    said = run(str(tmp_path), "--add", "1")
    assert said.exit_code == 0, said.output
    assert "There is one host: all is lost with it.\n" in said.stdout
    assert "storage-001 alone may hold objects of datasets: they are lost with it.\n" in said.stdout


@pytest.fixture
def classes(changed):
    """Return the pod with a group of drives that spin, and a pool on them."""
    group = "  storage: {id: 2, model: generic/2u-24nvme, count: 12, racks: network}\n"
    more = "  cold: {id: 9, model: generic/4u-36hdd, count: 8, racks: network, role: storage}\n"
    erasure = "archive: {erasure: 4+2}"
    return changed(
        (group, group + more),
        ("hosts: storage", "hosts: [storage, cold]"),
        (erasure, erasure.replace("4+2", "4+2, device_class: hdd")),
    )


def test_each_class_of_drives_is_told(classes):
    said, data = run(classes), json.loads(run(classes, "--format", "json").stdout)
    assert said.exit_code == 0, said.output
    flash, disks = data["classes"]["ssd"], data["classes"]["hdd"]
    for each in (flash, disks):
        assert f"{each['raw_tb']:,.1f} TB raw" in said.stdout
        assert f"The waterline is a fill of {each['waterline']:g}.\n" in said.stdout
    assert (list(flash["pools"]), list(disks["pools"]), disks["osds"]) == (["datasets"], ["archive"], 8 * 36)
    plan = json.loads(CliRunner().invoke(cli, ["plan", classes, "--json"]).stdout)["ceph"]
    assert plan["classes"]["hdd"]["usable_tb"] == disks["usable_tb"]
    line = CliRunner().invoke(cli, ["plan", classes]).stdout
    assert f" TB on ssd up to a fill of {flash['waterline']:g}, " in line


def test_with_several_classes_it_has_to_be_said_which(classes):
    assert "say on which drives, as hdd=600TB; there are ssd, hdd" in run(classes, "--stored", "600").stderr
    assert "there are no drives of class nvme; there are ssd, hdd" in run(classes, "--stored", "nvme=600").stderr
    assert "of the same drives" in run(classes, "--stored", "hdd=600", "--growth", "ssd=3").stderr
    said = run(classes, "--stored", "hdd=600", "--growth", "3").stdout
    assert said.count("600.0 TB stored are a fill of") == 1
    assert "say of which group, as storage=2; there are storage, cold" in run(classes, "--add", "2").stderr
    assert "disks is no group of Ceph's hosts; there are storage, cold" in run(classes, "--add", "disks=2").stderr
    said = run(classes, "--add", "cold=8").stdout.partition("\nWith 8 more of cold:\n\n")[2]
    assert said.count("TB raw;") == 1 and "16 hosts in 8 racks, 576 OSDs of 20 TB (hdd)" in said
    assert "At least 50.0% of the data moves." in said
    data = json.loads(run(classes, "--add", "cold=8", "--format", "json").stdout)["classes"]
    assert data["hdd"]["with_more"]["moved"] == 0.5 and data["ssd"]["with_more"]["moved"] == 0


def test_amounts_have_the_units_that_ceph_shows():
    def stored(amount):
        return json.loads(run(POD, "--stored", amount, "--format", "json").stdout)["stored"]["tb"]

    assert [stored(text) for text in ("600", "600TB", "600 TiB", "0.6PB", "0.5pib")] == pytest.approx(
        [600, 600, 600 * 1.099511627776, 600, 0.5 * 1125.899906842624]
    )
