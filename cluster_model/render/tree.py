"""The rendered tree: every file that follows from a plan, by its path below build/<cluster>/."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cluster_model.catalogue.load import Catalogue
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model import Plan
from cluster_model.references import ForgedReferenceError, settle
from cluster_model.render.cabling import render_cabling
from cluster_model.render.dns import render_dns
from cluster_model.render.drawings.diagrams import render_diagrams
from cluster_model.render.infiniband.partitions import render_partitions
from cluster_model.render.infiniband.subnet import render_subnets
from cluster_model.render.inventory.document import render_inventory
from cluster_model.render.manifest import MANIFEST, build_manifest, family_of
from cluster_model.render.page.index import render_page
from cluster_model.render.plan_json import render_plan_json
from cluster_model.render.services import RenderedService, list_services
from cluster_model.render.switch import has_templates, render_switches


class DataError(Exception):
    """A file cannot be rendered because of the data in it. `finding` says which."""

    def __init__(self, finding: Diagnostic) -> None:
        super().__init__(finding.summary)
        self.finding = finding


@dataclass(frozen=True, slots=True)
class Material:
    """What families render from.

    Args:
        plan: the plan.
        catalogue: the hardware that it is made of.
        findings: what the design rules said, for the page.
        inputs: files that the plan's digest is made from, name relative to the intent's folder → sha256.
        grown: the plan once everything planned is built; None where that is what is built.
    """

    plan: Plan
    catalogue: Catalogue
    findings: tuple[Diagnostic, ...] = ()
    inputs: Mapping[str, str] = field(default_factory=dict)
    grown: Plan | None = None


def _render_plan(material: Material) -> Iterator[tuple[str, bytes]]:
    yield "plan.json", render_plan_json(material.plan, material.findings)


def _render_inventory(material: Material) -> Iterator[tuple[str, bytes]]:
    yield "inventory/inventory.json", render_inventory(material.plan, material.catalogue, material.inputs)


def _render_switches(material: Material) -> Iterator[tuple[str, bytes]]:
    for path, text in render_switches(material.plan, material.catalogue):
        yield path, text.encode()


def _render_cabling(material: Material) -> Iterator[tuple[str, bytes]]:
    yield from render_cabling(material.plan, material.grown)


def _render_fabric_manager(material: Material) -> Iterator[tuple[str, bytes]]:
    yield from render_partitions(material.plan)
    yield from render_subnets(material.plan)


def _render_dns(material: Material) -> Iterator[tuple[str, bytes]]:
    yield from render_dns(material.plan)


def _render_diagrams(material: Material) -> Iterator[tuple[str, bytes]]:
    yield from render_diagrams(material.plan, material.grown)


def _render_page(material: Material) -> Iterator[tuple[str, bytes]]:
    yield "index.html", render_page(material.plan, material.findings, material.grown)


def _render_service(service: RenderedService) -> Callable[[Material], Iterator[tuple[str, bytes]]]:
    return lambda material: service.render(material.plan, material.catalogue)


FAMILIES: dict[str, Callable[[Material], Iterator[tuple[str, bytes]]]] = {
    "plan": _render_plan,
    "inventory": _render_inventory,
    "switches": _render_switches,
    "cabling": _render_cabling,
    "fabric-manager": _render_fabric_manager,
    **{service.family: _render_service(service) for service in list_services()},
    "dns": _render_dns,
    "diagrams": _render_diagrams,
    "page": _render_page,
}
"""Renderers by the name that `--only` takes. A family writes below a folder of its name, or a root file of manifest.py."""
SHOWING_GROWTH = frozenset({"cabling", "diagrams", "page"})
"""Families that show what is planned and not built yet; for others alone nobody plans the grown cluster."""


def render_tree(
    plan: Plan,
    catalogue: Catalogue,
    only: Collection[str] | None = None,
    *,
    findings: Iterable[Diagnostic] = (),
    inputs: Mapping[str, str] | None = None,
    grown: Plan | None = None,
) -> dict[str, bytes]:
    """Return the files of a plan, manifest.json last.

    Args:
        plan: the plan.
        catalogue: the hardware that it is made of.
        only: names from FAMILIES; None for all of them.
        findings: what the design rules said about the plan.
        inputs: files that the plan's digest is made from, name → sha256; without them the inventory plugin takes the
            inventory for stale.
        grown: the plan once everything planned is built; None where that is what is built.

    Returns:
        Content by relative path, sorted within a family. The same arguments give the same bytes.

    Raises:
        SwitchTemplateError: a switch template is broken (RND001).
        DataError: data reads like a reference to a secret (RND002).
    """
    material = Material(plan, catalogue, tuple(findings), inputs or {}, grown)
    files: dict[str, bytes] = {}
    references: dict[str, tuple[str, ...]] = {}
    for family, render in FAMILIES.items():
        if only is None or family in only:
            for path, content in render(material):
                if path in files or family_of(path) != family:
                    raise ValueError(f"{family} must not render {path}")
                try:
                    files[path], names = settle(content)
                except ForgedReferenceError as error:
                    raise DataError(_find_forged(path, str(error))) from None
                if names:
                    references[path] = names
    files[MANIFEST] = build_manifest(plan.name, plan.version, plan.digest, files, references)
    return files


def _find_forged(path: str, text: str) -> Diagnostic:
    return Diagnostic(
        "RND002",
        "error",
        "",
        f"{path} would hold a reference that no template wrote",
        "data that does not read like {{gpuyard-…}}",
        text,
        "find it in cluster.yml and its CSV files, and remove it: a device may have reported it as its serial number or name",
    )


def list_unrendered(plan: Plan) -> dict[str, int]:
    """Return how many switches get no configuration files yet, by network operating system.

    InfiniBand switches need none: their subnet manager configures them, and its files lie under fabric-manager/.
    """
    managed = {network.name for network in plan.networks if network.technology == "infiniband"}
    return dict(Counter(s.nos for s in plan.switches if s.network not in managed and not has_templates(s.nos)))
