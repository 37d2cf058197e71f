# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about releases of network operating systems. Part of the NOS family."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.catalogue.platform_types import Platform, parse_release
from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.diagnostic import Diagnostic


class UnknownRelease(Rule):
    """Run a release that configurations are rendered for.

    What it checks:
        `release` of every network, and of its border leafs, is within `releases` of the NOS's platform file. A later patch
        release of the last one is. An InfiniBand network has no release to name (NET037).

    Why it matters:
        The switch refuses keys that came later or have moved, or takes the file and leaves out what it does not know: SONiC
        before 202505 ignores what keeps SSH to the management address, and so lets it in at every tenant's gateway.

    How to fix:
        Upgrade the switches, or install an older release, and set `release` to what runs; or write templates for it, as
        docs/add-a-switch-vendor.md says.

    Source:
        `releases` of templates/switch/NOS/platform.yml, each with its source; docs/feature-matrix.md lists them.
    """

    id, title = "NOS016", "release that no configuration is rendered for"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for where, release, nos in _list_releases(design):
            platform: Platform | None = design.catalogue.platforms.get(nos)
            known = platform.releases if platform is not None else None
            if platform is not None and known is not None and not known.has(release):
                older = parse_release(release) < parse_release(known.first)
                aim = known.first if known.first == known.last else f"a release from {known}"
                fix = f"upgrade the switches to {aim}, and set release to what runs"
                newer = (
                    f"run {known.last} there and say so; or write templates for {release}, as docs/add-a-switch-vendor.md says"
                )
                yield self.finding(
                    where,
                    f"no configuration is rendered for {platform.name} {release}",
                    f"{known} (releases of templates/switch/{nos}/platform.yml)",
                    release,
                    fix if older else newer,
                )


def _list_releases(design: Design) -> Iterator[tuple[str, str, str]]:
    """Yield (intent path, release, name of its NOS) for every release that the intent names."""
    for network in design.plan.networks:
        intent = design.intent(network.name)
        if intent is not None and intent.release is not None:
            yield f"networks.{network.name}.release", intent.release, network.nos
    business = design.cluster.networks.business
    if business is not None and business.border is not None and business.border.release is not None:
        yield "networks.business.border.release", business.border.release, business.border.nos or business.system
