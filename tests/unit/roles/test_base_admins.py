"""Whose key counts as an administrator's, once role base ends logins by password: lines of authorized_keys, sshd's settings."""

import datetime
import importlib.util
import json
import pwd
import time
from pathlib import Path

import pytest

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
    spec = importlib.util.spec_from_file_location("gpuyard_base_admins", ADMINS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
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


def tell(admins, monkeypatch, keys, sshd="", sudo=(), files=None):
    """Return what the program says of users with these files of keys; `sudo` are those whom sudo's own files let become root."""
    users = [pwd.struct_passwd((name, "x", 0 if name == "root" else 2000, 0, "", f"/home/{name}", "/bin/sh")) for name in keys]
    texts = {f"/home/{name}/.ssh/authorized_keys": text for name, text in keys.items()} | (files or {})
    asked = []

    def run(*words):
        asked.append(words)
        if words[0] == "sudo":
            return "User may run the following commands:\n    (ALL) NOPASSWD: ALL\n" if words[-1] in sudo else "not allowed\n"
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
        ({"allowgroups": ["wheel"]}, "AllowGroups"),
        ({"authorizedkeysfile": "/etc/keys/%u"}, "AuthorizedKeysFile has not .ssh/authorized_keys"),
    ],
)
def test_root_whom_sshd_does_not_let_in(admins, monkeypatch, changes, reason):
    said = tell(admins, monkeypatch, {"root": KEY}, show_settings(**changes))
    assert (said["admins"], said["keyed"], said["not_counted"]) == ([], [], {"root": reason})


@pytest.mark.parametrize("changes", [{"allowusers": ["ada", "root@10.*"]}, {"authorizedkeysfile": "%h/.ssh/authorized_keys"}])
def test_root_whom_sshd_lets_in_from_here(admins, monkeypatch, changes):
    assert tell(admins, monkeypatch, {"root": KEY}, show_settings(**changes))["admins"] == ["root"]


def test_people_with_sudo_of_other_files(admins, monkeypatch):
    keys = {"ada": KEY, "ben": KEY, "eve": f'expiry-time="20200101" {KEY}', "fay": ""}
    said = tell(admins, monkeypatch, keys, show_settings(permitrootlogin="no"), sudo=["ada", "eve", "fay"])
    assert (said["admins"], said["keyed"]) == (["ada"], ["ada", "ben"])
    assert said["not_counted"] == {"eve": "expired 20200101"}


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
