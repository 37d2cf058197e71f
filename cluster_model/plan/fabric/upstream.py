"""The way out of the out-of-band network: ports to the site's own router."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Network

from cluster_model.catalogue.cages import Cage
from cluster_model.catalogue.types import Mode
from cluster_model.intent.model.networks import Upstream as Intent
from cluster_model.plan.context import Context
from cluster_model.plan.draft import SwitchDraft
from cluster_model.plan.fabric.addressing import text
from cluster_model.plan.fabric.links import Link
from cluster_model.plan.fabric.shape import FabricShape
from cluster_model.plan.model import Upstream
from cluster_model.plan.ports import mode_for, name_port

SIZES = {30: 1, 31: 0}
"""Prefix lengths of a link, with how far its first usable address is from the prefix (RFC 3021 for /31)."""


def lead_out(ctx: Context, shape: FabricShape, drafts: list[SwitchDraft], links: list[Link]) -> None:
    """Give switches their ports to the site's router: the last cages that no planned link takes. Errors: NET018."""
    by_name = {draft.name: draft for draft in drafts if draft.built}
    planned: dict[str, set[int]] = {}
    for link in links:
        planned.setdefault(link.near, set()).add(link.near_cage)
        planned.setdefault(link.far.name, set()).add(link.seat.cage)
    for index, intent in enumerate(ctx.cluster.networks.oob.upstreams):
        where = f"networks.oob.upstreams.{index}"
        draft = by_name.get(intent.switch)
        if draft is None:
            known = [d.name for d in by_name.values() if d.role != "leaf"] or list(by_name)
            ctx.report(
                "NET018",
                f"{where}.switch",
                f"there is no out-of-band switch {intent.switch}",
                expected=f"one of {', '.join(known[:8])}",
                actual=intent.switch,
                fix=f"set switch to {known[0]}" if known else "build a switch first",
            )
        elif intent.prefix.prefixlen not in SIZES:
            ctx.report(
                "NET018",
                f"{where}.prefix",
                "a link to the site's router has two ends",
                expected="a /30 or /31",
                actual=str(intent.prefix),
                fix=f"set prefix to {intent.prefix.network_address}/31, or what the site gives the link",
            )
        elif not _plug(shape, draft, intent, planned.setdefault(draft.name, set())):
            ctx.report(
                "NET018",
                f"{where}.switch",
                f"{intent.switch} has no cage left for the site's router",
                expected=f"a free cage that runs at {shape.fabric_speed_gbps} Gb/s",
                actual="none",
                fix="name another switch, or choose a model with more ports",
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


def _plug(shape: FabricShape, draft: SwitchDraft, intent: Intent, taken: set[int]) -> bool:
    for cage in reversed(draft.model.cages):
        mode = mode_for(cage, shape.fabric_speed_gbps)
        if mode is None or cage.number in taken:
            continue
        taken.add(cage.number)
        own, gateway = cut_link(intent.prefix)
        way = Upstream(open_cage(draft, cage, mode), cage.number, mode.speed_gbps, own, gateway)
        draft.upstreams = (*draft.upstreams, way)
        return True
    return False
