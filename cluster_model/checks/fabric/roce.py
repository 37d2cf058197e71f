# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about the lossless profile: the ROC family. What they all guard is that hosts and switches mean the same packets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic


class PfcPriorities(Rule):
    """Switch on PFC for the priority of RoCE data, and for no other.

    What it checks:
        `lossless.pfc_priorities` is exactly `[priority]`.

    Why it matters:
        Without PFC on the data's own priority RDMA loses packets under load, and throughput falls to a fraction. Every further
        lossless priority takes headroom from the buffer and is one more way for pauses to spread.

    How to fix:
        Delete `pfc_priorities`, or set it to `priority` alone.

    Source:
        Cumulus `nv set qos roce` and Arista's, Cisco's and Dell's RoCE guides: one no-drop class, that of the data.
    """

    id, title = "ROC001", "PFC not exactly on the RoCE priority"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        profile = design.plan.lossless
        if design.lossless and profile.pfc_priorities != (profile.priority,):
            yield self.finding(
                "lossless.pfc_priorities",
                f"PFC runs on {_say(profile.pfc_priorities)} and RoCE data on {profile.priority}",
                f"[{profile.priority}]",
                f"[{', '.join(str(priority) for priority in profile.pfc_priorities)}]",
                "delete pfc_priorities; it follows priority",
            )


class PriorityReserved(Rule):
    """Put RoCE data on a priority that nothing else uses.

    What it checks:
        `lossless.priority` is none of 0, 6 and 7.

    Why it matters:
        0 carries all traffic that nobody classified, 6 and 7 carry routing protocols. Pausing them stops ssh, or drops BGP
        sessions while the fabric is congested, which is when it needs them.

    How to fix:
        Set `priority` to 3, or to another of 1 to 5.

    Source:
        H3C RoCE configuration guides: do not enable PFC for 802.1p priorities 0, 6 and 7.
    """

    id, title = "ROC002", "RoCE on a priority that others need"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        priority = design.plan.lossless.priority
        if design.lossless and priority in {0, 6, 7}:
            use = "all unclassified traffic" if priority == 0 else "routing and control protocols"
            yield self.finding(
                "lossless.priority",
                f"priority {priority} carries {use} and would be paused",
                "1 to 5",
                str(priority),
                "set priority to 3",
            )


class CnpLossless(Rule):
    """Keep congestion notifications out of the lossless class.

    What it checks:
        `lossless.cnp_priority` is neither `priority` nor in `pfc_priorities`.

    Why it matters:
        A notification that waits behind the paused data that it is about comes too late: senders do not slow down, pauses
        spread, and a few slow receivers stall the fabric.

    How to fix:
        Set `cnp_priority` to 6.

    Source:
        Cumulus `nv set qos roce` (CNP in switch priority 6, strict, lossy); Huawei CE queue plan (CNP in queue 6).
    """

    id, title = "ROC003", "congestion notifications in a lossless class"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        profile = design.plan.lossless
        if design.lossless and profile.cnp_priority in {profile.priority, *profile.pfc_priorities}:
            yield self.finding(
                "lossless.cnp_priority",
                f"CNPs share the lossless priority {profile.cnp_priority}",
                f"a priority without PFC, other than {profile.priority}",
                str(profile.cnp_priority),
                "set cnp_priority to 6",
            )


class CnpNotStrict(Rule):
    """Let congestion notifications overtake the data that they are about.

    What it checks:
        Where the strict queues of a NOS must lie above the weighted ones (EOS), `cnp_priority` is above every priority with PFC.

    Why it matters:
        There a weighted queue takes all queues below it into the round robin. The notifications' queue is one among equals, and
        at full load they wait behind the data that they should slow down.

    How to fix:
        Set `cnp_priority` to 6.

    Source:
        Arista EOS manual, Quality of Service: `no priority` in a transmit queue makes it and all queues below it round robin;
        `strict_above_weighted` of templates/switch/NOS/platform.yml.
    """

    id, title = "ROC025", "congestion notifications below a weighted queue"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        profile = design.plan.lossless
        highest = max(profile.pfc_priorities, default=0)
        for network in design.lossless if profile.cnp_priority < highest < 6 else ():  # above 5 ROC002 asks for another
            platform = design.platform(network)
            if platform is not None and platform.strict_above_weighted:
                yield self.finding(
                    "lossless.cnp_priority",
                    f"{platform.name} cannot send CNPs of priority {profile.cnp_priority} before data of priority {highest}",
                    f"above {highest}, on the {network.name} switches",
                    str(profile.cnp_priority),
                    "set cnp_priority to 6",
                )
                break


class DscpValues(Rule):
    """Mark RoCE data, notifications and everything else differently.

    What it checks:
        `data_dscp` and `cnp_dscp` differ, and neither is 0.

    Why it matters:
        Switches tell the classes apart by DSCP alone. With one value both land in one queue; with 0 every unmarked packet of
        the cluster becomes lossless, and one slow receiver of anything pauses training.

    How to fix:
        Use 26 for data and 48 for CNPs, or the values that the rest of your network uses.

    Source:
        Defaults of Cumulus, Arista and ConnectX; Cisco, Dell and Huawei guides use 24 for data.
    """

    id, title = "ROC004", "DSCP that does not tell classes apart"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        profile = design.plan.lossless
        if not design.lossless:
            return
        if profile.cnp_dscp == profile.data_dscp:
            yield self.finding(
                "lossless.cnp_dscp",
                f"RoCE data and CNPs both have DSCP {profile.cnp_dscp}",
                "two values",
                str(profile.cnp_dscp),
                "set data_dscp to 26 and cnp_dscp to 48",
            )
        for name, value, usual in (("data_dscp", profile.data_dscp, 26), ("cnp_dscp", profile.cnp_dscp, 48)):
            if value == 0:
                yield self.finding(
                    f"lossless.{name}",
                    f"{name} 0 is the mark of all unmarked traffic",
                    "1 to 63",
                    "0",
                    f"set {name} to {usual}",
                )


class DscpMap(Rule):
    """Map both DSCPs to their classes on every hop.

    What it checks:
        The map that all switches get sends `data_dscp` to `priority` and `cnp_dscp` to `cnp_priority`. Where the NOS's own map
        does not do so for 26, its configuration is one that gpuyard renders.

    Why it matters:
        SONiC's default map sends DSCP 26 to class 1: RoCE then runs lossy on that hop, with PFC configured and idle, and
        nothing looks wrong until the first incast.

    How to fix:
        Use a NOS that gpuyard renders, or report the finding where the map itself is wrong.

    Source:
        sonic-net/sonic-buildimage, files/build_templates/qos_config.j2 (AZURE map); `default_dscp_lossless` of
        templates/switch/NOS/platform.yml.
    """

    id, title, by_intent = "ROC005", "RoCE not mapped to its class on a hop", False

    def find(self, design: Design) -> Iterator[Diagnostic]:
        profile = design.plan.lossless
        if not design.lossless:
            return
        wanted = {profile.data_dscp: profile.priority, profile.cnp_dscp: profile.cnp_priority}
        for dscp, priority in wanted.items():
            mapped = profile.dscp_to_tc[dscp] if dscp < len(profile.dscp_to_tc) else None
            if mapped != priority and profile.data_dscp != profile.cnp_dscp:
                yield self.finding(
                    "lossless",
                    f"DSCP {dscp} is mapped to class {mapped}",
                    f"class {priority}",
                    f"class {mapped}",
                    "report this with your cluster.yml",
                )
        for network in design.lossless:
            platform = design.platform(network)
            if platform and not platform.rendered and not platform.default_dscp_lossless:
                yield self.finding(
                    f"networks.{network.name}.nos",
                    f"{platform.name} sends DSCP 26 to a lossy class by default, and its configuration is not rendered",
                    "a NOS that gpuyard renders, or one whose default map is right",
                    network.nos,
                    "choose another nos, or map the DSCPs by hand on every switch",
                )


class WatchdogOff(Rule):
    """Leave the PFC storm watchdog on.

    What it checks:
        `lossless.watchdog.enabled`.

    Why it matters:
        One NIC that sends pauses without end, after a firmware fault or a hung host, freezes its leaf, then the spines, then
        the cluster. The watchdog drops that one queue instead.

    How to fix:
        Delete `enabled: false`.

    Source:
        SONiC PFC watchdog design; Arista and Cisco RoCE guides enable it with every lossless profile.
    """

    id, severity, title = "ROC006", "warning", "PFC storm watchdog off"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        if design.lossless and not design.plan.lossless.watchdog:
            yield self.finding(
                "lossless.watchdog.enabled",
                "the PFC storm watchdog is off",
                "on",
                "off",
                "delete enabled: false",
            )


# 4096 bytes of payload and what RoCEv2 may put around it: Linux, include/rdma/ib_addr.h, iboe_get_mtu() takes off GRH 40, UDP 8,
# BTH 12, XRC 4, atomic header 28 and ICRC 4 before it rounds down to an InfiniBand MTU.
ROCE_MTU_BYTES = 4096 + 40 + 8 + 12 + 4 + 28 + 4


class RoceMtu(Rule):
    """Give RoCE hosts an MTU that holds 4096 bytes of payload.

    What it checks:
        The host MTU of each lossless network is 4192 bytes or more.

    Why it matters:
        RDMA picks 256, 512, 1024, 2048 or 4096 bytes per packet by what fits. Just below 4192 it takes half, so that the NIC
        handles twice the packets and falls short of line rate; a peer set up with 4096 is refused.

    How to fix:
        Set `host_mtu_bytes` to 4200 or, better, 9000.

    Source:
        Linux, include/rdma/ib_addr.h, iboe_get_mtu(): 96 bytes of headers. The field rounds up to 4200.
    """

    id, severity, title = "ROC007", "warning", "host MTU too small for RoCE's 4096 bytes"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network in design.lossless:
            if network.host_mtu_bytes < ROCE_MTU_BYTES:
                yield self.finding(
                    design.mtu_path(network, "host_mtu_bytes"),
                    f"host MTU {network.host_mtu_bytes} of {network.name} leaves RDMA less than 4096 bytes per packet",
                    f">= {ROCE_MTU_BYTES} bytes (4096 of payload, 96 of headers)",
                    f"{network.host_mtu_bytes} bytes",
                    "set host_mtu_bytes to 9000",
                )


HEADROOM_M = 100  # Cisco Nexus 9000 QoS guide 10.5: above 100 m the pause buffer has to be set by hand


class LongLosslessLink(Rule):
    """Keep lossless links within the headroom of standard buffer profiles.

    What it checks:
        Cables of lossless networks longer than 100 m.

    Why it matters:
        What is on the wire when a pause is sent has to fit the headroom behind it, and default profiles reckon with short
        cables. On a longer one packets are dropped in the class that was promised lossless.

    How to fix:
        Move the racks closer, or raise the headroom of those ports on every switch that has one.

    Source:
        Cisco Nexus 9000 NX-OS QoS guide 10.5, `pause buffer size`; SONiC pg_lossless profiles, which stand by cable length.
    """

    id, severity, title = "ROC008", "warning", "lossless link longer than its headroom"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        names = {network.name for network in design.lossless}
        long: dict[str, list[tuple[float, str]]] = defaultdict(list)
        for cable in design.plan.cables:
            if cable.length_m > HEADROOM_M and cable.network in names:
                long[cable.network].append((cable.length_m, cable.label))
        for network, cables in long.items():
            cables.sort(reverse=True)
            yield self.finding(
                "racks.geometry",
                f"{count_things(len(cables), 'lossless cable')} of {network} longer than {HEADROOM_M} m",
                f"<= {HEADROOM_M} m (headroom of standard buffer profiles)",
                f"up to {cables[0][0]:g} m: {list_names((label for _, label in cables), 2)}",
                "move the racks closer, or raise the PFC headroom of those ports",
            )


def _say(priorities: tuple[int, ...]) -> str:
    return f"priorities {', '.join(str(p) for p in priorities)}" if priorities else "no priority"
