"""plan.json: the whole plan for other programs, and the summary that `gpuyard plan --json` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

import orjson

from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model import Network, Plan
from cluster_model.plan.model.overlay import Tenant
from cluster_model.render.services import list_services
from cluster_model.render.tenants import count_servers

FORMAT = "gpuyard-plan-1"


def summarize(plan: Plan, findings: Iterable[Diagnostic] = ()) -> dict[str, Any]:
    """Return the summary of a plan: an interface that other programs rely on, so keys are added and never changed."""
    severities = Counter(finding.severity for finding in findings)
    members = count_servers(plan)
    return {
        "name": plan.name,
        "version": plan.version,
        "digest": plan.digest,
        "gpus": plan.gpus,
        "servers": dict(sorted(Counter(server.group for server in plan.servers).items())),
        "networks": {network.name: _summarize_network(network) for network in plan.networks},
        "tenants": {tenant.name: _summarize_tenant(tenant, members[tenant.name]) for tenant in plan.tenants},
        "border_peers": {peer.name: peer.asn for peer in plan.border_peers},
        **{service.name: service.summarize(plan) for service in list_services()},
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
        "switches": {"leaf": network.leafs, "border": network.borders, "spine": network.spines, "core": network.cores},
        "models": {
            "leaf": network.leaf_model,
            "border": network.border_model,
            "spine": network.spine_model,
            "core": network.core_model,
        },
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
        "homing": network.homing,
        "isolation": network.isolation,
        "load_balancing": network.load_balancing,
    }


def _summarize_tenant(tenant: Tenant, servers: int) -> dict[str, Any]:
    return {
        "id": tenant.id,
        "vrf": tenant.vrf,
        "vni": tenant.vni,
        "subnets": {subnet.name: {"prefix": subnet.prefix, "vlan": subnet.vlan, "vni": subnet.vni} for subnet in tenant.subnets},
        "gpu_quota": None if tenant.gpus < 0 else tenant.gpus,
        "servers": servers,
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
