"""`gpuyard diff` and `gpuyard show`: what they find in a plan."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from cluster_model.cli.changes import describe, summarize, word_moves
from cluster_model.cli.diff import command as diff
from cluster_model.cli.render import command as render
from cluster_model.cli.show import command as show
from cluster_model.cli.show import find
from cluster_model.plan.compare.plans import compare_plans
from cluster_model.plan.compare.tenants import ValueChange
from cluster_model.plan.model.provisioning import BootServer
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
    assert summarize(compare_plans(plan, new)) == f"Plan: 1 server, {count} cables to remove."
    assert summarize(compare_plans(new, plan)) == f"Plan: 1 server, {count} cables to add."
    assert word_moves(compare_plans(new, plan)) == "moves nothing that stands"
    assert word_moves(compare_plans(plan, new)) == "moves nothing that stands; 1 server taken away"
    moved = replace(swap(new, "servers", 0, u=40), switches=new.switches[:-2])
    assert word_moves(compare_plans(plan, moved)) == "moves what stands: 1 server; 1 server, 2 switches taken away"


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
    assert word_moves(changes) == "moves what stands: 1 server"
    changes = compare_plans(plan, swap(plan, "cables", 0, b_port="Ethernet400"))
    assert (word_moves(changes), summarize(changes)) == ("moves what stands: 1 cable", "Plan: nothing else.")
    changes = compare_plans(plan, swap(plan, "cables", 0, b_port="Ethernet400", length_m=99, medium="acc"))
    assert word_moves(changes) == "moves what stands: 1 cable with another item"
    (cable,) = changes.cables
    old = plan.cables[0]
    assert (cable.old_medium, cable.old_length_m, cable.medium, cable.length_m) == (old.medium, old.length_m, "acc", 99)
    line = next(line for line in describe(changes, {}) if line.startswith("  > "))
    assert line.endswith(f" to {old.b}:Ethernet400  {old.medium} {old.length_m:g} m becomes acc 99 m")
    changes = compare_plans(plan, swap(swap(plan, "cables", 0, b_port="Ethernet400", length_m=99), "cables", 1, b_port="other"))
    assert word_moves(changes) == "moves what stands: 2 cables, 1 of them with another item"
    cables = [replace(cable, b_port="other", length_m=99) for cable in plan.cables[:2]]
    changes = compare_plans(plan, replace(plan, cables=(*cables, *plan.cables[2:])))
    assert word_moves(changes) == "moves what stands: 2 cables, all with another item"
    changes = compare_plans(plan, swap(plan, "cables", 0, a_optic="osfp-dr4"))
    assert word_moves(changes) == "moves what stands: 1 cable replaced"
    assert " and ".join(filter(None, ("osfp-dr4", old.b_optic))) in changes.cables[0].new != changes.cables[0].old
    changes = compare_plans(plan, swap(plan, "cables", 0, length_m=99))
    assert (word_moves(changes), summarize(changes)) == ("moves what stands: 1 cable replaced", "Plan: nothing else.")
    assert word_moves(compare_plans(plan, swap(plan, "pdus", 0, rack="N01"))) == "moves what stands: 1 PDU"
    assert word_moves(compare_plans(plan, swap(plan, "switches", 0, u=3))) == "moves what stands: 1 switch"


def test_addresses_and_settings(plan):
    changes = compare_plans(plan, swap(plan, "switches", 0, asn=65000, mtu_bytes=1500))
    name = plan.switches[0].name
    assert changes.addresses == [ValueChange(name, "asn", str(plan.switches[0].asn), "65000")]
    assert changes.settings == [ValueChange(name, "mtu_bytes", "9100", "1500")]
    changes = compare_plans(plan, swap(plan, "switches", 0, ports=()))
    assert not changes.moved_addresses


def swap_port(plan, **values):
    server = plan.servers[0]
    return swap(plan, "servers", 0, ports=(replace(server.ports[0], **values), *server.ports[1:]))


def swap_bmc(plan):
    return swap(plan, "servers", 0, bmc=replace(plan.servers[0].bmc, address="10.1.2.3/26"))


def swap_service(plan):
    index = next(number for number, server in enumerate(plan.servers) if server.services)
    return swap(plan, "servers", index, services=(replace(plan.servers[index].services[0], address="10.1.2.3/32"),))


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda plan: swap_port(plan, address="10.1.2.3/31"), "gpu-001:enp24s0np0"),
        (swap_bmc, "gpu-001 bmc"),
        (swap_service, "gpu-001 service storage"),
        (lambda plan: swap(plan, "switches", 0, loopback="10.1.2.3/32"), "compute-leaf-u01-01"),
        (
            lambda plan: swap(plan, "switches", 0, management=replace(plan.switches[0].management, address="10.1.2.3/26")),
            "compute-leaf-u01-01 management",
        ),
        (lambda plan: swap(plan, "pdus", 0, management=replace(plan.pdus[0].management, address="10.1.2.3/26")), "pdu-a01-1 "),
        (
            lambda plan: replace(plan, provisioning=replace(plan.provisioning, servers=(BootServer("control-001", "10.1.2.3"),))),
            "boot servers",
        ),
    ],
)
def test_an_address_that_moves_is_told_apart(plan, make, told):
    (change,) = compare_plans(plan, make(plan)).moved_addresses
    assert change.subject.startswith(told)
    assert change.new.startswith("10.1.2.3")
    assert word_moves(compare_plans(plan, make(plan))) == "moves what stands: 1 address"


def test_an_address_that_comes_or_goes_does_not_move(plan):
    assert compare_plans(plan, swap_port(plan, address="")).moved_addresses == []
    assert compare_plans(swap_port(plan, address=""), plan).moved_addresses == []


def test_diff_tells_what_moves_before_all_else(tmp_path):
    driving = ROOT / "inventory/driving"
    shutil.copytree(driving, tmp_path / "new")
    file = tmp_path / "new/cluster.yml"
    text = file.read_text()
    core, front = "core: {id: 1, cidr: 10.48.0.0/24}", "front: {id: 2, cidr: 10.48.1.0/24}"
    assert core in text and front in text
    text = text.replace(core, core[:-1] + ", first: {control: 30}}").replace(front, front[:-1] + ", gateway: 10.48.1.254}")
    file.write_text(text.replace("train-016]", "train-015]"))
    done = CliRunner().invoke(diff, [str(driving), str(tmp_path / "new")])
    assert done.stdout.splitlines()[:8] == [
        "moves what stands: 4 addresses",
        "Plan: 12 servers, 4 switches, 1 subnet, 1 tenant to change.",
        "",
        "addresses to move",
        "  > control-001: bond0.161 (services) address 10.48.0.16/24 to 10.48.0.30/24",
        "  > control-002: bond0.161 (services) address 10.48.0.17/24 to 10.48.0.31/24",
        "  > control-003: bond0.161 (services) address 10.48.0.18/24 to 10.48.0.32/24",
        "  > subnet perception/front: gateway 10.48.1.1/24 to 10.48.1.254/24",
    ]
    told = json.loads(CliRunner().invoke(diff, [str(driving), str(tmp_path / "new"), "--format", "json"]).stdout)
    assert told["moves"] == {
        "servers": 0,
        "switches": 0,
        "pdus": 0,
        "cables": 0,
        "cables_with_another_item": 0,
        "replaced_cables": 0,
        "addresses": 4,
    }
    assert told["counts"]["change"] == {"server": 12, "switch": 4, "subnet": 1, "tenant": 1}
    assert told["summary"] == done.stdout.splitlines()[1]


def test_what_is_folded_is_counted_by_kind(plan):
    servers = tuple(replace(server, bmc=replace(server.bmc, address="10.1.2.3/26")) for server in plan.servers)
    switches = tuple(replace(switch, loopback="10.1.2.3/32") for switch in plan.switches if switch.loopback)
    others = tuple(switch for switch in plan.switches if not switch.loopback)
    cables = tuple(replace(cable, length_m=99, b_port="other") for cable in plan.cables)
    new = replace(plan, servers=servers, switches=(*switches, *others), cables=cables)
    lines = list(describe(compare_plans(plan, new), {}))
    left, hosts = len(switches), len(servers) - 12
    assert f"  and {left + hosts} more: {hosts} of servers, {left} of switches (--all lists them)" in lines
    networks = [network.name for network in plan.networks]
    last = next(line for line in lines[lines.index("\ncables to move") :] if line.startswith("  and "))
    assert [part.split()[-1] for part in last.partition(": ")[2].partition(" (")[0].split(", ")] == networks
    assert not any(" more" in line for line in describe(compare_plans(plan, new), {}, show_all=True))
    one = compare_plans(plan, replace(plan, servers=servers))
    assert f"  and {hosts} more of servers (--all lists them)" in list(describe(one, {}))


def test_a_switch_of_another_configuration_changes(plan):
    changes = compare_plans(plan, replace(plan, site=replace(plan.site, syslog=("10.1.2.3",))))
    assert summarize(changes) == "Plan: 1 setting to change."
    assert summarize(changes, ["spine-01/frr.conf", "spine-01/config_db.json"]) == "Plan: 1 switch, 1 setting to change."


def test_nodes_that_begin_to_tell_of_their_pods_move_nothing_and_are_two_lines(plan):
    servers = tuple(
        replace(server, services=tuple(replace(service, beyond=service.beyond[-1:]) for service in server.services))
        for server in plan.servers
    )
    switches = tuple(
        replace(switch, ports=tuple(replace(p, peer_asn=0) if p.use == "host" else p for p in switch.ports))
        for switch in plan.switches
    )
    changes = compare_plans(replace(plan, servers=servers, switches=switches), plan)
    assert word_moves(changes) == "moves nothing that stands"
    assert (changes.settings, changes.moved_addresses) == ([], [])
    assert len(changes.changed["server"]) == len(plan.kubernetes.nodes) == 11
    told = [line for line in describe(changes, {}) if line.startswith("  ")]
    assert [line.partition(": ")[2] for line in told] == [
        "beyond 10.72.0.0/17 becomes 10.244.0.0/16, 10.72.0.0/17",
        "peer_asn 0 becomes 64512",
    ]


@pytest.mark.parametrize("part", ["site", "lossless"])
def test_every_setting_counts(plan, part):
    value = getattr(plan, part)
    changed = replace(value, timezone="Mars/Olympus") if part == "site" else replace(value, data_dscp=30)
    assert compare_plans(plan, replace(plan, **{part: changed})).settings


def test_a_list_that_changes_says_what_does(plan):
    modes = plan.switches[0].modes
    for number, words in ((1, "1 other entry"), (2, "2 other entries")):
        other = tuple(replace(mode, native=not mode.native) if index < number else mode for index, mode in enumerate(modes))
        told = "\n".join(describe(compare_plans(plan, swap(plan, "switches", 0, modes=other)), {}))
        assert f"modes a list of {len(modes)} becomes one with {words}" in told
    (first, *rest) = plan.lossless.ecn
    ecn = ((first[0], first[1] + 1, *first[2:]), *rest)
    told = "\n".join(describe(compare_plans(plan, replace(plan, lossless=replace(plan.lossless, ecn=ecn))), {}))
    was, now = (f"({', '.join(map(str, entry))})" for entry in (first, ecn[0]))
    assert f"lossless: ecn {was} becomes {now}" in told
    classes = (*plan.lossless.dscp_to_tc[:-1], 7)
    told = "\n".join(describe(compare_plans(plan, replace(plan, lossless=replace(plan.lossless, dscp_to_tc=classes))), {}))
    assert "another list" not in told and "becomes 7" in told


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
    done = CliRunner().invoke(diff, [str(LAB), str(tmp_path / "new"), "--exit-code", "--all"])
    assert done.exit_code == 1
    first, *lines = done.stdout.splitlines()
    moved = int(re.search(r"(\d+) cables,", first)[1])
    assert moved > 12
    assert sum(line.startswith("  > ") and " from " in line for line in lines) == moved
    done = CliRunner().invoke(diff, [str(LAB), str(LAB), "--exit-code"])
    assert (done.exit_code, done.stdout) == (0, "No changes.\n")


def test_diff_hints_where_a_row_grew_and_things_move(tmp_path):
    shutil.copytree(LAB, tmp_path / "new")
    file = tmp_path / "new/cluster.yml"
    row = "N: {id: 2, racks: 3}"
    assert row in file.read_text()
    file.write_text(file.read_text().replace(row, "N: {id: 2, racks: 4}"))
    words = [str(LAB), str(tmp_path / "new")]
    hint = "racks.rows.N.racks: write [3, 1] instead of 4; it then moves nothing that stands"
    lines = CliRunner().invoke(diff, words).stdout.splitlines()
    assert lines[0].startswith("moves what stands: ") and lines[1] == f"hint: {hint}"
    assert json.loads(CliRunner().invoke(diff, [*words, "--format", "json"]).stdout)["hints"] == [hint]
    file.write_text(file.read_text().replace("racks: 4}", "racks: [3, 1]}"))
    assert CliRunner().invoke(diff, words).stdout.startswith("moves nothing that stands\n"), "the hint is true"
    text = file.read_text().replace("racks: [3, 1]}", "racks: 3}").replace("count: 8, unit: 4", "count: 8, planned: 12, unit: 4")
    file.write_text(text.replace("A: {id: 1, racks: 2}", "A: {id: 1, racks: [2, 1]}"))
    line = CliRunner().invoke(diff, words).stdout.splitlines()[1]
    assert line == "hint: servers.gpu.planned: write [8, 4] instead of 12; it then moves nothing that stands"


def test_diff_hints_only_at_what_helps_and_says_how_much(tmp_path):
    shutil.copytree(LAB, tmp_path / "new")
    file = tmp_path / "new/cluster.yml"
    text = file.read_text()
    words = [str(LAB), str(tmp_path / "new")]

    def begin(*pairs):
        changed = text
        for old, new in pairs:
            assert old in changed
            changed = changed.replace(old, new)
        file.write_text(changed)
        return CliRunner().invoke(diff, words).stdout.splitlines()[:2]

    pool, row = ("pool: 10.64.0.0/14", "pool: 10.80.0.0/14"), "A: {id: 1, racks: 2}"
    first, hint = begin(pool, (row, "A: {id: 1, racks: 3}"))
    assert re.fullmatch(r"moves what stands: \d+ cables, \d+ addresses", first)
    told = re.fullmatch(
        r"hint: racks.rows.A.racks: write \[2, 1\] instead of 3; it then (moves what stands: \d+ addresses)", hint
    )
    assert begin(pool, (row, "A: {id: 1, racks: [2, 1]}"))[0] == told[1]
    wide = ("per_rack: 4", "per_rack: 2")
    first, second = begin(wide, (row, "A: {id: 1, racks: 4}"))
    assert first.startswith("moves what stands: ") and second.startswith("Plan: ")


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


def test_show_says_why_something_is_elsewhere(tmp_path):
    shutil.copytree(LAB, tmp_path / "lab")
    file = tmp_path / "lab/cluster.yml"
    group, place = "per_rack: 4}", "place: [{number: 5, rack: A02, u: 40, reason: a beam bars U1}]"
    assert file.read_text().count(group) == 1
    moved = [
        '{cable: gpu-001:enp24s0np0, to: "compute-leaf-u01-01:Ethernet64", reason: cage 1 is dead}',
        '{cable: gpu-005:bmc, to: "oob-leaf-a02:swp44", reason: port 1 is dead}',
    ]
    text = file.read_text().replace(group, f"per_rack: 4, {place}}}")
    file.write_text(f"{text}\ncables:\n  exceptions: [{', '.join(moved)}]\n")
    placed = ("gpu-005 was put into A02 at U40", "a beam bars U1", "servers.gpu.place.0")
    port = ("gpu-001:enp24s0np0 was moved to compute-leaf-u01-01:Ethernet64", "cage 1 is dead", "cables.exceptions.0")
    bmc = ("gpu-005:bmc was moved to oob-leaf-a02:swp44", "port 1 is dead", "cables.exceptions.1")
    told = {
        "gpu-005": [placed, bmc],
        "gpu-005:bmc": [bmc],
        "oob-leaf-a02": [bmc],
        "gpu-001": [port],
        "gpu-001:enp24s0np0": [port],
        "compute-leaf-u01-01": [port],
        "compute-leaf-u01-01:Ethernet64": [port],
        "compute-leaf-u01-01:Ethernet4": [],
        "gpu-002": [],
        "compute-spine-01": [],
        "A02": [],
    }
    for name, rows in told.items():
        words = [str(tmp_path / "lab"), *name.split()]
        found = json.loads(CliRunner().invoke(show, [*words, "--format", "json"]).stdout)
        assert [(row["what"], row["reason"], row["key"]) for row in found.get("exceptions", [])] == rows, name
        printed = CliRunner().invoke(show, words).stdout
        assert all(part in printed for row in rows for part in row) and ("exceptions" in printed) == bool(rows)


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


MOVED = re.compile(r"^warning: against what \S+/tree was rendered from, this moves what stands: (.*)$", re.M)


def test_render_warns_of_what_moves(tmp_path):
    shutil.copytree(LAB, tmp_path / "lab")
    file = tmp_path / "lab/cluster.yml"
    words = [str(tmp_path / "lab"), "-o", str(tmp_path / "tree"), "--only", "plan"]
    assert "moves" not in CliRunner().invoke(render, words).stderr
    text = file.read_text()
    assert "storage: {id: 2" in text and "control: {id: 3" in text
    file.write_text(text + "# nothing else\n")
    assert "moves" not in CliRunner().invoke(render, words).stderr, "of the same plan read from its file nothing differs"
    file.write_text(text.replace("storage: {id: 2", "storage: {id: 9"))
    for more in (["--check"], []):  # what would be written is told alike
        told = CliRunner().invoke(render, [*words, *more]).stderr
        assert re.fullmatch(
            r"6 servers, \d+ cables, (\d+ of them with another item, )?(\d+ cables replaced, )?\d+ addresses",
            MOVED.search(told)[1],
        )
        assert "\naddresses to move\n  > storage-001 bmc: 10.76." in told
        assert "\nservers to move\n  > storage-001  N01 U1 to N01 U2\n" in told
        assert re.search(r"^  and \d+ more: \d+ of servers, 1 of settings \(gpuyard diff OLD NEW lists them\)$", told, re.M)
    again = CliRunner().invoke(render, words)
    assert (again.exit_code, "moves" in again.stderr) == (0, False)
    for broken in ("{", '{"format": "gpuyard-plan-1", "servers": [3]}', '{"format": "gpuyard-plan-1"}'):
        (tmp_path / "tree/plan.json").write_text(broken)
        unread = f"what moves was not compared with {tmp_path / 'tree'}: its plan.json cannot be read by this version"
        for more in (["plan", "--check"], ["switches"], ["plan"]):
            done = CliRunner().invoke(render, [*words[:-1], *more])
            assert (done.exit_code, "moves what stands" in done.stderr) == (int("--check" in more), False)
            assert done.stderr.splitlines().count(f"warning: {unread}") == 1
        assert (tmp_path / "tree/plan.json").read_text() != broken


def test_render_of_one_family_warns_of_what_moves_in_the_plan_that_stands(tmp_path):
    shutil.copytree(LAB, tmp_path / "lab")
    file = tmp_path / "lab/cluster.yml"
    words = [str(tmp_path / "lab"), "-o", str(tmp_path / "tree")]
    assert CliRunner().invoke(render, [*words, "--only", "plan"]).exit_code == 0
    assert "moves" not in CliRunner().invoke(render, [*words, "--only", "switches"]).stderr
    file.write_text(file.read_text().replace("storage: {id: 2", "storage: {id: 9"))
    done = CliRunner().invoke(render, [*words, "--only", "switches"])
    assert MOVED.search(done.stderr)
    file.write_text(file.read_text().replace("storage: {id: 9", "storage: {id: 2"))
    told = json.loads(CliRunner().invoke(render, [*words, "--only", "switches", "--format", "json"]).stdout)
    assert told["moves"]["servers"] == 0 and told["moved_addresses"] == []


def test_one_file_is_told_in_the_singular(tmp_path):
    words = [str(LAB), "-o", str(tmp_path / "tree"), "--only", "dns"]
    assert CliRunner().invoke(render, words).exit_code == 0
    next((tmp_path / "tree/dns").glob("*.zone")).unlink()
    assert "/tree: 1 file would be written, " in CliRunner().invoke(render, [*words, "--check"]).stdout
    assert "/tree: 1 file written, " in CliRunner().invoke(render, words).stdout
    assert "/tree: 0 files written, " in CliRunner().invoke(render, words).stdout


def test_a_difference_shows_configurations_first_and_not_what_follows(tmp_path):
    shutil.copytree(LAB, tmp_path / "lab")
    file = tmp_path / "lab/cluster.yml"
    words = [str(tmp_path / "lab"), "-o", str(tmp_path / "tree")]
    assert CliRunner().invoke(render, words).exit_code == 0
    text = file.read_text()
    file.write_text(text + "# nothing else\n")
    lines = CliRunner().invoke(render, [*words, "--check", "--diff"]).stdout.splitlines()
    assert lines[0] == "5 more differ, not shown: plan, manifest, page, drawings, or digests alone"
    assert [line.rpartition("/")[2] for line in lines[1:6]] == [
        "boot.json",
        "index.html",
        "inventory.json",
        "manifest.json",
        "plan.json",
    ]
    file.write_text(text.replace("switches: {spine: 2}", "switches: {spine: 4}"))
    done = CliRunner().invoke(render, [*words, "--check", "--diff"])
    shown = [line.partition("/tree/")[2] for line in done.stdout.splitlines() if line.startswith("+++ ")]
    families = list(dict.fromkeys(path.partition("/")[0] for path in shown))
    assert families == ["switches", "boot", "dns", "inventory", "cabling"]
    assert "5 more differ, not shown:" in done.stdout and "would write" in done.stdout


def test_what_is_no_tree_of_this_cluster_was_not_to_be_compared(tmp_path):
    words = [str(LAB), "-o", str(tmp_path / "tree"), "--only", "plan"]
    assert "was not compared" not in CliRunner().invoke(render, words).stderr
    (tmp_path / "tree/plan.json").write_text("{")
    manifest = tmp_path / "tree/manifest.json"
    text = manifest.read_text()
    for other in (text.replace('"cluster": "lab"', '"cluster": "other"'), ""):
        assert other != text
        manifest.write_text(other)
        done = CliRunner().invoke(render, words)
        assert done.exit_code == 1 and "was not compared" not in done.stderr
