"""From a path to a cluster, and a digest of all that it depends on."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cluster_model
from cluster_model.intent.load import compute_digest, load_cluster, sum_inputs

BASE = """\
name: lab
site: {domain: lab.example.net}
racks:
  rows: {A: {id: 1, racks: 4}, N: {id: 2, racks: 2}}
  groups:
    gpu: {id: 1, rows: [A], power_kw: 48, feed_kw: 34}
    network: {id: 2, rows: [N], power_kw: 30, feed_kw: 20}
servers:
  gpu: {id: 1, model: nvidia/dgx-h100, count: 4, racks: gpu}
networks:
  compute: {technology: roce, leaf: nvidia/sn5600, pool: 10.64.0.0/11}
  oob: {leaf: nvidia/sn2201, nos: cumulus, pool: 10.120.0.0/14}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cluster.yml").write_text(BASE)
    return tmp_path


def test_folder_and_file_are_the_same(folder):
    by_folder, by_file = load_cluster(folder), load_cluster(folder / "cluster.yml")
    assert by_folder.findings == []
    assert by_folder.cluster is not None
    assert by_folder.cluster == by_file.cluster
    assert by_folder.digest == by_file.digest
    assert by_folder.source.file == str(folder / "cluster.yml")
    assert by_folder.folder == by_file.folder == folder


def test_file_is_named_as_given(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert load_cluster(Path("cluster.yml")).source.file == "cluster.yml"
    assert load_cluster(Path()).source.file == "cluster.yml"


def test_digest_form(folder):
    (folder / "b.csv").write_text("name\n")
    intent = hashlib.sha256((folder / "cluster.yml").read_bytes()).hexdigest()
    table = hashlib.sha256(b"name\n").hexdigest()
    text = f"gpuyard {cluster_model.__version__}\t\ncluster.yml\t{intent}\na.csv\t-\nb.csv\t{table}\n"
    assert compute_digest(sum_inputs(folder / "cluster.yml", ["b.csv", "a.csv"])) == hashlib.sha256(text.encode()).hexdigest()


def test_digest_follows_every_input(folder):
    (folder / "cluster.yml").write_text(BASE + "facts: {servers: s.csv}\n")
    (folder / "s.csv").write_text("name,serial\ngpu-001,S1\n")
    device = folder / "catalogue" / "device-types" / "acme" / "s4.yaml"
    device.parent.mkdir(parents=True)
    device.write_text("x: 1\n")
    seen = {load_cluster(folder).digest}
    for path in (folder / "cluster.yml", folder / "s.csv", device):
        path.write_text(path.read_text() + "\n")
        seen.add(load_cluster(folder).digest)
    (folder / "README.md").write_text("not an input")
    seen.add(load_cluster(folder).digest)
    assert len(seen) == 4


def test_all_findings_at_once_by_line(folder):
    text = BASE.replace("count: 4", "count: 0").replace("name: lab", "name: LAB").replace("racks: gpu", "racks: gpu, x: 1")
    (folder / "cluster.yml").write_text(text)
    assert [finding.id for finding in load_cluster(folder).findings] == ["INT006", "INT004", "INT001"]


def test_a_folder_in_place_of_a_csv(folder):
    (folder / "cluster.yml").write_text(BASE + "facts: {servers: tables}\n")
    (folder / "tables").mkdir()
    assert [finding.id for finding in load_cluster(folder).findings] == ["FCT001"]


WORDS = [*BASE.replace("\n", " \n ").split(" "), "null", "[]", "{}", "-1", "1.5", '"x"', "on", "&a", "*a", "{a: 1}", "\t"]


@given(st.integers(0, 200), st.sampled_from(WORDS))
@settings(max_examples=150, deadline=None)
def test_no_exchange_of_a_word_raises(tmp_path_factory, index, word):
    words = BASE.replace("\n", " \n ").split(" ")
    words[index % len(words)] = word
    path = tmp_path_factory.mktemp("lab") / "cluster.yml"
    path.write_text(" ".join(words).replace(" \n ", "\n"))
    loaded = load_cluster(path)
    assert loaded.cluster is not None or loaded.findings
    assert all(finding.line or finding.id == "YML004" for finding in loaded.findings)


def test_endless_file_is_not_read():
    loaded = load_cluster(Path("/dev/zero"))
    assert [finding.id for finding in loaded.findings] == ["YML005"]
