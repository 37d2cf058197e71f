"""What ceph/objects.yaml says of networks, by which role ceph_preflight sends packets, and of hours that ceph_expand keeps."""

import yaml

from cluster_model.render.services.ceph import render_ceph
from tests.planned import open_example
from tests.unit.plan.intents import plan_of, vary_example


def read_objects(plan):
    """Return what is rendered."""
    return yaml.safe_load(dict(render_ceph(plan, None))["ceph/objects.yaml"])


def test_all_hosts_with_daemons_are_in_the_public_network():
    plan = open_example("superpod-roce").plan
    objects = read_objects(plan)
    [public] = objects["networks"]
    hosts = {service.address.partition("/")[0] for name in public["hosts"] for service in plan.server(name).services}
    assert hosts == set(public["hosts"].values())
    assert set(objects["monitors"]) | set(objects["hosts"]) == set(public["hosts"])
    assert (public["name"], public["mtu_bytes"]) == ("public", plan.network("storage").host_mtu_bytes) == ("public", 9000)
    assert objects["time_servers"] == list(plan.site.ntp)


def test_data_moves_at_the_hours_that_are_planned():
    def read(**parts):
        objects = read_objects(plan_of(vary_example("superpod-roce", **{f"ceph__{name}": part for name, part in parts.items()})))
        times = {each["name"]: (each["who"], each["value"]) for each in objects["options"] if "balancer" in each["name"]}
        return objects.get("maintenance"), times

    hours = {"profile": "high_recovery_ops", "usual_profile": "high_client_ops", "latency_ms": 50.0}
    told = read(maintenance={"window": "22:30-06:05", "latency_ms": 50}, recovery={"profile": "high_client_ops"})
    times = {"mgr/balancer/begin_time": ("mgr", "2230"), "mgr/balancer/end_time": ("mgr", "0605")}
    assert told == ({"begin": "22:30", "end": "06:05", **hours}, times)
    always = {"begin": "", "end": "", "profile": "balanced", "usual_profile": "balanced", "latency_ms": 0.0}
    assert read(maintenance={"profile": "balanced"}) == (always, {})
    assert read(maintenance={"profile": "balanced", "window": "06:00-06:00"}) == (always, {})
    assert read() == (None, {})


def test_osds_have_a_network_among_themselves_where_it_is_kept_apart():
    plan = plan_of(vary_example("superpod-roce", networks__storage__ceph_cluster="separate"))
    objects = read_objects(plan)
    public, cluster = objects["networks"]
    assert (cluster["name"], cluster["mtu_bytes"]) == ("cluster", 9000)
    assert list(cluster["hosts"]) == list(objects["hosts"])
    assert not set(cluster["hosts"].values()) & set(public["hosts"].values())
    own = {service.purpose: service.address for service in plan.server("storage-001").services}
    assert own == {"storage": f"{public['hosts']['storage-001']}/32", "ceph-cluster": f"{cluster['hosts']['storage-001']}/32"}
