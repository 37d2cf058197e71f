"""Addresses and AS numbers: fixed slices of a pool, by capacity."""

from ipaddress import ip_address, ip_interface, ip_network

import pytest
from intents import STORAGE, plan_example, plan_of, small, vary_example

from cluster_model.kinds import COMPUTE, KINDS
from cluster_model.plan.fabric.addressing import PoolTooSmall, advise_wider, cut_pool, host_address, pow2, prefix, text
from cluster_model.plan.fabric.numbers import core_asn, leaf_asn, spine_asn

BASE = 4_200_000_000


def cut(pool="10.64.0.0/11", **values):
    asked = {"planes": 1, "lanes": 8, "units": 4, "leafs": 1, "seats": 128, "switches": (32, 8, 1), "slots": (0, 0)}
    return cut_pool(ip_network(pool), **{**asked, **values})


@pytest.mark.parametrize(("number", "power"), [(0, 1), (1, 1), (2, 2), (3, 4), (128, 128), (129, 256)])
def test_powers_of_two(number, power):
    assert pow2(number) == power


def test_a_host_link_is_a_31_with_the_switch_first():
    assert host_address(int(ip_address("10.64.0.6"))) == ("10.64.0.6/31", "10.64.0.7/31", "10.64.0.6")


def test_addresses_as_text():
    assert text(int(ip_address("10.255.0.1"))) == "10.255.0.1"
    assert prefix(int(ip_address("10.64.0.0")), 256) == "10.64.0.0/24"


def test_a_pool_is_cut_by_rail_then_unit_then_leaf():
    found = cut()
    assert text(found.lane(0, 0)) == "10.64.0.0" and text(found.lane(0, 1)) == "10.66.0.0"
    assert found.leaf_size == 256
    assert text(found.leaf(0, 1, 2, 0)) == "10.66.2.0"
    assert text(found.service_base(0)) == "10.80.0.0"
    assert text(found.loopback(0, 0)) == "10.92.0.0"


def test_lanes_do_not_move_when_units_are_added():
    assert cut(units=4).lane(0, 5) == cut(units=64).lane(0, 5)
    assert cut(units=4).leaf(0, 5, 3, 0) == cut(units=64).leaf(0, 5, 3, 0)


def test_a_pool_too_small_says_what_it_needs_and_the_next_one_fits():
    with pytest.raises(PoolTooSmall) as refused:
        cut("10.64.0.0/20")
    assert refused.value.role == "host links"
    cut(f"10.0.0.0/{refused.value.needed}")
    with pytest.raises(PoolTooSmall):
        cut(f"10.0.0.0/{refused.value.needed + 1}")


@pytest.mark.parametrize(
    ("values", "role"),
    [
        ({"slots": (512, 1)}, "links between switches"),
        ({"switches": (32, 4096, 1), "slots": (1, 64)}, "links between spines and cores"),
        ({"switches": (2**14, 8, 1)}, "loopbacks"),
        ({"lanes": 1, "units": 64, "seats": 128}, "service addresses"),
    ],
)
def test_every_part_of_a_pool_is_held_to_its_size(values, role):
    with pytest.raises(PoolTooSmall) as refused:
        cut("10.64.0.0/16", **values)
    assert refused.value.role == role


def test_advice_stays_in_private_space():
    assert advise_wider(ip_network("10.64.0.0/24"), 19) == "give it a /19, e.g. 10.64.0.0/19, clear of the other pools"
    assert advise_wider(ip_network("172.16.0.0/16"), 11) == "give it a /11, clear of the other pools"
    assert "no private prefix" in advise_wider(ip_network("10.0.0.0/8"), 4)


def test_slices_of_an_example_do_not_overlap():
    for name in ("lab", "superpod-roce"):
        for network in plan_example(name).networks:
            parts = [ip_network(part.prefix) for part in network.slices]
            wide = [part for part, slice_ in zip(parts, network.slices, strict=True) if not slice_.name.startswith("rail")]
            assert all(part.subnet_of(ip_network(network.pool)) for part in parts)
            assert not any(a.overlaps(b) for i, a in enumerate(wide) for b in wide[i + 1 :])


def test_a_host_has_one_route_per_rail_and_a_leaf_one_aggregate():
    plan = plan_example("superpod-roce")
    routes = {}
    for server in plan.servers:
        for port in server.ports:
            if port.network == "compute":
                assert routes.setdefault(port.rail, port.route) == port.route
                assert port.table == 100 + port.rail
    assert len(set(routes.values())) == 8
    for leaf in plan.switches:
        if leaf.network == "compute" and leaf.role == "leaf":
            (aggregate,) = leaf.originates
            assert ip_network(aggregate).subnet_of(ip_network(routes[leaf.rails[0]]))


def test_numbered_links_have_a_31_each_and_unnumbered_none():
    plan = plan_of(small(networks__compute__underlay="numbered", networks__storage=STORAGE))
    links = [port for switch in plan.switches for port in switch.ports if port.use == "fabric" and switch.network == "compute"]
    assert all(port.address.endswith("/31") for port in links)
    assert len({ip_interface(port.address).network for port in links}) == len(links) // 2
    assert not any(p.address for s in plan.switches for p in s.ports if p.use == "fabric" and s.network == "storage")


def test_infiniband_has_no_addresses_and_no_as_numbers():
    plan = plan_example("superpod-h100")
    for switch in plan.switches:
        if switch.network == "compute":
            assert (switch.asn, switch.loopback, switch.originates) == (0, "", ())
    assert {p.address for s in plan.servers for p in s.ports if p.network == "compute"} == {""}


def test_as_numbers_are_private_and_apart():
    assert leaf_asn(BASE, COMPUTE, 0, 0) == 4_200_000_001
    planes, positions = range(4), (0, 1, 1_000_000)
    leafs = {leaf_asn(BASE, kind, plane, at) for kind in KINDS.values() for plane in planes for at in positions}
    spines = {spine_asn(BASE, kind, plane, pod) for kind in KINDS.values() for plane in planes for pod in range(256)}
    cores = {core_asn(BASE, kind, plane) for kind in KINDS.values() for plane in planes}
    assert len(leafs) == 48 and len(spines) == 16 * 256 and len(cores) == 16
    assert not leafs & spines and not leafs & cores and not spines & cores
    assert max(leafs | spines | cores) <= 4_294_967_294


def test_spines_of_a_pod_share_an_as_number_and_pods_differ():
    wide = vary_example(
        "superpod-roce",
        servers__gpu__unit=8,
        networks__oob__racks_per_leaf=1,
        networks__oob__upstreams=[],
        networks__compute__tiers=3,
    )
    plan = plan_of(wide)
    network = plan.network("compute")
    assert network.tiers == 3 and network.pods > 1
    by_pod = {}
    for switch in plan.switches:
        if switch.network == "compute" and switch.role == "spine":
            by_pod.setdefault(switch.pod, set()).add(switch.asn)
    assert all(len(numbers) == 1 for numbers in by_pod.values())
    assert len(set.union(*by_pod.values())) == len(by_pod)
    assert len({switch.asn for switch in plan.switches if switch.role == "core" and switch.network == "compute"}) == 1


def test_service_addresses_are_reached_over_every_port_of_the_host():
    plan = plan_example("superpod-roce")
    server = plan.server("storage-001")
    (service,) = server.services
    ports = [port for port in server.ports if port.network == "storage"]
    assert service.address.endswith("/32") and service.gateways == tuple(port.gateway for port in ports)
    for port in ports:
        routes = {route.prefix: route for route in plan.switch(port.peer).service_routes}
        assert routes[service.address].next_hop == port.address.removesuffix("/31")


def test_ceph_has_service_addresses_of_its_own_where_it_is_kept_apart():
    plan = plan_of(vary_example("superpod-roce", networks__storage__ceph_cluster="separate"))
    assert [service.purpose for service in plan.server("storage-001").services] == ["storage", "ceph-cluster"]
    assert [service.purpose for service in plan.server("gpu-001").services] == ["storage"]
