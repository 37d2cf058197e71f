"""Arguments of the roles container_toolkit, cuda_nccl and gpu_power: wrong ones are refused by name, all at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from cluster_model.intent.policy import GpuPower

ROLES = Path(__file__).parents[2] / "roles"
EVENING = {"name": "evening", "from": "17:00", "to": "22:00", "watts": 500}
NCCL = {"cuda_nccl_version": "2.28.9-1+cuda13.0", "cuda_nccl_cuda": "13.0"}
POWER = {"gpu_power_count": 8, "gpu_power_min_w": 200, "gpu_power_max_w": 700}
GOOD: dict[str, list[dict[str, Any]]] = {
    "container_toolkit": [{"container_toolkit_version": "1.18.1-1"}, {"container_toolkit_version": "1.20.0"}],
    "cuda_nccl": [
        NCCL,
        NCCL | {"cuda_nccl_driver": "580.95.05", "cuda_nccl_ib_hca": ["mlx5_0", "mlx5_3:1"], "cuda_nccl_traffic_class": 106},
        NCCL | {"cuda_nccl_version": "2.27.7-1+cuda12.9", "cuda_nccl_cuda": "12.9", "cuda_nccl_driver": "535"},
        NCCL | {"cuda_nccl_extra": {"NCCL_IB_QPS_PER_CONNECTION": 4}},
    ],
    "gpu_power": [
        {},
        POWER | {"gpu_power_cap_w": 500, "gpu_power_cap_feed_lost_w": 474, "gpu_power_schedule": [EVENING]},
        {"gpu_power_cap_w": 5000},  # limits of the model unknown: the GPU is asked
    ],
}
BAD: list[tuple[str, dict[str, Any], list[str]]] = [
    ("container_toolkit", {}, ["container_toolkit_version: empty; expected a version"]),
    (
        "container_toolkit",
        {"container_toolkit_version": "1.17.8-1"},
        ["container_toolkit_version: 1.17.8-1; expected 1.18.0 or newer"],
    ),
    (
        "container_toolkit",
        {"container_toolkit_version": "new", "container_toolkit_engine_packages": {"podman": "podman"}},
        [
            "container_toolkit_version: new",
            "container_toolkit_engine_packages: podman; expected a package for each of containerd",
        ],
    ),
    ("cuda_nccl", {}, ["cuda_nccl_version: empty", "cuda_nccl_cuda: empty"]),
    ("cuda_nccl", NCCL | {"cuda_nccl_cuda": "12.9"}, ["expected a build for CUDA 12"]),
    ("cuda_nccl", NCCL | {"cuda_nccl_driver": "570.86.15"}, ["expected a CUDA major that driver 570.86.15 runs, 13 needs 580"]),
    ("cuda_nccl", NCCL | {"cuda_nccl_ib_hca": ["mlx5_0", "=mlx5_1"]}, ["cuda_nccl_ib_hca: mlx5_0, =mlx5_1; expected names"]),
    ("cuda_nccl", NCCL | {"cuda_nccl_ib_hca": ["mlx5_0", "mlx5_0"]}, ["expected each device once"]),
    ("cuda_nccl", NCCL | {"cuda_nccl_traffic_class": 256}, ["cuda_nccl_traffic_class: 256; expected 0 to 255"]),
    ("cuda_nccl", NCCL | {"cuda_nccl_traffic_class": 107}, ["its two lowest bits"]),
    ("cuda_nccl", NCCL | {"cuda_nccl_gid_index": -2}, ["cuda_nccl_gid_index: -2"]),
    (
        "cuda_nccl",
        NCCL | {"cuda_nccl_extra": {"UCX_TLS": "tcp"}},
        ["cuda_nccl_extra: UCX_TLS; expected names that begin with NCCL_"],
    ),
    (
        "cuda_nccl",
        NCCL | {"cuda_nccl_extra": {"NCCL_IB_TC": 98}},
        ["cuda_nccl_extra: NCCL_IB_TC; expected only what has no variable"],
    ),
    ("cuda_nccl", NCCL | {"cuda_nccl_tests": True}, ["cuda_nccl_tests_version: empty", "cuda_nccl_tests_sha256: empty"]),
    ("gpu_power", POWER | {"gpu_power_cap_w": 150}, ["gpu_power_cap_w: 150; expected 200 to 700 W"]),
    (
        "gpu_power",
        POWER | {"gpu_power_cap_w": 800, "gpu_power_cap_feed_lost_w": 900, "gpu_power_schedule": [EVENING | {"watts": 100}]},
        [
            "gpu_power_cap_w: 800",
            "gpu_power_cap_feed_lost_w: 900; expected 200 to 700 W",
            "gpu_power_cap_feed_lost_w: 900; expected at most gpu_power_cap_w (800)",
            "gpu_power_schedule evening: 100",
        ],
    ),
    ("gpu_power", POWER | {"gpu_power_cap_w": -5}, ["gpu_power_cap_w: -5"]),
    ("gpu_power", {"gpu_power_schedule": [EVENING | {"from": "5pm"}]}, ["gpu_power_schedule evening: from 5pm; expected HH:MM"]),
    ("gpu_power", {"gpu_power_schedule": [EVENING | {"to": "17:00"}]}, ["gpu_power_schedule evening: 17:00 to 17:00"]),
    ("gpu_power", {"gpu_power_schedule": [EVENING, EVENING]}, ["two windows with the same name"]),
    ("gpu_power", {"gpu_power_timezone": "Far Away"}, ["gpu_power_timezone: Far Away"]),
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what each case is told, empty where it passes: all of them in one run, without facts and in check mode."""
    folder = tmp_path_factory.mktemp("arguments")
    cases = [(role, given) for role, several in GOOD.items() for given in several] + [(role, given) for role, given, _ in BAD]
    tasks: list[dict[str, Any]] = [
        {
            "block": [{"ansible.builtin.include_role": {"name": str(ROLES / role), "tasks_from": "validate"}, "vars": given}],
            "rescue": [{"ansible.builtin.set_fact": {f"said_{number}": "{{ ansible_failed_result.msg }}"}}],
        }
        for number, (role, given) in enumerate(cases)
    ]
    last = {
        "content": "{{ vars | dict2items | selectattr('key', 'match', 'said_') | items2dict | to_json }}",
        "dest": str(folder / "said.json"),
    }
    tasks.append({"ansible.builtin.copy": last, "check_mode": False})
    plays = [{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]
    (folder / "ansible.cfg").write_text("[defaults]\n")
    (folder / "play.yml").write_text(json.dumps(plays))
    ran = subprocess.run(
        [
            "ansible-playbook",
            "--check",
            "-i",
            "localhost,",
            "-c",
            "local",
            "-e",
            f"ansible_python_interpreter={sys.executable}",
            "play.yml",
        ],
        cwd=folder,
        env={**os.environ, "ANSIBLE_CONFIG": str(folder / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    found = json.loads((folder / "said.json").read_text("utf-8"))
    return {json.dumps(case): found.get(f"said_{number}", "") for number, case in enumerate(cases)}


@pytest.mark.parametrize(("role", "given"), [(role, given) for role, several in GOOD.items() for given in several])
def test_right_arguments_pass(role: str, given: dict[str, Any], answers: dict[str, str]) -> None:
    assert answers[json.dumps((role, given))] == ""


@pytest.mark.parametrize(("role", "given", "told"), BAD)
def test_wrong_arguments_are_named_all_at_once(
    role: str, given: dict[str, Any], told: list[str], answers: dict[str, str]
) -> None:
    said = answers[json.dumps((role, given))]
    assert all(line in said for line in told), said
    assert len(said.splitlines()) == len(told)
    assert all(line.startswith(f"{role}_") and "; expected " in line and "; fix: " in line for line in said.splitlines())


@pytest.mark.parametrize("role", GOOD)
def test_every_variable_is_specified_and_has_a_default(role: str) -> None:
    specified = yaml.safe_load((ROLES / role / "meta/argument_specs.yml").read_text("utf-8"))["argument_specs"]["main"]["options"]
    defaults = yaml.safe_load((ROLES / role / "defaults/main.yml").read_text("utf-8"))
    assert set(specified) == set(defaults)
    assert all(option["description"] and name.startswith(f"{role}_") for name, option in specified.items())


def test_policies_for_a_lost_feed_are_those_of_the_intent() -> None:
    specified = yaml.safe_load((ROLES / "gpu_power/meta/argument_specs.yml").read_text("utf-8"))["argument_specs"]["main"][
        "options"
    ]
    assert tuple(specified["gpu_power_on_feed_loss"]["choices"]) == get_args(GpuPower.model_fields["on_feed_loss"].annotation)
