"""Rows of the rules about the floor, what servers are for, lists, subnets and markings."""

from __future__ import annotations

from rows_provisioning import _install
from small_plan import chain, facts, intent, items, lossless, networks

from cluster_model.intent.source.facts_csv import ServerFacts

RACKS = "racks.groups.gpu"
EXCEPTION = "racks.exceptions"
NVME = "networks.storage.nvme_of"
FRONT = "tenants.blue.subnets.front"
DHCP = {"first": "10.48.2.64", "last": "10.48.2.250"}


def _cidr(value):
    return intent("tenants.red.subnets.train.cidr", value)


def _serials(*serials):
    rows = {f"gpu-{number:03d}": ServerFacts(serial=serial, line=number + 1) for number, serial in enumerate(serials, 1)}
    return facts(servers=rows, files={"servers": "servers.csv"})


def _mark(speed_gbps, min_kb, max_kb):
    said = intent("lossless.ecn", {speed_gbps: {"min_kb": min_kb, "max_kb": max_kb}})
    return chain(said, lossless(ecn=((speed_gbps, min_kb, max_kb, 100),)))


FIRES = {
    "PWR009": {
        "group": (items("racks", "A", power_w=70_000), "2 racks may draw 70 kW, and 2 feeds bring 60 kW"),
    },
    "PWR010": {"watts": (items("racks", "A", feed_w=400_000), "one feed of A01 carries 10 times what the rack may draw")},
    "PLC005": {
        "nothing": (
            intent(EXCEPTION, {"A01": {"reason": "pillar"}}),
            "rack A01 is listed as an exception (pillar), but does not differ from its group",
        ),
        "the same": (intent(EXCEPTION, {"A01": {"reason": "weak breaker", "power_kw": 40.0}}), "does not differ from its group"),
    },
    "CAB006": {
        "none": (intent("racks.geometry", {"slack_m": 0.0}), "with 0 m of slack"),
        "coils": (intent("racks.geometry", {"slack_m": 20.0}), "with 20 m of slack"),
    },
    "HWR004": {
        "storage model": (items("servers", "gpu", model="test/storage"), "gpu are GPU servers, and test/storage has no GPU")
    },
    "HWR005": {"control": (items("servers", "control", model="test/gpu"), "test/gpu has GPUs, and control are control servers")},
    "HWR006": {
        "other group": (items("servers", "control", role="storage"), "control are storage servers, and test/control has no")
    },
    "STO002": {"given away": (items("servers", "gpu", model="test/storage"), "gpu have no port on the storage network")},
    "STO003": {"one port": (intent(NVME, {"targets": ["storage"], "port": 8009}), "both listen on 8009")},
    "STO004": {"ssh": (intent(NVME, {"targets": ["storage"], "port": 22}), "22 is a port of another service")},
    "STO005": {"control": (intent(NVME, {"targets": ["control"]}), "control (test/control) has no drives to export")},
    "RED013": {"gateway": (items("servers", "control-001", role="gateway"), "control-001 is the only gateway server")},
    "LST001": {
        "resolver": (intent("site.dns", ["10.255.0.53", "10.255.0.53"]), "10.255.0.53 is listed twice"),
        "worker": (intent("kubernetes.workers", ["gpu", "gpu"]), "gpu is listed twice"),
        "filter": (
            intent("networks.business.border.peers.depots.announce", [{"prefix": "10.48.2.0/24"}, {"prefix": "10.48.2.0/24"}]),
            "10.48.2.0/24 is listed twice",
        ),
    },
    "SUB011": {"public": (_cidr("8.8.8.0/24"), "red's train is public address space")},
    "SUB012": {"docker": (_cidr("172.17.0.0/24"), "red's train overlaps 172.17.0.0/16")},
    "SUB013": {"/11": (_cidr("10.32.0.0/11"), "red's train is one broadcast domain of 2097152 addresses")},
    "SUB014": {
        "one for two": (
            chain(
                intent(f"{FRONT}.servers", ["gpu"]),
                intent(f"{FRONT}.pool", {"first": "10.48.2.64", "last": "10.48.2.64"}),
            ),
            "the pool of blue's front has 1 address for 2 servers",
        )
    },
    "SUB015": {"one": (intent(f"{FRONT}.dhcp_servers", ["10.48.0.16"]), "10.48.0.16 alone answers DHCP for blue's front")},
    "SUB016": {"nobody": (intent(f"{FRONT}.dhcp_servers", ["10.48.0.16", "10.48.0.99"]), "no planned server has 10.48.0.99")},
    "ROC020": {
        "cs6": (intent("lossless.data_dscp", 48), "DSCP 48 is for routing and control"),
        "voice": (intent("lossless.data_dscp", 46), "DSCP 46 is voice"),
    },
    "ROC021": {"zero": (intent("lossless.cnp_priority", 0), "CNPs share priority 0")},
    "ROC022": {
        "7": (intent("lossless.ecn", {7: {"min_kb": 150, "max_kb": 1500}}), "no port of a lossless network runs at 7 Gb/s")
    },
    "ROC023": {
        "one": (_mark(400, 1, 2), "marking of a port of 400 Gb/s begins at 1 kB"),
        "less than ten frames": (_mark(400, 90, 900), "begins at 90 kB"),
        "for every speed": (
            chain(intent("lossless.marking", {"min_us": 0.1}), lossless(ecn=((400, 5, 6000, 100),))),
            "marking of a port of 400 Gb/s begins at 5 kB",
        ),
    },
    "ROC024": {"late": (intent("lossless.watchdog", {"detect_ms": 5000}), "may last 5000 ms")},
    "PLC006": {"sixty": (intent("servers.gpu.per_rack", 60), "60 servers of 2 U do not fit into 48 U")},
    "PRV028": {"one": (_install(system_count=1), "the system of control lies on one disk")},
    "NET037": {
        "pool": (
            intent("networks.compute", {"technology": "infiniband", "leaf": "test/leaf", "pool": "10.64.0.0/16", "nos": "sonic"}),
            "pool, nos of compute do nothing on InfiniBand",
        ),
        "release": (
            intent("networks.compute", {"technology": "infiniband", "leaf": "test/leaf", "release": "2.0"}),
            "release of compute does nothing on InfiniBand",
        ),
    },
    "FCT102": {"oem": (_serials("To be filled by O.E.M.", "0000000"), "2 servers have a serial number that a maker left blank")},
}

SILENT = {
    "PWR009": {"just": items("racks", "A", power_w=60_000)},
    "PWR010": {"three times": items("racks", "A", feed_w=120_000)},
    "PLC005": {
        "blocked": intent(EXCEPTION, {"A01": {"reason": "pillar", "blocked": True}}),
        "own limit": intent(EXCEPTION, {"A01": {"reason": "weak breaker", "power_kw": 20.0}}),
    },
    "CAB006": {"usual": intent("racks.geometry", {"slack_m": 2.0})},
    "HWR004": {"other role": items("servers", "gpu", model="test/storage", role="storage")},
    "HWR005": {"gpu": items("servers", "control", model="test/gpu", role="gpu")},
    "HWR006": {"CEP008's": items("servers", "storage", model="test/diskless")},
    "STO002": {"no network": chain(items("servers", "gpu", model="test/storage"), intent("networks.storage", None))},
    "STO003": {"two": intent(NVME, {"targets": ["storage"]})},
    "STO004": {"4420": intent(NVME, {"targets": ["storage"]})},
    "STO005": {"drives": intent(NVME, {"targets": ["storage"]})},
    "RED013": {"three": items("servers", "control", role="gateway")},
    "LST001": {
        "INT012's": intent("racks.groups.gpu.rows", ["A", "A"]),
        "equal phases": intent("servers.gpu.planned", [64, 64]),
        "equal phases of a row": intent("racks.rows.A.racks", [0, 10, 0, 10]),
        "ROC001's": intent("lossless.pfc_priorities", [3, 3]),
    },
    "SUB011": {"SUB010's": _cidr("224.0.1.0/24")},
    "SUB012": {"beside": _cidr("172.18.0.0/24")},
    "SUB013": {"/16": _cidr("10.32.0.0/16")},
    "SUB014": {"enough": intent(f"{FRONT}.servers", ["gpu"])},
    "SUB015": {"two": intent(f"{FRONT}.dhcp_servers", ["10.48.0.16", "10.48.0.17"])},
    "SUB016": {"both": intent(f"{FRONT}.dhcp_servers", ["10.48.0.16", "10.48.0.17"])},
    "ROC020": {"cs5": intent("lossless.data_dscp", 40)},
    "ROC021": {"five": intent("lossless.cnp_priority", 5)},
    "ROC022": {
        "400": intent("lossless.ecn", {400: {"min_kb": 150, "max_kb": 1500}}),
        "no roce": networks("compute", lossless=False),
    },
    "ROC023": {"ten frames": _mark(400, 91, 900), "speed of no port": lossless(ecn=((25, 1, 2, 100),))},
    "ROC024": {"a second": intent("lossless.watchdog", {"detect_ms": 1000})},
    "PLC006": {"fits": intent("servers.gpu.per_rack", 24)},
    "PRV028": {"two": _install()},
    "NET037": {"plain": intent("networks.compute", {"technology": "infiniband", "leaf": "test/leaf"})},
    "FCT102": {"real": _serials("S123", "S124")},
}
