"""Go through the devices of a plan and read them: the only place where verify meets the network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from cluster_model.plan.model import Cable, Plan, Server, Switch
from cluster_model.render.cabling import locate_devices
from cluster_model.transport.fleet import PARALLEL, visit
from cluster_model.transport.session import SHELL, Login, Opener, Session, Target, UnreachableError
from cluster_model.verify.observed import Observed, ObservedDevice
from cluster_model.verify.read.device import Wish, read_device, rename_stand_in

_DRIVERS = {"eos": "arista_eos"}
"""netmiko's device type where it is not a shell."""
STAND_IN = "frr"
"""The system that a switch is read as where another one stands in for it, as in the twin: Linux with FRR."""
_MUTE = {"infiniband"}
"""Systems that speak neither LLDP nor BGP; ibnetdiscover reads them."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What to look at: everything of these networks and racks; empty means all."""

    networks: tuple[str, ...] = ()
    racks: tuple[str, ...] = ()

    def cables(self, plan: Plan) -> tuple[Cable, ...]:
        """Return the cables to look at: of the networks, with an end in the racks. InfiniBand has no LLDP and is left out."""
        technologies = {network.name: network.technology for network in plan.networks}
        racks = {name: rack for name, (rack, _) in locate_devices(plan).items()}
        return tuple(
            cable
            for cable in plan.cables
            if technologies.get(cable.network) != "infiniband"
            and (not self.networks or cable.network in self.networks)
            and (not self.racks or racks.get(cable.a) in self.racks or racks.get(cable.b) in self.racks)
        )

    def switches(self, plan: Plan) -> tuple[Switch, ...]:
        """Return the switches to look at."""
        return tuple(
            switch
            for switch in plan.switches
            if switch.nos not in _MUTE
            and (not self.networks or switch.network in self.networks)
            and (not self.racks or switch.rack in self.racks)
        )


def list_targets(plan: Plan, names: Iterable[str], *, stand_in: bool = False) -> tuple[list[Target], dict[str, str]]:
    """Return where the named devices are reached, and their systems by name. Those that nobody logs in to are left out.

    Args:
        plan: the plan.
        names: devices.
        stand_in: whether switches are Linux with FRR, whatever system is planned.
    """
    wanted = set(names)
    targets, systems = [], {}
    for switch in plan.switches:
        if switch.name in wanted and switch.nos not in _MUTE:
            system = STAND_IN if stand_in else switch.nos
            targets.append(Target(switch.name, find_address(plan, switch), _DRIVERS.get(system, SHELL)))
            systems[switch.name] = system
    for server in plan.servers:
        if server.name in wanted:
            targets.append(Target(server.name, find_address(plan, server)))
            systems[server.name] = "host"
    return targets, systems


def find_address(plan: Plan, device: Switch | Server) -> str:
    """Return the address that Ansible's inventory has too: of the management port, else the loopback, else the name."""
    if isinstance(device, Switch):
        address = (device.management.address if device.management else "") or device.loopback
    else:
        address = next((port.address for port in device.ports if port.network == "oob" and port.address), "")
    return address.partition("/")[0] or f"{device.name}.{plan.site.domain}"


def observe(
    plan: Plan,
    names: Iterable[str],
    logins: Mapping[bool, Login],
    *,
    wish: Wish | None = None,
    wishes: Mapping[str, Wish] | None = None,
    open_switch: Opener | None = None,
    open_host: Opener | None = None,
    stand_in: bool = False,
    parallel: int = PARALLEL,
    progress: Callable[[ObservedDevice], None] | None = None,
) -> Observed:
    """Read devices, many at a time.

    Args:
        plan: the plan.
        names: devices to read; those that nobody logs in to (PDUs, BMCs) are left out.
        logins: how to log in, by whether it is a host.
        wish: what to read of every device; `wishes` of some, by name.
        open_switch: opens sessions to switches; default: netmiko.
        open_host: opens sessions to hosts; default: OpenSSH's client.
        stand_in: whether switches are Linux with FRR, whatever system is planned.
        parallel: sessions at once.
        progress: told of each device as it is done.

    Returns:
        What they told, unreached ones with the reason.
    """
    targets, systems = list_targets(plan, names, stand_in=stand_in)
    planned = {switch.name: switch.nos for switch in plan.switches}
    known = set(locate_devices(plan))

    def work(target: Target) -> ObservedDevice:
        is_host = not target.driver
        session: Session | None = None
        try:
            if is_host:
                session = (open_host or _default_host())(target, logins[True])
            else:
                session = (open_switch or _default_switch())(target, logins[False])
            system = systems[target.name]
            told = read_device(target.name, system, session, (wishes or {}).get(target.name) or wish or Wish())
            if system != planned.get(target.name, system):
                told = rename_stand_in(told, system)
        except UnreachableError as error:
            return ObservedDevice(target.name, reached=False, reason=f"{target.address}: {error}")
        finally:
            if session is not None:
                session.close()
        if told.hostname != told.name and told.hostname.lower() in known:
            return replace(ObservedDevice(told.name, reached=False), hostname=told.hostname, reason=f"{told.hostname} answers")
        return told

    found: dict[str, ObservedDevice] = {}
    for device in visit(targets, work, parallel):
        found[device.name] = device
        if progress:
            progress(device)
    return Observed({target.name: found[target.name] for target in targets})


def _default_switch() -> Opener:
    from cluster_model.transport.switch.session import open_switch

    return open_switch


def _default_host() -> Opener:
    from cluster_model.transport.host import open_host

    return open_host
