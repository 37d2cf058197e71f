"""Every plan that a dialect is tried with, and all its switches read back."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import yaml

from cluster_model.intent.model.cluster import Cluster
from cluster_model.plan.build import build_plan
from cluster_model.plan.model import Plan
from tests.dialects import cumulus as cumulus_reader
from tests.dialects import eos as eos_reader
from tests.dialects import frr as frr_reader
from tests.dialects import sonic as sonic_reader
from tests.dialects.record import Record
from tests.unit.render.switch import cumulus, eos, factory

READERS = {
    "sonic": sonic_reader.read_files,
    "frr": frr_reader.read_files,
    "eos": eos_reader.read_files,
    "cumulus": cumulus_reader.read_files,
}
MIXED = ("lab", "turned", "tall", "driving", "driving-frr", "driving-sonic")
CASES = (
    *(f"mixed/{name}" for name in MIXED),
    "mixed/two-planes",
    *(f"{nos}/{name}" for nos in ("sonic", "frr") for name in ("lab", "driving")),
    *(f"eos/{name}" for name in eos.CLUSTERS if name != "superpod-roce"),
    *(f"cumulus/{name}" for name in cumulus.CLUSTERS if name != "superpod-roce"),
)
"""NOS/PLAN. `mixed` is what the factory's examples choose; elsewhere every switch runs the one NOS."""
SONIC_MODELS = {
    "compute": {},
    "storage": {"leaf": "nvidia/sn4700", "spine": "nvidia/sn4700"},
    "business": {"leaf": "nvidia/sn3700c", "spine": "nvidia/sn3700c"},
    "oob": {"leaf": "nvidia/sn2201", "spine": "nvidia/sn3700c"},
}


def _change(name: str, nos: str) -> Plan:
    """Return an example with every switch on one NOS: Ethernet segments, compute parted by VRF, three MTUs around the border."""
    data: dict[str, Any] = yaml.safe_load((factory.ROOT / "inventory" / name / "cluster.yml").read_text("utf-8"))
    for network, fabric in data["networks"].items():
        fabric["nos"] = nos
        if nos == "sonic":
            fabric |= SONIC_MODELS[network]
    business = data["networks"].get("business")
    if business is not None:
        data["networks"]["compute"]["isolation"] = "vrf"
        business |= {"homing": "esi", "host_mtu_bytes": 9000}
        business["border"]["peers"]["vehicles"]["links"][0]["mtu_bytes"] = 9100  # agreed on, for a dedicated line
        if nos == "frr":
            business["leaf"] = "generic/linux-32x100g"
        else:
            business |= {"release": "202611", "border": {"peers": business["border"]["peers"]}}
            for tenant in data["tenants"].values():
                tenant.pop("nat", None)
    return _build(data)


def _build(data: dict[str, Any]) -> Plan:
    plan, findings = build_plan(Cluster.model_validate(data), factory.catalogue())
    assert plan is not None, findings
    return plan


@cache
def plan(case: str) -> Plan:
    nos, name = case.split("/")
    if name == "two-planes":
        return _build(yaml.safe_load((factory.ROOT / "tests/system/two-planes/cluster.yml").read_text("utf-8")))
    if nos == "mixed":
        return factory.plan(name)
    return {"eos": eos.plan, "cumulus": cumulus.plan}[nos](name) if nos in {"eos", "cumulus"} else _change(name, nos)


@cache
def files(case: str) -> dict[str, dict[str, str]]:
    """Return file name → text of every switch by its name."""
    found: dict[str, dict[str, str]] = {}
    for path, text in factory.settled(plan(case)).items():
        _, switch, name = path.split("/")
        found.setdefault(switch, {})[name] = text
    return found


@cache
def records(case: str) -> dict[str, Record]:
    """Return the record of every switch by its name, as its files say."""
    return {switch.name: READERS[switch.nos](files(case)[switch.name]) for switch in plan(case).switches}


def dialects(case: str) -> Iterator[str]:
    yield from dict.fromkeys(switch.nos for switch in plan(case).switches)
