"""Read a host's rendered network files back, networkd's and netplan's, into one record; and say what the plan wants in it.

A record is {(kind, name, what): value}: links with MAC or PCI address, MTU and addresses; routes by destination and table; rules.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

import yaml

from cluster_model.plan.model import Plan, Server

MANAGEMENT_TABLE = 90
DEFAULT = "0.0.0.0/0"
Record = dict[tuple[str, str, str], Any]


def read_sections(text: str) -> list[tuple[str, dict[str, list[str]]]]:
    """Return the sections of a unit file in order, each key with all its values."""
    found: list[tuple[str, dict[str, list[str]]]] = []
    for line in text.splitlines():
        if head := re.fullmatch(r"\[(\w+)\]", line):
            found.append((head[1], defaultdict(list)))
        elif line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found[-1][1][key].append(value)
    return found


def read_networkd(files: list[dict[str, Any]]) -> Record:
    record: Record = {}
    for file in files:
        suffix = file["path"].rpartition(".")[2]
        if not file["path"].startswith("/etc/systemd/network/"):
            continue
        sections = read_sections(file["content"])
        if suffix == "netdev":
            body = {key: values[0] for _, section in sections for key, values in section.items()}
            _put(record, "device", body["Name"], body["Kind"], body.get("Mode", body.get("Id")))
        elif suffix == "network":
            read_network(record, sections)
        elif suffix == "link":
            body = {key: values[0] for _, section in sections for key, values in section.items()}
            _put(record, "link", body["Name"], "by", body.get("PermanentMACAddress") or body["Path"])
    return record


def read_network(record: Record, sections: list[tuple[str, dict[str, list[str]]]]) -> None:
    """Add what a .network file says."""
    name = sections[0][1]["Name"][0]
    for kind, section in sections:
        if kind == "Link" and "MTUBytes" in section:
            _put(record, "link", name, "mtu_bytes", int(section["MTUBytes"][0]))
        if kind == "Network":
            _put(record, "link", name, "addresses", sorted(section.get("Address", [])))
            _put(record, "link", name, "bond", section.get("Bond", [""])[0])
            _put(record, "link", name, "vlans", sorted(section.get("VLAN", [])))
            _put(record, "link", name, "dhcp", "DHCP" in section)
            _put(record, "link", name, "lldp", section.get("EmitLLDP") == ["yes"])
        if kind == "DHCPv4":
            _put(record, "link", name, "dhcp_default", section["UseGateway"][0] == "yes")
        if kind == "Route":
            ways = [tuple(each.split("@")) for each in section.get("MultiPathRoute", [])]
            _route(record, name, section, ways or [(section.get("Gateway", [""])[0], name)])
        if kind == "RoutingPolicyRule":
            _put(record, "rule", section["From"][0], "table", int(section["Table"][0]))


def _route(record: Record, name: str, section: dict[str, list[str]], ways: list[tuple[str, ...]]) -> None:
    table, metric = int(section.get("Table", ["254"])[0]), int(section.get("Metric", ["0"])[0])
    key = ("route", f"{section['Destination'][0]} table {table} metric {metric}", "ways")
    said = {"ways": sorted(ways), "source": section.get("PreferredSource", [""])[0]}
    assert record.setdefault(key, said) == said, f"{key} twice, and not the same: {record[key]} and {said}"


def _put(record: Record, kind: str, name: str, what: str, value: Any) -> None:
    assert (kind, name, what) not in record, f"{kind} {name} {what} is said twice"
    record[kind, name, what] = value


def read_netplan(files: list[dict[str, Any]], common: list[dict[str, Any]]) -> Record:
    (main,) = (file for file in files if file["path"].startswith("/etc/netplan/"))
    body = yaml.safe_load(main["content"])["network"]
    record: Record = {key: value for key, value in read_networkd(common).items() if key[2] == "by"}
    members = {port: bond for bond, about in body.get("bonds", {}).items() for port in about["interfaces"]}
    vlans: defaultdict[str, list[str]] = defaultdict(list)
    for name, about in body.get("vlans", {}).items():
        vlans[about["link"]].append(name)
        _put(record, "device", name, "vlan", str(about["id"]))
    for name, about in body.get("bonds", {}).items():
        _put(record, "device", name, "bond", about["parameters"]["mode"])
    links = {**body["ethernets"], **body.get("bonds", {}), **body.get("vlans", {})}
    for name, about in links.items():
        if "mtu" in about:
            _put(record, "link", name, "mtu_bytes", about["mtu"])
        _put(record, "link", name, "addresses", sorted(about.get("addresses", [])))
        _put(record, "link", name, "bond", members.get(name, ""))
        _put(record, "link", name, "vlans", sorted(vlans[name]))
        _put(record, "link", name, "dhcp", about.get("dhcp4", False))
        _put(record, "link", name, "lldp", about.get("emit-lldp", False))
        if about.get("dhcp4"):
            _put(record, "link", name, "dhcp_default", about["dhcp4-overrides"]["use-routes"])
        for route in about.get("routes", []):
            section = {
                "Destination": [route["to"]],
                "Table": [str(route.get("table", 254))],
                "Metric": [str(route.get("metric", 0))],
            }
            section |= {"PreferredSource": [route["from"]]} if "from" in route else {}
            _route(record, name, section, [(route["via"], name)])
        for rule in about.get("routing-policy", []):
            _put(record, "rule", rule["from"], "table", rule["table"])
    for file in files:
        if beside := re.fullmatch(r"/etc/systemd/network/10-netplan-(.+)\.network\.d/10-gpuyard-.+\.conf", file["path"]):
            for _, section in read_sections(file["content"]):
                _route(record, beside[1], section, [tuple(each.split("@")) for each in section["MultiPathRoute"]])
    return record


def expect(plan: Plan, server: Server) -> Record:
    """Return the record that the plan wants of a server."""
    record: Record = {}
    infiniband = {network.name for network in plan.networks if network.technology == "infiniband"}
    members = {port: bond.name for bond in server.bonds for port in bond.ports}
    elsewhere = any(vlan.default for bond in server.bonds for vlan in bond.vlans)
    for port in server.ports:
        known = port.mac if port.network not in infiniband else ""
        if known or port.pci:
            record["link", port.name, "by"] = known or f"pci-{port.pci}"
        if port.network in infiniband:
            continue  # without an address: the subnet manager's
        _link(
            record, port.name, port.mtu_bytes, [port.address] if port.address else [], bond=members.get(port.name, ""), lldp=True
        )
        here = port.address.partition("/")[0]
        if port.route == DEFAULT:
            _way(record, DEFAULT, 254, 200 if elsewhere else 100, [(port.gateway, port.name)])
        elif port.route:
            _way(record, port.route, 254, 0, [(port.gateway, port.name)])
        table = port.table or (MANAGEMENT_TABLE if port.route == DEFAULT and elsewhere else 0)
        if table:
            _way(record, DEFAULT, table, 0, [(port.gateway, port.name)])
            record["rule", here, "table"] = table
    for bond in server.bonds:
        record["device", bond.name, "bond"] = "802.3ad"
        own = [vlan for vlan in bond.vlans if not vlan.tagged]
        _link(
            record,
            bond.name,
            bond.mtu_bytes,
            [vlan.address for vlan in own if vlan.address],
            vlans=[vlan.name for vlan in bond.vlans if vlan.tagged],
            dhcp=any(vlan.dhcp for vlan in own),
        )
        for vlan in bond.vlans:
            if vlan.tagged:
                record["device", vlan.name, "vlan"] = str(vlan.vlan)
                _link(record, vlan.name, bond.mtu_bytes, [vlan.address] if vlan.address else [], dhcp=vlan.dhcp)
            if vlan.dhcp:
                record["link", vlan.name, "dhcp_default"] = vlan.default
            elif vlan.default:
                _way(record, DEFAULT, 254, 100, [(vlan.gateway, vlan.name)])
    if server.services:
        for what, value in {
            "addresses": sorted(each.address for each in server.services),
            "bond": "",
            "vlans": [],
            "dhcp": False,
            "lldp": False,
        }.items():
            record["link", "lo", what] = value
    for service in server.services:
        ways = list(zip(service.gateways, service.ports, strict=True))
        source = service.address.partition("/")[0]
        for destination in (service.route, *service.beyond):
            if len(ways) > 1:
                _way(record, destination, 254, 100, ways, source)
            for number, way in enumerate(ways):
                _way(record, destination, 254, 200 + number, [way], source)
    return record


def _link(
    record: Record,
    name: str,
    mtu_bytes: int,
    addresses: list[str],
    *,
    bond: str = "",
    vlans: Any = (),
    dhcp: bool = False,
    lldp: bool = False,
) -> None:
    for what, value in {
        "mtu_bytes": mtu_bytes,
        "addresses": addresses,
        "bond": bond,
        "vlans": sorted(vlans),
        "dhcp": dhcp,
        "lldp": lldp,
    }.items():
        record["link", name, what] = value


def _way(record: Record, destination: str, table: int, metric: int, ways: list[tuple[str, str]], source: str = "") -> None:
    record["route", f"{destination} table {table} metric {metric}", "ways"] = {"ways": sorted(ways), "source": source}


def compare(wanted: Record, said: Record) -> list[str]:
    """Return what differs, a line each."""
    keys = sorted({*wanted, *said})
    return [
        f"{' '.join(key)}: {said.get(key)}, and the plan has {wanted.get(key)}"
        for key in keys
        if said.get(key) != wanted.get(key)
    ]
