"""Real sshd targets on this machine, and the CPU time of both ends of what is run against them."""

import contextlib
import ctypes
import os
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PORT = 2299
SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of prctl(2): what a command leaves behind becomes our child, so its CPU time is counted too."""
SSHD = """\
Port {port}
ListenAddress 0.0.0.0
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
PermitRootLogin yes
StrictModes no
UsePAM no
MaxStartups 500
MaxSessions 50
SetEnv PATH=/usr/sbin:/usr/bin:/sbin:/bin
"""


def list_addresses(count):
    """Return the loopback addresses that stand for hosts; one sshd answers at all of them, a session of its own for each."""
    return [f"127.77.0.{number}" for number in range(1, count + 1)]


def make_keys(folder):
    """Write keys and configuration for sshd into a folder."""
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", Path(folder) / name], check=True)
    (Path(folder) / "sshd").write_text(SSHD.format(port=PORT, folder=folder))


def meter(folder, command, env):
    """Run a command against a fresh sshd.

    Args:
        folder: what make_keys filled.
        command: the command line.
        env: its environment.

    Returns:
        (CPU seconds of the command and all that it started, CPU seconds of sshd and all that ran in its sessions).
    """
    Path("/run/sshd").mkdir(exist_ok=True)
    program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    sshd = subprocess.Popen([program, "-D", "-f", f"{folder}/sshd", "-E", f"{folder}/log"])
    try:
        _wait_until_it_listens()
        controller, _ = run(folder, command, env)
    finally:
        sshd.terminate()
        _, _, used = os.wait4(sshd.pid, 0)
        sshd.returncode = 0
    target = _seconds(used)
    for name, seconds in end_what_is_left():
        if name.startswith("sshd"):
            target += seconds
        else:
            controller += seconds
    return controller, target


def run(folder, command, env):
    """Run a command that must not fail, and return (CPU seconds of it and all that ended with it, seconds of the clock)."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    started = time.monotonic()
    with (Path(folder) / "said").open("wb") as said:
        running = subprocess.Popen(command, env=env, stdout=said, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode:
        raise SystemExit((Path(folder) / "said").read_text()[-3000:])
    return _seconds(used), time.monotonic() - started


def end_what_is_left():
    """End what commands left behind, such as connections that persist; return (name, CPU seconds) of each."""
    found = []
    for pid, name in _list_children():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        _, _, used = os.wait4(pid, 0)
        found.append((name, _seconds(used)))
    return found


def per_host(folder, make_command, env, count, few=2):
    """Return what a host more costs, (controller, target) in CPU seconds: what a run costs at all is taken off."""
    small, large = (meter(folder, make_command(list_addresses(number)), env) for number in (few, count))
    return tuple((large[end] - small[end]) / (count - few) for end in (0, 1))


def _seconds(used: resource.struct_rusage):
    return used.ru_utime + used.ru_stime


def _list_children():
    pids = [int(pid) for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()]
    return [(pid, Path(f"/proc/{pid}/comm").read_text().strip()) for pid in pids]


def _wait_until_it_listens():
    deadline = time.monotonic() + 60
    while f":{PORT:04X} 00000000:0000 0A" not in Path("/proc/net/tcp").read_text():
        if time.monotonic() > deadline:
            raise SystemExit("sshd does not listen")
        time.sleep(0.1)


def link_collection():
    """Let names of this collection's roles and modules mean this checkout."""
    subprocess.run([ROOT / "scripts/link-collection"], check=True)
