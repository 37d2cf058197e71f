# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about Kubernetes' ranges, version and nodes. Part of the K8S family; quorum.py has its control plane."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.fabric.addresses import DOCKER_BRIDGE, UNUSABLE, is_public
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.services.kubernetes import count_nodes
from cluster_model.plan.services.namespaces import KUBE, TAKEN, is_taken

FAMILIES = {"K8S": "Kubernetes"}

MOST_BITS = 16
"""Of a node's part within the pod range. Source: kubeadm, constants: PodSubnetNodeMaskMaxDiff."""


class PodPoolTooSmall(Rule):
    """Give Kubernetes a pod range that holds all nodes.

    What it checks:
        `pod_pool` has a part of length `node_prefix` for every node of the groups under `control` and `workers`, at their
        planned size, and is at most 16 bits shorter than that.

    Why it matters:
        The node after the last part gets none: it joins, stays NotReady, and no pod starts on it. The range cannot be changed
        while the cluster lives.

    How to fix:
        Take the shorter prefix that the finding names.

    Source:
        kube-controller-manager, --node-cidr-mask-size (default 24); kubeadm, constants: PodSubnetNodeMaskMaxDiff 16.
    """

    id, title = "K8S003", "pod range too small for the nodes"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        if kubernetes is None:
            return
        pool, nodes, part = kubernetes.pod_pool, count_nodes(design.cluster), kubernetes.node_prefix
        room = 2 ** (part - pool.prefixlen) if pool.prefixlen <= part else 0
        shortest = part - MOST_BITS
        if nodes > room:
            length = max(part - max(nodes - 1, 1).bit_length(), shortest)
            yield self.finding(
                "kubernetes.pod_pool",
                f"{pool} has a /{part} for {count_things(room, 'node')}, and {nodes} are planned",
                f"/{length} or shorter ({count_things(nodes, 'node')})",
                f"/{pool.prefixlen}",
                f"set pod_pool to a /{length} that nothing else uses",
            )
        elif pool.prefixlen < shortest:
            yield self.finding(
                "kubernetes.pod_pool",
                f"kubeadm refuses {pool}: it is more than {MOST_BITS} bits shorter than a node's /{part}",
                f"/{shortest} or longer",
                f"/{pool.prefixlen}",
                f"set pod_pool to {next(pool.subnets(new_prefix=shortest))}",
            )


class ServicePoolSize(Rule):
    """Give Kubernetes a service range that kubeadm takes.

    What it checks:
        `service_pool` is a /12 to a /28.

    Why it matters:
        kubeadm stops before it has begun. The range cannot be changed while the cluster lives.

    How to fix:
        Take a /16, or leave it out for 10.96.0.0/12.

    Source:
        kubeadm, constants: MinimumAddressesInServiceSubnet 10, MaximumBitsForServiceSubnet 20; the DNS service has the tenth
        address.
    """

    id, title = "K8S004", "service range that kubeadm refuses"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        if kubernetes is None:
            return
        length = kubernetes.service_pool.prefixlen
        if length < 12 or length > 28:
            why = "more than 20 bits of addresses" if length < 12 else "no tenth address, which the DNS service has"
            yield self.finding(
                "kubernetes.service_pool",
                f"{kubernetes.service_pool} has {why}",
                "/12 to /28",
                f"/{length}",
                "set service_pool to a /16, or leave it out for 10.96.0.0/12",
            )


class ServicePoolTight(Rule):
    """Leave room for services.

    What it checks:
        `service_pool` is a /24 or shorter.

    Why it matters:
        Every operator, queue and notebook of a user makes services: with a few dozen addresses the next one is refused, and the
        range cannot be changed while the cluster lives.

    How to fix:
        Take a /16 that nothing else uses.

    Source:
        kubeadm's default is a /12; the limit is of this toolkit.
    """

    id, severity, title = "K8S005", "warning", "service range with little room"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        if kubernetes is not None and 24 < kubernetes.service_pool.prefixlen <= 28:
            yield self.finding(
                "kubernetes.service_pool",
                f"{kubernetes.service_pool} has {count_things(kubernetes.service_pool.num_addresses, 'address', 'addresses')}",
                "/24 or shorter",
                f"/{kubernetes.service_pool.prefixlen}",
                "set service_pool to a /16 that nothing else uses",
            )


class RangeUnusable(Rule):
    """Take Kubernetes' ranges from addresses that hosts forward.

    What it checks:
        `pod_pool` and `service_pool` touch no loopback, link-local, multicast, documentation or reserved range.

    Why it matters:
        The kernel drops these addresses whatever kube-proxy and the pod network set up.

    How to fix:
        Leave them out, or take prefixes from 10.0.0.0/8.

    Source:
        RFC 6890 (special-purpose address registry), RFC 1112 (multicast, reserved).
    """

    id, title = "K8S006", "range of Kubernetes that is never forwarded"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        for name in ("pod_pool", "service_pool") if kubernetes is not None else ():
            pool = getattr(kubernetes, name)
            use = next((f"{prefix} ({use})" for prefix, use in UNUSABLE.items() if pool.overlaps(prefix)), "")
            if use:
                yield self.finding(
                    f"kubernetes.{name}",
                    f"the range of {name.partition('_')[0]}s touches {use}",
                    "addresses that hosts forward, such as 10.244.0.0/16",
                    str(pool),
                    f"leave {name} out, or take a prefix from 10.0.0.0/8",
                )


class RangeOfOthers(Rule):
    """Take Kubernetes' ranges from private addresses that nothing else claims.

    What it checks:
        `pod_pool` and `service_pool` lie in private space (RFC 1918, RFC 6598), outside Docker's default range.

    Why it matters:
        The true owner of the addresses becomes unreachable from every pod. A node on which Docker runs loses the pods behind its
        bridge.

    How to fix:
        Leave them out, or take prefixes from 10.0.0.0/8.

    Source:
        RFC 1918; RFC 6598; Docker documentation, bridge network driver (172.17.0.0/16).
    """

    id, severity, title = "K8S007", "warning", "range of Kubernetes that others have"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        for name in ("pod_pool", "service_pool") if kubernetes is not None else ():
            pool = getattr(kubernetes, name)
            if any(pool.overlaps(prefix) for prefix in UNUSABLE):
                continue  # K8S006
            public = is_public(pool)
            if public or pool.overlaps(DOCKER_BRIDGE):
                yield self.finding(
                    f"kubernetes.{name}",
                    f"the range of {name.partition('_')[0]}s {'is public address space' if public else 'overlaps Docker'}"
                    + ("" if public else "'s default range"),
                    "a private prefix clear of 172.17.0.0/16",
                    str(pool),
                    f"leave {name} out, or take a prefix from 10.0.0.0/8",
                )


END_OF_LIFE = {35: "February 2027", 36: "June 2027", 37: "October 2027"}
"""Minor versions with security fixes in November 2026. Source: kubernetes.io/releases; 1.34 ended that October."""
ADVISED = f"1.{max(END_OF_LIFE) - 1}"
"""The version that findings advise: the last but one, for which images and charts are known."""


class VersionOld(Rule):
    """Run a Kubernetes that still gets security fixes.

    What it checks:
        `kubernetes.version` is one of those that the project maintains, as of November 2026, or the next.

    Why it matters:
        Fixes are made for the last three or four minor versions alone, an upgrade goes one version at a time, and kubelets may
        be no more than three behind. A version that does not exist is mostly a mistyped one.

    How to fix:
        Leave `version` out, or take one that is maintained.

    Source:
        kubernetes.io/releases: 1.34 ended on 2026-10-27, 1.35 ends on 2027-02-28, 1.36 on 2027-06-28, 1.37 on 2027-10-28; version
        skew policy.
    """

    id, severity, title = "K8S008", "warning", "Kubernetes without security fixes, or unknown"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        if kubernetes is None:
            return
        minor, newest = kubernetes.minor, max(END_OF_LIFE)
        if minor in END_OF_LIFE or minor == newest + 1:
            return
        yield self.finding(
            "kubernetes.version",
            f"Kubernetes {kubernetes.version} "
            + ("had its last fixes before November 2026" if minor < newest else "is not known to have been released"),
            f"1.{min(END_OF_LIFE)} to 1.{newest}",
            kubernetes.version,
            f"set version to {ADVISED}, or leave it out",
        )


class ControlOnWorkers(Rule):
    """Keep the control plane on servers of its own.

    What it checks:
        `kubernetes.control` is not a group of GPU or storage servers, and not among `kubernetes.workers`.

    Why it matters:
        etcd waits for every write to disk. Beside training or OSDs it misses heartbeats, the API stops answering, and jobs fail
        that had nothing to do with it. A drained GPU server then takes a vote with it.

    How to fix:
        Name a group of role control; or accept it in a lab.

    Source:
        etcd documentation, hardware recommendations: dedicated disks, and no noisy neighbours.
    """

    id, severity, title = "K8S009", "warning", "control plane beside other work"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        if kubernetes is None:
            return
        servers = design.group(kubernetes.control)
        role = servers[0].role if servers else ""
        if role in {"gpu", "storage"}:
            what = f"the control plane runs on {kubernetes.control}, which are {'GPU' if role == 'gpu' else 'storage'} servers"
        elif kubernetes.control in kubernetes.workers:
            what = f"{kubernetes.control} run the control plane and pods of users"
        else:
            return
        yield self.finding(
            "kubernetes.control",
            what,
            "servers of role control, without other work",
            kubernetes.control,
            "name a group of role control",
        )


class WorkersOnStorage(Rule):
    """Run no pods of users on the servers that hold their data.

    What it checks:
        `kubernetes.workers` has no group that `ceph.hosts` or NVMe over Fabrics names.

    Why it matters:
        A job that takes all memory takes the OSDs with it: data of everybody is rebuilt because of one user.

    How to fix:
        Take the group out of `workers`.

    Source:
        Ceph documentation, hardware recommendations: OSD hosts run nothing else that takes memory.
    """

    id, severity, title = "K8S010", "warning", "pods of users on storage servers"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes, storage, ceph = design.cluster.kubernetes, design.cluster.networks.storage, design.cluster.ceph
        if kubernetes is None:
            return
        holders = set(ceph.groups) if ceph is not None else set()
        holders |= set(storage.nvme_of.targets) if storage is not None and storage.nvme_of is not None else set()
        both = [name for name in kubernetes.workers if name in holders]
        if both:
            yield self.finding(
                "kubernetes.workers",
                f"pods of users run on {list_names(both)}, where the data is",
                "groups without storage",
                list_names(both),
                f"take {list_names(both)} out of workers",
            )


class TenantCalledAsNamespace(Rule):
    """Give tenants names that Kubernetes does not have itself.

    What it checks:
        No tenant is called as a namespace of Kubernetes or of a chart that is installed in it, or as one of Volcano's own queues,
        and no name begins with `kube-`.

    Why it matters:
        A tenant's name is that of its namespace and of its queue. Quota, rights and network policy would be put on what the
        cluster itself runs by: its users could change it, and its pods would lose sight of each other. Some namespaces of former
        releases are deleted by whatever had them, with all that is in them.

    How to fix:
        Rename the tenant.

    Source:
        Kubernetes documentation, Namespaces: initial namespaces, and the prefix `kube-`; Volcano documentation, Queue: default
        and root; of the charts, cluster_model/plan/services/namespaces.py.
    """

    id, title = "K8S011", "tenant called as a namespace of Kubernetes"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        others = [name for name in TAKEN if not name.startswith(KUBE)]
        for name in design.cluster.tenants if design.cluster.kubernetes is not None else ():
            if is_taken(name):
                yield self.finding(
                    f"tenants.{name}@key",
                    f"the namespace of tenant {name} would be one that Kubernetes has itself",
                    f"a name that does not begin with {KUBE}, other than {list_names(others)}",
                    name,
                    f"rename the tenant, for example to team-{name}",
                )
