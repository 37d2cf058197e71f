# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what forbids to exchange the drive of an OSD of Ceph, by what the cluster says of it. It runs on the controller."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import tell

DOCUMENTATION = r"""
name: ceph_osd_replace_wrong
short_description: Finds what forbids to exchange the drive of an OSD of Ceph
description:
  - Judges what the cluster says of an OSD, and of the others on its drive, against what shall be done with them.
author: gpuyard maintainers
options:
  _input:
    description: >-
      C(fsid), the plan's; C(number), of the OSD; C(drive), C(drain), C(lost) or C(new), as the role's argument says it; C(found),
      what a host with a monitor said, as verb find of files/osd.py of role ceph_osd prints it, empty where none answers;
      C(silent), what hosts said that did not answer; and C(run), hosts of the run.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Refuse what cannot work
  ansible.builtin.assert:
    that: about | gpuyard.cluster.ceph_osd_replace_wrong | length == 0
"""

RETURN = r"""
_value:
  description: What is wrong, a sentence each with place, what is there, what was expected, and how to fix it.
  type: list
  elements: str
"""


def ceph_osd_replace_wrong(about: dict[str, Any]) -> list[str]:
    """Return what is wrong."""
    found = about["found"]
    if not found:
        silent = "; ".join(dict.fromkeys(said.strip() for said in about["silent"]))
        value = f"no host of group ceph_monitor answers for the cluster: {silent}"
        return [tell("Ceph", value, "one", "see ceph status there")]
    return [*_judge_place(about, found), *_judge_drive(about, found)]


def _judge_place(about: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    """Tell where the cluster is another one, or the OSD is on no host of the run."""
    name, fsid = f"osd.{about['number']}", about["fsid"]
    if found["fsid"] != fsid:
        fix = "run it with the inventory of the plan of that cluster"
        yield tell("fsid of the cluster that answers", found["fsid"], f"{fsid}, the planned one", fix)
    if not found["osds"] and not found["destroyed"]:
        yield tell(name, "not in the cluster", "one that it has", "see ceph osd tree")
    elif found["host"] not in about["run"]:
        purge = f"ceph osd purge {about['number']} once Ceph has rebuilt what it held"
        fix = f"leave out --limit; where the host is gone, {purge}"
        value = f"on {found['host'] or 'no host'}, which is not in the run"
        yield tell(name, value, "a host that can be reached and has packages", fix)


def _judge_drive(about: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    """Tell where the OSDs of the drive are not as they are when it is lost, or a new one is there."""
    name, drive, osds = f"osd.{about['number']}", about["drive"], found["osds"]
    up = ", ".join(f"osd.{osd['number']}" for osd in osds if osd["up"])
    if drive == "lost" and up:
        fix = "leave out -e drive=lost, and data moves off it first"
        yield tell(name, f"{up} up", "OSDs that are down where their drive is lost", fix)
    # One that is new was made on the new drive, by a run that was cut off before it came up.
    if drive == "new" and any(not osd["up"] and not osd["new"] for osd in osds):
        fix = "run it without -e drive=new first, or with -e drive=lost"
        yield tell(name, "down, and not destroyed", "one that was taken out", fix)
    if drive == "lost" and osds and found["dead"]:
        value = "placement groups do not serve, and its drive may have their last copy"
        yield tell(name, value, "all active", "see ceph health detail; bring it back")


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"ceph_osd_replace_wrong": ceph_osd_replace_wrong}
