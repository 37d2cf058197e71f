"""What the boot server may hand out: the rendered tree, loaders, and images; references filled in memory as it answers."""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from cluster_model.deploy.boot_fill import NotReadyError, fill
from cluster_model.reading import open_file
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


class ReplacedError(NotReadyError):
    """A file that is not the one that the tree's manifest lists: whoever asks again gets the new tree, whole."""


@dataclass(frozen=True)
class BootTree:
    """One rendered tree, as its manifest lists it: index, references and files that belong together, however it is replaced.

    Args:
        folder: where it lies, or lay.
        manifest: its manifest.json.
        index: its boot/boot.json.
        mark: what tells the manifest's file from every other one that lay there.
    """

    folder: Path
    manifest: dict[str, Any]
    index: dict[str, Any]
    mark: tuple[int, ...] = ()

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

    def has(self, path: str) -> bool:
        """Return whether a file was rendered."""
        return path in self.manifest["files"]

    def read(self, path: str) -> str:
        """Return a rendered file; NotReadyError where there is none, ReplacedError where another one lies in its place."""
        return _read(self.folder, self.manifest, path).decode("utf-8")


def _read(folder: Path, manifest: Mapping[str, Any], path: str) -> bytes:
    if path not in manifest["files"]:
        raise NotReadyError(f"{path} is not rendered: render the cluster again")
    try:
        with open_file(folder / path) as stream:
            content = stream.read()
    except FileNotFoundError:
        content = b""
    except OSError as error:
        raise NotReadyError(f"{path} cannot be read: {error.strerror}") from None
    if hashlib.sha256(content).hexdigest() != manifest["files"][path]:
        words = f"{path} is not what {folder}/{MANIFEST} lists"
        raise ReplacedError(f"{words}: a new tree is being put there, or it was changed by hand; then render the cluster again")
    return content


@dataclass
class BootFiles:
    """Where the boot server's files lie.

    Args:
        tree: the rendered tree, with boot/; a new one may take its place at any time.
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
    _last: BootTree | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def look(self) -> BootTree:
        """Return the tree that lies there now; NotReadyError where none does, or not that of this cluster."""
        last = self._last
        if last and last.mark == self._mark():
            return last
        with self._lock:
            if self._last is None or self._last.mark != self._mark():
                self._last = self._load()
            return self._last

    @property
    def last(self) -> BootTree:
        """Return the tree that was looked at last, without looking again; the first time as look()."""
        return self._last or self.look()

    def _mark(self) -> tuple[int, ...]:
        try:
            return _mark((self.tree / MANIFEST).stat())
        except OSError:
            return ()

    def _load(self) -> BootTree:
        try:
            with open_file(self.tree / MANIFEST) as stream:  # a FIFO would hold the lock, and so every request
                mark, manifest = _mark(os.fstat(stream.fileno())), read_manifest(stream.read())
        except OSError as error:
            raise NotReadyError(f"{self.tree}/{MANIFEST} cannot be read: render the cluster first ({error.strerror})") from None
        if manifest is None or "references" not in manifest:
            raise NotReadyError(f"{self.tree}/{MANIFEST} does not say who wrote which reference: render the cluster again")
        if self._last and self._last.manifest.get("cluster") != manifest.get("cluster"):
            whose = f"{self.tree} is that of {manifest.get('cluster')} now, and was that of {self._last.manifest.get('cluster')}"
            raise NotReadyError(f"{whose}: bring the old one back, or restart the boot server with the other cluster")
        try:
            index = json.loads(_read(self.tree, manifest, "boot/boot.json"))
        except ValueError:
            index = None
        if not isinstance(index, dict) or index.get("format") != "gpuyard-boot-1":
            raise NotReadyError(f"{self.tree}/boot/boot.json is of another version: render the cluster again")
        return BootTree(self.tree, manifest, index, mark)

    def fill(self, tree: BootTree, path: str, token: Token | None = None) -> str:
        """Return a file of a tree with its references filled; NotReadyError, naming the reference, where one cannot be."""

        def look_up(kind: str, name: str) -> str:
            if kind == "image":
                return self.image_sum(name)
            if token and name == f"boot-token-{token.host}":
                return token.value
            try:
                return self.secrets.get(name)
            except MissingSecretError as error:
                words = "write it there, and restart the boot server, which reads secrets as it starts"
                raise NotReadyError(f"{error}: {words}") from None

        return fill(tree.read(path), path, tree.manifest["references"].get(path, ()), look_up)

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


def _mark(found: os.stat_result) -> tuple[int, ...]:
    """Return what changes where a file is replaced: a delivery gives all files the same time, and a number comes back."""
    return found.st_dev, found.st_ino, found.st_ctime_ns, found.st_mtime_ns, found.st_size
