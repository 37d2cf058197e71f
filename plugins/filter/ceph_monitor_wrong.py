# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what forbids to make or to start monitors of Ceph, from what their hosts said of themselves. It runs on the controller."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
    beginning = list(_judge_beginning(plan, looks))
    if not beginning and not about["begin"]:
        found = "no host of this run has a monitor, and none answers"
        fix = "-e ceph_monitor_begin=true, once, if there never was one; OSDs of an earlier one would be strangers to it"
        beginning = [tell("ceph_monitor_begin", found, "the cluster, or the word to begin it", fix)]
    return [*faults, *beginning]


def _judge_host(plan: dict[str, Any], host: str, look: dict[str, Any]) -> Iterator[str]:
    """Tell what is wrong with a host, and with the cluster that answers it."""
    address = plan["monitors"].get(host)
    if address is None:
        fix = "gpuyard render the cluster, and run with its inventory"
        yield tell(host, "no monitor in the plan", f"one of {', '.join(plan['monitors'])}", fix)
        return
    if look["host_name"] != host:
        fix = "run playbooks/base.yml, which sets it"
        yield tell(f"{host}: host name", look["host_name"], f"{host}, by which the cluster knows its monitor", fix)
    if not look["has_address"]:
        yield tell(f"{host}: {address}", "not an address of the host", "it, for its monitor", "run playbooks/network.yml")
    if look["fsid"] not in ("", plan["fsid"]):
        fix = "set ceph.fsid to that id if the plan is meant for it; if that cluster is gone, remove what is left of it"
        yield tell(f"{host}: fsid in /etc/ceph/ceph.conf", look["fsid"], f"{plan['fsid']}, the planned cluster", fix)
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
    if cluster["fsid"] != plan["fsid"]:
        fix = "see who has the addresses of mon_host in /etc/ceph/ceph.conf"
        yield tell(f"{host}: fsid of the cluster that answers", cluster["fsid"], f"{plan['fsid']}, the planned cluster", fix)
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


def _judge_beginning(plan: dict[str, Any], looks: dict[str, Any]) -> Iterator[str]:
    """Tell why no cluster may be begun: one with this id may be there, on hosts that nobody has asked."""
    absent = [name for name in plan["monitors"] if name not in looks]
    if absent:
        said = f"no host of this run has one, and these were not asked: {', '.join(absent)}"
        fix = "have one that has a monitor in the run too, or, where none was ever made, all of them: without --limit, all up"
        yield tell("monitors", said, "a monitor, or the answer of all hosts that there is none", fix)
    listening = {name: host for host, look in looks.items() for name in look["listening"]}
    for name, host in sorted(listening.items()):
        said = f"port 3300 or 6789 of {plan['monitors'][name]} answers {host}, and no host of this run has a monitor"
        yield tell(f"monitor {name}", said, "nobody there before the cluster is begun", "see who listens there")
    for host, look in looks.items():
        strangers = [address for address in look["told"] if address not in plan["monitors"].values()]
        if look["fsid"] == plan["fsid"] and strangers:
            said = f"{', '.join(strangers)}, of the planned cluster, where the plan has no monitor"
            fix = "plan monitors there too, so that new ones join them; take them out afterwards"
            yield tell(f"{host}: mon_host in /etc/ceph/ceph.conf", said, "none beside the plan's before a cluster is begun", fix)
        if look["osds"]:
            fix = "make the monitors' store from the OSDs (Ceph's documentation, recovery using OSDs); or take these away"
            yield tell(f"{host}: /var/lib/ceph/osd", ", ".join(look["osds"]), "no OSD before the cluster is begun", fix)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"ceph_monitor_wrong": ceph_monitor_wrong}
