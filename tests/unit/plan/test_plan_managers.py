"""Where fabric managers are plugged in: ports that leafs have for them alone, then any other of their speed."""

from pathlib import Path

import pytest

from cluster_model.catalogue.load import load_catalogue
from cluster_model.plan.build import build_plan
from tests.unit.plan.intents import ROOT, change, plan_of, read, small

UFM = {"id": 4, "model": "nvidia/ufm-3.1", "role": "fabric-manager", "manages": "compute", "racks": "network"}
XDR = {
    "servers__gpu__model": "nvidia/dgx-b300",
    "networks__compute": {"technology": "infiniband", "leaf": "nvidia/q3400-ra"},
}


def _links(plan):
    return [
        (server.name, port.name, port.peer, port.peer_port, port.speed_gbps)
        for server in plan.servers
        if server.role == "fabric-manager"
        for port in server.ports
        if port.network == "compute"
    ]


@pytest.mark.parametrize("unit", [8, 72])
def test_quantum_x800_has_a_port_for_ufm_on_every_leaf(unit):
    """FNM is beside the 144 ports: a unit that fills its leafs has no server less for it."""
    rows = {"A": {"id": 1, "racks": 18}, "N": {"id": 2, "racks": 8}}
    document = small(**XDR, racks__rows=rows, servers__gpu__count=unit, servers__gpu__unit=unit)
    plan = plan_of(change(document, servers__ufm={**UFM, "count": 2}))
    assert (plan.network("compute").leafs, len([server for server in plan.servers if server.role == "gpu"])) == (8, unit)
    links = _links(plan)
    assert links == [
        ("ufm-001", "ib0", "compute-leaf-u01-01", "73/1", 400),
        ("ufm-001", "ib1", "compute-leaf-u01-02", "73/1", 400),
        ("ufm-002", "ib0", "compute-leaf-u01-03", "73/1", 400),
        ("ufm-002", "ib1", "compute-leaf-u01-04", "73/1", 400),
    ]
    for leaf in (switch for switch in plan.switches if switch.network == "compute"):
        own = [port for port in leaf.ports if port.cage == 73]
        assert len(own) == sum(link[2] == leaf.name for link in links)
        assert {port.peer.partition("-")[0] for port in own} <= {"ufm"}
    cables = [cable for cable in plan.cables if cable.kind == "fabric_manager"]
    assert [(cable.a, cable.b_port, cable.speed_gbps) for cable in cables] == [(link[0], "73/1", 400) for link in links]
    assert plan.network("compute").fabric_manager_cables == 4


def test_managers_beyond_those_ports_take_a_split_cage():
    plan = plan_of(small(**XDR, servers__gpu__unit=8, servers__ufm={**UFM, "count": 5}))
    links = _links(plan)
    assert [link[3] for link in links[:8]] == ["73/1"] * 8
    assert len({link[2] for link in links[:8]}) == 8
    assert [(link[2], link[4]) for link in links[8:]] == [("compute-leaf-u01-01", 400), ("compute-leaf-u01-02", 400)]
    for link in links[8:]:
        leaf = plan.switch(link[2])
        cage = next(port.cage for port in leaf.ports if port.name == link[3])
        assert cage < 73
        assert next((mode.count, mode.speed_gbps) for mode in leaf.modes if mode.cage == cage) == (2, 400)


def test_a_port_for_managers_carries_no_host():
    """Servers of the manager's speed are seated in split cages, as if the port were not there."""
    plan = plan_of(small(networks__compute=XDR["networks__compute"]))
    leafs = [switch for switch in plan.switches if switch.network == "compute" and switch.role == "leaf"]
    assert leafs
    for leaf in leafs:
        hosts = [port for port in leaf.ports if port.use == "host"]
        assert hosts
        assert {(port.cage < 73, port.speed_gbps) for port in hosts} == {(True, 400)}
        assert not [port for port in leaf.ports if port.cage == 73]


def test_a_manager_of_another_speed_is_refused(tmp_path: Path):
    """An adapter of 100 Gb/s meets no port of an XDR switch; the finding names what the switch has."""
    text = (ROOT / "cluster_model/catalogue/data/device-types/nvidia/ufm-3.1.yaml").read_text("utf-8")
    folder = tmp_path / "device-types" / "acme"
    folder.mkdir(parents=True)
    slow = text.replace("nvidia-ufm-3-1", "acme-ufm-edr").replace("speed_gbps: 400, speeds_gbps: [200]", "speed_gbps: 100")
    assert slow.count("speed_gbps: 100") == 2
    (folder / "ufm-edr.yaml").write_text(slow, "utf-8")
    document = small(**XDR, servers__ufm={**UFM, "model": "acme/ufm-edr", "count": 2})
    plan, findings = build_plan(read(document), load_catalogue(tmp_path)[0], None, "digest")
    assert plan is None
    (finding,) = findings
    assert (finding.id, finding.where) == ("NET002", "servers.ufm.model")
    assert finding.expected.startswith("800, 400 Gb/s")
