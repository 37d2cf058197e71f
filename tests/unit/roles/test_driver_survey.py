"""What the survey of role nvidia_driver makes of kernels and of the boot loader, which no container has."""

from pathlib import Path

import pytest

from tests.programs import load_program

SURVEY = Path(__file__).parents[3] / "roles/nvidia_driver/files/survey.py"
KERNELS = ["6.1.0-9-amd64", "6.1.0-44-amd64", "6.1.0-44-cloud-amd64", "6.1.0-45-amd64"]


@pytest.fixture
def survey():
    return load_program(SURVEY)


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
        ({"/etc/default/grub": 'GRUB_DEFAULT="0>0"'}, "", "6.1.0-45-amd64"),
        ({"/etc/default/grub": 'GRUB_DEFAULT="1>2"'}, "", ""),
        ({"/etc/default/grub": "GRUB_DEFAULT=1>2"}, "", ""),
        ({"/etc/default/grub": "GRUB_DEFAULT=gnulinux-simple-1"}, "", ""),
        ({"/etc/default/grub": "GRUB_DEFAULT=saved", "/boot/grub/grubenv": "saved_entry=2"}, "", ""),
        ({}, "/boot/vmlinuz-6.1.0-44-amd64\n", "6.1.0-44-amd64"),
    ],
)
def test_the_kernel_that_boots_next(survey, monkeypatch, files, grubby, expected):
    monkeypatch.setattr(survey, "read", lambda path: files.get(str(path), ""))
    monkeypatch.setattr(survey, "run", lambda *words: (0, grubby) if words[0] == "grubby" else (127, ""))
    assert survey.read_next_kernel(KERNELS)[0] == expected


def write_entry(title, name, kernel=""):
    """Return an entry of GRUB's menu as Debian's /etc/grub.d/10_linux writes it; without a kernel, of another system."""
    boots = f"\tif [ x$grub_platform = xxen ]; then insmod xzio; fi\n\tlinux\t/boot/vmlinuz-{kernel} root=UUID=1 ro  quiet\n"
    boots = boots if kernel else "\tchainloader /efi/Microsoft/Boot/bootmgfw.efi\n"
    return f"menuentry '{title}' --class os $menuentry_id_option '{name}' {{\n{boots}\techo\t'Loading ...'\n}}\n"


def write_menu(default):
    """Return a grub.cfg in the form that Debian's grub-mkconfig gives it."""
    listed = [
        write_entry(f"Debian GNU/Linux, with Linux {kernel}{note}", f"gnulinux-{kernel}-{kind}-1", kernel)
        for kernel in reversed(KERNELS)
        for note, kind in (("", "advanced"), (" (recovery mode)", "recovery"))
    ]
    return "".join(
        [
            'if [ "${next_entry}" ] ; then\n   set default="${next_entry}"\nelse\n',
            f'   set default="{default}"\nfi\nfunction savedefault {{\n  saved_entry="${{chosen}}"\n}}\n',
            write_entry("Debian GNU/Linux", "gnulinux-simple-1", KERNELS[-1]),
            "submenu 'Advanced options for Debian GNU/Linux' $menuentry_id_option 'gnulinux-advanced-1' {\n",
            "".join(listed).replace("\n", "\n\t"),
            "}\n",
            'menuentry "Rescue" { chainloader +1 }\n',
            write_entry("Windows Boot Manager (on /dev/sda1)", "osprober-efi-1"),
            write_entry("Old", "old", KERNELS[0]),
            write_entry(r"Joe'\''s Linux", "joe", KERNELS[1]),
            write_entry(r"Joe'\''s old Linux", "old-joe", KERNELS[0]),
            "if [ $grub_platform = efi ]; then\n\tmenuentry 'UEFI Firmware Settings' $menuentry_id_option 'uefi-firmware' {\n",
            "\t\tfwsetup\n\t}\nfi\n",
        ]
    )


@pytest.mark.parametrize(
    ("default", "kept", "expected"),
    [
        ("0", "", "6.1.0-45-amd64"),
        ("1>2", "", "6.1.0-44-cloud-amd64"),
        ("1>4", "", "6.1.0-44-amd64"),
        ("1", "", "6.1.0-45-amd64"),
        ("4", "", "6.1.0-9-amd64"),
        ("old", "", "6.1.0-9-amd64"),
        ("Joe's old Linux", "", "6.1.0-9-amd64"),
        ("Joe", "", "6.1.0-45-amd64"),
        ("gnulinux-simple-1", "", "6.1.0-45-amd64"),
        ("gnulinux-advanced-1>4", "", "6.1.0-44-amd64"),
        ("1>gnulinux-6.1.0-9-amd64-advanced-1", "", "6.1.0-9-amd64"),
        ("Advanced options for Debian GNU/Linux>Debian GNU/Linux, with Linux 6.1.0-44-amd64", "", "6.1.0-44-amd64"),
        # GRUB takes the first entry for one that is not there.
        ("9", "", "6.1.0-45-amd64"),
        ("gnulinux-advanced-1>gnulinux-6.1.0-30-amd64-advanced-1", "", "6.1.0-45-amd64"),
        ("${saved_entry}", "saved_entry=1>2", "6.1.0-44-cloud-amd64"),
        ("${saved_entry}", "saved_entry=old", "6.1.0-9-amd64"),
        ("${saved_entry}", "", "6.1.0-45-amd64"),
        ("0", "saved_entry=1>2", "6.1.0-45-amd64"),
        ("0", "next_entry=1>4", "6.1.0-44-amd64"),
        # Another system, the firmware, and a chain loader boot no kernel of this server.
        ("3", "", ""),
        ("2", "", ""),
        ("uefi-firmware", "", ""),
    ],
)
def test_the_kernel_of_an_entry_in_the_menu(survey, monkeypatch, default, kept, expected):
    files = {
        "/etc/default/grub": "GRUB_DEFAULT=not-yet-written",
        "/boot/grub/grub.cfg": write_menu(default),
        "/boot/grub/grubenv": kept,
    }
    monkeypatch.setattr(survey, "read", lambda path: files.get(str(path), ""))
    monkeypatch.setattr(survey, "run", lambda *_words: (127, ""))
    kernel, entry = survey.read_next_kernel(KERNELS)
    assert kernel == expected
    assert entry == (kept.partition("=")[2] if "saved" in default or "next" in kept else default)


def test_an_entry_whose_kernel_is_gone_boots_none(survey, monkeypatch):
    menu = write_menu("1>2").replace("6.1.0-44-cloud-amd64", "6.1.0-30-amd64")
    monkeypatch.setattr(survey, "read", lambda path: {"/boot/grub/grub.cfg": menu}.get(str(path), ""))
    monkeypatch.setattr(survey, "run", lambda *_words: (127, ""))
    assert survey.read_next_kernel(KERNELS) == ("", "1>2")


def test_no_kernel_at_all(survey, monkeypatch):
    monkeypatch.setattr(survey, "read", lambda _path: "")
    monkeypatch.setattr(survey, "run", lambda *_words: (127, ""))
    assert survey.read_next_kernel([]) == ("", "")


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
