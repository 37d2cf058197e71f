# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about what a network operating system does beside forwarding: management, names, time, faults. Part of the NOS family."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cluster_model.catalogue.platform_types import Platform, parse_release
from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic


def _find_systems(design: Design, lacks: Callable[[Platform], bool]) -> dict[str, tuple[Platform, list[str], str]]:
    """Return platform, its networks and the intent path that chooses it, by the name of each NOS that lacks something."""
    found: dict[str, tuple[Platform, list[str], str]] = {}
    for network in design.routed:
        for nos, where in design.systems(network).items():
            platform: Platform | None = design.catalogue.platforms.get(nos)
            if platform is not None and lacks(platform):
                found.setdefault(nos, (platform, [], where))[1].append(network.name)
    return found


class ManagementVrf(Rule):
    """Keep management out of the fabric's routes.

    What it checks:
        The NOS of every switch with a management port has the feature mgmt_vrf.

    Why it matters:
        The management port's default route and the fabric's are one table: traffic of hosts may leave by the management port,
        and a fault of the fabric takes the way to its switches with it.

    How to fix:
        Choose another `nos`.

    Source:
        `features` of templates/switch/NOS/platform.yml.
    """

    id, title, by_intent = "NOS011", "management port on a NOS without a VRF for it", False
    asks = ("mgmt_vrf",)

    def find(self, design: Design) -> Iterator[Diagnostic]:
        managed = {switch.nos for switch in design.plan.switches if switch.management is not None}
        lacking = _find_systems(design, lambda platform: not platform.features.mgmt_vrf)
        for nos, (platform, networks, where) in lacking.items():
            if nos in managed:
                yield self.finding(
                    where,
                    f"switches of {list_names(networks)} have a management port, and {platform.name} has no mgmt_vrf",
                    "a NOS with mgmt_vrf",
                    nos,
                    "choose another nos",
                )


class SnmpFeature(Rule):
    """Name SNMP managers only for switches that answer them.

    What it checks:
        With `site.snmp_managers`, the NOS of every network has the feature snmp.

    Why it matters:
        These switches stay silent: their ports and temperatures are missing in every graph and every alert.

    How to fix:
        Choose another `nos`, or watch these switches in another way.

    Source:
        `features` of templates/switch/NOS/platform.yml.
    """

    id, severity, title, by_intent = "NOS012", "warning", "SNMP managers and a NOS without SNMP", False
    asks = ("snmp",)

    def find(self, design: Design) -> Iterator[Diagnostic]:
        if not design.plan.site.snmp_managers:
            return
        for nos, (platform, networks, _) in _find_systems(design, lambda platform: not platform.features.snmp).items():
            yield self.finding(
                "site.snmp_managers",
                f"SNMP managers are named, and switches of {list_names(networks)} run {platform.name}, which has no snmp",
                "systems with snmp",
                nos,
                "choose another nos, or watch these switches in another way",
            )


class LldpFeature(Rule):
    """Let switches say which cable is plugged in where.

    What it checks:
        The NOS of every network has the feature lldp.

    Why it matters:
        `gpuyard verify cabling` reads LLDP. Without it a swapped cable is found by the jobs that run slowly over it.

    How to fix:
        Choose another `nos`, or check these switches' cables by hand.

    Source:
        `features` of templates/switch/NOS/platform.yml; IEEE 802.1AB.
    """

    id, severity, title, by_intent = "NOS013", "warning", "cables that nobody can verify from afar", False
    asks = ("lldp",)

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for nos, (platform, networks, where) in _find_systems(design, lambda platform: not platform.features.lldp).items():
            yield self.finding(
                where,
                f"{platform.name} has no lldp, so the cables of {list_names(networks)} cannot be verified",
                "a NOS with lldp",
                nos,
                "choose another nos, or check these cables by hand",
            )


class ServiceLimits(Rule):
    """Name no more resolvers and time servers than switches take.

    What it checks:
        The lengths of `site.dns` and `site.ntp` against `resolvers` and `time_servers` of each NOS.

    Why it matters:
        The first ones are written and the others left out: the one that was meant to answer when those fail is never asked.

    How to fix:
        Put those that must be asked first, or shorten the list.

    Source:
        sonic-dns.yang and sonic-ntp.yang of sonic-net/sonic-buildimage (3 and 10); resolv.conf(5): MAXNS is 3.
    """

    id, severity, title = "NOS014", "warning", "more resolvers or time servers than the NOS takes"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        site = design.plan.site
        services = {"dns": (site.dns, "resolvers", "resolvers"), "ntp": (site.ntp, "time_servers", "time servers")}
        for key, (named, field, words) in services.items():
            for nos, (platform, networks, _) in _find_systems(
                design,
                lambda platform, field=field, named=named: 0 < getattr(platform, field) < len(named),  # type: ignore[misc]
            ).items():
                limit = getattr(platform, field)
                yield self.finding(
                    f"site.{key}",
                    f"{len(named)} {words} are named, and switches of {list_names(networks)} take the first {limit}",
                    f"<= {limit} addresses ({platform.name})",
                    f"{len(named)} on {nos}",
                    f"put the {limit} that switches shall ask first, or delete {list_names(list(named[limit:]))}",
                )


class RouterMacsForgotten(Rule):
    """Run a release that keeps router MACs on leafs whose routes change next hops.

    What it checks:
        Where three or more leafs and border leafs of the business network exchange routes, their releases keep router MACs while
        next hops change. FRR does so from 8.5.3 and 9.0.1 on; Debian 12 has 8.4.4.

    Why it matters:
        When one of two border leafs, or of two leafs with the same subnet, goes or comes, the route stays and what follows it is
        dropped until the route is learnt anew: tenants are cut off for as long as nobody runs `clear bgp`, although another way
        is up.

    How to fix:
        Run a newer release there, and say so: `release` of networks.business, or of its border.

    Source:
        FRRouting/frr issue 12391, mended by pull request 12524; `mended` of templates/switch/NOS/platform.yml. The twin shows it.
    """

    id, severity, title = "NOS015", "warning", "router MACs that a change of next hops makes a leaf forget"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        network, intent = design.plan.network("business"), design.cluster.networks.business
        if network is None or intent is None or not network.evpn or network.leafs + network.borders < 3:
            return
        edges = [switch for switch in design.switches_of.get(network.name, []) if switch.role in {"leaf", "border"}]
        for role, key in (("leaf", ""), ("border", ".border")):
            names = [switch.name for switch in edges if switch.role == role]
            nos = next((switch.nos for switch in edges if switch.role == role), "")
            platform: Platform | None = design.catalogue.platforms.get(nos)
            since = platform.mended.get("router_macs") if platform is not None else None
            if platform is None or since is None:
                continue
            own = intent.border.release if key and intent.border is not None else None
            release = own or (intent.release if nos == network.nos else None) or platform.release
            if parse_release(release) < parse_release(since):
                yield self.finding(
                    f"networks.business{key}",
                    f"{platform.name} {release} on {list_names(names)} forgets router MACs when next hops change, and drops what "
                    "tenants send",
                    f"{platform.name} {since} or later",
                    release,
                    f"run {since} or later there, and set networks.business{key}.release to what runs",
                )


class NoLogs(Rule):
    """Keep what switches say in another place than the switch.

    What it checks:
        `site.syslog` names a log collector.

    Why it matters:
        A switch keeps its log on itself, some in memory: after a reboot nobody can say what came before it, and what happened on
        a hundred switches at once has to be read on each.

    How to fix:
        Name a collector under `site.syslog`.

    Source:
        NIST SP 800-92, Guide to Computer Security Log Management, section 3.1: hosts hand their logs to log servers.
    """

    id, severity, title = "NOS019", "info", "switches that log to nobody"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        if not design.cluster.site.syslog and design.routed:
            yield self.finding(
                "site",
                "switches keep their logs to themselves: the site names no log collector",
                "an address under site.syslog",
                "none",
                "add syslog: [ADDRESS] to site",
            )
