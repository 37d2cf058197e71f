"""The wheel is whole: installed alone, in an empty environment, it renders the lab.

What it depends on comes from .work/wheels, which scripts/prepare-tests fetches.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WHEELS = ROOT / ".work/wheels"


def run(*command, cwd):
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_an_installed_wheel_renders_the_lab(tmp_path):
    assert WHEELS.is_dir(), f"no {WHEELS}: run make setup"
    pip = ("-m", "pip", "--disable-pip-version-check", "-q")
    run(sys.executable, *pip, "wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path / "dist", ROOT, cwd=tmp_path)
    wheel = next((tmp_path / "dist").glob("gpuyard-*.whl"))
    run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    offline = ("--no-index", "--find-links", WHEELS, "-c", ROOT / "requirements.lock")
    run(python, *pip, "install", *offline, wheel, cwd=tmp_path)
    where = run(python, "-c", "import cluster_model; print(cluster_model.__file__)", cwd=tmp_path)
    assert str(tmp_path / "venv") in where
    folder = tmp_path / "lab"
    shutil.copytree(ROOT / "inventory" / "lab", folder)
    gpuyard = tmp_path / "venv" / "bin" / "gpuyard"
    run(gpuyard, "render", folder, "-o", tmp_path / "out", cwd=tmp_path)
    assert (tmp_path / "out" / "switches" / "compute-leaf-u01-01" / "config_db.json").is_file()
    assert (tmp_path / "out" / "switches" / "storage-leaf-u01-01" / "frr.conf").is_file()
    assert (tmp_path / "out" / "diagrams" / "racks.svg").is_file()
