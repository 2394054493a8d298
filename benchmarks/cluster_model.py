"""What a cluster needs, computed from constants that are measured on one index: `python -m benchmarks.cluster_model`.

Bytes, the processor time of a build and that of the first stage grow with the number of sentences; the second stage and
the evidence read a hundred documents, whatever the size of the collection. The table is computed, not measured.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from random import Random
from time import process_time

import rprs
from benchmarks.invented import given_or_invented, invented_document

SIZES = (1_000_000, 10_000_000, 100_000_000)
CORES = (32, 256)
LENGTH = 76  # sentences of a document: court opinions


@dataclass(frozen=True)
class Constants:
    """Of one sentence of a collection, and of a query."""

    bytes: float
    building: float  # processor seconds
    ranking: float  # processor seconds of the first stage
    rest: float  # seconds of the rest of a query, on one core
    overhead: float  # seconds that a cluster adds


def main() -> None:
    """Measure the constants, and print them with the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=16_000)
    parser.add_argument("--sentences", type=int, default=20)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--query-sentences", type=int, default=60)
    parser.add_argument("--overhead", type=float, default=0.03, help="seconds, from python -m benchmarks.cluster")
    options = parser.parse_args()
    each = measure(options)
    print(f"bytes of a sentence {each.bytes:.0f}; processor time of building one {each.building * 1e6:.0f} µs")
    print(f"processor time of ranking one {each.ranking * 1e9:.0f} ns; rest of a query {each.rest:.2f} s")
    print(table(each))


def measure(options: argparse.Namespace) -> Constants:
    """The constants of this machine."""
    sentences, random = options.documents * options.sentences, Random(2)
    with given_or_invented(None, 20, options.sentences, options.dimension):
        pass  # compiles the kernels
    started = process_time()
    with given_or_invented(None, options.documents, options.sentences, options.dimension) as path:
        building = process_time() - started
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        first_stage, searcher = rprs.Searcher(path, rerank="none"), rprs.Searcher(path)
        queries = [invented_document(random, number, options.query_sentences) for number in range(4)]
        searcher.search(queries[0], 10)
        times = []
        for task in (first_stage.rank, searcher.search):
            started = process_time()
            for query in queries[1:]:
                task(query)
            times.append((process_time() - started) / len(queries[1:]))
    ranking, whole = times
    return Constants(size / sentences, building / sentences, ranking / sentences, whole - ranking, options.overhead)


def table(each: Constants) -> str:
    """The needs of three sizes as Markdown."""
    heads = " | ".join(f"query on {cores} cores" for cores in CORES)
    lines = [f"| documents | one copy | two replicas | build, core hours | {heads} |", "|---|---|---|---|---|---|"]
    for size in SIZES:
        sentences = size * LENGTH
        stored = sentences * each.bytes / 1e12
        queries = (f"{sentences * each.ranking / cores + each.rest + each.overhead:.1f} s" for cores in CORES)
        hours = sentences * each.building / 3600
        needs = [f"{size / 1e6:.0f} million", f"{stored:.2f} TB", f"{2 * stored:.2f} TB", f"{hours:,.0f}", *queries]
        lines.append(f"| {' | '.join(needs)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
