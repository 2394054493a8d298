"""OCR of uploads: a second process, which is started before the reading process gives up its rights.

The process that reads an upload may start no other processes, and Tesseract is one. So the pictures of scanned pages go
to a process that sees nothing of the file but these pictures, and has limits of its own. It stores nothing on disk.
Page by page, the two are in step: neither ever waits for a picture or a text that the other one holds back. Pages that
could not be finished in time are not begun, so that the others are read.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BufferedRWPair
from time import monotonic

import numpy as np

from rprs.errors import ReadError
from rprs.read.ocr import (
    MAX_PIXELS,
    Picture,
    Recognised,
    load_engine,
    recognise_with,
    threads_of,
    use_recogniser,
)
from rprs.read.worker import confine

__all__ = ["ocr_process"]

SHARE = 0.85  # of the time for an upload, in which its pages must be recognised
RAPIDOCR_SPACE = 4 * 2**30  # of address space, of which its models and a page of A4 take 1.9 GB
_SIZE = struct.Struct("<II")  # height and width of a picture; two zeros after the last one
_LENGTH = struct.Struct("<I")
_FILES = 64


@contextmanager
def ocr_process(engine: str, workers: int, seconds: float, space: int) -> Iterator[None]:
    """Within this block, scanned pages are recognised by another process, so many at once."""
    if not engine.startswith("tesseract"):
        workers, space = 1, max(space, RAPIDOCR_SPACE)  # one page at a time, in several threads
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        status = 1
        try:
            ours.close()
            _serve(theirs, engine, workers, seconds, space)
            status = 0
        finally:
            os._exit(status)
    theirs.close()
    client = _Client(ours, workers, monotonic() + SHARE * seconds)
    with ours, use_recogniser(engine, client.recognise):
        yield


class _Client:
    """The side of the reading process."""

    def __init__(self, connection: socket.socket, workers: int, deadline: float) -> None:
        self._stream = connection.makefile("rwb")
        self._workers, self._deadline = workers, deadline
        self._started = monotonic()

    def recognise(self, pictures: Iterable[Picture]) -> Iterator[Recognised]:
        """The texts of pictures in their order; those that would not be finished in time have none."""
        waiting = done = late = 0
        for picture in pictures:
            if late or self._expected_end(done, waiting + 1) > self._deadline:
                late += 1
                continue
            self._send(_SIZE.pack(*picture.shape) + picture.tobytes())
            waiting += 1
            if waiting > self._workers:
                yield self._receive()
                waiting, done = waiting - 1, done + 1
        self._send(_SIZE.pack(0, 0))
        for _ in range(waiting):
            yield self._receive()
        yield from (Recognised([], 0.0) for _ in range(late))

    def _expected_end(self, done: int, waiting: int) -> float:
        """When the pages that are waiting will be finished, at the pace of those that are."""
        now = monotonic()
        if not done:
            return now
        pace = (now - self._started) / -(-done // self._workers)  # of as many pages as are recognised at once
        return now + pace * -(-waiting // self._workers)

    def _send(self, data: bytes) -> None:
        with suppress(BrokenPipeError):  # the process has ended, which is noticed when its answer is read
            self._stream.write(data)
            self._stream.flush()

    def _receive(self) -> Recognised:
        try:
            (length,) = _LENGTH.unpack(self._stream.read(_LENGTH.size))
            answer = json.loads(self._stream.read(length))
        except (OSError, ValueError, struct.error) as error:
            raise ReadError("OCR of its pages needs too much memory or time") from error
        if "error" in answer:
            raise ReadError(str(answer["error"]))
        return Recognised([str(line) for line in answer["lines"]], float(answer["confidence"]))


def _serve(connection: socket.socket, engine: str, workers: int, seconds: float, space: int) -> None:
    """Recognise pictures until the reading process ends."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):  # the upload, and the way to the server
        os.dup2(nothing, descriptor)
    signal.setitimer(signal.ITIMER_REAL, seconds + 1)
    stream = connection.makefile("rwb")
    if not stream.peek(1):
        return  # no scanned pages
    load_engine(engine)  # before the limits, under which Python cannot store compiled modules
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: int(seconds) * threads_of(engine) + 1,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: _FILES,
    }
    confine(limits, space)

    def answer(record: Mapping[str, object]) -> None:
        data = json.dumps(record).encode()
        stream.write(_LENGTH.pack(len(data)) + data)
        stream.flush()

    while stream.peek(1):  # a picture, or the end
        try:
            for page in recognise_with(engine, _pictures(stream), workers):
                answer({"lines": page.lines, "confidence": page.confidence})
        except ReadError as error:
            answer({"error": str(error)})
            return


def _pictures(stream: BufferedRWPair) -> Iterator[Picture]:
    while True:
        height, width = _SIZE.unpack(stream.read(_SIZE.size))
        if not height * width:
            return
        if height * width > MAX_PIXELS:
            raise ValueError("the reading process has sent something else than a page")
        yield np.frombuffer(stream.read(height * width), np.uint8).reshape(height, width)
