"""How long the progress of one large PDF stands still: `python -m benchmarks.pauses [--pages 10000] [--encoder SPEC]`.

A PDF of invented text is written (10,000 pages: 50 MB) and indexed as `rprs index` does it. A pause is the time between
two movements: a task that begins, advances or ends. By the clock, and in processor time of this process and the one
that reads the file, which is the same on an idle machine where one of them works. Prints Markdown.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from time import perf_counter

from benchmarks.invented import invented_document
from rprs.index import Writer
from rprs.progress import Advance, show_reading
from rprs.read import read
from rprs.read.bounded import use_processes
from tests.support.read_samples import pdf

PAGES, LINES, SENTENCES = 10_000, 55, 46  # lines and sentences of a page
_TICKS = os.sysconf("SC_CLK_TCK")


class Recorder:
    """A `Progress` that keeps the longest pause within each task, and between tasks."""

    def __init__(self) -> None:
        self.longest: dict[str, tuple[float, float]] = {}
        self.total: dict[str, float] = {}
        self._open: list[str] = []
        self._last = self._now()

    @contextmanager
    def __call__(self, what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
        """Open a task."""
        self._move()
        self._open.append(f"{what.partition(' /')[0]}, {unit}".rstrip(", "))
        try:
            yield lambda _: self._move()
        finally:
            self._move()
            self._open.pop()

    def close(self) -> None:
        """The last pause is that until now."""
        self._move()

    def _move(self) -> None:
        if perf_counter() - self._last[0] < 0.02:  # the next one counts from the last that was kept
            return
        now = self._now()
        pause = now[0] - self._last[0], now[1] - self._last[1]
        stage = self._open[-1] if self._open else "between tasks"
        self.longest[stage] = max(self.longest.get(stage, (0.0, 0.0)), pause)
        self.total[stage] = self.total.get(stage, 0.0) + pause[0]
        self._last = now

    def _now(self) -> tuple[float, float]:
        """The clock, and the processor time of this process and its children."""
        tasks = Path("/proc/self/task").iterdir()
        children = {child for task in tasks for child in (task / "children").read_text().split()}
        used = 0
        for process in ("self", *children):
            try:
                fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
                used += sum(map(int, fields[11:15]))
            except FileNotFoundError:
                continue
        return perf_counter(), used / _TICKS


def write_pdf(path: Path, pages: int) -> None:
    """Pages of prose, each different."""
    random = Random(1)
    drawn = []
    for number in range(pages):
        words = invented_document(random, number, SENTENCES).text.replace("w", "word").split()  # as long as real ones
        size = -(-len(words) // LINES)
        drawn.append([" ".join(words[line * size : (line + 1) * size]) for line in range(LINES)])
    path.write_bytes(pdf(drawn))


def main() -> None:
    """Write the file, index it, and print the longest pause of each stage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--encoder", default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "book.pdf"
        write_pdf(path, options.pages)
        print(f"{options.pages:,} pages, {path.stat().st_size / 1e6:.1f} MB", file=sys.stderr, flush=True)
        recorder = Recorder()
        with show_reading(recorder), use_processes():
            index = Path(folder) / "book.rprs"
            with Writer(index, create=True, encoder=options.encoder, progress=recorder) as writer:
                added = writer.add(read(path))
        recorder.close()
    print(f"{added.sentences:,} sentences, {added.terms:,} words", file=sys.stderr)
    print("| stage | all of it | longest pause | in processor time |\n|---|---|---|---|")
    for stage, (clock, processor) in recorder.longest.items():
        print(f"| {stage} | {recorder.total[stage]:.1f} s | {clock:.1f} s | {processor:.1f} s |")


if __name__ == "__main__":
    main()
