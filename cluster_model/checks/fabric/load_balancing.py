# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about how traffic is spread over equal paths. Part of the ROC family."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model import Network

FEATURES = {"dynamic": "dynamic_load_balancing", "adaptive": "adaptive_routing"}
CHIPS = {
    "dynamic_load_balancing": "models with asic.dynamic_load_balancing",
    "adaptive_routing": "links between switches at the asic.adaptive_routing_gbps of their model",
}
"""What the chips have to have, by feature of the NOS."""


def _balanced(design: Design) -> Iterator[tuple[Network, str]]:
    """Yield each Ethernet network that asks for more than ECMP, with the intent path."""
    for network in design.routed:
        if network.load_balancing != "ecmp":
            yield network, f"networks.{network.name}.load_balancing"


class LoadBalancingSupport(Rule):
    """Balance load only in ways that the switches have.

    What it checks:
        `load_balancing: dynamic` wants the feature dynamic_load_balancing of the NOS and of the chip of every switch between
        which there are links. `adaptive` wants adaptive_routing of the NOS, RoCE, and links between switches at speeds that the
        chip's `adaptive_routing_gbps` lists. InfiniBand takes neither: its subnet manager routes.

    Why it matters:
        Where a switch of the fabric lacks it, nothing is configured, or the switch refuses the line. Flows collide on links as
        before, and hosts are tuned for a fabric that is not there.

    How to fix:
        Set `load_balancing: ecmp`, or choose another `nos`, model or `fabric_speed_gbps`. If your model's chip does it, say so in
        a catalogue file of your own.

    Source:
        `features` of templates/switch/NOS/platform.yml; `asic.dynamic_load_balancing` and `asic.adaptive_routing_gbps` of the
        model; Cumulus Linux, Equal Cost Multipath Load Sharing, Adaptive Routing (RoCE traffic, Spectrum-4, 200 and 400 Gb/s).
    """

    id, title = "ROC014", "load balancing that the switches lack"
    asks = ("dynamic_load_balancing", "adaptive_routing")

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network in design.plan.networks:
            if network.technology == "infiniband" and network.load_balancing != "ecmp":
                yield self._refuse(
                    network, f"{network.name} is InfiniBand, whose routes are the subnet manager's", "no load_balancing"
                )
        for network, _ in _balanced(design):
            platform = design.platform(network)
            feature = FEATURES[network.load_balancing]
            words = feature.replace("_", " ")
            if platform and not platform.features.has(feature):
                yield self._refuse(
                    network, f"{network.name} asks for {words}, and {platform.name} has no {feature}", f"a NOS with {feature}"
                )
            elif network.load_balancing == "adaptive" and not network.lossless:
                yield self._refuse(network, f"adaptive routing is for RoCE, and {network.name} carries none", "ecmp or dynamic")
            elif unfit := _find_unfit(design, network):
                yield self._refuse(network, f"{words} of {network.name} is not known for {list_names(unfit)}", CHIPS[feature])

    def _refuse(self, network: Network, summary: str, expected: str) -> Diagnostic:
        where = f"networks.{network.name}.load_balancing"
        return self.finding(where, summary, expected, network.load_balancing, "set load_balancing to ecmp")


def _find_unfit(design: Design, network: Network) -> list[str]:
    """Return models whose chip cannot do what is asked on its links between switches; for adaptive routing, with their speed."""
    used = {
        (switch.model, port.speed_gbps)
        for switch in design.switches_of.get(network.name, [])
        for port in switch.ports
        if port.use == "fabric"
    }
    unfit = []
    for ref, speed_gbps in sorted(used):
        model = design.catalogue.switch(ref)
        if model is None:
            continue
        if network.load_balancing == "dynamic" and not model.asic.dynamic_load_balancing:
            unfit.append(f"{ref} ({model.asic.name})")
        elif network.load_balancing == "adaptive" and speed_gbps not in model.asic.adaptive_routing_gbps:
            unfit.append(f"{ref} at {speed_gbps} Gb/s")
    return list(dict.fromkeys(unfit))


class OutOfOrderNics(Rule):
    """Send packets out of order only to NICs that take them.

    What it checks:
        In a network with `load_balancing: adaptive`, the model of every host's NIC has `out_of_order`.

    Why it matters:
        With adaptive routing packets of one flow overtake each other. A NIC that expects them in order takes each for a loss,
        asks for everything since again and slows down: throughput falls far below that of ECMP.

    How to fix:
        Set `load_balancing` to ecmp or dynamic, or use such NICs. If yours are, say so in a catalogue file of your own.

    Source:
        docs.nvidia.com, Network Operator 25.10, Spectrum-X Configuration (BlueField-3 SuperNIC and ConnectX-8 only); Cisco Nexus
        Hyperfabric, Dynamic Load Balancing (adaptive routing wants NICs that support it and are set up for it).
    """

    id, title = "ROC015", "adaptive routing to NICs that want packets in order"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network, where in _balanced(design):
            if network.load_balancing != "adaptive":
                continue
            ports = Counter(port.nic for server in design.plan.servers for port in server.ports if port.network == network.name)
            unfit = {nic: count for nic, count in sorted(ports.items()) if not _takes_any_order(design, nic)}
            if unfit:
                yield self.finding(
                    where,
                    f"{count_things(sum(unfit.values()), 'host port')} of {network.name} want packets in order",
                    "NICs with out_of_order in the catalogue",
                    list_names(nic or "a NIC that the catalogue does not name" for nic in unfit),
                    "set load_balancing to ecmp or dynamic",
                )


def _takes_any_order(design: Design, ref: str) -> bool:
    nic = design.catalogue.nics.get(ref)
    return nic is not None and nic.out_of_order
