"""One question to many hosts at once, by pyinfra: hundreds of sessions in one process, and nothing is changed on a host.

pyinfra's sessions are greenlets: importing this module's work patches the process for gevent, so a command either sweeps or opens
sessions of its own in threads, never both.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster_model.transport.host_keys import read_trust
from cluster_model.transport.session import Login, Target, shorten

SSH_PORT = 22


@dataclass(frozen=True, slots=True)
class Reply:
    """What a host printed, and its standard error; `reason` says why it did not, and is empty where it did.

    It took `seconds` and came `at` (epoch, s).
    """

    name: str
    text: str
    reason: str
    seconds: float
    at: float = 0.0


def sweep(
    targets: Sequence[Target], script: str, login: Login, parallel: int, progress: Callable[[Reply], None] | None = None
) -> dict[str, Reply]:
    """Run a Python script on hosts, on its standard input, and return what each printed.

    Args:
        targets: the hosts.
        script: text of the script, for the host's python3.
        login: how to log in; agent, keys and ssh_config as paramiko understands them.
        parallel: hosts at once.
        progress: told of each reply as it comes.

    Returns:
        Replies by name, in the order of `targets`.
    """
    from gevent import monkey

    monkey.patch_all()
    import gevent
    from gevent.pool import Pool
    from pyinfra.api.config import Config
    from pyinfra.api.inventory import Inventory
    from pyinfra.api.state import State

    hub = gevent.get_hub()
    hub.NOT_ERROR = (*hub.NOT_ERROR, KeyboardInterrupt)  # gevent would print Ctrl-C where it meets it, before it raises it here

    with suppress(OSError):  # for known_hosts; OpenSSH makes it too, and pyinfra fails without it
        (Path.home() / ".ssh").mkdir(mode=0o700, exist_ok=True)
    logging.getLogger("pyinfra").setLevel(logging.CRITICAL)
    logging.getLogger("paramiko").setLevel(logging.CRITICAL)
    hosts = [(target.name, _describe(target, login)) for target in targets]
    state = State(Inventory((hosts, {})), Config(PARALLEL=parallel, CONNECT_TIMEOUT=max(1, round(login.connect_s))))

    def work(target: Target) -> Reply:
        begun, text, reason = time.monotonic(), "", ""
        try:
            with gevent.Timeout(login.connect_s * 3 + login.answer_s, TimeoutError("no answer in time")):
                text, reason = _ask(state.inventory.get_host(target.name), script, login)
        except (Exception, gevent.Timeout) as error:
            late = isinstance(error, TimeoutError) and not str(error)
            reason = "no answer in time" if late else _explain(shorten(error))
        return Reply(target.name, text, reason, round(time.monotonic() - begun, 3), time.time())

    found: dict[str, Reply] = {}
    for reply in Pool(parallel).imap_unordered(work, targets):
        found[reply.name] = reply
        if progress:
            progress(reply)
    return {target.name: found[target.name] for target in targets}


def _explain(reason: str) -> str:
    """Return a reason, that of a host key in the words of other sessions."""
    if "No host key for" in reason:
        return "its host key is not in known_hosts"
    if "Host key for" in reason and "does not match" in reason:
        return "its host key is another one than in known_hosts"
    return reason


def _describe(target: Target, login: Login) -> dict[str, Any]:
    return {
        "ssh_hostname": target.address,
        **({"ssh_port": target.port} if target.port != SSH_PORT else {}),  # which would win over the configuration's
        **({"ssh_user": login.user} if login.user else {}),
        **({"ssh_key": str(login.key)} if login.key else {}),
        **({"ssh_config_file": str(login.ssh_config)} if login.ssh_config else {}),
        "ssh_strict_host_key_checking": read_trust(login, target.address)[0],
        "ssh_paramiko_connect_kwargs": {"banner_timeout": login.connect_s, "auth_timeout": login.connect_s},
    }


def _ask(host: Any, script: str, login: Login) -> tuple[str, str]:
    """Return what the script printed on a host, or why not."""
    host.connect(show_errors=False, raise_exceptions=True)
    try:
        done, output = host.run_shell_command("python3 -", _stdin=script, _timeout=round(login.answer_s), print_output=False)
    finally:
        host.disconnect()
    if done:
        return output.stdout, ""
    return "", shorten(output.stderr) or "python3 failed and said nothing"
