"""Rows of the rules about cables, power and redundancy: CAB, PWR, RED, PLN."""

from __future__ import annotations

from dataclasses import replace

from small_plan import chain, hardware, intent, items, media, networks, plan, ports


def _split_to_two(design):
    """Make one twin cable of the two links of storage-001, whose far ends lie on two leafs."""
    cables = tuple(
        replace(c, assembly="storage-001/1", a_optic="", b_optic="", medium="dac") if c.a == "storage-001" else c
        for c in design.plan.cables
    )
    return plan(cables=cables)(design)


def _fan_out(design):
    """Join storage-001 and storage-002 to the first leaf by one splitter."""
    near = {("storage-001", "s0"), ("storage-002", "s0")}
    cables = tuple(
        replace(c, assembly="storage-leaf-01/1", a_optic="", b_optic="", medium="splitter") if (c.a, c.a_port) in near else c
        for c in design.plan.cables
    )
    return plan(cables=cables)(design)


def _copper(medium, length_m):
    return items("cables", "storage-001", medium=medium, length_m=length_m, a_optic="", b_optic="", assembly="")


def _drop_last(kind):
    return lambda design: plan(**{kind: getattr(design.plan, kind)[:-1]})(design)


def _one_port(design):
    servers = tuple(replace(s, ports=s.ports[:1]) if s.group == "storage" else s for s in design.plan.servers)
    return plan(servers=servers)(design)


def _fabric_managers(count):
    """Make InfiniBand of compute, and fabric managers of the first `count` control servers."""

    def change(design):
        port = design.plan.servers[0].ports[0]
        servers = tuple(
            replace(s, role="fabric-manager", ports=(replace(port, name="ib0", rail=-1),))
            if s.group == "control" and s.number <= count
            else s
            for s in design.plan.servers
        )
        return networks("compute", technology="infiniband")(plan(servers=servers)(design))

    return change


def _managed_planes(planes, *managed):
    """Make InfiniBand of compute with planes, and give a fabric manager a port in each of the managed ones."""

    def change(design):
        changed = chain(_fabric_managers(1), networks("compute", technology="infiniband", planes=planes))(design)
        servers = tuple(
            replace(s, ports=tuple(replace(s.ports[0], name=f"ib{plane}", plane=plane) for plane in managed))
            if s.role == "fabric-manager"
            else s
            for s in changed.plan.servers
        )
        return plan(servers=servers)(changed)

    return change


ON_N01 = chain(items("switches", "storage-leaf", rack="N01"))
SHED, CAP_ALWAYS = intent("gpu.power.on_feed_loss", "shed"), intent("gpu.power.on_feed_loss", "always-cap")
OVERLOADED = items("power", "A", load_w=45_000, fits=False)
LOST = items("power", "A", feed_lost_load_w=33_000, fits_feed_lost=False)
CAPPED = items("power", "A", feed_lost_load_w=33_000, gpu_cap_feed_lost_w=450)

FIRES = {
    "CAB002": {
        "copper": (_copper("dac", 6.0), "2 cables of storage longer than dac reaches"),
        "optics": (items("cables", "storage-leaf", length_m=501.0), "longer than 400g-dr4 reaches"),
    },
    "CAB003": {"100 Gb/s lanes": (_copper("dac", 4.0), "2 passive copper cables of storage longer than 3 m")},
    "CAB004": {"two leafs": (_split_to_two, "1 assembly of storage with more ends than dac has")},
    "CAB005": {
        "standards": (items("cables", "storage-001", b_optic="fr4"), "2 cables of storage with ends that do not meet"),
        "one end bare": (items("cables", "storage-001", b_optic=""), "do not meet"),
    },
    "PWR001": {
        "rack": (OVERLOADED, "2 racks of gpu: 45.0 kW where 40.0 kW is allowed"),
        "feed": (items("power", "A01", feed_load_w=31_000, fits=False), "rack A01: 31.0 kW where 30.0 kW"),
    },
    "PWR002": {"cap": (items("power", "A", load_w=45_000, gpu_cap_w=500), "capped at 500 W at all times")},
    "PWR003": {
        "feeds": (CAPPED, "2 racks of gpu: with a feed lost the GPUs must go down to 450 W, since the other feeds"),
        "supplies": (items("power", "A01", gpu_cap_feed_lost_w=650), "too few power supplies"),
    },
    "PWR004": {"no cap helps": (LOST, "2 racks of gpu: lost with a feed")},
    "PWR005": {"shed": (chain(SHED, LOST), "nothing caps the GPUs")},
    "PWR006": {
        "capped": (hardware("test/gpu", "power.psu_w", 2400), "2 servers of gpu keep 2 of 4 supplies, 0.2 kW short"),
        "no GPUs": (hardware("test/storage", "power.psu_w", 2000), "4 servers of storage keep 2 of 4 supplies, 1.0 kW short"),
    },
    "PWR007": {"three needed": (hardware("test/gpu", "power.psu_minimum", 3), "2 servers of gpu stop when a feed is lost")},
    "PWR008": {"small PDU": (hardware("test/pdu", "capacity_w", 29_000), "feeds of 30.0 kW on a PDU of 29.0 kW")},
    "RED001": {
        "data": (networks("compute", spines_per_pod=1), "all leafs of compute connect to a single spine"),
        "out of band": (networks("oob", spines_per_pod=1), "all leafs of oob"),
    },
    "RED002": {"storage": (ON_N01, "1 set of storage leafs")},
    "RED003": {"spines": (items("switches", "storage-spine", rack="N03"), "the storage spines stand together in N03")},
    "RED004": {"network racks": (items("racks", "N", feeds=1), "critical devices of rack group network")},
    "RED005": {"one rack": (items("servers", "control", rack="N01"), "all 3 servers of control stand in N01")},
    "RED006": {
        "switch": (items("switches", "storage-leaf", model="test/single"), "2 devices with one power supply"),
        "server": (hardware("test/storage", "power.psu_count", 1), "4 devices with one power supply"),
    },
    "RED007": {
        "storage": (ports("servers", "storage-001", "s", peer="storage-leaf-01"), "1 server of storage with all storage ports")
    },
    "RED008": {"one port": (_one_port, "4 storage servers of storage with one link")},
    "RED009": {"none": (_fabric_managers(0), "no fabric manager"), "one": (_fabric_managers(1), "one fabric manager")},
    "RED011": {
        "second plane": (_managed_planes(2, 1), "no fabric manager has a port in plane 2 of compute"),
        "two of four": (_managed_planes(4, 1, 3), "in plane 2, 4 of compute"),
    },
    "RED010": {
        "server": (items("servers", "gpu", bmc=None), "2 devices without out-of-band access"),
        "switch and PDU": (
            chain(items("switches", "compute-leaf-01", management=None), items("pdus", management=None)),
            "2 devices",
        ),
    },
    "PLN001": {
        "name": (items("servers", "gpu-002", name="gpu-001"), "name used twice"),
        "address": (items("switches", "compute-leaf", loopback="10.64.255.1/32"), "address used twice"),
        "far end": (ports("servers", "gpu-001", "c0", peer="nowhere"), "port whose far end is unknown"),
        "other end": (ports("servers", "gpu-001", "c0", peer_port="p2"), "ends that do not name each other"),
        "speed": (ports("servers", "gpu-001", "c0", speed_gbps=200), "ends with different speeds"),
        "ASN": (items("switches", "compute-leaf-01", asn=4_200_000_099), "neighbour with another AS number"),
        "twice": (ports("servers", "gpu-001", "c", name="c0"), "port cabled twice"),
        "cable": (items("cables", "gpu-001", b_port="p99"), "cable without its ports"),
        "cable speed": (items("cables", "gpu-001", speed_gbps=100), "cable of another speed"),
        "rack": (items("servers", "gpu-001", rack="Z99"), "device outside the racks"),
        "unit": (items("servers", "gpu-002", rack="A01"), "rack unit filled twice"),
        "switch count": (networks("compute", leafs=3), "switches that are not counted"),
        "cable count": (_drop_last("cables"), "cables that are not counted"),
        "management": (items("servers", "gpu-001", bmc=None), "port whose far end is unknown"),
    },
}

SILENT = {
    "CAB002": {"at its reach": items("cables", "storage-leaf", length_m=500.0), "unknown": _copper("own-cable", 900.0)},
    "CAB003": {
        "3 m": _copper("dac", 3.0),
        "25 Gb/s lanes": _copper("slow-dac", 5.0),
        "active": chain(media("cables.dac.power_w", 1.5), _copper("dac", 4.0)),
    },
    "CAB004": {
        "splitter": chain(ports("switches", "storage-leaf-01", "p", cage=1), _fan_out),
        "own assemblies": _copper("dac", 3.0),
    },
    "CAB005": {"same standard": items("cables", "storage-001", a_optic="fr4", b_optic="fr4")},
    "PWR001": {"full": items("power", "A", load_w=40_000)},
    "PWR002": {"meant": chain(CAP_ALWAYS, items("power", "A", gpu_cap_w=500))},
    "PWR003": {"shed": chain(SHED, CAPPED), "single feed": chain(items("racks", "A", feeds=1), CAPPED)},
    "PWR004": {"shed": chain(SHED, LOST), "single feed": chain(items("racks", "A", feeds=1), LOST)},
    "PWR005": {"within the feed": SHED, "capped": LOST},
    "PWR006": {
        "planned cap": chain(hardware("test/gpu", "power.psu_w", 2400), items("servers", "gpu", gpu_cap_feed_lost_w=600)),
        "one carries all": hardware("test/storage", "power.psu_w", None),
        "three feeds": chain(items("racks", "", feeds=3), hardware("test/storage", "power.psu_w", 2500)),
    },
    "PWR007": {"three feeds": chain(items("racks", "", feeds=3), hardware("test/gpu", "power.psu_minimum", 2))},
    "PWR008": {"just enough": hardware("test/pdu", "capacity_w", 30_000)},
    "RED001": {
        "one leaf": networks("compute", spines_per_pod=1, leafs=1),
        "no spines": networks("oob", tiers=1, spines_per_pod=0),
    },
    "RED002": {
        "other units": chain(ON_N01, items("switches", "storage-leaf-02", unit=2)),
        "out of band": items("switches", "oob-leaf", rack="N01"),
    },
    "RED003": {"other pods": chain(items("switches", "storage-spine", rack="N03"), items("switches", "storage-spine-02", pod=2))},
    "RED004": {"GPU servers": chain(items("switches", "", rack="N03"), items("racks", "A", feeds=1))},
    "RED005": {"two racks": items("servers", "control-003", rack="N01")},
    "RED006": {"single feed": chain(items("racks", "", feeds=1), items("switches", "storage-leaf", model="test/single"))},
    "RED007": {"compute": ports("servers", "gpu-001", "c", peer="compute-leaf-01")},
    "RED008": {"control": items("servers", "control", role="storage")},
    "RED009": {"two": _fabric_managers(2), "RoCE": networks("compute", design="leaf-spine")},
    "RED011": {"each plane": _managed_planes(2, 1, 2), "one plane": _fabric_managers(2), "nobody: RED009": _fabric_managers(0)},
    "RED010": {"no BMC": chain(hardware("test/gpu", "bmc", False), items("servers", "gpu", bmc=None))},
    "PLN001": {"other cable": items("cables", "gpu-001", length_m=3.0)},
}
