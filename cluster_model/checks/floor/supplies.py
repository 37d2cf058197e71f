# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about power supplies and PDUs: part of the PWR family."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from math import ceil, floor

from cluster_model.catalogue.types import Server as ServerBlock
from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, format_kw, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model import Server


def _left(count: int, feeds: int) -> int:
    """Return the supplies left when the feed with most of them is lost; supplies are dealt over the feeds in turn.

    >>> _left(6, 2), _left(6, 3), _left(5, 2)
    (3, 4, 2)
    """
    return count - ceil(count / feeds)


def _classes(design: Design) -> Iterator[tuple[Server, ServerBlock, int, int]]:
    """Yield one server per group and number of feeds, with its block, the feeds, and how many servers are like it."""
    counts: dict[tuple[str, int], list[Server]] = defaultdict(list)
    for server in design.plan.servers:
        if (rack := design.racks.get(server.rack)) and rack.feeds > 1:
            counts[server.group, rack.feeds].append(server)
    for (_, feeds), servers in counts.items():
        worst = max(servers, key=lambda server: server.optics_w)
        block = design.catalogue.server(worst.model)
        if block:
            yield worst, block, feeds, len(servers)


class SuppliesShort(Rule):
    """Let the supplies that a lost feed leaves carry the server, or know the cap with which they do.

    What it checks:
        For each server group, the capacity of the power supplies left with one feed lost (dealt over the feeds in turn)
        against the server's maximum draw. Silent where the planned GPU cap already covers it.

    Why it matters:
        The server throttles hard by itself, or drops off. A DGX H100 keeps 3 of 6 supplies on two feeds: 9.9 kW for 10.2. A
        DGX B200 draws 14.3 kW and keeps 13.2 even on three.

    How to fix:
        Set the GPU cap that the finding names when a feed is lost, accept the throttling, or add a feed.

    Source:
        DGX H100 and DGX B200 user guides: 6 supplies of 3.3 kW; power limits of the GPU model in the catalogue.
    """

    id, severity, title = "PWR006", "warning", "power supplies short with a feed lost"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for server, block, feeds, count in _classes(design):
            power = block.power
            left = _left(power.psu_count, feeds)
            need_w = server.power_w + server.optics_w
            if power.psu_w is None or left * power.psu_w >= need_w:
                continue
            short_w = need_w - left * power.psu_w
            gpu = design.catalogue.gpus.get(server.gpu_model) if server.gpus else None
            cap_w = floor(gpu.power_max_w - short_w / server.gpus) if gpu else 0
            enough = gpu is not None and cap_w >= gpu.power_min_w
            planned_w = server.gpu_cap_feed_lost_w or server.gpu_cap_w
            if enough and 0 < planned_w <= cap_w:
                continue
            yield self.finding(
                f"servers.{server.group}.model",
                f"with a feed lost {count_things(count, 'server')} of {server.group} keep {left} of {power.psu_count} supplies, "
                f"{format_kw(short_w)} short of full load",
                f">= {format_kw(need_w)} (maximum with optics)",
                f"{format_kw(left * power.psu_w)} on {feeds - 1} of {feeds} feeds",
                f"with a feed lost, cap GPUs at {cap_w} W"
                if enough
                else "add a feed, or accept that these servers throttle or stop",
            )


class SuppliesBelowMinimum(Rule):
    """Keep the supplies that a server needs to run when a feed is lost.

    What it checks:
        For each server group, the power supplies left with one feed lost against the number without which the model stops.

    Why it matters:
        The server switches off with the feed, although it has supplies on the other.

    How to fix:
        Add a feed where that leaves more supplies, or accept that the servers are lost with a feed.

    Source:
        DGX H100 user guide: at least 3 of 6 supplies; `power.psu_minimum` in the catalogue file of the model.
    """

    id, severity, title = "PWR007", "warning", "server stops with a feed lost"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for server, block, feeds, count in _classes(design):
            power, left = block.power, _left(block.power.psu_count, feeds)
            if power.psu_minimum and left < power.psu_minimum:
                better = next((n for n in (2, 3) if n > feeds and _left(power.psu_count, n) >= power.psu_minimum), None)
                yield self.finding(
                    f"servers.{server.group}.model",
                    f"{count_things(count, 'server')} of {server.group} stop when a feed is lost",
                    f">= {power.psu_minimum} power supplies left ({server.model})",
                    f"{left} of {power.psu_count} on {feeds - 1} of {feeds} feeds",
                    f"give their racks {better} feeds" if better else "accept it, or choose another model",
                )


class PduTooSmall(Rule):
    """Plan no more on a feed than its PDU carries.

    What it checks:
        `feed_kw` of each rack with PDUs against the PDU model's capacity.

    Why it matters:
        Every other power rule trusts `feed_kw`. With a smaller PDU its breakers trip although the plan adds up.

    How to fix:
        Lower `feed_kw` to the PDU's capacity, or choose a larger PDU.

    Source:
        `capacity_w` in the catalogue file of the PDU, after derating.
    """

    id, title = "PWR008", "feed above what its PDU carries"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        small: dict[tuple[str, str, float], list[str]] = defaultdict(list)  # by intent path, model, watts
        for rack in design.plan.racks:
            pdu = design.catalogue.pdu(rack.pdu) if rack.pdu else None
            if pdu and rack.feed_w > pdu.capacity_w:
                small[design.rack_path(rack, "feed_kw"), rack.pdu, rack.feed_w].append(rack.name)
        for (where, model, feed_w), names in small.items():
            pdu = design.catalogue.pdu(model)
            if pdu:
                yield self.finding(
                    where,
                    f"feeds of {format_kw(feed_w)} on a PDU of {format_kw(pdu.capacity_w)}",
                    f"<= {format_kw(pdu.capacity_w)} ({model})",
                    f"{format_kw(feed_w)} in {list_names(names)}",
                    f"set feed_kw to {pdu.capacity_w / 1000:g}, or choose a larger pdu",
                )
