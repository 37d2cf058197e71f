"""The lossless profile in SONiC's words: maps, schedulers, ECN, PFC, its watchdog, and buffers.

Every table is written by us. `config qos reload` would put the image's own AZURE maps over them, which send DSCP 26 to class 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cluster_model.catalogue.types import SonicSupport
from cluster_model.plan.model import Lossless
from cluster_model.render.switch.sonic_types import Config, Row, Table

MAP = "ROCE"
"""Name of our maps; not AZURE, which the image's tools would overwrite."""
QUEUES = range(8)
SIDES = ("ingress", "egress")
KINDS = ("lossless", "lossy")
LOSSLESS_WEIGHT = 50
"""DWRR shares: half for the lossless queues, half for the others; CNPs go first, and are too few to starve anyone."""
HASH = ("SRC_IP", "DST_IP", "IP_PROTOCOL", "L4_SRC_PORT", "L4_DST_PORT")
"""Fields that tell flows apart on equal paths: the UDP source port is what RoCE varies. Without SWITCH_HASH they are the chip's
own choice (sonic-net/SONiC, doc/hash/hash-design.md; src/sonic-yang-models, sonic-hash.yang)."""
PFC_TO_PG_ASICS = ("mellanox", "barefoot")
"""ASICs whose SAI takes PFC_PRIORITY_TO_PRIORITY_GROUP_MAP (files/build_templates/qos_config.j2)."""


def tabulate_qos(ports: Iterable[tuple[str, int]], lossless: Lossless, asic: str) -> Config:
    """Return the QoS tables for (name, speed_gbps) of the cabled ports.

    Raises:
        ValueError: the profile has no ECN thresholds for a port's speed.
    """
    ports = tuple(ports)
    priorities = ",".join(str(priority) for priority in lossless.pfc_priorities)
    no_drop = set(lossless.pfc_priorities)
    shared = [queue for queue in QUEUES if queue not in no_drop and queue != lossless.cnp_priority]
    identity = {str(queue): str(queue) for queue in QUEUES}
    port_row = {
        "dscp_to_tc_map": MAP,
        "pfc_enable": priorities,
        "pfc_to_queue_map": MAP,
        "tc_to_pg_map": MAP,
        "tc_to_queue_map": MAP,
    }
    config: Config = {
        "DSCP_TO_TC_MAP": {MAP: {str(dscp): str(tc) for dscp, tc in enumerate(lossless.dscp_to_tc)}},
        "TC_TO_QUEUE_MAP": {MAP: identity},
        # A class without PFC shares group 0, whose buffer drops.
        "TC_TO_PRIORITY_GROUP_MAP": {MAP: {str(tc): str(tc if tc in no_drop else 0) for tc in QUEUES}},
        "MAP_PFC_PRIORITY_TO_QUEUE": {MAP: identity},
        "SCHEDULER": {
            "scheduler.lossless": {"type": "DWRR", "weight": str(LOSSLESS_WEIGHT // len(no_drop))},
            "scheduler.default": {"type": "DWRR", "weight": str(max(1, (100 - LOSSLESS_WEIGHT) // max(1, len(shared))))},
            "scheduler.cnp": {"type": "STRICT"},
        },
        "WRED_PROFILE": {_wred(speed): _mark(lossless, speed) for speed in sorted({speed for _, speed in ports})},
        "QUEUE": dict(_schedule(ports, lossless)),
    }
    if asic in PFC_TO_PG_ASICS:
        config["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"] = {MAP: {str(number): str(number) for number in lossless.pfc_priorities}}
        port_row["pfc_to_pg_map"] = MAP
    if lossless.watchdog:
        port_row["pfcwd_sw_enable"] = priorities
        config["PFC_WD"] = _watch(ports, lossless)
    config["PORT_QOS_MAP"] = {"global": {"dscp_to_tc_map": MAP}, **{name: port_row for name, _ in ports}}
    return config


def _wred(speed_gbps: int) -> str:
    return f"{MAP}_{speed_gbps}G"


def _mark(lossless: Lossless, speed_gbps: int) -> Row:
    for speed, min_kb, max_kb, percent in lossless.ecn:
        if speed == speed_gbps:
            row = {"ecn": "ecn_all"}
            for colour in ("green", "yellow", "red"):
                row[f"wred_{colour}_enable"] = "true"
                row[f"{colour}_min_threshold"] = str(min_kb * 1000)
                row[f"{colour}_max_threshold"] = str(max_kb * 1000)
                row[f"{colour}_drop_probability"] = str(percent)
            return row
    raise ValueError(f"the lossless profile has no ECN thresholds for {speed_gbps} Gb/s")


def _schedule(ports: tuple[tuple[str, int], ...], lossless: Lossless) -> Iterator[tuple[str, Row]]:
    plain: Row = {"scheduler": "scheduler.default"}
    strict: Row = {"scheduler": "scheduler.cnp"}
    for name, speed in ports:
        marked: Row = {"scheduler": "scheduler.lossless", "wred_profile": _wred(speed)}
        for queue in QUEUES:
            row = marked if queue in lossless.pfc_priorities else strict if queue == lossless.cnp_priority else plain
            yield f"{name}|{queue}", row


def _watch(ports: tuple[tuple[str, int], ...], lossless: Lossless) -> Table:
    detect_ms, restore_ms = lossless.watchdog_detect_ms, lossless.watchdog_restore_ms
    row: Row = {
        "action": lossless.watchdog_action,
        "detection_time": str(detect_ms),
        "restoration_time": str(restore_ms),
    }
    # Twice in the shorter time, so that no storm is missed between two polls; sonic-pfcwd.yang allows 100 to 1000 ms.
    poll_ms = min(1000, max(100, min(detect_ms, restore_ms) // 2))
    return {"GLOBAL": {"POLL_INTERVAL": str(poll_ms)}, **{name: row for name, _ in ports}}


def tabulate_buffers(names: Iterable[str], lossless: Lossless, support: SonicSupport) -> Config:
    """Return the buffer tables for all ports, cabled or not: the image takes back what idle ones reserve.

    Spectrum's image computes headroom and most pools itself from speed, cable length and MTU (the dynamic model): a lossless
    group's profile is `NULL`. The one pool with a size is egress_lossless_pool. Ingress is where lossless packets are paused,
    so on egress they may fill the whole buffer; without a size buffer_pool_mellanox.lua would give it half of what is left.

    Elsewhere (the traditional model) sizes are the SKU's. Lossless groups are not written: buffermgrd makes them from
    pg_profile_lookup.ini for every port with `pfc_enable`, a speed and a row in CABLE_LENGTH.

    Raises:
        ValueError: the catalogue has no buffers for the model; ROC013 says so before.
    """
    if support.buffers is None:
        raise ValueError(f"{support.hwsku} has no `sonic.buffers:` in its catalogue file")
    dynamic = has_dynamic_buffers(support)
    names = tuple(names)
    groups: Table = {}
    queues: Table = {}
    lossy: Row = {"profile": "ingress_lossy_profile"}
    computed: Row = {"profile": "NULL"}
    kept: Row = {"profile": "egress_lossless_profile"}
    dropped: Row = {"profile": "q_lossy_profile" if dynamic else "egress_lossy_profile"}
    for name in names:
        groups[f"{name}|0"] = lossy
        for priority in lossless.pfc_priorities if dynamic else ():
            groups[f"{name}|{priority}"] = computed
        for span, no_drop in _spans(lossless):
            queues[f"{name}|{span}"] = kept if no_drop else dropped
    own = {name: {field: str(value) for field, value in row.items()} for name, row in support.buffers.pools.items()}
    config: Config = {"BUFFER_PG": groups, "BUFFER_QUEUE": queues}
    if not dynamic:
        config["BUFFER_POOL"] = dict(own)
        config["BUFFER_PROFILE"] = {
            name: {field: str(value) for field, value in row.items()} for name, row in support.buffers.profiles.items()
        }
        return config
    pools = {f"{side}_{kind}_pool": {"type": side, "mode": "dynamic"} for side in SIDES for kind in KINDS}
    ingress: Row = {"profile_list": "ingress_lossless_profile,ingress_lossy_profile"}
    egress: Row = {"profile_list": "egress_lossless_profile,egress_lossy_profile"}
    return config | {
        "BUFFER_POOL": {name: row | own.get(name, {}) for name, row in pools.items()},
        "BUFFER_PROFILE": {
            "ingress_lossless_profile": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "7"},
            "ingress_lossy_profile": {"pool": "ingress_lossy_pool", "size": "0", "dynamic_th": "3"},
            "egress_lossless_profile": {"pool": "egress_lossless_pool", "size": "0", "dynamic_th": "7"},
            "egress_lossy_profile": {"pool": "egress_lossy_pool", "size": "9216", "dynamic_th": "7"},
            "q_lossy_profile": {"pool": "egress_lossy_pool", "size": "0", "dynamic_th": "3"},
        },
        "BUFFER_PORT_INGRESS_PROFILE_LIST": dict.fromkeys(names, ingress),
        "BUFFER_PORT_EGRESS_PROFILE_LIST": dict.fromkeys(names, egress),
        "DEFAULT_LOSSLESS_BUFFER_PARAMETER": {"AZURE": {"default_dynamic_th": "0"}},
        "LOSSLESS_TRAFFIC_PATTERN": {"AZURE": {"mtu": "1024", "small_packet_percentage": "50"}},
    }


def tabulate_cables(lengths: Mapping[str, int], support: SonicSupport) -> Config:
    """Return CABLE_LENGTH from metres by port name; where headroom is looked up, each at the next length that the SKU knows.

    buffermgrd compares the text as it is, and a length that pg_profile_lookup.ini lacks gets no lossless group at all.
    """
    known = sorted(support.buffers.cable_lengths_m) if support.buffers else []
    rows: dict[str, str] = {}
    for name, length_m in lengths.items():
        longer = [each for each in known if each >= length_m]
        rows[name] = f"{longer[0] if longer else known[-1] if known else length_m}m"
    # AZURE: the one name that the image's own tools look for.
    return {"CABLE_LENGTH": {"AZURE": rows}}


def has_dynamic_buffers(support: SonicSupport) -> bool:
    """Return whether the image computes headroom and pools itself (`buffer_model: dynamic`)."""
    return support.asic == "mellanox"


def _spans(lossless: Lossless) -> Iterator[tuple[str, bool]]:
    """Yield runs of queues of one kind as `0-2`, with whether they are lossless."""
    start = 0
    for queue in QUEUES:
        no_drop = queue in lossless.pfc_priorities
        if queue == QUEUES[-1] or (queue + 1 in lossless.pfc_priorities) != no_drop:
            yield (str(queue) if start == queue else f"{start}-{queue}"), no_drop
            start = queue + 1
