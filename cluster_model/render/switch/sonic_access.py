"""Who may speak to a SONiC switch itself: control plane ACLs, which caclmgrd turns into the INPUT chain of iptables.

One such table makes all that no rule accepts be dropped, whatever its service (caclmgrd, the DROP at the end of
get_acl_rules_and_translate_to_iptables_commands), but for BGP, DHCP, ICMP, and answers to what the switch itself asked. So the
tables stand here together: SSH and SNMP at the one address that the switch is managed by, BFD from the switches at the other end
of its cables, and the MLAG daemon of its pair.

Source: sonic-net/sonic-host-services, scripts/caclmgrd, branch 202605 (DST_IP and IN_PORTS since 202505).
"""

from __future__ import annotations

from cluster_model.plan.model import Site, Switch
from cluster_model.render.switch.sonic_types import Config, Row, Table

TCP, UDP = "6", "17"
_FIRST = 9999
"""Priority of a table's first rule; the next ones count down, since caclmgrd keeps one rule of each priority."""


def tabulate_access(switch: Switch, site: Site) -> Config:
    """Return ACL_TABLE and ACL_RULE.

    The management address lies in a VRF of its own, or is the loopback of an out-of-band switch: no gateway of hosts or tenants.
    """
    own = (switch.management.address if switch.management is not None else switch.loopback).partition("/")[0]
    tables: Table = {}
    rules: Table = {}

    def admit(name: str, service: str, purpose: str, accepted: list[Row]) -> None:
        if not accepted:
            return
        tables[name] = {"policy_desc": purpose, "type": "CTRLPLANE", "services": [service]}
        for number, row in enumerate(accepted):
            rules[f"{name}|RULE_{number + 1}"] = {"PRIORITY": str(_FIRST - number), "PACKET_ACTION": "ACCEPT", **row}

    admit("SSH_ONLY", "SSH", "SSH at the management address", [{"DST_IP": f"{own}/32", "IP_PROTOCOL": TCP}])
    admit(
        "SNMP_ACL",
        "SNMP",
        "SNMP managers",
        [{"SRC_IP": f"{address}/32", "DST_IP": f"{own}/32", "IP_PROTOCOL": UDP} for address in site.snmp_managers],
    )
    sessions = [port for port in switch.ports if port.peer_asn and port.use == "fabric"]
    # caclmgrd knows BFD only from sessions of the ASIC, and these are bfdd's; the service ANY has no port of its own to name.
    admit(
        "FABRIC_BFD",
        "ANY",
        "BFD of switches, by address",
        [{"SRC_IP": f"{port.peer_address}/32", "IN_PORTS": port.name} for port in sessions if port.peer_address],
    )
    admit(
        "FABRIC_BFD_V6",
        "ANY",
        "BFD of switches, by port",
        [{"SRC_IPV6": "fe80::/10", "IN_PORTS": port.name} for port in sessions if not port.peer_address],
    )
    mlag = switch.overlay.mlag if switch.overlay is not None else None
    if mlag is not None:
        admit("MLAG_PEER", "ANY", "MLAG daemon of the pair", [{"SRC_IP": f"{mlag.peer_address}/32"}])
    return {"ACL_TABLE": tables, "ACL_RULE": rules}
