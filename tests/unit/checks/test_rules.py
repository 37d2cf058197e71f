"""Every rule fires where it should and is silent beside it; every rule has a manual."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from small_plan import chain, make_catalogue, networks, small_design

from cluster_model.catalogue.platform_types import Features
from cluster_model.checks import RULES, check_plan
from cluster_model.checks.registry import SECTIONS, Rule
from cluster_model.intent.model.field_docs import read_field_docs
from cluster_model.paths import PACKAGE
from tests.each import check_each


def _join(*tables):
    """Join the tables of all modules; two may have rows of one rule."""
    joined = {}
    for table in tables:
        for id_, rows in table.items():
            assert not joined.get(id_, {}).keys() & rows.keys()
            joined[id_] = {**joined.get(id_, {}), **rows}
    return joined


MODULES = [import_module(path.stem) for path in sorted(Path(__file__).parent.glob("rows_*.py"))]
FIRES = _join(*(module.FIRES for module in MODULES))
SILENT = _join(*(module.SILENT for module in MODULES))
CHECKED = [id_ for id_, rule in RULES.items() if rule.stage == "checks"]
INFORMS = {"GRW002"}  # says something of every plan


def _find(id_, change):
    return list(RULES[id_]().find(change(small_design())))


@pytest.mark.parametrize(("id_", "label"), [(id_, label) for id_, rows in FIRES.items() for label in rows])
def test_rule_fires(id_, label):
    change, said = FIRES[id_][label]
    found = _find(id_, change)
    assert found, f"{id_} is silent about: {label}"
    assert said in found[0].summary
    for finding in found:
        assert finding.id == id_
        assert finding.severity == RULES[id_].severity
        assert finding.where
        assert finding.fix
        assert not finding.summary.endswith(".")
        assert len(finding.summary) < 160


def test_every_pool_inside_a_wide_one_is_found():
    change = chain(networks("storage", pool="10.64.8.0/24"), networks("oob", pool="10.64.9.0/24"))
    assert [finding.where for finding in _find("ADR002", change)] == ["networks.storage.pool", "networks.oob.pool"]


def test_of_a_default_route_told_the_line_that_is_too_much_is_named():
    """And never the tenants' own prefix beside it, without which nobody finds them."""
    rows = import_module("rows_site")
    for lines, named in (
        ((("0.0.0.0/0",), ("10.48.16.0/24",)), "0.0.0.0/0"),
        ((*rows.HALVES, ("10.48.16.0/24",)), "0.0.0.0/1, 128.0.0.0/1"),
    ):
        (found,) = _find("BRD015", rows._border(announce=rows._filters(*lines)))
        assert (found.actual, found.fix) == (named, f"take {named} away, and name the tenants' prefixes")
        assert ("in parts" in found.summary) is (named != "0.0.0.0/0")


@pytest.mark.parametrize(("id_", "label"), [(id_, label) for id_, rows in SILENT.items() for label in rows])
def test_rule_is_silent(id_, label):
    assert _find(id_, SILENT[id_][label]) == []


def test_small_plan_breaks_nothing():
    def check(id_):
        assert _find(id_, lambda design: design) == []

    check_each(check, [id_ for id_ in CHECKED if id_ not in INFORMS])


def test_every_rule_has_rows():
    def check(id_):
        assert FIRES.get(id_), f"add a firing row for {id_}"
        assert SILENT.get(id_) or id_ in INFORMS, f"add a silent row for {id_}"

    check_each(check, CHECKED)


def test_every_row_has_its_rule():
    assert {*FIRES, *SILENT} - set(CHECKED) == set()


def test_every_manual_is_whole():
    def check(id_):
        rule = RULES[id_]
        manual = rule.manual()
        assert tuple(manual.sections) == SECTIONS
        assert manual.law.endswith(".")
        assert all(len(text) > 15 for text in manual.sections.values())
        assert rule.title and not rule.title.endswith(".")
        assert rule.severity in {"error", "warning", "info"}

    check_each(check, RULES)


INFORMATIVE = {"gnmi"}


def test_every_feature_is_asked_for():
    """What a platform may lack is found before it is rendered; what nobody asks for says so in the matrix."""
    asked = {feature for rule in RULES.values() for feature in rule.asks}
    assert asked == set(Features.model_fields) - INFORMATIVE
    for name in INFORMATIVE:
        assert "For information" in read_field_docs(Features)[name]


@pytest.mark.parametrize(("id_", "feature"), [(id_, feature) for id_, rule in RULES.items() for feature in rule.asks])
def test_lacking_a_feature_fires_the_rule_that_asks(id_, feature):
    """Of the rows that fire, one has a platform without the feature, and with it less is found."""
    for change, _ in FIRES[id_].values():
        design = change(small_design())
        for nos, platform in list(design.catalogue.platforms.items()):
            if not platform.features.has(feature) or feature in platform.since:
                features = platform.features.model_copy(update={feature: True})
                given = platform.model_copy(update={"features": features, "since": {}})
                shelf = {**dict(design.catalogue.platforms.items()), nos: given}
                catalogue = make_catalogue(**{name: value.model_dump() for name, value in shelf.items()})
                before, after = (list(RULES[id_]().find(each)) for each in (design, replace(design, catalogue=catalogue)))
                if before and before != after:
                    return
    pytest.fail(f"no firing row of {id_} lacks {feature}")


def test_rules_are_sorted_and_planner_rules_find_nothing():
    assert list(RULES) == sorted(RULES)
    for rule in RULES.values():
        if rule.stage == "plan":
            assert rule.find is Rule.find


def test_second_rule_with_an_id_is_refused():
    with pytest.raises(TypeError, match="NET003 is already SwitchMtu"):
        type("Again", (Rule,), {"id": "NET003"})
    with pytest.raises(TypeError, match="three letters and three digits"):
        type("Nameless", (Rule,), {})


def test_check_plan_sorts_errors_first():
    design = small_design()
    found = check_plan(design.plan, design.cluster, design.catalogue)
    assert [finding.id for finding in found] == ["GRW002"]


def test_how_to_add_a_rule_works_when_followed(monkeypatch):
    text = (PACKAGE.parent / "docs" / "add-a-rule.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    rules = dict(RULES)
    try:
        space: dict[str, object] = {}
        exec(blocks[0], space)
        rule = next(rule for id_, rule in RULES.items() if id_ not in rules)
        assert tuple(rule.manual().sections) == SECTIONS
        exec(blocks[1], space)
        change, said = space["FIRES"][rule.id]["one resolver"]
        assert said in next(rule().find(change(small_design()))).summary
        assert list(rule().find(space["SILENT"][rule.id]["two resolvers"](small_design()))) == []
    finally:
        for id_ in RULES.keys() - rules.keys():
            del RULES[id_]
