"""A vendor is a folder: the page that says how is followed to the letter."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import get_args

import pytest
import yaml

from cluster_model.catalogue.load import Catalogue, load_catalogue
from cluster_model.catalogue.platform_types import Reader
from cluster_model.intent.model.cluster import Cluster
from cluster_model.paths import TEMPLATES
from cluster_model.plan.build import build_plan
from cluster_model.plan.model import Plan
from cluster_model.references import settle
from cluster_model.render.boot.files import render_boot
from cluster_model.render.switch import SwitchTemplateError, has_templates, render_switches
from cluster_model.render.switch.context import describe_switch
from cluster_model.render.switch.scene import Scene
from cluster_model.transport.double import DoubleOpener
from cluster_model.transport.session import Login
from cluster_model.verify.read.collect import SUBNET_READER, observe
from cluster_model.verify.read.device import HOST, READERS
from tests.unit.render.switch import factory
from tests.unit.verify.answers import LINUX

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


def _plan(templates: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Plan, Catalogue]:
    monkeypatch.setattr("cluster_model.catalogue.load.TEMPLATES", templates)
    catalogue, _ = load_catalogue()
    data = yaml.safe_load((factory.ROOT / "inventory" / "lab" / "cluster.yml").read_text("utf-8"))
    data["networks"]["storage"]["nos"] = "toy"
    plan, findings = build_plan(Cluster.model_validate(data), catalogue)
    assert plan is not None, findings
    return plan, catalogue


def _render(templates: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    plan, catalogue = _plan(templates, monkeypatch)
    found = render_switches(plan, catalogue, templates / "switch")
    return {path: settle(text.encode())[0].decode() for path, text in found}


def test_the_page_makes_a_vendor(templates: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, beginning = next((name, text) for name, text in BLOCKS.items() if name.startswith("switches/"))
    text = _render(templates, monkeypatch)[path]
    assert text.startswith(beginning)
    assert "interface port1 mtu" in text
    assert re.search(r"^neighbor \S+ as 4\d{9}$", text, re.M)


def test_the_vendor_provisions_itself_and_is_read(templates: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same two files lead from DHCP's option over the boot server's script to a session, and to what verify finds."""
    plan, catalogue = _plan(templates, monkeypatch)
    monkeypatch.setattr("cluster_model.render.boot.shared.TEMPLATES", templates)
    shutil.copytree(TEMPLATES / "boot", templates / "boot")
    boot = {path: settle(content)[0].decode() for path, content in render_boot(plan, catalogue)}
    server = plan.provisioning.boot_server
    assert server is not None
    classes = {item["name"]: item for item in json.loads(boot["boot/kea/kea-dhcp4.conf"])["Dhcp4"]["client-classes"]}
    (option,) = classes["ztp-toy"]["option-data"]
    assert (option["name"], option["data"]) == ("provisioning-script-url", f"http://{server.address}/v1/ztp/toy.sh")
    assert f"http://{server.address}/v1/ztp/startup.cfg" in boot["boot/ztp/toy.sh"]
    assert json.loads(boot["boot/boot.json"])["switches"]["storage-spine-01"]["nos"] == "toy"
    name, logins = "storage-spine-01", {False: Login(), True: Login()}
    opener = DoubleOpener({name: {**LINUX, "hostname": f"{name}\n"}})
    observed = observe(plan, [name], logins, open_switch=opener, platforms=catalogue.platforms)
    assert observed.reached(name) and observed.devices[name].ports["swp1"].speed_gbps == 400


def test_a_vendor_without_a_reader_is_refused_by_name(templates: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = templates / "switch" / "toy" / "platform.yml"
    file.write_text(file.read_text().replace("reader: linux\n", ""))
    plan, catalogue = _plan(templates, monkeypatch)
    opener = DoubleOpener({"storage-spine-01": {**LINUX, "hostname": "storage-spine-01\n"}})
    observed = observe(
        plan, ["storage-spine-01"], {False: Login(), True: Login()}, open_switch=opener, platforms=catalogue.platforms
    )
    assert not observed.reached("storage-spine-01")
    assert observed.devices["storage-spine-01"].reason == "nothing reads toy: templates/switch/toy/platform.yml names no reader"


def test_platforms_name_the_readers_that_there_are() -> None:
    assert {*get_args(Reader)} == {*READERS} - {HOST} | {SUBNET_READER}


def test_the_page_lists_what_templates_can_use() -> None:
    table = PAGE.partition("| name | what it is |")[2].partition("\n\n")[0]
    listed = {name for row in table.splitlines() if row.startswith("|") for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    plan = factory.plan("lab")
    assert listed == {*describe_switch(Scene(plan, factory.catalogue()), plan.switches[0]), "file", "secret"}


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
