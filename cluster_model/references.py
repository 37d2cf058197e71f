"""References: names that stand in rendered files for what is only known, or only shown, when a file is delivered."""

from __future__ import annotations

import re

SECRET = re.compile(r"\{\{gpuyard-secret:([a-z0-9-]+(?:/[a-z0-9.-]+)?)\}\}")
IMAGE = re.compile(r"\{\{gpuyard-image:([a-z0-9.-]+)\}\}")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def name_secret(name: str) -> str:
    """Return the reference of a secret; its value is filled in at delivery, and never stands in a rendered file."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a secret: lower-case words joined by hyphens")
    return "{{gpuyard-secret:" + name + "}}"


def name_token(host: str) -> str:
    """Return the reference of a host's one-time token."""
    return name_secret(f"boot-token-{host}")


def name_image_sum(image: str) -> str:
    """Return the reference of the SHA-256 of an image's archive, which is known once the image is built."""
    return "{{gpuyard-image:" + image + "}}"
