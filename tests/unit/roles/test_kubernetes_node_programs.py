"""What the role kubernetes_node looks at on a host, and asks the API server: its programs, on hosts that no container here is."""

import hashlib
import json
import os
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import pytest

from tests.programs import load_program

FILES = Path(__file__).parents[3] / "roles/kubernetes_node/files"
NAME = "kubernetes.lab.example.net"
BODY = b"a certificate"
CERTIFICATE = f"-----BEGIN CERTIFICATE-----\n{b64encode(BODY).decode()}\n-----END CERTIFICATE-----\n"
FRESH = {
    "etc/os-release": "ID=ubuntu\nID_LIKE=debian\n",
    "proc/sys/kernel/hostname": "gpu-001\n",
    "proc/swaps": "Filename Type\n",
}


def run(program, folder, files, *arguments, given="", **doubles):
    """Run a program on a host that has these files and programs; return it done."""
    for path, text in files.items():
        (folder / "root" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "root" / path).write_text(text)
    (folder / "bin").mkdir(exist_ok=True)
    for name, body in doubles.items():
        (folder / "bin" / name.replace("_", "-")).write_text(f"#!/bin/sh\n{body}\n")
        (folder / "bin" / name.replace("_", "-")).chmod(0o755)
    environment = {"PATH": f"{folder}/bin:/usr/bin:/bin", "GPUYARD_ROOT": str(folder / "root"), "GPUYARD_WAIT_S": "0"}
    command = [sys.executable, "-IS", FILES / program, *arguments]
    return subprocess.run(command, env={**os.environ, **environment}, input=given, capture_output=True, text=True, check=False)


def look(folder, files=FRESH, **doubles):
    """Return what files/node.py says of a host."""
    doubles = {"dpkg_query": ":", "containerd": ":", "systemctl": ":"} | doubles
    done = run("node.py", folder, FRESH | files, NAME, "kubelet", **doubles)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_fresh_host_has_nothing(tmp_path):
    found = look(tmp_path)
    assert {key: found[key] for key in ("family", "hostname", "swap", "named", "server", "ca", "remains")} == {
        **{"family": "debian", "hostname": "gpu-001", "swap": [], "named": []},
        **{"server": "", "ca": "", "remains": []},
    }
    assert not (found["making"] or found["discovery"] or found["proxy"] or found["containerd"]["containers"])
    assert not (found["kubelet"] or found["firewalls"] or found["containerd"]["registries"] or found["containerd"]["pause"])


def test_a_host_that_is_a_node(tmp_path):
    files = {
        "proc/swaps": "Filename Type\n/dev/sda2 partition\n/swap.img file\n",
        "etc/hosts": f"127.0.0.1 localhost\n127.0.0.1 {NAME} # ours\n10.0.0.9 a {NAME}\n10.0.0.8 x{NAME}\n# 10.0.0.7 {NAME}\n",
        "etc/kubernetes/kubelet.conf": f'clusters:\n- cluster:\n    server: "https://{NAME}:7443"\n',
        "etc/kubernetes/pki/ca.crt": CERTIFICATE,
        "etc/kubernetes/gpuyard/making": "join\n",
        "etc/apt/sources.list.d/gpuyard-kubernetes-1.35.sources": "",
    }
    found = look(tmp_path, files, dpkg_query="echo 'kubelet 1.36.3-1.1 hi '")
    assert found["swap"] == ["/dev/sda2", "/swap.img"]
    assert found["named"] == [["127.0.0.1", "ours"], ["10.0.0.9", ""]]
    assert found["server"] == f"https://{NAME}:7443"
    assert found["ca"] == hashlib.sha256(BODY).hexdigest()
    assert (found["making"], found["remains"]) == (True, ["etc/kubernetes/pki/ca.crt"])
    assert found["packages"] == [["kubelet", "1.36.3", "hi"]]
    assert [Path(path).name for path in found["sources"]] == ["gpuyard-kubernetes-1.35.sources"]


@pytest.mark.parametrize(
    ("config", "dump", "expected"),
    [
        (
            'imports = ["/a/*.toml", "/b.toml"]\n',
            "[x.runtimes.runc.options]\n  SystemdCgroup = true\n",
            (["/a/*.toml", "/b.toml"], False, "true"),
        ),
        ('disabled_plugins = ["cri"]\n', "[x.runtimes.runc]\n", ([], True, "")),
        (
            "",
            "[x.runtimes.nvidia.options]\n SystemdCgroup = true\n[x.runtimes.runc.options]\n a = 1\n SystemdCgroup = false\n",
            ([], False, "false"),
        ),
    ],
)
def test_what_containerd_makes_of_its_files(config, dump, expected, tmp_path):
    (tmp_path / "dump").write_text(dump)
    program = f"case $1 in --version) echo containerd containerd.io v2.1.4 abc;; *) cat {tmp_path}/dump;; esac"
    found = look(tmp_path, {"etc/containerd/config.toml": config}, containerd=program)["containerd"]
    assert (found["imports"], found["without_cri"], found["systemd_cgroup"]) == expected
    assert (found["present"], found["version"], found["config_version"]) == (True, "2.1", 0)


def test_the_version_of_containerds_file_and_of_parts_it_leaves_out(tmp_path):
    config = 'version = 2\ndisabled_plugins = ["a", "io.containerd.grpc.v1.cri"]\n[x]\nversion = 9\n'
    found = look(tmp_path, {"etc/containerd/config.toml": config})["containerd"]
    assert (found["config_version"], found["without_cri"]) == (2, True)


def test_containers_that_run_are_counted(tmp_path):
    folder = "run/containerd/io.containerd.runtime.v2.task"
    found = look(tmp_path, {f"{folder}/k8s.io/a/config.json": "", f"{folder}/k8s.io/b/config.json": "", f"{folder}/moby/c/x": ""})
    assert found["containerd"]["containers"] == {"k8s.io": 2, "moby": 1}


@pytest.mark.parametrize(
    ("kubelet", "firewalld", "ufw", "expected"),
    [
        ("active", "inactive", "# ENABLED=yes\nENABLED=no\n", (True, [])),
        ("activating", "active", "ENABLED=yes\n", (False, ["firewalld", "ufw"])),
    ],
)
def test_what_runs_and_what_filters(kubelet, firewalld, ufw, expected, tmp_path):
    """A kubelet that fails over and over is activating. ufw's unit is active where it filters nothing too: its file is read."""
    said = f"""echo "$*" | grep -q 'ActiveState -- kubelet.service firewalld.service' &&
printf 'ActiveState={kubelet}\n\nActiveState={firewalld}\n'"""
    found = look(tmp_path, {"etc/ufw/ufw.conf": ufw}, systemctl=said)
    assert (found["kubelet"], found["firewalls"]) == expected


OLD, NEW = 'plugins."io.containerd.grpc.v1.cri".registry', "plugins.'io.containerd.cri.v1.images'.registry"


@pytest.mark.parametrize(
    ("version", "bars"),
    [("1.7.20", ["mirrors.docker.io", "configs.a.auth", "configs.a.tls"]), ("2.1.4", ["mirrors.docker.io", "configs.a.tls"])],
)
@pytest.mark.parametrize("registry", [OLD, NEW])
def test_what_of_registries_containerd_does_not_take_beside_a_path(registry, version, bars, tmp_path):
    """What `containerd config default` prints sets nothing, and bars nothing. containerd 1 loses the rest of the part."""
    tables = ["configs", "mirrors", "headers.x", "mirrors.docker.io", "configs.a.auth", "configs.a.tls"]
    text = "".join(f'  [{registry}.{table}]\n  x = "y"\n#  [{registry}.mirrors.none]\n' for table in tables)
    ours = {f"etc/containerd/conf.d/{name}.toml": text for name in ("50-gpuyard-kubernetes", "99-nvidia")}
    config = 'imports = ["/etc/containerd/conf.d/*.toml", "more/*.toml"]\n'
    files = ours | {
        "etc/containerd/config.toml": config,
        "etc/containerd/more/a.toml": text,
        "etc/containerd/unread/a.toml": text,
    }
    found = look(tmp_path, files, containerd=f"[ $1 = --version ] && echo containerd containerd.io v{version} abc")
    assert found["containerd"]["registries"] == [f"/etc/containerd/more/a.toml: [{registry}.{table}]" for table in bars]
    found = look(
        tmp_path,
        {"etc/containerd/config.toml": text},
        containerd=f"[ $1 = --version ] && echo containerd containerd.io v{version}",
    )
    assert found["containerd"]["registries"] == [f"/etc/containerd/config.toml: [{registry}.{table}]" for table in bars]


@pytest.mark.parametrize("key", ["sandbox", "sandbox_image"])
def test_which_pause_image_the_role_gave_before(key, tmp_path):
    drop_in = f'version = 3\n  {key} = "registry.k8s.io/pause:3.9"\n'
    found = look(tmp_path, {"etc/containerd/conf.d/50-gpuyard-kubernetes.toml": drop_in})
    assert found["containerd"]["pause"] == "registry.k8s.io/pause:3.9"


PROXIES = {"# The API server of lab as\n": "ours", "frontend web\n": "others", "global\n": "package", "": ""}


@pytest.mark.parametrize("text", PROXIES)
def test_whose_the_proxy_is(text, tmp_path):
    """By what dpkg knows of it, where the program rpm is there too, which knows of no package and so finds no change."""
    digest = hashlib.md5(b"global\n").hexdigest()
    found = look(tmp_path, {"etc/haproxy/haproxy.cfg": text}, dpkg_query=f"echo ' /etc/haproxy/haproxy.cfg {digest}'", rpm=":")
    assert found["proxy"] == PROXIES[text]


@pytest.mark.parametrize(
    ("query", "changed", "expected"),
    [
        ("package haproxy is not installed", "package haproxy is not installed", "others"),
        ("there", "S.5....T.  c /etc/haproxy/haproxy.cfg", "others"),
        ("there", "S.5....T.  c /etc/sysconfig/haproxy", "package"),
    ],
)
def test_whose_the_proxy_is_where_rpm_knows(query, changed, expected, tmp_path, monkeypatch):
    program = load_program(FILES / "node.py")
    rpm = tmp_path / "rpm"
    rpm.write_text(f"#!/bin/sh\n[ $1 = -q ] && printf '{query}' || echo '{changed}'\n")
    rpm.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))  # and no dpkg-query
    assert program.judge_proxy("frontend web\n") == expected


WANTED = {"gpu-001": {"gpuyard.io/rack": "A01"}, "gpu-002": {"gpuyard.io/rack": "A01"}, "gpu-003": {"gpuyard.io/rack": "A01"}}
FOUND = {"gpu-001": {"gpuyard.io/rack": "A01", "x": "y"}, "gpu-002": {"gpuyard.io/rack": "A02", "gpuyard.io/tenant": "none"}}


POOL = {"metadata": {"namespace": "network", "name": "rail0"}}
PLANNED = [
    POOL | {"spec": {"staticAllocations": [{"nodeName": f"gpu-00{n}", "prefix": f"10.64.0.{2 * n}/31"} for n in (1, 2, 3)]}},
    {
        "metadata": {"namespace": "network", "name": "rail1"},
        "spec": {"staticAllocations": [{"nodeName": "gpu-001", "prefix": "x"}]},
    },
]


def ask(folder, verb, wanted, pools=None):
    """Run files/cluster.py with a kubectl that knows two nodes and these pools and writes down what it is told."""
    items = [{"metadata": {"name": name, "labels": labels}} for name, labels in FOUND.items()]
    (folder / "nodes").write_text(json.dumps({"items": items}))
    (folder / "pools").write_text(json.dumps({"items": pools or []}))
    known = "echo found" if pools is not None else ":"
    kubectl = f"""shift 2; echo "$*" >>{folder}/told
case "$1 $2" in
  "get nodes") cat {folder}/nodes ;;
  "get --raw") echo '{{"gitVersion": "v1.36.3"}}' ;;
  "get customresourcedefinition") {known} ;;
  "get cidrpools.nv-ipam.nvidia.com") cat {folder}/pools ;;
  apply*) cat >>{folder}/told ;;
esac"""
    given = json.dumps({"labels": wanted, "pools": PLANNED})
    return run("cluster.py", folder, {"etc/kubernetes/pki/ca.crt": CERTIFICATE}, verb, given=given, kubectl=kubectl)


def test_looking_tells_of_the_cluster_and_which_nodes_are_away_or_labeled_otherwise(tmp_path):
    done = ask(tmp_path, "look", WANTED)
    assert json.loads(done.stdout) == {
        **{"ca": hashlib.sha256(BODY).hexdigest(), "version": "v1.36.3", "unseated": {}},
        **{"away": ["gpu-003"], "other": ["gpu-002"]},
    }, done.stderr
    assert "apply" not in (tmp_path / "told").read_text()


def test_no_node_is_asked_about_where_none_is_wanted(tmp_path):
    assert json.loads(ask(tmp_path, "look", {}).stdout)["version"] == "v1.36.3"
    assert "get nodes" not in (tmp_path / "told").read_text()


def test_looking_tells_whose_links_are_not_in_the_pools(tmp_path):
    """A pool that is there lacks the node, or has another link for it. One that is not there comes with all of them."""
    seats = [
        {"nodeName": "gpu-001", "prefix": "10.64.0.2/31"},
        {"nodeName": "gpu-002", "prefix": "10.64.0.6/31"},
        {"prefix": "y"},
    ]
    done = ask(tmp_path, "look", WANTED, [POOL | {"spec": {"staticAllocations": seats}}])
    assert json.loads(done.stdout)["unseated"] == {"gpu-002": ["rail0 10.64.0.4/31"], "gpu-003": ["rail0 10.64.0.6/31"]}, (
        done.stderr
    )
    done = ask(tmp_path, "look", {"gpu-003": {}}, [POOL | {"spec": {}}])
    assert json.loads(done.stdout)["unseated"] == {"gpu-003": ["rail0 10.64.0.6/31"]}, done.stderr
    assert json.loads(ask(tmp_path, "look", WANTED, []).stdout)["unseated"] == {}


def test_labels_are_put_on_those_that_differ_and_others_taken_off(tmp_path):
    done = ask(tmp_path, "label", {name: WANTED[name] for name in FOUND})
    assert json.loads(done.stdout)["other"] == ["gpu-002"], done.stderr
    told = (tmp_path / "told").read_text()
    assert "apply --server-side --field-manager=gpuyard" in told
    assert "label node gpu-002 gpuyard.io/tenant-" in told
    assert "gpu-001" not in told


def test_a_node_that_does_not_come_keeps_no_other_from_its_labels(tmp_path):
    done = ask(tmp_path, "label", WANTED)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["away"] == ["gpu-003"]
    told = (tmp_path / "told").read_text()
    assert '"name": "gpu-002"' in told and "gpu-003" not in told
