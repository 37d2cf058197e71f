"""Hosts as they tell of themselves, against the plan: one verdict for each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network
from typing import Any, Literal

from cluster_model.catalogue.load import Catalogue
from cluster_model.diagnostic import Diagnostic, Severity
from cluster_model.plan.model import Plan, Server, ServerPort
from cluster_model.transport.bmc.controller import NO_SERIAL
from cluster_model.transport.gear_text import clean_data, clean_line
from cluster_model.transport.sweep import Reply
from cluster_model.verify.cabling.places import HOST_KEY
from cluster_model.verify.hosts.routes import find_lost_ways

FORMAT = "gpuyard-host-facts-1"
Verdict = Literal["as planned", "differs", "not reached"]
CLOCK_S = 1.0
"""Seconds that a clock may be off; what is measured over a login is no better."""
_LIMIT = "infinity"
_WAY = "look whether it runs and answers a login: gpuyard verify cabling tells of cables, gpuyard bmc power of power"
_WAYS = (
    ("uthentication", "name the user and the key that it lets in: --user, --key"),
    ("ost key", HOST_KEY),
    ("found in known_hosts", HOST_KEY),
    ("python3", "install python3 on it"),
    ("no facts", "log in by hand and run python3: what its login or shell prints must not end it"),
)
_SAVED: Mapping[str, type | tuple[type, ...]] = {"facts": dict, "reason": str, "seconds": (int, float), "at": (int, float)}
_LISTS, _TEXTS, _MAPS = (
    ("ports", "addresses", "routes", "rules", "gpus"),
    ("hostname", "serial", "model", "nvidia_module"),
    ("limits", "clock"),
)
_FORM: Mapping[str, type] = {**dict.fromkeys(_LISTS, list), **dict.fromkeys(_TEXTS, str), **dict.fromkeys(_MAPS, dict)}
_ENTRIES: Mapping[str, set[str]] = {
    "ports": {"name", "mac", "up", "speed_mbps", "mtu_bytes", "pci", "numa", "pcie", "pcie_max", "firmware", "rdma", "bond"},
    "addresses": {"port", "address"},
    "routes": set(),
    "rules": set(),
    "gpus": {"index", "name", "driver_version", "power.limit", "pcie.link.width.current", "pcie.link.width.max", "numa"},
}


@dataclass(frozen=True, slots=True)
class Told:
    """What a host told: `facts` as templates/hosts/probe.py prints them, or the reason why not.

    It came `at` (epoch, s) and took `seconds`.
    """

    name: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    seconds: float = 0.0
    at: float = 0.0

    @property
    def reached(self) -> bool:
        """Return whether the host told anything."""
        return not self.reason


def read_reply(reply: Reply) -> Told:
    """Return what a reply tells; a reply without a document is a host that was not read, whatever else its login printed."""
    if reply.reason:
        return Told(reply.name, reason=clean_line(reply.reason, 500), seconds=reply.seconds)
    for line in reversed(reply.text.splitlines()):
        facts = _read_facts(line)
        if facts is not None:
            return Told(reply.name, facts, "", reply.seconds, reply.at)
    return Told(reply.name, reason="what it printed are no facts", seconds=reply.seconds)


def _read_facts(line: str) -> dict[str, Any] | None:
    """Return the document in a line; None where it is another text, of another version or not of its form."""
    if not line.startswith("{"):
        return None
    try:
        return _check_facts(clean_data(json.loads(line)))
    except (ValueError, RecursionError):
        return None


def _check_facts(facts: dict[str, Any]) -> dict[str, Any] | None:
    if facts.get("format") != FORMAT or not all(isinstance(facts.get(key), kind) for key, kind in _FORM.items()):
        return None
    if not all(isinstance(entry, dict) and entry.keys() >= keys for name, keys in _ENTRIES.items() for entry in facts[name]):
        return None
    return facts


def dump_told(told: Mapping[str, Told]) -> str:
    """Return what hosts told as JSON, for `load_told`."""
    return json.dumps({name: {key: getattr(host, key) for key in _SAVED} for name, host in told.items()}, indent=1) + "\n"


def load_told(text: str) -> dict[str, Told]:
    """Return what `dump_told` wrote.

    Raises:
        ValueError: it did not write this; the text says what is wrong.
    """
    try:
        document = clean_data(json.loads(text), 500)
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON") from None
    if not isinstance(document, dict):
        raise ValueError("expected an object with a member for each host")
    for name, saved in document.items():
        if not isinstance(saved, dict) or not all(isinstance(saved.get(key), kind) for key, kind in _SAVED.items()):
            raise ValueError(f"{name}: expected {', '.join(_SAVED)}")
        if not saved["reason"] and _check_facts(saved["facts"]) is None:
            raise ValueError(f"{name}: these are no facts of the form {FORMAT}")
    return {name: Told(name, *(saved[key] for key in _SAVED)) for name, saved in document.items()}


def compare_hosts(plan: Plan, catalogue: Catalogue, told: Mapping[str, Told]) -> dict[str, list[Diagnostic]]:
    """Return by host where it is not as planned; a host that was not reached has one finding.

    Errors:
        HST001 to HST020.
    """
    servers = {server.name: server for server in plan.servers}
    findings = {}
    for name, host in told.items():
        server = servers[name]
        if not host.reached:
            summary = f"{name} was not read: {host.reason}"
            fix = next((way for word, way in _WAYS if word in host.reason), _WAY)
            findings[name] = [Diagnostic("HST001", "error", server.where, summary, fix=fix)]
        else:
            findings[name] = [*_Judge(plan, catalogue, server, host).judge()]
    for finding, name in _compare_firmware(servers, told):
        findings[name].append(finding)
    return findings


def _compare_firmware(servers: Mapping[str, Server], told: Mapping[str, Told]) -> Iterator[tuple[Diagnostic, str]]:
    """Yield the hosts whose cards have another firmware than most cards of their model in this sweep; the plan has none."""
    found: dict[str, dict[str, dict[str, str]]] = {}  # model of card -> firmware -> host -> port
    for name, host in told.items():
        firmware = {str(real["name"]): str(real["firmware"]) for real in host.facts.get("ports", [])}
        for port in servers[name].ports:
            if firmware.get(port.name):
                found.setdefault(port.nic, {}).setdefault(firmware[port.name], {}).setdefault(name, port.name)
    for nic, hosts in sorted(found.items()):
        most = max(hosts, key=lambda version: (len(hosts[version]), _numbers(version)))
        for version in sorted(hosts.keys() - {most}):
            for name, where in hosts[version].items():
                summary = f"{name}: {where} has another firmware than most {nic} here"
                fix = "bring all cards of a model to one firmware with the maker's tool; NCCL is as fast as the slowest"
                yield Diagnostic("HST019", "warning", servers[name].where, summary, most, version, fix), name


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
        yield from self._judge_tables()
        for lost in find_lost_ways(self.server, self.told.facts):
            yield self.find("HST020", lost.summary, lost.expected, lost.actual, "run playbooks/network.yml")
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
        if port.guid and _strip(real["mac"])[-16:] != _strip(port.guid).removeprefix("0x"):
            fix = "the card was replaced, or ports are exchanged: correct the list of servers, or run playbooks/network.yml"
            yield self.find("HST005", f"{port.name} has another GUID", port.guid, real["mac"], fix)
        elif port.mac and real["mac"] != port.mac and not self._is_infiniband(port):
            fix = (
                f"the port with that MAC is {by_mac}: run playbooks/network.yml"
                if by_mac
                else "the card was replaced: correct the list of servers"
            )
            yield self.find("HST005", f"{port.name} has another MAC address", port.mac, real["mac"], fix)
        if not real["up"]:
            fix = f"look at the cable to {port.peer} {port.peer_port}: gpuyard verify cabling tells what the switch sees"
            yield self.find("HST006", f"{port.name} has no link", f"{port.speed_gbps} Gb/s", "no link", fix)
        elif 0 < real["speed_mbps"] < port.speed_gbps * 1000:
            fix = "look at the cable and at the speed of the switch's port"
            speed = f"{real['speed_mbps'] / 1000:g} Gb/s"
            yield self.find("HST006", f"{port.name} is slow", f"{port.speed_gbps} Gb/s", speed, fix)
        if real["mtu_bytes"] > 0 and port.mtu_bytes and real["mtu_bytes"] != port.mtu_bytes and not self._is_infiniband(port):
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
        bond = next((bond.name for bond in self.server.bonds if port.name in bond.ports), "")
        if bond != real["bond"]:
            expected, actual = (f"in {name}" if name else "in no bond" for name in (bond, real["bond"]))
            yield self.find("HST018", f"{port.name} is in another bond", expected, actual, "run playbooks/network.yml")
        if real.get("pcie", "").strip(" x") and real["pcie"] != real.get("pcie_max") and port.speed_gbps >= 100:
            fix = "reseat the card; look for a riser, and at the kernel's log for AER errors"
            yield self.find(
                "HST010", f"{port.name} has a PCIe link below its best", real["pcie_max"], real["pcie"], fix, "warning"
            )

    def _is_infiniband(self, port: ServerPort) -> bool:
        network = self.plan.network(port.network)
        return network is not None and network.technology == "infiniband"

    def _judge_addresses(self) -> Iterator[Diagnostic]:
        found = {(entry["port"], entry["address"]) for entry in self.told.facts["addresses"]}
        vlans = [vlan for bond in self.server.bonds for vlan in bond.vlans]
        planned = [(port.name, port.address) for port in self.server.ports] + [(vlan.name, vlan.address) for vlan in vlans]
        wanted = {(name, address) for name, address in planned if address}
        for name, address in sorted(wanted - found):
            elsewhere = next((where for where, other in sorted(found) if other == address), "")
            actual = f"on {elsewhere}" if elsewhere else ", ".join(a for where, a in sorted(found) if where == name) or "none"
            yield self.find("HST011", f"{name} lacks its address", address, actual, "run playbooks/network.yml")
        for vlan in vlans:
            if vlan.dhcp and not any(name == vlan.name for name, _ in found):
                fix = "run playbooks/network.yml, and see whether a DHCP server of the tenant answers"
                yield self.find("HST011", f"{vlan.name} has no address", "one by DHCP", "none", fix)
        for service in self.server.services:
            if not any(address == service.address for _, address in found):
                summary = f"the {service.purpose} address is missing"
                yield self.find("HST011", summary, service.address, "none", "run playbooks/network.yml")

    def _judge_tables(self) -> Iterator[Diagnostic]:
        """Find rails without a rule that leads to a table in which their gateway stands."""
        facts = self.told.facts
        ways = {(str(route.get("table", "254")), str(route.get("gateway"))) for route in facts["routes"]}
        for port in self.server.ports:
            address = port.address.partition("/")[0]
            if not port.table or not any(entry["address"] == port.address for entry in facts["addresses"]):
                continue
            tables = [str(rule.get("table")) for rule in facts["rules"] if _covers(rule, address)]
            expected = f"from {address} by table {port.table} over {port.gateway}"
            if str(port.table) not in tables:
                actual = f"from {address} by table {tables[0]}" if tables else "no rule"
            elif (str(port.table), port.gateway) not in ways:
                actual = f"table {port.table} does not lead over {port.gateway}"
            else:
                continue
            summary = f"{port.name} has no routing table of its own, so its rail's answers leave by another"
            yield self.find("HST012", summary, expected, actual, "run playbooks/network.yml")

    def _judge_gpus(self) -> Iterator[Diagnostic]:
        facts, server = self.told.facts, self.server
        gpus = facts["gpus"]
        if server.gpu_model and not server.gpu_model.startswith("nvidia/"):
            return  # nobody asks for them yet
        if len(gpus) != server.gpus:
            summary = "GPUs are missing" if len(gpus) < server.gpus else "it has more GPUs"
            fix = "look for XID 79 and PCIe errors in the kernel's log, and at the BMC" if gpus else "run playbooks/driver.yml"
            fix = fix if len(gpus) < server.gpus else "correct servers.*.model, or see which machine stands there"
            yield self.find("HST013", summary, f"{server.gpus}", f"{len(gpus)}", fix)
        family = server.gpu_model.partition("/")[2].partition("-")[0]
        for name in sorted({str(gpu["name"]) for gpu in gpus}):
            if server.gpus and family not in name.lower():
                fix = "correct servers.*.model, or see which machine stands there"
                yield self.find("HST013", "GPUs of another model", server.gpu_model, name, fix)
        near = {port.gpu: port for port in server.ports if port.gpu >= 0 <= port.numa}
        for gpu in gpus:
            port = near.get(int(gpu["index"]) if str(gpu["index"]).isdigit() else -1)
            if port and len(gpus) == server.gpus and isinstance(gpu["numa"], int) and 0 <= gpu["numa"] != port.numa:
                fix = "see the BIOS setting of NUMA nodes per socket, and the order of GPUs; NCCL pairs GPUs and cards by it"
                summary = f"GPU {gpu['index']} is not at the socket of {port.name}, the card of its rail"
                yield self.find("HST008", summary, f"NUMA node {port.numa}", f"{gpu['numa']}", fix, "warning")
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
        clock, fix = facts["clock"], "look at its time servers"
        offset, now = clock.get("offset_s"), clock.get("now")
        if not clock.get("synced"):
            fix = "run playbooks/base.yml, and see whether it reaches the site's time servers"
            yield self.find("HST017", "its clock is not set by anybody", "synchronised", "not synchronised", fix, "warning")
        elif isinstance(offset, (int, float)) and abs(offset) > CLOCK_S:
            yield self.find("HST017", "its clock is off", f"{CLOCK_S:g} s at most", f"{offset:g} s", fix)
        elif isinstance(now, (int, float)) and self.told.at:
            off = max(now - self.told.at, self.told.at - self.told.seconds - now)  # it was read between the two
            if off > CLOCK_S:
                yield self.find("HST017", "its clock is not ours", f"{CLOCK_S:g} s at most", f"{off:.1f} s", fix)


def _covers(rule: Mapping[str, Any], address: str) -> bool:
    """Return whether a rule chooses by source, and an address is such a source."""
    try:
        return IPv4Address(address) in IPv4Network((str(rule.get("src", "all")), int(rule.get("srclen", 32))))
    except ValueError:
        return False


def _alike(one: str, other: str) -> bool:
    """Return whether two names of a model are the same but for spelling: DGXH100 and DGX H100."""
    left, right = (re.sub(r"[^a-z0-9]", "", text.lower()) for text in (one, other))
    return left in right or right in left


def _strip(address: str) -> str:
    return re.sub(r"[^0-9a-fx]", "", address.lower())


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def _float(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return 0.0
