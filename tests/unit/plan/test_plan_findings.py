"""Every finding of the planning stage: what fires it, where it points, and that it comes alone."""

import re

import pytest
from intents import STORAGE, catalogue, change, findings_of, read, small, vary_example

from cluster_model.plan.build import build_plan

UFM = {"id": 4, "model": "nvidia/ufm-3.1", "role": "fabric-manager", "manages": "compute", "count": 2, "racks": "network"}
STORE = {"id": 2, "model": "generic/2u-24nvme", "role": "storage", "count": 2, "racks": "network"}
PORT = "enp24s0np0"
BORDER = {
    "leaf": "generic/linux-32x100g",
    "peers": {
        "net": {
            "id": 1,
            "asn": 64496,
            "accept": [],
            "announce": [],
            "links": [{"border": 1, "prefix": "198.51.100.0/31"}],
        },
    },
}


def put(*places):
    return [{"number": number, "rack": rack, "u": u, "reason": "a test"} for number, rack, u in places]


def blocked(*racks):
    return {rack: {"reason": "a pillar", "blocked": True} for rack in racks}


# (what is wrong, document, [(id, path)], words of the summary, words of the fix)
CASES = [
    (
        "unknown server",
        small(servers__gpu__model="nvidia/dgx-h10"),
        [("HWR001", "servers.gpu.model")],
        "nvidia/dgx-h10 is not in the catalogue",
        "did you mean nvidia/dgx-h100?",
    ),
    (
        "unknown leaf and unknown PDU",
        small(networks__compute__leaf="nvidia/sn560", racks__groups__gpu__pdu="generic/pdu-34k"),
        [("HWR001", "networks.compute.leaf"), ("HWR001", "racks.groups.gpu.pdu")],
        "nvidia/sn560 is not in the catalogue",
        "did you mean nvidia/sn5600?",
    ),
    (
        "a switch for a PDU",
        small(racks__groups__gpu__pdu="nvidia/sn5600"),
        [("HWR001", "racks.groups.gpu.pdu")],
        "nvidia/sn5600 is not a PDU",
        "see gpuyard catalogue",
    ),
    (
        "a server for a leaf",
        small(networks__compute__leaf="nvidia/dgx-h100"),
        [("HWR002", "networks.compute.leaf")],
        "is a server, not a switch",
        "choose a switch",
    ),
    (
        "an Ethernet switch for InfiniBand",
        small(networks__compute__technology="infiniband", networks__compute__nos=None),
        [("HWR002", "networks.compute.leaf")],
        "does not speak infiniband",
        "choose another switch",
    ),
    (
        "a fabric manager on Ethernet",
        small(servers__ufm=UFM),
        [("HWR002", "servers.ufm.manages")],
        "runs InfiniBand networks only",
        "leave the group out",
    ),
    (
        "a fabric manager of a TCP network",
        vary_example("superpod-h100", servers__ufm__manages="storage"),
        [("HWR002", "servers.ufm.manages")],
        "runs InfiniBand networks only",
        "leave the group out",
    ),
    (
        "a port that the model lacks",
        small(servers__gpu__nics={"compute": [PORT, "eth7"]}, networks__compute__rails_per_leaf=4),
        [("HWR003", "servers.gpu.nics.compute.1")],
        "has no port eth7",
        "name a port of the model",
    ),
    (
        "a port on two networks",
        small(servers__gpu__nics={"compute": [PORT], "storage": [PORT]}, networks__storage=STORAGE),
        [("HWR003", "servers.gpu.nics.storage.0")],
        "is already assigned to compute",
        "take it away here",
    ),
    (
        "a cage whose ports serve two networks",
        small(servers__gpu__nics={"storage": ["enp64s0np0"]}, networks__storage=STORAGE),
        [("HWR003", "servers.gpu.nics.storage")],
        "ports enp64s0np0 and enp79s0np0 share cage 3",
        "give both ports to one network",
    ),
    (
        "a port twice on one network",
        small(servers__gpu__nics={"compute": [PORT, PORT]}),
        [("HWR003", "servers.gpu.nics.compute.1")],
        "is already assigned to compute",
        "take it away here",
    ),
    (
        "an unknown NOS",
        small(networks__oob__nos="junos"),
        [("NOS001", "networks.oob.nos")],
        "unknown network OS junos",
        "set nos to one",
    ),
    (
        "SONiC where it does not run",
        small(networks__compute__leaf="generic/linux-32x100g"),
        [("NOS001", "networks.compute.leaf")],
        "does not know SONiC on generic/linux-32x100g",
        "set nos to frr",
    ),
    (
        "Cumulus on a switch of another maker",
        small(networks__compute__leaf="arista/dcs-7060x6-64pe", networks__compute__nos="cumulus"),
        [("NOS001", "networks.compute.leaf")],
        "does not know Cumulus Linux on arista/dcs-7060x6-64pe",
        "set nos to eos",
    ),
    (
        "EOS on a switch of another maker, out of band",
        small(networks__oob__nos="eos"),
        [("NOS001", "networks.oob.leaf"), ("NOS001", "networks.oob.spine")],
        "does not know Arista EOS on nvidia/sn2201",
        "set nos to cumulus or sonic",
    ),
    (
        "plain Linux on a storage leaf that it was not seen on",
        small(networks__storage={**STORAGE, "leaf": "nvidia/sn2201", "nos": "frr"}),
        [("NOS001", "networks.storage.leaf")],
        "does not know FRR on Linux on nvidia/sn2201",
        "choose another switch",
    ),
    (
        "EOS on the tenants' leafs",
        small(networks__business={"leaf": "nvidia/sn3700c", "nos": "eos", "pool": "10.112.0.0/16"}),
        [("NOS001", "networks.business.leaf")],
        "does not know Arista EOS on nvidia/sn3700c",
        "set nos to cumulus or frr or sonic",
    ),
    (
        "a border leaf with the network's own NOS",
        small(networks__business={"leaf": "nvidia/sn3700c", "pool": "10.112.0.0/16", "border": BORDER}),
        [("NOS001", "networks.business.border.leaf")],
        "does not know SONiC on generic/linux-32x100g",
        "set nos to frr",
    ),
    (
        "too many servers",
        small(servers__gpu__count=33),
        [("PLC001", "servers.gpu.count")],
        "has room for 32 of 33 servers",
        "add racks",
    ),
    (
        "too many servers planned",
        small(servers__gpu__planned=40),
        [("PLC001", "servers.gpu.planned")],
        "has room for 32 of 40 servers",
        "add racks",
    ),
    (
        "no rack at all",
        small(racks__exceptions=blocked(*(f"A0{i}" for i in range(1, 9)))),
        [("PLC001", "servers.gpu.count")],
        "has room for 0 of 8 servers",
        "add racks",
    ),
    (
        "no room for switches",
        small(racks__rows__N__racks=1, racks__groups__network__height_u=12),
        [("PLC001", "networks.compute.racks")],
        "no room left for the switches of networks.compute",
        "give the network another rack group",
    ),
    (
        "two servers in one place",
        small(servers__gpu__place=put((1, "A08", 1), (2, "A08", 5))),
        [("PLC002", "servers.gpu.place.1")],
        "U5 to U12 of A08 are already occupied",
        "set u to 9",
    ),
    (
        "a server above its rack",
        small(servers__gpu__place=put((1, "A08", 45))),
        [("PLC003", "servers.gpu.place.0")],
        "A08 ends at U48",
        "set u to 41 or lower",
    ),
    (
        "a server in a blocked rack",
        small(racks__exceptions=blocked("A08"), servers__gpu__place=put((1, "A08", 1))),
        [("PLC003", "servers.gpu.place.0")],
        "A08 is blocked: a pillar",
        "choose another rack",
    ),
    (
        "more hosts than a leaf has ports",
        small(networks__compute__rails_per_leaf=8, servers__gpu__unit=16, servers__gpu__count=24),
        [("NET001", "networks.compute.leaf")],
        "a leaf needs 256 ports",
        "set servers.gpu.unit to 8, set networks.compute.rails_per_leaf to 4, allow oversubscription, or",
    ),
    (
        "more BMCs than an out-of-band leaf has ports",
        small(servers__control={"id": 3, "model": "generic/1u", "count": 40, "racks": "gpu", "per_rack": 40}),
        [("NET001", "networks.oob.leaf")],
        "nvidia/sn2201 runs out of cages",
        "place fewer servers per rack",
    ),
    (
        "an out-of-band leaf without ports for BMCs",
        small(networks__oob__leaf="nvidia/sn4700"),
        [("NET002", "networks.oob.leaf")],
        "share no speed: it has no port of 1 Gb/s",
        "choose a leaf with ports of 1 Gb/s",
    ),
    (
        "a network OS under the name of its command",
        small(networks__compute__nos="cumulus-nvue"),
        [("NOS001", "networks.compute.nos")],
        "unknown network OS cumulus-nvue",
        "did you mean cumulus?",
    ),
    (
        "too few spines by hand",
        vary_example("superpod-h100", networks__compute__switches={"spine": 8}),
        [("NET001", "networks.compute.switches")],
        "8 spines have too few ports",
        "set it to 16",
    ),
    (
        "no common speed with the NIC",
        small(networks__compute__leaf="nvidia/sn3700c"),
        [("NET002", "networks.compute.leaf")],
        "share no speed",
        "choose a leaf",
    ),
    (
        "no common fabric speed",
        small(networks__compute__fabric_speed_gbps=300),
        [("NET004", "networks.compute.fabric_speed_gbps")],
        "share no speed of 300",
        "set fabric_speed_gbps to 800",
    ),
    (
        "no common out-of-band speed",
        small(networks__oob__fabric_speed_gbps=40),
        [("NET004", "networks.oob.fabric_speed_gbps")],
        "share no uplink speed of 40",
        "set fabric_speed_gbps to 100",
    ),
    (
        "more leafs than two tiers join",
        small(servers__gpu__unit=1, servers__gpu__count=20, networks__compute__tiers=2),
        [("NET005", "networks.compute.tiers")],
        "two tiers cannot join 160 leafs",
        "set tiers to 3 or auto",
    ),
    (
        "a unit larger than a pod",
        small(networks__compute__spine="nvidia/sn2201", networks__compute__fabric_speed_gbps=100),
        [("NET005", "networks.compute.spine")],
        "do not fit under the spines of a pod",
        "higher radix",
    ),
    (
        "spines that do not divide the uplinks",
        small(networks__compute__switches={"spine": 3}, networks__compute__uplinks=4),
        [("NET006", "networks.compute.switches")],
        "3 spines do not divide 4 uplinks",
        "set it to 2 or 4, or set uplinks to 6",
    ),
    (
        "no port left for the fabric managers",
        vary_example("superpod-h100", servers__gpu__count=128),
        [("NET007", "servers.gpu.count")],
        "128 servers leave no leaf port for the 4 links",
        "set it to 127",
    ),
    (
        "more fabric managers than a unit of leafs takes",
        vary_example("superpod-h100", servers__gpu__count=5, servers__gpu__unit=32, servers__ufm__count=160),
        [("NET007", "servers.gpu.count")],
        "leave no leaf port for the 320 links",
        "plan fewer fabric managers",
    ),
    (
        "rails that do not divide",
        small(networks__compute__rails_per_leaf=5),
        [("NET008", "networks.compute.rails_per_leaf")],
        "8 rails of nvidia/dgx-h100 do not fill leafs of 5",
        "a divisor of 8",
    ),
    (
        "a network without hosts",
        small(networks__storage=STORAGE, servers__gpu__nics={"storage": []}),
        [("NET008", "networks.storage")],
        "no server has a port for the storage network",
        "leave the network out",
    ),
    (
        "planes that the NIC cannot be divided over",
        small(networks__compute__planes=4),
        [("NET009", "networks.compute.planes")],
        "cannot be divided over 4 leafs",
        "lower planes",
    ),
    (
        "a pool too small",
        small(networks__compute__pool="10.64.0.0/20"),
        [("ADR001", "networks.compute.pool")],
        "too small for the planned host links",
        "e.g. 10.64.0.0/1",
    ),
    (
        "a pool too small for the out-of-band network",
        small(networks__oob__pool="10.124.0.0/20"),
        [("ADR001", "networks.oob.pool")],
        "too small for the planned host links",
        "give it a /19, e.g. 10.124.0.0/19",
    ),
    (
        "racks too far apart",
        small(racks__rows__N__id=250, racks__geometry={"row_pitch_m": 20}, networks__oob__pool="10.128.0.0/9"),
        [("CAB001", "networks.compute.leaf")],
        "nothing joins osfp 2x400 and osfp 2x400",
        "bring the racks nearer",
    ),
]


@pytest.mark.parametrize(("document", "found", "summary", "fix"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_fault_is_one_finding_that_says_the_way_out(document, found, summary, fix):
    plan, findings = build_plan(read(document), catalogue())
    assert plan is None
    errors = [finding for finding in findings if finding.severity == "error"]
    assert sorted((finding.id, finding.where) for finding in errors) == sorted(found)
    assert any(summary in finding.summary for finding in errors), errors
    assert any(fix in finding.fix for finding in errors), errors
    for finding in errors:
        assert finding.expected and finding.actual and not finding.summary.endswith(".")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            {"servers__gpu__unit": 40, "networks__compute__rails_per_leaf": 1, "networks__compute__leaf": "nvidia/sn4700"},
            "unit to 16",
        ),
        ({"servers__gpu__unit": None, "networks__compute__leaf": "nvidia/sn4700"}, "unit to 16 (unset, it follows planned)"),
        ({"servers__gpu__unit": 32, "networks__compute__rails_per_leaf": 4}, "rails_per_leaf to 2"),
        (
            {"networks__compute__rails_per_leaf": 4, "networks__compute__oversubscription": 3, "servers__gpu__unit": 32},
            "unit to 24",
        ),
        ({"networks__compute__rails_per_leaf": 4, "networks__compute__uplinks": 120}, "uplinks to 112"),
        (
            {"servers__gpu__unit": 32, "networks__storage": {**STORAGE, "unit": 62}, "servers__store": STORE | {"count": 30}},
            "networks.storage.unit to 32",
        ),
    ],
)
def test_a_leaf_without_ports_is_told_the_largest_numbers_that_fit(values, words):
    """Each is taken as it is said, and one more is not."""
    document = small(servers__gpu__count=32, **values)
    fix = next(finding.fix for finding in findings_of(document) if finding.id == "NET001")
    assert words in fix
    for path, number in re.findall(r"set (\S+) to (\d+)", fix):
        key = path.replace(".", "__")
        assert build_plan(read(small(servers__gpu__count=32, **values | {key: int(number)})), catalogue())[0] is not None, path
        more = 2 * int(number) if "rails" in path else int(number) + 1
        assert build_plan(read(small(servers__gpu__count=32, **values | {key: more})), catalogue())[0] is None, path


def test_a_leaf_for_which_no_number_fits_is_told_another_leaf():
    """More units would want a larger pool."""
    faults = small(
        servers__gpu__count=32,
        servers__gpu__unit=32,
        networks__compute__leaf="nvidia/sn4700",
        networks__compute__pool="10.64.0.0/22",
    )
    assert [(f.id, f.fix) for f in findings_of(faults) if f.severity == "error"] == [("NET001", "choose a leaf with more ports")]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"servers__gpu__count": 40}, "racks.rows.A.racks: [8, 2]: what stands keeps its racks, where a plain 10 deals all anew"),
        ({"servers__gpu__count": 60, "servers__gpu__per_rack": None}, "racks.rows.A.racks: [8, 4]"),
        ({"servers__gpu__count": 8, "servers__gpu__planned": [32, 16]}, "racks.rows.A.racks: [8, 4]"),
        ({"servers__gpu__count": 8, "servers__gpu__planned": [16, 16, 16]}, "racks.rows.A.racks: [8, 0, 4]"),
    ],
)
def test_a_full_rack_group_is_told_the_racks_that_are_enough(values, told):
    fix = next(finding.fix for finding in findings_of(small(**values)) if finding.id == "PLC001")
    assert told in fix
    for _ in range(3):  # the row of switches may be next
        row, racks = re.search(r"racks\.rows\.(\w)\.racks: \[([^]]*)\]", fix).groups()
        values[f"racks__rows__{row}__racks"] = [int(number) for number in racks.split(",")]
        plan, findings = build_plan(read(small(**values)), catalogue())
        if plan is not None:
            return
        fix = next(finding.fix for finding in findings if finding.id == "PLC001" and finding.severity == "error")
        assert "servers.gpu" not in fix
    raise AssertionError(findings)


def test_a_server_in_a_foreign_rack_is_a_warning_and_a_plan():
    plan, findings = build_plan(read(small(servers__gpu__place=put((1, "N01", 1)))), catalogue())
    assert [(f.id, f.severity, f.where) for f in findings] == [("PLC004", "warning", "servers.gpu.place.0.rack")]
    assert (plan.server("gpu-001").rack, plan.server("gpu-001").u) == ("N01", 1)


def test_a_place_that_another_server_has_is_told_with_who_gives_way():
    plan, findings = build_plan(read(small(servers__gpu__place=put((3, "A01", 1)))), catalogue())
    usual, _ = build_plan(read(small()), catalogue())
    (found,) = findings
    moved = [s for s in plan.servers if s.number != 3 and (s.rack, s.u) != (usual.server(s.name).rack, usual.server(s.name).u)]
    assert (found.id, found.severity, found.where) == ("PLC007", "warning", "servers.gpu.place.0")
    assert found.summary == f"gpu-003 is put where gpu-001 would stand; servers that give way: {len(moved)}"
    rack, u = "A01", int(found.expected.split("U")[1].split()[0])
    again, findings = build_plan(read(small(servers__gpu__place=put((3, rack, u)))), catalogue())
    assert findings == [] and (again.server("gpu-003").rack, again.server("gpu-003").u) == (rack, u)


def test_a_server_put_elsewhere_since_its_racks_are_full_drives_nobody_out():
    full = small(racks__rows__A__racks=1)
    one, two = (change(full, servers__gpu__count=4 + more) for more in (0, 1))
    assert build_plan(read(one), catalogue())[1] == []
    assert [finding.id for finding in build_plan(read(two), catalogue())[1]] == ["PLC001"]
    plan, findings = build_plan(read(change(two, servers__gpu__place=put((5, "N01", 1)))), catalogue())
    assert [finding.id for finding in findings] == ["PLC004"]
    assert (plan.server("gpu-005").rack, plan.server("gpu-001").u) == ("N01", 1)


def test_two_servers_put_each_where_the_other_would_stand_drive_nobody_out():
    usual, _ = build_plan(read(small()), catalogue())
    one, two = usual.server("gpu-001"), usual.server("gpu-002")
    plan, findings = build_plan(read(small(servers__gpu__place=put((1, two.rack, two.u), (2, one.rack, one.u)))), catalogue())
    assert findings == []
    assert (plan.server("gpu-001").u, plan.server("gpu-002").u) == (two.u, one.u)


def test_unknown_models_of_all_networks_are_found_at_once():
    faults = small(
        servers__gpu__model="nvidia/none",
        networks__compute__leaf="nvidia/none",
        networks__storage={**STORAGE, "leaf": "nvidia/none"},
        networks__oob__spine="nvidia/none",
    )
    assert {finding.where for finding in findings_of(faults)} == {
        "servers.gpu.model",
        "networks.compute.leaf",
        "networks.storage.leaf",
        "networks.oob.spine",
    }


def test_faults_of_several_kinds_are_found_at_once():
    faults = small(
        networks__compute__rails_per_leaf=5,
        networks__storage={**STORAGE, "fabric_speed_gbps": 300},
        networks__oob__pool="10.124.0.0/20",
        servers__gpu__count=33,
    )
    assert {finding.id for finding in findings_of(faults)} == {"NET008", "NET004", "ADR001", "PLC001"}


def test_no_private_pool_holds_so_many_units():
    found = findings_of(small(servers__gpu__count=50_000, servers__gpu__unit=1, networks__compute__tiers=1))
    pool = next(finding for finding in found if finding.id == "ADR001")
    assert "e.g." not in pool.fix and "plan fewer" in pool.fix


def test_a_fabric_manager_that_manages_nothing_is_no_host_of_the_network():
    document = vary_example("superpod-h100", servers__ufm__manages=None)
    plan, _ = build_plan(read(document), catalogue())
    network = plan.network("compute")
    assert (network.leafs, network.fabric_manager_cables, network.host_leaf_cables) == (32, 0, 1016)


RULES = "HWR001 HWR002 HWR003 NOS001 PLC001 PLC002 PLC003 NET001 NET002 NET004 NET005 NET006 NET007 NET008 NET009 ADR001 CAB001"


def test_every_finding_of_the_stage_has_a_case():
    assert {rule for _, _, found, _, _ in CASES for rule, _ in found} == set(RULES.split())
