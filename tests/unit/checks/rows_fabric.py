"""Rows of the rules about networks: NET, ROC, NOS, ADR, ASN. One label per row; a firing row has words of its summary."""

from __future__ import annotations

from dataclasses import replace

from small_plan import PLATFORM, SOURCE, chain, hardware, intent, items, lossless, networks, plan, platform, ports

from cluster_model.plan.model import CageMode, Upstream


def _cable_two_rails(design):
    """Put the two rails of gpu-001 on one splitter."""
    cables = tuple(
        replace(c, assembly="compute-leaf-01/1", a_optic="", b_optic="", medium="splitter") if c.a == "gpu-001" else c
        for c in design.plan.cables
    )
    return plan(cables=cables)(design)


def _infiniband(planned):
    """Make InfiniBand of compute, with two ports of each of `planned` GPU servers, four leafs and spines."""
    return chain(networks("compute", technology="infiniband"), intent("servers.gpu.planned", planned))


def _third_uplink(design):
    """Give the first compute leaf a second link to its second spine."""
    first, *others = design.plan.switches
    return plan(switches=(replace(first, ports=(*first.ports, first.ports[-1])), *others))(design)


def _site(**fields):
    """Change the site's services."""
    return lambda design: plan(site=replace(design.plan.site, **fields))(design)


def _without(name):
    """Take a switch away."""
    return lambda design: plan(switches=tuple(switch for switch in design.plan.switches if switch.name != name))(design)


def _moved(cable, to):
    """Say that a cable was plugged in elsewhere."""
    return intent("cables.exceptions", [{"cable": cable, "to": to, "reason": "as built"}])


WAY = Upstream("p60", 60, 400, "10.255.255.1/31", "10.255.255.0")
SPLIT = tuple(CageMode(cage, "osfp", 2, 200, 8 * cage, 8, False) for cage in range(1, 65))
HOST_PORT = "p1"
CLASHING_MAP = tuple(1 if dscp == 26 else 6 if dscp == 48 else 0 for dscp in range(64))

RELEASES = {"first": "1.8", "last": "2.1", **SOURCE}


def _release(network, release):
    """Name the release of a network whose system is rendered for 1.8 to 2.1."""
    return chain(platform(releases=RELEASES), intent(f"networks.{network}.release", release))


FIRES = {
    "NET003": {
        "chip": (networks("compute", mtu_bytes=9500), "above what test/leaf carries"),
        "nos": (chain(networks("compute", mtu_bytes=9215), platform(mtu_bytes=9214)), "above what TestOS carries"),
    },
    "NET020": {"half": (ports("servers", "gpu", "c0", speed_gbps=200), "run at 200 Gb/s and could run at 400")},
    "NET023": {
        "oob": (networks("oob", tiers=1), "oob has 2 leafs and no spine: oob-leaf-01, oob-leaf-02 are apart"),
        "one of two leads out": (
            chain(networks("oob", tiers=1), items("switches", "oob-leaf-01", upstreams=(WAY,))),
            "oob-leaf-02 is apart",
        ),
        "storage": (networks("storage", tiers=1), "storage has 2 leafs and no spine"),
        "business": (networks("business", tiers=1), "business has 4 leafs and no spine"),
    },
    "NET010": {"uplinks by hand": (networks("compute", oversubscription=2.0), "oversubscribed 2.00 to 1")},
    "NET012": {"host above switch": (networks("compute", host_mtu_bytes=9200), "may send 9200 bytes")},
    "NET040": {
        "other rail's leaf": (
            chain(ports("servers", "gpu-001", "c0", peer="compute-leaf-02"), _moved("gpu-001:c0", "compute-leaf-02:p9")),
            "gpu-001:c0 leaves rail 0 of unit 1",
        ),
        "other unit": (
            chain(items("switches", "compute-leaf-01", unit=2), _moved("gpu-001:c0", "compute-leaf-01:p9")),
            "gpu-001:c0 leaves rail 0 of unit 1",
        ),
        "leaf-spine": (
            chain(
                networks("compute", design="leaf-spine"),
                items("switches", "compute-leaf-01", unit=2, rails=()),
                _moved("gpu-001:c0", "compute-leaf-01:p9"),
            ),
            "gpu-001:c0 leaves unit 1",
        ),
    },
    "NET013": {
        "other rail's leaf": (ports("servers", "gpu-001", "c0", peer="compute-leaf-02"), "1 port of unit 1"),
        "other unit": (items("switches", "compute-leaf-01", unit=2), "2 ports of unit 1"),
        "other plane": (ports("servers", "gpu-001", "c1", plane=2), "1 port of unit 1"),
        "rail spread": (
            chain(items("switches", "compute-leaf", rails=(0, 1)), ports("servers", "gpu-001", "c0", peer="compute-leaf-02")),
            "rail 0 of unit 1 is spread over 2 leafs",
        ),
    },
    "NET014": {"splitter": (_cable_two_rails, "1 server with two rails on one compute cable")},
    "NET015": {"three links": (_third_uplink, "1 switch of compute with uplinks that are not dealt evenly")},
    "NET016": {"same id twice": (intent("networks.oob.vlans", {"bmc": 12, "switch": 12, "host": 13}), "VLAN 12 is both")},
    "NET017": {"too many": (_infiniband(24_574), "compute needs 49,152 LIDs")},
    "ROC001": {
        "two": (lossless(pfc_priorities=(3, 4)), "PFC runs on priorities 3, 4"),
        "none": (lossless(pfc_priorities=()), "PFC runs on no priority"),
    },
    "ROC002": {
        "best effort": (lossless(priority=0), "unclassified"),
        "control": (lossless(priority=7), "routing"),
    },
    "ROC003": {
        "data's own": (lossless(cnp_priority=3), "lossless priority 3"),
        "other with PFC": (lossless(cnp_priority=4, pfc_priorities=(3, 4)), "lossless priority 4"),
    },
    "ROC004": {
        "equal": (lossless(cnp_dscp=26), "both have DSCP 26"),
        "data 0": (lossless(data_dscp=0), "data_dscp 0"),
        "cnp 0": (lossless(cnp_dscp=0), "cnp_dscp 0"),
    },
    "ROC005": {
        "map": (lossless(dscp_to_tc=CLASHING_MAP), "DSCP 26 is mapped to class 1"),
        "default map": (platform(rendered=False), "lossy class by default"),
    },
    "ROC006": {"off": (lossless(watchdog=False), "watchdog is off")},
    "ROC007": {"one byte short": (networks("compute", host_mtu_bytes=4191), "less than 4096")},
    "ROC008": {"long": (items("cables", "compute-leaf", length_m=101.0), "4 lossless cables of compute longer than 100 m")},
    "ROC025": {
        "below": (
            chain(platform(strict_above_weighted=True), lossless(cnp_priority=2)),
            "TestOS cannot send CNPs of priority 2 before data of priority 3",
        ),
        "below one of two": (
            chain(platform(strict_above_weighted=True), lossless(cnp_priority=4, pfc_priorities=(3, 5))),
            "before data of priority 5",
        ),
    },
    "ROC009": {"swapped": (lossless(ecn=((400, 1500, 1500, 100),)), "begins at 1500 kB")},
    # 100 MiB are 104,858 kB: one ninth is 11,651 kB, the share of 400 in 25,600 Gb/s is 1,639 kB
    "ROC011": {"above one ninth": (lossless(ecn=((400, 150, 11_652, 100),)), "already pauses")},
    "ROC012": {
        "above the share": (lossless(ecn=((400, 1640, 5000, 100),)), "above a port's share"),
        # No network says 200: one server's NIC is slower than the others.
        "one slower link": (
            chain(
                ports("switches", "compute-leaf-01", HOST_PORT, speed_gbps=200),
                lossless(ecn=((200, 821, 5000, 100), (400, 1639, 5000, 100))),
            ),
            "at 200 Gb/s begins at 821 kB",
        ),
    },
    "NOS002": {
        "no pfc": (platform(lacks=("pfc", "pfc_watchdog")), "lacks pfc, pfc_watchdog"),
        "no marking": (platform(lacks=("ecn",)), "lacks ecn"),
    },
    "NOS003": {"unnumbered": (platform(lacks=("bgp_unnumbered",)), "no bgp_unnumbered")},
    "NOS004": {"relay": (platform(lacks=("dhcp_relay",)), "no dhcp_relay")},
    "NOS005": {"split": (chain(items("switches", "compute", modes=SPLIT), platform(lacks=("breakout",))), "2x200")},
    "NOS006": {"by hand": (platform(rendered=False), "no configuration is rendered for TestOS")},
    "NOS009": {
        "no BFD": (platform(lacks=("bfd",)), "compute is a fabric of 2 tiers, and TestOS has no bfd"),
        "neither": (platform(lacks=("bfd", "ecmp")), "no bfd and no ecmp"),
    },
    "NOS010": {
        "forward": (
            chain(lossless(watchdog_action="forward"), platform(lacks=("pfc_watchdog_forward",))),
            "switches of compute shall forward during a PFC storm, and TestOS can only drop",
        )
    },
    "NOS011": {"one table": (platform(lacks=("mgmt_vrf",)), "have a management port, and TestOS has no mgmt_vrf")},
    "NOS012": {"silent": (chain(_site(snmp_managers=("10.255.0.61",)), platform(lacks=("snmp",))), "TestOS, which has no snmp")},
    "NOS013": {"no LLDP": (platform(lacks=("lldp",)), "TestOS has no lldp, so the cables of compute, ")},
    "NOS014": {
        "resolvers": (chain(_site(dns=tuple("abcd")), platform(resolvers=3)), "4 resolvers are named, and switches of compute, "),
        "time": (chain(_site(ntp=tuple("abc")), platform(time_servers=2)), "3 time servers are named"),
    },
    "NOS016": {
        **{
            f"older, {network}": (_release(network, "1.7.9"), "no configuration is rendered for TestOS 1.7.9")
            for network in ("compute", "storage", "business", "oob", "business.border")
        },
        "newer": (_release("compute", "2.2"), "no configuration is rendered for TestOS 2.2"),
        "of another maker": (_release("storage", "202605"), "TestOS 202605"),
        "less than a release": (_release("oob", "1"), "TestOS 1"),
    },
    "ADR002": {
        "inside": (networks("storage", pool="10.64.8.0/24"), "the pools of compute and storage overlap"),
        "equal": (networks("oob", pool="10.64.0.0/16"), "overlap"),
    },
    "ADR003": {
        "resolver": (intent("site.dns", ["10.64.200.200"]), "10.64.200.200 lies in the pool of compute"),
        "relay": (intent("networks.oob.dhcp_servers", ["10.66.200.200"]), "pool of oob"),
    },
    "ADR004": {
        "resolver": (ports("servers", "gpu", "c0", route="10.0.0.0/8"), "contains storage"),
        "service": (
            chain(intent("site.ntp", ["10.67.0.1"]), ports("servers", "gpu", "c0", route="10.64.0.0/14")),
            "contains storage",
        ),
    },
    "ADR005": {"link-local": (networks("compute", pool="169.254.0.0/16"), "link-local")},
    "ADR006": {"public": (networks("compute", pool="8.0.0.0/12"), "public")},
    "ADR007": {"docker": (networks("compute", pool="172.16.0.0/12"), "Docker")},
    "ADR008": {
        "services": (networks("compute", pool="10.96.0.0/11"), "service pool"),
        "pods": (networks("compute", pool="10.244.0.0/14"), "pod pool"),
        "each other": (intent("kubernetes.pod_pool", "10.96.0.0/16"), "share addresses"),
    },
    "ASN001": {
        "two leafs": (items("switches", "compute-leaf", asn=4_200_000_001), "compute-leaf-01, compute-leaf-02"),
        "leaf and spine": (items("switches", "compute-leaf-01", asn=4_200_000_100), "compute-leaf-01"),
        "spines of two pods": (items("switches", "compute-spine-02", pod=2), "compute-spine-01, compute-spine-02"),
    },
    "ASN002": {"own spine": (items("switches", "compute-spine-02", asn=4_200_000_900), "2 AS numbers")},
    "ASN003": {"public": (intent("asn_base", 70_000), "AS 70000 is not a private number")},
    "ASN004": {"two bytes": (chain(intent("asn_base", 64_512), items("switches", "compute", asn=65_535)), "up to 4200003100")},
}

SILENT = {
    "NET023": {
        "rail-only": networks("compute", tiers=1),
        "each leads out": chain(networks("oob", tiers=1), items("switches", "oob-leaf", upstreams=(WAY,))),
        "one leaf": chain(networks("oob", tiers=1), _without("oob-leaf-02")),
    },
    "NET003": {
        "at the limit": networks("compute", mtu_bytes=9216),
        "InfiniBand": networks("compute", technology="infiniband", mtu_bytes=9500),
    },
    "NET020": {
        "asked for": chain(ports("servers", "gpu", "c0", speed_gbps=200), intent("networks.compute.speed_gbps", 200)),
    },
    "NET010": {
        "allowed": networks("compute", oversubscription=2.0, oversubscription_allowed=2.0),
        "rounded": networks("compute", oversubscription=1.333, oversubscription_allowed=1.3333),
        "no uplinks": networks("compute", tiers=1, oversubscription=4.0),
    },
    "NET012": {"equal": networks("compute", host_mtu_bytes=9100)},
    "NET040": {
        "same leaf": _moved("gpu-001:c0", "compute-leaf-01:p9"),
        "leaf of both rails": chain(
            items("switches", "compute-leaf", rails=(0, 1)),
            ports("servers", "gpu-001", "c0", peer="compute-leaf-02"),
            _moved("gpu-001:c0", "compute-leaf-02:p9"),
        ),
        "storage": chain(
            ports("servers", "storage-001", "s0", peer="storage-leaf-02"), _moved("storage-001:s0", "storage-leaf-02:p9")
        ),
    },
    "NET013": {
        "shared leaf": items("switches", "compute-leaf", rails=(0, 1)),
        "leaf-spine": chain(networks("compute", design="leaf-spine"), items("switches", "compute-leaf", rails=())),
        "written down": chain(
            ports("servers", "gpu-001", "c0", peer="compute-leaf-02"), _moved("gpu-001:c0", "compute-leaf-02:p9")
        ),
        "dual-ToR": chain(
            intent("networks.compute.leafs_per_rail", 2),
            items("switches", "compute-leaf", rails=(0, 1)),
            ports("servers", "gpu-001", "c0", peer="compute-leaf-02"),
        ),
    },
    "NET014": {"one rail each": items("cables", "gpu-001", medium="splitter")},
    "NET015": {"all to one": ports("switches", "compute-leaf-01", "p", peer="compute-spine-02")},
    "NET016": {"three ids": intent("networks.oob.vlans", {"bmc": 21, "switch": 22, "host": 23})},
    "NET017": {"just enough": _infiniband(24_573), "Ethernet": intent("servers.gpu.planned", 40_000)},
    "ROC001": {"other priority": lossless(priority=4, pfc_priorities=(4,))},
    "ROC002": {"5": lossless(priority=5)},
    "ROC003": {"7": lossless(cnp_priority=7)},
    "ROC004": {"24 and 25": lossless(data_dscp=24, cnp_dscp=25)},
    "ROC005": {"default map is right": platform(rendered=False, default_dscp_lossless=True)},
    "ROC006": {"no RoCE": chain(networks("compute", lossless=False), lossless(watchdog=False))},
    "ROC007": {"just fits": networks("compute", host_mtu_bytes=4192)},
    "ROC008": {
        "just short enough": items("cables", "compute-leaf", length_m=100.0),
        "TCP": items("cables", "storage", length_m=300.0),
    },
    "ROC025": {
        "any order": lossless(cnp_priority=2),
        "above": platform(strict_above_weighted=True),
        "no data": chain(platform(strict_above_weighted=True), networks("compute", lossless=False), lossless(cnp_priority=2)),
    },
    "ROC009": {"ordered": lossless(ecn=((400, 1499, 1500, 100),))},
    "ROC011": {
        "one ninth": lossless(ecn=((400, 150, 11_651, 100),)),
        "unknown buffer": chain(hardware("test/leaf", "asic.buffer_mb", None), lossless(ecn=((400, 1, 90_000, 1),))),
    },
    "ROC012": {
        "the share": lossless(ecn=((400, 1639, 5000, 100),)),
        "speed not used": lossless(ecn=((400, 150, 1500, 100), (25, 1640, 5000, 100))),
        "no host stands on the spine": chain(
            ports("switches", "compute-leaf", HOST_PORT, speed_gbps=200),
            items("switches", "compute-spine", model="test/oob"),
            hardware("test/oob", "asic.buffer_mb", 1),
            lossless(ecn=((400, 1, 2, 100), (200, 800, 5000, 100))),
        ),
    },
    "NOS002": {"no RoCE": chain(networks("compute", lossless=False), platform(lacks=("pfc",)))},
    "NOS003": {
        "numbered": chain(
            *(networks(name, underlay="numbered") for name in ("compute", "storage", "business", "oob")),
            platform(lacks=("bgp_unnumbered",)),
        )
    },
    "NOS004": {"has it": platform(lacks=("breakout",))},
    "NOS005": {"nothing split": platform(lacks=("breakout",)), "can split": items("switches", "compute", modes=SPLIT)},
    "NOS009": {"has both": platform(lacks=("lldp",))},
    "NOS010": {
        "drop": platform(lacks=("pfc_watchdog_forward",)),
        "has it": lossless(watchdog_action="forward"),
        "no watchdog": chain(lossless(watchdog=False, watchdog_action="forward"), platform(lacks=("pfc_watchdog_forward",))),
    },
    "NOS011": {"in band": chain(items("switches", "", management=None), platform(lacks=("mgmt_vrf",)))},
    "NOS012": {"nobody asks": platform(lacks=("snmp",)), "answers": _site(snmp_managers=("10.255.0.61",))},
    "NOS013": {"has it": platform(lacks=("nat",))},
    "NOS014": {"no limit": _site(dns=tuple("abcd")), "fits": chain(_site(dns=tuple("abc")), platform(resolvers=3))},
    "NOS016": {
        "first": _release("compute", "1.8"),
        "patch release of the last": _release("business.border", "2.1.4F"),
        "between": _release("oob", "1.10"),
        "no range": intent("networks.oob.release", "0.1"),
        "none named": platform(releases=RELEASES),
    },
    "NOS006": {"rendered": platform(**{"description": PLATFORM["name"]})},
    "ADR002": {"neighbours": networks("storage", pool="10.63.0.0/16")},
    "ADR003": {"planned device": intent("site.dns", ["10.66.9.10"]), "outside": intent("site.dns", ["10.67.0.53"])},
    "ADR004": {
        "own pool": ports("servers", "gpu", "c0", route="10.64.0.0/16"),
        "own table": ports("servers", "gpu", "c0", route="0.0.0.0/0", table=100),
    },
    "ADR005": {"private": networks("compute", pool="192.168.0.0/16")},
    "ADR006": {"shared space": networks("compute", pool="100.64.0.0/10")},
    "ADR007": {"beside it": networks("compute", pool="172.18.0.0/16")},
    "ADR008": {"clear": networks("compute", pool="10.128.0.0/12")},
    "ASN001": {"InfiniBand": items("switches", "compute", asn=0)},
    "ASN002": {
        "other pod": chain(items("switches", "compute-spine-02", asn=4_200_000_900), items("switches", "compute-spine-02", pod=2))
    },
    "ASN003": {"two bytes": intent("asn_base", 65_000)},
    "ASN004": {"four bytes": intent("asn_base", 4_200_000_000)},
}
