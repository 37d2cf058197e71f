#!/usr/bin/env python3
"""Build the signed apt repositories that stand in for vendors' in tests, and print their folder.

Each folder of packages/ is a package, described by its package.yml:

    name         of the package
    versions     [580.95.05-1, ...], all are in the repository; two at least show an upgrade
    repository   the source that has it (nvidia-cuda)
    depends, conflicts, provides, replaces     [NAME, ...]
    files        {path: {from: FILE beside package.yml} or {text: TEXT}, with mode: "0755" where it is a program}
    preinst, postinst, prerm, postrm           a script's lines, after `set -e`

In paths, texts, scripts and depends, {version} is the package's version and {upstream} its part before the last `-`. What a
package installs are doubles: programs that keep state and fail as the real ones do, and say in their name or first line what
they are.

The result lies in /var/tmp/gpuyard-repositories/DIGEST: a flat repository per source, key.asc, and keys/SOURCE.asc for the role
package_source. The key is thrown away: nothing can be added later.
"""

import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
CACHE = Path("/var/tmp/gpuyard-repositories")
LABELS = {"nvidia-cuda": "NVIDIA CUDA", "doca": "DOCA-HOST"}
RELATIONS = ("depends", "conflicts", "provides", "replaces")
SCRIPTS = ("preinst", "postinst", "prerm", "postrm")
KEYS = {"name", "versions", "repository", "files", *RELATIONS, *SCRIPTS}


def main(packages: Path = HERE / "packages", cache: Path = CACHE) -> int:
    """Build what is not there yet, and print the folder; a package that is described wrongly ends it with code 1."""
    found = cache / compute_digest(packages)
    if not found.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as work:
            build(packages, Path(work) / "new")
            try:
                (Path(work) / "new").rename(found)
            except OSError:  # another run was faster
                if not found.is_dir():
                    raise
    sys.stdout.write(f"{found}\n")
    return 0


def compute_digest(packages: Path) -> str:
    """Return the digest of all packages and of this file."""
    total = hashlib.sha256(Path(__file__).read_bytes())
    for file in sorted(file for file in packages.rglob("*") if file.is_file() and "__pycache__" not in file.parts):
        total.update(f"{file.relative_to(packages)} {file.stat().st_mode & 0o111}\n".encode() + file.read_bytes())
    return total.hexdigest()[:16]


def build(packages: Path, out: Path) -> None:
    """Build all packages into repositories of `out`, and sign these."""
    out.mkdir(parents=True)
    out.chmod(0o755)
    for file in sorted(packages.glob("*/package.yml")):
        about = read_package(file)
        folder = out / about.get("repository", "nvidia-cuda")
        folder.mkdir(exist_ok=True)
        for version in about["versions"]:
            build_package(file.parent, about, str(version), folder)
    with tempfile.TemporaryDirectory() as home:
        gpg = ["gpg", "--homedir", home, "--batch", "--pinentry-mode", "loopback", "--passphrase", ""]
        run([*gpg, "--quick-gen-key", "gpuyard tests <tests@example.net>", "ed25519", "sign", "0"])
        key = run([*gpg, "--armor", "--export"])
        listed = run([*gpg, "--with-colons", "--list-keys"]).decode()
        fingerprint = next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr:"))
        (out / "keys").mkdir()
        (out / "fingerprint").write_text(f"{fingerprint}\n")
        for folder in sorted(folder for folder in out.iterdir() if folder.is_dir() and folder.name != "keys"):
            sign(folder, gpg)
            (out / "keys" / f"{folder.name}.asc").write_bytes(key)
        run(["gpgconf", "--homedir", home, "--kill", "all"])


def read_package(file: Path) -> dict:
    """Return what a package.yml says; a key that is not known, or no name or versions, ends the program."""
    about = yaml.safe_load(file.read_text())
    unknown = sorted(set(about) - KEYS)
    missing = [key for key in ("name", "versions") if not about.get(key)]
    if unknown or missing:
        sys.exit(f"{file}: unknown {unknown}, missing {missing}; known are {sorted(KEYS)}")
    return about


def build_package(source: Path, about: dict, version: str, folder: Path) -> None:
    """Build one version of a package into `folder`."""
    upstream = version.rpartition("-")[0] or version

    def fill(text: str) -> str:
        return text.replace("{version}", version).replace("{upstream}", upstream)

    with tempfile.TemporaryDirectory() as work:
        root = Path(work) / "root"
        (root / "DEBIAN").mkdir(parents=True)
        root.chmod(0o755)
        (root / "DEBIAN").chmod(0o755)
        for path, body in (about.get("files") or {}).items():
            file = root / fill(path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes((source / body["from"]).read_bytes() if "from" in body else fill(body["text"]).encode())
            file.chmod(int(body.get("mode", "0644"), 8))
        for script in SCRIPTS:
            if about.get(script):
                file = root / "DEBIAN" / script
                file.write_text(f"#!/bin/sh\nset -e\n{fill(about[script])}")
                file.chmod(0o755)
        relations = [f"{key.title()}: {fill(', '.join(about[key]))}\n" for key in RELATIONS if about.get(key)]
        (root / "DEBIAN/control").write_text(
            f"Package: {about['name']}\nVersion: {version}\nArchitecture: amd64\nMaintainer: gpuyard tests <tests@example.net>\n"
            f"{''.join(relations)}Section: misc\nPriority: optional\nDescription: double of {about['name']}, for tests\n"
        )
        name = f"{about['name']}_{version.replace(':', '%3a')}_amd64.deb"
        run(["dpkg-deb", "--root-owner-group", "-Znone", "-b", str(root), str(folder / name)])


def sign(folder: Path, gpg: list[str]) -> None:
    """Write a flat repository's lists of packages, and sign them."""
    packages = run(["dpkg-scanpackages", "--multiversion", "."], cwd=folder)
    (folder / "Packages").write_bytes(packages)
    (folder / "Packages.gz").write_bytes(gzip.compress(packages, mtime=0))
    date = run(["date", "-u", "+%a, %d %b %Y %H:%M:%S UTC"]).decode().strip()
    label = LABELS.get(folder.name, folder.name)
    sums = "".join(
        f" {hashlib.sha256(body).hexdigest()} {len(body)} {name}\n"
        for name in ("Packages", "Packages.gz")
        for body in [(folder / name).read_bytes()]
    )
    about = f"Origin: gpuyard tests\nLabel: {label}\nDate: {date}\nArchitectures: amd64\nSHA256:\n"
    (folder / "Release").write_text(about + sums)
    run([*gpg, "--clearsign", "--output", str(folder / "InRelease"), str(folder / "Release")])


def run(command: list[str], cwd: Path | None = None) -> bytes:
    """Return what a command prints; what it complains about ends the program."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, check=False, env={**os.environ, "LC_ALL": "C"})
    if done.returncode:
        sys.exit(f"{command[0]} failed: {done.stderr.decode(errors='replace')}")
    return done.stdout


if __name__ == "__main__":
    if shutil.which("dpkg-scanpackages") is None:
        sys.exit("dpkg-scanpackages is missing: apt install dpkg-dev")
    sys.exit(main(*map(Path, sys.argv[1:])))
