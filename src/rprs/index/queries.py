"""The sentences of the last queries with their vectors."""

from __future__ import annotations

from rprs.document import Sentences
from rprs.forks import ForkLock

__all__ = ["KnownQueries"]


class KnownQueries:
    """The last query, whose sentences both stages of a search need, and as many before it as there is room for.

    Threads may share it. A program that asks the same queries again and again makes `room`, in bytes.
    """

    def __init__(self, room: int = 0) -> None:
        self.room = room
        self._sentences: dict[str, Sentences] = {}  # by text; the last one is the last that was asked for
        self._bytes = 0
        self._lock = ForkLock()

    def find(self, text: str) -> Sentences | None:
        """The sentences of a query, if they are known."""
        with self._lock:
            found = self._sentences.pop(text, None)
            if found is not None:
                self._sentences[text] = found
            return found

    def add(self, text: str, sentences: Sentences) -> None:
        """Remember a query, and forget the ones that were not asked for longest."""
        with self._lock:
            if text not in self._sentences:
                self._sentences[text] = sentences
                self._bytes += _size(text, sentences)
            while self._bytes > self.room and len(self._sentences) > 1:
                oldest = next(iter(self._sentences))
                self._bytes -= _size(oldest, self._sentences.pop(oldest))


def _size(text: str, sentences: Sentences) -> int:
    return 4 * len(text) + sentences.spans.nbytes + sentences.vectors.nbytes
