"""The tenants of the small plan, made by hand: red and blue peer and use services; red leaves translated, blue as it is.

Red and blue have the same prefix for training, which stays inside each.
"""

from __future__ import annotations

from typing import Any

from cluster_model.plan.model import Switch
from cluster_model.plan.model.overlay import (
    Bond,
    BorderPeer,
    External,
    Filter,
    Nat,
    Overlay,
    OverlayVlan,
    ServerBond,
    ServerVlan,
    Subnet,
    SwitchVrf,
    Tenant,
)

BORDER: dict[str, Any] = {
    "nos": "testos",
    "peers": {
        "internet": {
            "id": 1,
            "asn": 65_010,
            "links": [{"border": 1, "prefix": "100.64.0.0/31"}, {"border": 2, "prefix": "100.64.0.2/31"}],
            "accept": [{"prefix": "0.0.0.0/0"}],
            "announce": [{"prefix": "100.65.0.0/24", "up_to": 32}, {"prefix": "10.48.2.0/24"}],
            "password": True,
        },
        "depots": {
            "id": 2,
            "asn": 64_511,
            "links": [{"border": 1, "prefix": "100.64.0.4/31"}, {"border": 2, "prefix": "100.64.0.6/31"}],
            "accept": [{"prefix": "10.200.0.0/14", "up_to": 24}],
            "announce": [{"prefix": "10.48.2.0/24"}],
            "password": True,
        },
    },
}
TENANTS: dict[str, Any] = {
    "red": {
        "id": 1,
        "servers": ["gpu-001"],
        "gpus": 2,
        "subnets": {"train": {"id": 1, "cidr": "192.168.0.0/20", "visible": False}, "front": {"id": 2, "cidr": "10.48.1.0/24"}},
        "uses": ["services"],
        "peers": ["blue"],
        "egress": ["internet"],
        "nat": {"internet": "100.65.0.0/29"},
    },
    "blue": {
        "id": 2,
        "servers": ["gpu-002"],
        "subnets": {
            "train": {"id": 1, "cidr": "192.168.0.0/20", "visible": False},
            "front": {
                "id": 2,
                "cidr": "10.48.2.0/24",
                "addressing": "dhcp",
                "pool": {"first": "10.48.2.64", "last": "10.48.2.250"},
                "dhcp_servers": ["10.48.0.16", "10.48.0.17"],
            },
        },
        "uses": ["services"],
        "peers": ["red"],
        "egress": ["internet", "depots"],
    },
    "services": {"id": 10, "shared": True, "servers": ["control"], "subnets": {"core": {"id": 1, "cidr": "10.48.0.0/24"}}},
}
SEATS = {"gpu-001": 1, "gpu-002": 2, "control-001": 3, "control-002": 4, "control-003": 5}
MEMBERS = {"red": ("gpu-001",), "blue": ("gpu-002",), "services": ("control-001", "control-002", "control-003")}
MAC = "02:67:79:00:00:01"


def _subnet(tenant: str, name: str) -> Subnet:
    row = TENANTS[tenant]["subnets"][name]
    vlan = 16 * TENANTS[tenant]["id"] + row["id"]
    network, _, length = row["cidr"].rpartition(".0/")
    pool = row.get("pool")
    return Subnet(
        name=name,
        id=row["id"],
        tenant=tenant,
        prefix=row["cidr"],
        gateway=f"{network}.1/{length}",
        vlan=vlan,
        vni=10_000 + vlan,
        route_target=f"64512:{10_000 + vlan}",
        visible=row.get("visible", True),
        untagged=False,
        addressing=row.get("addressing", "static"),
        pool=f"{pool['first']}-{pool['last']}" if pool else "",
        dhcp_servers=tuple(row.get("dhcp_servers", ())),
        where=f"tenants.{tenant}.subnets.{name}",
    )


def make_tenants() -> tuple[Tenant, ...]:
    """Return the planned tenants."""
    return tuple(
        Tenant(
            name=name,
            id=row["id"],
            vrf=name,
            shared=row.get("shared", False),
            vlan=16 * row["id"],
            vni=50_000 + row["id"],
            route_target=f"64512:{50_000 + row['id']}",
            table=10_000 + row["id"],
            subnets=tuple(_subnet(name, key) for key in row["subnets"]),
            servers=MEMBERS[name],
            gpus=row.get("gpus", -1),
            uses=tuple(row.get("uses", ())),
            peers=tuple(row.get("peers", ())),
            egress=tuple(row.get("egress", ())),
            nat=tuple(Nat(peer, prefix) for peer, prefix in row.get("nat", {}).items()),
            compute_vni=60_000 + row["id"],
            compute_route_target=f"64512:{60_000 + row['id']}",
            pkey=0,
            storage=None,
            where=f"tenants.{name}",
        )
        for name, row in TENANTS.items()
    )


def _filters(rows: list[dict[str, Any]]) -> tuple[Filter, ...]:
    return tuple(Filter(row["prefix"], row.get("up_to", 0)) for row in rows)


def make_border_peers() -> tuple[BorderPeer, ...]:
    """Return the planned border peers."""
    return tuple(
        BorderPeer(
            name=name,
            id=row["id"],
            vrf=name,
            table=20_000 + row["id"],
            asn=row["asn"],
            description="",
            accept=_filters(row["accept"]),
            announce=_filters(row["announce"]),
            max_routes=1000,
            secret="",
            tenants=tuple(tenant for tenant, said in TENANTS.items() if name in said.get("egress", ())),
            where=f"networks.business.border.peers.{name}",
        )
        for name, row in BORDER["peers"].items()
    )


def _keys(server: str) -> list[tuple[str, str]]:
    return [(tenant, key) for tenant, members in MEMBERS.items() if server in members for key in TENANTS[tenant]["subnets"]]


def make_server_bonds(server: str) -> tuple[ServerBond, ...]:
    """Return a server's bonds: one for those that have a seat on the business leafs."""
    if server not in SEATS:
        return ()
    vlans = []
    for tenant, key in _keys(server):
        subnet = _subnet(tenant, key)
        base, length = subnet.prefix.rpartition(".0/")[::2]
        number = int(server.rpartition("-")[2])
        dhcp = subnet.addressing == "dhcp"
        address = "" if dhcp else f"{base}.{15 + number}/{length}"
        gateway = subnet.gateway.partition("/")[0]
        vlans.append(ServerVlan(f"bond0.{subnet.vlan}", tenant, key, subnet.vlan, True, address, gateway, dhcp, subnet.visible))
    return (ServerBond("bond0", ("b0", "b1"), 1500, 800, tuple(vlans)),)


def make_overlay(switch: Switch) -> Overlay | None:
    """Return a switch's overlay: tenants' VLANs, VRFs and bonds on business leafs, sessions on border leafs, none on others."""
    if switch.network != "business":
        return None
    if switch.role == "spine":
        return Overlay("", False, "", "esi")
    loopback = switch.loopback.partition("/")[0]
    vrfs = tuple(
        SwitchVrf(t.vrf, "tenant", t.id, t.table, t.vlan, t.vni, f"{loopback}:{50_000 + t.id}", t.route_target, (), (), (), ())
        for t in make_tenants()
    )
    if switch.role == "border":
        externals = tuple(
            External(p.name, p.vrf, f"p{p.id}", p.id, 400, "100.64.0.1/31", "100.64.0.0", p.asn, (), (), 1000, "")
            for p in make_border_peers()
        )
        return Overlay(loopback, False, "00:00:5e:00:01:01", "single", vrfs=vrfs, externals=externals)
    vlans = tuple(
        OverlayVlan(s.vlan, s.vni, f"{t.name}-{s.name}", f"{loopback}:{s.vlan}", s.route_target, t.vrf, s.gateway, s.dhcp_servers)
        for t in make_tenants()
        for s in t.subnets
    )
    bonds = tuple(
        Bond(seat, server, (f"p{seat}",), 400, seat, MAC, f"03:{MAC}:00:00:{seat:02x}", (), 0) for server, seat in SEATS.items()
    )
    return Overlay(loopback, False, "00:00:5e:00:01:01", "esi", vlans=vlans, vrfs=vrfs, bonds=bonds)
