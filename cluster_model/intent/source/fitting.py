"""A text that a pattern takes, made of one that it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from ipaddress import IPv4Network
from typing import Any
from unicodedata import combining, normalize

from cluster_model.intent.base import NAME, NAME_LENGTH, TIME_ZONE
from cluster_model.intent.model.json_schema import find_schema
from cluster_model.intent.model.site import DOMAIN
from cluster_model.texts import holds_private_key


def fit_text(text: str, kinds: Sequence[dict[str, Any]]) -> str:
    """Return the text as one of these schemas takes it, changed as little as can be; empty where nothing like it fits.

    Only names, which anybody may choose, lose what their pattern has no place for. All else is a fact: it may be written in
    another case or with other separators, and stays what it is. Nothing is made of a private key.

    >>> fit_text("Pod 2", [{"pattern": NAME, "maxLength": 31}])
    'pod-2'
    """
    if holds_private_key(text):
        return ""
    known = [kind for kind in kinds if "pattern" in kind]
    ways = [(way, kind) for kind in known for way in _rewrite(text)]
    ways += [(way, kind) for kind in known if kind["pattern"] in _OWN_WAYS for way in _OWN_WAYS[kind["pattern"]](text)]
    return next((way for way, kind in ways if way != text and _fits(way, kind)), "")


def fit_name(text: str) -> str:
    """Return a name like the text; empty where it has no letter and no digit of ours."""
    return fit_text(text, [{"pattern": NAME, "maxLength": NAME_LENGTH}])


def fit_key(key: str, path: tuple[str, ...]) -> str:
    """Return a key as the mapping at this path takes it; empty where nothing like it fits."""
    patterns = [pattern for kind in find_schema(path) for pattern in kind.get("patternProperties", ())]
    return fit_text(key, [{"pattern": pattern} | ({"maxLength": NAME_LENGTH} if pattern == NAME else {}) for pattern in patterns])


def fit_address(text: str) -> str:
    """Return an IPv4 address or prefix without blanks, with four numbers and no zeros before them; empty where it is none.

    >>> fit_address("010.64/14"), fit_address("10.255.0.53 "), fit_address("10.64.0.1/14"), fit_address("10.64")
    ('10.64.0.0/14', '10.255.0.53', '10.64.0.1/14', '')
    """
    address, slash, length = re.sub(r"\s", "", text).partition("/")
    numbers = [number.lstrip("0") or "0" for number in address.split(".") if number]
    if slash and address.count(".") == len(numbers) - 1:
        numbers += ["0"] * (4 - len(numbers))
    fitting = ".".join(numbers) + slash + length
    try:
        IPv4Network(fitting, strict=False)
    except ValueError:
        return ""
    return fitting


def _fits(text: str, kind: dict[str, Any]) -> bool:
    """Return whether a schema takes the text: all of it, since Python's `$` lets the end of a line pass."""
    bounded = kind.get("minLength", 1) <= len(text) <= kind.get("maxLength", len(text))
    if not bounded or re.fullmatch(kind["pattern"].removesuffix("$"), text) is None:
        return False
    if kind["pattern"] == TIME_ZONE:  # a form that more texts have than there are zones
        return text in _list_zones()
    return True


@cache
def _list_zones() -> set[str]:
    from zoneinfo import available_timezones

    return available_timezones()


def _rewrite(text: str) -> Iterator[str]:
    """Return other spellings, the nearest first."""
    plain = "".join(letter for letter in normalize("NFKD", text) if not combining(letter)).strip()
    hyphened = re.sub(r"-*[\s_]+-*", "-", plain)
    yield from (text.strip(), plain, plain.lower(), plain.upper(), hyphened, hyphened.lower(), re.sub(r"\s+", "_", plain))
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


def _domain(text: str) -> Iterator[str]:
    """Return domains without the scheme and the path of a URL, and without dots at either end."""
    for way in _rewrite(text):
        yield re.sub(r"^[a-z]+://", "", way).partition("/")[0].strip(".")


_OWN_WAYS = {NAME: _name, DOMAIN: _domain}
"""What else is tried for a pattern."""
