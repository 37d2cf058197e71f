"""The rendered form is FRR's own: a switch that runs a file has nothing to change when the same file comes again."""

from __future__ import annotations

import pytest

from cluster_model.plan.model import Switch
from tests.unit.render.switch import factory
from tests.unit.render.switch.namespaces import boot, require_frr

pytestmark = pytest.mark.frr
KINDS = [(cluster, switch) for cluster in factory.CLUSTERS for switch in factory.samples(cluster)]


@pytest.mark.parametrize(("cluster", "switch"), KINDS, ids=[f"{cluster}-{switch.name}" for cluster, switch in KINDS])
def test_reload_of_the_same_file_changes_nothing(cluster: str, switch: Switch) -> None:
    require_frr(daemons=True)
    with boot((switch, factory.file(cluster, switch.name, "frr.conf"))) as routers:
        assert "Lines To" not in routers[switch.name].differences()


def test_a_change_is_seen() -> None:
    require_frr(daemons=True)
    switch = factory.plan("lab").switch("storage-leaf-u01-01")
    with boot((switch, factory.file("lab", switch.name, "frr.conf"))) as routers:
        routers[switch.name].run("sed", "-i", "s/timers bgp 3 9/timers bgp 5 15/", "/etc/frr/frr.conf")
        differences = routers[switch.name].differences()
    assert "timers bgp 5 15" in differences
