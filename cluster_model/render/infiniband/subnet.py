"""fabric-manager/: what a subnet manager (OpenSM) and the tools beside it need to run an InfiniBand network.

Every plane of a network is a subnet of its own, with its own managers; where there is one plane, files carry no plane in
their names. Sources: opensm(8) and `opensm -c` of 3.3.23; infiniband-diags, ibnetdiscover(8).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cluster_model.names import natural_key
from cluster_model.plan.model import Network, Plan, Server, ServerPort, Switch
from cluster_model.render.drawings.style import format_count
from cluster_model.render.infiniband.ports import describe_port, has_plane_ports
from cluster_model.render.infiniband.topology import render_topology

FOLDER = "/etc/opensm"
"""Where OpenSM's packages of Debian, Red Hat and DOCA look for its files."""
_LOG_MB = 512
_HIGHEST_PRIORITY = 15
_GIVEN_UP = """\
# A list of some of the roots is worse than none: OpenSM would take the others for leafs' neighbours.
# So no line stands here, and opensm.conf does not name this file, until facts.switches has them all.
"""


@dataclass(frozen=True, slots=True)
class Subnet:
    """A plane of an InfiniBand network. `suffix` ends its files' names: empty, or `-p2` where there are several planes.

    `managers` are the ports of fabric managers in it, the first port of each.
    """

    network: Network
    plane: int
    suffix: str
    switches: tuple[Switch, ...]
    managers: tuple[tuple[Server, ServerPort], ...]

    @property
    def roots(self) -> tuple[Switch, ...]:
        """Return the switches of its highest tier."""
        roles = {switch.role for switch in self.switches}
        top = next(role for role in ("core", "spine", "leaf") if role in roles)
        return tuple(switch for switch in self.switches if switch.role == top)


def list_subnets(plan: Plan) -> Iterator[Subnet]:
    """Yield the InfiniBand subnets of a plan, network by network, plane by plane."""
    for network in plan.networks:
        if network.technology == "infiniband":
            for plane in range(1, network.planes + 1):
                yield Subnet(
                    network,
                    plane,
                    f"-p{plane}" if network.planes > 1 else "",
                    tuple(s for s in plan.switches if s.network == network.name and s.plane == plane),
                    tuple(_list_managers(plan, network, plane)),
                )


def render_subnets(plan: Plan) -> Iterator[tuple[str, bytes]]:
    """Yield the files of every subnet; nothing where no network is InfiniBand. partitions.conf is rendered elsewhere."""
    names: list[str] = []
    for subnet in list_subnets(plan):
        if subnet.managers:
            for rank, (server, port) in enumerate(subnet.managers):
                text = _render_opensm(plan, subnet, server, port, rank)
                yield f"fabric-manager/{server.name}/opensm{subnet.suffix}.conf", text.encode()
        else:
            yield f"fabric-manager/opensm{subnet.suffix}.conf", _render_opensm(plan, subnet, None, None, 0).encode()
        yield f"fabric-manager/root_guids{subnet.suffix}.conf", _render_roots(plan, subnet).encode()
        if not has_plane_ports(subnet.switches):
            yield f"fabric-manager/topology{subnet.suffix}.txt", render_topology(plan, subnet.switches).encode()
        names += _list_names(plan, subnet)
    if names:
        head = f"# {plan.name}: names by node GUID, for OpenSM's log and `ibnetdiscover --node-name-map`.\n"
        yield "fabric-manager/ib-node-name-map", (head + "".join(names)).encode()


def _list_managers(plan: Plan, network: Network, plane: int) -> Iterator[tuple[Server, ServerPort]]:
    for server in plan.servers:
        if server.role == "fabric-manager":
            port = next((p for p in server.ports if p.network == network.name and p.plane == plane), None)
            if port is not None:
                yield server, port


def choose_routing(subnet: Subnet) -> tuple[str, str]:
    """Return the routing engines for OpenSM in the order of trial, and why; none where there is nothing to route."""
    if len(subnet.switches) == 1:
        return "", ""
    if is_even(subnet.switches):
        return "ftree,updn", "an even fat tree; updn takes over, free of loops as well, where broken cables make it uneven"
    return "updn", "uneven: switches of one tier differ in their cables to other tiers, which ftree spreads badly"


def is_even(switches: tuple[Switch, ...]) -> bool:
    """Return whether switches form what OpenSM calls a pure fat tree.

    Switches of one tier have equally many neighbours above, with equally many cables each; leafs apart, the same holds below.
    Source: opensm(8), Fat-tree Routing Algorithm.
    """
    order = {role: height for height, role in enumerate(("leaf", "spine", "core"))}
    height = {switch.name: order[switch.role] for switch in switches}
    shapes: dict[str, set[tuple[tuple[int, ...], tuple[int, ...]]]] = {}
    for switch in switches:
        up: dict[str, int] = {}
        down: dict[str, int] = {}
        for port in switch.ports:
            if port.use == "fabric":
                side = up if height[port.peer] > height[switch.name] else down
                side[port.peer] = side.get(port.peer, 0) + 1
        shapes.setdefault(switch.role, set()).add((tuple(sorted(up.values())), tuple(sorted(down.values()))))
    return all(len(shape) == 1 and all(len(set(side)) <= 1 for side in next(iter(shape))) for shape in shapes.values())


def _render_opensm(plan: Plan, subnet: Subnet, server: Server | None, port: ServerPort | None, rank: int) -> str:
    """Return opensm.conf: the keys that differ from OpenSM's defaults. `rank` is the manager's place, from 0."""
    name = f"{subnet.network.name}, plane {subnet.plane}" if subnet.suffix else subnet.network.name
    lines = [
        f"# {plan.name}: OpenSM for {name}" + (f" on {server.name}" if server else "") + f", as {FOLDER}/opensm.conf.",
        "# Keys that differ from what `opensm -c` of 3.3.23 writes; what is not here keeps its default:",
        "# lmc 0, one service level without QoS, a light sweep every 10 s"
        + ("." if subnet.suffix else ", the subnet prefix fe80::."),
    ]
    if server is not None and port is not None:
        lines += ["", f"# The port that it runs on: {port.name} ({port.rdma or port.nic}), at {port.peer} {port.peer_port}."]
        if port.guid:
            lines.append(f"guid {port.guid}")
        else:
            lines.append("# No GUID in facts.servers yet: OpenSM takes the first port whose link is up.")
        why = (
            "priorities differ, so that no accident of GUIDs"
            if len(subnet.managers) > 1
            else "above the default of 0, so that no manager inside a switch"
        )
        lines += [
            "",
            f"# {_upper(why)} decides which manager is master:",
            "# the highest wins, and between equals the lowest GUID (opensm(8), --priority).",
            f"sm_priority {max(_HIGHEST_PRIORITY - rank, 1)}",
        ]
    if subnet.suffix:
        lines += [
            "",
            "# Planes share no cable: libraries tell them apart by the subnet prefix, and two alike pass for one fabric.",
            f"subnet_prefix 0x{0xFEC0 << 48 | subnet.plane:016x}",
        ]
    engines, why = choose_routing(subnet)
    if engines:
        lines += ["", f"# {_upper(why)}."]
        lines += [
            "# NVIDIA's own build (DOCA, MLNXSM) has ar_updn as its default, which adds adaptive routing: delete the line there."
        ]
        lines += [f"routing_engine {engines}"]
        lines += ["", *_word_roots(subnet)]
    lines += [
        "",
        "# The files beside this one; some builds of OpenSM look elsewhere.",
        f"partition_config_file {FOLDER}/partitions.conf",
        f"node_name_map_name {FOLDER}/ib-node-name-map",
        "",
        "# MB. The default is no limit, and a full disk stops the manager's host.",
        f"log_max_size {_LOG_MB}",
    ]
    return "\n".join(lines) + "\n"


def _word_roots(subnet: Subnet) -> list[str]:
    lacking = _list_lacking(subnet)
    if lacking:
        return [f"# {_word_lacking(subnet, lacking)}; until then OpenSM finds the roots itself."]
    return [
        "# With its roots named, routing stays as it is when a link or a switch is lost.",
        f"root_guid_file {FOLDER}/root_guids{subnet.suffix}.conf",
    ]


def _list_lacking(subnet: Subnet) -> list[Switch]:
    """Return the roots whose GUIDs are not known. A switch of several chips has several GUIDs, of which facts hold one."""
    return [switch for switch in subnet.roots if not switch.guid or has_plane_ports((switch,))]


def _word_lacking(subnet: Subnet, lacking: list[Switch]) -> str:
    if has_plane_ports(subnet.switches):
        return f"{lacking[0].model} has a GUID for each of its chips, and facts.switches one for each switch: roots are not named"
    return f"{len(lacking)} of {format_count(len(subnet.roots), 'root')} lack a GUID in facts.switches"


def _render_roots(plan: Plan, subnet: Subnet) -> str:
    """Return root_guids.conf. OpenSM reads lines of up to 255 characters, so names stand one to a line."""
    roots, lacking = subnet.roots, _list_lacking(subnet)
    plane = f", plane {subnet.plane}" if subnet.suffix else ""
    head = f"# {plan.name}: the {roots[0].role} switches of {subnet.network.name}{plane}, by node GUID.\n"
    if not lacking:
        return head + "".join(f"{switch.guid} # {switch.name}\n" for switch in roots)
    names = "".join(f"#   {switch.name}\n" for switch in lacking)
    return f"{head}# {_word_lacking(subnet, lacking)}:\n{names}{_GIVEN_UP}"


def _list_names(plan: Plan, subnet: Subnet) -> Iterator[str]:
    """Yield lines of the name map: switches, then adapters. An adapter with one port has the port's GUID as its own."""
    for switch in subnet.switches:
        if switch.guid:
            yield f'{switch.guid} "{switch.name}"\n'
    for server in sorted(plan.servers, key=lambda server: natural_key(server.name)):
        for port in server.ports:
            if port.guid and port.network == subnet.network.name and port.plane == subnet.plane:
                yield f'{port.guid} "{describe_port(server.name, port)}"\n'


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
