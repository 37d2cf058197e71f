# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about what a network operating system can do: the NOS family."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.catalogue.platform_types import Platform
from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model import Network


class UnknownNos(Rule):
    """Run a network operating system that gpuyard knows, on a switch that it runs on.

    What it checks:
        `nos` of every network, and of its border leafs, is a folder of templates/switch/, and each switch model of the network is
        one that this NOS runs on.

    Why it matters:
        The switch is delivered with the wrong software, or none; port names and features cannot be told.

    How to fix:
        Choose one of the names listed, another switch, or add a NOS as docs/add-a-switch-vendor.md says.

    Source:
        templates/switch/NOS/platform.yml, which may list models under `runs_on`; `systems` and `sonic` in the catalogue file of
        the switch, which `gpuyard catalogue MODEL` shows. A file without `systems` refuses SONiC alone, where it has no `sonic`
        block.
    """

    id, title, stage = "NOS001", "network operating system not known, or not for this switch", "plan"


def _missing(platform: Platform, *features: str) -> list[str]:
    return [name for name in features if not platform.features.has(name)]


def _systems(design: Design) -> Iterator[tuple[Network, Platform, str, str]]:
    """Yield (network, platform, its name, intent path that chooses it) for every system that a routed network runs."""
    for network in design.routed:
        for nos, where in design.systems(network).items():
            platform: Platform | None = design.catalogue.platforms.get(nos)
            if platform is not None:
                yield network, platform, nos, where


class LosslessFeatures(Rule):
    """Run lossless networks on a NOS that can be lossless.

    What it checks:
        The NOS of each RoCE network has the features pfc, ecn and pfc_watchdog.

    Why it matters:
        The fabric drops RDMA packets under load, or deadlocks when a NIC misbehaves. Software forwarding, as plain FRR on a
        server, has no such queues at all.

    How to fix:
        Choose another `nos`, or set the network's `technology` to `tcp` where it can be.

    Source:
        `features` of templates/switch/NOS/platform.yml.
    """

    id, title = "NOS002", "lossless network on a NOS that cannot be lossless"
    asks = ("pfc", "ecn", "pfc_watchdog")

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network in design.lossless:
            platform = design.platform(network)
            if platform and (missing := _missing(platform, *self.asks)):
                yield self.finding(
                    f"networks.{network.name}.nos",
                    f"{network.name} carries RoCE, and {platform.name} lacks {', '.join(missing)}",
                    "a NOS with pfc, ecn and pfc_watchdog",
                    network.nos,
                    "choose another nos" + (", or technology tcp" if network.name == "storage" else ""),
                )


class UnnumberedFeature(Rule):
    """Use unnumbered links only where the NOS can.

    What it checks:
        Where a network of two or more tiers has `underlay: unnumbered`, its NOS has the feature bgp_unnumbered.

    Why it matters:
        BGP sessions between switches never come up.

    How to fix:
        Set `underlay: numbered`, or choose another `nos`.

    Source:
        `features` of templates/switch/NOS/platform.yml; RFC 5549.
    """

    id, title, by_intent = "NOS003", "unnumbered links on a NOS that has none", False
    asks = ("bgp_unnumbered",)

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network, platform, nos, _ in _systems(design):
            if network.tiers > 1 and network.underlay == "unnumbered" and _missing(platform, *self.asks):
                yield self.finding(
                    f"networks.{network.name}.underlay",
                    f"{network.name} has unnumbered links, and {platform.name} has no bgp_unnumbered",
                    "numbered, or a NOS with bgp_unnumbered",
                    f"unnumbered on {nos}",
                    "set underlay to numbered",
                )


class RelayFeature(Rule):
    """Relay DHCP where a subnet lives by it.

    What it checks:
        The NOS of the out-of-band network has the feature dhcp_relay, and so has that of the business network's leafs where a
        tenant's subnet has `addressing: dhcp`.

    Why it matters:
        BMCs and provisioning ports get no address: nothing can be installed, and nothing powered on from afar. In a tenant's
        subnet no server gets one.

    How to fix:
        Choose another `nos`, or set `addressing` of the subnet to static.

    Source:
        `features` of templates/switch/NOS/platform.yml.
    """

    id, title, by_intent = "NOS004", "DHCP on a NOS that does not relay it", False
    asks = ("dhcp_relay",)

    def find(self, design: Design) -> Iterator[Diagnostic]:
        dynamic = [f"{t.name}'s {s.name}" for t in design.plan.tenants for s in t.subnets if s.addressing == "dhcp"]
        asked = {"oob": "out-of-band leafs relay DHCP"}
        if dynamic:
            asked["business"] = f"{list_names(dynamic)} has addresses by DHCP"
        for name, what in asked.items():
            network = design.plan.network(name)
            platform = design.platform(network) if network else None
            if network and platform and _missing(platform, *self.asks):
                yield self.finding(
                    f"networks.{name}.nos",
                    f"{what}, and {platform.name} has no dhcp_relay",
                    "a NOS with dhcp_relay",
                    network.nos,
                    f"choose another nos for networks.{name}",
                )


class BreakoutFeature(Rule):
    """Split ports only where the NOS can.

    What it checks:
        Where cabled cages of a network run split, its NOS has the feature breakout.

    Why it matters:
        Half of the planned ports do not exist on the switch.

    How to fix:
        Choose another `nos`, or speeds that need no splitting.

    Source:
        `features` of templates/switch/NOS/platform.yml.
    """

    id, title, by_intent = "NOS005", "split ports on a NOS that cannot split", False
    asks = ("breakout",)

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network, platform, nos, where in _systems(design):
            if not _missing(platform, *self.asks):
                continue
            split = _split_speed(design, network, nos)
            if split:
                yield self.finding(
                    where,
                    f"{network.name} splits cages into {split}, and {platform.name} has no breakout",
                    "a NOS with breakout",
                    nos,
                    "choose another nos, or a speed that a whole cage has",
                )


def _split_speed(design: Design, network: Network, nos: str) -> str:
    for switch in design.switches_of.get(network.name, []):
        if switch.nos != nos:
            continue
        cabled = {port.cage for port in switch.ports}
        for mode in switch.modes:
            if mode.count > 1 and not mode.native and mode.cage in cabled:
                return f"{mode.count}x{mode.speed_gbps}"
    return ""


class NotRendered(Rule):
    """Know which switches you configure by hand.

    What it checks:
        The NOS of each network is one whose configuration gpuyard renders.

    Why it matters:
        These switches come up as the vendor ships them: no addresses, no BGP, no lossless class.

    How to fix:
        Choose another `nos`, or write templates/switch/NOS/main.j2 as docs/add-a-switch-vendor.md says.

    Source:
        `rendered` of templates/switch/NOS/platform.yml.
    """

    id, severity, title, by_intent = "NOS006", "warning", "no configuration is rendered for this NOS", False

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network, platform, nos, where in _systems(design):
            if not platform.rendered:
                what = f"{network.name} {'border leafs' if '.border.' in where else 'switches'}"
                yield self.finding(
                    where,
                    f"no configuration is rendered for {platform.name}: the {what} are yours to configure",
                    "a NOS that gpuyard renders",
                    nos,
                    "choose another nos, or configure the switches by hand from plan.json",
                )


class OverlayFeature(Rule):
    """Run tenants' networks on a NOS that has VXLAN and EVPN.

    What it checks:
        Every NOS of a network with EVPN (business, its border leafs; compute with `isolation: vrf`) has the feature vxlan_evpn.

    Why it matters:
        The switch has no tunnels: tenants below it see nobody outside their leaf.

    How to fix:
        Choose another `nos`.

    Source:
        `features` of templates/switch/NOS/platform.yml; RFC 8365.
    """

    id, title, by_intent = "NOS007", "EVPN on a NOS without it", False
    asks = ("vxlan_evpn",)

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network, platform, nos, where in _systems(design):
            if network.evpn and _missing(platform, *self.asks):
                yield self.finding(
                    where,
                    f"{network.name} is built on EVPN, and {platform.name} has no vxlan_evpn",
                    "a NOS with vxlan_evpn",
                    nos,
                    "choose another nos" + (", or set isolation to none" if network.name == "compute" else ""),
                )


class NatFeature(Rule):
    """Translate addresses on a NOS that does so per tenant.

    What it checks:
        Where a tenant has `nat`, the NOS of the border leafs has the feature nat: source translation per VRF, with the
        same inside addresses in two of them.

    Why it matters:
        Tenants with overlapping addresses leave untranslated, or not at all.

    How to fix:
        Set `nos` of `networks.business.border` to one that has it, with a model that runs it, or take `nat` away.

    Source:
        `features` of templates/switch/NOS/platform.yml. SONiC translates in its default VRF alone (sonic-net/SONiC,
        doc/nat/nat_design_spec.md, section 2.2.6), so the feature is off there.
    """

    id, title = "NOS008", "address translation on a NOS that has none"
    asks = ("nat",)

    def find(self, design: Design) -> Iterator[Diagnostic]:
        borders = [switch.nos for switch in design.switches_of.get("business", []) if switch.role == "border"]
        translated = [tenant.name for tenant in design.plan.tenants if tenant.nat]
        business = design.cluster.networks.business
        own = business is not None and business.border is not None and business.border.nos is not None
        where = "networks.business.border.nos" if own else "networks.business.border"
        for nos in sorted(set(borders)) if translated else ():
            platform = design.catalogue.platforms.get(nos)
            if platform is not None and _missing(platform, *self.asks):
                yield self.finding(
                    where,
                    f"{platform.name} on the border leafs has no nat, which is asked for by {list_names(translated)}",
                    "a NOS with nat, such as frr",
                    nos,
                    "set leaf and nos of networks.business.border to one that has it, or take nat away",
                )


class SessionFeatures(Rule):
    """Build fabrics on a NOS that leaves a dead way quickly and spreads over all others.

    What it checks:
        The NOS of every network of two or more tiers has the features bfd and ecmp.

    Why it matters:
        Without BFD a link that loses packets, but not its light, is used until the hold time ends. Without ECMP all traffic of a
        leaf takes one uplink.

    How to fix:
        Choose another `nos`.

    Source:
        `features` of templates/switch/NOS/platform.yml; RFC 5882; RFC 7938, Fault Detection Timing.
    """

    id, title, by_intent = "NOS009", "fabric on a NOS without BFD or ECMP", False
    asks = ("bfd", "ecmp")

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network, platform, nos, where in _systems(design):
            if network.tiers > 1 and (missing := _missing(platform, *self.asks)):
                yield self.finding(
                    where,
                    f"{network.name} is a fabric of {network.tiers} tiers, and {platform.name} has no {' and no '.join(missing)}",
                    "a NOS with bfd and ecmp",
                    nos,
                    "choose another nos",
                )


class WatchdogAction(Rule):
    """Ask the PFC watchdog for what it can do.

    What it checks:
        With `lossless.watchdog.action: forward`, the NOS of each lossless network has the feature pfc_watchdog_forward.

    Why it matters:
        The switch drops the queue all the same: who counted on its packets loses them, on some switches and not on others.

    How to fix:
        Delete `action`, so that all switches drop, or choose another `nos`.

    Source:
        `features` of templates/switch/NOS/platform.yml. On Cumulus Linux a storm's queue is always dropped (CumulusNetworks/docs,
        Quality of Service, PFC Watchdog).
    """

    id, title = "NOS010", "PFC watchdog with an action that the NOS does not have"
    asks = ("pfc_watchdog_forward",)

    def find(self, design: Design) -> Iterator[Diagnostic]:
        lossless = design.plan.lossless
        if not lossless.watchdog or lossless.watchdog_action != "forward":
            return
        for network in design.lossless:
            platform = design.platform(network)
            if platform and platform.features.pfc_watchdog and _missing(platform, *self.asks):
                yield self.finding(
                    "lossless.watchdog.action",
                    f"switches of {network.name} shall forward during a PFC storm, and {platform.name} can only drop",
                    "drop, or a NOS with pfc_watchdog_forward",
                    f"forward on {network.nos}",
                    "delete action: forward",
                )
