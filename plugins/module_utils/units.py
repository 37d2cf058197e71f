# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Units of systemd, all read at once and changed only where they differ. Standard library only; it runs on the hosts."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import Any

FOLDERS = ("/etc/systemd/system/", "/usr/lib/systemd/system/", "/lib/systemd/system/", "/usr/local/lib/systemd/system/")
PROPERTIES = ("LoadState", "ActiveState", "UnitFileState", "NeedDaemonReload")
NOT_AT_BOOT = {"disabled", "enabled-runtime", "linked", "linked-runtime", "masked", "masked-runtime", "bad", ""}
"""States of a unit's file in which `enable` has something to do (systemctl(1), is-enabled)."""
RUNNING = {"active", "activating", "reloading", "refreshing"}


class UnitError(Exception):
    """A unit that could not be changed; `unit` is its name."""

    def __init__(self, unit: str, reason: str) -> None:
        super().__init__(reason)
        self.unit = unit


@dataclass
class UnitChange:
    """What is done to a unit: `verbs` of systemctl, and its states before and after as a text."""

    name: str
    verbs: list[str]
    before: str
    after: str


def read_units(names: list[str]) -> dict[str, dict[str, str]]:
    """Return the properties of units by name; one that does not exist has LoadState not-found."""
    if not names:
        return {}
    said = _systemctl("show", "--property=" + ",".join(PROPERTIES), "--", *names)
    blocks = [dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in said.strip().split("\n\n")]
    found = dict(zip(names, blocks))  # noqa: B905, since Python 3.9 has no strict
    # show tells what systemd remembers of a unit's links since it read the unit, is-enabled what is there now. That leaves out a
    # unit without a file, and knows of an alias only that it is one.
    there = [name for name in names if found[name].get("LoadState") != "not-found"]
    states = _run("is-enabled", "--", *there).stdout.split() if there else []
    for name, state in zip(there, states if len(states) == len(there) else []):  # noqa: B905
        if state != "alias":
            found[name]["UnitFileState"] = state
    return found


def plan_units(wanted: list[dict[str, Any]], found: dict[str, dict[str, str]]) -> list[UnitChange]:
    """Return what differs from the units wanted.

    Args:
        wanted: each with `name`, and perhaps `enabled` (bool) and `state` (started, stopped).
        found: what read_units returned.
    """
    changes = []
    for each in wanted:
        now = found[each["name"]]
        at_boot, running = now.get("UnitFileState", "") not in NOT_AT_BOOT, now.get("ActiveState", "") in RUNNING
        verbs = []
        if each.get("enabled") is True and not at_boot:
            verbs.append("enable")
        if each.get("enabled") is False and now.get("UnitFileState") in {"enabled", "enabled-runtime"}:
            verbs.append("disable")
        if each.get("state") == "started" and not running:
            verbs.append("start")
        if each.get("state") == "stopped" and now.get("ActiveState", "inactive") not in {"inactive", "failed"}:
            verbs.append("stop")
        if verbs:
            is_ = f"{now.get('UnitFileState') or 'not there'}, {now.get('ActiveState', 'inactive')}"
            changes.append(UnitChange(each["name"], verbs, is_, f"{is_}; to {' and '.join(verbs)}"))
    return changes


def must_reload(paths: list[str], found: dict[str, dict[str, str]]) -> bool:
    """Return whether systemd has to read its files: some of these paths are its own, or it says so itself of a unit."""
    return any(path.startswith(FOLDERS) for path in paths) or any(now.get("NeedDaemonReload") == "yes" for now in found.values())


def reload() -> None:
    """Have systemd read its files."""
    _systemctl("daemon-reload")


def change_units(changes: list[UnitChange]) -> None:
    """Make the changes, in their order."""
    for change in changes:
        for verb in change.verbs:
            done = _run(verb, "--", change.name)
            if done.returncode:
                said = " ".join((done.stderr or done.stdout).split()) or f"exit {done.returncode}"
                fix = f"see `systemctl status {change.name}` and `journalctl -u {change.name}`"
                raise UnitError(change.name, f"systemctl {verb} {change.name}: {said}; fix: {fix}")


def _systemctl(*words: str) -> str:
    done = _run(*words)
    if done.returncode:
        raise UnitError("", f"systemctl {words[0]}: {done.stderr.strip() or done.returncode}; fix: see that systemd runs")
    return done.stdout


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["systemctl", *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise UnitError("", "systemctl: not found; fix: this needs a host that systemd runs") from None
