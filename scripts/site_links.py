"""Make links that leave docs/ lead to the repository, where the site is built from."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

LINK = re.compile(r"(\]\()((?:\.\./)+[^)\s]+)(\))")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Return a page with such links made absolute; mkdocs calls this for each."""
    folder = posixpath.join("docs", posixpath.dirname(page.file.src_uri))

    def lead(match: re.Match[str]) -> str:
        path, hash_, anchor = match[2].partition("#")
        target = posixpath.normpath(posixpath.join(folder, path))
        if target.startswith("docs/"):
            return match[0]
        kind = "tree" if Path(config.config_file_path).parent.joinpath(target).is_dir() else "blob"
        return f"{match[1]}{config.repo_url.rstrip('/')}/{kind}/main/{target}{hash_}{anchor}{match[3]}"

    return LINK.sub(lead, markdown)
