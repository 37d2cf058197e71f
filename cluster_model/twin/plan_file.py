"""plan.json back into a `Plan`: what the twin expects comes from the rendered tree alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import orjson

from cluster_model.plan.model import Plan

FORMAT = "gpuyard-plan-1"


class TreeError(Exception):
    """A rendered tree cannot be used; the text says which file, and why."""


def load_plan(folder: Path) -> Plan:
    """Return the plan that a rendered tree was made from.

    Raises:
        TreeError: there is no plan.json, or it was written by another version.
    """
    path = folder / "plan.json"
    try:
        body = orjson.loads(path.read_bytes())
    except OSError as error:
        raise TreeError(f"{path}: {error.strerror}: a rendered tree has a plan.json; run gpuyard render") from None
    except orjson.JSONDecodeError as error:
        raise TreeError(f"{path}: not JSON: {error}") from None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise TreeError(f"{path}: not in the format {FORMAT}; run gpuyard render again")
    try:
        plan = _decoder(Plan)(body)
    except (KeyError, TypeError, AttributeError) as error:
        raise TreeError(f"{path}: written by another version ({type(error).__name__}: {error}); render again") from None
    assert isinstance(plan, Plan)
    return plan


@cache
def _decoder(kind: Any) -> Callable[[Any], Any]:
    """Return what turns JSON into a value of a type that the plan's records use."""
    origin, arguments = get_origin(kind), get_args(kind)
    if is_dataclass(kind) and isinstance(kind, type):
        return _record_decoder(kind)
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            each = _decoder(arguments[0])
            return lambda value: tuple([each(item) for item in value])
        parts = [_decoder(argument) for argument in arguments]
        return lambda value: tuple([part(item) for part, item in zip(parts, value, strict=True)])
    if origin is dict:
        each = _decoder(arguments[1])
        return lambda value: {key: each(item) for key, item in value.items()}
    if origin in {Union, UnionType}:
        inner = [argument for argument in arguments if argument is not NoneType]
        each = _decoder(inner[0])
        return lambda value: None if value is None else each(value)
    if origin is Literal or kind in {str, int, float, bool}:
        return lambda value: value
    raise TypeError(f"a plan holds no {kind}")


def _record_decoder(kind: type) -> Callable[[Any], Any]:
    hints = get_type_hints(kind)
    decoders: dict[str, Callable[[Any], Any]] = {}

    def decode(value: Any) -> Any:
        if not decoders:  # at the first use: records may hold one another
            decoders.update({item.name: _decoder(hints[item.name]) for item in fields(kind) if not item.name.startswith("_")})
        return kind(**{name: decoder(value[name]) for name, decoder in decoders.items() if name in value})

    return decode
