"""Wrong arguments of a role are refused before any host is asked, by name, value and remedy; those of every plan are taken.

One run per role: each row of bad_arguments/ROLE.yml and each kind of server of the example clusters is a host that does not
exist. A host that was refused says why; one whose arguments were taken is found unreachable, or had nothing to do.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cluster_model.pipeline import inspect
from cluster_model.render.tree import render_tree
from roles import ROLES, ROOT, read
from tests.slowness import stretch

NOWHERE = {
    "ansible_connection": "ssh",
    "ansible_host": "127.0.0.1",
    "ansible_port": 1,
    "ansible_python_interpreter": "/usr/bin/python3",
}
CLUSTERS = sorted(file.parent.name for file in (ROOT / "inventory").glob("*/cluster.yml"))


@pytest.fixture(scope="session")
def planned():
    """Return the variables of the first server of each group of each example cluster, by name."""
    found = {}
    for cluster in CLUSTERS:
        opened = inspect(ROOT / "inventory" / cluster)
        body = json.loads(render_tree(opened.plan, opened.catalogue, only={"inventory"})["inventory/inventory.json"])
        for group in sorted(name for name in body if name.startswith("group_") and body[name]["hosts"]):
            host = body[group]["hosts"][0]
            member = [name for name, about in body.items() if name != "_meta" and host in about.get("hosts", ())]
            variables = dict(body["all"]["vars"])
            for name in member:
                variables |= body[name].get("vars", {})
            found[f"plan-{cluster}-{host}"] = variables | body["_meta"]["hostvars"][host]
    return found


def run_role(role, hosts, folder):
    """Return the last result of each host, with whether it was refused: a role run for hosts that do not exist."""
    inventory = {"all": {"hosts": {name: {**variables, **NOWHERE} for name, variables in hosts.items()}}}
    (folder / "hosts.json").write_text(json.dumps(inventory))
    (folder / "play.yml").write_text(f"- hosts: all\n  gather_facts: false\n  roles: [gpuyard.cluster.{role}]\n")
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(folder / "none.cfg"),
        "ANSIBLE_HOME": str(folder / "home"),
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".ansible/collections"),
        "ANSIBLE_FORKS": "20",
        "ANSIBLE_TIMEOUT": "5",
        "ANSIBLE_CALLBACKS_ENABLED": "ansible.builtin.tree",
        "ANSIBLE_CALLBACK_TREE_DIR": str(folder / "tree"),
    }
    program = Path(sys.executable).parent / "ansible-playbook"
    command = [program, "--check", "-i", folder / "hosts.json", folder / "play.yml"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=stretch(900))
    results = {file.name: json.loads(file.read_text()) for file in (folder / "tree").glob("*")}
    for name, unreachable, failed in re.findall(r"^(\S+)\s+: ok=.*unreachable=(\d+)\s+failed=(\d+)", done.stdout, re.MULTILINE):
        results.setdefault(name, {}).update(refused=failed != "0" and unreachable == "0")
    assert set(results) >= {name for name in hosts if name.startswith("bad-")}, done.stdout[-3000:] + done.stderr[-3000:]
    return results


def judge(row, result):
    """Return what is wrong with the answer to bad arguments."""
    if not result["refused"]:
        return [f"taken: {result.get('msg', result)}"]
    said = str(result.get("msg"))
    values = [str(value) for value in row["arguments"].values() if isinstance(value, str | int | float) and value != ""]
    wanted = row.get("mentions") or [*row["arguments"], *values]
    wanted = [*wanted, *row["words"], *([] if row.get("type") else ["; fix: "])]
    return [f"{word!r} is not in: {said}" for word in wanted if word not in said]


@pytest.mark.parametrize("role", ROLES)
def test_arguments(role, planned, collection, tmp_path):
    table = read(ROOT / f"tests/roles/bad_arguments/{role}.yml") or {"good": {}, "bad": []}
    rows = {f"bad-{number}": row for number, row in enumerate(table["bad"], 1)}
    hosts = {name: table["good"] | row["arguments"] for name, row in rows.items()}
    hosts |= {"good": table["good"]} if table["bad"] else {}
    results = run_role(role, hosts | planned, tmp_path)
    wrong = [f"{row['arguments']}: {fault}" for name, row in rows.items() for fault in judge(row, results[name])]
    taken = {name: result for name, result in results.items() if name not in rows and result["refused"]}
    wrong += [f"{name}: refused: {result.get('msg')}" for name, result in taken.items()]
    assert not wrong, "\n".join(wrong)
