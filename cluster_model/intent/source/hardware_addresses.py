"""MAC addresses and GUIDs as vendors write them, brought to one form."""

from __future__ import annotations

import re

_MAC = re.compile(r"[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}|[0-9a-f]{4}(?:\.[0-9a-f]{4}){2}|[0-9a-f]{12}")
_GUID = re.compile(r"(?:0x)?[0-9a-f]{16}|[0-9a-f]{2}(?::[0-9a-f]{2}){7}|[0-9a-f]{4}(?::[0-9a-f]{4}){3}")
_SEPARATORS = str.maketrans("", "", ":.-")


def parse_mac(text: str) -> str | None:
    """Return a MAC address as `aa:bb:cc:dd:ee:ff`, or None when it is none, a group address or all zeros.

    >>> parse_mac("A088.C2FF.0001"), parse_mac("a0-88-c2-ff-00-01"), parse_mac("a0:88:c2")
    ('a0:88:c2:ff:00:01', 'a0:88:c2:ff:00:01', None)
    """
    low = text.strip().lower()
    if not _MAC.fullmatch(low):
        return None
    digits = low.translate(_SEPARATORS)
    if int(digits, 16) == 0 or int(digits[:2], 16) & 1:
        return None
    return ":".join(digits[i : i + 2] for i in range(0, 12, 2))


def explain_mac(text: str) -> str:
    """Return what a MAC address is that no port can have; empty for a text that is no MAC address at all.

    >>> explain_mac("00-00-00-00-00-00"), explain_mac("ff:ff:ff:ff:ff:ff"), explain_mac("01:00:5e:00:00:0d"), explain_mac("a0:88")
    ('zero', 'the broadcast address', 'a multicast address', '')
    """
    low = text.strip().lower()
    if not _MAC.fullmatch(low):
        return ""
    digits = low.translate(_SEPARATORS)
    return {"0" * 12: "zero", "f" * 12: "the broadcast address"}.get(digits, "a multicast address")


def parse_guid(text: str) -> str | None:
    """Return an InfiniBand GUID as `0x` and 16 hexadecimal digits, or None when it is none or zero.

    >>> parse_guid("A088:C203:0012:3456"), parse_guid("0xa088c20300123456"), parse_guid("a088c2")
    ('0xa088c20300123456', '0xa088c20300123456', None)
    """
    low = text.strip().lower()
    if not _GUID.fullmatch(low):
        return None
    digits = low.removeprefix("0x").translate(_SEPARATORS)
    return f"0x{digits}" if int(digits, 16) else None
