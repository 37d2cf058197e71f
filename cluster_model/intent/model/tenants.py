"""Tenants: who shares the cluster, with which addresses, and who may speak to whom."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cluster_model.intent.base import Address, Id, Model, Name, Prefix

Servers = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*(\.\.[a-z][a-z0-9-]*)?$")]
"""A server group (`gpu`), a server (`gpu-007`), or a slice of a group (`gpu-001..gpu-064`)."""
Vni = Annotated[int, Field(ge=1, le=16_777_215)]
VlanId = Annotated[int, Field(ge=2, le=4093)]
FIRST_PLACE = 16
"""Of a group's server 1 in a subnet, where `first` says nothing: the places below are left to gateways and virtual addresses."""


class Range(Model):
    """Addresses that a DHCP server hands out."""

    first: Address
    """First address."""
    last: Address
    """Last address."""


class Subnet(Model):
    """A subnet of a tenant: one VLAN and VXLAN over all leafs that its servers hang on."""

    id: Annotated[int, Field(ge=1, le=15)]
    """Number of the subnet in its tenant; its VLAN and VNI follow from it. Never reuse one."""
    cidr: Prefix
    """Its prefix. Another tenant may have the same."""
    gateway: Address | None = None
    """Anycast gateway, the same on every leaf; default: the first address."""
    servers: list[Servers] | None = None
    """Servers with an interface in it; default: the tenant's. Servers of several tenants may be named."""
    addressing: Literal["static", "dhcp"] = "static"
    """Servers' addresses: static ones planned here, or from the pool by DHCP."""
    first: dict[Name, Annotated[int, Field(ge=1, le=16_777_214)]] = {}
    """By server group: the place in the subnet of that group's server 1, counted from the network's own address; server n follows
    n - 1 later. Default: 16. Give every group after the first one a place of its own, and change none whose servers run."""
    pool: Range | None = None
    """What the DHCP server hands out: to these servers, or to pods and guests on them."""
    dhcp_servers: list[Address] = []
    """Where leafs relay DHCP to, inside the tenant or in a shared tenant that it uses."""
    visible: bool = True
    """Known outside: to shared tenants that this one uses, to peers and to the border. False keeps it to the tenant."""
    untagged: bool = False
    """Without a VLAN tag on its servers' bonds; one subnet per server at most."""
    vlan: VlanId | None = None
    """VLAN id; default: 16 x tenant + subnet."""
    vni: Vni | None = None
    """L2 VNI; default: 10000 + VLAN id."""


class TenantFiles(Model):
    """A tenant's folder in a file system, with whose key nothing beside it is read."""

    quota_tb: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    """What it may hold, TB (10^12 bytes), copies counted once. Default: no quota."""
    pool: Name | None = None
    """Pool of the file system that its files lie in; default: the first one."""


class TenantObjects(Model):
    """A tenant's user of the object store, with whose keys no bucket of another tenant is read."""

    quota_tb: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    """What its buckets may hold together, TB (10^12 bytes), copies counted once. Default: no quota."""


class TenantCeph(Model):
    """What a tenant has of the shared Ceph."""

    pools: list[Name] = []
    """Pools of `ceph.pools` that it may use, inside a namespace of its own."""
    filesystems: dict[Name, TenantFiles] = {}
    """File systems of `ceph.filesystems` in which it has a folder."""
    object: TenantObjects | None = None
    """Buckets in the object store, `ceph.object`."""


class Tenant(Model):
    """A tenant: a VRF of its own on the business network, and a share of the GPUs."""

    id: Id
    """Number of the tenant; VLANs, VNIs and route targets follow from it. Never reuse one."""
    vrf: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,30}$")] | None = None
    """Name of its VRF; default: the tenant's name. SONiC puts `Vrf` in front."""
    shared: bool = False
    """Offers services to the tenants that name it under `uses`."""
    servers: list[Servers] = []
    """Servers that are its own. Without any it runs on what Kubernetes or Slurm give it."""
    gpus: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """GPUs that it may use at a time; default: no quota."""
    subnets: Annotated[dict[Name, Subnet], Field(min_length=1)]
    """Its subnets by name."""
    uses: list[Name] = []
    """Shared tenants whose visible subnets it reaches, and that reach its own."""
    peers: list[Name] = []
    """Tenants that it exchanges visible subnets with; both must name the other."""
    egress: list[Name] = []
    """Border peers that it reaches."""
    nat: dict[Name, Prefix] = {}
    """By border peer: outside addresses that its traffic leaves with, halved over the border leafs."""
    vlan: VlanId | None = None
    """VLAN id of its L3 VNI; default: 16 x tenant."""
    vni: Vni | None = None
    """L3 VNI; default: 50000 + tenant."""
    ceph: TenantCeph | None = None
    """Its share of Ceph."""
