"""Read untrusted uploads in a separate process with limits on time and memory.

Whatever a file does to its reader, the client gets one line: the process ends, and the server carries on. The process
receives an open file without a name, so that nothing is left on disk.
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
from typing import IO, BinaryIO, Protocol, cast

from rprs.document import Document
from rprs.errors import Cancelled, ReadError, TooLarge
from rprs.processes import environment
from rprs.read.bounded import DAMAGED, MALFORMED, parse_document
from rprs.read.members import is_attached
from rprs.read.ocr import engine, recognition_notes
from rprs.serve.limits import Limits
from rprs.serve.reading import TASK

__all__ = ["Stop", "Upload", "clean_name", "read_upload", "read_uploads"]

Upload = BinaryIO | IO[bytes] | tempfile.SpooledTemporaryFile[bytes]

DEFAULT_NAME = "query"
MAX_NAME = 200  # characters of a name
_EXPANSION = 4  # the text of a file may have at most this many times the bytes of the largest upload
_TICK = 0.05  # seconds between two checks for cancellation


class Stop(Protocol):
    """A cancellation flag, such as a `threading.Event`."""

    def is_set(self) -> bool:
        """Whether to stop."""
        ...


def read_upload(data: Upload, name: str, limits: Limits, stop: Stop | None = None) -> tuple[Document, list[str]]:
    """The single document in an upload, with notes on how it was read; otherwise a `ReadError` with the file name."""
    name = clean_name(name)
    documents, skipped, minor = _read(data, name, limits, stop, limits.text_characters)
    if skipped or (minor and not documents):
        raise ReadError((skipped or minor)[0])
    documents = [one for one in documents if one is documents[0] or not is_attached(one, documents[0])]
    if len(documents) != 1:
        several = "contains more than one document; upload a file with the query only"
        raise ReadError(f"{name}: {several if documents else 'contains no document'}")
    own = [line for line in minor if line.startswith(f"{name}: ")]  # attachments are no part of the query
    return documents[0], [*recognition_notes(documents), *own]


def read_uploads(data: Upload, name: str, limits: Limits, stop: Stop | None = None) -> tuple[list[Document], list[str]]:
    """All documents in an upload, and one line for each record, page or attachment that was skipped."""
    documents, skipped, minor = _read(data, clean_name(name), limits, stop, None)
    return documents, skipped + minor


def clean_name(name: str) -> str:
    """A file name without folders and invisible characters, shortened but with its suffix."""
    last = re.split(r"[/\\]", name)[-1]
    printable = "".join(char for char in " ".join(last.split()) if char.isprintable()).strip(". ")
    if not printable:
        return DEFAULT_NAME
    path = PurePath(printable)
    suffix = "".join(path.suffixes[-2:])[:20] if len(printable) > MAX_NAME else ""
    return f"{printable[: MAX_NAME - len(suffix)]}{suffix}" if suffix else printable[:MAX_NAME]


# ---------------------------------------------------------------------------- the process

_Contents = tuple[list[Document], list[str], list[str]]


def _read(data: Upload, name: str, limits: Limits, stop: Stop | None, characters: int | None) -> _Contents:
    task = {
        "name": name,
        "seconds": limits.reading_seconds,
        "bytes": limits.reading_bytes,
        "characters": characters,
        "ocr": {"mode": limits.ocr, "engine": engine(), "workers": os.cpu_count() or 1},
    }
    contents = None
    with _unnamed_file(data) as file, _process(file, json.dumps(task)) as process, suppress(*MALFORMED):
        contents = _parse(_lines(process, name, limits, stop), name)
    if contents is not None:
        return contents
    if process.returncode in (-signal.SIGXCPU, -signal.SIGALRM):
        raise _too_slow(name, limits)
    raise ReadError(f"{name}: {DAMAGED}")


@contextmanager
def _unnamed_file(data: Upload) -> Iterator[IO[bytes]]:
    """The upload as an open file that has no name on disk."""
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
def _process(file: IO[bytes], task: str) -> Iterator[subprocess.Popen[bytes]]:
    """A reading process, killed with its children at the end of the block."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "rprs.serve.reading"],
        stdin=file.fileno(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(**{TASK: task}),
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
    """The lines that the process writes, within the limits on size and time, until cancellation."""
    out = cast("IO[bytes]", process.stdout).fileno()
    ready = select.poll()
    ready.register(out, select.POLLIN)
    deadline = monotonic() + limits.reading_seconds
    size, largest = 0, _EXPANSION * limits.upload_bytes
    pieces: list[bytes] = []
    while True:
        if stop is not None and stop.is_set():
            raise Cancelled("The request was cancelled")
        if monotonic() > deadline:
            raise _too_slow(name, limits)
        if not ready.poll(_TICK * 1000):
            continue
        piece = os.read(out, 2**20)
        size += len(piece)
        if size > largest:
            raise ReadError(f"{name}: contains more than {largest / 2**20:,.0f} MB of text: split it")
        *complete, rest = piece.split(b"\n")
        for end in complete:
            yield b"".join([*pieces, end])
            pieces = []
        if not piece:
            return
        pieces.append(rest)


def _too_slow(name: str, limits: Limits) -> ReadError:
    return ReadError(f"{name}: reading it took longer than the limit of {limits.reading_seconds:g} seconds")


# ---------------------------------------------------------------------------- output of the process


def _parse(lines: Iterator[bytes], name: str) -> _Contents:
    """The lines as documents, fully validated: a process taken over by a file may write anything."""
    documents: list[Document] = []
    skipped: list[str] = []
    minor: list[str] = []  # pages of a document, and members of an archive or a message
    for line in lines:
        record = json.loads(line)
        if "end" in record:
            return documents, skipped, minor
        if "long" in record:
            raise TooLarge(f"{name}: longer than the limit of {int(record['long']):,} characters for a query")
        if "skipped" in record:
            (minor if record["minor"] else skipped).append(" ".join(str(record["skipped"]).split()))
        else:
            documents.append(parse_document(record))
    raise ValueError("the output is incomplete")
