"""Make metadata servers or gateways of a host from Ceph's packages, or tell what would be done. Prints JSON.

Arguments: a verb, one of VERBS, and `check` where nothing may be done. Standard input is JSON: `kind`, one of KINDS; `names`, the
daemons of the host, such as home.control-001; `wait_s`; for `make` `keys`, what `share` printed of some of them, and `again`, the
names of those that run and have to begin anew; for `settle` `started`, what `make` printed, and `before`, what `ask` printed of
sessions. On a host with a monitor that the cluster answers: `ask`, `share`, `settle`. On the host itself: `look`, `make`. Python
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
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIB, CONF = Path("/var/lib/ceph"), Path("/etc/ceph/ceph.conf")
LIMIT_S, CONNECT_S = 60, 10
"""Within which a program has to be done, and to have found a monitor."""
ABSENT = 2
"""Exit code of `ceph` for what is not there (ENOENT)."""
Json = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """A kind of daemons: what one is called, its program, its user in Ceph, its folder and its unit.

    Without `caps` users are made by role ceph_cluster.
    """

    what: str
    program: str
    user: str
    caps: tuple[str, ...]
    folder: str
    unit: str
    fix: str  # where one does not come

    def name_user(self, name: str) -> str:
        """Return a daemon's user."""
        return self.user + name

    def name_unit(self, name: str) -> str:
        """Return a daemon's unit."""
        return self.unit + name

    def find_keyring(self, name: str) -> Path:
        """Return the file with a daemon's key."""
        return LIB / f"{self.folder}{name}/keyring"


KINDS = {
    "mds": Kind(
        "metadata server",
        "ceph-mds",
        "mds.",
        ("mon", "profile mds", "mgr", "profile mds", "mds", "allow", "osd", "allow rw tag cephfs *=*"),
        "mds/ceph-",
        "ceph-mds@",
        "ports 6800 to 7568 have to pass",
    ),
    "rgw": Kind(
        "gateway",
        "radosgw",
        "client.rgw.",
        (),
        "radosgw/ceph-rgw.",
        "ceph-radosgw@rgw.",
        "it does not start without its realm and zone, which playbooks/ceph.yml makes before it",
    ),
}
"""Source of rights: Ceph, src/pybind/mgr/cephadm/services/cephadmservice.py, MdsService, and for managers
doc/cephfs/add-remove-mds.rst."""
SECTION = re.compile(r"^\s*\[(client\.[^\]]*(?:rgw|radosgw)[^\]]*)\]", re.MULTILINE)
"""A section of a gateway in ceph.conf."""


def look(about: Json, _: bool) -> Json:
    """Return what the host is and has."""
    kind = KINDS[about["kind"]]
    return {
        "host_name": os.uname().nodename.partition(".")[0],
        "lacks": [program for program in ("ceph", kind.program) if shutil.which(program) is None],
        "has_dpkg": shutil.which("dpkg") is not None,
        "interrupted": call("dpkg", "--audit")[1] != "",
        "fsid": find_fsid(),
        "sections": SECTION.findall(read_conf()) if about["kind"] == "rgw" else [],
        "cephadm": sorted({path.parent.name for path in LIB.glob(f"*-*-*-*-*/{about['kind']}.*") if path.is_dir()}),
        "lacking": [name for name in about["names"] if not kind.find_keyring(name).is_file()],
        "stopped": [name for name in about["names"] if not runs(kind.name_unit(name))],
        "beside": sorted(set(list_names(kind)) - set(about["names"])),
    }


def ask(about: Json, _: bool) -> Json:
    """Return the id of the cluster that answers, and its daemons of the kind.

    `sessions` has their names by a number that changes with each start. `moved` are gateways that say that they listen elsewhere
    than they are told to by now.
    """
    told, moved = read_daemons(about["kind"]), []
    if about["kind"] == "rgw":
        options = json.loads(ceph("config", "dump", "--format=json"))
        orders = {each["section"]: each["value"] for each in options if each["name"] == "rgw_frontends"}
        for name in sorted({each["name"] for each in told.values()}):
            order = orders.get(f"client.rgw.{name}")
            at = {each["listens"] for each in told.values() if each["name"] == name} - {""}
            moved += [name] if order and at and order not in at else []
    return {
        "fsid": json.loads(ceph("fsid", "--format=json"))["fsid"],
        "servers": sorted({each["name"] for each in told.values()}),
        "sessions": {number: each["name"] for number, each in told.items()},
        "moved": moved,
    }


def read_daemons(kind: str) -> dict[str, dict[str, str]]:
    """Return name, and where it listens, of all daemons of a kind, serving or standing by."""
    if kind == "mds":
        said = json.loads(ceph("fs", "dump", "--format=json"))
        serving = (server for each in said["filesystems"] for server in each["mdsmap"]["info"].values())
        return {str(server["gid"]): {"name": server["name"], "listens": ""} for server in (*serving, *said["standbys"])}
    services = json.loads(ceph("service", "dump", "--format=json"))["services"]
    daemons = {number: each for number, each in services.get(kind, {}).get("daemons", {}).items() if number != "summary"}
    abouts = {number: each["metadata"] for number, each in daemons.items()}
    return {
        number: {"name": about.get("id", number), "listens": about.get("frontend_config#0", "")}
        for number, about in abouts.items()
    }


def share(about: Json, is_check: bool) -> Json:
    """Return the keys of daemons; Ceph makes those that it does not have, and in `check` they are empty."""
    keys, kind = {}, KINDS[about["kind"]]
    for name in about["names"]:
        user = kind.name_user(name)
        code, out, err = call("ceph", f"--connect-timeout={CONNECT_S}", "auth", "get-key", user)
        if code not in {0, ABSENT}:
            sys.exit(f"ceph auth get-key {user}: {shorten(err) or f'ended with {code}'}")
        if code == ABSENT and not kind.caps and not is_check:
            sys.exit(tell(f"user {user}", "not in the cluster", "it", "run playbooks/ceph.yml whole, which makes it before"))
        if code == ABSENT:
            out = "" if is_check else ceph("auth", "get-or-create-key", user, *kind.caps)
        keys[name] = out.strip()
    return {"keys": keys}


def make(about: Json, is_check: bool) -> Json:
    """Make daemons that are not there, give back a key that another cluster gave, and start those that do not run.

    Returns changes, and the names of those that were `started`.
    """
    changes, started, lock, kind = [], [], None if is_check else hold(), KINDS[about["kind"]]
    for name in about["names"]:
        path, unit, key = kind.find_keyring(name), kind.name_unit(name), about["keys"].get(name)
        is_there, is_other = path.is_file(), key is not None and find_key(path) != key
        if is_other or not is_there:
            changes.append(f"{kind.what} {name} {'has the key that Ceph knows' if is_there else 'is made'}")
            if not is_check:
                path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
                write(path, f"[{kind.name_user(name)}]\n\tkey = {key}\n")
        if not is_check:  # also what an earlier run did not come to
            for each in (path.parent, path):
                shutil.chown(each, "ceph", "ceph")
        is_anew = name in about["again"] or (is_other and is_there)
        if is_anew or not runs(unit):
            changes.append(f"{unit} {'is restarted' if name in about['again'] else 'runs'}")
            started.append(name)
            if not is_check:
                call("systemctl", "reset-failed", unit)
                run("systemctl", "enable", "--quiet", unit)
                run("systemctl", "restart", unit)
    if lock is not None:
        os.close(lock)
    return {"changes": changes, "started": started}


def settle(about: Json, is_check: bool) -> list[str]:
    """Wait until the cluster knows the daemons that were started, and for a while until the file systems are served."""
    deadline, kind = time.monotonic() + about["wait_s"], KINDS[about["kind"]]
    while not is_check:
        # One that is gone is known for a minute more.
        told = [(number, each["name"]) for number, each in read_daemons(about["kind"]).items()]
        there = {name for number, name in told if number not in about["before"] or name not in about["started"]}
        missing = [name for name in about["names"] if name not in there]
        is_late = time.monotonic() >= deadline
        if missing and is_late:
            fix = f"see journalctl -u {kind.name_unit(missing[0])} there; {kind.fix}; then run again"
            sys.exit(tell(f"{kind.what} {missing[0]}", "not in the cluster", f"it within {about['wait_s']:g} s", fix))
        if is_late or (not missing and (about["kind"] != "mds" or all_served())):
            break
        time.sleep(1)
    return []


def all_served() -> bool:
    """Return whether all file systems are served that there are."""
    return all(is_served(each["mdsmap"]) for each in json.loads(ceph("fs", "dump", "--format=json"))["filesystems"])


def is_served(about: Json) -> bool:
    """Return whether all ranks of a file system have a metadata server that serves; also where somebody took it down."""
    active = {each["rank"] for each in about["info"].values() if each["state"] in ("up:active", "up:stopping")}
    return active >= set(about["in"]) and not about["failed"]


def list_names(kind: Kind) -> list[str]:
    """Return the daemons that a host has data of."""
    folder, _, begins = kind.folder.partition("/")
    return [path.name[len(begins) :] for path in (LIB / folder).glob(f"{begins}*") if path.is_dir()]


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
    found = re.search(r"^\s*fsid\s*=\s*(\S+)", read_conf(), re.MULTILINE)
    return found.group(1) if found else ""


def read_conf() -> str:
    """Return the host's ceph.conf; empty where there is none."""
    with suppress(OSError):
        return CONF.read_text(errors="replace")
    return ""


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
