"""docs/ builds as a site without a warning, and its navigation holds every page once."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


def list_entries(node):
    if isinstance(node, str):
        return [node]
    return [entry for each in (node if isinstance(node, list) else node.values()) for entry in list_entries(each)]


def test_navigation_holds_every_page():
    entries = list_entries(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    pages = [str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")]
    assert sorted(entries) == sorted(pages)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [Path(sys.executable).parent / "mkdocs", "build", "--strict", "--site-dir", folder]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_links_that_leave_the_docs_lead_to_the_repository(site):
    page = (site / "playbooks/index.html").read_text()
    assert 'href="https://github.com/gpuyard/gpuyard/blob/main/bench/README.md#playbooks"' in page
    outside = {
        link: str(page)
        for page in site.rglob("index.html")
        for link in re.findall(r'href="((?:\.\./)+[^"#]*)', page.read_text())
        if not (page.parent / link).resolve().is_relative_to(site) or not (page.parent / link).exists()
    }
    assert outside == {}


def test_site_asks_no_other_host(site):
    loaded = [
        link
        for page in site.rglob("*.html")
        for link in re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(https?://[^"]+)"', page.read_text())
    ]
    assert [link for link in loaded if not link.startswith("https://github.com/gpuyard")] == []
