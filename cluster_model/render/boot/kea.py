"""boot/kea/: DHCP for every out-of-band subnet, as Kea takes it. Known devices get their planned addresses, by MAC alone.

Checked by `kea-dhcp4 -t`. Names and meanings: Kea Administrator Reference Manual 2.2, chapter 8 (The DHCPv4 Server).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Network
from typing import Any

import orjson

from cluster_model.catalogue.platform_types import Ztp
from cluster_model.plan.model import Management, Plan
from cluster_model.plan.model.provisioning import BootServer, Segment
from cluster_model.plan.services.provisioning import find_boot_port

Json = dict[str, Any]
LIFETIME_S = 86_400
"""A day: a BMC keeps its address over a night without a boot server."""
STRANGER_LIFETIME_S = 600
"""Ten minutes: long enough to be asked who it is, short enough to move to its planned address once it is known."""
SOCKET_WAIT_MS, SOCKET_RETRIES = 10_000, 8640
"""A port without a carrier is looked at again for a day: Kea opens no socket on it at its start, and would stay deaf for ever."""


def render_kea(
    plan: Plan, ztp: Mapping[str, Ztp], time_servers: tuple[str, ...], resolvers: tuple[str, ...]
) -> Iterator[tuple[str, bytes]]:
    """Yield the configuration of the boot server, and of the standby servers where there are any.

    `ztp` has the zero touch provisioning of the plan's network operating systems, by name.

    The standbys answer known devices alike; strangers are the boot server's alone, since two servers without a common database of
    leases must not hand out of one pool.
    """
    provisioning = plan.provisioning
    if not provisioning.segments:
        return
    yield "boot/kea/kea-dhcp4.conf", _format(_build(plan, ztp, provisioning.offers_unknown, time_servers, resolvers))
    if len(provisioning.servers) > 1:
        yield "boot/kea/kea-dhcp4-standby.conf", _format(_build(plan, ztp, False, time_servers, resolvers))


def _build(
    plan: Plan, ztp: Mapping[str, Ztp], offers_unknown: bool, time_servers: tuple[str, ...], resolvers: tuple[str, ...]
) -> Json:
    boot = plan.provisioning.boot_server
    known = _list_reservations(plan, ztp if boot else {})
    options = [_option("domain-name", plan.site.domain)]
    if resolvers:
        options.append(_option("domain-name-servers", ", ".join(resolvers)))
    if time_servers:
        options.append(_option("ntp-servers", ", ".join(time_servers)))
    body: Json = {
        # Requests come through relays, and on the server's own subnet as broadcasts; no reservation fits anything else.
        "interfaces-config": {
            "interfaces": ["*"],
            "dhcp-socket-type": "raw",
            "service-sockets-max-retries": SOCKET_RETRIES,
            "service-sockets-retry-wait-time": SOCKET_WAIT_MS,
        },
        "lease-database": {"type": "memfile", "persist": True, "name": "/var/lib/kea/kea-leases4.csv", "lfc-interval": 3600},
        "authoritative": True,
        "valid-lifetime": LIFETIME_S,
        # Firmware, iPXE, installer and system have client ids of their own and one MAC.
        "match-client-id": False,
        "host-reservation-identifiers": ["hw-address"],
        "reservations-global": False,
        "reservations-in-subnet": True,
        "reservations-out-of-pool": True,
        "option-data": options,
        "option-def": [{"name": "provisioning-script-url", "code": 239, "space": "dhcp4", "type": "string"}],
        "client-classes": [*_loader_classes(boot), *_ztp_classes(ztp, boot), *_stranger_class(offers_unknown)],
        "subnet4": [_describe_subnet(segment, known[segment.gateway], offers_unknown) for segment in plan.provisioning.segments],
        "loggers": [{"name": "kea-dhcp4", "severity": "INFO", "output_options": [{"output": "stdout"}]}],
    }
    return {"Dhcp4": body}


def _option(name: str, data: str) -> Json:
    return {"name": name, "data": data}


def _loader_classes(boot: BootServer | None) -> Iterator[Json]:
    """Yield what each kind of firmware is told to load. Sources: RFC 4578 and IANA's architecture types; UEFI 2.10, 24.7."""
    if boot is None:
        return
    url = f"http://{boot.address}"
    yield {
        "name": "ipxe",  # else iPXE would load itself for ever
        "test": "option[77].hex == 'iPXE'",
        "next-server": boot.address,
        "boot-file-name": f"{url}/boot.ipxe",
    }
    tftp = {"bios": ("0x0000",), "uefi": ("0x0007", "0x0009")}
    files = {"bios": "undionly.kpxe", "uefi": "ipxe.efi"}
    for name, types in tftp.items():
        wanted = " or ".join(f"option[93].hex == {number}" for number in types)
        yield {
            "name": name,
            "test": f"not member('ipxe') and ({wanted})",
            "next-server": boot.address,
            "boot-file-name": files[name],
        }
    yield {
        "name": "uefi-http",
        "test": "not member('ipxe') and option[93].hex == 0x0010 and substring(option[60].hex, 0, 10) == 'HTTPClient'",
        "option-data": [
            {"name": "vendor-class-identifier", "data": "HTTPClient", "always-send": True},
            {"name": "boot-file-name", "data": f"{url}/loader/ipxe.efi", "always-send": True},
        ],
    }


def _ztp_classes(ztp: Mapping[str, Ztp], boot: BootServer | None) -> Iterator[Json]:
    if boot is None:
        return
    for nos, way in sorted(ztp.items()):
        option = {"name": way.option, "data": f"http://{boot.address}/v1/ztp/{way.file}", "always-send": True}
        yield {"name": f"ztp-{nos}", "option-data": [option]}


def _stranger_class(offers_unknown: bool) -> Iterator[Json]:
    if offers_unknown:
        yield {"name": "stranger", "test": "member('UNKNOWN')", "valid-lifetime": STRANGER_LIFETIME_S}


def _describe_subnet(segment: Segment, reservations: list[Json], offers_unknown: bool) -> Json:
    body: Json = {
        "id": int(IPv4Network(segment.prefix).network_address),  # the address itself: it never changes
        "subnet": segment.prefix,
        "user-context": {"switch": segment.switch, "segment": segment.name, "vlan": segment.vlan},
        "relay": {"ip-addresses": [segment.gateway]},
        "option-data": [_option("routers", segment.gateway)],
    }
    if offers_unknown and segment.first and segment.name != "switch":
        body["pools"] = [{"pool": f"{segment.first} - {segment.last}", "client-class": "stranger"}]
    return {**body, "reservations": reservations}


def _list_reservations(plan: Plan, ztp: Mapping[str, Ztp]) -> dict[str, list[Json]]:
    """Return the reservations by the gateway of their subnet: what has a MAC and an address, in the plan's order."""
    found: defaultdict[str, list[Json]] = defaultdict(list)
    for gateway, reservation in _reserve(plan, ztp):
        found[gateway].append(reservation)
    return found


def _reserve(plan: Plan, ztp: Mapping[str, Ztp]) -> Iterator[tuple[str, Json]]:
    for server in plan.servers:
        yield from _reserve_one(f"{server.name}-bmc", server.bmc)
        port = find_boot_port(server.ports)
        if port is not None and port.mac:
            yield port.gateway, _reservation(port.mac, port.address, server.name)
    for pdu in plan.pdus:
        yield from _reserve_one(pdu.name, pdu.management)
    for switch in plan.switches:
        yield from _reserve_one(switch.name, switch.management, [f"ztp-{switch.nos}"] if switch.nos in ztp else ())


def _reserve_one(name: str, management: Management | None, classes: Iterable[str] = ()) -> Iterator[tuple[str, Json]]:
    if management is not None and management.mac and management.address:
        more = {"client-classes": list(classes)} if classes else {}
        yield management.gateway, {**_reservation(management.mac, management.address, name), **more}


def _reservation(mac: str, address: str, name: str) -> Json:
    return {"hw-address": mac, "ip-address": address.partition("/")[0], "hostname": name}


def _format(body: Json) -> bytes:
    """Return JSON with one line per subnet option and per reservation, so that a difference can be read."""
    dhcp = dict(body["Dhcp4"])
    subnets = dhcp.pop("subnet4")
    head = orjson.dumps({"Dhcp4": dhcp}, option=orjson.OPT_INDENT_2).rpartition(b"\n  }\n}")[0]
    return head + b',\n    "subnet4": [\n' + b",\n".join(map(_format_subnet, subnets)) + b"\n    ]\n  }\n}\n"


def _format_subnet(subnet: Json) -> bytes:
    reservations = subnet["reservations"]
    head = orjson.dumps({key: value for key, value in subnet.items() if key != "reservations"})[:-1]
    lines = b",\n".join(b"        " + orjson.dumps(reservation) for reservation in reservations)
    return b"      " + head + b',"reservations":[' + (b"\n" + lines + b"\n      " if lines else b"") + b"]}"
