"""SONiC's config_db.json: typed tables, written by orjson. Routing is not here: frr.conf owns it."""

from __future__ import annotations

import orjson

from cluster_model.catalogue.types import SonicSupport
from cluster_model.catalogue.types import Switch as SwitchModel
from cluster_model.plan.model import Lossless, Switch
from cluster_model.render.switch.scene import Scene, SwitchKind
from cluster_model.render.switch.sonic_access import tabulate_access
from cluster_model.render.switch.sonic_overlay import list_port_vrfs, tabulate_overlay
from cluster_model.render.switch.sonic_ports import list_slots, plug_ports, tabulate_neighbours, tabulate_vlans
from cluster_model.render.switch.sonic_qos import HASH, tabulate_buffers, tabulate_cables, tabulate_qos
from cluster_model.render.switch.sonic_system import tabulate_services, tabulate_system
from cluster_model.render.switch.sonic_types import CageSlot, Config

UNCABLED_M = 5
"""Length for ports without a cable: what the image's buffers_config.j2 takes by default."""
_OPTIONS = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE


def format_config_db(scene: Scene, switch: Switch) -> str:
    """Return the text of a switch's config_db.json: every value a string, keys sorted, one newline at the end."""
    return orjson.dumps(build_config_db(scene, switch), option=_OPTIONS).decode()


def build_config_db(scene: Scene, switch: Switch) -> Config:
    """Return a switch's tables by name; rows shared between switches are the same objects.

    Raises:
        ValueError: the catalogue has no `sonic` block for the model, or no buffers for a lossless one; the lossless profile has
            no ECN thresholds for a port speed; an Ethernet segment has a number that SONiC cannot give it.
    """
    support = _support(scene.catalogue.switch(switch.model), switch.model)
    network, platform = scene.network_of(switch), scene.catalogue.platforms[switch.nos]
    lossless = scene.plan.lossless if network.lossless else None
    slots = _slots(scene, switch, support)
    vrfs = list_port_vrfs(switch.overlay, platform)
    config: Config = {
        **tabulate_system(switch, scene.plan.site, support, lossless is not None),
        **tabulate_services(switch, scene.plan.site),
        **tabulate_access(switch, scene.plan.site),
        **plug_ports(switch, slots, vrfs, scene.cable_fecs.get(switch.name, {})),
        **tabulate_neighbours(scene, switch),
        **tabulate_vlans(switch),
    }
    for name, rows in tabulate_overlay(switch, network, platform).items():
        config.setdefault(name, {}).update(rows)
    if network.load_balancing == "ecmp" and network.name != "oob":
        config["SWITCH_HASH"] = {"GLOBAL": {"ecmp_hash": list(HASH)}}
    if lossless is not None:
        config.update(_lossless_tables(scene, switch, slots, lossless, support))
        lengths = {slot.name: scene.cable_lengths.get((switch.name, slot.name), UNCABLED_M) for slot in slots}
        config.update(tabulate_cables(lengths, support))
    return config


def _support(model: SwitchModel | None, name: str) -> SonicSupport:
    if model is None or model.sonic is None:
        raise ValueError(f"{name} has no `sonic:` block in its catalogue file")
    return model.sonic


def _kind(switch: Switch) -> SwitchKind:
    return (switch.model, switch.nos, switch.mtu_bytes, switch.modes)


def _slots(scene: Scene, switch: Switch, support: SonicSupport) -> tuple[CageSlot, ...]:
    key = _kind(switch)
    found = scene.slots.get(key)
    if found is None:
        found = scene.slots[key] = list_slots(switch, support, scene.catalogue.platforms[switch.nos])
    return found


def _lossless_tables(
    scene: Scene, switch: Switch, slots: tuple[CageSlot, ...], lossless: Lossless, support: SonicSupport
) -> Config:
    used = tuple((port.name, port.speed_gbps) for port in switch.ports)
    key = (_kind(switch), used)
    found = scene.lossless_tables.get(key)
    if found is None:
        names = tuple(slot.name for slot in slots)
        found = tabulate_qos(used, lossless, support.asic)
        found.update(tabulate_buffers(names, lossless, support))
        scene.lossless_tables[key] = found
    return found
