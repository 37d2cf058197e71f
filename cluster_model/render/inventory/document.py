"""inventory/inventory.json: hosts, groups and variables for Ansible, in the form that inventory scripts print.

The inventory plugin serves it; `_meta.gpuyard` lets the plugin see whether it still fits the intent. What all hosts of a server
group share stands once, in the variables of that group.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from cluster_model.catalogue.load import Catalogue
from cluster_model.plan.model import Management, Network, Pdu, Plan, Server, ServerPort, Switch
from cluster_model.render.inventory.gpu import describe_gpu, describe_nccl
from cluster_model.render.inventory.kubernetes import describe_kubernetes, describe_nodes
from cluster_model.render.services import list_services
from cluster_model.render.tenants import describe_border_peers, describe_tenants, list_memberships

FORMAT = "gpuyard-inventory-1"
Vars = dict[str, Any]


def render_inventory(plan: Plan, catalogue: Catalogue, inputs: Mapping[str, str]) -> bytes:
    """Return inventory.json.

    Args:
        plan: the plan.
        catalogue: for what the plan does not carry: a GPU's generation and limits, and what Ansible calls a switch's
            operating system.
        inputs: files the plan's digest is made from, name relative to the intent's folder → sha256.
    """
    groups = _Groups()
    hostvars: dict[str, Vars] = {}
    shared: dict[str, Vars] = {}
    rows = {rack.name: rack.row for rack in plan.racks}
    tenants = list_memberships(plan)
    nodes = describe_nodes(plan)
    for group, servers in _by_group(plan.servers).items():
        described = {
            server.name: {
                **_describe_server(server, plan, catalogue, rows, tenants),
                "gpuyard_kubernetes_node": nodes.get(server.name, {}),
            }
            for server in servers
        }
        shared[f"group_{safe(group)}"] = _hoist(described)
        hostvars |= described
    hostvars |= {switch.name: _describe_switch(switch, plan, catalogue, rows) for switch in plan.switches}
    hostvars |= {pdu.name: _describe_pdu(pdu, plan, rows) for pdu in plan.pdus}
    _group_hosts(groups, plan, rows)
    body: dict[str, Any] = {
        "_meta": {
            "gpuyard": {
                "format": FORMAT,
                "cluster": plan.name,
                "version": plan.version,
                "digest": plan.digest,
                "inputs": dict(sorted(inputs.items())),
            },
            "hostvars": hostvars,
        },
        "all": {"vars": _describe_cluster(plan)},
        **groups.as_dict(shared),
    }
    return _format_json(body)


def safe(name: str) -> str:
    """Return a name as Ansible lets groups be called: letters, digits, underscores."""
    return re.sub(r"\W", "_", name.lower())


class _Groups:
    """Groups with their hosts and children, in the order in which they are first named."""

    def __init__(self) -> None:
        self.hosts: dict[str, list[str]] = {}
        self.children: defaultdict[str, dict[str, None]] = defaultdict(dict)

    def add(self, group: str, host: str, parent: str = "") -> None:
        self.hosts.setdefault(group, []).append(host)
        if parent:
            self.children[parent][group] = None

    def as_dict(self, shared: Mapping[str, Vars]) -> dict[str, Vars]:
        body: dict[str, Vars] = {}
        for group in sorted({*self.hosts, *self.children}):
            parts = {"hosts": self.hosts.get(group), "children": list(self.children.get(group, ())), "vars": shared.get(group)}
            body[group] = {key: value for key, value in parts.items() if value}
        return body


def _group_hosts(groups: _Groups, plan: Plan, rows: Mapping[str, str]) -> None:
    for server in plan.servers:
        groups.add(f"group_{safe(server.group)}", server.name, parent="servers")
        groups.add(f"role_{safe(server.role)}", server.name)
        if server.unit:
            groups.add(f"unit_{server.unit:02d}", server.name)
    for switch in plan.switches:
        tier = f"{safe(switch.network)}_{switch.role}"
        groups.add(tier, switch.name, parent=f"network_{safe(switch.network)}")
        groups.children["switches"][f"network_{safe(switch.network)}"] = None
        if switch.nos:
            groups.add(f"nos_{safe(switch.nos)}", switch.name)
        if switch.network == "compute":
            groups.add(f"plane_{switch.plane}", switch.name)
            if switch.unit:
                groups.add(f"unit_{switch.unit:02d}", switch.name)
            for rail in switch.rails:
                groups.add(f"rail_{rail}", switch.name)
    for pdu in plan.pdus:
        groups.add("pdus", pdu.name)
    for tenant in plan.tenants:
        for name in tenant.servers:
            groups.add(f"tenant_{safe(tenant.name)}", name, parent="tenants")
    for service in list_services():
        for group, host in service.groups(plan):
            groups.add(safe(group), host)
    stand = [(server.name, server.rack) for server in plan.servers]
    stand += [(switch.name, switch.rack) for switch in plan.switches]
    stand += [(pdu.name, pdu.rack) for pdu in plan.pdus]
    for name, rack in stand:
        groups.add(f"rack_{safe(rack)}", name, parent=f"row_{safe(rows.get(rack, '')) or 'none'}")


def _by_group(servers: Iterable[Server]) -> dict[str, list[Server]]:
    found: defaultdict[str, list[Server]] = defaultdict(list)
    for server in servers:
        found[server.group].append(server)
    return dict(found)


def _hoist(described: Mapping[str, Vars]) -> Vars:
    """Move the variables that all these hosts share out of them, and return them."""
    first, *others = described.values()
    shared = {key: value for key, value in first.items() if all(other[key] == value for other in others)}
    for variables in described.values():
        for key in shared:
            del variables[key]
    return shared


def _describe_cluster(plan: Plan) -> Vars:
    """Return what every host and switch shares."""
    site, lossless = plan.site, plan.lossless
    return {
        "gpuyard_cluster": plan.name,
        "gpuyard_site": {
            "domain": site.domain,
            "timezone": site.timezone,
            "dns": site.dns,
            "ntp": site.ntp,
            "syslog": site.syslog,
            "snmp_managers": site.snmp_managers,
        },
        "gpuyard_networks": {network.name: _describe_network(network) for network in plan.networks},
        "gpuyard_nvme_targets": plan.nvme_targets,
        "gpuyard_tenants": describe_tenants(plan),
        "gpuyard_border_peers": describe_border_peers(plan),
        "gpuyard_kubernetes": describe_kubernetes(plan),
        "gpuyard_lossless": {
            "data_dscp": lossless.data_dscp,
            "data_tos": lossless.data_tos,
            "cnp_dscp": lossless.cnp_dscp,
            "priority": lossless.priority,
            "cnp_priority": lossless.cnp_priority,
            "pfc_priorities": lossless.pfc_priorities,
            "trust": lossless.trust,
            "mtu_bytes": lossless.mtu_bytes,
            "host_mtu_bytes": lossless.host_mtu_bytes,
        },
    }


def _describe_network(network: Network) -> Vars:
    return {
        "technology": network.technology,
        "design": network.design,
        "planes": network.planes,
        "tiers": network.tiers,
        "lossless": network.lossless,
        "mtu_bytes": network.mtu_bytes,
        "host_mtu_bytes": network.host_mtu_bytes,
        "pool": network.pool,
        "homing": network.homing,
        "isolation": network.isolation,
    }


def _describe_server(
    server: Server, plan: Plan, catalogue: Catalogue, rows: Mapping[str, str], tenants: Mapping[str, list[str]]
) -> Vars:
    fqdn = f"{server.name}.{plan.site.domain}"
    oob = next((port.address for port in server.ports if port.network == "oob" and port.address), "")
    bonds = {port: bond.name for bond in server.bonds for port in bond.ports}
    return {
        "ansible_host": oob.partition("/")[0] or fqdn,
        "gpuyard_name": server.name,
        "gpuyard_fqdn": fqdn,
        "gpuyard_role": server.role,
        "gpuyard_group": server.group,
        "gpuyard_number": server.number,
        "gpuyard_unit": server.unit,
        "gpuyard_model": server.model,
        "gpuyard_serial": server.serial,
        "gpuyard_rack": server.rack,
        "gpuyard_failure_domain": server.rack,
        "gpuyard_row": rows.get(server.rack, ""),
        "gpuyard_u": server.u,
        "gpuyard_bmc": _describe_management(server.bmc),
        "gpuyard_interfaces": [_describe_port(port, plan, bonds.get(port.name, "")) for port in server.ports],
        "gpuyard_bonds": server.bonds,
        "gpuyard_tenant_names": tenants.get(server.name, []),
        "gpuyard_services": server.services,
        "gpuyard_gpu": describe_gpu(server, plan, catalogue),
        "gpuyard_nccl": describe_nccl(server, plan, catalogue),
    }


def _describe_port(port: ServerPort, plan: Plan, bond: str) -> Vars:
    network = plan.network(port.network)
    return {
        "name": port.name,
        "network": port.network,
        "bond": bond,
        "mac": port.mac,
        "guid": port.guid,
        "address": port.address,
        "gateway": port.gateway,
        "route": port.route,
        "table": port.table,
        "mtu_bytes": port.mtu_bytes,
        "speed_gbps": port.speed_gbps,
        "lossless": network is not None and network.lossless,
        "rail": port.rail,
        "plane": port.plane,
        "nic": port.nic,
        "rdma": port.rdma,
        "pci": port.pci,
        "numa": port.numa,
        "gpu": port.gpu,
        "peer": port.peer,
        "peer_port": port.peer_port,
    }


def _describe_switch(switch: Switch, plan: Plan, catalogue: Catalogue, rows: Mapping[str, str]) -> Vars:
    fqdn = f"{switch.name}.{plan.site.domain}"
    platform = catalogue.platforms.get(switch.nos)
    address = (switch.management.address if switch.management else "") or switch.loopback
    return {
        "ansible_host": address.partition("/")[0] or fqdn,
        "ansible_network_os": switch.nos,
        "gpuyard_netmiko": (platform.netmiko if platform else None) or "",
        "gpuyard_name": switch.name,
        "gpuyard_fqdn": fqdn,
        "gpuyard_role": switch.role,
        "gpuyard_network": switch.network,
        "gpuyard_plane": switch.plane,
        "gpuyard_pod": switch.pod,
        "gpuyard_unit": switch.unit,
        "gpuyard_rails": switch.rails,
        "gpuyard_model": switch.model,
        "gpuyard_nos": switch.nos,
        "gpuyard_serial": switch.serial,
        "gpuyard_guid": switch.guid,
        "gpuyard_rack": switch.rack,
        "gpuyard_failure_domain": switch.rack,
        "gpuyard_row": rows.get(switch.rack, ""),
        "gpuyard_u": switch.u,
        "gpuyard_asn": switch.asn,
        "gpuyard_loopback": switch.loopback,
        "gpuyard_management": _describe_management(switch.management),
    }


def _describe_pdu(pdu: Pdu, plan: Plan, rows: Mapping[str, str]) -> Vars:
    fqdn = f"{pdu.name}.{plan.site.domain}"
    address = pdu.management.address if pdu.management else ""
    return {
        "ansible_host": address.partition("/")[0] or fqdn,
        "gpuyard_name": pdu.name,
        "gpuyard_fqdn": fqdn,
        "gpuyard_model": pdu.model,
        "gpuyard_serial": pdu.serial,
        "gpuyard_rack": pdu.rack,
        "gpuyard_failure_domain": pdu.rack,
        "gpuyard_row": rows.get(pdu.rack, ""),
        "gpuyard_feed": pdu.feed,
        "gpuyard_management": _describe_management(pdu.management),
    }


def _describe_management(management: Management | None) -> Vars:
    """Return an out-of-band attachment; empty where there is none, so that `.address is defined` asks for it."""
    if management is None:
        return {}
    return {
        "address": management.address,
        "gateway": management.gateway,
        "mac": management.mac,
        "peer": management.peer,
        "peer_port": management.peer_port,
    }


def _format_json(body: Mapping[str, Any]) -> bytes:
    """Return JSON with one line per host and per group: it can be read in a diff, and costs no white space."""
    meta = body["_meta"]
    hosts = b",\n".join(orjson.dumps(name) + b":" + orjson.dumps(value) for name, value in meta["hostvars"].items())
    head = b'{"_meta":{"gpuyard":' + orjson.dumps(meta["gpuyard"], option=orjson.OPT_INDENT_2)
    groups = b",\n".join(orjson.dumps(name) + b":" + orjson.dumps(value) for name, value in body.items() if name != "_meta")
    return head + b',"hostvars":{\n' + hosts + b"\n}},\n" + groups + b"\n}\n"
