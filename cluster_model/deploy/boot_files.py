"""What the boot server may hand out: the rendered tree, loaders, and images; references filled in memory as it answers."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from cluster_model.deploy.boot_fill import NotReadyError, fill
from cluster_model.render.manifest import MANIFEST, read_manifest
from cluster_model.transport.secrets import MissingSecretError, Secrets

LOADERS = ("ipxe.efi", "snponly.efi", "undionly.kpxe")
_SHA256 = re.compile(r"[0-9a-f]{64}")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
"""A name in a request; a longer one no file system would take."""


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

    def check(self) -> None:
        """Read what every answer needs; NotReadyError where the tree lacks it, before anybody asks."""
        for found in (self.index, self.references):
            assert isinstance(found, dict)

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

    @cached_property
    def references(self) -> dict[str, list[str]]:
        """Return the references that the manifest lists, by file; NotReadyError where it lists none."""
        try:
            found = read_manifest((self.tree / MANIFEST).read_bytes())
        except OSError:
            found = None
        if found is None or "references" not in found:
            raise NotReadyError(f"{self.tree}/{MANIFEST} does not say who wrote which reference: render the cluster again")
        references: dict[str, list[str]] = found["references"]
        return references

    def read(self, path: str) -> str:
        """Return a rendered file as it lies; NotReadyError where there is none."""
        try:
            return (self.tree / path).read_text("utf-8")
        except (OSError, ValueError):
            raise NotReadyError(f"{path} is not rendered") from None

    def fill(self, path: str, token: Token | None = None) -> str:
        """Return a rendered file with its references filled; NotReadyError, naming the reference, where one cannot be."""

        def look_up(kind: str, name: str) -> str:
            if kind == "image":
                return self.image_sum(name)
            if token and name == f"boot-token-{token.host}":
                return token.value
            try:
                return self.secrets.get(name)
            except MissingSecretError as error:
                raise NotReadyError(str(error)) from None

        return fill(self.read(path), path, self.references.get(path, ()), look_up)

    def image_sum(self, name: str) -> str:
        """Return the SHA-256 of an image's archive, from its image.json."""
        try:
            found = json.loads((self.images / name / "image.json").read_bytes())
            total = str(found["sha256"])
        except (OSError, ValueError, KeyError, TypeError):
            raise NotReadyError(f"the image {name} is not built: {self.images}/{name}/image.json is missing") from None
        if not _SHA256.fullmatch(total):
            raise NotReadyError(f"{self.images}/{name}/image.json names no SHA-256: build the image again")
        return total

    def find_static(self, kind: str, names: list[str]) -> Path | None:
        """Return the file of a request for /loader, /deploy or /images; None for what is not there or leads elsewhere."""
        if not names or not all(NAME.fullmatch(name) for name in names):
            return None
        roots = {"loader": self.loaders, "deploy": (self.deploy,), "images": (self.images,)}.get(kind, ())
        depth = 2 if kind == "images" else 1
        if len(names) != depth or (kind == "loader" and names[0] not in LOADERS):
            return None
        return next((path for root in roots if (path := root.joinpath(*names)).is_file()), None)
