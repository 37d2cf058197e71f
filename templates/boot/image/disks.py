"""Find the disks of a server by what the plan says of them, never by a device name. Used by both ways to an operating system."""

import json
import subprocess
from fnmatch import fnmatchcase


class DisksError(Exception):
    """Disks that are not as the plan says; nothing was written. The text names what was seen."""


def list_disks():
    """Return the writable disks as lsblk tells them: path, model, serial, wwn, size (bytes), children."""
    columns = "NAME,PATH,TYPE,MODEL,SERIAL,WWN,SIZE,RO,PARTLABEL"  # without NAME lsblk tells of no disk's children
    command = ["lsblk", "--json", "--bytes", "--output", columns]
    listed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["blockdevices"]
    words = ("model", "serial", "wwn")
    disks = [{**disk, **{word: (disk[word] or "").strip() for word in words}} for disk in listed]
    return [disk for disk in disks if disk["type"] == "disk" and not disk["ro"] and int(disk["size"])]


def fits(disk, rule):
    """Return whether a disk is one that the rule means: its serial number or WWN, else its model and size."""
    if rule["serials"] or rule["wwns"]:
        return disk["serial"] in rule["serials"] or disk["wwn"] in rule["wwns"]
    model, wanted, size = disk["model"], rule["model"] or "*", int(disk["size"])
    named = fnmatchcase(model, wanted) or fnmatchcase(model.replace(" ", "_"), wanted.replace(" ", "_"))
    return named and rule["min_gb"] * 10**9 <= size and (not rule["max_gb"] or size <= rule["max_gb"] * 10**9)


def holds(disk):
    """Return whether anything is on a disk: a partition, or a signature that wipefs knows."""
    found = subprocess.run(["wipefs", "--noheadings", "--no-act", disk["path"]], capture_output=True, text=True, check=True)
    return bool(found.stdout.split() or disk.get("children"))


def marks(disk):
    """Return the names of the partitions on a disk."""
    return {child.get("partlabel") or "" for child in disk.get("children", ())}


def describe(disks):
    """Return disks in a line, for a report."""
    return "; ".join(f"{d['path']} {d['model']} {d['serial']} {int(d['size']) // 10**9} GB" for d in disks) or "none"


def choose(disks, rules, holding=holds):
    """Return the system disks, and the others that are to be wiped; DisksError where the plan's words do not fit.

    Args:
        disks: as list_disks returns them.
        rules: `system` and `wipe` of boot/hosts/NAME.json.
        holding: tells whether anything is on a disk.
    """
    system = [disk for disk in disks if fits(disk, rules["system"])]
    count = rules["system"]["count"]
    if len(system) != count:
        raise DisksError(f"{len(system)} disks fit, {count} hold the system; seen: {describe(disks)}")
    full = [disk["path"] for disk in system if holding(disk)]
    if full and not any(wipe["match"] is None for wipe in rules["wipe"]):
        words = "not empty, and provisioning names no consent to overwrite system disks"
        raise DisksError(f"{', '.join(full)} {words}; seen: {describe(disks)}")
    others = [disk for disk in disks if disk not in system]
    named = [wipe["match"] for wipe in rules["wipe"] if wipe["match"]]
    return system, [disk for disk in others if any(fits(disk, rule) for rule in named)]


def wipe(disk):
    """Take every signature off a disk and its partitions."""
    for path in [*(child["path"] for child in disk.get("children", ())), disk["path"]]:
        subprocess.run(["wipefs", "--all", "--force", "--quiet", path], check=True)
