"""Host keys, against a real sshd: no session, and no password, for one that is not known."""

import os
import re
import shutil
import socket
import subprocess
import sys

import pytest

from cluster_model.transport.host import answers_ssh, open_host, read_host_key
from cluster_model.transport.host_keys import read_trust
from cluster_model.transport.session import SHELL, Login, Target, UnreachableError
from cluster_model.transport.switch.session import open_switch
from tests.slowness import stretch, wait_for

PATIENCE_S = 120
ADDRESS = f"127.93.{os.getpid() // 256 % 256}.{os.getpid() % 256}"
"""Of this process alone, so that nobody takes a port that was free when it was looked for."""
SSHD = shutil.which("sshd", path="/usr/sbin:/usr/bin")
PASSWORD = "correct horse battery"
SWEEP = """
import sys
from pathlib import Path
from cluster_model.transport.session import Login, Target
from cluster_model.transport.sweep import sweep
address, port, key, config, new = sys.argv[1:]
login = Login("root", Path(key), ssh_config=Path(config), trust_new=bool(new))
reply = sweep([Target("n1", address, port=int(port))], "print('hello')", login, 1)["n1"]
print(reply.text.strip() or reply.reason)
"""


class Server:
    """An sshd on the loopback, what it logs, and the files of whoever visits it."""

    def __init__(self, folder):
        self.folder, self.known, self.log = folder, folder / "known_hosts", folder / "log"
        with socket.create_server((ADDRESS, 0)) as line:
            self.port = line.getsockname()[1]
        for name in ("host", "other", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
        config = folder / "sshd_config"
        config.write_text(
            f"ListenAddress {ADDRESS}:{self.port}\nHostKey {folder}/host\nPidFile none\nUsePAM no\nStrictModes no\n"
            f"AuthorizedKeysFile {folder}/user.pub\nPermitRootLogin yes\nLogLevel DEBUG1\nSubsystem sftp internal-sftp\n"
        )
        with self.log.open("w") as log:
            self.process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(config)], stderr=log, stdin=subprocess.DEVNULL)
        wait_for(lambda: self.process.poll() is not None or answers_ssh(ADDRESS, self.port), PATIENCE_S, self.log.read_text)
        assert self.process.poll() is None, self.log.read_text()
        self.configure("")

    def configure(self, more):
        self.config = self.folder / "ssh_config"
        self.config.write_text(f"Host *\n  UserKnownHostsFile {self.known}\n  GlobalKnownHostsFile /dev/null\n{more}")

    def know(self, name):
        key = " ".join((self.folder / f"{name}.pub").read_text().split()[:2])
        self.known.write_text(f"# mine\n[{ADDRESS}]:{self.port} {key}\n")

    def login(self, **more):
        return Login("root", self.folder / "user", ssh_config=self.config, connect_s=stretch(60), answer_s=stretch(60), **more)

    def target(self, driver=""):
        return Target("n1", ADDRESS, driver, self.port)

    def fingerprint(self, name):
        told = subprocess.run(["ssh-keygen", "-lf", str(self.folder / f"{name}.pub")], capture_output=True, text=True, check=True)
        return told.stdout.split()[1]


@pytest.fixture
def server(tmp_path, machine_tier):
    if SSHD is None:
        pytest.skip("sshd missing (package openssh-server)")
    (tmp_path / "run").mkdir()
    subprocess.run(["mkdir", "-p", "/run/sshd"], check=False)
    server = Server(tmp_path)
    yield server
    server.process.terminate()
    server.process.wait(stretch(PATIENCE_S))


def ask_switch(server, **more):
    session = open_switch(server.target(SHELL), server.login(**more))
    try:
        return session.ask(["echo hello"])[0].text.strip()
    finally:
        session.close()


def ask_host(server, **more):
    return open_host(server.target(), server.login(**more)).ask(["echo hello"])[0].text.strip()


@pytest.mark.parametrize("ask", [ask_switch, ask_host])
def test_a_host_key_that_is_known_is_taken(server, ask):
    server.know("host")
    assert ask(server) == "hello"
    assert server.known.read_text().count("\n") == 2


@pytest.mark.parametrize("ask", [ask_switch, ask_host])
def test_a_host_key_that_is_not_known_is_refused(server, ask):
    with pytest.raises(UnreachableError, match=r"^its host key is not in known_hosts") as caught:
        ask(server)
    if ask is ask_switch:
        assert server.fingerprint("host") in str(caught.value)
    assert not server.known.exists() or server.known.read_text() == ""


def test_a_server_that_is_not_known_is_sent_no_password_and_no_key(server):
    login = Login("root", password=PASSWORD, ssh_config=server.config, connect_s=stretch(60))
    with pytest.raises(UnreachableError, match="not in known_hosts"):
        open_switch(server.target(SHELL), login)
    visit = re.compile(r"kex: algorithm.*(closed|reset|disconnect)", re.DOTALL | re.IGNORECASE)  # from its first word to its last
    wait_for(lambda: visit.search(server.log.read_text()), PATIENCE_S, server.log.read_text)
    assert "userauth-request" not in server.log.read_text()


@pytest.mark.parametrize("ask", [ask_switch, ask_host])
@pytest.mark.parametrize("more", [{}, {"trust_new": True}])
def test_a_host_key_that_changed_is_refused_whatever_is_said(server, ask, more):
    server.know("other")
    with pytest.raises(UnreachableError, match=r"^its host key is another one than in known_hosts") as caught:
        ask(server, **more)
    if ask is ask_switch:
        assert f"{server.fingerprint('host')}, not ssh-ed25519 {server.fingerprint('other')}" in str(caught.value)


@pytest.mark.parametrize("ask", [ask_switch, ask_host])
def test_a_new_host_key_is_trusted_by_a_word_and_from_then_on(server, ask):
    server.known.write_text("# mine" if ask is ask_switch else "# mine\n")  # OpenSSH itself wants an end of line there
    assert ask(server, trust_new=True) == "hello"
    assert ask_switch(server) == ask_host(server) == "hello"
    lines = server.known.read_text().splitlines()
    assert lines[0] == "# mine" and f"[{ADDRESS}]:{server.port} ssh-ed25519 " in server.known.read_text()


@pytest.mark.parametrize("ask", [ask_switch, ask_host])
def test_the_openssh_configuration_has_a_word_in_it(server, ask):
    server.configure("  StrictHostKeyChecking accept-new\n")
    assert ask(server) == "hello"
    assert server.known.read_text()


def test_without_a_configuration_it_is_the_users_own_files(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    trust, files = read_trust(Login(), "192.0.2.1")
    assert (trust, files[0]) == ("yes", tmp_path / ".ssh/known_hosts")
    assert read_trust(Login(trust_new=True), "192.0.2.1")[0] == "accept-new"
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/config").write_text("Host 192.0.2.*\n  StrictHostKeyChecking no\n  UserKnownHostsFile /a /b\n")
    trust, files = read_trust(Login(), "192.0.2.1")
    assert (trust, [str(file) for file in files[:2]]) == ("no", ["/a", "/b"])


def sweep_host(server, new=""):
    words = [sys.executable, "-c", SWEEP, ADDRESS, str(server.port), str(server.folder / "user"), str(server.config), new]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=stretch(PATIENCE_S * 3))
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_sweep_judges_host_keys_likewise(server):
    assert sweep_host(server) == "its host key is not in known_hosts"
    assert sweep_host(server, "new") == "hello"
    assert sweep_host(server) == "hello"
    server.know("other")
    assert sweep_host(server, "new") == "its host key is another one than in known_hosts"


def test_the_key_that_is_shown_is_read_without_a_login(server):
    shown = " ".join((server.folder / "host.pub").read_text().split()[:2])
    assert read_host_key(ADDRESS, server.port, stretch(30)) == shown
    with socket.create_server((ADDRESS, 0)) as line:
        port = line.getsockname()[1]
    assert read_host_key(ADDRESS, port, stretch(5)) == ""
