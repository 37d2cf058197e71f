"""Manuals of what rendering finds (RND)."""

from __future__ import annotations

from cluster_model.intent.manual import Entry

MANUALS: dict[str, Entry] = {
    "RND001": Entry(
        "template that cannot be rendered",
        "A template under templates/switch/NOS/ asks for something that is not there, or is no Jinja. Nothing is written: a tree "
        "is all or nothing.",
        "Mend the template at the place shown; docs/add-a-switch-vendor.md lists what a template may use.",
    ),
}
