"""Where the data files lie: in a checkout at the root, in a wheel inside the package."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
TEMPLATES = next((p for p in (PACKAGE / "templates", PACKAGE.parent / "templates") if p.is_dir()), PACKAGE / "templates")
CATALOGUE = PACKAGE / "catalogue" / "data"
