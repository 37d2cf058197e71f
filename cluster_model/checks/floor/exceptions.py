"""Rules about cables that were built differently (`cables.exceptions`): part of the CAB family. The planner finds them."""

from __future__ import annotations

from cluster_model.checks.registry import Rule


class ExceptionUnknown(Rule):
    """Name ends that exist in `cables.exceptions`.

    What it checks:
        `cable` is the label of a planned cable, which names its end nearer the hosts; `to` is a port of a switch of the same role
        and network as the planned one.

    Why it matters:
        An exception that means no cable moves none, and what was built stays unsaid.

    How to fix:
        Take the label from the cable or from cabling/cables.csv, and the port as the switch's NOS spells it.

    Source:
        Columns `label`, `b_device` and `b_port` of cabling/cables.csv.
    """

    id, title, stage = "CAB007", "cable exception that names no cable or no port", "plan"


class ExceptionRefused(Rule):
    """Move cables only to ports that can take them.

    What it checks:
        The new port runs at the cable's speed, or its cage is free and can. No other planned cable has it, one of servers that
        are planned and not built included, unless an exception moves that one too; and it is no uplink. A host's cable stays in
        its plane, an uplink in its pod, a bond on the leafs of its unit, an out-of-band port on its leaf, and any cable on its
        leaf where no spine joins the leafs.

    Why it matters:
        Two cables do not fit in one port, and growth would need a port that is gone. Beyond those switches nothing routes to the
        addresses that the cable's near end has.

    How to fix:
        Name the free port that the finding offers, add an exception of the cable that is in the way, or re-patch the cable.

    Source:
        Addresses are cut by plane, rail, unit and leaf: docs/how-the-plan-decides.md.
    """

    id, title, stage = "CAB008", "cable exception to a port that cannot take it", "plan"


class ExceptionIdle(Rule):
    """Drop exceptions that say what the plan says.

    What it checks:
        `to` is another port than the planned one.

    Why it matters:
        The reason beside it is no longer true: somebody re-patched the cable, or the plan changed. Kept, it would hold the cable
        where the plan may one day move it from.

    How to fix:
        Take the exception away.

    Source:
        Comparison with the plan as it is without `cables.exceptions`.
    """

    id, severity, title, stage = "CAB009", "warning", "cable exception that changes nothing", "plan"
