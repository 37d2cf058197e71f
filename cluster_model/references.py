"""References: names that stand in rendered files for what is only known, or only shown, when a file is delivered.

On disk a reference reads `{{gpuyard-secret:NAME}}` or `{{gpuyard-image:NAME}}`. Data may read so too: a BMC reports any serial
number it likes. While a tree is rendered, references therefore carry a mark that every process draws anew and no data can hold;
`settle` takes it off, refuses what reads like a reference without it, and returns which references a file holds.
"""

from __future__ import annotations

import re
from secrets import token_hex

SECRET = re.compile(r"\{\{gpuyard-secret:([a-z0-9-]+(?:/[a-z0-9.-]+)?)\}\}")
IMAGE = re.compile(r"\{\{gpuyard-image:([a-z0-9.-]+)\}\}")
REFERENCE = re.compile(rf"{SECRET.pattern}|{IMAGE.pattern}")
"""Either of them; its groups are a secret's name and an image's."""
_OPEN = b"{{gpuyard-"
_MARK = token_hex(16)
_MARKED = re.compile(rb"\{\{gpuyard-" + _MARK.encode() + rb"-((?:secret|image):[a-z0-9.-]+)\}\}")
_FORGED = re.compile(rb"\{\{gpuyard-(?:secret|image):[^\s{}]{0,60}")
TEMPLATE = re.compile(r"\{\{|\{%|\{#")
"""How references begin, and expressions, statements and comments of Jinja. Nothing that a user or a vendor writes holds one."""
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_IMAGE_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")


class ForgedReferenceError(Exception):
    """Data reads like a reference; the text is its beginning."""


def name_secret(name: str) -> str:
    """Return the reference of a secret, for a file that is being rendered; its value is filled in at delivery."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a secret: lower-case words joined by hyphens")
    return "{{gpuyard-" + _MARK + "-secret:" + name + "}}"


def name_token(host: str) -> str:
    """Return the reference of a host's one-time token, for a file that is being rendered."""
    return name_secret(f"boot-token-{host}")


def name_image_sum(image: str) -> str:
    """Return the reference of the SHA-256 of an image's archive, which is known once the image is built."""
    if not _IMAGE_NAME.fullmatch(image):
        raise ValueError(f"{image!r} is no name of an image: lower-case letters, digits, points and hyphens")
    return "{{gpuyard-" + _MARK + "-image:" + image + "}}"


def settle(content: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return a rendered file as it goes to disk, and the references that its template wrote, such as `secret:ops-password`.

    Raises:
        ForgedReferenceError: data in the file reads like a reference.
    """
    if _OPEN not in content:
        return content, ()
    forged = _FORGED.search(content)
    if forged:
        raise ForgedReferenceError(forged[0].decode(errors="replace"))
    names = {found.decode() for found in _MARKED.findall(content)}
    return content.replace(_OPEN + _MARK.encode() + b"-", _OPEN), tuple(sorted(names))
