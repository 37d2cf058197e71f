"""What the model refuses, in our own words: by kind of mistake, never by the library's text."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any, NamedTuple

from pydantic_core import ErrorDetails

from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.model.json_schema import describe_key, describe_schema, find_schema, list_keys
from cluster_model.intent.model.patterns import list_patterns
from cluster_model.intent.source.fitting import fit_address, fit_key, fit_text
from cluster_model.intent.source.places import Source
from cluster_model.intent.source.yaml_source import describe_value
from cluster_model.near import find_near, suggest
from cluster_model.texts import holds_private_key

_RANGE = {
    "greater_than",
    "greater_than_equal",
    "less_than",
    "less_than_equal",
    "multiple_of",
    "finite_number",
    "int_parsing_size",
}
_BOUNDS = {"ge": "of at least", "le": "of at most"}
"""How a bound of a key is said, which the schema does not have: to JSON every key is a text."""
_FORMAT = {"string_pattern_mismatch", "string_too_long", "string_too_short", "ipv4_prefix", "ipv4_address"}
_VAST = re.compile(r"[+-]?[0-9_]{19,}")
"""A whole number that may have more than 64 bits, and then stays the text that it was."""
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z/%]*)")


class _Fault(NamedTuple):
    """One refusal: kind, path as written, the union branch it was found in, whether it is about the key, value and bound."""

    type: str
    path: tuple[str, ...]
    branch: str
    branch_at: int
    is_key: bool
    value: Any
    bound: str = ""


def explain_refusals(errors: list[ErrorDetails], data: Any, source: Source) -> list[Diagnostic]:
    """Turn the model's refusals into findings, located in the source.

    Args:
        errors: what validation gave.
        data: what was validated.
        source: the text and its marks.

    Returns:
        Findings INT001 to INT008, one per mistake.
    """
    faults = _choose_branches([_trace(error, data) for error in errors])
    bad_keys = {fault.path for fault in faults if fault.is_key}
    misspelt = {(*fault.path[:-1], _guess_key(fault.path)) for fault in faults if fault.type == "extra_forbidden"}
    findings = []
    for fault in faults:
        above = (fault.path[:length] for length in range(len(fault.path) + 1))
        if fault.type == "missing" and (fault.path in misspelt or not bad_keys.isdisjoint(above)):
            continue  # it follows from another
        findings.append(source.locate(_explain(fault, source)))
    return list(dict.fromkeys(findings))


def _trace(error: ErrorDetails, data: Any) -> _Fault:
    """Walk the error's path through the data, so that parts which name a union's branch fall out."""
    parts = list(error["loc"])
    missing = parts.pop() if error["type"] == "missing" else None
    path: list[str] = []
    here, branch, branch_at, is_key = data, "", 0, False
    for part in parts:
        if part == "[key]":
            is_key = True
        elif _has(here, part):
            here = here[part]
            path.append(str(part))
        else:
            branch, branch_at = str(part), len(path)
    if missing is not None:
        path.append(str(missing))
    bound = next((f"{_BOUNDS[key]} {limit}" for key, limit in error.get("ctx", {}).items() if key in _BOUNDS), "")
    return _Fault(error["type"], tuple(path), branch, branch_at, is_key, error["input"], bound)


def _has(value: Any, part: str | int) -> bool:
    if isinstance(value, dict):
        return part in value
    return isinstance(value, list) and isinstance(part, int) and part < len(value)


def _choose_branches(faults: list[_Fault]) -> list[_Fault]:
    """Keep, of a union's branches, those that the value was meant for; one fault when it fits none."""
    branches: dict[tuple[str, ...], dict[str, list[_Fault]]] = defaultdict(lambda: defaultdict(list))
    chosen = [fault for fault in faults if not fault.branch]
    for fault in faults:
        if fault.branch:
            branches[fault.path[: fault.branch_at]][fault.branch].append(fault)
    for path, by_branch in branches.items():
        meant = [group for group in by_branch.values() if not any(f.path == path and f.type.endswith("_type") for f in group)]
        chosen += [fault for group in meant for fault in group] or next(iter(by_branch.values()))[:1]
    return chosen


def _explain(fault: _Fault, source: Source) -> Diagnostic:
    where, name = ".".join(fault.path), fault.path[-1] if fault.path else "the file"
    if any(holds_private_key(text) for text in (*fault.path, fault.value) if isinstance(text, str)):
        return _explain_private_key(fault)
    if fault.type == "invalid_key":  # a number stands where the model has words
        return _explain_unknown(fault, where, name)
    if len(fault.path) > 1 and fault.path[-1].isdigit() and not fault.is_key:
        name = f"item {int(fault.path[-1]) + 1} of {fault.path[-2]}"
    expected = describe_schema(fault.path, fault.is_key)
    if fault.is_key:
        return _explain_key(fault, where, name, expected, source)
    if fault.type == "extra_forbidden":
        return _explain_unknown(fault, where, name)
    if fault.type == "missing":
        return Diagnostic(
            "INT002",
            "error",
            where,
            f"required key {name} is missing{_name_place(fault.path)}",
            expected,
            fix=f"add {name}: to {'.'.join(fault.path[:-1]) or 'the file'}{_recall(fault.path)}",
        )
    if fault.value is None:
        fix = "write a value, or delete the line"
        return Diagnostic("INT008", "error", where, f"{name} has no value", expected, fix=fix)
    if fault.type == "too_short":
        return Diagnostic("INT007", "error", where, f"{name} is empty", f"{expected}, at least one", fix="add an entry")
    if _may_be_secret(fault.path):
        return _explain_secret(fault, where, name, expected)
    mark = source.values.get(where)
    raw = mark.raw if mark else ""
    if (
        fault.type == "literal_error"
        and isinstance(fault.value, str)
        and fault.value in expected.removeprefix("one of ").split(", ")
    ):
        fix = f"take the quotes away: {fault.value}"
        return Diagnostic("INT005", "error", where, f'{name} cannot be the text "{fault.value}"', expected, fix=fix)
    if fault.type == "literal_error":
        fix = suggest(str(fault.value), expected.removeprefix("one of ").split(", "), "choose one of them")
        return Diagnostic("INT005", "error", where, f"{name} cannot be {_show(fault.value, raw)}", expected, fix=fix)
    if fault.type == "time_zone":
        from zoneinfo import available_timezones

        fix = suggest(fault.value, sorted(available_timezones()), "take a name that timedatectl list-timezones gives")
        return Diagnostic("INT030", "error", where, f"there is no time zone {fault.value}", expected, fix=fix)
    is_vast = isinstance(fault.value, str) and "number" in expected and mark and mark.plain and _VAST.fullmatch(fault.value)
    if fault.type in _RANGE or is_vast:
        summary = f"{name} is out of range: {_show(fault.value, raw)}"
        return Diagnostic("INT004", "error", where, summary, expected, fix=_suggest_bound(fault))
    if fault.type in _FORMAT and isinstance(fault.value, str):
        return _explain_format(fault, where, name, expected)
    actual = describe_value(fault.value)
    fix = _suggest_rewriting(fault.value, fault.path, source) or _suggest_form(fault.path)
    return Diagnostic("INT003", "error", where, f"{name} is {actual}", expected, fix=fix)


def _may_be_secret(path: tuple[str, ...]) -> bool:
    """Return whether what is refused here may be a secret: a password where its name or a yes belongs, half a private key."""
    return path[-1:] == ("password",) or any(_find_ways_out(path))


def _find_ways_out(path: tuple[str, ...]) -> list[str]:
    """Return the ways out of the patterns, or of the items' patterns, that belong at this path."""
    known = list_patterns()
    kinds = [*find_schema(path), *find_schema((*path, "0"))]
    return [known[kind["pattern"]].way_out for kind in kinds if kind.get("pattern") in known and known[kind["pattern"]].way_out]


def _explain_secret(fault: _Fault, where: str, name: str, expected: str) -> Diagnostic:
    summary = f"{name} cannot be what stands there, which is not shown, since it may be a secret"
    fix = next(iter(_find_ways_out(fault.path)), "") or _suggest_form(fault.path)
    return Diagnostic("INT006", "error", where, summary, expected, fix=fix)


def _explain_private_key(fault: _Fault) -> Diagnostic:
    """Return that a private key stands somewhere, without a word of it; one that is a key is placed by what it is a key of."""
    path = fault.path[: next((at for at, part in enumerate(fault.path) if holds_private_key(part)), len(fault.path))]
    fix = "take it out, and make a new pair of keys, since this one has been shown; a public key is what the .pub file holds"
    summary = "this is a private key" if path == fault.path else "a key here is a private key"
    return Diagnostic("INT006", "error", ".".join(path), summary, describe_schema(path), fix=fix)


def _explain_key(fault: _Fault, where: str, name: str, expected: str, source: Source) -> Diagnostic:
    summary, fix = f"{name} cannot be a key of {fault.path[-2]}", "rename the key"
    near = fit_key(name, fault.path[:-1])
    if near and ".".join((*fault.path[:-1], near)) not in source.values:
        fix = f"rename the key to {near}"
    if "number" in expected and isinstance(fault.value, str) and name.isdigit() and not _is_plain(where, source):
        summary = f'the key "{name}" of {fault.path[-2]} is a text, since it stands in quotes'
        expected, fix = f"{expected} without quotes", f"take the quotes away: {name}"
    elif fault.type in _RANGE or ("number" in expected and _VAST.fullmatch(name)):
        expected, fix = f"{expected} {fault.bound}", "take a number within the bounds"
    return Diagnostic("INT006", "error", where + "@key", summary, expected, fix=fix)


def _is_plain(where: str, source: Source) -> bool:
    """Return whether a key is written without quotes."""
    return where in source.keys and source.keys[where].plain


def _name_place(path: tuple[str, ...]) -> str:
    """Return where a key stands or should stand, to follow its name; empty at the top of the file."""
    return f" in {'.'.join(path[:-1])}" if len(path) > 1 else ""


def _guess_key(path: tuple[str, ...]) -> str:
    """Return the key that an unknown one was probably meant for; empty when none is near."""
    near = find_near(path[-1].replace("-", "_"), list_keys(path[:-1]))
    return near[0] if near else ""


def _recall(path: tuple[str, ...]) -> str:
    """Return what a key is for, as the schema says it, to stand behind a fix."""
    text = describe_key(path)
    return f" ({text})" if text else ""


def _explain_unknown(fault: _Fault, where: str, name: str) -> Diagnostic:
    known, near = list_keys(fault.path[:-1]), _guess_key(fault.path)
    fix = f"did you mean {near}?" if near else "delete it"
    return Diagnostic(
        "INT001", "error", where + "@key", f"unknown key {name}{_name_place(fault.path)}", f"one of {', '.join(known)}", fix=fix
    )


def _explain_format(fault: _Fault, where: str, name: str, expected: str) -> Diagnostic:
    summary, fix = f'{name} cannot be "{fault.value}"', "write it in that form"
    if fault.type == "ipv4_prefix":
        fix = _suggest_prefix(fault.value) or fix
    elif fault.type == "ipv4_address":
        near = fit_address(fault.value)
        fix = f"write {near}" if near and "/" not in near else fix
    elif near := fit_text(fault.value, find_schema(fault.path)):
        fix = f"write {near}"
    return Diagnostic("INT006", "error", where, summary, expected, fix=fix)


def _suggest_prefix(text: str) -> str:
    """Return the way out for a prefix written otherwise, or whose host bits are set; empty when the text is no address at all."""
    from ipaddress import IPv4Network

    near = fit_address(text)
    if not near:
        return ""
    prefix = str(IPv4Network(near, strict=False))
    return f"write {prefix}" if prefix == near else f"write {prefix}, the prefix that holds it"


def _suggest_bound(fault: _Fault) -> str:
    """Return the bound that the value is beyond as the way out: the nearest value that is taken."""
    value = fault.value
    if isinstance(value, str):  # beyond 64 bits, and so beyond every bound
        value = float("-inf") if value.startswith("-") else float("inf")
    for kind in find_schema(fault.path):
        low, high = kind.get("minimum"), kind.get("maximum")
        if isinstance(value, int | float) and low is not None and value < low:
            return f"write {low:g} or more" if isinstance(low, float) else f"write {low} or more"
        if isinstance(value, int | float) and high is not None and value > high:
            return f"write {high:g} or less" if isinstance(high, float) else f"write {high} or less"
    return "write a number within the bounds"


_FORMS = {
    "object": "write its keys below it, each in a line of its own, indented",
    "array": "write the items in [ ], with commas between them",
    "integer": "write the number alone, without quotes, unit or fraction",
    "number": "write the number alone, without quotes or unit",
    "boolean": "write true or false, without quotes",
    "string": "write a text, in quotes where YAML would take it for something else",
}
"""How each type of value is written, for when nothing nearer to the mistake can be said."""


def _suggest_form(path: tuple[str, ...]) -> str:
    """Return how a value of the types that belong at this path is written."""
    kinds = find_schema(path)
    if any("enum" in kind for kind in kinds):
        return "choose one of them"
    ways = [_FORMS[kind["type"]] for kind in kinds if kind.get("type") in _FORMS and not {"pattern", "format"} & kind.keys()]
    return ", or ".join(ways) or "write it in that form"


def _suggest_rewriting(value: Any, path: tuple[str, ...], source: Source) -> str:
    """Return the way out when YAML made something else of a word, or a number was written as text."""
    mark = source.values.get(".".join(path))
    kinds = find_schema(path)
    if mark is None:
        return ""
    if isinstance(value, str):
        number = _NUMBER.fullmatch(value)
        if number is None or not any(kind.get("type") in {"integer", "number"} for kind in kinds):
            return ""
        if number[2]:
            return f"write {number[1]}; the unit is in the key's name"
        return f"write {value.lstrip('0') or '0'}" if mark.plain else f"take the quotes away: {value}"
    texts = [kind for kind in kinds if kind.get("type") == "string" and "format" not in kind]
    if mark.plain and mark.raw and any(re.search(kind.get("pattern", ""), mark.raw) for kind in texts):
        return f'put it in quotes: "{mark.raw}"'
    return ""


def _show(value: Any, raw: str) -> str:
    """Return a value as the user wrote it, and what YAML made of it where that differs."""
    if isinstance(value, str) or not raw or raw == str(value):
        return str(value)
    return f"{raw} ({describe_value(value)})"
