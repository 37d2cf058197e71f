"""Kubernetes while a cluster grows within its plan: no label and no domain of what stood changes, and none is untrue."""

from collections import defaultdict

import yaml
from hypothesis import assume, given
from strategies import change, clusters, plan_of
from test_plan_growth import QUICK, growing_clusters

from cluster_model.plan.services.kubernetes import PREFIX
from cluster_model.render.kubernetes.topology import render_topology

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def ask(document):
    """Return a document with Kubernetes on all its servers."""
    groups = sorted(document["servers"])
    return change(document, kubernetes={"control": groups[0], "workers": groups})


def read_objects(plan):
    """Return what is rendered of topology, by kind and name."""
    documents = [found for _, data in render_topology(plan) for found in yaml.load_all(data, LOADER)]
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
