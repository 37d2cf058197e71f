"""What forbids to make or to change a control plane, by what its servers said of themselves."""

import copy
import hashlib
import importlib
import sys
from pathlib import Path

import pytest
import yaml

from cluster_model.render.kubernetes.kubeadm import ETCD_BYTES

SERVERS = ["control-001", "control-002", "control-003"]
SECRET = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
KEY = hashlib.sha256(SECRET.encode()).hexdigest()[:16]
NEW = {
    "state": "none",
    "making": "",
    "running": False,
    "version": "",
    "parts": {},
    "serves": False,
    "name": "",
    "ca": "",
    "keys": [],
    "ready": False,
    "members": [],
}
DEFAULTS = Path(__file__).parents[3] / "roles/kubernetes_control/defaults/main.yml"
FREE_GB = yaml.safe_load(DEFAULTS.read_text("utf-8"))["kubernetes_control_free_gb"]
DISKS = ["/var/lib/etcd", "/var/backups/etcd"]
HOST = {"kubeadm": "v1.36.3", "endpoint": ["127.0.0.1"], "free": [[DISKS, 80.0]], "keepalived": ""}


@pytest.fixture
def judge(collection, monkeypatch):
    """Return the filter, as Ansible finds it."""
    monkeypatch.syspath_prepend(str(collection))
    name = "kubernetes_control_wrong"
    module = importlib.import_module(f"ansible_collections.gpuyard.cluster.plugins.filter.{name}")
    yield module.FilterModule().filters()[name]
    for name in [name for name in sys.modules if name.startswith("ansible_collections")]:
        del sys.modules[name]


ADMIN = "/etc/kubernetes/admin.conf"
PARTS = [
    "/etc/kubernetes/manifests/kube-apiserver.yaml",
    "/etc/kubernetes/manifests/etcd.yaml",
    ADMIN,
    "/etc/kubernetes/kubelet.conf",
    "/var/lib/etcd/member",
]


def be_remains(*parts, serves=False):
    """Return what a server says that has some parts of a cluster."""
    return {"state": "remains", "parts": {part: part in parts for part in PARTS}, "serves": serves}


def describe(having=(), down=(), play=SERVERS, looks=None, **about):
    """Return a control plane: who has the cluster, whose etcd is silent, who is in the play, and what else is otherwise."""
    members = [
        {"name": name, "id": "1", "peer": "", "learner": False, "answers": name not in down} for name in SERVERS if name in having
    ]
    found, hosts = {}, {}
    for number, name in enumerate(SERVERS, 1):
        found[name] = dict(NEW)
        if name in having:
            found[name] |= {"state": "member", "name": name, "ca": "aa", "keys": [KEY], "ready": name not in down}
            found[name]["version"] = "v1.36.3" if name not in down else ""
            found[name]["members"] = copy.deepcopy(members)
        other = (looks or {}).get(name, {})
        found[name] = {} if other is None else found[name] | {key: value for key, value in other.items() if key in NEW}
        if other is not None and name in play:
            host = HOST | {"addresses": ["127.0.0.1/8", f"10.0.0.{number}/24"]}
            hosts[name] = host | {key: value for key, value in other.items() if key in host}
    return {
        "cluster": {"kubernetesVersion": "v1.36.3", "controlPlaneEndpoint": "kubernetes.lab.example.net:7443"},
        "first": "control-001",
        "servers": SERVERS,
        "play": list(play),
        "nodes": {name: {"node": name, "address": f"10.0.0.{number}"} for number, name in enumerate(SERVERS, 1)},
        "looks": found,
        "hosts": hosts,
        "files": [{"path": "/etc/kubernetes/gpuyard/encryption.yaml", "content": f"  secret: '{SECRET}'\n"}],
        "router": "",
        "check": False,
        "free_gb": FREE_GB,
    } | about


GOOD = {
    "three new servers": describe(),
    "one has the cluster, two join": describe(having=SERVERS[:1]),
    "the first comes anew": describe(having=SERVERS[1:]),
    "one more in a play of its own": describe(having=SERVERS[:2], play=SERVERS[2:]),
    "all is as it should be": describe(having=SERVERS),
    "all is made, one is down, and nothing is to be made": describe(having=SERVERS, down=SERVERS[2:]),
    "half-made, its member of etcd silent": describe(
        having=SERVERS, down=SERVERS[2:], looks={"control-003": {"state": "half", "making": "join", "ca": "aa"}}
    ),
    "whole, though kubeadm was cut off": describe(having=SERVERS[:1], looks={"control-001": {"making": "init"}}),
    "a dry run on servers that lack all": describe(
        check=True,
        router="virtual_ipaddress {\n        10.0.0.10/24 dev eno1\n    }",
        looks={"control-001": {"kubeadm": "", "endpoint": []}, "control-002": {"kubeadm": "v1.35.7", "endpoint": ["10.0.0.9"]}},
    ),
    "a dry run of a join": describe(check=True, having=SERVERS[:1], looks={"control-002": {"kubeadm": "", "endpoint": []}}),
    "a join before the last server is upgraded": describe(
        having=SERVERS[:2],
        looks={
            "control-001": {"version": "v1.36.3"},
            "control-002": {"version": "v1.35.7"},
            "control-003": {"kubeadm": "v1.35.7"},
        },
    ),
    "an older minor version than kubeadm": describe(
        cluster={"kubernetesVersion": "v1.35.7", "controlPlaneEndpoint": "kubernetes.lab.example.net:7443"}
    ),
    "room on each of two disks": describe(looks={"control-001": {"free": [[DISKS[:1], 9.1], [DISKS[1:], 9.0]]}}),
    "an address that they share": describe(
        router="virtual_ipaddress {\n        10.0.0.10/24 dev eno1\n    }",
        looks={
            name: {"endpoint": ["10.0.0.10"], "keepalived": whose}
            for name, whose in zip(SERVERS, ("", "ours", "package"), strict=True)
        },
    ),
    "a keepalived of others, which is none of ours": describe(looks={"control-001": {"keepalived": "others"}}),
}


@pytest.mark.parametrize("name", GOOD)
def test_what_can_be_done_is_not_refused(name, judge):
    assert judge(GOOD[name]) == []


BAD = {
    "no secret": (
        describe(files=[{"path": "e", "content": "secret: '{{gpuyard-secret:kubernetes-encryption}}'"}]),
        "kubernetes_control_secrets: no kubernetes-encryption; expected kubernetes-encryption, which the rendered files name",
    ),
    "another secret than the cluster's": (
        describe(having=SERVERS, looks={"control-002": {"keys": ["0123456789abcdef"]}}),
        "control-002: encryption.yaml: another key; expected a key that this run has too; fix: give",
    ),
    "no kubeadm": (
        describe(looks={"control-001": {"kubeadm": ""}}),
        "control-001: kubeadm: not there; expected v1.36.3, or the minor version after it; fix: name",
    ),
    "an older kubeadm": (
        describe(looks={"control-001": {"kubeadm": "v1.35.7"}}),
        "control-001: kubeadm: v1.35.7; expected v1.36.3, or the minor version after it; fix: name",
    ),
    "kubeadm is newer than the cluster": (
        describe(having=SERVERS[:2], looks={"control-002": {"version": "v1.35.7"}}),
        "control-003: kubeadm: v1.36.3; expected v1.35, since control-002 has v1.35.7; fix: join it after the upgrade, or "
        'say version: "1.35" under kubernetes in the intent, and render',
    ),
    "kubeadm is newer than the cluster, which the plan agrees with": (
        describe(
            having=SERVERS[:2],
            looks={name: {"version": "v1.35.7"} for name in SERVERS[:2]},
            cluster={"kubernetesVersion": "v1.35.7", "controlPlaneEndpoint": "kubernetes.lab.example.net:7443"},
        ),
        "control-003: kubeadm: v1.36.3; expected v1.35, since control-001 has v1.35.7; fix: ",
    ),
    "kubeadm is older than the cluster": (
        describe(having=SERVERS[:2], looks={"control-003": {"kubeadm": "v1.35.7"}}),
        "control-003: kubeadm: v1.35.7; expected v1.36, since control-001 has v1.36.3; fix: say",
    ),
    "a dry run of a join with a plan that is ahead": (
        describe(
            having=SERVERS[:2],
            check=True,
            looks={"control-001": {"version": "v1.35.7"}, "control-002": {"version": "v1.35.7"}, "control-003": {"kubeadm": ""}},
        ),
        "control-003: kubeadm: v1.36.3; expected v1.35, since control-001 has v1.35.7; fix: ",
    ),
    "kubeadm runs": (
        describe(looks={"control-001": {"state": "half", "making": "init", "running": True}}),
        "control-001: kubeadm: one runs there now; expected none, since a run that was cut off may go on; fix: ",
    ),
    "an address that it will not have in a real run either": (
        describe(check=True, looks={"control-002": {"addresses": ["10.0.0.9/24"]}}),
        "control-002: addresses: 10.0.0.9/24; expected 10.0.0.2",
    ),
    "an endpoint outside of its network": (
        describe(
            router="virtual_ipaddress {\n        10.9.0.10/24 dev eno1\n    }",
            looks={name: {"endpoint": ["10.9.0.10"]} for name in SERVERS},
        ),
        "control-001: kubernetes.endpoint.address: 10.9.0.10; expected an address in a network of the server: 127.0.0.1/8, "
        "10.0.0.1/24; fix: choose one of the subnet of the control servers, or mode local",
    ),
    "an endpoint that leads elsewhere": (
        describe(
            router="virtual_ipaddress {\n        10.0.0.10/24 dev eno1\n    }",
            looks={name: {"endpoint": ["10.0.0.9"]} for name in SERVERS},
        ),
        "control-001: kubernetes.lab.example.net: 10.0.0.9; expected 10.0.0.10; fix: have the name's address changed",
    ),
    "a keepalived that holds another address": (
        describe(
            router="virtual_ipaddress {\n        10.0.0.10/24 dev eno1\n    }",
            looks={name: {"endpoint": ["10.0.0.10"], "keepalived": "others"} for name in SERVERS},
        ),
        "control-001: /etc/keepalived/keepalived.conf: not ours; expected a keepalived for the API server's address alone;",
    ),
    "a name without an address": (
        describe(looks={"control-002": {"endpoint": []}}),
        "control-002: kubernetes.lab.example.net: no address; expected an address of that name; fix: run",
    ),
    "another cluster's CA": (
        describe(having=SERVERS, looks={"control-003": {"state": "none", "ca": "bb", "name": ""}}),
        "control-003: /etc/kubernetes/pki/ca.crt: another cluster's CA; expected the CA of control-001, control-002; fix: if",
    ),
    "two clusters": (
        describe(having=SERVERS[:2], looks={"control-002": {"ca": "bb"}}),
        "control-001, control-002: /etc/kubernetes/pki/ca.crt: CAs of several clusters; expected one CA; fix: see which cluster",
    ),
    "a first server that came back with a cluster of its own, where nothing is to be made": (
        describe(having=SERVERS, looks={"control-001": {"ca": "bb"}}),
        "control-001: /etc/kubernetes/pki/ca.crt: another cluster's CA; expected the CA of control-002, control-003; fix: if "
        "that is the right cluster, run kubeadm reset --force on control-001, then run again",
    ),
    "quorum": (
        describe(having=SERVERS[:2], down=["control-002"]),
        "etcd: 1 of 2 members answer, not control-002; expected all but control-003, before the number of members changes; fix: ",
    ),
    "no API server": (
        describe(having=SERVERS[:2], down=SERVERS[:2]),
        "control-001, control-002: no API server answers; expected one that does, before others join; fix: see journalctl",
    ),
    "another node's name": (
        describe(having=SERVERS, looks={"control-002": {"name": "master-2"}}),
        "control-002: node's name: master-2; expected control-002; fix: rename it back in the plan, or take it out",
    ),
    "not its address": (
        describe(looks={"control-002": {"addresses": ["10.0.0.9/24"]}}),
        "control-002: addresses: 10.0.0.9/24; expected 10.0.0.2, which its API server is to listen on; fix: run",
    ),
    "no room": (
        describe(looks={"control-001": {"free": [[DISKS, 17.4]]}}),
        "control-001: /var/lib/etcd and /var/backups/etcd: 17.4 GB free; expected 18 GB or more; fix: make room",
    ),
    "no room on one of two disks": (
        describe(looks={"control-001": {"free": [[DISKS[:1], 40.0], [DISKS[1:], 3.0]]}}),
        "control-001: /var/backups/etcd: 3 GB free; expected 9 GB or more; fix: make room",
    ),
    "remains of something": (
        describe(looks={"control-003": be_remains("/var/lib/etcd/member")}),
        "control-003: only /var/lib/etcd/member; expected a whole control server, or nothing of one; fix: complete it by hand, "
        "or run there: kubeadm reset --force; rm -rf /var/lib/etcd/member",
    ),
    "no admin.conf": (
        describe(looks={"control-003": be_remains(*(part for part in PARTS if part != ADMIN))}),
        "control-003: no /etc/kubernetes/admin.conf; expected it, by which this role speaks to the cluster; fix: put it back, or "
        "have it made again, there: kubeadm init phase kubeconfig admin --control-plane-endpoint=kubernetes.lab.example.net:7443 "
        "--apiserver-advertise-address=10.0.0.3 --kubernetes-version=v1.36.3",
    ),
    "a part lacks of what answers": (
        describe(looks={"control-003": be_remains(*PARTS[:3], serves=True)}),
        "control-003: no /etc/kubernetes/kubelet.conf, /var/lib/etcd/member, and an API server that answers; expected a whole",
    ),
    "a member that was taken out and came back": (
        describe(having=SERVERS[:2], looks={"control-003": {"state": "member", "name": "control-003", "ca": "aa"}}),
        "control-003: etcd: no member control-003 on control-001; expected it among etcd's members; fix: take it out whole, then "
        "run again, and it joins: playbooks/kubernetes_remove.yml -e node=control-003",
    ),
    "nobody knows whether one has the cluster": (
        describe(looks={"control-003": None}),
        "control servers: control-003: no answer; expected an answer of each, since none other has the cluster; fix: bring",
    ),
    "the first is not in the play": (
        describe(play=SERVERS[1:]),
        "play: control-002, control-003; expected control-001 in it, on which the cluster is made; fix: leave out --limit",
    ),
    "another order than the plan's": (
        describe(first="control-003"),
        "kubernetes_control_servers: control-001; expected control-003 first, which init.yaml is made for; fix: give the servers",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_work_is_refused(name, judge):
    about, words = BAD[name]
    found = judge(about)
    assert any(fault.startswith(words) for fault in found), found
    assert SECRET not in str(found)


@pytest.mark.parametrize("serves", [False, True])
def test_nobody_is_told_to_remove_what_runs_or_could(judge, serves):
    """As where admin.conf was moved off all servers, as some do to keep it from who breaks in."""
    whole = be_remains(*(part for part in PARTS if part != ADMIN), serves=serves)
    found = judge(describe(looks=dict.fromkeys(SERVERS, whole)))
    assert len(found) == 3 and all("no /etc/kubernetes/admin.conf" in fault for fault in found)
    assert "rm -rf" not in str([*found, *judge(describe(looks={"control-002": be_remains(*PARTS[:2], serves=True)}))])


SILENT = {
    "all answer": (describe(having=SERVERS), []),
    "there is no cluster": (describe(looks={"control-003": None}), []),
    "a server is off": (describe(having=SERVERS, looks={"control-003": None}), ["control-003 (no answer at all)"]),
    "an API server is down": (describe(having=SERVERS, down=SERVERS[2:]), ["control-003 (no answer of its API server)"]),
    "a member of etcd is down": (
        describe(having=SERVERS, down=SERVERS[2:], looks={"control-003": {"ready": True}}),
        ["control-003 (no answer of its etcd)"],
    ),
    "a member that the plan does not have": (
        describe(having=SERVERS[:1], looks={"control-001": {"members": [{"name": "old", "peer": "", "answers": False}]}}),
        ["old (no answer of its etcd)"],
    ),
    "one that this run makes anew": (
        describe(having=SERVERS, down=SERVERS[2:], looks={"control-003": {"state": "half", "making": "join"}}),
        [],
    ),
    "one that would be made anew without --limit": (
        describe(having=SERVERS, down=SERVERS[2:], play=SERVERS[:2], looks={"control-003": {"state": "none"}}),
        ["control-003 (no answer of its etcd)"],
    ),
}


@pytest.mark.parametrize("name", SILENT)
def test_what_does_not_answer_is_told_and_forbids_nothing(name, judge):
    about, told = SILENT[name]
    assert judge({key: about[key] for key in ("servers", "play", "nodes", "looks")}, "silent") == told


@pytest.mark.parametrize(
    ("about", "words"),
    [
        (describe(having=SERVERS, down=SERVERS[1:]), None),
        (describe(), "kubernetes_control_servers: control-001, control-002, control-003; expected one of them whose API server"),
        (describe(check=True), None),
        (
            describe(having=SERVERS, check=True, looks={"control-001": {"ca": "bb"}}),
            "control-001: /etc/kubernetes/pki/ca.crt: another cluster's CA; expected the CA of control-002, control-003",
        ),
    ],
)
def test_nothing_is_said_to_a_cluster_that_is_not_there_or_not_the_one(judge, about, words):
    found = judge({key: about[key] for key in ("servers", "looks", "check")}, "speaker")
    assert (len(found) == 1 and found[0].startswith(words)) if words else found == [], found


def test_a_server_that_is_down_forbids_nothing_where_nothing_is_made(judge):
    assert judge(describe(having=SERVERS, looks={"control-003": None})) == []


def test_the_room_that_is_asked_for_holds_etcd_at_its_quota():
    assert FREE_GB * 1e9 >= ETCD_BYTES
