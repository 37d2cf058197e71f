"""`gpuyard plan --planned`: the cluster as it is planned, and what has to be bought for it."""

import json
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from cluster_model.cli.group import cli

ROOT = Path(__file__).resolve().parents[3]
DRIVING = "inventory/driving"


def run(*words):
    return CliRunner().invoke(cli, ["plan", *words])


@pytest.fixture
def raised(exchanged):
    """Return a copy of driving with texts of its intent exchanged."""
    return partial(exchanged, "driving")


def test_it_is_the_summary_of_the_cluster_that_is_built_as_planned(raised):
    planned = run(DRIVING, "--planned")
    assert planned.exit_code == 0
    head, _, rest = planned.stdout.partition("\n")
    assert head == "driving as planned: 304 GPUs, 53 servers, 37 switches, 1,036 cables, 18 racks"
    grown = run(raised(("count: 16, planned: 32", "count: 32"))).stdout.partition("\n")
    assert grown[0] == head.replace(" as planned", "")
    summary, bill = rest.split("\nmaterial ")
    assert grown[2].startswith(summary)
    assert bill.endswith(grown[2].removeprefix(summary))


def test_it_says_what_to_buy():
    lines = run(DRIVING, "--planned").stdout.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("material "))
    assert lines[start].split("  ")[-1] == "to buy"  # nothing is freed, so there is no such column
    assert lines[start + 1].split() == ["server", "nvidia/dgx-h100", "16", "32", "16"]
    assert ["fibre", "400g-sr4", "15", "72", "172", "100"] in [line.split() for line in lines[start:]]


def test_json_says_that_it_is_of_what_is_planned():
    body = json.loads(run(DRIVING, "--planned", "--json").stdout)
    assert (body["as_planned"], body["gpus"], body["servers"]["train"]) == (True, 304, 32)
    assert body["bom_planned"][0] == {
        "kind": "server", "item": "nvidia/dgx-h100", "length_m": 0.0, "built": 16, "planned": 32, "to_buy": 16, "freed": 0,
    }  # fmt: skip
    built = json.loads(run(DRIVING, "--json").stdout)
    assert built["gpus"] == 176 and not {"as_planned", "bom_planned"} & built.keys()


def test_where_nothing_more_is_planned_it_says_so():
    planned = run("inventory/lab", "--planned")
    assert planned.exit_code == 0
    assert planned.stdout.startswith("lab as planned: ")
    assert "\nNothing is planned beyond what is built.\n" in planned.stdout and "material" not in planned.stdout
    assert json.loads(run("inventory/lab", "--planned", "--json").stdout)["bom_planned"] == []


def test_findings_are_of_the_cluster_as_planned(raised):
    """A rack that is filled only in the next phase is too small for it: built it is not told, planned it is."""
    folder = raised(("groups:", "exceptions:\n    A05: {power_kw: 20, feed_kw: 10, reason: a cooling pipe}\n  groups:"))
    built, planned = run(folder), run(folder, "--planned")
    assert built.exit_code == 0
    assert (planned.exit_code, planned.stdout) == (1, "")
    assert "error PWR" in planned.stderr and "A05" in planned.stderr
    assert "A05" not in built.stderr


def test_a_cluster_that_is_wrong_as_built_is_refused_as_ever(raised, tmp_path):
    folder = raised(("count: 16, planned: 32", "count: 33, planned: 32"))
    assert (run(folder, "--planned").exit_code, run(folder, "--planned").stdout) == (1, "")
    assert run(folder, "--planned").stderr == run(folder).stderr
    assert run(str(tmp_path / "nowhere"), "--planned").exit_code == 2
