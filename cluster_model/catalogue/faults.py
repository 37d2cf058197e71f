"""What pydantic finds wrong with a file, in our words: its error types are stable, its texts are not."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from cluster_model.catalogue.document import Document, Loc
from cluster_model.diagnostic import Diagnostic
from cluster_model.near import suggest

_EXPECTED = {
    "string_type": "text",
    "string_pattern_mismatch": "text of the form {pattern}",
    "string_too_short": "at least {min_length} characters",
    "too_short": "at least {min_length} entries",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "literal_error": "{expected}",
    "greater_than": "more than {gt}",
    "greater_than_equal": "{ge} or more",
    "less_than": "less than {lt}",
    "less_than_equal": "{le} or less",
    "union_tag_invalid": "{expected_tags}",
    "union_tag_not_found": "`kind: switch`, `kind: server` or `kind: pdu`",
}


def translate(document: Document, model: type[BaseModel], error: ValidationError, prefix: Loc = ()) -> Iterator[Diagnostic]:
    """Yield a finding per mistake: CAT006 for a missing source, CAT001 for a missing NetBox field, CAT005 for the rest."""
    for item in error.errors(include_url=False):
        raw: Loc = prefix + tuple(item["loc"])
        loc = _present(document.data, raw)
        kind = item["type"]
        context = item.get("ctx", {})
        field = str(raw[-1]) if raw else ""
        if kind == "missing" and field == "source":
            yield missing_source(document, loc[:-1])
        elif kind == "missing":
            rule = "CAT005" if len(loc) > 1 or prefix else "CAT001"
            yield document.finding(
                rule,
                loc,
                f"{field} is missing",
                expected=f"a value for {field}",
                actual="nothing",
                fix=f"add {field} to {_around(loc[:-1])}",
            )
        elif kind == "extra_forbidden":
            known = sorted(fields_at(model, tuple(item["loc"])[:-1]))
            yield document.finding(
                "CAT005",
                loc,
                f"unknown field {field}",
                expected=f"one of {', '.join(known)}" if known else "no such field",
                actual=field,
                fix=suggest(field, known, f"remove {field}"),
                key=True,
            )
        else:
            wanted = _EXPECTED.get(kind, "another form").format(**context)
            yield document.finding(
                "CAT005", loc, f"{field} is not {wanted}", expected=wanted, actual=_show(item.get("input")), fix=f"write {wanted}"
            )


def missing_source(document: Document, loc: Loc) -> Diagnostic:
    """Return CAT006 about the mapping at `loc`."""
    return document.finding(
        "CAT006",
        loc,
        f"{_around(loc)} holds numbers without a source",
        expected="source: the document and section, or the derivation",
        actual="no source here or above",
        fix="add source, and confirmed: false where it is not the maker's own text",
    )


def fields_at(model: type[BaseModel], loc: Loc) -> set[str]:
    """Return the field names allowed at `loc`, as pydantic writes places: union tags included."""
    models = {model}
    for part in loc:
        if isinstance(part, int):
            continue
        tagged = {m for m in models if "kind" in m.model_fields and part in typing.get_args(m.model_fields["kind"].annotation)}
        if tagged:
            models = tagged
            continue
        below: set[type[BaseModel]] = set()
        for candidate in models:
            if part in candidate.model_fields:
                below |= set(_models_in(candidate.model_fields[str(part)].annotation))
        models = below or models
    return {name for m in models for name in m.model_fields}


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _models_in(argument)


def _present(data: Any, loc: Loc) -> Loc:
    """Drop the parts of a pydantic place that the file does not have: the tags of unions. The last part stays."""
    kept: list[int | str] = []
    for index, part in enumerate(loc):
        held = part in data if isinstance(data, dict) else isinstance(data, list) and isinstance(part, int) and part < len(data)
        if held:
            data = data[part]
        elif index < len(loc) - 1:
            continue
        kept.append(part)
    return tuple(kept)


def _around(loc: Loc) -> str:
    return ".".join(str(part) for part in loc) or "the file"


def _show(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
