"""The border's ports to external peers: in the cages that the intent names, at the addresses that peers expect."""

from __future__ import annotations

from cluster_model.catalogue.cages import Cage
from cluster_model.intent.model.business import BorderLink, BusinessNetwork
from cluster_model.plan.context import Context
from cluster_model.plan.draft import SwitchDraft
from cluster_model.plan.fabric.shape import FabricShape
from cluster_model.plan.fabric.upstream import SIZES, cut_link, open_cage
from cluster_model.plan.model.overlay import ExternalPort
from cluster_model.plan.ports import mode_for, usable_modes


def plug_peers(ctx: Context, shape: FabricShape, borders: list[SwitchDraft]) -> None:
    """Give border leafs their ports to external peers, peers in the order of their ids. Errors: NET021."""
    intent = shape.intent
    if not isinstance(intent, BusinessNetwork) or intent.border is None:
        return
    by_index = {draft.index: draft for draft in borders}
    owners: dict[tuple[int, int], str] = {}  # border leaf and cage → who is plugged in
    for draft in borders:
        up = ctx.layout(draft.model, (), (shape.fabric_speed_gbps, shape.clos.uplinks)).up
        owners.update(((draft.index, seat.cage), "an uplink") for seat in up)
    for name, peer in sorted(intent.border.peers.items(), key=lambda item: item[1].id):
        met: set[int] = set()
        for number, link in enumerate(peer.links):
            where = f"{shape.where}.border.peers.{name}.links.{number}"
            leaf = _choose_leaf(ctx, by_index, link, where, name, met)
            if leaf is None:
                continue
            met.add(link.border)
            cage = _choose_cage(ctx, leaf, link, where, peer.id, owners)
            if cage is not None and _has_two_ends(ctx, link, where):
                owners[leaf.index, cage.number] = name
                _plug(ctx, leaf, cage, link.speed_gbps or shape.fabric_speed_gbps, link, where, name)


def _choose_leaf(
    ctx: Context, by_index: dict[int, SwitchDraft], link: BorderLink, where: str, peer: str, met: set[int]
) -> SwitchDraft | None:
    if link.border not in by_index:
        ctx.report(
            "NET021",
            f"{where}.border",
            f"there is no border leaf {link.border}",
            expected=f"1 to {len(by_index)}: as many border leafs as leafs_per_unit"
            if len(by_index) > 1
            else "1 (leafs_per_unit)",
            actual=str(link.border),
            fix="leave the link out, or set leafs_per_unit to 2",
        )
        return None
    if link.border in met:
        ctx.report(
            "NET021",
            f"{where}.border",
            f"{peer} already has a link to border leaf {link.border}",
            expected="one link of a peer per border leaf",
            actual="two",
            fix="set border to the other leaf, or make it a peer of its own",
        )
        return None
    return by_index[link.border]


def _choose_cage(
    ctx: Context, draft: SwitchDraft, link: BorderLink, where: str, peer_id: int, owners: dict[tuple[int, int], str]
) -> Cage | None:
    number = link.cage or peer_id
    cage = next((cage for cage in draft.model.cages if cage.number == number), None)
    owner = owners.get((draft.index, number))
    if cage is not None and owner is None:
        return cage
    free = [str(c.number) for c in draft.model.cages if (draft.index, c.number) not in owners]
    ctx.report(
        "NET021",
        f"{where}.cage" if link.cage else where,
        f"cage {number} of {draft.name} is taken by {owner}" if owner else f"{draft.name} has no cage {number}",
        expected=f"a free cage of {draft.model.ref}" if owner else f"a cage of {draft.model.ref}",
        actual=f"{number}" if link.cage else f"{number}, the peer's id",
        fix=f"set cage to {free[0]}" if free else "choose a border leaf with more cages",
    )
    return None


def _has_two_ends(ctx: Context, link: BorderLink, where: str) -> bool:
    if link.prefix.prefixlen in SIZES:
        return True
    ctx.report(
        "NET021",
        f"{where}.prefix",
        "a link to an external peer has two ends",
        expected="a /30 or /31",
        actual=str(link.prefix),
        fix=f"set prefix to {link.prefix.network_address}/31, or what the peer gives the link",
    )
    return False


def _plug(ctx: Context, draft: SwitchDraft, cage: Cage, speed_gbps: int, link: BorderLink, where: str, peer: str) -> None:
    mode = mode_for(cage, speed_gbps)
    if mode is None:
        known = sorted({mode.speed_gbps for mode in usable_modes(cage)}, reverse=True)
        ctx.report(
            "NET021",
            f"{where}.speed_gbps" if link.speed_gbps else where,
            f"cage {cage.number} of {draft.name} does not run at {speed_gbps} Gb/s",
            expected=f"one of {', '.join(map(str, known))} Gb/s ({draft.model.ref})",
            actual=f"{speed_gbps} Gb/s" if link.speed_gbps else f"{speed_gbps} Gb/s, that of the fabric's links",
            fix=f"set speed_gbps to {known[0]}, or choose another cage",
        )
        return
    own, far = cut_link(link.prefix)
    port = open_cage(draft, cage, mode)
    external = ExternalPort(peer, port, cage.number, mode.speed_gbps, own, far, mtu_bytes=link.mtu_bytes)
    draft.external_ports.append(external)
