"""What a refused text is told to be: a text that is taken."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.intent.base import NAME, NAME_LENGTH
from cluster_model.intent.load import load_cluster
from cluster_model.intent.model.patterns import list_patterns
from cluster_model.intent.source.fitting import fit_name, fit_text


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Pod 2", "pod-2"),
        ("GPU_servers", "gpu-servers"),
        ("../lab", "lab"),
        ("2-pod", "pod"),
        ("42", "n42"),
        ("Köln", "koln"),
        ("lab\n", "lab"),
        ("a" * 40, "a" * 31),
        ("--", ""),
        ("北京", ""),
    ],
)
def test_a_name_is_made_of_what_was_written(text, name):
    assert fit_name(text) == name


@pytest.mark.parametrize(
    ("pattern", "text", "fitting"),
    [
        (r"^[A-Z]{1,2}$", "b", "B"),
        (r"^[A-Z]{1,2}[0-9]{2,3}$", "a-1", "A01"),
        (r"^[0-9a-f]{2}(:[0-9a-f]{2}){5}$", "AA-BB-CC-00-11-22", "aa:bb:cc:00:11:22"),
        (r"^[a-z0-9.-]+/[a-z0-9.-]+$", "NVIDIA/SN5600", "nvidia/sn5600"),
        (r"^[A-Za-z][A-Za-z0-9_-]{0,30}$", "Team A", "Team-A"),
        (r"^[0-9]{3}$", "58.0", ""),
    ],
)
def test_what_is_no_name_keeps_its_letters_and_digits(pattern, text, fitting):
    assert fit_text(text, [{"pattern": pattern}]) == fitting


@given(text=st.text(max_size=60), pattern=st.sampled_from(sorted(list_patterns())))
def test_what_is_told_is_taken(text, pattern):
    told = fit_text(text, [{"pattern": pattern, "maxLength": 31}])
    assert not told or (re.search(pattern, told) and len(told) <= 31 and "\n" not in told)


@given(text=st.text(max_size=60).filter(lambda text: re.search("[A-Za-z0-9]", text) and not re.search(NAME, text)))
def test_whatever_has_a_letter_or_digit_has_a_name(text):
    name = fit_name(text)
    assert re.fullmatch(NAME, name) and len(name) <= NAME_LENGTH


def find_fixes(folder, text):
    (folder / "cluster.yml").write_text(text)
    return {finding.where: finding.fix for finding in load_cluster(folder).findings if finding.id == "INT006"}


def test_names_and_keys_are_told_names_that_pass(tmp_path):
    fixes = find_fixes(
        tmp_path, 'name: Pod 2\nsite: {domain: Pod_2.example.net}\nservers: {"GPU nodes": {id: 1}, 北京: {id: 2}}\n'
    )
    assert fixes == {
        "name": "write pod-2",
        "site.domain": "write pod-2.example.net",
        "servers.GPU nodes@key": "rename the key to gpu-nodes",
        "servers.北京@key": "rename the key",
    }


def test_no_key_is_told_the_name_of_another(tmp_path):
    assert find_fixes(tmp_path, "servers: {Gpu: {id: 1}, gpu: {id: 2}}\n") == {"servers.Gpu@key": "rename the key"}
