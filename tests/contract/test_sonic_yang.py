"""Every config_db.json, judged by SONiC's own YANG modules; and the judge, judged by seeded errors."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.sonic_yang.validator import Validator, reveal
from tests.unit.render_switch import factory

pytestmark = pytest.mark.yang
Config = dict[str, dict[str, dict[str, Any]]]


@cache
def _load(folder: Path) -> Validator:
    return Validator(folder)


@pytest.fixture
def validator() -> Validator:
    folder = os.environ.get("GPUYARD_SONIC_YANG", "")
    reason = ""
    if not folder:
        reason = "GPUYARD_SONIC_YANG names no folder of SONiC's YANG modules"
    else:
        try:
            import libyang  # noqa: F401
        except ImportError:
            reason = "the Python package libyang is missing"
    if reason:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_YANG") == "1" else pytest.skip)(reason)
    return _load(Path(folder))


@pytest.mark.parametrize("cluster", factory.CLUSTERS)
def test_every_config_db_is_valid(validator: Validator, cluster: str) -> None:
    texts = {path: text for path, text in factory.files(cluster).items() if path.endswith("/config_db.json")}
    assert texts
    for path, text in texts.items():
        assert validator.validate(json.loads(reveal(text))) == [], path


def _set(table: str, key: str, field: str, value: object) -> Callable[[Config], None]:
    def change(config: Config) -> None:
        config.setdefault(table, {}).setdefault(key, {})[field] = value

    return change


def _drop(table: str) -> Callable[[Config], None]:
    return lambda config: config.pop(table) and None


ERRORS: dict[str, Callable[[Config], None]] = {
    "speed is a word": _set("PORT", "Ethernet0", "speed", "fast"),
    "mtu above 9216": _set("PORT", "Ethernet0", "mtu", "9217"),
    "number instead of text": _set("PORT", "Ethernet0", "mtu", 9100),
    "unknown field": _set("PORT", "Ethernet0", "colour", "blue"),
    "unknown table": _set("PORTS", "Ethernet0", "speed", "400000"),
    "DSCP 64": _set("DSCP_TO_TC_MAP", "ROCE", "64", "1"),
    "class 16": _set("DSCP_TO_TC_MAP", "ROCE", "26", "16"),
    "group 8": _set("TC_TO_PRIORITY_GROUP_MAP", "ROCE", "3", "8"),
    "PFC priorities joined by semicolon": _set("PORT_QOS_MAP", "Ethernet0", "pfc_enable", "3;4"),
    "map that is not there": _set("PORT_QOS_MAP", "Ethernet0", "dscp_to_tc_map", "AZURE"),
    "ECN mode that is not there": _set("WRED_PROFILE", "ROCE_400G", "ecn", "ecn_blue"),
    "marking ends before it begins": _set("WRED_PROFILE", "ROCE_400G", "green_max_threshold", "1"),
    "scheduler that is not there": _set("QUEUE", "Ethernet0|3", "scheduler", "scheduler.9"),
    "queue of a port that is not there": _set("QUEUE", "Ethernet1|3", "scheduler", "scheduler.default"),
    "buffer profile that is not there": _set("BUFFER_PG", "Ethernet0|3", "profile", "pg_lossless"),
    "watchdog faster than its poll": _set("PFC_WD", "GLOBAL", "POLL_INTERVAL", "1000"),
    "cable without unit": _set("CABLE_LENGTH", "AZURE", "Ethernet0", "5"),
    "address out of range": _set("LOOPBACK_INTERFACE", "Loopback0|10.64.0.300/32", "scope", "global"),
    "routing mode that is not there": _set("DEVICE_METADATA", "localhost", "docker_routing_config_mode", "joined"),
    "member of a VLAN that is not there": _set("VLAN_MEMBER", "Vlan9|Ethernet0", "tagging_mode", "untagged"),
    "time over a VRF that is not there": _drop("MGMT_VRF_CONFIG"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_the_judge_sees(validator: Validator, name: str) -> None:
    config: Config = json.loads(reveal(factory.file("lab", "compute-leaf-u01-01", "config_db.json")))
    assert validator.validate(copy.deepcopy(config)) == []
    ERRORS[name](config)
    assert validator.validate(config) != []
