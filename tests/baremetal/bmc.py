"""An emulated server and its BMC: `bmc.py FOLDER` owns one QEMU, and answers for it by IPMI or Redfish at the BMC's own address.

The machine is real QEMU and the protocols are real: pyghmi's IPMI 2.0 server (cipher suite 3), sushy-tools' Redfish over TLS with
passwords. FOLDER/machine.json describes it; FOLDER/power.log tells what its power and its boot order did, and why. Where it
names a `program`, that runs while the machine is on, instead of QEMU: for tests of the protocols alone.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

OVMF = Path("/usr/share/OVMF")


class Machine:
    """A server: off, or one running QEMU."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.told: dict[str, Any] = json.loads((folder / "machine.json").read_bytes())
        self.boot = "hd"
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._starts = 0

    def log(self, text: str) -> None:
        with (self.folder / "power.log").open("a") as log:
            log.write(f"{time.time():.1f} {text}\n")

    @property
    def is_on(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def set_boot(self, device: str) -> None:
        self.log(f"boots next from {device}")
        self.boot = device

    def switch_on(self) -> None:
        with self._lock:
            if not self.is_on:
                self._start()

    def switch_off(self) -> None:
        with self._lock:
            process, self._process = self._process, None
            if process is not None and process.poll() is None:
                self.log("switched off")
                process.kill()
                process.wait()

    def reset(self) -> None:
        with self._lock:
            self.switch_off()
            self._start()

    def _start(self) -> None:
        """Start QEMU; the network, by `network` (PXE) or `http`, comes first if it was told so, and once only."""
        boot, self.boot = self.boot, "hd"
        self._starts += 1
        monitor = self.folder / "qmp"
        monitor.unlink(missing_ok=True)
        with (self.folder / "qemu.log").open("ab") as log:
            process = subprocess.Popen(self._command(boot, monitor), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        (self.folder / "qemu.pid").write_text(str(process.pid))
        self._process = process
        self.log(f"on, boots from {boot}")
        threading.Thread(target=self._watch, args=(process, monitor), daemon=True).start()

    def _command(self, boot: str, monitor: Path) -> list[str]:
        if "program" in self.told:
            return list(self.told["program"])
        told, uefi = self.told, self.told["firmware"] == "uefi"
        disks, firmware = [], []
        for number, disk in enumerate(told["disks"]):
            place = number + (1 if boot == "hd" else 2)
            disks += ["-drive", f"if=none,id=d{number},file={self.folder}/{disk},format=raw,cache=unsafe,discard=unmap"]
            disks += ["-device", f"virtio-blk-pci,drive=d{number},serial={disk},bootindex={place}"]
        if uefi:
            variables = self.folder / "vars.fd"
            if not variables.exists():
                variables.write_bytes((OVMF / "OVMF_VARS_4M.fd").read_bytes())
            firmware = ["-drive", f"if=pflash,format=raw,readonly=on,file={OVMF}/OVMF_CODE_4M.fd"]
            firmware += ["-drive", f"if=pflash,format=raw,file={variables}"]
        if boot == "http":  # OVMF tries PXE first, unless it is told to leave that out
            firmware += [word for ip in (4, 6) for word in ("-fw_cfg", f"name=opt/org.tianocore/IPv{ip}PXESupport,string=no")]
        place = len(told["disks"]) + 1 if boot == "hd" else 1
        # OVMF has a network stack of its own; a BIOS has what the card's ROM brings, which is iPXE.
        card = f"virtio-net-pci,netdev=n0,mac={told['mac']},bootindex={place}{',romfile=' if uefi else ''}"
        return [
            *("qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi,tb-size=512", "-cpu", "max", "-smp", "2"),
            *("-m", "2048", "-nodefaults", "-display", "none", "-no-reboot"),
            *("-smbios", f"type=1,serial={told['serial']}", "-uuid", told["uuid"]),
            *("-serial", f"file:{self.folder}/console.{self._starts}.log", "-qmp", f"unix:{monitor},server=on,wait=off"),
            *firmware,
            *disks,
            *("-netdev", f"tap,id=n0,ifname={told['tap']},script=no,downscript=no", "-device", card),
            *("-device", "virtio-rng-pci"),
        ]  # fmt: skip

    def _watch(self, process: subprocess.Popen[bytes], monitor: Path) -> None:
        """Start the machine again where its system restarted it; where it switched itself off or was killed, it stays off."""
        reason = _read_end(monitor, process)
        process.wait()
        with self._lock:
            if self._process is not process:
                return
            self._process = None
            self.log(f"ended: {reason or 'killed'}")
            if reason == "guest-reset":
                self._start()


def _read_end(monitor: Path, process: subprocess.Popen[bytes]) -> str:
    """Return why QEMU ended, by its own word."""
    with socket.socket(socket.AF_UNIX) as line:
        while process.poll() is None:
            try:
                line.connect(str(monitor))
                break
            except OSError:
                time.sleep(0.1)
        try:
            file = line.makefile("rwb")
            file.write(b'{"execute": "qmp_capabilities"}\n')
            file.flush()
            for text in file:
                event = json.loads(text)
                if event.get("event") == "SHUTDOWN":
                    return str(event["data"]["reason"])
        except OSError:
            pass
    return ""


def serve_ipmi(machine: Machine) -> None:
    """Answer IPMI 2.0."""
    from pyghmi.ipmi import bmc

    class Controller(bmc.Bmc):  # type: ignore[misc]
        def get_power_state(self) -> str:
            return "on" if machine.is_on else "off"

        def power_on(self) -> None:
            machine.switch_on()

        def power_off(self) -> None:
            machine.switch_off()

        power_shutdown = power_off

        def power_reset(self) -> None:
            machine.reset()

        power_cycle = power_reset

        def get_boot_device(self) -> str:
            return machine.boot

        def set_boot_device(self, device: str) -> None:
            machine.set_boot(device)

    told = machine.told
    Controller({told["user"]: told["password"]}, address=told["bmc"], port=told.get("port", 623)).listen()


def serve_redfish(machine: Machine) -> None:
    """Answer Redfish over TLS."""
    import bcrypt
    from flask import request
    from sushy_tools.emulator import main
    from sushy_tools.emulator.resources.systems.fakedriver import FakeDriver
    from werkzeug.serving import run_simple

    told, folder = machine.told, machine.folder
    devices = {"Pxe": "network", "UefiHttp": "http", "Hdd": "hd", "None": "hd"}
    switches = {
        "On": machine.switch_on, "ForceOn": machine.switch_on, "ForceOff": machine.switch_off,
        "GracefulShutdown": machine.switch_off, "GracefulRestart": machine.reset, "ForceRestart": machine.reset,
    }  # fmt: skip

    class Driver(FakeDriver):  # type: ignore[misc]
        def get_power_state(self, identity: str) -> str:
            return "On" if machine.is_on else "Off"

        def set_power_state(self, identity: str, state: str) -> None:
            switches[state]()

        def get_boot_device(self, identity: str) -> str:
            return next(target for target, device in devices.items() if device == machine.boot)

        def set_boot_device(self, identity: str, boot_source: str) -> None:
            # sushy-tools puts Pxe in place of UefiHttp; the request has what was asked for.
            machine.set_boot(devices[request.get_json()["Boot"]["BootSourceOverrideTarget"]])

        def get_boot_mode(self, identity: str) -> str:
            return "UEFI" if told["firmware"] == "uefi" else "Legacy"

        def set_boot_mode(self, identity: str, boot_mode: str) -> None:
            machine.log(f"told to boot by {boot_mode}")

    main.fakedriver.FakeDriver = Driver
    users = folder / "users"
    users.write_text(f"{told['user']}:{bcrypt.hashpw(told['password'].encode(), bcrypt.gensalt(4)).decode()}\n")
    certificate, key = folder / "bmc.pem", folder / "bmc.key"
    subject = ["-subj", f"/CN={told['bmc']}", "-days", "2", "-newkey", "rsa:2048", "-nodes", "-x509"]
    subprocess.run(["openssl", "req", *subject, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    system = {"uuid": told["uuid"], "name": told["name"], "power_state": "Off", "nics": [{"mac": told["mac"], "ip": ""}]}
    more = {
        "SUSHY_EMULATOR_FAKE_DRIVER": True,
        "SUSHY_EMULATOR_FAKE_SYSTEMS": [system],
        "SUSHY_EMULATOR_STATE_DIR": str(folder),
        "SUSHY_EMULATOR_AUTH_FILE": str(users),
    }
    main.app.configure(extra_config=more)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    run_simple(told["bmc"], told.get("port", 443), main.app, ssl_context=context, threaded=True)


def main() -> None:
    machine = Machine(Path(sys.argv[1]))

    def stop(*_: object) -> None:
        machine.switch_off()
        os._exit(0)

    signal.signal(signal.SIGTERM, stop)
    {"ipmi": serve_ipmi, "redfish": serve_redfish}[machine.told["language"]](machine)


if __name__ == "__main__":
    main()
