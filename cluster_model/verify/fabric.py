"""Sessions, AS numbers, MTU, ECMP width and PFC as they are against the plan: a pure function of (Plan, Observed)."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from cluster_model.diagnostic import Severity
from cluster_model.plan.model import Plan, Switch, SwitchPort
from cluster_model.plan.model.overlay import VXLAN_OVERHEAD_BYTES
from cluster_model.render.drawings.style import format_count
from cluster_model.verify.cabling.places import HOST_KEY, Job, Places, word_end
from cluster_model.verify.node_sessions import judge_node_sessions, list_node_ports
from cluster_model.verify.observed import ESTABLISHED, Observed, ObservedDevice, ObservedSession

SAMPLES = 4
"""Leafs of a network and plane whose loopbacks every switch is asked for."""


@dataclass(frozen=True, slots=True)
class FabricReport:
    """What came out: jobs by rack and unit, and how many things of each kind were compared."""

    jobs: tuple[Job, ...]
    compared: Counter[str]


def sample_prefixes(plan: Plan, switches: Iterable[Switch]) -> dict[str, dict[str, int]]:
    """Return the prefixes to ask each switch for, with the number of ways that it should have: {switch: {prefix: ways}}.

    The prefixes are loopbacks of leafs of other units, spread evenly. The ways are links to neighbours that are one step nearer
    by the plan's cables, at most as many as `maximum-paths` allows.
    """
    groups: dict[tuple[str, int], list[Switch]] = {}
    for switch in plan.switches:
        if any(port.peer_asn and port.use == "fabric" for port in switch.ports):
            groups.setdefault((switch.network, switch.plane), []).append(switch)
    wanted = {switch.name for switch in switches}
    found: dict[str, dict[str, int]] = {}
    for members in groups.values():
        leafs = {switch.unit: switch for switch in members if switch.role == "leaf" and switch.loopback}
        chosen = list(leafs.values())
        for target in [chosen[round(i * (len(chosen) - 1) / max(1, SAMPLES - 1))] for i in range(min(SAMPLES, len(chosen)))]:
            steps = _count_steps(members, target)
            for switch in members:
                if switch.name not in wanted or switch.name == target.name or switch.name not in steps:
                    continue
                ways = sum(steps.get(port.peer, 1 << 30) == steps[switch.name] - 1 for port in _fabric_ports(switch))
                found.setdefault(switch.name, {})[target.loopback] = min(ways, 64 if len(_fabric_ports(switch)) <= 64 else 128)
    return found


def _fabric_ports(switch: Switch) -> list[SwitchPort]:
    return [port for port in switch.ports if port.use == "fabric"]


def _count_steps(members: Sequence[Switch], target: Switch) -> dict[str, int]:
    """Return the number of links from each switch to the target."""
    ports = {switch.name: _fabric_ports(switch) for switch in members}
    steps = {target.name: 0}
    queue = deque([target.name])
    while queue:
        name = queue.popleft()
        for port in ports.get(name, ()):
            if port.peer not in steps:
                steps[port.peer] = steps[name] + 1
                queue.append(port.peer)
    return steps


def compare_fabric(
    plan: Plan,
    observed: Observed,
    switches: Sequence[Switch] | None = None,
    host_ports: Collection[tuple[str, str]] | None = None,
) -> FabricReport:
    """Compare what switches and hosts report with the plan.

    Args:
        plan: the plan.
        observed: what was read.
        switches: those to look at; default: all.
        host_ports: ports of servers to look at, by server and name; default: those that hang on one of these switches.

    Returns:
        Jobs (VER030 to VER038).
    """
    switches = tuple(plan.switches if switches is None else switches)
    if host_ports is None:
        names = {switch.name for switch in switches}
        host_ports = {(server.name, nic.name) for server in plan.servers for nic in server.ports if nic.peer in names}
    return _Comparison(plan, observed, switches, host_ports).run()


class _Comparison:
    """One comparison; what its steps share."""

    def __init__(
        self, plan: Plan, observed: Observed, switches: tuple[Switch, ...], host_ports: Collection[tuple[str, str]]
    ) -> None:
        self.plan = plan
        self.observed = observed
        self.switches = switches
        self.host_ports = host_ports
        self.places = Places(plan)
        self.jobs: list[Job] = []
        self.compared: Counter[str] = Counter()
        self.strangers = {
            switch.name: device.asn
            for switch in plan.switches
            if (device := observed.devices.get(switch.name)) is not None and device.reached and device.asn not in (0, switch.asn)
        }  # switches that speak with another ASN than planned: the cause of what their neighbours see

    def run(self) -> FabricReport:
        widths = sample_prefixes(self.plan, self.switches)
        links: set[frozenset[tuple[str, str]]] = set()
        for switch in self.switches:
            device = self.observed.devices.get(switch.name)
            if device is None or not device.reached:
                continue
            self._judge_asn(switch, device)
            self._judge_sessions(switch, device, links)
            self._judge_mtu(switch, device)
            self._judge_ways(switch, device, widths.get(switch.name, {}))
            self._judge_pfc(switch, device)
        self._judge_hosts()
        self.jobs.extend(judge_node_sessions(self.places, self.observed, self.switches, self.strangers))
        self.jobs.sort(key=lambda job: job.sort_key)
        return FabricReport(tuple(self.jobs), self.compared)

    def _judge_asn(self, switch: Switch, device: ObservedDevice) -> None:
        if not device.asn or not switch.asn:
            return
        self.compared["AS numbers"] += 1
        if switch.name in self.strangers:
            down = sum(session.state != ESTABLISHED for session in device.sessions or ())
            sessions = format_count(len(device.sessions or ()), "session")
            note = f"; {down} of its {sessions} {'is' if down == 1 else 'are'} down" if down else ""
            self._add(
                "VER031", "AS number", (switch.name, ""), f"{switch.name} speaks with AS {device.asn}",
                f"AS {switch.asn}", f"AS {device.asn}{note}", f"load the rendered configuration onto {switch.name}",
            )  # fmt: skip

    def _judge_sessions(self, switch: Switch, device: ObservedDevice, done: set[frozenset[tuple[str, str]]]) -> None:
        if device.sessions is None:
            return
        told: dict[str, ObservedSession] = {session.peer: session for session in device.sessions}
        if node_ports := list_node_ports(switch):
            self.compared["node sessions"] += len(node_ports)
        for port in switch.ports:
            if not port.peer_asn or port.use == "host":
                continue
            self.compared["sessions"] += 1
            near, far = (switch.name, port.name), (port.peer, port.peer_port)
            session = told.get(port.peer_address) or told.get(port.name)
            blamed = switch.name in self.strangers or port.peer in self.strangers
            if session is None or session.state != ESTABLISHED:
                link = frozenset((near, far))
                if not blamed and link not in done:
                    done.add(link)
                    self._report_session(near, far, session)
                continue
            if session.asn and session.asn != port.peer_asn and not blamed:
                self._add(
                    "VER031", "AS number", far, f"{port.peer} speaks with AS {session.asn} to {word_end(near)}",
                    f"AS {port.peer_asn}", f"AS {session.asn}", f"load the rendered configuration onto {port.peer}",
                )  # fmt: skip
            if switch.overlay is not None and session.evpn is not True:
                self._add(
                    "VER037", "EVPN", near, f"EVPN is not active between {word_end(near)} and {word_end(far)}",
                    "address family l2vpn evpn", "not negotiated",
                    f"load the rendered configuration onto {switch.name} and {port.peer}",
                )  # fmt: skip
        for external in switch.overlay.externals if switch.overlay else ():
            self.compared["sessions"] += 1
            session = told.get(external.peer_address)
            if session is None or session.state != ESTABLISHED:
                self._report_session((switch.name, external.port), (external.peer, external.peer_address), session)

    def _report_session(self, near: tuple[str, str], far: tuple[str, str], session: ObservedSession | None) -> None:
        port = self.observed.port(*near)
        state = "not configured" if session is None else session.state
        dark = port is not None and port.carrier is False
        fix = f"compare address, ASN and MTU of {word_end(near)} and {word_end(far)}"
        if dark:
            fix = f"mend the link at {self.places.word(near)} first: gpuyard verify cabling"
        elif session is None:
            fix = f"load the rendered configuration onto {near[0]}"
        self._add(
            "VER030", "session", near, f"no BGP session between {word_end(near)} and {word_end(far)}",
            ESTABLISHED, f"{state}{', and the port has no link' if dark else ''}", fix,
        )  # fmt: skip

    def _judge_mtu(self, switch: Switch, device: ObservedDevice) -> None:
        for port in switch.ports:
            seen = device.ports.get(port.name)
            if seen is None or not seen.mtu_bytes:
                continue
            self.compared["MTUs"] += 1
            allowed = {switch.mtu_bytes}
            if port.bond:  # the bond's own; some systems leave the port's at the switch's
                allowed.add(switch.mtu_bytes - VXLAN_OVERHEAD_BYTES)
            if seen.mtu_bytes not in allowed:
                self._report_mtu((switch.name, port.name), min(allowed), seen.mtu_bytes)

    def _judge_hosts(self) -> None:
        for server in self.plan.servers:
            device = self.observed.devices.get(server.name)
            if device is None or not device.reached:
                continue
            for nic in server.ports:
                seen = device.ports.get(nic.name)
                if seen is not None and seen.mtu_bytes and (server.name, nic.name) in self.host_ports:
                    self.compared["MTUs"] += 1
                    if seen.mtu_bytes != nic.mtu_bytes:
                        self._report_mtu((server.name, nic.name), nic.mtu_bytes, seen.mtu_bytes)

    def _report_mtu(self, end: tuple[str, str], planned: int, seen: int) -> None:
        self._add(
            "VER032", "MTU", end, f"{word_end(end)} has MTU {seen}", f"{planned} bytes", f"{seen} bytes",
            f"set the MTU of {word_end(end)} to {planned}",
        )  # fmt: skip

    def _judge_ways(self, switch: Switch, device: ObservedDevice, expected: dict[str, int]) -> None:
        for prefix, ways in expected.items():
            if prefix not in device.widths:
                continue
            self.compared["prefixes"] += 1
            seen = device.widths[prefix]
            if seen != ways:
                self._add(
                    "VER033", "ways", (switch.name, ""), f"{switch.name} has {_count_ways(seen)} to {prefix}",
                    _count_ways(ways), _count_ways(seen),
                    "look for sessions that are down, here and further on" if seen < ways else "look for links nobody planned",
                )  # fmt: skip

    def _judge_pfc(self, switch: Switch, device: ObservedDevice) -> None:
        network = self.plan.network(switch.network)
        if network is None or not network.lossless or not device.pfc:
            return
        lossless = self.plan.lossless
        knows_priorities = any(pfc.priorities is not None for pfc in device.pfc.values())
        for port in switch.ports:
            end = (switch.name, port.name)
            pfc = device.pfc.get(port.name)
            self.compared["PFC ports"] += 1
            seen = (pfc.priorities if pfc else None) or ()
            if knows_priorities and seen != tuple(sorted(lossless.pfc_priorities)):
                self._add(
                    "VER034", "PFC", end, f"{word_end(end)} has lossless priorities {_list(seen)}",
                    _list(lossless.pfc_priorities), _list(seen), f"load the rendered configuration onto {switch.name}",
                )  # fmt: skip
            if pfc is None:
                continue
            if lossless.watchdog and pfc.watchdog is False:
                self._add(
                    "VER035", "watchdog", end, f"the PFC watchdog is off at {word_end(end)}", "on", "off",
                    f"load the rendered configuration onto {switch.name}",
                )  # fmt: skip
            if pfc.storms:
                storms = format_count(pfc.storms, "storm")
                self._add(
                    "VER035", "storm", end, f"the PFC watchdog saw {storms} at {word_end(end)}", "none",
                    f"{pfc.storms}",
                    f"look at {word_end((port.peer, port.peer_port))}: its card or host pauses for ever", severity="warning",
                )  # fmt: skip
            strange = [number for number, count in enumerate(pfc.received) if count and number not in lossless.pfc_priorities]
            if strange:
                self._add(
                    "VER036", "pauses", end, f"{port.peer} pauses priority {_list(strange)} at {word_end(end)}",
                    f"pauses for priority {_list(lossless.pfc_priorities)} alone",
                    ", ".join(f"{pfc.received[number]} frames for {number}" for number in strange),
                    f"correct PFC and trust of {word_end((port.peer, port.peer_port))}", severity="warning",
                )  # fmt: skip

    def _add(
        self,
        id_: str,
        kind: str,
        end: tuple[str, str],
        summary: str,
        expected: str,
        actual: str,
        fix: str,
        *,
        severity: Severity = "error",
    ) -> None:
        job = self.places.job(id_, kind, [], end, summary, severity=severity, expected=expected, actual=actual, fix=fix)
        self.jobs.append(job)


def _list(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers))) or "none"


def _count_ways(number: int) -> str:
    return f"{number} way{'' if number == 1 else 's'}" if number else "no way"


def report_devices(places: Places, observed: Observed, *, silent: Iterable[str] = ()) -> Iterator[Job]:
    """Yield what is to be said of the devices themselves: not reached (VER020), another one (VER022), gaps (VER021).

    Args:
        places: where devices are.
        observed: what was read.
        silent: devices whose silence another finding explains.
    """
    quiet = set(silent)
    for device in observed.devices.values():
        end = (device.name, "")
        if not device.reached and device.hostname:
            yield places.job(
                "VER022", "another device", [], end, f"{device.hostname} answers at the address of {device.name}",
                expected=device.name, actual=device.hostname,
                fix=f"look at the management cables and addresses of {device.name} and {device.hostname}",
            )  # fmt: skip
        elif not device.reached and device.name not in quiet:
            yield places.job(
                "VER020", "not reached", [], end, f"{device.name} was not reached", expected="a session by SSH",
                actual=device.reason,
                fix=HOST_KEY if "host key" in device.reason
                else f"log in to {device.name} by hand; docs/verify.md tells of users, keys and jump hosts",
            )  # fmt: skip
        for gap in device.gaps:
            name, _, reason = gap.partition(": ")
            yield places.job(
                "VER021", "not told", [], end, f"{device.name} does not tell: {name}", severity="warning",
                expected="an answer", actual=reason, fix=f"run it by hand on {device.name}",
            )  # fmt: skip
