"""Whose key counts as an administrator's, once role base ends logins by password: lines of authorized_keys, sshd's settings."""

import datetime
import grp
import json
import os
import pwd
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.programs import load_program
from tests.slowness import stretch

ADMINS = Path(__file__).parents[3] / "roles/base/files/admins.py"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJqfN0dUQXzZ5m1kZ3vLq0p8c2kq5n1q2m3r4s5t6u7v"
# What cloud-init puts before root's keys where disable_root is on, its default (cloudinit/settings.py and config/cc_ssh.py).
CLOUD_INIT = (
    "no-port-forwarding,no-agent-forwarding,no-X11-forwarding,"
    'command="echo \'Please login as the user \\"debian\\" rather than the user \\"root\\".\';echo;sleep 10;exit 142" '
)
NOW = datetime.datetime(2026, 7, 1, 12, 0, 0)


@pytest.fixture
def admins(monkeypatch):
    monkeypatch.setenv("TZ", "Etc/GMT-8")
    module = load_program(ADMINS)
    time.tzset()
    yield module
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (KEY, ""),
        (f"{KEY} ada@desk", ""),
        (f"restrict,pty {KEY}", ""),
        (f'environment="A=b c",no-port-forwarding\t{KEY} ada', ""),
        (f"{CLOUD_INIT}{KEY} ada", "forced command"),
        (f'COMMAND="/usr/bin/rrsync /srv" {KEY}', "forced command"),
        (f'environment="X=command=\\"no\\"" {KEY}', ""),
        (f'expiry-time="20260701" {KEY}', "expired 20260701"),
        (f'expiry-time="20260702" {KEY}', ""),
        (f'expiry-time="202607011201" {KEY}', ""),
        (f'expiry-time="20260701115959" {KEY}', "expired 20260701115959"),
        # Noon in a zone eight hours east is four o'clock in UTC.
        (f'expiry-time="202607010401Z" {KEY}', ""),
        (f'expiry-time="202607010359Z" {KEY}', "expired 202607010359Z"),
        (f'expiry-time="tomorrow" {KEY}', "expired tomorrow"),
        (f'from="10.0.0.0/8" {KEY}', ""),
        (f'from="192.0.2.7,10.1.2.?" {KEY}', ""),
        (f'from="192.0.2.0/24,bastion.example.net" {KEY}', "only from 192.0.2.0/24,bastion.example.net"),
        (f'from="*,!10.1.2.3" {KEY}', "only from *,!10.1.2.3"),
        (f'from="10.*,!10.2.0.0/16" {KEY}', ""),
        (f"restrict,no-such-option {KEY}", "unknown option no-such-option"),
        (f"cert-authority {KEY}", ""),  # whom the authority signs for, sshd alone can tell
        ("ssh-dss " + KEY.split()[1], "no public key"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----", "no public key"),
        (f'command="no end {KEY}', "no public key"),
    ],
)
def test_a_line_of_authorized_keys(admins, line, reason):
    assert admins.judge_line(line, "10.1.2.3", NOW) == reason


def test_from_does_not_count_where_nobody_knows_where_the_session_comes_from(admins):
    assert admins.judge_line(f'from="*" {KEY}', "", NOW) == "only from *"


def test_an_address_of_ipv6(admins):
    assert admins.judge_line(f'from="2001:db8::/32" {KEY}', "2001:db8::7", NOW) == ""
    assert admins.judge_line(f'from="10.0.0.0/8" {KEY}', "2001:db8::7", NOW) == "only from 10.0.0.0/8"


def show_settings(**changes):
    """Return what `sshd -T` prints of the settings that matter; a list is a line each."""
    settings = {
        "permitrootlogin": "without-password",
        "pubkeyauthentication": "yes",
        "forcecommand": "none",
        "authorizedkeysfile": ".ssh/authorized_keys .ssh/authorized_keys2",
    } | changes
    rows = [(key, value) for key, values in settings.items() for value in ([values] if isinstance(values, str) else values)]
    return "".join(f"{key} {value}\n" for key, value in rows)


def tell(admins, monkeypatch, keys, sshd="", sudo=(), files=None, rule="(ALL) NOPASSWD: ALL", home="/home", shell="/bin/sh"):
    """Return what the program says of users with these files of keys; `sudo` are those whom sudo's own files let become root."""
    user_id = os.getuid() or 2000  # whose files below `home` are, where it is there
    users = [pwd.struct_passwd((name, "x", 0 if name == "root" else user_id, 0, "", f"{home}/{name}", shell)) for name in keys]
    texts = {f"{home}/{name}/.ssh/authorized_keys": text for name, text in keys.items()} | (files or {})
    asked = []

    def run(*words):
        asked.append(words)
        if words[0] == "sudo":
            return f"User may run the following commands:\n    {rule}\n" if words[-1] in sudo else "not allowed\n"
        return sshd

    said = []
    monkeypatch.setattr(admins.pwd, "getpwall", lambda: users)
    monkeypatch.setattr(admins.grp, "getgrall", lambda: [])
    monkeypatch.setattr(admins.os, "access", lambda *_: False)
    monkeypatch.setattr(admins, "read", lambda path: texts.get(str(path), ""))
    monkeypatch.setattr(admins, "run", run)
    monkeypatch.setattr(admins, "find_address", lambda: "10.1.2.3")
    monkeypatch.setattr(admins.sys.stdout, "write", said.append)
    admins.main()
    monkeypatch.undo()
    whom = [words[3] for words in asked if words[0] != "sudo"]
    assert [words for words in whom if not words.endswith(",host=10.1.2.3,addr=10.1.2.3")] == []
    return json.loads("{" + "".join(said) + "}")


def test_root_with_cloud_inits_command_is_no_administrator(admins, monkeypatch):
    said = tell(admins, monkeypatch, {"root": f"# by cloud-init\n{CLOUD_INIT}{KEY}\n"}, show_settings(permitrootlogin="yes"))
    assert said == {"keyed": [], "admins": [], "former_admins": [], "not_counted": {"root": "forced command"}}


def test_one_line_of_several_suffices(admins, monkeypatch):
    assert tell(admins, monkeypatch, {"root": f"{CLOUD_INIT}{KEY}\n\n{KEY} ada\n"}, show_settings())["admins"] == ["root"]


@pytest.mark.parametrize("value", ["yes", "prohibit-password", "without-password"])
def test_root_whom_sshd_lets_in_by_key(admins, monkeypatch, value):
    assert tell(admins, monkeypatch, {"root": KEY}, show_settings(permitrootlogin=value))["admins"] == ["root"]


def test_without_an_answer_of_sshd_its_defaults_hold(admins, monkeypatch):
    assert tell(admins, monkeypatch, {"root": KEY})["admins"] == ["root"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"permitrootlogin": "no"}, "PermitRootLogin no"),
        ({"permitrootlogin": "forced-commands-only"}, "PermitRootLogin forced-commands-only"),
        ({"pubkeyauthentication": "no"}, "PubkeyAuthentication no"),
        ({"forcecommand": "internal-sftp"}, "ForceCommand"),
        ({"allowusers": ["ada", "root@192.0.2.*"]}, "AllowUsers"),
        ({"denyusers": ["ro?t"]}, "DenyUsers"),
        (
            {"authenticationmethods": "publickey,password keyboard-interactive"},
            "AuthenticationMethods publickey,password keyboard-interactive",
        ),
        ({"authenticationmethods": "publickey,publickey"}, "AuthenticationMethods publickey,publickey"),
        ({"allowgroups": ["wheel"]}, "AllowGroups"),
        ({"authorizedkeysfile": "/etc/keys/%u"}, "AuthorizedKeysFile has not .ssh/authorized_keys"),
    ],
)
def test_root_whom_sshd_does_not_let_in(admins, monkeypatch, changes, reason):
    said = tell(admins, monkeypatch, {"root": KEY}, show_settings(**changes))
    assert (said["admins"], said["keyed"], said["not_counted"]) == ([], [], {"root": reason})


@pytest.mark.parametrize(
    "changes",
    [
        {"allowusers": ["ada", "root@10.*"]},
        {"authorizedkeysfile": "%h/.ssh/authorized_keys"},
        {"authenticationmethods": "any"},
        {"authenticationmethods": ""},
        {"authenticationmethods": "publickey,password publickey"},
    ],
)
def test_root_whom_sshd_lets_in_from_here(admins, monkeypatch, changes):
    assert tell(admins, monkeypatch, {"root": KEY}, show_settings(**changes))["admins"] == ["root"]


def test_people_with_sudo_of_other_files(admins, monkeypatch):
    keys = {"ada": KEY, "ben": KEY, "eve": f'expiry-time="20200101" {KEY}', "fay": ""}
    said = tell(admins, monkeypatch, keys, show_settings(permitrootlogin="no"), sudo=["ada", "eve", "fay"])
    assert (said["admins"], said["keyed"]) == (["ada"], ["ada", "ben"])
    assert said["not_counted"] == {"eve": "expired 20200101"}


@pytest.mark.parametrize(
    ("rule", "counts"),
    [
        ("(ALL : ALL) ALL", True),  # %sudo ALL=(ALL:ALL) ALL
        ("(ALL) ALL", True),  # %wheel ALL=(ALL) ALL
        ("(root) ALL", True),
        ("(ALL) SETENV: NOPASSWD: ALL", True),
        ("(ALL) ROLE=sysadm_r TYPE=sysadm_t NOPASSWD: ALL", True),
        ("(ALL) ALL, !/usr/bin/passwd root", True),
        ("(root) NOPASSWD: /usr/bin/less, PASSWD: ALL", True),
        ("(root) /usr/bin/less\n    (ALL : ALL) ALL", True),
        ("(root) NOPASSWD: /usr/bin/systemctl restart nginx", False),
        ("(ALL) NOPASSWD: /usr/bin/less, /usr/bin/tail", False),
        ("(ALL) /usr/bin/wall ALL", False),
        ("(ALL) /usr/bin/wall a\\, ALL", False),
        ("(ALL) !ALL", False),
    ],
)
def test_sudo_for_all_commands_makes_an_administrator(admins, monkeypatch, rule, counts):
    said = tell(admins, monkeypatch, {"ada": KEY}, show_settings(), sudo=["ada"], rule=rule)
    assert (said["admins"], said["keyed"], said["not_counted"]) == (["ada"] if counts else [], ["ada"], {})


@pytest.mark.parametrize("shell", ["/usr/sbin/nologin", "/sbin/nologin", "/bin/false"])
def test_people_without_a_shell_do_not_count(admins, monkeypatch, shell):
    said = tell(admins, monkeypatch, {"ada": KEY}, show_settings(), sudo=["ada"], shell=shell)
    assert (said["admins"], said["keyed"], said["not_counted"]) == ([], [], {"ada": f"shell {shell}"})


@pytest.fixture
def own_keys(tmp_path):
    """Return ada's file of keys, which is a file, with modes as ssh-copy-id leaves them."""
    keys = tmp_path / "ada/.ssh/authorized_keys"
    keys.parent.mkdir(parents=True)
    keys.write_text(KEY)
    for place, mode in ((keys, 0o600), (keys.parent, 0o700), (keys.parents[1], 0o755), (tmp_path, 0o777)):
        place.chmod(mode)
    return keys


@pytest.mark.parametrize("settings", [{}, {"strictmodes": "yes"}, {"strictmodes": "no"}])
@pytest.mark.parametrize(("above", "mode"), [(0, 0o620), (1, 0o702), (2, 0o775)])
def test_sshd_takes_no_keys_that_others_may_write(admins, monkeypatch, tmp_path, own_keys, settings, above, mode):
    def look():
        monkeypatch.setattr(admins, "DEBIAN", tmp_path / "absent")
        said = tell(admins, monkeypatch, {"ada": KEY}, show_settings(**settings), sudo=["ada"], home=tmp_path)
        return said["admins"], said["not_counted"]

    assert look() == (["ada"], {})
    place = (own_keys, *own_keys.parents)[above]
    place.chmod(mode)
    strict = settings.get("strictmodes") != "no"
    assert look() == (([], {"ada": f"others may write {place}"}) if strict else (["ada"], {}))


def be_ada(keys, user_id):
    return pwd.struct_passwd(("ada", "x", user_id, 0, "", str(keys.parents[1]), "/bin/sh"))


def test_sshd_takes_no_keys_that_another_user_owns(admins, monkeypatch, own_keys):
    real = admins.pathlib.Path.stat
    monkeypatch.setattr(  # only root could give a file away
        admins.pathlib.Path, "stat", lambda path: os.stat_result([2001 if at == 4 else one for at, one in enumerate(real(path))])
    )
    assert admins.judge_modes(own_keys, be_ada(own_keys, 2000)) == [f"another user owns {own_keys}"]
    assert admins.judge_modes(own_keys, be_ada(own_keys, 2001)) == []


@pytest.mark.parametrize(("members", "alone"), [([], True), (["ada"], True), (["ada", "ben"], False)])
def test_debians_sshd_lets_the_users_own_group_write(admins, monkeypatch, own_keys, members, alone):
    own_keys.chmod(0o660)
    user = be_ada(own_keys, os.getuid())
    group = own_keys.stat().st_gid
    debian = own_keys.parents[2] / "debian_version"
    monkeypatch.setattr(admins, "DEBIAN", debian)
    monkeypatch.setattr(admins.pwd, "getpwall", lambda: [pwd.struct_passwd((*user[:3], group, *user[4:]))])
    monkeypatch.setattr(admins.grp, "getgrall", lambda: [grp.struct_group(("ada", "x", group, members))])
    assert admins.judge_modes(own_keys, user) == [f"others may write {own_keys}"]
    debian.touch()
    assert admins.judge_modes(own_keys, user) == ([] if alone else [f"others may write {own_keys}"])


def test_what_is_no_regular_file_is_not_read(admins, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "endless").symlink_to("/dev/zero")
    # In a process of its own, which has an end and little memory.
    text = (
        "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29));"
        "print([runpy.run_path(sys.argv[1])['read'](path) for path in sys.argv[2:]])"
    )
    words = [sys.executable, "-c", text, str(ADMINS), *(str(tmp_path / name) for name in ("endless", "pipe", "absent", "."))]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=stretch(10))
    assert (done.stdout, done.stderr) == ("['', '', '', '']\n", "")


def test_a_mebibyte_of_a_file_is_read(admins, tmp_path):
    (tmp_path / "keys").write_bytes(KEY.encode() + b"\xff\n" * (1 << 20))
    assert admins.read(tmp_path / "keys").startswith(f"{KEY}\ufffd\n")
    assert len(admins.read(str(tmp_path / "keys"))) == 1 << 20
    assert "PPid:" in admins.read("/proc/self/status")


def test_people_of_an_earlier_run(admins, monkeypatch):
    files = {
        "/etc/sudoers.d/90-gpuyard": "ada ALL=(ALL:ALL) NOPASSWD: ALL\nben ALL=(ALL:ALL) NOPASSWD: ALL\n",
        "/etc/ssh/authorized_keys.d/ada": f"# made\n{KEY}\n",
        "/etc/ssh/authorized_keys.d/ben": "# made\n",
    }
    said = tell(
        admins, monkeypatch, {"ada": "", "ben": "", "root": CLOUD_INIT + KEY}, show_settings(), sudo=["ada", "ben"], files=files
    )
    assert (said["former_admins"], said["admins"]) == (["ada"], [])


def test_the_address_of_the_session_is_found_above_sudo(admins, monkeypatch):
    files = {
        "/proc/self/environ": "HOME=/root\0SUDO_USER=ada\0",
        "/proc/self/status": "Name:\tpython3\nPPid:\t30\n",
        "/proc/30/environ": "",
        "/proc/30/status": "Name:\tsudo\nPPid:\t20\n",
        "/proc/20/environ": "HOME=/home/ada\0SSH_CONNECTION=10.1.2.3 50022 10.0.0.7 22\0",
    }
    monkeypatch.setattr(admins, "read", lambda path: files.get(path, ""))
    assert admins.find_address() == "10.1.2.3"
    files["/proc/20/environ"] = ""
    assert admins.find_address() == ""
