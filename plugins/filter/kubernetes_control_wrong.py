# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what forbids to make or to change a control plane, from what its servers said of themselves. It runs on the controller."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from ipaddress import ip_address, ip_interface
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import tell

DOCUMENTATION = r"""
name: kubernetes_control_wrong
short_description: Finds what forbids to make or to change a control plane
description:
  - Judges what all control servers said of themselves against the plan and each other, before anything is changed.
author: gpuyard maintainers
options:
  _input:
    description: >-
      What is rendered (C(cluster), C(first), C(files), C(router)), who there is (C(servers), C(play), C(nodes)), the
      names of C(secrets), what each server said that it has of a cluster (C(looks)), what each host of the play is (C(hosts)),
      and whether this is a dry run (C(check)), in which nothing is missed that an earlier play of the same run would have brought
      about.
    type: dict
    required: true
  part:
    description: >-
      V(all), or V(speaker): what forbids to say anything to the cluster, which takes C(servers), C(looks) and C(check) alone.
      V(silent) is what does not answer and forbids nothing, which takes C(servers), C(play), C(nodes) and C(looks).
    type: str
    choices: [all, speaker, silent]
    default: all
"""

EXAMPLES = r"""
- name: Refuse what cannot work
  ansible.builtin.assert:
    that: about | gpuyard.cluster.kubernetes_control_wrong | length == 0
"""

RETURN = r"""
_value:
  description: What is wrong, a sentence each with place, what is there, what was expected, and how to fix it.
  type: list
  elements: str
"""

REFERENCE = re.compile(r"\{\{gpuyard-secret:([a-z0-9-]+)")
SECRET = re.compile(r"^\s*(?:- )?secret: *['\"]?([^\s'\"]+)", re.MULTILINE)
VERSION = re.compile(r"v1\.([0-9]+)\.")


def kubernetes_control_wrong(about: dict[str, Any], part: str = "all") -> list[str]:
    """Return what is wrong."""
    if part == "speaker":
        return [*_judge_authorities(about, []), *_judge_speaker(about)]
    if part == "silent":
        return list(_list_silent(about))
    return [*_judge_files(about), *_judge_servers(about), *_judge_cluster(about)]


def _judge_speaker(about: dict[str, Any]) -> Iterator[str]:
    """Tell where no API server answers."""
    # In a dry run there may be no cluster yet.
    if not about["check"] and not any(look.get("ready") for look in about["looks"].values()):
        yield tell(
            "kubernetes_control_servers",
            ", ".join(about["servers"]),
            "one of them whose API server answers",
            "run playbooks/kubernetes.yml for the control servers, or see to those that have the cluster",
        )


def _find_minor(version: str) -> int:
    """Return 36 of v1.36.3, less than any where there is none."""
    found = VERSION.match(version)
    return int(found[1]) if found else -9


def _list_having(about: dict[str, Any]) -> list[str]:
    return [name for name in about["servers"] if about["looks"][name].get("state") == "member"]


def _judge_files(about: dict[str, Any]) -> Iterator[str]:
    """Tell what lacks to the files that are delivered, and a key that would lock Secrets up."""
    texts = [file["content"] for file in about["files"]]
    for secret in sorted({name for text in texts for name in REFERENCE.findall(text)}):
        fix = f'set {{{secret}: "{{{{ vault_... }}}}"}}, 32 bytes in Base64, as `head -c 32 /dev/urandom | base64` prints'
        yield tell("kubernetes_control_secrets", f"no {secret}", f"{secret}, which the rendered files name", fix)
    keys = {hashlib.sha256(secret.encode()).hexdigest()[:16] for text in texts for secret in SECRET.findall(text)}
    for name in _list_having(about):
        lost = [key for key in about["looks"][name]["keys"] if key not in keys]
        if lost:
            fix = "give the secret that the cluster was made with; without it nobody reads its Secrets any more"
            yield tell(f"{name}: encryption.yaml", "another key", "a key that this run has too", fix)


def _judge_servers(about: dict[str, Any]) -> Iterator[str]:
    """Tell what is wrong with single servers of this play."""
    wanted = str(about["cluster"]["kubernetesVersion"])
    endpoint = str(about["cluster"].get("controlPlaneEndpoint", "")).rpartition(":")[0]
    for name in about["servers"]:
        look, node = about["looks"][name], about["nodes"][name]
        if name not in about["hosts"] or not look:
            continue
        if not node["address"]:
            yield tell(
                name,
                "no control server in the tree",
                f"kubernetes/kubeadm/join/{node['node']}.yaml",
                "gpuyard render the cluster",
            )
            continue
        if look["running"]:
            fix = "wait until it has ended, then run again; see ps -C kubeadm"
            yield tell(f"{name}: kubeadm", "one runs there now", "none, since a run that was cut off may go on", fix)
        if look["state"] == "remains":
            yield _tell_remains(about, name)
        if look["state"] == "member" and look["name"] not in ("", node["node"]):
            fix = f"rename it back in the plan, or take it out: playbooks/kubernetes_remove.yml -e node={look['name']}"
            yield tell(f"{name}: node's name", look["name"], node["node"], fix)
        addresses = [ip_interface(address) for address in about["hosts"][name]["addresses"]]
        if ip_address(node["address"]) not in [address.ip for address in addresses]:
            yield tell(
                f"{name}: addresses",
                ", ".join(about["hosts"][name]["addresses"]),
                f"{node['address']}, which its API server is to listen on",
                "run playbooks/network.yml, or render the plan that the server is installed by",
            )
        yield from _judge_endpoint(about, name, endpoint, addresses)
        if look["state"] in ("none", "half"):
            yield from _judge_new(about, name, wanted)


def _tell_remains(about: dict[str, Any], name: str) -> str:
    """Tell what a server has of a cluster that is not whole. What runs there, or could, nobody is told to remove."""
    look, lacks = about["looks"][name], [part for part, there in about["looks"][name]["parts"].items() if not there]
    if all(part.endswith("/admin.conf") for part in lacks):
        # Source: Kubernetes documentation, kubeadm init phase kubeconfig admin. With these it needs no file, and asks nobody.
        words = (
            "kubeadm init phase kubeconfig admin",
            f"--control-plane-endpoint={about['cluster'].get('controlPlaneEndpoint', '')}",
            f"--apiserver-advertise-address={about['nodes'][name]['address']}",
            f"--kubernetes-version={about['hosts'][name]['kubeadm'] or about['cluster']['kubernetesVersion']}",
        )
        fix = f"put it back, or have it made again, there: {' '.join(words)}"
        return tell(name, "no /etc/kubernetes/admin.conf", "it, by which this role speaks to the cluster", fix)
    if look["serves"]:
        fix = "bring back what lacks, as from a copy of the server"
        return tell(name, f"no {', '.join(lacks)}, and an API server that answers", "a whole control server", fix)
    there = [part for part, is_there in look["parts"].items() if is_there]
    fix = f"complete it by hand, or run there: kubeadm reset --force; rm -rf {' '.join(there)}"
    return tell(name, f"only {', '.join(there)}", "a whole control server, or nothing of one", fix)


def _judge_endpoint(about: dict[str, Any], name: str, endpoint: str, addresses: list[Any]) -> Iterator[str]:
    """Tell an endpoint that does not lead to the cluster from here."""
    # In a dry run the role kubernetes_node has not written it yet.
    resolved = about["hosts"][name]["endpoint"]
    if not resolved and not about["check"]:
        fix = "run playbooks/kubernetes.yml without --tags, whose first play writes it into /etc/hosts"
        yield tell(f"{name}: {endpoint}", "no address", "an address of that name", fix)
    if about["router"] and about["hosts"][name]["keepalived"] == "others":
        fix = "have another host hold that address and remove the file, or plan kubernetes.endpoint.mode: local"
        yield tell(f"{name}: /etc/keepalived/keepalived.conf", "not ours", "a keepalived for the API server's address alone", fix)
    shared = re.search(r"virtual_ipaddress \{\s*([0-9a-f.:]+)/", about["router"])
    if not shared:
        return
    address = ip_address(shared[1])
    if not any(address in own.network and own.network.prefixlen < own.max_prefixlen for own in addresses):
        yield tell(
            f"{name}: kubernetes.endpoint.address",
            str(address),
            f"an address in a network of the server: {', '.join(str(own) for own in addresses)}",
            "choose one of the subnet of the control servers, or mode local",
        )
    if resolved and str(address) not in resolved and not about["check"]:
        fix = "have the name's address changed in DNS or /etc/hosts"
        yield tell(f"{name}: {endpoint}", ", ".join(resolved), str(address), fix)


def _judge_new(about: dict[str, Any], name: str, wanted: str) -> Iterator[str]:
    """Tell what forbids to make a server: kubeadm makes clusters of its own minor version and of the one before.

    To a cluster that is there it adds servers of the cluster's own: a kubelet may not be newer than any API server, and kubeadm
    makes no control plane newer than itself. Source: Kubernetes documentation, version skew policy.
    """
    host = about["hosts"][name]
    # In a dry run the role kubernetes_node has not installed the plan's version yet.
    have = wanted if about["check"] else host["kubeadm"]
    running = {other: about["looks"][other]["version"] for other in _list_having(about) if about["looks"][other]["version"]}
    oldest = min(running, key=lambda other: _find_minor(running[other]), default="")
    if oldest:
        minor = _find_minor(running[oldest])
        if _find_minor(have) != minor:
            fix = f'say version: "1.{minor}" under kubernetes in the intent, and render'
            fix = f"join it after the upgrade, or {fix}" if _find_minor(have) > minor else fix
            yield tell(f"{name}: kubeadm", have or "not there", f"v1.{minor}, since {oldest} has {running[oldest]}", fix)
    elif _find_minor(have) - _find_minor(wanted) not in (0, 1):
        yield tell(
            f"{name}: kubeadm",
            have or "not there",
            f"{wanted}, or the minor version after it",
            "name the packages' repository of that version, and run playbooks/kubernetes.yml",
        )
    for folders, free in host["free"]:
        needed = len(folders) * about["free_gb"]
        if free < needed:
            fix = "make room, give them a disk of their own, or set kubernetes_control_free_gb where the cluster stays small"
            yield tell(f"{name}: {' and '.join(folders)}", f"{free:g} GB free", f"{needed:g} GB or more", fix)


def _judge_cluster(about: dict[str, Any]) -> Iterator[str]:
    """Tell what forbids to change the cluster as a whole."""
    looks, having = about["looks"], _list_having(about)
    silent = [name for name in about["servers"] if not looks[name]]
    turns = [name for name in about["servers"] if name in about["play"] and looks[name].get("state") in ("none", "half")]
    yield from _judge_authorities(about, [name for name in turns if looks[name]["state"] == "none"])
    yield from _judge_members(about, having)
    if not turns:
        return
    if not having:
        first = about["servers"][0]
        if about["nodes"][first]["node"] != about["first"]:
            fix = "give the servers in the order of the plan"
            yield tell("kubernetes_control_servers", first, f"{about['first']} first, which init.yaml is made for", fix)
        if silent:
            fix = "bring them up; a run before anybody knows whether they have the cluster could make a second one"
            yield tell(
                "control servers", f"{', '.join(silent)}: no answer", "an answer of each, since none other has the cluster", fix
            )
        elif first not in about["play"]:
            fix = f"leave out --limit, or name {first} in it"
            yield tell("play", ", ".join(about["play"]), f"{first} in it, on which the cluster is made", fix)
        return
    yield from _judge_quorum(about, having, turns)


def _list_members(about: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    """Return the first server whose API server answers, and etcd's members as it has them; nothing where there is none."""
    answering = next((name for name in about["servers"] if about["looks"][name].get("ready")), "")
    return answering, about["looks"][answering]["members"] if answering else []


def _judge_members(about: dict[str, Any], having: list[str]) -> Iterator[str]:
    """Tell servers that have all of a cluster and no member of etcd, such as one that was taken out as lost and came back."""
    answering, members = _list_members(about)
    for name in having:
        look = about["looks"][name]
        node = look["name"] or about["nodes"][name]["node"]
        if members and look["ca"] == about["looks"][answering]["ca"] and node not in [member["name"] for member in members]:
            fix = f"take it out whole, then run again, and it joins: playbooks/kubernetes_remove.yml -e node={node}"
            yield tell(f"{name}: etcd", f"no member {node} on {answering}", "it among etcd's members", fix)


def _list_silent(about: dict[str, Any]) -> Iterator[str]:
    """Return what does not answer of a cluster that is there. It forbids nothing: the cluster does without it."""
    having, (_, members) = _list_having(about), _list_members(about)
    down = [member["name"] for member in members if not member["answers"]]
    known = [about["nodes"][name]["node"] for name in about["servers"]]
    for name in about["servers"] if having else []:
        node, look = about["nodes"][name]["node"], about["looks"][name]
        if not look:
            yield f"{name} (no answer at all)"
        elif name in having and not look["ready"]:
            yield f"{name} (no answer of its API server)"
        elif node in down and (name in having or name not in about["play"]):  # others are made anew
            yield f"{name} (no answer of its etcd)"
    yield from (
        f"{member['name'] or member['peer']} (no answer of its etcd)"
        for member in members
        if not member["answers"] and member["name"] not in known
    )


def _judge_authorities(about: dict[str, Any], new: list[str]) -> Iterator[str]:
    """Tell servers that have another cluster's CA, or would join with it. The cluster is the one that most servers have."""
    having = [name for name in _list_having(about) if about["looks"][name]["ca"]]
    found = Counter(about["looks"][name]["ca"] for name in having).most_common()
    if not found:
        return
    if len(found) > 1 and found[0][1] == found[1][1]:
        fix = "see which cluster is the right one, and run kubeadm reset --force on the servers of the others, then run again"
        yield tell(f"{', '.join(having)}: /etc/kubernetes/pki/ca.crt", "CAs of several clusters", "one CA", fix)
        return
    cluster, _ = found[0]
    strangers = [name for name in [*having, *new] if about["looks"][name]["ca"] not in ("", cluster)]
    if strangers:
        meant = ", ".join(name for name in having if about["looks"][name]["ca"] == cluster)
        fix = f"if that is the right cluster, run kubeadm reset --force on {', '.join(strangers)}, then run again"
        yield tell(f"{', '.join(strangers)}: /etc/kubernetes/pki/ca.crt", "another cluster's CA", f"the CA of {meant}", fix)


def _judge_quorum(about: dict[str, Any], having: list[str], turns: list[str]) -> Iterator[str]:
    """Tell where etcd would be left without a majority.

    A server that joins counts before it answers, in versions of kubeadm below 1.29 at once: with a silent member beside it, one
    more that fails stops etcd.
    """
    answering, members = _list_members(about)
    if not answering:
        fix = "see journalctl -u kubelet and crictl ps -a there; boot control servers that are down"
        yield tell(", ".join(having), "no API server answers", "one that does, before others join", fix)
        return
    leaving = {about["nodes"][name]["node"] for name in turns}
    up = [member["name"] for member in members if member["answers"]]
    down = [member["name"] or member["peer"] for member in members if not member["answers"] and member["name"] not in leaving]
    if down or len(up) < len(members) // 2 + 1:
        yield tell(
            "etcd",
            f"{len(up)} of {len(members)} members answer{', not ' + ', '.join(down) if down else ''}",
            f"all but {', '.join(turns)}, before the number of members changes",
            "bring them up, or take them out: playbooks/kubernetes_remove.yml -e node=NAME",
        )


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"kubernetes_control_wrong": kubernetes_control_wrong}
