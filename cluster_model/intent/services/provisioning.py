"""How servers get their operating system: who boots them, who may log in, and which disks are written."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from cluster_model.intent.base import FileName, Model, Name, Number, Pattern, Reason, SecretName
from cluster_model.texts import UNPRINTABLE

Servers = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*(\.\.[a-z][a-z0-9-]*)?$")]
PUBLIC_KEY = rf"^[a-z0-9@.-]+ [A-Za-z0-9+/]+={{0,2}}( [^{UNPRINTABLE}]*)?$"
DISK_MODEL = r"^[A-Za-z0-9*?][A-Za-z0-9 *?._+/()-]{1,79}$"
PublicKey = Annotated[str, Field(pattern=PUBLIC_KEY)]
KernelArgument = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.,:=/@+%*!-]*$")]
Codename = Annotated[str, Field(pattern=r"^[a-z]+$")]
DiskModel = Annotated[str, Field(pattern=DISK_MODEL)]
Gigabytes = Annotated[int, Field(ge=1, le=1_000_000)]
PATTERNS: dict[str, Pattern] = {
    DISK_MODEL: Pattern("a disk's model in letters, digits, spaces and * ? . _ + / ( ) -, from 2 to 80 characters", "stand-in"),
    r"^[a-z][a-z0-9-]*(\.\.[a-z][a-z0-9-]*)?$": Pattern(
        "a server group, a server, or a slice such as gpu-001..gpu-064", "stand-in"
    ),
    PUBLIC_KEY: Pattern(
        "a public SSH key in one line, such as ssh-ed25519 AAAAC3N... name",
        "ssh-ed25519 AAAA",
        "give the content of a .pub file, whole",
    ),
    r"^[A-Za-z0-9][A-Za-z0-9_.,:=/@+%*!-]*$": Pattern("a kernel argument without spaces or quotes, such as iommu=pt", "stand-in"),
    r"^[a-z]+$": Pattern("a code name in lower case, such as noble", "standin"),
}
"""What each pattern means, and a text that fits it."""
_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMcc03yzvjhn6Nw+dkDmkVyW2r2fZ7Y4FLMROm9Dlj2U name"
EXAMPLES: dict[str, Any] = {
    "provisioning": {"admins": {"ops": {"keys": [_KEY]}}},
    "provisioning.servers": "control",
    "provisioning.groups": {"gpu": {"os": {"kind": "none"}}},
    "ops.key_files": ["ops.pub"],
    "ops.password": "ops-password",
    "defaults": {"os": {"kind": "image"}, "disks": {"system": {"model": "SAMSUNG MZ1L2*"}}},
    "os": {"kind": "autoinstall"},
    "os.image": "ubuntu-noble-gpu",
    "disks": {"system": {"count": 2}},
    "kernel_arguments": ["iommu=pt", "console=tty0", "console=ttyS0,115200n8"],
    "firmware": "bios",
    "loader": "http",
    "model": "SAMSUNG MZ1L2*",
    "min_gb": 900,
    "max_gb": 2000,
    "root_gb": 200,
    "swap_gb": 16,
    "wipe": [{"disks": "system", "consent": "who agreed, when and why"}],
}
"""What an unset key shows in a new cluster.yml, where it has no default that says enough."""


class Admin(Model):
    """A person or a program with an account on every server that is installed; it may use sudo without a password."""

    keys: list[PublicKey] = []
    """Public SSH keys, one line each."""
    key_files: list[FileName] = []
    """Files with public SSH keys, one per line, in the intent's folder or below it."""
    password: SecretName | None = None
    """Name of the secret that holds the password's crypt(5) hash, for the console; default: none, keys alone open it."""


class Os(Model):
    """An operating system and the way it gets onto a server."""

    kind: Literal["image", "autoinstall", "none"] = "image"
    """An image built once and written to disk, Ubuntu's own installer, or none: gpuyard leaves these servers alone."""
    distribution: Literal["ubuntu", "debian"] = "ubuntu"
    """Distribution."""
    release: Codename = "noble"
    """Code name of the release, e.g. `noble` for Ubuntu 24.04 or `bookworm` for Debian 12."""
    image: Name | None = None
    """Image, where a group has one of its own; default: distribution and release, e.g. `ubuntu-noble`."""


class DiskMatch(Model):
    """Which disks are meant: those that fit all that is given."""

    model: DiskModel | None = None
    """Model as the disk says it; `*` and `?` stand for any text and any letter."""
    min_gb: Gigabytes | None = None
    """Smallest capacity, in 10^9 bytes."""
    max_gb: Gigabytes | None = None
    """Largest capacity, in 10^9 bytes."""


class SystemDisks(DiskMatch):
    """The disks that hold the system; `system_disks` of the fact file names them by serial number instead.

    No other disk is written.
    """

    count: Annotated[Literal[1, 2], Number] = 2
    """Disks; two are mirrored. More or fewer that fit, and nothing is written."""


class Wipe(Model):
    """Disks that may be overwritten although they hold something. All others that are not empty stop the installation."""

    disks: Literal["system"] | DiskMatch
    """The system disks, or data disks by what they are."""
    consent: Reason
    """Who agreed to it, when and why; recorded in the plan and with the server."""


class Disks(Model):
    """How the system lies on its disks. Data disks are never touched."""

    system: SystemDisks = SystemDisks()
    """The disks that hold the system."""
    filesystem: Literal["ext4", "xfs"] = "ext4"
    """File system of the root."""
    root_gb: Gigabytes | None = None
    """Size of the root file system, in 10^9 bytes; default: all that is left."""
    swap_gb: Gigabytes | None = None
    """Swap space, in 10^9 bytes; default: none, as Kubernetes wants it."""
    wipe: list[Wipe] = []
    """What may be overwritten, each with the consent to it; default: empty disks alone are written."""


class Installation(Model):
    """How servers are installed. What a group leaves out is as in `defaults`."""

    os: Os | None = None
    """Operating system; default: an image of Ubuntu noble, none for fabric managers."""
    disks: Disks | None = None
    """Disk layout; default: two mirrored disks, in machines that have no others."""
    kernel_arguments: list[KernelArgument] | None = None
    """Kernel arguments of the installer and of the installed system; default: `console=tty0` and `console=ttyS0,115200n8`."""
    firmware: Literal["uefi", "bios"] | None = None
    """How the firmware boots; default: as the catalogue says of the model."""
    loader: Literal["tftp", "http"] | None = None
    """What the firmware fetches the boot loader by; default: `tftp`. `http` is UEFI HTTP boot."""


class Provisioning(Model):
    """How servers get from power-on to a login."""

    servers: Servers | None = None
    """Servers that answer DHCP and DNS, as a group, a server or a slice; the first one also boots the others. Default: the
    first four control servers, which must be of one group, or whom `networks.oob.dhcp_servers` names."""
    unknown: Literal["offer", "refuse"] = "offer"
    """Devices whose MAC no fact file names: offer an address for ten minutes, so that they can be told apart, or refuse."""
    admins: Annotated[dict[Name, Admin], Field(min_length=1)]
    """Accounts on every server that is installed, by name."""
    defaults: Installation = Installation()
    """For all server groups."""
    groups: dict[Name, Installation] = {}
    """For one server group each."""
