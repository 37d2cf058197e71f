"""Laws of tenants: numbers by id alone, others left alone, and nothing crosses between VRFs that no meeting lets cross."""

from collections import defaultdict

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from strategies import catalogue, change, drop_none, sometimes

from cluster_model.intent.model.cluster import Cluster
from cluster_model.plan.build import build_plan

QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
PREFIXES = ["10.48.0.0/24", "10.48.1.0/24", "10.48.0.0/16", "192.168.0.0/20", "172.16.4.0/22", "203.0.113.0/26"]
SERVERS = ["gpu-001", "gpu-002", "gpu-002..gpu-004", "gpu-004..gpu-007", "control", "control-002", "gpu"]
KEPT = ["login-001", "login-002", "login-003", "login-002..login-003"]  # for the tenant that comes later
NAMES = ["ash", "birch", "cedar", "dogwood", "elm", "fir"]
PEERS = ["net", "line"]


def filters():
    line = st.builds(
        lambda prefix, longer: drop_none(prefix=prefix, up_to=longer),
        st.sampled_from(["0.0.0.0/0", *PREFIXES]),
        sometimes(st.sampled_from([24, 32])),
    )
    return sometimes(st.lists(line, max_size=3))


@st.composite
def subnets(draw, servers):
    return drop_none(
        cidr=draw(st.sampled_from(PREFIXES)),
        servers=draw(sometimes(st.lists(st.sampled_from(servers), max_size=2))),
        visible=draw(st.booleans()),
        untagged=draw(sometimes(st.just(True))),
        addressing=draw(st.sampled_from(["static", "static", "dhcp"])),
        first=draw(sometimes(st.fixed_dictionaries({"gpu": st.integers(2, 90)}))),
    )


@st.composite
def tenants(draw, number, own, reached, others):
    """Draw a tenant; its references may be ones that the intent's checks refuse, since a plan must stand them all."""
    ids = draw(st.lists(st.integers(1, 15), min_size=1, max_size=3, unique=True))
    names = st.lists(st.sampled_from(others), max_size=3) if others else st.just([])
    return {
        "id": number,
        "shared": draw(st.booleans()),
        "servers": draw(st.lists(st.sampled_from(own), max_size=2)),
        "subnets": {f"net-{index}": {"id": id_, **draw(subnets(reached))} for index, id_ in enumerate(ids)},
        "uses": draw(names),
        "peers": draw(names),
        "egress": draw(st.lists(st.sampled_from(PEERS), max_size=2)),
        "nat": draw(st.dictionaries(st.sampled_from(PEERS), st.sampled_from(["203.0.113.0/30", "203.0.113.9/32"]), max_size=1)),
    }


@st.composite
def documents(draw):
    """Draw a cluster of six to eight GPU servers, control and login nodes, and up to six tenants."""
    leafs = draw(st.sampled_from([2, 2, 1]))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=6, unique=True))
    ids = draw(st.lists(st.integers(1, 250), min_size=len(names), max_size=len(names), unique=True))
    others = [*names, "nobody"]
    return {
        "name": "random",
        "site": {"domain": "random.example.net"},
        "racks": {
            "rows": {"A": {"id": 1, "racks": 8}, "N": {"id": 2, "racks": 8}},
            "groups": {
                "gpu": {"id": 1, "rows": ["A"], "height_u": 48, "power_kw": 60, "feed_kw": 60},
                "network": {"id": 2, "rows": ["N"], "height_u": 48, "power_kw": 40, "feed_kw": 40},
            },
        },
        "servers": {
            "gpu": {"id": 1, "model": "nvidia/dgx-h100", "count": 6, "planned": 8, "unit": 4, "racks": "gpu"},
            "control": {"id": 2, "model": "generic/1u", "count": 3, "racks": "network"},
            "login": {"id": 3, "model": "generic/1u", "count": 3, "racks": "network"},
        },
        "networks": {
            "compute": {
                "technology": "roce",
                "leaf": "nvidia/sn5600",
                "pool": "10.64.0.0/12",
                "rails_per_leaf": 4,
                "isolation": draw(st.sampled_from(["none", "vrf"])),
            },
            "oob": {"leaf": "nvidia/sn2201", "spine": "nvidia/sn3700c", "pool": "10.124.0.0/14"},
            "business": {
                "leaf": "nvidia/sn3700c",
                "pool": "10.112.0.0/16",
                "unit": draw(st.sampled_from([2, 4, 5])),
                "leafs_per_unit": leafs,
                "homing": draw(st.sampled_from(["esi", "mlag"])),
                "border": {
                    "leaf": "generic/linux-32x100g",
                    "nos": "frr",
                    "peers": {
                        "net": drop_none(
                            id=2,
                            asn=64496,
                            links=[{"border": n + 1, "prefix": f"198.51.100.{2 * n}/31"} for n in range(leafs)],
                            accept=draw(filters()),
                            announce=draw(filters()),
                        ),
                        "line": drop_none(
                            id=1,
                            asn=64511,
                            links=[{"border": 1, "prefix": "198.51.100.8/31"}],
                            accept=draw(filters()),
                            announce=draw(filters()),
                        ),
                    },
                },
            },
        },
        "tenants": {name: draw(tenants(id_, SERVERS, [*SERVERS, *KEPT], others)) for name, id_ in zip(names, ids, strict=True)},
    }


def plan_of(document):
    plan, findings = build_plan(Cluster.model_validate(document), catalogue(), None, "digest")
    assert plan is not None, findings
    return plan


def turn(value):
    """Return a document with its mappings of named things and its lists the other way round."""
    if isinstance(value, dict):
        return {key: turn(item) for key, item in reversed(value.items())}
    return [turn(item) for item in reversed(value)] if isinstance(value, list) else value


def overlays(plan):
    return [(switch, switch.overlay) for switch in plan.switches if switch.network == "business"]


@given(documents())
@QUICK
def test_the_order_of_the_file_does_not_matter(document):
    turned = change(document)
    turned["tenants"] = turn(document["tenants"])
    turned["networks"]["business"]["border"]["peers"] = turn(document["networks"]["business"]["border"]["peers"])
    assert plan_of(turned) == plan_of(document)


@st.composite
def additions(draw):
    """Draw (a cluster, the name of a tenant to add, the tenant)."""
    document = draw(documents())
    taken = {tenant["id"] for tenant in document["tenants"].values()}
    number = draw(st.integers(1, 250).filter(lambda number: number not in taken))
    return document, draw(tenants(number, KEPT, [*SERVERS, *KEPT], list(document["tenants"])))


def without(vrf, name):
    """Return a VRF's fields as they would be if it took nothing from VRF `name`."""
    return {field: getattr(vrf, field) for field in vrf.__slots__} | {"imports": [i for i in vrf.imports if i.vrf != name]}


@given(additions())
@QUICK
def test_a_tenant_that_comes_changes_nothing_of_the_others(pair):
    document, later = pair
    old, new = plan_of(document), plan_of(change(document, tenants={**document["tenants"], "later": later}))
    assert [tenant for tenant in new.tenants if tenant.name != "later"] == list(old.tenants)
    assert [meeting for meeting in new.meetings if "later" not in {meeting.provider, meeting.consumer}] == list(old.meetings)
    subnet_vlans = {subnet.vlan for tenant in new.tenants if tenant.name == "later" for subnet in tenant.subnets}
    for before, after in zip(old.switches, new.switches, strict=True):
        assert before.name == after.name
        if before.overlay is None:
            assert after.overlay is None
            continue
        was, now = before.overlay, after.overlay
        assert [vlan for vlan in now.vlans if vlan.vrf != "later"] == list(was.vlans)
        assert [without(vrf, "later") for vrf in now.vrfs if vrf.name != "later" and vrf.kind != "external"] == [
            without(vrf, "later") for vrf in was.vrfs if vrf.kind != "external"
        ]
        assert (now.vtep, now.mlag, now.externals) == (was.vtep, was.mlag, was.externals)
        assert [rule for rule in now.nat if rule.tenant != "later"] == list(was.nat)
        for bond, then in zip(now.bonds, was.bonds, strict=True):
            assert (bond.number, bond.server, bond.ports, bond.esi) == (then.number, then.server, then.ports, then.esi)
            assert {*bond.vlans, bond.untagged} - subnet_vlans - {0} == {*then.vlans, then.untagged} - {0}
    for before, after in zip(old.servers, new.servers, strict=True):
        reached = any(vlan.tenant == "later" for bond in after.bonds for vlan in bond.vlans)
        assert reached or before.bonds == after.bonds


@given(documents())
@QUICK
def test_growing_within_the_plan_changes_no_number(document):
    old, new = plan_of(document), plan_of(change(document, servers__gpu__count=8))
    for before, after in zip(old.tenants, new.tenants, strict=True):
        assert {f: getattr(before, f) for f in before.__slots__ if f != "servers"} == {
            f: getattr(after, f) for f in after.__slots__ if f != "servers"
        }
        assert set(before.servers) <= set(after.servers)
    assert old.meetings == new.meetings
    for server in old.servers:
        assert new.server(server.name).bonds == server.bonds
    for switch, before in overlays(old):
        after = new.switch(switch.name).overlay
        assert set(before.vlans) <= set(after.vlans)
        assert set(before.bonds) <= set(after.bonds)
        assert {vrf.name for vrf in before.vrfs} <= {vrf.name for vrf in after.vrfs}
        assert (before.vtep, before.mlag, before.externals, before.nat) == (after.vtep, after.mlag, after.externals, after.nat)


@given(documents())
@QUICK
def test_numbers_are_nobody_elses(document):
    plan = plan_of(document)
    subnets = [subnet for tenant in plan.tenants for subnet in tenant.subnets]
    for values in (
        [t.vlan for t in plan.tenants] + [s.vlan for s in subnets],
        [t.vni for t in plan.tenants] + [s.vni for s in subnets],
        [t.route_target for t in plan.tenants] + [s.route_target for s in subnets],
        [t.table for t in plan.tenants] + [peer.table for peer in plan.border_peers],
    ):
        assert len(set(values)) == len(values)
    found = [s.overlay for s in plan.switches if s.overlay]
    rds = [item.rd for overlay in found for item in (*overlay.vlans, *overlay.vrfs) if item.rd]
    assert len(set(rds)) == len(rds)
    segments = defaultdict(set)
    for _, overlay in overlays(plan):
        for bond in overlay.bonds:
            segments[bond.system_mac, bond.es_id].add(bond.server)
            assert (bond.esi != "") == (overlay.homing == "esi")
    assert all(len(servers) == 1 for servers in segments.values())


@given(documents())
@QUICK
def test_prefixes_cross_between_vrfs_only_where_they_meet(document):
    plan = plan_of(document)
    crossing = defaultdict(set)  # (from, to) → prefixes
    for meeting in plan.meetings:
        crossing[meeting.provider, meeting.consumer].update(meeting.offered)
        crossing[meeting.consumer, meeting.provider].update(meeting.returned)
    own = {tenant.vrf: {subnet.prefix for subnet in tenant.subnets} for tenant in plan.tenants}
    peers = {peer.name for peer in plan.border_peers}
    for _, overlay in overlays(plan):
        here = defaultdict(set)  # by VRF: prefixes on this very switch
        for vlan in overlay.vlans:
            here[vlan.vrf] |= {s.prefix for t in plan.tenants for s in t.subnets if f"{t.name}-{s.name}" == vlan.name}
        homes = set(here) | {external.vrf for external in overlay.externals}
        offers = defaultdict(set)  # by VRF that takes
        for meeting in plan.meetings:
            if meeting.provider in homes:
                inside = meeting.provider in peers
                offers[meeting.consumer] |= {
                    line.prefix for line in meeting.offered if inside or line.prefix in here[meeting.provider]
                }
        for vrf in overlay.vrfs:
            for taken in vrf.imports:
                assert set(taken.prefixes) <= crossing[taken.vrf, vrf.name]
                assert taken.vrf in homes or vrf.name in homes
            told = {line.prefix for line in vrf.announced}
            assert told == here[vrf.name] | offers[vrf.name]
            assert vrf.kind == "external" or told <= own[vrf.name] | offers[vrf.name]


@given(documents())
@QUICK
def test_what_is_internal_stays_inside(document):
    plan = plan_of(document)
    hidden = {
        tenant.vrf: {subnet.prefix for subnet in tenant.subnets} - {subnet.prefix for subnet in tenant.subnets if subnet.visible}
        for tenant in plan.tenants
    }
    assume(any(hidden.values()))
    for meeting in plan.meetings:
        assert not {line.prefix for line in meeting.offered} & hidden.get(meeting.provider, set())
        assert not {line.prefix for line in meeting.returned} & hidden[meeting.consumer]
    for _, overlay in overlays(plan):
        for vrf in overlay.vrfs:
            for taken in vrf.imports:
                assert not {line.prefix for line in taken.prefixes} & hidden.get(taken.vrf, set())


@given(documents())
@QUICK
def test_a_servers_interfaces_end_on_leafs_that_have_their_vlan(document):
    plan = plan_of(document)
    bonds = {(switch.name, bond.server): (bond, overlay) for switch, overlay in overlays(plan) for bond in overlay.bonds}
    for server in plan.servers:
        for bond in server.bonds:
            leafs = {port.peer for port in server.ports if port.name in bond.ports}
            assert len(leafs) == min(len(bond.ports), document["networks"]["business"]["leafs_per_unit"])
            for leaf in leafs:
                far, overlay = bonds[leaf, server.name]
                assert {vlan.vlan for vlan in bond.vlans if vlan.tagged} == set(far.vlans)
                assert [vlan.vlan for vlan in bond.vlans if not vlan.tagged] == [far.untagged] * bool(far.untagged)
                assert {vlan.vlan for vlan in bond.vlans} <= {vlan.vlan for vlan in overlay.vlans}
            assert sum(vlan.default for vlan in bond.vlans) == bool(bond.vlans)


@given(documents())
@QUICK
def test_the_leafs_of_a_pair_tell_the_same(document):
    pairs = defaultdict(list)
    for switch, overlay in overlays(plan_of(document)):
        if switch.role == "leaf":
            pairs[switch.unit].append(overlay)
    for pair in pairs.values():
        first = pair[0]
        for overlay in pair:
            assert [vlan.vlan for vlan in overlay.vlans] == [vlan.vlan for vlan in first.vlans]
            assert [(vrf.name, vrf.imports, vrf.announced) for vrf in overlay.vrfs] == [
                (vrf.name, vrf.imports, vrf.announced) for vrf in first.vrfs
            ]
            assert (overlay.vtep == first.vtep) == (overlay is first or overlay.homing == "mlag")
        assert first.shared_vtep == (first.mlag is not None) == (first.homing == "mlag")
    assert len({pair[0].vtep for pair in pairs.values()}) == len(pairs)
