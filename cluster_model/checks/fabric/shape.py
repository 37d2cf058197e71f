# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about the shape of a fabric: who meets whom, and what goes with one leaf. Part of the NET family."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.tenancy.evpn import SYSTEM_MACS


class UnitsApart(Rule):
    """Join the units of the compute network by spines.

    What it checks:
        A compute network with `tiers: 1` (rail-only) has one unit, now and planned. NET023 has the other networks.

    Why it matters:
        Rails join the servers of one unit. Nothing joins two units, so that a job over both does not start.

    How to fix:
        Set `tiers` to auto, or raise `unit` so that one unit holds all servers.

    Source:
        `tiers` in docs/intent.md: 1 leaves the leafs unconnected.
    """

    id, title = "NET027", "several units that nothing joins"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        network = design.plan.network("compute")
        units = max(network.units, network.planned_units) if network is not None and network.tiers == 1 else 1
        if units > 1:
            yield self.finding(
                "networks.compute.tiers",
                f"{units} units of compute have no spine between them",
                "one unit, or two tiers",
                f"1 tier, {units} units",
                "set tiers to auto, or raise unit of the server groups",
            )


class RailsApart(Rule):
    """Join rails by spines where no NVLink joins them.

    What it checks:
        On a compute network with one tier and more than one leaf per unit, all GPUs of a server are joined by NVLink or the like.

    Why it matters:
        On a rail-only network a message to another rail goes through the server's own NVLink first. GPUs on PCIe have none, so it
        goes through the CPUs, at a fraction of the network's speed.

    How to fix:
        Set `tiers` to auto, or choose servers with NVLink.

    Source:
        NCCL, PXN: rail-local traffic by NVLink. Wang et al., Rail-only (2023): every rail is reached over the high-bandwidth
        domain.
    """

    id, severity, title = "NET031", "warning", "rails that nothing joins"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        network = design.plan.network("compute")
        if network is None or network.tiers != 1 or network.leafs_per_unit < 2 or network.design != "rail-optimized":
            return
        for name, group in design.cluster.servers.items():
            block = design.catalogue.server(group.model)
            on_compute = any(port.network == "compute" for server in design.group(name)[:1] for port in server.ports)
            if on_compute and block and block.gpus and block.gpus.interconnect == "pcie":
                yield self.finding(
                    "networks.compute.tiers",
                    f"GPUs of {name} on different rails meet over PCIe and CPUs alone",
                    "two tiers, or servers whose GPUs have NVLink",
                    f"1 tier, {group.model}",
                    "set tiers to auto",
                )


class LeafsApart(Rule):
    """Build a compute network without spines only where that is meant.

    What it checks:
        A compute network with `tiers: 1` has one leaf per unit and plane. Where NET031 warns already, this rule does not.

    Why it matters:
        A NIC reaches those on its own leaf and no others. NCCL crosses rails inside the servers, by NVLink, so that rail-only
        trains well; a library that does not finds no way from one rail to another, and with a leaf its rail is gone for every
        server. On InfiniBand each leaf is a subnet that needs a manager of its own. The network does not grow beyond its unit
        (NET027).

    How to fix:
        Set `tiers` to auto. Or leave it where rail-only is what you want: one unit, NVLink in every server, NCCL on all.

    Source:
        Wang et al., Rail-only (2023): the design and what it gives up; NCCL, PXN: rail-local traffic by NVLink.
    """

    id, severity, title = "NET041", "warning", "compute leafs that share no switch"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        network = design.plan.network("compute")
        if network is None or network.tiers != 1 or network.leafs_per_unit < 2 or any(RailsApart().find(design)):
            return
        if max(network.units, network.planned_units) > 1:  # NET027 refuses that
            return
        planes = " in each plane" if network.planes > 1 else ""
        yield self.finding(
            "networks.compute.tiers",
            f"{network.leafs_per_unit} leafs of compute{planes} share no switch: a NIC reaches those on its own leaf alone",
            "two tiers, or rail-only on purpose",
            f"1 tier, {count_things(network.leafs_per_unit, 'leaf', 'leafs')}{planes}",
            "set tiers to auto, or leave it where NCCL alone uses the network and crosses rails by NVLink",
        )


class OneLeafForAllRails(Rule):
    """Spread the rails of a server over leafs.

    What it checks:
        On a rail-optimized network of one plane and single-homed NICs, `rails_per_leaf` is less than the rails of the servers.

    Why it matters:
        One leaf carries every rail of its unit: when it reboots, all servers of the unit lose their compute network at once. That
        is no rail-optimized network, whatever its name.

    How to fix:
        Halve `rails_per_leaf`, or set `leafs_per_rail: 2`; or accept it for a lab.

    Source:
        NVIDIA, DGX SuperPOD reference architecture: rail k of all servers of a unit on leaf k.
    """

    id, severity, title = "NET032", "warning", "one leaf for all rails of a unit"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        network, asked = design.plan.network("compute"), design.cluster.networks.compute
        if network is None or asked is None or network.design != "rail-optimized":
            return
        if network.planes == 1 and network.leafs_per_unit == 1 and asked.rails_per_leaf > 1:
            rails = asked.rails_per_leaf
            yield self.finding(
                "networks.compute.rails_per_leaf",
                f"the loss of one leaf takes all {rails} rails of a unit",
                f"<= {rails // 2} rails per leaf",
                str(rails),
                f"set rails_per_leaf to {rails // 2}, or accept it for a lab",
            )


class UnitOfOne(Rule):
    """Put more than one server into a unit.

    What it checks:
        `unit` of groups with more than one server on the compute network is above 1.

    Why it matters:
        Every server gets leafs of its own, and every message between two servers crosses the spines: the leafs are paid for and
        join nothing.

    How to fix:
        Set `unit` to the servers that a leaf holds, 32 for example, or leave it out.

    Source:
        NVIDIA, DGX SuperPOD reference architecture H100: scalable units of 32 systems.
    """

    id, severity, title = "NET033", "warning", "unit of one server"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        if design.cluster.networks.compute is None:
            return
        for name, group in design.cluster.servers.items():
            on_compute = any(port.network == "compute" for server in design.group(name)[:1] for port in server.ports)
            if group.unit == 1 and group.final_count > 1 and on_compute:
                yield self.finding(
                    f"servers.{name}.unit",
                    f"{count_things(group.final_count, 'server')} of {name} have leafs of their own each",
                    "as many servers as a leaf has ports for",
                    "1",
                    "raise unit, or leave it out",
                )


class GatewayMac(Rule):
    """Give gateways a MAC address that a station can have.

    What it checks:
        `networks.business.anycast_mac` is a unicast address, and not zero.

    Why it matters:
        Switches flood frames to a group address, and hosts refuse an ARP answer with one or with zeros: no tenant reaches its
        gateway.

    How to fix:
        Leave it out, or take an address that begins with 02 or 00:00:5e:00:01.

    Source:
        IEEE 802 (overview and architecture): the lowest bit of the first byte marks a group; RFC 1812, section 3.3.2: an ARP
        answer with a group address is not believed.
    """

    id, title = "NET034", "gateway MAC that no station can have"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        business = design.cluster.networks.business
        if business is None:
            return
        mac = business.anycast_mac
        first = int(mac[:2], 16)
        what = "zero" if not int(mac.replace(":", ""), 16) else "broadcast" if mac == "ff:ff:ff:ff:ff:ff" else "a group address"
        if what == "zero" or first & 1:
            yield self.finding(
                "networks.business.anycast_mac",
                f"the gateways' MAC is {what}",
                "a unicast MAC, such as 00:00:5e:00:01:01 or 02:00:00:00:00:01",
                mac,
                "leave anycast_mac out, or take 02:00:00:00:00:01",
            )


class GatewayMacOfMaker(Rule):
    """Take the gateways' MAC from a range that no maker burns into cards.

    What it checks:
        `networks.business.anycast_mac` is locally administered, or in 00:00:5e:00:01 (VRRP) or 00:1c:73:00:00 (Arista's own).

    Why it matters:
        A card with the same address exists, or will: its frames and the gateways' are mixed up, on one subnet and on no other.

    How to fix:
        Leave it out, or take one that begins with 02.

    Source:
        IEEE 802 (local addresses); RFC 9568, section 7.3 (VRRP); Arista EOS manual, virtual router MAC.
    """

    id, severity, title = "NET035", "warning", "gateway MAC of a maker"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        business = design.cluster.networks.business
        if business is None:
            return
        mac = business.anycast_mac
        first = int(mac[:2], 16)
        is_known = mac.startswith(("00:00:5e:00:01:", "00:1c:73:00:00:"))
        if not first & 3 and not is_known and int(mac.replace(":", ""), 16):
            yield self.finding(
                "networks.business.anycast_mac",
                f"{mac} is in a maker's range, so that some card has it",
                "a locally administered MAC, or VRRP's 00:00:5e:00:01",
                mac,
                "leave anycast_mac out, or take 02:00:00:00:00:01",
            )


class GatewayMacOfPair(Rule):
    """Take a MAC for gateways that no leaf pair has.

    What it checks:
        `networks.business.anycast_mac` does not begin with 02:67:79:00, as the system MACs of leaf pairs do: 02:67:79:00:00:01 is
        that of unit 1.

    Why it matters:
        With Ethernet segments and MLAG the pair's system MAC is the LACP partner of its servers, on Cumulus also the MAC that
        other leafs send routed traffic to. Frames for a gateway and for the pair cannot be told apart.

    How to fix:
        Leave it out, or take one that begins otherwise, such as 02:00:00:00:00:01.

    Source:
        docs/how-the-plan-decides.md (the system MAC of a unit); RFC 7432, section 5 (it is part of the segment's identifier).
    """

    id, title = "NET038", "gateway MAC of a leaf pair"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        business = design.cluster.networks.business
        if business is not None and business.anycast_mac.startswith(SYSTEM_MACS):
            unit = int(business.anycast_mac.replace(":", "")[8:], 16)
            yield self.finding(
                "networks.business.anycast_mac",
                f"the gateways' MAC is the system MAC of the leafs of unit {unit}",
                f"a MAC that does not begin with {SYSTEM_MACS.rstrip(':')}",
                business.anycast_mac,
                "leave anycast_mac out, or take 02:00:00:00:00:01",
            )
