"""A boot server that runs on loopback, its files, and ways to ask it, politely and otherwise."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from contextlib import suppress

from cluster_model.deploy.boot_files import BootFiles
from cluster_model.deploy.boot_gate import Gate
from cluster_model.deploy.boot_http import BootServer
from cluster_model.deploy.boot_server import BootDesk
from cluster_model.deploy.journal import Journal
from cluster_model.render.manifest import build_manifest
from cluster_model.transport.secrets import Secrets
from tests.slowness import stretch, wait_for

MAC, PLANNED = "02:00:00:00:00:01", "127.0.0.1"
HOST = {"mac": MAC, "address": PLANNED, "serial": "S1", "group": "g", "method": "image", "image": "os"}
ELSEWHERE = {**HOST, "mac": "02:00:00:00:00:02", "address": "10.0.0.2", "serial": ""}
SCRIPT = f"/v1/boot/{MAC.replace(':', '-')}.ipxe?serial=S1"
PATIENCE_S = stretch(120)
"""How long a connection waits for what must come: a busy machine is slow, and no test is about speed."""


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


class Yard:
    """A boot server that runs, and its files."""

    def __init__(self, folder, state=None, gate=None):
        self.folder = folder
        tree, self.cluster = folder / "tree", "c"
        self.index = {
            "format": "gpuyard-boot-1",
            "server": {"name": "c", "address": PLANNED},
            "hosts": {"one": HOST, "two": ELSEWHERE},
            "switches": {
                "sw": {"address": "127.0.0.1", "serial": "", "nos": "eos"},
                "leaf": {"address": "127.0.0.5", "serial": "LEAF5", "nos": "cumulus"},
                "spine": {"address": "127.0.0.6", "serial": "SPINE6", "nos": "sonic"},
                "core": {"address": "127.0.0.7", "serial": "CORE7", "nos": "eos"},
            },
        }
        secret = ["secret:ops-password"]
        self.references = written = {"switches/leaf/startup.yaml": secret, "switches/spine/chpasswd": secret}
        for name in ("boot", "local", "unknown"):
            self.write(f"tree/boot/ipxe/{name}.ipxe", f"#!ipxe {name}\n")
        for name in ("one", "two"):
            self.write(f"tree/boot/ipxe/hosts/{name}.ipxe", f"#!ipxe token={{{{gpuyard-secret:boot-token-{name}}}}}\n")
            identity = {"name": name, "password": "{{gpuyard-secret:ops-password}}", "sum": "{{gpuyard-image:os}}"}
            self.write(f"tree/boot/hosts/{name}.json", json.dumps(identity))
            self.write(f"tree/boot/autoinstall/{name}/user-data", 'p: "{{gpuyard-secret:ops-password}}"\n')
            written[f"boot/ipxe/hosts/{name}.ipxe"] = [f"secret:boot-token-{name}"]
            written[f"boot/hosts/{name}.json"] = ["image:os", "secret:ops-password"]
            written[f"boot/autoinstall/{name}/user-data"] = ["secret:ops-password"]
        self.write("tree/boot/ztp/sonic.sh", "#!/bin/sh\n")
        self.write("tree/switches/sw/startup.cfg", "hostname sw\n")
        self.write("tree/switches/other/startup.cfg", "hostname other\n")
        self.write("tree/switches/leaf/startup.yaml", 'password: "{{gpuyard-secret:ops-password}}"\n')
        self.write("tree/switches/spine/config_db.json", "{}\n")
        self.write("tree/switches/spine/chpasswd", "admin:{{gpuyard-secret:ops-password}}\n")
        self.write("tree/switches/core/startup.cfg", "hostname core\n")
        self.render()
        self.write("images/os/image.json", json.dumps({"sha256": "ab" * 32}))
        self.write("images/os/rootfs.tar.zst", "0123456789")
        self.write("deploy/vmlinuz", "kernel")
        self.write("loaders/ipxe.efi", "efi")
        self.write("loaders/other.efi", "no")
        self.write("secret.txt", "top secret")
        self.environment = {"GPUYARD_SECRET_OPS_PASSWORD": "$6$hash"}
        files = BootFiles(tree, folder / "images", folder / "deploy", (folder / "loaders",), Secrets(self.environment))
        self.journal, self.clock = Journal(state or folder / "state"), Clock()
        self.desk = BootDesk(files, self.journal, self.clock)
        self.server = BootServer("127.0.0.1", 0, self.desk, gate or Gate(self.desk.is_planned))
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def write(self, path, text):
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def render(self):
        """Write the index and the manifest of what lies in the tree by now."""
        tree = self.folder / "tree"
        self.write("tree/boot/boot.json", json.dumps(self.index))
        files = {str(path.relative_to(tree)): path.read_bytes() for path in tree.rglob("*") if path.is_file()}
        self.write("tree/manifest.json", build_manifest(self.cluster, "1", "d", files, self.references).decode())

    def ask(self, path, method="GET", body=None, headers=None, source="127.0.0.1"):
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S, source_address=(source, 0))
        try:
            line.request(method, path, body, headers or {})
            answer = line.getresponse()
            return answer.status, answer.read().decode(), answer
        finally:
            line.close()

    def connect(self, source="127.0.0.1"):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S, source_address=(source, 0))

    def say(self, data, source="127.0.0.1"):
        """Send bytes, end sending, and return all that comes back."""
        with self.connect(source) as line:
            with suppress(OSError):  # it may have answered the beginning, and gone
                line.sendall(data)
                line.shutdown(socket.SHUT_WR)
            return read_all(line)

    def begin(self, name="one"):
        self.journal.write(name, "begun", state="planned", reinstall=False)

    def token(self):
        self.begin()
        _, script, _ = self.ask(f"{SCRIPT}&uuid=u")
        return script.rpartition("token=")[2].strip()

    def report(self, token, **report):
        return self.ask(f"/v1/report/one?token={token}", "POST", json.dumps(report))[:2]


def read_all(line):
    """Return what comes until the other side closes."""
    found = b""
    try:
        while data := line.recv(65536):
            found += data
    except ConnectionResetError:
        pass
    return found


def wait_until(holds):
    """Wait until something is so."""
    wait_for(holds, 120, "it never came to be", every_s=0.02)
