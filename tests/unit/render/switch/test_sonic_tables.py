"""What a SONiC switch is told, against the plan it comes from."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from cluster_model.plan.model import Plan
from cluster_model.render.switch.scene import Scene
from cluster_model.render.switch.sonic import build_config_db
from cluster_model.render.switch.sonic_qos import _spans
from tests.unit.render.switch import factory

LOSSLESS = [("lab", "compute-leaf-u01-01"), ("turned", "compute-leaf-u01-01"), ("superpod-roce", "storage-spine-01")]


def _config(cluster: str, switch: str) -> dict[str, Any]:
    return json.loads(factory.file(cluster, switch, "config_db.json"))


def _with_lossless(plan: Plan, **changes: object) -> Plan:
    return dataclasses.replace(plan, lossless=dataclasses.replace(plan.lossless, **changes))


def test_ports_tile_the_lanes() -> None:
    switch = factory.plan("lab").switch("compute-leaf-u01-01")
    rows = _config("lab", switch.name)["PORT"]
    lanes = [int(lane) for row in rows.values() for lane in row["lanes"].split(",")]
    assert sorted(lanes) == list(range(sum(mode.lanes for mode in switch.modes)))
    assert len({row["alias"] for row in rows.values()}) == len(rows)
    for mode in switch.modes:
        of_cage = [row for row in rows.values() if row["index"] == str(mode.cage)]
        assert len(of_cage) == mode.count
        assert {row["speed"] for row in of_cage} == {str(mode.speed_gbps * 1000)}
        assert sorted(row["subport"] for row in of_cage) == (
            [str(sub + 1) for sub in range(mode.count)] if mode.count > 1 else ["0"]
        )


def test_lanes_are_the_hardwares_where_names_differ() -> None:
    """SN2201: Ethernet1 is lane 4, and Ethernet48 begins at lane 192 (its port_config.ini)."""
    rows = _config("superpod-roce", "oob-leaf-a01")["PORT"]
    assert (rows["Ethernet1"]["lanes"], rows["Ethernet48"]["lanes"]) == ("4", "192,193,194,195")


def test_only_cabled_ports_are_up() -> None:
    switch = factory.plan("lab").switch("compute-leaf-u01-01")
    rows = _config("lab", switch.name)["PORT"]
    cabled = {port.name: f"{port.peer}:{port.peer_port}" for port in switch.ports}
    assert {name: row["description"] for name, row in rows.items() if row["admin_status"] == "up"} == cabled
    assert not [name for name, row in rows.items() if name not in cabled and "description" in row]


def test_fast_ports_have_fec_and_copper_ports_negotiate() -> None:
    assert {row["fec"] for row in _config("lab", "compute-leaf-u01-01")["PORT"].values()} == {"rs"}
    oob = _config("superpod-roce", "oob-leaf-a01")["PORT"]
    assert all(row.get("autoneg") == "on" and "fec" not in row for row in oob.values() if row["speed"] == "1000")
    assert {row["fec"] for row in oob.values() if row["speed"] == "100000"} == {"rs"}


@pytest.mark.parametrize(("planned", "rendered"), [("none", "none"), ("fc", "fc"), ("rs-528", "rs"), ("", "rs")])
def test_a_cabled_port_has_the_error_correction_of_its_cable(planned: str, rendered: str) -> None:
    plan, name = factory.plan("lab"), "compute-leaf-u01-01"
    mine = next(cable for cable in plan.cables if cable.b == name)
    cables = tuple(dataclasses.replace(cable, fec=planned) if cable is mine else cable for cable in plan.cables)
    config = build_config_db(Scene(dataclasses.replace(plan, cables=cables), factory.catalogue()), plan.switch(name))
    assert config["PORT"][mine.b_port]["fec"] == rendered
    assert {row["fec"] for port, row in config["PORT"].items() if port != mine.b_port} == {"rs"}


@pytest.mark.parametrize(("cluster", "name"), LOSSLESS)
def test_the_lossless_profile_is_the_plans(cluster: str, name: str) -> None:
    plan, config = factory.plan(cluster), _config(cluster, name)
    lossless, switch = plan.lossless, plan.switch(name)
    priority = str(lossless.priority)
    dscp = config["DSCP_TO_TC_MAP"]["ROCE"]
    assert [int(dscp[str(number)]) for number in range(64)] == list(lossless.dscp_to_tc)
    assert dscp[str(lossless.data_dscp)] == priority
    assert dscp[str(lossless.cnp_dscp)] == str(lossless.cnp_priority)
    groups = config["TC_TO_PRIORITY_GROUP_MAP"]["ROCE"]
    assert {tc for tc, group in groups.items() if group != "0"} == {priority}
    for port in switch.ports:
        row = config["PORT_QOS_MAP"][port.name]
        assert row["pfc_enable"] == row["pfcwd_sw_enable"] == priority
        queues = {queue: config["QUEUE"][f"{port.name}|{queue}"] for queue in range(8)}
        marked = {queue for queue, row in queues.items() if "wred_profile" in row}
        assert marked == {lossless.priority}
        assert {queue for queue, row in queues.items() if row["scheduler"] == "scheduler.cnp"} == {lossless.cnp_priority}
        profile = config["WRED_PROFILE"][queues[lossless.priority]["wred_profile"]]
        _, min_kb, max_kb, percent = next(row for row in lossless.ecn if row[0] == port.speed_gbps)
        assert profile["green_min_threshold"] == str(min_kb * 1000)
        assert profile["green_max_threshold"] == str(max_kb * 1000)
        assert profile["green_drop_probability"] == str(percent)
        assert config["BUFFER_PG"][f"{port.name}|{priority}"] == {"profile": "NULL"}
    assert config["PFC_WD"]["Ethernet0"]["detection_time"] == str(lossless.watchdog_detect_ms)


def test_cable_lengths_are_whole_metres_and_never_short() -> None:
    plan = factory.plan("lab")
    config = _config("lab", "compute-leaf-u01-01")
    lengths = config["CABLE_LENGTH"]["AZURE"]
    assert set(lengths) == set(config["PORT"])
    for cable in plan.cables:
        for device, port in ((cable.a, cable.a_port), (cable.b, cable.b_port)):
            if device == "compute-leaf-u01-01" and port in lengths:
                assert cable.length_m <= int(lengths[port].removesuffix("m")) < cable.length_m + 1


def test_watchdog_off_leaves_no_trace() -> None:
    plan = _with_lossless(factory.plan("lab"), watchdog=False)
    config = build_config_db(Scene(plan, factory.catalogue()), plan.switch("compute-leaf-u01-01"))
    assert "PFC_WD" not in config
    assert not [row for row in config["PORT_QOS_MAP"].values() if "pfcwd_sw_enable" in row]


def test_a_speed_without_thresholds_is_refused() -> None:
    plan = _with_lossless(factory.plan("lab"), ecn=())
    with pytest.raises(ValueError, match="no ECN thresholds for 400 Gb/s"):
        build_config_db(Scene(plan, factory.catalogue()), plan.switch("compute-leaf-u01-01"))


def test_hardware_that_sonic_does_not_know_is_refused() -> None:
    plan = factory.plan("lab")
    switch = dataclasses.replace(plan.switch("compute-leaf-u01-01"), model="generic/linux-32x100g")
    with pytest.raises(ValueError, match=r"generic/linux-32x100g has no `sonic:` block"):
        build_config_db(Scene(plan, factory.catalogue()), switch)


@pytest.mark.parametrize(
    ("priorities", "spans"),
    [
        ((3,), [("0-2", False), ("3", True), ("4-7", False)]),
        ((0,), [("0", True), ("1-7", False)]),
        ((7,), [("0-6", False), ("7", True)]),
        ((3, 4), [("0-2", False), ("3-4", True), ("5-7", False)]),
    ],
)
def test_queues_fall_into_spans(priorities: tuple[int, ...], spans: list[tuple[str, bool]]) -> None:
    lossless = dataclasses.replace(factory.plan("lab").lossless, pfc_priorities=priorities)
    assert list(_spans(lossless)) == spans


def test_a_lossy_network_has_no_qos() -> None:
    config = _config("superpod-roce", "oob-leaf-a01")
    assert not [table for table in config if table.startswith(("BUFFER", "PFC", "WRED", "DSCP", "QUEUE", "SCHEDULER"))]
    assert config["DEVICE_METADATA"]["localhost"]["buffer_model"] == "traditional"


def test_out_of_band_leafs_switch_and_relay() -> None:
    switch = factory.plan("superpod-roce").switch("oob-leaf-a01")
    config = _config("superpod-roce", switch.name)
    members = set(config["VLAN_MEMBER"])
    assert members == {f"Vlan{port.vlan}|{port.name}" for port in switch.ports if port.vlan}
    assert not {key.split("|")[1] for key in members} & {key.split("|")[0] for key in config["INTERFACE"]}
    for vlan in switch.vlans:
        assert config["VLAN"][f"Vlan{vlan.id}"]["dhcp_servers"] == list(vlan.dhcp_servers)
    # No management port of its own: it is reached in band, by its loopback.
    assert "MGMT_INTERFACE" not in config
    assert config["NTP"]["global"]["vrf"] == "default"
