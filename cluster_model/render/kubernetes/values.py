"""kubernetes/values/: what Helm charts are told of the cluster. What a chart says by default is not said again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import yaml

from cluster_model.plan.model import Plan, Server
from cluster_model.plan.services.volumes import FILES, VOLUMES
from cluster_model.render.kubernetes.charts import list_charts, mirror
from cluster_model.render.kubernetes.objects import Json, write_objects
from cluster_model.render.kubernetes.topology import GPU, list_hypernodes

VXLAN_BYTES = 50
"""What VXLAN over IPv4 adds to a packet. Source: RFC 7348, section 5: Ethernet 14, VXLAN 8, UDP 8, IPv4 20."""
SCHEDULER: Json = {
    "actions": "enqueue, allocate, backfill",
    "tiers": [
        {"plugins": [{"name": "priority"}, {"name": "gang", "enablePreemptable": False}, {"name": "conformance"}]},
        {
            "plugins": [
                {"name": "overcommit"},
                {"name": "drf", "enablePreemptable": False},
                *({"name": name} for name in ("predicates", "proportion", "nodeorder", "binpack")),
                # Without it nothing is placed by HyperNodes. The weight is the guide's; GPUs are what jobs share.
                {"name": "network-topology-aware", "arguments": {"weight": 10, "hypernode.binpack.resources": GPU}},
            ]
        },
    ],
}
"""Volcano's own configuration and one plug-in more. Source: Volcano, chart's config/volcano-scheduler.conf, and user guide
"Network Topology Aware Scheduling", section 3.1."""

WEBHOOKS = (
    "/jobs/mutate,/jobs/validate,/podgroups/validate,/queues/mutate,/queues/validate,/hypernodes/validate,/cronjobs/validate"
    ",/podgroups/mutate"
)
"""Volcano's own and one more, which gives a PodGroup its namespace's queue. Source: Volcano v1.15.0, chart's values.yaml."""

MONITOR_PORT = 6789
"""Of Ceph's monitors for the kernel. Source: Ceph documentation, network configuration reference: 6789 for v1, 3300 for v2, which
kernels speak only where a map option says so."""
PROVISIONERS = 3
"""Source: ceph/csi-charts, ceph-csi-rbd-3.17.1.tgz and ceph-csi-cephfs-3.17.1.tgz, values.yaml, provisioner.replicaCount."""
CONTROL = "node-role.kubernetes.io/control-plane"
"""Label and taint of control servers. Volcano's controllers may read every Secret: they do not run beside tenants' pods. Source:
Kubernetes documentation, well-known labels, annotations and taints."""


def render_values(plan: Plan) -> Iterator[tuple[str, bytes]]:
    """Yield a file of values for each chart that the cluster installs."""
    for chart in list_charts(plan):
        values = write_values(plan, chart.name)
        if plan.kubernetes.registry:
            for key, default in chart.mirror:
                _put(values, key, mirror(plan.kubernetes, default))
        about = f"Values of chart {chart.name} {chart.version} of {chart.repository}."
        about += "" if chart.confirmed else " Not all of this line is confirmed."
        yield f"kubernetes/values/{chart.name}.yaml", write_objects(about, [values])


def write_values(plan: Plan, chart: str) -> Json:
    """Return what a chart is told of the cluster, without a registry; empty where its defaults do."""
    return WRITERS[chart](plan) if chart in WRITERS else {}


def list_node_interfaces(plan: Plan) -> tuple[list[str], int]:
    """Return the interfaces that nodes have in the nodes' network, and the MTU that all of them carry, in bytes.

    A name that is a rail on some other node is left out: what attaches to it by name would be on the rail.
    """
    nodes = {node.name for node in plan.kubernetes.nodes}
    servers = [server for server in plan.servers if server.name in nodes]
    found = [item for server in servers for item in _list_interfaces(server, plan.kubernetes.network)]
    rails = {port.name for server in servers for port in server.ports if port.network == "compute"}
    return sorted({name for name, _ in found} - rails), min((mtu for _, mtu in found), default=0)


def _list_interfaces(server: Server, network: str) -> list[tuple[str, int]]:
    """Return a server's interfaces in a network, each with its MTU."""
    if "/" in network:
        vlans = [(vlan, bond.mtu_bytes) for bond in server.bonds for vlan in bond.vlans]
        return [(vlan.name, mtu) for vlan, mtu in vlans if f"{vlan.tenant}/{vlan.subnet}" == network]
    return [(port.name, port.mtu_bytes) for port in server.ports if port.network == network]


def _write_cilium(plan: Plan) -> Json:
    """Return values for Cilium, which leaves services to kube-proxy.

    In kube-proxy's place it looks for the device with the node's address, else the one with the default route (Cilium, option
    direct-routing-device). In the storage network the address is on the loopback, over two ports, and that route is elsewhere.
    """
    interfaces, mtu = list_node_interfaces(plan)
    # The nodes' parts of the pool are the controller manager's, as kubeadm is told.
    values: Json = {"ipam": {"mode": "kubernetes"}}
    if plan.kubernetes.pod_routing == "bgp":
        values |= {
            "routingMode": "native",
            "ipv4NativeRoutingCIDR": plan.kubernetes.pod_pool,  # all else sees the node's address
            # By the host's routes, which are over all links: else it wants one device for all nodes, unless kube-proxy stays.
            # Source: cilium/cilium, pkg/option/config.go, DirectRoutingDeviceRequired; daemon/cmd/kube_proxy_replacement.go.
            "bpf": {"hostLegacyRouting": True},
            "bgpControlPlane": {"enabled": True},
        }
    else:
        values |= {"routingMode": "tunnel", "tunnelProtocol": "vxlan"}  # switches know no routes to pods
    if interfaces:
        # By itself it takes every device with a global route, rails among them. Source: Cilium, values.yaml, devices.
        values["devices"] = ",".join(interfaces)
    if mtu:
        values["MTU"] = mtu  # of the network; Cilium takes off what its tunnel needs
    if any(node.interface == "lo" for node in plan.kubernetes.nodes):
        # What leaves a node has the address that the host itself would have, not that of one of its ports.
        values["enableMasqueradeRouteSource"] = True
    if plan.kubernetes.rails:
        values["cni"] = {"exclusive": False}  # else it renames Multus' configuration
    return values


def _write_calico(plan: Plan) -> Json:
    """Return values for Calico's operator: one pool in blocks as large as each node's part, in VXLAN or as they are.

    Its BGP is on by default. Source: tigera/operator, CRD operator.tigera.io/v1 Installation, spec.calicoNetwork.
    """
    kubernetes = plan.kubernetes
    tunnels = kubernetes.pod_routing == "vxlan"
    encapsulation = "VXLAN" if tunnels else "None"
    pool = {"cidr": kubernetes.pod_pool, "blockSize": kubernetes.node_prefix, "encapsulation": encapsulation}
    _, mtu = list_node_interfaces(plan)
    network = {
        **({"bgp": "Disabled"} if tunnels else {}),  # else every node peers with every other
        **({"mtu": mtu - (VXLAN_BYTES if tunnels else 0)} if mtu else {}),  # of pods
        "ipPools": [pool],
        "nodeAddressAutodetectionV4": {"kubernetes": "NodeInternalIP"},  # by itself it takes the first port, maybe a rail
    }
    # Neither flow logs nor a page that shows them: nobody asked for the images.
    return {"installation": {"calicoNetwork": network}, "goldmane": {"enabled": False}, "whisker": {"enabled": False}}


def _write_gpu_operator(_plan: Plan) -> Json:
    """Return values for NVIDIA's GPU operator: driver and toolkit are on the host, and GPUs are given whole.

    Its device plugin names GPUs as CDI devices: `cdi.enabled`, by default since v25.10.0. The hosts' toolkit does not heed
    NVIDIA_VISIBLE_DEVICES of unprivileged containers, the plugin's own default. Source: NVIDIA/gpu-operator, tag v26.3.3,
    controllers/object_controls.go, transformDevicePluginCtrForCDI.
    """
    off = {part: {"enabled": False} for part in ("driver", "toolkit", "migManager")}
    return {**off, "mig": {"strategy": "none"}}


def _write_network_operator(_plan: Plan) -> Json:
    """Return values for NVIDIA's network operator: the GPU operator runs node feature discovery, and one is enough."""
    return {"nfd": {"enabled": False}}


def _write_volcano(plan: Plan) -> Json:
    """Return values for Volcano: its webhook goes by the namespaces' queues, its scheduler by HyperNodes, where there are any."""
    custom: Json = {"default_ns": {CONTROL: ""}, "default_tolerations": [{"key": CONTROL, "operator": "Exists"}]}
    if plan.tenants:
        custom["enabled_admissions"] = WEBHOOKS
    if next(list_hypernodes(plan), None) is not None:
        custom["scheduler_config_override"] = yaml.safe_dump(SCHEDULER, sort_keys=False)
    return {"custom": custom}


def _write_ceph_csi_rbd(plan: Plan) -> Json:
    """Return values for ceph-csi: where Ceph is, and a namespace of its own in each pool."""
    return _write_ceph_csi(plan, {"rbd": {"radosNamespace": VOLUMES}})


def _write_ceph_csi_cephfs(plan: Plan) -> Json:
    """Return values for ceph-csi: where Ceph is, its group in each file system, and the namespace of its list of volumes."""
    values = _write_ceph_csi(plan, {"cephFS": {"subvolumeGroup": FILES, "radosNamespace": FILES}})
    if any(volume.driver == "fuse" for volume in plan.kubernetes.shared_volumes):
        # ceph-fuse runs in the plug-in's pod, and ends with it: an upgrade waits until nobody has anything mounted there.
        values["nodeplugin"] = {"updateStrategy": "OnDelete"}
    return values


def _write_ceph_csi(plan: Plan, place: Json) -> Json:
    """Return values for ceph-csi with its place in Ceph. Its keys are in Secrets, and no values.

    What makes volumes may read every Secret: it does not run beside tenants' pods. Source: ceph/csi-charts,
    ceph-csi-rbd-3.17.1.tgz and ceph-csi-cephfs-3.17.1.tgz, templates/provisioner-clusterrole.yaml.
    """
    monitors = [f"{monitor.address}:{MONITOR_PORT}" for monitor in plan.ceph.monitors]
    cluster: Json = {"clusterID": plan.ceph.fsid, "monitors": monitors, **place}
    provisioner: Json = {"nodeSelector": {CONTROL: ""}, "tolerations": [{"key": CONTROL, "operator": "Exists"}]}
    control = sum(node.is_control for node in plan.kubernetes.nodes)
    if control < PROVISIONERS:  # no two of them are on one node
        provisioner["replicaCount"] = control
    return {"csiConfig": [cluster], "provisioner": provisioner}


def _put(values: Json, key: str, value: Any) -> None:
    """Put a value at a key written with dots."""
    *outer, last = key.split(".")
    for name in outer:
        values = values.setdefault(name, {})
    values[last] = value


WRITERS: dict[str, Callable[[Plan], Json]] = {
    "cilium": _write_cilium,
    "tigera-operator": _write_calico,
    "gpu-operator": _write_gpu_operator,
    "network-operator": _write_network_operator,
    "volcano": _write_volcano,
    "ceph-csi-rbd": _write_ceph_csi_rbd,
    "ceph-csi-cephfs": _write_ceph_csi_cephfs,
}
