"""How findings about Ceph are said."""

from __future__ import annotations

from collections.abc import Sequence

from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic, Severity
from cluster_model.transport.gear_text import clean_line

PLAYBOOK = "run playbooks/ceph.yml, first with --check"
MOST = 400
"""Longest text of what was expected or found, in characters."""


def tell(id_: str, where: str, summary: str, expected: str, actual: str, fix: str, level: Severity = "error") -> Diagnostic:
    """Return a finding, with texts that fit on a screen."""
    return Diagnostic(id_, level, where, clean_line(summary, MOST), clean_line(expected, MOST), clean_line(actual, MOST), fix)


def are(names: Sequence[str], what: str) -> str:
    """Return what some things are, such as osd.3, osd.4 are down."""
    return f"{list_names(names)} {'is' if len(names) == 1 else 'are'} {what}"
