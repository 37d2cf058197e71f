"""Whom pods of a tenant reach: every address of the plan is asked for, under every tenant's policy."""

from dataclasses import replace
from ipaddress import ip_address, ip_network

import pytest
import yaml

from cluster_model.plan.model.overlay import Filter
from cluster_model.plan.tenancy.meetings import list_partners
from cluster_model.render.kubernetes.policy import write_policy
from tests.planned import INVENTORY, open_example, open_folder

EXAMPLES = ("driving", "lab", "superpod-roce")
API, DNS, SSH = 6443, 53, 22


@pytest.fixture(scope="module")
def plan():
    return open_example("driving").plan


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Return a plan whose control servers are workers, have their addresses with a tenant's servers, and share one by VRRP.

    Others boot the servers: a tenant's own server, and one that is not the cluster's.
    """
    document = yaml.safe_load((INVENTORY / "driving" / "cluster.yml").read_text())
    document["kubernetes"] = {
        "control": "control",
        "workers": ["control"],
        "network": "services/core",
        "endpoint": {"mode": "vrrp", "address": "10.48.0.9"},
    }
    document["tenants"]["inference"]["subnets"]["front"]["servers"] = ["infer", "control"]
    document["networks"]["oob"]["dhcp_servers"] = ["10.124.66.13", "10.255.0.67"]
    document["site"]["snmp_managers"] = ["10.255.0.77"]
    del document["facts"]
    folder = tmp_path_factory.mktemp("shared")
    (folder / "cluster.yml").write_text(yaml.safe_dump(document))
    return open_folder(folder).plan


def find(plan, name):
    return next(tenant for tenant in plan.tenants if tenant.name == name)


def holds(block, address):
    """Return whether an address is in a block, and in none of what is left out of it."""
    return address in ip_network(block["cidr"]) and not any(address in ip_network(part) for part in block.get("except", ()))


def passes(policy, address, port=API):
    """Return whether pods under a policy may send to an address that is no pod's."""
    target = ip_address(address)
    return any(
        holds(peer["ipBlock"], target)
        for rule in policy["egress"]
        for peer in rule["to"]
        if "ipBlock" in peer and port in [entry["port"] for entry in rule.get("ports", [{"port": port}])]
    )


def cut(*addresses):
    return [address.partition("/")[0] for address in addresses if address]


def list_addresses(server):
    """Return every address that a server has, its BMC's as well."""
    found = [*(port.address for port in server.ports), *(service.address for service in server.services)]
    found += [vlan.address for bond in server.bonds for vlan in bond.vlans]
    return cut(*found, server.bmc.address if server.bmc else "")


def list_forbidden(plan):
    """Return what pods of no tenant reach, by what it is."""
    control = {node.name for node in plan.kubernetes.nodes if node.is_control}
    boot = {server.name for server in plan.provisioning.servers}
    managed = [item.management.address for item in (*plan.switches, *plan.pdus) if item.management]
    overlays = [switch.overlay for switch in plan.switches if switch.overlay]
    links = [[upstream.address, upstream.gateway] for switch in plan.switches for upstream in switch.upstreams]
    links += [[port.address, port.peer_address] for overlay in overlays for port in overlay.externals]
    site = plan.site
    return {
        "control servers": [a for server in plan.servers if server.name in control | boot for a in list_addresses(server)],
        # 127.0.0.1 is a pod's own.
        "endpoint": [a for a in (plan.kubernetes.endpoint.address, *plan.kubernetes.endpoint.others) if a != "127.0.0.1"],
        "out-of-band": cut(*managed, *(server.bmc.address for server in plan.servers if server.bmc)),
        "servers outside of tenants": cut(*(p.address for s in plan.servers for p in (*s.ports, *s.services))),
        "loopbacks": cut(*(switch.loopback for switch in plan.switches)),
        "switch ports": cut(*(port.address for switch in plan.switches for port in switch.ports)),
        "gateways": cut(*(subnet.gateway for tenant in plan.tenants for subnet in tenant.subnets)),
        "tunnels": cut(*(overlay.vtep for overlay in overlays), *(o.mlag.address for o in overlays if o.mlag)),
        "links": cut(*(address for link in links for address in link)),
        "segments": [address for part in plan.provisioning.segments for address in (part.gateway, part.first) if address],
        "site services": [*site.dns, *site.ntp, *site.syslog, *site.snmp_managers],
        "boot servers": [server.address for server in plan.provisioning.servers],
        "services": [str(ip_network(plan.kubernetes.service_pool)[10])],
        "pods": [str(ip_network(plan.kubernetes.pod_pool)[300])],
        "link-local": ["169.254.0.1", "169.254.169.254", "169.254.255.254"],
        "outside addresses": [str(ip_network(nat.prefix)[0]) for tenant in plan.tenants for nat in tenant.nat],
    }


def check_nothing_forbidden(plan):
    for tenant in plan.tenants:
        policy = write_policy(plan, tenant)
        for what, addresses in list_forbidden(plan).items():
            reached = [address for address in addresses for port in (API, DNS, SSH) if passes(policy, address, port)]
            assert reached == [], (tenant.name, what)


@pytest.mark.parametrize("example", EXAMPLES)
def test_no_tenant_reaches_what_is_the_clusters_or_the_sites(example):
    plan = open_example(example).plan
    if example == "driving":
        assert {what for what, addresses in list_forbidden(plan).items() if not addresses} == set()
    check_nothing_forbidden(plan)


def test_control_servers_are_closed_although_they_are_a_tenants_own_and_workers(shared):
    assert {node.name for node in shared.kubernetes.nodes if node.is_control and node.is_worker}
    assert find(shared, "services").servers == ("control-001", "control-002", "control-003")
    assert [server.name for server in shared.provisioning.servers] == ["ingest-001", ""]
    assert list_forbidden(shared)["endpoint"] == ["10.48.0.9"]
    check_nothing_forbidden(shared)
    assert passes(write_policy(shared, find(shared, "intake")), "10.48.16.17")


def test_of_a_control_server_with_an_address_by_dhcp_the_whole_pool_is_closed(shared, plan):
    before, after = (write_policy(found, find(found, "inference")) for found in (plan, shared))
    for address in ("10.48.3.64", "10.48.3.99", "10.48.3.250"):
        assert passes(before, address)
        assert not passes(after, address)
    assert passes(after, "10.48.3.63")
    bare = [replace(t, subnets=tuple(replace(s, pool="") for s in t.subnets)) for t in shared.tenants]
    without = replace(shared, tenants=tuple(bare))
    assert not passes(write_policy(without, find(without, "inference")), "10.48.3.63")


def test_a_tenant_reaches_its_own_servers_and_what_its_partners_show(plan):
    """All but control servers; and of tenants that it does not meet, nothing."""
    closed = {node.name for node in plan.kubernetes.nodes if node.is_control}
    for tenant in plan.tenants:
        policy = write_policy(plan, tenant)
        partners = [other.name for other in list_partners(plan.tenants, tenant)]
        hidden = {(s.tenant, s.name) for other in plan.tenants for s in other.subnets if not s.visible}
        own = {subnet.prefix for subnet in tenant.subnets}
        prefixes = {(s.tenant, s.name): s.prefix for other in plan.tenants for s in other.subnets}
        for server in plan.servers:
            for vlan in (vlan for bond in server.bonds for vlan in bond.vlans if vlan.address and server.name not in closed):
                key, address = (vlan.tenant, vlan.subnet), vlan.address.partition("/")[0]
                meets = vlan.tenant == tenant.name or (vlan.tenant in partners and key not in hidden)
                # The same prefix is another subnet in each VRF: K8S024 sees that no pod finds the other's.
                assert passes(policy, address) is (meets or prefixes[key] in own), (tenant.name, server.name, vlan)


def test_both_ways_have_the_same_blocks(plan):
    for tenant in plan.tenants:
        policy = write_policy(plan, tenant)
        assert policy["ingress"][0]["from"] == policy["egress"][0]["to"]


def accept(plan, **lines):
    """Return a plan whose border peers accept these prefixes."""
    peers = [replace(peer, accept=tuple(map(Filter, lines.get(peer.name, ())))) for peer in plan.border_peers]
    return replace(plan, border_peers=tuple(peers))


def list_outside(plan, name="perception"):
    """Return what is open beyond the border, by prefix, with what is left out."""
    rules = write_policy(plan, find(plan, name))["egress"][2:]
    return {peer["ipBlock"]["cidr"]: peer["ipBlock"].get("except", []) for rule in rules for peer in rule["to"]}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("10.124.0.0/16", {}),  # the out-of-band network's pool
        ("10.64.0.0/16", {}),  # a part of the compute network's
        ("10.112.0.0/16", {}),  # the business network's
        ("10.48.2.0/24", {}),  # a tenant's subnet; where it may be reached, it has a block of its own
        ("10.255.0.53/32", {}),  # the site's resolver
        ("10.255.255.0/31", {}),  # the link to the site's router
        ("169.254.169.254/32", {}),
        ("10.96.0.0/13", {}),  # services
        ("10.255.0.52/30", {"10.255.0.52/30": ["10.255.0.53/32", "10.255.0.54/32"]}),
        ("172.20.0.0/16", {"172.20.0.0/16": []}),
    ],
)
def test_what_a_peer_accepts_of_the_clusters_own_is_not_opened(plan, line, found):
    assert list_outside(accept(plan, internet=[line])) == found


def test_a_block_whose_halves_are_closed_is_closed(plan):
    site = replace(plan.site, dns=("10.255.9.0",), ntp=("10.255.9.1",))
    assert list_outside(replace(accept(plan, internet=["10.255.9.0/31"]), site=site)) == {}


def test_prefixes_of_border_peers_that_a_tenant_has_not_are_left_out(plan):
    assert "10.200.0.0/14" in list_outside(plan)["0.0.0.0/0"]
    # The same prefix by two peers, or a part of what another accepts, is the tenant's as well.
    same = accept(plan, internet=["172.20.0.0/16"], vehicles=["172.20.0.0/16"])
    assert list_outside(same) == {"172.20.0.0/16": []}
    assert list_outside(accept(plan, internet=["172.20.0.0/16"], vehicles=["172.16.0.0/12"])) == {"172.20.0.0/16": []}
    both = replace(plan, tenants=tuple(replace(t, egress=("internet", "vehicles")) for t in plan.tenants))
    assert set(list_outside(both)) == {"0.0.0.0/0", "10.200.0.0/14"}
    assert "10.200.0.0/14" not in list_outside(both)["0.0.0.0/0"]


def test_what_is_left_out_is_sorted_and_smaller_than_its_block(plan):
    for tenant in plan.tenants:
        for prefix, parts in list_outside(plan, tenant.name).items():
            networks = list(map(ip_network, parts))
            assert networks == sorted(networks)
            assert all(part != ip_network(prefix) and part.subnet_of(ip_network(prefix)) for part in networks)


def test_a_subnet_that_is_a_pool_of_another_network_is_not_opened(plan):
    """SUB009 lets a tenant have it where none of its servers is attached; its pods may be on a node that is."""
    moved = replace(find(plan, "intake"), subnets=(replace(find(plan, "intake").subnets[0], prefix="10.64.0.0/12"),))
    tenants = tuple(moved if tenant.name == "intake" else tenant for tenant in plan.tenants)
    found = replace(plan, tenants=tenants)
    assert not passes(write_policy(found, moved), "10.64.0.1")
    inner = replace(moved, subnets=(replace(moved.subnets[0], prefix="10.112.8.0/24", gateway="10.112.8.1/24"),))
    # The business pool is in no tenant's VRF, and SUB009 lets its addresses be a subnet's.
    assert passes(write_policy(found, inner), "10.112.8.16")
