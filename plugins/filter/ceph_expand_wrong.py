# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what forbids hosts to come to a Ceph that has data. It runs on the controller."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import tell

DOCUMENTATION = r"""
name: ceph_expand_wrong
short_description: Finds what forbids hosts to come to a Ceph that has data
description:
  - Judges what the cluster says of itself against the plan and the hosts that are to come, before anything is changed.
author: gpuyard maintainers
options:
  _input:
    description: >-
      C(plan), what ceph/objects.yaml has; C(hosts), those that come; C(outside), the time of day where that is
      none for it, else empty; C(look), what a host with a monitor told, as
      files/expand.py of role ceph_expand prints it, empty where none answers; and C(silent), what those said instead.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Refuse what cannot go well
  ansible.builtin.assert:
    that: about | gpuyard.cluster.ceph_expand_wrong | length == 0
"""

RETURN = r"""
_value:
  description: What is wrong, a sentence each with place, what is there, what was expected, and how to fix it.
  type: list
  elements: str
"""

OLD = (
    "",
    "argonaut",
    "bobtail",
    "cuttlefish",
    "dumpling",
    "emperor",
    "firefly",
    "giant",
    "hammer",
    "infernalis",
    "jewel",
    "kraken",
)
"""Releases whose clients know no pg-upmap-items. Source: Ceph's documentation, Using pg-upmap."""


def ceph_expand_wrong(about: dict[str, Any]) -> list[str]:
    """Return what is wrong."""
    if not about["look"]:
        silent = "; ".join(dict.fromkeys(said.strip() for said in about["silent"]))
        found = f"no host of group ceph_monitor answers for the cluster: {silent}"
        return [tell("Ceph", found, "one", "see ceph status there")]
    return [*_judge_hosts(about), *_judge_hour(about), *_judge_cluster(about["look"])]


def _judge_hosts(about: dict[str, Any]) -> Iterator[str]:
    """Tell where the plan and the hosts are not those of the cluster."""
    plan, look = about["plan"], about["look"]
    if look["fsid"] != plan["fsid"]:
        fix = "run it with the inventory of the plan of that cluster"
        yield tell("fsid of the cluster that answers", look["fsid"], f"{plan['fsid']}, the planned one", fix)
    if not about["hosts"]:
        fix = """-e '{"ceph_osd_grow": ["storage-004"]}'"""
        yield tell("ceph_expand_hosts", [], "hosts whose OSDs come", fix)
    unplanned = [host for host in about["hosts"] if host not in plan["hosts"]]
    if unplanned:
        fix = "plan and render the cluster with it, and run with its inventory"
        yield tell("ceph_expand_hosts", ", ".join(unplanned), "hosts with OSDs in the plan", fix)
    fresh = look["fresh"]
    if fresh and not look["hosts"] and set(fresh) != set(look["lacking"]):
        names = '", "'.join(fresh)
        found = f"{', '.join(fresh)}, on whose class of drives nothing lies, among others"
        fix = f"""let these come first: -e '{{"ceph_osd_grow": ["{names}"]}}'"""
        yield tell("ceph_expand_hosts", found, "those that come in steps, or those that come at once", fix)
    if look["hosts"] and set(look["hosts"]) != set(about["hosts"]):
        names = '", "'.join(look["hosts"])
        fix = f"""let these come first: -e '{{"ceph_osd_grow": ["{names}"]}}'"""
        yield tell(
            "ceph_expand_hosts", f"{', '.join(about['hosts'])}, while {', '.join(look['hosts'])} come", "one word at a time", fix
        )


def _judge_hour(about: dict[str, Any]) -> Iterator[str]:
    """Tell where the plan has data move at other hours."""
    if about["outside"]:
        hours = about["plan"]["maintenance"]
        fix = "run it then, or with -e ceph_expand_now=true"
        if about["look"]["hosts"]:  # the step of a run that was cut off goes on, and its profile stays
            fix += f"; after a run that was cut off in a step: ceph config set osd osd_mclock_profile {hours['usual_profile']}"
        planned = f"{hours['begin']} to {hours['end']}, as ceph.maintenance.window of the plan"
        yield tell("time of day", about["outside"], planned, fix)


def _judge_cluster(look: dict[str, Any]) -> Iterator[str]:
    """Tell what forbids to begin, or to go on."""
    if look["client"] in OLD:
        fix = "see ceph features; then ceph osd set-require-min-compat-client luminous"
        yield tell("require-min-compat-client", look["client"], "luminous or later, whose clients know where data is pinned", fix)
    if look["flags"]:
        fix = f"ceph osd unset {look['flags'][0]}, once whoever set it agrees"
        yield tell("flags of the cluster", ", ".join(look["flags"]), "none that stop data from coming to OSDs", fix)
    if look["hosts"] or not look["lacking"]:
        return
    if look["unclean"]:
        fix = "see ceph health detail, and run it once they are"
        yield tell("Ceph", look["unclean"], "all active+clean before more hosts come", fix)
    if look["splitting"]:
        fix = "see ceph osd pool ls detail, and run it once that is done"
        yield tell(
            "Ceph", f"placement groups of {', '.join(look['splitting'])} are being split or merged", "as many as planned", fix
        )


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"ceph_expand_wrong": ceph_expand_wrong}
