"""A small Ceph of real daemons on one machine, in the place of hosts with an address each: monitors, managers, OSDs on files.

usage: daemons.py up|osds|gateways FOLDER < DESCRIPTION | freeze|kill|start FOLDER NAME | down FOLDER

Runs as root, where the packages ceph-mds, ceph-mon, ceph-mgr, ceph-osd and radosgw are, and needs nothing but Python: also in a
container. `up` makes monitors and managers, `osds` OSDs and metadata servers, `gateways` these, once they have a zone.
DESCRIPTION is JSON: conf, the cluster's ceph.conf; monitors, managers, metadata and gateways, name to address; port, of gateways;
osds, a list of {host, address, class}; osd_bytes. What differs from servers stands in LOCAL.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

LOCAL = """
# --- of this machine ---
mon_data = {folder}/$type-$id
mgr_data = {folder}/$type-$id
osd_data = {folder}/$type-$id
mds_data = {folder}/$type-$id
keyring = {folder}/$name.keyring
run_dir = {folder}
pid_file =
admin_socket = {folder}/$name.asok
log_file = {folder}/$name.log
crash_dir = {folder}
mon_data_avail_warn = 2
mon_data_avail_crit = 1
mgr_initial_modules = balancer
# Small drives, little memory, and failures that are seen within seconds. Monitors whose tick comes later than the grace less the
# interval take themselves for slow, and forget how long a metadata server was silent. Source: Ceph, MDSMonitor::check_health.
bluestore_block_size = {osd_bytes}
bluestore_block_db_size = 0
bluestore_cache_autotune = false
bluestore_cache_size = 32M
osd_memory_target = 939524096
osd_heartbeat_grace = 6
mon_osd_down_out_interval = 15
mon_tick_interval = 2
paxos_propose_interval = 0.1
mgr_stats_period = 1
mgr_service_beacon_grace = 10
mds_beacon_interval = 1
mds_beacon_grace = 6
osd_pg_log_trim_min = 1
osd_min_pg_log_entries = 4
osd_max_pg_log_entries = 4
[mon]
keyring = {folder}/$type-$id/keyring
"""
DEADLINE_S = 90 * float(os.environ.get("GPUYARD_SLOWNESS") or 1)


def run(*words, check=True, given=None):
    """Run a program to its end, and return what it prints."""
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False, input=given, timeout=DEADLINE_S
    )
    if check and done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr.strip()[-800:] or done.returncode}")
    return done.stdout


def ceph(folder, *words, **options):
    """Ask the cluster."""
    return run("ceph", "-c", folder / "ceph.conf", "--connect-timeout", "10", *words, **options)


def wait(probe, what):
    """Wait until a probe finds something true."""
    deadline = time.monotonic() + DEADLINE_S
    while not probe():
        if time.monotonic() > deadline:
            sys.exit(f"not within {DEADLINE_S:g} s: {what}")
        time.sleep(0.3)


def start(folder, name):
    """Start a daemon, which goes on when this program ends."""
    kind, _, number = name.partition(".")
    program = ["radosgw", "-n", f"client.{name}"] if kind == "rgw" else [f"ceph-{kind}", "-i", number]
    with (folder / f"{name}.said").open("ab") as said:
        daemon = subprocess.Popen(
            [*program, "-f", "-c", str(folder / "ceph.conf")],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    (folder / f"{name}.pid").write_text(str(daemon.pid))


def kill(folder, name):
    """Kill a daemon where it stands. Its connections are closed, so the others know at once, as of a program that crashed."""
    file = folder / f"{name}.pid"
    pid = int(file.read_text())
    file.unlink()
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    wait(lambda: not alive(pid), f"{name} ends")


def freeze(folder, name):
    """Have a daemon fall silent with its connections open, as a host that loses its power does. It can be killed after that."""
    os.kill(int((folder / f"{name}.pid").read_text()), signal.SIGSTOP)


def alive(pid):
    """Return whether a process still runs; one that ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def up(folder, about):
    """Make monitors and managers, and start them."""
    folder.mkdir(parents=True, exist_ok=True)
    conf = about["conf"].rstrip("\n") + LOCAL.format(folder=folder, osd_bytes=about["osd_bytes"])
    named = {"mgr": about["managers"], "mds": about.get("metadata", {}), "client.rgw": about.get("gateways", {})}
    addresses = {*about["monitors"].values(), *(osd["address"] for osd in about["osds"])}
    addresses |= {address for each in named.values() for address in each.values()}
    run("ip", "link", "set", "lo", "up")
    for address in sorted(addresses):
        run("ip", "address", "replace", f"{address}/32", "dev", "lo")
    # Hosts have one address and one name each, and a daemon takes them; here it has to be told which are its host's.
    for kind, daemons in named.items():
        for name, address in daemons.items():
            conf += f"[{kind}.{name}]\npublic_addr = {address}\n"
            conf += f"rgw_frontends = beast endpoint={address}:{about['port']}\n" if kind == "client.rgw" else ""
    for number, osd in enumerate(about["osds"]):
        own = f"public_addr = {osd['address']}\ncluster_addr = {osd['address']}\n"
        conf += f"[osd.{number}]\ncrush_location = root=default host={osd['host']}\n{own}"
    (folder / "ceph.conf").write_text(conf)
    fsid = re.search(r"^fsid = (\S+)", conf, re.M).group(1)
    everything = [word for kind in ("mon", "osd", "mds", "mgr") for word in ("--cap", kind, "allow *")]
    admin, monitors, monmap = folder / "client.admin.keyring", folder / "monitors", folder / "monmap"
    run("ceph-authtool", "-C", admin, "--gen-key", "-n", "client.admin", *everything)
    run("ceph-authtool", "-C", monitors, "--gen-key", "-n", "mon.", "--cap", "mon", "allow *")
    run("ceph-authtool", monitors, "--import-keyring", admin)
    placed = [
        word for name, address in about["monitors"].items() for word in ("--addv", name, f"[v2:{address}:3300,v1:{address}:6789]")
    ]
    run("monmaptool", "--create", "--clobber", "--fsid", fsid, *placed, monmap)
    for name in about["monitors"]:
        run("ceph-mon", "-c", folder / "ceph.conf", "--mkfs", "-i", name, "--monmap", monmap, "--keyring", monitors)
        start(folder, f"mon.{name}")
    quorum = len(about["monitors"])
    wait(
        lambda: len(json.loads(ceph(folder, "quorum_status", check=False) or "{}").get("quorum", ())) == quorum, "monitors agree"
    )
    ceph(folder, "mon", "enable-msgr2")
    for name in about["managers"]:
        mgr = f"mgr.{name}"
        (folder / f"mgr-{name}").mkdir()
        caps = ("mon", "allow profile mgr", "osd", "allow *", "mds", "allow *")
        ceph(folder, "auth", "get-or-create", mgr, *caps, "-o", folder / f"{mgr}.keyring")
        start(folder, mgr)
    wait(lambda: json.loads(ceph(folder, "mgr", "stat", "-f", "json"))["available"], "a manager is active")


def add_osds(folder, about):
    """Make OSDs and metadata servers that are not there yet, and start them."""
    for number, osd in enumerate(about["osds"]):
        if not (folder / f"osd-{number}").exists():
            make_osd(folder, number, osd["class"])
    for name in about.get("metadata", {}):
        mds = f"mds.{name}"
        if (folder / f"mds-{name}").exists():
            continue
        (folder / f"mds-{name}").mkdir()
        caps = ("mon", "profile mds", "mgr", "profile mds", "mds", "allow", "osd", "allow rw tag cephfs *=*")
        ceph(folder, "auth", "get-or-create", mds, *caps, "-o", folder / f"{mds}.keyring")
        start(folder, mds)
    wait(lambda: json.loads(ceph(folder, "osd", "stat", "-f", "json"))["num_up_osds"] == len(about["osds"]), "OSDs are up")


def add_gateways(folder, about):
    """Make gateways with the rights that the role gives them, and start them."""
    for name in about["gateways"]:
        user = f"client.rgw.{name}"
        caps = ("mon", "allow r", "osd", "allow rwx tag rgw *=*")
        ceph(folder, "auth", "get-or-create", user, *caps, "-o", folder / f"{user}.keyring")
        start(folder, f"rgw.{name}")


def make_osd(folder, number, drive_class):
    """Make an OSD on a file, and start it."""
    data = folder / f"osd-{number}"
    data.mkdir()
    uuid, key = Path("/proc/sys/kernel/random/uuid").read_text().strip(), run("ceph-authtool", "--gen-print-key").strip()
    ceph(folder, "osd", "new", uuid, "-i", "-", given=json.dumps({"cephx_secret": key, "crush_device_class": drive_class}))
    run("ceph-authtool", "-C", folder / f"osd.{number}.keyring", "-n", f"osd.{number}", "--add-key", key)
    run("ceph-osd", "-c", folder / "ceph.conf", "--mkfs", "-i", number, "--osd-uuid", uuid)
    start(folder, f"osd.{number}")


def main(verb, folder, *names):
    """Do what is asked."""
    if verb in ("up", "osds", "gateways"):
        {"up": up, "osds": add_osds, "gateways": add_gateways}[verb](folder, json.load(sys.stdin))
    elif verb == "down":
        for file in folder.glob("*.pid"):
            kill(folder, file.stem)
    else:
        {"freeze": freeze, "kill": kill, "start": start}[verb](folder, *names)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
