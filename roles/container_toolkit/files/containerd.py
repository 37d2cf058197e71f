"""Look at containerd's configuration, or put NVIDIA's drop-in file in place where it differs. Prints JSON.

`look` reads `containerd config dump`, what containerd makes of all its files. `set` runs nvidia-ctk on a dump made without the
drop-in file, then looks. containerd before 2.0 merges files by plugin, not by key (github.com/containerd/containerd/issues/5837):
the drop-in file has to repeat the CRI plugin's whole part, runc's entry too, which Debian's config.toml leaves to the defaults;
and it is out of date as soon as another file changes.
"""

from __future__ import annotations

import fnmatch
import glob
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

CONFIG = Path("/etc/containerd/config.toml")
DROP_IN = Path("/etc/containerd/conf.d/99-nvidia.toml")
IMPORTS = re.compile(r"^imports\s*=\s*\[([^\]]*)\]", re.MULTILINE)
KUBERNETES = ("/etc/kubernetes/kubelet.conf", "/etc/kubernetes/admin.conf", "/var/lib/kubelet/config.yaml", "/etc/rancher")


def read_dump(text: str) -> dict[str, str]:
    """Return `section.key` → value of TOML as containerd itself prints it: one key a line, each section with its full name."""
    section, found = "", {}
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line.strip("[]") + "."
        elif " = " in line:
            key, _, value = line.partition(" = ")
            found[section + key] = value.strip("\"'")
    return found


def read_imports(text: str) -> list[str]:
    """Return the patterns that config.toml imports."""
    line = IMPORTS.search(text)
    return re.findall(r"[\"']([^\"']+)[\"']", line[1]) if line else []


def find(values: dict[str, str], tail: str) -> str:
    """Return the value of the CRI plugin's key that ends so; the plugin has two names, by containerd's version."""
    return next((value for key, value in values.items() if "cri" in key and key.endswith(tail)), "")


def look() -> dict[str, Any]:
    """Return what containerd does now."""
    present = shutil.which("containerd") is not None
    dump = subprocess.run(["containerd", "config", "dump"], capture_output=True, text=True, check=False) if present else None
    values = read_dump(dump.stdout) if dump else {}
    default = find(values, ".containerd.default_runtime_name")
    imports = read_imports(CONFIG.read_text("utf-8")) if CONFIG.exists() else []
    return {
        "present": present,
        "toolkit": shutil.which("nvidia-ctk") is not None,
        "kubernetes": any(Path(path).exists() for path in KUBERNETES),
        "imports": imports,
        "imported": any(fnmatch.fnmatch(str(DROP_IN), pattern) for pattern in imports),
        "runtime": find(values, ".runtimes.nvidia.options.BinaryName"),
        "default": default,
        "starts": find(values, f".runtimes.{default}.runtime_type") != "",  # without its default runtime the CRI plugin does not
        "cdi": {"true": True, "false": False}.get(find(values, ".enable_cdi")),  # None: containerd before 1.7 has none
    }


def dump_without(folder: Path) -> Path:
    """Return a file with what containerd would do without the drop-in file: every other import stays."""
    text = CONFIG.read_text("utf-8")
    others = sorted(name for pattern in read_imports(text) for name in glob.glob(pattern) if name != str(DROP_IN))  # noqa: PTH207
    bare, dump = folder / "bare.toml", folder / "config.toml"
    bare.write_text(IMPORTS.sub(f"imports = {json.dumps(others)}", text), "utf-8")
    dump.write_bytes(
        subprocess.run(["containerd", "--config", str(bare), "config", "dump"], capture_output=True, check=True).stdout
    )
    return dump


def put(arguments: list[str], *, dry_run: bool) -> bool:
    """Put in place what nvidia-ctk makes of the other files, and return whether that differed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = folder / "conf.d" / DROP_IN.name
        files = [f"--config={dump_without(folder)}", f"--drop-in-config={made}"]
        subprocess.run(["nvidia-ctk", "runtime", "configure", "--runtime=containerd", *files, *arguments], check=True, stdout=2)
        wanted = made.read_bytes()
    differs = not DROP_IN.exists() or DROP_IN.read_bytes() != wanted
    if differs and not dry_run:
        DROP_IN.parent.mkdir(parents=True, exist_ok=True)
        new = DROP_IN.with_suffix(".new")
        new.write_bytes(wanted)
        new.chmod(0o644)
        new.replace(DROP_IN)
    return differs


if __name__ == "__main__":
    verb, *rest = sys.argv[1:]
    if verb == "look":
        answer = look()
    else:
        answer = {"changed": put([word for word in rest if word != "--dry-run"], dry_run="--dry-run" in rest), **look()}
    sys.stdout.write(json.dumps(answer) + "\n")
