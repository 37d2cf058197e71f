"""Design rules over a plan."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

from cluster_model.catalogue.load import Catalogue
from cluster_model.checks.design import Design
from cluster_model.checks.registry import RULES, Rule
from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.source.facts_csv import FactTables
from cluster_model.plan.model import Plan

__all__ = ["RULES", "Design", "Rule", "check_plan"]

_PAGES = {f"{__name__}.manual", f"{__name__}.feature_matrix"}  # they write pages of docs/, and are run by name
for _module in sorted({module.name for module in walk_packages(__path__, f"{__name__}.")} - _PAGES):
    import_module(_module)
RULES.update({id_: RULES.pop(id_) for id_ in sorted(RULES)})


def check_plan(plan: Plan, cluster: Cluster, catalogue: Catalogue, facts: FactTables | None = None) -> list[Diagnostic]:
    """Hold every design rule against a plan.

    Args:
        plan: what was planned.
        cluster: the intent that it was planned from.
        catalogue: the hardware it was planned with.
        facts: what the vendors delivered, to find rows about devices that are not planned.

    Returns:
        Findings, errors first, then by intent path; one per unit, rack group, server group or network where the fix is the same.
    """
    design = Design(plan, cluster, catalogue, facts or FactTables())
    found = [finding for rule in RULES.values() if rule.stage == "checks" for finding in rule().find(design)]
    return sorted(found, key=lambda finding: finding.sort_key)
