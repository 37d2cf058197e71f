"""`ansible-playbook -i inventory/lab/cluster.yml playbooks/site.yml` against containers that stand for servers of the lab."""

import os
import sys

import pytest
from lab_servers import ROOT, LabServers, find_missing

HOSTS = ["gpu-001", "gpu-005", "storage-001"]
GPU_HOSTS = HOSTS[:2]


@pytest.fixture
def lab(request, tmp_path_factory, collection):
    if reason := find_missing():
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_CONTAINERS") == "1" else pytest.skip)(reason)
    made = LabServers(tmp_path_factory.mktemp("s"), request.param)
    try:
        made.start()
        yield made
    finally:
        made.stop()


def list_state(lab, host):
    sys.path.insert(0, str(ROOT / "molecule/shared"))
    try:
        from dry_run import list_state
    finally:
        sys.path.pop(0)
    return list_state(lab.name(host))


def count(recap, what):
    return {host: counts[what] for host, counts in recap.items()}


@pytest.mark.parametrize("lab", [["gpu-001"]], indirect=True)
def test_check_mode_on_a_fresh_server(lab):
    """It announces changes and makes none."""
    check_fresh_servers(lab)


def check_fresh_servers(lab):
    before = {host: list_state(lab, host) for host in lab.hosts}
    code, said, recap = lab.play("site.yml", "--check")
    assert code == 0, said
    assert set(recap) == set(lab.hosts)
    assert all(count(recap, "changed").values()), f"check mode announces changes on every fresh server\n{said}"
    after = {host: sorted(set(list_state(lab, host)) ^ set(before[host])) for host in lab.hosts}
    assert after == {host: [] for host in lab.hosts}


@pytest.mark.slow  # five minutes and more: three servers from an empty system to GPUs, with a reboot of each
@pytest.mark.parametrize("lab", [HOSTS], indirect=True)
def test_site_in_steps(lab):
    """Check mode on fresh servers, the run, a second one, and what happens when a server fails or does not answer."""
    check_fresh_servers(lab)

    code, said, recap = lab.play("site.yml")
    assert code == 0, said
    assert "580.95.05" in lab.inside("gpu-001", "nvidia-smi --query-gpu=driver_version --format=csv,noheader")
    planned = ",".join(f"mlx5_{number}:1" for number in (0, 3, 4, 5, 6, 9, 10, 11))
    assert f"NCCL_IB_HCA=={planned}" in lab.inside("gpu-001", "cat /etc/nccl.conf")
    assert lab.inside("storage-001", "test -e /etc/nccl.conf || echo none") == "none"
    assert "iommu=pt" in lab.inside("gpu-001", "cat /boot/grub/grub.cfg")

    lab.plug()  # those that rebooted lost their cables, as a container does
    code, said, recap = lab.play("site.yml")
    assert code == 0, said
    assert count(recap, "changed") == dict.fromkeys(HOSTS, 0), said

    # A server that fails: the budget is spent, so the next batch is not begun. Mended, it is taken through alone.
    lab.inside("gpu-001", "gpuyard-double-gpu fall 3")
    code, said, recap = lab.play("gpus.yml", "-e", "batch=1", "-e", "failure_budget=0")
    assert code == 2, said
    assert "GPUs: 7 answer; expected 8" in said
    assert recap["gpu-001"]["failed"] == 1
    assert "gpu-005" not in recap, f"the budget is spent: the next batch is not begun\n{said}"
    assert (lab.folder / "retry/gpus.retry").read_text().split() == ["gpu-001"]
    lab.inside("gpu-001", "gpuyard-double-gpu heal")
    code, said, recap = lab.play("gpus.yml", limit=f"@{lab.folder}/retry/gpus.retry")
    assert code == 0, said
    assert set(recap) == {"gpu-001"}

    # The budget is not reached: the others go on, to the fabric of the GPUs.
    lab.inside("gpu-001", "gpuyard-double-gpu fall 3")
    code, said, recap = lab.play("gpus.yml", "-e", "failure_budget=50")
    assert code == 2, said
    assert count(recap, "failed") == {"gpu-001": 1, "gpu-005": 0}
    assert "8 GPUs: fabric Completed" in said
    lab.inside("gpu-001", "gpuyard-double-gpu heal")

    # A server that is down does not stop the others.
    lab.must("podman", "stop", "-t", "0", lab.name("gpu-005"))
    code, said, recap = lab.play("power.yml", "-e", "failure_budget=50")
    assert code == 4, said
    assert set(recap) == set(GPU_HOSTS), "a verb runs on its hosts"
    assert recap["gpu-005"]["unreachable"] == 1
    assert recap["gpu-001"]["ok"] > 0, said
    assert (lab.folder / "retry/power.retry").read_text().split() == ["gpu-005"]
