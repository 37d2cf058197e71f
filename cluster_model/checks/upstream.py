# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about ways out: of the out-of-band network to the site, of the border to its peers. Part of the NET family."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.diagnostic import Diagnostic


class UpstreamImpossible(Rule):
    """Plug the site's routers into switches that are there.

    What it checks:
        Each of `networks.oob.upstreams` names a built out-of-band switch with a free cage, and a /30 or /31.

    Why it matters:
        Without the link no switch or BMC reaches resolvers, time servers or log collectors.

    How to fix:
        Name a spine of the out-of-band network; `gpuyard plan` and the rendered page list them.

    Source:
        RFC 3021 for links of two addresses.
    """

    id, title, stage = "NET018", "link to the site's router that cannot be", "plan"


class NoWayOut(Rule):
    """Lead the out-of-band network to the services it is told of.

    What it checks:
        Where `site` names resolvers, time servers, log collectors or SNMP managers, `networks.oob.upstreams` has a link.

    Why it matters:
        Every switch is configured with these addresses and has no route to them: clocks drift apart, and the logs of an outage
        are not there.

    How to fix:
        Add an upstream for each router of the site, best two, on different spines.

    Source:
        Management traffic of switches and BMCs leaves by the out-of-band network only.
    """

    id, severity, title = "NET019", "warning", "services that nothing leads to"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        site = design.plan.site
        services = [*site.dns, *site.ntp, *site.syslog, *site.snmp_managers]
        network = design.plan.network("oob")
        if services and network is not None and not network.has_upstream:
            yield self.finding(
                "networks.oob",
                "no switch or BMC has a route to the site's services",
                "a link to the site's router under upstreams",
                f"none, and services at {', '.join(services[:3])}",
                "add upstreams: [{switch: oob-spine-01, prefix: 10.255.255.0/31}]",
            )


class BorderLinkImpossible(Rule):
    """Plug external peers into border leafs that are there, in cages that are free.

    What it checks:
        Each link under `networks.business.border.peers` names a border leaf that exists, and no peer meets the same one twice.
        Its cage exists on the border leaf's model, carries no uplink and no other peer, and runs at the link's speed. Its
        prefix is a /30 or /31.

    Why it matters:
        The peer's technician plugs in where the plan says. A cage that an uplink has, or a speed that it cannot run, is found
        on the day of the appointment, and the next one is weeks away.

    How to fix:
        Set `cage` to a free one (uplinks take the last cages; `gpuyard show` lists them), and `speed_gbps` to what the peer
        offers and the cage can run.

    Source:
        RFC 3021 for links of two addresses; cages and speeds are those of the catalogue.
    """

    id, title, stage = "NET021", "link to an external peer that cannot be", "plan"
