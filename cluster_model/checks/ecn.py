# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about ECN thresholds: marking has to come before pausing. Part of the ROC family."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from cluster_model.checks.design import Design, models_of
from cluster_model.checks.registry import Rule
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model import Network

# One congested port of an idle chip may fill alpha / (1 + alpha) of the shared buffer before its peer is paused; SONiC's lossless
# profiles have alpha = 2**-3 (dynamic_th -3, sonic-buildimage buffers_defaults).
ALPHA = 1 / 8
ONE_PORT_SHARE = ALPHA / (1 + ALPHA)


Thresholds = tuple[int, int, int, int]


def _thresholds(design: Design) -> Iterator[tuple[Network, Thresholds, str]]:
    """Yield each lossless network with (speed, min kB, max kB, %) of each port speed it uses, and where they were said."""
    for network in design.lossless:
        for row in design.plan.lossless.ecn.get(network.nos, ()):
            if row[0] in {network.host_speed_gbps, network.fabric_speed_gbps}:
                said = row[0] in design.cluster.lossless.ecn
                yield network, row, f"lossless.ecn.{row[0]}" if said else f"networks.{network.name}"


class EcnOrder(Rule):
    """Begin marking before it is at its strongest.

    What it checks:
        `min_kb` is below `max_kb` for every port speed in use.

    Why it matters:
        Switches refuse the profile, or mark nothing up to the maximum and everything above it, and senders swing between full
        speed and a crawl.

    How to fix:
        Lower `min_kb` or raise `max_kb`, or delete the entry to take the platform's values.

    Source:
        WRED: marking rises from 0 at the minimum to the given probability at the maximum.
    """

    id, title = "ROC009", "ECN minimum not below its maximum"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        seen: set[tuple[str, Thresholds]] = set()
        for network, row, where in _thresholds(design):
            speed_gbps, min_kb, max_kb, _ = row
            if min_kb >= max_kb and (where, row) not in seen:
                seen.add((where, row))
                yield self.finding(
                    where,
                    f"ECN at {speed_gbps} Gb/s ({network.nos}) begins at {min_kb} kB and ends at {max_kb} kB",
                    f"min_kb < {max_kb}",
                    f"{min_kb} kB",
                    f"set min_kb below {max_kb}, or delete the entry to take the platform's values",
                )


class EcnMissing(Rule):
    """Have ECN thresholds for every port speed of a lossless network.

    What it checks:
        For each lossless network, the NOS or the intent gives thresholds for the host speed and the fabric speed.

    Why it matters:
        Without marking, senders are slowed by pauses alone: congestion at one receiver spreads over the fabric.

    How to fix:
        Add an entry for that speed under `lossless.ecn`.

    Source:
        DCQCN takes its rate from marked packets; `ecn_kb` of templates/switch/NOS/platform.yml.
    """

    id, title = "ROC010", "port speed without ECN thresholds"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network in design.lossless:
            platform = design.platform(network)
            if platform and not platform.features.ecn:
                continue  # NOS002
            known = {row[0] for row in design.plan.lossless.ecn.get(network.nos, ())}
            used = {network.host_speed_gbps} | ({network.fabric_speed_gbps} if network.tiers > 1 else set())
            for speed_gbps in sorted(used - known - {0}):
                yield self.finding(
                    "lossless.ecn" if design.cluster.lossless.ecn else f"networks.{network.name}",
                    f"{network.name} has ports of {speed_gbps} Gb/s, for which {network.nos} has no ECN thresholds",
                    "an entry for each port speed",
                    ", ".join(f"{speed} Gb/s" for speed in sorted(known)) or "none",
                    f"add lossless.ecn.{speed_gbps} with min_kb and max_kb",
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
        Lower `max_kb` to the number shown, or delete the entry to take the platform's values.

    Source:
        Dynamic thresholds: one queue gets alpha / (1 + alpha) of the buffer (Choudhury and Hahne, 1998); alpha is 1/8 in
        SONiC's lossless profiles (dynamic_th -3). `asic.buffer_mb` of the model; not checked where that is not known.
    """

    id, title = "ROC011", "ECN marks later than PFC pauses"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network, (speed_gbps, _, max_kb, _), where in _thresholds(design):
            for model, buffer_kb in _buffers(design, network, speed_gbps):
                limit_kb = ceil(buffer_kb * ONE_PORT_SHARE)
                if max_kb > limit_kb:
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
        for network, (speed_gbps, min_kb, _, _), where in _thresholds(design):
            for model, buffer_kb in _buffers(design, network, speed_gbps):
                switch = design.catalogue.switch(model)
                share_kb = ceil(buffer_kb * speed_gbps / switch.asic.bandwidth_gbps) if switch else 0
                if switch and min_kb > share_kb:
                    yield self.finding(
                        where,
                        f"ECN of {network.name} at {speed_gbps} Gb/s begins at {min_kb} kB, above a port's share of {model}",
                        f"min_kb <= {share_kb} ({buffer_kb / 1048.576:g} MB by bandwidth)",
                        f"{min_kb} kB",
                        f"set lossless.ecn.{speed_gbps}.min_kb to {share_kb} or lower",
                    )


def _buffers(design: Design, network: Network, speed_gbps: int) -> Iterator[tuple[str, float]]:
    """Yield model and shared buffer in kB of each switch model with ports of that speed, where its buffer is known."""
    models = models_of(network) if speed_gbps == network.fabric_speed_gbps else (network.leaf_model,)
    for model in models:
        switch = design.catalogue.switch(model)
        if switch and switch.asic.buffer_mb:
            yield model, switch.asic.buffer_mb * 1048.576  # memories are sized in binary megabytes
