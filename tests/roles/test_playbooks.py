"""Playbooks: one verb per file, in batches with a failure budget, all of them in site.yml; every task file is read by Ansible."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from roles import ROLES, ROOT, read, read_defaults

BIN = Path(sys.executable).parent
VERBS = [play["ansible.builtin.import_playbook"] for play in read(ROOT / "playbooks/site.yml")]
OPERATIONS = sorted({file.name for file in (ROOT / "playbooks").glob("*.yml")} - {"site.yml", *VERBS})
"""What is done on an occasion, such as a power feed that is lost; no part of site.yml."""


def check_syntax(playbook, folder, *options):
    environment = {**os.environ, "ANSIBLE_HOME": str(folder / "home"), "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}
    command = [BIN / "ansible-playbook", *options, "-i", "localhost,", playbook]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", VERBS)
def test_one_verb_per_file(name):
    (play,) = read(ROOT / "playbooks" / name)
    verb = name.removesuffix(".yml")
    assert play["tags"] == [verb], "the tag is the verb"
    assert play["become"] is True
    assert play["max_fail_percentage"] == "{{ failure_budget | default(10) }}"
    size = "'100%'" if verb == "reboot" else "batch | default('100%')"
    assert play["serial"] == f"{{{{ {size} | gpuyard.cluster.batch_sizes(groups) }}}}"
    assert all(role["role"].removeprefix("gpuyard.cluster.") in ROLES for role in play.get("roles", []))


def test_every_role_is_in_a_playbook():
    plays = [play for name in [*VERBS, *OPERATIONS] for play in read(ROOT / "playbooks" / name)]
    played = {role["role"].removeprefix("gpuyard.cluster.") for play in plays for role in play.get("roles", [])}
    included = {"package_source", "versions"}  # by other roles
    assert set(ROLES) - included == played


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation_says_how_it_is_called(name):
    head = (ROOT / "playbooks" / name).read_text().split("- name:")[0]
    assert f"ansible-playbook -i inventory/lab/cluster.yml playbooks/{name}" in head


@pytest.mark.parametrize("name", OPERATIONS)
def test_syntax_of_operations(name, tmp_path, collection):
    done = check_syntax(ROOT / "playbooks" / name, tmp_path, "--syntax-check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_syntax_of_site(tmp_path, collection):
    done = check_syntax(ROOT / "playbooks/site.yml", tmp_path, "--list-tasks")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [verb for verb in VERBS if f"TAGS: [{verb.removesuffix('.yml')}]" not in done.stdout] == []


def play_elsewhere(name, folder, *options, inventory, **environment):
    """Run a playbook in another folder than the checkout's, without its configuration; return exit code and output."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    settings |= {"ANSIBLE_HOME": str(folder / "home"), "HOME": str(folder), **environment}
    command = [BIN / "ansible-playbook", *options, "-i", inventory, ROOT / "playbooks" / name]
    done = subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["site.yml", "reboot.yml", "gpus.yml", "gpu_feed.yml", "provision.yml", "kubernetes.yml"])
def test_without_our_configuration_it_says_what_to_set(name, tmp_path):
    code, said = play_elsewhere(name, tmp_path, inventory=ROOT / "inventory/lab/cluster.yml")
    assert code != 0, said
    assert "not found? set ANSIBLE_CONFIG" in said


def test_with_a_limit_ansible_ends_before_it_can_say_so_and_the_page_has_its_words(tmp_path):
    code, said = play_elsewhere("site.yml", tmp_path, "--limit", "gpu-001", inventory=ROOT / "inventory/lab/cluster.yml")
    assert code != 0, said
    assert "ANSIBLE_CONFIG" not in said  # once it does, the page need not explain it
    page = " ".join((ROOT / "docs/playbooks.md").read_text().split())
    assert "Skipping unexpected key (rows) in group (racks)" in said and "`Skipping unexpected key (…) in group (…)`" in page
    assert "leaves us with no hosts to target" in said and "then `leaves us with no hosts to target`" in page


def test_no_kernel_comes_by_itself_as_the_page_says():
    kept_off = read_defaults("base")["base_upgrades_keep_off"]
    page = " ".join((ROOT / "docs/gpu-driver.md").read_text().split())
    assert "role base keeps Debian's unattended upgrades off them, as off the driver (`base_upgrades_keep_off`)" in page
    for package in ("linux-image-amd64", "linux-headers-amd64", "linux-image-6.8.0-88-generic", "nvidia-kernel-open-dkms"):
        assert any(package.startswith(name) for name in kept_off), package


@pytest.mark.parametrize("name", ["site.yml", "gpus.yml", "provision.yml"])
def test_an_intent_that_was_read_as_groups_and_hosts_is_refused(name, tmp_path, collection):
    """The collection is installed, and its inventory plugin not enabled."""
    where = {"ANSIBLE_COLLECTIONS_PATH": str(collection)}
    code, said = play_elsewhere(name, tmp_path, inventory=ROOT / "inventory/lab/cluster.yml", **where)
    assert code != 0, said
    assert "the inventory has no servers; expected those of an intent" in said
    assert f"fix: export ANSIBLE_CONFIG={ROOT}/ansible.cfg" in said


@pytest.mark.parametrize("batch", ['"foo"', "0", "-1", '"101%"', '["1", "x%"]', "[]", "true"])
def test_a_batch_that_is_no_size_is_refused(batch, tmp_path, collection):
    (tmp_path / "hosts.yml").write_text("servers: {hosts: {gpu-001: }}\n")
    where = {"ANSIBLE_COLLECTIONS_PATH": str(collection)}
    words = f'{{"batch": {batch}}}'
    code, said = play_elsewhere("base.yml", tmp_path, "-e", words, inventory="hosts.yml", **where)
    assert code != 0, said
    assert "batch: " in said and "; fix: -e batch=32" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("batch", ["32", "10%", '{"batch": [1, 8, "25%"]}'])
def test_a_batch_that_is_one_is_taken(batch, tmp_path, collection):
    (tmp_path / "hosts.yml").write_text("servers: {hosts: {gpu-001: }}\n")
    where = {"ANSIBLE_COLLECTIONS_PATH": str(collection)}
    words = batch if batch[0] == "{" else f"batch={batch}"
    code, said = play_elsewhere("base.yml", tmp_path, "-e", words, "--tags", "none", inventory="hosts.yml", **where)
    assert code == 0, said


def test_syntax_of_every_task_file(tmp_path, collection):
    """Files that are chosen at run time, such as those of Ubuntu and Rocky, are read by no syntax check of a playbook."""
    tasks = [
        {
            "name": f"{role} {file.stem}",
            "ansible.builtin.import_role": {"name": f"gpuyard.cluster.{role}", "tasks_from": file.stem},
        }
        for role in ROLES
        for file in sorted((ROOT / "roles" / role / "tasks").glob("*.yml"))
    ]
    (tmp_path / "all.yml").write_text(yaml.safe_dump([{"hosts": "all", "gather_facts": False, "tasks": tasks}]))
    done = check_syntax(tmp_path / "all.yml", tmp_path, "--syntax-check")
    assert done.returncode == 0, done.stdout + done.stderr
