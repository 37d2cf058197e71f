"""Sessions of leafs with Kubernetes' nodes, which tell them of their pods, as they are against the plan."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from cluster_model.checks.wording import list_names
from cluster_model.plan.model import Switch, SwitchPort
from cluster_model.verify.cabling.places import Job, Places
from cluster_model.verify.observed import ESTABLISHED, Observed, ObservedDevice

_ABSENT, _DARK = "not configured", "the port has no link"


def list_node_ports(switch: Switch) -> list[SwitchPort]:
    """Return the ports of a switch with a node at the other end that has a session with it."""
    return [port for port in switch.ports if port.peer_asn and port.use == "host"]


def judge_node_sessions(
    places: Places, observed: Observed, switches: Sequence[Switch], strangers: Collection[str]
) -> Iterator[Job]:
    """Yield the nodes that have no session with their leafs (VER038): those with the same leafs and states together.

    So a cluster whose Kubernetes is not installed yet is a line for each unit, and a node whose agent is dead one for all leafs.

    Args:
        places: where things are.
        observed: what was read.
        switches: those to look at; one that did not tell of its sessions is left out.
        strangers: switches that speak with another AS number than planned, for which another finding stands.
    """
    silent: dict[str, dict[str, str]] = {}  # node -> leaf -> state
    for switch in switches:
        device = observed.devices.get(switch.name)
        if device is None or not device.reached or device.sessions is None or switch.name in strangers:
            continue
        for port in list_node_ports(switch):
            state = _tell_state(device, port)
            if state != ESTABLISHED:
                silent.setdefault(port.peer, {})[switch.name] = state
    groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for node, seen in silent.items():
        groups.setdefault(tuple(seen.items()), []).append(node)
    for told, nodes in groups.items():
        leafs, states = [leaf for leaf, _ in told], list(dict.fromkeys(state for _, state in told))
        yield places.job(
            "VER038", "session with a node", [], (nodes[0] if len(nodes) == 1 else leafs[0], ""),
            f"no BGP session of {list_names(nodes)} with {list_names(leafs)}", severity="warning", expected=ESTABLISHED,
            actual=states[0] if len(states) == 1 else list_names(f"{leaf} {state}" for leaf, state in told), fix=_advise(told),
        )  # fmt: skip


def _tell_state(device: ObservedDevice, port: SwitchPort) -> str:
    """Return how a session is, in words."""
    session = next((one for one in device.sessions or () if one.peer == port.peer_address), None)
    seen = device.ports.get(port.name)
    if session is None:
        return _ABSENT
    if session.asn and session.asn != port.peer_asn:
        return f"AS {session.asn} and not {port.peer_asn}"
    return _DARK if session.state != ESTABLISHED and seen is not None and seen.carrier is False else session.state


def _advise(told: Sequence[tuple[str, str]]) -> str:
    """Return what to do about sessions, by leaf and state."""
    unloaded = [leaf for leaf, state in told if state == _ABSENT or state.startswith("AS ")]
    if unloaded:
        return f"load the rendered configuration onto {list_names(unloaded)}"
    if all(state == _DARK for _, state in told):
        return "mend the links first: gpuyard verify cabling"
    return "install Kubernetes there, if it is not; else look at the network plug-in's agent, which opens the session"
