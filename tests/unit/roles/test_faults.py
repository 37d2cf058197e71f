"""What the filters find that check the arguments of roles, word for word. tests/roles/bad_arguments asks the roles themselves."""

import importlib
import re
import sys
from pathlib import Path

import pytest
import yaml

ROLES = Path(__file__).parents[3] / "roles"
TABLE = yaml.safe_load((Path(__file__).parent / "faults.yml").read_text())
BAD = [(role, number) for role, rows in TABLE.items() for number in range(len(rows["bad"]))]


@pytest.fixture
def load(collection, monkeypatch):
    """Return a function that gives the filter of this name, as Ansible finds it."""
    monkeypatch.syspath_prepend(str(collection))

    def find(name):
        module = importlib.import_module(f"ansible_collections.gpuyard.cluster.plugins.filter.{name}")
        return module.FilterModule().filters()[name]

    yield find
    for name in [name for name in sys.modules if name.startswith("ansible_collections")]:
        del sys.modules[name]


@pytest.mark.parametrize("role", TABLE)
def test_what_is_right_is_taken(role, load):
    assert load(f"{role}_faults")(TABLE[role]["good"]) == []


@pytest.mark.parametrize(("role", "number"), BAD)
def test_all_that_is_wrong_is_told_at_once(role, number, load):
    row = TABLE[role]["bad"][number]
    assert load(f"{role}_faults")(TABLE[role]["good"] | row["change"]) == row["found"]


def test_every_role_has_its_table():
    assert list(TABLE) == sorted(folder.parent.name for folder in ROLES.glob("*/meta"))


@pytest.mark.parametrize("role", TABLE)
def test_the_role_gives_its_filter_what_it_is_tried_with(role):
    (task,) = yaml.safe_load((ROLES / role / "tasks/validate.yml").read_text())
    besides = re.findall(r"'(\w+)': \w+ \| default", task["vars"]["faults"])
    assert sorted(task["vars"]["names"] + besides) == sorted(TABLE[role]["good"])
    assert task["vars"]["faults"].endswith(f" | gpuyard.cluster.{role}_faults }}}}")


@pytest.mark.parametrize("kernel", ["4.18", "6.1", "6.17", 6.1])
def test_a_kernel_within_the_range_is_taken(kernel, load):
    lock = TABLE["versions"]["good"] | {"versions_doca": "3.2.1", "versions_kernel": kernel}
    assert load("versions_faults")(lock) == []


# --- Keys of package sources, as gpg lists them

FIRST, SECOND, SUBKEY = "A" * 40, "B" * 40, "C" * 40
SOURCE = {"name": "nvidia-cuda", "file": "/keys/nvidia-cuda.asc", "url": "https://example.net/key.pub", "fingerprints": [FIRST]}


def list_key(*fingerprints):
    blocks = [f"pub:-:4096:1:X\nfpr:::::::::{each}:\nuid:-\nsub:-\nfpr:::::::::{SUBKEY}:\n" for each in fingerprints]
    return {"item": SOURCE, "stdout": "".join(blocks)}


def test_the_vendors_key_is_taken_by_its_primary_keys(load):
    assert load("package_source_key_faults")([SOURCE], [list_key(FIRST)], []) == []


def test_a_file_with_one_key_more_is_refused(load):
    (fault,) = load("package_source_key_faults")([SOURCE], [list_key(FIRST, SECOND)], [])
    assert fault == (
        f"nvidia-cuda: /keys/nvidia-cuda.asc holds {FIRST}, {SECOND}; expected {FIRST}; fix: have gpg on the controller and "
        "let it reach https://example.net/key.pub, remove the file to have it downloaded again, or, if the vendor has a new one, "
        "set package_source_repositories.nvidia-cuda.fingerprints"
    )


def test_a_key_that_could_not_be_had_says_why(load):
    read = {"item": SOURCE, "stdout": "", "stderr": "gpg: can't open"}
    download = {"item": SOURCE, "failed": True, "msg": "Request failed", "response": "HTTP Error 503"}
    (fault,) = load("package_source_key_faults")([SOURCE], [read], [download])
    assert "holds no key (HTTP Error 503; gpg: can't open); expected" in fault


def test_a_key_of_yours_is_to_be_put_there(load):
    source = SOURCE | {"url": ""}
    (fault,) = load("package_source_key_faults")([source], [{"item": source, "msg": "no gpg"}], [])
    assert "holds no key (no gpg)" in fault
    assert "put the key there" in fault
