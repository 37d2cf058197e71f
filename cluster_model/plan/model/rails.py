"""Rails of the compute network as pods take them: whole ports, with the address that the port has on its host."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RailSeat:
    """A worker's port on a rail: `prefix` is its link to the leaf, of which `gateway` is the leaf's end, without a length."""

    server: str
    prefix: str
    gateway: str


@dataclass(frozen=True, slots=True)
class Rail:
    """A rail of one plane, and of one side where a rail has two leafs. `resource` is what a pod asks for, with its domain.

    `prefix` has the links of all hosts on it; `routes` are what is reached over it, the rail itself first. `pci` has the
    addresses of its ports, over the server models of `groups`.
    """

    name: str
    resource: str
    prefix: str
    routes: tuple[str, ...]
    groups: tuple[str, ...]
    pci: tuple[str, ...]
    seats: tuple[RailSeat, ...]
