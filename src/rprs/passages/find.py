"""Find the passages of a whole collection that are like a given one: by shared phrases first, by vectors second.

1. Documents that share phrases with the passage are found in the postings. Of each, the longest possible quotation is
   known before its text is read, so texts are read in that order until nothing longer can follow.
2. Every sentence of the passage is compared with every sentence of the collection.
3. The passage is aligned with the documents of the first step, and with the surroundings of the sentences of the second
   one: this gives the kind of each match.

Identical and reworded passages come before those with the same idea; among these, the order is that of the score, then
of the document's id, then of the place in the document.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Protocol, TypedDict

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.align import align_sides, make_pairs
from rprs.alignment.matches import Match, join_neighbours
from rprs.alignment.sides import LEAST_WORDS, Side, make_excerpt, make_side, settle_breaks
from rprs.alignment.values import KINDS, Kind, Pair
from rprs.alignment.verbatim import LEAST_RUN, common_runs, window_hashes
from rprs.document import Document, Sentences
from rprs.errors import EmptyQuery, UsageError
from rprs.evidence import Evidence
from rprs.index import Index
from rprs.passages.nearest import Neighbour, nearest_in_index
from rprs.passages.shared import Shared, shared_with
from rprs.passages.values import PassageHit, PassageResults
from rprs.progress import Progress, silent, stopper

__all__ = [
    "MOST_CHARACTERS",
    "MOST_CONTEXT",
    "MOST_HITS",
    "IndexSources",
    "PassageOptions",
    "Sources",
    "find_passages",
    "require_options",
    "require_passage",
    "search_passages",
]

MOST_CHARACTERS = 20_000  # of a passage: about seven pages
MOST_HITS = 1_000
MOST_CONTEXT = 20  # sentences on each side
QUOTING = 20  # documents with the longest quotations, or as many as hits are wanted
SIMILAR = 20  # documents with the most phrases in common
MOST_READ = 2_000  # documents that are searched for quotations
NEIGHBOURS = 100  # sentences by their vectors, or four times as many as hits are wanted
LEAST_NEIGHBOURS = 10  # of each sentence of a long passage
SURROUNDINGS = 3  # sentences on each side of a neighbour, beyond the length of the passage
MOST_SURROUNDINGS = 50
READ_AHEAD = 32  # documents that may quote the passage, read at a time where that is faster

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Found:
    """A matching passage, before it is known whether it is among the best."""

    document: str  # its id
    pair: Pair
    score: float

    @property
    def order(self) -> tuple[bool, float, str, int, int]:
        pair = self.pair
        return pair.kind == "same idea", -self.score, self.document, pair.document_span[0], pair.query_span[0]


class Sources(Protocol):
    """Where documents are looked up by what they share with a passage: an index, or the shards of a cluster."""

    def shared(self, passage: Side, least: int) -> Shared:
        """The documents that share phrases: `MOST_READ` + 1 that may quote it, and `SIMILAR`."""
        ...

    def nearest(self, passage: Sentences, n: int) -> tuple[list[Neighbour], int]:
        """The n nearest sentences of each sentence of the passage, and how many were compared."""
        ...


@dataclass(frozen=True, slots=True)
class IndexSources:
    """The allowed documents of one index."""

    index: Index
    allowed: Mask
    progress: Progress
    threads: int | None = None

    def shared(self, passage: Side, least: int) -> Shared:
        """The documents that share phrases."""
        return shared_with(passage, self.index, self.allowed, least, MOST_READ + 1, SIMILAR)

    def nearest(self, passage: Sentences, n: int) -> tuple[list[Neighbour], int]:
        """The n nearest sentences."""
        return nearest_in_index(passage, self.index, self.allowed, n, self.progress, self.threads)


def find_passages(
    passage: Document,
    index: Index,
    allowed: Mask,
    k: int,
    *,
    kinds: Sequence[Kind] = KINDS,
    context: int = 1,
    boilerplate: bool = True,
    threads: int | None = None,
    progress: Progress = silent,
) -> PassageResults:
    """The k passages of the allowed documents that are most like a passage, with `context` sentences on each side."""
    sources = IndexSources(index, allowed, progress, threads)
    options: PassageOptions = {"k": k, "kinds": tuple(kinds), "context": context}
    return search_passages(passage, index, sources, options, boilerplate=boilerplate, progress=progress)


def search_passages(
    passage: Document,
    index: Index,
    sources: Sources,
    options: PassageOptions,
    *,
    boilerplate: bool = True,
    progress: Progress = silent,
) -> PassageResults:
    """The same, with documents that are looked up anywhere."""
    search = _Search(passage, index, sources, options["k"], progress)
    started = perf_counter()
    quoting = search.quoting_documents()
    phrased = perf_counter()
    neighbours, compared = search.neighbours()
    scanned = perf_counter()
    found = [each for each in search.align(quoting, neighbours) if each.pair.kind in options["kinds"]]
    best, total = search.best(_distinct(found), boilerplate)
    hits = tuple(search.hit(rank, each, options["context"]) for rank, each in enumerate(best, start=1))
    seconds = {
        "phrases": phrased - started,
        "vectors": scanned - phrased,
        "matches": perf_counter() - scanned,
    }
    return PassageResults(hits, passage, total, compared, tuple(search.notes), seconds)


def require_passage(passage: Document) -> Document:
    """The passage itself if it has words and is not too long to be one."""
    if len(passage.text) > MOST_CHARACTERS:
        raise UsageError(
            f"The passage has {len(passage.text):,} characters; at most {MOST_CHARACTERS:,} are compared: select less, "
            "or search with the whole document"
        )
    if not any(character.isalnum() for character in passage.text):
        raise EmptyQuery("The passage has no words: select or give some text")
    return passage


class PassageOptions(TypedDict):
    """How many passages of which kinds are wanted, and with how much context."""

    k: int
    kinds: tuple[Kind, ...]
    context: int


def require_options(k: Any, kinds: Any, context: Any) -> PassageOptions:
    """The options of `find_passages`, if they are valid."""
    for name, value, most in (("k", k, MOST_HITS), ("context", context, MOST_CONTEXT)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value <= most:
            raise UsageError(f"{name} must be an integer from 0 to {most:,}. Got {value!r:.80} instead.")
    chosen = (kinds,) if isinstance(kinds, str) or not isinstance(kinds, Iterable) else tuple(kinds)
    for kind in chosen:
        if kind not in KINDS:
            raise UsageError(f"A kind of match is one of {', '.join(KINDS)}. Got {kind!r:.80} instead.")
    return {"k": int(k), "kinds": chosen, "context": int(context)}


class _Search:
    """One passage and one index; texts that are read are kept until the end."""

    def __init__(self, passage: Document, index: Index, sources: Sources, k: int, progress: Progress) -> None:
        self.index, self.sources, self.k = index, sources, k
        self.progress, self.check = progress, stopper.get()
        self.evidence = Evidence(require_passage(passage), index, progress)
        self.passage = self.evidence.query_side
        self.size = len(self.passage.words)
        if not len(self.passage.sentences) or not self.size:
            raise EmptyQuery("The passage has no sentences: select or give some text")
        self.least = min(LEAST_RUN, self.size)
        self.notes: list[str] = []
        self._sides: dict[str, Side] = {}

    # ------------------------------------------------------------------------ phrases

    def quoting_documents(self) -> list[str]:
        """The documents with the longest quotations of the passage, and those with the most phrases in common."""
        if not self.index.has_phrases:
            self.notes.append(
                "The index has no phrases, so documents are looked up by single words: `rprs upgrade` adds them"
            )
        shared = self.sources.shared(self.passage, self.least)
        return sorted({*self._longest_quotations(shared), *(id for _, id in shared.similar)})

    def _longest_quotations(self, shared: Shared) -> list[str]:
        """Read documents by the longest possible quotation until no other document can have a longer one."""
        wanted = max(QUOTING, self.k)
        best: list[tuple[int, str]] = []  # minus the words of the longest quotation, document
        for read, (bound, id) in enumerate(shared.quoting):
            if len(best) >= wanted and best[wanted - 1] < (-bound, id):
                break
            if read == MOST_READ:
                self.notes.append(
                    f"More than {MOST_READ:,} documents have these phrases: of shorter quotations, some may be missing"
                )
                break
            self.check()
            if read % READ_AHEAD == 0:
                self.index.read_ahead([id for _, id in shared.quoting[read : read + READ_AHEAD]])
            side = self._read(id)
            length = self._longest_run(side)
            if length >= self.least:
                insort(best, (-length, id))
                self._sides[id] = side
        return [id for _, id in best[:wanted]]

    def _longest_run(self, side: Side) -> int:
        if self.size < LEAST_RUN:
            return self.size if len(self._places(side)) else 0
        ours, theirs = settle_breaks(self.passage, side)
        return int(common_runs(ours.sequences, theirs.sequences)[:, 2].max(initial=0))

    def _places(self, side: Side) -> NDArray[np.int64]:
        """Where a document has all words of a short passage."""
        words = window_hashes(self.passage.words.hashes, self.size)
        return np.flatnonzero(window_hashes(side.words.hashes, self.size) == words[0])

    def _read(self, id: str) -> Side:
        return self._sides.get(id) or make_side(self.index.document(id), self.index.sentences(id))

    # ------------------------------------------------------------------------ vectors

    def neighbours(self) -> tuple[list[Neighbour], int]:
        """The nearest sentences of the collection; none if the encoder does not know the language."""
        if not self.evidence.knows_query:
            self.notes.append(
                "The encoder does not know the script of this passage: only words are compared, not meanings"
            )
            return [], 0
        sentences = self.passage.sentences
        n = max(LEAST_NEIGHBOURS, -(-max(NEIGHBOURS, 4 * self.k) // len(sentences)))
        if not any(map(self._has_idea, range(len(sentences)))):
            self.notes.append("The passage is very short, a heading or a citation: only the same words are shown")
        return self.sources.nearest(sentences, n)

    def _has_idea(self, sentence: int) -> bool:
        return _has_idea(self.passage, sentence)

    # ------------------------------------------------------------------------ matches

    def align(self, quoting: Sequence[str], neighbours: Sequence[Neighbour]) -> Iterator[_Found]:
        """All matches in the documents that share phrases, and around the nearest sentences of others."""
        near: dict[str, list[Neighbour]] = {}
        for neighbour in neighbours:
            near.setdefault(neighbour.document, []).append(neighbour)
        chosen = set(quoting)
        self.index.read_ahead(sorted(chosen | near.keys()))
        with self.progress("comparing passages", len(chosen | near.keys()), "documents") as advance:
            for id in sorted(chosen | near.keys()):
                self.check()
                own = near.get(id, [])
                if id in chosen:
                    yield from self._matches(id, self._read(id), 0, own)
                else:
                    yield from self._around(id, own)
                advance(1)

    def _around(self, id: str, neighbours: Sequence[Neighbour]) -> Iterator[_Found]:
        """The matches around some sentences of a document: the rest of its text is not compared."""
        document, sentences = self.evidence.document(id), self.index.sentences(id)
        reach = min(len(self.passage.sentences) - 1, MOST_SURROUNDINGS) + SURROUNDINGS
        ranges: list[list[int]] = []
        for place in sorted({neighbour.sentence for neighbour in neighbours}):
            first, stop = max(place - reach, 0), min(place + reach + 1, len(sentences))
            if ranges and first <= ranges[-1][1]:
                ranges[-1][1] = stop
            else:
                ranges.append([first, stop])
        for first, stop in ranges:
            own = [neighbour for neighbour in neighbours if first <= neighbour.sentence < stop]
            yield from self._matches(id, make_excerpt(document, sentences, first, stop), first, own)

    def _matches(self, id: str, side: Side, first: int, neighbours: Sequence[Neighbour]) -> Iterator[_Found]:
        """The matches of the passage with a text whose first sentence has this number in its document."""
        alignment = align_sides(self.passage, side, ideas=False)
        pairs, size = [*alignment.pairs], alignment.query_coverage.words  # a word that was divided counts once
        if self.size < LEAST_RUN:
            pairs = [pair for pair in pairs if pair.kind != "identical"]
            words = (0, self.size)
            places = self._places(side).tolist()
            whole = [Match("identical", words, (place, place + self.size), 1.0) for place in places]
            pairs += make_pairs(self.passage, side, whole)
        pairs += self._same_ideas(id, side, first, neighbours, pairs)
        for pair in pairs:
            yield _Found(id, pair, pair.similarity * pair.query_words / size)

    def _same_ideas(
        self, id: str, side: Side, first: int, neighbours: Sequence[Neighbour], pairs: Sequence[Pair]
    ) -> list[Pair]:
        """The nearest sentences that are above the bar of their document; one with a stronger match is not repeated."""
        bar = self.index.calibration.bar(len(self.index.sentences(id)))
        matched = np.zeros(len(side.words), dtype=bool)
        for pair in pairs:
            matched[slice(*np.searchsorted(side.words.starts, pair.document_span))] = True
        best: dict[int, Neighbour] = {}
        for neighbour in neighbours:
            place = neighbour.sentence - first
            low, high = side.bounds[place : place + 2].tolist()
            if (
                neighbour.similarity >= bar
                and self._has_idea(neighbour.query)
                and _has_idea(side, place)
                and not matched[low:high].any()
                and (place not in best or neighbour.similarity > best[place].similarity)
            ):
                best[place] = neighbour
        matches = [
            Match("same idea", _words(self.passage, each.query), _words(side, place), min(each.similarity, 1.0))
            for place, each in best.items()
        ]
        return make_pairs(self.passage, side, join_neighbours(matches))

    # ------------------------------------------------------------------------ the best

    def best(self, found: Sequence[_Found], boilerplate: bool) -> tuple[list[_Found], int]:
        """The first k, with their boilerplate marked or left out; and how many there are of all."""
        weighed = [self._weigh(each) for each in (found[: self.k] if boilerplate else found)]
        kept = [each for each in weighed if boilerplate or not each.pair.boilerplate]
        return kept[: self.k], len(found) if boilerplate else len(kept)

    def _weigh(self, found: _Found) -> _Found:
        id = found.document
        flags = self.evidence.weigh(self.evidence.document(id), self.index.sentences(id), [found.pair])
        return replace(found, pair=replace(found.pair, boilerplate=flags[0]))

    def hit(self, rank: int, found: _Found, context: int) -> PassageHit:
        """A match with its context."""
        id = found.document
        document, sentences = self.evidence.document(id), self.index.sentences(id)
        first, last = _sentences_of(sentences, found.pair)
        start, end = found.pair.document_span
        before = document.text[int(sentences.spans[max(first - context, 0), 0]) : start]
        after = document.text[end : int(sentences.spans[min(last + context, len(sentences) - 1), 1])]
        return PassageHit(
            rank=rank,
            id=id,
            title=document.title,
            metadata=document.metadata,
            pair=found.pair,
            score=found.score,
            before=before,
            after=after,
            sentences=(first + 1, last + 1),
            of=len(sentences),
            collection=self.index.collection_of(id),
        )


def _distinct(found: Iterable[_Found]) -> list[_Found]:
    """The matches, best first, without those that share words of a document with a better one."""
    kept: list[_Found] = []
    taken: dict[str, list[tuple[int, int]]] = {}  # by document
    for each in sorted(found, key=lambda each: each.order):
        start, end = each.pair.document_span
        spans = taken.setdefault(each.document, [])
        if not any(start < other_end and other_start < end for other_start, other_end in spans):
            spans.append((start, end))
            kept.append(each)
    return kept


def _has_idea(side: Side, sentence: int) -> bool:
    """Whether a sentence has enough words, and is no heading or citation."""
    return int(side.sizes[sentence]) >= LEAST_WORDS and not side.formal.of(np.array([sentence]))[0]


def _words(side: Side, sentence: int) -> tuple[int, int]:
    return int(side.bounds[sentence]), int(side.bounds[sentence + 1])


def _sentences_of(sentences: Sentences, pair: Pair) -> tuple[int, int]:
    """The first and the last sentence that a passage is part of."""
    start, end = pair.document_span
    first = int(np.searchsorted(sentences.spans[:, 1], start, side="right"))
    last = int(np.searchsorted(sentences.spans[:, 0], end, side="left")) - 1
    first = min(first, len(sentences) - 1)
    return first, max(first, last)
