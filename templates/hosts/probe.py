"""Tell what this host is, as one JSON document: run there by python3, with the standard library alone; changes nothing."""

import glob
import json
import os
import re
import subprocess
import time

ROOT = os.environ.get("GPUYARD_PROBE_ROOT", "")
os.environ["PATH"] = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"  # which sshd gives to root alone
OF_CONTAINERS = ("veth", "cali", "lxc", "cni", "flannel", "tap")
FIELDS = (
    "index,name,serial,pci.bus_id,driver_version,persistence_mode,power.limit,power.default_limit,pcie.link.gen.current,"
    "pcie.link.gen.max,pcie.link.width.current,pcie.link.width.max"
)


def read(path):
    """Return a small file's text; empty where it is not there or not ours to read."""
    try:
        with open(ROOT + path, errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def number(text):
    """Return a whole number, or -1."""
    return int(text) if re.match(r"^-?\d+$", text) else -1


def ask(*command, timeout=20, partly=False):
    """Return what a program prints; empty where it is missing, hangs or fails, unless what it printed before is of use too."""
    try:
        done = subprocess.run(
            command, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=timeout
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace") if done.returncode == 0 or partly else ""


def ask_json(*command):
    """Return what a program prints as JSON; an empty list where it does not."""
    try:
        return json.loads(ask(*command) or "[]")
    except ValueError:
        return []


def read_root(path):
    """Return a file that root alone may read."""
    return read(path) or ("" if os.geteuid() == 0 else ask("sudo", "-n", "cat", ROOT + path).strip())


def is_active(base):
    """Return whether a port is InfiniBand with a link, which it has though nobody uses IP over it."""
    states = glob.glob(ROOT + base + "/device/infiniband/*/ports/*/state") if read(base + "/type") == "32" else []
    return any("ACTIVE" in read(state[len(ROOT) :]) for state in states)


def list_ports():
    """Return the ports, without those of containers, with what the kernel knows of them."""
    ports = []
    for path in sorted(glob.glob(ROOT + "/sys/class/net/*")):
        name = os.path.basename(path)
        if name.startswith(OF_CONTAINERS) or not os.path.isdir(path):  # the latter is bonding_masters, a file
            continue
        base = "/sys/class/net/" + name
        device = os.path.realpath(path + "/device") if os.path.exists(path + "/device") else ""
        driver = os.path.basename(os.path.realpath(path + "/device/driver")) if device else ""
        firmware = re.search(r"^firmware-version: *(\S+)", ask("ethtool", "-i", name) if device else "", re.M)
        ports.append(
            {
                "name": name,
                "mac": (read(base + "/bonding_slave/perm_hwaddr") or read(base + "/address")).lower(),
                "bond": os.path.basename(os.path.realpath(path + "/master")) if os.path.exists(path + "/master") else "",
                "up": read(base + "/operstate") == "up" or is_active(base),
                "speed_mbps": number(read(base + "/speed")),
                "mtu_bytes": number(read(base + "/mtu")),
                "pci": os.path.basename(device) if re.match(r"^[0-9a-f]{4}:", os.path.basename(device)) else "",
                "numa": number(read(base + "/device/numa_node")),
                "pcie": read(base + "/device/current_link_speed") + " x" + read(base + "/device/current_link_width"),
                "pcie_max": read(base + "/device/max_link_speed") + " x" + read(base + "/device/max_link_width"),
                "driver": driver,
                "firmware": firmware.group(1) if firmware else "",
                "rdma": sorted(os.listdir(path + "/device/infiniband")) if os.path.isdir(path + "/device/infiniband") else [],
            }
        )
    return ports


def list_gpus():
    """Return GPUs as nvidia-smi tells of them, with their NUMA nodes."""
    gpus = []
    names = FIELDS.split(",")
    told = ask("nvidia-smi", "--query-gpu=" + FIELDS, "--format=csv,noheader,nounits", timeout=60, partly=True)
    for line in told.splitlines():  # with one GPU lost it tells of the others, and fails
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(names):
            continue
        gpu = {name: cells[place] for place, name in enumerate(names)}
        address = re.sub(r"^0000([0-9A-F]{4}:)", r"\1", gpu["pci.bus_id"].upper()).lower()
        gpu["pci"], gpu["numa"] = address, number(read("/sys/bus/pci/devices/" + address + "/numa_node"))
        gpus.append(gpu)
    return gpus


def read_clock():
    """Return the clock, and what chrony or timedated say of it."""
    tracking = ask("chronyc", "-c", "tracking").strip().split(",")
    synced = ask("timedatectl", "show", "--property=NTPSynchronized", "--value").strip() == "yes"
    chrony = len(tracking) > 10 and re.match(r"^-?\d+\.\d+$", tracking[4])
    return {
        "now": time.time(),
        "synced": synced or bool(chrony and tracking[-1] == "Normal"),
        "offset_s": float(tracking[4]) if chrony else None,
    }


def main():
    """Print the document."""
    limits = ask("systemctl", "show", "--property=DefaultLimitMEMLOCK,DefaultLimitNOFILE")
    module = re.search(r"^NVRM version:.*?(\d+\.\d+(?:\.\d+)?)", read("/proc/driver/nvidia/version"), re.M)
    document = {
        "format": "gpuyard-host-facts-1",
        "hostname": os.uname().nodename,
        "kernel": os.uname().release,
        "cmdline": read("/proc/cmdline"),
        "os": dict(re.findall(r'^(ID|VERSION_ID)="?([^"\n]*)', read("/etc/os-release"), re.M)),
        "serial": read_root("/sys/class/dmi/id/product_serial"),
        "vendor": read("/sys/class/dmi/id/sys_vendor"),
        "model": read("/sys/class/dmi/id/product_name"),
        "ports": list_ports(),
        "addresses": [
            {"port": link.get("ifname", ""), "address": f"{a.get('local')}/{a.get('prefixlen')}"}
            for link in ask_json("ip", "-j", "-4", "address", "show")
            for a in link.get("addr_info", [])
        ],
        "routes": ask_json("ip", "-j", "-N", "-4", "route", "show", "table", "all"),
        "rules": ask_json("ip", "-j", "-N", "-4", "rule", "show"),
        "gpus": list_gpus(),
        "nvidia_module": module.group(1) if module else "",
        "limits": dict(line.split("=", 1) for line in limits.splitlines() if "=" in line),
        "clock": read_clock(),
    }
    print(json.dumps(document))


if __name__ == "__main__":
    main()
