# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about the out-of-band network's way out of the site. Part of the NET family."""

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
