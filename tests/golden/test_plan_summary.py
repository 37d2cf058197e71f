"""The examples in numbers that a reader can check by hand.

superpod-h100 is the published DGX H100 SuperPOD of four units: 127 nodes, 1,016 GPUs, 32 leafs, 16 spines, 1,020 cables to hosts
and UFM, 1,024 between leafs and spines. superpod-roce is the same on switches of 128 ports: 32 leafs, 8 spines, 1,024 cables.
driving has tenants: numbers that follow from their ids, and where their VRFs meet.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests import recorded
from tests.planned import open_example

HERE = Path(__file__).resolve().parent / "plan_summary"
INVENTORY = HERE.parents[2] / "inventory"
EXAMPLES = sorted(path.parent.name for path in INVENTORY.glob("*/cluster.yml"))


def summarise(plan):
    return {
        "gpus": plan.gpus,
        "servers": dict(Counter(server.group for server in plan.servers)),
        "racks": len(plan.racks),
        "pdus": len(plan.pdus),
        "power_w": plan.power_w,
        "networks": {
            network.name: {
                "technology": network.technology,
                "planes": network.planes,
                "tiers": network.tiers,
                "units": network.units,
                "switches": {"leaf": network.leafs, "spine": network.spines, "core": network.cores}
                | ({"border": network.borders} if network.borders else {}),
                "models": [network.leaf_model, network.spine_model, network.core_model],
                "uplinks": network.uplinks,
                "cables": network.cables,
                "oversubscription": network.oversubscription,
                "host_speed_gbps": network.host_speed_gbps,
                "fabric_speed_gbps": network.fabric_speed_gbps,
                "bisection_gbps": network.bisection_gbps,
            }
            | ({"homing": network.homing} if network.homing else {})
            for network in plan.networks
        },
        "gpu_caps_w": sorted({(server.gpu_cap_w, server.gpu_cap_feed_lost_w) for server in plan.servers if server.gpus}),
        "bom": [
            f"{line.count} x {line.kind} {line.item}" + (f" {line.length_m:g} m" if line.length_m else "") for line in plan.bom
        ],
    } | (summarise_tenants(plan) if plan.tenants else {})


def summarise_tenants(plan):
    def word(filters):
        return [line.prefix + (f" up to /{line.up_to}" if line.up_to else "") for line in filters or ()]

    return {
        "isolation": plan.network("compute").isolation,
        "tenants": {
            tenant.name: {
                "vrf": f"{tenant.vrf} VLAN {tenant.vlan} VNI {tenant.vni} {tenant.route_target} table {tenant.table}",
                "subnets": [f"{s.prefix} VLAN {s.vlan} VNI {s.vni} {s.route_target}" for s in tenant.subnets],
                "servers": f"{tenant.servers[0]} to {tenant.servers[-1]}",
                "gpus": tenant.gpus,
                "nat": {nat.peer: nat.prefix for nat in tenant.nat},
                "ceph_clients": len(tenant.storage.clients) if tenant.storage else 0,
            }
            for tenant in plan.tenants
        },
        "meetings": [
            f"{m.kind}: {m.provider} gives {m.consumer} {word(m.offered)} and takes {word(m.returned)}" for m in plan.meetings
        ],
        "overlays": {
            switch.name: {
                "vtep": switch.overlay.vtep,
                "vlans": [vlan.vlan for vlan in switch.overlay.vlans],
                "vrfs": [vrf.name for vrf in switch.overlay.vrfs],
                "bonds": len(switch.overlay.bonds),
                "sessions": [f"{way.peer} {way.address} to {way.peer_address}" for way in switch.overlay.externals],
                "nat": [f"{rule.tenant} {rule.outside}" for rule in switch.overlay.nat],
            }
            for switch in plan.switches
            if switch.overlay and switch.is_edge
        },
        "bonds": [
            f"{server.name}: " + ", ".join(f"{vlan.name} {vlan.address or 'dhcp'}" for vlan in bond.vlans)
            for server in plan.servers
            for bond in server.bonds
            if server.number == 1
        ],
    }


@pytest.mark.parametrize("name", EXAMPLES)
def test_plan_summary(name):
    recorded.check(HERE / f"{name}.json", json.dumps(summarise(open_example(name).plan), indent=1) + "\n")


def test_the_superpod_is_the_published_one():
    found = summarise(open_example("superpod-h100").plan)
    compute = found["networks"]["compute"]
    assert (found["gpus"], found["servers"]["gpu"]) == (1016, 127)
    assert compute["switches"] == {"leaf": 32, "spine": 16, "core": 0}
    assert compute["cables"]["host_leaf"] + compute["cables"]["fabric_manager"] == 1020
    assert compute["cables"]["leaf_spine"] == 1024
    assert compute["bisection_gbps"] == (31 + 32) * 8 * 400  # one DGX of the first unit is left out


def test_the_superpod_on_ethernet_needs_half_the_spines():
    compute = summarise(open_example("superpod-roce").plan)["networks"]["compute"]
    assert compute["switches"] == {"leaf": 32, "spine": 8, "core": 0}
    assert compute["cables"]["leaf_spine"] == 1024


def test_driving_is_what_its_intent_asks_for():
    """16 x tenant + subnet, and so on: figures worked out by hand."""
    found = summarise(open_example("driving").plan)
    assert found["tenants"]["planning"]["vrf"] == "planning VLAN 32 VNI 50002 64512:50002 table 10002"
    assert found["tenants"]["planning"]["subnets"][0] == "192.168.0.0/20 VLAN 33 VNI 10033 64512:10033"
    assert found["tenants"]["services"]["subnets"] == ["10.48.0.0/24 VLAN 161 VNI 10161 64512:10161"]
    assert "train-001: bond0.17 192.168.0.16/20, bond0.18 10.48.1.16/24" in found["bonds"]
    assert found["overlays"]["business-border-02"]["nat"][1] == "planning 203.0.113.12/30"
    assert len(found["meetings"]) == 4 + 1 + 4  # users of services, one pair of peers, ways out
    assert found["networks"]["business"]["switches"]["border"] == 2
