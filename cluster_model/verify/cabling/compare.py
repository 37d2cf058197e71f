"""Cables as they are against cables as planned: a pure function of (Plan, Observed)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model import Cable, Plan
from cluster_model.verify.cabling.links import Chain, Links, find_chains, find_links, is_planned
from cluster_model.verify.cabling.places import Job, Places, word_end
from cluster_model.verify.cabling.resolve import Directory, End, make_directory
from cluster_model.verify.cabling.wiring import judge_chain
from cluster_model.verify.observed import Observed, ObservedPort

FEC = {"none": ("off", 0), "fc": ("baser", 1), "rs": ("rs", 2)}
"""Planned error correction without its codeword, which devices do not tell: as devices call it, and its rank."""
SHOWN = 3
"""Links that a finding about many of them names."""


@dataclass(frozen=True, slots=True)
class CablingReport:
    """What came out: jobs in the order of rack and unit, and how many cables are in each state.

    States are `right`, `exchanged`, `wrong`, `dark`, `off` (the device has no power), `torn`, `absent`, `unproven` and `unread`
    (neither end was read). Every cable is in one.
    """

    jobs: tuple[Job, ...]
    states: dict[str, str]  # cable label: state

    @property
    def findings(self) -> list[Diagnostic]:
        """Return the findings in the order of the jobs."""
        return [job.finding for job in self.jobs]

    @property
    def counts(self) -> Counter[str]:
        """Return the number of cables in each state."""
        return Counter(self.states.values())


def compare_cabling(plan: Plan, observed: Observed, cables: Iterable[Cable] | None = None) -> CablingReport:
    """Compare the cables with what devices report.

    Args:
        plan: the plan.
        observed: what was read.
        cables: those of the plan to look at; default: all.

    Returns:
        Jobs (VER001 to VER014) and the state of every cable looked at.
    """
    wanted = plan.cables if cables is None else tuple(cables)
    book = make_directory(plan, observed)
    return _Comparison(plan, observed, wanted, book, find_links(book, observed)).run()


class _Comparison:
    """One comparison; what its steps share."""

    def __init__(self, plan: Plan, observed: Observed, cables: tuple[Cable, ...], book: Directory, links: Links) -> None:
        self.observed = observed
        self.cables = cables
        self.book = book
        self.links = links
        self.places = Places(plan)
        self.states: dict[str, str] = {}
        self.jobs: list[Job] = []
        self.spoken: set[End] = set()  # ends that a job is about

    def run(self) -> CablingReport:
        self._judge_chains()
        self._judge_torn()
        rest = [cable for cable in self.cables if cable.label not in self.states]
        off = set(self._find_dark_devices())
        for cable in rest:
            self._judge_rest(cable, off)
        self._report_unproven()
        self._report_unplanned()
        self.jobs.sort(key=lambda job: job.sort_key)
        return CablingReport(tuple(self.jobs), {cable.label: self.states[cable.label] for cable in self.cables})

    def _judge_chains(self) -> None:
        for chain in find_chains(self.book, self.links, self.cables):
            about: set[str] = set()
            for job in judge_chain(self.places, self.book, chain):
                self.jobs.append(job)
                about.update(job.labels)
            self.spoken.update(end for link in chain.links for end in link)
            self._mark(chain, about)

    def _mark(self, chain: Chain, about: set[str]) -> None:
        """Note the state of a chain's cables; those that no job is about are judged like cables without a link."""
        for cable in chain.cables:
            if cable.label in about:
                self.states[cable.label] = "exchanged" if chain.closed else "wrong"

    def _judge_torn(self) -> None:
        for end, far in self.links.torn.items():
            entry = self.book.partners.get(end)
            if entry is None or entry[0].label in self.states:
                continue
            cable = entry[0]
            self.states[cable.label] = "torn"
            heard = self.links.far.get(far) or self.links.torn.get(far)
            actual = f"{word_end(end)} hears {word_end(far)}, which hears {word_end(heard) if heard else 'several'}"
            self.jobs.append(
                self.places.job(
                    "VER012", "contradictory", [cable], end,
                    f"{word_end(end)} and {word_end(far)} contradict each other",
                    expected=word_end(self.partner(end)), actual=actual,
                    fix=f"check the polarity of {cable.label} on its way from {self.places.word(end)} to "
                    f"{self.places.word(self.partner(end))}",
                )
            )  # fmt: skip

    def partner(self, end: End) -> End:
        """Return the planned other end."""
        return self.book.partners[end][1]

    def _find_dark_devices(self) -> Iterator[str]:
        """Yield devices that did not answer and are dark at the far end of every data cable that was read, and report them."""
        dark: dict[str, list[Cable]] = {}
        lit: set[str] = set()
        bmc: dict[str, bool] = {}
        for cable in self.cables:
            for near, far in (
                ((cable.a, cable.a_port), (cable.b, cable.b_port)),
                ((cable.b, cable.b_port), (cable.a, cable.a_port)),
            ):
                device = self.observed.devices.get(near[0])
                if device is None or device.reached or not self.observed.reached(far[0]):
                    continue
                port = self.observed.port(*far)
                if port is None or port.carrier is None:
                    continue
                if near[1] == "bmc":
                    bmc[near[0]] = port.carrier
                elif port.carrier or cable.label in self.states:
                    lit.add(near[0])
                else:
                    dark.setdefault(near[0], []).append(cable)
        for name, members in dark.items():
            if name in lit:
                continue
            yield name
            word = {True: "its BMC has link, so power reaches it", False: "its BMC has no link either"}
            self.jobs.append(
                self.places.job(
                    "VER007", "off", members, (name, ""),
                    f"{name} is dark on all {len(members)} cables that could be looked at" if len(members) > 1
                    else f"{name} is dark on the one cable that could be looked at",
                    expected="link on every planned cable",
                    actual=f"no answer, no link; {word[bmc[name]] if name in bmc else 'whether its BMC has power is not known'}",
                    fix=f"switch on {name} at {self.places.spot(name)}, or look at its feeds",
                )
            )  # fmt: skip

    def _judge_rest(self, cable: Cable, off: set[str]) -> None:
        """Judge a cable that is right, or of which no real link is known."""
        a, b = (cable.a, cable.a_port), (cable.b, cable.b_port)
        ports = {end: self.observed.port(*end) for end in (a, b)}
        if self.links.far.get(a) == b:
            self.states[cable.label] = "right"
            self._judge_quality(cable, ports)
            return
        if (cable.a in off or cable.b in off) and not any(port is not None and port.carrier for port in ports.values()):
            self.states[cable.label] = "off"
            return
        read = [end for end in (a, b) if self.observed.reached(end[0])]
        absent = [end for end in read if ports[end] is None]
        up = [end for end in read if (port := ports[end]) is not None and port.carrier]
        down = [end for end in read if (port := ports[end]) is not None and port.carrier is False]
        if absent:
            self._report_absent(cable, absent[0])
        elif not read:
            self.states[cable.label] = "unread"
        elif down:
            self._report_dark(cable, down, up, ports)
        else:
            self.states[cable.label] = "unproven"

    def _report_absent(self, cable: Cable, end: End) -> None:
        self.states[cable.label] = "absent"
        self.jobs.append(
            self.places.job(
                "VER014",
                "no such port",
                [cable],
                end,
                f"{end[0]} has no port {end[1]}",
                expected=f"{end[1]}, for the cable to {word_end(self.partner(end))}",
                actual=self._list_ports(end[0]),
                fix=f"look at breakout or network cards of {end[0]} at {self.places.spot(end[0])}",
            )
        )

    def _list_ports(self, device: str) -> str:
        names = sorted(self.observed.devices[device].ports)
        return f"{', '.join(names[:6])}{f' and {len(names) - 6} more' if len(names) > 6 else ''}" if names else "no ports at all"

    def _report_dark(self, cable: Cable, down: list[End], up: list[End], ports: dict[End, ObservedPort | None]) -> None:
        """Report a cable with a dark end. Where the other end has light, it leads elsewhere, known or not."""
        shut = [end for end in down if (port := ports[end]) is not None and port.enabled is False]
        end = shut[0] if shut else down[0]
        far = self.partner(end)
        place, far_place = self.places.word(end), self.places.word(far)
        if up and up[0] not in self.links.far and not shut:
            self.states[cable.label] = "wrong"
            self.jobs.append(
                self.places.job(
                    "VER005",
                    "wrong device",
                    [cable],
                    far,
                    f"{word_end(far)} has link, and {word_end(end)}, where its cable should end, has none",
                    expected=word_end(end),
                    actual="something that does not tell who it is",
                    fix=f"follow the cable in {far_place}, and plug it into {place} (label {cable.label})",
                )
            )
            return
        self.states[cable.label] = "dark"
        actual = f"no carrier at {' and '.join(word_end(dark) for dark in down)}{', shut down' if shut else ''}"
        if up and (taken := self.links.far.get(up[0])) is not None:
            actual += f"; {word_end(up[0])} leads to {word_end(taken)}"
        fix = f"look at plug, transceiver and dirt at {place} and at {far_place} (label {cable.label})"
        self.jobs.append(
            self.places.job(
                "VER006",
                "dark",
                [cable],
                end,
                f"{cable.label} to {word_end((cable.b, cable.b_port))} has no link",
                expected=f"link at {cable.speed_gbps} Gb/s",
                actual=actual,
                fix=f"enable {place}, which is shut down" if shut else fix,
            )
        )

    def _judge_quality(self, cable: Cable, ports: dict[End, ObservedPort | None]) -> None:
        """Judge speed and FEC of a cable that leads where it should."""
        known = [(end, port) for end, port in ports.items() if port is not None]
        slow = [(port.speed_gbps, end) for end, port in known if 0 < port.speed_gbps < cable.speed_gbps]
        if slow:
            speed, end = min(slow)
            self.jobs.append(
                self.places.job(
                    "VER010", "slow", [cable], end, f"{cable.label} runs at {speed:g} Gb/s",
                    expected=f"{cable.speed_gbps} Gb/s", actual=f"{speed:g} Gb/s at {word_end(end)}",
                    fix=f"compare transceivers and breakout at {self.places.word(end)} and {self.places.word(self.partner(end))}",
                )
            )  # fmt: skip
        self._judge_fec(cable, {end: port.fec for end, port in known if port.fec})

    def _judge_fec(self, cable: Cable, fecs: dict[End, str]) -> None:
        """Judge what the ends run against the plan; where nothing is planned, against each other. Less is an error."""
        planned, rank = FEC.get(cable.fec.partition("-")[0], ("", 0))
        ranks = dict(FEC.values())
        wrong = [end for end, fec in fecs.items() if fec != planned] if planned else []
        if not wrong and len(set(fecs.values())) < 2:
            return
        end = wrong[0] if wrong else (cable.b, cable.b_port)
        is_below = any(ranks[fecs[end]] < rank for end in wrong)
        both = f"{word_end((cable.a, cable.a_port))} and {word_end((cable.b, cable.b_port))}"
        self.jobs.append(
            self.places.job(
                "VER011", "FEC", [cable], end, f"{cable.label} runs with {' and '.join(sorted(set(fecs.values())))} FEC",
                severity="error" if is_below else "warning",
                expected=f"{planned} ({cable.fec}, for {cable.medium})" if planned else "the same at both ends",
                actual=", ".join(f"{fec} at {word_end(end)}" for end, fec in fecs.items()),
                fix=f"set FEC {planned} on {both}" if planned else f"set the same FEC on {both}",
            )
        )  # fmt: skip

    def _report_unproven(self) -> None:
        silent = [cable for cable in self.cables if self.states[cable.label] == "unproven"]
        if not silent:
            return
        names = ", ".join(cable.label for cable in silent[:SHOWN])
        more = f" and {len(silent) - SHOWN:,} more" if len(silent) > SHOWN else ""
        first = (silent[0].b, silent[0].b_port)
        count = "1 cable has" if len(silent) == 1 else f"{len(silent):,} cables have"
        self.jobs.append(
            self.places.job(
                "VER013", "unproven", silent, first, f"{count} link, and nothing says where to", severity="info",
                expected="LLDP or a known MAC address at one end", actual=f"{names}{more}",
                fix="start lldpd on the hosts, and fill in MAC addresses in the facts",
            )
        )  # fmt: skip

    def _report_unplanned(self) -> None:
        """Report links at ports of switches that the plan leaves empty; in no scope but that of the devices read."""
        for switch in self.places.switches.values():
            device = self.observed.devices.get(switch.name)
            if device is None or not device.reached:
                continue
            planned = {way.port for way in switch.upstreams}
            planned |= {way.port for way in switch.overlay.externals} if switch.overlay else set()
            for port in device.ports.values():
                end = (switch.name, port.name)
                far = self.links.far.get(end) or self.links.torn.get(end)
                if far is None or end in self.book.partners or port.name in planned or port.name == "mgmt" or end in self.spoken:
                    continue
                self.spoken.update((end, far))
                name = word_end(far) if is_planned(far) else f"{far[0][1:]}, which is not in the plan"
                self.jobs.append(
                    self.places.job(
                        "VER009", "unplanned", [], end, f"{word_end(end)} leads to {name}", severity="warning",
                        expected="nothing", actual=word_end(far), fix=f"unplug it at {self.places.word(end)}, or plan it",
                    )
                )  # fmt: skip
