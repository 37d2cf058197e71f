"""One owner for every fact: routing in frr.conf, everything else beside it; secrets nowhere; same plan, same bytes."""

from __future__ import annotations

import json
import re

import pytest

from tests.unit.render.switch import factory

ROUTING_TABLES = ("BGP", "STATIC_ROUTE", "ROUTE_MAP", "PREFIX", "ROUTE_REDISTRIBUTE", "AS_PATH_SET", "COMMUNITY_SET", "BFD")


@pytest.mark.parametrize("cluster", factory.CLUSTERS)
def test_config_db_has_no_routing(cluster: str) -> None:
    for path, text in factory.files(cluster).items():
        if path.endswith("config_db.json"):
            assert not [table for table in json.loads(text) if table.startswith(ROUTING_TABLES)], path


@pytest.mark.parametrize("cluster", factory.CLUSTERS)
def test_frr_conf_has_no_addresses(cluster: str) -> None:
    for path, text in factory.files(cluster).items():
        if path.endswith("frr.conf"):
            assert not re.search(r"^\s*(ip|ipv6) address\b", text, re.M), path
            # Interfaces and VRFs are made elsewhere; what EVPN has to say of them is routing.
            for kind, allowed in (("interface", "evpn mh "), ("vrf", "vni |ip route ")):
                for block in re.findall(rf"^{kind} \S+\n((?: .*\n)*)", text, re.M):
                    assert re.fullmatch(rf"(?: (?:{allowed}).*\n)+", block), path
            # SONiC appends its FPM lines, which `end` would cut off.
            assert not text.rstrip().endswith("\nend"), path


@pytest.mark.parametrize("cluster", factory.CLUSTERS)
def test_every_address_of_the_plan_is_configured_once(cluster: str) -> None:
    for switch in factory.plan(cluster).switches:
        planned = [port.address for port in switch.ports if port.address] + [vlan.address for vlan in switch.vlans]
        planned += [way.address for way in switch.upstreams]
        if switch.management:
            planned.append(switch.management.address)
        if switch.overlay:
            planned += [vlan.address for vlan in switch.overlay.vlans] + [way.address for way in switch.overlay.externals]
            planned += [switch.overlay.mlag.address] if switch.overlay.mlag else []
        if switch.nos == "sonic":
            config = json.loads(factory.file(cluster, switch.name, "config_db.json"))
            tables = ("INTERFACE", "VLAN_INTERFACE", "MGMT_INTERFACE")
            found = [key.split("|")[1] for table in tables for key in config.get(table, {}) if "|" in key]
        else:
            text = factory.file(cluster, switch.name, "interfaces")
            ours = {"127.0.0.1/8", switch.loopback.partition("/")[0] + "/32"}
            found = [address for address in re.findall(r"^    address (\S+)$", text, re.M) if address not in ours]
        assert sorted(found) == sorted(planned), switch.name


def test_secrets_are_named_and_never_held() -> None:
    texts = [text for path, text in factory.files("turned").items() if path.endswith(("snmpd.conf", "config_db.json"))]
    assert texts
    for text in texts:
        assert "{{gpuyard-secret:snmp-community}}" in text
        assert not re.search(r"\b(public|private)\b", text)


@pytest.mark.parametrize("cluster", factory.CLUSTERS)
def test_every_sonic_switch_has_a_password_for_admin(cluster: str) -> None:
    """In a file of its own: config_db.json is read by every account of a switch, and no table of it has passwords."""
    for switch in factory.plan(cluster).switches:
        folder = f"switches/{switch.name}/"
        named = {path for path, text in factory.files(cluster).items() if path.startswith(folder) and "switch-admin" in text}
        assert named == ({f"{folder}chpasswd"} if switch.nos == "sonic" else set()), switch.name
        if named:
            assert factory.file(cluster, switch.name, "chpasswd") == "admin:{{gpuyard-secret:switch-admin}}\n"


def test_same_plan_same_bytes() -> None:
    assert factory.settled(factory.plan("lab")) == factory.files("lab")
