"""`gpuyard provision`, `bmc` and `boot-server` as far as they go without machines."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from click.testing import CliRunner

from cluster_model.cli.group import cli
from cluster_model.cli.provision import _live
from cluster_model.deploy.journal import Journal, Node
from cluster_model.transport.bmc.controller import BmcError
from cluster_model.transport.bmc.probe import Answerer
from tests.planned import open_example


@pytest.fixture
def ask(tree, tmp_path):
    def run(verb, *words, secret="x"):
        places = ["--tree", str(tree), "--state", str(tmp_path / "state")]
        environment = {"GPUYARD_SECRET_BMC_PASSWORD": secret}
        return CliRunner().invoke(cli, [verb, "inventory/lab", *places, *words], env=environment)

    return run


class DoubleBmc:
    language = "redfish"

    def __init__(self, power):
        self.power, self.serials = power, frozenset()

    def read_power(self):
        return self.power

    def read_serials(self):
        if isinstance(self.serials, BmcError):
            raise self.serials
        return self.serials

    def switch(self, action):
        self.power = "off" if action in {"off", "soft"} else "on"

    def close(self):
        pass


@pytest.fixture
def machines(monkeypatch):
    """Put doubles behind all BMCs: power by server, off where not given; an error is raised."""
    found = {}

    def open_double(door):
        power = found.get(door.target.name, "off")
        if isinstance(power, BmcError):
            raise power
        return power if isinstance(power, DoubleBmc) else DoubleBmc(power)

    monkeypatch.setattr("cluster_model.transport.bmc.planned.Door.open", open_double)
    monkeypatch.setattr("cluster_model.transport.host.socket.create_connection", _refuse)
    return found


def _refuse(*_):
    raise ConnectionRefusedError


def test_what_would_be_done_as_data(ask, machines):
    machines["control-002"] = "on"
    done = ask("provision", "--limit", "control", "--limit", "gpu-001", "--reinstall", "gpu-001", "--format", "json")
    assert done.exit_code == 1
    report = json.loads(done.stdout)
    assert report["would"] == {
        "install": ["gpu-001", "control-003"], "wait": [], "nothing": [], "refuse": ["control-002"], "fail": [], "unread": [],
        "overwrite": ["gpu-001"], "left_out": ["control-001"],
    }  # fmt: skip
    words = "it is on, and the journal does not know it; --reset-running resets it"
    assert report["nodes"][1] == {"name": "control-002", "act": "refuse", "power": "on", "reason": words, "cause": ""}


def test_the_dry_run_tells_each_machines_power_and_what_is_refused(ask, machines):
    machines |= {"gpu-001": "on", "gpu-002": "unknown", "gpu-003": BmcError("silent", "no answer in 20 s")}
    done = ask("provision", "--limit", "A01")
    assert done.exit_code == 3
    unknown = "and the journal does not know it; --reset-running resets it"
    assert [re.split(" {2,}", line) for line in done.stdout.splitlines()[1:5]] == [
        ["gpu-001", "on", "refuse", f"it is on, {unknown}"],
        ["gpu-002", "unknown", "refuse", f"its BMC does not tell whether it is on, {unknown}"],
        ["gpu-003", "?", "ask again", "its BMC at 10.76.0.8: no answer in 20 s"],
        ["gpu-004", "off", "switch on, install"],
    ]
    assert "would install 1 of 4 nodes, 16 at a time: gpu-004\n" in done.stdout
    assert "of the others 2 would be refused, 1 have a BMC that was not read\n" in done.stdout
    assert "the first --apply wants --new-journal" in done.stdout
    done = ask("provision", "--limit", "A01", "--reset-running", "--reinstall", "gpu-004")
    assert [line.split(None, 2)[2] for line in done.stdout.splitlines()[1:5:3]] == ["reset, install", "switch on, overwrite"]
    assert "would overwrite what is on gpu-004\n" in done.stdout


def test_reinstall_alone_concerns_its_node_alone(ask, machines):
    done = ask("provision", "--reinstall", "gpu-002", "--format", "json")
    assert [node["name"] for node in json.loads(done.stdout)["nodes"]] == ["gpu-002"]
    done = ask("provision", "--all", "--reinstall", "gpu-002", "--format", "json")
    assert len(json.loads(done.stdout)["nodes"]) == 13


def test_begin_again_alone_concerns_its_node_alone_and_is_told_what_it_protects(ask, machines, tmp_path):
    machines["gpu-002"] = "on"
    Journal(tmp_path / "state").own("lab")
    Journal(tmp_path / "state").write("gpu-002", "begun", at="2026-01-01T00:00:00.000Z", state="planned")
    Journal(tmp_path / "state").write("gpu-002", "report", at="2026-01-01T00:10:00.000Z", state="failed", step="image")
    refused = json.loads(ask("provision", "--limit", "gpu-002", "--format", "json").stdout)["nodes"][0]
    assert refused["act"] == "refuse"
    assert re.search(r"its installation began [\d,]+ days ago.*; --begin-again gpu-002 resets it", refused["reason"])
    done = ask("provision", "--begin-again", "gpu-002")
    assert done.exit_code == 0
    kept = "what its last installation left on its disks counts as data"
    assert re.split(" {2,}", done.stdout.splitlines()[1]) == ["gpu-002", "on", "reset, install", kept]
    done = ask("provision", "--begin-again", "gpu-002", "--reinstall", "gpu-002")
    assert done.exit_code == 2 and "leaves the disks of gpu-002 their protection, --reinstall does not: say one" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["--reinstall", "gpu-999"],
        ["--limit", "A01", "--begin-again", "storage-001"],
        ["--limit", "A01", "--reinstall", "storage-001"],
    ],
)
def test_a_wrong_node_is_named_before_a_password_is_looked_for(ask, words):
    done = ask("provision", *words, secret="")
    assert done.exit_code == 2
    assert words[-1] in done.stderr and "secret" not in done.stderr


def test_an_empty_password_is_called_empty(ask):
    done = ask("provision", "--all", secret="")
    assert done.exit_code == 1
    assert "error SEC004: the secret bmc-password is empty in GPUYARD_SECRET_BMC_PASSWORD" in done.stderr


def test_applying_wants_to_know_which_nodes(ask):
    done = ask("provision", "--apply")
    assert done.exit_code == 2
    assert "name the nodes with --limit, or say --all" in done.stderr


def test_a_folder_without_a_journal_is_no_new_journal(ask, machines, tmp_path):
    done = ask("provision", "--all", "--apply")
    assert done.exit_code == 2
    assert f"no journal of lab in {tmp_path}/state: correct --state" in " ".join(done.stderr.split())
    # What the boot server wrote while nothing was installed is no journal of an installation.
    Journal(tmp_path / "state").write("", "stranger", mac="02:00:00:00:00:01")
    assert ask("provision", "--all", "--apply").exit_code == 2
    assert ask("provision", "--all", "--new-journal").exit_code == 2
    assert Journal(tmp_path / "state").owner.machine == ""


def apply(ask, *words):
    return ask("provision", "--limit", "gpu-001", "--apply", "--no-wait", "--pause", "0", *words)


def test_the_first_run_begins_the_journal_and_the_second_needs_no_word(ask, machines, tmp_path):
    machines["gpu-001"] = "on"
    done = apply(ask, "--new-journal")
    assert done.exit_code == 1
    assert "refused" in done.stdout and "1 refused." in done.stdout
    assert Journal(tmp_path / "state").owner.cluster == "lab"
    assert apply(ask).exit_code == 1
    done = apply(ask, "--new-journal")
    assert done.exit_code == 2 and "has begun already, with 0 nodes" in done.stderr


def test_two_runs_at_once_do_not_give_a_machine_its_orders_twice(ask, machines, tmp_path):
    machines["gpu-001"] = "on"
    assert apply(ask, "--new-journal").exit_code == 1
    with Journal(tmp_path / "state").hold():
        before = list(Journal(tmp_path / "state").events())
        done = apply(ask)
        assert done.exit_code == 2 and "another gpuyard provision installs by" in " ".join(done.stderr.split())
        assert list(Journal(tmp_path / "state").events()) == before
        assert ask("provision", "--limit", "gpu-001").exit_code == 1  # looking is allowed
    assert apply(ask).exit_code == 1


def test_a_journal_of_another_cluster_is_refused(ask, machines, tmp_path):
    Journal(tmp_path / "state").own("pod-a")
    for words in (["--all", "--apply"], ["--all"], ["--status"]):
        done = ask("provision", *words)
        assert done.exit_code == 2
        assert "is the journal of pod-a, not of lab: correct --state" in " ".join(done.stderr.split())
    assert ask("boot-server", "--listen", "127.0.0.1:0").exit_code == 2


def test_a_journal_of_another_boot_server_is_taken_over_by_a_word(ask, machines, tmp_path):
    other = Journal(tmp_path / "state", "other")
    other.own("lab")
    other.write("gpu-002", "begun", state="planned")
    other.write("gpu-002", "booted", state="booted")
    done = apply(ask)
    assert done.exit_code == 2 and "--take-over once that is off for good" in " ".join(done.stderr.split())
    done = ask("boot-server", "--listen", "127.0.0.1:0")
    assert done.exit_code == 2 and "take it over with gpuyard provision --take-over" in " ".join(done.stderr.split())
    assert ask("provision", "--status").exit_code == 0
    done = ask("provision", "--take-over")
    assert done.exit_code == 0 and "1 node, 1 of them being installed" in done.stdout
    machines["gpu-001"] = "on"
    assert apply(ask).exit_code == 1
    done = ask("provision", "--take-over")
    assert done.exit_code == 2 and "is this machine's already" in done.stderr


def test_a_journal_that_does_not_say_whose_it_is_is_gone_on_with_where_it_knows_the_nodes(ask, machines, tmp_path):
    journal, machines["gpu-001"] = Journal(tmp_path / "state"), "on"
    journal.write("elsewhere-1", "begun", state="planned")
    assert apply(ask).exit_code == 2
    journal.write("gpu-002", "begun", state="planned")
    assert apply(ask).exit_code == 1
    assert journal.owner.cluster == "lab"


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


def power(*words):
    return CliRunner().invoke(cli, ["bmc", "power", "inventory/lab", *words], env={"GPUYARD_SECRET_BMC_PASSWORD": "x"})


@pytest.mark.parametrize(
    ("serials", "told"),
    [
        (
            frozenset({"OTHER"}),
            "despite: its machine has the serial number OTHER, and the list of servers gives gpu-001 LAB00001",
        ),
        (BmcError("silent", "no answer in 20 s"), "despite: its serial number was not read: no answer in 20 s"),
        (frozenset({"LAB00001"}), ""),
    ],
)
def test_in_an_emergency_a_machine_is_switched_off_whatever_its_serial_number(machines, serials, told):
    machines["gpu-001"] = machine = DoubleBmc("on")
    machine.serials = serials
    done = power("off", "--despite-serial", "gpu-001")
    assert done.exit_code == 0 and "whatever machine is there: gpu-001" in done.stdout and machine.power == "on"
    done = power("off", "--despite-serial", "gpu-001", "--apply")
    assert (done.exit_code, machine.power) == (0, "off")
    assert re.split(" {2,}", done.stdout.splitlines()[1]) == ["gpu-001", "10.76.0.4", "on", "off", *([told] if told else [])]


def test_the_word_for_an_emergency_is_named_and_narrow(machines):
    machines["gpu-001"] = machine = DoubleBmc("on")
    machine.serials = frozenset({"OTHER"})
    done = power("off", "--limit", "gpu-001", "--apply")
    assert (done.exit_code, machine.power) == (3, "on")
    assert "in an emergency: --despite-serial gpu-001 takes its power away, whatever machine it is" in done.stderr
    for action in ("on", "soft", "cycle", "reset", "status"):
        done = power(action, "--despite-serial", "gpu-001", "--apply")
        assert done.exit_code == 2 and f"--despite-serial goes with off alone, not with {action}" in done.stderr
    done = power("off", "--limit", "gpu-002", "--despite-serial", "gpu-001", "--apply")
    assert done.exit_code == 2 and "not among the machines that are meant: gpu-001" in done.stderr
    assert machine.power == "on"


@pytest.fixture
def grouped(monkeypatch):
    """Have the group of gpu-001 and its neighbors named as that server is."""
    opened = open_example("lab")
    servers = tuple(replace(s, group="gpu-001") if s.group == "gpu" else s for s in opened.plan.servers)
    assert sum(server.group == "gpu-001" for server in servers) > 1
    changed = replace(opened, plan=replace(opened.plan, servers=servers))
    for module in ("bmc", "provision"):
        monkeypatch.setattr(f"cluster_model.cli.{module}.open_cluster", lambda *_: changed)


def test_a_word_that_names_a_node_does_not_mean_the_group_of_that_name(grouped, ask, machines):
    for server in ("gpu-001", "gpu-002"):
        machines[server] = DoubleBmc("on")
    done = power("off", "--despite-serial", "gpu-001", "--apply")
    assert (done.exit_code, machines["gpu-001"].power, machines["gpu-002"].power) == (0, "off", "on")
    for word in ("--reinstall", "--begin-again"):
        done = ask("provision", word, "gpu-001", "--format", "json")
        assert [node["name"] for node in json.loads(done.stdout)["nodes"]] == ["gpu-001"]
    done = ask("provision", "--limit", "gpu-001", "--reinstall", "gpu-001", "--format", "json")
    assert len(json.loads(done.stdout)["nodes"]) > 1


@pytest.mark.parametrize("name", ["control", "gpu-00*", "A01"])
def test_a_word_that_names_a_node_is_no_group_pattern_or_rack(ask, machines, name):
    for done in (power("off", "--despite-serial", name, "--apply"), ask("provision", "--reinstall", name)):
        assert done.exit_code == 2 and f"no server is meant by {name}" in done.stderr
        assert "--limit" not in done.stderr or "--reinstall" in done.stderr


def test_a_state_is_told_once_where_there_is_no_terminal(capsys):
    with _live({}, "text") as tell:
        for state in ("planned", "failed", "failed"):
            tell(Node("gpu-001", state=state))
    assert capsys.readouterr().err.splitlines() == ["gpu-001 planned", "gpu-001 failed"]


def test_a_reason_with_brackets_is_shown_on_a_terminal_as_it_is(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with _live({}, "text") as tell:
        tell(Node("gpu-001", state="failed", reason="[/red] no [bold]disk[/bold]"))
    assert "[/red] no [bold]disk[/bold]" in " ".join(capsys.readouterr().err.split())


def test_bmcs_that_are_silent_are_told_what_to_do_about(monkeypatch):
    monkeypatch.setattr(
        "cluster_model.transport.bmc.probe.probe", lambda name, address, timeout: Answerer(name, address, ipmi=name == "gpu-001")
    )
    done = CliRunner().invoke(cli, ["bmc", "discover", "inventory/lab"])
    assert done.exit_code == 3
    assert done.stdout.endswith("1 of 14 planned BMCs answer.\n")
    assert done.stderr.splitlines()[-1].startswith("fix: see that the others have power")
