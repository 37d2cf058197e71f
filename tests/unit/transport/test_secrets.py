"""Secrets: where they are looked up, and what is said where they are not, or lie open."""

import contextlib
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from cluster_model.transport.secrets import MissingSecretError, Secrets, open_secrets, variable


def write(folder, text, mode=0o600):
    file = folder / "secrets.yml"
    file.write_text(text)
    file.chmod(mode)
    return file


def open_found(folder, file=None):
    found, findings = open_secrets(folder, file)
    return found, [finding.id for finding in findings]


def test_the_environment_comes_before_the_file_and_a_device_before_all(tmp_path, monkeypatch):
    write(tmp_path, "bmc-password: all\nbmc-password/gpu-001: one\nother: file\n")
    found, ids = open_found(tmp_path)
    assert ids == []
    assert [found.get("bmc-password"), found.get("bmc-password", "gpu-001"), found.get("bmc-password", "gpu-002")] == [
        "all", "one", "all",
    ]  # fmt: skip
    monkeypatch.setenv("GPUYARD_SECRET_BMC_PASSWORD", "env")
    monkeypatch.setenv("GPUYARD_SECRET_BMC_PASSWORD__GPU_002", "env two")
    found, _ = open_found(tmp_path)
    assert [found.get("bmc-password"), found.get("bmc-password", "gpu-002"), found.get("other")] == ["env", "env two", "file"]
    assert found.get("bmc-password", "gpu-001") == "one"


def test_a_missing_secret_is_named_with_its_places():
    with pytest.raises(MissingSecretError, match=r"the secret a-b is neither in GPUYARD_SECRET_A_B nor in secrets.yml"):
        Secrets().get("a-b")
    with pytest.raises(MissingSecretError, match=r"^the secret a-b is empty in GPUYARD_SECRET_A_B$"):
        Secrets({"GPUYARD_SECRET_A_B": ""}).get("a-b", "gpu-001")
    with pytest.raises(MissingSecretError, match=r"^the secret a-b is empty in GPUYARD_SECRET_A_B, and in secrets.yml$"):
        Secrets({"GPUYARD_SECRET_A_B": ""}, {"a-b": ""}).get("a-b")
    assert Secrets({"GPUYARD_SECRET_A_B": ""}, {"a-b": "x"}).get("a-b") == "x"
    assert variable("a-b/c.d") == "GPUYARD_SECRET_A_B__C_D"


def test_without_a_file_there_is_the_environment_alone(tmp_path):
    assert open_found(tmp_path)[1] == []
    assert open_found(tmp_path, tmp_path / "named.yml")[1] == ["SEC001"]


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_file_that_others_can_read_is_refused(tmp_path, mode):
    write(tmp_path, "a: b\n", mode)
    assert open_found(tmp_path)[1] == ["SEC002"]


@pytest.mark.parametrize("text", ["- a\n", "a: 1\n", "a: {b: c}\n", "a: [\n", "1: b\n", "a:\n", "a: 2026-01-01\n"])
def test_what_is_no_mapping_of_texts_is_refused_without_quoting_it(tmp_path, text):
    write(tmp_path, text)
    found, findings = open_secrets(tmp_path)
    assert [finding.id for finding in findings] == ["SEC003"]
    assert found.values == {}


@pytest.mark.parametrize("text", ["[" * 100_000, 'bmc-password: "a\\0b"\n'])
def test_what_no_program_could_take_is_refused(tmp_path, text):
    write(tmp_path, text)
    assert open_found(tmp_path)[1] == ["SEC003"]


def test_a_file_without_end_is_not_read_to_its_end(tmp_path):
    (tmp_path / "secrets.yml").symlink_to("/dev/zero")
    _, findings = open_secrets(tmp_path)
    assert [finding.id for finding in findings] == ["SEC001"]
    assert "it is a device, not a file" in findings[0].summary
    _, findings = open_secrets(tmp_path, tmp_path / "secrets.yml")
    assert "it has more than 1000000 bytes" in findings[0].summary


@pytest.mark.parametrize("is_link", [False, True])
def test_a_fifo_beside_the_intent_is_not_waited_for(tmp_path, is_link):
    os.mkfifo(tmp_path / ("fifo" if is_link else "secrets.yml"))
    if is_link:
        (tmp_path / "secrets.yml").symlink_to("fifo")
    _, findings = open_secrets(tmp_path)
    assert [finding.id for finding in findings] == ["SEC001"]
    assert "it is a FIFO, not a file" in findings[0].summary


def test_a_pipe_that_is_named_is_read(tmp_path):
    reading, writing = os.pipe()
    os.write(writing, b"bmc-password: hunter2\n")
    os.close(writing)
    found, ids = open_found(tmp_path, Path(f"/dev/fd/{reading}"))
    os.close(reading)
    assert (ids, found.get("bmc-password")) == ([], "hunter2")


def test_a_wrong_line_is_not_quoted(tmp_path):
    write(tmp_path, "a: 'hunter2\nb: [\n")
    _, findings = open_secrets(tmp_path)
    assert findings and "hunter2" not in repr(findings)


def test_secrets_do_not_show_themselves():
    assert "hunter2" not in repr(Secrets({"X": "hunter2"}, {"a": "hunter2"}))


def test_ansible_vault_opens_the_file(tmp_path, monkeypatch):
    file = write(tmp_path, "bmc-password: hunter2\n")
    password = tmp_path / "vault-password"
    password.write_text("open sesame\n")
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(password))
    subprocess.run(["ansible-vault", "encrypt", str(file)], check=True, capture_output=True)
    assert "hunter2" not in file.read_text()
    file.chmod(0o644)  # ciphertext may be committed
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # gpuyard run by its path, with no virtual environment entered
    found, ids = open_found(tmp_path)
    assert ids == [] and found.get("bmc-password") == "hunter2"
    password.write_text("wrong\n")
    (finding,) = open_secrets(tmp_path)[1]
    assert (finding.id, finding.summary) == ("SEC001", f"the vault password of {file} is wrong")
    assert finding.actual == f"that in {password}, named by ANSIBLE_VAULT_PASSWORD_FILE"
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(tmp_path / "nowhere"))
    (finding,) = open_secrets(tmp_path)[1]
    assert finding.summary == f"ansible-vault cannot open {file}" and "nowhere was not found" in finding.actual


@pytest.fixture
def vault(tmp_path, monkeypatch):
    """Return an encrypted file whose password is not told."""
    file = write(tmp_path, "bmc-password: hunter2\n")
    (tmp_path / "password").write_text("open sesame\n")
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)
    done = ["ansible-vault", "encrypt", "--vault-password-file", str(tmp_path / "password"), str(file)]
    subprocess.run(done, check=True, capture_output=True)
    return file


@pytest.mark.parametrize(
    ("content", "mode", "actual", "fix"),
    [
        ("", 0o600, "the password file {} is empty", "write the vault's password into {}"),
        ("#!/bin/sh\n", 0o700, "the program {} printed no password", "let {} print the vault's password"),
        ("hunter2", 0o700, "{} is marked as a program, and cannot be run as one", "chmod 600 {} if it holds the password itself"),
    ],
)
def test_a_password_file_that_gives_none_is_told_in_words(vault, tmp_path, monkeypatch, content, mode, actual, fix):
    named = tmp_path / "given"
    named.write_text(content)
    named.chmod(mode)
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(named))
    (finding,) = open_secrets(tmp_path)[1]
    assert finding.summary == f"{vault} is encrypted, and there is no vault password"
    assert finding.actual == actual.format(named) and finding.fix.startswith(fix.format(named))


@pytest.mark.parametrize("kept", [40, 200, -20])
def test_a_vault_that_is_cut_short_is_damaged_whatever_the_password(vault, tmp_path, monkeypatch, kept):
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(tmp_path / "password"))
    vault.write_text(vault.read_text()[:kept])
    (finding,) = open_secrets(tmp_path)[1]
    assert finding.summary == f"{vault} is damaged" and "password" not in finding.fix


@pytest.mark.parametrize("typed", [b"\x04", b"\n", b"open sesame\n"])
def test_a_terminal_is_asked_also_where_the_variable_is_empty(vault, tmp_path, typed):
    """On a terminal of its own: Ctrl-D, Enter alone, and the password."""
    shown = "import sys; from pathlib import Path; from cluster_model.transport.secrets import open_secrets as o; "
    shown += "s, f = o(Path(sys.argv[1])); print([*s.values], [x.actual for x in f])"
    child, terminal = pty.fork()
    if child == 0:
        os.environ["ANSIBLE_VAULT_PASSWORD_FILE"] = ""
        os.execv(sys.executable, [sys.executable, "-c", shown, str(tmp_path)])
    told = b""
    with contextlib.suppress(OSError):  # the terminal's other side is closed
        while piece := os.read(terminal, 1000):
            told += piece
            if told.endswith(b"password: "):
                os.write(terminal, typed)
    os.waitpid(child, 0)
    os.close(terminal)
    wanted = {
        b"\x04": b"[] ['ANSIBLE_VAULT_PASSWORD_FILE is empty, and none was typed']",
        b"\n": b"[] ['the answer was empty']",
        b"open sesame\n": b"['bmc-password'] []",
    }
    assert wanted[typed] in told


@pytest.mark.parametrize("waits", [False, True])
def test_a_missing_vault_password_is_told_where_nobody_can_be_asked(tmp_path, waits):
    """In a session of its own, as of a job: with nothing on stdin, and with a pipe that nobody writes to."""
    file = write(tmp_path, "bmc-password: hunter2\n")
    (tmp_path / "password").write_text("open sesame\n")
    subprocess.run(
        ["ansible-vault", "encrypt", "--vault-password-file", str(tmp_path / "password"), str(file)],
        check=True,
        capture_output=True,
    )
    shown = "import sys; from pathlib import Path; from cluster_model.transport.secrets import open_secrets as o; "
    shown += "(f,) = o(Path(sys.argv[1]))[1]; print(f.id, f.summary, f.actual, f.fix, sep='|')"
    reading, writing = os.pipe()
    done = subprocess.run(
        [sys.executable, "-c", shown, str(tmp_path)],
        stdin=reading if waits else subprocess.DEVNULL,
        env={name: value for name, value in os.environ.items() if name != "ANSIBLE_VAULT_PASSWORD_FILE"},
        capture_output=True, text=True, check=False, start_new_session=True,
    )  # fmt: skip
    os.close(reading)
    os.close(writing)
    id_, summary, actual, fix = done.stdout.strip().split("|")
    assert (id_, summary) == ("SEC001", f"{file} is encrypted, and there is no vault password")
    assert "EOFError" not in done.stdout and done.stderr == ""
    assert "no terminal to ask on" in actual and "ANSIBLE_VAULT_PASSWORD_FILE" in fix
