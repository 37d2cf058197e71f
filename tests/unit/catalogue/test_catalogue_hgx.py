"""Servers with an HGX board: they say where their numbers come from, and make a cluster that validates."""

import pytest

from cluster_model.catalogue.load import load_catalogue
from cluster_model.cli.main import run
from cluster_model.diagnostic import has_errors
from cluster_model.pipeline import inspect

CATALOGUE, _ = load_catalogue()
GPUS = {
    "supermicro": {"h100-sxm", "h200-sxm", "b200", "b300"},
    "dell": {"h100-sxm", "h200-sxm", "b200", "b300"},
    "hpe": {"h100-sxm", "h200-sxm"},
    "lenovo": {"h200-sxm", "b300"},
}
"""By maker, the GPUs of its servers whose supplies were published where we could read it."""
HGX = [
    name
    for name in CATALOGUE.names("server")
    if (board := CATALOGUE.server(name).gpus) and board.interconnect == "nvswitch" and name.split("/")[0] in GPUS
]


def test_every_maker_has_its_hgx_servers():
    found = {maker: {CATALOGUE.server(name).gpus.model.split("/")[1] for name in HGX if name.startswith(maker)} for maker in GPUS}
    assert found == GPUS


@pytest.mark.parametrize("ref", HGX)
def test_what_we_did_not_read_in_the_makers_text_says_so(ref):
    """None of the makers' pages could be read, so no group of numbers may pass for confirmed; whoever reads one changes this."""
    server = CATALOGUE.server(ref)
    assert not any(group.confirmed for group in (server.power, server.gpus, server.network))


@pytest.mark.parametrize("ref", HGX)
def test_its_supplies_carry_it_with_one_lost(ref):
    power = CATALOGUE.server(ref).power
    assert (power.psu_count - 1) * power.psu_w >= power.maximum_w
    gpu = CATALOGUE.gpus[CATALOGUE.server(ref).gpus.model]
    assert 8 * gpu.power_max_w < power.maximum_w, "and GPUs are not all that draws"


@pytest.mark.parametrize("technology", ["roce", "infiniband"])
@pytest.mark.parametrize("ref", HGX)
def test_four_of_them_make_a_cluster(ref, technology, tmp_path, capsys):
    options = ["--server", ref, "--gpus", "32", "--technology", technology, "--fabric-managers", "0"]
    assert run(["new", "lab", *(options if technology == "infiniband" else options[:-2]), "-o", str(tmp_path)]) == 0
    inspection = inspect(tmp_path / "lab")
    assert not has_errors(inspection.findings)
    servers = [server for server in inspection.plan.servers if server.model == ref]
    assert len(servers) == 4
