"""What sonic-buildimage gives a Spectrum switch in the dynamic buffer model, written down as facts.

Read at commit 086b03bd70f9 (August 2026): files/build_templates/buffers_config.j2 with `dynamic_mode`, and of each SKU's folder
below device/mellanox/ buffers_defaults_objects.j2 (one file that all of these SKUs link to), buffers_defaults_t0.j2 and
buffers_defaults_t1.j2 (the same sizes in both where a size is written in dynamic mode).
"""

from __future__ import annotations

EGRESS_LOSSLESS_BYTES = {
    "ACS-SN5600": "158229504",
    "ACS-MSN4700": "60817392",
    "ACS-MSN3700C": "34287552",
    "ACS-SN2201": "13945824",
}
"""`egress_lossless_pool_size` by SKU: the one pool whose size stands outside of `dynamic_mode is not defined`."""

BROADCOM = {
    "Dell-Z9864f-O64": {
        "BUFFER_POOL": {
            "ingress_lossless_pool": {"size": "162539680", "type": "ingress", "mode": "dynamic", "xoff": "33374584"},
            "egress_lossless_pool": {"size": "162539680", "type": "egress", "mode": "static"},
        },
        "BUFFER_PROFILE": {
            "ingress_lossy_profile": {"pool": "ingress_lossless_pool", "size": "0", "static_th": "165867080"},
            "egress_lossless_profile": {"pool": "egress_lossless_pool", "size": "0", "static_th": "165867080"},
            "egress_lossy_profile": {"pool": "egress_lossless_pool", "size": "1778", "dynamic_th": "0"},
        },
        "lengths": [5, 40, 300],
        "first ports": [("Ethernet0", "1,2,3,4,5,6,7,8", "etp1"), ("Ethernet8", "17,18,19,20,21,22,23,24", "etp2")],
        "last port": ("Ethernet504", "481,482,483,484,485,486,487,488", "etp64"),
    },
    "DellEMC-Z9664f-O64": {
        "BUFFER_POOL": {
            "ingress_lossless_pool": {"size": "113620296", "type": "ingress", "mode": "dynamic", "xoff": "50653696"},
            "egress_lossless_pool": {"size": "113620296", "type": "egress", "mode": "static"},
        },
        "BUFFER_PROFILE": {
            "ingress_lossy_profile": {"pool": "ingress_lossless_pool", "size": "0", "static_th": "113620296"},
            "egress_lossless_profile": {"pool": "egress_lossless_pool", "size": "0", "static_th": "113620296"},
            "egress_lossy_profile": {"pool": "egress_lossless_pool", "size": "0", "dynamic_th": "2"},
        },
        "lengths": [5, 40, 300],
        "first ports": [("Ethernet0", "5,6,7,8", "fourhundredGigE1/1"), ("Ethernet4", "9,10,11,12", "fourhundredGigE1/2")],
        "last port": ("Ethernet252", "253,254,255,256", "fourhundredGigE1/64"),
    },
}
"""What device/dell gives each SKU: buffers_defaults_t0.j2 and _t1.j2 (the same), pg_profile_lookup.ini, port_config.ini. Profiles
of the CPU's queues are left out, which no port has."""

PROFILES = {
    "ingress_lossless_profile": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "7"},
    "ingress_lossy_profile": {"pool": "ingress_lossy_pool", "size": "0", "dynamic_th": "3"},
    "egress_lossless_profile": {"pool": "egress_lossless_pool", "size": "0", "dynamic_th": "7"},
    "egress_lossy_profile": {"pool": "egress_lossy_pool", "size": "9216", "dynamic_th": "7"},
    "q_lossy_profile": {"pool": "egress_lossy_pool", "size": "0", "dynamic_th": "3"},
}
LOSSLESS = (3, 4)
"""Upstream's lossless priorities; ours are the plan's."""


def list_tables(hwsku: str, ports: list[str]) -> dict[str, dict[str, dict[str, str]]]:
    """Return the tables that the image would render for these ports, priorities 3 and 4 one by one."""
    pools = {
        f"{side}_{kind}_pool": {"type": side, "mode": "dynamic"}
        for side in ("ingress", "egress")
        for kind in ("lossless", "lossy")
    }
    pools["egress_lossless_pool"]["size"] = EGRESS_LOSSLESS_BYTES[hwsku]
    groups = {f"{port}|0": {"profile": "ingress_lossy_profile"} for port in ports}
    queues = {}
    for port in ports:
        for priority in LOSSLESS:
            groups[f"{port}|{priority}"] = {"profile": "NULL"}
            queues[f"{port}|{priority}"] = {"profile": "egress_lossless_profile"}
        queues |= {f"{port}|{queue}": {"profile": "q_lossy_profile"} for queue in (0, 1, 2, 5, 6)}
    return {
        "BUFFER_POOL": pools,
        "BUFFER_PROFILE": PROFILES,
        "BUFFER_PG": groups,
        "BUFFER_QUEUE": queues,
        "BUFFER_PORT_INGRESS_PROFILE_LIST": {
            port: {"profile_list": "ingress_lossless_profile,ingress_lossy_profile"} for port in ports
        },
        "BUFFER_PORT_EGRESS_PROFILE_LIST": {
            port: {"profile_list": "egress_lossless_profile,egress_lossy_profile"} for port in ports
        },
        "DEFAULT_LOSSLESS_BUFFER_PARAMETER": {"AZURE": {"default_dynamic_th": "0"}},
        "LOSSLESS_TRAFFIC_PATTERN": {"AZURE": {"mtu": "1024", "small_packet_percentage": "50"}},
        "CABLE_LENGTH": {"AZURE": dict.fromkeys(ports, "5m")},
    }
