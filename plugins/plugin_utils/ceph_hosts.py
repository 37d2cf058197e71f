# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hosts of Ceph are judged by before a cluster is begun, or gone on with, however its daemons come to run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import tell


def judge_identity(fsid: str, host: str, address: str, look: dict[str, Any], daemon: str) -> Iterator[str]:
    """Tell where a host is not the planned one, or of another cluster; `daemon` is what the cluster knows by its name."""
    if look["host_name"] != host:
        fix = "run playbooks/base.yml, which sets it"
        yield tell(f"{host}: host name", look["host_name"], f"{host}, by which the cluster knows its {daemon}", fix)
    if not look["has_address"]:
        yield tell(f"{host}: {address}", "not an address of the host", f"it, for its {daemon}", "run playbooks/network.yml")
    if look["fsid"] not in ("", fsid):
        fix = "set ceph.fsid to that id if the plan is meant for it; if that cluster is gone, remove what is left of it"
        yield tell(f"{host}: fsid in /etc/ceph/ceph.conf", look["fsid"], f"{fsid}, the planned cluster", fix)


def judge_answer(fsid: str, host: str, cluster: dict[str, Any]) -> Iterator[str]:
    """Tell where another cluster answers a host."""
    if cluster["fsid"] != fsid:
        fix = "see who has the addresses of mon_host in /etc/ceph/ceph.conf"
        yield tell(f"{host}: fsid of the cluster that answers", cluster["fsid"], f"{fsid}, the planned cluster", fix)


def judge_beginning(plan: dict[str, Any], looks: dict[str, Any]) -> Iterator[str]:
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


def judge_word(variable: str, has_word: bool) -> Iterator[str]:
    """Tell where the word is missing that begins a cluster."""
    if not has_word:
        found = "no host of this run has a monitor, and none answers"
        fix = f"-e {variable}=true, once, if there never was one; OSDs of an earlier one would be strangers to it"
        yield tell(variable, found, "the cluster, or the word to begin it", fix)
