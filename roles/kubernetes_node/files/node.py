"""Look at a host that is to be a node of Kubernetes. Prints JSON, changes nothing.

Arguments: the name of the API server, then names of packages. No program of Kubernetes is run, and
no server is asked. Python 3.9 suffices.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(os.environ.get("GPUYARD_ROOT", "/"))
"""Where the host's files are; another folder in tests."""
FOLDER = "etc/kubernetes/gpuyard"
OURS = "# The API server of "
"""How our configuration of HAProxy begins."""
FAMILIES = {"debian": "debian", "rhel": "redhat", "fedora": "redhat"}
WITHOUT_CRI = re.compile(r"^disabled_plugins\s*=\s*\[[^\]]*[\"'](?:io\.containerd\.grpc\.v1\.)?cri[\"']", re.MULTILINE)
DROP_INS = ("50-gpuyard-kubernetes.toml", "99-nvidia.toml")
"""Files of containerd that are ours: this role's, and container_toolkit's, which repeats what others say."""
REGISTRY = re.compile(r"^\s*\[\s*(plugins\.[^\]]*?\bregistry\.(?:mirrors\.|configs\.)[^\]]+)\]", re.MULTILINE)
"""Of a registry what containerd does not take beside config_path, a table each: mirrors, and TLS in configs. Source:
containerd/containerd, pkg/cri/config, ValidateImageConfig."""
REMAINS = (
    "etc/kubernetes/bootstrap-kubelet.conf",
    "etc/kubernetes/pki/ca.crt",
    "var/lib/kubelet/config.yaml",
    "var/lib/kubelet/kubeadm-flags.env",
)
"""What kubeadm join leaves behind before kubelet.conf is there, and refuses to find."""


def main(name: str, *packages: str) -> None:
    """Print what there is."""
    proxy = judge_proxy(read("etc/haproxy/haproxy.cfg"))
    conf = read("etc/kubernetes/kubelet.conf")
    kubelet, firewalld = list_states("kubelet.service", "firewalld.service")
    filtering = {
        "firewalld": firewalld == "active",
        # Its unit is active where it filters nothing too.
        "ufw": re.search(r"^ENABLED=[\"']?yes", read("etc/ufw/ufw.conf"), re.MULTILINE),
    }
    answer = {
        "family": read_family(read("etc/os-release")),
        "hostname": read("proc/sys/kernel/hostname").strip(),
        "cgroup": 2 if (ROOT / "sys/fs/cgroup/cgroup.controllers").exists() else 1,
        "swap": [line.split()[0] for line in read("proc/swaps").splitlines()[1:]],
        "packages": list_packages(packages),
        "sources": sorted(str(path) for folder in SOURCES for path in (ROOT / folder).glob("gpuyard-kubernetes-*")),
        "named": find_name(read("etc/hosts"), name),
        "proxy": proxy,
        "server": find_field(conf, "server"),
        "ca": compute_ca(read("etc/kubernetes/pki/ca.crt")),
        "remains": [path for path in REMAINS if (ROOT / path).exists()],
        "making": (ROOT / FOLDER / "making").exists(),
        "kubelet": kubelet == "active",
        "firewalls": [name for name, found in filtering.items() if found],
        "discovery": (ROOT / FOLDER / "discovery.conf").exists(),
        "join": hashlib.sha256(read(f"{FOLDER}/join.yaml").encode()).hexdigest(),
        "containerd": look_at_containerd(),
    }
    sys.stdout.write(json.dumps(answer) + "\n")


SOURCES = ("etc/apt/sources.list.d", "etc/yum.repos.d")


def read(path: str) -> str:
    """Return a file's text, empty where there is none."""
    try:
        return (ROOT / path).read_text("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return ""


def ask(*words: str) -> str:
    """Return what a command prints, however it ends."""
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def list_states(*units: str) -> list[str]:
    """Return what each unit is, such as active."""
    found = re.findall(r"^ActiveState=(\S+)", ask("systemctl", "show", "--property=ActiveState", "--", *units), re.MULTILINE)
    return found if len(found) == len(units) else [""] * len(units)


def read_family(text: str) -> str:
    """Return debian or redhat, or the ID itself, of the text of /etc/os-release."""
    found = dict(re.findall(r"^(ID|ID_LIKE)=[\"']?([^\"'\n]*)", text, re.MULTILINE))
    words = [found.get("ID", ""), *found.get("ID_LIKE", "").split()]
    return next((FAMILIES[word] for word in words if word in FAMILIES), words[0])


def list_packages(names: tuple[str, ...]) -> list[list[str]]:
    """Return [name, version without the package's revision, state] of these; state is ii where installed, hi where held too."""
    if shutil.which("dpkg-query"):
        said = ask("dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Abbrev}\n", *names).splitlines()
        rows = [row for row in map(str.split, said) if len(row) == 3]
    else:
        said = ask("rpm", "-q", "--qf", "%{NAME} %{VERSION}-%{RELEASE}\n", *names).splitlines()
        rows = [row.split() for row in said if row.count(" ") == 1]
        locks = ask("dnf", "-q", "versionlock", "list") if rows else ""
        rows = [[*row, "hi" if re.search(rf"^{re.escape(row[0])}-\d", locks, re.MULTILINE) else "ii"] for row in rows]
    return [[name, version.rpartition("-")[0] or version, state] for name, version, state in rows]


def find_name(text: str, name: str) -> list[list[str]]:
    """Return [address, the line's remark] of each line of /etc/hosts that has the name."""
    found = []
    for line in text.splitlines():
        words, _, remark = line.partition("#")
        if name in words.split()[1:]:
            found.append([words.split()[0], remark.strip()])
    return found


def judge_proxy(text: str) -> str:
    """Return whose HAProxy's configuration is: ours, the package's or others'; empty where there is none."""
    return "" if not text else "ours" if text.startswith(OURS) else "package" if is_packaged(text) else "others"


def is_packaged(text: str) -> bool:
    """Return whether HAProxy's configuration is the one that its package brought."""
    if shutil.which("dpkg-query"):  # rpm may be there too, as a program that knows of no package
        said = ask("dpkg-query", "-W", "-f", "${Conffiles}\n", "haproxy")
        return re.search(rf"/etc/haproxy/haproxy\.cfg {hashlib.md5(text.encode()).hexdigest()}\b", said) is not None
    return ask("rpm", "-q", "--qf", "there", "haproxy") == "there" and "haproxy.cfg" not in ask("rpm", "-V", "haproxy")


def find_field(text: str, key: str) -> str:
    """Return a field of a kubeconfig, empty where it has none."""
    found = re.search(rf"^\s*{key}:\s*[\"']?([^\"'\s]+)", text, re.MULTILINE)
    return found[1] if found else ""


def compute_ca(text: str) -> str:
    """Return the SHA-256 of the first certificate of a text, empty where it has none."""
    found = re.search(r"-----BEGIN CERTIFICATE-----(.*?)-----END", text, re.DOTALL)
    return hashlib.sha256(base64.b64decode(found[1])).hexdigest() if found else ""


def look_at_containerd() -> dict[str, object]:
    """Return what containerd is, and what it makes of its files."""
    program = shutil.which("containerd")
    config = read("etc/containerd/config.toml")
    line = re.search(r"^imports\s*=\s*\[([^\]]*)\]", config, re.MULTILINE)
    stated = re.search(r"^version\s*=\s*(\d+)", config, re.MULTILINE)
    version = re.search(r"\bv?(\d+)\.(\d+)\.\d+", ask("containerd", "--version")) if program else None
    dump = ask("containerd", "config", "dump") if program else ""
    imports = re.findall(r"[\"']([^\"']+)[\"']", line[1]) if line else []
    ours = re.search(r'^\s*sandbox(?:_image)? = "([^"]+)"', read(f"etc/containerd/conf.d/{DROP_INS[0]}"), re.MULTILINE)
    return {
        "present": program is not None,
        "version": f"{version[1]}.{version[2]}" if version else "",
        "imports": imports,
        "without_cri": WITHOUT_CRI.search(config) is not None,
        "config_version": int(stated[1]) if stated else 0,
        "nvidia": (ROOT / "etc/containerd/conf.d/99-nvidia.toml").exists(),
        "systemd_cgroup": find_cgroup(dump),
        "pause": ours[1] if ours else "",
        "registries": find_registries(imports, whole=version is not None and version[1] == "1"),
        "containers": count_containers(),
    }


def find_registries(imports: list[str], *, whole: bool) -> list[str]:
    """Return what others' files say of registries that does not go with ours.

    containerd 1 takes the `whole` part of a plug-in from one file, so that with ours it loses the credentials of registries too.
    """
    paths = [ROOT / "etc/containerd/config.toml"]
    for pattern in imports:
        paths += sorted(ROOT.glob(str(Path("/etc/containerd", pattern)).lstrip("/")))
    found = []
    for path in dict.fromkeys(path for path in paths if path.name not in DROP_INS):
        name = path.relative_to(ROOT)
        tables = [table.strip() for table in REGISTRY.findall(read(str(name)))]
        found += [f"/{name}: [{table}]" for table in tables if whole or "registry.mirrors." in table or table.endswith(".tls")]
    return found


def count_containers() -> dict[str, int]:
    """Return how many containers run, by containerd's namespace; Kubernetes' is k8s.io. Each has a folder of its own."""
    found: dict[str, int] = {}
    for path in (ROOT / "run/containerd/io.containerd.runtime.v2.task").glob("*/*"):
        found[path.parent.name] = found.get(path.parent.name, 0) + 1
    return dict(sorted(found.items()))


def find_cgroup(dump: str) -> str:
    """Return true or false as containerd has it for the runtime runc, empty where it says nothing."""
    part = re.search(r"runtimes\.runc\.options\][^\[]*?SystemdCgroup = (true|false)", dump, re.DOTALL)
    return part[1] if part else ""


if __name__ == "__main__":
    main(*sys.argv[1:])
