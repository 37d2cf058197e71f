"""Restart daemons of Ceph that run programs which are not installed any more, with the cluster's leave. Prints JSON.

Arguments: a verb, one of VERBS, and `check` where nothing may be done. On the host itself: `look`, `restart`, `serve`. On a host
with a monitor that the cluster answers: `state`, `ready`, `hold`, `settle`. Standard input is JSON: `host`, the host's name;
`fsid` and `release`, what `look` told; `units`, daemons of one kind that are restarted; `wait_s`; `anyway`, whether clients may
wait meanwhile; `unclean` and `sessions`, what `ready` told. Python 3.9 suffices.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

PROC, CONF, SOCKETS = Path("/proc"), Path("/etc/ceph/ceph.conf"), Path("/var/run/ceph")
UNIT = re.compile(r"ceph-(mon|mgr|osd|mds|radosgw)@(\S+)\.service")
OURS = re.compile(r"^\S+ ..x. .*\s/(usr|lib|lib64|bin|sbin)/\S+ \(deleted\)$", re.MULTILINE)
"""A program or library in a map of memory that was replaced since: by its package, most likely."""
SERVING = {
    "mon": ("mon_status", {"leader", "peon"}),
    "osd": ("status", {"active"}),
    "mds": ("status", {"up:active", "up:standby", "up:standby-replay"}),
}
"""What the daemon itself is asked, and the states in which it serves."""
BAD = {"degraded", "undersized", "stale", "unknown", "down", "incomplete", "peered"}
"""States of placement groups some of whose copies are not there; those that move are all there."""
MARK = "gpuyard/noout/"
"""Key of the monitors' store, with a host's name, that says that the flag on the host is ours."""
LIMIT_S, RESTART_S, CONNECT_S = 120, 300, 15
STEADY_S = 15
"""Seconds over which a good answer has to hold: OSDs tell of placement groups every five. Source: Ceph's option
mgr_stats_period. A daemon that ends anew and again is begun by systemd after ten."""
ABSENT = 2
"""Exit code of `ceph` for what is not there (ENOENT)."""
LEFT = "until it comes to its end noout may stay set for the host"
Json = dict[str, Any]


def look(_: Json, __: bool) -> Json:
    """Return the daemons of the host, those that failed, and those whose programs or libraries were replaced since they began."""
    listing = ("--all", "--type=service", "--state=active,activating,failed", "--plain", "--no-legend", "--full", "ceph-*@*")
    rows = [line.split() for line in run("systemctl", "list-units", *listing).splitlines()]
    units = {row[0]: row[2] for row in rows if UNIT.fullmatch(row[0])}
    found = re.search(r"^\s*fsid\s*=\s*(\S+)", CONF.read_text(errors="replace") if CONF.exists() else "", re.MULTILINE)
    return {
        "host_name": os.uname().nodename.partition(".")[0],
        "fsid": found.group(1) if found else "",
        "release": find_release(call("ceph", "--version")[1]),
        "units": sorted(units),
        "failed": sorted(unit for unit, is_now in units.items() if is_now != "active"),
        "outdated": sorted(unit for unit, is_now in units.items() if is_now == "active" and is_outdated(unit)),
    }


def find_release(text: str) -> str:
    """Return the release in a version, such as 16 of `ceph version 16.2.15 (…)`."""
    found = re.search(r"ceph version ([0-9]+)\.", text)
    return found.group(1) if found else ""


def is_outdated(unit: str) -> bool:
    """Return whether a daemon has a program or library in memory that is not the installed one any more."""
    with suppress(FileNotFoundError, ProcessLookupError):  # it may end meanwhile
        return OURS.search((PROC / find_process(unit) / "maps").read_text(errors="replace")) is not None
    return False


def find_process(unit: str) -> str:
    """Return the number of a unit's main process; 0 without one."""
    return run("systemctl", "show", "--property=MainPID", "--value", unit).strip()


def state(about: Json, is_check: bool) -> Json:
    """Return whether a run that was cut off left its flag on the host; end where the cluster is another than the host's."""
    fsid, host = ask("fsid")["fsid"], about["host"]
    if fsid != about["fsid"]:
        sys.exit(tell("fsid of the cluster that answers", fsid, f"{about['fsid']}, as the host's ceph.conf has it", "see both"))
    releases = {find_release(text) for text in ask("versions")["mon"]} - {""}
    if about["release"] and releases - {about["release"]}:
        fix = "an upgrade to another release has an order of its own: Ceph's documentation, upgrades"
        sys.exit(
            tell(f"release of the monitors, while {host} has {about['release']}", ", ".join(sorted(releases)), "the same", fix)
        )
    marked = has_mark(host)
    if marked and not has_flag(host):
        if not is_check:
            ceph("config-key", "rm", MARK + host)
        marked = False
    return {"held": marked}


def ready(about: Json, is_check: bool) -> Json:
    """Wait until the daemons may stop without a client waiting; return how many placement groups lack copies.

    Beside it stand the `sessions` of gateways, numbers that change with each start.
    """
    deadline = time.monotonic() + (0 if is_check else about["wait_s"])
    while why := find_hindrance(about):
        if time.monotonic() >= deadline:
            if is_check:
                return {"unclean": 0, "sessions": [], "waits": why}
            word = f"""-e '{{"ceph_restart_anyway": ["{about["host"]}"]}}'"""
            fix = f"see ceph status and ceph health detail; where clients may wait, {word}"
            sys.exit(tell(about["host"], why, f"daemons that may stop, within {about['wait_s']:g} s", fix))
        time.sleep(2)
    kind, _ = list_names(about["units"])
    return {"unclean": count_unclean(), "sessions": sorted(list_gateways()) if kind == "radosgw" else []}


def find_hindrance(about: Json) -> str:
    """Return why the daemons may not stop now; empty where they may."""
    if about["anyway"]:
        return ""
    kind, names = list_names(about["units"])
    nodes = ask("osd", "tree")["nodes"]
    down = [node["name"] for node in nodes if node["type"] == "osd" and node["status"] == "down" and node["reweight"] > 0]
    if down:
        return f"{', '.join(down[:5])} {'is' if len(down) == 1 else 'are'} down already"
    questions = [["mon", "ok-to-stop", name] for name in names] if kind == "mon" else []
    if kind in {"osd", "mds"}:
        questions = [[kind, "ok-to-stop", *names]]
    if kind == "radosgw":
        gateways = list_gateways().values()
        zones = {each["zone"] for each in gateways if each["name"] in names}
        others = [each for each in gateways if each["name"] not in names and each["zone"] in zones]
        return "" if any(answers(each["listens"]) for each in others) else "no other gateway answers"
    for words in questions:
        code, _, err = call("ceph", f"--connect-timeout={CONNECT_S}", *words)
        if code:
            return shorten(err) or f"ceph {' '.join(words)} ended with {code}"
    return ""


def hold(about: Json, is_check: bool) -> list[str]:
    """Have Ceph not mark the host's OSDs out while they are down; a flag that somebody else set there stays as it is."""
    host = about["host"]
    if is_check or has_flag(host):
        return []
    ceph("config-key", "set", MARK + host, "")  # first, so that none is left of which nobody knows
    code, _, err = call("ceph", f"--connect-timeout={CONNECT_S}", "osd", "set-group", "noout", host)
    if code:
        ceph("config-key", "rm", MARK + host)
        sys.exit(f"ceph osd set-group noout {host}: {shorten(err)}")
    return []


def restart(about: Json, is_check: bool) -> list[str]:
    """Restart daemons of the host, all of one kind at once."""
    if not is_check:
        call("systemctl", "reset-failed", *about["units"])
        code, _, err = call("systemctl", "restart", *about["units"], limit_s=RESTART_S)
        if code:
            sys.exit(f"systemctl restart {' '.join(about['units'])}: {shorten(err)}; {LEFT}")
    return [f"{unit.removesuffix('.service')} is restarted" for unit in about["units"]]


def serve(about: Json, is_check: bool) -> list[str]:
    """Wait until the daemons say themselves that they serve; managers and gateways, which are not asked, run for a while."""
    deadline, since, processes = time.monotonic() + about["wait_s"], time.monotonic(), [""]
    steady_s = 0 if list_names(about["units"])[0] in SERVING else STEADY_S
    while not is_check:
        now = [find_process(unit) for unit in about["units"]]
        why = next((trouble for unit in about["units"] if (trouble := find_silence(unit))), "")
        if why or now != processes:
            since, processes = time.monotonic(), now
        elif time.monotonic() - since >= steady_s:
            break
        if time.monotonic() >= deadline:
            found = why or "begins anew and again"
            sys.exit(tell(about["host"], found, f"daemons that serve within {about['wait_s']:g} s", f"see its journal; {LEFT}"))
        time.sleep(1)
    return []


def find_silence(unit: str) -> str:
    """Return what a daemon is instead of serving, as it says itself; empty where it serves."""
    kind, (name,) = list_names([unit])
    if kind not in SERVING:
        return "" if call("systemctl", "is-active", "--quiet", unit)[0] == 0 else f"{kind}.{name} does not run"
    question, good = SERVING[kind]
    code, out, _ = call("ceph", "--admin-daemon", str(SOCKETS / f"ceph-{kind}.{name}.asok"), question)
    said = json.loads(out)["state"] if code == 0 else "silent"
    return "" if said in good else f"{kind}.{name} is {said}"


def settle(about: Json, is_check: bool) -> list[str]:
    """Wait until the cluster has the daemons back and as many copies as before for a while, and take the flag away."""
    deadline, since = time.monotonic() + about["wait_s"], time.monotonic()
    steady_s = 0 if list_names(about["units"])[0] in ("mgr", "radosgw") else STEADY_S
    while not is_check:
        why = find_trouble(about)
        if why:
            since = time.monotonic()
        elif time.monotonic() - since >= steady_s:
            why = release(about["host"])
            if not why:
                break
        if time.monotonic() >= deadline:
            fix = f"see ceph status, then run again; {LEFT}"
            sys.exit(tell(about["host"], why or "good for too short", f"all as before within {about['wait_s']:g} s", fix))
        time.sleep(1)
    return []


def find_trouble(about: Json) -> str:
    """Return what is not as before the daemons were restarted; empty where all is."""
    kind, names = list_names(about["units"])
    try:
        status, tree, managers, files = ask("status"), ask("osd", "tree"), ask("mgr", "dump"), ask("fs", "dump")
        gateways = list_gateways() if kind == "radosgw" else {}
    except SystemExit as silent:  # while monitors agree anew
        return str(silent)
    if kind == "osd":
        down = {node["name"] for node in tree["nodes"] if node["type"] == "osd" and node["status"] != "up"}
        missing = [name for name in names if f"osd.{name}" in down]
    elif kind == "mon":
        missing = [name for name in names if name not in status["quorum_names"]]
    elif kind == "mds":
        maps = [each["mdsmap"] for each in files["filesystems"]]
        serving = [server["name"] for each in maps for server in each["info"].values()]
        missing = [name for name in names if name not in {*serving, *(server["name"] for server in files["standbys"])}]
        ours = [each for each in maps if each["fs_name"] in {name.partition(".")[0] for name in names}]
        late = [server for each in ours for server in each["info"].values() if server["state"] not in SERVING["mds"][1]]
        failed = [each["fs_name"] for each in ours if each["failed"]]
        if late or failed:
            return f"metadata server {late[0]['name']} is {late[0]['state']}" if late else f"nobody serves all of {failed[0]}"
    elif kind == "radosgw":
        new = {each["name"] for number, each in gateways.items() if number not in about["sessions"]}
        missing = [name for name in names if name not in new]
    else:
        there = {managers["active_name"], *(each["name"] for each in managers["standbys"])}
        missing = [name for name in names if name not in there]
    if missing:
        return f"{', '.join(f'{kind}.{name}' for name in missing[:5])} {'is' if len(missing) == 1 else 'are'} not back"
    unclean = count_unclean(status)
    return f"{unclean} placement groups lack copies" if unclean > about["unclean"] else ""


def list_gateways() -> dict[str, dict[str, str]]:
    """Return the gateways that the cluster knows, by the number of their sessions; one that is gone is known for a minute more.

    `name` is that of the unit, `listens` what the gateway says that it listens at.
    """
    daemons = ask("service", "dump")["services"].get("rgw", {}).get("daemons", {})
    told = {number: each["metadata"] for number, each in daemons.items() if number != "summary"}
    return {
        number: {
            "name": f"rgw.{about.get('id', number)}",
            "zone": about.get("zone_id", ""),
            "listens": about.get("frontend_config#0", ""),
        }
        for number, about in told.items()
    }


def answers(listens: str) -> bool:
    """Return whether somebody answers where a gateway says that it listens, such as beast endpoint=10.72.128.0:8080."""
    found = re.search(r"endpoint=(\S+):([0-9]+)", listens)
    if found is None:
        return False
    with suppress(OSError), socket.create_connection((found.group(1).strip("[]"), int(found.group(2))), timeout=5):
        return True
    return False


def release(host: str) -> str:
    """Take our flag from a host; return why that was not done, empty where it was, or there is none of ours."""
    try:
        if has_mark(host):
            ceph("osd", "unset-group", "noout", host)
            ceph("config-key", "rm", MARK + host)
    except SystemExit as failed:
        return str(failed)
    return ""


def count_unclean(status: Json | None = None) -> int:
    """Return how many placement groups are not active, or lack copies."""
    states = (status or ask("status"))["pgmap"].get("pgs_by_state", [])
    words = [(set(each["state_name"].split("+")), each["count"]) for each in states]
    return sum(count for said, count in words if "active" not in said or said & BAD)


def list_names(units: list[str]) -> tuple[str, list[str]]:
    """Return the kind of some daemons, and their names, such as 3 of ceph-osd@3.service."""
    found = [UNIT.fullmatch(unit) for unit in units]
    return next((each.group(1) for each in found if each), ""), [each.group(2) for each in found if each]


def has_mark(host: str) -> bool:
    """Return whether the flag on a host is ours."""
    code, _, err = call("ceph", f"--connect-timeout={CONNECT_S}", "config-key", "exists", MARK + host)
    if code not in {0, ABSENT}:
        sys.exit(f"ceph config-key exists: {shorten(err) or f'ended with {code}'}")
    return code == 0


def has_flag(host: str) -> bool:
    """Return whether noout is set for a host."""
    return "noout" in ask("osd", "dump").get("crush_node_flags", {}).get(host, [])


def ask(*words: str) -> Json:
    """Return what the cluster answers."""
    answer: Json = json.loads(ceph(*words, "--format=json"))
    return answer


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


def call(program: str, *words: str, limit_s: float = LIMIT_S) -> tuple[int, str, str]:
    """Return exit code, output and errors of a program."""
    if shutil.which(program) is None:
        return 127, "", "not on this host"
    try:
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        return 124, "", f"no end in {limit_s:g} s"
    return done.returncode, done.stdout, done.stderr


def shorten(text: str) -> str:
    """Return errors in one line."""
    return " ".join(text.split())[-800:]


def tell(name: str, value: str, expected: str, fix: str) -> str:
    """Return a fault: what it is about, what is there, what was expected, and the way out."""
    return f"{name}: {value}; expected {expected}; fix: {fix}"


VERBS: dict[str, Callable[[Json, bool], Any]] = {
    "look": look,
    "state": state,
    "ready": ready,
    "hold": hold,
    "restart": restart,
    "serve": serve,
    "settle": settle,
}
if __name__ == "__main__":
    answer = VERBS[sys.argv[1]](json.load(sys.stdin), "check" in sys.argv[2:])
    sys.stdout.write(json.dumps({"changes": answer} if isinstance(answer, list) else answer) + "\n")
