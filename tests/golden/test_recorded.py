"""`make record` is complete: it runs every test that writes, and nothing is recorded without its source."""

import re

import pytest

from tests import recorded
from tests.recorded import ROOT

TESTS = ROOT / "tests"
OURS = re.compile(r"\.py$|\.pyc$|^seeded_mistakes\.yml$")


def list_files(folder):
    return {path for path in folder.rglob("*") if path.is_file() and not OURS.search(path.name)}


def list_wanted():
    """Return each file that is written for a source in git: an example, a dialect's cluster, a case."""
    examples = [path.parent.name for path in ROOT.glob("inventory/*/cluster.yml")]
    clusters = set(TESTS.glob("golden/switches/*/cluster.yml"))
    cases = set(TESTS.glob("errors/*/*.yml"))
    wanted = {TESTS / "golden" / file for name in examples for file in (f"plan_summary/{name}.json", f"rendered/{name}.sha256")}
    for cluster in clusters:  # test_rendered.py holds each file of these to what is rendered
        wanted |= list_files(cluster.parent)
    wanted |= {case.with_suffix(".txt") for case in cases if case.parent.name != "bases"}
    return wanted | clusters | cases


def test_nothing_is_recorded_without_its_source():
    kept = list_files(TESTS / "golden") | list_files(TESTS / "errors")
    recorded.check_all({}, kept - list_wanted())


def test_every_test_that_writes_is_run_by_make_record():
    makefile = (ROOT / "Makefile").read_text("utf-8").replace("\\\n", " ")
    named = re.search(r"^RECORD := (.*)$", makefile, re.MULTILINE)[1].split()
    run = {file for name in named for file in ((ROOT / name).rglob("test_*.py") if (ROOT / name).is_dir() else [ROOT / name])}
    writing = {file for file in TESTS.rglob("test_*.py") if re.search(r"\brecorded\.check", file.read_text("utf-8"))}
    assert writing == run


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Return a recorded file, which no test compares yet."""
    monkeypatch.setattr(recorded, "RECORDING", False)
    file = tmp_path / "leaf" / "frr.conf"
    file.parent.mkdir()
    file.write_text("mtu 9000\n")
    return file


def test_what_differs_is_told_in_few_lines(kept):
    recorded.check(kept, "mtu 9000\n")
    with pytest.raises(
        pytest.fail.Exception, match=r"^differs from what is recorded: run `make record`, read its diff\n"
    ) as told:
        recorded.check(kept, "mtu 9100\n" + "route\n" * 1000)
    assert "\n-mtu 9000\n+mtu 9100\n" in str(told.value)
    assert len(str(told.value).splitlines()) < 50
    with pytest.raises(pytest.fail.Exception, match="conf: recorded, and nothing writes it\n"):
        recorded.check_all({}, [kept])
    with pytest.raises(pytest.fail.Exception, match="new: written, and not recorded\n"):
        recorded.check(kept.with_name("new"), "")


def test_what_differs_is_written_and_nothing_else(kept, monkeypatch):
    monkeypatch.setattr(recorded, "RECORDING", True)
    before = kept.stat()
    recorded.check(kept, "mtu 9000\n")
    assert kept.stat() == before
    kept.chmod(0o640)
    recorded.check(kept, "mtu 9100\r\n")
    recorded.check(kept.parents[1] / "spine" / "frr.conf", "")
    assert kept.read_bytes() == b"mtu 9100\r\n" and kept.stat().st_mode & 0o777 == 0o640
    assert list(kept.parent.iterdir()) == [kept]
    recorded.check_all({}, [kept])
    assert list(kept.parents[1].iterdir()) == [kept.parents[1] / "spine"]
