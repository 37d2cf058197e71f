"""The bill of what is planned: beside the bill of what is built, where more is planned, and nowhere else."""

import csv
import io
import zipfile

import pytest

from cluster_model import pipeline
from cluster_model.plan import growth
from cluster_model.plan.growth import plan_grown
from tests.planned import open_example

BILL = "cabling/bom-planned.csv"


@pytest.fixture(scope="module")
def driving():
    return pipeline.render(open_example("driving"), {"cabling", "page", "diagrams"})


def read(files, path):
    return list(csv.DictReader(io.StringIO(files[path].decode())))


def test_it_leads_from_the_bill_of_today_to_that_of_the_end(driving):
    opened = open_example("driving")
    count = {(row["kind"], row["item"], row["length_m"]): int(row["count"]) for row in read(driving, "cabling/bom.csv")}
    for row in read(driving, BILL):
        key = row["kind"], row["item"], row["length_m"]
        assert count.get(key, 0) == int(row["built"])
        count[key] = int(row["built"]) + int(row["to_buy"]) - int(row["freed"])
        assert count[key] == int(row["planned"])
    grown = plan_grown(opened.cluster, opened.catalogue, opened.loaded.facts)
    assert count == {(line.kind, line.item, f"{line.length_m:g}"): line.count for line in grown.bom}
    assert list(read(driving, BILL)[0].values()) == ["server", "nvidia/dgx-h100", "0", "16", "32", "16", "0"]


def test_the_workbook_and_the_page_have_it_too(driving):
    pytest.importorskip("xlsxwriter")
    with zipfile.ZipFile(io.BytesIO(driving["cabling/cables.xlsx"])) as book:
        assert b'name="bom-planned"' in book.read("xl/workbook.xml")
    page = driving["index.html"].decode()
    assert "To buy for what is planned" in page
    assert "dashed: planned, not built yet" in page
    assert "dashed: planned, not built yet" in driving["diagrams/racks.svg"].decode()


def test_where_nothing_more_is_planned_nothing_is_said_of_it():
    files = pipeline.render(open_example("lab"), {"cabling", "page", "diagrams"})
    assert BILL not in files
    for path in ("index.html", "diagrams/racks.svg"):
        assert "dashed:" not in files[path].decode() and "To buy" not in files[path].decode()


@pytest.mark.parametrize(
    ("name", "only", "times"),
    [("lab", None, 0), ("driving", {"switches", "plan"}, 0), ("driving", {"cabling"}, 1), ("driving", {"page", "diagrams"}, 1)],
)
def test_nobody_plans_again_what_nobody_shows(monkeypatch, name, only, times):
    calls = []
    plan = growth.build_plan
    monkeypatch.setattr(growth, "build_plan", lambda *given: calls.append(given) or plan(*given))
    pipeline.render(open_example(name), only)
    assert len(calls) == times
