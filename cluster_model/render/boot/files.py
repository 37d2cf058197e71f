"""boot/: what takes a machine from power-on to an operating system. docs/boot.md is the agreement on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from cluster_model.catalogue.load import Catalogue
from cluster_model.catalogue.platform_types import Ztp
from cluster_model.plan.model import Plan, Switch
from cluster_model.plan.model.provisioning import Installation
from cluster_model.references import name_token
from cluster_model.render.boot.autoinstall import render_autoinstall
from cluster_model.render.boot.host import HostWriter
from cluster_model.render.boot.kea import render_kea
from cluster_model.render.boot.shared import (
    boot_environment,
    list_resolvers,
    list_time_servers,
    locate_boot_server,
)

FORMAT = "gpuyard-boot-1"
SCRIPTS = ("boot", "local", "unknown")
Json = dict[str, Any]


def render_boot(plan: Plan, catalogue: Catalogue) -> Iterator[tuple[str, bytes]]:
    """Yield every file below boot/. Without a boot server that is DHCP alone; without `provisioning` no host is installed."""
    ztp = _list_ztp(plan, catalogue)
    yield from render_kea(plan, ztp, list_time_servers(plan), list_resolvers(plan))
    server = plan.provisioning.boot_server
    if server is None:
        return
    yield "boot/boot.json", _format(_describe(plan, ztp))
    environment, url = boot_environment(), locate_boot_server(plan)
    for name in SCRIPTS:
        text = environment.get_template(f"boot/{name}.ipxe.j2").render(cluster=plan.name, url=url, address=server.address)
        yield f"boot/ipxe/{name}.ipxe", text.encode()
    for nos, way in ztp.items():
        if way.file == f"{nos}.sh":
            yield f"boot/ztp/{way.file}", environment.get_template(f"switch/{nos}/ztp.sh.j2").render(url=url).encode()
    yield from _render_hosts(plan)


def _list_ztp(plan: Plan, catalogue: Catalogue) -> dict[str, Ztp]:
    """Return the zero touch provisioning of the plan's network operating systems that have one, by name, sorted."""
    platforms = {nos: catalogue.platforms.get(nos) for nos in sorted({switch.nos for switch in plan.switches})}
    return {nos: platform.ztp for nos, platform in platforms.items() if platform and platform.ztp}


def _render_hosts(plan: Plan) -> Iterator[tuple[str, bytes]]:
    writer, url = HostWriter(plan), locate_boot_server(plan)
    script = boot_environment().get_template("boot/host.ipxe.j2")
    for host in plan.provisioning.hosts:
        installation = writer.installations[host.group]
        yield f"boot/hosts/{host.name}.json", writer.write(host, plan.server(host.name))
        arguments = "".join(f" {argument}" for argument in installation.kernel_arguments)
        text = script.render(host=host, installation=installation, url=url, token=name_token(host.name), arguments=arguments)
        yield f"boot/ipxe/hosts/{host.name}.ipxe", text.encode()
        if installation.method == "autoinstall":
            yield from render_autoinstall(plan, writer, host)


def _describe(plan: Plan, ztp: Mapping[str, Ztp]) -> Json:
    provisioning = plan.provisioning
    first, *others = provisioning.servers
    installations = {item.group: item for item in provisioning.installations}
    hosts: Json = {}
    for host in provisioning.hosts:
        server, item = plan.server(host.name), installations[host.group]
        hosts[host.name] = {
            "mac": host.mac,
            "address": host.address.partition("/")[0],
            "serial": server.serial,
            "group": host.group,
            "rack": server.rack,
            "method": item.method,
            "image": item.image,
            "firmware": item.firmware,
            "loader": item.loader,
        }
    return {
        "format": FORMAT,
        "cluster": plan.name,
        "digest": plan.digest,
        "server": {"name": first.name, "address": first.address, "url": locate_boot_server(plan)},
        "standby": [{"name": server.name, "address": server.address} for server in others],
        "images": _list_images(provisioning.installations, Counter(host.group for host in provisioning.hosts)),
        "hosts": hosts,
        "switches": {s.name: _describe_switch(s) for s in plan.switches if s.nos in ztp and s.management},
    }


def _list_images(installations: tuple[Installation, ...], counts: Counter[str]) -> Json:
    found: Json = {}
    for item in installations:
        head = {"method": item.method, "distribution": item.distribution, "release": item.release, "hosts": 0}
        found.setdefault(item.image, head)["hosts"] += counts[item.group]
    return dict(sorted(found.items()))


def _describe_switch(switch: Switch) -> Json:
    assert switch.management is not None
    address = switch.management.address.partition("/")[0]
    return {"mac": switch.management.mac, "address": address, "serial": switch.serial, "nos": switch.nos}


def _format(body: Json) -> bytes:
    """Return JSON with one line per host, switch and image."""
    lists = ("images", "hosts", "switches")
    parts = [orjson.dumps(key) + b": " + orjson.dumps(value) for key, value in body.items() if key not in lists]
    for key in lists:
        lines = b",\n".join(b"    " + orjson.dumps(name) + b": " + orjson.dumps(entry) for name, entry in body[key].items())
        parts.append(orjson.dumps(key) + b": {" + (b"\n" + lines + b"\n  " if lines else b"") + b"}")
    return b"{\n  " + b",\n  ".join(parts) + b"\n}\n"
