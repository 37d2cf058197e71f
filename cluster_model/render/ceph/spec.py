"""ceph/spec.yaml and gateways.yaml, what cephadm's orchestrator is told, and ceph/ceph.conf, by which all find the monitors."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor

from cluster_model.paths import TEMPLATES
from cluster_model.plan.model import Plan
from cluster_model.plan.model.ceph import CephCluster, ObjectStore, OsdHost
from cluster_model.render.kubernetes.objects import Json, write_objects
from cluster_model.render.templating import open_templates

SLACK = 0.02
"""Part of its nominal size by which a drive may be larger or smaller. Our own choice: makers round."""
UNITS = ("KB", "MB", "GB", "TB", "PB")
"""What ceph-volume calls 1024, 1024^2 bytes and so on. Source: Ceph, ceph_volume/util/disk.py, human_readable_size."""


def render_spec(plan: Plan) -> Iterator[tuple[str, bytes]]:
    """Yield ceph/ceph.conf and ceph/spec.yaml, and ceph/gateways.yaml where there is an object store."""
    text = open_templates(TEMPLATES).get_template("ceph/ceph.conf.j2").render(name=plan.name, ceph=plan.ceph)
    yield "ceph/ceph.conf", text.encode()
    if plan.ceph.deploy != "cephadm":
        return
    about = "What playbooks/ceph.yml has cephadm's orchestrator bring to hosts, in the order of docs/ceph.md."
    yield "ceph/spec.yaml", write_objects(about, [*list_hosts(plan.ceph), *list_daemons(plan)])
    if plan.ceph.store:
        about = "What playbooks/ceph.yml has it run last: without their realm gateways would make a zone of their own."
        yield "ceph/gateways.yaml", write_objects(about, [describe_gateways(plan.ceph.store)])


def list_hosts(ceph: CephCluster) -> Iterator[Json]:
    """Yield the hosts: monitors first, then those with OSDs, each with its place in CRUSH, which cephadm takes once."""
    osds = {host.name: host for host in ceph.hosts}
    monitors = {monitor.name: monitor.address for monitor in ceph.monitors}
    metadata = {server.name: server.address for files in ceph.filesystems for server in files.servers}
    gateways = {server.name: server.address for server in ceph.gateways}
    for name, address in (monitors | {host.name: host.address for host in ceph.hosts} | metadata | gateways).items():
        host: Json = {"service_type": "host", "hostname": name, "addr": address, "labels": []}
        if name in monitors:
            host["labels"] += ["_admin", "mon"]  # cephadm keeps ceph.conf and the administrator's key on hosts with _admin
        if name in osds:
            host["labels"] += ["osd", *([f"osd-{osds[name].group}"] if len(ceph.groups) > 1 else [])]
            host["location"] = locate_host(osds[name])
        if name in metadata:
            host["labels"].append("mds")
        if name in gateways:
            host["labels"].append("rgw")
        yield host


def locate_host(host: OsdHost) -> dict[str, str]:
    """Return where a host is in CRUSH, from the root down.

    Without the root a host lands outside of it. Source: github.com/ceph/ceph, pull request 57633.
    """
    return {"root": "default", **({"row": host.row} if host.row else {}), "rack": host.rack}


def list_daemons(plan: Plan) -> Iterator[Json]:
    """Yield what runs where: monitors, managers, metadata servers, what keeps reports of crashes, and OSDs."""
    ceph = plan.ceph
    # By itself cephadm puts monitors where it sees a subnet of the public network. Hosts have a /32 on their loopback, and it
    # sees none there, so each monitor is named with its address, for `ceph orch daemon add`.
    monitors = [f"{monitor.name}:{monitor.address}" for monitor in ceph.monitors]
    yield {"service_type": "mon", "placement": {"hosts": monitors}, "unmanaged": True}
    yield {"service_type": "mgr", "placement": {"hosts": [manager.name for manager in ceph.managers]}}
    for files in ceph.filesystems:
        placement = {"hosts": [server.name for server in files.servers]}
        yield {"service_type": "mds", "service_id": files.name, "placement": placement}
    yield {"service_type": "crash", "placement": {"host_pattern": "*"}}
    for group in ceph.groups:
        drives: Json = {"rotational": int(group.device_class == "hdd"), "size": write_size(group.drive_tb)}
        several: Json = {"osds_per_device": group.per_drive} if group.per_drive > 1 else {}  # which raw ones know nothing of
        spec: Json = {"data_devices": drives, **several, "crush_device_class": group.device_class}
        where = {"label": f"osd-{group.name}" if len(ceph.groups) > 1 else "osd"}
        # Managed, it would make an OSD of every drive that somebody swaps or zaps later.
        yield {"service_type": "osd", "service_id": group.name, "placement": where, "unmanaged": True, "spec": spec}


def describe_gateways(store: ObjectStore) -> Json:
    """Return where gateways run. Their zone group they are told by an option: 16.2 takes none here."""
    placement = {"hosts": [server.name for server in store.servers]}
    about = {"rgw_realm": store.realm, "rgw_zone": store.zone, "rgw_frontend_port": store.port}
    return {"service_type": "rgw", "service_id": store.zone, "placement": placement, "spec": about}


def write_size(capacity_tb: float) -> str:
    """Return the sizes that drives of a capacity may have, as Ceph's drive selection reads them.

    It takes the number that ceph-volume prints, in steps of 1024, for one in steps of 1000; bounds of a range have no point.

    >>> write_size(15.36)
    '13690GB:14250GB'
    """
    size, unit = capacity_tb * 1e12, -1
    while size >= 1024:
        size, unit = size / 1024, unit + 1
    scaled, smaller = size * 1000, UNITS[unit - 1]
    return f"{floor(scaled * (1 - SLACK))}{smaller}:{ceil(scaled * (1 + SLACK))}{smaller}"
