"""What the control plane ACLs of config_db.json let in, as caclmgrd makes iptables of them.

`_let_in` is a double of caclmgrd (sonic-net/sonic-host-services, scripts/caclmgrd, branch 202605): the same chain.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from cluster_model.plan.model import Switch
from tests.unit.render.switch import factory

Config = dict[str, dict[str, Any]]
SERVICES = {"SSH": ({"tcp"}, 22), "SNMP": ({"tcp", "udp"}, 161), "ANY": (None, None)}
"""Protocols and port of a service; ANY has neither."""
SSH, BFD, SNMP = ("tcp", 22), ("udp", 3784), ("udp", 161)


def _chain(config: Config, version: int) -> Iterator[dict[str, Any]]:
    """Yield the rules of iptables (4) or ip6tables (6) in their order."""
    for name, table in config.get("ACL_TABLE", {}).items():
        assert table["type"] == "CTRLPLANE"
        rows = {key.partition("|")[2]: row for key, row in config["ACL_RULE"].items() if key.startswith(f"{name}|")}
        by_priority = {row["PRIORITY"]: row for row in rows.values()}
        assert len(by_priority) == len(rows), f"{name}: of rules with one priority caclmgrd keeps the last"
        is_v6 = {any(field.endswith("IPV6") for field in row) for row in rows.values()}
        assert len(is_v6) == 1, f"{name}: caclmgrd drops the rules of the other version"
        if is_v6 == {version == 6}:
            for service in table["services"]:
                protocols, port = SERVICES[service]
                for key in sorted(by_priority, reverse=True):
                    yield {**by_priority[key], "protocols": protocols, "port": port}


def _let_in(config: Config, what: tuple[str, int], source: str, to: str, port: str) -> bool:
    """Return whether a first packet that came by `port` reaches the switch's own sockets."""
    version = ip_address(to).version
    protocol, number = what
    if what == ("tcp", 179) and port != "eth0":
        return True
    for rule in _chain(config, version):
        ways = ("SRC_IPV6", source), ("SRC_IP", source), ("DST_IP", to)
        if (
            (rule["protocols"] is None or protocol in rule["protocols"])
            and rule["port"] in {None, number}
            and all(ip_address(address) in ip_network(rule[field]) for field, address in ways if field in rule)
            and rule.get("IN_PORTS", port) == port
        ):
            return bool(rule["PACKET_ACTION"] == "ACCEPT")
    return not config.get("ACL_RULE")


def _read(cluster: str, switch: Switch) -> Config:
    config: Config = json.loads(factory.file(cluster, switch.name, "config_db.json"))
    return config


SWITCHES = [
    (cluster, switch.name)
    for cluster in (*factory.EXAMPLES, "turned", "tall", "driving-sonic")
    for switch in factory.samples(cluster)
    if switch.nos == "sonic"
]


@pytest.mark.parametrize(("cluster", "name"), SWITCHES)
def test_ssh_and_snmp_are_let_in_at_the_management_address_alone(cluster: str, name: str) -> None:
    plan = factory.plan(cluster)
    switch = plan.switch(name)
    config = _read(cluster, switch)
    own = (switch.management.address if switch.management else switch.loopback).partition("/")[0]
    side = "eth0" if switch.management else switch.ports[0].name
    anybody = "10.255.0.99"
    assert _let_in(config, SSH, anybody, own, side)
    assert _let_in(config, SNMP, anybody, own, side) is False
    for manager in plan.site.snmp_managers:
        assert _let_in(config, SNMP, manager, own, side)
    gateways = [(port.address.partition("/")[0], port.name) for port in switch.ports if port.address and port.use != "fabric"]
    gateways += [(vlan.address.partition("/")[0], f"Vlan{vlan.id}") for vlan in switch.vlans]
    if switch.management:  # where hosts come in; a neighbour's port is open to it
        gateways += [(switch.loopback.partition("/")[0], port.name) for port in switch.ports if port.use != "fabric"][:1]
    for vlan in switch.overlay.vlans if switch.overlay else ():
        if vlan.address:
            gateways.append((vlan.address.partition("/")[0], f"Vlan{vlan.vlan}"))
    for gateway, port in gateways:
        for what in (SSH, SNMP):
            assert not _let_in(config, what, anybody, gateway, port), (what, gateway)
            assert not _let_in(config, what, "fe80::5", "fe80::1", port), (what, port)


@pytest.mark.parametrize(("cluster", "name"), SWITCHES)
def test_what_the_fabric_says_is_heard(cluster: str, name: str) -> None:
    switch = factory.plan(cluster).switch(name)
    config = _read(cluster, switch)
    sessions = [port for port in switch.ports if port.peer_asn and port.use == "fabric"]
    assert sessions or switch.network == "oob"
    for port in sessions:
        near, far = (port.address.partition("/")[0], port.peer_address) if port.address else ("fe80::1", "fe80::2")
        assert _let_in(config, BFD, far, near, port.name), port.name
        assert _let_in(config, ("tcp", 179), far, near, port.name)
    for port in switch.ports:
        if port.use != "fabric":
            assert not _let_in(config, BFD, "fe80::2", "fe80::1", port.name), "a host"
        if port.use == "host" and port.peer_asn:
            ends = port.peer_address, port.address.partition("/")[0], port.name
            assert _let_in(config, ("tcp", 179), *ends), "a node, which tells of its pods"
            assert not _let_in(config, BFD, *ends), "a node, which has no BFD"
    if switch.overlay and switch.overlay.mlag:
        own, peer = switch.overlay.mlag.address.partition("/")[0], switch.overlay.mlag.peer_address
        assert _let_in(config, ("tcp", 8888), peer, own, f"Vlan{switch.overlay.mlag.vlan}")


def test_the_double_sees_what_one_table_alone_would_do() -> None:
    """SNMP's table alone would shut SSH and BFD: caclmgrd ends the chain with DROP as soon as there is one rule."""
    switch = factory.plan("turned").switch("compute-leaf-u01-01")
    config = _read("turned", switch)
    assert switch.management
    own = switch.management.address.partition("/")[0]
    config["ACL_TABLE"] = {"SNMP_ACL": config["ACL_TABLE"]["SNMP_ACL"]}
    config["ACL_RULE"] = {key: row for key, row in config["ACL_RULE"].items() if key.startswith("SNMP_ACL")}
    assert not _let_in(config, SSH, "10.255.0.99", own, "eth0")
    port = next(port for port in switch.ports if port.use == "fabric")
    assert not _let_in(config, BFD, port.peer_address, port.address.partition("/")[0], port.name)
