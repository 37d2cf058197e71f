"""What the twin plays because plain Linux has not got it, in words: rows say so beside what is tried."""

from __future__ import annotations

from cluster_model.twin.ethernet.scope import Scope
from cluster_model.twin.ethernet.speakers import list_speakers
from cluster_model.twin.tree import Tree

MLAG = "its daemon is played: hosts' MACs and addresses are told to both leafs of a pair, and the peer link is filtered"
SEGMENTS = (
    "routes, election and failover are tried; plain Linux enforces no designated forwarder, and split horizon by nftables alone: "
    "what is flooded may come twice (FRR issues 10027, 10090, 18748)"
)
ROUTER_MACS = (
    "FRR 8.4 of this machine forgets those of tunnel ends when next hops change (FRR issue 12391): the twin puts them back, "
    "and rows say how many"
)
NODES = (
    "what a network plug-in tells leafs of its pods is played: each node has one, in the first addresses of the range, and also "
    "announces what leafs must not take; every API server is ready"
)
TIMERS = "BFD and BGP wait {:g} times longer than rendered: the processor is emulated"


def list_emulated(tree: Tree, scope: Scope, timers: float) -> dict[str, str]:
    """Return what is played or differs of what is booted, by its name."""
    notes = {}
    planes = [tree.switch_files(switch).plane for switch in scope.switches.values()]
    if any(plane.mlag for plane in planes):
        notes["MLAG"] = MLAG
    if any(bond.esi for switch in scope.switches.values() if switch.overlay for bond in switch.overlay.bonds):
        notes["Ethernet segments"] = SEGMENTS
    if any(vrf.vni for switch in scope.switches.values() if switch.overlay for vrf in switch.overlay.vrfs):
        notes["router MACs"] = ROUTER_MACS
    if any(list_speakers(scope, scope.links)):
        notes["nodes of Kubernetes"] = NODES
    if timers > 1 and scope.switches:
        notes["timers"] = TIMERS.format(timers)
    return notes
