#!/usr/bin/python3
"""Look at what this control server has of a Kubernetes cluster, and do what it does by itself.

    gpuyard-kubernetes look WAIT_S              print, as JSON, what is there; changes nothing
    gpuyard-kubernetes settled NAME WAIT_S      wait until a server and etcd are complete; print how often etcd elected a leader
    gpuyard-kubernetes leave NAME               take a member out of etcd
    gpuyard-kubernetes keep FOLDER              copy what etcd has into the folder, before a reset; print where it is
    gpuyard-kubernetes backup FOLDER KEEP       write a snapshot of etcd into the folder, in which the newest are kept
    gpuyard-kubernetes renew DAYS               renew certificates where one ends within so many days, and restart what reads them
    gpuyard-kubernetes restart COMPONENT ...    restart static pods, one after the other, and wait until each answers

Laid and called by the role kubernetes_control, and by timers of its own. Exit codes: 0 done, 1 not, for the reason told.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Source of names and ports: kubernetes/kubernetes, cmd/kubeadm/app/constants.
ROOT = Path("/etc/kubernetes")
ADMIN = ROOT / "admin.conf"
KUBECONFIGS = ("admin", "super-admin", "controller-manager", "scheduler")
COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
HEALTH_PORTS = {"kube-controller-manager": 10257, "kube-scheduler": 10259}
ETCD = Path("/var/lib/etcd")
OURS = ROOT / "gpuyard"
DUE = Path("/var/lib/gpuyard/kubernetes_control/restart-due")
ANNOTATION = "gpuyard.io/restarted"
RESTART_S = 240
"""Within which a component answers again; a slow etcd takes a minute."""
COPIES = 4
"""Of what was reset. Each `kubeadm init` that fails may leave one, and these shall not push out the one with a cluster in it."""
SPARE_BYTES = 256e6
"""That a snapshot leaves free, beside room for another one."""


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")


def run(*command: str, stdin: str | None = None, limit_s: float = 120) -> tuple[int, str, str]:
    """Return a command's exit code, output and errors; 127 where there is no such program, 124 where it does not end."""
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=limit_s, check=False)
    except FileNotFoundError:
        return 127, "", f"no {command[0]}"
    except subprocess.TimeoutExpired:
        return 124, "", f"{command[0]} did not end in {limit_s} s"
    return done.returncode, done.stdout, done.stderr


def must(*command: str, limit_s: float = 120) -> str:
    """Return a command's output; end with its errors where it fails."""
    code, out, err = run(*command, limit_s=limit_s)
    if code:
        raise SystemExit(f"{' '.join(command[:3])} ended with {code}: {(err or out).strip()[-800:]}")
    return out


def read(path: Path) -> str:
    """Return a file's text, empty where there is none."""
    with contextlib.suppress(OSError):
        return path.read_text("utf-8")
    return ""


def write(path: Path, text: str) -> None:
    """Write a file in one stroke. What has a point before its name is no manifest to a kubelet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".gpuyard-{path.name}")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def kubectl(*words: str) -> tuple[int, str, str]:
    """Return exit code, output and errors of kubectl, as the cluster's administrator."""
    return run("kubectl", f"--kubeconfig={ADMIN}", "--request-timeout=20s", *words)


def find_process(program: str) -> int:
    """Return the process of a component, 0 where there is none."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        words = read(path).split("\0")
        if words[0].rpartition("/")[2] == program and len(words) > 2:
            return int(path.parent.name)
    return 0


def find_tool(name: str) -> str | None:
    """Return the path of a tool of etcd's: the one in etcd's own container, which is of its version, or the system's."""
    process = find_process("etcd")
    found = [Path(f"/proc/{process}/root", folder, name) for folder in ("usr/local/bin", "usr/bin", "bin")]
    return next((str(path) for path in found if process and path.exists()), shutil.which(name))


def etcdctl(*words: str, endpoints: str = "https://127.0.0.1:2379", limit_s: float = 20) -> tuple[int, str, str]:
    """Return exit code, output and errors of etcdctl."""
    tool, keys = find_tool("etcdctl"), ROOT / "pki/etcd"
    if not tool:
        return 127, "", "etcd does not run, and there is no etcdctl"
    client = (f"--cacert={keys}/ca.crt", f"--cert={keys}/healthcheck-client.crt", f"--key={keys}/healthcheck-client.key")
    return run("env", "ETCDCTL_API=3", tool, *client, f"--endpoints={endpoints}", *words, limit_s=limit_s)


def list_members() -> list[dict[str, Any]]:
    """Return etcd's members with whether each answers, or nothing where etcd here does not."""
    code, out, _ = etcdctl("member", "list", "--write-out=json")
    members = []
    for member in json.loads(out).get("members", []) if code == 0 else []:
        urls = ",".join(member.get("clientURLs") or [])
        about = {"name": member.get("name", ""), "id": f"{member['ID']:x}", "answers": bool(urls) and is_healthy(urls)}
        members.append({**about, "peer": (member.get("peerURLs") or [""])[0], "learner": bool(member.get("isLearner"))})
    return members


def is_healthy(endpoints: str = "https://127.0.0.1:2379") -> bool:
    """Return whether a member of etcd answers a read that needs the majority."""
    return etcdctl("endpoint", "health", "--command-timeout=4s", endpoints=endpoints)[0] == 0


def ask(url: str) -> bool:
    """Return whether a component of this server says that it serves. Nobody judges its certificate, and no proxy is asked."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    with contextlib.suppress(OSError, ValueError), opener.open(url, timeout=4) as answer:
        return bool(answer.status == 200)
    return False


def find_api() -> str:
    """Return where the API server of this server listens, as its manifest says."""
    manifest = read(ROOT / "manifests/kube-apiserver.yaml")
    address, port = re.search(r"--advertise-address=(\S+)", manifest), re.search(r"--secure-port=(\d+)", manifest)
    return f"https://{address[1] if address else '127.0.0.1'}:{port[1] if port else 6443}"


def is_ready(component: str = "kube-apiserver") -> bool:
    """Return whether a component of this server answers."""
    if component == "kube-apiserver":
        return ask(f"{find_api()}/readyz")
    return is_healthy() if component == "etcd" else ask(f"https://127.0.0.1:{HEALTH_PORTS[component]}/healthz")


def find_version() -> str:
    """Return the API server's version, such as v1.36.3; empty where kubectl is not told."""
    code, out, _ = kubectl("get", "--raw", "/version")
    return str(json.loads(out)["gitVersion"]) if code == 0 else ""


def find_name() -> str:
    """Return the name that this server's kubelet has in its cluster, empty where it is in none."""
    text = read(ROOT / "kubelet.conf")
    path, data = re.search(r"client-certificate: *(\S+)", text), re.search(r"client-certificate-data: *(\S+)", text)
    certificate = read(Path(path[1])) if path else base64.b64decode(data[1]).decode() if data else ""
    subject = run("openssl", "x509", "-noout", "-subject", stdin=certificate)[1] if certificate else text
    named = re.search(r"system:node:([a-z0-9.-]+)", subject)
    return named[1] if named else ""


def digest(text: str) -> str:
    """Return what tells texts apart and does not tell them."""
    return hashlib.sha256(text.encode()).hexdigest()[:16] if text else ""


def look(wait_s: str) -> None:
    """Print what there is."""
    paths = [ROOT / "manifests/kube-apiserver.yaml", ROOT / "manifests/etcd.yaml", ADMIN, ROOT / "kubelet.conf", ETCD / "member"]
    parts = {str(path): path.exists() for path in paths}
    making = read(OURS / "making").strip()
    whole = all(parts.values())
    ready = whole and wait_until(is_ready, float(wait_s))  # after a boot it takes a minute
    # Whose API server answers has a cluster, also where kubeadm did not come to its end: that is never reset.
    state = "member" if ready or (whole and not making) else "half" if making else "remains" if any(parts.values()) else "none"
    secrets = re.findall(r"^\s*(?:- )?secret: *['\"]?([^\s'\"]+)", read(OURS / "encryption.yaml"), re.MULTILINE)
    about = {
        "state": state,
        "making": making,
        "parts": parts,
        "serves": ready or (state == "remains" and paths[0].exists() and is_ready()),
        "name": find_name(),
        "ca": digest("".join(re.findall(r"-BEGIN CERTIFICATE-+([^-]+)", read(ROOT / "pki/ca.crt"))[:1]).strip()),
        "keys": [digest(secret) for secret in secrets],
        "running": bool(find_process("kubeadm")),
        "version": find_version() if ready else "",
        "ready": ready,
        "members": list_members() if state == "member" else [],
    }
    say(json.dumps(about))


def wait_until(probe: Callable[[], Any], within_s: float) -> bool:
    """Return whether a probe was true in time."""
    end = time.monotonic() + within_s
    while not probe():
        if time.monotonic() > end:
            return False
        time.sleep(1)
    return True


def settled(name: str, wait_s: str) -> None:
    """Wait until this server's components answer, etcd is whole, and its node is there; print the term of etcd's leader."""
    lacks: list[str] = []

    def is_settled() -> bool:
        lacks[:] = [component for component in COMPONENTS if not is_ready(component)]
        members = {} if lacks else {member["name"]: member["answers"] and not member["learner"] for member in list_members()}
        lacks.extend(f"etcd of {member or 'a member without a name'}" for member, answers in members.items() if not answers)
        if not lacks and name not in members:
            lacks.append(f"{name} among etcd's members")
        if not lacks and kubectl("get", "node", name)[0]:
            lacks.append(f"node {name}")
        return not lacks

    if not wait_until(is_settled, float(wait_s)):
        raise SystemExit(f"{', '.join(lacks)}: no answer in {wait_s} s; see crictl ps -a, journalctl -u kubelet")
    term = re.search(r'"raft_?term": *(\d+)', etcdctl("endpoint", "status", "--write-out=json")[1], re.IGNORECASE)
    say(term[1] if term else "")


def leave(name: str) -> None:
    """Take a member out of etcd, where there is one of this name."""
    members = list_members()
    if not members:
        raise SystemExit("etcd of this server does not answer")
    for member in [member for member in members if member["name"] == name]:
        code, _, err = etcdctl("member", "remove", member["id"])
        if code:
            raise SystemExit(f"etcdctl member remove {name}: {err.strip()[-400:]}")
        say("left")


def open_folder(folder: str) -> Path:
    """Return a folder that is root's alone, as is what is written from now on."""
    os.umask(0o077)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    place.chmod(0o700)
    return place


def save(path: Path) -> dict[str, Any]:
    """Write a snapshot, and return what it holds; no file is left where it fails."""
    try:
        path.unlink(missing_ok=True)
        code, _, err = etcdctl("snapshot", "save", str(path), limit_s=600)
        if code:
            raise SystemExit(f"etcdctl snapshot save: {err.strip()[-400:]}")
        return judge_snapshot(str(path))
    except SystemExit:
        path.unlink(missing_ok=True)
        raise


def keep(folder: str) -> None:
    """Copy what etcd has into the folder: a snapshot where it answers, else its own folder. The biggest of earlier copies stay.

    With its CAs' keys, without which no node and no token is of that cluster. Not beside etcd's folder: `kubeadm reset` empties
    /var/lib/etcd, and /etc/kubernetes/pki. Where nothing was ever stored there is no copy.
    """
    member = ETCD / "member"
    if not (member / "snap/db").exists():
        return
    place = open_folder(folder)
    copy = place / time.strftime("reset-%Y%m%dT%H%M%SZ", time.gmtime())
    shutil.copytree(ROOT / "pki", copy / "pki") if (ROOT / "pki").exists() else copy.mkdir()
    with contextlib.suppress(SystemExit):
        if is_healthy():
            save(copy / "snapshot.db")
    if not (copy / "snapshot.db").exists():
        shutil.move(str(member), str(copy / "member"))
    for path in sorted((path for path in place.glob("reset-*") if path != copy), key=measure)[: 1 - COPIES]:
        shutil.rmtree(path)
    say(str(copy))


def measure(copy: Path) -> int:
    """Return how many bytes etcd's file has in a copy: the more, the longer its cluster lived."""
    return max((file.stat().st_size for file in (copy / "snapshot.db", copy / "member/snap/db") if file.exists()), default=0)


def backup(folder: str, keep: str) -> None:
    """Write a snapshot and keep the newest ones. It only reads etcd; where it fails its unit fails, and all snapshots stay."""
    place = open_folder(folder)
    new = place / ".new.db"
    needed = 2 * (ETCD / "member/snap/db").stat().st_size + SPARE_BYTES
    free = shutil.disk_usage(place).free
    if free < needed:
        raise SystemExit(f"{place}: {free / 1e9:.2f} GB free; expected {needed / 1e9:.2f} or more; fix: make room")
    about = save(new)
    kept = new.replace(place / time.strftime("etcd-%Y%m%dT%H%M%SZ.db", time.gmtime()))
    for old in sorted(place.glob("etcd-*.db"))[: -int(keep)]:
        old.unlink()
    say(f"{kept}: {about['totalKey']} keys, {about['totalSize']} bytes")


def judge_snapshot(path: str) -> dict[str, Any]:
    """Return what a snapshot holds; end where it cannot be read. etcdutl's from etcd 3.6 on. Source: etcd-io/etcd#13809."""
    words = ("snapshot", "status", path, "--write-out=json")
    tool = find_tool("etcdutl")
    code, out, err = run(tool, *words, limit_s=600) if tool else etcdctl(*words, limit_s=600)
    about = json.loads(out) if code == 0 else {}
    if not about.get("totalKey"):
        raise SystemExit(f"snapshot status: {(err or out).strip()[-400:]}")
    return dict(about)


def list_ending(days: float) -> list[str]:
    """Return kubeadm's certificates that end within so many days. CAs are nobody's to renew, and the kubelet renews its own."""
    question = ("openssl", "x509", "-noout", "-checkend", str(int(days * 86400)))
    files = [path for folder in ("pki", "pki/etcd") for path in (ROOT / folder).glob("*.crt") if not path.name.endswith("ca.crt")]
    texts = {str(path): read(path) for path in files}
    for path in (ROOT / f"{name}.conf" for name in KUBECONFIGS):
        if data := re.search(r"client-certificate-data: *(\S+)", read(path)):
            texts[str(path)] = base64.b64decode(data[1]).decode()
    return sorted(path for path, text in texts.items() if run(*question, stdin=text)[0])


def renew(days: str) -> None:
    """Renew what ends soon, while all others answer: so one server at a time is without its API server."""
    ending = list_ending(float(days))
    if not ending and not DUE.exists():
        say(f"no certificate ends within {days} days")
        return
    members = list_members()
    silent = [member["name"] for member in members if not member["answers"]]
    # A server that stays dead must not let all others run out.
    if (silent or not members) and not list_ending(float(days) / 3):
        raise SystemExit(f"not renewed yet: etcd does not answer on {', '.join(silent) or 'this server'}; tried again tomorrow")
    write(DUE, "certificates were renewed, and not all that reads them was restarted\n")
    if ending:
        must("kubeadm", "certs", "renew", "all", limit_s=300)
        say(f"renewed, since these were to end within {days} days: {' '.join(ending)}")
    restart(*COMPONENTS)
    DUE.unlink()


def annotate(manifest: str, when: str) -> str:
    """Return a manifest with another annotation.

    A kubelet knows a static pod by the digest of what its manifest says: with another annotation it is another pod, and the
    manifest is there all the time. Deleting the pod restarts nothing. Source: kubernetes/kubernetes, pkg/kubelet/config/common.go
    (applyDefaults), kubernetes/kubernetes#103575.
    """
    text = re.sub(rf"^    {re.escape(ANNOTATION)}: .*\n", "", manifest, flags=re.MULTILINE)
    if not re.search(r"^  annotations:\n    ", text, re.MULTILINE):
        text = re.sub(r"^  annotations:.*\n", "", text, flags=re.MULTILINE)
        text = re.sub(r"^metadata:\n", "metadata:\n  annotations:\n", text, count=1, flags=re.MULTILINE)
    line = f'  annotations:\n    {ANNOTATION}: "{when}"\n'
    return re.sub(r"^  annotations:\n", line, text, count=1, flags=re.MULTILINE)


def restart(*components: str) -> None:
    """Restart static pods, one after the other, and wait until each answers."""
    for component in components:
        path = ROOT / f"manifests/{component}.yaml"
        before = find_process(component)
        write(path, annotate(path.read_text("utf-8"), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())))
        # By its process: until the kubelet has seen the manifest the former one answers.
        if not wait_until(lambda: find_process(component) not in (0, before) and is_ready(component), RESTART_S):  # noqa: B023
            raise SystemExit(f"{component}: no answer {RESTART_S} s after its restart; see crictl ps -a, journalctl -u kubelet")
        say(f"restarted {component}")


VERBS: dict[str, Callable[..., None]] = {verb.__name__: verb for verb in (look, settled, leave, keep, backup, renew, restart)}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in VERBS:
        raise SystemExit(f"usage: gpuyard-kubernetes {'|'.join(VERBS)} ...")
    VERBS[sys.argv[1]](*sys.argv[2:])
