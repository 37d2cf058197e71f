"""Plans whose switches run Cumulus Linux, and startup.yaml as NVUE reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import yaml

from cluster_model.intent.model.cluster import Cluster
from cluster_model.plan.build import build_plan
from cluster_model.plan.model import Plan, Switch
from tests.unit.render.switch import factory

CLUSTERS = ("lab", "turned", "tall", "superpod-roce", "driving", "driving-mlag", "isolated")
"""`turned` is the lab with numbered links, SNMP and other lossless choices; `tall` has three tiers and RoCE without PFC.
`driving` has tenants with Ethernet segments, in `driving-mlag` with MLAG, numbered links, untagged subnets and a peer that hears
nothing; in `isolated` the compute network parts them, too. `turned` and `isolated` have adaptive routing."""
BASES = {"turned": "lab", "tall": "lab", "driving-mlag": "driving", "isolated": "driving"}


@cache
def plan(name: str) -> Plan:
    data = yaml.safe_load((factory.ROOT / "inventory" / BASES.get(name, name) / "cluster.yml").read_text("utf-8"))
    networks = data["networks"]
    for network in networks.values():
        network["nos"] = "cumulus"
    if name in {"lab", "turned", "tall"}:
        networks["storage"] |= {"leaf": "nvidia/sn4700", "spine": "nvidia/sn4700"}
    if name == "turned":
        data["site"] |= {"snmp_managers": ["10.255.0.61", "10.255.0.62"], "syslog": ["10.255.0.14"]}
        networks["compute"]["underlay"] = "numbered"
        data["lossless"] = {
            "priority": 4,
            "data_dscp": 34,
            "cnp_priority": 7,
            "watchdog": {"detect_ms": 1000, "restore_ms": 300},
            "ecn": {400: {"min_kb": 500, "max_kb": 2000, "probability_percent": 20}},
        }
    if name == "tall":
        networks["compute"] |= {"tiers": 3, "switches": {"spine": 2, "core": 2}}
        data["lossless"] = {"pfc_priorities": []}
    if "business" in networks:
        border = networks["business"]["border"]
        networks["business"]["border"] = {"peers": border["peers"]}
        for tenant in data["tenants"].values():
            tenant.pop("nat", None)
    if name == "driving-mlag":
        networks["business"] |= {"homing": "mlag", "underlay": "numbered", "host_mtu_bytes": 9000}
        networks["business"]["border"]["peers"]["vehicles"]["links"][0]["mtu_bytes"] = 9100
        data["tenants"]["perception"]["subnets"]["front"]["untagged"] = True
        data["tenants"]["intake"]["subnets"]["line"]["untagged"] = True
        networks["business"]["border"]["peers"]["internet"]["announce"] = []
    if name == "isolated":
        networks["compute"]["isolation"] = "vrf"
    if name in {"turned", "isolated"}:
        networks["compute"]["load_balancing"] = "adaptive"
    planned, findings = build_plan(Cluster.model_validate(data), factory.catalogue())
    assert planned is not None, findings
    return planned


@cache
def texts(name: str) -> dict[str, str]:
    """Return startup.yaml of every switch by its name."""
    found = factory.settled(plan(name))
    assert all(path.endswith("/startup.yaml") for path in found)
    return {path.split("/")[1]: text for path, text in found.items()}


class Loader(yaml.CSafeLoader):
    """YAML 1.2 where it matters here: `on` and `off` are words, and a key stands once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = Counter(self.construct_object(key, deep=True) for key, _ in node.value)  # type: ignore[no-untyped-call]
        twice = {key for key, count in keys.items() if count > 1}
        if twice:
            raise yaml.constructor.ConstructorError(None, None, f"twice: {twice}", node.start_mark)
        return super().construct_mapping(node, deep)


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in {"tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp"}]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def parse(text: str) -> dict[str, Any]:
    """Return what is below `set:`."""
    header, body = yaml.load(text, Loader)
    assert set(header) == {"header"}
    assert set(body) == {"set"}
    tree = body["set"]
    assert isinstance(tree, dict)
    return tree


@cache
def tree(name: str, switch: str) -> dict[str, Any]:
    return parse(texts(name)[switch])


def samples(name: str) -> Iterator[Switch]:
    """Yield the first switch of every network and tier."""
    seen: set[tuple[str, str]] = set()
    for switch in plan(name).switches:
        if (switch.network, switch.role) not in seen:
            seen.add((switch.network, switch.role))
            yield switch
