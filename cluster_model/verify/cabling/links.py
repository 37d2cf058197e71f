"""The links that there are, and how they differ from the cables that were planned. Pure, and linear in the number of cables.

Every port has at most one planned and one real link. Where the two differ, ports form chains that alternate between them: a
closed chain is a set of cables that only have to be exchanged among themselves, an open one begins and ends at ports that are
dark or that nobody planned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cluster_model.plan.model import Cable
from cluster_model.verify.cabling.resolve import UNKNOWN, Directory, End, resolve_port
from cluster_model.verify.observed import Observed


@dataclass(frozen=True, slots=True)
class Links:
    """What leads where: `far` by end, in both directions; `torn` by end what it hears, where the other end hears another."""

    far: dict[End, End]
    torn: dict[End, End]


@dataclass(frozen=True, slots=True)
class Chain:
    """Cables whose ends are mixed up, and the real links among them, in order.

    `links` of a closed chain are as many as its cables. An open chain may begin and end with a link to an end that is no
    planned one. Every link is (end of a cable in the chain, what it leads to).
    """

    cables: tuple[Cable, ...]
    links: tuple[tuple[End, End], ...]
    closed: bool


def find_links(book: Directory, observed: Observed) -> Links:
    """Return the links that the devices report.

    A port is believed about itself. What only one side reports is a link, unless the other side reports something else: then
    the fibres of the link are crossed or one of them tells what was before, and neither is believed.
    """
    heard: dict[End, End] = {}
    for device in observed.devices.values():
        if not device.reached or device.name not in book.names:
            continue
        for port in device.ports.values():
            near = (device.name, port.name)
            ends = resolve_port(book, near, port)
            if ends:
                # The newest that is known: network cards may speak LLDP of their own beside their host.
                heard[near] = next((end for end in ends if is_planned(end)), ends[0])
    claims: dict[End, list[End]] = {}
    for near, far in heard.items():
        claims.setdefault(far, []).append(near)
    far_of: dict[End, End] = {}
    torn: dict[End, End] = {}
    for near, far in heard.items():
        back = heard.get(far)
        if back == near or (back is None and len(claims[far]) == 1):
            far_of[near], far_of[far] = far, near
        else:
            torn[near] = far
    # A port that two others claim and that is silent itself: one of them is right, and it is the one that was planned.
    for far, nears in claims.items():
        planned = book.partners.get(far)
        if far not in heard and len(nears) > 1 and planned is not None and planned[1] in nears and far not in far_of:
            far_of[far], far_of[planned[1]] = planned[1], far
            torn.pop(planned[1], None)
    return Links(far_of, torn)


def find_chains(book: Directory, links: Links, cables: Iterable[Cable]) -> Iterator[Chain]:
    """Yield the chains that touch `cables`, each once, in the order of the first cable; cables that are right are in none."""
    done: set[str] = set()
    for cable in cables:
        a, b = (cable.a, cable.a_port), (cable.b, cable.b_port)
        if cable.label in done or links.far.get(a) == b or not (a in links.far or b in links.far):
            continue
        onward, hops, closed = _walk(book, links, cable, b)
        if closed:
            chain = Chain((cable, *onward), tuple(hops), closed=True)
        else:
            backward, back_hops, _ = _walk(book, links, cable, a)
            turned = tuple((far, near) if far in book.partners else (near, far) for near, far in reversed(back_hops))
            chain = Chain((*reversed(backward), cable, *onward), (*turned, *hops), closed=False)
        done.update(member.label for member in chain.cables)
        yield chain


def _walk(book: Directory, links: Links, start: Cable, end: End) -> tuple[list[Cable], list[tuple[End, End]], bool]:
    """Follow real and planned links in turn from an end of `start`; return the cables and links met, and whether it came back."""
    cables: list[Cable] = []
    hops: list[tuple[End, End]] = []
    while (far := links.far.get(end)) is not None:
        hops.append((end, far))
        met = book.partners.get(far)
        if met is None:
            break
        if met[0].label == start.label:
            return cables, hops, True
        cables.append(met[0])
        end = met[1]
    return cables, hops, False


def is_planned(end: End) -> bool:
    """Return whether an end is on a device of the plan."""
    return not end[0].startswith(UNKNOWN)
