# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what forbids to begin a Ceph by cephadm, or to go on with one, from what hosts said. It runs on the controller."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.ceph_hosts import (
    judge_answer,
    judge_beginning,
    judge_identity,
    judge_word,
)
from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import tell

DOCUMENTATION = r"""
name: ceph_cephadm_wrong
short_description: Finds what forbids to begin a Ceph by cephadm, or to go on with one
description:
  - Judges what all hosts of the run said of themselves against the plan and each other, before anything is changed.
author: gpuyard maintainers
options:
  _input:
    description: >-
      C(plan), what ceph/objects.yaml has; C(addresses), name to address of all hosts with daemons; C(looks), what each host of
      the run said, as files/cephadm.py of role ceph_cephadm prints it; and C(begin), whether a cluster may be begun where none of
      them has a monitor.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Refuse what cannot work
  ansible.builtin.assert:
    that: about | gpuyard.cluster.ceph_cephadm_wrong | length == 0
"""

RETURN = r"""
_value:
  description: What is wrong, a sentence each with place, what is there, what was expected, and how to fix it.
  type: list
  elements: str
"""


def ceph_cephadm_wrong(about: dict[str, Any]) -> list[str]:
    """Return what is wrong."""
    plan, looks = about["plan"], about["looks"]
    faults = [fault for host, look in looks.items() for fault in _judge_host(about, host, look)]
    halves = {host for host, look in looks.items() if look["half"]}  # where a run was cut off in beginning the cluster
    clusters = [(host, look["cluster"]) for host, look in looks.items() if look["cluster"] and host not in halves]
    if clusters:
        faults += [fault for host, cluster in clusters for fault in _judge_cluster(plan, host, cluster)]
        return list(dict.fromkeys(faults))
    others = {host: {**look, "listening": set(look["listening"]) - halves} for host, look in looks.items()}
    beginning = [*judge_beginning(plan, others), *_judge_traces(plan, looks)]
    absent = [host for host in about["addresses"] if host not in looks]
    if halves and absent:  # what is begun anew is removed first
        found = f"{', '.join(sorted(halves))} has what a run left that was cut off, and these were not asked: {', '.join(absent)}"
        fix = "run without --limit, with all hosts up: OSDs there would be of a cluster that is there"
        beginning.append(tell("hosts", found, "the answer of all hosts that they have no OSD", fix))
    return [*faults, *(beginning or judge_word("ceph_cephadm_begin", about["begin"]))]


def _judge_host(about: dict[str, Any], host: str, look: dict[str, Any]) -> Iterator[str]:
    """Tell what is wrong with a host."""
    plan, address = about["plan"], about["addresses"].get(host)
    if address is None:
        fix = "gpuyard render the cluster, and run with its inventory"
        yield tell(host, "no daemon in the plan", "a host with some", fix)
        return
    yield from judge_identity(plan["fsid"], host, address, look, "host")
    if look["packaged"]:
        fix = "plan ceph.deploy: packages; or have cephadm take them over by hand (cephadm adopt)"
        yield tell(f"{host}: daemons from packages", ", ".join(look["packaged"]), "none beside those of cephadm", fix)
    strangers = [fsid for fsid in look["clusters"] if fsid != plan["fsid"]]
    if strangers:
        fix = "if that cluster may go with all that it holds, cephadm rm-cluster; or set ceph.fsid, if the plan is meant for it"
        yield tell(f"{host}: daemons of cephadm", f"of cluster {', '.join(strangers)}", f"none but {plan['fsid']}'s", fix)


def _judge_cluster(plan: dict[str, Any], host: str, cluster: dict[str, Any]) -> Iterator[str]:
    """Tell what is wrong with the cluster that answers a host."""
    strange = list(judge_answer(plan["fsid"], host, cluster))
    if strange:
        yield from strange
        return
    for name, address in plan["monitors"].items():
        if cluster["monitors"].get(name, address) != address:
            fix = f"one at a time, with a run between each: ceph orch daemon rm mon.{name} --force"
            if len(cluster["monitors"]) == 1:
                fix = "plan it where it is; it is the only one"
            yield tell(f"monitor {name}", f"the cluster has it at {cluster['monitors'][name]}", address, fix)


def _judge_traces(plan: dict[str, Any], looks: dict[str, Any]) -> Iterator[str]:
    """Tell what is there of a cluster that does not answer, but for what a run left that was cut off in beginning it."""
    for host, look in looks.items():
        found = [name for name in look["daemons"] if not look["half"] or name.startswith("osd.")]
        if found:
            fix = f"systemctl start ceph-{plan['fsid']}.target there, or see why it does not answer: {look['why']}"
            yield tell(f"{host}: /var/lib/ceph/{plan['fsid']}", ", ".join(found), "no daemon before the cluster is begun", fix)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"ceph_cephadm_wrong": ceph_cephadm_wrong}
