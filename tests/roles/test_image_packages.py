"""The image that we build, and the containers that stand for it in tests, hold what the roles need on a host."""

import importlib
import re

import pytest
import yaml

from cluster_model.deploy.image import KERNELS, Recipe
from roles import ROLES, ROOT, list_task_files, read, walk_tasks

IMAGES = [Recipe("x", "debian", "bookworm"), Recipe("x", "ubuntu", "noble")]


def find_modules():
    """Return the modules that roles run on Debian and Ubuntu hosts."""
    files = [file for role in ROLES for file in list_task_files(role) if "redhat" not in file.name]
    return sorted(
        {key for file in files for task in walk_tasks(read(file)) for key in task if key.startswith("ansible.builtin.")}
    )


def read_requirements(module):
    """Return the Debian packages that a module of Ansible asks for on the host, as its manual names them."""
    try:
        source = importlib.import_module(f"ansible.modules.{module.rpartition('.')[2]}")
    except ModuleNotFoundError:  # an action of the controller, such as include_tasks
        return set()
    manual = yaml.safe_load(source.DOCUMENTATION)
    return set(re.findall(r"\bpython3-[a-z-]+", " ".join(map(str, manual.get("requirements") or []))))


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: image.distribution)
def test_image_has_what_modules_need(image):
    """The module apt refuses check mode without python3-apt, and otherwise installs it from lists that a new system lacks."""
    wanted = {package: module for module in find_modules() for package in read_requirements(module)}
    assert "python3-apt" in wanted, "apt names what it needs"
    assert {package: module for package, module in wanted.items() if package not in image.list_packages()} == {}


def test_containers_have_no_more_than_the_image():
    """What a test finds in a container and a role needs must be in the image too."""
    base = re.search(r"^base='(.*)'$", (ROOT / "scripts/container-image").read_text(), re.MULTILINE)[1].split()
    image = {package for package in IMAGES[0].list_packages() if package != KERNELS["debian"]}
    assert [package for package in base if package not in {*image, "systemd"}] == []
