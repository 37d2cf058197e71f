"""Which ports of a server go to which leaf: rails, planes, dual top of rack, leaf-spine."""

import pytest
from intents import catalogue, change, findings_of, plan_of, read, small

from cluster_model.plan.context import Context, resolve_server, resolve_switch
from cluster_model.plan.fabric.legs import plan_legs

B300 = {"servers__gpu__model": "nvidia/dgx-b300", "servers__gpu__per_rack": 2, "servers__gpu__count": 4, "servers__gpu__unit": 4}


def legs_of(**values):
    """Return [(port, sub, plane, leaf, lane, rail, Gb/s)] of one GPU server, and the findings."""
    cluster = read(small(**values))
    ctx = Context(cluster, catalogue())
    ctx.servers["gpu"] = resolve_server(ctx, cluster.servers["gpu"].model, "servers.gpu.model")
    network = cluster.networks.compute
    leaf = resolve_switch(ctx, network.leaf, network.nos or "sonic", "ethernet", "", "")
    found = plan_legs(ctx, "gpu", "compute", network, leaf)
    return [(leg.name, leg.plane, leg.leaf, leg.lane, leg.rail, leg.speed_gbps) for leg in found], ctx.findings


def test_rail_optimised_puts_each_rail_on_its_own_leaf():
    legs, _ = legs_of()
    assert [(plane, leaf, lane, rail, gbps) for _, plane, leaf, lane, rail, gbps in legs] == [(0, k, k, k, 400) for k in range(8)]
    assert legs[0][0] == "enp24s0np0" and legs[7][0] == "enp220s0np0"


@pytest.mark.parametrize(("rails_per_leaf", "leafs"), [(1, 8), (2, 4), (4, 2), (8, 1)])
def test_rails_share_leafs_in_order(rails_per_leaf, leafs):
    legs, _ = legs_of(networks__compute__rails_per_leaf=rails_per_leaf)
    assert [leg[2] for leg in legs] == [k // rails_per_leaf for k in range(8)]
    network = plan_of(small(networks__compute__rails_per_leaf=rails_per_leaf)).network("compute")
    assert (network.leafs_per_unit, network.leafs) == (leafs, 2 * leafs)


def test_leaf_spine_deals_the_ports_of_a_server_over_the_leafs_of_its_unit():
    legs, _ = legs_of(networks__compute__design="leaf-spine", networks__compute__leafs_per_unit=3)
    assert [(leaf, lane, rail) for _, _, leaf, lane, rail, _ in legs] == [(k % 3, 0, -1) for k in range(8)]


def test_twin_planes_divide_each_800g_port_of_a_b300_in_two():
    legs, _ = legs_of(**B300, networks__compute__planes=2)
    assert legs[:4] == [
        ("rail0s0", 0, 0, 0, 0, 400),
        ("rail0s1", 1, 0, 0, 0, 400),
        ("rail1s0", 0, 1, 1, 1, 400),
        ("rail1s1", 1, 1, 1, 1, 400),
    ]
    plan = plan_of(small(**B300, networks__compute__planes=2))
    network = plan.network("compute")
    assert (network.planes, network.leafs, network.host_leaf_cables) == (2, 16, 4 * 16)
    assert network.host_bandwidth_gbps == 4 * 8 * 800
    assert {switch.name for switch in plan.switches if switch.network == "compute" and switch.role == "leaf"} == {
        f"compute-leaf-p{plane}-u01-{leaf:02d}" for plane in (1, 2) for leaf in range(1, 9)
    }
    for server in plan.servers:
        gbps = {plane: sum(p.speed_gbps for p in server.ports if p.network == "compute" and p.plane == plane) for plane in (1, 2)}
        assert gbps == {1: 3200, 2: 3200}


def test_without_planes_a_b300_runs_its_ports_at_800g():
    legs, _ = legs_of(**B300)
    assert {gbps for *_, gbps in legs} == {800}


def test_dual_top_of_rack_takes_the_halves_of_a_port_to_two_leafs_of_one_plane():
    legs, _ = legs_of(**B300, networks__compute__leafs_per_rail=2)
    assert legs[:4] == [
        ("rail0s0", 0, 0, 0, 0, 400),
        ("rail0s1", 0, 1, 1, 0, 400),
        ("rail1s0", 0, 2, 2, 1, 400),
        ("rail1s1", 0, 3, 3, 1, 400),
    ]
    plan = plan_of(small(**B300, networks__compute__leafs_per_rail=2))
    assert plan.network("compute").leafs == 16
    for leaf in (switch for switch in plan.switches if switch.network == "compute" and switch.role == "leaf"):
        assert leaf.rails == ((leaf.index - 1) // 2,)


def test_dual_top_of_rack_and_rails_that_share_leafs_keep_the_sides_apart():
    legs, _ = legs_of(**B300, networks__compute__leafs_per_rail=2, networks__compute__rails_per_leaf=4)
    assert [(leaf, rail) for _, _, leaf, _, rail, _ in legs] == [(k // 4 * 2 + side, k) for k in range(8) for side in (0, 1)]


def test_a_speed_asked_for_is_taken():
    legs, _ = legs_of(networks__compute__speed_gbps=200)
    assert {gbps for *_, gbps in legs} == {200}


def test_chosen_ports_serve_the_network_they_are_given_to():
    plan = plan_of(small(servers__gpu__nics={"compute": ["enp24s0np0", "enp64s0np0"]}))
    assert plan.network("compute").leafs_per_unit == 2
    assert {p.name for p in plan.servers[0].ports if p.network == "compute"} == {"enp24s0np0", "enp64s0np0"}


def test_ports_given_to_one_network_are_not_taken_by_another():
    document = small(servers__gpu__nics={"oob": []})
    assert {port.network for port in plan_of(document).servers[0].ports} == {"compute"}


def test_a_leaf_without_hosts_still_has_its_cages():
    document = small(networks__compute__tiers=1, networks__compute__design="leaf-spine", networks__compute__leafs_per_unit=10)
    plan = plan_of(document)
    empty = [switch for switch in plan.switches if switch.network == "compute" and not switch.ports]
    assert len(empty) == 4 and all(len(switch.modes) == 64 for switch in empty)


@pytest.mark.parametrize(
    ("values", "rule", "where", "words"),
    [
        ({"networks__compute__rails_per_leaf": 3}, "NET008", "networks.compute.rails_per_leaf", "a divisor of 8"),
        ({"networks__compute__planes": 2}, "NET009", "networks.compute.planes", "2 ports per rail"),
        ({"networks__compute__leafs_per_rail": 2}, "NET009", "networks.compute.leafs_per_rail", "2 ports per rail"),
        ({"networks__compute__speed_gbps": 25}, "NET002", "networks.compute.speed_gbps", "400, 200"),
        ({"servers__gpu__nics": {"compute": ["eth9"]}}, "HWR003", "servers.gpu.nics.compute.0", "enp24s0np0"),
    ],
)
def test_what_cannot_be_joined_is_refused(values, rule, where, words):
    found = [finding for finding in findings_of(small(**values)) if finding.severity == "error"]
    assert [(finding.id, finding.where) for finding in found] == [(rule, where)]
    assert words in found[0].expected and found[0].actual and found[0].fix


def test_two_ports_per_rail_in_a_single_fabric_are_refused_with_the_designs_that_take_them(tmp_path):
    folder = tmp_path / "device-types" / "test"
    folder.mkdir(parents=True)
    source = (catalogue().devices.files["nvidia/dgx-b300"]).read_text()
    twin = source.replace("rail: 1,", "rail: 0,").replace("DGX B300", "Twin").replace("nvidia-dgx-b300", "test-twin")
    for rail in (3, 5, 7):
        twin = twin.replace(f"rail: {rail},", f"rail: {rail - 1},")
    (folder / "twin.yaml").write_text(twin)
    from cluster_model.catalogue.load import load_catalogue
    from cluster_model.plan.build import build_plan

    own, _ = load_catalogue(tmp_path)
    document = change(small(**B300), servers__gpu__model="test/twin")
    plan, findings = build_plan(read(document), own)
    assert plan is None
    assert [(f.id, f.actual, f.fix) for f in findings] == [
        ("NET009", "2 ports per rail, splits 2x400", "set planes or leafs_per_rail to 2, or choose one port per rail under nics")
    ]
    plan, findings = build_plan(read(change(document, networks__compute__leafs_per_rail=2)), own)
    assert plan is not None and plan.network("compute").leafs == 8
