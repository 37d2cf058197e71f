# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about server groups whose model does not fit what they are for. Parts of the HWR, STO and RED families."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.diagnostic import Diagnostic


class GpuServersWithoutGpus(Rule):
    """Give GPU servers GPUs.

    What it checks:
        The model of each group of role gpu has GPUs in the catalogue.

    Why it matters:
        They are counted, racked and installed as GPU servers, and no job can run on them.

    How to fix:
        Choose a model with GPUs, or another role.

    Source:
        `gpus` in the catalogue file of the model.
    """

    id, title = "HWR004", "GPU servers without GPUs"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for name, servers in design.servers_of.items():
            block = design.catalogue.server(servers[0].model)
            if servers[0].role == "gpu" and block is not None and not block.gpus:
                yield self.finding(
                    f"servers.{name}.model",
                    f"{name} are GPU servers, and {servers[0].model} has no GPU",
                    "a model with GPUs",
                    servers[0].model,
                    "choose a model with GPUs, or another role",
                )


class GpusIdle(Rule):
    """Run jobs on servers with GPUs.

    What it checks:
        Groups whose model has GPUs have role gpu.

    Why it matters:
        GPUs that nobody plans for: no driver, no power cap, no job. A control plane on a server of six figures is mostly a
        copied line.

    How to fix:
        Set `role: gpu`, or choose a model without GPUs.

    Source:
        `gpus` in the catalogue file of the model.
    """

    id, severity, title = "HWR005", "warning", "GPUs in servers of another role"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for name, servers in design.servers_of.items():
            block = design.catalogue.server(servers[0].model)
            if servers[0].role != "gpu" and block is not None and block.gpus:
                yield self.finding(
                    f"servers.{name}",
                    f"{servers[0].model} has GPUs, and {name} are {servers[0].role} servers",
                    "role gpu, or a model without GPUs",
                    servers[0].role,
                    "set role to gpu, or choose a model without GPUs",
                )


class StorageServersWithoutDrives(Rule):
    """Give storage servers drives.

    What it checks:
        The model of each group of role storage has drives in the catalogue. CEP008 has those that Ceph names.

    Why it matters:
        There is nothing to store on.

    How to fix:
        Choose a storage model, or another role such as gateway.

    Source:
        `drives` in the catalogue file of the model.
    """

    id, severity, title = "HWR006", "warning", "storage servers without drives"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ceph = design.cluster.ceph
        for name, servers in design.servers_of.items():
            block = design.catalogue.server(servers[0].model)
            is_named = ceph is not None and name in ceph.groups
            if servers[0].role == "storage" and block is not None and not block.drives and not is_named:
                yield self.finding(
                    f"servers.{name}.model",
                    f"{name} are storage servers, and {servers[0].model} has no data drives",
                    "a model with drives",
                    servers[0].model,
                    "choose a storage model, or role gateway",
                )


class GpuServersWithoutStorage(Rule):
    """Let GPU servers reach the storage.

    What it checks:
        With a storage network, groups of GPU servers whose model has ports for it have not given all of them away.

    Why it matters:
        Jobs read their data over the business network or not at all: GPUs wait for every batch.

    How to fix:
        Leave `nics.storage` out, or name ports there.

    Source:
        NVIDIA, DGX SuperPOD reference architecture: each system is on the storage fabric with two ports.
    """

    id, severity, title = "STO002", "warning", "GPU servers off the storage network"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        if design.cluster.networks.storage is None:
            return
        for name, servers in design.servers_of.items():
            block = design.catalogue.server(servers[0].model)
            could = block is not None and any(port.network == "storage" for port in block.network.ports)
            if servers[0].role == "gpu" and could and all(port.network != "storage" for port in servers[0].ports):
                yield self.finding(
                    f"servers.{name}.nics",
                    f"{name} have no port on the storage network, and {servers[0].model} has ports for it",
                    "ports under nics.storage",
                    "none",
                    "leave nics.storage out, or name ports there",
                )


class NvmePorts(Rule):
    """Give NVMe's discovery and its I/O a port each.

    What it checks:
        `port` and `discovery_port` of `networks.storage.nvme_of` differ.

    Why it matters:
        Two services cannot listen on one port: the target starts the first and refuses the other.

    How to fix:
        Leave both out: 4420 and 8009.

    Source:
        NVM Express TCP transport specification: 4420 for I/O, 8009 for discovery (IANA).
    """

    id, title = "STO003", "one port for NVMe's discovery and I/O"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        storage = design.cluster.networks.storage
        nvme = storage.nvme_of if storage is not None else None
        if nvme is not None and nvme.port == nvme.discovery_port:
            yield self.finding(
                "networks.storage.nvme_of.port",
                f"NVMe's discovery and its I/O both listen on {nvme.port}",
                "two ports",
                str(nvme.port),
                "leave both out for 4420 and 8009",
            )


class NvmeWellKnown(Rule):
    """Keep NVMe off ports that other services have.

    What it checks:
        `port` and `discovery_port` of `networks.storage.nvme_of` are 1024 or above.

    Why it matters:
        Port 22 is SSH's, 111 is rpcbind's: one of the two does not start, and mostly it is the way in.

    How to fix:
        Leave both out: 4420 and 8009.

    Source:
        IANA, service name and port number registry: system ports 0 to 1023 (RFC 6335, section 6).
    """

    id, severity, title = "STO004", "warning", "NVMe on a port of another service"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        storage = design.cluster.networks.storage
        nvme = storage.nvme_of if storage is not None else None
        for name in ("port", "discovery_port") if nvme is not None else ():
            port = getattr(nvme, name)
            if port < 1024:
                yield self.finding(
                    f"networks.storage.nvme_of.{name}",
                    f"{port} is a port of another service",
                    ">= 1024",
                    str(port),
                    f"leave {name} out for {4420 if name == 'port' else 8009}",
                )


class TargetsWithoutDrives(Rule):
    """Export drives from servers that have some.

    What it checks:
        Models of `networks.storage.nvme_of.targets` have drives in the catalogue.

    Why it matters:
        A target without drives has no namespace to export.

    How to fix:
        Name a group of storage servers, or add `drives` to your own catalogue file.

    Source:
        `drives` in the catalogue file of the model.
    """

    id, title = "STO005", "NVMe targets without drives"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        storage = design.cluster.networks.storage
        nvme = storage.nvme_of if storage is not None else None
        for index, name in enumerate(nvme.targets if nvme is not None else ()):
            servers = design.group(name)
            block = design.catalogue.server(servers[0].model) if servers else None
            if block is not None and not block.drives:
                yield self.finding(
                    f"networks.storage.nvme_of.targets.{index}",
                    f"{name} ({servers[0].model}) has no drives to export",
                    "a model with drives",
                    "none in the catalogue",
                    "name a group of storage servers, or add drives to your own catalogue file",
                )


class SingleDoor(Rule):
    """Have two servers of what users come in by.

    What it checks:
        Groups of role login or gateway have two servers or more, all groups of the role together.

    Why it matters:
        While it reboots nobody logs in, and nothing is taken in.

    How to fix:
        Raise `count` to 2.

    Source:
        Derived: what runs on one server goes with it.
    """

    id, severity, title = "RED013", "warning", "single login or gateway server"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for role in ("login", "gateway"):
            servers = [server for server in design.plan.servers if server.role == role]
            if len(servers) == 1:
                yield self.finding(
                    f"servers.{servers[0].group}.count",
                    f"{servers[0].name} is the only {role} server",
                    ">= 2",
                    "1",
                    "set count to 2 or more",
                )
