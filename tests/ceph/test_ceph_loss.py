"""A host of a store of real daemons falls silent while clients write: nothing is lost, and all is whole again without it."""

import pytest

from tests.ceph.growth import run_growth
from tests.ceph.yard import require_ceph

pytestmark = pytest.mark.slow
"""Two minutes alone."""
LOST = 6
"""OSD of a host that has a neighbor in its rack, which takes its data."""


@pytest.fixture(scope="module")
def growth(tmp_path_factory):
    """Run the store with data in it."""
    require_ceph()
    with run_growth(tmp_path_factory.mktemp("l", numbered=True)) as growth:
        growth.yard.inside("ceph", "balancer", "off")  # or it may move what nobody lost
        growth.settle()
        growth.before = growth.list_parts()
        yield growth


def test_a_host_that_falls_silent_costs_clients_time_and_no_data(growth):
    with growth.write_meanwhile() as found:
        silent, down, out, whole = growth.lose(LOST)
    assert silent < down <= out < whole
    waited = [ms for due, ms in found["writes"] if due < down]
    assert max(waited) > 1000  # until it is known to be down, whoever writes to it waits
    assert found["lost"] == []
    assert max(due + ms / 1000 for due, ms in found["writes"]) > whole
    parts = growth.list_parts()
    assert not any(osd == LOST for _, osd in parts)
    groups = [group for group in growth.yard.ceph("pg", "ls")["pg_stats"] if not group["pgid"].startswith(growth.own)]
    assert {len(set(group["acting"])) for group in groups} == {3}
    neighbors = [number for number, host in enumerate(growth.yard.wanted["hosts"].values()) if host["rack"] == rack_of(growth)]
    came = {osd for _, osd in parts - growth.before}
    assert came <= set(neighbors) - {LOST}, "what it had is rebuilt in its own rack, since copies are in three"


def rack_of(growth):
    """Return the rack of the host that is lost."""
    return list(growth.yard.wanted["hosts"].values())[LOST]["rack"]
