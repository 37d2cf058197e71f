"""Fabrics for the twin's simulator, from the plan's cables alone, so that what is rendered is held against something else.

Needs root and Debian's opensm, ibsim-utils, libumad2sim0 and infiniband-diags; GPUYARD_REQUIRE_IB makes their absence a failure.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

import pytest

from cluster_model.catalogue.load import load_catalogue
from cluster_model.render.tree import render_tree
from cluster_model.twin.infiniband.simulator import Simulator
from cluster_model.twin.infiniband.subnet import ASK, find_engine
from cluster_model.twin.machine import list_obstacles
from tests.planned import open_folder
from tests.slowness import wait_for

SWITCH_GUID, ADAPTER_GUID = 0xFC6A_1C03_0010_0000, 0xA088_C203_0020_0000
PATIENCE_S = 600
"""For what must come: only a failure takes that long."""
UNNAMED = {"switch": "Quantum-2 Mellanox Technologies", "adapter": "MT4129 ConnectX7   Mellanox Technologies"}
"""Descriptions of gear that nobody has configured."""
SMALL = """\
name: ib
site: {domain: ib.example.net}
racks:
  rows: {A: {id: 1, racks: 4}, N: {id: 2, racks: 4}}
  groups:
    gpu: {id: 1, rows: [A], height_u: 52, power_kw: 48, feed_kw: 48}
    network: {id: 2, rows: [N], height_u: 48, power_kw: 30, feed_kw: 30}
servers:
  gpu: {id: 1, model: nvidia/dgx-h100, count: 5, unit: 31, racks: gpu, per_rack: 4}
  ufm: {id: 2, model: nvidia/ufm-3.1, role: fabric-manager, manages: compute, count: 2, racks: network}
networks:
  compute: {technology: infiniband, leaf: nvidia/qm9700, isolation: pkeys, racks: network}
  business: {leaf: nvidia/sn3700c, nos: sonic, pool: 10.112.0.0/16, racks: network}
  oob: {leaf: nvidia/sn2201, nos: sonic, pool: 10.124.0.0/16, racks: network}
tenants:
  red: {id: 1, servers: [gpu-001..gpu-002], subnets: {front: {id: 1, cidr: 10.48.1.0/24}}}
"""
"""An intent with five servers, two fabric managers and a tenant that owns two servers."""


def require_programs():
    """Skip where the simulator or the manager is missing; fail where GPUYARD_REQUIRE_IB is set."""
    obstacles = list_obstacles(ethernet=False, infiniband=True)
    if obstacles:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_IB") else pytest.skip)("; ".join(obstacles))


def make_plan(folder, intent, *, guids=True):
    """Return the plan of an intent; with `guids`, every InfiniBand switch and port has one, from fact files made here."""
    (folder / "cluster.yml").write_text(intent, "utf-8")
    plan = _build(folder)
    if not guids:
        return plan
    switches = [s.name for s in plan.switches if s.network == "compute"]
    rows = [f"{name},0x{SWITCH_GUID + 64 * n:016x}" for n, name in enumerate(switches)]
    (folder / "switches.csv").write_text("\n".join(["name,guid", *rows, ""]), "utf-8")
    ends = [(s.name, p.name) for s in plan.servers for p in s.ports if p.network == "compute"]
    # ibsim gives an adapter's port the GUID behind the adapter's own.
    found = {end: f"0x{ADAPTER_GUID + 16 * n + 1:016x}" for n, end in enumerate(ends)}
    columns = sorted({port for _, port in ends})
    rows = [",".join([s, *(found.get((s, c), "") for c in columns)]) for s in dict(ends)]
    (folder / "servers.csv").write_text("\n".join([",".join(["name", *(f"guid.{c}" for c in columns)]), *rows, ""]), "utf-8")
    (folder / "cluster.yml").write_text(f"{intent}\nfacts: {{servers: servers.csv, switches: switches.csv}}\n", "utf-8")
    plan = _build(folder)
    assert all(s.guid for s in plan.switches if s.network == "compute")
    assert all(p.guid for s in plan.servers for p in s.ports if p.network == "compute")
    return plan


def _build(folder):
    return open_folder(folder).plan


def render_files(plan, folder):
    """Write the files of the fabric managers into a folder, which stands for /etc/opensm in them; return their text."""
    found = {}
    for path, content in render_tree(plan, load_catalogue()[0], {"fabric-manager"}).items():
        if path.startswith("fabric-manager/"):
            name = path.removeprefix("fabric-manager/")
            found[name] = content.decode()
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(found[name].replace("/etc/opensm", str(folder)), "utf-8")
    return found


def list_cables(plan):
    """Return the cables of the compute network as pairs of (device, port)."""
    return [((c.a, c.a_port), (c.b, c.b_port)) for c in plan.cables if c.network == "compute"]


def number_port(name):
    """Return the number of a Quantum-2 port from its name: two ports to a cage."""
    cage, sub = map(int, name.split("/"))
    return 2 * (cage - 1) + sub


def write_net(plan, path, cables, *, named=False):
    """Write ibsim's file of a fabric with these cables. `named`: gear says its planned name, as it does once configured."""
    names = {s.name for s in plan.switches if s.network == "compute"}
    guids = {s.name: s.guid for s in plan.switches}
    ports = {(s.name, p.name): p for s in plan.servers for p in s.ports if p.network == "compute"}
    lines = {name: [] for name in names}
    blocks = []
    spell = {}
    for a, b in cables:
        for near, far in ((a, b), (b, a)):
            if near[0] in names:
                far_id = f'"{far[0]}"[{number_port(far[1])}]' if far[0] in names else f'"{far[0]} {far[1]}"[1]'
                lines[near[0]].append(f"[{number_port(near[1])}] {far_id}")
            else:
                spell[near] = f'[1] "{far[0]}"[{number_port(far[1])}]'
    for name in sorted(names):
        said = f"MF0;{name}:MQM9700/U1" if named else UNNAMED["switch"]
        head = [f"switchguid={guids[name]}"] if guids[name] else []
        blocks.append("\n".join([*head, f'Switch 65 "{name}" # "{said}"', *lines[name], ""]))
    for end, port in ports.items():
        said = f"{end[0]} {port.rdma}" if named else UNNAMED["adapter"]
        head = [f"caguid=0x{int(port.guid, 16) - 1:016x}"] if port.guid else []
        rows = [spell[end]] if end in spell else []
        blocks.append("\n".join([*head, f'Hca 1 "{end[0]} {end[1]}" # "{said}"', *rows, ""]))
    path.write_text("\n".join(blocks) + "\n", "utf-8")


class Fabric:
    """A running fabric: the twin's simulator, with the files of a folder. `start` is for programs that stay."""

    def __init__(self, folder, simulator):
        self.folder = folder
        self._simulator = simulator
        self._started = 0

    def run(self, host, *command, check=True):
        """Run a program as if on a server's port, called `SERVER PORT`; return what it printed.

        Diagnostics wait for answers as long as the twin's do. OpenSM needs no such word: in ibsim nothing ends its waiting.
        """
        program, *words = command
        ask = () if program == "opensm" else ASK
        return self._simulator.run(host, program, *ask, *words, check=check, folder=str(self.folder))

    def start(self, host, *command):
        """Start a program that stays; return what `kill` calls it."""
        self._started += 1
        self._simulator.start(host, f"program{self._started}", *command, folder=str(self.folder))
        return f"program{self._started}"

    def kill(self, name):
        self._simulator.kill(name)

    def route(self, host, conf):
        """Let OpenSM configure the fabric once; return its log, and the routing engine that it says it used."""
        log = self.folder / "opensm.log"
        self.run(host, "opensm", "-o", "-e", "-F", conf, "-f", str(log))
        text = log.read_text("utf-8", errors="replace")
        assert "SUBNET UP" in text, text
        return text, find_engine(text)


@contextmanager
def simulated(folder, host):
    """Run the fabric of `net` in a folder; stop it and all that was started in it at the end."""
    running = Simulator("tests", (folder / "net").read_text("utf-8"))
    try:
        fabric = Fabric(folder, running)
        wait_for(lambda: "switchguid" in fabric.run(host, "ibnetdiscover", check=False), PATIENCE_S, "no switch is discovered")
        yield fabric
    finally:
        running.close()
