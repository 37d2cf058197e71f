# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write what a host mounts of Ceph: units of systemd, keys, and what looks after them before a job. It runs on the controller."""

from __future__ import annotations

from typing import Any

DOCUMENTATION = r"""
name: ceph_client_files
short_description: Writes what a host mounts of Ceph
description:
  - Returns the files and units of systemd for role ceph_client.
author: gpuyard maintainers
options:
  _input:
    description: >-
      C(mounts), those of the host as ceph/objects.yaml has them, and C(shared), what files/client.py of role ceph_client
      printed of C(keys) and C(paths).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Write them
  gpuyard.cluster.file_set:
    files: "{{ (about | gpuyard.cluster.ceph_client_files).files }}"
"""

RETURN = r"""
_value:
  description: >-
    C(files) and C(secrets), files as module file_set takes them, the latter with keys; and C(units), the mounts.
  type: dict
"""

OURS = "# Written by gpuyard, role ceph_client."
CHECK = """\
#!/bin/sh
# Written by gpuyard, role ceph_client. Whether the host's file systems of Ceph are there, and take what is written, before a job
# begins. Prints what is wrong; exit code 1. What hangs in one of them cannot be ended, so nobody waits for it.
limit={limit_s}
run=/run/gpuyard-ceph-mounts
mkdir -p "$run" || exit 1
wrong=0
for at in {places}; do
  kind=$(awk -v at="$at" '$2 == at {{ kind = $3 }} END {{ print kind }}' /proc/self/mounts)
  case $kind in
    ceph | fuse.ceph*) ;;
    *)
      echo "$at: not mounted; systemctl start '$(systemd-escape --path --suffix=mount "$at")'" >&2
      wrong=1
      continue
      ;;
  esac
  name=$(echo "$at" | tr / _)
  came="$run/$name.$$"
  # One at a time: what hangs there holds the lock, and those who wait for that give up.
  setsid sh -c 'flock -w "$1" "$2" sh -c "$3" - "$4"; echo $? >"$5"' - "$limit" "$run/$name.lock" \
    'echo written >"$1/.gpuyard-$(hostname)" && sync "$1/.gpuyard-$(hostname)" && rm "$1/.gpuyard-$(hostname)"' "$at" "$came" \
    </dev/null >/dev/null 2>&1 &
  tenths=0
  while [ ! -s "$came" ] && [ "$tenths" -lt "$limit"0 ]; do
    sleep 0.1
    tenths=$((tenths + 1))
  done
  if [ "$(cat "$came" 2>/dev/null)" != 0 ]; then
    echo "$at: does not take what is written, within $limit s; see ceph status, and dmesg here" >&2
    wrong=1
  fi
  rm -f "$came"
done
exit $wrong
"""
"""A file that is written reaches a metadata server and OSDs; sync waits for both."""
LIMIT_S = 30
"""Within which a mount has to take a file. Our own choice: longer than another metadata server takes to follow one that died."""


def ceph_client_files(about: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return files, those with keys, and units."""
    mounts, shared = about["mounts"], about["shared"]
    units = [{"path": f"/etc/systemd/system/{each['unit']}", "content": _write_unit(each, shared["paths"])} for each in mounts]
    check = CHECK.format(places=" ".join(each["at"] for each in mounts), limit_s=LIMIT_S)
    users = dict.fromkeys(each["user"] for each in mounts)
    return {
        "files": [*units, {"path": "/usr/local/sbin/gpuyard-ceph-mounts", "content": check, "mode": "0755"}],
        "secrets": [
            {
                "path": f"/etc/ceph/ceph.client.{user}.keyring",
                "content": f"{OURS}\n[client.{user}]\n\tkey = {shared['keys'][user]}\n",
                "mode": "0600",
            }
            for user in users
        ],
        "units": [{"name": each["unit"], "enabled": True, "state": "started"} for each in mounts],
    }


def _write_unit(mount: dict[str, Any], paths: dict[str, str]) -> str:
    """Return a unit of systemd that mounts a file system. Source: Ceph, doc/man/8/mount.ceph.rst and mount.fuse.ceph.rst.

    It changes with who mounts what, and not with the monitors, which stand in ceph.conf: what it changes is mounted anew.
    """
    path = paths[f"{mount['filesystem']} {mount['folder']}"] if mount["folder"] else "/"
    if mount["driver"] == "kernel":
        # Also newer kernels take what is mounted in this form, and older ones know no other.
        what, kind = f":{path}", "ceph"
        options = f"name={mount['user']},mds_namespace={mount['filesystem']},noatime,_netdev"
    else:
        what, kind = "none", "fuse.ceph"
        options = (
            f"ceph.id={mount['user']},ceph.conf=/etc/ceph/ceph.conf,ceph.client_fs={mount['filesystem']},"
            f"ceph.client_mountpoint={path},_netdev"
        )
    return f"""\
{OURS}
[Unit]
Description=File system {mount["filesystem"]} of Ceph
Wants=network-online.target
After=network-online.target
[Mount]
What={what}
Where={mount["at"]}
Type={kind}
Options={options}
TimeoutSec=120
[Install]
WantedBy=remote-fs.target
"""


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"ceph_client_files": ceph_client_files}
