"""A site.yml run that changes nothing, against the same outcome with Ansible's own settings and one task per item, as ratios.

Targets are containers with systemd and sshd that stand for GPU servers of inventory/lab, taken through site.yml beforehand. CPU
is counted with few and with all of them and subtracted, so that a start is in neither; of the clock it is the share of all.
"""

import argparse
import importlib.util
import json
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

from targets import end_what_is_left, link_collection, run

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/system"))
from lab_servers import LabServers, find_missing, read_recap  # noqa: E402

PEER = ROOT / "bench/peers/site.yml"
MARK = "touch /root/before-the-run"
END_STATE = (ROOT / "bench/end_state.py").read_text()
SSHD = "systemctl restart ssh"


def main():
    """Print a JSON line for each way, then how many times our cost the other takes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=4, choices=range(2, 9), help="targets, 2 to 8; default: %(default)s")
    parser.add_argument("--mitogen", action="store_true", help="also run ours by mitogen's strategy; needs `pip install mitogen`")
    options = parser.parse_args()
    count = options.hosts
    if options.mitogen and find_mitogen() is None:
        raise SystemExit("mitogen is not installed here; fix: pip install mitogen")
    if reason := find_missing():
        raise SystemExit(f"no containers can run here: {reason}")
    link_collection()
    with tempfile.TemporaryDirectory(prefix="gy-bench-") as name:
        folder = Path(name)
        lab = LabServers(folder, [f"gpu-{number:03d}" for number in range(1, count + 1)])
        try:
            lab.start()
            for host in lab.hosts:
                lab.inside(host, MARK)
            converge(lab)
            write_peer(lab)
            ways = [play_ours, play_peer] + ([play_mitogen] if options.mitogen else [])
            ours, *others = (measure(lab, way) for way in ways)
        finally:
            lab.stop()
    for way, other in zip(ways[1:], others, strict=True):
        print(json.dumps({f"{way.__name__}_times_ours": {key: round(other[key] / ours[key], 2) for key in ours}}))


def converge(lab):
    """Take the servers through site.yml, without the reboot that costs their cables, and open their own sshd."""
    code, said, _ = lab.play("site.yml", "-e", "reboot_policy=never")
    if code:
        raise SystemExit(said)
    for host in lab.hosts:
        lab.inside(host, SSHD)


def write_peer(lab):
    """Write the other way's inventory: what the run left on each server, item by item."""
    hosts = {}
    for host in lab.hosts:
        state = subprocess.run(
            ["podman", "exec", "-i", lab.name(host), "python3", "-"], input=END_STATE, capture_output=True, text=True, check=True
        )
        hosts[host] = {"ansible_host": lab.address(host), **json.loads(state.stdout)}
    (lab.folder / "stock.cfg").write_text("[defaults]\n")
    (lab.folder / "peer.json").write_text(json.dumps({"_meta": {"hostvars": hosts}, "all": {"hosts": list(hosts)}}))
    script = lab.folder / "peer.sh"
    script.write_text(f"#!/bin/sh\ncat {lab.folder}/peer.json\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)


def play_ours(lab, hosts):
    """Return the command of our run, and its environment."""
    command = [
        "-i",
        "inventory/lab/cluster.yml",
        "playbooks/site.yml",
        "-e",
        f"@{lab.folder}/settings.json",
        "-e",
        "reboot_policy=never",
    ]
    return [*command, "--limit", ",".join(hosts)], {}


def play_peer(lab, hosts):
    """Return the command of the other run, and its environment."""
    return ["-i", f"{lab.folder}/peer.sh", str(PEER), "--limit", ",".join(hosts)], {"ANSIBLE_CONFIG": f"{lab.folder}/stock.cfg"}


def play_mitogen(lab, hosts):
    """Return the command of our run by mitogen, which keeps one Python on each host, and its environment."""
    command, settings = play_ours(lab, hosts)
    folder = Path(find_mitogen().origin).parent / "plugins/strategy"
    # mitogen has checking of host keys from this setting alone; the targets' are new each time.
    settings = settings | {"ANSIBLE_HOST_KEY_CHECKING": "False"}
    return command, settings | {"ANSIBLE_STRATEGY": "mitogen_linear", "ANSIBLE_STRATEGY_PLUGINS": str(folder)}


def find_mitogen():
    """Return where mitogen's side of Ansible is installed, or None."""
    return importlib.util.find_spec("ansible_mitogen")


def measure(lab, way, few=1):
    """Return what a host more costs in CPU seconds of controller, of target and of both, in tasks, and its share of the clock."""
    found = []
    for hosts in (lab.hosts[:few], lab.hosts):
        options, settings = way(lab, hosts)
        environment = {**lab.environment, "ANSIBLE_SSH_COMMON_ARGS": f"-F {lab.folder}/ssh-direct", **settings}
        del environment["ANSIBLE_SSH_ARGS"]  # each way has its own
        environment["ANSIBLE_SSH_CONTROL_PATH_DIR"] = f"{lab.folder}/{way.__name__[-4:]}"
        before = read_cpu(lab, hosts)
        controller, clock = run(lab.folder, ["ip", "netns", "exec", lab.prefix, "ansible-playbook", *options], environment)
        controller += sum(seconds for _, seconds in end_what_is_left())
        recap = read_recap((lab.folder / "said").read_text())
        if {host: counts["changed"] for host, counts in recap.items()} != dict.fromkeys(hosts, 0):
            raise SystemExit((lab.folder / "said").read_text()[-6000:])
        tasks = sum(counts["ok"] for counts in recap.values())
        found.append(
            {"controller_cpu_s": controller, "target_cpu_s": read_cpu(lab, hosts) - before, "wall_s": clock, "tasks": tasks}
        )
    more = len(lab.hosts) - few
    row = {key: (found[1][key] - found[0][key]) / more for key in found[0]}
    row["cpu_s"] = row["controller_cpu_s"] + row["target_cpu_s"]
    # Of the clock, the whole run's share: hosts are served side by side, so one more need not add to it.
    row["wall_s"] = found[1]["wall_s"] / len(lab.hosts)
    print(
        json.dumps({"way": way.__name__, "hosts": len(lab.hosts), **{key: round(value, 3) for key, value in row.items()}}),
        flush=True,
    )
    return row


def read_cpu(lab, hosts):
    """Return the CPU seconds that the containers have used."""
    total = 0.0
    for host in hosts:
        pid = lab.must("podman", "inspect", "-f", "{{.State.Pid}}", lab.name(host))
        groups = dict(line.split(":", 2)[1:] for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines())
        old = next((path for names, path in groups.items() if "cpuacct" in names.split(",")), "")
        if old:
            # systemd inside has groups of its own below the container's.
            folder = Path("/sys/fs/cgroup/cpuacct") / old.removesuffix("/init.scope").lstrip("/")
            total += int((folder / "cpuacct.usage").read_text()) / 1e9
        else:
            folder = Path("/sys/fs/cgroup") / groups[""].removesuffix("/init.scope").lstrip("/")
            words = dict(line.split() for line in (folder / "cpu.stat").read_text().splitlines())
            total += int(words["usage_usec"]) / 1e6
    return total


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
