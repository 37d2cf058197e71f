"""Documentation is executed: every ```console block runs, and what it prints is what the page says.

In a block, lines with `$ ` are commands, run by sh from a copy of the checkout's inventory; the lines after them are their
output, standard error included. A line `...` stands for any lines. A block after `<!-- not run: why -->` is left alone.

The ```pycon blocks of a page are one session of Python in such a copy; `...` in what they print stands for any text.
`make record` writes the true output into the pages, where `...` stays.
"""

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import recorded
from tests.docs.blocks import bring_up_to_date, matches, split_commands
from tests.docs.loaded import Loaded

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SESSION = re.compile(r"```pycon\n(.*?)```\n", re.DOTALL)
BLOCK = re.compile(r"(?P<skip><!-- not run: [^>]+-->\n)?```console\n(?P<body>.*?)```\n", re.DOTALL)
STANDS_FOR = {"make demo": "scripts/demo .venv/bin/gpuyard"}
"""What a make target runs once it has installed, so that the page's output is tested without installing again."""


def choose_pages(block):
    """Return the pages with such a block, as parameters."""
    chosen = [
        page for page in PAGES if any(not found.groupdict().get("skip") for found in block.finditer(page.read_text("utf-8")))
    ]
    return pytest.mark.parametrize("page", chosen, ids=lambda page: str(page.relative_to(ROOT)))


@pytest.fixture(scope="module")
def loaded():
    with Loaded() as program:
        yield program


@pytest.fixture
def run(workplace, loaded):
    """Return a function that runs a command there, and returns the lines that it prints."""
    env = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1", "PATH": f"{loaded.bin}{os.pathsep}{os.environ['PATH']}"}

    def run(command):
        words = ["sh", "-c", f"exec 2>&1; {STANDS_FOR.get(command, command)}"]
        done = subprocess.run(words, cwd=workplace, env=env, capture_output=True, text=True, check=False)
        return [line.rstrip() for line in done.stdout.splitlines()]

    return run


@pytest.fixture(scope="module")
def clone(tmp_path_factory, collection):
    """Return a folder that looks like a fresh clone to the commands."""
    folder = tmp_path_factory.mktemp("clone")
    left_out = shutil.ignore_patterns("__pycache__", "errors", "golden", "roles", "unit")  # no page names these of tests/
    for name in ("inventory", "docs", "plugins", "templates", "scripts", "tests", "playbooks", "roles"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=left_out)
    for name in ("ansible.cfg", "pyproject.toml", "galaxy.yml"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(sys.prefix)
    shutil.copytree(collection, folder / ".ansible/collections", symlinks=True)
    return folder


@pytest.fixture
def workplace(clone, tmp_path):
    """Return such a folder that may be written to."""
    subprocess.run(["cp", "-a", f"{clone}/.", tmp_path], check=True)
    return tmp_path


@choose_pages(BLOCK)
def test_commands_print_what_the_page_says(page, run):
    def follow(block):
        if block["skip"]:
            return block[0]
        made = []
        for command, expected in split_commands(block["body"]):
            made += [f"$ {command}", *bring_up_to_date(expected, run(command))]
        return "```console\n" + "".join(f"{line}\n" for line in made) + "```\n"

    recorded.check(page, BLOCK.sub(follow, page.read_text("utf-8")))


@choose_pages(SESSION)
def test_sessions_print_what_the_page_says(page, workplace, monkeypatch):
    monkeypatch.chdir(workplace)
    text = page.read_text("utf-8")
    session = doctest.DocTestParser().get_doctest("".join(SESSION.findall(text)), {}, page.name, str(page), 0)
    wrong, told = [], []

    class Runner(doctest.DocTestRunner):
        def report_failure(self, out, test, example, got):
            wrong.append((example, got))

    Runner(optionflags=doctest.ELLIPSIS).run(session, out=told.append)
    assert not told, "".join(told)
    for example, got in wrong:
        assert "..." not in example.want, f"write what stands around the `...` anew: {example.source}prints\n{got}"
        asked = example.source.rstrip("\n").replace("\n", "\n... ")
        text = text.replace(f">>> {asked}\n{example.want}", f">>> {asked}\n{got}", 1)
    recorded.check(page, text)


def test_a_page_is_brought_up_to_date_around_its_gaps():
    page = [
        "racks: 4",
        "...",
        "compute  roce   8 leafs",
        "storage  roce   4 leafs",
        "...",
        "Open index.html",
        "...",
        "gone for good",
    ]
    now = [
        "racks: 12",
        "a",
        "compute  roce  16 leafs",
        "business roce   2 leafs",
        "storage  roce   4 leafs",
        "b",
        "Open index.html",
        "c",
    ]
    made = bring_up_to_date(page, now)
    assert made == ["racks: 12", "...", *now[2:5], "...", "Open index.html", "..."]
    assert matches(made, now) and not matches(page, now)
    assert bring_up_to_date(made, now) == made
    assert bring_up_to_date(["one", "two"], now) == now


def test_the_loaded_program_is_the_installed_one(run):
    """Streams, folder, environment, and the exit codes of both kinds."""
    asked = (
        "X validate tests/wrong.yml 2>&1 >/dev/null | tail -1; cd inventory; X plan lab 2>/dev/null | head -5; X plan x; echo $?"
    )
    loaded, installed = (run(asked.replace("X", name)) for name in ("gpuyard", f"{Path(sys.executable).parent}/gpuyard"))
    assert loaded == installed
    assert loaded[0] == "6 errors." and loaded[-1] == "2" and len(loaded) > 7


def test_links_lead_somewhere():
    links = [(page, target) for page in PAGES for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", page.read_text())]
    assert links
    lost = [f"{page.name} links to {target}, which is not there" for page, target in links if not (page.parent / target).exists()]
    assert not lost, "\n".join(lost)


def find_lacking(text):
    """Return the make targets, scripts and paths of tests that a page names and that are not there."""
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    make = [f"make {name}" for name in re.findall(r"`(?:\$ )?make ([a-z-]+)", text) if name not in targets]
    paths = re.findall(r"(?<![\w/.-])(?:scripts|tests)/[a-z_/-]+(?:\.(?:py|yml|toml))?", text)
    return make + [name for name in paths if not (ROOT / name).exists() and not list(ROOT.glob(f"{name}*"))]


def test_named_targets_scripts_and_tests_are_there():
    lacking = [f"{page.name} names {name}" for page in PAGES for name in find_lacking(page.read_text())]
    assert not lacking, "\n".join(lacking)


def test_what_is_not_there_is_seen():
    text = "`make tests`, `make test`, `scripts/scenaria NAME`, `pytest tests/unti tests/unit/checks`"
    assert find_lacking(text) == ["make tests", "scripts/scenaria", "tests/unti"]
