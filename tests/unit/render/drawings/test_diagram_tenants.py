"""The drawing of tenants: every meeting of the plan, nothing else, and bounded however many there are."""

import itertools
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace

import pytest

from cluster_model.plan.model.overlay import Filter, Meeting
from cluster_model.render.drawings.diagrams import draw_tenants, render_diagrams
from cluster_model.render.drawings.shapes import measure
from cluster_model.render.drawings.tenants import MAX_BRACKETS, MAX_ROWS, lay_out_tenants


def multiply(plan, count):
    """Return a plan with `count` tenants like the first, each meeting the shared tenant and the internet."""
    first = plan.tenants[0]
    shared = next(tenant for tenant in plan.tenants if tenant.shared)
    made = [replace(first, name=f"team-{n:03d}", vrf=f"team-{n:03d}", id=100 + n) for n in range(count)]
    meetings = [
        Meeting(kind, provider, tenant.vrf, (), (Filter("10.48.1.0/24"),))
        for tenant in made
        for kind, provider in (("shared", shared.vrf), ("egress", "internet"))
    ]
    return replace(plan, tenants=(*made, shared), meetings=tuple(meetings))


def texts(drawing):
    return [words.text for words in drawing.words]


def test_every_meeting_is_drawn_once(driving):
    drawing = lay_out_tenants(driving)
    kinds = Counter(meeting.kind for meeting in driving.meetings)
    assert len(drawing.dots) == kinds["shared"] + kinds["egress"]
    assert sum("bracket" in path.css for path in drawing.paths) == kinds["peering"]
    assert len(drawing.dots) > 5
    titles = [dot.title for dot in drawing.dots]
    assert "perception and peer internet: takes the default route, NAT 203.0.113.0/29" in titles
    assert "intake and peer vehicles: takes 10.200.0.0/14 up to /24, shows 10.48.16.0/24" in titles
    assert "inference and services: takes 10.48.0.0/24, shows 10.48.3.0/24" in titles


def test_without_meetings_nothing_is_joined(driving):
    drawing = lay_out_tenants(replace(driving, meetings=()))
    assert drawing.dots == ()
    assert all("rail" in path.css for path in drawing.paths)


def test_dots_lie_on_the_rail_of_their_provider_and_the_row_of_their_tenant(driving):
    drawing = lay_out_tenants(driving)
    rows = {words.text: words.y for words in drawing.words if "b" in words.css.split() and words.x < 300}
    heads = {words.text: words.x for words in drawing.words if "b" in words.css.split() and words.x > 300}
    for dot in drawing.dots:
        tenant, _, provider = dot.title.partition(":")[0].partition(" and ")
        assert abs(dot.y - rows[tenant]) < 4
        assert 0 < dot.x - heads[provider.removeprefix("peer ")] < 30


def test_internal_subnets_are_marked_and_never_shown(driving):
    drawing = lay_out_tenants(driving)
    internal = [subnet.prefix for tenant in driving.tenants for subnet in tenant.subnets if not subnet.visible]
    assert texts(drawing).count("internal") == len(internal) == 3
    assert texts(drawing).count("192.168.0.0/20") == 3
    assert not any(prefix in dot.title for prefix in internal for dot in drawing.dots)


def test_a_shared_tenant_that_asks_for_something_has_a_row_too(driving):
    meeting = Meeting("egress", "internet", "services", (Filter("0.0.0.0/0"),), ())
    drawing = lay_out_tenants(replace(driving, meetings=(*driving.meetings, meeting)))
    assert "services and peer internet: takes the default route, shows nothing" in [dot.title for dot in drawing.dots]
    assert texts(drawing).count("services") == 2
    assert texts(lay_out_tenants(driving)).count("services") == 1


def test_a_vrf_may_be_called_like_a_border_peer(driving):
    """A tenant and a peer of one name keep their own dots: which of them is meant follows from the kind of meeting."""
    tenants = tuple(replace(t, vrf="internet") if t.name == "perception" else t for t in driving.tenants)
    meetings = tuple(replace(m, consumer="internet") if m.consumer == "perception" else m for m in driving.meetings)
    meetings = tuple(replace(m, provider="internet") if m.provider == "perception" else m for m in meetings)
    drawing = lay_out_tenants(replace(driving, tenants=tenants, meetings=meetings))
    assert [dot.title for dot in drawing.dots] == [dot.title for dot in lay_out_tenants(driving).dots]


@pytest.mark.parametrize("count", [3, MAX_ROWS, MAX_ROWS + 20])
def test_rows_do_not_overlap_and_are_cut(driving, count):
    plan = multiply(driving, count)
    drawing = lay_out_tenants(plan)
    rows = sorted((box.y, box.y + box.height) for box in drawing.boxes if box.css == "server" and box.x < 200)
    assert len(rows) == min(count, MAX_ROWS)
    assert all(first[1] < second[0] for first, second in itertools.pairwise(rows))
    assert rows[-1][1] < drawing.height
    assert ("… 20 more tenants …" in texts(drawing)) == (count > MAX_ROWS)
    assert len(drawing.dots) == 2 * len(rows)


def test_everything_lies_inside_the_drawing(driving):
    many = tuple(replace(driving.border_peers[0], name=f"peer-{n}", vrf=f"peer-{n}") for n in range(9))
    for plan in (driving, multiply(driving, 40), replace(driving, border_peers=many, meetings=())):
        drawing = lay_out_tenants(plan)
        for box in (*drawing.boxes, *drawing.panels):
            assert box.x > 0
            assert box.x + box.width <= drawing.width - 30
            assert box.y + box.height <= drawing.height
        for words in drawing.words:
            assert words.x > 30
            if not {"mid", "end"} & set(words.css.split()):
                assert words.x + measure(words.text, 10) < drawing.width - 30, words


def test_providers_beyond_the_room_are_counted(driving):
    many = tuple(replace(driving.border_peers[0], name=f"peer-{n}", vrf=f"peer-{n}") for n in range(9))
    drawing = lay_out_tenants(replace(driving, border_peers=many, meetings=()))
    assert "Beyond the border, and 5 more" in texts(drawing)
    shared = next(tenant for tenant in driving.tenants if tenant.shared)
    others = tuple(replace(shared, name=f"shared-{n}", vrf=f"shared-{n}") for n in range(7))
    drawing = lay_out_tenants(replace(driving, tenants=others, meetings=()))
    assert "Shared, and 2 more" in texts(drawing)


def test_brackets_of_peerings_never_touch(driving):
    plan = multiply(driving, 12)
    vrfs = [tenant.vrf for tenant in plan.tenants[:12]]
    pairs = list(itertools.combinations(vrfs, 2))
    drawing = lay_out_tenants(replace(plan, meetings=tuple(Meeting("peering", a, b, (), ()) for a, b in pairs)))
    spans = {}
    for path in drawing.paths:
        if "bracket" in path.css:
            out, _, rest = path.data.partition("H")[2].partition("V")
            top = float(path.data.removeprefix("M").split("H")[0].split()[1])
            spans.setdefault(float(out), []).append((top, float(rest.partition("H")[0])))
    assert 1 < len(spans) <= MAX_BRACKETS
    for held in spans.values():
        held.sort()
        assert all(first[1] < second[0] for first, second in itertools.pairwise(held))
    left_out = len(pairs) - sum(map(len, spans.values()))
    assert f"{left_out} peerings more not drawn" in texts(drawing)


def test_it_is_svg_with_a_title_and_only_where_there_are_tenants(driving, read_plan):
    root = ET.fromstring(draw_tenants(driving))
    assert root.get("aria-label") == "driving: tenants"
    assert "diagrams/tenants.svg" in dict(render_diagrams(driving))
    assert "diagrams/tenants.svg" not in dict(render_diagrams(read_plan("lab")))


def test_names_are_escaped(driving):
    peers = (replace(driving.border_peers[0], description="<script> & more"), *driving.border_peers[1:])
    text = draw_tenants(replace(driving, border_peers=peers))
    assert "<script>" not in text
    ET.fromstring(text)
