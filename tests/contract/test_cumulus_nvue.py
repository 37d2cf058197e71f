"""Every startup.yaml, judged by the keys and values that NVIDIA documents; and the judges, judged by seeded errors.

Two judges. One is always there: cumulus_commands.txt, turned into JSON Schema. The other is NVUE's own OpenAPI specification
(docs.api.nvidia.com/nvue), where GPUYARD_NVUE_OPENAPI names it; it has to be of the release in platform.yml.
"""

from __future__ import annotations

import copy
import ipaddress
import json
import os
import re
import zoneinfo
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from tests.unit.render.switch import cumulus

COMMANDS = Path(__file__).with_name("cumulus_commands.txt")
NAME = r"[A-Za-z][A-Za-z0-9_.-]*"
KINDS: dict[str, dict[str, Any]] = {
    "afi": {"enum": ["ipv4", "ipv6"]},
    "breakout": {"pattern": r"^[248]x$"},
    "bridge": {"const": "br_default"},
    "class": {"pattern": r"^[0-7]$"},
    "community": {"pattern": r"^[0-9]{1,5}:[0-9]{1,5}$"},
    "dscp": {"pattern": r"^([0-9]|[1-5][0-9]|6[0-3])$"},
    "global": {"const": "default-global"},
    "hostname": {"pattern": r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"},
    "interface": {"pattern": r"^(lo|eth0|swp[1-9][0-9]*(s[0-7])?|bond[1-9][0-9]*|peerlink(\.4094)?|vlan[1-9][0-9]*(_l3)?)$"},
    "ipv4": {"format": "address"},
    "listening": {"anyOf": [{"const": "all"}, {"format": "address"}]},
    "mac": {"pattern": r"^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$"},
    "name": {"pattern": rf"^{NAME}$", "maxLength": 63},
    "neighbor": {"anyOf": [{"pattern": r"^swp[0-9]+(s[0-9])?$"}, {"format": "address"}]},
    "prefix": {"format": "prefix"},
    "protocol": {"enum": ["bgp", "connected", "kernel", "ospf", "static"]},
    "rd": {"format": "distinguisher"},
    "rt": {"format": "distinguisher"},
    "rule": {"pattern": r"^[1-9][0-9]{0,4}$"},
    "soo": {"format": "distinguisher"},
    "text": {"minLength": 1},
    "timezone": {"format": "timezone"},
    "user": {"pattern": r"^[a-z][a-z0-9]*$"},
    "via": {"anyOf": [{"const": "blackhole"}, {"format": "address"}]},
    "vid": {"pattern": r"^([1-9]|[1-9][0-9]{1,2}|[1-3][0-9]{3}|40[0-8][0-9]|409[0-4])$"},
    "vni": {"pattern": r"^[1-9][0-9]{0,7}$"},
    "vrf": {"pattern": rf"^{NAME}$", "maxLength": 15},
}

checker = FormatChecker(formats=())


@checker.checks("address", ValueError)
def _address(text: object) -> bool:
    return bool(ipaddress.IPv4Address(text))


@checker.checks("prefix", ValueError)
def _prefix(text: object) -> bool:
    return bool(ipaddress.IPv4Interface(text)) and "/" in str(text)


@checker.checks("distinguisher", ValueError)
def _distinguisher(text: object) -> bool:
    """Administrator and number: a number of two bytes with one of four, or an address with one of two."""
    administrator, _, number = str(text).partition(":")
    if administrator.isdigit():
        return int(administrator) < 2**16 and int(number) < 2**32
    return bool(ipaddress.IPv4Address(administrator)) and int(number) < 2**16


@checker.checks("timezone")
def _timezone(text: object) -> bool:
    return text in zoneinfo.available_timezones()


def _value(spec: str) -> dict[str, Any]:
    choices: list[dict[str, Any]] = []
    for word in spec.split("|"):
        if span := re.fullmatch(r"(\d+)-(\d+)", word):
            choices.append({"type": "integer", "minimum": int(span[1]), "maximum": int(span[2])})
        elif kind := re.fullmatch(r"<(.+)>", word):
            choices.append({"type": "string", **KINDS[kind[1]]})
        else:
            choices.append({"const": word})
    return choices[0] if len(choices) == 1 else {"anyOf": choices}


def _node() -> dict[str, Any]:
    return {"type": "object", "properties": {}, "additionalProperties": False}


@cache
def schema() -> dict[str, Any]:
    """Return the JSON Schema of what is below `set:`, from cumulus_commands.txt."""
    root = _node()
    source = ""
    for line in COMMANDS.read_text("utf-8").splitlines():
        if line.startswith("["):
            source = line.strip("[]")
        elif line and not line.startswith("#"):
            path, _, spec = line.partition(" = ")
            node = root
            *parents, last = path.split()
            for word in (*parents, last) if not spec else parents:
                if kind := re.fullmatch(r"<(.+)>", word):
                    node.setdefault("propertyNames", KINDS[kind[1]])
                    node["additionalProperties"] = node["additionalProperties"] or _node()
                    node = node["additionalProperties"]
                else:
                    node = node["properties"].setdefault(word, _node())
            if spec:
                node["properties"][last] = {**_value(spec), "$comment": source}
    _constrain(root)
    return root


def _constrain(root: dict[str, Any]) -> None:
    """Add what the OpenAPI specification of 5.3 demands beyond single values (schema-route-map-*-constraints)."""
    policy = root["properties"]["router"]["properties"]["policy"]["properties"]
    rule = policy["route-map"]["additionalProperties"]["properties"]["rule"]["additionalProperties"]
    rule["required"] = ["action"]
    rule["properties"]["action"]["maxProperties"] = rule["properties"]["action"]["minProperties"] = 1
    rule["properties"]["match"]["dependentRequired"] = {"ip-prefix-list": ["type"]}
    root["properties"]["interface"]["additionalProperties"]["required"] = ["type"]


def _walk(tree: object, path: str = "") -> list[str]:
    """Return where a value is missing: NVUE writes `{}` for what has nothing below it, never nothing."""
    if isinstance(tree, dict):
        return [found for key, value in tree.items() for found in _walk(value, f"{path} {key}")]
    return [path] if tree is None else []


def judge(tree: dict[str, Any], rules: dict[str, Any]) -> list[str]:
    """Return what is wrong, each as `path: reason`."""
    validator = Draft202012Validator(rules, format_checker=checker)
    found = [f"{' '.join(map(str, error.absolute_path))}: {error.message}" for error in validator.iter_errors(tree)]
    return found + [f"{path}: nothing" for path in _walk(tree)]


@pytest.mark.parametrize("cluster", cumulus.CLUSTERS)
def test_every_startup_yaml_has_only_documented_keys_and_values(cluster: str) -> None:
    for switch in cumulus.texts(cluster):
        assert judge(cumulus.tree(cluster, switch), schema()) == [], switch


def test_no_key_is_listed_that_nobody_writes() -> None:
    """A line of the list that no file uses would be a key that nobody looked at again."""
    written = {
        path
        for cluster in cumulus.CLUSTERS
        for switch in cumulus.texts(cluster)
        for path in _paths(cumulus.tree(cluster, switch))
    }
    for line in COMMANDS.read_text("utf-8").splitlines():
        if line and line[0] not in "#[":
            words = [r"\S+" if word.startswith("<") else re.escape(word) for word in line.partition(" = ")[0].split()]
            form = re.compile(" ".join(words))
            assert any(form.fullmatch(path) for path in written), line


def _paths(tree: dict[str, Any], above: str = "") -> set[str]:
    found = set()
    for key, value in tree.items():
        path = f"{above} {key}".strip()
        found.add(path)
        if isinstance(value, dict):
            found |= _paths(value, path)
    return found


def _set(path: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(tree: dict[str, Any]) -> None:
        *parents, last = path.split()
        for word in parents:
            tree = tree.setdefault(word, {})
        tree[last] = value

    return change


def _move(path: str, name: str) -> Callable[[dict[str, Any]], None]:
    def change(tree: dict[str, Any]) -> None:
        *parents, last = path.split()
        for word in parents:
            tree = tree[word]
        tree[name] = tree.pop(last)

    return change


def _drop(path: str) -> Callable[[dict[str, Any]], None]:
    def change(tree: dict[str, Any]) -> None:
        *parents, last = path.split()
        for word in parents:
            tree = tree[word]
        del tree[last]

    return change


LEAF = "vrf default router bgp"
POLICY = "router policy"
ERRORS: dict[str, Callable[[dict[str, Any]], None]] = {
    "key of a later release": _move("evpn enable", "state"),
    "key of an earlier release": _move(f"{LEAF} neighbor", "peer"),
    "misspelt key": _move("interface bond1 bond lacp-rate", "lacp_rate"),
    "key in the wrong place": _set("interface swp27 mtu", 9100),
    "MTU above 9216": _set("interface swp27 link mtu", 9217),
    "MTU as text": _set("interface swp27 link mtu", "9100"),
    "speed without unit": _set("interface swp27 link speed", "100000"),
    "switch that is a truth value": _set("evpn enable", True),
    "state where on or off belongs": _set("nve vxlan enable", "enabled"),
    "watchdog on, not enable": _set("interface swp27 qos pfc-watchdog state", "on"),
    "RoCE mode that is not there": _set("qos roce mode", "no-drop"),
    "DSCP 64": _set("qos mapping default-global dscp 64", {"switch-priority": 3}),
    "switch priority 8": _set("qos mapping default-global dscp", {"26": {"switch-priority": 8}}),
    "port that is not there": _set("interface Ethernet0", {"type": "swp"}),
    "interface without type": _drop("interface swp27 type"),
    "VLAN 4095": _set("bridge domain br_default vlan 4095", {}),
    "VRF name of 16 letters": _set("vrf a234567890123456", {"table": "auto"}),
    "VRF table of Linux": _set("vrf perception table", 10001),
    "MAC without colons": _set("interface vlan17 link mac-address", "00005e000101"),
    "address without length": _set("interface vlan17 ip address", {"10.0.0.1": {}}),
    "address out of range": _set("interface lo ip address", {"10.0.0.300/32": {}}),
    "route target with an AS of four bytes": _set("evpn vni 10017 route-target both", {"4200000001:10017": {}}),
    "route distinguisher with a number of four bytes": _set("evpn vni 10017 rd", "10.112.224.0:100000"),
    "prefix list match without type": _drop(f"{POLICY} route-map FABRIC-IN rule 10 match type"),
    "route map without action": _drop(f"{POLICY} route-map FABRIC-IN rule 10 action"),
    "permit where permit: {} belongs": _set(f"{POLICY} route-map FABRIC-IN rule 10 action", "permit"),
    "permit: {} where permit belongs": _set(f"{POLICY} prefix-list POOL rule 10 action", {"permit": {}}),
    "community of a name that NVUE does not document": _set(f"{POLICY} route-map FABRIC-IN rule 10 set community", {"none": {}}),
    "neighbour of a third type": _set(f"{LEAF} neighbor swp27 type", "link-local"),
    "hold time of 2 seconds": _set(f"{LEAF} peer-group FABRIC timers hold", 2),
    "BFD every 10 ms": _set(f"{LEAF} peer-group FABRIC bfd min-rx-interval", 10),
    "key with nothing": _set("interface bond1 bond member swp1s0", None),
    "list where a mapping belongs": _set(
        "vrf perception router bgp address-family ipv4-unicast route-import from-vrf list", ["planning"]
    ),
    "time zone of no country": _set("system timezone", "Asia/Nowhere"),
    "service that moved in 5.11": _move("service", "services"),
}


@pytest.mark.parametrize("error", ERRORS)
def test_seeded_errors_are_seen(error: str) -> None:
    tree = copy.deepcopy(cumulus.tree("driving", "business-leaf-u01-01"))
    assert judge(tree, schema()) == []
    ERRORS[error](tree)
    assert judge(tree, schema())


# --- NVUE's own specification


def read_openapi(document: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a configuration from NVUE's OpenAPI specification: the body of PATCH /.

    The specification is OpenAPI 3.0 with keywords of later JSON Schema behind `x-`, and `nullable`.
    """
    body = document["paths"]["/"]["patch"]["requestBody"]
    while "$ref" in body:
        target: Any = document
        for part in body["$ref"].removeprefix("#/").split("/"):
            target = target[part.replace("~1", "/").replace("~0", "~")]
        body = target
    rules = {key: value for key, value in document.items() if key not in {"paths", "openapi", "info", "servers"}}
    translated: dict[str, Any] = _translate({**rules, "allOf": [body["content"]["application/json"]["schema"]]})
    return translated


def _translate(node: Any) -> Any:
    if isinstance(node, list):
        return [_translate(item) for item in node]
    if not isinstance(node, dict):
        return node
    names = {"x-unevaluatedProperties": "unevaluatedProperties", "x-propertyNames": "propertyNames"}
    found = {names.get(key, key): _translate(value) for key, value in node.items()}
    if found.pop("nullable", False) is True and isinstance(found.get("type"), str):
        found["type"] = [found["type"], "null"]
    for key in ("example", "examples", "discriminator"):
        found.pop(key, None)
    return found


SMALL: dict[str, Any] = {
    "openapi": "3.0.2",
    "paths": {"/": {"patch": {"requestBody": {"$ref": "#/x-defs/patch-root"}}}},
    "x-defs": {
        "patch-root": {"content": {"application/json": {"schema": {"$ref": "#/x-defs/root"}}}},
        "root": {
            "type": "object",
            "x-unevaluatedProperties": False,
            "allOf": [{"properties": {"evpn": {"$ref": "#/x-defs/evpn"}, "vrf": {"$ref": "#/x-defs/vrfs"}}}],
        },
        "evpn": {
            "type": "object",
            "nullable": True,
            "x-unevaluatedProperties": False,
            "allOf": [{"properties": {"enable": {"type": "string", "enum": ["on", "off"]}}}],
        },
        "vrfs": {
            "type": "object",
            "x-propertyNames": {"maxLength": 15},
            "additionalProperties": {"type": "object", "nullable": True},
        },
    },
}
"""In the shape of the specification of 5.3: keywords behind `x-`, definitions in x-defs, closed objects put together by allOf."""


def test_specification_of_nvue_is_read_as_meant() -> None:
    rules = read_openapi(SMALL)
    assert judge({"evpn": {"enable": "on"}, "vrf": {"mgmt": {}}}, rules) == []
    for wrong in (
        {"evpn": {"enable": "yes"}},
        {"evpn": {"state": "enabled"}},
        {"evpm": {}},
        {"vrf": {"a234567890123456": {}}},
        {"vrf": []},
    ):
        assert judge(wrong, rules), wrong


@pytest.fixture(scope="module")
def specification() -> dict[str, Any]:
    name = os.environ.get("GPUYARD_NVUE_OPENAPI", "")
    if not name:
        reason = "GPUYARD_NVUE_OPENAPI names no OpenAPI specification of NVUE"
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_NVUE") == "1" else pytest.skip)(reason)
    return read_openapi(json.loads(Path(name).read_text("utf-8")))


@pytest.mark.parametrize("cluster", cumulus.CLUSTERS)
def test_every_kind_of_startup_yaml_is_valid_by_nvue(specification: dict[str, Any], cluster: str) -> None:
    for switch in cumulus.samples(cluster):
        assert judge(cumulus.tree(cluster, switch.name), specification) == [], switch.name


@pytest.mark.parametrize("error", ["key of an earlier release", "misspelt key", "MTU above 9216", "RoCE mode that is not there"])
def test_nvue_sees_seeded_errors(specification: dict[str, Any], error: str) -> None:
    tree = copy.deepcopy(cumulus.tree("driving", "business-leaf-u01-01"))
    ERRORS[error](tree)
    assert judge(tree, specification)
