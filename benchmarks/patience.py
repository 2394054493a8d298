"""Idle and slow connections to a busy server: `python -m benchmarks.patience --minutes 30`.

Three connections are held: one kept alive after a request, one that never sends anything, and one that sends the head
of a request one byte at a time. Each is reopened whenever the server closes it. Meanwhile a search runs every second,
always on the same connection and always with the same hits. At the end the lifetimes of the connections are printed,
and the server's memory at the start and at the end.
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
class Lifetimes:
    """The lifetimes of the connections of one kind that the server closed, in seconds."""

    seconds: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        if not self.seconds:
            return "never closed by the server"
        spread = f"{min(self.seconds):.1f} to {max(self.seconds):.1f} s"
        return f"closed by the server {len(self.seconds)} times, each time after {spread}"


@dataclass(frozen=True)
class Server:
    """A running server."""

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
    """`rprs serve` on a free port."""
    command = [sys.executable, "-m", "rprs", "serve", str(index), "--port", "0", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            announcement = process.stdout.readline().split()
            if not announcement:
                raise SystemExit("The server did not start: run `rprs serve` on this index to see why")
            yield Server(announcement[-1].rstrip("/"), process.pid)
        finally:
            process.terminate()


# ---------------------------------------------------------------------------- connections

Hold = Callable[[asyncio.StreamReader, asyncio.StreamWriter, Server], Awaitable[None]]


async def kept_alive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: Server) -> None:
    """Send one request and keep the connection."""
    writer.write(server.request)
    await reader.read()


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: Server) -> None:
    """Send nothing."""
    await reader.read()


async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: Server) -> None:
    """Send one byte per second of a head that never ends."""
    closed = asyncio.ensure_future(reader.read())
    try:
        for byte in server.request[:-2] + b"X-Long: " + b"x" * 10_000:
            writer.write(bytes([byte]))
            await writer.drain()
            if (await asyncio.wait([closed], timeout=1))[0]:
                return
    finally:
        closed.cancel()


KINDS: dict[str, Hold] = {"kept after a request": kept_alive, "silent": silent, "slow": slow}


async def hold(kind: Hold, server: Server, lifetimes: Lifetimes) -> None:
    """Hold a connection, and reopen it whenever the server closes it."""
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        opened = monotonic()
        try:
            with suppress(ConnectionError):
                await kind(reader, writer, server)
            lifetimes.seconds.append(monotonic() - opened)
        finally:
            writer.close()


async def search(server: Server, seconds: float, latencies: list[float]) -> None:
    """One search per second, always with the same hits."""
    first = None
    end = monotonic() + seconds
    body = {"text": QUERY.read_text(encoding="utf-8"), "k": 5}
    async with httpx.AsyncClient(base_url=server.url, timeout=30, trust_env=False) as client:
        while monotonic() < end:
            started = monotonic()
            response = await client.post("/api/v1/search", json=body)
            latencies.append(monotonic() - started)
            hits = json.dumps(response.raise_for_status().json()["hits"])
            first = first or hits
            if hits != first:
                raise SystemExit("The hits of a search differ from the first")
            await asyncio.sleep(max(0.0, 1 - (monotonic() - started)))


async def wait(server: Server, seconds: float) -> None:
    """Hold all kinds of connections while searching, and print their lifetimes."""
    lifetimes = {name: Lifetimes() for name in KINDS}
    latencies: list[float] = []
    await search(server, 5, [])  # warms the server up, so that its memory is typical
    before = server.megabytes
    tasks = [asyncio.ensure_future(hold(kind, server, lifetimes[name])) for name, kind in KINDS.items()]
    await search(server, seconds, latencies)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    ordered = sorted(latencies)
    print(f"{seconds / 60:g} minutes")
    for name, lifetime in lifetimes.items():
        print(f"connection {name}: {lifetime}")
    middle, high = (ordered[int(share * (len(ordered) - 1))] * 1000 for share in (0.5, 0.95))
    print(f"{len(ordered):,} searches with the same hits, p50 {middle:.0f} ms, p95 {high:.0f} ms")
    print(f"memory of the server: {before:.0f} MB at the start, {server.megabytes:.0f} MB at the end")


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve an index, by default the sample of the documentation, with idle and slow connections."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.patience", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0, help="how long (default: 30)")
    parser.add_argument(
        "--index", type=Path, metavar="PATH", help="the index to serve (default: built from the sample)"
    )
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        index = options.index or Path(folder) / "sample.rprs"
        if options.index is None:
            words = [sys.executable, "-m", "rprs", "index", str(SAMPLE), "--to", str(index), "--encoder", "hashed"]
            subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
        with served(index) as server:
            asyncio.run(wait(server, options.minutes * 60))


if __name__ == "__main__":
    main()
