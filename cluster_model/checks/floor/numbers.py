# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about numbers of the floor that do not fit together. Parts of the PWR, PLC and CAB families."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model import Rack

MOST_SLACK_M = 5.0


def _by_path(design: Design, key: str) -> dict[str, list[Rack]]:
    """Return racks by the intent path that gives their limit."""
    found: dict[str, list[Rack]] = {}
    for rack in design.plan.racks:
        found.setdefault(design.rack_path(rack, key), []).append(rack)
    return found


class LimitBeyondFeeds(Rule):
    """Promise a rack no more power than its feeds bring.

    What it checks:
        `power_kw` of rack groups and exceptions is at most `feeds` times `feed_kw`.

    Why it matters:
        The rack is filled by a limit that the breakers know nothing of; even with all feeds up they open first.

    How to fix:
        Lower `power_kw` to what the feeds carry together, or correct `feed_kw`.

    Source:
        `feed_kw` is what one feed carries after derating; all of them together are its multiple.
    """

    id, severity, title = "PWR009", "warning", "rack limit above what its feeds carry"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for where, racks in _by_path(design, "power_kw").items():
            rack = racks[0]
            together = rack.feeds * rack.feed_w
            if rack.power_w > together * 1.001:
                yield self.finding(
                    where,
                    f"{count_things(len(racks), 'rack')} may draw {rack.power_w / 1000:g} kW, and "
                    f"{count_things(rack.feeds, 'feed')} bring {together / 1000:g} kW",
                    f"<= {together / 1000:g} kW ({rack.feeds} x {rack.feed_w / 1000:g} kW)",
                    f"{rack.power_w / 1000:g} kW ({list_names(r.name for r in racks)})",
                    f"set power_kw to {together / 1000:g} or lower, or correct feed_kw",
                )


class FeedBeyondLimit(Rule):
    """Give a feed a capacity that fits its rack.

    What it checks:
        `feed_kw` is at most three times `power_kw`.

    Why it matters:
        One feed that carries three racks' power is mostly the busbar's or the row's number, or watts where kilowatts are meant.
        What is checked for a lost feed then always passes.

    How to fix:
        Write what the breaker of one feed of this rack carries, after derating.

    Source:
        IEC 60364-4-43: a breaker protects the line behind it; the factor is of this toolkit.
    """

    id, severity, title = "PWR010", "warning", "feed that carries several times its rack"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for where, racks in _by_path(design, "feed_kw").items():
            rack = racks[0]
            if rack.feed_w > 3 * rack.power_w:
                yield self.finding(
                    where,
                    f"one feed of {rack.name} carries {rack.feed_w / rack.power_w:.0f} times what the rack may draw",
                    f"<= {3 * rack.power_w / 1000:g} kW (3 x power_kw)",
                    f"{rack.feed_w / 1000:g} kW",
                    "write what the breaker of one feed of this rack carries, after derating",
                )


class EmptyException(Rule):
    """Say what is different about a rack that is an exception.

    What it checks:
        Each of `racks.exceptions` blocks the rack, or gives a limit that its group does not have.

    Why it matters:
        Somebody knew of a pillar or a weak breaker and wrote the reason; servers are placed there all the same.

    How to fix:
        Add `blocked: true` or the rack's own limit, or take the exception away.

    Source:
        `racks.exceptions` in docs/intent.md: what is not said is as in the group.
    """

    id, severity, title = "PLC005", "warning", "exception that changes nothing"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        racks = design.cluster.racks
        for name, exception in racks.exceptions.items():
            rack = design.racks.get(name)
            group = racks.groups.get(rack.group) if rack is not None else None
            keys = ("power_kw", "feed_kw", "height_u")
            own = {key: getattr(exception, key) for key in keys if getattr(exception, key) is not None}
            if group is not None and not exception.blocked and all(getattr(group, key) == value for key, value in own.items()):
                yield self.finding(
                    f"racks.exceptions.{name}",
                    f"rack {name} is listed as an exception ({exception.reason}), but does not differ from its group",
                    "blocked: true, or a limit of its own",
                    "none",
                    "add blocked: true, power_kw, feed_kw or height_u, or take the exception away",
                )


class SlackUnlikely(Rule):
    """Order cables with some slack, and not with coils of it.

    What it checks:
        `racks.geometry.slack_m` is from 0.2 to 5 m.

    Why it matters:
        Without slack a cable that was measured right does not reach round the last corner, and breaks at its connector. Coils of
        it fill the trays, and lengthen every passive copper cable beyond its reach.

    How to fix:
        Leave `slack_m` out for 1 m.

    Source:
        Common practice: a service loop at both ends of a cable; the limits are of this toolkit.
    """

    id, severity, title = "CAB006", "warning", "cables without slack, or with coils of it"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        slack = design.cluster.racks.geometry.slack_m
        if not 0.2 <= slack <= MOST_SLACK_M:
            yield self.finding(
                "racks.geometry.slack_m",
                f"every cable is ordered with {slack:g} m of slack",
                f"0.2 to {MOST_SLACK_M:g} m",
                f"{slack:g} m",
                "leave slack_m out for 1 m",
            )


class PerRackBeyondHeight(Rule):
    """Plan no more servers into a rack than it has room for.

    What it checks:
        `per_rack` servers of a group are not higher together than the racks of their group.

    Why it matters:
        The number cannot be kept: racks are filled to their top, and the plan is not what was meant. Mostly a digit is wrong.

    How to fix:
        Lower `per_rack` to what fits.

    Source:
        Heights of the catalogue and `height_u` of the rack group.
    """

    id, severity, title = "PLC006", "warning", "more servers per rack than fit"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for name, group in design.cluster.servers.items():
            servers = design.group(name)
            height = design.cluster.racks.groups[group.racks].height_u if group.racks in design.cluster.racks.groups else 0
            if group.per_rack and servers and height and group.per_rack * servers[0].height_u > height:
                fits = height // servers[0].height_u
                verb = "does" if group.per_rack == 1 else "do"
                yield self.finding(
                    f"servers.{name}.per_rack",
                    f"{count_things(group.per_rack, 'server')} of {servers[0].height_u} U {verb} not fit into {height} U",
                    f"<= {count_things(fits, 'server')} per rack",
                    str(group.per_rack),
                    f"set per_rack to {fits} or lower",
                )
