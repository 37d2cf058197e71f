"""EOS configurations against an independent renderer: pyavd makes one from the same plan, and the two are compared as trees."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import pyavd
import pytest
from hier_config import Platform, get_hconfig

from cluster_model.plan.model import Switch
from tests.contract.eos_structured import build_structured
from tests.unit.render.switch import eos

Line = tuple[str, ...]
KINDS = [(cluster, switch.name) for cluster in eos.CLUSTERS for switch in eos.samples(cluster)]
IDS = [f"{cluster}-{name}" for cluster, name in KINDS]

ACCEPTED: dict[str, str] = {
    # side and line (a path joined by " > "): why it is right
    r"ours: username admin privilege 15 role network-admin secret 0 \{\{gpuyard-secret:switch-admin\}\}": (
        "AVD takes hashes only; ours is filled in at delivery, and EOS hashes it when it reads the file"
    ),
    r"ours: router bgp \d+ > neighbor (FABRIC|NODES) idle-restart-timer 300": (
        "AVD has no key for it; without it a session that is shut waits for a person"
    ),
    r"ours: router bgp \d+ > vrf \S+ > neighbor \S+ password 0 \{\{gpuyard-secret:[a-z0-9-]+\}\}": (
        "AVD takes hashes (7, 8a) only; see the next line"
    ),
    r"avd: router bgp \d+ > vrf \S+ > neighbor \S+ password 7 \{\{gpuyard-secret:[a-z0-9-]+\}\}": (
        "the same password by the type that AVD has"
    ),
}
"""Every difference that is accepted, and why. A line that no switch needs any more fails a test."""


@cache
def render_avd(cluster: str, name: str) -> str:
    """Return pyavd's configuration; its schema must find nothing."""
    plan = eos.plan(cluster)
    found = pyavd.validate_structured_config(build_structured(plan, plan.switch(name)))
    faults = [(".".join(fault.path), fault.message) for fault in found.validation_result.violations]
    faults += [(".".join(old.path), old.message) for old in found.validation_result.deprecations]
    assert not faults
    assert found.validated_data is not None
    return pyavd.get_device_config(found.validated_data)


def read_tree(text: str) -> set[Line]:
    """Return every line of a configuration with its parents."""
    return {tuple(child.path()) for child in get_hconfig(Platform.ARISTA_EOS, text).all_children()}


def compare(ours: str, avd: str) -> list[str]:
    """Return what one has and the other has not, as `ours: …` and `avd: …`."""
    left, right = read_tree(ours), read_tree(avd)
    return sorted([f"ours: {' > '.join(line)}" for line in left - right] + [f"avd: {' > '.join(line)}" for line in right - left])


def accepts(difference: str) -> str | None:
    """Return the pattern of ACCEPTED that a difference falls under."""
    return next((pattern for pattern in ACCEPTED if re.fullmatch(pattern, difference)), None)


@pytest.mark.parametrize(("cluster", "name"), KINDS, ids=IDS)
def test_avd_renders_the_same_configuration(cluster: str, name: str) -> None:
    differences = compare(eos.config(cluster, name), render_avd(cluster, name))
    assert [line for line in differences if not accepts(line)] == []


def test_every_accepted_difference_is_still_met() -> None:
    met = {accepts(line) for kind in KINDS for line in compare(eos.config(*kind), render_avd(*kind))}
    assert met == set(ACCEPTED)


@pytest.mark.parametrize(("cluster", "name"), KINDS, ids=IDS)
def test_no_line_stands_twice(cluster: str, name: str) -> None:
    """A tree has no line twice, so the comparison would not see it."""
    seen: set[tuple[str, ...]] = set()
    path: list[tuple[int, str]] = []
    for text in eos.config(cluster, name).splitlines():
        depth, line = len(text) - len(text.lstrip()), text.strip()
        if line in {"", "!"}:
            continue
        path = [*(step for step in path if step[0] < depth), (depth, line)]
        key = tuple(step for _, step in path)
        assert key not in seen, key
        seen.add(key)


def _first(cluster: str, role: str, network: str = "business") -> Switch:
    return next(s for s in eos.plan(cluster).switches if (s.network, s.role) == (network, role))


MISTAKES: dict[str, tuple[str, str, Callable[[str], str]]] = {
    "a wrong ASN of a neighbour": (
        "business",
        "leaf",
        lambda text: re.sub(r"(remote-as \d+)$", r"\g<1>1", text, count=1, flags=re.M),
    ),
    "a wrong ASN of its own": (
        "business",
        "spine",
        lambda text: re.sub(r"^router bgp \d+", "router bgp 4200009999", text, flags=re.M),
    ),
    "a missing VNI": ("business", "leaf", lambda text: re.sub(r"^   vxlan vlan .*\n", "", text, count=1, flags=re.M)),
    "a missing L3 VNI": ("business", "border", lambda text: re.sub(r"^   vxlan vrf .*\n", "", text, count=1, flags=re.M)),
    "a wrong route target": (
        "business",
        "leaf",
        lambda text: re.sub(r"route-target both \d+:", "route-target both 64999:", text, count=1),
    ),
    "a VRF that imports another's": (
        "business",
        "leaf",
        lambda text: text.replace("import evpn 64512:50001", "import evpn 64512:50002", 1),
    ),
    "a leak too many": (
        "business",
        "border",
        lambda text: text.replace("seq 10 permit 0.0.0.0/0", "seq 10 permit 0.0.0.0/0 le 32", 1),
    ),
    "a wrong segment": ("business", "leaf", lambda text: re.sub(r"(identifier \S+)0", r"\g<1>f", text, count=1)),
    "a filter taken away": (
        "business",
        "leaf",
        lambda text: text.replace("      neighbor FABRIC route-map FABRIC-OUT out\n", "", 1),
    ),
    "next hops changed by spines": ("business", "spine", lambda text: text.replace("      bgp next-hop-unchanged\n", "", 1)),
    "another class for RoCE": (
        "compute",
        "leaf",
        lambda text: text.replace("qos map dscp 26 to traffic-class 3", "qos map dscp 26 to traffic-class 1"),
    ),
    "a pause for every class": ("compute", "spine", lambda text: text.replace("priority 3 no-drop", "priority 0 no-drop", 1)),
    "the default trust": ("compute", "leaf", lambda text: text.replace("   qos trust dscp\n   service", "   service", 1)),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_seeded_mistakes_are_seen(mistake: str) -> None:
    network, role, spoil = MISTAKES[mistake]
    name = _first("driving", role, network).name
    good = eos.config("driving", name)
    bad = spoil(good)
    assert bad != good
    differences = compare(bad, render_avd("driving", name))
    assert [line for line in differences if not accepts(line)]


def test_the_schema_judges() -> None:
    plan = eos.plan("driving")
    config = build_structured(plan, _first("driving", "leaf"))
    config["router_bgp"]["timers"] = {"keepalive": 3}
    found = pyavd.validate_structured_config(config)
    assert [".".join(fault.path) for fault in found.validation_result.violations] == ["router_bgp.timers.keepalive"]
