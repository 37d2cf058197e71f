"""`gpuyard diff` and `gpuyard show`: what they find in a plan."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from cluster_model.cli.diff import command as diff
from cluster_model.cli.diff import summarize
from cluster_model.cli.show import command as show
from cluster_model.cli.show import find
from cluster_model.plan.compare.plans import compare_plans
from cluster_model.plan.compare.tenants import ValueChange
from tests.planned import open_example

ROOT = Path(__file__).parents[3]
LAB = ROOT / "inventory/lab"


@pytest.fixture(scope="module")
def plan():
    return open_example("lab").plan


def swap(plan, part, index, **changes):
    items = list(getattr(plan, part))
    items[index] = replace(items[index], **changes)
    return replace(plan, **{part: tuple(items)})


def test_a_plan_does_not_differ_from_itself(plan):
    changes = compare_plans(plan, replace(plan, digest="other", version="other"))
    assert not changes
    assert summarize(changes) == "No changes."


def test_a_server_less_and_its_cables(plan):
    gone = plan.servers[0]
    ends = {gone.name}
    new = replace(plan, servers=plan.servers[1:], cables=tuple(c for c in plan.cables if not {c.a, c.b} & ends))
    count = len(plan.cables) - len(new.cables)
    assert summarize(compare_plans(plan, new)) == f"Plan: 1 server to remove, 0 cables to add, {count} to remove, 0 to move."
    assert summarize(compare_plans(new, plan)) == f"Plan: 1 server to add, {count} cables to add, 0 to move."


def test_a_renamed_device_keeps_its_cables(plan):
    old = plan.servers[0]
    cables = tuple(replace(c, a="gpu-999") if c.a == old.name else c for c in plan.cables)
    changes = compare_plans(plan, replace(swap(plan, "servers", 0, name="gpu-999"), cables=cables))
    assert [(c.action, c.old, c.new) for c in changes.devices] == [("rename", old.name, "gpu-999")]
    assert changes.cables == []


def test_a_device_at_the_same_place_with_another_serial_is_another_device(plan):
    first = swap(plan, "servers", 0, serial="S1")
    second = swap(plan, "servers", 0, serial="S2", name="gpu-999")
    assert [c.action for c in compare_plans(first, second).devices] == ["remove", "add"]


def test_a_moved_server_and_a_moved_cable(plan):
    changes = compare_plans(plan, swap(plan, "servers", 0, u=40))
    assert [(c.action, c.old[-2:], c.new[-3:]) for c in changes.devices] == [("move", "U1", "U40")]
    changes = compare_plans(plan, swap(plan, "cables", 0, b_port="Ethernet400"))
    assert summarize(changes) == "Plan: 0 cables to add, 1 to move."
    changes = compare_plans(plan, swap(plan, "cables", 0, length_m=99))
    assert summarize(changes) == "Plan: 0 cables to add, 1 to replace, 0 to move."


def test_addresses_and_settings(plan):
    changes = compare_plans(plan, swap(plan, "switches", 0, asn=65000, mtu_bytes=1500))
    name = plan.switches[0].name
    assert changes.addresses == [ValueChange(name, "asn", str(plan.switches[0].asn), "65000")]
    assert changes.settings == [ValueChange(name, "mtu_bytes", "9100", "1500")]
    port = replace(plan.servers[0].ports[0], address="10.1.2.3/31")
    changes = compare_plans(plan, swap(plan, "servers", 0, ports=(port, *plan.servers[0].ports[1:])))
    assert [change.subject for change in changes.addresses] == [f"{plan.servers[0].name}:{port.name}"]


@pytest.mark.parametrize("part", ["site", "lossless"])
def test_every_setting_counts(plan, part):
    value = getattr(plan, part)
    changed = replace(value, timezone="Mars/Olympus") if part == "site" else replace(value, data_dscp=30)
    assert compare_plans(plan, replace(plan, **{part: changed})).settings


def test_no_field_of_a_plan_is_overlooked(plan):
    """Whatever part of the plan differs, the comparison is not empty."""
    for part in ("racks", "servers", "switches", "pdus", "cables", "networks", "power", "bom"):
        assert compare_plans(plan, replace(plan, **{part: getattr(plan, part)[1:]})), part


def test_diff_lists_every_cable_that_moves(tmp_path):
    shutil.copytree(LAB, tmp_path / "new")
    file = tmp_path / "new/cluster.yml"
    text = file.read_text()
    assert "switches: {spine: 2}" in text
    file.write_text(text.replace("switches: {spine: 2}", "switches: {spine: 4}"))
    done = CliRunner().invoke(diff, [str(LAB), str(tmp_path / "new"), "--exit-code"])
    assert done.exit_code == 1
    first, *lines = done.stdout.splitlines()
    moved = int(first.rsplit(", ", 1)[1].split()[0].replace(",", ""))
    assert moved > 12
    assert sum(line.startswith("  > ") and " from " in line for line in lines) == moved
    done = CliRunner().invoke(diff, [str(LAB), str(LAB), "--exit-code"])
    assert (done.exit_code, done.stdout) == (0, "No changes.\n")


def test_show_finds_every_name_and_address(plan):
    for device in (*plan.servers, *plan.switches, *plan.pdus):
        assert find(plan, device.name)[0]["name"] == device.name
    for server in plan.servers:
        for port in server.ports:
            assert find(plan, f"{server.name}:{port.name}")[0]["peer"] == port.peer
            if port.address:
                assert server.name in [facts["device"] for facts in find(plan, port.address)]
    for cable in plan.cables[:200]:
        assert find(plan, cable.label)[0]["cables"][0]["b"] == cable.b
        assert find(plan, f"{cable.b}:{cable.b_port}")[0]["cables"][0]["a"] == cable.a
    assert find(plan, "a01")[0]["devices"]
    assert find(plan, "nobody") == []
    assert find(plan, "192.0.2.1") == []


@pytest.mark.parametrize(
    ("name", "hint"), [("gpu-01", "did you mean gpu-001"), ("gpu-001:enp24s0np1", "enp24s0np0"), ("xyzzy", "give a device")]
)
def test_show_suggests(name, hint):
    done = CliRunner().invoke(show, [str(LAB), name])
    assert done.exit_code == 2
    assert hint in done.stderr


def test_show_says_who_would_have_an_address(plan):
    network = plan.network("compute")
    taken = {port.address.partition("/")[0] for server in plan.servers for port in server.ports}
    free = next(
        f"{network.pool.rsplit('.', 1)[0]}.{n}" for n in range(255, 0, -1) if f"{network.pool.rsplit('.', 1)[0]}.{n}" not in taken
    )
    assert find(plan, free)[0]["network"] == "compute"
