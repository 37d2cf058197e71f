"""The MTU of a network: as said, or what its technology has."""

import pytest
from intents import plan_example, plan_of, small


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


def test_what_the_network_says_goes_before_the_profile():
    plan = plan_of(small(networks__compute__mtu_bytes=9000, networks__compute__host_mtu_bytes=8900, lossless={"mtu_bytes": 9200}))
    assert (plan.network("compute").mtu_bytes, plan.network("compute").host_mtu_bytes) == (9000, 8900)
    assert {port.mtu_bytes for server in plan.servers for port in server.ports if port.network == "compute"} == {8900}
