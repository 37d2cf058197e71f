"""What our own modules decide on a host, tried without one: files that differ, NICs that lack, names that are swapped."""

import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from roles import ROOT


@pytest.fixture(scope="module", autouse=True)
def _collection_on_path(collection):
    """Let the collection's names mean this checkout, as Ansible has it."""
    sys.path.insert(0, str(collection))
    yield
    sys.path.remove(str(collection))


@pytest.fixture
def utils():
    from ansible_collections.gpuyard.cluster.plugins.module_utils import file_set, network_trial

    return file_set, network_trial


# --- Files


def list_owned(path, text, **more):
    import grp
    import pwd

    owner = {"owner": pwd.getpwuid(os.getuid()).pw_name, "group": grp.getgrgid(os.getgid()).gr_name}
    return [{"path": str(path), "content": text, **owner, **more}]


def test_a_file_is_written_once(tmp_path, utils):
    files, _ = utils
    wanted = list_owned(tmp_path / "new/a.conf", "x=1\n", mode="0640")
    changes = files.plan_changes(wanted, [])
    assert [(change.path, change.before, change.after) for change in changes] == [(str(tmp_path / "new/a.conf"), None, "x=1\n")]
    files.write_changes(changes)
    assert stat.S_IMODE((tmp_path / "new/a.conf").stat().st_mode) == 0o640
    assert files.plan_changes(wanted, []) == []
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.conf"], "no temporary file stays"


def test_a_mode_alone_is_a_change_that_shows(tmp_path, utils):
    files, _ = utils
    path = tmp_path / "a.conf"
    path.write_text("x\n")
    path.chmod(0o600)
    changes = files.plan_changes(list_owned(path, "x\n"), [])
    (shown,) = files.show_changes(changes)
    assert (shown["before"].splitlines()[0][:9], shown["after"].splitlines()[0][:9]) == ("mode 0600", "mode 0644")
    files.write_changes(changes)
    assert files.plan_changes(list_owned(path, "x\n"), []) == []


def test_what_is_not_wanted_goes_and_links_are_set(tmp_path, utils):
    files, _ = utils
    (tmp_path / "10-ours-old.conf").write_text("old\n")
    (tmp_path / "20-theirs.conf").write_text("theirs\n")
    (tmp_path / "zone").symlink_to("/usr/share/zoneinfo/UTC")
    wanted = [{"path": str(tmp_path / "zone"), "link": "/usr/share/zoneinfo/Asia/Shanghai"}]
    changes = files.plan_changes(wanted, [f"{tmp_path}/10-ours-*"])
    assert {change.path: change.after for change in changes} == {
        str(tmp_path / "zone"): "/usr/share/zoneinfo/Asia/Shanghai",
        str(tmp_path / "10-ours-old.conf"): None,
    }
    files.write_changes(changes)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["20-theirs.conf", "zone"]
    assert str((tmp_path / "zone").readlink()) == "/usr/share/zoneinfo/Asia/Shanghai"
    assert files.plan_changes(wanted, [f"{tmp_path}/10-ours-*"]) == []


def test_a_link_in_the_way_becomes_a_file(tmp_path, utils):
    files, _ = utils
    (tmp_path / "stub").write_text("stub\n")
    (tmp_path / "resolv.conf").symlink_to(tmp_path / "stub")
    files.write_changes(files.plan_changes(list_owned(tmp_path / "resolv.conf", "nameserver 10.0.0.1\n"), []))
    assert not (tmp_path / "resolv.conf").is_symlink()
    assert (tmp_path / "stub").read_text() == "stub\n"


@pytest.mark.parametrize(
    ("files", "word"),
    [
        ([{"path": "etc/a", "content": ""}], "not an absolute path: etc/a"),
        ([{"path": "/a", "content": "1"}, {"path": "/a", "content": "2"}], "named more than once: /a"),
        ([{"path": "/a", "content": "", "validate": "visudo -c"}], "validate has no %s, which stands for the new file: /a"),
        ([{"path": "/a", "content": "", "owner": "nobody-of-that-name"}], "nobody-of-that-name"),
        ([{"path": "/etc", "content": ""}], "/etc is a folder"),
    ],
)
def test_what_cannot_be_written_is_said(files, word, utils):
    with pytest.raises(utils[0].FileSetError, match=word):
        utils[0].plan_changes(files, [])


LABEL = "system_u:object_r:etc_t:s0"


def make_module(monkeypatch):
    """Return an AnsibleModule as on a host with SELinux: labels are real, the policy is a double.

    A kernel without SELinux keeps labels as it keeps any attribute of a file, so they are read back from the disk.
    """
    from ansible.module_utils import basic

    module = basic.AnsibleModule.__new__(basic.AnsibleModule)
    module.check_mode = False
    monkeypatch.setattr(module, "selinux_enabled", lambda: True, raising=False)
    monkeypatch.setattr(module, "selinux_default_context", lambda path, mode=0: LABEL.split(":"), raising=False)
    monkeypatch.setattr(module, "selinux_context", lambda path: ["unconfined_u", "object_r", "tmp_t", "s0"], raising=False)
    monkeypatch.setattr(module, "is_special_selinux_path", lambda path: (False, None), raising=False)
    monkeypatch.setattr(module, "run_command", run_validator, raising=False)
    return module


def run_validator(command, handle_exceptions=True):
    done = subprocess.run(shlex.split(command), capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def read_label(path):
    return os.getxattr(path, "security.selinux", follow_symlinks=False).decode().rstrip("\0")


@pytest.mark.skipif(os.getuid() != 0, reason="not root: labels are the kernel's")
def test_files_folders_and_links_have_the_label_of_their_path(tmp_path, utils, monkeypatch):
    files, _ = utils
    (tmp_path / "old.conf").write_text("old\n")
    wanted = [
        *list_owned(tmp_path / "new/a.conf", "x\n", mode="0600"),
        *list_owned(tmp_path / "old.conf", "new\n"),
        {"path": str(tmp_path / "zone"), "link": "/usr/share/zoneinfo/UTC"},
    ]
    files.write_changes(files.plan_changes(wanted, []), module=make_module(monkeypatch))
    paths = [tmp_path / name for name in ("new", "new/a.conf", "old.conf", "zone")]
    assert {path.name: read_label(path) for path in paths} == {path.name: LABEL for path in paths}
    assert [stat.S_IMODE(path.stat().st_mode) for path in paths[1:3]] == [0o600, 0o644]
    assert files.plan_changes(wanted, []) == []


def test_one_file_that_its_program_refuses_keeps_all_as_they_were(tmp_path, utils, monkeypatch):
    files, _ = utils
    (tmp_path / "grub.cfg").write_text("A=1\n")
    wanted = [
        *list_owned(tmp_path / "a.conf", "x\n"),
        *list_owned(tmp_path / "b.cfg", 'B="\n', validate="sh -n %s"),
        *list_owned(tmp_path / "c.cfg", "x\n", validate="gpuyard-no-such-program %s"),
        *list_owned(tmp_path / "grub.cfg", "A=2\n", validate="sh -n %s"),
    ]
    changes = files.plan_changes(wanted, [])
    with pytest.raises(files.FileSetError) as refusal:
        files.write_changes(changes, module=make_module(monkeypatch), backup=True)
    said = str(refusal.value).splitlines()
    assert [line.split(":")[0] for line in said] == ["nothing was changed", f"- {tmp_path}/b.cfg", f"- {tmp_path}/c.cfg"]
    assert "nterminated" in said[1]
    assert "fix: install the program" in said[2]
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"grub.cfg": "A=1\n"}, "and nothing lies around"


def test_a_full_disk_leaves_all_as_it_was(tmp_path, utils, monkeypatch):
    files, _ = utils
    (tmp_path / "a.conf").write_text("old\n")
    changes = files.plan_changes([*list_owned(tmp_path / "a.conf", "new\n"), *list_owned(tmp_path / "b.conf", "x\n")], [])
    sync = os.fsync
    calls = []

    def fill(handle):
        calls.append(handle)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        sync(handle)

    monkeypatch.setattr(os, "fsync", fill)
    with pytest.raises(OSError, match="No space left"):
        files.write_changes(changes, module=make_module(monkeypatch))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.conf": "old\n"}


def test_a_backup_is_kept_and_not_purged(tmp_path, utils, monkeypatch):
    files, _ = utils
    (tmp_path / "ada").write_text("old\n")
    (tmp_path / "ben").write_text("gone\n")
    wanted = list_owned(tmp_path / "ada", "new\n")
    kept = files.write_changes(files.plan_changes(wanted, [f"{tmp_path}/*"]), module=make_module(monkeypatch), backup=True)
    assert sorted(Path(path).read_text() for path in kept) == ["gone\n", "old\n"]
    assert files.plan_changes(wanted, [f"{tmp_path}/*"]) == []
    assert sorted(path.name.split(".")[0] for path in tmp_path.iterdir()) == ["ada", "ada", "ben"]


# --- What programs have read


@pytest.fixture
def record(tmp_path, monkeypatch):
    from ansible_collections.gpuyard.cluster.plugins.module_utils import read_record

    monkeypatch.setattr(read_record, "FOLDER", tmp_path / "record")
    return read_record


def test_a_file_is_unread_until_it_is_noted_as_it_is(tmp_path, record):
    file, link = tmp_path / "a.conf", tmp_path / "zone"
    file.write_text("x\n")
    link.symlink_to("/usr/share/zoneinfo/UTC")
    paths = [str(file), str(link)]
    assert record.list_unread("ours", paths, []) == paths, "a run that was cut off wrote them"
    record.note_read("ours", paths)
    assert record.list_unread("ours", paths, []) == []
    assert record.list_unread("ours", paths, [str(link)]) == [str(link)], "its mode was changed"
    file.write_text("y\n")
    assert record.list_unread("ours", paths, []) == [str(file)]
    assert record.list_unread("theirs", paths, []) == paths, "each record is for itself"


def test_a_file_that_went_is_unread_until_it_is_noted(tmp_path, record):
    file = tmp_path / "a.conf"
    file.write_text("x\n")
    record.note_read("ours", [str(file)])
    file.unlink()
    assert record.list_unread("ours", [], []) == [str(file)]
    record.note_read("ours", [str(file)])
    assert record.list_unread("ours", [], []) == []


def test_a_note_leaves_the_other_files_of_its_record(tmp_path, record):
    paths = [str(tmp_path / name) for name in ("a", "b")]
    for path in paths:
        Path(path).write_text("x\n")
    record.note_read("ours", paths[:1])
    record.note_read("ours", paths[1:])
    record.note_read("ours", [])
    assert record.list_unread("ours", paths, []) == []


def test_a_record_that_was_cut_off_counts_as_none(tmp_path, record):
    (tmp_path / "a").write_text("x\n")
    record.FOLDER.mkdir()
    (record.FOLDER / "ours").write_text('{"/')
    assert record.list_unread("ours", [str(tmp_path / "a")], []) == [str(tmp_path / "a")]


# --- Units


@pytest.fixture
def units():
    from ansible_collections.gpuyard.cluster.plugins.module_utils import units

    return units


def unit(load="loaded", active="inactive", file="disabled", reload="no"):
    return {"LoadState": load, "ActiveState": active, "UnitFileState": file, "NeedDaemonReload": reload}


@pytest.mark.parametrize(
    ("wanted", "now", "verbs"),
    [
        ({"enabled": True, "state": "started"}, unit(), ["enable", "start"]),
        ({"enabled": True, "state": "started"}, unit(active="active", file="enabled"), []),
        ({"enabled": True, "state": "started"}, unit(active="activating", file="static"), []),
        ({"enabled": True}, unit(file="enabled-runtime"), ["enable"]),
        ({"enabled": True, "state": "started"}, unit(load="not-found", file=""), ["enable", "start"]),
        ({"enabled": False, "state": "stopped"}, unit(active="active", file="enabled"), ["disable", "stop"]),
        ({"enabled": False, "state": "stopped"}, unit(load="not-found", file=""), []),
        ({"enabled": False, "state": "stopped"}, unit(active="failed", file="masked"), []),
        ({"state": "started"}, unit(active="failed", file="enabled"), ["start"]),
        ({}, unit(), []),
    ],
)
def test_only_what_differs_of_a_unit_is_done(wanted, now, verbs, units):
    changes = units.plan_units([{"name": "a.service", **wanted}], {"a.service": now})
    assert [verb for change in changes for verb in change.verbs] == verbs


def test_systemd_reads_its_files_anew_where_one_of_them_changed_or_it_says_so(units):
    assert units.must_reload(["/etc/systemd/system/a.service.d/b.conf"], {})
    assert units.must_reload([], {"a.service": unit(reload="yes")})
    assert not units.must_reload(["/etc/nccl.conf"], {"a.service": unit()})


DOUBLE_SYSTEMCTL = """\
#!/bin/sh
echo "$@" >>"$0.told"
case $1 in
show) printf 'LoadState=loaded\\nActiveState=active\\nUnitFileState=enabled\\n\\nLoadState=not-found\\nActiveState=inactive\\n' ;;
is-enabled) echo disabled; exit 1 ;;
start) echo "Unit b.service not found." >&2; exit 5 ;;
esac
"""


def test_all_units_are_read_at_once_and_a_failure_says_what_systemctl_said(tmp_path, monkeypatch, units):
    double = tmp_path / "systemctl"
    double.write_text(DOUBLE_SYSTEMCTL)
    double.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = units.read_units(["a.service", "b.service"])
    assert {name: each["ActiveState"] for name, each in found.items()} == {"a.service": "active", "b.service": "inactive"}
    assert found["a.service"]["UnitFileState"] == "disabled", "what is there counts, not what systemd remembers"
    wanted = [{"name": name, "enabled": None, "state": "started"} for name in found]
    with pytest.raises(units.UnitError, match=r"systemctl start b\.service: Unit b\.service not found\.; fix: ") as failure:
        units.change_units(units.plan_units(wanted, found))
    assert failure.value.unit == "b.service"
    told = Path(f"{double}.told").read_text().splitlines()
    assert [line.split()[0] for line in told] == ["show", "is-enabled", "start"]
    assert told[1].split()[-1] == "a.service", "b.service has no file to ask for"


# --- NICs


def match(utils, wanted, nics):
    _, trial = utils
    found = [trial.Nic(*nic) for nic in nics]
    return trial.match_nics([{"name": "", "mac": "", "pci": "", **each} for each in wanted], found, [nic.name for nic in found])


def test_a_nic_is_known_by_mac_then_by_pci_then_by_name(utils):
    nics = [
        ("eth0", "02:00:00:00:00:01", "0000:18:00.0"),
        ("eth1", "02:00:00:00:00:02", "0000:40:00.0"),
        ("eno1", "02:00:00:00:00:03", ""),
    ]
    wanted = [{"name": "enp24s0", "mac": "02:00:00:00:00:01"}, {"name": "enp64s0", "pci": "0000:40:00.0"}, {"name": "eno1"}]
    assert match(utils, wanted, nics) == ({"eth0": "enp24s0", "eth1": "enp64s0"}, [])


def test_all_nics_that_lack_are_named(utils):
    nics = [("enp24s0", "02:00:00:00:00:09", "0000:18:00.0")]
    wanted = [
        {"name": "enp24s0", "mac": "02:00:00:00:00:01", "pci": "0000:18:00.0"},
        {"name": "enp64s0", "pci": "0000:40:00.0"},
        {"name": "eno1"},
    ]
    renames, faults = match(utils, wanted, nics)
    assert renames == {}
    assert faults == [
        "- enp24s0: no NIC has MAC 02:00:00:00:00:01, and enp24s0 in its place has 02:00:00:00:00:09. "
        "fix: put the new MAC into the facts if the NIC was replaced",
        "- enp64s0: no NIC has PCI 0000:40:00.0. fix: seat it, load its driver, or correct the plan's facts",
        "- eno1: no NIC has that name. fix: seat it, load its driver, or correct the plan's facts",
    ]


def test_a_name_that_another_nic_has_is_refused_and_a_swap_is_not(utils):
    nics = [("eth0", "02:00:00:00:00:01", ""), ("eth1", "02:00:00:00:00:02", "")]
    _, faults = match(utils, [{"name": "eth1", "mac": "02:00:00:00:00:01"}], nics)
    assert faults == ["- eth0 is to be called eth1, and another interface has that name. fix: give that one its planned name"]
    renames, faults = match(
        utils, [{"name": "eth1", "mac": "02:00:00:00:00:01"}, {"name": "eth0", "mac": "02:00:00:00:00:02"}], nics
    )
    assert (renames, faults) == ({"eth0": "eth1", "eth1": "eth0"}, [])
    steps = utils[1]._list_renames(renames)
    names = {"eth0": "first", "eth1": "second"}
    for step in steps:
        old, new = step.split()
        assert new not in names
        names[new] = names.pop(old)
    assert names == {"eth1": "first", "eth0": "second"}


# --- The way back


def test_the_way_back_puts_files_back_at_boot(tmp_path):
    """The script as it is, with its folder moved: what was there returns, what is new goes, and the trial is over."""
    state, place = tmp_path / "state", tmp_path / "etc"
    (state / "former" / str(place)[1:]).mkdir(parents=True)
    place.mkdir()
    (place / "old.network").write_text("new\n")
    (place / "new.network").write_text("new\n")
    (state / "former" / str(place)[1:] / "old.network").write_text("old\n")
    (state / "pending").write_text(f"restore {place}/old.network\nremove {place}/new.network\nnetworkd\naddress 10.0.0.5/24 lo\n")
    script = (ROOT / "roles/host_network/files/revert.sh").read_text()
    text = script.replace("state=/var/lib/gpuyard/host-network", f"state={state}").replace("systemctl", "true")
    done = subprocess.run(["sh", "-eu", "-c", text, "revert", "boot"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert {path.name: path.read_text() for path in place.iterdir()} == {"old.network": "old\n"}
    assert sorted(path.name for path in state.iterdir()) == ["former", "reverted"]
