"""A floor to verify: four switches and two servers in namespaces, with FRR, lldpd and sshd, and a desk with a way to them.

Routers run the rendered frr.conf and lldpd.conf. Cables are virtual Ethernet pairs between namespaces, and can be plugged
elsewhere. Every device has its management address on `eth0`; `gpuyard` runs at the desk and logs in over real SSH.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from cluster_model.verify.collect import find_address

ROOT = Path(__file__).resolve().parents[3]
DESK = "192.0.2.1"
SSHD = """Port 22
HostKey {folder}/host
AuthorizedKeysFile {folder}/key.pub
PermitRootLogin prohibit-password
PasswordAuthentication no
StrictModes no
UsePAM no
UseDNS no
PidFile /run/sshd.pid
LogLevel ERROR
"""


def load_namespaces():
    """Return the module that boots routers for the tests of rendered files."""
    path = ROOT / "tests" / "unit" / "render_switch" / "namespaces.py"
    spec = importlib.util.spec_from_file_location("gpuyard_test_namespaces", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def require_daemons():
    """Skip with the reason where a daemon is missing; fail where GPUYARD_REQUIRE_FRR is set."""
    missing = [
        name for name in ("lldpd", "lldpcli", "sshd", "ssh", "ssh-keygen", "bridge") if shutil.which(name, path=PATH) is None
    ]
    if missing:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_FRR") else pytest.skip)(
            f"{', '.join(missing)} missing: install lldpd, openssh"
        )


PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"


class Floor:
    """The running floor. `devices` are namespaces by name; ports are (device, port)."""

    def __init__(self, plan, tree, folder, stack, namespaces):
        self.plan, self.tree, self.folder, self.ns = plan, tree, folder, namespaces
        self.switches = [switch for switch in plan.switches if switch.network == "storage"]
        self.devices = {}
        self.desk = stack.enter_context(namespaces.hold(SimpleNamespace(name="desk")))
        for device in (*self.switches, *plan.servers):
            self.devices[device.name] = stack.enter_context(namespaces.hold(device))

    def run(self, name, *command, text=None):
        return self.devices[name].run(*command, text=text)

    def boot(self):
        self.desk.run(
            "ip", "-b", "-", text=f"link set lo up\nlink add br0 type bridge\nlink set br0 up\naddr add {DESK}/32 dev br0\n"
        )
        for index, device in enumerate((*self.switches, *self.plan.servers)):
            self._manage(device, index)
        for cable in self.plan.cables:
            if cable.network == "storage":
                self.plug((cable.a, cable.a_port), (cable.b, cable.b_port), booting=True)
        for switch in self.switches:
            linked = {port.name for port in switch.ports}
            self.devices[switch.name].start((self.tree / "switches" / switch.name / "frr.conf").read_text(), linked)
        for name in self.devices:
            self._serve(name)

    def _manage(self, device, index):
        """Give a device its management port, a cable to the desk."""
        address = find_address(self.plan, device)
        router = self.devices[device.name]
        link = [
            "name",
            "eth0",
            "netns",
            str(router.pid),
            "type",
            "veth",
            "peer",
            "name",
            f"m{index}",
            "netns",
            str(self.desk.pid),
        ]
        subprocess.run(["ip", "link", "add", *link], check=True)
        batch = [
            "link set lo up",
            "link set eth0 up",
            f"addr add {address}/32 dev eth0",
            f"route add {DESK}/32 dev eth0 src {address}",
        ]
        router.run("ip", "-b", "-", text="\n".join(batch) + "\n")
        self.desk.run("ip", "-b", "-", text=f"link set m{index} master br0 up\nroute add {address}/32 dev br0 src {DESK}\n")

    def plug(self, one, other, *, booting=False):
        """Lay a cable, and give its ends what the plan says of these ports; a router that boots gives itself addresses."""
        (a, a_port), (b, b_port) = one, other
        link = ["name", a_port, "netns", str(self.devices[a].pid), "type", "veth", "peer", "name", b_port]
        subprocess.run(["ip", "link", "add", *link, "netns", str(self.devices[b].pid)], check=True)
        for name, port in (one, other):
            found = next(p for d in (*self.switches, *self.plan.servers) if d.name == name for p in d.ports if p.name == port)
            switch = next((switch for switch in self.switches if switch.name == name), None)
            mtu = switch.mtu_bytes if switch else found.mtu_bytes
            address = "" if switch and booting else found.address
            lines = [
                f"link set {port} mtu {mtu} up",
                *([f"addr replace {address} dev {port}"] if address else []),
            ]
            self.run(name, "ip", "-b", "-", text="\n".join(lines) + "\n")

    def unplug(self, end):
        self.run(end[0], "ip", "link", "del", end[1])

    def _serve(self, name):
        """Start lldpd, on switches as rendered, and sshd."""
        conf = self.tree / "switches" / name / "lldpd.conf"
        self.run(name, "sh", "-c", "mkdir -p /run/sshd /run/lldpd && exec lldpd -I 'swp*,en*' >/run/lldpd.log 2>&1 </dev/null")
        ready = "lldpcli show chassis >/dev/null 2>&1 && echo yes || echo no"
        self.wait_for(lambda: self.run(name, "sh", "-c", ready) == "yes\n", f"{name}: lldpd")
        self.run(name, "lldpcli", "configure", "lldp", "tx-interval", "1")
        if conf.exists():
            # lldpcli runs as its own user, who may not read everywhere.
            self.run(name, "sh", "-c", "cat > /run/rendered.conf && lldpcli -c /run/rendered.conf", text=conf.read_text())
        self.run(name, "sh", "-c", f"$(command -v sshd || echo /usr/sbin/sshd) -f {self.folder}/sshd_config -E /run/sshd.log")

    def gpuyard(self, *arguments):
        """Run gpuyard at the desk; return exit code and output."""
        home = {"HOME": str(self.folder), "GPUYARD_USER": "root", "GPUYARD_HOST_USER": "root", "NO_COLOR": "1"}
        command = ["nsenter", "-t", str(self.desk.pid), "-n", str(Path(sys.executable).parent / "gpuyard"), "verify", *arguments]
        command += ["--ssh-config", str(self.folder / "ssh_config"), "--key", str(self.folder / "key")]
        done = subprocess.run(
            command, env={**os.environ, **home}, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
        )
        return done.returncode, done.stdout, done.stderr

    def hears(self, end, far):
        """Return whether a port hears a device by LLDP."""
        return f'"value": "{far}"' in self.run(end[0], "lldpcli", "-f", "json0", "show", "neighbors", "ports", end[1])

    def wait_for(self, reached, what):
        self.ns.wait_for(reached, what)


@contextmanager
def boot_floor(plan, tree, folder):
    """Yield a booted floor that is as planned: sessions up, neighbours heard."""
    require_daemons()
    namespaces = load_namespaces()
    namespaces.require_frr(daemons=True)
    folder.mkdir(exist_ok=True)
    for name in ("host", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    (folder / "sshd_config").write_text(SSHD.format(folder=folder))
    (folder / "ssh_config").write_text(f"Host *\n  UserKnownHostsFile {folder}/known_hosts\n  IdentitiesOnly yes\n")
    with ExitStack() as stack:
        floor = Floor(plan, tree, folder, stack, namespaces)
        floor.boot()
        for switch in floor.switches:
            wanted = sum(port.peer_asn > 0 for port in switch.ports)
            floor.wait_for(lambda name=switch.name, n=wanted: floor.devices[name].established() == n, f"{switch.name}: sessions")
        for cable in plan.cables:
            if cable.network == "storage":
                for end, far in (((cable.a, cable.a_port), cable.b), ((cable.b, cable.b_port), cable.a)):
                    floor.wait_for(lambda end=end, far=far: floor.hears(end, far), f"{end} to hear {far}")
        yield floor
