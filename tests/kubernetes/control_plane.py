"""A control plane of Kubernetes: etcd, API server, scheduler and controller manager, real processes on loopback.

There is no kubelet: nodes are what a test says they are, and a pod is placed and never runs. scripts/build-kubernetes builds the
programs, before the tests. All end with the process that started them, however that ends.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import SystemRandom
from typing import Any

import pytest

from tests.slowness import Found, stretch, wait_for

ROOT = Path(__file__).resolve().parents[2]
READY_S = 90
"""Within which each of the programs is ready; some ten seconds on an idle machine."""
COMMAND_S = 60
SERVICES = "10.96.0.0/12"
# No kubelet renews a node's lease: a node stays what a test made of it.
GRACE = "--node-monitor-grace-period=24h"
KUBEADM = """
apiVersion: kubeadm.k8s.io/v1beta2
kind: InitConfiguration
localAPIEndpoint: {{advertiseAddress: 192.0.2.1, bindPort: {port}}}
nodeRegistration: {{name: control, criSocket: /run/none.sock}}
---
apiVersion: kubeadm.k8s.io/v1beta2
kind: ClusterConfiguration
kubernetesVersion: v{version}
certificatesDir: {folder}/pki
controlPlaneEndpoint: 127.0.0.1:{port}
apiServer: {{certSANs: [127.0.0.1]}}
networking: {{serviceSubnet: {services}}}
"""
"""kubeadm takes no loopback for an address: this one is of no network (RFC 5737), and nothing is sent to it."""


def find_programs() -> Path:
    """Return the folder with the programs; skip where there is none, and fail where GPUYARD_REQUIRE_KUBERNETES is set."""
    done = subprocess.run(
        [ROOT / "scripts/build-kubernetes"],
        env={**os.environ, "GPUYARD_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_KUBERNETES") else pytest.skip)(done.stderr.strip())
    return Path(done.stdout.strip())


class ControlPlane:
    """A control plane that runs. `control_plane` makes one.

    Args:
        folder: where its keys, data and logs are; `audit.log` is what the API server writes of each request.
        programs: the folder with the programs.
    """

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder = folder
        self.programs = programs
        self._etcd, self._port = _find_ports(2)
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def run(self, user: str, *words: object, said: object = None) -> subprocess.CompletedProcess[str]:
        """Return what kubectl does for a user, whatever it says; objects in `said` are its standard input."""
        configuration = ("--kubeconfig", self.folder / f"{user}.conf", "--cache-dir", self.folder / "cache")
        text = said if said is None or isinstance(said, str) else json.dumps(said)
        return self._run("kubectl", *configuration, *words, text=text)

    def must(self, *words: object, user: str = "admin", said: object = None) -> str:
        """Return what kubectl prints when it must not fail."""
        done = self.run(user, *words, said=said)
        assert done.returncode == 0, f"kubectl {' '.join(map(str, words))}: {done.stderr}\n{self.tell()}"
        return done.stdout

    def read(self, *words: object, user: str = "admin") -> dict[str, Any]:
        """Return an object, or a list of some."""
        return json.loads(self.must("get", *words, "-o", "json", user=user))

    def wait_for(self, probe: Callable[[], Found], within_s: float, what: str) -> Found:
        """Return what a probe finds once that is true; AssertionError with what the programs logged where it is not in time."""
        return wait_for(probe, within_s, lambda: f"{what}\n{self.tell()}")

    def add_user(self, name: str, *groups: str) -> None:
        """Give a user a client certificate with these groups as its organizations."""
        organizations = [f"--org={group}" for group in groups]
        made = self._make("alpha", "kubeconfig", "user", "--config=kubeadm.yaml", f"--client-name={name}", *organizations)
        self._keep_configuration(name, made)

    def read_stored(self, key: str) -> bytes:
        """Return what etcd has under a key below /registry."""
        where = f"--endpoints=127.0.0.1:{self._etcd}"
        command = [self.programs / "etcdctl", where, "get", f"/registry/{key}", "--print-value-only"]
        return subprocess.run(command, capture_output=True, check=True, timeout=stretch(COMMAND_S)).stdout

    def read_audit(self) -> list[dict[str, Any]]:
        """Return the lines of the audit log that are whole."""
        *lines, _ = (self.folder / "audit.log").read_text("utf-8").split("\n")
        return [json.loads(line) for line in lines]

    def tell(self, lines: int = 8) -> str:
        """Return the last that each of the programs logged, and whether it still runs."""
        told = []
        for name, process in self._running.items():
            state = "runs" if process.poll() is None else f"ended with {process.returncode}"
            log = (self.folder / f"{name}.log").read_text("utf-8", "replace").splitlines()
            told += [f"{name} {state}:", *(f"  {line}" for line in log[-lines:])]
        return "\n".join(told)

    def start(self, encryption: Path, audit_policy: Path, admission: Path | None, plugins: Iterable[str]) -> None:
        """Start all, and wait until tenants' objects may come."""
        etcd = f"http://127.0.0.1:{self._etcd}"
        self._start(
            "etcd", f"--listen-client-urls={etcd}", f"--advertise-client-urls={etcd}", "--listen-peer-urls=http://127.0.0.1:0"
        )
        self._make_certificates()
        self._start(
            "kube-apiserver",
            *("--bind-address=127.0.0.1", "--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none"),
            *(f"--etcd-servers={etcd}", f"--secure-port={self._port}", f"--service-cluster-ip-range={SERVICES}"),
            *("--tls-cert-file=pki/apiserver.crt", "--tls-private-key-file=pki/apiserver.key", "--client-ca-file=pki/ca.crt"),
            *("--service-account-key-file=pki/sa.pub", "--service-account-signing-key-file=pki/sa.key"),
            *("--service-account-issuer=https://kubernetes.default.svc", "--authorization-mode=Node,RBAC"),
            *("--anonymous-auth=false", f"--enable-admission-plugins={','.join(['NodeRestriction', *plugins])}"),
            *([f"--admission-control-config-file={admission}"] if admission else []),
            *(f"--encryption-provider-config={encryption}", f"--audit-policy-file={audit_policy}", "--audit-log-path=audit.log"),
        )
        self.wait_for(lambda: self._ask("--raw=/readyz") == "ok", READY_S, "no API server")
        # Both serve nothing themselves, and are alone.
        alone = ("--leader-elect=false", "--port=0", "--secure-port=0")
        self._start("kube-scheduler", "--kubeconfig=scheduler.conf", *alone)
        self._start(
            "kube-controller-manager",
            *("--kubeconfig=controller-manager.conf", *alone, "--use-service-account-credentials", GRACE),
            *("--service-account-private-key-file=pki/sa.key", "--root-ca-file=pki/ca.crt"),
        )
        ready = ("serviceaccounts/default", "--namespace=default", "--output=jsonpath={.secrets[0].name}")
        self.wait_for(lambda: self._ask(*ready), READY_S, "no controllers")

    def stop(self) -> None:
        """End all that was started."""
        for process in self._running.values():
            process.kill()
        for process in self._running.values():
            process.wait()

    def _start(self, program: str, *words: str) -> None:
        command = ["setpriv", "--pdeathsig", "KILL", str(self.programs / program), *words]
        with (self.folder / f"{program}.log").open("wb") as log:
            self._running[program] = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _ask(self, *words: str) -> str:
        """Return what comes of a question that may be too early; AssertionError where a program has ended, and none comes."""
        assert all(process.poll() is None for process in self._running.values()), self.tell()
        return self.run("admin", "get", *words).stdout

    def _make_certificates(self) -> None:
        version = self.programs.name.partition("-")[0]
        text = KUBEADM.format(port=self._port, version=version, folder=self.folder, services=SERVICES)
        (self.folder / "kubeadm.yaml").write_text(text, "utf-8")
        self._make("init", "phase", "certs", "all", "--config=kubeadm.yaml")
        self._make("init", "phase", "kubeconfig", "all", "--config=kubeadm.yaml", f"--kubeconfig-dir={self.folder}")
        for user in ("admin", "controller-manager", "scheduler"):
            self._keep_configuration(user, (self.folder / f"{user}.conf").read_text("utf-8"))

    def _make(self, *words: str) -> str:
        done = self._run("kubeadm", *words)
        assert done.returncode == 0, f"kubeadm {' '.join(words)}: {done.stderr}"
        return done.stdout

    def _keep_configuration(self, user: str, text: str) -> None:
        """Keep how a user reaches the API server, where it is."""
        text = re.sub(r"\bserver: .*", f"server: https://127.0.0.1:{self._port}", text)
        (self.folder / f"{user}.conf").write_text(text, "utf-8")

    def _run(self, program: str, *words: object, text: str | None = None) -> subprocess.CompletedProcess[str]:
        command = [str(self.programs / program), *map(str, words)]
        return subprocess.run(
            command, cwd=self.folder, input=text, capture_output=True, text=True, check=False, timeout=stretch(COMMAND_S)
        )


@contextmanager
def control_plane(
    folder: Path, *, encryption: Path, audit_policy: Path, admission: Path | None = None, plugins: Iterable[str] = ()
) -> Iterator[ControlPlane]:
    """Have a control plane run, with an empty etcd; at the end nothing of it does.

    Args:
        folder: an empty one for its keys, data and logs.
        encryption: the API server's EncryptionConfiguration.
        audit_policy: its audit policy.
        admission: its AdmissionConfiguration.
        plugins: admission plug-ins beside those that are enabled by default and by kubeadm.
    """
    plane = ControlPlane(folder, find_programs())
    try:
        plane.start(encryption, audit_policy, admission, plugins)
        yield plane
    finally:
        plane.stop()


def _find_ports(count: int) -> list[int]:
    """Return free ports of loopback, of those that no kernel gives to clients by itself: none takes them before they are used."""
    found: list[int] = []
    for port in SystemRandom().sample(range(20_000, 32_768), 100):  # Linux, ip-sysctl: ip_local_port_range begins at 32768
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            found.append(port)
    assert len(found) >= count, "no port of loopback is free"
    return found[:count]
