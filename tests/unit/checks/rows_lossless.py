"""Rows of the rules about lossless networks: a part of ROC. One label per row; a firing row has words of its summary."""

from __future__ import annotations

from dataclasses import replace

from small_plan import SOURCE, chain, hardware, items, networks, platform, ports

from cluster_model.catalogue.types import Nic

SIZES = {"pools": {"egress_lossless_pool": {"size": 1}}, "source": "made up for tests"}


def _sonic(buffers):
    """Run compute on SONiC, with what its SKU knows of buffers."""
    sku = {"hwsku": "Test", "platform": "x86_64-test-r0", "asic": "broadcom", "source": "made up for tests"}
    return chain(
        hardware("test/leaf", "sonic", sku if buffers is None else {**sku, "buffers": buffers}),
        items("switches", "compute", nos="sonic"),
    )


def _balance(name, **fields):
    """Ask a network for a way to spread load."""
    return networks(name, load_balancing=fields.pop("way", "adaptive"), **fields)


def _nics(out_of_order):
    """Know the hosts' NIC, and whether it takes packets in any order."""
    nic = Nic(name="NIC", speed_gbps=400, pcie_gen=5, technology=["ethernet"], out_of_order=out_of_order, **SOURCE)
    known = ports("servers", "gpu", "c", nic="test/nic")
    return chain(known, lambda design: replace(design, catalogue=replace(design.catalogue, nics={"test/nic": nic})))


FIRES = {
    "ROC014": {
        "no flowlets": (
            chain(_balance("compute", way="dynamic"), platform(lacks=("dynamic_load_balancing",))),
            "compute asks for dynamic load balancing, and TestOS has no dynamic_load_balancing",
        ),
        "no adaptive routing": (
            chain(_balance("compute"), platform(lacks=("adaptive_routing",))),
            "compute asks for adaptive routing, and TestOS has no adaptive_routing",
        ),
        "no flowlets on the chip": (
            chain(_balance("compute", way="dynamic"), hardware("test/leaf", "asic.dynamic_load_balancing", False)),
            "dynamic load balancing of compute is not known for test/leaf (chip)",
        ),
        "another chip": (
            chain(_balance("compute"), hardware("test/leaf", "asic.adaptive_routing_gbps", [])),
            "not known for test/leaf at 400 Gb/s",
        ),
        "another speed": (
            chain(_balance("compute"), ports("switches", "compute-spine", "p", speed_gbps=800)),
            "not known for test/leaf at 800 Gb/s",
        ),
        "no RoCE": (_balance("storage"), "adaptive routing is for RoCE, and storage carries none"),
        "InfiniBand": (_balance("compute", technology="infiniband"), "compute is InfiniBand"),
    },
    "ROC015": {
        "in order": (chain(_balance("compute"), _nics(False)), "4 host ports of compute want packets in order"),
        "not known": (_balance("compute"), "4 host ports of compute want packets in order"),
    },
    "ROC013": {
        "no sizes": (
            _sonic(None),
            "no buffer sizes are known for test/leaf: 4 switches of compute would have PFC and no headroom",
        ),
        "longer than the table": (
            chain(_sonic({**SIZES, "cable_lengths_m": [5, 40]}), items("cables", "compute-leaf", length_m=40.5)),
            "4 cables of compute longer than test/leaf has headroom for",
        ),
    },
}
SILENT = {
    "ROC014": {
        "adaptive": _balance("compute"),
        "dynamic": _balance("compute", way="dynamic"),
        "dynamic without RoCE": _balance("storage", way="dynamic"),
        "ecmp on any chip": chain(
            platform(lacks=("dynamic_load_balancing", "adaptive_routing")),
            hardware("test/leaf", "asic.adaptive_routing_gbps", []),
        ),
        "ecmp without flowlets": hardware("test/leaf", "asic.dynamic_load_balancing", False),
        "flowlets at any speed": chain(
            _balance("compute", way="dynamic"), ports("switches", "compute-spine", "p", speed_gbps=800)
        ),
    },
    "ROC015": {
        "any order": chain(_balance("compute"), _nics(True)),
        "flowlets keep the order": chain(_balance("compute", way="dynamic"), _nics(False)),
    },
    "ROC013": {
        "sizes": _sonic(SIZES),
        "as long as the table": chain(
            _sonic({**SIZES, "cable_lengths_m": [5, 40]}), items("cables", "compute-leaf", length_m=40.0)
        ),
        "headroom is computed": chain(_sonic(SIZES), items("cables", "compute-leaf", length_m=90.0)),
        "no RoCE": chain(_sonic(None), networks("compute", lossless=False)),
    },
}
