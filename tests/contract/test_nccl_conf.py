"""One truth for NCCL: /etc/nccl.conf as role cuda_nccl writes it, the plan, and what the leafs do with packets so marked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

from cluster_model.pipeline import inspect
from cluster_model.plan.model import Plan, Server
from cluster_model.render.inventory.document import render_inventory
from tests.dialects import plans
from tests.dialects.agreement import list_hosts
from tests.unit.render.switch import factory

ROCE = ("lab", "turned", "driving", "superpod-roce")
"""`turned` has another DSCP and another priority than the defaults."""
INFINIBAND = ("superpod-h100",)
ADAPTIVE = "cumulus/turned"
"""RoCE with adaptive routing; the others have ECMP."""
TEMPLATE = factory.ROOT / "roles/cuda_nccl/templates/nccl.conf.j2"
PLAYBOOK = [
    {
        "hosts": "all",
        "gather_facts": False,
        "connection": "local",
        "vars_files": [str(factory.ROOT / f"roles/{role}/defaults/main.yml") for role in ("versions", "cuda_nccl")],
        "vars": {"__cuda_nccl_peermem": False},  # the role finds out on the host
        "tasks": [
            {"ansible.builtin.set_fact": {"conf": f"{{{{ lookup('ansible.builtin.template', '{TEMPLATE}') }}}}"}},
            {
                "ansible.builtin.copy": {"content": "{{ confs | to_json }}", "dest": "{{ folder }}/confs.json"},
                "vars": {"confs": "{{ dict(ansible_play_hosts | zip(ansible_play_hosts | map('extract', hostvars, 'conf'))) }}"},
                "run_once": True,
            },
        ],
    }
]


@cache
def plan(name: str) -> Plan:
    if name == ADAPTIVE:
        return plans.plan(name)
    return inspect(factory.ROOT / "inventory" / name).plan if name in INFINIBAND else factory.plan(name)


def list_servers(name: str) -> list[Server]:
    """Return the first and the last server of every group that has GPUs and compute ports."""
    groups: dict[str, list[Server]] = {}
    for server in plan(name).servers:
        if server.gpus and server.unit:
            groups.setdefault(server.group, []).append(server)
    return [server for servers in groups.values() for server in (servers[0], servers[-1])]


@pytest.fixture(scope="module")
def confs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Return `CLUSTER.SERVER` → variables of nccl.conf, as the role's template writes it with the inventory's variables."""
    folder = tmp_path_factory.mktemp("nccl")
    hosts: dict[str, Any] = {}
    for name in (*ROCE, *INFINIBAND, ADAPTIVE):
        wanted = {server.name for server in list_servers(name)}
        body = json.loads(render_inventory(plan(name), factory.catalogue(), {}))
        hosts |= {f"{name}.{host}": told for host, told in list_hosts(body) if host in wanted}
    (folder / "ansible.cfg").write_text("[defaults]\n")
    (folder / "play.yml").write_text(json.dumps(PLAYBOOK))
    (folder / "hosts.yml").write_text(
        json.dumps({"all": {"hosts": hosts, "vars": {"folder": str(folder), "ansible_python_interpreter": sys.executable}}})
    )
    ran = subprocess.run(
        ["ansible-playbook", "-i", "hosts.yml", "play.yml"],
        cwd=folder,
        env={
            **os.environ,
            "ANSIBLE_CONFIG": str(folder / "ansible.cfg"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_LOCALHOST_WARNING": "0",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return {host: read_conf(text) for host, text in json.loads((folder / "confs.json").read_text("utf-8")).items()}


def read_conf(text: str) -> dict[str, str]:
    """Return what NCCL sets: each line up to its first `=`, and no line twice."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    pairs = dict(line.split("=", 1) for line in lines)
    assert len(pairs) == len(lines)
    assert all(name.startswith("NCCL_") and value for name, value in pairs.items())
    return pairs


@pytest.mark.parametrize("name", [*ROCE, *INFINIBAND])
def test_nccl_takes_the_adapters_of_the_plan_by_their_whole_names(name: str, confs: dict[str, dict[str, str]]) -> None:
    for server in list_servers(name):
        conf = confs[f"{name}.{server.name}"]
        adapters = [port.rdma for port in server.ports if port.network == "compute"]
        assert adapters
        assert conf["NCCL_IB_HCA"] == "=" + ",".join(f"{adapter}:1" for adapter in adapters)
        assert conf["NCCL_SOCKET_IFNAME"].startswith("=")
        known = {port.name for port in server.ports if port.network != "compute"} | {
            vlan.name for bond in server.bonds for vlan in bond.vlans
        }
        assert set(conf["NCCL_SOCKET_IFNAME"][1:].split(",")) <= known
        assert "NCCL_IB_GID_INDEX" not in conf, "NCCL finds RoCE v2 itself"
        assert "NCCL_TOPO_FILE" not in conf, "no server of ours needs one"


@pytest.mark.parametrize("name", ROCE)
def test_leafs_carry_what_nccl_marks_without_loss(name: str, confs: dict[str, dict[str, str]]) -> None:
    lossless = plan(name).lossless
    for server in list_servers(name):
        mark = int(confs[f"{name}.{server.name}"]["NCCL_IB_TC"])
        assert mark & 0b11 == 0b10, "ECN-capable, or no switch can mark it"
        for port in server.ports:
            if port.network == "compute":
                leaf = plan(name).switch(port.peer)
                prefix = f"switches/{leaf.name}/"
                told = {path.removeprefix(prefix): text for path, text in factory.files(name).items() if path.startswith(prefix)}
                record = plans.READERS[leaf.nos](told)
                priority = record["qos", "", "dscp_to_priority"][mark >> 2]
                assert priority == lossless.priority, f"{leaf.name} puts DSCP {mark >> 2} into priority {priority}"
                assert priority in record["port", port.peer_port, "pfc_priorities"]
                break


def test_the_profile_is_the_only_place_to_change(confs: dict[str, dict[str, str]]) -> None:
    marks = {name: {conf["NCCL_IB_TC"] for host, conf in confs.items() if host.startswith(f"{name}.")} for name in ROCE}
    assert marks == {"lab": {"106"}, "turned": {"138"}, "driving": {"106"}, "superpod-roce": {"106"}}


@pytest.mark.parametrize("name", INFINIBAND)
def test_infiniband_has_no_traffic_class(name: str, confs: dict[str, dict[str, str]]) -> None:
    for server in list_servers(name):
        assert "NCCL_IB_TC" not in confs[f"{name}.{server.name}"]


def test_nccl_reckons_with_packets_that_overtake_each_other(confs: dict[str, dict[str, str]]) -> None:
    """By default NCCL does on InfiniBand and does not on RoCE, so only RoCE with adaptive routing says so."""
    told = {name for name, conf in confs.items() if conf.get("NCCL_IB_ADAPTIVE_ROUTING") == "1"}
    assert told == {f"{ADAPTIVE}.{server.name}" for server in list_servers(ADAPTIVE)}
    assert not [name for name, conf in confs.items() if "NCCL_IB_ADAPTIVE_ROUTING" in conf and name not in told]
