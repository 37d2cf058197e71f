"""A yard for emulated servers: one namespace with the rendered DHCP, DNS and boot server, TFTP, a bridge, and a BMC each.

The namespace is the boot server and the out-of-band leaf in one: the bridge has the boot server's address and the leaf's gateway,
so no relay is between them. Kea's leases and BIND's zones lie where the rendered files say, in a mount namespace of its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

import pytest

from tests.slowness import stretch, wait_for

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CACHE = Path(os.environ.get("GPUYARD_IMAGES", "/var/tmp/gpuyard-images"))
KERNEL = "linux-image-cloud-amd64"
"""Smaller than the distribution's own kernel, and it has what QEMU's devices need."""
PROGRAMS = {
    "qemu-system-x86_64": "qemu-system-x86", "kea-dhcp4": "kea-dhcp4-server", "in.tftpd": "tftpd-hpa", "named": "bind9",
    "ipmitool": "ipmitool", "mmdebstrap": "mmdebstrap", "zstd": "zstd", "cpio": "cpio",
    "ssh": "openssh-client", "openssl": "openssl", "nsenter": "util-linux", "sgdisk": "gdisk",
}  # fmt: skip
FILES = {"/usr/lib/ipxe/undionly.kpxe": "ipxe", "/usr/share/OVMF/OVMF_CODE_4M.fd": "ovmf"}
USER, PASSWORD = "admin", "correct horse"


def list_missing() -> list[str]:
    """Return what keeps machines from running here."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = [package for program, package in PROGRAMS.items() if shutil.which(program, path=path) is None]
    missing += [package for file, package in FILES.items() if not Path(file).exists()]
    return [*(["root"] if os.geteuid() else []), *missing]


def require_programs() -> None:
    """Skip where something is missing, and fail where GPUYARD_REQUIRE_VM is set."""
    if missing := list_missing():
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_VM") else pytest.skip)(f"no machines: {', '.join(missing)} missing")


def gpuyard(*words: object) -> list[str]:
    return [sys.executable, "-m", "cluster_model.cli", *map(str, words)]


def build_images(cluster: Path, tree: Path) -> Path:
    """Return the folder with images/ and deploy/, built by `gpuyard image` once for each recipe and installer.

    With GPUYARD_OFFLINE set nothing is built: scripts/prepare-tests has built it.
    """
    sources = [*sorted((ROOT / "templates/boot/image").iterdir()), ROOT / "cluster_model/deploy/image.py"]
    images = json.loads((tree / "boot/boot.json").read_bytes())["images"]
    digest = hashlib.sha256(json.dumps([KERNEL, images], sort_keys=True).encode())
    for source in sources:
        digest.update(source.read_bytes())
    CACHE.mkdir(parents=True, exist_ok=True)
    place = CACHE / digest.hexdigest()[:16]
    with (CACHE / "lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not (place / "done").exists():
            assert not os.environ.get("GPUYARD_OFFLINE"), f"no images in {place}: run make test-slow, which builds them first"
            for old in CACHE.glob("[0-9a-f]" * 16):  # of former recipes, that nobody can be using any more
                if old == place or time.time() - old.stat().st_mtime > 86_400:
                    shutil.rmtree(old, ignore_errors=True)
            options = ["--tree", tree, "--images", place / "images", "--deploy", place / "deploy", "--kernel", KERNEL]
            done = subprocess.run(gpuyard("image", cluster, *options), capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            (place / "done").touch()
    return place


def prepare_images() -> Path:
    """Return that folder for the intent as it is: built before the tests."""
    with tempfile.TemporaryDirectory(prefix="gpuyard-") as folder:
        return build_images(*_render(Path(folder)))


@dataclass
class Yard:
    """The namespace, what runs in it, and the machines.

    Args:
        cluster: the intent.
        folder: where everything is kept.
        images: folder with images/ and deploy/.
    """

    cluster: Path
    folder: Path
    images: Path
    _holder: subprocess.Popen[bytes] | None = None
    _running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def tree(self) -> Path:
        return self.folder / "build/baremetal"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def key(self) -> Path:
        return self.folder / "ops"

    @property
    def index(self) -> dict[str, Any]:
        return json.loads((self.tree / "boot/boot.json").read_bytes())

    @property
    def plan(self) -> dict[str, Any]:
        return json.loads((self.tree / "plan.json").read_bytes())

    def machine(self, name: str) -> Path:
        return self.folder / "machines" / name

    def inside(self, *words: object) -> list[str]:
        """Return a command as it runs in the yard."""
        assert self._holder is not None
        return [
            "nsenter",
            "--target",
            str(self._holder.pid),
            "--net",
            "--mount",
            "--",
            "env",
            f"--chdir={ROOT}",
            *map(str, words),
        ]

    def run(self, *words: object, check: bool = True, limit_s: float = 720, **more: Any) -> subprocess.CompletedProcess[str]:
        """Run a program in the yard; an AssertionError has what it said."""
        done = subprocess.run(
            self.inside(*words), capture_output=True, text=True, timeout=stretch(limit_s), check=False, cwd=ROOT, **more
        )
        assert not check or done.returncode == 0, f"{words}: {done.stdout}\n{done.stderr}"
        return done

    def start(self, name: str, *words: object) -> None:
        """Start a daemon in the yard."""
        with (self.folder / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                self.inside(*words), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=ROOT, env=self.environment()
            )

    def stop(self, name: str) -> None:
        """End a daemon, and wait until it is gone."""
        process = self._running.pop(name)
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}:/usr/sbin:/sbin",
            "PYTHONPATH": str(ROOT),
            "GPUYARD_SECRET_BMC_PASSWORD": PASSWORD,
            "GPUYARD_KNOWN_BMCS": str(self.folder / "known_bmcs"),
            "GPUYARD_STATE": str(self.state),
        }

    def gpuyard(self, *words: object, limit_s: float = 3600, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run gpuyard in the yard."""
        return self.run(*gpuyard(*words), env=self.environment(), limit_s=limit_s, check=check)

    def events(self, node: str) -> list[dict[str, Any]]:
        """Return a node's lines of the journal."""
        path = self.state / "journal.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [event for line in lines if (event := json.loads(line))["node"] == node]

    def login(self, name: str, command: str) -> str:
        """Return what a command says on an installed machine, which is known by the key that it reported."""
        address = self.index["hosts"][name]["address"]
        options = ["-oBatchMode=yes", "-oStrictHostKeyChecking=yes", f"-oUserKnownHostsFile={self.state}/known_hosts"]
        return self.run("ssh", "-i", self.key, *options, "-oIdentitiesOnly=yes", f"ops@{address}", command).stdout.strip()

    def bring_up(self) -> None:
        """Make the namespace, its addresses and taps, and start what is rendered."""
        self._holder = subprocess.Popen(["unshare", "--net", "--mount", "--", "sleep", "infinity"])
        own_place, here = Path(f"/proc/{self._holder.pid}/ns/mnt"), Path("/proc/self/ns/mnt").readlink()
        wait_for(lambda: own_place.readlink() != here, 120, "no namespace")
        server = next(s for s in self.plan["servers"] if s["name"] == self.index["server"]["name"])
        own = server["ports"][0]
        lines = ["link set lo up", "link add br0 type bridge stp_state 0 forward_delay 0"]
        lines += [
            f"address add {own['address']} dev br0",
            f"address add {own['gateway']}/{own['address'].partition('/')[2]} dev br0",
        ]
        # Kea opens no socket on a bridge without a carrier; the boot server's own cable gives it one.
        lines += ["link add cable type veth peer name own", "link set cable master br0 up", "link set own up", "link set br0 up"]
        for number, name in enumerate(self.index["hosts"]):
            bmc = next(s["bmc"] for s in self.plan["servers"] if s["name"] == name)["address"].partition("/")[0]
            lines += [f"tuntap add tap{number} mode tap", f"link set tap{number} master br0 up", f"address add {bmc}/32 dev lo"]
        self.run("ip", "-batch", "-", input="\n".join(lines) + "\n")
        for place in ("/var/lib/kea", "/run", "/etc/bind", "/var/cache/bind"):
            self.run("mkdir", "-p", place)
            self.run("mount", "-t", "tmpfs", "tmpfs", place)
        resolver = self.folder / "resolv.conf"
        resolver.write_text(f"nameserver {self.index['server']['address']}\n")
        self.run("mount", "--bind", resolver, "/etc/resolv.conf")
        self.run("mkdir", "-p", "/run/kea", "/run/named")
        self.run("cp", "-r", self.tree / "dns", "/etc/bind/gpuyard")
        self.run("chmod", "-R", "a+rX", "/etc/bind", "/var/cache/bind", "/run")
        wait_for(lambda: "LOWER_UP" in self.run("ip", "link", "show", "br0").stdout, 120, "the bridge has no carrier")
        # Debian's ipxe.efi is a link to /boot, which a TFTP server does not follow out of its folder.
        (self.folder / "tftp").mkdir()
        for name in ("ipxe.efi", "undionly.kpxe"):
            shutil.copy(Path("/usr/lib/ipxe") / name, self.folder / "tftp")
        self.start("kea", "kea-dhcp4", "-c", self.tree / "boot/kea/kea-dhcp4.conf")
        self.start(
            "tftp",
            "in.tftpd",
            "--foreground",
            "--address",
            f"{self.index['server']['address']}:69",
            "--secure",
            self.folder / "tftp",
        )
        self.start("named", "named", "-f", "-c", "/etc/bind/gpuyard/named.conf")
        self.serve_boot()

    def serve_boot(self) -> None:
        """Start `gpuyard boot-server`, and wait until it answers."""
        options = ["--tree", self.tree, "--images", self.images / "images", "--deploy", self.images / "deploy"]
        self.start("boot-server", *gpuyard("boot-server", self.cluster, *options))
        url = f"{self.index['server']['url']}/boot.ipxe"
        fetch = f"import urllib.request; print(urllib.request.urlopen({url!r}, timeout=5).status)"
        wait_for(lambda: self.run(sys.executable, "-c", fetch, check=False).stdout.strip() == "200", 360, "no boot server")

    def add_machine(self, name: str, mac: str, serial: str, language: str, firmware: str, disks: Mapping[str, str]) -> None:
        """Put a switched-off machine behind its BMC.

        Args:
            name: the planned server whose place it takes.
            mac: MAC of its port.
            serial: its serial number.
            language: what its BMC speaks.
            firmware: `bios` or `uefi`.
            disks: sizes by serial number, in the order of its bays.
        """
        folder = self.machine(name)
        folder.mkdir(parents=True)
        for disk, size in disks.items():
            with (folder / disk).open("wb") as file:
                file.truncate(int(size.removesuffix("G")) << 30)
        number = list(self.index["hosts"]).index(name)
        bmc = next(s["bmc"] for s in self.plan["servers"] if s["name"] == name)["address"].partition("/")[0]
        told = {
            "name": name, "mac": mac, "serial": serial, "language": language, "firmware": firmware, "disks": list(disks),
            "tap": f"tap{number}", "bmc": bmc, "user": USER, "password": PASSWORD,
            "uuid": f"00000000-0000-4000-8000-{number:012}",
        }  # fmt: skip
        (folder / "machine.json").write_text(json.dumps(told))
        self.start(f"bmc-{name}", sys.executable, HERE / "bmc.py", folder)
        ask = f"from cluster_model.transport.bmc.probe import probe; print(probe({name!r}, {bmc!r}).answers)"
        wait_for(lambda: self.run(sys.executable, "-c", ask).stdout.strip() == "True", 720, f"{name}'s BMC does not answer")

    def explain(self) -> str:
        """Return the ends of all logs, for a test that failed."""
        texts = []
        for log in [
            *sorted(self.folder.glob("*.log")),
            *sorted(self.folder.glob("machines/*/*.log")),
            self.state / "journal.jsonl",
        ]:
            if log.exists():
                texts.append(f"--- {log.name} of {log.parent.name}\n{log.read_text(errors='replace')[-2500:]}")
        return "\n".join(texts)

    def take_down(self) -> None:
        for name in list(self._running):
            self.stop(name)
        if self._holder is not None:
            self._holder.kill()
            self._holder.wait()


def _render(folder: Path, change: Callable[[Path], None] = lambda cluster: None) -> tuple[Path, Path]:
    """Return a copy of the intent with a key of its own, and what is rendered of it."""
    cluster, tree = folder / "cluster", folder / "build/baremetal"
    cluster.mkdir()
    for name in ("cluster.yml", "servers.csv"):
        shutil.copy(HERE / name, cluster)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ops", "-f", str(folder / "ops")], check=True)
    shutil.copy(folder / "ops.pub", cluster)
    change(cluster)
    done = subprocess.run(gpuyard("render", cluster, "-o", tree), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return cluster, tree


@contextlib.contextmanager
def open_yard(folder: Path, change: Callable[[Path], None] = lambda cluster: None) -> Iterator[Yard]:
    """Yield a yard that runs, of a copy of the intent with a key of its own; `change` may alter the copy first."""
    require_programs()
    cluster, tree = _render(folder, change)
    yard = Yard(cluster, folder, build_images(cluster, tree))
    try:
        yard.bring_up()
        yield yard
    except BaseException:
        print(yard.explain())
        raise
    finally:
        yard.take_down()


def ansible(yard: Yard, names: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Ping machines through the rendered inventory."""
    environment = yard.environment() | {
        "GPUYARD_BUILD": str(yard.folder / "build"),
        "ANSIBLE_SSH_ARGS": f"-oUserKnownHostsFile={yard.state}/known_hosts -oIdentitiesOnly=yes",
    }
    words = ["-i", yard.cluster / "cluster.yml", "-u", "ops", "--private-key", yard.key, "-m", "ping", ",".join(names)]
    return yard.run("ansible", *words, env=environment, check=False)
