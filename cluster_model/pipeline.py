"""gpuyard as a library: a cluster taken from its files to a design, to rendered files, and held against gear.

Nothing here prints, asks, or ends the process. What is wrong with what a user wrote comes back as findings (`Diagnostic`), each
with its place; a stage starts only where those before it found no errors. `gpuyard explain ID` is the manual of a finding.

Stages are imported by the functions that run them: to import this module costs nothing.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cluster_model.diagnostic import Diagnostic, has_errors, promote_warnings
from cluster_model.opened import Opened, UnknownNameError
from cluster_model.verification import choose_scope, verify, verify_ceph, verify_hosts

if TYPE_CHECKING:
    from cluster_model.catalogue.load import Catalogue
    from cluster_model.intent.load import Loaded
    from cluster_model.intent.model.cluster import Cluster
    from cluster_model.plan.compare.plans import Comparison
    from cluster_model.plan.model import Plan
    from cluster_model.render.write import Written

__all__ = [
    "Changes",
    "Inspection",
    "Opened",
    "RefusedError",
    "UnknownNameError",
    "check_families",
    "choose_scope",
    "compare",
    "inspect",
    "plan",
    "render",
    "validate",
    "verify",
    "verify_ceph",
    "verify_hosts",
    "write",
]


class RefusedError(Exception):
    """There is no result, and `findings` say why: located, in the order of print, at least one of them an error."""

    def __init__(self, findings: Sequence[Diagnostic]) -> None:
        first = next(finding for finding in findings if finding.severity == "error")
        super().__init__(f"{first.id} {first.summary}")
        self.findings = list(findings)


@dataclass(slots=True)
class Inspection:
    """How far a cluster got.

    Args:
        loaded: the intent with the place of every value, and the facts beside it.
        findings: what was found on the way, located, in the order of print.
        catalogue: the hardware it may use; None where the intent holds errors.
        plan: every choice made; None where a stage before it, or planning itself, found errors.
    """

    loaded: Loaded
    findings: list[Diagnostic]
    catalogue: Catalogue | None = None
    plan: Plan | None = None

    @property
    def opened(self) -> Opened | None:
        """Return the cluster with its plan, whatever the design rules say of it; None where there is no plan."""
        cluster = self.loaded.cluster
        if cluster is None or self.catalogue is None or self.plan is None:
            return None
        return Opened(cluster, self.catalogue, self.plan, self.findings, self.loaded)

    def accept(self, *, strict: bool = False) -> Opened:
        """Return the cluster with its plan, where nothing was found that forbids to build it.

        Args:
            strict: whether a warning forbids it too.

        Raises:
            RefusedError: there are errors.
        """
        findings = promote_warnings(self.findings) if strict else self.findings
        if has_errors(findings):
            raise RefusedError(findings)
        opened = self.opened
        if opened is None:
            raise RuntimeError("a stage stopped without an error")
        return opened


@dataclass(frozen=True, slots=True)
class Changes:
    """What changes from one cluster to another; false where nothing does.

    Args:
        comparison: devices, cables, addresses, tenants and settings that differ.
        config_lines: lines (added, removed) by path below `switches/`, for files of switches that stand in both and differ; a
            line that only moves is no change.
    """

    comparison: Comparison
    config_lines: dict[str, tuple[int, int]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.comparison)


def inspect(path: Path | str | Loaded, *, rules: bool = True) -> Inspection:
    """Take a cluster through intent, catalogue, plan and design rules, up to the first stage that finds errors.

    Args:
        path: folder with cluster.yml, or the file, or what was read of it. Files that the intent names, and a folder
            `catalogue/`, are read beside it.
        rules: whether the plan is held against the design rules too.

    Returns:
        What was reached. Never raises on what a user wrote: a path that leads nowhere is finding YML005.

    Errors:
        YML001 to YML010, INT, FCT and PRV of the intent; CAT of its own catalogue; HWR, NOS, PLC, NET, ADR and CAB of the plan;
        all others that docs/rules.md lists of the design rules.
    """
    from cluster_model.intent.load import Loaded, load_cluster

    loaded = path if isinstance(path, Loaded) else load_cluster(Path(path))
    inspection = Inspection(loaded, list(loaded.findings))
    if loaded.cluster is not None and not has_errors(loaded.findings):
        found = _run_stages(inspection, loaded.cluster, rules=rules)
        inspection.findings += [loaded.source.locate(finding) for finding in found]
    inspection.findings.sort(key=lambda finding: finding.sort_key)
    return inspection


def _run_stages(inspection: Inspection, cluster: Cluster, *, rules: bool) -> list[Diagnostic]:
    """Run the stages after the intent, each only when those before it found no errors; return what they found."""
    from cluster_model.catalogue.load import load_catalogue
    from cluster_model.plan.build import build_plan

    loaded = inspection.loaded
    extra = loaded.folder / "catalogue"
    inspection.catalogue, findings = load_catalogue(extra if os.path.lexists(extra) else None)
    if has_errors(findings):
        return findings
    made, more = build_plan(cluster, inspection.catalogue, loaded.facts, loaded.digest)
    # Our own files are read as the planner asks for them, and one that is broken looks to it like one that is not there.
    findings = inspection.catalogue.findings()
    if has_errors(findings):
        return findings
    findings = [*findings, *more]
    if made is None or has_errors(findings):
        return findings
    inspection.plan = made
    if not rules:
        return findings
    from cluster_model.checks import check_plan

    return [*findings, *check_plan(made, cluster, inspection.catalogue, loaded.facts)]


def validate(path: Path | str, *, strict: bool = False) -> list[Diagnostic]:
    """Return everything that is found in a cluster, located, in the order of print: errors first, then by place.

    Args:
        path: folder with cluster.yml, or the file.
        strict: whether warnings become errors.

    Errors:
        Those of `inspect`.
    """
    findings = inspect(path).findings
    return promote_warnings(findings) if strict else findings


def plan(path: Path | str, *, strict: bool = False) -> Opened:
    """Return a cluster with its plan, where nothing was found that forbids to build it.

    Args:
        path: folder with cluster.yml, or the file.
        strict: whether a warning forbids it too.

    Returns:
        The plan, with the intent and the hardware that it was made of, and the findings that remain: warnings and notes.

    Raises:
        RefusedError: there are errors; they are those of `inspect`.
    """
    return inspect(path).accept(strict=strict)


def check_families(only: Collection[str]) -> None:
    """Raise UnknownNameError where a name is no family of rendered files."""
    from cluster_model.near import suggest
    from cluster_model.render.tree import FAMILIES

    for name in only:
        if name not in FAMILIES:
            hint = suggest(name, FAMILIES, f"there are {', '.join(FAMILIES)}")
            raise UnknownNameError("family", f"there is no family {name}; {hint}")


def render(opened: Opened, only: Collection[str] | None = None) -> dict[str, bytes]:
    """Return every file that follows from a plan: switch configurations, inventory, cabling, boot files, drawings.

    Secrets are named in the files, and never in them.

    Args:
        opened: the cluster.
        only: families to render, names from `render.tree.FAMILIES`; None for all.

    Returns:
        Content by relative path, manifest.json last. The same cluster gives the same bytes.

    Raises:
        RefusedError: a switch template is broken (RND001), or data reads like a reference to a secret (RND002).
        UnknownNameError: there is no such family.
    """
    from cluster_model.plan.growth import plan_grown
    from cluster_model.render.switch import SwitchTemplateError
    from cluster_model.render.tree import SHOWING_GROWTH, DataError, render_tree

    check_families(only or ())
    loaded, is_shown = opened.loaded, only is None or not SHOWING_GROWTH.isdisjoint(only)
    grown = plan_grown(opened.cluster, opened.catalogue, loaded.facts, loaded.digest) if is_shown else None
    try:
        return render_tree(opened.plan, opened.catalogue, only, findings=opened.findings, inputs=loaded.inputs, grown=grown)
    except (SwitchTemplateError, DataError) as error:
        raise RefusedError([error.finding]) from error


def write(
    opened: Opened, files: Mapping[str, bytes], target: Path | str, only: Collection[str] | None = None, *, dry_run: bool = False
) -> Written:
    """Make a folder hold rendered files: only what changed, all or nothing; what is not gpuyard's stays.

    Args:
        opened: the cluster that the files were rendered from.
        files: what `render` returned.
        target: the folder, created where it is missing.
        only: the families that were rendered; files of others stay as they are. None: all were.
        dry_run: whether only to tell what would be done.

    Returns:
        Paths written, removed, unchanged and foreign, relative and sorted.

    Raises:
        WriteError: the folder is not gpuyard's, or another cluster's, or cannot be written. What stood there stands.
    """
    from cluster_model.render.write import compare_tree, write_tree

    if dry_run:
        return compare_tree(Path(target), files, only)
    return write_tree(Path(target), files, opened.plan.digest, only)


def compare(before: Opened, after: Opened) -> Changes:
    """Return what changes from one cluster to another; switches are rendered where anything does.

    Args:
        before: the cluster as it stands.
        after: the cluster as it is wanted.

    Returns:
        Changes in the order of the plans.

    Raises:
        RefusedError: a switch template is broken (RND001).
    """
    from cluster_model.plan.compare.plans import compare_plans
    from cluster_model.render.switch import SwitchTemplateError, count_config_lines

    comparison = compare_plans(before.plan, after.plan)
    if not comparison:
        return Changes(comparison)
    try:
        lines = count_config_lines((before.plan, before.catalogue), (after.plan, after.catalogue))
    except SwitchTemplateError as error:
        raise RefusedError([error.finding]) from error
    return Changes(comparison, lines)
