# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Choose the drives that OSDs are made on, and find what forbids it. It runs on the controller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.plugin_utils.faults import tell

DOCUMENTATION = r"""
name: ceph_osd_choice
short_description: Chooses drives for OSDs of Ceph, and finds what forbids it
description:
  - Judges what all hosts of the run said of themselves against the plan and what the cluster says, before anything is changed.
author: gpuyard maintainers
options:
  _input:
    description: >-
      C(plan), what ceph/objects.yaml has; C(looks), what each host of the run said, and C(cluster), what a host with a monitor
      said, as files/osd.py of role ceph_osd prints them; C(wipe), drives that may be wiped, as HOST:NAME; C(grow), hosts whose
      OSDs may come to a cluster that has data; C(fewer), hosts that may have fewer drives than planned; and C(check), whether
      this is a dry run, in which the play before has placed no host.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Refuse what cannot work
  ansible.builtin.assert:
    that: (about | gpuyard.cluster.ceph_osd_choice).wrong | length == 0
"""

RETURN = r"""
_value:
  description: >-
    C(wrong), a sentence each with place, what is there, what was expected, and how to fix it; C(left), what is not as planned and
    left so; and by host C(make), the drives that OSDs are made on, each with C(numbers) of destroyed OSDs that theirs get,
    C(wipe), the names of those that are wiped first, C(start), OSDs that are started, and C(done), names of drives that are
    whole.
  type: dict
"""


NOTHING: dict[str, Any] = {"drives": 0, "bytes": 0, "rotational": False, "per_drive": 1}
"""What is planned of a host that no group has."""


def ceph_osd_choice(about: dict[str, Any]) -> dict[str, Any]:
    """Return what is wrong, what is left, and what is done on each host."""
    plan, looks, cluster = about["plan"], about["looks"], about["cluster"]
    if cluster["fsid"] != plan["fsid"]:
        fix = "run it with the inventory of the cluster's own plan"
        return {"wrong": [tell("fsid of the cluster that answers", cluster["fsid"], f"{plan['fsid']}, the planned one", fix)]}
    hosts = {host: _Host(host, look, about) for host, look in looks.items()}
    wrong, waiting = [], [name for name, host in hosts.items() if cluster["has_objects"] and name not in about["grow"]]
    if set(about["grow"]) & hosts.keys():  # which come now, and the others another day
        for name in waiting:
            hosts[name].leave()
    words = [word for word in about["wipe"] if word not in {word for host in hosts.values() for word in host.words}]
    for word in sorted(set(about["grow"]) - plan["hosts"].keys()):
        wrong.append(
            tell("ceph_osd_grow", word, f"hosts with OSDs, such as {next(iter(plan['hosts']))}", "see ceph/objects.yaml")
        )
    wrong += [fault for host in hosts.values() for fault in host.judge()]
    for word in words:
        fix = "name it as the refusal that asked for it did, HOST:NAME"
        wrong.append(tell("ceph_osd_wipe", word, "a drive of this run that is needed and may be wiped", fix))
    waiting = [name for name in waiting if hosts[name].make]
    if waiting:
        found = f"OSDs would be made on {', '.join(waiting)}, and data begins to move onto them at once"
        fix = f"""-e '{{"ceph_osd_grow": ["{'", "'.join(waiting)}"]}}', when the network can bear it"""
        wrong.append(tell("ceph_osd_grow", found, "the word for these hosts", fix))
    return {
        "wrong": wrong,
        "left": [text for host in hosts.values() for text in host.left],
        **{what: {name: getattr(host, what) for name, host in hosts.items()} for what in ("make", "wipe", "start", "done")},
    }


@dataclass
class _Host:
    """A host with its drives: those that have their OSDs, those that OSDs are made on, and those that hold something else."""

    name: str
    look: dict[str, Any]
    about: dict[str, Any]
    taken: list[dict[str, Any]] = field(default_factory=list)
    half: list[dict[str, Any]] = field(default_factory=list)
    empty: list[dict[str, Any]] = field(default_factory=list)
    marked: list[dict[str, Any]] = field(default_factory=list)
    held: list[tuple[dict[str, Any], str]] = field(default_factory=list)
    is_left: bool = False
    """Whether its OSDs are made another day."""

    def __post_init__(self) -> None:
        planned = (each for each in self.about["plan"]["osds"] if self.name in each["hosts"])
        self.plan = next(planned, NOTHING)
        for drive in sorted(self.look["drives"], key=lambda drive: str(drive["name"])):
            self._sort(drive)
        self.needed = max(0, self.plan["drives"] - len(self.taken))
        self.free = [*self.half, *self.empty, *self.marked]
        chosen, per_drive = self.free[: self.needed], self.plan["per_drive"]
        # OSDs in this host's place whose drives were taken out: the next ones get their numbers.
        destroyed = self.about["cluster"]["destroyed"].get(self.name, [])
        self.wipe = [drive["name"] for drive in chosen if drive in self.marked]
        self.make = [drive | {"numbers": destroyed[at * per_drive : (at + 1) * per_drive]} for at, drive in enumerate(chosen)]
        self.words = [f"{self.name}:{name}" for name in self.wipe]
        self.done = [drive["name"] for drive in self.taken if drive["half"]]
        self.start = [osd for drive in self.taken for osd in drive["osds"] if self._is_stopped(osd)]
        self.left = [] if self.is_short_refused else list(self._tell_short())

    def leave(self) -> None:
        """Have no OSD made in this run."""
        if self.make or self.is_short_refused:
            made = f"{len(self.taken)} of {self.plan['drives']} drives have OSDs"
            self.left = [f"{self.name}: {made}; the others are made on the word for the host, ceph_osd_grow", *self.left]
        self.make, self.wipe, self.words, self.is_left = [], [], [], True

    def _sort(self, drive: dict[str, Any]) -> None:
        known = [self._find(osd) for osd in drive["osds"]]
        were_up = [osd is not None and osd["was_up"] for osd in known]
        if drive["half"] and not drive["holds"] and drive["member"] and not any(were_up):
            self.half.append(drive)
        elif known and all(osd is not None for osd in known) and not drive["holds"]:
            self.taken.append(drive)
        elif known:
            numbers = ", ".join(f"OSD {osd['id']}" for osd in drive["osds"])
            self.held.append((drive, f"{numbers}, which the cluster does not know" if not all(known) else drive["holds"]))
        elif drive["holds"] or drive["member"]:
            word = f"{self.name}:{drive['name']}" in self.about["wipe"]
            if word and drive["wipes"]:
                self.marked.append(drive)
            else:
                self.held.append((drive, drive["holds"] or "what ceph-volume made, and no OSD"))
        else:
            self.empty.append(drive)

    def _find(self, osd: dict[str, str]) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self.about["cluster"]["osds"].get(osd["uuid"])
        return found

    def _is_stopped(self, osd: dict[str, str]) -> bool:
        """Return whether the cluster has an OSD as down, and as this host's if anybody's: two daemons on one drive destroy it."""
        found = self._find(osd)
        return found is not None and not found["up"] and found["host"] in ("", self.name)

    @property
    def is_short_refused(self) -> bool:
        """Return whether too few drives are a fault: where there are OSDs already, the others are not held up by a dead drive."""
        return bool(self.needed) and not self.taken and self.name not in self.about["fewer"]

    def _tell_short(self) -> Iterator[str]:
        """Tell that drives are missing, and which could be had."""
        lacking = self.needed - len(self.free)
        if lacking <= 0:
            return
        spin = "spin" if self.plan["rotational"] else "do not spin"
        found = f"{self.plan['drives'] - lacking} of {self.plan['bytes'] / 1e12:g} TB that {spin}"
        fix = f"""see lsblk and dmesg there; or, if it shall have fewer, -e '{{"ceph_osd_fewer": ["{self.name}"]}}'"""
        yield tell(f"{self.name}: drives for OSDs", found, f"{self.plan['drives']}", fix)
        for drive, holds in self.held:
            fix = "if that may go, take it off by hand"
            if drive["wipes"]:
                fix = f"""if that may be lost, -e '{{"ceph_osd_wipe": ["{self.name}:{drive["name"]}"]}}', which wipes it"""
            yield tell(f"{self.name}: {drive['name']}", f"holds {holds}", "an empty drive, if it is for OSDs", fix)

    def judge(self) -> Iterator[str]:
        """Yield what is wrong."""
        if self.is_left and not self.taken:
            return
        place = self.about["plan"]["hosts"].get(self.name)
        if place is None:
            fix = "gpuyard render the cluster, and run with its inventory"
            yield tell(self.name, "no OSDs in the plan", f"one of {', '.join(self.about['plan']['hosts'])}", fix)
            return
        fsid = self.about["plan"]["fsid"]
        if self.look["host_name"] != self.name:
            fix = "run playbooks/base.yml, which sets it"
            yield tell(f"{self.name}: host name", self.look["host_name"], f"{self.name}, by which CRUSH knows its OSDs", fix)
        if self.look["fsid"] not in ("", fsid):
            fix = "set ceph.fsid to that id if the plan is meant for it; if that cluster is gone, remove what is left of it"
            yield tell(f"{self.name}: fsid in /etc/ceph/ceph.conf", self.look["fsid"], f"{fsid}, the planned cluster", fix)
        if self.look["cephadm"]:
            found = f"of cluster {', '.join(self.look['cephadm'])}"
            yield tell(f"{self.name}: OSDs of cephadm", found, "none beside packages", "plan ceph.deploy: cephadm")
        if self.look["busy"]:
            yield tell(self.name, "another run makes or starts OSDs there", "one run at a time", "wait until it has ended")
        names = Counter(str(drive["name"]) for drive in self.look["drives"])
        for name in sorted(name for name, count in names.items() if count > 1):
            yield tell(
                f"{self.name}: {name}", f"{names[name]} drives are called so", "one", "see lsblk there; two paths want multipathd"
            )
        for drive in self.taken:
            if len(drive["osds"]) != self.plan["per_drive"]:
                found, fix = f"{len(drive['osds'])} OSDs", "plan ceph.osds_per_device as it is, or take its OSDs out first"
                yield tell(f"{self.name}: {drive['name']}", found, f"{self.plan['per_drive']} on each drive", fix)
        if self.is_short_refused:
            yield from self._tell_short()
        if self.make:
            yield from self._judge_making(place)

    def _judge_making(self, place: dict[str, str]) -> Iterator[str]:
        """Tell what forbids to make OSDs on a host."""
        if len(self.half) + len(self.empty) > self.needed:
            names = ", ".join(str(drive["name"]) for drive in [*self.half, *self.empty])
            fix = "take out those that are for something else, or plan a model that has all of them"
            yield tell(f"{self.name}: empty drives", f"{len(self.half) + len(self.empty)}, {names}", f"{self.needed}", fix)
        for other in self.look["others"]:
            fix = "take it off by hand: ceph-volume clears away what fails by number, and clusters have the same numbers"
            yield tell(self.name, f"has {other}", "no OSD of another cluster", fix)
        here = self.about["cluster"]["places"].get(self.name, {})
        if self.about["check"] or here.get("root", "default") != "default":
            return
        if any(here.get(kind) != name for kind, name in place.items()):
            found, wanted = (" ".join(f"{kind}={name}" for kind, name in at.items()) for at in (here, place))
            fix = "run playbooks/ceph.yml whole, which places hosts without OSDs; one that has some moves with ceph_cluster_move"
            yield tell(f"{self.name}: in CRUSH", found or "nowhere", wanted, fix)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"ceph_osd_choice": ceph_osd_choice}
