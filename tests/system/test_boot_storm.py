"""A whole cluster boots at once while one machine, then another of the plan, holds what connections it can get.

`gpuyard boot-server` runs as it does in its service, with a soft limit of 1,024 open files. Every node has its own address on
loopback, asks what to boot, fetches its identity and an image, and reports until it is installed.
"""

import asyncio
import json
import os
import resource
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cluster_model.deploy.journal import Journal
from cluster_model.pipeline import inspect
from cluster_model.render.manifest import MANIFEST, sum_files
from cluster_model.render.tree import render_tree
from tests.slowness import stretch, wait_for

ROOT = Path(__file__).parents[2]
SERVER = f"127.94.{os.getpid() // 256 % 256}.{os.getpid() % 256}"
"""Of this process alone, so that nobody takes a port that was free when it was looked for."""
IMAGE_BYTES = 1 << 20
ATTACKERS = ("127.9.9.9", "127.1.0.1")
"""A stranger, and the address of the first node."""
DRIPPING = 1100
PATIENCE_S = 900
SIZES = [60, pytest.param(2000, marks=pytest.mark.slow)]


def address_of(number):
    return f"127.1.{number // 200}.{number % 200 + 1}"


def make_tree(folder, count):
    """Render the lab, and put other hosts into its boot server's index."""
    opened = inspect(ROOT / "inventory/lab")
    files = dict(render_tree(opened.plan, opened.catalogue, {"boot"}))
    index, manifest = json.loads(files["boot/boot.json"]), json.loads(files[MANIFEST])
    index["hosts"] = {}
    for number in range(count):
        name = f"node-{number:04}"
        mac = f"02:00:00:01:{number >> 8:02x}:{number & 255:02x}"
        index["hosts"][name] = {"mac": mac, "address": address_of(number), "serial": f"S{number}"}
        files[f"boot/ipxe/hosts/{name}.ipxe"] = f"#!ipxe\ntoken={{{{gpuyard-secret:boot-token-{name}}}}}\n".encode()
        files[f"boot/hosts/{name}.json"] = json.dumps({"name": name}).encode()
        manifest["references"][f"boot/ipxe/hosts/{name}.ipxe"] = [f"secret:boot-token-{name}"]
    files["boot/boot.json"] = json.dumps(index).encode()
    files[MANIFEST] = json.dumps(manifest | {"files": sum_files(files)}).encode()
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return index["hosts"]


async def ask(port, address, method, path, body=b""):
    """Return status and body of one request on a connection of its own."""
    reader, writer = await asyncio.open_connection(SERVER, port, local_addr=(address, 0))
    head = f"{method} {path} HTTP/1.1\r\nHost: b\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    answer = await reader.read()
    writer.close()
    top, _, rest = answer.partition(b"\r\n\r\n")
    return int(top.split(b" ", 2)[1]), rest


async def boot(port, name, host):
    """Boot a node from its first question to its last report; return its statuses."""
    address, mac = host["address"], host["mac"].replace(":", "-")
    seen = [(await ask(port, address, "GET", "/boot.ipxe"))[0]]
    status, script = await ask(port, address, "GET", f"/v1/boot/{mac}.ipxe?serial={host['serial']}&uuid=u")
    token = script.decode().rpartition("token=")[2].strip()
    seen += [status, (await ask(port, address, "GET", f"/v1/host/{name}.json?token={token}"))[0]]
    status, image = await ask(port, address, "GET", "/images/os/image.tar")
    seen += [status if len(image) == IMAGE_BYTES else len(image)]
    for state, step in (("installing", "disks"), ("installed", "done")):
        body = json.dumps({"state": state, "step": step}).encode()
        seen += [(await ask(port, address, "POST", f"/v1/report/{name}?token={token}", body))[0]]
    return seen


async def drip(port, address, stop, held):
    """Hold a connection by a byte in a while, and take another when it is closed."""
    while not stop.is_set():
        try:
            reader, writer = await asyncio.open_connection(SERVER, port, local_addr=(address, 0))
            held[address] = held.get(address, 0) + 1
            writer.write(b"GET /boot.ipxe HTTP/1.1\r\nX: ")
            while not stop.is_set() and not reader.at_eof() and not writer.is_closing():
                writer.write(b"x")
                await asyncio.sleep(1)
            writer.close()
        except OSError:
            await asyncio.sleep(1)


async def storm(port, hosts):
    stop, held = asyncio.Event(), {}
    attack = [asyncio.create_task(drip(port, address, stop, held)) for address in ATTACKERS for _ in range(DRIPPING)]
    async with asyncio.timeout(stretch(PATIENCE_S)):
        while sum(held.values()) < len(ATTACKERS) * DRIPPING:
            await asyncio.sleep(0.1)
        nodes = [boot(port, name, host) for name, host in list(hosts.items())[1:]]
        done = await asyncio.gather(*nodes, return_exceptions=True)
    stop.set()
    await asyncio.gather(*attack, return_exceptions=True)
    return done


@pytest.mark.parametrize("count", SIZES)
def test_all_nodes_boot_while_two_machines_drip(tmp_path, count):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 3 * count + 128 + 2 * DRIPPING:
        pytest.skip(f"{hard} open files are too few for {count} nodes")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 16_384) if hard > 0 else 16_384, hard))
    hosts = make_tree(tmp_path / "tree", count)
    (tmp_path / "images/os").mkdir(parents=True)
    (tmp_path / "images/os/image.tar").write_bytes(bytes(IMAGE_BYTES))
    journal = Journal(tmp_path / "state")
    for name in hosts:
        journal.write(name, "begun", state="planned")
    with socket.socket() as place:
        place.bind((SERVER, 0))
        port = place.getsockname()[1]
    command = [sys.executable, "-m", "cluster_model.cli", "boot-server", str(ROOT / "inventory/lab")]
    command += ["--listen", f"{SERVER}:{port}", "--tree", str(tmp_path / "tree"), "--state", str(tmp_path / "state")]
    command += ["--images", str(tmp_path / "images")]
    limited = ["sh", "-c", 'ulimit -S -n 1024; exec "$@"', "sh", *command]
    log = tmp_path / "log"
    with log.open("w") as file:
        server = subprocess.Popen(limited, cwd=ROOT, stderr=file)
    try:
        wait_for(lambda: "listening on" in log.read_text() or server.poll() is not None, PATIENCE_S, log.read_text)
        assert server.poll() is None, log.read_text()
        done = asyncio.run(storm(port, hosts))
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(stretch(PATIENCE_S))
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert [seen for seen in done if seen != [200, 200, 200, 200, 204, 204]] == []
    assert log.read_text().splitlines()[-1].startswith("listening on"), log.read_text()
    states = Journal(tmp_path / "state").nodes(hosts)
    assert {node.state for node in list(states.values())[1:]} == {"installed"}
