"""Trials of a running network: each returns what is wrong, in sentences that name the devices."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import takewhile

from cluster_model.twin.ethernet.fabric import Fabric
from cluster_model.twin.ethernet.router_macs import restore_router_macs
from cluster_model.twin.ethernet.routes import ALIVE, Dead, Expectations, Pair, Table
from cluster_model.twin.ethernet.scope import OUTER, SITE, Link
from cluster_model.twin.probe import Ask, Prober
from cluster_model.twin.report import Verdict
from cluster_model.twin.tree import name_device

PATIENCE_S = 60.0
QUIET_S = 20.0
"""BGP tries again every 10 s (`timers connect 10`): what is still for twice that stays as it is."""
POLL_S = 0.15


@dataclass
class NetworkTrials:
    """Trials of one network. Belongs to one thread.

    Args:
        fabric: the running twin.
        expectations: the plan's word on the network.
        slowness: how many times longer things may take than on a machine of one's own. What must not come is listened for no
            longer for it, but where the processor is emulated (the fabric's `timers`).
    """

    fabric: Fabric
    expectations: Expectations
    slowness: float = 1.0
    prober: Prober = field(init=False)
    put_back: int = field(default=0, init=False)
    """Router MACs that FRR had forgotten when the routes were right the last time; the twin has put them back."""

    def __post_init__(self) -> None:
        self.prober = Prober(self.fabric.nodes)

    @property
    def network(self) -> str:
        """Return the network's name."""
        return self.expectations.network

    def close(self) -> None:
        """Close the sockets."""
        self.prober.close()

    # sessions --------------------------------------------------------------------------------------------------------

    def try_sessions(self, dead: Dead = ALIVE) -> Verdict:
        """Try whether every cabled session is established, with the planned ASN on both ends, and nodes are told nothing."""
        faults, culprits = [], set()
        up = {"fabric": 0, "host": 0}
        links = [link for link in self.expectations.fabric if not dead.has(link)]
        speakers = self.expectations.speakers.values()
        nodes = [link for speaker in speakers for link in speaker.links if not dead.has(link)]
        ends = [(end, far) for link in links for end, far in (link.ends, link.ends[::-1])] + [link.ends[::-1] for link in nodes]
        summaries = {
            name: self.fabric.show(name, "bgpd", "bgp ipv4 unicast summary")
            for name in self.expectations.switches
            if name not in dead.switches
        }
        for name, summary in summaries.items():
            own, planned = summary.get("as"), self.expectations.switches[name].asn
            if own != planned:
                faults.append(f"{name} runs as AS {own}; the plan gives it {planned}")
                culprits.add(name)
        for (name, port), (far, far_port) in ends:
            planned_port = next(p for p in self.expectations.switches[name].ports if p.name == port)
            key = planned_port.peer_address or name_device(port)
            peer = summaries[name].get("peers", {}).get(key)
            if peer is None:
                faults.append(f"{name}:{port} has no session to {far}:{far_port} in its configuration")
                culprits.add(name)
            elif peer.get("state") != "Established":
                faults.append(f"{name}:{port} to {far}:{far_port} is {peer.get('state')}")
            elif peer.get("remoteAs") != planned_port.peer_asn:
                faults.append(
                    f"{name}:{port} hears AS {peer.get('remoteAs')} from {far}:{far_port}; planned is {planned_port.peer_asn}"
                )
                culprits.add(far)
            else:
                up[planned_port.use] += 1
        for link, told in self._list_told(nodes):
            faults.append(f"{link.b} tells {link.a} of {told} prefixes; planned is none")
            culprits.add(link.b)
        found = f"{up['fabric']} of {2 * len(links)} ends established with the planned ASN"
        found += f", {up['host']} of {len(nodes)} with nodes" if nodes else ""
        return Verdict(found, tuple(faults), frozenset(culprits))

    def _list_told(self, nodes: list[Link]) -> Iterator[tuple[Link, int]]:
        """Yield the cables by which a leaf tells a node of prefixes, and of how many."""
        for name in dict.fromkeys(link.a for link in nodes):
            speaker = self.expectations.speakers[name]
            peers = self.fabric.show(name, "bgpd", "bgp ipv4 unicast summary").get("peers", {})
            for link, (address, _) in zip(speaker.links, speaker.leafs, strict=True):
                if link in nodes and (told := peers.get(address, {}).get("pfxRcd", 0)):
                    yield link, told

    def try_until_right(self, trial: Callable[[], Verdict], within_s: float = 15.0) -> Verdict:
        """Repeat a trial until it finds no fault, or time is up; return what it found last."""
        deadline = time.monotonic() + within_s * self.slowness
        while (verdict := trial()).faults and time.monotonic() < deadline:
            time.sleep(0.5)
        return verdict

    def try_bfd(self, dead: Dead = ALIVE) -> Verdict:
        """Try whether BFD watches every session."""
        faults, up, wanted = [], 0, 0
        for name in self.expectations.switches:
            if name in dead.switches:
                continue
            peers = self.fabric.show(name, "bfdd", "bfd peers")
            live = sum(peer.get("status") == "up" for peer in peers) if isinstance(peers, list) else 0
            planned = sum(not dead.has(link) and name in {link.a, link.b} for link in self.expectations.fabric)
            up, wanted = up + min(live, planned), wanted + planned
            if live != planned:
                faults.append(f"{name} has {live} BFD sessions up; its cables make it {planned}")
        return Verdict(f"{up} of {wanted} ends up", tuple(faults))

    # routes ----------------------------------------------------------------------------------------------------------

    def try_routes(self, dead: Dead = ALIVE) -> Verdict:
        """Try whether every switch forwards by exactly the planned prefixes over exactly the planned ports."""
        tables, faults, culprits, right = self.expectations.tables(dead), [], set(), 0
        missing: dict[str, list[str]] = {}
        unplanned: dict[str, list[str]] = {}
        for name, planned in tables.items():
            actual = self.fabric.read_routes(name)
            right += sum(actual.get(prefix) == ports for prefix, ports in planned.items())
            for prefix, ports in planned.items():
                have = actual.get(prefix, frozenset())
                if not have:
                    missing.setdefault(prefix, []).append(name)
                elif have != ports:
                    faults.append(
                        f"{name} reaches {prefix} over {len(have)} ports, planned {len(ports)}: "
                        + ", ".join(
                            [f"missing {port}" for port in sorted(ports - have)][:3]
                            + [f"unplanned {port}" for port in sorted(have - ports)][:3]
                        )
                    )
            for prefix in set(actual) - set(planned):
                unplanned.setdefault(prefix, []).append(name)
        for prefix, names in missing.items():
            owner = self.expectations.owner_of(prefix)
            whose = f", which {owner} shall announce," if owner else ""
            culprits |= {owner} - {""}
            faults.insert(0, f"{prefix}{whose} is missing on {_name_some(names)}")
        for prefix, names in sorted(unplanned.items()):
            origin, foreign = self._find_origin(names[0], prefix)
            culprits |= {origin} - {""}
            does = f"takes {prefix} from AS {foreign}" if origin and foreign else f"announces {prefix}"
            faults.insert(0, f"{origin or 'somebody'} {does}, which it shall not: it is on {_name_some(names)}")
        total = sum(len(planned) for planned in tables.values())
        hops = sum(len(ports) for planned in tables.values() for ports in planned.values())
        found = f"{right} of {total} routes, over {hops} next hops in all" if not faults else f"{right} of {total} routes"
        return Verdict(found, tuple(faults), frozenset(culprits))

    def _find_origin(self, name: str, prefix: str) -> tuple[str, str]:
        """Return the switch that a prefix comes from, by the AS path that a switch has for it; empty where unknown.

        Where that switch has it from one that is no switch of the network, its AS number comes with it.
        """
        bare, _, vrf = prefix.partition(" in VRF ")
        device = self.fabric.find_vrf(name, vrf) if vrf else None
        paths = self.fabric.show(name, "bgpd", f"bgp {f'vrf {device.name} ' if device else ''}ipv4 unicast {bare}").get(
            "paths", []
        )
        path = str(paths[0].get("aspath", {}).get("string", "")).split() if paths else []
        owners = {str(switch.asn): switch.name for switch in self.expectations.switches.values()}
        inside = list(takewhile(owners.__contains__, path))
        foreign = path[len(inside)] if len(inside) < len(path) else ""
        if not inside:
            return (name if foreign else ""), foreign
        return owners[inside[-1]], foreign

    def routes_are_right(self, dead: Dead) -> bool:
        """Return whether every living switch forwards as planned, at this moment."""
        return all(self.fabric.read_routes(name) == planned for name, planned in self.expectations.tables(dead).items())

    def wait_for_routes(self, dead: Dead, within_s: float = PATIENCE_S) -> float | None:
        """Wait until the network forwards as planned; return the seconds that it took, or None.

        None also where nothing has changed for QUIET_S: it will not come. Router MACs that FRR forgot are put back then.
        """
        begin = changed = time.monotonic()
        everything = self.expectations.tables(dead)
        pending, before = dict(everything), dict[str, Table]()
        within_s, quiet_s, self.put_back = within_s * self.slowness, QUIET_S * self.slowness, 0
        while (now := time.monotonic()) - begin < within_s and now - changed < quiet_s:
            actual = {name: self.fabric.read_routes(name) for name in pending}
            pending = {name: planned for name, planned in pending.items() if actual[name] != planned}
            if not pending:
                if self.routes_are_right(dead):
                    took = time.monotonic() - begin
                    with ThreadPoolExecutor(2) as pool:
                        self.put_back = sum(pool.map(lambda name: restore_router_macs(self.fabric, name), everything))
                    return took
                pending = dict(everything)
            if actual != before:
                before, changed = actual, now
            time.sleep(POLL_S)
        return None

    # hosts -----------------------------------------------------------------------------------------------------------

    def try_reach(self, dead: Dead = ALIVE) -> Verdict:
        """Try whether every host reaches every host that it should, and none that it cannot with what is dead."""
        yes: list[Pair] = []
        no: list[Pair] = []
        for pair in self.expectations.list_pairs():
            expected = self.expectations.reaches(pair, dead)
            if expected is not None:
                (yes if expected else no).append(pair)
        answered = self._ping(yes, 4.0 * self.slowness)
        faults = [f"{pair} has no answer" for number, pair in enumerate(yes) if number not in answered]
        leaking = self._ping(no, 0.6 * self.fabric.timers)
        faults += [f"{pair} is answered, over a path that is not planned" for number, pair in enumerate(no) if number in leaking]
        cut = f", {len(no)} cut off as planned" if no else ""
        return Verdict(f"{len(answered)} of {len(yes)} pairs{cut}", tuple(faults))

    def try_gateways(self) -> Verdict:
        """Try whether every gateway answers the hosts that use it, and the site's router those behind a default route."""
        gateways = self.expectations.list_gateways()
        asks = [(Ask(end.server, end.address, gateway), f"{link.b}:{link.b_port}") for end, gateway, link in gateways]
        ways = [way.gateway for switch in self.expectations.switches.values() for way in switch.upstreams]
        if SITE in self.fabric.nodes and ways:
            asks += [
                (Ask(end.server, end.address, way), "the site's router")
                for end, _, _ in gateways
                if end.route == "0.0.0.0/0"
                for way in ways
            ]
        answered = self.prober.ping([ask for ask, _ in asks], 4.0 * self.slowness)
        faults = [
            f"{ask.machine} ({ask.source}) has no answer from its gateway {ask.target} on {where}"
            for number, (ask, where) in enumerate(asks)
            if number not in answered
        ]
        return Verdict(f"{len(answered)} of {len(asks)} answer", tuple(faults))

    def _ping(self, pairs: list[Pair], within_s: float) -> set[int]:
        return self.prober.ping([ask_of(pair) for pair in pairs], within_s) if pairs else set()

    # cables ----------------------------------------------------------------------------------------------------------

    def try_cables(self) -> Verdict:
        """Try whether LLDP sees the planned neighbour on every port of every switch."""
        seen = {name: self.fabric.read_neighbours(name) for name in self.expectations.switches}
        faults, wrong, culprits, right = [], {}, set(), 0
        links = [link for link in self.expectations.links if link.kind not in OUTER]
        macs = {(s.name, p.name): p.mac for s in self.expectations.scope.servers.values() for p in s.ports}
        for link in links:
            for (name, port), (far, far_port) in (link.ends, link.ends[::-1]):
                if name not in seen:
                    continue
                device, names = seen[name].get(name_device(port), ("", set()))
                if not device:
                    faults.append(f"{name}:{port} hears nobody; planned is {far}:{far_port}")
                elif device == far and names & {name_device(far_port), macs.get((far, far_port), "-")}:
                    right += 1
                else:
                    actual = next((word for word in sorted(names) if ":" not in word), min(names, default=""))
                    wrong[name, port] = (device, actual)
                    culprits |= {name, far, device}
                    faults.append(f"{name}:{port} is on {device}:{actual}; planned is {far}:{far_port}")
        total = sum((link.a in seen) + (link.b in seen) for link in links)
        faults = [*self._name_swaps(wrong), *faults]
        return Verdict(f"{right} of {total} ends have the planned neighbour", tuple(faults), frozenset(culprits))

    def _name_swaps(self, wrong: dict[tuple[str, str], tuple[str, str]]) -> list[str]:
        """Return a sentence for each two cables that stand in each other's place."""
        planned = {end: far for link in self.expectations.links for end, far in (link.ends, link.ends[::-1])}
        said = set()
        for end, actual in wrong.items():
            for other, others in wrong.items():
                if end < other and _same(others, planned[end]) and _same(actual, planned[other]):
                    said.add(f"swapped: the cables at {end[0]}:{end[1]} and {other[0]}:{other[1]} stand in each other's place")
        return sorted(said)


def _same(seen: tuple[str, str], planned: tuple[str, str]) -> bool:
    return seen == (planned[0], name_device(planned[1]))


def ask_of(pair: Pair) -> Ask:
    """Return the ping of a pair."""
    return Ask(pair.source.server, pair.source.address, pair.target.address)


def _name_some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


TRIALS: tuple[tuple[str, Callable[[NetworkTrials], Verdict]], ...] = (
    ("sessions", lambda trials: trials.try_until_right(trials.try_sessions)),
    ("BFD", lambda trials: trials.try_until_right(trials.try_bfd)),
    ("routes and equal paths", lambda trials: trials.try_until_right(trials.try_routes)),
    ("gateways", lambda trials: trials.try_gateways()),
    ("hosts reach hosts", lambda trials: trials.try_reach()),
    ("LLDP neighbours are the cables", lambda trials: trials.try_until_right(trials.try_cables, 30.0)),
)
"""Trials of a whole network, in their order."""
