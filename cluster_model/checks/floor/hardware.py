"""Manuals of what the planner finds about hardware: the HWR family."""

from __future__ import annotations

from cluster_model.checks.registry import Rule


class UnknownModel(Rule):
    """Name only hardware that the catalogue knows.

    What it checks:
        Every `model`, `leaf`, `spine`, `core` and `pdu` of the intent is a file of the catalogue, ours or your own.

    Why it matters:
        Ports, rack units, power and cable types all come from the catalogue. A guess at any of them is found out when the
        boxes stand in the hall.

    How to fix:
        Take a name from `gpuyard catalogue`, or add one file as docs/add-a-server.md or docs/add-a-switch-vendor.md says.

    Source:
        The catalogue, cluster_model/catalogue/data.
    """

    id, title, stage = "HWR001", "model not in the catalogue", "plan"


class WrongKind(Rule):
    """Put every model to the use that it was made for.

    What it checks:
        A server stands where a server is wanted and a switch where a switch is, and both speak the technology of the network
        that they serve.

    Why it matters:
        An Ethernet switch ordered for an InfiniBand network does not link up at all, and goes back to the vendor.

    How to fix:
        Choose another model, or change the network's `technology`. `gpuyard catalogue MODEL` tells what a model speaks.

    Source:
        `technology` and `kind` in the catalogue file of the model.
    """

    id, title, stage = "HWR002", "model of the wrong kind for its use", "plan"


class UnknownNicPort(Rule):
    """Name only ports that the server has.

    What it checks:
        Every port listed under `servers.GROUP.nics` is a port of the group's model, stands once, and shares its cage only with
        ports of the same network.

    Why it matters:
        A port that does not exist cannot be cabled; its leaf port stays empty and the server has one link less than planned. A
        cage takes one transceiver, which cannot serve two networks of different speed or technology.

    How to fix:
        Take the names from `gpuyard catalogue MODEL`.

    Source:
        `network.ports` in the catalogue file of the model.
    """

    id, title, stage = "HWR003", "NIC port that the server does not have, or has given away", "plan"
