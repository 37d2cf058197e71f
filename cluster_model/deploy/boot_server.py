"""The boot server: who asks is told what to boot; docs/boot.md has the requests. It writes the journal and nothing else."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets as randomness
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cluster_model.catalogue.load import load_catalogue
from cluster_model.deploy.boot_files import LOADERS, NAME, BootFiles, BootTree, Token
from cluster_model.deploy.boot_gate import Quota
from cluster_model.deploy.journal import Journal, Node
from cluster_model.intent.source.hardware_addresses import parse_mac
from cluster_model.transport.bmc.controller import NO_SERIAL
from cluster_model.transport.gear_text import clean_line

TOKEN_S = 2 * 3600
"""Seconds that a token is good for."""
_STATES = {"installing", "installed", "failed"}
_WORTHLESS = "the token is not good, or not from here"
_ITEMS = 256
_DEPTH = 5


class Refusal(Exception):  # noqa: N818
    """An answer other than a file: HTTP status and one line of text."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class BootDesk:
    """What the boot server decides, apart from HTTP: a request comes in as its parts, a text or a path goes out.

    What a machine can have written down without a token is limited, and may be lost (`_note`). What makes an answer safe to give
    is written down first, or the answer is not given.
    """

    def __init__(self, files: BootFiles, journal: Journal, clock: Callable[[], float] = time.time) -> None:
        self.files = files
        self.journal = journal
        self._clock = clock
        self._platforms = load_catalogue()[0].platforms
        self._notes = Quota(60, 10.0)
        self._strangers_notes = Quota(200, 5.0)
        self._unready = Quota(1, 600.0)
        self._tokens = Quota(20, 15.0)
        self._reports = Quota(60, 5.0)

    def is_planned(self, address: str) -> bool:
        """Return whether an address belongs to a host or a switch of the plan."""
        tree = self.files.last
        return address in tree.by_address or address in tree.switches_by_address

    def first(self) -> str:
        """Return the first script, the same for every machine."""
        return self.files.look().read("boot/ipxe/boot.ipxe")

    def boot(self, mac_text: str, query: Mapping[str, str], address: str) -> str:
        """Return the script for a machine that asks what to boot."""
        tree, mac = self.files.look(), parse_mac(mac_text.replace("-", ":")) or ""
        name = tree.by_mac.get(mac, "")
        serial = query.get("serial", "").strip()
        if not name:
            self._note("", "stranger", address, mac=mac or clean_line(mac_text, 40), serial=clean_line(serial, 80))
            return tree.read("boot/ipxe/unknown.ipxe")
        host, node = tree.index["hosts"][name], self.journal.node(name)
        if not node.offered:
            self._note(name, "served", address, what="local")
            return tree.read("boot/ipxe/local.ipxe")
        refusal = _explain_stranger(host, serial, address)
        if refusal:
            self._note(name, "refused", address, what="script", reason=refusal)
            return tree.read("boot/ipxe/unknown.ipxe")
        if not self._tokens.take(name):
            raise Refusal(429, "asked too often")
        value = randomness.token_hex(32)
        filled = self.files.fill(tree, f"boot/ipxe/hosts/{name}.ipxe", Token(name, value))
        local = tree.read("boot/ipxe/local.ipxe")
        # The journal is read by people and programs: it has what proves a token, not the token.
        self.journal.write(name, "token", sha256=_digest(value), made=self._clock())
        self.journal.write(name, "booted", state="booted", address=address, serial=clean_line(serial, 80))
        # `provision` may have given the node up in between, and is told of no token that came after.
        return filled if self.journal.node(name).offered else local

    def host(self, name: str, token: str, address: str) -> str:
        """Return who a host is, for its installer."""
        tree = self.files.look()
        node = self._require(tree, name, token, address)
        document = json.loads(self.files.fill(tree, f"boot/hosts/{name}.json", Token(name, token)))
        document |= {"reinstall": node.reinstall, "resumed": node.touched and not node.installed}
        self._note(name, "served", address, what="identity")
        return json.dumps(document, indent=1)

    def autoinstall(self, name: str, token: str, file: str, address: str) -> str:
        """Return one of the installer's answer files."""
        tree = self.files.look()
        self._require(tree, name, token, address)
        if file not in {"user-data", "meta-data", "vendor-data"}:
            raise Refusal(404, "no such file")
        text = self.files.fill(tree, f"boot/autoinstall/{name}/{file}", Token(name, token))
        self._note(name, "served", address, what=file)
        return text

    def report(self, name: str, token: str, body: bytes, address: str) -> None:
        """Take a report: what it is judged by, and its place among what else happens to the host, are of one moment."""
        tree = self.files.look()
        self._require(tree, name, token, address)
        try:
            report = json.loads(body)
        except (ValueError, RecursionError):
            raise Refusal(400, "the report is no JSON") from None
        state = report.get("state") if isinstance(report, dict) else None
        if not isinstance(state, str) or state not in _STATES:
            raise Refusal(400, f"state is one of {', '.join(sorted(_STATES))}")
        if not self._reports.take(name):
            raise Refusal(429, "reported too often")
        facts = report.get("facts")
        more: dict[str, Any] = {"facts": _clean_facts(facts)} if isinstance(facts, dict) else {}
        message = clean_line(str(report.get("message", "")), 500)
        if state == "failed":
            more["reason"] = message or "the installer failed and gave no reason"
        step = clean_line(str(report.get("step", "")), 40)
        more |= {"state": state, "step": step, "message": message, "address": address}

        def judge(node: Node) -> Mapping[str, Any]:
            if not self._is_good(tree, node, token, address):
                raise Refusal(403, _WORTHLESS)
            return {"attempt": node.attempt}

        try:
            self.journal.write(name, "report", judge=judge, **more)
        except Refusal:
            self._note(name, "refused", address, what="token")
            raise

    def tell_served(self, path: Path, offset: int, size: int, address: str) -> None:
        """Write down that a host fetches its loader, or goes on with a download in the middle."""
        if offset or path.name in LOADERS:
            name = self.files.last.by_address.get(address, "")
            self._note(name, "served", address, what=path.name, offset=offset, bytes=size)

    def tell_unready(self, what: str, reason: str, address: str) -> bool:
        """Write down why a device got no file, since it tells nobody; return whether that is news.

        It asks again every few seconds: of one tree, the same reason is news to the same device once in a while.
        """
        tree = self.files.last
        name = tree.by_address.get(address) or tree.switches_by_address.get(address, "")
        if not self._unready.take(f"{tree.mark} {name} {reason}"):
            return False
        self._note(name, "refused", address, what=clean_line(what, 40), reason=reason)
        return True

    def ztp(self, names: list[str], headers: Mapping[str, str], address: str) -> str:
        """Return a file of the switch that asks, known by address and serial number; or a script that all switches may have."""
        tree = self.files.look()
        device = tree.switches_by_address.get(address)
        if device is None:
            raise Refusal(403, "only switches of the plan, from their own addresses")
        if len(names) != 1 or not NAME.fullmatch(names[0]):
            raise Refusal(404, "no such file")
        own, common = f"switches/{device}/{names[0]}", f"boot/ztp/{names[0]}"
        if tree.has(own):
            switch = tree.index["switches"][device]
            refusal = _explain_serial(switch, headers.get(self._name_serial_header(switch.get("nos", "")), ""))
            if refusal:
                self._note(device, "refused", address, what=names[0], reason=refusal)
                raise Refusal(403, refusal)
            text = self.files.fill(tree, own)
        elif tree.has(common):
            text = self.files.fill(tree, common)
        else:
            raise Refusal(404, "no such file")
        self._note(device, "served", address, what=names[0])
        return text

    def _name_serial_header(self, nos: str) -> str:
        """Return the header in which a system tells its serial number while it provisions itself; empty where it tells none.

        A MAC that it tells beside it (X-Arista-SystemMAC) is not that of the management port, which is all that the plan knows.
        """
        platform = self._platforms.get(nos)
        return platform.ztp.serial_header if platform and platform.ztp else ""

    def _require(self, tree: BootTree, name: str, token: str, address: str) -> Node:
        """Return a host that the token is good for, from the address that it has."""
        node = self.journal.node(name)
        if not self._is_good(tree, node, token, address):
            self._note(name if name in tree.index["hosts"] else "", "refused", address, what="token")
            raise Refusal(403, _WORTHLESS)
        return node

    def _is_good(self, tree: BootTree, node: Node, token: str, address: str) -> bool:
        host = tree.index["hosts"].get(node.name)
        good = bool(node.token) and hmac.compare_digest(node.token, _digest(token))
        return host is not None and good and self._clock() - node.token_at <= TOKEN_S and bool(host["address"] == address)

    def _note(self, name: str, event: str, address: str, **more: Any) -> None:
        """Write down what may be lost; so much of an address, and of all strangers together, as cannot fill a disk."""
        if self._notes.take(address) and (self.is_planned(address) or self._strangers_notes.take("")):
            self.journal.note(name, event, **more, address=address)


def _explain_stranger(host: Mapping[str, Any], serial: str, address: str) -> str:
    if address != host["address"]:
        return f"it asks from {address}, not from {host['address']}"
    return _explain_serial(host, serial)


def _explain_serial(planned: Mapping[str, Any], serial: str) -> str:
    """Return why a machine is not the planned one by its serial number; empty where it is, or the plan knows none."""
    known, told = str(planned.get("serial") or "").strip(), serial.strip()
    if not known or told == known:
        return ""
    if told.lower() in NO_SERIAL:
        return f"it tells no serial number, and the plan has {known}"
    return f"its serial number is {clean_line(told, 80)}, not {known}"


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def _clean_facts(found: Any, depth: int = 0) -> Any:
    """Return facts with printable texts of bounded length, and no more of them than a server has parts."""
    if isinstance(found, dict) and depth < _DEPTH:
        return {clean_line(key, 80): _clean_facts(value, depth + 1) for key, value in list(found.items())[:_ITEMS]}
    if isinstance(found, list) and depth < _DEPTH:
        return [_clean_facts(value, depth + 1) for value in found[:_ITEMS]]
    return found if found is None or isinstance(found, bool | int | float) else clean_line(str(found), 1000)
