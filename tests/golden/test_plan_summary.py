"""The examples in numbers that a reader can check by hand; GPUYARD_UPDATE_GOLDEN=1 writes them anew.

superpod-h100 is the published DGX H100 SuperPOD of four units: 127 nodes, 1,016 GPUs, 32 leafs, 16 spines, 1,020 cables to hosts
and UFM, 1,024 between leafs and spines. superpod-roce is the same on switches of 128 ports: 32 leafs, 8 spines, 1,024 cables.
"""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from cluster_model.catalogue.load import load_catalogue
from cluster_model.intent.load import load_cluster
from cluster_model.plan.build import build_plan

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
                "switches": {"leaf": network.leafs, "spine": network.spines, "core": network.cores},
                "models": [network.leaf_model, network.spine_model, network.core_model],
                "uplinks": network.uplinks,
                "cables": network.cables,
                "oversubscription": network.oversubscription,
                "host_speed_gbps": network.host_speed_gbps,
                "fabric_speed_gbps": network.fabric_speed_gbps,
                "bisection_gbps": network.bisection_gbps,
            }
            for network in plan.networks
        },
        "gpu_caps_w": sorted({(server.gpu_cap_w, server.gpu_cap_feed_lost_w) for server in plan.servers if server.gpus}),
        "bom": [
            f"{line.count} x {line.kind} {line.item}" + (f" {line.length_m:g} m" if line.length_m else "") for line in plan.bom
        ],
    }


@pytest.mark.parametrize("name", EXAMPLES)
def test_plan_summary(name):
    loaded = load_cluster(INVENTORY / name)
    plan, findings = build_plan(loaded.cluster, load_catalogue()[0], loaded.facts, loaded.digest)
    assert plan is not None, findings
    text = json.dumps(summarise(plan), indent=1) + "\n"
    golden = HERE / f"{name}.json"
    if os.environ.get("GPUYARD_UPDATE_GOLDEN") == "1":
        golden.write_text(text, "utf-8")
    assert json.loads(text) == json.loads(golden.read_text("utf-8"))


def test_there_is_no_summary_without_its_example():
    assert sorted(path.stem for path in HERE.iterdir()) == EXAMPLES


def test_the_superpod_is_the_published_one():
    found = json.loads((HERE / "superpod-h100.json").read_text("utf-8"))
    compute = found["networks"]["compute"]
    assert (found["gpus"], found["servers"]["gpu"]) == (1016, 127)
    assert compute["switches"] == {"leaf": 32, "spine": 16, "core": 0}
    assert compute["cables"]["host_leaf"] + compute["cables"]["fabric_manager"] == 1020
    assert compute["cables"]["leaf_spine"] == 1024
    assert compute["bisection_gbps"] == (31 + 32) * 8 * 400  # one DGX of the first unit is left out


def test_the_superpod_on_ethernet_needs_half_the_spines():
    compute = json.loads((HERE / "superpod-roce.json").read_text("utf-8"))["networks"]["compute"]
    assert compute["switches"] == {"leaf": 32, "spine": 8, "core": 0}
    assert compute["cables"]["leaf_spine"] == 1024
