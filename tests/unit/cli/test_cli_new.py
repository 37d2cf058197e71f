"""What `gpuyard new` writes: valid at every size, whole as a manual, and never over another's file."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path

import click
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.cli import start as choices
from cluster_model.cli.main import run
from cluster_model.cli.start_fit import explain_room, give_way
from cluster_model.diagnostic import Diagnostic, has_errors
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.model.json_schema import build_schema
from cluster_model.pipeline import inspect
from cluster_model.plan.compare.moves import count_moves
from cluster_model.plan.compare.plans import compare_plans

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("technology", ["roce", "infiniband"])
@pytest.mark.parametrize("gpus", [1, 32, 256, 1016, 1024, 4096])
def test_result_validates(technology, gpus, tmp_path, capsys):
    assert run(["new", "lab", "--gpus", str(gpus), "--technology", technology, "-o", str(tmp_path)]) == 0
    capsys.readouterr()
    assert run(["validate", str(tmp_path / "lab")]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [
        ["--storage", "12"],
        ["--server", "dell/xe9680", "--per-rack", "2", "--unit", "16", "--gpus", "512"],
        ["--server", "generic/4u-8l40s", "--gpus", "64"],
        ["--server", "nvidia/dgx-a100", "--technology", "infiniband", "--gpus", "160"],
        ["--server", "nvidia/dgx-b300", "--technology", "infiniband", "--gpus", "576", "--storage", "3"],
        ["--tenants", "5", "--gpus", "256", "--storage", "6"],
        ["--tenants", "3", "--gpus", "1024", "--technology", "infiniband"],
        ["--tenants", "20", "--gpus", "4096"],
        ["--spine", "nvidia/sn5600", "--leaf", "nvidia/sn5600", "--gpus", "64", "--server", "nvidia/dgx-h200"],
    ],
)
def test_options_validate(options, tmp_path, capsys):
    assert run(["new", "lab", *options, "-o", str(tmp_path)]) == 0
    capsys.readouterr()
    assert run(["validate", str(tmp_path / "lab")]) == 0, capsys.readouterr().err


def start(folder, *options):
    """Run `new` and return its answer with the intent."""
    assert run(["new", "lab", *options, "-o", str(folder), "--force"]) == 0
    return yaml.safe_load((folder / "lab" / "cluster.yml").read_text("utf-8"))


@pytest.mark.parametrize(
    ("options", "leaf", "count", "unit"),
    [
        (["--gpus", "248"], "nvidia/qm9700", 31, 31),
        (["--gpus", "256"], "nvidia/qm9700", 31, 31),
        (["--gpus", "264", "--planned", "264"], "nvidia/qm9700", 33, 17),
        (["--gpus", "264"], "nvidia/qm9700", 33, 32),
        (["--gpus", "1016"], "nvidia/qm9700", 127, 32),
        (["--gpus", "1024"], "nvidia/qm9700", 127, 32),
        (["--gpus", "1024", "--unit", "32", "--fabric-managers", "2"], "nvidia/qm9700", 127, 32),
        (["--gpus", "1024", "--fabric-managers", "0"], "nvidia/qm9700", 128, 32),
        (["--gpus", "1024", "--unit", "26"], "nvidia/qm9700", 128, 26),
        (["--gpus", "1120", "--server", "nvidia/dgx-a100"], "nvidia/qm8790", 140, 20),
        (["--gpus", "1152", "--server", "nvidia/dgx-b300"], "nvidia/q3400-ra", 144, 72),
    ],
)
def test_infiniband_units_are_even_and_leave_room_for_the_managers(options, leaf, count, unit, tmp_path, capsys):
    data = start(tmp_path, "--technology", "infiniband", *options)
    group = data["servers"]["gpu"]
    assert (data["networks"]["compute"]["leaf"], group["count"], group["unit"]) == (leaf, count, unit)
    left_out = f"{count} servers ({8 * count:,} GPUs) instead of {count + 1}: the 2 fabric managers take the leaf ports"
    assert (left_out in capsys.readouterr().out) == (8 * count < int(options[1]))


# NVIDIA DGX SuperPOD reference architectures: systems, leafs, spines, cores, cables node to leaf, leaf to spine, spine to core.
# The first four: DGX B200, table of SU counts (full units, no ports of fabric managers); the others: Table 4 (with UFM).
PUBLISHED = [
    (["--gpus", "512", "--unit", "32"], 64, 16, 8, 0, 512, 512, 0),
    (["--gpus", "1024", "--unit", "32"], 128, 32, 16, 0, 1024, 1024, 0),
    (["--gpus", "2048", "--unit", "32"], 256, 64, 32, 0, 2048, 2048, 0),
    (["--gpus", "4096", "--unit", "32"], 512, 128, 128, 64, 4096, 4096, 4096),
    (["--gpus", "256"], 31, 8, 4, 0, 252, 256, 0),
    (["--gpus", "512"], 63, 16, 8, 0, 508, 512, 0),
    (["--gpus", "768"], 95, 24, 16, 0, 764, 768, 0),
    (["--gpus", "1024"], 127, 32, 16, 0, 1020, 1024, 0),
]


@pytest.mark.parametrize(("options", "servers", "leaf", "spine", "core", "down", "up", "top"), PUBLISHED)
def test_superpods_are_those_that_nvidia_published(options, servers, leaf, spine, core, down, up, top, tmp_path, capsys):
    start(tmp_path, "--server", "nvidia/dgx-b200", "--technology", "infiniband", *options)
    said = capsys.readouterr().out
    assert ("no fabric managers: " in said) == ("--unit" in options)
    inspection = inspect(tmp_path / "lab", rules=False)
    assert not has_errors(inspection.findings)
    compute = inspection.plan.network("compute")
    assert sum(server.group == "gpu" for server in inspection.plan.servers) == servers
    assert (compute.leafs, compute.spines, compute.cores) == (leaf, spine, core)
    assert compute.host_leaf_cables + compute.fabric_manager_cables == down
    assert (compute.leaf_spine_cables, compute.spine_core_cables) == (up, top)


def test_pools_grow_with_the_plan_and_new_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(choices, "POOLS", choices.POOLS | {"storage": IPv4Network("10.128.0.0/22")})
    data = start(tmp_path, "--gpus", "64", "--storage", "3")
    pool = IPv4Network(data["networks"]["storage"]["pool"])
    assert pool.prefixlen < 22
    said = capsys.readouterr().out
    assert f"networks.storage.pool is {pool} ({pool.num_addresses:,} addresses): a /{pool.prefixlen + 1} is too small for" in said
    assert not has_errors(inspect(tmp_path / "lab").findings)
    data["networks"]["storage"]["pool"] = str(IPv4Network(f"10.128.0.0/{pool.prefixlen + 1}"))
    (tmp_path / "lab" / "cluster.yml").write_text(yaml.safe_dump(data))
    assert {finding.id for finding in inspect(tmp_path / "lab").findings if finding.severity == "error"} == {"ADR001"}


@given(lengths=st.lists(st.integers(8, 16), min_size=4, max_size=4), with_tenants=st.booleans())
def test_pools_are_placed_wherever_they_fit(lengths, with_tenants):
    taken = [choices.TENANT_POOL] if with_tenants else []
    room = choices.PRIVATE.num_addresses - sum(pool.num_addresses for pool in taken)
    wanted = {name: min(length, choices.POOLS[name].prefixlen) for name, length in zip(choices.POOLS, lengths, strict=True)}
    if sum(2 ** (32 - length) for length in wanted.values()) > room:
        with pytest.raises(click.UsageError, match=r"more than 10\.0\.0\.0/8 holds"):
            choices.place_pools(wanted, taken)
        return
    placed = choices.place_pools(wanted, taken)
    assert {name: pool.prefixlen for name, pool in placed.items()} == wanted
    assert not any(a.overlaps(b) for a, b in itertools.combinations([*placed.values(), *taken], 2))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--gpus", "100", "--planned", "100"], ["100 GPUs become 104: 13 servers of 8"]),
        (["--gpus", "64", "--planned", "100"], ["100 GPUs in the end become 104: 13 servers of 8"]),
        (
            ["--gpus", "1024", "--planned", "2048", "--technology", "infiniband"],
            [
                "127 servers (1,016 GPUs) instead of 128: the 2 fabric managers take the leaf ports of the one left out, as in "
                "NVIDIA's DGX SuperPOD; --fabric-managers 0 keeps them all",
                "255 servers (2,040 GPUs) in the end instead of 256: fabric managers take ports",
            ],
        ),
        (
            ["--gpus", "64", "--planned", "64", "--per-rack", "8"],
            ["5 servers per rack instead of 8: a rack has no room for more"],
        ),
        (
            ["--gpus", "64", "--planned", "64", "--unit", "1"],
            ["racks of 35 kW for switches instead of 30: the fullest draw that much"],
        ),
        (
            ["--gpus", "800", "--planned", "800", "--unit", "1", "--per-rack", "1"],
            [
                "racks of 35 kW for switches instead of 30: the fullest draw that much",
                "an out-of-band leaf in every rack instead of one for two racks: two have more devices than it has ports",
            ],
        ),
    ],
)
def test_what_was_chosen_instead_is_said_in_a_line(options, said, tmp_path, capsys):
    start(tmp_path, *options)
    assert capsys.readouterr().out.splitlines()[:-1] == said
    assert not has_errors(inspect(tmp_path / "lab").findings)


def test_storage_is_oversubscribed_where_its_tiers_end_and_compute_never(tmp_path):
    made = choices.Choices(servers=8, gpus_each=8, managers=0, per_rack=4, network_racks=3, network_kw=30)
    ends = Diagnostic("NET005", "error", "networks.storage.leaf", "three tiers cannot join 67 pods")
    for ratio in (2, 3, 4):
        assert give_way([ends], {}, made, {})
        assert made.ratios == {"storage": ratio}
    assert not give_way([ends], {}, made, {})
    assert not give_way([replace(ends, where="networks.compute.leaf")], {}, made, {})


def test_an_ordinary_start_says_nothing_but_where_it_is(tmp_path, capsys):
    start(tmp_path, "--gpus", "64", "--planned", "64")
    target = tmp_path / "lab" / "cluster.yml"
    assert capsys.readouterr().out == f"Wrote {target}. Next: gpuyard validate {target.parent}\n"


def uncomment(text: str) -> str:
    """Take the # away from every key that is not set, until none is left."""
    while True:
        lines = [re.sub(r"^(\s*)#(?=[a-z]|  )", r"\1", line) for line in text.splitlines()]
        if "\n".join(lines) == text:
            return text
        text = "\n".join(lines)


def test_every_key_is_explained_once_and_its_example_is_valid(tmp_path):
    assert run(["new", "lab", "-o", str(tmp_path)]) == 0
    text = (tmp_path / "lab" / "cluster.yml").read_text("utf-8")
    whole = uncomment(text)
    data = yaml.safe_load(whole)
    for pool in data["ceph"]["pools"].values():
        pool.pop("erasure" if "replicas" in pool else "replicas", None)
    Cluster.model_validate(data)
    for part in (build_schema(), *build_schema()["$defs"].values()):
        for key in part.get("properties", {}):
            if part.get("title") not in {"TierRacks"}:
                assert re.search(rf"\b{key}: |\b{key}:$", whole, re.MULTILINE), key
    comments = [line for line in text.splitlines() if re.match(r"\s*# .*\.$", line)]
    assert max(map(len, text.splitlines())) <= 130
    assert len(comments) > 60


def test_the_example_of_a_moved_cable_is_taken_as_it_stands(tmp_path):
    assert run(["new", "lab", "-o", str(tmp_path)]) == 0
    file = tmp_path / "lab" / "cluster.yml"
    moved = [
        uncomment(line)
        for line in file.read_text("utf-8").splitlines()
        if line.startswith(("#cables:", "#  exceptions: [{cable"))
    ]
    file.write_text("\n".join([file.read_text("utf-8"), *moved, ""]), "utf-8")
    assert len(moved) == 2 and not [f.summary for f in inspect(tmp_path / "lab").findings if f.where.startswith("cables")]


def test_first_line_names_the_schema_in_a_checkout(tmp_path, monkeypatch):
    (tmp_path / "docs" / "schema").mkdir(parents=True)
    (tmp_path / "docs" / "schema" / "cluster.schema.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert run(["new", "lab"]) == 0
    text = (tmp_path / "inventory" / "lab" / "cluster.yml").read_text("utf-8")
    assert text.startswith("# yaml-language-server: $schema=../../docs/schema/cluster.schema.json\n# lab: ")


def test_first_line_names_a_schema_beside_the_file_elsewhere(tmp_path):
    assert run(["new", "lab", "-o", str(tmp_path)]) == 0
    first, second = (tmp_path / "lab" / "cluster.yml").read_text("utf-8").splitlines()[:2]
    assert second.startswith("# lab: ")
    named = tmp_path / "lab" / first.removeprefix("# yaml-language-server: $schema=")
    assert named.read_text("utf-8") == (ROOT / "docs/schema/cluster.schema.json").read_text("utf-8")


def test_what_no_other_file_would_mend_is_said_before_the_file(tmp_path, capsys):
    start(tmp_path)
    capsys.readouterr()
    assert run(["new", "lab", "--nos", "sonik", "-o", str(tmp_path)]) == 2
    assert "did you mean sonic?" in capsys.readouterr().err


def test_refuses_to_overwrite(tmp_path, capsys):
    assert run(["new", "lab", "-o", str(tmp_path)]) == 0
    (tmp_path / "lab" / "cluster.yml").write_text("mine")
    assert run(["new", "lab", "-o", str(tmp_path)]) == 2
    assert "is there already; --force overwrites it" in capsys.readouterr().err
    assert (tmp_path / "lab" / "cluster.yml").read_text() == "mine"
    assert run(["new", "lab", "-o", str(tmp_path), "--force"]) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["Lab"], 'name cannot be "Lab"'),
        (["../lab"], 'name cannot be "../lab"'),
        (["lab", "--server", "nvidia/dgx-h10"], "did you mean nvidia/dgx-h100?"),
        (["lab", "--server", "generic/1u"], "generic/1u has no GPUs"),
        (["lab", "--leaf", "nvidia/dgx-h100"], "nvidia/dgx-h100 is a server, not a switch"),
        (["lab", "--oob-leaf", "acme/none"], "acme/none is not in the catalogue"),
        (["lab", "--nos", "SONiC"], "SONiC is none of cumulus, eos, frr, sonic"),
        (["lab", "--storage", "2"], "give 0, or 3 and more"),
        (["lab", "--gpus", "0"], "0 is not in the range"),
        (["lab", "--gpus", "400000", "--per-rack", "1"], "raise --per-rack"),
        (["lab", "--gpus", "2048", "--technology", "infiniband", "--leaf", "nvidia/sn5600"], "nothing is written"),
        (
            ["lab", "--gpus", "512", "--technology", "infiniband", "--leaf", "nvidia/sn5600"],
            "--leaf: nvidia/sn5600 does not speak",
        ),
        (["lab", "--spine", "nvidia/qm9700"], "--spine: nvidia/qm9700 does not speak ethernet"),
        (["lab", "--gpus", "512", "--technology", "infiniband", "--unit", "40"], "--unit: a leaf needs 80 ports"),
        (["lab", "--gpus", "512", "--leaf", "nvidia/sn4700", "--unit", "32"], "give --unit 16, or a leaf with more ports"),
        (["lab", "--oob-leaf", "nvidia/sn4700"], "it has no port of 1 Gb/s"),
        (["lab", "--gpus", "abc"], "'abc' is not a valid whole number"),
        (["lab", "--nos", "cumulus-nvue"], "cumulus-nvue is none of cumulus, eos, frr, sonic; did you mean cumulus?"),
        (["lab", "--rows", "250x200", "--gpus", "512"], "--rows: an out-of-band network of 250 rows of 200 racks needs a /8"),
        (["lab", "--rows", "1x1"], "1 row of 1 rack; rows are 2 to 250"),
        (["lab", "--oob-leaf", "nvidia/sn5600"], "--oob-leaf: BMCs and leaf nvidia/sn5600 share no speed"),
        (["lab", "--nos", "frr"], "--nos: compute carries RoCE, and FRR on Linux lacks pfc"),
        (
            ["lab", "--gpus", "200000", "--server", "nvidia/dgx-a100"],
            "--gpus: three tiers cannot join 196 pods (expected at most 64",
        ),
        (["lab", "--fabric-managers", "2"], "--fabric-managers: only InfiniBand networks have them"),
        (["lab", "--tenants", "2", "--gpus", "8"], "--tenants: 2 tenants want a server each, and there are 1"),
        (["lab: {"], "NAME: "),
        (["lab\n"], "NAME: "),
        (["Pod 2"], "characters long: pod-2 would do"),
        (["北京"], "characters long: my-pod would do"),
        (["a" * 40], f"characters long: {'a' * 31} would do"),
        (
            ["lab", "--gpus", "100", "--planned", "96"],
            "--planned: 96 GPUs in the end are fewer than the 104 that are built now; give 104",
        ),
        (["lab", "--planned", "200000", "--server", "nvidia/dgx-a100"], "--planned: three tiers cannot join 196 pods"),
        (["lab", "--control", "0"], "0 is not in the range"),
        (["lab", "--rows", "four"], "give 4x10 for four rows of ten"),
        (["lab", "--rows", "1x20"], "the nearest is 2x20"),
        (["lab", "--rows", "300x0"], "the nearest is 250x1"),
        (["lab", "--rows", "4x10", "--gpus", "1024"], "more than 4 rows of 10 racks; give 5x10, or ask for fewer GPUs"),
        (["lab", "--rows", "2x1", "--gpus", "4096"], "--rows: rows of 1 racks are too short for 161; give 9x20"),
    ],
)
def test_wrong_options_write_nothing(arguments, words, tmp_path, capsys):
    assert run(["new", *arguments, "-o", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert not re.search(r"cluster\.yml|:\d+:\d+|\berror [A-Z]|ADR001", said), "a finding of a file that nobody has"
    assert list(tmp_path.iterdir()) == []


def test_tenants_share_all_servers_and_no_address(tmp_path):
    assert run(["new", "lab", "--gpus", "264", "--tenants", "5", "-o", str(tmp_path)]) == 0
    data = yaml.safe_load((tmp_path / "lab" / "cluster.yml").read_text("utf-8"))
    slices = [tenant["servers"][0].split("..") for tenant in data["tenants"].values()]
    numbers = [n for first, last in slices for n in range(int(first[4:]), int(last[4:]) + 1)]
    assert numbers == list(range(1, 34))
    assert sum(tenant["gpus"] for tenant in data["tenants"].values()) == 264
    assert len({tenant["subnets"]["front"]["cidr"] for tenant in data["tenants"].values()}) == 5


def test_tenants_have_what_is_planned_in_equal_parts_too(tmp_path, capsys):
    data = start(tmp_path, "--gpus", "512", "--tenants", "2", "--planned", "1024")
    assert [(tenant["servers"], tenant["gpus"]) for tenant in data["tenants"].values()] == [
        (["gpu-001..gpu-032", "gpu-065..gpu-096"], 256),
        (["gpu-033..gpu-064", "gpu-097..gpu-128"], 256),
    ]
    assert "tenants have the planned servers too; raise their gpus" in capsys.readouterr().out
    assert not any(grow(tmp_path / "lab").values())


@pytest.mark.parametrize(
    ("options", "unit", "planned"),
    [
        (["--gpus", "512", "--leaf", "nvidia/sn4700"], 16, None),
        (["--gpus", "208", "--leaf", "nvidia/sn4700"], 16, 32),
        (["--gpus", "128", "--leaf", "nvidia/sn4700"], None, None),
        (["--gpus", "512", "--leaf", "nvidia/sn4700", "--server", "nvidia/dgx-a100"], 32, None),
        (["--gpus", "512", "--leaf", "dell/z9664f-on"], 32, None),
        (["--gpus", "512", "--leaf", "nvidia/sn3700c", "--server", "generic/4u-8l40s"], None, 65),
    ],
)
def test_the_unit_follows_the_ports_of_the_leaf(options, unit, planned, tmp_path):
    group = start(tmp_path, *options)["servers"]["gpu"]
    assert (group.get("unit"), group.get("planned")) == (unit, planned)
    assert not has_errors(inspect(tmp_path / "lab").findings)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--gpus", "64"], "rails_per_leaf was chosen for the ports of this model"),
        (["--gpus", "512"], "servers.gpu.unit was chosen for the ports of this model"),
        (["--gpus", "512", "--unit", "16"], None),
        (["--gpus", "128", "--leaf", "nvidia/sn4700"], None),
    ],
)
def test_the_file_says_at_the_leaf_what_was_chosen_for_it(options, said, tmp_path):
    start(tmp_path, *options)
    above = (tmp_path / "lab" / "cluster.yml").read_text("utf-8").partition("\n    leaf: nvidia/")[0].splitlines()[-1]
    assert (said is not None) == ("was chosen for the ports" in above)
    assert said is None or said in above


def test_out_of_band_switches_of_another_system_are_said(tmp_path, capsys):
    start(tmp_path, "--gpus", "64", "--nos", "eos")
    said = "the out-of-band switches run sonic: the catalogue does not know eos on both nvidia/sn2201 and nvidia/sn3700c"
    assert capsys.readouterr().out.splitlines()[0] == said
    start(tmp_path, "--gpus", "64", "--nos", "cumulus", "--planned", "64")
    assert "out-of-band" not in capsys.readouterr().out


def test_growth_is_said_last(tmp_path, capsys):
    start(tmp_path, "--gpus", "64", "--per-rack", "60")
    first, second, _ = capsys.readouterr().out.splitlines()
    assert first.startswith("5 servers per rack") and second.startswith("room to grow")


def test_one_more_is_told_in_the_singular():
    made = choices.Choices(8, 8, 0, 4, 3, 30, planned=16, added=(1, 1))
    (said,) = explain_room({"planned": None}, made, made)
    assert "for 1 more switch and 1 more cable between switches:" in said


def test_more_tenants_than_servers(tmp_path, capsys):
    assert run(["new", "lab", "--gpus", "64", "--tenants", "9", "-o", str(tmp_path)]) == 2
    assert "9 tenants want a server each, and there are 8" in capsys.readouterr().err


def list_grid():
    """Every GPU server in the catalogue, by size and technology, and options in turn."""
    from cluster_model.catalogue.load import load_catalogue

    catalogue = load_catalogue()[0]
    servers = [name for name in catalogue.names("server") if catalogue.server(name).gpus]
    options = (
        (),
        ("--storage", "3"),
        ("--tenants", "1"),
        ("--per-rack", "2"),
        ("--unit", "32"),
        ("--storage", "12", "--tenants", "1"),
        ("--unit", "8"),
        ("--per-rack", "8", "--storage", "100"),
        ("--unit", "16", "--storage", "3"),
        ("--unit", "2"),
        ("--nos", "cumulus"),
    )
    sizes = (1, 7, 64, 100, 248, 256, 504, 512, 1000)
    for place, (server, gpus, technology) in enumerate(itertools.product(servers, sizes, ("roce", "infiniband"))):
        yield server, gpus, technology, options[place % len(options)]


@pytest.mark.parametrize(("place", "row"), list(enumerate(list_grid())))
def test_grid_validates(place, row, tmp_path, capsys):
    """Six of seven are planned no larger than they are built, which is quicker; slow tests grow all up to 512 GPUs."""
    server, gpus, technology, options = row
    size = ["--gpus", str(gpus), *(["--planned", str(gpus)] if place % 7 else [])]
    check_start([*options, "--server", server, *size, "--technology", technology], tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("technology", ["roce", "infiniband"])
@pytest.mark.parametrize("options", [(), ("--unit", "32", "--storage", "512")])
@pytest.mark.parametrize("gpus", [4096, 16_384, 32_768, 102_400, 200_000])
@pytest.mark.parametrize("server", ["nvidia/dgx-h100", "nvidia/dgx-b300"])
def test_large_starts_validate_or_meet_a_limit(server, gpus, options, technology, tmp_path, capsys):
    limits = ("LIDs", "three tiers cannot join") if technology == "infiniband" and gpus > 49_151 else ()
    check_start([*options, "--server", server, "--gpus", str(gpus), "--technology", technology], tmp_path, capsys, *limits)


def check_start(arguments, folder, capsys, *limits):
    """Run `new` and hold it to its word: a file that validates; none where the hardware ends, and which `limits` says so."""
    code = run(["new", "lab", *arguments, "-o", str(folder)])
    said = capsys.readouterr()
    if "--unit" in arguments and "dgx-a100" in str(arguments):  # half the ports of its InfiniBand leafs are 20
        limits = ("--unit: a leaf needs 64 ports, and nvidia/qm8790 runs out of cages", *limits)
    if "--unit 2" in " ".join(arguments):  # racks full of leafs have more devices than their out-of-band leaf has ports
        limits = ("--oob-leaf: a leaf needs 51 ports", *limits)
    if code:
        assert any(limit in said.err for limit in limits), said.err
        assert (code, said.out, list(folder.iterdir())) == (2, "", [])
        assert "cluster.yml" not in said.err
        return
    *notes, last = said.out.splitlines()
    assert last.startswith("Wrote "), notes
    assert run(["validate", str(folder / "lab")]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "count", "planned"),
    [
        (["--gpus", "32"], 4, 8),
        (["--gpus", "64"], 8, 16),
        (["--gpus", "100"], 13, 26),
        (["--gpus", "256"], 32, 64),
        (["--gpus", "512"], 64, None),
        (["--gpus", "8", "--unit", "32"], 1, 32),
        (["--gpus", "64", "--planned", "64"], 8, None),
        (["--gpus", "64", "--planned", "200"], 8, 25),
        (["--gpus", "768", "--technology", "infiniband"], 95, 127),
        (["--gpus", "768", "--technology", "infiniband", "--unit", "32"], 96, 128),
        (["--gpus", "1024", "--technology", "infiniband"], 127, None),
    ],
)
def test_room_to_grow_is_what_the_switches_take(options, count, planned, tmp_path):
    group = start(tmp_path, *options)["servers"]["gpu"]
    assert (group["count"], group.get("planned")) == (count, planned)


@pytest.mark.parametrize("gpus", [8, 64, 128, 136, 256])
def test_room_to_grow_takes_few_more_switches_and_says_how_many(gpus, tmp_path, capsys):
    """What is printed agrees with what the plans differ by."""
    start(tmp_path, "--gpus", str(gpus))
    said = capsys.readouterr().out
    with_room = inspect(tmp_path / "lab", rules=False).plan.network("compute")
    start(tmp_path, "--gpus", str(gpus), "--planned", str(gpus))
    without = inspect(tmp_path / "lab", rules=False).plan.network("compute")
    more = with_room.leafs + with_room.spines - without.leafs - without.spines
    cables = with_room.leaf_spine_cables - without.leaf_spine_cables
    assert more <= 2
    assert (f"{more} more switches" in said, f"{cables:,} more cables between switches" in said) == (more > 0, cables > 0)


def test_a_full_cluster_says_what_room_to_grow_would_take(tmp_path, capsys):
    start(tmp_path, "--gpus", "512")
    note = capsys.readouterr().out.splitlines()[0]
    assert note == (
        "no room to grow: 96 servers in the end would take 4 more switches from the start; --planned 768 keeps room for them"
    )
    before = inspect(tmp_path / "lab", rules=False).plan.network("compute")
    assert start(tmp_path, "--gpus", "512", "--planned", "768")["servers"]["gpu"]["planned"] == 96
    after = inspect(tmp_path / "lab", rules=False).plan.network("compute")
    assert after.leafs + after.spines - before.leafs - before.spines == 4


def test_a_hall_has_the_rows_and_racks_that_were_said(tmp_path):
    data = start(tmp_path, "--gpus", "64", "--rows", "4x10", "--control", "5")
    assert {row: (said["id"], said["racks"]) for row, said in data["racks"]["rows"].items()} == {
        "A": (1, 10),
        "B": (2, 10),
        "C": (3, 10),
        "N": (4, 10),
    }
    assert (data["racks"]["groups"]["gpu"]["rows"], data["racks"]["groups"]["network"]["rows"]) == (["A", "B", "C"], ["N"])
    assert data["servers"]["control"]["count"] == 5
    assert not has_errors(inspect(tmp_path / "lab").findings)


def test_the_hall_that_is_told_has_room(tmp_path, capsys):
    for arguments, asked in (
        (["--gpus", "1024", "--per-rack", "2"], "2x8"),
        (["--gpus", "256", "--storage", "400"], "2x8"),
        (["--gpus", "512"], "250x200"),
    ):
        assert run(["new", "lab", *arguments, "--rows", asked, "-o", str(tmp_path), "--force"]) == 2
        told = re.search(r"give (?:fewer: )?(\d+x\d+)", capsys.readouterr().err)[1]
        data = start(tmp_path, *arguments, "--rows", told)
        assert f"{len(data['racks']['rows'])}x{asked.partition('x')[2]}" == told


def test_room_to_grow_gives_way_to_the_hall(tmp_path):
    assert "planned" not in start(tmp_path, "--gpus", "256", "--rows", "2x8")["servers"]["gpu"]


def test_what_the_planner_derives_is_left_to_it(tmp_path):
    compute = start(tmp_path, "--gpus", "64")["networks"]["compute"]
    assert set(compute) == {"technology", "leaf", "rails_per_leaf", "pool"}


def grow(folder):
    """Build all that the file plans, and return what that moves of what stood."""
    before = inspect(folder)
    assert not has_errors(before.findings), before.findings
    data = yaml.safe_load((folder / "cluster.yml").read_text("utf-8"))
    for group in data["servers"].values():
        group["count"] = group.get("planned", group["count"])
    (folder / "cluster.yml").write_text(yaml.safe_dump(data), "utf-8")
    after = inspect(folder)
    assert not has_errors(after.findings), after.findings
    return count_moves(compare_plans(before.plan, after.plan))


@pytest.mark.parametrize(
    ("server", "gpus", "technology", "options"),
    [
        pytest.param(*row, marks=[pytest.mark.slow] if place % 37 else [])
        for place, row in enumerate(list_grid())
        if row[1] <= 512 or not place % 37
    ],
)
def test_growth_within_the_room_moves_nothing(server, gpus, technology, options, tmp_path, capsys):
    arguments = [*options, "--server", server, "--gpus", str(gpus), "--technology", technology]
    if run(["new", "lab", *arguments, "-o", str(tmp_path)]):
        return  # test_grid_validates says where that may be
    assert not any(grow(tmp_path / "lab").values())


def write_own_server(folder, text=""):
    """Put a server of our own, 12 units high, where the cluster in `folder` looks for it."""
    ours = (ROOT / "cluster_model/catalogue/data/device-types/dell/xe9680.yaml").read_text("utf-8")
    file = folder / "catalogue" / "device-types" / "acme" / "g8.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(text or ours.replace("u_height: 6", "u_height: 12"), "utf-8")


def test_a_server_of_the_clusters_own_catalogue(tmp_path, capsys):
    write_own_server(tmp_path / "lab")
    (tmp_path / "lab" / "catalogue" / ".#lock").symlink_to("/nowhere")
    assert run(["new", "lab", "--server", "acme/g8", "-o", str(tmp_path)]) == 0
    assert "3 servers per rack instead of 4: a rack has no room for more" in capsys.readouterr().out
    assert yaml.safe_load((tmp_path / "lab" / "cluster.yml").read_text("utf-8"))["servers"]["gpu"]["model"] == "acme/g8"
    assert run(["validate", str(tmp_path / "lab")]) == 0
    assert run(["new", "other", "--server", "acme/g8", "-o", str(tmp_path)]) == 2, "which would not find it"
    assert "--server: acme/g8 is not in the catalogue" in capsys.readouterr().err


def test_a_broken_file_of_the_clusters_own_catalogue(tmp_path, capsys):
    write_own_server(tmp_path / "lab", "manufacturer: [")
    assert run(["new", "lab", "--server", "acme/g8", "-o", str(tmp_path)]) == 1
    assert "g8.yaml:2:1: error CAT001" in capsys.readouterr().err
    assert not (tmp_path / "lab" / "cluster.yml").exists()
