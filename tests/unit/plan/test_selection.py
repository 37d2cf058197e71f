"""Words that mean devices, as `--limit` takes them."""

from dataclasses import replace

import pytest
from planned import open_example

from cluster_model.plan.selection import SelectionError, choose_devices, choose_servers

SERVERS = ("server",)
FABRIC = ("server", "switch")


@pytest.fixture(scope="module")
def lab():
    return open_example("lab").plan


def names(plan, *words):
    return [server.name for server in choose_servers(plan, words)]


def test_no_word_means_all(lab):
    assert choose_servers(lab, []) == list(lab.servers)
    assert choose_devices(lab, []) == {device.name for device in (*lab.servers, *lab.switches, *lab.pdus)}
    assert choose_devices(lab, [], ("switch",)) == {switch.name for switch in lab.switches}


def test_words_mean_devices_in_whatever_case(lab):
    assert names(lab, "gpu-003", "gpu-001") == ["gpu-001", "gpu-003"]
    assert names(lab, "GPU-003") == ["gpu-003"]
    assert names(lab, "a01") == names(lab, "A01") == ["gpu-001", "gpu-002", "gpu-003", "gpu-004"]
    assert names(lab, "storage") == [server.name for server in lab.servers if server.group == "storage"]
    assert names(lab, "unit-2") == [server.name for server in lab.servers if server.unit == 2]
    assert names(lab, "A01", "gpu-001", "control")[:2] == ["gpu-001", "gpu-002"]  # in the plan's order, each once


def test_switches_are_meant_by_network_role_and_rack(lab):
    assert choose_devices(lab, ["compute"]) == {s.name for s in lab.switches if s.network == "compute"}
    assert choose_devices(lab, ["compute-leaf"]) == {f"compute-leaf-u0{unit}-0{n}" for unit in (1, 2) for n in (1, 2)}
    assert choose_devices(lab, ["spine"], ("switch",)) == {s.name for s in lab.switches if s.role == "spine"}
    in_rack = {device.name for device in (*lab.servers, *lab.switches, *lab.pdus) if device.rack == "A01"}
    assert choose_devices(lab, ["A01"]) == in_rack
    # `storage` is a group and a network: servers where servers are meant, and both where all are
    both = choose_devices(lab, ["storage"])
    assert both == choose_devices(lab, ["storage"], SERVERS) | choose_devices(lab, ["storage"], ("switch",))


def test_patterns_mean_names_and_racks(lab):
    assert names(lab, "gpu-00[2-4]") == ["gpu-002", "gpu-003", "gpu-004"]
    assert names(lab, "A0*") == names(lab, "A01", "A02")
    assert choose_devices(lab, ["*-leaf-*"]) == {s.name for s in lab.switches if s.role == "leaf"}
    with pytest.raises(SelectionError):  # rows of racks are upper case: a server whose name begins so would be meant
        choose_servers(lab, ["a*"])


def test_a_role_means_its_devices_where_nothing_else_is_called_so(lab):
    renamed = tuple(replace(s, group="worker") if s.group == "gpu" and s.number > 4 else s for s in lab.servers)
    plan = replace(lab, servers=renamed)
    assert len(names(plan, "gpu")) == 4  # the group, not the role that both groups have
    nobody = replace(lab, servers=tuple(replace(s, group="worker") if s.group == "gpu" else s for s in lab.servers))
    assert len(names(nobody, "gpu")) == 8


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gpu-01"], "no server is meant by gpu-01; did you mean gpu-001?"),
        (["A1"], "no server is meant by A1; did you mean A01?"),
        (["stroage"], "no server is meant by stroage; did you mean storage?"),  # codespell:ignore
        (
            ["gpu-001", "gpu-01", "A1", "xyzzy"],
            "no server is meant by gpu-01 (did you mean gpu-001?), A1 (did you mean A01?), xyzzy",
        ),
        (["compute-leaf"], "no server is meant by compute-leaf; it means 4 switches"),
        (["oob-leaf-n01"], "no server is meant by oob-leaf-n01; it means 1 switch"),
        (["pdu-*"], "no server is meant by pdu-*; it means "),
        (["xyzzy"], "no server is meant by xyzzy; name a server, a rack, a group of servers, unit-N, a role, a slice "),
        (["gpu-9*"], "no server is meant by gpu-9*; "),
        (["\x1b[2J"], r"no server is meant by \x1b[2J; "),
    ],
)
def test_a_word_that_means_none_is_told_with_what_was_meant(lab, words, said):
    with pytest.raises(SelectionError) as refused:
        choose_servers(lab, words)
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize(
    ("word", "kinds", "said"),
    [
        ("oob-leaf-a1", SERVERS, "no server is meant by oob-leaf-a1; name a server"),  # none that the verb would refuse
        ("oob-leaf-a1", FABRIC, "no server or switch is meant by oob-leaf-a1; did you mean oob-leaf-a01?"),
        ("compute-leav", SERVERS, "no server is meant by compute-leav; name a server"),
        ("pdu-a01-1", FABRIC, "no server or switch is meant by pdu-a01-1; it means 1 PDU"),
        ("!gpu-001", SERVERS, 'no server is meant by !gpu-001; there is no "not"; name those that are meant'),
        ("gpu:!gpu-001", SERVERS, 'no server is meant by gpu:!gpu-001; there is no "not"; name those that are meant'),
        ("all", SERVERS, "no server is meant by all; leave --limit out to mean all"),
        ("GPU-00*", SERVERS, "no server is meant by GPU-00*; did you mean gpu-00*? In patterns case counts"),
        ("a0*", SERVERS, "no server is meant by a0*; did you mean A0*? In patterns case counts"),
        ("COMPUTE-*", SERVERS, "no server is meant by COMPUTE-*; name a server"),
        ("gpu-001 gpu-002", SERVERS, "no server is meant by gpu-001 gpu-002; names are parted by commas: gpu-001,gpu-002"),
        ("gpu-001 and gpu-002", SERVERS, "no server is meant by gpu-001 and gpu-002; names are parted by commas"),
    ],
)
def test_what_is_proposed_is_taken(lab, word, kinds, said):
    with pytest.raises(SelectionError) as refused:
        choose_devices(lab, [word], kinds)
    told = str(refused.value)
    assert told.startswith(said) if said.endswith("name a server") else told == said


def test_every_suggestion_is_of_the_kind_that_is_wanted(lab):
    titles = [*(switch.name for switch in lab.switches), *(pdu.name for pdu in lab.pdus), *(rack.name for rack in lab.racks)]
    for title in titles:
        for word in (title.replace("-0", "-"), title[:-1], f"{title}x"):
            try:
                choose_servers(lab, [word])
            except SelectionError as refused:
                _, offered, near = str(refused).partition("did you mean ")
                assert not offered or choose_servers(lab, [near.rstrip("?")])


def test_slices_mean_servers_of_a_group(lab):
    assert names(lab, "gpu-002..gpu-004") == names(lab, "GPU-002..gpu-004") == ["gpu-002", "gpu-003", "gpu-004"]
    assert names(lab, "gpu-003..gpu-003", "gpu-001") == ["gpu-001", "gpu-003"]
    assert choose_devices(lab, ["gpu-001..gpu-002"]) == {"gpu-001", "gpu-002"}
    assert choose_devices(lab, ["compute", "gpu-001..gpu-002"]) == choose_devices(lab, ["compute"]) | {"gpu-001", "gpu-002"}


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("gpu-004..gpu-001", "it runs backwards: write gpu-001..gpu-004"),
        ("gpu-001..storage-001", "it begins in group gpu and ends in storage: write one slice for each group"),
        ("gpu-01..gpu-4", "did you mean gpu-001..gpu-004?"),
        ("gpu-001..gpu-999", "did you mean gpu-001..gpu-008?"),
        ("gpu-4..gpu-1", "a slice runs from server to server of a group"),  # the near one would be refused too
        ("gpu..storage", "a slice runs from server to server of a group"),
        ("gpu-001..", "a slice runs from server to server of a group"),
        ("..", "a slice runs from server to server of a group"),
    ],
)
def test_a_slice_that_is_none_is_told_what_is_wrong(lab, word, said):
    with pytest.raises(SelectionError) as refused:
        choose_servers(lab, [word])
    assert str(refused.value) == f"no server is meant by {word}; {said}"


def test_names_alone(lab):
    assert [server.name for server in choose_servers(lab, ["gpu-002"], by_name=True)] == ["gpu-002"]
    for word in ("gpu", "A01", "gpu-00*", "GPU-002"):
        with pytest.raises(SelectionError, match="no server is meant by"):
            choose_servers(lab, [word], by_name=True)
    with pytest.raises(SelectionError, match="no server is meant by all; name servers, each by its whole name"):
        choose_servers(lab, ["all"], by_name=True)
