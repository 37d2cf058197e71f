"""Trials of a network with tenants: EVPN as its daemons tell it, Ethernet segments, and who meets whom."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from ipaddress import ip_address, ip_network
from typing import Any

from cluster_model.plan.model import Switch
from cluster_model.plan.model.overlay import Overlay
from cluster_model.twin.ethernet.routes import ALIVE, Dead, Endpoint, Pair
from cluster_model.twin.ethernet.trials import NetworkTrials, ask_of
from cluster_model.twin.report import Verdict
from cluster_model.twin.tenancy.delivery import deliver, list_holders
from cluster_model.twin.tenancy.tenants import TenantExpectations
from cluster_model.twin.tree import name_device


def _plan(trials: NetworkTrials) -> TenantExpectations:
    assert isinstance(trials.expectations, TenantExpectations)
    return trials.expectations


def _list_edges(trials: NetworkTrials, dead: Dead = ALIVE) -> Iterator[tuple[Switch, Overlay]]:
    """Yield the switches that are ends of tunnels, and live."""
    expectations = _plan(trials)
    for name, overlay in expectations.overlays.items():
        if overlay.vtep and name not in dead.switches:
            yield expectations.switches[name], overlay


# sessions -----------------------------------------------------------------------------------------------------------------


def try_evpn_sessions(trials: NetworkTrials) -> Verdict:
    """Try whether EVPN runs over every cable of the fabric, and every external peer's session is up in its VRF."""
    expectations, faults, up, wanted = _plan(trials), [], 0, 0
    for name, overlay in expectations.overlays.items():
        peers = trials.fabric.show(name, "bgpd", "bgp l2vpn evpn summary").get("peers", {})
        for link in expectations.fabric:
            for (own, port), (far, _) in (link.ends, link.ends[::-1]):
                if own == name:
                    wanted += 1
                    planned = next(p for p in expectations.switches[name].ports if p.name == port)
                    state = peers.get(planned.peer_address or name_device(port), {}).get("state", "not there")
                    up += state == "Established"
                    if state != "Established":
                        faults.append(f"{name}:{port} to {far}: EVPN is {state}")
        for external in overlay.externals:
            device = trials.fabric.find_vrf(name, external.vrf)
            what = f"bgp vrf {device.name if device else external.vrf} ipv4 unicast summary"
            peer = trials.fabric.show(name, "bgpd", what).get("peers", {}).get(external.peer_address, {})
            wanted += 1
            up += peer.get("state") == "Established"
            if peer.get("state") != "Established":
                faults.append(f"{name}:{external.port} to external peer {external.peer}: {peer.get('state', 'not there')}")
    return Verdict(f"{up} of {wanted} ends up, external peers' in their VRFs", tuple(faults))


# VNIs and routes ------------------------------------------------------------------------------------------------------


def try_vnis(trials: NetworkTrials, dead: Dead = ALIVE) -> Verdict:
    """Try whether each switch has exactly the planned VNIs, each in its VRF, and floods to exactly the planned others."""
    edges = list(_list_edges(trials, dead))
    faults, culprits, right, total = [], set(), 0, 0
    for switch, overlay in edges:
        planned = _list_vnis(overlay)
        actual = _read_vnis(trials, switch.name)
        total += len(planned)
        for vni, (name, vrf) in planned.items():
            far = {other.vtep for _, other in edges if vni in {vlan.vni for vlan in other.vlans}} - {overlay.vtep}
            if vni not in actual:
                strange = sorted(set(actual) - set(planned))
                instead = f"; VNI {strange[0]}, which the plan does not give it, is there" if strange else ""
                faults.append(f"{switch.name} lacks VNI {vni} ({name}){instead}")
                culprits.add(switch.name)
                continue
            found_vrf, found_far = actual[vni]
            if found_vrf not in {vrf, f"Vrf{vrf}"}:
                faults.append(f"{switch.name} has VNI {vni} ({name}) in VRF {found_vrf}; planned is {vrf}")
                culprits.add(switch.name)
            elif found_far is not None and found_far != far:
                missing, more = sorted(far - found_far), sorted(found_far - far)
                words = [f"not to {', '.join(missing)}"] if missing else []
                words += [f"to {', '.join(more)}, which is not planned"] if more else []
                faults.append(f"{switch.name} floods VNI {vni} ({name}) {' and '.join(words)}")
            else:
                right += 1
        for vni in sorted(set(actual) - set(planned)):
            faults.append(f"{switch.name} has VNI {vni}, which the plan does not give it")
            culprits.add(switch.name)
    return Verdict(f"{right} of {total} on {len(edges)} switches", tuple(faults), frozenset(culprits))


def _list_vnis(overlay: Overlay) -> dict[int, tuple[str, str]]:
    """Return (name, VRF) by VNI."""
    return {vlan.vni: (vlan.name, vlan.vrf) for vlan in overlay.vlans} | {
        vrf.vni: (f"VRF {vrf.name}", vrf.name) for vrf in overlay.vrfs if vrf.vni
    }


def _read_vnis(trials: NetworkTrials, name: str) -> dict[int, tuple[str, set[str] | None]]:
    """Return (VRF, far ends that it floods to; None for the VNI of a VRF) by VNI, as zebra tells it."""
    body = trials.fabric.show(name, "zebra", "evpn vni detail")
    rows: list[dict[str, Any]] = list(body.values()) if isinstance(body, dict) else body
    found: dict[int, tuple[str, set[str] | None]] = {}
    for row in rows:
        far = row.get("numRemoteVteps", row.get("remoteVteps"))
        addresses = {item if isinstance(item, str) else item.get("ip", "") for item in far} if isinstance(far, list) else set()
        is_layer_3 = row.get("type") == "L3"
        found[int(row["vni"])] = (row.get("tenantVrf", row.get("vrf", "")), None if is_layer_3 else addresses)
    return found


def try_evpn_routes(trials: NetworkTrials) -> Verdict:
    """Try whether BGP has exactly the planned routes of types 1, 3, 4 and 5, and those of all machines (type 2).

    They are read where all pass: on a spine; without one, on each edge.
    """
    expectations = _plan(trials)
    planned: dict[int, set[str]] = defaultdict(set)
    macs = {
        (server.name, bond.name): (trials.fabric.nodes[server.name].root / f"sys/class/net/{bond.name}/address")
        .read_text()
        .strip()
        for server in expectations.scope.servers.values()
        for bond in server.bonds
        if {link.a_port for link in expectations.links if link.a == server.name} & set(bond.ports)
    }
    for switch, overlay in _list_edges(trials):
        for kind, routes in _list_routes(expectations, switch, overlay, macs).items():
            planned[kind] |= routes
    spines = [name for name, switch in expectations.switches.items() if switch.role == "spine"]
    faults, culprits = [], set()
    actual = _read_routes(trials, spines[0] if spines else next(iter(expectations.switches)))
    owners = {overlay.vtep: switch.name for switch, overlay in _list_edges(trials)}
    owners |= {switch.loopback.partition("/")[0]: switch.name for switch, _ in _list_edges(trials)}
    for kind in sorted(planned):
        for route in sorted(planned[kind] - actual[kind]):
            owner = owners.get(re.split("[: ]", route)[0], "")
            faults.append(f"no route of type {kind} {route} from {owner or 'anybody'}")
            culprits |= {owner} - {""}
    for kind in (1, 3, 4, 5):
        for route in sorted(actual[kind] - planned[kind]):
            owner = owners.get(re.split("[: ]", route)[0], "")
            faults.append(f"{owner or 'somebody'} announces a route of type {kind} that is not planned: {route}")
            culprits |= {owner} - {""}
    counts = ", ".join(
        f"{len(planned[kind] & actual[kind])} of {len(planned[kind])} type {kind}" for kind in sorted(planned) if planned[kind]
    )
    return Verdict(counts or "none planned", tuple(faults), frozenset(culprits))


def _list_routes(
    expectations: TenantExpectations, switch: Switch, overlay: Overlay, macs: dict[tuple[str, str], str]
) -> dict[int, set[str]]:
    """Return what a switch shall announce by type, written as `RD prefix` in FRR's way; type 1 and 4 have RDs of its choice.

    A machine on an Ethernet segment has no RD here, but its number: one leaf at least shall announce it. The other one does so on
    its behalf only where the kernel keeps neighbours that another leaf has learnt.
    """
    found: dict[int, set[str]] = defaultdict(set)
    vtep, router = overlay.vtep, switch.loopback.partition("/")[0]
    for vlan in overlay.vlans:
        found[3].add(f"{vlan.rd} [3]:[0]:[32]:[{vtep}]")
    announced = expectations.announced(switch.name)
    for vrf in overlay.vrfs:
        for prefix in announced.get(vrf.name, ()):
            network = ip_network(prefix)
            found[5].add(f"{vrf.rd} [5]:[0]:[{network.prefixlen}]:[{network.network_address}]")
    rds = {vlan.vlan: vlan.rd for vlan in overlay.vlans}
    for server in expectations.scope.servers.values():
        for bond in server.bonds:
            mac = macs.get((server.name, bond.name), "")
            if mac and any(port.peer == switch.name for port in server.ports if port.name in bond.ports):
                found[2] |= {
                    f"{_shorten(rds[vlan.vlan], overlay)} {mac} {vlan.address.partition('/')[0]}"
                    for vlan in bond.vlans
                    if vlan.address and vlan.vlan in rds
                }
    if overlay.homing == "esi":
        present = {link.a for link in expectations.links}
        for segment in overlay.bonds:
            if segment.esi and segment.server in present:
                found[4].add(f"{router} [4]:[{segment.esi}]:[32]:[{vtep}]")
                found[1].add(f"{router} [1]:[{segment.esi}]")
    return found


def _shorten(rd: str, overlay: Overlay) -> str:
    return rd.partition(":")[2] if overlay.homing == "esi" else rd


_ROUTE = re.compile(r"^\[(\d)\]:")
_MACHINE = re.compile(r"^\[2\]:\[0\]:\[48\]:\[([0-9a-f:]+)\](?::\[32\]:\[([0-9.]+)\])?")


def _read_routes(trials: NetworkTrials, name: str) -> dict[int, set[str]]:
    """Return the EVPN routes that a switch has, by type, as _list_routes writes them."""
    found: dict[int, set[str]] = defaultdict(set)
    body = trials.fabric.show(name, "bgpd", "bgp l2vpn evpn")
    for rd, routes in body.items():
        if not isinstance(routes, dict):
            continue
        for prefix in routes:
            kind = _ROUTE.match(prefix)
            if kind is None:
                continue
            number = int(kind[1])
            machine = _MACHINE.match(prefix)
            if machine and machine[2]:
                found[2] |= {f"{name} {machine[1]} {machine[2]}" for name in (rd, rd.partition(":")[2])}
            elif number in {1, 4}:
                found[number].add(f"{rd.partition(':')[0]} {_without_tag(prefix)}")
            elif number != 2:
                found[number].add(f"{rd} {prefix}")
    return found


def _without_tag(prefix: str) -> str:
    """Return a route of type 1 by its segment alone, whichever its Ethernet tag: per segment that is all ones, per VNI 0."""
    return re.sub(r"^\[1\]:\[\d+\]:(\[[0-9a-f:]+\]).*", r"[1]:\1", prefix)


# Ethernet segments --------------------------------------------------------------------------------------------------------


def try_segments(trials: NetworkTrials, dead: Dead = ALIVE) -> Verdict:
    """Try whether each Ethernet segment has one designated forwarder among its living leafs: the one with the lowest address.

    All have the same preference, FRR's own (draft-ietf-bess-evpn-pref-df, section 4.1).
    """
    expectations, faults = _plan(trials), []
    leafs: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for switch, overlay in _list_edges(trials, dead):
        for bond in overlay.bonds:
            alive = any(link.a == bond.server and link.b == switch.name and not dead.has(link) for link in expectations.links)
            if bond.esi and alive:
                leafs[bond.esi].append((overlay.vtep, switch.name))
    told = {name: _read_segments(trials, name) for name in {name for ends in leafs.values() for _, name in ends}}
    right = 0
    for esi, ends in leafs.items():
        chosen = min(ends, key=lambda end: ip_address(end[0]))[1]
        forwarders = [name for _, name in ends if esi in told[name] and "nonDF" not in told[name][esi]]
        missing = [name for _, name in ends if esi not in told[name]]
        if missing:
            faults.append(f"{', '.join(missing)} has no Ethernet segment {esi}")
        elif forwarders != [chosen]:
            faults.append(f"{esi} is forwarded to by {', '.join(forwarders) or 'nobody'}; it shall be {chosen}")
        else:
            right += 1
    return Verdict(f"{right} of {len(leafs)} segments have the planned designated forwarder", tuple(faults))


def _read_segments(trials: NetworkTrials, name: str) -> dict[str, set[str]]:
    """Return the flags of each Ethernet segment, as zebra tells them."""
    body = trials.fabric.show(name, "zebra", "evpn es")
    rows = body if isinstance(body, list) else list(body.values())
    return {row["esi"]: set(row.get("flags", ())) for row in rows if isinstance(row, dict) and "esi" in row}


# who meets whom -----------------------------------------------------------------------------------------------------------


def try_shared_addresses(trials: NetworkTrials) -> Verdict:
    """Try whether what is sent to an address that several tenants have arrives at the sender's own tenant's machine alone."""
    expectations = _plan(trials)
    pairs = expectations.list_shared()
    received = _deliver(trials, pairs, 3.0)
    faults = [
        f"{pair} arrives at {', '.join(sorted(got)) or 'nobody'}"
        for pair, got in zip(pairs, received, strict=True)
        if set(got) != {pair.target.server}
    ]
    right = sum(set(got) == {pair.target.server} for pair, got in zip(pairs, received, strict=True))
    return Verdict(f"{right} of {len(pairs)} datagrams went to the tenant's own machine", tuple(faults))


def try_outside(trials: NetworkTrials) -> Verdict:
    """Try whether tenants leave by their external peers with planned addresses: translated ones, or their own."""
    expectations = _plan(trials)
    outside = {target.server for target, _ in expectations.list_outside()}
    pairs = [pair for pair in expectations.list_pairs() if pair.target.server in outside]
    received = _deliver(trials, pairs, 3.0)
    faults, right = [], 0
    for pair, got in zip(pairs, received, strict=True):
        tenant = expectations.tenants[expectations.places[pair.source].tenant]
        peer = expectations.peers[pair.target.server]
        allowed = [nat.prefix for nat in tenant.nat if nat.peer == peer.name] or [f"{pair.source.address}/32"]
        address = got.get(pair.target.server, "")
        if address and any(ip_address(address) in ip_network(prefix) for prefix in allowed):
            right += 1
        elif address:
            faults.append(
                f"{pair.source.server} of {tenant.name} reaches {peer.name} as {address}; planned is {', '.join(allowed)}"
            )
        else:
            faults.append(f"{pair.source.server} ({pair.source.address}) does not reach {pair.target.address} behind {peer.name}")
    return Verdict(f"{right} of {len(pairs)} flows leave with a planned address", tuple(faults))


def try_strangers(trials: NetworkTrials) -> Verdict:
    """Try whether nothing that is sent to a tenant or peer that is none of the sender's business arrives there."""
    pairs, unanswered = _plan(trials).list_strangers()
    received = _deliver(trials, pairs, 1.5, is_wanted=False)
    faults = [
        f"{pair} arrives at {pair.target.server}" for pair, got in zip(pairs, received, strict=True) if pair.target.server in got
    ]
    answered = trials.prober.ping([ask_of(pair) for pair in unanswered], 0.6 * trials.fabric.timers) if unanswered else set()
    faults += [f"{pair} is answered" for number, pair in enumerate(unanswered) if number in answered]
    found = f"{len(pairs) + len(unanswered) - len(faults)} of {len(pairs) + len(unanswered)} tried get nowhere, or no answer"
    return Verdict(found, tuple(faults))


def _deliver(trials: NetworkTrials, pairs: list[Pair], within_s: float, is_wanted: bool = True) -> list[dict[str, str]]:
    expectations = _plan(trials)
    ends: list[Endpoint] = [*expectations.endpoints, *(end for end, _ in expectations.list_outside())]
    holders = list_holders([(end.server, end.address) for end in ends])
    within_s *= trials.slowness if is_wanted else trials.fabric.timers
    return deliver(trials.fabric.nodes, [ask_of(pair) for pair in pairs], holders, within_s, is_wanted)


def try_standing(trials: NetworkTrials, dead: Dead) -> Verdict:
    """Try what EVPN shall say while something is dead: tunnels to the living, other designated forwarders."""
    if not isinstance(trials.expectations, TenantExpectations):
        return Verdict("")
    verdicts = [trials.try_until_right(lambda: try_vnis(trials, dead))]
    if _has_segments(trials):
        verdicts.append(trials.try_until_right(lambda: try_segments(trials, dead)))
    faults = tuple(fault for verdict in verdicts for fault in verdict.faults)
    return Verdict(verdicts[-1].found if len(verdicts) > 1 else "", faults)


def _has_segments(trials: NetworkTrials) -> bool:
    return any(bond.esi for overlay in _plan(trials).overlays.values() for bond in overlay.bonds)


# all of them --------------------------------------------------------------------------------------------------------------


def list_overlay_trials(trials: NetworkTrials) -> list[tuple[str, Callable[[NetworkTrials], Verdict]]]:
    """Return the trials of a network with tenants; none for others."""
    expectations = trials.expectations
    if not isinstance(expectations, TenantExpectations):
        return []

    def patient(trial: Callable[[NetworkTrials], Verdict]) -> Callable[[NetworkTrials], Verdict]:
        return lambda trials: trials.try_until_right(lambda: trial(trials))

    found = [("EVPN and external sessions", patient(try_evpn_sessions)), ("VNIs in their VRFs", patient(try_vnis))]
    if any(overlay.vtep for overlay in expectations.overlays.values()):
        found.append(("EVPN routes", patient(try_evpn_routes)))
    if _has_segments(trials):
        found.append(("designated forwarders", patient(try_segments)))
    if expectations.list_shared():
        found.append(("shared addresses stay apart", try_shared_addresses))
    if expectations.peers:
        found.append(("leaving by external peers", try_outside))
    if any(expectations.list_strangers()):
        found.append(("tenants that do not meet", try_strangers))
    return found
