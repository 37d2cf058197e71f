"""Rows of the rules about tenants: TEN, SUB, VRF, BRD, BND, and what NET, NOS and RED say of the business network."""

from __future__ import annotations

from dataclasses import replace

from small_plan import (
    PLATFORM,
    SOURCE,
    chain,
    hardware,
    intent,
    items,
    make_catalogue,
    networks,
    overlays,
    plan,
    platform,
    ports,
    subnets,
)

from cluster_model.plan.model.overlay import Filter, Nat, TenantFolder, TenantStorage

RED, BLUE, SERVICES = "tenants.red.subnets", "tenants.blue.subnets", "tenants.services.subnets"
STORAGE = TenantStorage(("data",), "red", "client.red", ())
DEFAULT_ROUTE = (Filter("0.0.0.0/0"),)
ALONE = chain(items("tenants", "red", uses=()), items("tenants", "blue", uses=()))  # they peer, and use nothing
INNER = (Filter("10.48.0.0/16", 32),)


def _tenant(name, **fields):
    return items("tenants", name, **fields)


def _folders(pool="data", **quotas):
    """Give tenants folders in file system home, of so many TB."""
    folders = {name: TenantFolder("home", pool, int(quota_tb * 10**12)) for name, quota_tb in quotas.items()}
    shares = (_tenant(name, storage=replace(STORAGE, pools=(), folders=(each,))) for name, each in folders.items())
    return chain(intent("ceph.filesystems", {"home": {"pools": ["data"]}}), *shares)


def _buckets(**quotas):
    """Let tenants have buckets, of so many TB."""
    shares = (
        _tenant(name, storage=replace(STORAGE, pools=(), object_bytes=int(quota_tb * 10**12)))
        for name, quota_tb in quotas.items()
    )
    return chain(intent("ceph.object", {"pool": "data"}), *shares)


STORE_ON_GPUS = intent("ceph.object", {"pool": "data", "hosts": "gpu"})


def _bucket(name, **fields):
    """Let a tenant have buckets."""
    return _tenant(name, storage=replace(STORAGE, pools=(), object_bytes=0), **fields)


def _peer(name, **fields):
    return items("border_peers", name, **fields)


def _other_border_nos(**fields):
    """Run the border leafs on a system of their own."""
    return lambda design: replace(
        items("switches", "business-border", nos="edgeos")(design),
        catalogue=make_catalogue(edgeos={**PLATFORM, "name": "EdgeOS", **fields}),
    )


def _lacks(*names):
    return {**PLATFORM["features"], **dict.fromkeys(names, False)}


def _end_tunnels(ref, **vxlan):
    """Know what a model's chip does with VXLAN; nothing is known without `vxlan`."""
    return hardware(ref, "asic.vxlan", {**vxlan, **SOURCE} if vxlan else None)


def _border_model(ref):
    return chain(intent("networks.business.border.leaf", ref), networks("business", border_model=ref))


def _no_border(design):
    data = design.cluster.model_dump(mode="json", exclude_unset=True)
    del data["networks"]["business"]["border"]
    return replace(design, cluster=type(design.cluster).model_validate(data, strict=False))


def _link(index, prefix):
    """Change the prefix of a link to the first border peer."""

    def change(design):
        links = design.cluster.model_dump(mode="json")["networks"]["business"]["border"]["peers"]["internet"]["links"]
        links[index]["prefix"] = prefix
        links = [{key: value for key, value in link.items() if value is not None} for link in links]
        return intent("networks.business.border.peers.internet.links", links)(design)

    return change


def _second_bond(**fields):
    """Change the second bond on the first business leaf."""

    def change(design):
        bonds = list(design.switches["business-leaf-01"].overlay.bonds)
        bonds[1] = replace(bonds[1], **fields)
        return overlays("business-leaf-01", bonds=tuple(bonds))(design)

    return change


def _one_rd(design):
    """Give the first two VRFs of the first business leaf one route distinguisher."""
    first, second, *others = design.switches["business-leaf-01"].overlay.vrfs
    return overlays("business-leaf-01", vrfs=(first, replace(second, rd=first.rd), *others))(design)


def _fewer_ports(group):
    """Leave the servers of a group one business port."""

    def change(design):
        rows = [
            replace(s, ports=tuple(p for p in s.ports if p.name != "b1")) if s.group == group else s for s in design.plan.servers
        ]
        return plan(servers=tuple(rows))(design)

    return change


def _no_business_ports(design):
    rows = [replace(s, ports=tuple(p for p in s.ports if p.network != "business")) for s in design.plan.servers]
    return plan(servers=tuple(rows))(design)


def _on_storage(*groups):
    """Give servers of groups a port on the storage network."""

    def change(design):
        rows = [
            replace(s, ports=(*s.ports, replace(s.ports[0], name="s0", network="storage"))) if s.group in groups else s
            for s in design.plan.servers
        ]
        return plan(servers=tuple(rows))(design)

    return change


def _lone_link(design):
    """Leave the first peer its link to the first border leaf."""
    externals = design.switches["business-border-02"].overlay.externals
    return overlays("business-border-02", externals=tuple(e for e in externals if e.peer != "internet"))(design)


FIRES = {
    "TEN001": {
        "two subnets": (
            chain(subnets("blue", "front", vlan=18), intent(f"{BLUE}.front.vlan", 18)),
            "VLAN 18 of blue's front is already used by red's front",
        ),
        "subnet and VRF": (
            chain(subnets("red", "front", vlan=32), intent(f"{RED}.front.vlan", 32)),
            "VLAN 32 of red's front is already used by the VRF of blue",
        ),
        "MLAG's": (subnets("red", "front", vlan=4094), "VLAN 4094 of red's front cannot be used"),
    },
    "TEN002": {
        "two subnets": (subnets("blue", "front", vni=10_018), "VNI 10018 of blue's front is already used by red's front"),
        "subnet and VRF": (subnets("red", "front", vni=50_002), "VNI 50002 of the VRF of blue is already used by red's front"),
        "compute": (_tenant("blue", compute_vni=60_001), "VNI 60001 of blue on compute is already used by red on compute"),
    },
    "TEN003": {
        "target": (subnets("blue", "front", route_target="64512:10018"), "route target 64512:10018 stands for VNIs 10018, 10034"),
        "distinguisher": (_one_rd, "belongs to red on business-leaf-01, blue on business-leaf-01"),
    },
    "TEN004": {"named twice": (_tenant("blue", servers=("gpu-001", "gpu-002")), "1 server of blue already belongs to red")},
    "TEN005": {"five of four": (_tenant("red", gpus=5), "red may use 5 GPUs, and 4 exist")},
    "TEN006": {"three and two": (chain(_tenant("red", gpus=3), _tenant("blue", gpus=2)), "tenants may use 5 GPUs together")},
    "TEN007": {
        "one": (_tenant("red", gpus=1), "red has 2 GPUs of its own and may use 1"),
        "none": (_tenant("red", gpus=0), "may use 0"),
    },
    "TEN008": {"none": (_no_business_ports, "1 server of red without a port on the business network")},
    "TEN009": {"none": (networks("compute", isolation="none"), "red, blue have servers on one compute network")},
    "TEN010": {
        "both": (
            chain(subnets("red", "front", untagged=True), subnets("red", "train", untagged=True)),
            "train of red and front of red are both untagged on 1 server",
        ),
        "two tenants": (
            chain(
                intent(f"{SERVICES}.core.servers", ["control", "gpu-001"]),
                subnets("red", "front", untagged=True),
                subnets("services", "core", untagged=True),
            ),
            "core of services are both untagged on 1 server",
        ),
    },
    "TEN011": {
        "shared": (intent("tenants.services.servers", []), "red, blue cannot reach services"),
        "nothing visible": (subnets("services", "core", visible=False), "cannot reach services"),
        "peer": (intent("tenants.red.servers", []), "blue cannot reach red"),
    },
    "TEN012": {"no address": (_tenant("red", storage=STORAGE), "red has a share of Ceph, and no server of it")},
    "TEN016": {"nothing": (_tenant("red", storage=replace(STORAGE, pools=())), "red has a share of Ceph with nothing in it")},
    "TEN017": {"another pool": (_folders("bulk", red=1), "pool bulk is not in file system home")},
    "TEN018": {
        "together": (_folders(red=150, blue=150), "quotas in file system home come to 300.0 TB, and pool data can hold 263.6"),
        "buckets": (_buckets(red=150, blue=150), "quotas in the object store come to 300.0 TB, and pool data can hold 263.6"),
    },
    "TEN019": {
        "red's": (
            chain(STORE_ON_GPUS, _bucket("red", servers=("gpu-001",)), _bucket("blue", servers=())),
            "servers of red have gateways, whose keys open the objects of blue too",
        ),
    },
    "TEN015": {
        "the administrator": (
            _tenant("red", storage=replace(STORAGE, user="client.admin")),
            "the user of tenant red, client.admin, is there in every Ceph for another use",
        ),
        "a daemon's": (_tenant("red", storage=replace(STORAGE, user="client.bootstrap-osd")), "client.bootstrap-osd, is there"),
        "pods'": (
            _tenant("red", storage=replace(STORAGE, user="client.kubernetes-files-node")),
            "client.kubernetes-files-node, is there",
        ),
        "a file system's": (
            chain(_folders(red=1), _tenant("red", storage=replace(STORAGE, user="client.files-home"))),
            "the user of tenant red, client.files-home, mounts all of a file system",
        ),
    },
    "TEN014": {
        "two tenants": (_on_storage("gpu"), "red, blue share the storage network, which keeps no tenants apart"),
        "one with Ceph": (chain(_on_storage("gpu"), _tenant("red", storage=STORAGE)), "red, blue share the storage network"),
        "none of its own": (chain(_on_storage("gpu"), _tenant("services", servers=())), "red, blue, services share"),
    },
    "SUB001": {
        "outside": (intent(f"{RED}.front.gateway", "10.48.2.1"), "gateway 10.48.2.1 is not in 10.48.1.0/24"),
        "network": (intent(f"{RED}.front.gateway", "10.48.1.0"), "network or broadcast"),
        "broadcast": (intent(f"{RED}.front.gateway", "10.48.1.255"), "network or broadcast"),
    },
    "SUB002": {"two": (intent(f"{RED}.front.cidr", "10.48.1.0/31"), "no room for a gateway and a host")},
    "NOS015": {
        "leafs and border": (
            platform(mended={"router_macs": "2.1"}),
            "TestOS 2.0 on business-leaf-01, business-leaf-02 forgets router MACs",
        ),
    },
    "SUB003": {
        "small": (intent(f"{RED}.front.cidr", "10.48.1.0/28"), "1 server of gpu beyond the end of red's front"),
        "broadcast": (intent(f"{RED}.front.first", {"gpu": 255}), "1 server of gpu"),
        "planned": (
            chain(intent("servers.control.planned", 239), intent(f"{SERVICES}.core.first", {"control": 17})),
            "1 server of control beyond the end of services's core",
        ),
    },
    "SUB004": {
        "gateway": (intent(f"{RED}.front.gateway", "10.48.1.16"), "1 server of gpu shares an address with the gateway"),
        "other group": (
            chain(
                intent(f"{SERVICES}.core.servers", ["control", "gpu"]),
                intent(f"{SERVICES}.core.first", {"control": 16, "gpu": 16}),
            ),
            "2 servers of control share addresses with gpu",
        ),
        "group without first": (
            intent(f"{SERVICES}.core.servers", ["control", "gpu"]),
            "2 servers of control share addresses with gpu",
        ),
        "pool": (
            intent(f"{SERVICES}.core.pool", {"first": "10.48.0.17", "last": "10.48.0.30"}),
            "2 servers of control share addresses with the pool",
        ),
    },
    "SUB005": {
        "outside": (intent(f"{BLUE}.front.pool.last", "10.48.3.10"), "leaves 10.48.2.0/24"),
        "backwards": (intent(f"{BLUE}.front.pool.last", "10.48.2.10"), "ends before it begins"),
        "gateway": (intent(f"{BLUE}.front.pool.first", "10.48.2.1"), "holds the gateway, 10.48.2.1"),
        "broadcast": (intent(f"{BLUE}.front.pool.last", "10.48.2.255"), "leaves"),
    },
    "SUB006": {"none": (intent(f"{BLUE}.front.dhcp_servers", []), "leafs relay to nobody")},
    "SUB007": {
        "nowhere": (intent(f"{BLUE}.front.dhcp_servers", ["10.99.0.1"]), "10.99.0.1 is out of blue's reach"),
        "not used": (intent("tenants.blue.uses", []), "10.48.0.16 is out of blue's reach"),
        "hidden server": (intent(f"{SERVICES}.core.visible", False), "out of blue's reach"),
        "no way back": (intent(f"{BLUE}.front.visible", False), "cannot answer to blue's front, which is not visible"),
    },
    "SUB008": {"inside": (intent(f"{RED}.front.cidr", "192.168.3.0/24"), "train and front of red overlap")},
    "SUB009": {
        "compute": (intent(f"{RED}.train.cidr", "10.64.128.0/20"), "shares addresses with the pool of compute"),
        "pods": (intent(f"{RED}.train.cidr", "10.244.16.0/20"), "Kubernetes' pod pool"),
    },
    "SUB010": {"multicast": (intent(f"{RED}.train.cidr", "224.0.0.0/20"), "touches 224.0.0.0/4 (multicast)")},
    "VRF001": {
        "long": (_tenant("red", vrf="perception-train"), "the VRF of tenant red is called perception-train, which TestOS"),
        "prefix": (
            chain(_tenant("red", vrf="perception-tr"), platform(vrf_prefix="Vrf")),
            "is called Vrfperception-tr, which TestOS cannot hold",
        ),
        "peer": (_peer("internet", vrf="internet-provider-a"), "the VRF of border peer internet"),
        "border alone": (chain(_tenant("red", vrf="perception"), _other_border_nos(vrf_name_length=8)), "EdgeOS cannot hold"),
    },
    "VRF002": {
        "default": (_tenant("red", vrf="default"), "TestOS has something else that is called default"),
        "device": (chain(_tenant("red", vrf="Vlan17"), platform(reserved_names=[r"lo|vlan\d+"])), "called Vlan17"),
        "peer": (chain(_peer("internet", vrf="eth0"), platform(reserved_names=[r"eth\d+"])), "called eth0"),
    },
    "VRF003": {
        "tenants": (_tenant("blue", vrf="red"), "the VRFs of tenant red and tenant blue are both called red"),
        "peer": (_tenant("blue", vrf="internet"), "tenant blue and border peer internet"),
    },
    "VRF004": {
        "both visible": (
            chain(ALONE, subnets("red", "front", prefix="10.48.2.0/25")),
            "red's front and blue's front overlap, and meet",
        ),
        "own hidden one": (subnets("blue", "front", prefix="192.168.4.0/24"), "red's train and blue's front overlap"),
    },
    "VRF005": {
        "two that use it": (
            chain(_tenant("red", peers=()), _tenant("blue", peers=()), subnets("red", "front", prefix="10.48.2.0/24")),
            "red's front and blue's front overlap, and meet in the VRF of services",
        ),
        "the shared one's own": (subnets("red", "front", prefix="10.48.0.0/23"), "services's core and red's front overlap"),
        "hidden one": (subnets("red", "train", prefix="10.48.0.0/24"), "red's train and services's core overlap"),
    },
    "VRF006": {
        "both plain": (
            chain(_tenant("red", nat=()), subnets("red", "front", prefix="10.48.2.0/25"), _peer("internet", announce=INNER)),
            "red and blue both leave by internet",
        ),
    },
    "VRF007": {
        "peer and shared": (
            chain(subnets("blue", "front", prefix="10.48.0.128/25"), _tenant("blue", uses=())),
            "services's core and blue's front overlap, and meet in the VRF of red",
        ),
    },
    "BRD001": {"none": (_no_border, "red has egress to internet, but there is no border")},
    "BRD002": {
        "in": (_peer("internet", accept=None), "nothing says which routes may be taken from it: internet has no accept"),
        "out": (_peer("internet", announce=None), "internet has no announce"),
    },
    "BRD003": {
        "in": (_peer("internet", accept=(Filter("0.0.0.0/0", 32),)), "accept of internet takes every prefix up to /32"),
        "out": (_peer("internet", announce=(Filter("0.0.0.0/0", 25),)), "announce of internet takes every prefix"),
    },
    "BRD004": {"unused": (_peer("depots", tenants=()), "no tenant has egress to depots")},
    "BRD005": {"one": (_lone_link, "internet is connected to one border leaf of 2")},
    "BRD006": {
        "own subnet": (_peer("depots", accept=(Filter("10.48.2.0/24"),)), "depots may send routes for blue's front"),
        "longer": (_peer("depots", accept=(Filter("10.48.2.128/25"),)), "blue's front"),
        "hidden": (_peer("depots", accept=(Filter("192.168.0.0/16", 24),)), "blue's train"),
        "one that it meets": (_peer("depots", accept=(Filter("10.48.0.0/24"),)), "services's core"),
        "pool": (_peer("depots", accept=(Filter("10.0.0.0/8", 24),)), "the pool of compute"),
    },
    "BRD007": {
        "a leaf's": (_peer("internet", asn=4_200_000_001), "the number of compute-leaf-01"),
        "between": (_peer("internet", asn=4_200_000_500), "inside the cluster's range"),
    },
    "BRD008": {
        "two tenants": (_tenant("blue", nat=(Nat("internet", "100.65.0.4/30"),)), "100.65.0.4/30 of blue are also red's"),
        "other peer": (_tenant("blue", nat=(Nat("depots", "100.65.0.0/28"),)), "of blue are also red's 100.65.0.0/29"),
        "a subnet": (_tenant("red", nat=(Nat("internet", "10.48.2.8/29"),)), "are also blue's subnet 10.48.2.0/24"),
    },
    "BRD009": {
        "elsewhere": (_tenant("red", nat=(Nat("internet", "100.66.0.0/29"),)), "may not be told to internet"),
        "no halves": (_peer("internet", announce=(Filter("100.65.0.0/29"),)), "100.65.0.0/29, which red leaves with"),
    },
    "BRD010": {"one": (_tenant("red", nat=(Nat("internet", "100.65.0.1/32"),)), "cannot be parted over 2 border leafs")},
    "BRD011": {
        "not announced": (_peer("internet", announce=(Filter("100.65.0.0/24", 32),)), "internet is told no prefix of blue"),
        "nothing visible": (subnets("blue", "front", visible=False), "is told no prefix of blue"),
    },
    "BRD012": {"default": (_peer("depots", accept=DEFAULT_ROUTE), "internet and depots may both send blue 0.0.0.0/0")},
    "BRD013": {
        "twice": (_link(1, "100.64.0.0/31"), "link 2 of internet has addresses of 100.64.0.0/31, link 1"),
        "outside": (_link(0, "100.65.0.0/31"), "100.65.0.0/29, the outside addresses of red"),
        "subnet": (_link(0, "10.48.2.4/30"), "10.48.2.0/24, a subnet of blue"),
    },
    "BND001": {
        "old release": (intent("networks.business.release", "1.4"), "TestOS 1.4 has no EVPN multihoming, which came with 1.5"),
        "no MLAG": (chain(networks("business", homing="mlag"), platform(lacks=("mlag",))), "TestOS 2.0 has no MLAG"),
        "neither": (
            platform(lacks=("mlag", "evpn_multihoming"), since={}),
            "TestOS 2.0 has no EVPN multihoming",
        ),
    },
    "BND002": {"one of two": (_fewer_ports("control"), "3 servers of control with one link to the business network")},
    "BND003": {"half": (ports("servers", "gpu-001", "b1", speed_gbps=200), "1 server of gpu over links of different speeds")},
    "BND005": {"plain Linux": (platform(lacks=("segment_filters",)), "TestOS announces Ethernet segments")},
    "TEN013": {"VRF and subnets": (platform(reserved_vlans=[(16, 17)]), "is one that TestOS keeps")},
    "BND004": {
        "two servers": (_second_bond(esi="03:02:67:79:00:00:01:00:00:01"), "belongs to gpu-001, gpu-002"),
        "two segments": (_second_bond(esi="03:02:67:79:00:00:01:00:00:99"), "gpu-002 has 2 Ethernet segments"),
    },
    "NET022": {
        "business": (networks("business", host_mtu_bytes=9051), "9051 bytes of business hosts are 9101 with VXLAN"),
        "compute": (networks("compute", mtu_bytes=9049), "9000 bytes of compute hosts are 9050 with VXLAN"),
    },
    "NET003": {
        "border's NOS": (_other_border_nos(mtu_bytes=9000), "above what EdgeOS carries"),
        "border's chip": (
            chain(networks("business", border_model="test/single"), hardware("test/single", "asic.mtu_bytes", 9000)),
            "above what test/single carries",
        ),
    },
    "ADR002": {"business": (networks("business", pool="10.65.128.0/17"), "the pools of storage and business overlap")},
    "NOS003": {"border": (_other_border_nos(features=_lacks("bgp_unnumbered")), "EdgeOS has no bgp_unnumbered")},
    "NOS006": {"border": (_other_border_nos(rendered=False), "for EdgeOS: the business border leafs are yours")},
    "NOS007": {
        "all": (platform(lacks=("vxlan_evpn",)), "compute is built on EVPN, and TestOS has no vxlan_evpn"),
        "border": (_other_border_nos(features=_lacks("vxlan_evpn")), "business is built on EVPN, and EdgeOS"),
    },
    "HWR007": {
        "not known": (
            chain(networks("compute", evpn=False), _end_tunnels("test/leaf")),
            "leafs of business need L2 VNIs and L3 VNIs, and the chip of test/leaf, chip, is not known to have any",
        ),
        "none": (
            _end_tunnels("test/leaf", l2=False, l3=False),
            "leafs of compute need L3 VNIs, and the chip of test/leaf, chip, has none",
        ),
        "no bridging": (_end_tunnels("test/leaf", l2=False, l3=True), "leafs of business need L2 VNIs, and the chip"),
        "no routing": (_end_tunnels("test/leaf", l2=True, l3=False), "leafs of compute need L3 VNIs"),
        "border": (
            chain(_border_model("test/single"), _end_tunnels("test/single", l2=True, l3=False)),
            "border leafs of business",
        ),
    },
    "NOS008": {
        "all": (platform(lacks=("nat",)), "TestOS on the border leafs has no nat, which is asked for by red"),
        "border": (_other_border_nos(features=_lacks("nat")), "EdgeOS on the border leafs"),
    },
    "RED002": {
        "business": (items("switches", "business-leaf-02", rack="N01"), "1 set of business leafs"),
        "border": (items("switches", "business-border-02", rack="N01"), "1 set of business border leafs"),
    },
    "RED007": {
        "business": (ports("servers", "gpu-001", "b", peer="business-leaf-01"), "1 server of gpu with all business ports")
    },
}

SILENT = {
    "TEN001": {"last one": subnets("red", "front", vlan=4093)},
    "TEN002": {"compute beside business": subnets("red", "front", vni=60_001)},
    "TEN003": {"one VNI": chain(subnets("blue", "front", vni=10_018), subnets("blue", "front", route_target="64512:10018"))},
    "TEN004": {"in a subnet": intent(f"{SERVICES}.core.servers", ["control", "gpu-001"])},
    "TEN005": {"all": _tenant("red", gpus=4), "no quota": _tenant("red", gpus=-1)},
    "TEN006": {
        "all": _tenant("blue", gpus=2),
        "one above by itself": chain(_tenant("red", gpus=5), _tenant("blue", gpus=1)),
    },
    "TEN007": {"more": _tenant("red", gpus=3), "no quota": _tenant("red", gpus=-1)},
    "TEN008": {"one port": _fewer_ports("gpu")},
    "TEN009": {
        "one tenant": chain(networks("compute", isolation="none"), _tenant("blue", servers=())),
        "no compute ports": chain(networks("compute", isolation="none"), _tenant("red", servers=("control-001",))),
    },
    "TEN010": {"two tenants": chain(subnets("red", "front", untagged=True), subnets("blue", "front", untagged=True))},
    "TEN011": {
        "nobody uses it": chain(intent("tenants.services.servers", []), _tenant("red", uses=()), _tenant("blue", uses=())),
        "by the subnet": chain(intent("tenants.services.servers", []), intent(f"{SERVICES}.core.servers", ["control"])),
        "higher id": intent("tenants.blue.servers", []),
    },
    "TEN012": {
        "an address": _tenant("red", storage=replace(STORAGE, clients=("10.65.0.1/32",))),
        "no servers": chain(_tenant("red", storage=STORAGE), _tenant("red", servers=())),
    },
    "TEN016": {"a folder": _folders(red=1), "buckets": _buckets(red=0), "a pool": _tenant("red", storage=STORAGE)},
    "TEN017": {"its own": _folders(red=1)},
    "TEN018": {
        "as much": _folders(red=130, blue=130),
        "no quota": _folders(red=0, blue=260),
        "no quota of buckets": _buckets(red=0, blue=260),
    },
    "TEN019": {
        "its own": chain(
            intent("ceph.object", {"pool": "data", "hosts": "gpu", "count": 1}), _bucket("red", servers=("gpu-001",))
        ),
        "shared": chain(STORE_ON_GPUS, _bucket("red", servers=("gpu-001",), shared=True), _bucket("blue", servers=())),
        "no tenant's": chain(intent("ceph.object", {"pool": "data"}), _bucket("red"), _bucket("blue")),
    },
    "TEN015": {
        "its own": _tenant("red", storage=STORAGE),
        "of no file system": _tenant("red", storage=replace(STORAGE, user="client.files-work")),
    },
    "TEN014": {
        "one tenant's": _on_storage("control"),
        "nobody's": chain(_tenant("red", servers=()), _tenant("blue", servers=())),
    },
    "SUB001": {"last host": intent(f"{RED}.front.gateway", "10.48.1.254")},
    "SUB002": {"four": intent(f"{RED}.front.cidr", "10.48.1.0/30")},
    "NOS015": {
        "mended": platform(mended={"router_macs": "2.0"}),
        "newer": chain(
            platform(mended={"router_macs": "2.1"}),
            intent("networks.business.release", "2.2"),
        ),
        "one path": chain(platform(mended={"router_macs": "2.1"}), networks("business", leafs=1, borders=1)),
    },
    "SUB003": {
        "last host": intent(f"{RED}.front.first", {"gpu": 254}),
        "DHCP": intent(f"{BLUE}.front.cidr", "10.48.2.0/28"),
        "slice": intent("servers.gpu.planned", 1000),
    },
    "SUB004": {
        "own place": chain(
            intent(f"{SERVICES}.core.servers", ["control", "gpu"]), intent(f"{SERVICES}.core.first", {"control": 18})
        ),
        "behind the pool": intent(f"{SERVICES}.core.pool", {"first": "10.48.0.19", "last": "10.48.0.30"}),
    },
    "SUB005": {"whole": intent(f"{BLUE}.front.pool", {"first": "10.48.2.2", "last": "10.48.2.254"})},
    "SUB006": {"static": chain(intent(f"{BLUE}.front.addressing", "static"), intent(f"{BLUE}.front.dhcp_servers", []))},
    "SUB007": {
        "inside": chain(intent(f"{BLUE}.front.dhcp_servers", ["192.168.0.10"]), intent(f"{BLUE}.front.visible", False)),
    },
    "SUB008": {"beside": intent(f"{RED}.front.cidr", "192.168.16.0/24")},
    "SUB009": {
        "not attached": intent(f"{RED}.train.cidr", "10.65.0.0/20"),
        "business' own": intent(f"{RED}.train.cidr", "10.68.0.0/20"),
    },
    "SUB010": {"shared space": intent(f"{RED}.train.cidr", "100.64.0.0/20")},
    "VRF001": {
        "fifteen": _tenant("red", vrf="perception-trai"),
        "not on the border": chain(_tenant("services", vrf="everybody"), _other_border_nos(vrf_name_length=8)),
    },
    "VRF002": {
        "prefix": chain(_tenant("red", vrf="default"), platform(vrf_prefix="Vrf")),
        "alike": chain(_tenant("red", vrf="vlan"), platform(reserved_names=[r"lo|vlan\d+"])),
    },
    "VRF003": {"other case": _tenant("blue", vrf="Red")},
    "VRF004": {
        "both hidden": chain(
            ALONE,
            *(subnets(name, "front", visible=False) for name in ("red", "blue")),
            subnets("blue", "front", prefix="10.48.1.0/24"),
        ),
    },
    "VRF005": {
        "hidden": chain(
            _tenant("red", peers=()), subnets("blue", "front", prefix="10.48.1.0/24"), subnets("red", "front", visible=False)
        ),
        "not used": chain(_tenant("red", uses=()), _tenant("red", peers=()), subnets("red", "front", prefix="10.48.0.0/24")),
    },
    "VRF006": {
        "translated": chain(subnets("red", "front", prefix="10.48.2.0/24")),
        "not announced": chain(_tenant("red", nat=()), subnets("red", "front", prefix="10.48.2.0/25")),
        "by another": chain(
            _tenant("red", nat=()), _tenant("blue", egress=("depots",)), subnets("red", "front", prefix="10.48.2.0/24")
        ),
    },
    "VRF007": {"that one meets both": chain(subnets("blue", "front", prefix="10.48.0.128/25"))},
    "BRD001": {"nobody leaves": chain(_tenant("red", egress=()), _tenant("blue", egress=()), _no_border)},
    "BRD002": {"empty": _peer("internet", accept=())},
    "BRD003": {"up to /24": _peer("internet", accept=(Filter("0.0.0.0/0", 24),))},
    "BRD004": {"one": _peer("internet", tenants=("red",))},
    "BRD005": {"one border leaf": lambda design: plan(switches=design.plan.switches[:-1])(_lone_link(design))},
    "BRD006": {
        "shorter": _peer("depots", accept=(Filter("10.0.0.0/8"),)),
        "default": _peer("depots", accept=DEFAULT_ROUTE),
        "not met": _peer("internet", accept=(Filter("172.20.0.0/16", 32),)),
    },
    "BRD007": {"above": _peer("internet", asn=4_200_009_000)},
    "BRD008": {"beside": _tenant("blue", nat=(Nat("internet", "100.65.0.8/29"),))},
    "BRD009": {
        "halves": _peer("internet", announce=(Filter("100.65.0.0/29", 30),)),
        "one border leaf": chain(networks("business", borders=1), _peer("internet", announce=(Filter("100.65.0.0/29"),))),
    },
    "BRD010": {
        "two": _tenant("red", nat=(Nat("internet", "100.65.0.0/31"),)),
        "one border leaf": chain(networks("business", borders=1), _tenant("red", nat=(Nat("internet", "100.65.0.1/32"),))),
    },
    "BRD011": {"translated": _tenant("blue", nat=(Nat("internet", "100.65.0.8/29"), Nat("depots", "100.65.0.16/29")))},
    "BRD012": {"other tenants": chain(_peer("depots", accept=DEFAULT_ROUTE), _tenant("blue", egress=("depots",)))},
    "BRD013": {
        "hidden subnet": _link(0, "192.168.0.0/31"),
        "of a translated tenant": _link(0, "10.48.1.0/31"),
        "other peer's": _link(0, "100.64.0.4/31"),
    },
    "BND001": {
        "that release": intent("networks.business.release", "1.5"),
        "MLAG": networks("business", homing="mlag"),
        "single": chain(networks("business", homing="single"), platform(lacks=("mlag", "evpn_multihoming"), since={})),
    },
    "BND002": {
        "all alike": chain(_fewer_ports("control"), _fewer_ports("gpu")),
        "one leaf": chain(_fewer_ports("control"), networks("business", leafs_per_unit=1)),
    },
    "BND003": {"other server": ports("servers", "gpu-001", "b", speed_gbps=200)},
    "BND005": {"MLAG": chain(networks("business", homing="mlag"), platform(lacks=("segment_filters",)))},
    "TEN013": {"beside it": platform(reserved_vlans=[(2, 15), (4000, 4093)])},
    "BND004": {"MLAG": lambda design: overlays("business-leaf", bonds=_bare(design))(design)},
    "NET022": {
        "just fits": networks("business", host_mtu_bytes=9050),
        "no EVPN": chain(networks("compute", evpn=False), networks("compute", mtu_bytes=9000)),
        "above the switches": networks("business", host_mtu_bytes=9101),
    },
    "NOS007": {"no EVPN": chain(*(networks(n, evpn=False) for n in ("compute", "business")), platform(lacks=("vxlan_evpn",)))},
    "HWR007": {
        "no EVPN": chain(*(networks(n, evpn=False) for n in ("compute", "business")), _end_tunnels("test/leaf")),
        "spines pass packets on": chain(networks("business", spine_model="test/single"), _end_tunnels("test/single")),
        "compute routes alone": chain(networks("business", evpn=False), _end_tunnels("test/leaf", l2=False, l3=True)),
        "a border routes alone": chain(_border_model("test/single"), _end_tunnels("test/single", l2=False, l3=True)),
    },
    "NOS008": {"no translation": chain(_tenant("red", nat=()), platform(lacks=("nat",)))},
    "RED002": {"border beside a leaf": items("switches", "business-border-02", rack="N03")},
    "RED003": {"border leafs": items("switches", "business-border", rack="N03")},
}


def _bare(design):
    """Return the bonds of a business leaf without Ethernet segments."""
    return tuple(replace(bond, esi="") for bond in design.switches["business-leaf-01"].overlay.bonds)
