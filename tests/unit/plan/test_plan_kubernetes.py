"""Where nodes of Kubernetes have their addresses, and where its API server is reached."""

import pytest

from cluster_model.plan.services.addresses import find_address
from tests.planned import INVENTORY, open_example, open_folder


def find(example, name, network):
    (server,) = (server for server in open_example(example).plan.servers if server.name == name)
    return find_address(server, network)


@pytest.mark.parametrize(
    ("example", "name", "network", "found"),
    [
        # The service address, over both ports, and not the address of one of them.
        ("superpod-roce", "gpu-001", "storage", ("10.136.0.15", "10.136.0.15/32", "lo", 400)),
        ("superpod-roce", "gpu-001", "oob", ("10.125.0.5", "10.125.0.0/26", "eno3", 1)),
        ("driving", "control-001", "services/core", ("10.48.0.16", "10.48.0.0/24", "bond0.161", 50)),
        ("driving", "train-001", "perception/front", ("10.48.1.16", "10.48.1.0/24", "bond0.18", 200)),
        ("driving", "train-001", "services/core", None),
        ("superpod-roce", "gpu-001", "business", None),
    ],
)
def test_a_server_is_found_in_a_network(example, name, network, found):
    assert find(example, name, network) == found


def change(folder, base, kubernetes):
    text = (INVENTORY.parent / f"tests/errors/bases/{base}.yml").read_text().partition("\nkubernetes:")[0]
    (folder / "cluster.yml").write_text(f"{text}\nkubernetes: {kubernetes}\n")
    return open_folder(folder).plan.kubernetes


@pytest.mark.parametrize(
    ("base", "network"),
    [("kubernetes", "storage"), ("gpu", "oob")],
)
def test_nodes_are_in_the_storage_network_where_all_of_them_are(base, network, tmp_path):
    kubernetes = change(tmp_path, base, "{control: control, workers: [gpu]}")
    assert kubernetes.network == network
    assert all(node.address for node in kubernetes.nodes)


def test_who_comes_from_outside_asks_the_control_servers_where_they_are_managed(tmp_path):
    kubernetes = change(tmp_path, "kubernetes", "{control: control, workers: [gpu], endpoint: {name: api}}")
    endpoint = kubernetes.endpoint
    assert (endpoint.name, endpoint.address, endpoint.port) == ("api.lab.example.net", "127.0.0.1", 7443)
    assert len(endpoint.others) == 3
    assert not {node.address for node in kubernetes.nodes} & set(endpoint.others)


def test_a_version_has_its_minor_and_its_patch_release(tmp_path):
    asked = "{control: control, workers: [gpu], version: %s}"
    for said, version, patch in (('"1.36"', "1.36", ""), ('"1.36.2"', "1.36", "1.36.2")):
        kubernetes = change(tmp_path, "kubernetes", asked % said)
        assert (kubernetes.version, kubernetes.patch) == (version, patch)


def test_nodes_that_are_planned_count_before_they_are_built(tmp_path):
    before = change(tmp_path, "kubernetes", "{control: control, workers: [gpu]}")
    text = (tmp_path / "cluster.yml").read_text()
    (tmp_path / "cluster.yml").write_text(text.replace("count: 4, unit: 2", "count: 2, planned: 4, unit: 2"))
    after = open_folder(tmp_path).plan.kubernetes
    assert (len(before.nodes), before.planned) == (7, 7)
    assert (len(after.nodes), after.planned) == (5, 7)
