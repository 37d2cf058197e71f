# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about ways out: of the out-of-band network to the site, of the border to its peers. Part of the NET family."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.fabric.addresses import UNUSABLE, list_pools
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.fabric.upstream import find_free_prefix


class UpstreamImpossible(Rule):
    """Plug the site's routers into switches that are there.

    What it checks:
        Each of `networks.oob.upstreams` names a built out-of-band switch with a free cage, and a /30 or /31.

    Why it matters:
        Without the link no switch or BMC reaches resolvers, time servers or log collectors.

    How to fix:
        Name a spine of the out-of-band network. The finding lists them, as do the rendered cabling/cables.csv and plan.json;
        `gpuyard show CLUSTER oob-leaf-a01` tells those that a leaf is cabled to.

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
        Add an upstream for each router of the site, best two, on different switches of the highest tier. The finding names them.

    Source:
        Management traffic of switches and BMCs leaves by the out-of-band network only.
    """

    id, severity, title, stage = "NET019", "warning", "services that nothing leads to", "plan"


class Islands(Rule):
    """Join the leafs of a network.

    What it checks:
        A network of one tier, other than compute, has one leaf. Out of band it may have several where each has a link to the
        site's router under `upstreams`, which then joins them.

    Why it matters:
        Nothing leads from one leaf to another. Out of band, the boot servers and their DHCP reach the BMCs of their own leaf
        alone; on storage and business networks, servers reach those that hang on the same leaf, and leave the rest unanswered
        once one of their links is down.

    How to fix:
        Delete `tiers`: the plan then has spines as soon as there is a second leaf. Or let one leaf do, out of band by a higher
        `racks_per_leaf`; or give every out-of-band leaf an upstream, and the site's router a route to each leaf's subnets.

    Source:
        A leaf forwards between its own ports and what its routes lead to; with one tier there are neither links nor BGP sessions
        between leafs (RFC 7938, section 3.2). Compute may be so: rails that do not meet are a design of their own (rail-only).
    """

    id, title = "NET023", "leafs that nothing joins"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for network in design.routed:
            leafs = [switch for switch in design.switches_of.get(network.name, []) if switch.role in {"leaf", "border"}]
            apart = [leaf.name for leaf in leafs if not leaf.upstreams]
            if network.tiers > 1 or network.name == "compute" or len(leafs) < 2 or not apart:
                continue
            oob = network.name == "oob"
            verb = "is" if len(apart) == 1 else "are"
            ways = ", raise racks_per_leaf until one leaf is enough, or give each leaf one of upstreams" if oob else ""
            yield self.finding(
                f"networks.{network.name}.tiers",
                f"{network.name} has {len(leafs)} leafs and no spine: {list_names(apart)} {verb} apart",
                "2 tiers, or one leaf" + (", or an upstream on every leaf" if oob else ""),
                f"1 tier with {len(leafs)} leafs",
                f"delete tiers, so that spines join them{ways}",
            )


class UpstreamTaken(Rule):
    """Give every link to the site's routers a prefix that nothing else has.

    What it checks:
        Prefixes of `networks.oob.upstreams` against each other, the pools of all networks, Kubernetes' ranges, and ranges that
        are never forwarded.

    Why it matters:
        Two links with one prefix give two switches one address, and one of the two routers is never reached. Inside a pool the
        address belongs to a device of the cluster as well.

    How to fix:
        Take the prefix that the site's network people have for this link.

    Source:
        A connected prefix is preferred to any route; RFC 6890 (special-purpose address registry).
    """

    id, title = "NET036", "link to the site's router with addresses in use"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        taken = [(pool, f"the pool of {name}") for pool, name in list_pools(design)]
        if kubernetes is not None:
            taken += [(kubernetes.pod_pool, "Kubernetes' pods"), (kubernetes.service_pool, "Kubernetes' services")]
        taken += [(prefix, f"the {use} range") for prefix, use in UNUSABLE.items()]
        named = [upstream.prefix for upstream in design.cluster.networks.oob.upstreams]
        for index, upstream in enumerate(design.cluster.networks.oob.upstreams):
            hit = next((f"{what}, {prefix}" for prefix, what in taken if upstream.prefix.overlaps(prefix)), "")
            if hit:
                free = find_free_prefix(upstream.prefix, [*(prefix for prefix, _ in taken), *named])
                yield self.finding(
                    f"networks.oob.upstreams.{index}.prefix",
                    f"the link of {upstream.switch} to the site's router has addresses of {hit}",
                    "a /30 or /31 of its own",
                    str(upstream.prefix),
                    f"take another prefix, such as {free}",
                )
            taken.append((upstream.prefix, f"the link of {upstream.switch}"))


class OneWayOut(Rule):
    """Lead out of the out-of-band network by two switches.

    What it checks:
        `networks.oob.upstreams`, where there are any and the network has two spines or more, name two switches or more.

    Why it matters:
        With that switch go resolvers, time and logs of all devices, and the way to every BMC: during the outage in which they are
        needed most.

    How to fix:
        Add an upstream on another spine of the out-of-band network, to another router of the site.

    Source:
        Derived: what hangs on one switch goes with it.
    """

    id, severity, title = "NET024", "warning", "one way to the site's routers"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        network = design.plan.network("oob")
        used = {upstream.switch for upstream in design.cluster.networks.oob.upstreams}
        if network is None or len(used) != 1 or network.spines < 2:
            return
        (switch,) = used
        other = next(s.name for s in design.switches_of["oob"] if s.role == "spine" and s.name != switch)
        yield self.finding(
            "networks.oob.upstreams",
            f"all out-of-band traffic leaves through {switch}",
            "links on two spines of the out-of-band network",
            switch,
            f"add an upstream on {other}",
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
