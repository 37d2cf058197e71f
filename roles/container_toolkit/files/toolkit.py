"""Look at packages, containerd and podman, or put NVIDIA's drop-in file for containerd in place. Prints JSON.

Arguments: `look` or `set`, nvidia-ctk's own options, `--unprivileged-env`, and names of packages. `set` puts the drop-in file in
place where it differs, then looks. `containerd config dump` is what containerd makes of all its files; nvidia-ctk is run on a
dump made without the drop-in file. containerd before 2.0 merges files by plugin, not by key
(github.com/containerd/containerd/issues/5837): the drop-in file has to repeat the CRI plugin's whole part, runc's entry too,
which Debian's config.toml leaves to the defaults; and it is out of date as soon as another file changes. Python 3.9 suffices.

No file may be of a newer version than config.toml, if that has one, and none than those before it: up to 2.2 containerd drops
the parts of older ones, up to 2.3.4 it does not start (containerd/containerd#12891, #13939; tags v2.2.0 and v2.3.4,
cmd/containerd/server/config/config.go). A dump is of the newest, 4 from 2.3 on. Read in its source, not run here.
"""

from __future__ import annotations

import fnmatch
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CONFIG = Path("/etc/containerd/config.toml")
DROP_IN = Path("/etc/containerd/conf.d/99-nvidia.toml")
WITHOUT_CRI = re.compile(r"^disabled_plugins\s*=\s*\[[^\]]*[\"'](?:io\.containerd\.grpc\.v1\.)?cri[\"']", re.MULTILINE)
VERSION = re.compile(r"^version\s*=\s*(\d+)", re.MULTILINE)
CRI_2, CRI_3 = "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"
"""What has the runtimes in a file of version 2, and of 3 and 4, which differ elsewhere."""
IMPORTS = re.compile(r"^imports\s*=\s*\[([^\]]*)\]", re.MULTILINE)
DUE = Path("/run/gpuyard/container_toolkit")
PODMAN = Path("/usr/bin/podman")
HOOKS = ("/etc/containers/oci/hooks.d/oci-nvidia-hook.json", "/usr/share/containers/oci/hooks.d/oci-nvidia-hook.json")
FAMILIES = {"debian": "debian", "rhel": "redhat", "fedora": "redhat"}
RUNTIME = Path("/etc/nvidia-container-runtime/config.toml")
ENV, MOUNTS = "accept-nvidia-visible-devices-envvar-when-unprivileged", "accept-nvidia-visible-devices-as-volume-mounts"
# What holds where the file says nothing, and every mode of the runtime goes by. Source: NVIDIA/nvidia-container-toolkit, tag
# v1.18.1, internal/config/config.go, GetDefault, and internal/config/image/cuda_image.go, VisibleDevices; v1.20.0 is the same.
UNSAID = {ENV: "true", MOUNTS: "false"}
UNPRIVILEGED_ENV = "--unprivileged-env"
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


def read_family(text: str) -> str:
    """Return debian or redhat, or the ID itself, of the text of /etc/os-release."""
    found = dict(re.findall(r"^(ID|ID_LIKE)=[\"']?([^\"'\n]*)", text, re.MULTILINE))
    words = [found.get("ID", ""), *found.get("ID_LIKE", "").split()]
    return next((FAMILIES[word] for word in words if word in FAMILIES), words[0])


def ask(*words: str) -> list[str]:
    """Return the lines that a command prints, whatever it says beside them and however it ends."""
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.splitlines()


def list_packages(names: list[str]) -> list[list[str]]:
    """Return [name, version, state] of these packages; state is ii where one is installed, hi where it is held or locked too."""
    if not names:
        return []
    if shutil.which("dpkg-query"):
        rows = ask("dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Abbrev}\n", *names)
        return [row for row in map(str.split, rows) if len(row) == 3]
    rows = [row.split() for row in ask("rpm", "-q", "--qf", "%{NAME} %{VERSION}-%{RELEASE}\n", *names) if row.count(" ") == 1]
    locks = "\n".join(ask("dnf", "-q", "versionlock", "list")) if rows else ""
    return [[*row, "hi" if re.search(rf"^{re.escape(row[0])}-\d", locks, re.MULTILINE) else "ii"] for row in rows]


def set_keys(text: str, wanted: dict[str, str]) -> str:
    """Return TOML that says these keys before its first section, and is otherwise as it was; the text itself where it does.

    Not by `nvidia-ctk config --in-place`: it drops comments, and cut short it leaves an empty file, with which all is accepted.
    """
    first = re.search(r"^[ \t]*\[", text, re.MULTILINE)
    top, sections = (text[: first.start()], text[first.start() :]) if first else (text, "")
    for key, value in wanted.items():
        said = re.search(rf"^[ \t]*[\"']?{key}[\"']?[ \t]*=[ \t]*([^\s#]+)", top, re.MULTILINE)
        if (said[1] if said else UNSAID[key]) == value:
            continue
        comment = re.search(rf"^#[ \t]*{key}[ \t]*=.*", top, re.MULTILINE)  # NVIDIA's packages leave the default as one
        place = said or comment
        before, after = (top[: place.start()], top[place.end() :]) if place else ("", f"\n{top}")
        top = f"{before}{key} = {value}{after}"
    return top + sections


def want_runtime_config(*, unprivileged_env: bool) -> str | None:
    """Return what NVIDIA's runtime is to read, None where it does; it reads its file at the start of each container."""
    text = RUNTIME.read_text("utf-8") if RUNTIME.exists() else ""
    wanted = set_keys(text, UNSAID if unprivileged_env else {ENV: "false", MOUNTS: "true"})
    return None if wanted == text else wanted


def look_at_containerd(*, differs: bool) -> dict[str, object]:
    """Return what containerd does now; `differs` says whether the drop-in file is not what it should be."""
    present = shutil.which("containerd") is not None
    values = read_dump(run("containerd", "config", "dump")) if present else {}
    unit = run("systemctl", "show", "--property=ActiveState,UnitFileState", "containerd.service") if present else ""
    default = find(values, ".containerd.default_runtime_name")
    imports = list_imports()
    return {
        "present": present,
        "toolkit": shutil.which("nvidia-ctk") is not None,
        "kubernetes": any(Path(path).exists() for path in KUBERNETES),
        "imports": imports,
        "imported": is_imported(imports),
        "without_cri": CONFIG.exists() and WITHOUT_CRI.search(CONFIG.read_text("utf-8")) is not None,
        "differs": differs,
        "runs": set(unit.split()) == {"ActiveState=active", "UnitFileState=enabled"},
        "runtime": find(values, ".runtimes.nvidia.options.BinaryName"),
        "default": default,
        "starts": find(values, f".runtimes.{default}.runtime_type") != "",  # without its default runtime the CRI plugin does not
        "cdi": {"true": True, "false": False}.get(find(values, ".enable_cdi")),  # None: containerd before 1.7 has none
    }


def run(*words: str) -> str:
    """Return what a command prints, whatever its exit."""
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False).stdout


def list_imports() -> list[str]:
    """Return the patterns that config.toml imports, where there is such a file."""
    return read_imports(CONFIG.read_text("utf-8")) if CONFIG.exists() else []


def is_imported(imports: list[str]) -> bool:
    """Return whether the drop-in file is read."""
    return any(fnmatch.fnmatch(str(DROP_IN), pattern) for pattern in imports)


def dump_without(folder: Path) -> Path:
    """Return a file with what containerd would do without the drop-in file: every other import stays."""
    text = CONFIG.read_text("utf-8")
    others = sorted(name for pattern in read_imports(text) for name in glob.glob(pattern) if name != str(DROP_IN))  # noqa: PTH207
    bare, dump = folder / "bare.toml", folder / "config.toml"
    bare.write_text(IMPORTS.sub(f"imports = {json.dumps(others)}", text), "utf-8")
    command = ["containerd", "--config", str(bare), "config", "dump"]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    dump.write_text(lower(said, VERSION.search(text)), "utf-8")
    return dump


def lower(dump: str, config: re.Match[str] | None) -> str:
    """Return a dump as a file of config.toml's version, or of 3 where that has none; what containerd 1 prints as it is.

    The server's part of version 4 is left as it is, since nvidia-ctk takes the runtimes' alone. For version 2 they go by their
    old name, without the folders of CNI plug-ins, which containerd would convert wrongly: those stay as the other files say.
    """
    printed = VERSION.search(dump)
    if not printed or int(printed[1]) < 3:
        return dump
    if not config or int(config[1]) != 2:
        return VERSION.sub("version = 3", dump, count=1)
    tables = re.split(r"^(?=[ \t]*\[)", VERSION.sub("version = 2", dump, count=1), flags=re.MULTILINE)
    kept = "".join(table for table in tables if not re.match(rf"\s*\[plugins\.[\"']{re.escape(CRI_2)}[\"']", table))
    return re.sub(r"^[ \t]*bin_dirs? = .*\n", "", kept.replace(CRI_3, CRI_2), flags=re.MULTILINE)


def make(options: list[str]) -> bytes:
    """Return the drop-in file that nvidia-ctk makes of the other files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = folder / "conf.d" / DROP_IN.name
        files = [f"--config={dump_without(folder)}", f"--drop-in-config={made}"]
        subprocess.run(["nvidia-ctk", "runtime", "configure", "--runtime=containerd", *files, *options], check=True, stdout=2)
        return made.read_bytes()


def is_out_of_date(wanted: bytes) -> bool:
    """Return whether the drop-in file is not what it should be."""
    return not DROP_IN.exists() or DROP_IN.read_bytes() != wanted


def would_differ(options: list[str]) -> bool:
    """Return whether `set` has something to do; what cannot be told, it has to find out."""
    if not (shutil.which("containerd") and shutil.which("nvidia-ctk") and is_imported(list_imports())):
        return True
    try:
        return is_out_of_date(make(options))
    except subprocess.CalledProcessError:
        return True


def put(options: list[str]) -> bool:
    """Put the drop-in file in place, and return whether it differed."""
    wanted = make(options)
    if not is_out_of_date(wanted):
        return False
    DROP_IN.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    new = DROP_IN.with_suffix(".new")
    new.write_bytes(wanted)
    new.chmod(0o644)
    new.replace(DROP_IN)
    return True


def main(verb: str, *rest: str) -> None:
    """Print what there is, after `set` did its part."""
    packages = [word for word in rest if not word.startswith("--")]
    options = [word for word in rest if word not in (*packages, UNPRIVILEGED_ENV)]
    try:
        differs = put(options) if verb == "set" else would_differ(options)
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(error.cmd)}: exit {error.returncode}; fix: see what it says above, and {CONFIG}")
    answer = {
        "family": read_family(Path("/etc/os-release").read_text("utf-8")),
        "due": sorted(file.name for file in DUE.glob("*")),  # what a run before this one did not come to
        "packages": list_packages(packages),
        "runtime_config": want_runtime_config(unprivileged_env=UNPRIVILEGED_ENV in rest),
        "containerd": look_at_containerd(differs=differs),
        "podman": {"present": PODMAN.exists(), "hooks": [path for path in HOOKS if Path(path).exists()]},
    }
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    os.umask(0o022)  # whoever runs it: others look at containerd's folder too
    main(*sys.argv[1:])
