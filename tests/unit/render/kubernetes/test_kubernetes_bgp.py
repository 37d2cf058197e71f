"""What network plug-ins are told of the leafs that nodes tell of their pods."""

from dataclasses import replace

import pytest
import yaml

from cluster_model.paths import TEMPLATES
from cluster_model.render.kubernetes.network.bgp import PATH, TIMERS, list_peers, render_bgp
from tests.contract.custom_resources import judge
from tests.planned import open_example


@pytest.fixture(scope="module")
def plan():
    return open_example("lab").plan


def ask(plan, **keys):
    return replace(plan, kubernetes=replace(plan.kubernetes, **keys))


def read(plan):
    ((path, data),) = render_bgp(plan)
    assert path == PATH
    return {(found["kind"], found["metadata"]["name"]): found for found in yaml.safe_load_all(data)}


@pytest.mark.parametrize("cni", ["cilium", "calico"])
def test_the_api_server_takes_all_of_it(plan, cni):
    objects = read(ask(plan, cni=cni))
    assert [fault for found in objects.values() if (fault := judge(found))] == []


def test_with_tunnels_nothing_is_told(plan):
    assert list(render_bgp(ask(plan, pod_routing="vxlan", node_asn=0))) == []


def test_a_node_is_told_its_leafs_by_their_ends_of_its_links(plan):
    assert [(peer.leaf, peer.port, peer.address, peer.asn) for peer in list_peers(plan, "gpu-001")] == [
        ("storage-leaf-u01-01", "swp7", "10.72.0.12", 4220000001),
        ("storage-leaf-u01-02", "swp7", "10.72.0.76", 4220000002),
    ]


@pytest.mark.parametrize("cni", ["cilium", "calico"])
def test_two_links_with_one_leaf_are_two_peers(plan, cni):
    """A server may have both of its ports on one leaf, and the API server takes a name once."""
    gpu = plan.server("gpu-001")
    moved = {"peer": "storage-leaf-u01-01"}
    ports = tuple(
        replace(port, **moved, peer_port=f"swp{number}") if port.network == "storage" else port
        for number, port in enumerate(gpu.ports)
    )
    servers = tuple(replace(server, ports=ports) if server is gpu else server for server in plan.servers)
    objects = read(ask(replace(plan, servers=servers), cni=cni))
    assert len(objects) == len(read(ask(plan, cni=cni)))
    if cni == "cilium":
        instances = objects["CiliumBGPClusterConfig", "gpu-001"]["spec"]["bgpInstances"]
        assert [peer["peerAddress"] for each in instances for peer in each["peers"]] == ["10.72.0.12", "10.72.0.76"]
        assert len({each["name"] for each in instances}) == 2


def test_cilium_has_an_object_for_each_node(plan):
    objects = read(plan)
    assert {name for kind, name in objects if kind == "CiliumBGPClusterConfig"} == {node.name for node in plan.kubernetes.nodes}
    for node in plan.kubernetes.nodes:
        spec = objects["CiliumBGPClusterConfig", node.name]["spec"]
        assert spec["nodeSelector"] == {"matchLabels": {"kubernetes.io/hostname": node.name}}
        assert [(each["localASN"], len(each["peers"])) for each in spec["bgpInstances"]] == [(64512, 1)] * 2, "a leaf is alone"
        assert not any("localPort" in each for each in spec["bgpInstances"]), "leafs listen, and nodes do not"


def list_told(objects, node):
    """Return what a node tells its leafs of, and how long they wait for it."""
    instances = objects["CiliumBGPClusterConfig", node]["spec"]["bgpInstances"]
    (ref,) = {peer["peerConfigRef"]["name"] for each in instances for peer in each["peers"]}
    how = objects["CiliumBGPPeerConfig", ref]["spec"]
    (family,) = how["families"]
    selector = family.pop("advertisements")
    assert family == {"afi": "ipv4", "safi": "unicast"}
    wanted = dict(selector.get("matchLabels", {}).items())
    options = {each["key"]: each["values"] for each in selector.get("matchExpressions", ()) if each["operator"] == "In"}
    told = [
        each
        for (kind, _), found in objects.items()
        if kind == "CiliumBGPAdvertisement"
        and wanted.items() <= found["metadata"]["labels"].items()
        and all(found["metadata"]["labels"].get(key) in values for key, values in options.items())
        for each in found["spec"]["advertisements"]
    ]
    return told, how["gracefulRestart"]


def test_cilium_tells_of_its_nodes_part_and_on_control_servers_of_the_loopback(plan):
    parts = {"advertisementType": "PodCIDR"}
    loopback = {"advertisementType": "Interface", "interface": {"name": "lo"}}
    for node in plan.kubernetes.nodes:
        told, restart = list_told(read(plan), node.name)
        assert told == [parts, *([loopback] if node.is_control else [])]
        assert restart == {"enabled": True}


def test_where_leafs_are_told_of_no_api_server_control_servers_are_nodes_like_others(plan):
    """And nothing is rendered that Cilium before 1.19 or a cluster without the address would not need."""
    local = ask(plan, endpoint=replace(plan.kubernetes.endpoint, mode="local", announced="", announced_name=""))
    for node in plan.kubernetes.nodes:
        assert list_told(read(local), node.name) == ([{"advertisementType": "PodCIDR"}], {"enabled": True})
    assert not any(name == "control" for _, name in read(local))
    objects = read(ask(local, cni="calico"))
    assert not any(kind == "BGPFilter" or "filters" in found["spec"] for (kind, _), found in objects.items())


def test_nodes_keep_time_as_leafs_do(plan):
    for name in ("leafs", "control"):
        assert read(plan)["CiliumBGPPeerConfig", name]["spec"]["timers"] == TIMERS
    text = (TEMPLATES / "switch/frr/frr.conf.j2").read_text("utf-8")
    assert f"timers bgp {TIMERS['keepAliveTimeSeconds']} {TIMERS['holdTimeSeconds']}\n" in text


def test_calico_speaks_with_leafs_alone(plan):
    objects = read(ask(plan, cni="calico", node_asn=64600))
    assert objects["BGPConfiguration", "default"]["spec"] == {"asNumber": 64600, "nodeToNodeMeshEnabled": False}
    assert objects["IPAMConfig", "default"]["spec"]["strictAffinity"] is True
    peers = [found["spec"] for (kind, _), found in objects.items() if kind == "BGPPeer"]
    assert len(peers) == 2 * len(plan.kubernetes.nodes)
    assert {"node": "gpu-001", "peerIP": "10.72.0.76", "asNumber": 4220000002, "sourceAddress": "None"} in peers
    assert {peer["sourceAddress"] for peer in peers} == {"None"}, "leafs do not know the node's address"
    assert not any("maxRestartTime" in peer for peer in peers), "BIRD takes none without a source address"


def test_calicos_control_servers_tell_of_the_api_server_and_of_no_other_address(plan):
    objects = read(ask(plan, cni="calico"))
    passes = {"action": "Accept", "matchOperator": "Equal", "cidr": "10.72.143.255/32"}
    assert objects["BGPFilter", "control"]["spec"] == {"exportV4": [passes]}
    control = {node.name for node in plan.kubernetes.nodes if node.is_control}
    peers = [found["spec"] for (kind, _), found in objects.items() if kind == "BGPPeer"]
    assert {peer["node"] for peer in peers if peer.get("filters") == ["control"]} == control
    assert not any("filters" in peer for peer in peers if peer["node"] not in control)
