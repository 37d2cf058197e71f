"""On RHEL too, what no source has is told before the GPUs are emptied: playbooks/driver.yml's roles, with a double of dnf."""

import json
import os
import subprocess
import sys
from pathlib import Path

from roles import ROOT, read

KERNEL = "5.14.0-570.el9.x86_64"
SURVEY = read(ROOT / "tests/roles/driver_choices.yml")["common"] | {
    "distribution": "rocky",
    "os_family": "redhat",
    "kernel": KERNEL,
    "next_kernel": KERNEL,
    "kernels": [KERNEL],
    "modules": {KERNEL: "580.95.05"},
    "loaded": "580.95.05",
    "nvswitches": 4,
    "packages": {f"kernel-devel-{KERNEL}": "5.14.0", f"kernel-devel-matched-{KERNEL}": "5.14.0"},
    "holds": [],
}
DRIVER = [
    f"{name} | {version}-1.el9 | x86_64"
    for version in ("580.95.05", "590.48.01")
    for name in ("nvidia-driver-cuda", "kmod-nvidia-open-dkms", "nvidia-persistenced")
]
# dnf tells what the query asks for: name, version and release, and perhaps the architecture.
DNF = """#!/bin/sh
case " $* " in
  *" nvidia-fabricmanager "*) cat %(folder)s/fabric ;;
  *" nvidia-driver-cuda "*) cat %(folder)s/driver ;;
  *) exit 1 ;;
esac
case $* in "-q repoquery --setopt=*.module_hotfixes=1 --qf %%{name} | %%{version}-%%{release}"*) ;; *) exit 1 ;; esac
"""


def move(folder, collection, fabric):
    """Move the driver of this machine, which is told to be RHEL's, to 590; return what Ansible says. The drain ends the play."""
    (folder / "driver").write_text("\n".join(DRIVER))
    (folder / "fabric").write_text("\n".join(fabric))
    (folder / "survey.json").write_text(json.dumps(SURVEY))
    (folder / "drain.yml").write_text(json.dumps([{"name": "Drain", "ansible.builtin.fail": {"msg": "it drains"}}]))
    for name, text in {
        "dnf": DNF % {"folder": folder},
        "python3": f"#!/bin/sh\ncat >/dev/null\nexec cat {folder}/survey.json\n",
    }.items():
        (folder / "bin").mkdir(exist_ok=True)
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    play = {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "environment": {"PATH": f"{folder}/bin:/usr/bin:/bin"},
        "vars": {
            "ansible_python_interpreter": sys.executable,
            "versions_driver": "590.48.01",
            "nvidia_driver_package_sources": [],
            "fabric_manager_package_sources": [],
            "nvidia_driver_drain_tasks": str(folder / "drain.yml"),
        },
        "roles": ["gpuyard.cluster.nvidia_driver", "gpuyard.cluster.fabric_manager"],
    }
    (folder / "play.yml").write_text(json.dumps([play]))
    environment = {**os.environ, "ANSIBLE_CONFIG": str(folder / "none.cfg"), "ANSIBLE_HOME": str(folder / "home")}
    environment |= {"ANSIBLE_COLLECTIONS_PATH": str(collection), "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml"}
    command = [Path(sys.executable).parent / "ansible-playbook", "-i", "localhost,", folder / "play.yml"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 2, done.stdout[-3000:] + done.stderr[-3000:]
    return " ".join((done.stdout + done.stderr).split())


def test_a_fabric_manager_that_no_source_has(tmp_path, collection):
    said = move(tmp_path, collection, ["nvidia-fabricmanager | 580.95.05-1.el9", "libnvidia-nscq | 590.48.01-1.el9"])
    assert "it drains" not in said
    assert "fabric_manager_version: 590.48.01; the packages' source lacks nvidia-fabricmanager of that version" in said
    assert "and offers nvidia-fabricmanager 580.95.05-1.el9, libnvidia-nscq 590.48.01-1.el9" in said


def test_one_that_a_source_has(tmp_path, collection):
    fabric = [f"{name} | 590.48.01-1.el9" for name in ("nvidia-fabricmanager", "libnvidia-nscq")]
    assert "it drains" in move(tmp_path, collection, fabric)
