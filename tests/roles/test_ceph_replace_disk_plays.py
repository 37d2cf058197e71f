"""playbooks/ceph_replace_disk.yml played here, with a double of the program of role ceph_osd; molecule/ceph_osd has Ceph."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from roles import ROOT
from tests.slowness import stretch

PLAYBOOK = ROOT / "playbooks/ceph_replace_disk.yml"
PROGRAM = """import json, pathlib, sys
folder, verb = pathlib.Path({folder!r}), sys.argv[1]
with (folder / "told").open("a") as file:
    file.write(" ".join(sys.argv[1:]) + "\\n")
said = json.loads((folder / "said.json").read_text())
if isinstance(said.get(verb), str):
    sys.exit(said[verb])
print(json.dumps(said.get(verb, {{"changes": [verb]}})))
"""
LOOK = {
    "host_name": "",
    "lacks": [],
    "has_dpkg": False,
    "interrupted": False,
    "fsid": "",
    "cephadm": [],
    "others": [],
    "busy": False,
}
UP = {"number": 7, "uuid": "u7", "up": True, "in": True, "new": False}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Return the rendered tree of a store, and its id."""
    build = tmp_path_factory.mktemp("build") / "store"
    command = [sys.executable, "-m", "cluster_model.cli", "render", ROOT / "molecule/ceph_osd/intent", "--output", build]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    text = (build / "ceph/objects.yaml").read_text()
    return build, text.partition("\nfsid: ")[2].partition("\n")[0]


@pytest.fixture
def play(tree, tmp_path, collection):
    """Return a function that plays the playbook on two hosts with OSDs; it returns code, words and the verbs called.

    It is given what the cluster says of the OSD beside what is there anyway, or the words with which a monitor does not answer.
    """
    build, fsid = tree

    def run(found, *options):
        about = {"fsid": fsid, "host": "storage-001", "drive": "S1", "dead": False, "osds": [UP], "destroyed": False}
        said = {"look": LOOK | {"drives": []}, "find": found if isinstance(found, str) else about | found}
        (tmp_path / "said.json").write_text(json.dumps(said))
        (tmp_path / "told").touch()
        own = {"ansible_become": False, "ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        names = {"ceph_monitor": ["control-001"], "ceph_osd": ["storage-001", "storage-002"]}
        names["ceph_packages"] = [*names["ceph_monitor"], *names["ceph_osd"]]
        groups = {group: {"hosts": dict.fromkeys(hosts, own)} for group, hosts in names.items()}
        (tmp_path / "hosts.json").write_text(json.dumps({"all": {"children": groups}}))
        given = {"__ceph_osd_program": PROGRAM.format(folder=str(tmp_path)), "ceph_osd_tree": str(build)}
        (tmp_path / "given.json").write_text(json.dumps(given))
        environment = {**os.environ, "ANSIBLE_CONFIG": str(tmp_path / "none.cfg"), "ANSIBLE_HOME": str(tmp_path / "home")}
        environment |= {"ANSIBLE_COLLECTIONS_PATH": str(collection), "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml"}
        command = [Path(sys.executable).parent / "ansible-playbook", *options, "-e", "@given.json", "-i", "hosts.json", PLAYBOOK]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=stretch(300)
        )
        verbs = [line for line in (tmp_path / "told").read_text().splitlines() if line not in ("look", "find")]
        return done.returncode, " ".join((done.stdout + done.stderr).split()), verbs

    return run


REFUSED = {
    "no OSD": ({}, [], ["osd: not set; expected the number of an OSD; fix: add -e osd=NUMBER"]),
    "a name": ({}, ["-e", "osd=osd.7"], ["osd: osd.7; expected the number of an OSD"]),
    "a word that is none": ({}, ["-e", "osd=7 drive=gone"], ["drain, lost, new"]),
    "no answer": (
        "timed out",
        ["-e", "osd=7"],
        ["Ceph: no host of group ceph_monitor answers for the cluster: timed out; expected one; fix: "],
    ),
    "another cluster, a host that is not in the run, and lost while it is up": (
        {"fsid": "x"},
        ["-e", "osd=7 drive=lost", "--limit", "storage-002"],
        ["fsid of the cluster that answers: x; expected", "osd.7: on storage-001, which is not in the run", "osd.7: osd.7 up; "],
    ),
}


@pytest.mark.parametrize("row", REFUSED)
def test_what_is_refused_changes_nothing(play, row):
    """What else is: tests/unit/roles/test_ceph_osd_replace_wrong.py."""
    found, options, told = REFUSED[row]
    code, said, verbs = play(found, *options)
    assert code != 0 and all(words in said for words in told), said[-3000:]
    assert verbs == []


def test_an_osd_is_drained_stopped_and_destroyed_and_nothing_made(play):
    code, said, verbs = play({"osds": [UP, UP | {"number": 8}]}, "-e", "osd=7")
    assert code == 0, said[-3000:]
    assert verbs == ["drain do", "stop do", "destroy do"]
    assert "osd.7 and osd.8 is destroyed: exchange its drive S1 of storage-001, and run this again with -e drive=new" in said


def test_check_mode_says_what_would_be_done(play):
    code, said, verbs = play({}, "-e", "osd=7", "--check")
    assert code == 0, said[-3000:]
    assert verbs == ["drain check", "stop check", "destroy check"]
    assert "osd.7 would be destroyed: exchange its drive" in said


def test_one_that_is_destroyed_is_told_again(play):
    code, said, verbs = play({"osds": [], "destroyed": True}, "-e", "osd=7")
    assert (code, verbs) == (0, []), said[-3000:]
    assert "osd.7 was destroyed: exchange its drive" in said


def test_a_new_drive_goes_to_the_role_on_its_host_alone(play):
    """It refuses here, since this machine has no drives: what it does with some is in molecule/ceph_osd."""
    code, said, verbs = play({}, "-e", "osd=7 drive=new")
    assert code != 0 and "storage-001" in said and verbs == ["ask"], said[-3000:]
    assert "storage-002" not in said.partition("OSDs on the drive that came for it")[2].partition("PLAY RECAP")[0]
