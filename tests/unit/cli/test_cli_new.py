"""What `gpuyard new` writes: valid at every size, whole as a manual, and never over another's file."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
import yaml

from cluster_model.cli.main import run
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.model.json_schema import build_schema

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


@pytest.mark.parametrize(
    ("options", "leaf", "unit"),
    [
        (["--gpus", "248"], "nvidia/qm9700", None),
        (["--gpus", "256"], "nvidia/qm9700", 16),
        (["--gpus", "1024"], "nvidia/qm9700", 26),
        (["--gpus", "1120", "--server", "nvidia/dgx-a100"], "nvidia/qm8790", 20),
        (["--gpus", "1152", "--server", "nvidia/dgx-b300"], "nvidia/q3400-ra", 72),
    ],
)
def test_infiniband_units_are_even_and_leave_room_for_the_managers(options, leaf, unit, tmp_path):
    assert run(["new", "lab", "--technology", "infiniband", *options, "-o", str(tmp_path)]) == 0
    data = yaml.safe_load((tmp_path / "lab" / "cluster.yml").read_text("utf-8"))
    group = data["servers"]["gpu"]
    assert data["networks"]["compute"]["leaf"] == leaf
    assert group.get("unit", group["count"]) == (unit or group["count"])


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


def test_first_line_names_the_schema_in_a_checkout(tmp_path, monkeypatch):
    (tmp_path / "docs" / "schema").mkdir(parents=True)
    (tmp_path / "docs" / "schema" / "cluster.schema.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert run(["new", "lab"]) == 0
    text = (tmp_path / "inventory" / "lab" / "cluster.yml").read_text("utf-8")
    assert text.startswith("# yaml-language-server: $schema=../../docs/schema/cluster.schema.json\n# lab: ")


def test_no_schema_line_elsewhere(tmp_path):
    assert run(["new", "lab", "-o", str(tmp_path)]) == 0
    assert (tmp_path / "lab" / "cluster.yml").read_text("utf-8").startswith("# lab: ")


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
    ],
)
def test_wrong_options_write_nothing(arguments, words, tmp_path, capsys):
    assert run(["new", *arguments, "-o", str(tmp_path)]) == 2
    assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_tenants_share_all_servers_and_no_address(tmp_path):
    assert run(["new", "lab", "--gpus", "264", "--tenants", "5", "-o", str(tmp_path)]) == 0
    data = yaml.safe_load((tmp_path / "lab" / "cluster.yml").read_text("utf-8"))
    slices = [tenant["servers"][0].split("..") for tenant in data["tenants"].values()]
    numbers = [n for first, last in slices for n in range(int(first[4:]), int(last[4:]) + 1)]
    assert numbers == list(range(1, 34))
    assert sum(tenant["gpus"] for tenant in data["tenants"].values()) == 264
    assert len({tenant["subnets"]["front"]["cidr"] for tenant in data["tenants"].values()}) == 5


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
        ("--storage", "12", "--tenants", "1"),
        ("--unit", "8"),
    )
    sizes = (1, 7, 64, 100, 248, 256, 1000, 1024)
    for place, (server, gpus, technology) in enumerate(itertools.product(servers, sizes, ("roce", "infiniband"))):
        yield server, gpus, technology, options[place % len(options)]


@pytest.mark.parametrize(("server", "gpus", "technology", "options"), list(list_grid()))
def test_grid_validates(server, gpus, technology, options, tmp_path, capsys):
    check_start([*options, "--server", server, "--gpus", str(gpus), "--technology", technology], tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("technology", ["roce", "infiniband"])
@pytest.mark.parametrize("gpus", [4096, 16_384, 32_768, 100_000])
@pytest.mark.parametrize("server", ["nvidia/dgx-h100", "nvidia/dgx-b300"])
def test_large_starts_validate_or_are_not_written(server, gpus, technology, tmp_path, capsys):
    is_written = check_start(["--server", server, "--gpus", str(gpus), "--technology", technology], tmp_path, capsys)
    assert is_written or gpus == 100_000


def check_start(arguments, folder, capsys):
    """Run `new` and hold it to its word: a file that validates, or none and the findings that it would have."""
    code = run(["new", "lab", *arguments, "-o", str(folder)])
    said = capsys.readouterr().err
    if code:
        assert code == 2, said
        assert "error " in said or "--" in said
        assert not list(folder.iterdir())
        assert "--unit" in arguments or "100000" in arguments, said
        return False
    assert run(["validate", str(folder / "lab")]) == 0, capsys.readouterr().err
    return True
