"""What an intent says of Kubernetes: who runs it, on which addresses, and who queues for GPUs."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Annotated, Any, Literal

from pydantic import Field

from cluster_model.intent.base import Model, Name, Pattern, Prefix

MINOR = r"^1\.[0-9]{2}$"
PATTERNS: dict[str, Pattern] = {MINOR: Pattern('a minor version, such as "1.36"', "1.36")}
"""What each pattern means, and a text that fits it."""
EXAMPLES: dict[str, Any] = {
    "kubernetes": {"control": "control", "workers": ["gpu"]},
    "region": "north",
    "zone": "hall-1",
}
"""What an unset key shows in a new cluster.yml."""


class Kubernetes(Model):
    """Kubernetes."""

    control: Name
    """Server group of the control plane."""
    workers: Annotated[list[Name], Field(min_length=1)]
    """Server groups that run pods."""
    version: Annotated[str, Field(pattern=MINOR)] = "1.36"
    """Minor version."""
    service_pool: Prefix = IPv4Network("10.96.0.0/12")
    """Addresses of services; default: kubeadm's own."""
    pod_pool: Prefix = IPv4Network("10.244.0.0/16")
    """Addresses of pods; default: the one that network plug-ins commonly assume."""
    region: Name | None = None
    """Region that nodes are labeled with; default: the cluster's name."""
    zone: Name | None = None
    """Zone that nodes are labeled with: what fails together, such as a hall; default: the cluster's name."""
    queueing: Literal["volcano", "none"] = "volcano"
    """Who lets jobs wait for GPUs: Volcano, which starts all pods of a job or none and knows the units of the compute network,
    or Kubernetes' own scheduler alone."""
