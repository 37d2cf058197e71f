"""boot/autoinstall/NAME/: complete answers for Ubuntu's installer, so that nothing edits them on the way.

Format: subiquity, doc/reference/autoinstall-reference.rst and autoinstall-schema.json of August 2026; storage actions: curtin's
storage documentation. The installer matches disks by model or ID_SERIAL, both with shell patterns, and never counts them: the
early command does, and looks whether they are empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cluster_model.plan.model import Plan
from cluster_model.plan.model.provisioning import BootHost, Installation, Partition
from cluster_model.references import name_token
from cluster_model.render.boot.host import HostWriter, describe_system, describe_wipe
from cluster_model.render.boot.shared import boot_environment, list_time_servers

Json = dict[str, Any]
JSON_TYPE = "application/json"
INSTALLER_KEY = "/etc/ssh/ssh_host_ed25519_key.pub"
HOST_KEY = "/target/etc/ssh/ssh_host_ed25519_key"


def render_autoinstall(plan: Plan, writer: HostWriter, host: BootHost) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a host's seed."""
    installation = writer.installations[host.group]
    token = name_token(host.name)
    report_url = f"{writer.url}/v1/report/{host.name}?token={token}"
    environment = boot_environment()
    rules = {"system": describe_system(installation, host), "wipe": describe_wipe(installation)}
    find_disks = environment.get_template("boot/find-disks.py.j2").render(rules=repr(rules), report=repr(report_url))

    def report(state: str, step: str, facts: str = "{}") -> str:
        body = f'{{"state":"{state}","step":"{step}","message":"","facts":{facts}}}'
        return (
            f"curl -fsS --retry 10 --retry-delay 3 --retry-connrefused -H 'Content-Type: {JSON_TYPE}' -d '{body}' '{report_url}'"
        )

    text = environment.get_template("boot/user-data.j2").render(
        host=host,
        site=plan.site,
        resolvers=writer.resolvers,
        time_servers=list_time_servers(plan),
        users=writer.users,
        storage=list(list_actions(installation, host)),
        arguments=" ".join(installation.kernel_arguments),
        find_disks=find_disks,
        report=report,
        report_installer_key=f"key=$(cut -d ' ' -f 1-2 {INSTALLER_KEY}); "
        + report("installing", "start", '{"installer_key":"\'"$key"\'"}'),
        # Whoever logs in afterwards wants this key and no other. JSON takes its letters, digits and one space as they are.
        report_host_key=f"key=$(cut -d ' ' -f 1-2 {HOST_KEY}.pub) && " + report("installed", "done", '{"host_key":"\'"$key"\'"}'),
    )
    folder = f"boot/autoinstall/{host.name}"
    yield f"{folder}/user-data", text.encode()
    yield f"{folder}/meta-data", f"instance-id: gpuyard-{host.name}\nlocal-hostname: {host.name}\n".encode()
    yield f"{folder}/vendor-data", b"#cloud-config\n{}\n"


def list_actions(installation: Installation, host: BootHost) -> Iterator[Json]:
    """Yield curtin's storage actions: disks, their partitions, mirrors, file systems, mounts."""
    disks = [f"disk-{number}" for number in range(installation.system_count)]
    for number, disk in enumerate(disks):
        yield {
            "id": disk,
            "type": "disk",
            "ptable": "gpt",
            "wipe": "superblock-recursive",
            "preserve": False,
            "grub_device": installation.firmware == "bios",
            **_match_disk(installation, host, number),
        }
        for part in installation.partitions:
            yield _partition(part, disk)
    for part in installation.partitions:
        volumes = [f"{part.name}-{disk}" for disk in disks]
        if part.mirror:
            name = f"mirror-{part.name}"
            body = {"raidlevel": "raid1", "metadata": "1.2", "devices": volumes, "preserve": False}
            yield {"id": name, "type": "raid", "name": part.name, **body}
            volumes = [name]
        if part.filesystem:
            yield from _fill(part, volumes)


def _match_disk(installation: Installation, host: BootHost, number: int) -> Json:
    if host.serials:
        return {"match": {"serial": f"*{host.serials[number]}"}} if number < len(host.serials) else {}
    if installation.system.model:
        return {"match": {"model": installation.system.model.replace(" ", "?")}}  # udev may write underscores
    return {}


def _partition(part: Partition, disk: str) -> Json:
    body: Json = {"id": f"{part.name}-{disk}", "type": "partition", "device": disk, "preserve": False, "wipe": "superblock"}
    body["size"] = part.size_mib * 2**20 if part.size_mib else -1
    if part.type == "esp":
        body |= {"flag": "boot", "grub_device": True}
    elif part.type == "bios":
        body |= {"flag": "bios_grub"}
    elif part.filesystem == "swap":
        body |= {"flag": "swap"}
    return body


def _fill(part: Partition, volumes: list[str]) -> Iterator[Json]:
    """Yield file systems on the volumes of a partition; the first of them is mounted."""
    kinds = {"vfat": "fat32"}
    for number, volume in enumerate(volumes):
        name = f"format-{volume}"
        yield {"id": name, "type": "format", "fstype": kinds.get(part.filesystem, part.filesystem), "volume": volume}
        if number == 0:
            yield {"id": f"mount-{part.name}", "type": "mount", "device": name, "path": part.mount or "none"}
