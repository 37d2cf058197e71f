"""kubernetes/kubeadm/: what kubeadm is told on the first control server, and on each server that joins.

Field names and forms are those of kubeadm's API types (kubernetes/kubernetes, cmd/kubeadm/app/apis/kubeadm/v1beta2 to v1beta4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cluster_model.plan.model import Plan, Server
from cluster_model.plan.model.kubernetes import Kubernetes, Node
from cluster_model.plan.services.kubernetes import API_PORT, write_label
from cluster_model.plan.services.releases import KUBELET_PATCHES
from cluster_model.render.kubernetes.charts import mirror
from cluster_model.render.kubernetes.control import ADMISSION, AUDIT_LOG, FOLDER, has_pod_security, list_plugins
from cluster_model.render.kubernetes.objects import Json, write_objects
from cluster_model.render.kubernetes.releases import REGISTRY, find_release

SOCKET = "unix:///run/containerd/containerd.sock"
"""Source: containerd's default, and Kubernetes documentation, container runtimes."""
RESERVED, RESERVED_WITH_GPUS = {"cpu": "500m", "memory": "1Gi"}, {"cpu": "2", "memory": "8Gi"}
"""What a kubelet keeps from pods for the system: our choice. A server with GPUs runs more beside them, such as DCGM, and a CPU
manager that gives whole CPUs away wants at least one for itself."""
PIDS = 65_536
"""Of a pod, threads too, at most: our choice, some times what eight ranks with their data loaders need. Without it one pod can
take all that a node has, which are 4,194,304 (Linux, pid_max)."""
ETCD_BYTES = 8 << 30
"""Beyond it etcd takes no writes, of anybody, until an administrator makes room: four times its own default, and the most that
its documentation suggests. Source: etcd documentation, System limits: Storage size limit."""


def render_kubeadm(plan: Plan) -> Iterator[tuple[str, bytes]]:
    """Yield the configuration of the first control server, that of each server for when it joins, and patches by server model."""
    kubernetes = plan.kubernetes
    servers = {server.name: server for server in plan.servers}
    control = next((node for node in kubernetes.nodes if node.is_control), None)
    if control is None:
        return
    first = [_write_init(kubernetes, control, servers[control.name]), _write_cluster(plan), _write_kubelet(kubernetes)]
    yield "kubernetes/kubeadm/init.yaml", _write_file(f"For kubeadm init, on {control.name}.", first)
    for node in kubernetes.nodes:
        about = f"For kubeadm join, on {node.name}."
        yield (
            f"kubernetes/kubeadm/join/{node.name}.yaml",
            _write_file(about, [_write_join(kubernetes, node, servers[node.name])]),
        )
    for model in sorted(
        {servers[node.name].model for node in kubernetes.nodes if has_patch(kubernetes, node, servers[node.name])}
    ):
        path = f"kubernetes/kubeadm/patches/{write_label(model)}/kubeletconfiguration+merge.yaml"
        yield path, _write_file(f"What kubelets on servers of {model} do otherwise.", [_write_patch(kubernetes)])


def _write_file(about: str, documents: list[Json]) -> bytes:
    """Return a file for kubeadm, to which a comment before the first document is a document without a kind."""
    comment, _, text = write_objects(about, documents).partition(b"\n")
    start, _, text = text.partition(b"\n")
    return b"\n".join((start, comment, text))


def choose_api(kubernetes: Kubernetes) -> str:
    """Return the version of kubeadm's API that a release speaks.

    Source: kubernetes.io, kubeadm Configuration (v1beta3), (v1beta4): v1beta3 came with 1.22 and v1beta4 with 1.31.
    """
    minor = kubernetes.minor
    return "kubeadm.k8s.io/" + ("v1beta4" if minor >= 31 else "v1beta3" if minor >= 22 else "v1beta2")


def _write_arguments(kubernetes: Kubernetes, arguments: Mapping[str, str]) -> Any:
    """Return arguments of a program: a list from v1beta4 on, a mapping before."""
    if choose_api(kubernetes).endswith("v1beta4"):
        return [{"name": name, "value": value} for name, value in arguments.items()]
    return dict(arguments)


def _write_document(kubernetes: Kubernetes, kind: str, **parts: Any) -> Json:
    return {"apiVersion": choose_api(kubernetes), "kind": kind, **parts}


def _write_init(kubernetes: Kubernetes, node: Node, server: Server) -> Json:
    return _write_document(
        kubernetes,
        "InitConfiguration",
        # What kubeadm makes one token of, which nobody joins by; by itself it would open the cluster for a day.
        bootstrapTokens=[{"ttl": "1h0m0s"}],
        localAPIEndpoint=_write_address(node),
        **_write_registration(kubernetes, node, server),
    )


def _write_join(kubernetes: Kubernetes, node: Node, server: Server) -> Json:
    # The token is in a file of its own, which is made when it is needed: this one can be read by anybody.
    discovery = {"file": {"kubeConfigPath": f"{FOLDER}/discovery.conf"}}
    control = {"controlPlane": {"localAPIEndpoint": _write_address(node)}}
    return _write_document(
        kubernetes,
        "JoinConfiguration",
        discovery=discovery,
        **(control if node.is_control else {}),
        **_write_registration(kubernetes, node, server),
    )


def _write_address(node: Node) -> Json:
    """Return where a control server's own API server listens."""
    return {"advertiseAddress": node.address, "bindPort": API_PORT}


def _write_registration(kubernetes: Kubernetes, node: Node, server: Server) -> Json:
    """Return how a node calls itself, and where its patches are."""
    registration: Json = {
        "name": node.name,
        "criSocket": SOCKET,
        "kubeletExtraArgs": _write_arguments(kubernetes, {"node-ip": node.address}),
    }
    if node.is_control and node.is_worker:
        registration["taints"] = []  # without the key kubeadm keeps users' pods away from the control plane
    patched = {"patches": {"directory": f"{FOLDER}/patches"}} if has_patch(kubernetes, node, server) else {}
    return {"nodeRegistration": registration, **patched}


def _write_cluster(plan: Plan) -> Json:
    kubernetes = plan.kubernetes
    endpoint = kubernetes.endpoint
    release = find_release(kubernetes)
    own = (endpoint.name, endpoint.address, *endpoint.others, endpoint.announced_name, endpoint.announced)
    names = [name for name in own if name]
    audit = {"audit-policy-file": f"{FOLDER}/audit-policy.yaml", "audit-log-path": AUDIT_LOG}
    # A month, and no more than 1.1 GB.
    audit |= {"audit-log-maxage": "30", "audit-log-maxbackup": "10", "audit-log-maxsize": "100"}
    arguments = {
        **audit,
        "encryption-provider-config": f"{FOLDER}/encryption.yaml",
        "enable-admission-plugins": ",".join(list_plugins(kubernetes)),
        **({"admission-control-config-file": f"{FOLDER}/{ADMISSION}"} if has_pod_security(kubernetes) else {}),
        "profiling": "false",
    }
    folder = AUDIT_LOG.rpartition("/")[0]
    volumes = [
        {"name": "gpuyard", "hostPath": FOLDER, "mountPath": FOLDER, "readOnly": True, "pathType": "Directory"},
        {"name": "audit", "hostPath": folder, "mountPath": folder, "pathType": "DirectoryOrCreate"},
    ]
    return _write_document(
        kubernetes,
        "ClusterConfiguration",
        clusterName=plan.name,
        kubernetesVersion=release.version,
        controlPlaneEndpoint=f"{endpoint.name}:{endpoint.port}",
        **_write_repository(kubernetes),
        networking={"podSubnet": kubernetes.pod_pool, "serviceSubnet": kubernetes.service_pool, "dnsDomain": "cluster.local"},
        apiServer={
            "certSANs": list(dict.fromkeys(names)),
            "extraArgs": _write_arguments(kubernetes, arguments),
            "extraVolumes": volumes,
        },
        controllerManager={
            "extraArgs": _write_arguments(kubernetes, {"node-cidr-mask-size": str(kubernetes.node_prefix), "profiling": "false"})
        },
        scheduler={"extraArgs": _write_arguments(kubernetes, {"profiling": "false"})},
        etcd={"local": {"extraArgs": _write_arguments(kubernetes, {"quota-backend-bytes": str(ETCD_BYTES)})}},
    )


def _write_repository(kubernetes: Kubernetes) -> Json:
    """Return where kubeadm has images from, where that is not their makers' registry.

    Source: kubeadm, images.GetDNSImage: the folder of CoreDNS is added to the default registry alone.
    """
    if not kubernetes.registry:
        return {}
    repository = mirror(kubernetes, REGISTRY)
    return {"imageRepository": repository, "dns": {"imageRepository": f"{repository}/coredns"}}


def _write_kubelet(kubernetes: Kubernetes) -> Json:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cgroupDriver": "systemd",
        "maxPods": kubernetes.pods_per_node,
        "podPidsLimit": PIDS,
        "systemReserved": RESERVED,
    }


def has_patch(kubernetes: Kubernetes, node: Node, server: Server) -> bool:
    """Return whether the kubelet of a node is told something that others are not."""
    return node.is_worker and server.gpus > 0 and kubernetes.minor >= KUBELET_PATCHES


def _write_patch(kubernetes: Kubernetes) -> Json:
    policy = kubernetes.numa_policy
    aligned = {} if policy == "none" else {"cpuManagerPolicy": "static", "topologyManagerPolicy": policy}
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        **aligned,
        "systemReserved": RESERVED_WITH_GPUS,
    }
