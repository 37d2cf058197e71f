"""Bring a running Ceph to what the plan says of it, or tell what would change; run on a host that has its monitors. Prints JSON.

Arguments: `look`, `check` or `apply`. Standard input is JSON: `wanted`, what ceph/objects.yaml has; `pools`, whether pools are
brought to that too; `move`, whether hosts and pools may change their place where that moves data; `wait_s`, within which the
placement groups of new pools must be active.
`look` reads none and prints the id of the cluster. Python 3.9 suffices.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from ipaddress import ip_address, ip_network
from typing import Any

RECORD, COMING = "gpuyard/objects", "gpuyard/expand"
"""Keys of the monitors' store: what was planned, by which is found what the plan no longer has; and hosts that role ceph_expand
has data come to."""
LIMIT_S, CONNECT_S = 120, 15
"""Within which a command has to be done, and to have found a monitor."""
SETTLE_S = 60
"""Within which placement groups serve again after a host was moved or an OSD began, where nothing is wrong."""
ABSENT = 2
"""Exit code of `ceph` for what is not there (ENOENT)."""
REPLICATED, ERASURE = 1, 3
"""Kinds of pools and rules. Source: Ceph, pg_pool_t::TYPE_REPLICATED and TYPE_ERASURE."""
ROOT = "default"
MANAGERS = (".mgr", "device_health_metrics")
"""Pools that managers make for themselves; there is no telling where what they hold lies."""
MOVING = ("size", "pg_num")
"""Settings of a pool that make, drop or move copies."""
KEPT = "snapshot-retained"
"""State of a folder that was removed but for its snapshots."""
UNLIMITED = "infinite"
"""What a folder without a quota has for one. Source: Ceph, volumes/fs/operations/versions/subvolume_base.py."""
UNKNOWN = ("path", "pool_namespace")
UNKNOWN_WORD = re.compile(rf"<({'|'.join(UNKNOWN)}) (\S+) (\S+)>")
"""What stands for the path and the namespace of a folder that is not made yet."""
PYTHON = "/usr/bin/python3"
GROUPS = """
import json, sys, cephfs
files, path, namespace = sys.argv[1:]
key = "ceph.dir.layout.pool_namespace"
client = cephfs.LibCephFS(auth_id="admin", conffile="", conf={"client_mount_timeout": "20"})
client.conf_read_file()
client.mount(filesystem_name=files.encode())
found = None
try:
    if namespace:
        client.setxattr(path, key, namespace.encode(), 0)
    with client.opendir(path) as entries:
        names = {entry.d_name for entry in iter(entries.readdir, None)}
    found = {"namespace": "", "has_volumes": bool(names - {b".", b".."})}
    found["namespace"] = client.getxattr(path, key).decode()
except (cephfs.ObjectNotFound, cephfs.NoData):
    if namespace:
        raise
finally:
    client.shutdown()
print(json.dumps(found))
"""
"""Tells of a group of subvolumes whether it has any, and in which namespace these come to lie, and nothing where there is no such
group; gives it one first where it is told one. No command of Ceph does: this goes by its library, which the package with the
program `ceph` brings."""
UNDOTTED = ("", "nautilus", "octopus", "pacific")
"""Releases that make a pool whose name begins with a dot without a word, and know none. Source: Ceph, mon/MonCommands.h."""
ADMIN = "radosgw-admin"
ZONES = ".rgw.root"
"""Pool with realms, zone groups and zones of object stores. Without it nothing is asked of these: the question would make it."""
OPENED = ("control", "meta", "log")
"""Pools of a zone that a question about its users would make."""
GATEWAYS = "client.rgw."
"""How users of gateways begin."""
PLACEMENT = "default-placement"
"""Where a zone lays buckets that ask for nothing else."""
OVERWRITTEN = ("rbd", "cephfs")
"""Applications that write into objects, which an erasure code has to be told of."""
NOTED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T")
"""How a line of a client's log begins."""
Json = dict[str, Any]


@dataclass
class Live:
    """What the cluster has."""

    fsid: str
    has_objects: bool
    options: dict[tuple[str, str], str]
    pools: dict[str, Json]
    profiles: dict[str, dict[str, str]]
    rules: dict[str, Json]
    nodes: dict[int, Json]
    users: dict[str, dict[str, str]]
    objects: dict[str, int] = field(default_factory=dict)
    """How many objects each pool has."""
    namespaces: set[tuple[str, str]] = field(default_factory=set)
    filesystems: dict[str, Json] = field(default_factory=dict)
    """By name: `metadata` and `pools`, names of pools; `max_mds`; `serves`, whether a metadata server does."""
    has_several: bool = True
    versions: int = 1
    """How many versions daemons have."""
    release: str = ""
    """The oldest that OSDs may have."""
    folders: dict[tuple[str, str], Json] = field(default_factory=dict)
    groups: dict[tuple[str, str], Json] = field(default_factory=dict)
    """Groups of subvolumes by file system and name, those that are there: `namespace`, `has_volumes` and `why`, as of folders."""
    stores: dict[str, Json] = field(default_factory=dict)
    """By zone, as `read_store` tells of it."""
    recorded: dict[str, list[str]] = field(default_factory=dict)
    coming: list[str] = field(default_factory=list)
    balancer: str = "upmap"
    troubles: set[str] = field(default_factory=set)
    addresses: dict[str, list[str]] = field(default_factory=dict)
    narrower: dict[str, dict[str, str]] = field(default_factory=dict)
    """Options by name: for whom each is set, such as osd/host:storage-001, and to what."""

    def __post_init__(self) -> None:
        self.parents = {child: node for node in self.nodes.values() for child in node.get("children", ())}
        self.named = {(node["type"], node["name"]): node for node in self.nodes.values()}

    def find(self, kind: str, name: str) -> Json | None:
        """Return a bucket."""
        return self.named.get((kind, name))

    def locate(self, number: int) -> dict[str, str]:
        """Return the buckets that a node is in, by their types."""
        place = {}
        while number in self.parents:
            node = self.parents[number]
            place[node["type"]] = node["name"]
            number = node["id"]
        return place

    @property
    def has_osds(self) -> bool:
        """Return whether there is an OSD, running or not."""
        return any(node["type"] == "osd" for node in self.nodes.values())

    def serves(self, files: str) -> bool:
        """Return whether a file system is there and a metadata server serves it."""
        return files in self.filesystems and bool(self.filesystems[files]["serves"])

    def hides(self, files: str) -> bool:
        """Return whether a file system is there and nobody serves it now, so that nothing is known of what is in it."""
        return files in self.filesystems and not self.filesystems[files]["serves"]

    def list_domains(self, kind: str, drive_class: str, moves: dict[str, dict[str, str]], is_weighed: bool = True) -> set[str]:
        """Return the failure domains in which OSDs of a class run and take data, once hosts are moved to these places.

        One without a weight takes none: OSDs of hosts that role ceph_expand has come begin so.
        """
        serving = [
            node["id"]
            for node in self.nodes.values()
            if node["type"] == "osd" and node.get("status") == "up" and node.get("reweight", 0) > 0
            if node.get("device_class") == drive_class and (node.get("crush_weight", 0) > 0 or not is_weighed)
        ]
        places = [place | moves.get(place.get("host", ""), {}) for place in map(self.locate, serving)]
        return {place[kind] for place in places if place.get("root") == ROOT and kind in place}

    @property
    def classes(self) -> set[str]:
        """Return the classes that OSDs are of."""
        return {str(node.get("device_class", "")) for node in self.nodes.values() if node["type"] == "osd"}


@dataclass
class Step:
    """What is done, in words, and the command that does it; without words where the step before it says so already."""

    text: str
    words: list[str]
    program: str = "ceph"


def main(verb: str, given: Json) -> None:
    """Print what was done, or in `check` what would be."""
    wanted = {"filesystems": [], "folders": [], "groups": [], "object_stores": [], **given["wanted"]}
    live = read_live(wanted)
    may_move = bool(given["move"]) or not live.has_objects
    # Without OSDs pools have no place yet.
    now = wanted if live.has_osds and given["pools"] else leave_data(wanted)
    waiting = [pool for pool in now["pools"] if is_waiting(pool, now, live, may_move, verb == "check")]
    now = hold_back(now, {pool["name"] for pool in waiting})
    if now["object_stores"] and ZONES in live.pools:
        wait_serving(live, SETTLE_S)
    live.stores = {store["zone"]: read_store(store, live) for store in now["object_stores"]}
    faults = list(list_faults(now, live, may_move))
    if faults:
        sys.exit("\n".join(faults))
    steps = list(list_steps(now, live, may_move))
    if verb == "apply":
        keep_record(wanted, live)
        do_all(steps, float(given["wait_s"]))
    about = {
        "changes": [step.text for step in steps if step.text],
        "left": [*map(word_waiting, waiting), *list_left(now, live, may_move)],
        "stale": list(list_stale(wanted, live)),
    }
    sys.stdout.write(json.dumps(about) + "\n")


def leave_data(wanted: Json) -> Json:
    """Return what is wanted without what needs OSDs, and what gateways are told before it is known whether that may be."""
    users = [user for user in wanted["users"] if not is_late(user)]
    options = [option for option in wanted["options"] if not option["who"].startswith(GATEWAYS)]
    nothing: Json = {"pools": [], "namespaces": [], "filesystems": [], "folders": [], "groups": [], "object_stores": []}
    return {**wanted, **nothing, "users": users, "options": options}


def is_waiting(pool: Json, wanted: Json, live: Live, may_move: bool, is_check: bool) -> bool:
    """Return whether a new pool lacks OSDs that come: they have no weight yet, or this is a dry run, which made none."""
    kind, drive_class, size = pool["failure_domain"], pool["device_class"], pool["size"]
    moves = dict(misplaced(wanted, live)) if may_move else {}
    if pool["name"] in live.pools or len(live.list_domains(kind, drive_class, moves)) >= size:
        return False
    there = live.list_domains(kind, drive_class, moves, is_weighed=not live.coming)
    if len(there) >= size:
        return True
    places = {host: {"host": host, **wanted["hosts"][host]} for host in list_absent(drive_class, wanted, live)}
    return is_check and len(there | {place[kind] for place in places.values() if kind in place}) >= size


def list_absent(drive_class: str, wanted: Json, live: Live) -> list[str]:
    """Return the hosts that have OSDs of a class in the plan, and none yet."""
    planned = [host for group in wanted.get("osds", ()) if group["device_class"] == drive_class for host in group["hosts"]]
    has = {
        live.locate(node["id"]).get("host")
        for node in live.nodes.values()
        if node["type"] == "osd" and node.get("device_class") == drive_class
    }
    return [host for host in planned if host not in has]


def hold_back(wanted: Json, pools: set[str]) -> Json:
    """Return what is wanted without these pools, and without what lies in them."""
    if not pools:
        return wanted
    files = {each["name"] for each in wanted["filesystems"] if pools & {each["metadata"], *each["pools"]}}
    stores = [each for each in wanted["object_stores"] if not is_stored_in(each, pools)]
    return {
        **wanted,
        "pools": [each for each in wanted["pools"] if each["name"] not in pools],
        "namespaces": [each for each in wanted["namespaces"] if each["pool"] not in pools],
        "filesystems": [each for each in wanted["filesystems"] if each["name"] not in files],
        "folders": [each for each in wanted["folders"] if each["filesystem"] not in files],
        "groups": [each for each in wanted["groups"] if each["filesystem"] not in files],
        "object_stores": stores,
        "users": [each for each in wanted["users"] if not files & {*each.get("folders", ()), *each.get("groups", ())}],
        "options": [each for each in wanted["options"] if stores or not each["who"].startswith(GATEWAYS)],
    }


def is_stored_in(store: Json, pools: set[str]) -> bool:
    """Return whether an object store has something in one of these pools."""
    return store["pool"] in pools or any(name == ZONES or name.startswith(f"{store['zone']}.rgw.") for name in pools)


def word_waiting(pool: Json) -> str:
    """Return why a pool is not made yet."""
    return (
        f"pool {pool['name']} waits, with what lies in it, for OSDs of class {pool['device_class']} with a weight in "
        f"{pool['size']} {pool['failure_domain']}s: run playbooks/ceph.yml once they are there"
    )


def do_all(steps: Iterable[Step], wait_s: float) -> None:
    """Do the steps. What lies in pools is written once the placement groups of all new ones are active, and not before."""
    new: list[str] = []
    for step in steps:
        if step.words[0] != "osd":
            if step.words[:2] == ["pool", "init"]:
                new.append(step.words[2])
            wait_active(new, wait_s)
            new.clear()
        if step.words[:2] == ["fs", "subvolumegroup"]:
            wait_served(step.words[3], wait_s)
        run(step.program, *map(fill_in, step.words))
        if step.words[:3] == ["osd", "pool", "create"]:
            new.append(step.words[3])
    wait_active(new, wait_s)


def read_live(wanted: Json) -> Live:
    """Return what the cluster has of what is wanted, and beside it."""
    questions = (
        *("osd dump", "osd tree", "df", "config dump", "osd crush rule dump", "auth ls", "balancer status", "health"),
        *("fs dump", "versions"),
    )
    with ThreadPoolExecutor() as asking:  # most of a question's time goes into starting the program
        osds, tree, use, options, rules, users, balancer, health, files, versions = asking.map(
            lambda each: ask(*each.split()), questions
        )
    pools = {pool["pool_name"]: pool for pool in osds["pools"]}
    live = Live(
        fsid=osds["fsid"],
        has_objects=any(each["stats"]["objects"] for each in use["pools"] if each["name"] not in MANAGERS),
        objects={each["name"]: each["stats"]["objects"] for each in use["pools"]},
        options={(each["section"], each["name"]): each["value"] for each in options if not each.get("mask")},
        pools=pools,
        profiles=osds["erasure_code_profiles"],
        rules={rule["rule_name"]: rule for rule in rules},
        nodes={node["id"]: node for node in [*tree["nodes"], *tree.get("stray", ())]},
        users={each["entity"]: each["caps"] for each in users["auth_dump"]},
        balancer=balancer["mode"] if balancer["active"] else "off",
        troubles=set(health["checks"]),
        addresses={
            "public_network": [osd["public_addr"] for osd in osds["osds"] if osd["up"]],
            "cluster_network": [osd["cluster_addr"] for osd in osds["osds"] if osd["up"]],
        },
    )
    for each in options:
        who = f"{each['section']}/{each['mask']}" if each.get("mask") else each["section"]
        live.narrower.setdefault(each["name"], {})[who] = each["value"]
    spaces = {each["pool"] for each in wanted["namespaces"]} & set(pools)
    for pool in sorted(spaces):
        listed = json.loads(run("rbd", "namespace", "ls", "--pool", pool, "--format", "json"))
        live.namespaces |= {(pool, each["name"]) for each in listed}
    live.recorded, live.coming = read_kept(RECORD), read_kept(COMING).get("hosts", [])
    names = {pool["pool"]: name for name, pool in pools.items()}
    live.filesystems = {each["mdsmap"]["fs_name"]: read_files(each["mdsmap"], names) for each in files["filesystems"]}
    live.versions, live.release = len(versions["overall"]), osds.get("require_osd_release", "")
    live.has_several = files.get("feature_flags", {}).get("enable_multiple", True)
    folders = {(each["filesystem"], each["name"]) for each in wanted["folders"]}
    folders |= {(files, name) for files, name in map(str.split, live.recorded.get("folders", ()))}
    asked = sorted(each for each in folders if live.serves(each[0]))
    with ThreadPoolExecutor() as asking:
        found = asking.map(lambda each: (each, read_folder(*each)), asked)
        live.folders = {each: info for each, info in found if info is not None}
    groups = {(each["filesystem"], each["name"]) for each in wanted["groups"]}
    groups |= {(files, name) for files, name in map(str.split, live.recorded.get("groups", ()))}
    for each in sorted(each for each in groups if live.serves(each[0])):
        about = read_group(*each)
        if about is not None:
            live.groups[each] = about
    return live


def read_kept(key: str) -> Json:
    """Return what is kept in the monitors' store; empty where nothing is."""
    code, out, err = call("ceph", "config-key", "get", key)
    if code not in {0, ABSENT}:
        sys.exit(f"ceph config-key get: {shorten(err) or f'ended with {code}'}")
    kept: Json = json.loads(out) if code == 0 else {}
    return kept


def read_store(store: Json, live: Live) -> Json:
    """Return what is told of an object store: `realm`, `zonegroup`, `zone` and `period`, each None where it is not there.

    `beside` are zones that are there while no realm is. `users` tells of those that are planned, or were once, by their ids and
    without their keys. `why` says why nothing can be said.
    """
    found: Json = {"realm": None, "zonegroup": None, "zone": None, "period": None, "beside": [], "users": {}, "why": ""}
    if ZONES not in live.pools:
        return found
    if not is_serving(live):  # who asks may wait for ever
        return {**found, "why": "some placement groups do not serve: see ceph health detail"}
    where, realms = name_store(store), ask_admin("realm", "list") or {"realms": []}
    for what in ("realm", "zonegroup", "zone", "period"):
        found[what] = ask_admin(what, "get", *where)
    if not realms["realms"]:
        found["beside"] = (ask_admin("zone", "list") or {"zones": []})["zones"]
    if is_in_force(found) and all(f"{store['zone']}.rgw.{what}" in live.pools for what in OPENED):
        known = {user["uid"] for user in store["users"]} | recorded_users(store["zone"], live)
        asked = sorted(known & set(ask_admin("user", "list", *where) or ()))
        with ThreadPoolExecutor() as asking:
            told = asking.map(lambda uid: (uid, ask_admin("user", "info", f"--uid={uid}", *where)), asked)
            found["users"] = {uid: read_user(about) for uid, about in told if about is not None}
    return found


def read_user(about: Json) -> Json:
    """Return what a user may store, 0 without a quota of bytes, and whether it is suspended."""
    quota = about["user_quota"]
    return {"bytes": max(0, quota["max_size"]) if quota["enabled"] else 0, "is_suspended": bool(about["suspended"])}


def recorded_users(zone: str, live: Live) -> set[str]:
    """Return the ids of users of an object store that were planned once."""
    return {uid for name, uid in map(str.split, live.recorded.get("object_users", ())) if name == zone}


def name_store(store: Json) -> list[str]:
    """Return how radosgw-admin is told which object store is meant."""
    return [f"--rgw-realm={store['realm']}", f"--rgw-zonegroup={store['zonegroup']}", f"--rgw-zone={store['zone']}"]


def word_admin(verb: str, uid: str, store: Json) -> str:
    """Return a command about a user, for a shell."""
    return f"{ADMIN} user {verb} --uid='{uid}' {' '.join(name_store(store))}"


def is_in_force(found: Json) -> bool:
    """Return whether the period that gateways go by has the zone."""
    groups = found["period"]["period_map"]["zonegroups"] if found["period"] else []
    zones = [(group["id"], zone["id"]) for group in groups for zone in group["zones"]]
    return bool(found["zonegroup"] and found["zone"]) and (found["zonegroup"]["id"], found["zone"]["id"]) in zones


def find_data(zone: Json | None) -> str:
    """Return the pool that a zone lays what is in objects into; empty where there is none."""
    places = {place["key"]: place["val"] for place in (zone or {}).get("placement_pools", ())}
    return str(places[PLACEMENT]["storage_classes"]["STANDARD"]["data_pool"]) if PLACEMENT in places else ""


def read_files(about: Json, names: dict[int, str]) -> Json:
    """Return what is told of a file system.

    Args:
        about: its map of metadata servers.
        names: of pools, by their numbers.
    """
    return {
        "metadata": names.get(about["metadata_pool"], ""),
        "pools": [names.get(number, "") for number in about["data_pools"]],
        "max_mds": about["max_mds"],
        "serves": is_served(about),
    }


def is_served(about: Json) -> bool:
    """Return whether metadata servers serve all ranks of a file system: else what is asked of it may wait for ever."""
    states = {each["rank"]: each["state"] for each in about["info"].values() if not each.get("laggy_since")}
    whole = all(states.get(rank) in {"up:active", "up:stopping"} for rank in about["in"])
    return bool(about["in"]) and whole and not about["failed"] and not about["damaged"]


def read_folder(files: str, name: str) -> Json | None:
    """Return what is told of a folder: a subvolume, in a group of its own name; None where there is none.

    `why` says why nothing can be said. One of which nothing but snapshots is kept is made anew.
    """
    code, out, err = call("ceph", "fs", "subvolume", "info", files, name, f"--group_name={name}", "--format=json")
    if code not in {0, ABSENT}:
        return {"why": shorten(err) or f"ceph fs subvolume info ended with {code}"}
    info = json.loads(out) if code == 0 else {"state": KEPT}
    if info.get("state") == KEPT:
        return None
    spaces = {f"fsvolumens_{name}", f"fsvolumens__{name}_{name}"}
    if not re.fullmatch(rf"/volumes/{re.escape(name)}/{re.escape(name)}/[0-9a-f-]+", info["path"]):
        return {"why": f"its path is {info['path']}"}
    return (
        {**info, "why": ""} if info["pool_namespace"] in {"", *spaces} else {"why": f"its namespace is {info['pool_namespace']}"}
    )


def read_group(files: str, name: str) -> Json | None:
    """Return what is told of a group of subvolumes; None where there is none. `why` says why nothing can be said."""
    code, out, err = call(PYTHON, "-c", GROUPS, files, f"/volumes/{name}", "")
    if code:
        return {"why": shorten(err) or f"{PYTHON} ended with {code}"}
    about: Json | None = json.loads(out)
    return about and {**about, "why": ""}


def list_faults(wanted: Json, live: Live, may_move: bool) -> Iterator[str]:
    """Yield what cannot be, before anything is changed."""
    if live.fsid != wanted["fsid"]:
        fix = "run it on the monitors of the plan's cluster, or set ceph.fsid to this id if the plan is meant for it"
        yield tell("fsid", live.fsid, f"{wanted['fsid']}, the planned cluster", fix)
        return
    moves = dict(misplaced(wanted, live)) if may_move else {}
    for pool in wanted["pools"]:
        name, found = pool["name"], live.pools.get(pool["name"])
        rule = live.rules.get(name)
        if rule is not None and not is_rule(rule, pool):
            fix = f"ceph osd crush rule rename {name} {name}-old, and run again, which makes it anew"
            yield tell(f"CRUSH rule {name}", word_rule(rule), word_wanted_rule(pool), fix)
        if found is None and "k" in pool and not has_code(live.profiles.get(name, make_profile(pool)), pool):
            is_now = live.profiles[name]
            fix = "an erasure code never changes: give the pool another name"
            yield tell(f"erasure code profile {name}", f"{is_now['k']}+{is_now['m']}", f"{pool['k']}+{pool['m']}", fix)
        if found is not None:
            yield from judge_pool(pool, found, live.profiles)
        kind, size = pool["failure_domain"], pool["size"]
        grows = found is None or (may_move and (size > found["size"] or not has_rule(pool, live)))
        if grows and (domains := len(live.list_domains(kind, pool["device_class"], moves))) < size:
            found_words = (
                f"{domains} {kind}{'' if domains == 1 else 's'} with OSDs of class {pool['device_class']} that take data"
            )
            fix = "see ceph osd tree: make the OSDs, start them, or have hosts stand where they are planned"
            if len(live.list_domains(kind, pool["device_class"], moves, is_weighed=False)) >= size:
                fix = "see ceph osd tree: OSDs without a weight take none; ceph osd crush reweight gives it"
            elif absent := list_absent(pool["device_class"], wanted, live):
                fix = f"have OSDs made on {shorten_list(absent)}, where there is data on the word for them; or see ceph osd tree"
            yield tell(f"pool {name}", found_words, f"{size} for {word_copies(pool)}", fix)
        if size == 1 and (found is None or found["size"] != 1):
            fix = "plan three replicas; for data that may be lost, set it by hand with mon_allow_pool_size_one"
            yield tell(f"pool {name}", "one copy", "two or more", fix)
    yield from judge_files(wanted, live)
    yield from judge_groups(wanted, live)
    for store in wanted["object_stores"]:
        yield from judge_store(store, live)
    for user in wanted["users"]:
        name, caps = user["name"], live.users.get(user["name"])
        if caps not in (None, complete_caps(user, wanted, live)) and name not in live.recorded.get("users", ()):
            fix = f"rename the tenant, or ceph auth rm {name} if nobody uses it"
            yield tell(f"user {name}", "is there, with other rights, and is not of the plan", "no such user yet", fix)


def judge_files(wanted: Json, live: Live) -> Iterator[str]:
    """Yield why file systems and folders cannot become what is planned."""
    owners = {pool: name for name, files in live.filesystems.items() for pool in (files["metadata"], *files["pools"])}
    for files in wanted["filesystems"]:
        name, found = files["name"], live.filesystems.get(files["name"])
        wants = (files["metadata"], files["pools"][0])
        if found is not None and (found["metadata"], *found["pools"][:1]) != wants:
            has = f"metadata in {found['metadata'] or 'no pool'}, files in {', '.join(found['pools'][:1]) or 'no pool'}"
            fix = "these never change: give the file system another name in the plan, and copy what it holds"
            yield tell(f"file system {name}", has, f"metadata in {wants[0]}, files in {wants[1]}", fix)
        for pool in (files["metadata"], *files["pools"]):
            if owners.get(pool, name) != name:
                yield tell(f"pool {pool}", f"in file system {owners[pool]}", f"for {name} alone", "plan another pool")
            elif pool not in owners and live.objects.get(pool) and (found is None):
                has = f"{live.objects[pool]} objects, and no file system has it"
                fix = f"plan another pool, or, if that is of no use any more, remove it: ceph osd pool rm {pool}"
                yield tell(f"pool {pool}", has, "an empty one for a new file system", fix)
    for folder in wanted["folders"]:
        info = live.folders.get((folder["filesystem"], folder["name"]))
        what = f"folder {folder['name']} of file system {folder['filesystem']}"
        if info is None or info["why"]:
            continue
        if not info["pool_namespace"]:
            fix = "move it away: ceph fs subvolume create it anew with --namespace-isolated, and copy"
            yield tell(what, "in no namespace of its own, so keys of others open what is in its files", "one", fix)
        elif 0 < folder["bytes"] < info["bytes_used"] and info["bytes_quota"] != folder["bytes"]:
            has = f"{word_bytes(info['bytes_used'])} in it"
            yield tell(what, has, f"no more than the planned quota of {word_bytes(folder['bytes'])}", "plan a larger one")


def judge_groups(wanted: Json, live: Live) -> Iterator[str]:
    """Yield why groups of subvolumes cannot become what is planned."""
    for group in wanted["groups"]:
        found = live.groups.get((group["filesystem"], group["name"]))
        if found and not found["why"] and found["namespace"] != group["namespace"] and found["has_volumes"]:
            what = f"group {group['name']} of file system {group['filesystem']}"
            has = f"volumes in namespace {found['namespace']}" if found["namespace"] else "volumes in no namespace of their own"
            fix = (
                "those who mount volumes would not open them: move them to another group, or remove them by ceph fs subvolume rm"
            )
            yield tell(what, has, f"namespace {group['namespace']}, or no volumes", fix)


def judge_store(store: Json, live: Live) -> Iterator[str]:
    """Yield why an object store cannot become what is planned."""
    found = live.stores[store["zone"]]
    realm, group, zone = found["realm"], found["zonegroup"], found["zone"]
    if found["beside"]:
        # A new realm is the default one at once, and at their next start they would take it for theirs.
        fix = "have them join a realm first: Ceph's documentation, multi-site, migrating a single-site deployment; zones that "
        fix += "nobody uses, such as what radosgw-admin makes when it is told of none, go by zonegroup delete and zone delete"
        yield tell("zones without a realm", shorten_list(found["beside"]), "none, or gateways lose sight of their buckets", fix)
        return
    number = {what: found[what]["id"] if found[what] else None for what in ("realm", "zonegroup", "zone")}
    if realm and found["period"] and found["period"]["master_zonegroup"] not in {"", number["zonegroup"]}:
        fix = "plan ceph.object.zonegroup as it: see radosgw-admin period get; realms of several are not planned"
        yield tell(f"realm {store['realm']}", "another zone group is its master", store["zonegroup"], fix)
    if group and group["realm_id"] != number["realm"]:
        fix = "plan the realm that it is in, or another zone group"
        yield tell(f"zone group {store['zonegroup']}", "in no realm, or another", f"in realm {store['realm']}", fix)
    elif group and group["master_zone"] not in {"", number["zone"]}:
        master = next((each["name"] for each in group["zones"] if each["id"] == group["master_zone"]), "another")
        fix = f"plan ceph.object.zone: {master}; zone groups of several are not planned"
        yield tell(f"zone group {store['zonegroup']}", f"zone {master} is its master", store["zone"], fix)
    if zone and number["zone"] not in {each["id"] for each in (group or {}).get("zones", ())}:
        fix = f"plan another zone; or, if a run was cut off that made it, radosgw-admin zone delete --rgw-zone={store['zone']}"
        yield tell(f"zone {store['zone']}", "in no zone group, or another", f"in zone group {store['zonegroup']}", fix)
    elif zone and find_data(zone) != store["pool"] and find_data(zone) in live.pools:
        fix = f"buckets look for their objects there: plan ceph.object.pool: {find_data(zone)}, or another zone"
        yield tell(f"zone {store['zone']}", f"objects in pool {find_data(zone)}", store["pool"], fix)
    elif zone and (others := list_others(zone, store["zone"])):
        fix = "plan another zone: pools of gateways are called by it"
        yield tell(f"zone {store['zone']}", f"pools {shorten_list(others)}", f"pools {store['zone']}.rgw.…", fix)
    for user in store["users"]:
        has = found["users"].get(user["uid"])
        if has and has["bytes"] != count_bytes(user) and user["uid"] not in recorded_users(store["zone"], live):
            quota = f"a quota of {word_bytes(has['bytes'])}" if has["bytes"] else "no quota"
            fix = f"plan that, or rename the tenant; or, if nobody uses it, {word_admin('rm', user['uid'], store)}"
            yield tell(f"user {user['name']} of object store {store['zone']}", f"is there, with {quota}", word_quota(user), fix)


def list_others(zone: Json, name: str) -> list[str]:
    """Return pools of a zone that are not called by it, but for what is in objects."""
    places = [place["val"]["index_pool"] for place in zone.get("placement_pools", ()) if place["key"] == PLACEMENT]
    named = [
        str(zone[key]).partition(":")[0] for key in ("domain_root", "control_pool", "log_pool", "user_uid_pool") if key in zone
    ]
    return sorted({pool for pool in (*named, *places) if not pool.startswith(f"{name}.rgw.")})


def count_bytes(user: Json) -> int:
    """Return the planned quota of a user as RGW has it, in whole KiB. Source: Ceph, rgw_admin.cc, set_quota_info."""
    return -(-int(user["bytes"]) // 1024) * 1024


def word_quota(user: Json) -> str:
    """Return the planned quota of a user in words."""
    return f"a quota of {word_bytes(user['bytes'])}" if user["bytes"] else "no quota"


def judge_pool(pool: Json, found: Json, profiles: dict[str, dict[str, str]]) -> Iterator[str]:
    """Yield why a pool cannot become what is planned."""
    name, is_coded = pool["name"], found["type"] == ERASURE
    code = profiles.get(found.get("erasure_code_profile", ""), {})
    if is_coded != ("k" in pool) or (is_coded and not has_code(code, pool)):
        is_now = f"erasure code {code.get('k')}+{code.get('m')}" if is_coded else f"{found['size']} replicas"
        yield tell(f"pool {name}", is_now, word_copies(pool), "plan another pool, and copy what it holds")
    elif pool["size"] < found["min_size"]:
        fix = f"lower min_size first, if you mean it: ceph osd pool set {name} min_size {pool['min_size']}"
        yield tell(f"pool {name}", f"min_size {found['min_size']}", f"no more than the planned size {pool['size']}", fix)
    others = sorted(set(found.get("application_metadata", {})) - {pool["application"]})
    if others:
        fix = f"plan application {others[0]}, or ceph osd pool application disable {name} {others[0]} --yes-i-really-mean-it"
        yield tell(f"pool {name}", f"application {', '.join(others)}", pool["application"], fix)


def list_steps(wanted: Json, live: Live, may_move: bool) -> Iterator[Step]:
    """Yield what brings the cluster to what is wanted, in order; nothing where it is that already."""
    for option in wanted["options"]:
        who, name, value = option["who"], option["name"], option["value"]
        if live.options.get((who, name)) != value and not hold(option, live):
            yield Step(f"{who}: {name} is {value}", ["config", "set", who, name, value])
    yield from list_places(wanted, live)
    if may_move:
        yield from list_moves(wanted, live)
    for pool in wanted["pools"]:
        yield from list_pool_steps(pool, live, may_move)
    yield from list_user_steps([user for user in wanted["users"] if not is_late(user)], wanted, live)
    yield from list_namespace_steps(wanted, live)
    yield from list_files_steps(wanted, live)
    yield from list_folder_steps(wanted, live)
    yield from list_group_steps(wanted, live)
    yield from list_user_steps([user for user in wanted["users"] if is_late(user)], wanted, live)
    for store in wanted["object_stores"]:
        yield from list_store_steps(store, live.stores[store["zone"]])


def is_late(user: Json) -> bool:
    """Return whether a user is made after folders that it has rights to, or groups that it could fill before they are ready."""
    return bool(user.get("folders") or user.get("groups"))


def list_user_steps(users: Iterable[Json], wanted: Json, live: Live) -> Iterator[Step]:
    """Yield what brings users to the rights that are planned."""
    for user in users:
        entity, caps = user["name"], complete_caps(user, wanted, live)
        if any(is_unseen(files, entity.partition(".")[2], live) for files in user.get("folders", ())):
            continue
        if entity not in live.users and any(live.hides(files) for files in user.get("groups", ())):
            continue
        words = [word for service, text in sorted(caps.items()) for word in (service, text)]
        if entity not in live.users:
            yield Step(f"user {entity} is made", ["auth", "get-or-create", entity, *words])
        elif live.users[entity] != caps:
            yield Step(f"user {entity} has the rights that are planned", ["auth", "caps", entity, *words])


def list_namespace_steps(wanted: Json, live: Live) -> Iterator[Step]:
    """Yield how namespaces for block devices are made."""
    ready = {pool["name"] for pool in wanted["pools"]} - set(live.pools)  # made before, and laid out for images
    for each in wanted["namespaces"]:
        pool, space = each["pool"], each["namespace"]
        if (pool, space) not in live.namespaces:
            if pool not in ready:
                yield Step("", ["pool", "init", pool], "rbd")
                ready.add(pool)
            text = f"namespace {space} of pool {pool} is made"
            yield Step(text, ["namespace", "create", "--pool", pool, "--namespace", space], "rbd")


def list_places(wanted: Json, live: Live) -> Iterator[Step]:
    """Yield how hosts without OSDs get to where they are planned, which moves no data: their OSDs come to the right place.

    A rack that is there is left where it is. Source: Ceph, CrushWrapper::insert_item.
    """
    free = {host: place for host, place in wanted["hosts"].items() if is_free(host, place, live)}
    text = f"hosts have their places for OSDs: {shorten_list(free)}"
    for host, place in free.items():
        how = ["add-bucket", host, "host"] if live.find("host", host) is None else ["move", host]
        yield Step(text, ["osd", "crush", *how, *(f"{kind}={name}" for kind, name in place.items())])
        text = ""


def is_free(host: str, place: dict[str, str], live: Live) -> bool:
    """Return whether a host without OSDs is not in the rack that it is planned in, or not there at all.

    One under another root is not: whoever put it there keeps its OSDs from taking data.
    """
    node = live.find("host", host)
    if node is None or node["children"]:
        return node is None
    here, (kind, name) = live.locate(node["id"]), list(place.items())[-1]
    return here.get("root", ROOT) == ROOT and here.get(kind) != name


def list_moves(wanted: Json, live: Live) -> Iterator[Step]:
    """Yield how hosts get to where they are planned, with the racks and rows that they need."""
    done: set[tuple[str, str]] = set()
    for host, place in misplaced(wanted, live):
        (upper, at), *below = [*place.items(), ("host", host)]
        for kind, name in below:
            above, upper, at = (upper, at), kind, name
            if (kind, name) in done:
                continue
            done.add((kind, name))
            node = live.find(kind, name)
            if node is None:
                yield Step(f"{kind} {name} is made", ["osd", "crush", "add-bucket", name, kind])
            if node is None or live.locate(node["id"]).get(above[0]) != above[1]:
                yield Step(f"{kind} {name} is in {' '.join(above)}", ["osd", "crush", "move", name, "=".join(above)])


def misplaced(wanted: Json, live: Live) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the hosts that are elsewhere in CRUSH than planned, each with its place from the root down; free ones are not."""
    for host, place in wanted["hosts"].items():
        node = live.find("host", host)
        if node is None or is_free(host, place, live):
            continue
        if not live.locate(node["id"]).items() >= place.items():  # it may be in a datacenter too
            yield host, place


def list_pool_steps(pool: Json, live: Live, may_move: bool) -> Iterator[Step]:
    """Yield what brings a pool to what is planned, with its rule and its erasure code."""
    name, found = pool["name"], live.pools.get(pool["name"])
    if found is not None:
        yield from (step for step in list_settings(pool, found) if may_move or not moves_data(step, pool, found))
        if has_rule(pool, live) or not may_move:
            return
    code = name_profile(pool, live) if "k" in pool else ""
    if code and code not in live.profiles:
        words = [f"{key}={value}" for key, value in make_profile(pool).items()]
        yield Step(f"erasure code profile {code} is made", ["osd", "erasure-code-profile", "set", code, *words])
    if name not in live.rules:
        how = ["create-erasure", name, code]
        if not code:
            how = ["create-replicated", name, ROOT, pool["failure_domain"], pool["device_class"]]
        yield Step(f"CRUSH rule {name} is made", ["osd", "crush", "rule", *how])
    if found is not None:
        yield Step(f"pool {name} uses CRUSH rule {name}", ["osd", "pool", "set", name, "crush_rule", name])
        return
    groups = str(pool["pg_num"])
    how = ["erasure", code, name] if code else ["replicated", name, f"--size={pool['size']}"]
    text = f"{word_copies(pool)} over {pool['failure_domain']}s, {groups} placement groups, for {pool['application']}"
    words = ["osd", "pool", "create", name, groups, groups, *how, "--autoscale-mode=off"]
    words += ["--yes-i-really-mean-it"] if name.startswith(".") and live.release not in UNDOTTED else []
    yield Step(f"pool {name} is made: {text}", words)
    made = {"size": pool["size"], "pg_num_target": pool["pg_num"], "pg_autoscale_mode": "off"}
    yield from (replace(step, text="") for step in list_settings(pool, made))


def list_files_steps(wanted: Json, live: Live) -> Iterator[Step]:
    """Yield what brings file systems to what is planned."""
    several = live.has_several or len({*live.filesystems, *(files["name"] for files in wanted["filesystems"])}) == 1
    for files in wanted["filesystems"]:
        name, found = files["name"], live.filesystems.get(files["name"])
        if found is None:
            if not several:
                yield Step("several file systems are let", ["fs", "flag", "set", "enable_multiple", "true"])
                several = True
            text = f"file system {name} is made: metadata in pool {files['metadata']}, files in {files['pools'][0]}"
            yield Step(text, ["fs", "new", name, files["metadata"], files["pools"][0]])
            found = {"pools": files["pools"][:1], "max_mds": 1}
        for pool in files["pools"]:
            if pool not in found["pools"]:
                yield Step(f"file system {name} has pool {pool} too", ["fs", "add_data_pool", name, pool])
        if found["max_mds"] != files["active"] and not keep_ranks(files, live):
            yield Step(f"file system {name}: max_mds is {files['active']}", ["fs", "set", name, "max_mds", str(files["active"])])


def keep_ranks(files: Json, live: Live) -> str:
    """Return why the number of a file system's metadata servers that serve stays as it is; empty where it may change."""
    found = live.filesystems.get(files["name"])
    if found is None:
        return ""
    if found["max_mds"] == 0:
        return "somebody took it down: ceph fs set NAME down false"
    if live.versions > 1:
        return "an upgrade is on its way, before which they are made one"
    return "" if found["serves"] else "no metadata server serves it"


def list_folder_steps(wanted: Json, live: Live) -> Iterator[Step]:
    """Yield how tenants get their folders, and these their quotas."""
    for folder in wanted["folders"]:
        files, name = folder["filesystem"], folder["name"]
        if is_unseen(files, name, live):
            continue
        info, group = live.folders.get((files, name)), f"--group_name={name}"
        quota = f"a quota of {word_bytes(folder['bytes'])}" if folder["bytes"] else "no quota"
        if info is None:
            yield Step("", ["fs", "subvolumegroup", "create", files, name])
            size = [f"--size={folder['bytes']}"] if folder["bytes"] else []
            how = [*size, group, f"--pool_layout={folder['pool']}", "--namespace-isolated"]
            text = f"folder {name} of file system {files} is made in pool {folder['pool']}, with {quota}"
            yield Step(text, ["fs", "subvolume", "create", files, name, *how])
        elif info["bytes_quota"] != (folder["bytes"] or UNLIMITED):
            words = ["fs", "subvolume", "resize", files, name, str(folder["bytes"] or "inf"), group]
            yield Step(f"folder {name} of file system {files} has {quota}", words)


def list_group_steps(wanted: Json, live: Live) -> Iterator[Step]:
    """Yield how groups of subvolumes are made, each in a namespace that its volumes take over, also those in other pools."""
    for group in wanted["groups"]:
        files, name, namespace = group["filesystem"], group["name"], group["namespace"]
        found = live.groups.get((files, name))
        if live.hides(files) or (found and (found["why"] or found["namespace"] == namespace)):
            continue
        if found is None:
            yield Step("", ["fs", "subvolumegroup", "create", files, name])
        text = f"group {name} of file system {files} {'has its namespace' if found else 'is made'}"
        yield Step(text, ["-c", GROUPS, files, f"/volumes/{name}", namespace], PYTHON)


def list_store_steps(store: Json, found: Json) -> Iterator[Step]:
    """Yield what brings an object store to what is planned."""
    if found["why"]:
        return
    where, zone = name_store(store), store["zone"]
    made = [what for what in ("realm", "zonegroup", "zone") if found[what] is None]
    if "realm" in made:
        yield Step(f"realm {store['realm']} is made", ["realm", "create", where[0]], ADMIN)
    if "zonegroup" in made:
        words = ["zonegroup", "create", *where[:2], "--master", "--default"]
        yield Step(f"zone group {store['zonegroup']} of realm {store['realm']} is made", words, ADMIN)
    text = f"zone {zone} is made, whose objects are in pool {store['pool']}"
    if "zone" in made:
        yield Step(text, ["zone", "create", *where, "--master", "--default"], ADMIN)
    is_laid = find_data(found["zone"]) == store["pool"]
    if not is_laid:
        words = ["zone", "placement", "modify", *where, f"--placement-id={PLACEMENT}", f"--data-pool={store['pool']}"]
        yield Step("" if "zone" in made else text, words, ADMIN)
    if not is_laid or not is_in_force(found):  # gateways look at zones anew with each period
        text = "" if made or not is_laid else f"zone {zone} is known to gateways"
        yield Step(text, ["period", "update", "--commit", *where], ADMIN)
    for user in store["users"]:
        name, uid, has = user["name"], f"--uid={user['uid']}", found["users"].get(user["uid"])
        whose, quota = [*where, uid], word_quota(user)
        if has is None:
            text = f"user {name} of object store {zone} is made, with {quota}"
            yield Step(text, ["user", "create", *whose, f"--display-name={name}"], ADMIN)
        text = f"user {name} of object store {zone} has {quota}" if has else ""
        if (has["bytes"] if has else 0) != count_bytes(user):
            limit = [f"--max-size={user['bytes']}"] if user["bytes"] else []
            verbs = ("set", "enable") if limit else ("disable",)
            for verb in verbs:
                yield Step(text, ["quota", verb, *whose, "--quota-scope=user", *(limit if verb == "set" else [])], ADMIN)
                text = ""


def is_unseen(files: str, name: str, live: Live) -> bool:
    """Return whether nothing is known of a folder, since nobody serves its file system now, or it cannot be read."""
    info = live.folders.get((files, name))
    return bool(info["why"]) if info else live.hides(files)


def complete_caps(user: Json, wanted: Json, live: Live) -> dict[str, str]:
    """Return a user's rights with those to its folders: path and namespace of each are known once it is made."""
    caps, name = user["caps"], user["name"].partition(".")[2]
    ways, rights = [], [caps["osd"]] if caps["osd"] else []
    pools = {(folder["filesystem"], folder["name"]): folder["pool"] for folder in wanted["folders"]}
    for files in user.get("folders", ()):
        found = live.folders.get((files, name))
        info = found if found and not found["why"] else {key: f"<{key} {files} {name}>" for key in UNKNOWN}
        ways.append(f"allow rw fsname={files} path={info['path']}")
        rights.append(f"allow rw pool={info.get('data_pool', pools[files, name])} namespace={info['pool_namespace']}")
    return {**caps, "osd": ", ".join(rights), **({"mds": ", ".join(ways)} if ways else {})}


def fill_in(word: str) -> str:
    """Return a word of a command with the paths and namespaces of folders that were made since it was planned."""

    def find(found: re.Match[str]) -> str:
        key, files, name = found.groups()
        info = read_folder(files, name)
        if info is None or info["why"] or not info[key]:
            why = (info["why"] or f"no {key}") if info else "is not there"
            sys.exit(tell(f"folder {name} of file system {files}", why, "what was made", "see ceph fs status, then run again"))
        return str(info[key])

    return UNKNOWN_WORD.sub(find, word)


def moves_data(step: Step, pool: Json, found: Json) -> bool:
    """Return whether a setting of a pool makes, drops or moves copies, or goes with one that does."""
    setting = step.words[4] if step.words[:3] == ["osd", "pool", "set"] else ""
    return setting in MOVING or (setting == "min_size" and "k" not in pool and found["size"] != pool["size"])


def list_settings(pool: Json, found: Json) -> Iterator[Step]:
    """Yield what a pool has to be told to be as planned."""
    name = pool["name"]
    if pool["application"] not in found.get("application_metadata", {}):
        text, application = f"pool {name} is for {pool['application']}", pool["application"]
        if has_images(pool):
            yield Step(text, ["pool", "init", name], "rbd")  # says so too, and lays what users of a namespace may not
        else:
            yield Step(text, ["osd", "pool", "application", "enable", name, application])
    # Where placement groups are planned nothing else deals them: Ceph's autoscaler passes over pools of one class of drives while
    # another pool takes drives of all classes. Source: Ceph, src/pybind/mgr/pg_autoscaler/module.py, overlapping roots.
    wanted = {"pg_autoscale_mode": "off", "size": pool["size"], "min_size": pool["min_size"], "pg_num": pool["pg_num"]}
    has = {**found, "pg_num": found.get("pg_num_target"), **({"size": pool["size"]} if "k" in pool else {})}
    for key, value in wanted.items():
        if has.get(key) != value:
            yield Step(f"pool {name}: {key} is {value}", ["osd", "pool", "set", name, key, str(value)])
    if "k" in pool and pool["application"] in OVERWRITTEN and "ec_overwrites" not in found.get("flags_names", ""):
        words = ["osd", "pool", "set", name, "allow_ec_overwrites", "true"]
        yield Step(f"pool {name}: what was written can be overwritten", words)


def list_left(wanted: Json, live: Live, may_move: bool) -> Iterator[str]:
    """Yield what is not as planned, and left so."""
    if not live.has_osds:
        yield "there is no OSD yet, and so no pool"
    yield from tell_spreading(wanted, live)
    if not may_move:
        for host, place in misplaced(wanted, live):
            here = live.locate(live.named["host", host]["id"])
            yield f"host {host} is in {word_place(here)}; planned: {word_place(place)}"
        for pool in wanted["pools"]:
            found = live.pools.get(pool["name"])
            if found is None:
                continue
            if not has_rule(pool, live):
                yield f"pool {pool['name']} uses another CRUSH rule; planned: {pool['name']}"
            yield from (f"planned: {step.text}" for step in list_settings(pool, found) if moves_data(step, pool, found))
    for files in wanted["filesystems"]:
        name, found = files["name"], live.filesystems.get(files["name"])
        if found is None:
            continue
        if not found["serves"]:
            yield f"file system {name}: not all of its ranks are served, so its folders were not looked at; see ceph fs status"
        if found["max_mds"] != files["active"] and (why := keep_ranks(files, live)):
            yield f"file system {name}: max_mds is {found['max_mds']}; planned: {files['active']}; {why.replace('NAME', name)}"
        if beside := sorted(set(found["pools"]) - set(files["pools"])):
            yield f"file system {name} has pools that the plan does not give it: {shorten_list(beside)}"
    for folder in wanted["folders"]:
        info = live.folders.get((folder["filesystem"], folder["name"]))
        what = f"folder {folder['name']} of file system {folder['filesystem']}"
        if info is not None and info["why"]:
            yield f"{what} cannot be read, and is left with its user as it is: {info['why']}"
        elif info is not None and info["data_pool"] != folder["pool"]:
            where = f"is in pool {info['data_pool']}; planned: {folder['pool']}"
            yield f"{what} {where}; files stay where they are: make another, and copy"
    for group in wanted["groups"]:
        files, name = group["filesystem"], group["name"]
        if why := live.groups.get((files, name), {}).get("why"):
            yield f"group {name} of file system {files} cannot be read, and is left as it is: {why}"
    for store in wanted["object_stores"]:
        found, what = live.stores[store["zone"]], f"object store {store['zone']}"
        if found["why"]:
            yield f"{what} was not looked at: {found['why']}"
        for user in store["users"]:
            if found["users"].get(user["uid"], {}).get("is_suspended"):
                yield f"user {user['name']} of {what} is suspended: {word_admin('enable', user['uid'], store)}"
    yield from (why for option in wanted["options"] if (why := hold(option, live)))
    planned = {(option["who"], option["name"]) for option in wanted["options"]}
    for option in wanted["options"]:
        who, name, value = option["who"], option["name"], option["value"]
        over = sorted(each for each, has in live.narrower.get(name, {}).items() if has != value and is_narrower(each, who))
        over = [each for each in over if (each, name) not in planned]
        if over:
            fix = f"ceph config rm {over[0]} {name}" + (", and the others" if len(over) > 1 else "")
            yield f"{name} is set for {shorten_list(over)}, which wins over the planned {value}: {fix}"
    hosts = {node["name"] for node in live.nodes.values() if node["type"] == "host" and node["children"]}
    absent = wanted["hosts"].keys() - hosts
    if absent and live.has_osds:
        yield f"hosts without an OSD yet: {shorten_list(absent)}"
    beside = hosts - wanted["hosts"].keys()
    if beside:
        yield f"hosts with OSDs that the plan does not have: {shorten_list(beside)}"
    if live.coming:
        names = shorten_list(live.coming)
        yield f"data comes to {names}: playbooks/ceph_expand.yml goes on, and the balancer is off until all has"
    elif live.balancer not in {"upmap", "upmap-read"}:
        said = "is off" if live.balancer == "off" else f"has mode {live.balancer}"
        yield f"the balancer {said}; the waterline is computed with mode upmap: ceph balancer mode upmap; ceph balancer on"


def tell_spreading(wanted: Json, live: Live) -> Iterator[str]:
    """Yield which pools will spread over drives of a class that comes, since their rules take all classes."""
    come = {group["device_class"] for group in wanted.get("osds", ())} - live.classes
    rules = {rule["rule_id"]: rule for rule in live.rules.values()}
    used = {name: rules.get(pool["crush_rule"], {"steps": ()}) for name, pool in live.pools.items() if live.objects.get(name)}
    loose = [name for name, rule in used.items() if name not in MANAGERS and any(map(takes_all, rule["steps"]))]
    if live.has_osds and come and loose:
        yield (
            f"pools that take drives of every class, and spread over {shorten_list(come)} once there are such: "
            f"{shorten_list(loose)}; a rule of one class holds them, and moves data too: ceph osd pool set {loose[0]} crush_rule"
        )


def takes_all(step: Json) -> bool:
    """Return whether a step of a CRUSH rule takes a root with drives of all classes."""
    return step["op"] == "take" and "~" not in step["item_name"]


def is_narrower(section: str, who: str) -> bool:
    """Return whether an option of a section, such as osd.3 or osd/host:storage-001, wins over that for `who`."""
    return section.startswith((f"{who}.", f"{who}/")) or (who == "global" and section.partition("/")[0] != who)


def list_stale(wanted: Json, live: Live) -> Iterator[str]:
    """Yield what was planned once, is there, and is not planned any more."""
    pools, users = ({each["name"] for each in wanted[kind]} for kind in ("pools", "users"))
    for name in live.recorded.get("pools", ()):
        if name in live.pools and name not in pools:
            yield f"pool {name}"
    for name in live.recorded.get("users", ()):
        if name in live.users and name not in users:
            yield f"user {name}, whose key still opens what it did: ceph auth rm {name}"
    planned = {files["name"] for files in wanted["filesystems"]}
    for name in live.recorded.get("filesystems", ()):
        if name in live.filesystems and name not in planned:
            yield f"file system {name}"
    folders = {(folder["filesystem"], folder["name"]) for folder in wanted["folders"]}
    for files, name in map(str.split, live.recorded.get("folders", ())):
        if (files, name) in live.folders and (files, name) not in folders:
            fix = f"ceph fs subvolume rm {files} {name} --group_name {name}"
            yield f"folder {name} of file system {files}, with what is in it: {fix}"
    groups = {(group["filesystem"], group["name"]) for group in wanted["groups"]}
    for files, name in map(str.split, live.recorded.get("groups", ())):
        if (files, name) in live.groups and (files, name) not in groups:
            fix = f"once it has none: ceph fs subvolumegroup rm {files} {name}"
            yield f"group {name} of file system {files}, with the volumes in it; {fix}"
    for store in wanted["object_stores"]:
        planned = {user["uid"] for user in store["users"]}
        for uid, user in live.stores.get(store["zone"], {"users": {}})["users"].items():
            what = f"user {uid} of object store {store['zone']}"
            if uid not in planned and not user["is_suspended"]:
                yield f"{what}, whose keys still open its buckets: {word_admin('suspend', uid, store)}"
            elif uid not in planned:
                yield f"{what}, which is suspended, with its buckets"
    zones = {store["zone"] for store in wanted["object_stores"]}
    for realm, zonegroup, zone in map(str.split, live.recorded.get("object_stores", ())):
        if f"{zone}.rgw.meta" in live.pools and zone not in zones:
            where = " ".join(name_store({"realm": realm, "zonegroup": zonegroup, "zone": zone}))
            yield f"object store {zone}, with its buckets, and users whose keys still open them: {ADMIN} user list {where}"
    options = {(option["who"], option["name"]) for option in wanted["options"]}
    for who, name in map(str.split, live.recorded.get("options", ())):
        if (who, name) in live.options and (who, name) not in options:
            words = f"rm {who} {name}"
            if name == "osd_memory_target_autotune":
                words += f"; with cephadm, which deals memory while it is true: ceph config set {who} {name} true"
            yield f"option {name} of {who}, {live.options[who, name]}: ceph config {words}"


def keep_record(wanted: Json, live: Live) -> None:
    """Note what is planned, with what was planned before and is still there."""
    record = {
        "pools": sorted({pool["name"] for pool in wanted["pools"]} | (set(live.recorded.get("pools", ())) & set(live.pools))),
        "users": sorted({user["name"] for user in wanted["users"]} | (set(live.recorded.get("users", ())) & set(live.users))),
        "filesystems": sorted(
            {files["name"] for files in wanted["filesystems"]}
            | (set(live.recorded.get("filesystems", ())) & set(live.filesystems))
        ),
        "folders": sorted(
            {f"{folder['filesystem']} {folder['name']}" for folder in wanted["folders"]}
            | {each for each in live.recorded.get("folders", ()) if is_left(each, live)}
        ),
        "groups": sorted(
            {f"{group['filesystem']} {group['name']}" for group in wanted["groups"]}
            | {
                each
                for each in live.recorded.get("groups", ())
                if live.hides(each.split()[0]) or tuple(each.split()) in live.groups
            }
        ),
        "object_stores": sorted(
            {f"{store['realm']} {store['zonegroup']} {store['zone']}" for store in wanted["object_stores"]}
            | {each for each in live.recorded.get("object_stores", ()) if f"{each.split()[2]}.rgw.meta" in live.pools}
        ),
        "object_users": sorted(
            {f"{store['zone']} {user['uid']}" for store in wanted["object_stores"] for user in store["users"]}
            | {each for each in live.recorded.get("object_users", ()) if is_kept(live, *each.split())}
        ),
        "options": sorted(
            {f"{option['who']} {option['name']}" for option in wanted["options"]}
            | (set(live.recorded.get("options", ())) & set(map(" ".join, live.options)))
        ),
    }
    if record != live.recorded:
        run("ceph", "config-key", "set", RECORD, json.dumps(record))


def is_left(folder: str, live: Live) -> bool:
    """Return whether a folder that was planned once may still be there."""
    files, name = folder.split()
    return is_unseen(files, name, live) or (files, name) in live.folders


def is_kept(live: Live, zone: str, uid: str) -> bool:
    """Return whether an object store may still have a user that was planned once: also one that was not looked at."""
    found = live.stores.get(zone)
    is_seen = found is not None and not found["why"] and is_in_force(found)
    return uid in found["users"] if found is not None and is_seen else f"{zone}.rgw.meta" in live.pools


def hold(option: Json, live: Live) -> str:
    """Return why an option waits; empty where it does not."""
    name, value = option["name"], option["value"]
    if name == "auth_allow_insecure_global_id_reclaim" and "AUTH_INSECURE_GLOBAL_ID_RECLAIM" in live.troubles:
        return f"{name} is not {value} yet: clients need it still, and would be shut out; see ceph health detail"
    in_steps = option.get("in_steps", value)
    if live.coming and value != in_steps == live.options.get((option["who"], name)):
        return (
            f"{name} is {in_steps} in steps of playbooks/ceph_expand.yml; where none is taken: ceph config set osd {name} {value}"
        )
    outside = [address for address in live.addresses.get(name, ()) if not is_inside(address, value)]
    if outside:
        return f"{name} is not {value} yet: OSDs answer elsewhere, such as at {outside[0]}, and would not start again"
    return ""


def is_inside(address: str, network: str) -> bool:
    """Return whether an address, as Ceph writes it with port and nonce, is in a network."""
    return ip_address(address.rpartition(":")[0].strip("[]")) in ip_network(network)


def is_rule(rule: Json, pool: Json) -> bool:
    """Return whether a CRUSH rule takes what is planned for a pool, and parts copies as planned."""
    steps = [step for step in rule["steps"] if not step["op"].startswith("set_")]
    how = "chooseleaf_indep" if "k" in pool else "chooseleaf_firstn"
    return (
        rule["type"] == (ERASURE if "k" in pool else REPLICATED)
        and [step["op"] for step in steps] == ["take", how, "emit"]
        and steps[0]["item_name"] == f"{ROOT}~{pool['device_class']}"
        and (steps[1]["type"], steps[1]["num"]) == (pool["failure_domain"], 0)
    )


def has_rule(pool: Json, live: Live) -> bool:
    """Return whether a pool that is there lies by the rule of its name."""
    rule = live.rules.get(pool["name"])
    return rule is not None and live.pools[pool["name"]]["crush_rule"] == rule["rule_id"]


def word_rule(rule: Json) -> str:
    """Return a CRUSH rule in words."""
    return ", ".join(
        " ".join(str(step[key]) for key in ("op", "item_name", "num", "type") if key in step) for step in rule["steps"]
    )


def word_wanted_rule(pool: Json) -> str:
    """Return what a pool's rule has to be."""
    return f"take {ROOT}~{pool['device_class']}, chooseleaf type {pool['failure_domain']}, emit"


def make_profile(pool: Json) -> dict[str, str]:
    """Return what is said of a pool's erasure code; the rest is as Ceph has it by default."""
    return {
        "k": str(pool["k"]),
        "m": str(pool["m"]),
        "crush-failure-domain": pool["failure_domain"],
        "crush-device-class": pool["device_class"],
        "crush-root": ROOT,
    }


def has_code(profile: dict[str, str], pool: Json) -> bool:
    """Return whether a profile has the code that is planned. Where chunks lie is the rule's matter, once that is made."""
    return all(profile.get(key) == make_profile(pool)[key] for key in ("k", "m"))


def name_profile(pool: Json, live: Live) -> str:
    """Return the profile that a pool and its rule are made from: of the pool's name, unless that has other places for chunks."""
    wanted = make_profile(pool)
    if live.profiles.get(pool["name"], wanted).items() >= wanted.items():
        return str(pool["name"])
    return "-".join((pool["name"], pool["failure_domain"], pool["device_class"]))


def has_images(pool: Json) -> bool:
    """Return whether images of block devices are named in a pool; an erasure code holds no more than what is in them."""
    return pool["application"] == "rbd" and "k" not in pool


def word_copies(pool: Json) -> str:
    """Return the copies of a pool in words."""
    return f"erasure code {pool['k']}+{pool['m']}" if "k" in pool else f"{pool['size']} replicas"


def word_bytes(size: int) -> str:
    """Return an amount of data, such as 50 TB."""
    unit, scale = next(((unit, 1000**power) for unit, power in (("TB", 4), ("GB", 3)) if size >= 1000**power), ("MB", 1000**2))
    return f"{size / scale:.4g} {unit}"


def word_place(place: dict[str, str]) -> str:
    """Return a place in CRUSH in words."""
    return " ".join(f"{kind}={name}" for kind, name in place.items()) or "no root"


def shorten_list(names: Iterable[str]) -> str:
    """Return names, and of many the first and how many more."""
    listed = sorted(names)
    return ", ".join(listed[:5]) + (f" and {len(listed) - 5} more" if len(listed) > 5 else "")


def wait_active(pools: list[str], within_s: float) -> None:
    """Wait until all placement groups of pools are active; end with the states of one's where they are not in time."""
    deadline = time.monotonic() + within_s
    while pools:
        numbers = {each["poolname"]: each["poolnum"] for each in ask("osd", "lspools")}
        dump = ask("pg", "dump", "pgs_brief")
        groups = [(each["pgid"].partition(".")[0], each["state"]) for each in dump.get("pg_stats", dump)]
        for pool in pools:
            states = [state for number, state in groups if number == str(numbers[pool])]
            waiting = [state for state in states if "active" not in state.split("+")]
            if waiting or not states:
                break
        else:
            return
        if time.monotonic() > deadline:
            said = ", ".join(f"{waiting.count(state)} {state}" for state in sorted(set(waiting))) or "none yet"
            fix = "see ceph health detail, then run again"
            sys.exit(tell(f"placement groups of pool {pool}", said, f"all active within {within_s:g} s", fix))
        time.sleep(1)


def is_serving(live: Live) -> bool:
    """Return whether all placement groups serve, as far as managers have heard."""
    return "PG_AVAILABILITY" not in live.troubles


def wait_serving(live: Live, within_s: float) -> None:
    """Wait until all placement groups serve, or no longer: a host that was moved makes some of them peer anew for a moment."""
    deadline = time.monotonic() + within_s
    while not is_serving(live) and time.monotonic() < deadline:
        time.sleep(1)
        live.troubles = set(ask("health")["checks"])


def wait_served(files: str, within_s: float) -> None:
    """Wait until a metadata server serves a file system; end where none does in time."""
    deadline = time.monotonic() + within_s
    while True:
        maps = {each["mdsmap"]["fs_name"]: each["mdsmap"] for each in ask("fs", "dump")["filesystems"]}
        if files in maps and is_served(maps[files]):
            return
        if time.monotonic() > deadline:
            fix = "see ceph fs status; daemons from packages are made by playbooks/ceph.yml, run whole, others by ceph orch"
            sys.exit(tell(f"file system {files}", "no metadata server serves it", f"one within {within_s:g} s", fix))
        time.sleep(1)


def tell(name: str, value: str, expected: str, fix: str) -> str:
    """Return a fault: what it is about, what is there, what was expected, and the way out."""
    return f"{name}: {value}; expected {expected}; fix: {fix}"


def ask(*words: str) -> Any:
    """Return what the cluster answers."""
    return json.loads(run("ceph", *words, "--format=json"))


def ask_admin(*words: str) -> Any:
    """Return what radosgw-admin answers; None where what is asked for is not there."""
    code, out, err = call(ADMIN, *words)
    if code not in {0, ABSENT}:
        sys.exit(f"{ADMIN} {' '.join(words[:2])}: {shorten(err) or f'ended with {code}'}")
    return json.loads(out) if code == 0 else None


def run(program: str, *words: str) -> str:
    """Return what a program prints; end with its complaint where it fails. A key that it prints goes no further than here."""
    code, out, err = call(program, *words)
    if code:
        said = " ".join(word for word in words[:4] if not word.startswith("-") and "\n" not in word)
        sys.exit(f"{program} {said}: {shorten(err) or f'ended with {code}'}")
    return out


def call(program: str, *words: str) -> tuple[int, str, str]:
    """Return exit code, output and errors of one of Ceph's programs, of the host or else in cephadm's container."""
    connect = [f"--connect-timeout={CONNECT_S}"] if program == "ceph" else []
    command = [program, *connect, *words]
    if shutil.which("ceph" if program == PYTHON else program) is None:  # Ceph's library is where its program is
        if shutil.which("cephadm") is None:
            sys.exit(f"{program}: not on this host; expected it, or cephadm; fix: install the package ceph-common")
        command = ["cephadm", "shell", "--", *command]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return 124, "", f"no end in {LIMIT_S} s"
    return done.returncode, done.stdout, done.stderr


def shorten(text: str) -> str:
    """Return errors in one line, without what a client notes for its log while there are others."""
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if not NOTED.match(line)]
    return " ".join(" ".join(errors or lines).split())[-800:]


if __name__ == "__main__":
    if sys.argv[1] == "look":
        sys.stdout.write(ask("fsid")["fsid"] + "\n")
    else:
        main(sys.argv[1], json.load(sys.stdin))
