"""Whether an encoder knows the language of a collection, judged by how its tokenizer takes the words apart.

A tokenizer has whole words and long pieces of the languages that its model was trained on. Words of other languages
become unknown tokens, single letters, or many short pieces:

    unknown   the share of letters in unknown tokens, or, in scripts with spaces, in tokens of a single letter
    pieces    the mean number of tokens per word, in scripts with spaces

docs/method.md has the values of the default teacher for texts in fifteen languages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rprs.index.catalog import Catalog
from rprs.index.sample import sample_sentences
from rprs.index.segment import Segment
from rprs.text.marks import COMBINING, UNSPACED

__all__ = ["Familiarity", "familiarity", "measure_language"]

SAMPLE = 1000  # sentences to judge by
MOST_UNKNOWN = 0.5
MOST_PIECES = 1.5
_LETTERS = re.compile(rf"[^\W\d_{COMBINING}]+|[{COMBINING}]+")
_SPACED_WORD = re.compile(rf"(?:(?![{UNSPACED}])(?:[^\W\d_]|[{COMBINING}]))+")


@dataclass(frozen=True, slots=True)
class Familiarity:
    """How familiar a tokenizer is with the words of a collection."""

    unknown: float
    pieces: float

    @property
    def knows(self) -> bool:
        """Whether the model was probably trained on the language."""
        return self.unknown <= MOST_UNKNOWN and self.pieces <= MOST_PIECES


def measure_language(catalog: Catalog, segments: Mapping[int, Segment], encoder: Any) -> dict[str, Any]:
    """How familiar an encoder is with a sample of the collection, as the catalog stores it; empty if unknown."""
    measured = familiarity(encoder, sample_sentences(catalog, segments, SAMPLE))
    if measured is None:
        return {}
    return {"knows": measured.knows, "unknown": round(measured.unknown, 3), "pieces": round(measured.pieces, 2)}


def familiarity(encoder: Any, sentences: Sequence[str]) -> Familiarity | None:
    """How familiar an encoder is with some sentences; None if it has no tokenizer, or if they have no letters."""
    tokenizer: Any = getattr(encoder, "words", None)
    if not hasattr(tokenizer, "encode_batch"):
        return None
    unknown: str | None = getattr(tokenizer.model, "unk_token", None)
    encodings = tokenizer.encode_batch(list(sentences), add_special_tokens=False)
    letters = unfamiliar = tokens = words = 0
    for sentence, encoding in zip(sentences, encodings, strict=True):
        words += len(_SPACED_WORD.findall(sentence))
        for token, (start, end) in zip(encoding.tokens, encoding.offsets, strict=True):
            run = "".join(_LETTERS.findall(sentence[start:end]))
            letters += len(run)
            spaced = bool(_SPACED_WORD.match(run))
            tokens += spaced
            alone = spaced and len(run) == 1 and _within_word(sentence, start, end)
            unfamiliar += len(run) if run and (token == unknown or alone) else 0
    if not letters:
        return None
    return Familiarity(unfamiliar / letters, tokens / words if words else 1.0)


def _within_word(sentence: str, start: int, end: int) -> bool:
    """Whether a token is a part of a longer word, not a word of one letter such as "a"."""
    return bool(_LETTERS.match(sentence[start - 1 : start]) or _LETTERS.match(sentence[end : end + 1]))
