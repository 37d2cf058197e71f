"""The fabric that the peers are given: S spines, L single-homed EVPN leafs with a link to each spine, eBGP twice.

Every leaf carries all tenants: T VRFs of V anycast SVIs each, and P access ports.
"""

import argparse
from dataclasses import dataclass


@dataclass(frozen=True)
class Fabric:
    """Dimensions."""

    spines: int = 4
    leafs: int = 16
    tenants: int = 10
    vlans: int = 10
    ports: int = 16

    @property
    def spine_names(self):
        return [f"spine{number}" for number in range(1, self.spines + 1)]

    @property
    def leaf_names(self):
        return [f"leaf{number:03d}" for number in range(1, self.leafs + 1)]

    def leaf_asn(self, number):
        return 4_200_000_000 + number


def parse_fabric(doc, add=None):
    """Return (fabric, arguments) from the command line; `add` adds a script's own options."""
    parser = argparse.ArgumentParser(description=doc)
    for short, name in (("S", "spines"), ("L", "leafs"), ("T", "tenants"), ("V", "vlans"), ("P", "ports")):
        parser.add_argument(f"-{short}", f"--{name}", type=int, default=getattr(Fabric, name))
    if add:
        add(parser)
    args = parser.parse_args()
    return Fabric(args.spines, args.leafs, args.tenants, args.vlans, args.ports), args


def make_avd(fabric):
    """Return AVD's inputs by device: one mapping shared by all, as group_vars would be, and the device's type."""
    common = {
        "fabric_name": "PEERS",
        "underlay_routing_protocol": "ebgp",
        "overlay_routing_protocol": "ebgp",
        "p2p_uplinks_mtu": 9214,
        "mgmt_gateway": "172.16.0.1",
        "mgmt_interface": "Management1",
        "bgp_peer_groups": {"ipv4_underlay_peers": {"name": "UNDERLAY"}, "evpn_overlay_peers": {"name": "OVERLAY"}},
        "spine": {
            "defaults": {"platform": "default", "loopback_ipv4_pool": "10.255.0.0/24", "bgp_as": "65100"},
            "nodes": [
                {"name": name, "id": number, "mgmt_ip": f"172.16.0.{10 + number}/20"}
                for number, name in enumerate(fabric.spine_names, 1)
            ],
        },
        "l3leaf": {
            "defaults": {
                "platform": "default",
                "loopback_ipv4_pool": "10.255.4.0/22",
                "vtep_loopback_ipv4_pool": "10.255.8.0/22",
                "uplink_ipv4_pool": "10.240.0.0/16",
                "uplink_switches": fabric.spine_names,
                "uplink_interfaces": [f"Ethernet{48 + number}" for number in range(1, fabric.spines + 1)],
                "virtual_router_mac_address": "00:1c:73:00:00:99",
                "spanning_tree_mode": "mstp",
                "mlag": False,
            },
            "nodes": [
                {
                    "name": name,
                    "id": number,
                    "bgp_as": str(fabric.leaf_asn(number)),
                    "mgmt_ip": f"172.16.{1 + number // 250}.{number % 250 + 1}/20",
                    "uplink_switch_interfaces": [f"Ethernet{number}"] * fabric.spines,
                }
                for number, name in enumerate(fabric.leaf_names, 1)
            ],
        },
        "tenants": [
            {
                "name": f"TENANT{tenant}",
                "mac_vrf_vni_base": 100_000 + tenant * 1000,
                "vrfs": [
                    {
                        "name": f"VRF{tenant}",
                        "vrf_vni": tenant,
                        "svis": [
                            {
                                "id": 100 * tenant + vlan,
                                "name": f"T{tenant}_V{vlan}",
                                "enabled": True,
                                "ip_address_virtual": f"10.{tenant}.{vlan}.1/24",
                            }
                            for vlan in range(1, fabric.vlans + 1)
                        ],
                    }
                ],
            }
            for tenant in range(1, fabric.tenants + 1)
        ],
        "servers": [
            {
                "name": f"server-{leaf}-{port}",
                "adapters": [
                    {
                        "endpoint_ports": ["eth0"],
                        "switch_ports": [f"Ethernet{port}"],
                        "switches": [leaf],
                        "vlans": str(100 * (1 + (port - 1) % fabric.tenants) + 1),
                        "mode": "access",
                    }
                ],
            }
            for leaf in fabric.leaf_names
            for port in range(1, fabric.ports + 1)
        ],
    }
    return {
        **{name: {**common, "type": "spine"} for name in fabric.spine_names},
        **{name: {**common, "type": "l3leaf"} for name in fabric.leaf_names},
    }


def make_netlab(fabric, device):
    """Return netlab's topology of the same fabric."""
    spines, leafs = fabric.spine_names, fabric.leaf_names
    vlans = [(tenant, vlan) for tenant in range(1, fabric.tenants + 1) for vlan in range(1, fabric.vlans + 1)]
    wide = fabric.leafs >= 240

    def subnet(tenant, vlan):
        return f"10.{100 + tenant}.{4 * vlan}.0/22" if wide else f"10.{tenant}.{vlan}.0/24"

    return {
        "name": "peers",
        "provider": "libvirt" if device == "cumulus_nvue" else "external",
        "defaults": {"device": device, "const": {"MAX_NODE_ID": 1000}, "bgp": {"community": {"ebgp": ["standard", "extended"]}}},
        "plugin": ["ebgp.multihop"],
        "addressing": {
            "core": {"ipv4": "10.240.0.0/16", "prefix": 31},
            "p2p": {"ipv4": "10.240.0.0/16", "prefix": 31},
            "loopback": {"ipv4": "10.255.0.0/20"},
            "lan": {"ipv4": "10.200.0.0/16", "prefix": 24},
            "mgmt": {"ipv4": "172.16.0.0/20", "start": 10},
        },
        "evpn": {"as": 65000, "session": []},
        "bgp": {
            "sessions": {"ipv4": ["ebgp"]},
            "multihop": {
                "activate": {"ipv4": ["evpn"]},
                "sessions": [{leaf: {}, spine: {}} for leaf in leafs for spine in spines],
            },
        },
        "gateway": {"protocol": "anycast", "id": 1, "anycast": {"unicast": True}},
        "groups": {
            "_auto_create": True,
            "spines": {"members": spines, "module": ["bgp", "evpn"], "bgp": {"as": 65100}},
            "leafs": {
                "members": leafs,
                "module": ["vlan", "vxlan", "vrf", "bgp", "evpn", "gateway"],
                "vlans": {f"t{tenant}v{vlan}": None for tenant, vlan in vlans},
            },
        },
        "vrfs": {
            f"t{tenant}": {"id": tenant, "evpn": {"transit_vni": 50_000 + tenant}} for tenant in range(1, fabric.tenants + 1)
        },
        "vlans": {
            f"t{tenant}v{vlan}": {
                "id": 100 * tenant + vlan,
                "vni": 100_000 + tenant * 1000 + 100 * tenant + vlan,
                "vrf": f"t{tenant}",
                "mode": "irb",
                "gateway": True,
                "bgp": False,
                "prefix": {"ipv4": subnet(tenant, vlan)},
            }
            for tenant, vlan in vlans
        },
        "nodes": {name: {"bgp": {"as": fabric.leaf_asn(number)}} for number, name in enumerate(leafs, 1)},
        "links": [{leaf: {}, spine: {}, "pool": "p2p"} for leaf in leafs for spine in spines]
        + [
            {leaf: {"vlan": {"access": f"t{1 + (port - 1) % fabric.tenants}v1"}}}
            for leaf in leafs
            for port in range(1, fabric.ports + 1)
        ],
    }
