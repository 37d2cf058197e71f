# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what forbids to remove a cluster of Ceph, by what all of its hosts have. It runs on the controller."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import tell

DOCUMENTATION = r"""
name: ceph_purge_wrong
short_description: Finds what forbids to remove a cluster of Ceph
description:
  - Judges the typed id, hosts that are missing, and what is on those of the run that is not the cluster's or is still in use.
author: gpuyard maintainers
options:
  _input:
    description: >-
      C(fsid), the plan's; C(typed), what was typed; C(looks), what each host of the run that could be reached told, by name, as
      files/purge.py of role ceph_purge prints it; C(groups), hosts of the inventory by group; C(run), hosts of the run; and
      C(lost), those that never come back.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Refuse what cannot be meant
  ansible.builtin.assert:
    that: about | gpuyard.cluster.ceph_purge_wrong | length == 0
"""

RETURN = r"""
_value:
  description: What is wrong, a sentence each with place, what is there, what was expected, and how to fix it.
  type: list
  elements: str
"""

DAEMONS = ("ceph_monitor", "ceph_osd", "ceph_mds", "ceph_rgw")
"""Groups of hosts with daemons."""
CONF = "/etc/ceph/ceph.conf"
MOST = 20
"""Hosts that are told of by name where they are missing."""


def ceph_purge_wrong(about: dict[str, Any]) -> list[str]:
    """Return what is wrong."""
    looks = about["looks"]
    return [
        *_judge_word(about),
        *_judge_missing(about),
        *(fault for host, look in looks.items() for fault in _judge_host(host, look, about["fsid"])),
    ]


def _judge_word(about: dict[str, Any]) -> Iterator[str]:
    """Tell where the typed id is not the planned cluster's."""
    if about["typed"] != about["fsid"]:
        fix = (
            f"-e ceph_purge_fsid={about['fsid']}, if it shall be removed with all data; else take the inventory of the other one"
        )
        yield tell("ceph_purge_fsid", about["typed"] or "not set", f"{about['fsid']}, the planned cluster", fix)


def _judge_missing(about: dict[str, Any]) -> Iterator[str]:
    """Tell which hosts of the plan are missing: what is left on them would be of no cluster."""
    groups, lost = about["groups"], set(about["lost"])
    packages = groups.get("ceph_packages", ())
    planned = dict.fromkeys(host for group in DAEMONS for host in groups.get(group, ()) if host in packages)
    clients = dict.fromkeys(groups.get("ceph_client", ()))
    if not planned:
        fix = "cephadm rm-cluster removes what cephadm made; or run with the inventory of a plan with ceph.deploy: packages"
        yield tell("ceph_packages", "no host with daemons", "those of a Ceph from packages", fix)
    missing = [host for host in [*planned, *(host for host in clients if host not in planned)] if host not in about["looks"]]
    for host in [host for host in missing if host not in lost][:MOST]:
        found = "not reached" if host in about["run"] else "not in this run"
        fix = "leave out --limit, or have it reachable"
        word = f"""if it never comes back, -e '{{"ceph_purge_lost": ["{host}"]}}'"""
        yield tell(host, found, f"all {'hosts' if host in planned else 'clients'} of the cluster at once", f"{fix}; {word}")
    if len([host for host in missing if host not in lost]) > MOST:
        yield f"and {len([host for host in missing if host not in lost]) - MOST} more hosts are missing"
    for host in about["lost"]:
        if host not in planned and host not in clients:
            yield tell("ceph_purge_lost", host, "a host of the plan", "see ansible-inventory --graph for its name")


def _judge_host(host: str, look: dict[str, Any], fsid: str) -> Iterator[str]:
    """Tell what forbids to remove what a host has."""
    if look["busy"]:
        yield tell(host, "another run makes or removes daemons there", "one run at a time", "wait until it has ended")
    if look["fsid"] not in ("", fsid):
        fix = "run with the inventory of that cluster's plan; if it is gone, take the file away"
        yield tell(f"{host}: fsid in {CONF}", look["fsid"], f"{fsid}, the planned cluster", fix)
    if look["cephadm"]:
        fix = "cephadm rm-cluster there, if it may go"
        yield tell(f"{host}: daemons of cephadm", f"of cluster {', '.join(look['cephadm'])}", "none beside packages", fix)
    if look["unknown"]:
        fix = f"put {CONF} back, if they are the planned cluster's; else take them away by hand"
        yield tell(host, f"{', '.join(look['unknown'])} and no {CONF}", f"{CONF}, which says whose they are", fix)
    for folder, whose in look["strange"].items():
        fix = "see what it is, and take it away by hand, if it may go"
        yield tell(f"{host}: {folder}", whose, f"OSDs of cluster {fsid} on volumes of LVM", fix)
    if look["mixed"]:
        fix = "see lvs -o +lv_tags there, and take away by hand what may go"
        yield tell(f"{host}: OSD {', '.join(look['mixed'])}", "volumes of two clusters", "all of one", fix)
    for place in look["mounted"]:
        fix = f"umount {place} there, once nobody uses it (fuser -m {place})"
        yield tell(host, f"Ceph is mounted at {place}", "nothing that uses it", fix)
    for device in look["mapped"]:
        fix = f"rbd unmap {device.partition(' ')[0]} there, once nobody uses it"
        yield tell(host, f"{device} is mapped", "nothing that uses it", fix)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"ceph_purge_wrong": ceph_purge_wrong}
