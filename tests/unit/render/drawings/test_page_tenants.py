"""The page's part on tenants: the matrix is the plan's meetings, and what keeps tenants apart is said."""

import re
from dataclasses import replace

from cluster_model.render.page.index import render_page
from cluster_model.render.page.tenants import MAX_MATRIX, find_ends, list_tenant_tables, word_separation


def tables(plan):
    return {table.title.partition(",")[0]: table for table in list_tenant_tables(plan)}


def matrix(plan):
    table = tables(plan)["Who may speak to whom"]
    return {(row[0], column): cell for row in table.rows for column, cell in zip(table.columns[1:], row[1:], strict=True) if cell}


def test_matrix_has_each_meeting_and_nothing_else(driving):
    cells = matrix(driving)
    assert {pair: cell for pair, cell in cells.items() if pair[0] == "perception"} == {
        ("perception", "perception"): "own",
        ("perception", "planning"): "peers",
        ("perception", "services"): "uses",
        ("perception", "internet (border)"): "NAT",
    }
    assert cells["services", "intake"] == "serves"
    assert cells["intake", "vehicles (border)"] == "routes"
    assert ("inference", "perception") not in cells
    between = sum(2 if meeting.kind != "egress" else 1 for meeting in driving.meetings)
    assert len(cells) == between + len(driving.tenants)
    assert set(matrix(replace(driving, meetings=())).values()) == {"own"}


def test_names_in_tables_lead_to_their_rows(driving):
    page = render_page(driving).decode()
    places = re.findall(r'<tr id="([^"]+)"', page)
    assert len(set(places)) == len(places) == len(re.findall(r'<tr id="', page))
    named = {f"device-{device.name}" for device in (*driving.servers, *driving.switches)}
    named |= {f"rack-{entry.rack}" for entry in driving.power} | {f"tenant-{tenant.name}" for tenant in driving.tenants}
    assert named | {f"network-{network.name}" for network in driving.networks} == set(places)
    links = re.findall(r'<a href="#((?:device|rack|tenant|network)-[^"]+)"', page)
    assert links and set(links) <= set(places)
    server = driving.servers[0]
    assert f'<a href="#rack-{server.rack}">{server.rack}</a> U{server.u}</td>' in page
    assert '<a href="#device-business-border-01">business-border-01</a> swp1 ' in page
    assert "<script" not in page


def test_a_name_that_is_a_peer_and_a_tenant_is_no_link(driving):
    peers = (replace(driving.border_peers[0], name=driving.tenants[0].name), *driving.border_peers[1:])
    assert tables(driving)["What crosses"].links == {1: "tenant", 2: "tenant"}
    assert tables(replace(driving, border_peers=peers))["What crosses"].links == {2: "tenant"}


def test_without_a_quota_the_page_says_so(driving):
    free = replace(driving, tenants=tuple(replace(tenant, gpus=-1) for tenant in driving.tenants))
    assert "no GPU quota is set" in render_page(free).decode()
    none = replace(driving, tenants=tuple(replace(tenant, gpus=0) for tenant in driving.tenants))
    assert "quotas of 0 GPUs" in render_page(none).decode()
    quotas = sum(max(tenant.gpus, 0) for tenant in driving.tenants)
    assert f"quotas of {quotas} GPUs" in render_page(driving).decode()


def test_oversubscription_is_a_ratio(driving):
    page = render_page(driving).decode()
    assert '<td class="n">2:1</td>' in page and '<td class="n">2.667:1</td>' in page


def test_wide_matrix_is_cut_and_says_so(driving):
    many = tuple(replace(driving.tenants[0], name=f"team-{n}", vrf=f"team-{n}", id=n + 1) for n in range(60))
    plan = replace(driving, tenants=many, meetings=())
    table = next(iter(list_tenant_tables(plan)))
    assert len(table.columns) == MAX_MATRIX + 1
    assert f"the first {MAX_MATRIX} of 62 columns" in table.title
    assert len(table.rows) == 60
    assert "columns" not in next(iter(list_tenant_tables(driving))).title


def test_what_crosses_names_prefixes_of_both_ways(driving):
    rows = tables(driving)["What crosses"].rows
    assert ("egress", "internet", "planning", "the default route", "203.0.113.8/29 by NAT", "border leafs") in rows
    assert ("egress", "vehicles", "intake", "10.200.0.0/14 up to /24", "10.48.16.0/24", "border leafs") in rows
    assert ("peering", "perception", "planning", "10.48.1.0/24", "10.48.2.0/24", "leafs of perception") in rows
    assert len(rows) == len(driving.meetings)


def test_ends_of_a_meeting_follow_from_its_kind(driving):
    """VRFs of a tenant and of a border peer may be called alike."""
    tenants = tuple(replace(t, vrf="internet") if t.name == "services" else t for t in driving.tenants)
    meetings = tuple(replace(m, provider="internet") if m.provider == "services" else m for m in driving.meetings)
    plan = replace(driving, tenants=tenants, meetings=meetings)
    ends = [[end.name for end in find_ends(plan, meeting)] for meeting in plan.meetings]
    assert ends == [[end.name for end in find_ends(driving, meeting)] for meeting in driving.meetings]
    assert ["services", "intake"] in ends
    assert ["internet", "planning"] in ends


def test_border_links_stand_at_their_peer(driving):
    (internet, vehicles) = tables(driving)["Border peers"].rows
    assert internet[3] == "business-border-01 swp1 198.51.100.1/31, business-border-02 swp1 198.51.100.3/31"
    assert "198.51.100.5/31" in vehicles[3]
    assert "198.51.100.5/31" not in internet[3]


def test_separation_says_homing_with_its_reason_and_isolation(driving):
    words = list(word_separation(driving))
    business = driving.network("business")
    assert business.homing_reason
    assert any(business.homing_reason in line and line.startswith("business: ") for line in words)
    assert any(line.startswith("compute: isolation none") for line in words)
    pkeys = replace(driving, networks=tuple(replace(n, isolation="pkeys") if n.isolation else n for n in driving.networks))
    assert any("partition key per tenant" in line for line in word_separation(pkeys))


def test_page_has_the_section_only_with_tenants(driving, read_plan):
    page = render_page(driving).decode()
    assert '<h2 id="tenants">' in page
    assert page.count("<svg") == 4
    assert page.startswith("<!DOCTYPE html>")
    assert not re.search(r"(src|href)=\"https?:", page)
    without = render_page(read_plan("lab")).decode()
    assert 'id="tenants"' not in without
    assert "#tenants" not in without
    assert without.count("<svg") == 3
