"""What must not be reached: other networks and other planes, tried by hosts that send there on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_interface

from cluster_model.plan.model import ServerPort
from cluster_model.twin.ethernet.fabric import Fabric
from cluster_model.twin.ethernet.routes import Endpoint, Expectations, Pair
from cluster_model.twin.ethernet.trials import NetworkTrials, ask_of
from cluster_model.twin.report import Verdict
from cluster_model.twin.tree import name_device

TABLE = 990
WITHIN_S = 0.8
SAMPLE = 8


def list_foreign(mine: Expectations, others: list[Expectations], count: int = SAMPLE) -> list[Pair]:
    """Return a sample of pairs that must not reach each other: from a network to each other one, and between planes."""
    sources = [end for end in mine.endpoints if not end.purpose and len(end.links) == 1]
    pairs = []
    for other in others:
        for step in range(min(count, len(sources))):
            source = sources[step * len(sources) // min(count, len(sources))]
            pairs += _pick(source, [end for end in other.endpoints if end.server != source.server], step)
    for plane in sorted({end.plane for end in sources})[1:]:
        far = [end for end in mine.endpoints if end.plane == plane]
        for step, source in enumerate([end for end in sources if end.plane != plane][:count]):
            pairs += _pick(source, [end for end in far if end.server != source.server], step)
    return pairs


def _pick(source: Endpoint, targets: list[Endpoint], step: int) -> list[Pair]:
    return [Pair(source, targets[(step * 7 + 3) % len(targets)])] if targets else []


def try_foreign(fabric: Fabric, every: dict[str, NetworkTrials]) -> Iterator[tuple[str, Verdict]]:
    """Yield each network's verdict: whether it carries to another network what a host forces into it.

    The host gets a route for the target by its own gateway, whatever else it would do: what answers then, answers through this
    fabric. A fabric without a route drops it.
    """
    for name, trials in every.items():
        others = [other.expectations for key, other in every.items() if key != name]
        pairs = list_foreign(trials.expectations, others)
        if not pairs:
            continue
        for pair in pairs:
            _force(fabric, pair, add=True)
        answered = trials.prober.ping([ask_of(pair) for pair in pairs], WITHIN_S)
        for pair in pairs:
            _force(fabric, pair, add=False)
        faults = [f"{pair} is answered through {name}" for number, pair in enumerate(pairs) if number in answered]
        yield name, Verdict(f"{len(pairs) - len(answered)} of {len(pairs)} tried stay unanswered", tuple(faults))


def _force(fabric: Fabric, pair: Pair, add: bool) -> None:
    link = pair.source.links[0]
    port = _find_port(fabric, *link.ends[0])
    source, target = pair.source.address, pair.target.address
    rule = f"from {source} to {target} lookup {TABLE} pref 10"
    node = fabric.nodes[pair.source.server]
    if not add:
        node.configure([f"rule del {rule}", f"route flush table {TABLE}"])
        return
    device = name_device(port.name)
    node.configure(
        [
            f"rule add {rule}",
            f"route replace {ip_interface(port.address).network} dev {device} scope link table {TABLE}",
            f"route replace {target} via {port.gateway} dev {device} table {TABLE}",
        ]
    )


def _find_port(fabric: Fabric, server: str, name: str) -> ServerPort:
    return next(port for port in fabric.scope.servers[server].ports if port.name == name)
