"""scripts/build-kubernetes builds once, whole or not at all; apt, dpkg and Go are doubles: nothing is fetched or compiled."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
PROGRAMS = ("kubeadm", "kubelet", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubectl")
APT = """
case "$*" in
  *indextargets*) cat {place}/indextargets ;;
  *source*) touch kubernetes_1.20.5+really1.20.2-1.1.dsc ;;
  *download*) touch golang.deb ;;
esac
"""
UNPACKED = """
mkdir -p "$3/usr/share/gocode/src/github.com/modern-go/reflect2" "$3/usr/lib/go-1.19/bin" "$3/usr/bin"
cp {place}/etcd "$3/usr/bin/etcd"
cp {place}/etcd "$3/usr/bin/etcdctl"
cp {place}/go "$3/usr/lib/go-1.19/bin/go"
"""
SOURCE = """
mkdir -p "$4/staging/src/k8s.io/api" "$4/pkg" "$4/vendor/k8s.io" "$4/vendor/github.com/modern-go"
echo "// +k8s:openapi-gen=true" >"$4/pkg/doc.go"
"""
GO = """
[ -z "$DYING" ] || kill -9 $PPID
while [ "$1" != -o ]; do shift; done
for package in "$@"; do
  case $package in ./cmd/*) cp {place}/program "$2${{package##*/}}" ;; esac
done
[ -d "$2" ] || ln -s /bin/true "$2"
"""


@pytest.fixture
def build(tmp_path):
    """Return a function that runs the script with doubles, which say in `said` that they were called."""
    doubles = tmp_path / "bin"
    doubles.mkdir()
    contents = {"bin/apt-get": APT, "bin/dpkg-deb": UNPACKED, "bin/dpkg-source": SOURCE, "bin/xz": "", "bin/patch": "", "go": GO}
    contents |= {"etcd": "echo etcd", "program": "echo ${SAYS:-v1.20.2}"}
    for name, text in contents.items():
        asked = f"echo {name} >>{tmp_path}/said\n" if name.startswith("bin/") or name == "go" else ""
        (tmp_path / name).write_text(f"#!/bin/sh\n{asked}{text.format(place=tmp_path) if '{place}' in text else text}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "indextargets").write_text("Debian-Security http://x.example/security\nDebian http://x.example/debian\n")
    (tmp_path / "keyring.gpg").touch()
    script = tmp_path / "build-kubernetes"
    text = (ROOT / "scripts/build-kubernetes").read_text()
    assert text.count(KEYRING) == 1
    script.write_text(text.replace(KEYRING, str(tmp_path / "keyring.gpg")))
    script.chmod(0o755)
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("GPUYARD_")}
    inherited |= {"PATH": f"{doubles}:{os.environ['PATH']}", "GPUYARD_KUBERNETES": str(tmp_path / "cache")}

    def run(**more):
        done = subprocess.run([script], env=inherited | more, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.strip(), done.stderr.strip()

    run.place, run.cache, run.script = tmp_path, tmp_path / "cache", script
    run.said = lambda: (tmp_path / "said").read_text().split() if (tmp_path / "said").exists() else []
    run.kept = lambda: sorted(path.name for path in (tmp_path / "cache").glob("*") if path.name != "lock")
    return run


def test_it_is_built_once_and_then_nothing_is_asked(build):
    code, folder, said = build()
    assert code == 0, said
    assert said == "building Kubernetes 1.20.2, once: some 6 minutes on two idle cores, 3 GB of disk until it is done"
    assert {path.name for path in Path(folder).iterdir()} == {*PROGRAMS, "etcd", "etcdctl"}
    assert build.kept() == [Path(folder).name], "no source and no cache of Go is kept"
    asked = build.said()
    assert {"bin/apt-get", "bin/dpkg-source", "go"} <= set(asked)
    assert build() == build(GPUYARD_OFFLINE="1") == (0, folder, "")
    assert build.said() == asked


def test_another_text_of_the_script_builds_again_and_the_former_folder_goes_a_day_later(build):
    _, first, _ = build()
    build.script.write_text(build.script.read_text() + "# another text\n")
    code, second, said = build()
    assert (code, build.kept()) == (0, sorted([Path(first).name, Path(second).name])), said
    day_ago = time.time() - 2 * 86_400
    os.utime(first, (day_ago, day_ago))
    shutil.rmtree(second)
    assert build()[:2] == (0, second) and build.kept() == [Path(second).name]


def test_a_build_that_is_killed_leaves_nothing_that_looks_whole(build):
    code, folder, _ = build(DYING="1")
    assert (code, folder) == (-9, "")
    (left,) = build.kept()
    assert left.startswith("work."), left
    assert build(GPUYARD_OFFLINE="1")[0] == 3, "what is half is not taken"
    code, folder, said = build()
    assert (code, build.kept()) == (0, [Path(folder).name]), said


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("program", "echo v1.20.1", "kubeadm does not say that it is 1.20.2"),
        ("etcd", "exit 1", "etcd does not run"),
        (
            "bin/apt-get",
            APT.replace("*indextargets*)", "*update*) exit 100 ;; *indextargets*)"),
            "does not answer, or has no bookworm",
        ),
        ("bin/apt-get", APT.replace("1.20.2-", "1.21.0-"), "expected Kubernetes 1.20.2"),
        ("go", "echo 'x.go:1: undefined: y' >&2; exit 2", "x.go:1: undefined: y"),
    ],
)
def test_a_build_that_fails_says_why_and_leaves_nothing(build, file, text, told):
    (build.place / file).write_text(f"#!/bin/sh\n{text.format(place=build.place) if '{place}' in text else text}\n")
    code, folder, said = build()
    assert (code > 0, code != 3, folder, build.kept()) == (True, True, "", []), said
    assert told in said


def test_in_a_test_nothing_is_built(build):
    code, folder, said = build(GPUYARD_OFFLINE="1")
    assert (code, folder, build.kept()) == (3, "", [])
    assert said.endswith(": run make setup") and len(said.splitlines()) == 1
    assert "go" not in build.said()


def test_what_is_missing_is_told_in_a_line(build):
    """Each with what mends it, and with the exit code by which prepare-tests leaves Kubernetes out."""
    (build.place / "indextargets").write_text("Ubuntu http://x.example/ubuntu\nDebian-Security http://x.example/security\n")
    code, _, said = build()
    assert (code, len(said.splitlines())) == (3, 1) and "GPUYARD_DEBIAN_MIRROR" in said
    assert build(GPUYARD_DEBIAN_MIRROR="http://x.example/debian")[0] == 0
    shutil.rmtree(build.cache)
    (build.place / "keyring.gpg").unlink()
    assert build() == (3, "", f"build-kubernetes: no {build.place}/keyring.gpg: apt install debian-archive-keyring")
    bare = build.place / "bare"
    bare.mkdir()
    for name in ("cut", "readlink", "sha256sum"):
        (bare / name).symlink_to(shutil.which(name))
    assert build(PATH=str(bare)) == (3, "", "build-kubernetes: no apt-get: apt install apt")
