"""The installer's own decisions: which disks, which port, and what a cut download comes to. Nothing here touches a disk."""

import hashlib
import importlib.util
import io
import sys
import urllib.error
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "templates/boot/image"
RULE = {"serials": [], "wwns": [], "model": "", "min_gb": 0, "max_gb": 0}


def load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def disks():
    return load("disks")


@pytest.fixture
def installer(disks, monkeypatch):
    monkeypatch.setitem(sys.modules, "disks", disks)
    module = load("installer")
    monkeypatch.setattr(module, "PAUSE_S", 0)
    return module


def disk(path, model="ACME", serial="", wwn="", gigabytes=480, children=()):
    return {"path": path, "model": model, "serial": serial, "wwn": wwn, "size": gigabytes * 10**9, "children": list(children)}


A, B = disk("/dev/sda", serial="S1", wwn="0x1"), disk("/dev/sdb", serial="S2", wwn="0x2")
DATA = disk("/dev/nvme0n1", "BIG 7T", "D1", gigabytes=7000)


def rules(count=2, wipe=(), **system):
    return {"system": {"count": count, **RULE, **system}, "wipe": list(wipe)}


def choose(disks, found, wanted, full=()):
    system, others = disks.choose(found, wanted, lambda disk: disk["path"] in full)
    return [disk["path"] for disk in system], [disk["path"] for disk in others]


@pytest.mark.parametrize(
    "system",
    [
        {"serials": ["S2", "S1"]}, {"wwns": ["0x1", "0x2"]}, {"serials": ["S1"], "wwns": ["0x2"]}, {"model": "AC*"},
        {"max_gb": 500}, {"model": "ACME", "min_gb": 400},
    ],
)  # fmt: skip
def test_system_disks_are_those_that_the_plan_means(disks, system):
    assert choose(disks, [DATA, A, B], rules(**system)) == (["/dev/sda", "/dev/sdb"], [])


@pytest.mark.parametrize("system", [{}, {"model": "*"}, {"serials": ["S1"]}, {"model": "nothing"}, {"min_gb": 9000}])
def test_more_or_fewer_disks_than_planned_stop_it_and_are_named(disks, system):
    with pytest.raises(disks.DisksError, match=r"\d disks fit, 2 hold the system; seen: /dev/nvme0n1 BIG 7T D1 7000 GB; .*sdb"):
        disks.choose([DATA, A, B], rules(**system), lambda disk: False)


def test_models_fit_with_blanks_or_underscores(disks):
    assert disks.fits(disk("/dev/x", "SAMSUNG MZ7L3"), {**RULE, "model": "SAMSUNG_MZ*"})
    assert disks.fits(disk("/dev/x", "SAMSUNG_MZ7L3"), {**RULE, "model": "SAMSUNG MZ*"})


def test_a_full_system_disk_without_consent_stops_it(disks):
    with pytest.raises(disks.DisksError, match="/dev/sdb not empty, and provisioning names no consent"):
        choose(disks, [A, B], rules(), full={"/dev/sdb"})


def test_consent_to_system_disks_is_not_consent_to_others(disks):
    wipe = [{"match": None, "consent": "me"}]
    assert choose(disks, [A, B, DATA], rules(max_gb=500, wipe=wipe), full={"/dev/sda", "/dev/nvme0n1"})[1] == []


def test_other_disks_are_wiped_only_where_a_rule_names_them(disks):
    wipe = [{"match": {**RULE, "model": "BIG*"}, "consent": "me"}]
    found = [A, B, DATA, disk("/dev/sdz", "KEEP", gigabytes=900)]
    assert choose(disks, found, rules(max_gb=500, wipe=wipe))[1] == ["/dev/nvme0n1"]


def test_consent_to_another_disk_is_not_consent_to_system_disks(disks):
    wipe = [{"match": {**RULE, "model": "ACME"}, "consent": "me"}]
    with pytest.raises(disks.DisksError, match="no consent"):
        choose(disks, [A, B], rules(wipe=wipe), full={"/dev/sda"})


@pytest.mark.parametrize(
    ("told", "marks", "fails"),
    [
        ({}, {"gpuyard-root"}, "was installed before and may hold data"),
        ({"reinstall": True}, {"gpuyard-root"}, ""),
        ({"resumed": True}, {"gpuyard-root"}, ""),
        ({"reinstall": True}, {"gpuyard-root", "theirs"}, "no consent"),
        ({"resumed": True}, {"theirs"}, "no consent"),
        ({"serial": "S9"}, set(), "serial number is S1, not S9"),
        ({"firmware": "uefi"}, set(), "started by bios, and the plan installs it for uefi"),
    ],
)
def test_what_was_installed_is_overwritten_only_by_name(installer, disks, monkeypatch, told, marks, fails):
    found = disk("/dev/sda", children=[{"path": "/dev/sda1", "partlabel": mark} for mark in marks])
    monkeypatch.setattr(installer, "run", lambda *command, **_: "")
    monkeypatch.setattr(installer, "read_facts", lambda: {"serial": "S1"})
    monkeypatch.setattr(disks, "list_disks", lambda: [found])
    monkeypatch.setattr(disks, "holds", lambda disk: bool(disk["children"]))
    monkeypatch.setattr(installer, "Path", lambda path: type("DoublePath", (), {"is_dir": lambda self: False})())
    host = {"name": "a", "serial": "", "firmware": "bios", "disks": rules(count=1)} | told
    if fails:
        with pytest.raises((installer.InstallError, disks.DisksError), match=fails):
            installer.check(host)
    else:
        assert [disk["path"] for disk in installer.check(host)[1]] == ["/dev/sda"]


def test_arguments_come_from_the_command_line(installer):
    text = "initrd=x gpuyard.host=http://b/v1/host/a.json gpuyard.token=ab "
    text += "gpuyard.net=10.0.0.2/255.255.255.192/10.0.0.1 quiet gpuyard.mac=02:00"
    assert installer.read_arguments(text) == {
        "host": "http://b/v1/host/a.json", "token": "ab", "net": "10.0.0.2/255.255.255.192/10.0.0.1", "mac": "02:00",
    }  # fmt: skip


def test_the_port_is_found_by_its_mac_and_a_wrong_one_names_those_there(installer, tmp_path):
    for name, mac in (("eth0", "02:00:00:00:00:01"), ("eth1", "02:00:00:00:00:0A")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "address").write_text(f"{mac}\n")
    assert installer.find_port("02:00:00:00:00:0a", tmp_path) == "eth1"
    with pytest.raises(installer.InstallError, match="no port has MAC 02:ff; there are 02:00:00:00:00:01, 02:00:00:00:00:0a"):
        installer.find_port("02:ff", tmp_path)


class DoubleAnswer(io.BytesIO):
    """An answer of the boot server that may break off."""

    def __init__(self, body, status=200, breaks_at=None):
        super().__init__(body if breaks_at is None else body[:breaks_at])
        self.status, self.headers, self.breaks = status, {"Content-Length": str(len(body))}, breaks_at is not None

    def read(self, size=-1):
        piece = super().read(size)
        if not piece and self.breaks:
            raise ConnectionResetError("reset")
        return piece


def test_a_download_goes_on_where_it_was_cut_off(installer, monkeypatch):
    body, asked = bytes(range(256)) * 40, []

    def ask(url, body_=None, headers=None):
        begin = int(headers["Range"][6:-1]) if headers else 0
        asked.append(begin)
        return DoubleAnswer(body[begin:], 206 if begin else 200, breaks_at=3000 if len(asked) < 3 else None)

    monkeypatch.setattr(installer, "ask", ask)
    download = installer.Download("http://b/x")
    assert b"".join(download.pieces(1000)) == body
    assert asked == [0, 3000, 6000]
    assert download.sum.hexdigest() == hashlib.sha256(body).hexdigest()


def test_a_boot_server_that_cannot_go_on_in_the_middle_stops_it(installer, monkeypatch):
    answers = iter([DoubleAnswer(b"x" * 5000, breaks_at=1000), DoubleAnswer(b"x" * 5000)])
    monkeypatch.setattr(installer, "ask", lambda *_, **__: next(answers))
    with pytest.raises(installer.InstallError, match="cannot go on in the middle"):
        list(installer.Download("http://b/x").pieces(1000))


def test_a_refusal_is_told_in_the_boot_servers_words_and_503_is_waited_for(installer, monkeypatch):
    codes = iter([503, 429, 408, 503, 403])

    def urlopen(request, timeout):
        raise urllib.error.HTTPError(request.full_url, next(codes), "", {}, io.BytesIO(b"the token is not good\n"))

    monkeypatch.setattr(installer.urllib.request, "urlopen", urlopen)
    with pytest.raises(installer.InstallError, match="refuses http://b/x: 403 the token is not good") as error:
        installer.ask("http://b/x?token=secret")
    assert "secret" not in str(error.value)
