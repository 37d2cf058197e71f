"""Uplinks are raised only where their number has no divisor near the spines needed."""

import pytest

from cluster_model.plan.fabric.clos import round_uplinks


@pytest.mark.parametrize(
    ("uplinks", "leafs", "ports", "least", "most", "expected"),
    [
        (32, 8, 64, 1, 32, 32),  # the published rows stand
        (32, 24, 64, 1, 32, 32),
        (32, 24, 128, 1, 96, 32),
        (31, 8, 64, 1, 33, 32),  # 31 has no divisor near 4
        (13, 2, 32, 2, 19, 14),
        (13, 2, 32, 2, 13, 13),  # no port left to raise it with
        (1, 2, 32, 2, 8, 1),  # one uplink goes to one spine
    ],
)
def test_round_uplinks(uplinks, leafs, ports, least, most, expected):
    assert round_uplinks(uplinks, leafs, ports, least, most) == expected
