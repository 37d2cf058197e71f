"""Policies: the lossless profile, GPU power, and the vendors' fact files."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cluster_model.intent.base import FileName, Model

Dscp = Annotated[int, Field(ge=0, le=63)]
Priority = Annotated[int, Field(ge=0, le=7)]


class Ecn(Model):
    """WRED/ECN marking on the lossless queue of one port speed."""

    min_kb: Annotated[int, Field(ge=1, le=100_000)]
    """Queue depth where marking begins, in kB (1000 bytes)."""
    max_kb: Annotated[int, Field(ge=1, le=100_000)]
    """Queue depth where marking reaches `probability_percent`, in kB (1000 bytes)."""
    probability_percent: Annotated[int, Field(ge=1, le=100)] = 100
    """Chance of marking at `max_kb`."""


class Marking(Model):
    """ECN marking at every port speed, as the time that a queue takes to drain: what is right at 100 Gb/s is right at 800."""

    min_us: Annotated[float, Field(ge=0.1, le=1000)] = 12
    """Queueing delay where marking begins, in microseconds; 12 are 150 kB at 100 Gb/s."""
    max_us: Annotated[float, Field(ge=0.1, le=10_000)] = 120
    """Queueing delay where marking reaches `probability_percent`, in microseconds; 120 are 1500 kB at 100 Gb/s."""
    probability_percent: Annotated[int, Field(ge=1, le=100)] = 100
    """Chance of marking at `max_us`."""


class Watchdog(Model):
    """PFC storm watchdog."""

    enabled: bool = True
    """Off invites a fabric-wide deadlock."""
    detect_ms: Annotated[int, Field(ge=100, le=5000)] = 400
    """Pause that counts as a storm."""
    restore_ms: Annotated[int, Field(ge=100, le=60_000)] = 400
    """Quiet time before the queue is lossless again."""
    action: Literal["drop", "forward"] = "drop"
    """What happens to the queue meanwhile."""


class Lossless(Model):
    """The lossless profile: said once, rendered into every switch and host of the RoCE networks."""

    data_dscp: Dscp = 26
    """DSCP of RoCE data."""
    cnp_dscp: Dscp = 48
    """DSCP of congestion notification packets."""
    priority: Priority = 3
    """Priority, traffic class and queue of RoCE data: the only lossless one."""
    cnp_priority: Priority = 6
    """Priority, traffic class and queue of CNPs: strict, and lossy."""
    trust: Literal["dscp"] = "dscp"
    """What ports classify by. Routed fabrics carry no 802.1p."""
    pfc_priorities: list[Priority] | None = None
    """Priorities with PFC; default: `priority` alone."""
    marking: Marking = Marking()
    """ECN marking at every port speed."""
    ecn: dict[Annotated[int, Field(ge=1, le=1600)], Ecn] = {}
    """Thresholds by port speed in Gb/s, where they shall not follow `marking`."""
    watchdog: Watchdog = Watchdog()
    """PFC storm watchdog."""
    mtu_bytes: Annotated[int, Field(ge=1280, le=9600)] = 9100
    """MTU of switch ports."""
    host_mtu_bytes: Annotated[int, Field(ge=1280, le=9600)] = 9000
    """MTU of host interfaces on compute and storage networks; RoCE's own 4096 bytes fit."""


class GpuPower(Model):
    """Power policy of GPUs."""

    on_feed_loss: Literal["cap", "always-cap", "shed"] = "cap"
    """With a feed lost: cap the GPUs at once, run capped always, or accept that servers throttle or drop."""


class Gpu(Model):
    """GPU policy."""

    driver: Annotated[str, Field(pattern=r"^[0-9]{3}$")] = "580"
    """Driver branch."""
    power: GpuPower = GpuPower()
    """Power policy."""


class Facts(Model):
    """CSV files with what the vendor delivers, beside the intent. Columns: docs/facts-csv.md."""

    servers: FileName | None = None
    """name, serial, bmc_mac, system_disks, and mac.PORT or guid.PORT columns."""
    switches: FileName | None = None
    """name, serial, mgmt_mac, guid."""
    pdus: FileName | None = None
    """name, serial, mac."""
