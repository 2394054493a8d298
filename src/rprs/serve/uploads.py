"""Files of strangers → documents, read in a process of their own with bounds on time and memory.

Whatever a file does to its reader, it is one line for its sender: the process is thrown away, and the server goes on.
The bytes are handed over as an open file without a name, so that nothing of them can stay behind on a disk.
"""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import PurePath
from time import monotonic
from typing import IO, Any, BinaryIO, Protocol, cast

from rprs.document import Document
from rprs.errors import Cancelled, ReadError, TooLarge
from rprs.read.source import suffixes
from rprs.serve.limits import Limits
from rprs.serve.reading import ORDER, reader_of

__all__ = ["Stop", "Upload", "clean_name", "read_upload", "read_uploads"]

Upload = BinaryIO | IO[bytes] | tempfile.SpooledTemporaryFile[bytes]

NAMELESS = "query"
LONGEST = 200  # characters of a name
_SWELLING = 4  # a file may have so many times the bytes of an upload once it is read
_TICK = 0.05  # seconds between two looks at whether it is still wanted


class Stop(Protocol):
    """What tells that a document is not wanted any more: a `threading.Event`."""

    def is_set(self) -> bool:
        """Whether to stop."""
        ...


def read_upload(data: Upload, name: str, limits: Limits, stop: Stop | None = None) -> Document:
    """The one document that an upload holds; anything else is a `ReadError` that begins with the file's name."""
    name = clean_name(name)
    found, skipped = _read(data, name, limits, stop, limits.text_characters)
    if skipped:
        raise ReadError(skipped[0])
    if len(found) != 1:
        what = "more than one document in it; give a file with the one that is the query"
        raise ReadError(f"{name}: {what if found else 'no document in it'}")
    return found[0]


def read_uploads(data: Upload, name: str, limits: Limits, stop: Stop | None = None) -> tuple[list[Document], list[str]]:
    """All documents that an upload holds, and a line for each record that is none."""
    return _read(data, clean_name(name), limits, stop, None)


def clean_name(name: str) -> str:
    """What a client calls a file, without folders and what cannot be seen, its suffix kept where it is cut."""
    last = re.split(r"[/\\]", name)[-1]
    shown = "".join(char for char in " ".join(last.split()) if char.isprintable()).strip(". ")
    if not shown:
        return NAMELESS
    path = PurePath(shown)
    suffix = "".join(path.suffixes[-2:])[:20] if len(shown) > LONGEST else ""
    return f"{shown[: LONGEST - len(suffix)]}{suffix}" if suffix else shown[:LONGEST]


# ---------------------------------------------------------------------------- the process


def _read(
    data: Upload, name: str, limits: Limits, stop: Stop | None, characters: int | None
) -> tuple[list[Document], list[str]]:
    if reader_of(name) is None:
        known = ", ".join(suffixes())
        raise ReadError(f"{name}: not a kind of file that is read; these are: {known}, also .gz and .xz of them")
    order = {
        "name": name,
        "seconds": limits.reading_seconds,
        "bytes": limits.reading_bytes,
        "characters": characters,
    }
    found = None
    with _nameless(data) as file, _started(file, json.dumps(order)) as process, suppress(*_NONSENSE):
        found = _understood(_lines(process, name, limits, stop), name)
    if found is not None:
        return found
    if process.returncode in (-signal.SIGXCPU, -signal.SIGALRM):
        raise _too_slow(name, limits)
    raise ReadError(f"{name}: damaged? its reader broke down, by what the file holds or for want of memory")


@contextmanager
def _nameless(data: Upload) -> Iterator[IO[bytes]]:
    """The bytes as a file on a disk that has no name there."""
    if isinstance(data, tempfile.SpooledTemporaryFile):
        data.rollover()
        data.flush()
        yield cast("IO[bytes]", data)
        return
    with tempfile.TemporaryFile() as file:
        data.seek(0)
        shutil.copyfileobj(data, file)
        file.flush()
        yield file


@contextmanager
def _started(file: IO[bytes], order: str) -> Iterator[subprocess.Popen[bytes]]:
    """A reading process, of which nothing is left at the end. One that closes its output has ended, or is ended."""
    environment = {
        **os.environ,
        ORDER: order,
        # The same modules as here, and not those of the folder that the server happens to run in (-P).
        "PYTHONPATH": os.pathsep.join(os.path.abspath(entry) for entry in sys.path),  # noqa: PTH100  # an entry may be ""
        # NumPy's library would take address space for the threads of every core.
        "OPENBLAS_NUM_THREADS": "1",
    }
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "rprs.serve.reading"],
        stdin=file.fileno(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        cast("IO[bytes]", process.stdout).close()


def _lines(process: subprocess.Popen[bytes], name: str, limits: Limits, stop: Stop | None) -> Iterator[bytes]:
    """What the process writes, unless that is too much, takes too long, or is not wanted any more."""
    out = cast("IO[bytes]", process.stdout).fileno()
    ready = select.poll()
    ready.register(out, select.POLLIN)
    over = monotonic() + limits.reading_seconds
    taken, most = 0, _SWELLING * limits.upload_bytes
    pieces: list[bytes] = []
    while True:
        if stop is not None and stop.is_set():
            raise Cancelled("The request was cancelled")
        if monotonic() > over:
            raise _too_slow(name, limits)
        if not ready.poll(_TICK * 1000):
            continue
        piece = os.read(out, 2**20)
        taken += len(piece)
        if taken > most:
            raise ReadError(f"{name}: has more than {most / 2**20:,.0f} MB of text once it is read: split it")
        *whole, rest = piece.split(b"\n")
        for end in whole:
            yield b"".join([*pieces, end])
            pieces = []
        if not piece:
            return
        pieces.append(rest)


def _too_slow(name: str, limits: Limits) -> ReadError:
    return ReadError(f"{name}: reading it took longer than the {limits.reading_seconds:g} seconds that it may take")


# ---------------------------------------------------------------------------- what it said

_NONSENSE = (AttributeError, KeyError, RecursionError, TypeError, ValueError)


def _understood(lines: Iterator[bytes], name: str) -> tuple[list[Document], list[str]]:
    """The lines as documents; a process that a file has taken over may write anything, so nothing is believed."""
    documents: list[Document] = []
    skipped: list[str] = []
    for line in lines:
        said = json.loads(line)
        if "end" in said:
            return documents, skipped
        if "long" in said:
            raise TooLarge(f"{name}: has more than the {int(said['long']):,} characters that a query may have")
        if "skipped" in said:
            skipped.append(" ".join(str(said["skipped"]).split()))
        else:
            documents.append(_document(said))
    raise ValueError("it broke off")


def _document(line: dict[str, Any]) -> Document:
    id, text, title, metadata = (line[key] for key in ("id", "text", "title", "metadata"))
    texts = all(isinstance(value, str) for value in (id, text, title, *metadata))
    if not texts or not all(isinstance(value, str | int | float | None) for value in metadata.values()):
        raise TypeError
    return Document(id, text, title, metadata)
