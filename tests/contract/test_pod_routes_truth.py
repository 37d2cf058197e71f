"""Pods without tunnels: what nodes are told of their leafs and what leafs say of nodes are the same sessions, end by end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from ipaddress import ip_interface
from typing import Any

import pytest
import yaml

from cluster_model.plan.model import Plan
from cluster_model.render.inventory.document import render_inventory
from cluster_model.render.kubernetes.network.bgp import render_bgp
from tests.dialects.agreement import list_hosts
from tests.dialects.blocks import parse_blocks, parse_stanzas
from tests.unit.render.switch import factory


@dataclass(frozen=True, order=True)
class Session:
    """A leaf and a node, each with its address on their link and its AS number."""

    leaf: str
    leaf_address: str
    leaf_asn: int
    node: str
    node_address: str
    node_asn: int


@pytest.fixture(scope="module")
def plan() -> Plan:
    return factory.plan("lab")


def list_as_leafs_say(plan: Plan) -> Iterator[Session]:
    """Yield the sessions with nodes that FRR's configurations have, each with the leaf's address on the same /31."""
    files = factory.settled(plan)
    for path, text in files.items():
        if not path.endswith("/frr.conf") or "peer-group NODES" not in text:
            continue
        name = path.split("/")[-2]
        stanzas = parse_stanzas(files[f"switches/{name}/interfaces"])
        links = {ip_interface(address).network: address for body in stanzas.values() for address in body.get("address", ())}
        ((router, bgp),) = parse_blocks(text).find(r"router bgp (\d+)$")
        asn = int(bgp.one(r"neighbor NODES remote-as (\d+)"))
        for address in bgp.values(r"neighbor (\S+) peer-group NODES"):
            node = bgp.one(rf"neighbor {re.escape(address)} description ([^:]+):\S+")
            own = str(ip_interface(links[ip_interface(f"{address}/31").network]).ip)
            yield Session(name, own, int(router[1]), node, address, asn)


def list_as_nodes_are_told(plan: Plan) -> Iterator[Session]:
    """Yield the sessions of kubernetes/network/bgp.yaml, each with the address that the host has on the way to that leaf."""
    inventory: dict[str, Any] = yaml.safe_load(render_inventory(plan, factory.catalogue(), {}))
    ports = {host: told["gpuyard_interfaces"] for host, told in list_hosts(inventory)}
    ((_, data),) = render_bgp(plan)
    objects = list(yaml.safe_load_all(data))
    speaks = {found["spec"]["asNumber"] for found in objects if found["kind"] == "BGPConfiguration"}
    for found in objects:
        spec = found["spec"]
        if found["kind"] == "CiliumBGPClusterConfig":
            node, (own,) = (
                spec["nodeSelector"]["matchLabels"]["kubernetes.io/hostname"],
                {i["localASN"] for i in spec["bgpInstances"]},
            )
            told = [(peer["peerAddress"], peer["peerASN"]) for instance in spec["bgpInstances"] for peer in instance["peers"]]
        elif found["kind"] == "BGPPeer":
            node, (own,), told = spec["node"], speaks, [(spec["peerIP"], spec["asNumber"])]
        else:
            continue
        for address, asn in told:
            (port,) = [port for port in ports[node] if port["gateway"] == address]
            yield Session(port["peer"], address, asn, node, str(ip_interface(port["address"]).ip), own)


@pytest.mark.parametrize("cni", ["cilium", "calico"])
def test_nodes_and_leafs_have_the_same_sessions(plan: Plan, cni: str) -> None:
    asked = replace(plan, kubernetes=replace(plan.kubernetes, cni=cni))
    told, known = sorted(list_as_nodes_are_told(asked)), sorted(list_as_leafs_say(asked))
    assert told == known
    assert {session.node for session in known} == {node.name for node in plan.kubernetes.nodes}
    assert len({(session.node, session.leaf) for session in known}) == len(known) > 0


def test_a_leaf_takes_parts_as_long_as_a_nodes(plan: Plan) -> None:
    """Kubernetes hands parts out by kubeadm's word, Calico's blocks are as long by its pool's; leafs take these and no others."""
    kubernetes = plan.kubernetes
    taken = {
        line
        for path, text in factory.settled(plan).items()
        if path.endswith("/frr.conf")
        for line in text.splitlines()
        if line.startswith("ip prefix-list PODS")
    }
    length = kubernetes.node_prefix
    assert taken == {f"ip prefix-list PODS seq 10 permit {kubernetes.pod_pool} ge {length} le {length}"}
