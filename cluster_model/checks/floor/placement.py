"""Manuals of what the planner finds about places in racks: the PLC family."""

from __future__ import annotations

from cluster_model.checks.registry import Rule


class RackGroupFull(Rule):
    """Give every rack group room for all that is planned in it.

    What it checks:
        The rack units of a group hold the servers (`planned` of them) and switches that refer to it.

    Why it matters:
        Devices without a place end in another row, on cables of another length and on power that nobody reserved.

    How to fix:
        Add a row to the group, or racks to one of its rows: as a further number, `[4, 4]`, they move nothing that stands.
        Raise its `height_u` if the racks are taller, lower `planned`, or use another group.

    Source:
        `u_height` of each model in the catalogue; `racks.groups.GROUP.height_u`.
    """

    id, title, stage = "PLC001", "rack group full", "plan"


class PlacesOverlap(Rule):
    """Give every rack unit to one device.

    What it checks:
        No two devices fill the same rack unit once servers put by hand (`place`) stand where they were put.

    Why it matters:
        The second device does not go in; whoever racks it decides on the spot, and the cabling plan is wrong from then on.

    How to fix:
        Change `u` or `rack` of the placement named.

    Source:
        `u_height` of each model in the catalogue.
    """

    id, title, stage = "PLC002", "two devices in the same rack units", "plan"


class PlaceNotUsable(Rule):
    """Put servers by hand only where a server can stand.

    What it checks:
        The rack of a placement exists and is not `blocked`, and the server ends below the rack's usable height.

    Why it matters:
        The place is a pillar, another owner's rack, or the cable tray.

    How to fix:
        Choose another rack or a lower `u`, or mend the exception under `racks.exceptions`.

    Source:
        `racks.exceptions` and `height_u` of the intent.
    """

    id, title, stage = "PLC003", "placed in a blocked rack or above its height", "plan"


class PlaceOutsideGroup(Rule):
    """Keep servers in the racks of their group.

    What it checks:
        A server put by hand stands in a rack of its own group's rack group.

    Why it matters:
        Power and cooling were sized for the group; a stray server takes both from others, and its cables are longer.

    How to fix:
        Choose a rack of the group, or leave it and let the reason given with the placement stand.

    Source:
        `servers.GROUP.racks` of the intent.
    """

    id, severity, title, stage = "PLC004", "warning", "placed in a rack of another group", "plan"


class PlaceOfAnother(Rule):
    """Put servers by hand where nobody stands.

    What it checks:
        No server put by hand (`place`) has rack units that the rule would give to another server.

    Why it matters:
        The other server gives way, and so may those after it: in a cluster that stands they would all have to be carried, with
        their cables and out-of-band addresses. Where nothing is built yet it is harmless.

    How to fix:
        Choose a free place; `gpuyard show CLUSTER RACK` lists what stands in a rack.

    Source:
        Derived from the order in which racks are filled; docs/how-the-plan-decides.md.
    """

    id, severity, title, stage = "PLC007", "warning", "placed where another server would stand", "plan"
