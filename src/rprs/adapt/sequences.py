"""Texts as the padded arrays that a BERT is trained on: two together, or one alone, cut to a window.

A text is tokenised once, and cut just as the re-ranker `cross` does, so that a model is trained on what it will see.
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

KEPT = 20_000  # texts whose first tokens stay in memory

Ints = NDArray[np.int64]
Key = tuple[str, str]  # whatever `read` knows a text by


class _Tokens(NamedTuple):
    first: Ints  # as many as can matter
    total: int  # of the whole text


class Sequences:
    """The texts behind some keys, as sequences of tokens.

    `words` is a tokenizer that neither pads nor truncates, `window` the tokens of a sequence, the special ones among
    them, and `padding` the token that fills a batch up.
    """

    def __init__(self, words: Any, window: int, read: Callable[[Key], str], padding: int = 0) -> None:
        self.words, self.window, self.padding = words, window, padding
        self.seen = self.cut = 0  # pairs so far, and those of them that were cut

        @lru_cache(KEPT)
        def tokens(key: Key) -> _Tokens:
            ids = words.encode(read(key), add_special_tokens=False).ids
            return _Tokens(np.array(ids[:window], dtype=np.int64), len(ids))

        self._tokens = tokens

    def together(self, left: Sequence[Key], right: Sequence[Key]) -> dict[str, Ints]:
        """Pairs of texts, the longer one of each cut first."""
        template = template_of(self.words)
        room = self.window - sum(which < 0 for which, _, _ in template)
        sides = [[self._tokens(key) for key in keys] for keys in (left, right)]
        counts = np.array([[tokens.total for tokens in side] for side in sides], dtype=np.int64)
        kept = longest_first(counts[0], counts[1], room)
        self.seen, self.cut = self.seen + len(left), self.cut + int((counts.sum(axis=0) > room).sum())
        pairs = zip(*sides, *kept.tolist(), strict=True)
        return self._padded([framed(template, [one.first[:m], other.first[:n]]) for one, other, m, n in pairs])

    def alone(self, keys: Sequence[Key]) -> dict[str, Ints]:
        """Single texts, of which the beginning is kept."""
        before, after = frame(self.words)
        room = self.window - len(before) - len(after)
        rows = [np.concatenate([before, self._tokens(key).first[:room], after]).astype(np.int64) for key in keys]
        return self._padded([(row, np.zeros_like(row)) for row in rows])

    def _padded(self, rows: Sequence[tuple[Ints, Ints]]) -> dict[str, Ints]:
        shape = len(rows), max(len(ids) for ids, _ in rows)
        found = {name: np.zeros(shape, dtype=np.int64) for name in ("input_ids", "token_type_ids", "attention_mask")}
        found["input_ids"] += self.padding
        for row, (ids, types) in enumerate(rows):
            for array, values in zip(found.values(), (ids, types, np.ones_like(ids)), strict=True):
                array[row, : len(ids)] = values
        return found
