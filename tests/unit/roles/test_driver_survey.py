"""What the survey of role nvidia_driver makes of kernels and of the boot loader, which no container has."""

import importlib.util
from pathlib import Path

import pytest

SURVEY = Path(__file__).parents[3] / "roles/nvidia_driver/files/survey.py"
KERNELS = ["6.1.0-9-amd64", "6.1.0-44-amd64", "6.1.0-44-cloud-amd64", "6.1.0-45-amd64"]


@pytest.fixture
def survey():
    spec = importlib.util.spec_from_file_location("gpuyard_driver_survey", SURVEY)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("files", "grubby", "expected"),
    [
        ({}, "", "6.1.0-45-amd64"),
        ({"/etc/default/grub": "GRUB_DEFAULT=0"}, "", "6.1.0-45-amd64"),
        ({"/etc/default/grub": 'GRUB_DEFAULT="gnulinux-advanced-1>gnulinux-6.1.0-9-amd64-advanced-1"'}, "", "6.1.0-9-amd64"),
        ({"/etc/default/grub": "GRUB_DEFAULT='Debian, with Linux 6.1.0-44-cloud-amd64'"}, "", "6.1.0-44-cloud-amd64"),
        (
            {"/etc/default/grub": "GRUB_DEFAULT=saved", "/boot/grub/grubenv": "saved_entry=y-6.1.0-44-amd64"},
            "",
            "6.1.0-44-amd64",
        ),
        ({"/etc/default/grub": "GRUB_DEFAULT=saved"}, "", "6.1.0-45-amd64"),
        ({"/etc/default/grub": "GRUB_DEFAULT=0", "/boot/grub/grubenv": "saved_entry=y-6.1.0-9-amd64"}, "", "6.1.0-45-amd64"),
        ({"/etc/default/grub": "GRUB_DEFAULT=0", "/boot/grub/grubenv": "next_entry=y-6.1.0-9-amd64"}, "", "6.1.0-9-amd64"),
        ({"/etc/default/grub": "GRUB_DEFAULT=1>2"}, "", "6.1.0-45-amd64"),
        ({}, "/boot/vmlinuz-6.1.0-44-amd64\n", "6.1.0-44-amd64"),
    ],
)
def test_the_kernel_that_boots_next(survey, monkeypatch, files, grubby, expected):
    monkeypatch.setattr(survey, "read", lambda path: files.get(str(path), ""))
    monkeypatch.setattr(survey, "run", lambda *words: (0, grubby) if words[0] == "grubby" else (127, ""))
    assert survey.read_next_kernel(KERNELS) == expected


def test_no_kernel_at_all(survey, monkeypatch):
    monkeypatch.setattr(survey, "read", lambda _path: "")
    monkeypatch.setattr(survey, "run", lambda *_words: (127, ""))
    assert survey.read_next_kernel([]) == ""


def test_kernels_are_sorted_by_number(survey):
    names = ["6.1.0-44-amd64", "6.1.0-9-amd64", "6.12.9-amd64", "5.14.0-570.el9.x86_64", "6.1.0-45-amd64", "6.12.12+bpo-amd64"]
    assert sorted(names, key=survey.rank) == [
        "5.14.0-570.el9.x86_64",
        "6.1.0-9-amd64",
        "6.1.0-44-amd64",
        "6.1.0-45-amd64",
        "6.12.9-amd64",
        "6.12.12+bpo-amd64",
    ]


def test_headers_of_rhel_go_by_their_kernel(survey, monkeypatch):
    releases = [("kernel-core", "570"), ("kernel-devel", "570"), ("kernel-devel", "580"), ("bash", "5")]
    rows = "".join(f"{name}|5.14.0-{number}.el9|x86_64\n" for name, number in releases)
    monkeypatch.setattr(survey.shutil, "which", lambda name: None if name == "dpkg-query" else name)
    monkeypatch.setattr(survey, "run", lambda *words: (0, rows) if words[0] == "rpm" else (0, ""))
    packages, _, family = survey.list_packages()
    assert family == "redhat"
    assert {"kernel-devel-5.14.0-570.el9.x86_64", "kernel-devel-5.14.0-580.el9.x86_64", "kernel-core"} <= set(packages)
    assert "bash" not in packages


def test_a_kernel_without_the_module_is_left_out(survey, monkeypatch):
    monkeypatch.setattr(survey, "run", lambda *words: (0, "580.95.05\n") if "6.1.0-45-amd64" in words else (1, "modinfo: ERROR"))
    assert survey.list_modules(KERNELS) == {"6.1.0-45-amd64": "580.95.05"}
