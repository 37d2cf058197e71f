"""How many batches a fleet reboots in, by setting: the table of docs/playbooks.md, from the role's own variables."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from roles import ROOT, read_defaults

BOOT_MINUTES = 10
SETTINGS = {
    "nothing": {},
    "`reboot_batch: 8`": {"reboot_batch": 8},
    "`reboot_failure_domain: gpu`, `reboot_batch: 32`": {"reboot_failure_domain": "gpu", "reboot_batch": 32},
    "`reboot_at_once: true`": {"reboot_at_once": True},
}
"""Settings of the table, for 32 racks of 8 servers, all of which ask for a reboot."""


def cut(folder, hosts):
    """Return the batches that the role makes of hosts that all want a reboot; variables are the role's, by host."""
    told = {
        name: {
            **values,
            "__reboot_host": {
                "wanted": True,
                "domain": values["reboot_failure_domain"],
                "batch": values["reboot_batch"],
                "use": [],
            },
        }
        for name, values in hosts.items()
    }
    (folder / "hosts.json").write_text(json.dumps({"all": {"hosts": told}}))
    task = {"ansible.builtin.debug": {"msg": "{{ __reboot_cut }}"}, "run_once": True}
    play = {"hosts": "all", "gather_facts": False, "vars_files": [str(ROOT / "roles/reboot/vars/main.yml")], "tasks": [task]}
    (folder / "play.yml").write_text(yaml.safe_dump([play]))
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(folder / "none.cfg"),
        "ANSIBLE_HOME": str(folder / "home"),
        "ANSIBLE_CALLBACKS_ENABLED": "ansible.builtin.tree",
        "ANSIBLE_CALLBACK_TREE_DIR": str(folder / "tree"),
    }
    command = [Path(sys.executable).parent / "ansible-playbook", "-i", "hosts.json", "play.yml"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    (answer,) = (folder / "tree").glob("*")
    return json.loads(answer.read_text())["msg"]


@pytest.mark.parametrize("setting", SETTINGS)
def test_documented_batches_are_the_roles(setting, tmp_path):
    hosts = {
        f"gpu-{rack:02d}-{place}": {**read_defaults("reboot"), "reboot_failure_domain": f"A{rack:02d}", **SETTINGS[setting]}
        for rack in range(1, 33)
        for place in range(1, 9)
    }
    batches = cut(tmp_path, hosts)
    assert sorted(name for batch in batches for name in batch) == sorted(hosts)
    row = re.search(rf"^\| {re.escape(setting)} \| (.*)$", (ROOT / "docs/playbooks.md").read_text(), re.MULTILINE)
    assert row, "the table of docs/playbooks.md names the setting"
    count, together, time = (cell.strip() for cell in row[1].strip("| ").split("|")[:3])
    forks = int(re.search(r"^forks = (\d+)$", (ROOT / "ansible.cfg").read_text(), re.MULTILINE)[1])
    assert (int(count), int(together)) == (len(batches), max(map(len, batches)))
    minutes = BOOT_MINUTES * sum(-(-len(batch) // forks) for batch in batches)
    assert time.startswith(f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min")


def test_the_smallest_batch_of_a_domain_counts(tmp_path):
    hosts = {
        name: {**read_defaults("reboot"), "reboot_failure_domain": domain, "reboot_batch": batch}
        for name, domain, batch in [("a1", "A", 8), ("a2", "A", 1), ("b1", "B", 8), ("b2", "B", 8)]
    }
    assert cut(tmp_path, hosts) == [["a1"], ["a2"], ["b1", "b2"]]
