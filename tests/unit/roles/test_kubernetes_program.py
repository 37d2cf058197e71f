"""The program of role kubernetes_control, with doubles of etcd's and kubeadm's tools; tests/kubernetes runs it on a cluster."""

import base64
import json
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.programs import load_program

PROGRAM = Path(__file__).parents[3] / "roles/kubernetes_control/files/gpuyard_kubernetes.py"
# As kubeadm writes them: the API server's and etcd's have annotations, the others have none.
BARE = "kind: Pod\nmetadata:\n  creationTimestamp: null\n  labels:\n    component: kube-scheduler\nspec:\n  containers: []\n"
NOTED = BARE.replace(
    "metadata:\n", "metadata:\n  annotations:\n    kubeadm.kubernetes.io/etcd.advertise-client-urls: https://10.0.0.1:2379\n"
)
MEMBERS = {
    "members": [
        {"ID": 255, "name": "control-001", "clientURLs": ["https://10.0.0.1:2379"], "peerURLs": ["https://10.0.0.1:2380"]}
    ]
}


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Load the program as a module with folders of its own; `answers` has what a command says in which these words are."""
    module = load_program(PROGRAM)
    module.answers, module.asked = {}, []

    def run(*command, stdin=None, limit_s=0):
        module.asked.append((" ".join(command), stdin))
        for words, answer in module.answers.items():
            if words in " ".join(command):
                return answer(*command) if callable(answer) else answer
        return 127, "", f"no {command[0]}"

    monkeypatch.setattr(module, "run", run)
    monkeypatch.setattr(module, "find_tool", lambda name: None if name == "etcdutl" else f"/usr/bin/{name}")
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    for name, folder in (("ROOT", "kubernetes"), ("ETCD", "etcd"), ("OURS", "kubernetes/gpuyard")):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        monkeypatch.setattr(module, name, tmp_path / folder)
    monkeypatch.setattr(module, "ADMIN", tmp_path / "kubernetes/admin.conf")
    monkeypatch.setattr(module, "DUE", tmp_path / "due")
    return module


def lay(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def lay_server(program):
    """Lay what a control server has that kubeadm made."""
    for name in ("manifests/kube-apiserver.yaml", "manifests/etcd.yaml", "kubelet.conf"):
        lay(program.ROOT / name, "user: system:node:control-001\n")
    lay(program.ADMIN, "server: https://kubernetes.lab:7443\ncertificate-authority-data: Q0E=\n")
    lay(program.ETCD / "member/snap/db", "x" * 1000)


def look(program, capsys):
    program.look("0")
    return json.loads(capsys.readouterr().out)


# --- What is there


def test_a_new_server_has_nothing(program, capsys):
    seen = look(program, capsys)
    assert (seen["state"], seen["name"], seen["ca"], seen["keys"]) == ("none", "", "", [])
    assert len(seen["parts"]) == 5 and not any(seen["parts"].values())


def test_a_whole_server_is_a_member(program, capsys, monkeypatch):
    lay_server(program)
    lay(program.OURS / "encryption.yaml", "  keys:\n  - name: key1\n    secret: 'MDEyMw=='\n")
    monkeypatch.setattr(program, "ask", lambda url: True)
    program.answers = {"member list": (0, json.dumps(MEMBERS), ""), "endpoint health": (0, "", "")}
    seen = look(program, capsys)
    assert (seen["state"], seen["name"], seen["ready"]) == ("member", "control-001", True)
    assert seen["members"] == [
        {"name": "control-001", "id": "ff", "answers": True, "peer": "https://10.0.0.1:2380", "learner": False}
    ]
    assert len(seen["keys"]) == 1 and "MDEyMw" not in json.dumps(seen)


def test_a_ca_is_the_same_whatever_is_written_beside_it(program, capsys):
    """A server that joined has it from the cluster, and one that was there before kubeadm may have a head of openssl's."""
    block = "-----BEGIN CERTIFICATE-----\nQ0E=\n-----END CERTIFICATE-----\n"
    found = set()
    for text in (block, f"Certificate:\n    Data:\n{block}", f"{block}\n", block.replace("Q0E", "Q0I"), ""):
        lay(program.ROOT / "pki/ca.crt", text)
        found.add(look(program, capsys)["ca"])
    assert len(found) == 3 and "" in found


def test_a_server_on_which_kubeadm_did_not_end_is_half_made(program, capsys):
    lay_server(program)
    lay(program.OURS / "making", "join\n")
    seen = look(program, capsys)
    assert (seen["state"], seen["making"]) == ("half", "join")


def test_a_server_that_answers_is_a_member_though_kubeadm_died_late(program, capsys, monkeypatch):
    """A reset would end a cluster that works: what kubeadm had left to do is told by `making`."""
    lay_server(program)
    lay(program.OURS / "making", "init\n")
    monkeypatch.setattr(program, "ask", lambda url: url.endswith(":6443/readyz"))
    program.answers = {"member list": (0, json.dumps(MEMBERS), ""), "--raw /version": (0, '{"gitVersion": "v1.35.7"}', "")}
    seen = look(program, capsys)
    assert (seen["state"], seen["making"], seen["ready"], seen["version"]) == ("member", "init", True, "v1.35.7")
    assert [member["name"] for member in seen["members"]] == ["control-001"]


def test_a_server_that_kubeadm_did_not_come_to_its_end_on_is_waited_for(program, capsys, monkeypatch):
    """As after a boot."""
    lay_server(program)
    lay(program.OURS / "making", "init\n")
    answers = iter([False, False, True])
    monkeypatch.setattr(program, "ask", lambda url: next(answers))
    program.look("60")
    assert json.loads(capsys.readouterr().out)["state"] == "member"


@pytest.mark.parametrize(("code", "left"), [(0, False), (1, True)])
def test_the_server_itself_notes_that_kubeadm_came_to_its_end(tmp_path, code, left):
    """Whatever becomes of the run meanwhile, such as a connection that drops."""
    words = yaml.safe_load((PROGRAM.parents[1] / "vars/main.yml").read_text("utf-8"))["__kubernetes_control_to_end"]
    lay(tmp_path / "making", "init\n")
    lay(tmp_path / "kubeadm", f'#!/bin/sh\n[ "$*" = "init --config=a b" ] && exit {code}\nexit 9\n').chmod(0o755)
    words = [word.replace("{{ __kubernetes_control_ours }}", str(tmp_path)) for word in words]
    done = subprocess.run([*words, "init", "--config=a b"], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=False)
    assert (done.returncode, (tmp_path / "making").exists()) == (code, left)


def test_answers_without_a_whole_server_make_no_member(program, capsys, monkeypatch):
    """Another program may listen there."""
    lay_server(program)
    (program.ROOT / "kubelet.conf").unlink()
    lay(program.OURS / "making", "init\n")
    monkeypatch.setattr(program, "ask", lambda url: True)
    assert look(program, capsys)["state"] == "half"


def test_a_kubeadm_that_runs_is_seen(program, capsys, monkeypatch):
    monkeypatch.setattr(program, "find_process", lambda name: 77 if name == "kubeadm" else 0)
    assert look(program, capsys)["running"] is True
    monkeypatch.setattr(program, "find_process", lambda name: 0)
    assert look(program, capsys)["running"] is False


def test_what_is_neither_whole_nor_ours_is_told(program, capsys):
    (program.ETCD / "member").mkdir()
    seen = look(program, capsys)
    assert (seen["state"], [part for part, there in seen["parts"].items() if there]) == (
        "remains",
        [str(program.ETCD / "member")],
    )
    assert seen["serves"] is False


@pytest.mark.parametrize("answers", [False, True])
def test_a_server_that_lacks_a_part_and_serves_is_told(program, capsys, monkeypatch, answers):
    lay_server(program)
    program.ADMIN.unlink()
    monkeypatch.setattr(program, "ask", lambda url: answers)
    seen = look(program, capsys)
    assert (seen["state"], seen["serves"]) == ("remains", answers)
    assert [part for part, there in seen["parts"].items() if not there] == [str(program.ADMIN)]


# --- Snapshots


@pytest.fixture
def etcd(program):
    """Have an etcd whose snapshots can be read."""
    lay_server(program)

    def save(*command):
        Path(command[-1]).write_text("snapshot")
        return 0, "", ""

    program.answers = {
        "snapshot save": save,
        "snapshot status": (0, json.dumps({"totalKey": 700, "totalSize": 4096}), ""),
    }
    return program


def test_snapshots_are_kept_for_root_and_the_oldest_go(etcd, tmp_path, monkeypatch):
    for day in (1, 2, 3, 4):
        monkeypatch.setattr(etcd.time, "strftime", lambda *_, day=day: f"etcd-2026010{day}T000000Z.db")
        etcd.backup(str(tmp_path / "backups"), "2")
    folder = tmp_path / "backups"
    assert sorted(file.name for file in folder.iterdir()) == ["etcd-20260103T000000Z.db", "etcd-20260104T000000Z.db"]
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("part", ["save", "status"])
def test_a_snapshot_that_fails_fails_its_unit_and_costs_none_of_the_others(etcd, tmp_path, part):
    etcd.backup(str(tmp_path / "backups"), "2")
    before = sorted((tmp_path / "backups").iterdir())
    etcd.answers[f"snapshot {part}"] = (1, "", "no space left on device")
    with pytest.raises(SystemExit, match="no space left on device"):
        etcd.backup(str(tmp_path / "backups"), "1")
    assert sorted((tmp_path / "backups").iterdir()) == before


def test_a_snapshot_with_nothing_in_it_is_none(etcd, tmp_path):
    etcd.answers["snapshot status"] = (0, json.dumps({"totalKey": 0, "totalSize": 20}), "")
    with pytest.raises(SystemExit, match="snapshot status"):
        etcd.backup(str(tmp_path / "backups"), "1")


def test_no_snapshot_is_begun_without_room(etcd, tmp_path, monkeypatch):
    monkeypatch.setattr(etcd, "SPARE_BYTES", 1e18)
    with pytest.raises(SystemExit, match=r"GB free; expected .* fix: make room"):
        etcd.backup(str(tmp_path / "backups"), "1")
    assert not any("snapshot save" in words for words, _ in etcd.asked)


# --- Copies before a reset


def keep(program, folder, capsys):
    program.keep(str(folder))
    return capsys.readouterr().out.strip()


def test_a_reset_of_an_etcd_that_answers_leaves_a_snapshot(etcd, tmp_path, capsys):
    etcd.answers["endpoint health"] = (0, "", "")
    lay(etcd.ROOT / "pki/ca.key", "key").chmod(0o600)
    copy = Path(keep(etcd, tmp_path / "backups", capsys))
    assert {str(path.relative_to(copy)) for path in copy.rglob("*")} == {"snapshot.db", "pki", "pki/ca.key"}
    assert ((copy / "snapshot.db").read_text(), (copy / "pki/ca.key").read_text()) == ("snapshot", "key")
    assert {path.stat().st_mode & 0o077 for path in (copy.parent, copy, copy / "snapshot.db", copy / "pki/ca.key")} == {0}
    assert (etcd.ETCD / "member/snap/db").exists()


@pytest.mark.parametrize("part", ["endpoint health", "snapshot save", "snapshot status"])
def test_a_reset_of_an_etcd_that_gives_no_snapshot_leaves_its_folder(etcd, tmp_path, capsys, part):
    etcd.answers = {part: (1, "", "no space left on device"), "endpoint health": (0, "", ""), **etcd.answers}
    etcd.answers[part] = (1, "", "no space left on device")
    copy = Path(keep(etcd, tmp_path / "backups", capsys))
    assert (copy / "member/snap/db").read_text() == "x" * 1000
    assert list((tmp_path / "backups").iterdir()) == [copy]
    assert not (etcd.ETCD / "member").exists()


@pytest.mark.parametrize("began", [False, True])
def test_where_nothing_was_stored_there_is_nothing_to_keep(program, tmp_path, capsys, began):
    if began:
        (program.ETCD / "member").mkdir()
    assert keep(program, tmp_path / "backups", capsys) == ""
    assert not (tmp_path / "backups").exists()


def test_what_failed_does_not_push_out_the_copy_of_a_cluster(program, tmp_path, capsys, monkeypatch):
    for number, size in enumerate([10, 5000, 30, 20, 15, 12], 1):
        lay(program.ETCD / "member/snap/db", "x" * size)
        monkeypatch.setattr(program.time, "strftime", lambda *_, number=number: f"reset-{number}")
        keep(program, tmp_path / "backups", capsys)
    assert sorted(copy.name for copy in (tmp_path / "backups").iterdir()) == ["reset-2", "reset-3", "reset-4", "reset-6"]


def test_snapshots_of_the_timer_leave_copies_alone(etcd, tmp_path, capsys):
    copy = Path(keep(etcd, tmp_path / "backups", capsys))
    lay(etcd.ETCD / "member/snap/db", "y")
    etcd.backup(str(tmp_path / "backups"), "1")
    etcd.backup(str(tmp_path / "backups"), "1")
    assert copy.exists()


# --- Certificates


def make_certificate(path, days):
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        "/dev/null",
        "-subj",
        "/CN=test",
        "-days",
        str(days),
    ]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return lay(path, text)


@pytest.fixture
def certificates(program):
    """Have certificates of a year, one of which ends in ten days; openssl is the machine's."""

    def openssl(*command):
        done = subprocess.run(command, input=program.asked[-1][1], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    program.answers = {"openssl": openssl}
    make_certificate(program.ROOT / "pki/apiserver.crt", 10)
    make_certificate(program.ROOT / "pki/etcd/server.crt", 365)
    make_certificate(program.ROOT / "pki/ca.crt", 5)
    admin = make_certificate(program.ROOT / "client.crt", 20).read_text()
    lay(program.ROOT / "admin.conf", f"    client-certificate-data: {base64.b64encode(admin.encode()).decode()}\n")
    return program


def test_certificates_that_end_are_found_and_cas_are_left_alone(certificates):
    assert certificates.list_ending(15) == [str(certificates.ROOT / "pki/apiserver.crt")]
    assert certificates.list_ending(30) == [str(certificates.ROOT / name) for name in ("admin.conf", "pki/apiserver.crt")]
    assert certificates.list_ending(5) == []


def renew(program, monkeypatch, days, members):
    restarted = []
    monkeypatch.setattr(program, "list_members", lambda: [{"name": name, "answers": up} for name, up in members.items()])
    monkeypatch.setattr(program, "restart", lambda *components: restarted.extend(components))
    program.answers["certs renew all"] = (0, "", "")
    program.renew(str(days))
    return restarted


def test_nothing_is_renewed_before_its_time(certificates, monkeypatch):
    assert renew(certificates, monkeypatch, 7, {"control-001": True}) == []
    assert not any("certs renew" in words for words, _ in certificates.asked)


def test_what_reads_renewed_certificates_is_restarted(certificates, monkeypatch):
    assert renew(certificates, monkeypatch, 15, {"control-001": True}) == list(certificates.COMPONENTS)
    assert not certificates.DUE.exists()


def test_a_restart_that_was_cut_off_is_made_up_for(certificates, monkeypatch):
    lay(certificates.DUE, "due\n")
    assert renew(certificates, monkeypatch, 5, {"control-001": True}) == list(certificates.COMPONENTS)
    assert not any("certs renew" in words for words, _ in certificates.asked)


def test_no_server_is_renewed_while_another_is_down(certificates, monkeypatch):
    with pytest.raises(SystemExit, match="etcd does not answer on control-002"):
        renew(certificates, monkeypatch, 15, {"control-001": True, "control-002": False})


def test_a_dead_server_does_not_let_the_others_run_out(certificates, monkeypatch):
    assert renew(certificates, monkeypatch, 60, {"control-001": True, "control-002": False}) == list(certificates.COMPONENTS)


@pytest.mark.parametrize("manifest", [BARE, NOTED, BARE.replace("metadata:\n", "metadata:\n  annotations: {}\n")])
def test_a_restart_changes_nothing_of_a_manifest_but_an_annotation(program, manifest):
    once, twice = (program.annotate(manifest, when) for when in ("2026-01-01", "2026-01-02"))
    assert program.annotate(once, "2026-01-02") == twice
    before, after = yaml.safe_load(manifest), yaml.safe_load(twice)
    assert after["metadata"]["annotations"].pop("gpuyard.io/restarted") == "2026-01-02"
    before["metadata"].setdefault("annotations", {})
    assert after == before
