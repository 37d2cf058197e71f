"""What `gpuyard catalogue` finds, how it shows it to somebody who chooses hardware, and files that it prints to be changed."""

import json
from pathlib import Path

import pytest

from cluster_model.catalogue.load import load_catalogue
from cluster_model.cli.main import run

CATALOGUE, _ = load_catalogue()


def find(capsys, *words):
    """Return the names that words find, by kind."""
    assert run(["catalogue", *words, "--format", "json"]) == 0
    found = {}
    for row in json.loads(capsys.readouterr().out):
        found.setdefault(row["kind"], set()).add(row["name"])
    return found


def list_servers(fits):
    return {name for name in CATALOGUE.names("server") if (board := CATALOGUE.server(name).gpus) and fits(board)}


def test_a_gpu_finds_itself_and_the_servers_that_have_it(capsys):
    found = find(capsys, "h100")
    assert found["gpu"] == {"nvidia/h100-sxm", "nvidia/h100-nvl"}
    assert found["server"] == list_servers(lambda board: "h100" in board.model) >= {"nvidia/dgx-h100", "dell/xe9680"}
    assert set(found) == {"gpu", "server"}


def test_hgx_finds_servers_with_nvswitch(capsys):
    found = find(capsys, "HGX")
    assert found == {"server": list_servers(lambda board: board.interconnect == "nvswitch")}
    assert "dell/xe9680-mi300x" not in found["server"]


def test_a_maker_finds_all_that_it_makes(capsys):
    found = find(capsys, "arista")
    assert found == {"switch": {name for name in CATALOGUE.names("switch") if name.startswith("arista/")}}


@pytest.mark.parametrize(
    ("words", "kind", "inside", "outside"),
    [
        (("nvidia", "switch", "infiniband"), "switch", "nvidia/qm9700", "nvidia/sn5600"),
        (("hgx", "hopper"), "server", "nvidia/dgx-h200", "nvidia/dgx-b200"),
        (("400g", "nic"), "nic", "nvidia/connectx-7", "nvidia/connectx-8"),
        (("800g", "ethernet", "switch"), "switch", "nvidia/sn5600", "nvidia/sn4700"),
        (("poweredge", "h100"), "server", "dell/xe9680", "nvidia/dgx-h100"),
        (("supermicro", "b300"), "server", "supermicro/sys-822gs-nb3rt", "supermicro/sys-822gs-nbrt"),
    ],
)
def test_several_words_narrow(words, kind, inside, outside, capsys):
    found = find(capsys, *words)
    assert set(found) == {kind}
    assert inside in found[kind] and outside not in found[kind]
    assert found == find(capsys, *reversed(words)), "in any order"


def test_a_kind_is_a_kind_and_no_part_of_a_text(capsys):
    assert set(find(capsys, "gpu")) == {"gpu"}


def test_a_whole_name_is_that_model_alone(capsys):
    assert run(["catalogue", "nvidia/h100-sxm", "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["kind"], row["name"], row["model"]) == ("gpu", "nvidia/h100-sxm", "NVIDIA H100 SXM 80 GB")


def test_the_table_tells_what_to_choose_by(capsys):
    assert run(["catalogue", "h200", "nvidia"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "server U kW GPUs or drives ports"
    row = "nvidia/dgx-h200 8 10.2 8 nvidia/h200-sxm 8x400G compute, 2x200G storage, 2x200G business, 1x10G oob"
    assert row in lines
    assert "gpu GB W generation" in lines[lines.index("") :], "a table for each kind"
    assert run(["catalogue", "quantum", "switch"]) == 2
    capsys.readouterr()
    assert run(["catalogue", "q3400-ra", "infiniband"]) == 0
    assert capsys.readouterr().out.startswith("switch nvidia/q3400-ra: 4U, 4.84 kW, 144x800G osfp + 1x400G osfp, infiniband\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nvidia/sn5601",), "nothing is called nvidia/sn5601; did you mean nvidia/sn5600"),
        (("aritsa",), "nothing is called aritsa; did you mean arista"),
        (("supermciro", "h100"), "nothing is called supermciro; did you mean supermicro?"),
        (("hopperr", "server"), "nothing is called hopperr; did you mean hopper"),
        (("servers",), "nothing is called servers; did you mean server?"),
        (("zzqqzz",), "nothing is called zzqqzz\n"),
        (("arista", "gpu"), f"nothing fits arista gpu; alone they find: arista 2, gpu {len(CATALOGUE.gpus)}; leave one out"),
    ],
)
def test_nothing_found_names_the_nearest(words, said, capsys):
    assert run(["catalogue", *words]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("kind", ["device", "gpu", "nic"])
def test_every_printed_file_loads_and_is_the_same(kind, tmp_path, capsys):
    """Of every model of every kind: printed, put into a cluster's own catalogue under another name, and read from there."""
    folder = tmp_path / "catalogue" / {"device": "device-types", "gpu": "gpus", "nic": "nics"}[kind]
    folder.joinpath("own").mkdir(parents=True)
    names = CATALOGUE.names(kind)
    for number, name in enumerate(names):
        assert run(["catalogue", name, "--yaml"]) == 0
        (folder / "own" / f"m{number}.yaml").write_text(capsys.readouterr().out, "utf-8")
    copies, findings = load_catalogue(tmp_path / "catalogue")
    assert findings == []
    shelf = {"device": "devices", "gpu": "gpus", "nic": "nics"}[kind]
    ours, _ = load_catalogue()
    for number, name in enumerate(names):
        assert getattr(copies, shelf)[f"own/m{number}"].model_dump() == getattr(ours, shelf)[name].model_dump(), name
    assert len(names) > 5


def test_a_printed_netbox_file_stays_one(tmp_path, capsys):
    """A file of NetBox's library has no gpuyard block; of its name, what is derived holds nothing but the source."""
    text = Path(__file__).with_name("netbox").joinpath("device-types/nvidia/qm9700.yaml").read_text("utf-8")
    folder = tmp_path / "catalogue" / "device-types" / "own"
    folder.mkdir(parents=True)
    (folder / "one.yaml").write_text(text, "utf-8")
    assert run(["catalogue", "own/one", "--yaml", "--cluster", str(tmp_path)]) == 0
    (folder / "two.yaml").write_text(capsys.readouterr().out, "utf-8")
    catalogue, _ = load_catalogue(tmp_path / "catalogue")
    one, two = (catalogue.devices[name].model_dump_json() for name in ("own/one", "own/two"))
    assert one == two.replace("two.yaml", "one.yaml")


def test_the_name_after_the_maker_prints_its_file(capsys):
    assert run(["catalogue", "xe9680", "--yaml"]) == 0
    assert capsys.readouterr().out == CATALOGUE.devices.files["dell/xe9680"].read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("h100",), "--yaml prints the file of one model, and "),
        (("zzqqzz",), "nothing is called zzqqzz"),
        (("nvidia/sn5600", "--format", "json"), "--yaml and --format json are two forms; give one"),
    ],
)
def test_a_file_that_cannot_be_meant_is_not_printed(words, said, capsys):
    assert run(["catalogue", *words, "--yaml"]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""
