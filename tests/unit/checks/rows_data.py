"""Rows of the rules about storage, quorums, facts and growth: CEP, K8S, FCT, GRW."""

from __future__ import annotations

from rows_provisioning import ASKED
from small_plan import chain, facts, hardware, intent, items, networks, plan, ports

from cluster_model.intent.source.facts_csv import PduFacts, ServerFacts, SwitchFacts
from cluster_model.plan.model.kubernetes import Endpoint, Kubernetes, Node, SharedClass
from cluster_model.plan.model.overlay import TenantFolder, TenantStorage

FILES = {"servers": "servers.csv", "switches": "switches.csv", "pdus": "pdus.csv"}


def _pool(**pool):
    return intent("ceph.pools", {"data": pool})


def _racks(*names):
    """Put storage server n into the n-th rack."""
    return chain(*(items("servers", f"storage-{n:03d}", rack=name, u=20 + n) for n, name in enumerate(names, 1)))


def _keep(group, count):
    def change(design):
        return plan(servers=tuple(s for s in design.plan.servers if s.group != group or s.number <= count))(design)

    return change


def _control(*groups):
    """Give these groups ports to boot from; storage gets the role control, which control has."""
    changes = [items("servers", "storage", role="control")] if "storage" in groups else []
    for number, group in enumerate(groups):
        port = "s" if group == "storage" else "b"
        changes.append(ports("servers", group, port, network="oob", address=f"10.66.{number}.9/26"))
    return chain(*changes)


SAID = {"source": "made up for tests"}
DISKS = {"device_class": "hdd"}


def _resources(cores, memory_gib, **more):
    return hardware("test/storage", "resources", {"cores": cores, "memory_gib": memory_gib, **SAID}, **more)


def _disks(**pools):
    """Have Ceph on control servers too, three with four drives that spin, and these pools."""
    drives = hardware("test/control", "drives", {"count": 4, "capacity_tb": 20.0, "rotational": True, **SAID})
    return chain(drives, intent("ceph.hosts", ["storage", "control"]), *([intent("ceph.pools", pools)] if pools else []))


def _files(first=None, **others):
    """Put file system home into the pools, and others too."""
    whole = {"home": first or {}, **{name: {"pools": pools} for name, pools in others.items()}}
    return intent("ceph.filesystems", {name: {"pools": ["data"], **about} for name, about in whole.items()})


def _pods(node):
    """Have pods on a node, which share volumes of file system home."""
    nodes = (Node(node, node.rpartition("-")[0], False, True, "", "", "", 0, ()),)
    return plan(kubernetes=Kubernetes(nodes=nodes, shared_volumes=(SharedClass("cephfs-home", "home"),)))


def _folder(tenant, **fields):
    """Give a tenant a folder in file system home."""
    storage = TenantStorage((), tenant, f"client.{tenant}", (), (TenantFolder("home", "data", 0),))
    return items("tenants", tenant, storage=storage, **fields)


def _store(**fields):
    """Have an object store in pool data, with gateways on the storage servers."""
    return intent("ceph.object", {"pool": "data", **fields})


def _store_on_node(group, port, is_control=False):
    """Have gateways at a port, on a server of a group that is a node of Kubernetes."""
    node = Node(f"{group}-001", group, is_control, not is_control, "10.0.0.1", "10.0.0.1/32", "lo", 25, ())
    return chain(
        _store(hosts=group, port=port), plan(kubernetes=Kubernetes(endpoint=Endpoint("local", port=7443), nodes=(node,)))
    )


BY_RACK = intent("ceph.failure_domain", "rack")
PACKAGES = intent("ceph.deploy", "packages")

FIRES = {
    "CEP001": {
        "hosts": (_pool(erasure="4+2"), "pool data (erasure 4+2) needs 6 hosts and has 4"),
        "racks": (chain(BY_RACK, _pool(replicas=4)), "needs 4 racks and has 3"),
        "rows": (chain(intent("ceph.failure_domain", "row"), _pool(replicas=2)), "needs 2 rows and has 1"),
        "a class": (_disks(cold={"erasure": "2+2", "device_class": "hdd"}), "pool cold (erasure 2+2) needs 4 hosts and has 3"),
    },
    "CEP002": {
        "racks": (BY_RACK, "pool data (3 replicas) uses all 3 racks"),
        "hosts": (_pool(erasure="2+2"), "uses all 4 hosts"),
    },
    "CEP003": {"one": (_pool(replicas=1), "keeps one copy"), "two": (_pool(replicas=2), "keeps two copies")},
    "CEP004": {"m 0": (_pool(erasure="3+0"), "3+0"), "k 1": (_pool(erasure="1+2"), "1+2")},
    "CEP005": {"m 1": (_pool(erasure="2+1"), "has nothing to spare when one host is away")},
    # the numbers are those of tests/unit/plan/test_plan_ceph.py
    "CEP006": {
        "4 hosts": (intent("ceph.fill_target", 0.58), "at a fill of 0.58 the other hosts cannot take over storage-002"),
        # a third of the data on a quarter of the capacity
        "small racks": (
            chain(intent("ceph.fill_target", 0.57), BY_RACK, _racks("N01", "N02", "N03", "N03")),
            "at a fill of 0.57 OSDs are nearfull",
        ),
        "inside the rack": (
            chain(BY_RACK, _racks("N01", "N01", "N02", "N02"), _pool(replicas=2), intent("ceph.fill_target", 0.38)),
            "0.38",
        ),
    },
    "CEP018": {
        "target": (intent("ceph.expand_at", 0.5), "at a fill of 0.5, when fill_target is reached"),
        "waterline": (
            chain(intent("ceph.fill_target", None), intent("ceph.expand_at", 0.58)),
            "at a fill of 0.58, when the waterline is reached",
        ),
    },
    # 3 racks of 2, 1 and 1 hosts of 360 TB: 3 of 4 hosts' worth can be filled
    "CEP019": {"a rack of two": (BY_RACK, "of 1,440 TB 360 stay empty: 3 racks do not fill alike")},
    "CEP020": {
        "inside the rack": (
            chain(BY_RACK, _racks("N01", "N01", "N02", "N02"), _pool(replicas=2), intent("ceph.fill_target", None)),
            "storage-001 is rebuilt by few others: above a fill of 0.351 they are nearfull",
        ),
    },
    # 24 OSDs with 4 GiB and a fifth more, a monitor, a manager, and 16 GiB for all else: 137.2; with 2 GiB 79.6
    "CEP023": {
        "default": (chain(_resources(64, 137), PACKAGES), "24 OSDs of 4 GiB do not fit into storage-001"),
        "dealt": (_resources(64, 79), "24 OSDs of 2 GiB do not fit into storage-001"),
        "said": (chain(_resources(64, 256), intent("ceph.osd_memory_gib", 8.5)), "24 OSDs of 8.5 GiB do not fit"),
        "monitor": (
            chain(_resources(64, 137), PACKAGES, intent("ceph.monitor_count", 1)),
            "24 OSDs of 4 GiB do not fit into storage-001",
        ),
    },
    "CEP024": {
        "flash": (_resources(47, 256), "24 OSDs share 47 cores of storage-001"),
        "two on a drive": (chain(_resources(95, 512), intent("ceph.osds_per_device", 2)), "48 OSDs share 95 cores"),
    },
    # 24 drives of 1258 MB/s are 242 Gb/s
    "CEP025": {"slow": (ports("servers", "storage", "s", speed_gbps=60), "give 242 Gb/s, and its storage ports carry 120")},
    # three hosts with 24 OSDs of 30 MB/s take in 180 TB: 23.1 hours
    "CEP026": {
        "drives": (
            intent("ceph.recovery", {"osd_mb_per_s": 28}),
            "storage-002 is rebuilt in 24.8 hours at the least, held up by the drives",
        ),
        "said": (intent("ceph.recovery", {"osd_mb_per_s": 30, "within_h": 20}), "is rebuilt in 23.1 hours"),
        "network": (ports("servers", "storage", "s", speed_gbps=5), "held up by the network"),
    },
    "CEP027": {
        "erasure": (chain(_pool(erasure="2+2"), _files()), "the first pool of file system home, data, is an erasure code"),
        "blocks": (chain(_pool(replicas=3, application="rbd"), _files()), "pool data of file system home is for rbd"),
        "two": (_files(work=["data"]), "pool data of file system work is file system home's"),
        "twice": (_files({"pools": ["data", "data"]}), "pool data of file system home is named twice"),
    },
    "CEP028": {
        "none": (_files({"active": 4}), "no metadata server stands by for file system home"),
        "a rack": (
            chain(_files(), _racks("N01", "N01", "N02", "N03")),
            "all metadata servers of file system home stand in rack N01",
        ),
    },
    "CEP029": {
        "one place": (
            chain(
                intent("ceph.pools", {"data": {"replicas": 3, "share": 0.5}, "more": {"replicas": 3, "share": 0.5}}),
                intent("ceph.filesystems", {"home": {"pools": ["data"]}, "work": {"pools": ["more"], "mount": "/mnt/home"}}),
            ),
            "file system work is mounted at /mnt/home, and home at /mnt/home",
        ),
        "inside": (
            _files({"mount": "/mnt/team/home"}, team=["data"]),
            "file system team is mounted at /mnt/team, and home at /mnt/team/home",
        ),
        "away": (_files({"clients": ["gpu"]}), "gpu-001 would mount file system home and has no port on the storage network"),
        "twice": (
            chain(_files({"clients": ["storage"]}), _folder("red", servers=("storage-002",))),
            "storage-002 would mount all of file system home, and the folder of tenant red in it",
        ),
    },
    "K8S032": {
        "a tenant's": (
            chain(_files(), intent("kubernetes.shared_volumes", ["home"]), _folder("red")),
            "pods share volumes of file system home, in which red have folders",
        ),
    },
    "CEP036": {
        "none spin": (_pool(replicas=3, **DISKS), "pool data is for drives of class hdd, and no host of Ceph has any"),
        "metadata": (
            intent("ceph.metadata_class", "hdd"),
            "what is small is for drives of class hdd, and no host of Ceph has any",
        ),
    },
    "CEP038": {
        "said": (
            chain(_disks(data={"replicas": 2}), _files(), intent("ceph.metadata_class", "hdd")),
            "cephfs.home.meta and what else is small lie on drives that spin, and there is flash",
        ),
        "disks first": (
            chain(_disks(data={"replicas": 2}), intent("ceph.hosts", ["control", "storage"]), _files()),
            "cephfs.home.meta and what else is small lie on drives that spin",
        ),
    },
    "CEP037": {"disks": (_disks(), "no pool lies on drives of class hdd, of which there are 240 TB")},
    "CEP031": {
        "kernel": (_files({"clients": ["storage"]}), "the kernel of storage-001 mounts file system home beside OSDs"),
        "pods": (chain(_files(), _pods("storage-002")), "the kernel of storage-002 mounts file system home beside OSDs"),
    },
    "CEP032": {
        "blocks": (
            chain(_pool(replicas=3, application="rbd"), _store()),
            "pool data of the object store is for rbd",
        ),
        "files": (chain(_files(), _store()), "pool data of the object store is for cephfs"),
    },
    "CEP033": {
        "one": (_store(count=1), "there is 1 gateway to the object store"),
        "more than hosts": (_store(count=9), "there are 4 gateways to the object store"),
        "a rack": (chain(_store(), _racks("N01", "N01", "N02", "N03")), "all gateways to the object store stand in rack N01"),
    },
    "CEP034": {
        "SSH": (_store(port=22), "gateways to the object store listen at port 22, as SSH or BGP does on storage-001"),
        "a dashboard": (_store(port=8443), "listen at port 8443, as what managers show does on storage-001"),
        "a target": (
            chain(_store(port=4420), intent("networks.storage.nvme_of", {"targets": ["storage"]})),
            "listen at port 4420, as the NVMe-oF target does on storage-001",
        ),
        "a monitor": (_store(port=3300), "listen at port 3300, as the monitor does on storage-001"),
        "an OSD": (_store(port=7480), "listen at port 7480, as Ceph's other daemons may on storage-001"),
        "a kubelet": (_store_on_node("control", 10250), "listen at port 10250, as Kubernetes does on control-001"),
        "its endpoint": (_store_on_node("gpu", 7443), "listen at port 7443, as Kubernetes does on gpu-001"),
        "a service": (_store_on_node("gpu", 30080), "listen at port 30080, as services of Kubernetes may on gpu-001"),
        "an API server": (_store_on_node("control", 6443, True), "as Kubernetes' control plane does on control-001"),
    },
    "CEP035": {
        "profile": (
            intent("ceph.maintenance", {"profile": "balanced"}),
            "with cephadm nothing keeps to profile",
        ),
        "latency": (
            intent("ceph.maintenance", {"window": "22:00-06:00", "latency_ms": 50}),
            "with cephadm nothing keeps to latency_ms",
        ),
    },
    "CEP030": {
        "a tenant's": (
            chain(_files({"clients": ["gpu"]}), _folder("blue")),
            "servers of red, blue mount all of file system home, in which tenants have folders",
        ),
        "beside pods": (
            chain(_files({"clients": ["gpu"]}), _pods("gpu-001")),
            "servers of red, blue mount all of file system home, in which pods have volumes",
        ),
    },
    "CEP007": {
        "a class": (
            _disks(a={"replicas": 3}, b={"replicas": 2, "share": 0.7, **DISKS}, c={"replicas": 2, "share": 0.6, **DISKS}),
            "the pools' shares on hdd sum to 1.3",
        ),
        "above": (intent("ceph.pools", {"a": {"replicas": 3, "share": 0.7}, "b": {"replicas": 3, "share": 0.5}}), "sum to 1.2"),
    },
    "CEP021": {
        "a class": (_disks(a={"replicas": 3}, b={"replicas": 2, "share": 0.4, **DISKS}), "the pools' shares on hdd sum to 0.4"),
        "below": (_pool(replicas=3, share=0.6), "shares sum to 0.6"),
        "nothing left": (
            intent("ceph.pools", {"a": {"replicas": 3, "share": 1.0}, "b": {"replicas": 3}}),
            "nothing is left for b",
        ),
    },
    "CEP008": {"no drives": (items("servers", "storage", model="test/diskless"), "no data drives")},
    "CEP009": {
        "even": (intent("ceph.monitor_count", 4), "4 monitors survive no more failures than 3"),
        "one": (intent("ceph.monitor_count", 1), "the loss of the one monitor stops Ceph"),
    },
    "CEP010": {
        "hosts": (intent("ceph.monitor_count", 5), "5 monitors for 4 hosts"),
        "own group": (chain(intent("ceph.monitors", "gpu")), "3 monitors for 2 hosts"),
    },
    "CEP011": {
        "two racks": (_racks("N01", "N01", "N02", "N02"), "2 of 3 monitors stand in N01"),
        "one rack": (chain(intent("ceph.monitors", "storage"), _racks("N01", "N01", "N01", "N02")), "3 of 3 monitors"),
    },
    "STO001": {
        "ceph": (items("servers", "storage", ports=()), "servers of storage serve storage and have no port"),
        "monitors": (intent("ceph.monitors", "control"), "servers of control serve storage and have no port"),
        "metadata": (intent("ceph.metadata_hosts", "control"), "servers of control serve storage and have no port"),
        "gateways": (_store(hosts="control"), "servers of control serve storage and have no port"),
        "nvme": (intent("networks.storage.nvme_of", {"targets": ["control"]}), "servers of control serve storage"),
    },
    "K8S001": {
        "two": (_keep("control", 2), "of 2 nodes survives no failure"),
        "one": (_keep("control", 1), "of 1 node survives no failure"),
        "four": (intent("kubernetes.control", "storage"), "of 4 nodes survives 1 failure"),
    },
    "K8S002": {"two of three": (items("servers", "control-002", rack="N01"), "2 of 3 control plane nodes stand in N01")},
    "FCT100": {
        "server": (facts(servers={"gpu-0O1": ServerFacts(line=7)}, files=FILES), "gpu-0O1 is not in the plan"),
        "planned": (
            chain(intent("servers.gpu.planned", 4), facts(servers={"gpu-004": ServerFacts(line=7)}, files=FILES)),
            "gpu-004 is planned, and not built yet",
        ),
        "beyond the group": (facts(servers={"gpu-003": ServerFacts(line=7)}, files=FILES), "gpu-003 is not in the plan"),
        "switch": (facts(switches={"compute-leaf-3": SwitchFacts()}, files=FILES), "compute-leaf-3 is not in the plan"),
        "PDU": (facts(pdus={"pdu-a01-3": PduFacts()}, files=FILES), "pdu-a01-3 is not in the plan"),
        "port": (
            facts(servers={"gpu-001": ServerFacts(macs={"c7": "02:00:00:00:00:09"})}, files=FILES),
            "test/gpu has no port c7",
        ),
    },
    "FCT101": {
        "no files": (items("servers", "gpu", serial=""), "no facts yet"),
        "one kind": (chain(items("servers", "gpu", serial=""), facts(files=FILES)), "of 9 servers 2 lack serial"),
        "InfiniBand switch": (chain(networks("compute", technology="infiniband"), facts(files=FILES)), "4 lack guid"),
    },
    "GRW010": {
        "two groups": (_control("storage", "control"), "storage, control have control servers, and nothing says which"),
        "to install": (chain(_control("storage", "control"), intent("provisioning", ASKED)), "storage, control have"),
    },
    "GRW002": {
        "units": (networks("compute", planned_units=3), "compute 2 more units, 0 free ports"),
        "ports": (networks("compute", hosts_per_leaf=4), "compute 0 more units, 4 free ports"),
    },
}

SILENT = {
    "GRW010": {
        "one group": _control("control"),
        "named": chain(_control("storage", "control"), intent("provisioning", {**ASKED, "servers": "control"})),
        "relayed": chain(_control("storage", "control"), intent("networks.oob.dhcp_servers", ["10.66.1.9"])),
    },
    "CEP001": {"just enough": _pool(replicas=4)},
    "CEP002": {"one more": _pool(replicas=3), "too few": _pool(replicas=5)},
    "CEP003": {"erasure": _pool(erasure="2+2")},
    "CEP004": {"least": _pool(erasure="2+1")},
    "CEP005": {"m 2": _pool(erasure="2+2")},
    "CEP006": {
        "4 hosts": intent("ceph.fill_target", 0.54),
        "small racks": chain(intent("ceph.fill_target", 0.51), BY_RACK, _racks("N01", "N02", "N03", "N03")),
        "no pools": chain(intent("ceph.fill_target", 0.9), intent("ceph.pools", {})),
        "inside the rack": chain(
            BY_RACK, _racks("N01", "N01", "N02", "N02"), _pool(replicas=2), intent("ceph.fill_target", 0.35)
        ),
    },
    "CEP018": {
        "below": intent("ceph.expand_at", 0.49),
        "no pools": chain(intent("ceph.expand_at", 0.9), intent("ceph.pools", {})),
    },
    "CEP019": {"even": chain(BY_RACK, _racks("N01", "N02", "N01", "N02"), _pool(replicas=2))},
    "CEP020": {
        "told": chain(BY_RACK, _racks("N01", "N01", "N02", "N02"), _pool(replicas=2), intent("ceph.fill_target", 0.3)),
        "all others": intent("ceph.fill_target", None),
    },
    "CEP023": {
        "just enough": chain(_resources(64, 138), PACKAGES),
        "dealt": _resources(64, 80),
        "as much": chain(_resources(64, 256), intent("ceph.osd_memory_gib", 8)),
        "not known": intent("ceph.osd_memory_gib", 256),
    },
    "CEP024": {
        "just enough": _resources(48, 256),
        "spinning": _resources(24, 256, drives={"count": 24, "capacity_tb": 15.0, "rotational": True, **SAID}),
    },
    "CEP025": {"half": ports("servers", "storage", "s", speed_gbps=61), "none": items("servers", "storage", ports=())},
    "CEP026": {
        "in time": intent("ceph.recovery", {"osd_mb_per_s": 30}),
        "said": intent("ceph.recovery", {"osd_mb_per_s": 28, "within_h": 25}),
        "nothing is rebuilt": chain(_pool(replicas=4), intent("ceph.recovery", {"osd_mb_per_s": 1})),
    },
    "CEP027": {
        "replicas first": chain(
            intent("ceph.pools", {"data": {"replicas": 3, "share": 0.5}, "bulk": {"erasure": "2+2"}}),
            _files({"pools": ["data", "bulk"]}),
        ),
        "said": chain(_pool(replicas=3, application="cephfs"), _files()),
    },
    "CEP032": {
        "its own": _store(),
        "said": chain(_pool(replicas=3, application="rgw"), _store()),
    },
    "CEP033": {"two racks": chain(_store(), _racks("N01", "N02", "N01", "N02"))},
    "CEP035": {
        "a window": intent("ceph.maintenance", {"window": "22:00-06:00"}),
        "packages": chain(
            intent("ceph.deploy", "packages"), intent("ceph.maintenance", {"latency_ms": 50, "profile": "balanced"})
        ),
    },
    "CEP034": {"free": _store(), "where no OSD is": _store(hosts="gpu", port=7480), "a worker": _store_on_node("gpu", 6443)},
    "CEP028": {"three": _files({"active": 3}), "two racks": chain(_files(), _racks("N01", "N02", "N01", "N02"))},
    "CEP029": {
        "storage servers": chain(_files({"clients": ["storage"]}), _folder("red")),
        "beside": _files({"mount": "/mnt/work-home"}, work=["data"]),
    },
    "K8S032": {
        "nobody's": chain(_files(), intent("kubernetes.shared_volumes", ["home"])),
        "another": chain(_files(work=["data"]), intent("kubernetes.shared_volumes", ["work"]), _folder("red")),
    },
    "CEP036": {
        "disks": _disks(a={"replicas": 3}, b={"replicas": 2, **DISKS}),
        "metadata": chain(_disks(a={"replicas": 2}), intent("ceph.metadata_class", "hdd")),
    },
    "CEP038": {
        "flash": chain(_disks(data={"replicas": 2}), _files()),
        "nothing small": chain(_disks(data={"replicas": 2}), intent("ceph.metadata_class", "hdd")),
        "no flash": chain(_disks(data={"replicas": 2}), intent("ceph.hosts", ["control"]), _files()),
    },
    "CEP037": {
        "each": _disks(a={"replicas": 3}, b={"replicas": 2, **DISKS}),
        "one class": _pool(replicas=3),
        "metadata": chain(_files(), _disks(data={"replicas": 2}), intent("ceph.metadata_class", "hdd")),
    },
    "CEP031": {
        "fuse": _files({"clients": ["storage"], "driver": "fuse"}),
        "elsewhere": _files({"clients": ["gpu"]}),
        "pods elsewhere": chain(_files(), _pods("gpu-001")),
        "pods by fuse": chain(_files({"driver": "fuse"}), _pods("storage-001")),
    },
    "CEP030": {
        "nobody's": chain(_files({"clients": ["storage"]}), _folder("red")),
        "no folders": _files({"clients": ["gpu"]}),
    },
    "CEP007": {
        "each of its class": _disks(a={"replicas": 3, "share": 1.0}, b={"replicas": 2, "share": 1.0, **DISKS}),
        "one": intent("ceph.pools", {"a": {"replicas": 3, "share": 0.7}, "b": {"replicas": 3, "share": 0.3}}),
    },
    "CEP021": {
        "rest": intent("ceph.pools", {"a": {"replicas": 3, "share": 0.9}, "b": {"replicas": 3}}),
        "one": _pool(replicas=3),
    },
    "CEP008": {"other group": items("servers", "gpu", model="test/diskless")},
    "CEP009": {"five": intent("ceph.monitor_count", 5)},
    "CEP010": {"one": intent("ceph.monitor_count", 1)},
    "CEP011": {"alone": intent("ceph.monitor_count", 1), "one of each rack": _racks("N01", "N02", "N03", "N03")},
    "STO001": {"targets with ports": intent("networks.storage.nvme_of", {"targets": ["storage"]})},
    "K8S001": {"three": intent("kubernetes.control", "control")},
    "K8S002": {"two nodes": chain(_keep("control", 2), items("servers", "control", rack="N01"))},
    "FCT100": {"known": facts(servers={"gpu-001": ServerFacts(macs={"c0": "02:00:00:00:00:09"})}, files=FILES)},
    "FCT101": {
        "all there": facts(files=FILES),
        "InfiniBand switch": chain(
            networks("compute", technology="infiniband"),
            items("switches", "compute", guid="0xfc6a1c0300100000"),
            facts(files=FILES),
        ),
    },
}
