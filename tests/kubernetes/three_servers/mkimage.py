"""Write an archive of a container image: mkimage.py OUT NAME:TAG ENTRY SOURCE[=TARGET] ...

Each source comes with the libraries that it needs.
It runs inside a node, whose iptables and libraries kube-proxy's image takes.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

WHEN = "2020-01-01T00:00:00Z"


def list_files(items: list[str]) -> dict[str, str]:
    """Return what lies where in the image."""
    files = {}
    for item in items:
        source, _, target = item.partition("=")
        files[(target or source).lstrip("/")] = source
        needed = subprocess.run(["ldd", source], capture_output=True, text=True, check=False)
        if needed.returncode == 0:
            files |= {path.lstrip("/"): os.path.realpath(path) for path in re.findall(r"(/\S+) \(0x", needed.stdout)}
    return files


def write_layer(files: dict[str, str]) -> bytes:
    """Return an archive of the files."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        for target, source in sorted(files.items()):
            info = tarfile.TarInfo(target)
            info.size, info.mode = Path(source).stat().st_size, 0o755
            with Path(source).open("rb") as file:
                archive.addfile(info, file)
        for folder, mode in (("tmp", 0o1777), ("etc", 0o755), ("var/lib", 0o755)):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, mode
            archive.addfile(info)
    return layer.getvalue()


def main(out: str, name: str, entry: str, *items: str) -> None:
    """Write the image."""
    layer = write_layer(list_files(list(items)))
    digest = hashlib.sha256(layer).hexdigest()
    config = {
        "architecture": "amd64",
        "os": "linux",
        "created": WHEN,
        "config": {
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            "Entrypoint": entry.split(),
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        "history": [{"created": WHEN}],
    }
    written = json.dumps(config).encode()
    file = f"{hashlib.sha256(written).hexdigest()}.json"
    manifest = json.dumps([{"Config": file, "RepoTags": [name], "Layers": [f"{digest}/layer.tar"]}]).encode()
    with tarfile.open(out, "w") as archive:
        for path, data in ((f"{digest}/layer.tar", layer), (file, written), ("manifest.json", manifest)):
            info = tarfile.TarInfo(path)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


if __name__ == "__main__":
    main(*sys.argv[1:])
