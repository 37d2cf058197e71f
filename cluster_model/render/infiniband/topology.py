"""fabric-manager/topology.txt: the cables of the plan in the form that `ibnetdiscover` prints what it found.

A node goes by its GUID, and by its name until the GUID is delivered. LIDs are the subnet manager's to give, so there are none.
Source: ibnetdiscover(8), TOPOLOGY FILE FORMAT.
"""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.plan.model import Plan, ServerPort, Switch
from cluster_model.render.infiniband.ports import count_ports, describe_port, name_links, number_ports

_HEAD = """\
#
# Topology file: expected by the plan of {name}
#
# Compare it with what ibnetdiscover finds. Port 65 (129 on a split switch) leads to the switch's own aggregation node.
#
"""


def render_topology(plan: Plan, switches: tuple[Switch, ...]) -> str:
    """Return the topology of one subnet: its switches, then the adapters on them."""
    blocks = [_HEAD.format(name=plan.name)]
    numbers = {switch.name: number_ports(switch) for switch in switches}
    by_name = {switch.name: switch for switch in switches}
    adapters = {
        (port.peer, port.peer_port): (server.name, port)
        for server in plan.servers
        for port in server.ports
        if port.peer in by_name
    }
    for switch in switches:
        blocks.append("\n".join(_list_switch(switch, by_name, numbers, adapters)) + "\n")
    for (leaf, leaf_port), (server, port) in adapters.items():
        blocks.append("\n".join(_list_adapter(by_name[leaf], leaf_port, numbers[leaf][leaf_port], server, port)) + "\n")
    return "\n".join(blocks)


def _list_switch(
    switch: Switch,
    switches: dict[str, Switch],
    numbers: dict[str, dict[str, int]],
    adapters: dict[tuple[str, str], tuple[str, ServerPort]],
) -> Iterator[str]:
    if switch.guid:
        yield f"switchguid={_short(switch.guid, '0x')}({_short(switch.guid)})"
    yield f'Switch\t{count_ports(switch)} "{_switch_id(switch)}"\t\t# "{switch.name}"'
    links = name_links(switch)
    for port in sorted(switch.ports, key=lambda port: numbers[switch.name][port.name]):
        number = numbers[switch.name][port.name]
        if port.use == "fabric":
            far = switches[port.peer]
            line = f'[{number}]\t"{_switch_id(far)}"[{numbers[far.name][port.peer_port]}]\t\t# "{far.name}"'
        else:
            server, end = adapters[switch.name, port.name]
            guid = f"({_short(end.guid)})" if end.guid else ""
            line = f'[{number}]\t"{_adapter_id(server, end)}"[1]{guid} \t\t# "{describe_port(server, end)}"'
        yield f"{line} {links[port.name]}".rstrip()


def _list_adapter(leaf: Switch, leaf_port: str, number: int, server: str, port: ServerPort) -> Iterator[str]:
    if port.guid:
        yield f"caguid={_short(port.guid, '0x')}"
    yield f'Ca\t1 "{_adapter_id(server, port)}"\t\t# "{describe_port(server, port)}"'
    guid = f"({_short(port.guid)})" if port.guid else ""
    yield f'[1]{guid} \t"{_switch_id(leaf)}"[{number}]\t\t# "{leaf.name}" {name_links(leaf)[leaf_port]}'.rstrip()


def _switch_id(switch: Switch) -> str:
    return f"S-{switch.guid.removeprefix('0x')}" if switch.guid else switch.name


def _adapter_id(server: str, port: ServerPort) -> str:
    return f"H-{port.guid.removeprefix('0x')}" if port.guid else describe_port(server, port)


def _short(guid: str, prefix: str = "") -> str:
    """Return a GUID without leading zeros, as ibnetdiscover prints it outside quotes."""
    return f"{prefix}{int(guid, 16):x}"
