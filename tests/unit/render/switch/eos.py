"""Plans whose switches run Arista EOS: the example clusters with `nos: eos`, on Arista's models where one fits."""

from __future__ import annotations

from functools import cache
from typing import Any

import yaml

from cluster_model.intent.model.cluster import Cluster
from cluster_model.paths import TEMPLATES
from cluster_model.plan.build import build_plan
from cluster_model.plan.model import Plan, Switch
from tests.unit.render.switch import factory

ROOT = TEMPLATES.parent
CLUSTERS = ("lab", "superpod-roce", "tall", "driving", "mlag", "single")
"""`tall` is the lab with three tiers and dynamic load balancing.
`driving` has Ethernet segments and a border without source NAT, which EOS has not per
VRF; `mlag` is the same with MLAG pairs, a subnet that goes untagged, numbered links and compute isolated by VRF; `single` has one
leaf per unit, servers of no tenant, and a peer whom nothing is announced to."""
BASES = {"tall": "lab", "mlag": "driving", "single": "driving"}


@cache
def intent(name: str) -> dict[str, Any]:
    base = BASES.get(name, name)
    data: dict[str, Any] = yaml.safe_load((ROOT / "inventory" / base / "cluster.yml").read_text("utf-8"))
    for network in data["networks"].values():
        network["nos"] = "eos"
    if name == "lab":
        data["site"]["snmp_managers"] = ["10.255.0.61", "10.255.0.62"]
        data["lossless"] = {
            "priority": 4,
            "data_dscp": 34,
            "watchdog": {"detect_ms": 100, "restore_ms": 300, "action": "forward"},
        }
    elif name == "tall":
        data["networks"]["compute"] |= {"tiers": 3, "switches": {"spine": 2, "core": 2}, "load_balancing": "dynamic"}
        data["lossless"] = {"watchdog": {"enabled": False}}
    else:
        data["networks"]["compute"]["leaf"] = "arista/dcs-7060x6-64pe"
    if base == "driving":
        business = data["networks"]["business"]
        business["leaf"] = "arista/dcs-7050cx3-32s"
        del business["border"]["leaf"], business["border"]["nos"]
        business["border"]["peers"]["internet"]["announce"] = [{"prefix": "10.48.0.0/16", "up_to": 24}]
        for tenant in data["tenants"].values():
            tenant.pop("nat", None)
    if name == "mlag":
        data["networks"]["business"] |= {"homing": "mlag", "underlay": "numbered", "host_mtu_bytes": 9000}
        data["networks"]["business"]["border"]["peers"]["vehicles"]["links"][0]["mtu_bytes"] = 9100
        data["networks"]["compute"]["isolation"] = "vrf"
        data["tenants"]["perception"]["subnets"]["front"]["untagged"] = True
        data["tenants"]["intake"]["subnets"]["line"]["untagged"] = True
    if name == "single":
        business = data["networks"]["business"]
        business |= {"leafs_per_unit": 1, "unit": 8}
        for peer in business["border"]["peers"].values():
            peer["links"] = peer["links"][:1]
        business["border"]["peers"]["internet"]["announce"] = []
        del data["tenants"]["intake"]
    return data


@cache
def plan(name: str) -> Plan:
    planned, findings = build_plan(Cluster.model_validate(intent(name)), factory.catalogue())
    assert planned is not None, findings
    return planned


@cache
def files(name: str) -> dict[str, str]:
    return factory.settled(plan(name))


def config(name: str, switch: str) -> str:
    return files(name)[f"switches/{switch}/startup.cfg"]


def samples(name: str) -> list[Switch]:
    """Return one switch of each kind that a plan has: network, role, and what its overlay consists of."""
    kinds: dict[tuple[object, ...], Switch] = {}
    for switch in plan(name).switches:
        overlay = switch.overlay
        shape: tuple[object, ...] = ()
        if overlay:
            relays = any(vlan.dhcp_servers for vlan in overlay.vlans)
            shape = (bool(overlay.bonds), relays, any(vrf.imports for vrf in overlay.vrfs))
        kinds.setdefault((switch.network, switch.role, *shape, bool(switch.upstreams)), switch)
    return list(kinds.values())
