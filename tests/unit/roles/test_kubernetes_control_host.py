"""What role kubernetes_control finds out about a host itself, with doubles of the programs that it asks."""

import importlib.util
import json
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[3] / "roles/kubernetes_control/files/host.py"


@pytest.fixture
def program(monkeypatch):
    """Load the program as a module; `answers` has what a command prints in which these words are."""
    spec = importlib.util.spec_from_file_location("host", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.answers = {}
    monkeypatch.setattr(
        module, "ask", lambda *words: next((said for part, said in module.answers.items() if part in " ".join(words)), "")
    )
    return module


def look(program, capsys):
    program.main("localhost", "/var/backups/etcd")
    return json.loads(capsys.readouterr().out)


def test_a_host_is_told_with_its_addresses_and_where_the_endpoint_leads(program, capsys):
    program.answers = {
        "ip -o address": "2: eno1    inet 10.0.0.1/24 brd 10.0.0.255 scope global eno1\\\n2: eno1    inet6 fe80::1/64 scope link\n",
        "kubeadm version": "v1.36.3\n",
    }
    seen = look(program, capsys)
    assert (seen["addresses"], seen["kubeadm"]) == (["10.0.0.1/24", "fe80::1/64"], "v1.36.3")
    assert "127.0.0.1" in seen["endpoint"]
    assert program.resolve("no such name") == []


def test_room_is_told_once_for_a_disk(program, tmp_path):
    (one,) = program.list_free(f"{tmp_path}/etcd", f"{tmp_path}/backups/etcd")
    assert one[0] == [f"{tmp_path}/etcd", f"{tmp_path}/backups/etcd"] and one[1] > 0
    assert [folders for folders, _ in program.list_free(f"{tmp_path}/etcd", "/proc/none")] == [
        [f"{tmp_path}/etcd"],
        ["/proc/none"],
    ]


@pytest.mark.parametrize("unit", ["gpuyard-etcd-backup", "gpuyard-kubernetes-renew"])
def test_what_a_timer_started_and_failed_is_told(program, capsys, unit):
    assert look(program, capsys)["failed"] == []
    program.answers = {f"systemctl is-failed {unit}.service": "failed\n", "systemctl is-failed": "inactive\n"}
    assert look(program, capsys)["failed"] == [unit]


def test_a_program_that_is_not_there_says_nothing():
    spec = importlib.util.spec_from_file_location("host", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.ask("no-such-program-of-ours") == ""
