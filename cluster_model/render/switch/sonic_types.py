"""The shape of ConfigDB: tables of rows of strings."""

from __future__ import annotations

from collections.abc import Mapping

Row = Mapping[str, str | list[str]]
Table = dict[str, Row]
Config = dict[str, Table]
