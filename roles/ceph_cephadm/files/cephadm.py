"""Begin a Ceph by cephadm, and have its orchestrator bring daemons to hosts, or tell what would be done. Prints JSON.

Arguments: a verb, one of VERBS, and `check` where nothing may be done. Standard input is JSON: `name`, the host's; `fsid`;
`address`, its planned one; `monitors`, name to address of those with one; `wait_s`; for `begin` `options`,
name to value by section of ceph.conf, `image`, empty for cephadm's own, `pull` and `user`; for `trust` `user` and `key`, what
`share` printed; for `place` `specs`, those of hosts, and `run`, names of hosts of this run; for `serve` `specs`, those of
services; for `fill` `spec`, that of OSDs, `planned`, names of all such, `osds`, how many a host has, `hosts`, `grow` and `fewer`.
Python 3.9 suffices.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

LIB, CONF, ADMIN = Path("/var/lib/ceph"), Path("/etc/ceph/ceph.conf"), Path("/etc/ceph/ceph.client.admin.keyring")
STATE = Path("/var/lib/gpuyard/ceph_cephadm")
"""In STATE/beginning is the id of a cluster from before cephadm begins it to after; in STATE/lock the lock."""
ENGINES, PROGRAMS, TOOLS = ("podman", "docker"), ("lvcreate",), ("ceph", "cephadm")
"""What a host needs: one of the engines, the programs, and with a monitor the tools."""
KINDS = ("mds", "mgr", "mon", "osd", "rgw")
PORTS = (3300, 6789)
"""Where monitors listen. Source: Ceph, doc/rados/configuration/msgr2.rst."""
MANAGERS = (".mgr", "device_health_metrics")
"""Pools that managers make for themselves."""
LIMIT_S, ASK_S, CONNECT_S, PROBE_S = 600, 60, 10, 2
"""Within which a program has to be done, a manager to answer, to have found a monitor, and a port to answer."""
HELD: list[int] = []
"""The lock, which programs that are begun hold too: they may outlive this one."""
Json = dict[str, Any]


def look(about: Json, _: bool) -> Json:
    """Return what the host is and has, and what the cluster answers it."""
    name = about["name"]
    cluster, why = ask_cluster()
    others = [other for other in about["monitors"] if other != name]
    with ThreadPoolExecutor() as trying:  # each may take as long as it takes to give up
        answers = list(trying.map(lambda other: is_open(about["monitors"][other]), others))
    lacks = [program for program in (*PROGRAMS, *(TOOLS if name in about["monitors"] else ())) if shutil.which(program) is None]
    return {
        "host_name": os.uname().nodename,  # all of it: cephadm takes no other
        "has_address": is_here(about["address"]),
        "lacks": [*([] if any(map(shutil.which, ENGINES)) else [ENGINES[0]]), *lacks],
        "has_dpkg": shutil.which("dpkg") is not None,
        "interrupted": call("dpkg", "--audit")[1] != "",
        "fsid": read_conf("fsid"),
        "told": sorted(set(re.findall(r"[0-9]+(?:\.[0-9]+){3}", read_conf("mon_host")))),
        "packaged": sorted(f"{path.parent.name}/{path.name}" for kind in KINDS for path in (LIB / kind).glob("*-*")),
        "clusters": sorted({path.parent.name for path in LIB.glob("*-*-*-*-*/*.*") if is_daemon(path)}),
        "daemons": sorted(path.name for path in (LIB / about["fsid"]).glob("*.*") if is_daemon(path)),
        "half": read(STATE / "beginning").strip() == about["fsid"],
        "listening": [other for at, other in enumerate(others) if answers[at]],
        "cluster": cluster,
        "why": why,
    }


def is_daemon(path: Path) -> bool:
    """Return whether a path is a daemon's folder, as mon.control-001."""
    return path.is_dir() and path.name.partition(".")[0] in KINDS


def begin(about: Json, is_check: bool) -> list[str]:
    """Have cephadm begin the cluster with a monitor and a manager here, anew where a run was cut off in it."""
    name, fsid, mark = about["name"], about["fsid"], STATE / "beginning"
    if not is_check:
        lock()
    again = ", anew: an earlier run was cut off in it" if read(mark).strip() == fsid else ""
    if not is_check:
        cluster, _ = ask_cluster()
        more = sorted(set(cluster["monitors"] if cluster else ()) - {name}) + [path.name for path in (LIB / fsid).glob("osd.*")]
        if again and more:
            fix = f"rm {mark} there, if it is whole; run again"
            sys.exit(
                tell(f"cluster {fsid}", f"has {', '.join(more)}, and {mark} is there", "what a run left that was cut off", fix)
            )
        if again:
            run("cephadm", "rm-cluster", "--force", "--fsid", fsid)
        elif (LIB / fsid / f"mon.{name}").exists():
            sys.exit(tell(str(LIB / fsid), f"has mon.{name} by now", "no monitor yet", "another run may have made it: run again"))
        write(mark, fsid)
        sections = [
            "\n".join([f"[{section}]", *(f"{key} = {value}" for key, value in options.items())])
            for section, options in about["options"].items()
        ]
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as conf:
            conf.write("\n".join(sections) + "\n")
            conf.flush()
            which = ("--image", about["image"]) if about["image"] else ()
            words = ["--fsid", fsid, "--mon-ip", about["monitors"][name], "--config", conf.name, "--ssh-user", about["user"]]
            words += ["--skip-mon-network", "--orphan-initial-daemons", "--skip-dashboard", "--skip-monitoring-stack"]
            words += ["--allow-overwrite", *([] if about["pull"] else ["--skip-pull"])]
            run("cephadm", *which, "bootstrap", *words, limit_s=max(LIMIT_S, about["wait_s"]))
        mark.unlink()
        os.sync()  # or after a power cut it might be taken for cut off
    return [f"cluster {fsid} is begun on {name}{again}"]


def share(_: Json, __: bool) -> Json:
    """Return the public key by which managers come to hosts."""
    return {"key": ceph("cephadm", "get-pub-key").strip()}


def trust(about: Json, is_check: bool) -> list[str]:
    """Let managers come to this host by SSH."""
    try:
        user = pwd.getpwnam(about["user"])
    except KeyError:
        fix = "have one that becomes root by sudo without a password, or leave it out for root"
        sys.exit(tell("ceph_cephadm_user", about["user"], "a user of the host", fix))
    file, key = Path(user.pw_dir, ".ssh/authorized_keys"), about["key"].split()
    lines = file.read_bytes().decode(errors="replace").splitlines(keepends=True) if file.exists() else []
    if any(key[1] in line.split() for line in lines if not line.startswith("#")):
        return []
    if not is_check:
        is_new = {path: not path.exists() for path in (file.parent, file)}
        file.parent.mkdir(mode=0o700, exist_ok=True)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "w") as keys:
            keys.write(("\n" if lines and not lines[-1].endswith("\n") else "") + " ".join(key) + "\n")
        for path in [path for path, new in is_new.items() if new]:
            os.chown(path, user.pw_uid, user.pw_gid)
            call("restorecon", str(path))  # where SELinux is
    return [f"managers may come by SSH, as {about['user']}"]


def place(about: Json, is_check: bool) -> Json:
    """Have the cluster know the hosts of this run, and monitors be where they are planned, one after the other."""
    changes, faults, left = [], [], []
    if not is_check:
        lock()
        wait_orchestrator(about)
    there = list_hosts()
    for spec in about["specs"]:
        name, known = spec["hostname"], there.get(spec["hostname"])
        if name not in about["run"]:
            left += [] if known else [f"host {name} is not in this run, and not added"]
            continue
        change = compare_host(spec, known)
        if change and not is_check:
            fault = apply(spec)
            if fault:
                faults.append(f"{name}: {fault}")
                continue
            there[name] = {**spec, "status": ""}
        changes += change
    if faults:
        sys.exit("\n".join(faults) + list_failures())
    added, out = add_monitors(about, is_check, set(there) | (set(about["run"]) if is_check else set()))
    planned = {spec["hostname"] for spec in about["specs"]}
    for name in sorted(set(there) - planned):
        left.append(f"host {name} is not in the plan: ceph orch host drain {name}; once it is empty, ceph orch host rm {name}")
    states = {name: host.get("status", "") for name, host in there.items() if host.get("status")}
    left += [f"host {name} is {state}: ceph cephadm check-host {name} says more" for name, state in sorted(states.items())]
    return {"changes": changes + added, "left": left + out}


def list_hosts() -> dict[str, Json]:
    """Return the hosts that the orchestrator knows."""
    return {host["hostname"]: host for host in ask_json("orch", "host", "ls")}


def compare_host(spec: Json, known: Json | None) -> list[str]:
    """Return what is changed about a host."""
    name, address = spec["hostname"], spec["addr"]
    if known is None:
        return [f"host {name} is added, at {address}: {', '.join(spec['labels'])}"]
    moved = [f"host {name} is at {address}, no longer at {known['addr']}"] if known["addr"] != address else []
    return moved + [f"host {name} has label {label}" for label in spec["labels"] if label not in known["labels"]]


def add_monitors(about: Json, is_check: bool, hosts: set[str]) -> tuple[list[str], list[str]]:
    """Add the monitors that the cluster does not have, on these hosts, and wait until each is counted; return those that are not.

    None is added while another is not counted: what keeps that one out may keep others out, and then no majority is left.
    """
    cluster, _ = ask_cluster()
    known, quorum = (cluster["monitors"], cluster["quorum"]) if cluster else ({}, [])
    lacking = [name for name in about["monitors"] if name not in known and name in hosts]
    out = [name for name in about["monitors"] if name in known and name not in quorum]
    if lacking and not is_check:
        for name in out:
            wait_quorum(about, name)
        for name in lacking:
            # One that a run that was cut off has added, and that is not counted yet, is there already.
            if name not in {daemon["daemon_id"] for daemon in ask_json("orch", "ps", "--daemon_type", "mon")}:
                ceph("orch", "daemon", "add", "mon", f"{name}:{about['monitors'][name]}")
            wait_quorum(about, name)
        out = []
    again = "see ceph orch ps; where its host was installed anew, ceph orch daemon rm mon.{} --force, and run again"
    left = [f"monitor {name} is not in the quorum: {again.format(name)}" for name in out]
    return [f"monitor {name} is added, at {about['monitors'][name]}" for name in lacking], left


def serve(about: Json, is_check: bool) -> Json:
    """Have services as planned, and wait until the daemons run of those that were changed."""
    if not is_check:
        lock()
        wait_orchestrator(about)
    there, hosts = list_services(), list_hosts()
    changes, left, changed = [], [], []
    for spec in about["specs"]:
        name, known = name_service(spec), there.get(name_service(spec))
        absent = [] if is_check else list_absent(spec, hosts)  # where hosts are not added yet
        if absent:
            left.append(f"service {name} waits for {', '.join(absent)} to be in the cluster")
            continue
        change = compare_service(spec, known)
        if change and not is_check:
            fault = apply(merge(spec, known))
            if fault:
                sys.exit(f"service {name}: {fault}{list_failures()}")
            changed += [] if spec.get("unmanaged") else [name]
        changes += change
    if changed:
        wait_services(about, changed)
    states = count_daemons()
    for name in [name_service(spec) for spec in about["specs"] if not spec.get("unmanaged")]:
        running, size = states.get(name, (0, 0))
        left += [f"service {name}: {running} of {size} daemons run: see ceph orch ps"] if running < size else []
    return {"changes": changes, "left": left}


def list_services() -> dict[str, Json]:
    """Return what the orchestrator was told of services, by their names."""
    return {spec["service_name"]: spec for spec in ask_json("orch", "ls", "--export")}


def list_absent(spec: Json, hosts: dict[str, Json]) -> list[str]:
    """Return the hosts of a service that the orchestrator does not know; it would take none of the others then."""
    placement = spec["placement"]
    if "label" in placement and not any(placement["label"] in host["labels"] for host in hosts.values()):
        return [f"a host with label {placement['label']}"]
    return [name for name in name_hosts(placement) if name not in hosts]


def name_hosts(placement: Json) -> list[str]:
    """Return the hosts that a placement names; a monitor's has its address behind it."""
    return [host.partition(":")[0] for host in placement.get("hosts", ())]


def compare_service(spec: Json, known: Json | None) -> list[str]:
    """Return what is changed about a service."""
    name = name_service(spec)
    if known is None:
        return [f"service {name} is planned"]
    keys = [key for key in ("placement", "spec") if not holds(known.get(key, {}), spec.get(key, {}))]
    keys += ["unmanaged"] if known.get("unmanaged", False) != spec.get("unmanaged", False) else []
    gone = [host for host in name_hosts(known.get("placement", {})) if host not in name_hosts(spec["placement"])]
    leaves = f"; no longer on {', '.join(gone)}" if gone and "placement" in keys else ""
    return [f"service {name}: {', '.join(keys)} as planned{leaves}"] if keys else []


def merge(spec: Json, known: Json | None) -> Json:
    """Return what is planned of a service, with what somebody told the orchestrator beside that."""
    known = {key: value for key, value in (known or {}).items() if key != "service_name"}
    inner = {**known.get("spec", {}), **spec.get("spec", {})}
    return {**known, **spec, "unmanaged": spec.get("unmanaged", False), **({"spec": inner} if inner else {})}


def name_service(spec: Json) -> str:
    """Return what the orchestrator calls a service."""
    return f"{spec['service_type']}.{spec['service_id']}" if "service_id" in spec else spec["service_type"]


def holds(known: Any, wanted: Any) -> bool:
    """Return whether all that is wanted is there. The orchestrator adds keys, and leaves out those that are false or empty."""
    if isinstance(wanted, dict) and isinstance(known, dict):
        return all(holds(known.get(key), wanted[key]) for key in wanted)
    return known == wanted or not (known or wanted)


def count_daemons() -> dict[str, tuple[int, int]]:
    """Return by service how many of its daemons run, and how many there should be."""
    return {each["service_name"]: (each["status"].get("running", 0), each["status"]["size"]) for each in ask_json("orch", "ls")}


def wait_services(about: Json, names: list[str]) -> None:
    """Wait until all daemons of services run, as long as more and more do."""
    found: dict[str, tuple[int, int]] = {}

    def count() -> int:
        states = count_daemons()
        found.update({name: states.get(name, (0, 1)) for name in names})
        return sum(max(0, size - running) for running, size in found.values())

    def complain() -> str:
        lacking = [f"{name} {running} of {size}" for name, (running, size) in found.items() if running < size]
        fix = "see ceph orch ps and ceph log last cephadm, then run again; images are pulled meanwhile"
        expected = f"all of them, the next within {about['wait_s']:g} s"
        return tell("daemons that run", ", ".join(lacking) + list_failures(), expected, fix)

    wait_for(about, count, complain)


def fill(about: Json, is_check: bool) -> Json:
    """Have the orchestrator make OSDs on hosts that lack some, and none by itself afterwards."""
    if not is_check:
        lock()
        wait_orchestrator(about)
    spec, name, services, counts = about["spec"], name_service(about["spec"]), list_services(), count_osds()
    calm, changes = merge(spec, services.get(name)), []
    if name in services and not services[name].get("unmanaged"):  # of a run that was cut off
        changes.append(f"service {name} makes no OSD by itself")
        if not is_check and (fault := apply(calm)):
            sys.exit(f"service {name}: {fault}")
    make, left = choose_hosts(about, counts, {} if is_check else list_hosts())
    for other, known in services.items():
        if known["service_type"] == "osd" and other not in about["planned"] and not known.get("unmanaged"):
            left.append(f"service {other} makes an OSD of each drive that fits and is empty; it is not in the plan")
    if make and not is_check:
        faults = []
        try:
            ceph("orch", "device", "ls", *sorted(make), "--refresh")
            fault = apply({**calm, "placement": {"hosts": sorted(make)}, "unmanaged": False})
            if fault:
                sys.exit(f"service {name}: {fault}")
            wait_osds(about, {host: counts.get(host, (0, 0))[1] + lacks for host, lacks in make.items()})
        except SystemExit as ended:
            faults.append(str(ended))
        # Managed, it would make an OSD of every drive that somebody swaps or zaps later.
        faults += [f"service {name} makes OSDs by itself still: {fault}; run again"] if (fault := apply_at_last(calm)) else []
        if faults:
            sys.exit("\n".join(faults))
    what = {host: "an OSD is" if lacks == 1 else f"{lacks} OSDs are" for host, lacks in sorted(make.items())}
    return {"changes": [*changes, *(f"{text} made on {host}" for host, text in what.items())], "left": left}


def apply_at_last(spec: Json) -> str:
    """Tell the orchestrator of a service, again where a manager has just gone; return why it does not take it."""
    fault = ""
    for pause_s in (0, 5, 20):
        time.sleep(pause_s)
        fault = apply(spec)
        if not fault:
            break
    return fault


def choose_hosts(about: Json, counts: dict[str, tuple[int, int]], hosts: dict[str, Json]) -> tuple[dict[str, int], list[str]]:
    """Return on which hosts how many OSDs are made, and what is left unmade, or down, on the others; a dry run knows no hosts."""
    make, left, each, has_any = {}, [], about["osds"], has_data()
    for name in about["hosts"]:
        has, up = counts.get(name, (0, 0))
        if has and not up:
            left.append(f"{name}: none of its {has} OSDs is up; where it was installed anew, ceph cephadm osd activate {name}")
        if has >= each or name in about["fewer"]:
            continue
        state = hosts[name].get("status", "") if name in hosts else "not in the cluster"
        if hosts and state:
            left.append(f"{name}: {has} of {each} OSDs; the host is {state}")
        elif has_any and name not in about["grow"]:
            word = f"""-e '{{"ceph_cephadm_grow": ["{name}"]}}' has them made on its empty drives, and data moves there at once"""
            left.append(f"{name}: {has} of {each} OSDs; {word}")
        else:
            make[name] = each - has
    return make, left


def wait_osds(about: Json, wanted: dict[str, int]) -> None:
    """Wait until as many OSDs of hosts are up as wanted, as long as more and more are."""
    ups: dict[str, int] = {}

    def count() -> int:
        counts = count_osds()
        ups.update({name: counts.get(name, (0, 0))[1] for name in wanted})
        return sum(max(0, most - ups[name]) for name, most in wanted.items())

    def complain() -> str:
        lacking = [name for name, most in wanted.items() if ups[name] < most]
        drives = {host.get("name", host["addr"]): host["devices"] for host in ask_json("orch", "device", "ls", *lacking)}
        faults = []
        for name in lacking:
            refused = list_refused(about, drives.get(name, []))
            fix = "see ceph orch device ls and ceph log last cephadm"
            fix += f"; ceph orch device zap {name} PATH --force empties one, if all on it may go" if refused else ""
            fix += f"""; -e '{{"ceph_cephadm_fewer": ["{name}"]}}' goes on with what there is"""
            found = f"{ups[name]} of {wanted[name]} up" + (f"; not taken: {', '.join(refused)}" if refused else "")
            faults.append(tell(f"{name}: OSDs", found, f"all, the next within {about['wait_s']:g} s", fix))
        return "\n".join(faults) + list_failures()

    wait_for(about, count, complain)


def list_refused(about: Json, drives: list[Json]) -> list[str]:
    """Return the drives that are not taken, with the reasons; not those that are in use, or of this cluster's OSDs."""
    own = [drive for drive in drives if about["fsid"] in {volume.get("cluster_fsid") for volume in drive.get("lvs") or ()}]
    free = [
        drive for drive in drives if not drive["available"] and drive not in own and "locked" not in drive["rejected_reasons"]
    ]
    return [f"{drive['path']} ({', '.join(drive['rejected_reasons'])})" for drive in free]


def list_failures() -> str:
    """Return what cephadm says that it failed in, and the last words of its programs; empty where it says nothing."""
    said = ""
    for name, check in ask_json("health", "detail")["checks"].items():
        if name.startswith("CEPHADM_"):
            words = [word for detail in check["detail"] for word in re.findall(r"\bstderr (.*\S)", detail["message"])]
            said += f"; {name}: {shorten(': '.join([check['summary']['message'], *words[-2:]]))}"
    return said


def count_osds() -> dict[str, tuple[int, int]]:
    """Return by host how many OSDs there are, and how many of them are up; destroyed ones are not there."""
    tree = ask_json("osd", "tree")
    osds = {node["id"]: node for node in [*tree["nodes"], *tree["stray"]] if node["type"] == "osd"}
    found = {}
    for host in [node for node in tree["nodes"] if node["type"] == "host"]:
        own = [osds[number] for number in host["children"] if number in osds and osds[number]["status"] != "destroyed"]
        found[host["name"]] = (len(own), sum(osd["status"] == "up" for osd in own))
    return found


def has_data() -> bool:
    """Return whether the cluster has data, or cannot say, as while its OSDs are down or its manager has just begun."""
    status = ask_json("status")
    osds, states = status["osdmap"], [each["state_name"] for each in status["pgmap"]["pgs_by_state"]]
    if any("unknown" in state for state in states) or (osds["num_osds"] and not osds["num_up_osds"]):
        return True
    return any(each["stats"]["objects"] for each in ask_json("df")["pools"] if each["name"] not in MANAGERS)


def apply(spec: Json) -> str:
    """Tell the orchestrator of a host or a service; return why it does not take it, empty where it does."""
    code, out, err = call("ceph", f"--connect-timeout={CONNECT_S}", "orch", "apply", "-i", "-", text=json.dumps(spec))
    return shorten(err or out) or f"ended with {code}" if code or "Failed to apply" in out else ""


def ask_cluster() -> tuple[Json | None, str]:
    """Return id, monitors by name and quorum as the cluster answers the administrator; None, and why, where it does not."""
    lacking = [str(path) for path in (CONF, ADMIN) if not path.is_file()]
    if lacking or shutil.which("ceph") is None:
        return None, f"no {lacking[0]}" if lacking else "no program ceph"
    code, out, err = call("ceph", f"--connect-timeout={CONNECT_S}", "quorum_status", "--format=json")
    if code:
        return None, f"ceph quorum_status: {shorten(err) or f'ended with {code}'}"
    said = json.loads(out)
    monitors = {each["name"]: find_address(each) for each in said["monmap"]["mons"]}
    return {"fsid": said["monmap"]["fsid"], "monitors": monitors, "quorum": said["quorum_names"]}, ""


def find_address(monitor: Json) -> str:
    """Return the address of a monitor, without port; empty where none is known yet."""
    known = [each["addr"] for each in monitor["public_addrs"]["addrvec"]]
    return known[0].rpartition(":")[0].strip("[]") if known else ""


def wait_orchestrator(about: Json) -> None:
    """Wait until the orchestrator answers: a manager that has just taken over does not."""
    said = {"found": ""}

    def lacks() -> bool:
        code, out, err = call("ceph", f"--connect-timeout={CONNECT_S}", "orch", "status", "--format=json", limit_s=ASK_S)
        said["found"] = shorten(err) or f"ended with {code}"
        return code != 0 or not json.loads(out).get("available", False)

    fix = "see ceph status and ceph mgr module ls; ceph mgr module enable cephadm, ceph orch set backend cephadm"
    wait_for(about, lacks, lambda: tell("ceph orch status", said["found"], f"it to answer within {about['wait_s']:g} s", fix))


def wait_quorum(about: Json, name: str) -> None:
    """Wait until the cluster counts a monitor."""
    said = {"found": ""}

    def lacks() -> bool:
        cluster, why = ask_cluster()
        said["found"] = why or f"without {name}"
        return cluster is None or name not in cluster["quorum"]

    fix = f"see ceph log last cephadm and, on {name}, cephadm logs --name mon.{name}; ports 3300 and 6789 have to pass"
    wait_for(about, lacks, lambda: tell("the quorum", said["found"], f"{name} in it within {about['wait_s']:g} s", fix))


def wait_for(about: Json, lacks: Callable[[], int], complain: Callable[[], str]) -> None:
    """Wait until nothing lacks, as long as it becomes less in time; end with a complaint where it does not."""
    deadline, least = time.monotonic() + about["wait_s"], sys.maxsize
    while count := lacks():
        if count < least:
            deadline, least = time.monotonic() + about["wait_s"], count
        if time.monotonic() > deadline:
            sys.exit(complain())
        time.sleep(2)


def lock() -> None:
    """Have one run at a time change the cluster from this host; held until this program and what it began have ended."""
    STATE.mkdir(parents=True, exist_ok=True)
    HELD.append(os.open(STATE / "lock", os.O_RDWR | os.O_CREAT, 0o600))
    try:
        fcntl.flock(HELD[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(tell(str(STATE), "another run is at it", "one run at a time", "wait until it has ended"))


def read_conf(key: str) -> str:
    """Return what the host's ceph.conf says of a key; empty where there is none."""
    words = key.replace("_", "[ _]")
    found = re.search(rf"^\s*{words}\s*=\s*(.*)", read(CONF), re.MULTILINE)
    return found.group(1).strip() if found else ""


def read(path: Path) -> str:
    """Return what a file holds; empty where there is none."""
    with suppress(OSError):
        return path.read_text(errors="replace")
    return ""


def write(path: Path, text: str) -> None:
    """Write a file whole, for root's eyes."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".gpuyard-")
    with os.fdopen(handle, "w") as file:
        file.write(f"{text}\n")
        file.flush()
        os.fsync(file.fileno())
    Path(name).replace(path)


def is_here(address: str) -> bool:
    """Return whether the host has an address."""
    with socket.socket() as trial, suppress(OSError):
        trial.bind((address, 0))
        return address != ""
    return False


def is_open(address: str) -> bool:
    """Return whether somebody listens where a monitor would."""
    for port in PORTS if address else ():
        with suppress(OSError), socket.create_connection((address, port), PROBE_S):
            return True
    return False


def ask_json(*words: str) -> Any:
    """Return what the cluster answers its administrator, read. Of nothing the orchestrator says so in words."""
    said = ceph(*words, "--format=json")
    return [] if said.startswith("No ") else json.loads(said)


def ceph(*words: str, text: str | None = None) -> str:
    """Return what the cluster answers its administrator."""
    return run("ceph", f"--connect-timeout={CONNECT_S}", *words, text=text)


def run(program: str, *words: str, text: str | None = None, limit_s: float = LIMIT_S) -> str:
    """Return what a program prints; end with its complaint where it fails."""
    code, out, err = call(program, *words, text=text, limit_s=limit_s)
    if code:
        said = " ".join(word for word in words[:4] if not word.startswith("-"))
        sys.exit(f"{program} {said}: {shorten(err) or f'ended with {code}'}")
    return out


def call(program: str, *words: str, text: str | None = None, limit_s: float = LIMIT_S) -> tuple[int, str, str]:
    """Return exit code, output and errors of a program, which gets a text."""
    given: Json = {"stdin": subprocess.DEVNULL} if text is None else {"input": text}
    given["pass_fds"] = HELD
    try:
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=limit_s, check=False, **given)
    except FileNotFoundError:
        return 127, "", "not on this host"
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
    "begin": begin,
    "share": share,
    "trust": trust,
    "place": place,
    "serve": serve,
    "fill": fill,
}
if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit("ended by a signal"))
    answer = VERBS[sys.argv[1]](json.load(sys.stdin), "check" in sys.argv[2:])
    sys.stdout.write(json.dumps({"changes": answer} if isinstance(answer, list) else answer) + "\n")
