"""A start fitted to what the planner and the rules accept, with what was chosen instead of what was asked for, and why.

The planner alone knows what fits. Where it refuses a start, the choice that it names gives way a step, and it is asked again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from cluster_model.checks.wording import count_things
from cluster_model.cli.common import inspect_cluster
from cluster_model.cli.start import Choices, choose_values
from cluster_model.cli.start_hall import count_rows
from cluster_model.cli.start_room import keep_room
from cluster_model.cli.template import write_template
from cluster_model.intent.model.networks import DEFAULT_NOS
from cluster_model.reading import list_catalogue
from cluster_model.texts import show_text

if TYPE_CHECKING:
    from cluster_model.catalogue.load import Catalogue
    from cluster_model.diagnostic import Diagnostic
    from cluster_model.pipeline import Inspection

OPTIONS = (
    ("name", "name"),
    ("site.domain", "name"),
    ("racks.groups.gpu", "per_rack"),
    ("servers.gpu.model", "server"),
    ("servers.gpu.planned", "planned", "gpus"),
    ("servers.gpu", "unit", "gpus"),
    ("servers.control", "control"),
    ("servers.storage", "storage"),
    ("networks.compute.spine", "spine", "leaf", "gpus"),
    ("networks.compute.nos", "nos"),
    ("networks.compute", "leaf", "unit", "fabric_managers", "planned", "gpus"),
    ("networks.oob", "oob_leaf"),
    ("networks.storage", "storage", "gpus"),
    ("networks.business", "tenants"),
    ("tenants", "tenants"),
    ("", "planned", "gpus"),
)
"""Options by the beginning of the key that they fill: of the first line that fits the first one that was given."""
ADVICE = {
    "CAB001": "give another --leaf, --nos or --server",
    "HWR002": "give another switch; gpuyard catalogue lists them",
    "NET001": "take fewer servers per unit or rack, or a switch with more ports",
    "NET002": "give another leaf; gpuyard catalogue lists them",
    "NET005": "ask for fewer GPUs; in compute, larger units or a --leaf with more ports help too",
    "NET017": "ask for fewer GPUs, or for --technology roce",
    "NOS001": "give another --nos, or another switch",
    "NOS002": "give another --nos",
    "PLC001": "ask for fewer servers",
}
"""What to do about a limit of the hardware, by the id of its finding."""
MOST_STEPS, POWER_STEP_KW, MOST_RATIO = 60, 5, 4


def fit_start(name: str, wanted: Mapping[str, Any], first: Choices, catalogue: Catalogue, own: Path) -> tuple[str, list[str]]:
    """Return the text of a cluster.yml that validates, and a line for each choice that was not asked for.

    Args:
        name: name of the cluster.
        wanted: the options of the command by name.
        first: what `begin_choices` says of them.
        catalogue: hardware to choose from.
        own: folder of the cluster's own models, which need not be there.

    Raises:
        click.UsageError: there is no such cluster, for a reason that an option can mend.
    """
    if not first.planned:
        keep_room(name, wanted, first, catalogue)
    choices, small = _copy(first), dict[str, str]()
    for _ in range(MOST_STEPS):
        values = choose_values(name, wanted, choices, catalogue)
        is_ours = bool(choices.added is not None and choices.planned > choices.servers)  # nobody asked for what is planned
        if is_ours and _lacks_rows(values, wanted):
            choices, small = _copy(first, planned=0), {}
            continue
        # What is planned asks for all that what is built does, and for more: power, ports and addresses.
        grown = _grow(values)
        text = write_template(name, grown)
        inspection = _inspect(text, own)
        errors = [finding for finding in inspection.findings if finding.severity == "error"]
        if errors and not give_way(errors, wanted, choices, small):
            if not is_ours:
                break
            choices, small = _copy(first, planned=0), {}
        elif not errors and not _leave_out(name, values, own, wanted, choices, first):
            if _lacks_rows(values, wanted):
                raise click.UsageError(_ask_for_rows(values, wanted))
            text = text if grown == values else write_template(name, values)
            return _note_leaf(text, wanted, values), _explain(wanted, first, choices, values, small)
    raise click.UsageError(_retell(errors, {"name": name, **wanted}))


def _note_leaf(text: str, wanted: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """Return the text with a comment on what was chosen for the ports of the compute leaf: who changes it reads it there."""
    compute, unit = values["networks"].get("compute", {}), values["servers"]["gpu"]["unit"]
    chosen = "rails_per_leaf" if compute.get("rails_per_leaf") else "" if wanted["unit"] or not unit else "servers.gpu.unit"
    if not chosen:
        return text
    line = f"\n    leaf: {compute['leaf']}\n"
    return text.replace(line, f"\n    # {chosen} was chosen for the ports of this model: give it anew with another.{line}", 1)


def _grow(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return an intent with all built that it plans."""
    group = values["servers"]["gpu"]
    return {**values, "servers": {**values["servers"], "gpu": {**group, "count": group["planned"] or group["count"]}}}


def _copy(choices: Choices, **changes: Any) -> Choices:
    return replace(choices, pools={**choices.pools}, ratios={**choices.ratios}, **changes)


def _lacks_rows(values: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return wanted["rows"] is not None and count_rows(values) > wanted["rows"][0]


def _ask_for_rows(values: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Return what is said where a valid cluster needs more rows than the hall has: how many it needs."""
    rows, racks = wanted["rows"]
    groups = {name: len(group["rows"]) for name, group in values["racks"]["groups"].items()}
    return (
        f"--rows: {count_things(groups['gpu'], 'row')} of GPU servers and {count_things(groups['network'], 'row')} of all else "
        f"are more than {count_things(rows, 'row')} of {count_things(racks, 'rack')}; give {count_rows(values)}x{racks}, or ask "
        "for fewer GPUs"
    )


def _inspect(text: str, own: Path, *, rules: bool = True) -> Inspection:
    with TemporaryDirectory(prefix="gpuyard-new-") as folder:
        for file in list_catalogue(own)[0]:
            copy = Path(folder, "catalogue", file.relative_to(own))
            copy.parent.mkdir(parents=True, exist_ok=True)
            copyfile(file, copy)
        Path(folder, "cluster.yml").write_text(text, "utf-8")
        return inspect_cluster(Path(folder), rules=rules)


def give_way(errors: Sequence[Diagnostic], wanted: Mapping[str, Any], choices: Choices, small: dict[str, str]) -> bool:
    """Change what the errors name, if all of it is ours to change; `small` keeps what each pool was too small for."""
    pools = {error.where.split(".")[1]: error for error in errors if error.id == "ADR001"}
    lacks_ports = any(error.id == "NET007" for error in errors) and choices.final > 1
    lacks_racks = any(error.id == "PLC001" and not error.where.startswith("servers.gpu.") for error in errors)
    lacks_power = any(error.id == "PWR001" and error.where.startswith("racks.groups.network") for error in errors)
    is_crowded = choices.shares_oob and any(error.id == "NET001" and error.where == "networks.oob.leaf" for error in errors)
    wide = {error.where.split(".")[1] for error in errors if error.id == "NET005"}
    has_room = choices.added is not None and choices.planned > choices.servers  # which gives way before bandwidth does
    may_be_oversubscribed = (
        not has_room and wide <= {"storage", "business"} and all(choices.ratios.get(each, 1) < MOST_RATIO for each in wide)
    )
    ours = {
        "NET005": may_be_oversubscribed,
        "ADR001": pools,
        "NET001": is_crowded,
        "NET007": lacks_ports,
        "PLC001": lacks_racks,
        "PWR001": lacks_power,
    }
    if not all(ours.get(error.id) for error in errors):
        return False
    for network, error in pools.items():
        choices.pools[network] -= 1
        small[network] = error.summary.removeprefix("the pool is too small for the ")
    if lacks_ports and choices.planned > choices.servers:
        choices.planned -= 1
    elif lacks_ports and wanted["unit"] and wanted["fabric_managers"] is None:
        choices.managers = 0  # servers and unit are named, the managers are not
    elif lacks_ports:
        choices.servers -= 1
    if lacks_racks:
        choices.network_racks += 1 + choices.network_racks // 4
    if lacks_power:
        choices.network_kw += POWER_STEP_KW
    for network in wide:
        choices.ratios[network] = choices.ratios.get(network, 1) + 1
    if is_crowded:
        choices.shares_oob = False
    return True


def _leave_out(name: str, values: dict[str, Any], own: Path, wanted: Mapping[str, Any], choices: Choices, first: Choices) -> bool:
    """Leave a server or the fabric managers out where the last server begins a unit of its own, and return whether it did.

    Where servers are planned beyond those that are built, a unit more takes the server whose ports the managers have.
    """
    unit = values["servers"]["gpu"]["unit"]
    if not choices.managers or not unit or choices.planned <= choices.servers:
        return False
    plan = _inspect(write_template(name, values), own, rules=False).plan
    compute = plan.network("compute") if plan else None
    if compute is None or compute.units <= math.ceil(choices.servers / unit):
        return False
    if wanted["unit"] and wanted["fabric_managers"] is None:
        choices.managers, choices.planned = 0, first.planned
    else:
        choices.servers -= 1
    return True


def _explain(
    wanted: Mapping[str, Any], first: Choices, choices: Choices, values: Mapping[str, Any], small: Mapping[str, str]
) -> list[str]:
    """Return a line for each choice that departs from what was asked for, or from what new clusters usually have.

    DGX SuperPOD reference architecture H100, Table 4, note 1: one system of a full unit is left out for UFM's ports; B200, table
    of SU counts: full units, with no port for managers. A switch's own subnet manager serves 2,048 nodes (QM97X0 user manual,
    Software Management).
    """
    notes, each = [], choices.gpus_each
    gpus = choices.servers * each
    if choices.servers < first.servers:
        notes.append(
            f"{choices.servers:,} servers ({gpus:,} GPUs) instead of {first.servers:,}: the {choices.managers} fabric managers "
            "take the leaf ports of the one left out, as in NVIDIA's DGX SuperPOD; --fabric-managers 0 keeps them all"
        )
    elif gpus != wanted["gpus"]:
        notes.append(f"{wanted['gpus']:,} GPUs become {gpus:,}: {count_things(choices.servers, 'server')} of {each}")
    if choices.managers < first.managers:
        notes.append(
            f"no fabric managers: {choices.servers:,} servers in full units of {wanted['unit']} take every port of their leafs; "
            "let a switch (up to 2,048 nodes) or a server run the subnet manager, or give --fabric-managers "
            f"{first.managers}, which leaves a server out"
        )
    if choices.per_rack < wanted["per_rack"]:
        notes.append(f"{choices.per_rack} servers per rack instead of {wanted['per_rack']}: a rack has no room for more")
    if choices.network_kw > first.network_kw:
        notes.append(f"racks of {choices.network_kw} kW for switches instead of {first.network_kw}: the fullest draw that much")
    for network, ratio in choices.ratios.items():
        notes.append(
            f"networks.{network} is oversubscribed {ratio}:1: its switches cannot join that many servers at full bandwidth"
        )
    if not choices.shares_oob:
        notes.append("an out-of-band leaf in every rack instead of one for two racks: two have more devices than it has ports")
    for network, role in small.items():
        pool, narrower = IPv4Network(values["networks"][network]["pool"]), choices.pools[network] + 1
        notes.append(
            f"networks.{network}.pool is {pool} ({pool.num_addresses:,} addresses): a /{narrower} is too small for the {role}"
        )
    oob = values["networks"]["oob"]
    if wanted["nos"] != DEFAULT_NOS and not oob["nos"]:
        notes.append(
            f"the out-of-band switches run {DEFAULT_NOS}: the catalogue does not know {wanted['nos']} on both {oob['leaf']} and "
            f"{oob['spine']}"
        )
    if wanted["tenants"] and choices.final > choices.servers:
        notes.append("tenants have the planned servers too; raise their gpus, the quota, as these are built")
    return notes + explain_room(wanted, first, choices)


def explain_room(wanted: Mapping[str, Any], first: Choices, choices: Choices) -> list[str]:
    """Return what is said of the servers that are planned beyond those that are built."""
    gpus = choices.final * choices.gpus_each
    if wanted["planned"]:
        if choices.planned < first.planned:
            return [
                f"{choices.final:,} servers ({gpus:,} GPUs) in the end instead of {first.planned:,}: fabric managers take ports"
            ]
        if gpus != wanted["planned"] and choices.final > choices.servers:
            return [f"{wanted['planned']:,} GPUs in the end become {gpus:,}: {choices.final:,} servers of {first.gpus_each}"]
        return []
    if choices.final == choices.servers:
        if first.offer is None:
            return []
        planned, more = first.offer
        return [
            f"no room to grow: {planned:,} servers in the end would take {count_things(more, 'more switch', 'more switches')} "
            f"from the start; --planned {planned * first.gpus_each} keeps room for them"
        ]
    switches, cables = choices.added or (0, 0)
    more_now = [f"{switches:,} more {'switch' if switches == 1 else 'switches'}"] if switches else []
    more_now += [f"{cables:,} more {'cable' if cables == 1 else 'cables'} between switches"] if cables else []
    cost = f", for {' and '.join(more_now)}" if more_now else ""
    return [
        f"room to grow to {gpus:,} GPUs in {choices.final:,} servers{cost}: up to there nothing moves; --planned says otherwise"
    ]


def _retell(errors: Sequence[Diagnostic], wanted: Mapping[str, Any]) -> str:
    """Return errors in the words of the options, one for each: nobody has the file that they were found in."""
    rows: dict[str, str] = {}
    for error in [error for error in errors if error.id != "ADR001"] or errors:  # pools would have given way
        able = next(options for prefix, *options in OPTIONS if not prefix or f"{error.where}.".startswith(f"{prefix}."))
        given = next((option for option in able if wanted.get(option) is not None), able[-1])
        bounds = "; ".join(f"{word} {text}" for word, text in (("expected", error.expected), ("found", error.actual)) if text)
        reason = f"{error.summary} ({bounds})" if bounds else error.summary
        fits = re.search(r"servers\.gpu\.unit to ([0-9]+)", error.fix)
        advice = ADVICE.get(error.id, f"gpuyard explain {error.id} tells more")
        advice = f"give --unit {fits[1]}, or a leaf with more ports" if fits else advice
        rows.setdefault("NAME" if given == "name" else f"--{given.replace('_', '-')}", show_text(f"{reason}; {advice}"))
    return "nothing is written, since no such cluster can be built\n" + "\n".join(f"{key}: {row}" for key, row in rows.items())
