"""Hostile text at each door through which gear's words come in, and what then reaches terminal, CSV, JSON and GitHub."""

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cluster_model.cli.findings import format_github, format_text
from cluster_model.cli.group import cli
from cluster_model.transport.bmc.controller import BmcError, Machine, clean_machine
from cluster_model.transport.gear_text import clean_data, clean_line, clean_output, holds_hostile
from cluster_model.transport.session import Answer, UnreachableError
from cluster_model.transport.sweep import Reply
from cluster_model.verify.cabling.ibnetdiscover import read_topology
from cluster_model.verify.hosts.compare import read_reply
from cluster_model.verify.hosts.delivered import fill_facts, list_facts
from cluster_model.verify.hosts.machines import Visit, compare_machines
from cluster_model.verify.read.device import Wish, read_device
from cluster_model.verify.read.linux import parse_json, parse_lldp
from tests.planned import open_example

REFERENCE = "{{gpuyard-secret:ops-password}}"
HOSTILE = [
    ("plain", "plain"),
    ("  S-1.2/3 (x)  ", "S-1.2/3 (x)"),
    ("Gerät 5 µ", "Gerät 5 µ"),
    ("one\r\ntwo\tthree", "one two three"),
    ("\x1b[31mred\x1b[0m", "red"),
    ("\x1b]0;title\x07x\x1b]8;;http://x\x1b\\y", "xy"),
    ("a\x00b\x08c\x7fd\x9b31me", "a?b?c?d?31me"),
    ("ab\u202edc\u2066x\u200b", "ab?dc?x?"),
    ("line\u2028end\ud800", "line?end?"),
    (REFERENCE, "{?gpuyard-secret:ops-password}}"),
    ("{\x1b[0m{gpuyard-image:x}}", "{?gpuyard-image:x}}"),
    ("[red]x[/red]", "[red]x[/red]"),
    ("::error::x", "::error::x"),
]


@pytest.mark.parametrize(("text", "clean"), HOSTILE)
def test_a_value_is_one_line_that_shows_as_it_is(text, clean):
    assert clean_line(text) == clean
    assert clean_line(clean) == clean
    assert clean_data({text: [text, 1, None]}) == {clean: [clean, 1, None]}
    assert str(BmcError("refusal", text)) == str(UnreachableError(text)) == clean


def test_a_value_has_an_end():
    assert clean_line("x" * 300) == "x" * 255 + "…"
    assert clean_line("x" * 256) == "x" * 256


def test_output_keeps_its_lines():
    answer = Answer("Port  Speed\r\n\x1b[1mEthernet0\x1b[0m\t100G\r\n" + REFERENCE + "\x07\n")
    assert answer.text == "Port  Speed\nEthernet0\t100G\n{?gpuyard-secret:ops-password}}?\n"
    assert answer.altered and not Answer("\x1b[Kfine\n").altered
    assert clean_output("\x0bx") == "?x"


@pytest.mark.parametrize("text", [r'"\u001b[31m"', r'"\u009b"', r'"\u007b{gpuyard-secret:x}}"', f'"{REFERENCE}"', r'"\u0000"'])
def test_what_json_hides_is_seen_and_taken_out(text):
    assert holds_hostile(text)
    told = parse_json(f'{{"name": {text}}}')["name"]
    assert told.isprintable() and "{{gpuyard-" not in told
    assert not holds_hostile(r'{"descr": "Debian\nLinux\t\u00e9 \u0041"}')


class DoubleSwitch:
    """Hears a neighbour that says whatever it likes."""

    def ask(self, commands):
        said = {
            "chassis": [{"name": [{"value": "evil\nleaf\x1b[2J"}]}],
            "port": [{"id": [{"type": "ifname", "value": REFERENCE}]}],
        }
        heard = json.dumps({"lldp": [{"interface": [{"name": "eth1", "age": "0 day, 00:00:01", **said}]}]})
        links = json.dumps([{"ifname": "eth1", "link_type": "ether", "flags": ["UP", "LOWER_UP"], "mtu": 1500}])
        return [Answer(heard if "lldpcli" in line else links if "ip -d" in line else "[]") for line in commands]

    def close(self):
        pass


def test_a_neighbour_says_what_it_likes_by_lldp():
    device = read_device("leaf", "linux", DoubleSwitch(), Wish())
    (neighbour,) = device.ports["eth1"].neighbours
    assert (neighbour.system, neighbour.port) == ("evil leaf", "{?gpuyard-secret:ops-password}}")
    words = "LLDP neighbours (lldpcli): what it printed held control characters or a reference, which were taken out"
    assert words in device.gaps
    assert parse_lldp(json.dumps({"lldp": []})) == {}


def test_a_host_says_what_it_likes(monkeypatch):
    saved = json.loads(Path("docs/examples/hosts.json").read_text())["gpu-001"]["facts"]
    facts = saved | {"serial": "S\n" + REFERENCE, "model": "\x1b[31m[red]"}
    told = read_reply(Reply("gpu-001", json.dumps(facts), "", 1.0))
    assert (told.facts["serial"], told.facts["model"]) == ("S {?gpuyard-secret:ops-password}}", "[red]")
    assert read_reply(Reply("gpu-001", "", "no\x1b[2J\nlogin", 1.0)).reason == "no login"


def test_an_infiniband_node_says_what_it_likes():
    (node,) = read_topology(f'Switch\t40 "S-1"\t\t# "leaf\x1b[31m{REFERENCE}"\n').values()
    assert node.description == "leaf{?gpuyard-secret:ops-password}}"


@pytest.fixture(scope="module")
def plan():
    return open_example("lab").plan


def visit(plan, **texts):
    server = plan.servers[0]
    return {server.name: Visit(server.name, "10.0.0.1", clean_machine(Machine("redfish", "off", **texts)), None, 0.1)}


@pytest.mark.parametrize("serial", ["X\nevil,row", REFERENCE, "=cmd|' /C calc'!A0", "@SUM(1)", "+1", "-1+1", "\x1b[31mX"])
def test_a_serial_number_that_is_none_is_a_finding_and_gets_into_no_list(plan, serial):
    visits = visit(plan, serial=serial)
    findings = compare_machines(plan, visits)
    assert [finding.id for finding in findings] == ["BMC007"]
    facts = list_facts(plan, visits)
    assert "serial" not in facts[plan.servers[0].name]
    text, _ = fill_facts("", facts)
    assert REFERENCE not in text and all(cell[:1] not in set("=+-@") for row in csv.reader(io.StringIO(text)) for cell in row)
    for shown in (format_text(findings, {}), format_github(findings)):
        assert "\x1b" not in shown and REFERENCE not in shown and "\nevil" not in shown


def test_a_model_that_is_hostile_is_a_finding_and_harms_nobody(plan):
    findings = compare_machines(plan, visit(plan, model="\x1b[31m[red]M\x07", serial=plan.servers[0].serial))
    assert [(finding.id, finding.actual) for finding in findings] == [("BMC007", "[red]M?")]


def test_inventory_prints_what_a_bmc_says_in_one_line(plan, monkeypatch):
    class DoubleBmc:
        def read_machine(self):
            return clean_machine(Machine("redfish", "on", "X\nevil", "\x1b[31m[red]Evil", REFERENCE))

        def close(self):
            pass

    monkeypatch.setattr("cluster_model.transport.bmc.planned.Door.open", lambda door: DoubleBmc())
    words = ["bmc", "inventory", "inventory/lab", "--limit", "gpu-001"]
    done = CliRunner().invoke(cli, words, env={"GPUYARD_SECRET_BMC_PASSWORD": "x"})
    assert done.exit_code == 1
    assert [line for line in done.stdout.splitlines() if "X evil" in line and "[red]Evil {?gpuyard-secret" in line]
    assert "could be filled" not in done.stdout or "serial" not in done.stdout.partition("could be filled")[0].splitlines()[-2]
    done = CliRunner().invoke(cli, [*words, "--format", "json"], env={"GPUYARD_SECRET_BMC_PASSWORD": "x"})
    (machine,) = json.loads(done.stdout)["machines"]
    assert (machine["serial"], machine["altered"]) == ("X evil", ["serial", "manufacturer", "model"])
