"""What config_db.json says of the switch itself and of the site's services."""

from __future__ import annotations

from cluster_model.catalogue.types import SonicSupport
from cluster_model.plan.model import Site, Switch
from cluster_model.references import name_secret
from cluster_model.render.switch.sonic_overlay import relays_dhcp
from cluster_model.render.switch.sonic_ports import DEVICE_TYPES
from cluster_model.render.switch.sonic_qos import has_dynamic_buffers
from cluster_model.render.switch.sonic_types import Config, Table

COUNTERS = ("BUFFER_POOL_WATERMARK", "PG_DROP", "PG_WATERMARK", "PORT", "PORT_BUFFER_DROP", "QUEUE", "QUEUE_WATERMARK", "RIF")
LOSSLESS_COUNTERS = ("PFCWD", "WRED_ECN_PORT", "WRED_ECN_QUEUE")
DNS_LIMIT = 3
"""Resolvers that sonic-dns.yang allows, as resolv.conf does."""
NTP_LIMIT = 10
"""Time servers that sonic-ntp.yang allows."""


def tabulate_system(switch: Switch, site: Site, support: SonicSupport, lossless: bool) -> Config:
    """Return DEVICE_METADATA, loopback, management port and VRF, LLDP, FEATURE and counters."""
    dynamic = lossless and has_dynamic_buffers(support)
    metadata = {
        "hostname": switch.name,
        "hwsku": support.hwsku,
        "platform": support.platform,
        "type": DEVICE_TYPES[switch.role],
        "bgp_asn": str(switch.asn),
        "timezone": site.timezone,
        "buffer_model": "dynamic" if dynamic else "traditional",
        # PFC_WD has a row per port; `enable` would let the image put its own timers over them.
        "default_pfcwd_status": "disable",
        # frr.conf is ours. Plain `split` would delete it when the bgp container starts.
        "docker_routing_config_mode": "split-unified",
        # The bgp container starts bfdd only under this switch; without BGP tables its other effects are none.
        "frr_mgmt_framework_config": "true",
    }
    if dynamic:
        metadata["create_only_config_db_buffers"] = "true"
    features: Table = {}
    if any(vlan.dhcp_servers for vlan in switch.vlans) or relays_dhcp(switch.overlay):
        metadata["has_sonic_dhcpv4_relay"] = "True"  # spelled as the relay's own template compares it
        features["dhcp_relay"] = {"state": "enabled"}
    if switch.overlay is not None and switch.overlay.mlag is not None:
        features["iccpd"] = {"state": "enabled"}
    features["snmp"] = {"state": "enabled" if site.snmp_managers else "disabled"}
    counters = COUNTERS + (LOSSLESS_COUNTERS if lossless else ())
    config: Config = {
        "DEVICE_METADATA": {"localhost": metadata},
        "LOOPBACK_INTERFACE": {"Loopback0": {}, f"Loopback0|{_bare(switch.loopback)}/32": {}},
        "LLDP": {"GLOBAL": {"enabled": "true", "hello_time": "30"}},
        "FEATURE": features,
        "FLEX_COUNTER_TABLE": {name: {"FLEX_COUNTER_STATUS": "enable"} for name in counters},
    }
    if switch.management is not None:
        config["MGMT_PORT"] = {"eth0": {"alias": "eth0", "admin_status": "up", "description": _peer(switch)}}
        config["MGMT_INTERFACE"] = {f"eth0|{switch.management.address}": {"gwaddr": switch.management.gateway}}
        config["MGMT_VRF_CONFIG"] = {"vrf_global": {"mgmtVrfEnabled": "true"}}
    return config


def tabulate_services(switch: Switch, site: Site) -> Config:
    """Return time, names, logs and SNMP; reached over the management VRF, or in band from the loopback."""
    out_of_band = switch.management is not None
    vrf, interface = ("mgmt", "eth0") if out_of_band else ("default", "Loopback0")
    source = _bare(switch.management.address if switch.management is not None else switch.loopback)
    config: Config = {}
    if site.ntp:
        config["NTP"] = {"global": {"src_intf": interface, "vrf": vrf, "server_role": "disabled"}}
        config["NTP_SERVER"] = {address: {"association_type": "server", "iburst": "on"} for address in site.ntp[:NTP_LIMIT]}
    if site.dns:
        config["DNS_NAMESERVER"] = {address: {} for address in site.dns[:DNS_LIMIT]}
    if site.syslog:
        config["SYSLOG_SERVER"] = {address: {"source": source, "vrf": vrf} for address in site.syslog}
    if site.snmp_managers:
        config["SNMP"] = {"LOCATION": {"Location": f"{switch.rack} U{switch.u}"}}
        config["SNMP_COMMUNITY"] = {name_secret("snmp-community"): {"TYPE": "RO"}}
        config["SNMP_AGENT_ADDRESS_CONFIG"] = {f"{source}|161|{'mgmt' if out_of_band else ''}": {}}
    return config


def _bare(address: str) -> str:
    return address.partition("/")[0]


def _peer(switch: Switch) -> str:
    return f"{switch.management.peer}:{switch.management.peer_port}" if switch.management is not None else ""
