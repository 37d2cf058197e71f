# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about bandwidth, MTU and addressing limits of a network: part of the NET family."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from cluster_model.checks.design import Design, models_of
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic


class SwitchMtu(Rule):
    """Set no MTU above what every switch and its NOS carry.

    What it checks:
        A network's switch MTU against the chip of each of its models and against its network operating system.

    Why it matters:
        The NOS refuses the line, or the chip drops frames that the next hop would have carried: small packets pass, large ones
        vanish, and RDMA stalls with every link up.

    How to fix:
        Lower `mtu_bytes` to the limit shown, or choose another switch. 9100 on switches and 9000 on hosts fit everywhere.

    Source:
        `asic.mtu_bytes` of each model, `mtu_bytes` of templates/switch/NOS/platform.yml: Arista EOS carries 9214 bytes on
        routed ports, the others 9216.
    """

    id, title = "NET003", "MTU above what switch or NOS carries"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network in design.routed:
            limits = {m: switch.asic.mtu_bytes for m in models_of(network) if (switch := design.catalogue.switch(m))}
            for system in design.systems(network):
                if platform := design.catalogue.platforms.get(system):
                    limits[platform.name] = platform.mtu_bytes
            exceeded = {name: limit for name, limit in limits.items() if network.mtu_bytes > limit}
            if exceeded:
                name, limit = min(exceeded.items(), key=lambda item: item[1])
                yield self.finding(
                    design.mtu_path(network, "mtu_bytes"),
                    f"MTU {network.mtu_bytes} of the {network.name} switches is above what {name} carries",
                    f"<= {limit} bytes ({name})",
                    f"{network.mtu_bytes} bytes",
                    f"set mtu_bytes to {limit} or lower, or choose another switch",
                )


class HostMtu(Rule):
    """Keep the MTU of hosts at or below that of their leafs.

    What it checks:
        A network's host MTU against its switch MTU.

    Why it matters:
        The leaf drops what hosts send at full size. Pings work, jobs hang at the first large message.

    How to fix:
        Lower `host_mtu_bytes` or raise `mtu_bytes`.

    Source:
        An IP router drops packets above its interface's MTU that must not be fragmented (RFC 791); RoCEv2 sets that bit.
    """

    id, title = "NET012", "host MTU above switch MTU"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network in design.routed:
            if network.host_mtu_bytes > network.mtu_bytes:
                yield self.finding(
                    design.mtu_path(network, "host_mtu_bytes"),
                    f"hosts on {network.name} may send {network.host_mtu_bytes} bytes, their leafs carry {network.mtu_bytes}",
                    f"<= {network.mtu_bytes} bytes (switch MTU of {network.name})",
                    f"{network.host_mtu_bytes} bytes",
                    f"set host_mtu_bytes to {network.mtu_bytes} or lower, or raise mtu_bytes",
                )


VXLAN_BYTES = 50  # inner Ethernet 14, VXLAN 8, UDP 8, outer IPv4 20 (RFC 7348, section 5), counted against the outer IP MTU


class VxlanMtu(Rule):
    """Leave room for VXLAN's headers between hosts and switches.

    What it checks:
        On networks with EVPN (business; compute with `isolation: vrf`), host MTU and the 50 bytes of VXLAN against the MTU of the
        switches, border leafs included.

    Why it matters:
        Leafs wrap what hosts send and must not fragment it. Packets of full size vanish between two leafs while both links are
        up: logins work, copies hang.

    How to fix:
        Lower `host_mtu_bytes`, or raise `mtu_bytes`: 9100 on switches carries hosts with up to 9050.

    Source:
        RFC 7348, section 4.3 (VTEPs must not fragment) and section 5 (headers): 14 Ethernet, 8 VXLAN, 8 UDP, 20 IPv4.
    """

    id, title = "NET022", "no room for VXLAN headers"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network in design.routed:
            most = network.mtu_bytes - VXLAN_BYTES
            if network.evpn and network.mtu_bytes >= network.host_mtu_bytes > most:
                wrapped = network.host_mtu_bytes + VXLAN_BYTES
                yield self.finding(
                    design.mtu_path(network, "host_mtu_bytes"),
                    f"{network.host_mtu_bytes} bytes of {network.name} hosts are {wrapped} with VXLAN, and switches carry "
                    f"{network.mtu_bytes}",
                    f"<= {most} bytes ({network.mtu_bytes} of the switches less {VXLAN_BYTES} of VXLAN)",
                    f"{network.host_mtu_bytes} bytes",
                    f"set networks.{network.name}.host_mtu_bytes to {most} or lower, or raise mtu_bytes",
                )


class Oversubscription(Rule):
    """Hold every leaf at or below the oversubscription that was allowed.

    What it checks:
        Host bandwidth of a full leaf over its uplink bandwidth, against `oversubscription`.

    Why it matters:
        Collective operations between units run at the pace of the fullest uplink. Uplinks that were left out are bought later,
        with spines and racks for them.

    How to fix:
        Let the uplinks be derived (leave `uplinks` out), or raise `oversubscription` to say that this is meant.

    Source:
        DGX SuperPOD and NVIDIA Enterprise reference architectures: compute fabrics are non-blocking.
    """

    id, title = "NET010", "oversubscription above what was allowed"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network in design.plan.networks:
            allowed = network.oversubscription_allowed  # the plan's figure has three decimals
            if network.tiers > 1 and network.oversubscription > allowed + 0.0005:
                intent = design.intent(network.name)
                by_hand = intent is not None and "uplinks" in intent.model_fields_set
                ports, uplinks = count_things(network.hosts_per_leaf, "port"), count_things(network.uplinks, "uplink")
                yield self.finding(
                    f"networks.{network.name}.{'uplinks' if by_hand else 'oversubscription'}",
                    f"a full {network.name} leaf is oversubscribed {network.oversubscription:.2f} to 1",
                    f"<= {allowed:g} to 1",
                    f"{network.oversubscription:.2f} to 1: {ports} of {network.host_speed_gbps} Gb/s on "
                    f"{uplinks} of {network.fabric_speed_gbps} Gb/s",
                    "leave uplinks out so that they are derived, keep fewer hosts per leaf, or raise oversubscription",
                )


class UnevenLinks(Rule):
    """Give a switch the same number of links to every switch above it.

    What it checks:
        The uplinks of each leaf by spine, and those of each spine by core.

    Why it matters:
        ECMP deals flows by next hop: uneven bundles congest while others idle.

    How to fix:
        Choose `uplinks` and `switches` so that the counts divide.

    Source:
        DGX SuperPOD reference architecture H100, Table 4: 24 leafs with 32 uplinks take 16 spines, not 12.
    """

    id, title, by_intent = "NET015", "uplinks not dealt evenly", False

    def find(self, design: Design) -> Iterator[Diagnostic]:
        above = {"leaf": "spine", "spine": "core"}
        roles = {switch.name: switch.role for switch in design.plan.switches}
        uneven: dict[str, list[str]] = defaultdict(list)
        for switch in design.plan.switches:
            upper = above.get(switch.role)
            links = Counter(port.peer for port in switch.ports if port.use == "fabric" and roles.get(port.peer) == upper)
            if len(set(links.values())) > 1:
                uneven[switch.network].append(switch.name)
        for network, names in uneven.items():
            yield self.finding(
                f"networks.{network}.switches",
                f"{count_things(len(names), 'switch', 'switches')} of {network} with uplinks that are not dealt evenly",
                "the same number to each",
                list_names(names),
                "choose uplinks and switches so that the counts divide",
            )


OOB_MTU_BYTES = 1500


class OobMtu(Rule):
    """Leave the out-of-band network at the MTU that everything on it has.

    What it checks:
        `mtu_bytes` and `host_mtu_bytes` of `networks.oob` are at most 1500.

    Why it matters:
        BMCs, PDUs, installers and the switches' management ports take 1500 bytes. What is sent to them in larger frames is
        dropped on the last meter, and nobody tells the sender: a login works, a firmware file or an installation stands still.
        The site's routers get large frames too.

    How to fix:
        Leave both out: 1500.

    Source:
        RFC 894: 1500 bytes are what every station on Ethernet takes; RFC 2923, section 2.1 (black holes of path MTU discovery).
    """

    id, severity, title = "NET039", "warning", "large frames out of band"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        oob = design.cluster.networks.oob
        for key, who in (("mtu_bytes", "switches"), ("host_mtu_bytes", "servers")):
            mtu_bytes = getattr(oob, key)
            if mtu_bytes is not None and mtu_bytes > OOB_MTU_BYTES:
                yield self.finding(
                    f"networks.oob.{key}",
                    f"out-of-band {who} send {mtu_bytes} bytes, and BMCs and PDUs take {OOB_MTU_BYTES}",
                    f"<= {OOB_MTU_BYTES} bytes",
                    f"{mtu_bytes} bytes",
                    f"leave {key} out",
                )


class OobVlanIds(Rule):
    """Give each out-of-band segment a VLAN of its own.

    What it checks:
        The three ids under `networks.oob.vlans` differ.

    Why it matters:
        BMCs would stand in the same segment as the hosts that they control, and two gateways would answer on one VLAN.

    How to fix:
        Change one of the ids.

    Source:
        The plan gives each segment a subnet and a gateway of its own.
    """

    id, title = "NET016", "two out-of-band segments with one VLAN"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        vlans = design.cluster.networks.oob.vlans
        owners: dict[int, str] = {}
        for name, vlan in (("bmc", vlans.bmc), ("switch", vlans.switch), ("host", vlans.host)):
            if vlan in owners:
                where = name if name in vlans.model_fields_set else owners[vlan]
                yield self.finding(
                    f"networks.oob.vlans.{where}",
                    f"VLAN {vlan} is both the {owners[vlan]} and the {name} segment",
                    "three different ids",
                    f"{vlan} twice",
                    f"set networks.oob.vlans.{where} to another id",
                )
            owners.setdefault(vlan, name)


UNICAST_LIDS = 0xBFFF  # InfiniBand Architecture Specification: unicast LIDs are 0x0001 to 0xBFFF


class LidsExhausted(Rule):
    """Keep an InfiniBand subnet within its unicast LIDs.

    What it checks:
        Planned host ports and switches of each InfiniBand plane, one LID each, against 49,151.

    Why it matters:
        The subnet manager gives out 16-bit addresses. Ports beyond the last one never become active, whatever the switches'
        radix would allow.

    How to fix:
        Split the network into planes, each a subnet of its own, or use RoCE at that size.

    Source:
        InfiniBand Architecture Specification, volume 1, local identifiers: unicast LIDs are 0x0001 to 0xBFFF; one per port
        with LMC 0, one per switch.
    """

    id, title = "NET017", "more ports than an InfiniBand subnet can address"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network in design.plan.networks:
            if network.technology != "infiniband":
                continue
            ports = 0
            for group, servers in design.servers_of.items():
                each = Counter(port.plane for port in servers[0].ports if port.network == network.name)
                intent = design.cluster.servers.get(group)
                count = intent.final_count if intent else len(servers)
                ports += max(each.values(), default=0) * count
            leafs = network.planned_units * network.leafs_per_unit
            switches = leafs + network.spines_per_pod * network.pods + network.core_groups * network.cores_per_group
            if ports + switches > UNICAST_LIDS:
                plane = " per plane" if network.planes > 1 else ""
                yield self.finding(
                    f"networks.{network.name}",
                    f"{network.name} needs {ports + switches:,} LIDs{plane} at its planned size",
                    f"<= {UNICAST_LIDS:,} (unicast LIDs of one InfiniBand subnet)",
                    f"{ports:,} host ports and {switches:,} switches",
                    "split the network into more planes, plan fewer servers, or use technology roce",
                )


class NicSlowed(Rule):
    """Run compute ports at the speed they were bought for.

    What it checks:
        Compute ports run at the NIC's highest speed, or at the one that `speed_gbps` asks for. A port divided over planes counts
        as a whole.

    Why it matters:
        A leaf that cannot run at the NIC's speed halves the bandwidth of every collective, and nothing else says so.

    How to fix:
        Choose a leaf with ports of that speed, or say that it is meant: `speed_gbps`.

    Source:
        Collectives are bound by the slowest rail: NVIDIA nccl-tests, PERFORMANCE.md.
    """

    id, severity, title = "NET020", "warning", "compute ports below the NIC's speed"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        compute = design.intent("compute")
        if compute is None or compute.speed_gbps is not None:
            return
        seen: set[str] = set()
        for server in design.plan.servers:
            if server.group in seen or server.role == "fabric-manager":
                continue
            seen.add(server.group)
            model = design.catalogue.server(server.model)
            most = {port.name: port.speed_gbps for port in model.network.ports} if model else {}
            slow = {p.speed_gbps for p in server.ports if p.network == "compute" and p.speed_gbps < most.get(p.name, 0)}
            if slow:
                best = max(most[p.name] for p in server.ports if p.name in most and p.network == "compute")
                yield self.finding(
                    "networks.compute.leaf",
                    f"the NICs of {server.group} run at {min(slow)} Gb/s and could run at {best}",
                    f"a leaf with ports of {best} Gb/s",
                    f"{min(slow)} Gb/s",
                    f"choose another leaf, or set networks.compute.speed_gbps to {min(slow)}",
                )
