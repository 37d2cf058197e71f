"""The switches' first scripts, run with doubles of what a switch has: the serial number they tell, the password they set."""

import os
import re
import shutil
import subprocess

import pytest

from cluster_model.catalogue.load import load_catalogue
from cluster_model.deploy.boot_fill import fill
from cluster_model.render.boot.shared import boot_environment
from tests.unit.render.switch import factory

CURL = """for word; do
  echo "$word" >>"$FOLDER/asked"
  if [ "$before" = -o ]; then cat "$FOLDER/served/${word##*/}" >"$word" 2>/dev/null || echo "{}" >"$word"; fi
  before=$word
done
true
"""
PLATFORMS = load_catalogue()[0].platforms
ZTP_SCRIPTS = [nos for nos in PLATFORMS if (ztp := PLATFORMS[nos].ztp) and ztp.file.endswith(".sh")]
READS = {"sonic": "-s", "cumulus": "--serial"}
"""How a serial number is read: sonic-ztp, DecodeSysEeprom.py; NVIDIA Cumulus Linux, "decode-syseeprom": -s writes."""
EEPROM = "echo SN1\n"
PASSWORD = "Sw1tch:$6{#}%!"
CHPASSWD = shutil.which("chpasswd", path="/usr/sbin:/sbin:/usr/bin")
CAN_SET = os.geteuid() == 0 and CHPASSWD is not None and shutil.which("openssl") is not None


def run(folder, nos, eeprom=EEPROM, chpasswd="cat >/dev/null\n"):
    """Run a script, each program of the switch a double that notes how it was called."""
    programs = {"curl": CURL, "decode-syseeprom": eeprom, "chpasswd": chpasswd}
    for name in ("curl", "decode-syseeprom", "chpasswd", "install", "config", "nv"):
        (folder / name).write_text(f'#!/bin/bash\necho "{name} $*" >>"$FOLDER/ran"\n{programs.get(name, "true")}')
        (folder / name).chmod(0o755)
    (folder / "served").mkdir(exist_ok=True)
    if not (folder / "served" / "chpasswd").exists():
        rendered = factory.file("lab", "compute-leaf-u01-01", "chpasswd")
        (folder / "served" / "chpasswd").write_text(fill(rendered, "chpasswd", ["secret:switch-admin"], lambda *_: PASSWORD))
    text = boot_environment().get_template(f"switch/{nos}/ztp.sh.j2").render(url="http://192.0.2.1")
    text = text.replace("/usr/cumulus/bin/", "")
    env = {"PATH": f"{folder}:{os.environ['PATH']}", "FOLDER": str(folder)}
    return subprocess.run(["bash"], input=text, text=True, env=env, capture_output=True, check=False)


def list_asked(folder, nos, eeprom):
    done = run(folder, nos, eeprom)
    assert done.returncode == 0, done.stderr
    return (folder / "asked").read_text().splitlines()


def list_ran(folder):
    """Return the programs that ran, in order."""
    return [line.split()[0] for line in (folder / "ran").read_text().splitlines()]


@pytest.mark.parametrize("nos", ZTP_SCRIPTS)
def test_every_file_is_asked_for_with_the_serial_number(nos, tmp_path):
    asked = list_asked(tmp_path, nos, f'[ "$*" = {READS[nos]} ] && echo "SN 1"\n')
    files = [word for word in asked if re.search(r"/v1/ztp/\S+$", word)]
    told = [word for word in asked if word.lower() == f"{PLATFORMS[nos].ztp.serial_header}: sn 1"]
    assert len(told) == len(files) > 0


@pytest.mark.parametrize("nos", ZTP_SCRIPTS)
def test_a_board_without_a_serial_number_asks_all_the_same(nos, tmp_path):
    """The boot server refuses it where the plan has one, and says so; where the plan has none, it is served."""
    assert any("/v1/ztp/" in word for word in list_asked(tmp_path, nos, "exit 1\n"))


# The password of SONiC's admin, which the other systems have in their configuration


def test_admin_gets_its_password_before_the_switch_is_configured(tmp_path):
    done = run(tmp_path, "sonic", chpasswd='cat >"$FOLDER/told"\n')
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "told").read_text() == f"admin:{PASSWORD}\n"
    ran = list_ran(tmp_path)
    assert ran.count("chpasswd") == 1
    assert ran[ran.index("chpasswd") + 1 :] == ["install", "install", "config", "config"]


def test_the_password_is_in_no_argument_and_no_log(tmp_path):
    """ZTP writes what a script says to the switch's log, and arguments stand in the list of processes."""
    for chpasswd in ("cat >/dev/null\n", "cat >/dev/null; exit 1\n"):
        done = run(tmp_path, "sonic", chpasswd=chpasswd)
        assert PASSWORD not in done.stdout + done.stderr + (tmp_path / "ran").read_text() + (tmp_path / "asked").read_text()


@pytest.mark.parametrize(
    ("served", "chpasswd", "words"),
    [
        (f"admin:{PASSWORD}\n", "exit 1\n", "admin keeps the password of the image"),
        ("", "true\n", "the boot server sent no password"),
        ("admin:\n", "true\n", "the boot server sent no password"),
        ("{}\n", "true\n", "the boot server sent no password"),
    ],
)
def test_a_switch_whose_admin_keeps_its_password_is_not_configured(tmp_path, served, chpasswd, words):
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "chpasswd").write_text(served)
    done = run(tmp_path, "sonic", chpasswd=chpasswd)
    assert done.returncode != 0 and words in done.stderr
    assert not {"install", "config"} & set(list_ran(tmp_path))


@pytest.fixture
def etc(tmp_path):
    """Return the /etc of a fresh image, whose root directory chpasswd is told."""
    found = tmp_path / "root" / "etc"
    found.mkdir(parents=True)
    (found / "passwd").write_text("root:x:0:0::/root:/bin/sh\nadmin:x:1000:1000::/home/admin:/bin/bash\n")
    (found / "shadow").write_text("root:*:19000:0:99999:7:::\nadmin:$6$image$hash:0:0:99999:7:::\n")
    return found


REAL = f'exec {CHPASSWD} -R "$FOLDER/root" "$@"\n'
needs_chpasswd = pytest.mark.skipif(not CAN_SET, reason="needs root, since chpasswd works on another root, and openssl")


@needs_chpasswd
def test_chpasswd_itself_sets_the_password(tmp_path, etc):
    """Twice, as on a switch that provisions itself again: each time with a new salt."""
    salts = set()
    for _ in range(2):
        done = run(tmp_path, "sonic", chpasswd=REAL)
        assert done.returncode == 0, done.stderr
        shadow = dict(line.split(":")[:2] for line in (etc / "shadow").read_text().splitlines())
        salts.add(salt := shadow["admin"].split("$")[2])
        command = ["openssl", "passwd", "-6", "-salt", salt, "-stdin"]
        hashed = subprocess.run(command, input=PASSWORD, text=True, capture_output=True, check=True).stdout.strip()
        assert shadow == {"root": "*", "admin": hashed}
    assert len(salts) == 2


@needs_chpasswd
def test_an_image_without_admin_is_not_configured(tmp_path, etc):
    """The name of the account is chosen where an image is built."""
    (etc / "passwd").write_text((etc / "passwd").read_text().replace("admin", "other"))
    before = (etc / "shadow").read_bytes()
    done = run(tmp_path, "sonic", chpasswd=REAL)
    assert done.returncode != 0 and "'admin' does not exist" in done.stderr
    assert (etc / "shadow").read_bytes() == before and "config" not in list_ran(tmp_path)
