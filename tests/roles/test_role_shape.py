"""Every role has the same shape: docs/add-a-role.md. `make record` writes the READMEs."""

import re

import pytest
from readme import render_readme

from roles import ROLES, ROOT, list_task_files, read, read_defaults, read_specs, walk_tasks
from tests import recorded

FILES = ["README.md", "defaults/main.yml", "meta/main.yml", "meta/argument_specs.yml", "tasks/main.yml", "tasks/validate.yml"]
KEYWORDS = {
    *(
        "name",
        "when",
        "vars",
        "loop",
        "loop_control",
        "register",
        "notify",
        "listen",
        "tags",
        "become",
        "become_user",
        "become_method",
    ),
    *(
        "delegate_to",
        "delegate_facts",
        "run_once",
        "changed_when",
        "failed_when",
        "check_mode",
        "ignore_errors",
        "ignore_unreachable",
    ),
    *("environment", "retries", "until", "delay", "args", "no_log", "any_errors_fatal", "block", "rescue", "always", "throttle"),
    *("timeout", "async", "poll", "diff", "connection"),
}
INJECTED = re.compile(
    r"\bansible_(all_ipv4_addresses|architecture|default_ipv4|devices|distribution\w*|fqdn|hostname|interfaces|kernel\w*|lsb|memtotal_mb|"
    r"mounts|os_family|pkg_mgr|processor\w*|product_\w+|service_mgr|system_vendor|virtualization\w*)\b"
)


@pytest.mark.parametrize("role", ROLES)
def test_role_has_its_files(role):
    missing = [file for file in FILES if file != "README.md" and not (ROOT / "roles" / role / file).is_file()]
    assert not missing


@pytest.mark.parametrize("role", ROLES)
def test_readme_is_fresh(role):
    recorded.check(ROOT / "roles" / role / "README.md", render_readme(role))


@pytest.mark.parametrize("role", ROLES)
def test_specs_and_defaults_are_one(role):
    specs, defaults = read_specs(role), read_defaults(role)
    options = {name: option for entry in specs.values() for name, option in (entry.get("options") or {}).items()}
    required = {name for name, option in options.items() if option.get("required")}
    assert {name for name in {*options, *defaults} if not name.startswith(f"{role}_")} == set()
    assert set(specs["main"].get("options") or {}) - required == set(defaults), "defaults/main.yml and argument_specs.yml differ"
    said = {name: option["default"] for name, option in options.items() if "default" in option}
    assert {name: default for name, default in said.items() if default != defaults.get(name)} == {}
    assert [name for name, option in options.items() if not option.get("description") or "type" not in option] == []


@pytest.mark.parametrize("role", ROLES)
def test_arguments_are_checked_first(role):
    tasks = read(ROOT / "roles" / role / "tasks/main.yml")
    first = tasks[0].get("ansible.builtin.import_tasks") or tasks[0].get("ansible.builtin.include_tasks")
    assert first == "validate.yml"
    for task in walk_tasks(read(ROOT / "roles" / role / "tasks/validate.yml")):
        assert set(task) & {"ansible.builtin.assert", "ansible.builtin.fail"}, "validate.yml asserts, and does nothing else"
    assert "ansible_facts" not in (ROOT / "roles" / role / "tasks/validate.yml").read_text(), "validate.yml needs no facts"


@pytest.mark.parametrize("role", ROLES)
def test_modules_are_builtin_or_ours(role):
    wrong = []
    for file in list_task_files(role):
        for task in walk_tasks(read(file)):
            modules = [key for key in task if key not in KEYWORDS]
            wrong += [f"{file.name}: {key}" for key in modules if not key.startswith(("ansible.builtin.", "gpuyard.cluster."))]
            wrong += [f"{file.name}: {task.get('name')}: no module"] if not modules else []
    assert wrong == []


@pytest.mark.parametrize("role", ROLES)
def test_facts_have_their_long_form(role):
    folder = ROOT / "roles" / role
    files = [file for file in folder.rglob("*") if file.suffix in {".yml", ".j2"}]
    assert [f"{file.relative_to(folder)}: {found[0]}" for file in files for found in INJECTED.finditer(file.read_text())] == []


@pytest.mark.parametrize("role", ROLES)
def test_distributions_have_their_paths(role):
    names = {file.stem for file in (ROOT / "roles" / role / "tasks").glob("*.yml")}
    assert ("debian" in names) == ("redhat" in names), "both families, or none"


@pytest.mark.parametrize("role", ROLES)
def test_role_is_tried(role):
    files = [f"molecule/{role}/molecule.yml", f"molecule/{role}/converge.yml", f"tests/roles/bad_arguments/{role}.yml"]
    assert [file for file in files if not (ROOT / file).is_file()] == []


LOCKED = [
    name for name in ROLES if name != "versions" and "versions_" in (ROOT / "roles" / name / "defaults/main.yml").read_text()
]
"""Roles that take a version from the lock."""


@pytest.mark.parametrize("role", LOCKED)
def test_lock_is_a_dependency(role):
    needs = [need["role"] for need in read(ROOT / "roles" / role / "meta/main.yml").get("dependencies") or []]
    assert "gpuyard.cluster.versions" in needs, "the lock is checked before anything is touched"


def test_readme_says_what_specs_say():
    """The generator shows types, required ones, what is nested, and every entry point."""
    text = render_readme("reboot")
    assert "| `reboot_batch` | int | `4` | Hosts of one failure domain" in text
    assert "## `tasks_from: request`" in text
    assert "| `reboot_reason` | str | required |" in text
    assert "One of `idle`, `always`, `never`." in text
