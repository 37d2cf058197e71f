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
from tests.unit.render.switch import factory

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


def _row(table: str, key: str) -> Callable[[Config], None]:
    return lambda config: config.setdefault(table, {}).update({key: {}})


def _lose(table: str, key: str) -> Callable[[Config], None]:
    return lambda config: config[table].pop(key) and None


MLAG, SEGMENTS, BORDER = ("driving", "business-leaf-u03-01"), ("driving-sonic", "business-leaf-u03-01"), "business-border-01"
TENANT_ERRORS: dict[str, tuple[tuple[str, str], Callable[[Config], None]]] = {
    "VNI above 24 bits": (MLAG, _set("VXLAN_TUNNEL_MAP", "vtep|map_10049_Vlan49", "vni", "16777216")),
    "L3 VNI above 24 bits": (MLAG, _set("VRF", "Vrfinfer", "vni", "16777216")),
    "EVPN instance of a tunnel that is not there": (MLAG, _set("VXLAN_EVPN_NVO", "nvo", "source_vtep", "vtep2")),
    "map in a tunnel that is not there": (MLAG, _drop("VXLAN_TUNNEL")),
    "map without a VLAN": (MLAG, lambda config: config["VXLAN_TUNNEL_MAP"]["vtep|map_10049_Vlan49"].pop("vlan") and None),
    "second EVPN instance": (MLAG, _set("VXLAN_EVPN_NVO", "nvo2", "source_vtep", "vtep")),
    "VRF name without Vrf": (MLAG, _set("VRF", "infer", "vni", "50003")),
    "VRF name of 16 characters": (MLAG, _row("VRF", "Vrfabcdefghijklm")),
    "gateway in a VRF that is not there": (MLAG, _set("VLAN_INTERFACE", "Vlan49", "vrf_name", "Vrfnobody")),
    "gateway of a VLAN that is not there": (MLAG, _row("VLAN_INTERFACE", "Vlan51|10.48.9.1/24")),
    "anycast gateway without a MAC": (MLAG, _drop("SAG")),
    "second anycast MAC": (MLAG, _set("SAG", "OTHER", "gateway_mac", "00:00:5e:00:01:02")),
    "VLAN called by another number": (MLAG, _set("VLAN", "Vlan49", "vlanid", "50")),
    "bond's port in a VLAN by itself": (MLAG, _set("VLAN_MEMBER", "Vlan49|Ethernet28", "tagging_mode", "tagged")),
    "untagged in two VLANs": (
        MLAG,
        lambda config: config["VLAN_MEMBER"].update(
            {f"{vlan}|PortChannel8": {"tagging_mode": "untagged"} for vlan in ("Vlan49", "Vlan50")}
        ),
    ),
    "routed port in a VLAN": (MLAG, _set("VLAN_MEMBER", "Vlan49|Ethernet104", "tagging_mode", "tagged")),
    "bond that is not there in a VLAN": (MLAG, _lose("PORTCHANNEL", "PortChannel8")),
    "bond without a state": (MLAG, lambda config: config["PORTCHANNEL"]["PortChannel8"].pop("admin_status") and None),
    "member that is no port": (MLAG, _row("PORTCHANNEL_MEMBER", "PortChannel8|Ethernet1")),
    "LACP key 0": (MLAG, _set("PORTCHANNEL", "PortChannel8", "lacp_key", "0")),
    "peer link that is not there": (MLAG, _set("MCLAG_DOMAIN", "3", "peer_link", "PortChannel999")),
    "second MLAG domain": (MLAG, _set("MCLAG_DOMAIN", "4", "source_ip", "10.0.0.1")),
    "MLAG member of another domain": (MLAG, _set("MCLAG_INTERFACE", "9|PortChannel8", "if_type", "PortChannel")),
    "unique address without MLAG": (
        MLAG,
        lambda config: [config.pop(name) for name in ("MCLAG_DOMAIN", "MCLAG_INTERFACE")] and None,
    ),
    "relay to a name": (MLAG, _set("DHCPV4_RELAY", "Vlan50", "dhcpv4_servers", ["dhcp-01"])),
    "relay into another VRF without its options": (MLAG, _set("DHCPV4_RELAY", "Vlan50", "server_vrf", "Vrfinfer")),
    "type 3 segment with an ESI": (
        SEGMENTS,
        _set("EVPN_ETHERNET_SEGMENT", "PortChannel8", "esi", "03:02:67:79:00:00:03:00:00:08"),
    ),
    "type 0 segment without one": (SEGMENTS, _set("EVPN_ETHERNET_SEGMENT", "PortChannel8", "type", "TYPE_0_OPERATOR_CONFIGURED")),
    "segment of a bond that is not there": (
        SEGMENTS,
        lambda config: config["EVPN_ETHERNET_SEGMENT"].update({"PortChannel99": {"esi": "AUTO", "type": "TYPE_3_MAC_BASED"}}),
    ),
    "segment timers of another name": (SEGMENTS, _set("EVPN_MH_GLOBAL", "global", "startup_delay", "180")),
    "LACP system that is no MAC": (SEGMENTS, _set("PORTCHANNEL", "PortChannel8", "system_mac", "02:67:79:00:00")),
    "border port in a VRF that is not there": (("driving-sonic", BORDER), _lose("VRF", "Vrfinternet")),
    "border address without its port's row": (("driving-sonic", BORDER), _lose("INTERFACE", "Ethernet0")),
}


@pytest.mark.parametrize("name", TENANT_ERRORS)
def test_the_judge_sees_with_tenants(validator: Validator, name: str) -> None:
    (cluster, switch), change = TENANT_ERRORS[name]
    config: Config = json.loads(reveal(factory.file(cluster, switch, "config_db.json")))
    assert validator.validate(copy.deepcopy(config)) == []
    change(config)
    assert validator.validate(config) != []


@pytest.mark.parametrize("name", ERRORS)
def test_the_judge_sees(validator: Validator, name: str) -> None:
    config: Config = json.loads(reveal(factory.file("lab", "compute-leaf-u01-01", "config_db.json")))
    assert validator.validate(copy.deepcopy(config)) == []
    ERRORS[name](config)
    assert validator.validate(config) != []
