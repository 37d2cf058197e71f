"""What the role kubernetes_node finds wrong with a host, and chooses for it: hosts that no container here is.

Its own variables and templates, and container_toolkit's, are evaluated by Ansible for hosts whose look is given.
"""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from roles import ROOT, read, read_defaults
from tests.slowness import stretch

TEMPLATES = ROOT / "roles/kubernetes_node/templates"
ASKED = {
    "kubernetes_node": {
        "wrong": f"{{{{ lookup('ansible.builtin.template', '{TEMPLATES}/wrong.yml.j2') | from_json }}}}",
        "drop_in": f"{{{{ lookup('ansible.builtin.template', '{TEMPLATES}/containerd.toml.j2') }}}}",
        "cannot_join": f"{{{{ lookup('ansible.builtin.template', '{TEMPLATES}/cannot_join.yml.j2') | from_json }}}}",
        "state": "{{ __kubernetes_node_state if __kubernetes_node_answers else '' }}",
        "lacks": "{{ __kubernetes_node_lacks }}",
        "held": "{{ __kubernetes_node_held }}",
        "free": "{{ __kubernetes_node_free }}",
        "swap": "{{ __kubernetes_node_swap }}",
        "locked": "{{ __kubernetes_node_locked }}",
        "sources": "{{ __kubernetes_node_sources }}",
    },
    "container_toolkit": {
        "package": "{{ container_toolkit_engine_packages.containerd }}",
        "locked": "{{ __container_toolkit_locked }}",
        "sources": "{{ __container_toolkit_engine_sources }}",
    },
}
NODE = {
    "gpuyard_name": "gpu-001",
    "gpuyard_kubernetes_node": {"address": "10.0.0.1", "control": False, "worker": True, "patches": ""},
    "gpuyard_kubernetes": {
        "release": "1.36.3",
        "pause": "registry.example.net/registry.k8s.io/pause:3.10.2",
        "endpoint": {"mode": "local", "name": "kubernetes.example.net", "address": "127.0.0.1", "port": 7443},
    },
    "kubernetes_node_tree": "/srv/build/none",
    "versions_container_toolkit": "1.18.1-1",
}
NONE = {
    **{"present": False, "version": "", "containers": {}, "systemd_cgroup": "", "imports": [], "config_version": 0},
    **{"pause": "", "registries": []},
}
LOOK = {
    **{"family": "debian", "hostname": "gpu-001", "cgroup": 2, "swap": [], "packages": [], "sources": [], "named": []},
    **{"proxy": "", "server": "", "ca": "", "remains": [], "making": False, "containerd": NONE},
    **{"kubelet": False, "firewalls": []},
    "join": hashlib.sha256().hexdigest(),
}


def answer(version="v1.36.3", **about):
    """Return variables of a host whose control server said this."""
    said = {"ca": "", "version": version, "away": ["gpu-001"], "other": [], "unseated": {}} | about
    return {"__kubernetes_node_asked": {"results": [{"item": "control-001", "rc": 0, "stdout": json.dumps(said)}]}}


UNSEATED = {"unseated": {"gpu-001": ["rail0 10.64.0.2/31", "rail1 10.66.0.2/31"]}}
JOINED = {"server": "https://kubernetes.example.net:7443", "packages": [["kubelet", "1.37.0", "hi"]]}


def have(package, version, **containerd):
    """Return a look at a host that has this containerd."""
    brought = [[package, f"{version}.1", "ii"]] if package else []
    return {"packages": brought, "containerd": NONE | {"present": True, "version": version} | containerd}


CONF = "/etc/containerd/config.toml: [plugins.'io.containerd.cri.v1.images'.registry.mirrors.'docker.io']"
UNREADABLE = {"remains": ["var/lib/kubelet/config.yaml"], "kubelet": True}
PODS = {"containerd": NONE | {"containers": {"k8s.io": 9}}}
CONTROL = {"gpuyard_kubernetes_node": NODE["gpuyard_kubernetes_node"] | {"control": True}}
OTHER_PAUSE = "registry.k8s.io/pause:3.9"
PREPARED = {"packages": [["kubelet", "1.35.7", "hi"], ["kubeadm", "1.36.3", "hi"], ["kubectl", "1.35.7", "ii"]]}
TOOLKIT = [["libnvidia-container1", "1.17.8-1", "hi"], ["nvidia-container-toolkit", "1.18.1-1", "ii"]]
HOSTS = {
    "nothing": ({}, {}),
    "distributions-own": ({}, {"kubernetes_node_containerd_package": "containerd"}),
    "debian": (have("containerd", "1.6"), {}),
    "debian-in-use": (have("containerd", "1.6", containers={"default": 1, "k8s.io": 3}), {}),
    "debian-by-choice": (have("containerd", "1.7"), {"kubernetes_node_containerd_package": "containerd"}),
    "docker": (have("containerd.io", "1.7"), {}),
    "rocky": (have("containerd.io", "1.7") | {"family": "redhat"}, {}),
    "by-hand": (have("", "1.7"), {}),
    "older-kubernetes": (have("containerd", "1.6"), {"kubernetes_node_version": "1.35.7"}),
    "new": (have("containerd", "2.2"), {}),
    "new-with-an-older-file": (have("containerd.io", "2.3", config_version=2), {}),
    "new-with-a-newer-file": (have("containerd.io", "2.3", config_version=4), {}),
    # What the control servers say
    "same-version": ({}, answer("v1.36.0")),
    "newer-cluster": ({}, answer("v1.37.1")),
    "older-cluster": ({}, answer("v1.35.7")),
    "older-cluster-joined": (JOINED, answer("v1.35.7", away=[])),
    "unseated": ({}, answer(**UNSEATED)),
    "unseated-with-other-labels": (JOINED, answer(away=[], other=["gpu-001"], **UNSEATED)),
    "unseated-and-right": (JOINED, answer(away=[], **UNSEATED)),
    # A node whose kubelet.conf cannot be read
    "unreadable": (UNREADABLE, answer(away=[])),
    "unreadable-with-pods": (UNREADABLE | PODS | {"kubelet": False}, answer(away=[])),
    "unreadable-and-still": (UNREADABLE | {"kubelet": False}, answer(away=[])),
    "unreadable-control": (UNREADABLE, CONTROL | {"kubernetes_node_reset": True}),
    "unreadable-to-be-reset": (UNREADABLE | PODS, answer(away=[]) | {"kubernetes_node_reset": True}),
    "cut-off": (UNREADABLE | PODS | {"making": True}, answer(away=[])),
    # What filters, what containerd is told of registries, what a node has
    "firewalld": ({"firewalls": ["firewalld"], "family": "redhat"}, CONTROL),
    "ufw": ({"firewalls": ["ufw"]}, {}),
    "opened": ({"firewalls": ["ufw", "firewalld"]}, {"kubernetes_node_firewall_opened": "true"}),
    "registries": (have("containerd.io", "2.3", registries=[CONF]), {}),
    "joined-with-another-pause": (JOINED | {"containerd": NONE | {"pause": OTHER_PAUSE}}, {}),
    "prepared-with-another-pause": ({"containerd": NONE | {"pause": OTHER_PAUSE}}, {}),
    "joined-without": (JOINED, {}),
    "prepared": (PREPARED, {}),
    # What `-e name=false` gives
    "texts": (
        JOINED | {"swap": ["/dev/sda2"]},
        answer("v1.37.0") | {f"kubernetes_node_{name}": "false" for name in ("hold", "reset", "swap_off")},
    ),
    "true-texts": (
        JOINED | {"swap": ["/dev/sda2"]},
        answer("v1.37.0") | {f"kubernetes_node_{name}": "true" for name in ("hold", "reset", "swap_off")},
    ),
}


@pytest.fixture(scope="module")
def chosen(collection, tmp_path_factory):
    """Return what each role finds and chooses for each host, by role and host."""
    folder = tmp_path_factory.mktemp("choices")
    groups, plays = {}, []
    for role, asked in ASKED.items():
        files = [ROOT / "roles" / role / kind / "main.yml" for kind in ("defaults", "vars")]
        variables = {name: value for file in files for name, value in read(file).items()} | NODE
        hosts = {
            f"{role}-{name}": {
                "__kubernetes_node_looked": {"stdout": json.dumps(LOOK | look)},
                "__kubernetes_node_asked": {"results": [{"item": "control-001", "rc": 1, "stderr": "no cluster"}]},
                "__container_toolkit_looked": {
                    "stdout": json.dumps({"packages": TOOLKIT, "containerd": (LOOK | look)["containerd"]})
                },
            }
            | own
            for name, (look, own) in HOSTS.items()
        }
        looked = {"__container_toolkit_looked": {"stdout": json.dumps({"packages": [], "containerd": NONE})}}
        hosts |= {"container_toolkit-no-node": {"gpuyard_kubernetes_node": {}} | looked} if role == "container_toolkit" else {}
        groups[role] = {"vars": variables, "hosts": hosts}
        plays.append({"hosts": role, "gather_facts": False, "tasks": [{"ansible.builtin.debug": {"msg": asked}}]})
    (folder / "hosts.json").write_text(json.dumps({"all": {"children": groups}}))
    (folder / "play.yml").write_text(json.dumps(plays))
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(folder / "none.cfg"),
        "ANSIBLE_HOME": str(folder / "home"),
        "ANSIBLE_COLLECTIONS_PATH": str(collection),
        "ANSIBLE_CALLBACKS_ENABLED": "ansible.builtin.tree",
        "ANSIBLE_CALLBACK_TREE_DIR": str(folder / "chosen"),
    }
    command = [Path(sys.executable).parent / "ansible-playbook", "-i", folder / "hosts.json", folder / "play.yml"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=stretch(600))
    assert done.returncode == 0, done.stdout[:3000] + done.stdout[-3000:] + done.stderr[-3000:]
    said = {file.name: json.loads(file.read_text())["msg"] for file in (folder / "chosen").glob("*")}
    return {role: {name.removeprefix(f"{role}-"): said[name] for name in said if name.startswith(role)} for role in ASKED}


def test_both_roles_install_the_same_containerd_on_a_node(chosen):
    """site.yml comes first, with container_toolkit: what it installs, kubernetes.yml must not refuse."""
    toolkit, node = chosen["container_toolkit"], chosen["kubernetes_node"]
    assert toolkit["nothing"]["package"] == read_defaults("kubernetes_node")["kubernetes_node_containerd_package"]
    assert toolkit["nothing"]["package"] in node["nothing"]["lacks"]
    assert "docker" in toolkit["nothing"]["sources"] and "docker" in node["nothing"]["sources"]
    assert toolkit["distributions-own"]["package"] == "containerd" and "containerd" in node["distributions-own"]["lacks"]
    assert toolkit["distributions-own"]["sources"] == []
    assert toolkit["no-node"] == {"package": "containerd", "sources": [], "locked": []}


def test_no_key_is_asked_for_where_a_containerd_stays(chosen):
    assert chosen["container_toolkit"]["debian"]["sources"] == []
    assert chosen["kubernetes_node"]["debian"]["sources"] == ["kubernetes-1.36"]


def test_packages_come_from_the_source_of_the_minor_version(chosen):
    assert chosen["kubernetes_node"]["nothing"]["sources"] == ["kubernetes-1.36", "docker"]


REFUSED = {
    "debian": ("1.6", "apt-get purge --allow-change-held-packages containerd there; then run again"),
    "debian-in-use": (
        "1.6",
        "take it out of service, since containers run there, which end (default: 1, k8s.io: 3); then apt-get purge "
        "--allow-change-held-packages containerd there; then run again",
    ),
    "debian-by-choice": (
        "1.7",
        "set kubernetes_node_containerd_package to containerd.io; then apt-get purge --allow-change-held-packages containerd "
        "there; then run again",
    ),
    "docker": ("1.7", "apt-get install --allow-change-held-packages containerd.io there; then run again"),
    "rocky": ("1.7", "dnf --disableplugin=versionlock upgrade containerd.io there; then run again"),
    "by-hand": ("1.7", "remove the program containerd there, which no package of ours brought; then run again"),
}


@pytest.mark.parametrize("name", HOSTS)
def test_a_containerd_that_is_too_old_is_refused_with_the_way_out(name, chosen):
    told = [line for line in chosen["kubernetes_node"][name]["wrong"] if "expected 2.0 or newer" in line]
    version, fix = REFUSED.get(name, ("", ""))
    said = f"containerd {version}; expected 2.0 or newer, since Kubernetes 1.36.3 supports none older; fix: {fix}"
    assert told == ([f"kubernetes_node-{name}: {said}"] if fix else [])


@pytest.mark.parametrize(
    ("name", "version"), [("nothing", 3), ("docker", 2), ("new", 3), ("new-with-an-older-file", 2), ("new-with-a-newer-file", 3)]
)
def test_the_drop_in_file_is_of_containerds_version(name, version, chosen):
    """Where there is none, as in check mode on a new server, it is of the one that is installed; newer than config.toml never."""
    assert f"\nversion = {version}\n" in chosen["kubernetes_node"][name]["drop_in"]


SKEW = (
    "kubelet 1.36.3; expected 1.35 or older, since the API server of control-001 is v1.35.7; fix: upgrade the control servers "
    'first, or set kubernetes.version: "1.35" in the intent, render, and run playbooks/kubernetes.yml again'
)


@pytest.mark.parametrize("name", HOSTS)
def test_a_kubelet_newer_than_the_api_server_is_neither_installed_nor_joins(name, chosen):
    found = chosen["kubernetes_node"][name]
    for told in (found["wrong"], found["cannot_join"]):
        expected = [f"kubernetes_node-{name}: {SKEW}"] if name == "older-cluster" else []
        assert [line for line in told if "API server of" in line] == expected


@pytest.mark.parametrize("name", HOSTS)
def test_no_node_is_labeled_before_the_pools_of_its_rails_know_it(name, chosen):
    told = [line for line in chosen["kubernetes_node"][name]["cannot_join"] if "pools of rails" in line]
    if name not in {"unseated", "unseated-with-other-labels"}:
        assert told == []
        return
    (line,) = told
    assert "links, rail0 10.64.0.2/31, rail1 10.66.0.2/31; expected them there before its labels" in line
    assert line.endswith("; fix: run playbooks/kubernetes.yml with --tags objects and without --limit, then run again")


def test_a_text_that_says_false_is_false(chosen):
    """`-e kubernetes_node_reset=false` is a text, which Ansible leaves one."""
    false, true = chosen["kubernetes_node"]["texts"], chosen["kubernetes_node"]["true-texts"]
    assert (false["state"], true["state"]) == ("lost", "begun")
    assert (false["swap"], true["swap"]) == ([], ["swap"])
    assert (false["free"], true["free"]) == (["kubelet"], [])
    assert [line for line in false["wrong"] if "swap on /dev/sda2" in line] != []
    assert [line for line in true["wrong"] if "swap on /dev/sda2" in line] == []


def test_what_an_upgrade_would_restart_is_held(chosen):
    assert {"kubelet", "containerd.io", "haproxy"} <= set(chosen["kubernetes_node"]["nothing"]["held"])
    assert "containerd" not in chosen["kubernetes_node"]["nothing"]["held"]


UNREADABLES = {
    "unreadable": "its kubelet runs",
    "unreadable-with-pods": "9 containers of pods run",
    "unreadable-control": "its kubelet runs",
}


@pytest.mark.parametrize("name", HOSTS)
def test_a_node_that_runs_is_not_reset_because_its_file_is_empty(name, chosen):
    """Neither is it moved before, by the play that prepares nodes."""
    found = chosen["kubernetes_node"][name]
    for told in (found["wrong"], found["cannot_join"]):
        lines = [line for line in told if "names no API server" in line]
        assert len(lines) == (name in UNREADABLES and (told is found["wrong"] or name != "unreadable-control"))
        for line in lines:
            assert f"names no API server, and {UNREADABLES[name]}; expected a node that has joined, or a host" in line
            assert ("kubernetes_node_reset=true" in line) == (name != "unreadable-control")


def test_what_runs_nothing_or_may_end_is_reset(chosen):
    for name in ("unreadable-and-still", "unreadable-to-be-reset", "cut-off"):
        assert chosen["kubernetes_node"][name]["state"] == "begun"


def test_the_way_out_makes_the_file_again(chosen, tmp_path):
    """As it is typed, but for where the host's files are."""
    kubectl = shutil.which("kubectl")
    if not kubectl:
        pytest.skip("needs kubectl")
    (line,) = chosen["kubernetes_node"]["unreadable"]["wrong"][:1]
    command = re.search(r"there \((.*)\), then run again", line)[1].replace("/etc/", f"{tmp_path}/etc/")
    for path, text in {"etc/kubernetes/kubelet.conf": "", "etc/kubernetes/pki/ca.crt": "a certificate\n"}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    subprocess.run(["/bin/sh", "-ec", command], check=True, capture_output=True)
    made = yaml.safe_load((tmp_path / "etc/kubernetes/kubelet.conf").read_text())
    (cluster,), (user,), (context,) = made["clusters"], made["users"], made["contexts"]
    assert cluster["cluster"]["server"] == "https://kubernetes.example.net:7443"
    assert base64.b64decode(cluster["cluster"]["certificate-authority-data"]) == b"a certificate\n"
    assert set(user["user"].values()) == {"/var/lib/kubelet/pki/kubelet-client-current.pem"}
    assert context["context"] == {"cluster": cluster["name"], "user": user["name"]}
    assert made["current-context"] == context["name"]


OPEN = {
    "firewalld": ("6443/tcp, 2379-2380/tcp, 10250/tcp", "systemctl disable --now firewalld there, or open these"),
    "ufw": ("say to each other (10250/tcp", "ufw disable there, or open these"),
}


@pytest.mark.parametrize("name", HOSTS)
def test_a_host_that_filters_is_refused_with_the_ports(name, chosen):
    lines = [line for line in chosen["kubernetes_node"][name]["wrong"] if "filters what comes in" in line]
    assert len(lines) == (name in OPEN)
    for line in lines:
        assert [part for part in OPEN[name] if part not in line] == []


@pytest.mark.parametrize("name", HOSTS)
def test_registries_that_containerd_does_not_take_are_refused(name, chosen):
    lines = [line for line in chosen["kubernetes_node"][name]["wrong"] if "expected registries in" in line]
    assert len(lines) == (name == "registries")
    assert all(
        line.startswith(f"kubernetes_node-registries: {CONF}; expected registries in /etc/containerd/certs.d") for line in lines
    )


def test_a_node_that_has_joined_keeps_its_pause_image(chosen):
    """Another one restarts containerd, on all nodes at once."""
    planned = NODE["gpuyard_kubernetes"]["pause"]
    for name, image in {
        "joined-with-another-pause": OTHER_PAUSE,
        "prepared-with-another-pause": planned,
        "joined-without": planned,
    }.items():
        assert f'sandbox = "{image}"' in chosen["kubernetes_node"][name]["drop_in"]


def test_what_is_held_and_moves_is_let_go_first(chosen):
    """Dnf answers that a locked package is filtered out."""
    assert chosen["kubernetes_node"]["prepared"]["locked"] == ["kubelet"]
    assert chosen["kubernetes_node"]["joined-without"]["locked"] == []
    assert chosen["container_toolkit"]["nothing"]["locked"] == ["libnvidia-container1"]
