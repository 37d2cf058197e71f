"""Describe a rendered Ceph to daemons.py: who runs where, by the tree's own files.

usage: python -m tests.ceph.describe TREE
"""

import json
import sys
from pathlib import Path

import yaml

OSD_BYTES = 2 * 2**30


def describe(conf, spec):
    """Return what daemons.py reads, with one OSD on each host that has OSDs, and all metadata servers.

    Args:
        conf: text of ceph/ceph.conf.
        spec: text of ceph/spec.yaml.
    """
    documents = list(yaml.safe_load_all(spec))
    hosts = {each["hostname"]: each for each in documents if each["service_type"] == "host"}
    services = {each["service_type"]: each for each in documents if each["service_type"] != "host"}
    files = [each for each in documents if each["service_type"] == "mds"]
    device_class = services["osd"]["spec"]["crush_device_class"]
    return {
        "conf": conf,
        "monitors": dict(each.split(":") for each in services["mon"]["placement"]["hosts"]),
        "managers": {name: hosts[name]["addr"] for name in services["mgr"]["placement"]["hosts"]},
        "metadata": {
            f"{each['service_id']}.{name}": hosts[name]["addr"] for each in files for name in each["placement"]["hosts"]
        },
        "osds": [
            {"host": name, "address": host["addr"], "class": device_class}
            for name, host in hosts.items()
            if "osd" in host["labels"]
        ],
        "osd_bytes": OSD_BYTES,
    }


if __name__ == "__main__":
    tree = Path(sys.argv[1]) / "ceph"
    json.dump(describe((tree / "ceph.conf").read_text(), (tree / "spec.yaml").read_text()), sys.stdout)
