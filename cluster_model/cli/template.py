"""A cluster.yml that is its own manual: every key with what it is, its choices, and a value or an example."""

from __future__ import annotations

import textwrap
from typing import Any

import yaml

from cluster_model.collecting import collect
from cluster_model.intent.model.json_schema import describe_key, describe_schema, find_schema
from cluster_model.texts import show_text

WIDTH = 118
_NO_BREAK = "\N{NO-BREAK SPACE}"
HEAD = """\
# {name}: the one file to write. Everything else is derived from it: `gpuyard validate`, `gpuyard plan`, `gpuyard render`.
# A line such as `#key: value` shows a key that is not set; take the # away to set it. Keys are explained where they first stand,
# with their choices or bounds in brackets. `gpuyard explain ID` is the manual of a finding.
"""
EXAMPLES: dict[str, Any] = {
    "core": "nvidia/sn5600",
    "spine": "nvidia/sn5600",
    "nos": "sonic",
    "pool": "10.64.0.0/11",
    "speed_gbps": 400,
    "fabric_speed_gbps": 400,
    "uplinks": 32,
    "mtu_bytes": 9100,
    "host_mtu_bytes": 9000,
    "role": "gpu",
    "planned": 256,
    "unit": 32,
    "per_rack": 4,
    "manages": "compute",
    "nics": {"storage": []},
    "place": [{"number": 1, "rack": "A01", "u": 1, "reason": "cable run of the test bench"}],
    "pdu": "generic/pdu-34kw",
    "dns": ["10.255.0.53", "10.255.0.54"],
    "ntp": ["10.255.0.123", "10.255.0.124", "10.255.0.125"],
    "syslog": ["10.255.0.14"],
    "snmp_managers": ["10.255.0.16"],
    "dhcp_servers": ["10.255.0.67"],
    "upstreams": [{"switch": "oob-spine-01", "prefix": "10.255.255.0/31"}],
    "nvme_of": {"targets": ["storage"]},
    "pfc_priorities": [3],
    "ecn": {400: {"min_kb": 1000, "max_kb": 4000, "probability_percent": 10}},
    "storage": {"leaf": "nvidia/sn4700", "pool": "10.96.0.0/12"},
    "compute": {"technology": "roce", "leaf": "nvidia/sn5600", "pool": "10.64.0.0/11"},
    "release": "202511",
    "border": {
        "peers": {
            "internet": {
                "id": 1,
                "asn": 64496,
                "links": [
                    {"border": 1, "prefix": "198.51.100.0/31", "cage": 1, "speed_gbps": 100},
                    {"border": 2, "prefix": "198.51.100.2/31"},
                ],
                "accept": [{"prefix": "0.0.0.0/0"}],
                "announce": [{"prefix": "203.0.113.0/24", "up_to": 32}],
            }
        }
    },
    "border.leaf": "generic/linux-32x100g",
    "border.racks": "network",
    "cables": {"exceptions": [{"cable": "gpu-001:bmc", "to": "oob-leaf-a01:Ethernet39", "reason": "the planned port is dead"}]},
    "business": {"leaf": "nvidia/sn3700c", "pool": "10.112.0.0/16"},
    "tenants": {"vision": {"id": 1, "servers": ["gpu"], "subnets": {"front": {"id": 1, "cidr": "10.48.1.0/24"}}}},
    "vision.vrf": "vision",
    "vision.servers": ["gpu-001..gpu-064"],
    "vision.gpus": 512,
    "vision.uses": ["services"],
    "vision.peers": ["lidar"],
    "vision.egress": ["internet"],
    "vision.nat": {"internet": "203.0.113.0/29"},
    "vision.vlan": 16,
    "vision.vni": 50001,
    "vision.ceph": {"pools": ["datasets"], "filesystems": {"home": {"quota_tb": 50}}, "object": {"quota_tb": 50}},
    "front.gateway": "10.48.1.1",
    "front.servers": ["gpu-001..gpu-064", "control"],
    "front.first": {"gpu": 16, "control": 4},
    "front.pool": {"first": "10.48.1.128", "last": "10.48.1.250"},
    "front.vlan": 17,
    "front.vni": 10017,
    "bmc.groups": {"storage": {"protocol": "ipmi"}},
    "storage.protocol": "ipmi",
    "storage.user": "ADMIN",
    "storage.password": "storage-bmc-password",
    "storage.ipmi_cipher": 3,
    "storage.tls": "verify",
    "facts": {"servers": "servers.csv", "switches": "switches.csv", "pdus": "pdus.csv"},
    "switches": {"spine": 16, "core": 16},
    "switches.spine": 16,
    "switches.core": 16,
    "power_kw": 30.0,
    "feed_kw": 20.0,
    "height_u": 42,
    "racks.exceptions": {"A01": {"reason": "a pillar stands here", "blocked": True}},
}
"""What an unset key shows where it has no default that says enough; services have theirs in cluster_model/intent/services."""
for _examples in collect("cluster_model.intent.services", "EXAMPLES"):
    EXAMPLES.update(_examples)
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # a third of the time, where PyYAML was built with libyaml
_STAND_INS = {"tenants": "vision", "subnets": "front"}
"""Names in EXAMPLES that stand for any name below these keys."""


def write_template(name: str, values: dict[str, Any]) -> str:
    """Return a commented cluster.yml.

    Args:
        name: name of the cluster, for the head.
        values: what is set, as plain data in the form of an intent.

    Returns:
        YAML text, without an editor's modeline.
    """
    return HEAD.format(name=show_text(name)) + "\n".join(_write_mapping((), values, 0, set())) + "\n"


def _write_mapping(path: tuple[str, ...], values: dict[str, Any], depth: int, seen: set[tuple[str, str]]) -> list[str]:
    """Return the lines of a mapping: keys of the model in its order, or free names as they come."""
    schema = next((choice for choice in find_schema(path) if "properties" in choice), None)
    if schema is None:
        return [row for key, value in values.items() for row in _write_value(str(key), value, (*path, str(key)), depth, seen)]
    rows: list[str] = []
    for key, prop in schema["properties"].items():
        here, is_set = (*path, key), not _is_empty(values.get(key))
        is_new = (key, str(prop.get("description"))) not in seen
        if not is_set and not is_new:
            continue
        seen.add((key, str(prop.get("description"))))
        rows += [""] * (depth == 0 and not path)
        if is_new:
            pad = "  " * depth
            text = textwrap.wrap(_explain(here), WIDTH - 2 - len(pad), break_on_hyphens=False)
            rows += [f"{pad}# {line}".replace(_NO_BREAK, " ") for line in text]
        rows += _write_value(key, values[key], here, depth, seen) if is_set else _write_unset(key, here, prop, depth, seen)
    return rows


def _write_value(key: str, value: Any, path: tuple[str, ...], depth: int, seen: set[tuple[str, str]]) -> list[str]:
    pad = "  " * depth
    if value and isinstance(value, dict) and any("properties" in c or "patternProperties" in c for c in find_schema(path)):
        return [f"{pad}{key}:", *_write_mapping(path, value, depth + 1, seen)]
    return [f"{pad}{key}: {_dump(value)}"]


def _write_unset(key: str, path: tuple[str, ...], prop: dict[str, Any], depth: int, seen: set[tuple[str, str]]) -> list[str]:
    """Return a key that is not set, as a comment: its default, or an example."""
    pad, example = "  " * depth, prop.get("default")
    if _is_empty(example):
        stand_in = _STAND_INS.get(path[-3] if len(path) > 2 else "", path[-2] if len(path) > 1 else "")
        example = EXAMPLES[f"{stand_in}.{key}"] if f"{stand_in}.{key}" in EXAMPLES else EXAMPLES[key]
    if isinstance(example, dict) and _has_keys(path, example):
        return [f"{pad}#{key}:", *(f"{pad}#{row}" for row in _write_mapping(path, example, 1, seen) if row)]
    return [f"{pad}#{key}: {_dump(example)}"]


def _has_keys(path: tuple[str, ...], example: dict[str, Any]) -> bool:
    """Return whether a mapping, or what stands under a free name in it, has keys of the model to explain."""
    inner = (*path, str(next(iter(example), "")))
    return any("properties" in choice for choice in (*find_schema(path), *find_schema(inner)))


def _is_empty(value: Any) -> bool:
    """Return whether a value says nothing: none, an empty list or mapping, or a mapping of such."""
    if isinstance(value, dict):
        return all(_is_empty(inner) for inner in value.values())
    return value is None or value == []


def _explain(path: tuple[str, ...]) -> str:
    """Return what a key is, with its choices or bounds in brackets."""
    text, choices = describe_key(path, whole=True), describe_schema(path)
    if choices.startswith("one of "):
        return f"{text} [{choices.removeprefix('one of ')}]"
    if choices.startswith(("a whole number ", "a number ")):
        bounds = choices.partition("number ")[2].removeprefix("from ").replace(" ", _NO_BREAK)
        return f"{text} [{bounds}]"
    return text


def _dump(value: Any) -> str:
    text: str = yaml.dump(value, Dumper=_DUMPER, default_flow_style=True, width=10_000, sort_keys=False)
    return text.removesuffix("...\n").strip()
