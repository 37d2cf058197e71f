"""Which pools of Ceph pods have volumes from, and what is rendered of them."""

from __future__ import annotations

import pytest
import yaml
from intents import STORAGE, plan_of, small

from cluster_model.plan.model.kubernetes import VolumeClass
from cluster_model.render.ceph.objects import list_namespaces, list_users
from cluster_model.render.kubernetes.values import write_values
from cluster_model.render.kubernetes.volumes import render_volumes

HOSTS = {"id": 2, "model": "generic/2u-24nvme", "count": 6, "racks": "network"}
CONTROL = {"id": 3, "model": "generic/1u", "count": 3, "racks": "network"}


def whole(volumes, pools, control=3):
    """Return a plan whose pods have volumes from these pools."""
    kubernetes = {"control": "control", "workers": ["gpu"], "volumes": volumes}
    servers = {"servers__storage": HOSTS, "servers__control": CONTROL | {"count": control}}
    return plan_of(small(**servers, networks__storage=STORAGE, ceph={"hosts": "storage", "pools": pools}, kubernetes=kubernetes))


@pytest.mark.parametrize(
    ("volumes", "pools", "classes"),
    [
        (["a"], {"a": {"replicas": 3}}, [VolumeClass("ceph-a", "a")]),
        (["e"], {"e": {"erasure": "4+2"}, "a": {"replicas": 3}}, [VolumeClass("ceph-e", "a", "e")]),
        (
            ["e", "b"],
            {"a": {"replicas": 3}, "b": {"replicas": 3}, "e": {"erasure": "4+2"}},
            [("ceph-e", "b", "e"), ("ceph-b", "b", "")],
        ),
        (["e"], {"e": {"erasure": "4+2"}, "a": {"replicas": 3, "application": "rgw"}}, [VolumeClass("ceph-e", "", "e")]),
        (["a", "a"], {"a": {"replicas": 3}}, [VolumeClass("ceph-a", "a")]),
        ([], {"a": {"replicas": 3}}, []),
    ],
)
def test_images_in_an_erasure_code_are_named_in_a_pool_of_replicas(volumes, pools, classes):
    found = whole(volumes, pools).kubernetes.volumes
    assert found == tuple(each if isinstance(each, VolumeClass) else VolumeClass(*each) for each in classes)


def test_ceph_csi_has_a_namespace_of_its_own_and_finds_the_monitors():
    plan = whole(["e"], {"e": {"erasure": "4+2"}, "a": {"replicas": 3}})
    [user] = list_users(plan)
    places = "profile rbd pool=e namespace=kubernetes-volumes, profile rbd pool=a namespace=kubernetes-volumes"
    assert user == {"name": "client.kubernetes-volumes", "caps": {"mgr": places, "mon": "profile rbd", "osd": places}}
    assert list(list_namespaces(plan)) == [{"pool": "a", "namespace": "kubernetes-volumes"}]
    values = write_values(plan, "ceph-csi-rbd")
    [cluster] = values["csiConfig"]
    assert cluster["rbd"] == {"radosNamespace": "kubernetes-volumes"}
    assert cluster["monitors"] == [f"{monitor.address}:6789" for monitor in plan.ceph.monitors]
    [(_, data)] = render_volumes(plan)
    [found] = [each for each in yaml.safe_load_all(data) if each]
    assert (found["parameters"]["pool"], found["parameters"]["dataPool"]) == ("a", "e")
    assert found["parameters"]["clusterID"] == cluster["clusterID"] == plan.ceph.fsid


def test_there_are_no_more_provisioners_than_control_servers():
    assert "replicaCount" not in write_values(whole(["a"], {"a": {"replicas": 3}}), "ceph-csi-rbd")["provisioner"]
    assert write_values(whole(["a"], {"a": {"replicas": 3}}, control=1), "ceph-csi-rbd")["provisioner"]["replicaCount"] == 1


def test_without_volumes_nothing_is_rendered_of_them():
    plan = whole([], {"a": {"replicas": 3}})
    assert (list(render_volumes(plan)), list(list_users(plan)), list(list_namespaces(plan))) == ([], [], [])
