"""The scripts by which roles look at a host, on systems that no container here has: doubles of what they ask."""

import json
import subprocess
from pathlib import Path

import pytest

ROLES = Path(__file__).parents[3] / "roles"
SYSTEMS = {
    "debian": ('ID=debian\nVERSION_ID="12"\n', "debian"),
    "ubuntu": ('ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\n', "debian"),
    "rocky": ('ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.5"\n', "redhat"),
    "fedora": ("ID=fedora\nVERSION_ID=42\n", "redhat"),
}
LOCKS = "echo 'libnccl-0:2.28.9-1+cuda13.0.*'"
INSTALLED = r"printf 'libnccl 2.28.9-1+cuda13.0\npackage libnccl-devel is not installed\ncuda-toolkit-13-0 13.0.2-1\n'"


def look(role, folder, system, *arguments, **programs):
    """Run a role's look.sh as the role does, on a host that says it is this system and has these programs."""
    (folder / "os-release").write_text(system)
    for name, body in {"uname": "echo host", **programs}.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
    files = [ROLES / "package_source/files/family.sh", ROLES / role / "files/look.sh"]
    text = "\n".join(file.read_text() for file in files).replace("/etc/os-release", str(folder / "os-release"))
    command = ["/bin/sh", "-c", text, "look", *arguments]
    program = ROLES / role / "files/admins.py"
    given = program.read_text() if program.exists() else ""
    return subprocess.run(
        command, input=given, env={"PATH": f"{folder}:/usr/bin:/bin"}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize(
    ("role", "read"),
    [
        ("package_source", lambda said: said.split()[0]),
        ("cuda_nccl", lambda said: said.splitlines()[0]),
        ("provision_server", lambda said: said.splitlines()[0].removeprefix("family ")),
        ("base", lambda said: json.loads(said)["family"]),
    ],
)
def test_all_tell_the_same_family(role, read, name, tmp_path):
    system, family = SYSTEMS[name]
    silent = dict.fromkeys(("dpkg-query", "rpm", "dnf", "grubby", "getent"), ":")
    done = look(role, tmp_path, system, "no-such-package", **silent)
    assert (done.returncode, read(done.stdout)) == (0, family), done.stderr


@pytest.mark.parametrize("role", ["base", "cuda_nccl", "package_source", "provision_server"])
def test_another_system_is_refused(role, tmp_path):
    done = look(role, tmp_path, 'ID="opensuse-leap"\nID_LIKE="suse opensuse"\n', "no-such-package")
    assert done.returncode == 1
    assert done.stderr == "host runs opensuse-leap; expected Debian, Ubuntu or Rocky; fix: install one of these\n"


def test_packages_of_rpm_are_told_with_their_locks(tmp_path):
    names = ["libnccl", "libnccl-devel", "cuda-toolkit-13-0"]
    done = look("cuda_nccl", tmp_path, SYSTEMS["rocky"][0], "/none", *names, rpm=INSTALLED, dnf=LOCKS)
    assert done.stdout.splitlines()[5:] == ["libnccl 2.28.9-1+cuda13.0 hi", "cuda-toolkit-13-0 13.0.2-1 ii"]
