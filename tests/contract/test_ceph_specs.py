"""ceph/spec.yaml and ceph/ceph.conf of each example, judged by Ceph's own parser, drive selection and ceph-conf; no daemon runs.

Missing programs skip, and fail where GPUYARD_REQUIRE_CEPH is set: packages ceph-base and ceph-osd. GPUYARD_CEPH_PYTHON names
the dist-packages of another release, whose parser judges then.
"""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from cluster_model.plan.model.ceph import OsdGroup
from cluster_model.render.ceph.spec import render_spec, write_size
from tests.contract.test_ceph_crush import EXAMPLES, ask
from tests.planned import open_example
from tests.slowness import stretch

JUDGE = Path(__file__).with_name("ceph_specs.py")
PYTHON = "/usr/bin/python3"
SIZE = int(15.36e12)
SYSTEM = ["/dev/nvme24n1", 480 * 10**9, False, False]


@pytest.fixture(scope="module")
def has_ceph():
    """Skip without Ceph's Python packages, or fail where they have to be there."""
    done = subprocess.run([PYTHON, "-c", "import ceph.deployment, ceph_volume"], capture_output=True, text=True, check=False)
    if done.returncode:
        missing = "the system's Python has no ceph.deployment or ceph_volume (packages ceph-base, ceph-osd)"
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_CEPH") else pytest.skip)(missing)


def write(plan, folder, deploy="cephadm"):
    """Write the files of a plan for a way to deploy; return their folder."""
    for path, content in render_spec(replace(plan, ceph=replace(plan.ceph, deploy=deploy))):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(content)
    return folder / "ceph"


def judge(folder, drives):
    """Return what Ceph makes of spec files."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("GPUYARD_CEPH_PYTHON", "")}
    done = subprocess.run(
        [PYTHON, JUDGE, folder / "spec.yaml", *folder.glob("gateways.yaml")],
        input=json.dumps(drives),
        capture_output=True,
        text=True,
        check=False,
        timeout=stretch(60),
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def fill(ceph, **others):
    """Return the drives of each host as planned, with a system disk, and further ones where told."""
    drives = {}
    groups = {group.name: group for group in ceph.groups}
    for host in ceph.hosts:
        group = groups[host.group]
        kind = (int(group.drive_tb * 1e12), group.device_class == "hdd", True)
        planned = [[f"/dev/nvme{n}n1", *kind] for n in range(group.drives)]
        drives[host.name] = [*planned, SYSTEM, *others.get(host.name.replace("-", "_"), [])]
    return drives


@pytest.mark.usefixtures("has_ceph")
@pytest.mark.parametrize("example", EXAMPLES)
def test_ceph_reads_each_example_as_planned(example, tmp_path):
    plan = open_example(example).plan
    ceph, told = plan.ceph, judge(write(plan, tmp_path), fill(plan.ceph))
    places = {host["hostname"]: host.get("location") for host in told["hosts"] if "osd" in host["labels"]}
    assert places == {host.name: {"root": "default", "row": host.row, "rack": host.rack} for host in ceph.hosts}
    storage = {server.name: service.address for server in plan.servers for service in server.services}
    assert [f"{host['addr']}/32" for host in told["hosts"]] == [storage[host["hostname"]] for host in told["hosts"]]
    monitors = [monitor.name for monitor in ceph.monitors]
    assert (told["services"]["mon"], told["services"]["mgr"]) == (monitors, monitors[:2])
    gateways = [server.name for server in ceph.store.servers] if ceph.store else []
    assert sorted(told["services"]["crash"]) == sorted({*monitors, *gateways, *(host.name for host in ceph.hosts)})
    assert {name: hosts for name, hosts in told["services"].items() if name.startswith("rgw.")} == (
        {f"rgw.{ceph.store.zone}": gateways} if ceph.store else {}
    )
    assert {name: [len(taken) for _, taken, _ in found] for name, found in told["osds"].items()} == {
        host.name: [host.osds] for host in ceph.hosts
    }
    assert not [taken for found in told["osds"].values() for _, taken, _ in found if SYSTEM[0] in taken]


@pytest.mark.usefixtures("has_ceph")
def test_only_drives_of_the_planned_kind_are_taken(tmp_path):
    plan = open_example("lab").plan
    others = [
        ["/dev/sda", SIZE, True, True],  # spins
        ["/dev/nvme30n1", 7_681 * 10**9, False, True],  # half as large
        ["/dev/nvme31n1", 30_720 * 10**9, False, True],
        ["/dev/nvme32n1", SIZE, False, False],  # holds something
        ["/dev/nvme33n1", 15_362 * 10**9, False, True],  # as a maker rounds it
    ]
    [[service, taken, _]] = judge(write(plan, tmp_path), fill(plan.ceph, storage_001=others))["osds"]["storage-001"]
    assert (service, len(taken)) == ("osd.storage", 25)
    assert [path for path in taken if not path.startswith("/dev/nvme") or int(path[9:-2]) > 23] == ["/dev/nvme33n1"]


@pytest.mark.usefixtures("has_ceph")
def test_osds_of_a_drive_and_their_class_are_asked_for(tmp_path):
    plan = open_example("lab").plan
    two = replace(plan, ceph=replace(plan.ceph, groups=(replace(plan.ceph.groups[0], per_drive=2),)))
    [[_, taken, said]] = judge(write(two, tmp_path), fill(two.ceph))["osds"]["storage-001"]
    assert len(taken) == 24 and "--osds-per-device 2" in said[0] and "--crush-device-class ssd" in said[0]


@pytest.mark.usefixtures("has_ceph")
def test_each_group_of_hosts_gets_osds_on_its_own_drives(tmp_path):
    plan = open_example("lab").plan
    first, *others = plan.ceph.hosts
    disks = tuple(replace(host, group="archive", device_class="hdd", osds=4, osd_tb=20.0) for host in others)
    groups = (*plan.ceph.groups, OsdGroup("archive", "hdd", 4, 20.0, 1))
    two = replace(plan, ceph=replace(plan.ceph, hosts=(first, *disks), groups=groups))
    told = judge(write(two, tmp_path), fill(two.ceph))["osds"]
    assert {name: [(service, len(taken)) for service, taken, _ in found] for name, found in told.items()} == {
        first.name: [("osd.storage", 24)],
        **{host.name: [("osd.archive", 4)] for host in disks},
    }
    assert "--crush-device-class hdd" in told[disks[0].name][0][2][0]


@pytest.mark.parametrize(
    ("capacity_tb", "size"),
    [(0.96, "876188MB:911952MB"), (1.92, "1711GB:1782GB"), (15.36, "13690GB:14250GB"), (20, "17826GB:18554GB")],
)
def test_sizes_are_in_the_units_that_ceph_compares(capacity_tb, size):
    assert write_size(capacity_tb) == size


@pytest.mark.parametrize("deploy", ["cephadm", "packages"])
@pytest.mark.parametrize("example", EXAMPLES)
def test_ceph_finds_its_monitors_in_its_configuration(example, deploy, tmp_path):
    plan = open_example(example).plan
    conf = write(plan, tmp_path, deploy) / "ceph.conf"
    assert (tmp_path / "ceph/spec.yaml").exists() == (deploy == "cephadm")
    own = {
        monitor.name: ask("ceph-conf", "-c", conf, "--name", f"mon.{monitor.name}", "--lookup", "public_addr").strip()
        for monitor in (plan.ceph.monitors if deploy == "packages" else ())
    }
    assert own == {monitor.name: monitor.address for monitor in plan.ceph.monitors if deploy == "packages"}
    read = {key: ask("ceph-conf", "-c", conf, "--lookup", key).strip() for key in ("fsid", "mon_host", "public_network")}
    assert read == {
        "fsid": plan.ceph.fsid,
        "mon_host": ",".join(monitor.address for monitor in plan.ceph.monitors),
        "public_network": plan.ceph.public_network,
    }
