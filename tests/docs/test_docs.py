"""Documentation is executed: every ```console block runs, and what it prints is what the page says.

In a block, lines with `$ ` are commands, run by sh from a copy of the checkout's inventory; the lines after them are their
output, standard error included. A line `...` stands for any lines. A block after `<!-- not run: why -->` is left alone.
GPUYARD_UPDATE_DOCS=1 writes the true output into the pages (blocks with `...` are only checked).

The ```pycon blocks of a page are one session of Python in such a copy; `...` in what they print stands for any text.
"""

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SESSION = re.compile(r"```pycon\n(.*?)```\n", re.DOTALL)
BLOCK = re.compile(r"(?P<skip><!-- not run: [^>]+-->\n)?```console\n(?P<body>.*?)```\n", re.DOTALL)


def split_commands(body):
    """Return (command, expected output) pairs; a command goes on over lines that end in a backslash."""
    steps, lines = [], body.splitlines()
    while lines:
        line = lines.pop(0)
        assert line.startswith("$ "), f"a console block begins with a command: {line!r}"
        command = line[2:]
        while command.endswith("\\"):
            command += "\n" + lines.pop(0)
        expected = []
        while lines and not lines[0].startswith("$ "):
            expected.append(lines.pop(0))
        steps.append((command, expected))
    return steps


def matches(expected, actual):
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()) + r"[ ]*\n" for line in expected)
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in actual)) is not None


STANDS_FOR = {"make demo": "scripts/demo .venv/bin/gpuyard"}
"""What a make target runs once it has installed, so that the page's output is tested without installing again."""


def run(command, cwd):
    command = STANDS_FOR.get(command, command)
    env = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1"}
    done = subprocess.run(["sh", "-c", f"exec 2>&1; {command}"], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


@pytest.fixture
def workplace(tmp_path, collection):
    """Return a folder that looks like a fresh clone to the commands, and may be written to."""
    for name in ("inventory", "docs", "plugins", "templates", "scripts", "tests", "playbooks", "roles"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "errors"))
    for name in ("ansible.cfg", "pyproject.toml", "galaxy.yml"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    shutil.copytree(collection, tmp_path / ".ansible/collections", symlinks=True)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_print_what_the_page_says(page, workplace):
    text = page.read_text()
    update = bool(os.environ.get("GPUYARD_UPDATE_DOCS"))
    for block in list(BLOCK.finditer(text)):
        if block["skip"]:
            continue
        made = []
        for command, expected in split_commands(block["body"]):
            actual = run(command, workplace)
            if update and "..." not in [line.strip() for line in expected]:
                made.append("\n".join([f"$ {command}", *(line.rstrip() for line in actual)]) + "\n")
                continue
            made.append("\n".join([f"$ {command}", *expected]) + "\n")
            assert matches(expected, actual), (
                f"{page.name}: $ {command}\n--- the page says\n"
                + "\n".join(expected)
                + ("\n--- it printed\n" + "\n".join(actual))
            )
        if update:
            text = text.replace(block["body"], "".join(made))
    if update:
        page.write_text(text)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if SESSION.search(page.read_text())], ids=lambda page: str(page.relative_to(ROOT))
)
def test_sessions_print_what_the_page_says(page, workplace, monkeypatch):
    monkeypatch.chdir(workplace)
    session = doctest.DocTestParser().get_doctest("".join(SESSION.findall(page.read_text())), {}, page.name, str(page), 0)
    told = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session, out=told.append)
    assert not told, "".join(told)


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
