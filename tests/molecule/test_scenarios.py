"""Each folder of molecule/ is one test: roles converged in containers with systemd inside."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.slowness import stretch

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = stretch(600)
TAIL = 6000


def find_scenarios() -> list:
    """Return the scenarios by name; one whose molecule.yml has a line `# slow: why` is slow."""
    found = []
    for file in sorted((ROOT / "molecule").glob("*/molecule.yml")):
        slow = any(line.startswith("# slow:") for line in file.read_text().splitlines())
        found.append(pytest.param(file.parent.name, marks=[pytest.mark.slow] if slow else []))
    return found


def find_reason() -> str:
    """Return why no container can run here, or an empty text."""
    if os.getuid() != 0:
        return "not root: containers with systemd inside need it"
    missing = [tool for tool in ("podman", "mmdebstrap", "dpkg-scanpackages", "gpg", "ssh") if shutil.which(tool) is None]
    return f"missing here: {', '.join(missing)}" if missing else ""


def find_failure(said: str) -> str:
    """Return the task that ended a scenario's log, and why; failures before it were rescued ones, of what is to be refused."""
    lines = said.splitlines()
    last = max((at for at, line in enumerate(lines) if line.startswith("fatal: ")), default=len(lines))
    task, error = (
        next((line for line in reversed(lines[: last + 1]) if line.startswith(head)), "") for head in ("TASK [", "[ERROR]: ")
    )
    return f"{task.rstrip('* ') or 'no task'}: {error or 'no error told'}"


@pytest.mark.parametrize("name", find_scenarios())
def test_scenario(name, tmp_path_factory):
    if reason := find_reason():
        if os.environ.get("GPUYARD_REQUIRE_CONTAINERS") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    # Short: a control socket's path has 107 characters at most.
    folder = tmp_path_factory.mktemp("m", numbered=True)
    environment = {
        **os.environ,
        "ANSIBLE_HOME": str(folder / "home"),
        "MOLECULE_EPHEMERAL_DIRECTORY": str(folder / "run"),
        "VENV": str(Path(sys.executable).parents[1]),
        "NO_COLOR": "1",
    }
    environment.pop("PYTEST_CURRENT_TEST", None)
    log, code = folder / "log", -1  # which it stays where the test's own deadline ends the waiting
    with log.open("w") as file:
        run = subprocess.Popen(
            [ROOT / "scripts/scenario", name],
            cwd=ROOT,
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = run.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            if run.poll() is None:
                os.killpg(run.pid, 15)
                run.wait(60)
            if code:
                subprocess.run(
                    [ROOT / "scripts/scenario", name, "destroy"], cwd=ROOT, env=environment, capture_output=True, check=False
                )
    said = log.read_text(errors="replace")
    ended = f"not done in {DEADLINE_S:g} s" if code == -1 else f"ended with {code}"
    assert code == 0, f"scenario {name}: {ended}: {find_failure(said)}\n{said[-TAIL:]}"
