"""dns/: forward and reverse zones of every address that the plan gives away, and BIND's configuration for them.

Checked by named-checkzone and named-checkconf. Addresses of fabric links and of tenants are left out: the former come and go with
cables, the latter may stand twice.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from cluster_model.plan.model import Management, Plan
from cluster_model.plan.services.provisioning import find_boot_port
from cluster_model.render.boot.shared import boot_environment

Record = tuple[str, str]
"""A host name without the domain, and its address without length."""


def render_dns(plan: Plan) -> Iterator[tuple[str, bytes]]:
    """Yield zones and configuration; nothing where nobody would serve them."""
    if not plan.provisioning.servers:
        return
    records = list(list_records(plan))
    domain = plan.site.domain
    reverse = _turn(plan, records)
    zones = [domain, *sorted(reverse)]
    forward = [(name, "A", address) for name, address in (*records, *_list_services(plan))]
    yield f"dns/{domain}.zone", _write_zone(plan, domain, forward)
    for zone in zones[1:]:
        yield f"dns/{zone}.zone", _write_zone(plan, zone, [(label, "PTR", f"{name}.{domain}.") for label, name in reverse[zone]])
    environment = boot_environment()
    yield "dns/zones.conf", environment.get_template("dns/zones.conf.j2").render(cluster=plan.name, zones=zones).encode()
    transfers = plan.site.dns
    text = environment.get_template("dns/named.conf.j2").render(cluster=plan.name, transfers=transfers)
    yield "dns/named.conf", text.encode()


def list_records(plan: Plan) -> Iterator[Record]:
    """Yield name and address of everything that has one, in the plan's order; each address once.

    A server is its provisioning port; its other ports are SERVER-PORT, its BMC SERVER-bmc, its service addresses SERVER-PURPOSE.
    A switch is its management port, or its loopback where it has none; else the loopback is SWITCH-lo.
    """
    for server in plan.servers:
        boot = find_boot_port(server.ports)
        if boot is not None:
            yield server.name, _bare(boot.address)
        yield from _manage(f"{server.name}-bmc", server.bmc)
        for port in server.ports:
            if port.address and port is not boot:
                yield f"{server.name}-{_label(port.name)}", _bare(port.address)
        for service in server.services:
            yield f"{server.name}-{_label(service.purpose)}", _bare(service.address)
    for switch in plan.switches:
        managed = switch.management is not None and bool(switch.management.address)
        yield from _manage(switch.name, switch.management)
        if switch.loopback:
            yield f"{switch.name}-lo" if managed else switch.name, _bare(switch.loopback)
        for vlan in switch.vlans:
            yield f"{switch.name}-{_label(vlan.name)}", _bare(vlan.address)
    for pdu in plan.pdus:
        yield from _manage(pdu.name, pdu.management)


def name_servers(plan: Plan) -> list[str]:
    """Return the full names of the name servers; one that is not the cluster's own is called ns1, ns2, ..."""
    servers = plan.provisioning.servers
    return [f"{server.name or f'ns{number}'}.{plan.site.domain}." for number, server in enumerate(servers, 1)]


def _list_services(plan: Plan) -> Iterator[Record]:
    """Yield names of services, which have no reverse."""
    servers = plan.provisioning.servers
    yield "boot", servers[0].address
    yield from ((f"ns{number}", server.address) for number, server in enumerate(servers, 1) if not server.name)
    endpoint = plan.kubernetes.endpoint
    if endpoint.name:
        label = endpoint.name.removesuffix(f".{plan.site.domain}")
        yield from ((label, address) for address in endpoint.others or (endpoint.address,))
    if endpoint.announced_name:
        yield endpoint.announced_name.removesuffix(f".{plan.site.domain}"), endpoint.announced
    store = plan.ceph.store
    if store:
        label = store.domain_name.removesuffix(f".{plan.site.domain}")
        for name in (label, f"*.{label}"):  # S3 lets a bucket stand in front of it
            yield from ((name, server.address) for server in store.servers if server.address)


def _manage(name: str, management: Management | None) -> Iterator[Record]:
    if management is not None and management.address:
        yield name, _bare(management.address)


def _bare(address: str) -> str:
    return address.partition("/")[0]


def _label(name: str) -> str:
    """Return a port's name as a part of a host name."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _turn(plan: Plan, records: list[Record]) -> dict[str, list[tuple[str, str]]]:
    """Return (label, name) by reverse zone. A zone lies inside its network's pool, except that none is smaller than a /24."""
    pools = [IPv4Network(network.pool) for network in plan.networks if network.pool]
    bounds = [(int(pool[0]), int(pool[-1]), min(3, -(-pool.prefixlen // 8))) for pool in pools]
    found: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for name, address in records:
        number = int(IPv4Address(address))
        octets = next((octets for low, high, octets in bounds if low <= number <= high), 3)
        parts = address.split(".")
        found[".".join(reversed(parts[:octets])) + ".in-addr.arpa"].append((number, name))
    turned = {}
    for zone, entries in found.items():
        width = 4 - (zone.count(".") - 1)
        turned[zone] = [
            (".".join(reversed(str(IPv4Address(number)).split(".")[-width:])), name) for number, name in sorted(entries)
        ]
    return turned


def _write_zone(plan: Plan, origin: str, records: list[tuple[str, str, str]]) -> bytes:
    lines = "\n".join(f"{label} IN {kind} {value}" for label, kind, value in records)
    servers = name_servers(plan)
    digest = hashlib.sha256("\n".join([origin, *servers, lines]).encode()).digest()
    serial = int.from_bytes(digest[:4], "big") or 1
    template = boot_environment().get_template("dns/zone.j2")
    text = template.render(
        cluster=plan.name, origin=origin, domain=plan.site.domain, servers=servers, serial=serial, records=lines
    )
    return text.encode()
