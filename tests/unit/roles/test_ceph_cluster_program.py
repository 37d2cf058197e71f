"""What role ceph_cluster would do to a cluster, and refuses, without one; tests/ceph has a cluster of real daemons."""

from __future__ import annotations

import copy
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.programs import load_program

program = load_program(Path(__file__).parents[3] / "roles/ceph_cluster/files/objects.py")
FSID = "3252bb04-32a4-5a6f-97e3-11e9a7a06a9a"
DATA = {
    "name": "data",
    "application": "rbd",
    "failure_domain": "rack",
    "device_class": "ssd",
    "size": 3,
    "min_size": 2,
    "pg_num": 64,
}
CODED = {**DATA, "name": "coded", "k": 2, "m": 1, "application": "cephfs"}
HOSTS = {f"storage-{n}": {"root": "default", "row": "N", "rack": f"N0{n}"} for n in (1, 2, 3)}
RULE = {
    "rule_id": 1,
    "rule_name": "data",
    "type": 1,
    "steps": [
        {"op": "take", "item": -2, "item_name": "default~ssd"},
        {"op": "chooseleaf_firstn", "num": 0, "type": "rack"},
        {"op": "emit"},
    ],
}
POOL = {
    "pool_name": "data",
    "type": 1,
    "size": 3,
    "min_size": 2,
    "crush_rule": 1,
    "pg_autoscale_mode": "off",
    "pg_num_target": 64,
    "application_metadata": {"rbd": {}},
    "flags_names": "hashpspool",
    "erasure_code_profile": "",
}


def want(**parts):
    """Return what is wanted of a cluster with one pool."""
    nothing = {"options": [], "users": [], "namespaces": [], "filesystems": [], "folders": [], "groups": [], "object_stores": []}
    return {"fsid": FSID, "hosts": HOSTS, "pools": [DATA], **nothing} | parts


def grow(places, drive_class="ssd", **osd):
    """Return the nodes of a tree in which each host, with one OSD, is in these buckets, from the root down."""
    numbers, nodes = {}, {}

    def make(kind, name, number, **about):
        nodes.setdefault(number, {"id": number, "type": kind, "name": name, "children": [], **about})
        return number

    for at, (host, place) in enumerate(places.items()):
        chain = [*place.items(), ("host", host)]
        above = None
        for kind, name in chain:
            number = numbers.setdefault((kind, name), -1 - len(numbers))
            make(kind, name, number)
            if above is not None and number not in nodes[above]["children"]:
                nodes[above]["children"].append(number)
            above = number
        make("osd", f"osd.{at}", at, status="up", reweight=1.0, crush_weight=1.0, device_class=drive_class, **osd)
        nodes[above]["children"].append(at)
    return nodes


def live(places=HOSTS, **parts):
    """Return a cluster that has the pool as it is wanted."""
    has = {
        "fsid": FSID,
        "has_objects": True,
        "options": {},
        "pools": {"data": POOL},
        "profiles": {},
        "rules": {"data": RULE},
        "nodes": grow(places),
        "users": {},
    }
    return program.Live(**(has | parts))


def tell_faults(wanted, has):
    return list(program.list_faults(wanted, has, not has.has_objects))


def tell_steps(wanted, has, move=False):
    move = move or not has.has_objects
    return [(step.text, " ".join([step.program, *step.words])) for step in program.list_steps(wanted, has, move)]


def tell_left(wanted, has, move=False):
    return list(program.list_left(wanted, has, move or not has.has_objects))


def test_nothing_is_done_where_all_is_as_planned():
    assert (tell_faults(want(), live()), tell_steps(want(), live()), tell_left(want(), live())) == ([], [], [])


def test_a_new_cluster_gets_rules_pools_and_places():
    empty = live({host: {"root": "default"} for host in HOSTS}, pools={}, rules={}, has_objects=False)
    assert tell_steps(want(pools=[]), empty) == [
        ("row N is made", "ceph osd crush add-bucket N row"),
        ("row N is in root default", "ceph osd crush move N root=default"),
        *(
            step
            for n in (1, 2, 3)
            for step in (
                (f"rack N0{n} is made", f"ceph osd crush add-bucket N0{n} rack"),
                (f"rack N0{n} is in row N", f"ceph osd crush move N0{n} row=N"),
                (f"host storage-{n} is in rack N0{n}", f"ceph osd crush move storage-{n} rack=N0{n}"),
            )
        ),
    ]
    placed = live(pools={}, rules={}, has_objects=False)
    made = "pool data is made: 3 replicas over racks, 64 placement groups, for rbd"
    assert tell_steps(want(), placed) == [
        ("CRUSH rule data is made", "ceph osd crush rule create-replicated data default rack ssd"),
        (made, "ceph osd pool create data 64 64 replicated data --size=3 --autoscale-mode=off"),
        ("", "rbd pool init data"),
        ("", "ceph osd pool set data min_size 2"),
    ]
    assert [words for _, words in tell_steps(want(pools=[CODED]), placed)] == [
        "ceph osd erasure-code-profile set coded k=2 m=1 crush-failure-domain=rack crush-device-class=ssd crush-root=default",
        "ceph osd crush rule create-erasure coded coded",
        "ceph osd pool create coded 64 64 erasure coded coded --autoscale-mode=off",
        "ceph osd pool application enable coded cephfs",
        "ceph osd pool set coded min_size 2",
        "ceph osd pool set coded allow_ec_overwrites true",
    ]


def test_hosts_without_osds_are_placed_before_these_come():
    """Also once there are objects: nothing lies on them."""
    nodes = grow({"storage-1": HOSTS["storage-1"], "storage-2": {"root": "default"}})
    empty = next(node for node in nodes.values() if node["name"] == "storage-2")
    nodes = {number: node for number, node in nodes.items() if number not in empty["children"]}
    empty["children"] = []
    has = live(nodes=nodes)
    text = "hosts have their places for OSDs: storage-2, storage-3"
    assert tell_steps(want(), has) == [
        (text, "ceph osd crush move storage-2 root=default row=N rack=N02"),
        ("", "ceph osd crush add-bucket storage-3 host root=default row=N rack=N03"),
    ]
    assert tell_left(want(), has) == ["hosts without an OSD yet: storage-2, storage-3"]


def test_an_empty_host_in_a_rack_that_is_elsewhere_waits_with_it():
    """Moving the rack would move what its other hosts hold."""
    place = HOSTS["storage-1"] | {"row": "M"}
    nodes = grow(HOSTS | {"storage-0": place, "storage-1": place})
    empty = next(node for node in nodes.values() if node["name"] == "storage-0")
    nodes = {number: node for number, node in nodes.items() if number not in empty["children"]}
    empty["children"] = []
    wanted = want(hosts={"storage-0": HOSTS["storage-1"], **HOSTS})
    assert tell_steps(wanted, live(nodes=nodes)) == []
    assert tell_left(wanted, live(nodes=nodes))[:1] == [
        "host storage-0 is in rack=N01 row=M root=default; planned: root=default row=N rack=N01"
    ]
    assert [words for _, words in tell_steps(wanted, live(nodes=nodes), move=True)] == ["ceph osd crush move N01 row=N"]


def test_without_osds_there_are_options_places_and_users_alone(monkeypatch, capsys):
    nodes = {-1: {"id": -1, "type": "root", "name": "default", "children": []}}
    monkeypatch.setattr(program, "read_live", lambda _: live(nodes=nodes, pools={}, rules={}, has_objects=False))
    program.main(
        "check", {"wanted": want(namespaces=[{"pool": "data", "namespace": "a"}]), "pools": True, "move": False, "wait_s": 10}
    )
    assert json.loads(capsys.readouterr().out) == {
        "changes": ["hosts have their places for OSDs: storage-1, storage-2, storage-3"],
        "left": ["there is no OSD yet, and so no pool"],
        "stale": [],
    }


def test_a_new_cluster_whose_hosts_are_not_in_racks_yet_is_taken():
    flat = live({host: {"root": "default"} for host in HOSTS}, pools={}, rules={}, has_objects=False)
    assert tell_faults(want(), flat) == []
    texts = [text for text, _ in tell_steps(want(), flat)]
    moved, made = texts.index("host storage-3 is in rack N03"), texts.index("CRUSH rule data is made")
    assert moved < made and texts[made + 1].startswith("pool data is made")
    [fault] = tell_faults(want(), replace(flat, has_objects=True))
    assert fault.startswith("pool data: 0 racks")


def test_what_differs_of_a_pool_is_set():
    for change, text in (({"min_size": 1}, "min_size is 2"), ({"pg_autoscale_mode": "on"}, "pg_autoscale_mode is off")):
        [(told, words)] = tell_steps(want(), live(pools={"data": POOL | change}))
        assert (told, words) == (f"pool data: {text}", f"ceph osd pool set data {text.replace(' is ', ' ')}")


@pytest.mark.parametrize(
    ("change", "texts"),
    [
        ({"size": 2}, ["size is 3"]),
        ({"size": 1, "min_size": 1}, ["size is 3", "min_size is 2"]),
        ({"size": 4}, ["size is 3"]),
        ({"pg_num_target": 32}, ["pg_num is 64"]),
    ],
)
def test_copies_and_groups_wait_for_a_word(change, texts):
    """Also what could not be set before them: min_size may not be above the copies that there are."""
    has = live(pools={"data": POOL | change})
    assert (tell_steps(want(), has), tell_left(want(), has)) == ([], [f"planned: pool data: {text}" for text in texts])
    assert [text for text, _ in tell_steps(want(), has, move=True)] == [f"pool data: {text}" for text in texts]
    empty = replace(has, has_objects=False)
    assert [text for text, _ in tell_steps(want(), empty)] == [f"pool data: {text}" for text in texts]
    assert tell_left(want(), empty) == []


def test_a_run_that_was_cut_off_goes_on():
    """The rule is there, the pool is there and nothing else was said to it."""
    bare = POOL | {"application_metadata": {}, "min_size": 1}
    assert [text for text, _ in tell_steps(want(), live(pools={"data": bare}))] == [
        "pool data is for rbd",
        "pool data: min_size is 2",
    ]


def test_a_pool_of_an_erasure_code_may_be_adopted():
    """Its profile has another name, and its rule; what it holds is coded as planned."""
    found = POOL | {
        "pool_name": "coded",
        "type": 3,
        "crush_rule": 4,
        "erasure_code_profile": "old",
        "flags_names": "ec_overwrites",
    }
    has = live(
        pools={"coded": found | {"application_metadata": {"cephfs": {}}}}, profiles={"old": {"k": "2", "m": "1"}}, rules={}
    )
    wanted = want(pools=[CODED])
    assert (tell_faults(wanted, has), tell_steps(wanted, has)) == ([], [])
    assert tell_left(wanted, has) == ["pool coded uses another CRUSH rule; planned: coded"]
    assert [words.partition(" k=")[0] for _, words in tell_steps(wanted, has, move=True)] == [
        "ceph osd erasure-code-profile set coded",
        "ceph osd crush rule create-erasure coded coded",
        "ceph osd pool set coded crush_rule coded",
    ]


def test_a_rule_for_an_erasure_code_is_made_for_the_planned_places():
    """The pool's own profile says where chunks were to lie once; it cannot change."""
    profile = {**program.make_profile(CODED), "crush-failure-domain": "host"}
    found = POOL | {"type": 3, "crush_rule": 4, "erasure_code_profile": "coded", "flags_names": "ec_overwrites"}
    has = live(pools={"coded": found | {"application_metadata": {"cephfs": {}}}}, profiles={"coded": profile}, rules={})
    assert tell_faults(want(pools=[CODED]), has) == []
    assert [words.partition(" k=")[0] for _, words in tell_steps(want(pools=[CODED]), has, move=True)] == [
        "ceph osd erasure-code-profile set coded-rack-ssd",
        "ceph osd crush rule create-erasure coded coded-rack-ssd",
        "ceph osd pool set coded crush_rule coded",
    ]


def test_options_and_users_are_compared_as_text():
    wanted = want(
        options=[{"who": "osd", "name": "osd_mclock_profile", "value": "balanced"}],
        users=[{"name": "client.a", "caps": {"mon": "allow r", "osd": "allow rwx pool=data namespace=a"}}],
        namespaces=[{"pool": "data", "namespace": "a"}],
    )
    assert [words for _, words in tell_steps(wanted, live())] == [
        "ceph config set osd osd_mclock_profile balanced",
        "ceph auth get-or-create client.a mon allow r osd allow rwx pool=data namespace=a",
        "rbd pool init data",
        "rbd namespace create --pool data --namespace a",
    ]
    has = live(
        options={("osd", "osd_mclock_profile"): "balanced"},
        users={"client.a": {"mon": "allow r", "osd": "allow rwx pool=data namespace=a"}},
        namespaces={("data", "a")},
    )
    assert tell_steps(wanted, has) == []
    wider = replace(has, users={"client.a": {"mon": "allow r", "osd": "allow rwx"}}, recorded={"users": ["client.a"]})
    assert [words.split(" mon ")[0] for _, words in tell_steps(wanted, wider)] == ["ceph auth caps client.a"]
    assert tell_faults(wanted, wider) == []


def test_nobody_elses_user_is_changed():
    """A tenant whose name is that of a user, such as the administrator."""
    wanted = want(
        users=[{"name": "client.admin", "caps": {"mon": "profile rbd", "osd": "profile rbd pool=data namespace=admin"}}]
    )
    has = live(users={"client.admin": {"mon": "allow *", "osd": "allow *"}})
    assert tell_faults(wanted, has) == [
        "user client.admin: is there, with other rights, and is not of the plan; expected no such user yet; "
        "fix: rename the tenant, or ceph auth rm client.admin if nobody uses it"
    ]


@pytest.mark.parametrize(
    ("option", "parts", "why"),
    [
        (
            {"who": "mon", "name": "auth_allow_insecure_global_id_reclaim", "value": "false"},
            {"troubles": {"AUTH_INSECURE_GLOBAL_ID_RECLAIM"}},
            "clients need it still, and would be shut out; see ceph health detail",
        ),
        (
            {"who": "global", "name": "public_network", "value": "10.72.128.0/20"},
            {"addresses": {"public_network": ["10.72.128.3:6801/21", "192.168.7.4:6809/3"]}},
            "OSDs answer elsewhere, such as at 192.168.7.4:6809/3, and would not start again",
        ),
    ],
)
def test_an_option_that_would_shut_somebody_out_waits(option, parts, why):
    wanted = want(options=[option])
    assert (tell_steps(wanted, live(**parts)), tell_left(wanted, live(**parts))) == (
        [],
        [f"{option['name']} is not {option['value']} yet: {why}"],
    )
    well = live(troubles={"AUTH_INSECURE_GLOBAL_ID_RECLAIM_ALLOWED"}, addresses={"public_network": ["10.72.128.3:6801/21"]})
    assert (len(tell_steps(wanted, well)), tell_left(wanted, well)) == (1, [])


def test_the_profile_of_a_step_stays_while_hosts_come():
    wanted = want(options=[{"who": "osd", "name": "osd_mclock_profile", "value": "balanced", "in_steps": "high_recovery_ops"}])

    def tell(profile, coming):
        has = live(options={("osd", "osd_mclock_profile"): profile}, coming=coming)
        return tell_steps(wanted, has), [left for left in tell_left(wanted, has) if "mclock" in left]

    said = "osd_mclock_profile is high_recovery_ops in steps of playbooks/ceph_expand.yml; where none is taken: "
    assert tell("high_recovery_ops", ["storage-004"]) == ([], [f"{said}ceph config set osd osd_mclock_profile balanced"])
    for profile, coming in (("high_recovery_ops", []), ("high_client_ops", ["storage-004"])):
        [(_, words)], left = tell(profile, coming)
        assert (words, left) == ("ceph config set osd osd_mclock_profile balanced", [])
    assert tell("balanced", ["storage-004"]) == ([], [])


def test_a_pool_is_laid_out_for_images_once():
    wanted = want(namespaces=[{"pool": "data", "namespace": name} for name in ("a", "b")])
    inits = [words for _, words in tell_steps(wanted, live()) if words.startswith("rbd pool init")]
    made = [words for _, words in tell_steps(wanted, live(pools={}, rules={})) if words.startswith("rbd pool init")]
    assert inits == made == ["rbd pool init data"]


FAULTS = {
    "another cluster": (want(), {"fsid": "x"}, f"fsid: x; expected {FSID}, the planned cluster"),
    "fewer racks": (
        want(),
        {"pools": {}, "nodes": grow({**HOSTS, "storage-3": HOSTS["storage-2"]})},
        "pool data: 2 racks with OSDs of class ssd that take data; expected 3 for 3 replicas",
    ),
    "one rack": (
        want(),
        {"pools": {}, "nodes": grow(dict.fromkeys(HOSTS, HOSTS["storage-1"]))},
        "pool data: 1 rack with OSDs of class ssd that take data; expected 3",
    ),
    "another class": (want(), {"pools": {}, "nodes": grow(HOSTS, "hdd")}, "pool data: 0 racks with OSDs of class ssd"),
    "outside of the root": (
        want(),
        {"pools": {}, "nodes": grow({host: place | {"root": "other"} for host, place in HOSTS.items()})},
        "pool data: 0 racks",
    ),
    "one copy": (want(pools=[{**DATA, "size": 1}]), {"pools": {}}, "pool data: one copy; expected two or more"),
    "replicas for a code": (
        want(pools=[{**CODED, "name": "data", "application": "rbd"}]),
        {"rules": {}},
        "pool data: 3 replicas; expected erasure code 2+1",
    ),
    "code for replicas": (
        want(),
        {"pools": {"data": POOL | {"type": 3, "erasure_code_profile": "old"}}, "profiles": {"old": {"k": "2", "m": "1"}}},
        "pool data: erasure code 2+1; expected 3 replicas",
    ),
    "fewer than min_size": (
        want(pools=[{**DATA, "size": 2, "min_size": 1}]),
        {"pools": {"data": POOL | {"min_size": 3}}},
        "pool data: min_size 3; expected no more than the planned size 2",
    ),
    "one copy of a pool": (
        want(pools=[{**DATA, "size": 1, "min_size": 1}]),
        {"pools": {"data": POOL | {"min_size": 1}}},
        "pool data: one copy; expected two or more",
    ),
    "more copies than racks": (
        want(pools=[{**DATA, "size": 4}]),
        {"has_objects": False},
        "pool data: 3 racks with OSDs of class ssd that take data; expected 4 for 4 replicas",
    ),
    "a class that no OSD has": (
        want(),
        {"has_objects": False, "rules": {}, "nodes": grow(HOSTS, "nvme")},
        "pool data: 0 racks with OSDs of class ssd",
    ),
    "another application": (
        want(),
        {"pools": {"data": POOL | {"application_metadata": {"cephfs": {}}}}},
        "pool data: application cephfs; expected rbd; fix: plan application cephfs, or",
    ),
    "rule of another class": (
        want(),
        {"rules": {"data": RULE | {"steps": [{"op": "take", "item_name": "default"}, *RULE["steps"][1:]]}}},
        "CRUSH rule data: take default, chooseleaf_firstn 0 rack, emit; expected take default~ssd, chooseleaf type rack, emit",
    ),
    "another code": (
        want(pools=[CODED]),
        {"profiles": {"coded": {"k": "4", "m": "2"}}},
        "erasure code profile coded: 4+2; expected 2+1; fix: an erasure code never changes: give the pool another name",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_cannot_be_is_refused(name):
    wanted, parts, words = FAULTS[name]
    [fault] = tell_faults(wanted, live(**parts))
    assert fault.startswith(words) and "; fix: " in fault


def test_osds_that_do_not_run_or_take_nothing_are_no_place():
    for about in ({"status": "down"}, {"reweight": 0}, {"crush_weight": 0}):
        nodes = copy.deepcopy(grow(HOSTS))
        nodes[0] |= about
        [fault] = tell_faults(want(), live(pools={}, nodes=nodes))
        assert fault.startswith("pool data: 2 racks") and "fix: see ceph osd tree: " in fault
        way_out = "OSDs without a weight take none" if "crush_weight" in about else "make the OSDs, start them"
        assert way_out in fault


DISKS = {"archive-1": {"root": "default", "rack": "N01"}, "archive-2": {"root": "default", "rack": "N02"}}
COLD = {**DATA, "name": "cold", "device_class": "hdd", "size": 2, "application": "cephfs"}
OSDS = [{"device_class": "ssd", "hosts": [*HOSTS]}, {"device_class": "hdd", "hosts": [*DISKS]}]
CLASSES = {"pools": [DATA, COLD], "hosts": {**HOSTS, **DISKS}, "osds": OSDS}


def waits(wanted, has, is_check=False):
    return [pool["name"] for pool in wanted["pools"] if program.is_waiting(pool, wanted, has, False, is_check)]


def test_a_pool_waits_for_osds_that_come():
    """In steps, or in a dry run, which makes none; else it is refused, with the hosts that lack them."""
    wanted = want(**CLASSES)
    assert waits(wanted, live(), is_check=True) == ["cold"] and waits(wanted, live()) == []
    [fault] = tell_faults(wanted, live())
    assert fault.startswith("pool cold: 0 racks with OSDs of class hdd that take data; expected 2 for 2 replicas; ")
    assert "fix: have OSDs made on archive-1, archive-2, where there is data on the word for them" in fault
    nodes = grow({**HOSTS, **DISKS})
    for node in nodes.values():
        if node["name"] in {"osd.3", "osd.4"}:
            node |= {"device_class": "hdd", "crush_weight": 0}
    assert waits(wanted, live(nodes=nodes, coming=["archive-1"])) == ["cold"] and waits(wanted, live(nodes=nodes)) == []
    assert waits(wanted, live(nodes=nodes, pools={"data": POOL, "cold": POOL}, coming=["archive-1"])) == []
    assert waits({**wanted, "pools": [{**COLD, "size": 3}]}, live(nodes=nodes, coming=["archive-1"]), is_check=True) == []


def test_what_lies_in_a_pool_that_waits_waits_too():
    files = {"filesystems": [{"name": name, "metadata": f"cephfs.{name}.meta", "pools": pools} for name, pools in FILES.items()]}
    parts = {
        "namespaces": [{"pool": "data", "namespace": "a"}, {"pool": "cold", "namespace": "a"}],
        "folders": [{"filesystem": "home", "name": "a"}, {"filesystem": "old", "name": "a"}],
        "groups": [{"filesystem": "home", "name": "k"}, {"filesystem": "old", "name": "k"}],
        "users": [{"name": "client.a", "folders": ["home"]}, {"name": "client.k", "groups": ["old"]}, {"name": "client.b"}],
        "object_stores": [{"zone": "here", "pool": "cold"}],
        "options": [{"who": "osd"}, {"who": "client.rgw.here"}],
    }
    held = program.hold_back(want(**CLASSES, **files, **parts), {"cold"})
    assert [pool["name"] for pool in held["pools"]] == ["data"] and held["hosts"] == CLASSES["hosts"]
    assert [each["name"] for each in held["filesystems"]] == ["home"]
    assert held["namespaces"] == parts["namespaces"][:1] and held["options"] == parts["options"][:1]
    assert (held["folders"], held["groups"]) == (parts["folders"][:1], parts["groups"][:1])
    assert [user["name"] for user in held["users"]] == ["client.a", "client.b"] and held["object_stores"] == []
    index = program.hold_back(want(**parts), {"here.rgw.buckets.index"})
    assert index["object_stores"] == [] and len(index["folders"]) == 2
    assert program.hold_back(want(**parts), set()) == want(**parts)


FILES = {"home": ["data"], "old": ["data", "cold"]}


def test_pools_that_would_spread_over_a_class_that_comes_are_told():
    everywhere = {**RULE, "rule_id": 7, "rule_name": "replicated_rule", "steps": [{"op": "take", "item_name": "default"}]}
    rules = {"data": RULE, "replicated_rule": everywhere}
    pools = {"data": POOL, "nfs": POOL | {"crush_rule": 7}, "none": POOL | {"crush_rule": 7}, ".mgr": POOL | {"crush_rule": 7}}
    has = live(rules=rules, pools=pools, objects={"data": 9, "nfs": 9, ".mgr": 3, "none": 0})
    [said] = [text for text in tell_left(want(**CLASSES), has) if "spread" in text]
    assert said == (
        "pools that take drives of every class, and spread over hdd once there are such: nfs; "
        "a rule of one class holds them, and moves data too: ceph osd pool set nfs crush_rule"
    )
    assert not [text for text in tell_left(want(), has) if "spread" in text]


def test_what_moves_data_waits_for_a_word():
    """A host in another rack, and a pool by another rule."""
    places = {**HOSTS, "storage-3": {"root": "default", "row": "N", "rack": "N02"}}
    has = live(places, pools={"data": POOL | {"crush_rule": 7}})
    assert tell_steps(want(), has) == []
    assert tell_left(want(), has) == [
        "host storage-3 is in rack=N02 row=N root=default; planned: root=default row=N rack=N03",
        "pool data uses another CRUSH rule; planned: data",
    ]
    assert [words for _, words in tell_steps(want(), has, move=True)] == [
        "ceph osd crush add-bucket N03 rack",
        "ceph osd crush move N03 row=N",
        "ceph osd crush move storage-3 rack=N03",
        "ceph osd pool set data crush_rule data",
    ]
    assert tell_left(want(), has, move=True) == []


def test_what_lacks_and_what_is_beside_is_told():
    has = live({**HOSTS, "old-1": {"root": "default"}}, balancer="off")
    wanted = want(hosts={**HOSTS, **{f"new-{n}": HOSTS["storage-1"] for n in range(7)}})
    assert tell_left(wanted, has) == [
        "hosts without an OSD yet: new-0, new-1, new-2, new-3, new-4 and 2 more",
        "hosts with OSDs that the plan does not have: old-1",
        "the balancer is off; the waterline is computed with mode upmap: ceph balancer mode upmap; ceph balancer on",
    ]
    assert "the balancer has mode crush-compat; " in tell_left(want(), live(balancer="crush-compat"))[0]
    assert tell_left(want(), live(balancer="upmap-read")) == []
    assert tell_left(want(), live(balancer="off", coming=["storage-004"])) == [
        "data comes to storage-004: playbooks/ceph_expand.yml goes on, and the balancer is off until all has"
    ]


def test_a_place_may_have_more_levels_than_the_plan():
    deep = live(
        {host: {"root": "default", "datacenter": "d1", "row": "N", "rack": place["rack"]} for host, place in HOSTS.items()}
    )
    assert (tell_left(want(), deep), tell_steps(want(), deep, move=True)) == ([], [])


def test_what_the_plan_no_longer_has_is_told_while_it_is_there():
    has = live(recorded={"pools": ["data", "old", "gone"], "users": ["client.a"]}, users={"client.a": {}})
    has.pools["old"] = POOL
    assert list(program.list_stale(want(), has)) == [
        "pool old",
        "user client.a, whose key still opens what it did: ceph auth rm client.a",
    ]
    del has.pools["old"]


def test_what_is_set_for_some_hosts_and_wins_is_told():
    narrower = {"osd_memory_target": {"osd": "2", "global": "9", "osd/host:h2": "7", "osd/host:h1": "7", "osd/host:h3": "2"}}
    wanted = want(options=[{"who": "osd", "name": "osd_memory_target", "value": "2"}])
    assert tell_left(wanted, live(options={("osd", "osd_memory_target"): "2"}, narrower=narrower)) == [
        "osd_memory_target is set for osd/host:h1, osd/host:h2, which wins over the planned 2: "
        "ceph config rm osd/host:h1 osd_memory_target, and the others"
    ]


def test_options_of_others_win_over_none():
    """As those of two file systems, or of two gateways."""
    options = [{"who": f"mds.{name}", "name": "mds_join_fs", "value": name} for name in ("home", "work")]
    set_now = {(each["who"], each["name"]): each["value"] for each in options}
    narrower = {"mds_join_fs": {"mds.home": "home", "mds.work": "work", "mds.home.h1": "work", "global/host:h2": "x", "mds": "y"}}
    has = live(options=set_now, narrower=narrower)
    assert tell_left(want(options=options), has) == [
        "mds_join_fs is set for mds.home.h1, which wins over the planned home: ceph config rm mds.home.h1 mds_join_fs"
    ]


def test_an_option_that_is_not_planned_any_more_is_told_while_it_is_set():
    recorded = {"options": ["global cluster_network", "osd osd_memory_target", "osd osd_mclock_profile"]}
    has = live(recorded=recorded, options={("osd", "osd_memory_target"): "1", ("osd", "osd_mclock_profile"): "balanced"})
    wanted = want(options=[{"who": "osd", "name": "osd_mclock_profile", "value": "balanced"}])
    assert list(program.list_stale(wanted, has)) == ["option osd_memory_target of osd, 1: ceph config rm osd osd_memory_target"]


def test_cephadm_is_asked_where_the_host_has_no_client(monkeypatch):
    asked = []
    monkeypatch.setattr(program.shutil, "which", lambda name: f"/usr/sbin/{name}" if name == "cephadm" else None)
    monkeypatch.setattr(
        program.subprocess, "run", lambda words, **_: asked.append(words) or subprocess.CompletedProcess(words, 0, "{}", "")
    )
    assert program.ask("fsid") == {}
    assert asked == [["cephadm", "shell", "--", "ceph", "--connect-timeout=15", "fsid", "--format=json"]]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("2026-11-27T08:27:40.877+0000 7f -1 auth: no keyring\n[errno 13] denied\n", "ceph auth ls: [errno 13] denied"),
        (
            "2026-11-27T08:27:40.877+0000 7f -1 auth: no keyring\n",
            "ceph auth ls: 2026-11-27T08:27:40.877+0000 7f -1 auth: no keyring",
        ),
        ("", "ceph auth ls: ended with 13"),
    ],
)
def test_what_ceph_complains_of_is_told_in_a_line(monkeypatch, error, said):
    monkeypatch.setattr(program.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(program.subprocess, "run", lambda words, **_: subprocess.CompletedProcess(words, 13, "AQkey", error))
    with pytest.raises(SystemExit) as ended:
        program.ask("auth", "ls")
    assert ended.value.code == said


class Answers:
    """Answers as `ceph` would of placement groups: each pool's, by its number."""

    def __init__(self, **states):
        self.states = states

    def __call__(self, *words):
        if words == ("osd", "lspools"):
            return [{"poolname": name, "poolnum": at} for at, name in enumerate(self.states, 1)]
        groups = [(at, state) for at, states in enumerate(self.states.values(), 1) for state in states]
        return {"pg_stats": [{"pgid": f"{at}.{n:x}", "state": state} for n, (at, state) in enumerate(groups)]}


@pytest.mark.parametrize(("states", "said"), [([], "none yet"), (["creating+peering", "active+clean"], "1 creating+peering")])
def test_placement_groups_that_do_not_come_are_told(monkeypatch, states, said):
    monkeypatch.setattr(program, "ask", Answers(other=["active+clean"], data=states))
    with pytest.raises(SystemExit) as ended:
        program.wait_active(["other", "data"], 0)
    fix = "see ceph health detail, then run again"
    assert ended.value.code == f"placement groups of pool data: {said}; expected all active within 0 s; fix: {fix}"


def test_another_pools_groups_are_not_waited_for(monkeypatch):
    monkeypatch.setattr(program, "ask", Answers(other=["down"], data=["active+undersized"]))
    program.wait_active(["data"], 0)
    program.wait_active([], 0)


def test_a_new_pool_is_written_to_once_its_groups_are_active(monkeypatch):
    done = []
    monkeypatch.setattr(program, "run", lambda *words: done.append(" ".join(words)))
    monkeypatch.setattr(program, "wait_active", lambda pools, _: done.extend(f"wait for {pool}" for pool in pools))
    program.do_all(program.list_steps(want(pools=[CODED, DATA]), live(pools={}), False), 10)
    assert [each.partition(" --")[0] for each in done if "pool" in each or "wait" in each] == [
        "ceph osd pool create coded 64 64 erasure coded coded",
        "ceph osd pool application enable coded cephfs",
        "ceph osd pool set coded min_size 2",
        "ceph osd pool set coded allow_ec_overwrites true",
        "ceph osd pool create data 64 64 replicated data",
        "wait for coded",
        "wait for data",
        "wait for data",
        "rbd pool init data",
        "ceph osd pool set data min_size 2",
    ]
    done.clear()
    program.do_all(program.list_steps(want(pools=[CODED]), live(pools={}), False), 10)
    assert done[-1] == "wait for coded"  # also where nothing is written into it


def test_it_is_json_all_the_way(monkeypatch, capsys):
    monkeypatch.setattr(program, "read_live", lambda _: live())
    program.main("check", {"wanted": want(), "pools": True, "move": False, "wait_s": 10})
    assert json.loads(capsys.readouterr().out) == {"changes": [], "left": [], "stale": []}


HOME = {"name": "home", "metadata": "cephfs.home.meta", "pools": ["files", "bulk"], "active": 2}
FOLDER = {"filesystem": "home", "name": "red", "pool": "bulk", "bytes": 5 * 10**12}
RED = {"name": "client.red", "caps": {"mon": "allow r fsname=home", "osd": ""}, "folders": ["home"]}
LIVE_HOME = {"metadata": "cephfs.home.meta", "pools": ["files", "bulk"], "max_mds": 2, "serves": True}
PATH = "/volumes/red/red/6f7b5d5e-2c40-4b5e-9a3f-0d3a7c1b9e11"
SEEN = {"path": PATH, "pool_namespace": "fsvolumens_red", "data_pool": "bulk", "bytes_quota": 5 * 10**12, "bytes_used": 10**12}
INFO = SEEN | {"why": ""}
RIGHTS = RED["caps"] | {
    "mds": f"allow rw fsname=home path={PATH}",
    "osd": "allow rw pool=bulk namespace=fsvolumens_red",
}


def want_files(**parts):
    return want(pools=[], **({"filesystems": [HOME], "folders": [FOLDER], "users": [RED]} | parts))


def have_files(**parts):
    return live(
        **({"filesystems": {"home": LIVE_HOME}, "folders": {("home", "red"): INFO}, "users": {"client.red": RIGHTS}} | parts)
    )


def test_a_file_system_is_made_with_folders_and_their_users():
    empty = live(users={}, filesystems={"old": LIVE_HOME | {"pools": ["o"], "metadata": "m"}}, has_several=False)
    assert tell_faults(want_files(), empty) == []
    assert tell_steps(want_files(), empty) == [
        ("several file systems are let", "ceph fs flag set enable_multiple true"),
        (
            "file system home is made: metadata in pool cephfs.home.meta, files in files",
            "ceph fs new home cephfs.home.meta files",
        ),
        ("file system home has pool bulk too", "ceph fs add_data_pool home bulk"),
        ("file system home: max_mds is 2", "ceph fs set home max_mds 2"),
        ("", "ceph fs subvolumegroup create home red"),
        (
            "folder red of file system home is made in pool bulk, with a quota of 5 TB",
            "ceph fs subvolume create home red --size=5000000000000 --group_name=red --pool_layout=bulk --namespace-isolated",
        ),
        (
            "user client.red is made",
            "ceph auth get-or-create client.red mds allow rw fsname=home path=<path home red> mon allow r fsname=home "
            "osd allow rw pool=bulk namespace=<pool_namespace home red>",
        ),
    ]
    assert tell_steps(want_files(), have_files()) == []
    assert tell_left(want_files(), have_files()) == []


def test_the_namespace_of_a_new_folder_is_filled_in_when_it_is_there(monkeypatch):
    ran, found = [], {("home", "red"): INFO | {"pool_namespace": "fsvolumens__red_red"}}
    monkeypatch.setattr(program, "run", lambda *words: ran.append(words))
    monkeypatch.setattr(program, "read_folder", lambda files, name: found.get((files, name)))
    words = ["auth", "caps", "client.red", "mds", "path=<path home red>", "osd", "namespace=<pool_namespace home red>"]
    program.do_all([program.Step("", words)], 1)
    assert ran == [("ceph", "auth", "caps", "client.red", "mds", f"path={PATH}", "osd", "namespace=fsvolumens__red_red")]
    for info, said in (
        (None, "is not there"),
        (INFO | {"pool_namespace": ""}, "no pool_namespace"),
        ({"why": "timed out"}, "timed out"),
    ):
        found["home", "red"] = info
        with pytest.raises(SystemExit) as ended:
            program.do_all([program.Step("", words)], 1)
        assert ended.value.code.startswith(f"folder red of file system home: {said}; expected what was made") and len(ran) == 1


def test_what_differs_of_files_is_brought_back():
    has = have_files(
        filesystems={"home": LIVE_HOME | {"max_mds": 1}},
        folders={("home", "red"): INFO | {"bytes_quota": "infinite"}},
        users={"client.red": RED["caps"]},
        recorded={"users": ["client.red"]},
    )
    assert [words for _, words in tell_steps(want_files(), has)] == [
        "ceph fs set home max_mds 2",
        "ceph fs subvolume resize home red 5000000000000 --group_name=red",
        f"ceph auth caps client.red mds allow rw fsname=home path={PATH} mon allow r fsname=home "
        "osd allow rw pool=bulk namespace=fsvolumens_red",
    ]
    free = want_files(folders=[FOLDER | {"bytes": 0}])
    assert tell_steps(free, have_files()) == [
        ("folder red of file system home has no quota", "ceph fs subvolume resize home red inf --group_name=red")
    ]
    assert tell_steps(free, have_files(folders={("home", "red"): INFO | {"bytes_quota": "infinite"}})) == []


def test_files_that_cannot_become_what_is_planned_are_refused():
    [fault] = tell_faults(want_files(), have_files(filesystems={"home": LIVE_HOME | {"pools": ["bulk", "files"]}}))
    assert fault.startswith(
        "file system home: metadata in cephfs.home.meta, files in bulk; expected metadata in cephfs.home.meta, fi"
    )
    other = {"work": LIVE_HOME | {"metadata": "m", "pools": ["files"]}}
    assert tell_faults(want_files(), have_files(filesystems=other)) == [
        "pool files: in file system work; expected for home alone; fix: plan another pool"
    ]
    used = have_files(filesystems={}, folders={}, users={}, objects={"cephfs.home.meta": 3, "data": 7})
    [fault] = tell_faults(want_files(), used)
    assert fault.startswith(
        "pool cephfs.home.meta: 3 objects, and no file system has it; expected an empty one for a new file sys"
    )
    bare = have_files(folders={("home", "red"): INFO | {"pool_namespace": "", "bytes_used": 6 * 10**12}})
    [fault] = [each for each in tell_faults(want_files(), bare) if "folder" in each]
    assert "in no namespace of its own" in fault
    full = INFO | {"bytes_used": 6 * 10**12}
    assert tell_faults(want_files(), have_files(folders={("home", "red"): full})) == []  # clients pass quotas by a little
    full = have_files(folders={("home", "red"): full | {"bytes_quota": 9 * 10**12}})
    assert tell_faults(want_files(), full) == [
        "folder red of file system home: 6 TB in it; expected no more than the planned quota of 5 TB; fix: plan a larger one"
    ]


def test_a_file_system_that_nobody_serves_is_told_and_its_folders_left():
    has = have_files(
        filesystems={"home": LIVE_HOME | {"serves": False}}, folders={}, users={}, recorded={"folders": ["home red"]}
    )
    assert tell_steps(want_files(), has) == []
    assert tell_left(want_files(), has) == [
        "file system home: not all of its ranks are served, so its folders were not looked at; see ceph fs status"
    ]
    assert program.is_left("home red", has)
    down = have_files(filesystems={"home": LIVE_HOME | {"serves": False, "max_mds": 0}}, folders={}, users={})
    assert tell_steps(want_files(), down) == []
    assert tell_left(want_files(), down)[1] == (
        "file system home: max_mds is 0; planned: 2; somebody took it down: ceph fs set home down false"
    )
    one = have_files(filesystems={"home": LIVE_HOME | {"max_mds": 1, "pools": ["files", "bulk", "more"]}}, versions=2)
    assert tell_steps(want_files(), one) == []
    assert tell_left(want_files(), one) == [
        "file system home: max_mds is 1; planned: 2; an upgrade is on its way, before which they are made one",
        "file system home has pools that the plan does not give it: more",
    ]


def test_a_folder_in_another_pool_and_what_is_not_planned_any_more_are_told():
    moved = have_files(folders={("home", "red"): INFO | {"data_pool": "files"}}, users={})
    assert tell_left(want_files(), moved) == [
        "folder red of file system home is in pool files; planned: bulk; files stay where they are: make another, and copy"
    ]
    assert tell_steps(want_files(), moved)[0][1].endswith("osd allow rw pool=files namespace=fsvolumens_red")
    recorded = {"filesystems": ["home", "gone"], "folders": ["home red", "gone blue"]}
    assert list(program.list_stale(want(), have_files(recorded=recorded))) == [
        "file system home",
        "folder red of file system home, with what is in it: ceph fs subvolume rm home red --group_name red",
    ]


SHARED = {"filesystem": "home", "name": "kubernetes-files", "namespace": "kubernetes-files"}
KEY = ("home", "kubernetes-files")


def test_a_group_of_subvolumes_gets_a_namespace_before_it_has_any():
    wanted, setting = want_files(groups=[SHARED]), "home /volumes/kubernetes-files kubernetes-files"
    for found, steps in (
        ({}, ["ceph fs subvolumegroup create home kubernetes-files", f"/usr/bin/python3 -c {program.GROUPS} {setting}"]),
        ({KEY: {"namespace": "", "has_volumes": False, "why": ""}}, [f"/usr/bin/python3 -c {program.GROUPS} {setting}"]),
        ({KEY: {"namespace": "kubernetes-files", "has_volumes": True, "why": ""}}, []),
    ):
        has = have_files(groups=found)
        assert tell_faults(wanted, has) == []
        assert [words for _, words in tell_steps(wanted, has)] == steps
    [fault] = tell_faults(wanted, have_files(groups={KEY: {"namespace": "", "has_volumes": True, "why": ""}}))
    assert fault.startswith(
        "group kubernetes-files of file system home: volumes in no namespace of their own; expected namespace kubernetes-files"
    )


def test_a_group_of_a_file_system_that_nobody_serves_waits_and_stays_in_mind(monkeypatch):
    hidden = have_files(
        filesystems={"home": LIVE_HOME | {"serves": False}}, folders={}, recorded={"groups": ["home kubernetes-files", "gone x"]}
    )
    assert tell_steps(want_files(groups=[SHARED]), hidden) == []
    kept = []
    monkeypatch.setattr(program, "run", lambda *words: kept.append(json.loads(words[-1])))
    program.keep_record(want_files(), hidden)
    assert kept[0]["groups"] == ["home kubernetes-files"]


def test_who_fills_a_group_is_made_after_it():
    user = {"name": "client.kubernetes-files", "caps": {"mon": "allow r", "osd": "allow r"}, "groups": ["home"]}
    wanted = want_files(groups=[SHARED], users=[user], folders=[])
    texts = [text for text, _ in tell_steps(wanted, have_files(users={}))]
    assert texts == ["", "group kubernetes-files of file system home is made", "user client.kubernetes-files is made"]
    assert tell_steps(wanted, have_files(users={}, filesystems={"home": LIVE_HOME | {"serves": False}})) == []
    assert program.leave_data(wanted)["users"] == []


def test_a_group_that_cannot_be_read_holds_up_nothing(monkeypatch):
    monkeypatch.setattr(program, "call", lambda *_: (1, "", "ModuleNotFoundError: No module named 'cephfs'"))
    found = program.read_group(*KEY)
    assert found == {"why": "ModuleNotFoundError: No module named 'cephfs'"}
    wanted, has = want_files(groups=[SHARED]), have_files(groups={KEY: found}, recorded={"groups": ["home kubernetes-files"]})
    assert (tell_faults(wanted, has), tell_steps(wanted, has)) == ([], [])
    assert tell_left(wanted, has) == [
        "group kubernetes-files of file system home cannot be read, and is left as it is: "
        "ModuleNotFoundError: No module named 'cephfs'"
    ]


def test_what_fails_of_a_group_that_is_made_is_told_without_the_program(monkeypatch):
    monkeypatch.setattr(program, "call", lambda *_: (1, "", "cephfs.PermissionError: error in setxattr"))
    with pytest.raises(SystemExit) as ended:
        program.do_all([program.Step("", ["-c", program.GROUPS, *KEY, "kubernetes-files"], program.PYTHON)], 1)
    assert ended.value.code == "/usr/bin/python3 home kubernetes-files: cephfs.PermissionError: error in setxattr"


def test_one_folder_that_cannot_be_read_holds_up_no_other():
    folders = {("home", "red"): {"why": "Error EINVAL: no layout"}}
    blue = {"name": "client.blue", "caps": {"mon": "profile rbd", "osd": "profile rbd pool=data namespace=blue"}}
    has = have_files(folders=folders, recorded={"users": ["client.red"]})
    assert tell_faults(want_files(users=[RED, blue]), has) == []
    assert [text for text, _ in tell_steps(want_files(users=[RED, blue]), has)] == ["user client.blue is made"]
    assert tell_left(want_files(), has) == [
        "folder red of file system home cannot be read, and is left with its user as it is: Error EINVAL: no layout"
    ]


def test_what_a_folder_tells_of_itself_is_not_taken_on_trust(monkeypatch):
    """Whoever may write beside it could have it lead into another's."""

    def read(code=0, **info):
        monkeypatch.setattr(program, "call", lambda *_: (code, json.dumps(SEEN | info), "Error EAGAIN"))
        return program.read_folder("home", "red")

    assert read() == INFO
    assert read(pool_namespace="fsvolumens__red_red")["why"] == read(pool_namespace="")["why"] == ""
    assert read(pool_namespace="fsvolumens_blue") == {"why": "its namespace is fsvolumens_blue"}
    assert read(path="/volumes/red/red/../../blue/blue/1")["why"].startswith("its path is /volumes/red/red/..")
    assert read(state="snapshot-retained") is read(code=2) is None
    assert read(code=11) == {"why": "Error EAGAIN"}


@pytest.mark.parametrize(
    ("change", "serves"),
    [
        ({}, True),
        ({"failed": [1]}, False),
        ({"damaged": [1]}, False),
        ({"in": []}, False),
        ({"in": [0, 1]}, False),
        ({"info": {"g": {"rank": 0, "state": "up:active", "laggy_since": "2026-11-27"}}}, False),
        ({"info": {"g": {"rank": 0, "state": "up:rejoin"}}}, False),
    ],
)
def test_a_file_system_is_served_where_all_its_ranks_are(change, serves):
    about = {"in": [0], "failed": [], "damaged": [], "info": {"g": {"rank": 0, "state": "up:active"}}}
    assert program.is_served(about | change) is serves


def test_users_with_folders_wait_for_osds():
    rest = program.leave_data(want_files(users=[RED, {"name": "client.blue", "caps": {}}]))
    assert [user["name"] for user in rest["users"]] == ["client.blue"]
    assert (rest["pools"], rest["filesystems"], rest["folders"]) == ([], [], [])


def test_nobody_waits_for_ever_until_a_file_system_is_served(monkeypatch):
    def ask(*_):
        info = {"gid_1": {"name": "home.control-001", "rank": 0, "state": "up:creating"}}
        about = {"fs_name": "home", "max_mds": 1, "metadata_pool": 1, "data_pools": [2], "info": info}
        return {"filesystems": [{"mdsmap": {**about, "in": [0], "failed": [], "damaged": []}}]}

    monkeypatch.setattr(program, "ask", ask)
    with pytest.raises(SystemExit) as ended:
        program.wait_served("home", 0)
    assert ended.value.code.startswith("file system home: no metadata server serves it; expected one within 0 s")


STORE = {"realm": "lab", "zonegroup": "lab", "zone": "one", "pool": "data", "users": []}
RED_BUCKETS = {"name": "red", "uid": "red$red", "bytes": 5 * 10**12}
STORE = STORE | {"users": [RED_BUCKETS]}
WHERE = "--rgw-realm=lab --rgw-zonegroup=lab --rgw-zone=one"
ZONE = {
    "id": "z1",
    "placement_pools": [
        {
            "key": "default-placement",
            "val": {"storage_classes": {"STANDARD": {"data_pool": "data"}}, "index_pool": "one.rgw.buckets.index"},
        }
    ],
    "domain_root": "one.rgw.meta:root",
    "control_pool": "one.rgw.control",
    "log_pool": "one.rgw.log",
    "user_uid_pool": "one.rgw.meta:users.uid",
}
PLACED = ZONE["placement_pools"][0]["val"]
GROUP = {"id": "g1", "realm_id": "r1", "master_zone": "z1", "zones": [{"id": "z1", "name": "one"}]}
PERIOD = {"master_zonegroup": "g1", "period_map": {"zonegroups": [{"id": "g1", "zones": [{"id": "z1", "name": "one"}]}]}}
USER = {
    "suspended": 0,
    "user_quota": {"enabled": True, "max_size": 5 * 10**12, "max_objects": -1},
    "keys": [{"secret_key": "s"}],
}
ALL = {"data": POOL, ".rgw.root": POOL} | {f"one.rgw.{what}": POOL for what in ("control", "meta", "log")}


class Admin:
    """What radosgw-admin of 16.2 answers, in its own shapes; a double, for the comparison alone."""

    def __init__(self):
        self.has = {"realm": {"id": "r1"}, "zonegroup": GROUP, "zone": ZONE, "period": PERIOD}
        self.lists = {
            "realm": {"default_info": "r1", "realms": ["lab"]},
            "zone": {"default_info": "z1", "zones": ["one"]},
        }
        self.users, self.asked = {"red$red": USER, "alice": USER}, []

    def __call__(self, name, *words):
        assert name == "radosgw-admin"
        self.asked.append(" ".join(words[:2]))
        if words[:2] == ("user", "list"):
            return 0, json.dumps(list(self.users)), ""
        if words[:2] == ("user", "info"):
            return 0, json.dumps(self.users[words[2].partition("=")[2]]), ""
        found = (self.lists if words[1] == "list" else self.has).get(words[0])
        return (0, json.dumps(found), "") if found is not None else (2, "", "failed to init: (2) No such file or directory")


@pytest.fixture
def admin(monkeypatch):
    double = Admin()
    monkeypatch.setattr(program, "call", double)
    return double


def see(pools=ALL, store=STORE, **parts):
    """Return a cluster whose object store was asked for what it has."""
    has = live(pools=pools, **{"recorded": {"object_users": ["one red$red"]}, **parts})
    has.stores = {store["zone"]: program.read_store(store, has)}
    return has


def tell_store(has, store=STORE):
    wanted = want(object_stores=[store])
    return tell_faults(wanted, has), tell_steps(wanted, has), tell_left(wanted, has)


def test_an_object_store_as_planned_is_left(admin):
    assert tell_store(see()) == ([], [], [])
    assert program.read_store(STORE, live(pools=ALL))["users"].keys() == {"red$red"}  # the others are nobody's of the plan


@pytest.mark.parametrize(("release", "words"), [("pacific", []), ("reef", ["--yes-i-really-mean-it"])])
def test_a_pool_with_a_dot_before_its_name_wants_a_word_of_later_releases(release, words):
    """Which say that there are none, and end as if they had made it."""
    pools = [{**DATA, "name": name, "application": "rgw"} for name in (".rgw.root", "one.rgw.meta")]
    steps = [step.words for step in program.list_steps(want(pools=pools), live(pools={}, release=release), False)]
    made = {step[3]: step for step in steps if step[:3] == ["osd", "pool", "create"]}
    assert made[".rgw.root"][-1:] == (words or ["--autoscale-mode=off"]) and made["one.rgw.meta"][-1] == "--autoscale-mode=off"


def test_nothing_is_asked_of_object_stores_before_they_have_their_pools(admin):
    """The question would make them."""
    faults, steps, left = tell_store(see({"data": POOL}))
    assert (faults, left, admin.asked) == ([], [], [])
    assert steps == [
        ("realm lab is made", "radosgw-admin realm create --rgw-realm=lab"),
        (
            "zone group lab of realm lab is made",
            "radosgw-admin zonegroup create --rgw-realm=lab --rgw-zonegroup=lab --master --default",
        ),
        ("zone one is made, whose objects are in pool data", f"radosgw-admin zone create {WHERE} --master --default"),
        ("", f"radosgw-admin zone placement modify {WHERE} --placement-id=default-placement --data-pool=data"),
        ("", f"radosgw-admin period update --commit {WHERE}"),
        (
            "user red of object store one is made, with a quota of 5 TB",
            f"radosgw-admin user create {WHERE} --uid=red$red --display-name=red",
        ),
        ("", f"radosgw-admin quota set {WHERE} --uid=red$red --quota-scope=user --max-size=5000000000000"),
        ("", f"radosgw-admin quota enable {WHERE} --uid=red$red --quota-scope=user"),
    ]
    see({name: pool for name, pool in ALL.items() if name != "one.rgw.meta"})
    assert not any(words.startswith("user") for words in admin.asked)


def test_nothing_is_asked_while_the_answer_may_not_come(admin):
    has = see(troubles={"PG_AVAILABILITY"})
    assert admin.asked == []
    told = "object store one was not looked at: some placement groups do not serve: see ceph health detail"
    assert tell_store(has) == ([], [], [told])


def test_placement_groups_that_peer_for_a_moment_are_waited_for(admin, monkeypatch, capsys):
    healths = [{"PG_AVAILABILITY": {}}, {"OSDMAP_FLAGS": {}}]
    monkeypatch.setattr(program, "ask", lambda *_: {"checks": healths.pop(0)})
    monkeypatch.setattr(program.time, "sleep", lambda _: None)
    monkeypatch.setattr(program, "read_live", lambda _: live(pools=ALL, troubles={"PG_AVAILABILITY"}))
    wanted = want(pools=[], object_stores=[STORE])
    program.main("check", {"wanted": wanted, "pools": True, "move": False, "wait_s": 10})
    assert healths == [] and admin.asked
    assert not any("not looked at" in left for left in json.loads(capsys.readouterr().out)["left"])


def test_placement_groups_that_never_serve_are_not_waited_for_long(monkeypatch):
    seconds = iter(range(0, 1000, 10))
    monkeypatch.setattr(program, "ask", lambda *_: {"checks": {"PG_AVAILABILITY": {}}})
    monkeypatch.setattr(program.time, "sleep", lambda _: None)
    monkeypatch.setattr(program.time, "monotonic", lambda: next(seconds))
    has = live(troubles={"PG_AVAILABILITY"})
    program.wait_serving(has, program.SETTLE_S)
    assert not program.is_serving(has) and next(seconds) == 70


def test_where_gateways_have_no_realm_none_is_made(admin):
    """It would be the default one, and theirs at their next start."""
    admin.has, admin.lists = {}, {"realm": {"default_info": "", "realms": []}, "zone": {"zones": ["default"]}}
    [fault], _, _ = tell_store(see())
    assert fault.startswith(
        "zones without a realm: default; expected none, or gateways lose sight of their buckets; fix: have them"
    )
    admin.lists = {}
    assert tell_store(see())[0] == []
    admin.lists = {"realm": {"default_info": "r2", "realms": ["other"]}, "zone": {"zones": ["two"]}}
    assert tell_store(see())[0] == []


def test_an_object_store_that_a_run_did_not_finish_is_finished(admin):
    place = {**ZONE["placement_pools"][0]["val"], "storage_classes": {"STANDARD": {"data_pool": "one.rgw.buckets.data"}}}
    admin.has["zone"] = {**ZONE, "placement_pools": [{"key": "default-placement", "val": place}]}
    text, force = "zone one is made, whose objects are in pool data", f"radosgw-admin period update --commit {WHERE}"
    modify, commit, *users = tell_store(see())[1]
    assert (modify[0], commit, users) == (text, ("", force), []) and "zone placement modify" in modify[1]
    admin.has["period"] = {"master_zonegroup": "", "period_map": {"zonegroups": []}}
    modify, commit, user, *_ = tell_store(see())[1]
    assert commit == ("", force) and user[0].startswith("user red of object store one is made")
    admin.has["zone"] = ZONE
    assert tell_store(see())[1][0] == ("zone one is known to gateways", force)


def test_quotas_of_buckets_are_compared_in_kib(admin):
    def told(size):
        return tell_store(see(), {**STORE, "users": [{**RED_BUCKETS, "bytes": size}]})[1]

    assert told(0) == [
        ("user red of object store one has no quota", f"radosgw-admin quota disable {WHERE} --uid=red$red --quota-scope=user")
    ]
    assert [text for text, _ in told(10**6)] == ["user red of object store one has a quota of 1 MB", ""]
    for quota, size in (((True, 1_000_448), 10**6), ((False, 1_000_448), 0), ((True, -1), 0)):  # the last is one of objects alone
        admin.users["red$red"] = {**USER, "user_quota": dict(zip(("enabled", "max_size"), quota, strict=True))}
        assert told(size) == []


def test_object_stores_that_cannot_become_what_is_planned_are_refused(admin):
    moved = {**ZONE, "placement_pools": [{"key": "default-placement", "val": {**PLACED, "index_pool": "index"}}]}
    for change, said in (
        ({"zonegroup": {**GROUP, "realm_id": ""}}, "zone group lab: in no realm, or another; expected in realm lab"),
        (
            {"zonegroup": {**GROUP, "master_zone": "z0", "zones": [*GROUP["zones"], {"id": "z0", "name": "zero"}]}},
            "zone group lab: zone zero is its master; expected one; fix: plan ceph.object.zone: zero",
        ),
        (
            {"zonegroup": {**GROUP, "master_zone": "", "zones": []}},
            "zone one: in no zone group, or another; expected in zone group lab",
        ),
        ({"period": {**PERIOD, "master_zonegroup": "g0"}}, "realm lab: another zone group is its master; expected lab"),
        ({"zone": moved}, "zone one: pools index; expected pools one.rgw.…; fix: plan another zone"),
        ({"zone": {**ZONE, "log_pool": ".log:x"}}, "zone one: pools .log; expected pools one.rgw.…"),
    ):
        admin.has = Admin().has | change
        faults, _, _ = tell_store(see())
        assert len(faults) == 1 and faults[0].startswith(said), faults
    admin.has = Admin().has
    [fault] = tell_store(see(ALL | {"coded": POOL}), {**STORE, "pool": "coded"})[0]
    assert fault.startswith("zone one: objects in pool data; expected coded; fix: buckets look for their objects there")


def test_a_user_that_was_never_planned_keeps_its_quota(admin):
    other = {**STORE, "users": [{**RED_BUCKETS, "bytes": 0}]}
    [fault] = tell_store(see(store=other, recorded={}), other)[0]
    assert fault.startswith(
        "user red of object store one: is there, with a quota of 5 TB; expected no quota; fix: plan that, or rename"
    )
    assert tell_store(see(recorded={})) == ([], [], [])  # with the planned quota it may stay


def test_users_of_buckets_that_are_suspended_or_left_are_told(admin):
    admin.users |= {"red$red": {**USER, "suspended": 1}, "blue$blue": USER, "grey$grey": {**USER, "suspended": 1}}
    has = see(recorded={"object_users": ["one red$red", "one blue$blue", "one grey$grey", "one gone$gone", "old x$x"],
                        "object_stores": ["lab lab one", "far east old"]})  # fmt: skip
    whom = "--rgw-realm=lab --rgw-zonegroup=lab --rgw-zone=one"
    assert tell_store(has)[2] == [f"user red of object store one is suspended: radosgw-admin user enable --uid='red$red' {whom}"]
    told = [
        "user blue$blue of object store one, whose keys still open its buckets: "
        f"radosgw-admin user suspend --uid='blue$blue' {whom}",
        "user grey$grey of object store one, which is suspended, with its buckets",
    ]
    assert list(program.list_stale(want(object_stores=[STORE]), has)) == told
    has.pools = has.pools | {"old.rgw.meta": POOL}
    assert list(program.list_stale(want(object_stores=[STORE]), has)) == [
        *told,
        "object store old, with its buckets, and users whose keys still open them: "
        "radosgw-admin user list --rgw-realm=far --rgw-zonegroup=east --rgw-zone=old",
    ]


def test_what_is_not_planned_any_more_of_buckets_stays_in_the_record(admin, monkeypatch):
    kept = []
    monkeypatch.setattr(program, "run", lambda *words: kept.append(json.loads(words[-1])))
    admin.users["blue$blue"] = USER
    recorded = {"object_users": ["one blue$blue", "one gone$gone"], "object_stores": ["far east old"]}
    for pools, asked, users in (
        (ALL, [STORE], ["one blue$blue", "one red$red"]),
        ({"data": POOL}, [], []),  # of a cluster that has nothing of it any more
    ):
        program.keep_record(want(object_stores=asked), see(pools, recorded=recorded))
        assert kept[-1]["object_users"] == users
    unseen = live(pools=ALL, recorded=recorded)  # before there are OSDs
    program.keep_record(want(object_stores=[STORE]), unseen)
    assert kept[-1]["object_users"] == ["one blue$blue", "one gone$gone", "one red$red"]
    assert kept[-1]["object_stores"] == ["lab lab one"]


def test_gateways_are_told_where_they_belong_once_that_may_be():
    options = [{"who": "client.rgw.one", "name": "rgw_zone", "value": "one"}, {"who": "osd", "name": "x", "value": "1"}]
    assert program.leave_data(want(options=options))["options"] == options[1:]


def test_what_radosgw_admin_complains_of_is_told(monkeypatch):
    monkeypatch.setattr(program, "call", lambda *_: (5, "", "couldn't init storage provider\n"))
    with pytest.raises(SystemExit) as ended:
        program.ask_admin("user", "list", *program.name_store(STORE))
    assert ended.value.code == "radosgw-admin user list: couldn't init storage provider"
