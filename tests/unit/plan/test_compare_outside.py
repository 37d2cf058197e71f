"""Links to the outside in a comparison: they are cables and addresses like others."""

import pytest
from intents import change, plan_of, read, small, vary_example

from cluster_model.cli.changes import describe, summarize, word_moves
from cluster_model.plan.build import build_plan
from cluster_model.plan.cabling.outside import list_outside
from cluster_model.plan.compare.moves import count_moves
from cluster_model.plan.compare.plans import compare_plans
from cluster_model.render.cabling import render_cabling
from tests.planned import open_example

FIRST, SECOND = "oob-spine-01", "oob-spine-02"
LEAF = "oob-leaf-a01"
TWO = ((FIRST, "10.255.255.0/31"), (SECOND, "10.255.255.2/31"))
PEERS = "networks__business__border__peers"


def out(*links):
    """Return the small cluster's plan with links to the site's routers, each as (switch, prefix)."""
    return plan_of(small(networks__oob__upstreams=[{"switch": switch, "prefix": prefix} for switch, prefix in links]))


def lines(changes):
    return "\n".join(describe(changes, {}, show_all=True))


CHANGES = {
    "one to another switch, one with another prefix": (
        TWO,
        ((FIRST, "10.255.255.8/31"), (LEAF, "10.255.255.2/31")),
        "moves what stands: 1 cable, 1 address",
        "Plan: 3 switches to change.",
    ),
    "both come": ((), TWO, "moves nothing that stands", "Plan: 2 cables to add; "),
    "both go": (TWO, (), "moves nothing that stands", "Plan: 2 cables to remove; "),
    "another first": (TWO, (TWO[1],), "moves nothing that stands", "Plan: 1 cable to remove; 1 switch to change."),
    "they change places": (TWO, ((SECOND, TWO[0][1]), (FIRST, TWO[1][1])), "moves what stands: 2 cables", "Plan: 2 switches"),
    "the first of two on a switch goes": (
        ((FIRST, "10.255.255.0/31"), (FIRST, "10.255.255.2/31")),
        ((FIRST, "10.255.255.2/31"),),
        "moves what stands: 1 cable",
        "Plan: 1 cable to remove; 1 switch to change.",
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_links_to_the_site_are_cables(case):
    before, after, moves, plan = CHANGES[case]
    old, new = out(*before), out(*after)
    changes = compare_plans(old, new)
    assert word_moves(changes) == moves
    assert summarize(changes).startswith(plan)
    assert "a list of" not in lines(changes)
    follow(old, new, changes)


def follow(old, new, changes):
    """Require that who follows the changes of cables arrives at what cables.csv has."""
    ends = {cable.label: f"{cable.b}:{cable.b_port}" for cable in list_outside(old)}
    stay = {}
    for cable in changes.cables:
        if cable.action == "remove":
            assert ends.pop(cable.near) == cable.old
        elif cable.action == "move":
            assert ends.pop(cable.old) == cable.near
            stay[cable.new] = cable.near
        else:
            stay[cable.near] = cable.new
    moved = {change.subject for change in changes.moved_addresses}
    told = {port: far for port, far in ends.items() if port not in moved}
    csv = dict(render_cabling(new))["cabling/cables.csv"].decode()
    assert {*ends, *stay} == {cable.label for cable in list_outside(new)}
    for port, far in {**told, **stay}.items():
        device, _, end = far.partition(":")
        assert any(row.startswith(f"{port},") and f",{device},{end}," in row for row in csv.splitlines())


def test_every_address_of_a_link_is_told():
    changes = compare_plans(out(*TWO), out((FIRST, "10.255.255.8/31"), (LEAF, "10.255.255.2/31")))
    told = lines(changes)
    for words in (
        f"> {FIRST}:Ethernet124: 10.255.255.1/31 to 10.255.255.9/31",
        f"~ {FIRST}:Ethernet124: peer_address 10.255.255.0 becomes 10.255.255.8",
        f"> site:10.255.255.2 from {SECOND}:Ethernet124 to {LEAF}:",
        f"~ {SECOND}:Ethernet124: address 10.255.255.3/31 becomes none",
        ": address none becomes 10.255.255.3/31",
    ):
        assert words in told
    assert set(changes.changed["switch"]) == {FIRST, SECOND, LEAF}


def driving(**links):
    """Return driving's plan, with links of peers replaced."""
    example = open_example("driving")
    document = vary_example("driving")
    for name, value in links.items():
        document = change(document, **{f"{PEERS}__{name}__links": value})
    plan, findings = build_plan(read(document), example.catalogue)
    assert plan is not None, findings
    return plan


LINKS = [{"border": 1, "prefix": "198.51.100.0/31"}, {"border": 2, "prefix": "198.51.100.2/31"}]


def test_links_to_peers_are_cables():
    old = driving()
    cage = compare_plans(old, driving(internet=[{**LINKS[0], "cage": 7}, LINKS[1]]))
    assert word_moves(cage) == "moves what stands: 1 cable"
    assert "> internet:198.51.100.0 from business-border-01:swp1 to business-border-01:swp7" in lines(cage)
    prefix = compare_plans(old, driving(internet=[{**LINKS[0], "prefix": "198.51.100.10/31"}, LINKS[1]]))
    assert word_moves(prefix) == "moves what stands: 1 address"
    assert "> business-border-01:swp1: 198.51.100.1/31 to 198.51.100.11/31" in lines(prefix)
    assert lines(prefix).count("198.51.100.11/31") == 1, "it is told once"
    assert count_moves(prefix)["addresses"] == 1
    gone = compare_plans(old, driving(internet=LINKS[:1]))
    assert [(c.action, c.near, c.old) for c in gone.cables] == [("remove", "business-border-02:swp1", "internet:198.51.100.2")]


def test_a_port_that_another_peer_gets():
    """Two peers change their cages: the outer ends stay, and each link goes to the other port."""
    other = [{"border": 1, "prefix": "198.51.100.4/31"}, {"border": 2, "prefix": "198.51.100.6/31"}]
    cages = (1, 2)
    old = driving(
        internet=[{**LINKS[0], "cage": cages[0]}, LINKS[1]],
        vehicles=[{**other[0], "cage": cages[1]}, other[1]],
    )
    new = driving(
        internet=[{**LINKS[0], "cage": cages[1]}, LINKS[1]],
        vehicles=[{**other[0], "cage": cages[0]}, other[1]],
    )
    changes = compare_plans(old, new)
    assert word_moves(changes) == "moves what stands: 2 cables"
    assert not changes.moved_addresses
    taken = driving(internet=LINKS[1:], vehicles=[{"border": 1, "prefix": "198.51.100.20/31", "cage": 1}, other[1]])
    changes = compare_plans(old, taken)
    assert [(c.action, c.near, c.old, c.new) for c in changes.cables] == [
        ("remove", "business-border-01:swp2", "vehicles:198.51.100.4", ""),
        ("move", "business-border-01:swp1", "internet:198.51.100.0", "vehicles:198.51.100.20"),
    ]
