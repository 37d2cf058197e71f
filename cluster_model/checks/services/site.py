# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about the site's services and its domain: the SIT family."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from cluster_model.checks.design import Design
from cluster_model.checks.fabric.addresses import DOCKER_BRIDGE, PRIVATE, UNUSABLE, list_services
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things
from cluster_model.diagnostic import Diagnostic

FAMILIES = {"SIT": "The site"}


class ServiceNoHost(Rule):
    """Give services addresses that a host can have.

    What it checks:
        Resolvers, time servers, log collectors, SNMP managers and DHCP servers against loopback, multicast, broadcast, link-local
        and reserved addresses.

    Why it matters:
        Nobody answers there: 127.0.0.1 is each device itself, 0.0.0.0 is nobody, a multicast or broadcast address is everybody.
        Names do not resolve and clocks drift, on all devices at once.

    How to fix:
        Write the address of the server.

    Source:
        RFC 6890 (special-purpose address registry), RFC 1112 (multicast, reserved).
    """

    id, title = "SIT001", "service address that no host can have"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for address, where in list_services(design):
            use = next((use for prefix, use in UNUSABLE.items() if address in prefix), "")
            if use:
                yield self.finding(
                    where,
                    f"{address} is {'broadcast' if str(address) == '255.255.255.255' else use}, and no server has it",
                    "the unicast address of a server, such as 10.255.0.53",
                    str(address),
                    "write the address of the server",
                )


ENOUGH = {"dns": (2, "resolver"), "ntp": (3, "time server")}


class FewServices(Rule):
    """Name two resolvers and three time servers, or more.

    What it checks:
        Different addresses under `site.dns`, at least two, and under `site.ntp`, at least three.

    Why it matters:
        While the only resolver reboots, every login, mount and job start of the cluster waits. A single time server that goes
        wrong takes all clocks with it; of two that disagree nobody can say which one lies. Kerberos, TLS and etcd fail with the
        clocks.

    How to fix:
        Add addresses. With four time servers one may be down and one wrong.

    Source:
        RFC 1034, section 4.1: a zone is served by two servers at least. RFC 8633 (BCP 223), section 3.2: at least four sources
        of time; with three, one that is wrong is outvoted.
    """

    id, severity, title = "SIT002", "warning", "too few resolvers or time servers"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        site = design.cluster.site
        counts = {name: len(set(getattr(site, name))) for name in ENOUGH}
        if not any(counts.values()):
            yield self.finding(
                "site",
                "the site names neither resolvers nor time servers",
                "two resolvers and three time servers, or more",
                "none",
                "add dns: [ADDRESS, ADDRESS] and ntp: [ADDRESS, ADDRESS, ADDRESS] to site",
            )
            return
        for name, (enough, thing) in ENOUGH.items():
            if counts[name] < enough:
                have = count_things(counts[name], thing) if counts[name] else f"no {thing}"
                yield self.finding(
                    f"site.{name}",
                    f"all devices depend on {have}" if counts[name] else f"the site names {have}",
                    f">= {enough} addresses" + (" (RFC 8633: four)" if name == "ntp" else ""),
                    str(counts[name]),
                    f"add {count_things(enough - counts[name], 'address', 'addresses')} to site.{name}",
                )


_NOBODYS = {
    "localhost": "is each machine itself (RFC 6761)",
    "invalid": "never exists (RFC 6761)",
    "onion": "is Tor's (RFC 7686)",
    "arpa": "holds reverse zones (RFC 3172)",
}


class DomainImpossible(Rule):
    """Name the cluster in a domain that DNS can serve.

    What it checks:
        `site.domain` does not end in localhost, invalid, onion, arpa or a number, and its labels have 1 to 63 letters, digits and
        hyphens, none at their ends.

    Why it matters:
        Resolvers answer for these names themselves, or refuse them: no device of the cluster is found by name.

    How to fix:
        Take a domain that is yours, such as pod-a.example.net.

    Source:
        RFC 1035, section 2.3.4; RFC 1123, section 2.1; RFC 6761; RFC 7686; RFC 3172.
    """

    id, title = "SIT003", "domain that DNS does not serve"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        domain = design.cluster.site.domain
        labels = domain.split(".")
        if labels[-1] in _NOBODYS:
            why = f".{labels[-1]} {_NOBODYS[labels[-1]]}"
        elif labels[-1].isdigit():
            why = f"{domain} ends in a number, as an address does"
        elif bad := [label for label in labels if not 1 <= len(label) <= 63 or label.startswith("-") or label.endswith("-")]:
            why = f"{domain} has the label {bad[0][:20]!r}" if bad[0] else f"{domain} has an empty label"
        else:
            return
        yield self.finding(
            "site.domain", why, "a domain that is yours, such as pod-a.example.net", domain, "take a subdomain of your own domain"
        )


_OTHERS = {
    "local": "is asked for by multicast (RFC 6762): hosts with Avahi or systemd-resolved never ask the resolver",
    "home": "leaks to the root servers (ICANN, name collision)",
    "corp": "leaks to the root servers (ICANN, name collision)",
    "mail": "leaks to the root servers (ICANN, name collision)",
    "lan": "belongs to nobody: no certificate authority signs it, and it leaks to the root servers",
}


class DomainOfOthers(Rule):
    """Name the cluster in a subdomain of your own.

    What it checks:
        `site.domain` has two labels or more, and does not end in local, home, corp, mail or lan.

    Why it matters:
        A name that is not yours is answered by others, or by nobody: multicast DNS takes .local, a whole top-level domain is a
        registry's, and no certificate can be had for either.

    How to fix:
        Take a subdomain of a domain that you have registered; .internal is there for those who have none.

    Source:
        RFC 6762, section 3 and appendix G; ICANN, name collision (corp, home, mail) and the reservation of .internal, July 2024.
    """

    id, severity, title = "SIT004", "warning", "domain that is not yours"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        domain = design.cluster.site.domain
        labels = domain.split(".")
        if labels[-1] in _NOBODYS or labels[-1].isdigit():
            return
        if labels[-1] in _OTHERS:
            why = f".{labels[-1]} {_OTHERS[labels[-1]]}"
        elif len(labels) == 1:
            why = f"{domain} is a whole top-level domain"
        else:
            return
        yield self.finding(
            "site.domain",
            why,
            "a subdomain of a domain that you have registered",
            domain,
            "take one such as pod-a.example.net, or pod-a.internal",
        )


class ServiceTaken(Rule):
    """Keep the site's services out of what the cluster gives away itself.

    What it checks:
        Resolvers, time servers, log collectors, SNMP managers and DHCP servers against Kubernetes' pod and service ranges, and
        against the address that a switch has on the link to the site's router.

    Why it matters:
        Every Kubernetes node sends these addresses to pods and services, and the switch answers for its own: the server behind
        is never reached.

    How to fix:
        Correct the address, or move the range.

    Source:
        kube-proxy and the pod network claim their ranges on every node; `networks.oob.upstreams`, second address of each link.
    """

    id, title = "SIT005", "service address that the cluster uses itself"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        ranges: list[tuple[IPv4Network, str]] = []
        if kubernetes is not None:
            ranges = [
                (kubernetes.pod_pool, "lies in the range of pods (kubernetes.pod_pool)"),
                (kubernetes.service_pool, "lies in the range of services (kubernetes.service_pool)"),
            ]
        for upstream in design.cluster.networks.oob.upstreams:
            if upstream.prefix.prefixlen in {30, 31}:
                own = upstream.prefix[1 if upstream.prefix.prefixlen == 31 else 2]
                ranges.append((IPv4Network(own), f"is {upstream.switch}'s own address on the link to the site's router"))
        for address, where in list_services(design):
            hit = next((what for prefix, what in ranges if address in prefix), "")
            if hit:
                yield self.finding(
                    where,
                    f"{address} {hit}",
                    "the address of a server outside the cluster",
                    str(address),
                    "correct the address, or move the range",
                )


class ServiceHidden(Rule):
    """Keep the site's services where hosts seek them outside.

    What it checks:
        Resolvers, time servers, log collectors, SNMP managers and DHCP servers against subnets of tenants, and against Docker's
        default range.

    Why it matters:
        The out-of-band network leads to no tenant, so switches and BMCs do not reach the service; and a server with a leg in that
        subnet, or with Docker, looks for it there.

    How to fix:
        Name an address outside, or renumber the subnet.

    Source:
        Longest-prefix match: a connected subnet is preferred to the default route. Docker, bridge driver: 172.17.0.0/16.
    """

    id, severity, title = "SIT006", "warning", "service address that lies in a tenant's subnet"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        ranges = [(DOCKER_BRIDGE, "in Docker's default range")]
        for name, tenant in design.cluster.tenants.items():
            ranges += [(subnet.cidr, f"in {name}'s subnet {key}") for key, subnet in tenant.subnets.items()]
        for address, where in list_services(design):
            hit = next(((prefix, what) for prefix, what in ranges if address in prefix), None)
            if hit:
                yield self.finding(
                    where,
                    f"{address} lies {hit[1]}",
                    f"an address outside {hit[0]}",
                    str(address),
                    "name the server's address outside, or move the subnet",
                )


def _is_public(address: IPv4Address) -> bool:
    return not any(address in prefix for prefix in (*PRIVATE, *UNUSABLE))


class LogsInTheOpen(Rule):
    """Send logs and SNMP over lines of your own.

    What it checks:
        `site.syslog` and `site.snmp_managers` are private addresses.

    Why it matters:
        Both protocols go in clear text: what the switches log, and the community that reads all their tables, can be read and
        altered by everybody on the way.

    How to fix:
        Put a collector into the site that forwards over TLS, or leave it where the addresses are yours.

    Source:
        RFC 5426, section 5 (syslog over UDP has neither confidentiality nor authentication); RFC 1901 (the SNMP
        community stands in each message in clear text).
    """

    id, severity, title = "SIT007", "warning", "logs or SNMP to a public address"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for address, where in list_services(design):
            if where.startswith(("site.syslog", "site.snmp")) and _is_public(address):
                what = "logs go" if "syslog" in where else "SNMP goes"
                yield self.finding(
                    where,
                    f"{what} in clear text to the public address {address}",
                    "a private address (RFC 1918, RFC 6598)",
                    str(address),
                    "put a collector into the site that forwards over TLS, or leave it if the address is yours",
                )
