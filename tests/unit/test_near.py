"""What a person probably meant: names that are spoken alike come before names that are spelled alike."""

import re
from pathlib import Path

import pytest

from cluster_model.near import find_near, suggest

GPUS = [f"gpu-{number:03d}" for number in range(1, 129)]
RACKS = [f"{row}{place:02d}" for row in "ABN" for place in range(1, 21)]


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("gpu-01", GPUS, "gpu-001"),
        ("gpu-1", GPUS, "gpu-001"),
        ("gpu-0012", GPUS, "gpu-012"),
        ("gpu12", GPUS, "gpu-012"),
        ("GPU_100", GPUS, "gpu-100"),
        ("A1", RACKS, "A01"),
        ("b-12", RACKS, "B12"),
        ("leaf01", ["leaf-010", "leaf-01", "leaf-001"], "leaf-01"),
        ("compute-leaf-u1-3", ["compute-leaf-u01-03", "compute-leaf-u13-01"], "compute-leaf-u01-03"),
        ("computeleaf-u01-03", ["compute-leaf-u01-02", "compute-leaf-u01-03"], "compute-leaf-u01-03"),
        ("powerKw", ["power_w", "power_kw"], "power_kw"),
        ("gpu-0O1", ["gpu-001", "gpu-200"], "gpu-001"),
        ("hight_u", ["height_u", "feed_kw"], "height_u"),
        ("CONTROLZ", ["control", "gpu"], "control"),
    ],
)
def test_what_a_person_would_say(name, known, meant):
    assert find_near(name, known) == [meant]
    assert suggest(name, known) == f"did you mean {meant}?"


def test_what_is_far_is_not_offered():
    assert find_near("xyzzy", GPUS) == []
    assert suggest("xyzzy", GPUS, "name a server") == "name a server"
    assert find_near("--", ["__", "~"]) == []  # nothing of them is spoken
    assert find_near("²", GPUS) == []  # a digit to Python, and no number


def test_several_are_offered_the_likeliest_first():
    assert suggest("NET03", ["NET003", "NET004"], most=3) == "did you mean NET003?"
    assert suggest("leaf-x", ["leaf-a", "leaf-b", "spine"], most=2).count("leaf-") == 2


def test_every_question_comes_from_one_place():
    """A second way to find what was meant would offer something else for the same mistake."""
    house = Path(__file__).resolve().parents[2] / "cluster_model"
    for path in house.rglob("*.py"):
        if path.name != "near.py":
            assert not re.search(r"get_close_matches|SequenceMatcher", path.read_text("utf-8")), path
