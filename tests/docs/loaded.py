"""gpuyard as a program that begins at once: it is forked from a process that has it loaded.

Whoever runs it hands over streams, folder, environment and arguments, so that pipes, redirections and exit codes are real ones.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType

SERVER = """
import gc, importlib, json, os, socket, sys
import xlsxwriter
import cluster_model.checks, cluster_model.intent.load, cluster_model.plan.build
import cluster_model.render.tree, cluster_model.render.write
from cluster_model.cli.group import VERBS
from cluster_model.cli.main import main
for verb in VERBS:
    importlib.import_module("cluster_model.cli." + verb.replace("-", "_"))
gc.freeze()  # or every child would copy all memory as it collects, which takes longer than most commands
callers = socket.socket(fileno=int(sys.argv[1]))
while True:
    caller, _ = callers.accept()
    if os.fork() == 0:
        callers.close()
        text, streams, _, _ = socket.recv_fds(caller, 10**6, 3)
        if (child := os.fork()) == 0:
            caller.close()
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            folder, environment, sys.argv = json.loads(text)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            sys.exit(main())
        for stream in streams:
            os.close(stream)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        caller.send(bytes([code if code >= 0 else 128 - code]))
        os._exit(0)
    caller.close()
"""
PROGRAM = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
    server.connect({address!r})
    socket.send_fds(server, [json.dumps([os.getcwd(), dict(os.environ), sys.argv]).encode()], [0, 1, 2])
    sys.exit(server.recv(1)[0])
"""


class Loaded:
    """A folder for PATH, `bin`, with the program in it, for as long as the process behind it lives."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp()  # a short path: a socket's address has 107 bytes
        self.bin = Path(self._folder) / "bin"

    def __enter__(self) -> Loaded:
        address = f"{self._folder}/socket"
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as callers:
            callers.bind(address)
            callers.listen()
            command = [sys.executable, "-c", SERVER, str(callers.fileno())]
            quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
            self._server = subprocess.Popen(command, pass_fds=[callers.fileno()], **quiet)
        self.bin.mkdir()
        (self.bin / "gpuyard").write_text(PROGRAM.format(python=sys.executable, address=address))
        (self.bin / "gpuyard").chmod(0o755)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.kill()
        self._server.wait()
        shutil.rmtree(self._folder)
