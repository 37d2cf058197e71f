"""A rendered tree as the twin boots it: the plan, and every switch's files and interfaces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cluster_model.paths import TEMPLATES
from cluster_model.plan.model import Plan, Server, Switch
from cluster_model.references import SECRET, settle
from cluster_model.twin.dataplane import DataPlane, parse_interfaces
from cluster_model.twin.plan_file import TreeError, load_plan
from cluster_model.twin.sonic_plane import parse_config_db

if TYPE_CHECKING:  # only stand-ins need them, and under emulation they cost half a minute
    from cluster_model.catalogue.load import Catalogue
    from cluster_model.render.switch.scene import Scene

STAND_IN = "stand-in: plan proved, file not"
STAND_IN_MLAG = "MLAG (no stand-in has it)"
STAND_IN_MARK = "stand-in"
"""A file beside those of a switch that are a stand-in already."""
_PARSERS: dict[str, Callable[[str, str], DataPlane]] = {"interfaces": parse_interfaces, "config_db.json": parse_config_db}


def fill_secrets(text: str) -> str:
    """Put a fixed dummy where a secret is named."""
    return SECRET.sub(r"dummy-\1", text)


def name_device(port: str) -> str:
    """Return the name of a port's device: Linux has no slash in names, as in Ethernet1/1."""
    return port.replace("/", "_")


@dataclass(frozen=True, slots=True)
class SwitchFiles:
    """A switch's files by name, its interfaces, and whether they are a stand-in for another dialect's."""

    files: dict[str, str]
    plane: DataPlane
    is_stand_in: bool

    @property
    def daemons(self) -> tuple[str, ...]:
        """Return the daemons that the switch runs, in the order of their start."""
        text = self.files.get("daemons", "")
        return tuple(name for name in ("zebra", "staticd", "bgpd", "bfdd") if f"{name}=no" not in text)


@dataclass
class Tree:
    """A rendered tree. Files are read when they are asked for: a large cluster is booted in part."""

    folder: Path
    plan: Plan
    catalogue: Catalogue | None = None
    _read: dict[str, SwitchFiles] = field(default_factory=dict)

    def switch_files(self, switch: Switch) -> SwitchFiles:
        """Return the files of a switch; TreeError where they are missing or not understood."""
        if switch.name not in self._read:
            self._read[switch.name] = self._read_files(switch)
        return self._read[switch.name]

    def _read_files(self, switch: Switch) -> SwitchFiles:
        folder = self.folder / "switches" / switch.name
        files = {path.name: fill_secrets(path.read_text("utf-8")) for path in folder.iterdir()} if folder.is_dir() else {}
        is_stand_in = files.pop(STAND_IN_MARK, None) is not None
        if "frr.conf" not in files:
            is_stand_in = True
            if switch.nos in {"frr", "sonic"}:
                raise TreeError(f"{folder}: no frr.conf; run gpuyard render again")
            files = self._render_stand_in(switch)
        for name, parse in _PARSERS.items():
            if name in files:
                plane = parse(files[name], str(folder / name))
                if switch.overlay is not None and switch.overlay.mlag is not None and plane.mlag is None:
                    plane = replace(plane, needs=plane.needs | {STAND_IN_MLAG})
                return SwitchFiles(files, plane, is_stand_in)
        raise TreeError(f"{folder}: neither {' nor '.join(_PARSERS)}: nothing says what its interfaces are")

    @cached_property
    def _scene(self) -> Scene:
        """The plan as if every switch ran FRR, ports with names that Linux can carry."""
        from cluster_model.catalogue.load import load_catalogue
        from cluster_model.render.switch.scene import Scene

        catalogue = self.catalogue or load_catalogue()[0]
        return Scene(replace(self.plan, switches=tuple(_stand_in(switch) for switch in self.plan.switches)), catalogue)

    def _render_stand_in(self, switch: Switch) -> dict[str, str]:
        from cluster_model.render.switch.context import describe_switch
        from cluster_model.render.switch.environment import load_main, render_files

        folder = TEMPLATES / "switch"
        main = load_main(folder, "frr")
        assert main is not None
        files = dict(render_files(main, folder, describe_switch(self._scene, _stand_in(switch))))
        return {name: fill_secrets(settle(text.encode())[0].decode()) for name, text in files.items()}

    @cached_property
    def servers(self) -> dict[str, Server]:
        """Servers by name."""
        return {server.name: server for server in self.plan.servers}


def _stand_in(switch: Switch) -> Switch:
    ports = tuple(replace(port, name=name_device(port.name), peer_port=name_device(port.peer_port)) for port in switch.ports)
    ways = tuple(replace(way, port=name_device(way.port)) for way in switch.upstreams)
    routes = tuple(replace(route, port=name_device(route.port)) for route in switch.service_routes)
    return replace(switch, nos="frr", ports=ports, upstreams=ways, service_routes=routes)


def open_tree(folder: Path, catalogue: Catalogue | None = None) -> Tree:
    """Return a rendered tree.

    Args:
        folder: build/<cluster>/ as `gpuyard render` wrote it.
        catalogue: the hardware that stand-ins are rendered with; by default the one that comes with gpuyard.

    Raises:
        TreeError: the folder is no rendered tree.
    """
    return Tree(folder, load_plan(folder), catalogue)
