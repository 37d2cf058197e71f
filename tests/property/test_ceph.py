"""What holds of Ceph on any racks: every copy has a place, none holds two, and a loss never leaves more room than there was."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cluster_model.plan.model.ceph import OsdHost, PlacedPool
from cluster_model.plan.services.waterline import Terms, find_fullest, list_losses, spread
from cluster_model.render.ceph.crush import list_buckets, write_crush
from tests.planned import open_example

WEIGHTS = st.lists(st.floats(0.5, 5000), min_size=1, max_size=40)
SIZES = st.integers(1, 12)
RACKS = st.lists(st.integers(1, 6), min_size=1, max_size=10)
POOLS = st.lists(
    st.sampled_from([PlacedPool("a", 3, 0, 0, 1.0, 512), PlacedPool("b", 6, 4, 2, 1.0, 64), PlacedPool("c", 2, 0, 0, 0.2, 32)]),
    min_size=1,
    max_size=3,
    unique_by=lambda pool: pool.name,
)


def build(racks, domain):
    hosts = [(f"r{rack}", f"h{rack}-{n}") for rack, count in enumerate(racks) for n in range(count)]
    return [OsdHost(name, rack if domain == "rack" else name, rack, "A", 12, 15.36, 200) for rack, name in hosts]


@given(WEIGHTS, SIZES)
def test_every_copy_has_a_place_and_no_domain_two(weights, size):
    named = {f"d{n}": weight for n, weight in enumerate(weights)}
    parts = spread(named, size)
    assert parts.keys() == named.keys()
    assert all(0 < part <= 1 / size * (1 + 1e-6) for part in parts.values())
    placed = min(1.0, len(named) / size)
    assert abs(sum(parts.values()) - placed) < 1e-6 * placed
    for heavy, light in zip(sorted(named, key=named.__getitem__)[1:], sorted(named, key=named.__getitem__), strict=False):
        assert parts[heavy] >= parts[light] * (1 - 1e-6)


@given(RACKS, POOLS, st.sampled_from(["host", "rack"]))
def test_a_loss_leaves_no_more_room(racks, pools, domain):
    hosts = build(racks, domain)
    held, fullest = find_fullest(hosts, pools, 1.1)
    assert held > 1 - 1e-9 or len({host.domain for host in hosts}) < max(pool.size for pool in pools)
    assert fullest >= held * 1.1 * (1 - 1e-9)
    for loss in list_losses(hosts, pools, Terms(1.1, 100, False, 0.5)):
        assert loss.fullest > 0
        assert 0 < loss.most_fill <= loss.stops_at <= 1
        assert bool(loss.hours) == bool(loss.limit) == bool(loss.begins) == bool(loss.rebuilt)
        assert not set(loss.gone) & {*loss.rebuilt, *loss.stopped}


def test_growth_changes_no_bucket_that_stood():
    ceph = open_example("superpod-roce").plan.ceph
    stood = {bucket.name: bucket.id for bucket in list_buckets(ceph)}
    fewer = type(ceph)(ceph.hosts[:9], ceph.failure_domain, ceph.pools)
    before = {bucket.name: bucket.id for bucket in list_buckets(fewer)}
    assert before.items() <= stood.items()
    assert len(set(stood.values())) == len(stood)
    devices = [line for line in write_crush("x", fewer).splitlines() if line.startswith("device ")]
    assert devices == [line for line in write_crush("x", ceph).splitlines() if line.startswith("device ")][: 9 * 24]
