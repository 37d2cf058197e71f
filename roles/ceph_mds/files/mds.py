"""Make the metadata servers of a host from Ceph's packages, or tell what would be done. Prints JSON.

Arguments: a verb, one of VERBS, and `check` where nothing may be done. Standard input is JSON: `names`, the metadata servers of
the host, such as home.control-001; `wait_s`; for `make` `keys`, what `share` printed of some of them. On a host with a monitor
that the cluster answers: `ask`, `share`, `settle`. On the host itself: `look`, `make`. Python 3.9 suffices.
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
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

LIB, CONF = Path("/var/lib/ceph"), Path("/etc/ceph/ceph.conf")
PROGRAMS = ("ceph", "ceph-mds")
CAPS = ("mon", "profile mds", "mgr", "profile mds", "mds", "allow", "osd", "allow rw tag cephfs *=*")
"""Rights of a metadata server. Source: Ceph, src/pybind/mgr/cephadm/services/cephadmservice.py, MdsService, and for managers
doc/cephfs/add-remove-mds.rst."""
LIMIT_S, CONNECT_S = 60, 10
"""Within which a program has to be done, and to have found a monitor."""
ABSENT = 2
"""Exit code of `ceph` for what is not there (ENOENT)."""
Json = dict[str, Any]


def look(about: Json, _: bool) -> Json:
    """Return what the host is and has."""
    folder = LIB / "mds"
    return {
        "host_name": os.uname().nodename.partition(".")[0],
        "lacks": [program for program in PROGRAMS if shutil.which(program) is None],
        "has_dpkg": shutil.which("dpkg") is not None,
        "interrupted": call("dpkg", "--audit")[1] != "",
        "fsid": find_fsid(),
        "cephadm": sorted({path.parent.name for path in LIB.glob("*-*-*-*-*/mds.*") if path.is_dir()}),
        "lacking": [name for name in about["names"] if not keyring(name).is_file()],
        "stopped": [name for name in about["names"] if not runs(unit(name))],
        "beside": sorted(set(list_names(folder)) - set(about["names"])),
    }


def ask(_: Json, __: bool) -> Json:
    """Return the id of the cluster that answers, and its metadata servers."""
    return {
        "fsid": json.loads(ceph("fsid", "--format=json"))["fsid"],
        "servers": sorted(list_servers(json.loads(ceph("fs", "dump", "--format=json")))),
    }


def share(about: Json, is_check: bool) -> Json:
    """Return the keys of metadata servers; Ceph makes those that it does not have, and in `check` they are empty."""
    keys = {}
    for name in about["names"]:
        code, out, err = call("ceph", f"--connect-timeout={CONNECT_S}", "auth", "get-key", f"mds.{name}")
        if code not in {0, ABSENT}:
            sys.exit(f"ceph auth get-key mds.{name}: {shorten(err) or f'ended with {code}'}")
        if code == ABSENT:
            out = "" if is_check else ceph("auth", "get-or-create-key", f"mds.{name}", *CAPS)
        keys[name] = out.strip()
    return {"keys": keys}


def make(about: Json, is_check: bool) -> list[str]:
    """Make metadata servers that are not there, give back a key that another cluster gave, and start those that do not run."""
    changes, lock = [], None if is_check else hold()
    for name in about["names"]:
        path, key = keyring(name), about["keys"].get(name)
        is_there, is_other = path.is_file(), key is not None and find_key(path) != key
        if is_other or not is_there:
            changes.append(
                f"metadata server {name} is made" if not is_there else f"metadata server {name} has the key that Ceph knows"
            )
            if not is_check:
                path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
                write(path, f"[mds.{name}]\n\tkey = {key}\n")
        if not is_check:  # also what an earlier run did not come to
            for each in (path.parent, path):
                shutil.chown(each, "ceph", "ceph")
        if not runs(unit(name)) or (is_other and is_there):
            changes.append(f"{unit(name)} runs")
            if not is_check:
                call("systemctl", "reset-failed", unit(name))
                run("systemctl", "enable", "--quiet", unit(name))
                run("systemctl", "restart", unit(name))
    if lock is not None:
        os.close(lock)
    return changes


def settle(about: Json, is_check: bool) -> list[str]:
    """Wait until the cluster knows the metadata servers, and for a while until their file systems are served that there are."""
    deadline = time.monotonic() + about["wait_s"]
    while not is_check:
        said = json.loads(ceph("fs", "dump", "--format=json"))
        missing = [name for name in about["names"] if name not in list_servers(said)]
        is_late = time.monotonic() >= deadline
        if missing and is_late:
            fix = f"see journalctl -u {unit(missing[0])} there; ports 6800 to 7568 have to pass; then run again"
            sys.exit(tell(f"metadata server {missing[0]}", "not in the cluster", f"it within {about['wait_s']:g} s", fix))
        if is_late or (not missing and all(is_served(each["mdsmap"]) for each in said["filesystems"])):
            break
        time.sleep(1)
    return []


def is_served(about: Json) -> bool:
    """Return whether all ranks of a file system have a metadata server that serves; also where somebody took it down."""
    active = {each["rank"] for each in about["info"].values() if each["state"] in ("up:active", "up:stopping")}
    return active >= set(about["in"]) and not about["failed"]


def list_servers(said: Json) -> set[str]:
    """Return the metadata servers that the cluster has, serving or standing by."""
    serving = (server for each in said["filesystems"] for server in each["mdsmap"]["info"].values())
    return {server["name"] for server in (*serving, *said["standbys"])}


def list_names(folder: Path) -> list[str]:
    """Return the metadata servers whose data a folder has."""
    return [path.name.partition("-")[2] for path in folder.glob("*-*") if path.is_dir()]


def keyring(name: str) -> Path:
    """Return the file with the key of a metadata server."""
    return LIB / f"mds/ceph-{name}/keyring"


def unit(name: str) -> str:
    """Return the unit of a metadata server."""
    return f"ceph-mds@{name}"


def runs(name: str) -> bool:
    """Return whether a unit runs, and does with each start of the host."""
    return all(call("systemctl", "--quiet", question, name)[0] == 0 for question in ("is-active", "is-enabled"))


def hold() -> int:
    """Return the lock of the host, held until it is closed; end where another run has it."""
    handle = os.open(LIB, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(tell(str(LIB), "another run makes daemons there", "one run at a time", "wait until it has ended"))
    return handle


def find_fsid() -> str:
    """Return the id of the cluster that the host's ceph.conf names; empty where there is none."""
    text = ""
    with suppress(OSError):
        text = CONF.read_text(errors="replace")
    found = re.search(r"^\s*fsid\s*=\s*(\S+)", text, re.MULTILINE)
    return found.group(1) if found else ""


def find_key(path: Path) -> str:
    """Return the key in a file; empty where there is none."""
    with suppress(OSError):
        found = re.search(r"key\s*=\s*(\S+)", path.read_text(errors="replace"))
        return found.group(1) if found else ""
    return ""


def write(path: Path, text: str) -> None:
    """Write a file for its owner's eyes, in one stroke, to the disk, and what an earlier run left on the way away."""
    for left in path.parent.glob(".gpuyard-*"):
        left.unlink()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".gpuyard-")
    with os.fdopen(handle, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    Path(name).replace(path)


def ceph(*words: str) -> str:
    """Return what the cluster answers its administrator."""
    return run("ceph", f"--connect-timeout={CONNECT_S}", *words)


def run(program: str, *words: str) -> str:
    """Return what a program prints; end with its complaint where it fails. A key that it prints goes no further than here."""
    code, out, err = call(program, *words)
    if code:
        said = " ".join(word for word in words[:4] if not word.startswith("-"))
        sys.exit(f"{program} {said}: {shorten(err) or f'ended with {code}'}")
    return out


def call(program: str, *words: str) -> tuple[int, str, str]:
    """Return exit code, output and errors of a program."""
    try:
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except FileNotFoundError:
        return 127, "", "not on this host"
    except subprocess.TimeoutExpired:
        return 124, "", f"no end in {LIMIT_S} s"
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
    "make": make,
    "settle": settle,
}
if __name__ == "__main__":
    answer = VERBS[sys.argv[1]](json.load(sys.stdin), "check" in sys.argv[2:])
    sys.stdout.write(json.dumps({"changes": answer} if isinstance(answer, list) else answer) + "\n")
