"""What the business network has beside other fabrics: how leaf pairs share bonds, and which switches its border has."""

from __future__ import annotations

from cluster_model.catalogue.platform_types import Platform, parse_release
from cluster_model.intent.model.business import BusinessNetwork
from cluster_model.plan.context import Context, SwitchModel, resolve_switch
from cluster_model.plan.model.overlay import Homing

PEER_LINKS = 2
"""Cables between the two leafs of an MLAG pair: one may fail."""
MULTIHOMING = "evpn_multihoming"


def resolve_homing(intent: BusinessNetwork, platform: Platform) -> tuple[Homing, str]:
    """Return how two leafs of a platform share a bond, and in words what decided it.

    What the intent names stands, possible or not: the design rules judge it.
    """
    if intent.leafs_per_unit == 1:
        return "single", "leafs_per_unit is 1, so a bond ends on one switch"
    if intent.homing == "esi":
        return "esi", "homing is set to esi, so leaf pairs share Ethernet segments"
    if intent.homing == "mlag":
        return "mlag", "homing is set to mlag, so leaf pairs are MLAG"
    release = intent.release or platform.release
    system, since = f"{platform.name} {release}".strip(), platform.since.get(MULTIHOMING, "")
    if has_feature(platform, MULTIHOMING, intent.release):
        return "esi", f"{system} has EVPN multihoming, so leaf pairs share Ethernet segments"
    came = f" (it came with {since})" if since else ""
    return "mlag", f"{system} has no EVPN multihoming{came}, so leaf pairs are MLAG"


def has_feature(platform: Platform, name: str, release: str | None = None) -> bool:
    """Return whether a platform has a feature in a release; default: the one that its file is written for."""
    since = platform.since.get(name)
    if release and since:
        return parse_release(release) >= parse_release(since)
    return platform.features.has(name)


def resolve_border(ctx: Context, intent: BusinessNetwork, leaf: SwitchModel | None) -> SwitchModel | None:
    """Return the model of the border leafs, with their NOS; None where there is no border, or with findings.

    Errors: HWR001, HWR002, NOS001.
    """
    border = intent.border
    if border is None:
        return None
    if border.leaf is None and border.nos is None:
        return leaf
    where = "networks.business"
    nos_where = f"{where}.border.nos" if border.nos else f"{where}.nos" if intent.nos else where
    model_where = f"{where}.border.leaf" if border.leaf else f"{where}.leaf"
    return resolve_switch(ctx, border.leaf or intent.leaf, border.nos or intent.system, "ethernet", model_where, nos_where)
