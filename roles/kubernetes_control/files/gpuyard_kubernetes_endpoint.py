"""Keep the API server's address on the loopback of this control server as long as its API server is ready.

The network plug-in tells leafs of the loopback's addresses: whoever has this one gets requests for it. Arguments: the address
without its length, and the port of the API server. Runs until it is killed; the unit takes the address away then, since a signal
to the unit ends programs that this one has started as well. Python 3.9 suffices.
"""

from __future__ import annotations

import http.client
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from typing import Any

INTERVAL_S = 3
"""Between two checks. An API server that is not ready is noticed after two: our choice, as keepalived's and HAProxy's are."""
LIMIT_S = 3
"""For a check as a whole, whatever the API server says meanwhile."""
FALL, RISE = 2, 2
LABEL = "lo:api"
"""Of the address, by which it is found again: the plan may have another one by then."""


class TooLateError(Exception):
    """The API server took too long."""


def main(address: str, port: str) -> None:
    """Check, and have the address or not have it, until killed."""
    signal.signal(signal.SIGALRM, _stop)
    is_ready: bool | None = None
    count = rounds = 0
    is_told = False
    while True:
        try:
            why = ask(int(port))
        except TooLateError:
            why = f"no answer in {LIMIT_S} s"
        count = count + 1 if bool(why) == is_ready else 0
        if is_ready is None or count >= (FALL if why else RISE):
            is_ready, count = not why, 0
            say(f"{address} is {'' if is_ready else 'not '}on this server: its API server {'is ready' if is_ready else why}")
        # Each time, since what configures networks may have taken away what it does not know.
        keep(address, is_ready)
        rounds += 1
        # Whoever restarts this on all servers goes on then: with the address there, or where it cannot be.
        if not is_told and (is_ready or rounds > FALL + RISE):
            tell_systemd("READY=1")
            is_told = True
        tell_systemd("WATCHDOG=1")
        time.sleep(INTERVAL_S)


def ask(port: int) -> str:
    """Return why the API server here is not ready; empty where it is. Nobody else listens here, so certificates do not matter.

    Raises:
        TooLateError: it did not answer in time.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    try:
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=LIMIT_S, context=context)
        try:
            connection.request("GET", "/readyz")
            status = connection.getresponse().status
            return "" if status == 200 else f"answers {status}"
        finally:
            connection.close()
    except (OSError, http.client.HTTPException) as error:
        return f"does not answer: {error}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def keep(address: str, wanted: bool) -> None:
    """Have the address, or have none.

    Raises:
        SystemExit: it may be there still, and shall not: the unit, which is systemd's own, takes it away.
    """
    shown = ip("-oneline", "-4", "address", "show", "dev", "lo", "label", LABEL)
    if shown is None and not wanted:
        raise SystemExit(1)
    if wanted and f" {address}/32 " not in (shown or ""):
        ip("address", "replace", f"{address}/32", "dev", "lo", "label", LABEL)
    if not wanted and shown and ip("-4", "address", "flush", "dev", "lo", "label", LABEL) is None:
        raise SystemExit(1)


def ip(*words: str) -> str | None:
    """Return what `ip` prints; None where it failed, which is told."""
    try:
        done = subprocess.run(("ip", *words), capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        say(str(error))
        return None
    if done.returncode:
        say(f"ip {' '.join(words)}: {done.stderr.strip()}")
        return None
    return done.stdout


def tell_systemd(text: str) -> None:
    """Tell systemd how it is; nothing where it did not start this."""
    if place := os.environ.get("NOTIFY_SOCKET"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
            to.sendto(text.encode(), place.replace("@", "\0", 1) if place.startswith("@") else place)


def say(text: str) -> None:
    """Write to the journal."""
    sys.stderr.write(text + "\n")


def _stop(*_: Any) -> None:
    raise TooLateError


if __name__ == "__main__":
    main(*sys.argv[1:])
