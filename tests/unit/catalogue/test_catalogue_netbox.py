"""Files of NetBox's device-type library drop in unchanged."""

from pathlib import Path

import pytest

from cluster_model.catalogue.cages import switch_cages
from cluster_model.catalogue.load import load_catalogue

HERE = Path(__file__).parent / "netbox"


def interfaces(names, type_):
    return "".join(f"  - {{name: {name}, type: {type_}}}\n" for name in names)


def derive(tmp_path, rows, head="power-ports:\n  - {name: PSU1, maximum_draw: 200}\n"):
    path = tmp_path / "device-types" / "Acme" / "My_Switch 1.yml"
    path.parent.mkdir(parents=True)
    path.write_text(f"manufacturer: Acme\nmodel: M\nslug: acme-m\n{head}interfaces:\n{rows}", "utf-8")
    catalogue, findings = load_catalogue(tmp_path)
    return catalogue.device("acme/my-switch-1"), findings


def test_a_listing_of_62_of_64_ports_loads_and_is_reported():
    catalogue, findings = load_catalogue(HERE)
    device = catalogue.device("nvidia/qm9700")
    cages = switch_cages(device)
    assert [(f.id, f.severity) for f in findings] == [("CAT004", "warning"), ("CAT002", "warning")]
    assert findings[1].summary.endswith("P22.1, P23.0")
    assert (findings[1].expected, findings[1].actual) == ("64 ports", "62 ports")
    assert len(cages) == 32
    assert {(cage.form_factor, cage.lanes, cage.modes[0].count, cage.modes[0].speed_gbps) for cage in cages} == {
        ("osfp", 8, 2, 400)
    }
    block = device.gpuyard
    assert not block.power.confirmed
    assert not block.cages[0].confirmed
    assert "qm9700.yaml" in block.asic.source


@pytest.mark.parametrize(
    ("names", "type_", "cages", "native"),
    [
        ([f"swp{n}" for n in range(1, 33)], "400gbase-x-qsfpdd", 32, "1x400"),
        ([f"Ethernet{n}" for n in range(0, 128, 4)], "100gbase-x-qsfp28", 32, "1x100"),
        ([f"Ethernet1/{n}" for n in range(1, 33)], "100gbase-x-qsfp28", 32, "1x100"),
        ([f"Ethernet{n}/1" for n in range(1, 33)], "800gbase-x-osfp", 32, "1x800"),
        ([f"sw{n}p{p}" for n in range(1, 73) for p in (1, 2)], "infiniband-xdr", 72, "2x800"),
        ([f"Ethernet{s}/{p}" for s in (1, 2) for p in range(1, 37)], "100gbase-x-qsfp28", 72, "1x100"),
    ],
)
def test_cages_are_read_out_of_names(tmp_path, names, type_, cages, native):
    device, findings = derive(tmp_path, interfaces(names, type_))
    assert findings == []
    found = switch_cages(device)
    assert [cage.number for cage in found] == list(range(1, cages + 1))
    assert {f"{cage.modes[0].count}x{cage.modes[0].speed_gbps}" for cage in found} == {native}


def test_kinds_of_ports_become_groups(tmp_path):
    rows = interfaces([f"swp{n}" for n in range(1, 49)], "1000base-t") + interfaces(
        [f"swp{n}" for n in range(49, 53)], "100gbase-x-qsfp28"
    )
    device, findings = derive(tmp_path, interfaces(["eth0"], "1000base-t") + rows)
    assert findings == []
    assert [(g.first, g.count, g.form_factor) for g in device.gpuyard.cages] == [(1, 48, "rj45"), (49, 4, "qsfp28")]
    assert device.gpuyard.asic.bandwidth_gbps == 448


def test_names_of_two_forms_are_numbered_on(tmp_path):
    rows = interfaces([f"Ethernet{n}/1" for n in range(1, 33)], "100gbase-x-qsfp28") + interfaces(
        ["Ethernet33", "Ethernet34"], "10gbase-x-sfpp"
    )
    device, findings = derive(tmp_path, rows)
    assert findings == []
    assert [(g.first, g.count) for g in device.gpuyard.cages] == [(1, 32), (33, 2)]


@pytest.mark.parametrize(("draws", "maximum_w"), [([300, 300], 300), ([875] * 8, 6125), ([500], 500)])
def test_supplies_share_or_back_each_other(tmp_path, draws, maximum_w):
    head = "power-ports:\n" + "".join(f"  - {{name: PSU{i}, maximum_draw: {w}}}\n" for i, w in enumerate(draws))
    device, _ = derive(tmp_path, interfaces([f"swp{n}" for n in range(1, 9)], "25gbase-x-sfp28"), head)
    assert (device.gpuyard.power.maximum_w, device.gpuyard.power.psu_count) == (maximum_w, len(draws))


def test_outlets_make_a_pdu(tmp_path):
    head = "u_height: 0\npower-ports:\n  - {name: inlet, maximum_draw: 22000}\npower-outlets:\n  - {name: '1'}\n"
    device, findings = derive(tmp_path, "", head)
    assert findings == []
    assert (device.gpuyard.kind, device.gpuyard.capacity_w, device.gpuyard.zero_u) == ("pdu", 22000, True)


def test_a_pdu_without_a_draw_is_refused(tmp_path):
    device, findings = derive(tmp_path, "", "power-outlets:\n  - {name: '1', type: iec-60320-c13}\n")
    assert device is None
    assert [f.id for f in findings] == ["CAT004"]
