"""Where a server is in a network: what services of it answer at."""

from __future__ import annotations

from ipaddress import IPv4Network

from cluster_model.plan.model import Server

At = tuple[str, str, str, int]
"""An address without its length, the subnet that it is in, its interface, Gb/s."""


def find_address(server: Server, network: str) -> At | None:
    """Return where a server is in a network; None where it has no address in it.

    Args:
        server: a planned server.
        network: `storage`, whose service address does not hang on one port; `oob`; or TENANT/SUBNET.

    Returns:
        The address without its length, the subnet that it is in, its interface, and the Gb/s of its ports there.
    """
    if "/" in network:
        for bond in server.bonds:
            for vlan in bond.vlans:
                if f"{vlan.tenant}/{vlan.subnet}" == network and vlan.address:
                    return _locate(vlan.address, vlan.name, bond.speed_gbps)
        return None
    for service in server.services:
        if (service.network, service.purpose) == (network, "storage"):
            return _locate(service.address, "lo", sum(p.speed_gbps for p in server.ports if p.name in service.ports))
    port = next((port for port in server.ports if port.network == network and port.address), None)
    return _locate(port.address, port.name, port.speed_gbps) if port else None


def _locate(address: str, interface: str, speed_gbps: int) -> At:
    return address.partition("/")[0], str(IPv4Network(address, strict=False)), interface, speed_gbps
