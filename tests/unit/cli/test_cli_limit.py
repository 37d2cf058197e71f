"""`--limit`: the same option wherever devices are acted on or checked."""

import json

import click
import pytest
from click.testing import CliRunner
from planned import open_example

from cluster_model.cli.group import VERBS, cli
from cluster_model.transport.bmc.probe import Answerer
from cluster_model.verify.observed import Observed, dump_observed

ACT_OR_CHECK = {
    "bmc discover", "bmc inventory", "bmc power", "bmc boot", "provision", "verify cabling", "verify fabric", "verify hosts",
}  # fmt: skip


def list_commands():
    for verb in VERBS:
        command = cli.get_command(click.Context(cli), verb)
        if isinstance(command, click.Group):
            yield from ((f"{verb} {name}", inner) for name, inner in command.commands.items())
        else:
            yield verb, command


def test_every_verb_that_asks_devices_has_the_same_option():
    found = {name: option for name, command in list_commands() for option in command.params if "--limit" in option.opts}
    assert set(found) == ACT_OR_CHECK
    assert len({(option.help, option.metavar, option.callback) for option in found.values()}) == 1


@pytest.fixture
def asked(monkeypatch):
    """Have BMCs answer, and return who was asked."""
    names = []

    def answer(name, address, timeout):
        names.append(name)
        return Answerer(name, address, ipmi=True)

    monkeypatch.setattr("cluster_model.transport.bmc.probe.probe", answer)
    return names


def discover(*words):
    return CliRunner().invoke(cli, ["bmc", "discover", "inventory/lab", *words])


@pytest.mark.parametrize(
    "words", [["--limit", "gpu-001,gpu-004"], ["--limit", "gpu-001", "--limit", "GPU-004 ,"], ["--limit", "gpu-00[14]"]]
)
def test_words_are_parted_by_commas_or_given_again(asked, words):
    done = discover(*words, "--format", "json")
    assert done.exit_code == 0 and sorted(asked) == ["gpu-001", "gpu-004"]
    assert [row["name"] for row in json.loads(done.stdout)["bmcs"]] == ["gpu-001", "gpu-004"]


def test_what_is_left_out_is_not_found_again_as_unplanned(asked):
    bmcs = [server.bmc.address.partition("/")[0] for server in open_example("lab").plan.servers if server.bmc]
    done = discover("--limit", "gpu-001", "--scan", f"{bmcs[0]}/28", "--format", "json")
    told = json.loads(done.stdout)["bmcs"]
    assert {row["name"] for row in told} == {"gpu-001", ""}
    assert not {row["address"] for row in told if not row["name"]} & set(bmcs)


@pytest.mark.parametrize("words", [["--limit", ""], ["--limit", " , "], ["--limit", "gpu-001", "--limit", ""]])
def test_an_empty_text_means_no_device_and_never_all(asked, words):
    done = discover(*words)
    assert (done.exit_code, asked) == (2, []) and "it is empty; name devices" in done.stderr


def test_a_slice_means_servers_wherever_devices_are_asked(asked):
    assert discover("--limit", "gpu-002..gpu-003,control-001").exit_code == 0
    assert sorted(asked) == ["control-001", "gpu-002", "gpu-003"]


@pytest.mark.parametrize(("words", "told"), [("gpu-001", "1 machine"), ("gpu-001..gpu-002", "2 machines")])
def test_what_would_be_told_is_counted(words, told):
    asked = ["bmc", "boot", "inventory/lab", "pxe", "--limit", words]
    done = CliRunner().invoke(cli, asked, env={"GPUYARD_SECRET_BMC_PASSWORD": "x"})
    assert done.stdout.startswith(f"would tell {told} to boot pxe at the next start: gpu-001")


def test_a_word_that_means_none_is_refused_before_anybody_is_asked(asked):
    done = discover("--limit", "gpu-01")
    assert (done.exit_code, asked) == (2, []) and "no server is meant by gpu-01; did you mean gpu-001?" in done.stderr


def test_the_rack_of_older_scripts_is_a_word_of_limit(tmp_path):
    def verify(*words):
        done = CliRunner().invoke(cli, ["verify", "cabling", "inventory/lab", "--observed", str(observed), *words])
        return done.stdout.splitlines()[0]

    observed = tmp_path / "observed.json"
    observed.write_bytes(dump_observed(Observed({})))
    assert verify("--rack", "a01") == verify("--limit", "A01") != verify()
    assert verify("--rack", "A01", "--rack", "A02") == verify("--limit", "A0*")
    assert verify("--rack", "A01", "--network", "compute") != verify("--rack", "A01")
