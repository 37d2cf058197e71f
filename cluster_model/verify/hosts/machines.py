"""Machines as their BMCs tell of them, against the plan and the list of what was delivered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

from cluster_model.diagnostic import Diagnostic, Severity
from cluster_model.plan.model import Plan, Server
from cluster_model.transport.bmc.controller import NO_SERIAL, BmcError, Machine
from cluster_model.transport.bmc.planned import Door
from cluster_model.transport.fleet import visit
from cluster_model.transport.gear_text import is_formula


@dataclass(frozen=True, slots=True)
class Visit:
    """What came of a visit to a BMC: the machine, or why not; and the seconds that it took."""

    name: str
    address: str
    machine: Machine | None
    error: BmcError | None
    seconds: float


def visit_bmcs(
    doors: Sequence[Door], parallel: int, progress: Callable[[Visit], None] | None = None, *, facts: bool = True
) -> dict[str, Visit]:
    """Read the machines behind BMCs, many at a time.

    Args:
        doors: the ways in.
        parallel: BMCs at once.
        progress: told of each as it is done.
        facts: whether to read everything, or power alone.

    Returns:
        Visits by server, in the order of `doors`.
    """

    def work(door: Door) -> Visit:
        begun = monotonic()
        machine, failure = None, None
        try:
            bmc = door.open()
            try:
                machine = bmc.read_machine() if facts else Machine(bmc.language, bmc.read_power())
            finally:
                bmc.close()
        except BmcError as error:
            failure = error
        return Visit(door.target.name, door.target.address, machine, failure, round(monotonic() - begun, 3))

    found: dict[str, Visit] = {}
    for told in visit(doors, work, parallel):
        found[told.name] = told
        if progress:
            progress(told)
    return {door.target.name: found[door.target.name] for door in doors}


def known_serial(machine: Machine) -> str:
    """Return the machine's serial number, or nothing where its board was never given one."""
    return "" if machine.serial.lower() in NO_SERIAL or _is_unfit(machine) else machine.serial


def _is_unfit(machine: Machine) -> bool:
    """Return whether a serial number must not get into a list: it was not plain text, or a spreadsheet would run it."""
    return "serial" in machine.altered or is_formula(machine.serial)


def compare_machines(plan: Plan, visits: Mapping[str, Visit]) -> list[Diagnostic]:
    """Return where machines are not those that the plan puts in their places.

    Args:
        plan: the plan, with the serial numbers and MACs of what was delivered.
        visits: what BMCs told, by server.

    Errors:
        BMC001 to BMC007.
    """
    servers = {server.name: server for server in plan.servers}
    owners = {server.serial: server.name for server in plan.servers if server.serial}
    stand = {name: owners[known_serial(visit.machine)] for name, visit in visits.items()
             if visit.machine and known_serial(visit.machine) in owners}  # fmt: skip
    findings: list[Diagnostic] = []
    done: set[str] = set()
    for name, told in visits.items():
        server = servers[name]
        if told.error:
            findings.append(_unreached(server, told))
            continue
        machine = told.machine
        if machine is None or name in done:
            continue
        if machine.altered or is_formula(machine.serial):
            findings.append(_unfit(server, machine))
        owner = stand.get(name, name)
        if owner != name and stand.get(owner) == name:
            done.add(owner)
            findings.append(_exchanged(server, servers[owner]))
        elif owner != name:
            findings.append(_misplaced(server, servers[owner]))
        elif server.serial and known_serial(machine) not in {"", server.serial}:
            findings.append(_stranger(server, machine))
        else:
            findings += _compare_macs(server, machine)
            if machine.health in {"Warning", "Critical"}:
                findings.append(_sick(server, machine))
    return findings


def _unreached(server: Server, visit: Visit) -> Diagnostic:
    fixes = {
        "silent": "look whether the BMC has power and its cable, and whether its address is the planned one",
        "busy": "wait until its sessions run out, close them, or restart the BMC",
        "refused": "enable Redfish or IPMI over LAN in the BMC, or set bmc.protocol to what it speaks",
        "starting": "wait until it has started; else another machine has its address, or it has no Redfish (bmc.protocol)",
        "login": "correct bmc.user or the secret; stop before the BMC locks the user out",
        "certificate": "see whether the machine was replaced; then delete its line from the file of known BMCs",
        "language": "set bmc.protocol, bmc.ipmi_cipher or bmc.tls for its group to what it speaks",
        "refusal": "read the BMC's log",
        "unsure": "look at the machine before it is told again",
        "machine": "exchange the two machines, or correct the list of servers",
    }
    cause = visit.error.cause if visit.error else "silent"
    summary = f"the BMC of {server.name} at {visit.address} was not read: {visit.error}"
    return Diagnostic("BMC001", "error", server.where, summary, fix=fixes[cause])


def _unfit(server: Server, machine: Machine) -> Diagnostic:
    names = machine.altered or ("serial",)
    summary = f"what the BMC of {server.name} says as {', '.join(names)} is not passed on as it came"
    expected = "plain text, no reference, and no serial number that begins as a formula does"
    said = "; ".join(str(getattr(machine, name)) for name in names)
    fix = "read the label and write the list of servers by hand; set it right in the BMC, and ask who had access to it"
    return Diagnostic("BMC007", "error", server.where, summary, expected, said, fix)


def _exchanged(one: Server, other: Server) -> Diagnostic:
    summary = f"{one.name} and {other.name} are exchanged: each answers at the other's address"
    expected = f"{one.serial} in {_spot(one)}, {other.serial} in {_spot(other)}"
    fix = "exchange the two machines, or their two lines in the list of servers"
    return Diagnostic("BMC002", "error", one.where, summary, expected, f"{other.serial} in {_spot(one)}, and the reverse", fix)


def _misplaced(server: Server, owner: Server) -> Diagnostic:
    summary = f"the machine that answers for {server.name} is {owner.name}"
    expected = f"serial number {server.serial} in {_spot(server)}" if server.serial else f"another machine in {_spot(server)}"
    fix = f"move it to {_spot(owner)}, or correct the list of servers"
    return Diagnostic("BMC003", "error", server.where, summary, expected, f"serial number {owner.serial}", fix)


def _stranger(server: Server, machine: Machine) -> Diagnostic:
    summary = f"the machine that answers for {server.name} is not in the list of servers"
    fix = "look at its label: correct the list, or find out where it came from"
    return Diagnostic(
        "BMC004", "error", server.where, summary, f"serial number {server.serial}", f"serial number {machine.serial}", fix
    )


def _compare_macs(server: Server, machine: Machine) -> Iterator[Diagnostic]:
    if server.bmc and server.bmc.mac and machine.bmc_mac and machine.bmc_mac != server.bmc.mac:
        fix = "correct bmc_mac in the list of servers: gpuyard bmc inventory --write does it"
        summary = f"the BMC of {server.name} has another MAC address"
        yield Diagnostic("BMC005", "error", server.where, summary, server.bmc.mac, machine.bmc_mac, fix)
    told = {mac for _, mac in machine.macs}
    for port in server.ports:
        # Only Ethernet ports that the BMC could know: one that tells of none of the planned ones does not know cards.
        if port.mac and told and port.mac not in told and any(other.mac in told for other in server.ports if other.mac):
            summary = f"{server.name} has no port with the MAC address that the list gives {port.name}"
            fix = "see whether the card was replaced, and correct the list"
            yield Diagnostic("BMC005", "warning", server.where, summary, port.mac, ", ".join(sorted(told)), fix)


def _sick(server: Server, machine: Machine) -> Diagnostic:
    severity: Severity = "error" if machine.health == "Critical" else "warning"
    return Diagnostic(
        "BMC006", severity, server.where, f"{server.name} says its health is {machine.health}", "OK", machine.health,
        "read the BMC's log of events before the machine is put to work",
    )  # fmt: skip


def _spot(server: Server) -> str:
    return f"{server.rack} U{server.u}"
