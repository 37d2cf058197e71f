"""Which pools and file systems of Ceph pods have volumes from, and what is rendered of them."""

from __future__ import annotations

import pytest
import yaml
from intents import STORAGE, plan_of, small

from cluster_model.plan.model.kubernetes import SharedClass, VolumeClass
from cluster_model.render.ceph.objects import list_groups, list_namespaces
from cluster_model.render.ceph.users import list_users
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


def share(*shared, driver="kernel"):
    """Return a plan whose pods share volumes in these file systems, of which home has two pools."""
    pools = {"files": {"replicas": 3}, "bulk": {"erasure": "4+2"}, "scratch": {"replicas": 3}}
    filesystems = {"home": {"pools": ["files", "bulk"], "driver": driver}, "tmp": {"pools": ["scratch"]}}
    kubernetes = {"control": "control", "workers": ["gpu"], "shared_volumes": list(shared)}
    ceph = {"hosts": "storage", "pools": pools, "filesystems": filesystems}
    servers = {"servers__storage": HOSTS, "servers__control": CONTROL}
    return plan_of(small(**servers, networks__storage=STORAGE, ceph=ceph, kubernetes=kubernetes))


def test_each_pool_of_a_file_system_has_a_class():
    found = share("home", "tmp", "home").kubernetes.shared_volumes
    assert found == (
        SharedClass("cephfs-home", "home"),
        SharedClass("cephfs-home.bulk", "home", "bulk"),
        SharedClass("cephfs-tmp", "tmp"),
    )
    assert share().kubernetes.shared_volumes == ()


def test_classes_of_shared_volumes_tell_makers_and_nodes_apart():
    [(_, data)] = render_volumes(share("home"))
    first, second = (each for each in yaml.safe_load_all(data) if each)
    assert (first["parameters"]["fsName"], "pool" in first["parameters"]) == ("home", False)
    assert (second["metadata"]["name"], second["parameters"]["pool"]) == ("cephfs-home.bulk", "bulk")
    secrets = {key: value for key, value in first["parameters"].items() if key.endswith("-secret-name")}
    nodes = {key for key, value in secrets.items() if value == "csi-cephfs-node-secret"}
    assert nodes == {"csi.storage.k8s.io/node-stage-secret-name"}
    assert set(secrets.values()) == {"csi-cephfs-secret", "csi-cephfs-node-secret"}
    assert "mounter" not in first["parameters"]
    assert "nodeplugin" not in write_values(share("home"), "ceph-csi-cephfs")


def test_where_hosts_mount_by_fuse_pods_do_too():
    plan = share("home", driver="fuse")
    [(_, data)] = render_volumes(plan)
    assert {each["parameters"]["mounter"] for each in yaml.safe_load_all(data) if each} == {"fuse"}
    assert write_values(plan, "ceph-csi-cephfs")["nodeplugin"] == {"updateStrategy": "OnDelete"}


def test_users_of_shared_volumes_have_their_group_and_no_more():
    plan = share("home", "tmp")
    maker, node = list_users(plan)
    assert (maker["name"], node["name"]) == ("client.kubernetes-files", "client.kubernetes-files-node")
    assert maker["caps"]["osd"] == (
        "allow rwx pool=cephfs.home.meta namespace=kubernetes-files, allow rwx pool=cephfs.tmp.meta namespace=kubernetes-files"
    )
    assert node["caps"]["osd"].split(", ") == [
        "allow r pool=cephfs.home.meta namespace=kubernetes-files",
        "allow r pool=cephfs.tmp.meta namespace=kubernetes-files",
        *(f"allow rw pool={pool} namespace=kubernetes-files" for pool in ("files", "bulk", "scratch")),
    ]
    assert node["caps"]["mds"] == (
        "allow rw fsname=home path=/volumes/kubernetes-files, allow rw fsname=tmp path=/volumes/kubernetes-files"
    )
    assert "mds" not in maker["caps"]
    for user in (maker, node):
        grants = user["caps"]["mgr"].split(", ")
        assert all(" with vol_name=" in each and " group_name=kubernetes-files " in each for each in grants)
        assert all('sub_name regex "csi-' in each or 'clone_name regex "csi-' in each for each in grants)
    assert list(list_groups(plan)) == [
        {"filesystem": name, "name": "kubernetes-files", "namespace": "kubernetes-files"} for name in ("home", "tmp")
    ]
