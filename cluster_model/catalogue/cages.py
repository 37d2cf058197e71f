"""The cages of a switch, one by one, as its front panel shows them."""

from __future__ import annotations

from dataclasses import dataclass

from cluster_model.catalogue.ground import FormFactor
from cluster_model.catalogue.types import DeviceType, Mode, Switch


@dataclass(frozen=True, slots=True)
class Cage:
    """A cage of a switch.

    Args:
        number: number on the front panel.
        form_factor: what transceiver it takes.
        lanes: electrical lanes.
        modes: ways to run it, the native one first.
        first_lane: number that SONiC names its first port by; a split port's is higher by the lanes before it.
        splittable: whether it may leave its native mode.
        lane_numbers: its lanes as the lanes column of SONiC's port_config.ini has them.
        for_managers: whether it takes fabric managers and nothing else.
    """

    number: int
    form_factor: FormFactor
    lanes: int
    modes: tuple[Mode, ...]
    first_lane: int
    splittable: bool
    lane_numbers: tuple[int, ...] = ()
    for_managers: bool = False

    @property
    def bandwidth_gbps(self) -> int:
        """Return what the cage carries at most, Gb/s."""
        return max(mode.count * mode.speed_gbps for mode in self.modes)


def parse_mode(text: str) -> Mode:
    """Return the mode written as COUNTxSPEED_GBPS, e.g. `2x400`."""
    count, speed_gbps = text.split("x")
    return Mode(count=int(count), speed_gbps=int(speed_gbps))


def switch_cages(device_type: DeviceType) -> tuple[Cage, ...]:
    """Return the cages of a switch by front-panel number, computed once; empty where `device_type` is no switch."""
    switch = device_type.gpuyard
    if not isinstance(switch, Switch):
        return ()
    if switch._cages is None:
        switch._cages = _expand(switch)
    cages: tuple[Cage, ...] = switch._cages
    return cages


def _expand(switch: Switch) -> tuple[Cage, ...]:
    cages: list[Cage] = []
    lane = 0
    for group in switch.cages:
        modes = tuple(parse_mode(text) for text in group.modes)
        lane = lane if group.first_lane is None else group.first_lane
        hardware = lane if group.hardware_first_lane is None else group.hardware_first_lane
        step = group.hardware_lane_step or group.lanes
        splittable = group.max_split and len(modes) > 1
        for place, number in enumerate(range(group.first, group.first + group.count)):
            # CAT007 tells of a list that is too short or too long.
            first = group.hardware_first_lanes[place] if len(group.hardware_first_lanes) == group.count else hardware
            lanes = tuple(range(first, first + group.lanes))
            cages.append(Cage(number, group.form_factor, group.lanes, modes, lane, splittable, lanes, group.for_managers))
            lane += group.lanes
            hardware += step
    return tuple(sorted(cages, key=lambda cage: cage.number))
