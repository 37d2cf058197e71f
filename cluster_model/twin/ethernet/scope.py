"""What of a plan is booted: whole networks, or a sample of them; and which cables are plugged in."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Network

from cluster_model.plan.model import Cable, Plan, Server, Switch
from cluster_model.twin.ethernet.outside import list_peers, name_port
from cluster_model.twin.tree import Tree

SITE = "site"
"""The machine that stands for the site's router."""
OUTER = {"upstream", "external"}
"""Kinds of links to machines that the plan does not have: the site's router, external peers."""


@dataclass(frozen=True, slots=True)
class Link:
    """A cable that is plugged in here; `a` is the end nearer the hosts."""

    network: str
    kind: str
    a: str
    a_port: str
    b: str
    b_port: str

    @property
    def ends(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """Return both (device, port)."""
        return (self.a, self.a_port), (self.b, self.b_port)

    def __str__(self) -> str:
        return f"{self.a}:{self.a_port} to {self.b}:{self.b_port}"


@dataclass(frozen=True, slots=True)
class Sampling:
    """How much to boot where a network has more than `whole_up_to` switches.

    Args:
        whole_up_to: larger networks are sampled.
        leafs: how many leafs are taken beside the first unit's.
        hosts: how many hosts each unit has at least.
        spines: spines and cores of each plane and pod; 0: as many as there are, or as there is room for.
        room: how many switches of a network this machine has room for.
        full: nothing is sampled.
    """

    whole_up_to: int = 20
    leafs: int = 2
    hosts: int = 4
    spines: int = 0
    room: int = 64
    full: bool = False


@dataclass
class Scope:
    """What is booted.

    Args:
        switches: by name, in the plan's order.
        servers: by name.
        links: cables with both ends here.
        left_out: network → why it is not booted.
        sampled: network → what was taken of it, in words; networks that are whole are absent.
        unplugged: cables of booted networks that end in devices the twin has not, by kind of device.
        subnets: the InfiniBand networks that are wanted; `infiniband.scope` says what of them is booted.
        missing: network that is left out → what it needs of the kernel.
        pods: node of Kubernetes → its part of the pods' range, where switches know of pods.
        api_server: the API server's address that leafs are told of; empty where they are told of none.
        control: the nodes of which they take it.
    """

    switches: dict[str, Switch]
    servers: dict[str, Server]
    links: tuple[Link, ...]
    left_out: dict[str, str] = field(default_factory=dict)
    sampled: dict[str, str] = field(default_factory=dict)
    unplugged: dict[str, int] = field(default_factory=dict)
    subnets: tuple[str, ...] = ()
    missing: dict[str, frozenset[str]] = field(default_factory=dict)
    pods: dict[str, str] = field(default_factory=dict)
    api_server: str = ""
    control: frozenset[str] = frozenset()

    @property
    def networks(self) -> list[str]:
        """Return the networks that are booted, in the plan's order."""
        return list(dict.fromkeys(switch.network for switch in self.switches.values()))

    def members(self, network: str) -> list[Switch]:
        """Return the switches of a network."""
        return [switch for switch in self.switches.values() if switch.network == network]


def choose_scope(tree: Tree, lacks: frozenset[str], sampling: Sampling, only: Iterable[str] = ()) -> Scope:
    """Return what of a tree is booted.

    Args:
        tree: the rendered tree.
        lacks: what the kernel lacks.
        sampling: how much of large networks to take.
        only: names of networks; none for all of them.
    """
    plan, wanted = tree.plan, set(only)
    left_out: dict[str, str] = {}
    sampled: dict[str, str] = {}
    without: dict[str, frozenset[str]] = {}
    switches: dict[str, Switch] = {}
    subnets: list[str] = []
    for network in plan.networks:
        members = [switch for switch in plan.switches if switch.network == network.name]
        if wanted and network.name not in wanted:
            continue
        if network.technology == "infiniband":
            subnets.append(network.name)
            continue
        chosen = members if sampling.full or len(members) <= sampling.whole_up_to else _sample(members, sampling)
        missing = lacks & frozenset().union(*(tree.switch_files(switch).plane.needs for switch in chosen))
        if missing:
            without[network.name] = missing
            left_out[network.name] = f"needs {', '.join(sorted(missing))}, which is not to be had here"
            continue
        if len(chosen) < len(members):
            sampled[network.name] = _describe(chosen, members, sampling)
        switches.update((switch.name, switch) for switch in chosen)
    servers = _choose_servers(tree, switches, set(sampled), sampling)
    links, unplugged = _plug(plan.cables, switches, servers)
    links += [
        Link(switch.network, "upstream", switch.name, way.port, SITE, f"up{number}")
        for number, (switch, way) in enumerate((s, w) for s in switches.values() for w in s.upstreams)
    ]
    links += [
        Link(border.network, "external", peer.machine, name_port(border), border.name, end.port)
        for peer in list_peers(plan, switches.values())
        for border, end in peer.ports
    ]
    return Scope(
        switches,
        servers,
        tuple(links),
        left_out,
        sampled,
        unplugged,
        tuple(subnets),
        without,
        share_pods(plan),
        plan.kubernetes.endpoint.announced,
        plan.kubernetes.announcers,
    )


def _sample(members: list[Switch], sampling: Sampling) -> list[Switch]:
    """Take the first unit whole, some leafs of the other units, and of the spines and cores above them as many as asked or fit.

    Spines and cores are taken in equal numbers from every plane and pod, two at least, so that there are equal paths to try.
    """
    first = min((switch.unit for switch in members if switch.unit), default=0)
    edges = [switch for switch in members if switch.is_edge]
    others = [switch for switch in edges if switch.unit != first][: sampling.leafs]
    leafs = [switch for switch in edges if switch.unit == first or switch in others]
    sizes = Counter(_group(switch) for switch in members if not switch.is_edge)
    most = max(sizes.values(), default=0)
    for count in [sampling.spines] if sampling.spines else range(most, 1, -1):
        chosen = _choose_above(members, leafs, count)
        if len(chosen) <= sampling.room:
            break
    return chosen if most else leafs


def _group(switch: Switch) -> tuple[str, int, int]:
    return switch.role, switch.plane, switch.pod


def _choose_above(members: list[Switch], leafs: list[Switch], count: int) -> list[Switch]:
    """Return leafs with the first `count` switches of each plane and pod above them that something booted is cabled to."""
    names = {switch.name for switch in leafs}
    for role in ("spine", "core"):
        taken = Counter[tuple[str, int, int]]()
        for switch in members:
            cabled = any(port.peer in names for port in switch.ports)
            if switch.role == role and cabled and taken[_group(switch)] < count:
                taken[_group(switch)] += 1
                names.add(switch.name)
    return [switch for switch in members if switch.name in names]


def _describe(chosen: list[Switch], members: list[Switch], sampling: Sampling) -> str:
    def count(role: str) -> str:
        some, every = ([switch for switch in part if switch.role == role] for part in (chosen, members))
        if not every:
            return ""
        return f"{len(some)} of {len(every)} {role}s{_name_sample(some, every) if len(some) < len(every) else ''}"

    words = ", ".join(text for role in ("leaf", "border", "spine", "core") if (text := count(role)))
    return f"{words}, {sampling.hosts} hosts or more per unit"


def _name_sample(some: list[Switch], every: list[Switch]) -> str:
    """Return which were taken: whole units by number, others by name."""
    sizes, taken = (Counter(switch.unit for switch in part) for part in (every, some))
    whole = [unit for unit in taken if unit and taken[unit] == sizes[unit]]
    words = [f"unit {unit}" for unit in whole] + [switch.name for switch in some if switch.unit not in whole]
    shown = words if len(words) <= 6 else [*words[:3], f"{len(words) - 4} more", words[-1]]
    return f" ({', '.join(shown)})"


def _choose_servers(tree: Tree, switches: dict[str, Switch], sampled: set[str], sampling: Sampling) -> dict[str, Server]:
    """Return the servers that hang on booted leafs: all of them in whole networks, some per unit in sampled ones."""
    taken: dict[tuple[str, int], int] = defaultdict(int)
    servers: dict[str, Server] = {}
    for server in tree.plan.servers:
        units = {(port.network, switches[port.peer].unit) for port in server.ports if port.peer in switches}
        large = {unit for unit in units if unit[0] in sampled}
        if not units or (large and all(taken[unit] >= sampling.hosts for unit in large)):
            continue
        if sampled and not large and len(servers) >= 4 * sampling.hosts:
            continue
        for unit in large:
            taken[unit] += 1
        servers[server.name] = server
    return servers


def share_pods(plan: Plan) -> dict[str, str]:
    """Return each node's part of the range of all pods, in the plan's order; none where switches know nothing of pods.

    In a cluster the controller manager hands parts out, in the order in which nodes come.
    """
    kubernetes = plan.kubernetes
    if not kubernetes.node_asn:
        return {}
    parts = IPv4Network(kubernetes.pod_pool).subnets(new_prefix=kubernetes.node_prefix)
    return dict(zip((node.name for node in kubernetes.nodes), map(str, parts), strict=False))


def _plug(cables: Iterable[Cable], switches: dict[str, Switch], servers: dict[str, Server]) -> tuple[list[Link], dict[str, int]]:
    ports = {(server.name, port.name) for server in servers.values() for port in server.ports}
    links, unplugged = [], defaultdict[str, int](int)
    for cable in cables:
        if cable.b not in switches:
            continue
        if cable.a in switches or (cable.a, cable.a_port) in ports:
            if cable.a_port == "mgmt":
                unplugged["management ports of switches"] += 1
            else:
                links.append(Link(cable.network, cable.kind, cable.a, cable.a_port, cable.b, cable.b_port))
        elif cable.a in servers:
            unplugged["BMCs"] += 1
        elif cable.a_port == "net":
            unplugged["PDUs"] += 1
        elif cable.a_port == "mgmt":
            unplugged["management ports of switches"] += 1
    return links, dict(unplugged)
