"""Many documents against themselves: `python -m benchmarks.matrix [--documents 1000 10000] [--jobs 2] [--markdown]`.

Each document has 40 sentences of Python's documentation, drawn at random; one in twenty is a copy of an earlier one
with a sentence replaced. Wall-clock time depends on what else runs; processor time hardly does.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
from rich.console import Console

from benchmarks.collection import sentences
from benchmarks.table import Row, as_markdown, as_table, seconds
from rprs import Document, Writer
from rprs.matrices.compute import matrix
from rprs.matrices.values import Matrix

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
        path = Path(folder) / "made.rprs"
        with Writer(path, create=True, encoder=ENCODER) as writer:
            writer.add(documents)
        print(f"{size:,} documents indexed", file=sys.stderr)
        processor, started = _processor_time(), perf_counter()
        result = matrix(path, jobs=jobs)
        wall, used = perf_counter() - started, _processor_time() - processor
    what = f"{size:,} documents against themselves, the 10 best of each, {jobs} processes"
    yield Row("matrix", f"{what}; processor time", seconds(used), "each document", seconds(used / size))
    yield Row("matrix", f"{what}; wall-clock time, load {os.getloadavg()[0]:.1f}", seconds(wall))
    found = _found(result, sources)
    yield Row("matrix", "copies in the cluster of their source", f"{found:,} of {len(sources):,}")


def _processor_time() -> float:
    """Of this process and of those that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _found(result: Matrix, sources: dict[str, str]) -> int:
    cluster = {id: number for number, members in enumerate(result.clusters) for id in members}
    return sum(id in cluster and cluster[id] == cluster.get(source) for id, source in sources.items())


if __name__ == "__main__":
    sys.exit(main())
