"""A small cluster on this machine, to try one: `python -m rprs.cluster.local` runs until its standard input is closed.

It is a process of its own that ends all others that it started, also those that Ray has left to themselves.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from tempfile import mkdtemp
from time import monotonic, sleep
from typing import IO, Any, cast

from rprs.cluster.settings import environment
from rprs.errors import UsageError

__all__ = ["LocalCluster", "main"]

PR_SET_CHILD_SUBREAPER = 36
LOOPBACK = "127.0.0.1"
ENDING = 20.0  # seconds


class LocalCluster:
    """A head and `nodes` nodes as processes of this machine, which only this machine can reach; use it in a `with`."""

    def __init__(self, nodes: int = 2, cores: int = 1) -> None:
        words = [sys.executable, "-m", "rprs.cluster.local", "--nodes", str(nodes), "--cores", str(cores)]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        line = cast("IO[bytes]", self._process.stdout).readline()
        if not line:
            self.close()
            raise UsageError("Ray could not be started on this machine: see the messages above")
        facts: dict[str, Any] = json.loads(line)
        self.address: str = facts["address"]
        self.token_file = Path(facts["token_file"])
        self.processes: list[int] = facts["processes"]  # of the nodes, in their order

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs in its environment to connect."""
        return {**environment(self.address), "RAY_AUTH_TOKEN_PATH": str(self.token_file)}

    def close(self) -> None:
        """End all processes, and wait until they are gone."""
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(BrokenPipeError):
                cast("IO[bytes]", stream).close()
        try:
            self._process.wait(2 * ENDING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> LocalCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# ---------------------------------------------------------------------------- the process


def main() -> None:
    """Start the nodes, print how to connect as a line of JSON, and end them when standard input is closed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--cores", type=int, default=1)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then closes the pipe
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # processes whose parent dies become children of this
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Ray prints to standard output
    folder = Path(mkdtemp(prefix="rprs-", dir="/tmp"))  # the paths of sockets must be short
    token_file = folder / "token"
    token_file.touch(0o600)
    token_file.write_text(token_hex(32), encoding="ascii")
    os.environ.update(environment(LOOPBACK))
    os.environ["RAY_AUTH_TOKEN_PATH"] = str(token_file)
    # Otherwise Ray notes the newest cluster in a folder that all users share, and fails if it is missing.
    os.environ["RAY_TMPDIR"] = str(folder)
    (folder / "ray").mkdir()
    try:
        from rprs.cluster.engine import LocalNodes

        nodes = LocalNodes(options.nodes, options.cores, str(folder))
        facts = {"address": nodes.address, "token_file": str(token_file), "processes": nodes.processes}
        print(json.dumps(facts), file=out, flush=True)
        sys.stdin.buffer.read()
        with suppress(Exception):  # a node that was killed; the rest is ended below
            nodes.close()
    finally:
        _end_children()
        shutil.rmtree(folder, ignore_errors=True)


def _end_children() -> None:
    """End all processes below this one, which also has those whose parents have ended."""
    deadline = monotonic() + ENDING
    while (children := _children()) and monotonic() < deadline:
        for process in children:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        sleep(0.05)


def _children() -> list[int]:
    """The processes whose parent is this one."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                fields = (place / "stat").read_text().rsplit(")", 1)[1].split()
                if int(fields[1]) == os.getpid():
                    found.append(int(place.name))
    return found


if __name__ == "__main__":
    main()
