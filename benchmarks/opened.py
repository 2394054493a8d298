"""Memory and time of an opened index of many documents: `python -m benchmarks.opened [INDEX] [--documents 1000000]`.

Without an index, one of invented documents is written: their terms are drawn, not analysed, so that a million take
minutes. Each figure is that of a new process: memory of its own, without the files that it maps. Prints Markdown.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from rprs.document import Document, Sentences
from rprs.index import Writer
from rprs.index.batches import Batch
from rprs.index.segment import Entry

WORDS, LENGTH = 30_000, 60  # different ones, and of a document
SEGMENT = 62_500  # documents

MEASURED = """
import sys
from time import perf_counter
from rprs import Index, Searcher

def own_memory():
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) / 1024

QUERY = " ".join(f"w{number:x}" for number in range(0, 400, 2)) + "."
before, started = own_memory(), perf_counter()
index = Index(sys.argv[1])
opened = perf_counter() - started
rows = [(f"opened, {len(index):,} documents in {len(index.segments)} segments", opened, own_memory() - before)]
searcher = Searcher(index, "bm25")
for what, options in (
    ("first search", {}), ("second search", {}), ("first filter", {"where": "year < 100"}),
    ("second filter", {"where": "year < 120"}), ("first date limit", {"before": "date=1995-01-01"}),
    ("second date limit", {"before": "date=1996-01-01"}),
):
    started = perf_counter()
    searcher.rank(QUERY, **options)
    rows.append((what, perf_counter() - started, own_memory() - before))
for what, seconds, memory in rows:
    print(f"| {what} | {seconds:.2f} | {memory:.0f} |")
"""


def write_invented(path: Path, documents: int) -> None:
    """An index of invented documents with one sentence each, segment by segment."""
    random = np.random.default_rng(1)
    sentence = Sentences(np.array([[0, 20]]), np.zeros(1, dtype=np.int32))
    with Writer(path, create=True, encoder="hashed(dimension=16)", phrases=False) as writer:
        writer.add([])
        for first in range(0, documents, SEGMENT):
            numbers = range(first, min(first + SEGMENT, documents))
            drawn = (random.pareto(0.7, (len(numbers), LENGTH)).astype(np.int64) % WORDS).tolist()
            counted = [Counter(f"w{word:x}" for word in row) for row in drawn]
            entries = [
                Entry(sentence, tuple(each), np.array(list(each.values())), LENGTH, word_hash=number)
                for number, each in zip(numbers, counted, strict=True)
            ]
            batch = [
                Document(
                    f"document-{n:09d}",
                    f"Invented text {n}.",
                    f"Title {n}",
                    {"year": n % 300, "date": f"{1990 + n % 30}"},
                )
                for n in numbers
            ]
            with writer._change():
                writer._commit(Batch(batch, 0, []), entries)
        writer.finish()


def main() -> None:
    """Write an index if none is given, and measure it in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index", nargs="?", type=Path)
    parser.add_argument("--documents", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.index or Path(folder) / "invented.rprs"
        if not path.exists():
            write_invented(path, options.documents)
        print("| | seconds | MB |\n|---|---|---|", flush=True)
        subprocess.run([sys.executable, "-c", MEASURED, str(path)], check=True)


if __name__ == "__main__":
    main()
