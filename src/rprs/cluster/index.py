"""All shards as one index, for everything that reads documents: evidence, charts, re-rankers, passages.

It has no segments and no numbers of documents: what ranks asks the shards (`cluster.coordinate`).
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from heapq import merge
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from rprs import spec
from rprs.alignment.calibration import Calibration
from rprs.cluster.calls import Call
from rprs.cluster.scope import ClusterMask, Scope, ScopeCounts, combine_counts
from rprs.cluster.shard import NOT_HERE, Settings
from rprs.cluster.statistics import Statistics
from rprs.document import NO_SENTENCES, Document, Sentences, document_id
from rprs.errors import UsageError
from rprs.index import Index
from rprs.index.arguments import require_count, require_document
from rprs.index.fields import Field
from rprs.index.language import main_script
from rprs.index.phrases import NO_PHRASES
from rprs.index.reader import Mask
from rprs.index.union import merge_fields
from rprs.progress import Progress, as_progress
from rprs.scoring.vectors import VectorType

__all__ = ["ClusterIndex"]

PLACES = 100_000  # documents whose shards are remembered
DOCUMENTS = 512  # that are kept: a generation never changes, so they stay valid
PAGE = 10_000  # ids that a shard lists at a time
SUGGESTED = 100_000  # documents: of more, no similar ids are suggested for a wrong one, since all would be read

_ONE_MACHINE = {
    "catalog": "catalog of its own",
    "numbers": "numbers of documents",
    "segments": "segments of its own",
    "_lock": "catalog of its own",
}


class ClusterIndex(Index):
    """The documents of all shards of one generation, as an `Index` without segments.

    `call` asks the shards, which are numbered from 0; `name` is shown in messages.
    """

    def __init__(self, call: Call, shards: int, statistics: Statistics, name: str = "cluster") -> None:
        self.call, self.shards, self.statistics = call, shards, statistics
        self.path = Path(name)
        self.generation, self.pending = 0, 0
        self.known_phrases = NO_PHRASES
        self._last: tuple[tuple[str, str] | None, Sentences] = (None, NO_SENTENCES)  # of the last query
        self._last_language: tuple[str | None, bool] = (None, True)  # whether the encoder knows that of the last query
        self._dated: dict[str, int] = {}  # by metadata field
        self._memory = Lock()
        self._places: OrderedDict[str, tuple[int, int]] = OrderedDict()  # id: shard, number of sentences
        self._documents: OrderedDict[str, tuple[Document, Sentences]] = OrderedDict()

    def __repr__(self) -> str:
        return f"<ClusterIndex {self.path}: {len(self):,} documents in {self.shards:,} shards>"

    def __len__(self) -> int:
        return self.statistics.documents

    def __iter__(self) -> Iterator[str]:
        return self.list_ids()

    def close(self) -> None:
        """Nothing: the shards belong to others."""

    def everywhere(self, method: str, *arguments: Any) -> list[Any]:
        """The results of all shards."""
        return self.call(method, [(shard, arguments) for shard in range(self.shards)])

    # ------------------------------------------------------------------------ settings

    @cached_property
    def settings(self) -> Settings:
        """What all shards have in common."""
        settings: Settings = self.call("settings", [(0, ())])[0]
        return settings

    @cached_property
    def splitter(self) -> Any:
        """The splitter of the sentences."""
        return spec.parse("splitter", self.settings.splitter)

    @cached_property
    def analyzer(self) -> Any:
        """The analyzer of the terms."""
        return spec.parse("analyzer", self.settings.analyzer)

    @cached_property
    def vector_type(self) -> VectorType:
        """The type of the vectors."""
        return "float32" if self.settings.vectors == "float32" else "float16"

    @property
    def has_phrases(self) -> bool:
        """Whether sequences of two and three terms are indexed."""
        return self.settings.phrases

    @property
    def fingerprint(self) -> str:
        """That of one index of the same documents."""
        return self.statistics.fingerprint

    @property
    def calibration(self) -> Calibration:
        """The bar for sentences with the same idea."""
        return self.statistics.calibration

    @property
    def mean_sentences(self) -> float:
        """avgdl: the mean number of sentences per document."""
        return self.statistics.mean_sentences

    def knows_language(self, query: Document) -> bool:
        """Whether the encoder knows the script of the query, as measured on all shards."""
        text, verdict = self._last_language
        if text != query.text:
            verdict = self.statistics.language.get("scripts", {}).get(main_script(query.text))
            if verdict is None:  # only the encoder can tell, which shards have
                verdict = self.call("knows_language", [(self._any_shard(query), (query.text,))])[0]
            self._last_language = query.text, bool(verdict)
        return bool(verdict)

    def _any_shard(self, query: Document) -> int:
        """A shard that works for a query where each of them can: not always the same."""
        return int(query.content_hash[:8], 16) % self.shards

    # ------------------------------------------------------------------------ documents

    def locate(self, ids: Iterable[str]) -> dict[str, tuple[int, int]]:
        """The shards of documents and their numbers of sentences; an unknown id is absent."""
        wanted = list(dict.fromkeys(ids))
        with self._memory:
            known = {id: self._places[id] for id in wanted if id in self._places}
        unknown = [id for id in wanted if id not in known]
        if unknown:
            for shard, counts in enumerate(self.everywhere("locate", unknown)):
                for id, count in zip(unknown, counts, strict=True):
                    if count != NOT_HERE:
                        known[id] = shard, count
            self.remember({id: known[id] for id in unknown if id in known})
        return known

    def remember(self, places: Mapping[str, tuple[int, int]]) -> None:
        """Keep the shards of documents and their numbers of sentences for the next questions."""
        with self._memory:
            self._places.update(places)
            while len(self._places) > PLACES:
                self._places.popitem(last=False)

    def by_shard(self, ids: Sequence[str]) -> dict[int, list[str]]:
        """Documents by their shards, in their order; an unknown id is an error."""
        places, groups = self.locate(ids), defaultdict[int, list[str]](list)
        for id in ids:
            if id not in places:
                raise self._missing(id)
            groups[places[id][0]].append(id)
        return groups

    def ask_owners(self, method: str, ids: Sequence[str]) -> dict[str, Any]:
        """The results of a method for documents, each from its shard, by id."""
        groups = self.by_shard(list(dict.fromkeys(ids)))
        answers = self.call(method, [(shard, (own,)) for shard, own in groups.items()])
        found: dict[str, Any] = {}
        for own, answer in zip(groups.values(), answers, strict=True):
            found.update(zip(own, answer, strict=True))
        return found

    def number(self, id: str) -> int | None:
        """Not the number of a document, which a cluster does not have: 0 if there is such a document."""
        text = id if type(id) is str else document_id(id)
        return 0 if text in self.locate([text]) else None

    def read_ahead(self, ids: Sequence[str]) -> None:
        """Read several documents at once, and keep them."""
        with self._memory:
            new = [id for id in ids if id not in self._documents]
        if new:
            self._keep(self.ask_owners("documents", new))

    def _keep(self, documents: Mapping[str, tuple[Document, Sentences]]) -> None:
        with self._memory:
            self._documents.update(documents)
            while len(self._documents) > DOCUMENTS:
                self._documents.popitem(last=False)

    def _read(self, id: str) -> tuple[Document, Sentences]:
        text = id if type(id) is str else document_id(id)
        with self._memory:
            if text in self._documents:
                return self._documents[text]
        documents: dict[str, tuple[Document, Sentences]] = self.ask_owners("documents", [text])
        self._keep(documents)
        return documents[text]

    def document(self, id: str) -> Document:
        """A document with its text and metadata."""
        return self._read(id)[0]

    def sentences(self, id: str) -> Sentences:
        """The sentences of a document with their vectors."""
        return self._read(id)[1]

    def sentences_of(self, ids: Sequence[str]) -> Sequence[Sentences]:
        """The sentences of several documents with their vectors."""
        found = self.ask_owners("sentences", ids)
        return [found[id] for id in ids]

    def content_hashes(self, ids: Iterable[str]) -> list[str]:
        """The hashes of the texts of some documents."""
        wanted = list(dict.fromkeys(ids))
        found = self.ask_owners("content_hashes", wanted)
        return [found[id] for id in wanted]

    def word_hashes(self, ids: Iterable[str]) -> list[int] | None:
        """Hashes of the words of some documents; None if a shard of an older version has none."""
        wanted = list(ids)
        found = self.ask_owners("word_hashes", wanted)
        hashes = [found[id] for id in wanted if found[id] is not None]
        return hashes if len(hashes) == len(wanted) else None

    def holds(self, document: Document) -> bool:
        """Whether the cluster has a document with the same id and text."""
        own = self.locate([require_document(document).id])
        return bool(own) and self.content_hashes(own) == [document.content_hash]

    def copies(self, document: Document) -> list[str]:
        """The ids of documents with exactly the same text."""
        return sorted(id for ids in self.everywhere("copies", require_document(document)) for id in ids)

    def query_sentences(self, query: Document, progress: Progress | bool | None = None) -> Sentences:
        """The sentences of a query with their vectors: the stored ones if a shard holds the same document."""
        key, sentences = self._last
        if key == (query.id, query.text):
            return sentences
        stored = [each for each in self.everywhere("stored_sentences", query) if each is not None]
        sentences = stored[0] if stored else self.encode(query, progress)
        self._last = (query.id, query.text), sentences
        return sentences

    def with_vectors(
        self, document: Document, sentences: Sentences, progress: Progress | bool | None = None
    ) -> Sentences:
        """The sentences of a document, however it was split, with vectors of the encoder that all shards share."""
        if not len(sentences):
            return sentences
        with as_progress(progress)("sentences of the query", len(sentences), "sentences") as advance:
            encoded: Sentences = self.call("with_vectors", [(self._any_shard(document), (document, sentences))])[0]
            advance(len(sentences))
        return encoded

    def phrase_frequencies(self, hashes: NDArray[np.uint32]) -> NDArray[np.int64]:
        """(p,): how many documents have each of some phrases, given in ascending order."""
        if not len(hashes):
            return np.zeros(0, dtype=np.int64)
        return np.asarray(np.sum(self.everywhere("phrase_frequencies", hashes), axis=0), dtype=np.int64)

    # ------------------------------------------------------------------------ choosing documents

    def allowed(self, scope: Scope) -> ClusterMask:
        """The documents that may be ranked; a wrong filter is an error when they are counted or ranked."""
        return ClusterMask(scope, self.count)

    def count(self, scope: Scope) -> ScopeCounts:
        """How many documents may be ranked; a wrong filter is an error."""
        return combine_counts(self.everywhere("allowed", scope))

    def dated(self, field: str) -> int:
        """How many documents have a date in a metadata field."""
        if field not in self._dated:
            self._dated[field] = sum(self.everywhere("dated", field))
        return self._dated[field]

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The metadata fields with their values; the number of distinct values is an upper bound."""
        return merge_fields(self.everywhere("fields"))

    def find(self, words: str, limit: int = 20) -> tuple[list[Document], int]:
        """Documents with all these words in their id or title, without their texts; and their total number."""
        lists = self.everywhere("find", words, require_count("limit", limit, 0))
        documents = merge(*(documents for documents, _ in lists), key=lambda document: document.id)
        return list(islice(documents, limit)), sum(count for _, count in lists)

    def list_ids(self, where: str | None = None) -> Iterator[str]:
        """The ids of the documents that a metadata filter selects, in their order, read page by page."""
        return merge(*(self._ids_of(shard, where) for shard in range(self.shards)))

    def _ids_of(self, shard: int, where: str | None) -> Iterator[str]:
        after = ""
        while page := self.call("ids", [(shard, (where, after, PAGE))])[0]:
            yield from page
            after = page[-1]

    @cached_property
    def ids(self) -> list[str]:  # type: ignore[override]  # read when somebody needs all of them
        """All ids, in their order: of many millions, better use `list_ids`."""
        return list(self.list_ids())

    @property
    def suggested_ids(self) -> list[str]:
        """The ids that a wrong one is compared with; none if there are very many documents."""
        return self.ids if len(self) <= SUGGESTED else []

    # ------------------------------------------------------------------------ what only one machine has

    def select(self, where: str | None) -> Mask:
        """Refused for anything but a check of the filter: there is no mask over all documents."""
        self.count(Scope(where))
        return self._refuse("a mask over all documents")

    def __getattr__(self, name: str) -> Any:
        """An error that says what a cluster lacks, instead of one about an attribute."""
        if name in _ONE_MACHINE:
            self._refuse(_ONE_MACHINE[name])
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def _refuse(self, what: str) -> NoReturn:
        raise UsageError(f"{self.path} is a cluster, which has no {what}: search it with ClusterSearcher")
