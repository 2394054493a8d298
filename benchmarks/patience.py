"""Connections that say nothing for long beside a server at work: `python -m benchmarks.patience --minutes 30`.

Three connections are held for that time: one that was kept after a request, one that has never said anything, and one
that sends the head of a request a byte at a time. Each is opened again whenever the server closes it. Meanwhile there
is a search every second, always on the same kept connection and always with the same answer. At the end it prints what
became of each, and the server's memory at the start and at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import httpx

ROOT = Path(__file__).parent.parent
SAMPLE, QUERY = ROOT / "docs/sample/files", ROOT / "docs/sample/brief.txt"


@dataclass
class Held:
    """What became of a kind of connection: how long each that the server closed had lived, in seconds."""

    lives: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        if not self.lives:
            return "never closed by the server"
        spread = f"{min(self.lives):.1f} to {max(self.lives):.1f} s"
        return f"closed by the server {len(self.lives)} times, each time after {spread}"


@dataclass(frozen=True)
class Server:
    """A server that is running."""

    url: str
    process: int

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def megabytes(self) -> float:
        pages = int(Path(f"/proc/{self.process}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    @property
    def request(self) -> bytes:
        return f"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode()


@contextmanager
def served(index: Path) -> Iterator[Server]:
    """`rprs serve` as a user starts it, on a free port."""
    words = [sys.executable, "-m", "rprs", "serve", str(index), "--port", "0", "--no-open"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline().split()
            if not said:
                raise SystemExit("The server did not start: run `rprs serve` on that index to see why")
            yield Server(said[-1].rstrip("/"), process.pid)
        finally:
            process.terminate()


# ---------------------------------------------------------------------------- connections

Hold = Callable[[asyncio.StreamReader, asyncio.StreamWriter, Server], Awaitable[None]]


async def kept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: Server) -> None:
    """Ask once, and keep the connection."""
    writer.write(server.request)
    await reader.read()


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: Server) -> None:
    """Say nothing."""
    await reader.read()


async def dribbling(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: Server) -> None:
    """A byte a second, of a head that does not end."""
    closed = asyncio.ensure_future(reader.read())
    try:
        for byte in server.request[:-2] + b"X-Long: " + b"x" * 10_000:
            writer.write(bytes([byte]))
            await writer.drain()
            if (await asyncio.wait([closed], timeout=1))[0]:
                return
    finally:
        closed.cancel()


KINDS: dict[str, Hold] = {"kept after a request": kept, "silent": silent, "dribbling": dribbling}


async def hold(kind: Hold, server: Server, held: Held) -> None:
    """Hold a connection, and another whenever the server closes one."""
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        opened = monotonic()
        try:
            with suppress(ConnectionError):
                await kind(reader, writer, server)
            held.lives.append(monotonic() - opened)
        finally:
            writer.close()


async def search(server: Server, seconds: float, latencies: list[float]) -> None:
    """A search a second; the hits are the same each time."""
    first = None
    over = monotonic() + seconds
    body = {"text": QUERY.read_text(encoding="utf-8"), "k": 5}
    async with httpx.AsyncClient(base_url=server.url, timeout=30, trust_env=False) as client:
        while monotonic() < over:
            started = monotonic()
            response = await client.post("/api/v1/search", json=body)
            latencies.append(monotonic() - started)
            hits = json.dumps(response.raise_for_status().json()["hits"])
            first = first or hits
            if hits != first:
                raise SystemExit("A search has other hits than the first")
            await asyncio.sleep(max(0.0, 1 - (monotonic() - started)))


async def wait(server: Server, seconds: float) -> None:
    """Hold all kinds of connections while searching, and print what became of them."""
    held = {name: Held() for name in KINDS}
    latencies: list[float] = []
    await search(server, 5, [])  # so that memory is what a server at work needs
    before = server.megabytes
    tasks = [asyncio.ensure_future(hold(kind, server, held[name])) for name, kind in KINDS.items()]
    await search(server, seconds, latencies)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    ordered = sorted(latencies)
    print(f"{seconds / 60:g} minutes")
    for name, became in held.items():
        print(f"connection {name}: {became}")
    middle, high = (ordered[int(share * (len(ordered) - 1))] * 1000 for share in (0.5, 0.95))
    print(f"{len(ordered):,} searches with the same hits, p50 {middle:.0f} ms, p95 {high:.0f} ms")
    print(f"memory of the server: {before:.0f} MB at the start, {server.megabytes:.0f} MB at the end")


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve an index, by default of the sample in the documentation, and try its patience."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.patience", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0, help="how long (default: 30)")
    parser.add_argument("--index", type=Path, metavar="PATH", help="the index to serve (default: one of the sample)")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        index = given.index or Path(folder) / "sample.rprs"
        if given.index is None:
            words = [sys.executable, "-m", "rprs", "index", str(SAMPLE), "--to", str(index), "--encoder", "hashed"]
            subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
        with served(index) as server:
            asyncio.run(wait(server, given.minutes * 60))


if __name__ == "__main__":
    main()
