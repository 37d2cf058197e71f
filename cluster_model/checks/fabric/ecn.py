# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about ECN thresholds: marking comes after a burst, and before a pause. Part of the ROC family."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model import Network

# One congested port of an idle chip may fill alpha / (1 + alpha) of the shared buffer before its peer is paused. 2**-3 is
# dynamic_th -3 of SONiC's pg_profile_lookup.ini for many Broadcom switches; Spectrum's 1 (of half of the buffer) leaves more
# room, and EOS and Cumulus do not say theirs.
ALPHA = 1 / 8
ONE_PORT_SHARE = ALPHA / (1 + ALPHA)
BURST_FRAMES = 10
BURST_US = 6
"""A queue that two senders build by chance: frames, or what a slow port drains in that time; half of the default of `marking`."""


Thresholds = tuple[int, int, int, int]


def _ports(design: Design) -> Iterator[tuple[Network, str, Thresholds, str]]:
    """Yield (network, model, (speed, min kB, max kB, %), intent path) for each switch model and port speed that is lossless."""
    rows = {row[0]: row for row in design.plan.lossless.ecn}
    for network in design.lossless:
        used = {(s.model, port.speed_gbps) for s in design.switches_of.get(network.name, []) for port in s.ports}
        for model, speed_gbps in sorted(used, key=lambda pair: (pair[1], pair[0])):
            if speed_gbps in rows:
                yield network, model, rows[speed_gbps], _locate(design, network, speed_gbps)


def _locate(design: Design, network: Network, speed_gbps: int) -> str:
    """Return where the thresholds of a speed were said, or else the network, which is where its speeds were."""
    profile = design.cluster.lossless
    if speed_gbps in profile.ecn:
        return f"lossless.ecn.{speed_gbps}"
    return "lossless.marking" if "marking" in profile.model_fields_set else f"networks.{network.name}"


class EcnOrder(Rule):
    """Begin marking before it is at its strongest.

    What it checks:
        `min_kb` is below `max_kb` for every port speed in use.

    Why it matters:
        Switches refuse the profile, or mark nothing up to the maximum and everything above it, and senders swing between full
        speed and a crawl.

    How to fix:
        Lower `min_kb` or raise `max_kb`, or delete the entry to follow `lossless.marking`.

    Source:
        WRED: marking rises from 0 at the minimum to the given probability at the maximum.
    """

    id, title = "ROC009", "ECN minimum not below its maximum"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        seen: set[tuple[str, Thresholds]] = set()
        for network, _, row, where in _ports(design):
            speed_gbps, min_kb, max_kb, _ = row
            if min_kb >= max_kb and (where, row) not in seen:
                seen.add((where, row))
                by_time = where == "lossless.marking"
                yield self.finding(
                    where,
                    f"ECN of {network.name} at {speed_gbps} Gb/s begins at {min_kb} kB and ends at {max_kb} kB",
                    f"min_kb < {max_kb}",
                    f"{min_kb} kB",
                    "set min_us below max_us"
                    if by_time
                    else f"set min_kb below {max_kb}, or delete the entry to follow lossless.marking",
                )


class EcnAbovePfc(Rule):
    """Let marking reach its strongest before the first pause.

    What it checks:
        `max_kb` against what one congested port of an otherwise idle switch may fill before it pauses its peer: one ninth of
        the shared buffer.

    Why it matters:
        With the threshold above that, pauses always come first. ECN never gets to slow the senders that cause the queue, and
        innocent flows are held up behind them.

    How to fix:
        Lower `max_kb` to the number shown, or delete the entry to follow `lossless.marking`.

    Source:
        Dynamic thresholds: one queue gets alpha / (1 + alpha) of the buffer (Choudhury and Hahne, 1998). Alpha is taken as
        1/8, as SONiC has it for many Broadcom switches (dynamic_th -3); Spectrum has 1, which leaves more room.
        `asic.buffer_mb` of the model; not checked where that is not known.
    """

    id, title = "ROC011", "ECN marks later than PFC pauses"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network, model, (speed_gbps, _, max_kb, _), where in _ports(design):
            buffer_kb = _buffer_kb(design, model)
            limit_kb = ceil(buffer_kb * ONE_PORT_SHARE)
            if buffer_kb and max_kb > limit_kb:
                yield self.finding(
                    where,
                    f"ECN of {network.name} at {speed_gbps} Gb/s ends at {max_kb} kB, where {model} already pauses",
                    f"max_kb <= {limit_kb} (one ninth of {buffer_kb / 1048.576:g} MB)",
                    f"{max_kb} kB",
                    f"set lossless.ecn.{speed_gbps}.max_kb to {limit_kb} or lower",
                )


class EcnLate(Rule):
    """Begin marking before a port has used its share of the buffer.

    What it checks:
        `min_kb` against the part of the shared buffer that falls to a port of that speed when all ports are busy.

    Why it matters:
        When many ports congest at once, as in an all-to-all, the buffer is full before anybody was told to slow down, and the
        switch pauses all its neighbours.

    How to fix:
        Lower `min_kb` to the number shown.

    Source:
        Derived: `asic.buffer_mb` times port speed over `asic.bandwidth_gbps`; not checked where the buffer is not known.
    """

    id, severity, title = "ROC012", "warning", "ECN begins above a port's share of the buffer"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network, model, (speed_gbps, min_kb, _, _), where in _ports(design):
            switch, buffer_kb = design.catalogue.switch(model), _buffer_kb(design, model)
            share_kb = ceil(buffer_kb * speed_gbps / switch.asic.bandwidth_gbps) if switch else 0
            if buffer_kb and min_kb > share_kb:
                yield self.finding(
                    where,
                    f"ECN of {network.name} at {speed_gbps} Gb/s begins at {min_kb} kB, above a port's share of {model}",
                    f"min_kb <= {share_kb} ({buffer_kb / 1048.576:g} MB by bandwidth)",
                    f"{min_kb} kB",
                    f"set lossless.ecn.{speed_gbps}.min_kb to {share_kb} or lower",
                )


class MarkingAtOnce(Rule):
    """Let a queue build before it is marked.

    What it checks:
        Marking begins at ten frames of the network's MTU or later, on slow ports at what they drain in 6 microseconds. For each
        port speed in use, whether it follows `lossless.marking` or has thresholds of its own under `lossless.ecn`.

    Why it matters:
        Every burst of two senders is marked, and both halve their rate: the fabric is idle while jobs wait.

    How to fix:
        Raise `min_kb` or `min_us` to the number shown, or take it away for the default, which is 12 microseconds.

    Source:
        DCQCN (Zhu et al., SIGCOMM 2015): marking begins above the bursts of a NIC; ten frames, and half of the default, are
        limits of this toolkit.
    """

    id, severity, title = "ROC023", "warning", "ECN that marks every burst"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        worst: dict[str, tuple[float, int, int, int]] = {}  # intent path → kept part of the limit, speed, threshold, limit
        for network, _, (speed_gbps, min_kb, _, _), where in _ports(design):
            least_kb = ceil(min(BURST_FRAMES * network.mtu_bytes / 1000, BURST_US * speed_gbps / 8))
            if min_kb < least_kb:
                worst[where] = min(worst.get(where, (1.0, 0, 0, 0)), (min_kb / least_kb, speed_gbps, min_kb, least_kb))
        for where, (_, speed_gbps, min_kb, least_kb) in worst.items():
            by_time = where == "lossless.marking"
            least_us = ceil(80 * least_kb / speed_gbps) / 10
            yield self.finding(
                f"{where}.min_us" if by_time else f"{where}.min_kb",
                f"marking of a port of {speed_gbps} Gb/s begins at {min_kb} kB, less than a burst of two senders",
                f">= {least_us:g} us, {least_kb} kB" if by_time else f">= {least_kb} kB",
                f"{design.cluster.lossless.marking.min_us:g} us" if by_time else f"{min_kb} kB",
                f"set min_us to {least_us:g} or higher, or leave it out for 12"
                if by_time
                else f"set min_kb to {least_kb} or higher, or take the entry for {speed_gbps} away",
            )


class ThresholdsForNoPort(Rule):
    """Give ECN thresholds for speeds that ports have.

    What it checks:
        Speeds under `lossless.ecn` are those of ports of a lossless network's switches.

    Why it matters:
        The thresholds do nothing, and the ports that they were meant for keep their default.

    How to fix:
        Correct the speed, or take the entry away.

    Source:
        Port speeds of the plan.
    """

    id, severity, title = "ROC022", "warning", "ECN thresholds for a speed that no port has"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        asked = design.cluster.lossless.ecn
        names = {network.name for network in design.lossless} if asked else set()
        speeds = {port.speed_gbps for name in names for switch in design.switches_of.get(name, []) for port in switch.ports}
        for speed in asked if speeds else ():
            if speed not in speeds:
                yield self.finding(
                    f"lossless.ecn.{speed}@key",
                    f"no port of a lossless network runs at {speed} Gb/s",
                    f"one of {list_names(str(each) for each in sorted(speeds))}",
                    str(speed),
                    "correct the speed, or take the entry away",
                )


def _buffer_kb(design: Design, model: str) -> float:
    """Return a model's shared buffer in kB; 0 where it is not known."""
    switch = design.catalogue.switch(model)
    return switch.asic.buffer_mb * 1048.576 if switch and switch.asic.buffer_mb else 0.0  # sized in binary megabytes
