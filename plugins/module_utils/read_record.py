# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What programs have read of the files that configure them: a run that was cut off is made up for. It runs on the hosts."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

FOLDER = Path("/var/lib/gpuyard/read")


def list_unread(name: str, paths: list[str], changed: list[str]) -> list[str]:
    """Return the paths that their programs have not read as they are, sorted.

    Args:
        name: the record.
        paths: the files that are kept; what the record has beyond them counts where it is gone.
        changed: what was, or in check mode would be, changed just now.
    """
    noted = _read(name)
    unlike = [path for path in paths if noted.get(path) != _digest(path)]
    gone = [path for path in noted if path not in paths and not _digest(path)]
    return sorted({*changed, *unlike, *gone})


def note_read(name: str | None, paths: list[str]) -> None:
    """Note that programs have read these files as they are now."""
    if not name or not paths:
        return
    noted = _read(name) | {path: _digest(path) for path in paths}
    FOLDER.mkdir(mode=0o755, parents=True, exist_ok=True)
    new = FOLDER / f"{name}.new"
    new.write_text(json.dumps({path: digest for path, digest in sorted(noted.items()) if digest}, indent=1) + "\n")
    new.replace(FOLDER / name)


def _read(name: str) -> dict[str, str]:
    """Return path to digest; a record that is not there, or that a full disk cut off, is empty."""
    try:
        return dict(json.loads((FOLDER / name).read_text()))
    except (FileNotFoundError, ValueError):
        return {}


def _digest(path: str) -> str:
    """Return what a file is known by, or what a link points to, empty where there is neither."""
    if Path(path).is_symlink():
        return f"link to {Path(path).readlink()}"
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except FileNotFoundError:
        return ""
