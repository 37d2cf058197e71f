"""Hosts as they tell of themselves, against the plan: one verdict for each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cluster_model.catalogue.load import Catalogue
from cluster_model.diagnostic import Diagnostic, Severity
from cluster_model.plan.model import Plan, Server, ServerPort
from cluster_model.transport.sweep import Reply
from cluster_model.verify.machines import NO_SERIAL

FORMAT = "gpuyard-host-facts-1"
Verdict = Literal["as planned", "differs", "not reached"]
CLOCK_S = 1.0
"""Seconds that a clock may be off; what is measured over a login is no better."""
_LIMIT = "infinity"


@dataclass(frozen=True, slots=True)
class Told:
    """What a host told: `facts` as templates/hosts/probe.py prints them, or the reason why not; asked when (epoch, s)."""

    name: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    seconds: float = 0.0
    asked_at: float = 0.0

    @property
    def reached(self) -> bool:
        """Return whether the host told anything."""
        return not self.reason


def read_reply(reply: Reply, asked_at: float = 0.0) -> Told:
    """Return what a reply tells; a reply that is no document is a host that was not reached."""
    if reply.reason:
        return Told(reply.name, reason=reply.reason, seconds=reply.seconds)
    try:
        facts = json.loads(reply.text[reply.text.index("{") :])
        if facts["format"] != FORMAT:
            raise ValueError
    except (ValueError, KeyError, TypeError):
        return Told(reply.name, reason="what it printed are no facts", seconds=reply.seconds)
    return Told(reply.name, facts, "", reply.seconds, asked_at)


def compare_hosts(plan: Plan, catalogue: Catalogue, told: Mapping[str, Told]) -> dict[str, list[Diagnostic]]:
    """Return by host where it is not as planned; a host that was not reached has one finding.

    Errors:
        HST001 to HST017.
    """
    servers = {server.name: server for server in plan.servers}
    findings = {}
    for name, host in told.items():
        server = servers[name]
        if not host.reached:
            summary = f"{name} was not read: {host.reason}"
            fix = "look whether it runs and answers a login: gpuyard verify cabling tells of cables, gpuyard bmc power of power"
            findings[name] = [Diagnostic("HST001", "error", server.where, summary, fix=fix)]
        else:
            findings[name] = [*_Judge(plan, catalogue, server, host).judge()]
    return findings


def judge(findings: list[Diagnostic]) -> Verdict:
    """Return a host's verdict."""
    if any(finding.id == "HST001" for finding in findings):
        return "not reached"
    return "differs" if any(finding.severity != "info" for finding in findings) else "as planned"


@dataclass(slots=True)
class _Judge:
    plan: Plan
    catalogue: Catalogue
    server: Server
    told: Told

    def judge(self) -> Iterator[Diagnostic]:
        yield from self._judge_machine()
        ports = {str(port["name"]): port for port in self.told.facts.get("ports", [])}
        for port in self.server.ports:
            yield from self._judge_port(port, ports)
        yield from self._judge_addresses()
        yield from self._judge_gpus()
        yield from self._judge_system()

    def find(self, id_: str, summary: str, expected: str, actual: str, fix: str, severity: Severity = "error") -> Diagnostic:
        return Diagnostic(id_, severity, self.server.where, f"{self.server.name}: {summary}", expected, actual, fix)

    def _judge_machine(self) -> Iterator[Diagnostic]:
        facts, server = self.told.facts, self.server
        if facts["hostname"].partition(".")[0] != server.name:
            fix = "see whether two machines were exchanged; else run playbooks/base.yml"
            yield self.find("HST002", "it has another name", server.name, facts["hostname"], fix)
        serial = str(facts.get("serial", ""))
        if server.serial and serial.lower() not in NO_SERIAL and serial != server.serial:
            fix = "it is another machine: correct the list of servers, or exchange them"
            yield self.find("HST003", "another serial number", server.serial, serial, fix)
        device = self.catalogue.device(server.model)
        model = str(facts.get("model", ""))
        wanted = device.model if device and not server.model.startswith("generic/") else ""
        if model and wanted and not _alike(model, wanted):
            fix = "correct servers.*.model, or see which machine stands there"
            yield self.find("HST004", "another model", wanted, model, fix, "warning")

    def _judge_port(self, port: ServerPort, ports: Mapping[str, Mapping[str, Any]]) -> Iterator[Diagnostic]:
        real = ports.get(port.name)
        by_mac = next((name for name, other in ports.items() if port.mac and other["mac"] == port.mac), "")
        if real is None:
            actual = f"its MAC is on {by_mac}" if by_mac else "no such port"
            fix = (
                "run playbooks/network.yml, which names ports by MAC"
                if by_mac
                else "see whether the card is seated and its driver loaded"
            )
            yield self.find("HST005", f"{port.name} is missing", port.mac or port.name, actual, fix)
            return
        if port.mac and real["mac"] != port.mac:
            fix = (
                f"the port with that MAC is {by_mac}: run playbooks/network.yml"
                if by_mac
                else "the card was replaced: correct the list of servers"
            )
            yield self.find("HST005", f"{port.name} has another MAC address", port.mac, real["mac"], fix)
        if real["up"] and 0 < real["speed_mbps"] < port.speed_gbps * 1000:
            fix = "look at the cable and at the speed of the switch's port"
            speed = f"{real['speed_mbps'] / 1000:g} Gb/s"
            yield self.find("HST006", f"{port.name} is slow", f"{port.speed_gbps} Gb/s", speed, fix)
        if real["mtu_bytes"] > 0 and port.mtu_bytes and real["mtu_bytes"] != port.mtu_bytes and not port.guid:
            expected, actual = f"{port.mtu_bytes} bytes", f"{real['mtu_bytes']} bytes"
            yield self.find("HST007", f"{port.name} has another MTU", expected, actual, "run playbooks/network.yml")
        if port.pci and real["pci"] and real["pci"] != port.pci:
            fix = "see which slot the card is in; NCCL pairs GPUs and cards by it"
            yield self.find("HST008", f"{port.name} is in another slot", port.pci, real["pci"], fix)
        elif port.numa >= 0 and 0 <= real["numa"] != port.numa:
            fix = "see the BIOS setting of NUMA nodes per socket, and the slot of the card"
            yield self.find(
                "HST008", f"{port.name} is near another socket", f"NUMA node {port.numa}", f"{real['numa']}", fix, "warning"
            )
        if port.rdma and real.get("rdma") and port.rdma not in real["rdma"]:
            fix = "pin RDMA names by PCI address or port name; NCCL's configuration names them"
            yield self.find("HST009", f"{port.name} has another RDMA name", port.rdma, ", ".join(real["rdma"]), fix)
        if real.get("pcie", "").strip(" x") and real["pcie"] != real.get("pcie_max") and port.speed_gbps >= 100:
            fix = "reseat the card; look for a riser, and at the kernel's log for AER errors"
            yield self.find(
                "HST010", f"{port.name} has a PCIe link below its best", real["pcie_max"], real["pcie"], fix, "warning"
            )

    def _judge_addresses(self) -> Iterator[Diagnostic]:
        facts = self.told.facts
        found = {(entry["port"], entry["address"]) for entry in facts.get("addresses", [])}
        wanted = {(port.name, port.address) for port in self.server.ports if port.address and not port.guid}
        for name, address in sorted(wanted - found):
            elsewhere = next((where for where, other in found if other == address), "")
            actual = f"on {elsewhere}" if elsewhere else ", ".join(a for where, a in sorted(found) if where == name) or "none"
            yield self.find("HST011", f"{name} lacks its address", address, actual, "run playbooks/network.yml")
        for service in self.server.services:
            if not any(address == service.address for _, address in found):
                yield self.find(
                    "HST011", f"the {service.purpose} address is missing", service.address, "none", "run playbooks/network.yml"
                )
        tables = {
            str(route.get("table", "main")): route
            for route in facts.get("routes", [])
            if route.get("dst") == "default" or "gateway" in route
        }
        sources = {str(rule.get("src")): str(rule.get("table")) for rule in facts.get("rules", [])}
        for port in self.server.ports:
            if port.table and not port.guid and (port.name, port.address) in found:
                address = port.address.partition("/")[0]
                if str(port.table) not in tables or sources.get(address) != str(port.table):
                    summary = f"{port.name} has no routing table of its own, so its rail's answers leave by another"
                    actual = f"rule to table {sources[address]}" if address in sources else "no rule"
                    yield self.find(
                        "HST012", summary, f"rule from {address} to table {port.table}", actual, "run playbooks/network.yml"
                    )

    def _judge_gpus(self) -> Iterator[Diagnostic]:
        facts, server = self.told.facts, self.server
        gpus = facts.get("gpus", [])
        if len(gpus) != server.gpus:
            fix = "look for XID 79 and PCIe errors in the kernel's log, and at the BMC" if gpus else "run playbooks/driver.yml"
            yield self.find(
                "HST013",
                "GPUs are missing" if len(gpus) < server.gpus else "it has more GPUs",
                f"{server.gpus}",
                f"{len(gpus)}",
                fix,
            )
        versions = {str(gpu.get("driver_version")) for gpu in gpus}
        branch = self.plan.gpu_driver
        for version in sorted(versions):
            if branch and version.partition(".")[0] != branch:
                yield self.find("HST014", "the driver is of another branch", branch, version, "run playbooks/driver.yml")
        if versions and facts.get("nvidia_module") and facts["nvidia_module"] not in versions:
            actual = f"module {facts['nvidia_module']}, library {', '.join(sorted(versions))}"
            yield self.find("HST014", "driver and library differ", "one version", actual, "restart it: playbooks/reboot.yml")
        for gpu in gpus:
            limit, cap = _float(gpu.get("power.limit")), server.gpu_cap_w
            if cap and limit > cap + 1:
                yield self.find(
                    "HST015",
                    f"GPU {gpu['index']} may draw more than planned",
                    f"{cap} W",
                    f"{limit:g} W",
                    "run playbooks/power.yml",
                )
            if gpu.get("pcie.link.width.current") != gpu.get("pcie.link.width.max"):
                expected, actual = f"x{gpu['pcie.link.width.max']}", f"x{gpu['pcie.link.width.current']}"
                yield self.find(
                    "HST010", f"GPU {gpu['index']} has a PCIe link below its best", expected, actual, "reseat it", "warning"
                )

    def _judge_system(self) -> Iterator[Diagnostic]:
        facts = self.told.facts
        limit = str((facts.get("limits") or {}).get("DefaultLimitMEMLOCK", ""))
        if self.server.gpus and limit and limit != _LIMIT:
            fix = "run playbooks/base.yml; RDMA registers memory that must not be swapped"
            yield self.find("HST016", "services may lock too little memory", "DefaultLimitMEMLOCK=infinity", limit, fix)
        clock = facts.get("clock") or {}
        if not clock.get("synced"):
            fix = "run playbooks/base.yml, and see whether it reaches the site's time servers"
            yield self.find("HST017", "its clock is not set by anybody", "synchronised", "not synchronised", fix, "warning")
        elif clock.get("offset_s") is not None and abs(clock["offset_s"]) > CLOCK_S:
            yield self.find(
                "HST017", "its clock is off", f"{CLOCK_S:g} s at most", f"{clock['offset_s']:g} s", "look at its time servers"
            )


def _alike(one: str, other: str) -> bool:
    """Return whether two names of a model are the same but for spelling: DGXH100 and DGX H100."""
    left, right = (re.sub(r"[^a-z0-9]", "", text.lower()) for text in (one, other))
    return left in right or right in left


def _float(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return 0.0
