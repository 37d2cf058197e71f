"""Manuals of what reading gear finds (VER)."""

from __future__ import annotations

from cluster_model.intent.manual import Entry

MANUALS: dict[str, Entry] = {
    "VER001": Entry(
        "two cables exchanged",
        "Each of two cables leads to where the other belongs. Nothing is lost and nothing is dark, so lights do not show it: "
        "traffic takes a wrong rail, or addresses that never answer.",
        "Exchange the two plugs that the finding names, at the rack that it names. Both ends of every cable carry its label.",
    ),
    "VER002": Entry(
        "three or more cables exchanged in a ring",
        "Cables lead to each other's places in a ring. The finding lists each plug with the port that it belongs in.",
        "Unplug all of them at that device, then plug each where the list says. They are right only when all are.",
    ),
    "VER003": Entry(
        "network card on another rail's or plane's leaf",
        "In a rail-optimized fabric the n-th network card of every server hangs on the leaf of rail n. One that does not makes "
        "every collective operation of its rail cross the spines, and in a plane of its own it is not reached at all.",
        "Move the plug to the port that the finding names.",
    ),
    "VER004": Entry(
        "right device, wrong port",
        "The cable ends at the planned device in another port, whose address, VLAN, speed or VRF are for something else.",
        "Move the plug to the port that the finding names.",
    ),
    "VER005": Entry(
        "wrong device",
        "The cable ends at a device that it should not reach.",
        "Move the plug to the port that the finding names. Where the far end does not tell who it is, follow the cable by its "
        "label.",
    ),
    "VER006": Entry(
        "no light",
        "The cable is planned, and its port has no carrier: not plugged in, a broken cable or transceiver, a dirty or wrongly "
        "mated connector, the wrong speed or FEC on one side, or a port that is shut down.",
        "Look at both ends. Where the port is shut down, enable it; else seat, clean, then exchange the parts.",
    ),
    "VER007": Entry(
        "device dark on all its cables",
        "It does not answer, and none of its data cables has light at the other end: it is switched off, without power, or "
        "nothing is plugged in. One finding stands for all its cables. Whether its BMC has link says whether power reaches it.",
        "Switch it on, or look at its feeds, and run verify again.",
    ),
    "VER008": Entry(
        "neighbour that the plan does not know",
        "A planned port hears a device whose name and MAC addresses are not in the plan.",
        "Unplug it, or give the device its planned name; where it is a server that was replaced, correct its MAC addresses in "
        "the facts.",
    ),
    "VER009": Entry(
        "link that nobody planned",
        "A port that the plan leaves empty leads to something.",
        "Unplug it, or plan it.",
    ),
    "VER010": Entry(
        "speed below plan",
        "The link came up slower than planned: a wrong transceiver or breakout, or lanes that failed.",
        "Compare the transceivers with the cable list, and the port's breakout mode with its configuration.",
    ),
    "VER011": Entry(
        "FEC other than planned",
        "Both ends of a link run the same forward error correction, and its medium says which: lanes of 50 Gb/s and more (PAM4) "
        "have no link without Reed-Solomon, 100GBASE-SR4 and -CR4 need it too, 100GBASE-LR4 has none. Less than planned is an "
        "error, since such a link drops frames or does not come up after the next restart; more is a warning.",
        "Set the planned FEC on both ends, or correct what the medium needs in your own catalogue's media.yaml (`fec`).",
    ),
    "VER012": Entry(
        "ends that contradict each other",
        "One end hears a port that hears another one. The two fibres of a link go to different places (polarity), or something "
        "between repeats what it heard.",
        "Check the polarity of the trunk or patch; run verify again after two minutes, since neighbours are forgotten after "
        "that.",
    ),
    "VER013": Entry(
        "links that nothing identifies",
        "The port has light, but the far end speaks no LLDP, and no known MAC address was seen behind it. BMCs and PDUs are "
        "like that until the facts have their MAC addresses and they have sent something. Not counted as a difference.",
        "Fill in the MAC addresses in the facts; start lldpd on hosts (`lldpcli -f json0 show neighbors` needs root).",
    ),
    "VER014": Entry(
        "port that is not there",
        "The device answered, and has no port of the planned name: a breakout that is not configured, a network card that is "
        "missing, in another slot or named otherwise.",
        "On a switch, load the rendered configuration; on a server, compare its cards with the plan (`gpuyard show`).",
    ),
    "VER020": Entry(
        "device not reached",
        "It could not be logged in to, or did not answer in time, so only the other ends of its cables were looked at. The exit"
        " code is 3.",
        "The reason stands in the finding. See docs/verify.md for users, keys and jump hosts.",
    ),
    "VER021": Entry(
        "something that a device would not tell",
        "A command failed, or its answer was not understood, so what depends on it was not compared.",
        "Run the command by hand on the device. lldpcli and vtysh need root or sudo without a password.",
    ),
    "VER022": Entry(
        "another device answers",
        "At the planned management address answers a device that calls itself by the name of another one of the plan. What it "
        "said was left out.",
        "Look at its management cable and address, or correct its host name.",
    ),
    "VER030": Entry(
        "BGP session that is not established",
        "The session is planned and configured, and not up, or the switch does not know of it. Sessions whose cable is found "
        "faulty or that lead to a device that is off have the same cause: mend that first (`gpuyard verify cabling`).",
        "Compare address, ASN and MTU of both sides; the state says how far it came.",
    ),
    "VER031": Entry(
        "AS number other than planned",
        "A switch or its neighbour speaks with another AS number. Paths then look longer or are dropped as loops.",
        "Load the rendered configuration onto the switch that the finding names.",
    ),
    "VER032": Entry(
        "MTU other than planned",
        "Sessions come up with small packets, and large ones vanish: both sides of a link, and all of a path, need what is "
        "planned.",
        "Load the rendered configuration, or set the MTU of the port.",
    ),
    "VER033": Entry(
        "fewer ways than planned",
        "A switch should reach a prefix over so many links at once, and uses fewer (or more). The missing ways are bandwidth "
        "that is paid for and not used. Sampled: a leaf of every unit, asked from every switch.",
        "Look for sessions that are down first; then at maximum-paths and at prefixes that a switch does not announce.",
    ),
    "VER034": Entry(
        "lossless priorities other than planned",
        "A port pauses other priorities than the plan says, or none. Both sides and the hosts must agree.",
        "Load the rendered configuration onto the switch.",
    ),
    "VER035": Entry(
        "PFC watchdog off, or storms seen",
        "Without the watchdog one network card that pauses for ever stops the fabric. A storm that it saw is a card or host to "
        "look at.",
        "Switch the watchdog on (load the rendered configuration); for a storm, look at the server on that port.",
    ),
    "VER036": Entry(
        "pauses for a priority that is not lossless",
        "The far side sends pause frames for a priority that the plan does not make lossless: its own map is another one.",
        "Correct the far side's PFC and trust settings.",
    ),
    "VER037": Entry(
        "EVPN not negotiated",
        "The session is up, and the EVPN address family is not active on it, so tenants' routes are not exchanged.",
        "Load the rendered configuration onto both switches.",
    ),
    "VER038": Entry(
        "node that does not tell its leafs of its pods",
        "With pod_routing: bgp each node of Kubernetes opens a session with each of its leafs, and says by it which pods are its "
        "own. Through a leaf that does not hear so nobody reaches them; without any, they are cut off from other nodes. It is a "
        "warning, since nodes are silent until Kubernetes runs on them. Nodes that are silent in the same way are one finding.",
        "Install Kubernetes on the nodes (docs/kubernetes.md); where it runs, look at its network plug-in's agent on the node. "
        "Where the leaf does not know the session, load its rendered configuration.",
    ),
}
