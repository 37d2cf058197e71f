"""Read what the NVIDIA roles decide by, in one call, and write it as JSON. Python 3.9 suffices.

Reads only; a tool that is missing is an empty answer. With `--booted` it waits first until the boot is over, whose units wait
for GPUs. Keys: os_family, distribution, kernel (running), next_kernel (that the boot loader takes next, empty where that cannot
be told), boot_entry (that it is told to take), kernels (installed, oldest first), modules {kernel: version of its module
nvidia}, gpus [{bus, device}], nvswitches, bridges, nouveau, loaded, secure_boot, key_enrolled, packages {name: version}, holds,
runfile, smi {rc, lines, text}, processes [{pid, name}], fabric [{bus, state, status}], fabric_manager (active, inactive, failed
and so on; empty without systemd).
"""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

PACKAGES = re.compile(
    r"nvidia|^cuda-drivers|^libnv|^nvlsm$|^infiniband-diags$|^mokutil$|^linux-(image|headers|modules)|^kernel(-core|-devel.*)?$",
)
FIELDS = (
    "index,name,uuid,serial,pci.bus_id,driver_version,persistence_mode,ecc.mode.current,"
    "pcie.link.gen.current,pcie.link.width.current"
)
SECURE_BOOT = "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"


def read(path: str | pathlib.Path) -> str:
    """Return a file's text without the last newline, or an empty string."""
    try:
        return pathlib.Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""


def run(*words: str) -> tuple[int, str]:
    """Return (exit code, output) of a command with both streams together; 127 where it is not installed."""
    if not shutil.which(words[0]):
        return 127, ""
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return 124, words[0] + ": no answer in 120 s"
    return done.returncode, done.stdout.decode(errors="replace")


def read_distribution() -> str:
    """Return the ID of /etc/os-release: debian, ubuntu, rocky and so on."""
    found = re.search(r"^ID=\"?([^\"\n]+)", read("/etc/os-release"), re.MULTILINE)
    return found.group(1) if found else ""


def list_pci() -> tuple[list[dict], int, int]:
    """Return (GPUs, number of NVSwitches, number of bridges to NVSwitches).

    GPUs are functions of vendor 10de of PCI class 0300 or 0302, NVSwitches of class 0680. Those of NVLink 5 are not on the
    PCI bus: the server reaches them through ConnectX functions whose vital product data say SW_MNG.
    """
    gpus, switches, bridges = [], 0, 0
    for folder in sorted(pathlib.Path("/sys/bus/pci/devices").glob("*")):
        if read(folder / "vendor") == "0x10de":
            kind = read(folder / "class")[2:6]
            switches += kind == "0680"
            if kind in ("0300", "0302"):
                gpus.append({"bus": folder.name, "device": read(folder / "device")[2:]})
        elif read(folder / "vendor") == "0x15b3":
            bridges += "SW_MNG" in read(folder / "vpd")
    return gpus, switches, bridges


def read_loaded() -> str:
    """Return the version of the nvidia module in memory, or an empty string."""
    found = re.search(r"Kernel Module(?: for \S+)?\s+(\d[\d.]+)", read("/proc/driver/nvidia/version"))
    return read("/sys/module/nvidia/version") or (found.group(1) if found else "")


def read_secure_boot() -> str:
    """Return enabled, disabled, or none where the server has no UEFI variables."""
    try:
        return "enabled" if pathlib.Path("/sys/firmware/efi/efivars", SECURE_BOOT).read_bytes()[-1:] == b"\1" else "disabled"
    except OSError:
        found = re.search(r"SecureBoot (enabled|disabled)", run("mokutil", "--sb-state")[1])
        return found.group(1) if found else "none"


def list_packages() -> tuple[dict, list[str], str]:
    """Return (packages of interest {name: version}, held names, family of the distribution).

    RHEL's headers go by kernel-devel-RELEASE, as Debian's by linux-headers-RELEASE.
    """
    if shutil.which("dpkg-query"):
        rows = run("dpkg-query", "-W", "-f", "${db:Status-Abbrev}|${Package}|${Version}\n")[1].splitlines()
        found = [row.split("|") for row in rows]
        installed = {name: version for state, name, version in found if state[1:2] == "i" and PACKAGES.search(name)}
        return installed, [name for state, name, _ in found if state[:1] == "h"], "debian"
    rows = [row.split("|") for row in run("rpm", "-qa", "--qf", "%{NAME}|%{VERSION}-%{RELEASE}|%{ARCH}\n")[1].splitlines()]
    # Several of a kernel's headers are installed beside each other: each has the kernel's release in its name here.
    headers = {f"{name}-{version}.{arch}": version for name, version, arch in rows if name.startswith("kernel-devel")}
    installed = {name: version for name, version, _ in rows if PACKAGES.search(name)} | headers
    locks = run("dnf", "-q", "versionlock", "list")[1] if installed else ""
    return installed, [name for name in installed if re.search(rf"^{re.escape(name)}-\d", locks, re.MULTILINE)], "redhat"


def list_kernels() -> list[str]:
    """Return the installed kernels, oldest first: folders of modules that hold a kernel's own."""
    return sorted((folder.parent.name for folder in pathlib.Path("/lib/modules").glob("*/kernel")), key=rank)


def rank(kernel: str) -> list[tuple[bool, int, str]]:
    """Return what a kernel's release is sorted by: `6.1.0-9-amd64` is older than `6.1.0-44-amd64`."""
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.findall(r"\d+|[a-z]+", kernel)]


def read_next_kernel(kernels: list[str]) -> tuple[str, str]:
    """Return (kernel, entry): what the boot loader takes next, and what it is told to take; no kernel where that cannot be told.

    RHEL's boot loader is asked by grubby. Debian's takes GRUB_DEFAULT, or what grub-set-default or grub-reboot left in grubenv:
    number, id or title of an entry of its menu, after those of the submenus that it is in, with `>` between.
    """
    told, menu = run("grubby", "--default-kernel")[1].strip(), []
    if not told:
        config = read("/boot/grub/grub.cfg")
        menu = read_menu(config)
        kept = dict(re.findall(r"^(next_entry|saved_entry)=(.+)$", read("/boot/grub/grubenv"), re.MULTILINE))
        default = read_default(config)
        told = kept.get("next_entry") or (kept.get("saved_entry", "") if default in ("saved", "${saved_entry}") else default)
    if menu:
        kernel = find_kernel(menu, told)
        return kernel if kernel in kernels else "", told
    named = [name for name in kernels if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", told)]
    # Without a menu to look into, nothing but the first entry is known by its place: GRUB's menu begins with the newest kernel.
    newest = kernels[-1] if kernels and not told.strip("0>") else ""
    return max(named, key=len) if named else newest, told


def read_default(config: str) -> str:
    """Return the entry that GRUB takes by default: as grub.cfg has it, else as the next update-grub will write it there."""
    written = [entry for entry in re.findall(r'^\s*set default="([^"\n]*)"', config, re.MULTILINE) if entry != "${next_entry}"]
    if written:
        return str(written[-1])
    files = [pathlib.Path("/etc/default/grub"), *sorted(pathlib.Path("/etc/default/grub.d").glob("*.cfg"))]
    # A shell reads these files: without quotes a value ends where it does for a shell.
    setting = r"""^GRUB_DEFAULT=(?:"([^"\n]*)"|'([^'\n]*)'|([^\s;&|<>#]*))"""
    found = re.findall(setting, "\n".join(map(read, files)), re.MULTILINE)
    return "".join(found[-1]) if found else ""


def read_menu(config: str) -> list[dict]:
    """Return the menu of a grub.cfg: [{names (title and id), kernel, entries}], the last two empty where an entry has none."""
    opened = [{"names": [], "kernel": "", "entries": []}]
    for line in map(str.strip, config.splitlines()):
        # grub-mkconfig writes an apostrophe of a title as '\'', as a shell has it.
        entry = re.match(
            r"""(?:menuentry|submenu)\s+(?:'((?:[^']|'\\'')*)'|"(.*?)")(?:.*?(?:--id|\$menuentry_id_option)\s+["']?([^"'\s]+))?""",
            line,
        )
        kernel = re.match(r"(?:linux|linux16|linuxefi|module2?)\s+\S*vmlinu[xz]-(\S+)", line)
        names = [(entry[1] or "").replace("'\\''", "'") or entry[2], entry[3]] if entry else []
        new = {"names": names, "kernel": "", "entries": []}
        if entry:
            opened[-1]["entries"].append(new)
        if kernel:
            opened[-1]["kernel"] = kernel.group(1)
        depth = line.count("{") - line.count("}")  # functions have braces too
        if depth > 0:
            opened.append(new)
        elif depth < 0 and len(opened) > 1:
            opened.pop()
    return opened[0]["entries"]


def find_kernel(menu: list[dict], told: str) -> str:
    """Return the kernel of an entry, empty where it boots none. Like GRUB, take the first entry for one that is not there."""
    head, _, rest = told.partition(">")
    places = [place for place, entry in enumerate(menu) if (str(place) == head if head.isdigit() else head in entry["names"])]
    entry = menu[places[0] if places else 0]
    return find_kernel(entry["entries"], rest) if entry["entries"] else entry["kernel"]


def list_modules(kernels: list[str]) -> dict[str, str]:
    """Return the version of the module nvidia that each kernel has; one without it is left out."""
    found = {kernel: run("modinfo", "-k", kernel, "-F", "version", "nvidia") for kernel in kernels}
    return {kernel: said.strip() for kernel, (code, said) in found.items() if code == 0}


def read_smi(loaded: str) -> tuple[dict, list[dict], list[dict]]:
    """Return (rows of nvidia-smi, its processes, fabric states).

    nvidia-smi is not asked where no module is loaded: it would load one.
    """
    if not loaded:
        return {"rc": 9, "lines": [], "text": ""}, [], []
    code, text = run("nvidia-smi", "--query-gpu=" + FIELDS, "--format=csv,noheader,nounits")
    names = FIELDS.replace(".", "_").split(",")
    lines = [
        {name: row.split(", ")[at] for at, name in enumerate(names)}
        for row in text.splitlines()
        if row.count(", ") == len(names) - 1
    ]
    apps = run("nvidia-smi", "--query-compute-apps=pid,process_name", "--format=csv,noheader")[1] if lines else ""
    processes = [{"pid": int(pid), "name": name} for pid, name in re.findall(r"^(\d+), (.*)$", apps, re.MULTILINE)]
    about = run("nvidia-smi", "-q")[1] if lines else ""
    fabric = re.findall(r"(?s)\nGPU (\S+)\n.*?\n    Fabric\n\s+State\s+: ([^\n]+)\n\s+Status\s+: ([^\n]+)", about)
    rest = "\n".join(row for row in text.splitlines() if row.count(", ") != len(names) - 1)
    return {"rc": code, "lines": lines, "text": rest}, processes, [{"bus": b, "state": s, "status": t} for b, s, t in fabric]


def await_boot() -> None:
    """Wait until systemd has started, skipped or given up all that belongs to the boot, fifteen minutes at most."""
    end = time.monotonic() + 900
    while time.monotonic() < end and run("systemctl", "is-system-running")[1].strip() in ("initializing", "starting"):
        time.sleep(1)


def main() -> None:
    """Print the survey."""
    if "--booted" in sys.argv:
        await_boot()
    gpus, nvswitches, bridges = list_pci()
    packages, holds, family = list_packages()
    loaded = read_loaded()
    smi, processes, fabric = read_smi(loaded)
    secure_boot, kernels = read_secure_boot(), list_kernels()
    next_kernel, boot_entry = read_next_kernel(kernels)
    keys = run("mokutil", "--test-key", "/var/lib/dkms/mok.pub")[1] if secure_boot == "enabled" else ""
    answer = {
        "os_family": family,
        "distribution": read_distribution(),
        "kernel": run("uname", "-r")[1].strip(),
        "next_kernel": next_kernel,
        "boot_entry": boot_entry,
        "kernels": kernels,
        "modules": list_modules(kernels),
        "gpus": gpus,
        "nvswitches": nvswitches,
        "bridges": bridges,
        "nouveau": pathlib.Path("/sys/module/nouveau").is_dir(),
        "loaded": loaded,
        "secure_boot": secure_boot,
        "key_enrolled": "already enrolled" in keys,
        "packages": packages,
        "holds": holds,
        "runfile": pathlib.Path("/usr/bin/nvidia-uninstall").exists(),
        "smi": smi,
        "processes": processes,
        "fabric": fabric,
        "fabric_manager": run("systemctl", "is-active", "nvidia-fabricmanager")[1].strip(),
    }
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
