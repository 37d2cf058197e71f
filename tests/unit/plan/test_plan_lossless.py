"""ECN thresholds: one derivation by port speed, which an entry for a speed overrides."""

from __future__ import annotations

import pytest
from intents import plan_of, small

from cluster_model.intent.model.policy import Lossless
from cluster_model.plan.fabric.lossless import mark


@pytest.mark.parametrize(
    ("speed_gbps", "thresholds"),
    [
        (10, (15, 150, 100)),
        (25, (38, 375, 100)),  # 37.5 kB, rounded up
        (50, (75, 750, 100)),
        (100, (150, 1500, 100)),  # what NVIDIA's `qos roce` sets
        (200, (300, 3000, 100)),
        (400, (600, 6000, 100)),
        (800, (1200, 12_000, 100)),
        (1600, (2400, 24_000, 100)),
    ],
)
def test_thresholds_grow_with_the_speed(speed_gbps: int, thresholds: tuple[int, int, int]) -> None:
    assert mark(Lossless(), speed_gbps) == thresholds


def test_one_key_moves_every_speed() -> None:
    profile = Lossless.model_validate({"marking": {"min_us": 5.12, "max_us": 10.24, "probability_percent": 20}})
    assert [mark(profile, speed) for speed in (100, 400)] == [(64, 128, 20), (256, 512, 20)]


def test_an_entry_stands_for_its_speed_alone() -> None:
    profile = Lossless.model_validate({"ecn": {400: {"min_kb": 256, "max_kb": 512, "probability_percent": 50}}})
    assert [mark(profile, speed) for speed in (400, 800)] == [(256, 512, 50), (1200, 12_000, 100)]


def test_the_plan_has_the_speeds_that_lossless_ports_run_at() -> None:
    plan = plan_of(small())
    lossless = {network.name for network in plan.networks if network.lossless}
    used = {port.speed_gbps for switch in plan.switches if switch.network in lossless for port in switch.ports}
    assert used
    assert [row[0] for row in plan.lossless.ecn] == sorted(used)
