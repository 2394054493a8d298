"""The process that reads one upload: `python -m rprs.serve.reading`, started by `rprs.serve.uploads`.

The file is its standard input, what to do is in its environment (where no other user sees it), and what it finds goes
to its standard output, a line of JSON each: a document, what was skipped, and at last that it was all. Before the
first byte of the file is read, it gives up memory, processor time, files and processes beyond what it was allowed.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import PurePath
from typing import Any, Final

from rprs.document import Document
from rprs.read.files import documents_of_stream
from rprs.read.source import Reader, Skipped, find_reader, suffix_of
from rprs.read.text import read_text

__all__ = ["ORDER", "main", "reader_of"]

ORDER: Final = "RPRS_READING"  # the name in the environment
# What a reader imports when it first works: better before the limits, which let Python keep no compiled modules.
_LIBRARIES = {"docx": "docx", "html": "selectolax.lexbor", "pdf": "pypdf", "rtf": "striprtf.striprtf"}
_FILES = 64


def reader_of(name: str) -> Reader | None:
    """The reader of a file by its name; one without any suffix is text, or turns out to be none."""
    suffix = suffix_of(PurePath(name))
    return find_reader(suffix) if suffix else read_text


def main() -> None:
    """Read the file that standard input is."""
    order: dict[str, Any] = json.loads(os.environ.pop(ORDER))
    name: str = order["name"]
    reader = reader_of(name)
    if library := _LIBRARIES.get(suffix_of(PurePath(name))):
        import_module(library)
    _confine(order["seconds"], order["bytes"])
    sys.stdin.buffer.seek(0)
    for found in _found(reader or read_text, name, order["characters"]):
        sys.stdout.buffer.write(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
    sys.stdout.flush()


def _confine(seconds: float, space: int) -> None:
    """Never more than this, whatever the file does. None of it can be taken back."""
    bounds = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: int(seconds) + 1,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: _FILES,
        resource.RLIMIT_NPROC: 0,
    }
    if sys.platform == "linux":  # elsewhere it cannot be set, or bounds nothing
        bounds[resource.RLIMIT_AS] = space
    for what, most in bounds.items():
        _, hard = resource.getrlimit(what)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))
    signal.setitimer(signal.ITIMER_REAL, seconds + 1)  # if there is no server left that would end this process


def _found(reader: Reader, name: str, characters: int | None) -> Iterator[dict[str, Any]]:
    taken: set[str] = set()
    for item in documents_of_stream(reader, sys.stdin.buffer, name):  # type: ignore[arg-type]  # it is a BufferedReader
        if isinstance(item, Document) and item.id in taken:
            item = Skipped(name, f"the id {item.id!r} is there already")
        if isinstance(item, Skipped):
            yield {"skipped": str(item)}
        elif characters is not None and len(item.text) > characters:
            yield {"long": characters}
        else:
            taken.add(item.id)
            yield {"id": item.id, "text": item.text, "title": item.title, "metadata": dict(item.metadata)}
    yield {"end": True}


if __name__ == "__main__":
    main()
