"""Manuals of what hosts tell of themselves (HST)."""

from __future__ import annotations

from cluster_model.intent.manual import Entry

_NETWORK = "Run playbooks/network.yml for the host: it says what it would change with --check."

MANUALS: dict[str, Entry] = {
    "HST001": Entry(
        "host was not read",
        "Nobody answers a login at the planned address, the login is refused, or the host has no python3. The others were read.",
        "gpuyard bmc power CLUSTER status tells whether it is on, gpuyard verify cabling whether its cables are right.",
    ),
    "HST002": Entry(
        "another name",
        "The host that answers at the planned address calls itself otherwise.",
        "See by the serial number whether two machines were exchanged; else set the name with playbooks/base.yml.",
    ),
    "HST003": Entry(
        "another serial number",
        "The machine at this address is not the one that the list of servers puts there.",
        "Correct the list where the machine was replaced (gpuyard bmc inventory --write --replace); else exchange the machines.",
    ),
    "HST004": Entry(
        "another model",
        "The board's own name of its model is not that of the intent.",
        "Correct servers.GROUP.model, or the name of the model in your own catalogue file.",
    ),
    "HST005": Entry(
        "network port missing or another card",
        "A planned port has no counterpart of its name, or one with another MAC address than the list of servers has.",
        "Where its MAC is on a port of another name, playbooks/network.yml names it. Else see whether the card is seated, or "
        "correct the list.",
    ),
    "HST006": Entry(
        "port without link, or below its speed",
        "There is no link, or one of a lower speed: no cable, a cable for less, a divided port, a switch port set otherwise.",
        "Compare both ends with cables.csv; gpuyard verify cabling tells what the switch sees.",
    ),
    "HST007": Entry(
        "another MTU", "Frames of the planned size are lost here, while small ones pass: it shows as a hang.", _NETWORK
    ),
    "HST008": Entry(
        "card in another place",
        "The PCI address or NUMA node of a card or GPU is not the planned one. NCCL "
        "pairs GPUs and cards by distance, so traffic crosses sockets.",
        "Move the card to its slot, or correct the catalogue's file of the server.",
    ),
    "HST009": Entry(
        "another RDMA name",
        "NCCL's configuration names RDMA devices; one of another name is not used, or used for another rail.",
        "Let udev name RDMA devices by PCI address (rdma-core's 60-rdma-persistent-naming.rules), then restart.",
    ),
    "HST010": Entry(
        "PCIe link below its best",
        "A card that trained to fewer lanes or a lower generation has a fraction of its bandwidth.",
        "Reseat it; look for a riser, and for AER errors in the kernel's log. Some cards rest at a lower speed without load.",
    ),
    "HST011": Entry("address missing", "The planned address is not on its port.", _NETWORK),
    "HST012": Entry(
        "rail without a routing table",
        "Every rail answers by its own table, chosen by the source address; without it answers leave by whichever port is first.",
        _NETWORK,
    ),
    "HST013": Entry(
        "GPUs missing, or of another model",
        "The driver sees fewer GPUs than the server has: one fell off the bus, or no driver runs. Only NVIDIA's are counted.",
        "Read the kernel's log for XID 79; drain the host and cut its power once. More than planned: correct the model.",
    ),
    "HST014": Entry(
        "another driver",
        "The driver's branch is not the intent's gpu.driver, or the loaded module is older than its library after an upgrade.",
        "Run playbooks/driver.yml, then playbooks/reboot.yml.",
    ),
    "HST015": Entry(
        "GPU may draw more than planned",
        "The power limit is above the plan's cap, so a rack may draw more than its feeds carry.",
        "Run playbooks/power.yml.",
    ),
    "HST016": Entry(
        "services may lock too little memory",
        "RDMA registers memory that must not be swapped; services started by systemd have systemd's own limit.",
        "Run playbooks/base.yml, which sets DefaultLimitMEMLOCK=infinity; it takes effect for services that start after it.",
    ),
    "HST017": Entry(
        "clock not set",
        "Nobody sets the clock, or it differs from its server's or from that of this machine. "
        "Clocks that differ break Ceph, Kerberos, munge and everybody who reads two logs.",
        "Run playbooks/base.yml, and see whether the host reaches the site's time servers.",
    ),
    "HST018": Entry(
        "port in another bond",
        "A business port is outside its bond, or a port in one that is not planned: half the bandwidth, no way round a fault.",
        _NETWORK,
    ),
    "HST019": Entry(
        "another firmware than most",
        "A card's firmware is not what most cards of its model have in this sweep. The plan has no firmware: hosts are compared.",
        "Bring all cards of a model to one version with the maker's tool, in a maintenance window; a reboot is needed.",
    ),
    "HST020": Entry(
        "range not reached over all ways",
        "Addresses of services, and with Kubernetes other hosts' ports and pods that leafs know, are reached over all leafs. "
        "A host without the route does not reach them, or by its default route; one with fewer ways has less bandwidth, and is "
        "cut off with the next link.",
        _NETWORK,
    ),
}
