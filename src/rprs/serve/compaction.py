"""Compaction of the index of a server, in a thread of its own: no request waits for it, and none is charged for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock, Thread

from rprs.errors import Cancelled, InvalidIndex
from rprs.index import Writer
from rprs.progress import Advance

__all__ = ["Compaction"]


class Compaction:
    """Merges the segments of an index when it is started; `writing` is held meanwhile."""

    def __init__(self, path: Path, writing: Lock, log: Callable[[str], None]) -> None:
        self._path, self._writing, self._log = path, writing, log
        self._closing = Event()
        self._thread: Thread | None = None

    def start(self) -> None:
        """Begin, unless one is running."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = Thread(target=self._run, name="compaction", daemon=True)
            self._thread.start()

    def wait(self) -> None:
        """Wait until it has ended."""
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        """End it at its next step; what it has not committed is deleted."""
        self._closing.set()
        self.wait()

    def _run(self) -> None:
        try:
            with self._writing, Writer(self._path, progress=self._progress) as writer:
                writer.compact()
        except Cancelled:
            pass
        except (InvalidIndex, OSError) as error:  # it is tried again after the next addition
            self._log(f"The segments of the index could not be merged: {error}")

    @contextmanager
    def _progress(self, what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
        def advance(_amount: int) -> None:
            if self._closing.is_set():
                raise Cancelled("The server is stopping")

        advance(0)
        yield advance
