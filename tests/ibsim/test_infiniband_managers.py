"""Two subnet managers with what we render for each: which is master, which keys they take, and the MTU they give to IPoIB."""

from __future__ import annotations

import re

import pytest

from tests.ibsim import simulator

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


def become_master(fabric, manager, guid, attempts=4):
    """Start a manager until it is master.

    ibsim loses an answer now and then on a busy machine, and umad2sim knows no timeout: OpenSM then waits for it for ever, in the
    middle of taking over. A kernel would tell it after its response time; here it is started again.
    """
    conf, log = f"{manager}/opensm.conf", str(fabric.folder / f"{manager}.log")
    for _ in range(attempts):
        name = fabric.start(f"{manager} ib0", "opensm", "-F", conf, "-f", log)
        if simulator.wait_for(lambda: (read_master(fabric) or [0])[0] == guid, 20):
            return
        fabric.kill(name)
    raise AssertionError(f"{manager} never became master: {fabric.run(SOMEBODY, 'sminfo', check=False)}")


def test_the_first_manager_is_master_even_if_it_comes_second_and_ipoib_gets_4096(fabric):
    ports = {s.name: int(p.guid, 16) for s in fabric.plan.servers for p in s.ports if (s.name in MANAGERS and p.name == "ib0")}
    for manager, priority in (("ufm-002", 14), ("ufm-001", 15)):
        become_master(fabric, manager, ports[manager])
        assert read_master(fabric) == (ports[manager], priority)
    # A port is shown the groups of its own partitions. 0x85: exactly 4096 bytes.
    own = {SOMEBODY: "0xFFFE", "gpu-001 ibp24s0": "0x8001"}
    for host, key in own.items():
        expected = {("0x85", "0xFFFF"), ("0x85", key)}
        assert simulator.wait_for(lambda h=host, e=expected: read_groups(fabric, h) == e), read_groups(fabric, host)


def read_groups(fabric, host):
    """Return the MTU and partition of every multicast group that a port may join."""
    return set(re.findall(r"Mtu\.+(\S+)\s+pkey\.+(\S+)", fabric.run(host, "saquery", "-g", check=False)))
