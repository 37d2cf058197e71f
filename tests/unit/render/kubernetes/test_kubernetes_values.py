"""What Helm charts are told of a cluster, and which of them it installs."""

from dataclasses import replace

import pytest
import yaml

from cluster_model.render.kubernetes.charts import Image, list_charts, read_charts
from cluster_model.render.kubernetes.images import list_images, render_images
from cluster_model.render.kubernetes.values import list_node_interfaces, render_values, write_values
from tests.planned import open_example

PLACE = ("default_ns", "default_tolerations")
"""Where Volcano runs, by its values."""


@pytest.fixture(scope="module")
def plan():
    return open_example("driving").plan


def ask(plan, **keys):
    return replace(plan, kubernetes=replace(plan.kubernetes, **keys))


def list_rails(plan):
    return {port.name for server in plan.servers for port in server.ports if port.network == "compute"}


def test_cilium_is_on_the_nodes_network_alone(plan):
    values = write_values(plan, "cilium")
    assert values["devices"].split(",") == [
        "enp170s0f0np0",  # of a DGX H100
        "enp193s0f0np0",  # of a server with eight L40S
        "enp41s0f0np0",
        "enp65s0f0np0",
        "enp65s0f1np1",  # of the control plane
    ]
    assert not list_rails(plan) & set(values["devices"].split(","))
    assert values["MTU"] == 9000
    assert write_values(ask(plan, network="oob"), "cilium")["devices"] == "eno1,eno3"
    assert write_values(ask(plan, network="oob"), "cilium")["MTU"] == 1500


def test_a_subnet_is_on_the_interface_that_the_bond_has_for_it(plan):
    found = {
        vlan.name
        for server in plan.servers
        for bond in server.bonds
        for vlan in bond.vlans
        if (vlan.tenant, vlan.subnet) == ("services", "core")
    }
    assert found
    assert list_node_interfaces(ask(plan, network="services/core")) == (sorted(found), 1500)


def test_a_name_that_is_a_rail_elsewhere_is_left_out(plan):
    rail = next(port for server in plan.servers for port in server.ports if port.network == "compute")
    servers = tuple(
        replace(s, ports=tuple(replace(p, name=rail.name) if p.name == "enp65s0f0np0" else p for p in s.ports))
        for s in plan.servers
    )
    devices = write_values(replace(plan, servers=servers), "cilium")["devices"].split(",")
    assert rail.name not in devices
    assert "enp65s0f1np1" in devices


def test_a_network_that_no_node_is_in_says_nothing(plan):
    nowhere = ask(plan, network="nobody/here")
    assert {"devices", "MTU"}.isdisjoint(write_values(nowhere, "cilium"))
    assert "mtu" not in write_values(nowhere, "tigera-operator")["installation"]["calicoNetwork"]


def test_calico_gets_the_pool_in_parts_as_large_as_a_nodes(plan):
    network = write_values(ask(plan, pod_pool="10.32.0.0/12", node_prefix=25), "tigera-operator")["installation"]["calicoNetwork"]
    assert network == {
        "bgp": "Disabled",
        "mtu": 8950,
        "ipPools": [{"cidr": "10.32.0.0/12", "blockSize": 25, "encapsulation": "VXLAN"}],
        "nodeAddressAutodetectionV4": {"kubernetes": "NodeInternalIP"},
    }


def test_without_tunnels_pods_have_the_networks_mtu(plan):
    routed = ask(plan, pod_routing="bgp", pod_pool="10.32.0.0/12", node_prefix=25)
    assert write_values(routed, "tigera-operator")["installation"]["calicoNetwork"] == {
        "mtu": 9000,
        "ipPools": [{"cidr": "10.32.0.0/12", "blockSize": 25, "encapsulation": "None"}],
        "nodeAddressAutodetectionV4": {"kubernetes": "NodeInternalIP"},
    }
    cilium, tunneled = write_values(routed, "cilium"), write_values(plan, "cilium")
    assert {key: value for key, value in cilium.items() if key not in tunneled or tunneled[key] != value} == {
        "routingMode": "native",
        "ipv4NativeRoutingCIDR": "10.32.0.0/12",
        "bpf": {"hostLegacyRouting": True},
        "bgpControlPlane": {"enabled": True},
    }
    assert set(tunneled) - set(cilium) == {"tunnelProtocol"}


def test_driver_and_toolkit_stay_the_hosts(plan):
    values = write_values(plan, "gpu-operator")
    assert [part for part, found in values.items() if found == {"enabled": False}] == ["driver", "toolkit", "migManager"]


def test_volcano_places_by_hypernodes_where_there_are_some(plan):
    told = yaml.safe_load(write_values(plan, "volcano")["custom"]["scheduler_config_override"])
    plugins = [plugin["name"] for tier in told["tiers"] for plugin in tier["plugins"]]
    assert {"gang", "network-topology-aware"} <= set(plugins)
    assert len(plugins) == len(set(plugins))
    assert set(write_values(replace(plan, topology=()), "volcano")["custom"]) == {*PLACE, "enabled_admissions"}


def test_volcano_gives_what_names_no_queue_its_namespaces(plan):
    webhooks = write_values(plan, "volcano")["custom"]["enabled_admissions"].split(",")
    assert "/podgroups/mutate" in webhooks
    assert len(webhooks) == len(set(webhooks)) == 8
    assert set(write_values(replace(plan, tenants=()), "volcano")["custom"]) == {*PLACE, "scheduler_config_override"}


def test_volcano_runs_on_control_servers(plan):
    """Its controllers may read every Secret, and tenants' pods run on workers."""
    told = write_values(replace(plan, tenants=(), topology=()), "volcano")["custom"]
    assert set(told) == set(PLACE)
    assert told["default_ns"] == {"node-role.kubernetes.io/control-plane": ""}
    assert told["default_tolerations"] == [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}]


def test_charts_follow_what_the_cluster_has(plan):
    def names(changed):
        return [chart.name for chart in list_charts(changed)]

    assert names(plan) == ["cilium", "gpu-operator", "network-operator", "volcano", "ceph-csi-cephfs"]
    plan = ask(plan, shared_volumes=())
    assert names(ask(plan, cni="calico", queueing="none")) == ["tigera-operator", "gpu-operator", "network-operator"]
    assert names(ask(plan, queueing="kueue"))[-1] == "kueue"
    no_gpus = replace(plan, servers=tuple(replace(server, gpus=0) for server in plan.servers))
    assert names(no_gpus) == ["cilium", "network-operator", "volcano"]
    assert names(ask(no_gpus, rdma="none", rails=())) == ["cilium", "volcano"]
    only_control = ask(plan, rdma="none", rails=(), nodes=tuple(replace(node, is_worker=False) for node in plan.kubernetes.nodes))
    assert names(only_control) == ["cilium", "volcano"]


def test_a_file_says_which_chart_it_is_for(plan):
    for path, data in render_values(plan):
        first, second, *_ = data.decode().splitlines()
        assert first.startswith(f"# Values of chart {path.split('/')[-1].removesuffix('.yaml')} ")
        assert second == "---"
        assert ("confirmed" in first) == (not read_charts()[path.split("/")[-1].removesuffix(".yaml")].confirmed)


def test_images_of_no_chart_are_listed_among_the_others(plan):
    more = [Image("registry.k8s.io/pause", "3.10"), list_images(plan)[0]]
    assert [image for image in list_images(plan, more) if image not in list_images(plan)] == more[:1]
    mirrored = ask(plan, registry="registry.example.net")
    assert (
        b"registry.k8s.io/pause:3.10 registry.example.net/registry.k8s.io/pause:3.10\n"
        in dict(render_images(mirrored, more))["kubernetes/images.txt"]
    )
