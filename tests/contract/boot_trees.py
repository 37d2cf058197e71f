"""Trees whose boot/ and dns/ the judges read: the examples, and the lab installed in every other way there is."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import yaml

from cluster_model.catalogue.load import load_catalogue
from cluster_model.intent.load import load_cluster
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.references.services.provisioning_keys import read_keys
from cluster_model.intent.source.facts_csv import FactTables, ServerFacts
from cluster_model.plan.build import build_plan
from cluster_model.render.tree import render_tree
from tests.planned import open_example

ROOT = Path(__file__).parents[2]
LAB = ROOT / "inventory" / "lab"
CLOSED = {"gpuyard_secret": "x"}

INSTALLERS = {
    "admins": {
        "ops": {"key_files": ["ops.pub"]},
        "eve": {"keys": [(LAB / "ops.pub").read_text().strip()], "password": "eve-hash"},
    },
    "unknown": "refuse",
    "defaults": {"os": {"kind": "autoinstall"}, "disks": {"system": {"model": "ACME BOOT*"}}},
    "groups": {
        "gpu": {"disks": {"system": {"count": 1}, "filesystem": "xfs", "swap_gb": 8, "root_gb": 100}, "loader": "http"},
        "storage": {
            "firmware": "bios",
            "disks": {
                "system": {"model": "ACME BOOT*"},
                "swap_gb": 8,
                "wipe": [
                    {"disks": "system", "consent": 'O\'Neill, "yes"'},
                    {"disks": {"model": "OLD*", "min_gb": 10}, "consent": "was Ceph"},
                ],
            },
        },
    },
}


def build(change=None, facts=None):
    """Return the plan of the lab after a change of its document; `facts` changes what was delivered."""
    document = yaml.safe_load((LAB / "cluster.yml").read_text())
    if change is not None:
        change(document)
    cluster = Cluster.model_validate(document)
    cluster, wrong = read_keys(cluster, LAB, "")
    delivered = load_cluster(LAB).facts
    if facts is not None:
        delivered = facts(delivered)
    plan, findings = build_plan(cluster, load_catalogue()[0], delivered)
    assert plan is not None and not wrong, findings
    return plan


def name_disks(facts):
    """Name the system disks of all servers by serial number, of one of them by WWN."""
    rows = {}
    for name, row in facts.servers.items():
        disks = (f"{name}-D1",) if name.startswith("gpu") else (f"{name}-D1", f"{name}-D2")
        rows[name] = ServerFacts(row.serial, row.bmc_mac, row.macs, row.guids, row.line, disks)
    return FactTables(rows, facts.switches, facts.pdus, facts.files, facts.lines)


def _install(document):
    document["provisioning"] = INSTALLERS


def _bare(document):
    """Leave the lab without provisioning, resolvers and time servers, and with a boot server outside."""
    del document["provisioning"]
    document["site"] = {"domain": "lab.example.net"}
    document["networks"]["oob"]["dhcp_servers"] = ["10.255.9.9"]


PLANS = {
    "lab": build,
    "installers": lambda: build(_install),
    "installers by serial": lambda: build(_install, name_disks),
    "bare": lambda: build(_bare),
}


@functools.cache
def plan_of(name):
    if name in PLANS:
        return PLANS[name]()
    return open_example(name).plan


NAMES = (*PLANS, "driving", "superpod-h100", "superpod-roce")


@functools.cache
def tree_of(name):
    return render_tree(plan_of(name), load_catalogue()[0], {"boot", "dns", "inventory", "switches"})


def read_json(tree, path):
    return json.loads(tree[path])
