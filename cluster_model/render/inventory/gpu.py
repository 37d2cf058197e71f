"""What an inventory says of a server's GPUs: how they may be driven and capped, and how NCCL is to cross the network."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from cluster_model.catalogue.load import Catalogue
from cluster_model.plan.model import Plan, Server

Vars = dict[str, Any]
# NCCL's bootstrap is a few kB per rank: it takes the quietest network that every host has.
SOCKET_NETWORKS = ("business", "oob", "storage")


def describe_gpu(server: Server, plan: Plan, catalogue: Catalogue) -> Vars:
    """Return `gpuyard_gpu`: the same keys for every server, empty, 0 or false where it has no GPUs.

    Watts are per GPU. `cap_w` and `cap_feed_lost_w` are the plan's and 0 where no cap is needed; `cap_min_w` and `cap_max_w`
    are the limits that the catalogue knows, which the driver has the last word on.
    """
    gpu = catalogue.gpus.get(server.gpu_model) if server.gpus else None
    block = catalogue.server(server.model) if server.gpus else None
    board = block.gpus if block else None
    return {
        "model": server.gpu_model,
        "vendor": gpu.vendor if gpu else "",
        "count": server.gpus,
        "generation": gpu.generation if gpu else "",
        "nvswitch": board is not None and board.interconnect == "nvswitch",
        "nvlink_generation": gpu.nvlink_generation if gpu else 0,
        "tdp_w": round(gpu.power_max_w) if gpu else 0,
        "cap_min_w": round(gpu.power_min_w) if gpu else 0,
        "cap_max_w": round(gpu.power_max_w) if gpu else 0,
        "cap_w": server.gpu_cap_w,
        "cap_feed_lost_w": server.gpu_cap_feed_lost_w,
        "on_feed_loss": plan.gpu_on_feed_loss if server.gpus else "",
        "driver": plan.gpu_driver if server.gpus else "",
    }


def describe_nccl(server: Server, plan: Plan, catalogue: Catalogue) -> Vars:
    """Return `gpuyard_nccl`: what of /etc/nccl.conf follows from the plan; empty without GPUs or a compute network.

    `traffic_class` is the ToS byte of the lossless profile, 0 where nothing is lossless. `gid_index` is -1: NCCL takes the
    RoCE v2 entry by itself since 2.21, and a fixed index is another one as soon as an address is added. `cross_nic` is 0 where
    rails never meet, and -1, NCCL's own choice, elsewhere. `adaptive_routing` is 1 on RoCE with adaptive routing,
    where packets overtake each other, and -1, NCCL's own choice, elsewhere: on for InfiniBand, off for RoCE.
    Source: NVIDIA/nccl 2.30, environment variables.
    """
    compute = plan.network("compute")
    if compute is None or not server.gpus:
        return {}
    block = catalogue.server(server.model)
    return {
        "ib_hca": list(dict.fromkeys(port.rdma for port in server.ports if port.network == "compute" and port.rdma)),
        "traffic_class": plan.lossless.data_tos if compute.lossless else 0,
        "gid_index": -1,
        "cross_nic": 0 if compute.tiers == 1 and compute.design == "rail-optimized" else -1,
        "adaptive_routing": 1 if compute.lossless and compute.load_balancing == "adaptive" else -1,
        "socket_ifname": list_socket_interfaces(server),
        "topology_file": block.gpus.nccl_topology if block and block.gpus else "",
    }


def list_socket_interfaces(server: Server) -> list[str]:
    """Return the interfaces that NCCL's processes meet on: those of the first of SOCKET_NETWORKS that has addresses."""
    bonded = {port for bond in server.bonds for port in bond.ports}
    for network in SOCKET_NETWORKS:
        ports = [port.name for port in server.ports if port.network == network]
        found = [name for name in ports if name not in bonded] or list_bond_interfaces(server, set(ports))
        if found:
            return found
    return []


def list_bond_interfaces(server: Server, ports: Collection[str]) -> list[str]:
    """Return the interface that traffic takes over each bond of these ports: a bond's ports have no addresses of their own.

    It is the one with the default gateway, else the first; none where the server is in no subnet.
    """
    found = []
    for bond in server.bonds:
        ways = [vlan.name for vlan in bond.vlans if vlan.default] or [vlan.name for vlan in bond.vlans]
        if ways and set(bond.ports) & set(ports):
            found.append(ways[0])
    return found
