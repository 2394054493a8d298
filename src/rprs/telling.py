"""The most telling pairs of documents with a query, and which pairs are boilerplate in the collection of an index.

A list of results has thousands of matches and shows thirty of them. The longest are weighed first, and what reworded
pairs have in common is looked up only of those that would be shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.align import Comparison
from rprs.alignment.boilerplate import formal_texts, many_documents
from rprs.alignment.evidence import choose_telling, longest_first, unchanged
from rprs.alignment.sides import span_of
from rprs.alignment.values import Pair, Span
from rprs.commonness import commonness
from rprs.compiled import compiled
from rprs.document import Document, Sentences
from rprs.index import Index
from rprs.scoring.sorting import first_at_least

__all__ = ["Passages", "Shortlist", "Weighing", "choose_most_telling", "passages_of"]

MORE = 4  # times as many of the longest pairs are weighed as are shown; then four times those, and so on
LONG_PASSAGE = 8  # sentences: a longer passage is no boilerplate

Range = tuple[int, int]  # first, stop
_Text = tuple[Document, Sentences]
_Pieces = dict[tuple[int, int], list[str]]  # by side and number of a pair
_Known = tuple[int, int, float, bool]  # documents that have most of a text, its phrases, distinctness, boilerplate


class Passages:
    """Pairs of passages, as spans of both texts, and what `Weighing` found out of them."""

    def __init__(self, query: _Text, document: _Text) -> None:
        self._texts = query, document
        self.spans: tuple[list[Span], list[Span]] = [], []
        self.longest: tuple[list[str], list[str]] = [], []  # of the sentences of each passage, or what it has of it
        self._sentences: tuple[list[Range], list[Range]] = [], []
        self.kept: dict[int, list[str]] = {}  # what reworded pairs have in common, if that is new
        self.boilerplate: list[bool] = []  # of the pairs that were weighed
        self.distinctness: list[float] = []

    def __len__(self) -> int:
        return len(self.spans[0])

    def add(self, rows: NDArray[np.int64]) -> None:
        """Add pairs (p, 12): of the passage of the query and then that of the document, what `_describe` says."""
        found = rows.tolist()
        for side, (document, _) in enumerate(self._texts):
            at = 6 * side
            self.spans[side].extend([(row[at], row[at + 1]) for row in found])
            self._sentences[side].extend([(row[at + 2], row[at + 3]) for row in found])
            self.longest[side].extend([document.text[row[at + 4] : row[at + 5]] for row in found])

    @property
    def new(self) -> range:
        """The numbers of pairs that were not weighed yet."""
        return range(len(self.boilerplate), len(self))

    @property
    def new_texts(self) -> Iterator[str]:
        """All texts whose frequency decides first."""
        for side in self.longest:
            yield from side[len(self.boilerplate) :]
        yield from (text for texts in self.kept.values() for text in texts)

    def size(self, side: int, number: int) -> int:
        """How many sentences a passage has."""
        first, stop = self._sentences[side][number]
        return stop - first

    def pieces(self, side: int, number: int) -> list[str]:
        """What a passage has of each of its sentences."""
        document, sentences = self._texts[side]
        start, end = self.spans[side][number]
        own = sentences.spans[slice(*self._sentences[side][number])].tolist()
        return [document.text[max(start, low) : min(end, high)] for low, high in own]


def passages_of(query: _Text, document: _Text, pairs: Sequence[Pair]) -> Passages:
    """The passages of pairs."""
    passages = Passages(query, document)
    spans = np.array([(*pair.query_span, *pair.document_span) for pair in pairs], dtype=np.int64).reshape(-1, 4)
    passages.add(_passages_at(spans, query[1].spans, document[1].spans))
    passages.kept |= {number: unchanged(pair) for number, pair in enumerate(pairs) if pair.changes}
    return passages


@compiled
def _passages_at(spans: Any, sentences: Any, other_sentences: Any) -> Any:
    """(p, 12): what `_describe` says of the passages of pairs, which are spans (p, 4) of characters."""
    rows = np.empty((len(spans), 12), dtype=np.int64)
    for number in range(len(spans)):
        _describe(rows[number, :6], spans[number, 0], spans[number, 1], sentences)
        _describe(rows[number, 6:], spans[number, 2], spans[number, 3], other_sentences)
    return rows


@compiled
def _passages_of_matches(ranges: Any, numbers: Any, ours: Any, theirs: Any) -> Any:
    """(p, 12): the same of some matches, by their numbers; `ours` and `theirs` are the places of both texts."""
    rows = np.empty((len(numbers), 12), dtype=np.int64)
    for place in range(len(numbers)):
        first, stop, start, end = ranges[numbers[place]]
        span, other = span_of(first, stop, ours), span_of(start, end, theirs)
        _describe(rows[place, :6], span[0], span[1], ours[3])
        _describe(rows[place, 6:], other[0], other[1], theirs[3])
    return rows


@compiled
def _describe(row: Any, start: Any, end: Any, sentences: Any) -> None:
    """Write the span of a passage, its first sentence and the stop, and its longest piece of one, in characters."""
    first = first_at_least(sentences[:, 1], start + 1)
    stop = first_at_least(sentences[:, 0], end)
    row[0], row[1], row[2], row[3], row[4], row[5] = start, end, first, stop, 0, 0
    for sentence in range(first, stop):
        low, high = max(start, np.int64(sentences[sentence, 0])), min(end, np.int64(sentences[sentence, 1]))
        if sentence == first or high - low > row[5] - row[4]:
            row[4], row[5] = low, high


class Weighing:
    """Finds out which passages are boilerplate, and how distinct they are; what is known of a text is kept."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._many = many_documents(len(index))
        self._known: dict[str, _Known] = {}

    def weigh(self, several: Sequence[Passages]) -> None:
        """Find out which new pairs are boilerplate, on either side, and how distinct the less distinct side is.

        A reworded pair is boilerplate, too, if all that both sides have in common is. Texts of several documents are
        looked up together, which is faster.
        """
        self._look_up([text for passages in several for text in passages.new_texts])
        pieces = [self._pieces_of_undecided(passages) for passages in several]
        self._look_up([text for each in pieces for texts in each.values() for text in texts])
        for passages, own in zip(several, pieces, strict=True):
            for number in passages.new:
                (flag, distinctness), (other_flag, other) = (
                    self._weigh_side(passages, side, number, own) for side in (0, 1)
                )
                passages.boilerplate.append(flag or other_flag)
                passages.distinctness.append(min(distinctness, other))
            for number, texts in passages.kept.items():
                passages.boilerplate[number] |= self._are_common(texts)
            passages.kept.clear()

    def are_boilerplate(self, texts: Sequence[str]) -> list[bool]:
        """Which sentences are boilerplate."""
        self._look_up(texts)
        return [self._known[text][3] for text in texts]

    def _pieces_of_undecided(self, passages: Passages) -> _Pieces:
        """The new passages of few sentences whose longest is boilerplate, with what they have of each."""
        return {
            (side, number): passages.pieces(side, number)
            for side in range(2)
            for number in passages.new
            if 1 < passages.size(side, number) <= LONG_PASSAGE and self._known[passages.longest[side][number]][3]
        }

    def _weigh_side(self, passages: Passages, side: int, number: int, pieces: _Pieces) -> tuple[bool, float]:
        """A passage is boilerplate if each of its sentences is, or what it has of them; and how distinct it is.

        Its longest sentence decides unless that is boilerplate, and how distinct it is.
        """
        _, _, distinctness, flag = self._known[passages.longest[side][number]]
        if flag and passages.size(side, number) > 1:
            own = pieces.get((side, number))
            flag = own is not None and all(self._known[text][3] for text in own)
        return flag, distinctness

    def _are_common(self, texts: Sequence[str]) -> bool:
        """Whether many documents have each of some texts that have phrases."""
        counted = [documents for documents, phrases, _, _ in map(self._known.__getitem__, texts) if phrases]
        return bool(counted) and min(counted) >= self._many

    def _look_up(self, texts: Sequence[str]) -> None:
        """Find out how common texts are, and whether they are boilerplate, unless it is known."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            found = commonness(new, self.index)
            flags = found.documents >= self._many
            rest = np.flatnonzero(~flags)
            flags[rest] = formal_texts([new[number] for number in rest.tolist()])
            columns = (found.documents, found.phrases, found.distinctness, flags)
            self._known.update(zip(new, zip(*(each.tolist() for each in columns), strict=True), strict=True))


class Shortlist:
    """The longest pairs of the query and a document, of which the `size` most telling are chosen."""

    def __init__(self, comparison: Comparison, size: int) -> None:
        query, document = comparison.query, comparison.document
        self.comparison, self.size = comparison, size
        self.passages = Passages((query.document, query.sentences), (document.document, document.sentences))
        matches = comparison.matches
        self._order, lengths = longest_first(matches.kinds, matches.ranges, matches.similarity)
        self._numbers, self._lengths = self._order.tolist(), lengths.tolist()
        self._pairs: dict[int, Pair] = {}  # that were chosen so far
        self.extend()

    def extend(self) -> None:
        """Have more of the longest pairs."""
        present = len(self.passages)
        more = self._order[present : max(MORE * present, MORE * self.size)]
        both = self.comparison.query.places, self.comparison.document.places
        self.passages.add(_passages_of_matches(self.comparison.matches.ranges, more, *both))

    def choose(self) -> list[int]:
        """The most telling of the pairs that were weighed, without boilerplate."""
        passages = self.passages
        values = list(map(mul, passages.distinctness, self._lengths))
        numbers = choose_telling(*passages.spans, values, passages.boilerplate, self.size)
        return [number for number in numbers if not passages.boilerplate[number]]

    def make_pairs(self, numbers: Sequence[int]) -> bool:
        """Make some pairs; whether any is reworded and new, so that what it has in common must be weighed."""
        new = [number for number in numbers if number not in self._pairs]
        pairs = self.comparison.pairs([self._numbers[number] for number in new]) if new else []
        self._pairs.update(zip(new, pairs, strict=True))
        kept = {number: unchanged(pair) for number, pair in zip(new, pairs, strict=True) if pair.changes}
        self.passages.kept |= kept
        return bool(kept)

    def pairs(self, numbers: Sequence[int]) -> tuple[Pair, ...]:
        """Some pairs that were made."""
        return tuple(self._pairs[number] for number in numbers)

    def is_enough(self, numbers: Sequence[int]) -> bool:
        """Whether there are as many as are wanted, or no more pairs."""
        return len(numbers) == self.size or len(self.passages) == len(self._numbers)


def choose_most_telling(shortlists: Sequence[Shortlist], weighing: Weighing) -> list[tuple[Pair, ...]]:
    """The most telling pairs of each, the best first, without boilerplate."""
    chosen: dict[int, tuple[Pair, ...]] = {}
    while rest := [number for number in range(len(shortlists)) if number not in chosen]:
        for number, telling in _choose_all(shortlists, rest, weighing).items():
            if shortlists[number].is_enough(telling):
                chosen[number] = shortlists[number].pairs(telling)
            else:
                shortlists[number].extend()
    return [chosen[number] for number in range(len(shortlists))]


def _choose_all(shortlists: Sequence[Shortlist], numbers: Sequence[int], weighing: Weighing) -> dict[int, list[int]]:
    """The most telling pairs so far of some lists; their changes are known, and that they are no boilerplate."""
    chosen: dict[int, list[int]] = {}
    waiting = list(numbers)
    while waiting:
        weighing.weigh([shortlists[number].passages for number in waiting])
        chosen |= {number: shortlists[number].choose() for number in waiting}
        waiting = [number for number in waiting if shortlists[number].make_pairs(chosen[number])]
    return chosen
