"""Devices by name, and what the plan holds where a CSV of facts is silent."""

from dataclasses import replace

from intents import catalogue, read, small

from cluster_model.intent.source.facts_csv import FactTables, PduFacts, ServerFacts, SwitchFacts
from cluster_model.plan.build import build_plan


def test_a_plan_made_from_another_looks_up_its_own_devices():
    plan, _ = build_plan(read(small()), catalogue())
    server, switch = plan.servers[0], plan.switches[0]
    assert plan.server(server.name) is server and plan.switch(switch.name) is switch
    other = replace(plan, servers=(replace(server, serial="S1"),), switches=(replace(switch, serial="S2"),))
    assert (other.server(server.name).serial, other.switch(switch.name).serial) == ("S1", "S2")
    assert other != plan and replace(plan) == plan


def test_what_a_row_of_facts_does_not_say_is_empty_in_the_plan():
    bare, _ = build_plan(read(small()), catalogue())
    facts = FactTables(
        {device.name: ServerFacts(line=2) for device in bare.servers},
        {device.name: SwitchFacts(line=2) for device in bare.switches},
        {device.name: PduFacts(line=2) for device in bare.pdus},
    )
    plan, _ = build_plan(read(small()), catalogue(), facts)
    assert plan == bare
    assert {device.serial for device in (*plan.servers, *plan.switches, *plan.pdus)} == {""}
