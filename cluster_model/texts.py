"""What one line of text may hold, and how a text that holds more is shown to a person."""

from __future__ import annotations

import re

UNPRINTABLE = r"\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff"
"""Characters of no single line of text, as the inside of a regular expression's class: control characters, line and paragraph
separators, what has no width, marks that turn the direction of writing (Unicode, UAX #9), and what XML 1.0 (2.2) leaves out."""
UNSHOWN = f"{UNPRINTABLE}\ud800-\udfff"
"""The same, and the halves of characters that Python has for bytes which are no UTF-8."""
_UNSHOWN = re.compile(f"[{UNSHOWN}]")
_LONGEST = 400
PRIVATE_KEY = re.compile(r"(?:begin|end) [a-z0-9 ]{0,20}private key|putty-user-key-file|b3BlbnNzaC1rZXktdjE", re.IGNORECASE)
"""How PEM and PuTTY mark one, and what OpenSSH's begin with in base64: `openssh-key-v1`."""


def show_text(text: str) -> str:
    r"""Return a text that a terminal shows in one line and as it is: other characters by their number, and cut where it is long.

    >>> show_text("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}…"
    return _UNSHOWN.sub(lambda match: match.group().encode("unicode_escape", "surrogatepass").decode(), text)


def drop_surrogates(text: str) -> str:
    """Return a text that UTF-8 can hold."""
    return text.encode("utf-8", "replace").decode()


def holds_private_key(text: str) -> bool:
    """Return whether a text looks like a private key, or a piece of one, which is then shown to nobody.

    >>> holds_private_key("-----BEGIN OPENSSH PRIVATE KEY-----"), holds_private_key("ssh-ed25519 AAAAC3N my private key")
    (True, False)
    """
    return PRIVATE_KEY.search(text) is not None
