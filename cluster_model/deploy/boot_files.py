"""What the boot server may hand out: the rendered tree, loaders, and images; references filled in memory as it answers."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from cluster_model.references import IMAGE, name_token
from cluster_model.transport.secrets import MissingSecretError, Secrets

LOADERS = ("ipxe.efi", "snponly.efi", "undionly.kpxe")
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*$")


class NotReadyError(Exception):
    """A file that cannot be handed out yet; the text says what is missing."""


@dataclass(frozen=True, slots=True)
class Token:
    """The one reference that the boot server makes itself."""

    host: str
    value: str


@dataclass(frozen=True)
class BootFiles:
    """Where the boot server's files lie.

    Args:
        tree: the rendered tree, with boot/.
        images: a folder for each image.
        deploy: the folder with vmlinuz and initrd.img that write images.
        loaders: folders with iPXE.
        secrets: where references are looked up.
    """

    tree: Path
    images: Path
    deploy: Path
    loaders: tuple[Path, ...]
    secrets: Secrets = field(default_factory=Secrets)

    @cached_property
    def index(self) -> dict[str, Any]:
        """Return boot/boot.json; NotReadyError where the tree has none."""
        try:
            found = json.loads((self.tree / "boot/boot.json").read_bytes())
        except (OSError, ValueError) as error:
            raise NotReadyError(f"{self.tree}/boot/boot.json cannot be read: render the cluster first ({error})") from None
        if not isinstance(found, dict) or found.get("format") != "gpuyard-boot-1":
            raise NotReadyError(f"{self.tree}/boot/boot.json is of another version: render the cluster again")
        return found

    @cached_property
    def by_mac(self) -> dict[str, str]:
        """Return the hosts by the MAC that they boot through."""
        return {str(host["mac"]).lower(): name for name, host in self.index["hosts"].items() if host.get("mac")}

    @cached_property
    def by_address(self) -> dict[str, str]:
        """Return the hosts by their planned address."""
        return {str(host["address"]): name for name, host in self.index["hosts"].items()}

    @cached_property
    def switches_by_address(self) -> dict[str, str]:
        """Return the switches by their management address."""
        return {str(switch["address"]): name for name, switch in (self.index.get("switches") or {}).items()}

    def read(self, path: str) -> str:
        """Return a rendered file below boot/ as it lies; NotReadyError where there is none."""
        try:
            return (self.tree / "boot" / path).read_text("utf-8")
        except (OSError, ValueError):
            raise NotReadyError(f"boot/{path} is not rendered") from None

    def fill(self, text: str, token: Token | None = None) -> str:
        """Return a text with its references filled; NotReadyError, naming the reference, where one cannot be."""
        if token:
            text = text.replace(name_token(token.host), token.value)
        text = IMAGE.sub(lambda found: self.image_sum(found[1]), text)
        try:
            return self.secrets.fill(text)
        except MissingSecretError as error:
            raise NotReadyError(str(error)) from None

    def image_sum(self, name: str) -> str:
        """Return the SHA-256 of an image's archive, from its image.json."""
        try:
            found = json.loads((self.images / name / "image.json").read_bytes())
            return str(found["sha256"])
        except (OSError, ValueError, KeyError, TypeError):
            raise NotReadyError(f"the image {name} is not built: {self.images}/{name}/image.json is missing") from None

    def find_static(self, kind: str, names: list[str]) -> Path | None:
        """Return the file of a request for /loader, /deploy or /images; None for what is not there or leads elsewhere."""
        if not names or not all(_NAME.match(name) for name in names):
            return None
        roots = {"loader": self.loaders, "deploy": (self.deploy,), "images": (self.images,)}.get(kind, ())
        depth = 2 if kind == "images" else 1
        if len(names) != depth or (kind == "loader" and names[0] not in LOADERS):
            return None
        return next((path for root in roots if (path := root.joinpath(*names)).is_file()), None)
