"""From powered off to `ansible -m ping`, through BMCs, the rendered DHCP, HTTP and DNS, and an image that is really written.

tests/baremetal/cluster.yml is the cluster; its tree is used as rendered. The machines are QEMU's, under emulation. One run of
`gpuyard provision` installs all of them, one at a time, while they are disturbed; each test looks at what came of it.

- plain-001: BIOS, Redfish, one disk. It loses its power while the image is written.
- mirror-001: UEFI, IPMI, two mirrored disks by serial number, a data disk. The boot server is restarted while it downloads.
- http-001: UEFI HTTP boot, Redfish, one disk. Nobody disturbs it.
- astray-001: its network card is another one than the list of servers says.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.baremetal.yard import PASSWORD, ansible, open_yard
from tests.slowness import stretch, wait_for

# About nine minutes on two cores, all but one in the fixture; two more where the image is built first.
pytestmark = pytest.mark.slow

PLAIN, MIRROR, ASTRAY, HTTP = "plain-001", "mirror-001", "astray-001", "http-001"
DISTURBED = (PLAIN, MIRROR)
INSTALLED = (PLAIN, MIRROR, HTTP)
WRONG_MAC = "02:00:5e:10:00:99"
DATA = b"somebody's data\n" * 4096
LIMIT_S = 5400
"""For what must come: only a failure takes that long."""


@pytest.fixture(scope="module")
def yard(tmp_path_factory):
    """Return a yard in which everything has happened; `yard.said` is what gpuyard printed and how it ended."""
    with open_yard(tmp_path_factory.mktemp("yard")) as found:
        found.add_machine(PLAIN, "02:00:5e:10:00:04", "METAL002", "redfish", "bios", {"SYS-P": "4G"})
        found.add_machine(MIRROR, "02:00:5e:10:00:06", "METAL003", "ipmi", "uefi", {"DATA-1": "1G", "SYS-A": "4G", "SYS-B": "4G"})
        found.add_machine(ASTRAY, WRONG_MAC, "METAL004", "redfish", "bios", {"SYS-X": "4G"})
        found.add_machine(HTTP, "02:00:5e:10:00:0a", "METAL005", "redfish", "uefi", {"SYS-H": "4G"})
        with (found.machine(MIRROR) / "DATA-1").open("r+b") as disk:
            disk.write(DATA)
        found.said = _provision(found)
        yield found


def _provision(yard):
    words = [
        yard.cluster,
        "--tree",
        yard.tree,
        "--key",
        yard.key,
        "--all",
        "--apply",
        "--new-journal",
        "--batch",
        1,
        "--timeout",
        min(300, stretch(60)),
        "--boot-timeout",
        stretch(900),
    ]
    disturbed = []
    failures = []

    def disturb(name, what):
        try:
            _wait_for_step(yard, name, "image")
            what()
            disturbed.append(name)
        except BaseException as error:
            failures.append(error)

    def cut_power():
        os.kill(int((yard.machine(PLAIN) / "qemu.pid").read_text()), signal.SIGKILL)

    def restart_boot_server():
        before = _count_sent(yard, MIRROR)  # a download that has not begun cannot be cut off
        wait_for(lambda: _count_sent(yard, MIRROR) > before + (8 << 20), LIMIT_S, f"{MIRROR} downloads nothing")
        yard.stop("boot-server")
        yard.serve_boot()

    threads = [
        threading.Thread(target=disturb, args=(PLAIN, cut_power), daemon=True),
        threading.Thread(target=disturb, args=(MIRROR, restart_boot_server), daemon=True),
    ]
    for thread in threads:
        thread.start()
    done = yard.gpuyard("provision", *words, limit_s=LIMIT_S, check=False)
    for thread in threads:
        thread.join(stretch(360))  # of the boot server's restart
    assert not failures, failures
    assert sorted(disturbed) == sorted(DISTURBED), done.stdout + done.stderr
    return done


def _count_sent(yard, name):
    """Return the bytes that a machine's port was sent."""
    tap = json.loads((yard.machine(name) / "machine.json").read_text())["tap"]
    return json.loads(yard.run("ip", "-json", "-stats", "link", "show", tap).stdout)[0]["stats64"]["tx"]["bytes"]


def _wait_for_step(yard, name, step):
    def reached():
        return any(event["event"] == "report" and event["step"] == step for event in yard.events(name))

    wait_for(reached, LIMIT_S, f"{name} never came to {step}")


def test_three_are_reachable_and_one_failed_with_its_reason(yard):
    assert yard.said.returncode == 3, yard.said.stdout + yard.said.stderr
    status = json.loads(yard.gpuyard("provision", yard.cluster, "--tree", yard.tree, "--status", "--format", "json").stdout)
    assert status["states"] == {"reachable": 3, "failed": 1}
    reasons = {node["name"]: node["reason"] for node in status["nodes"] if node["reason"]}
    assert reasons.keys() == {ASTRAY}
    assert WRONG_MAC in reasons[ASTRAY] and "02:00:5e:10:00:08" in reasons[ASTRAY]


def test_ansible_reaches_them_through_the_rendered_inventory(yard):
    done = ansible(yard, INSTALLED)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count('"ping": "pong"') + done.stdout.count("ping: pong") == len(INSTALLED)


@pytest.mark.parametrize("name", INSTALLED)
def test_names_addresses_and_keys_are_as_planned(yard, name):
    server = next(s for s in yard.plan["servers"] if s["name"] == name)
    port = server["ports"][0]
    assert yard.login(name, "hostname; hostname -f").split() == [name, f"{name}.metal.example.net"]
    told = json.loads(yard.login(name, "ip -json address"))
    cards = {card["ifname"]: card for card in told if card["ifname"] != "lo"}
    assert {n: card["address"] for n, card in cards.items()} == {port["name"]: port["mac"]}
    addresses = [f"{a['local']}/{a['prefixlen']}" for a in cards[port["name"]]["addr_info"] if a["family"] == "inet"]
    assert addresses == [port["address"]]
    assert yard.login(name, "cat ~/.ssh/authorized_keys") == yard.key.with_suffix(".pub").read_text().strip()
    assert yard.login(name, "sudo -n id -u") == "0"
    assert yard.login(name, "sudo -n getent shadow root").split(":")[1] in {"*", "!", "!*", ""} - {""}
    assert yard.login(name, "sudo -n sshd -T | grep -E '^(permitrootlogin|passwordauthentication) '").split() == [
        "permitrootlogin", "no", "passwordauthentication", "no",
    ]  # fmt: skip


@pytest.mark.parametrize("name", INSTALLED)
def test_the_rendered_zones_answer_for_them(yard, name):
    address = yard.index["hosts"][name]["address"]
    assert yard.run("getent", "-s", "dns", "ahostsv4", f"{name}.metal.example.net").stdout.split()[0] == address
    assert yard.run("getent", "-s", "dns", "hosts", address).stdout.split()[1] == f"{name}.metal.example.net"


def _disks(yard, name):
    text = yard.login(name, "lsblk --json --output NAME,TYPE,SERIAL,PARTLABEL,FSTYPE,MOUNTPOINT,PTTYPE")
    return {disk["serial"]: disk for disk in json.loads(text)["blockdevices"] if disk["type"] == "disk"}


def test_a_single_disk_has_the_planned_partitions(yard):
    (disk,) = _disks(yard, PLAIN).values()
    assert disk["pttype"] == "gpt"
    parts = [(part["partlabel"], part["fstype"], part["mountpoint"]) for part in disk["children"]]
    assert parts == [("gpuyard-bios", None, None), ("gpuyard-root", "ext4", "/")]


def test_system_disks_are_mirrored_and_the_data_disk_is_as_it_was(yard):
    disks = _disks(yard, MIRROR)
    assert disks.keys() == {"DATA-1", "SYS-A", "SYS-B"}
    for serial in ("SYS-A", "SYS-B"):
        esp, root = disks[serial]["children"]
        assert (esp["partlabel"], esp["fstype"], root["partlabel"]) == ("gpuyard-esp", "vfat", "gpuyard-root")
        assert [(md["type"], md["fstype"], md["mountpoint"]) for md in root["children"]] == [("raid1", "ext4", "/")]
    assert "[UU]" in yard.login(MIRROR, "cat /proc/mdstat")
    assert (yard.machine(MIRROR) / "DATA-1").read_bytes()[: len(DATA)] == DATA
    assert yard.login(MIRROR, "test -d /sys/firmware/efi && findmnt -n -o FSTYPE /boot/efi") == "vfat"


def test_either_half_of_the_mirror_has_a_loader(yard):
    said = yard.login(MIRROR, "lsblk -nro PATH,PARTLABEL | awk '$2 == \"gpuyard-esp\" {print $1}'").split()
    assert len(said) == 2
    for device in said:
        look = f"sudo -n mkdir -p /mnt/esp && sudo -n mount {device} /mnt/esp && "
        look += "sudo -n ls /mnt/esp/EFI/BOOT; sudo -n umount /mnt/esp"
        assert "BOOTX64.EFI" in yard.login(MIRROR, look).upper().split()


def test_the_journal_tells_that_a_machine_lost_power_and_was_begun_again(yard):
    events = yard.events(PLAIN)
    begun = [number for number, event in enumerate(events) if event["event"] == "begun"]
    assert len(begun) == 2
    assert "image" in {event.get("step") for event in events[: begun[1]] if event["event"] == "report"}
    assert any(event["event"] == "stopped" and "went off" in event["reason"] for event in events[: begun[1]])
    assert [event["state"] for event in events[begun[1] :] if event.get("state") in {"installed", "reachable"}] == [
        "installed", "reachable",
    ]  # fmt: skip
    assert "killed" in (yard.machine(PLAIN) / "power.log").read_text()


def test_the_download_went_on_where_the_restarted_boot_server_had_cut_it_off(yard):
    events = yard.events(MIRROR)
    assert sum(event["event"] == "begun" for event in events) == 1
    ranges = [event for event in events if event["event"] == "served" and event.get("offset")]
    assert ranges and all(0 < event["offset"] < event["bytes"] for event in ranges)


def test_uefi_fetched_its_loader_by_http_and_tried_nothing_else(yard):
    events = yard.events(HTTP)
    size = Path("/usr/lib/ipxe/ipxe.efi").stat().st_size
    assert [event["bytes"] for event in events if event.get("what") == "ipxe.efi"] == [size]
    states = list(dict.fromkeys(event["state"] for event in events if event.get("state")))
    assert states == ["planned", "discovered", "powered", "booted", "installing", "installed", "reachable"]
    assert "boots next from http" in (yard.machine(HTTP) / "power.log").read_text()
    # The firmware says on its console what it starts: PXE is TFTP.
    said = {name: (yard.machine(name) / "console.1.log").read_text(errors="replace") for name in (HTTP, MIRROR)}
    assert "Start HTTP Boot over IPv4" in said[HTTP] and "Start PXE over" not in said[HTTP]
    assert "Start PXE over IPv4" in said[MIRROR] and "Start HTTP Boot over" not in said[MIRROR]


def test_every_step_of_a_node_is_in_the_journal_in_order(yard):
    steps = [event["step"] for event in yard.events(MIRROR) if event["event"] == "report"]
    assert steps == ["start", "disks", "image", "identity", "loader", "done"]
    states = list(dict.fromkeys(event["state"] for event in yard.events(MIRROR) if event.get("state")))
    assert states == ["planned", "discovered", "powered", "booted", "installing", "installed", "reachable"]
    text = yard.gpuyard("provision", yard.cluster, "--history", MIRROR).stdout
    assert "reachable" in text


def test_no_secret_lies_in_the_journal_or_the_tree(yard):
    journal = (yard.state / "journal.jsonl").read_text()
    assert PASSWORD not in journal and "token=" not in journal
    assert (yard.state / "journal.jsonl").stat().st_mode & 0o077 == 0
    found = subprocess.run(["grep", "-rlF", PASSWORD, str(yard.tree)], capture_output=True, text=True, check=False)
    assert found.stdout == ""


def test_a_second_run_does_nothing(yard):
    before = {name: len((yard.machine(name) / "power.log").read_text().splitlines()) for name in INSTALLED}
    lines = {name: len(yard.events(name)) for name in INSTALLED}
    words = [yard.cluster, "--tree", yard.tree, "--key", yard.key, "--apply", "--batch", 1, "--limit", PLAIN, "--limit", MIRROR]
    done = yard.gpuyard("provision", *words)
    assert done.returncode == 0
    assert {name: len((yard.machine(name) / "power.log").read_text().splitlines()) for name in INSTALLED} == before
    assert {name: len(yard.events(name)) for name in INSTALLED} == lines


def test_a_machine_that_is_installed_is_offered_its_own_disk(yard):
    fetch = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=30).read().decode())"
    mac = yard.index["hosts"][PLAIN]["mac"].replace(":", "-")
    script = yard.run(sys.executable, "-c", fetch, f"{yard.index['server']['url']}/v1/boot/{mac}.ipxe").stdout
    assert "sanboot" in script and "gpuyard.token" not in script


def test_reinstalling_wants_the_name_of_the_node(yard):
    done = yard.gpuyard("provision", yard.cluster, "--tree", yard.tree, "--limit", PLAIN)
    assert "would install 0 of 1" in done.stdout
    done = yard.gpuyard("provision", yard.cluster, "--tree", yard.tree, "--limit", PLAIN, "--reinstall", PLAIN)
    assert f"would overwrite what is on {PLAIN}" in done.stdout


def test_with_another_journal_machines_at_work_are_left_alone(yard, tmp_path):
    """As with a typo in --state, or after the boot server was lost."""
    before = {name: (yard.machine(name) / "power.log").read_text() for name in INSTALLED}
    words = ["provision", yard.cluster, "--tree", yard.tree, "--key", yard.key, "--state", tmp_path / "other", "--timeout", 60]
    words += [word for name in INSTALLED for word in ("--limit", name)]
    done = yard.gpuyard(*words, "--apply", check=False)
    assert done.returncode == 2 and "--new-journal" in done.stderr
    done = yard.gpuyard(*words, "--reset-running", check=False)
    assert done.returncode == 1 and done.stdout.count("answers SSH") == len(INSTALLED), done.stdout
    done = yard.gpuyard(*words, "--apply", "--new-journal", "--reset-running", check=False)
    assert done.returncode == 1 and "3 refused." in done.stdout, done.stdout
    assert {name: (yard.machine(name) / "power.log").read_text() for name in INSTALLED} == before
