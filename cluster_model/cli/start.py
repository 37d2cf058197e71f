"""The intent that `gpuyard new` starts a cluster with, sized to what is asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Any

import click

from cluster_model.catalogue.cages import switch_cages
from cluster_model.cli.start_hall import choose_racks, refuse_hall
from cluster_model.intent.model.networks import DEFAULT_NOS
from cluster_model.near import suggest
from cluster_model.plan.ports import count_ports, speeds_of

if TYPE_CHECKING:
    from cluster_model.catalogue.load import Catalogue
    from cluster_model.catalogue.types import Server

LEAFS = {
    "roce": ((200, "nvidia/sn4700"), (800, "nvidia/sn5600")),
    "infiniband": ((200, "nvidia/qm8790"), (400, "nvidia/qm9700"), (800, "nvidia/q3400-ra")),
}
"""Compute leafs by the speed in Gb/s of the NICs that they serve, slowest first."""
STORAGE_SERVER, CONTROL_SERVER, FABRIC_MANAGER, STORAGE_LEAF = (
    "generic/2u-24nvme",
    "generic/1u",
    "nvidia/ufm-3.1",
    "nvidia/sn4700",
)
BUSINESS_LEAF = "nvidia/sn3700c"
ARISTA = {"compute": "arista/dcs-7060x6-64pe", "storage": "arista/dcs-7050cx3-32s", "business": "arista/dcs-7050cx3-32s"}
"""Leafs for `--nos eos`, which runs on Arista's own switches alone."""
PRIVATE = IPv4Network("10.0.0.0/8")
TENANT_POOL = IPv4Network("10.0.0.0/10")
"""Where subnets of tenants are cut from; the pools of the networks lie behind it."""
POOLS = {
    "compute": IPv4Network("10.64.0.0/11"),
    "storage": IPv4Network("10.128.0.0/12"),
    "business": IPv4Network("10.144.0.0/14"),
    "oob": IPv4Network("10.120.0.0/14"),
}
"""Pools of the networks where nothing asks for larger ones."""
FIRST_PLACE = 16  # the intent's default place of a group's first server in a subnet
OOB_SPINES = ((32, "nvidia/sn3700c"), (128, "nvidia/sn4700"), (512, "nvidia/sn5600"))
"""Aggregation switches by the 100 Gb/s links they can take, smallest first."""
STRONG_W = 3000
"""A leaf that draws more, in W, stands in stronger racks, since several may share one."""
RACK_U, UNIT, CEPH_HOSTS, MANAGERS = 48, 32, 3, 2


@dataclass(slots=True)
class Choices:
    """What is chosen beside the options, until the planner agrees.

    Args:
        servers: GPU servers to build now, of `gpus_each` GPUs.
        managers: fabric managers.
        per_rack: GPU servers per rack.
        pools: prefix length of each network's pool.
        network_racks: racks for all that is no GPU server, of `network_kw` each.
        ratios: oversubscription of networks that have any.
        shares_oob: whether two racks of a large hall share an out-of-band leaf.
        planned: GPU servers in the end; 0 where that is all that are built now.
        added: (switches, cables between them) that are built now for what is planned, where nobody asked to plan; None where
            somebody did.
        offer: where no room is kept, the least (servers, switches that they add) that could be planned; None where nothing can.
    """

    servers: int
    gpus_each: int
    managers: int
    per_rack: int
    network_racks: int
    network_kw: int
    pools: dict[str, int] = field(default_factory=lambda: {name: pool.prefixlen for name, pool in POOLS.items()})
    ratios: dict[str, int] = field(default_factory=dict)
    shares_oob: bool = True
    planned: int = 0
    added: tuple[int, int] | None = None
    offer: tuple[int, int] | None = None

    @property
    def final(self) -> int:
        """Return the GPU servers in the end."""
        return max(self.servers, self.planned)


def begin_choices(wanted: Mapping[str, Any], catalogue: Catalogue) -> Choices:
    """Return the choices to try first: all that is asked for.

    Args:
        wanted: the options of the command by name.
        catalogue: hardware to choose from.

    Raises:
        click.UsageError: an option cannot be met at any size.
    """
    from cluster_model.catalogue.types import Server, Switch

    for option, model, kind in (
        ("--server", wanted["server"], Server),
        ("--leaf", wanted["leaf"], Switch),
        ("--spine", wanted["spine"], Switch),
        ("--oob-leaf", wanted["oob_leaf"], Switch),
    ):
        if model is not None:
            _require_model(option, model, kind, catalogue)
    device, server = catalogue.device(wanted["server"]), catalogue.server(wanted["server"])
    if device is None or server is None or server.gpus is None:
        raise click.UsageError(f"--server: {wanted['server']} has no GPUs")
    known = sorted({*catalogue.platforms} - {"infiniband"})
    if wanted["nos"] not in known:
        near = suggest(wanted["nos"], known)
        raise click.UsageError(f"--nos: {wanted['nos']} is none of {', '.join(known)}" + (f"; {near}" if near else ""))
    if 0 < wanted["storage"] < CEPH_HOSTS:
        raise click.UsageError(f"--storage: Ceph keeps three copies on three servers; give 0, or {CEPH_HOSTS} and more")
    leaf = choose_leaf(wanted, catalogue)
    switch = catalogue.switch(leaf)
    is_managed = wanted["technology"] == "infiniband" and _compute_speed(server) > 0
    managers = wanted["fabric_managers"]
    if managers and not is_managed:
        raise click.UsageError("--fabric-managers: only InfiniBand networks have them; add --technology infiniband")
    if managers is None:
        managers = MANAGERS if is_managed and _can_manage(leaf, catalogue) else 0
    fitting = max(1, (RACK_U - 1) // math.ceil(device.u_height))  # the top unit is an out-of-band leaf's
    each, count = server.gpus.count, math.ceil(wanted["gpus"] / server.gpus.count)
    planned = math.ceil((wanted["planned"] or 0) / each)
    if planned and planned < count:
        raise click.UsageError(
            f"--planned: {wanted['planned']:,} GPUs in the end are fewer than the {count * each:,} that are built now; give "
            f"{count * each} or more, or fewer --gpus"
        )
    network_racks = max(2, math.ceil((wanted["control"] + wanted["storage"] + managers) / 8) + math.ceil(count / 16))
    network_kw = 45 if switch and switch.power.maximum_w > STRONG_W else 30
    return Choices(count, each, managers, min(wanted["per_rack"], fitting), network_racks, network_kw, planned=planned)


def choose_values(name: str, wanted: Mapping[str, Any], choices: Choices, catalogue: Catalogue) -> dict[str, Any]:
    """Return an intent as plain data, large enough for what is wanted.

    Args:
        name: name of the cluster.
        wanted: the options of the command by name.
        choices: what is chosen beside them.
        catalogue: hardware to size racks by.

    Raises:
        click.UsageError: there are more racks than rows hold, more addresses than private ones, or more tenants than servers.
    """
    server, leaf, count = catalogue.server(wanted["server"]), choose_leaf(wanted, catalogue), choices.servers
    assert server is not None
    has_compute, nos = _compute_speed(server) > 0, _name_nos(wanted["nos"])
    unit = _choose_unit(wanted, choices.final, leaf, catalogue) if has_compute else None
    gpu_racks, gpu_kw = (
        math.ceil(choices.final / choices.per_rack),
        math.ceil(choices.per_rack * server.power.maximum_w / 1000 * 1.1),
    )
    racks, racks_in_all = choose_racks(gpu_racks, gpu_kw, choices.network_racks, choices.network_kw, wanted["rows"])
    compute = {"leaf": leaf, "spine": wanted["spine"], "technology": wanted["technology"]}
    if wanted["technology"] == "roce":
        compute["nos"] = nos
    if has_compute and unit is None:
        compute["rails_per_leaf"] = share_leafs(server, choices, leaf, catalogue)
    servers: dict[str, Any] = {
        "gpu": {
            "id": 1,
            "model": wanted["server"],
            "count": count,
            "planned": choices.planned if choices.planned > count else None,
            "unit": unit,
            "racks": "gpu",
            "per_rack": choices.per_rack,
        },
        "control": {"id": 3, "model": CONTROL_SERVER, "count": wanted["control"], "racks": "network"},
    }
    networks: dict[str, Any] = {"compute": compute, "oob": _choose_oob(wanted, racks_in_all, choices.shares_oob, catalogue)}
    values: dict[str, Any] = {
        "name": name,
        "site": {"domain": f"{name}.example.net"},
        "racks": racks,
        "servers": servers,
        "networks": networks,
    }
    if not has_compute:
        del networks["compute"]
    if wanted["storage"] or not has_compute:
        networks["storage"] = {"leaf": ARISTA["storage"] if wanted["nos"] == "eos" else STORAGE_LEAF, "nos": nos}
    if wanted["storage"]:
        servers["storage"] = {"id": 2, "model": STORAGE_SERVER, "count": wanted["storage"], "racks": "network"}
        values["ceph"] = {"hosts": "storage", "pools": {"datasets": {"replicas": 3}}}
    if choices.managers:
        servers["fabric-manager"] = {
            "id": 4,
            "model": FABRIC_MANAGER,
            "count": choices.managers,
            "racks": "network",
            "manages": "compute",
        }
    if wanted["tenants"]:
        networks["business"] = {"leaf": ARISTA["business"] if wanted["nos"] == "eos" else BUSINESS_LEAF, "nos": nos}
        values["tenants"] = _share_servers(wanted["tenants"], choices)
    for key, ratio in choices.ratios.items():
        networks[key]["oversubscription"] = ratio
    pooled = {key: choices.pools[key] for key in networks if key != "compute" or wanted["technology"] == "roce"}
    try:
        pools = place_pools(pooled, [TENANT_POOL] if wanted["tenants"] else [])
    except click.UsageError:
        if wanted["rows"]:
            refuse_hall(gpu_racks, choices.network_racks, wanted["rows"], pooled["oob"])
        raise
    for key, pool in pools.items():
        networks[key]["pool"] = str(pool)
    return values


def choose_leaf(wanted: Mapping[str, Any], catalogue: Catalogue) -> str:
    """Return the compute leaf: the one asked for, or one for the server's NICs."""
    if wanted["leaf"]:
        return str(wanted["leaf"])
    if wanted["nos"] == "eos" and wanted["technology"] == "roce":
        return ARISTA["compute"]
    server = catalogue.server(wanted["server"])
    speed = _compute_speed(server) if server else 0
    return next((model for most, model in LEAFS[wanted["technology"]] if speed <= most), LEAFS[wanted["technology"]][-1][1])


def _choose_unit(wanted: Mapping[str, Any], count: int, leaf: str, catalogue: Catalogue) -> int | None:
    """Return the servers per unit; None where all are one unit.

    In InfiniBand as few as half a leaf's ports allow, and as even as can be: a full one is NVIDIA's scalable unit, 32 servers on
    Quantum-2, 72 on Quantum-X800, 20 on Quantum.
    """
    if wanted["unit"]:
        return int(wanted["unit"])
    most = usual_unit(wanted, leaf, catalogue)
    if wanted["technology"] == "infiniband":
        return math.ceil(count / math.ceil(count / most))
    return most if count > most else None


def usual_unit(wanted: Mapping[str, Any], leaf: str, catalogue: Catalogue) -> int:
    """Return the servers of a unit where nobody says: what half a leaf's ports serve, one rail each; in RoCE 32 at most."""
    device, server = catalogue.device(leaf), catalogue.server(wanted["server"])
    if wanted["technology"] == "infiniband" or device is None or server is None:
        return full_unit(leaf, catalogue)
    cages = switch_cages(device)
    able = {speed for port in server.network.ports if port.network == "compute" for speed in (port.speed_gbps, *port.speeds_gbps)}
    return min(UNIT, max(1, count_ports(cages, max(able & speeds_of(cages), default=0)) // 2))


def full_unit(leaf: str, catalogue: Catalogue) -> int:
    """Return the servers of a unit that half a leaf's ports serve, one rail each."""
    return max(1, _count_ports(leaf, catalogue) // 2)


def place_pools(lengths: Mapping[str, int], taken: Sequence[IPv4Network]) -> dict[str, IPv4Network]:
    """Return pools of these prefix lengths that overlap nothing, each at its usual place if it can be.

    The widest is placed first: in aligned powers of two, what comes later then finds room as long as there is any.
    """
    placed: dict[str, IPv4Network] = {}
    for name in sorted(lengths, key=lambda name: lengths[name]):
        length = max(lengths[name], PRIVATE.prefixlen)
        places = (POOLS[name].supernet(new_prefix=length), *PRIVATE.subnets(new_prefix=length))
        free = (place for place in places if not any(place.overlaps(other) for other in (*taken, *placed.values())))
        found = next(free, None)
        if found is None or length > lengths[name]:
            asked = ", ".join(f"/{lengths[key]} for {key}" for key in lengths)
            raise click.UsageError(
                f"--gpus: the pools that this size needs ({asked}) are more than {PRIVATE} holds"
                + (f" beside {TENANT_POOL} for tenants" if taken else "")
                + "; ask for fewer GPUs or storage servers, or split them over two clusters"
            )
        placed[name] = found
    return placed


def _share_servers(tenants: int, choices: Choices) -> dict[str, Any]:
    """Return tenants with equal parts of the GPU servers, of those that are built and of those that are only planned.

    Each has a subnet that has room for all servers in the end. Its quota is what is built: more would never bind.
    """
    count = choices.servers
    if tenants > count:
        raise click.UsageError(f"--tenants: {tenants} tenants want a server each, and there are {count}")
    bits = max(8, (choices.final + FIRST_PLACE + 1).bit_length())  # of a host address: a server's place is its number
    if tenants << bits > TENANT_POOL.num_addresses:
        raise click.UsageError(f"--tenants: {tenants} subnets of /{32 - bits} are more than {TENANT_POOL} holds")
    subnets = TENANT_POOL.subnets(new_prefix=32 - bits)
    found = {}
    for index in range(tenants):
        parts = [_cut_part(1, count, index, tenants), _cut_part(count + 1, choices.final, index, tenants)]
        found[f"tenant-{index + 1:02d}"] = {
            "id": index + 1,
            "servers": [f"gpu-{part[0]:03d}..gpu-{part[-1]:03d}" for part in parts if part],
            "gpus": len(parts[0]) * choices.gpus_each,
            "subnets": {"front": {"id": 1, "cidr": str(next(subnets))}},
        }
    return found


def _cut_part(first: int, last: int, index: int, parts: int) -> range:
    """Return one of equal parts of the numbers `first` to `last`."""
    count = last - first + 1
    return range(first + index * count // parts, first + (index + 1) * count // parts)


def _compute_speed(server: Server) -> int:
    return max((port.speed_gbps for port in server.network.ports if port.network == "compute"), default=0)


def _can_manage(leaf: str, catalogue: Catalogue) -> bool:
    """Return whether the fabric managers' ports run at a leaf's own speed."""
    manager, switch = catalogue.server(FABRIC_MANAGER), catalogue.switch(leaf)
    own = {int(group.modes[0].partition("x")[2]) for group in switch.cages} if switch else set()
    return manager is not None and _compute_speed(manager) in own


def share_leafs(server: Server, choices: Choices, leaf: str, catalogue: Catalogue) -> int | None:
    """Return how many rails of a small, single unit share a leaf: as many as leave it two leafs without oversubscription.

    What is built now leaves cages whole; what is planned may fill both halves of them.
    """
    rails = len({port.rail for port in server.network.ports if port.network == "compute" and port.rail is not None})
    now, then = _count_ports(leaf, catalogue), _count_ports(leaf, catalogue, _compute_speed(server))
    each = 2  # links of a rail of a server, down and up
    fitting = [
        n
        for n in range(2, rails // 2 + 1)
        if rails % n == 0 and each * n * choices.servers <= now and each * n * choices.final <= then
    ]
    return max(fitting, default=None)


def _count_ports(model: str, catalogue: Catalogue, speed_gbps: int = 0) -> int:
    """Return the ports of a switch for hosts and switches: with every cage in its native mode, or in that of a speed it has."""
    switch = catalogue.switch(model)
    ports = 0
    for group in switch.cages if switch else []:
        modes = [tuple(map(int, mode.split("x"))) for mode in group.modes]
        of_speed = [count for count, speed in modes if speed == speed_gbps]
        ports += 0 if group.for_managers else group.count * max(of_speed, default=modes[0][0])
    return ports


def _choose_oob(wanted: Mapping[str, Any], racks: int, is_shared: bool, catalogue: Catalogue) -> dict[str, Any]:
    """Return the out-of-band network: a leaf per rack, per two racks in a large hall, under spines with a port for each."""
    racks_per_leaf = 2 if racks > 100 and is_shared else None
    leafs = math.ceil(racks / (racks_per_leaf or 1))
    spine = next((model for most, model in OOB_SPINES if leafs <= most), OOB_SPINES[-1][1])
    blocks = [block for model in (wanted["oob_leaf"], spine) if (block := catalogue.switch(model))]
    runs = all(block.systems is None or wanted["nos"] in block.systems.nos for block in blocks)
    return {
        "leaf": wanted["oob_leaf"],
        "spine": spine,
        "nos": _name_nos(wanted["nos"]) if runs else None,
        "racks_per_leaf": racks_per_leaf,
    }


def _name_nos(nos: str) -> str | None:
    """Return what a network says of its network operating system: nothing where it is the default."""
    return nos if nos != DEFAULT_NOS else None


def _require_model(option: str, model: str, kind: type, catalogue: Catalogue) -> None:
    device = catalogue.device(model)
    if device is None:
        near = catalogue.suggest(model)
        way_out = f"did you mean {near[0]}?" if near else "gpuyard catalogue lists all, docs/add-a-server.md adds yours"
        raise click.UsageError(f"{option}: {model} is not in the catalogue; {way_out}")
    if not isinstance(device.gpuyard, kind):
        raise click.UsageError(f"{option}: {model} is a {device.gpuyard.kind}, not a {kind.__name__.lower()}")
