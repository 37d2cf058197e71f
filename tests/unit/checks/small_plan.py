"""A small plan made by hand, with its intent and catalogue, and ways to change one thing in it.

Two GPU servers with two rails, four storage and three control servers, four networks of two leafs and two spines. Three tenants
on the business network, one of them shared, and a border with two peers; small_tenants.py has them. Nothing in it breaks a rule:
every row of the tables changes one thing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from small_tenants import BORDER, SEATS, TENANTS, make_border_peers, make_overlay, make_server_bonds, make_tenants

from cluster_model.catalogue.document import read_document
from cluster_model.catalogue.load import Catalogue, Shelf
from cluster_model.catalogue.media_types import Media
from cluster_model.catalogue.platform_types import Platform
from cluster_model.catalogue.types import DeviceType, Gpu
from cluster_model.checks.design import Design
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.source.facts_csv import FactTables
from cluster_model.plan.model import (
    Cable,
    CageMode,
    Lossless,
    Management,
    Network,
    Pdu,
    Plan,
    Rack,
    RackPower,
    Server,
    ServerPort,
    Site,
    Switch,
    SwitchPort,
)
from cluster_model.plan.services.ceph import plan_ceph

Change = Callable[[Design], Design]

INTENT: dict[str, Any] = {
    "name": "test",
    "site": {
        "domain": "test.example.net",
        "dns": ["10.255.0.53", "10.255.0.54"],
        "ntp": ["10.255.0.123", "10.255.0.124", "10.255.0.125"],
        "syslog": ["10.255.0.14"],
    },
    "racks": {
        "rows": {"A": {"id": 1, "racks": 2}, "N": {"id": 2, "racks": 3}},
        "groups": {
            "gpu": {"id": 1, "rows": ["A"], "power_kw": 40.0, "feed_kw": 30.0, "pdu": "test/pdu"},
            "network": {"id": 2, "rows": ["N"], "power_kw": 40.0, "feed_kw": 30.0},
        },
    },
    "servers": {
        "gpu": {"id": 1, "model": "test/gpu", "count": 2, "racks": "gpu"},
        "storage": {"id": 2, "model": "test/storage", "count": 4, "racks": "network"},
        "control": {"id": 3, "model": "test/control", "count": 3, "racks": "network"},
    },
    "networks": {
        "compute": {"technology": "roce", "leaf": "test/leaf", "pool": "10.64.0.0/16", "isolation": "vrf"},
        "storage": {"technology": "tcp", "leaf": "test/leaf", "pool": "10.65.0.0/16"},
        "business": {"leaf": "test/leaf", "pool": "10.68.0.0/16", "border": BORDER},
        "oob": {"leaf": "test/oob", "pool": "10.66.0.0/16"},
    },
    "tenants": TENANTS,
    "ceph": {"hosts": "storage", "fill_target": 0.5, "pools": {"data": {"replicas": 3, "share": 1.0}}},
    "kubernetes": {"control": "control", "workers": ["gpu"]},
}

SOURCE = {"source": "made up for tests"}


def _switch_block(psus: int = 2) -> dict[str, Any]:
    return {
        "kind": "switch",
        "technology": ["ethernet", "infiniband"],
        "power": {"maximum_w": 1000, "psu_count": psus, **SOURCE},
        "asic": {
            "name": "chip",
            "bandwidth_gbps": 25_600,
            "mtu_bytes": 9216,
            "buffer_mb": 100,
            "adaptive_routing_gbps": [400],
            "dynamic_load_balancing": True,
            "vxlan": {"l2": True, "l3": True, **SOURCE},
            **SOURCE,
        },
        "cages": [{"count": 64, "form_factor": "osfp", "lanes": 8, "modes": ["1x400"], **SOURCE}],
    }


def _server_block(ports: dict[str, str], **more: Any) -> dict[str, Any]:
    cages = [{"number": number, "form_factor": "osfp", "lanes": 8} for number, _ in enumerate(ports, 1)]
    rows = [
        {"name": name, "cage": cage, "speed_gbps": 400, "network": network, "nic": "test/nic"}
        for cage, (name, network) in enumerate(ports.items(), 1)
    ]
    power = {"maximum_w": 5000, "psu_count": 4, "psu_w": 3000, "psu_minimum": 2, **SOURCE}
    return {"kind": "server", "power": power, "network": {"cages": cages, "ports": rows, **SOURCE}, **more}


BUSINESS = {"b0": "business", "b1": "business"}
PORTS = {
    "gpu": {"c0": "compute", "c1": "compute", **BUSINESS},
    "storage": {"s0": "storage", "s1": "storage"},
    "control": BUSINESS,
}
GPUS = {"model": "test/chip", "count": 2, "interconnect": "pcie", **SOURCE}
BLOCKS: dict[str, dict[str, Any]] = {
    "test/leaf": _switch_block(),
    "test/oob": _switch_block(),
    "test/single": _switch_block(psus=1),
    "test/gpu": _server_block(PORTS["gpu"], gpus=GPUS),
    "test/storage": _server_block(PORTS["storage"], drives={"count": 24, "capacity_tb": 15.0, **SOURCE}),
    "test/diskless": _server_block(PORTS["storage"]),
    "test/control": _server_block({"oob": "oob", **PORTS["control"]}),
    "test/pdu": {"kind": "pdu", "capacity_w": 35_000, **SOURCE},
}
CHIP = {
    "name": "Chip",
    "vendor": "nvidia",
    "generation": "test",
    "memory_gb": 80,
    "power_max_w": 700,
    "power_min_w": 200,
    **SOURCE,
}
FEATURES = (
    *("pfc", "ecn", "pfc_watchdog", "bgp_unnumbered", "dhcp_relay", "breakout"),
    *("vxlan_evpn", "evpn_multihoming", "segment_filters", "mlag", "nat"),
    *("bfd", "ecmp", "pfc_watchdog_forward", "mgmt_vrf", "snmp", "lldp"),
    *("dynamic_load_balancing", "adaptive_routing"),
)
PLATFORM: dict[str, Any] = {
    "name": "TestOS",
    "port_native": "p{cage}",
    "port_split": "p{cage}s{sub0}",
    "mtu_bytes": 9216,
    "release": "2.0",
    "since": {"evpn_multihoming": "1.5"},
    "features": dict.fromkeys(FEATURES, True),
    "source": "made up for tests",
}


def _optic(standard: str, reach_m: float) -> dict[str, Any]:
    common = {"form_factor": "osfp", "modes": ["1x400"], "fibre": "smf", "power_w": 10, "technology": ["ethernet"], **SOURCE}
    return {"standard": standard, "reach_m": reach_m, **common}


def _copper(a: str, b: str, reach_m: float) -> dict[str, Any]:
    ends = {"a": {"form_factor": "osfp", "mode": a}, "b": {"form_factor": "osfp", "mode": b}}
    return {"kind": "dac", **ends, "reach_m": reach_m, "power_w": 0.1, "technology": ["ethernet"], **SOURCE}


MEDIA: dict[str, Any] = {
    "lengths_m": [1.0, 3.0, 30.0],
    "transceivers": {"dr4": _optic("400g-dr4", 500), "fr4": _optic("400g-fr4", 2000)},
    "cables": {
        "dac": _copper("2x400", "2x400", 5),
        "slow-dac": _copper("1x200", "1x200", 5),
        "splitter": _copper("2x400", "1x400", 5),
    },
}


def _shelf(values: dict[str, Any]) -> Shelf[Any]:
    return Shelf({name: Path(name) for name in values}, lambda path, _: values[str(path)])


def make_catalogue(
    blocks: dict[str, dict[str, Any]] | None = None, media: dict[str, Any] | None = None, **platforms: dict[str, Any]
) -> Catalogue:
    """Return the small catalogue; `blocks` replaces devices, `media` everything that joins them, `platforms` adds to testos."""
    types = {
        ref: DeviceType(manufacturer="Test", model=ref, slug=ref, gpuyard=block)
        for ref, block in {**BLOCKS, **(blocks or {})}.items()
    }
    known = {"testos": PLATFORM, **platforms}
    return Catalogue(
        devices=_shelf(types),
        gpus=_shelf({"test/chip": Gpu(**CHIP), "test/hopper": Gpu(**{**CHIP, "generation": "hopper"})}),
        nics=_shelf({}),
        platforms=_shelf({name: Platform(**value) for name, value in known.items()}),
        _media_files=(),
        _read=read_document,
        _media=[Media(**(media or MEDIA))],
    )


class _Bench:
    """Collects links; ports get addresses in the order of linking."""

    def __init__(self) -> None:
        self.ports: dict[str, list[Any]] = defaultdict(list)
        self.cables: list[Cable] = []

    def link_host(self, network: str, server: str, port: str, leaf: str, rail: int = -1) -> None:
        number = len(self.ports[leaf]) + 1
        name = f"p{number}"
        block = POOLS[network]
        third = sum(leaf.encode()) % 250
        gateway, address = f"10.{block}.{third}.{2 * number}", f"10.{block}.{third}.{2 * number + 1}"
        gateway, address, mtu = (gateway, f"{address}/31", 9000) if network != "business" else ("", "", 1500)
        mac = "02:00:00:00:00:01"
        cage = 1 + len(self.ports[server])
        own = ServerPort(
            port, network, cage, 0, rail, 1, 400, mtu, "", "", "", rail, 0, mac, "", address, gateway, "", 0, leaf, name
        )  # fmt: skip
        self.ports[server].append(own)
        own_address = f"{gateway}/31" if gateway else ""
        bond = SEATS[server] if network == "business" else 0
        to_host = SwitchPort(
            name, number, 0, 400, "host", server, port, 0, own_address, address.partition("/")[0], rail, bond=bond
        )
        self.ports[leaf].append(to_host)
        self.cables.append(
            Cable(network, "host_leaf", server, port, leaf, name, 400, 1.0, "400g-dr4", "dr4", "dr4", f"{server}:{port}")
        )

    def link_switches(self, network: str, lower: str, upper: str, asns: tuple[int, int]) -> None:
        a, b = f"p{len(self.ports[lower]) + 1}", f"p{len(self.ports[upper]) + 1}"
        self.ports[lower].append(SwitchPort(a, len(self.ports[lower]) + 1, 0, 400, "fabric", upper, b, asns[1]))
        self.ports[upper].append(SwitchPort(b, len(self.ports[upper]) + 1, 0, 400, "fabric", lower, a, asns[0]))
        self.cables.append(Cable(network, "leaf_spine", lower, a, upper, b, 400, 30.0, "400g-dr4", "dr4", "dr4", f"{lower}:{a}"))

    def plug(self, device: str, leaf: str, number: int) -> Management:
        name = f"p{len(self.ports[leaf]) + 1}"
        self.ports[leaf].append(SwitchPort(name, len(self.ports[leaf]) + 1, 0, 1, "host", device, "bmc", vlan=11))
        self.cables.append(Cable("oob", "host_leaf", device, "bmc", leaf, name, 1, 1.0, "cat6", "", "", f"{device}:bmc"))
        return Management(f"10.66.9.{number}/24", "10.66.9.1", f"02:00:00:00:00:{number:02x}", leaf, name)


ASN = 4_200_000_000
LEAFS = {
    "compute": (("A01", (0,)), ("A02", (1,))),
    "storage": (("N01", ()), ("N02", ())),
    "business": (("N01", ()), ("N02", ())),
    "oob": (("N01", ()), ("A01", ())),
}
POOLS = {"compute": 64, "storage": 65, "oob": 66, "business": 68}


def _asns(network: str) -> tuple[int, int]:
    """Return the ASN before the first leaf's, and that of the spines."""
    base = ASN + 1000 * list(LEAFS).index(network)
    return base, base + 100


def _plan() -> Plan:
    bench = _Bench()
    for number in (1, 2):
        for rail in (0, 1):
            bench.link_host("compute", f"gpu-{number:03d}", f"c{rail}", f"compute-leaf-{rail + 1:02d}", rail)
    for number in (1, 2, 3, 4):
        for side in (0, 1):
            bench.link_host("storage", f"storage-{number:03d}", f"s{side}", f"storage-leaf-{side + 1:02d}")
    for server in SEATS:
        for side in (0, 1):
            bench.link_host("business", server, f"b{side}", f"business-leaf-{side + 1:02d}")
    for network in LEAFS:
        base, spine = _asns(network)
        for leaf in (1, 2):
            for upper in (1, 2):
                bench.link_switches(network, f"{network}-leaf-{leaf:02d}", f"{network}-spine-{upper:02d}", (base + leaf, spine))
    servers = [_server(f"gpu-{n:03d}", "gpu", n, f"A{n:02d}", 1, gpus=2) for n in (1, 2)]
    servers += [
        _server(f"storage-{n:03d}", "storage", n, rack, 1 + 2 * (n > 3)) for n, rack in enumerate(("N01", "N02", "N03", "N01"), 1)
    ]
    servers += [_server(f"control-{n:03d}", "control", n, f"N{n:02d}", 10) for n in (1, 2, 3)]
    switches = [_leaf(network, index) for network in LEAFS for index in (1, 2)]
    switches += [_spine(network, index) for network in LEAFS for index in (1, 2)]
    switches += [_border(bench, index) for index in (1, 2)]
    managed = [device.name for device in (*servers, *switches) if not device.name.startswith("oob")] + ["pdu-a01-1"]
    management = {name: bench.plug(name, f"oob-leaf-{1 + number % 2:02d}", 10 + number) for number, name in enumerate(managed)}
    kinds = defaultdict(int)
    for cable in bench.cables:
        kinds[cable.network, cable.kind] += 1
    racks = tuple(_rack(name) for name in ("A01", "A02", "N01", "N02", "N03"))
    return Plan(
        name="test",
        version="0",
        digest="",
        site=Site("test.example.net", "UTC", (), (), (), ()),
        racks=racks,
        servers=tuple(
            replace(s, ports=tuple(bench.ports[s.name]), bmc=management[s.name], bonds=make_server_bonds(s.name)) for s in servers
        ),
        switches=tuple(
            replace(s, ports=tuple(bench.ports[s.name]), management=management.get(s.name), overlay=make_overlay(s))
            for s in switches
        ),
        tenants=make_tenants(),
        border_peers=make_border_peers(),
        pdus=(Pdu("pdu-a01-1", "A01", 1, "test/pdu", management["pdu-a01-1"], "S1", "racks.groups.gpu"),),
        cables=tuple(bench.cables),
        networks=tuple(_network(name, kinds[name, "host_leaf"], kinds[name, "leaf_spine"]) for name in LEAFS),
        lossless=_lossless(),
        power=tuple(RackPower(rack.name, 12_000, 0, 40_000, 2, 30_000, 6_000, 12_000, 0, 0, True, True) for rack in racks),
        bom=(),
    )


def _rack(name: str) -> Rack:
    group = "gpu" if name.startswith("A") else "network"
    pdu = "test/pdu" if group == "gpu" else ""
    return Rack(name, name[0], int(name[1:]), group, 48, 40_000, 2, 30_000, pdu, 0, 0, False, "", f"racks.groups.{group}")


def _server(name: str, group: str, number: int, rack: str, u: int, gpus: int = 0) -> Server:
    model = "test/chip" if gpus else ""
    unit = 1 if gpus else 0
    ends = (gpus, model, 5000, 0, 0, 0, f"S-{name}", f"servers.{group}")
    return Server(name, group, group, number, unit, f"test/{group}", rack, u, 2, None, (), (), *ends)


def _switch(
    name: str, network: str, role: Any, index: int, rack: str, u: int, asn: int, rails: tuple[int, ...], unit: int
) -> Switch:
    mtu = 1500 if network == "oob" else 9100
    loopback = f"10.{POOLS[network]}.255.{index + 10 * (role == 'spine') + 20 * (role == 'border')}/32"
    mode = tuple(CageMode(cage, "osfp", 1, 400, 8 * cage, 8, True) for cage in range(1, 65))
    model = "test/oob" if network == "oob" else "test/leaf"
    place = (rack, u, 1, asn, loopback, mtu, mode)
    ends = (None, 1000, 0, f"S-{name}", "", f"networks.{network}.{role}")
    return Switch(name, network, role, 1, 1, unit, index, rails, model, "testos", *place, (), (), (), (), *ends)


def _leaf(network: str, index: int) -> Switch:
    rack, rails = LEAFS[network][index - 1]
    u = 40 + list(LEAFS).index(network)
    return _switch(f"{network}-leaf-{index:02d}", network, "leaf", index, rack, u, _asns(network)[0] + index, rails, 1)


def _spine(network: str, index: int) -> Switch:
    u = 30 + list(LEAFS).index(network)
    return _switch(f"{network}-spine-{index:02d}", network, "spine", index, f"N{index:02d}", u, _asns(network)[1], (), 0)


def _border(bench: _Bench, index: int) -> Switch:
    base, spine = _asns("business")
    name = f"business-border-{index:02d}"
    for upper in (1, 2):
        bench.link_switches("business", name, f"business-spine-{upper:02d}", (base + 50 + index, spine))
    return _switch(name, "business", "border", index, f"N{index:02d}", 20, base + 50 + index, (), 2)


def _network(name: str, host_cables: int, fabric_cables: int) -> Network:
    technology = {"compute": "roce", "storage": "tcp", "oob": "ethernet", "business": "ethernet"}[name]
    mtu = (1500, 1500) if name == "oob" else (9100, 1500) if name == "business" else (9100, 9000)
    pool = INTENT["networks"][name]["pool"]
    model = "test/oob" if name == "oob" else "test/leaf"
    return Network(
        name=name,
        technology=technology,
        design={"compute": "rail-optimized", "business": "evpn"}.get(name, "leaf-spine"),
        underlay="unnumbered",
        planes=1,
        tiers=2,
        nos="testos",
        leaf_model=model,
        spine_model=model,
        core_model="",
        leafs=2,
        spines=2,
        cores=0,
        host_leaf_cables=host_cables,
        fabric_manager_cables=0,
        leaf_spine_cables=fabric_cables,
        spine_core_cables=0,
        units=1,
        planned_units=1,
        leafs_per_unit=2,
        pods=1,
        spines_per_pod=2,
        core_groups=0,
        cores_per_group=0,
        uplinks=2,
        spine_uplinks=0,
        hosts_per_leaf=2,
        host_speed_gbps=400,
        fabric_speed_gbps=400,
        mtu_bytes=mtu[0],
        host_mtu_bytes=mtu[1],
        lossless=technology == "roce",
        oversubscription=1.0,
        oversubscription_allowed=1.0,
        host_bandwidth_gbps=1600,
        leaf_spine_bandwidth_gbps=1600,
        spine_core_bandwidth_gbps=0,
        bisection_gbps=800,
        pool=pool,
        slices=(),
        where=f"networks.{name}",
        borders=2 if name == "business" else 0,
        border_model=model if name == "business" else "",
        homing="esi" if name == "business" else "",
        isolation="vrf" if name == "compute" else "",
        evpn=name in {"compute", "business"},
    )


def _lossless() -> Lossless:
    classes = [0] * 64
    classes[26], classes[48] = 3, 6
    return Lossless(
        26, 48, 3, 6, (3,), "dscp", tuple(classes), ((400, 150, 1500, 100),), True, 400, 400, "drop", 9100, 9000
    )  # fmt: skip


@cache
def small_design() -> Design:
    """Return the small design; it is frozen, so all tests share it."""
    return _make_design(_plan(), Cluster.model_validate(INTENT), make_catalogue(), FactTables())


def _make_design(plan: Plan, cluster: Cluster, catalogue: Catalogue, facts: FactTables) -> Design:
    """Return a design whose Ceph is planned from the rest, as it would be."""
    models = {server.group: catalogue.server(server.model) for server in plan.servers}
    ceph = plan_ceph(cluster, models, plan.servers, plan.racks)
    return Design(replace(plan, ceph=ceph), cluster, catalogue, facts)


# --- ways to change one thing --------------------------------------------------------------------------------------------------


def chain(*changes: Change) -> Change:
    """Return the change that makes all of `changes`, in order."""

    def change(design: Design) -> Design:
        for each in changes:
            design = each(design)
        return design

    return change


def _with(design: Design, plan: Plan | None = None, cluster: Cluster | None = None, catalogue: Catalogue | None = None) -> Design:
    return _make_design(plan or design.plan, cluster or design.cluster, catalogue or design.catalogue, design.facts)


def intent(path: str, value: Any) -> Change:
    """Return the change that sets a value of the intent."""

    def change(design: Design) -> Design:
        data = design.cluster.model_dump(mode="json", exclude_unset=True)
        node = data
        *parts, last = path.split(".")
        for part in parts:
            node = node.setdefault(part, {})
        node[last] = value
        return _with(design, cluster=Cluster.model_validate(data, strict=False))

    return change


def plan(**fields: Any) -> Change:
    """Return the change that sets fields of the plan."""
    return lambda design: _with(design, plan=replace(design.plan, **fields))


def _items(kind: str, matches: Callable[[Any], bool], edit: Callable[[Any], Any]) -> Change:
    def change(design: Design) -> Design:
        rows = tuple(edit(row) if matches(row) else row for row in getattr(design.plan, kind))
        assert rows != getattr(design.plan, kind), f"nothing in {kind} changed"
        return plan(**{kind: rows})(design)

    return change


def items(kind: str, prefix: str = "", **fields: Any) -> Change:
    """Return the change that sets fields of every item of a kind whose name begins with `prefix`."""
    key = "rack" if kind == "power" else "a" if kind == "cables" else "name"
    return _items(kind, lambda row: getattr(row, key).startswith(prefix), lambda row: replace(row, **fields))


def networks(name: str, **fields: Any) -> Change:
    """Return the change that sets fields of a network."""
    return items("networks", name, **fields)


def ports(kind: str, device: str, port: str, **fields: Any) -> Change:
    """Return the change that sets fields of a port (or of all ports that begin so) of the devices that begin so."""

    def edit(row: Any) -> Any:
        return replace(row, ports=tuple(replace(p, **fields) if p.name.startswith(port) else p for p in row.ports))

    return _items(kind, lambda row: row.name.startswith(device), edit)


def subnets(tenant: str, subnet: str, **fields: Any) -> Change:
    """Return the change that sets fields of a planned subnet."""

    def edit(row: Any) -> Any:
        return replace(row, subnets=tuple(replace(s, **fields) if s.name == subnet else s for s in row.subnets))

    return _items("tenants", lambda row: row.name == tenant, edit)


def overlays(switch: str, **fields: Any) -> Change:
    """Return the change that sets fields of the overlay of every switch whose name begins so."""

    def edit(row: Any) -> Any:
        return replace(row, overlay=replace(row.overlay, **fields))

    return _items("switches", lambda row: row.name.startswith(switch), edit)


def lossless(**fields: Any) -> Change:
    """Return the change that sets fields of the lossless profile."""
    return lambda design: plan(lossless=replace(design.plan.lossless, **fields))(design)


def hardware(ref: str, path: str, value: Any, **more: Any) -> Change:
    """Return the change that sets a value of a device's catalogue block, None deletes it, and `more` at its top."""

    def change(design: Design) -> Design:
        block = _copy(BLOCKS[ref]) | more
        node = block
        *parts, last = path.split(".")
        for part in parts:
            node = node[part]
        node[last] = value
        if value is None:
            del node[last]
        return _with(design, catalogue=make_catalogue({ref: block}))

    return change


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def platform(**fields: Any) -> Change:
    """Return the change that sets fields of the network operating system; `lacks` names features it has not."""
    lacks = fields.pop("lacks", ())
    features = {name: name not in lacks for name in PLATFORM["features"]}
    return lambda design: _with(design, catalogue=make_catalogue(testos={**PLATFORM, "features": features, **fields}))


def media(path: str, value: Any) -> Change:
    """Return the change that sets a value of the media."""

    def change(design: Design) -> Design:
        data = _copy(MEDIA)
        node = data
        *parts, last = path.split(".")
        for part in parts:
            node = node[part]
        node[last] = value
        return _with(design, catalogue=make_catalogue(media=data))

    return change


def facts(**tables: Any) -> Change:
    """Return the change that sets the fact tables."""
    return lambda design: replace(design, facts=replace(design.facts, **tables))
