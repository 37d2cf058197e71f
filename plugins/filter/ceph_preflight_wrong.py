# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what forbids to go on with Ceph, by the clocks of its hosts and the packets between them. It runs on the controller."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import tell

DOCUMENTATION = r"""
name: ceph_preflight_wrong
short_description: Finds what forbids to go on with Ceph, by clocks and packets
description:
  - Judges what all hosts of the run found. A host is told once for its clock, and once for packets. That a host which is not in
    the run, or cannot be reached, is silent is no fault, unless this one was not able to ask.
author: gpuyard maintainers
options:
  _input:
    description: What each host of the run found, by name, as files/preflight.py of role ceph_preflight prints it.
    type: dict
    required: true
  asked:
    description: What each was asked, as ceph_preflight_about has it.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Refuse what cannot work
  ansible.builtin.assert:
    that: looks | gpuyard.cluster.ceph_preflight_wrong(asked) | length == 0
"""

RETURN = r"""
_value:
  description: What is wrong, a sentence each with place, what is there, what was expected, and how to fix it.
  type: list
  elements: str
"""

OFF_S = 0.1
"""From which on a clock is refused, in seconds. Ceph's option mon_clock_drift_allowed has it warn of 0.05 s between monitors."""
MOST = 20
"""Hosts that are told of by name."""
SKIP = '-e \'{"ceph_preflight_skip": ["%s"]}\''


def ceph_preflight_wrong(looks: dict[str, Any], asked: dict[str, Any]) -> list[str]:
    """Return what is wrong."""
    clocks = [fault for host, look in looks.items() for fault in _judge_clock(host, look["clocks"])]
    packets: list[str] = []
    for host, look in looks.items():
        sent = zip(asked[host]["probes"], look["probes"], strict=True)
        judged = [(probe, found) for probe, found in sent if not found["able"] or found["small"] or probe["host"] in looks]
        packets += _judge_packets(host, judged)
    return [*_cut(clocks, "clocks"), *_cut(packets, "packets")]


def _judge_clock(host: str, clocks: dict[str, Any]) -> Iterator[str]:
    """Tell how far a clock is off for certain, whatever an answer took: by the middle one of the servers that answer."""
    answers = {server: answer for server, answer in clocks.items() if answer}
    if clocks and not answers:
        fix = f"have UDP port 123 pass to site.ntp; where clocks are kept in another way, {SKIP % 'clocks'}"
        yield tell(
            f"{host}: clock", f"{', '.join(clocks)} did not answer with a time", "one of site.ntp, to compare it with", fix
        )
    ordered = sorted(answers.items(), key=lambda item: item[1]["offset_s"])
    middle = ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1]
    for server, answer in sorted(middle, key=lambda item: abs(item[1]["offset_s"]))[:1]:
        off = answer["offset_s"]
        if abs(off) - answer["delay_s"] / 2 >= OFF_S:
            found = f"{abs(off):.3g} s {'behind' if off > 0 else 'ahead of'} {server}"
            fix = "see chronyc tracking, or timedatectl, there; playbooks/base.yml has it keep time by site.ntp"
            yield tell(f"{host}: clock", found, f"less than {OFF_S:g} s", fix)


def _judge_packets(host: str, sent: list[tuple[dict[str, Any], dict[str, Any]]]) -> Iterator[str]:
    """Tell which packets of a host do not come to others."""
    failed = [(probe, found) for probe, found in sent if not (found["large"] and found["small"])]
    if not failed:
        return
    probe, found = failed[0]
    if not found["able"]:
        expected = f"it to send from its planned address in Ceph's {probe['network']} network"
        yield tell(f"{host}: {probe['from']}", found["why"], expected, "see ip address there; playbooks/network.yml sets it")
        return
    size = f"{probe['bytes']:,}"
    more = f", nor to {len(failed) - 1} more" if len(failed) > 1 else ""
    name = f"{host}: {probe['from']} to {probe['to']} of {probe['host']}"
    if found["small"]:
        what = f"packets of {size} bytes: {found['why'] or 'lost, and small ones are not'}{more}"
        fix = "ip link there, and the MTU of each port between them; playbooks/network.yml sets it on hosts"
        yield tell(name, what, f"{size} bytes from end to end in Ceph's {probe['network']} network", fix)
    else:
        fix = f"ip route get {probe['to']} there; --limit leaves hosts out; where echoes are filtered, {SKIP % 'packets'}"
        yield tell(name, f"{found['why'] or 'no answer'}{more}", f"an answer in Ceph's {probe['network']} network", fix)


def _cut(faults: list[str], what: str) -> list[str]:
    """Return the first of many faults, and how many more there are."""
    return [*faults[:MOST], f"and {what} of {len(faults) - MOST} more hosts"] if len(faults) > MOST else faults


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"ceph_preflight_wrong": ceph_preflight_wrong}
