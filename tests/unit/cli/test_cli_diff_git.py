"""`gpuyard diff` against a git revision: what it takes out, what it refuses, and that nothing of the repository's is run."""

import json
import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from cluster_model.cli.diff import command as diff
from cluster_model.cli.revision import RevisionError, take_out
from cluster_model.plan.cabling.outside import list_outside
from tests.planned import open_folder

ROOT = Path(__file__).parents[3]
SIGNED = ("-c", "user.name=A", "-c", "user.email=a@example.net", "-c", "commit.gpgsign=false")
CHANGE = ("switches: {spine: 2}", "switches: {spine: 4}")


def git(place, *words):
    return subprocess.run(["git", "-C", str(place), *SIGNED, *words], check=True, capture_output=True, text=True).stdout


def commit(place):
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--allow-empty", "-m", "next")


def list_all(place):
    return {
        path: (path.lstat().st_mtime_ns, path.is_file() and path.read_bytes())
        for path in place.rglob("*")
        if not path.is_symlink()
    }


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a repository with the lab in `sites/lab`, and let what is taken out lie in a folder of its own."""
    (tmp_path / "taken").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "taken"))
    place = tmp_path / "repository"
    shutil.copytree(ROOT / "inventory/lab", place / "sites/lab")
    subprocess.run(["git", "init", "--quiet", "-b", "main", str(place)], check=True)
    commit(place)
    monkeypatch.chdir(place)
    yield place
    assert list((tmp_path / "taken").iterdir()) == [], "what was taken out is removed"


def edit(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def run(*words):
    return CliRunner().invoke(diff, list(words))


def test_the_work_tree_against_a_revision(place):
    assert run("sites/lab").stdout == "No changes.\n"
    edit(place / "sites/lab/cluster.yml", *CHANGE)
    before = list_all(place)
    done = run("sites/lab", "--exit-code")
    assert done.exit_code == 1
    assert done.stdout.startswith("moves what stands: ") and "+ compute-spine-03" in done.stdout
    folders = run(str(ROOT / "inventory/lab"), "sites/lab")
    assert folders.stdout == done.stdout
    for words in (("--git", "main", "sites/lab"), ("--git", "HEAD", "sites/lab/cluster.yml"), (str(place / "sites/lab"),)):
        assert run(*words).stdout == done.stdout
    assert list_all(place) == before, "nothing is written to the work tree or to .git"
    commit(place)
    assert run("sites/lab").stdout == "No changes.\n"
    assert run("--git", "HEAD~1", "sites/lab").stdout == done.stdout


def test_the_folder_may_be_the_top_of_the_repository_and_the_file_may_have_another_name(place, monkeypatch):
    lab = place / "sites/lab"
    (lab / "cluster.yml").rename(lab / "other.yml")
    git(lab, "init", "--quiet")
    commit(lab)
    monkeypatch.chdir(lab)
    assert run("other.yml").stdout == "No changes.\n"
    edit(lab / "other.yml", *CHANGE)
    assert "+ compute-spine-03" in run("other.yml").stdout


def test_what_lies_beside_the_intent_comes_along(place):
    lab = place / "sites/lab"
    with take_out("HEAD", lab) as taken:
        names = {path.name for path in lab.iterdir()}
        assert {"servers.csv", "ops.pub"} <= names and {path.name for path in taken.iterdir()} == names
        assert stat.S_IMODE(taken.parent.stat().st_mode) == 0o700
    (lab / "catalogue/gpus/acme").mkdir(parents=True)
    (lab / "catalogue/gpus/acme/x.yaml").write_text("slug: [")
    (lab / "ops.pub").unlink()
    commit(place)
    with take_out("HEAD", lab) as taken:
        assert (taken / "catalogue/gpus/acme/x.yaml").read_text() == "slug: ["
        assert not (taken / "ops.pub").exists()


def test_findings_name_the_revision_and_quote_its_line(place):
    file = place / "sites/lab/cluster.yml"
    whole = file.read_text()
    edit(file, "switches: {spine: 2}", "switches: {spin: 2}")
    edit(file, "servers: servers.csv", "servers: gone.csv")
    commit(place)
    file.write_text(whole)
    done = run("sites/lab")
    assert done.exit_code == 1
    assert "HEAD:sites/lab/cluster.yml:" in done.stderr and "switches: {spin: 2}" in done.stderr
    assert "gpuyard-" not in done.output


def test_links_out_of_the_folder_are_not_followed(place, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("name,serial\nPRIVATE,1\n")
    lab = place / "sites/lab"
    whole = (lab / "servers.csv").read_bytes()
    for target in (str(secret), "../../../secret.csv", "../../../../../../../../../../etc/passwd"):
        (lab / "servers.csv").unlink()
        (lab / "servers.csv").symlink_to(target)
        commit(place)
        (lab / "servers.csv").unlink()
        (lab / "servers.csv").write_bytes(whole)
        done = run("sites/lab")
        assert done.exit_code == 1 and "link that leads out" in done.stderr
        assert "PRIVATE" not in done.output


def test_nothing_of_the_repository_is_run(place, tmp_path):
    ran = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\necho $0 $@ >> {ran}\ncat\n")
    script.chmod(0o755)
    (place / ".gitattributes").write_text("* filter=own diff=own text eol=crlf export-subst\n*.csv export-ignore\n")
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman"):
        shutil.copy(script, hooks / name)
    commit(place)
    for key in ("filter.own.smudge", "filter.own.process", "diff.own.textconv", "diff.external", "core.fsmonitor", "core.pager"):
        git(place, "config", key, str(script))
    for key in ("core.sshCommand", "core.gitProxy", "alias.ls-tree", "alias.cat-file", "pager.ls-tree", "credential.helper"):
        git(place, "config", key, str(script))
    git(place, "config", "core.hooksPath", str(hooks))
    ran.unlink(missing_ok=True)
    done = run("sites/lab")
    assert (done.exit_code, done.stdout) == (0, "No changes.\n")
    assert not ran.exists(), ran.read_text()


def test_a_content_that_is_not_there_is_not_fetched(place, tmp_path):
    """A partial clone would ask its origin, by a program that the repository's settings name."""
    ran = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f'#!/bin/sh\ntouch {ran}\nexec git-upload-pack "$@"\n')
    script.chmod(0o755)
    name = git(place, "rev-parse", "HEAD:sites/lab/ops.pub").strip()
    (place / ".git/objects" / name[:2] / name[2:]).unlink()
    for key, value in (
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", str(tmp_path)),
        ("remote.origin.promisor", "true"),
        ("remote.origin.uploadpack", str(script)),
    ):
        git(place, "config", key, value)
    done = run("sites/lab")
    assert done.exit_code == 2 and "expected the content of ops.pub, which this clone does not hold" in done.stderr
    assert not ran.exists()


def test_environment_of_a_hook_does_not_lead_elsewhere(place, tmp_path, monkeypatch):
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "elsewhere")], check=True)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere/.git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "elsewhere/index"))
    assert run("sites/lab").stdout == "No changes.\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--git", "nope", "sites/lab"), "knows no nope; fetch it first"),
        (("--git", "--output=x", "sites/lab"), "knows no --output=x; fetch it first"),
        (("--git", "", "sites/lab"), "expected a commit, and the option is empty; name one, such as HEAD"),
        (("--git", "HEAD..main", "sites/lab"), "knows no HEAD..main; fetch it first"),
        (("--git", "HEAD^{tree}", "sites/lab"), "knows no HEAD^{tree}; fetch it first"),
        (("--git", "a\x1b[2J", "sites/lab"), "knows no a\\x1b[2J; fetch it first"),
        (("--git", "HEAD", "sites/lab", "sites/new"), "--git takes NEW alone"),
    ],
)
def test_what_cannot_be_compared_is_told(place, words, told):
    done = run(*words)
    assert done.exit_code == 2
    assert told in done.stderr and "\x1b" not in done.stderr
    assert not (place / "x").exists()


def test_a_folder_outside_of_any_repository(place, tmp_path):
    shutil.copytree(place / "sites/lab", tmp_path / "lab")
    with (
        pytest.raises(RevisionError, match="in a git repository, and git says: not a git repository"),
        take_out("HEAD", tmp_path / "lab"),
    ):
        pass
    assert "give OLD and NEW as two folders instead" in run(str(tmp_path / "lab")).stderr


def test_a_repository_without_a_commit(place, tmp_path):
    shutil.copytree(place / "sites/lab", tmp_path / "lab")
    git(tmp_path / "lab", "init", "--quiet")
    done = run(str(tmp_path / "lab"))
    assert done.exit_code == 2 and "holds none yet; commit first" in done.stderr


def test_without_git(place, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    done = run("sites/lab")
    assert done.exit_code == 2 and "expected git, which is not installed here; install it" in done.stderr


def test_a_folder_that_is_not_there_is_no_matter_of_git(place):
    done = run("sites/gone")
    assert done.exit_code == 2 and "YML005" in done.stderr


def test_a_cluster_that_came_later_is_new_as_a_whole(place):
    git(place, "mv", "sites/lab", "sites/new")
    done = run("sites/new")
    assert (done.exit_code, done.stderr) == (0, "")
    first, second, *rest = done.stdout.splitlines()
    assert first == "HEAD does not hold sites/new: all of it is new"
    assert second.startswith("Plan: 14 servers, 17 switches, 10 PDUs, ") and second.endswith(" to add.")
    assert "servers" in rest and not any(line.startswith(("  -", "  ~", "  >", "hint")) for line in rest)
    assert run("sites/new", "--exit-code").exit_code == 1
    told = json.loads(run("sites/new/cluster.yml", "--format", "json").stdout)
    assert told["is_new"] and told["summary"] == second and told["counts"]["add"]["server"] == 14
    assert {action: kinds for action, kinds in told["counts"].items() if kinds}.keys() == {"add"}
    plan = open_folder(place / "sites/new").plan
    assert told["counts"]["add"]["cable"] == len(plan.cables) + len(list(list_outside(plan)))
    commit(place)
    assert run("sites/new").stdout == "No changes.\n"
    assert json.loads(run("sites/new", "--format", "json").stdout)["is_new"] is False
    assert (run("sites/gone").exit_code, run("sites/lab").exit_code) == (2, 2), "what the work tree does not hold"


def test_a_submodule_is_told(place):
    head = git(place, "rev-parse", "HEAD").strip()
    git(place, "update-index", "--add", "--cacheinfo", f"160000,{head},sites/lab/catalogue")
    git(place, "commit", "--quiet", "-m", "next")
    done = run("sites/lab")
    assert done.exit_code == 2 and "catalogue is a submodule there" in done.stderr


def test_a_file_too_large_to_be_read_is_refused_for_what_it_is(place, monkeypatch):
    monkeypatch.setattr("cluster_model.cli.revision.INPUT_BYTES", 3)
    with take_out("HEAD", place / "sites/lab") as taken:
        assert (taken / "cluster.yml").stat().st_size == (place / "sites/lab/cluster.yml").stat().st_size
        assert (taken / "cluster.yml").read_bytes().strip(b"\0") == b""


def test_names_that_lead_out_are_refused(place):
    blob = git(place, "rev-parse", "HEAD:sites/lab/ops.pub").strip()
    inner = subprocess.run(
        ["git", "mktree"],
        cwd=place,
        input=f"100644 blob {blob}\tx\n100644 blob {blob}\tcluster.yml\n",
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    raw = b"40000 ..\0" + bytes.fromhex(inner) + b"100644 cluster.yml\0" + bytes.fromhex(blob)
    words = ["git", "hash-object", "-t", "tree", "-w", "--stdin", "--literally"]
    tree = subprocess.run(words, cwd=place, input=raw, capture_output=True, check=True).stdout.decode().strip()
    made = git(place, "commit-tree", tree, "-m", "bad").strip()
    (place / "cluster.yml").write_text("")
    with pytest.raises(RevisionError, match=r"expected names of files at \w+, found \.\./"), take_out(made, place):
        pass
    assert not (Path(os.path.realpath(tempfile.gettempdir())) / "x").exists()
