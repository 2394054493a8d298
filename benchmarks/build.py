"""Index a collection in a separate process: `python -m benchmarks.build SOURCE INDEX ENCODER [--no-phrases]`.

It prints statistics as JSON.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time

import rprs
from rprs.document import Document
from rprs.progress import Advance, no_op
from rprs.read import read

__all__ = ["build", "peak_memory"]

FITTING = ("encoding single tokens with the teacher", "encoding a sample with the teacher", "fitting the table")


def build(source: str, path: str, encoder: str, *, phrases: bool = True) -> dict[str, float]:
    """The numbers of documents, words and sentences, the seconds and the peak of memory in bytes.

    `processor` is the processor time of all of it, `fitting` that of fitting an encoder.
    """
    counts = {"documents": 0, "words": 0}
    stages: dict[str, float] = {}

    def documents() -> Iterator[Document]:
        for document in read(source):
            counts["documents"] += 1
            counts["words"] += len(document.text.split())
            yield document

    @contextmanager
    def timed(what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
        started = process_time()
        yield no_op
        stages[what] = stages.get(what, 0.0) + process_time() - started

    started, worked = perf_counter(), process_time()
    added = rprs.build(path, documents(), encoder=encoder, phrases=phrases, progress=timed)
    return {
        **counts,
        "sentences": added.sentences,
        "seconds": perf_counter() - started,
        "processor": process_time() - worked,
        "fitting": sum(stages.get(stage, 0.0) for stage in FITTING),
        "peak": peak_memory(),
    }


def peak_memory() -> float:
    """Peak memory in bytes. On Linux, `ru_maxrss` of a new process includes its parent's memory; VmHWM does not."""
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(status.read_text().partition("VmHWM:")[2].split()[0])
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)  # bytes on macOS


if __name__ == "__main__":
    print(json.dumps(build(*sys.argv[1:4], phrases="--no-phrases" not in sys.argv[4:])))
