"""A Ceph of real daemons from what is rendered, in a network namespace that has each host's address on its loopback."""

import copy
import json
import os
import shutil
import signal
import subprocess
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import yaml

from cluster_model.render.services.ceph import render_ceph
from cluster_model.transport.session import Answer, Login
from cluster_model.verify.ceph.ask import ask_ceph
from cluster_model.verify.ceph.compare import compare_ceph
from tests.ceph.describe import describe
from tests.slowness import stretch

HERE = Path(__file__).resolve().parent
PROGRAM = HERE.parents[1] / "roles/ceph_cluster/files/objects.py"
PROGRAMS = ("ceph", "ceph-mds", "ceph-mon", "ceph-mgr", "ceph-osd", "curl", "rados", "radosgw", "radosgw-admin", "rbd")
CONTENTS = ("ceph/ceph.conf", "ceph/spec.yaml", "ceph/gateways.yaml")


class Yard:
    """A cluster, and who asks it; with so many of its OSDs at first, all without a number."""

    def __init__(self, folder, plan, first=None):
        self.folder, self.plan, self.first, self.space = folder, plan, first, f"gy-ceph-{os.getpid()}"
        self.files = {path: content.decode() for path, content in render_ceph(plan, None)}
        self.wanted = yaml.safe_load(self.files["ceph/objects.yaml"])

    def inside(self, *words, given="", check=True, **variables):
        """Run a program where the cluster's addresses are."""
        command = ["ip", "netns", "exec", self.space, *map(str, words)]
        environment = {**os.environ, "CEPH_CONF": str(self.folder / "ceph.conf"), **variables}
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, check=False, env=environment, timeout=stretch(240)
        )
        if check:
            assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done

    def daemons(self, verb, *names, given=""):
        """Make, kill or start daemons."""
        self.inside("/usr/bin/python3", HERE / "daemons.py", verb, self.folder, *names, given=given)

    def up(self):
        """Make the cluster from what is rendered; keep what the role says before there are OSDs, and where these came to."""
        self.described = json.dumps(describe(*(self.files[name] for name in CONTENTS if name in self.files)))
        self.daemons("up", given=self.described)
        self.begun = [self.say(verb) for verb in ("check", "apply", "apply")]
        self.make_osds(self.first)
        self.tree = self.ceph("osd", "tree")["nodes"]

    def make_osds(self, count=None):
        """Make so many OSDs, the first ones, or all; those that are there stay as they are."""
        described = json.loads(self.described)
        self.daemons("osds", given=json.dumps({**described, "osds": described["osds"][:count]}))

    def ceph(self, *words):
        """Return what the cluster answers its administrator."""
        return json.loads(self.inside("ceph", "--connect-timeout", "15", *words, "-f", "json").stdout)

    def say(self, verb, wanted=None, move=False, pools=True):
        """Run the role's program; return its exit code, and what it told or complained of."""
        given = json.dumps({"wanted": wanted or self.wanted, "pools": pools, "move": move, "wait_s": stretch(120)})
        done = self.inside("/usr/bin/python3", "-IS", "-c", PROGRAM.read_text(), verb, given=given, check=False)
        return done.returncode, json.loads(done.stdout) if done.returncode == 0 else done.stderr

    def ask(self, commands):
        """Answer as a session to the first host with a monitor does, which would come over SSH."""
        done = [self.inside("sh", "-c", f"( {command}\n) 2>&1 </dev/null", check=False) for command in commands]
        return [Answer(each.stdout, each.returncode == 0) for each in done]

    def close(self):
        """Nothing is open."""

    def list_gateways(self):
        """Return the gateways that the cluster knows."""
        daemons = self.ceph("service", "dump")["services"].get("rgw", {"daemons": {}})["daemons"]
        return sorted(each["metadata"]["id"] for number, each in daemons.items() if number != "summary")

    def verify(self):
        """Return what `gpuyard verify ceph` finds, by id."""
        self.asked = ask_ceph(self.plan, Login(), lambda *_: self)
        assert self.asked.host == "control-001", self.asked.reasons
        return {finding.id: finding for finding in compare_ceph(self.plan, self.asked).findings}

    def changed(self, **parts):
        """Return what is wanted with parts of it exchanged."""
        return copy.deepcopy(self.wanted) | parts


def require_ceph():
    """Skip without root or Ceph's programs; fail where GPUYARD_REQUIRE_CEPH is set."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None] if os.getuid() == 0 else ["root"]
    if missing:
        told = f"no Ceph runs here without {', '.join(missing)}"
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_CEPH") else pytest.skip)(told)


@contextmanager
def run_yard(folder, plan, first=None):
    """Run the store of a plan, and leave nothing of it."""
    yard = Yard(folder, plan, first)
    subprocess.run(["ip", "netns", "add", yard.space], check=True)
    try:
        yard.up()
        yield yard
    finally:
        left = subprocess.run(["ip", "netns", "pids", yard.space], capture_output=True, text=True, check=True).stdout
        for one in left.split():
            with suppress(ProcessLookupError):
                os.kill(int(one), signal.SIGKILL)
        subprocess.run(["ip", "netns", "del", yard.space], check=True)
