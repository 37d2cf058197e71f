"""`gpuyard new`: a commented cluster.yml to start from."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from cluster_model.catalogue.load import Catalogue
    from cluster_model.catalogue.types import Server

SCHEMA = Path("docs", "schema", "cluster.schema.json")
LEAFS = {
    "roce": ((200, "nvidia/sn4700"), (800, "nvidia/sn5600")),
    "infiniband": ((200, "nvidia/qm8790"), (400, "nvidia/qm9700"), (800, "nvidia/q3400-ra")),
}
"""Compute leafs by the speed in Gb/s of the NICs that they serve, slowest first."""
STORAGE_SERVER, CONTROL_SERVER, FABRIC_MANAGER, STORAGE_LEAF = (
    "generic/2u-24nvme",
    "generic/1u",
    "nvidia/ufm-3.1",
    "nvidia/sn4700",
)
BUSINESS_LEAF = "nvidia/sn3700c"
ARISTA = {"compute": "arista/dcs-7060x6-64pe", "storage": "arista/dcs-7050cx3-32s", "business": "arista/dcs-7050cx3-32s"}
"""Leafs for `--nos eos`, which runs on Arista's own switches alone."""
TENANT_POOL = IPv4Network("10.0.0.0/10")
"""Where subnets of tenants are cut from; the pools of the networks lie behind it."""
FIRST_PLACE = 16  # the intent's default place of a group's first server in a subnet
OOB_SPINES = ((32, "nvidia/sn3700c"), (128, "nvidia/sn4700"), (512, "nvidia/sn5600"))
"""Aggregation switches by the 100 Gb/s links they can take, smallest first."""
OOB_POOLS = ((300, "10.120.0.0/14"), (1000, "10.112.0.0/12"), (2400, "10.96.0.0/11"), (5800, "10.192.0.0/10"))
"""Pools of the out-of-band network by the racks that they have room for, smallest first."""
STRONG_W = 3000
"""A leaf that draws more, in W, stands in stronger racks, since several may share one."""
RACK_U, ROW_RACKS, MOST_RACKS, ROWS, UNIT, CEPH_HOSTS = 48, 20, 200, 250, 32, 3
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTERS = [*_ALPHABET, *(a + b for a in _ALPHABET for b in _ALPHABET if f"{a}{b}" not in {"NO", "ON"})]


@click.command()
@click.argument("name")
@click.option("--server", default="nvidia/dgx-h100", show_default=True, metavar="MODEL", help="GPU server.")
@click.option("--gpus", type=click.IntRange(1, 400_000), default=32, show_default=True, help="GPUs to build.")
@click.option(
    "--technology", type=click.Choice(["roce", "infiniband"]), default="roce", show_default=True, help="Compute network."
)
@click.option("--leaf", metavar="MODEL", help="Compute leaf.  [default: by technology and NIC]")
@click.option("--spine", metavar="MODEL", help="Compute spine.  [default: as the leaf]")
@click.option("--oob-leaf", default="nvidia/sn2201", show_default=True, metavar="MODEL", help="Out-of-band leaf.")
@click.option("--nos", default="sonic", show_default=True, help="Network operating system of the Ethernet switches.")
@click.option("--storage", type=click.IntRange(0, 10_000), default=0, show_default=True, help="Storage servers.")
@click.option(
    "--tenants", type=click.IntRange(0, 250), default=0, show_default=True, help="Tenants, with equal parts of the GPU servers."
)
@click.option("--unit", type=click.IntRange(1, 4096), help="Servers per scalable unit.")
@click.option("--per-rack", type=click.IntRange(1, 60), default=4, show_default=True, help="GPU servers per rack.")
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("inventory"), show_default=True, help="Folder of clusters."
)
def command(name: str, output: Path, force: bool, **wanted: Any) -> None:
    """Write a cluster.yml to start from, every key explained.

    The file is inventory/NAME/cluster.yml; one that is there is kept unless --force is given.

    Models come from the catalogue; `gpuyard catalogue` lists them.
    """
    from cluster_model.catalogue.load import load_catalogue
    from cluster_model.cli.template import write_template

    target = output / name / "cluster.yml"
    if target.exists() and not force:
        raise click.UsageError(f"{target} is there already; --force overwrites it")
    catalogue, _ = load_catalogue()
    text = _find_modeline(target) + write_template(name, _pair_spines(choose_values(name, wanted, catalogue), catalogue))
    _refuse_invalid(str(target), text)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, "utf-8")
    click.echo(f"Wrote {target}. Next: gpuyard validate {target.parent}")


def choose_values(name: str, wanted: dict[str, Any], catalogue: Catalogue) -> dict[str, Any]:
    """Return an intent as plain data, large enough for what is wanted.

    Args:
        name: name of the cluster.
        wanted: the options of the command by name.
        catalogue: hardware to size racks by.
    """
    from cluster_model.catalogue.types import Server, Switch

    leaf = wanted["leaf"] or _choose_leaf(wanted, catalogue)
    for option, model, kind in (
        ("--server", wanted["server"], Server),
        ("--leaf", leaf, Switch),
        ("--spine", wanted["spine"], Switch),
        ("--oob-leaf", wanted["oob_leaf"], Switch),
    ):
        if model is not None:
            _require_model(option, model, kind, catalogue)
    device, server = catalogue.device(wanted["server"]), catalogue.server(wanted["server"])
    if device is None or server is None or server.gpus is None:
        raise click.UsageError(f"--server: {wanted['server']} has no GPUs")
    known = sorted({*catalogue.platforms} - {"infiniband"})
    if wanted["nos"] not in known:
        raise click.UsageError(f"--nos: {wanted['nos']} is none of {', '.join(known)}")
    if 0 < wanted["storage"] < CEPH_HOSTS:
        raise click.UsageError(f"--storage: Ceph keeps three copies on three servers; give 0, or {CEPH_HOSTS} and more")
    has_compute = _compute_speed(server) > 0
    has_managers = has_compute and wanted["technology"] == "infiniband" and _can_manage(leaf, catalogue)
    count = math.ceil(wanted["gpus"] / server.gpus.count)
    per_rack = min(wanted["per_rack"], max(1, RACK_U // math.ceil(device.u_height)))
    unit = wanted["unit"] or (UNIT if count > UNIT else None)
    if has_compute and wanted["technology"] == "infiniband" and not wanted["unit"]:
        most = _count_ports(leaf, catalogue) // 2
        if has_managers and not _has_own_ports(leaf, catalogue):
            most -= 1  # a full leaf would leave the fabric managers no port
        unit = math.ceil(count / math.ceil(count / max(1, most)))
    gpu_racks = math.ceil(count / per_rack)
    rack_kw = math.ceil(per_rack * server.power.maximum_w / 1000 * 1.1)
    switch = catalogue.switch(leaf)
    network_kw = 45 if switch and switch.power.maximum_w > STRONG_W else 30
    others = 3 + wanted["storage"] + 2 * has_managers
    network_racks = max(2, math.ceil(others / 8) + math.ceil(count / 16))
    letters = [a for a in _LETTERS if a.startswith("N")]
    length = max(ROW_RACKS, math.ceil(gpu_racks / (ROWS - len(letters))), math.ceil(network_racks / len(letters)))
    if length > MOST_RACKS:
        raise click.UsageError(f"--gpus: {gpu_racks + network_racks} racks are more than rows have room for; raise --per-rack")
    gpu_rows = _cut_rows((a for a in _LETTERS if not a.startswith("N")), gpu_racks, length, 1)
    network_rows = _cut_rows(letters, network_racks, length, len(gpu_rows) + 1)
    compute = {"leaf": leaf, "spine": wanted["spine"], "technology": wanted["technology"]}
    if wanted["technology"] == "roce":
        compute |= {"nos": wanted["nos"], "pool": "10.64.0.0/11"}
    if has_compute and unit is None:
        compute["rails_per_leaf"] = _share_leafs(server, count, leaf, catalogue)
    servers: dict[str, Any] = {
        "gpu": {"id": 1, "model": wanted["server"], "count": count, "unit": unit, "racks": "gpu", "per_rack": per_rack},
        "control": {"id": 3, "model": CONTROL_SERVER, "count": 3, "racks": "network"},
    }
    values: dict[str, Any] = {
        "name": name,
        "site": {"domain": f"{name}.example.net"},
        "racks": {
            "rows": gpu_rows | network_rows,
            "groups": {
                "gpu": {"id": 1, "rows": list(gpu_rows), "power_kw": rack_kw, "feed_kw": rack_kw},
                "network": {"id": 2, "rows": list(network_rows), "power_kw": network_kw, "feed_kw": network_kw},
            },
        },
        "servers": servers,
        "networks": {"compute": compute, "oob": _choose_oob(wanted, gpu_racks + network_racks, catalogue)},
    }
    if not has_compute:
        del values["networks"]["compute"]
        servers["gpu"]["unit"] = None
    if wanted["storage"] or not has_compute:
        storage_leaf = ARISTA["storage"] if wanted["nos"] == "eos" else STORAGE_LEAF
        values["networks"]["storage"] = {"leaf": storage_leaf, "nos": wanted["nos"], "pool": "10.128.0.0/12"}
    if wanted["storage"]:
        servers["storage"] = {"id": 2, "model": STORAGE_SERVER, "count": wanted["storage"], "racks": "network"}
        values["ceph"] = {"hosts": "storage", "pools": {"datasets": {"replicas": 3}}}
    if has_managers:
        servers["fabric-manager"] = {"id": 4, "model": FABRIC_MANAGER, "count": 2, "racks": "network", "manages": "compute"}
    if wanted["tenants"]:
        business_leaf = ARISTA["business"] if wanted["nos"] == "eos" else BUSINESS_LEAF
        values["networks"]["business"] = {"leaf": business_leaf, "nos": wanted["nos"], "pool": "10.144.0.0/14"}
        values["tenants"] = _share_servers(wanted["tenants"], count, server.gpus.count)
    return values


def _share_servers(tenants: int, count: int, gpus: int) -> dict[str, Any]:
    """Return tenants with equal parts of `count` servers of `gpus` GPUs, each with a subnet that has room for all of them."""
    if tenants > count:
        raise click.UsageError(f"--tenants: {tenants} tenants want a server each, and there are {count}")
    bits = max(8, (count + FIRST_PLACE + 1).bit_length())  # of a host address: a server's place is its number
    if tenants << bits > TENANT_POOL.num_addresses:
        raise click.UsageError(f"--tenants: {tenants} subnets of /{32 - bits} are more than {TENANT_POOL} holds")
    subnets = TENANT_POOL.subnets(new_prefix=32 - bits)
    found = {}
    for index in range(tenants):
        first, last = index * count // tenants + 1, (index + 1) * count // tenants
        found[f"tenant-{index + 1:02d}"] = {
            "id": index + 1,
            "servers": [f"gpu-{first:03d}..gpu-{last:03d}"],
            "gpus": (last - first + 1) * gpus,
            "subnets": {"front": {"id": 1, "cidr": str(next(subnets))}},
        }
    return found


def _choose_leaf(wanted: dict[str, Any], catalogue: Catalogue) -> str:
    """Return the compute leaf for the server's NICs."""
    if wanted["nos"] == "eos" and wanted["technology"] == "roce":
        return ARISTA["compute"]
    server = catalogue.server(wanted["server"])
    speed = _compute_speed(server) if server else 0
    return next((model for most, model in LEAFS[wanted["technology"]] if speed <= most), LEAFS[wanted["technology"]][-1][1])


def _compute_speed(server: Server) -> int:
    return max((port.speed_gbps for port in server.network.ports if port.network == "compute"), default=0)


def _can_manage(leaf: str, catalogue: Catalogue) -> bool:
    """Return whether the fabric managers' ports run at a leaf's own speed."""
    manager, switch = catalogue.server(FABRIC_MANAGER), catalogue.switch(leaf)
    own = {int(group.modes[0].partition("x")[2]) for group in switch.cages} if switch else set()
    return manager is not None and _compute_speed(manager) in own


def _has_own_ports(leaf: str, catalogue: Catalogue) -> bool:
    """Return whether a leaf has ports for fabric managers alone."""
    switch = catalogue.switch(leaf)
    return switch is not None and any(group.for_managers for group in switch.cages)


def _share_leafs(server: Server, count: int, leaf: str, catalogue: Catalogue) -> int | None:
    """Return how many rails of a small, single unit share a leaf: as many as leave it two leafs without oversubscription."""
    rails = len({port.rail for port in server.network.ports if port.network == "compute" and port.rail is not None})
    links = 2 * count  # each rail, down and up
    fitting = [n for n in range(2, rails // 2 + 1) if rails % n == 0 and links * n <= _count_ports(leaf, catalogue)]
    return max(fitting, default=None)


def _count_ports(model: str, catalogue: Catalogue) -> int:
    """Return the ports of a switch for hosts and switches, with every cage in its native mode."""
    switch = catalogue.switch(model)
    groups = switch.cages if switch else []
    return sum(group.count * int(group.modes[0].partition("x")[0]) for group in groups if not group.for_managers)


def _pair_spines(values: dict[str, Any], catalogue: Catalogue) -> dict[str, Any]:
    """Return the intent with two compute spines where bandwidth alone asks for one: a start should survive losing any switch."""
    from pydantic import ValidationError

    from cluster_model.intent.model.cluster import Cluster
    from cluster_model.plan.build import build_plan

    try:
        plan, _ = build_plan(Cluster.model_validate(_drop_unset(values)), catalogue)
    except ValidationError:
        return values  # said where the text is checked
    compute = plan.network("compute") if plan else None
    if compute is not None and compute.spines_per_pod == 1 and compute.uplinks > 1:
        values["networks"]["compute"]["switches"] = {"spine": 2}
    return values


def _drop_unset(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _drop_unset(item) for key, item in value.items() if item is not None}
    return value


def _choose_oob(wanted: dict[str, Any], racks: int, catalogue: Catalogue) -> dict[str, Any]:
    """Return the out-of-band network: a leaf per rack, per two racks in a large hall, under spines with a port for each."""
    racks_per_leaf = 2 if racks > 100 else None
    leafs = math.ceil(racks / (racks_per_leaf or 1))
    spine = next((model for most, model in OOB_SPINES if leafs <= most), OOB_SPINES[-1][1])
    blocks = [block for model in (wanted["oob_leaf"], spine) if (block := catalogue.switch(model))]
    runs = all(block.systems is None or wanted["nos"] in block.systems.nos for block in blocks)
    return {
        "leaf": wanted["oob_leaf"],
        "spine": spine,
        "nos": wanted["nos"] if runs else "sonic",
        "pool": next((pool for most, pool in OOB_POOLS if racks <= most), OOB_POOLS[-1][1]),
        "racks_per_leaf": racks_per_leaf,
    }


def _cut_rows(letters: Iterable[str], racks: int, most: int, first_id: int) -> dict[str, dict[str, int]]:
    """Return rows of at most `most` racks by letter."""
    lengths = [min(most, racks - start) for start in range(0, racks, most)]
    return {
        row: {"id": first_id + index, "racks": length} for index, (row, length) in enumerate(zip(letters, lengths, strict=False))
    }


def _require_model(option: str, model: str, kind: type, catalogue: Catalogue) -> None:
    device = catalogue.device(model)
    if device is None:
        near = catalogue.suggest(model)
        way_out = f"did you mean {near[0]}?" if near else "gpuyard catalogue lists what is known"
        raise click.UsageError(f"{option}: {model} is not in the catalogue; {way_out}")
    if not isinstance(device.gpuyard, kind):
        raise click.UsageError(f"{option}: {model} is a {device.gpuyard.kind}, not a {kind.__name__.lower()}")


def _find_modeline(target: Path) -> str:
    """Return the line that names the schema to editors, where the target lies in a checkout that has it; else nothing."""
    folder = target.parent.absolute()
    for parent in folder.parents:
        if (parent / SCHEMA).is_file():
            return f"# yaml-language-server: $schema={Path(os.path.relpath(parent / SCHEMA, folder)).as_posix()}\n"
    return ""


def _refuse_invalid(file: str, text: str) -> None:
    """Stop where `validate` would find errors in the text, with these findings: what is written is a start, and no puzzle."""
    from tempfile import TemporaryDirectory

    from cluster_model.cli.common import inspect_cluster
    from cluster_model.cli.findings import format_text

    with TemporaryDirectory(prefix="gpuyard-new-") as folder:
        Path(folder, "cluster.yml").write_text(text, "utf-8")
        inspection = inspect_cluster(Path(folder))
    errors = [replace(finding, file=file) for finding in inspection.findings if finding.severity == "error"]
    if errors:
        raise click.UsageError(f"nothing is written\n{format_text(errors, {file: inspection.loaded.source.lines})}")
