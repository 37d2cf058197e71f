"""Two subnet managers with what we render for each: which is master, which keys they take, and the MTU they give to IPoIB."""

from __future__ import annotations

import re
from functools import partial

import pytest

from cluster_model.twin.infiniband.subnet import FLUSH
from tests.ibsim import simulator
from tests.slowness import wait_for

pytestmark = pytest.mark.opensm
MANAGERS = ("ufm-001", "ufm-002")
SOMEBODY = "gpu-004 ibp24s0"
EQUAL_TO_DEFAULT = {"partition_config_file"}
"""Rendered though Debian's build has the same default: other builds have another."""


@pytest.fixture(scope="module")
def fabric(tmp_path_factory):
    """Run a small fabric, with the files of both managers in its folder."""
    simulator.require_programs()
    folder = tmp_path_factory.mktemp("managers")
    plan = simulator.make_plan(folder, simulator.SMALL)
    simulator.render_files(plan, folder)
    simulator.write_net(plan, folder / "net", simulator.list_cables(plan))
    with simulator.simulated(folder, SOMEBODY) as running:
        running.plan = plan
        yield running


def read_keys(path):
    lines = [line.split(None, 1) for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    return {key: value.strip() for key, value in lines}


@pytest.mark.parametrize("manager", MANAGERS)
def test_opensm_takes_every_key_and_none_is_its_default(fabric, manager):
    folder, host = fabric.folder, f"{manager} ib0"
    fabric.run(host, "opensm", "-c", str(folder / "default.conf"), check=False)
    fabric.run(host, "opensm", "-F", f"{manager}/opensm.conf", "-c", str(folder / "taken.conf"), check=False)
    default, taken = read_keys(folder / "default.conf"), read_keys(folder / "taken.conf")
    ours = read_keys(folder / manager / "opensm.conf")
    assert {key: taken.get(key) for key in ours} == ours
    given = {
        "guid",
        "sm_priority",
        "routing_engine",
        "root_guid_file",
        "partition_config_file",
        "node_name_map_name",
        "log_max_size",
    }
    assert ours.keys() == given
    assert {key for key in ours if default[key] == ours[key].replace(str(folder), "/etc/opensm")} == EQUAL_TO_DEFAULT


def read_master(fabric):
    found = re.search(r"sm guid (0x[0-9a-f]+),.* priority (\d+) state 3", fabric.run(SOMEBODY, "sminfo", check=False))
    return found and (int(found[1], 16), int(found[2]))


def become_master(fabric, manager, guid):
    """Start a manager until it is master of a subnet that is up.

    Where it tells a lesser master by a trap that it is there, it waits for an answer that ibsim drops, and has to be started
    again: cluster_model/twin/infiniband/subnet.py (bring_up) says why.
    """
    conf = fabric.folder / f"{manager}.conf"
    conf.write_text((fabric.folder / manager / "opensm.conf").read_text("utf-8") + FLUSH, "utf-8")
    logs = {name: fabric.folder / f"{name}.log" for name in MANAGERS}

    def explain():
        return f"{manager} did not become master: {fabric.run(SOMEBODY, 'sminfo', check=False)}"

    while True:
        marks = {name: len(read(path)) for name, path in logs.items()}
        name = fabric.start(f"{manager} ib0", "opensm", "-F", str(conf), "-f", str(logs[manager]))

        def look(marks=marks):
            news = {name: read(path)[marks[name] :] for name, path in logs.items()}
            if "SUBNET UP" in news[manager]:
                return "up"
            is_told = any(f"GUID 0x{guid:016x}, ChangeFlags" in text for text in news.values())
            return "stuck" if is_told and "Entering MASTER state" in news[manager] else ""

        found = wait_for(look, simulator.PATIENCE_S, explain)
        if found == "up":
            return
        fabric.kill(name)


def read(path):
    return path.read_text("utf-8", errors="replace") if path.exists() else ""


def test_the_first_manager_is_master_even_if_it_comes_second_and_ipoib_gets_4096(fabric):
    ports = {s.name: int(p.guid, 16) for s in fabric.plan.servers for p in s.ports if (s.name in MANAGERS and p.name == "ib0")}
    for manager, priority in (("ufm-002", 14), ("ufm-001", 15)):
        become_master(fabric, manager, ports[manager])
        assert read_master(fabric) == (ports[manager], priority)
    # A port is shown the groups of its own partitions. 0x85: exactly 4096 bytes.
    own = {SOMEBODY: "0xFFFE", "gpu-001 ibp24s0": "0x8001"}
    for host, key in own.items():
        expected = {("0x85", "0xFFFF"), ("0x85", key)}
        read = partial(read_groups, fabric, host)
        wait_for(lambda r=read, e=expected: r() == e, simulator.PATIENCE_S, lambda r=read: str(r()))


def read_groups(fabric, host):
    """Return the MTU and partition of every multicast group that a port may join."""
    return set(re.findall(r"Mtu\.+(\S+)\s+pkey\.+(\S+)", fabric.run(host, "saquery", "-g", check=False)))
