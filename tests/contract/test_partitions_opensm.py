"""partitions.conf, judged by the subnet manager: OpenSM programs a simulated fabric with it, and each port's keys are read.

Needs root and Debian's opensm, ibsim-utils, libumad2sim0 and infiniband-diags; GPUYARD_REQUIRE_IB makes their absence a failure.
"""

from __future__ import annotations

import re

import pytest

from cluster_model.catalogue.load import load_catalogue
from cluster_model.render.tree import render_tree
from tests.ibsim import simulator
from tests.planned import open_folder

pytestmark = pytest.mark.opensm
INTENT = f"""\
{simulator.SMALL}\
  blue: {{id: 2, servers: [gpu-003], subnets: {{front: {{id: 1, cidr: 10.48.2.0/24}}}}}}
facts: {{servers: servers.csv}}
"""
HOSTS = {"gpu-001": 0x100001, "gpu-002": 0x100003, "gpu-003": 0x100005, "gpu-004": 0x100007, "gpu-005": 0x100009}
HOSTS |= {"ufm-001": 0x10000B, "ufm-002": 0x10000D}
"""GUIDs of each server's first port, as ibsim numbers the adapters of its file."""
RED, BLUE, NOBODY, FULL, LIMITED = "0x8001", "0x8002", "0xfffe", "0xffff", "0x7fff"


@pytest.fixture(scope="module")
def conf(tmp_path_factory):
    """Return partitions.conf of a small InfiniBand cluster, in which the first port of every server has its GUID."""
    folder = tmp_path_factory.mktemp("ib")
    rows = [f"{name},0x{guid:016x}," if name.startswith("gpu") else f"{name},,0x{guid:016x}" for name, guid in HOSTS.items()]
    (folder / "servers.csv").write_text("\n".join(["name,guid.enp24s0np0,guid.ib0", *rows, ""]), "utf-8")
    (folder / "cluster.yml").write_text(INTENT, "utf-8")
    plan = open_folder(folder).plan
    files = render_tree(plan, load_catalogue()[0], {"fabric-manager"})
    return files["fabric-manager/partitions.conf"].decode()


def test_every_line_is_a_rule_a_member_or_a_comment(conf):
    rule = r"(Default=0x7fff|(tenant_[a-z]+|nobody)=0x[0-9a-f]{4}, indx0), ipoib, mtu=5 :.*"
    for line in conf.splitlines():
        assert re.fullmatch(rf"|#.*|{rule}|    0x[0-9a-f]{{16}}=full(, 0x[0-9a-f]{{16}}=full)*(,| ;)", line), line


def test_ports_without_a_guid_stand_in_comments(conf):
    counts = re.findall(r"^# (\w+): (\d+) ports\n# (\d+) without a GUID yet", conf, re.MULTILINE)
    assert counts == [("tenant_red", "16", "14"), ("tenant_blue", "8", "7"), ("nobody", "16", "14")]
    assert "gpu-002:ibp64s0" in conf
    assert "gpu-002:ibp24s0" not in conf


def read_keys(folder, text):
    """Return the keys that OpenSM puts on each server's port, in the order of its table: one switch, all servers on it."""
    simulator.require_programs()
    hosts = list(HOSTS)
    links = [f'[{n}] "{name}"[1]' for n, name in enumerate(hosts, 1)]
    adapters = [f'Hca 1 "{name}"\n[1] "sw"[{n}]\n' for n, name in enumerate(hosts, 1)]
    (folder / "net").write_text("\n".join([f'Switch {len(hosts)} "sw"', *links, "", *adapters]), "utf-8")
    (folder / "partitions.conf").write_text(text, "utf-8")
    found = {}
    with simulator.simulated(folder, "ufm-001") as fabric:
        fabric.run("ufm-001", "opensm", "-o", "-P", "partitions.conf", "-f", str(folder / "opensm.log"))
        log = (folder / "opensm.log").read_text("utf-8", errors="replace")
        assert "SUBNET UP" in log
        assert "PARSE" not in log, log
        for lid in range(1, len(HOSTS) + 2):
            name = fabric.run("ufm-001", "smpquery", "nodedesc", str(lid)).rpartition(".")[2].strip()
            keys = re.findall(r"0x[0-9a-f]{4}", fabric.run("ufm-001", "smpquery", "pkeys", str(lid)))
            found[name] = [key for key in keys if key != "0x0000"]
    return found


def test_opensm_gives_each_port_its_tenants_key(conf, tmp_path):
    found = read_keys(tmp_path, conf)
    assert {name: found[name] for name in HOSTS} == {
        "gpu-001": [RED, LIMITED],
        "gpu-002": [RED, LIMITED],
        "gpu-003": [BLUE, LIMITED],
        "gpu-004": [NOBODY, LIMITED],
        "gpu-005": [NOBODY, LIMITED],
        "ufm-001": [FULL],
        "ufm-002": [FULL],
    }


def test_the_judge_sees_another_membership(conf, tmp_path):
    moved = conf.replace(f"0x{HOSTS['gpu-002']:016x}=full", f"0x{HOSTS['gpu-002']:016x}=limited")
    assert moved != conf
    assert read_keys(tmp_path, moved)["gpu-002"] != [RED, LIMITED]
