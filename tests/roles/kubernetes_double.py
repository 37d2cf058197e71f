#!/usr/bin/python3
"""Doubles of kubeadm, kubectl, etcdctl and of what a control server runs, chosen by the name that it is called by.

The cluster of all hosts is a folder that they share, /srv/cluster. tests/kubernetes has the real programs.
"""

import hashlib
import http.server
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
from pathlib import Path

CLUSTER, ROOT, ETCD = Path("/srv/cluster"), Path("/etc/kubernetes"), Path("/var/lib/etcd")
COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
PORTS = {"kube-apiserver": 6443, "kube-controller-manager": 10257, "kube-scheduler": 10259}


def fail(text):
    print(text, file=sys.stderr)
    raise SystemExit(1)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def note(text):
    with (CLUSTER / "log").open("a") as file:
        file.write(f"{text}\n")


def names(kind):
    return sorted(path.name for path in (CLUSTER / kind).glob("*"))


def make(config, verb):
    """Make a server, or die half way where the host has a file that says so."""
    text = Path(config).read_text()
    name, address = re.search(r"\n *name: (control-\d+)", text)[1], re.search(r"advertiseAddress: (\S+)", text)[1]
    for component in COMPONENTS:
        words = f"spec: --advertise-address={address} --secure-port={PORTS.get(component, 0)}\n"
        write(ROOT / f"manifests/{component}.yaml", f"kind: Pod\nmetadata:\n  labels: {{}}\n{words}")
    if Path("/srv/die").exists():
        fail("no space left on device")
    authority = CLUSTER / "ca"
    if verb == "init":
        write(authority, os.urandom(8).hex())
    write(ROOT / "pki/ca.crt", f"-----BEGIN CERTIFICATE-----\n{authority.read_text()}\n-----END CERTIFICATE-----\n")
    endpoint = "https://kubernetes.lab.example.net:7443"
    write(ROOT / "admin.conf", f"    server: {endpoint}\n    certificate-authority-data: Q0E=\n")
    write(ROOT / "kubelet.conf", f"user: system:node:{name}\n")
    write(ETCD / "member/snap/db", "db")
    write(CLUSTER / f"members/{name}", address)
    write(CLUSTER / f"nodes/{name}", "")
    note(f"{verb} {name}")
    subprocess.run(["systemctl", "start", *(f"double@{component}" for component in COMPONENTS)], check=True)


def kubeadm(*words):
    match words:
        case ["version", *_]:
            print("v1.36.3")
        case ["init", "phase", "upload-certs", *_]:
            print(f"[upload-certs] Using certificate key:\n{'ab' * 32}")
        case ["init", "phase", "mark-control-plane", config]:
            name = re.search(
                r"\n *name: (control-\d+)\n(?s:.*)kind: ClusterConfiguration", Path(config.partition("=")[2]).read_text()
            )[1]
            note(f"mark {name}")
        case ["init", _, *options] if any("=preflight,certs," in option for option in options):
            note(f"complete {os.uname().nodename}")
        case ["init", config, *_]:
            if (CLUSTER / "ca").exists():
                fail("there is a cluster already")
            make(config.partition("=")[2], "init")
        case ["join", config, *_]:
            text, discovery = Path(config.partition("=")[2]).read_text(), ROOT / "gpuyard/discovery.conf"
            token = re.search(r"token: (\S+)", discovery.read_text())[1]
            if f"certificateKey: {'ab' * 32}" not in text or token not in names("tokens") or discovery.stat().st_mode & 0o77:
                fail("not let in")
            make(config.partition("=")[2], "join")
        case ["reset", *_]:
            subprocess.run(["systemctl", "stop", *(f"double@{component}" for component in COMPONENTS)], check=True)
            for part in ("manifests", "pki"):
                shutil.rmtree(ROOT / part, ignore_errors=True)
            for path in (ROOT / "admin.conf", ROOT / "kubelet.conf"):
                path.unlink(missing_ok=True)
            shutil.rmtree(ETCD, ignore_errors=True)
            note(f"reset {os.uname().nodename}")
        case [_, "token", "create", *_]:
            token = f"abcdef.{os.urandom(8).hex()}"
            write(CLUSTER / f"tokens/{token}", "")
            print(token)
        case _:
            fail(f"double of kubeadm: {words}")


def kubectl(*words):
    words = [word for word in words if not word.startswith(("--kubeconfig", "--request-timeout"))]
    stored = CLUSTER / "applied"
    match words:
        case ["get", "node", name, *options]:
            if name in names("nodes"):
                print(f"{name} ")
            elif "--ignore-not-found" not in options:
                fail("NotFound")
        case ["get", "--raw", "/api/v1"]:
            print(json.dumps({"resources": [{"kind": "Node", "name": "nodes"}]}))
        case ["get", "--raw", "/api/v1/nodes"]:
            print(json.dumps({"items": [{"metadata": {"name": name}} for name in names("nodes")]}))
        case ["get", "--raw", "/version"]:
            print('{"gitVersion": "v1.36.3"}')
        case ["get", "--raw", path]:
            fail(f"Error from server (NotFound): {path}")
        case ["diff", *_]:
            raise SystemExit(0 if stored.exists() and json.loads(stored.read_text()) == json.load(sys.stdin) else 1)
        case ["apply", *_]:
            write(stored, sys.stdin.read())
        case ["drain", name, *options]:
            if (CLUSTER / f"pods/{name}").exists() and "--force" not in options:
                fail(f"error: cannot delete Pods not managed by ReplicationController: default/alone on {name}")
            if "--dry-run=client" not in options:
                note(f"drain {name}")
        case ["delete", "node", name, *_]:
            (CLUSTER / f"nodes/{name}").unlink(missing_ok=True)
            print(f"node {name} deleted")
        case _:
            fail(f"double of kubectl: {words}")


def number(name):
    return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16)


def etcdctl(*words):
    endpoint = next(word for word in words if word.startswith("--endpoints"))
    words = [word for word in words if not word.startswith(("--cacert", "--cert", "--key", "--endpoints", "--command-timeout"))]
    members = {name: (CLUSTER / f"members/{name}").read_text() for name in names("members")}
    match words:
        case ["member", "list", *_]:
            found = [
                {
                    "ID": number(name),
                    "name": name,
                    "clientURLs": [f"https://{address}:2379"],
                    "peerURLs": [f"https://{address}:2380"],
                }
                for name, address in members.items()
            ]
            print(json.dumps({"members": found}))
        case ["member", "remove", which]:
            for name in members:
                if f"{number(name):x}" == which:
                    (CLUSTER / f"members/{name}").unlink()
                    note(f"leave {name}")
        case ["endpoint", "health"]:
            down = [members[name] for name in members if name in names("down")]
            raise SystemExit(any(f"//{address}:" in endpoint for address in down))
        case ["endpoint", "status", *_]:
            print('[{"Status": {"raftTerm": 2}}]')
        case ["snapshot", "save", path]:
            if Path("/srv/die").exists():
                fail("no space left on device")
            write(Path(path), "snapshot")
        case ["snapshot", "status", *_]:
            print('{"totalKey": 700, "totalSize": 4096}')
        case _:
            fail(f"double of etcdctl: {words}")


def serve(component):
    """Answer that all is well, for as long as the manifest is as it is now."""
    manifest = (ROOT / f"manifests/{component}.yaml").read_text()
    # An API server listens on all addresses unless it is told otherwise.
    address = "0.0.0.0" if component == "kube-apiserver" else "127.0.0.1"

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer((address, PORTS.get(component, 2379)), Answer)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("/srv/double.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.timeout = 0.5
    while (ROOT / f"manifests/{component}.yaml").read_text() == manifest:
        server.handle_request()


if __name__ == "__main__":
    called = Path(sys.argv[0]).name
    programs = {"kubeadm": kubeadm, "kubectl": kubectl, "etcdctl": etcdctl}
    programs[called](*sys.argv[1:]) if called in programs else serve(called)
