"""Router MACs that Debian 12's FRR 8.4 forgets, put back: traffic is not lost that a leaf's own system would not lose.

When the next hops of an EVPN prefix change, zebra adds the new ones at once and takes the old ones away later, together with the
router MACs that both have (FRR issue 12391): the route stays, and what follows it is dropped.
"""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cluster_model.twin.ethernet.fabric import Fabric

_ROUTER_MAC = re.compile(r"\bRmac:([0-9a-f:]{17})")
_ASK = "ip -j -4 route show table all; echo; ip -j -4 neigh"


def restore_router_macs(fabric: Fabric, name: str) -> int:
    """Give a switch the router MACs of far tunnel ends that its VRFs' routes lead to and its kernel does not know.

    Returns:
        How many were missing and are there now.
    """
    plane = fabric.files(name).plane
    tunnels = {item.untagged: item.name for item in plane.interfaces.values() if item.kind == "vxlan"}
    vlans = {
        item.name: item.vlan for item in plane.interfaces.values() if item.kind == "vlan" and item.vrf and item.vlan in tunnels
    }
    missing = list_unknown(_ask(fabric, name), set(vlans)) if vlans else []
    if not missing:
        return 0
    macs = find_router_macs(fabric.show(name, "bgpd", "bgp l2vpn evpn route type prefix"))
    neighbours, entries = list[str](), list[str]()
    for far, device in missing:
        if far in macs:
            tunnel = tunnels[vlans[device]]
            neighbours.append(f"neigh replace {far} lladdr {macs[far]} dev {device} nud noarp extern_learn")
            entries += [
                f"fdb replace {macs[far]} dev {tunnel} master static vlan {vlans[device]} extern_learn",
                f"fdb replace {macs[far]} dev {tunnel} self static dst {far} extern_learn",
            ]
    if neighbours:
        fabric.nodes[name].configure(entries, "bridge")
        fabric.nodes[name].configure(neighbours)
    return len(neighbours)


def _ask(fabric: Fabric, name: str) -> str:
    command = ["nsenter", "-t", str(fabric.nodes[name].pid), "-n", "sh", "-c", _ASK]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def list_unknown(said: str, devices: set[str]) -> list[tuple[str, str]]:
    """Return the next hops without a neighbour's entry, as (address, device).

    Args:
        said: what `ip -j route` and, after an empty line, `ip -j neigh` print.
        devices: those that lead into tunnels.
    """
    routes, _, neighbours = said.partition("\n\n")
    wanted = {
        (hop["gateway"], hop["dev"])
        for route in json.loads(routes or "[]")
        for hop in route.get("nexthops") or [route]
        if hop.get("dev") in devices and "gateway" in hop
    }
    known = {(row["dst"], row["dev"]) for row in json.loads(neighbours or "[]") if "lladdr" in row}
    return sorted(wanted - known)


def find_router_macs(shown: Any) -> dict[str, str]:
    """Return router MACs by tunnel end, from what bgpd shows of type-5 routes."""
    found: dict[str, str] = {}
    for routes in shown.values() if isinstance(shown, dict) else ():
        for route in routes.values() if isinstance(routes, dict) else ():
            for ways in route.get("paths", ()) if isinstance(route, dict) else ():
                for way in ways:
                    mac = _ROUTER_MAC.search(way.get("extendedCommunity", {}).get("string", ""))
                    if mac:
                        found |= {hop["ip"]: mac[1] for hop in way.get("nexthops", ())}
    return found
