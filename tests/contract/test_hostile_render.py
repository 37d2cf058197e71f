"""Hostile text in an intent or a fact file stays within its field, in every file of every family and every switch dialect.

A tree is rendered twice: once with harmless words in all prose, once with everything that a prose field takes. Read back, each
file has the same structure, and its values differ only by the text itself. tests/unit/intent/test_hostile_text.py holds what no
field takes.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

import pytest
import yaml

from cluster_model.pipeline import inspect
from cluster_model.render.tree import render_tree
from tests.unit.intent.test_hostile_text import PROSE, QUOTING

ROOT = Path(__file__).parents[2]
HARMLESS = "Aword"
HOSTILE = " ".join(["A=x", *sorted(QUOTING.values())]) + (
    " --> ]]> </script></svg> \\\" \\' $(id) | > /tmp/x && y ; .end % éß漢 \\n %0A"
)
"""Every sign that prose may hold, in the ways that break out of XML, HTML, shell, YAML, JSON, CSV, zones and switch dialects."""
SERIALS = {"harmless": "SN1", "hostile": "SN 1.2:3/4+5_6-7"}
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMcc03yzvjhn6Nw+dkDmkVyW2r2fZ7Y4FLMROm9Dlj2U "
MODEL = {"harmless": "ACME BOOT", "hostile": "ACME *?._+/()- BOOT"}
ARGUMENT = {"harmless": "x.y=z", "hostile": "x.y=a,b:c/d@e+f%g*h!i-%s"}
USER = {"harmless": "admin", "hostile": "_a.b@c-d"}


def write_intents(folder: Path, example: str, dialect: str) -> dict[str, Path]:
    """Write an example twice, with harmless and with hostile text in every field that takes some."""
    source = ROOT / "inventory" / example
    found = {}
    for kind, text in (("harmless", HARMLESS), ("hostile", HOSTILE)):
        data = yaml.safe_load((source / "cluster.yml").read_text("utf-8"))
        set_text(data, kind, text)
        set_dialect(data, dialect)
        found[kind] = folder / kind
        shutil.copytree(source, found[kind])
        (found[kind] / "cluster.yml").write_text(yaml.safe_dump(data, allow_unicode=True), "utf-8")
        for file in found[kind].glob("*.csv"):
            head, first, *rest = file.read_text("utf-8").splitlines()
            cells = first.split(",")
            cells[head.split(",").index("serial")] = SERIALS[kind]
            file.write_text("\n".join([head, ",".join(cells), *rest]) + "\n", "utf-8")
    return found


def set_text(data: dict[str, Any], kind: str, text: str) -> None:
    row = next(iter(data["racks"]["groups"]["network"]["rows"]))
    group = next(name for name in data["servers"] if name != "control")
    data["racks"]["exceptions"] = {f"{row}{data['racks']['rows'][row]['racks']:02d}": {"reason": text, "blocked": True}}
    data["servers"]["control"]["place"] = [{"number": 1, "rack": f"{row}01", "u": 20, "reason": text}]
    if data["name"] == "driving":  # its out-of-band leafs run SONiC, which calls a port so
        data["cables"] = {"exceptions": [{"cable": "control-001:bmc", "to": "oob-leaf-n01:Ethernet30", "reason": text}]}
    for peer in data["networks"].get("business", {}).get("border", {}).get("peers", {}).values():
        peer["description"] = text
    disks = {
        "system": {"model": MODEL[kind], "count": 1},
        "wipe": [{"disks": "system", "consent": text}, {"disks": {"model": MODEL[kind]}, "consent": text}],
    }
    data["provisioning"] = {
        "admins": {"ops": {"keys": [KEY + text], "password": "ops-password"}},
        "defaults": {"disks": disks, "kernel_arguments": [ARGUMENT[kind]]},
        "groups": {group: {"os": {"kind": "autoinstall"}, "disks": disks, "kernel_arguments": [ARGUMENT[kind]]}},
    }
    data["bmc"] = {"user": USER[kind], "groups": {group: {"user": USER[kind]}}}


MODELS = {
    "cumulus": {"oob": ("nvidia/sn2201", "nvidia/sn3700c"), "storage": ("nvidia/sn4700", "nvidia/sn4700")},
    "eos": {"storage": ("arista/dcs-7050cx3-32s", "arista/dcs-7050cx3-32s")},
}
"""Leaf and spine that the dialect runs on, by network."""


def set_dialect(data: dict[str, Any], dialect: str) -> None:
    """Put the out-of-band switches, and where the dialect can the storage switches, on one network OS."""
    for network, (leaf, spine) in MODELS.get(dialect, {"oob": ("", "")}).items():
        fabric = data["networks"][network]
        fabric["nos"] = dialect
        if leaf:
            fabric |= {"leaf": leaf, "spine": spine}


CASES = [("driving", "sonic"), ("lab", "cumulus"), ("lab", "eos"), ("lab", "frr")]


@pytest.fixture(scope="module", params=CASES, ids="/".join)
def trees(request, tmp_path_factory):
    example, dialect = request.param
    found = {}
    for kind, folder in write_intents(tmp_path_factory.mktemp("intents"), example, dialect).items():
        opened = inspect(folder)
        assert opened.plan is not None, [f for f in opened.findings if f.severity == "error"]
        found[kind] = render_tree(opened.plan, opened.catalogue, None, findings=opened.findings)
    return found


def test_the_example_holds_every_field_of_prose(tmp_path):
    """A new field of prose must stand in what is rendered here."""
    data = yaml.safe_load((write_intents(tmp_path, "driving", "sonic")["hostile"] / "cluster.yml").read_text("utf-8"))
    found = set()

    def walk(value: Any, path: tuple[str, ...]) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(inner, (*path, key))
        elif isinstance(value, list):
            for inner in value:
                walk(inner, (*path, "0"))
        elif isinstance(value, str) and HOSTILE in value:
            found.add(path)

    walk(data, ())
    for field in PROSE:
        parts = field.split(".")
        alike = [path for path in found if len(path) == len(parts)]
        is_found = any(all(a in {b, "x", "ZZ01"} for a, b in zip(parts, path, strict=True)) for path in alike)
        assert is_found or field.startswith("provisioning.groups"), f"{field} is not rendered here"


def test_same_files(trees):
    assert set(trees["harmless"]) == set(trees["hostile"])


def test_every_file_keeps_its_structure(trees):
    wrong = []
    for path, harmless in sorted(trees["harmless"].items()):
        hostile = trees["hostile"][path]
        try:
            if take_apart(path, harmless) != take_apart(path, hostile):
                wrong.append(f"{path}: its structure follows the text")
        except Exception as error:
            wrong.append(f"{path}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)


def test_the_text_arrives_whole(trees):
    """What is quoted is the text, no more and no less: where JSON carries it, it reads back as it was written."""
    tables = ("plan.json", "inventory/inventory.json")
    assert any(HOSTILE in list_strings(json.loads(trees["hostile"][path])) for path in tables)
    tree = ElementTree.fromstring(trees["hostile"]["diagrams/racks.svg"])
    assert any(HOSTILE in (node.text or "") for node in tree.iter())


def list_strings(value: Any):
    if isinstance(value, dict):
        for inner in value.values():
            yield from list_strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from list_strings(inner)
    elif isinstance(value, str):
        yield value


def take_apart(path: str, data: bytes) -> Any:
    """Return the structure of a file: what its readers see of it, all text of ours that may differ made one."""
    suffix = Path(path).suffix
    if suffix == ".xlsx":
        book = ZipFile(io.BytesIO(data))
        return {name: xml_shape(book.read(name)) for name in book.namelist()}
    text = data.decode("utf-8")
    if suffix == ".json" or path.endswith(".tmpl"):
        return shape(json.loads(text))
    if suffix in {".yaml", ".yml"} or path.endswith("user-data"):
        return shape(list(yaml.safe_load_all(text)))
    if suffix == ".svg":
        return xml_shape(data)
    if suffix == ".html":
        return html_shape(text)
    if suffix == ".csv":
        return [[plain(cell) for cell in row] for row in csv.reader(io.StringIO(text))]
    return [plain(line) for line in text.splitlines()]


def list_spellings():
    """Yield what was put in, in all ways that it may be written, with the word that stands for it."""
    for kind in ("hostile", "harmless"):
        for mine in (HOSTILE if kind == "hostile" else HARMLESS, SERIALS[kind], MODEL[kind], ARGUMENT[kind], USER[kind]):
            for written in (mine, mine.replace(" ", "?"), json.dumps(mine)[1:-1], json.dumps(mine, ensure_ascii=False)[1:-1]):
                yield written, "…"
            yield repr(mine), "'…'"


SPELLINGS = list(dict.fromkeys(list_spellings()))


@cache
def plain(text: str) -> str:
    """Return a text with what was put in made one word, in whatever way it is written there."""
    for written, word in SPELLINGS:
        text = text.replace(written, word)
    return text


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {plain(str(key)): shape(inner) for key, inner in value.items() if key not in {"digest", "files"}}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return plain(value) if isinstance(value, str) else value


def xml_shape(data: bytes) -> Any:
    """Return which elements XML has, by their path and attributes; how many lines a text is broken into is left out."""

    def describe(node: ElementTree.Element, path: tuple[str, ...]) -> Any:
        yield (*path, node.tag), tuple(sorted(node.attrib))
        for child in node:
            yield from describe(child, (*path, node.tag))

    return set(describe(ElementTree.fromstring(data), ()))


class Tags(HTMLParser):
    """Gather the tags of a page with their attributes' names, and hold them to being closed in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.found: set[Any] = set()

    def handle_starttag(self, tag, attrs):
        self.found.add((*self.open, tag, *sorted(name for name, _ in attrs)))
        if tag not in {"meta", "link", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.found.add((*self.open, tag, *sorted(name for name, _ in attrs)))


def html_shape(text: str) -> Any:
    reader = Tags()
    reader.feed(text)
    reader.close()
    assert not reader.open
    return reader.found
