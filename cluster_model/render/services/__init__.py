"""What is rendered of services, one module per service, each with a SERVICE; docs/add-a-service.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from cluster_model.catalogue.load import Catalogue
from cluster_model.collecting import collect
from cluster_model.plan.model import Plan
from cluster_model.render.tables import Table


def _nothing(_plan: Plan) -> Iterable[Any]:
    return ()


@dataclass(frozen=True, slots=True)
class RenderedService:
    """What a service adds to the rendered tree.

    Args:
        name: its key in the intent and in the plan's summary.
        family: the folder of its files, and the name that `--only` takes.
        render: yields each file with its path, which begins with the family.
        summarize: what `gpuyard plan --json` says of it.
        describe: yields what `gpuyard plan` prints, lines and tables.
        groups: yields groups of the inventory with a host in each.
    """

    name: str
    family: str
    render: Callable[[Plan, Catalogue], Iterator[tuple[str, bytes]]]
    summarize: Callable[[Plan], dict[str, Any]]
    describe: Callable[[Plan], Iterable[str | Table]] = _nothing
    groups: Callable[[Plan], Iterable[tuple[str, str]]] = _nothing


@cache
def list_services() -> tuple[RenderedService, ...]:
    """Return every service, in the order of the modules' names."""
    found: tuple[RenderedService, ...] = collect(__name__, "SERVICE")
    return found
