"""What drawings and tables share: kinds with their colours, and how numbers are written."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from jinja2 import Environment

from cluster_model.paths import TEMPLATES
from cluster_model.plan.model import Server, Switch
from cluster_model.plan.model.ceph import Tier
from cluster_model.render.templating import open_templates


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of device: CSS class, words of the legend, fill."""

    css: str
    words: str
    fill: str


KINDS = {
    "gpu": Kind("k-gpu", "GPU server", "#3f7d5c"),
    "storage": Kind("k-sto", "storage server", "#7b61a6"),
    "server": Kind("k-srv", "other server", "#76818e"),
    "compute-leaf": Kind("k-cl", "compute leaf", "#3477b8"),
    "compute-spine": Kind("k-cs", "compute spine, core", "#1d4f86"),
    "storage-switch": Kind("k-ss", "storage switch", "#b9812b"),
    "business-switch": Kind("k-bs", "business switch", "#2f8583"),
    "border-switch": Kind("k-bd", "border leaf", "#b0563f"),
    "oob-switch": Kind("k-os", "out-of-band switch", "#56616e"),
    "pdu": Kind("k-pdu", "PDU", "#b4bec9"),
}
RAIL_COLOURS = (
    "#cf4d5c", "#e0813d", "#d3a625", "#6b9a4b", "#2f9c8f", "#3b84c4", "#6d62c9", "#b25fbd",
    "#8c3b47", "#9a5a2a", "#8f7018", "#496a33", "#206b62", "#285b87", "#4a438a", "#7a4182",
)  # fmt: skip

BEGINS = {"itself": "by itself", "part": "in part", "word": "on your word"}
"""How Ceph begins to rebuild what is lost, in words."""


def kind_of_server(server: Server) -> Kind:
    """Return the kind of a server: by what it is bought for."""
    if server.gpus:
        return KINDS["gpu"]
    return KINDS["storage" if server.role == "storage" else "server"]


def kind_of_switch(switch: Switch) -> Kind:
    """Return the kind of a switch: by its network, and for the compute network by its tier."""
    if switch.network == "compute":
        return KINDS["compute-leaf" if switch.role == "leaf" else "compute-spine"]
    if switch.role == "border":
        return KINDS["border-switch"]
    return KINDS.get(f"{switch.network}-switch", KINDS["oob-switch"])


def format_kw(power_w: float) -> str:
    """Return kW with one decimal."""
    return f"{power_w / 1000:.1f}"


def format_power(power_w: float) -> str:
    """Return a power in kW, in MW from 1,000 kW up."""
    return f"{power_w / 1e6:,.2f} MW" if power_w >= 1e6 else f"{power_w / 1000:,.1f} kW"


def format_rate(rate_gbps: float) -> str:
    """Return a rate in Tb/s from 1,000 Gb/s up."""
    return f"{rate_gbps / 1000:,.1f} Tb/s" if rate_gbps >= 1000 else f"{rate_gbps:,.0f} Gb/s"


def format_count(number: int, word: str) -> str:
    """Return a number and its noun, in the plural where it is one."""
    plural = word + ("es" if word.endswith(("ch", "s", "x")) else "s")
    return f"{number:,} {word if number == 1 else plural}"


@cache
def environment() -> Environment:
    """Return the templates of drawings and page; everything is escaped, and a missing name is an error."""
    env = open_templates(TEMPLATES, markup=True)
    env.globals.update(kinds=tuple(KINDS.values()), rail_colours=RAIL_COLOURS)
    env.filters.update(kw=format_kw, rate=format_rate)
    return env


def word_osds(tier: Tier) -> str:
    """Return how many OSDs a class of drives has, and of which sizes."""
    sizes = " and ".join(f"{size:g}" for size in sorted({host.osd_tb for host in tier.hosts}))
    return f"{format_count(tier.osds, 'OSD')} of {sizes} TB ({tier.device_class})"
