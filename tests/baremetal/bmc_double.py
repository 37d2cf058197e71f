"""A double of many BMCs in one process: real HTTPS and real RMCP+ on the loopback's addresses, machines that are made up.

Redfish: TLS, service root, sessions (as many as a BMC has) and basic authentication, one system with its ports, one manager,
reset and boot order (DSP0266, DSP0268). IPMI 2.0: RAKP with HMAC-SHA1, AES-CBC-128, cipher suite 3 (13.17 to 13.32), chassis,
FRU and LAN commands. A BMC is known by the address that it is asked at, so one socket of each kind serves 127.0.0.0/8.

`python bmc_double.py` reads a line {"user", "password", "faults": {address: fault}, "ports": {"https", "ipmi"}}, prints the ports
that it has, and ends when its input does; port 0 is any. A BMC with a fault misbehaves as FAULTS says.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

FAULTS = {
    "silent": "takes a connection and never answers; by IPMI no packet is answered",
    "no json": "answers a page of HTML where a system is asked for",
    "booting": "answers every request with a page of HTML, as one that starts; the odd ones with status 404",
    "wrong json": "answers JSON that is no system: lists, numbers and nothing in each other's places",
    "full": "has no session to spare",
    "password": "has another password",
    "lossy": "carries out every order to switch power, and its answer is lost",
    "deaf": "the first order to switch power is lost on its way, the others are carried out",
    "hostile": "says serial number and model so that they harm whoever prints or keeps them",
    "deep": "answers JSON that is nested a hundred thousand deep where a system is asked for",
    "endless": "answers spaces without end where a system is asked for",
    "drip": "answers a space in a while where a system is asked for, and never comes to an end",
    "elsewhere": "leads whoever asks for a system to another BMC",
    "misplaced": "no fault of its own: it is in another machine",
    "hidden": "does not tell power, and restarts no machine that is off",
    "many": "no fault: its service has another machine's system too, and that one first",
}
HOSTILE = ("S1\r\nx,{{gpuyard-secret:ops-password}}", "\x1b]0;x\x07\x1b[31m[red]M\x9b\u202e")
"""Serial number and model: rows and a reference, escape codes of terminals, markup, a turned direction of writing."""
SESSIONS = 6
"""Sessions that a BMC has room for."""
PORTS = 2
IP_PKTINFO = 8
"""of linux/in.h; Python 3.11 does not name it"""


@dataclass
class Machine:
    """A BMC and its machine, known by the last three bytes of its address."""

    number: int
    fault: str = ""
    is_on: bool = False
    boot: str = "none"
    sessions: set[str] = field(default_factory=set)
    logins: int = 0
    boots: int = 0
    orders: int = 0
    asked: int = 0

    @property
    def serial(self) -> str:
        return {"hostile": HOSTILE[0], "misplaced": "S-other"}.get(self.fault, f"S{self.number:08}")

    @property
    def model(self) -> str:
        return HOSTILE[1] if self.fault == "hostile" else "D1"

    @property
    def chassis_serial(self) -> str:
        return f"C{self.serial[1:]}"

    @property
    def board_serial(self) -> str:
        return f"B{self.serial[1:]}"

    def mac(self, port: int) -> str:
        """Return the MAC of a port; port 0 is the BMC's own."""
        return ":".join(f"{byte:02x}" for byte in (0x02, port, *self.number.to_bytes(4, "big")))

    def order(self, kind: str) -> bool:
        """Carry out an order to switch power, each as often as it comes; return whether it is answered."""
        self.orders += 1
        if self.fault == "deaf" and self.orders == 1:
            return False
        was_on, self.is_on = self.is_on, kind not in {"ForceOff", "GracefulShutdown"}
        self.boots += self.is_on and not (was_on and kind == "On")
        return self.fault != "lossy"


class Fleet:
    """All machines, made when they are first asked."""

    def __init__(self, told: dict) -> None:
        self.user, self.password = told["user"], told["password"]
        self._faults = told["faults"]
        self._machines: dict[str, Machine] = {}

    def at(self, address: str) -> Machine:
        if address not in self._machines:
            number = int.from_bytes(socket.inet_aton(address)[1:], "big")
            self._machines[address] = Machine(number, self._faults.get(address, ""))
        return self._machines[address]


# Redfish


class Redfish:
    """One connection."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        machine = self._fleet.at(writer.get_extra_info("sockname")[0])
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode("latin-1").split("\r\n")
                method, path, _ = first.split(" ")
                headers = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in lines if line)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                if machine.fault == "silent":
                    await asyncio.sleep(3600)
                status, answer, more = self._answer(machine, method, path.rstrip("/"), headers, body)
                if machine.fault in {"endless", "drip"} and path.startswith("/redfish/v1/Systems/"):
                    writer.write(b"HTTP/1.1 200 X\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n")
                    while True:
                        writer.write(b" " * (1 << 20 if machine.fault == "endless" else 1))
                        await writer.drain()
                        await asyncio.sleep(0 if machine.fault == "endless" else 0.2)
                if not status:  # the answer is lost, and nobody hears that the line is
                    await asyncio.sleep(3600)
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode() if answer is not None else b""
                kind = "text/html" if isinstance(answer, bytes) else "application/json"
                told = [f"HTTP/1.1 {status} X", f"Content-Length: {len(data)}", f"Content-Type: {kind}", *more, "", ""]
                writer.write("\r\n".join(told).encode() + data)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            pass
        finally:
            writer.close()

    def _answer(self, machine: Machine, method: str, path: str, headers: dict, body: bytes) -> tuple:
        sessions = "/redfish/v1/SessionService/Sessions"
        if machine.fault == "booting":
            return 200 + machine.number % 2 * 204, b"<html><body>Please wait while the BMC starts</body></html>", []
        if path == "/redfish/v1":
            return 200, _root(machine), []
        if path == "/counts":  # for tests: logins that were tried, orders to switch that came, starts of the machine
            return 200, {**{name: getattr(machine, name) for name in ("logins", "boots", "orders", "asked")}}, []
        machine.asked += 1
        if (method, path) == ("POST", sessions):
            machine.logins += 1
            return self._log_in(machine, json.loads(body))
        if not self._is_in(machine, headers):
            return 401, _refuse("Base.1.0.NoValidSession", "There is no valid session."), []
        if method == "DELETE" and path.startswith(sessions):
            machine.sessions.discard(headers.get("x-auth-token", ""))
            return 204, None, []
        if method == "POST" and path.endswith("/Actions/ComputerSystem.Reset"):
            kind = json.loads(body)["ResetType"]
            if machine.fault == "hidden" and not machine.is_on and kind != "On":
                return 400, _refuse("Base.1.0.ActionNotSupported", "The machine is off."), []
            return (204 if machine.order(kind) else 0), None, []
        if method == "PATCH" and path == "/redfish/v1/Systems/1":
            machine.boot = json.loads(body)["Boot"]["BootSourceOverrideTarget"]
            return 204, None, []
        if machine.fault == "deep" and path == "/redfish/v1/Systems/1":
            return 200, b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", []
        if machine.fault == "elsewhere" and path == "/redfish/v1/Systems/1":
            place = headers["host"].replace(socket.inet_ntoa(bytes([127]) + machine.number.to_bytes(3, "big")), "127.90.0.1")
            return 307, None, [f"Location: https://{place}/redfish/v1/Systems/1"]
        if machine.fault == "no json" and path == "/redfish/v1/Systems/1":
            return 200, b"<html><body>Please wait while the BMC starts</body></html>", []
        if machine.fault == "wrong json" and path == "/redfish/v1/Systems/1":
            wrong = [{"MemorySummary": "12"}, {"Links": 4}, {"Name": None, "Id": [], "Status": "OK"}][machine.number % 3]
            return 200, {**_system(machine), **wrong}, []
        found = _resources(machine).get(path)
        return (404, _refuse("Base.1.0.ResourceMissingAtURI", path), []) if found is None else (200, found, [])

    def _log_in(self, machine: Machine, told: dict) -> tuple:
        if not self._knows(machine, told.get("UserName"), told.get("Password")):
            return 401, _refuse("Base.1.0.ResourceAtUriUnauthorized", "The user or password is wrong."), []
        if machine.fault == "full" or len(machine.sessions) >= SESSIONS:
            return 503, _refuse("Base.1.0.SessionLimitExceeded", "The session limit is exceeded."), []
        token = os.urandom(16).hex()
        machine.sessions.add(token)
        place = f"/redfish/v1/SessionService/Sessions/{len(machine.sessions)}"
        return 201, {"@odata.id": place, "Id": "1", "Name": "Session"}, [f"X-Auth-Token: {token}", f"Location: {place}"]

    def _knows(self, machine: Machine, user: object, password: object) -> bool:
        return (user, password) == (self._fleet.user, self._fleet.password) and machine.fault != "password"

    def _is_in(self, machine: Machine, headers: dict) -> bool:
        if headers.get("authorization", "").startswith("Basic "):
            machine.logins += 1
            user, _, password = base64.b64decode(headers["authorization"][6:]).decode().partition(":")
            return self._knows(machine, user, password) and machine.fault != "full"
        return headers.get("x-auth-token") in machine.sessions


def _refuse(code: str, text: str) -> dict:
    return {"error": {"code": code, "message": text, "@Message.ExtendedInfo": [{"MessageId": code, "Message": text}]}}


def _root(machine: Machine) -> dict:
    links = {name: {"@odata.id": f"/redfish/v1/{name}"} for name in ("Systems", "Managers", "SessionService")}
    sessions = {"Sessions": {"@odata.id": "/redfish/v1/SessionService/Sessions"}}
    return {"@odata.id": "/redfish/v1/", "Id": "Root", "Name": "Double", "RedfishVersion": "1.15.0", "Vendor": "Double",
            "UUID": f"00000000-0000-4000-8000-{machine.number:012}", **links, "Links": sessions}  # fmt: skip


def _system(machine: Machine) -> dict:
    kinds = ["On", "ForceOff", "GracefulShutdown", "ForceRestart", "PowerCycle"]
    target = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset"
    return {
        "@odata.id": "/redfish/v1/Systems/1", "Id": "1", "Name": "System", "UUID": _root(machine)["UUID"],
        "SerialNumber": machine.serial, "Manufacturer": "Double", "Model": machine.model, "BiosVersion": "1.0",
        "PowerState": None if machine.fault == "hidden" else ("Off", "On")[machine.is_on],
        "Status": {"Health": "OK", "State": "Enabled"},
        "MemorySummary": {"TotalSystemMemoryGiB": 2048}, "ProcessorSummary": {"Count": 2},
        "EthernetInterfaces": {"@odata.id": "/redfish/v1/Systems/1/EthernetInterfaces"},
        "Links": {"ManagedBy": [{"@odata.id": "/redfish/v1/Managers/1"}], "Chassis": [{"@odata.id": "/redfish/v1/Chassis/1"}]},
        "Boot": {"BootSourceOverrideTarget": machine.boot, "BootSourceOverrideEnabled": "Disabled",
                 "BootSourceOverrideTarget@Redfish.AllowableValues": ["None", "Pxe", "Hdd", "UefiHttp"]},
        "Actions": {"#ComputerSystem.Reset": {"target": target, "ResetType@Redfish.AllowableValues": kinds}},
    }  # fmt: skip


def _resources(machine: Machine) -> dict[str, dict]:
    found = {"/redfish/v1/Systems/1": _system(machine)}
    other = Machine(0)
    found["/redfish/v1/Systems/0"] = {
        **_system(other),
        "@odata.id": "/redfish/v1/Systems/0",
        "Id": "0",
        "EthernetInterfaces": None,
    }
    found["/redfish/v1/Systems/0/EthernetInterfaces"] = _collect("/redfish/v1/Systems/0/EthernetInterfaces", [])
    for owner, ports in (("Systems/1", range(1, PORTS + 1)), ("Managers/1", range(1))):
        place = f"/redfish/v1/{owner}/EthernetInterfaces"
        for port in ports:
            body = {"Id": f"NIC.{port}", "Name": "Port", "MACAddress": machine.mac(port)}
            found[f"{place}/{port}"] = {"@odata.id": f"{place}/{port}", **body}
        found[place] = _collect(place, ports)
    manager = {"Id": "1", "Name": "Manager", "FirmwareVersion": "2.0"}
    place = "/redfish/v1/Managers/1"
    found[place] = {"@odata.id": place, **manager, "EthernetInterfaces": {"@odata.id": f"{place}/EthernetInterfaces"}}
    place = "/redfish/v1/Chassis/1"
    boards = [("PowerSupply", "P1"), ("SystemBoard", machine.board_serial)]
    parts = [{"MemberId": str(n), "PhysicalContext": kind, "SerialNumber": serial} for n, (kind, serial) in enumerate(boards)]
    found[f"{place}/Assembly"] = {"@odata.id": f"{place}/Assembly", "Id": "Assembly", "Name": "Assembly", "Assemblies": parts}
    chassis = {"Id": "1", "Name": "Chassis", "ChassisType": "RackMount", "SerialNumber": machine.chassis_serial}
    found[place] = {"@odata.id": place, **chassis, "Assembly": {"@odata.id": f"{place}/Assembly"}}
    found["/redfish/v1/Systems"] = _collect("/redfish/v1/Systems", [0, 1] if machine.fault == "many" else [1])
    found["/redfish/v1/Managers"] = _collect("/redfish/v1/Managers", [1])
    found["/redfish/v1/SessionService"] = {
        "Sessions": {"@odata.id": "/redfish/v1/SessionService/Sessions"},
        "Id": "1",
        "Name": "S",
    }
    return found


def _collect(place: str, names) -> dict:
    members = [{"@odata.id": f"{place}/{name}"} for name in names]
    return {"@odata.id": place, "Name": "Collection", "Members": members, "Members@odata.count": len(members)}


# IPMI


@dataclass
class Session:
    """An RMCP+ session, from its opening to its end. Ids and random numbers are bytes as they are sent."""

    machine: Machine
    theirs: bytes
    random: bytes = b""
    tail: bytes = b""  # role, length of the name, name
    ours_random: bytes = field(default_factory=lambda: os.urandom(16))
    key_1: bytes = b""
    key_2: bytes = b""
    sent: int = 0


class Ipmi:
    """The UDP socket of all BMCs."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._sessions: dict[bytes, Session] = {}
        self._last = 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.socket.setblocking(False)

    def read(self) -> None:
        """Answer what is waiting; each answer comes from the address that was asked."""
        while True:
            try:
                packet, extra, _, sender = self.socket.recvmsg(2048, 256)
            except BlockingIOError:
                return
            own = extra[0][2][8:12]  # ipi_addr: where the packet went
            machine = self._fleet.at(socket.inet_ntoa(own))
            if machine.fault == "silent":
                continue
            try:
                answer = self._answer(machine, packet)
            except (IndexError, KeyError, ValueError):
                continue
            if answer:
                info = bytes(4) + own + bytes(4)
                self.socket.sendmsg([b"\x06\x00\xff\x07" + answer], [(socket.IPPROTO_IP, IP_PKTINFO, info)], 0, sender)

    def _answer(self, machine: Machine, packet: bytes) -> bytes:
        kind = packet[4]
        if kind == 0:  # before a session: who can do what
            message = self._run(machine, packet[14 : 14 + packet[13]])
            return bytes(9) + bytes([len(message)]) + message
        payload, length = packet[5] & 0x3F, int.from_bytes(packet[14:16], "little")
        body = packet[16 : 16 + length]
        steps = {0x10: (0x11, self._open), 0x12: (0x13, self._rakp_1), 0x14: (0x15, self._rakp_3)}
        if payload in steps:
            number, step = steps[payload]
            told = step(machine, body)
            return bytes([6, number]) + bytes(8) + len(told).to_bytes(2, "little") + told
        return self._talk(packet, body)

    def _open(self, machine: Machine, body: bytes) -> bytes:
        theirs = body[4:8]
        if machine.fault == "full" or sum(s.machine is machine for s in self._sessions.values()) >= SESSIONS:
            return bytes([body[0], 0x01, 0, 0]) + theirs  # insufficient resources to create a session
        if (body[12], body[20], body[28]) != (1, 1, 1):
            return bytes([body[0], 0x11, 0, 0]) + theirs  # no cipher suite match
        self._last += 1
        ours = self._last.to_bytes(4, "little")
        self._sessions[ours] = Session(machine, theirs)
        suite = b"".join(bytes([kind, 0, 0, 8, 1, 0, 0, 0]) for kind in range(3))
        return bytes([body[0], 0, 4, 0]) + theirs + ours + suite

    def _key(self, machine: Machine) -> bytes:
        return (b"another" if machine.fault == "password" else self._fleet.password.encode()).ljust(20, b"\0")

    def _rakp_1(self, machine: Machine, body: bytes) -> bytes:
        session = self._sessions[body[4:8]]
        session.random, session.tail = body[8:24], body[24:25] + body[27:]
        told = session.theirs + body[4:8] + session.random + session.ours_random + _guid(machine) + session.tail
        if body[28 : 28 + body[27]].decode() != self._fleet.user:
            return bytes([body[0], 0x0D, 0, 0]) + session.theirs  # unauthorized name
        return bytes([body[0], 0, 0, 0]) + session.theirs + session.ours_random + _guid(machine) + _sha1(self._key(machine), told)

    def _rakp_3(self, machine: Machine, body: bytes) -> bytes:
        session = self._sessions[body[4:8]]
        key = self._key(machine)
        if body[1] or not hmac.compare_digest(body[8:28], _sha1(key, session.ours_random + session.theirs + session.tail)):
            del self._sessions[body[4:8]]
            return bytes([body[0], 0x0F, 0, 0]) + session.theirs  # invalid integrity check value
        sik = _sha1(key, session.random + session.ours_random + session.tail)
        session.key_1, session.key_2 = _sha1(sik, b"\x01" * 20), _sha1(sik, b"\x02" * 20)
        check = _sha1(sik, session.random + body[4:8] + _guid(machine))[:12]
        return bytes([body[0], 0, 0, 0]) + session.theirs + check

    def _talk(self, packet: bytes, body: bytes) -> bytes:
        """Take an encrypted message and answer it (13.28, 13.29: AES-CBC-128; 13.28.4: HMAC-SHA1-96)."""
        ours = packet[6:10]
        session = self._sessions[ours]
        if not hmac.compare_digest(packet[-12:], _sha1(session.key_1, packet[4:-12])[:12]):
            return b""
        clear = _aes(session.key_2, body[:16]).decryptor().update(body[16:])
        message = clear[: -1 - clear[-1]]
        answer = self._run(session.machine, message)
        if not answer:
            return b""
        if message[5] == 0x3C:  # close session
            self._sessions.pop(ours, None)
        count = -(len(answer) + 1) % 16
        iv = os.urandom(16)
        sealed = iv + _aes(session.key_2, iv).encryptor().update(answer + bytes(range(1, count + 1)) + bytes([count]))
        session.sent += 1
        head = bytes([6, 0xC0]) + session.theirs + session.sent.to_bytes(4, "little") + len(sealed).to_bytes(2, "little")
        pad = -(len(head) + len(sealed) + 2) % 4
        whole = head + sealed + b"\xff" * pad + bytes([pad, 7])
        return whole + _sha1(session.key_1, whole)[:12]

    def _run(self, machine: Machine, message: bytes) -> bytes:
        data = _command(machine, message[1] >> 2, message[5], message[6:-1])
        if not data:
            return b""
        head = bytes([message[3], (message[1] & 0xFC) + 4])
        tail = bytes([message[0], message[4], message[5]]) + data
        return head + bytes([-sum(head) & 0xFF]) + tail + bytes([-sum(tail) & 0xFF])


def _command(machine: Machine, group: int, command: int, data: bytes) -> bytes:
    """Return completion code and data of a command; C1h for one that this BMC lacks."""
    match group, command:
        case 0x06, 0x38:  # channel authentication capabilities: IPMI 2.0 alone
            return bytes([0, 1, 0x80, 0x04, 0x02, 0, 0, 0, 0])
        case 0x06, 0x01:  # device id
            return bytes([0, 0x20, 1, 2, 0x01, 2, 0x8F, 0, 0, 0, 0, 1])
        case 0x06, 0x3B:
            return bytes([0, data[0]])
        case 0x06, 0x3C:
            return b"\0"
        case 0x06, 0x42:  # channel info: LAN
            return bytes([0, 1, 4, 1, 0x80, 0xF2, 0x1B, 0, 0, 0])
        case 0x00, 0x01:
            return bytes([0, int(machine.is_on), 0, 0])
        case 0x00, 0x02:
            kinds = {0: "ForceOff", 1: "On", 2: "PowerCycle", 3: "ForceRestart", 5: "GracefulShutdown"}
            return b"\0" if machine.order(kinds[data[0] & 0x0F]) else b""
        case 0x00, 0x08:
            if data[0] & 0x7F == 5:
                machine.boot = {1: "Pxe", 2: "Hdd"}.get(data[2] >> 2 & 0x0F, "None")
            return b"\0"
        case 0x0A, 0x10:
            return b"\0" + len(_fru(machine)).to_bytes(2, "little") + b"\0"
        case 0x0A, 0x11:
            at = int.from_bytes(data[1:3], "little")
            piece = _fru(machine)[at : at + min(data[3], 16)]
            return bytes([0, len(piece)]) + piece
        case 0x0C, 0x02 if data[1] == 5:
            return bytes([0, 0x11]) + bytes.fromhex(machine.mac(0).replace(":", ""))
        case 0x0C, 0x02:
            return b"\x80"
    return b"\xc1"


def _fru(machine: Machine) -> bytes:
    """Return a FRU with areas for chassis, board and product (Platform Management FRU, 8 and 10 to 12)."""
    chassis = _area(bytes([1, 0, 0x17]), ("", machine.chassis_serial))  # a rack mount chassis
    board = _area(bytes([1, 0, 25, 0, 0, 0]), ("Double", "D1-board", machine.board_serial, "", ""))
    product = _area(bytes([1, 0, 25]), ("Double", machine.model, "", "", machine.serial, "", ""))
    places = [1, 1 + len(chassis) // 8, 1 + (len(chassis) + len(board)) // 8]  # in units of eight bytes
    head = bytes([1, 0, *places, 0, 0])
    return head + bytes([-sum(head) & 0xFF]) + chassis + board + product


def _area(head: bytes, texts: tuple[str, ...]) -> bytes:
    body = head + b"".join(bytes([0xC0 | len(text)]) + text for text in (text.encode("latin-1", "ignore") for text in texts))
    body += b"\xc1"
    body = body.ljust(-(-(len(body) + 1) // 8) * 8 - 1, b"\0")
    body = body[:1] + bytes([(len(body) + 1) // 8]) + body[2:]
    return body + bytes([-sum(body) & 0xFF])


def _guid(machine: Machine) -> bytes:
    return machine.number.to_bytes(16, "big")


def _sha1(key: bytes, text: bytes) -> bytes:
    return hmac.new(key, text, hashlib.sha1).digest()


def _aes(key: bytes, iv: bytes) -> Cipher:
    return Cipher(algorithms.AES(key[:16]), modes.CBC(iv))


# Both


def _make_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        pair, key = f"{folder}/pair", f"{folder}/key"
        words = [
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-subj",
            "/CN=double",
            "-days",
            "2",
        ]
        subprocess.run(["openssl", "req", *words, "-keyout", key, "-out", pair], check=True, capture_output=True)
        context.load_cert_chain(pair, key)
    return context


async def _main() -> None:
    loop = asyncio.get_running_loop()
    told = json.loads(sys.stdin.readline())
    fleet, ports = Fleet(told), told.get("ports", {"https": 0, "ipmi": 0})
    server = await asyncio.start_server(Redfish(fleet).serve, "0.0.0.0", ports["https"], ssl=_make_context(), backlog=1024)
    ipmi = Ipmi(fleet)
    ipmi.socket.bind(("0.0.0.0", ports["ipmi"]))
    loop.add_reader(ipmi.socket, ipmi.read)
    print(json.dumps({"https": server.sockets[0].getsockname()[1], "ipmi": ipmi.socket.getsockname()[1]}), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    os._exit(0)


@contextmanager
def run_doubles(user: str, password: str, faults: dict[str, str]):
    """Yield (process, HTTPS port, IPMI port) of BMC doubles at every address of 127.0.0.0/8; `faults` are FAULTS by address."""
    from tests.slowness import stretch  # the double itself runs as a script, which has no such package

    assert set(faults.values()) <= FAULTS.keys()
    process = subprocess.Popen([sys.executable, str(Path(__file__))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin and process.stdout
    try:
        process.stdin.write(json.dumps({"user": user, "password": password, "faults": faults}) + "\n")
        process.stdin.flush()
        ports = json.loads(process.stdout.readline())
        yield process, ports["https"], ports["ipmi"]
    finally:
        process.stdin.close()
        process.wait(stretch(30))
        process.stdout.close()


if __name__ == "__main__":
    asyncio.run(_main())
