"""Tell who can log in with a key of their own, and who of them may become root, as sshd and sudo have it now.

Prints members of a JSON object: keyed (names), admins (those who may become root by other files than role base's), former_admins
(those of an earlier run of the role), and not_counted {name: reasons}, administrators whose keys let nobody in from where this
session comes from. Python 3.9 suffices.

A line of authorized_keys counts where it opens a session: not with a command of its own, not where it expired, and with `from=`
only where that has the address of this session. Source: sshd(8), AUTHORIZED_KEYS FILE FORMAT; sshd_config(5).
"""

from __future__ import annotations

import datetime
import grp
import ipaddress
import json
import os
import pathlib
import pwd
import re
import stat
import subprocess
import sys

OPTION = r'[A-Za-z0-9-]+(?:="(?:\\"|[^"\\]|\\(?!"))*")?'
KEY = r"(?:ssh-(?:ed25519|rsa)|ecdsa-sha2-nistp\d+|sk-(?:ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com)[ \t]+[A-Za-z0-9+/=]{40,}"
LINE = re.compile(rf"(?:(?P<options>{OPTION}(?:,{OPTION})*)[ \t]+)?{KEY}(?:[ \t]|$)")
KNOWN = re.compile(
    "(no-)?(agent-forwarding|port-forwarding|pty|user-rc|x11-forwarding)|no-touch-required|verify-required|cert-authority|command"
    "|environment|expiry-time|from|permitlisten|permitopen|principals|restrict|tunnel"
)
"""Options of a line; sshd takes no line with another."""
OURS = "/etc/sudoers.d/90-gpuyard"
DEBIAN = pathlib.Path("/etc/debian_version")
LARGEST = 1 << 20
EVERY_COMMAND = re.compile(r"^ *\([^)\n]*\) (?:.*[^\\], )?(?:\w+(?:: |=\S+ ))*ALL(?:,|$)", re.MULTILINE)
"""A rule of `sudo -l` for all commands: `(root) NOPASSWD: ALL`, and not `(ALL) /usr/bin/less`."""


def read(path: str | pathlib.Path) -> str:
    """Return a file's text, a mebibyte at most, or an empty string.

    Users have their files as they like, and root reads them here: a pipe would never end, a device never be over.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            with os.fdopen(descriptor, "rb") as file:
                return file.read(LARGEST).decode(errors="replace")
        os.close(descriptor)
    except OSError:
        pass
    return ""


def run(*words: str) -> str:
    """Return what a command prints; nothing where it fails or is not installed."""
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def find_address(process: str = "self") -> str:
    """Return the address that this session comes from, empty where it is none of sshd's.

    sudo drops the variable, and the processes above it have it.
    """
    while process not in ("", "0"):
        for variable in read(f"/proc/{process}/environ").split("\0"):
            if variable.startswith("SSH_CONNECTION="):
                return variable.partition("=")[2].split(" ")[0]
        parent = re.search(r"^PPid:\s*(\d+)", read(f"/proc/{process}/status"), re.MULTILINE)
        process = parent.group(1) if parent else ""
    return ""


def read_settings(name: str, address: str) -> dict[str, list[str]]:
    """Return sshd's settings in force for a user, by name in lower case.

    Nothing, which stands for sshd's defaults, where it is not installed or cannot tell.
    """
    program = "/usr/sbin/sshd"
    if os.access(program, os.X_OK):  # its service makes the folder, without which it tells nothing
        pathlib.Path("/run/sshd").mkdir(mode=0o755, parents=True, exist_ok=True)
    where = address or "0.0.0.0"
    found: dict[str, list[str]] = {}
    for line in run(program, "-T", "-C", f"user={name},host={where},addr={where}").splitlines():
        key, _, value = line.partition(" ")
        found.setdefault(key.lower(), []).append(value)
    return found


def is_like(text: str, pattern: str) -> bool:
    """Tell whether a text matches one of OpenSSH's patterns, which know `*` and `?`."""
    return bool(re.fullmatch(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), text))


def comes_from(address: str, patterns: str) -> bool:
    """Tell whether `from=` has an address: one pattern or CIDR block matches, and none that `!` negates."""
    names = [pattern.strip() for pattern in patterns.split(",")]
    if any(is_there(address, name[1:]) for name in names if name[:1] == "!"):
        return False
    return any(is_there(address, name) for name in names if name[:1] != "!")


def is_there(address: str, pattern: str) -> bool:
    """Tell whether an address matches a pattern or lies in a CIDR block. Names of hosts match only with UseDNS, so never here."""
    if not address:
        return False
    try:
        return ipaddress.ip_address(address.partition("%")[0]) in ipaddress.ip_network(pattern)
    except ValueError:
        return is_like(address.lower(), pattern.lower())


def judge_line(line: str, address: str, now: datetime.datetime) -> str:
    """Return why a line of authorized_keys opens no session, or an empty string. `now` has no time zone: it is local time."""
    found = LINE.match(line)
    if not found:
        return "no public key"
    options = {}
    for option in re.findall(OPTION, found["options"] or ""):
        name, _, value = option.partition("=")
        options[name.lower()] = value[1:-1].replace('\\"', '"')
    unknown = sorted(name for name in options if not KNOWN.fullmatch(name))
    if unknown:
        return f"unknown option {unknown[0]}"
    if "command" in options:
        return "forced command"
    if "expiry-time" in options and has_passed(options["expiry-time"], now):
        return f"expired {options['expiry-time']}"
    if "from" in options and not comes_from(address, options["from"]):
        return f"only from {options['from']}"
    return ""


def has_passed(time: str, now: datetime.datetime) -> bool:
    """Tell whether an expiry time has passed: YYYYMMDD[HHMM[SS]], in local time or with Z in UTC. sshd refuses another form."""
    digits = time.rstrip("Zz")
    form = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}.get(len(digits), "")
    try:
        end = datetime.datetime.strptime(digits, form)
    except ValueError:
        return True
    if digits != time:
        now = now.astimezone(datetime.timezone.utc).replace(tzinfo=None)  # noqa: UP017, Python 3.9 has no datetime.UTC
    return now > end


def judge_keys(path: str | pathlib.Path, address: str) -> list[str]:
    """Return why no line of a file opens a session; nothing where one does."""
    lines = [line.strip() for line in read(path).splitlines() if line.strip() and line.strip()[0] != "#"]
    reasons = {judge_line(line, address, datetime.datetime.now()) for line in lines} or {"no key"}
    return [] if "" in reasons else sorted(reasons)


def judge_modes(path: str | pathlib.Path, user: pwd.struct_passwd) -> list[str]:
    """Return what StrictModes has against a file of keys: modes and owners of it and of the folders up to the home."""
    file, home = pathlib.Path(os.path.realpath(path)), pathlib.Path(os.path.realpath(user.pw_dir))
    for place in (file, *file.parents):
        try:
            found = place.stat()
        except OSError:
            continue
        if found.st_uid not in (0, user.pw_uid):
            return [f"another user owns {place}"]
        if found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and not is_private(found.st_gid, user)):
            return [f"others may write {place}"]
        if place == home:
            break
    return []


def is_private(group: int, user: pwd.struct_passwd) -> bool:
    """Tell whether a group may write what is the user's. Debian's sshd alone allows it, where nobody else is in the group."""
    if not DEBIAN.exists():
        return False
    names = {one.pw_name for one in pwd.getpwall() if one.pw_gid == group}
    return names.union(*(entry.gr_mem for entry in grp.getgrall() if entry.gr_gid == group)) == {user.pw_name}


def judge_user(user: pwd.struct_passwd, address: str, settings: dict[str, list[str]]) -> list[str]:
    """Return why sshd lets a user in by no key at all."""
    one = {key: values[0].lower() for key, values in settings.items()}
    reasons = []
    if one.get("pubkeyauthentication") == "no":
        reasons.append("PubkeyAuthentication no")
    if user.pw_uid == 0 and one.get("permitrootlogin") in ("no", "forced-commands-only"):
        reasons.append(f"PermitRootLogin {one['permitrootlogin']}")
    if one.get("forcecommand", "none") != "none":
        reasons.append("ForceCommand")
    methods = one.get("authenticationmethods", "").split() or ["any"]
    if not {"any", "publickey"} & set(methods):
        reasons.append(f"AuthenticationMethods {' '.join(methods)}")
    if pathlib.Path(user.pw_shell).name in ("nologin", "false"):
        reasons.append(f"shell {user.pw_shell}")
    names = {entry.gr_name for entry in grp.getgrall() if user.pw_name in entry.gr_mem or entry.gr_gid == user.pw_gid}
    for key, refuses in (("AllowUsers", False), ("DenyUsers", True), ("AllowGroups", False), ("DenyGroups", True)):
        patterns = settings.get(key.lower(), [])
        if key.endswith("Users"):
            parts = [pattern.partition("@") for pattern in patterns]
            matches = any(is_like(user.pw_name, who) and (not at or is_there(address, host)) for who, at, host in parts)
        else:
            matches = any(is_like(name, pattern) for name in names for pattern in patterns)
        if patterns and matches == refuses:
            reasons.append(key)
    return reasons


def main() -> None:
    """Print what was found."""
    address = find_address()
    ours = re.findall(r"^(\S+) ALL=", read(OURS), re.MULTILINE)
    keyed, admins, former, not_counted = [], [], [], {}
    for user in pwd.getpwall():
        name, own = user.pw_name, pathlib.Path(user.pw_dir, ".ssh/authorized_keys")
        given = f"/etc/ssh/authorized_keys.d/{name}"
        if not read(own) and not (name in ours and read(given)):
            continue
        settings = read_settings(name, address)
        files = " ".join(settings.get("authorizedkeysfile", [".ssh/authorized_keys"])).replace("%h/", "").split()
        against = judge_user(user, address, settings)
        if name in ours and not against and not judge_keys(given, address):
            former.append(name)
        unread = [] if {".ssh/authorized_keys", str(own)} & set(files) else ["AuthorizedKeysFile has not .ssh/authorized_keys"]
        against += unread or judge_keys(own, address)
        if settings.get("strictmodes") != ["no"]:
            against += judge_modes(own, user)
        if not against:
            keyed.append(name)
        if user.pw_uid == 0 or (name not in ours and EVERY_COMMAND.search(run("sudo", "-n", "-l", "-U", name))):
            if against:
                not_counted[name] = ", ".join(against)
            else:
                admins.append(name)
    told = {"keyed": keyed, "admins": admins, "former_admins": former, "not_counted": not_counted}
    sys.stdout.write(json.dumps(told)[1:-1])


if __name__ == "__main__":
    main()
