"""What tests of Kubernetes stand on: a control plane that does not come up says why, and leaves nothing."""

import json
from contextlib import suppress
from pathlib import Path

import pytest

from tests.kubernetes.control_plane import control_plane


def _list_left(folder):
    """Return the processes that stand in a folder."""
    left = []
    for place in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            left += [place.parent.name] if place.readlink() == folder else []
    return left


def test_a_program_that_ends_is_told_with_what_it_said_and_nothing_is_left(tmp_path):
    policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}
    for name, content in (("encryption", {"kind": "Nothing"}), ("policy", policy)):
        (tmp_path / name).write_text(json.dumps(content), "utf-8")
    with (
        pytest.raises(AssertionError, match=r"kube-apiserver ended with 1:\n(.*\n)*.*encryption") as told,
        control_plane(tmp_path, encryption=tmp_path / "encryption", audit_policy=tmp_path / "policy"),
    ):
        pass
    assert "etcd runs:" in str(told.value)
    assert _list_left(tmp_path) == []
