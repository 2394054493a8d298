"""A crowd before the server: is every answer right, how long does it take, and does memory stay as it is?

`python -m benchmarks.load INDEX [--clients 50] [--seconds 60] [--markdown]` starts a real `rprs serve`. Each client
asks one question after the other, with documents of the index and with pasted texts, and holds the answer against what
`Searcher` had found before. A client that is told to come back (503) does so after the seconds it was told.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
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

QUESTIONS = 60
K = 10
SETTLED = 10.0  # seconds after which memory should no longer grow
GROWTH = 1.05
LONGEST = 20_000  # characters of a pasted text


@dataclass(frozen=True, slots=True)
class Question:
    """A request, and the answer that is right."""

    body: dict[str, Any]
    ids: list[str]
    scores: list[float]

    def right(self, answer: Any) -> bool:
        """Whether an answer has the same documents with the same scores, to the last bit."""
        hits = answer["hits"]
        return self.ids == [hit["id"] for hit in hits] and self.scores == [hit["score"] for hit in hits]


@dataclass(slots=True)
class Tally:
    """What happened to all requests."""

    taken: list[float] = field(default_factory=list)  # seconds of each answer
    right: int = 0
    refused: int = 0  # with 503
    unsaid: int = 0  # of those without Retry-After
    others: Counter[str] = field(default_factory=Counter)
    memory: list[tuple[float, int]] = field(default_factory=list)  # seconds since the start, bytes


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the load and print the table; the exit code is 1 if something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description="A crowd before rprs serve")
    parser.add_argument("index", type=Path, metavar="INDEX")
    parser.add_argument("--clients", type=int, default=50, help="that ask at the same time (default: 50)")
    parser.add_argument("--seconds", type=float, default=60.0, help="for so long (default: 60)")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    given = parser.parse_args(arguments)
    with Index(given.index) as index:
        asked = questions(Searcher(index))
        title = f"{given.clients} clients for {given.seconds:g} s on {len(index):,} documents"
    with served(given.index) as (url, process):
        tally = asyncio.run(_load(url, process, asked, given.clients, given.seconds))
    found = list(rows(title, tally, given.seconds))
    if given.markdown:
        print(as_markdown(found))
    else:
        Console(width=None if sys.stdout.isatty() else 160).print(as_table(found))
    return int(any(row.met is False for row in found))


# ---------------------------------------------------------------------------- questions


def questions(searcher: Searcher) -> list[Question]:
    """Documents spread over the index, every other by its id and every other as a text that is not all of it."""
    index = searcher.index
    chosen = np.random.default_rng(0).permutation(len(index))[:QUESTIONS].tolist()
    found = []
    body: dict[str, Any]
    for place, number in enumerate(chosen):
        document = index.document(index.ids[number])
        if place % 2:
            pasted = document.text[: min(2 * len(document.text) // 3 + 1, LONGEST)].strip()
            document, body = Document("query", pasted), {"text": pasted}
        else:
            body = {"ids": [document.id]}
        results = searcher.search(document, K)
        found.append(_question({**body, "k": K}, results))
    return found


def _question(body: dict[str, Any], results: Results) -> Question:
    return Question(body, [hit.id for hit in results], [hit.score for hit in results])


# ---------------------------------------------------------------------------- the crowd


@contextmanager
def served(index: Path) -> Iterator[tuple[str, int]]:
    """A server of its own process: its address, and the number of the process."""
    command = [sys.executable, "-m", "rprs", "--quiet", "serve", str(index), "--port", "0", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[-1].rstrip("/"), process.pid
        finally:
            process.terminate()


async def _load(url: str, process: int, asked: Sequence[Question], clients: int, lasting: float) -> Tally:
    tally, started = Tally(), perf_counter()
    watching = asyncio.ensure_future(_watch(process, tally, started))
    async with asyncio.TaskGroup() as crowd:
        for number in range(clients):
            crowd.create_task(_client(url, asked, number, tally, started + lasting))
    watching.cancel()
    tally.memory.append((perf_counter() - started, resident(process)))
    return tally


async def _client(url: str, asked: Sequence[Question], number: int, tally: Tally, until: float) -> None:
    chance = np.random.default_rng(number)
    async with httpx.AsyncClient(base_url=url, timeout=300, trust_env=False) as http:
        while perf_counter() < until:
            question = asked[int(chance.integers(len(asked)))]
            begun = perf_counter()
            try:
                answer = await http.post("/api/v1/search", json=question.body)
            except httpx.HTTPError as error:
                tally.others[type(error).__name__] += 1
                continue
            if answer.status_code == 200:
                tally.taken.append(perf_counter() - begun)
                tally.right += question.right(answer.json())
            elif answer.status_code == 503:
                tally.refused += 1
                tally.unsaid += not answer.headers.get("Retry-After", "").isdecimal()
                await asyncio.sleep(float(answer.headers.get("Retry-After", 1)))
            else:
                tally.others[str(answer.status_code)] += 1


async def _watch(process: int, tally: Tally, started: float) -> None:
    while True:
        tally.memory.append((perf_counter() - started, resident(process)))
        await asyncio.sleep(0.5)


def resident(process: int) -> int:
    """The bytes that a process has in memory."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))


# ---------------------------------------------------------------------------- the table


def rows(title: str, tally: Tally, lasting: float) -> Iterator[Row]:
    """What is to be known of a load."""
    sure, count = Goal(1, at_least=True), len(tally.taken)
    share = tally.right / count if count else 0.0
    yield Row("load", f"{title}; right answers", f"{tally.right:,} of {count:,}", ratio=share, goal=sure)
    told = tally.refused - tally.unsaid
    share = told / tally.refused if tally.refused else 1.0
    yield Row("load", "503 with Retry-After", f"{told:,} of {tally.refused:,}", ratio=share, goal=sure)
    failed = tally.others.total()
    kinds = ", ".join(f"{count} {kind}" for kind, count in tally.others.most_common()) or "none"
    share = 1 - failed / max(failed + tally.refused + count, 1)
    yield Row("load", "other outcomes", kinds, ratio=share, goal=sure)
    if count:
        p50, p95 = (seconds(float(np.percentile(tally.taken, part))) for part in (50, 95))
        yield Row("load", "latency of an answer", f"p50 {p50}, p95 {p95}, max {seconds(max(tally.taken))}")
        yield Row("load", "throughput", f"{count / lasting:.1f} answers a second")
    yield _memory(tally)


def _memory(tally: Tally) -> Row:
    """Memory at the start, when all is loaded, and at the end; the ratio is that of the end to when all is loaded."""
    late = [(at, used) for at, used in tally.memory if at >= SETTLED] or tally.memory[-1:]
    times, used = np.array(late, dtype=np.float64).T
    slope = float(np.polyfit(times, used, 1)[0]) if len(late) > 1 else 0.0
    first, settled, last = tally.memory[0][1], late[0][1], late[-1][1]
    shown = f"{size(first)} at the start, {size(settled)} after {SETTLED:g} s, {size(last)} at the end"
    return Row(
        "load",
        "memory of the server",
        f"{shown}; {slope * 60 / 1e6:+.2f} MB a minute",
        ratio=last / settled,
        goal=Goal(GROWTH),
    )


if __name__ == "__main__":
    sys.exit(main())
