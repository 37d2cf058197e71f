"""Rows of the rules about what runs on the cluster, and how it is installed and reached: K8S, CEP, GPU, PRV, ACC."""

from __future__ import annotations

import base64
from dataclasses import replace

from rows_provisioning import ASKED, WHOLE, _host, _install, _installation, _provisioning
from small_plan import chain, intent, items, plan

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
    "K8S011": {
        "default": (_tenant("default"), "the namespace of tenant default would be one that Kubernetes has itself"),
        "queue": (_tenant("root"), "the namespace of tenant root"),
    },
    "CEP012": {"five": (_pool(replicas=5), "keeps 5 copies")},
    "CEP013": {"mixed up": (_pool(erasure="2+4"), "4 coding chunks for 2 data chunks")},
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
    "K8S011": {"red": _tenant("team-default"), "no Kubernetes": chain(_tenant("default"), intent("kubernetes", None))},
    "CEP012": {"four": _pool(replicas=4), "wide code": _pool(erasure="8+3")},
    "CEP013": {"even": _pool(erasure="2+2"), "CEP004's": _pool(erasure="1+2")},
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
