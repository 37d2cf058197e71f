# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about the buffers behind PFC on SONiC. Part of the ROC family."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from cluster_model.catalogue.types import SonicSupport
from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model import Switch


class BufferSizes(Rule):
    """Have buffer sizes for every SONiC switch of a lossless network.

    What it checks:
        The catalogue files of a lossless network's SONiC switches have `sonic.buffers`. Where that lists `cable_lengths_m`, no
        cable of such a switch is longer than the longest.

    Why it matters:
        `pfc_enable` alone reserves no headroom. Without pools there is no lossless priority group, and neither is there one for a
        cable length that the SKU's table lacks: the port sends pauses and drops RDMA packets all the same, and nothing says so.

    How to fix:
        Copy the pools and profiles of the SKU into `sonic.buffers` of the switch's catalogue file, choose another model or `nos`,
        or move racks closer.

    Source:
        sonic-net/sonic-swss, cfgmgr/buffermgr.cpp, doSpeedUpdateTask (no profile without ingress_lossless_pool, nor for a speed
        and cable length that pg_profile_lookup.ini lacks) and cfgmgr/buffer_pool_mellanox.lua (sizes of pools).
    """

    id, title = "ROC013", "lossless SONiC switch without buffers"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        missing: Counter[tuple[str, str]] = Counter()
        limits: dict[str, tuple[str, int]] = {}
        for switch, support in _switches(design):
            if support.buffers is None:
                missing[switch.network, switch.model] += 1
            elif support.buffers.cable_lengths_m:
                limits[switch.name] = switch.model, max(support.buffers.cable_lengths_m)
        for (network, model), count in missing.items():
            yield self.finding(
                f"networks.{network}",
                f"no buffer sizes are known for {model}: {count_things(count, 'switch', 'switches')} of {network} "
                "would have PFC and no headroom",
                "sonic.buffers in the catalogue file of the model",
                "none",
                f"copy the pools and profiles of its SKU into sonic.buffers of {model}, or choose another model or nos",
            )
        long: dict[tuple[str, str, int], list[float]] = defaultdict(list)
        for cable in design.plan.cables if limits else ():
            for model, limit_m in {limits[end] for end in (cable.a, cable.b) if end in limits}:
                if cable.length_m > limit_m:
                    long[cable.network, model, limit_m].append(cable.length_m)
        for (network, model, limit_m), lengths in long.items():
            yield self.finding(
                "racks.geometry",
                f"{count_things(len(lengths), 'cable')} of {network} longer than {model} has headroom for",
                f"<= {limit_m} m (sonic.buffers.cable_lengths_m of {model})",
                f"up to {max(lengths):g} m",
                "move the racks closer, or add a longer row to the image's pg_profile_lookup.ini and its length to the catalogue",
            )


def _switches(design: Design) -> Iterator[tuple[Switch, SonicSupport]]:
    """Yield the SONiC switches of lossless networks, each with what SONiC knows of its model."""
    lossless = {network.name for network in design.lossless}
    for switch in design.plan.switches:
        if switch.nos == "sonic" and switch.network in lossless:
            model = design.catalogue.switch(switch.model)
            if model and model.sonic:
                yield switch, model.sonic
