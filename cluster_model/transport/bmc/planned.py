"""The BMCs of a plan: where they are, how they are logged in to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.model.bmc import Bmc as BmcSettings
from cluster_model.plan.model import Plan, Server
from cluster_model.transport.bmc.controller import NO_SERIAL, Bmc, BmcError, BmcLogin, BmcTarget, Language
from cluster_model.transport.bmc.opening import open_bmc
from cluster_model.transport.secrets import MissingSecretError, Secrets


@dataclass(frozen=True, slots=True)
class Door:
    """A BMC and the way in."""

    target: BmcTarget
    login: BmcLogin
    languages: tuple[Language, ...]

    def open(self) -> Bmc:
        """Return the BMC, logged in to; BmcError where that fails."""
        return open_bmc(self.target, self.login, self.languages)


def tell_other(bmc: Bmc, target: BmcTarget) -> str:
    """Return what tells that another machine than the planned one is behind a BMC; empty where nothing does.

    Who tells no serial number, or is given none by the list, is taken at its address. BmcError where it cannot be asked.
    """
    told = {serial for serial in bmc.read_serials() if serial.lower() not in NO_SERIAL} if target.serial else set()
    if not told or target.serial in told:
        return ""
    words = f"its machine has the serial number {', '.join(sorted(told))}, and the list of servers gives {target.name}"
    return f"{words} {target.serial}"


def open_own(door: Door) -> Bmc:
    """Return a BMC that may be given orders: nothing tells that another machine than the planned one is behind it.

    Two lines of the list of servers that were exchanged would else restart a machine that is at work.

    Raises:
        BmcError: as Door.open has it; `machine` where another machine is behind it.
    """
    bmc = door.open()
    try:
        if other := tell_other(bmc, door.target):
            raise BmcError("machine", f"{other}; gpuyard bmc inventory tells which machine is where")
    except BmcError:
        bmc.close()
        raise
    return bmc


def list_doors(
    plan: Plan,
    servers: Sequence[Server],
    settings: BmcSettings,
    secrets: Secrets,
    *,
    answer_s: float = 20.0,
    retries: int = 2,
) -> tuple[list[Door], list[Diagnostic]]:
    """Return the ways into the BMCs of servers, in their order, and what stands in the way.

    Args:
        plan: the plan, which knows what boots by BIOS; what is not installed over the network boots by UEFI.
        servers: the servers; those without a BMC are left out.
        settings: the intent's `bmc`.
        secrets: where passwords are looked up.
        answer_s: seconds to wait for one answer.
        retries: attempts after one that got no answer.

    Errors:
        SEC004, once for each password that is missing.
    """
    doors, missing = [], dict[str, Diagnostic]()
    bios = {installation.group for installation in plan.provisioning.installations if installation.firmware == "bios"}
    for server in servers:
        if server.bmc is None:
            continue
        ways = settings.of(server.group)
        try:
            password = secrets.get(ways.password, server.name)
        except MissingSecretError as error:
            fix = f"gpuyard explain SEC004 tells where {ways.password} can stand"
            missing[ways.password] = Diagnostic("SEC004", "error", "bmc.password", str(error), fix=fix)
            continue
        languages: tuple[Language, ...] = ("redfish", "ipmi") if ways.protocol == "auto" else (ways.protocol,)
        login = BmcLogin(ways.user, password, ways.ipmi_cipher, ways.tls, answer_s=answer_s, retries=retries)
        target = BmcTarget(
            server.name,
            server.bmc.address.partition("/")[0],
            server.rack,
            server.serial,
            frozenset(port.mac for port in server.ports if port.mac),
            server.group not in bios,
        )
        doors.append(Door(target, login, languages))
    return doors, list(missing.values())


def cut_waves(doors: Sequence[Door], per_rack: int) -> Iterator[list[Door]]:
    """Yield doors in waves that hold at most `per_rack` machines of one rack, so that few begin to draw current at once."""
    waiting: dict[str, list[Door]] = defaultdict(list)
    for door in doors:
        waiting[door.target.rack].append(door)
    while any(waiting.values()):
        wave: list[Door] = []
        for rack, queue in waiting.items():
            wave += queue[:per_rack]
            waiting[rack] = queue[per_rack:]
        yield wave
