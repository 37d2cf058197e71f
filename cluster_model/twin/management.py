"""The management side of a twin that stays up: an operator's machine, from which every machine is reached by SSH.

The operator's machine has a cable to every other one, beside the fabric, so that no fault of the fabric cuts it off. Addresses
are the plan's management addresses. The management cables of the plan itself lead where they should: switches hear their
neighbour on `eth0`, and what only has a MAC address (BMCs, PDUs) is on one machine that speaks no LLDP.
"""

from __future__ import annotations

import pwd
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from cluster_model.plan.model import Cable, Plan, Server, Switch
from cluster_model.twin.ethernet.fabric import WORKERS, Fabric
from cluster_model.twin.node import Node, NodeError
from cluster_model.twin.tree import name_device
from cluster_model.verify.read.collect import find_address

OPERATOR, ELSEWHERE = "operator", "bmcs-and-pdus"
"""The two machines that stand beside those of the plan."""
DEVICE, BRIDGE, ADDRESS = "operator", "machines", "192.0.2.1"
"""The port of every machine that leads to the operator, the operator's end, and its address (RFC 5737: nobody's)."""
HOME = Path(pwd.getpwuid(0).pw_dir)
_SSH = (HOME / ".ssh").resolve()
PROGRAMS = ("sshd", "ssh", "ssh-keygen")
_PATH = "/usr/sbin:/sbin:/usr/bin:/bin"
_SSHD = """ListenAddress 0.0.0.0
HostKey /run/sshd/host
AuthorizedKeysFile /run/sshd/operator.pub
PermitRootLogin prohibit-password
PasswordAuthentication no
StrictModes no
UsePAM %s
UseDNS no
PidFile /run/sshd/pid
LogLevel ERROR
"""
_TALKATIVE = {
    "ipv6/conf/default/router_solicitations": "-1",
    "ipv6/conf/default/router_solicitation_max_interval": "60",
}
"""A BMC asks for routers for ever, as many do: once a minute a frame with its MAC address."""


def read_environment() -> dict[str, str]:
    """Return what programs at the operator's machine find in their environment, so that they need no option."""
    return {"HOME": str(HOME), "GPUYARD_USER": "root", "GPUYARD_HOST_USER": "root", "GPUYARD_STAND_IN": "1"}


HIDDEN = ("GPUYARD_SSH_KEY", "GPUYARD_PASSWORD", "SSH_AUTH_SOCK")
"""What of the environment belongs to real gear."""


@dataclass(frozen=True, slots=True)
class _Keys:
    """Throw-away keys: the host key of all machines, and the operator's."""

    host: str
    operator: str
    public: str


def list_missing() -> list[str]:
    """Return the programs that SSH into a twin needs and that are not here."""
    return [name for name in PROGRAMS if shutil.which(name, path=_PATH) is None]


def attach(fabric: Fabric) -> None:
    """Plug the management cables of a running twin, and let the operator log in to every machine.

    Raises:
        NodeError: something could not be started.
    """
    _plug_management(fabric)
    if list_missing():
        return
    keys = _make_keys()
    machines: list[Switch | Server] = [*fabric.scope.switches.values(), *fabric.scope.servers.values()]
    _SSH.mkdir(mode=0o700, exist_ok=True)
    operator = Node(OPERATOR, (str(_SSH),))
    fabric.nodes[OPERATOR] = operator
    addresses = {machine.name: _choose_address(fabric.tree.plan, machine, number) for number, machine in enumerate(machines)}
    _link([(fabric.nodes[name], DEVICE, operator, f"m{number}") for number, name in enumerate(addresses)])
    lines = ["link set lo up", f"link add {BRIDGE} type bridge", f"addr add {ADDRESS}/32 dev {BRIDGE}", f"link set {BRIDGE} up"]
    for number, address in enumerate(addresses.values()):
        lines += [f"link set m{number} master {BRIDGE} up", f"link set m{number} type bridge_slave isolated on"]
        lines.append(f"route add {address}/32 dev {BRIDGE} src {ADDRESS}")
    operator.configure(lines)
    _furnish(operator, addresses, keys)
    with ThreadPoolExecutor(WORKERS) as pool:
        for job in [pool.submit(_open_door, fabric.nodes[name], address, keys) for name, address in addresses.items()]:
            job.result()


def _choose_address(plan: Plan, machine: Switch | Server, number: int) -> str:
    """Return a machine's planned address; one that is planned to be found by its name gets one of RFC 2544's."""
    address = find_address(plan, machine)
    return address if address[:1].isdigit() else f"198.18.{number // 256}.{number % 256}"


def _link(ends: list[tuple[Node, str, Node, str]]) -> None:
    batch = [f"link add {a} netns {one.pid} type veth peer name {b} netns {other.pid}" for one, a, other, b in ends]
    done = subprocess.run(["ip", "-b", "-"], input="\n".join(batch) + "\n", capture_output=True, text=True, check=False)
    if done.returncode:
        raise NodeError(f"management cables: {done.stderr.strip()[-500:]}")


def _plug_management(fabric: Fabric) -> None:
    """Plug the cables of the plan that `twin test` leaves out: of management ports, BMCs and PDUs to booted switches."""
    plugged = {end for link in fabric.scope.links for end in link.ends}
    cables = [
        cable
        for cable in fabric.tree.plan.cables
        if cable.b in fabric.scope.switches and (cable.b, cable.b_port) not in plugged and _is_management(cable)
    ]
    macs = _list_macs(fabric.tree.plan)
    elsewhere = [cable for cable in cables if cable.a_port != "mgmt"]
    if elsewhere:
        fabric.nodes[ELSEWHERE] = Node(ELSEWHERE)
        fabric.nodes[ELSEWHERE].set_kernel(_TALKATIVE)
    ends, lines = [], dict[str, list[str]]()
    for number, cable in enumerate(cables):
        is_switch = cable.a_port == "mgmt"
        if is_switch and cable.a not in fabric.scope.switches:
            continue
        machine, device = (cable.a, "eth0") if is_switch else (ELSEWHERE, f"b{number}")
        ends.append((fabric.nodes[machine], device, fabric.nodes[cable.b], name_device(cable.b_port)))
        mac = macs.get((cable.a, cable.a_port), "")
        lines.setdefault(machine, []).append(f"link set {device}{f' address {mac}' if mac else ''} up")
    _link(ends)
    for cable in cables:
        if cable.a_port != "mgmt" or cable.a in fabric.scope.switches:
            fabric.set_up_end(cable.b, cable.b_port)
    for machine, batch in lines.items():
        fabric.nodes[machine].configure(batch)


def _is_management(cable: Cable) -> bool:
    return cable.a_port in {"mgmt", "bmc", "net"}


def _list_macs(plan: Plan) -> dict[tuple[str, str], str]:
    """Return the MAC addresses of management ports that the facts tell."""
    found = {(switch.name, "mgmt"): switch.management.mac for switch in plan.switches if switch.management}
    found |= {(server.name, "bmc"): server.bmc.mac for server in plan.servers if server.bmc}
    found |= {(pdu.name, "net"): pdu.management.mac for pdu in plan.pdus if pdu.management}
    return found


def _make_keys() -> _Keys:
    with tempfile.TemporaryDirectory(prefix="gpuyard-twin-") as name:
        folder = Path(name)
        for key in ("host", "operator"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", key, "-f", str(folder / key)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise NodeError(f"ssh-keygen: {done.stderr.strip()}")
        return _Keys(*((folder / part).read_text("utf-8") for part in ("host", "operator", "operator.pub")))


def _furnish(operator: Node, addresses: dict[str, str], keys: _Keys) -> None:
    """Give the operator's machine a key and a configuration in its own ~/.ssh; never over files that are there already."""
    hosts = [f"Host {name}\n  HostName {address}\n" for name, address in addresses.items()]
    config = "".join([*hosts, "Host *\n  User root\n  StrictHostKeyChecking accept-new\n"])
    for name, text in (("id_ed25519", keys.operator), ("config", config)):
        operator.run("sh", "-c", f"set -C; umask 077; cat > {_SSH}/{name}", text=text)


def _open_door(node: Node, address: str, keys: _Keys) -> None:
    """Give a machine its management address, and start its SSH server."""
    node.configure(
        [
            f"link set {DEVICE} up",
            f"addr add {address}/32 dev {DEVICE}",
            f"route add {ADDRESS}/32 dev {DEVICE} src {address}",
            f"rule add to {ADDRESS} lookup main pref 5",
        ]
    )
    node.write("/run/sshd/host", keys.host, 0o600)
    node.write("/run/sshd/operator.pub", keys.public)
    node.write("/run/sshd/config", _SSHD % ("yes" if _is_locked() else "no"))
    node.run("sh", "-c", f"PATH=$PATH:{_PATH}; exec $(command -v sshd) -f /run/sshd/config -E /run/sshd/log")


def _is_locked() -> bool:
    """Return whether root has no password, in a way that lets nobody in by a key either, but through PAM."""
    try:
        rows = Path("/etc/shadow").read_text("utf-8").splitlines()
    except OSError:
        return False
    return any(row.startswith("root:!") for row in rows)
