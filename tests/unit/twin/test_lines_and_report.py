"""Lines for `ip`, and what a report looks like."""

import json

import yaml

from cluster_model.twin.containerlab import export_containerlab
from cluster_model.twin.ethernet.lines import list_host_lines, list_site_lines, list_switch_lines, set_up_port
from cluster_model.twin.report import Report, Row, format_json, format_markdown, format_row


def test_a_host_of_the_lab(trees):
    server = trees("lab").servers["gpu-001"]
    lines = list_host_lines(server, {"enp24s0np0", "enp170s0f0np0", "enp41s0f0np0", "eno3"})
    assert lines == [
        "link set lo up",
        "link set enp24s0np0 mtu 9000 up",
        "addr add 10.64.0.1/31 dev enp24s0np0",
        "rule add from 10.64.0.1 lookup 100",
        "route replace 10.64.0.0/31 dev enp24s0np0 scope link table 100",
        "route replace 10.64.0.0/18 via 10.64.0.0 dev enp24s0np0 table 100",
        "link set enp170s0f0np0 mtu 9000 up",
        "addr add 10.72.0.13/31 dev enp170s0f0np0",
        "link set enp41s0f0np0 mtu 9000 up",
        "addr add 10.72.0.77/31 dev enp41s0f0np0",
        "link set eno3 mtu 1500 up",
        "addr add 10.76.64.5/26 dev eno3",
        "route replace 0.0.0.0/0 via 10.76.64.1 dev eno3",
        "addr add 10.72.128.6/32 dev lo",
        "route replace 10.72.128.0/20 src 10.72.128.6 "
        "nexthop via 10.72.0.12 dev enp170s0f0np0 nexthop via 10.72.0.76 dev enp41s0f0np0",
        "route replace 10.244.0.0/16 src 10.72.128.6 "
        "nexthop via 10.72.0.12 dev enp170s0f0np0 nexthop via 10.72.0.76 dev enp41s0f0np0",
        "route replace 10.72.0.0/17 src 10.72.128.6 "
        "nexthop via 10.72.0.12 dev enp170s0f0np0 nexthop via 10.72.0.76 dev enp41s0f0np0",
    ]


def test_a_port_plugged_again_keeps_its_one_rule(trees):
    port = trees("lab").servers["gpu-001"].ports[0]
    assert [line for line in set_up_port(port, is_new=False) if line.startswith("rule")] == []


def test_a_switch_has_only_its_plugged_ports(trees):
    tree = trees("lab")
    lines = list_switch_lines(tree.switch_files(tree.plan.switch("oob-leaf-a01")).plane, {"swp4", "swp51"})
    assert "link set swp51 mtu 1500" in lines and "link set swp4 master vlan13" in lines
    assert not any("swp52" in line or "swp3 " in line for line in lines)
    assert lines.index("link add vlan13 type bridge") < lines.index("addr replace 10.76.64.1/26 dev vlan13")


def test_the_site_knows_the_way_back(trees, scopes):
    lines = list_site_lines(trees("lab").plan, scopes("lab"))
    assert lines[-1] == "route add 10.76.0.0/16 nexthop via 10.255.255.1 dev up0 nexthop via 10.255.255.3 dev up1"


def test_containerlab_has_every_node_and_link(trees, scopes):
    tree, scope = trees("lab"), scopes("lab")
    files = dict(export_containerlab(tree, scope))
    topology = yaml.safe_load(files["lab.clab.yml"])["topology"]
    assert set(topology["nodes"]) == {*scope.switches, *scope.servers, "site"}
    ends = [end for link in topology["links"] for end in link["endpoints"]]
    assert len(ends) == len(set(ends)) == 2 * len(scope.links)
    assert {"compute-leaf-u01-01:Ethernet448", "compute-spine-01:Ethernet0"} <= set(ends)
    for name, node in topology["nodes"].items():
        for bind in node["binds"]:
            assert bind.partition(":")[0] in files, name
    assert "ip addr replace 10.67.128.0/32 dev lo\n" in files["compute-leaf-u01-01/up.sh"]


ROWS = (
    Row("trial", "compute", "sessions", "passed", "128 of 128 ends established", (), 0.3),
    Row("fault", "storage", "a | b", "failed", "gone", tuple(f"detail {number}" for number in range(8)), 1.0, "stand-in"),
    Row("scope", "business", "whole network", "left out", "needs VRFs"),
)


def test_rows_of_the_table():
    assert format_row(ROWS[0]) == ["ok       compute   sessions                          128 of 128 ends established  0.3 s"]
    failed = format_row(ROWS[1])
    assert failed[0] == "FAILED   storage   a | b (stand-in)  1.0 s"
    assert failed[1].strip() == "gone"
    assert [line.strip() for line in failed[2:]] == [
        *(f"detail {number}" for number in range(6)),
        "and 2 more; --report DIR has them all",
    ]


def test_reports_hold_everything():
    report = Report("lab", "0123456789abcdef", "here", 17, 14, 210, {"compute": "2 of 4 leafs"}, list(ROWS), 61.0)
    assert report.failed == 1
    assert report.summarize() == "1 passed, 1 failed, 1 left out, in 61 s."
    body = json.loads(format_json(report))
    assert body["failed"] == 1 and body["rows"][1]["details"][7] == "detail 7"
    page = format_markdown(report)
    assert "| FAILED | storage | a \\| b | gone (stand-in) | 1.0 s |" in page
    assert "- compute is a sample: 2 of 4 leafs." in page and "- detail 7" in page
