"""The shape of ConfigDB: tables of rows of strings, and the ports that rows are about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Row = Mapping[str, str | list[str]]
Table = dict[str, Row]
Config = dict[str, Table]


@dataclass(frozen=True, slots=True)
class CageSlot:
    """A port as a cage's mode makes it, cabled or not. `idle` is its PORT row while nothing is plugged in."""

    name: str
    cage: int
    idle: dict[str, str]
