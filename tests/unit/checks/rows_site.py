"""Rows of the rules about the site, its routers, the shape of networks and what crosses the border: SIT, NET, RED, BRD."""

from __future__ import annotations

from ipaddress import IPv4Network

from small_plan import chain, hardware, intent, items, networks

from cluster_model.checks.fabric.addresses import PRIVATE
from cluster_model.plan.model.overlay import Filter

RESOLVERS = "site.dns"
UPSTREAMS = "networks.oob.upstreams"
PEER = "networks.business.border.peers.internet"


def _dns(*addresses):
    return intent(RESOLVERS, list(addresses))


def _links(*prefixes, switches=("oob-spine-01", "oob-spine-02")):
    return intent(UPSTREAMS, [{"switch": switch, "prefix": prefix} for switch, prefix in zip(switches, prefixes, strict=True)])


def _allowed(network, ratio):
    return networks(network, oversubscription_allowed=ratio)


def _with_upstream(prefix):
    return intent(UPSTREAMS, [{"switch": "oob-spine-01", "prefix": prefix}])


def _peer(key, value):
    return intent(f"{PEER}.{key}", value)


def _mtu(mtu_bytes):
    return _peer("links", [{"border": 1, "prefix": "100.64.0.0/31", "mtu_bytes": mtu_bytes}])


def _border(asn=None, **fields):
    """Change the internet peer of the plan and, for its number, of the intent."""
    change = items("border_peers", "internet", **({"asn": asn} if asn else {}), **fields)
    return chain(change, _peer("asn", asn)) if asn else change


def _list_public():
    """Return the addresses that are not private, in as few prefixes as there are."""
    left = [IPv4Network("0.0.0.0/0")]
    for private in PRIVATE:
        left = [part for each in left for part in (each.address_exclude(private) if private.subnet_of(each) else [each])]
    return left


def _filters(*lines):
    return tuple(Filter(*line) for line in lines)


HALVES = (("0.0.0.0/1",), ("128.0.0.0/1",))
PUBLIC = tuple((str(prefix), 24) for prefix in _list_public())
PAIR = ("10.255.255.0/31", "10.255.255.2/31")
RAIL_ONLY = networks("compute", tiers=1)
NVLINK = hardware("test/gpu", "gpus.interconnect", "nvswitch")
INFINIBAND = {"technology": "infiniband", "mtu_bytes": 4096, "host_mtu_bytes": 4092}

FIRES = {
    "SIT001": {
        "multicast": (_dns("224.0.0.1", "10.255.0.54"), "224.0.0.1 is multicast"),
        "broadcast": (_dns("255.255.255.255", "10.255.0.54"), "is broadcast"),
        "loopback": (intent("site.ntp", ["127.0.0.1"]), "127.0.0.1 is loopback"),
        "nobody": (intent("site.syslog", ["0.0.0.0"]), "is this network"),
        "relay": (intent("networks.oob.dhcp_servers", ["239.0.0.1"]), "is multicast"),
    },
    "SIT002": {
        "one resolver": (_dns("10.255.0.53"), "all devices depend on 1 resolver"),
        "the same twice": (_dns("10.255.0.53", "10.255.0.53"), "all devices depend on 1 resolver"),
        "no resolver": (_dns(), "the site names no resolver"),
        "two time servers": (intent("site.ntp", ["10.255.0.123", "10.255.0.124"]), "all devices depend on 2 time servers"),
        "neither": (chain(_dns(), intent("site.ntp", [])), "neither resolvers nor time servers"),
    },
    "SIT003": {
        "localhost": (intent("site.domain", "localhost"), "is each machine itself"),
        "invalid": (intent("site.domain", "pod.invalid"), "never exists"),
        "address": (intent("site.domain", "10.0.0.1"), "ends in a number"),
        "long label": (intent("site.domain", "a" * 64 + ".example.net"), "has the label"),
    },
    "SIT004": {
        "local": (intent("site.domain", "cluster.local"), "asked for by multicast"),
        "one label": (intent("site.domain", "cluster"), "a whole top-level domain"),
        "corp": (intent("site.domain", "pod.corp"), "leaks to the root servers"),
    },
    "SIT005": {
        "pods": (_dns("10.244.3.1", "10.255.0.54"), "lies in the range of pods"),
        "services": (_dns("10.96.0.10", "10.255.0.54"), "lies in the range of services"),
        "our end": (chain(_links(*PAIR), _dns("10.255.255.1", "10.255.0.54")), "is oob-spine-01's own address"),
    },
    "SIT006": {
        "docker": (_dns("172.17.0.2", "10.255.0.54"), "in Docker's default range"),
        "tenant": (_dns("10.48.0.16", "10.255.0.54"), "in services's subnet core"),
    },
    "SIT007": {
        "syslog": (intent("site.syslog", ["8.8.4.4"]), "logs go in clear text"),
        "snmp": (intent("site.snmp_managers", ["8.8.4.4"]), "SNMP goes in clear text"),
    },
    "NET036": {
        "one prefix": (_links(PAIR[0], PAIR[0]), "has addresses of the link of oob-spine-01, 10.255.255.0/31"),
        "overlap": (_links(PAIR[0], "10.255.255.0/30"), "has addresses of the link of oob-spine-01"),
        "pool": (_links(PAIR[0], "10.66.0.0/31"), "the pool of oob"),
        "pods": (_links(PAIR[0], "10.244.0.0/31"), "Kubernetes' pods"),
        "loopback": (_links(PAIR[0], "127.0.0.0/31"), "the loopback range"),
        "end of all": (_links(PAIR[0], "255.255.255.254/31"), "the reserved range"),
    },
    "NET024": {
        "one": (_with_upstream(PAIR[0]), "all out-of-band traffic leaves through oob-spine-01"),
        "one switch": (_links(*PAIR, switches=("oob-spine-02", "oob-spine-02")), "leaves through oob-spine-02"),
    },
    "NET025": {
        "compute": (_allowed("compute", 2.0), "compute may be oversubscribed 2:1"),
        "lossless storage": (networks("storage", lossless=True, oversubscription_allowed=3.0), "instead of dropping"),
        "storage": (_allowed("storage", 5.0), "checkpoints come from all servers"),
        "infiniband": (networks("compute", lossless=False, oversubscription_allowed=2.0), "collectives fill every link"),
        "oob": (_allowed("oob", 50.0), "installing a rack takes hours"),
    },
    "NET026": {
        "lossless 4:1": (_allowed("compute", 4.0), "PFC spreads that congestion"),
        "storage 50:1": (_allowed("storage", 50.0), "storage may be oversubscribed 50:1"),
    },
    "NET027": {
        "compute": (networks("compute", tiers=1, units=2), "2 units of compute have no spine between them"),
        "planned": (networks("compute", tiers=1, planned_units=3), "3 units of compute"),
    },
    "NET028": {"compute": (networks("compute", fabric_speed_gbps=100), "a flow of a 400G host of compute gets 100G at most")},
    "NET029": {"storage": (networks("storage", host_mtu_bytes=1500), "frames of 1500 bytes")},
    "NET030": {
        "fabric": (networks("compute", **{**INFINIBAND, "mtu_bytes": 9000}), "InfiniBand has no MTU of 9000 bytes"),
        "hosts": (networks("compute", **{**INFINIBAND, "host_mtu_bytes": 4096}), "IPoIB needs 4 bytes"),
    },
    "NET031": {"pcie": (RAIL_ONLY, "GPUs of gpu on different rails meet over PCIe")},
    "NET041": {
        "rail-only": (chain(RAIL_ONLY, NVLINK), "2 leafs of compute share no switch"),
        "leaf-spine": (networks("compute", tiers=1, design="leaf-spine"), "2 leafs of compute share no switch"),
        "planes": (chain(RAIL_ONLY, NVLINK, networks("compute", planes=2)), "2 leafs of compute in each plane share no switch"),
    },
    "NET032": {
        "all rails": (
            chain(networks("compute", leafs_per_unit=1), intent("networks.compute.rails_per_leaf", 2)),
            "the loss of one leaf takes all 2 rails",
        )
    },
    "NET033": {"one": (intent("servers.gpu.unit", 1), "2 servers of gpu have leafs of their own")},
    "NET034": {
        "multicast": (intent("networks.business.anycast_mac", "01:00:5e:00:00:01"), "is a group address"),
        "broadcast": (intent("networks.business.anycast_mac", "ff:ff:ff:ff:ff:ff"), "is broadcast"),
        "zero": (intent("networks.business.anycast_mac", "00:00:00:00:00:00"), "is zero"),
    },
    "NET038": {
        "unit 1": (intent("networks.business.anycast_mac", "02:67:79:00:00:01"), "is the system MAC of the leafs of unit 1"),
        "unit to come": (intent("networks.business.anycast_mac", "02:67:79:00:01:00"), "of the leafs of unit 256"),
    },
    "NET039": {
        "switches": (intent("networks.oob.mtu_bytes", 9000), "out-of-band switches send 9000 bytes"),
        "servers": (intent("networks.oob.host_mtu_bytes", 9000), "out-of-band servers send 9000 bytes"),
    },
    "NOS019": {"nobody": (intent("site.syslog", []), "the site names no log collector")},
    "NET035": {"intel": (intent("networks.business.anycast_mac", "00:1b:21:aa:bb:cc"), "in a maker's range")},
    "RED012": {"one": (networks("storage", uplinks=1), "2 leafs of storage have a single uplink each")},
    "BRD014": {
        "default in halves": (_border(64_496, accept=_filters(*HALVES)), "which is no public prefix (private, 100.64.0.0/10)"),
        "all that is public": (_border(64_496, accept=_filters(*PUBLIC)), "which is no public prefix (private, 100.64.0.0/10)"),
        "announce": (_border(64_496), "which is no public prefix (private, 100.64.0.0/10)"),
        "nat": (
            chain(_border(64_496, announce=_filters(("203.0.113.0/24", 32)))),
            "red leaves to the internet with 100.65.0.0/29",
        ),
    },
    "BRD015": {
        "default": (_border(announce=_filters(("0.0.0.0/0",))), "internet is told the default route"),
        "halves": (_border(announce=_filters(*HALVES)), "internet is told the default route in parts"),
    },
    "BRD016": {
        "loopback": (_border(accept=_filters(("127.0.0.0/8", 24))), "lets 127.0.0.0/8 up to /24 through"),
        "private from the internet": (
            _border(64_496, accept=_filters(("0.0.0.0/0",), ("192.168.0.0/16",))),
            "lets 192.168.0.0/16 through (private",
        ),
    },
    "BRD017": {"short": (_peer("accept", [{"prefix": "10.200.0.0/14", "up_to": 8}]), "no longer than /8")},
    "BRD018": {"none": (_peer("password", False), "the BGP session to internet has no password")},
    "BRD019": {"as trans": (_peer("asn", 23_456), "AS 23456 is reserved"), "last": (_peer("asn", 65_535), "AS 65535")},
    "BRD020": {
        "whole table": (_peer("max_routes", 2_000_000), "the whole internet's"),
        "too low": (
            chain(_peer("accept", [{"prefix": "10.200.0.0/24"}, {"prefix": "10.201.0.0/24"}]), _peer("max_routes", 1)),
            "may send 1 route, and accept takes 10.200.0.0/24, 10.201.0.0/24",
        ),
        "one for all parts": (
            chain(_peer("accept", [{"prefix": "10.200.0.0/14", "up_to": 24}]), _peer("max_routes", 1)),
            "may send 1 route, and accept takes 10.200.0.0/14 up to /24",
        ),
    },
    "BRD021": {
        "loopback": (_peer("links", [{"border": 1, "prefix": "127.0.0.0/31"}]), "addresses of loopback"),
        "pool": (_peer("links", [{"border": 1, "prefix": "10.68.0.0/31"}]), "the pool of business"),
    },
    "BRD023": {"jumbo": (_mtu(9000), "packets of up to 9000 bytes go to internet, and few peers take over 1500")},
    "BRD024": {"beyond": (_mtu(9300), "MTU 9300 of the link to internet is above what the fabric with 50 of VXLAN carries")},
    "BRD022": {
        "uneven": (
            _peer(
                "links", [{"border": 1, "prefix": "100.64.0.0/31", "speed_gbps": 10}, {"border": 2, "prefix": "100.64.0.2/31"}]
            ),
            "run at 10G, 400G",
        )
    },
}

SILENT = {
    "NET038": {"beside": intent("networks.business.anycast_mac", "02:67:79:01:00:01")},
    "NET039": {"said": chain(intent("networks.oob.mtu_bytes", 1500), intent("networks.oob.host_mtu_bytes", 1400))},
    "NOS019": {"one": intent("site.syslog", ["10.255.0.15"])},
    "SIT001": {"unicast": _dns("10.255.0.53", "192.168.9.53")},
    "SIT002": {"two and four": intent("site.ntp", [f"10.255.0.{n}" for n in range(123, 127)])},
    "SIT003": {"own": intent("site.domain", "pod-1.example.net"), "SIT004's": intent("site.domain", "cluster.local")},
    "SIT004": {"internal": intent("site.domain", "pod-a.internal"), "SIT003's": intent("site.domain", "localhost")},
    "SIT005": {"router's end": chain(_links(*PAIR), _dns("10.255.255.0", "10.255.0.54"))},
    "SIT006": {"beside docker": _dns("172.18.0.2", "10.255.0.54")},
    "SIT007": {"private": intent("site.syslog", ["100.64.0.1"]), "public resolver": _dns("9.9.9.9", "1.1.1.1")},
    "NET036": {"two": _links(*PAIR)},
    "NET024": {"two": _links(*PAIR), "one spine": chain(_with_upstream(PAIR[0]), networks("oob", spines=1))},
    "NET025": {"storage 2": _allowed("storage", 2.0), "NET026's": _allowed("compute", 4.0)},
    "NET026": {"3.5:1": _allowed("compute", 3.5), "storage 16": _allowed("storage", 16.0), "oob": _allowed("oob", 100.0)},
    "NET027": {"one unit": RAIL_ONLY, "NET023's": networks("storage", tiers=1, units=2)},
    "NET028": {"faster": networks("compute", fabric_speed_gbps=800), "oob": networks("oob", fabric_speed_gbps=100)},
    "NET029": {"roce": networks("compute", host_mtu_bytes=1500), "jumbo": networks("storage", host_mtu_bytes=8900)},
    "NET030": {"whole": networks("compute", **INFINIBAND), "ethernet": networks("storage", mtu_bytes=9216)},
    "NET031": {"two tiers": networks("compute", spines=1), "one leaf": networks("compute", tiers=1, leafs_per_unit=1)},
    "NET041": {
        "NET031's": RAIL_ONLY,
        "NET027's": chain(networks("compute", tiers=1, units=2), NVLINK),
        "one leaf": chain(networks("compute", tiers=1, leafs_per_unit=1), NVLINK),
        "two tiers": NVLINK,
    },
    "NET032": {"two leafs": intent("networks.compute.rails_per_leaf", 2)},
    "NET033": {"two": intent("servers.gpu.unit", 2), "not on compute": intent("servers.storage.unit", 1)},
    "NET034": {"local": intent("networks.business.anycast_mac", "02:00:00:00:00:01")},
    "NET035": {
        "local": intent("networks.business.anycast_mac", "02:00:00:00:00:01"),
        "arista": intent("networks.business.anycast_mac", "00:1c:73:00:00:99"),
    },
    "RED012": {"one tier": networks("storage", uplinks=1, tiers=1)},
    "BRD014": {"core network of the house": _border(accept=_filters(("0.0.0.0/0",), ("100.70.0.0/16", 24)))},
    "BRD015": {"accepted": _border(accept=_filters(("0.0.0.0/0",), ("100.70.0.0/16", 24)))},
    "BRD016": {"default route": _border(64_496, accept=_filters(("0.0.0.0/0",)))},
    "BRD017": {"alone": _peer("accept", [{"prefix": "0.0.0.0/0", "up_to": 0}])},
    "BRD018": {"there": _peer("password", True)},
    "BRD019": {"public": _peer("asn", 64_496)},
    "BRD020": {
        "a few": _peer("max_routes", 10),
        "one prefix": chain(_peer("accept", [{"prefix": "10.200.0.0/14"}]), _peer("max_routes", 1)),
    },
    "BRD021": {"public": _peer("links", [{"border": 1, "prefix": "198.51.100.0/31"}])},
    "BRD023": {"tunnel": _mtu(1400), "default": _mtu(1500)},
    "BRD024": {"just fits": _mtu(9050)},
    "BRD022": {"both": _peer("links", [{"border": n, "prefix": f"100.64.0.{2 * n}/31", "speed_gbps": 10} for n in (1, 2)])},
}
