"""What growing must leave as it was, field by field."""

from dataclasses import fields, replace

# Fields that follow from how much is built: what grows by more neighbours, and power, which is of the built load.
GROWING = {
    "Switch": {"ports", "service_routes", "vlans", "optics_w", "overlay"},
    "Server": {"gpu_cap_w", "gpu_cap_feed_lost_w"},
    "Network": {
        "leafs",
        "spines",
        "cores",
        "units",
        "host_leaf_cables",
        "fabric_manager_cables",
        "peer_link_cables",
        "leaf_spine_cables",
        "spine_core_cables",
        "host_bandwidth_gbps",
        "leaf_spine_bandwidth_gbps",
        "spine_core_bandwidth_gbps",
        "bisection_gbps",
    },
}


def compare_growth(old, new):
    """Return every way in which `new` does not contain `old` as it stood: (what, name, old value, new value)."""
    lost = []
    for part in ("servers", "switches", "pdus", "racks", "networks"):
        after = {item.name: item for item in getattr(new, part)}
        for item in getattr(old, part):
            if item.name not in after:
                lost.append((part, item.name, "stands", "gone"))
                continue
            lost += compare_fields(part, item, after[item.name])
    for switch in old.switches:
        now = next((other for other in new.switches if other.name == switch.name), None)
        if now is None:
            continue
        lost += compare_named(f"port of {switch.name}", switch.ports, now.ports)
        lost += compare_named(f"vlan of {switch.name}", switch.vlans, now.vlans, skip={"dhcp_servers"})
        lost += compare_overlays(switch.name, switch.overlay, now.overlay)
        routes = set(now.service_routes)
        lost += [("route", switch.name, route, "gone") for route in switch.service_routes if route not in routes]
    after = {cable.label: cable for cable in new.cables}
    for cable in old.cables:
        if after.get(cable.label) != cable:
            lost.append(("cable", cable.label, cable, after.get(cable.label)))
    return lost


def compare_overlays(name, old, new):
    """Return what of a switch's overlay did not stay: its bonds may become more, all else stands."""
    if old is None or new is None:
        return [("overlay", name, old, new)] if old is not new else []
    lost = [("bond", name, bond, "gone") for bond in old.bonds if bond not in new.bonds]
    before, after = replace(old, bonds=()), replace(new, bonds=())
    return lost + ([("overlay", name, before, after)] if before != after else [])


def compare_fields(what, old, new, skip=frozenset()):
    skip = GROWING.get(type(old).__name__, set()) | set(skip)
    values = ((part.name, getattr(old, part.name), getattr(new, part.name)) for part in fields(old) if part.name not in skip)
    return [(what, f"{old.name}.{name}", before, now) for name, before, now in values if before != now]


def compare_named(what, old, new, skip=frozenset()):
    after = {item.name: item for item in new}
    lost = []
    for item in old:
        if item.name not in after:
            lost.append((what, item.name, item, "gone"))
        else:
            lost += compare_fields(what, item, after[item.name], skip)
    return lost
