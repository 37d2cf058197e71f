"""Servers: ports and service addresses."""

from __future__ import annotations

from dataclasses import dataclass

from cluster_model.plan.model.floor import Management
from cluster_model.plan.model.overlay import ServerBond


@dataclass(frozen=True, slots=True)
class ServerPort:
    """A cabled port of a server. `route` is what lies behind `gateway`; `table` is its policy-routing table, 0 for main."""

    name: str
    network: str
    cage: int
    sub: int
    rail: int  # -1: no rail
    plane: int  # from 1
    speed_gbps: int
    mtu_bytes: int
    nic: str
    rdma: str
    pci: str
    gpu: int  # -1: none beside it
    numa: int  # -1: unknown
    mac: str
    guid: str
    address: str
    gateway: str
    route: str
    table: int
    peer: str
    peer_port: str


@dataclass(frozen=True, slots=True)
class Service:
    """A service address of a host (/32 on lo): reached over all `gateways` by ECMP; `route` is the whole service range.

    `beyond` is what else the host sends that way: pods of other nodes, first, and hosts' ends of their links.
    """

    network: str
    purpose: str  # storage | ceph-cluster
    address: str
    route: str
    gateways: tuple[str, ...]
    ports: tuple[str, ...]
    beyond: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Server:
    """A server."""

    name: str
    group: str
    role: str
    number: int
    unit: int  # compute unit, from 1; 0 without compute ports
    model: str
    rack: str
    u: int
    height_u: int
    bmc: Management | None
    ports: tuple[ServerPort, ...]
    services: tuple[Service, ...]
    gpus: int
    gpu_model: str
    power_w: float  # maximum without optics
    optics_w: float
    gpu_cap_w: int  # per GPU at all times; 0: none needed
    gpu_cap_feed_lost_w: int  # per GPU with a feed lost; 0: none needed
    serial: str
    where: str
    bonds: tuple[ServerBond, ...] = ()  # of its business ports


@dataclass(frozen=True, slots=True)
class NvmeTarget:
    """A server that exports NVMe namespaces: its service address, where initiators connect and where they discover."""

    server: str
    address: str
    port: int
    discovery_port: int
