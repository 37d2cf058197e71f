"""The MTU of a network: as said, or what its technology has."""

import pytest
from intents import plan_example, plan_of, small

from cluster_model.intent.model.field_docs import read_field_docs
from cluster_model.intent.model.networks import Fabric


@pytest.mark.parametrize(
    ("network", "switch_mtu_bytes", "host_mtu_bytes"),
    [("compute", 4096, 4092), ("storage", 9100, 9000), ("oob", 1500, 1500)],
)
def test_each_technology_has_its_own(network, switch_mtu_bytes, host_mtu_bytes):
    plan = plan_example("superpod-h100")
    ports = [port for server in plan.servers for port in server.ports if port.network == network]
    assert {switch.mtu_bytes for switch in plan.switches if switch.network == network} == {switch_mtu_bytes}
    assert {port.mtu_bytes for port in ports} == {host_mtu_bytes}
    assert (plan.network(network).mtu_bytes, plan.network(network).host_mtu_bytes) == (switch_mtu_bytes, host_mtu_bytes)


def test_tenants_have_what_routers_beyond_the_border_take():
    plan = plan_example("driving")
    business = plan.network("business")
    assert (business.mtu_bytes, business.host_mtu_bytes) == (9100, 1500)
    assert {bond.mtu_bytes for server in plan.servers for bond in server.bonds} == {1500}
    assert {port.mtu_bytes for server in plan.servers for port in server.ports if port.network == "business"} == {1500}


def test_the_manual_says_each_default():
    manual = read_field_docs(Fabric)["host_mtu_bytes"]
    for words in ("lossless profile's", "1500 out of band and on the business network", "InfiniBand 4092"):
        assert words in " ".join(manual.split())


def test_what_the_network_says_goes_before_the_profile():
    plan = plan_of(small(networks__compute__mtu_bytes=9000, networks__compute__host_mtu_bytes=8900, lossless={"mtu_bytes": 9200}))
    assert (plan.network("compute").mtu_bytes, plan.network("compute").host_mtu_bytes) == (9000, 8900)
    assert {port.mtu_bytes for server in plan.servers for port in server.ports if port.network == "compute"} == {8900}
