"""The root of an intent."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from cluster_model.intent.base import Model, Name
from cluster_model.intent.model.bmc import Bmc
from cluster_model.intent.model.business import BusinessNetwork
from cluster_model.intent.model.cables import Cables
from cluster_model.intent.model.networks import ComputeNetwork, OobNetwork, StorageNetwork
from cluster_model.intent.model.policy import Facts, Gpu, Lossless
from cluster_model.intent.model.servers import ServerGroup
from cluster_model.intent.model.site import Racks, Site
from cluster_model.intent.model.tenants import Tenant
from cluster_model.intent.services.ceph import Ceph
from cluster_model.intent.services.kubernetes import Kubernetes
from cluster_model.intent.services.provisioning import Provisioning


class Networks(Model):
    """The physical networks."""

    compute: ComputeNetwork | None = None
    """Between GPUs."""
    storage: StorageNetwork | None = None
    """To storage."""
    business: BusinessNetwork | None = None
    """Of the tenants, and to the world."""
    oob: OobNetwork
    """To BMCs, PDUs, switch management and provisioning ports."""


class Cluster(Model):
    """One GPU cluster: the only file a person writes."""

    name: Name
    """Name of the cluster; the rendered tree is build/NAME/."""
    asn_base: Annotated[int, Field(ge=64_512, le=4_294_967_294)] = 4_200_000_000
    """First AS number; everything is numbered up from here. Four-byte private numbers begin at 4200000000 (RFC 6996)."""
    site: Site
    """Where it stands."""
    racks: Racks
    """The floor."""
    servers: Annotated[dict[Name, ServerGroup], Field(min_length=1)]
    """Server groups by name."""
    networks: Networks
    """The networks."""
    cables: Cables = Cables()
    """Cables that were built differently."""
    tenants: dict[Name, Tenant] = {}
    """Tenants by name."""
    lossless: Lossless = Lossless()
    """The lossless profile of the RoCE networks."""
    ceph: Ceph | None = None
    """Ceph."""
    kubernetes: Kubernetes | None = None
    """Kubernetes."""
    gpu: Gpu = Gpu()
    """GPU policy."""
    provisioning: Provisioning | None = None
    """How servers get their operating system; without it they get addresses and names, and nothing is installed."""
    facts: Facts = Facts()
    """Serial numbers, MACs and GUIDs."""
    bmc: Bmc = Bmc()
    """Logins to BMCs."""
