"""One shard: an ordinary index that answers for its own documents with the statistics of all shards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.cluster.statistics import Statistics
from rprs.document import Document, Sentences
from rprs.errors import UsageError
from rprs.index import Index

__all__ = ["METHODS", "Shard"]

METHODS = frozenset({"documents", "sentences", "content_hashes", "holds"})
"""What can be called from another process: nothing else of a shard can."""


class Shard:
    """Answers for the documents of one index; its public methods are the `METHODS` that can be called.

    `norms` are the squared norms of its documents, (documents, 3), computed with the document frequencies of all
    shards: an array or a file. Without them the cosine cannot be computed.
    """

    def __init__(
        self,
        index: Index | Path,
        statistics: Statistics,
        norms: NDArray[np.float64] | Path | None = None,
    ) -> None:
        self.index = index if isinstance(index, Index) else Index(index)
        self.statistics = statistics
        self._norms = np.load(norms, mmap_mode="r") if isinstance(norms, Path) else norms

    def answer(self, method: str, *arguments: Any) -> Any:
        """The result of a method."""
        if method not in METHODS:
            raise UsageError(f"A shard has no method {method!r:.80}")
        return getattr(self, method)(*arguments)

    def close(self) -> None:
        """Close the index."""
        self.index.close()

    # ------------------------------------------------------------------------ documents

    def holds(self, ids: Sequence[str]) -> list[bool]:
        """Which documents are in this shard."""
        return [self.index.number(id) is not None for id in ids]

    def documents(self, ids: Sequence[str]) -> list[tuple[Document, Sentences]]:
        """Documents of this shard with their sentences and vectors."""
        return [(self.index.document(id), self.index.sentences(id)) for id in ids]

    def sentences(self, ids: Sequence[str]) -> list[Sentences]:
        """The sentences of some documents of this shard, with their vectors."""
        return [self.index.sentences(id) for id in ids]

    def content_hashes(self, ids: Sequence[str]) -> list[str]:
        """The hashes of the texts of some documents of this shard."""
        return self.index.content_hashes(ids)
