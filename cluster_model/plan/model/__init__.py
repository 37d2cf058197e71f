"""The plan: every choice made. Frozen, with slots: 100,000 GPUs are 300,000 cables.

Conventions: racks units count from the floor, from 1. Cages and devices count from 1. Rails, GPUs and ports inside a cage
count from 0, as NCCL, nvidia-smi and the NOS do. Addresses are text with their prefix length (`10.64.0.1/31`), gateways
without. Speeds are Gb/s, power W, lengths m, MTU bytes. `where` is the intent path that the object comes from.
An empty string or 0 means "none".
"""

from cluster_model.plan.model.cabling import BomLine, Cable, CableKind
from cluster_model.plan.model.floor import Management, Pdu, Rack, RackPower
from cluster_model.plan.model.networks import Lossless, Network, Slice
from cluster_model.plan.model.servers import NvmeTarget, Server, ServerPort, Service
from cluster_model.plan.model.switches import CageMode, ServiceRoute, Switch, SwitchPort, Tier, Upstream, Use, Vlan
from cluster_model.plan.model.whole import Plan, Site

__all__ = [
    "BomLine",
    "Cable",
    "CableKind",
    "CageMode",
    "Lossless",
    "Management",
    "Network",
    "NvmeTarget",
    "Pdu",
    "Plan",
    "Rack",
    "RackPower",
    "Server",
    "ServerPort",
    "Service",
    "ServiceRoute",
    "Site",
    "Slice",
    "Switch",
    "SwitchPort",
    "Tier",
    "Upstream",
    "Use",
    "Vlan",
]
