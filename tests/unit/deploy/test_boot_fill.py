"""Filling references: only listed ones, once, in the form that the file's format wants, or not at all and by name."""

import json

import pytest
import yaml

from cluster_model.deploy.boot_fill import NotReadyError, fill

HARD = "a\"b\\c'd: #{e}\u00e9$`!"
REFERENCE = "{{gpuyard-secret:pw}}"


def run(text, path, value, allowed=("secret:pw",)):
    return fill(text, path, allowed, lambda kind, name: value)


def test_what_the_manifest_does_not_list_goes_out_with_nobody():
    with pytest.raises(NotReadyError, match=r"boot/hosts/a.json holds {{gpuyard-secret:bmc-password}}"):
        fill('["{{gpuyard-secret:bmc-password}}"]', "boot/hosts/a.json", ["secret:pw"], lambda kind, name: "x")
    with pytest.raises(NotReadyError, match=r"{{gpuyard-image:pw}}"):
        run("{{gpuyard-image:pw}}", "a.ipxe", "x")


def test_a_value_that_reads_like_a_reference_is_not_filled_again():
    value = "{{gpuyard-secret:other}}"
    assert json.loads(run(f'["{REFERENCE}"]', "a.json", value, ("secret:pw", "secret:other"))) == [value]


def test_json_takes_any_line_of_text():
    assert json.loads(run(f'{{"{REFERENCE}": "x-{REFERENCE}"}}', "a/config_db.json", HARD)) == {HARD: f"x-{HARD}"}


@pytest.mark.parametrize("quote", ['"', "'"])
@pytest.mark.parametrize("path", ["boot/autoinstall/a/user-data", "switches/a/startup.yaml"])
def test_yaml_takes_any_line_of_text_in_quotes(path, quote):
    assert yaml.safe_load(run(f"{quote}{REFERENCE}{quote}: {quote}{REFERENCE}{quote}\n", path, HARD)) == {HARD: HARD}


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("a/startup.yaml", REFERENCE, "a b"),
        ("a/startup.yaml", f"'x {REFERENCE}'", "a'b"),
        ("a/startup.yaml", f'"x {REFERENCE}"', 'a"b'),
        ("a/user-data", f"\"{REFERENCE}'", 'a"b'),
        ("a/startup.cfg", REFERENCE, "a b"),
        ("a/startup.cfg", REFERENCE, 'a"b'),
        ("a/startup.cfg", REFERENCE, "a\nuser root"),
        ("a/chpasswd", f"admin:{REFERENCE}\n", "a\nroot:b"),
        ("a/frr.conf", REFERENCE, "\u00e9"),
        ("a/frr.conf", REFERENCE, ""),
        ("a.json", f'"{REFERENCE}"', "a\nb"),
        ("a.json", f'"{REFERENCE}"', "\udcff"),
        ("a/startup.yaml", f'"{REFERENCE}"', "a\x00b"),
        ("a/startup.yaml", f'"{REFERENCE}"', "a\x85b"),  # a line's end to YAML
        ("a/startup.yaml", f"'{REFERENCE}'", "a\u2028b"),
        ("a/user-data", f'"{REFERENCE}"', "a\x80b"),  # of no YAML document at all
        ("a/user-data", f'"{REFERENCE}"', "a\ufffeb"),
    ],
)
def test_what_cannot_stand_there_is_refused_by_name(path, text, value):
    with pytest.raises(NotReadyError, match="the secret pw cannot stand in a") as caught:
        run(text, path, value)
    assert not value or value not in str(caught.value)


def test_a_switch_takes_a_word():
    assert run(f"secret 0 {REFERENCE}\n", "a/startup.cfg", "P4ss!$w{o}rd;#?") == "secret 0 P4ss!$w{o}rd;#?\n"
