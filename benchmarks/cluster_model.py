"""What a cluster needs, computed from measured constants: `python -m benchmarks.cluster_model FIGURES.json`.

FIGURES.json is the output of `python -m benchmarks.cluster`. Everything grows with the number of documents of the same
length: the bytes, the processor time of a build and that of the first stage. The second stage and the evidence read a
hundred documents, whatever the size of the collection. What is printed is computed, not measured.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SIZES = (1_000_000, 10_000_000, 100_000_000)
SHARE = 0.7  # of the cores of a cluster that a query can use at the same time, on average


@dataclass(frozen=True)
class Constants:
    """Of one machine, with documents of the length that was measured."""

    bytes: float  # of a document in an index, with its text
    building: float  # processor seconds of a document
    ranking: float  # processor seconds of the first stage of a query, for a document
    rest: float  # seconds of the rest of a query
    overhead: float  # seconds that a cluster adds to a query


def constants(figures: dict[str, Any]) -> Constants:
    """From what the benchmark has measured."""
    documents = figures["documents"]
    whole, ranking = figures["whole query"], figures["ranking alone"]
    return Constants(
        bytes=figures["bytes"] / documents,
        building=figures["processor seconds of building"] / documents,
        ranking=ranking["one index"] / documents,
        rest=whole["one index"] - ranking["one index"],
        overhead=max(0.0, whole["cluster"] - whole["one index"]),
    )


def table(each: Constants) -> str:
    """The needs of three sizes as Markdown."""
    lines = [
        "| documents | one copy | with two replicas | build, core hours | query on 32 cores | on 256 cores |",
        "|---|---|---|---|---|---|",
    ]
    for size in SIZES:
        stored = size * each.bytes / 2**40
        seconds = [size * each.ranking / (SHARE * cores) + each.rest + each.overhead for cores in (32, 256)]
        hours = size * each.building / 3600
        query = " | ".join(f"{one:.1f} s" for one in seconds)
        lines.append(f"| {size / 1e6:.0f} million | {stored:.2f} TB | {2 * stored:.2f} TB | {hours:,.0f} | {query} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(constants(json.loads(Path(sys.argv[1]).read_text()))))
