"""The same fabric for containerlab: a topology file and what its containers read, for those who have images.

EOS switches become cEOS with their rendered startup-config. All others run FRR from the frr.conf that the twin boots, with the
addresses of their rendered interfaces; a container of SONiC or Cumulus itself is not made of it.
Sources: containerlab.dev, "Topology definition" and "Arista cEOS" (read 2026-11): nodes with kind, image, binds, exec and
startup-config; a cEOS port Ethernet1/1 is the endpoint eth1_1. Its source (2026-08): schemas/clab.schema.json;
nodes/ceos/ceos.go (ports' names, the startup-config as a template); nodes/linux/linux.go and links/link.go (ports' names).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from cluster_model.twin.ethernet.fabric import NO_NEXTHOP_OBJECTS
from cluster_model.twin.ethernet.lines import list_host_lines, list_site_lines, list_switch_lines
from cluster_model.twin.ethernet.scope import SITE, Scope
from cluster_model.twin.tree import Tree, fill_secrets, name_device

FRR_IMAGE = "quay.io/frrouting/frr:8.5.4"
HOST_IMAGE = "alpine:3"
CEOS_IMAGE = "ceos:latest"
_DAEMONS = "bgpd=yes\nbfdd=yes\nstaticd=yes\nvtysh_enable=yes\n"
_SYSCTLS = {"net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1, "net.ipv4.fib_multipath_hash_policy": 1}


def export_containerlab(tree: Tree, scope: Scope) -> Iterator[tuple[str, str]]:
    """Yield (relative path, text) of every file: `<cluster>.clab.yml` last."""
    nodes: dict[str, dict[str, Any]] = {}
    ceos = set()
    for switch in scope.switches.values():
        files = tree.switch_files(switch)
        startup = tree.folder / "switches" / switch.name / "startup.cfg"
        if switch.nos == "eos" and startup.is_file():
            ceos.add(switch.name)
            # containerlab reads it as a Go template, in which the name of a secret is an error: the fixed dummy stands there.
            yield f"{switch.name}/startup.cfg", fill_secrets(startup.read_text("utf-8"))
            nodes[switch.name] = {"kind": "arista_ceos", "image": CEOS_IMAGE, "startup-config": f"{switch.name}/startup.cfg"}
            continue
        plugged = {name_device(port) for link in scope.links for owner, port in link.ends if owner == switch.name}
        text = files.files["frr.conf"]
        if NO_NEXTHOP_OBJECTS not in text:
            text = text.replace("!\n", f"{NO_NEXTHOP_OBJECTS}!\n", 1)
        yield f"{switch.name}/frr.conf", text
        yield f"{switch.name}/daemons", files.files.get("daemons", _DAEMONS)
        yield f"{switch.name}/up.sh", _format_script(list_switch_lines(files.plane, plugged))
        nodes[switch.name] = {
            "kind": "linux",
            "image": FRR_IMAGE,
            "sysctls": dict(_SYSCTLS),
            "binds": [
                f"{switch.name}/frr.conf:/etc/frr/frr.conf",
                f"{switch.name}/daemons:/etc/frr/daemons",
                f"{switch.name}/up.sh:/up.sh",
            ],
            "exec": ["sh /up.sh"],
        }
    for server in scope.servers.values():
        plugged = {port for link in scope.links for owner, port in link.ends if owner == server.name}
        yield f"{server.name}/up.sh", _format_script(list_host_lines(server, plugged))
        nodes[server.name] = _describe_host(server.name)
    if any(link.b == SITE for link in scope.links):
        yield f"{SITE}/up.sh", _format_script(list_site_lines(tree.plan, scope))
        nodes[SITE] = _describe_host(SITE)
    links = [{"endpoints": [_name_end(*end, end[0] in ceos) for end in link.ends]} for link in scope.links]
    body = {"name": tree.plan.name, "topology": {"nodes": nodes, "links": links}}
    yield f"{tree.plan.name}.clab.yml", yaml.safe_dump(body, sort_keys=False, width=130)


def _describe_host(name: str) -> dict[str, Any]:
    execute = ["apk add iproute2", "sh /up.sh"]
    return {"kind": "linux", "image": HOST_IMAGE, "binds": [f"{name}/up.sh:/up.sh"], "exec": execute}


def _name_end(device: str, port: str, is_ceos: bool) -> str:
    return f"{device}:{port.replace('Ethernet', 'eth').replace('/', '_') if is_ceos else name_device(port)}"


def _format_script(lines: list[str]) -> str:
    return "".join(f"ip {line}\n" for line in lines)
