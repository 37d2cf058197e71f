"""`gpuyard plan`, `show` and `diff` on tenants, and the cables of the border: what `driving` says, and what a change says."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from cluster_model.cli.changes import describe as describe_changes
from cluster_model.cli.plan import _wrap
from cluster_model.cli.plan import command as plan_command
from cluster_model.cli.show import command as show
from cluster_model.cli.show import find
from cluster_model.plan.compare.plans import compare_plans
from cluster_model.plan.model.overlay import Filter
from cluster_model.render.cabling import render_cabling
from cluster_model.render.page.index import render_page
from cluster_model.render.plan_json import render_plan_json, summarize
from tests.planned import open_folder

ROOT = Path(__file__).parents[3]
DRIVING = ROOT / "inventory/driving"


def make_plan(folder):
    return open_folder(folder).plan


@pytest.fixture(scope="module")
def plan():
    return make_plan(DRIVING)


@pytest.fixture
def changed(tmp_path):
    """Return the plan of `driving` with one more tenant on the control nodes, and a smaller quota."""

    def make(old="", new=""):
        text = (DRIVING / "cluster.yml").read_text("utf-8")
        assert text.count(old) == 1
        (tmp_path / "cluster.yml").write_text(text.replace(old, new), "utf-8")
        for facts in DRIVING.glob("*.csv"):
            (tmp_path / facts.name).write_bytes(facts.read_bytes())
        return make_plan(tmp_path)

    return make


def list_words(plan, other):
    return [line.strip() for line in describe_changes(compare_plans(plan, other), {}, show_all=True)]


# --- plan


@pytest.fixture(scope="module")
def printed():
    done = CliRunner().invoke(plan_command, [str(DRIVING)])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_plan_prints_a_table_of_tenants(printed):
    rows = [" ".join(line.split()) for line in printed.splitlines()]
    assert "perception 1 perception 50001 8 64 train 17 192.168.0.0/20 services, planning (peer)," in rows
    assert "front 18 10.48.1.0/24 internet via 203.0.113.0/29" in rows
    assert "services 10 services 50010 3 core 161 10.48.0.0/24 (shared)" in rows
    assert "vehicles 64511 2 2,000 routes 10.200.0.0/14 up to /24 10.48.16.0/24 intake" in rows


def test_plan_prints_homing_with_its_reason_and_isolation(printed, plan):
    lines = printed.splitlines()
    reason = plan.network("business").homing_reason
    assert reason
    assert any(line.startswith("business: homing ") and line.endswith(reason) for line in lines)
    assert "compute: isolation none: tenants share the compute fabric" in lines
    ceph = "a namespace and a user of Ceph for perception, planning, intake"
    assert f"storage: isolation none: tenants share it, with {ceph}" in lines


def test_plan_fits_a_terminal(printed):
    """120 columns, as docs/commands.md shows it."""
    assert max(len(line) for line in printed.splitlines()) <= 120


def test_fifty_tenants_fit_a_terminal_too(tmp_path):
    rows = [
        f"  t{n:02d}: {{id: {n}, subnets: {{front: {{id: 1, cidr: 10.50.{n}.0/24, servers: [control]}}}}, uses: [services], "
        "egress: [vehicles]}\n"
        for n in range(20, 90)
    ]
    text = (DRIVING / "cluster.yml").read_text("utf-8")
    (tmp_path / "cluster.yml").write_text(text.replace("\nceph:", f"{''.join(rows)}\nceph:"), "utf-8")
    for facts in DRIVING.glob("*.csv"):
        (tmp_path / facts.name).write_bytes(facts.read_bytes())
    lines = CliRunner().invoke(plan_command, [str(tmp_path)]).stdout.splitlines()
    assert max(len(line) for line in lines) <= 120
    assert sum(line.startswith("t") and "services, vehicles" in line for line in lines) == 60 - 5
    assert "  and 15 more tenants" in lines
    assert any(line.startswith("vehicles") and line.endswith("71 tenants") for line in lines)


def test_lists_are_wrapped_between_words():
    lines = _wrap([f"tenant-{number:02d}" for number in range(50)])
    assert max(map(len, lines)) <= 33
    assert " ".join(lines).replace(",", "").split() == [f"tenant-{number:02d}" for number in range(50)]


def test_a_cluster_without_tenants_says_nothing_of_them():
    out = CliRunner().invoke(plan_command, [str(ROOT / "inventory/lab")]).stdout
    assert "tenant" not in out
    assert "isolation" not in out


# --- plan.json


def test_the_summary_has_tenants_and_the_border(plan):
    body = summarize(plan)
    assert body["tenants"]["perception"] == {
        "id": 1,
        "vrf": "perception",
        "vni": 50001,
        "subnets": {
            "train": {"prefix": "192.168.0.0/20", "vlan": 17, "vni": 10017},
            "front": {"prefix": "10.48.1.0/24", "vlan": 18, "vni": 10018},
        },
        "gpu_quota": 64,
        "servers": 8,
    }
    assert body["tenants"]["services"]["gpu_quota"] is None
    assert body["border_peers"] == {"internet": 64496, "vehicles": 64511}
    business = body["networks"]["business"]
    assert business["switches"]["border"] == 2
    assert business["cables"]["peer_link"] == sum(cable.kind == "peer_link" for cable in plan.cables)
    assert body["networks"]["compute"]["isolation"] == "none"
    for name, network in body["networks"].items():
        assert sum(network["switches"].values()) == sum(switch.network == name for switch in plan.switches)


def test_plan_json_has_a_line_per_tenant(plan):
    lines = render_plan_json(plan).decode().splitlines()
    body = json.loads("\n".join(lines))
    for part in ("tenants", "border_peers", "meetings"):
        start = lines.index(f'"{part}":[')
        rows = [json.loads(line.rstrip(",")) for line in lines[start + 1 : start + 1 + len(body[part])]]
        assert rows == body[part]
        assert len(rows) == len(getattr(plan, part))


# --- cables and page


def test_links_to_external_peers_are_in_the_cable_list(plan):
    files = dict(render_cabling(plan))
    rows = list(csv.DictReader(io.StringIO(files["cabling/cables.csv"].decode())))
    ways = {(row["a_device"], row["b_device"], row["b_port"]) for row in rows if row["network"] == "business"}
    for border, address in (("business-border-01", "198.51.100.0"), ("business-border-02", "198.51.100.2")):
        assert (border, "internet", address) in ways
    peer_links = [row for row in rows if row["kind"] == "peer_link"]
    assert len(peer_links) == plan.network("business").peer_link_cables
    assert all(row["a_device"][:-1] == row["b_device"][:-1] for row in peer_links), "both ends in one pair"


def test_the_page_lists_tenants_and_peers(plan):
    page = render_page(plan).decode()
    for word in ("perception", "203.0.113.16/29", "10.200.0.0/14 up to /24", "dedicated line to the depots"):
        assert word in page


# --- show


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("perception", [("tenant", "perception")]),
        ("infer", [("tenant", "inference")]),
        ("internet", [("border peer", "internet")]),
        ("192.168.0.0/20", [("subnet", "train"), ("subnet", "train"), ("subnet", "serve")]),
        ("10.48.1.0/24", [("subnet", "front")]),
        ("vni 10017", [("subnet", "train")]),
        ("VNI 50010", [("tenant", "services")]),
        ("50010", [("tenant", "services")]),
        ("vlan 17", [("subnet", "train")]),
        ("17", [("subnet", "train")]),
        ("vlan 16", [("tenant", "perception")]),
    ],
)
def test_show_finds_tenants(plan, name, found):
    assert [(facts["kind"], facts["name"]) for facts in find(plan, name)] == found


def test_an_address_is_shown_in_every_tenant_that_has_it(plan):
    found = find(plan, "192.168.0.16")
    assert [(f["tenant"], f.get("device", ""), f["use"]) for f in found] == [
        ("perception", "train-001", "interface bond0.17"),
        ("planning", "", "nobody has it"),
        ("inference", "infer-001", "interface bond0.49"),
    ]
    assert {facts["use"] for facts in find(plan, "192.168.0.1")} == {"anycast gateway"}
    (pooled,) = find(plan, "10.48.3.100")
    assert pooled["use"] == "DHCP hands it out (pool 10.48.3.64 to 10.48.3.250)"
    (below,) = find(plan, "10.48.3.63")
    assert below["use"] == "nobody has it"
    (outside,) = find(plan, "203.0.113.9")
    assert (outside["use"], outside["tenant"]) == ("outside address at internet", "planning")
    (line,) = find(plan, "198.51.100.4")
    assert (line["device"], line["vrf"], line["peer"]) == ("vehicles", "vehicles", "business-border-01:swp2")


def test_every_address_on_a_bond_is_found(plan):
    for server in plan.servers:
        for bond in server.bonds:
            for vlan in bond.vlans:
                if vlan.address:
                    places = [(f["tenant"], f.get("device")) for f in find(plan, vlan.address)]
                    assert (vlan.tenant, server.name) in places


def run_show(*words):
    done = CliRunner().invoke(show, [str(DRIVING), *words])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_show_prints_devices_with_what_they_have_of_tenants():
    border = run_show("business-border-01")
    rows = [" ".join(line.split()) for line in border.splitlines()]
    address = "198.51.100.5/31 198.51.100.4"
    assert f"vehicles vehicles swp2 100 1500 {address} 64511 2000 bgp-vehicles 10.200.0.0/14 up to /24 10.48.16.0/24" in rows
    assert any(row.startswith("perception perception 16 internet internet 203.0.113.0/30 ") for row in rows)
    leaf = [" ".join(line.split()) for line in run_show("business-leaf-u01-01").splitlines()]
    assert any(row.startswith("17 10017 perception-train ") and row.endswith("perception 192.168.0.1/20") for row in leaf)
    assert any(" train-001 " in row and row.startswith("8 ") and "17, 18" in row for row in leaf)
    server = [" ".join(line.split()) for line in run_show("train-001").splitlines()]
    assert "bond0.18 perception front 18 yes 10.48.1.16/24 10.48.1.1 no yes" in server
    assert "Overlay(" not in border + str(leaf) + str(server)
    assert json.loads(run_show("business-border-01", "--format", "json"))["overlay"]["externals"][0]["peer"] == "internet"


def test_show_takes_a_number_in_two_words():
    assert "name          front" in run_show("vni", "10018")
    done = CliRunner().invoke(show, [str(DRIVING), "vni", "77"])
    assert done.exit_code == 2
    assert "nothing in driving is called vni 77" in done.stderr
    done = CliRunner().invoke(show, [str(DRIVING), "percepton"])
    assert "did you mean perception" in done.stderr


# --- diff


NEW = """\
  mapping:
    id: 4
    gpus: 8
    subnets: {front: {id: 1, cidr: 10.48.4.0/24, servers: [control]}}
    uses: [services]
    egress: [internet]
    nat: {internet: 203.0.113.24/29}
  services:"""


def test_diff_tells_a_new_tenant_from_end_to_end(plan, changed):
    words = list_words(plan, changed("  services:", NEW))
    assert words[0] == "moves nothing that stands"
    assert words[1] == "Plan: 1 tenant, 1 subnet, 2 crossings of tenants to add; 3 servers, 4 switches, 1 border peer to change."
    for line in (
        "+ tenant mapping: id 4, vrf mapping, vni 50004, gpus 8",
        "+ subnet mapping/front: prefix 10.48.4.0/24, vlan 65, vni 10065",
        "+ mapping uses services: offered 10.48.0.0/24, returned 10.48.4.0/24",
        "+ mapping leaves by internet: offered the default route",
        "+ control-001: bond0.65 (mapping) address 10.48.4.16/24, tenant mapping, subnet front",
        "+ business-leaf-u01-01, business-leaf-u01-02: VLAN 65 name mapping-front, vni 10065, address 10.48.4.1/24",
        "+ business-leaf-u01-01, business-leaf-u01-02: VRF services imports mapping: 10.48.4.0/24",
        "+ business-border-01: NAT of mapping to internet outside 203.0.113.24/30",
    ):
        assert line in words
    assert not [line for line in words if line.startswith(("~", "-"))], "nothing else changes"


def test_diff_tells_a_tenant_that_goes(plan, changed):
    words = list_words(changed("  services:", NEW), plan)
    assert "- tenant mapping: id 4, vrf mapping, vni 50004, gpus 8" in words
    assert not [line for line in words if line.startswith(("~", "+"))]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("gpus: 48", "gpus: 40", "~ tenant inference: gpus 48 becomes 40"),
        ("max_routes: 2000", "max_routes: 900", "~ border peer vehicles: max_routes 2000 becomes 900"),
        (
            "announce: [{prefix: 10.48.16.0/24}]",
            "announce: [{prefix: 10.48.16.0/25}]",
            "- border peer vehicles: announce 10.48.16.0/24",
        ),
        ("cidr: 10.48.2.0/24", "cidr: 10.48.22.0/24", "~ subnet planning/front: prefix 10.48.2.0/24 becomes 10.48.22.0/24"),
        ("vrf: infer\n", "vrf: serving\n", "~ tenant inference: vrf infer becomes serving"),
        (
            "egress: [vehicles]",
            "egress: []",
            "- intake leaves by vehicles: offered 10.200.0.0/14 up to /24, returned 10.48.16.0/24",
        ),
    ],
)
def test_diff_tells_what_changes_of_a_tenant(plan, changed, old, new, line):
    assert line in list_words(plan, changed(old, new))


def test_no_record_of_tenants_is_overlooked(plan):
    for part in ("tenants", "border_peers", "meetings"):
        assert compare_plans(plan, replace(plan, **{part: getattr(plan, part)[1:]})).tenants, part
    for part in ("vlans", "vrfs", "bonds", "externals", "nat", "mlag"):
        index = next(i for i, s in enumerate(plan.switches) if s.overlay and getattr(s.overlay, part))
        switch = plan.switches[index]
        gone = replace(switch.overlay, **{part: None if part == "mlag" else getattr(switch.overlay, part)[1:]})
        switches = (*plan.switches[:index], replace(switch, overlay=gone), *plan.switches[index + 1 :])
        found = compare_plans(plan, replace(plan, switches=switches)).overlays
        assert [change.subject for change in found] == [switch.name], part
    session = next(s for s in plan.switches if s.overlay and s.overlay.externals)
    way = replace(session.overlay.externals[0], accept=(Filter("10.0.0.0/8"),))
    other = replace(session, overlay=replace(session.overlay, externals=(way, *session.overlay.externals[1:])))
    switches = tuple(other if switch is session else switch for switch in plan.switches)
    words = list_words(plan, replace(plan, switches=switches))
    assert f"+ {session.name}: session with internet on swp1 accept 10.0.0.0/8" in words
    assert f"- {session.name}: session with internet on swp1 accept the default route" in words
