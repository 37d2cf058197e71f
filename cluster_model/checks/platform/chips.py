# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about what a switch's chip does in hardware, whatever its software could: part of the HWR family."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.diagnostic import Diagnostic
from cluster_model.kinds import KINDS
from cluster_model.plan.model import Network

VNIS = {"l2": "L2 VNIs", "l3": "L3 VNIs"}


class ChipVxlan(Rule):
    """End tunnels on switches whose chip does VXLAN.

    What it checks:
        `asic.vxlan` of the models that tunnels end on, in every network with EVPN. Leafs of the business network bridge tenants'
        subnets and route between them (l2 and l3); its border leafs, and leafs of a compute network with `isolation: vrf`, route
        (l3). A model whose catalogue file does not say so is refused. Spines only pass packets on.

    Why it matters:
        The system takes the configuration and the chip refuses the tunnel: sessions are up, routes are learnt, and tenants below
        that switch reach nobody outside it.

    How to fix:
        Choose another model for these switches. If yours does it under the system that you run, say so: put a copy of its file,
        with `asic.vxlan` and where you read it, into the folder `catalogue` of the cluster, as docs/add-a-switch-model.md says.

    Source:
        `asic.vxlan` of the model, each with its source; RFC 8365, and RFC 9135, section 5 (symmetric routing). SONiC on
        Tomahawk 4 and 5: sonic-net/sonic-mgmt pull request 22758 and issue 26820, sonic-net/sonic-buildimage pull request 29177.
    """

    id, title = "HWR007", "tunnels on a chip that is not known to do VXLAN"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network in design.routed:
            for where, ref, role, needs in _list_ends(design, network) if network.evpn else ():
                switch = design.catalogue.switch(ref)
                known = switch.asic.vxlan if switch is not None else None
                lacking = [VNIS[need] for need in needs if known is None or not getattr(known, need)]
                if switch is not None and lacking:
                    said = "has none" if known is not None else "is not known to have any"
                    chip = f"the chip of {ref}, {switch.asic.name}"
                    yield self.finding(
                        where,
                        f"{role} of {network.name} need {' and '.join(lacking)}, and {chip}, {said}",
                        f"a model with {' and '.join(f'{need}: true' for need in needs)} under asic.vxlan",
                        ref,
                        f"choose another model; if yours does it, say so in catalogue/device-types/{ref}.yaml beside "
                        "cluster.yml, a copy of its file with asic.vxlan and a source",
                    )


def _list_ends(design: Design, network: Network) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """Yield (intent path, model, its role in the plural, VNIs that it needs) for the switches that a network's tunnels end on."""
    where = f"networks.{network.name}"
    yield f"{where}.leaf", network.leaf_model, "leafs", ("l2", "l3") if KINDS[network.name].bridged else ("l3",)
    business = design.cluster.networks.business
    if network.borders and business is not None and business.border is not None and business.border.leaf is not None:
        yield f"{where}.border.leaf", network.border_model, "border leafs", ("l3",)
