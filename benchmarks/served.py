"""What one machine serves: `python -m benchmarks.served INDEX QUERIES [--where FILTER] [--before DATE]`.

Searches with the default system and evidence of ten hits: seconds by the clock and of the processor, the median of the
queries of a file, after one search of each kind that is not counted. Prints Markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

import rprs
from rprs.read import read

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure searches alone, with a filter and with a date limit, in turn."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.served", description="What one machine serves")
    parser.add_argument("index", type=Path, metavar="INDEX")
    parser.add_argument("queries", type=Path, metavar="QUERIES", help="a file of records")
    parser.add_argument("--number", type=int, default=20, help="of queries")
    parser.add_argument("--where", default="date < 2000-01-01")
    parser.add_argument("--before", default="1980-01-01")
    options = parser.parse_args(arguments)
    queries = list(islice(read(options.queries), options.number))
    kinds: dict[str, dict[str, Any]] = {
        "no restriction": {},
        f"`--where '{options.where}'`": {"where": options.where},
        f"`--before {options.before}`": {"before": options.before},
    }
    times: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
    with rprs.Index(options.index) as index:
        searcher = rprs.Searcher(index)
        for query in [queries[0], *queries]:
            for kind, restricted in kinds.items():
                start, worked = perf_counter(), process_time()
                searcher.search(query, 10, **restricted)
                times[kind].append((perf_counter() - start, process_time() - worked))
        print(f"{len(index):,} documents, {len(queries)} queries of {_words(queries):,} words (median)\n")
    print("| | first, s | of the processor | later ones, s | of the processor |\n|---|---|---|---|---|")
    for kind, (first, *later) in times.items():
        clock, worked = np.median(later, axis=0)
        print(f"| {kind} | {first[0]:.2f} | {first[1]:.2f} | {clock:.2f} | {worked:.2f} |")


def _words(queries: Sequence[rprs.Document]) -> int:
    return int(np.median([len(query.text.split()) for query in queries]))


if __name__ == "__main__":
    main()
