"""What kubeadm, the kubelet, the API server, HAProxy and keepalived are told, each held against what it takes."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from functools import cache
from ipaddress import ip_address, ip_network

import pytest
import yaml
from kubeadm_schemas import judge

from cluster_model.checks.services.kubernetes import ADVISED
from cluster_model.intent.services.kubernetes import Kubernetes
from cluster_model.plan.services.releases import read_releases
from cluster_model.references import settle
from cluster_model.render.dns import render_dns
from cluster_model.render.inventory.document import render_inventory
from cluster_model.render.services.kubernetes import render_kubernetes
from tests.planned import INVENTORY, open_example, open_folder

EXAMPLES = ("driving", "lab", "superpod-roce")
RANDOM_KEY = "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA="
"""32 bytes in Base64, in place of the secret."""


def render(opened):
    """Return the files of kubernetes/kubeadm and kubernetes/endpoint as they would be delivered."""
    files = {}
    for path, data in render_kubernetes(opened.plan, opened.catalogue):
        if path.startswith(("kubernetes/kubeadm/", "kubernetes/endpoint/")):
            files[path.removeprefix("kubernetes/")] = settle(data)[0].decode()
    return files


@cache
def render_example(name):
    return render(open_example(name))


def change(folder, name, kubernetes):
    """Return an example with another line on Kubernetes."""
    text = (INVENTORY / name / "cluster.yml").read_text()
    kept = [line if not line.startswith("kubernetes:") else f"kubernetes: {kubernetes}" for line in text.splitlines()]
    shutil.copytree(INVENTORY / name, folder, dirs_exist_ok=True)
    (folder / "cluster.yml").write_text("\n".join(kept) + "\n")
    return open_folder(folder)


def list_documents(files):
    """Return every YAML document with its path, its secrets filled in."""
    filled = {path: text.replace("{{gpuyard-secret:kubernetes-encryption}}", RANDOM_KEY) for path, text in files.items()}
    yamls = {path: text for path, text in filled.items() if path.endswith(".yaml")}
    return [(path, document) for path, text in yamls.items() for document in yaml.safe_load_all(text)]


def list_faults(files):
    return [
        (path, fault)
        for path, document in list_documents(files)
        if not path.startswith("kubeadm/patches/") and (fault := judge(document))
    ]


def read_init(files):
    return {document["kind"]: document for document in yaml.safe_load_all(files["kubeadm/init.yaml"])}


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_document_is_one_that_its_program_takes(example):
    files = render_example(example)
    assert list_faults(files) == []
    # What comes before the first document is one to kubeadm, and none that it knows.
    assert all(text.startswith("---\n") for path, text in files.items() if path.startswith(("kubeadm/init", "kubeadm/join/")))
    nodes = {node.name for node in open_example(example).plan.kubernetes.nodes}
    assert {path.split("/")[2].removesuffix(".yaml") for path in files if path.startswith("kubeadm/join/")} == nodes


@pytest.mark.parametrize(
    ("version", "api", "release", "more"),
    [
        (
            "1.36",
            "v1beta4",
            "v1.36.3",
            {"kubeadm/admission.yaml", "kubeadm/patches/test_gpu-server/kubeletconfiguration+merge.yaml"},
        ),
        ("1.37", "v1beta4", "stable-1.37", {"kubeadm/admission.yaml"}),
        ("1.36.1", "v1beta4", "v1.36.1", {"kubeadm/admission.yaml"}),
        ("1.28", "v1beta3", "stable-1.28", {"kubeadm/admission.yaml"}),
        ("1.20.2", "v1beta2", "v1.20.2", set()),
    ],
)
def test_each_version_is_told_in_the_form_that_it_speaks(version, api, release, more, tmp_path):
    files = render(change(tmp_path, "lab", f'{{control: control, workers: [gpu], version: "{version}"}}'))
    assert list_faults(files) == []
    found = read_init(files)
    assert {found[kind]["apiVersion"] for kind in ("InitConfiguration", "ClusterConfiguration")} == {f"kubeadm.k8s.io/{api}"}
    assert found["ClusterConfiguration"]["kubernetesVersion"] == release
    assert {path for path in files if "admission" in path} == {path for path in more if "admission" in path}
    plugins = yaml.safe_dump(found["ClusterConfiguration"]["apiServer"])
    assert ("DenyServiceExternalIPs" in plugins) == (version != "1.20.2")
    patches = [path for path in files if "/patches/" in path]
    joins = [text for path, text in files.items() if "/join/" in path]
    assert bool(patches) == (version != "1.20.2") == any("patches:" in text for text in joins)


def test_a_patch_makes_a_configuration_that_the_kubelet_takes():
    files = render_example("superpod-roce")
    base = read_init(files)["KubeletConfiguration"]
    (patch,) = (yaml.safe_load(text) for path, text in files.items() if "/patches/" in path)
    assert judge(base | patch) == ""
    assert patch["topologyManagerPolicy"] == "best-effort"
    assert patch["cpuManagerPolicy"] == "static"
    # Static wants whole CPUs to be kept for the system, and kubeadm merges what we wrote over its own.
    assert judge(base | patch | {"systemReserved": {"memory": "8Gi"}}) != ""


def test_images_are_pulled_from_where_the_list_says_that_they_are(tmp_path):
    opened = change(tmp_path, "lab", "{control: control, workers: [gpu], registry: registry.example.net/k8s}")
    cluster = read_init(render(opened))["ClusterConfiguration"]
    assert judge(cluster) == ""
    held = {
        line.split()[1]
        for line in dict(render_kubernetes(opened.plan, opened.catalogue))["kubernetes/images.txt"].decode().splitlines()
    }
    for name in ("kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler"):
        assert f"{cluster['imageRepository']}/{name}:{cluster['kubernetesVersion']}" in held
    (coredns,) = (image for image in held if "coredns" in image)
    assert coredns.startswith(f"{cluster['dns']['imageRepository']}/coredns:v")
    assert {image.partition(":")[0] for image in held} >= {f"{cluster['imageRepository']}/{name}" for name in ("etcd", "pause")}


@pytest.mark.parametrize(
    ("version", "listed", "told"),
    [
        ("1.36", 7, ""),
        ("1.36.1", 7, ""),
        (
            "1.37.2",
            4,
            "# Not listed: CoreDNS, etcd and pause of 1.37.2. kubeadm config images list --kubernetes-version v1.37",
        ),
        ("1.37", 0, "# Not listed: the control plane of 1.37. kubeadm config images list --kubernetes-version stable-1.37 "),
    ],
)
def test_the_list_says_which_images_it_lacks(version, listed, told, tmp_path):
    opened = change(tmp_path, "lab", f'{{control: control, workers: [gpu], version: "{version}", registry: r.example.net}}')
    first, *lines = dict(render_kubernetes(opened.plan, opened.catalogue))["kubernetes/images.txt"].decode().splitlines()
    assert first.startswith(told) if told else not first.startswith("#")
    names = {line.split("/")[1].partition(":")[0] for line in (first, *lines) if line.startswith("registry.k8s.io/")} - {"nfd"}
    assert len(names) == listed
    release = read_init(render(opened))["ClusterConfiguration"]["kubernetesVersion"]
    assert all(f"/{name}:{release} " in "\n".join((first, *lines)) for name in names if name.startswith("kube-"))


def test_the_version_that_findings_advise_is_the_default_and_known():
    """A fix that leads to the next finding is none."""
    assert ADVISED in read_releases()
    assert Kubernetes.model_fields["version"].default == ADVISED


def test_pods_may_have_gpus_of_any_numa_node_where_that_is_asked(tmp_path):
    files = render(change(tmp_path, "superpod-roce", "{control: control, workers: [gpu], numa_policy: none}"))
    (patch,) = (yaml.safe_load(text) for path, text in files.items() if "/patches/" in path)
    assert set(patch) == {"apiVersion", "kind", "systemReserved"}


def test_a_control_server_that_runs_pods_of_users_has_no_taint(tmp_path):
    files = render(change(tmp_path, "lab", "{control: control, workers: [gpu, control]}"))
    assert list_faults(files) == []
    taints = {path: yaml.safe_load(text)["nodeRegistration"].get("taints") for path, text in files.items() if "/join/" in path}
    assert {path for path, found in taints.items() if found == []} == {
        f"kubeadm/join/control-00{number}.yaml" for number in (1, 2, 3)
    }


def list_announced(hosts, files):
    """Return the API server's address that its unit has, and what certificates have of it: where leafs are told of none, nothing.

    It is in the range that hosts have a route to, and no host's own.
    """
    unit = files.get("endpoint/gpuyard-kubernetes-endpoint.service", "")
    found = re.findall(r"^ExecStart=.* (\S+) 6443$", unit, re.MULTILINE)
    services = [service for values in hosts.values() for service in values.get("gpuyard_services", [])]
    for address in found:
        ranges = {service["route"] for service in services if service["purpose"] == "storage"}
        assert len(ranges) == 1 and ip_address(address) in ip_network(ranges.pop())
        assert f"{address}/32" not in {service["address"] for service in services}
    domain = re.findall(r"^# kubernetes-storage\.(\S+) of ", unit, re.MULTILINE)
    return found, [*(f"kubernetes-storage.{name}" for name in domain), *found]


@pytest.mark.parametrize("example", EXAMPLES)
def test_nodes_addresses_are_those_of_their_ports(example):
    """Inventory, kubeadm, proxy, certificate and zone speak of the same addresses."""
    opened, files = open_example(example), render_example(example)
    hosts = yaml.safe_load(render_inventory(opened.plan, opened.catalogue, {}))["_meta"]["hostvars"]
    storage = {
        name: service["address"].partition("/")[0]
        for name, values in hosts.items()
        for service in values.get("gpuyard_services", [])
        if service["purpose"] == "storage"
    }
    joins = {path.split("/")[2].removesuffix(".yaml"): yaml.safe_load(text) for path, text in files.items() if "/join/" in path}
    told = {name: join["nodeRegistration"]["kubeletExtraArgs"][0] for name, join in joins.items()}
    assert told == {name: {"name": "node-ip", "value": storage[name]} for name in joins}
    control = sorted(node.name for node in opened.plan.kubernetes.nodes if node.is_control)
    assert [name for name, join in sorted(joins.items()) if "controlPlane" in join] == control
    for name in control:
        assert joins[name]["controlPlane"]["localAPIEndpoint"]["advertiseAddress"] == storage[name]
    lines = [line.split() for line in files["endpoint/haproxy.cfg"].splitlines() if line.startswith("    server ")]
    assert lines == [["server", name, f"{storage[name]}:6443"] for name in control]

    found = read_init(files)
    init, cluster = found["InitConfiguration"], found["ClusterConfiguration"]
    assert init["nodeRegistration"] == joins[control[0]]["nodeRegistration"]
    assert init["localAPIEndpoint"] == joins[control[0]]["controlPlane"]["localAPIEndpoint"]
    endpoint, _, port = cluster["controlPlaneEndpoint"].partition(":")
    assert f"bind 127.0.0.1:{port}\n" in files["endpoint/haproxy.cfg"]
    managed = [hosts[name]["ansible_host"] for name in control]
    own, announced = list_announced(hosts, files)
    assert cluster["apiServer"]["certSANs"] == [endpoint, "127.0.0.1", *managed, *announced]
    assert bool(own) == (opened.plan.kubernetes.endpoint.mode == "bgp")
    zone = dict(render_dns(opened.plan)).get(f"dns/{opened.plan.site.domain}.zone", b"").decode()
    if zone:
        records = [line.split() for line in zone.splitlines() if line.startswith("kubernetes ")]
        assert [record[-1] for record in records] == managed
        named = [line.split()[-1] for line in zone.splitlines() if line.startswith("kubernetes-storage ")]
        assert named == own


def test_the_example_with_a_zone_is_among_them():
    assert any(dict(render_dns(open_example(example).plan)) for example in EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES)
def test_ranges_are_those_of_the_plan(example):
    kubernetes, found = open_example(example).plan.kubernetes, read_init(render_example(example))
    networking = found["ClusterConfiguration"]["networking"]
    assert (networking["podSubnet"], networking["serviceSubnet"]) == (kubernetes.pod_pool, kubernetes.service_pool)
    told = {line["name"]: line["value"] for line in found["ClusterConfiguration"]["controllerManager"]["extraArgs"]}
    part = int(told["node-cidr-mask-size"])
    assert 2 ** (part - ip_network(kubernetes.pod_pool).prefixlen) >= kubernetes.planned >= len(kubernetes.nodes)
    assert 2 ** (32 - part) - 3 >= found["KubeletConfiguration"]["maxPods"]


def test_one_pod_takes_neither_all_processes_nor_all_of_etcd():
    found = read_init(render_example("driving"))
    assert 0 < found["KubeletConfiguration"]["podPidsLimit"] < 4_194_304 // 2
    (quota,) = found["ClusterConfiguration"]["etcd"]["local"]["extraArgs"]
    assert quota == {"name": "quota-backend-bytes", "value": str(8 * 1024**3)}


def ask(program, *arguments):
    """Return what a program complains of."""
    found = shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin")
    if found is None:
        pytest.skip(f"no {program} here (package {program})")
    done = subprocess.run([found, *arguments], capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr) if done.returncode else ""


@pytest.mark.parametrize("example", EXAMPLES)
def test_haproxy_takes_its_configuration(example, tmp_path):
    file = tmp_path / "haproxy.cfg"
    file.write_text(render_example(example)["endpoint/haproxy.cfg"])
    assert ask("haproxy", "-c", "-f", str(file)) == ""
    file.write_text(file.read_text().replace("option httpchk", "option httpcheck"))
    assert "httpcheck" in ask("haproxy", "-c", "-f", str(file))


VRRP = """
tenants:
  red: {id: 1, servers: [node, control], subnets: {a: {id: 1, cidr: 10.48.1.0/24, first: {control: 100}}}}
kubernetes: {control: control, workers: [node], network: red/a, endpoint: {mode: vrrp, address: 10.48.1.10}}
"""


def test_keepalived_takes_its_configuration(tmp_path):
    base = (INVENTORY.parent / "tests/errors/bases/tenants.yml").read_text()
    (tmp_path / "cluster.yml").write_text(base.partition("tenants:")[0] + VRRP)
    opened = open_folder(tmp_path)
    files = render(opened)
    assert list_faults(files) == []
    control = [node for node in opened.plan.kubernetes.nodes if node.is_control]
    assert len(control) == 3
    here = next(name for _, name in socket.if_nameindex() if name != "lo")
    priorities = set()
    for node in control:
        text = files[f"endpoint/{node.name}.keepalived.conf"]
        file = tmp_path / "keepalived.conf"
        file.write_text(text.replace(node.interface, here))  # it looks for the interface as well
        assert ask("keepalived", "-t", "-f", str(file)) == ""
        assert f"unicast_src_ip {node.address}\n" in text
        assert text.count("        10.") == 3  # two peers and the address
        priorities.add(text.partition("priority ")[2].split()[0])
    assert len(priorities) == 3
    file.write_text(file.read_text().replace("unicast_src_ip", "unicast_source"))
    assert "unicast_source" in ask("keepalived", "-t", "-f", str(file))
    cluster = read_init(files)["ClusterConfiguration"]
    endpoint = opened.plan.kubernetes.endpoint
    assert cluster["controlPlaneEndpoint"] == f"{endpoint.name}:6443"
    assert cluster["apiServer"]["certSANs"] == [endpoint.name, endpoint.address]
    assert "endpoint/haproxy.cfg" not in files
