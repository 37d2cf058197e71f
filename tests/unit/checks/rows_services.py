"""Rows of the rules about what runs on the cluster, and how it is installed and reached: K8S, CEP, GPU, PRV, ACC."""

from __future__ import annotations

import base64
from dataclasses import replace
from ipaddress import IPv4Network

from rows_provisioning import ASKED, WHOLE, _host, _install, _installation, _provisioning
from small_plan import chain, intent, items, networks, plan, ports, subnets
from small_tenants import make_server_bonds

from cluster_model.plan.model import Service
from cluster_model.plan.model.kubernetes import Endpoint, Kubernetes, Node
from cluster_model.plan.model.provisioning import Account, BootServer, DiskRule, Partition


def _pool(**pool):
    return intent("ceph.pools", {"data": pool})


def _arguments(*texts, group=None):
    asked = {"kernel_arguments": list(texts)}
    whole = {**ASKED, "groups": {group: asked}} if group else {**ASKED, "defaults": asked}
    return intent("provisioning", whole)


def _bmc(**values):
    return intent("bmc", values)


def _root(size_gb, swap_gb=0, **system):
    rule = DiskRule(system.get("model", ""), system.get("min_gb", 0), system.get("max_gb", 0))
    parts = [Partition("swap", swap_gb * 954, "linux", "swap", "", True)] if swap_gb else []
    return _install(system=rule, partitions=(*parts, Partition("root", size_gb * 954, "linux", "ext4", "/", True)))


def _rsa(bits):
    def field(data):
        return len(data).to_bytes(4, "big") + data

    modulus = (1 << (bits - 1)).to_bytes(bits // 8 + 1, "big")
    return "ssh-rsa " + base64.b64encode(field(b"ssh-rsa") + field(b"\1\0\1") + field(modulus)).decode() + " ops"


def _tenant(name):
    return intent("tenants", {name: {"id": 1, "subnets": {"front": {"id": 1, "cidr": "10.48.1.0/24"}}}})


def _version(version, **more):
    """Return the change to a version of Kubernetes, and to other keys of it."""
    return chain(intent("kubernetes.version", version), *(intent(f"kubernetes.{key}", value) for key, value in more.items()))


def _volumes(*pools):
    return intent("kubernetes.volumes", list(pools))


def _nodes(*addresses, speed_gbps=200):
    ends = [(address, f"{address}/32" if address else "", "lo" if address else "") for address in addresses]
    nodes = tuple(Node(f"gpu-{n:03d}", "gpu", False, True, *end, speed_gbps, ()) for n, end in enumerate(ends, 1))
    return plan(kubernetes=Kubernetes(network="storage", nodes=nodes))


def _shared(server, *legs, owners=("red", "blue")):
    """Return the change to a node's legs, each that of a server at a place, by default or not; others than `owners` have none."""
    vlans = tuple(replace(make_server_bonds(of)[0].vlans[place], default=default) for of, place, default in legs)
    bonds = (replace(make_server_bonds(server)[0], vlans=vlans),)
    nobodys = [items("tenants", name, servers=()) for name in ("red", "blue") if name not in owners]
    return chain(_nodes("10.0.0.1", "10.0.0.2"), items("servers", server, bonds=bonds), *nobodys)


RED_TRAIN, RED_FRONT = ("gpu-001", 0, False), ("gpu-001", 1, True)
BLUE_TRAIN, BLUE_FRONT = ("gpu-002", 0, False), ("gpu-002", 1, True)


def _control(*subnets, mode="vrrp", network="oob", **endpoint):
    """Return the change to control servers that have their addresses in these subnets, and what is said of the endpoint."""
    ends = [(str(IPv4Network(subnet)[0]), subnet, "eth0") for subnet in subnets]
    nodes = tuple(Node(f"control-{n:03d}", "control", True, False, *end, 25, ()) for n, end in enumerate(ends, 1))
    asked = intent("kubernetes.endpoint", {"mode": mode, **endpoint})
    return chain(plan(kubernetes=Kubernetes(network=network, endpoint=Endpoint(mode), nodes=nodes)), asked)


def _announced(address="", pod_routing="bgp"):
    """Return the change to an API server that leafs are told of, at an address."""
    asked = chain(intent("kubernetes.endpoint", {"mode": "bgp"}), intent("kubernetes.pod_routing", pod_routing))
    return chain(plan(kubernetes=Kubernetes(endpoint=Endpoint("bgp", announced=address))), asked)


LAST_SERVICE = Service("storage", "storage", "10.72.8.255/32", "10.72.8.0/24", ("10.72.0.0",), ("s0",))


def _numa(*numa, policy="single-numa-node"):
    """Return the change to GPU servers whose ports beside a GPU are on these NUMA nodes."""
    found = [ports("servers", "gpu-001", f"c{n}", numa=node, gpu=4 + n) for n, node in enumerate(numa)]
    return chain(intent("kubernetes.numa_policy", policy), *found)


def _rails(**second):
    """Return the change to pods that take rails; the second port of the GPU servers is varied."""
    whole = [{"pci": f"0000:0{n}:00.0", "rdma": f"mlx5_{n}", "route": f"10.64.{n}.0/24"} for n in range(2)]
    found = [ports("servers", "gpu-001", f"c{n}", **port) for n, port in enumerate((whole[0], whole[1] | second))]
    return chain(intent("kubernetes.rdma", "host-device"), *found)


SHARED = intent("kubernetes.rdma", "shared")


def _shared_by(*tenants):
    """Return the change to pods of these tenants that share ports on InfiniBand."""
    named = {name: {"id": n, "subnets": {"a": {"id": 1, "cidr": f"10.48.{n}.0/24"}}} for n, name in enumerate(tenants, 1)}
    return chain(_rails(), SHARED, networks("compute", technology="infiniband"), intent("tenants", named))


def _routed(network="storage", **asked):
    """Return the change to nodes that tell their leafs of their pods, with their addresses in a network."""
    told = [intent(f"kubernetes.{key}", value) for key, value in {"pod_routing": "bgp", **asked}.items()]
    return chain(plan(kubernetes=Kubernetes(network=network, pod_routing="bgp")), *told)


def _calico(change, **asked):
    """Return the change to Calico's nodes that tell their leafs of their pods, and something else."""
    return chain(_routed(cni="calico", **asked), change)


def _leafs_below():
    """Return the change to leafs with the highest AS number that Calico knows."""
    return items("switches", "storage-leaf", asn=2_147_483_647)


def _storage_on_rails(pci):
    """Return the change to storage servers that run pods too, with a port of that PCI address on the first rail."""
    port = ports("servers", "storage-001", "s0", network="compute", rdma="mlx5_0", pci=pci, route="10.64.0.0/24")
    return chain(_rails(), intent("kubernetes.workers", ["gpu", "storage"]), port)


def _accounts(*rows):
    return _provisioning(accounts=tuple(Account(name, keys, "") for name, keys in rows))


def _chip(model):
    return items("servers", "gpu", gpu_model=model)


def _racked(*racks):
    return chain(*(items("servers", f"storage-{n:03d}", rack=rack, u=20 + n) for n, rack in enumerate(racks, 1)))


def _gpu_install(firmware):
    return chain(
        intent("provisioning", ASKED),
        plan(provisioning=replace(WHOLE, installations=(_installation("gpu", firmware=firmware),), hosts=(_host(1),))),
    )


FIRES = {
    "K8S003": {
        "two of five": (intent("kubernetes.pod_pool", "10.244.0.0/23"), "10.244.0.0/23 has a /24 for 2 nodes, and 5 are planned"),
        "none": (intent("kubernetes.pod_pool", "10.244.0.0/26"), "a /24 for 0 nodes"),
        "too short": (intent("kubernetes.pod_pool", "64.0.0.0/7"), "kubeadm refuses 64.0.0.0/7"),
    },
    "K8S004": {
        "small": (intent("kubernetes.service_pool", "10.96.0.0/29"), "no tenth address"),
        "large": (intent("kubernetes.service_pool", "10.0.0.0/8"), "more than 20 bits"),
    },
    "K8S005": {"27": (intent("kubernetes.service_pool", "10.96.0.0/27"), "has 32 addresses")},
    "K8S006": {
        "loopback": (intent("kubernetes.pod_pool", "127.0.0.0/16"), "touches 127.0.0.0/8 (loopback)"),
        "multicast": (intent("kubernetes.service_pool", "224.0.0.0/16"), "the range of services touches"),
    },
    "K8S007": {
        "public": (intent("kubernetes.pod_pool", "8.8.0.0/16"), "the range of pods is public address space"),
        "docker": (intent("kubernetes.pod_pool", "172.16.0.0/14"), "the range of pods overlaps Docker's default range"),
    },
    "K8S008": {
        "old": (intent("kubernetes.version", "1.24"), "had its last fixes before November 2026"),
        "unknown": (intent("kubernetes.version", "1.99"), "is not known to have been released"),
    },
    "K8S009": {
        "gpu": (intent("kubernetes.control", "gpu"), "runs on gpu, which are GPU servers"),
        "storage": (intent("kubernetes.control", "storage"), "which are storage servers"),
        "workers": (intent("kubernetes.workers", ["gpu", "control"]), "control run the control plane and pods"),
    },
    "K8S010": {"osds": (intent("kubernetes.workers", ["gpu", "storage"]), "pods of users run on storage")},
    "K8S012": {
        "24": (intent("kubernetes.pods_per_node", 254), "a node may run 254 pods and has addresses for 253"),
        "26": (intent("kubernetes.node_prefix", 26), "a node may run 110 pods and has addresses for 61"),
    },
    "K8S013": {"one": (_nodes("10.0.0.1", ""), "1 node has no address in storage")},
    "K8S014": {"oob": (_nodes("10.0.0.1", "10.0.0.2", speed_gbps=1), "2 nodes with addresses in storage, at 1 Gb/s")},
    "K8S015": {
        "no ports": (chain(_rails(), intent("kubernetes.workers", ["control"])), "no worker has a port on the compute network"),
        "no network": (chain(_rails(), plan(networks=())), "no worker has a port on the compute network"),
        "InfiniBand": (chain(_rails(), networks("compute", technology="infiniband")), "has no rails with addresses"),
        "leaf-spine": (chain(_rails(), networks("compute", design="leaf-spine")), "has no rails with addresses"),
        "no PCI address": (_rails(pci=""), "ports of gpu have no PCI address and RDMA device"),
        "divided": (_rails(rdma="", sub=1), "ports of gpu have no PCI address and RDMA device"),
        "two models": (_storage_on_rails("0000:01:00.0"), "PCI address 0000:01:00.0 is c1 in gpu and s0 in storage"),
        "shared on RoCE": (chain(_rails(), SHARED), "pods that share a port of the compute network have no address of their own"),
        "shared by none": (chain(_rails(), SHARED, intent("kubernetes.workers", ["control"])), "no worker has a port"),
    },
    "K8S025": {"shared": (_shared_by("red", "blue"), "pods of all tenants can speak for the subnet manager")},
    "K8S026": {"oob": (_routed("oob"), "nodes have their addresses in oob, whose switches take no routes from hosts")},
    "K8S027": {
        "a switch's": (
            chain(_routed(), intent("asn_base", 64_512), items("switches", "storage-leaf-01", asn=64_512)),
            "storage-leaf-01 has AS 64512",
        ),
        "the next switch's": (_routed(node_asn=4_220_000_999), "AS 4220000999 is kept for switches to come"),
        "public": (_routed(node_asn=65_600), "AS 65600 is not a private number"),
        "vxlan": (intent("kubernetes.node_asn", 64_513), "AS 64513 is used by nothing"),
    },
    "K8S028": {
        "leafs": (_calico(items("switches", "storage-leaf-01", asn=2_147_483_648)), "as high as that of storage-leaf-01"),
        "nodes": (_calico(_leafs_below(), node_asn=4_200_000_000), "as high as that of nodes"),
    },
    "K8S030": {
        "for objects": (chain(_pool(replicas=3, application="rgw"), _volumes("data")), "pool data is for rgw, and pods' volumes"),
        "code alone": (
            chain(_pool(erasure="2+2"), _volumes("data")),
            "no pool of replicas for the names of the block devices in data",
        ),
    },
    "K8S031": {
        "workers": (
            chain(_volumes("data"), _nodes("10.66.1.1")),
            "nodes of gpu have no address on the storage network, and Ceph answers there",
        ),
        "shared": (chain(intent("kubernetes.shared_volumes", ["home"]), _nodes("10.66.1.1")), "nodes of gpu have no address"),
    },
    "K8S029": {
        "vxlan": (_announced(pod_routing="vxlan"), "with pod_routing vxlan nodes speak no BGP"),
        "a host's": (
            chain(_announced("10.72.8.255"), items("servers", "storage-001", services=(LAST_SERVICE,))),
            "10.72.8.255 is the API server's and has a use of its own: it is storage-001's",
        ),
        "dynamic": (
            chain(_announced("10.72.8.255"), networks("storage", load_balancing="dynamic")),
            "switches move connections between ways",
        ),
    },
    "K8S020": {
        "two": (_control("10.76.0.0/26", "10.76.0.64/26", "10.76.0.0/26"), "control servers have addresses in 2 subnets of oob"),
        "hosts": (_control("10.76.0.9/32", network="storage"), "control servers have addresses in 1 subnet of storage"),
    },
    "K8S021": {
        "local": (_control("10.76.0.0/26", mode="local", address="10.76.0.9"), "10.76.0.9 is used by nothing: with local each"),
        "bgp": (
            _control("10.76.0.0/26", mode="bgp", address="10.76.0.9"),
            "10.76.0.9 is used by nothing: with bgp it is the last",
        ),
        "none": (_control("10.76.0.0/26"), "there is no address for VRRP"),
        "outside": (_control("10.76.0.0/26", address="10.76.0.65"), "10.76.0.65 is not in the subnet of the control servers"),
        "broadcast": (_control("10.76.0.0/26", address="10.76.0.63"), "10.76.0.63 has a use of its own"),
    },
    "K8S022": {
        "server": (_control(mode="local", name="gpu-001"), "the API server is called gpu-001, as is a server"),
        "boot": (_control(mode="local", name="boot"), "as is a service of the zone"),
        "ns": (_control(mode="local", name="ns2"), "as is a service of the zone"),
        "storage": (
            chain(_control(mode="bgp"), items("servers", "gpu-001", name="kubernetes-storage")),
            "the API server is called kubernetes-storage, as is a server",
        ),
    },
    "K8S023": {"two": (_numa(0, 1), "servers of gpu have GPUs on several NUMA nodes")},
    "K8S024": {
        "interface": (
            _shared("gpu-002", BLUE_TRAIN, owners=["red"]),
            "pods of red on 1 server ask for 192.168.0.0/20 (red's train) and reach blue's train",
        ),
        "default route": (_shared("gpu-002", BLUE_FRONT, owners=["red"]), "(red's train) and reach blue's train"),
        "shared": (
            chain(
                _shared("gpu-002", ("control-001", 0, True), owners=["red"]),
                subnets("blue", "front", prefix="192.168.8.0/24"),
                items("tenants", "red", peers=()),
                items("tenants", "blue", peers=()),
            ),
            "(red's train) and reach blue's front",
        ),
        "own": (_shared("gpu-001", BLUE_TRAIN, RED_TRAIN, RED_FRONT), "(red's train) and reach blue's train"),
    },
    "K8S011": {
        "default": (_tenant("default"), "the namespace of tenant default would be one that Kubernetes has itself"),
        "queue": (_tenant("root"), "the namespace of tenant root"),
        "kueue": (_tenant("kueue-system"), "the namespace of tenant kueue-system"),
        "cilium": (_tenant("cilium-secrets"), "the namespace of tenant cilium-secrets"),
        "kube": (_tenant("kube-flannel"), "the namespace of tenant kube-flannel"),
    },
    "K8S016": {"1.20": (_version("1.20"), "in Kubernetes 1.20 tenants' network policies find no namespace")},
    "K8S017": {
        "1.22": (_version("1.22.17"), "in Kubernetes 1.22.17 users of a tenant may start privileged pods"),
        "1.21": (_version("1.21"), "may start privileged pods"),
    },
    "K8S018": {
        "asked": (_version("1.24", numa_policy="restricted"), "kubelets of gpu are not told numa_policy restricted"),
        "default": (_version("1.20"), "with Kubernetes 1.20 kubelets of gpu are not told numa_policy best-effort"),
    },
    "K8S019": {
        "newer": (_version("1.37", registry="r.example.net"), "lacks all images of the control plane, since Kubernetes 1.37"),
        "patch": (_version("1.37.2", registry="r.example.net"), "lacks CoreDNS, etcd and pause, since Kubernetes 1.37"),
        "older": (_version("1.32", registry="r.example.net"), "which r.example.net is filled, lacks all images"),
    },
    "CEP012": {"five": (_pool(replicas=5), "keeps 5 copies")},
    "CEP013": {"mixed up": (_pool(erasure="2+4"), "4 coding chunks for 2 data chunks")},
    "CEP022": {
        "alone": (_pool(erasure="2+2"), "there is no pool of replicas for the names of the block devices in data"),
        "a tenant's": (
            chain(
                intent("ceph.pools", {"a": {"erasure": "2+2"}, "b": {"replicas": 3}}),
                intent("tenants.red.ceph", {"pools": ["a"]}),
            ),
            "for the names of the block devices in a",
        ),
    },
    "CEP014": {"none": (intent("ceph.pools", {}), "Ceph has no pools")},
    "CEP015": {"one rack": (_racked("N01", "N01", "N01", "N02"), "rack N01 has 3 hosts of storage")},
    "CEP016": {
        "osds": (intent("ceph.hosts", "gpu"), "OSDs of Ceph run on gpu"),
        "monitors": (intent("ceph.monitors", "gpu"), "monitors of Ceph run on gpu"),
    },
    "CEP017": {"seven": (intent("ceph.monitor_count", 7), "waits for 4 of 7 monitors")},
    "GPU001": {
        "hopper": (chain(_chip("test/hopper"), intent("gpu.driver", "470")), "driver 470 does not support Hopper GPUs (gpu)"),
    },
    "GPU002": {
        "535": (chain(_chip("test/hopper"), intent("gpu.driver", "535")), "driver branch 535 is out of support"),
        "999": (chain(_chip("test/hopper"), intent("gpu.driver", "999")), "driver branch 999 is unknown"),
    },
    "PRV016": {
        "init": (_arguments("init=/bin/sh"), "init=/bin/sh stops every server of all groups at a shell"),
        "dracut": (_arguments("rd.break", group="gpu"), "rd.break stops every server of gpu"),
        "rescue": (_arguments("systemd.unit=rescue.target"), "systemd.unit=rescue.target"),
        "single": (_arguments("quiet", "single"), "single stops"),
    },
    "PRV017": {
        "root": (_arguments("root=/dev/sda1"), "root is given by the installer"),
        "ours": (_arguments("gpuyard.host=http://10.0.0.1/x"), "gpuyard.host is given by the installer"),
    },
    "PRV018": {
        "mitigations": (_arguments("mitigations=off"), "mitigations=off turns off what keeps one tenant"),
        "blacklist": (_arguments("module_blacklist=mlx5_core"), "keeps out a driver"),
        "memory": (_arguments("mem=4G"), "hides memory"),
    },
    "PRV019": {"noble": (_install(distribution="debian"), "noble is a release of Ubuntu, not of Debian")},
    "PRV020": {
        "old": (_install(release="focal"), "Ubuntu focal has no security updates since May 2025"),
        "unknown": (_install(release="banana"), "banana is not known"),
    },
    "PRV021": {
        "above max": (_root(1500, swap_gb=1500, max_gb=2000), "need 3001 GB, and a disk of 2000 GB is taken"),
        "above min": (_root(950, min_gb=900), "a disk of 900 GB is taken"),
        "above all": (_root(100_000), "more than any system disk has"),
        "no room": (_root(0, swap_gb=64, max_gb=64), "a disk of 64 GB is taken"),
    },
    "PRV022": {"one": (_root(1), "1 GB of root hold neither drivers")},
    "PRV023": {"control": (_root(0, swap_gb=64), "kubelet does not start on control")},
    "PRV024": {
        "one": (_provisioning(servers=(BootServer("control-001", "10.66.9.20"),)), "control-001 alone answers DHCP and DNS")
    },
    "PRV025": {"bios": (_gpu_install("bios"), "gpu (test/gpu) would boot by BIOS")},
    "PRV026": {
        "two": (_accounts(("ops", ("ssh-ed25519 AAAA ops",)), ("eve", ("ssh-ed25519 AAAA eve",))), "ops, eve have the same")
    },
    "PRV027": {"1024": (_accounts(("ops", (_rsa(1024),))), "an RSA key of ops has 1024 bits")},
    "ACC001": {
        "clear": (_bmc(ipmi_cipher=1), "cipher suite 1 of all BMCs does not encrypt"),
        "rc4": (_bmc(groups={"gpu": {"ipmi_cipher": 4}}), "cipher suite 4 of the BMCs of gpu encrypts with RC4"),
    },
    "ACC002": {"md5": (_bmc(ipmi_cipher=8), "authenticates by MD5")},
    "ACC003": {
        "all": (_bmc(tls="off"), "whoever answers for all BMCs"),
        "group": (_bmc(groups={"gpu": {"tls": "off"}}), "whoever answers for the BMCs of gpu"),
    },
    "ACC004": {
        "all": (_bmc(protocol="ipmi"), "all BMCs are reached by IPMI alone"),
        "gpu": (_bmc(groups={"gpu": {"protocol": "ipmi"}}), "the BMCs of gpu are reached"),
    },
    "ACC005": {"dell": (_bmc(password="calvin"), "is called calvin")},
    "ACC006": {
        "one": (
            chain(
                intent("provisioning", {"admins": {"ops": {"keys": ["ssh-ed25519 AAAA ops"], "password": "ops-hash"}}}),
                _bmc(password="ops-hash"),
            ),
            "the secret ops-hash is the password of all BMCs and the hash of ops's",
        )
    },
    "ACC007": {
        "long": (_bmc(user="administrator-of-all"), "the user of all BMCs has 20 characters"),
        "group": (_bmc(groups={"gpu": {"user": "b" * 17}}), "the user of the BMCs of gpu has 17 characters"),
    },
}

SILENT = {
    "K8S003": {"eight": intent("kubernetes.pod_pool", "10.244.0.0/21")},
    "K8S004": {"28": intent("kubernetes.service_pool", "10.96.0.0/28"), "12": intent("kubernetes.service_pool", "10.96.0.0/12")},
    "K8S005": {"24": intent("kubernetes.service_pool", "10.96.0.0/24")},
    "K8S006": {"private": intent("kubernetes.pod_pool", "192.168.0.0/16")},
    "K8S007": {
        "shared": intent("kubernetes.pod_pool", "100.64.0.0/16"),
        "K8S006's": intent("kubernetes.pod_pool", "127.0.0.0/16"),
    },
    "K8S008": {"next": intent("kubernetes.version", "1.38"), "oldest": intent("kubernetes.version", "1.35")},
    "K8S009": {"control": intent("kubernetes.workers", ["gpu"])},
    "K8S010": {"gpu": intent("kubernetes.workers", ["gpu"])},
    "K8S012": {"253": intent("kubernetes.pods_per_node", 253), "25": intent("kubernetes.node_prefix", 25)},
    "K8S013": {"all": _nodes("10.0.0.1", "10.0.0.2")},
    "K8S014": {"10": _nodes("10.0.0.1", speed_gbps=10), "K8S013's": _nodes("", speed_gbps=0)},
    "K8S015": {
        "whole ports": _rails(),
        "two models": _storage_on_rails("0000:00:00.0"),
        "left out": chain(_rails(pci=""), intent("kubernetes.rdma", None)),
        "none": chain(_rails(pci=""), intent("kubernetes.rdma", "none")),
        "shared": chain(_rails(pci=""), SHARED, networks("compute", technology="infiniband")),
    },
    "K8S025": {"no tenants": _shared_by(), "whole ports": chain(_shared_by("red"), intent("kubernetes.rdma", "host-device"))},
    "K8S026": {"storage": _routed(), "vxlan": plan(kubernetes=Kubernetes(network="oob"))},
    "K8S027": {"private": _routed(node_asn=65_534), "four bytes": _routed(node_asn=4_294_967_294)},
    "K8S028": {
        "below": _calico(_leafs_below()),
        "1.35": _calico(intent("kubernetes.version", "1.35.7")),
        "cilium": _routed(),
        "vxlan": intent("kubernetes.cni", "calico"),
    },
    "K8S030": {
        "named elsewhere": chain(intent("ceph.pools", {"a": {"erasure": "2+2"}, "b": {"replicas": 3}}), _volumes("a")),
        "replicas": _volumes("data"),
    },
    "K8S031": {
        "on it": chain(_volumes("data"), _nodes("10.65.8.1"), items("servers", "gpu-001", services=(LAST_SERVICE,))),
        "no volumes": _nodes("10.66.1.1"),
    },
    "K8S029": {
        "free": chain(_announced("10.72.8.254"), items("servers", "storage-001", services=(LAST_SERVICE,))),
        "local": chain(intent("kubernetes.endpoint", {"mode": "local"}), networks("storage", load_balancing="dynamic")),
        "K8S026's": _announced("", pod_routing="bgp"),
    },
    "K8S020": {
        "one": _control("10.76.0.0/26", "10.76.0.0/26"),
        "local": _control("10.76.0.0/26", "10.76.0.64/26", mode="local"),
    },
    "K8S021": {
        "free": _control("10.76.0.0/26", address="10.76.0.62"),
        "K8S020's": _control("10.76.0.0/26", "10.76.0.64/26", address="10.9.9.9"),
        "local": _control("10.76.0.0/26", mode="local"),
        "bgp": _control("10.76.0.0/26", mode="bgp"),
    },
    "K8S022": {
        "its own": _control(mode="local", name="api"),
        "ns": _control(mode="local", name="ns-2"),
        "local": chain(_control(mode="local"), items("servers", "gpu-001", name="kubernetes-storage")),
    },
    "K8S023": {"one": _numa(0, 0), "best effort": _numa(0, 1, policy="best-effort"), "unknown": _numa(0, -1)},
    "K8S011": {
        "red": _tenant("team-default"),
        "kube within": _tenant("kubeflow"),
        "no Kubernetes": chain(_tenant("default"), intent("kubernetes", None)),
    },
    "K8S016": {"1.21": _version("1.21"), "no tenants": chain(_version("1.20"), intent("tenants", {}))},
    "K8S017": {
        "1.23": _version("1.23"),
        "K8S016's": _version("1.20"),
        "no tenants": chain(_version("1.22"), intent("tenants", {})),
    },
    "K8S018": {
        "1.25": _version("1.25", numa_policy="restricted"),
        "none": _version("1.24", numa_policy="none"),
        "no GPUs": _version("1.24", workers=["storage"]),
    },
    "K8S019": {
        "no registry": _version("1.37"),
        "known": _version("1.33", registry="r.example.net"),
        "known patch": _version("1.36.1", registry="r.example.net"),
    },
    "K8S024": {
        "owned": _nodes("10.0.0.1", "10.0.0.2"),
        "own way": _shared("gpu-001", RED_TRAIN, RED_FRONT, ("gpu-002", 1, False)),
        "own interface": _shared("gpu-001", RED_TRAIN, BLUE_FRONT),
        "own gateway": _shared("gpu-001", RED_FRONT, ("gpu-002", 1, False)),
        "hidden": chain(
            _shared("gpu-002", ("control-001", 0, True), owners=["red"]),
            items("tenants", "red", peers=()),
            items("tenants", "blue", peers=()),
        ),
        "apart": chain(_shared("gpu-002", BLUE_FRONT, owners=["red"]), subnets("blue", "train", prefix="192.168.16.0/20")),
        "no node": chain(_shared("gpu-002", BLUE_TRAIN, owners=["red"]), plan(kubernetes=Kubernetes())),
    },
    "CEP012": {"four": _pool(replicas=4), "wide code": _pool(erasure="8+3")},
    "CEP013": {"even": _pool(erasure="2+2"), "CEP004's": _pool(erasure="1+2")},
    "CEP022": {
        "for objects": _pool(erasure="2+2", application="rgw"),
        "beside": intent("ceph.pools", {"a": {"erasure": "2+2"}, "b": {"replicas": 3}}),
    },
    "CEP014": {"one": _pool(replicas=3)},
    "CEP015": {
        "two in a rack": _racked("N01", "N01", "N02", "N03"),
        "by rack": chain(intent("ceph.failure_domain", "rack"), _racked("N01", "N01", "N01", "N02")),
    },
    "CEP016": {"control": intent("ceph.monitors", "control")},
    "CEP017": {"five": intent("ceph.monitor_count", 5)},
    "GPU001": {"unknown chip": intent("gpu.driver", "470"), "hopper": chain(_chip("test/hopper"), intent("gpu.driver", "535"))},
    "GPU002": {
        "595": chain(_chip("test/hopper"), intent("gpu.driver", "595")),
        "615": chain(_chip("test/hopper"), intent("gpu.driver", "615")),
        "GPU001's": chain(_chip("test/hopper"), intent("gpu.driver", "470")),
    },
    "PRV016": {"usual": _arguments("console=tty0", "iommu=pt", "nomodeset", "init_on_alloc=1")},
    "PRV017": {"like it": _arguments("rootdelay=10", "url2=x")},
    "PRV018": {"usual": _arguments("iommu=pt", "pci=realloc=off", "module_blacklist=nouveau")},
    "PRV019": {"own": _install(), "unknown": _install(release="banana")},
    "PRV020": {"jammy": _install(release="jammy"), "PRV019's": _install(distribution="debian")},
    "PRV021": {"rest": _root(0, min_gb=900), "fits": _root(400, swap_gb=64, max_gb=480)},
    "PRV022": {"20": _root(20)},
    "PRV023": {"not a node": chain(intent("kubernetes", None), _root(0, swap_gb=64))},
    "PRV024": {"two": _provisioning(servers=(BootServer("control-001", "10.66.9.20"), BootServer("control-002", "10.66.9.21")))},
    "PRV025": {"uefi": _gpu_install("uefi")},
    "PRV026": {"own": _accounts(("ops", ("ssh-ed25519 AAAA ops",)), ("eve", ("ssh-ed25519 BBBB eve",)))},
    "PRV027": {
        "2048": _accounts(("ops", (_rsa(2048),))),
        "other": _accounts(("ops", ("ssh-ed25519 AAAA ops",))),
        "damaged": _accounts(("ops", ("ssh-rsa AAA ops",))),
    },
    "ACC001": {"3": _bmc(ipmi_cipher=3), "ACC002's": _bmc(ipmi_cipher=12)},
    "ACC002": {"17": _bmc(ipmi_cipher=17)},
    "ACC003": {"verify": _bmc(tls="verify")},
    "ACC004": {"old servers": _bmc(groups={"storage": {"protocol": "ipmi"}})},
    "ACC005": {"name": _bmc(password="bmc-password")},
    "ACC006": {"two": _bmc(password="bmc-password")},
    "ACC007": {"redfish": _bmc(protocol="redfish", user="administrator-of-all"), "16": _bmc(user="a" * 16)},
}
