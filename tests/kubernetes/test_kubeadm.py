"""The real kubeadm takes what is rendered for its version, and makes certificates and the control plane's pods of it."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
import yaml

from cluster_model.references import settle
from cluster_model.render.services.kubernetes import render_kubernetes
from tests.kubernetes.control_plane import find_programs
from tests.planned import INVENTORY, open_folder
from tests.slowness import stretch

PHASES = ("certs all", "kubeconfig all", "control-plane all", "etcd local")
# kubeadm writes into /etc/kubernetes, whatever it is told: here that is a copy of /etc in a mount namespace of its own.
SCRIPT = """
set -e
cp -a /etc "$1/etc"
mount --bind "$1/etc" /etc
mkdir -p /etc/kubernetes
for phase in {phases}; do
  "$2/kubeadm" init phase $(echo $phase | tr , ' ') --config "$1/init.yaml"
done
"$2/kubeadm" config images list --config "$1/init.yaml"
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Run kubeadm's phases on the first control server's file; return the plan, the folder, and what kubeadm said."""
    programs = find_programs()
    if os.geteuid() or shutil.which("unshare") is None:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_KUBERNETES") else pytest.skip)("needs root and unshare")
    version = programs.name.partition("-")[0]
    folder = tmp_path_factory.mktemp("kubeadm")
    text = (INVENTORY / "lab/cluster.yml").read_text()
    line = next(line for line in text.splitlines() if line.startswith("kubernetes:"))
    shutil.copytree(INVENTORY / "lab", folder / "lab")
    changed = text.replace(line, line.removesuffix("}") + f', version: "{version}", node_prefix: 25, pods_per_node: 100}}')
    (folder / "lab/cluster.yml").write_text(changed)
    opened = open_folder(folder / "lab")
    files = dict(render_kubernetes(opened.plan, opened.catalogue))
    (folder / "init.yaml").write_bytes(settle(files["kubernetes/kubeadm/init.yaml"])[0])
    script = SCRIPT.format(phases=" ".join(phase.replace(" ", ",") for phase in PHASES))
    command = ["unshare", "--mount", "sh", "-c", script, "sh", str(folder), str(programs)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=stretch(120))
    assert done.returncode == 0, done.stderr + done.stdout
    return opened.plan, folder, done


def read_pod(folder, name):
    """Return a static pod's container, and its arguments by name."""
    pod = yaml.safe_load((folder / f"etc/kubernetes/manifests/{name}.yaml").read_text())
    (container,) = pod["spec"]["containers"]
    arguments = dict(word.removeprefix("--").partition("=")[::2] for word in container["command"][1:])
    return container, arguments


def test_kubeadm_knows_every_field(made):
    _, _, done = made
    said = (done.stderr + done.stdout).lower()
    assert "unknown field" not in said and "strict decoding" not in said, said


def test_the_api_server_reads_the_files_that_are_rendered_for_it(made):
    plan, folder, _ = made
    container, arguments = read_pod(folder, "kube-apiserver")
    mounts = {mount["mountPath"]: mount.get("readOnly", False) for mount in container["volumeMounts"]}
    files = [arguments[name] for name in ("audit-policy-file", "encryption-provider-config")]
    assert files == ["/etc/kubernetes/gpuyard/audit-policy.yaml", "/etc/kubernetes/gpuyard/encryption.yaml"]
    assert mounts["/etc/kubernetes/gpuyard"] is True
    assert mounts[arguments["audit-log-path"].rpartition("/")[0]] is False
    assert arguments["enable-admission-plugins"] == "NodeRestriction,PodNodeSelector"
    assert arguments["service-cluster-ip-range"] == plan.kubernetes.service_pool
    first = next(node for node in plan.kubernetes.nodes if node.is_control)
    assert arguments["advertise-address"] == first.address
    for probe in ("livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["host"] == first.address


def test_the_controller_manager_cuts_the_pod_pool_as_planned(made):
    plan, folder, _ = made
    _, arguments = read_pod(folder, "kube-controller-manager")
    assert (arguments["cluster-cidr"], arguments["node-cidr-mask-size"]) == (plan.kubernetes.pod_pool, "25")


def test_the_certificate_is_good_for_whoever_asks(made):
    plan, folder, _ = made
    certificate = folder / "etc/kubernetes/pki/apiserver.crt"
    text = subprocess.run(
        ["openssl", "x509", "-in", certificate, "-noout", "-ext", "subjectAltName"], capture_output=True, text=True, check=True
    ).stdout
    names = {name.strip() for name in text.splitlines()[1].split(",")}
    endpoint = plan.kubernetes.endpoint
    first = next(node for node in plan.kubernetes.nodes if node.is_control)
    addresses = {f"IP Address:{address}" for address in (first.address, endpoint.address, *endpoint.others)}
    assert {f"DNS:{endpoint.name}", f"DNS:{first.name}"} | addresses <= names
    for user in ("admin", "kubelet"):
        kubeconfig = yaml.safe_load((folder / f"etc/kubernetes/{user}.conf").read_text())
        assert kubeconfig["clusters"][0]["cluster"]["server"] == f"https://{endpoint.name}:{endpoint.port}"
