"""Double of a server's GPUs, kernel modules and firmware: what the doubles of NVIDIA's tools read and change.

What outlives a reboot lies in /var/lib/gpuyard-double: `gpus.json` (the GPUs, NVSwitches, processes), `kernel.json` (kernels,
nouveau, Secure Boot, the initramfs) and `dkms.json`. What a reboot clears lies in /run/gpuyard-double/gpu.json: modules, device
files, persistence mode, power limits, the fabric. Change it in a test with the command `gpuyard-double-gpu`.

At boot nobody but udev loads the module, and it does so late (`udev_late_s`), when the units of the boot were started long ago:
loading takes seconds with eight GPUs, and nothing orders a unit after it. Loading makes no device files. udev's rules,
nvidia-modprobe and, by way of that one, nvidia-smi do.

What tests/recorded has of one H200, the doubles of nvidia-smi and of the kernel module print in its form
(tests/contract/test_double_nvidia.py). The rest follows NVIDIA's manual page of nvidia-smi and logs that operators published:
several GPUs, lost ones, the fabric, limits and modes that are set, the proprietary module.
"""

import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import time
from contextlib import contextmanager

KEPT = pathlib.Path(os.environ.get("GPUYARD_DOUBLE_KEPT", "/var/lib/gpuyard-double"))
VOLATILE = pathlib.Path(os.environ.get("GPUYARD_DOUBLE_VOLATILE", "/run/gpuyard-double"))
SHARE = pathlib.Path(os.environ.get("GPUYARD_DOUBLE_SHARE", "/usr/share/gpuyard-double"))
# PCI device ids from the PCI ID database; power ranges as `nvidia-smi -q -d POWER` shows them (A100: 100 to 400 W).
MODELS = {
    "v100-sxm2": ("Tesla V100-SXM2-16GB", "1db1", "volta", 150, 300, 300, 16384, 3, 0),
    "a100-sxm4": ("NVIDIA A100-SXM4-80GB", "20b2", "ampere", 100, 400, 400, 81920, 4, 6),
    "l40s": ("NVIDIA L40S", "26b9", "ada", 100, 350, 350, 46068, 4, 0),
    "h100-sxm": ("NVIDIA H100 80GB HBM3", "2330", "hopper", 200, 700, 700, 81559, 5, 4),
    "h200-sxm": ("NVIDIA H200", "2335", "hopper", 200, 700, 700, 143771, 5, 4),
    "b200-sxm": ("NVIDIA B200", "2901", "blackwell", 200, 1000, 1000, 183359, 6, 2),
}
NVLINK = {"volta": 2, "ampere": 3, "hopper": 4, "blackwell": 5}
OPEN_ONLY = ("blackwell",)
PROPRIETARY_ONLY = ("volta",)
BUSES = ("18", "2A", "3A", "5D", "9A", "AB", "BA", "DB")
# nouveau is "" where the kernel has none, idle, or busy: something uses it, and it does not unload.
KERNEL = {
    "nouveau": "",
    "initramfs_blacklists_nouveau": False,
    "secure_boot": "unsupported",
    "mok_enrolled": False,
    "fail_builds": [],
    "udev_late_s": 20,
}


def make_gpus(model, count):
    """Return the kept state of `count` GPUs of `model` (a key of MODELS), with the NVSwitches of its board."""
    name, device, generation, low, high, default, memory, gen, switches = MODELS[model]
    gpus = [
        {
            "index": number,
            "name": name,
            "uuid": f"GPU-{number:08x}-6770-7561-7264-{int(device, 16):012x}",
            "serial": f"16502300{number:05d}",
            "bus": f"00000000:{BUSES[number % 8]}:{number // 8:02X}.0",
            "device": device,
            "generation": generation,
            "min_w": low,
            "max_w": high,
            "default_w": default,
            "memory_mib": memory,
            "ecc": "Enabled",
            "pcie_gen": gen,
            "pcie_width": 16,
            "fallen": "",
        }
        for number in range(count)
    ]
    return {"gpus": gpus, "nvswitches": switches if count > 1 else 0, "processes": []}


def _read(path, default):
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return default


def read_kept(name):
    """Return a kept state: `gpus` (eight H100 where no test said otherwise), `kernel` or `dkms`."""
    if name == "gpus":
        return _read(KEPT / "gpus.json", None) or make_gpus("h100-sxm", 8)
    return {**KERNEL, **_read(KEPT / "kernel.json", {})} if name == "kernel" else _read(KEPT / f"{name}.json", {})


def read_volatile():
    """Return what a reboot clears."""
    state = {"loaded": None, "nodes": False, "modules": [], "nouveau": False}
    state |= {"persistence": {}, "limits": {}, "fabric": "", "kernel": ""}
    return {**state, **_read(VOLATILE / "gpu.json", {})}


@contextmanager
def changing(name):
    """Yield the state `name` (`volatile` or a kept one) under a lock and write what the block made of it."""
    folder = VOLATILE if name == "volatile" else KEPT
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ("gpu.json" if name == "volatile" else f"{name}.json")
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        state = read_volatile() if name == "volatile" else read_kept(name)
        yield state
        new = path.with_suffix(".new")
        new.write_text(json.dumps(state, indent=1, sort_keys=True) + "\n")
        new.replace(path)


def list_kernels():
    """Return the installed kernels, oldest first; the machine's own where the container has none."""
    modules = pathlib.Path("/lib/modules")
    found = [k.name for k in modules.iterdir() if (k / "kernel").is_dir()] if modules.is_dir() else []
    return sorted(found, key=lambda name: [int(part) if part.isdigit() else 0 for part in name.replace("-", ".").split(".")]) or [
        os.uname().release
    ]


def running_kernel():
    """Return the kernel that this server booted: the newest of those installed at boot."""
    return read_volatile()["kernel"] or list_kernels()[0]


def blacklists_nouveau():
    """Tell whether a file under /etc/modprobe.d blacklists nouveau."""
    files = pathlib.Path("/etc/modprobe.d").glob("*.conf")
    return any("blacklist nouveau" in line.strip() for path in files for line in path.read_text().splitlines() if line[:1] != "#")


def load_nvidia():
    """Load the module as modprobe would and return "", or the message with which it refuses."""
    kernel, state = read_kept("kernel"), read_volatile()
    if state["loaded"]:
        return ""
    built = [row for row in read_kept("dkms").get("built", []) if row["kernel"] == running_kernel()]
    if not built:
        return f"modprobe: FATAL: Module nvidia not found in directory /lib/modules/{running_kernel()}"
    if state["nouveau"]:
        return "modprobe: ERROR: could not insert 'nvidia': No such device"
    if kernel["secure_boot"] == "enabled" and not kernel["mok_enrolled"]:
        return "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service"
    if not read_kept("gpus")["gpus"]:
        return "modprobe: ERROR: could not insert 'nvidia': No such device"
    with changing("volatile") as now:
        now["loaded"] = {"version": built[-1]["version"], "flavour": built[-1]["flavour"]}
        now["limits"], now["persistence"] = {}, {}
        now["fabric"] = "In Progress" if read_kept("gpus")["nvswitches"] else ""
    show_module()
    return ""


def unload_nvidia():
    """Unload the module and return "", or the message with which it refuses while processes hold it."""
    state = read_volatile()
    if not state["loaded"]:
        return "modprobe: FATAL: Module nvidia is not currently loaded."
    if read_kept("gpus")["processes"] or any(state["persistence"].values()):
        return "modprobe: FATAL: Module nvidia is in use."
    with changing("volatile") as now:
        now.update(loaded=None, limits={}, persistence={}, fabric="")
        now["modules"] = [name for name in now["modules"] if name != "nvidia_peermem"]
    show_module()
    return ""


def load_other(name):
    """Load ib_umad, or nvidia_peermem, which loads nvidia before itself; return "" or the message with which it refuses."""
    refused = load_nvidia() if name.startswith("nvidia") else ""
    if not refused:
        with changing("volatile") as now:
            now["modules"] = sorted({*now["modules"], name})
        show_module()
    return refused


def load_listed():
    """Load what files under /etc/modules-load.d name, and return the refusals."""
    files = pathlib.Path("/etc/modules-load.d").glob("*.conf")
    lines = [line.strip() for path in files for line in path.read_text().splitlines()]
    names = [line.replace("-", "_") for line in lines if line[:1] not in ("", "#", ";")]
    return [load_other(name) for name in names if name in ("ib_umad", "nvidia_peermem")]


def make_nodes():
    """Make the device files of a loaded module, as nvidia-modprobe and udev's rules do."""
    if read_volatile()["loaded"]:
        with changing("volatile") as now:
            now["nodes"] = True
        show_module()


def open_as_root():
    """Do what NVIDIA's tools do for root before they open the driver: nvidia-modprobe, where it is installed."""
    if shutil.which("nvidia-modprobe"):
        load_nvidia()
        make_nodes()


def show_module():
    """Let the files under /proc, /sys/module and /dev say what is loaded; `boot` mounts them over the kernel's own."""
    state, gpus = read_volatile(), read_kept("gpus")
    proc, modules = VOLATILE / "proc-driver", VOLATILE / "sys-module"
    version = proc / "nvidia/version"
    version.parent.mkdir(parents=True, exist_ok=True)
    loaded = state["loaded"]
    others = [(name, name in state["modules"]) for name in ("ib_umad", "nvidia_peermem")]
    for name, there in (("nouveau", state["nouveau"]), ("nvidia", bool(loaded)), *others):
        _folder(modules / name, there)
    modules.mkdir(parents=True, exist_ok=True)
    if loaded:
        version.write_text(describe_module(loaded))
        (modules / "nvidia/version").write_text(loaded["version"] + "\n")
    else:
        version.unlink(missing_ok=True)
    nodes, switches = bool(loaded) and state["nodes"], 0 if hides_switches(gpus) or not loaded else gpus["nvswitches"]
    for number in range(max(len(gpus["gpus"]), 16)):
        _node(f"/dev/nvidia{number}", nodes and number < len(gpus["gpus"]))
    for number in range(16):
        _node(f"/dev/nvidia-nvswitch{number}", nodes and number < switches)
    _node("/dev/nvidiactl", nodes)
    for number in range(16):
        _folder(proc / f"nvidia-nvswitch/devices/0000:c{number}:00.0", number < switches)


def describe_module(loaded):
    """Return what /proc/driver/nvidia/version says of a loaded module."""
    kind = "Open Kernel Module for x86_64" if loaded["flavour"] == "open" else "x86_64 Kernel Module"
    built = "(root@double)  \nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14) "
    return f"NVRM version: NVIDIA UNIX {kind}  {loaded['version']}  Release Build  {built}\n"


def _folder(path, wanted):
    """Make or remove a folder. One that is wanted and there stays, since several tools open the driver at once."""
    if wanted:
        path.mkdir(parents=True, exist_ok=True)
    else:
        subprocess.run(["rm", "-rf", str(path)], check=True)


def _node(path, wanted):
    if wanted:
        pathlib.Path(path).touch()
    else:
        pathlib.Path(path).unlink(missing_ok=True)


def hides_switches(gpus):
    """Tell whether the NVSwitches are reached through ConnectX functions, as those of NVLink 5, and have no device files."""
    return bool(gpus["gpus"]) and NVLINK.get(gpus["gpus"][0]["generation"], 0) >= 5


def write_sysfs():
    """Write the PCI functions of GPUs and NVSwitches as /sys/bus/pci/devices would show them; return the folder."""
    gpus, root = read_kept("gpus"), VOLATILE / "pci-devices"
    root.mkdir(parents=True, exist_ok=True)
    subprocess.run(["find", str(root), "-mindepth", "1", "-delete"], check=True)
    rows = [(gpu["bus"][4:].lower(), "0x10de", f"0x{gpu['device']}", "0x030200") for gpu in gpus["gpus"]]
    switch = ("0x15b3", "0x1021", "0x020700") if hides_switches(gpus) else ("0x10de", "0x22a3", "0x068000")
    rows += [(f"0000:c{number}:00.0", *switch) for number in range(gpus["nvswitches"])]
    for bus, vendor, device, kind in rows:
        folder = root / bus
        folder.mkdir(parents=True)
        vpd = [("vpd", "SMDL=SW_MNG")] if vendor == "0x15b3" else []
        for name, text in (("vendor", vendor), ("device", device), ("class", kind), *vpd):
            (folder / name).write_text(text + "\n")
    return root


def boot():
    """Do what the kernel does at boot: pick the newest kernel, show the PCI bus, load nouveau where the initramfs has it."""
    kernel = read_kept("kernel")
    VOLATILE.mkdir(parents=True, exist_ok=True)
    (VOLATILE / "gpu.json").unlink(missing_ok=True)
    with changing("volatile") as now:
        now["kernel"] = list_kernels()[-1]
        now["nouveau"] = bool(kernel["nouveau"] and not kernel["initramfs_blacklists_nouveau"] and read_kept("gpus")["gpus"])
    show_module()
    for shown, over in (
        (write_sysfs(), "/sys/bus/pci/devices"),
        (VOLATILE / "proc-driver", "/proc/driver"),
        (VOLATILE / "sys-module", "/sys/module"),
    ):
        subprocess.run(["umount", "-q", over], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["mount", "--bind", str(shown), over], check=False)


def udev():
    """Do what udev does with a GPU of the PCI bus, late: load the module, then make its device files; return "" or a refusal."""
    time.sleep(read_kept("kernel")["udev_late_s"])
    refused = load_nvidia()
    make_nodes()
    return refused
