"""What a service's part of an intent means elsewhere, one module per service with a SERVICE; docs/add-a-service.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cluster_model.collecting import collect
from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.model.cluster import Cluster


def _read_nothing(cluster: Cluster, _folder: Path, _shown: str) -> tuple[Cluster, list[Diagnostic]]:
    return cluster, []


@dataclass(frozen=True, slots=True)
class ServiceReferences:
    """What a service names outside its own keys.

    Args:
        check: yields every reference that leads nowhere, not located.
        list_files: names files beside the intent that the plan depends on.
        read: returns the intent with what those files say, and what is wrong with them. It is given the intent, the folder that
            file names are relative to, and that folder as the user gave it, for findings.
    """

    check: Callable[[Cluster], Iterable[Diagnostic]]
    list_files: Callable[[Cluster], list[str]] = lambda _cluster: []
    read: Callable[[Cluster, Path, str], tuple[Cluster, list[Diagnostic]]] = _read_nothing


@cache
def list_services() -> tuple[ServiceReferences, ...]:
    """Return every service, in the order of the modules' names."""
    found: tuple[ServiceReferences, ...] = collect(__name__, "SERVICE")
    return found
