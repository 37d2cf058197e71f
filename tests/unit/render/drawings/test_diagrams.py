"""The drawings: true to the plan, without overlaps, and of bounded size."""

import itertools
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from cluster_model.render.drawings.diagrams import draw_fabrics, draw_racks, draw_tenants
from cluster_model.render.drawings.fabric import lay_out_fabrics
from cluster_model.render.drawings.racks import MAX_RACKS, lay_out_racks
from cluster_model.render.drawings.shapes import fit, measure, sample, wrap
from tests.planned import open_example

ROOT = Path(__file__).parents[4]
SVG = "{http://www.w3.org/2000/svg}"


def read(name):
    return open_example(name).plan


@pytest.fixture(scope="module", params=["lab", "driving", "superpod-roce", "superpod-h100"])
def plan(request):
    return read(request.param)


@pytest.fixture(scope="module")
def driving():
    return read("driving")


def business_of(plan):
    return next(f for f in lay_out_fabrics(plan).fabrics if any(w.text == "business" for w in f.words))


def grow(plan, factor):
    """Return a plan with its racks and servers many times over, under new names."""
    racks = [replace(r, name=f"{r.name}{n:03d}") for n in range(factor) for r in plan.racks]
    servers = [replace(s, name=f"{s.name}{n:03d}", rack=f"{s.rack}{n:03d}") for n in range(factor) for s in plan.servers]
    power = [replace(p, rack=f"{p.rack}{n:03d}") for n in range(factor) for p in plan.power]
    return replace(plan, racks=tuple(racks), servers=tuple(servers), power=tuple(power))


@pytest.mark.parametrize("draw", [draw_racks, draw_fabrics])
def test_it_is_svg_with_a_title(plan, draw):
    root = ET.fromstring(draw(plan))
    assert root.tag == f"{SVG}svg"
    assert plan.name in root.get("aria-label")


def test_every_device_stands_in_its_rack(plan):
    text = draw_racks(plan)
    for device in (*plan.servers, *plan.switches):
        assert f"{device.name} · {device.model} · {device.rack} U{device.u}" in text


def test_devices_lie_inside_their_rack_and_apart(plan):
    for line in lay_out_racks(plan).lines:
        for rack in line.racks:
            boxes = sorted((box.y, box.y + box.height) for box in rack.boxes if box.name)
            assert all(top >= 0 and bottom <= rack.height for top, bottom in boxes)
            assert all(first[1] < second[0] for first, second in itertools.pairwise(boxes))


def test_racks_do_not_overlap(plan):
    drawing = lay_out_racks(plan)
    corners = [(rack.x, rack.y, rack.height) for line in drawing.lines for rack in line.racks]
    assert len(set(corners)) == len(plan.racks)
    for x, y, height in corners:
        assert 0 < x < drawing.width
        assert y + height < drawing.height


def test_too_many_racks_are_drawn_by_kind(plan):
    many = grow(plan, 1 + MAX_RACKS // len(plan.racks))
    drawing = lay_out_racks(many)
    assert "one rack of each of" in drawing.note
    assert sum(len(line.racks) for line in drawing.lines) <= 48
    assert len(draw_racks(many)) < 200_000


def test_switches_of_a_tier_do_not_overlap(plan):
    drawing = lay_out_fabrics(plan)
    for fabric in drawing.fabrics:
        rows = {}
        for box in fabric.boxes:
            if box.label:
                rows.setdefault(box.y, []).append((box.x, box.x + box.width))
        for boxes in rows.values():
            boxes.sort()
            assert all(first[1] < second[0] for first, second in itertools.pairwise(boxes))
            assert boxes[0][0] > 150
            assert boxes[-1][1] < drawing.width - 34


def test_links_drawn_are_links_cabled(plan):
    compute = next(f for f in lay_out_fabrics(plan).fabrics if any(w.text == "compute" for w in f.words))
    drawn = sum(path.data.count("M") for path in compute.paths if "mesh" in path.css)
    pairs = {(c.a, c.b) for c in plan.cables if c.network == "compute" and c.kind == "leaf_spine"}
    assert drawn == len(pairs)


def test_border_stands_beside_the_leafs_with_its_peers(driving):
    business = business_of(driving)
    rows = {box.y for box in business.boxes if box.label.startswith(("u0", "border-"))}
    borders = [box for box in business.boxes if box.label.startswith("border-")]
    assert len(rows) == 1
    assert [box.label for box in borders] == ["border-01", "border-02"]
    assert min(box.x for box in borders) > max(box.x + box.width for box in business.boxes if box.label.startswith("u0"))
    words = [words.text for words in business.words]
    assert "internet · AS 64496" in words
    assert "vehicles · AS 64511" in words
    dots = [box for box in business.boxes if " to internet 198.51.100." in box.title]
    assert sorted(box.title.split()[0] for box in dots) == ["business-border-01", "business-border-02"]


def test_many_external_peers_are_cut(driving):
    peers = tuple(replace(driving.border_peers[0], name=f"peer-{n:02d}") for n in range(9))
    words = [words.text for words in business_of(replace(driving, border_peers=peers)).words]
    assert "… 4 more …" in words
    assert sum(" · AS 64496" in text for text in words) == 5


def test_pairs_are_joined_by_their_peer_links(driving):
    """A line per cable between the boxes of a pair, which do not touch; Ethernet segments have none."""
    boxes = {box.title.partition(" ")[0]: box for box in business_of(driving).boxes if box.label}
    lines = "".join(path.data for path in business_of(driving).paths if "drop" in path.css)
    for unit in ("u01", "u02", "u03"):
        near, far = (boxes[f"business-leaf-{unit}-{index}"] for index in ("01", "02"))
        assert near.x + near.width < far.x
        assert (
            sum(part.startswith(f"{near.x + near.width:g} ") and part.endswith(f"H{far.x:g}") for part in lines.split("M")) == 2
        )
    switches = tuple(replace(s, ports=tuple(p for p in s.ports if p.use != "peer_link")) for s in driving.switches)
    lines = "".join(path.data for path in business_of(replace(driving, switches=switches)).paths)
    assert "H" not in lines


def test_bonds_join_two_ports(driving):
    business = business_of(driving)
    bonds = [box for box in business.boxes if "bond0: LACP over" in box.title]
    assert len(bonds) == 9  # three servers drawn in each of three units
    for bond in bonds:
        ends = [
            box.middle
            for box in business.boxes
            if box.title.startswith(f"{bond.title.split()[0]} enp") and abs(box.y - bond.y) < 5
        ]
        assert sorted(ends) == [bond.x, bond.x + bond.width]


def test_words_of_units_stay_in_their_boxes(driving):
    for fabric in lay_out_fabrics(driving).fabrics:
        units = [box for box in fabric.panels if box.css == "unit"]
        for words in fabric.words:
            if "mid" in words.css.split():
                for unit in units:
                    if unit.y < words.y < unit.y + unit.height and unit.x < words.x < unit.x + unit.width:
                        assert measure(words.text, 10) <= unit.width


def test_texts_are_cut_to_a_width():
    assert fit("business", 100, 10) == "business"
    assert fit("business", 25, 10) == "busi…"
    assert wrap(["25 train", "3 control", "8 storage"], 100, 10) == ["25 train, 3 control,", "8 storage"]
    assert wrap(["25 train"], 100, 10) == ["25 train"]


def test_sample_keeps_the_ends():
    assert sample(list(range(5)), 5) == ([0, 1, 2, 3, 4], 0)
    assert sample(list(range(9)), 4) == ([0, 1, 2, 8], 5)
    assert sample(list(range(9)), 1) == ([0], 8)
    for total in range(1, 12):
        for limit in range(1, 12):
            kept, left_out = sample(list(range(total)), limit)
            assert len(kept) + left_out == total


def test_nothing_that_xml_forbids_gets_into_a_drawing(driving):
    hostile = "\x1b[2J\x00\ufffe]]></svg>"
    peers = tuple(replace(peer, description=hostile) for peer in driving.border_peers)
    racks = tuple(replace(rack, reason=hostile, blocked=True) for rack in driving.racks)
    changed = replace(driving, border_peers=peers, racks=racks)
    for draw in (draw_racks, draw_fabrics, draw_tenants):
        assert "]]></svg>" in "".join(ET.fromstring(draw(changed)).itertext()) or draw is draw_fabrics
