"""Hardware as the catalogue knows it.

Files keep the field names of NetBox's device-type library; what NetBox has no field for stands under `gpuyard:`.
Every group of numbers there carries `source:`, and `confirmed: false` where the number was not read in the maker's own text.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from cluster_model.catalogue.ground import FormFactor, Sourced, Strict, Technology

Network = Literal["compute", "storage", "business", "oob", "bmc", "unused"]


class Power(Sourced):
    """Power of a device. `maximum_w` is without optics, never typical."""

    maximum_w: Annotated[float, Field(gt=0)]
    """Highest draw at the inlet, W, optics not included."""
    psu_count: Annotated[int, Field(ge=1, le=12)] = 2
    """Power supplies."""
    psu_w: Annotated[float, Field(gt=0)] | None = None
    """Output of one power supply, W; default: one alone carries the device."""
    psu_minimum: Annotated[int, Field(ge=1, le=12)] | None = None
    """Supplies without which it does not start."""


class Mode(Strict):
    """A way to run a cage: `count` ports of `speed_gbps` each."""

    count: int
    speed_gbps: int


class CageGroup(Sourced):
    """Consecutive cages of one kind on a switch. A cage takes one transceiver and runs in one mode."""

    first: Annotated[int, Field(ge=1)] = 1
    """Number on the front panel of the first cage."""
    count: Annotated[int, Field(ge=1)] = 1
    """Cages."""
    form_factor: FormFactor
    """Form factor."""
    lanes: Annotated[int, Field(ge=1, le=16)]
    """Electrical lanes per cage."""
    modes: Annotated[list[Annotated[str, Field(pattern=r"^[0-9]+x[0-9]+$")]], Field(min_length=1)]
    """Modes as COUNTxSPEED_GBPS, e.g. `2x400`; the first is the native one."""
    first_lane: Annotated[int, Field(ge=0)] | None = None
    """Number in SONiC's name of the first cage (Ethernet0); the next cage's is `lanes` higher. Default: all lanes before."""
    hardware_first_lane: Annotated[int, Field(ge=0)] | None = None
    """First number in the lanes column of SONiC's port_config.ini; default: `first_lane`."""
    hardware_lane_step: Annotated[int, Field(ge=1)] | None = None
    """Lane numbers from one cage to the next in that column; default: `lanes`."""
    hardware_first_lanes: list[Annotated[int, Field(ge=0)]] = []
    """First number of each cage in that column, where no step leads from one to the next."""
    max_split: bool = True
    """False: splitting these cages takes lanes from a neighbour, so only the native mode is used."""
    for_managers: bool = False
    """True: these cages are for fabric managers alone, beside the chip's own ports, as the FNM port of Quantum-X800."""


class SonicBuffers(Sourced):
    """What of SONiC's buffer tables is a SKU's own; lossless networks need it."""

    pools: dict[str, dict[str, str | int]]
    """Rows of BUFFER_POOL. For Spectrum only egress_lossless_pool, with its size in bytes: the image computes the others."""
    profiles: dict[str, dict[str, str | int]] = {}
    """Rows of BUFFER_PROFILE. None for Spectrum, whose profiles are the same on all of its SKUs."""
    cable_lengths_m: list[int] = []
    """Lengths in pg_profile_lookup.ini, which buffermgrd looks up as they are; none where headroom is computed (Spectrum)."""


class SonicSupport(Sourced):
    """What SONiC needs to know of a switch."""

    hwsku: str
    """Hardware SKU: the folder under device/<vendor>/<platform>/."""
    platform: str
    """Platform string."""
    asic: Literal["mellanox", "broadcom", "barefoot", "vs"]
    """ASIC vendor; some tables are for one of them only."""
    alias: str = "etp{cage}{letter}"
    """Port alias: {cage} front-panel number, {sub} 1-based port in the cage, {letter} a, b, … where split."""
    index_base: int = 1
    """Index of the first cage."""
    buffers: SonicBuffers | None = None
    """Buffer sizes; without them the switch cannot be lossless (ROC013)."""


class Systems(Sourced):
    """Network operating systems that run on a switch, beside SONiC, which has a block of its own."""

    nos: list[Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]]
    """Their names, as the folders of templates/switch/ are called."""


class Vxlan(Sourced):
    """What a switch does with VXLAN in hardware, under the systems that run on it."""

    l2: bool
    """L2 VNIs: subnets bridged between leafs."""
    l3: bool
    """L3 VNIs: routing into tunnels and out of them, by VRF."""


class Asic(Sourced):
    """Forwarding chip."""

    name: str
    """Name."""
    bandwidth_gbps: int
    """Sum of all ports, one direction, Gb/s."""
    mtu_bytes: int = 9216
    """Largest MTU."""
    adaptive_routing_gbps: list[int] = []
    """Port speeds at which it can send each packet by the least loaded path; none where it cannot, or it is not known."""
    dynamic_load_balancing: bool = False
    """Whether it can move a flow to a less loaded path between two bursts; false where it cannot, or it is not known."""
    vxlan: Vxlan | None = None
    """VXLAN in hardware; without it it is not known, and no leaf of a network with EVPN (HWR007)."""
    buffer_mb: float | None = None
    """Packet buffer that ports share, in MB of 1024 x 1024 bytes."""


class Switch(Strict):
    """The `gpuyard:` block of a switch."""

    kind: Literal["switch"]
    technology: Annotated[list[Technology], Field(min_length=1)]
    """What its ports speak."""
    power: Power
    asic: Asic
    cages: Annotated[list[CageGroup], Field(min_length=1)]
    management: bool = True
    """Whether it has an out-of-band port (RJ45)."""
    systems: Systems | None = None
    """What else runs on it; default: not known, and nothing but SONiC is refused."""
    sonic: SonicSupport | None = None
    """Where SONiC runs on it."""
    _cages: Any = PrivateAttr(default=None)


class ServerCage(Strict):
    """A cage of a server: one transceiver, as many ports as list it."""

    number: Annotated[int, Field(ge=1)]
    form_factor: FormFactor
    lanes: Annotated[int, Field(ge=1, le=16)]


class ServerPort(Strict):
    """A network port of a server."""

    name: str
    """Interface name in the OS, e.g. `enp24s0np0`."""
    infiniband_name: str | None = None
    """Interface name where the port speaks InfiniBand, e.g. `ibp24s0`; default: the same."""
    cage: int
    """Cage it lies in."""
    speed_gbps: int
    """Highest speed, Gb/s."""
    speeds_gbps: list[int] = []
    """Lower speeds it also runs at."""
    split: list[Annotated[str, Field(pattern=r"^[0-9]+x[0-9]+$")]] = []
    """Modes that divide this one port, e.g. `2x400` for a twin-plane NIC."""
    network: Network
    """Network it serves unless the intent says otherwise."""
    rail: int | None = None
    """Rail of a compute port, from 0."""
    nic: str
    """NIC model, e.g. `nvidia/connectx-7`."""
    rdma: str | None = None
    """RDMA device, e.g. `mlx5_0`."""
    pci: str | None = None
    """PCI address, e.g. `0000:18:00.0`."""
    gpu: int | None = None
    """GPU under the same PCIe switch, from 0 as nvidia-smi counts."""
    numa: int | None = None
    """NUMA node."""


class GpuBoard(Sourced):
    """GPUs of a server."""

    model: str
    """GPU model, e.g. `nvidia/h100-sxm`."""
    count: Annotated[int, Field(ge=1, le=72)]
    """GPUs."""
    interconnect: Literal["nvswitch", "xgmi", "pcie"] = "pcie"
    """How the GPUs reach each other."""
    nccl_topology: str = ""
    """Topology file on the host that NCCL is given, where it cannot see the PCIe tree itself (virtual machines)."""


class PortMap(Sourced):
    """Ports of a server."""

    technology: Annotated[list[Technology], Field(min_length=1)] = ["ethernet", "infiniband"]
    """What the compute and storage ports can speak."""
    cages: list[ServerCage]
    ports: Annotated[list[ServerPort], Field(min_length=1)]


class Drives(Sourced):
    """Data drives of a storage server."""

    count: int
    """Drives."""
    capacity_tb: float
    """Capacity of one, TB (10^12 bytes)."""
    rotational: bool = False
    """Whether they spin, as Linux and Ceph call it: hard disks do, flash does not."""


class Resources(Sourced):
    """Processors and memory of a server."""

    cores: Annotated[int, Field(ge=1)]
    """Cores of all processors, without hyper-threading."""
    memory_gib: Annotated[int, Field(ge=1)]
    """Memory, GiB (2^30 bytes)."""


class Server(Strict):
    """The `gpuyard:` block of a server."""

    kind: Literal["server"]
    power: Power
    gpus: GpuBoard | None = None
    resources: Resources | None = None
    """Processors and memory; without them no rule says whether they suffice."""
    drives: Drives | None = None
    network: PortMap
    bmc: bool = True
    """Whether it has a BMC with an RJ45 port of its own."""
    firmware: Literal["uefi", "bios"] = "uefi"
    """How its firmware boots an operating system: UEFI, which all server makers ship by default, or BIOS."""


class PduBlock(Sourced):
    """The `gpuyard:` block of a PDU."""

    kind: Literal["pdu"]
    capacity_w: float
    """What it carries after derating, W."""
    zero_u: bool = True
    """Whether it hangs beside the rack units."""


class DeviceType(BaseModel):
    """One device type, NetBox's fields and ours. NetBox fields not used here are allowed and kept out."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True, defer_build=True)

    manufacturer: str
    model: str
    slug: str
    u_height: float = 1.0
    is_full_depth: bool = True
    part_number: str = ""
    gpuyard: Annotated[Switch | Server | PduBlock, Field(discriminator="kind")]


class Gpu(Sourced):
    """A GPU model."""

    name: str
    """Marketing name."""
    vendor: Literal["nvidia", "amd"]
    generation: str
    """Architecture, e.g. `hopper`."""
    nvlink_generation: Annotated[int, Field(ge=0, le=9)] = 0
    """Generation of its NVLink; 0: none."""
    memory_gb: float
    power_max_w: float
    """Default and highest power limit."""
    power_min_w: float
    """Lowest power limit the driver accepts."""


class Nic(Sourced):
    """A NIC model."""

    name: str
    speed_gbps: int
    pcie_gen: int
    technology: Annotated[list[Technology], Field(min_length=1)]
    out_of_order: bool = False
    """Takes the packets of one RoCE flow in any order, which adaptive routing asks of it; false where that is not known."""
