"""Beside kubernetes/kubeadm/: what the API server writes down, encrypts and admits.

On a control server these files lie in FOLDER, which the API server's pod reads.
"""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.plan.model import Plan
from cluster_model.plan.model.kubernetes import Kubernetes
from cluster_model.plan.services.namespaces import PRIVILEGED
from cluster_model.references import name_secret
from cluster_model.render.kubernetes.objects import Json, write_objects

FOLDER = "/etc/kubernetes/gpuyard"
AUDIT_LOG = "/var/log/kubernetes/audit/audit.log"
ADMISSION = "admission.yaml"
ENCRYPTION_SECRET = "kubernetes-encryption"
"""The secret that Secrets in etcd are encrypted with: 32 random bytes in Base64."""
CHANGES = ["create", "update", "patch", "delete", "deletecollection"]


def render_control(plan: Plan) -> Iterator[tuple[str, bytes]]:
    """Yield the audit policy, the encryption of Secrets, and what Pod Security asks where a namespace says nothing."""
    kubernetes = plan.kubernetes
    folder = "kubernetes/kubeadm"
    yield f"{folder}/audit-policy.yaml", write_objects("Who did what is written down, and no Secret with it.", [write_audit()])
    about = f"Secrets in etcd are encrypted; the key is the secret {ENCRYPTION_SECRET}, 32 bytes in Base64."
    yield f"{folder}/encryption.yaml", write_objects(about, [write_encryption()])
    if has_pod_security(kubernetes):
        about = "What Pod Security asks of pods in namespaces that say nothing of it."
        yield f"{folder}/{ADMISSION}", write_objects(about, [write_admission(kubernetes)])


def has_pod_security(kubernetes: Kubernetes) -> bool:
    """Return whether the version has Pod Security to set up. Source: Kubernetes documentation: stable from 1.25 on."""
    return kubernetes.minor >= 25


def list_plugins(kubernetes: Kubernetes) -> list[str]:
    """Return the admission plug-ins beside Kubernetes' own; the list takes the place of kubeadm's, which is NodeRestriction.

    PodNodeSelector has no configuration: then a namespace without the annotation, such as kube-system, has its pods anywhere,
    and a pod may ask for more than its namespace does. Source: Kubernetes documentation, admission controllers:
    DenyServiceExternalIPs, from 1.21 on; kubernetes/kubernetes, plugin/pkg/admission/podnodeselector/admission.go.
    """
    return ["NodeRestriction", "PodNodeSelector", *(["DenyServiceExternalIPs"] if kubernetes.minor >= 21 else [])]


def write_audit() -> Json:
    """Return the audit policy: the first rule that fits decides.

    Source: Kubernetes documentation, auditing; audit.k8s.io/v1 Policy.
    """
    core, leases = "", "coordination.k8s.io"
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [
            # What the cluster says to itself every few seconds.
            {"level": "None", "nonResourceURLs": ["/healthz*", "/livez*", "/readyz*", "/version"]},
            {"level": "None", "resources": [{"group": core, "resources": ["events"]}, {"group": "events.k8s.io"}]},
            {
                "level": "None",
                "userGroups": ["system:nodes"],
                "resources": [{"group": leases, "resources": ["leases"]}, {"group": core, "resources": ["nodes/status"]}],
            },
            {
                "level": "None",
                "users": ["system:kube-controller-manager", "system:kube-scheduler"],
                "resources": [{"group": leases, "resources": ["leases"]}],
            },
            {"level": "None", "users": ["system:kube-proxy"], "verbs": ["get", "list", "watch"]},
            # Rights: what was given, and not only that something was.
            {"level": "Request", "verbs": CHANGES, "resources": [{"group": "rbac.authorization.k8s.io"}]},
            # All else by its metadata: a body may hold a Secret or a token.
            {"level": "Metadata"},
        ],
    }


def write_encryption() -> Json:
    """Return how Secrets are written into etcd; what was written before is still read.

    Source: Kubernetes documentation, encrypting confidential data at rest: secretbox takes 32 bytes.
    """
    key = {"name": "key1", "secret": name_secret(ENCRYPTION_SECRET)}
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": ["secrets"], "providers": [{"secretbox": {"keys": [key]}}, {"identity": {}}]}],
    }


def write_admission(kubernetes: Kubernetes) -> Json:
    """Return Pod Security's defaults; tenants' namespaces say the same by their labels.

    Source: Kubernetes documentation, enforce Pod Security standards by configuring the built-in admission controller.
    """
    version = f"v{kubernetes.version}"
    levels = {"enforce": "baseline", "audit": "restricted", "warn": "restricted"}
    defaults = {key: text for mode, level in levels.items() for key, text in ((mode, level), (f"{mode}-version", version))}
    exempt = {"usernames": [], "runtimeClasses": [], "namespaces": list(PRIVILEGED)}
    configuration = {
        "apiVersion": "pod-security.admission.config.k8s.io/v1",
        "kind": "PodSecurityConfiguration",
        "defaults": defaults,
        "exemptions": exempt,
    }
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [{"name": "PodSecurity", "configuration": configuration}],
    }
