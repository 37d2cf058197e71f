# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what forbids to make or to start monitors of Ceph, from what their hosts said of themselves. It runs on the controller."""

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
name: ceph_monitor_wrong
short_description: Finds what forbids to make or to start monitors of Ceph
description:
  - Judges what all hosts of the run said of themselves against the plan and each other, before anything is changed.
author: gpuyard maintainers
options:
  _input:
    description: >-
      C(plan), what ceph/objects.yaml has; C(looks), what each host of the run said, as files/monitor.py of role ceph_monitor
      prints it; and C(begin), whether a cluster may be begun where none of them has a monitor.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Refuse what cannot work
  ansible.builtin.assert:
    that: about | gpuyard.cluster.ceph_monitor_wrong | length == 0
"""

RETURN = r"""
_value:
  description: What is wrong, a sentence each with place, what is there, what was expected, and how to fix it.
  type: list
  elements: str
"""


def ceph_monitor_wrong(about: dict[str, Any]) -> list[str]:
    """Return what is wrong."""
    plan, looks = about["plan"], about["looks"]
    faults = list(dict.fromkeys(fault for host, look in looks.items() for fault in _judge_host(plan, host, look)))
    if any(look["monitor"] or look["cluster"] for look in looks.values()):
        return faults
    beginning = [*judge_beginning(plan, looks), *_judge_osds(looks)]
    return [*faults, *(beginning or judge_word("ceph_monitor_begin", about["begin"]))]


def _judge_host(plan: dict[str, Any], host: str, look: dict[str, Any]) -> Iterator[str]:
    """Tell what is wrong with a host, and with the cluster that answers it."""
    address = plan["monitors"].get(host)
    if address is None:
        fix = "gpuyard render the cluster, and run with its inventory"
        yield tell(host, "no monitor in the plan", f"one of {', '.join(plan['monitors'])}", fix)
        return
    yield from judge_identity(plan["fsid"], host, address, look, "monitor")
    if look["whole"]:
        fix = "systemctl disable --now ceph-mon.service there, and run again"
        yield tell(f"{host}: ceph-mon.service", "runs, or would", f"ceph-mon@{host} alone, for the same store", fix)
    if look["others"]:
        fix = "if it may go, ceph mon remove it, stop it, and move its folder away"
        yield tell(f"{host}: /var/lib/ceph/mon", ", ".join(look["others"]), f"ceph-{host} alone", fix)
    if look["cephadm"]:
        fix = "plan ceph.deploy: cephadm; or, if that cluster may go with all that it holds, cephadm rm-cluster"
        yield tell(f"{host}: daemons of cephadm", f"of cluster {', '.join(look['cephadm'])}", "none beside packages", fix)
    if look["cluster"]:
        yield from _judge_cluster(plan, host, look["cluster"])


def _judge_cluster(plan: dict[str, Any], host: str, cluster: dict[str, Any]) -> Iterator[str]:
    """Tell what is wrong with the cluster that answers a host."""
    strange = list(judge_answer(plan["fsid"], host, cluster))
    if strange:
        yield from strange
        return
    elsewhere = [name for name, address in plan["monitors"].items() if cluster["monitors"].get(name, address) != address]
    for name in elsewhere:
        away = f"move /var/lib/ceph/mon/ceph-{name} away, and run again"
        fix = f"systemctl disable --now ceph-mon@{name} there, ceph mon remove {name}, {away}"
        if len(elsewhere) > 1:
            fix = f"one at a time, with a run between each: {fix}"
        if len(cluster["monitors"]) == len(elsewhere):
            fix = "change the addresses in the monitors' own map: ceph-mon --extract-monmap, monmaptool, ceph-mon --inject-monmap"
        yield tell(f"monitor {name}", f"the cluster has it at {cluster['monitors'][name]}", plan["monitors"][name], fix)


def _judge_osds(looks: dict[str, Any]) -> Iterator[str]:
    """Tell which hosts have OSDs, to which a cluster that is begun would be a stranger."""
    for host, look in looks.items():
        if look["osds"]:
            fix = "make the monitors' store from the OSDs (Ceph's documentation, recovery using OSDs); or take these away"
            yield tell(f"{host}: /var/lib/ceph/osd", ", ".join(look["osds"]), "no OSD before the cluster is begun", fix)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"ceph_monitor_wrong": ceph_monitor_wrong}
