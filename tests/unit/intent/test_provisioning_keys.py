"""Public SSH keys: what ssh-keygen makes is taken, what is no key is told by file and line."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from cluster_model.intent.load import load_cluster
from cluster_model.intent.references.services.provisioning_keys import explain_key

HEAD = """name: lab
site: {domain: lab.example.net}
racks: {rows: {N: {id: 2, racks: 3}}, groups: {network: {id: 2, rows: [N], power_kw: 20, feed_kw: 20}}}
servers: {control: {id: 3, model: generic/1u, count: 3, racks: network}}
networks: {oob: {leaf: nvidia/sn2201, spine: nvidia/sn3700c, pool: 10.76.0.0/16}}
"""


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen")
@pytest.mark.parametrize("kind", [("ed25519",), ("rsa", "-b", "2048"), ("ecdsa", "-b", "256"), ("ecdsa", "-b", "521")])
def test_keys_are_taken_and_their_private_halves_are_not(kind, tmp_path):
    subprocess.run(["ssh-keygen", "-q", "-N", "", "-C", "a name", "-f", str(tmp_path / "k"), "-t", *kind], check=True)
    public = (tmp_path / "k.pub").read_text().strip()
    assert explain_key(public) == ""
    assert "private" in explain_key((tmp_path / "k").read_text().splitlines()[0])
    kind_word, blob, _ = public.split(" ", 2)
    assert explain_key(f"{kind_word} {blob[:-8]}") and explain_key(f"{kind_word} {blob[:24]}")
    other = "ssh-rsa" if kind_word != "ssh-rsa" else "ssh-ed25519"
    assert explain_key(f"{other} {blob}") == f"the line says {other}, the key itself {kind_word}"


def test_files_and_keys_are_joined_once_each_and_change_the_digest(tmp_path):
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMcc03yzvjhn6Nw+dkDmkVyW2r2fZ7Y4FLMROm9Dlj2U ops"
    (tmp_path / "ops.pub").write_text(f"# who\n\n{key}\n")
    (tmp_path / "cluster.yml").write_text(
        HEAD + f'provisioning: {{admins: {{ops: {{keys: ["{key}"], key_files: [ops.pub]}}}}}}\n'
    )
    first = load_cluster(tmp_path)
    assert first.findings == [] and first.cluster.provisioning.admins["ops"].keys == [key]
    (tmp_path / "ops.pub").write_text(f"{key}\n{key.replace('IMcc03', 'IMcc04')}\n")
    second = load_cluster(tmp_path)
    assert len(second.cluster.provisioning.admins["ops"].keys) == 2
    assert first.digest != second.digest


def test_every_bad_line_is_told(tmp_path):
    (tmp_path / "ops.pub").write_text('ssh-rsa AAAA\nfrom="10.0.0.1" ssh-ed25519 AAAA\n')
    (tmp_path / "cluster.yml").write_text(HEAD + "provisioning: {admins: {ops: {key_files: [ops.pub, none.pub]}}}\n")
    found = [(f.id, f.file.rpartition("/")[2], f.line) for f in load_cluster(tmp_path).findings]
    assert found == [("PRV001", "cluster.yml", 6), ("PRV002", "ops.pub", 1), ("PRV002", "ops.pub", 2)]
