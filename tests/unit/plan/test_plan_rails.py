"""The rails that pods take: which there are, whose port is on each, and where there are none."""

from dataclasses import replace
from ipaddress import ip_interface, ip_network

import pytest
from intents import change, plan_of, small

from cluster_model.plan.services.rails import find_misfit, plan_rails
from tests.planned import open_example

ASKED = {"control": "control", "workers": ["gpu"]}
CONTROL = {"id": 3, "model": "generic/1u", "count": 3, "racks": "network"}
B300 = {"servers__gpu__model": "nvidia/dgx-b300", "servers__gpu__per_rack": 2, "servers__gpu__count": 4, "servers__gpu__unit": 4}


def plan_small(**values):
    return plan_of(change(small(servers__control=CONTROL, kubernetes=ASKED), **values))


def list_workers(plan, known=False):
    """Return the workers; with `known`, as if the catalogue knew the PCI address of each part of a divided port."""
    workers = [server for server in plan.servers if server.group == "gpu"]
    if not known:
        return workers
    return [
        replace(
            server,
            ports=tuple(
                replace(port, pci=f"0000:{port.rail:02x}:00.{number % 8}", rdma=f"mlx5_{number}")
                if port.network == "compute"
                else port
                for number, port in enumerate(server.ports)
            ),
        )
        for server in workers
    ]


def test_each_rail_has_the_port_of_every_worker():
    plan = plan_small()
    kubernetes = plan.kubernetes
    assert kubernetes.rdma == "host-device"
    assert [rail.name for rail in kubernetes.rails] == [f"rail{n}" for n in range(8)]
    assert [rail.resource for rail in kubernetes.rails][:2] == ["gpuyard.io/rail0", "gpuyard.io/rail1"]
    for number, rail in enumerate(kubernetes.rails):
        ports = {server.name: port for server in list_workers(plan) for port in server.ports if port.rail == number}
        assert [seat.server for seat in rail.seats] == list(ports)
        assert rail.pci == (ports["gpu-001"].pci,)
        assert rail.groups == ("gpu",)
        for seat in rail.seats:
            host = ip_interface(ports[seat.server].address)
            assert ip_network(seat.prefix) == host.network
            # What is left of the two addresses is the host's own.
            assert [address for address in host.network if str(address) != seat.gateway] == [host.ip]
            assert host.network.subnet_of(ip_network(rail.prefix))
            assert rail.prefix == rail.routes[0] == ports[seat.server].route


def test_the_second_route_holds_every_rail():
    rails = plan_small().kubernetes.rails
    (reached,) = {rail.routes[1] for rail in rails}
    assert all(ip_network(rail.prefix).subnet_of(ip_network(reached)) for rail in rails)


def test_two_groups_of_one_model_share_its_rails():
    other = {"id": 2, "role": "gpu", "model": "nvidia/dgx-h100", "count": 4, "unit": 4, "racks": "gpu", "per_rack": 4}
    rails = plan_small(servers__more=other, kubernetes__workers=["gpu", "more"]).kubernetes.rails
    assert {rail.groups for rail in rails} == {("gpu", "more")}
    assert {len(rail.seats) for rail in rails} == {12}
    assert {len(rail.pci) for rail in rails} == {1}


def test_planes_and_sides_are_rails_of_their_own():
    plan = plan_small(**B300, networks__compute__planes=2)
    how, rails = plan_rails(None, plan.networks, list_workers(plan, known=True))
    assert how == "host-device"
    assert [rail.name for rail in rails] == [f"plane{plane}-rail{n}" for plane in (1, 2) for n in range(8)]
    assert rails[8].resource == "gpuyard.io/plane2_rail0"
    plan = plan_small(**B300, networks__compute__leafs_per_rail=2)
    _, rails = plan_rails(None, plan.networks, list_workers(plan, known=True))
    assert [rail.name for rail in rails] == [f"rail{n}-side{side}" for n in range(8) for side in (1, 2)]
    for rail in rails:
        assert len({seat.server for seat in rail.seats}) == len(rail.seats) == 4
    assert len({rail.prefix for rail in rails}) == len({pci for rail in rails for pci in rail.pci}) == 16


@pytest.mark.parametrize(
    "values",
    [
        {"kubernetes__rdma": "none"},
        {"networks__compute__design": "leaf-spine", "networks__compute__leafs_per_unit": 2},
        {"kubernetes__workers": ["control"]},
        {**B300, "networks__compute__planes": 2},
    ],
)
def test_no_rails_where_pods_cannot_take_them(values):
    kubernetes = plan_small(**values).kubernetes
    assert (kubernetes.rdma, kubernetes.rails) == ("none", ())


def test_what_hinders_has_a_fix_for_its_own_case():
    plan = plan_small(**B300)
    whole = find_misfit(plan.networks, list_workers(plan))
    assert whole.fix == "add pci and rdma to the ports of nvidia/dgx-b300, or set rdma to none"
    plan = plan_small(**B300, networks__compute__planes=2)
    divided = find_misfit(plan.networks, list_workers(plan))
    assert divided.fix == "set rdma to none"
    assert find_misfit(plan.networks, list_workers(plan, known=True)) is None


def test_infiniband_has_no_rails_and_ports_to_share():
    plan = open_example("superpod-h100").plan
    workers = [server for server in plan.servers if server.role == "gpu"]
    assert "infiniband" in find_misfit(plan.networks, workers).actual
    assert find_misfit(plan.networks, workers, shared=True) is None
    assert plan_rails("shared", plan.networks, workers) == ("shared", ())
    assert plan_rails(None, plan.networks, workers) == ("none", ())


def test_ports_with_one_address_are_not_shared():
    plan = plan_small(kubernetes__rdma="shared")
    assert (plan.kubernetes.rdma, plan.kubernetes.rails) == ("none", ())


def test_workers_without_compute_ports_are_on_no_rail():
    rails = open_example("driving").plan.kubernetes.rails
    assert {rail.groups for rail in rails} == {("train",)}
