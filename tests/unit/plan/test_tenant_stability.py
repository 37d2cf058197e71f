"""Adding a tenant changes nothing of the others: `driving` with one more tenant, compared file by file.

The new tenant lives on the control nodes, beside the shared services; its train subnet has the prefix that three others have, it
uses the services and leaves by the internet. Its id lies between those of others, or behind them, and it stands first or last in
the file: neither may matter.
"""

import csv
import difflib
import io
import json
import re
from pathlib import Path

import pytest

from cluster_model.plan.compare.plans import compare_plans
from cluster_model.render.tree import render_tree
from tests.planned import open_folder

ROOT = Path(__file__).parents[3]
DRIVING = ROOT / "inventory/driving"
TENANT = """\
  mapping:
    id: {id}
    gpus: 8
    subnets:
      train: {{id: 1, cidr: 192.168.0.0/20, servers: [control], visible: false}}
      front: {{id: 2, cidr: 10.48.4.0/24, servers: [control]}}
    uses: [services]
    egress: [internet]
    nat: {{internet: 203.0.113.24/29}}
"""
LISTS = re.compile(r"^\s*(bridge-ports|bridge-vids) (.+)$")
"""Lines that hold a list of all tenants: the VXLAN devices and the VLANs of the one bridge. They may only grow."""
SHARED_NODES = {"control-001", "control-002", "control-003"}


def make_tree(folder):
    opened = open_folder(folder)
    plan, catalogue = opened.plan, opened.catalogue
    return plan, render_tree(plan, catalogue, {"switches", "inventory", "cabling", "plan"})


@pytest.fixture(scope="module")
def before():
    return make_tree(DRIVING)


@pytest.fixture(scope="module", params=[(4, "first"), (13, "last")], ids=["id 4, first", "id 13, last"])
def after(request, tmp_path_factory):
    id_, place = request.param
    folder = tmp_path_factory.mktemp("driving")
    for file in DRIVING.iterdir():
        if file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
    text = (DRIVING / "cluster.yml").read_text("utf-8")
    head = "tenants:\n" if place == "first" else "\nceph:"
    assert text.count(head) == 1
    new = TENANT.format(id=id_)
    text = text.replace(head, head + new if place == "first" else f"{new}{head}")
    (folder / "cluster.yml").write_text(text, "utf-8")
    return id_, *make_tree(folder)


def list_marks(id_):
    """Return what only the new tenant has: by these its lines are known."""
    vlans = [16 * id_, 16 * id_ + 1, 16 * id_ + 2]
    numbers = [*vlans, 10000 + vlans[1], 10000 + vlans[2], 50000 + id_, 10000 + id_]
    return re.compile(rf"mapping|10\.48\.4\.|203\.0\.113\.(24|28)|(?<!\d)({'|'.join(map(str, numbers))})(?!\d)")


def check_text(path, old, new, marks):
    """Return how many lines came; every line of before stands in its order, and every run of new ones is the new tenant's."""
    was, now = old.splitlines(), new.splitlines()
    came = 0
    for action, first, last, start, end in difflib.SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        added = now[start:end]
        if action in {"replace", "delete"}:
            for line in was[first:last]:
                name, values = LISTS.match(line).groups() if LISTS.match(line) else (None, "")
                grown = [found[2].split() for other in added if (found := LISTS.match(other)) and found[1] == name]
                assert name, f"{path}: a line of others goes: {line}"
                assert any([v for v in other if v in values.split()] == values.split() for other in grown), f"{path}: {line}"
        if action != "equal" and added:
            came += len(added)
            assert marks.search("\n".join(added)), f"{path}: lines that are not the new tenant's:\n" + "\n".join(added)
    return came


def check_json(path, old, new, marks):
    """Return how many entries came; what was there is the same, and what came names the new tenant."""
    if isinstance(old, dict) and isinstance(new, dict):
        assert [key for key in new if key in old] == list(old), f"{path}: an entry of others goes"
        came = [key for key in new if key not in old]
        for key in came:
            assert marks.search(f"{key} {json.dumps(new[key])}"), f"{path}: {key} is not the new tenant's"
        return len(came) + sum(check_json(f"{path}/{key}", old[key], new[key], marks) for key in old)
    assert old == new, path
    return 0


def test_every_line_of_others_stands_in_every_switch(before, after):
    id_, _, new = after
    _, old = before
    marks = list_marks(id_)
    files = [path for path in old if path.startswith("switches/")]
    assert files == [path for path in new if path.startswith("switches/")]
    changed = {}
    for path in files:
        was, now = old[path].decode(), new[path].decode()
        if was != now and path.endswith(".json"):
            changed[path] = check_json(path, json.loads(was), json.loads(now), marks)
        elif was != now:
            changed[path] = check_text(path, was, now, marks)
    devices = {path.split("/")[1] for path in changed}
    # Where the tenant's servers hang (and the services that it uses), and where it leaves; no other switch notices.
    assert devices == {"business-leaf-u01-01", "business-leaf-u01-02", "business-border-01", "business-border-02"}
    assert all(changed.values())


def test_the_judge_sees_a_change_of_others():
    marks = list_marks(4)
    assert check_text("x", "a\nb\n", "a\nvrf mapping\nb\n", marks) == 1
    assert check_text("x", "a\n bridge-vids 16 32\n", "a\n bridge-vids 16 32 64\n", marks) == 1
    for old, new in (
        ("a\nb\n", "b\n"),
        ("vlan 17\n", "vlan 18\n"),
        ("a\n", "a\nvrf planning\n"),
        ("bridge-vids 16 32\n", "bridge-vids 32 64\n"),
        ("a\nb\n", "b\na\n"),
    ):
        with pytest.raises(AssertionError):
            check_text("x", old, new, marks)
    for old, new in (({"a": 1}, {"a": 2}), ({"a": 1}, {}), ({}, {"a": 1}), ({"a": [1]}, {"a": [1, 2]})):
        with pytest.raises(AssertionError):
            check_json("x", old, new, marks)


def test_no_cable_and_no_label_changes(before, after):
    for path in ("cabling/cables.csv", "cabling/labels.csv", "cabling/bom.csv"):
        assert list(csv.reader(io.StringIO(before[1][path].decode()))) == list(csv.reader(io.StringIO(after[2][path].decode())))


def test_inventory_entries_of_other_devices_are_the_same(before, after):
    old, new = (json.loads(tree["inventory/inventory.json"]) for tree in (before[1], after[2]))
    was, now = old["_meta"]["hostvars"], new["_meta"]["hostvars"]
    assert list(was) == list(now)
    assert {name for name in was if was[name] != now[name]} == SHARED_NODES
    for name in SHARED_NODES:
        (bond,), (grown,) = was[name].pop("gpuyard_bonds"), now[name].pop("gpuyard_bonds")
        assert [vlan for vlan in grown["vlans"] if vlan["tenant"] != "mapping"] == bond["vlans"]
        assert len(grown["vlans"]) == len(bond["vlans"]) + 2
        assert was[name] == now[name]
    groups = {key: value for key, value in new.items() if key not in {"_meta", "all"}}
    shared = old["group_control"]["vars"], groups["group_control"]["vars"]
    assert shared[0].pop("gpuyard_tenant_names") == ["services"]
    assert sorted(shared[1].pop("gpuyard_tenant_names")) == ["mapping", "services"]
    assert groups == {key: value for key, value in old.items() if key not in {"_meta", "all"}}
    tenants = new["all"]["vars"]["gpuyard_tenants"]
    assert tenants.pop("mapping")
    assert tenants == old["all"]["vars"]["gpuyard_tenants"]


def test_the_comparison_has_nothing_but_what_comes(before, after):
    found = compare_plans(before[0], after[1])
    assert not (found.devices or found.cables or found.addresses or found.settings)
    assert [change for change in (*found.tenants, *found.overlays) if change.old] == []
