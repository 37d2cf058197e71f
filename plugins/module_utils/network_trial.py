# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A network configuration on trial: looked at, applied with the way back armed, confirmed. It runs on the hosts.

/var/lib/gpuyard/host-network holds `former/` (what the files replaced), `pending` (the way back, while the trial lasts), `apply`
(the way there), `applied` (when it was gone), and after the end `confirmed` or `reverted`, which `pending` becomes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from ansible_collections.gpuyard.cluster.plugins.module_utils.file_set import Change, find_paths, plan_changes, write_changes
from ansible_collections.gpuyard.cluster.plugins.module_utils.links import (
    Nic,
    find_ssh_address,
    has_carrier,
    list_addresses,
    list_default_routes,
    list_nics,
    list_rules,
    list_without_broadcast,
)

STATE = "/var/lib/gpuyard/host-network"
PENDING, FORMER = f"{STATE}/pending", f"{STATE}/former"
REVERT = "gpuyard-host-network-revert"
NETWORKD = "/etc/systemd/network"
OURS = [f"{NETWORKD}/10-gpuyard-*", f"{NETWORKD}/10-netplan-*.network.d/10-gpuyard-*.conf", "/etc/netplan/10-gpuyard.yaml"]
READ_S = 60
REPLACED = ".replaced-by-gpuyard"
OTHERS = {"networking.service": "", "NetworkManager.service": "stop"}
"""Other programs that keep the network, and what else than being disabled befalls them: ifupdown would take addresses along."""
SYSCTL = "/etc/sysctl.d/90-gpuyard-network.conf"


class RefusedError(Exception):
    """A configuration that is not applied, or did not hold; the text is a sentence for a person."""


class Trial:
    """What a configuration would change on this host."""

    def __init__(
        self, wanted: dict[str, Any], backend: str, allow_address_change: bool, revert_s: int, module: Any = None
    ) -> None:
        """Look at the host. Raises RefusedError with all that is in the way."""
        self.wanted = wanted
        self.module = module
        self.backend = backend if backend != "auto" else find_backend()
        self.revert_s = revert_s
        program = {"networkd": "networkctl", "netplan": "netplan"}[self.backend]
        if not shutil.which(program):
            raise RefusedError(
                f"{program} is not installed, and the network is to be kept by {self.backend}; nothing was changed. "
                f"fix: install it, or set host_network_backend to what the host has"
            )
        if Path(PENDING).exists():
            raise RefusedError(
                "a network configuration is on trial on this host already; nothing was changed. "
                f"fix: wait until it goes back by itself, or run: systemctl start {REVERT}"
            )
        self.links = list_addresses()
        self.routes = list_default_routes()
        self.renames, faults = match_nics(wanted["nics"], list_nics(), list(self.links))
        faults += [] if allow_address_change else self._guard()
        if faults:
            raise RefusedError(
                "\n".join([f"the network was not changed, {len(faults)} reason{'s' * (len(faults) > 1)}:", *faults])
            )
        self.changes = plan_changes([*wanted["common"], *wanted[self.backend]], OURS) + list(_set_aside())
        self.displaced = [unit for unit in OTHERS if _tells("is-enabled", unit)]

    def describe(self) -> dict[str, Any]:
        """Return what the module says about it."""
        paths = [change.path for change in self.changes]
        changed_devices = [c.path for c in self.changes if c.path.endswith(".netdev") and c.before and c.after]
        return {
            "changed": bool(self.changes or self.renames or self.displaced),
            "backend": self.backend,
            "paths": paths,
            "renames": [{"old": old, "new": new} for old, new in self.renames.items()],
            "reboot": [f"{path} changed, and a device that exists is not made anew" for path in changed_devices],
        }

    def _guard(self) -> list[str]:
        """Return why this configuration would cut the connection that it came over."""
        kept = {each["address"].partition("/")[0] for each in self.wanted["addresses"]}
        ssh = find_ssh_address()
        here = [(name, each) for name, each in self._list_addresses() if each.partition("/")[0] == ssh]
        if not here and self.routes:
            here = [(name, each) for name, each in self._list_addresses() if name == self.routes[0][0]]
        if not here or any(each.partition("/")[0] in kept for _, each in here):
            return []
        name, address = here[0]
        after = self.renames.get(name, name)
        if after in self.wanted["dhcp"]:
            return []
        planned = [each["address"] for each in self.wanted["addresses"] if each["interface"] == after]
        return [
            f"- this connection needs {address} on {name}, and {after} would have {', '.join(planned) or 'no address'}. "
            "fix: correct the address in the plan, or set host_network_allow_address_change and connect to the new one"
        ]

    def _list_addresses(self) -> list[tuple[str, str]]:
        return [(name, each) for name, found in self.links.items() for each in found if name != "lo"]

    def validate(self) -> None:
        """Have the programs that will read the files read them, away from the host's network.

        Raises RefusedError with what they say.
        """
        with tempfile.TemporaryDirectory(prefix="gpuyard-network-") as stage:
            files = self.wanted[self.backend] + [each for each in self.wanted["common"] if each["path"].startswith(NETWORKD)]
            write_changes([Change(each["path"], None, each["content"], 0o600) for each in files], stage)
            Path(stage).chmod(0o755)
            Path(stage + NETWORKD).mkdir(parents=True, exist_ok=True)
            said = _read_netplan(stage) if self.backend == "netplan" else []
            for path in Path(stage + NETWORKD).rglob("*"):
                path.chmod(0o755 if path.is_dir() else 0o644)
            said = said or _read_networkd(stage)
        if said:
            raise RefusedError("\n".join([f"{self.backend} does not take the files; nothing was changed:", *said]))

    def start(self) -> None:
        """Save what is replaced, arm the way back, write the files, and have systemd apply them in a second."""
        shutil.rmtree(FORMER, ignore_errors=True)
        for old in ("applied", "confirmed", "reverted"):
            Path(f"{STATE}/{old}").unlink(missing_ok=True)
        Path(FORMER).mkdir(mode=0o700, parents=True)
        for change in self.changes:
            if change.before is not None:
                Path(FORMER + change.path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(change.path, FORMER + change.path)
        programs = [change for change in self.changes if change.path.startswith(("/usr/local/", "/etc/systemd/system/"))]
        write_changes(programs, module=self.module)  # the way back itself
        _run("systemctl", "daemon-reload")
        _run("systemctl", "-q", "enable", f"{REVERT}-at-boot.service")
        pending = "".join(f"{line}\n" for line in self._way_back(programs))
        apply = "".join(f"{line}\n" for line in ["#!/bin/sh", *self._way_there()])
        write_changes([Change(f"{STATE}/apply", None, apply, 0o700), Change(PENDING, None, pending, 0o600)])
        _tells("stop", f"{REVERT}.timer")
        try:
            _run("systemd-run", "-q", f"--unit={REVERT}", f"--on-active={self.revert_s}", "--timer-property=AccuracySec=1s")
        except RefusedError:
            Path(PENDING).unlink()
            raise
        write_changes([change for change in self.changes if change not in programs], module=self.module)
        _run(
            "systemd-run",
            "-q",
            "--collect",
            "--unit=gpuyard-host-network-apply",
            "--on-active=1",
            "--timer-property=AccuracySec=100ms",
            "/bin/sh",
            f"{STATE}/apply",
        )

    def _way_back(self, programs: list[Change]) -> list[str]:
        lines = [f"{'remove' if c.before is None else 'restore'} {c.path}" for c in self.changes if c not in programs]
        was_active = _tells("is-active", "systemd-networkd.service")
        if not _tells("is-enabled", "systemd-networkd.service"):
            lines.append("disable systemd-networkd.service")
        if not was_active:
            lines += ["stop systemd-networkd.socket", "stop systemd-networkd.service", "flush-routes"]
            lines += [f"flush {name}" for name in sorted({each["interface"] for each in self.wanted["addresses"]})]
        lines += [f"delete {name}" for name in self.wanted["devices"] if name not in self.links]
        lines += [f"rename {line}" for line in _list_renames({new: old for old, new in self.renames.items()})]
        lines += ["netplan"] if shutil.which("netplan") else []
        lines += ["networkd"] if was_active else []
        for unit in self.displaced:
            lines += [f"enable {unit}", f"restart {unit}"]
        if self.routes:
            device, gateway, _ = self.routes[0]
            lines += [f"address {each} {device}" for each in self.links.get(device, [])]
            lines += [f"gateway {gateway} {device}"] if gateway else []
        if not was_active:
            lines += [f"address {each} {name}" for name, each in self._list_addresses()]
        return lines

    def _way_there(self) -> list[str]:
        steps = []
        kept = {each["address"] for each in self.wanted["addresses"]}
        for name, address in list_without_broadcast():
            if address in kept:  # networkd 252 never ends to configure an address that is there without one
                steps += [f"ip address delete {address} dev {name}", f"ip address add {address} broadcast + dev {name}"]
        for line in _list_renames(self.renames):
            old, new = line.split()
            steps += [f"ip link set {old} down", f"ip link set {old} name {new}", f"ip link set {new} up"]
        for unit in self.displaced:
            steps += [f"systemctl -q disable {unit}", *(f"systemctl {each} {unit}" for each in OTHERS[unit].split())]
        return [
            *steps,
            f"/lib/systemd/systemd-sysctl {SYSCTL}",
            *(["netplan generate", "systemctl daemon-reload"] if self.backend == "netplan" else []),
            "systemctl -q enable systemd-networkd.service",
            "if systemctl -q is-active systemd-networkd.service",
            "then networkctl reload",
            "else systemctl start systemd-networkd.service",
            "fi",
            f"date --iso-8601=seconds >{STATE}/applied",
        ]


def confirm(wanted: dict[str, Any], settle_s: int) -> list[str]:
    """Look whether the configuration on trial holds, and disarm the way back; return interfaces without link.

    Raises RefusedError where it went back already, or where addresses or rules lack, which starts the way back.
    """
    if not Path(PENDING).exists():
        if Path(f"{STATE}/confirmed").exists():
            return []
        raise RefusedError(
            "the new network configuration was not confirmed in time, and the host went back to the former one by itself. "
            "fix: compare the plan with the cabling of the port that carries this connection (journalctl -u systemd-networkd)"
        )
    deadline = time.monotonic() + settle_s
    while True:
        lacking, without_link = _list_lacking(wanted)
        if not lacking or time.monotonic() > deadline:
            break
        time.sleep(0.5)
    if lacking:
        _run("systemctl", "start", "--no-block", f"{REVERT}.service")
        raise RefusedError(
            "\n".join(["the new network configuration does not hold, and the host goes back to the former one:", *lacking])
        )
    _tells("stop", f"{REVERT}.timer")
    Path(PENDING).rename(f"{STATE}/confirmed")
    return without_link


def _list_lacking(wanted: dict[str, Any]) -> tuple[list[str], list[str]]:
    lacking, without_link = [], []
    if not Path(f"{STATE}/applied").exists():
        return ["- it was not applied to its end (journalctl -u gpuyard-host-network-apply)"], []
    links, rules = list_addresses(), list_rules()
    for each in wanted["addresses"]:
        name, address = each["interface"], each["address"]
        if name != "lo" and Path(f"/sys/class/net/{name}").exists() and not has_carrier(name):
            without_link.append(name)
        elif address not in links.get(name, []):
            lacking.append(f"- {name} has {', '.join(links.get(name, [])) or 'no address'} and not {address}")
    for rule in wanted["rules"]:
        owner = next((a["interface"] for a in wanted["addresses"] if a["address"].partition("/")[0] == rule["source"]), "")
        if owner not in without_link and (rule["source"], rule["table"]) not in rules:
            lacking.append(f"- no rule sends what comes from {rule['source']} to table {rule['table']}")
    return lacking, without_link


def find_backend() -> str:
    """Return netplan where it is installed and has a configuration, else networkd."""
    return "netplan" if shutil.which("netplan") and find_paths("/etc/netplan/*.y*ml") else "networkd"


def match_nics(wanted: list[dict[str, Any]], nics: list[Nic], names: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return the interfaces to rename, present name → planned name, and what is wrong, a line each.

    A NIC is known by its MAC; where the plan has none, by its PCI address; else by its name.
    """
    renames, faults = {}, []
    by_mac = {nic.mac: nic for nic in nics if nic.mac}
    by_pci = {nic.pci: nic for nic in nics if nic.pci}
    by_name = {nic.name: nic for nic in nics}
    for want in wanted:
        name, mac, pci = want["name"], want["mac"].lower(), want["pci"].lower()
        found = by_mac.get(mac) if mac else by_pci.get(pci) or by_name.get(name)
        if found is None:
            faults.append(_describe_missing(want, by_pci.get(pci) or by_name.get(name)))
        elif found.name != name:
            renames[found.name] = name
    for old, new in renames.items():
        if new in names and new not in renames:
            faults.append(
                f"- {old} is to be called {new}, and another interface has that name. fix: give that one its planned name"
            )
    return renames, faults


def _describe_missing(want: dict[str, Any], other: Nic | None) -> str:
    known = ", ".join(f"{what} {want[what]}" for what in ("mac", "pci") if want[what]).replace("mac", "MAC").replace("pci", "PCI")
    if other is None:
        return f"- {want['name']}: no NIC has {known or 'that name'}. fix: seat it, load its driver, or correct the plan's facts"
    return (
        f"- {want['name']}: no NIC has MAC {want['mac']}, and {other.name} in its place has {other.mac or 'none'}. "
        "fix: put the new MAC into the facts if the NIC was replaced"
    )


def _list_renames(renames: dict[str, str]) -> list[str]:
    """Return pairs of names, in an order that works also where names are swapped."""
    if not set(renames) & set(renames.values()):
        return [f"{old} {new}" for old, new in renames.items()]
    first = [f"{old} gytmp{number}" for number, old in enumerate(renames)]
    return first + [f"gytmp{number} {new}" for number, new in enumerate(renames.values())]


def _set_aside() -> list[Change]:
    """Return the changes that put other programs' files for the same interfaces aside, under another name."""
    paths = [path for path in find_paths("/etc/netplan/*.y*ml") if path not in OURS]
    for path in ["/etc/network/interfaces", *find_paths("/etc/network/interfaces.d/*")]:
        if not path.endswith(REPLACED) and Path(path).is_file() and re.search(r"^\s*iface\s+(?!lo\b)", _text(path), re.MULTILINE):
            paths.append(path)
    changes = []
    for path in paths:
        changes += [Change(path, _text(path), None), Change(path + REPLACED, None, _text(path), 0o600)]
    return changes


def _read_netplan(stage: str) -> list[str]:
    done = subprocess.run(["netplan", "generate", "--root-dir", stage], capture_output=True, text=True, check=False)
    for path in find_paths(f"{stage}/run/systemd/network/*"):
        shutil.copy(path, stage + NETWORKD)
    return [line.replace(stage, "") for line in done.stderr.splitlines()] if done.returncode else []


def _read_networkd(stage: str) -> list[str]:
    """Return what systemd-networkd and udev say about the files, read by them in a network of their own without NICs."""
    script = f"""
        mount --make-rprivate / && mount --bind {stage}{NETWORKD} {NETWORKD} && mount -t tmpfs none /run/systemd || exit 1
        udevadm test-builtin net_setup_link /sys/class/net/lo
        exec setpriv --reuid systemd-network --regid systemd-network --clear-groups /lib/systemd/systemd-networkd
    """
    environment = {**os.environ, "SYSTEMD_LOG_TARGET": "console", "SYSTEMD_LOG_LEVEL": "info", "SYSTEMD_LOG_COLOR": "0"}
    command = ["unshare", "-n", "-m", "sh", "-c", script]
    reader = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    watchdog = threading.Timer(READ_S, reader.kill)
    watchdog.start()
    said = []
    for line in reader.stdout or []:
        said.append(line.strip())
        if said[-1] == "Enumeration completed":  # all files are read, before it looks at the links
            break
    watchdog.cancel()
    reader.kill()
    reader.wait()
    faults = [f"- {line}" for line in said if line.startswith(f"{NETWORKD}/")]
    if not faults and said[-1:] != ["Enumeration completed"]:
        return [f"- they could not be tried: {'; '.join(said)}"]
    return faults


def _text(path: str) -> str:
    return Path(path).read_bytes().decode("utf-8", "surrogateescape")


def _tells(verb: str, unit: str) -> bool:
    return subprocess.run(["systemctl", "-q", verb, unit], capture_output=True, check=False).returncode == 0


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RefusedError(f"{' '.join(command)} failed: {done.stderr.strip()}")
