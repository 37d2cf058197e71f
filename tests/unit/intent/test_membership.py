"""Which servers an expression means, and what is said of one that means none."""

import pytest

from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.references.membership import Fault, expand, expand_built

CLUSTER = Cluster.model_validate(
    {
        "name": "lab",
        "site": {"domain": "lab.example.net"},
        "racks": {
            "rows": {"N": {"id": 1, "racks": 4}},
            "groups": {"network": {"id": 1, "rows": ["N"], "power_kw": 20, "feed_kw": 20, "height_u": 48}},
        },
        "servers": {
            "web-7": {"id": 4, "role": "login", "model": "generic/1u", "count": 2, "racks": "network"},
            "gpu": {"id": 3, "model": "generic/4u-8l40s", "count": 4, "planned": 6, "racks": "network"},
            "control": {"id": 2, "model": "generic/1u", "count": 1200, "racks": "network"},
        },
        "networks": {"oob": {"leaf": "nvidia/sn2201", "pool": "10.124.0.0/16"}},
    }
)


@pytest.mark.parametrize(
    ("expression", "seats"),
    [
        ("gpu", [("gpu", 1), ("gpu", 2), ("gpu", 3), ("gpu", 4)]),  # what is built
        ("gpu-002", [("gpu", 2)]),
        ("gpu-003..gpu-006", [("gpu", 3), ("gpu", 4), ("gpu", 5), ("gpu", 6)]),  # what is planned, too
        ("gpu-004..gpu-004", [("gpu", 4)]),
        ("control-999..control-1001", [("control", 999), ("control", 1000), ("control", 1001)]),
        ("web-7", [("web-7", 1), ("web-7", 2)]),
        ("web-7-002", [("web-7", 2)]),
    ],
)
def test_an_expression_means_servers_in_order(expression, seats):
    assert expand(CLUSTER, expression) == seats


@pytest.mark.parametrize(
    ("expression", "kind", "fix"),
    [
        ("gpus", "unknown", "did you mean gpu?"),
        ("gpu-7", "unknown", "did you mean gpu-007?"),
        ("pgu-002", "unknown", "did you mean gpu-002?"),
        ("gpu-0003", "unknown", "write gpu-003"),
        ("login-001", "unknown", "name a group"),
        ("gpu..gpu-003", "unknown", "write gpu-001..gpu-006, or gpu alone"),
        ("gpu-001..control-002", "two-groups", "one slice for each group"),
        ("gpu-003..gpu-001", "descending", "write gpu-001..gpu-003"),
        ("gpu-007", "beyond", "planned of gpu"),
        ("gpu-001..gpu-007", "beyond", "planned of gpu"),
        ("gpu-000", "beyond", "count from 001"),
    ],
)
def test_an_expression_that_means_none_is_explained(expression, kind, fix):
    found = expand(CLUSTER, expression)
    assert isinstance(found, Fault)
    assert found.kind == kind
    assert fix in found.fix
    assert found.text
    assert found.expected


def test_built_servers_come_once_by_group_id_and_number():
    found = expand_built(CLUSTER, ["web-7-001", "gpu-003..gpu-006", "control-002", "gpu-004", "nobody", "gpu-009"])
    assert found == [("control", 2), ("gpu", 3), ("gpu", 4), ("web-7", 1)]
