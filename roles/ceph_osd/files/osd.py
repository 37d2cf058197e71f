"""Make the OSDs of a host from Ceph's packages, on drives of the planned kind, or tell what would be done. Prints JSON.

Arguments: a verb, one of VERBS, and `check` where nothing may be done. Standard input is JSON: `fsid`; `osds`, what the plan says
of drives (drives, bytes, rotational, per_drive, device_class); `wait_s`; for `ask` `uuids` of OSDs; for `start` `start`, OSDs;
for `make` `make`, drives as `look` told of them, with `numbers`, those of destroyed OSDs that theirs get, `wipe`, names of those
that are wiped first, and `key`, what `share` printed; for `settle` `start`, `make` and `done`, names of drives that are whole.

Where a drive is replaced: for `find` `number`, of an OSD; for `drain`, `stop` and `destroy` `leave`, OSDs as `find` told of them,
and `lost`, whether their drive is. Python 3.9 suffices.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

CONF, KEYRING = Path("/etc/ceph/ceph.conf"), Path("/var/lib/ceph/bootstrap-osd/ceph.keyring")
STATE, LIB = Path("/var/lib/gpuyard/ceph_osd"), Path("/var/lib/ceph")
"""In STATE/making is a file for each drive that a run is about to make OSDs on, from before to after; in STATE/lock the lock."""
BY_ID, SOCKETS, BLOCKS = Path("/dev/disk/by-id"), Path("/var/run/ceph"), Path("/sys/block")
PROGRAMS = ("ceph", "ceph-osd", "ceph-volume", "lvs")
SLACK = 0.02
"""Part of its nominal size by which a drive may be larger or smaller, as in what cephadm is told."""
LIMIT_S, CONNECT_S, LATE = 900, 10, 124
EMPTY = 2
"""Exit code of `blkid -p` for a device with nothing on it that it knows."""
EDGE = 2**20
"""Bytes at both ends of a drive that have to be zero where it is empty."""
MANAGERS = (".mgr", "device_health_metrics")
"""Pools that managers make for themselves."""
GROUP, VOLUME = re.compile(r"ceph-[0-9a-f-]{36}"), re.compile(r"osd-block-[0-9a-f-]{36}")
"""What ceph-volume calls what it makes. Source: Ceph, ceph_volume/api/lvm.py, create_lv."""
FAR = ("iscsi", "fc", "fcoe", "usb")
"""How drives are connected that are not in the host, or do not stay there."""
LOST = {"stale", "unknown", "down", "incomplete", "recovery_unfound", "backfill_unfound"}
"""States of placement groups of which a copy may be the last one."""
AGAIN = (11, 16)
"""Exit codes of `ceph` for what may be asked once more (EAGAIN, EBUSY)."""
Json = dict[str, Any]


def look(about: Json, _: bool) -> Json:
    """Return what the host is and has, its drives of the planned kind, and OSDs of other clusters on any drive."""
    drives = list(list_drives(about["fsid"]))
    others = sorted({each for drive in drives for each in drive.pop("others")})
    return {
        "host_name": os.uname().nodename.partition(".")[0],
        "lacks": [program for program in PROGRAMS if shutil.which(program) is None],
        "has_dpkg": shutil.which("dpkg") is not None,
        "interrupted": call("dpkg", "--audit")[1] != "",
        "fsid": find_fsid(),
        "cephadm": sorted({path.parent.name for path in LIB.glob("*-*-*-*-*/osd.*") if path.is_dir()}),
        "others": others,
        "busy": is_locked(),
        "drives": [drive for drive in drives if is_planned(drive, about["osds"])],
    }


def ask(about: Json, _: bool) -> Json:
    """Return what the cluster says of itself and of these OSDs, on a host with a monitor."""
    use, tree, osds = (ask_json(*words) for words in (["df"], ["osd", "tree"], ["osd", "dump"]))
    places = list_places(tree)
    wanted, hosts = set(about["uuids"]), {number: place.get("host", "") for number, place in places.items()}
    destroyed = sorted(osd["osd"] for osd in osds["osds"] if "destroyed" in osd["state"])
    return {
        "fsid": osds["fsid"],
        "has_objects": any(each["stats"]["objects"] for each in use["pools"] if each["name"] not in MANAGERS),
        "places": {
            node["name"]: places[node["id"]] for node in [*tree["nodes"], *tree.get("stray", ())] if node["type"] == "host"
        },
        "osds": {
            osd["uuid"]: {"was_up": was_up(osd), "up": osd["up"] == 1, "host": hosts.get(osd["osd"], "")}
            for osd in osds["osds"]
            if osd["uuid"] in wanted
        },
        "destroyed": {
            host: [number for number in destroyed if hosts.get(number, "") == host]
            for host in sorted({hosts.get(number, "") for number in destroyed})
        },
    }


def was_up(osd: Json) -> bool:
    """Return whether an OSD ever was up; one that has the number of another was not because that one was."""
    return osd["up_from"] > 0 and "new" not in osd["state"]


def find(about: Json, _: bool) -> Json:
    """Return what the cluster says of an OSD and of the others on its drive, on a host with a monitor; none where it is unknown.

    `drive` is the drive by its serial number, or as its host called it, where Ceph has none; `dead` whether there are placement
    groups that do not serve, or that nobody tells of.
    """
    tree, osds, daemons = (ask_json("osd", what) for what in ("tree", "dump", "metadata"))
    hosts = {number: place.get("host", "") for number, place in list_places(tree).items()}
    destroyed = {osd["osd"] for osd in osds["osds"] if "destroyed" in osd["state"]}
    names = {daemon["id"]: daemon.get("devices", "") for daemon in daemons}
    # As sdb=SERIAL, and sdb was so when the OSD began: by now another drive may be called that.
    drives = {
        daemon["id"]: ", ".join(sorted(part.partition("=")[2] for part in daemon.get("device_ids", "").split(",") if "=" in part))
        for daemon in daemons
    }
    number = about["number"]
    host, drive = hosts.get(number, ""), drives.get(number, "")
    same = [
        number,
        *(other for other in drives if drive and other != number and (hosts.get(other, ""), drives[other]) == (host, drive)),
    ]
    states = [set(state["name"].split("+")) for state in ask_json("pg", "stat")["pg_summary"]["num_pg_by_state"]]
    return {
        "fsid": osds["fsid"],
        "host": host,
        "drive": drive or names.get(number, ""),
        "dead": any("active" not in state or state & LOST for state in states),
        "osds": [
            {"number": osd["osd"], "uuid": osd["uuid"], "up": osd["up"] == 1, "in": osd["in"] == 1, "new": "new" in osd["state"]}
            for osd in osds["osds"]
            if osd["osd"] in same and osd["osd"] not in destroyed
        ],
        "destroyed": number in destroyed,
    }


def list_places(tree: Json) -> dict[int, dict[str, str]]:
    """Return the buckets that each node of CRUSH is in, by its number and their types, of what `osd tree` says."""
    nodes = [*tree["nodes"], *tree.get("stray", ())]
    parents = {child: node for node in nodes for child in node.get("children", ())}
    places: dict[int, dict[str, str]] = {}
    for number in {*parents, *(node["id"] for node in nodes)}:
        at, places[number] = number, {}
        while at in parents:
            places[number][parents[at]["type"]] = parents[at]["name"]
            at = parents[at]["id"]
    return places


def drain(about: Json, is_check: bool) -> list[str]:
    """Have data move off OSDs, and wait until they hold none that is needed; what was lost with a drive is not waited for."""
    numbers = [osd["number"] for osd in about["leave"]]
    moving = [str(osd["number"]) for osd in about["leave"] if osd["in"] and not about["lost"]]
    if moving and not is_check:
        ceph("osd", "out", *moving)
    deadline = time.monotonic() + about["wait_s"]
    while not is_check and not about["lost"] and (left := set(numbers) - set(list_safe(numbers))):
        if time.monotonic() > deadline:
            uses = {osd["id"]: osd["pgs"] for osd in ask_json("osd", "df")["nodes"]}
            found = ", ".join(f"osd.{number} has {uses.get(number, 0)}" for number in sorted(left))
            fix = "run again: data moves on meanwhile; if it does not, see ceph status and ceph health detail"
            sys.exit(tell("placement groups", found, f"none on it, and all copies there, within {about['wait_s']:g} s", fix))
        time.sleep(2)
    return [f"osd.{number} is out, and data moves off it" for number in moving]


def list_safe(numbers: list[int]) -> list[int]:
    """Return which OSDs Ceph could lose without losing a copy; none where it cannot say."""
    code, out, _ = call("ceph", f"--connect-timeout={CONNECT_S}", "osd", "safe-to-destroy", *map(str, numbers), "--format=json")
    with suppress(ValueError):
        return list(json.loads(out)["safe_to_destroy"]) if code == 0 else []
    return []


def stop(about: Json, is_check: bool) -> list[str]:
    """Stop OSDs, also at the next start of the host. Their drive is not asked: it may not answer."""
    lock(is_check)
    for osd in about["leave"] if not is_check else ():
        number, uuid = str(osd["number"]), osd["uuid"]
        own = read(LIB / f"osd/ceph-{number}/fsid").strip()
        if own not in ("", uuid):
            fix = "see whose it is: another cluster may have one of the same number"
            sys.exit(tell(f"osd.{number} there", f"OSD {own}", f"{uuid}, as the cluster has it", fix))
        units = (f"ceph-osd@{number}", f"ceph-volume@lvm-{number}-{uuid}")
        code, _, _ = call("systemctl", "disable", "--now", *units)
        call("systemctl", "disable", "--runtime", *units)  # as ceph-volume enables those of OSDs
        call("systemctl", "reset-failed", f"ceph-osd@{number}")
        if code == LATE or runs(number):
            fix = "see systemctl status there; a drive that hangs may want the host restarted"
            sys.exit(tell(f"osd.{number}", "does not stop", "it to end", fix))
        call("umount", str(LIB / f"osd/ceph-{number}"))
    return [f"osd.{osd['number']} is stopped" for osd in about["leave"]]


def runs(number: str) -> bool:
    """Return whether the daemon of an OSD runs."""
    return call("systemctl", "is-active", "--quiet", f"ceph-osd@{number}")[0] == 0


def destroy(about: Json, is_check: bool) -> list[str]:
    """Take the keys of OSDs away; numbers and places are kept for others. Ceph refuses that while a copy on them is needed."""
    for osd in about["leave"] if not is_check else ():
        words = ("osd", "destroy", str(osd["number"]), *(["--yes-i-really-mean-it"] if about["lost"] else []))
        deadline = time.monotonic() + about["wait_s"]
        while (said := call("ceph", f"--connect-timeout={CONNECT_S}", *words))[0]:
            if said[0] not in AGAIN or time.monotonic() > deadline:
                fix = "see ceph osd safe-to-destroy and ceph status, then run again"
                sys.exit(tell(f"osd.{osd['number']}", shorten(said[2]), f"it to be destroyed within {about['wait_s']:g} s", fix))
            time.sleep(2)
    return [f"osd.{osd['number']} is destroyed" for osd in about["leave"]]


def share(_: Json, __: bool) -> Json:
    """Return the key that OSDs are made with."""
    return {"key": ceph("auth", "get", "client.bootstrap-osd")}


def start(about: Json, is_check: bool) -> list[str]:
    """Start OSDs that are there and do not run; tell all that do not start."""
    faults = []
    lock(is_check)
    for osd in about["start"] if not is_check else ():
        call("systemctl", "reset-failed", f"ceph-osd@{osd['id']}")
        code, _, err = call("ceph-volume", "lvm", "activate", osd["id"], osd["uuid"])
        if code:
            faults.append(f"osd.{osd['id']}: {shorten(err)}")
    if faults:
        sys.exit("\n".join(faults))
    return [f"osd.{osd['id']} runs" for osd in about["start"]]


def make(about: Json, is_check: bool) -> list[str]:
    """Make OSDs on drives, one after the other; where one fails the others go on, and all that failed are told in the end."""
    plan, wipe = about["osds"], set(about["wipe"])
    if not is_check:
        lock(is_check)
        write(KEYRING, about["key"])
        faults = [fault for drive in about["make"] if (fault := make_on(drive, drive["name"] in wipe, about))]
        if faults:
            sys.exit("\n".join(faults))
    what = "an OSD is made" if plan["per_drive"] == 1 else f"{plan['per_drive']} OSDs are made"
    return [f"{what} on {drive['name']}{tell_how(drive, drive['name'] in wipe)}" for drive in about["make"]]


def tell_how(drive: Json, is_wiped: bool) -> str:
    """Return what is said of OSDs that are made on a drive, beside where."""
    again = f", {' and '.join(f'osd.{number}' for number in drive['numbers'])} again" if drive["numbers"] else ""
    return again + (", wiped first" if is_wiped else "")


def make_on(judged: Json, may_wipe: bool, about: Json) -> str:
    """Make the OSDs of a drive; return what went wrong, empty where nothing did.

    The drive is looked at again: it may be another by now, or hold something since. The mark is there while nothing else is on it
    than what is made here.
    """
    name, plan, mark = judged["name"], about["osds"], STATE / "making" / judged["name"]
    drive = find_drive(judged, about["fsid"])
    if drive is None or (drive["holds"], drive["osds"]) != (judged["holds"], judged["osds"]):
        is_now = "gone" if drive is None else drive["holds"] or "with other OSDs"
        return tell(name, f"is {is_now}", "what it was when it was judged", "see what is done to it, then run again")
    if judged["half"]:
        for osd in judged["osds"]:
            call("systemctl", "disable", "--now", f"ceph-osd@{osd['id']}", f"ceph-volume@lvm-{osd['id']}-{osd['uuid']}")
            call("umount", f"/var/lib/ceph/osd/ceph-{osd['id']}")
            bootstrap = ("--name", "client.bootstrap-osd", "--keyring", KEYRING)
            call("ceph", *bootstrap, "osd", "purge-new", osd["id"], "--yes-i-really-mean-it")
        code, _, err = call("ceph-volume", "lvm", "zap", "--destroy", drive["path"])
        if code:
            return f"{name}: ceph-volume lvm zap: {shorten(err)}"
    elif may_wipe:
        wipe_drive(drive)
    drive = find_drive(judged, about["fsid"])
    if drive is None or drive["holds"] or drive["member"]:
        is_now = "gone" if drive is None else f"holds {drive['holds'] or 'what ceph-volume made'}"
        return tell(name, is_now, "an empty drive by now", "see dmesg, and what else uses it")
    write(mark, "")
    how = ("--crush-device-class", plan["device_class"], "--osds-per-device", str(plan["per_drive"]))
    again = ("--osd-ids", *map(str, judged["numbers"])) if judged["numbers"] else ()
    code, _, err = call("ceph-volume", "lvm", "batch", "--yes", "--no-auto", *how, drive["path"], *again)
    if code:
        return f"{name}: ceph-volume lvm batch: {shorten(err)}"
    made = find_drive(judged, about["fsid"])
    if made is None or len(made["osds"]) != plan["per_drive"]:
        count = len(made["osds"]) if made else 0
        return tell(
            name, f"{count} OSDs after ceph-volume lvm batch", f"{plan['per_drive']}", "see /var/log/ceph/ceph-volume.log"
        )
    mark.unlink()
    return ""


def wipe_drive(drive: Json) -> None:
    """Remove partitions, signatures, and what is at both ends of a drive that nothing uses."""
    for path in [*drive["parts"], drive["path"]]:
        run("wipefs", "--all", path)
    with Path(drive["path"]).open("r+b", buffering=0) as file:
        for at in (0, max(0, drive["bytes"] - EDGE)):
            file.seek(at)
            file.write(bytes(EDGE))
        os.fsync(file.fileno())
    call("blockdev", "--rereadpt", drive["path"])


def settle(about: Json, is_check: bool) -> list[str]:
    """Wait until the OSDs that this run made or started serve."""
    if is_check:
        return []
    for name in about["done"]:  # made by a run that was cut off before it said so
        (STATE / "making" / name).unlink(missing_ok=True)
    names = {drive["name"] for drive in about["make"]}
    numbers = [osd["id"] for drive in list_drives(about["fsid"]) if drive["name"] in names for osd in drive["osds"]]
    numbers += [osd["id"] for osd in about["start"]]
    deadline = time.monotonic() + about["wait_s"]
    while waiting := [state for number in numbers if (state := find_trouble(number))]:
        if time.monotonic() > deadline:
            fix = "see journalctl -u ceph-osd@ID there; ports 6800 to 7568 have to pass between hosts"
            sys.exit(tell("OSDs", ", ".join(waiting), f"all active within {about['wait_s']:g} s", fix))
        time.sleep(1)
    return []


def find_trouble(number: str) -> str:
    """Return what an OSD is instead of active; empty where it is that."""
    code, out, _ = call("ceph", "--admin-daemon", SOCKETS / f"ceph-osd.{number}.asok", "status")
    state = json.loads(out)["state"] if code == 0 else "silent"
    return "" if state == "active" else f"osd.{number} is {state}"


def find_drive(judged: Json, fsid: str) -> Json | None:
    """Return a drive as it is now; None where there is none of its path and identity."""
    same = (drive for drive in list_drives(fsid) if (drive["path"], drive["identity"]) == (judged["path"], judged["identity"]))
    return next(same, None)


def list_drives(fsid: str) -> Iterator[Json]:
    """Yield the drives in the host.

    Each with name, path, identity, bytes, whether it spins, `osds` of this cluster, whether it is a `member` of LVM, `holds`, in
    words what else is on it, `wipes`, whether a word may have it wiped, its `parts`, whether a run left it `half`, and `others`,
    OSDs of other clusters.
    """
    columns = "NAME,TYPE,SIZE,ROTA,RO,MOUNTPOINT,SERIAL,WWN,TRAN"
    said = json.loads(run("lsblk", "--json", "--bytes", "--paths", "--output", columns))
    names, volumes = name_drives(), read_volumes()
    for each in said["blockdevices"]:
        path = each["name"]
        if each["type"] != "disk" or each["ro"] or not each["size"] or not Path(path).exists() or is_far(each):
            continue
        inside = volumes.get(path, ())
        osds = {each["uuid"]: each["id"] for each in inside if each.get("cluster") == fsid}
        others = [f"OSD {each['id']} of cluster {each['cluster']}" for each in inside if each.get("cluster", fsid) != fsid]
        holds, wipes = find_content(each, path in volumes, inside, fsid)
        name = names.get(path) or each["serial"] or Path(path).name
        yield {
            "name": name,
            "path": path,
            "identity": each["wwn"] or each["serial"] or names.get(path) or "",
            "bytes": each["size"],
            "rotational": each["rota"],
            "osds": [{"id": number, "uuid": uuid} for uuid, number in sorted(osds.items())],
            "member": path in volumes,
            "holds": holds,
            "wipes": wipes,
            "parts": [part["name"] for part in each.get("children", ())],
            "half": (STATE / "making" / name).exists(),
            "others": others,
        }


def is_far(drive: Json) -> bool:
    """Return whether a drive is not in the host, such as one of another host by NVMe over a fabric."""
    transport = read(BLOCKS / Path(drive["name"]).name / "device/transport").strip()
    return drive["tran"] in FAR or transport not in ("", "pcie") or Path(drive["name"]).name.startswith(("rbd", "nbd", "drbd"))


def name_drives() -> dict[str, str]:
    """Return the name of each drive that no restart changes, by its path: of several the one that says most."""
    found: dict[str, str] = {}
    for link in sorted(BY_ID.glob("*")) if BY_ID.is_dir() else ():
        path = str(link.resolve())
        if not re.search(r"-part[0-9]+$", link.name) and not link.name.startswith(("lvm-", "dm-")):
            found[path] = max(found.get(path, ""), link.name, key=lambda name: (not name.startswith("wwn-"), len(name)))
    return found


def read_volumes() -> dict[str, list[dict[str, str]]]:
    """Return the logical volumes in the group of each physical one: group, name, on how many drives, and tags of OSDs.

    A physical volume without a group, or a group without volumes, has one entry without a name.
    """
    if shutil.which("lvs") is None:
        return {}
    drives = report("pvs", "pv_name,vg_name,pv_count")
    inside: dict[str, list[dict[str, str]]] = {}
    for each in report("lvs", "vg_name,lv_name,lv_tags"):
        known = dict(tag.partition("=")[::2] for tag in each["lv_tags"].split(",") if tag.startswith("ceph."))
        volume = {"group": each["vg_name"], "name": each["lv_name"]}
        if known.get("ceph.osd_id"):
            volume |= {"id": known["ceph.osd_id"], "uuid": known["ceph.osd_fsid"], "cluster": known["ceph.cluster_fsid"]}
        inside.setdefault(each["vg_name"], []).append(volume)
    return {
        each["pv_name"]: [
            {**volume, "drives": each["pv_count"]}
            for volume in inside.get(each["vg_name"]) or [{"group": each["vg_name"], "name": ""}]
        ]
        for each in drives
    }


def report(program: str, options: str) -> list[dict[str, str]]:
    """Return what a program of LVM reports, of all drives also where a devices file names some alone."""
    words = ("--reportformat", "json", "--options", options)
    code, out, _ = call(program, "--devicesfile", "", *words)
    said = json.loads(out if code == 0 else run(program, *words))  # LVM before 2.03.12 knows no devices file
    (rows,) = said["report"][0].values()
    return list(rows)


def find_content(drive: Json, is_volume: bool, volumes: Any, fsid: str) -> tuple[str, bool]:
    """Return in words what a drive holds beside OSDs of this cluster, empty where that is nothing, and whether it may be wiped.

    What LVM, other OSDs or somebody's programs have is not wiped on a word: whoever made it takes it away.
    """
    if is_volume:
        foreign = sorted({each["group"] or "none yet" for each in volumes if not is_ours(each, fsid)})
        return (f"LVM, volume group {', '.join(foreign)}" if foreign else "", False)
    used = sorted({f"{Path(each['name']).name} at {each['mountpoint']}" for each in walk(drive) if each["mountpoint"]})
    if used:
        return f"what is in use: {', '.join(used)}", False
    if drive.get("children"):
        stacked = [each["type"] for each in walk(drive) if each["type"] not in ("disk", "part")]
        return f"partitions {', '.join(Path(each['name']).name for each in drive['children'])}", not stacked
    try:
        handle = os.open(drive["name"], os.O_RDONLY | os.O_EXCL)
    except OSError as error:
        return f"something that is in use ({error.strerror})", False
    try:
        return read_content(drive, handle)
    except OSError as error:
        return f"what cannot be read ({error.strerror})", False
    finally:
        os.close(handle)


def read_content(drive: Json, handle: int) -> tuple[str, bool]:
    """Return what is on a drive that nothing uses, and whether it may be wiped."""
    code, out, err = call("blkid", "-p", "-o", "export", drive["name"])
    found = dict(line.partition("=")[::2] for line in out.splitlines())
    kind = found.get("TYPE") or found.get("PTTYPE")
    if kind or code != EMPTY or err.strip():
        wipes = kind is not None and not kind.startswith(("LVM", "ceph", "linux_raid", "crypto", "zfs", "drbd", "mpath"))
        return kind or shorten(err) or "something that blkid does not name", wipes
    for at in (0, max(0, drive["size"] - EDGE)):
        if os.pread(handle, EDGE, at).strip(b"\0"):
            return "data that blkid does not know", True
    return "", False


def walk(drive: Json) -> Iterator[Json]:
    """Yield a drive and all that is made of it."""
    yield drive
    for each in drive.get("children", ()):
        yield from walk(each)


def is_ours(volume: dict[str, str], fsid: str) -> bool:
    """Return whether a volume, or a group without volumes, is what ceph-volume makes on one drive for an OSD of this cluster."""
    is_named = GROUP.fullmatch(volume["group"]) and (not volume["name"] or VOLUME.fullmatch(volume["name"]))
    return bool(is_named) and volume["drives"] in ("1", 1) and volume.get("cluster", fsid) == fsid


def is_planned(drive: Json, plan: Json) -> bool:
    """Return whether a drive is of the planned kind and size."""
    return drive["rotational"] == plan["rotational"] and abs(drive["bytes"] - plan["bytes"]) <= SLACK * plan["bytes"]


def lock(is_check: bool) -> None:
    """Hold the host's lock until this program, and what it started, has ended; end where another has it."""
    if is_check:
        return
    STATE.mkdir(parents=True, exist_ok=True)
    handle = os.open(STATE / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    os.set_inheritable(handle, True)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(tell(str(STATE), "another run makes or starts OSDs there", "one run at a time", "wait until it has ended"))


def is_locked() -> bool:
    """Return whether another run has the host's lock."""
    with suppress(FileNotFoundError):
        handle = os.open(STATE / "lock", os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(handle)
    return False


def find_fsid() -> str:
    """Return the id of the cluster that the host's ceph.conf names; empty where there is none."""
    found = re.search(r"^\s*fsid\s*=\s*(\S+)", read(CONF), re.MULTILINE)
    return found.group(1) if found else ""


def read(path: Path) -> str:
    """Return what a file holds; empty where there is none."""
    with suppress(OSError):
        return path.read_text(errors="replace")
    return ""


def write(path: Path, text: str) -> None:
    """Write a file for its owner's eyes, in one stroke, to the disk."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".gpuyard-")
    with os.fdopen(handle, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    Path(name).replace(path)


def ceph(*words: str) -> str:
    """Return what the cluster answers its administrator."""
    return run("ceph", f"--connect-timeout={CONNECT_S}", *words)


def ask_json(*words: str) -> Any:
    """Return what the cluster answers its administrator, read."""
    return json.loads(ceph(*words, "--format=json"))


def run(program: str, *words: str | Path) -> str:
    """Return what a program prints; end with its complaint where it fails."""
    code, out, err = call(program, *words)
    if code:
        said = " ".join(str(word) for word in words[:4] if not str(word).startswith("-"))
        sys.exit(f"{program} {said}: {shorten(err) or f'ended with {code}'}")
    return out


def call(program: str, *words: str | Path) -> tuple[int, str, str]:
    """Return exit code, output and errors of a program."""
    command = [program, *map(str, words)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False, close_fds=False)
    except FileNotFoundError:
        return 127, "", "not on this host"
    except subprocess.TimeoutExpired:
        return LATE, "", f"no end in {LIMIT_S} s"
    return done.returncode, done.stdout, done.stderr


def shorten(text: str) -> str:
    """Return errors in one line."""
    return " ".join(text.split())[-800:]


def tell(name: str, value: str, expected: str, fix: str) -> str:
    """Return a fault: what it is about, what is there, what was expected, and the way out."""
    return f"{name}: {value}; expected {expected}; fix: {fix}"


VERBS: dict[str, Callable[[Json, bool], Any]] = {
    "look": look,
    "ask": ask,
    "share": share,
    "start": start,
    "make": make,
    "settle": settle,
    "find": find,
    "drain": drain,
    "stop": stop,
    "destroy": destroy,
}
if __name__ == "__main__":
    answer = VERBS[sys.argv[1]](json.load(sys.stdin), "check" in sys.argv[2:])
    sys.stdout.write(json.dumps({"changes": answer} if isinstance(answer, list) else answer) + "\n")
