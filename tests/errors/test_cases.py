"""Values are put into a base without rewriting the rest of it."""

from __future__ import annotations

import pytest
from cases import set_value, write_cluster

TEXT = """\
name: lab
racks:
  rows: {A: {id: 1, racks: 4}}  # one row
networks:
  oob:
    pool: 10.0.0.0/16
    upstreams: [{switch: a}, {switch: b}]
"""


@pytest.mark.parametrize(
    ("path", "value", "before", "after"),
    [
        ("name", ": 'pod a'", "name: lab", "name: 'pod a'"),
        ("racks.rows.A.racks", ": 010", "racks: 4}", "racks: 010}"),
        ("racks.rows.B", ": {id: 2}", "racks: 4}}", "racks: 4}, B: {id: 2}}"),
        ("racks.rows.A.id", ": null", "id: 1, ", ""),
        ("racks.rows.A.racks", ": null", ", racks: 4", ""),
        ("racks.rows.A", ": null", "{A: {id: 1, racks: 4}}", "{}"),
        ("networks.oob.pool", ": null", "    pool: 10.0.0.0/16\n", ""),
        ("networks.oob.pool", ":\n  - 1\n  - 2", "pool: 10.0.0.0/16", "pool:\n      - 1\n      - 2"),
        ("networks.oob.upstreams.1.switch", ": c", "{switch: b}", "{switch: c}"),
        ("networks.oob.upstreams.0", ": {}", "[{switch: a}", "[{}"),
        ("networks.oob.vlans.bmc", ": 12", "{switch: b}]\n", "{switch: b}]\n    vlans: {bmc: 12}\n"),
        ("ceph", ":\n  hosts: a", "{switch: b}]\n", "{switch: b}]\nceph:\n  hosts: a\n"),
    ],
)
def test_value_is_set_in_place(path, value, before, after):
    assert TEXT.count(before) == 1
    assert set_value(TEXT, path, value) == TEXT.replace(before, after)


def test_files_stand_beside_the_cluster(tmp_path):
    write_cluster(b"# Words.\nbase: control\nname: pod\nfiles:\n  a/b.csv: |\n    name\n  c: !!binary /wA=\n", tmp_path)
    assert (tmp_path / "cluster.yml").read_text("utf-8").startswith("name: pod\nsite:\n")
    assert (tmp_path / "a" / "b.csv").read_text("utf-8") == "name\n"
    assert (tmp_path / "c").read_bytes() == b"\xff\0"


def test_other_cases_are_the_cluster_byte_for_byte(tmp_path):
    write_cluster(b"\xff\xfename: lab\r\n", tmp_path)
    assert (tmp_path / "cluster.yml").read_bytes() == b"\xff\xfename: lab\r\n"
