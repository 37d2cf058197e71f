"""What role host_network writes on the examples' servers is what the plan says, in both backends; and what the leafs say."""

import json
import os
import re
import subprocess
import sys
from functools import cache
from ipaddress import ip_interface
from pathlib import Path

import pytest
import yaml
from host_files import compare, expect, read_netplan, read_networkd

from cluster_model.pipeline import inspect
from cluster_model.render.tree import render_tree
from roles import ROOT
from tests.slowness import stretch

EACH = 16  # servers of a group that are rendered: a pod's are alike
CLUSTERS = sorted(file.parent.name for file in (ROOT / "inventory").glob("*/cluster.yml"))
PLAY = """
- hosts: servers
  gather_facts: false
  vars_files: [{root}/roles/host_network/defaults/main.yml]
  vars: {{__host_network_revert: ""}}
  tasks:
    - ansible.builtin.debug:
        msg: "{{{{ lookup('ansible.builtin.template', '{root}/roles/host_network/templates/wanted.yml.j2') }}}}"
"""


@cache
def opened(cluster):
    return inspect(ROOT / "inventory" / cluster)


@pytest.fixture(scope="module")
def wanted(tmp_path_factory):
    """Return a function from a cluster to what the role's templates make of each of its servers, rendered by Ansible."""
    known = {}

    def render(cluster):
        if cluster not in known:
            folder = tmp_path_factory.mktemp(cluster)
            plan = opened(cluster)
            tree = render_tree(plan.plan, plan.catalogue, only={"inventory"})
            body = json.loads(tree["inventory/inventory.json"])
            known[cluster] = run(folder, body)
        return known[cluster]

    return render


def run(folder, body):
    hosts = {}
    members = [name for group, about in body.items() if group.startswith("group_") for name in about.get("hosts", ())[:EACH]]
    for name in members:
        variables = body["_meta"]["hostvars"][name]
        groups = [
            body[group].get("vars", {}) for group in body if group.startswith("group_") and name in body[group].get("hosts", ())
        ]
        hosts[name] = {key: value for each in [*groups, variables] for key, value in each.items()}
    inventory = {"all": {"vars": body["all"]["vars"], "children": {"servers": {"hosts": hosts}}}}
    (folder / "hosts.json").write_text(json.dumps(inventory))
    (folder / "play.yml").write_text(PLAY.format(root=ROOT))
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(folder / "none.cfg"),
        "ANSIBLE_HOME": str(folder / "home"),
        "ANSIBLE_FORKS": "4",
        "ANSIBLE_CALLBACKS_ENABLED": "ansible.builtin.tree",
        "ANSIBLE_CALLBACK_TREE_DIR": str(folder / "tree"),
    }
    command = [Path(sys.executable).parent / "ansible-playbook", "-i", folder / "hosts.json", folder / "play.yml"]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=stretch(1800)
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return {file.name: yaml.load(json.loads(file.read_text())["msg"], yaml.CSafeLoader) for file in (folder / "tree").glob("*")}


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_files_say_what_the_plan_says(cluster, wanted):
    plan, rendered = opened(cluster).plan, wanted(cluster)
    servers = [server for server in plan.servers if server.name in rendered]
    assert {server.group for server in servers} == {server.group for server in plan.servers}
    differences = []
    for server in servers:
        files = rendered[server.name]
        shall = expect(plan, server)
        for backend, said in {
            "networkd": read_networkd(files["networkd"] + files["common"]),
            "netplan": read_netplan(files["netplan"], files["common"]),
        }.items():
            differences += [f"{server.name} {backend}: {line}" for line in compare(shall, said)]
    assert differences == [], "\n".join(differences[:20])


def test_pods_of_other_nodes_are_behind_each_way(wanted):
    server = opened("lab").plan.server("gpu-001")
    (service,) = server.services
    assert (service.beyond, len(service.ports)) == (("10.244.0.0/16", "10.72.0.0/17"), 2)
    files = wanted("lab")[server.name]
    for said in (read_networkd(files["networkd"]), read_netplan(files["netplan"], files["common"])):
        routes = {name: value for (kind, name, _), value in said.items() if kind == "route" and name.startswith("10.244.")}
        both = list(zip(service.gateways, service.ports, strict=True))
        source = service.address.partition("/")[0]
        assert routes == {
            f"10.244.0.0/16 table 254 metric {metric}": {"ways": sorted(ways), "source": source}
            for metric, ways in {100: both, 200: both[:1], 201: both[1:]}.items()
        }


def test_a_service_over_one_port_has_one_way_to_each_range(tmp_path):
    body = json.loads(render_tree(opened("lab").plan, opened("lab").catalogue, only={"inventory"})["inventory/inventory.json"])
    ports = [{"name": "enp1s0", "mtu_bytes": 9000, "address": "10.72.1.1/31", "gateway": "10.72.1.0", "route": ""}]
    service = {"address": "10.72.9.1/32", "gateways": ["10.72.1.0"], "ports": ["enp1s0"]}
    service |= {"beyond": ["10.244.0.0/16", "10.8.0.0/14"]}
    body["_meta"]["hostvars"]["gpu-001"] |= {"gpuyard_interfaces": ports, "gpuyard_bonds": [], "gpuyard_services": [service]}
    body["group_gpu"]["hosts"] = ["gpu-001"]
    files = run(tmp_path, {key: value for key, value in body.items() if key in {"_meta", "all", "group_gpu"}})["gpu-001"]
    for said in (read_networkd(files["networkd"]), read_netplan(files["netplan"], files["common"])):
        way = {"ways": [("10.72.1.0", "enp1s0")], "source": "10.72.9.1"}
        assert {name: value for (kind, name, _), value in said.items() if kind == "route"} == {
            f"{destination} table 254 metric 200": way for destination in service["beyond"]
        }


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_host_and_leaf_are_the_two_ends_of_a_subnet(cluster, wanted):
    """Every gateway that a host's files name is the address of the leaf's port, or VLAN, that the host's cable ends in."""
    plan = opened(cluster).plan
    gateways = 0
    for server in (server for server in plan.servers if server.name in wanted(cluster)):
        said = read_networkd(wanted(cluster)[server.name]["networkd"])
        ports = {port.name: port for port in server.ports}
        for (kind, name, _), value in said.items():
            for gateway, device in value["ways"] if kind == "route" else ():
                if device not in ports:
                    continue  # a bond's VLAN; tests/contract/test_one_truth.py compares those with the leafs'
                leaf = plan.switch(ports[device].peer)
                (there,) = (port for port in leaf.ports if port.name == ports[device].peer_port)
                address = there.address or next(vlan.address for vlan in leaf.vlans if vlan.id == there.vlan)
                assert str(ip_interface(address).ip) == gateway, f"{server.name} {name}"
                (here,) = said["link", device, "addresses"]
                assert ip_interface(here).network == ip_interface(address).network
                assert said["link", device, "mtu_bytes"] <= leaf.mtu_bytes
                gateways += 1
    assert gateways >= len(wanted(cluster))


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_what_the_module_looks_for_is_in_the_files(cluster, wanted):
    """Addresses and rules that confirm the trial are those of the files, so a trial that holds is the plan's network."""
    for name, files in wanted(cluster).items():
        said = read_networkd(files["networkd"])
        addresses = {(key[1], each) for key, value in said.items() if key[2] == "addresses" for each in value}
        assert {(each["interface"], each["address"]) for each in files["addresses"]} == addresses, name
        assert {(each["source"], each["table"]) for each in files["rules"]} == {
            (key[1], value) for key, value in said.items() if key[0] == "rule"
        }
        assert set(files["devices"]) == {key[1] for key in said if key[0] == "device"}
        assert set(files["dhcp"]) == {key[1] for key, value in said.items() if key[2] == "dhcp" and value}
        assert {nic["name"] for nic in files["nics"]} == {key[1] for key in said if key[0] == "link"} - {
            key[1] for key in said if key[0] == "device"
        } - {"lo"}


@pytest.mark.parametrize(
    ("find", "put", "seen"),
    [
        (r"Gateway=10\.64\.0\.0\n", "Gateway=10.64.0.2\n", "10.64.0.2"),
        (r"Table=100\n", "Table=101\n", "table 10"),
        (r"EmitLLDP=yes\n", "", "lldp: False"),
        (r"MTUBytes=9000", "MTUBytes=1500", "1500"),
        (r"MultiPathRoute=\S+\n", "", "metric 100"),
        (r"PermanentMACAddress=02:00:5e:00:00:08", "PermanentMACAddress=02:00:5e:00:00:09", "02:00:5e:00:00:09"),
    ],
)
def test_a_planted_mistake_is_seen(find, put, seen, wanted):
    plan, name = opened("lab").plan, "gpu-001"
    files = wanted("lab")[name]
    changed = [{**file, "content": re.sub(find, put, file["content"])} for file in files["networkd"] + files["common"]]
    try:
        differences = compare(
            expect(plan, next(server for server in plan.servers if server.name == name)), read_networkd(changed)
        )
    except AssertionError as error:
        differences = [str(error)]
    assert any(seen in line for line in differences), differences
