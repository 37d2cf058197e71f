"""When role kubernetes_control has its timers elapse; molecule/kubernetes_control has systemd start them."""

import re
import shutil
import subprocess
from pathlib import Path

import jinja2
import pytest

TEMPLATE = Path(__file__).parents[3] / "roles/kubernetes_control/templates/files.yml.j2"
FAULTS = Path(__file__).parents[3] / "plugins/filter/kubernetes_control_faults.py"
LEAST, MOST = re.search(r'"kubernetes_control_backup_hours": \((\d+), (\d+),', FAULTS.read_text()).groups()


@pytest.mark.parametrize("hours", range(int(LEAST), int(MOST) + 1))
def test_every_allowed_interval_makes_a_timer(hours):
    """To systemd 00/24 is no time: it refuses a repetition of more than 23 hours."""
    (line,) = re.findall(r"OnCalendar=(.*backup_hours.*)", TEMPLATE.read_text())
    said = jinja2.Template(line).render(kubernetes_control_backup_hours=str(hours))
    times = re.fullmatch(r"\*-\*-\* ([0-9,]+):00:00", said)[1].split(",")
    assert times == [str(hour) for hour in range(24) if hour % hours == 0]
    if shutil.which("systemd-analyze"):
        subprocess.run(["systemd-analyze", "calendar", said], check=True, capture_output=True)
