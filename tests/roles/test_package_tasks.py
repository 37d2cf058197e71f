"""Tasks that move packages wait for the package manager's lock, and work on a system that has no lists of packages yet."""

import pytest

from roles import ROLES, list_task_files, read, walk_tasks

MODULES = {"ansible.builtin.apt", "ansible.builtin.dnf", "ansible.builtin.package"}


def list_package_tasks(role):
    """Return the tasks that move packages, each with file, module, arguments and condition."""
    return [
        (file.name, module, task[module], task.get("when", ""))
        for file in list_task_files(role)
        for task in walk_tasks(read(file))
        for module in MODULES & set(task)
    ]


@pytest.mark.parametrize("role", ROLES)
def test_package_tasks_wait_for_the_lock(role):
    """A new server upgrades itself for many minutes; apt's own sixty seconds and dnf's thirty are less than that."""
    tasks = list_package_tasks(role)
    assert [f"{name}: {module}" for name, module, arguments, _ in tasks if "lock_timeout" not in arguments] == []


@pytest.mark.parametrize("role", ["container_toolkit", "fabric_manager", "kubernetes_node", "nvidia_driver"])
def test_locks_go_before_packages_move(role):
    """Dnf answers that a locked package is filtered out, whatever version it is asked for."""
    blocks = [task["block"] for file in list_task_files(role) for task in read(file) if "always" in task]
    (block,) = [block for block in blocks if any("ansible.builtin.dnf" in task for task in block)]
    told = [("ansible.builtin.dnf" in task, str(task.get("ansible.builtin.command", ""))) for task in block]
    before = told[: [moves for moves, _ in told].index(True)]
    assert [words for _, words in before if "versionlock" in words and "delete" in words] != []


@pytest.mark.parametrize("role", ROLES)
def test_packages_of_the_distribution_come_without_lists(role):
    """An image has no lists: they are read before, and in check mode, which reads none, the task is announced instead."""
    tasks = [task for task in list_package_tasks(role) if task[1] == "ansible.builtin.package"]
    assert [name for name, _, arguments, _ in tasks if arguments.get("update_cache") is not True] == []
    assert [name for name, _, _, when in tasks if "not ansible_check_mode" not in when] == []


def test_there_are_such_tasks():
    assert {module for role in ROLES for _, module, *_ in list_package_tasks(role)} >= {
        "ansible.builtin.apt",
        "ansible.builtin.dnf",
    }
