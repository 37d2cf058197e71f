"""Who keeps a twin: one process for a name at a time, which nobody else's run replaces or ends."""

import os
import signal
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from cluster_model.twin import keeper
from tests.slowness import wait_for


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Keep no twin of another run in sight, and leave none of this one behind."""
    monkeypatch.setattr(keeper, "FOLDER", tmp_path / "run")
    yield tmp_path / "run"
    for state in keeper.list_states():
        assert keeper.stop_keeper(state)


@contextmanager
def boot(say):
    say("booting")
    yield SimpleNamespace(nodes={})


def test_two_clusters_of_one_name_do_not_end_each_other(folder, tmp_path):
    said = []
    assert keeper.start_keeper("lab", tmp_path / "mine", boot, said.append) == ""
    assert said == ["booting"]
    (mine,) = keeper.list_states()
    why = keeper.start_keeper("lab", tmp_path / "yours", boot, said.append)
    assert why == f"a twin called lab is up already, of {tmp_path / 'mine'}: gpuyard twin down lab ends it"
    assert keeper.list_states() == [mine]
    assert keeper.start_keeper("other", tmp_path / "yours", boot, said.append) == ""
    assert keeper.stop_keeper(mine)
    assert [state.cluster for state in keeper.list_states()] == ["other"]
    assert keeper.start_keeper("lab", tmp_path / "yours", boot, said.append) == ""


def test_a_name_is_taken_from_the_first_moment_of_a_start(tmp_path):
    told = []

    @contextmanager
    def boot_slowly(say):
        told.append(keeper.start_keeper("lab", tmp_path / "yours", boot, say))
        say(told[0])
        yield SimpleNamespace(nodes={})

    said = []
    assert keeper.start_keeper("lab", tmp_path / "mine", boot_slowly, said.append) == ""
    assert said == ["a twin called lab is being started or ended by another process"]


def test_a_keeper_that_was_killed_is_nobody_and_its_name_is_free(tmp_path):
    assert keeper.start_keeper("lab", tmp_path / "mine", boot, print) == ""
    (state,) = keeper.list_states()
    os.kill(state.pid, signal.SIGKILL)
    wait_for(lambda: not keeper.list_states(), 60, "it lives on")
    assert keeper.find_state(Path("lab")) is None
    assert keeper.start_keeper("lab", tmp_path / "yours", boot, print) == ""
    assert keeper.list_states()[0].argument == str(tmp_path / "yours")


def test_what_fails_to_start_says_why_and_leaves_the_name(tmp_path):
    @contextmanager
    def fail(say):
        raise RuntimeError("no cable")
        yield

    assert keeper.start_keeper("lab", tmp_path, fail, print) == "no cable"
    wait_for(lambda: keeper.start_keeper("lab", tmp_path, boot, print) == "", 60, "its name is not free")
