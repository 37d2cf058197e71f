"""inventory.json: groups, variables, and the one truth about the lossless profile."""

import json
from pathlib import Path

import pytest

from cluster_model.catalogue.load import load_catalogue
from cluster_model.render.inventory.document import render_inventory, safe
from cluster_model.render.inventory.gpu import describe_nccl
from tests.planned import open_example
from tests.unit.render.inventory.reading import get_vars

ROOT = Path(__file__).parents[4]
EXAMPLES = ["lab", "superpod-roce", "superpod-h100", "driving"]


@pytest.fixture(scope="module", params=EXAMPLES)
def case(request):
    opened = open_example(request.param)
    plan, catalogue = opened.plan, opened.catalogue
    return plan, json.loads(render_inventory(plan, catalogue, {"cluster.yml": "0" * 64}))


@pytest.fixture(scope="module")
def catalogue():
    return load_catalogue()[0]


def test_every_device_is_a_host_in_a_rack(case):
    plan, body = case
    devices = {device.name: device.rack for device in (*plan.servers, *plan.switches, *plan.pdus)}
    assert set(body["_meta"]["hostvars"]) == set(devices)
    for name, rack in devices.items():
        assert name in body[f"rack_{safe(rack)}"]["hosts"]


def test_groups_have_names_that_ansible_takes_and_hosts_that_exist(case):
    _, body = case
    hosts = set(body["_meta"]["hostvars"])
    for name, group in body.items():
        if name == "_meta":
            continue
        assert name.isidentifier()
        assert name not in hosts
        assert set(group.get("hosts", ())) <= hosts
        assert set(group.get("children", ())) <= set(body)
        assert set(group) <= {"hosts", "children", "vars"}


def test_groups_by_role_unit_plane_and_rail(case):
    plan, body = case
    gpu = [server for server in plan.servers if server.role == "gpu"]
    assert body["role_gpu"]["hosts"] == [server.name for server in gpu]
    for server in gpu:
        if server.unit:
            assert server.name in body[f"unit_{server.unit:02d}"]["hosts"]
    leafs = [switch for switch in plan.switches if (switch.network, switch.role) == ("compute", "leaf")]
    for rail in range(8):
        assert body[f"rail_{rail}"]["hosts"] == [leaf.name for leaf in leafs if rail in leaf.rails]
    assert body["plane_1"]["hosts"] == [s.name for s in plan.switches if s.network == "compute" and s.plane == 1]
    assert body["compute_leaf"]["hosts"] == [leaf.name for leaf in leafs]


def test_every_variable_is_ours_or_ansibles(case):
    plan, body = case
    for name in body["_meta"]["hostvars"]:
        for key in get_vars(body, name):
            assert key.startswith("gpuyard_") or key in {"ansible_host", "ansible_network_os"}
    servers = {server.name for server in plan.servers}
    assert len({frozenset(get_vars(body, name)) for name in servers}) == 1, "every server has the same variables"


def test_ansible_reaches_servers_by_their_provisioning_port(case):
    plan, body = case
    for server in plan.servers:
        oob = [port.address.partition("/")[0] for port in server.ports if port.network == "oob"]
        assert get_vars(body, server.name)["ansible_host"] == (oob[0] if oob else f"{server.name}.{plan.site.domain}")


def test_hosts_and_nccl_follow_the_lossless_profile(case):
    plan, body = case
    compute = plan.network("compute")
    lossless = body["all"]["vars"]["gpuyard_lossless"]
    assert lossless["data_tos"] == plan.lossless.data_dscp * 4 + 2
    for server in plan.servers:
        nccl = get_vars(body, server.name)["gpuyard_nccl"]
        if not server.gpus:
            assert nccl == {}
            continue
        assert nccl["traffic_class"] == (lossless["data_tos"] if compute.lossless else 0)
        assert nccl["ib_hca"] == [port.rdma for port in server.ports if port.network == "compute"]
        assert nccl["socket_ifname"]
        assert nccl["gid_index"] == -1


def test_gpus_are_told_from_plan_and_catalogue(case, catalogue):
    plan, body = case
    for server in plan.servers:
        told = get_vars(body, server.name)["gpuyard_gpu"]
        assert (told["count"], told["model"]) == (server.gpus, server.gpu_model)
        if not server.gpus:
            assert not any(told.values()), "empty, 0 or false: a role asks for count alone"
            continue
        gpu = catalogue.gpus[server.gpu_model]
        assert (told["vendor"], told["generation"], told["driver"]) == (gpu.vendor, gpu.generation, plan.gpu_driver)
        assert told["nvlink_generation"] == {"ampere": 3, "hopper": 4, "blackwell": 5}.get(gpu.generation, 0)
        assert told["nvswitch"] is (catalogue.server(server.model).gpus.interconnect == "nvswitch")
        assert (told["cap_w"], told["cap_feed_lost_w"]) == (server.gpu_cap_w, server.gpu_cap_feed_lost_w)
        assert told["cap_min_w"] < told["cap_max_w"] == told["tdp_w"]
        for cap in filter(None, (told["cap_w"], told["cap_feed_lost_w"])):
            assert told["cap_min_w"] <= cap <= told["cap_max_w"]


def test_site_and_failure_domains(case):
    plan, body = case
    assert body["all"]["vars"]["gpuyard_site"]["timezone"] == plan.site.timezone
    assert body["all"]["vars"]["gpuyard_site"]["ntp"] == list(plan.site.ntp)
    for name in body["_meta"]["hostvars"]:
        variables = get_vars(body, name)
        assert variables["gpuyard_failure_domain"] == variables["gpuyard_rack"] != ""


def test_what_a_group_shares_stands_once(case, catalogue):
    plan, body = case
    group = body[f"group_{safe(plan.servers[0].group)}"]
    shared = group["vars"]
    told = {str(describe_nccl(plan.server(name), plan, catalogue)) for name in group["hosts"]}
    same = {"gpuyard_nccl"} if len(told) == 1 else set()
    assert {"gpuyard_model", "gpuyard_role", *same} <= set(shared)
    for name in group["hosts"]:
        assert not set(shared) & set(body["_meta"]["hostvars"][name])
