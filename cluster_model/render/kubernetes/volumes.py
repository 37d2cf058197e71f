"""kubernetes/volumes.yaml: a StorageClass for each pool and file system of Ceph that pods have volumes from."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.plan.model import Plan
from cluster_model.plan.model.kubernetes import SharedClass, VolumeClass
from cluster_model.plan.services.namespaces import CEPH_CSI, CEPH_CSI_FILES
from cluster_model.render.kubernetes.objects import Json, make_object, write_objects

DRIVER, FILES_DRIVER = "rbd.csi.ceph.com", "cephfs.csi.ceph.com"
SECRET = "csi-rbd-secret"
"""With the name and the key of ceph-csi's user. Source of both: ceph/csi-charts, ceph-csi-rbd-3.17.1.tgz, values.yaml."""
FILES_SECRET, FILES_NODE_SECRET = "csi-cephfs-secret", "csi-cephfs-node-secret"
"""With who makes shared volumes, and who mounts them. Source of the first, and of the driver: there, ceph-csi-cephfs-3.17.1.tgz,
values.yaml. The second is our own choice."""
USES = dict.fromkeys(("provisioner", "controller-expand", "node-stage"), SECRET)
FILES_USES = dict.fromkeys(("provisioner", "controller-expand", "controller-publish"), FILES_SECRET)
FILES_USES |= {"node-stage": FILES_NODE_SECRET}
"""What wants which Secret. Source: of both charts, templates/storageclass.yaml."""


def render_volumes(plan: Plan) -> Iterator[tuple[str, bytes]]:
    """Yield the classes; nothing where pods have no volumes from Ceph."""
    kubernetes, fsid = plan.kubernetes, plan.ceph.fsid
    classes = [describe_class(volume, fsid) for volume in kubernetes.volumes if volume.pool]
    classes += [describe_shared(volume, fsid) for volume in kubernetes.shared_volumes]
    if classes:
        about = "What pods have volumes from: pools and file systems of Ceph, by ceph-csi."
        yield "kubernetes/volumes.yaml", write_objects(about, classes)


def describe_class(volume: VolumeClass, fsid: str) -> Json:
    """Return a StorageClass of block devices."""
    parameters = {
        "clusterID": fsid,
        "pool": volume.pool,
        **({"dataPool": volume.data_pool} if volume.data_pool else {}),
        "imageFeatures": "layering",  # what kernels of all ages know
        "csi.storage.k8s.io/fstype": "ext4",
    }
    return _make_class(volume.name, DRIVER, parameters, USES, CEPH_CSI)


def describe_shared(volume: SharedClass, fsid: str) -> Json:
    """Return a StorageClass of a file system, whose volumes many pods mount at once."""
    parameters = {
        "clusterID": fsid,
        "fsName": volume.filesystem,
        **({"pool": volume.pool} if volume.pool else {}),
        **({"mounter": volume.driver} if volume.driver != "kernel" else {}),
    }
    return _make_class(volume.name, FILES_DRIVER, parameters, FILES_USES, CEPH_CSI_FILES)


def _make_class(name: str, driver: str, parameters: Json, uses: dict[str, str], namespace: str) -> Json:
    """Return a StorageClass, with the Secrets that its driver asks for. Its parameters cannot be changed while it is there."""
    secrets: Json = {}
    for use, secret in uses.items():
        secrets |= {f"csi.storage.k8s.io/{use}-secret-name": secret, f"csi.storage.k8s.io/{use}-secret-namespace": namespace}
    return make_object(
        "storage.k8s.io/v1",
        "StorageClass",
        name,
        provisioner=driver,
        parameters=parameters | secrets,
        reclaimPolicy="Delete",
        allowVolumeExpansion=True,
    )
