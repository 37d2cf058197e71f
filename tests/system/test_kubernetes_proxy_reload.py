"""What the role kubernetes_node does with a HAProxy that runs, when its file changes: a real one, and a double of systemctl."""

import os
import shutil
import signal
import socket
import subprocess
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.slowness import wait_for

SCRIPT = Path(__file__).parents[2] / "roles/kubernetes_node/files/apply.sh"
CONFIG = """global
    {remark}
defaults
    mode tcp
    timeout connect 3s
    timeout client 5m
    timeout server 5m
frontend kubernetes
    bind 127.0.0.1:{port}
    default_backend control
backend control
    server one 127.0.0.1:{server}
"""
SYSTEMCTL = """#!/bin/sh
case $1 in
  show) echo {main} ;;
  reload-or-restart) kill -USR2 {main} ;;
  *) exit 1 ;;
esac
"""


def listen():
    found = socket.create_server(("127.0.0.1", 0))
    found.settimeout(30)
    return found, found.getsockname()[1]


def list_workers(main):
    """Return the processes of HAProxy below the one that the service manager started."""
    return Path(f"/proc/{main}/task/{main}/children").read_text().split()


@pytest.fixture
def yard(tmp_path):
    """Return a function that has HAProxy read another file, and tells how that went; the server behind it, port and process."""
    haproxy = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")
    if not haproxy:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_FRR") else pytest.skip)("needs haproxy")
    server, server_port = listen()
    other, port = listen()
    other.close()
    config = tmp_path / "haproxy.cfg"

    def write(to=port, remark=""):
        config.write_text(CONFIG.format(port=to, server=server_port, remark=remark))

    write()
    proxy = subprocess.Popen([haproxy, "-W", "-f", config], stderr=(tmp_path / "stderr").open("w"), start_new_session=True)
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name, text in {"systemctl": SYSTEMCTL.format(main=proxy.pid), "journalctl": "#!/bin/sh\necho the reason\n"}.items():
        (bin_folder / name).write_text(text)
        (bin_folder / name).chmod(0o755)

    def change(**changes):
        write(**changes)
        command = ["/bin/sh", "-c", SCRIPT.read_text(), "apply", "/etc/haproxy/haproxy.cfg"]
        environment = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}"}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    try:
        wait_for(lambda: list_workers(proxy.pid), 30, (tmp_path / "stderr").read_text)
        yield change, server, port, proxy.pid
    finally:
        with suppress(ProcessLookupError):
            os.killpg(proxy.pid, signal.SIGKILL)
        proxy.wait()
        server.close()


def connect(server, port):
    """Return both ends of a connection through the proxy."""
    near = socket.create_connection(("127.0.0.1", port), timeout=30)
    far, _ = server.accept()
    far.settimeout(30)
    return near, far


def test_what_is_connected_stays_connected(yard):
    change, server, port, main = yard
    near, far = connect(server, port)
    (old,) = list_workers(main)
    done = change(remark="maxconn 100")
    assert done.returncode == 0, done.stderr
    workers = list_workers(main)
    assert old in workers and len(workers) == 2
    with closing(near), closing(far):
        near.sendall(b"still there")
        assert far.recv(11) == b"still there"
    for each in connect(server, port):  # by what was read now
        each.close()
    wait_for(lambda: old not in list_workers(main), 30, lambda: f"{old} is still there")


def test_a_configuration_that_is_not_loaded_is_told_and_what_was_read_goes_on(yard):
    """As where its port is taken: the signal is sent, and nobody says that nothing came of it."""
    change, server, port, main = yard
    workers = list_workers(main)
    done = change(to=server.getsockname()[1])
    assert done.returncode == 1
    assert "the reason\nhaproxy does not load what was rendered; fix: see what it says above, then run again" in done.stderr
    assert list_workers(main) == workers
    for each in connect(server, port):
        each.close()
    assert change().returncode == 0
