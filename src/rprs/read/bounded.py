"""Read files in separate processes, so that a damaged or hostile one can harm neither the command nor the machine.

No library of file formats promises to survive every file. A process that dies, or needs more memory or time than it may
have, is replaced, and its file is reported like any other that can't be read. The processes (`rprs.read.worker`) are
reused, and several read at once; documents come in the order of the files all the same. Small plain texts, which can't
do harm, are read here.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import PurePath
from stat import S_ISREG
from typing import IO, Any, cast

from rprs.document import Document
from rprs.processes import environment
from rprs.progress import Advance, no_op, reading_progress
from rprs.read.files import SourceFile, contents_of, read_contents
from rprs.read.kinds import HEAD, kind_of, read_any, read_named
from rprs.read.ocr import ocr_mode
from rprs.read.source import Fields, Skipped, suffix_of
from rprs.read.storable import displayed

__all__ = ["DAMAGED", "MALFORMED", "ReadingProcesses", "parse_document", "reads_in_processes", "use_processes"]

DAMAGED = "this file can't be read; it may be damaged or need too much memory"
TOO_SLOW = "reading it took too long; it may be damaged"
MALFORMED = (AttributeError, LookupError, RecursionError, TypeError, ValueError)  # of what a process may write
SMALL = 2**20  # bytes of a plain text that is read here
AHEAD = 8  # files that each process is given in advance
_PLAIN = frozenset("csv json jsonl license markdown md ndjson text tsv txt".split())


@contextmanager
def use_processes(number: int | None = None, memory: int = 0, seconds: float = 600.0) -> Iterator[None]:
    """Within this block, `rprs.read` and `rprs.sync` read files in so many processes: one for each core, up to four.

    `memory` is the address space of each in bytes; by default half of the memory of the machine, from 2 to 8 GB.
    `seconds` is the processor time that a process may take between two documents, pages or other signs of life.
    """
    pool = ReadingProcesses(number, memory, seconds)
    try:
        with pool.used():
            yield
    finally:
        pool.close()


def reads_in_processes() -> bool:
    """Whether this is within a block that reads files in other processes."""
    return isinstance(getattr(read_contents.get(), "__self__", None), ReadingProcesses)


def parse_document(line: dict[str, Any]) -> Document:
    """A document that a process has written, fully validated: one taken over by a file may write anything."""
    id, text, title, metadata = (line[key] for key in ("id", "text", "title", "metadata"))
    texts = all(isinstance(value, str) for value in (id, text, title, *metadata))
    if not texts or not all(isinstance(value, str | int | float | None) for value in metadata.values()):
        raise TypeError
    return Document(id, text, title, metadata)


# ---------------------------------------------------------------------------- the pool


class ReadingProcesses:
    """Processes that take turns: file i is read by process i mod n, each in its order.

    They start when they are needed and can be used until they are closed; the arguments are those of `use_processes`.
    """

    def __init__(self, number: int | None = None, memory: int = 0, seconds: float = 600.0) -> None:
        self._workers = [_Worker(memory, seconds) for _ in range(number or min(4, os.cpu_count() or 1))]

    @contextmanager
    def used(self) -> Iterator[None]:
        """Within this block, files are read in these processes."""
        token = read_contents.set(self.read)
        try:
            yield
        finally:
            read_contents.reset(token)

    def read(
        self, files: Iterable[SourceFile | Skipped], fields: Fields
    ) -> Iterator[tuple[SourceFile | Skipped, Iterator[Document | Skipped]]]:
        """Each file with its documents, which must be read before the next file is."""
        waiting: deque[tuple[SourceFile | Skipped, _Worker | None]] = deque()
        turn, rest = count(), iter(files)
        try:
            while True:
                while len(waiting) < AHEAD * len(self._workers) and (file := next(rest, None)) is not None:
                    worker = None
                    if isinstance(file, SourceFile) and _needs_process(file):
                        worker = self._workers[next(turn) % len(self._workers)]
                        worker.submit(file, fields)
                    waiting.append((file, worker))
                if not waiting:
                    return
                file, worker = waiting.popleft()
                if worker is None or isinstance(file, Skipped):
                    yield file, contents_of(file, fields)
                    continue
                yield file, worker.results(file)
                worker.leave(file)
        finally:
            if waiting:  # the caller has stopped: nobody reads what the processes write
                self.close()

    def close(self) -> None:
        """End all processes."""
        for worker in self._workers:
            worker.close()


def _needs_process(file: SourceFile) -> bool:
    """Whether a file could do harm: all but small plain texts."""
    if file.reader not in (read_any, read_named):
        return False
    suffix = suffix_of(PurePath(file.path.name))
    try:
        status = file.path.stat()
        if not S_ISREG(status.st_mode):
            return False  # a pipe: what is read from it here to look at it would be lost
        if suffix not in _PLAIN or file.path.suffix[1:].lower() != suffix or status.st_size > SMALL:
            return True
        with file.path.open("rb") as stream:
            return kind_of(stream.read(HEAD), suffix) not in ("", "txt")
    except OSError:
        return False  # it can't be opened there either


class _Bars:
    """The progress of a process, which may have several bars inside of each other: of a file, and of its members.

    A bar for the same file that says more, such as the number of pages, replaces the one around it.
    """

    def __init__(self, shown: ExitStack) -> None:
        self._open: list[tuple[str, ExitStack, Advance]] = []
        shown.callback(self._close)

    def show(self, record: Mapping[str, Any]) -> bool:
        """Whether a record is about progress, which is then shown."""
        if "begin" in record:
            what, total, unit = record["begin"]
            if self._open and self._open[-1][0] == what:
                self._open[-1][1].close()
                self._open[-1] = (what, ExitStack(), no_op)
            bar = ExitStack()
            advance = bar.enter_context(reading_progress.get()(str(what), total, str(unit)))
            self._open.append((str(what), bar, advance))
        elif "advance" in record:
            self._open[-1][2](int(record["advance"]))
        elif "finish" in record:
            self._open.pop()[1].close()
        else:
            return False
        return True

    def _close(self) -> None:
        while self._open:
            self._open.pop()[1].close()


class _Worker:
    """A process that reads one file after the other; it is started when it is needed, and again after its death."""

    def __init__(self, memory: int, seconds: float) -> None:
        self._limits = (str(memory), str(seconds))
        self._process: subprocess.Popen[bytes] | None = None
        self._tasks: deque[str] = deque()
        self._reading: SourceFile | None = None

    def submit(self, file: SourceFile, fields: Fields) -> None:
        """Let the process read a file once it has read those before."""
        task = {
            "path": str(file.path),
            "id": file.id,
            "named": file.reader is read_named,
            "fields": [fields.id, fields.title, fields.text],
            "ocr": ocr_mode.get(),
        }
        self._tasks.append(json.dumps(task))
        if self._process is None:
            self._start()
        else:
            self._send(self._tasks[-1])

    def results(self, file: SourceFile) -> Iterator[Document | Skipped]:
        """The documents of the file that was submitted first."""
        self._reading = file
        process = cast("subprocess.Popen[bytes]", self._process)
        with ExitStack() as shown, suppress(*MALFORMED):
            bars = _Bars(shown)
            for line in cast("IO[bytes]", process.stdout):
                record = json.loads(line)
                if "end" in record:
                    self._next()
                    return
                if "skipped" in record:
                    path, reason, partly = record["skipped"]
                    yield Skipped(str(path), str(reason), bool(partly))
                elif not bars.show(record):
                    yield parse_document(record)
        problem = TOO_SLOW if self._end() == -signal.SIGVTALRM else DAMAGED
        self._next()
        yield Skipped(displayed(file.path), problem)

    def leave(self, file: SourceFile) -> None:
        """Go on to the next file, although the caller has not wanted all of this one, which may still be growing."""
        if self._reading is file:
            cast("subprocess.Popen[bytes]", self._process).kill()
            self._end()
            self._next()

    def _next(self) -> None:
        self._reading = None
        self._tasks.popleft()
        if self._tasks and self._process is None:
            self._start()

    def _start(self) -> None:
        """Start the process, with all files that it has not read yet."""
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "rprs.read.worker", *self._limits],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(),
        )
        for task in self._tasks:
            self._send(task)

    def _send(self, task: str) -> None:
        with suppress(BrokenPipeError):  # it has died, which is noticed when its results are read
            stdin = cast("IO[bytes]", cast("subprocess.Popen[bytes]", self._process).stdin)
            stdin.write(task.encode() + b"\n")
            stdin.flush()

    def _end(self) -> int:
        """End the process; its exit code, which is negative if a signal has ended it before."""
        process, self._process = self._process, None
        if process is None:
            return 0
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.kill()
        for stream in (process.stdin, process.stdout):
            with suppress(BrokenPipeError):
                cast("IO[bytes]", stream).close()
        return process.wait()

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self._tasks.clear()
        if self._process is not None:
            self._process.kill()
            self._end()
