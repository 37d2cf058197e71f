"""What a refused text is told to be: a text that is taken."""

from __future__ import annotations

import re
from ipaddress import IPv4Network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.intent.base import NAME, NAME_LENGTH, TIME_ZONE
from cluster_model.intent.load import load_cluster
from cluster_model.intent.model.patterns import list_patterns
from cluster_model.intent.model.site import DOMAIN
from cluster_model.intent.services.provisioning import PUBLIC_KEY
from cluster_model.intent.source.fitting import fit_address, fit_name, fit_text

BASES = Path(__file__).parents[2] / "errors" / "bases"


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
        (DOMAIN, "lab.example.net.", "lab.example.net"),
        (DOMAIN, "http://lab.example.net", "lab.example.net"),
        (DOMAIN, "https://LAB.example.net/", "lab.example.net"),
        (DOMAIN, ".lab.net", "lab.net"),
        (DOMAIN, "läb.example.net", "lab.example.net"),
        (DOMAIN, "北京.example.net", ""),
        (TIME_ZONE, "Europe/Berlín", "Europe/Berlin"),
        (TIME_ZONE, "America/New York", "America/New_York"),
        (TIME_ZONE, "Europe/Bérlinn", ""),
        (PUBLIC_KEY, "-----BEGIN OPENSSH PRIVATE KEY-----", ""),
        (NAME, "-----BEGIN RSA PRIVATE KEY----- MIIE", ""),
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


@given(text=st.one_of(st.text(max_size=20), st.from_regex(r"[0-9]{0,4}(\.[0-9 ]{0,4}){0,4}/?[0-9.]{0,3}", fullmatch=True)))
def test_an_address_that_is_told_is_one(text):
    assert not (told := fit_address(text)) or IPv4Network(told, strict=False)


@pytest.mark.parametrize(
    ("text", "value", "told"),
    [
        ("name: %s", "Pod 2", "pod-2"),
        ("site: {domain: %s}", "LAB.example.net.", "lab.example.net"),
        ("site: {timezone: %s}", "Europe/Berlín", "Europe/Berlin"),
        ("site: {dns: [%s]}", "010.255.0.53", "10.255.0.53"),
        ("site: {dns: [%s]}", "10.255.0.53/24", ""),
        ("networks: {compute: {pool: %s}}", "10.64/14", "10.64.0.0/14"),
        ("networks: {compute: {pool: %s}}", "010.64.0.0/14", "10.64.0.0/14"),
        ("networks: {compute: {pool: %s}}", "10.64.0.0 /14", "10.64.0.0/14"),
        ("networks: {compute: {pool: %s}}", "10.65.0.0/14", "10.64.0.0/14"),
        ("networks: {compute: {pool: %s}}", "10.64.0.0/140", ""),
        ("racks: {rows: {%s: {id: 1}}}", "a", "A"),
        ("servers: {%s: {id: 1}}", "GPU", "gpu"),
        ("servers: {%s: {id: 1}}", "G" * 40, "g" * 31),
        ("servers: {gpu: {count: %s}}", "99999999999999999999999", "50000"),
        ("servers: {gpu: {count: %s}}", "-99999999999999999999999", "1"),
        ("servers: {gpu: {planned: %s}}", "99999999999999999999999", "50000"),
        ("servers: {gpu: {count: %s}}", "08", "8"),
        ("racks: {groups: {gpu: {power_kw: %s}}}", "99999999999999999999999", "500"),
        ("asn_base: %s", "99999999999999999999999", "4294967294"),
    ],
)
def test_every_fix_is_taken(tmp_path, text, value, told):
    def find(written):
        (tmp_path / "cluster.yml").write_text(f"{text % written}\n")
        return [f for f in load_cluster(tmp_path).findings if f.id in {"INT003", "INT004", "INT006", "INT030"}]

    (finding,) = find(value)
    words = re.match(r"(?:write|rename the key to) (\S+?),?(?: |$)", finding.fix)
    assert (words[1] if words and told else "") == told
    assert "quotes" not in finding.fix and not (told and find(told))


def test_a_vast_number_as_a_key_is_not_told_to_stand_in_quotes(tmp_path):
    fixes = find_fixes(tmp_path, f"lossless: {{ecn: {{{'9' * 30}: {{}}}}}}\n")
    assert fixes == {f"lossless.ecn.{'9' * 30}@key": "take a number within the bounds"}


def test_what_names_a_renamed_key_is_not_told_to_go_elsewhere(tmp_path):
    text = (
        (BASES / "gpu.yml")
        .read_text()
        .replace("rows: {A:", "rows: {a:")
        .replace("\n  gpu: {id: 1, model", "\n  GPU: {id: 1, model")
    )
    (tmp_path / "cluster.yml").write_text(text)
    assert [(f.id, f.fix) for f in load_cluster(tmp_path).findings] == [
        ("INT006", "rename the key to A"),
        ("INT006", "rename the key to gpu"),
    ]


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
