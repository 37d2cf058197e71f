# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about what is served over the storage network: the STO family."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.diagnostic import Diagnostic

FAMILIES = {"STO": "Storage"}


class ServedWithoutPorts(Rule):
    """Serve storage only from servers that are on the storage network.

    What it checks:
        Servers of `ceph.hosts`, `ceph.monitors`, `ceph.metadata_hosts` and `networks.storage.nvme_of.targets` have ports on the
        storage network.

    Why it matters:
        Without one, Ceph binds to whatever address it finds, in the end the provisioning network of 1 Gb/s, and NVMe targets
        are not reached at all.

    How to fix:
        Name another group, give the group storage ports under `servers.<group>.nics.storage`, or add the network.

    Source:
        Ceph, network configuration reference: daemons bind to an address inside public_network.
    """

    id, title = "STO001", "storage served by servers that are not on its network"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ceph, storage = design.cluster.ceph, design.cluster.networks.storage
        served = (
            [(getattr(ceph, key), f"ceph.{key}") for key in ("hosts", "monitors", "metadata_hosts")] if ceph is not None else []
        )
        served = [
            (group, where) for place, (group, where) in enumerate(served) if group not in [each for each, _ in served[:place]]
        ]
        if storage is not None and storage.nvme_of is not None:
            served += [(name, f"networks.storage.nvme_of.targets.{at}") for at, name in enumerate(storage.nvme_of.targets)]
        reached = {server.group for server in design.plan.servers if any(port.network == "storage" for port in server.ports)}
        for group, where in served:
            if group in design.cluster.servers and group not in reached:
                yield self.finding(
                    where,
                    f"servers of {group} serve storage and have no port on the storage network",
                    "a server group with storage ports, and a storage network",
                    group,
                    f"name another group, or set servers.{group}.nics.storage",
                )
