"""boot/hosts/NAME.json: who a server is. docs/boot.md has it field by field; whatever installs a server reads this alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from cluster_model.plan.model import Plan, Server
from cluster_model.plan.model.provisioning import BootHost, DiskRule, Installation
from cluster_model.references import name_image_sum, name_secret, name_token
from cluster_model.render.boot.shared import list_resolvers, list_time_servers, locate_boot_server

FORMAT = "gpuyard-host-1"
Json = dict[str, Any]


class HostWriter:
    """Describes hosts; what all of them, or all of a group, have in common is made once."""

    def __init__(self, plan: Plan) -> None:
        provisioning = plan.provisioning
        self.plan = plan
        self.url = locate_boot_server(plan)
        self.resolvers = list_resolvers(plan)
        self.installations: Mapping[str, Installation] = {item.group: item for item in provisioning.installations}
        self.users = [
            {"name": account.name, "keys": account.keys, "password": name_secret(account.password) if account.password else ""}
            for account in provisioning.accounts
        ]
        self._site = {
            "timezone": plan.site.timezone,
            "resolvers": self.resolvers,
            "time_servers": list_time_servers(plan),
            "users": self.users,
        }
        self._shared = {group: self._describe_group(item) for group, item in self.installations.items()}

    def write(self, host: BootHost, server: Server) -> bytes:
        """Return the file of one host."""
        return orjson.dumps(self.describe(host, server), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)

    def describe(self, host: BootHost, server: Server) -> Json:
        """Return the content of a host's file."""
        installation = self.installations[host.group]
        shared = self._shared[host.group]
        boot = self.plan.provisioning.boot_server
        return {
            "format": FORMAT,
            "name": host.name,
            "fqdn": f"{host.name}.{self.plan.site.domain}",
            "group": host.group,
            "role": server.role,
            "serial": server.serial,
            "method": installation.method,
            "firmware": installation.firmware,
            "boot": {
                "interface": host.interface,
                "mac": host.mac,
                "address": host.address,
                "gateway": host.gateway,
                "server": boot.address if boot else "",
            },
            "network": self.write_network(host),
            **self._site,
            "image": shared["image"],
            "kernel_arguments": installation.kernel_arguments,
            "disks": {"system": describe_system(installation, host), **shared["disks"]},
            "report": f"{self.url}/v1/report/{host.name}",
            "token": name_token(host.name),
        }

    def write_network(self, host: BootHost) -> dict[str, str]:
        """Return the files of systemd-networkd for the port that a host boots from; its name comes with its MAC."""
        name, files = host.interface, {}
        if host.mac:
            files[f"10-gpuyard-{name}.link"] = f"[Match]\nPermanentMACAddress={host.mac}\n\n[Link]\nName={name}\n"
        lines = ["[Match]", f"Name={name}", "", "[Network]", f"Address={host.address}", f"Gateway={host.gateway}"]
        lines += [f"DNS={address}" for address in self.resolvers]
        lines += [f"Domains={self.plan.site.domain}", "LinkLocalAddressing=no", "IPv6AcceptRA=no"]
        files[f"10-gpuyard-{name}.network"] = "\n".join(lines) + "\n"
        return files

    def _describe_group(self, item: Installation) -> Json:
        return {
            "image": {
                "name": item.image,
                "url": f"{self.url}/images/{item.image}/",
                "sha256": name_image_sum(item.image),
            },
            "disks": {
                "mirror": item.system_count > 1,
                "partitions": item.partitions,
                "wipe": describe_wipe(item),
            },
        }


def describe_system(item: Installation, host: BootHost) -> Json:
    """Return which disks hold a host's system."""
    return {"count": item.system_count, **describe_rule(item.system, host)}


def describe_wipe(item: Installation) -> list[Json]:
    """Return what may be overwritten, with the consent to it."""
    return [
        {
            "disks": "matching" if wipe.match else "system",
            "match": describe_rule(wipe.match) if wipe.match else None,
            "consent": wipe.consent,
        }
        for wipe in item.wipe
    ]


def describe_rule(rule: DiskRule, host: BootHost | None = None) -> Json:
    """Return which disks a rule means; where a host's serial numbers or WWNs were delivered, they alone."""
    if host is not None and (host.serials or host.wwns):
        return {"serials": host.serials, "wwns": host.wwns, "model": "", "min_gb": 0, "max_gb": 0}
    return {"serials": (), "wwns": (), "model": rule.model, "min_gb": rule.min_gb, "max_gb": rule.max_gb}
