"""Go through the devices of a plan and read them: the only place where verify meets the network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from cluster_model.catalogue.load import load_catalogue
from cluster_model.catalogue.platform_types import Platform
from cluster_model.plan.model import Cable, Plan, Server, Switch
from cluster_model.render.cabling import locate_devices
from cluster_model.transport.fleet import PARALLEL, visit
from cluster_model.transport.session import SHELL, Login, Opener, Session, Target, UnreachableError
from cluster_model.verify.observed import Observed, ObservedDevice
from cluster_model.verify.read.device import HOST, READERS, Wish, read_device, rename_stand_in

STAND_IN = "frr"
"""The system that a switch is read as where another one stands in for it, as in the twin: Linux with FRR."""
SUBNET_READER = "ibnetdiscover"
"""The reader of systems that speak neither LLDP nor BGP: it reads a whole subnet, and nobody logs in to its switches."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What to look at: what is of these networks (empty: of all) and of these devices (None: of all)."""

    networks: tuple[str, ...] = ()
    devices: frozenset[str] | None = None

    def cables(self, plan: Plan) -> tuple[Cable, ...]:
        """Return the cables to look at: of the networks, with an end at the devices. InfiniBand has no LLDP and is left out."""
        technologies = {network.name: network.technology for network in plan.networks}
        return tuple(
            cable
            for cable in plan.cables
            if technologies.get(cable.network) != "infiniband"
            and (not self.networks or cable.network in self.networks)
            and (self.devices is None or cable.a in self.devices or cable.b in self.devices)
        )

    def switches(self, plan: Plan) -> tuple[Switch, ...]:
        """Return the switches to look at; those of InfiniBand are left out."""
        technologies = {network.name: network.technology for network in plan.networks}
        return tuple(
            switch
            for switch in plan.switches
            if technologies.get(switch.network) != "infiniband"
            and (not self.networks or switch.network in self.networks)
            and (self.devices is None or switch.name in self.devices)
        )

    def host_ports(self, plan: Plan) -> frozenset[tuple[str, str]]:
        """Return the ports of servers to look at, by server and name, as cables are: where one of the two ends is meant."""
        technologies = {network.name: network.technology for network in plan.networks}
        return frozenset(
            (server.name, port.name)
            for server in plan.servers
            for port in server.ports
            if technologies.get(port.network) != "infiniband"
            and (not self.networks or port.network in self.networks)
            and (self.devices is None or server.name in self.devices or port.peer in self.devices)
        )


def list_targets(
    plan: Plan, names: Iterable[str], *, stand_in: bool = False, platforms: Mapping[str, Platform] | None = None
) -> tuple[list[Target], dict[str, str]]:
    """Return where the named devices are reached, and their readers by name. Those that nobody logs in to are left out.

    Args:
        plan: the plan.
        names: devices.
        stand_in: whether switches are Linux with FRR, whatever system is planned.
        platforms: network operating systems by name; default: those that come with gpuyard.

    Returns:
        The targets, and by name which of READERS reads each; empty for a switch whose platform names none.
    """
    wanted = set(names)
    known: Mapping[str, Platform] = load_catalogue()[0].platforms if platforms is None else platforms
    targets: list[Target] = []
    readers: dict[str, str] = {}
    for switch in plan.switches:
        own = known.get(switch.nos)
        if switch.name not in wanted or (own and own.reader == SUBNET_READER):
            continue
        platform = known.get(STAND_IN) if stand_in else own
        readers[switch.name] = reader = (platform.reader or "") if platform else ""
        is_cli = bool(reader) and not READERS[reader].is_shell
        driver = (platform.netmiko if platform and is_cli else None) or SHELL
        targets.append(Target(switch.name, find_address(plan, switch), driver))
    for server in plan.servers:
        if server.name in wanted:
            targets.append(Target(server.name, find_address(plan, server)))
            readers[server.name] = HOST
    return targets, readers


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
    platforms: Mapping[str, Platform] | None = None,
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
        platforms: network operating systems by name; default: those that come with gpuyard.
        parallel: sessions at once.
        progress: told of each device as it is done.

    Returns:
        What they told, unreached ones with the reason.
    """
    targets, readers = list_targets(plan, names, stand_in=stand_in, platforms=platforms)
    planned = {switch.name: switch.nos for switch in plan.switches}
    known = set(locate_devices(plan))

    def work(target: Target) -> ObservedDevice:
        is_host = not target.driver
        reader = readers[target.name]
        if not reader:
            reason = f"nothing reads {planned[target.name]}: templates/switch/{planned[target.name]}/platform.yml names no reader"
            return ObservedDevice(target.name, reached=False, reason=reason)
        session: Session | None = None
        try:
            if is_host:
                session = (open_host or _default_host())(target, logins[True])
            else:
                session = (open_switch or _default_switch())(target, logins[False])
            told = read_device(target.name, reader, session, (wishes or {}).get(target.name) or wish or Wish())
            if stand_in and planned.get(target.name, STAND_IN) != STAND_IN:
                told = rename_stand_in(told, STAND_IN)
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
