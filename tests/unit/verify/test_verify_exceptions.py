"""Cables that were built differently: once the intent says so, the floor is as planned and the switches name who is there."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from gear import Floor

from cluster_model.pipeline import plan, render
from cluster_model.plan.compare.plans import compare_plans
from cluster_model.verify.cabling.compare import compare_cabling

LAB = Path(__file__).resolve().parents[3] / "inventory" / "lab"
SWAP = ("gpu-001:enp24s0np0", "gpu-002:enp24s0np0")  # on one leaf
RAILS = ("gpu-003:enp24s0np0", "gpu-003:enp154s0np0")  # on two


@pytest.fixture(scope="module")
def told(lab, tmp_path_factory):
    """Return the lab with two pairs exchanged, and written down."""
    folder = tmp_path_factory.mktemp("told") / "lab"
    shutil.copytree(LAB, folder)
    ends = {cable.label: f"{cable.b}:{cable.b_port}" for cable in lab.cables}
    lines = ["cables:", "  exceptions:"]
    for one, other in (SWAP, RAILS):
        lines += [f"    - {{cable: {a}, to: {ends[b]}, reason: as built}}" for a, b in ((one, other), (other, one))]
    with (folder / "cluster.yml").open("a") as file:
        file.write("\n".join(lines) + "\n")
    return plan(folder)


def test_what_is_written_down_is_not_found(lab, told):
    floor = Floor(lab)
    by_label = {cable.label: cable for cable in lab.cables}
    for pair in (SWAP, RAILS):
        floor.permute([by_label[label] for label in pair], [1, 0])
    assert len(compare_cabling(lab, floor.observe()).findings) == 2
    assert compare_cabling(told.plan, floor.observe()).findings == []
    as_before = compare_cabling(told.plan, Floor(lab).observe()).findings
    assert {finding.id for finding in as_before} == {"VER001"}


def test_these_cables_move_and_no_others(lab, told):
    changes = compare_plans(lab, told.plan)
    assert {change.near for change in changes.cables} == {*SWAP, *RAILS}
    assert {change.action for change in changes.cables} == {"move"}
    assert not changes.devices
    assert not [change for change in changes.moved_addresses if change.subject.startswith(("gpu", "storage", "control"))]


def test_configs_name_who_is_there(lab, told):
    tree = render(told, {"switches", "cabling"})
    for label in (*SWAP, *RAILS):
        cable = next(c for c in told.plan.cables if c.label == label)
        config = tree[f"switches/{cable.b}/config_db.json"].decode()
        port = next(p for p in told.plan.switch(cable.b).ports if p.name == cable.b_port)
        assert json.loads(config)["PORT"][cable.b_port]["description"] == label
        assert f"{cable.b_port}|{port.address}" in config
    crossed = next(c for c in told.plan.cables if c.label == RAILS[0])
    address = next(p for p in told.plan.switch(crossed.b).ports if p.name == crossed.b_port).address
    assert f"network {address}" in tree[f"switches/{crossed.b}/frr.conf"].decode()
    rows = tree["cabling/cables.csv"].decode().splitlines()
    assert any(row.startswith(f"{RAILS[0]},") and f",{crossed.b},{crossed.b_port}," in row for row in rows)


def test_servers_are_configured_as_before(lab, told):
    def settings(server):
        return replace(server, ports=tuple(replace(port, peer="", peer_port="") for port in server.ports), optics_w=0)

    assert [settings(server) for server in told.plan.servers] == [settings(server) for server in lab.servers]
