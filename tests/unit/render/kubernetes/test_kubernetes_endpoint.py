"""How often proxies ask the API servers, by how many nodes there are; and the unit that has an address leafs are told of."""

import re
from dataclasses import replace
from math import ceil
from pathlib import Path

import pytest
import yaml

from cluster_model.render.kubernetes.endpoint import RULE_PRIORITY, UNIT, render_endpoint
from tests.planned import open_example

ROLE = Path(__file__).parents[4] / "roles/kubernetes_control"
NOT_READY_S = 40
"""After which a node whose kubelet is silent is NotReady. Source: kube-controller-manager, --node-monitor-grace-period."""


def render_proxy(planned, **changes):
    plan = open_example("lab").plan
    files = dict(render_endpoint(replace(plan, kubernetes=replace(plan.kubernetes, planned=planned, **changes))))
    return files["kubernetes/endpoint/haproxy.cfg"].decode()


def read_proxy(planned):
    found = re.search(r"timeout check (\d+)s.* inter (\d+)s fastinter (\d+)s", render_proxy(planned), re.DOTALL)
    return tuple(map(int, found.groups()))


@pytest.mark.parametrize(
    ("nodes", "asked", "interval_s"), [(3, 1, 3), (150, 50, 3), (400, 50, 8), (2000, 200, 10), (5000, 500, 10)]
)
def test_a_dead_server_is_out_before_a_node_is_taken_for_dead(nodes, asked, interval_s):
    patience_s, between_s, then_s = read_proxy(nodes)
    assert (ceil(nodes / between_s), between_s) == (asked, interval_s)
    # Of the first check the server dies just after the one before, and neither is answered.
    assert between_s + patience_s + then_s + patience_s < NOT_READY_S / 2


def test_a_node_more_changes_nothing_but_the_interval():
    """All nodes read what changed, so what none of them uses must not."""
    before, changed = render_proxy(3), []
    for planned in range(4, 2001):
        after = render_proxy(planned)
        if after != before:
            assert re.sub(r"inter \d+s", "", after) == re.sub(r"inter \d+s", "", before)
            changed.append(planned)
        before = after
    assert changed == [151, 201, 251, 301, 351, 401, 451]


def test_a_unit_has_the_address_where_leafs_are_told_of_it():
    plan = open_example("lab").plan
    endpoint = plan.kubernetes.endpoint
    assert (endpoint.announced, endpoint.announced_name) == ("10.72.143.255", "kubernetes-storage.lab.example.net")
    text = dict(render_endpoint(plan))[UNIT].decode()
    assert re.findall(r"^Exec\w+=.*", text, re.MULTILINE) == [
        "ExecStartPre=-/usr/sbin/ip -4 rule del priority 32700",
        "ExecStartPre=/usr/sbin/ip -4 rule add priority 32700 to 10.72.143.255/32 type unreachable",
        "ExecStartPre=/usr/sbin/ip -4 address flush dev lo label lo:api",
        "ExecStart=/usr/bin/python3 -IS /usr/local/sbin/gpuyard-kubernetes-endpoint 10.72.143.255 6443",
        "ExecStopPost=/usr/sbin/ip -4 address flush dev lo label lo:api",
    ]
    role = (ROLE / "vars/main.yml").read_text("utf-8")
    assert yaml.safe_load(role)["__kubernetes_control_rule"] == str(RULE_PRIORITY)
    assert 'LABEL = "lo:api"\n' in (ROLE / "files/gpuyard_kubernetes_endpoint.py").read_text("utf-8")
    local = replace(endpoint, mode="local", announced="", announced_name="")
    local_plan = replace(plan, kubernetes=replace(plan.kubernetes, endpoint=local))
    assert dict(render_endpoint(plan)).keys() - dict(render_endpoint(local_plan)).keys() == {UNIT}


@pytest.mark.parametrize("planned", [130, 129], ids=["within-what-is-planned", "beyond-it"])
def test_a_worker_that_joins_changes_nothing(planned):
    nodes = open_example("lab").plan.kubernetes.nodes
    more = replace(next(node for node in nodes if not node.is_control), name="gpu-999")
    assert render_proxy(130, nodes=(*nodes, more)) == render_proxy(planned)
