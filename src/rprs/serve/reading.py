"""The process that reads one upload: `python -m rprs.serve.reading`, started by `rprs.serve.uploads`.

The file is its standard input; its task is in the environment, where other users cannot see it. It writes one line of
JSON for each document and each skipped record, and a last line to mark the end. Before it reads the first byte of the
file, it limits its own memory, processor time, files and processes.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import PurePath
from typing import Any, Final

from rprs.document import Document
from rprs.read.files import documents_of_stream
from rprs.read.kinds import read_named
from rprs.read.ocr import use_ocr
from rprs.read.source import Skipped, suffix_of
from rprs.read.worker import confine, document_record
from rprs.serve.recognising import ocr_process

__all__ = ["TASK", "main"]

TASK: Final = "RPRS_READING"  # the name in the environment
# Imported before the limits are set: under them Python cannot store compiled modules.
# A file with the wrong suffix, whose content decides, takes a little longer.
_LIBRARIES = {
    "pdf": ("pypdfium2",),
    **dict.fromkeys(("htm", "html", "eml", "mbox"), ("selectolax.lexbor",)),
    **dict.fromkeys(("docx", "odt", "ods", "odp", "pptx", "xml"), ("lxml.etree",)),
    **dict.fromkeys(("doc", "msg", "ppt"), ("olefile",)),
    **{"xlsx": ("lxml.etree", "openpyxl"), "xls": ("olefile", "xlrd"), "epub": ("lxml.etree", "selectolax.lexbor")},
}
_FILES = 64


def main() -> None:
    """Read the file on standard input."""
    task: dict[str, Any] = json.loads(os.environ.pop(TASK))
    name: str = task["name"]
    for library in _LIBRARIES.get(suffix_of(PurePath(name)), ()):
        import_module(library)
    with _ocr(task["seconds"], task["bytes"], **task["ocr"]):
        _confine(task["seconds"], task["bytes"])
        sys.stdin.buffer.seek(0)
        for item in _items(name, task["characters"]):
            sys.stdout.buffer.write(json.dumps(item, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        sys.stdout.flush()


@contextmanager
def _ocr(seconds: float, space: int, mode: str, engine: str | None, workers: int) -> Iterator[None]:
    """Recognise scanned pages within this block, if that is wanted and possible."""
    if mode == "never" or engine is None:
        yield
        return
    with ocr_process(engine, workers, seconds, space), use_ocr(mode):
        yield


def _confine(seconds: float, space: int) -> None:
    """Set limits that cannot be raised again."""
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: int(seconds) + 1,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: _FILES,
        resource.RLIMIT_NPROC: 0,
    }
    confine(limits, space)
    signal.setitimer(signal.ITIMER_REAL, seconds + 1)  # in case the server has died and cannot end this process


def _items(name: str, characters: int | None) -> Iterator[dict[str, Any]]:
    ids: set[str] = set()
    for item in documents_of_stream(read_named, sys.stdin.buffer, name):  # type: ignore[arg-type]  # it is a BufferedReader
        if isinstance(item, Document) and item.id in ids:
            item = Skipped(name, f"the id {item.id!r} occurs more than once")
        if isinstance(item, Skipped):
            yield {"skipped": str(item), "minor": item.partly or item.path.startswith(f"{name}/")}
        elif characters is not None and len(item.text) > characters:
            yield {"long": characters}
        else:
            ids.add(item.id)
            yield document_record(item)
    yield {"end": True}


if __name__ == "__main__":
    main()
