"""Say to the cluster what the plan knows, and tell what it still has of an earlier plan; run on a control server. Prints JSON.

Arguments: `apply` or `check`. Standard input has a JSON list of lists of objects: a list is applied once the one before it was.
Python 3.9 suffices.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ADMIN = Path(os.environ.get("GPUYARD_ROOT", "/")) / "etc/kubernetes/admin.conf"
MANAGER = "gpuyard"
OURS = ("--server-side", f"--field-manager={MANAGER}", "--force-conflicts", "--filename=-")
"""What the plan says of an object, the plan says, whoever set it last."""
KINDS = {
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"),
    ("cilium.io/v2", "CiliumBGPAdvertisement"),
    ("cilium.io/v2", "CiliumBGPClusterConfig"),
    ("cilium.io/v2", "CiliumBGPPeerConfig"),
    ("crd.projectcalico.org/v1", "BGPConfiguration"),
    ("crd.projectcalico.org/v1", "BGPFilter"),
    ("crd.projectcalico.org/v1", "BGPPeer"),
    ("crd.projectcalico.org/v1", "IPAMConfig"),
    ("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition"),
    ("kueue.x-k8s.io/v1beta2", "ClusterQueue"),
    ("kueue.x-k8s.io/v1beta2", "LocalQueue"),
    ("kueue.x-k8s.io/v1beta2", "ResourceFlavor"),
    ("kueue.x-k8s.io/v1beta2", "Topology"),
    ("mellanox.com/v1alpha1", "NicClusterPolicy"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("nv-ipam.nvidia.com/v1alpha1", "CIDRPool"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("scheduling.k8s.io/v1", "PriorityClass"),
    ("scheduling.volcano.sh/v1beta1", "Queue"),
    ("storage.k8s.io/v1", "StorageClass"),
    ("topology.volcano.sh/v1alpha1", "HyperNode"),
    ("v1", "LimitRange"),
    ("v1", "Namespace"),
    ("v1", "ResourceQuota"),
}
"""All that gpuyard renders, by which an object is found that the plan no longer has. Nodes are the cluster's own."""
RIGHTS = "RoleBinding"
"""What is taken away by itself: what else is left over costs nobody's data or network, and a right does."""
PAUSES_S = (2, 5, 10)
"""Between questions that failed, such as while an API server or what it asks is restarted."""
LIMIT_S, EACH_S = 120, 1
"""Within which kubectl has to be done, and what each object adds: some 10 ms on an idle API server."""

Json = dict[str, Any]
Key = tuple[str, str, str]
"""Kind, namespace and name of an object."""


def main(verb: str, groups: list[list[Json]]) -> None:
    """Print what was done, or in `check` what would be."""
    wanted = [each for group in groups for each in group]
    served = {version: read_kinds(version) for version in sorted({each["apiVersion"] for each in wanted} | {v for v, _ in KINDS})}
    nodes = ask("/api/v1/nodes") if any(each["kind"] == "Node" for each in wanted) else None
    joined = {node["metadata"]["name"] for node in (nodes or {}).get("items", [])}
    stale = list_stale(served, {make_key(each) for each in wanted})
    gone = [words for (kind, _, _), words in stale.items() if kind == RIGHTS]
    # First: who leaves the plan loses these rights, whatever becomes of the rest.
    for words in gone if verb == "apply" else []:
        kubectl(*words, "--ignore-not-found")
    changed = bool(gone)
    for group in groups:
        there = [each for each in group if each["kind"] in served[each["apiVersion"]]]
        left = [each for each in there if each["kind"] != "Node" or each["metadata"]["name"] in joined]
        changed = put(verb, left) or changed
    about = {
        "changed": changed,
        "absent": sorted({each["kind"] for each in wanted if each["kind"] not in served[each["apiVersion"]]}),
        "away": [
            each["metadata"]["name"] for each in wanted if each["kind"] == "Node" and each["metadata"]["name"] not in joined
        ],
        "gone": [name_key(key) for key in stale if key[0] == RIGHTS],
        "stale": [f"kubectl {' '.join(words)}" for key, words in stale.items() if key[0] != RIGHTS],
    }
    sys.stdout.write(json.dumps(about) + "\n")


def put(verb: str, objects: list[Json]) -> bool:
    """Apply objects, and return whether it changed any, or would. Where one is refused, nothing comes after these."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    limit_s = LIMIT_S + EACH_S * len(objects)
    # Above 1 is a failure, such as a namespace that is not there yet: applying tells whether it is one.
    changed = bool(objects) and run("diff", *OURS, given=text, limit_s=limit_s)[0] != 0
    if changed and verb == "apply":
        kubectl("apply", *OURS, given=text, limit_s=limit_s)
    return changed


def list_stale(served: dict[str, dict[str, str]], wanted: set[Key]) -> dict[Key, list[str]]:
    """Return what gpuyard applied once and the plan no longer has, each with the words by which kubectl deletes it.

    The API server notes for each field who applied it. What is in a namespace that is left over goes with it.
    """
    found: dict[Key, list[str]] = {}
    for version, kind in sorted(KINDS):
        plural, group = served[version].get(kind), version.rpartition("/")[0]
        if not plural:
            continue
        listed = ask(f"{locate(version)}/{plural}") or {"items": []}
        for each in listed["items"]:
            key = make_key(each | {"kind": kind})
            if key not in wanted and is_ours(each):
                where = [f"--namespace={key[1]}"] if key[1] else []
                found[key] = ["delete", *where, f"{plural}.{group}" if group else plural, key[2]]
    spaces = {name for kind, _, name in found if kind == "Namespace"}
    return {key: words for key, words in found.items() if key[1] not in spaces or key[0] == RIGHTS}


def is_ours(found: Json) -> bool:
    """Return whether gpuyard applied an object that nobody deletes yet."""
    fields = found["metadata"].get("managedFields", [])
    return "deletionTimestamp" not in found["metadata"] and any(
        each.get("manager") == MANAGER and each.get("operation") == "Apply" for each in fields
    )


def make_key(found: Json) -> Key:
    """Return what an object is known by, whatever version its kind has."""
    return found["kind"], found["metadata"].get("namespace", ""), found["metadata"]["name"]


def name_key(key: Key) -> str:
    """Return an object as a person names it: RoleBinding perception/users."""
    return f"{key[0]} {'/'.join(filter(None, key[1:]))}"


def locate(version: str) -> str:
    """Return where the API server has the kinds of an API version."""
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def read_kinds(version: str) -> dict[str, str]:
    """Return the kinds of an API version that the cluster has, each with its plural; nothing where it has no such version."""
    resources: Iterator[Json] = iter((ask(locate(version)) or {"resources": []})["resources"])
    return {each["kind"]: each["name"] for each in resources if "/" not in each["name"]}


def ask(path: str) -> Json | None:
    """Return what the API server has under a path, nothing where it has no such path; all other errors end the program."""
    for pause in (*PAUSES_S, None):
        code, out, err = run("get", "--raw", path)
        if code == 0:
            return dict(json.loads(out))
        if "(NotFound)" in err:
            return None
        if pause is None:
            break
        time.sleep(pause)
    fix = "see kubectl get --raw /readyz?verbose and kubectl get apiservices, then run again"
    sys.exit(f"{path}: {shorten(err)}; expected an answer of the API server; fix: {fix}")


def kubectl(*words: str, given: str | None = None, limit_s: float = LIMIT_S) -> None:
    """Do something as the cluster's administrator; end with the errors where it fails."""
    code, out, err = run(*words, given=given, limit_s=limit_s)
    if code:
        sys.exit(f"kubectl {words[0]}: {shorten(err or out) or code}")


def run(*words: str, given: str | None = None, limit_s: float = LIMIT_S) -> tuple[int, str, str]:
    """Return exit code, output and errors of kubectl as the cluster's administrator."""
    command = ["kubectl", f"--kubeconfig={ADMIN}", "--request-timeout=30s", *words]
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        return 124, "", f"no end in {limit_s:g} s"
    return done.returncode, done.stdout, done.stderr


def shorten(text: str) -> str:
    """Return errors in one line, the last of them where there are many."""
    return " ".join(text.split())[-800:]


if __name__ == "__main__":
    main(sys.argv[1], json.load(sys.stdin))
