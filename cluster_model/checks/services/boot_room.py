# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about room on system disks, firmware, boot servers and keys. Part of the PRV family."""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model.provisioning import Installation

MINIMUM_ROOT_GB = 20
"""Root of a server with drivers and CUDA, in 10^9 bytes: a number of this toolkit. Ubuntu Server, system requirements, suggests
25 GB without them."""
_MIB = 2**20 / 10**9  # in 10^9 bytes


def _each(design: Design) -> Iterator[Installation]:
    seen: set[str] = set()
    for installation in design.plan.provisioning.installations:
        if installation.where not in seen:
            seen.add(installation.where)
            yield installation


def _sizes(installation: Installation) -> tuple[float, float]:
    """Return the sizes of root (0: the rest) and of everything else, in 10^9 bytes."""
    root = sum(part.size_mib for part in installation.partitions if part.name == "root") * _MIB
    return root, sum(part.size_mib for part in installation.partitions if part.name != "root") * _MIB


class RootBeyondDisk(Rule):
    """Make root and swap fit on the system disks.

    What it checks:
        `root_gb` and `swap_gb` with the loader's partition, against `disks.system.max_gb`; or, where only `min_gb` is given,
        against that: a disk of that size would be taken. Disks above 30,720 GB are not sold as system disks.

    Why it matters:
        The installer partitions before it writes: it stops on every server, with the old system gone.

    How to fix:
        Leave `root_gb` out, so that root takes the rest, or raise the size of the disks.

    Source:
        `disks` in docs/boot.md: two disks are mirrored, so that one must hold everything.
    """

    id, title = "PRV021", "root and swap larger than the disk"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for installation in _each(design):
            root, rest = _sizes(installation)
            system = installation.system
            least = root + rest + (0 if root else MINIMUM_ROOT_GB)
            limit, said = (
                (system.max_gb, "max_gb") if system.max_gb else (system.min_gb, "min_gb") if system.min_gb else (30_720, "")
            )
            if least > limit and (said != "min_gb" or root + rest > limit):
                what = f"root and swap of {installation.group} need {least:.0f} GB"
                yield self.finding(
                    f"{installation.where}.disks",
                    f"{what}, and a disk of {limit} GB is taken" if said else f"{what}, more than any system disk has",
                    f"<= {limit} GB" + (f" (disks.system.{said})" if said else ""),
                    f"{least:.0f} GB",
                    "leave root_gb out for all that is left, or choose larger disks",
                )


class RootTooSmall(Rule):
    """Give the root file system room for a driver and its kernel.

    What it checks:
        `root_gb` is 20 or more.

    Why it matters:
        The image does not fit, or the first driver or container image fills the root: kubelet evicts all pods, and logins fail.

    How to fix:
        Leave `root_gb` out, or raise it.

    Source:
        Ubuntu Server, system requirements (25 GB suggested); the limit is of this toolkit.
    """

    id, severity, title = "PRV022", "warning", "root file system without room"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for installation in _each(design):
            root, _ = _sizes(installation)
            if 0 < root < MINIMUM_ROOT_GB - 0.5:
                yield self.finding(
                    f"{installation.where}.disks.root_gb",
                    f"{root:.0f} GB of root hold neither drivers nor container images",
                    f">= {MINIMUM_ROOT_GB} GB",
                    f"{root:.0f} GB",
                    "leave root_gb out for all that is left, or raise it",
                )


class SwapUnderKubelet(Rule):
    """Run Kubernetes nodes without swap.

    What it checks:
        Groups under `kubernetes.control` and `kubernetes.workers` have no `swap_gb`.

    Why it matters:
        kubelet does not start on a node with swap, unless it is told to.

    How to fix:
        Leave `swap_gb` out, or set failSwapOn: false and memorySwap in kubelet's configuration.

    Source:
        Kubernetes documentation, swap memory management: failSwapOn is true by default.
    """

    id, severity, title = "PRV023", "warning", "swap on a Kubernetes node"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        kubernetes = design.cluster.kubernetes
        nodes = {kubernetes.control, *kubernetes.workers} if kubernetes is not None else set()
        for installation in design.plan.provisioning.installations:
            if installation.group in nodes and any(part.name == "swap" for part in installation.partitions):
                yield self.finding(
                    f"{installation.where}.disks.swap_gb",
                    f"kubelet does not start on {installation.group}, which has swap",
                    "no swap (failSwapOn is true by default)",
                    "swap_gb",
                    "leave swap_gb out",
                )


class OneBootServer(Rule):
    """Answer DHCP and DNS from two servers.

    What it checks:
        Where installing is asked for, two servers or more answer.

    Why it matters:
        While the only one is down no BMC renews its lease and no server finds its names; when it is lost, nothing can be
        installed in its place.

    How to fix:
        Name a group or a slice under `provisioning.servers`, or leave it out for the first four control servers.

    Source:
        Kea administrator reference, High Availability: two servers, so that one may be lost.
    """

    id, severity, title = "PRV024", "warning", "one server answers DHCP and DNS"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        provisioning = design.plan.provisioning
        if provisioning.is_asked and len(provisioning.servers) == 1:
            (server,) = provisioning.servers
            yield self.finding(
                "provisioning.servers",
                f"{server.name or server.address} alone answers DHCP and DNS",
                "two servers or more",
                "1",
                "name a group or a slice such as control-001..control-002, or leave it out",
            )


class FirmwareOfOther(Rule):
    """Boot GPU servers by UEFI.

    What it checks:
        `firmware: bios` is not given for servers with GPUs whose model boots by UEFI.

    Why it matters:
        GPUs map tens of gigabytes into the address space, and old BIOS mode places nothing above 4 GB on most boards: the GPUs
        are missing, or the board does not boot. Secure boot is gone with it.

    How to fix:
        Leave `firmware` out.

    Source:
        NVIDIA, GPU Pass-through and MMIO: large BARs need 64-bit decoding ("Above 4G Decoding"); `firmware` of the model.
    """

    id, severity, title = "PRV025", "warning", "GPU servers that boot by BIOS"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for installation in design.plan.provisioning.installations:
            server = next(iter(design.group(installation.group)), None)
            block = design.catalogue.server(server.model) if server is not None else None
            if server is not None and server.gpus and block and installation.firmware == "bios" and block.firmware == "uefi":
                yield self.finding(
                    f"{installation.where}.firmware",
                    f"{installation.group} ({server.model}) would boot by BIOS, and its GPUs want UEFI",
                    f"uefi (catalogue: {server.model})",
                    "bios",
                    "leave firmware out",
                )


class KeyShared(Rule):
    """Give every administrator a key of their own.

    What it checks:
        No public key stands under two of `provisioning.admins`.

    Why it matters:
        The log says who came in by the key: with one key for two, nobody knows. When one of them leaves, both lose it.

    How to fix:
        Ask each for a key.

    Source:
        CIS Controls v8, 5.1 and 6.2: accounts belong to one person, and are revoked alone.
    """

    id, severity, title = "PRV026", "warning", "one SSH key for two administrators"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        owners: defaultdict[str, list[str]] = defaultdict(list)
        for account in design.plan.provisioning.accounts:
            for key in {" ".join(key.split()[:2]) for key in account.keys}:
                owners[key].append(account.name)
        for names in sorted({tuple(names) for names in owners.values() if len(names) > 1}):
            yield self.finding(
                f"provisioning.admins.{names[1]}",
                f"{list_names(names)} have the same SSH key",
                "a key for each",
                "one key",
                "ask each of them for a key of their own",
            )


class KeyWeak(Rule):
    """Let nobody in by an RSA key that can be broken.

    What it checks:
        RSA keys of `provisioning.admins` have 2048 bits or more.

    Why it matters:
        Keys of 1024 bits have not been trusted since 2013, and this one opens root on every server. OpenSSH on newer systems
        refuses it, so that the account cannot log in either.

    How to fix:
        Make a new one: ssh-keygen -t ed25519.

    Source:
        NIST SP 800-131A rev. 2, section 3: RSA below 2048 bits is disallowed for signatures; sshd_config(5), RequiredRSASize.
    """

    id, title = "PRV027", "SSH key that is too short"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for account in design.plan.provisioning.accounts:
            for key in account.keys:
                bits = count_rsa_bits(key)
                if 0 < bits < 2048:
                    yield self.finding(
                        f"provisioning.admins.{account.name}",
                        f"an RSA key of {account.name} has {bits} bits",
                        ">= 2048 bits, or ssh-ed25519",
                        f"{bits} bits",
                        "make a new key: ssh-keygen -t ed25519",
                    )


def count_rsa_bits(key: str) -> int:
    """Return the bits of an RSA key's modulus (RFC 4253, section 6.6: type, exponent, modulus); 0 for any other key."""
    kind, _, rest = key.partition(" ")
    if kind != "ssh-rsa":
        return 0
    try:
        blob = base64.b64decode(rest.split(" ")[0])
    except ValueError:
        return 0
    at, parts = 0, []
    while at + 4 <= len(blob):
        length = int.from_bytes(blob[at : at + 4], "big")
        parts.append(blob[at + 4 : at + 4 + length])
        at += 4 + length
    return int.from_bytes(parts[2], "big").bit_length() if len(parts) == 3 else 0


class SystemOnOneDisk(Rule):
    """Mirror the system of servers that many depend on.

    What it checks:
        `disks.system.count` is 2.

    Why it matters:
        A system disk is the part that fails most often: with one, the server and the job that spans it are gone, and the server
        is installed anew.

    How to fix:
        Leave `count` out, or keep 1 for machines that are built so.

    Source:
        NVIDIA, DGX H100 User Guide: two system disks in RAID 1.
    """

    id, severity, title = "PRV028", "warning", "system on a single disk"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for installation in _each(design):
            if installation.system_count == 1:
                yield self.finding(
                    f"{installation.where}.disks.system.count",
                    f"the system of {installation.group} lies on one disk",
                    "2, mirrored",
                    "1",
                    "leave count out, or keep it for machines with one disk",
                )
