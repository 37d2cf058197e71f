"""What to do about a chain of mixed-up cables."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.plan.model import Cable
from cluster_model.verify.cabling.links import Chain, is_planned
from cluster_model.verify.cabling.places import Job, Places, word_end
from cluster_model.verify.cabling.resolve import Directory, End

Move = tuple[End, End, Cable]
"""Take the plug of this cable out of the first port, and put it into the second."""


def judge_chain(places: Places, book: Directory, chain: Chain) -> Iterator[Job]:
    """Yield the jobs of a chain: one for a closed chain (VER001, VER002), one per link that is wrong for an open one.

    Cables of an open chain that have no link left are in no job.
    """
    if chain.closed:
        yield _judge_ring(places, book, chain)
        return
    subjects: set[str] = set()
    for near, far in chain.links:
        choice = [end for end in (near, far) if end in book.partners]
        fresh = [end for end in choice if book.partners[end][0].label not in subjects] or choice
        # A cable is called by its end nearer the hosts, so a link belongs to the cable whose near end it holds.
        end = next((end for end in fresh if is_near(book, end)), fresh[0])
        subjects.add(book.partners[end][0].label)
        yield _judge_link(places, book, end, far if end == near else near)


def is_near(book: Directory, end: End) -> bool:
    """Return whether an end is the one that its cable is called by."""
    cable = book.partners[end][0]
    return end == (cable.a, cable.a_port)


def _judge_link(places: Places, book: Directory, near: End, far: End) -> Job:
    """Return the job of one link that leads from a planned end to the wrong place."""
    cable, right = book.partners[near]
    cross = places.cross(near, far) or places.cross(far, near)
    fix = f"move the plug in {places.word(far)} to {places.word(right)} (label {cable.label})"
    if not is_planned(far):
        id_, kind, what = "VER008", "unknown neighbour", f"leads to {far[0][1:]}, which is not in the plan"
        fix = f"follow the cable in {places.word(near)}, and plug it into {places.word(right)} (label {cable.label})"
    elif far[0] == right[0]:
        id_, kind, what = "VER004", "wrong port", f"is in {far[1]} of {far[0]}"
    elif cross:
        id_, kind, what = "VER003", "wrong rail" if cross.startswith("rail") else "wrong plane", f"is on {far[0]}: {cross}"
    else:
        id_, kind, what = "VER005", "wrong device", f"leads to {far[0]}"
    owner = book.partners.get(far)
    taken = f", the place of {owner[0].label}" if owner else ""
    stand = far if is_planned(far) else near
    return places.job(
        id_, kind, [cable], stand, f"{word_end(near)} {what}", expected=word_end(right), actual=f"{word_end(far)}{taken}", fix=fix
    )


def _judge_ring(places: Places, book: Directory, chain: Chain) -> Job:
    moves = plan_moves(places, book, chain)
    stand = moves[0][0]
    labels = [cable.label for cable in chain.cables]
    crosses = [cross for near, far in chain.links if (cross := places.cross(near, far) or places.cross(far, near))]
    note = f" ({'; '.join(dict.fromkeys(crosses))})" if crosses else ""
    actual = "; ".join(f"{word_end(near)} leads to {word_end(far)}" for near, far in sorted(_near_first(book, chain))) + note
    expected = "; ".join(f"{word_end((cable.a, cable.a_port))} to {word_end((cable.b, cable.b_port))}" for cable in chain.cables)
    if len(chain.cables) == 2:
        first, second = moves
        return places.job(
            "VER001", "swapped pair", chain.cables, stand, f"{labels[0]} and {labels[1]} are exchanged",
            expected=expected, actual=actual,
            fix=f"exchange the plugs in {places.word(first[0])} and {_word_beside(places, second[0], first[0])} "
            f"(labels {first[2].label} and {second[2].label})",
        )  # fmt: skip
    steps = "; ".join(
        f"{places.word(old)} to {_word_beside(places, new, old)} (label {cable.label})" for old, new, cable in moves
    )
    return places.job(
        "VER002", f"ring of {len(labels)}", chain.cables, stand,
        f"{len(labels)} cables are exchanged in a ring: {', '.join(labels)}",
        expected=expected, actual=actual, fix=f"move the plug in {steps}",
    )  # fmt: skip


def _near_first(book: Directory, chain: Chain) -> Iterator[tuple[End, End]]:
    for near, far in chain.links:
        yield (near, far) if is_near(book, near) or not is_near(book, far) else (far, near)


def _word_beside(places: Places, end: End, beside: End) -> str:
    """Return an end as one walks to it, shortened to the port where one stands at its device already."""
    return end[1] if end[0] == beside[0] else places.word(end)


def plan_moves(places: Places, book: Directory, chain: Chain) -> list[Move]:
    """Return the moves that put a closed chain right, with as few walks as possible.

    Either all far ends are moved, or all near ones: whichever lie closer together. Where near ends hang on near ends, the real
    cables have no far end to go by, and each link keeps the first of its ends.
    """
    if all(is_near(book, near) != is_near(book, far) for near, far in chain.links):
        options = [[_move_end(book, link, near=near) for link in chain.links] for near in (True, False)]
    else:
        options = [[_move(book, link, keep) for link in chain.links] for keep in (0, 1)]
    return min(options, key=lambda way: (len({move[0][0] for move in way}), len({places.rack(move[0][0])[0] for move in way})))


def _move(book: Directory, link: tuple[End, End], keep: int) -> Move:
    kept, moved = link[keep], link[1 - keep]
    cable, right = book.partners[kept]
    return moved, right, cable


def _move_end(book: Directory, link: tuple[End, End], *, near: bool) -> Move:
    """Return the move of a link between a near and a far end that keeps its near (or its far) end."""
    return _move(book, link, 0 if is_near(book, link[0]) == near else 1)
