"""Texts as padded arrays for training a BERT: pairs of texts or single texts, truncated to a window.

A text is tokenised once, and truncated exactly as by the re-ranker `cross`, so that training and re-ranking use the
same input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rprs.encode.onnx import frame
from rprs.encode.pairs import framed, longest_first, template_of

__all__ = ["Sequences"]

CACHED = 20_000  # texts whose first tokens are kept in memory

Ints = NDArray[np.int64]
Key = tuple[str, str]  # identifies a text for `read`


class _Tokens(NamedTuple):
    first: Ints  # as many as fit into the window
    total: int  # number of tokens of the whole text


class Sequences:
    """Token sequences of texts, which are identified by keys.

    `words` is a tokenizer that neither pads nor truncates, `window` the greatest length of a sequence, including
    special tokens, and `padding` the padding token.
    """

    def __init__(self, words: Any, window: int, read: Callable[[Key], str], padding: int = 0) -> None:
        self.words, self.window, self.padding = words, window, padding
        self.total = self.cut = 0  # pairs so far, and how many of them were truncated

        @lru_cache(CACHED)
        def tokens(key: Key) -> _Tokens:
            ids = words.encode(read(key), add_special_tokens=False).ids
            return _Tokens(np.array(ids[:window], dtype=np.int64), len(ids))

        self._tokens = tokens

    def pairs(self, left: Sequence[Key], right: Sequence[Key]) -> dict[str, Ints]:
        """Arrays (pairs, length) for pairs of texts; the longer text of a pair is truncated first."""
        template = template_of(self.words)
        room = self.window - sum(which < 0 for which, _, _ in template)
        sides = [[self._tokens(key) for key in keys] for keys in (left, right)]
        counts = np.array([[tokens.total for tokens in side] for side in sides], dtype=np.int64)
        kept = longest_first(counts[0], counts[1], room)
        self.total, self.cut = self.total + len(left), self.cut + int((counts.sum(axis=0) > room).sum())
        pairs = zip(*sides, *kept.tolist(), strict=True)
        return self._padded([framed(template, [one.first[:m], other.first[:n]]) for one, other, m, n in pairs])

    def singles(self, keys: Sequence[Key]) -> dict[str, Ints]:
        """Arrays (texts, length) for single texts, truncated at the end."""
        before, after = frame(self.words)
        room = self.window - len(before) - len(after)
        rows = [np.concatenate([before, self._tokens(key).first[:room], after]).astype(np.int64) for key in keys]
        return self._padded([(row, np.zeros_like(row)) for row in rows])

    def _padded(self, rows: Sequence[tuple[Ints, Ints]]) -> dict[str, Ints]:
        shape = len(rows), max(len(ids) for ids, _ in rows)
        arrays = {name: np.zeros(shape, dtype=np.int64) for name in ("input_ids", "token_type_ids", "attention_mask")}
        arrays["input_ids"] += self.padding
        for row, (ids, types) in enumerate(rows):
            for array, values in zip(arrays.values(), (ids, types, np.ones_like(ids)), strict=True):
                array[row, : len(ids)] = values
        return arrays
