# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about markings and keys that meet others or do nothing. Parts of the ROC and NET families."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic


class DataAmongControl(Rule):
    """Mark RoCE data with a DSCP that no control protocol has.

    What it checks:
        `lossless.data_dscp` is below 48, and not 46.

    Why it matters:
        Switches send BGP and BFD with 48 (CS6): they would share the lossless queue, and a pause of training traffic takes the
        sessions down that the fabric is made of. 46 (EF) is voice's, which the rest of the site sends with priority.

    How to fix:
        Set `data_dscp` to 26, or to another value of 8 to 40 that nothing else has.

    Source:
        RFC 4594, Network Control and Telephony Service Class (CS6 and CS7; EF).
    """

    id, title = "ROC020", "RoCE data marked as control traffic or voice"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        dscp = design.cluster.lossless.data_dscp
        if design.lossless and (dscp >= 48 or dscp == 46):
            yield self.finding(
                "lossless.data_dscp",
                f"DSCP {dscp} is {'voice (EF)' if dscp == 46 else 'for routing and control protocols'}",
                "26, or another below 46",
                str(dscp),
                "set data_dscp to 26",
            )


class CnpBestEffort(Rule):
    """Send congestion notifications before everything else.

    What it checks:
        `lossless.cnp_priority` is not 0.

    Why it matters:
        Priority 0 carries everything that is not marked. Notifications wait behind it, senders slow down too late, and PFC
        pauses what notifications were there to prevent.

    How to fix:
        Set `cnp_priority` to 6.

    Source:
        NVIDIA Cumulus Linux, `nv set qos roce`: CNP in switch priority 6, strict.
    """

    id, title = "ROC021", "congestion notifications as best effort"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        if design.lossless and design.cluster.lossless.cnp_priority == 0:
            yield self.finding(
                "lossless.cnp_priority",
                "CNPs share priority 0 with everything that is not marked",
                "a strict priority of their own",
                "0",
                "set cnp_priority to 6",
            )


_ETHERNET_KEYS = ("pool", "nos", "release", "underlay")


class KeysOfEthernet(Rule):
    """Say of InfiniBand what it has.

    What it checks:
        An InfiniBand network has none of `pool`, `nos`, `release` and `underlay`.

    Why it matters:
        They do nothing: its switches are unmanaged or run the maker's system, and route by LID. Mostly the section was copied
        from a RoCE cluster, and the technology is the mistake.

    How to fix:
        Take the keys away, or set `technology: roce`.

    Source:
        `technology` in docs/intent.md.
    """

    id, severity, title = "NET037", "warning", "keys of Ethernet on InfiniBand"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        compute = design.cluster.networks.compute
        if compute is None or compute.technology != "infiniband":
            return
        found = [key for key in _ETHERNET_KEYS if key in compute.model_fields_set and getattr(compute, key) is not None]
        if found:
            yield self.finding(
                f"networks.compute.{found[0]}",
                f"{list_names(found)} of compute {'does' if len(found) == 1 else 'do'} nothing on InfiniBand",
                "none of " + ", ".join(_ETHERNET_KEYS),
                list_names(found),
                f"take {list_names(found)} away, or set technology to roce",
            )


class WatchdogLate(Rule):
    """Let the watchdog act before jobs give up.

    What it checks:
        `lossless.watchdog.detect_ms` is 1000 or less.

    Why it matters:
        One NIC that pauses without end holds up its leaf, then all leafs: for as long as the watchdog waits, all jobs stand
        still, and RDMA runs out of retries.

    How to fix:
        Leave `detect_ms` out for 400.

    Source:
        SONiC, PFC watchdog: a detection time of 200 ms by default; the limit is of this toolkit.
    """

    id, severity, title = "ROC024", "warning", "PFC watchdog that waits too long"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        watchdog = design.cluster.lossless.watchdog
        if design.lossless and watchdog.enabled and watchdog.detect_ms > 1000:
            yield self.finding(
                "lossless.watchdog.detect_ms",
                f"a PFC storm may last {watchdog.detect_ms} ms before the watchdog acts",
                "<= 1000 ms",
                f"{watchdog.detect_ms} ms",
                "leave detect_ms out for 400",
            )
