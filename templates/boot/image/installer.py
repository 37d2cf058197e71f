"""Write an image to the system disks of one server, make it this server, and say so. Runs from a RAM disk (docs/boot.md).

Everything it does comes from one document, boot/hosts/NAME.json, which the boot server hands out for a token on the kernel's
command line. Nothing is written to a disk before that document, the disks and the boot server's image agree.
"""

import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import traceback
import urllib.error
import urllib.request
from pathlib import Path

import disks as disk_rules

TARGET = Path("/target")
MARK = "gpuyard-"
"""Partitions that this installer made begin so."""
TRIES = 40
PAUSE_S = 3
LATER = {408, 429, 503}
SILENCE_S = 30
TYPES = {"esp": "ef00", "bios": "ef02", "linux": "8300"}


class InstallError(Exception):
    """What cannot go on; the text is the reason, in one line."""


def say(text):
    """Print a line with the seconds since the start."""
    print(f"gpuyard t={Path('/proc/uptime').read_text().split()[0]} {text}", flush=True)


def run(*command, check=True, stdin=None):
    """Run a program; InstallError with its last words where it fails."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, errors="replace", input=stdin, check=False
    )
    if check and done.returncode:
        lines = (done.stderr + done.stdout).strip().splitlines()
        raise InstallError(f"{command[0]} failed: {lines[-1] if lines else f'exit code {done.returncode}'}")
    return done.stdout


def read_arguments(text):
    """Return the gpuyard.* arguments of a kernel command line."""
    return {key: value for word in text.split() if word.startswith("gpuyard.") for key, _, value in [word[8:].partition("=")]}


def find_port(mac, root=Path("/sys/class/net")):
    """Return the port with a MAC; InstallError naming those that are there."""
    found = {}
    for port in sorted(root.iterdir()):
        with contextlib.suppress(OSError):
            found[(port / "address").read_text().strip().lower()] = port.name
    if mac.lower() not in found:
        raise InstallError(f"no port has MAC {mac}; there are {', '.join(found) or 'none'}")
    return found[mac.lower()]


def bring_up(port, net):
    """Give a port the address that the loader had, `ADDRESS/MASK/GATEWAY`, and wait for its link."""
    address, mask, gateway = net.split("/")
    length = sum(bin(int(part)).count("1") for part in mask.split("."))
    run("ip", "link", "set", port, "up")
    for _ in range(60):
        with contextlib.suppress(OSError):  # no carrier is known before the port is up
            if Path(f"/sys/class/net/{port}/carrier").read_text().strip() == "1":
                break
        time.sleep(1)
    run("ip", "address", "replace", f"{address}/{length}", "dev", port)
    if gateway not in {"", "0.0.0.0"}:
        run("ip", "route", "replace", "default", "via", gateway)


def ask(url, body=None, headers=None):
    """Return an open answer; tried again while the boot server is silent, or says that it is busy or not ready."""
    for left in range(TRIES, 0, -1):
        try:
            return urllib.request.urlopen(urllib.request.Request(url, body, headers or {}), timeout=SILENCE_S)
        except urllib.error.HTTPError as error:
            if error.code not in LATER or left == 1:
                words = error.read(300).decode(errors="replace").strip()
                raise InstallError(f"the boot server refuses {url.partition('?')[0]}: {error.code} {words}") from None
        except OSError as error:
            if left == 1:
                raise InstallError(f"the boot server does not answer at {url.partition('?')[0]}: {error}") from None
        time.sleep(PAUSE_S)
    raise AssertionError


class Reporter:
    """Tells the boot server how far this machine is."""

    def __init__(self, host):
        self._url = f"{host['report']}?token={host['token']}"
        self.step = "start"

    def tell(self, state, message="", **more):
        """Send a report."""
        say(f"{state} {self.step} {message}")
        body = json.dumps({"state": state, "step": self.step, "message": message, **more}).encode()
        ask(self._url, body, {"Content-Type": "application/json"}).close()

    def begin(self, step):
        """Say that a step begins."""
        self.step = step
        self.tell("installing")


class Download:
    """Reads a file of the boot server; goes on where it was cut off when the server went away in the middle."""

    def __init__(self, url):
        self._url = url
        self._answer = None
        self._at = 0
        self.size = -1
        self.sum = hashlib.sha256()

    def pieces(self, length=1 << 20):
        """Yield the bytes of the file."""
        tries = TRIES
        while self.size < 0 or self._at < self.size:
            try:
                if self._answer is None:
                    self._open()
                piece = self._answer.read(length)
                if not piece and self._at < self.size:
                    raise ConnectionError("cut off")
            except OSError as error:
                self._answer, tries = None, tries - 1
                if tries == 0:
                    raise InstallError(f"the image broke off at byte {self._at} of {self.size}: {error}") from None
                time.sleep(PAUSE_S)
                continue
            tries = TRIES
            self._at += len(piece)
            self.sum.update(piece)
            yield piece

    def _open(self):
        self._answer = ask(self._url, headers={"Range": f"bytes={self._at}-"} if self._at else None)
        if self._at and self._answer.status != 206:
            raise InstallError("the boot server cannot go on in the middle of a file")
        if self.size < 0:
            self.size = int(self._answer.headers["Content-Length"])


def read_facts():
    """Return what this machine is: serial number, MACs by port, disks."""
    serial = ""
    with contextlib.suppress(OSError):
        serial = Path("/sys/class/dmi/id/product_serial").read_text().strip()
    macs = {}
    for port in sorted(Path("/sys/class/net").iterdir()):
        if (port / "device").exists():
            macs[port.name] = (port / "address").read_text().strip()
    found = [
        {"model": d["model"], "serial": d["serial"], "wwn": d["wwn"], "bytes": int(d["size"])} for d in disk_rules.list_disks()
    ]
    return {"serial": serial, "macs": macs, "disks": found}


def partition(system, layout):
    """Make the partitions on every system disk; return device paths by partition name, one per disk."""
    parts = {part["name"]: [] for part in layout}
    run("mdadm", "--stop", "--scan", check=False)
    for disk in system:
        disk_rules.wipe(disk)
        run("sgdisk", "--zap-all", disk["path"], check=False)
        command = ["sgdisk", "--set-alignment=2048"]
        for number, part in enumerate(layout, 1):
            size = f"+{part['size_mib']}M" if part["size_mib"] else "0"
            kind = "fd00" if part["mirror"] and part["type"] == "linux" else TYPES[part["type"]]
            command += [f"--new={number}:0:{size}", f"--typecode={number}:{kind}", f"--change-name={number}:{MARK}{part['name']}"]
        run(*command, disk["path"])
    run("udevadm", "settle", "--timeout=60")
    for disk in system:
        # nvme0n1 has nvme0n1p1, sda has sda1
        stem = disk["path"] + ("p" if disk["path"][-1].isdigit() else "")
        for number, part in enumerate(layout, 1):
            path = f"{stem}{number}"
            run("wipefs", "--all", "--force", "--quiet", path)
            parts[part["name"]].append(path)
    return parts


def make_filesystems(parts, layout):
    """Make mirrors and file systems; return the devices of each partition name: one for a mirror, else one per disk."""
    devices = {}
    for part in layout:
        paths = parts[part["name"]]
        if part["mirror"]:
            name = f"/dev/md/{part['name']}"
            run(
                "mdadm", "--create", name, "--run", "--level=1", "--metadata=1.2", f"--name={part['name']}", "--homehost=any",
                f"--raid-devices={max(2, len(paths))}", *paths, *(["missing"] if len(paths) == 1 else []),
            )  # fmt: skip
            paths = [name]
        for path in paths:
            if part["filesystem"] == "vfat":
                run("mkfs.vfat", "-F", "32", "-n", part["name"][:11].upper(), path)
            elif part["filesystem"] == "swap":
                run("mkswap", "--label", part["name"][:15], path)
            elif part["filesystem"] == "xfs":
                run("mkfs.xfs", "-f", "-q", "-L", part["name"][:12], path)
            elif part["filesystem"]:
                run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=1,lazy_journal_init=1", "-L", part["name"][:16], path)
        devices[part["name"]] = paths
    run("udevadm", "settle", "--timeout=60")
    return devices


def mount_target(devices, layout):
    """Mount the partitions in their places below TARGET, the shortest path first."""
    for part in sorted((part for part in layout if part["mount"]), key=lambda part: len(part["mount"])):
        place = TARGET / part["mount"].lstrip("/")
        place.mkdir(parents=True, exist_ok=True)
        run("mount", devices[part["name"]][0], place)


def unpack(image):
    """Write the image's archive into TARGET; InstallError where it is not the one that was promised."""
    document = json.load(ask(image["url"] + "image.json"))
    if document["sha256"] != image["sha256"]:
        raise InstallError("the image was replaced since this machine was told of it; start again")
    download = Download(image["url"] + document["archive"])
    unzip = subprocess.Popen(["zstd", "-dcq"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    words = ["tar", "--extract", "--numeric-owner", "--xattrs", "--xattrs-include=*", "--directory", str(TARGET), "--file", "-"]
    untar = subprocess.Popen(words, stdin=unzip.stdout)
    unzip.stdout.close()
    try:
        for piece in download.pieces():
            unzip.stdin.write(piece)
        unzip.stdin.close()
    except BrokenPipeError:
        raise InstallError("the image cannot be unpacked: is the disk too small?") from None
    codes = unzip.wait(), untar.wait()
    # Judged before the loader is installed: a disk with a wrong image on it does not start.
    if download.sum.hexdigest() != image["sha256"]:
        raise InstallError(f"the image's checksum is {download.sum.hexdigest()}, not {image['sha256']}")
    if any(codes):
        raise InstallError(f"the image was not unpacked: zstd {codes[0]}, tar {codes[1]}")


def write(path, text, mode=0o644):
    """Write a file below TARGET."""
    place = TARGET / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.write_text(text)
    place.chmod(mode)


def uuid_of(device):
    """Return the UUID of a file system."""
    return run("blkid", "--match-tag", "UUID", "--output", "value", device).strip()


def make_identity(host, devices, layout):
    """Make the unpacked image this server; return its SSH host key."""
    write("/etc/hostname", f"{host['name']}\n")
    write(
        "/etc/hosts", f"127.0.0.1 localhost\n127.0.1.1 {host['fqdn']} {host['name']}\n::1 localhost ip6-localhost ip6-loopback\n"
    )
    write("/etc/machine-id", "uninitialized\n")
    (TARGET / "var/lib/dbus/machine-id").unlink(missing_ok=True)
    for name, text in host["network"].items():
        write(f"/etc/systemd/network/{name}", text)
    write(
        "/etc/resolv.conf", "".join(f"nameserver {a}\n" for a in host["resolvers"]) + f"search {host['fqdn'].partition('.')[2]}\n"
    )
    servers = " ".join(host["time_servers"])
    write("/etc/systemd/timesyncd.conf.d/gpuyard.conf", f"[Time]\nNTP={servers}\n")
    zone = TARGET / "etc/localtime"
    zone.unlink(missing_ok=True)
    zone.symlink_to(f"/usr/share/zoneinfo/{host['timezone']}")
    write("/etc/timezone", f"{host['timezone']}\n")
    rows = []
    for part in layout:
        if part["filesystem"] == "swap":
            rows += [f"UUID={uuid_of(device)} none swap sw 0 0" for device in devices[part["name"]]]
        elif part["mount"]:
            options = "umask=0077,nofail" if part["filesystem"] == "vfat" else "defaults"
            order = 1 if part["mount"] == "/" else 2
            uuid = uuid_of(devices[part["name"]][0])
            rows.append(f"UUID={uuid} {part['mount']} {part['filesystem']} {options} 0 {order}")
    write("/etc/fstab", "\n".join(rows) + "\n")
    if any(part["mirror"] for part in layout):
        write("/etc/mdadm/mdadm.conf", "HOMEHOST <ignore>\nMAILADDR root\n" + run("mdadm", "--detail", "--scan"))
    for user in host["users"]:
        make_user(user)
    for kind in ("dsa", "ecdsa", "rsa", "ed25519"):
        for suffix in ("", ".pub"):
            (TARGET / f"etc/ssh/ssh_host_{kind}_key{suffix}").unlink(missing_ok=True)
    run(
        "chroot", TARGET, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", host["fqdn"], "-f", "/etc/ssh/ssh_host_ed25519_key"
    )
    write(
        "/etc/ssh/sshd_config.d/00-gpuyard.conf",
        "PermitRootLogin no\nPasswordAuthentication no\nHostKey /etc/ssh/ssh_host_ed25519_key\n",
    )
    write("/etc/gpuyard-host.json", json.dumps({"name": host["name"], "image": host["image"]}) + "\n")
    return " ".join((TARGET / "etc/ssh/ssh_host_ed25519_key.pub").read_text().split()[:2])


def make_user(user):
    """Make an account that logs in by key, and may use sudo."""
    name, home = user["name"], f"/home/{user['name']}"
    if subprocess.run(["chroot", str(TARGET), "id", name], capture_output=True, check=False).returncode:
        run("chroot", TARGET, "useradd", "--create-home", "--shell", "/bin/bash", "--user-group", name)
    if user.get("password"):
        run("chroot", TARGET, "chpasswd", "--encrypted", stdin=f"{name}:{user['password']}\n")
    else:
        # An asterisk is no password and no lock: sshd lets keys in (shadow(5), sshd(8)).
        run("chroot", TARGET, "usermod", "--password", "*", name)
    write(f"{home}/.ssh/authorized_keys", "".join(f"{key}\n" for key in user["keys"]), 0o600)
    (TARGET / home.lstrip("/") / ".ssh").chmod(0o700)
    run("chroot", TARGET, "chown", "--recursive", f"{name}:{name}", f"{home}/.ssh")
    write(f"/etc/sudoers.d/90-gpuyard-{name}", f"{name} ALL=(ALL) NOPASSWD: ALL\n", 0o440)


def install_loader(host, system, devices, layout):
    """Put GRUB on every system disk, so that each starts alone."""
    arguments = " ".join(host["kernel_arguments"])
    serial = "console=ttyS0" in arguments
    terminal = 'GRUB_TERMINAL="console serial"\nGRUB_SERIAL_COMMAND="serial --unit=0 --speed=115200"\n' if serial else ""
    text = f'GRUB_CMDLINE_LINUX_DEFAULT=""\nGRUB_CMDLINE_LINUX="{arguments}"\n'
    text += f"GRUB_TIMEOUT=2\nGRUB_DISABLE_OS_PROBER=true\n{terminal}"
    write("/etc/default/grub.d/50-gpuyard.cfg", text)
    for folder in ("dev", "proc", "sys", "run"):
        run("mount", "--rbind", f"/{folder}", TARGET / folder)
    esp = next((part for part in layout if part["type"] == "esp"), None)
    if host["firmware"] == "uefi":
        place = TARGET / esp["mount"].lstrip("/")
        for number, device in enumerate(devices[esp["name"]]):
            if number:  # the first is mounted
                run("umount", place)
                run("mount", device, place)
            words = ["--target=x86_64-efi", f"--efi-directory={esp['mount']}", "--removable", "--no-nvram"]
            run("chroot", TARGET, "grub-install", *words)
        if len(devices[esp["name"]]) > 1:
            run("umount", place)
            run("mount", devices[esp["name"]][0], place)
    else:
        for disk in system:
            run("chroot", TARGET, "grub-install", "--target=i386-pc", disk["path"])
    run("chroot", TARGET, "update-grub")


def check(host):
    """Return the system disks and those to wipe; InstallError where this is not the machine, or its disks are not as planned."""
    run("mdadm", "--stop", "--scan", check=False)  # udev has assembled what was there
    run("udevadm", "settle", "--timeout=60")
    facts = read_facts()
    serial = facts["serial"]
    if host["serial"] and serial and serial not in {host["serial"], "Not Specified", "To be filled by O.E.M."}:
        raise InstallError(f"this machine's serial number is {serial}, not {host['serial']}")

    def is_ours(disk):
        names = disk_rules.marks(disk)
        return bool(names) and all(name.startswith(MARK) for name in names)

    # What an installation left that was cut off in the middle is nobody's data; the boot server's journal says so.
    allowed = host.get("reinstall") or host.get("resumed")
    listed = disk_rules.list_disks()
    marked = [disk["path"] for disk in listed if disk_rules.fits(disk, host["disks"]["system"]) and is_ours(disk)]
    if marked and not allowed:
        words = "was installed before and may hold data: gpuyard provision --reinstall"
        raise InstallError(f"{', '.join(marked)} {words} {host['name']}")
    holding = lambda disk: disk_rules.holds(disk) and not (allowed and is_ours(disk))  # noqa: E731
    system, others = disk_rules.choose(listed, host["disks"], holding)
    firmware = "uefi" if Path("/sys/firmware/efi").is_dir() else "bios"
    if firmware != host["firmware"]:
        raise InstallError(f"it was started by {firmware}, and the plan installs it for {host['firmware']}")
    return facts, system, others


def install(host, reporter):
    """Take the machine from a RAM disk to an installed system."""
    layout = host["disks"]["partitions"]
    facts, system, others = check(host)
    reporter.step = "disks"
    reporter.tell("installing", disk_rules.describe(system), facts=facts)
    for disk in others:
        disk_rules.wipe(disk)
    devices = make_filesystems(partition(system, layout), layout)
    mount_target(devices, layout)
    reporter.begin("image")
    unpack(host["image"])
    reporter.begin("identity")
    key = make_identity(host, devices, layout)
    reporter.begin("loader")
    install_loader(host, system, devices, layout)
    os.sync()
    run("umount", "--recursive", TARGET, check=False)
    reporter.step = "done"
    reporter.tell("installed", facts={"host_key": key})


def give_up(reporter, reason):
    """Say why it ends here, on the console and to the boot server."""
    reason = re.sub(r"\s+", " ", reason)
    say(f"failed: {reason}")
    if reporter:
        with contextlib.suppress(InstallError):
            reporter.tell("failed", reason)
    return 1


def main():
    """Install, or say why not and stay where a person can read it."""
    arguments = read_arguments(Path("/proc/cmdline").read_text())
    reporter = None
    try:
        bring_up(find_port(arguments["mac"]), arguments["net"])
        host = json.load(ask(f"{arguments['host']}?token={arguments['token']}"))
        reporter = Reporter(host)
        reporter.begin("start")
        install(host, reporter)
    except (InstallError, disk_rules.DisksError) as error:
        return give_up(reporter, str(error))
    except (OSError, KeyError, ValueError, subprocess.SubprocessError) as error:
        traceback.print_exc()
        return give_up(reporter, f"{type(error).__name__}: {error}")
    say("restarting")
    os.sync()
    Path("/proc/sysrq-trigger").write_text("b")
    return 0


if __name__ == "__main__":
    sys.exit(main())
