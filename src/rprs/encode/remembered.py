"""What an encoder computed before: the tokens of words, and the vectors of sentences.

The tokens of texts are found word by word: a tokenizer is asked for each word once.

Tokenizers of the BERT family split a text at white space before anything else, so the tokens of a text are those of
its words one after another. Collections repeat their words: of a million words of court opinions, one in twenty is new.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled
from rprs.forks import ForkLock
from rprs.word_numbers import WordNumbers, word_edges

__all__ = ["RememberedTokens", "RememberedVectors", "is_word_by_word", "tokenize"]

Ints = NDArray[np.int64]

MOST_VECTORS = 20_000  # in each half, about 35 MB with 384 dimensions
LONGEST_REMEMBERED = 200  # characters: longer sentences hardly ever repeat
SEPARATOR = "|"  # between words that a tokenizer gets as one text
WORDS_OF_A_TEXT = 64  # that it gets
MOST_WORDS, MOST_CHARACTERS = 1_000_000, 20_000_000  # that are remembered, about 130 MB; the table then starts again
# What BERT treats as white space. It removes control characters, such as a form feed, which Python splits at.
_SEPARATORS = word_edges(" \t\n\r")


def tokenize(tokenizer: Any, texts: Sequence[str]) -> tuple[Ints, Ints]:
    """The concatenated token ids of all texts, and the offset of each text."""
    lists = [encoding.ids for encoding in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]
    offsets = _offsets([len(ids) for ids in lists])
    return np.fromiter(chain.from_iterable(lists), dtype=np.int64, count=int(offsets[-1])), offsets


def is_word_by_word(tokenizer: str) -> bool:
    """Whether the tokens of a text are those of its words, from the JSON of its tokenizer."""
    settings = json.loads(tokenizer)
    kinds = {part: (settings.get(part) or {}).get("type") for part in ("normalizer", "pre_tokenizer", "model")}
    if kinds != {"normalizer": "BertNormalizer", "pre_tokenizer": "BertPreTokenizer", "model": "WordPiece"}:
        return False
    if settings.get("truncation") or settings.get("padding"):
        return False
    return not any(
        token["lstrip"] or token["rstrip"] or token["content"].split() != [token["content"]]
        for token in settings.get("added_tokens", ())
    )


class RememberedTokens:
    """A tokenizer with the tokens of the words that it was asked for; several threads may share it."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._lock = ForkLock()
        self._forget()

    def _forget(self) -> None:
        self._numbers = WordNumbers(_SEPARATORS)
        self._ids = np.empty(1 << 16, dtype=np.int32)
        self._bounds = np.zeros(1 << 16, dtype=np.int64)  # tokens of word w: ids[bounds[w]:bounds[w + 1]]

    def __call__(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        """The concatenated token ids of all texts, and the offset of each text."""
        joined = "".join(texts)
        bounds = _offsets(list(map(len, texts)))
        with self._lock:
            numbers, starts = self._look_up(joined, bounds)
            ids, bounds_of_ids = self._ids, self._bounds
        return _gather(numbers, starts, ids, bounds_of_ids)

    def _look_up(self, text: str, bounds: Ints) -> tuple[Ints, Ints]:
        """The numbers of all words, and where those of each text start; new words are added."""
        if len(self._numbers) > MOST_WORDS or self._numbers.characters > MOST_CHARACTERS:
            self._forget()
        known, codes = len(self._numbers), np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        try:
            numbers = self._numbers(codes, bounds)
            if len(self._numbers) > known:
                self._add(self._numbers.new(text, known))
        except BaseException:  # such as a key that interrupts: numbers would have no tokens
            self._forget()
            raise
        return numbers

    def _add(self, new: Sequence[str]) -> None:
        ids, offsets = _tokenize_words(self._tokenizer, new)
        first, used = len(self._numbers) - len(new), int(self._bounds[len(self._numbers) - len(new)])
        self._bounds = _with_room(self._bounds, first + len(new) + 1)
        self._ids = _with_room(self._ids, used + len(ids))
        self._bounds[first + 1 : first + len(new) + 1] = used + offsets[1:]
        self._ids[used : used + len(ids)] = ids


class RememberedVectors:
    """The vectors of the short sentences that an encoder was last asked for; several threads may share it.

    Each half holds `room` sentences; when the newer
    one is full, it becomes the older one, whose sentences are forgotten unless they were asked for since.
    """

    def __init__(self, room: int = MOST_VECTORS) -> None:
        self.room = room
        self._newer: dict[str, NDArray[np.float32]] = {}
        self._older: dict[str, NDArray[np.float32]] = {}

    def fill(self, sentences: Sequence[str], rows: NDArray[np.float32]) -> list[int]:
        """Write the vectors that are remembered into the rows of their sentences; the numbers of the others."""
        newer, older, new = self._newer, self._older, []
        for number, sentence in enumerate(sentences):
            vector = newer.get(sentence)
            if vector is None:
                vector = older.get(sentence)
                if vector is not None:
                    newer[sentence] = vector
            if vector is None:
                new.append(number)
            else:
                rows[number] = vector
        return new

    def add(self, sentences: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Remember the vectors of sentences."""
        for sentence, vector in zip(sentences, vectors, strict=True):
            if self.room and len(sentence) <= LONGEST_REMEMBERED:
                if len(self._newer) >= self.room:
                    self._newer, self._older = {}, self._newer
                self._newer[sentence] = vector.copy()


def _tokenize_words(tokenizer: Any, words: Sequence[str]) -> tuple[Ints, Ints]:
    """The same as `tokenize`, but many words are passed on as one text, which takes less than half of the time."""
    separator = tokenizer.token_to_id(SEPARATOR)
    if separator is None:
        return tokenize(tokenizer, words)
    texts: list[str] = []
    joined: list[bool] = []  # whether a text has several words; those with the character itself are passed on singly
    for start in range(0, len(words), WORDS_OF_A_TEXT):
        some = words[start : start + WORDS_OF_A_TEXT]
        together = not any(SEPARATOR in word for word in some)
        own = [f" {SEPARATOR} ".join(some)] if together else some
        texts += own
        joined += [together] * len(own)
    ids, offsets = tokenize(tokenizer, texts)
    word_edges = np.flatnonzero(ids == separator)
    word_edges = word_edges[np.array(joined, dtype=bool)[np.searchsorted(offsets, word_edges, side="right") - 1]]
    ends = np.sort(np.concatenate((offsets[1:], word_edges)))
    ends -= np.searchsorted(word_edges, ends)  # they are removed
    if len(ends) != len(words):  # a word without the character has its token
        return tokenize(tokenizer, words)
    return np.delete(ids, word_edges), np.append(0, ends)


def _offsets(sizes: Sequence[int]) -> Ints:
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def _with_room(values: NDArray[Any], size: int) -> NDArray[Any]:
    """The array, or a larger copy: a thread that reads the old one is not disturbed."""
    if size <= len(values):
        return values
    larger = np.zeros(max(size, 2 * len(values)), dtype=values.dtype)
    larger[: len(values)] = values
    return larger


def _gather(numbers: Ints, texts: Ints, ids: NDArray[np.int32], bounds: Ints) -> tuple[Ints, Ints]:
    offsets = np.zeros(len(texts), dtype=np.int64)
    found = np.empty(_count(numbers, texts, bounds, offsets), dtype=np.int64)
    _copy(numbers, ids, bounds, found)
    return found, offsets


@compiled
def _count(numbers: Any, texts: Any, bounds: Any, offsets: Any) -> int:
    """The number of tokens of all texts; `offsets` receives where those of each text start."""
    total = 0
    for text in range(len(texts) - 1):
        for at in range(texts[text], texts[text + 1]):
            total += bounds[numbers[at] + 1] - bounds[numbers[at]]
        offsets[text + 1] = total
    return total


@compiled
def _copy(numbers: Any, ids: Any, bounds: Any, found: Any) -> None:
    at = 0
    for number in numbers:
        for place in range(bounds[number], bounds[number + 1]):
            found[at] = ids[place]
            at += 1
