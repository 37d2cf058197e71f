"""The exported topology against containerlab's rules, in our own words; containerlab itself was not run.

Sources, at srl-labs/containerlab of 2026-08-21: schemas/clab.schema.json (keys, kinds, name); nodes/linux/linux.go
(CheckInterfaceName: any name, eth0 only without a management network); nodes/ceos/ceos.go (CheckInterfaceName; the
startup-config is parsed as a Go template); links/link.go (names of at most 15 characters).
"""

import re

import pytest
import yaml

from cluster_model.twin.containerlab import export_containerlab

KEYS = {
    "linux": {"kind", "image", "binds", "exec", "sysctls"},
    "arista_ceos": {"kind", "image", "startup-config"},
}
"""The keys of a node that we write, all known to the schema, by kind."""
PORTS = {"linux": r"(?!eth0$)[^\s/:]{1,15}", "arista_ceos": r"(eth|et)[1-9][\w.]{0,12}"}


@pytest.fixture(scope="module", params=["lab", "driving", "superpod-roce", "two-planes"])
def exported(request, trees, scopes):
    tree = trees(request.param)
    files = dict(export_containerlab(tree, scopes(request.param)))
    return files, yaml.safe_load(files[f"{tree.plan.name}.clab.yml"])


def test_it_has_the_documented_keys(exported):
    _, body = exported
    assert set(body) == {"name", "topology"}
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", body["name"])
    assert set(body["topology"]) == {"nodes", "links"}
    for name, node in body["topology"]["nodes"].items():
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,62}", name)
        assert set(node) <= KEYS[node["kind"]], name
        assert all(isinstance(line, str) for key in ("binds", "exec") for line in node.get(key, []))


def test_links_join_two_ends_that_no_other_link_has(exported):
    _, body = exported
    nodes = body["topology"]["nodes"]
    ends = [end for link in body["topology"]["links"] for end in link["endpoints"]]
    assert len(ends) == 2 * len(body["topology"]["links"]) == len(set(ends))
    for end in ends:
        name, _, port = end.partition(":")
        assert re.fullmatch(PORTS[nodes[name]["kind"]], port), end


def test_every_file_that_it_names_is_there(exported):
    files, body = exported
    for node in body["topology"]["nodes"].values():
        named = [bind.split(":")[0] for bind in node.get("binds", [])] + [node[key] for key in ["startup-config"] if key in node]
        assert named
        assert set(named) <= set(files)
        assert all(bind.split(":")[1].startswith("/") for bind in node.get("binds", []))


def test_a_startup_config_has_nothing_that_a_go_template_would_take(exported):
    files, _ = exported
    for name, text in files.items():
        assert "{{" not in text, name


def test_a_port_of_eos_is_the_one_that_its_configuration_names(exported):
    files, body = exported
    nodes = body["topology"]["nodes"]
    for link in body["topology"]["links"]:
        for end in link["endpoints"]:
            name, _, port = end.partition(":")
            if nodes[name]["kind"] == "arista_ceos":
                planned = port.replace("eth", "Ethernet").replace("_", "/")
                assert re.search(rf"^interface {re.escape(planned)}$", files[f"{name}/startup.cfg"], re.MULTILINE), end
