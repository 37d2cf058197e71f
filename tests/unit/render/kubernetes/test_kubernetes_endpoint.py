"""How often proxies ask the API servers, by how many nodes there are."""

import re
from dataclasses import replace

import pytest

from cluster_model.render.kubernetes.endpoint import render_endpoint
from tests.planned import open_example

NOT_READY_S = 40
"""After which a node whose kubelet is silent is NotReady. Source: kube-controller-manager, --node-monitor-grace-period."""


def read_proxy(planned):
    plan = open_example("lab").plan
    ((_, data),) = render_endpoint(replace(plan, kubernetes=replace(plan.kubernetes, planned=planned)))
    text = data.decode()
    found = re.search(r"timeout check (\d+)s.* ask each server (\d+) times.* inter (\d+)s fastinter (\d+)s", text, re.DOTALL)
    return tuple(map(int, found.groups()))


@pytest.mark.parametrize(
    ("nodes", "asked", "interval_s"), [(3, 1, 3), (150, 50, 3), (400, 50, 8), (2000, 200, 10), (5000, 500, 10)]
)
def test_a_dead_server_is_out_before_a_node_is_taken_for_dead(nodes, asked, interval_s):
    patience_s, checks_per_s, between_s, then_s = read_proxy(nodes)
    assert (checks_per_s, between_s) == (asked, interval_s)
    # Of the first check the server dies just after the one before, and neither is answered.
    assert between_s + patience_s + then_s + patience_s < NOT_READY_S / 2
