"""Kubernetes while a cluster grows within its plan: no label and no domain of what stood changes, and none is untrue."""

from collections import defaultdict
from dataclasses import replace
from functools import partial

import yaml
from hypothesis import assume, given
from strategies import change, clusters, plan_of
from test_plan_growth import QUICK, growing_clusters, outgrowing_clusters

from cluster_model.plan.services.kubernetes import PREFIX
from cluster_model.references import settle
from cluster_model.render.kubernetes.control import render_control
from cluster_model.render.kubernetes.endpoint import render_endpoint
from cluster_model.render.kubernetes.kubeadm import render_kubeadm
from cluster_model.render.kubernetes.kueue import HOST, render_kueue
from cluster_model.render.kubernetes.network.bgp import render_bgp
from cluster_model.render.kubernetes.network.network_operator import render_policy
from cluster_model.render.kubernetes.network.rails import render_network
from cluster_model.render.kubernetes.topology import render_topology
from tests.contract.custom_resources import CRDS, judge

CONFIGURE = (render_kubeadm, render_control, render_endpoint)
CERTIFICATE, PROXY = "kubernetes/kubeadm/init.yaml", "kubernetes/endpoint/haproxy.cfg"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def ask(document):
    """Return a document with Kubernetes on all its servers."""
    groups = sorted(document["servers"])
    return change(document, kubernetes={"control": groups[0], "workers": groups})


def count_control(plan):
    return sum(node.is_control for node in plan.kubernetes.nodes)


def read_objects(plan, render=render_topology):
    """Return what is rendered, of topology or of something else, by kind and name."""
    documents = [found for _, data in render(plan) for found in yaml.load_all(data, LOADER)]
    return {(found["kind"], found["metadata"]["name"]): found for found in documents}


def list_members(objects):
    """Return the nodes below each HyperNode, as Volcano finds them."""
    nodes = {name: found["metadata"]["labels"] for (kind, name), found in objects.items() if kind == "Node"}
    below = defaultdict(set)
    for (kind, name), found in objects.items():
        for member in found["spec"]["members"] if kind == "HyperNode" else ():
            selector = member["selector"]
            if member["type"] == "Node":
                wanted = selector["labelMatch"]["matchLabels"].items()
                below[name] |= {node for node, labels in nodes.items() if wanted <= labels.items()}
            else:
                below[name] |= below[selector["exactMatch"]["name"]]
    return below


@given(growing_clusters())
@QUICK
def test_growing_within_the_plan_changes_no_object_that_stood(pair):
    old, _ = plan_of(ask(pair[0]))
    new, _ = plan_of(ask(pair[1]))
    assume(old is not None and new is not None)
    before, after = read_objects(old), read_objects(new)
    for (kind, name), found in before.items():
        grown = after[kind, name]
        if kind == "HyperNode" and found["spec"]["tier"] > 1:  # it has a member for each unit or pod that is built
            members = grown["spec"].pop("members")
            assert [member for member in members if member in found["spec"]["members"]] == found["spec"].pop("members")
        assert grown == found


def read_kueue(plan):
    """Return what Kueue is told, by kind and name."""
    asked = replace(plan, kubernetes=replace(plan.kubernetes, queueing="kueue"))
    documents = [found for _, data in render_kueue(asked) for found in yaml.load_all(data, LOADER)]
    return {(found["kind"], found["metadata"]["name"]): found for found in documents}


def read_bgp(plan, cni="cilium"):
    """Return what nodes are told of their leafs, by kind and name; nothing where other switches than leafs would be told."""
    if plan.kubernetes.network != "storage":  # K8S026
        return {}
    asked = replace(plan, kubernetes=replace(plan.kubernetes, pod_routing="bgp", node_asn=64512, cni=cni))
    return read_objects(asked, render_bgp)


CUSTOM = (
    read_kueue,
    read_bgp,
    partial(read_bgp, cni="calico"),
    *(partial(read_objects, render=render) for render in (render_topology, render_network, render_policy)),
)


@given(growing_clusters())
@QUICK
def test_growing_within_the_plan_changes_nothing_that_kueue_is_told(pair):
    old, _ = plan_of(ask(pair[0]))
    new, _ = plan_of(ask(pair[1]))
    assume(old is not None and new is not None)
    assert read_kueue(new) == read_kueue(old)


@given(growing_clusters())
@QUICK
def test_growing_within_the_plan_changes_nothing_that_nodes_are_told_of_their_leafs(pair):
    old, _ = plan_of(ask(pair[0]))
    new, _ = plan_of(ask(pair[1]))
    assume(old is not None and new is not None)
    for cni in ("cilium", "calico"):
        before, after = read_bgp(old, cni), read_bgp(new, cni)
        assert {key: after.get(key) for key in before} == before
        joined = {node.name for node in new.kubernetes.nodes} - {node.name for node in old.kubernetes.nodes}
        assert {key[1].partition(".")[0] for key in after.keys() - before.keys()} <= joined


def list_faults(pair):
    """Return what the API server says where all that a cluster has is applied over what it had before it grew."""
    old, new = (plan_of(ask(document))[0] for document in pair)
    assume(old is not None and new is not None)
    before, after = ({key: each for read in CUSTOM for key, each in read(plan).items()} for plan in (old, new))
    custom = {key: each for key, each in after.items() if (each["apiVersion"], each["kind"]) in CRDS}
    return {fault for key, each in custom.items() if (fault := judge(each, before.get(key)))}


@given(growing_clusters())
@QUICK
def test_growing_within_the_plan_breaks_no_rule_of_a_custom_resource(pair):
    assert list_faults(pair) == set()


@given(outgrowing_clusters())
@QUICK
def test_growing_beyond_the_plan_breaks_no_rule_but_that_a_topology_keeps_its_levels(pair):
    """One tier more is one level more, and Kueue takes no change of a topology: it is removed before it is applied again."""
    assert list_faults(pair) <= {"spec.levels: field is immutable"}


@given(clusters(most=16))
@QUICK
def test_kueue_leaves_no_gpu_out_and_counts_none_twice(document):
    plan, _ = plan_of(ask(document))
    assume(plan is not None)
    objects, nodes = read_kueue(plan), read_objects(plan)
    labels = {name: found["metadata"]["labels"] for (kind, name), found in nodes.items() if kind == "Node"}
    flavors = defaultdict(list)
    for (kind, name), flavor in objects.items():
        if kind == "ResourceFlavor":
            levels = [level["nodeLabel"] for level in objects["Topology", flavor["spec"]["topologyName"]]["spec"]["levels"]]
            assert levels.pop() == HOST
            wanted = flavor["spec"]["nodeLabels"].items()
            for node, has in labels.items():
                if wanted <= has.items() and has.keys() >= set(levels):
                    flavors[node].append(name)
    assert {node: len(names) for node, names in flavors.items()} == {s.name: 1 for s in plan.servers if s.gpus}


@given(growing_clusters())
@QUICK
def test_growing_within_the_plan_changes_no_configuration_of_what_stood(pair):
    old, _ = plan_of(ask(pair[0]))
    new, _ = plan_of(ask(pair[1]))
    assume(old is not None and new is not None)
    before, after = ({path: settle(data)[0] for render in CONFIGURE for path, data in render(plan)} for plan in (old, new))
    # A further control server is one more that everybody asks.
    grown = {CERTIFICATE, PROXY} if count_control(old) != count_control(new) else set()
    assert {path for path in before if after.get(path) != before[path]} <= grown
    joined = {path.split("/")[-1].removesuffix(".yaml") for path in after.keys() - before.keys() if "/join/" in path}
    assert joined == {node.name for node in new.kubernetes.nodes} - {node.name for node in old.kubernetes.nodes}


@given(clusters(most=16))
@QUICK
def test_a_domain_has_the_servers_that_hang_on_its_leafs(document):
    plan, _ = plan_of(ask(document))
    assume(plan is not None)
    objects = read_objects(plan)
    below, leafs = list_members(objects), {switch.name: switch for switch in plan.switches}
    wanted = defaultdict(set)
    for server in plan.servers:
        places = {(leafs[port.peer].unit, leafs[port.peer].pod) for port in server.ports if port.network == "compute"}
        assert len(places) <= 1
        for unit, pod in places:
            wanted[f"compute-u{unit:02d}"].add(server.name)
            wanted["compute"].add(server.name)
            if plan.network("compute").tiers == 3:
                wanted[f"compute-g{pod:02d}"].add(server.name)
        labels = objects["Node", server.name]["metadata"]["labels"]
        assert labels[f"{PREFIX}rack"] == server.rack
    assert below == wanted
    tiers = {name: found["spec"]["tier"] for (kind, name), found in objects.items() if kind == "HyperNode"}
    assert all(tiers[name] > 1 for name in tiers if name == "compute" or "-g" in name)
