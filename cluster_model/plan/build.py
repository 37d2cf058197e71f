"""From an intent and the catalogue to a plan: every choice made, in one pass from the floor up."""

from __future__ import annotations

import gc
import sys
from collections import Counter, defaultdict

from cluster_model import __version__
from cluster_model.catalogue.load import Catalogue
from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.phases import as_of, count_phases, sort_groups
from cluster_model.intent.source.facts_csv import FactTables
from cluster_model.kinds import BUSINESS, COMPUTE, STORAGE
from cluster_model.names import DeviceName, format_name, format_server, natural_key
from cluster_model.plan.cabling.media import Cabler
from cluster_model.plan.context import Context, Place, resolve_server
from cluster_model.plan.draft import Bench, PduDraft, ServerDraft
from cluster_model.plan.fabric.business_wiring import BusinessWirer
from cluster_model.plan.fabric.hosts import HostWirer
from cluster_model.plan.fabric.legs import check_nics, role_of
from cluster_model.plan.fabric.lossless import plan_lossless
from cluster_model.plan.fabric.moves import report_unknown
from cluster_model.plan.fabric.oob import Blocks, OobWirer, plan_blocks, shape_oob
from cluster_model.plan.fabric.shape import FabricShape, shape_fabric
from cluster_model.plan.fabric.wanted import Models, resolve_fabric, resolve_models
from cluster_model.plan.floor.placement import Floor, place_servers, plan_racks
from cluster_model.plan.floor.power import Load, plan_power
from cluster_model.plan.model import BomLine, Network, NvmeTarget, Plan, RackPower, Server, Site
from cluster_model.plan.services.ceph import plan_ceph
from cluster_model.plan.services.kubernetes import plan_kubernetes
from cluster_model.plan.services.provisioning import plan_provisioning
from cluster_model.plan.services.topology import plan_topology
from cluster_model.plan.summary import summarise_network
from cluster_model.plan.tenancy.needs import Tenancy, plan_tenancy

SERVING = (COMPUTE, STORAGE, BUSINESS)
"""Kinds of networks that serve hosts, in the order of planning; the out-of-band network follows, since it reaches them all."""


def build_plan(
    cluster: Cluster, catalogue: Catalogue, facts: FactTables | None = None, digest: str = ""
) -> tuple[Plan | None, list[Diagnostic]]:
    """Return the plan of a cluster with the findings of planning; no plan where any of them is an error.

    Args:
        cluster: the intent, valid in itself.
        catalogue: hardware facts.
        facts: serial numbers, MACs and GUIDs by name; none where nothing is delivered yet.
        digest: digest of the intent's files, kept in the plan.

    Errors: HWR001, HWR002, HWR003, NOS001, PLC001 to PLC004, PLC007, NET001, NET002, NET004 to NET009, ADR001, CAB001,
    CAB007 to CAB009.
    """
    # A plan is up to a million records that all live on, and the collector would pass over them again and again to free none: a
    # third of the time at 100,000 GPUs (bench/plan.py).
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _build(cluster, catalogue, facts if facts is not None else FactTables(), digest)
    finally:
        if collecting:
            gc.enable()


def _build(cluster: Cluster, catalogue: Catalogue, facts: FactTables, digest: str) -> tuple[Plan | None, list[Diagnostic]]:
    ctx = Context(cluster, catalogue, facts)
    for name, group in cluster.servers.items():
        model = resolve_server(ctx, group.model, f"servers.{name}.model")
        if model is not None:
            ctx.servers[name] = model
            check_nics(ctx, name)
    oob = cluster.networks.oob
    oob_models = resolve_models(ctx, oob, "networks.oob", oob.system, "ethernet")
    for name, racks in cluster.racks.groups.items():
        if racks.pdu and catalogue.pdu(racks.pdu) is None:
            near = catalogue.suggest(racks.pdu, "pdu")
            fix = f"did you mean {near[0]}?" if near else "see gpuyard catalogue for what is known"
            where = f"racks.groups.{name}.pdu"
            ctx.report(
                "HWR001", where, f"{racks.pdu} is not a PDU of the catalogue", expected="a PDU model", actual=racks.pdu, fix=fix
            )
    if ctx.failed() or oob_models is None:
        for kind in SERVING:  # so that all unknown models are found at once
            resolve_fabric(ctx, kind)
        return None, ctx.findings
    for phase in range(1, count_phases(cluster)):
        ctx.standing = _stand(ctx, oob_models, phase)
    ctx.phase = count_phases(cluster)
    shapes, floor, blocks, oob_shape = _shape_all(ctx, oob_models)
    place_servers(ctx, floor)
    if ctx.failed() or oob_shape is None:
        return None, ctx.findings
    bench = _draft_bench(ctx, floor)
    cabler = Cabler(ctx)
    for shape in shapes:
        _choose_wirer(shape)(ctx, floor, cabler, bench, shape).wire()
    oob_wirer = OobWirer(ctx, floor, cabler, bench, oob_shape, blocks=blocks)
    pdus = oob_wirer.pdus = _draft_pdus(ctx, floor, bench, blocks, oob_wirer.place())
    oob_wirer.wire()
    report_unknown(ctx, bench)
    if ctx.failed():
        return None, ctx.findings
    tenancy = plan_tenancy(ctx, bench, [*shapes, oob_shape])
    if ctx.failed():
        return None, ctx.findings
    return _assemble(ctx, floor, bench, [*shapes, oob_shape], pdus, tenancy, digest), ctx.findings


def _shape_all(ctx: Context, oob_models: Models) -> tuple[list[FabricShape], Floor, Blocks, FabricShape | None]:
    """Return the networks that serve hosts, the floor without servers, and the out-of-band network with its racks."""
    shapes = [shape for kind in SERVING if (shape := shape_fabric(ctx, kind))]
    floor = plan_racks(ctx)
    blocks = plan_blocks(ctx, floor, oob_models.leaf)
    return shapes, floor, blocks, shape_oob(ctx, oob_models, blocks)


def _stand(ctx: Context, oob_models: Models, phase: int) -> dict[str, Place]:
    """Return where everything stands that was planned up to a phase, the way `_build` places it. Warnings: PLC001.

    What finds no room in the racks of its phase is placed with the next.
    """
    before = Context(as_of(ctx.cluster, phase), ctx.catalogue, ctx.facts, servers=ctx.servers, standing=ctx.standing, phase=phase)
    shapes, floor, blocks, oob_shape = _shape_all(before, oob_models)
    before.findings.clear()  # what is wrong with the networks is found, and told, with the whole cluster
    place_servers(before, floor)
    standing = dict(ctx.standing)
    for name, places in floor.servers.items():
        standing |= {format_server(name, number): place for number, place in enumerate(places, 1)}
    if not before.failed() and oob_shape is not None:
        bench, cabler = _draft_bench(before, floor), Cabler(before)
        for shape in shapes:
            wirer = _choose_wirer(shape)(before, floor, cabler, bench, shape)
            wirer.make_switches()
            bench.switches += wirer.wired.switches
        oob_wirer = OobWirer(before, floor, cabler, bench, oob_shape, blocks=blocks)
        pdus = _draft_pdus(before, floor, bench, blocks, oob_wirer.place())
        for switch in (*bench.switches, *oob_wirer.wired.switches):
            if switch.rack:
                place = Place(switch.rack, switch.u, switch.model.height_u, phase, switch.rack, switch.u)
                standing.setdefault(switch.name, place)
        for pdu in pdus:
            standing.setdefault(pdu.name, Place(pdu.rack, 0, 0, phase, "", 0))
    for finding in before.findings:
        if finding.id == "PLC001":
            summary = f"in phase {phase}, {finding.summary}"
            fix = "let the phase bring more racks, or fewer servers; what is left over stands with the next phase"
            ctx.report(
                "PLC001", finding.where, summary, expected=finding.expected, actual=finding.actual, fix=fix, severity="warning"
            )
    return standing


def _choose_wirer(shape: FabricShape) -> type[HostWirer]:
    return BusinessWirer if shape.kind.bridged else HostWirer


def _draft_bench(ctx: Context, floor: Floor) -> Bench:
    return Bench(servers={name: _draft_servers(ctx, floor, name) for name in sort_groups(ctx.cluster)})


def _draft_servers(ctx: Context, floor: Floor, name: str) -> list[ServerDraft]:
    group, model = ctx.cluster.servers[name], ctx.servers[name]
    known = ctx.facts.servers
    drafts = []
    for number, place in enumerate(floor.servers[name], 1):
        host = format_server(name, number)
        fact = known.get(host)
        drafts.append(
            ServerDraft(
                name=host,
                group=name,
                role="fabric-manager" if group.manages else role_of(name, group),
                number=number,
                model=model,
                built=number <= group.count,
                rack=place.rack,
                u=place.u,
                home=place.home or place.rack,
                turn=place.turn,
                where=f"servers.{name}",
                serial=fact.serial if fact else "",
                macs=fact.macs if fact else {},
                guids=fact.guids if fact else {},
                bmc_mac=fact.bmc_mac if fact else "",
            )
        )
    return drafts


def _draft_pdus(ctx: Context, floor: Floor, bench: Bench, blocks: Blocks, oob_racks: set[str]) -> list[PduDraft]:
    """Return the PDUs of every rack that will hold something; `oob_racks` have out-of-band spines or cores."""
    known = ctx.facts.pdus
    servers = [d for drafts in bench.servers.values() for d in drafts]
    ruled = oob_racks | {d.home for d in servers} | {d.rack for d in bench.switches}
    planned = ruled | {d.rack for d in servers}
    built = (
        oob_racks | {rack for d in servers if d.built for rack in (d.rack, d.home)} | {d.rack for d in bench.switches if d.built}
    )
    for racks in (ruled, planned, built):
        racks.update([block[0] for block in blocks.racks if racks.intersection(block)])  # where the block's leaf stands
    turns: dict[str, int] = {}
    for server in servers:
        turns[server.rack] = min(server.turn, turns.get(server.rack, server.turn))
    drafts = []
    for space in floor.racks.values():
        rack = space.rack
        if not rack.pdu or rack.name not in planned:
            continue
        for feed in range(1, rack.feeds + 1):
            name = format_name(DeviceName("pdu", rack=rack.name, number=feed))
            fact = known.get(name)
            drafts.append(
                PduDraft(
                    name,
                    rack.name,
                    feed,
                    rack.pdu,
                    fact.mac if fact else "",
                    fact.serial if fact else "",
                    f"racks.groups.{rack.group}.pdu",
                    rack.name in built,
                    0 if rack.name in ruled else turns.get(rack.name, 1),
                )
            )
    return drafts


def _plan_powers(ctx: Context, floor: Floor, bench: Bench) -> dict[str, RackPower]:
    loads: dict[str, list[Load]] = defaultdict(list)
    for drafts in bench.servers.values():
        for server in drafts:
            if not server.built:
                continue
            power, board = server.model.block.power, server.model.block.gpus
            gpu = ctx.catalogue.gpus.get(board.model) if board else None
            optics_w = sum(server.optics.values())
            loads[server.rack].append(
                Load(
                    power.maximum_w + optics_w,
                    optics_w,
                    power.psu_count,
                    power.psu_w or 0.0,
                    board.count if board and gpu else 0,
                    gpu.power_max_w if gpu else 0.0,
                    gpu.power_min_w if gpu else 0.0,
                )
            )
    for switch in bench.switches:
        if switch.built:
            power = switch.model.block.power
            optics_w = sum(switch.optics.values())
            loads[switch.rack].append(Load(power.maximum_w + optics_w, optics_w, power.psu_count, power.psu_w or 0.0))
    always = ctx.cluster.gpu.power.on_feed_loss == "always-cap"
    return {rack: plan_power(floor.racks[rack].rack, found, always_cap=always) for rack, found in loads.items()}


def _assemble(
    ctx: Context,
    floor: Floor,
    bench: Bench,
    shapes: list[FabricShape],
    pdus: list[PduDraft],
    tenancy: Tenancy,
    digest: str,
) -> Plan:
    cluster = ctx.cluster
    powers = _plan_powers(ctx, floor, bench)
    servers = []
    for drafts in bench.servers.values():
        for draft in drafts:
            if draft.built:
                power = powers[draft.rack]
                servers.append(draft.freeze(power.gpu_cap_w, power.gpu_cap_feed_lost_w))
    switches = tuple(draft.freeze() for draft in bench.switches if draft.built)
    order = list(floor.racks)
    cables = tuple(bench.cables)
    networks: tuple[Network, ...] = tuple(summarise_network(cluster, shape, switches, cables, servers) for shape in shapes)
    racks = tuple(floor.racks[name].rack for name in order if name in powers or floor.racks[name].rack.blocked)
    site = cluster.site
    return Plan(
        name=cluster.name,
        version=__version__,
        digest=digest,
        site=Site(
            site.domain,
            site.timezone,
            tuple(map(str, site.dns)),
            tuple(map(str, site.ntp)),
            tuple(map(str, site.syslog)),
            tuple(map(str, site.snmp_managers)),
        ),
        racks=racks,
        servers=tuple(servers),
        switches=switches,
        pdus=tuple(pdu.freeze() for pdu in pdus if pdu.built),
        cables=cables,
        networks=networks,
        lossless=plan_lossless(ctx, networks, switches),
        power=tuple(powers[name] for name in order if name in powers),
        bom=_count(bench, pdus),
        gpu_driver=cluster.gpu.driver,
        gpu_on_feed_loss=cluster.gpu.power.on_feed_loss,
        nvme_targets=_list_targets(cluster, servers),
        tenants=tenancy.tenants,
        border_peers=tenancy.border_peers,
        meetings=tenancy.meetings,
        partitions=tenancy.partitions,
        provisioning=plan_provisioning(ctx, bench, servers, switches, shapes[-1].units.hosts_per_leaf),
        topology=plan_topology(networks, switches),
        kubernetes=plan_kubernetes(cluster, servers, switches, racks, networks, tenancy.tenants),
        ceph=plan_ceph(cluster, {name: each.block for name, each in ctx.servers.items()}, servers, racks),
    )


def _list_targets(cluster: Cluster, servers: list[Server]) -> tuple[NvmeTarget, ...]:
    """Return the NVMe over Fabrics targets: servers of the groups named, at their service addresses."""
    wanted = cluster.networks.storage.nvme_of if cluster.networks.storage else None
    if wanted is None:
        return ()
    return tuple(
        NvmeTarget(server.name, service.address.partition("/")[0], wanted.port, wanted.discovery_port)
        for server in servers
        if server.group in wanted.targets
        for service in server.services
        if service.purpose == "storage"
    )


def _count(bench: Bench, pdus: list[PduDraft]) -> tuple[BomLine, ...]:
    """Return the bill of materials: optics by cage, attached cables by assembly, fibres by port."""
    lines: Counter[tuple[str, str, float]] = Counter()
    for drafts in bench.servers.values():
        lines.update(("server", d.model.ref, 0.0) for d in drafts if d.built)
    lines.update(("switch", d.model.ref, 0.0) for d in bench.switches if d.built)
    lines.update(("pdu", d.model, 0.0) for d in pdus if d.built)
    cages: dict[tuple[str, int], str] = {}
    assemblies: dict[str, tuple[str, float]] = {}
    seats = _cage_numbers(bench)
    for cable in bench.cables:
        if cable.a_optic:
            cages[cable.a, seats[cable.a, cable.a_port]] = sys.intern(cable.a_optic)
            cages[cable.b, seats[cable.b, cable.b_port]] = sys.intern(cable.b_optic)
            lines["fibre", cable.medium, cable.length_m] += 1
        else:
            longest = max(cable.length_m, assemblies.get(cable.assembly, ("", 0.0))[1])
            assemblies[cable.assembly] = (cable.medium, longest)
    lines.update(("transceiver", optic, 0.0) for optic in cages.values())
    lines.update(("cable", medium, length_m) for medium, length_m in assemblies.values())
    ordered = sorted(lines.items(), key=lambda item: (KINDS.index(item[0][0]), natural_key(item[0][1]), item[0][2]))
    return tuple(BomLine(kind, item, length_m, count) for (kind, item, length_m), count in ordered)


KINDS = ("server", "switch", "pdu", "transceiver", "cable", "fibre")


def _cage_numbers(bench: Bench) -> dict[tuple[str, str], int]:
    found = {(d.name, port.name): port.cage for drafts in bench.servers.values() for d in drafts for port in d.ports}
    found.update({(d.name, port.name): port.cage for d in bench.switches for port in d.ports})
    return found
