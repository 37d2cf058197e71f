"""What role provision_server delivers: the task that packs it is run as it stands, on this machine."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

from tests.slowness import stretch

pytest.importorskip("ansible")
ROOT = Path(__file__).parents[2]


INPUTS = {"cluster.yml", "ops.pub", "pdus.csv", "servers.csv", "switches.csv"}


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    """Return a folder with the lab's intent and the tree that was rendered of it."""
    folder = tmp_path_factory.mktemp("rendered")
    shutil.copytree(ROOT / "inventory/lab", folder / "lab", ignore=shutil.ignore_patterns("build"))
    command = [sys.executable, "-m", "cluster_model.cli", "render", str(folder / "lab"), "-o", str(folder / "tree")]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    return folder


def pack(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the task that packs, with the intent `lab` and the tree `tree` of a folder."""
    tasks = yaml.safe_load((ROOT / "roles/provision_server/tasks/main.yml").read_text())
    task = next(task for task in tasks if task["name"] == "Pack what is delivered, on the controller")
    places = {"provision_server_tree": str(folder / "tree"), "provision_server_intent": str(folder / "lab")}
    play = folder / "play.yml"
    play.write_text(yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "vars": places, "tasks": [task]}]))
    (folder / "files").symlink_to(ROOT / "roles/provision_server/files")
    environment = {**os.environ, "ANSIBLE_CONFIG": str(folder / "none.cfg"), "ANSIBLE_PYTHON_INTERPRETER": sys.executable}
    return subprocess.run(
        [Path(sys.executable).parent / "ansible-playbook", "-i", "localhost,", str(play)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def run_pack(folder: Path, sums: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run what the task runs."""
    command = [sys.executable, ROOT / "roles/provision_server/files/pack.py", folder / "out.tar", folder / "lab", folder / "tree"]
    return subprocess.run(command, input=json.dumps(sums), capture_output=True, text=True, check=False, timeout=stretch(20))


def sum_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_only_what_the_plan_is_made_of_and_what_was_rendered_is_delivered(rendered, tmp_path):
    folder = shutil.copytree(rendered, tmp_path / "all")
    for name in ("vault-password", "secrets.yml", "secrets-prod.yml", "id_ed25519", ".env", "group_vars/all.yml"):
        (folder / "lab" / name).parent.mkdir(exist_ok=True)
        (folder / "lab" / name).write_text("hunter2\n")
        (folder / "lab" / name).chmod(0o600)
    (folder / "tree/boot/notes.txt").write_text("hunter2\n")
    (folder / "tree/dns/shadow").symlink_to("/etc/shadow")
    done = pack(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    with tarfile.open(folder / "tree.boot.tar") as packed:
        members = {member.name: member for member in packed}
        assert packed.extractfile("intent/cluster.yml").read() == (folder / "lab/cluster.yml").read_bytes()
    files = {name for name, member in members.items() if member.isfile()}
    assert {name.removeprefix("intent/") for name in files if name.startswith("intent/")} == INPUTS
    listed = json.loads((folder / "tree/manifest.json").read_text())["files"]
    wanted = {"manifest.json", *(name for name in listed if name.split("/")[0] in {"boot", "dns", "switches"})}
    assert {name.removeprefix("tree/") for name in files if name.startswith("tree/")} == wanted
    assert {"boot/boot.json", "dns/named.conf", "boot/kea/kea-dhcp4.conf"} <= wanted
    # take.sh extracts as root, so these are the modes that the boot server's programs find, whatever the umask.
    assert {(member.isdir(), oct(member.mode)) for member in members.values()} == {(True, "0o755"), (False, "0o644")}
    assert {"intent", "tree", "tree/boot/kea"} <= {name for name, member in members.items() if member.isdir()}
    before = (folder / "tree.boot.tar").read_bytes()
    os.utime(folder / "lab/cluster.yml", (1, 1))
    (folder / "lab/cluster.yml").chmod(0o600)
    (folder / "files").unlink()
    assert pack(folder).returncode == 0
    assert (folder / "tree.boot.tar").read_bytes() == before


@pytest.mark.parametrize("name", ["lab/servers.csv", "tree/boot/boot.json"])
@pytest.mark.parametrize("kind", ["link", "folder that is a link", "fifo", "device", "nothing"])
def test_what_came_in_place_of_a_file_is_not_delivered(tmp_path, name, kind):
    """Whoever may write to the folder may put a link there after the render; root reads what it leads to."""
    for each in ("lab/servers.csv", "tree/boot/boot.json"):
        (tmp_path / each).parent.mkdir(parents=True)
        (tmp_path / each).write_text("x\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / Path(name).name).write_text("hunter2\n")
    (tmp_path / "out.tar").write_text("the last one")
    file = tmp_path / name
    if kind == "folder that is a link":
        file = file.parent / "way" / file.name
        file.parent.symlink_to(tmp_path / "elsewhere")
    else:
        file.unlink()
    if kind == "link":
        file.symlink_to(tmp_path / "elsewhere" / file.name)
    elif kind == "fifo":
        os.mkfifo(file)
    elif kind == "device":
        file.symlink_to("/dev/zero")
    inside = file.relative_to(tmp_path).as_posix().replace("lab/", "intent/")
    done = run_pack(tmp_path, {inside: sum_text("x\n")})
    assert done.returncode == 1
    assert f"{file} is not delivered" in done.stderr
    assert "gpuyard render" in done.stdout + done.stderr, done.stdout
    assert (tmp_path / "out.tar").read_text() == "the last one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "lab", "out.tar", "tree"]


def test_a_link_within_the_folder_is_delivered_as_its_file(tmp_path):
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab/own.csv").write_text("name\n")
    (tmp_path / "lab/near.csv").symlink_to("own.csv")
    done = run_pack(tmp_path, {"intent/near.csv": sum_text("name\n")})
    assert done.returncode == 0, done.stderr
    with tarfile.open(tmp_path / "out.tar") as packed:
        assert packed.getnames() == ["intent", "intent/near.csv"]
        assert packed.extractfile("intent/near.csv").read() == b"name\n"


CHANGED = "is not delivered: changed since it was rendered: render, then deliver again"


@pytest.mark.parametrize("name", ["lab/servers.csv", "lab/cluster.yml", "tree/boot/boot.json"])
def test_what_changed_since_the_render_is_not_delivered(rendered, tmp_path, name):
    folder = shutil.copytree(rendered, tmp_path / "all")
    (folder / "lab/secrets.yml").write_text("hunter2\n")
    (folder / "lab/secrets.yml").chmod(0o600)
    file = folder / name
    if name == "lab/servers.csv":  # a link within the folder is followed
        file.unlink()
        file.symlink_to("secrets.yml")
    else:
        file.write_text(file.read_text() + "\n")
    done = pack(folder)
    assert done.returncode != 0
    told = " ".join(done.stdout.split())  # Ansible breaks lines
    assert f"{file} {CHANGED}" in told and "Traceback" not in told
    assert not list(folder.glob("*.tar*"))


@pytest.mark.parametrize("digest", ["-", "", sum_text("y\n")])
def test_a_file_that_was_not_taken_at_the_render_is_not_delivered(tmp_path, digest):
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab/own.csv").write_text("x\n")
    (tmp_path / "lab/all.csv").write_text("x\n")
    done = run_pack(tmp_path, {"intent/all.csv": sum_text("x\n"), "intent/own.csv": digest})
    assert (done.returncode, done.stderr) == (1, f"{tmp_path / 'lab/own.csv'} {CHANGED}\n")
    assert not list(tmp_path.glob("out.tar*"))


@pytest.mark.parametrize("letter", ["\n", "\0", "\x1b", "\x85", "\ud800"])
def test_a_name_with_control_characters_is_not_delivered(tmp_path, letter):
    """A line each would make two names of one: of a file that nothing was rendered from, too."""
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab/secrets.yml").write_text("x\n")
    done = run_pack(tmp_path, {f"tree/boot/a{letter}intent/secrets.yml": sum_text("x\n")})
    assert done.returncode == 1 and "its name has control characters" in done.stderr
    assert "Traceback" not in done.stderr and letter not in done.stderr[:-1]
    assert not list(tmp_path.glob("out.tar*"))


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
def test_what_stands_where_the_archive_is_written_is_not_opened(tmp_path, kind):
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab/own.csv").write_text("x\n")
    (tmp_path / "victim").write_text("precious\n")
    aside = tmp_path / "out.tar.new"
    if kind == "link":
        aside.symlink_to("victim")
    elif kind == "fifo":
        os.mkfifo(aside)
    else:
        aside.mkdir()
    done = run_pack(tmp_path, {"intent/own.csv": sum_text("x\n")})
    assert (tmp_path / "victim").read_text() == "precious\n"
    assert "Traceback" not in done.stderr
    if kind == "folder":
        assert done.returncode == 1 and f"cannot write {tmp_path / 'out.tar'}" in done.stderr
    else:
        assert done.returncode == 0, done.stderr
        assert not os.path.lexists(aside) and (tmp_path / "out.tar").stat().st_mode & 0o777 == 0o600
