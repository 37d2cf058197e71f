# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about servers that belong to tenants. The TEN family; numbers.py and shares.py have its other parts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.names import DeviceName, format_name


class ServerOfTwoTenants(Rule):
    """Let a server belong to one tenant.

    What it checks:
        No server is named by the `servers` of two tenants. Subnets may name any server; owning is what counts.

    Why it matters:
        Whose GPUs are they, whose VRF do its compute ports lie in, whose Ceph key is on its disk? One of the two would have
        what belongs to the other.

    How to fix:
        Take the server away from one, or name it under the `servers` of the one subnet that it needs.

    Source:
        The compute network puts a port into one VRF, or into one partition as full member.
    """

    id, title = "TEN004", "server of two tenants"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        owners: dict[str, str] = {}
        shared: dict[tuple[str, str], list[str]] = defaultdict(list)
        for tenant in design.plan.tenants:
            for server in tenant.servers:
                first = owners.setdefault(server, tenant.name)
                if first != tenant.name:
                    shared[first, tenant.name].append(server)
        for (first, second), names in shared.items():
            belong = "belongs" if len(names) == 1 else "belong"
            yield self.finding(
                f"tenants.{second}.servers",
                f"{count_things(len(names), 'server')} of {second} already {belong} to {first}",
                "each server in one tenant",
                list_names(names),
                f"take {'it' if len(names) == 1 else 'them'} away here, or from tenants.{first}.servers",
            )


class NoBusinessPort(Rule):
    """Put only servers with business ports into tenants' subnets.

    What it checks:
        Every server that a subnet reaches, by its own `servers` or by the tenant's, has a port on the business network.

    Why it matters:
        The server is counted as a member, its address is kept, and no packet ever reaches it.

    How to fix:
        Name a port under `servers.GROUP.nics.business`, or take the servers out.

    Source:
        Tenants' subnets live on the business network alone.
    """

    id, title = "TEN008", "server in a subnet without a business port"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        reached = {server.name for server in design.plan.servers if any(port.network == "business" for port in server.ports)}
        said: set[str] = set()
        for tenant in design.plan.tenants:
            intent = design.cluster.tenants[tenant.name]
            for subnet in tenant.subnets:
                own = intent.subnets[subnet.name].servers is not None
                where = f"{subnet.where}.servers" if own else f"{tenant.where}.servers"
                if where in said:
                    continue
                said.add(where)
                names = [name_server(seat) for seat in design.planned_legs[tenant.name, subnet.name]]
                bare = [name for name in names if name in design.servers and name not in reached]
                if bare:
                    groups = list(dict.fromkeys(design.servers[name].group for name in bare))
                    yield self.finding(
                        where,
                        f"{count_things(len(bare), 'server')} of {tenant.name} without a port on the business network",
                        "a business port on each server of a tenant's subnet",
                        list_names(bare),
                        f"name a port under servers.{groups[0]}.nics.business, or take the servers out",
                    )


def name_server(seat: tuple[str, int]) -> str:
    """Return a server's name from its group and number."""
    return format_name(DeviceName("server", group=seat[0], number=seat[1]))


class NotIsolated(Rule):
    """Know that tenants meet on the compute network.

    What it checks:
        Where two tenants or more have GPU servers of their own, `isolation` of the compute network is not none.

    Why it matters:
        The business network keeps tenants apart, the compute network does not: who is root on one server can send to every
        GPU of the cluster. Many clusters are run so, with tenants that trust each other.

    How to fix:
        Set `isolation` to vrf (RoCE) or pkeys (InfiniBand), or leave it where tenants are trusted.

    Source:
        InfiniBand Architecture Specification, volume 1, section 10.9 (partitions); RFC 8365 (VRFs over VXLAN).
    """

    id, severity, title = "TEN009", "info", "tenants that are not kept apart on compute"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        compute = design.plan.network("compute")
        if compute is None or compute.isolation not in {"", "none"}:
            return
        own = [t.name for t in design.plan.tenants if any(_is_on_compute(design, name) for name in t.servers)]
        if len(own) > 1:
            way = "pkeys" if compute.technology == "infiniband" else "vrf"
            yield self.finding(
                "networks.compute",
                f"{list_names(own)} have servers on one compute network, and isolation is none",
                "",
                "",
                f"set networks.compute.isolation to {way}, or leave it where tenants trust each other",
            )


def _is_on_compute(design: Design, name: str) -> bool:
    server = design.servers.get(name)
    return server is not None and any(port.network == "compute" for port in server.ports)


class TwoUntagged(Rule):
    """Put one subnet at most on a bond without a tag.

    What it checks:
        Of the subnets that a server is in, one at most is `untagged`.

    Why it matters:
        Frames without a tag belong to one VLAN of the port. The second subnet would have to be tagged after all, on these
        servers alone.

    How to fix:
        Take `untagged` away from one of the subnets.

    Source:
        IEEE 802.1Q: a port has one PVID.
    """

    id, title = "TEN010", "two subnets without a tag on one bond"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        bare = {(t.name, s.name): s for t in design.plan.tenants for s in t.subnets if s.untagged}
        reached: dict[tuple[str, int], list[tuple[str, str]]] = defaultdict(list)
        for key in bare:
            for seat in design.planned_legs[key]:
                reached[seat].append(key)
        found: dict[tuple[tuple[str, str], tuple[str, str]], list[str]] = defaultdict(list)
        for seat, keys in reached.items():
            for key in keys[1:]:
                found[keys[0], key].append(name_server(seat))
        for (first, second), names in found.items():
            yield self.finding(
                f"{bare[second].where}.untagged",
                f"{' of '.join(reversed(first))} and {' of '.join(reversed(second))} are both untagged on "
                f"{count_things(len(names), 'server')}",
                "one untagged subnet per server",
                list_names(names),
                "take untagged away from one of the two",
            )


class ProviderWithoutServers(Rule):
    """Give a tenant that others meet servers on the business network.

    What it checks:
        A shared tenant that somebody uses, and of two tenants that peer the one with the lower id, has a server in a visible
        subnet.

    Why it matters:
        Two VRFs meet on the leafs where the provider's servers hang. Without any there is no such leaf: nothing crosses, and
        nothing says so.

    How to fix:
        Name the servers that offer the service under `servers` of the tenant.

    Source:
        cluster_model/plan/model/overlay.py: VRFs meet on their provider's leafs.
    """

    id, severity, title = "TEN011", "warning", "tenant that others meet has no servers"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ids = {tenant.name: tenant.id for tenant in design.plan.tenants}
        for tenant in design.plan.tenants:
            users = [other.name for other in design.plan.tenants if tenant.shared and tenant.name in other.uses]
            users += [peer for peer in tenant.peers if ids.get(peer, 0) > tenant.id]
            if users and not any(design.planned_legs[tenant.name, s.name] for s in tenant.subnets if s.visible):
                yield self.finding(
                    f"tenants.{tenant.name}",
                    f"{list_names(users)} cannot reach {tenant.name}: no server is in a visible subnet of it",
                    "a server of its own on the business network",
                    "none",
                    f"name its servers under tenants.{tenant.name}.servers, and leave one subnet visible",
                )
