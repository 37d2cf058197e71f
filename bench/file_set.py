"""What a role's files cost where nothing changes: one `file_set` for all against a `template` for each, as CPU and as a ratio.

Both write the same files on this machine (`connection: local`), so controller and target are counted together; a run without them
is subtracted, so that a start is in neither.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from targets import link_collection

ROOT = Path(__file__).resolve().parents[1]
TEMPLATE = "# Made for {{ inventory_hostname }}.\n[Section]\n{% for key in range(8) %}\nKey{{ key }}=1\n{% endfor %}\n"


def main():
    """Print a JSON line for each number of files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=6, help="how often each way stands in its play; default: %(default)s")
    parser.add_argument("--files", type=int, nargs="+", default=[1, 2, 4, 8], help="files of a role; default: 1 2 4 8")
    options = parser.parse_args()
    link_collection()
    with tempfile.TemporaryDirectory(prefix="gy-bench-") as name:
        folder = Path(name)
        (folder / "file.j2").write_text(TEMPLATE)
        for count in options.files:
            floor = measure(folder, [])
            row = {way.__name__: (measure(folder, way(folder, options.tasks, count)) - floor) / options.tasks for way in WAYS}
            ratio = {"templates_times_file_set": round(row["templates"] / row["file_set"], 2)}
            print(
                json.dumps({"files": count, **{f"{way}_cpu_s": round(cpu, 2) for way, cpu in row.items()}, **ratio}), flush=True
            )


def list_paths(folder, tasks, count):
    """Return the paths of each task's files."""
    return [[str(folder / f"{task}-{number}.conf") for number in range(count)] for task in range(tasks)]


def file_set(folder, tasks, count):
    """Return tasks that write their files by one module each."""
    content = "{{ lookup('ansible.builtin.template', '" + str(folder / "file.j2") + "') }}"
    wanted = [[{"path": path, "content": content} for path in paths] for paths in list_paths(folder, tasks, count)]
    return [{"gpuyard.cluster.file_set": {"files": files}} for files in wanted]


def templates(folder, tasks, count):
    """Return a task for each file."""
    source = {"src": str(folder / "file.j2"), "owner": "root", "group": "root", "mode": "0644"}
    paths = [path for paths in list_paths(folder, tasks, count) for path in paths]
    return [{"ansible.builtin.template": {**source, "dest": path}} for path in paths]


WAYS = (file_set, templates)


def measure(folder, tasks):
    """Return the CPU seconds of a run of these tasks that changes nothing, after one that may."""
    (folder / "play.json").write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(folder / "none.cfg"),
        "ANSIBLE_HOME": str(folder / "home"),
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".ansible/collections"),
        "ANSIBLE_PIPELINING": "true",
        "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
    }
    command = [Path(sys.executable).parent / "ansible-playbook", "-i", "localhost,", "-c", "local", folder / "play.json"]
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)
    if tasks and f"ok={len(tasks)}    changed=0 " not in done.stdout:
        raise SystemExit(done.stdout)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
