"""All manuals in one form: those of the intent, the catalogue, the plan, the design rules, and of reading gear."""

from __future__ import annotations

from cluster_model.catalogue.manual import MANUALS as CATALOGUE
from cluster_model.intent.manual import MANUALS as INTENT
from cluster_model.render.manual import MANUALS as RENDER
from cluster_model.transport.manual import MANUALS as TRANSPORT
from cluster_model.verify.manual import MANUALS as VERIFY
from cluster_model.verify.manual_ceph import MANUALS as CEPH
from cluster_model.verify.manual_hosts import MANUALS as HOSTS
from cluster_model.verify.manual_machines import MANUALS as MACHINES


def read_manuals() -> dict[str, tuple[str, str]]:
    """Return title and text of every manual by rule id, sorted by id."""
    from cluster_model.checks.registry import RULES

    entries = {**INTENT, **CATALOGUE, **RENDER, **TRANSPORT, **VERIFY, **MACHINES, **HOSTS, **CEPH}
    texts = {id_: (entry.title, f"{entry.why}\n\nHow to fix:\n{_indent(entry.fix)}") for id_, entry in entries.items()}
    for id_, rule in RULES.items():
        manual = rule.manual()
        parts = [manual.law, *(f"{name}:\n{_indent(body)}" for name, body in manual.sections.items())]
        texts[id_] = (rule.title, "\n\n".join(parts))
    return dict(sorted(texts.items()))


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" if line else "" for line in text.splitlines())
