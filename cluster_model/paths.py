"""Where the data files lie: in a checkout at the root, in a wheel inside the package."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
TEMPLATES = next((p for p in (PACKAGE / "templates", PACKAGE.parent / "templates") if p.is_dir()), PACKAGE / "templates")
CATALOGUE = PACKAGE / "catalogue" / "data"


def replace_file(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; one that is there keeps its mode, a new one is 0644 less the umask. Raises OSError."""
    path = path.resolve()
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with aside.open("wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        if path.exists():
            aside.chmod(path.stat().st_mode & 0o7777)
        aside.replace(path)
    except OSError:
        aside.unlink(missing_ok=True)
        raise
