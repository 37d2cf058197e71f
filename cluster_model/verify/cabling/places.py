"""Where things are, for the person who goes there; and what there is to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cluster_model.diagnostic import Diagnostic, Severity
from cluster_model.names import natural_key
from cluster_model.plan.model import Cable, Pdu, Plan, Server, ServerPort, Switch
from cluster_model.verify.cabling.resolve import UNKNOWN, End

Device = Server | Switch | Pdu
HOST_KEY = (
    "compare its fingerprint at the console (ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub); then drop an old key by "
    "ssh-keygen -R ADDRESS and add the new one by ssh-keyscan ADDRESS >> ~/.ssh/known_hosts, or by --trust-new-keys"
)
"""What to do about a host key that is not known, or another one than before."""


@dataclass(frozen=True, slots=True)
class Job:
    """Something to do at one place: `kind` in a word or two, `labels` of the cables that it is about."""

    kind: str
    rack: str
    u: int
    device: str
    port: str
    labels: tuple[str, ...]
    finding: Diagnostic

    @property
    def sort_key(self) -> tuple[object, ...]:
        """Return the order of a walk: by rack, from the floor up, notes about no place in particular last."""
        return (
            self.finding.severity == "info", natural_key(self.rack), self.u, natural_key(self.device), natural_key(self.port),
            self.finding.id, self.finding.summary,
        )  # fmt: skip


class Places:
    """Racks, rails and planes of everything in a plan."""

    def __init__(self, plan: Plan) -> None:
        self.switches = {switch.name: switch for switch in plan.switches}
        self.devices: dict[str, Device] = {
            **{server.name: server for server in plan.servers},
            **self.switches,
            **{pdu.name: pdu for pdu in plan.pdus},
        }
        self._nics: dict[End, ServerPort] = {(server.name, nic.name): nic for server in plan.servers for nic in server.ports}

    def rack(self, device: str) -> tuple[str, int]:
        """Return rack and lowest unit; a PDU hangs at 0, and what is not planned is nowhere."""
        found = self.devices.get(device)
        if found is None:
            return "", 0
        return found.rack, 0 if isinstance(found, Pdu) else found.u

    def word(self, end: End) -> str:
        """Return an end as one walks to it: `N01 U46 compute-leaf-u01-01 Ethernet0`."""
        rack, u = self.rack(end[0])
        return " ".join(part for part in (rack, f"U{u}" if u else "", end[0].removeprefix(UNKNOWN), end[1]) if part)

    def spot(self, device: str) -> str:
        """Return where a device hangs: `A01 U17`."""
        rack, u = self.rack(device)
        return f"{rack} U{u}" if u else rack

    def cross(self, near: End, far: End) -> str:
        """Return in words that a network card hangs on a leaf of other rails or another plane; empty where it does not."""
        nic, switch = self._nics.get(near), self.switches.get(far[0])
        if nic is None or switch is None or nic.network != switch.network or switch.role != "leaf":
            return ""
        planned = self.switches.get(nic.peer)
        if planned is not None and planned.plane != switch.plane:
            return f"plane {nic.plane} on a leaf of plane {switch.plane}"
        if nic.rail >= 0 and switch.rails and nic.rail not in switch.rails:
            rails = f"{switch.rails[0]}" if len(switch.rails) == 1 else f"{switch.rails[0]} to {switch.rails[-1]}"
            return f"rail {nic.rail} on a leaf of rail{'s' if len(switch.rails) > 1 else ''} {rails}"
        return ""

    def job(
        self,
        id_: str,
        kind: str,
        cables: Sequence[Cable],
        stand: End,
        summary: str,
        *,
        severity: Severity = "error",
        expected: str = "",
        actual: str = "",
        fix: str = "",
    ) -> Job:
        """Return a job to do at `stand`, its finding tied to what the intent says of that device."""
        rack, u = self.rack(stand[0])
        found = self.devices.get(stand[0])
        finding = Diagnostic(id_, severity, found.where if found else "", summary, expected, actual, fix)
        return Job(kind, rack, u, stand[0].removeprefix(UNKNOWN), stand[1], tuple(cable.label for cable in cables), finding)


def word_end(end: End) -> str:
    """Return an end as the plan writes it: `gpu-001:enp24s0np0`."""
    device = end[0].removeprefix(UNKNOWN)
    return f"{device}:{end[1]}" if end[1] else device
