# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about kernel arguments and releases of what is installed. Part of the PRV family."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic

# Linux, Documentation/admin-guide/kernel-parameters.txt (init, rdinit, 1 to 5, S); systemd, kernel-command-line(7);
# dracut.cmdline(7) (rd.break, rd.shell); initramfs-tools(7) (break=).
_SHELL = re.compile(
    r"init=.*|rdinit=.*|single|s|S|1|emergency|rescue|rd\.break(=.*)?|rd\.shell(=1)?|break(=.*)?|-b"
    r"|(rd\.)?systemd\.unit=(rescue|emergency)(\.target|\.service)?|systemd\.debug[-_]shell(=.*)?|rd\.emergency=.*"
)
# host.ipxe.j2 and the installer give these themselves.
_OURS = re.compile(r"(root|initrd|BOOT_IMAGE|gpuyard\.[a-z]+|ds|autoinstall|url|rootflags|rootfstype|ro|rw)(=.*)?")
_WEAK = {
    r"mitigations=off|nospectre_v[12]|nopti|pti=off": "turns off what keeps one tenant from reading another's memory",
    r"(selinux|apparmor|audit|enforcing)=0|security=none": "turns off the kernel's access control or its log",
    r"nokaslr|iommu=off|(intel|amd)_iommu=off": "takes away what keeps a device or an attacker from the kernel's memory",
    r"(mem|maxcpus|nr_cpus|max_cpus)=.+|nosmp|nolapic|noapic|acpi=off": "hides memory, processors or devices from the system",
    r"ipv6\.disable=1": "takes IPv6 away, and routed hosts lose the link-local next hops that they may use",
    r"net\.ifnames=0|biosdevname=1": "renames network ports, and the files of this host are written for their usual names",
    r"systemd\.unified_cgroup_hierarchy=(0|false|no)": "selects cgroup v1, which kubelet no longer runs on by default since 1.35",
    r"(module_blacklist|modprobe\.blacklist)=.*(mlx5|nvidia|nvme|ib_|raid1).*": "keeps out a driver that this server needs",
    r"panic=0|nomce|mce=off": "keeps a server that has broken from stopping, or from saying so",
}


class _Argument(NamedTuple):
    where: str
    group: str
    text: str


def _arguments(design: Design) -> Iterator[_Argument]:
    """Yield every argument that the intent gives, where it stands, those of `defaults` first."""
    asked = design.cluster.provisioning
    if asked is None:
        return
    for path, name, installation in (
        ("provisioning.defaults", "all groups", asked.defaults),
        *((f"provisioning.groups.{name}", name, group) for name, group in asked.groups.items()),
    ):
        for index, argument in enumerate(installation.kernel_arguments or ()):
            yield _Argument(f"{path}.kernel_arguments.{index}", name, argument)


class RootShell(Rule):
    """Boot into the system, not into a shell.

    What it checks:
        `kernel_arguments` have none that starts a shell, or a rescue or single-user mode, in place of the system.

    Why it matters:
        Every server stops at a root shell that asks nobody for a password, on the console that every BMC shows: it never joins
        the cluster, and whoever reaches a BMC owns the machine. The installer starts with the same arguments and does not run.

    How to fix:
        Take it away. To rescue one server, edit the line in its boot loader once.

    Source:
        Linux, admin-guide/kernel-parameters (init, rdinit, single); systemd, kernel-command-line(7) (rescue, emergency,
        systemd.debug_shell); dracut.cmdline(7) (rd.break); initramfs-tools(7) (break).
    """

    id, title = "PRV016", "boot argument that opens a root shell"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for where, group, text in _arguments(design):
            if _SHELL.fullmatch(text):
                yield self.finding(
                    where,
                    f"{text} stops every server of {group} at a shell instead of starting it",
                    "arguments of a system that starts",
                    text,
                    "take it away",
                )


class ArgumentOfInstaller(Rule):
    """Leave the arguments alone by which the installer finds its way.

    What it checks:
        `kernel_arguments` have none of root, initrd, ds, autoinstall, url and what begins with gpuyard.

    Why it matters:
        The last one wins: the installer looks for its file elsewhere, or the installed system for its root, and neither starts.

    How to fix:
        Take it away; partitions are set under `disks`.

    Source:
        templates/boot/host.ipxe.j2; grub-mkconfig writes root= itself.
    """

    id, title = "PRV017", "boot argument that the installer gives itself"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for where, _, text in _arguments(design):
            if _OURS.fullmatch(text):
                yield self.finding(
                    where,
                    f"{text.partition('=')[0]} is given by the installer, and {text} takes its place",
                    "arguments that the installer does not give",
                    text,
                    "take it away",
                )


class WeakArgument(Rule):
    """Know what a kernel argument takes away.

    What it checks:
        `kernel_arguments` against those that turn off protection, hide hardware, rename ports or keep drivers out.

    Why it matters:
        Such arguments come from a benchmark or from a debugging session, and stay on every server.

    How to fix:
        Take it away, or keep it on the one group that needs it.

    Source:
        Linux, admin-guide/kernel-parameters; Kubernetes 1.35, kubelet configuration, failCgroupV1.
    """

    id, severity, title = "PRV018", "warning", "boot argument that takes something away"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for where, _, text in _arguments(design):
            why = next((why for pattern, why in _WEAK.items() if re.fullmatch(pattern, text)), "")
            if why:
                yield self.finding(
                    where, f"{text} {why}", "arguments that the servers need", text, "take it away, or keep it knowingly"
                )


RELEASES: dict[str, dict[str, str]] = {
    "ubuntu": {
        "trusty": "April 2019",
        "xenial": "April 2021",
        "bionic": "May 2023",
        "focal": "May 2025",
        "jammy": "",
        "noble": "",
        "resolute": "",
    },
    "debian": {
        "stretch": "June 2022",
        "buster": "June 2024",
        "bullseye": "August 2026",
        "bookworm": "",
        "trixie": "",
        "forky": "",
    },
}
"""Releases by distribution, with the end of their free security updates; empty while they have them, by November 2026.

Sources: Ubuntu, release cycle (standard support of LTS releases); Debian wiki, LTS.
"""


class ReleaseOfOther(Rule):
    """Install a release that the distribution has.

    What it checks:
        `os.release` is not a release of another distribution.

    Why it matters:
        The image cannot be built, and the installer finds no packages under that name.

    How to fix:
        Correct `release` or `distribution`.

    Source:
        Ubuntu, release cycle; Debian wiki, DebianReleases.
    """

    id, title = "PRV019", "release of another distribution"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for where, distribution, release in _systems(design):
            owner = next((name for name, releases in RELEASES.items() if name != distribution and release in releases), "")
            if owner:
                yield self.finding(
                    f"{where}.os.release",
                    f"{release} is a release of {owner.capitalize()}, not of {distribution.capitalize()}",
                    f"one of {', '.join(name for name, end in RELEASES[distribution].items() if not end)}",
                    release,
                    f"set distribution to {owner}, or take another release",
                )


class ReleaseOld(Rule):
    """Install a release that still gets security updates.

    What it checks:
        `os.release` is known, and within its free support.

    Why it matters:
        The first scan finds every server open, and drivers and Kubernetes have stopped publishing packages for it. An unknown
        name is mostly a mistyped one.

    How to fix:
        Take a release that is supported; keep an old one only with a support contract.

    Source:
        Ubuntu, release cycle; Debian wiki, LTS; as of November 2026.
    """

    id, severity, title = "PRV020", "warning", "release without security updates, or unknown"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for where, distribution, release in _systems(design):
            known = RELEASES[distribution]
            if any(release in releases for name, releases in RELEASES.items() if name != distribution):
                continue  # PRV019
            end = known.get(release)
            if end == "":
                continue
            now = list_names([name for name, end in known.items() if not end])
            yield self.finding(
                f"{where}.os.release",
                f"{distribution.capitalize()} {release} has no security updates since {end}"
                if end
                else f"{release} is not known as a release of {distribution.capitalize()}",
                f"one of {now}",
                release,
                f"take one of {now}",
            )


def _systems(design: Design) -> Iterator[tuple[str, str, str]]:
    """Yield (intent path, distribution, release) of everything installed, those of `defaults` once."""
    seen = set()
    asked = design.cluster.provisioning
    for item in design.plan.provisioning.installations:
        own = asked.groups.get(item.group) if asked is not None else None
        where = f"provisioning.groups.{item.group}" if own is not None and own.os is not None else "provisioning.defaults"
        if where not in seen:
            seen.add(where)
            yield where, item.distribution, item.release
