"""Who answers at an address: a BMC shows what it speaks to anybody who asks, before any login."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import IPv4Network
from typing import Any

from cluster_model.transport.bmc.deadline import cut_after
from cluster_model.transport.gear_text import clean_line

_ASK_IPMI = bytes.fromhex("0600ff07000000000000000000092018c88100388e04b5")
"""Get Channel Authentication Capabilities for this channel, administrator (IPMI 2.0, 13.6 and 22.13)."""


@dataclass(frozen=True, slots=True)
class Answerer:
    """What an address answers: Redfish's version, vendor and UUID, and whether IPMI answers."""

    name: str
    address: str
    redfish: str = ""
    vendor: str = ""
    uuid: str = ""
    ipmi: bool = False

    @property
    def answers(self) -> bool:
        """Return whether anybody is there."""
        return bool(self.redfish) or self.ipmi


def probe(name: str, address: str, timeout_s: float = 3.0, *, redfish_port: int = 443, ipmi_port: int = 623) -> Answerer:
    """Return what answers at an address; asks nothing that needs a login."""
    root = _ask_redfish(address, redfish_port, timeout_s)
    makers = root.get("Oem")
    return Answerer(
        name,
        address,
        clean_line(str(root.get("RedfishVersion") or ("unknown version" if root else "")), 64),
        clean_line(str(root.get("Vendor") or (next(iter(makers), "") if isinstance(makers, dict) else "")), 64),
        clean_line(str(root.get("UUID") or ""), 64),
        answers_ipmi(address, ipmi_port, timeout_s),
    )


def list_addresses(prefix: IPv4Network) -> list[str]:
    """Return the host addresses of a prefix."""
    return [str(address) for address in prefix.hosts()]


def _ask_redfish(address: str, port: int, timeout_s: float) -> dict[str, Any]:
    # Nothing secret is sent, so the certificate does not matter yet.
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    line = http.client.HTTPSConnection(address, port, timeout=timeout_s, context=context)
    try:
        line.connect()
        held = line.sock  # http.client forgets it once the head of the last answer is there
        with cut_after(2 * timeout_s, lambda: held):
            line.request("GET", "/redfish/v1/", headers={"Accept": "application/json"})
            answer = line.getresponse()
            found = json.loads(answer.read(1_000_000)) if answer.status == HTTPStatus.OK else None
    except (OSError, ValueError, http.client.HTTPException, RecursionError):
        return {}
    finally:
        line.close()
    return found if isinstance(found, dict) and ("RedfishVersion" in found or "@odata.id" in found) else {}


def answers_ipmi(address: str, port: int, timeout_s: float) -> bool:
    """Return whether anybody speaks IPMI there, before any login."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.settimeout(timeout_s / 2)
        for _ in range(2):  # a datagram may be lost
            with contextlib.suppress(OSError):
                line.sendto(_ASK_IPMI, (address, port))
                answer, (sender, _) = line.recvfrom(512)
                if sender == address and answer[:1] == b"\x06":
                    return True
    return False
