"""Have data come to new OSDs of Ceph in steps: no more of it moves than comes to them, and no more at once. Prints JSON.

Arguments: a verb, one of VERBS, and `check` where nothing may be done; on a host with a monitor. Standard input is JSON: `hosts`,
those whose OSDs are new, each with `osds`, how many are planned, and `device_class`, of which; `steps`, in how many all comes;
for `step` `most`, bytes that one may move, which `hold` told; `latency_ms`, above which no OSD may be, 0 for any; `begin` and
`end`, times of day as 06:00 between which data may move, or nothing; `until`, when this run ends, or nothing; `deadline`, what
`look` made of that; `profile`, that of mClock in a step, and `usual`, that after it, or nothing; `wait_s`, within which something
has to get on. Python 3.9 suffices.

New OSDs begin with weight 0. Then they get their weights, and all that CRUSH would move is pinned to where it lies, by
pg-upmap-items. Each step takes away some of the pins that keep data from new OSDs. Pins among others stay, for the balancer. All
that a run which was cut off leaves is in the cluster, with MARK.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

MARK = "gpuyard/expand"
"""Key of the monitors' store while hosts come: `hosts`; `empty`, ids of OSDs that had no weight before; `osds`, numbers of those
that came; `weight`, what OSDs began with, where somebody had set that; `balancer`, whether it was on; and `held`, whether FLAG is
ours. Monitors take 64 KiB."""
LOCK = Path("/run/lock/gpuyard-ceph_expand")
WEIGHT = "osd_crush_initial_weight"
"""What an OSD has where CRUSH does not have it yet. It cannot be set for a host alone: until CRUSH has an OSD, monitors do not
know its host. Source: Ceph, ConfigMonitor::refresh_config."""
FLAG = "norebalance"
PROFILE = "osd_mclock_profile"
ERASURE, NONE = 3, 2**31 - 1
"""The type of coded pools, and what stands for no OSD. Source: Ceph, osd_types.h, crush.h."""
STOPPING = ("nobackfill", "noin", "norebalance", "norecover", "noup", "pauserd", "pausewr")
"""Flags under which data does not come to new OSDs."""
MANAGERS = (".mgr", "device_health_metrics")
"""Pools that managers make for themselves."""
LEVELS = ("host", "chassis", "rack", "row", "pdu", "pod", "room", "datacenter", "zone", "region")
"""Types of places in CRUSH, the smallest first. Source: Ceph, CrushWrapper.h, the default map."""
GROUP = re.compile(
    r"^(\d+\.[0-9a-f]+) raw \(\[([\d,]*)\], p-?\d+\) up \(\[([\d,]*)\], p-?\d+\) acting \(\[([\d,]*)\], p-?\d+\)", re.M
)
"""A placement group, as osdmaptool tells of it."""
LIMIT_S, CONNECT_S, POLL_S = 900, 15, 2
PATIENCE_S = 120
"""Within which monitors and managers have others in their place."""
STEADY_S = 15
"""Seconds over which a good answer has to hold: OSDs tell of placement groups every five. Source: Ceph's option
mgr_stats_period."""
KNOWN_S = 60
"""Within which managers hear of a new OSD."""
HASTY_S = 10
"""Seconds over which OSDs are slow before a step is taken back."""
TRIES = 3
"""How often a step is taken back of which nothing comes before the run ends, so as not to move the same again and again."""
ROUNDS, WORKERS, MOST = 5, 16, 50
"""How often pins are set and looked at; how many programs at once tell the cluster something, and how many lines each."""
ABSENT = 2
"""Exit code of `ceph` for what is not there (ENOENT)."""
Json = dict[str, Any]
Pair = tuple[int, int]
Groups = dict[str, tuple[list[int], list[int], list[int]]]


def look(about: Json, _: bool) -> Json:
    """Return what the cluster says of itself, its flags and the hosts' OSDs, and when the run has to have ended."""
    now = datetime.now()
    ceph("fsid")  # without patience: the next host is asked where this one does not answer
    osds, mark, lacking = ask("osd", "dump"), read_mark(), count_lacking(about)
    fresh = [host for host in list_fresh(about, osds) if host in lacking]
    return {
        "fsid": osds["fsid"],
        "client": osds["require_min_compat_client"],
        "flags": [flag for flag in STOPPING if flag in osds["flags_set"] and not (mark.get("held") and flag == FLAG)],
        "hosts": mark.get("hosts", []),
        "unclean": find_unclean(),
        "splitting": list_splitting(osds),
        "lacking": lacking,
        "fresh": fresh,
        "deadline": find_deadline(about["until"], now),
        "outside": find_outside(about["begin"], about["end"], now),
    }


def list_splitting(osds: Json) -> list[str]:
    """Return the pools whose placement groups are being split or merged."""
    names = ("pg_num", "pg_num_target", "pg_placement_num", "pg_placement_num_target")
    return [pool["pool_name"] for pool in osds["pools"] if len({pool[name] for name in names}) > 1]


def list_fresh(about: Json, osds: Json) -> list[str]:
    """Return the hosts with OSDs of a class on which nothing lies: they come at once, since there is nothing to move.

    A rule that takes all classes has data on each of them; the managers' own pool, which has one, holds next to nothing. None
    where somebody has OSDs begin without a weight, or where it is not known what lies where.
    """
    if is_weightless() or find_unclean():
        return []
    rules = {rule["rule_id"]: rule for rule in ask("osd", "crush", "rule", "dump")}
    numbers = {pool["id"] for pool in ask("df")["pools"] if pool["stats"]["objects"] and pool["name"] not in MANAGERS}
    used = [rules[pool["crush_rule"]] for pool in osds["pools"] if pool["pool"] in numbers]
    takes = {step["item_name"].partition("~")[2] for rule in used for step in rule["steps"] if step["op"] == "take"}
    return [host for host, planned in about["hosts"].items() if "" not in takes and planned["device_class"] not in takes]


def find_deadline(until: str, now: datetime) -> float:
    """Return when it is that time of day next, in seconds since 1970; 0 where there is none."""
    if not until:
        return 0
    hour, _, minute = until.partition(":")
    end = now.replace(hour=int(hour), minute=int(minute), second=0, microsecond=0)
    return (end if end > now else end + timedelta(days=1)).timestamp()


def find_outside(begin: str, end: str, now: datetime) -> str:
    """Return what time it is where that is outside of these; empty where it is not, or there are none."""
    time_of_day = f"{now:%H:%M}"
    is_inside = begin <= time_of_day < end if begin < end else time_of_day >= begin or time_of_day < end  # past midnight
    return "" if not begin or is_inside else time_of_day


def begin(about: Json, is_check: bool) -> list[str]:
    """Have OSDs that are made from now on begin without a weight, unless nothing lies on their class."""
    mark, lacking = read_mark(), count_lacking(about)
    if not mark and not lacking.keys() - list_fresh(about, ask("osd", "dump")):
        return []
    found, is_set = read_weight(), is_weightless()
    if not is_check and not mark:
        empty, known = {osd["id"] for osd in list_weightless()}, ask("osd", "dump")["osds"]
        mark = {"hosts": sorted(about["hosts"]), "empty": [osd["uuid"] for osd in known if osd["osd"] in empty]}
        write_mark({**mark, "osds": [], "weight": found[:1], "balancer": False, "held": False})
        mark = {}
    if not is_check and not is_set:
        ceph("config", "set", "osd", WEIGHT, "0")
    return [] if is_set and mark else [f"OSDs that are made on {', '.join(about['hosts'])} hold nothing at first"]


def read_weight() -> list[str]:
    """Return the weight that OSDs begin with, where that is set."""
    options = [each for each in ask("config", "dump") if (each["section"], each["name"]) == ("osd", WEIGHT)]
    return [each["value"] for each in options if not each.get("mask")]


def is_weightless() -> bool:
    """Return whether OSDs that are made begin without a weight."""
    return any(float(value) == 0 for value in read_weight())


def count_lacking(about: Json) -> dict[str, int]:
    """Return how many OSDs each of the hosts has less than planned, where it does."""
    nodes = {node["id"]: node for node in ask("osd", "tree")["nodes"]}
    lacking = {}
    for host, planned in about["hosts"].items():
        inside = [
            nodes[each] for node in nodes.values() if node["name"] == host for each in node.get("children", ()) if each in nodes
        ]
        there = [osd for osd in inside if osd.get("device_class") == planned["device_class"] and osd.get("status") != "destroyed"]
        lacking[host] = planned["osds"] - len(there)
    return {host: count for host, count in lacking.items() if count > 0}


def hold(about: Json, is_check: bool) -> Json:
    """Give new OSDs their weights, and have everything stay where it lies.

    Beside what was told, returns in how many `steps` it comes to them, and how many bytes one of them moves at `most`.
    """
    mark = read_mark()
    coming, silent = list_coming(mark, KNOWN_S) if mark else ([], [])
    new = {osd["id"]: f"{osd['kb'] / 2**30:.4f}" for osd in coming}  # as an OSD weighs itself
    told = [f"new with a weight, and nothing on it yet: {name_osds(new)}"] if new else []
    told += [f"down or not in, and left without a weight: {name_osds(silent)}"] if silent else []
    if not is_check and (new or mark.get("held")):
        osds, groups = read_map()
        if new:
            refuse_to_hold(about, osds, groups)
        if not mark["osds"]:
            mark["balancer"] = ask("balancer", "status")["active"]
        mark["osds"] = sorted({*mark["osds"], *new})
        write_mark(mark)
        ceph("balancer", "off")
        weights = [f"osd crush reweight osd.{number} {weight}" for number, weight in new.items()]
        loose = pin({group: acting for group, (_, _, acting) in groups.items()}, weights)
        told += [f"{count_groups(loose)} cannot be pinned, and some of it moves at once"] if loose else []
    steps, most = list_steps(about, mark) if mark else ([], 0)
    return {"changes": told, "steps": len(steps), "most": most}


def refuse_to_hold(about: Json, osds: Json, groups: Groups) -> None:
    """End where it is late, or where placement groups lack parts or are being split: these cannot be pinned."""
    if is_late(about):
        fix = "run again in time: new OSDs hold nothing until then"
        sys.exit(tell("Ceph", f"it is past {about['until']}", "new OSDs to get their weights before that", fix))
    lacking = [
        group for group, (raw, _, acting) in groups.items() if NONE not in raw and (len(acting) < len(raw) or NONE in acting)
    ]
    if lacking or (splitting := list_splitting(osds)):
        found = f"{count_groups(len(lacking))} without all parts" if lacking else f"pools {', '.join(splitting)} are being split"
        fix = "see ceph health detail, and run again: new OSDs hold nothing until then"
        sys.exit(tell("Ceph", found, "all parts there before new OSDs get their weights", fix))


def list_weightless() -> list[Json]:
    """Return the OSDs without a weight and without data."""
    return [osd for osd in ask("osd", "df")["nodes"] if not osd["crush_weight"] and not osd["pgs"]]


def list_coming(mark: Json, wait_s: float) -> tuple[list[Json], list[int]]:
    """Return the OSDs that were made since and have no weight, and beside them those of which managers know nothing by then."""
    deadline = time.monotonic() + wait_s
    while True:
        uuids = {osd["osd"]: osd["uuid"] for osd in ask("osd", "dump")["osds"]}
        coming = [osd for osd in list_weightless() if uuids.get(osd["id"]) not in mark["empty"]]
        silent = [osd["id"] for osd in coming if not osd["kb"]]
        if not silent or time.monotonic() >= deadline:
            return [osd for osd in coming if osd["kb"]], silent
        time.sleep(POLL_S)


def pin(lies: dict[str, list[int]] | None = None, first: Iterable[str] = ()) -> int:
    """Have placement groups stay where they lie, as told or as they are, whatever is said first; return how many cannot.

    FLAG is set meanwhile. One that somebody else has set stays.
    """
    mark = read_mark()
    is_theirs = FLAG in ask("osd", "dump")["flags_set"] and not mark["held"]
    if not is_theirs:
        write_mark({**mark, "held": True})
        ceph("osd", "set", FLAG)
    try:
        say_many(list(first))
        loose = pin_all(lies or {})
    except SystemExit as failed:
        sys.exit(f"{failed}; {FLAG} stays set until it is run again")
    if not is_theirs:
        ceph("osd", "unset", FLAG)
        write_mark({**mark, "held": False})
    return loose


def pin_all(lies: dict[str, list[int]]) -> int:
    """Have placement groups stay where they lie; return how many do not."""
    loose: set[str] = set()
    for _ in range(ROUNDS):
        osds, groups = read_map()
        serving = {osd["osd"] for osd in osds["osds"] if osd["up"] and osd["in"]}
        pools, pinned = read_pools(osds), read_pins(osds)
        changes, loose = {}, set()
        for group, (raw, up, acting) in groups.items():
            wanted, is_coded = lies.get(group, acting), is_coded_in(pools, group)
            if wanted == up or (not is_coded and set(wanted) == set(up)):
                continue
            if len(raw) != len(wanted) or NONE in raw or not set(wanted) <= serving:
                loose.add(group)  # its parts are made anew, which nobody may hold up
                continue
            pairs = match(raw, wanted, is_coded)
            if pairs == pinned.get(group, []):
                loose.add(group)
            else:
                changes[group] = pairs
        if not changes:
            break
        set_pins(changes)
    else:
        loose.update(changes)  # the cluster takes them away again
    return len(loose)


def match(raw: list[int], wanted: list[int], is_coded: bool) -> list[Pair]:
    """Return pairs of OSDs that lead a placement group from where CRUSH has it to where it shall be, as far as any do.

    Parts of a coded pool have each their OSD; copies are the same.
    """
    if is_coded:
        return order(raw, [(come, wanted[at]) for at, come in enumerate(raw) if come != wanted[at]])
    coming, lying = [osd for osd in raw if osd not in wanted], [osd for osd in wanted if osd not in raw]
    return [(come, lying[at]) for at, come in enumerate(coming)]


def order(raw: list[int], pairs: list[Pair]) -> list[Pair]:
    """Return pairs in an order in which each leads to an OSD that is free by then, as Ceph wants it, without those in a ring."""
    now, ordered = list(raw), []
    while pairs:
        free = next((pair for pair in pairs if pair[1] not in now), None)
        if free is None:
            break
        now[now.index(free[0])] = free[1]
        ordered.append(free)
        pairs = [pair for pair in pairs if pair != free]
    return ordered


def lead(raw: list[int], pairs: list[Pair]) -> list[int]:
    """Return where pairs lead a placement group. Source: Ceph, OSDMap::_apply_upmap."""
    now = list(raw)
    for come, lie in pairs:
        if come in now and lie not in now:
            now[now.index(come)] = lie
    return now


def step(about: Json, is_check: bool) -> Json:
    """Have some more data come to new OSDs, and wait until it is there; take that back while the cluster is slow.

    `left` is how many placement groups wait for a further step, `late` whether there is no time for one.
    """
    mark, told, tries, least = read_mark(), [], 0, sys.maxsize
    while mark.get("osds") and not is_check and not is_late(about):
        wait_calm(about)
        steps, _ = list_steps(about, mark)
        if not steps or is_late(about):
            break
        left = sum(map(len, steps))
        tries, least = (tries, least) if left >= least else (0, left)
        if tries == TRIES:
            fix = "run again with a higher ceph_expand_latency_ms, with more ceph_expand_steps, or when clients ask for less"
            sys.exit(tell("Ceph", f"{told[-1]}, the last of {TRIES} times", "that something comes of a step", fix))
        tries += 1
        why, trouble = take_step(about, steps[0])
        if not why:
            left = sum(map(len, steps[1:]))
            told.append(f"{count_groups(len(steps[0]))} for {name_osds(mark['osds'])}, {left} left{trouble}")
            break
        told.append(f"a step was taken back: {why}{trouble}")
    left = sum(map(len, list_steps(about, mark)[0]))
    return {"changes": told, "left": left, "late": left > 0 and is_late(about)}


def take_step(about: Json, chosen: dict[str, list[Pair]]) -> tuple[str, str]:
    """Have data come, by a profile of mClock for that; return why it was taken back, and what is left to do by hand."""
    set_profile(about, about["profile"])
    try:
        set_pins(chosen)
        why = wait_moved(about, chosen)
    except SystemExit as failed:
        sys.exit(f"{failed}{restore_profile(about)}")
    return why, restore_profile(about)


def set_profile(about: Json, name: str) -> None:
    """Have OSDs go by a profile of mClock; nothing is done where the plan has none for steps."""
    if about["profile"]:
        ask_for("config", "set", "osd", PROFILE, name)


def restore_profile(about: Json) -> str:
    """Have OSDs go by the profile that is planned; return what is to be said where that fails."""
    try:
        set_profile(about, about["usual"])
    except SystemExit as failed:
        return f"; {PROFILE} stays {about['profile']}, {failed}: ceph config set osd {PROFILE} {about['usual']}"
    return ""


def list_steps(about: Json, mark: Json) -> tuple[list[dict[str, list[Pair]]], float]:
    """Return the pins that each step leaves to placement groups, so that data comes to new OSDs, and how many bytes one moves."""
    osds, groups = read_map()
    places, pools = list_places(), read_pools(osds)
    used = {pool["id"]: pool["stats"]["bytes_used"] for pool in ask("df")["pools"]}
    new = set(mark.get("osds", ()))
    waiting: dict[int, list[str]] = {}
    free: dict[str, list[Pair]] = {}
    moves: dict[str, float] = {}
    for group in sorted(read_pins(osds)):
        raw, up, _ = groups[group]
        coming = [osd for osd in raw if osd in new and osd not in up]
        if coming:
            is_coded, pool = is_coded_in(pools, group), pools[find_pool(group)]
            free[group] = match(raw, choose(raw, up, new, places), is_coded) if len(raw) == len(up) and NONE not in up else []
            goal = lead(raw, free[group])
            parts = (
                sum(osd not in up for osd in goal)
                if not is_coded
                else sum(osd != up[at] for at, osd in enumerate(goal[: len(up)]))
            )
            moves[group] = parts * used.get(pool["pool"], 0) / (pool["pg_num"] * pool["size"])
            waiting.setdefault(coming[0], []).append(group)
    # One for each new OSD in turn: else one would take all that a step moves, and take long.
    turns = sorted((at, number, group) for number, each in waiting.items() for at, group in enumerate(each))
    most = about.get("most") or sum(moves.values()) / about["steps"]
    steps: list[dict[str, list[Pair]]] = []
    room = 0.0
    for _, _, group in turns:
        if not steps or moves[group] > room:
            steps.append({})
            room = most
        steps[-1][group] = free[group]
        room -= moves[group]
    return steps, most


def choose(raw: list[int], lies: list[int], new: set[int], places: dict[int, Json]) -> list[int]:
    """Return where a placement group shall be once it has the new OSDs that CRUSH drew: where it lies, but for one part for each.

    The part that moves is one whose place the new OSD can take, so that all stay as far apart as they are: rather one of the same
    host, rack and so on, and one that CRUSH has not drawn. Where there is none, all is as CRUSH has it.
    """
    goal = list(lies)
    for come in [osd for osd in raw if osd in new and osd not in lies]:
        turns = sorted(range(len(goal)), key=lambda at: (count_steps(come, goal[at], places), goal[at] in raw))
        ways = ([*goal[:at], come, *goal[at + 1 :]] for at in turns if goal[at] not in new)
        goal = next((way for way in ways if is_apart(way, raw, lies, places)), [])
        if not goal:
            return list(raw)
    return goal


def count_steps(one: int, other: int, places: dict[int, Json]) -> int:
    """Return how far two OSDs are from each other: 0 in a host, 1 in a rack, and so on."""
    mine, theirs = places.get(one, {}), places.get(other, {})
    return next((at for at, level in enumerate(LEVELS) if level in mine and mine[level] == theirs.get(level)), len(LEVELS))


def is_apart(goal: list[int], raw: list[int], lies: list[int], places: dict[int, Json]) -> bool:
    """Return whether no host, rack and so on has more parts than one has now, or as CRUSH draws them, and as many have some."""
    for level in LEVELS:
        here, planned, now = (Counter(places.get(osd, {}).get(level) for osd in where) for where in (goal, raw, lies))
        if len(here) < min(len(planned), len(now)) or max(here.values()) > max(*planned.values(), *now.values()):
            return False
    return True


class Watch:
    """Which OSDs are slow, and since when each is."""

    def __init__(self, about: Json) -> None:
        self.about = about
        self.since: dict[int, float] = {}

    def look(self) -> str:
        """Return which OSD has been slow for a while, or that clients wait; empty where none is."""
        now, slow = time.monotonic(), find_slow(self.about)
        self.since = {number: self.since.get(number, now) for number in slow}
        return next((why for number, why in slow.items() if now - self.since[number] >= HASTY_S), "")


def wait_calm(about: Json) -> None:
    """Wait until nothing moves and no OSD is slow."""
    since = begun = time.monotonic()
    watch = Watch(about)
    while True:
        why = find_unclean() or watch.look()
        now = time.monotonic()
        since = now if why else since
        if now - since >= STEADY_S:
            return
        if now - begun > about["wait_s"]:
            fix = "see ceph status, and run again: what came to new OSDs stays there, and the rest waits"
            sys.exit(tell("Ceph", why or "calm for too short", f"a calm cluster within {about['wait_s']:g} s", fix))
        time.sleep(POLL_S)


def wait_moved(about: Json, chosen: dict[str, list[Pair]]) -> str:
    """Wait until all is where it shall be; return why it was pinned to where it lies before that, empty where it was not."""
    clean = moved = time.monotonic()
    watch, least = Watch(about), (sys.maxsize, sys.maxsize)
    while True:
        time.sleep(POLL_S)
        now, moving, slow, still = time.monotonic(), find_unclean(), watch.look(), count_moving()
        clean, moved, least = now if moving else clean, now if still < least else moved, min(still, least)
        if now - clean >= STEADY_S:
            groups = read_map()[1]  # managers may be late
            if all(groups[group][1] == groups[group][2] for group in chosen if group in groups):
                return ""
        why = slow or (f"it is past {about['until']}" if is_late(about) else "")
        if why and moving:
            pin()
            return why
        if now - moved > about["wait_s"]:
            pin()
            fix = "see ceph status, and run again: what came to new OSDs stays there, and the rest is pinned again"
            sys.exit(tell("Ceph", moving or "placement groups move", f"that it gets on within {about['wait_s']:g} s", fix))


def is_late(about: Json) -> bool:
    """Return whether the time for steps is over."""
    return 0 < about["deadline"] <= time.time()


def find_unclean() -> str:
    """Return how many placement groups do not serve, move or lack copies; empty where none do."""
    groups = ask("status")["pgmap"]
    states = {each["state_name"]: each["count"] for each in groups.get("pgs_by_state", [])}
    found = {state: count for state, count in states.items() if not {"active", "clean"} <= set(state.split("+"))}
    if sum(states.values()) < groups["num_pgs"]:
        found["unknown"] = groups["num_pgs"] - sum(states.values())
    return ", ".join(f"{count_groups(count)} {state}" for state, count in sorted(found.items()))


def count_moving() -> tuple[int, int]:
    """Return how many copies lack, and how many are not where they shall be, by which is seen whether it gets on."""
    groups = ask("status")["pgmap"]
    return groups.get("degraded_objects", 0), groups.get("misplaced_objects", 0)


def find_slow(about: Json) -> dict[int, str]:
    """Return which OSDs are slow, by number, with words for it; -1 stands for requests that clients wait for."""
    found = {-1: "slow requests, see ceph health detail"} if "SLOW_OPS" in ask("health")["checks"] else {}
    for osd in ask("osd", "perf")["osdstats"]["osd_perf_infos"] if about["latency_ms"] else ():
        took = osd["perf_stats"]["commit_latency_ms"]
        if took > about["latency_ms"]:
            found[osd["id"]] = f"osd.{osd['id']} takes {took:g} ms, more than {about['latency_ms']:g}"
    return found


def end(about: Json, is_check: bool) -> list[str]:
    """Have the balancer on again, if it was, and OSDs begin as before; nothing of the mark is left."""
    mark = read_mark()
    if not mark:
        return []
    coming, silent = list_coming(mark, 0)
    if not is_check and (coming or silent):
        left = [*silent, *(osd["id"] for osd in coming)]
        fix = "see systemctl status there, and run again; or ceph osd purge it: until then the balancer is off"
        sys.exit(tell(name_osds(left), "without a weight", "all that was made to have come", fix))
    if not is_check:
        set_profile(about, about["usual"])  # the last step may have left its own, where it was cut off
        ceph("config", *(["set", "osd", WEIGHT, *mark["weight"]] if mark["weight"] else ["rm", "osd", WEIGHT]))
        if mark["balancer"]:
            ceph("balancer", "on")
        ceph("config-key", "rm", MARK)
    came = {*mark["osds"], *(osd["id"] for osd in coming)}
    return [f"all that comes to {name_osds(came)} is there" if came else "no OSD came"]


def lock() -> None:
    """Hold the host's lock until this program has ended; end where another has it, as one whose run was cut off."""
    handle = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(tell("Ceph", "another run has hosts come", "one at a time", "wait until its step has come to its end"))


def read_map() -> tuple[Json, Groups]:
    """Return the map of OSDs; and of each placement group where CRUSH has it, where it shall be, and where it is."""
    with tempfile.TemporaryDirectory() as folder:
        ceph("osd", "getmap", "-o", f"{folder}/map")
        osds: Json = json.loads(run("osdmaptool", f"{folder}/map", "--dump", "json"))
        said = run("osdmaptool", f"{folder}/map", "--test-map-pgs-dump-all")
    groups: Groups = {}
    for group, *where in GROUP.findall(said):
        raw, up, acting = ([int(osd) for osd in each.split(",") if osd] for each in where)
        groups[group] = (raw, up, acting)
    planned = sum(pool["pg_num"] for pool in osds["pools"])
    if len(groups) != planned:
        fix = "nothing was changed; tell gpuyard's maintainers the version of Ceph"
        sys.exit(tell("osdmaptool", f"tells of {count_groups(len(groups))}", f"all {planned}", fix))
    return osds, groups


def read_pools(osds: Json) -> dict[int, Json]:
    """Return the pools by number."""
    return {pool["pool"]: pool for pool in osds["pools"]}


def is_coded_in(pools: dict[int, Json], group: str) -> bool:
    """Return whether a placement group is of a coded pool."""
    return bool(pools[find_pool(group)]["type"] == ERASURE)


def read_pins(osds: Json) -> dict[str, list[Pair]]:
    """Return the pairs of OSDs by which placement groups are led elsewhere than CRUSH has them."""
    return {each["pgid"]: [(pair["from"], pair["to"]) for pair in each["mappings"]] for each in osds["pg_upmap_items"]}


def set_pins(pins: dict[str, list[Pair]]) -> None:
    """Lead placement groups elsewhere."""
    say_many(
        [
            f"osd pg-upmap-items {group} {' '.join(f'{come} {lie}' for come, lie in pairs)}"
            if pairs
            else f"osd rm-pg-upmap-items {group}"
            for group, pairs in pins.items()
        ]
    )


def say_many(lines: list[str]) -> None:
    """Say much to the cluster: each program some of it, one line after the other; the monitors take what all say at once."""
    size = max(1, min(MOST, -(-len(lines) // WORKERS)))
    shares = [lines[at : at + size] for at in range(0, len(lines), size)]
    with ThreadPoolExecutor(WORKERS) as setting:
        said = setting.map(lambda share: call("ceph", f"--connect-timeout={CONNECT_S}", given="\n".join(share)), shares)
        for share, (code, _, err) in enumerate(said):
            if code or "Error" in err:
                sys.exit(f"ceph {shares[share][0]}, or one after it: {shorten(err) or f'ended with {code}'}")


def list_places() -> dict[int, Json]:
    """Return the place of each OSD in CRUSH, by its number: its host, rack and so on."""
    nodes = {node["id"]: node for node in ask("osd", "tree")["nodes"]}
    parents = {child: node for node in nodes.values() for child in node.get("children", ())}
    places: dict[int, Json] = {}
    for number in nodes:
        at, place = number, {}
        while at in parents:
            at = parents[at]["id"]
            place[nodes[at]["type"]] = nodes[at]["name"]
        places[number] = place
    return places


def find_pool(group: str) -> int:
    """Return the number of the pool that a placement group is of."""
    return int(group.partition(".")[0])


def count_groups(count: int) -> str:
    """Return so many placement groups in words."""
    return f"{count} placement group{'' if count == 1 else 's'}"


def name_osds(numbers: Any) -> str:
    """Return OSDs in words."""
    named = [f"osd.{number}" for number in sorted(numbers)]
    return ", ".join(named[:5]) + (f" and {len(named) - 5} more" if len(named) > 5 else "")


def read_mark() -> Json:
    """Return what is kept of hosts that come; empty where none do."""
    code, out = ask_for("config-key", "get", MARK, good=(0, ABSENT))
    mark: Json = json.loads(out) if code == 0 else {}
    return mark


def write_mark(mark: Json) -> None:
    """Keep something of hosts that come."""
    ceph("config-key", "set", MARK, json.dumps(mark))


def ask(*words: str) -> Any:
    """Return what the cluster answers, read."""
    return json.loads(ask_for(*words, "--format=json")[1])


def ask_for(*words: str, good: tuple[int, ...] = (0,)) -> tuple[int, str]:
    """Return exit code and output of a question to the cluster; monitors and managers may take turns meanwhile."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        code, out, err = call("ceph", f"--connect-timeout={CONNECT_S}", *words)
        if code in good:
            return code, out
        if time.monotonic() > deadline:
            sys.exit(f"ceph {' '.join(words)}: {shorten(err) or f'ended with {code}'}")
        time.sleep(POLL_S)


def ceph(*words: str) -> str:
    """Return what the cluster answers its administrator."""
    return run("ceph", f"--connect-timeout={CONNECT_S}", *words)


def run(program: str, *words: str) -> str:
    """Return what a program prints; end with its complaint where it fails."""
    code, out, err = call(program, *words)
    if code:
        said = " ".join(word for word in words[:4] if not word.startswith("-"))
        sys.exit(f"{program} {said}: {shorten(err) or f'ended with {code}'}")
    return out


def call(program: str, *words: str, given: str = "") -> tuple[int, str, str]:
    """Return exit code, output and errors of a program."""
    if shutil.which(program) is None:
        return 127, "", "not on this host"
    try:
        done = subprocess.run([program, *words], input=given, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return 124, "", f"no end in {LIMIT_S} s"
    return done.returncode, done.stdout, done.stderr


def shorten(text: str) -> str:
    """Return errors in one line."""
    return " ".join(text.split())[-800:]


def tell(name: str, value: str, expected: str, fix: str) -> str:
    """Return a fault: what it is about, what is there, what was expected, and the way out."""
    return f"{name}: {value}; expected {expected}; fix: {fix}"


VERBS: dict[str, Callable[[Json, bool], Any]] = {"look": look, "begin": begin, "hold": hold, "step": step, "end": end}
if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    if sys.argv[1] not in ("look", "begin") and "check" not in sys.argv[2:]:
        lock()
    answer = VERBS[sys.argv[1]](json.load(sys.stdin), "check" in sys.argv[2:])
    sys.stdout.write(json.dumps({"changes": answer} if isinstance(answer, list) else answer) + "\n")
