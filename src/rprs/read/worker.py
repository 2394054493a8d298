"""The process that reads files for the command line: `python -m rprs.read.worker`, started by `rprs.read.bounded`.

Each line of its standard input is a task in JSON: a file. It answers with one line for each document, each thing that
was skipped and each step of progress, and a last line for the file. Before it reads the first file, it limits its own
memory. A file that keeps it busy for minutes without any sign of life ends it.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rprs.document import Document
from rprs.progress import Advance, show_reading
from rprs.read.files import documents
from rprs.read.kinds import read_any, read_named
from rprs.read.ocr import use_ocr
from rprs.read.source import Fields, Skipped

__all__ = ["confine", "document_record", "main", "memory"]

LEAST, MOST = 2 * 2**30, 8 * 2**30  # bytes of address space; in between, half of the memory of the machine


def main() -> None:
    """Answer tasks until there are no more."""
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a library may print something

    space, seconds = int(sys.argv[1]), float(sys.argv[2])

    def answer(record: Mapping[str, Any]) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        channel.write(json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n")

    @contextmanager
    def progress(what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
        answer({"begin": [what, total, unit]})
        channel.flush()
        yield lambda amount: _advance(amount)
        answer({"finish": True})

    def _advance(amount: int) -> None:
        answer({"advance": amount})
        channel.flush()

    confine({resource.RLIMIT_CORE: 0}, space or memory())
    with show_reading(progress):
        for line in sys.stdin.buffer:
            signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
            for item in _items(json.loads(line)):
                answer(document_record(item) if isinstance(item, Document) else _skipped(item))
            answer({"end": True})
            channel.flush()
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _items(task: dict[str, Any]) -> Iterator[Document | Skipped]:
    fields = Fields(*map(tuple, task["fields"]))
    with use_ocr(task["ocr"]):
        yield from documents(read_named if task["named"] else read_any, Path(task["path"]), task["id"], fields)


def document_record(document: Document) -> dict[str, Any]:
    """A document as `rprs.read.bounded.parse_document` reads it."""
    return {
        "id": document.id,
        "text": document.text,
        "title": document.title,
        "metadata": dict(document.metadata),
    }


def _skipped(item: Skipped) -> dict[str, Any]:
    return {"skipped": [item.path, item.reason, item.partly]}


def memory() -> int:
    """The address space that the process may use, in bytes."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(LEAST, min(physical // 2, MOST))


def confine(limits: Mapping[int, int], space: int) -> None:
    """Set limits of this process that cannot be raised again; `space` is the address space in bytes."""
    if sys.platform == "linux":  # elsewhere it cannot be set or has no effect
        limits = {**limits, resource.RLIMIT_AS: space}
    for kind, limit in limits.items():
        _, hard = resource.getrlimit(kind)
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (limit, limit))


if __name__ == "__main__":
    main()
