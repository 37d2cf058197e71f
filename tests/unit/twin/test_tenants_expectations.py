"""What the plan says about tenants' VRFs and machines, checked by hand on the driving example."""

import pytest

from cluster_model.twin.ethernet.outside import list_peers
from cluster_model.twin.ethernet.routes import ALIVE, LOCAL, Dead
from cluster_model.twin.ethernet.scope import Sampling, choose_scope
from cluster_model.twin.tenancy.hosts import dress_hosts
from cluster_model.twin.tenancy.tenants import expect

WORLD = "0.0.0.0/0 in VRF"


@pytest.fixture(scope="module")
def business(trees):
    """Return a function: name of a plan, hosts to keep, to (expectations of its business network, notes)."""

    def get(name="driving", each=2):
        tree = trees(name)
        scope = choose_scope(tree, frozenset(), Sampling(full=True), ["business"])
        notes = dress_hosts(tree.plan, scope, each)
        return expect(scope, "business", tree.plan), notes

    return get


def test_a_leaf_s_vrfs_by_hand(business):
    table = business()[0].tables(ALIVE)["business-leaf-u01-01"]
    borders = {"10.112.231.254", "10.112.231.255"}
    assert table["0.0.0.0/0 in VRF perception"] == table["0.0.0.0/0 in VRF infer"] == borders
    assert f"{WORLD} intake" not in table and f"{WORLD} services" not in table
    assert table["10.200.0.0/14 in VRF intake"] == borders
    assert table["10.48.0.0/24 in VRF perception"] == {LOCAL}  # the services hang here
    assert table["10.48.2.0/24 in VRF perception"] == {LOCAL}  # so do both that peer
    assert table["10.48.3.0/24 in VRF services"] == {"10.112.128.2"}  # unit 3's shared tunnel address
    assert "10.48.3.0/24 in VRF perception" not in table  # nobody's business
    assert not [route for route in table if route.startswith("192.168.") and "services" in route]  # not visible
    assert "192.168.0.0/20 in VRF perception" not in table  # its own


def test_a_leaf_without_the_services_hears_them_from_the_one_that_has(business):
    table = business()[0].tables(ALIVE)["business-leaf-u03-02"]
    assert table["10.48.0.0/24 in VRF infer"] == {"10.112.128.0"}
    assert {route.rpartition(" ")[2] for route in table if " in VRF " in route} == {"infer"}


def test_a_border_leaf_takes_what_its_peer_may_say(business):
    expectations, _ = business()
    table = expectations.tables(ALIVE)["business-border-01"]
    assert table["0.0.0.0/0 in VRF internet"] == table["0.0.0.0/0 in VRF planning"] == {"198.51.100.0"}
    assert table["10.200.0.0/24 in VRF intake"] == {"198.51.100.4"}
    assert not [route for route in table if route.startswith(("198.18.", "10.200.0.0/25"))]
    cut = next(link for link in expectations.links if link.a == "outside-internet" and link.b == "business-border-01")
    after = expectations.tables(Dead(links=frozenset({cut})))
    assert f"{WORLD} internet" not in after["business-border-01"]
    assert after["business-border-01"][f"{WORLD} planning"] == {"10.112.231.255"}  # from the other one
    assert after["business-leaf-u01-01"][f"{WORLD} planning"] == {"10.112.231.255"}


def test_a_dead_pair_takes_what_hangs_on_it_along(business):
    expectations, _ = business()
    after = expectations.tables(Dead(frozenset({"business-leaf-u03-01", "business-leaf-u03-02"})))
    assert "10.48.3.0/24 in VRF services" not in after["business-leaf-u01-01"]
    half = expectations.tables(Dead(frozenset({"business-leaf-u03-01"})))
    assert half["business-leaf-u01-01"]["10.48.3.0/24 in VRF services"] == {"10.112.128.2"}


def names(pairs):
    return {(pair.source.server, pair.source.address, pair.target.address) for pair in pairs}


def test_who_meets_whom(business):
    expectations, notes = business()
    pairs = names(expectations.list_pairs())
    assert ("train-001", "192.168.0.16", "192.168.0.17") in pairs  # one tenant
    assert ("train-001", "10.48.1.16", "10.48.2.24") in pairs  # perception and planning peer
    assert ("train-001", "10.48.1.16", "10.48.0.16") in pairs  # services
    assert ("train-001", "192.168.0.16", "10.48.0.16") not in pairs  # `train` is not visible
    assert ("train-001", "192.168.0.16", "192.0.2.80") in pairs  # but is translated on its way out
    assert ("train-001", "10.48.1.16", "10.200.0.1") not in pairs and ("ingest-001", "10.48.16.16", "10.200.0.1") in pairs
    assert {"hosts", "DHCP"} == set(notes)
    assert notes["DHCP"].endswith("2 hosts of inference's front addresses of the pool")


def test_strangers_are_those_that_no_rule_joins(business):
    expectations, _ = business()
    nowhere, unanswered = (names(pairs) for pairs in expectations.list_strangers())
    assert ("infer-001", "10.48.3.64", "10.48.1.16") in nowhere or ("infer-001", "10.48.3.64", "10.48.1.17") in nowhere
    assert ("infer-001", "10.48.3.64", "10.200.0.1") in nowhere
    assert any(source == "192.168.0.16" and target.startswith("10.48.0.") for _, source, target in unanswered)
    assert not (nowhere | unanswered) & names(expectations.list_pairs())


def test_an_address_of_two_tenants_is_each_one_s_own(business):
    shared = business(each=20)[0].list_shared()
    assert shared
    for pair in shared:
        assert business  # the tenant's machine, not the other's
        assert pair.source.server.rpartition("-")[0] == pair.target.server.rpartition("-")[0]


def test_peers_announce_what_they_may_and_what_they_may_not(trees):
    plan = trees("driving").plan
    peers = {peer.name: peer for peer in list_peers(plan, plan.switches)}
    assert peers["internet"].announces == ("0.0.0.0/0",)
    assert peers["internet"].refused == ("198.18.99.0/24",)
    assert peers["vehicles"].announces == ("10.200.0.0/14", "10.200.0.0/24")
    assert peers["vehicles"].refused == ("198.18.99.0/24", "0.0.0.0/0", "10.200.0.0/25")
    assert len(peers["vehicles"].ports) == 2


def test_on_a_compute_network_with_vrfs_a_tenant_s_hosts_meet_within_a_rail(trees):
    tree = trees("driving-frr")
    scope = choose_scope(tree, frozenset(), Sampling(full=True), ["compute"])
    expectations = expect(scope, "compute", tree.plan)
    tenant = {server: owner.name for owner in tree.plan.tenants for server in owner.servers}
    pairs = expectations.list_pairs()
    assert len(pairs) == 2 * 8 * 7 * 8  # tenants, hosts, other hosts, rails
    assert all(tenant[pair.source.server] == tenant[pair.target.server] for pair in pairs)
    nowhere, unanswered = expectations.list_strangers()
    assert len(nowhere) == 8 * 2 and not unanswered  # a rail, there and back
    assert all(tenant[pair.source.server] != tenant[pair.target.server] for pair in nowhere)
