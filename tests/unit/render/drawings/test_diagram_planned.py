"""What is planned and not built yet, in the drawing of the racks: every device once, marked by more than a colour."""

import itertools
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from cluster_model.plan.growth import plan_grown
from cluster_model.render.drawings.diagrams import draw_racks
from cluster_model.render.drawings.racks import MAX_RACKS, lay_out_racks
from cluster_model.render.drawings.shapes import measure
from tests.planned import open_example

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def pair():
    """Return the plan of driving, four of whose racks are not built yet, and its grown plan."""
    opened = open_example("driving")
    return opened.plan, plan_grown(opened.cluster, opened.catalogue, opened.loaded.facts)


def elevations(plan, grown=None):
    return [rack for line in lay_out_racks(plan, grown).lines for rack in line.racks]


def ghosts_of(text):
    """Return the titles of the boxes drawn as planned."""
    return {
        rect.findtext(f"{SVG}title")
        for rect in ET.fromstring(text).iter(f"{SVG}rect")
        if "ghost" in rect.get("class", "").split() and rect.find(f"{SVG}title") is not None
    }


def test_every_device_that_is_not_built_is_a_ghost_in_its_place_and_no_other(pair):
    plan, grown = pair
    built = {device.name for device in (*plan.servers, *plan.switches)}
    wanted = {d.name: f"{d.rack} U{d.u}" for d in (*grown.servers, *grown.switches) if d.name not in built}
    titles = {title for title in ghosts_of(draw_racks(plan, grown)) if "feed" not in title}
    assert {title.split(" · ")[0]: title.split(" · ")[2].partition("-")[0] for title in titles} == wanted
    assert all(title.endswith(" · planned, not built yet") for title in titles)
    assert len(wanted) == 22


def test_racks_without_anything_built_are_outlines_that_say_so(pair):
    plan, grown = pair
    racks = {rack.name: rack for rack in elevations(plan, grown)}
    assert list(racks) == [rack.name for rack in grown.racks]
    outlines = {name for name, rack in racks.items() if rack.is_planned}
    assert outlines == {rack.name for rack in grown.racks} - {rack.name for rack in plan.racks} == {"A05", "A06", "A07", "A08"}
    assert {racks[name].note for name in outlines} == {"planned"}
    assert all(box.is_planned for name in outlines for box in racks[name].boxes)
    assert racks["A05"].load.startswith("0.0 → 4") and "→" not in racks["A01"].load
    assert draw_racks(plan, grown).count('<rect class="outline"') == 4
    assert lay_out_racks(plan, grown).lines[0].note == "4 racks, 4 planned · gpu"


def test_the_legend_says_what_a_dashed_outline_is(pair):
    plan, grown = pair
    drawing = lay_out_racks(plan, grown)
    assert drawing.planned.startswith("dashed: planned, not built yet: 22 devices and 4 more racks, 399.3 kW at most in all")
    assert 51 + measure(drawing.planned, 11) < drawing.width
    text = draw_racks(plan, grown)
    assert drawing.planned in text
    for rule in ("ghost", "outline"):
        assert re.search(rf"\.{rule}\{{[^}}]*stroke-dasharray", text)  # also in print, and for who tells no colours apart
    assert "prefers-color-scheme:dark){.ghost{" in text


def test_letters_of_a_ghost_are_dark_on_light_and_light_on_dark(pair):
    plan, grown = pair
    root = ET.fromstring(draw_racks(plan, grown))
    css = {text.text: text.get("class").split() for text in root.iter(f"{SVG}text")}
    assert "ink" in css["train-017"] and "white" in css["train-016"]


def test_ghosts_and_devices_lie_apart_in_their_rack(pair):
    for rack in elevations(*pair):
        boxes = sorted((box.y, box.y + box.height) for box in rack.boxes if box.name)
        assert all(top >= 0 and bottom <= rack.height for top, bottom in boxes)
        assert all(first[1] < second[0] for first, second in itertools.pairwise(boxes))


def test_words_below_and_above_a_rack_stay_out_of_the_next(pair):
    for rack in elevations(*pair):
        assert measure(rack.load, 10) < 104 + 10
        assert measure(rack.name, 11, is_bold=True) + measure(rack.note, 11) < 104


def test_what_a_rack_will_draw_more_lies_behind_what_it_draws(pair):
    for rack in elevations(*pair):
        assert 0 <= rack.load_width + rack.planned_width <= 104.1
        assert (rack.planned_width > 0) == ("→" in rack.load)


def test_without_more_planned_the_drawing_is_what_it_was(pair):
    plan, _ = pair
    text = draw_racks(plan)
    assert not re.search("ghost|outline|dashed|planned|→", text)


def test_racks_of_a_kind_are_built_alike(pair):
    plan, grown = pair
    factor = 1 + MAX_RACKS // len(grown.racks)

    def multiply(one):
        racks = [replace(r, name=f"{r.name}{n:03d}") for n in range(factor) for r in one.racks]
        servers = [replace(s, name=f"{s.name}{n:03d}", rack=f"{s.rack}{n:03d}") for n in range(factor) for s in one.servers]
        power = [replace(p, rack=f"{p.rack}{n:03d}") for n in range(factor) for p in one.power]
        return replace(one, racks=tuple(racks), servers=tuple(servers), power=tuple(power))

    drawing = lay_out_racks(multiply(plan), multiply(grown))
    racks = [rack for line in drawing.lines for rack in line.racks]
    assert "one rack of each of" in drawing.note
    train = [rack for rack in racks if any(box.name.startswith("train") for box in rack.boxes)]
    assert sorted({rack.is_planned for rack in train}) == [False, True]
    for rack in train:
        assert {box.is_planned for box in rack.boxes if box.name} == {rack.is_planned}
