"""One truth in boot/ and dns/: every address, MAC and name is that of inventory.json, and DHCP is relayed to where it is served.

Each artefact is read back by parsing into {name: value}; the tables are compared whole. The last tests plant a difference.
"""

from __future__ import annotations

import json
import re
from ipaddress import IPv4Address, IPv4Interface, IPv4Network

import pytest
import yaml
from boot_trees import NAMES, plan_of, read_json, tree_of

from cluster_model.catalogue.load import load_catalogue
from cluster_model.render.boot.files import render_boot
from tests.dialects import plans

RECORD = re.compile(r"^(\S+) IN (A|PTR) (\S+)$", re.MULTILINE)


def read_kea(tree):
    """Return (MAC, address, gateway) by host name."""
    found = {}
    for subnet in json.loads(tree["boot/kea/kea-dhcp4.conf"])["Dhcp4"]["subnet4"]:
        (router,) = [option["data"] for option in subnet["option-data"] if option["name"] == "routers"]
        assert subnet["relay"]["ip-addresses"] == [router]
        for row in subnet["reservations"]:
            assert IPv4Address(row["ip-address"]) in IPv4Network(subnet["subnet"])
            assert row["hostname"] not in found
            found[row["hostname"]] = (row["hw-address"], row["ip-address"], router)
    return found


def read_inventory(tree):
    """Return (MAC, address, gateway) by host name, of what is on the out-of-band network, and of every named address."""
    body = read_json(tree, "inventory/inventory.json")
    shared = {
        host: group.get("vars", {}) for group in body.values() if isinstance(group, dict) for host in group.get("hosts", ())
    }
    booted, named = {}, {}
    for host, own in body["_meta"]["hostvars"].items():
        variables = {**shared.get(host, {}), **own}
        places = {f"{host}-bmc": variables.get("gpuyard_bmc"), host: variables.get("gpuyard_management")}
        ports = variables.get("gpuyard_interfaces", [])
        boot = next((port for port in ports if port["network"] == "oob" and port["address"]), None)
        for port in ports:
            name = host if port is boot else f"{host}-{port['name']}"
            if port["address"]:
                named[name] = bare(port["address"])
        for service in variables.get("gpuyard_services", []):
            named[f"{host}-{service['purpose']}"] = bare(service["address"])
        if variables.get("gpuyard_loopback"):
            managed = (variables.get("gpuyard_management") or {}).get("address")
            named[f"{host}-lo" if managed else host] = bare(variables["gpuyard_loopback"])
        places = {name: place for name, place in {**places, **({host: boot} if boot else {})}.items() if place}
        for name, place in places.items():
            if place["address"]:
                named[name] = bare(place["address"])
                if place["mac"]:
                    booted[name] = (place["mac"], bare(place["address"]), place["gateway"])
    return booted, named


def bare(address):
    return address.partition("/")[0]


def read_zones(tree):
    """Return names by the forward zone, and by all reverse zones, as {name: address} both."""
    forward, reverse = {}, {}
    for path, data in tree.items():
        if not path.startswith("dns/") or not path.endswith(".zone"):
            continue
        zone = path[4:-5]
        for label, kind, value in RECORD.findall(data.decode()):
            if kind == "A":
                # Each control server has an API server, which test_kubernetes_kubeadm.py knows, and gateways have one name.
                if label in {"kubernetes", "kubernetes-storage", "s3", "*.s3"}:
                    continue
                assert label not in forward
                forward[label] = value
            else:
                octets = f"{label}.{zone}".removesuffix(".in-addr.arpa").split(".")
                name = value.split(".")[0]
                assert name not in reverse and len(octets) == 4
                reverse[name] = ".".join(reversed(octets))
    return forward, reverse


@pytest.mark.parametrize("name", NAMES)
def test_kea_reserves_what_the_inventory_says(name):
    booted, _ = read_inventory(tree_of(name))
    assert read_kea(tree_of(name)) == booted
    assert booted or name in {"driving", "superpod-h100", "superpod-roce"}  # nothing is delivered there


@pytest.mark.parametrize("name", NAMES)
def test_standby_servers_know_the_same(name):
    tree = tree_of(name)
    if len(plan_of(name).provisioning.servers) < 2:
        assert "boot/kea/kea-dhcp4-standby.conf" not in tree
        return
    assert read_kea({"boot/kea/kea-dhcp4.conf": tree["boot/kea/kea-dhcp4-standby.conf"]}) == read_kea(tree)
    assert b'"pools"' not in tree["boot/kea/kea-dhcp4-standby.conf"]


@pytest.mark.parametrize("name", NAMES)
def test_zones_name_what_the_inventory_says(name):
    _, named = read_inventory(tree_of(name))
    forward, reverse = read_zones(tree_of(name))
    named = {re.sub(r"[^a-z0-9]+", "-", host.lower()): address for host, address in named.items()}
    gateways = {f"{s.name}-{v.name}": bare(v.address) for s in plan_of(name).switches for v in s.vlans}
    assert reverse == {**named, **gateways}
    services = {key: forward.pop(key) for key in [*forward] if key == "boot" or re.fullmatch(r"ns\d", key)}
    assert forward == reverse
    assert services["boot"] == plan_of(name).provisioning.servers[0].address


def test_all_gateways_have_one_name_and_a_bucket_may_stand_before_it():
    text = tree_of("driving")["dns/driving.example.net.zone"].decode()
    gateways = [server.address for server in plan_of("driving").ceph.store.servers]
    for label in ("s3", "*.s3"):
        assert re.findall(rf"^{re.escape(label)} IN A (\S+)$", text, re.M) == gateways


@pytest.mark.parametrize("name", NAMES)
def test_pools_for_strangers_hold_no_planned_address(name):
    _, named = read_inventory(tree_of(name))
    planned = {int(IPv4Address(address)) for address in named.values()}
    offered = 0
    for subnet in json.loads(tree_of(name)["boot/kea/kea-dhcp4.conf"])["Dhcp4"]["subnet4"]:
        whole = IPv4Network(subnet["subnet"])
        for pool in subnet.get("pools", ()):
            low, high = (IPv4Address(part) for part in pool["pool"].split(" - "))
            assert low <= high and low in whole and high in whole and high != whole[-1]
            assert not planned & set(range(int(low), int(high) + 1))
            assert pool["client-class"] == "stranger"
            offered += 1
    assert bool(offered) == plan_of(name).provisioning.offers_unknown


@pytest.mark.parametrize("name", NAMES)
def test_hosts_are_told_what_the_inventory_says(name):
    tree, plan = tree_of(name), plan_of(name)
    booted, named = read_inventory(tree)
    index = read_json(tree, "boot/boot.json")
    files = {path[11:-5]: read_json(tree, path) for path in tree if path.startswith("boot/hosts/")}
    assert set(files) == set(index["hosts"]) == {host.name for host in plan.provisioning.hosts}
    assert bool(files) == plan.provisioning.is_asked
    for host, body in files.items():
        boot, entry = body["boot"], index["hosts"][host]
        assert (boot["mac"], bare(boot["address"]), boot["gateway"]) == booted[host]
        assert (entry["mac"], entry["address"]) == booted[host][:2]
        assert body["serial"] == entry["serial"] == plan.server(host).serial
        assert body["fqdn"] == f"{host}.{plan.site.domain}"
        assert boot["server"] == named[index["server"]["name"]] == index["server"]["address"]
        link, network = (body["network"][f"10-gpuyard-{boot['interface']}.{kind}"] for kind in ("link", "network"))
        assert f"PermanentMACAddress={boot['mac']}\n" in link and f"Name={boot['interface']}\n" in link
        assert f"Address={boot['address']}\nGateway={boot['gateway']}\n" in network
        assert IPv4Address(boot["gateway"]) in IPv4Interface(boot["address"]).network
        script = tree[f"boot/ipxe/hosts/{host}.ipxe"].decode()
        assert f"/{host}" in script and f"boot-token-{host}}}}}" in script
        assert all(f" {argument}" in script for argument in body["kernel_arguments"])
        assert (body["method"], body["firmware"]) == (entry["method"], entry["firmware"])


@pytest.mark.parametrize("name", ["lab", "installers", "installers by serial"])
def test_installers_are_told_what_the_hosts_files_say(name):
    tree = tree_of(name)
    seeds = [path for path in tree if path.endswith("/user-data")]
    assert seeds
    for path in seeds:
        host = path.split("/")[2]
        body = read_json(tree, f"boot/hosts/{host}.json")
        seed = yaml.safe_load(tree[path])["autoinstall"]
        ((interface, port),) = seed["network"]["ethernets"].items()
        assert (interface, port["set-name"], port["match"]["macaddress"]) == (
            *[body["boot"]["interface"]] * 2,
            body["boot"]["mac"],
        )
        assert port["addresses"] == [body["boot"]["address"]] and port["routes"][0]["via"] == body["boot"]["gateway"]
        assert port["nameservers"]["addresses"] == body["resolvers"]
        inner = seed["user-data"]
        assert (inner["hostname"], inner["fqdn"]) == (host, body["fqdn"])
        assert [(u["name"], u["ssh_authorized_keys"], u.get("passwd", "")) for u in inner["users"]] == [
            (u["name"], u["keys"], u["password"]) for u in body["users"]
        ]
        assert all(user["lock_passwd"] == ("passwd" not in user) for user in inner["users"])
        assert sum(action["type"] == "disk" for action in seed["storage"]["config"]) == body["disks"]["system"]["count"]
        sizes = [a["size"] for a in seed["storage"]["config"] if a["type"] == "partition" and a["device"] == "disk-0"]
        assert sizes == [part["size_mib"] * 2**20 or -1 for part in body["disks"]["partitions"]]
        assert body["report"] in seed["late-commands"][-1] and "installed" in seed["late-commands"][-1]
        assert any(" ".join(body["kernel_arguments"]) in command for command in seed["late-commands"])


@pytest.mark.parametrize("case", plans.CASES)
def test_leafs_relay_to_who_answers(case):
    """Read the switches' own files in every dialect: the relay's address and its servers are those of Kea."""
    plan = plans.plan(case)
    tree = dict(render_boot(plan, load_catalogue()[0]))
    subnets = json.loads(tree["boot/kea/kea-dhcp4.conf"])["Dhcp4"]["subnet4"]
    answering = {server.address for server in plan.provisioning.servers}
    for subnet in subnets:
        record = plans.records(case)[subnet["user-context"]["switch"]]
        vlan = str(subnet["user-context"]["vlan"])
        assert record["svi", vlan, "dhcp_servers"] == answering
        assert bare(record["svi", vlan, "address"]) == subnet["relay"]["ip-addresses"][0]
    oob = [switch for switch in plan.switches if switch.network == "oob"]
    assert len(subnets) == sum(len(switch.vlans) for switch in oob) > 0


def test_a_planted_difference_is_seen():
    tree = dict(tree_of("lab"))
    tree["boot/kea/kea-dhcp4.conf"] = tree["boot/kea/kea-dhcp4.conf"].replace(b'"10.76.64.5"', b'"10.76.64.6"', 1)
    booted, _ = read_inventory(tree)
    assert read_kea(tree) != booted
    zone = "dns/lab.example.net.zone"
    tree[zone] = tree[zone].replace(b"gpu-001 IN A 10.76.64.5", b"gpu-001 IN A 10.76.64.7")
    forward, reverse = read_zones(tree)
    assert forward["gpu-001"] != reverse["gpu-001"]
