"""Network policies of whatever tenants: Kubernetes takes them, no control server is behind them, and workers change none."""

from ipaddress import IPv4Address, IPv4Network

from hypothesis import given
from strategies import change
from test_plan_growth import QUICK
from test_tenants import documents, plan_of

from cluster_model.render.kubernetes.policy import write_policy


def ask(document):
    """Return a document with Kubernetes on it."""
    return change(document, kubernetes={"control": "control", "workers": ["gpu", "login"]})


def write_policies(plan):
    return {tenant.name: write_policy(plan, tenant) for tenant in plan.tenants}


def list_blocks(policy):
    """Return what a policy opens: each block with what is left out of it."""
    peers = [peer for rule in policy["egress"] for peer in rule["to"] if "ipBlock" in peer]
    blocks = [peer["ipBlock"] for peer in peers]
    return [(IPv4Network(block["cidr"]), [IPv4Network(part) for part in block.get("except", ())]) for block in blocks]


@given(documents())
@QUICK
def test_blocks_are_such_as_kubernetes_takes_and_open_no_control_server(document):
    plan = plan_of(ask(document))
    control = [plan.server(node.name) for node in plan.kubernetes.nodes if node.is_control]
    texts = [vlan.address for server in control for bond in server.bonds for vlan in bond.vlans]
    texts += [port.address for server in control for port in server.ports]
    addresses = [IPv4Address(text.partition("/")[0]) for text in texts if text]
    for policy in write_policies(plan).values():
        for block, parts in list_blocks(policy):
            assert parts == sorted(parts)
            assert all(part != block and part.subnet_of(block) for part in parts)
            assert not [a for a in addresses if a in block and not any(a in part for part in parts)]


@given(documents())
@QUICK
def test_a_worker_more_changes_no_policy(document):
    grown = change(document, servers__gpu__count=8)
    assert write_policies(plan_of(ask(grown))) == write_policies(plan_of(ask(document)))
