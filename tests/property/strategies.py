"""Random clusters, as the documents that a person would write; shared by all property tests."""

import functools
from pathlib import Path

from hypothesis import strategies as st

from cluster_model.catalogue.load import load_catalogue
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.references.agreement import check_references
from cluster_model.plan.build import build_plan

HERE = Path(__file__).resolve().parent

# model: (height U, has compute ports, has storage ports, role)
MODELS = {
    "nvidia/dgx-a100": (6, True, True, "gpu"),
    "nvidia/dgx-h100": (8, True, True, "gpu"),
    "nvidia/dgx-b200": (10, True, True, "gpu"),
    "nvidia/dgx-b300": (10, True, True, "gpu"),
    "dell/xe9680": (6, True, True, "gpu"),
    "dell/xe9680-mi300x": (6, True, True, "gpu"),
    "generic/4u-8l40s": (4, False, True, "gpu"),
    "generic/2u-24nvme": (2, False, True, "storage"),
    "generic/1u": (1, False, True, "control"),
    "test/server-2-rails": (2, True, False, "gpu"),
    "test/server-4-rails": (2, True, False, "gpu"),
}
COMPUTE = [model for model, (_, compute, _, _) in MODELS.items() if compute]
SMALL = {"test/server-2-rails", "test/server-4-rails"}
LEAFS = {  # models of servers whose compute NICs a leaf can meet
    "roce": {
        "nvidia/sn5600": set(COMPUTE) - SMALL - {"nvidia/dgx-a100"},
        "arista/dcs-7060x6-64pe": set(COMPUTE) - SMALL - {"nvidia/dgx-a100"},
        "nvidia/sn4700": {"nvidia/dgx-a100", "nvidia/dgx-h100"},
        "generic/linux-32x100g": {"nvidia/dgx-a100", *SMALL},
        "test/switch-8x100g": SMALL,
        "test/switch-4x2x100g": {"test/server-4-rails"},
    },
    "infiniband": {
        "nvidia/qm9700": {"nvidia/dgx-h100", "nvidia/dgx-b200", "nvidia/dgx-b300", "dell/xe9680", "dell/xe9680-mi300x"},
        "nvidia/qm8790": {"nvidia/dgx-a100"},
        "nvidia/q3400-ra": {"nvidia/dgx-b300"},
        "test/switch-8x100g": SMALL,
    },
}
MANAGED = {"nvidia/qm9700", "nvidia/q3400-ra"}
"""Leafs that an appliance of UFM plugs into: in a port like any other, or in one that is for fabric managers alone."""
PORTS = {  # of the slowest speed that these tests run a leaf at
    "nvidia/sn5600": 128,
    "arista/dcs-7060x6-64pe": 128,
    "nvidia/sn4700": 64,
    "nvidia/qm9700": 64,
    "nvidia/qm8790": 40,
    "nvidia/q3400-ra": 144,
    "generic/linux-32x100g": 32,
    "test/switch-8x100g": 8,
    "test/switch-4x2x100g": 8,
}
NOS = {
    "nvidia/sn5600": "sonic",
    "nvidia/sn4700": "sonic",
    "nvidia/sn3700c": "sonic",
    "arista/dcs-7060x6-64pe": "eos",
    "arista/dcs-7050cx3-32s": "eos",
    "generic/linux-32x100g": "frr",
    "test/switch-8x100g": "frr",
    "test/switch-4x2x100g": "frr",
}
BUSINESS = {model for model in MODELS if not model.startswith("test/")} - {"generic/2u-24nvme"}
BUSINESS_LEAFS = ["nvidia/sn3700c", "nvidia/sn4700", "arista/dcs-7050cx3-32s", "generic/linux-32x100g"]
STORAGE_LEAFS = ["nvidia/sn4700", "nvidia/sn3700c", "nvidia/sn5600", "arista/dcs-7050cx3-32s", "generic/linux-32x100g"]


@functools.cache
def catalogue():
    """Return our catalogue with the tests' small devices."""
    found, findings = load_catalogue(HERE / "catalogue")
    assert not findings, findings
    return found


def read(document):
    """Return the intent that a document describes; it must be valid in itself."""
    cluster = Cluster.model_validate(document)
    assert check_references(cluster) == []
    return cluster


def plan_of(document):
    """Return (plan, findings) of a document."""
    return build_plan(read(document), catalogue(), None, "digest")


def change(document, **values):
    """Return a copy of a document with values set by path, e.g. `servers__gpu__count=3`."""
    copied = _copy(document)
    for path, value in values.items():
        *parts, last = path.split("__")
        functools.reduce(dict.__getitem__, parts, copied)[last] = value
    return copied


def _copy(value):
    return {key: _copy(item) for key, item in value.items()} if isinstance(value, dict) else value


def sometimes(strategy):
    """Return None about as often as a value."""
    return st.one_of(st.none(), strategy)


def drop_none(**values):
    return {key: value for key, value in values.items() if value is not None}


@st.composite
def compute_networks(draw, models, *, small=False):
    """Draw a compute network for servers of some models."""
    technology = draw(st.sampled_from(["roce", "roce", "infiniband"]))
    fitting = [leaf for leaf, known in LEAFS[technology].items() if models <= known]
    if not fitting:
        technology = "infiniband" if technology == "roce" else "roce"
        fitting = [leaf for leaf, known in LEAFS[technology].items() if models <= known] or ["nvidia/sn5600"]
    leaf = draw(st.sampled_from([leaf for leaf in fitting if leaf.startswith("test/")] if small else fitting))
    design = draw(st.sampled_from(["rail-optimized", "rail-optimized", "leaf-spine"]))
    divisible = models <= {"nvidia/dgx-b300"} or models <= {"test/server-2-rails"}
    parts = draw(st.sampled_from([(1, 2), (2, 1)])) if models <= {"test/server-2-rails"} else None
    planes, sides = parts or (draw(st.sampled_from([(1, 1), (1, 2), (2, 1)])) if divisible else (1, 1))
    if sides == 2 and design == "leaf-spine":
        planes, sides = sides, planes
    tiers = draw(st.sampled_from(["auto", "auto", "auto", 1, 2, 3, 3]))
    network = drop_none(
        technology=technology,
        leaf=leaf,
        nos=NOS.get(leaf) if technology == "roce" else None,
        design=design,
        planes=planes,
        leafs_per_rail=sides if design == "rail-optimized" else None,
        rails_per_leaf=draw(st.sampled_from([1, 1, 2, 4, 8])) if design == "rail-optimized" and not models & SMALL else None,
        leafs_per_unit=draw(st.integers(1, 6)) if design == "leaf-spine" else None,
        tiers=tiers,
        oversubscription=draw(st.sampled_from([1.0, 1.0, 1.0, 0.5, 2.0, 3.0])),
        underlay=draw(st.sampled_from(["unnumbered", "numbered"])),
        uplinks=draw(sometimes(st.sampled_from([1, 2, 4, 6, 8]))) if small else None,
        pool="10.0.0.0/9" if technology == "roce" else None,
    )
    if draw(st.booleans()):
        network["racks"] = {"leaf": draw(st.sampled_from(["gpu", "network"])), "spine": "network"}
    return network


@st.composite
def storage_networks(draw):
    """Draw a storage network."""
    leaf = draw(st.sampled_from(STORAGE_LEAFS))
    return drop_none(
        technology=draw(st.sampled_from(["tcp", "roce"])),
        leaf=leaf,
        nos=NOS[leaf],
        unit=draw(sometimes(st.integers(4, 24))),
        leafs_per_unit=draw(st.sampled_from([2, 2, 1, 3])),
        oversubscription=draw(st.sampled_from([1.0, 2.0, 4.0])),
        tiers=draw(st.sampled_from(["auto", "auto", 2, 3])),
        underlay=draw(st.sampled_from(["unnumbered", "numbered"])),
        ceph_cluster=draw(st.sampled_from(["shared", "separate"])),
        pool="10.128.0.0/10",
    )


@st.composite
def business_networks(draw):
    """Draw a business network, with or without a border."""
    leaf = draw(st.sampled_from(BUSINESS_LEAFS))
    per_unit = draw(st.sampled_from([2, 2, 2, 1]))
    return drop_none(
        leaf=leaf,
        nos=NOS[leaf],
        unit=draw(sometimes(st.integers(1, 12))),
        leafs_per_unit=per_unit,
        homing=draw(sometimes(st.sampled_from(["auto", "esi", "mlag"]))),
        oversubscription=draw(sometimes(st.sampled_from([1.0, 2.0, 4.0]))),
        tiers=draw(st.sampled_from(["auto", "auto", 2, 3])),
        underlay=draw(st.sampled_from(["unnumbered", "numbered"])),
        pool="10.192.0.0/11",
        border=draw(sometimes(borders(per_unit))),
    )


@st.composite
def borders(draw, per_unit):
    """Draw a border with as many leafs as a unit has."""
    leaf = draw(sometimes(st.sampled_from(["generic/linux-32x100g", "nvidia/sn4700"])))
    peers = {}
    for number in range(1, 1 + draw(st.integers(1, 2))):
        leafs = draw(st.lists(st.integers(1, per_unit), min_size=1, max_size=per_unit, unique=True))
        peers[f"isp-{number}"] = {
            "id": number,
            "asn": 64495 + number,
            "accept": [{"prefix": "0.0.0.0/0"}],
            "announce": [],
            "links": [{"border": leaf_number, "prefix": f"198.51.{number}.{4 * leaf_number}/31"} for leaf_number in leafs],
        }
    return drop_none(leaf=leaf, nos=leaf and NOS[leaf], peers=peers)


def largest_unit(network, models):
    """Return about how many servers a unit may have before its leafs run out of ports."""
    legs = 4 if models <= SMALL else 8
    if network["design"] == "rail-optimized":
        per_leaf = network.get("rails_per_leaf", 1)
    else:
        per_leaf = -(-legs // network["leafs_per_unit"])
    if models == {"nvidia/dgx-b300"} and network["planes"] * network.get("leafs_per_rail", 1) == 1:
        per_leaf *= 2  # 800 Gb/s per port
    share = network["oversubscription"] / (1 + network["oversubscription"])
    return max(1, int(PORTS[network["leaf"]] * share) // per_leaf)


@st.composite
def groups(draw, model, number, *, most, unit):
    """Draw a server group."""
    height, compute, _, role = MODELS[model]
    count = draw(st.integers(1, most))
    planned = draw(sometimes(st.integers(count, count + most)))
    rack = "gpu" if role == "gpu" else "network"
    return drop_none(
        id=number,
        model=model,
        role=role,
        count=count,
        planned=planned,
        unit=draw(st.one_of(st.just(unit), st.integers(1, unit))) if compute else None,
        racks=rack,
        per_rack=draw(sometimes(st.integers(1, 42 // height))) if role == "gpu" else None,
    )


@st.composite
def clusters(draw, *, most=12, small=False):
    """Draw a cluster; `most` bounds servers built and added per group, `small` takes switches of 8 ports only."""
    small = small or draw(st.integers(0, 3)) == 0
    if small:
        models = [draw(st.sampled_from(sorted(SMALL)))]
    else:
        first = draw(st.sampled_from(COMPUTE))
        kin = [model for model in COMPUTE if (model in SMALL) == (first in SMALL)]
        models = [first, *draw(st.lists(st.sampled_from(kin), max_size=1))]
        models += draw(
            st.lists(st.sampled_from(["generic/4u-8l40s", "generic/2u-24nvme", "generic/1u"]), max_size=3, unique=True)
        )
    ids = draw(st.lists(st.integers(1, 250), min_size=len(models), max_size=len(models), unique=True))
    names = [f"{'abcdef'[index]}-{model.split('/')[1]}" for index, model in enumerate(models)]
    computing = {model for model in models if MODELS[model][1]}
    network = draw(compute_networks(computing, small=small))
    unit = 64 if draw(st.integers(0, 9)) == 9 else largest_unit(network, computing)
    servers = {
        name: draw(groups(model, number, most=most, unit=unit)) for name, model, number in zip(names, models, ids, strict=True)
    }
    room = sum(-(-(group.get("planned") or group["count"]) // (group.get("per_rack") or 2)) for group in servers.values()) + 2
    rows = draw(st.integers(1, 4))
    letters = draw(st.permutations("ABCD"))[:rows]
    document = {
        "name": "random",
        "site": {"domain": "random.example.net"},
        "racks": {
            "rows": {
                **{row: {"id": index + 1, "racks": min(200, -(-room // rows))} for index, row in enumerate(letters)},
                "N": {"id": 9, "racks": draw(st.sampled_from([8, 16, 30]))},
            },
            "groups": {
                "gpu": drop_none(
                    id=1,
                    rows=list(letters),
                    height_u=draw(st.sampled_from([44, 48, 52])),
                    power_kw=draw(st.sampled_from([15, 30, 48, 150])),
                    feed_kw=draw(st.sampled_from([10, 20, 34, 80])),
                    feeds=draw(st.sampled_from([1, 2, 3])),
                    pdu=draw(sometimes(st.just("generic/pdu-34kw"))),
                ),
                "network": {"id": 2, "rows": ["N"], "height_u": 48, "power_kw": 40, "feed_kw": 30},
            },
        },
        "servers": servers,
        "networks": {
            "oob": {
                "leaf": "generic/linux-48x1g",
                "spine": "generic/linux-32x100g",
                "nos": "frr",
                "racks_per_leaf": draw(st.sampled_from([1, 1, 2, 3, 4])),
                "underlay": draw(st.sampled_from(["unnumbered", "numbered"])),
                "pool": "10.224.0.0/12",
            },
        },
    }
    document["networks"]["compute"] = network
    if network["technology"] == "infiniband" and network["leaf"] in MANAGED and draw(st.booleans()):
        servers["ufm"] = {
            "id": next(i for i in range(1, 251) if i not in ids),
            "model": "nvidia/ufm-3.1",
            "role": "fabric-manager",
            "manages": "compute",
            "count": draw(st.integers(1, 3)),
            "racks": "network",
        }
    if any(MODELS[model][2] for model in models) and draw(st.booleans()):
        document["networks"]["storage"] = draw(storage_networks())
        if "generic/2u-24nvme" in models:
            document["ceph"] = {"hosts": names[models.index("generic/2u-24nvme")]}
    if BUSINESS & set(models) and draw(st.integers(0, 2)) == 0:
        document["networks"]["business"] = draw(business_networks())
    return document
