"""Every buffer table that a SONiC switch gets, against what the image's own templates give that SKU.

YANG cannot tell a pool without a size from one with a size: both are valid, and the first is halved by swss.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from cluster_model.catalogue.types import SonicBuffers, SonicSupport
from cluster_model.intent.model.cluster import Cluster
from cluster_model.plan.build import build_plan
from cluster_model.plan.model import Plan
from cluster_model.render.switch.sonic_qos import tabulate_buffers, tabulate_cables
from tests.contract import sonic_upstream
from tests.unit.render.switch import factory

Config = dict[str, dict[str, Any]]
Rows = set[tuple[str, str, str, str]]

DIFFERENCES = {
    "priority 4 is lossy": "PFC runs on the plan's priorities only; the image reserves headroom for 3 and 4 whether used or not",
    "priority is the plan's": "where the intent moves RoCE to another priority, its group and queue move along",
    "queue 7 has a buffer": "the image gives queue 7 none, since its maps send nothing there; nor do ours, so it takes nothing",
    "cables have their length": "the image takes 5 m for all ports that no minigraph describes; the plan knows each cable",
}


def _flatten(config: Config) -> Rows:
    """Return (table, key, field, value), with queue spans such as `0-2` taken apart."""
    rows: Rows = set()
    for table in sonic_upstream.list_tables("ACS-SN5600", []):
        for key, row in config.get(table, {}).items():
            port, _, span = key.partition("|")
            first, _, last = span.partition("-")
            keys = [f"{port}|{number}" for number in range(int(first), int(last or first) + 1)] if span else [key]
            rows |= {(table, each, field, str(value)) for each in keys for field, value in row.items()}
    return rows


def _explain(row: tuple[str, str, str, str], plan: Plan) -> str:
    """Return which of DIFFERENCES a row that only one side has belongs to; empty where none."""
    table, key, _, value = row
    number = key.partition("|")[2]
    moved = {str(priority) for priority in plan.lossless.pfc_priorities} ^ {"3"}
    if table == "CABLE_LENGTH":
        return "cables have their length"
    if table not in {"BUFFER_PG", "BUFFER_QUEUE"}:
        return ""
    if moved and number in moved:
        return "priority is the plan's"
    if number == "4":
        return "priority 4 is lossy"
    return "queue 7 has a buffer" if (table, number, value) == ("BUFFER_QUEUE", "7", "q_lossy_profile") else ""


def _lossless_switches() -> list[tuple[str, str]]:
    found: dict[tuple[object, ...], tuple[str, str]] = {}
    for cluster in factory.CLUSTERS:
        plan = factory.plan(cluster)
        lossless = {network.name for network in plan.networks if network.lossless}
        for switch in plan.switches:
            if switch.nos == "sonic" and switch.network in lossless:
                found.setdefault((cluster, switch.model, switch.role), (cluster, switch.name))
    return list(found.values())


def _differ(config: Config, plan: Plan) -> tuple[set[str], Rows]:
    """Return which accepted differences occur, and the rows that none of them explains."""
    hwsku = config["DEVICE_METADATA"]["localhost"]["hwsku"]
    rows = _flatten(config) ^ _flatten(sonic_upstream.list_tables(hwsku, list(config["PORT"])))
    named = {row: _explain(row, plan) for row in rows}
    return {name for name in named.values() if name}, {row for row, name in named.items() if not name}


def _config(cluster: str, switch: str) -> Config:
    config: Config = json.loads(factory.file(cluster, switch, "config_db.json"))
    return config


@pytest.mark.parametrize(("cluster", "switch"), _lossless_switches())
def test_buffers_are_the_images_own(cluster: str, switch: str) -> None:
    config, plan = _config(cluster, switch), factory.plan(cluster)
    assert _differ(config, plan)[1] == set()
    metadata = config["DEVICE_METADATA"]["localhost"]
    assert (metadata["buffer_model"], metadata["create_only_config_db_buffers"]) == ("dynamic", "true")
    lengths = {key: int(row.removesuffix("m")) for key, row in config["CABLE_LENGTH"]["AZURE"].items()}
    assert set(lengths) == set(config["PORT"])
    assert min(lengths.values()) >= 1


def test_every_difference_is_met_somewhere() -> None:
    met: set[str] = set()
    for cluster, switch in _lossless_switches():
        met |= _differ(_config(cluster, switch), factory.plan(cluster))[0]
    assert met == set(DIFFERENCES)


@pytest.mark.parametrize("hwsku", sonic_upstream.EGRESS_LOSSLESS_BYTES)
def test_the_catalogue_has_upstreams_size(hwsku: str) -> None:
    models = [factory.catalogue().switch(ref) for ref in factory.catalogue().devices]
    of_sku = [model.sonic for model in models if model and model.sonic and model.sonic.hwsku == hwsku]
    assert len(of_sku) == 1
    assert of_sku[0].buffers
    size = of_sku[0].buffers.pools["egress_lossless_pool"]["size"]
    assert str(size) == sonic_upstream.EGRESS_LOSSLESS_BYTES[hwsku]


def test_every_spectrum_in_the_catalogue_is_compared() -> None:
    models = [factory.catalogue().switch(ref) for ref in factory.catalogue().devices]
    spectrum = {m.sonic.hwsku for m in models if m and m.sonic and m.sonic.asic == "mellanox"}
    assert spectrum == set(sonic_upstream.EGRESS_LOSSLESS_BYTES)


def _drop(table: str, key: str, field: str) -> Callable[[Config], object]:
    return lambda config: config[table][key].pop(field)


def _set(table: str, key: str, field: str, value: str) -> Callable[[Config], object]:
    return lambda config: config[table].setdefault(key, {}).update({field: value})


MISTAKES: dict[str, Callable[[Config], object]] = {
    "pool without its size": _drop("BUFFER_POOL", "egress_lossless_pool", "size"),
    "pool of half the size": _set("BUFFER_POOL", "egress_lossless_pool", "size", "79114752"),
    "computed pool with a size": _set("BUFFER_POOL", "ingress_lossless_pool", "size", "67737959"),
    "pool that is not dynamic": _set("BUFFER_POOL", "egress_lossy_pool", "mode", "static"),
    "greedier lossy profile": _set("BUFFER_PROFILE", "ingress_lossy_profile", "dynamic_th", "7"),
    "lossless group with a fixed profile": _set("BUFFER_PG", "Ethernet0|3", "profile", "ingress_lossy_profile"),
    "group that takes headroom for nobody": _set("BUFFER_PG", "Ethernet0|5", "profile", "NULL"),
    "lossless queue that drops": _set("BUFFER_QUEUE", "Ethernet0|3", "profile", "q_lossy_profile"),
    "port without profiles": lambda config: config["BUFFER_PORT_EGRESS_PROFILE_LIST"].pop("Ethernet0"),
    "another alpha": _set("DEFAULT_LOSSLESS_BUFFER_PARAMETER", "AZURE", "default_dynamic_th", "-3"),
    "another packet size": _set("LOSSLESS_TRAFFIC_PATTERN", "AZURE", "mtu", "4096"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_comparison_sees(name: str) -> None:
    config = _config("lab", "compute-leaf-u01-01")
    MISTAKES[name](config)
    assert _differ(config, factory.plan("lab"))[1] != set(), name


# arista/x86_64-arista_7050cx3_32s, Arista-7050CX3-32S-D48C8, buffers_defaults_t0.j2 (Trident 3), and lengths as its
# pg_profile_lookup.ini has them.
TRIDENT3 = SonicSupport(
    hwsku="Arista-7050CX3-32S-D48C8",
    platform="x86_64-arista_7050cx3_32s",
    asic="broadcom",
    source="sonic-buildimage, device/arista",
    buffers=SonicBuffers(
        pools={
            "ingress_lossless_pool": {"size": 32689152, "type": "ingress", "mode": "dynamic", "xoff": 2058240},
            "egress_lossy_pool": {"size": 24192256, "type": "egress", "mode": "dynamic"},
            "egress_lossless_pool": {"size": 32340992, "type": "egress", "mode": "static"},
        },
        profiles={
            "ingress_lossy_profile": {"pool": "ingress_lossless_pool", "size": 0, "static_th": 32689152},
            "egress_lossless_profile": {"pool": "egress_lossless_pool", "size": 0, "static_th": 32340992},
            "egress_lossy_profile": {"pool": "egress_lossy_pool", "size": 1792, "dynamic_th": 3},
        },
        cable_lengths_m=[5, 40, 300],
        source="sonic-buildimage, device/arista",
    ),
)


def test_a_broadcom_switch_has_its_skus_tables() -> None:
    lossless = factory.plan("lab").lossless
    config = tabulate_buffers(["Ethernet0"], lossless, TRIDENT3)
    assert config["BUFFER_POOL"]["ingress_lossless_pool"] == {
        "size": "32689152",
        "type": "ingress",
        "mode": "dynamic",
        "xoff": "2058240",
    }
    assert set(config) == {"BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG", "BUFFER_QUEUE"}
    # The lossless group is buffermgrd's to make, from pg_profile_lookup.ini.
    assert config["BUFFER_PG"] == {"Ethernet0|0": {"profile": "ingress_lossy_profile"}}
    assert config["BUFFER_QUEUE"] == {
        "Ethernet0|0-2": {"profile": "egress_lossy_profile"},
        "Ethernet0|3": {"profile": "egress_lossless_profile"},
        "Ethernet0|4-7": {"profile": "egress_lossy_profile"},
    }
    for row in (row for table in ("BUFFER_PG", "BUFFER_QUEUE") for row in config[table].values()):
        assert row["profile"] in config["BUFFER_PROFILE"]
    for row in config["BUFFER_PROFILE"].values():
        assert row["pool"] in config["BUFFER_POOL"]


def test_cable_lengths_are_those_that_the_sku_looks_up() -> None:
    lengths = {"Ethernet0": 3, "Ethernet4": 5, "Ethernet8": 6, "Ethernet12": 41, "Ethernet16": 900}
    rows = tabulate_cables(lengths, TRIDENT3)["CABLE_LENGTH"]["AZURE"]
    assert list(rows.values()) == ["5m", "5m", "40m", "300m", "300m"]
    spectrum = TRIDENT3.model_copy(update={"asic": "mellanox", "buffers": SonicBuffers(pools={}, source="made up")})
    assert list(tabulate_cables(lengths, spectrum)["CABLE_LENGTH"]["AZURE"].values()) == ["3m", "5m", "6m", "41m", "900m"]


def test_no_tables_are_written_for_a_switch_without_sizes() -> None:
    lossless = dataclasses.replace(factory.plan("lab").lossless)
    with pytest.raises(ValueError, match=r"Arista-7050CX3-32S-D48C8 has no `sonic\.buffers:`"):
        tabulate_buffers(["Ethernet0"], lossless, TRIDENT3.model_copy(update={"buffers": None}))


def _switch_of(hwsku: str) -> tuple[Config, SonicSupport]:
    """Return config_db.json of a compute leaf of that SKU, in an example that is otherwise the lab."""
    models = {ref: factory.catalogue().switch(ref) for ref in factory.catalogue().devices}
    ref, model = next((ref, model) for ref, model in models.items() if model and model.sonic and model.sonic.hwsku == hwsku)
    data = yaml.safe_load((factory.ROOT / "inventory/lab/cluster.yml").read_text("utf-8"))
    data["networks"]["compute"] |= {"leaf": ref, "fabric_speed_gbps": 400}
    planned, findings = build_plan(Cluster.model_validate(data), factory.catalogue())
    assert planned is not None, findings
    assert model
    assert model.sonic
    return json.loads(factory.settled(planned)["switches/compute-leaf-u01-01/config_db.json"]), model.sonic


@pytest.mark.parametrize("hwsku", sonic_upstream.BROADCOM)
def test_a_broadcom_switch_of_the_catalogue_has_the_images_tables(hwsku: str) -> None:
    upstream = sonic_upstream.BROADCOM[hwsku]
    config, support = _switch_of(hwsku)
    for table in ("BUFFER_POOL", "BUFFER_PROFILE"):
        assert config[table] == upstream[table]
    assert support.buffers
    assert support.buffers.cable_lengths_m == upstream["lengths"]
    assert set(config["CABLE_LENGTH"]["AZURE"].values()) <= {f"{length}m" for length in upstream["lengths"]}
    rows = config["PORT"]
    assert len({lane for row in rows.values() for lane in row["lanes"].split(",")}) == sum(
        len(row["lanes"].split(",")) for row in rows.values()
    )
    for name, lanes, alias in (*upstream["first ports"], upstream["last port"]):
        own = rows[name]
        assert lanes.startswith(own["lanes"])
        assert own["alias"].startswith(alias)
    assert set(config["BUFFER_PG"]) == {f"{name}|0" for name in rows}, "the lossless groups are buffermgrd's to make"


def test_every_broadcom_switch_in_the_catalogue_is_compared() -> None:
    models = [factory.catalogue().switch(ref) for ref in factory.catalogue().devices]
    assert {m.sonic.hwsku for m in models if m and m.sonic and m.sonic.asic == "broadcom"} == set(sonic_upstream.BROADCOM)
