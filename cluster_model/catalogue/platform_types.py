"""Network operating systems as the catalogue knows them: templates/switch/<nos>/platform.yml."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field

from cluster_model.catalogue.ground import Sourced, Strict

ReleaseName = Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)*[A-Z]?$")]


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


def parse_release(text: str) -> tuple[int, ...]:
    """Return the numbers of a release, to compare it by: (4, 36, 0) of 4.36.0F, (202505,) of 202505; none of an empty one."""
    found = re.match(r"[0-9]+(?:\.[0-9]+)*", text)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


class Releases(Sourced):
    """Releases that the templates of a platform are written for; what they would render for another was never looked at."""

    first: ReleaseName
    """The first of them."""
    last: ReleaseName
    """The last, with all that are numbered below it: 5.10 stands for 5.10.1 too, and 10 for 10.5.4."""

    def __str__(self) -> str:
        """Return the range in words."""
        return self.first if self.first == self.last else f"{self.first} to {self.last}"

    def has(self, release: str) -> bool:
        """Return whether a release is among them."""
        numbers, last = parse_release(release), parse_release(self.last)
        return parse_release(self.first) <= numbers and numbers[: len(last)] <= last


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
    reserved_names: list[re.Pattern[str]] = []
    """Names of its own devices and tables, which no VRF can have, as regular expressions of the whole name, in small letters."""
    reserved_vlans: list[tuple[int, int]] = []
    """VLANs that it keeps for itself, as ranges with both ends."""
    vrf_prefix: str = ""
    """What its VRF names must begin with."""
    vlan_name: str = "vlan{id}"
    """Interface of a VLAN."""
    bond_name: str = "bond{number}"
    """Interface of a bond."""
    release: str = ""
    """Release that this file is written for; an intent may name another of `releases`."""
    releases: Releases | None = None
    """Releases that the templates are written for; without it any is taken (NOS016)."""
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
    strict_above_weighted: bool = False
    """Whether a strict queue has to lie above all weighted ones: a weighted queue takes all queues below it with it."""
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
