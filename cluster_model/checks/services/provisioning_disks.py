# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about the disks that an installation writes. Part of the PRV family."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model.provisioning import BootHost, DiskRule, Installation


class InstallerCannotMatch(Rule):
    """Let Ubuntu's installer find disks by what it knows.

    What it checks:
        A group with `kind: autoinstall` finds its system disks by `model` or by serial numbers, not by size or WWN alone, and has
        no wish for a size beside them.

    Why it matters:
        The installer matches a disk by model or serial number, and takes any that fits: with a size that it cannot see it could
        take a data disk.

    How to fix:
        Give `model`, or serial numbers in `system_disks` of the fact file, and take the sizes away; or set `kind` to image.

    Source:
        Ubuntu, Automated Server Installation reference, storage, disk selection extensions.
    """

    id, title = "PRV011", "disks that the installer cannot tell apart"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for installation, hosts in _by_installation(design):
            if installation.method != "autoinstall":
                continue
            rule = installation.system
            unnamed = [host for host in hosts if not (host.serials or host.wwns)]
            if unnamed and (rule.min_gb or rule.max_gb):
                yield self._finding(installation, "by size")
            elif any(host.wwns for host in hosts):
                yield self._finding(installation, "by WWN")

    def _finding(self, installation: Installation, how: str) -> Diagnostic:
        return self.finding(
            f"{installation.where}.disks.system",
            f"Ubuntu's installer cannot find the system disks of {installation.group} {how}",
            "model, or serial numbers in system_disks of the fact file",
            how,
            "give model alone, or set os.kind to image",
        )


class DisksMiscounted(Rule):
    """Name as many system disks as there are.

    What it checks:
        Where the fact file has `system_disks` of a server, they are as many as `disks.system.count`.

    Why it matters:
        The mirror would lack a disk, so nothing is written and the server is not installed.

    How to fix:
        Correct the line in the fact file, or `count`.

    Source:
        docs/boot.md, `disks.system`.
    """

    id, title = "PRV012", "system disks named that are too few or too many"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for installation, hosts in _by_installation(design):
            wrong = [h for h in hosts if (h.serials or h.wwns) and len(h.serials) + len(h.wwns) != installation.system_count]
            if wrong:
                first = wrong[0]
                yield self.finding(
                    "facts.servers",
                    f"{count_things(len(wrong), 'server')} of {installation.group} with another number of system disks: "
                    f"{list_names([host.name for host in wrong], 3)}",
                    f"{count_things(installation.system_count, 'disk')} in system_disks, as {installation.where} says",
                    f"{first.name} has {count_things(len(first.serials) + len(first.wwns), 'disk')}",
                    "correct system_disks in the CSV of facts.servers, or disks.system.count",
                )


class RangeBackwards(Rule):
    """Give sizes of disks in order.

    What it checks:
        `min_gb` is at most `max_gb`, for system disks and for what may be wiped.

    Why it matters:
        No disk fits, so no server of the group is installed.

    How to fix:
        Correct the two.

    Source:
        docs/boot.md, `disks.system`.
    """

    id, title = "PRV013", "range of disk sizes that holds nothing"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for installation in _each(design):
            for where, rule in _rules(installation):
                if rule.max_gb and rule.min_gb > rule.max_gb:
                    yield self.finding(
                        where,
                        f"no disk of {installation.group} is above {rule.min_gb} GB and below {rule.max_gb} GB",
                        "min_gb <= max_gb",
                        f"{rule.min_gb} and {rule.max_gb} GB",
                        "correct the two",
                    )


class WipeEverything(Rule):
    """Name what may be wiped.

    What it checks:
        Each of `disks.wipe` that is not `system` gives a model or a size that some disk does not have.

    Why it matters:
        Without either it means every disk of the machine, and consent to that is nobody's intention.

    How to fix:
        Give `model`, `min_gb` or `max_gb`, or write `disks: system`.

    Source:
        docs/boot.md, `disks.wipe`.
    """

    id, title = "PRV014", "consent to wipe every disk"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for installation in _each(design):
            for index, wipe in enumerate(installation.wipe):
                if wipe.match is not None and _fits_all(wipe.match):
                    yield self.finding(
                        f"{installation.where}.disks.wipe.{index}.disks",
                        f"every disk of {installation.group} may be wiped: nothing says which",
                        f"model, max_gb, or min_gb above {SMALLEST_GB}",
                        f"min_gb: {wipe.match.min_gb}" if wipe.match.min_gb else "none",
                        "say which disks, or write disks: system",
                    )


SMALLEST_GB = 10
"""No disk of a server is smaller, in 10^9 bytes."""


def _fits_all(match: DiskRule) -> bool:
    return not match.model.strip("*?") and not match.max_gb and match.min_gb <= SMALLEST_GB


class SystemDisksNotTold(Rule):
    """Say which disks hold the system where there are others.

    What it checks:
        A group whose model has data drives has `disks.system` with a model or a size, or `system_disks` in the fact file.

    Why it matters:
        Without, a machine has system disks alone; this one has more, so the installation stops at each server and writes nothing.

    How to fix:
        Give `model` of the system disks under `provisioning.groups.GROUP.disks.system`.

    Source:
        The model's `drives` in the catalogue; docs/boot.md, `disks.system`.
    """

    id, severity, title = "PRV015", "warning", "system disks that cannot be told from data disks"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for installation, hosts in _by_installation(design):
            server = next(iter(design.group(installation.group)), None)
            device = design.catalogue.device(server.model) if server else None
            drives = getattr(device.gpuyard, "drives", None) if device else None
            dark = [host.name for host in hosts if not (host.serials or host.wwns)]
            if drives is not None and dark and installation.system.is_open:
                yield self.finding(
                    f"provisioning.groups.{installation.group}.disks.system",
                    f"nothing says which disks of {installation.group} hold the system, and it has {drives.count} data drives",
                    "a model or size of the system disks, or system_disks in the fact file",
                    "none",
                    f"give model under provisioning.groups.{installation.group}.disks.system",
                )


def _by_installation(design: Design) -> Iterator[tuple[Installation, list[BootHost]]]:
    hosts: defaultdict[str, list[BootHost]] = defaultdict(list)
    for host in design.plan.provisioning.hosts:
        hosts[host.group].append(host)
    for installation in design.plan.provisioning.installations:
        yield installation, hosts[installation.group]


def _each(design: Design) -> Iterator[Installation]:
    """Yield installations, those of `defaults` once."""
    seen: set[str] = set()
    for installation in design.plan.provisioning.installations:
        if installation.where not in seen:
            yield installation
        seen.add(installation.where)


def _rules(installation: Installation) -> Iterator[tuple[str, DiskRule]]:
    yield f"{installation.where}.disks.system", installation.system
    for index, wipe in enumerate(installation.wipe):
        if wipe.match is not None:
            yield f"{installation.where}.disks.wipe.{index}.disks", wipe.match
