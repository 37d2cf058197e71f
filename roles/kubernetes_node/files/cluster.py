"""Ask the API server about nodes, or put labels on them; run on a control server. Prints JSON. Python 3.9 suffices.

Arguments: `look` or `label`. Standard input has a JSON object: `labels`, names of nodes, each with its labels, and `pools`, the
plan's objects of kind CIDRPool. Without labels no node is asked about. `label` waits until the API server knows all of them,
since a kubelet makes its node a little after its join; it labels those that are there, and tells of the others as `away`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(os.environ.get("GPUYARD_ROOT", "/"))
PREFIX = "gpuyard.io/"
"""Of the labels that are the plan's alone."""
WAIT_S = 120
OURS = ("--server-side", "--field-manager=gpuyard", "--force-conflicts", "--filename=-")
"""What a label of the plan's is, the plan says, whoever set it last."""

CIDR_POOLS = "cidrpools.nv-ipam.nvidia.com"
"""Source: Mellanox/nvidia-k8s-ipam, deploy/crds/nv-ipam.nvidia.com_cidrpools.yaml."""

Labels = dict[str, str]
Pool = dict[str, Any]


def main(verb: str, wanted: dict[str, Labels], pools: list[Pool]) -> None:
    """Print what there is, after `label` did its part."""
    found = read_nodes() if wanted else {}
    if verb == "label":
        end = time.monotonic() + float(os.environ.get("GPUYARD_WAIT_S", WAIT_S))
        while set(wanted) - set(found) and time.monotonic() < end:
            time.sleep(2)
            found = read_nodes()
    other = [name for name in wanted if name in found and differs(wanted[name], found[name])]
    if verb == "label" and other:
        items = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": wanted[name]}} for name in other]
        kubectl("apply", *OURS, given=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        for name, keys in list_stale(wanted).items():  # those that somebody else set
            kubectl("label", "node", name, *(f"{key}-" for key in keys))
    away = [name for name in wanted if name not in found]
    version = json.loads(kubectl("get", "--raw", "/version"))["gitVersion"]
    about = {"ca": compute_ca(), "version": version, "away": away, "other": other, "unseated": find_unseated(wanted, pools)}
    sys.stdout.write(json.dumps(about) + "\n")


def read_nodes() -> dict[str, Labels]:
    """Return the labels of all nodes."""
    items = json.loads(kubectl("get", "nodes", "--output=json"))["items"]
    return {item["metadata"]["name"]: item["metadata"].get("labels", {}) for item in items}


def find_unseated(nodes: dict[str, Labels], pools: list[Pool]) -> dict[str, list[str]]:
    """Return the nodes whose link of the plan is not in a pool that the cluster has, each with its links.

    A label draws a node into its rails' pools. One that a pool has no static allocation for gets the first link that is free,
    which may be another node's. A pool that is not there yet comes with all of them.
    """
    if not pools or not kubectl("get", "customresourcedefinition", CIDR_POOLS, "--ignore-not-found", "--output=name"):
        return {}
    there = json.loads(kubectl("get", CIDR_POOLS, "--all-namespaces", "--output=json"))["items"]
    seats = {name_pool(pool): list_seats(pool) for pool in there}
    unseated: dict[str, list[str]] = {}
    for pool in pools:
        planned = list_seats(pool)
        known = seats.get(name_pool(pool), planned)
        for name in nodes:
            if name in planned and known.get(name) != planned[name]:
                unseated.setdefault(name, []).append(f"{pool['metadata']['name']} {planned[name]}")
    return unseated


def name_pool(pool: Pool) -> tuple[str, str]:
    """Return a pool's namespace and name."""
    return pool["metadata"]["namespace"], pool["metadata"]["name"]


def list_seats(pool: Pool) -> dict[str, str]:
    """Return the link that a pool has for each node."""
    return {each.get("nodeName", ""): each["prefix"] for each in pool["spec"].get("staticAllocations") or []}


def list_stale(wanted: dict[str, Labels]) -> dict[str, list[str]]:
    """Return the labels of nodes that begin as the plan's do, and that it does not have."""
    found = read_nodes()
    stale = {name: [key for key in found.get(name, {}) if key.startswith(PREFIX) and key not in wanted[name]] for name in wanted}
    return {name: keys for name, keys in stale.items() if keys}


def differs(wanted: Labels, found: Labels) -> bool:
    """Return whether a label is not as wanted, or the plan no longer has it."""
    return any(found.get(key) != value for key, value in wanted.items()) or any(
        key.startswith(PREFIX) and key not in wanted for key in found
    )


def kubectl(*words: str, given: str | None = None) -> str:
    """Return what kubectl says as the cluster's administrator."""
    command = ["kubectl", f"--kubeconfig={ROOT / 'etc/kubernetes/admin.conf'}", "--request-timeout=30s", *words]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"kubectl {words[0]}: {' '.join(done.stderr.split()) or done.returncode}")
    return done.stdout


def compute_ca() -> str:
    """Return the SHA-256 of the cluster's CA."""
    text = (ROOT / "etc/kubernetes/pki/ca.crt").read_text("utf-8")
    found = re.search(r"-----BEGIN CERTIFICATE-----(.*?)-----END", text, re.DOTALL)
    return hashlib.sha256(base64.b64decode(found[1])).hexdigest() if found else ""


if __name__ == "__main__":
    given = json.load(sys.stdin)
    main(sys.argv[1], given["labels"], given["pools"])
