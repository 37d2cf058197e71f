"""Plans to render: the example clusters, and a variant of the lab that turns over what the examples choose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import yaml

from cluster_model.catalogue.load import Catalogue, Shelf, load_catalogue
from cluster_model.catalogue.types import DeviceType
from cluster_model.catalogue.types import Switch as SwitchBlock
from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.model.cluster import Cluster
from cluster_model.plan.build import build_plan
from cluster_model.plan.model import Plan, Switch
from cluster_model.references import settle
from cluster_model.render.switch import render_switches

ROOT = Path(__file__).resolve().parents[4]
CLUSTERS = ("lab", "superpod-roce", "turned", "tall", "driving", "driving-frr", "driving-sonic")
"""`turned` is the lab with numbered links on SONiC and unnumbered ones on FRR, SNMP on, and other lossless choices; `tall` has
three tiers, and SONiC on storage. `driving` has tenants: on SONiC leafs with MLAG and an FRR border; all on FRR in `driving-frr`,
with Ethernet segments; all on SONiC in `driving-sonic`, in a release that has them, so without NAT on its border."""
EXAMPLES = ("superpod-roce", "driving")


def settled(plan: Plan) -> dict[str, str]:
    """Return the switch files of a plan as they go to disk."""
    return {path: settle(text.encode())[0].decode() for path, text in render_switches(plan, catalogue())}


@cache
def catalogue() -> Catalogue:
    """Return the catalogue without its word on which NOS runs on which switch: here every dialect is rendered for any model."""
    found = load_catalogue()[0]

    def read(path: Path, findings: list[Diagnostic]) -> DeviceType | None:
        device = found.devices._read(path, findings)
        if device is None or not isinstance(device.gpuyard, SwitchBlock):
            return device
        return device.model_copy(update={"gpuyard": device.gpuyard.model_copy(update={"systems": None})})

    return replace(found, devices=Shelf(found.devices.files, read))


@cache
def plan(name: str) -> Plan:
    example = "driving" if name.startswith("driving") else name if name in EXAMPLES else "lab"
    data = yaml.safe_load((ROOT / "inventory" / example / "cluster.yml").read_text("utf-8"))
    if name == "turned":
        data["site"]["snmp_managers"] = ["10.255.0.61", "10.255.0.62"]
        data["networks"]["compute"]["underlay"] = "numbered"
        data["networks"]["storage"]["underlay"] = "unnumbered"
        data["lossless"] = {"priority": 4, "data_dscp": 34, "cnp_priority": 7, "watchdog": {"detect_ms": 100, "restore_ms": 300}}
    if name == "tall":
        data["networks"]["compute"] |= {"tiers": 3, "switches": {"spine": 2, "core": 2}}
        data["networks"]["storage"] |= {"leaf": "nvidia/sn4700", "nos": "sonic"}
    business = data["networks"].get("business", {})
    if name == "driving-frr":
        business |= {"leaf": "generic/linux-32x100g", "nos": "frr"}
        data["networks"]["compute"]["isolation"] = "vrf"
    if name == "driving-sonic":
        business |= {"release": "202611"}
        business["border"] = {"peers": business["border"]["peers"]}
        for tenant in data["tenants"].values():
            tenant.pop("nat", None)
    planned, findings = build_plan(Cluster.model_validate(data), catalogue())
    assert planned is not None, findings
    return planned


@cache
def files(name: str) -> dict[str, str]:
    return settled(plan(name))


def file(name: str, switch: str, file_name: str) -> str:
    return files(name)[f"switches/{switch}/{file_name}"]


def samples(name: str) -> Iterator[Switch]:
    """Yield the first switch of every network, tier and unit size: one of each kind that a plan has."""
    seen: set[tuple[object, ...]] = set()
    for switch in plan(name).switches:
        kind = (switch.network, switch.role)
        if kind not in seen:
            seen.add(kind)
            yield switch
