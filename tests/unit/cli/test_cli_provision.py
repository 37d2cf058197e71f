"""`gpuyard provision`, `bmc` and `boot-server` as far as they go without machines."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from cluster_model.cli.main import cli
from cluster_model.cli.provision import _live
from cluster_model.deploy.journal import Node
from cluster_model.transport.bmc_probe import Answerer


@pytest.fixture
def ask(tree, tmp_path):
    def run(verb, *words):
        places = ["--tree", str(tree), "--state", str(tmp_path / "state")]
        environment = {"GPUYARD_SECRET_BMC_PASSWORD": "x"}
        return CliRunner().invoke(cli, [verb, "inventory/lab", *places, *words], env=environment)

    return run


def test_what_would_be_done_as_data(ask):
    done = ask("provision", "--limit", "control", "--limit", "gpu-001", "--reinstall", "gpu-001", "--format", "json")
    assert done.exit_code == 0
    assert json.loads(done.stdout) == {
        "would": {
            "install": ["gpu-001", "control-002", "control-003"],
            "overwrite": ["gpu-001"],
            "without_mac": [],
            "left_out": ["control-001"],
        }
    }


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpu-001", "has nothing about gpu-001\n"),
        ("gpu-01", "has nothing about gpu-01, and no server has that name; did you mean gpu-001?\n"),
        ("xyz", "has nothing about xyz, and no server has that name\n"),
    ],
)
def test_the_history_of_a_node_that_has_none(ask, name, words):
    done = ask("provision", "--history", name)
    assert done.exit_code == 2
    assert done.stderr.endswith(words)


def test_an_intent_that_installs_nothing_says_so(tmp_path):
    runner, intent = CliRunner(), str(tmp_path / "pod")
    assert runner.invoke(cli, ["new", "pod", "--gpus", "64", "-o", str(tmp_path)]).exit_code == 0
    assert runner.invoke(cli, ["render", intent, "-o", str(tmp_path / "tree")]).exit_code == 0
    for words in ([], ["--status"]):
        done = runner.invoke(cli, ["provision", intent, "--tree", str(tmp_path / "tree"), *words])
        assert done.exit_code == 2
        assert f"pod installs no server: say in {intent}/cluster.yml, under provisioning, what is installed" in done.stderr


def test_an_address_that_is_not_this_machines(ask):
    done = ask("boot-server", "--listen", "192.0.2.1:8080")
    assert done.exit_code == 1  # 3 of the program: main.run has it
    assert "cannot listen on 192.0.2.1:8080: Cannot assign requested address; it runs on the machine that has" in done.stderr


@pytest.mark.parametrize(
    "words", [["bmc", "inventory", "inventory/lab"], ["bmc", "power", "inventory/lab", "on", "--all", "--apply"]]
)
def test_redfish_without_its_library(words, monkeypatch):
    monkeypatch.setattr("cluster_model.cli.bmc.find_spec", lambda name: None)
    done = CliRunner().invoke(cli, words, env={"GPUYARD_SECRET_BMC_PASSWORD": "x"})
    assert done.exit_code == 2
    assert "Redfish needs sushy: pip install 'gpuyard[fleet]'" in done.stderr


def test_a_state_is_told_once_where_there_is_no_terminal(capsys):
    with _live({}, "text") as tell:
        for state in ("planned", "failed", "failed"):
            tell(Node("gpu-001", state=state))
    assert capsys.readouterr().err.splitlines() == ["gpu-001 planned", "gpu-001 failed"]


def test_bmcs_that_are_silent_are_told_what_to_do_about(monkeypatch):
    monkeypatch.setattr(
        "cluster_model.transport.bmc_probe.probe", lambda name, address, timeout: Answerer(name, address, ipmi=name == "gpu-001")
    )
    done = CliRunner().invoke(cli, ["bmc", "discover", "inventory/lab"])
    assert done.exit_code == 3
    assert done.stdout.endswith("1 of 14 planned BMCs answer.\n")
    assert done.stderr.splitlines()[-1].startswith("fix: see that the others have power")
