"""The drawing of Ceph: fills as planned, marks that can be read, failure domains and pools, and bounded."""

import itertools
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from cluster_model.plan.model.ceph import CephCluster, OsdHost, find_fill
from cluster_model.plan.services.waterline import fill_domains
from cluster_model.render.drawings.diagrams import draw_storage, render_diagrams
from cluster_model.render.drawings.shapes import measure
from cluster_model.render.drawings.storage import (
    BAR_H,
    MAX_DOMAINS,
    MAX_HOSTS,
    MAX_POOLS,
    ROW_H,
    SAID_X,
    SCALE_W,
    SCALE_X,
    lay_out_storage,
)
from cluster_model.render.page.index import render_page

EXAMPLES = ("driving", "lab", "superpod-h100", "superpod-roce")


def read_scales(drawing):
    """Return the bars by what they are of: {name: [(colour, from, to)]}, as parts of the whole."""
    scales = {}
    for box in drawing.boxes:
        if box.height == BAR_H and ": " in box.title and "what is raw" not in box.title:
            begin = (box.x - SCALE_X) / SCALE_W
            name = box.title.partition(":")[0]
            scales.setdefault(name, []).append((box.css, round(begin, 6), round(begin + box.width / SCALE_W, 6)))
    return scales


def list_texts(drawing):
    return [words.text for words in drawing.words]


def change(plan, **parts):
    """Return the plan with parts of its class of drives exchanged."""
    tier = replace(plan.ceph.tiers[0], **parts)
    return replace(plan, ceph=replace(plan.ceph, hosts=tier.hosts, failure_domain=tier.failure_domain, tiers=(tier,)))


@pytest.mark.parametrize("name", EXAMPLES)
def test_scales_are_what_is_planned(read_plan, name):
    tier = read_plan(name).ceph.tiers[0]
    scales = read_scales(lay_out_storage(read_plan(name)))
    nearfull, full = round(find_fill(0.85, tier.fullest), 6), round(tier.full_at, 6)
    assert scales.pop("all hosts there") == [("ok", 0, nearfull), ("warn", nearfull, full), ("bad", full, 1)]
    for loss in tier.losses:
        most, stops = round(loss.most_fill, 6), round(loss.stops_at, 6)
        kept = [("ok", 0, most), ("warn", most, stops), ("bad", stops, 1)]
        assert scales.pop(f"{loss.kind} {loss.name} lost") == (kept if loss.rebuilt else [("blocked", 0, 1)])
    assert not scales


def test_what_a_loss_comes_to_is_said(driving):
    said = " ".join(list_texts(lay_out_storage(driving)))
    assert "rebuilt by itself, in 1.5 hours at the least (drives)" in said
    assert "datasets, intake and 2 more wait for it" in said
    host = driving.ceph.tiers[0].losses[0]
    drawing = lay_out_storage(change(driving, losses=(replace(host, gone=("files",), rebuilt=(), begins=""),)))
    assert read_scales(drawing)[f"host {host.name} lost"] == [("bad", 0, 1)]
    assert "objects of files are lost" in list_texts(drawing)
    drawing = lay_out_storage(change(driving, losses=(replace(host, rebuilt=("intake",), hours=0.02),)))
    assert "intake: rebuilt by itself, in 1.2 minutes at the least (drives)" in " ".join(list_texts(drawing))


def test_words_beside_a_scale_have_room(driving):
    """At the worst, with long names: three lines, which is what a row has."""
    names = tuple(f"{letter}-pool-with-a-name-of-many-letters" for letter in "abcdefgh")
    loss = replace(
        driving.ceph.tiers[0].losses[0], gone=names[:3], stopped=names[3:], rebuilt=names[2:], begins="word", hours=1234.5
    )
    drawing = lay_out_storage(change(driving, losses=(loss,)))
    beside = [words for words in drawing.words if words.x == SAID_X]
    said = [words.text for words in beside[1:]]
    assert len(said) == 3 and said[-1].endswith("wait for it")
    assert beside[2].y - beside[1].y == 14 <= ROW_H / 3


@pytest.mark.parametrize(
    ("expand_at", "fill_target"), [(0, 0), (0.5, 0.55), (0.6, 0.62), (0.62, 0.61), (0.05, 0.95), (0.84, 0.86), (0.5, 0)]
)
def test_marks_can_be_read(driving, expand_at, fill_target):
    """Each at its fill; no words lie on other words, or on the line of another mark."""
    plan = change(driving, expand_at=expand_at, fill_target=fill_target)
    drawing = lay_out_storage(plan)
    lines = [box for box in drawing.boxes if box.css == "ink"]
    assert sorted(round((box.x + (box.width == 2) - SCALE_X) / SCALE_W, 6) for box in lines) == sorted(
        round(fill, 6) for fill in plan.ceph.tiers[0].marks.values()
    )
    labels = [words for words in drawing.words if words.text in {box.title for box in lines}]
    assert len(labels) == len(lines) == 2 + bool(expand_at) + bool(fill_target)
    spans = [(words.y, words.x - measure(words.text, 11, is_bold=True), words.x) for words in labels]
    for (y, begin, end), (other, start, stop) in itertools.combinations(spans, 2):
        assert y != other or end < start or stop < begin
    for y, begin, end in spans:
        assert not [box for box in lines if begin <= box.x <= end and box.y - 2 <= y <= box.y + box.height]
        assert min(box.y for box in drawing.boxes if box.height == BAR_H) > y


@pytest.mark.parametrize("name", EXAMPLES)
def test_failure_domains_are_filled_as_at_the_waterline(read_plan, name):
    ceph = read_plan(name).ceph.tiers[0]
    fills = fill_domains(ceph)
    assert max(fills.values()) == pytest.approx(ceph.fullest_domain)
    drawing = lay_out_storage(read_plan(name))
    filled = {box.title.partition(":")[0]: box for box in drawing.boxes if box.css == "k-sto"}
    assert set(filled) == {host.domain for host in ceph.hosts}
    for domain, box in filled.items():
        hosts = [each for each in drawing.boxes if each.css == "server" and each.title == box.title]
        assert len(hosts) == sum(host.domain == domain for host in ceph.hosts)
        assert box.height / sum(host.height for host in hosts) == pytest.approx(fills[domain] * ceph.waterline)
        assert f"{fills[domain] * ceph.waterline:.0%} full at the waterline" in box.title
        assert box.y + box.height == pytest.approx(max(host.y + host.height for host in hosts))


def test_pools_take_what_they_take_of_the_raw_capacity(driving):
    drawing = lay_out_storage(driving)
    pools = {box.title: box for box in drawing.boxes if "what is raw" in box.title}
    parts = {"datasets": 35, "intake": 18, "files": 35, "pods": 12}
    assert list(pools) == [f"{name}: {part}% of what is raw" for name, part in parts.items()]
    bars = list(pools.values())
    assert all(first.x + first.width == pytest.approx(second.x) for first, second in itertools.pairwise(bars))
    assert bars[1].width == pytest.approx(bars[0].width / 2)
    assert {"erasure code 4+2", "3 copies", "216.3 TB"} <= set(list_texts(drawing))


def make_hosts(count, each):
    """Return hosts, so many in a rack."""
    return tuple(OsdHost(f"storage-{n:04d}", f"N{n // each:04d}", f"N{n // each:04d}", "N", 24, 15.36, 400) for n in range(count))


@pytest.mark.parametrize(("count", "each"), [(1, 1), (40, 1), (41, 1), (1000, 8), (300, MAX_HOSTS + 1)])
def test_many_failure_domains_and_pools_stay_inside_the_drawing(read_plan, count, each):
    plan = read_plan("superpod-roce")
    pools = tuple(replace(plan.ceph.pools[0], name=f"pool-{n}-of-a-long-name-that-somebody-gave", share=0.05) for n in range(20))
    plan = change(plan, hosts=make_hosts(count, each), pools=pools, failure_domain="rack")
    drawing = lay_out_storage(plan)
    racks = -(-count // each)
    assert sum(box.css == "k-sto" for box in drawing.boxes) == min(racks, MAX_DOMAINS)
    assert (f"… {racks - MAX_DOMAINS:,} more" in list_texts(drawing)) == (racks > MAX_DOMAINS)
    assert f"… {20 - MAX_POOLS} more pools …" in list_texts(drawing)
    assert len(drawing.boxes) < 60 + min(racks, MAX_DOMAINS) * (1 + each if each <= MAX_HOSTS else 2)
    for box in (*drawing.boxes, *drawing.panels):
        assert box.x > 30
        assert box.x + box.width <= drawing.width - 30
        assert box.y > 0
        assert box.y + box.height <= drawing.height
    for words in drawing.words:
        half = {"mid": 0.5, "end": 0}.get(next(iter({"mid", "end"} & set(words.css.split())), ""), 1)
        assert words.x - (1 - half) * measure(words.text, 10) > 30
        assert words.x + half * measure(words.text, 10) < drawing.width - 30, words


def test_without_pools_only_what_is_there_is_drawn(driving):
    plan = change(driving, pools=(), losses=(), fullest=0.0, fullest_domain=0.0)
    drawing = lay_out_storage(plan)
    assert not read_scales(drawing)
    assert "Where it lies: 8 hosts" in list_texts(drawing)
    assert not [text for text in list_texts(drawing) if "full" in text]


def test_it_is_svg_on_the_page_too_and_only_where_there_is_ceph(driving):
    assert ET.fromstring(draw_storage(driving)).get("aria-label") == "driving: Ceph"
    assert "diagrams/storage.svg" in dict(render_diagrams(driving))
    page = render_page(driving).decode()
    assert draw_storage(driving) in page
    assert '<a href="#storage">Storage</a>' in page
    assert "<dd>721 TB <span>in Ceph</span></dd><dt>up to a fill of 0.623, of 2,949 TB raw</dt>" in page
    without = replace(driving, ceph=CephCluster())
    assert "diagrams/storage.svg" not in dict(render_diagrams(without))
    assert 'id="storage"' not in render_page(without).decode()


def test_names_are_escaped(driving):
    first, *others = driving.ceph.tiers[0].pools
    pools = (replace(first, name="<script>"), *others)
    text = draw_storage(change(driving, pools=pools))
    assert "<script>" not in text
    ET.fromstring(text)
