"""The CRUSH map of each example, and where its data lies, judged by Ceph's own crushtool and osdmaptool; no daemon runs.

osdmaptool has the balancer that Ceph's managers run (mode upmap), so it says where data lies in the end, to as many placement
groups as they leave alone. Missing programs skip,
and fail where GPUYARD_REQUIRE_CEPH is set: package ceph-base.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import replace

import pytest

from cluster_model.plan.model.ceph import CephCluster, OsdHost, PlacedPool
from cluster_model.plan.services.waterline import DEVIATION, Terms, find_fullest, list_losses, spread
from cluster_model.render.ceph.crush import write_crush
from tests.planned import INVENTORY, open_example
from tests.slowness import stretch

EXAMPLES = sorted(path.parent.name for path in INVENTORY.glob("*/cluster.yml") if open_example(path.parent.name).plan.ceph.pools)
DATA = PlacedPool("data", 3, 0, 0, 1.0, 256)
INPUTS = 4096


def ask(program, *arguments):
    found = shutil.which(program)
    if found is None:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_CEPH") else pytest.skip)(f"{program} is not installed")
    done = subprocess.run([found, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=stretch(300))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def build(racks, osds=8, pools=(DATA,), domain="rack"):
    """Return Ceph on racks with so many hosts each."""
    hosts = [
        OsdHost(f"{rack}-{n}", rack if domain == "rack" else f"{rack}-{n}", rack, rack[0], osds, 10.0, 100)
        for rack, count in racks.items()
        for n in range(count)
    ]
    return CephCluster(tuple(hosts), domain, pools)


def balance(ceph, pool, folder, bits, lost=""):
    """Return the copies of placement groups on each OSD, once the balancer has nothing left to even, and then a host is lost."""
    # osdmaptool makes one pool, of replicas, with rule 0; for where chunks lie the rule's steps count, and not its type.
    text = write_crush("test", replace(ceph, pools=(pool,))).replace("\tid 1\n\ttype erasure", "\tid 1\n\ttype replicated")
    text = text.replace("{\n\tid 1\n\ttype", "{\n\tid 0\n\ttype")
    (folder / "map.txt").write_text(text)
    ask("crushtool", "-c", folder / "map.txt", "-o", folder / "map")
    osdmap = folder / "osdmap"
    size = f"--osd_pool_default_size={pool.size}"
    made = ("--createsimple", ceph.osds, "--with-default-pool", "--pg-bits", bits, "--pgp-bits", bits, "--clobber", size)
    ask("osdmaptool", osdmap, *made)
    ask("osdmaptool", osdmap, "--import-crush", folder / "map")
    evened = ("--upmap", folder / "moves", "--upmap-max", 100_000, "--upmap-deviation", DEVIATION, "--save")
    ask("osdmaptool", osdmap, "--mark-up-in", *evened)
    owners = [host.name for host in ceph.hosts for _ in range(host.osds)]
    weights = ",".join(f"{osd}:0" for osd, owner in enumerate(owners) if owner == lost)
    gone = ("--adjust-crush-weight", weights) if weights else ()
    told = ask("osdmaptool", osdmap, "--mark-up-in", *gone, "--test-map-pgs-dump")
    groups = re.findall(r"^1\.[0-9a-f]+\t\[([0-9,]+)\]", told, re.M)
    assert len(groups) == ceph.osds << bits
    assert all(len(group.split(",")) == pool.size for group in groups)
    found = Counter(int(osd) for group in groups for osd in group.split(","))
    # what the balancer had moved to a lost host stays with it here; where OSDs are out, Ceph drops that
    assert sum(found[osd] for osd, owner in enumerate(owners) if owner == lost) <= 0.02 * found.total()
    return found


def is_as_planned(found, planned):
    """Return whether no OSD is fuller than planned, to what the balancer decides by lot, nor the plan far too careful."""
    return planned / 1.35 <= found <= planned * 1.05


def check_spread(ceph, pool, folder, within, bits=4):
    """Hold where Ceph puts a pool against what is planned: each domain to a part of it, and the fullest OSD; return that."""
    pool = replace(pool, share=1.0, pgs=ceph.osds << bits)
    found = balance(ceph, pool, folder, bits)
    total = found.total()
    weights, held = Counter(), Counter()
    owners = [host for host in ceph.hosts for _ in range(host.osds)]
    for osd, host in enumerate(owners):
        weights[host.domain] += host.osd_tb
        held[host.domain] += found[osd]
    for domain, part in spread(weights, pool.size).items():
        assert held[domain] / total == pytest.approx(part, rel=within), domain
    fullest = max(found[osd] / total * ceph.raw_tb / host.osd_tb for osd, host in enumerate(owners))
    planned = find_fullest(ceph.hosts, (pool,), 1.0)[1]
    assert is_as_planned(fullest, planned), (fullest, planned)
    return fullest


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_placement_finds_its_copies(name, tmp_path):
    ceph = open_example(name).plan.ceph
    (tmp_path / "map.txt").write_text(write_crush(name, ceph))
    ask("crushtool", "-c", tmp_path / "map.txt", "-o", tmp_path / "map")
    for number, pool in enumerate(ceph.pools, 1):
        asked = ("--rule", number, "--num-rep", pool.size, "--min-x", 0, "--max-x", INPUTS - 1)
        told = ask("crushtool", "-i", tmp_path / "map", "--test", *asked, "--show-bad-mappings", "--show-statistics")
        assert "bad mapping" not in told
        assert f"result size == {pool.size}:\t{INPUTS}/{INPUTS}" in told


def test_a_map_without_room_for_every_copy_is_told(tmp_path):
    ceph = build({"A1": 2, "A2": 2})
    (tmp_path / "map.txt").write_text(write_crush("test", ceph))
    ask("crushtool", "-c", tmp_path / "map.txt", "-o", tmp_path / "map")
    asked = ("--rule", 1, "--num-rep", 3, "--min-x", 0, "--max-x", 99)
    assert "bad mapping" in ask("crushtool", "-i", tmp_path / "map", "--test", *asked, "--show-bad-mappings")


def test_a_pool_takes_drives_of_its_class(tmp_path):
    flash = build({"A1": 2, "A2": 2, "A3": 2}).hosts
    disks = tuple(replace(host, name=f"{host.name}-disks", device_class="hdd") for host in flash)
    pools = (DATA, replace(DATA, name="cold", device_class="hdd"))
    (tmp_path / "map.txt").write_text(write_crush("test", CephCluster((*flash, *disks), "rack", pools)))
    ask("crushtool", "-c", tmp_path / "map.txt", "-o", tmp_path / "map")
    for number, pool in enumerate(pools, 1):
        asked = ("--rule", number, "--num-rep", 3, "--min-x", 0, "--max-x", 255)
        told = ask("crushtool", "-i", tmp_path / "map", "--test", *asked, "--show-mappings")
        osds = [int(osd) for found in re.findall(r"x \d+ \[([0-9,]+)\]", told) for osd in found.split(",")]
        assert len(osds) == 3 * 256
        assert {osd >= 6 * 8 for osd in osds} == {pool.device_class == "hdd"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_lie_as_planned(name, tmp_path):
    """With four OSDs on each host, so that the balancer is done in a second."""
    ceph = open_example(name).plan.ceph
    small = replace(ceph, hosts=tuple(replace(host, osds=4) for host in ceph.hosts))
    for pool in ceph.pools:
        check_spread(small, pool, tmp_path, within=0.12)


@pytest.mark.parametrize(
    "racks",
    [
        {"A1": 2, "A2": 2, "A3": 2},
        {"A1": 3, "A2": 3, "A3": 3, "A4": 1},  # the small rack holds as its drives are, not as often as it is drawn
        {"A1": 4, "A2": 3, "A3": 3, "B1": 2, "B2": 2},
    ],
)
def test_the_balancer_evens_what_no_copy_binds(racks, tmp_path):
    assert check_spread(build(racks), DATA, tmp_path, within=0.25) < 1.3


@pytest.mark.parametrize(
    ("racks", "pool"),
    [
        ({"A1": 1, "A2": 2, "A3": 2}, DATA),  # as many racks as copies: a third each
        ({"A1": 4, "A2": 2, "A3": 2}, DATA),
        ({"A1": 6, "A2": 2, "A3": 2, "B1": 1}, DATA),  # the large rack holds a copy of everything, and no more
        ({"A1": 2, "A2": 2, "A3": 2, "B1": 2, "B2": 1, "B3": 1, "B4": 1}, PlacedPool("data", 6, 4, 2, 1.0, 256)),
    ],
)
def test_the_balancer_leaves_the_rest_as_it_was_drawn(racks, pool, tmp_path):
    assert check_spread(build(racks, osds=6, pools=(pool,)), pool, tmp_path, within=0.15) > 1.3


@pytest.mark.parametrize(
    "racks", [{"A1": 2, "A2": 2, "A3": 2}, {"A1": 3, "A2": 3, "A3": 3, "A4": 3}, {"A1": 3, "A2": 2, "A3": 2, "A4": 1}]
)
def test_the_worst_host_leaves_what_is_planned(racks, tmp_path):
    """What it held comes on top of what was even, and nothing is evened before all is rebuilt."""
    ceph = build(racks, osds=24)
    pool = replace(DATA, pgs=ceph.osds << 4)
    worst = list_losses(ceph.hosts, (pool,), Terms(1.0, 100, False, 0.0))[0]
    found = balance(ceph, pool, tmp_path, 4, worst.name)
    fullest = max(found.values()) / found.total() * ceph.osds
    assert is_as_planned(fullest, worst.fullest), (fullest, worst.fullest)


def test_hosts_apart_lie_as_planned(tmp_path):
    check_spread(build({"A1": 3, "A2": 2, "B1": 1}, domain="host"), DATA, tmp_path, within=0.1)
