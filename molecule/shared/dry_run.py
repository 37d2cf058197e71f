"""Run a playbook in check mode, and hold it to its word: it changes nothing, and announces what it should.

A container is what it was when no file below the folders of WATCHED and no systemd unit differs.
"""

import argparse
import difflib
import os
import re
import subprocess
import sys

WATCHED = (
    "/boot /etc /home /opt /root /srv /usr /var/lib/dpkg /var/lib/gpuyard /run/gpuyard /run/systemd/system /run/systemd/network"
)
# Left by Ansible's own connection and by interpreters; units that timers start, mounts of containers that come and go, and the
# double that loads the driver late.
IGNORED = r"^/root/\.(ansible|cache)|^/home/[^/]+/\.ansible|^/etc/\.pwd\.lock|/__pycache__"
TIMED = (
    "^unit (apt-daily|dpkg-db-backup|e2scrub|fstrim|gpuyard-double-udev|logrotate|man-db|session-|"
    "systemd-tmpfiles-clean|user|var-lib-containers-)"
)
SNAPSHOT = f"""
find {WATCHED} -xdev -type d -printf '%p %y %m %u %g\\n' -o -printf '%p %y %m %u %g %T@ %l\\n' 2>/dev/null |
  grep -vE '{IGNORED}' | sort
systemctl list-unit-files --no-legend --no-pager --plain | sed 's/^/unit file /'
systemctl list-units --all --no-legend --no-pager --plain --type=service,socket,timer,mount |
  awk '{{print "unit", $1, $2, $3}}' | grep -vE '{TIMED}'
"""


def main() -> int:
    """Return 0 where check mode told the truth on every host, else 1 after saying what was not so."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--announces", choices=["changes", "nothing"], required=True)
    parser.add_argument("--inventory", required=True)
    parser.add_argument("playbook")
    parser.add_argument("hosts", nargs="*", metavar="HOST=CONTAINER")
    wanted = parser.parse_args()
    containers = dict(pair.split("=") for pair in wanted.hosts)
    before = {host: list_state(container) for host, container in containers.items()}
    run = subprocess.run(
        ["ansible-playbook", "--check", "--diff", "--inventory", wanted.inventory, wanted.playbook],
        env={**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORCE_COLOR": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    wrong = [] if run.returncode == 0 else [f"check mode failed, code {run.returncode}"]
    for host, container in containers.items():
        wrong += [f"{host}: check mode changed {line}" for line in list_changes(before[host], list_state(container))]
        recap = re.search(rf"^{re.escape(host)}\s+:.*\bchanged=(\d+)", run.stdout, re.MULTILINE)
        announced = int(recap[1]) if recap else 0
        if wanted.announces == "changes" and not announced:
            wrong.append(f"{host}: check mode announced no change on a fresh host")
        if wanted.announces == "nothing" and announced:
            wrong.append(f"{host}: check mode announced {announced} changes on a converged host")
    if wrong:
        sys.stdout.write("\n".join([run.stdout, run.stderr, *wrong, ""]))
    return 1 if wrong else 0


def list_state(container: str) -> list[str]:
    """Return a line for each file and unit of a container."""
    command = ["podman", "exec", container, "sh", "-c", SNAPSHOT]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()


def list_changes(before: list[str], now: list[str]) -> list[str]:
    """Return the lines that came or went, with `+` or `-` in front."""
    return [line for line in difflib.unified_diff(before, now, lineterm="", n=0) if not line.startswith(("---", "+++", "@@"))]


if __name__ == "__main__":
    sys.exit(main())
