"""The way out of the out-of-band network: ports to the site's own router."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Network

from cluster_model.catalogue.cages import Cage
from cluster_model.catalogue.types import Mode
from cluster_model.intent.model.networks import Upstream as Intent
from cluster_model.plan.cabling.links import Link
from cluster_model.plan.context import Context
from cluster_model.plan.draft import SwitchDraft
from cluster_model.plan.fabric.addressing import text
from cluster_model.plan.fabric.shape import FabricShape
from cluster_model.plan.model import Upstream
from cluster_model.plan.ports import mode_for, name_port

SIZES = {30: 1, 31: 0}
"""Prefix lengths of a link, with how far its first usable address is from the prefix (RFC 3021 for /31)."""


TOP_FIRST = ("core", "spine", "leaf")
SPARES = tuple(map(IPv4Network, ("10.255.255.0/24", "172.31.255.0/24", "192.168.255.0/24")))
"""Where a link's prefix is looked for when nothing better is known: the last /24 of each private range (RFC 1918)."""


def lead_out(ctx: Context, shape: FabricShape, drafts: list[SwitchDraft], links: list[Link]) -> None:
    """Give switches their ports to the site's router: the last cages that no planned link takes. Errors: NET018, NET019."""
    by_name = {draft.name: draft for draft in drafts if draft.built}
    planned: dict[str, set[int]] = {}
    for link in links:
        planned.setdefault(link.near, set()).add(link.near_cage)
        planned.setdefault(link.far.name, set()).add(link.seat.cage)
    asked = ctx.cluster.networks.oob.upstreams
    able = [draft for draft in by_name.values() if _find_cage(shape, draft, planned.get(draft.name, set()))]
    named = {upstream.switch for upstream in asked}
    # Of a group of cores one, as long as there are others: each spine of a pod meets another group.
    able.sort(key=lambda draft: (draft.name in named, TOP_FIRST.index(draft.role), draft.index if draft.role == "core" else 0))
    others = [draft.name for draft in able]
    highest = [draft.name for draft in able if draft.role == able[0].role]
    if not asked:
        _miss_way(ctx, shape, others)
    for index, intent in enumerate(asked):
        where = f"networks.oob.upstreams.{index}"
        draft = by_name.get(intent.switch)
        another = f"set switch to {others[0]}" if others else "take a model with more ports for networks.oob.spine"
        if draft is None:
            ctx.report(
                "NET018",
                f"{where}.switch",
                f"there is no out-of-band switch {intent.switch}",
                expected=f"one of {', '.join(highest[:8])}" if highest else "a switch with a free cage, and none has one",
                actual=intent.switch,
                fix=another,
            )
            others = others[1:] + others[:1]  # the next one that is not there gets another
        elif intent.prefix.prefixlen not in SIZES:
            free = find_free_prefix(IPv4Network((intent.prefix.network_address, 31)), _list_taken(ctx, index))
            ctx.report(
                "NET018",
                f"{where}.prefix",
                "a link to the site's router has two ends",
                expected="a /30 or /31",
                actual=str(intent.prefix),
                fix=f"set prefix to {free}, or what the site gives the link",
            )
        elif not _plug(shape, draft, intent, planned.setdefault(draft.name, set())):
            ctx.report(
                "NET018",
                f"{where}.switch",
                f"{intent.switch} has no cage left for the site's router",
                expected=f"a free cage that runs at {shape.fabric_speed_gbps} Gb/s",
                actual="none",
                fix=another,
            )
            others = others[1:] + others[:1]


def find_free_prefix(near: IPv4Network, taken: list[IPv4Network]) -> IPv4Network:
    """Return a prefix as long that overlaps nothing taken: the next one, or one of `SPARES`; `near` where none is free.

    >>> find_free_prefix(IPv4Network("10.255.255.0/31"), [IPv4Network("10.255.255.0/30")])
    IPv4Network('10.255.255.4/31')
    """
    inside = any(near != other and near.subnet_of(other) for other in taken)
    for start in SPARES if inside else (near, *SPARES):
        first = int(start.network_address)
        for place in range(first, min(first + 256, 2**32), near.num_addresses):
            found = IPv4Network((place, near.prefixlen))
            if not any(found.overlaps(other) for other in taken):
                return found
    return near


def _list_taken(ctx: Context, but: int = -1) -> list[IPv4Network]:
    """Return what a link to the site's router may not have addresses of; `but` is the number of the link that they are for."""
    networks, kubernetes, site = ctx.cluster.networks, ctx.cluster.kubernetes, ctx.cluster.site
    fabrics = (networks.compute, networks.storage, networks.business, networks.oob)
    taken = [fabric.pool for fabric in fabrics if fabric is not None and fabric.pool is not None]
    taken += [kubernetes.pod_pool, kubernetes.service_pool] if kubernetes is not None else []
    taken += [upstream.prefix for index, upstream in enumerate(networks.oob.upstreams) if index != but]
    return taken + [IPv4Network(address) for address in (*site.dns, *site.ntp, *site.syslog, *site.snmp_managers)]


def _miss_way(ctx: Context, shape: FabricShape, able: list[str]) -> None:
    """Tell where the site has services that no link leads to, with the links that would."""
    site = ctx.cluster.site
    services = list(map(str, (*site.dns, *site.ntp, *site.syslog, *site.snmp_managers)))
    more = f" and {len(services) - 3} more" if len(services) > 3 else ""
    if not services:
        return
    taken, ways = _list_taken(ctx), []
    # With one tier nothing joins the leafs but the router, so that each needs a link; else two, on two switches (NET023, NET024).
    for switch in able if shape.clos.tiers == 1 else able[:2]:
        prefix = find_free_prefix(IPv4Network("10.255.255.0/31"), taken)
        taken.append(prefix)
        ways.append(f"{{switch: {switch}, prefix: {prefix}}}")
    ctx.report(
        "NET019",
        "networks.oob",
        "no switch or BMC has a route to the site's services",
        expected="a link to the site's router under upstreams",
        actual=f"none, and services at {', '.join(services[:3])}{more}",
        fix=f"add this, with the prefixes that the site gives: upstreams: [{', '.join(ways)}]"
        if ways
        else "take a model with more ports for networks.oob.spine, and plug the site's router into it",
        severity="warning",
    )


def cut_link(prefix: IPv4Network) -> tuple[str, str]:
    """Return the two ends of a /30 or /31: our address with its length, and the far one, which is the first, without."""
    far = int(prefix.network_address) + SIZES[prefix.prefixlen]
    return f"{text(far + 1)}/{prefix.prefixlen}", text(far)


def open_cage(draft: SwitchDraft, cage: Cage, mode: Mode) -> str:
    """Run a cage of a switch in a mode, and return the name of its first port."""
    native = mode == cage.modes[0]
    draft.modes = tuple(
        replace(was, count=mode.count, speed_gbps=mode.speed_gbps, native=native) if was.cage == cage.number else was
        for was in draft.modes
    )
    return name_port((draft.model.platform.port_native, draft.model.platform.port_split), cage, mode, 0)


def _find_cage(shape: FabricShape, draft: SwitchDraft, taken: set[int]) -> tuple[Cage, Mode] | None:
    """Return the last free cage of a switch that runs at the speed of the fabric's links, with its mode."""
    for cage in reversed(draft.model.cages):
        mode = mode_for(cage, shape.fabric_speed_gbps)
        if mode is not None and cage.number not in taken:
            return cage, mode
    return None


def _plug(shape: FabricShape, draft: SwitchDraft, intent: Intent, taken: set[int]) -> bool:
    found = _find_cage(shape, draft, taken)
    if found is None:
        return False
    cage, mode = found
    taken.add(cage.number)
    own, gateway = cut_link(intent.prefix)
    way = Upstream(open_cage(draft, cage, mode), cage.number, mode.speed_gbps, own, gateway)
    draft.upstreams = (*draft.upstreams, way)
    return True
