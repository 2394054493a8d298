"""A real `rprs serve` in a process of its own, for tests that ask it over HTTP."""

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
    """A server that is running."""

    url: str  # without a slash at its end
    process: subprocess.Popen[str]
    log: Path

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def client(self, **options: object) -> httpx.Client:
        """A client of its API; the environment's proxies are not asked."""
        return httpx.Client(base_url=f"{self.url}/api/v1", timeout=60, trust_env=False, **options)  # type: ignore[arg-type]  # passed on

    def said(self) -> str:
        """All that it has said on standard error."""
        return self.log.read_text(encoding="utf-8")

    def seconds(self) -> float:
        """Seconds of processor time that it has used."""
        columns = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(columns[11]) + int(columns[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Bytes of memory that it has now."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def served(index: Path, *options: object) -> Iterator[Server]:
    """Serve an index on a free port until the end of the block."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        words = [sys.executable, "-m", "rprs", "serve", str(index), "--port", "0", "--no-open", *map(str, options)]
        with log.open("w") as errors:
            process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True)
        out = cast("IO[str]", process.stdout)
        try:
            said = out.readline().split()
            assert said, f"no server: {log.read_text()}"
            yield Server(said[-1].rstrip("/"), process, log)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            finally:
                process.kill()
                out.close()
