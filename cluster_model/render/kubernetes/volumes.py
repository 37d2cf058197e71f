"""kubernetes/volumes.yaml: a StorageClass for each pool of Ceph that pods have volumes from."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.plan.model import Plan
from cluster_model.plan.model.kubernetes import VolumeClass
from cluster_model.plan.services.namespaces import CEPH_CSI
from cluster_model.render.kubernetes.objects import Json, make_object, write_objects

DRIVER = "rbd.csi.ceph.com"
SECRET = "csi-rbd-secret"
"""With the name and the key of ceph-csi's user. Source of both: ceph/csi-charts, ceph-csi-rbd-3.17.1.tgz, values.yaml."""
USES = ("provisioner", "controller-expand", "node-stage")
"""What wants the Secret. Source: there, templates/storageclass.yaml."""


def render_volumes(plan: Plan) -> Iterator[tuple[str, bytes]]:
    """Yield the classes; nothing where pods have no volumes from Ceph."""
    classes = [describe_class(volume, plan.ceph.fsid) for volume in plan.kubernetes.volumes if volume.pool]
    if classes:
        yield "kubernetes/volumes.yaml", write_objects("What pods have volumes from: pools of Ceph, by ceph-csi.", classes)


def describe_class(volume: VolumeClass, fsid: str) -> Json:
    """Return a StorageClass. Nothing of its parameters can be changed while it is there."""
    parameters = {
        "clusterID": fsid,
        "pool": volume.pool,
        **({"dataPool": volume.data_pool} if volume.data_pool else {}),
        "imageFeatures": "layering",  # what kernels of all ages know
        "csi.storage.k8s.io/fstype": "ext4",
    }
    for use in USES:
        parameters |= {
            f"csi.storage.k8s.io/{use}-secret-name": SECRET,
            f"csi.storage.k8s.io/{use}-secret-namespace": CEPH_CSI,
        }
    return make_object(
        "storage.k8s.io/v1",
        "StorageClass",
        volume.name,
        provisioner=DRIVER,
        parameters=parameters,
        reclaimPolicy="Delete",
        allowVolumeExpansion=True,
    )
