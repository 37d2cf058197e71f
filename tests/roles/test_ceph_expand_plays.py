"""Both ways into role ceph_expand played here, with a double of its program; molecule/ceph_expand has Ceph, and the playbook."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from roles import ROOT
from tests.slowness import stretch

PROGRAM = """import json, pathlib, sys
folder, verb, about = pathlib.Path({folder!r}), sys.argv[1], json.load(sys.stdin)
with (folder / "told").open("a") as file:
    file.write(" ".join(sys.argv[1:]) + " " + str(about["deadline"]) + " " + str(about["most"]) + "\\n")
(folder / "about.json").write_text(json.dumps(about))
said = json.loads((folder / "said.json").read_text())
answer = said[verb].pop(0) if isinstance(said[verb], list) else said[verb]
(folder / "said.json").write_text(json.dumps(said))
sys.exit(answer) if isinstance(answer, str) else print(json.dumps(answer))
"""
PLAYS = """
- hosts: ceph_monitor
  gather_facts: false
  tasks:
    - ansible.builtin.include_role: {name: gpuyard.cluster.ceph_expand, tasks_from: begin}
- hosts: ceph_monitor
  gather_facts: false
  roles: [gpuyard.cluster.ceph_expand]
"""
LOOK = {
    "client": "luminous",
    "flags": [],
    "hosts": [],
    "unclean": "",
    "splitting": [],
    "lacking": {"storage-002": 1},
    "fresh": [],
    "deadline": 5.0,
    "outside": "",
}
HOURS = "  maintenance: {window: 22:00-06:00, latency_ms: 50}\n"
HELD = {"changes": ["new with a weight, and nothing on it yet: osd.4"], "steps": 2, "most": 9.0}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Return the rendered tree of a store that has its hours, and its id."""
    build = tmp_path_factory.mktemp("build") / "store"
    intent = tmp_path_factory.mktemp("intent") / "intent"
    shutil.copytree(ROOT / "molecule/ceph_osd/intent", intent)
    with (intent / "cluster.yml").open("a", encoding="utf-8") as file:
        file.write(HOURS)
    command = [sys.executable, "-m", "cluster_model.cli", "render", intent, "--output", build]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    text = (build / "ceph/objects.yaml").read_text()
    return build, text.partition("\nfsid: ")[2].partition("\n")[0]


@pytest.fixture
def play(tree, tmp_path, collection):
    """Return a function that plays both on two monitors' hosts; it returns code, words, and verbs with deadline and most."""
    build, fsid = tree

    def run(look, steps, *options):
        looks = [LOOK | {"fsid": fsid} | each for each in look] if isinstance(look, list) else LOOK | {"fsid": fsid} | look
        said = {"look": looks, "begin": {"changes": ["held"]}, "hold": HELD, "end": {"changes": ["came"]}}
        (tmp_path / "said.json").write_text(json.dumps(said | {"step": steps}))
        own = {"ansible_become": False, "ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        hosts = {"ceph_monitor": {"hosts": {"control-001": own, "control-002": own}}}
        (tmp_path / "hosts.json").write_text(json.dumps({"all": {"children": hosts}}))
        given = {"__ceph_expand_program": PROGRAM.format(folder=str(tmp_path)), "ceph_expand_tree": str(build)}
        (tmp_path / "given.json").write_text(json.dumps({**given, "ceph_expand_hosts": ["storage-002"]}))
        (tmp_path / "plays.yml").write_text(PLAYS)
        environment = {**os.environ, "ANSIBLE_CONFIG": str(tmp_path / "none.cfg"), "ANSIBLE_HOME": str(tmp_path / "home")}
        environment |= {"ANSIBLE_COLLECTIONS_PATH": str(collection), "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml"}
        command = [
            Path(sys.executable).parent / "ansible-playbook",
            *options,
            "-e",
            "@given.json",
            "-i",
            "hosts.json",
            "plays.yml",
        ]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=stretch(300)
        )
        verbs = [line for line in (tmp_path / "told").read_text().splitlines() if not line.startswith("look")]
        return done.returncode, " ".join((done.stdout + done.stderr).split()), verbs

    return run


def step(left, late=False):
    """Return what the program says of a step."""
    return {"changes": [f"moved, {left} left"], "left": left, "late": late}


def test_steps_go_on_until_all_came(play):
    code, said, verbs = play({}, [step(5), step(0), "one too many"])
    assert code == 0, said[-3000:]
    assert verbs == ["begin do 5.0 0.0", "hold do 5.0 0.0", "step do 5.0 9.0", "step do 5.0 9.0", "end do 5.0 9.0"]
    assert "moved, 5 left" in said and "step 2, of about 2" in said


def test_a_run_that_is_late_leaves_the_rest_to_another(play):
    code, said, verbs = play({}, [step(5), step(5, late=True), "one too many"])
    assert code == 0, said[-3000:]
    assert verbs == ["begin do 5.0 0.0", "hold do 5.0 0.0", "step do 5.0 9.0", "step do 5.0 9.0"]
    assert "5 placement groups wait where they are; run it again" in said


def test_a_step_that_fails_ends_the_run(play):
    code, said, verbs = play({}, [step(5), "Ceph: it moves; expected all where it shall be; fix: run again"])
    assert code != 0 and "control-001: Ceph: it moves; expected all where it shall be; fix: run again" in said, said[-3000:]
    assert verbs[-1].startswith("step do")


def test_check_mode_says_what_would_be_done(play):
    code, said, verbs = play({}, [{"changes": [], "left": 0, "late": False}], "--check")
    assert code == 0, said[-3000:]
    assert verbs == ["begin check 5.0 0.0", "hold check 5.0 0.0", "step check 5.0 9.0", "end check 5.0 9.0"]


def test_a_run_keeps_to_the_hours_of_the_plan(play, tmp_path):
    """But where somebody says so; a dry run says it. Past them one that has begun comes to its end."""
    code, said, verbs = play({"outside": "14:30"}, [])
    assert code != 0 and verbs == [], said[-3000:]
    assert "time of day: 14:30; expected 22:00 to 06:00, as ceph.maintenance.window of the plan; fix: run it then" in said
    about = json.loads((tmp_path / "about.json").read_text())
    hours = {"begin": "22:00", "end": "06:00", "until": "06:00"}
    hours |= {"latency_ms": 50.0, "profile": "high_recovery_ops", "usual": "balanced"}
    assert {name: about[name] for name in hours} == hours
    code, said, verbs = play({"outside": "14:30"}, [{"changes": [], "left": 0, "late": False}], "--check")
    assert code == 0 and len(verbs) == 4, said[-3000:]
    assert "it is 14:30, and without check mode it would be refused until 22:00" in said
    options = ["-e", "ceph_expand_now=true", "-e", "ceph_expand_until=18:00", "-e", "ceph_expand_latency_ms=20"]
    code, said, _ = play({}, [step(0)], *options)
    assert code == 0, said[-3000:]
    about = json.loads((tmp_path / "about.json").read_text())
    assert (about["begin"], about["end"], about["until"], about["latency_ms"]) == ("", "", "18:00", 20.0)
    code, said, _ = play({}, [step(0)], "-e", "ceph_expand_until=04:00")
    assert code == 0, said[-3000:]
    about = json.loads((tmp_path / "about.json").read_text())
    assert (about["begin"], about["end"], about["until"]) == ("22:00", "06:00", "04:00")


def test_a_run_that_began_in_time_is_not_refused_when_the_hours_are_over(play):
    """Its deadline stays what it was: its steps are late, and end by themselves."""
    code, said, verbs = play([{}, {"deadline": 9.0, "outside": "06:00"}], [step(5, late=True)])
    assert code == 0, said[-3000:]
    assert verbs == ["begin do 5.0 0.0", "hold do 5.0 0.0", "step do 5.0 9.0"]


def test_what_is_refused_changes_nothing(play):
    """What else is: tests/unit/roles/test_ceph_expand_wrong.py."""
    code, said, verbs = play({"flags": ["norebalance"], "unclean": "7 placement groups active+undersized"}, [])
    assert code != 0 and verbs == [], said[-3000:]
    assert (
        "flags of the cluster: norebalance; expected none" in said
        and "Ceph: 7 placement groups active+undersized; expected" in said
    )
