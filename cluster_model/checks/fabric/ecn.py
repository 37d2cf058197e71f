# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about ECN thresholds: marking has to come before pausing. Part of the ROC family."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model import Network

# One congested port of an idle chip may fill alpha / (1 + alpha) of the shared buffer before its peer is paused. 2**-3 is
# dynamic_th -3 of SONiC's pg_profile_lookup.ini for many Broadcom switches; Spectrum's 1 (of half of the buffer) leaves more
# room, and EOS and Cumulus do not say theirs.
ALPHA = 1 / 8
ONE_PORT_SHARE = ALPHA / (1 + ALPHA)


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


def _buffer_kb(design: Design, model: str) -> float:
    """Return a model's shared buffer in kB; 0 where it is not known."""
    switch = design.catalogue.switch(model)
    return switch.asic.buffer_mb * 1048.576 if switch and switch.asic.buffer_mb else 0.0  # sized in binary megabytes
