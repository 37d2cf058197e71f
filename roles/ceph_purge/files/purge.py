"""Remove what a host has of a Ceph made from packages, with all data, or tell what would be removed. Prints JSON.

Arguments: `look` or one of VERBS, and `check` where nothing may be done. Standard input is JSON: `fsid`, the cluster's;
`packages`, whether the host has daemons by the plan, and is no client alone; `wait_s`, within which each program has to end.
`look` tells what the host has, by the verb that removes it, and what forbids to. The other verbs are called in their order, each
on all hosts before the next. /etc/ceph/ceph.conf, which says whose the rest is, goes last: a run that was cut off goes on. Python
3.9 suffices.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CEPH, LIB, UNITS = Path("/etc/ceph"), Path("/var/lib/ceph"), Path("/etc/systemd/system")
STATES, STATE = Path("/var/lib/gpuyard"), Path("/var/lib/gpuyard/ceph_osd")
"""STATE/lock is the lock of role ceph_osd; in STATE/wiping is a file for each drive whose volumes go, until its ends are zero."""
MOUNTS, MAPPED, BY_ID, PROBE = (
    Path("/proc/self/mounts"),
    Path("/sys/bus/rbd/devices"),
    Path("/dev/disk/by-id"),
    Path("/usr/local/sbin/gpuyard-ceph-mounts"),
)
OURS = "# Written by gpuyard, role ceph_client."
"""The comment in what role ceph_client wrote."""
DAEMONS = {
    "gateways": ("gateway", "radosgw", "ceph-radosgw@"),
    "servers": ("metadata server", "mds", "ceph-mds@"),
    "managers": ("manager", "mgr", "ceph-mgr@"),
    "monitors": ("monitor", "mon", "ceph-mon@"),
}
"""What a daemon is called, its folder in LIB, where it is ceph-NAME, and its unit."""
ASK_S, CONNECT_S, LATE = 20, 10, 124
EMPTY = 2
"""Exit code of `blkid -p` for a device with nothing on it that it knows."""
EDGE = 2**20
"""Bytes at both ends of a drive that have to be zero where role ceph_osd takes it as empty; LVM leaves text in the first."""
Json = dict[str, Any]


@dataclass(frozen=True)
class Volume:
    """A logical volume of an OSD, by its tags, and the drives that its group is on."""

    number: str
    uuid: str
    cluster: str
    drives: tuple[str, ...]


@dataclass(frozen=True)
class Osd:
    """An OSD of the cluster. Without `uuid` there is no more than its folder: its drive is gone, or its volumes went before."""

    number: str
    uuid: str
    drives: tuple[str, ...]


def look(about: Json, is_check: bool) -> Json:
    """Return what the host has of the cluster, what forbids to remove it, and what is there of other clusters."""
    volumes, names, fsid = read_volumes(), name_drives(), about["fsid"]
    others = {
        f"OSD {each.number} of cluster {each.cluster} on {name_all(each.drives, names)}"
        for each in volumes
        if each.cluster != fsid
    }
    return {
        "fsid": find_fsid(),
        "busy": is_locked(),
        "cephadm": sorted({path.parent.name for path in LIB.glob("*-*-*-*-*/*.*") if path.is_dir()}),
        "unknown": [] if find_fsid() else [str(path) for kind in DAEMONS for path in list_folders(kind)],
        "strange": find_strange(fsid, volumes),
        "mixed": sorted(find_mixed(fsid, volumes)),
        "mounted": find_mounted(),
        "mapped": find_mapped(fsid),
        "others": sorted(others),
        "goes": {step: VERBS[step](about, True) for step in VERBS},
        "stored_bytes": ask_stored(fsid) if is_check else None,
    }


def gateways(about: Json, is_check: bool) -> list[str]:
    """Remove gateways."""
    return remove_daemons("gateways", about, is_check)


def servers(about: Json, is_check: bool) -> list[str]:
    """Remove metadata servers."""
    return remove_daemons("servers", about, is_check)


def clients(about: Json, is_check: bool) -> list[str]:
    """Remove the mount units, keys and the probe that role ceph_client wrote."""
    if not is_ours(about):
        return []
    units = [path for path in sorted(UNITS.glob("*.mount")) if OURS in read(path)]
    files = [path for path in [*sorted(CEPH.glob("ceph.client.*.keyring")), PROBE] if OURS in read(path)]
    if not is_check:
        stop([path.name for path in units], about)
        for path in [*units, *files]:
            path.unlink()
        if units:
            call("systemctl", "daemon-reload")
    return [f"{path} is removed" for path in [*units, *files]]


def osds(about: Json, is_check: bool) -> list[str]:
    """Remove OSDs, and all that is on their volumes; where one fails the others go on, and all that failed are told."""
    found, stale, left, names = list_osds(about), list_stale(about), list_left(), name_drives()
    changes = []
    for osd in found:
        on = f"with all its data on {name_all(osd.drives, names)}" if osd.drives else "which has no volume any more"
        changes.append(f"osd.{osd.number} is removed, {on}")
    changes += [f"{unit} is disabled, whose OSD has no volume any more" for unit in stale]
    changes += [f"what LVM left on {path.name} is removed" for path in left]
    if not is_check and changes:
        for osd in found:  # all are asked to stop before the first is waited for
            call("systemctl", "stop", "--no-block", f"ceph-osd@{osd.number}")
        faults = [fault for osd in found if (fault := remove_osd(osd, about, names))]
        faults += [fault for unit in stale if (fault := find_running([unit], about))]
        faults += [fault for path in list_left() if (fault := wipe(path))]
        if faults:
            sys.exit("\n".join(faults))
    return changes


def remove_osd(osd: Osd, about: Json, names: dict[str, str]) -> str:
    """Remove an OSD; return what went wrong, empty where nothing did.

    Its volumes are found by their tags, never by a drive's name. A drive that has no other volume is empty afterwards.
    """
    what, folder = f"osd.{osd.number}", LIB / f"osd/ceph-{osd.number}"
    units = [f"ceph-osd@{osd.number}", *([f"ceph-volume@lvm-{osd.number}-{osd.uuid}"] if osd.uuid else [])]
    if fault := find_running(units, about):
        return fault
    if str(folder) in read_mounts():
        code, _, err = call("umount", str(folder), limit_s=about["wait_s"])
        if code:
            return f"{what}: umount {folder}: {shorten(err)}"
    if osd.uuid:
        if osd.uuid in find_mixed(about["fsid"], read_volumes()):
            return tell(what, "volumes of two clusters", "all of one", "see lvs -o +lv_tags there")
        for path in osd.drives:
            if path in names:
                mark(names[path])
        words = ("--destroy", "--osd-id", osd.number, "--osd-fsid", osd.uuid)
        code, _, err = call("ceph-volume", "lvm", "zap", *words, limit_s=about["wait_s"])
        if code:
            return f"{what}: ceph-volume lvm zap: {shorten(err) or f'ended with {code}'}"
        if any(each.uuid == osd.uuid for each in read_volumes()):
            return tell(what, "its volumes are there after ceph-volume lvm zap", "none", "see /var/log/ceph/ceph-volume.log")
    if folder.is_dir():
        try:
            folder.rmdir()
        except OSError:
            return tell(what, f"{folder} has files although nothing is mounted there", "an empty folder", "see what they are")
    return ""


def monitors(about: Json, is_check: bool) -> list[str]:
    """Remove managers, then monitors, and what a run that was cut off left of one that it made."""
    changes = remove_daemons("managers", about, is_check) + remove_daemons("monitors", about, is_check)
    half = sorted([*LIB.glob(".gpuyard-*"), *LIB.glob("mon/.gpuyard-*")]) if is_ours(about) else []
    for path in half if not is_check else ():
        remove(path)
    return changes + [f"{path} is removed" for path in half]


def rest(about: Json, is_check: bool) -> list[str]:
    """Remove keys, our own state, and ceph.conf as the last, by which another run knows whose all else is."""
    ours, conf = is_ours(about), CEPH / "ceph.conf"
    paths = [*CEPH.glob(".gpuyard-*"), *LIB.glob("bootstrap-*/ceph.keyring"), *LIB.glob("bootstrap-*/.gpuyard-*")] if ours else []
    if ours and about["packages"]:
        paths += [*CEPH.glob("ceph.client.*.keyring"), *CEPH.glob("ceph.client.*.keyring.before-gpuyard*")]
    paths = [path for path in sorted(paths) if OURS not in read(path)]  # those are told, and removed, with the clients'
    paths += sorted([*STATES.glob("ceph_*"), *STATES.glob("read/ceph_*")])
    paths += [conf] if ours else []
    if not is_check and paths:
        left = [change for step in VERBS if step != "rest" for change in VERBS[step](about, True)]
        if left:
            sys.exit(tell(str(conf), f"it is needed, since this is left: {', '.join(left)}", "nothing else", "run again"))
        for path in paths:
            remove(path)
    return [f"{path} is removed" for path in paths]


def remove_daemons(kind: str, about: Json, is_check: bool) -> list[str]:
    """Stop daemons of a kind that there are folders of, and remove these."""
    what, _, unit = DAEMONS[kind]
    folders = list_folders(kind) if is_ours(about) else []
    names = [path.name[len("ceph-") :] for path in folders]
    if not is_check and folders:
        stop([f"{unit}{name}" for name in names], about)
        for path in folders:
            remove(path)
    return [f"{what} {path.name[len('ceph-') :]} and {path} are removed" for path in folders]


def list_folders(kind: str) -> list[Path]:
    """Return the folders of a kind of daemons."""
    return sorted(path for path in (LIB / DAEMONS[kind][1]).glob("ceph-*") if path.is_dir())


def list_osds(about: Json) -> list[Osd]:
    """Return the OSDs of the cluster, by their volumes, and those of which there is no more than a folder."""
    fsid, volumes, found = about["fsid"], read_volumes(), []
    mixed = find_mixed(fsid, volumes)
    own = [each for each in volumes if each.cluster == fsid and each.uuid not in mixed]
    for number, uuid in sorted({(each.number, each.uuid) for each in own}, key=lambda pair: (int(pair[0]), pair[1])):
        drives = sorted({path for each in own if each.uuid == uuid for path in each.drives})
        found.append(Osd(number, uuid, tuple(drives)))
    known, strange = {each.number for each in volumes}, find_strange(fsid, volumes)
    for folder in sorted((LIB / "osd").glob("ceph-*")):
        number = folder.name.partition("-")[2]
        is_left = folder.is_dir() and number.isdigit() and number not in known and str(folder) not in strange
        if is_left and (is_ours(about) or read(folder / "ceph_fsid").strip() == fsid):
            found.append(Osd(number, "", ()))
    return found


def list_stale(about: Json) -> list[str]:
    """Return the units that would mount OSDs when the host starts, and whose volumes went before, as with their drive."""
    known = {each.uuid for each in read_volumes()}
    paths = UNITS.glob("*.wants/ceph-volume@lvm-*.service") if is_ours(about) else ()
    names = {path.name[: -len(".service")] for path in paths}
    return sorted(name for name in names if name.partition("@lvm-")[2].partition("-")[2] not in known)


def find_strange(fsid: str, volumes: list[Volume]) -> dict[str, str]:
    """Return folders of OSDs that are not of the cluster, or whose data is not on volumes of LVM, and why, in words.

    That of an OSD on volumes lies in memory. Where the volumes are gone, as with their drive, nothing but that is left.
    """
    known, mounted, found = {each.number for each in volumes}, read_mounts(), {}
    for folder in sorted(path for path in (LIB / "osd").glob("ceph-*") if path.is_dir()):
        number, whose = folder.name.partition("-")[2], read(folder / "ceph_fsid").strip()
        if whose not in ("", fsid):
            found[str(folder)] = f"of cluster {whose}"
        elif any(folder.iterdir()) and number not in known and mounted.get(str(folder)) != "tmpfs":
            found[str(folder)] = "of an OSD that is on no volume of LVM" if whose else "of an unknown cluster"
    return found


def find_mixed(fsid: str, volumes: list[Volume]) -> set[str]:
    """Return OSDs of the cluster that have a volume with the tag of another one: ceph-volume would take that as well."""
    own = {each.uuid for each in volumes if each.cluster == fsid}
    return own & {each.uuid for each in volumes if each.cluster != fsid}


def find_mounted() -> list[str]:
    """Return where something of Ceph is mounted."""
    return sorted(place for place, kind in read_mounts().items() if kind == "ceph" or kind.startswith("fuse.ceph"))


def find_mapped(fsid: str) -> list[str]:
    """Return block devices of the cluster, or of one that the kernel does not tell, that are mapped."""
    found = []
    for path in sorted(MAPPED.glob("*")) if MAPPED.is_dir() else ():
        if read(path / "cluster_fsid").strip() in ("", fsid):
            found.append(f"/dev/rbd{path.name} ({read(path / 'pool').strip()}/{read(path / 'name').strip()})")
    return found


def ask_stored(fsid: str) -> int | None:
    """Return how many bytes users have stored, copies not counted; None where the cluster does not say so."""
    if find_fsid() != fsid or not (CEPH / "ceph.client.admin.keyring").is_file():
        return None
    code, out, _ = call("ceph", f"--connect-timeout={CONNECT_S}", "df", "--format=json", limit_s=ASK_S)
    try:
        return sum(pool["stats"]["stored"] for pool in json.loads(out)["pools"]) if code == 0 else None
    except (ValueError, KeyError):
        return None


def read_volumes() -> list[Volume]:
    """Return the volumes of OSDs of any cluster, by what ceph-volume tagged them with."""
    if shutil.which("lvs") is None:
        return []
    groups: dict[str, list[str]] = {}
    for each in report("pvs", "pv_name,vg_name"):
        groups.setdefault(each["vg_name"], []).append(each["pv_name"])
    found = []
    for each in report("lvs", "vg_name,lv_name,lv_tags"):
        known = dict(tag.partition("=")[::2] for tag in each["lv_tags"].split(",") if tag.startswith("ceph."))
        if known.get("ceph.osd_id", "").isdigit() and known.get("ceph.osd_fsid"):
            drives = tuple(sorted(groups.get(each["vg_name"], ())))
            number, uuid, cluster = known["ceph.osd_id"], known["ceph.osd_fsid"], known.get("ceph.cluster_fsid", "")
            found.append(Volume(number, uuid, cluster, drives))
    return found


def report(program: str, options: str) -> list[dict[str, str]]:
    """Return what a program of LVM reports, of all drives also where a devices file names some alone."""
    words = ("--reportformat", "json", "--options", options)
    code, out, _ = call(program, "--devicesfile", "", *words)
    said = json.loads(out if code == 0 else run(program, *words))  # LVM before 2.03.12 knows no devices file
    (rows,) = said["report"][0].values()
    return list(rows)


def mark(name: str) -> None:
    """Note that a drive's volumes go, so that another run ends what this one begins."""
    (STATE / "wiping").mkdir(parents=True, exist_ok=True)
    (STATE / "wiping" / name).touch()


def list_left() -> list[Path]:
    """Return the drives, by names that no restart changes, whose volumes went, and that are not empty yet."""
    return sorted(BY_ID / path.name for path in (STATE / "wiping").glob("*"))


def wipe(link: Path) -> str:
    """Make a drive empty whose volumes went; return what went wrong, empty where nothing did.

    One that still has a group of LVM is left: it has volumes that are no concern of ours, or a zap that failed.
    """
    path, name = str(link.resolve()), STATE / "wiping" / link.name
    if not link.exists():
        name.unlink()
        return ""
    group = next((each["vg_name"] for each in report("pvs", "pv_name,vg_name") if each["pv_name"] == path), None)
    if group:
        name.unlink()
        return ""
    if group == "":
        code, _, err = call("pvremove", "--yes", path)
        if code:
            return f"{link.name}: pvremove: {shorten(err)}"
    code, out, err = call("blkid", "-p", "-o", "export", path)
    if code != EMPTY or err.strip():
        fix = "take it off by hand, if it may go"
        return tell(link.name, f"holds {shorten(out or err) or 'something'} by now", "nothing once its volumes went", fix)
    try:
        handle = os.open(path, os.O_RDWR | os.O_EXCL)
        try:
            size = os.lseek(handle, 0, os.SEEK_END)
            for at in (0, max(0, size - EDGE)):
                os.pwrite(handle, bytes(min(EDGE, size)), at)
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        return tell(link.name, f"is in use ({error.strerror})", "nothing that uses it", "see lsblk there")
    name.unlink()
    return ""


def name_drives() -> dict[str, str]:
    """Return the name of each drive that no restart changes, by its path: of several the one that says most."""
    found: dict[str, str] = {}
    for link in sorted(BY_ID.glob("*")) if BY_ID.is_dir() else ():
        path = str(link.resolve())
        if not link.name.startswith(("lvm-", "dm-")):
            found[path] = max(found.get(path, ""), link.name, key=lambda name: (not name.startswith("wwn-"), len(name)))
    return found


def name_all(paths: tuple[str, ...], names: dict[str, str]) -> str:
    """Return drives by their names."""
    return ", ".join(names.get(path, path) for path in paths)


def stop(units: list[str], about: Json) -> None:
    """Have units end, now and with each start of the host; end where one does not."""
    if units and (fault := find_running(units, about)):
        sys.exit(fault)


def find_running(units: list[str], about: Json) -> str:
    """Have units end, now and with each start of the host; return which one does not, empty where all do."""
    code, _, err = call("systemctl", "disable", "--now", *units, limit_s=about["wait_s"])
    call("systemctl", "disable", "--runtime", *units)  # as ceph-volume enables those of OSDs
    call("systemctl", "reset-failed", *units)
    for unit in units:
        if code == LATE or any(call("systemctl", "--quiet", question, unit)[0] == 0 for question in ("is-active", "is-enabled")):
            fix = f"see journalctl -u {unit} there, then run again"
            return tell(unit, f"not stopped and disabled: {shorten(err)}", f"it within {about['wait_s']:g} s", fix)
    return ""


def remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def hold() -> None:
    """Hold the host's locks until this program, and what it started, has ended; end where another run has one.

    One is that of role ceph_osd, the other that of the roles that make monitors and other daemons.
    """
    STATE.mkdir(parents=True, exist_ok=True)
    paths = [STATE / "lock", *([LIB] if LIB.is_dir() else [])]
    for path in paths:
        handle = os.open(path, os.O_RDONLY if path == LIB else os.O_RDWR | os.O_CREAT, 0o600)
        os.set_inheritable(handle, path != LIB)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            sys.exit(
                tell(str(path), "another run makes or removes daemons there", "one run at a time", "wait until it has ended")
            )


def is_locked() -> bool:
    """Return whether another run has one of the host's locks."""
    for path in (STATE / "lock", LIB):
        with suppress(FileNotFoundError):
            handle = os.open(path, os.O_RDONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return True
            finally:
                os.close(handle)
    return False


def is_ours(about: Json) -> bool:
    """Return whether what no tag names is the cluster's: ceph.conf says so, which goes last."""
    return find_fsid() == about["fsid"]


def find_fsid() -> str:
    """Return the id of the cluster that the host's ceph.conf names; empty where there is none."""
    found = re.search(r"^\s*fsid\s*=\s*(\S+)", read(CEPH / "ceph.conf"), re.MULTILINE)
    return found.group(1) if found else ""


def read_mounts() -> dict[str, str]:
    """Return the type of what is mounted, by its place: the last where several are."""
    rows = [line.split() for line in read(MOUNTS).splitlines()]
    return {re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), row[1]): row[2] for row in rows}


def read(path: Path) -> str:
    """Return what a file holds; empty where there is none."""
    with suppress(OSError):
        return path.read_text(errors="replace")
    return ""


def run(program: str, *words: str) -> str:
    """Return what a program prints; end with its complaint where it fails."""
    code, out, err = call(program, *words)
    if code:
        said = " ".join(word for word in words[:4] if not word.startswith("-"))
        sys.exit(f"{program} {said}: {shorten(err) or f'ended with {code}'}")
    return out


def call(program: str, *words: str, limit_s: float = 60) -> tuple[int, str, str]:
    """Return exit code, output and errors of a program."""
    try:
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=limit_s, check=False, close_fds=False)
    except FileNotFoundError:
        return 127, "", "not on this host"
    except subprocess.TimeoutExpired:
        return LATE, "", f"no end in {limit_s:g} s"
    return done.returncode, done.stdout, done.stderr


def shorten(text: str) -> str:
    """Return errors in one line."""
    return " ".join(text.split())[-800:]


def tell(name: str, value: str, expected: str, fix: str) -> str:
    """Return a fault: what it is about, what is there, what was expected, and the way out."""
    return f"{name}: {value}; expected {expected}; fix: {fix}"


def act(verb: str, about: Json, is_check: bool) -> Json:
    """Return what a verb tells; one that changes something has the host's locks meanwhile."""
    if verb == "look":
        return look(about, is_check)
    if not is_check and VERBS[verb](about, True):
        hold()
    try:
        return {"changes": VERBS[verb](about, is_check)}
    except OSError as error:
        sys.exit(tell(str(error.filename or verb), str(error.strerror), "to remove it", "see dmesg there, then run again"))


VERBS: dict[str, Callable[[Json, bool], list[str]]] = {
    "gateways": gateways,
    "servers": servers,
    "clients": clients,
    "osds": osds,
    "monitors": monitors,
    "rest": rest,
}
if __name__ == "__main__":
    sys.stdout.write(json.dumps(act(sys.argv[1], json.load(sys.stdin), "check" in sys.argv[2:])) + "\n")
