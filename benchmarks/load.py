"""Load test of the server: correctness and latency of the responses, and memory.

`python -m benchmarks.load INDEX [--clients 50] [--seconds 60] [--workers 2] [--markdown]` starts a real `rprs serve`.
Each client runs one search after another, with documents from the index and with pasted texts, and compares the
response with the results of `Searcher`. A client that is refused (503) waits as long as `Retry-After` says. Processor
time and memory are those of the server with its workers; memory that they share is counted once. The goals for
throughput and latency are those of two workers.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import httpx
import numpy as np
from rich.console import Console

from benchmarks.table import Goal, Row, as_markdown, as_table, seconds, size
from rprs.document import Document
from rprs.index import Index
from rprs.results.hits import Results
from rprs.search import Searcher

__all__ = ["main"]

QUERIES = 60
K = 10
WARM_UP = 10.0  # seconds after which memory should no longer grow
GROWTH = 1.05
RATE, LATENCY = 100, 0.6  # responses a second, and seconds within which 95% of them come: with two workers
MAX_TEXT = 20_000  # characters of a pasted text


@dataclass(frozen=True, slots=True)
class Search:
    """A request and its expected results."""

    body: dict[str, Any]
    ids: list[str]
    scores: list[float]

    def matches(self, response: Any) -> bool:
        """Whether a response has the same documents with bit-identical scores."""
        hits = response["hits"]
        return self.ids == [hit["id"] for hit in hits] and self.scores == [hit["score"] for hit in hits]


@dataclass(slots=True)
class Tally:
    """The outcomes of all requests."""

    latencies: list[float] = field(default_factory=list)  # seconds per response
    correct: int = 0
    refused: int = 0  # with 503
    without_delay: int = 0  # of those without Retry-After
    others: Counter[str] = field(default_factory=Counter)
    processor: float = 0.0  # seconds of the server
    memory: list[tuple[float, int]] = field(default_factory=list)  # seconds since the start, bytes


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the load and print the table; the exit code is 1 if a goal was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description="Load test of rprs serve")
    parser.add_argument("index", type=Path, metavar="INDEX")
    parser.add_argument("--clients", type=int, default=50, help="concurrent clients (default: 50)")
    parser.add_argument("--seconds", type=float, default=60.0, help="duration (default: 60)")
    parser.add_argument("--workers", type=int, default=0, help="processes that search (default: the server itself)")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    options = parser.parse_args(arguments)
    with Index(options.index) as index:
        searches = make_searches(Searcher(index))
        title = f"{options.clients} clients for {options.seconds:g} s on {len(index):,} documents"
    with served(options.index, options.workers) as (url, process):
        tally = asyncio.run(_load(url, process, searches, options.clients, options.seconds))
    table = list(rows(title, tally, options.seconds, options.workers))
    if options.markdown:
        print(as_markdown(table))
    else:
        Console(width=None if sys.stdout.isatty() else 160).print(as_table(table))
    return int(any(row.met is False for row in table))


# ---------------------------------------------------------------------------- searches


def make_searches(searcher: Searcher) -> list[Search]:
    """Random documents of the index, alternately by id and as a pasted part of their text."""
    index = searcher.index
    chosen = np.random.default_rng(0).permutation(len(index))[:QUERIES].tolist()
    searches = []
    body: dict[str, Any]
    for place, number in enumerate(chosen):
        document = index.document(index.ids[number])
        if place % 2:
            pasted = document.text[: min(2 * len(document.text) // 3 + 1, MAX_TEXT)].strip()
            document, body = Document("query", pasted), {"text": pasted}
        else:
            body = {"ids": [document.id]}
        results = searcher.search(document, K)
        searches.append(_search({**body, "k": K}, results))
    return searches


def _search(body: dict[str, Any], results: Results) -> Search:
    return Search(body, [hit.id for hit in results], [hit.score for hit in results])


# ---------------------------------------------------------------------------- clients


@contextmanager
def served(index: Path, workers: int = 0) -> Iterator[tuple[str, int]]:
    """The address and process id of a server whose workers are ready."""
    command = [sys.executable, "-m", "rprs", "--quiet", "serve", str(index), "--port", "0", "--no-open"]
    command += ["--workers", str(workers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[-1].rstrip("/")
            while f"rprs_workers {float(workers)}" not in httpx.get(f"{url}/metrics", trust_env=False).text:
                sleep(0.1)
            yield url, process.pid
        finally:
            process.terminate()


async def _load(url: str, process: int, searches: Sequence[Search], clients: int, lasting: float) -> Tally:
    tally, started, before = Tally(), perf_counter(), processor_seconds(process)
    watching = asyncio.ensure_future(_watch(process, tally, started))
    async with asyncio.TaskGroup() as group:
        for number in range(clients):
            group.create_task(_client(url, searches, number, tally, started + lasting))
    watching.cancel()
    tally.processor = processor_seconds(process) - before
    tally.memory.append((perf_counter() - started, resident(process)))
    return tally


async def _client(url: str, searches: Sequence[Search], number: int, tally: Tally, until: float) -> None:
    chance = np.random.default_rng(number)
    # Without TLS: to read the certificates of the system takes each client as long as a search.
    async with httpx.AsyncClient(base_url=url, timeout=300, trust_env=False, verify=False) as http:
        while perf_counter() < until:
            search = searches[int(chance.integers(len(searches)))]
            begun = perf_counter()
            try:
                response = await http.post("/api/v1/search", json=search.body)
            except httpx.HTTPError as error:
                tally.others[type(error).__name__] += 1
                continue
            if response.status_code == 200:
                tally.latencies.append(perf_counter() - begun)
                tally.correct += search.matches(response.json())
            elif response.status_code == 503:
                tally.refused += 1
                tally.without_delay += not response.headers.get("Retry-After", "").isdecimal()
                await asyncio.sleep(float(response.headers.get("Retry-After", 1)))
            else:
                tally.others[str(response.status_code)] += 1


async def _watch(process: int, tally: Tally, started: float) -> None:
    while True:
        tally.memory.append((perf_counter() - started, resident(process)))
        await asyncio.sleep(0.5)


def resident(process: int) -> int:
    """Resident memory of a process and its children in bytes, each with its share of what they share."""
    total = 0
    for each in _with_children(process):
        with suppress(OSError):  # it has ended
            lines = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
            total += next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


def processor_seconds(process: int) -> float:
    """Processor time of a process and its children."""
    total = 0
    for each in _with_children(process):
        with suppress(OSError):
            columns = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            total += int(columns[11]) + int(columns[12])
    return total / os.sysconf("SC_CLK_TCK")


def _with_children(process: int) -> list[int]:
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    return [process, *(int(child) for task in tasks for child in task.read_text().split())]


# ---------------------------------------------------------------------------- table


def rows(title: str, tally: Tally, lasting: float, workers: int) -> Iterator[Row]:
    """The rows of the table."""
    sure, count = Goal(1, at_least=True), len(tally.latencies)
    share = tally.correct / count if count else 0.0
    yield Row("load", f"{title}; correct responses", f"{tally.correct:,} of {count:,}", ratio=share, goal=sure)
    with_delay = tally.refused - tally.without_delay
    share = with_delay / tally.refused if tally.refused else 1.0
    yield Row("load", "503 with Retry-After", f"{with_delay:,} of {tally.refused:,}", ratio=share, goal=sure)
    failed = tally.others.total()
    kinds = ", ".join(f"{count} {kind}" for kind, count in tally.others.most_common()) or "none"
    share = 1 - failed / max(failed + tally.refused + count, 1)
    yield Row("load", "other outcomes", kinds, ratio=share, goal=sure)
    if count:
        yield from _speed(tally.latencies, count / lasting, workers)
        yield Row("load", "processor time of the server", f"{seconds(tally.processor / count)} per response")
    yield _memory(tally)


def _speed(latencies: list[float], rate: float, workers: int) -> Iterator[Row]:
    """Latency and throughput."""
    soon, often = (Goal(1.0), Goal(1.0, at_least=True)) if workers else (None, None)
    p50, p95 = (float(np.percentile(latencies, part)) for part in (50, 95))
    what = f"95% of responses (p50 {seconds(p50)}, max {seconds(max(latencies))}), {workers} workers"
    yield Row("load", what, seconds(p95), "the limit set", seconds(LATENCY), p95 / LATENCY, goal=soon)
    what = f"responses per second, {workers} workers"
    yield Row("load", what, f"{rate:.1f}", "the least", f"{RATE}", rate / RATE, goal=often)


def _memory(tally: Tally) -> Row:
    """Memory at the start, after warming up, and at the end; the ratio is end to warm."""
    late = [(at, used) for at, used in tally.memory if at >= WARM_UP] or tally.memory[-1:]
    times, used = np.array(late, dtype=np.float64).T
    slope = float(np.polyfit(times, used, 1)[0]) if len(late) > 1 else 0.0
    first, warm, last = tally.memory[0][1], late[0][1], late[-1][1]
    sizes = f"{size(first)} at the start, {size(warm)} after {WARM_UP:g} s, {size(last)} at the end"
    return Row(
        "load",
        "memory of the server",
        f"{sizes}; {slope * 60 / 1e6:+.2f} MB per minute",
        ratio=last / warm,
        goal=Goal(GROWTH),
    )


if __name__ == "__main__":
    sys.exit(main())
