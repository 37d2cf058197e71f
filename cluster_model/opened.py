"""A cluster with its plan, which the functions of the library give to each other. Import it by `cluster_model.pipeline`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cluster_model.diagnostic import Diagnostic

if TYPE_CHECKING:
    from cluster_model.catalogue.load import Catalogue
    from cluster_model.intent.load import Loaded
    from cluster_model.intent.model.cluster import Cluster
    from cluster_model.plan.model import Plan


class UnknownNameError(ValueError):
    """A name that the caller gave is none of those there are; `kind` is `network`, `limit` or `family`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Opened:
    """A cluster with its plan.

    Args:
        cluster: the intent.
        catalogue: the hardware it may use.
        plan: every choice made.
        findings: what was found on the way, located, in the order of print.
        loaded: the intent's text, facts and digest.
    """

    cluster: Cluster
    catalogue: Catalogue
    plan: Plan
    findings: list[Diagnostic]
    loaded: Loaded
