"""Racks, their PDUs and their power, and how things hang on the out-of-band network."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rack:
    """A rack with its power: `power_w` is what it may draw in all, `feed_w` what one of its `feeds` carries."""

    name: str
    row: str
    position: int
    group: str
    height_u: int
    power_w: float
    feeds: int
    feed_w: float
    pdu: str
    x_m: float
    y_m: float
    blocked: bool
    reason: str
    where: str


@dataclass(frozen=True, slots=True)
class Management:
    """An out-of-band attachment: address with length, gateway, MAC, and the leaf port it is plugged into."""

    address: str
    gateway: str
    mac: str
    peer: str
    peer_port: str


@dataclass(frozen=True, slots=True)
class Pdu:
    """A PDU: one per rack and feed."""

    name: str
    rack: str
    feed: int  # from 1
    model: str
    management: Management | None
    serial: str
    where: str


@dataclass(frozen=True, slots=True)
class RackPower:
    """Power of one rack, W. A load is a maximum with optics; `feed_*` is of the fullest feed."""

    rack: str
    load_w: float
    optics_w: float
    limit_w: float
    feeds: int
    feed_limit_w: float
    feed_load_w: float
    feed_lost_load_w: float  # fullest remaining feed with one lost, uncapped
    gpu_cap_w: int
    gpu_cap_feed_lost_w: int
    fits: bool
    fits_feed_lost: bool
