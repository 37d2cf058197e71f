# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about who boots whom and who may log in: the PRV family. PRV001 and PRV002 are found while the files are read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.checks.wording import count_things, list_names
from cluster_model.diagnostic import Diagnostic
from cluster_model.plan.model.provisioning import Installation

FAMILIES = {"PRV": "Provisioning"}

# fmt: off
RESERVED = frozenset({
    "adm", "admin", "backup", "bin", "daemon", "games", "gnats", "irc", "landscape", "list", "lp", "mail", "man",
    "messagebus", "news", "nobody", "pollinate", "proxy", "root", "sshd", "staff", "sudo", "sync", "sys", "syslog",
    "systemd-network", "systemd-resolve", "systemd-timesync", "tss", "uucp", "www-data",
})
# fmt: on
"""Accounts and groups of a fresh system. Source: Debian's base-passwd, and what Ubuntu server's packages add."""


class AdminWithoutKey(Rule):
    """Give every administrator a key.

    What it checks:
        Each of `provisioning.admins` has a key, in `keys` or in `key_files`.

    Why it matters:
        SSH takes no passwords on servers that gpuyard installs, so the account is closed, and Ansible cannot log in either.

    How to fix:
        Add a public key, or take the account away.

    Source:
        docs/boot.md, `users`.
    """

    id, title = "PRV003", "administrator without an SSH key"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for account in design.plan.provisioning.accounts:
            if not account.keys:
                yield self.finding(
                    f"provisioning.admins.{account.name}",
                    f"{account.name} has no SSH key, and passwords open no SSH session",
                    "a public key in keys or key_files",
                    "none",
                    "add a key, or take the account away",
                )


class NoBootServer(Rule):
    """Have a server that boots the others.

    What it checks:
        Where servers are installed, there is one that answers them: a control server, whom `provisioning.servers` names, or whom
        `networks.oob.dhcp_servers` names. It has a port on the out-of-band network.

    Why it matters:
        Nobody answers a server that asks for an address, so none is ever installed.

    How to fix:
        Add a group of control servers, name a group under `provisioning.servers`, or give the address of a machine outside the
        cluster under `networks.oob.dhcp_servers`.

    Source:
        RFC 2131, section 3.1: a client waits for a server's offer.
    """

    id, title = "PRV004", "nobody boots the servers"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        provisioning, asked = design.plan.provisioning, design.cluster.provisioning
        if asked is None or provisioning.servers:
            return
        named = f"{asked.servers} has no port on the out-of-band network" if asked.servers else "there are no control servers"
        yield self.finding(
            "provisioning.servers" if asked.servers else "provisioning",
            f"nobody boots the servers: {named}",
            "a server with an address on the out-of-band network",
            "none",
            "name a server group under provisioning.servers, or an address under networks.oob.dhcp_servers",
        )


class RelayElsewhere(Rule):
    """Relay to the servers that answer.

    What it checks:
        Out-of-band leafs relay DHCP to exactly the servers that have Kea's configuration.

    Why it matters:
        A request that is relayed elsewhere is answered by nobody, or by a server that knows other addresses.

    How to fix:
        Take `networks.oob.dhcp_servers` away, so that leafs relay to `provisioning.servers`; or take that one away.

    Source:
        RFC 1542, section 4: a relay agent sends to the servers it is configured with.
    """

    id, title = "PRV005", "DHCP relayed to others than those who answer"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        answering = {server.address for server in design.plan.provisioning.servers}
        relays: defaultdict[frozenset[str], list[str]] = defaultdict(list)
        for switch in design.switches_of.get("oob", []):
            for vlan in switch.vlans:
                relays[frozenset(vlan.dhcp_servers)].append(switch.name)
        for servers, switches in relays.items():
            if servers != answering:
                yield self.finding(
                    "networks.oob.dhcp_servers",
                    f"leafs relay DHCP to others than the servers that answer: {list_names(dict.fromkeys(switches), 2)}",
                    list_names(sorted(answering)) or "no servers",
                    list_names(sorted(servers)) or "no servers",
                    "take networks.oob.dhcp_servers or provisioning.servers away, or make them the same",
                )


class NoBootPort(Rule):
    """Install servers that can be reached without a system.

    What it checks:
        Servers of every group that is installed have a port on the out-of-band network.

    Why it matters:
        They boot over that port; without it they are not installed, whatever `provisioning` says.

    How to fix:
        Name a port under `nics: {oob: [PORT]}` of the group, or set its `os` to `{kind: none}`.

    Source:
        docs/boot.md, the way of one machine.
    """

    id, title = "PRV006", "server to install without a port to boot from"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        bootable = {host.name for host in design.plan.provisioning.hosts}
        for installation in design.plan.provisioning.installations:
            servers = design.group(installation.group)
            dark = [server.name for server in servers if server.name not in bootable]
            if dark:
                yield self.finding(
                    f"servers.{installation.group}",
                    f"{count_things(len(dark), 'server')} of {installation.group} without a port on the out-of-band network: "
                    f"{list_names(dark, 2)}",
                    "a port with network oob, to boot from",
                    "none",
                    f"name one under servers.{installation.group}.nics.oob, or set os of the group to {{kind: none}}",
                )


class UnknownBootMac(Rule):
    """Know the MACs that servers boot from.

    What it checks:
        Every server that is installed has the MAC of its boot port in the fact file.

    Why it matters:
        DHCP tells servers apart by MAC. One that is not known gets no name, and is not installed.

    How to fix:
        Fill `mac.PORT` in the fact file of servers.

    Source:
        docs/facts-csv.md; RFC 2131, section 4.2: the client identifier or hardware address identifies a client.
    """

    id, severity, title = "PRV007", "info", "server to install whose MAC is not known yet"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        hosts = design.plan.provisioning.hosts
        dark = [host for host in hosts if not host.mac]
        if dark:
            columns = dict.fromkeys(f"mac.{host.interface}" for host in dark)
            yield self.finding(
                "facts.servers",
                f"{len(dark)} of {count_things(len(hosts), 'server')} cannot be installed yet: their MACs are not known",
                "the MAC of the port that each server boots from",
                f"none of {list_names((host.name for host in dark), 3)}",
                f"fill {list_names(columns)} in the CSV of facts.servers when the vendor delivers",
            )


class HttpWithoutUefi(Rule):
    """Boot by HTTP with UEFI only.

    What it checks:
        A group with `loader: http` has `firmware: uefi`.

    Why it matters:
        BIOS firmware knows TFTP alone, so the server would look for a loader that nobody offers it.

    How to fix:
        Set `loader` to tftp, or `firmware` to uefi where the machine has it.

    Source:
        UEFI Specification 2.10, section 24.7 (HTTP Boot).
    """

    id, title = "PRV008", "HTTP boot without UEFI"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for where, groups in _group(design, lambda item: item.loader == "http" and item.firmware == "bios"):
            yield self.finding(
                f"{where}.loader",
                f"servers of {list_names(groups)} have a BIOS, which boots by TFTP alone",
                "tftp, or firmware: uefi",
                "http",
                "set loader to tftp",
            )


class ForeignInstaller(Rule):
    """Use Ubuntu's installer for Ubuntu.

    What it checks:
        A group with `kind: autoinstall` has `distribution: ubuntu`.

    Why it matters:
        Autoinstall is the format of Ubuntu's server installer; others do not read it.

    How to fix:
        Set `kind` to image, or `distribution` to ubuntu.

    Source:
        Ubuntu, Automated Server Installation reference.
    """

    id, title = "PRV009", "installer of another distribution"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for where, groups in _group(design, lambda item: item.method == "autoinstall" and item.distribution != "ubuntu"):
            yield self.finding(
                f"{where}.os.kind",
                f"Ubuntu's installer installs Ubuntu alone, and {list_names(groups)} asks for another distribution",
                "image, or distribution: ubuntu",
                "autoinstall",
                "set kind to image",
            )


class ReservedAccount(Rule):
    """Call administrators what the system does not.

    What it checks:
        No name under `provisioning.admins` is an account or group of a fresh Ubuntu or Debian system.

    Why it matters:
        The account cannot be made a second time, so the installation stops, or the system's own account gets keys and sudo.

    How to fix:
        Take another name, such as the person's.

    Source:
        Debian's base-passwd; subiquity refuses such names too.
    """

    id, title = "PRV010", "administrator called like a system account"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for account in design.plan.provisioning.accounts:
            if account.name in RESERVED:
                yield self.finding(
                    f"provisioning.admins.{account.name}@key",
                    f"{account.name} is an account or group of the system itself",
                    "a name that the system does not use",
                    account.name,
                    "take another name",
                )


def _group(design: Design, is_wrong: Callable[[Installation], bool]) -> Iterator[tuple[str, list[str]]]:
    """Yield where the intent says it, and the groups, of installations that are wrong."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for installation in design.plan.provisioning.installations:
        if is_wrong(installation):
            found[installation.where].append(installation.group)
    yield from found.items()
