"""The drawings: rack elevations, the fabrics, the tenants and Ceph, as SVG without any program but ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from cluster_model.plan.model import Plan
from cluster_model.render.drawings.fabric import lay_out_fabrics
from cluster_model.render.drawings.racks import lay_out_racks
from cluster_model.render.drawings.storage import lay_out_storage
from cluster_model.render.drawings.style import environment
from cluster_model.render.drawings.tenants import lay_out_tenants

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, escaped or not (section 2.2)."""


def render_diagrams(plan: Plan, grown: Plan | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield diagrams/racks.svg and rails.svg; where there are tenants, tenants.svg, and where there is Ceph, storage.svg."""
    yield "diagrams/racks.svg", draw_racks(plan, grown).encode()
    yield "diagrams/rails.svg", draw_fabrics(plan).encode()
    if plan.tenants:
        yield "diagrams/tenants.svg", draw_tenants(plan).encode()
    if plan.ceph.hosts:
        yield "diagrams/storage.svg", draw_storage(plan).encode()


def draw_racks(plan: Plan, grown: Plan | None = None) -> str:
    """Return the rack elevations as SVG; what only the grown plan has is drawn as planned."""
    return _draw("diagram/racks.svg.j2", lay_out_racks(plan, grown))


def draw_fabrics(plan: Plan) -> str:
    """Return the fabrics as SVG, the compute network first."""
    return _draw("diagram/rails.svg.j2", lay_out_fabrics(plan))


def draw_tenants(plan: Plan) -> str:
    """Return the tenants as SVG: who meets whom, and with which prefixes."""
    return _draw("diagram/sheet.svg.j2", lay_out_tenants(plan))


def draw_storage(plan: Plan) -> str:
    """Return Ceph as SVG: how far it can be filled, where its data lies, and its pools."""
    return _draw("diagram/sheet.svg.j2", lay_out_storage(plan))


def _draw(template: str, layout: Any) -> str:
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", environment().get_template(template).render(d=layout))
