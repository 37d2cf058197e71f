# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about what a version of Kubernetes cannot do of what is rendered for it. Part of the K8S family."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.services.kubernetes import ADVISED
from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.services.releases import KUBELET_PATCHES, NAMESPACE_LABEL, POD_SECURITY, read_releases

VERSION = "kubernetes.version"


class TenantsCutOff(Rule):
    """Let the network policies of tenants find the namespaces that they name.

    What it checks:
        With tenants, `kubernetes.version` is 1.21 or later.

    Why it matters:
        A tenant's policy lets through namespaces by the label `kubernetes.io/metadata.name`, that of the cluster's DNS among
        them, and drops all else. Older versions do not set this label: nothing is let through by it, and nothing says why.

    How to fix:
        Leave `version` out, or take a later one.

    Source:
        Kubernetes documentation, feature gates (removed): NamespaceDefaultLabelName, on from 1.21.
    """

    id, title = "K8S016", "network policies that find no namespace"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        if kubernetes is not None and design.cluster.tenants and kubernetes.minor < NAMESPACE_LABEL:
            yield self.finding(
                VERSION,
                f"in Kubernetes {kubernetes.version} tenants' network policies find no namespace by its name: pods reach no DNS",
                f"1.{NAMESPACE_LABEL} or later, which labels each namespace with its name",
                kubernetes.version,
                f"set version to {ADVISED}, or leave it out",
            )


class TenantsNotConfined(Rule):
    """Hold tenants' pods to Pod Security.

    What it checks:
        With tenants, `kubernetes.version` is 1.23 or later. Below 1.21 it is K8S016 that says so.

    Why it matters:
        A tenant's namespace asks for Pod Security `baseline`. Older versions take the label and do nothing: every user of a
        tenant may start a privileged pod, which is root on its node and reads what all pods there hold.

    How to fix:
        Leave `version` out, or take a later one; or hold pods to it by other means, such as PodSecurityPolicy in these versions.

    Source:
        Kubernetes documentation, feature gates (removed): PodSecurity, on from 1.23.
    """

    id, severity, title = "K8S017", "warning", "tenants that Pod Security does not confine"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        if kubernetes is None or not design.cluster.tenants:
            return
        if NAMESPACE_LABEL <= kubernetes.minor < POD_SECURITY:
            yield self.finding(
                VERSION,
                f"in Kubernetes {kubernetes.version} users of a tenant may start privileged pods, which are root on their node",
                f"1.{POD_SECURITY} or later, which has Pod Security",
                kubernetes.version,
                f"set version to {ADVISED}, or leave it out",
            )


class NumaPolicyIgnored(Rule):
    """Take a version that places pods on NUMA nodes as asked.

    What it checks:
        With a `numa_policy` other than none and workers with GPUs, `kubernetes.version` is 1.25 or later.

    Why it matters:
        kubeadm patches what it tells the kubelets of one server model only from then on. Before, kubelets on servers with GPUs
        run as on all others: CPUs, GPUs and NICs of a pod come from any NUMA node, and the system has no more memory to itself.

    How to fix:
        Leave `version` out, or take a later one; or set `numa_policy` to none.

    Source:
        kubernetes.io, kubeadm Configuration (v1beta3): the patch target kubeletconfiguration came with 1.25.
    """

    id, severity, title = "K8S018", "warning", "numa_policy that kubelets are not told"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        if kubernetes is None or kubernetes.numa_policy == "none" or kubernetes.minor >= KUBELET_PATCHES:
            return
        with_gpus = [name for name in kubernetes.workers if any(server.gpus for server in design.group(name))]
        if with_gpus:
            asked = "numa_policy" in kubernetes.model_fields_set
            yield self.finding(
                "kubernetes.numa_policy" if asked else VERSION,
                f"with Kubernetes {kubernetes.version} kubelets of {list_names(with_gpus)} are not told numa_policy "
                f"{kubernetes.numa_policy}",
                f"version 1.{KUBELET_PATCHES} or later, or numa_policy none",
                kubernetes.numa_policy if asked else kubernetes.version,
                f"set version to {ADVISED}, or numa_policy to none",
            )


class ImagesUnknown(Rule):
    """Let a registry that mirrors all images have those of the control plane.

    What it checks:
        With `registry`, the minor version of `kubernetes.version` is one whose release gpuyard knows.

    Why it matters:
        images.txt lacks what is not known, and a mirror that is filled by it lacks it too: no control server starts. Without a
        patch release in `version`, kubeadm also asks dl.k8s.io for the newest, and takes its own where that does not answer.

    How to fix:
        Take a known version. Or name the patch release, and mirror what `kubeadm config images list` of that release prints
        beside images.txt; the finding stays.

    Source:
        templates/kubernetes/releases.yaml; kubeadm, cmd/kubeadm/app/util/version.go.
    """

    id, severity, title = "K8S019", "warning", "registry without images of the control plane"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        if kubernetes is None or kubernetes.registry is None:
            return
        version, known = kubernetes.version, list(read_releases())
        minor = f"1.{kubernetes.minor}"
        if minor in known:
            return
        whole = version != minor
        lacks = "CoreDNS, etcd and pause" if whole else "all images of the control plane"
        release = version if whole else f"{minor}.1"
        name_it = "" if whole else f"name a patch release, such as {release}, and "
        command = f"kubeadm config images list --kubernetes-version v{release}"
        yield self.finding(
            VERSION,
            f"images.txt, by which {kubernetes.registry} is filled, lacks {lacks}, since Kubernetes {minor} is not known",
            f"one of {', '.join(known)}",
            version,
            f"set version to {ADVISED}; or {name_it}mirror what {command} prints",
        )
