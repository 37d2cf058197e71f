"""The switches' first scripts, run with doubles of what a switch has: they tell the serial number that is asked for."""

import os
import re
import subprocess

import pytest

from cluster_model.catalogue.load import load_catalogue
from cluster_model.render.boot.shared import boot_environment

CURL = 'for word; do echo "$word" >>"$FOLDER/asked"; [ "$before" = -o ] && echo "{}" >"$word"; before=$word; done; true\n'
PLATFORMS = load_catalogue()[0].platforms
ZTP_SCRIPTS = [nos for nos in PLATFORMS if (ztp := PLATFORMS[nos].ztp) and ztp.file.endswith(".sh")]
READS = {"sonic": "-s", "cumulus": "--serial"}
"""How a serial number is read: sonic-ztp, DecodeSysEeprom.py; NVIDIA Cumulus Linux, "decode-syseeprom": -s writes."""


def run(folder, nos, eeprom):
    programs = {"curl": CURL, "decode-syseeprom": eeprom, "install": "true\n", "config": "true\n", "nv": "true\n"}
    for name, body in programs.items():
        (folder / name).write_text(f"#!/bin/bash\n{body}")
        (folder / name).chmod(0o755)
    text = boot_environment().get_template(f"switch/{nos}/ztp.sh.j2").render(url="http://192.0.2.1")
    text = text.replace("/usr/cumulus/bin/", "")
    env = {"PATH": f"{folder}:{os.environ['PATH']}", "FOLDER": str(folder)}
    done = subprocess.run(["bash"], input=text, text=True, env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return (folder / "asked").read_text().splitlines()


@pytest.mark.parametrize("nos", ZTP_SCRIPTS)
def test_every_file_is_asked_for_with_the_serial_number(nos, tmp_path):
    asked = run(tmp_path, nos, f'[ "$*" = {READS[nos]} ] && echo "SN 1"\n')
    files = [word for word in asked if re.search(r"/v1/ztp/\S+$", word)]
    told = [word for word in asked if word.lower() == f"{PLATFORMS[nos].ztp.serial_header}: sn 1"]
    assert len(told) == len(files) > 0


@pytest.mark.parametrize("nos", ZTP_SCRIPTS)
def test_a_board_without_a_serial_number_asks_all_the_same(nos, tmp_path):
    """The boot server refuses it where the plan has one, and says so; where the plan has none, it is served."""
    assert any("/v1/ztp/" in word for word in run(tmp_path, nos, "exit 1\n"))
