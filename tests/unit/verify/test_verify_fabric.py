"""Sessions, AS numbers, MTU, ways and PFC against the plan."""

from dataclasses import replace

import pytest
from gear import Floor

from cluster_model.plan.model.overlay import VXLAN_OVERHEAD_BYTES
from cluster_model.verify.cabling.places import Places
from cluster_model.verify.fabric import compare_fabric, report_devices, sample_prefixes
from cluster_model.verify.observed import Observed, ObservedDevice, ObservedPfc, ObservedSession

LEAF, SPINE = "compute-leaf-u01-01", "compute-spine-01"


def make_fabric(plan):
    """Return what a fabric that is as planned reports: the double of all switches and hosts."""
    observed = Floor(plan).observe()
    widths = sample_prefixes(plan, plan.switches)
    for switch in plan.switches:
        seen = observed.devices[switch.name]
        sessions = [
            ObservedSession(port.peer_address or port.name, "Established", port.peer_asn, evpn=True if switch.overlay else None)
            for port in switch.ports
            if port.peer_asn
        ]
        for external in switch.overlay.externals if switch.overlay else ():
            sessions.append(ObservedSession(external.peer_address, "Established", external.asn, external.vrf))
        ports = {
            port.name: replace(seen.ports[port.name], mtu_bytes=switch.mtu_bytes - (VXLAN_OVERHEAD_BYTES if port.bond else 0))
            for port in switch.ports
            if port.name in seen.ports
        }
        priorities = tuple(plan.lossless.pfc_priorities)
        pfc = {port: ObservedPfc(port, priorities, (0,) * 8, (0,) * 8, True) for port in ports} if switch.nos == "sonic" else {}
        device = replace(seen, asn=switch.asn, sessions=tuple(sessions), ports=ports, pfc=pfc, widths=widths.get(switch.name, {}))
        observed.devices[switch.name] = device
    for server in plan.servers:
        seen = observed.devices[server.name]
        ports = {port.name: replace(seen.ports[port.name], mtu_bytes=port.mtu_bytes) for port in server.ports}
        observed.devices[server.name] = replace(seen, ports=ports)
    return observed


@pytest.fixture
def observed(lab):
    return make_fabric(lab)


def change(observed, name, **values):
    observed.devices[name] = replace(observed.devices[name], **values)


def findings(plan, observed):
    return [(job.finding.id, job.device, job.port) for job in compare_fabric(plan, observed).jobs]


def test_a_fabric_as_planned(lab, observed):
    report = compare_fabric(lab, observed)
    assert report.jobs == ()
    assert report.compared["AS numbers"] == len(lab.switches)
    assert report.compared["sessions"] == 2 * sum(cable.kind == "leaf_spine" for cable in lab.cables)
    assert report.compared["node sessions"] == 2 * len(lab.kubernetes.nodes)
    assert report.compared["prefixes"] and report.compared["PFC ports"] and report.compared["MTUs"]


def test_the_example_with_tenants_too():
    from pathlib import Path

    from cluster_model.pipeline import inspect

    plan = inspect(Path("inventory/driving")).plan
    observed = make_fabric(plan)
    assert compare_fabric(plan, observed).jobs == ()
    leaf = next(switch for switch in plan.switches if switch.network == "business" and switch.role == "leaf")
    sessions = observed.devices[leaf.name].sessions
    change(observed, leaf.name, sessions=(replace(sessions[0], evpn=None), *sessions[1:]))
    assert [row[0] for row in findings(plan, observed)] == ["VER037"]
    border = next(switch for switch in plan.switches if switch.role == "border")
    change(observed, leaf.name, sessions=sessions)
    kept = tuple(session for session in observed.devices[border.name].sessions if session.vrf == "default")
    change(observed, border.name, sessions=kept)
    assert [row[:2] for row in findings(plan, observed)] == [("VER030", border.name)] * len(border.overlay.externals)


def test_a_session_down_is_one_finding_for_both_ends(lab, observed):
    leaf, spine = lab.switch(LEAF), lab.switch(SPINE)
    port = next(port for port in leaf.ports if port.peer == SPINE)
    for switch, name in ((leaf, port.name), (spine, port.peer_port)):
        key = next(p.peer_address or p.name for p in switch.ports if p.name == name)
        told = [replace(s, state="Active") if s.peer == key else s for s in observed.devices[switch.name].sessions]
        change(observed, switch.name, sessions=tuple(told))
    (job,) = compare_fabric(lab, observed).jobs
    assert (job.finding.id, job.finding.actual) == ("VER030", "Active")
    assert job.finding.summary == f"no BGP session between {LEAF}:{port.name} and {SPINE}:{port.peer_port}"
    ports = observed.devices[LEAF].ports
    change(observed, LEAF, ports=ports | {port.name: replace(ports[port.name], carrier=False)})
    (job,) = compare_fabric(lab, observed).jobs
    assert job.finding.actual == "Active, and the port has no link"
    assert job.finding.fix.endswith("first: gpuyard verify cabling")


def test_a_session_that_is_not_configured(lab, observed):
    change(observed, LEAF, sessions=())
    jobs = compare_fabric(lab, observed).jobs
    assert {job.finding.actual for job in jobs} == {"not configured"}
    assert len(jobs) == sum(port.peer_asn > 0 for port in lab.switch(LEAF).ports)


def test_sessions_that_were_not_told_are_not_judged(lab, observed):
    change(observed, LEAF, sessions=None, asn=0, widths={})
    assert findings(lab, observed) == []


def test_a_wrong_as_number_is_one_finding_and_not_one_per_neighbour(lab, observed):
    change(observed, SPINE, asn=65000)
    for switch in lab.switches:
        told = tuple(
            replace(session, state="Idle")
            if any(
                (port.peer_address or port.name) == session.peer and SPINE in (port.peer, switch.name) for port in switch.ports
            )
            else session
            for session in observed.devices[switch.name].sessions
        )
        change(observed, switch.name, sessions=told)
    (job,) = compare_fabric(lab, observed).jobs
    ports = sum(port.peer_asn > 0 for port in lab.switch(SPINE).ports)
    assert (job.finding.id, job.device, job.finding.actual) == (
        "VER031",
        SPINE,
        f"AS 65000; {ports} of its {ports} sessions are down",
    )


def test_a_neighbour_that_was_not_read_speaks_with_another_as_number(lab, observed):
    del observed.devices[SPINE]
    told = tuple(
        replace(session, asn=65000) if number == 0 else session for number, session in enumerate(observed.devices[LEAF].sessions)
    )
    change(observed, LEAF, sessions=told)
    (row,) = findings(lab, observed)
    assert row[:2] == ("VER031", SPINE)


@pytest.mark.parametrize("name", [LEAF, "gpu-001"])
def test_mtu_of_switches_and_hosts(lab, observed, name):
    ports = observed.devices[name].ports
    port = next(iter(ports))
    change(observed, name, ports=ports | {port: replace(ports[port], mtu_bytes=1400)})
    assert findings(lab, observed) == [("VER032", name, port)]


def test_ways(lab, observed):
    widths = observed.devices[LEAF].widths
    leaf = lab.switch(LEAF)
    assert set(widths.values()) == {sum(port.use == "fabric" for port in leaf.ports)}
    prefix = next(iter(widths))
    change(observed, LEAF, widths=widths | {prefix: 0})
    (job,) = compare_fabric(lab, observed).jobs
    assert (job.finding.id, job.finding.summary) == ("VER033", f"{LEAF} has no way to {prefix}")


def make_three_tiers(lab):
    """Return a plan with two pods of two leafs and two spines, and a group of two cores for each spine of a pod."""
    links = [(f"leaf-{pod}{leaf}", f"spine-{pod}{spine}") for pod in "ab" for leaf in "12" for spine in "12"]
    links += [(f"spine-{pod}{spine}", f"core-{spine}{core}") for pod in "ab" for spine in "12" for core in "12"]
    model, port = lab.switch(LEAF), next(port for port in lab.switch(LEAF).ports if port.use == "fabric")
    switches = []
    for number, name in enumerate(dict.fromkeys(end for link in links for end in link)):
        peers = [other for link in links if name in link for other in link if other != name]
        ports = tuple(replace(port, name=f"p{index}", peer=peer, peer_asn=1) for index, peer in enumerate(peers))
        role = name.partition("-")[0]
        own = {
            "name": name,
            "role": role,
            "ports": ports,
            "loopback": f"10.0.0.{number}/32",
            "unit": number if role == "leaf" else 0,
        }
        switches.append(replace(model, **own))
    return replace(lab, switches=tuple(switches))


def test_ways_in_three_tiers_are_links_one_step_nearer(lab):
    table = sample_prefixes(make_three_tiers(lab), make_three_tiers(lab).switches)
    far = "10.0.0.0/32"  # leaf-a1
    ways = {name: widths[far] for name, widths in table.items() if far in widths}
    assert ways == {
        "leaf-a2": 2, "leaf-b1": 2, "leaf-b2": 2,
        "spine-a1": 1, "spine-a2": 1, "spine-b1": 2, "spine-b2": 2,
        "core-11": 1, "core-12": 1, "core-21": 1, "core-22": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("values", "id_", "severity"),
    [
        ({"priorities": (3, 4)}, "VER034", "error"),
        ({"priorities": ()}, "VER034", "error"),
        ({"watchdog": False}, "VER035", "error"),
        ({"storms": 2}, "VER035", "warning"),
        ({"received": (0, 0, 0, 9, 5, 0, 0, 0)}, "VER036", "warning"),
    ],
)
def test_pfc(lab, observed, values, id_, severity):
    pfc = observed.devices[LEAF].pfc
    change(observed, LEAF, pfc=pfc | {"Ethernet0": replace(pfc["Ethernet0"], **values)})
    (job,) = compare_fabric(lab, observed).jobs
    assert (job.finding.id, job.finding.severity, job.port) == (id_, severity, "Ethernet0")


def test_what_is_said_of_devices(lab):
    observed = Observed(
        {
            "gpu-001": ObservedDevice("gpu-001", reached=False, reason="192.0.2.1: timed out"),
            "gpu-002": ObservedDevice("gpu-002", reached=False, hostname="gpu-003", reason="gpu-003 answers"),
            "gpu-004": ObservedDevice("gpu-004", gaps=("LLDP neighbours (lldpcli): sudo: a password is required",)),
            "gpu-005": ObservedDevice("gpu-005", reached=False, reason="off"),
        }
    )
    jobs = {job.device: job.finding for job in report_devices(Places(lab), observed, silent=["gpu-005"])}
    assert {name: (finding.id, finding.severity) for name, finding in jobs.items()} == {
        "gpu-001": ("VER020", "error"),
        "gpu-002": ("VER022", "error"),
        "gpu-004": ("VER021", "warning"),
    }
    assert jobs["gpu-004"].actual == "sudo: a password is required"
