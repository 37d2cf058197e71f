"""What Ceph itself makes of spec files; run by the Python that has Ceph's packages. Prints JSON.

Arguments: the files. Standard input: the drives of each host, {host: [[path, bytes, spins, is empty]]}.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import yaml
from ceph.deployment.drive_group import DriveGroupSpec
from ceph.deployment.drive_selection.selector import DriveSelection
from ceph.deployment.hostspec import HostSpec
from ceph.deployment.inventory import Device
from ceph.deployment.service_spec import ServiceSpec
from ceph.deployment.translate import to_ceph_volume
from ceph_volume.util.disk import human_readable_size


def see(path, size, spins, is_empty):
    """Return a drive as ceph-volume tells the orchestrator of it."""
    seen = {"size": size, "human_readable_size": human_readable_size(size), "rotational": str(int(spins))}
    return Device(path=path, available=is_empty, sys_api=seen)


def main(files, drives):
    """Print hosts, what runs where, and which drives of which host become OSDs by which command."""
    documents = [each for file in files for each in yaml.safe_load_all(Path(file).read_text()) if each]
    hosts = [HostSpec.from_json(each) for each in documents if each["service_type"] == "host"]
    for host in hosts:
        host.validate()
    services, osds = {}, {}
    for each in documents:
        if each["service_type"] == "host":
            continue
        spec = ServiceSpec.from_json(each)
        spec.validate()
        chosen = spec.placement.filter_matching_hostspecs(hosts)
        services[spec.service_name()] = chosen
        if not isinstance(spec, DriveGroupSpec):
            continue
        for host in chosen:
            selection = DriveSelection(spec, [see(*drive) for drive in drives.get(host, [])])
            said = to_ceph_volume(selection, []).run()
            taken = [device.path for device in selection.data_devices()]
            osds.setdefault(host, []).append([spec.service_name(), taken, said if isinstance(said, list) else [said]])
    told = {"hosts": [host.to_json() for host in hosts], "services": services, "osds": osds}
    sys.stdout.write(json.dumps(told))


main(sys.argv[1:], json.load(sys.stdin))
