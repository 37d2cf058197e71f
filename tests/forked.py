"""The command in a process of its own with limits, as often as a test likes: forked from one that has it loaded."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType

SERVER = """
import json, os, resource, signal, sys
from cluster_model.cli.main import main
import cluster_model.checks, cluster_model.cli.validate, cluster_model.plan.build
said = sys.argv[1]
for line in sys.stdin:
    folder, arguments = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_AS, (2 * 10**9,) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (150,) * 2)
        signal.alarm(3600)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number in (1, 2):
            os.dup2(os.open(f"{said}/{number}", os.O_CREAT | os.O_WRONLY | os.O_TRUNC), number)
        sys.argv = ["gpuyard", *arguments]
        sys.exit(main())
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Command:
    """gpuyard, loaded once; each run has 2 GB of memory and 150 s of a processor; one that waits for ever ends after an hour."""

    def __enter__(self) -> Command:
        self._said = tempfile.TemporaryDirectory()
        command = [sys.executable, "-c", SERVER, self._said.name]
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.communicate()
        self._said.cleanup()

    def run(self, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
        """Run the command in a folder; return its exit code and what it says."""
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.write(json.dumps([str(folder), arguments]) + "\n")
        self._server.stdin.flush()
        code = int(self._server.stdout.readline())
        out, err = (Path(self._said.name, number).read_text("utf-8") for number in "12")
        return subprocess.CompletedProcess(arguments, code, out, err)
