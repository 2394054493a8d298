"""One shard: an ordinary index that answers for its own documents with figures of all shards."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Generator, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.cluster.ranking import Ranked, RankRequest, rank_steps
from rprs.cluster.scope import Scope, ScopeCounts, apply_scope
from rprs.cluster.statistics import Statistics
from rprs.document import Document, Neighbours, Sentences
from rprs.errors import InvalidIndex, UsageError
from rprs.index import Index
from rprs.index.fields import Field
from rprs.index.language import knows_text
from rprs.passages.nearest import Neighbour, nearest_in_index
from rprs.passages.shared import Phrases, Shared, shared_steps
from rprs.progress import silent
from rprs.rank.stages import Mask
from rprs.rank.steps import Figures, narrow, narrow_array, wide_values
from rprs.scoring.neighbours import neighbours

__all__ = ["METHODS", "NOT_HERE", "Settings", "Shard", "SharedRequest"]

Ints = NDArray[np.int64]

METHODS = frozenset(
    {
        "allowed",
        "allowed_ids",
        "begin",
        "content_hashes",
        "content_rows",
        "copies",
        "dated",
        "documents",
        "fields",
        "find",
        "ids",
        "knows_language",
        "locate",
        "nearest",
        "nearest_sentences",
        "phrase_frequencies",
        "resume",
        "sentences",
        "settings",
        "stored_sentences",
        "with_vectors",
        "word_hashes",
    }
)
"""What can be called from another process; nothing else of a shard can."""

NOT_HERE = -1  # instead of a number of sentences: the document is in another shard
SUSPENDED = 32  # computations that wait for figures of other shards
MASKS = 8  # that are kept for the next call of the same query


@dataclass(frozen=True, slots=True)
class Settings:
    """What all shards have in common."""

    splitter: str
    analyzer: str
    vectors: str
    phrases: bool
    ranking: tuple[str | None, ...]  # all settings that rankings depend on, with the fingerprint of the encoder


@dataclass(frozen=True, slots=True)
class SharedRequest:
    """Documents that share phrases with a passage: the arguments of `shared_steps`."""

    token: str
    phrases: Phrases
    scope: Scope
    least: int
    most_quoting: int
    most_similar: int


Request = RankRequest | SharedRequest
Result = Ranked | Shared


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
        self.index = copy(index) if isinstance(index, Index) else Index(index)
        self.statistics = statistics
        self._weighed = norms is not None
        if norms is not None:
            own: NDArray[np.float64] = np.load(norms, mmap_mode="r") if isinstance(norms, Path) else norms
            if own.shape != (len(self.index), 3):
                raise InvalidIndex(f"The norms of the shard {self.index.path} do not fit its documents: build it again")
            self.index.squared_norms = own
        self._masks: OrderedDict[Scope, tuple[Mask, ScopeCounts]] = OrderedDict()
        self._suspended: OrderedDict[str, tuple[int, Generator[Figures, Any, Result]]] = OrderedDict()
        self._lock = Lock()

    def answer(self, method: str, *arguments: Any) -> Any:
        """The result of a method."""
        if method not in METHODS:
            raise UsageError(f"A shard has no method {method!r:.80}")
        return getattr(self, method)(*arguments)

    def close(self) -> None:
        """Close the index."""
        self.index.close()

    # ------------------------------------------------------------------------ settings and metadata

    def settings(self) -> Settings:
        """What all shards must have in common."""
        with self.index._lock:
            catalog = self.index.catalog
            return Settings(
                splitter=str(catalog.setting("splitter")),
                analyzer=str(catalog.setting("analyzer")),
                vectors=catalog.vectors,
                phrases=catalog.phrases,
                ranking=tuple(self.index._ranking_settings()),
            )

    def fields(self) -> tuple[Field, ...]:
        """The metadata fields of its documents."""
        return self.index.fields

    def find(self, words: str, limit: int) -> tuple[list[Document], int]:
        """Its documents with all these words in their id or title, by id, without their texts; and their number."""
        return self.index.find(words, limit)

    def ids(self, where: str | None, after: str, limit: int) -> list[str]:
        """Up to `limit` ids after one, of the documents that a metadata filter selects, in their order."""
        first = bisect_right(self.index.ids, after)
        numbers = first + np.flatnonzero(self.index.select(where)[first:])[:limit]
        return [self.index.ids[number] for number in numbers.tolist()]

    def content_rows(self) -> list[tuple[str, str]]:
        """Id and content hash of every document, by id."""
        with self.index._lock:
            return self.index.catalog.content_hashes()

    # ------------------------------------------------------------------------ documents

    def locate(self, ids: Sequence[str]) -> list[int]:
        """The numbers of sentences of documents; `NOT_HERE` for those of other shards."""
        numbers = [self.index.number(id) for id in ids]
        counts = self.index.sentence_counts
        return [NOT_HERE if number is None else int(counts[number]) for number in numbers]

    def documents(self, ids: Sequence[str]) -> list[tuple[Document, Sentences]]:
        """Documents of this shard with their sentences and vectors."""
        return [(self.index.document(id), self.index.sentences(id)) for id in ids]

    def sentences(self, ids: Sequence[str]) -> list[Sentences]:
        """The sentences of some documents of this shard, with their vectors."""
        return [self.index.sentences(id) for id in ids]

    def content_hashes(self, ids: Sequence[str]) -> list[str]:
        """The hashes of the texts of some documents of this shard."""
        return self.index.content_hashes(ids)

    def word_hashes(self, ids: Sequence[str]) -> Sequence[int | None]:
        """Hashes of the words of some documents of this shard; None where an older one has none."""
        hashes = self.index.word_hashes(ids)
        return [None] * len(ids) if hashes is None else hashes

    def copies(self, document: Document) -> list[str]:
        """The ids of its documents with exactly the same text."""
        return self.index.copies(document)

    def stored_sentences(self, query: Document) -> Sentences | None:
        """The sentences of a query that is a document of this shard; None if it is not."""
        return self.index.sentences(query.id) if self.index.holds(query) else None

    def with_vectors(self, query: Document, sentences: Sentences) -> Sentences:
        """The sentences of a query with vectors of the encoder, which all shards share."""
        return self.index.with_vectors(query, sentences)

    def knows_language(self, text: str) -> bool:
        """Whether the encoder knows the script of a text, as measured on all shards."""
        return knows_text(self.statistics.language, text, lambda: self.index.encoder)

    def phrase_frequencies(self, hashes: NDArray[np.uint32]) -> Ints:
        """(p,): how many of its documents have each of some phrases, given in ascending order."""
        return narrow_array(self.index.phrase_frequencies(hashes))

    # ------------------------------------------------------------------------ restrictions

    def allowed(self, scope: Scope) -> ScopeCounts:
        """How many documents may be ranked; a wrong filter is an error."""
        return self._applied(scope)[1]

    def allowed_ids(self, ids: Sequence[str], scope: Scope) -> list[str]:
        """Which of some documents of this shard may be ranked."""
        mask, _ = self._applied(scope)
        return [id for id in ids if mask[self.index._require_number(id)]]

    def dated(self, field: str) -> int:
        """How many of its documents have a date in a metadata field."""
        return int((~self.index.dates(field).undated).sum())

    def _applied(self, scope: Scope) -> tuple[Mask, ScopeCounts]:
        with self._lock:
            if scope in self._masks:
                return self._masks[scope]
        applied = apply_scope(scope, self.index)
        with self._lock:
            self._masks[scope] = applied
            while len(self._masks) > MASKS:
                self._masks.popitem(last=False)
        return applied

    # ------------------------------------------------------------------------ in steps

    def begin(self, request: Request, totals: Sequence[tuple[Any, ...]]) -> Figures | Result:
        """Compute a result up to the next figures that depend on all shards; `totals` are those known already."""
        return self._advance(request.token, 0, self._steps(request), [None, *map(wide_values, totals)])

    def resume(self, token: str, step: int, values: tuple[Any, ...]) -> Figures | Result | None:
        """Continue with the figures of all shards; None if another replica began, or too many have begun since."""
        with self._lock:
            reached, steps = self._suspended.pop(token, (0, None))
        if steps is None or reached != step:
            return None
        return self._advance(token, step, steps, [wide_values(values)])

    def _advance(
        self, token: str, step: int, steps: Generator[Figures, Any, Result], values: Sequence[Any]
    ) -> Figures | Result:
        try:
            for each in values:
                figures = steps.send(each)
                step += 1
        except StopIteration as end:
            result: Result = end.value
            return result
        with self._lock:
            self._suspended[token] = step, steps
            while len(self._suspended) > SUSPENDED:
                self._suspended.popitem(last=False)
        return narrow(figures)

    def _steps(self, request: Request) -> Generator[Figures, Any, Result]:
        mask, _ = self._applied(request.scope)
        if isinstance(request, SharedRequest):
            limits = request.least, request.most_quoting, request.most_similar
            return shared_steps(request.phrases, self.index, mask, *limits)
        return rank_steps(request, self.index, mask, weighed=self._weighed)

    # ------------------------------------------------------------------------ vectors

    def nearest(
        self, query: NDArray[np.floating[Any]], ids: Sequence[str], n: int, priority: Ints | None
    ) -> Neighbours:
        """R_n over some documents of this shard, which are the pool in their order."""
        pool = [self.index.sentences(id).vectors for id in ids]
        return neighbours(query, pool, n, priority=priority)

    def nearest_sentences(self, passage: Sentences, scope: Scope, n: int) -> tuple[list[Neighbour], int]:
        """The n nearest of all sentences for each sentence of a passage; and how many were compared."""
        return nearest_in_index(passage, self.index, self._applied(scope)[0], n, silent)
