"""A vendor is a folder: the page that says how is followed to the letter."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml

from cluster_model.catalogue.load import load_catalogue
from cluster_model.intent.model.cluster import Cluster
from cluster_model.paths import TEMPLATES
from cluster_model.plan.build import build_plan
from cluster_model.references import settle
from cluster_model.render.switch import SwitchTemplateError, has_templates, render_switches
from cluster_model.render.switch.context import Scene
from tests.unit.render.switch import factory

PAGE = (factory.ROOT / "docs" / "add-a-switch-vendor.md").read_text("utf-8")
BLOCKS = dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', PAGE, re.M | re.S))


@pytest.fixture
def templates(tmp_path: Path) -> Path:
    """Return a copy of templates/ with the page's vendor in it."""
    shutil.copytree(TEMPLATES / "switch", tmp_path / "templates" / "switch")
    for name, text in BLOCKS.items():
        if name.startswith("templates/"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, "utf-8")
    return tmp_path / "templates"


def _render(templates: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setattr("cluster_model.catalogue.load.TEMPLATES", templates)
    catalogue, _ = load_catalogue()
    data = yaml.safe_load((factory.ROOT / "inventory" / "lab" / "cluster.yml").read_text("utf-8"))
    data["networks"]["storage"]["nos"] = "toy"
    plan, findings = build_plan(Cluster.model_validate(data), catalogue)
    assert plan is not None, findings
    found = render_switches(plan, catalogue, templates / "switch")
    return {path: settle(text.encode())[0].decode() for path, text in found}


def test_the_page_makes_a_vendor(templates: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, beginning = next((name, text) for name, text in BLOCKS.items() if name.startswith("switches/"))
    text = _render(templates, monkeypatch)[path]
    assert text.startswith(beginning)
    assert "interface port1 mtu" in text
    assert re.search(r"^neighbor \S+ as 4\d{9}$", text, re.M)


def test_the_page_lists_what_templates_can_use() -> None:
    table = PAGE.partition("| name | what it is |")[2].partition("\n\n")[0]
    listed = {name for row in table.splitlines() if row.startswith("|") for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    plan = factory.plan("lab")
    assert listed == {*Scene(plan, factory.catalogue()).describe(plan.switches[0]), "file", "secret"}


@pytest.mark.parametrize(
    ("main", "line", "said"),
    [
        ('{% call file("a") %}\n{{ switch.nam }}\n{% endcall %}\n', 2, "nam"),  # codespell:ignore
        ('{% call file("a") %}\n{% for %}\n', 2, "TemplateSyntaxError"),
        ("stray\n", 1, "outside of a file block"),
        ('{% call file("../a") %}{% endcall %}\n', 1, "no path below"),
        ('{% call file("a") %}{% endcall %}\n{% call file("a") %}{% endcall %}\n', 2, "written twice"),
        ('{% call file("a") %}{{ secret("Root Password") }}{% endcall %}\n', 1, "no name of a secret"),
    ],
)
def test_a_broken_template_is_named_with_its_line(
    templates: Path, monkeypatch: pytest.MonkeyPatch, main: str, line: int, said: str
) -> None:
    (templates / "switch" / "toy" / "main.j2").write_text(main, "utf-8")
    with pytest.raises(SwitchTemplateError) as caught:
        _render(templates, monkeypatch)
    finding = caught.value.finding
    assert (finding.id, finding.file, finding.line) == ("RND001", "templates/switch/toy/main.j2", line)
    assert said in finding.actual


def test_an_os_without_main_is_left_out(templates: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (templates / "switch" / "toy" / "main.j2").unlink()
    assert not has_templates("toy", templates / "switch")
    paths = _render(templates, monkeypatch)
    assert not [path for path in paths if "storage" in path]
    assert [path for path in paths if "compute" in path]
