"""What nvidia_driver and fabric_manager choose where no container can show it: other distributions, branches, GPUs, families.

The roles' own variables are evaluated by Ansible for hosts whose survey is given.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from roles import ROOT, read
from tests.slowness import stretch

ASKED = {
    "driver": "{{ __nvidia_driver_names }}",
    "signed": "{{ __nvidia_driver_signed_modules }}",
    "flavour": "{{ __nvidia_driver_flavour }}",
    "headers": "{{ __nvidia_driver_header_names }}",
    "headers_missing": "{{ __nvidia_driver_headers_missing }}",
    "headers_wanted": "{{ __nvidia_driver_headers_wanted }}",
    "headers_absent": "{{ __nvidia_driver_headers_absent }}",
    "unbuilt": "{{ __nvidia_driver_unbuilt }}",
    "unbuilt_others": "{{ __nvidia_driver_unbuilt_others }}",
    "boots_unknown": "{{ __nvidia_driver_boots_unknown }}",
    "boots_unknown_fault": "{{ __nvidia_driver_boots_unknown_fault | trim }}",
    "elsewhere": "{{ __nvidia_driver_elsewhere }}",
    "others": "{{ __nvidia_driver_others }}",
    "moves": "{{ __nvidia_driver_moves }}",
    "wanted": "{{ __nvidia_driver_wanted }}",
    "held": "{{ __nvidia_driver_held }}",
    "fabric": "{{ __fabric_manager_all }}",
    "fabric_tools": "{{ __fabric_manager_tools }}",
    "fabric_wanted": "{{ __fabric_manager_wanted }}",
}
TABLE = read(ROOT / "tests/roles/driver_choices.yml")
CASES = TABLE["cases"]


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    """Return what the roles choose for each case, by its name."""
    folder = tmp_path_factory.mktemp("choices")
    hosts = {
        name: {
            "nvidia_driver_survey": TABLE["common"] | case.get("survey", {}),
            "versions_driver": "580.95.05",
            **case.get("variables", {}),
        }
        for name, case in CASES.items()
    }
    files = [
        ROOT / "roles" / role / kind / "main.yml" for role in ("nvidia_driver", "fabric_manager") for kind in ("defaults", "vars")
    ]
    variables = {name: value for file in files for name, value in read(file).items()}
    (folder / "hosts.json").write_text(json.dumps({"all": {"vars": variables, "hosts": hosts}}))
    tasks = [{"ansible.builtin.debug": {"msg": ASKED}}]  # a module, such as copy, would start Python for each host
    play = [{"hosts": "all", "gather_facts": False, "tasks": tasks}]
    (folder / "play.yml").write_text(json.dumps(play))
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(folder / "none.cfg"),
        "ANSIBLE_HOME": str(folder / "home"),
        "ANSIBLE_FORKS": "4",
        "ANSIBLE_CALLBACKS_ENABLED": "ansible.builtin.tree",
        "ANSIBLE_CALLBACK_TREE_DIR": str(folder / "chosen"),
    }
    program = Path(sys.executable).parent / "ansible-playbook"
    command = [program, "-i", folder / "hosts.json", folder / "play.yml"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=stretch(600))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return {name: json.loads((folder / "chosen" / name).read_text())["msg"] for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_choice(name, chosen):
    expected = CASES[name]["chosen"]
    assert {key: chosen[name][key] for key in expected} == expected
