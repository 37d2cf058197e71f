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
    "RND002": Entry(
        "data that reads like a reference",
        "Templates write {{gpuyard-secret:NAME}} where a secret is filled in at delivery. A serial number or a description that "
        "reads so would be given the secret, so nothing is written. A device can report any text it likes.",
        "Find the text in cluster.yml and its CSV files, and remove it.",
    ),
}
