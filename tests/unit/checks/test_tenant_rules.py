"""What rows cannot show of the rules about tenants: the sweep finds every overlap, and the place that a fix names is free."""

from __future__ import annotations

import re
from ipaddress import IPv4Network
from itertools import combinations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_plan import chain, intent, small_design

from cluster_model.checks import RULES
from cluster_model.checks.tenancy.vrfs import _find_overlaps, _Route

CORE = "tenants.services.subnets.core"


def _find(id_, design):
    return list(RULES[id_]().find(design))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(0, 255), st.integers(24, 32)), max_size=25))
def test_sweep_finds_what_comparing_all_finds(rows):
    subnet = small_design().plan.tenants[0].subnets[0]
    networks = [IPv4Network((0x0A300000 + place, length), strict=False) for place, length in rows]
    routes = [_Route(f"t{number}", subnet, network, "own") for number, network in enumerate(networks)]
    overlapping = [(one, two) for one, two in combinations(routes, 2) if one.network.overlaps(two.network)]
    assert list(_find_overlaps(routes)) == overlapping


@pytest.mark.parametrize(
    ("servers", "first", "pool", "place"),
    [
        (["control", "gpu"], {}, None, 18),  # behind the other group
        (["control", "gpu"], {"gpu": 17}, ("10.48.0.2", "10.48.0.15"), 19),
        (["control", "gpu"], {}, ("10.48.0.18", "10.48.0.254"), 2),  # below the default, and behind the gateway
        (["control", "gpu"], {"gpu": 3}, ("10.48.0.5", "10.48.0.254"), None),  # nothing is left
        (["control"], {"control": 254}, None, 16),
        (["control-002..control-003"], {"control": 255}, None, 16),
        (["control-002..control-003"], {}, ("10.48.0.4", "10.48.0.254"), 1),  # place 1 would be that of server 1
    ],
)
def test_place_that_the_fix_names_is_free(servers, first, pool, place):
    changes = [intent(f"{CORE}.servers", servers), intent(f"{CORE}.first", first)]
    if pool:
        changes.append(intent(f"{CORE}.pool", dict(zip(("first", "last"), pool, strict=True))))
    design = chain(*changes)(small_design())
    found = [*_find("SUB003", design), *_find("SUB004", design)]
    if place is None:
        assert not re.search("first: {", found[-1].fix)
        return
    named = re.search(r"set first: \{(control): (\d+)\}", found[-1].fix)
    assert named and int(named[2]) == place
    mended = intent(f"{CORE}.first", {**first, named[1]: place})(design)
    assert _find("SUB003", mended) + _find("SUB004", mended) == []
