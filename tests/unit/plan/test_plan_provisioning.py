"""Who boots whom, and how: chosen by id and number, never by the order of a file, and the same while the cluster grows."""

from __future__ import annotations

import copy

import pytest
from intents import SMALL, catalogue

from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.source.facts_csv import FactTables, ServerFacts
from cluster_model.plan.build import build_plan

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMcc03yzvjhn6Nw+dkDmkVyW2r2fZ7Y4FLMROm9Dlj2U"
ASKED = {"admins": {"ops": {"keys": [KEY]}}}


def document(**provisioning):
    found = copy.deepcopy(SMALL)
    found["servers"]["head"] = {"id": 7, "role": "control", "model": "generic/1u", "count": 3, "racks": "network"}
    found["servers"]["aux"] = {"id": 9, "role": "control", "model": "generic/1u", "count": 3, "racks": "network"}
    found["provisioning"] = {**ASKED, **provisioning}
    return found


def plan_of(found, facts=None):
    plan, findings = build_plan(Cluster.model_validate(found), catalogue(), facts)
    assert plan is not None, findings
    return plan


def turn(value):
    """Return a document with every mapping in the opposite order."""
    return {key: turn(item) for key, item in reversed(value.items())} if isinstance(value, dict) else value


def test_control_servers_boot_the_others_lowest_id_first():
    names = [server.name for server in plan_of(document()).provisioning.servers]
    assert names == ["head-001", "head-002", "head-003", "aux-001"]


@pytest.mark.parametrize(
    ("asked", "names"),
    [("aux", ["aux-001", "aux-002", "aux-003"]), ("head-002", ["head-002"]), ("aux-002..aux-003", ["aux-002", "aux-003"])],
)
def test_the_intent_may_name_them_and_leafs_relay_to_them(asked, names):
    plan = plan_of(document(servers=asked))
    assert [server.name for server in plan.provisioning.servers] == names
    addresses = tuple(server.address for server in plan.provisioning.servers)
    assert {vlan.dhcp_servers for switch in plan.switches for vlan in switch.vlans} == {addresses}


def test_addresses_to_relay_to_may_be_outside():
    found = document()
    found["networks"]["oob"]["dhcp_servers"] = ["10.255.0.67"]
    (server,) = plan_of(found).provisioning.servers
    assert (server.name, server.address) == ("", "10.255.0.67")


def test_a_server_named_by_its_address_keeps_its_name():
    found = document()
    address = plan_of(found).provisioning.servers[1].address
    found["networks"]["oob"]["dhcp_servers"] = [address]
    (server,) = plan_of(found).provisioning.servers
    assert (server.name, server.address) == ("head-002", address)


def test_the_order_of_the_file_does_not_matter():
    assert plan_of(turn(document())).provisioning == plan_of(document()).provisioning


def test_growth_changes_nothing_that_stood():
    found = document()
    for group in found["servers"].values():
        group["planned"] = 8
    found["servers"]["gpu"]["count"] = 4
    before = plan_of(found).provisioning
    for group in found["servers"].values():
        group["count"] = 8
    after = plan_of(found).provisioning
    assert after.servers[0] == before.servers[0]
    assert set(before.hosts) < set(after.hosts)
    assert set(before.segments) <= set(after.segments)
    assert after.installations == before.installations


def test_a_group_differs_where_it_says_so_and_only_there():
    plan = plan_of(
        document(
            defaults={"os": {"distribution": "debian", "release": "bookworm"}, "kernel_arguments": ["iommu=pt"]},
            groups={"gpu": {"firmware": "bios", "os": {"kind": "autoinstall"}}, "aux": {"os": {"kind": "none"}}},
        )
    )
    found = {item.group: item for item in plan.provisioning.installations}
    assert set(found) == {"gpu", "head"}
    gpu, head = found["gpu"], found["head"]
    assert (gpu.method, gpu.distribution, gpu.image, gpu.firmware) == ("autoinstall", "ubuntu", "ubuntu-noble-installer", "bios")
    assert (head.method, head.image, head.firmware, head.loader) == ("image", "debian-bookworm", "uefi", "tftp")
    assert gpu.kernel_arguments == head.kernel_arguments == ("iommu=pt",)
    assert [part.name for part in gpu.partitions] == ["bios", "root"]
    assert [part.name for part in head.partitions] == ["esp", "root"]
    assert {host.group for host in plan.provisioning.hosts} == {"gpu", "head"}


@pytest.mark.parametrize(
    ("disks", "parts"),
    [
        ({}, [("esp", 1024, False), ("root", 0, True)]),
        ({"system": {"count": 1}}, [("esp", 1024, False), ("root", 0, False)]),
        ({"swap_gb": 16, "root_gb": 100}, [("esp", 1024, False), ("swap", 15258, True), ("root", 95367, True)]),
    ],
)
def test_partitions_follow_from_the_disks(disks, parts):
    found = plan_of(document(defaults={"disks": disks})).provisioning.installations[0].partitions
    assert [(part.name, part.size_mib, part.mirror) for part in found] == parts


def test_disks_are_told_by_serial_number_or_wwn():
    facts = FactTables({"gpu-001": ServerFacts(macs={"eno3": "02:00:5e:00:00:01"}, system_disks=("S1", "eui.0025"))})
    hosts = plan_of(document(), facts).provisioning.hosts
    assert (hosts[0].mac, hosts[0].serials, hosts[0].wwns) == ("02:00:5e:00:00:01", ("S1",), ("eui.0025",))
    assert (hosts[1].mac, hosts[1].serials, hosts[1].wwns) == ("", (), ())


def test_without_provisioning_there_are_addresses_and_nobody_is_installed():
    found = document()
    del found["provisioning"]
    provisioning = plan_of(found).provisioning
    assert provisioning.servers and provisioning.segments
    assert not provisioning.hosts and not provisioning.installations and not provisioning.is_asked


def test_managers_of_infiniband_are_left_alone_unless_the_intent_says_otherwise():
    found = document()
    found["networks"]["compute"] = {"technology": "infiniband", "leaf": "nvidia/qm9700", "nos": "infiniband"}
    found["servers"]["ufm"] = {"id": 8, "model": "nvidia/ufm-3.1", "count": 2, "racks": "network", "manages": "compute"}
    assert "ufm" not in {item.group for item in plan_of(found).provisioning.installations}
    found["provisioning"]["groups"] = {"ufm": {"os": {"kind": "image"}}}
    assert "ufm" in {item.group for item in plan_of(found).provisioning.installations}
