"""The address that control servers share: keepalived as rendered, before doubles of the API server."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from cluster_model.plan.model import Plan
from cluster_model.plan.model.kubernetes import Node as Member
from cluster_model.render.kubernetes.endpoint import render_endpoint
from cluster_model.twin.node import Node
from tests.planned import INVENTORY, open_folder
from tests.slowness import wait_for
from tests.system.api_server import DEAD, HANGING, NOT_READY, PORT, READY, ApiServer, write_certificate
from tests.system.speakers import start_program

ADDRESS, CLIENT = "10.48.0.9", "10.48.0.250"
"""Of the subnet that the control servers of the example cluster driving have as a tenant, and of nobody."""
OTHERS = ("10.48.0.20{}/24", "192.0.2.{}/24", "198.51.100.{}/32")
"""What else a server may have on the interface: of the same subnet, of another one, and of none."""
PATIENCE_S = 60
"""A server that hangs is left after two checks, 3 s apart, that wait 2 s each; then another one waits up to 4 s more."""
PROGRAMS = {"keepalived": "keepalived", "/usr/bin/curl": "curl", "openssl": "openssl"}
"""What is run here, by the package that brings it."""


class Server:
    """A control server: its interface with all its addresses, a double of the API server, and keepalived."""

    def __init__(self, member: Member, conf: bytes, number: int) -> None:
        self.name, self.port = member.name, member.interface
        self.conf = conf.decode()
        self.own = [f"{member.address}/24", *(other.format(number) for other in OTHERS)]
        self.node = Node(member.name, ("/etc/keepalived",))
        self.api: ApiServer

    def plug(self, segment: Node) -> None:
        """Put the interface into a segment, whose end of the cable has the server's name."""
        far = f"type veth peer name {self.name} netns {segment.pid}"
        addresses = [f"addr add {address} dev {self.port}" for address in self.own]
        self.node.configure(["link set lo up", f"link add {self.port} {far}", *addresses, f"link set {self.port} up"])
        segment.configure([f"link set {self.name} master segment up"])

    def start_router(self) -> None:
        """Start keepalived as its unit does, and let it say all it can."""
        self.node.write("/etc/keepalived/keepalived.conf", self.conf)
        keepalived = shutil.which("keepalived", path=f"{os.environ['PATH']}:/usr/sbin")
        start_program(self.node, "router", f"{keepalived} --dont-fork --log-console --log-detail")

    def kill_router(self) -> None:
        """Leave no process of keepalived's a moment to tidy up: when its parent ends it is told to, unless it is frozen."""
        for name in ("STOP", "KILL"):
            self.node.run("pkill", f"-{name}", "-x", "keepalived")

    def list_addresses(self) -> list[str]:
        """Return the addresses of the interface, in the kernel's order."""
        (port,) = json.loads(self.node.run("ip", "-j", "-4", "address", "show", "dev", self.port))
        return [f"{found['local']}/{found['prefixlen']}" for found in port["addr_info"]]

    def log(self) -> str:
        """Return what keepalived said so far."""
        return (self.node.root / "run/router.log").read_text("utf-8")


class Yard:
    """Three control servers and a client on one segment."""

    def __init__(self, plan: Plan, folder: Path, stack: ExitStack) -> None:
        files = dict(render_endpoint(plan))
        members = [member for member in plan.kubernetes.nodes if member.is_control]
        self.client = Node("client")
        stack.callback(self.client.close)
        self.client.configure(["link add segment type bridge", f"addr add {CLIENT}/24 dev segment", "link set segment up"])
        certificate = write_certificate(folder)
        self.servers: list[Server] = []
        for number, member in enumerate(members, 1):
            server = Server(member, files[f"kubernetes/endpoint/{member.name}.keepalived.conf"], number)
            stack.callback(server.node.close)
            self.servers.append(server)
            server.plug(self.client)
            server.api = ApiServer(server.node, folder, certificate)
            server.start_router()

    def list_holders(self) -> list[Server]:
        """Return the servers that have the address, of which there is one where all is well."""
        return [server for server in self.servers if any(own.startswith(f"{ADDRESS}/") for own in server.list_addresses())]

    def ask(self) -> str:
        """Return who answers the client at the address; nothing where nobody says that it is ready."""
        command = ["/usr/bin/curl", "--fail", "--silent", "--insecure", "--max-time", "2", f"https://{ADDRESS}:{PORT}/readyz"]
        return self.client.run(*command, check=False).strip()

    def wait_until(self, *servers: Server) -> None:
        """Wait until these have the address and nobody else, and the last of them answers the client."""
        answer = servers[-1].name if servers else ""

        def is_reached() -> bool:
            return self.list_holders() == list(servers) and self.ask() == answer and self.list_holders() == list(servers)

        def tell() -> str:
            names = [server.name for server in self.list_holders()]
            return f"{[server.name for server in servers]}: {names} have the address, and {self.ask()!r} answers"

        wait_for(is_reached, PATIENCE_S, tell)

    def settle(self) -> list[Server]:
        """Wait until the first server has the address, all API servers being ready; return all servers."""
        for server in self.servers:
            server.api.become(READY)
        self.wait_until(self.servers[0])
        return self.servers


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    path = f"{os.environ['PATH']}:/usr/sbin"
    lacks = [package for program, package in PROGRAMS.items() if not shutil.which(program, path=path)]
    if os.geteuid() or lacks:
        reason = f"{lacks[0]} is missing: install {lacks[0]}" if lacks else "servers in namespaces need root"
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_FRR") else pytest.skip)(reason)
    document = yaml.safe_load((INVENTORY / "driving/cluster.yml").read_text("utf-8"))
    endpoint = {"mode": "vrrp", "address": ADDRESS}
    document["kubernetes"] = {"control": "control", "workers": ["control"], "network": "services/core", "endpoint": endpoint}
    del document["facts"]
    folder = tmp_path_factory.mktemp("vrrp")
    (folder / "cluster.yml").write_text(yaml.safe_dump(document), "utf-8")
    with ExitStack() as stack:
        yield Yard(open_folder(folder).plan, folder, stack)


@pytest.fixture(autouse=True)
def _no_other_address_is_touched(yard: Yard) -> Iterator[None]:
    yield
    for server in yard.servers:
        kept = [own for own in server.list_addresses() if not own.startswith(f"{ADDRESS}/")]
        assert sorted(kept) == sorted(server.own), server.name


def test_the_first_server_has_the_address_and_answers(yard: Yard) -> None:
    first, *_ = yard.settle()
    for server in yard.servers:
        said = server.log()
        # It starts all the same without a check that it cannot run, and without lines that it does not know.
        assert "VRRP_Script(api_server) succeeded" in said
        assert not re.search(r"conf: Line|warning|security|disabling|unable|cannot", said, re.IGNORECASE), said
    assert f"{ADDRESS}/24" in first.list_addresses()


def test_the_address_leaves_a_server_without_a_link_and_one_whose_api_server_dies(yard: Yard) -> None:
    first, second, third = yard.settle()
    yard.client.configure([f"link set {first.name} down"])
    yard.wait_until(second)
    second.api.become(DEAD)
    yard.wait_until(third)
    yard.client.configure([f"link set {first.name} up"])
    yard.wait_until(first)


def test_a_server_whose_keepalived_was_killed_keeps_the_address_until_that_starts_again(yard: Yard) -> None:
    """Gratuitous ARP leads who knew the address to the new holder; who asks only then may reach either."""
    first, second, _ = yard.settle()
    first.kill_router()
    yard.wait_until(first, second)
    # Not ready, it will not take the address, so what is seen is that it tidies up.
    first.api.become(NOT_READY)
    first.start_router()
    yard.wait_until(second)
    first.api.become(READY)
    yard.wait_until(first)


def test_nobody_has_the_address_where_no_api_server_is_ready(yard: Yard) -> None:
    first, second, third = yard.settle()
    first.api.become(HANGING)
    second.api.become(DEAD)
    yard.wait_until(third)
    third.api.become(NOT_READY)
    yard.wait_until()
