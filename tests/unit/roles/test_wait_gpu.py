"""What units that use GPUs wait for at boot, and when they stop to: `gpuyard-wait-gpu` with doubles of the programs it runs."""

import subprocess
from pathlib import Path

import pytest

ROLES = Path(__file__).parents[3] / "roles"
SCRIPT = ROLES / "nvidia_driver/files/gpuyard-wait-gpu"
KERNEL = "6.1.0-45-amd64"
ABSENT = f"no module nvidia for kernel {KERNEL}"
GIVEN_UP = "and none is being built: run playbooks/driver.yml, or boot another kernel"


@pytest.fixture
def host(tmp_path):
    """Return a server with one GPU, whose kernel has no module and whose pauses only count."""
    gpu = tmp_path / "sys/bus/pci/devices/0000:18:00.0"
    gpu.mkdir(parents=True)
    (gpu / "vendor").write_text("0x10de\n")
    (gpu / "class").write_text("0x030200\n")
    (tmp_path / "dev").mkdir()
    be_at_work(tmp_path, "systemd")
    programs = {
        "uname": f"echo {KERNEL}",
        "modinfo": f'test "$*" = "-k {KERNEL} -F version nvidia" && test -e built',
        "modprobe": "echo >>modprobes; test -e built || { echo not found; exit 1; }; touch dev/nvidiactl",
        "systemctl": "test ! -e jobs || cat jobs",
        # Without an end the tenth pause ends the test.
        "sleep": 'echo "$1" >>pauses; test "$(grep -c . pauses)" != "$(cat built-after 2>/dev/null)" || touch built\n'
        'test "$(grep -c . pauses)" -lt 10 || kill "$PPID"',
    }
    for name, body in programs.items():
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def be_at_work(folder, name):
    """Let a process of this name run."""
    process = folder / "proc" / str(100 + len(list(folder.glob("proc/*"))))
    process.mkdir(parents=True)
    (process / "comm").write_text(f"{name}\n")


def skip_kernels(folder, *kernels):
    (folder / "etc/gpuyard").mkdir(parents=True)
    (folder / "etc/gpuyard/driver-skip-kernels").write_text("".join(f"{kernel}\n" for kernel in kernels))


def wait(folder, *arguments):
    """Run the script; return its exit code, its lines, and the pauses that it made in seconds."""
    text = SCRIPT.read_text()
    for place in ("/sys/bus", "/proc/[", "/dev/nvidiactl", "/etc/gpuyard"):
        assert f" {place}" in text.replace("(", " ")
        text = text.replace(f" {place}", f" {folder}{place}")
    environment = {"PATH": f"{folder}/bin:/usr/bin:/bin"}
    done = subprocess.run(
        ["/bin/sh", "-c", text, "gpuyard-wait-gpu", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    pauses = folder / "pauses"
    return done.returncode, done.stdout.splitlines(), [int(one) for one in pauses.read_text().split()] if pauses.exists() else []


def test_a_module_that_is_there_is_loaded_at_once(host):
    (host / "built").touch()
    assert wait(host) == (0, [], [])


@pytest.mark.parametrize(("arguments", "expected"), [([], 1), (["or-fail"], 255)])
def test_without_a_module_or_a_build_it_ends_soon_and_says_why(host, arguments, expected):
    code, said, pauses = wait(host, *arguments)
    assert (code, pauses) == (expected, [1, 2])
    assert said == [f"waiting: {ABSENT}", f"{ABSENT}, {GIVEN_UP}"]


@pytest.mark.parametrize("name", ["dkms", "dpkg", "apt-get", "dnf"])
def test_a_module_that_may_be_being_built_is_waited_for_in_growing_pauses(host, name):
    be_at_work(host, name)
    (host / "built-after").write_text("6")
    assert wait(host) == (0, [f"waiting: {ABSENT}"], [1, 2, 4, 8, 8, 8])
    assert (host / "modprobes").read_text().count("\n") == 7


@pytest.mark.parametrize(
    ("gap", "again", "expected"),
    [
        (2, 3, (0, [f"waiting: {ABSENT}"], [1, 2, 4, 8, 8, 8])),
        (2, 4, (0, [f"waiting: {ABSENT}"], [1, 2, 4, 8, 8, 8])),
        (2, 9, (1, [f"waiting: {ABSENT}", f"{ABSENT}, {GIVEN_UP}"], [1, 2, 4, 8])),
    ],
)
def test_a_gap_between_two_programs_of_a_package_manager_is_no_end(host, gap, again, expected):
    be_at_work(host, "dpkg")
    (host / "built-after").write_text("6")
    changes = f"{gap}) mv proc/101/comm idle ;; {again}) mv idle proc/101/comm ;;"
    with (host / "bin/sleep").open("a") as file:
        file.write(f"case $(grep -c . pauses) in {changes} esac\n")
    assert wait(host) == expected


def test_a_build_that_systemd_has_yet_to_start_is_waited_for(host):
    (host / "jobs").write_text("110 dkms.service start waiting\n111 nvidia-persistenced.service start running\n")
    (host / "built-after").write_text("2")
    assert wait(host) == (0, [f"waiting: {ABSENT}"], [1, 2])


def test_another_process_of_a_similar_name_is_no_build(host):
    be_at_work(host, "unattended-upgr")
    be_at_work(host, "dkms-helper")
    (host / "jobs").write_text("111 nvidia-persistenced.service start running\n")
    assert wait(host, "or-fail")[0] == 255


def test_a_kernel_that_is_to_have_no_module_is_skipped_at_once(host):
    skip_kernels(host, "6.1.0-44-amd64", KERNEL)
    be_at_work(host, "dkms")  # for another kernel
    assert wait(host, "or-fail") == (1, [f"{ABSENT}, as nvidia_driver_skip_kernels has it"], [])


def test_a_skipped_kernel_that_has_the_module_all_the_same_loads_it(host):
    skip_kernels(host, KERNEL)
    (host / "built").touch()
    assert wait(host) == (0, [], [])


def test_a_kernel_whose_release_holds_that_of_a_skipped_one_is_another(host):
    skip_kernels(host, KERNEL.removesuffix("-amd64"), f"{KERNEL}-rt", "6.1.0-45.amd64")
    assert wait(host, "or-fail")[0] == 255


def test_one_unit_fails_for_all_and_has_an_end():
    files = [*ROLES.glob("*/tasks/*.yml"), *ROLES.glob("*/templates/*.service.j2")]
    waiting = [text for file in files if "ExecCondition=+/usr/local/sbin/gpuyard-wait-gpu" in (text := file.read_text())]
    failing = [text for text in waiting if "ExecCondition=+/usr/local/sbin/gpuyard-wait-gpu or-fail\n" in text]
    assert (len(waiting), len(failing)) == (4, 1)
    assert "StartLimitIntervalSec=60\n          StartLimitBurst=5\n" in failing[0] and "RestartSec=5s\n" in failing[0]
