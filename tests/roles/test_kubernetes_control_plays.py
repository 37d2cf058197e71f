"""The role kubernetes_control and its playbooks played on this machine, with doubles of what they run; nothing is changed."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from roles import ROOT
from tests.slowness import stretch

CONTROL = ["control-001", "control-002", "control-003"]
PROGRAM = """import os, pathlib, sys
folder = pathlib.Path(os.environ["GPUYARD_FOLDER"])
with (folder / "told").open("a") as file:
    file.write(" ".join(["program", os.environ["GPUYARD_HOST"], *sys.argv[1:]]) + "\\n")
print((folder / os.environ["GPUYARD_HOST"] / "look").read_text() if sys.argv[1] == "look" else "2")
"""
DOUBLE = """#!/bin/sh
echo "{name} $GPUYARD_HOST $*" >>$GPUYARD_FOLDER/told
{body}
"""
KEY = "ab" * 32


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Return the rendered tree of the lab."""
    build = tmp_path_factory.mktemp("build") / "lab"
    command = [sys.executable, "-m", "cluster_model.cli", "render", ROOT / "inventory/lab", "--output", build]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return build


def describe(name, /, **other):
    """Return what a control server says of itself; it has the cluster, and etcd is whole."""
    members = [{"name": each, "id": "1", "peer": "", "learner": False, "answers": True} for each in CONTROL]
    return {
        "state": "member",
        "making": "",
        "parts": {"/etc/kubernetes/admin.conf": True, "/etc/kubernetes/kubelet.conf": True},
        "serves": True,
        "name": name,
        "ca": "aa",
        "keys": [],
        "running": False,
        "version": "v1.36.3",
        "ready": True,
        "members": members,
    } | other


WORKER = describe("gpu-001", state="remains", version="", ready=False, members=[])
NEW = {"state": "none", "name": "", "ca": "", "parts": {}, "serves": False, "version": "", "ready": False, "members": []}


@pytest.fixture
def play(tree, tmp_path, collection):
    """Return a function that plays a playbook on the lab's servers; those without a look are off."""

    def run(playbook, looks, *options, **doubles):
        hosts = {}
        for name in [*CONTROL, "gpu-001"]:
            place = tmp_path / name
            place.mkdir()
            (place / "look").write_text(json.dumps(looks.get(name)))
            # A task that is delegated has the Python of the other server, and nothing else of it.
            own = f"GPUYARD_HOST={name} GPUYARD_FOLDER={tmp_path} PATH={tmp_path}/bin:$PATH"
            (place / "python").write_text(f'#!/bin/sh\nexport {own}\nexec {sys.executable} "$@"\n')
            (place / "python").chmod(0o755)
            hosts[name] = {"gpuyard_name": name, "ansible_become": False, "ansible_python_interpreter": str(place / "python")}
            hosts[name] |= {"ansible_connection": "local"} if name in looks else {"ansible_host": "127.0.0.1", "ansible_port": 1}
        (tmp_path / "bin").mkdir()
        for name, body in doubles.items():
            (tmp_path / "bin" / name).write_text(DOUBLE.format(name=name, body=body))
            (tmp_path / "bin" / name).chmod(0o755)
        groups = {
            "kubernetes_control": {"hosts": {name: {} for name in CONTROL}},
            "servers": {"hosts": {name: {} for name in hosts}},
        }
        (tmp_path / "hosts.json").write_text(
            json.dumps({"all": {"vars": {"gpuyard_cluster": "lab"}, "hosts": hosts, "children": groups}})
        )
        given = {"__kubernetes_control_program": PROGRAM, "kubernetes_control_tree": str(tree)}
        given["kubernetes_control_free_gb"] = 0  # this machine's disk is no control server's
        given["kubernetes_control_secrets"] = {"kubernetes-encryption": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}
        (tmp_path / "given.json").write_text(json.dumps(given))
        (tmp_path / "told").touch()
        if not isinstance(playbook, Path):
            (tmp_path / "play.yml").write_text(json.dumps(playbook))
            playbook = tmp_path / "play.yml"
        environment = {**os.environ, "ANSIBLE_CONFIG": str(tmp_path / "none.cfg"), "ANSIBLE_HOME": str(tmp_path / "home")}
        environment |= {"ANSIBLE_COLLECTIONS_PATH": str(collection), "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml"}
        command = [Path(sys.executable).parent / "ansible-playbook", *options, "-e", "@given.json", "-i", "hosts.json", playbook]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=stretch(300)
        )
        return done.returncode, " ".join((done.stdout + done.stderr).split()), (tmp_path / "told").read_text()

    return run


# --- Taking a node out

REMOVE = ROOT / "playbooks/kubernetes_remove.yml"
CLUSTER = {name: describe(name) for name in CONTROL}
KUBECTL = """case "$*" in
  *"get node"*) printf '%s' "{node}" ;;
  *drain*dry-run*) ;;
  *drain*) echo "error: pods stay" >&2; exit 1 ;;
esac"""
"""It knows a node, and refuses to drain it."""


def test_check_mode_tells_each_step_and_takes_none(play):
    looks = CLUSTER | {"control-003": describe("control-003")}
    code, said, told = play(REMOVE, looks, "--check", "-e", "node=control-003", kubectl=KUBECTL.format(node="control-003 "))
    assert code == 0, said[-3000:]
    assert "control-003 would be drained, reset, taken out of etcd, deleted" in said
    assert not re.search(r"kubeadm|leave|delete|uncordon|drain (?!.*--dry-run)", told), told


def test_what_is_not_there_is_told(play):
    code, said, _ = play(REMOVE, CLUSTER, "-e", "node=gpu-009 server=lost", kubectl=KUBECTL.format(node=""))
    assert code == 0, said[-3000:]
    assert "gpu-009 is not there: nothing to do" in said


REFUSED = {
    "another cluster's server": (
        {"gpu-001": WORKER | {"ca": "bb", "name": "gpu-007"}},
        "gpu-001: /etc/kubernetes/pki/ca.crt is of another cluster; expected the CA of control-001; fix: -e server=lost takes "
        "the node out of this cluster, and leaves the server as it is gpu-001: its kubelet is node gpu-007; expected gpu-001",
    ),
    "a server that is off": (
        {},
        "Connection refused); expected one, since it is to be reset; fix: bring it up, or, where it never comes back, say -e",
    ),
    "an etcd that does not list its members": (
        {"gpu-001": WORKER, "control-001": describe("control-001", members=[])},
        "etcd: control-001 does not list its members; expected them, since the majority has to stay; fix: see crictl ps -a",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_removal_is_refused(play, name):
    """In check mode too, which is what these run in: without the refusal this machine would be cleared."""
    looks, words = REFUSED[name]
    code, said, told = play(REMOVE, CLUSTER | looks, "--check", "-e", "node=gpu-001", kubectl=KUBECTL.format(node="gpu-001 "))
    assert code != 0, said[-3000:]
    assert words in said, said[-3000:]
    assert "drain" not in told


def test_a_server_of_the_same_cluster_without_a_node_is_reset(play):
    code, said, _ = play(REMOVE, CLUSTER | {"gpu-001": WORKER}, "--check", "-e", "node=gpu-001", kubectl=KUBECTL.format(node=""))
    assert code == 0, said[-3000:]
    assert "gpu-001 would be reset" in said


def test_a_control_server_is_found_by_the_name_that_it_joined_by(play):
    looks = CLUSTER | {"control-003": describe("master-3")}
    code, said, _ = play(REMOVE, looks, "--check", "-e", "node=master-3", kubectl=KUBECTL.format(node="master-3 "))
    assert code == 0, said[-3000:]
    assert "master-3 would be drained, reset, deleted" in said


@pytest.mark.parametrize("cordoned", [False, True])
def test_a_node_that_someone_cordoned_stays_so(play, cordoned):
    node = KUBECTL.format(node="gpu-001 true" if cordoned else "gpu-001 ")
    code, said, told = play(REMOVE, CLUSTER, "-e", "node=gpu-001 server=lost", kubectl=node)
    assert code != 0, said[-3000:]
    assert ("and the node takes none, as before: error: pods stay" if cordoned else "and the node takes pods again:") in said
    assert ("uncordon gpu-001" in told) is not cordoned


def test_a_limit_that_leaves_no_control_server_is_refused(play):
    code, said, told = play(REMOVE, CLUSTER | {"gpu-001": WORKER}, "--limit", "gpu-001", "-e", "node=gpu-001")
    assert code != 0, said[-3000:]
    assert "--limit gpu-001: no control server; expected one of control-001, control-002, control-003" in said
    assert told == ""


# --- Making servers


def make(play, looks, *options, **doubles):
    """Run the role in check mode, on servers that have their planned address and no units."""
    doubles["ip"] = 'echo "inet 10.72.128.$((2 + ${GPUYARD_HOST#control-00}))/20"'
    doubles["kubeadm"] = "echo v1.36.3"
    doubles["systemctl"] = "while [ $1 != -- ]; do shift; done; shift; for unit; do printf 'LoadState=not-found\\n\\n'; done"
    body = [{"hosts": "kubernetes_control", "gather_facts": False, "roles": ["gpuyard.cluster.kubernetes_control"]}]
    return play(body, looks, "--check", *options, **doubles)


def test_a_server_that_is_off_is_left_out_and_told(play):
    looks = {"control-002": describe("control-002"), "control-003": describe("control-003", **NEW)}
    code, said, _ = make(play, looks)
    assert "left out: control-001 (no answer at all)." in said, said[-3000:]
    assert "not begun" not in said and "msg: join the cluster" in said
    assert "failed=0" in said and "failed=1" not in said and code == 4  # of the server that is off


HALF = NEW | {"state": "half", "making": "init", "ca": "aa"}


@pytest.mark.parametrize(("lived_s", "asked"), [(600, False), (360000, True), (360000, False)])
def test_a_cluster_that_was_in_use_is_reset_only_where_one_says_so(play, lived_s, asked):
    looks = {name: describe(name, **(HALF if name == CONTROL[0] else NEW)) for name in CONTROL}
    options = ["-e", "kubernetes_control_reset=true"] if asked else []
    code, said, _ = make(play, looks, *options, stat=f"echo 1790000000; echo {1790000000 + lived_s}")
    if lived_s < 3600 or asked:
        assert code == 0, said[-3000:]
        assert "reset, since kubeadm init did not come to its end, then make the cluster" in said
    else:
        assert code != 0
        assert (
            "its etcd was in use for 100.0 hours after; expected less than one, since a reset would delete a cluster; fix:"
            in said
        )
        assert "-e kubernetes_control_reset=true resets it" in said
        assert "then make the cluster" not in said


def test_a_server_whose_cluster_others_have_is_reset_unasked(play):
    looks = {name: describe(name, **(HALF if name == CONTROL[2] else {})) for name in CONTROL}
    code, said, told = make(play, looks, stat="echo 1790000000; echo 1799999999")
    assert code == 0, said[-3000:]
    assert "reset, since kubeadm init did not come to its end, then join the cluster" in said
    assert "stat" not in told


# --- Joining


def join(play, kubeadm):
    """Have control-003 join by control-002, as far as this machine lets it."""
    task = {"ansible.builtin.include_role": {"name": "gpuyard.cluster.kubernetes_control", "tasks_from": "join"}}
    body = [{"hosts": "control-003", "gather_facts": False, "tasks": [task]}]
    looks = {"control-002": {}, "control-003": {}}
    return play(body, looks, "-e", "__kubernetes_control_source=control-002", kubeadm=kubeadm)


def test_why_keys_were_not_uploaded_is_told_and_they_are_not(play):
    code, said, _ = join(play, f"cat >/dev/null; echo {KEY}; echo no space left, {KEY} >&2; exit 1")
    assert code != 0
    assert (
        "control-002: kubeadm init phase upload-certs: no space left, ...; expected the CAs' keys to lie ready for control-003"
        in said
    )
    assert KEY not in said


def test_keys_are_uploaded_by_the_address_of_the_server_that_has_them(play, tmp_path):
    """Where there is no default route kubeadm knows no other one. That this machine has no admin.conf is told."""
    code, said, told = join(play, f"cat >$GPUYARD_FOLDER/config; echo {KEY}")
    assert code != 0
    assert "kubeadm control-002 init phase upload-certs --upload-certs --config=/dev/stdin" in told
    config = (tmp_path / "config").read_text()
    assert "advertiseAddress: 10.72.128.4" in config and "kind: ClusterConfiguration" in config
    assert "No such file or directory: '/etc/kubernetes/admin.conf'; expected a token to join with; fix: see to it" in said
    assert KEY not in said
