"""A routed fabric as it is wanted: what the intent and the catalogue say of it, before anything is counted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from cluster_model.catalogue.ground import Technology
from cluster_model.intent.model.business import BusinessNetwork
from cluster_model.intent.model.networks import ComputeNetwork, Fabric, OobNetwork, StorageNetwork
from cluster_model.intent.phases import sort_groups
from cluster_model.kinds import BMC_SPEED_GBPS, NetworkKind
from cluster_model.plan.context import Context, SwitchModel, resolve_switch
from cluster_model.plan.fabric.business import PEER_LINKS, resolve_border, resolve_homing
from cluster_model.plan.fabric.legs import Leg, plan_legs, role_of
from cluster_model.plan.model.overlay import Homing
from cluster_model.plan.ports import list_speeds, speeds_of
from cluster_model.plan.refusal import Refused


@dataclass(frozen=True, slots=True)
class Models:
    """The switch models of a network, one per tier."""

    leaf: SwitchModel
    spine: SwitchModel
    core: SwitchModel
    border: SwitchModel | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """A fabric before it is sized.

    Args:
        kind: what follows from what it is for.
        intent: what the intent says of it.
        technology: what its links speak.
        models: its switches.
        legs: links of one server, by server group, in the order of `sort_groups`.
        leafs_per_unit: leafs that share the servers of a unit: as many as links name where rails decide, else as the intent says.
        managers: groups of fabric managers.
        homing: how two leafs share a bond: esi, mlag or single; empty where hosts have none.
        homing_reason: what decided it, in words.
    """

    kind: NetworkKind
    intent: ComputeNetwork | StorageNetwork | BusinessNetwork | OobNetwork
    technology: Technology
    models: Models
    legs: dict[str, tuple[Leg, ...]]
    leafs_per_unit: int = 1
    managers: tuple[str, ...] = ()
    homing: Homing | Literal[""] = ""
    homing_reason: str = ""

    @property
    def where(self) -> str:
        """Return the intent path."""
        return f"networks.{self.kind.name}"

    @property
    def railed(self) -> bool:
        """Return whether rails have leafs of their own."""
        return _is_railed(self.intent)

    @property
    def peer_links(self) -> int:
        """Return the links between the two leafs of a unit, each in a cage of its own."""
        return PEER_LINKS if self.homing == "mlag" and self.leafs_per_unit == 2 else 0

    @property
    def borders(self) -> int:
        """Return the border leafs: one unit without servers, behind all others."""
        return self.leafs_per_unit if self.models.border else 0

    @property
    def host_speed_gbps(self) -> int:
        """Return the fastest link of a server."""
        return max(leg.speed_gbps for legs in self.legs.values() for leg in legs)


def resolve_models(ctx: Context, fabric: Fabric, where: str, nos: str, technology: Technology) -> Models | None:
    """Return the leaf, spine and core models of a network, or None with findings (HWR001, HWR002, NOS001, NET002)."""
    refs = {"leaf": fabric.leaf, "spine": fabric.spine or fabric.leaf}
    refs["core"] = fabric.core or refs["spine"]
    found: dict[str, SwitchModel | None] = {}
    for tier, ref in refs.items():
        stated = {"leaf": True, "spine": fabric.spine is not None, "core": fabric.core is not None}[tier]
        if not stated:
            found[tier] = found["leaf" if tier == "spine" else "spine"]
            continue
        nos_where = f"{where}.nos" if fabric.nos else where
        found[tier] = resolve_switch(ctx, ref, nos, technology, f"{where}.{tier}", nos_where)
    leaf, spine, core = found["leaf"], found["spine"], found["core"]
    if leaf is None or spine is None or core is None:
        return None
    if isinstance(fabric, OobNetwork) and BMC_SPEED_GBPS not in speeds_of(leaf.cages):
        ctx.report(
            "NET002",
            f"{where}.leaf",
            f"BMCs and leaf {leaf.ref} share no speed: it has no port of {BMC_SPEED_GBPS} Gb/s",
            expected=f"{BMC_SPEED_GBPS} Gb/s, for BMCs, PDUs and management ports",
            actual=f"{list_speeds(leaf.cages)} Gb/s (the leaf's)",
            fix=f"choose a leaf with ports of {BMC_SPEED_GBPS} Gb/s; gpuyard catalogue shows what ports each has",
        )
        return None
    return Models(leaf, spine, core)


def resolve_fabric(ctx: Context, kind: NetworkKind) -> tuple[Technology, Models] | None:
    """Return what a network speaks, and its models, border included; None where there is no network, or with findings.

    Errors: HWR001, HWR002, NOS001.
    """
    intent = getattr(ctx.cluster.networks, kind.name)
    if intent is None:
        return None
    where = f"networks.{kind.name}"
    technology: Technology = "ethernet"
    if isinstance(intent, ComputeNetwork) and intent.technology == "infiniband":
        technology = "infiniband"
    models = resolve_models(ctx, intent, where, "infiniband" if technology == "infiniband" else intent.system, technology)
    if not isinstance(intent, BusinessNetwork):
        return None if models is None else (technology, models)
    border = resolve_border(ctx, intent, None if models is None else models.leaf)
    if models is None or (border is None and intent.border):
        return None
    return technology, Models(models.leaf, models.spine, models.core, border)


def want_fabric(ctx: Context, kind: NetworkKind) -> Wanted | None:
    """Return a network as wanted; None where there is none, or with findings (HWR001, HWR002, HWR003, NOS001, NET002).

    Raises:
        Refused: NET008.
    """
    resolved = resolve_fabric(ctx, kind)
    if resolved is None:
        return None
    technology, models = resolved
    intent = getattr(ctx.cluster.networks, kind.name)
    before = len(ctx.findings)
    groups = sort_groups(ctx.cluster)
    managers = tuple(g for g in groups if ctx.cluster.servers[g].manages == kind.name)
    if technology != "infiniband":
        _refuse_managers(ctx, managers, f"{kind.name} is {getattr(intent, 'technology', technology)}")
    hosts = [g for g in groups if g not in managers and role_of(g, ctx.cluster.servers[g]) != "fabric-manager"]
    legs = {g: plan_legs(ctx, g, kind.name, intent, models.leaf) for g in hosts}
    legs = {g: found for g, found in legs.items() if found}
    if len(ctx.findings) > before and ctx.failed():
        return None
    if not legs:
        name = kind.name
        raise Refused(
            "NET008",
            f"no server has a port for the {name} network",
            expected=f"a server group with {name} ports",
            actual="none",
            fix=f"choose a server model with {name} ports, name them under servers.<group>.nics, or leave the network out",
        )
    leafs = 1 + max(leg.leaf for found in legs.values() for leg in found) if _is_railed(intent) else intent.leafs_per_unit
    wanted = Wanted(kind, intent, technology, models, legs, leafs, managers)
    if isinstance(intent, BusinessNetwork):
        homing, reason = resolve_homing(intent, models.leaf.platform)
        return replace(wanted, homing=homing, homing_reason=reason)
    return wanted


def _is_railed(intent: object) -> bool:
    return isinstance(intent, ComputeNetwork) and intent.design == "rail-optimized"


def _refuse_managers(ctx: Context, managers: tuple[str, ...], actual: str) -> None:
    for g in managers:
        ctx.report(
            "HWR002",
            f"servers.{g}.manages",
            "a fabric manager runs InfiniBand networks only",
            expected="a network with technology infiniband",
            actual=actual,
            fix="leave the group out, or let it manage a network that speaks InfiniBand",
        )
