"""The manual of keys says in which form each is written."""

from __future__ import annotations

import re

from cluster_model.intent.reference import write_reference


def test_list_of_mappings_is_no_mapping_of_names():
    text = write_reference()
    assert "\n## servers.NAME.place, each item\n" in text
    assert re.search(r"\| `place` .*\| a list of mappings, see \[below\]\(#serversnameplace-each-item\)", text)


def test_union_of_name_and_mapping_says_both():
    assert re.search(r"\| `racks` .*\| a name, or a mapping, see \[below\]\(#networksoobracks\)", write_reference())


def test_every_link_leads_to_a_heading():
    text = write_reference()
    anchors = {re.sub(r"[^a-z0-9_ -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"(?m)^## (.*)$", text)}
    assert set(re.findall(r"\(#([^)]*)\)", text)) <= anchors
