"""Make the monitor and the manager of a host from Ceph's packages, or tell what would be done. Prints JSON.

Arguments: a verb, one of VERBS, and `check` where nothing may be done. Standard input is JSON: `name`, the host's; `fsid`;
`monitors`, name to address; `managers`, names; `wait_s`; for `lay` what `share` printed; for `settle` `expect`, the monitors that
have to be there. Python 3.9 suffices.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

LIB, CONF, ADMIN = Path("/var/lib/ceph"), Path("/etc/ceph/ceph.conf"), Path("/etc/ceph/ceph.client.admin.keyring")
PROGRAMS = ("ceph", "ceph-mon", "ceph-mgr")
PORTS = {"v2": 3300, "v1": 6789}
"""Where monitors listen, by version of the protocol. Source: Ceph, doc/rados/configuration/msgr2.rst."""
LIMIT_S, CONNECT_S, PROBE_S = 60, 10, 2
"""Within which a program has to be done, to have found a monitor, and a port has to answer."""
EVERYTHING = ("--cap", "mon", "allow *", "--cap", "osd", "allow *", "--cap", "mds", "allow *", "--cap", "mgr", "allow *")
MANAGER = ("mon", "allow profile mgr", "osd", "allow *", "mds", "allow *")
"""Rights of a manager. Source: Ceph, doc/mgr/administrator.rst."""
Json = dict[str, Any]


def look(about: Json) -> Json:
    """Return what the host is and has, and what the cluster answers it."""
    name, address = about["name"], about["monitors"].get(about["name"], "")
    cluster, why = ask_cluster()
    monitors = LIB / "mon"
    others = [other for other in about["monitors"] if other != name]
    with ThreadPoolExecutor() as trying:  # each may take as long as it takes to give up
        answers = list(trying.map(lambda other: is_open(about["monitors"][other]), others))
    return {
        "host_name": os.uname().nodename.partition(".")[0],
        "has_address": is_here(address),
        "lacks": [program for program in PROGRAMS if shutil.which(program) is None],
        "has_dpkg": shutil.which("dpkg") is not None,
        "interrupted": call("dpkg", "--audit")[1] != "",
        "fsid": read_conf("fsid"),
        "told": sorted(set(re.findall(r"[0-9]+(?:\.[0-9]+){3}", read_conf("mon_host")))),
        "monitor": has_store(name),
        "runs": runs(f"ceph-mon@{name}"),
        "manager": (LIB / f"mgr/ceph-{name}/keyring").is_file() and runs(f"ceph-mgr@{name}"),
        "others": sorted(path.name for path in monitors.glob("*-*") if path.name != f"ceph-{name}" and path.name[0] != "."),
        "whole": runs("ceph-mon", all_of=False),
        "osds": sorted(path.name for path in (LIB / "osd").glob("*-*")),
        "cephadm": sorted({path.parent.name for path in LIB.glob("*-*-*-*-*/*.*") if path.is_dir()}),
        "listening": [other for at, other in enumerate(others) if answers[at]],
        "cluster": cluster,
        "why": why,
    }


def make_first(about: Json, is_check: bool) -> list[str]:
    """Make the first monitor of a cluster, with the keys of all monitors and of the administrator."""
    name, address = about["name"], about["monitors"][about["name"]]
    if not is_check:
        with open_workshop() as folder:
            admin, keys, monmap = folder / "admin", folder / "keys", folder / "monmap"
            run("ceph-authtool", "-C", admin, "--gen-key", "-n", "client.admin", *EVERYTHING)
            run("ceph-authtool", "-C", keys, "--gen-key", "-n", "mon.", "--cap", "mon", "allow *")
            run("ceph-authtool", keys, "--import-keyring", admin)
            where = ",".join(f"{version}:{address}:{port}" for version, port in PORTS.items())
            run("monmaptool", "--create", "--fsid", about["fsid"], "--addv", name, f"[{where}]", monmap)
            make_monitor(name, monmap, keys, admin.read_text())
    return [f"monitor {name}, the cluster's first, is made"]


def share(_: Json, __: bool) -> Json:
    """Return what a further monitor begins with: the map of monitors, their common key, and the administrator's."""
    with tempfile.TemporaryDirectory() as folder:
        monmap = Path(folder, "monmap")
        ceph("mon", "getmap", "-o", str(monmap))
        content = base64.b64encode(monmap.read_bytes()).decode()
    return {"monmap": content, "keys": ceph("auth", "get", "mon."), "admin": ceph("auth", "get", "client.admin")}


def lay(about: Json, is_check: bool) -> list[str]:
    """Make the monitor of this host where there is none, from what another host shares; it runs once it is to join."""
    name = about["name"]
    changes = []
    if not has_store(name):
        changes.append(f"monitor {name} is made")
        if not is_check:
            with open_workshop() as folder:
                (folder / "monmap").write_bytes(base64.b64decode(about["monmap"]))
                (folder / "keys").write_text(about["keys"])
                make_monitor(name, folder / "monmap", folder / "keys", about["admin"])
    elif read(ADMIN) != about.get("admin"):
        changes.append("the administrator's key is there")
        if not is_check:
            keep(ADMIN, about["admin"])
    return changes


def make_monitor(name: str, monmap: Path, keys: Path, admin: str) -> None:
    """Make a monitor's store, which is in its place once it is whole, and lay the administrator's key."""
    store, made = LIB / f"mon/ceph-{name}", LIB / f"mon/.gpuyard-{name}"
    if store.exists() and any(store.iterdir()):
        sys.exit(tell(str(store), "is not empty", "no store yet", "another run may have made it: run again, or see what it is"))
    if made.exists():  # of a run that was cut off
        shutil.rmtree(made)
    made.mkdir(mode=0o750)
    for path in (made, monmap, keys):
        shutil.chown(path, "ceph", "ceph")
    named = ("-i", name, "--mon-data", made, "--monmap", monmap, "--keyring", keys)
    run("ceph-mon", "--mkfs", *named, "--setuser", "ceph", "--setgroup", "ceph")
    keep(ADMIN, admin)
    os.sync()
    made.rename(store)


def start_monitor(about: Json, is_check: bool) -> list[str]:
    """Start the monitor of this host, now and with each start of the host."""
    return start(f"ceph-mon@{about['name']}", is_check)


def join(about: Json, is_check: bool) -> list[str]:
    """Start the monitor of this host, and wait until the others count it; not where they are no majority without it."""
    if not is_check and ask_cluster()[0] is None:
        wait_quorum(about, [])
    changes = start_monitor(about, is_check)
    if not is_check:
        wait_quorum(about, [about["name"]])
    return changes


def wait(about: Json, is_check: bool) -> list[str]:
    """Wait until the cluster answers."""
    if not is_check:
        wait_quorum(about, [])
    return []


def make_manager(about: Json, is_check: bool) -> list[str]:
    """Make and start the manager of this host, and wait until the cluster counts it."""
    name, changes = about["name"], []
    keyring = LIB / f"mgr/ceph-{name}/keyring"
    if not keyring.is_file():
        changes.append(f"manager {name} is made")
        if not is_check:
            key = ceph("auth", "get-or-create", f"mgr.{name}", *MANAGER)
            keyring.parent.mkdir(mode=0o750, exist_ok=True)
            keep(keyring, key)
    if not is_check:  # also what an earlier run did not come to
        for path in (keyring.parent, keyring):
            shutil.chown(path, "ceph", "ceph")
    changes += start(f"ceph-mgr@{name}", is_check)
    if not is_check:
        fix = f"see journalctl -u ceph-mgr@{name}, then run again"
        wait_for(about, lambda: name in list_managers(), lambda: tell(f"manager {name}", "not ready", "it to serve", fix))
    return changes


def settle(about: Json, is_check: bool) -> Json:
    """Wait until all that are expected serve; return what is beside the plan, and left unchanged."""
    if not is_check:
        wait_quorum(about, about["expect"])
    cluster, _ = ask_cluster()
    if cluster is None:
        return {"changes": [], "left": []}
    beside = []
    for name in sorted(set(cluster["monitors"]) - set(about["monitors"])):
        there = f"systemctl disable --now ceph-mon@{name} there, and move its /var/lib/ceph/mon/ceph-{name} and {ADMIN} away"
        beside.append(f"monitor {name}: ceph mon remove {name}; then {there}")
    for name in sorted(set(list_managers()) - set(about["managers"])):
        beside.append(f"manager {name}: systemctl disable --now ceph-mgr@{name} there; then ceph auth rm mgr.{name}")
    return {"changes": [], "left": beside}


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


def list_managers() -> list[str]:
    """Return the managers that serve or wait to, the active one first; none before the active one is ready."""
    said = json.loads(ceph("mgr", "dump", "--format=json"))
    return [said["active_name"], *(each["name"] for each in said["standbys"])] if said["available"] else []


def wait_quorum(about: Json, names: list[str]) -> None:
    """Wait until the cluster answers, and counts these monitors."""
    said = {"found": "no answer", "fix": ""}

    def ask() -> bool:
        cluster, why = ask_cluster()
        if cluster is None and why.startswith("no "):  # and waiting brings none
            fix = f"copy {ADMIN} from another monitor's host, then run again"
            sys.exit(tell(about["name"], why, "it, to ask the cluster", fix))
        lacking = [name for name in names if name not in cluster["quorum"]] if cluster else names
        said["found"] = why if cluster is None else f"without {', '.join(lacking)}"
        who = lacking[0] if lacking else about["name"]
        said["fix"] = f"see journalctl -u ceph-mon@{who} on {who}; ports 3300 and 6789 have to pass, and clocks to agree"
        if cluster and lacking and who not in cluster["monitors"]:
            said["fix"] += f"; one that was removed once is made anew: move /var/lib/ceph/mon/ceph-{who} away, and run again"
        return cluster is not None and not lacking

    def complain() -> str:
        return tell("the quorum", said["found"], f"{', '.join(names) or 'one'} within {about['wait_s']:g} s", said["fix"])

    wait_for(about, ask, complain)


def wait_for(about: Json, probe: Callable[[], bool], complain: Callable[[], str]) -> None:
    """Wait until something is so; end with a complaint where it is not in time."""
    deadline = time.monotonic() + about["wait_s"]
    while not probe():
        if time.monotonic() > deadline:
            sys.exit(complain())
        time.sleep(1)


def start(unit: str, is_check: bool) -> list[str]:
    """Have a unit run, now and with each start of the host; a unit that gave up is tried again."""
    if runs(unit):
        return []
    if not is_check:
        call("systemctl", "reset-failed", unit)
        run("systemctl", "enable", "--now", "--quiet", unit)
    return [f"{unit} runs"]


def runs(unit: str, all_of: bool = True) -> bool:
    """Return whether a unit runs, and does with each start of the host; or one of both."""
    answers = [call("systemctl", "--quiet", question, unit)[0] == 0 for question in ("is-active", "is-enabled")]
    return all(answers) if all_of else any(answers)


def has_store(name: str) -> bool:
    """Return whether the host has a monitor, running or not."""
    return (LIB / f"mon/ceph-{name}/store.db").exists()


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


def keep(path: Path, text: str) -> None:
    """Write a key for its owner's eyes; others that were there are kept beside it."""
    if path.exists() and path.read_text() != text:
        aside = Path(f"{path}.before-gpuyard")
        while aside.exists():
            aside = aside.with_name(f"{aside.name}-again")
        path.replace(aside)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".gpuyard-")
    with os.fdopen(handle, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    Path(name).replace(path)


@contextmanager
def open_workshop() -> Iterator[Path]:
    """Give a folder that only the user ceph may read, and that is gone afterwards; to one run at a time."""
    try:
        fcntl.flock(os.open(LIB, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)  # held until this program ends
    except OSError:
        sys.exit(tell(str(LIB), "another run makes a monitor there", "one run at a time", "wait until it has ended"))
    with tempfile.TemporaryDirectory(dir=LIB, prefix=".gpuyard-") as folder:
        shutil.chown(folder, "ceph", "ceph")
        yield Path(folder)


def is_here(address: str) -> bool:
    """Return whether the host has an address."""
    with socket.socket() as trial, suppress(OSError):
        trial.bind((address, 0))
        return address != ""
    return False


def is_open(address: str) -> bool:
    """Return whether somebody listens where a monitor would."""
    for port in PORTS.values() if address else ():
        with suppress(OSError), socket.create_connection((address, port), PROBE_S):
            return True
    return False


def ceph(*words: str) -> str:
    """Return what the cluster answers its administrator."""
    return run("ceph", f"--connect-timeout={CONNECT_S}", *words)


def run(program: str, *words: str | Path) -> str:
    """Return what a program prints; end with its complaint where it fails. A key that it prints goes no further than here."""
    code, out, err = call(program, *words)
    if code:
        said = " ".join(str(word) for word in words[:4] if not str(word).startswith("-"))
        sys.exit(f"{program} {said}: {shorten(err) or f'ended with {code}'}")
    return out


def call(program: str, *words: str | Path) -> tuple[int, str, str]:
    """Return exit code, output and errors of a program."""
    try:
        done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=LIMIT_S, check=False)
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
    "first": make_first,
    "share": share,
    "lay": lay,
    "start": start_monitor,
    "wait": wait,
    "join": join,
    "manager": make_manager,
    "settle": settle,
}
if __name__ == "__main__":
    given = json.load(sys.stdin)
    answer = look(given) if sys.argv[1] == "look" else VERBS[sys.argv[1]](given, "check" in sys.argv[2:])
    sys.stdout.write(json.dumps({"changes": answer} if isinstance(answer, list) else answer) + "\n")
