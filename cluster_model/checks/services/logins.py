# ruff: noqa: D102  (what `find` does stands in Rule)
"""Rules about logins to BMCs: the ACC family."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.checks.design import Design
from cluster_model.checks.registry import Rule
from cluster_model.diagnostic import Diagnostic

FAMILIES = {"ACC": "Access to BMCs"}

AES_SUITES = {3, 8, 12, 17}
"""IPMI cipher suites with AES-CBC-128. Source: IPMI 2.0 rev. 1.1, table 22-20; suite 17 (SHA-256) is of its errata 7."""
_RC4_SUITES = {4, 5, 9, 10, 13, 14}
_MD5_SUITES = {8, 12}


def _settings(design: Design, key: str) -> Iterator[tuple[str, str, object]]:
    """Yield (intent path, whose BMCs in words, value) of a key: that of all, then those of groups that say it."""
    bmc = design.cluster.bmc
    yield f"bmc.{key}", "all BMCs", getattr(bmc, key)
    for name, group in bmc.groups.items():
        value = getattr(group, key)
        if value is not None:
            yield f"bmc.groups.{name}.{key}", f"the BMCs of {name}", value


class BmcInTheClear(Rule):
    """Speak to BMCs over a cipher suite that encrypts.

    What it checks:
        `ipmi_cipher` is one of 3, 8, 12 and 17.

    Why it matters:
        All others send in clear text, or by RC4, which is broken: consoles, and passwords that are set, can be read by every
        device on the out-of-band network. Suites 1, 6 and 15 do not even notice a changed packet.

    How to fix:
        Leave `ipmi_cipher` out for 17; 3 is for firmware that has nothing newer.

    Source:
        IPMI 2.0 specification, rev. 1.1, table 22-20 (cipher suites): AES-CBC-128 in 3, 8, 12 and 17; RFC 7465 on RC4.
    """

    id, title = "ACC001", "BMC logins in clear text"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for where, whose, value in _settings(design, "ipmi_cipher"):
            if isinstance(value, int) and value not in AES_SUITES:
                how = "encrypts with RC4" if value in _RC4_SUITES else "does not encrypt"
                yield self.finding(
                    where,
                    f"cipher suite {value} of {whose} {how}",
                    "17, or 3 in older firmware (AES)",
                    str(value),
                    "leave ipmi_cipher out, or set it to 3 for older firmware",
                )


class BmcByMd5(Rule):
    """Authenticate to BMCs by SHA.

    What it checks:
        `ipmi_cipher` is not 8 or 12.

    Why it matters:
        Both authenticate by MD5. Whoever records one login finds a short password from it offline, faster than with SHA-256.

    How to fix:
        Leave `ipmi_cipher` out for 17, or set it to 3.

    Source:
        IPMI 2.0 specification, rev. 1.1, table 22-20; RFC 6151 on MD5.
    """

    id, severity, title = "ACC002", "warning", "BMC logins by MD5"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for where, whose, value in _settings(design, "ipmi_cipher"):
            if value in _MD5_SUITES:
                yield self.finding(
                    where, f"cipher suite {value} of {whose} authenticates by MD5", "17 or 3", str(value), "leave ipmi_cipher out"
                )


class BmcNotJudged(Rule):
    """Know whom the BMC's password is told to.

    What it checks:
        `tls` is pin or verify, not off.

    Why it matters:
        With off any device that answers at the BMC's address gets its administrator's password: one hijacked BMC, or a laptop in
        a rack, collects those of the whole hall.

    How to fix:
        Leave `tls` out: the certificate of the first visit is remembered.

    Source:
        RFC 8446, appendix C.2 (certificates must be checked); DMTF DSP0266 (Redfish over TLS).
    """

    id, severity, title = "ACC003", "warning", "BMC's certificate not checked"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for where, whose, value in _settings(design, "tls"):
            if value == "off":
                yield self.finding(
                    where,
                    f"whoever answers for {whose} is told their password",
                    "pin or verify",
                    "off",
                    "leave tls out, or set it to verify where an authority signs the certificates",
                )


class BmcByIpmiAlone(Rule):
    """Use IPMI only where there is no Redfish.

    What it checks:
        `protocol` is not ipmi for all groups at once, nor for a group whose model has GPUs of Ampere or newer boards.

    Why it matters:
        Before it is logged in, IPMI gives a hash of any user's password to whoever asks (RAKP): it is found offline. Redfish,
        which boards have had since about 2018, does not.

    How to fix:
        Leave `protocol` out: Redfish, and IPMI where nobody answers it; or set ipmi for the old groups alone.

    Source:
        IPMI 2.0 specification, RAKP Message 2; CVE-2013-4786; DMTF DSP0266.
    """

    id, severity, title = "ACC004", "warning", "BMCs by IPMI alone"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for where, whose, value in _settings(design, "protocol"):
            group = design.cluster.servers.get(where.split(".")[2]) if where.startswith("bmc.groups") else None
            block = design.catalogue.server(group.model) if group is not None else None
            if value == "ipmi" and (group is None or (block is not None and block.gpus)):
                yield self.finding(
                    where,
                    f"{whose} are reached by IPMI alone, which gives password hashes away",
                    "auto or redfish",
                    "ipmi",
                    "leave protocol out, or set ipmi for old groups under bmc.groups alone",
                )


_FACTORY = {"admin", "administrator", "root", "password", "calvin", "changeme", "superuser", "default", "ipmi", "bmc", "openbmc"}


class SecretLooksFactory(Rule):
    """Name secrets by what they are for.

    What it checks:
        `password` is not a word that makers ship BMCs with: admin, calvin, changeme and the like.

    Why it matters:
        `password` is the name of a secret. One that is called like a factory password is mostly the password itself, written
        into the intent: it is in Git, and no such secret exists.

    How to fix:
        Put the password into the secrets under a name such as bmc-password, and write that name.

    Source:
        Makers' manuals: root/calvin (Dell iDRAC before 2019), ADMIN/ADMIN (Supermicro before 2020), root/0penBmc (OpenBMC).
    """

    id, severity, title = "ACC005", "warning", "secret called like a factory password"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        for where, whose, value in _settings(design, "password"):
            if str(value) in _FACTORY:
                yield self.finding(
                    where,
                    f"the secret of {whose} is called {value}, as a factory password is",
                    "the name of a secret, such as bmc-password",
                    str(value),
                    "put the password into the secrets as bmc-password, and write that name",
                )


class SecretShared(Rule):
    """Keep BMC passwords apart from those of people.

    What it checks:
        No secret is both a BMC's password and an administrator's.

    Why it matters:
        The one is a password, the other a crypt(5) hash of one: a secret that is both opens neither.

    How to fix:
        Name two secrets.

    Source:
        docs/boot.md: `password` of an administrator holds a crypt(5) hash.
    """

    id, title = "ACC006", "one secret for BMCs and administrators"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        asked = design.cluster.provisioning
        people = {admin.password: name for name, admin in asked.admins.items() if admin.password} if asked is not None else {}
        for where, whose, value in _settings(design, "password"):
            if value in people:
                yield self.finding(
                    where,
                    f"the secret {value} is the password of {whose} and the hash of {people[str(value)]}'s",
                    "a secret of its own",
                    str(value),
                    "name another secret, such as bmc-password",
                )


class BmcUserTooLong(Rule):
    """Give BMC users names that IPMI can say.

    What it checks:
        `user` has 16 characters or fewer, unless `protocol` is redfish.

    Why it matters:
        IPMI has 16 bytes for a user name: the login is cut off or refused, on every BMC that Redfish does not reach.

    How to fix:
        Take a shorter name, or set `protocol: redfish`.

    Source:
        IPMI 2.0 specification, section 22.28 (Set User Name): 16 bytes.
    """

    id, title = "ACC007", "BMC user that IPMI cannot say"

    def find(self, design: Design) -> Iterator[Diagnostic]:
        bmc = design.cluster.bmc
        for where, whose, value in _settings(design, "user"):
            protocol = bmc.of(where.split(".")[2]).protocol if where.startswith("bmc.groups") else bmc.protocol
            if protocol != "redfish" and len(str(value)) > 16:
                yield self.finding(
                    where,
                    f"the user of {whose} has {len(str(value))} characters",
                    "16 characters or fewer",
                    str(value),
                    "take a shorter name, or set protocol to redfish",
                )
