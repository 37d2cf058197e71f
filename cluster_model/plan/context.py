"""What the planner carries along: the intent, the catalogue, the findings, and what the catalogue says of each model."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

from cluster_model.catalogue.cages import Cage, switch_cages
from cluster_model.catalogue.load import Catalogue
from cluster_model.catalogue.platform_types import Platform
from cluster_model.catalogue.types import DeviceType
from cluster_model.catalogue.types import Server as ServerBlock
from cluster_model.catalogue.types import Switch as SwitchBlock
from cluster_model.diagnostic import Diagnostic, Severity
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.source.facts_csv import FactTables
from cluster_model.near import suggest
from cluster_model.plan.ports import Layout, lay_out
from cluster_model.plan.refusal import Refused


@dataclass(frozen=True, slots=True)
class SwitchModel:
    """A switch model with the NOS that runs on it."""

    ref: str
    device: DeviceType
    block: SwitchBlock
    cages: tuple[Cage, ...]
    nos: str
    platform: Platform

    @property
    def height_u(self) -> int:
        """Return the height in rack units."""
        return max(1, ceil(self.device.u_height))


@dataclass(frozen=True, slots=True)
class ServerModel:
    """A server model."""

    ref: str
    device: DeviceType
    block: ServerBlock

    @property
    def height_u(self) -> int:
        """Return the height in rack units."""
        return max(1, ceil(self.device.u_height))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a device stands, and where the rule would have it.

    Args:
        rack: its rack.
        u: its lowest rack unit.
        height_u: its height.
        phase: the phase of building that it came in, from 1.
        home: the rack that the rule gives it, and keeps for it while it stands elsewhere; empty where the group's racks are full.
        home_u: the lowest unit there.
        turn: for a server put by hand, its place in the list of those, from 1; 0: it stands where the rule puts it.
    """

    rack: str
    u: int
    height_u: int
    phase: int
    home: str
    home_u: int
    turn: int = 0


@dataclass(slots=True)
class Context:
    """The planner's bench. `findings` is the only thing that later steps add to.

    `standing` has what earlier phases of building brought, by name, and `phase` is the one that is being planned.
    """

    cluster: Cluster
    catalogue: Catalogue
    facts: FactTables = field(default_factory=FactTables)
    findings: list[Diagnostic] = field(default_factory=list)
    servers: dict[str, ServerModel] = field(default_factory=dict)
    standing: dict[str, Place] = field(default_factory=dict)
    phase: int = 1
    known_cables: set[str] = field(default_factory=set)  # of cables.exceptions, those that a network has
    _layouts: dict[tuple[object, ...], Layout] = field(default_factory=dict)

    def report(
        self,
        rule: str,
        where: str,
        summary: str,
        *,
        expected: str = "",
        actual: str = "",
        fix: str = "",
        severity: Severity = "error",
    ) -> None:
        """Add a finding, unless it is there already: tiers may share a fault."""
        finding = Diagnostic(rule, severity, where, summary, expected, actual, fix)
        if finding not in self.findings:
            self.findings.append(finding)

    def refuse(self, refused: Refused, where: str = "") -> None:
        """Report why a step could not go on; `where` where the step did not know it."""
        actual, fix = refused.actual, refused.fix
        self.report(refused.rule, refused.where or where, refused.summary, expected=refused.expected, actual=actual, fix=fix)

    def failed(self) -> bool:
        """Return whether any finding so far is an error."""
        return any(finding.severity == "error" for finding in self.findings)

    def phase_of(self, name: str) -> int:
        """Return the phase that a device came in."""
        stands = self.standing.get(name)
        return stands.phase if stands else self.phase

    def layout(
        self, model: SwitchModel, down: tuple[tuple[int, int], ...], up: tuple[int, int], peer: tuple[int, int] = (0, 0)
    ) -> Layout:
        """Return the seats of a switch wired with `down` runs, `up` and `peer` links; one object for all switches wired alike."""
        key = (model.ref, model.nos, down, up, peer)
        found = self._layouts.get(key)
        if found is None:
            patterns = (model.platform.port_native, model.platform.port_split)
            found = self._layouts[key] = lay_out(model.cages, patterns, down, up, peer)
        return found


def resolve_server(ctx: Context, ref: str, where: str) -> ServerModel | None:
    """Return a server model, or None with a finding (HWR001, HWR002)."""
    device = _resolve(ctx, ref, where, "server")
    if device is None or not isinstance(device.gpuyard, ServerBlock):
        return None
    return ServerModel(ref, device, device.gpuyard)


def resolve_switch(ctx: Context, ref: str, nos: str, technology: str, where: str, nos_where: str) -> SwitchModel | None:
    """Return a switch model with its NOS, or None with a finding (HWR001, HWR002, NOS001)."""
    device = _resolve(ctx, ref, where, "switch")
    platform = ctx.catalogue.platforms.get(nos) if (nos == "infiniband") == (technology == "infiniband") else None
    if platform is None:
        known = ", ".join(name for name in ctx.catalogue.names("platform") if name != "infiniband")
        ctx.report(
            "NOS001",
            nos_where,
            f"unknown network OS {nos}",
            expected=f"one of {known}",
            actual=nos,
            fix=suggest(nos, known.split(", "), f"set nos to one of {known}"),
        )
    if device is None or platform is None or not isinstance(device.gpuyard, SwitchBlock):
        return None
    if technology not in device.gpuyard.technology:
        ctx.report(
            "HWR002",
            where,
            f"{ref} does not speak {technology}",
            expected=f"a switch with technology {technology}",
            actual=", ".join(device.gpuyard.technology),
            fix="choose another switch, or another technology for the network",
        )
        return None
    if not _check_system(ctx, device.gpuyard, ref, nos, platform, where):
        return None
    return SwitchModel(ref, device, device.gpuyard, switch_cages(device), nos, platform)


def _check_system(ctx: Context, block: SwitchBlock, ref: str, nos: str, platform: Platform, where: str) -> bool:
    """Return whether a NOS runs on a switch, as far as the catalogue tells; without a list all but SONiC may. Errors: NOS001."""
    listed = block.systems.nos if block.systems is not None else [] if nos == "sonic" else [nos]
    known = sorted([*listed, *(["sonic"] if block.sonic is not None else ())])
    if nos == "infiniband" or nos in known or ref in platform.runs_on:
        return True
    if nos == "sonic":
        expected, way = "a model with a sonic block (hwsku, platform)", "add the block in your own catalogue file"
    else:
        expected, way = f"one of {', '.join(known)} (systems and sonic of {ref})", "add it to systems in your own catalogue file"
    choice = f"set nos to {' or '.join(known)}" if known else "choose another nos"
    ctx.report(
        "NOS001",
        where,
        f"the catalogue does not know {platform.name} on {ref}",
        expected=expected,
        actual=nos,
        fix=f"{choice}, choose another switch, or {way}",
    )
    return False


def _resolve(ctx: Context, ref: str, where: str, kind: str) -> DeviceType | None:
    device = ctx.catalogue.device(ref)
    if device is None:
        near = ctx.catalogue.suggest(ref, "device")
        fix = f"did you mean {near[0]}?" if near else "see gpuyard catalogue for what is known, or add a file for it"
        ctx.report("HWR001", where, f"{ref} is not in the catalogue", expected=f"a {kind} model", actual=ref, fix=fix)
        return None
    if device.gpuyard.kind != kind:
        ctx.report(
            "HWR002",
            where,
            f"{ref} is a {device.gpuyard.kind}, not a {kind}",
            expected=f"a {kind} model",
            actual=f"a {device.gpuyard.kind}",
            fix=f"choose a {kind}; gpuyard catalogue lists them",
        )
        return None
    return device
