"""Manuals of what the planner finds while it joins switches: part of the NET family."""

from __future__ import annotations

from cluster_model.checks.registry import Rule


class PortsExhausted(Rule):
    """Let every switch have the ports that are asked of it.

    What it checks:
        The host ports and uplinks kept for a full leaf, spine or core fit its cages in the modes that the speeds need.

    Why it matters:
        Servers that find no port wait for another switch, a rack for it, and uplinks that the spines may not have.

    How to fix:
        Set `unit` or `rails_per_leaf` to the number named, which is the largest that fits; a `unit` that is not set follows
        `planned`. Or raise `oversubscription`, use more leafs per unit, or a switch with more ports.

    Source:
        Cages and modes in the catalogue file of the switch.
    """

    id, title, stage = "NET001", "switch ports exhausted", "plan"


class HostSpeedNotShared(Rule):
    """Run host ports at a speed that NIC and leaf both have.

    What it checks:
        A mode of the leaf's cages and a mode of the NIC's port give ports of the same speed, so that a cable can join them; an
        out-of-band leaf has ports of 1 Gb/s, as BMCs have.

    Why it matters:
        A link between two speeds does not come up, and cables for it do not exist.

    How to fix:
        Set `speed_gbps` to a speed that both can do, or choose another leaf. `gpuyard catalogue MODEL` lists the modes.

    Source:
        Cage modes and port speeds in the catalogue files of leaf and server.
    """

    id, title, stage = "NET002", "host speed that leaf and NIC do not share", "plan"


class FabricSpeedNotShared(Rule):
    """Join switches at a speed that both ends have.

    What it checks:
        Leaf and spine, and spine and core, have a cage mode with ports of the speed of the links between them.

    Why it matters:
        The links do not come up.

    How to fix:
        Set `fabric_speed_gbps` to a speed that both can do, or choose another spine or core.

    Source:
        Cage modes in the catalogue files of the switches.
    """

    id, title, stage = "NET004", "fabric speed that two tiers do not share", "plan"


class TiersTooFew(Rule):
    """Ask for enough tiers to join all leafs.

    What it checks:
        The leafs of the planned size can be joined by the tiers asked for: one tier joins none, two tiers as many leafs as a
        spine has ports for, three tiers as many pods as a core has ports for.

    Why it matters:
        The fabric cannot be built at that size, and adding a tier later moves every spine cable.

    How to fix:
        Set `tiers` to `auto` or one more, use switches with more ports, or lower `planned`.

    Source:
        Clos arithmetic: R**2 / 2 host ports with two tiers of radix R, R**3 / 4 with three.
    """

    id, title, stage = "NET005", "more leafs than the tiers can join", "plan"


class CountDoesNotDivide(Rule):
    """Choose counts of spines and cores that divide the uplinks.

    What it checks:
        A spine count chosen by hand divides a leaf's uplinks, and a core count a spine's uplinks, so that each switch has the
        same number of links to every switch above it.

    Why it matters:
        ECMP sends equal shares to unequal link bundles: the thin ones congest while the others idle, and collective operations
        run at the pace of the slowest.

    How to fix:
        Take one of the divisors that the finding lists, or leave `switches` out and let it be derived.

    Source:
        DGX SuperPOD reference architecture H100, Table 4: 16 spines, not 12, for 24 leafs with 32 uplinks.
    """

    id, title, stage = "NET006", "spine or core count that does not divide the uplinks", "plan"


class NoPortForFabricManager(Rule):
    """Keep leaf ports free for the fabric managers.

    What it checks:
        After all planned servers have their ports, the leafs still have one for every port of a fabric manager.

    Why it matters:
        Without its managers an InfiniBand fabric has no subnet manager of its own choosing, and no telemetry.

    How to fix:
        Plan one server less in one unit, as the reference architecture does: 31 systems in a unit of 32.

    Source:
        DGX SuperPOD reference architecture H100, Table 4, note 1.
    """

    id, title, stage = "NET007", "no leaf port left for a fabric manager", "plan"


class RailsDoNotDivide(Rule):
    """Give GPU servers rails that deal evenly over their leafs.

    What it checks:
        Every GPU server on a compute network has compute ports, and its rails divide by `rails_per_leaf`.

    Why it matters:
        A leaf with fewer rails than its neighbours has idle ports, and a server without compute ports trains alone.

    How to fix:
        Set `rails_per_leaf` to a divisor of the rails, or name the compute ports under `servers.GROUP.nics.compute`.

    Source:
        `rail` of the ports in the catalogue file of the server.
    """

    id, title, stage = "NET008", "no compute ports, or rails that do not divide", "plan"


class PortsDoNotSplit(Rule):
    """Split every compute port over all planes.

    What it checks:
        A NIC's ports, or the modes that divide one port, give as many links as the network has planes.

    Why it matters:
        A GPU that reaches one plane only loses all its bandwidth when that plane goes, instead of a part.

    How to fix:
        Set `planes` to what the NIC can do, or choose a server whose NICs split. `gpuyard catalogue MODEL` tells.

    Source:
        `split` of the ports in the catalogue file of the server.
    """

    id, title, stage = "NET009", "NIC ports that cannot be split over the planes", "plan"


class OobOfThreeTiers(Rule):
    """Know when the out-of-band network has grown a third tier.

    What it checks:
        `networks.oob` has three tiers, without `tiers` having asked for them, since it has more leafs than a spine has ports.

    Why it matters:
        Pods of spines and a tier of cores carry ports of 1 Gb/s that never fill them: switches to buy, power and run. One leaf
        for two racks, or spines with more ports, bring most of these networks back to two tiers.

    How to fix:
        Set `networks.oob.racks_per_leaf` to the value in the finding, which is the lowest that two tiers join and whose racks fit
        the leafs' ports; or choose a spine with more ports. Set `tiers` to 3 where it is meant.

    Source:
        Counts are those of the plan with the other value. A spine joins as many leafs as it has ports (NET005).
    """

    id, severity, title, stage = "NET042", "info", "out-of-band network of three tiers", "plan"
