"""Manuals of what BMCs tell of their machines (BMC)."""

from __future__ import annotations

from cluster_model.intent.manual import Entry

MANUALS: dict[str, Entry] = {
    "BMC001": Entry(
        "BMC was not read",
        "Nobody answers at the planned address, or who answers refuses the login, shows another certificate than before, or "
        "speaks neither Redfish nor IPMI as they are agreed on. The others were read.",
        "gpuyard bmc discover tells whether anybody is there at all. A BMC that was replaced has a new certificate: delete its "
        "line from ~/.local/state/gpuyard/known_bmcs (GPUYARD_KNOWN_BMCS). Old firmware may want bmc.ipmi_cipher: 3.",
    ),
    "BMC002": Entry(
        "two machines exchanged",
        "Each of two machines answers at the other's address: they were mounted in each other's places, or their lines in the "
        "list of servers were exchanged. Names, addresses and disks would go to the wrong machine.",
        "Exchange the machines, or the lines, whichever is wrong; cables stay with the place.",
    ),
    "BMC003": Entry(
        "machine in the wrong place",
        "The serial number of the machine that answers belongs to another server of the list.",
        "Move the machine, or correct the list. Its BMC has the address of the place by its MAC address or by hand: correct that "
        "as well.",
    ),
    "BMC004": Entry(
        "machine that is not in the list",
        "The list has a serial number for this place, and another machine answers, which the list does not have.",
        "Read the label. A machine that was replaced gets its new serial number and MACs into the list: "
        "gpuyard bmc inventory --write --replace does it.",
    ),
    "BMC005": Entry(
        "another MAC address than in the list",
        "A network card or a mainboard was replaced, or the list has a slip. DHCP would not know the machine by it.",
        "Correct the list: gpuyard bmc inventory --write --replace does it for what the BMC tells.",
    ),
    "BMC006": Entry(
        "machine says it is not well",
        "The BMC's own summary of the machine's health is not OK: a fan, a supply, memory or a drive.",
        "Read the BMC's log of events, and exchange the part before the machine is installed.",
    ),
    "BMC007": Entry(
        "BMC says what is no plain text",
        "Serial number, model or another field holds control characters, is longer than any label, reads like a reference to a "
        "secret, or begins as a formula of a spreadsheet does. It is shown with those characters replaced, and such a serial "
        "number is never written into the list of servers.",
        "Read the label of the machine and write the list by hand. Whoever set this had the BMC's password.",
    ),
}
