"""plan.json: the whole plan for other programs, and the summary that `gpuyard plan --json` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

import orjson

from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model import Network, Plan

FORMAT = "gpuyard-plan-1"


def summarize(plan: Plan, findings: Iterable[Diagnostic] = ()) -> dict[str, Any]:
    """Return the summary of a plan: an interface that other programs rely on, so keys are added and never changed."""
    severities = Counter(finding.severity for finding in findings)
    return {
        "name": plan.name,
        "version": plan.version,
        "digest": plan.digest,
        "gpus": plan.gpus,
        "servers": dict(sorted(Counter(server.group for server in plan.servers).items())),
        "networks": {network.name: _summarize_network(network) for network in plan.networks},
        "cables": len(plan.cables),
        "racks": len(plan.racks),
        "power_w": round(plan.power_w),
        "findings": {"error": severities["error"], "warning": severities["warning"]},
    }


def _summarize_network(network: Network) -> dict[str, Any]:
    return {
        "technology": network.technology,
        "design": network.design,
        "planes": network.planes,
        "tiers": network.tiers,
        "units": network.units,
        "planned_units": network.planned_units,
        "switches": {"leaf": network.leafs, "spine": network.spines, "core": network.cores},
        "models": {"leaf": network.leaf_model, "spine": network.spine_model, "core": network.core_model},
        "cables": network.cables,
        "oversubscription": network.oversubscription,
        "host_speed_gbps": network.host_speed_gbps,
        "fabric_speed_gbps": network.fabric_speed_gbps,
        "bandwidth_gbps": {
            "host": network.host_bandwidth_gbps,
            "leaf_spine": network.leaf_spine_bandwidth_gbps,
            "spine_core": network.spine_core_bandwidth_gbps,
        },
        "bisection_gbps": network.bisection_gbps,
        "lossless": network.lossless,
        "pool": network.pool,
    }


def render_plan_json(plan: Plan, findings: Iterable[Diagnostic] = ()) -> bytes:
    """Return plan.json: every field of the plan under its own name, and `summary`.

    One line per device and per cable, so that two versions can be compared by eye and `git diff`.
    """
    return b"{\n" + b",\n".join(_format_parts(plan, findings)) + b"\n}\n"


def _format_parts(plan: Plan, findings: Iterable[Diagnostic]) -> Iterator[bytes]:
    yield b'"format":' + orjson.dumps(FORMAT)
    yield b'"summary":' + orjson.dumps(summarize(plan, findings))
    for part in fields(plan):
        if part.name.startswith("_"):
            continue
        value = getattr(plan, part.name)
        key = orjson.dumps(part.name) + b":"
        if isinstance(value, tuple):
            lines = b",\n".join(orjson.dumps(item) for item in value)
            yield key + (b"[\n" + lines + b"\n]" if lines else b"[]")
        else:
            yield key + orjson.dumps(value)
