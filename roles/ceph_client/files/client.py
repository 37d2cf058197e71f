"""See what a host has of file systems of Ceph, and what it needs to mount them. Prints JSON.

Arguments: a verb, one of VERBS. Standard input is JSON: `mounts`, each with `filesystem`, `user`, `folder` (empty: all of it),
`at`, `unit` and `driver`. `look` is run on the host itself, `share` on a host with a monitor that the cluster answers. Python 3.9
suffices.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

CEPH, UNITS, MOUNTS = Path("/etc/ceph"), Path("/etc/systemd/system"), Path("/proc/self/mounts")
FILESYSTEMS = Path("/proc/filesystems")
KINDS = {"kernel": "ceph", "fuse": "fuse"}
"""What the kernel calls the file system that a driver needs, and the module that has it."""
PROGRAMS = {"kernel": ("mount.ceph",), "fuse": ("ceph-fuse", "mount.fuse.ceph")}
OURS = "# Written by gpuyard, role ceph_client."
LIMIT_S, CONNECT_S, LIST_S = 120, 10, 10
"""Within which a program has to be done, to have found a monitor, and a folder has to be listed."""
ABSENT = 2
"""Exit code of `ceph` for what is not there (ENOENT)."""
NOTED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T|Inferring |Using ")
"""How a line of a client's log begins, and what cephadm says before a program's own words."""
LISTING = '[ ! -e "$1" ] || { [ -d "$1" ] && ls -A "$1" || echo no folder, but a file; }'
Json = dict[str, Any]


def look(about: Json) -> Json:
    """Return what the host is and has, and what is at the places of its mounts."""
    drivers = {each["driver"] for each in about["mounts"]}
    planned = {UNITS / each["unit"] for each in about["mounts"]}
    planned |= {CEPH / f"ceph.client.{each['user']}.keyring" for each in about["mounts"]}
    mounted = list_mounted()
    ours = [path for path in (*UNITS.glob("*.mount"), *CEPH.glob("ceph.client.*.keyring")) if is_ours(path)]
    return {
        "lacks": sorted(name for driver in drivers for name in PROGRAMS[driver] if shutil.which(name) is None),
        "has_dpkg": shutil.which("dpkg") is not None,
        "interrupted": call("dpkg", "--audit")[1] != "",
        "has_drivers": [driver for driver, kind in KINDS.items() if has_kind(kind)],
        "fsid": find_fsid(),
        "mounted": {each["at"]: mounted[each["at"]] for each in about["mounts"] if each["at"] in mounted},
        "dead": [each["at"] for each in about["mounts"] if each["at"] in mounted and is_dead(each["at"])],
        "holding": {
            each["at"]: held for each in about["mounts"] if each["at"] not in mounted and (held := list_some(each["at"]))
        },
        "linked": {each["at"]: real for each in about["mounts"] if (real := find_real(each["at"])) != each["at"]},
        "beside": sorted(str(path) for path in ours if path not in planned),
    }


def share(about: Json) -> Json:
    """Return keys of users, and paths of folders by file system and name; what the cluster does not have is in `missing`."""
    keys, paths, missing = {}, {}, []
    for each in about["mounts"]:
        user, where = each["user"], (each["filesystem"], each["folder"])
        if user not in keys:
            found = ask("auth", "get-key", f"client.{user}")
            keys[user] = found.strip()
            missing += [] if found else [f"user client.{user}"]
        if each["folder"] and " ".join(where) not in paths:
            found = ask("fs", "subvolume", "getpath", *where, f"--group_name={each['folder']}")
            paths[" ".join(where)] = found.strip()
            missing += [] if found else [f"folder {each['folder']} of file system {each['filesystem']}"]
    fsid = json.loads(ask("fsid", "--format=json"))["fsid"]
    return {"fsid": fsid, "keys": keys, "paths": paths, "missing": missing}


def has_kind(kind: str) -> bool:
    """Return whether the kernel has a kind of file system, in it or as a module that it can load."""
    known = {line.split()[-1] for line in FILESYSTEMS.read_text().splitlines() if line.strip()}
    return kind in known or call("modprobe", "--dry-run", "--quiet", kind)[0] == 0


def list_mounted() -> dict[str, str]:
    """Return the type of what is mounted, by its place: the last where several are."""
    rows = [line.split() for line in MOUNTS.read_text(errors="replace").splitlines()]
    return {re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), row[1]): row[2] for row in rows}


def list_some(place: str) -> str:
    """Return the first name in a folder; empty where it has none, or there is none. What it lies in may hang, or be dead."""
    code, out, err = call("sh", "-c", LISTING, "-", place, limit_s=LIST_S)
    return out.split("\n", 1)[0] if code == 0 else shorten(err)


def is_dead(place: str) -> bool:
    """Return whether the program behind a mount has ended."""
    return "not connected" in call("stat", "--file-system", place, limit_s=LIST_S)[2]


def find_real(place: str) -> str:
    """Return where a path leads, of which systemd wants every part to be a folder. The last may be dead: it is not asked."""
    code, out, _ = call("realpath", "--canonicalize-missing", str(Path(place).parent), limit_s=LIST_S)
    real = Path(out.strip()) / Path(place).name if code == 0 else Path(place)
    with suppress(OSError):  # a mount whose program has died is no link
        return f"{real} (a link)" if real.is_symlink() else str(real)
    return str(real)


def is_ours(path: Path) -> bool:
    """Return whether a unit or a key is one that this role wrote."""
    with suppress(OSError):
        return OURS in path.read_text(errors="replace")
    return False


def find_fsid() -> str:
    """Return the id of the cluster that the host's ceph.conf names; empty where there is none."""
    text = ""
    with suppress(OSError):
        text = (CEPH / "ceph.conf").read_text(errors="replace")
    found = re.search(r"^\s*fsid\s*=\s*(\S+)", text, re.MULTILINE)
    return found.group(1) if found else ""


def ask(*words: str) -> str:
    """Return what the cluster answers its administrator; empty for what is not there, and end with its complaint otherwise."""
    command = ["ceph", f"--connect-timeout={CONNECT_S}", *words]
    if shutil.which("ceph") is None:
        if shutil.which("cephadm") is None:
            sys.exit("ceph: not on this host; expected it, or cephadm; fix: install the package ceph-common")
        command = ["cephadm", "shell", "--", *command]
    code, out, err = call(*command)
    if code not in {0, ABSENT}:
        sys.exit(f"ceph {' '.join(words[:3])}: {shorten(err) or f'ended with {code}'}")
    return out if code == 0 else ""


def call(program: str, *words: str, limit_s: float = LIMIT_S) -> tuple[int, str, str]:
    """Return exit code, output and errors of a program."""
    try:
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=limit_s, check=False)
    except FileNotFoundError:
        return 127, "", "not on this host"
    except subprocess.TimeoutExpired:
        return 124, "", f"no end in {limit_s} s"
    return done.returncode, done.stdout, done.stderr


def shorten(text: str) -> str:
    """Return errors in one line, without what a client or cephadm notes beside them."""
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if not NOTED.match(line)]
    return " ".join(" ".join(errors or lines).split())[-800:]


VERBS: dict[str, Callable[[Json], Json]] = {"look": look, "share": share}
if __name__ == "__main__":
    sys.stdout.write(json.dumps(VERBS[sys.argv[1]](json.load(sys.stdin))) + "\n")
