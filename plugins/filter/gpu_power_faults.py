# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what cannot be right about the arguments of role gpu_power. It runs on the controller."""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import list_twice, tell

DOCUMENTATION = r"""
name: gpu_power_faults
short_description: Finds what cannot be right about the arguments of role gpu_power
description:
  - Holds limits to each other, to what the GPU model takes, and to the schedule's windows.
author: gpuyard maintainers
options:
  _input:
    description: Arguments of the role by name, as its meta/argument_specs.yml describes them.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Refuse arguments that cannot be right
  ansible.builtin.assert:
    that: faults | length == 0
    fail_msg: "{{ faults | join('\n') }}"
  vars:
    names: [gpu_power_cap_w, gpu_power_schedule]
    faults: "{{ dict(names | zip(q('ansible.builtin.vars', *names))) | gpuyard.cluster.gpu_power_faults }}"
"""

RETURN = r"""
_value:
  description: The faults, a sentence each with variable, value, what was expected, and how to fix it; empty where there is none.
  type: list
  elements: str
"""

TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")
ZONE = re.compile(r"[A-Za-z0-9_+/-]+")


def gpu_power_faults(arguments: dict[str, Any]) -> list[str]:
    """Return what cannot be right; watts are per GPU, and 0 is no limit."""
    count, minutes = (int(arguments[f"gpu_power_{name}"]) for name in ("count", "check_minutes"))
    cap_w, lost_w = (int(arguments[f"gpu_power_{name}"]) for name in ("cap_w", "cap_feed_lost_w"))
    zone = str(arguments["gpu_power_timezone"])
    windows: list[dict[str, Any]] = arguments["gpu_power_schedule"]
    faults = []
    if count < 0:
        faults.append(tell("gpu_power_count", count, "0 or more", "set how many GPUs the server has"))
    if 0 < cap_w < lost_w:
        expected = f"at most gpu_power_cap_w ({cap_w}), since less power comes in with a feed lost"
        faults.append(tell("gpu_power_cap_feed_lost_w", lost_w, expected, "lower it"))
    for name, times in list_twice(str(window["name"]) for window in windows).items():
        faults.append(tell("gpu_power_schedule", f"{times} windows are named {name}", "a name for each", "rename one"))
    if not ZONE.fullmatch(zone):
        faults.append(tell("gpu_power_timezone", zone, "a name such as Asia/Shanghai", "see timedatectl list-timezones"))
    if minutes < 1:
        faults.append(tell("gpu_power_check_minutes", minutes, "1 or more", "set the minutes between two checks"))
    limits = [(name, int(arguments[name])) for name in ("gpu_power_cap_w", "gpu_power_cap_feed_lost_w")]
    limits = [(name, watts) for name, watts in limits if watts]
    limits += [(f"gpu_power_schedule {window['name']}", int(window["watts"])) for window in windows]
    faults += _find_out_of_range(limits, int(arguments["gpu_power_min_w"]), int(arguments["gpu_power_max_w"]))
    return faults + [fault for window in windows for fault in _find_wrong_times(window)]


def _find_out_of_range(limits: list[tuple[str, int]], min_w: int, max_w: int) -> list[str]:
    """Return a fault for each limit that the GPU would not take; where its range is unknown (0), any watts will do."""
    expected = f"{min_w} to {max_w} W, what this GPU takes" if max_w else "watts above 0"
    fix = "set a value in that range, or correct the GPU in the catalogue"
    wrong = [(name, watts) for name, watts in limits if watts <= 0 or (max_w and not min_w <= watts <= max_w)]
    return [tell(name, watts, expected, fix) for name, watts in wrong]


def _find_wrong_times(window: dict[str, Any]) -> list[str]:
    name, begin, end = f"gpu_power_schedule {window['name']}", str(window["from"]), str(window["to"])
    fix = "write it in quotes, since YAML reads 17:00 as a number"
    wrong = [(key, time) for key, time in (("from", begin), ("to", end)) if not TIME.fullmatch(time)]
    faults = [tell(name, f"{key} {time}", "HH:MM", fix) for key, time in wrong]
    if begin == end:
        faults.append(tell(name, f"{begin} to {end}", "two different times", "for the whole day set gpu_power_cap_w"))
    return faults


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"gpu_power_faults": gpu_power_faults}
