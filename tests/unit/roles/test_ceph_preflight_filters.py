"""Whom hosts of Ceph ask before anything is changed, and what is made of their answers."""

import importlib
import sys

import pytest

HOSTS = {f"storage-{number:03d}": f"10.72.128.{number}" for number in range(1, 10)}
PLAN = {
    "time_servers": ["10.0.0.1", "10.0.0.2", "10.0.0.3"],
    "networks": [
        {"name": "public", "mtu_bytes": 9000, "hosts": {"control-001": "10.72.128.100", **HOSTS}},
        {"name": "cluster", "mtu_bytes": 9000, "hosts": HOSTS},
    ],
}
FINE = {"able": True, "large": True, "small": True, "why": ""}


@pytest.fixture
def filters(collection, monkeypatch):
    """Return both filters."""
    monkeypatch.syspath_prepend(str(collection))
    found = {}
    for name in ("ceph_preflight_about", "ceph_preflight_wrong"):
        module = importlib.import_module(f"ansible_collections.gpuyard.cluster.plugins.filter.{name}")
        found |= module.FilterModule().filters()
    yield found
    for name in [name for name in sys.modules if name.startswith("ansible_collections")]:
        del sys.modules[name]


def test_every_host_of_the_run_is_sent_to_in_each_network(filters):
    hosts = ["control-001", *HOSTS]
    asked = filters["ceph_preflight_about"](PLAN, hosts)
    for network in PLAN["networks"]:
        sent = [
            (host, probe) for host, about in asked.items() for probe in about["probes"] if probe["network"] == network["name"]
        ]
        assert {probe["host"] for _, probe in sent} == {host for host, _ in sent} == set(network["hosts"])
        assert all(probe["host"] != host and probe["bytes"] == 9000 for host, probe in sent)
        assert all(
            probe["from"] == network["hosts"][host] and probe["to"] == network["hosts"][probe["host"]] for host, probe in sent
        )
    # Of ten the next, the second, the fourth and the eighth; no more than there are others.
    assert [probe["host"][-1] for probe in asked["storage-001"]["probes"]] == ["2", "3", "5", "9", "2", "3", "5", "9"]
    assert {tuple(about["servers"]) for about in asked.values()} == {tuple(PLAN["time_servers"])}


def test_hosts_that_are_not_in_the_run_are_sent_to_and_need_not_answer(filters):
    asked = filters["ceph_preflight_about"](PLAN, ["storage-004", "storage-005"])
    assert set(asked) == {"storage-004", "storage-005"}
    assert [probe["host"][-1] for probe in asked["storage-004"]["probes"]] == ["5", "6", "8", "2", "5", "6", "8", "3"]
    silent = FINE | {"large": False, "small": False}
    looks = {host: {"clocks": {}, "probes": [silent for _ in about["probes"]]} for host, about in asked.items()}
    first, second = filters["ceph_preflight_wrong"](looks, asked)
    said = "no answer, nor to 1 more; expected an answer in Ceph's public network"
    assert first.startswith(f"storage-004: 10.72.128.4 to 10.72.128.5 of storage-005: {said}")
    said = "no answer; expected an answer in Ceph's cluster network"
    assert second.startswith(f"storage-005: 10.72.128.5 to 10.72.128.4 of storage-004: {said}")
    # One that died in the run is not in what hosts said.
    assert filters["ceph_preflight_wrong"]({"storage-004": looks["storage-004"]}, asked) == []
    # Nor is it a fault that nothing leads to hosts which are away; to lack the own address is one.
    away = {host: {"clocks": {}, "probes": [silent | {"why": "No route to host"}] * 8} for host in ["storage-004"]}
    assert filters["ceph_preflight_wrong"](away, asked) == []
    away["storage-004"]["probes"] = [silent | {"able": False, "why": "Cannot assign requested address"}] * 8
    [wrong] = filters["ceph_preflight_wrong"](away, asked)
    said = "Cannot assign requested address; expected it to send from its planned address in Ceph's public network; fix: see ip"
    assert wrong.startswith(f"storage-004: 10.72.128.4: {said}")
    looks["storage-005"]["probes"] = [FINE | {"large": False}] * 8
    assert any(fault.startswith("storage-005: 10.72.128.5 to") for fault in filters["ceph_preflight_wrong"](looks, asked))


def test_what_is_skipped_is_not_asked(filters):
    about = filters["ceph_preflight_about"]
    hosts = ["storage-004", "storage-005"]
    assert about(PLAN, hosts, ["clocks"])["storage-004"]["servers"] == []
    assert about(PLAN, hosts, ["packets"])["storage-004"] == {"servers": PLAN["time_servers"], "probes": []}
    assert about({}, hosts) == {host: {"servers": [], "probes": []} for host in hosts}


CLOCKS = {
    "right": ([0.01, -0.02, 0.03], 0.001, None),
    "one server of three is wrong": ([0.01, 7.0, -0.02], 0.001, None),
    "two servers agree that we are not": ([0.2, None, 0.21], 0.001, "0.2 s behind 10.0.0.1; expected less than 0.1 s"),
    "ahead": ([-3600.5, -3600.5, -3600.4], 0.001, "3.6e+03 s ahead of"),
    "servers around us": ([0.2, -0.2, 0.0], 0.001, None),
    "two servers that differ": ([-5.0, 0.0, None], 0.001, None),
    "one server": ([None, None, 0.11], 0.001, "0.11 s behind 10.0.0.3"),
    "an answer that took long": ([0.3, 0.3, 0.3], 0.5, None),
    "silent": ([None, None, None], 0, "clock: 10.0.0.1, 10.0.0.2, 10.0.0.3 did not answer with a time; expected one of site.ntp"),
}


@pytest.mark.parametrize(("offsets", "delay", "said"), CLOCKS.values(), ids=CLOCKS)
def test_a_clock_is_judged_by_the_middle_one_of_its_servers(filters, offsets, delay, said):
    answers = [None if offset is None else {"offset_s": offset, "delay_s": delay} for offset in offsets]
    look = {"clocks": dict(zip(PLAN["time_servers"], answers, strict=True)), "probes": []}
    wrong = filters["ceph_preflight_wrong"]({"storage-001": look}, {"storage-001": {"servers": [], "probes": []}})
    assert (
        (wrong == []) if said is None else (len(wrong) == 1 and wrong[0].startswith("storage-001: clock: ") and said in wrong[0])
    )


PACKETS = {
    "lost": (
        {"large": False},
        "packets of 9,000 bytes: lost, and small ones are not, nor to 3 more; expected 9,000 bytes from end",
    ),
    "too long for its own port": (
        {"large": False, "why": "Message too long"},
        "packets of 9,000 bytes: Message too long, nor to 3 more",
    ),
    "silent": (
        {"large": False, "small": False},
        "no answer, nor to 3 more; expected an answer in Ceph's public network; fix: ip route",
    ),
    "no way": (
        {"large": False, "small": False, "why": "No route to host"},
        "No route to host, nor",
    ),
}


@pytest.mark.parametrize(("found", "said"), PACKETS.values(), ids=PACKETS)
def test_a_host_is_told_once_for_its_packets(filters, found, said):
    asked = filters["ceph_preflight_about"](PLAN, ["control-001", *HOSTS])
    looks = {host: {"clocks": {}, "probes": [FINE for _ in about["probes"]]} for host, about in asked.items()}
    assert filters["ceph_preflight_wrong"](looks, asked) == []
    looks["storage-002"]["probes"] = [FINE | found] * 4 + [FINE] * 4
    [wrong] = filters["ceph_preflight_wrong"](looks, asked)
    assert wrong.startswith("storage-002: 10.72.128.2 to 10.72.128.3 of storage-003: ") and said in wrong


def test_of_many_hosts_twenty_are_told_by_name(filters):
    hosts = [f"storage-{number:03d}" for number in range(1000)]
    looks = {host: {"clocks": {"10.0.0.1": None}, "probes": []} for host in hosts}
    wrong = filters["ceph_preflight_wrong"](looks, {host: {"servers": [], "probes": []} for host in hosts})
    assert len(wrong) == 21 and wrong[-1] == "and clocks of 980 more hosts"
