"""How often proxies ask the API servers, by how many nodes there are."""

import re
from dataclasses import replace
from math import ceil

import pytest

from cluster_model.render.kubernetes.endpoint import render_endpoint
from tests.planned import open_example

NOT_READY_S = 40
"""After which a node whose kubelet is silent is NotReady. Source: kube-controller-manager, --node-monitor-grace-period."""


def render_proxy(planned, **changes):
    plan = open_example("lab").plan
    ((_, data),) = render_endpoint(replace(plan, kubernetes=replace(plan.kubernetes, planned=planned, **changes)))
    return data.decode()


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


@pytest.mark.parametrize("planned", [130, 129], ids=["within-what-is-planned", "beyond-it"])
def test_a_worker_that_joins_changes_nothing(planned):
    nodes = open_example("lab").plan.kubernetes.nodes
    more = replace(next(node for node in nodes if not node.is_control), name="gpu-999")
    assert render_proxy(130, nodes=(*nodes, more)) == render_proxy(planned)
