"""A real `rprs serve` in a separate process, for tests over HTTP."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import httpx

TOKEN = "a-token-for-the-tests-0123456789"


@dataclass(frozen=True)
class Server:
    """A running server."""

    url: str  # without a trailing slash
    process: subprocess.Popen[str]
    log: Path

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def client(self, **options: object) -> httpx.Client:
        """A client of its API, without the proxies of the environment."""
        return httpx.Client(base_url=f"{self.url}/api/v1", timeout=60, trust_env=False, **options)  # type: ignore[arg-type]  # passed on

    def logged(self) -> str:
        """Its standard error so far."""
        return self.log.read_text(encoding="utf-8")

    def seconds(self) -> float:
        """Processor time used, in seconds."""
        columns = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(columns[11]) + int(columns[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Resident memory in bytes."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def served(index: Path | None, *options: object) -> Iterator[Server]:
    """Serve an index, or what the options name, on a free port until the end of the block."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        named = [] if index is None else [str(index)]
        command = [sys.executable, "-m", "rprs", "serve", *named, "--port", "0", "--no-open", *map(str, options)]
        with log.open("w") as errors:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        out = cast("IO[str]", process.stdout)
        try:
            announcement = out.readline().split()
            assert announcement, f"no server: {log.read_text()}"
            yield Server(announcement[-1].rstrip("/"), process, log)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            finally:
                process.kill()
                out.close()
