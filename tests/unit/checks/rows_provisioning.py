"""Rows of the rules about provisioning: PRV."""

from __future__ import annotations

from dataclasses import replace

from small_plan import chain, intent, items, plan

from cluster_model.plan.model import Vlan
from cluster_model.plan.model.provisioning import (
    Account,
    BootHost,
    BootServer,
    DiskRule,
    Installation,
    Partition,
    Provisioning,
    WipeRule,
)

ASKED = {"admins": {"ops": {"keys": ["ssh-ed25519 AAAA ops"]}}}
OPEN = DiskRule("", 0, 0)
ROOT = Partition("root", 0, "linux", "ext4", "/", True)
ADDRESS = "10.66.9.20"


def _installation(group="control", **values):
    whole = Installation(
        group=group,
        method="image",
        distribution="ubuntu",
        release="noble",
        image="ubuntu-noble",
        firmware="uefi",
        loader="tftp",
        kernel_arguments=(),
        system_count=2,
        system=OPEN,
        partitions=(ROOT,),
        wipe=(),
        where=f"provisioning.groups.{group}",
    )
    return replace(whole, **values)


def _host(number, **values):
    whole = BootHost(f"control-{number:03d}", "control", "oob", f"02:00:00:00:01:0{number}", f"10.66.9.2{number}/24", "", (), ())
    return replace(whole, **values)


HOSTS = tuple(_host(number) for number in (1, 2, 3))
WHOLE = Provisioning(
    servers=(BootServer("control-001", ADDRESS),),
    is_asked=True,
    accounts=(Account("ops", ("ssh-ed25519 AAAA ops",), ""),),
    installations=(_installation(),),
    hosts=HOSTS,
)


def _provisioning(asked=ASKED, **values):
    return chain(intent("provisioning", asked), plan(provisioning=replace(WHOLE, **values)))


def _install(**values):
    return _provisioning(installations=(_installation(**values),))


def _relays(*addresses):
    vlan = Vlan(11, "bmc", "10.66.9.1/24", "10.66.9.0/24", addresses)
    return items("switches", "oob-leaf-01", vlans=(vlan,))


BIG = DiskRule("", 900, 0)
AUTO = {"method": "autoinstall"}

FIRES = {
    "PRV003": {
        "password alone": (_provisioning(accounts=(Account("eve", (), "eve-hash"),)), "eve has no SSH key"),
    },
    "PRV004": {
        "nobody": (_provisioning(servers=()), "there are no control servers"),
        "named": (_provisioning({**ASKED, "servers": "storage"}, servers=()), "storage has no port"),
    },
    "PRV005": {
        "elsewhere": (chain(_provisioning(), _relays("10.255.0.67")), "oob-leaf-01"),
        "one too many": (chain(_provisioning(), _relays(ADDRESS, "10.255.0.67")), "others than the servers that answer"),
        "nowhere": (chain(_provisioning(), _relays()), "others than the servers that answer"),
    },
    "PRV006": {
        "one of three": (_provisioning(hosts=HOSTS[:2]), "1 server of control without a port"),
        "a whole group": (_provisioning(installations=(_installation(), _installation("storage"))), "4 servers of storage"),
    },
    "PRV007": {
        "one of three": (_provisioning(hosts=(*HOSTS[:2], _host(3, mac=""))), "1 of 3 servers cannot be installed yet"),
    },
    "PRV008": {"bios": (_install(firmware="bios", loader="http"), "control have a BIOS")},
    "PRV009": {"debian": (_install(**AUTO, distribution="debian"), "control asks for another")},
    "PRV010": {"root": (_provisioning(accounts=(Account("root", ("k",), ""),)), "root is an account")},
    "PRV011": {
        "by size": (_install(**AUTO, system=BIG), "by size"),
        "by size and model": (_install(**AUTO, system=DiskRule("ACME*", 0, 9)), "by size"),
        "by WWN": (
            _provisioning(
                installations=(_installation(**AUTO),), hosts=tuple(_host(n, wwns=(f"0x{n}0", f"0x{n}1")) for n in (1, 2, 3))
            ),
            "by WWN",
        ),
    },
    "PRV012": {
        "one of two": (_provisioning(hosts=(_host(1, serials=("A",)), *HOSTS[1:])), "1 server of control with another number"),
        "three": (_provisioning(hosts=(_host(1, serials=("A", "B"), wwns=("0x1",)), *HOSTS[1:])), "control-001"),
    },
    "PRV013": {
        "system": (_install(system=DiskRule("", 9, 8)), "above 9 GB and below 8 GB"),
        "wipe": (_install(wipe=(WipeRule(DiskRule("X*", 9, 8), "me"),)), "above 9 GB and below 8 GB"),
    },
    "PRV014": {"open": (_install(wipe=(WipeRule(None, "me"), WipeRule(OPEN, "me"))), "every disk of control")},
    "PRV015": {
        "data drives": (
            _provisioning(installations=(_installation("storage"),), hosts=(_host(1, name="storage-001", group="storage"),)),
            "24 data drives",
        ),
    },
}
SILENT = {
    "PRV003": {"a key": _provisioning()},
    "PRV004": {"a server": _provisioning(), "not asked": plan(provisioning=Provisioning())},
    "PRV005": {"the same": chain(_provisioning(), _relays(ADDRESS)), "nobody and nowhere": chain(_relays(), plan())},
    "PRV006": {"all": _provisioning()},
    "PRV007": {"all known": _provisioning()},
    "PRV008": {"uefi": _install(loader="http"), "tftp": _install(firmware="bios")},
    "PRV009": {"image": _install(distribution="debian"), "ubuntu": _install(**AUTO)},
    "PRV010": {"ops": _provisioning()},
    "PRV011": {
        "image": _install(system=BIG),
        "by model": _install(**AUTO, system=DiskRule("ACME*", 0, 0)),
        "by serial number": _provisioning(
            installations=(_installation(**AUTO),), hosts=tuple(_host(n, serials=(f"{n}A", f"{n}B")) for n in (1, 2, 3))
        ),
    },
    "PRV012": {"two": _provisioning(hosts=(_host(1, serials=("A",), wwns=("0x1",)), *HOSTS[1:]))},
    "PRV013": {"one size": _install(system=DiskRule("", 8, 8)), "no bound": _install(system=BIG)},
    "PRV014": {"named": _install(wipe=(WipeRule(None, "me"), WipeRule(DiskRule("OLD*", 0, 0), "me")))},
    "PRV015": {
        "a model": _provisioning(
            installations=(_installation("storage", system=DiskRule("ACME*", 0, 0)),),
            hosts=(_host(1, name="storage-001", group="storage"),),
        ),
        "serial numbers": _provisioning(
            installations=(_installation("storage"),),
            hosts=(_host(1, name="storage-001", group="storage", serials=("A", "B")),),
        ),
        "no data drives": _provisioning(),
    },
}
