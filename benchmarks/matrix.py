"""Many documents against themselves: `python -m benchmarks.matrix [--documents 1000 10000] [--jobs 2] [--markdown]`.

Each document has 40 sentences of Python's documentation, drawn at random; one in twenty is a copy of an earlier one
with a sentence replaced. `rprs matrix` runs as a command, with its CSV file and its picture. Wall-clock time depends on
what else runs; processor time hardly does.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep

import numpy as np
from rich.console import Console

from benchmarks.collection import sentences
from benchmarks.table import Row, as_markdown, as_table, seconds
from benchmarks.table import size as bytes_text
from rprs import Document, Writer

__all__ = ["main"]

LENGTH = 40  # sentences
COPIES = 0.05
ENCODER = "hashed(dimension=384)"  # vectors are read, not computed: only their dimension matters, that of the default


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.matrix", description="documents against themselves")
    parser.add_argument("--documents", type=int, nargs="+", default=[1_000, 10_000], metavar="N")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    options = parser.parse_args(arguments)
    rows = [row for size in options.documents for row in _measured(size, options.jobs)]
    if options.markdown:
        print(as_markdown(rows))
    else:
        Console(width=None if sys.stdout.isatty() else 160).print(as_table(rows))
    return 0


def generated(size: int) -> tuple[list[Document], dict[str, str]]:
    """The documents, and for each copy the id of its source."""
    random, pool = np.random.default_rng(1), sentences()
    documents: list[Document] = []
    sources: dict[str, str] = {}
    for number in range(size):
        id = f"d{number:06}"
        if documents and random.random() < COPIES:
            source = documents[random.integers(len(documents))]
            lines = source.text.split("\n")
            lines[random.integers(len(lines))] = pool[random.integers(len(pool))]
            sources[id] = source.id
        else:
            lines = [pool[choice] for choice in random.integers(0, len(pool), LENGTH)]
        documents.append(Document(id, "\n".join(lines)))
    return documents, sources


def _measured(size: int, jobs: int) -> Iterator[Row]:
    documents, sources = generated(size)
    with TemporaryDirectory(prefix="rprs-matrix-") as folder:
        path, table = Path(folder) / "made.rprs", Path(folder) / "matrix.csv"
        with Writer(path, create=True, encoder=ENCODER) as writer:
            writer.add(documents)
        print(f"{size:,} documents indexed", file=sys.stderr)
        command = ["matrix", str(path), "--jobs", str(jobs), "-o", str(table), "--picture", f"{folder}/matrix.svg"]
        used, wall, memory = _run([sys.executable, "-m", "rprs", "--quiet", *command])
        found = _found(table, sources)
    what = f"{size:,} documents against themselves, the 10 best of each, {jobs} processes"
    yield Row("matrix", f"{what}; processor time", seconds(used), "each document", seconds(used / size))
    yield Row("matrix", f"{what}; wall-clock time, load {os.getloadavg()[0]:.1f}", seconds(wall))
    yield Row("matrix", f"{what}; peak memory of all processes, without mapped files", bytes_text(memory))
    yield Row("matrix", f"{size:,} documents; copies in the cluster of their source", f"{found:,} of {len(sources):,}")


def _run(command: Sequence[str]) -> tuple[float, float, int]:
    """Processor time, wall-clock time, and the peak of the memory of a command and its processes, in bytes."""
    before, started, peak = _processor_time(), perf_counter(), 0
    with subprocess.Popen(command) as process:
        while process.poll() is None:
            peak = max(peak, _memory(process.pid))
            sleep(0.25)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return _processor_time() - before, perf_counter() - started, peak


def _processor_time() -> float:
    """Of the processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def _memory(process: int) -> int:
    """The memory of a process and its descendants at this moment, in bytes, without mapped files (Linux)."""
    folder = Path(f"/proc/{process}")
    try:
        own = 1024 * int((folder / "status").read_text().partition("RssAnon:")[2].split()[0])
        children = (folder / "task" / str(process) / "children").read_text().split()
    except (OSError, IndexError):  # it has ended
        return 0
    return own + sum(_memory(int(child)) for child in children)


def _found(table: Path, sources: dict[str, str]) -> int:
    """How many copies are in the cluster of their source."""
    cluster: dict[str, str] = {}
    with table.open(encoding="utf-8", newline="") as file:
        next(file)  # what is needed to reproduce it
        for row in csv.DictReader(file):
            if row["cluster"]:
                cluster[row["query"]] = cluster[row["id"]] = row["cluster"]
    return sum(id in cluster and cluster[id] == cluster.get(source) for id, source in sources.items())


if __name__ == "__main__":
    sys.exit(main())
