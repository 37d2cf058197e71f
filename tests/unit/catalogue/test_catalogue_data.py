"""Every file we ship is whole: it loads without findings, and says where its numbers come from."""

import re
import subprocess
import sys
from collections import Counter

import pytest
import yaml

from cluster_model.catalogue.audit import audit_sources
from cluster_model.catalogue.cages import switch_cages
from cluster_model.catalogue.document import read_document
from cluster_model.catalogue.load import load_catalogue
from cluster_model.catalogue.platform_types import Features, Releases
from cluster_model.paths import CATALOGUE, TEMPLATES
from cluster_model.render.switch import has_templates
from cluster_model.render.switch.sonic_system import DNS_LIMIT, NTP_LIMIT
from tests.each import check_each

ROOT = TEMPLATES.parent
CATALOG, _ = load_catalogue()
DEVICES = CATALOG.names("device")
FILES = sorted(p for p in CATALOGUE.rglob("*.yaml") if p.name != "interface-types.yaml") + sorted(
    TEMPLATES.glob("switch/*/platform.yml")
)
NEEDED = [
    "nvidia/dgx-a100",
    "nvidia/dgx-h100",
    "nvidia/dgx-h200",
    "nvidia/dgx-b200",
    "nvidia/dgx-b300",
    "dell/xe9680",
    "dell/xe9680-mi300x",
    "dell/xe9680-h200",
    "dell/xe9780-b200",
    "dell/xe9780-b300",
    "hpe/xd670-h100",
    "hpe/xd670-h200",
    "hpe/xd685-h200",
    "lenovo/sr680a-v3-h200",
    "lenovo/sr680a-v4-b300",
    "supermicro/sys-821ge-tnhr-h100",
    "supermicro/sys-821ge-tnhr-h200",
    "supermicro/sys-822gs-nb3rt",
    "supermicro/sys-822gs-nbrt",
    "supermicro/sys-a22ga-nbrt",
    "generic/4u-8l40s",
    "generic/2u-24nvme",
    "generic/1u",
    "nvidia/ufm-3.1",
    "nvidia/sn5600",
    "nvidia/sn4700",
    "nvidia/sn3700c",
    "nvidia/sn2201",
    "nvidia/qm9700",
    "nvidia/qm8790",
    "nvidia/q3400-ra",
    "arista/dcs-7060x6-64pe",
    "arista/dcs-7050cx3-32s",
    "generic/linux-32x100g",
    "generic/linux-48x1g",
    "generic/pdu-11kw",
    "generic/pdu-17kw",
    "generic/pdu-34kw",
]


def test_nothing_is_found_in_what_we_ship():
    catalogue, findings = load_catalogue()
    assert findings == []
    assert catalogue.check() == []


def test_the_reference_designs_find_their_hardware():
    lost = [ref for ref in NEEDED if CATALOG.device(ref) is None]
    assert not lost, "\n".join(lost)


def test_every_number_has_a_source():
    def check(path):
        document = read_document(path)
        block = document.data.get("gpuyard", document.data)
        loose = {k: v for k, v in block.items() if k not in {"lengths_m", "lengths_source"}}
        assert list(audit_sources(document, loose, ())) == []
        assert not block.get("lengths_m") or block["lengths_source"]

    check_each(check, FILES)


def test_what_is_not_confirmed_says_how_it_was_derived():
    def walk(data):
        if isinstance(data, dict):
            if data.get("confirmed") is False:
                assert len(data["source"]) > 20
            for value in data.values():
                walk(value)
        elif isinstance(data, list):
            for value in data:
                walk(value)

    check_each(lambda path: walk(yaml.safe_load(path.read_text("utf-8"))), FILES)


@pytest.mark.parametrize("ref", CATALOG.names("server"))
def test_servers_are_wired_as_a_design_expects(ref):
    server = CATALOG.server(ref)
    ports = server.network.ports
    networks = Counter(port.network for port in ports)
    assert networks["storage"] in {0, 2}, "dual-homed or not at all"
    assert networks["oob"] == 1
    rails = [port.rail for port in ports if port.network == "compute" and port.rail is not None]
    assert rails == list(range(len(rails)))
    if server.gpus is not None and networks["compute"]:
        assert len(rails) == server.gpus.count
        assert sorted(port.gpu for port in ports if port.gpu is not None) == rails
    assert len({port.pci for port in ports if port.pci}) == sum(1 for port in ports if port.pci)


@pytest.mark.parametrize("ref", CATALOG.names("switch"))
def test_switch_cages_count_up(ref):
    cages = switch_cages(CATALOG.device(ref))
    assert [cage.number for cage in cages] == list(range(1, len(cages) + 1))
    lanes = [lane for cage in cages for lane in cage.lane_numbers]
    assert len(set(lanes)) == len(lanes)
    assert switch_cages(CATALOG.device(ref)) is cages


@pytest.mark.parametrize(
    ("ref", "cage", "name_lane", "lanes"),
    [
        ("nvidia/sn5600", 64, 504, tuple(range(504, 512))),
        ("nvidia/sn4700", 32, 248, tuple(range(248, 256))),
        ("nvidia/sn2201", 48, 47, (188,)),
        ("nvidia/sn2201", 52, 60, (204, 205, 206, 207)),
    ],
)
def test_lanes_are_those_of_sonics_port_config(ref, cage, name_lane, lanes):
    found = switch_cages(CATALOG.device(ref))[cage - 1]
    assert (found.number, found.first_lane, found.lane_numbers) == (cage, name_lane, lanes)


@pytest.mark.parametrize(
    ("ref", "ports", "speed_gbps"),
    [("nvidia/qm9700", 64, 400), ("nvidia/q3400-ra", 144, 800), ("nvidia/qm8790", 40, 200), ("nvidia/sn5600", 64, 800)],
)
def test_native_radix(ref, ports, speed_gbps):
    native = [cage.modes[0] for cage in switch_cages(CATALOG.device(ref)) if not cage.for_managers]
    assert sum(mode.count for mode in native) == ports
    assert {mode.speed_gbps for mode in native} == {speed_gbps}


def test_dgx_h100_ports_are_those_of_the_user_guide():
    ports = {port.rail: port for port in CATALOG.server("nvidia/dgx-h100").network.ports if port.network == "compute"}
    assert [ports[r].rdma for r in range(8)] == [f"mlx5_{n}" for n in (0, 3, 4, 5, 6, 9, 10, 11)]
    assert [ports[r].cage for r in range(8)] == [4, 3, 3, 4, 1, 2, 2, 1]
    assert ports[7].pci == "0000:dc:00.0"
    assert (ports[7].name, ports[7].infiniband_name) == ("enp220s0np0", "ibp220s0")


@pytest.mark.parametrize("nos", ["sonic", "frr", "eos", "cumulus", "infiniband"])
def test_platforms_answer_the_same_questions(nos):
    platform = CATALOG.platforms[nos]
    assert platform.features.model_fields_set == set(Features.model_fields), "absent means no; say so"
    assert set(platform.since) <= set(Features.model_fields)
    assert platform.rendered == has_templates(nos)


@pytest.mark.parametrize("nos", ["sonic", "frr", "eos", "cumulus", "infiniband"])
def test_platforms_say_what_judged_them(nos):
    platform = CATALOG.platforms[nos]
    assert platform.validated and platform.not_validated
    told = " ".join(platform.validated)
    named = re.findall(r"tests/[\w/]+(?:\.py)?|(?<=[ (])test_\w+\.py", told)
    assert named
    for name in named:
        assert list(ROOT.glob(name if "/" in name else f"tests/*/{name}")), f"{nos}: {name} is not there"
    assert not platform.rendered or "tests/contract/test_one_truth.py" in told


def test_a_feature_that_nobody_knows_is_refused(tmp_path, monkeypatch):
    folder = tmp_path / "switch" / "acme"
    folder.mkdir(parents=True)
    text = (TEMPLATES / "switch" / "eos" / "platform.yml").read_text("utf-8")
    (folder / "platform.yml").write_text(text.replace("  bfd: true", "  bdf: true"), "utf-8")
    monkeypatch.setattr("cluster_model.catalogue.load.TEMPLATES", tmp_path)
    catalogue, _ = load_catalogue()
    assert catalogue.platforms.get("acme") is None
    (finding,) = catalogue.check()
    assert (finding.id, finding.summary, finding.fix) == ("CAT005", "unknown field bdf", "did you mean bfd?")
    assert finding.line == text[: text.index("  bfd: true")].count("\n") + 1


def test_service_limits_are_those_that_sonic_is_rendered_with():
    sonic = CATALOG.platforms["sonic"]
    assert (sonic.resolvers, sonic.time_servers) == (DNS_LIMIT, NTP_LIMIT)


def test_files_are_read_when_asked_for():
    code = """
import cluster_model.catalogue.document as document
from cluster_model.catalogue import load
seen = []
real = document.read_document
load.read_document = lambda path, folder=None: seen.append(path.stem) or real(path, folder)
catalogue, _ = load.load_catalogue()
assert len(catalogue.names()) > 20 and "nvidia/dgx-h100" in catalogue.devices
assert seen == [], seen
catalogue.device("nvidia/dgx-h100"); catalogue.device("nvidia/dgx-h100"); catalogue.media
assert seen == ["dgx-h100", "media"], seen
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("ref", "kind", "first"),
    [
        ("nvidia/sn560", "switch", "nvidia/sn5600"),
        ("dgx-h100", "server", "nvidia/dgx-h100"),
        ("NVIDIA/DGX-H100", "device", "nvidia/dgx-h100"),
        ("nvidia/h100", "gpu", "nvidia/h100-sxm"),
        ("soniq", "platform", "sonic"),
    ],
)
def test_a_slip_of_the_hand_is_understood(ref, kind, first):
    assert first in CATALOG.suggest(ref, kind)


def test_nothing_is_suggested_for_nonsense():
    assert CATALOG.suggest("zzzz/qqqqqqqq", "device") == []


def test_typed_helpers_tell_kinds_apart():
    assert CATALOG.switch("nvidia/dgx-h100") is None
    assert CATALOG.server("nvidia/sn5600") is None
    assert CATALOG.pdu("generic/pdu-17kw").capacity_w == 17700
    assert CATALOG.device("nobody/nothing") is None


def test_what_chips_do_with_tunnels_is_known():
    switches = {ref: CATALOG.switch(ref) for ref in DEVICES}
    vxlan = {ref: block.asic.vxlan for ref, block in switches.items() if block and "ethernet" in block.technology}
    assert {ref for ref, known in vxlan.items() if known is None} == {"arista/dcs-7060x6-64pe"}, "HWR007 refuses the others"
    assert {ref for ref, known in vxlan.items() if known and not (known.l2 and known.l3)} == {"dell/z9664f-on", "dell/z9864f-on"}


def test_releases_are_compared_by_their_numbers():
    def has(first, last, release):
        return Releases(first=first, last=last, source="made up").has(release)

    assert has("5.10", "5.10", "5.10.1") and not has("5.10", "5.10", "5.9.2") and not has("5.10", "5.10", "5.11.0")
    assert has("4.31.2F", "4.36", "4.36.1F") and has("4.31.2F", "4.36", "4.32.0F") and not has("4.31.2F", "4.36", "4.31.1F")
    assert has("8.4", "10", "8.4.4") and has("8.4", "10", "10.5.4") and not has("8.4", "10", "11.0")
    assert has("202505", "202611", "202511") and not has("202505", "202611", "202411") and not has("202505", "202611", "4.5.0")


def test_every_rendered_platform_says_for_which_releases():
    rendered = {name: value for name in CATALOG.names("platform") if (value := CATALOG.platforms.get(name)) and value.rendered}
    assert set(rendered) == {"cumulus", "eos", "frr", "sonic"}
    for name, value in rendered.items():
        assert value.releases is not None and value.releases.has(value.release), name
