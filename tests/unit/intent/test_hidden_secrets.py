"""What may be a secret: refused in words, and shown neither by the finding nor by the line that it quotes."""

from __future__ import annotations

import pytest

from cluster_model.cli.findings import format_github, format_json, format_text
from cluster_model.intent.load import load_cluster

PEM = "-----BEGIN OPENSSH PRIVATE KEY-----"
NAMES = "the name of a secret, such as ops-password, and never the secret itself"


def show(folder, text):
    """Return what is found, and all that is printed of it in any form."""
    (folder / "cluster.yml").write_text(text)
    loaded = load_cluster(folder)
    told = format_text(loaded.findings, {loaded.source.file: loaded.source.shown})
    return loaded.findings, "\n".join([told, format_json(loaded.findings), format_github(loaded.findings)])


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (f'provisioning: {{admins: {{ops: {{keys: ["{PEM}\\nSECRETab"]}}}}}}\n', "provisioning.admins.ops.keys.0"),
        (f'provisioning: {{admins: {{ops: {{keys: "{PEM}\\nSECRETab"}}}}}}\n', "provisioning.admins.ops.keys"),
        (
            f"provisioning:\n  admins:\n    ops:\n      keys:\n      - |\n        {PEM}\n        SECRETab\n",
            "provisioning.admins.ops.keys.0",
        ),
        (
            f"provisioning:\n  admins:\n    ops:\n      keys:\n      - '{PEM}'\n      - SECRETab\n",
            "provisioning.admins.ops.keys.0",
        ),
        (
            "provisioning: {admins: {ops: {key_files: ['PuTTY-User-Key-File-3: SECRETab']}}}\n",
            "provisioning.admins.ops.key_files.0",
        ),
        (f'name: "{PEM.lower()} SECRETab"\n', "name"),
        ('site: {dns: ["b3BlbnNzaC1rZXktdjEAAAAASECRETab"]}\n', "site.dns.0"),
        (f'servers: {{"{PEM} SECRETab": {{id: 1, modl: x}}}}\n', "servers"),
    ],
)
def test_a_private_key_is_called_one_and_not_shown(tmp_path, text, where):
    findings, told = show(tmp_path, text)
    (found,) = [finding for finding in findings if finding.where == where and finding.id == "INT006"]
    assert "is a private key" in found.summary and "make a new pair" in found.fix
    assert "SECRETab" not in told and "secretab" not in told


def test_a_private_key_that_no_yaml_takes_is_not_quoted(tmp_path):
    findings, told = show(
        tmp_path, f"name: lab\nkeys:\n  a: {PEM}\nSECRETab\nSECRETcd=\n{PEM.replace('BEGIN', 'END')}\nsite: {{\n"
    )
    assert [finding.id for finding in findings] == ["YML001"] and "SECRET" not in told


@pytest.mark.parametrize(
    "value",
    [
        '"SECRETab!"',
        "SECRETab!",
        "secret-ab!",
        "'1: SECRETab'",
        "[SECRETab]",
        "{SECRETab: 1}",
        '"SECRET\\nab"',
        "98761234",
        "098761",
        "19:41",
    ],
)
@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("bmc:\n  password: %s\n", "bmc.password"),
        ("bmc: {groups: {gpu: {password: %s}}}\n", "bmc.groups.gpu.password"),
        ("provisioning:\n  admins:\n    ops:\n      password: %s\n", "provisioning.admins.ops.password"),
    ],
)
def test_a_password_where_the_name_of_a_secret_belongs_is_not_shown(tmp_path, text, where, value):
    findings, told = show(tmp_path, text % value)
    (found,) = [finding for finding in findings if finding.where == where]
    assert (found.id, found.expected) == ("INT006", NAMES)
    assert found.fix == "write a name such as ops-password, and put the secret under that name into secrets.yml"
    assert not [piece for piece in ("secret-ab", "SECRET", "98761", "19:41", "1181") if piece in told]


@pytest.mark.parametrize(
    "value", ["!SECRETab x", "*SECRETab", "&SECRETab", '"SECRETab', "SECRETab: x", "@SECRETab", "%SECRETab", "'SECRETab'x"]
)
def test_a_password_that_no_yaml_takes_is_not_shown(tmp_path, value):
    findings, told = show(tmp_path, f"name: lab\nbmc:\n  password: {value}\n")
    assert findings and "SECRETab" not in told


def test_a_password_under_a_key_that_nobody_knows_is_not_quoted(tmp_path):
    findings, told = show(tmp_path, "bmc: {bmc_password: SECRETab}\n")
    assert "INT001" in [finding.id for finding in findings] and "SECRETab" not in told


def test_a_password_in_place_of_a_yes_is_not_shown(tmp_path):
    peer = "networks: {business: {border: {peers: {internet: {password: 'SECRETab'}}}}}\n"
    findings, told = show(tmp_path, peer)
    (found,) = [finding for finding in findings if finding.where.endswith("internet.password")]
    assert found.expected == "true or false" and "SECRETab" not in told


@pytest.mark.parametrize(
    "line",
    [
        "password: ops-password",
        'password: "ops-password"  # of the console',
        "a: {password: ops-password, b: 1}",
        "password: true",
    ],
)
def test_a_line_with_the_name_of_a_secret_is_quoted_whole(tmp_path, line):
    (tmp_path / "cluster.yml").write_text(f"{line}\n")
    assert load_cluster(tmp_path).source.shown[0] == line
