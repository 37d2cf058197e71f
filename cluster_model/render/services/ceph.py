"""Ceph in the rendered tree: the CRUSH map as planned, and what can be stored in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cluster_model.catalogue.load import Catalogue
from cluster_model.plan.model import Plan
from cluster_model.render.ceph.capacity import describe_summary, summarize_capacity
from cluster_model.render.ceph.crush import render_crush
from cluster_model.render.services import RenderedService


def render_ceph(plan: Plan, _catalogue: Catalogue) -> Iterator[tuple[str, bytes]]:
    """Yield its files; none where the plan has no Ceph."""
    if plan.ceph.hosts:
        yield from render_crush(plan)


def summarize(plan: Plan) -> dict[str, Any]:
    """Return its capacity and waterline; nothing where the plan has no Ceph."""
    return summarize_capacity(plan.ceph)


def describe(plan: Plan) -> Iterator[str]:
    """Yield one line, where there is one."""
    if plan.ceph.hosts:
        yield f"\n{describe_summary(plan.ceph)}"


SERVICE = RenderedService("ceph", "ceph", render_ceph, summarize, describe)
