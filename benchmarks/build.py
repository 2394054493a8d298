"""Index a collection in a separate process: `python -m benchmarks.build SOURCE INDEX ENCODER` prints statistics."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import rprs
from rprs.document import Document
from rprs.read import read

__all__ = ["build"]


def build(source: str, path: str, encoder: str) -> dict[str, float]:
    """The numbers of documents, words and sentences, the seconds and the peak of memory in bytes."""
    counts = {"documents": 0, "words": 0}

    def documents() -> Iterator[Document]:
        for document in read(source):
            counts["documents"] += 1
            counts["words"] += len(document.text.split())
            yield document

    started = perf_counter()
    added = rprs.build(path, documents(), encoder=encoder)
    seconds = perf_counter() - started
    peak = _peak()
    return {**counts, "sentences": added.sentences, "seconds": seconds, "peak": peak}


def _peak() -> float:
    """Peak memory in bytes. On Linux, `ru_maxrss` of a new process includes its parent's memory; VmHWM does not."""
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(status.read_text().partition("VmHWM:")[2].split()[0])
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)  # bytes on macOS


if __name__ == "__main__":
    print(json.dumps(build(*sys.argv[1:4])))
