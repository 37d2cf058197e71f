"""`gpuyard verify hosts` over SSH: one sshd in a network namespace answers at planned addresses, each in its own way."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from cluster_model.pipeline import inspect
from cluster_model.verify.read.collect import find_address
from tests.slowness import stretch, wait_for

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "inventory/lab"
SPACE = f"gyh{os.getpid()}"
PATIENCE_S = 180
TIMEOUT_S = stretch(25)
"""For each host, in one run for all: what answers needs it on a busy machine, and what never does is waited for as long."""
sys.path.insert(0, str(ROOT / "tests/unit/verify"))
from told import describe  # noqa: E402

PLANNED, REAL, DEAD, REFUSES, RUBBISH, HANGS, MUTE, WITHOUT_PYTHON = (f"gpu-00{n}" for n in range(1, 9))
SSHD = """\
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile {folder}/sshd.pid
PermitRootLogin yes
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
"""


@pytest.fixture(scope="module")
def plan():
    return inspect(LAB).plan


@pytest.fixture(scope="module")
def addresses(plan):
    return {server.name: find_address(plan, server) for server in plan.servers}


@pytest.fixture(scope="module")
def fleet(plan, addresses, tmp_path_factory):
    """Run hosts that differ in what a login meets; return the folder of keys."""
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    if os.geteuid() or not sshd:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_FRR") else pytest.skip)("needs root and openssh-server")
    folder = tmp_path_factory.mktemp("hosts")
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    words = {
        PLANNED: f"exec {sys.executable} {_stand_in(folder, plan)}",
        RUBBISH: "cat >/dev/null; echo Welcome to {site}",
        HANGS: "exec sleep 1000",
        WITHOUT_PYTHON: "echo python3: not found >&2; exit 127",
    }
    config = SSHD.format(folder=folder)
    config += "".join(f"ListenAddress {a}\n" for name, a in addresses.items() if name in {*words, REAL, REFUSES})
    config += "".join(f"Match LocalAddress {addresses[name]}\n  ForceCommand {command}\n" for name, command in words.items())
    config += f"Match LocalAddress {addresses[REFUSES]}\n  AuthorizedKeysFile none\n"
    (folder / "config").write_text(config)
    Path("/run/sshd").mkdir(exist_ok=True)
    subprocess.run(["ip", "netns", "add", SPACE], check=True)
    try:
        subprocess.run(["ip", "-n", SPACE, "link", "set", "lo", "up"], check=True)
        for name in (*words, REAL, REFUSES, MUTE):
            subprocess.run(["ip", "-n", SPACE, "address", "add", f"{addresses[name]}/32", "dev", "lo"], check=True)
        mute = subprocess.Popen(
            ["ip", "netns", "exec", SPACE, sys.executable, "-c", _MUTE, addresses[MUTE]], stdout=subprocess.PIPE
        )
        try:
            assert mute.stdout.readline() == b"listening\n"
            command = ["ip", "netns", "exec", SPACE, sshd, "-f", str(folder / "config"), "-E", str(folder / "log")]
            subprocess.run(command, check=True)
            # It goes into the background before it listens, and writes this afterwards.
            wait_for((folder / "sshd.pid").exists, PATIENCE_S, (folder / "log").read_text)
            yield folder
        finally:
            mute.kill()
            mute.wait()
            pid = folder / "sshd.pid"
            if pid.exists():
                os.kill(int(pid.read_text()), signal.SIGTERM)
            left = subprocess.run(["ip", "netns", "pids", SPACE], capture_output=True, text=True, check=True).stdout
            for one in left.split():
                with suppress(ProcessLookupError):
                    os.kill(int(one), signal.SIGKILL)
    finally:
        subprocess.run(["ip", "netns", "del", SPACE], check=True)


_MUTE = """
import socket, sys, time
with socket.create_server((sys.argv[1], 22)) as server:
    print("listening", flush=True)
    kept = []
    while True:
        kept.append(server.accept())
"""


def _stand_in(folder, plan):
    """Write what a host as planned would print; the double of a host, with the clock of this machine."""
    (folder / "told.json").write_text(json.dumps(describe(plan, plan.servers[0])))
    script = folder / "host_double.py"
    script.write_text(
        "import json, sys, time\n"
        "asked = sys.stdin.read()\n"
        "assert 'gpuyard-host-facts-1' in asked\n"
        f"told = json.load(open({str(folder / 'told.json')!r}))\n"
        "told['clock']['now'] = time.time()\n"
        "print('Welcome to {site}!')\n"
        "print(json.dumps(told))\n"
    )
    return script


def command(fleet, home, *arguments, trust=("--trust-new-keys",)):
    """Return the command line of gpuyard in the namespace, and its environment: a user who never logged in anywhere."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "HOME": str(home), "COLUMNS": "120"}
    words = ["verify", "hosts", str(LAB), "--key", str(fleet / "user"), "--user", "root", *trust, *arguments]
    return ["ip", "netns", "exec", SPACE, sys.executable, "-m", "cluster_model.cli", *words], env


def gpuyard(fleet, home, *arguments, **more):
    words, env = command(fleet, home, *arguments, **more)
    return subprocess.run(words, env=env, cwd=ROOT, capture_output=True, text=True, check=False, timeout=stretch(600))


def test_a_host_that_was_never_logged_in_to_is_refused_until_its_key_is_trusted(fleet, tmp_path):
    done = gpuyard(fleet, tmp_path, "--limit", PLANNED, trust=())
    assert done.returncode == 3
    assert "its host key is not in known_hosts" in done.stdout and "ssh-keyscan ADDRESS" in done.stdout
    assert gpuyard(fleet, tmp_path, "--limit", PLANNED).returncode == 0
    assert gpuyard(fleet, tmp_path, "--limit", PLANNED, trust=()).returncode == 0


def test_every_host_gets_a_verdict_whatever_the_others_do(fleet, tmp_path):
    wanted = [word for n in range(1, 9) for word in ("--limit", f"gpu-00{n}")]
    saved = tmp_path / "told.json"
    options = ("--timeout", f"{TIMEOUT_S:g}", "--format", "json", "--save", str(saved))
    done = gpuyard(fleet, tmp_path, *wanted, *options)
    assert (done.returncode, done.stderr) == (3, "")
    told = json.loads(done.stdout)
    assert told["verdicts"] == {"as planned": 1, "differs": 1, "not reached": 6}
    rows = {row["name"]: row for row in told["hosts"]}
    assert list(rows) == [f"gpu-00{n}" for n in range(1, 9)]
    assert rows[PLANNED]["findings"] == []
    # The script itself ran on this machine, which is no host of the lab.
    ids = {finding["id"] for finding in rows[REAL]["findings"]}
    assert {"HST002", "HST005", "HST011", "HST013"} <= ids
    assert "HST001" not in ids
    reasons = {name: row["reason"] for name, row in rows.items()}
    assert (reasons[PLANNED], reasons[REAL]) == ("", "")
    assert "ermission denied" in reasons[REFUSES] or "uthentication" in reasons[REFUSES]
    assert reasons[RUBBISH] == "what it printed are no facts"
    assert reasons[WITHOUT_PYTHON] == "python3: not found"
    assert len(set(reasons.values()) - {""}) >= 4
    assert reasons[HANGS] == "no answer in time"
    for name in (DEAD, REFUSES, RUBBISH, HANGS, MUTE, WITHOUT_PYTHON):
        assert reasons[name], name
        assert "\n" not in reasons[name]
        assert [finding["id"] for finding in rows[name]["findings"]] == ["HST001"]
    fixes = {name: rows[name]["findings"][0]["fix"] for name in rows if rows[name]["reason"]}
    assert "--user, --key" in fixes[REFUSES]
    assert fixes[WITHOUT_PYTHON] == "install python3 on it"
    assert "by hand" in fixes[RUBBISH]
    assert "gpuyard bmc power" in fixes[DEAD] == fixes[MUTE] == fixes[HANGS]
    # What was saved compares the same without a host.
    again = gpuyard(fleet, tmp_path, *wanted, "--observed", str(saved), "--format", "json")
    assert (again.returncode, json.loads(again.stdout)) == (3, told)


def test_exit_codes_and_limits(fleet, tmp_path):
    done = gpuyard(fleet, tmp_path, "--limit", PLANNED)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "read" not in done.stderr, "a bar is for terminals"
    assert done.stdout.splitlines()[1].startswith("gpu-001  as planned  8     580.95.05")
    done = gpuyard(fleet, tmp_path, "--limit", PLANNED, "--limit", REAL)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-2] == "1 as planned, 1 differs."
    assert gpuyard(fleet, tmp_path, "--limit", "nobody").returncode == 2


def test_a_configuration_of_openssh_leads_elsewhere(fleet, addresses, tmp_path):
    """Its Port and HostName count, and so do its hosts."""
    (tmp_path / "config").write_text(f"Host {addresses[DEAD]}\n  HostName {addresses[PLANNED]}\n  Port 22\n")
    done = gpuyard(fleet, tmp_path, "--limit", DEAD, "--ssh-config", str(tmp_path / "config"), "--format", "json")
    (row,) = json.loads(done.stdout)["hosts"]
    assert {finding["id"] for finding in row["findings"]} >= {"HST002", "HST003"}, row
    (tmp_path / "config").write_text(f"Host {addresses[PLANNED]}\n  Port 2201\n")
    done = gpuyard(fleet, tmp_path, "--limit", PLANNED, "--ssh-config", str(tmp_path / "config"), "--format", "json")
    assert json.loads(done.stdout)["verdicts"] == {"not reached": 1}


def test_progress_is_shown_on_a_terminal(fleet, tmp_path):
    words, env = command(fleet, tmp_path, "--limit", PLANNED)
    ours, theirs = pty.openpty()
    done = subprocess.Popen(words, env={**env, "TERM": "xterm"}, cwd=ROOT, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 4096):
            shown += chunk
    except OSError:
        pass  # its end is closed
    finally:
        os.close(ours)
    assert b"1 as planned." in done.communicate(timeout=stretch(PATIENCE_S))[0]
    assert "━".encode() in shown


def test_an_interrupt_ends_it_without_a_traceback(fleet, tmp_path):
    words, env = command(fleet, tmp_path, "--limit", HANGS, "--timeout", "600")
    before = _list_sleeping()  # sshd lets those of earlier tests go on
    running = subprocess.Popen(
        words, env=env, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    wait_for(lambda: running.poll() is not None or _list_sleeping() - before, PATIENCE_S, "it never logged in")
    assert running.poll() is None, running.stderr.read()
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=stretch(PATIENCE_S))  # 600 s is what the host would be waited for
    assert running.returncode == 130, err
    *_, notes, after_control_c, last = err.splitlines()
    assert notes.endswith("See gpuyard validate " + words[words.index("hosts") + 1]), err
    assert (out, after_control_c, last) == ("", "", "Interrupted."), err


def _list_sleeping():
    """Return the processes in which the host that hangs is asked."""
    pids = subprocess.run(["ip", "netns", "pids", SPACE], capture_output=True, text=True, check=True).stdout.split()
    found = set()
    for pid in pids:
        with suppress(OSError):  # it has ended since
            if Path(f"/proc/{pid}/cmdline").read_bytes() == b"sleep\x001000\x00":
                found.add(pid)
    return found
