"""Power of racks and feeds, and the caps that make it fit: the arithmetic of a DGX's six supplies."""

import pytest
from intents import plan_of, small

from cluster_model.plan.floor.power import Load, plan_power
from cluster_model.plan.model import Rack

# 10.2 kW, six supplies of 3.3 kW (DGX H100/H200 user guide); 14.3 kW, six of 3.3 kW (DGX B200 user guide). GPU power from the
# catalogue: H100 200 to 700 W, B200 200 to 1000 W.
H100 = Load(10_200, 0, 6, 3_300, 8, 700, 200)
B200 = Load(14_300, 0, 6, 3_300, 8, 1_000, 200)


def rack(power_w=100_000, feed_w=100_000, feeds=2):
    return Rack("A01", "A", 1, "gpu", 48, power_w, feeds, feed_w, "", 0, 0, False, "", "racks.groups.gpu")


def power_of(loads, *, always_cap=False, **values):
    return plan_power(rack(**values), loads, always_cap=always_cap)


def test_a_dgx_on_two_feeds_throttles_when_one_is_lost():
    found = power_of([H100])
    assert (found.load_w, found.feed_load_w, found.feed_lost_load_w) == (10_200, 5_100, 10_200)
    assert (found.gpu_cap_w, found.fits, found.fits_feed_lost) == (0, True, True)
    # three supplies are left: 9.9 kW, 300 W short over eight GPUs: 700 - 37.5
    assert found.gpu_cap_feed_lost_w == 662


def test_a_dgx_on_three_feeds_carries_its_load_with_one_lost():
    found = power_of([H100], feeds=3)
    assert (found.feed_load_w, found.feed_lost_load_w) == (3_400, 5_100)
    assert (found.gpu_cap_w, found.gpu_cap_feed_lost_w, found.fits_feed_lost) == (0, 0, True)


def test_a_b200_is_short_on_three_feeds_too():
    # two of six supplies lost leave 13.2 kW: 1,100 W short over eight GPUs
    assert power_of([B200], feeds=3).gpu_cap_feed_lost_w == 1_000 - 138
    # three lost leave 9.9 kW: 4,400 W short
    assert power_of([B200], feeds=2).gpu_cap_feed_lost_w == 1_000 - 550


def test_a_single_feed_has_no_other_to_lose():
    found = power_of([H100], feeds=1)
    assert (found.feed_load_w, found.feed_lost_load_w, found.gpu_cap_feed_lost_w, found.fits_feed_lost) == (10_200, 0, 0, True)


def test_a_rack_limit_caps_all_gpus_of_the_rack_alike():
    found = power_of([H100] * 4, power_w=40_000)
    assert found.gpu_cap_w == 700 - 25 and found.fits  # 800 W over 32 GPUs


def test_a_feed_limit_caps_by_the_share_that_the_feed_carries():
    found = power_of([H100] * 4, feed_w=20_000)
    assert found.feed_load_w == 20_400
    assert found.gpu_cap_w == 700 - 25 and found.fits  # 400 W of a feed that carries half of each GPU
    assert found.gpu_cap_feed_lost_w == 0 and not found.fits_feed_lost  # 20.8 kW over 32 GPUs: 50 W each, below what they take


def test_the_feed_left_carries_everything():
    found = power_of([H100] * 4, feed_w=34_000)
    assert found.feed_lost_load_w == 40_800
    assert found.gpu_cap_feed_lost_w == 700 - 213 and found.fits_feed_lost  # 6.8 kW over 32 GPUs


def test_a_cap_below_what_a_gpu_takes_does_not_fit():
    found = power_of([H100], power_w=6_000)
    assert (found.gpu_cap_w, found.fits) == (0, False)
    assert power_of([H100], power_w=6_200).gpu_cap_w == 200


def test_without_gpus_there_is_nothing_to_cap():
    switch = Load(1_500, 0, 2, 3_000)
    assert power_of([switch] * 4, power_w=6_000).fits
    found = power_of([switch] * 4, power_w=5_999)
    assert (found.gpu_cap_w, found.fits) == (0, False)


def test_mixed_gpus_are_capped_at_the_smaller_maximum():
    found = power_of([H100, B200], power_w=24_000)
    assert found.gpu_cap_w == 700 - 32  # 500 W over 16 GPUs, rounded down
    small_gpu = Load(2_000, 0, 4, 700, 4, 350, 300)
    assert power_of([H100, small_gpu], power_w=11_000).fits is False  # 100 W each is more than the small ones can give


def test_always_cap_runs_at_the_lower_cap():
    assert power_of([H100], always_cap=True).gpu_cap_w == 662
    assert power_of([H100], feeds=3, always_cap=True).gpu_cap_w == 0


def test_optics_are_part_of_the_load_and_told_apart():
    assert power_of([Load(1_600, 200, 2, 3_000)]).optics_w == 200


def test_supplies_that_do_not_divide_load_the_first_feed_more():
    found = power_of([Load(3_000, 0, 3, 2_000)])
    assert found.feed_load_w == 2_000


def test_a_device_with_one_supply_is_dark_with_its_feed():
    found = power_of([Load(1_000, 0, 1, 0)])
    assert (found.feed_load_w, found.feed_lost_load_w) == (1_000, 1_000)


@pytest.mark.parametrize(("policy", "always"), [("cap", 0), ("always-cap", 643)])
def test_the_plan_caps_its_servers_by_their_rack(policy, always):
    plan = plan_of(small(gpu={"power": {"on_feed_loss": policy}}, servers__gpu__count=4))
    (power,) = [found for found in plan.power if found.rack == "A01"]
    server = plan.server("gpu-001")
    assert server.gpu_cap_feed_lost_w == power.gpu_cap_feed_lost_w
    assert server.gpu_cap_w == power.gpu_cap_w == (power.gpu_cap_feed_lost_w if always else 0)
    # 10.2 kW and its optics on three supplies of 3.3 kW
    assert power.gpu_cap_feed_lost_w == int(700 - (10_200 + server.optics_w - 9_900) / 8)
    assert power.load_w == pytest.approx(
        sum(d.power_w + d.optics_w for d in [*plan.servers, *plan.switches] if d.rack == "A01"), abs=0.2
    )
