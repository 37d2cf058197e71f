"""Each CAT id, once where it fires and once where it keeps silent."""

from pathlib import Path

import pytest
import yaml

from cluster_model.catalogue.load import load_catalogue

SWITCH = """\
manufacturer: Acme
model: S4
slug: acme-s4
gpuyard:
  kind: switch
  technology: [ethernet]
  power: {maximum_w: 300, psu_count: 2, psu_w: 400, source: datasheet}
  asic: {name: A, bandwidth_gbps: 400, source: datasheet}
  cages:
    - {first: 1, count: 4, form_factor: qsfp28, lanes: 4, modes: [1x100, 4x25], source: datasheet}
"""
SERVER = """\
manufacturer: Acme
model: G8
slug: acme-g8
gpuyard:
  kind: server
  power: {maximum_w: 3000, psu_count: 4, psu_w: 1000, source: datasheet}
  gpus: {model: nvidia/h100-sxm, count: 8, source: datasheet}
  network:
    source: datasheet
    cages:
      - {number: 1, form_factor: osfp, lanes: 2}
      - {number: 2, form_factor: rj45, lanes: 1}
    ports:
      - {name: a, cage: 1, speed_gbps: 400, network: compute, rail: 0, nic: nvidia/connectx-7, rdma: mlx5_0}
      - {name: b, cage: 2, speed_gbps: 1, network: oob, nic: generic/lom-1g}
"""
NETBOX = """\
manufacturer: Acme
model: N5
slug: acme-n5
power-ports:
  - {name: PSU1, maximum_draw: 250}
  - {name: PSU2, maximum_draw: 250}
interfaces:
  - {name: eth0, type: 1000base-t, mgmt_only: true}
  - {name: swp1, type: 100gbase-x-qsfp28}
  - {name: swp2, type: 100gbase-x-qsfp28}
  - {name: swp3, type: 100gbase-x-qsfp28}
  - {name: swp4, type: 100gbase-x-qsfp28}
  - {name: swp5, type: 25gbase-x-sfp28}
"""

CASES = [
    # id, base, what to replace, by what, line of the finding
    ("CAT001", SWITCH, "model: S4", "model: [", 4),
    ("CAT001", SWITCH, "model: S4\n", "", 1),
    ("CAT001", SWITCH, "slug: acme-s4", "slug: acme-s4\nslug: other", 4),
    ("CAT001", NETBOX, NETBOX[NETBOX.index("  - {name: swp3") :], "", 1),
    ("CAT002", SWITCH, "first: 1, count: 4", "first: 1, count: 4", 0),
    ("CAT002", SERVER, "number: 2, form_factor: rj45", "number: 3, form_factor: rj45", 11),
    ("CAT002", NETBOX, "  - {name: swp3, type: 100gbase-x-qsfp28}\n", "", 8),
    ("CAT003", SERVER, "name: b, cage", "name: a, cage", 15),
    ("CAT003", SERVER, "number: 2, form_factor: rj45", "number: 1, form_factor: rj45", 12),
    ("CAT003", NETBOX, "name: swp4", "name: swp3", 12),
    ("CAT004", SWITCH, "psu_w: 400", "psu_w: 140", 7),
    ("CAT004", SERVER, "psu_w: 1000", "psu_w: 1000, psu_minimum: 5", 6),
    (
        "CAT004",
        NETBOX,
        "  - {name: PSU1, maximum_draw: 250}\n  - {name: PSU2, maximum_draw: 250}",
        "  - {name: PSU1}\n  - {name: PSU2}",
        5,
    ),
    ("CAT005", SWITCH, "maximum_w", "maximum_watt", 7),
    ("CAT005", SWITCH, "count: 4, form", "count: many, form", 10),
    ("CAT005", SWITCH, "kind: switch", "kind: toaster", 5),
    ("CAT005", SERVER, "network: oob", "network: oub", 15),
    ("CAT005", NETBOX, "type: 25gbase-x-sfp28", "type: 1600gbase-x-new", 13),
    ("CAT006", SWITCH, "psu_w: 400, source: datasheet", "psu_w: 400", 7),
    ("CAT007", SWITCH, "4x25", "3x25", 10),
    ("CAT007", SWITCH, "4x25]", "4x25], hardware_first_lanes: [1, 17]", 10),
    ("CAT007", SERVER, "name: a, cage: 1", "name: a, cage: 9", 14),
    ("CAT007", SERVER, "lanes: 2}", "lanes: 1}", 0),
    ("CAT007", SERVER, "name: b, cage: 2", "name: b, cage: 1", 0),
    ("CAT007", SERVER, "cage: 1, speed_gbps: 400", "cage: 1, speed_gbps: 400, split: [4x100]", 14),
    ("CAT007", SERVER, "cage: 1, speed_gbps: 400", "cage: 1, speed_gbps: 400, split: [2x400]", 14),
    ("CAT008", SERVER, "nvidia/h100-sxm", "nvidia/h100-xsm", 7),
    ("CAT008", SERVER, "generic/lom-1g", "generic/lom-2g", 15),
    ("CAT009", SWITCH, "bandwidth_gbps: 400", "bandwidth_gbps: 800", 8),
    ("CAT009", SWITCH, "bandwidth_gbps: 400", "bandwidth_gbps: 450", 0),
]


def load(tmp_path: Path, text: str):
    path = tmp_path / "device-types" / "acme" / "thing.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return load_catalogue(tmp_path)


@pytest.mark.parametrize("text", [SWITCH, SERVER, NETBOX], ids=["switch", "server", "netbox"])
def test_silent_on_what_is_right(tmp_path, text):
    catalogue, findings = load(tmp_path, text)
    assert findings == []
    assert catalogue.device("acme/thing") is not None


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[3] or 'removed'}")
def test_fires_on_what_is_wrong(tmp_path, case):
    rule, base, old, new, line = case
    assert old in base
    _, findings = load(tmp_path, base.replace(old, new))
    if line == 0:
        assert findings == [], "within the rule"
        return
    own = [finding for finding in findings if finding.id == rule]
    assert own, findings
    for finding in own:
        assert finding.file.endswith("acme/thing.yaml")
        assert finding.line == line
        assert finding.column >= 1
        assert finding.expected
        assert finding.actual
        assert finding.fix


def test_a_gap_between_groups_fires(tmp_path):
    group = "    - {first: 6, count: 1, form_factor: sfp28, lanes: 1, modes: [1x25], source: datasheet}\n"
    _, findings = load(tmp_path, SWITCH + group)
    assert [(f.id, f.severity) for f in findings] == [("CAT002", "warning")]
    assert "5" in findings[0].summary


def test_groups_that_overlap_fire(tmp_path):
    group = "    - {first: 4, count: 1, form_factor: sfp28, lanes: 1, modes: [1x25], source: datasheet}\n"
    _, findings = load(tmp_path, SWITCH + group)
    assert [f.id for f in findings] == ["CAT003"]


def test_an_unknown_field_is_answered_with_the_likely_one(tmp_path):
    _, findings = load(tmp_path, SWITCH.replace("psu_count", "psu_cuont"))
    assert [(f.id, f.fix, f.line, f.column) for f in findings] == [("CAT005", "did you mean psu_count?", 7, 27)]
    assert findings[0].where == "gpuyard.power.psu_cuont"


def test_a_source_above_covers_what_is_below(tmp_path):
    text = SWITCH.replace(
        "power: {maximum_w: 300, psu_count: 2, psu_w: 400, source: datasheet}", "power: {maximum_w: 300, source: datasheet}"
    )
    assert load(tmp_path, text)[1] == []


def test_all_findings_of_a_file_come_at_once(tmp_path):
    _, findings = load(
        tmp_path,
        SERVER.replace("generic/lom-1g", "generic/x").replace("cage: 1,", "cage: 7,").replace("psu_w: 1000", "psu_w: 10"),
    )
    assert sorted(f.id for f in findings) == ["CAT004", "CAT007", "CAT008"]


def test_a_file_that_is_not_there_or_not_text_is_a_finding(tmp_path):
    path = tmp_path / "gpus" / "acme" / "g.yaml"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\xff\xfe")
    _, findings = load_catalogue(tmp_path)
    assert [(f.id, f.line) for f in findings] == [("CAT001", 1)]


@pytest.mark.parametrize("text", ["", "- a\n", "just text\n", "a: &x [*x]\n", "{a: 1}: 2\n"])
def test_no_user_file_raises(tmp_path, text):
    catalogue, findings = load(tmp_path, text)
    assert {f.id for f in findings} <= {"CAT001"}
    assert findings
    assert catalogue.device("acme/thing") is None


def test_a_users_file_replaces_ours(tmp_path):
    path = tmp_path / "device-types" / "nvidia" / "sn5600.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(SWITCH)
    catalogue, findings = load_catalogue(tmp_path)
    assert findings == []
    assert catalogue.switch("nvidia/sn5600").power.maximum_w == 300
    assert catalogue.switch("nvidia/sn4700").asic.name == "Spectrum-3"


def test_a_users_media_add_to_ours(tmp_path):
    entry = {
        "kind": "dac",
        "a": {"form_factor": "osfp", "mode": "1x800"},
        "b": {"form_factor": "osfp", "mode": "1x800"},
        "reach_m": 7,
    }
    (tmp_path / "media.yaml").write_text(
        yaml.safe_dump({"cables": {"mine": {**entry, "technology": ["ethernet"], "source": "my order"}}})
    )
    catalogue, findings = load_catalogue(tmp_path)
    assert findings == []
    assert catalogue.media.cables["mine"].reach_m == 7
    assert "cat6-1g" in catalogue.media.cables


@pytest.mark.parametrize("page", ["add-a-server.md", "add-a-switch-model.md"])
def test_the_manuals_example_loads(tmp_path, page):
    text = (Path(__file__).parents[3] / "docs" / page).read_text("utf-8")
    example = text.split("```yaml\n")[1].split("```")[0].replace("count: 8", "count: 2")
    catalogue, findings = load(tmp_path, example)
    assert findings == []
    assert catalogue.device("acme/thing").manufacturer == "Acme"


def test_a_users_media_are_checked(tmp_path):
    (tmp_path / "media.yaml").write_text("cables:\n  mine: {kind: dac, reach_m: 7}\n")
    _, findings = load_catalogue(tmp_path)
    assert {f.id for f in findings} == {"CAT005", "CAT006"}
