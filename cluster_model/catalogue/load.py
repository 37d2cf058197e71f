"""The catalogue: what hardware is known, read file by file as it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from cluster_model.catalogue.audit import audit_device
from cluster_model.catalogue.document import Document, read_document, refuse_file
from cluster_model.catalogue.faults import translate
from cluster_model.catalogue.media_types import Media
from cluster_model.catalogue.netbox import derive_block
from cluster_model.catalogue.platform_types import Platform
from cluster_model.catalogue.types import DeviceType, Gpu, Nic, PduBlock, Server, Switch
from cluster_model.diagnostic import Diagnostic
from cluster_model.near import find_near
from cluster_model.paths import CATALOGUE, TEMPLATES
from cluster_model.reading import CATALOGUE_FOLDERS, list_catalogue

Kind = Literal["device", "switch", "server", "pdu", "gpu", "nic", "platform"]
Value = TypeVar("Value", bound=BaseModel)


class Shelf(Mapping[str, Value]):
    """Names known from a folder's listing; a file is read when its name is first asked for.

    A name whose file is broken is absent, and the file's findings lie in `findings`.
    """

    def __init__(self, files: Mapping[str, Path], read: Callable[[Path, list[Diagnostic]], Value | None]) -> None:
        self.files = dict(sorted(files.items()))
        self.findings: dict[str, list[Diagnostic]] = {}
        self._read = read
        self._values: dict[str, Value | None] = {}

    def __getitem__(self, name: str) -> Value:
        value = self._fetch(name)
        if value is None:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __contains__(self, name: object) -> bool:
        return name in self.files

    def get(self, name: str, default: Any = None) -> Any:
        """Return what `name` stands for, or `default` where it is unknown or its file is broken."""
        value = self._fetch(name)
        return default if value is None else value

    def _fetch(self, name: str) -> Value | None:
        if name not in self._values:
            if name not in self.files:
                return None
            self._values[name] = self._read(self.files[name], self.findings.setdefault(name, []))
        return self._values[name]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All hardware known: ours, and what a cluster's own folder adds to it or puts in its place.

    Args:
        devices: device types by `maker/model`.
        gpus: GPU models by `maker/model`.
        nics: NIC models by `maker/model`.
        platforms: network operating systems by the name of their folder.
    """

    devices: Shelf[DeviceType]
    gpus: Shelf[Gpu]
    nics: Shelf[Nic]
    platforms: Shelf[Platform]
    _media_files: tuple[Path, ...]
    _read: Callable[[Path], Document | Diagnostic]
    _media: list[Media] = field(default_factory=list)
    _findings: list[Diagnostic] = field(default_factory=list)

    @property
    def media(self) -> Media:
        """Return transceivers, cables and lengths; read on first use."""
        if not self._media:
            self._media.append(_read_media(map(self._read, self._media_files), self._findings))
        return self._media[0]

    def device(self, ref: str) -> DeviceType | None:
        """Return a device type by `maker/model`."""
        device: DeviceType | None = self.devices.get(ref)
        return device

    def switch(self, ref: str) -> Switch | None:
        """Return the switch block of `ref`; None where it is unknown or no switch."""
        device = self.device(ref)
        return device.gpuyard if device is not None and isinstance(device.gpuyard, Switch) else None

    def server(self, ref: str) -> Server | None:
        """Return the server block of `ref`; None where it is unknown or no server."""
        device = self.device(ref)
        return device.gpuyard if device is not None and isinstance(device.gpuyard, Server) else None

    def pdu(self, ref: str) -> PduBlock | None:
        """Return the PDU block of `ref`; None where it is unknown or no PDU."""
        device = self.device(ref)
        return device.gpuyard if device is not None and isinstance(device.gpuyard, PduBlock) else None

    def names(self, kind: Kind = "device") -> list[str]:
        """Return all names of a kind, sorted. `switch`, `server` and `pdu` read every device file, the others read none."""
        if kind in {"switch", "server", "pdu"}:
            return [ref for ref in self.devices if (device := self.device(ref)) is not None and device.gpuyard.kind == kind]
        shelves: dict[str, Shelf[Any]] = {"device": self.devices, "gpu": self.gpus, "nic": self.nics, "platform": self.platforms}
        return list(shelves[kind])

    def suggest(self, ref: str, kind: Kind = "device") -> list[str]:
        """Return up to three known names that look like `ref`, the likeliest first."""
        names = self.names(kind)
        tails = {name.rpartition("/")[2]: name for name in names}
        near = find_near(ref, names, 3)
        near += [tails[tail] for tail in find_near(ref.rpartition("/")[2], tails, 3)]
        return list(dict.fromkeys(near))[:3]

    def check(self) -> list[Diagnostic]:
        """Read every file and return all findings."""
        for shelf in (self.devices, self.gpus, self.nics, self.platforms):
            for name in shelf:
                shelf.get(name)
        _ = self.media
        return self.findings()

    def findings(self) -> list[Diagnostic]:
        """Return the findings of the files read so far."""
        shelves: tuple[Shelf[Any], ...] = (self.devices, self.gpus, self.nics, self.platforms)
        found = [finding for shelf in shelves for findings in shelf.findings.values() for finding in findings]
        return sorted(found + self._findings, key=lambda finding: finding.sort_key)


def load_catalogue(extra: Path | None = None) -> tuple[Catalogue, list[Diagnostic]]:
    """Return the catalogue, and the findings of `extra`: a folder laid out like ours, whose files add to ours or replace them.

    Our own files are read one by one as they are asked for; those of `extra` are read at once, so that their findings are known.
    """
    own, refused = list_catalogue(extra) if extra is not None else ([], {})
    known = set(own)
    ours = [path for folder in CATALOGUE_FOLDERS for path in sorted(CATALOGUE.glob(f"{folder}/*/*.y*ml"))]
    files: dict[str, dict[str, Path]] = {folder: {} for folder in CATALOGUE_FOLDERS}
    for path in (*ours, *(path for path in own if path.parent != extra)):
        files[path.parts[-3]][_name_model(path)] = path

    def read(path: Path) -> Document | Diagnostic:
        return read_document(path, extra if path in known else None)

    def has(folder: str, name: str) -> bool:
        return name in files[folder]

    catalogue = Catalogue(
        devices=Shelf(files["device-types"], lambda path, found: _read_device(read(path), found, has)),
        gpus=Shelf(files["gpus"], lambda path, found: _read_plain(read(path), Gpu, found)),
        nics=Shelf(files["nics"], lambda path, found: _read_plain(read(path), Nic, found)),
        platforms=Shelf(
            {path.parent.name: path for path in (TEMPLATES / "switch").glob("*/platform.yml")},
            lambda path, found: _read_plain(read(path), Platform, found),
        ),
        _media_files=(CATALOGUE / "media.yaml", *(path for path in own if path.parent == extra)),
        _read=read,
        _findings=[refuse_file(path, what) for path, what in refused.items()],
    )
    shelves: tuple[Shelf[Any], ...] = (catalogue.devices, catalogue.gpus, catalogue.nics)
    for shelf in shelves:
        for name, path in shelf.files.items():
            if path in known:
                shelf.get(name)
    if len(catalogue._media_files) > 1:
        _ = catalogue.media
    return catalogue, catalogue.findings()


def _name_model(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}".lower().replace("_", "-").replace(" ", "-")


def _read_plain(document: Document | Diagnostic, model: type[Value], found: list[Diagnostic]) -> Value | None:
    if isinstance(document, Diagnostic):
        found.append(document)
        return None
    return _build(document, model, found)


def _build(document: Document, model: type[Value], found: list[Diagnostic]) -> Value | None:
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        found.extend(translate(document, model, error))
        return None


def _read_device(document: Document | Diagnostic, found: list[Diagnostic], has: Callable[[str, str], bool]) -> DeviceType | None:
    if isinstance(document, Diagnostic):
        found.append(document)
        return None
    if "gpuyard" not in document.data:
        block, findings = derive_block(document)
        found.extend(findings)
        if block is None:
            return None
        document = replace(document, data={**document.data, "gpuyard": block})
    device = _build(document, DeviceType, found)
    if device is not None:
        found.extend(audit_device(document, device, has))
    return device


def _read_media(documents: Iterable[Document | Diagnostic], found: list[Diagnostic]) -> Media:
    merged: dict[str, Any] = {"lengths_m": [], "transceivers": {}, "cables": {}, "fec": []}
    for document in documents:
        if isinstance(document, Diagnostic):
            found.append(document)
            continue
        complete = replace(document, data={"lengths_m": [], "transceivers": {}, "cables": {}, **document.data})
        media = _build(complete, Media, found)
        if media is not None:
            for key in ("transceivers", "cables"):
                merged[key].update(getattr(media, key))
            merged["fec"] += media.fec
            merged["lengths_m"] = media.lengths_m or merged["lengths_m"]
    return Media.model_construct(**merged)
