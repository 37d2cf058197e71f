"""Hardware as the catalogue knows it.

Files keep the field names of NetBox's device-type library; what NetBox has no field for stands under `gpuyard:`.
Every group of numbers there carries `source:`, and `confirmed: false` where the number was not read in the maker's own text.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

Technology = Literal["ethernet", "infiniband"]
FormFactor = Literal["rj45", "sfp28", "sfp56", "qsfp28", "qsfp56", "qsfp112", "qsfp-dd", "osfp"]
Network = Literal["compute", "storage", "business", "oob", "bmc", "unused"]


class Strict(BaseModel):
    """Frozen, unknown keys refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Sourced(Strict):
    """A group of numbers with where they come from."""

    source: Annotated[str, Field(min_length=5)]
    """Document and section, or the derivation."""
    confirmed: bool = True
    """False: not read in the maker's own text; override it in your own catalogue file if it matters."""


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


class Server(Strict):
    """The `gpuyard:` block of a server."""

    kind: Literal["server"]
    power: Power
    gpus: GpuBoard | None = None
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


Fec = Literal["none", "fc", "rs-528", "rs-544"]
"""Forward error correction: BASE-R (Fire code, IEEE 802.3 clause 74), or Reed-Solomon with codewords of 528 symbols (clause 91,
NRZ lanes) or 544 (PAM4 lanes)."""


class Transceiver(Sourced):
    """An optical module: fills one cage, offers `modes`, and meets the same `standard` at the far end."""

    form_factor: FormFactor
    modes: Annotated[list[Annotated[str, Field(pattern=r"^[0-9]+x[0-9]+$")]], Field(min_length=1)]
    """Cage modes it can run."""
    standard: str
    """Optical standard of one port, e.g. `400g-dr4`; both ends must have the same."""
    fibre: Literal["mmf", "smf"]
    reach_m: float
    power_w: float
    """Highest draw of the whole module, W."""
    technology: Annotated[list[Technology], Field(min_length=1)]


class CableEnd(Strict):
    """One end of an attached cable."""

    form_factor: FormFactor
    mode: Annotated[str, Field(pattern=r"^[0-9]+x[0-9]+$")]
    """Mode of the cage it fills."""


class CableType(Sourced):
    """A cable with its ends attached: DAC, AOC or twisted pair. Several `b` ends make it a splitter of as many cables."""

    kind: Literal["dac", "aoc", "rj45"]
    a: CableEnd
    b: CableEnd
    reach_m: float
    power_w: float = 0.0
    """Draw of one end, W."""
    technology: Annotated[list[Technology], Field(min_length=1)]


class MediumFec(Sourced):
    """Forward error correction that links over some media need; both ends must run the same."""

    media: Annotated[list[str], Field(min_length=1)]
    """Standards of transceivers, and names of cables."""
    fec: Fec


class Media(Strict):
    """All that joins two cages."""

    lengths_m: list[float]
    """Lengths that fibre and copper are ordered in, ascending."""
    lengths_source: str = ""
    """Where the lengths come from."""
    transceivers: dict[str, Transceiver]
    cables: dict[str, CableType]
    fec: list[MediumFec] = Field(default_factory=list)
    """Of rows that name the same medium, the last one holds."""

    def fec_of(self, medium: str) -> str:
        """Return what a medium needs; empty where the catalogue does not say."""
        return next((row.fec for row in reversed(self.fec) if medium in row.media), "")


class Features(Strict):
    """What a network operating system can do; absent means it cannot. docs/feature-matrix.md is made of these sentences."""

    bgp_unnumbered: bool = False
    """BGP over link-local addresses, IPv4 routes with IPv6 next hops (RFC 8950)."""
    bfd: bool = False
    """BFD on the fabric's sessions: a dead way is left in 1.5 s instead of the hold time's 9 s."""
    ecmp: bool = False
    """Equal-cost paths over neighbours with different AS paths, 64 or more."""
    pfc: bool = False
    """Priority flow control (IEEE 802.1Qbb) by priority and port."""
    ecn: bool = False
    """ECN marking between two thresholds by queue."""
    pfc_watchdog: bool = False
    """A queue that is paused without end is taken out of service."""
    pfc_watchdog_forward: bool = False
    """The watchdog can let such a queue go on sending (`action: forward`) instead of dropping it."""
    vxlan_evpn: bool = False
    """VXLAN tunnels with EVPN: L2 and L3 VNIs, anycast gateways, type 5 routes."""
    evpn_multihoming: bool = False
    """Ethernet segments on bonds of a leaf pair (RFC 7432), in the release that the templates are written for."""
    segment_filters: bool = False
    """Forwarding keeps to Ethernet segments: split horizon, and one designated forwarder."""
    mlag: bool = False
    """Bonds of a leaf pair that speaks over a peer link."""
    dhcp_relay: bool = False
    """DHCP relay, in a tenant's VRF too."""
    mgmt_vrf: bool = False
    """A management port in a routing table of its own."""
    snmp: bool = False
    """SNMP for the site's managers, and for nobody else."""
    gnmi: bool = False
    """Telemetry by gNMI. For information: nothing is rendered for it."""
    lldp: bool = False
    """LLDP on every port, which `gpuyard verify cabling` reads."""
    dynamic_load_balancing: bool = False
    """A flow moves to a less loaded path between two bursts (`load_balancing: dynamic`)."""
    adaptive_routing: bool = False
    """Each packet takes the least loaded path (`load_balancing: adaptive`)."""
    breakout: bool = False
    """Cages split into several ports."""
    nat: bool = False
    """Source NAT per VRF, with the same inside addresses in two of them."""

    def has(self, name: str) -> bool:
        """Return whether a feature is there, by its name."""
        return bool(getattr(self, name))


Reader = Literal["linux", "sonic", "eos", "ibnetdiscover"]
"""How a system is asked and its answers are parsed (READERS of verify/read/device.py); `ibnetdiscover` reads a whole subnet."""


class Ztp(Strict):
    """How a switch without a configuration is told of its own, by DHCP, and fetches it from the boot server."""

    option: Literal["provisioning-script-url", "boot-file-name"]
    """DHCP option that names the file: 239 or 67."""
    file: str
    """What is fetched first: one of the switch's own files, or NAME.sh, which is rendered from `ztp.sh.j2` in the same folder."""
    serial_header: str
    """HTTP header in which it tells its serial number, in lower case."""


class Platform(Strict):
    """A network operating system: templates/switch/<nos>/platform.yml."""

    name: str
    """Its name as people say it."""
    description: str = ""
    port_native: str
    """Port name of a cage in its native mode; {cage}, {lane}, {slash_lane}, {sub0}, {sub1}.

    {slash_lane} is `/` with the port's first lane in its cage, from 1, and empty where cages have a single lane.
    """
    port_split: str
    """Port name of a split cage's port."""
    netmiko: str | None = None
    """netmiko device type of its network CLI or shell."""
    reader: Reader | None = None
    """How it is read; without one `gpuyard verify` refuses it by name."""
    ztp: Ztp | None = None
    """Zero touch provisioning; without it somebody puts the first configuration on the switch by hand."""
    mtu_bytes: int
    """Largest MTU it accepts on a routed port."""
    vrf_name_length: int = 15
    """Longest VRF name, `vrf_prefix` included."""
    reserved_vlans: list[tuple[int, int]] = []
    """VLANs that it keeps for itself, as ranges with both ends."""
    vrf_prefix: str = ""
    """What its VRF names must begin with."""
    vlan_name: str = "vlan{id}"
    """Interface of a VLAN."""
    bond_name: str = "bond{number}"
    """Interface of a bond."""
    release: str = ""
    """Release that this file is written for; an intent may name another."""
    since: dict[str, str] = {}
    """Features that came with a release, by the first that has them; `features` says what `release` has."""
    mended: dict[str, str] = {}
    """Faults that design rules warn of, each with the first release without it."""
    runs_on: list[str] = []
    """Switch models that it runs on, beside those whose catalogue files name it under `systems`."""
    rendered: bool = True
    """Whether main.j2 exists: configs can be rendered."""
    features: Features
    """What it can do; the design rules ask here."""
    resolvers: int = 0
    """DNS servers that it takes; 0: no limit known."""
    time_servers: int = 0
    """NTP servers that it takes; 0: no limit known."""
    validated: list[str] = []
    """What of the rendered files is checked, and by what; sentences."""
    not_validated: list[str] = []
    """What is not checked; sentences."""
    default_dscp_lossless: bool = False
    """Whether the untouched default map already sends DSCP 26 to class 3."""
    source: str

    def vrf(self, name: str) -> str:
        """Return a VRF's name as the system spells it."""
        return self.vrf_prefix + name

    def vlan(self, number: int) -> str:
        """Return the interface of a VLAN."""
        return self.vlan_name.format(id=number)

    def bond(self, number: int) -> str:
        """Return the interface of a bond."""
        return self.bond_name.format(number=number)
