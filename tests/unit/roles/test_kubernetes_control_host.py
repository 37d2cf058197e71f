"""What role kubernetes_control finds out about a host itself, with doubles of the programs that it asks."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cluster_model.render.kubernetes.endpoint import render_endpoint
from tests.planned import open_example
from tests.programs import load_program

PROGRAM = Path(__file__).parents[3] / "roles/kubernetes_control/files/host.py"


@pytest.fixture
def program(monkeypatch):
    """Load the program as a module; `answers` has what a command prints in which these words are."""
    module = load_program(PROGRAM)
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
        "ip -o address": "2: eno1    inet 10.0.0.1/24 brd 10.0.0.255 scope global\n2: eno1    inet6 fe80::1/64 scope link\n",
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


@pytest.fixture
def root(program, tmp_path, monkeypatch):
    monkeypatch.setattr(program, "ROOT", tmp_path)
    return tmp_path


def lay(path, text=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(("state", "failed"), [("auto-restart", ["gpuyard-kubernetes-endpoint"]), ("running", []), ("dead", [])])
def test_a_service_that_dies_again_and_again_is_told(program, root, capsys, state, failed):
    program.answers = {"show --property=SubState gpuyard-kubernetes-endpoint": f"SubState={state}\n"}
    assert look(program, capsys)["failed"] == failed


def test_a_keepalived_that_gpuyard_rendered_is_ours(program, root, capsys):
    """As templates/kubernetes/keepalived.conf.j2 begins it."""
    opened = open_example("lab")
    endpoint = replace(opened.plan.kubernetes.endpoint, mode="vrrp", address="10.72.128.9", announced="")
    plan = replace(opened.plan, kubernetes=replace(opened.plan.kubernetes, endpoint=endpoint))
    for _, text in render_endpoint(plan):
        lay(root / "etc/keepalived/keepalived.conf", text.decode())
        assert look(program, capsys)["keepalived"] == "ours"


@pytest.mark.parametrize(
    ("known", "changed", "whose"),
    [("", "", "others"), ("there", "S.5....T.  c /etc/keepalived/keepalived.conf", "others"), ("there", "", "package")],
)
def test_a_keepalived_that_somebody_set_up_is_told(program, root, capsys, known, changed, whose):
    assert look(program, capsys)["keepalived"] == ""
    lay(root / "etc/keepalived/keepalived.conf", "vrrp_instance boot {}\n")
    program.answers = {"rpm -q --qf there keepalived": known, "rpm -V keepalived": changed}
    assert look(program, capsys)["keepalived"] == whose


def test_what_an_address_takes_is_told_package_by_package(program, root, capsys):
    assert look(program, capsys)["lacks"] == ["keepalived", "curl"]
    lay(root / "usr/sbin/keepalived")
    assert look(program, capsys)["lacks"] == ["curl"]
    lay(root / "usr/bin/curl")
    assert look(program, capsys)["lacks"] == []


@pytest.mark.parametrize(
    ("said", "held_back"), [("keepalived_connect_any --> off\n", True), ("keepalived_connect_any --> on\n", False), ("", False)]
)
def test_selinux_is_told_where_it_keeps_keepalived_from_asking(program, capsys, said, held_back):
    program.answers = {"getsebool keepalived_connect_any": said}
    assert look(program, capsys)["held_back"] is held_back


def test_a_program_that_is_not_there_says_nothing():
    module = load_program(PROGRAM)
    assert module.ask("no-such-program-of-ours") == ""
