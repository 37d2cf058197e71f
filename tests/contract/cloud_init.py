"""cloud-init's own judge, unpacked, not installed: installed, it would take the next boot of this machine for its first."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

CACHE = Path("/var/tmp/gpuyard-cloud-init")
MODULES = "usr/lib/python3/dist-packages"


def find_cloud_init():
    """Return the command and its environment; None where there is neither a cloud-init nor an apt to fetch one with.

    With GPUYARD_OFFLINE set nothing is fetched: scripts/prepare-tests has fetched it.
    """
    installed = shutil.which("cloud-init")
    if installed:
        return [installed], dict(os.environ)
    if not (CACHE / MODULES).is_dir():
        if not shutil.which("apt-get"):
            return None
        assert not os.environ.get("GPUYARD_OFFLINE"), f"no cloud-init in {CACHE}: run make setup"
        if not _unpack():
            return None
    return ["/usr/bin/python3", "-m", "cloudinit.cmd.main"], {**os.environ, "PYTHONPATH": str(CACHE / MODULES)}


def _unpack():
    with tempfile.TemporaryDirectory(prefix="gpuyard-", dir="/var/tmp") as folder:
        try:
            done = subprocess.run(["apt-get", "download", "-qq", "cloud-init"], cwd=folder, capture_output=True, check=False)
            package = next(Path(folder).glob("cloud-init_*.deb"), None)
            if done.returncode or package is None:
                return False
            subprocess.run(["dpkg", "-x", package.name, "tree"], cwd=folder, check=True)
        except OSError:
            return False
        try:
            (Path(folder) / "tree").rename(CACHE)
        except OSError:  # another worker was first
            return CACHE.is_dir()
    return True
