"""`import gpuyard`: the library under the name it is installed by, in a checkout and in the wheel."""

import subprocess
import sys
import zipfile
from pathlib import Path

import gpuyard
from cluster_model import pipeline

ROOT = Path(__file__).resolve().parents[2]


def run(*words):
    return subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)


def test_it_holds_the_whole_library():
    assert set(gpuyard.__all__) == {*pipeline.__all__, "Diagnostic", "__version__"}
    assert all(getattr(gpuyard, name) is getattr(pipeline, name) for name in pipeline.__all__)


def test_to_import_it_loads_no_stage():
    done = run("-c", "import gpuyard, sys; print(*(m for m in sys.modules if m.startswith(('cluster_model.plan', 'pydantic'))))")
    assert (done.returncode, done.stdout.strip()) == (0, "")


def test_it_is_the_command_too():
    done = run("-m", "gpuyard", "--version")
    assert (done.returncode, done.stdout) == (0, f"gpuyard {gpuyard.__version__}\n")


def test_the_wheel_has_it_typed(tmp_path):
    done = run("-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path))
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert {"gpuyard/__init__.py", "gpuyard/__main__.py", "gpuyard/py.typed"} <= set(zipfile.ZipFile(wheel).namelist())
