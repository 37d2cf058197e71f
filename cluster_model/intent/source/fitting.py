"""A text that a pattern takes, made of one that it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any
from unicodedata import normalize

from cluster_model.intent.base import NAME, NAME_LENGTH


def fit_text(text: str, kinds: Sequence[dict[str, Any]]) -> str:
    """Return the text as one of these schemas takes it, changed as little as can be; empty where nothing like it fits.

    Only names, which anybody may choose, lose what their pattern has no place for. All else is a fact: it may be written in
    another case or with other separators, and stays what it is.

    >>> fit_text("Pod 2", [{"pattern": NAME, "maxLength": 31}])
    'pod-2'
    """
    known = [kind for kind in kinds if "pattern" in kind]
    ways = [(way, kind) for kind in known for way in _rewrite(text)]
    ways += [(way, kind) for kind in known if kind["pattern"] == NAME for way in _name(text)]
    return next((way for way, kind in ways if way != text and _fits(way, kind)), "")


def fit_name(text: str) -> str:
    """Return a name like the text; empty where it has no letter and no digit of ours."""
    return fit_text(text, [{"pattern": NAME, "maxLength": NAME_LENGTH}])


def _fits(text: str, kind: dict[str, Any]) -> bool:
    """Return whether a schema takes the text: all of it, since Python's `$` lets the end of a line pass."""
    bounded = kind.get("minLength", 1) <= len(text) <= kind.get("maxLength", len(text))
    return bounded and re.fullmatch(kind["pattern"].removesuffix("$"), text) is not None


def _rewrite(text: str) -> Iterator[str]:
    """Return other spellings, the nearest first."""
    plain = text.strip()
    hyphened = re.sub(r"-*[\s_]+-*", "-", plain)
    yield from (plain, plain.lower(), plain.upper(), hyphened, hyphened.lower())
    if re.fullmatch(r"[0-9A-Fa-f]{2}(-[0-9A-Fa-f]{2}){5}", plain):  # a MAC address as Windows writes it
        yield plain.replace("-", ":").lower()
    if found := re.fullmatch(r"([A-Za-z]{1,2})[ -]?([0-9]{1,3})", plain):  # a rack, whose position has two digits at least
        yield f"{found[1].upper()}{int(found[2]):02d}"


def _name(text: str) -> Iterator[str]:
    """Return names of the letters and digits of a text, those that it shares with English."""
    words = "-".join(re.findall(r"[a-z0-9]+", normalize("NFKD", text).encode("ascii", "ignore").decode().lower()))
    for name in (words, words.lstrip("0123456789-"), f"n{words}"):
        if name != "n":
            yield name[:NAME_LENGTH].rstrip("-")
