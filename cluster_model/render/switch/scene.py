"""The plan with what its switches share, so that each of thousands of switches is not searched for anew."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

from cluster_model.catalogue.load import Catalogue
from cluster_model.plan.model import CageMode, Network, Plan, Switch
from cluster_model.render.switch.sonic_types import CageSlot, Config, Row

SwitchKind = tuple[str, str, int, tuple[CageMode, ...]]
"""What switches with the same ports agree in: model, network OS, MTU in bytes, modes of the cages."""
UsedPorts = tuple[tuple[str, int], ...]
"""Cabled ports of a switch with their speeds, Gb/s."""


class Scene:
    """The plan with what its switches share."""

    def __init__(self, plan: Plan, catalogue: Catalogue) -> None:
        self.plan = plan
        self.catalogue = catalogue
        self.slots: dict[SwitchKind, tuple[CageSlot, ...]] = {}
        self.lossless_tables: dict[tuple[SwitchKind, UsedPorts], Config] = {}
        self._networks = {network.name: network for network in plan.networks}
        self._rows: dict[str, Row] = {}

    @cached_property
    def services(self) -> tuple[str, ...]:
        """Addresses of the site's services, each once, in their order."""
        site = self.plan.site
        return tuple(dict.fromkeys((*site.dns, *site.ntp, *site.syslog, *site.snmp_managers)))

    @cached_property
    def announcers(self) -> frozenset[str]:
        """The servers that tell leafs of the API server's address."""
        return self.plan.kubernetes.announcers

    @cached_property
    def cable_lengths(self) -> dict[tuple[str, str], int]:
        """Length in whole metres, rounded up, of the cable at (device, port)."""
        lengths: dict[tuple[str, str], int] = {}
        for cable in self.plan.cables:
            length_m = max(1, math.ceil(cable.length_m))
            lengths[cable.a, cable.a_port] = lengths[cable.b, cable.b_port] = length_m
        return lengths

    @cached_property
    def cable_fecs(self) -> dict[str, dict[str, str]]:
        """Error correction that each cable needs, by device and port; cables without a planned one have no entry."""
        fecs: dict[str, dict[str, str]] = {}
        for cable in self.plan.cables:
            if cable.fec:
                fecs.setdefault(cable.a, {})[cable.a_port] = cable.fec
                fecs.setdefault(cable.b, {})[cable.b_port] = cable.fec
        return fecs

    @cached_property
    def _tunnels(self) -> dict[tuple[str, int, str], tuple[str, ...]]:
        """Tunnel addresses of the other leafs in (network, unit), beside each leaf's own."""
        units: dict[tuple[str, int], list[str]] = {}
        for switch in self.plan.switches:
            if switch.role == "leaf" and switch.overlay is not None:
                units.setdefault((switch.network, switch.unit), []).append(switch.overlay.vtep)
        return {(*unit, own): tuple(vtep for vtep in vteps if vtep != own) for unit, vteps in units.items() for own in vteps}

    def shared_row(self, name: str, make: Callable[[Scene, str], Row]) -> Row:
        """Return the row that describes a switch to its neighbours, made once."""
        if name not in self._rows:
            self._rows[name] = make(self, name)
        return self._rows[name]

    def network_of(self, switch: Switch) -> Network:
        """Return the network that a switch belongs to."""
        return self._networks[switch.network]

    def list_segment_peers(self, switch: Switch) -> tuple[str, ...]:
        """Return the tunnel addresses of the other leafs that share Ethernet segments with a switch."""
        if switch.overlay is None or not any(bond.esi for bond in switch.overlay.bonds):
            return ()
        return self._tunnels[switch.network, switch.unit, switch.overlay.vtep]
