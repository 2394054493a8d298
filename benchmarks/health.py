"""How soon a server under attack says that it is alive: `python -m benchmarks.health [INDEX] [--seconds 10]`.

One process times `GET /api/v1/health`, each over a new connection, while another attacks the server: with look-ups,
long filters, filters that read all metadata, large and intricate JSON, slow bodies, silent sockets, and searches.
The times without an attack, before and after, show what the machine itself takes. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.invented import given_or_invented
from tests.support.server import served

THREADS, SOCKETS = 16, 1000
REOPENED = 50  # connections every half second: a flood of new ones is another attack
PAUSE = 0.03  # seconds between two requests for /health
ONSET = 5  # seconds from the beginning of an attack to the first measurement
Address = tuple[str, int]


def _send(address: Address, request: bytes, patience: float = 30) -> bytes:
    """Send a request and read what comes back, up to the end of the connection."""
    with socket.create_connection(address, timeout=patience) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(2**16), b""))


def _request(address: Address, method: str, path: str, body: bytes = b"") -> bytes:
    head = f"{method} /api/v1{path} HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\nConnection: close\r\n"
    if body:
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


def _repeat(address: Address, request: bytes) -> None:
    """Send a request again and again from many threads, until the process is ended."""

    def loop() -> None:
        while True:
            with suppress(OSError):
                _send(address, request)

    for _ in range(THREADS):
        threading.Thread(target=loop, daemon=True).start()
    time.sleep(3600)


# ---------------------------------------------------------------------------- attacks


def _look_ups(address: Address) -> None:
    _repeat(address, _request(address, "GET", f"/documents?limit=100&find={'a+' * 400}"))


def _search(**parts: object) -> bytes:
    return json.dumps({"text": "The harbour. A pilot, the tide and a beacon.", "k": 5, **parts}).encode()


def _long_filters(address: Address) -> None:
    where = " or ".join(f"year = {number}" for number in range(600))
    _repeat(address, _request(address, "POST", "/search", _search(where=where)))


def _wide_filters(address: Address) -> None:
    where = " and ".join(f'note != "{number}"' for number in range(300))
    _repeat(address, _request(address, "POST", "/search", _search(where=where)))


def _large_json(address: Address) -> None:
    _repeat(address, _request(address, "POST", "/search", _search(text="word " * 3_900_000)))


def _intricate_json(address: Address) -> None:
    body = b'{"text": "a", "documents": [' + b"[]," * 10_000_000 + b"[]]}"
    _repeat(address, _request(address, "POST", "/search", body))


def _many_records(address: Address) -> None:
    body = b'{"documents": [' + b'{"id": "a", "text": "b"},' * 1_000_000 + b'{"id": "a", "text": "b"}]}'
    _repeat(address, _request(address, "POST", "/documents", body))


def _slow_bodies(address: Address) -> None:
    head = _request(address, "POST", "/search", b"x" * 50_000)[:-49_000]
    _hold(address, head)


def _silent_sockets(address: Address) -> None:
    _hold(address, b"")


def _hold(address: Address, beginning: bytes) -> None:
    """Open many connections, and send a byte to each from time to time; open some again that are closed."""
    connections: list[socket.socket] = []
    missing = SOCKETS
    while True:
        for _ in range(missing):
            with suppress(OSError):
                connections.append(socket.create_connection(address, timeout=5))
                connections[-1].sendall(beginning)
        for connection in connections.copy():
            try:
                connection.sendall(b"x" if beginning else b"")
                connection.setblocking(False)
                with suppress(BlockingIOError):
                    if connection.recv(2**12) == b"":
                        raise ConnectionResetError
                connection.settimeout(5)
            except OSError:
                connection.close()
                connections.remove(connection)
        missing = min(REOPENED, SOCKETS - len(connections))
        time.sleep(0.5)


def _searches(address: Address) -> None:
    _repeat(address, _request(address, "POST", "/search", _search()))


ATTACKS: dict[str, Callable[[Address], None]] = {
    "look-ups (`find`) of 400 words": _look_ups,
    "filters of 600 terms": _long_filters,
    "filters that read all metadata 300 times": _wide_filters,
    "JSON with a text of 19 MB": _large_json,
    "JSON of 30 MB in 10 million empty lists": _intricate_json,
    "JSON of 25 MB in a million documents": _many_records,
    f"{SOCKETS:,} slow bodies": _slow_bodies,
    f"{SOCKETS:,} silent sockets": _silent_sockets,
    "searches": _searches,
}


# ---------------------------------------------------------------------------- timing


def _probe(address: Address, seconds: float, results: Any) -> None:
    """Time /health; one that fails counts as the time until then."""
    request, times, failures, end = _request(address, "GET", "/health"), [], 0, time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.perf_counter()
        try:
            failures += b" 200 " not in _send(address, request, patience=10)[:20]
        except OSError:
            failures += 1
        times.append(time.perf_counter() - start)
        time.sleep(PAUSE)
    results.put((times, failures))


def _timed(address: Address, seconds: float, attack: Callable[[Address], None] | None) -> tuple[list[float], int]:
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    attacker = context.Process(target=attack, args=(address,), daemon=True) if attack else None
    if attacker is not None:
        attacker.start()
        time.sleep(ONSET)
    prober = context.Process(target=_probe, args=(address, seconds, results), daemon=True)
    prober.start()
    measured: tuple[list[float], int] = results.get()
    prober.join()
    if attacker is not None:
        attacker.kill()
        attacker.join()
        time.sleep(2)  # let the server finish what it has begun
    return measured


def _row(name: str, times: list[float], failures: int) -> str:
    milliseconds = 1000 * np.array(times)
    middle, high, most = np.percentile(milliseconds, 50), np.percentile(milliseconds, 95), milliseconds.max()
    return f"| {name} | {len(times)} | {middle:.1f} | {high:.1f} | {most:.1f} | {failures} |"


def _measure(path: Path, seconds: float, only: str) -> None:
    with served(path, "--allow-write") as server:
        address = ("127.0.0.1", server.port)
        _send(address, _request(address, "POST", "/search", _search()))
        print(f"Load average: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors\n")
        print(
            "| attack | answers | median, ms | 95th percentile, ms | maximum, ms | without an answer |\n"
            + "|---" * 6
            + "|"
        )
        attacks = {name: attack for name, attack in ATTACKS.items() if only in name}
        for name, attack in ({"none, before": None} | attacks | {"none, after": None}).items():
            print(_row(name, *_timed(address, seconds, attack)), flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.health", description=__doc__)
    parser.add_argument("index", nargs="?", type=Path)
    parser.add_argument("--seconds", type=float, default=10, help="for each attack")
    parser.add_argument("--only", default="", help="attacks with this in their name, such as JSON")
    options = parser.parse_args()
    with given_or_invented(options.index, documents=5000, sentences=20, dimension=64) as path:
        _measure(path, options.seconds, options.only)


if __name__ == "__main__":
    main()
