"""What the catalogued devices need to be joined by can be bought, at every reach up to 500 m."""

import pytest

from cluster_model.catalogue.load import load_catalogue
from tests.each import check_each

MEDIA = load_catalogue()[0].media
REACH_M = 500
E, IB = "ethernet", "infiniband"

PAIRS = [
    (E, "osfp", "2x400", "osfp", "2x400"),  # leaf to spine, leaf to DGX, leaf to a split B300 port
    (IB, "osfp", "2x400", "osfp", "2x400"),
    (E, "osfp", "2x400", "osfp", "1x400"),  # leaf to a single-port card
    (IB, "osfp", "2x400", "osfp", "1x400"),  # QM9700 to UFM
    (E, "osfp", "2x400", "qsfp112", "1x400"),
    (IB, "osfp", "2x400", "qsfp112", "1x400"),
    (E, "osfp", "1x800", "osfp", "1x800"),
    (E, "osfp", "4x200", "qsfp112", "1x200"),
    (E, "osfp", "4x200", "osfp", "1x200"),
    (E, "osfp", "4x200", "osfp", "2x200"),  # a DGX run at half speed
    (E, "osfp", "2x400", "qsfp-dd", "1x400"),  # SN5600 spine over SN4700 leafs
    (IB, "osfp", "2x800", "osfp", "2x800"),
    (IB, "osfp", "2x800", "osfp", "1x800"),
    (E, "qsfp-dd", "1x400", "qsfp-dd", "1x400"),
    (E, "qsfp-dd", "1x400", "qsfp112", "1x400"),
    (E, "qsfp-dd", "2x200", "qsfp112", "1x200"),
    (E, "qsfp-dd", "2x200", "qsfp56", "1x200"),
    (E, "qsfp-dd", "4x100", "qsfp56", "1x100"),
    (E, "qsfp-dd", "4x100", "qsfp28", "1x100"),
    (E, "qsfp-dd", "4x100", "qsfp112", "1x100"),
    (E, "qsfp28", "1x100", "qsfp28", "1x100"),
    (E, "qsfp28", "1x100", "qsfp56", "1x100"),
    (E, "qsfp28", "1x100", "qsfp112", "1x100"),
    (E, "qsfp28", "4x25", "sfp28", "1x25"),
    (IB, "qsfp56", "1x200", "qsfp56", "1x200"),
]


def reaches(technology, a, a_mode, b, b_mode):
    """Return the reach in m of every way to join two cages, attached cables first."""
    for cable in MEDIA.cables.values():
        ends = {(cable.a.form_factor, cable.a.mode), (cable.b.form_factor, cable.b.mode)}
        if technology in cable.technology and ends == {(a, a_mode), (b, b_mode)}:
            yield cable.reach_m
    for left in MEDIA.transceivers.values():
        for right in MEDIA.transceivers.values():
            same = left.standard == right.standard and left.fibre == right.fibre
            fits = left.form_factor == a and right.form_factor == b and a_mode in left.modes and b_mode in right.modes
            if same and fits and technology in left.technology and technology in right.technology:
                yield min(left.reach_m, right.reach_m)


def test_every_pair_can_be_joined():
    def check(pair):
        assert max(reaches(*pair), default=0) >= REACH_M

    check_each(check, PAIRS)


@pytest.mark.parametrize("mode", ["1x1", "1x10"])
def test_twisted_pair_reaches_across_a_hall(mode):
    assert max(reaches(E, "rj45", mode, "rj45", mode)) >= 100


@pytest.mark.parametrize(
    "pair",
    [
        p
        for p in PAIRS
        if p[1:] in {("osfp", "2x400", "osfp", "2x400"), ("osfp", "1x800", "osfp", "1x800")} or p[1] == p[3] == "qsfp28"
    ],
    ids="-".join,
)
def test_copper_serves_a_rack(pair):
    technology, a, a_mode, b, b_mode = pair
    copper = [
        cable.reach_m
        for cable in MEDIA.cables.values()
        if cable.kind == "dac"
        and technology in cable.technology
        and (cable.a.form_factor, cable.a.mode) == (a, a_mode)
        and (cable.b.form_factor, cable.b.mode) == (b, b_mode)
    ]
    assert max(copper) >= 2


def test_a_splitter_divides_evenly():
    def check(name):
        cable = MEDIA.cables[name]
        a, b = ([int(n) for n in end.mode.split("x")] for end in (cable.a, cable.b))
        assert a[1] == b[1], "both ends run at the same speed"
        assert a[0] % b[0] == 0

    check_each(check, sorted(MEDIA.cables))


def test_lengths_ascend():
    assert sorted(set(MEDIA.lengths_m)) == MEDIA.lengths_m
    assert MEDIA.lengths_m[-1] >= 500


def test_one_standard_has_one_fibre():
    fibres = {}
    for module in MEDIA.transceivers.values():
        assert fibres.setdefault(module.standard, module.fibre) == module.fibre


def test_every_ethernet_medium_from_25_gbps_on_says_its_error_correction():
    fast = {optic.standard for optic in MEDIA.transceivers.values() if "ethernet" in optic.technology}
    fast |= {name for name, cable in MEDIA.cables.items() if "ethernet" in cable.technology and cable.kind != "rj45"}
    named = [medium for row in MEDIA.fec for medium in row.media]
    assert fast <= set(named)
    assert len(named) == len(set(named))
    assert set(named) <= {optic.standard for optic in MEDIA.transceivers.values()} | set(MEDIA.cables)


def test_the_last_row_about_a_medium_holds(tmp_path):
    (tmp_path / "media.yaml").write_text("fec: [{media: [100g-sr4], fec: none, source: both ends are old}]\n")
    media = load_catalogue(tmp_path)[0].media
    assert (media.fec_of("100g-sr4"), media.fec_of("100g-lr4"), media.fec_of("mine")) == ("none", "none", "")
    (tmp_path / "media.yaml").write_text("fec: [{media: [100g-sr4], fec: rs, source: both ends are old}]\n")
    assert [finding.summary for finding in load_catalogue(tmp_path)[1]]
