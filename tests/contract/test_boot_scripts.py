"""Scripts under boot/: iPXE's by a reader of the commands that we use, shell by its parser, the search for disks by running it.

tests/system/test_boot_ipxe.py has iPXE itself read the first two.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import yaml
from boot_trees import NAMES, tree_of

# iPXE: a line is split at white space and nowhere else; ||, && and ; divide commands where they stand alone, # begins a comment
# at the beginning of a word, and nothing quotes (ipxe/ipxe, src/core/exec.c).
COMMANDS = {
    "chain": 1,
    "echo": 1,
    "sleep": 1,
    "goto": 1,
    "kernel": 1,
    "initrd": 1,
    "boot": 0,
    "reboot": 0,
    "exit": 1,
    "sanboot": 0,
    "iseq": 2,
}
OPTIONS = {"--replace", "--autofree", "--name", "--no-describe", "--drive"}
SETTINGS = {
    "netX/mac",
    "netX/ip",
    "netX/netmask",
    "netX/gateway",
    "netX/mac:hexhyp",
    "serial",
    "serial:uristring",
    "uuid",
    "platform",
    "manufacturer",
    "product",
}


def read_ipxe(text):
    """Return what is wrong with an iPXE script."""
    wrong, lines = [], text.splitlines()
    labels = [line[1:] for line in lines if line.startswith(":")]
    if lines[:1] != ["#!ipxe"]:
        wrong.append("no #!ipxe")
    for line in lines[1:]:
        if line.startswith((":", "#")):
            continue
        if line != line.strip() or "\t" in line:
            wrong.append(f"space: {line}")
        wrong += [f"unknown setting {name}" for name in re.findall(r"\$\{([^}]*)\}", line) if name not in SETTINGS]
        for part in re.split(r" (?:\|\||&&|;)(?: |$)", line):
            words = part.split()
            if not words:
                continue
            command, *rest = words
            if command not in COMMANDS:
                wrong.append(f"unknown command {command}")
            elif len([word for word in rest if not word.startswith("--")]) < COMMANDS[command]:
                wrong.append(f"too few words: {part}")
            if command == "goto" and rest[-1] not in labels:
                wrong.append(f"no label {rest[-1]}")
            if command != "echo":
                wrong += [f"quote: {word}" for word in rest if '"' in word or "'" in word]
                wrong += [f"unknown option {word}" for word in rest if word.startswith("--") and word not in OPTIONS]
            if command in {"chain", "initrd"} and not rest[-1].startswith("http://"):
                wrong.append(f"no URL: {part}")
            if any(word.startswith("#") for word in rest):
                wrong.append(f"comment inside: {part}")
    return wrong


SCRIPTS = [(name, path) for name in NAMES for path in tree_of(name) if path.endswith(".ipxe")]


@pytest.mark.parametrize("name", NAMES)
def test_every_ipxe_script_reads_well(name):
    paths = [path for case, path in SCRIPTS if case == name]
    assert {"boot/ipxe/boot.ipxe", "boot/ipxe/local.ipxe", "boot/ipxe/unknown.ipxe"} <= set(paths)
    for path in paths:
        assert read_ipxe(tree_of(name)[path].decode()) == [], path


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("goto failed", "goto fialed"),  # codespell:ignore
        ("initrd --name", "initrd --nam"),
        ("kernel http", "kernal http"),  # codespell:ignore
        ("|| goto failed\ninitrd", "||goto failed\ninitrd"),
        ("initrd=initrd.img", 'initrd="initrd.img"'),
        ("#!ipxe", "#!/bin/sh"),
        ("sleep 30", "sleep"),
        ("boot ||", "# boot ||\nboot #"),
    ],
)
def test_errors_in_an_ipxe_script_are_seen(old, new):
    text = tree_of("lab")["boot/ipxe/hosts/gpu-001.ipxe"].decode()
    assert old in text
    spoilt = text.replace(old, new, 1)
    assert read_ipxe(spoilt) or (new.startswith("||goto") and read_ipxe(spoilt.replace("||goto", "|| goto")) == [])


def test_the_seed_of_an_installer_is_one_word_with_a_slash_at_its_end():
    """cloud-init appends file names to it, and a quote would become part of the name."""
    script = tree_of("lab")["boot/ipxe/hosts/storage-001.ipxe"].decode()
    seeds = [word for word in script.split() if word.startswith("ds=")]
    assert len(seeds) == 1 and re.fullmatch(r"ds=nocloud;s=http://[0-9.]+/v1/autoinstall/storage-001/\S+/", seeds[0])


@pytest.mark.parametrize(("name", "path"), [(n, p) for n in NAMES for p in tree_of(n) if p.startswith("boot/ztp/")])
def test_shell_scripts_parse(name, path):
    text = tree_of(name)[path].decode()
    assert subprocess.run(["bash", "-n"], input=text, text=True, check=False).returncode == 0
    assert subprocess.run(["bash", "-n"], input=text + "\nif", text=True, check=False, capture_output=True).returncode != 0


# The search for disks, which stands in every autoinstall file


class Reports:
    """A server that takes reports, and what was reported to it; programs are run with their URL led to it."""

    def __init__(self):
        self.found, self.said = [], ""

    def run(self, command, path="/usr/bin:/bin"):
        found = self.found

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                found.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        words = [re.sub(r"http://[0-9.]+/", f"http://127.0.0.1:{server.server_port}/", word) for word in command]
        done = subprocess.run(words, env={"PATH": path}, capture_output=True, text=True, check=False)
        server.shutdown()
        server.server_close()
        self.said = done.stderr
        return done.returncode


class Machine:
    """A machine double: programs that list the disks given and note what is wiped."""

    def __init__(self, folder, disks):
        self.folder = folder
        (folder / "tree.json").write_text(json.dumps({"blockdevices": disks}))
        flat = [device for disk in disks for device in ({**disk, "children": []}, *disk.get("children", ()))]
        (folder / "flat.json").write_text(json.dumps({"blockdevices": flat}))
        # lsblk(8): a tree where NAME is among the columns, else a list.
        self._program("lsblk", f'case ",$4," in *,NAME,*) cat {folder}/tree.json;; *) cat {folder}/flat.json;; esac')
        self._program(
            "wipefs",
            f'case "$*" in *--all*) eval last=\\${{$#}}; echo $last >> {folder}/wiped;; *) eval last=\\${{$#}}; '
            f"grep -qx $last {folder}/full && echo 0x0 gpt; true;; esac",
        )
        (folder / "full").write_text("")
        (folder / "wiped").write_text("")

    def _program(self, name, line):
        file = self.folder / name
        file.write_text(f"#!/bin/sh\n{line}\n")
        file.chmod(0o755)

    def fill(self, *paths):
        (self.folder / "full").write_text("".join(f"{path}\n" for path in paths))

    def run(self, script):
        reports = Reports()
        code = reports.run([sys.executable, "-c", script], f"{self.folder}:/usr/bin:/bin")
        wiped = (self.folder / "wiped").read_text().split()
        return code, wiped, [report["message"] for report in reports.found], reports.said


def disk(name, model="ACME BOOT 1", serial="", size=960, wwn=None, **more):
    return {
        "path": f"/dev/{name}",
        "type": "disk",
        "model": model,
        "serial": serial or name,
        "wwn": wwn,
        "size": size * 10**9,
        "ro": False,
        **more,
    }


def script_of(name, host):
    (_, command, _) = yaml.safe_load(tree_of(name)[f"boot/autoinstall/{host}/user-data"])["autoinstall"]["early-commands"]
    assert command[:2] == ["python3", "-c"]
    return command[2]


DATA = [disk(f"nvme{n}n1", "BIG DATA", size=15360) for n in range(24)]
TWO = [disk("sda"), disk("sdb")]


def test_two_empty_disks_of_the_model_are_taken(tmp_path):
    machine = Machine(tmp_path, [*DATA, *TWO])
    assert machine.run(script_of("installers", "control-001"))[:3] == (0, [], [])


@pytest.mark.parametrize("disks", [TWO[:1], [*TWO, disk("sdc")], []])
def test_another_number_of_disks_stops(tmp_path, disks):
    code, wiped, said, _ = Machine(tmp_path, [*DATA, *disks]).run(script_of("installers", "control-001"))
    assert code == 1 and wiped == []
    assert said[0].startswith(f"{len(disks)} disks fit, 2 hold the system; seen: /dev/nvme0n1 BIG DATA nvme0n1 15360 GB")


def test_a_disk_that_holds_something_stops_without_consent(tmp_path):
    machine = Machine(tmp_path, [*DATA, *TWO])
    machine.fill("/dev/sdb", "/dev/nvme3n1")
    code, wiped, said, _ = machine.run(script_of("installers", "control-001"))
    assert code == 1 and wiped == [] and said[0].startswith("/dev/sdb not empty")


def test_partitions_alone_are_something(tmp_path):
    parted = disk("sdb", children=[{"path": "/dev/sdb1", "type": "part"}])
    assert Machine(tmp_path, [TWO[0], parted]).run(script_of("installers", "control-001"))[0] == 1


def test_with_consent_only_what_is_named_is_wiped(tmp_path):
    """Storage has consent for its system disks, which the installer wipes itself, and for old data disks of 10 GB and more."""
    old = disk("sdx", "OLD CEPH", size=4000, children=[{"path": "/dev/sdx1", "type": "part"}])
    machine = Machine(tmp_path, [*DATA, *TWO, old, disk("sdy", "OLD STICK", size=8)])
    machine.fill("/dev/sda", "/dev/sdx", "/dev/nvme0n1", "/dev/sdy")
    assert machine.run(script_of("installers", "storage-001"))[:3] == (0, ["/dev/sdx1", "/dev/sdx"], [])


def test_serial_numbers_come_before_models(tmp_path):
    named = [disk("sda", "OTHER", "control-001-D1"), disk("sdb", "OTHER", "control-001-D2"), disk("sdc")]
    assert Machine(tmp_path, named).run(script_of("installers by serial", "control-001"))[0] == 0
    assert Machine(tmp_path, named[1:]).run(script_of("installers by serial", "control-001"))[0] == 1


def test_without_a_rule_the_machine_has_nothing_else(tmp_path):
    assert Machine(tmp_path, TWO[:1]).run(script_of("installers", "gpu-001"))[0] == 0
    assert Machine(tmp_path, TWO).run(script_of("installers", "gpu-001"))[0] == 1


def test_media_that_cannot_be_written_are_no_disks(tmp_path):
    rest = [disk("sr0", type="rom"), disk("loop0", type="loop"), disk("sdz", ro=True), disk("sdq", size=0)]
    assert Machine(tmp_path, [*TWO[:1], *rest]).run(script_of("installers", "gpu-001"))[0] == 0


def test_the_installer_reports_the_host_key_that_the_system_will_have(tmp_path):
    """The commands run as they stand, by the shell and curl; /target is a folder, without a key at first."""
    seed = yaml.safe_load(tree_of("installers")["boot/autoinstall/storage-001/user-data"])["autoinstall"]
    *_, make_keys, report = seed["late-commands"]
    assert make_keys == "curtin in-target --target=/target -- ssh-keygen -A"
    assert seed["user-data"]["ssh_deletekeys"] is False  # else cloud-init makes others at the first start
    report = re.sub(r"\{\{gpuyard-[^}]*\}\}", "0" * 64, report)
    report = report.replace("/target/", f"{tmp_path}/target/").replace("--retry 10", "--retry 0")
    reports = Reports()
    assert reports.run(["sh", "-c", report]) != 0 and reports.found == []
    keys = tmp_path / "target/etc/ssh"
    keys.mkdir(parents=True)
    subprocess.run(["ssh-keygen", "-A", "-f", str(tmp_path / "target")], check=True, capture_output=True)
    assert reports.run(["sh", "-c", report]) == 0
    key = " ".join((keys / "ssh_host_ed25519_key.pub").read_text().split()[:2])
    assert reports.found == [{"state": "installed", "step": "done", "message": "", "facts": {"host_key": key}}]


@pytest.mark.parametrize("name", NAMES)
def test_what_a_reload_adds_is_saved(name):
    """A reload puts the switch's own MAC into the database (sonic-utilities PR 2778); vlanmgrd ends at a boot without it."""
    script = tree_of(name).get("boot/ztp/sonic.sh", b"").decode()
    if script:
        commands = [line for line in script.splitlines() if line and not line.startswith("#")]
        assert commands[-2:] == ["config reload -y -f", "config save -y"]


@pytest.mark.parametrize("has_key", [True, False])
def test_the_installer_reports_its_own_host_key_before_it_looks_at_a_disk(tmp_path, has_key):
    """It answers SSH while it runs, and stays when it fails: provision tells it from a system at work by this key."""
    seed = yaml.safe_load(tree_of("lab")["boot/autoinstall/storage-001/user-data"])["autoinstall"]
    report = re.sub(r"\{\{gpuyard-[^}]*\}\}", "0" * 64, seed["early-commands"][0])
    report, key = report.replace("/etc/ssh/", f"{tmp_path}/"), ""
    if has_key:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "ssh_host_ed25519_key")], check=True)
        key = " ".join((tmp_path / "ssh_host_ed25519_key.pub").read_text().split()[:2])
    reports = Reports()
    assert reports.run(["sh", "-c", report]) == 0, reports.said
    assert reports.found == [{"state": "installing", "step": "start", "message": "", "facts": {"installer_key": key}}]
