"""Describe a rendered Ceph to daemons.py: who runs where, by the tree's own files.

usage: python -m tests.ceph.describe TREE
"""

import json
import sys
from pathlib import Path

import yaml

OSD_BYTES = 2 * 2**30


def describe(conf, *specs):
    """Return what daemons.py reads, with one OSD on each host that has OSDs, all metadata servers and all gateways.

    Args:
        conf: text of ceph/ceph.conf.
        specs: texts of ceph/spec.yaml and ceph/gateways.yaml.
    """
    documents = [each for spec in specs for each in yaml.safe_load_all(spec)]
    hosts = {each["hostname"]: each for each in documents if each["service_type"] == "host"}
    services = {each["service_type"]: each for each in documents if each["service_type"] != "host"}
    named = {
        kind: {
            f"{each['service_id']}.{name}": hosts[name]["addr"]
            for each in documents
            if each["service_type"] == kind
            for name in each["placement"]["hosts"]
        }
        for kind in ("mds", "rgw")
    }
    return {
        "conf": conf,
        "monitors": dict(each.split(":") for each in services["mon"]["placement"]["hosts"]),
        "managers": {name: hosts[name]["addr"] for name in services["mgr"]["placement"]["hosts"]},
        "metadata": named["mds"],
        "gateways": named["rgw"],
        "port": services.get("rgw", {}).get("spec", {}).get("rgw_frontend_port", 0),
        "osds": [
            {"host": name, "address": host["addr"], "class": find_class(host, documents)}
            for name, host in hosts.items()
            if "osd" in host["labels"]
        ],
        "osd_bytes": OSD_BYTES,
    }


def find_class(host, documents):
    """Return the class of a host's OSDs."""
    for each in documents:
        if each["service_type"] == "osd" and each["placement"]["label"] in host["labels"]:
            return each["spec"]["crush_device_class"]
    return ""


if __name__ == "__main__":
    tree = Path(sys.argv[1]) / "ceph"
    specs = (file.read_text() for file in (tree / "spec.yaml", *tree.glob("gateways.yaml")))
    json.dump(describe((tree / "ceph.conf").read_text(), *specs), sys.stdout)
