"""The proxy by which nodes ask the API server: HAProxy as rendered, in front of doubles that speak TLS."""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from cluster_model.render.services.kubernetes import render_kubernetes
from tests.planned import open_example
from tests.slowness import wait_for

SPACE = f"gyk{os.getpid()}"
PATIENCE_S = 60
DOUBLE = """
import http.server, ssl, sys
address, name, certificate, ready = sys.argv[1:]

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        # What an API server that starts or stops says, beside that it is there.
        status = 200 if self.path != "/readyz" or open(ready).read() == "ok" else 500
        self.send_response(status)
        self.end_headers()
        self.wfile.write(name.encode())

    def log_message(self, *args):
        pass

server = http.server.ThreadingHTTPServer((address, 6443), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate)
# Else the handshake of one client keeps out the others.
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print("listening", flush=True)
server.serve_forever()
"""
CLIENT = """
import http.client, ssl, sys
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
for _ in range(int(sys.argv[1])):
    connection = http.client.HTTPSConnection("127.0.0.1", 7443, timeout=10, context=context)
    try:
        connection.request("GET", "/who")
        print(connection.getresponse().read().decode())
    except (OSError, http.client.HTTPException):
        print("none")
    connection.close()
"""


class Yard:
    """Three control servers, and a proxy beside them."""

    def __init__(self, folder, nodes):
        self.folder, self.nodes, self.doubles, self.proxy = folder, nodes, {}, None
        self.said = (folder / "stderr").open("w")

    def start(self, *command):
        return subprocess.Popen(["ip", "netns", "exec", SPACE, *command], stdout=subprocess.PIPE, stderr=self.said, text=True)

    def start_server(self, name):
        self.say(name, "ok")
        arguments = self.nodes[name], name, str(self.folder / "both.pem"), str(self.folder / name)
        self.doubles[name] = self.start(sys.executable, "-c", DOUBLE, *arguments)
        assert self.doubles[name].stdout.readline() == "listening\n"

    def say(self, name, word):
        (self.folder / name).write_text(word)

    def ask(self, times=6):
        """Return who answered, a new connection each time."""
        return self.start(sys.executable, "-c", CLIENT, str(times)).communicate()[0].split()

    def wait_until(self, names):
        """Wait until these answer, and nobody else."""
        wait_for(lambda: set(self.ask(9)) == set(names), PATIENCE_S, lambda: f"{self.ask(9)}, not {names}")

    def stop(self, name):
        self.doubles[name].kill()
        self.doubles[name].wait()


@pytest.fixture(scope="module")
def yard(tmp_path_factory):
    haproxy = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")
    if os.geteuid() or not haproxy:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_FRR") else pytest.skip)("needs root and haproxy")
    opened, folder = open_example("lab"), tmp_path_factory.mktemp("proxy")
    config = dict(render_kubernetes(opened.plan, opened.catalogue))["kubernetes/endpoint/haproxy.cfg"]
    (folder / "haproxy.cfg").write_bytes(config)
    nodes = {node.name: node.address for node in opened.plan.kubernetes.nodes if node.is_control}
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    new = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=kubernetes",
        "-keyout",
        key,
        "-out",
        certificate,
    ]
    subprocess.run(new, check=True, capture_output=True)
    (folder / "both.pem").write_bytes(key.read_bytes() + certificate.read_bytes())
    yard = Yard(folder, nodes)
    subprocess.run(["ip", "netns", "add", SPACE], check=True)
    try:
        subprocess.run(["ip", "-n", SPACE, "link", "set", "lo", "up"], check=True)
        for address in nodes.values():
            subprocess.run(["ip", "-n", SPACE, "address", "add", f"{address}/32", "dev", "lo"], check=True)
        for name in nodes:
            yard.start_server(name)
        yard.proxy = yard.start(haproxy, "-db", "-f", str(folder / "haproxy.cfg"))
        yield yard
    finally:
        left = subprocess.run(["ip", "netns", "pids", SPACE], capture_output=True, text=True, check=True).stdout
        for one in left.split():
            with suppress(ProcessLookupError):
                os.kill(int(one), signal.SIGKILL)
        for process in (*yard.doubles.values(), *([yard.proxy] if yard.proxy else [])):
            process.wait()
        subprocess.run(["ip", "netns", "del", SPACE], check=True)


def test_all_control_servers_are_asked(yard):
    yard.wait_until(yard.nodes)


def test_a_server_that_is_not_ready_is_asked_nothing_until_it_is(yard):
    yard.wait_until(yard.nodes)
    first, *others = yard.nodes
    yard.say(first, "not yet")
    yard.wait_until(others)
    yard.say(first, "ok")
    yard.wait_until(yard.nodes)


def test_no_request_is_lost_when_a_server_dies(yard):
    yard.wait_until(yard.nodes)
    first, *others = yard.nodes
    yard.stop(first)
    assert set(yard.ask(30)) == set(others)
    yard.start_server(first)
    yard.wait_until(yard.nodes)


def test_a_server_that_hangs_is_left(yard):
    yard.wait_until(yard.nodes)
    first, *others = yard.nodes
    yard.doubles[first].send_signal(signal.SIGSTOP)
    try:
        yard.wait_until(others)
    finally:
        yard.doubles[first].send_signal(signal.SIGCONT)
    yard.wait_until(yard.nodes)


def test_a_host_that_is_silent_is_left(yard):
    """Its packets go to a neighbor that does not take them, and nobody says so."""
    yard.wait_until(yard.nodes)
    first, *others = yard.nodes
    away, port = f"{yard.nodes[first]}/32", ("dev", "silent")
    for words in (
        ("link", "add", "silent", "type", "veth", "peer", "name", "nobody"),
        ("link", "set", "silent", "up"),
        ("link", "set", "nobody", "up"),
        ("address", "del", away, "dev", "lo"),
        ("route", "add", away, *port),
        ("neighbor", "add", yard.nodes[first], "lladdr", "02:00:00:00:00:01", "nud", "permanent", *port),
    ):
        subprocess.run(["ip", "-n", SPACE, *words], check=True)
    yard.wait_until(others)
    subprocess.run(["ip", "-n", SPACE, "link", "del", "silent"], check=True)
    subprocess.run(["ip", "-n", SPACE, "address", "add", away, "dev", "lo"], check=True)
    yard.wait_until(yard.nodes)


def test_a_request_is_refused_and_not_kept_where_nobody_answers(yard):
    yard.wait_until(yard.nodes)
    for name in yard.nodes:
        yard.stop(name)
    assert yard.ask(1) == ["none"]
    last = list(yard.nodes)[-1]
    yard.start_server(last)
    yard.wait_until([last])
    for name in list(yard.nodes)[:-1]:
        yard.start_server(name)
    yard.wait_until(yard.nodes)
