"""A boot server is lost in the middle of an installation, and another one goes on with a copy of its journal.

Two machines are made of a hostname and a machine-id each, in one network namespace: BMCs are doubles, gpuyard is the real one.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from tests.slowness import stretch
from tests.system.test_bmc_command import NAMES, ROOT, Site, require_programs

NODE, MAC = "plain-001", "02:00:5e:10:00:04"
LIMIT_S = 600
FETCH = """
import http.client, sys
method, address, server, path, body = sys.argv[1:]
line = http.client.HTTPConnection(server, 80, timeout=60, source_address=(address, 0))
line.request(method, path, body or None)
answer = line.getresponse()
print(answer.status)
print(answer.read().decode())
"""


class Yard(Site):
    """BMC doubles, and two boot servers that have the planned address in turn."""

    def __init__(self, folder):
        super().__init__(folder)
        rows = [f"{name},,,{MAC if name == NODE else ''},\n" for name in NAMES]
        (self.cluster / "servers.csv").write_text("name,serial,bmc_mac,mac.eno1,system_disks\n" + "".join(rows))
        self.serving = {}

    def start(self):
        super().start()
        index = json.loads((self.folder / "tree/boot/boot.json").read_text())
        self.server, self.address = index["server"]["address"], index["hosts"][NODE]["address"]
        for address in (self.server, self.address):
            subprocess.run(self.inside("ip", "address", "add", f"{address}/32", "dev", "lo"), check=True)
        for name in index["images"]:
            place = self.folder / "images" / name
            place.mkdir(parents=True)
            (place / "image.json").write_text(json.dumps({"sha256": "ab" * 32}))

    def on(self, machine, verb, *words):
        """Return a command as that machine runs it."""
        own = self.folder / f"{machine}.id"
        own.write_text(f"{machine.encode().hex():0>32}\n")
        script = f'hostname {machine}; [ ! -e /etc/machine-id ] || mount --bind {own} /etc/machine-id; exec "$@"'
        state = ["--state", self.folder / machine] if verb in {"provision", "boot-server"} else []
        words = [sys.executable, "-m", "cluster_model.cli", verb, self.cluster, "--tree", self.folder / "tree", *state, *words]
        return self.inside("unshare", "--mount", "--uts", "sh", "-ec", script, "sh", *words)

    def run(self, machine, verb, *words):
        words, limit_s = self.on(machine, verb, *words), stretch(LIMIT_S)
        env = self.environment()
        done = subprocess.run(words, capture_output=True, text=True, env=env, check=False, cwd=ROOT, timeout=limit_s)
        assert "Traceback" not in done.stderr
        return done

    def serve(self, machine):
        """Start a boot server, and wait until it answers; return what it said where it would not start."""
        words = self.on(machine, "boot-server", "--images", self.folder / "images")
        process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=self.environment(), cwd=ROOT)
        for line in process.stderr:
            if line.startswith("listening"):
                self.serving[machine] = process
                return ""
            said = line
        process.wait()
        return said

    def lose(self, machine):
        process = self.serving.pop(machine)
        process.kill()
        process.wait()
        process.stderr.close()

    def ask(self, path, method="GET", body=""):
        """Return the boot server's answer to the node."""
        words = self.inside(sys.executable, "-c", FETCH, method, self.address, self.server, path, body)
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=stretch(LIMIT_S))
        status, _, text = done.stdout.partition("\n")
        return int(status), text.strip()

    def report(self, token, **report):
        return self.ask(f"/v1/report/{NODE}?token={token}", "POST", json.dumps(report))[0]

    def state(self, machine):
        done = self.run(machine, "provision", "--status", "--limit", NODE, "--format", "json")
        (node,) = json.loads(done.stdout)["nodes"]
        return node["state"], node["attempt"]

    def count_boots(self):
        ask = "import ssl, sys, urllib.request as u; c = ssl._create_unverified_context(); "
        ask += "print(u.urlopen(f'https://{sys.argv[1]}/counts', context=c).read().decode())"
        words = self.inside(sys.executable, "-c", ask, self.addresses[NODE])
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=stretch(LIMIT_S))
        return json.loads(done.stdout)["boots"]

    def stop(self):
        for machine in list(self.serving):
            self.lose(machine)
        super().stop()


@pytest.fixture
def yard(tmp_path):
    require_programs()
    yard = Yard(tmp_path)
    try:
        yard.start()
        yield yard
    finally:
        yard.stop()


def test_a_second_boot_server_goes_on_in_the_middle_of_an_installation(yard):
    begin = ["--limit", NODE, "--apply", "--no-wait", "--pause", "0"]
    assert yard.serve("first") == ""
    done = yard.run("first", "provision", *begin, "--new-journal")
    assert done.returncode == 0, done.stdout + done.stderr
    assert yard.state("first") == ("powered", 1)

    status, script = yard.ask(f"/v1/boot/{MAC.replace(':', '-')}.ipxe")
    assert status == 200
    token = script.partition("gpuyard.token=")[2].split()[0]
    assert yard.report(token, state="installing", step="image") == 204
    yard.lose("first")
    with pytest.raises(subprocess.CalledProcessError):
        yard.ask("/boot.ipxe")

    # The copy is a backup: nobody writes it by mistake, and it can be looked at.
    shutil.copytree(yard.folder / "first", yard.folder / "second")
    assert "take it over with gpuyard provision --take-over" in yard.serve("second")
    assert yard.run("second", "provision", *begin).returncode == 2
    assert yard.state("second") == ("installing", 1)

    done = yard.run("second", "provision", "--take-over")
    assert done.returncode == 0 and "1 node, 1 of them being installed" in done.stdout, done.stderr
    assert yard.serve("second") == ""
    status, text = yard.ask(f"/v1/host/{NODE}.json?token={token}")
    assert status == 200 and json.loads(text)["resumed"] is True
    # What is under way is waited for, and not reset.
    assert yard.run("second", "provision", *begin).returncode == 0
    assert yard.state("second") == ("installing", 1)
    assert yard.report(token, state="installed", step="done") == 204
    assert yard.state("second") == ("installed", 1)
    assert yard.report(token, state="installed", step="done") == 403

    # The first one is back, and is given the journal as it is now: it is the backup.
    shutil.copy(yard.folder / "second/journal.jsonl", yard.folder / "first/journal.jsonl")
    yard.lose("second")
    assert "belongs to second since" in yard.serve("first")
    assert yard.state("first") == ("installed", 1)
    assert yard.run("first", "provision", "--take-over").returncode == 0
    assert yard.serve("first") == ""


def test_a_lost_journal_resets_no_machine(yard):
    done = yard.run("first", "provision", "--limit", NODE, "--apply", "--no-wait", "--pause", "0", "--new-journal")
    assert done.returncode == 0, done.stdout + done.stderr
    boots = yard.count_boots()
    again = ["--limit", NODE, "--apply", "--no-wait", "--pause", "0"]
    assert yard.run("second", "provision", *again).returncode == 2
    done = yard.run("second", "provision", *again, "--new-journal")
    assert done.returncode == 1 and "it is on, and the journal does not know it" in done.stdout
    assert yard.count_boots() == boots == 1
    done = yard.run("second", "provision", *again, "--reset-running")
    assert done.returncode == 0 and yard.count_boots() == 2, done.stdout
